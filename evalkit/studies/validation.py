"""The validation study's two ways in: out-of-fold predictions, or a table of features that estimators are fitted on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from evalkit import parameters
from evalkit.arrays import Floats, InputError, Ints, ParameterError
from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import Chosen
from evalkit.catalogue.metric import Metric
from evalkit.findings import kinds
from evalkit.limits import USUAL, Limits
from evalkit.metrics.rows import Rows
from evalkit.offline import fitting, splits
from evalkit.offline.fitting import Fit, Learner
from evalkit.offline.splits import FoldColumn, Folds, Parted
from evalkit.reading.engines import backends
from evalkit.reading.inputs import folds, outcomes
from evalkit.reading.inputs.folds import Examples, LeftOut, Use
from evalkit.reading.tables import columns, rules, sources
from evalkit.reading.tables.table import Slice
from evalkit.statistics.intervals import Estimate
from evalkit.studies import resplits
from evalkit.studies.out_of_fold import INSIDE, OUTSIDE, Validation
from evalkit.studies.resplits import Setting
from evalkit.studies.study import Settings
from evalkit.system import progress

SAMPLE = {"preds": "data/german_credit/predictions.csv"}
ROLES = ("system", "id", "label", "score", "group", "time", "fold", "repeat")
FOR_FITS = ("target", "estimator", "against", "ignore", "selected", "categorical", "k", "gap")
BASELINE = "majority"
MEDIAN = "median"
HALF = float(np.nextafter(0.5, 1))  # the baseline decides for class 1 where more than half of the others are of it
UNDEFINED_FOR = {"probabilities": "scores outside 0 to 1", "scores of units": "folds, which name no units"}
METRICS = {
    "counts": ("accuracy", "roc_auc", "log_loss", "brier"),
    "classes": ("accuracy", "log_loss", "brier"),
    "forecasts": ("mae", "rmse"),
}


@sources.naming_files
def study_of(p: parameters.Validation, limits: Limits = USUAL) -> Validation:
    """Read out-of-fold predictions, or a table to fit estimators on, and check whether the evaluation is sound.

    With `features` the estimators are fitted here on the folds, which the frames and the verdict need, and on other
    splits, for at most `seconds`, when a figure, a finding or the page first asks for them. Without any input it is the
    bundled sample of predictions. Raises ParameterError for a parameter, InputError for the input or an estimator that
    fails.

    >>> import evalkit as ek
    >>> rows = {"label": [0, 1] * 10, "score": [0.2, 0.7] * 10, "fold": ["a", "a", "b", "b"] * 5}
    >>> ek.validation(rows, metrics="roc_auc").estimates["value"].tolist()
    [1.0, 0.5]
    """
    columns.check_roles(p.columns, ROLES)
    _refuse_idle(p.given)
    if p.features is None:
        return _of_predictions(p.filled(SAMPLE), limits)
    data = _features(p)
    return _fitted(data, _settings(_chosen(data, p), data, p, limits), p)


read = parameters.reader(parameters.Validation)(study_of)


def _of_predictions(p: parameters.Validation, limits: Limits) -> Validation:
    """The study of predictions, all of which are held. Raises InputError for more rows than are held."""
    reading = replace(limits.reading, rows=limits.reading.held, collected=limits.reading.held)
    parts = sources.parts(p.preds, p.header, reading)
    with backends.needed(parts, backends.budget(p.memory, p.threads, p.spill, reading)) as engine:
        if engine:
            rows, where = backends.rows_of(engine, parts), sources.listed(part.name for part in parts)
            raise InputError(
                f"{where}: {rows:,} rows are more than the {reading.held:,} that a validation report holds; give some "
                "of the groups or ids, with all rows of each, or report the scores of all rows by classification or "
                "rating, with the fold as a segment"
            )
    e = folds.predictions(parts, columns=p.columns, kind=p.task)
    pa.default_memory_pool().release_unused()  # what the columns took while they were read
    chosen = _chosen(e, p)
    assert e.fold is not None
    column = splits.read(e.fold, e.repeat)
    if column.set_aside.size:
        names = e.fold.take(column.set_aside).names
        left_out = LeftOut(kinds.SET_ASIDE, column.set_aside.size, names)
        e = e.take(np.setdiff1d(np.arange(len(e)), column.set_aside), left_out)
        assert e.fold is not None
        column = splits.read(e.fold, e.repeat)
    return _given(e, column, _settings(chosen, e, p, limits), p)


def _features(p: parameters.Validation) -> Examples:
    """The table to fit on."""
    use = Use(p.columns, _target(p), categorical=p.categorical, ignore=p.ignore, selected=p.selected)
    return sampled(folds.table(sources.parts(p.features, p.header), use, kind=p.task), p.most_rows, p.seed)


def _refuse_idle(asked: Mapping[str, Any]) -> None:
    """Raises ParameterError for a parameter that could change nothing with the input that is given."""
    if "features" in asked and "preds" in asked:
        raise ParameterError("preds and features: give one, the predictions or the table to fit on")
    idle = ("threshold", "memory", "threads", "spill") if "features" in asked else FOR_FITS
    wanted = "preds, predictions that are read" if "features" in asked else "features, a table to fit on"
    for name in idle:
        if name in asked:
            raise ParameterError(f"{name}: needs {wanted}; set {wanted.split(',')[0]}='FILE'")


def _target(p: parameters.Validation) -> str | None:
    """The target's column, None where it is not named, or named as a role."""
    if p.target is not None and p.columns.get("label", p.target) != p.target:
        raise ParameterError(f"target and columns: must name one column, got {p.target!r} and {p.columns['label']!r}")
    return p.target


