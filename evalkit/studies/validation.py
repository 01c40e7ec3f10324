"""The validation study's two ways in: out-of-fold predictions, or a table of features that estimators are fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError
from evalkit.definitions import predicted
from evalkit.definitions.catalogue import Chosen, find
from evalkit.definitions.predicted import Predicted
from evalkit.reading import columns as roles_of
from evalkit.reading import examples, parameters, precision, sources
from evalkit.reading.examples import CLASSES, Examples, Use
from evalkit.studies import provenance, resplits, study
from evalkit.studies.resplits import Setting
from evalkit.studies.validity import INSIDE, OUTSIDE, Validation
from evalkit.validation import fitting, fold_column
from evalkit.validation.fitting import Fit, Learner
from evalkit.validation.fold_column import FoldColumn
from evalkit.validation.splits import Folds

if TYPE_CHECKING:
    import pandas as pd

SAMPLE = {"preds": "data/german_credit/predictions.csv"}
GATES = ("no severe finding", "trusted")
ROLES = ("system", "id", "label", "score", "group", "time", "fold", "repeat")
FOR_FITS = ("target", "estimator", "against", "ignore", "selected", "categorical", "k", "gap")
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
    header: Any = None,
    ignore: Any = None,
    selected: Any = None,
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
    size = study.required("most_rows", parameters.integer("most_rows", most_rows, least=20))
    number = study.required("seed", parameters.integer("seed", seed, least=0))
    cut = study.required("threshold", parameters.number("threshold", threshold))
    limit = study.required("seconds", parameters.number("seconds", seconds, above=0))
    folds_k = study.required("k", parameters.integer("k", k, least=2))
    _refuse_idle(given)
    if features is None:
        read_from = sources.parts(SAMPLE["preds"] if preds is None else preds, study.headers(header))
        data = examples.predictions(read_from, columns=names, kind=kind)
    else:
        lists = {"categorical": categorical, "ignore": ignore, "selected": selected}
        use = Use(
            names,
            _target(target, names),
            **{name: tuple(parameters.texts(name, value)) for name, value in lists.items()},
        )
        data = sampled(examples.table(sources.parts(features, study.headers(header)), use, kind=kind), size, number)
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
    data = _without_set_aside(data)
    shared = replace(shared, gate=rule, unit=_unit(data))
    if features is None:
        return _given(data, shared, given, cut)
    paths = [parameters.text(name, value) for name, value in (("estimator", estimator), ("against", against))]
    return _fitted(data, shared, given, paths, folds_k, _gap(gap, data), limit)


def _refuse_idle(given: Mapping[str, Any]) -> None:
    """Raises ParameterError for a parameter that could change nothing with the input that is given."""
    if "features" in given and "preds" in given:
        raise ParameterError("preds and features: give one, the predictions or the table to fit on")
    idle = ("threshold",) if "features" in given else FOR_FITS
    wanted = "preds, the scores that it cuts" if "features" in given else "features, a table to fit on"
    for name in idle:
        if name in given:
            raise ParameterError(f"{name}: needs {wanted}; set {wanted.split(',')[0]}='FILE'")


def _target(value: Any, names: Mapping[str, str]) -> str | None:
    """The target's column, None where it is not named, or named as a role."""
    found = parameters.text("target", value)
    if found is not None and names.get("label", found) != found:
        raise ParameterError(f"target and columns: must name one column, got {found!r} and {names['label']!r}")
    return found


def _gap(value: Any, e: Examples) -> float:
    """The time between training and test rows, 0 where none is asked for."""
    found = parameters.number("gap", value)
    if found is None:
        return 0.0
    if found < 0:
        raise ParameterError(f"gap must be a number of at least 0, got {value!r}")
    if e.time is None:
        raise ParameterError("gap: needs a time column; set columns='time=NAME'")
    return found


def sampled(e: Examples, most: int, seed: int) -> Examples:
    """At most so many rows, drawn at random and kept in their order."""
    if len(e) <= most:
        return e
    rows = np.sort(np.random.default_rng([seed, 9]).permutation(len(e))[:most])
    return _only(e, rows, f"{len(e) - most:,} of {len(e):,} rows: {most:,} were drawn at random (most_rows)")


def _only(e: Examples, rows: Ints, text: str) -> Examples:
    """Some of the rows; the text says what was left out."""
    sides = {name: None if (side := getattr(e, name)) is None else side[rows] for name in (*examples.SIDES, "repeat")}
    tables = {name: _part(getattr(e, name), rows) for name in ("features", "candidates")}
    score = {name: values[rows] for name, values in e.score.items()}
    return replace(e, label=e.label[rows], score=score, left_out=(*e.left_out, text), **tables, **sides)  # type: ignore[arg-type]


def _without_set_aside(e: Examples) -> Examples:
    """The rows that train or test; those of a validation set beside a test set are left out and counted."""
    if e.fold is None or not (aside := fold_column.read(e.fold, e.repeat).set_aside).size:
        return e
    names = ", ".join(sorted({str(name) for name in e.fold[aside]}))
    text = f"{aside.size:,} rows of the fold {names}: a validation set, neither training nor test rows"
    return _only(e, np.setdiff1d(np.arange(len(e)), aside), text)


