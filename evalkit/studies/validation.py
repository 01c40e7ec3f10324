"""Reads the input of the validation study: out-of-fold predictions, or a table of features to fit
estimators on.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.metrics.rows import Rows
from evalkit.names import usual
from evalkit.offline import fitting, splits
from evalkit.parameters import reports
from evalkit.reading.inputs import folds
from evalkit.reading.matching import commands
from evalkit.reading.tables import columns, rules, sources
from evalkit.statistics.alternatives import Alternative
from evalkit.studies import resplits, study
from evalkit.studies.out_of_fold import SELECTED_IN_FOLDS, SELECTED_ON_ALL_ROWS, Validation

SAMPLE = {"preds": "data/german_credit/predictions.csv"}
# parameters that need the one input or the other
FOR_PREDICTIONS = ("threshold", "memory", "threads", "spill")
FOR_FITS = ("target", "estimator", "against", "ignore", "selected", "categorical", "k", "gap")
CONSTANT, MEDIAN = usual("systems")["constant"]  # names of baselines: of classes, of numbers
# the baseline decides for class 1 where more than half of the others are of it
HALF = float(np.nextafter(0.5, 1))
METRICS = {
    "counts": ("accuracy", "roc_auc", "log_loss", "brier"),
    "classes": ("accuracy", "log_loss", "brier"),
    "forecasts": ("mae", "rmse"),
}


@commands.advise_on_errors
def study_of(p: reports.ValidationParameters, limits: Limits = USUAL_LIMITS) -> Validation:
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
    _refuse_idle(p.given_values)
    columns.check_roles(p.columns, folds.ROLES)
    # this report needs all rows in memory: so many of a Spark table may be collected as are allowed
    # to be held
    reading = replace(limits.reading, collected=limits.reading.held)
    if p.features is None:
        p = p.with_defaults(SAMPLE)
        parts = sources.parts(p.preds, p.header, reading)
        examples = folds.predictions(parts, p, reading)
        return _of_predictions(examples, _settings(examples, p, limits), p)
    parts = sources.parts(p.features, p.header, reading)
    examples = folds.table(parts, p)
    # the fits on the folds are made here, those on other splits by the study when they are needed
    return _of_fits(examples, _settings(examples, p, limits), p)


read = reports.reader(reports.ValidationParameters)(study_of)


def _refuse_idle(names: Collection[str]) -> None:
    """Raise ParameterError if the user gives both inputs, `preds` and `features`, or a parameter
    that has no effect with the given one. names: of the parameters that the user has set.
    """
    if "features" in names and "preds" in names:
        raise ParameterError("preds and features: give one, the predictions or the table to fit on")
    if "features" in names:
        needed_input = "preds"
        content = "predictions that are read"
        idle: tuple[str, ...] = FOR_PREDICTIONS
    else:  # predictions: those of `preds`, or without any input a bundled sample
        needed_input = "features"
        content = "a table to fit on"
        idle = FOR_FITS
    for name in idle:
        if name in names:
            raise ParameterError(
                f"{name}: needs {needed_input}, {content}; set {needed_input}='FILE'"
            )


def _settings(
    examples: folds.Examples, p: reports.ValidationParameters, limits: Limits
) -> study.Settings:
    """The settings of the study, without a baseline. The metrics are those that the user names,
    else the usual ones of the labels. Raises ParameterError for a metric that cannot be computed
    from these examples.
    """
    structure = examples.structure  # such as "counts" for two classes
    usual = METRICS[structure]
    metrics = lookup.find_computable(p.metrics, structure, usual, examples.unmet_needs)
    return study.Settings(
        metrics=lookup.with_directions(metrics, p),  # of `lower_is_better`
        baseline=None,
        unit=examples.unit,
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


# Two ways in


def _of_predictions(
    examples: folds.Examples, shared: study.Settings, p: reports.ValidationParameters
) -> Validation:
    """The study of predictions. The folds are those that a column names. A baseline without
    features is added, made from the labels of each fold's training rows. examples: the rows with
    labels and scores. shared: the settings, as `_settings` makes them.
    """
    assert examples.fold is not None
    if examples.has_resampled_folds and examples.id is not None:
        # Test sets were drawn anew for each fold, as random holdouts are: an id may have rows in
        # several folds, and trains a fold whose test set it is not in.
        split = splits.resampled_folds(examples.fold, examples.id.code)
    else:
        split = splits.read(examples.fold, examples.repeat)
    systems = {}
    for name, score in examples.score.items():
        # rounded to the precision in which the scores are stored, so that a score that equals the
        # threshold reaches it
        threshold = rules.rounded(p.threshold, examples.precision[name])
        systems[name] = Rows(examples.label, score, threshold)
    systems[_baseline_name(examples, systems)] = _baseline(examples, split)
    scored = systems  # system -> its predictions for the rows that a fold tests
    if len(split.tested) < len(examples):
        scored = {name: rows.take(split.tested) for name, rows in systems.items()}
    # System -> its predictions for the training rows of each fold. In cross-validation they are not
    # in the table, which has each row as a test row. In a holdout, a single fold, they are.
    trained = {}
    if split.holdout:
        train, _ = split.pairs[0]
        trained = {name: [rows.take(train)] for name, rows in systems.items()}
    # forecasts of numbers have no threshold
    class_threshold = p.threshold if examples.classes else None
    return Validation(
        settings=_against_no_feature(shared, list(systems)),
        systems=tuple(systems),
        attributes={},
        p=p,
        sources=examples.sources,
        described=(),
        threshold=class_threshold,
        examples=examples,
        split=split,
        scored=scored,
        trained=trained,
    )


def _baseline(examples: folds.Examples, split: splits.Folds) -> Rows:
    """The predictions of the baseline, which uses no feature. For each row that a fold tests it
    predicts the share of class 1 among the training rows of the fold, or of numbers their median.
    """
    score = np.zeros(len(examples))
    for train, test in split.pairs:
        label = examples.label[train]
        share = np.count_nonzero(label) / label.size
        constant = share if examples.classes else np.median(label)
        score[test] = constant
        if split.holdout:  # the report also measures all systems on the training rows of a holdout
            score[train] = constant
    return Rows(examples.label, score, HALF)  # predicts class 1 for a share above one half


def _baseline_name(examples: folds.Examples, systems: Collection[str]) -> str:
    """A name for the baseline that no system has."""
    name: str = CONSTANT if examples.classes else MEDIAN
    while name in systems:
        name = f"{name} (baseline)"
    return name


def _against_no_feature(shared: study.Settings, systems: Sequence[str]) -> study.Settings:
    """The settings; for a one-sided question with the last system as baseline, which uses no
    feature: every other system is compared with it. shared: the settings without a baseline.
    """
    if shared.alternative.one_sided:
        return replace(shared, baseline=systems[-1])
    return shared


def _of_fits(
    examples: folds.Examples, shared: study.Settings, p: reports.ValidationParameters
) -> Validation:
    """The study of an estimator, which is fitted on the folds that suit the table, as are a second
    one, if the user names one, and the baseline. The study fits the estimator on other splits when
    these are first needed (`refit`).

    examples: the rows with labels and features. shared: the settings, as `_settings` makes them.
    """
    assert examples.features is not None
    # how the table is split: k folds, in time order with a gap
    setting = splits.Setting(examples, p.k, p.gap or 0.0, p.seed, shared.limits)
    estimators = _estimators(examples, p)
    # by name the estimators in question, each with the usual preprocessing; last the baseline
    models = {
        name: fitting.prepared(estimator, examples.features, p.seed)
        for name, estimator in estimators.items()
    }
    models[_baseline_name(examples, models)] = fitting.dummy(examples.kind)
    shared = replace(
        shared, metrics=_possible(shared, models, are_named="metrics" in p.given_values)
    )
    learner = fitting.Learner(models, examples.features, examples.label, len(examples.classes))
    main = next(iter(models))  # the name of the estimator in question
    start = time.monotonic()
    fits = resplits.fit_folds(setting, learner, list(models))  # name -> one fit per fold
    seconds_left = p.seconds - (time.monotonic() - start)  # for fits on other splits
    fits_by_name = dict(fits)
    if examples.candidates is not None:
        # The user selected the features among these candidate columns, perhaps on all rows. As many
        # columns are selected anew, on all rows (SELECTED_ON_ALL_ROWS) and on the training rows of
        # each fold (SELECTED_IN_FOLDS): the difference shows how optimistic a selection on all rows
        # is.
        model = fitting.prepared(estimators[main], examples.candidates, p.seed)
        reselecting = replace(learner, estimators={main: model}, features=examples.candidates)
        reselected = resplits.reselected(setting, reselecting, main)
        fits_by_name |= {
            SELECTED_ON_ALL_ROWS: reselected.outside,
            SELECTED_IN_FOLDS: reselected.inside,
        }
    scored = _out_of_fold(fits_by_name, setting.folds)
    # name -> its predictions for the training rows of each fold
    trained = {}
    for name, fits_of_folds in fits.items():
        trained[name] = [fit.train for fit in fits_of_folds if fit.train]
    # the steps of each model, preprocessing and estimator, as text
    steps = {name: " → ".join(fitting.steps(model)) for name, model in models.items()}
    return Validation(
        settings=_against_no_feature(shared, list(models)),
        systems=tuple(models),
        attributes={},
        p=p,
        sources=examples.sources,
        described=tuple(f"{name}: {text}" for name, text in steps.items()),
        threshold=None,  # estimators make their own decisions
        examples=examples,
        split=setting.folds,
        scored=scored,
        trained=trained,
        refit=partial(
            resplits.fit_others,
            setting,
            learner,
            metric=shared.metrics[0],
            system=main,
            fold_fits=fits[main],
            seconds=seconds_left,
        ),
    )


def _out_of_fold(
    fits_by_name: Mapping[str, Sequence[fitting.Fit]], split: splits.Folds
) -> dict[str, Rows]:
    """The predictions of each model for the test rows of all folds, in the order of the table.
    fits_by_name: name of the model -> its fit on each fold.
    """
    tested_rows = np.concatenate(split.tests)  # fold by fold, as the fits predict them
    in_table_order = np.argsort(tested_rows, kind="stable")
    scored = {}
    for name, fits in fits_by_name.items():
        rows = Rows.join([fit.test for fit in fits])
        scored[name] = rows.take(in_table_order)
    return scored


def _estimators(
    examples: folds.Examples, p: reports.ValidationParameters
) -> dict[str, fitting.Estimator]:
    """Name -> estimator: the estimator in question, by default the usual one of the kind of labels;
    then the one that it is compared with, if the user names one in `against`.
    """
    if p.estimator is None:
        estimator = fitting.usual(examples.kind)
        name = type(estimator).__name__
    else:
        estimator = fitting.load(p.estimator, "estimator", examples.kind)
        name = _class_name(p.estimator)
    estimators = {name: estimator}
    if p.against is not None:
        other_name = _class_name(p.against)
        if other_name == name:  # the same class, with other parameters or from another module
            other_name = f"{name} (against)"
        estimators[other_name] = fitting.load(p.against, "against", examples.kind)
    return estimators


def _class_name(path: str) -> str:
    """The last name of an import path.

    >>> _class_name("sklearn.dummy.DummyClassifier"), _class_name("models:Forest")
    ('DummyClassifier', 'Forest')
    """
    return path.replace(":", ".").rpartition(".")[2]


def _possible(
    shared: study.Settings, models: Mapping[str, fitting.Estimator], *, are_named: bool
) -> tuple[lookup.MetricAtK, ...]:
    """The metrics of the settings `shared` that can be computed from the predictions of every
    estimator: a metric of probabilities needs `predict_proba`, which some estimators lack.

    are_named: True if the user named the metrics; then InputError is raised for a metric that
    cannot be computed, otherwise it is left out.
    """
    possible = []
    for chosen in shared.metrics:
        methods = _methods_for(chosen)  # an estimator needs one of these
        lacking = [name for name, model in models.items() if not _has_any(model, methods)]
        if not lacking:
            possible.append(chosen)
        elif are_named:
            raise InputError(
                f"metrics: {chosen.label} needs {' or '.join(methods)}, which estimator "
                f"{lacking[0]} lacks"
            )
    return tuple(possible)


def _has_any(model: fitting.Estimator, methods: Sequence[str]) -> bool:
    """True if an estimator has one of these methods."""
    return any(hasattr(model, method) for method in methods)


def _methods_for(chosen: lookup.MetricAtK) -> list[str]:
    """The methods of an estimator of which one gives what a metric is computed from."""
    if chosen.metric.needs == "":
        return ["predict"]
    if chosen.metric.needs == "scores" and chosen.metric.structure == "counts":
        return ["predict_proba", "decision_function"]
    return ["predict_proba"]