def _gap(p: parameters.Validation, e: Examples) -> float:
    """The time between training and test rows, 0 where none is asked for."""
    if p.gap is not None and e.time is None:
        raise ParameterError("gap: needs a time column; set columns='time=NAME'")
    return p.gap or 0.0


def sampled(e: Examples, most: int, seed: int) -> Examples:
    """At most so many rows, drawn at random and kept in their order."""
    if len(e) <= most:
        return e
    rows = np.sort(np.random.default_rng([seed, 9]).permutation(len(e))[:most])
    return e.take(rows, LeftOut(kinds.SAMPLED_ROWS, len(e) - most, of=len(e)))


def _chosen(e: Examples, p: parameters.Validation) -> tuple[Chosen, ...]:
    """The metrics that label and scores allow; raises ParameterError for one that was asked for in vain."""
    structure = "forecasts" if not e.classes else "counts" if len(e.classes) == 2 else "classes"
    inside = all(map(outcomes.are_probabilities, e.score.values()))
    needs, table = ("", "scores", *(["probabilities"] if inside else [])), lookup.TABLES[structure]
    possible = [name for name, metric in table.items() if metric.needs in needs and not metric.columns]
    for name in filter(lookup.of_catalogue, p.metrics):
        base = name.split("@")[0].strip().lower()
        known = lookup.ALIASES.get(base, base)
        if known not in possible and any(known in other for other in lookup.TABLES.values()):
            why = _why(table.get(known), e.classes)
            raise ParameterError(f"metrics: {name!r} is undefined for {why}; choose from {', '.join(possible)}")
    return lookup.chosen(p.metrics, structure, [name for name in METRICS[structure] if name in possible])


def _why(metric: Metric | None, classes: Sequence[str]) -> str:
    """What a metric is undefined for; None: one of another structure."""
    if metric is None:
        return f"{len(classes)} classes" if classes else "a numeric target"
    if metric.columns:
        return f"this report, which reads no column {' or '.join(metric.columns)}"
    return UNDEFINED_FOR[metric.needs]


def _settings(chosen: tuple[Chosen, ...], e: Examples, p: parameters.Validation, limits: Limits) -> Settings:
    return Settings(chosen, None, e.unit, (), p.level, p.margin, p.gate, p.seed, limits, p.units)