def _unit(e: Examples) -> str | None:
    """What varies as a whole: the group, else the id whose rows are repeated, else nothing but the row."""
    return "group" if e.group is not None else "id" if e.repeats > 1 else None


def _part(table: pd.DataFrame | None, rows: Ints) -> pd.DataFrame | None:
    return None if table is None else table.iloc[rows].reset_index(drop=True)


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
    column = fold_column.read(e.fold, e.repeat)
    cuts = {name: precision.rounded(threshold, e.precision[name]) for name in e.score}
    systems = {name: _scored(e, score, cuts[name]) for name, score in e.score.items()}
    systems[_free(BASELINE if e.classes else MEDIAN, systems)] = _baseline(e, column.folds)
    folds = column.folds if column.holdout or column.repeats > 1 else _consecutive(e, column.folds) or column.folds
    rows = np.sort(np.concatenate([test for _, test in column.folds.pairs]))
    sides = zip(column.names, column.folds.pairs, strict=True)
    tests = [(name, np.searchsorted(rows, test)) for name, (_, test) in sides]
    return Validation(
        settings=shared,
        systems=tuple(systems),
        attributes=_attributes(e, rows),
        given=given,
        examples=e,
        folds=folds,
        pooled={name: predicted.take(one, rows) for name, one in systems.items()},
        rows=rows,
        tests=tests,
        fits={},
        other=None,
        described=(),
        on_training=_on_training(column, systems),
        threshold=threshold if e.classes else None,
    )


def _on_training(column: FoldColumn, systems: Mapping[str, Predicted]) -> dict[str, Predicted]:
    """The predictions on the training rows of a holdout; of folds there are none."""
    train = column.folds.pairs[0][0]
    return {name: predicted.take(one, train) for name, one in systems.items()} if column.holdout else {}


def _free(name: str, systems: Mapping[str, Any]) -> str:
    """The name of the baseline, or another where a system has it."""
    return name if name not in systems else _free(f"{name} (baseline)", systems)


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
        rows = np.concatenate([train, test]) if len(folds.pairs) == 1 else test  # a holdout's training rows are shown
        if e.classes:
            share = np.bincount(e.label[train].astype(np.int64), minlength=len(e.classes)) / train.size
            decision[rows], chance[rows] = float(share.argmax()), share
        else:
            decision[rows] = float(np.median(e.label[train]))
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
    unit = _unit(e)
    return {} if unit is None else {unit: getattr(e, unit)[rows]}


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
    named = _estimators(e, paths)
    made = {name: fitting.prepared(one, e.features, shared.seed) for name, one in named.items()}
    made[_free(BASELINE if e.classes else MEDIAN, made)] = fitting.dummy(e.kind)
    shared = replace(shared, metrics=_possible(shared, made, asked="metrics" in given))
    learner = Learner(made, e.features, e.label, len(e.classes))
    setting = Setting(e, folds, k, gap, shared.seed)
    labels = _labels(e, folds)
    fits, other = resplits.fit_all(setting, learner, shared.metrics[0], list(made), seconds, labels)
    rows = np.concatenate([test for _, test in folds.pairs])
    order = np.argsort(rows, kind="stable")
    pooled = {name: _pooled(some, order) for name, some in fits.items()}
    if e.candidates is not None:
        subject = next(iter(named))
        again = {subject: fitting.prepared(named[subject], e.candidates, shared.seed)}
        wide = Learner(again, e.candidates, e.label, len(e.classes))
        both = resplits.reselected(setting, wide, subject)
        pooled |= {name: _pooled(some, order) for name, some in zip((OUTSIDE, INSIDE), both, strict=True)}
    place = np.argsort(order, kind="stable")
    ends = np.cumsum([test.size for _, test in folds.pairs])[:-1]
    return Validation(
        settings=shared,
        systems=tuple(made),
        attributes=_attributes(e, rows[order]),
        given=given,
        examples=e,
        folds=folds,
        pooled=pooled,
        rows=rows[order],
        tests=list(zip(labels, np.split(place, ends), strict=True)),
        fits=fits,
        other=other,
        described=tuple(f"{name}: {' → '.join(_steps(one))}" for name, one in made.items()),
    )


def _estimators(e: Examples, paths: list[str | None]) -> dict[str, Any]:
    """The estimator in question by its name, then the one to hold it against."""
    first, second = paths
    one = fitting.usual(e.kind) if first is None else fitting.load(first, "estimator", e.kind)
    named = {type(one).__name__ if first is None else _short(first): one}
    if second is not None:
        name = _short(second)
        named[f"{name} (against)" if name in named else name] = fitting.load(second, "against", e.kind)
    return named


def _labels(e: Examples, folds: Folds) -> list[str]:
    """The names of the folds: those of the fold column, else numbers from 1."""
    if e.fold is not None:
        return list(fold_column.read(e.fold).names)
    return [str(i + 1) for i in range(len(folds.pairs))]


def _pooled(fits: list[Fit], order: Ints) -> Predicted:
    """The test rows of the folds together, in the order of the table."""
    return predicted.take(predicted.join([fit.test for fit in fits]), order)


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
