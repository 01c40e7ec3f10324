"""Reads the input of the validation study: out-of-fold predictions, or a table of features to fit
estimators on.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL, Limits
from evalkit.metrics.rows import Rows
from evalkit.names import usual
from evalkit.offline import fitting, splits
from evalkit.parameters import reports
from evalkit.reading.inputs import folds
from evalkit.reading.matching import commands
from evalkit.reading.tables import columns, rules, sources
from evalkit.statistics.alternatives import Alternative
from evalkit.studies import resplits, study
from evalkit.studies.out_of_fold import INSIDE, OUTSIDE, Validation

SAMPLE = {"preds": "data/german_credit/predictions.csv"}
# parameters that need the one input or the other
FOR_PREDICTIONS = ("threshold", "memory", "threads", "spill")
FOR_FITS = ("target", "estimator", "against", "ignore", "selected", "categorical", "k", "gap")
BASELINE, MEDIAN = usual("systems")["constant"]
# the baseline decides for class 1 where more than half of the others are of it
HALF = float(np.nextafter(0.5, 1))
METRICS = {
    "counts": ("accuracy", "roc_auc", "log_loss", "brier"),
    "classes": ("accuracy", "log_loss", "brier"),
    "forecasts": ("mae", "rmse"),
}


@commands.advising
def study_of(p: reports.ValidationParameters, limits: Limits = USUAL) -> Validation:
    """Read out-of-fold predictions, or a table to fit estimators on, and check whether the
    evaluation is sound.

    With `features`, the estimators are fitted on the folds at once. They are fitted on other
    splits, for at most `seconds`, when a figure, a finding or the page first needs them. Without
    any input, the bundled sample of predictions is read. Raises ParameterError for an invalid
    parameter, InputError for invalid input or if an estimator fails.

    >>> import evalkit as ek
    >>> rows = {"label": [0, 1] * 10, "score": [0.2, 0.7] * 10, "fold": ["a", "a", "b", "b"] * 5}
    >>> ek.validation(rows, metrics="roc_auc").estimates["value"].tolist()
    [1.0, 0.5]
    """
    _refuse_idle(p.given)
    columns.check_roles(p.columns, folds.ROLES)
    p = p.with_defaults(SAMPLE) if p.features is None else p
    reading = replace(limits.reading, collected=limits.reading.held)
    parts = sources.parts(p.preds if p.features is None else p.features, p.header, reading)
    e = folds.table(parts, p) if p.features is not None else folds.predictions(parts, p, reading)
    metrics = lookup.find_computable(p.metrics, e.structure, METRICS[e.structure], e.lacks)
    metrics = lookup.with_directions(metrics, p)
    shared = study.Settings(
        metrics=metrics,
        baseline=None,
        unit=e.unit,
        segments=(),
        level=p.level,
        margin=p.margin,
        gate=p.gate,
        seed=p.seed,
        limits=limits,
        units=p.units,
        alpha=p.alpha,
        alternative=Alternative(p.alternative),
    )
    return _given(e, shared, p) if p.features is None else _fitted(e, shared, p)


read = reports.reader(reports.ValidationParameters)(study_of)


def _refuse_idle(given: Mapping[str, Any]) -> None:
    """Raise ParameterError for a parameter that could change nothing with the input that is given,
    and for two inputs. given: the parameters that the user has set.
    """
    if "features" in given and "preds" in given:
        raise ParameterError("preds and features: give one, the predictions or the table to fit on")
    if "features" in given:
        needed = "preds"
        about = "predictions that are read"
        idle: tuple[str, ...] = FOR_PREDICTIONS
    else:
        needed = "features"
        about = "a table to fit on"
        idle = FOR_FITS
    for name in idle:
        if name in given:
            raise ParameterError(f"{name}: needs {needed}, {about}; set {needed}='FILE'")


# Two ways in


def _given(
    e: folds.Examples, shared: study.Settings, p: reports.ValidationParameters
) -> Validation:
    """The study of predictions: the folds are the column, a baseline is made from the other folds'
    labels.
    """
    assert e.fold is not None
    if e.has_resampled_folds and e.id is not None:
        split = splits.resampled_folds(e.fold, e.id.code)
    else:
        split = splits.read(e.fold, e.repeat)
    rounded = {name: rules.rounded(p.threshold, stored) for name, stored in e.precision.items()}
    systems = {name: Rows(e.label, score, rounded[name]) for name, score in e.score.items()}
    known = np.zeros(len(e))
    every = len(split.tested) == len(e)
    train = split.pairs[0][0]
    for (
        others,
        test,
    ) in (
        split.pairs
    ):  # what needs no feature: the share of class 1, or the median, of the other folds
        # training rows of a holdout too
        rows = np.concatenate([others, test]) if split.holdout else test
        known[rows] = (
            np.count_nonzero(e.label[others]) / others.size
            if e.classes
            else np.median(e.label[others])
        )
    systems[_free(BASELINE if e.classes else MEDIAN, systems)] = Rows(e.label, known, HALF)
    return Validation(
        _against_no_feature(shared, list(systems)),
        tuple(systems),
        {},
        p,
        e.sources,
        described=(),
        threshold=p.threshold if e.classes else None,
        examples=e,
        split=split,
        scored=systems
        if every
        else {name: rows.take(split.tested) for name, rows in systems.items()},
        trained={name: [rows.take(train)] for name, rows in systems.items()}
        if split.holdout
        else {},
    )


def _against_no_feature(shared: study.Settings, systems: Sequence[str]) -> study.Settings:
    """The settings; for a one-sided question every system is compared with the last, which uses no
    feature.
    """
    return replace(shared, baseline=systems[-1]) if shared.alternative.one_sided else shared


def _free(name: str, systems: Mapping[str, Any]) -> str:
    """The name of the baseline, or another where a system has it."""
    return name if name not in systems else _free(f"{name} (baseline)", systems)


def _fitted(
    e: folds.Examples, shared: study.Settings, p: reports.ValidationParameters
) -> Validation:
    """The study of an estimator: fitted on the chosen folds beside a second one and the baseline,
    then on others.
    """
    assert e.features is not None
    setting = splits.Setting(e, p.k, p.gap or 0.0, p.seed, shared.limits)
    order = np.argsort(np.concatenate(setting.folds.tests), kind="stable")  # that of the table
    named = _estimators(e, p)
    models = {name: fitting.prepared(model, e.features, p.seed) for name, model in named.items()}
    models[_free(BASELINE if e.classes else MEDIAN, models)] = fitting.dummy(e.kind)
    shared = replace(shared, metrics=_possible(shared, models, asked="metrics" in p.given))
    learner = fitting.Learner(models, e.features, e.label, len(e.classes))
    start = time.monotonic()
    first = next(iter(models))
    fits = resplits.fit_folds(setting, learner, list(models))
    left = p.seconds - (time.monotonic() - start)
    together = dict(fits)
    if e.candidates is not None:
        again = {first: fitting.prepared(named[first], e.candidates, p.seed)}
        wide = fitting.Learner(again, e.candidates, e.label, len(e.classes))
        together |= zip((OUTSIDE, INSIDE), resplits.reselected(setting, wide, first), strict=True)
    return Validation(
        _against_no_feature(shared, list(models)),
        tuple(models),
        {},
        p,
        e.sources,
        described=tuple(
            f"{name}: {' → '.join(fitting.steps(model))}" for name, model in models.items()
        ),
        threshold=None,
        examples=e,
        split=setting.folds,
        scored={
            name: Rows.join([fit.test for fit in own]).take(order) for name, own in together.items()
        },
        trained={name: [fit.train for fit in own if fit.train] for name, own in fits.items()},
        refit=partial(
            resplits.fit_others, setting, learner, shared.metrics[0], first, fits[first], left
        ),
    )


def _estimators(e: folds.Examples, p: reports.ValidationParameters) -> dict[str, Any]:
    """The estimator in question by its name, then the one to hold it against."""
    first, second = p.estimator, p.against
    model = fitting.usual(e.kind) if first is None else fitting.load(first, "estimator", e.kind)
    named = {type(model).__name__ if first is None else _short(first): model}
    if second is not None:
        name = _short(second)
        named[f"{name} (against)" if name in named else name] = fitting.load(
            second, "against", e.kind
        )
    return named


def _short(path: str) -> str:
    return path.replace(":", ".").rpartition(".")[2]


def _possible(
    shared: study.Settings, models: Mapping[str, Any], *, asked: bool
) -> tuple[lookup.MetricAtK, ...]:
    """The metrics that every estimator has the predictions for; raises InputError if one was asked
    for in vain.
    """
    kept = []
    for chosen in shared.metrics:
        ranks = (
            "predict_proba",
            *(["decision_function"] if chosen.metric.structure == "counts" else []),
        )
        ways = {"": ("predict",), "scores": ranks}.get(chosen.metric.needs, ("predict_proba",))
        lacking = [
            name for name, model in models.items() if not any(hasattr(model, way) for way in ways)
        ]
        if not lacking:
            kept.append(chosen)
        elif asked:
            raise InputError(
                f"metrics: {chosen.label} needs {' or '.join(ways)}, which estimator {lacking[0]} "
                f"lacks"
            )
    return tuple(kept)