# Two ways in


def _given(e: Examples, column: FoldColumn, shared: Settings, p: parameters.Validation) -> Validation:
    """The study of predictions: the folds are the column, a baseline is made from the other folds' labels."""
    systems = {
        name: Rows(e.label, score, rules.rounded(p.threshold, e.precision[name])) for name, score in e.score.items()
    }
    systems[_free(BASELINE if e.classes else MEDIAN, systems)] = _baseline(
        e.label, column.folds, classes=bool(e.classes)
    )
    rows = np.sort(np.concatenate(column.folds.tests))
    pooled, tests, train = systems, column.folds.tests, column.folds.pairs[0][0]
    if len(rows) < len(e):
        pooled = {name: of_system.take(rows) for name, of_system in systems.items()}
        tests = [np.searchsorted(rows, test) for test in tests]
    follow = None if column.holdout or column.repeats > 1 else _consecutive(e, column.folds)
    return Validation(
        **_read(e, p, rows, zip(column.names, tests, strict=True)),
        settings=shared,
        systems=tuple(systems),
        described=(),
        threshold=p.threshold if e.classes else None,
        folds=follow or column.folds,
        pooled=pooled,
        on_training={name: of_system.take(train) for name, of_system in systems.items()} if column.holdout else {},
    )


def _read(e: Examples, p: parameters.Validation, rows: Ints, tests: Iterable[tuple[str, Ints]]) -> dict[str, Any]:
    """What every study has of the examples. rows: that were tested; tests: the name and the rows of each fold."""
    slices = [Slice("fold", name, test) for name, test in tests]
    read = {"attributes": {}, "p": p, "sources": e.sources}
    return read | {"examples": e, "rows": rows, "tests": slices}


def _free(name: str, systems: Mapping[str, Any]) -> str:
    """The name of the baseline, or another where a system has it."""
    return name if name not in systems else _free(f"{name} (baseline)", systems)


def _baseline(label: np.ndarray, folds: Folds, *, classes: bool) -> Rows:
    """What a model without features says: the share of class 1, or the median, of the other folds."""
    score = np.zeros(len(label))
    with progress("baseline", len(folds.tests), "folds") as draw:
        for done, (train, test) in enumerate(folds.pairs):
            draw(done)
            rows = np.concatenate([train, test]) if len(folds.tests) == 1 else test  # training rows of a holdout too
            score[rows] = np.count_nonzero(label[train]) / train.size if classes else np.median(label[train])
    return Rows(label, score, HALF)


def _consecutive(e: Examples, folds: Folds) -> Folds | None:
    """Folds that follow one another in time, each trained on the earlier ones; None where they do not."""
    if e.time is None:
        return None
    assert isinstance(folds.pairs, Parted)
    first, last = (np.array([of(e.time[test]) for test in folds.tests]) for of in (np.min, np.max))
    order = np.argsort(first, kind="stable")
    if (first[order[1:]] <= last[order[:-1]]).any():
        return None
    earlier = last[:, None] < first
    pairs = Parted(folds.pairs.part, earlier.T[order[1:]], order[1:])
    return Folds(len(e), pairs, splits.CONSECUTIVE)


