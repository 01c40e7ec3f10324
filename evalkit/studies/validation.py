"""The validation study's two ways in: out-of-fold predictions, or a table of features that estimators are fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError
from evalkit.definitions import predicted
from evalkit.definitions.catalogue import Chosen, find
from evalkit.definitions.predicted import Predicted
from evalkit.reading import columns as roles_of
from evalkit.reading import examples, parameters
from evalkit.reading.examples import CLASSES, Examples
from evalkit.studies import provenance, resplits, study
from evalkit.studies.resplits import Setting
from evalkit.studies.validity import Validation
from evalkit.validation import fitting, splits
from evalkit.validation.fitting import Learner
from evalkit.validation.splits import Folds

SAMPLE = {"preds": "data/german_credit/predictions.csv"}
GATES = ("no severe finding", "trusted")
ROLES = ("system", "id", "label", "score", "group", "time", "fold")
BASELINE = "majority"
MEDIAN = "median"


def read(
    preds: Any = None,
    features: Any = None,
    *,
    target: Any = None,
    estimator: Any = None,
    against: Any = None,
    columns: Any = None,
    categorical: Any = None,
    task: Any = None,
    k: Any = 10,
    gap: Any = None,
    threshold: Any = 0.5,
    metrics: Any = None,
    most_rows: Any = 50_000,
    seconds: Any = 60,
    level: Any = 0.95,
    margin: Any = None,
    gate: Any = None,
    seed: Any = 0,
) -> Validation:
    """Reads the input and the parameters of `notebooks/validation.ipynb`, whose comments say what each is.

    With `features` the estimators are fitted here. Without any input it is the bundled sample of predictions. Raises
    ParameterError for a parameter, InputError for the input or an estimator that fails.
    """
    given = provenance.changed(locals(), read)
    names = parameters.mapping("columns", columns)
    roles_of.check_roles(names, ROLES)
    kind = parameters.choice("task", task, examples.KINDS)
    rule = parameters.choice("gate", gate, GATES)
    size = int(study.required("most_rows", parameters.integer("most_rows", most_rows, least=20)))
    number = int(study.required("seed", parameters.integer("seed", seed, least=0)))
    if features is None:
        for name, value in {"target": target, "estimator": estimator, "against": against}.items():
            if value is not None:
                raise ParameterError(f"{name}: needs features, a table to fit on; set features='FILE'")
        data = examples.predictions(SAMPLE["preds"] if preds is None else preds, columns=names, kind=kind)
    else:
        if preds is not None:
            raise ParameterError("preds and features: give one, the predictions or the table to fit on")
        named = parameters.text("target", target)
        texts = parameters.texts("categorical", categorical)
        data = sampled(
            examples.table(features, target=named, columns=names, categorical=texts, kind=kind), size, number
        )
    shared = study.settings(
        "predicted",
        metrics,
        usual=_usual(data, metrics),
        baseline=None,
        unit=None,
        segments=None,
        level=level,
        margin=margin,
        gate=None,
        seed=seed,
    )
    shared = replace(shared, gate=rule, unit="group" if data.group is not None else None)
    cut = float(study.required("threshold", parameters.number("threshold", threshold)))
    apart = parameters.number("gap", gap, above=-1e-300) or 0.0
    if features is None:
        return _given(data, shared, given, cut)
    limit = float(study.required("seconds", parameters.number("seconds", seconds, above=0)))
    folds_k = int(study.required("k", parameters.integer("k", k, least=2)))
    paths = [parameters.text(name, value) for name, value in (("estimator", estimator), ("against", against))]
    return _fitted(data, shared, given, paths, folds_k, apart, limit)


def sampled(e: Examples, most: int, seed: int) -> Examples:
    """At most so many rows, drawn at random and kept in their order."""
    if len(e) <= most:
        return e
    rows = np.sort(np.random.default_rng([seed, 9]).permutation(len(e))[:most])
    sides = {name: None if (side := getattr(e, name)) is None else side[rows] for name in examples.SIDES}
    part = None if e.features is None else e.features.iloc[rows].reset_index(drop=True)
    text = f"{len(e) - most:,} of {len(e):,} rows: {most:,} were drawn at random (most_rows)"
    return replace(e, label=e.label[rows], features=part, left_out=(*e.left_out, text), **sides)  # type: ignore[arg-type]


def _usual(e: Examples, asked: Any) -> tuple[str, ...]:
    """The metrics that the label and the scores allow; raises ParameterError for one that was asked for in vain."""
    fit_for = predicted.NUMBERS if e.kind != CLASSES else predicted.CLASSES
    outside = any(((score < 0) | (score > 1)).any() for score in e.score.values())
    allowed = [
        name
        for name in fit_for
        if not (name == "roc_auc" and len(e.classes) > 2) and not (name in ("log_loss", "brier") and outside)
    ]
    for name in parameters.texts("metrics", asked):
        if find(name, "predicted").metric.name not in allowed:
            why = (
                "scores outside 0 to 1" if outside else f"{len(e.classes)} classes" if e.classes else "a numeric target"
            )
            raise ParameterError(f"metrics: {name!r} has no meaning for {why}; possible are {', '.join(allowed)}")
    return tuple(allowed)


# Two ways in


def _given(e: Examples, shared: study.Settings, given: Mapping[str, Any], threshold: float) -> Validation:
    """The study of predictions: the folds are the column, a baseline is made from the other folds' labels."""
    assert e.fold is not None
    named = splits.by_column(e.fold)
    systems = {name: _scored(e, score, threshold) for name, score in e.score.items()}
    name = BASELINE if e.classes else MEDIAN
    systems[name] = _baseline(e, named)
    ahead = _consecutive(e, named)
    folds = ahead or named
    every = np.arange(len(e))
    names = [str(one) for one in np.unique(e.fold)]
    tests = [(label, test) for label, (_, test) in zip(names, named.pairs, strict=True)]
    return Validation(
        shared, tuple(systems), _attributes(e, every), given, e, folds, systems, every, tests, {}, None, ()
    )