def _fitted(e: Examples, shared: Settings, p: parameters.Validation) -> Validation:
    """The study of an estimator: fitted on the chosen folds beside a second one and the baseline, then on others."""
    assert e.features is not None
    gap = _gap(p, e)
    folds = resplits.choose(e, k=p.k, gap=gap, seed=shared.seed)
    named = _estimators(e, p)
    models = {name: fitting.prepared(model, e.features, shared.seed) for name, model in named.items()}
    models[_free(BASELINE if e.classes else MEDIAN, models)] = fitting.dummy(e.kind)
    shared = replace(shared, metrics=_possible(shared, models, asked="metrics" in p.given))
    learner = Learner(models, e.features, e.label, len(e.classes))
    setting = Setting(e, folds, p.k, gap, shared.seed, shared.limits)
    labels = _labels(e, folds)
    start, first = time.monotonic(), next(iter(models))
    fits = resplits.fit_folds(setting, learner, list(models), labels)
    left = p.seconds - (time.monotonic() - start)
    rows = np.concatenate(folds.tests)
    order = np.argsort(rows, kind="stable")
    pooled = {name: _pooled(some, order) for name, some in fits.items()}
    if e.candidates is not None:
        subject = next(iter(named))
        again = {subject: fitting.prepared(named[subject], e.candidates, shared.seed)}
        wide = Learner(again, e.candidates, e.label, len(e.classes))
        both = resplits.reselected(setting, wide, subject)
        pooled |= {name: _pooled(some, order) for name, some in zip((OUTSIDE, INSIDE), both, strict=True)}
    tests = np.split(np.argsort(order, kind="stable"), np.cumsum(folds.sizes[1])[:-1])
    return Validation(
        **_read(e, p, rows[order], zip(labels, tests, strict=True)),
        settings=shared,
        systems=tuple(models),
        folds=folds,
        pooled=pooled,
        fits=fits,
        refit=partial(resplits.fit_others, setting, learner, shared.metrics[0], first, fits[first], left),
        described=tuple(f"{name}: {' → '.join(fitting.steps(model))}" for name, model in models.items()),
        threshold=None,
    )


def _estimators(e: Examples, p: parameters.Validation) -> dict[str, Any]:
    """The estimator in question by its name, then the one to hold it against."""
    first, second = p.estimator, p.against
    model = fitting.usual(e.kind) if first is None else fitting.load(first, "estimator", e.kind)
    named = {type(model).__name__ if first is None else _short(first): model}
    if second is not None:
        name = _short(second)
        named[f"{name} (against)" if name in named else name] = fitting.load(second, "against", e.kind)
    return named


def _labels(e: Examples, folds: Folds) -> list[str]:
    """The names of the folds: those of the fold column, else numbers from 1."""
    if e.fold is not None:
        return list(splits.read(e.fold).names)
    return [str(i + 1) for i in range(len(folds.tests))]


def _pooled(fits: list[Fit], order: Ints) -> Rows:
    """The test rows of the folds together, in the order of the table."""
    return Rows.join([fit.test for fit in fits]).take(order)


def _short(path: str) -> str:
    return path.replace(":", ".").rpartition(".")[2]


def _possible(shared: Settings, models: Mapping[str, Any], *, asked: bool) -> tuple[Chosen, ...]:
    """The metrics that every estimator has the predictions for; raises InputError where one was asked for in vain."""
    kept = []
    for chosen in shared.metrics:
        lacking = [name for name, model in models.items() if not any(hasattr(model, way) for way in _needs(chosen))]
        if not lacking:
            kept.append(chosen)
        elif asked:
            raise InputError(
                f"metrics: {chosen.label} needs {' or '.join(_needs(chosen))}, which estimator {lacking[0]} lacks"
            )
    return tuple(kept)


def _needs(chosen: Chosen) -> tuple[str, ...]:
    """What an estimator must have, one of these, for a metric."""
    if not chosen.metric.needs:
        return ("predict",)
    ranks = chosen.metric.needs == "scores" and chosen.metric.structure == "counts"
    return ("predict_proba", "decision_function") if ranks else ("predict_proba",)


def mean_gap(gap: Floats) -> float:
    """How much better the primary metric is on training rows, as the mean of the folds."""
    return float(np.mean(gap))


def fold_range(study: Validation) -> tuple[float, float]:
    """The lowest and the highest value of the subject over the folds."""
    values = study.fold_values(study.subject)
    return float(np.nanmin(values)), float(np.nanmax(values))


def optimism(blind: Estimate, honest: Estimate) -> float:
    """How much better a split looks that ignores what the folds keep apart."""
    return blind.value - honest.value