def _scored(e: Examples, score: Floats, threshold: float) -> Predicted:
    if not e.classes:
        return Predicted(e.label, score)
    decided = (score >= threshold).astype(np.float64)
    inside = ((score >= 0) & (score <= 1)).all()
    return Predicted(e.label, decided, score, np.column_stack([1 - score, score]) if inside else None)


def _baseline(e: Examples, folds: Folds) -> Predicted:
    """What a model without features says: shares and most frequent class, or the median, of the other folds."""
    decision, chance = np.zeros(len(e)), np.zeros((len(e), max(2, len(e.classes))))
    for train, test in folds.pairs:
        if e.classes:
            share = np.bincount(e.label[train].astype(np.int64), minlength=len(e.classes)) / train.size
            decision[test], chance[test] = float(share.argmax()), share
        else:
            decision[test] = float(np.median(e.label[train]))
    return Predicted(e.label, decision, chance[:, 1], chance) if e.classes else Predicted(e.label, decision)


def _consecutive(e: Examples, folds: Folds) -> Folds | None:
    """Folds that follow one another in time, each trained on the earlier ones; None where they do not."""
    if e.time is None:
        return None
    tests = sorted((test for _, test in folds.pairs), key=lambda test: e.time[test].min())  # type: ignore[index]
    ends = [e.time[test].max() for test in tests]
    if any(e.time[test].min() <= end for test, end in zip(tests[1:], ends, strict=False)):
        return None
    pairs = tuple((np.sort(np.concatenate(tests[:i])), tests[i]) for i in range(1, len(tests)))
    return Folds(len(e), pairs, "the fold column given: blocks of time, each taken as trained on the earlier ones")


def _attributes(e: Examples, rows: Ints) -> dict[str, np.ndarray]:
    return {} if e.group is None else {"group": e.group[rows]}


def _fitted(
    e: Examples,
    shared: study.Settings,
    given: Mapping[str, Any],
    paths: list[str | None],
    k: int,
    gap: float,
    seconds: float,
) -> Validation:
    """The study of an estimator: fitted on the chosen folds beside a second one and the baseline, then on others."""
    assert e.features is not None
    folds = resplits.choose(e, k=k, gap=gap, seed=shared.seed)
    first = fitting.usual(e.kind) if paths[0] is None else fitting.load(paths[0], "estimator", e.kind)
    made = {type(first).__name__ if paths[0] is None else _short(paths[0]): first}
    if paths[1] is not None:
        name = _short(paths[1])
        made[f"{name} (against)" if name in made else name] = fitting.load(paths[1], "against", e.kind)
    made = {name: fitting.prepared(one, e.features, shared.seed) for name, one in made.items()}
    made[BASELINE if e.classes else MEDIAN] = fitting.dummy(e.kind)
    shared = replace(shared, metrics=_possible(shared, made, asked="metrics" in given))
    learner = Learner(made, e.features, e.label, len(e.classes))
    ignores = None if e.fold is not None else "time" if e.time is not None else "group" if e.group is not None else None
    setting = Setting(e, folds, k, gap, shared.seed, ignores)
    fits, other = resplits.fit_all(setting, learner, shared.metrics[0], list(made), seconds)
    rows = np.concatenate([test for _, test in folds.pairs])
    order = np.argsort(rows, kind="stable")
    systems = {name: predicted.take(predicted.join([fit.test for fit in some]), order) for name, some in fits.items()}
    place = np.argsort(order, kind="stable")
    ends = np.cumsum([test.size for _, test in folds.pairs])[:-1]
    labels = (
        [str(i + 1) for i in range(len(folds.pairs))] if e.fold is None else [str(one) for one in np.unique(e.fold)]
    )
    tests = list(zip(labels, np.split(place, ends), strict=True))
    tested = rows[order]
    described = tuple(f"{name}: {' → '.join(_steps(one))}" for name, one in made.items())
    return Validation(
        shared, tuple(systems), _attributes(e, tested), given, e, folds, systems, tested, tests, fits, other, described
    )


def _short(path: str) -> str:
    return path.replace(":", ".").rpartition(".")[2]


def _steps(estimator: Any) -> list[str]:
    if not hasattr(estimator, "steps"):
        return [type(estimator).__name__]
    first = estimator.steps[0][1]
    words = {"ColumnTransformer": "missing numbers to the median, scaled; text one column a value"}
    words |= {"Pipeline": "missing numbers to the median, scaled"}
    steps = [repr(step).replace("\n", " ") for _, step in estimator.steps[1:]]
    return [words.get(type(first).__name__, repr(first)), *steps]


def _possible(shared: study.Settings, made: Mapping[str, Any], *, asked: bool) -> tuple[Chosen, ...]:
    """The metrics that every estimator has the predictions for; raises InputError where one was asked for in vain."""
    kept = []
    for chosen in shared.metrics:
        lacking = [name for name, one in made.items() if not any(hasattr(one, way) for way in _needs(chosen))]
        if not lacking:
            kept.append(chosen)
        elif asked:
            raise InputError(
                f"metrics: {chosen.metric.name} needs {' or '.join(_needs(chosen))}, which estimator {lacking[0]} lacks"
            )
    return tuple(kept)


def _needs(chosen: Chosen) -> tuple[str, ...]:
    ways: dict[str, tuple[str, ...]] = {"roc_auc": ("predict_proba", "decision_function")}
    ways |= {"log_loss": ("predict_proba",), "brier": ("predict_proba",)}
    return ways.get(chosen.metric.name, ("predict",))
