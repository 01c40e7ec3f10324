"""Estimators by import path, and their fits over many splits on two cores within a time limit."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, codes, same_length
from evalkit.limits import USUAL_LIMITS
from evalkit.machine.progress_bars import progress
from evalkit.metrics.rows import Rows
from evalkit.reading.inputs.folds import CLASSES

Estimator: TypeAlias = Any  # of scikit-learn, which has no types
Matrix: TypeAlias = Any  # what an estimator takes: a frame, or an array, which may be sparse
CORES = 2
PROBED = 3  # fits from which the time per fit is estimated
CHUNK = 16  # fits between two looks at the clock


# Estimators


def load(path: str, name: str, kind: str) -> Estimator:
    """Return the estimator at an import path: a class is called without arguments, an instance is
    used as it is.

    The module may be in the working directory. name: of the parameter, for errors. kind: of the
    target, "classes" or "number". Raises ParameterError if it cannot be imported, is
    not an estimator (other objects are not called), or does not predict targets of this kind.

    >>> load("sklearn.dummy.DummyClassifier", "estimator", "classes")
    DummyClassifier()
    """
    module, _, attribute = path.replace(":", ".").rpartition(".")
    try:
        _add_working_directory()
        imported = getattr(import_module(module), attribute)
    except Exception as error:  # importing a module can raise anything
        line = _first_line(str(error))
        raise ParameterError(f"{name}: cannot import {path!r}: {line}") from None
    is_class = isinstance(imported, type)
    has_fit = callable(getattr(imported, "fit", None))
    has_predict = callable(getattr(imported, "predict", None))
    if not (has_fit and has_predict):
        got = "a class without them" if is_class else type(imported).__name__
        raise ParameterError(
            f"{name}: {path!r} must be an estimator, with fit and predict, got {got}"
        )
    estimator = _instance(imported, path, name) if is_class else imported
    _refuse_unsuitable(estimator, path, name, kind)
    return estimator


def _add_working_directory() -> None:
    """Add the working directory as the last place to import from, in this process and those it
    starts.
    """
    directory = os.getcwd()
    if directory not in sys.path and "" not in sys.path:
        sys.path.append(directory)


def _refuse_unsuitable(estimator: Estimator, path: str, name: str, kind: str) -> None:
    """Raise ParameterError for an estimator that scikit-learn cannot clone, for a clusterer, and
    for a regressor if the target is a class, or a classifier if it is a number.

    path, name: the import path that the user states and the parameter that has it, for errors.
    kind: of the target, "classes" or "number".
    """
    from sklearn.base import clone, is_classifier, is_clusterer, is_regressor

    if kind == CLASSES:
        target = "classes"
        predicts = "numbers"
        is_of_other_kind = is_regressor
    else:
        target = "numbers"
        predicts = "classes"
        is_of_other_kind = is_classifier
    try:  # all three fail for an object that is not like scikit-learn's estimators
        clone(estimator)
        predicts_no_target = is_clusterer(estimator)
        is_unsuitable = is_of_other_kind(estimator)
    except (TypeError, AttributeError, RuntimeError):
        got = type(estimator).__name__
        raise ParameterError(
            f"{name}: {path!r} must be what scikit-learn's BaseEstimator is, got {got}"
        ) from None
    if predicts_no_target:
        raise ParameterError(f"{name}: {path!r} is a clusterer, which predicts no target")
    if is_unsuitable:
        raise ParameterError(
            f"{name}: {path!r} predicts {predicts}, but the target holds {target}; task= says which"
        )


def _instance(estimator: type, path: str, name: str) -> Estimator:
    """An instance of the class. path, name: as in `load`. Raises ParameterError if the class needs
    arguments.
    """
    try:
        return estimator()
    except Exception as error:
        raise ParameterError(
            f"{name}: {path!r} cannot be called without arguments: {_error_line(error)}"
        ) from None


def usual(kind: str) -> Estimator:
    """Return the default estimator for a kind of target: logistic regression for classes, ridge
    regression for numbers.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    return LogisticRegression(max_iter=1000) if kind == CLASSES else Ridge()


def dummy(kind: str) -> Estimator:
    """Return the no-skill estimator for a kind of target: the most frequent class with the class
    shares as probabilities, or the training median.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if kind == CLASSES:
        return DummyClassifier(strategy="prior")
    return DummyRegressor(strategy="median")


def prepared(estimator: Estimator, features: pd.DataFrame, seed: int) -> Estimator:
    """Return a pipeline of the usual preprocessing and the estimator, not fitted, with all unset
    random states set to the seed.

    Numbers: missing values are replaced by the median, then scaled to mean 0 and standard deviation
    1. Text: one column per value. A pipeline gets no further preprocessing.
    """
    from sklearn import base, pipeline

    if not hasattr(estimator, "steps"):
        estimator = pipeline.make_pipeline(_preprocessing(features), estimator)
    states = {}  # by parameter, such as "forest__random_state"
    for parameter, value in estimator.get_params().items():
        is_state = parameter.split("__")[-1] == "random_state"
        if is_state and value is None:
            states[parameter] = seed
    return base.clone(estimator).set_params(**states)


def _preprocessing(features: pd.DataFrame) -> Estimator:
    """The preprocessing of `prepared`, not fitted; without a part for text if no column is text."""
    from sklearn import compose, impute, pipeline, preprocessing

    imputer = impute.SimpleImputer(strategy="median", keep_empty_features=True)
    of_numbers = pipeline.make_pipeline(imputer, preprocessing.StandardScaler())
    has_text = features.select_dtypes(exclude="number").shape[1] > 0
    if not has_text:
        return of_numbers
    of_text = preprocessing.OneHotEncoder(handle_unknown="ignore")
    select = compose.make_column_selector
    return compose.make_column_transformer(
        (of_numbers, select(dtype_include="number")), (of_text, select(dtype_exclude="number"))
    )


# Fits


@dataclass(frozen=True, eq=False)
class Job:
    """A fit to make, of the estimator of a system.

    train, test: numbers of the rows. place: the name of the fit in errors. on_train: True to
    predict the training rows too. columns: the features that this fit uses, None for all.
    """

    system: str
    train: Ints
    test: Ints
    place: str
    on_train: bool = False
    columns: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """The predictions of a fit for the test rows, and for the training rows if the job asks for
    them. warned: the warnings that the estimator gave, a line for each.
    """

    test: Rows
    train: Rows | None
    warned: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Learner:
    """Estimators by system, and the table to learn from: features and label of each row. label:
    class numbers from 0, or any numbers. classes: how many there are; 0 for numbers.
    """

    estimators: dict[str, Estimator]
    features: pd.DataFrame
    label: np.ndarray
    classes: int

    def fit(self, job: Job) -> Fit:
        """Fit a clone of the job's estimator and predict the test rows. Raises InputError if the
        estimator fails, with its message, or if all training rows have the same class.
        """
        from sklearn.base import clone

        y = self.label
        if self.classes and np.unique(y[job.train]).size < 2:
            raise InputError(
                f"label must have 2 or more classes among the training rows of {job.place}, got one"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                features = self.features
                if job.columns is not None:
                    features = features[list(job.columns)]
                estimator = clone(self.estimators[job.system])
                model = estimator.fit(features.iloc[job.train], y[job.train])
                test = self._predict(model, features, job.test)
                train = None
                if job.on_train:
                    train = self._predict(model, features, job.train)
            except Exception as error:
                raise InputError(
                    f"estimator {job.system} fails on {job.place}: {_error_line(error)}"
                ) from None
        warned = [f"{w.category.__name__}: {_first_line(str(w.message))}" for w in caught]
        return Fit(test, train, tuple(warned))

    def _predict(self, model: Estimator, features: pd.DataFrame, rows: Ints) -> Rows:
        """Some rows with their labels and the predictions of a fitted model: forecasts if labels
        are numbers, else decisions (class numbers) and scores. Raises ValueError for a prediction
        that is not finite.

        The scores are probabilities if the model gives them: of class 1 if there are two classes,
        shape (rows,), else of all classes, (rows, classes). Otherwise they are the decision
        function if there are two classes, and None if there is none or if there are more classes.
        """
        x: Matrix = features.iloc[rows]
        if hasattr(model, "steps"):
            # a pipeline: preprocess the rows once, not for decisions and probabilities separately
            if len(model.steps) > 1:
                x = model[:-1].transform(x)
            model = model[-1]
        prediction = np.asarray(model.predict(x), dtype=np.float64).reshape(len(rows))
        if not np.isfinite(prediction).all():
            raise ValueError(f"it predicts {prediction[~np.isfinite(prediction)][0]}")
        if not self.classes:
            return Rows(self.label[rows], prediction)
        score = None
        if hasattr(model, "predict_proba"):
            # the model has only the classes of its training rows; others get probability 0
            p = np.zeros((len(rows), self.classes))
            p[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(x)
            score = p[:, 1] if self.classes == 2 else p
        elif self.classes == 2 and hasattr(model, "decision_function"):
            score = np.asarray(model.decision_function(x))
        return Rows(
            actual=self.label[rows],
            score=score,
            decision=prediction.astype(np.int64),
            classes=self.classes,
        )


def _error_line(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    return f"{type(error).__name__}: {_first_line(str(error))}"


def _first_line(text: str) -> str:
    """The first line that is not empty, at most 200 characters."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0].strip()[:200] if lines else "no message"


def run(
    learner: Learner,
    jobs: Sequence[Job],
    *,
    required: int,
    seconds: float,
    second_process: float = USUAL_LIMITS.second_process,
    clock: Callable[[], float] = time.monotonic,
) -> list[Fit]:
    """Make the fits of the jobs in order: the first `required` in any case, then as many as fit
    into `seconds`. Returns the fits that were made.

    One process makes all fits if the rest takes at most `second_process` seconds, because starting
    another takes seconds; `PROBED` fits are made first to estimate this. clock: returns the time in
    seconds.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    fits = list[Fit]()
    budget = TimeBudget(len(jobs), required, seconds, clock, start=clock())
    # linear algebra uses one thread: on small tables its threads wait for each other
    with progress("fitting", len(jobs)) as show_count, threadpool_limits(1):
        while budget.allows_another(len(fits)):
            if len(fits) >= PROBED and budget.work_left(len(fits)) > second_process:
                break  # the rest is shared out to several processes
            next_job = jobs[len(fits)]
            fits.append(learner.fit(next_job))
            show_count(len(fits))
        if not budget.allows_another(len(fits)):
            return fits
        with Parallel(n_jobs=CORES) as parallel:
            # in chunks, after each of which the budget is asked for time
            while budget.allows_another(len(fits)):
                end = len(fits) + CHUNK
                if len(fits) < required:
                    end = min(end, required)  # no optional fit before it is asked again
                fits += parallel(delayed(learner.fit)(job) for job in jobs[len(fits) : end])
                show_count(len(fits))
    return fits


@dataclass(frozen=True)
class TimeBudget:
    """How long fits may take: the first `required` of the jobs as long as they need, the others
    until `seconds` have passed since `start`.
    """

    jobs: int
    required: int
    seconds: float
    clock: Callable[[], float]
    start: float

    def allows_another(self, fits: int) -> bool:
        """True if another fit is to be made after this number of fits."""
        if fits >= self.jobs:
            return False
        return fits < self.required or self.clock() - self.start <= self.seconds

    def work_left(self, fits: int) -> float:
        """The expected seconds of the fits still to be made, judged by the mean time of those made:
        the required ones, and as many of the others as `seconds` allow.
        """
        spent = self.clock() - self.start
        per_fit = spent / fits
        required = per_fit * max(self.required - fits, 0)
        optional = per_fit * (self.jobs - max(self.required, fits))
        return required + min(optional, max(self.seconds - spent, 0.0))


def steps(estimator: Estimator) -> list[str]:
    """The steps of an estimator as texts, the usual preprocessing (see `prepared`) in words.

    Preprocessing is known by its class as the first step of a pipeline: a `ColumnTransformer` for
    columns with text, a `Pipeline` for numbers only. Other steps are as scikit-learn prints them.
    """
    if not hasattr(estimator, "steps"):
        return [type(estimator).__name__]
    _, first_step = estimator.steps[0]  # a step is its name and its transformer
    preprocessing = {
        "ColumnTransformer": "missing numbers set to the median, scaled; text one-hot encoded",
        "Pipeline": "missing numbers set to the median, scaled",
    }
    texts = [preprocessing.get(type(first_step).__name__, repr(first_step))]
    for _, step in estimator.steps[1:]:
        texts.append(repr(step).replace("\n", " "))
    return texts


def error_632(apparent: float, out_of_bag: float) -> float:
    """The .632 bootstrap estimate of the error: 0.368 × error on the training rows + 0.632 × error
    out of bag. Efron 1983, doi:10.1080/01621459.1983.10477973.

    The error on training rows is too low, that out of bag too high: a bootstrap sample holds
    1 − 1/e = 0.632 of the rows.

    >>> round(1 - error_632(0.0, 0.5), 3)
    0.684
    """
    return 0.368 * apparent + 0.632 * out_of_bag


def error_632_plus(apparent: float, out_of_bag: float, no_information: float) -> float:
    """The .632+ bootstrap estimate of the error: the larger the rate of overfitting, the larger
    the weight of the error out of bag.

    apparent: the error of the model fitted to *all* rows, on these rows. out_of_bag: the mean error
    of bootstrap samples on the rows that they did not draw. no_information: from the predictions of
    the model fitted to all rows. Efron, Tibshirani 1997, doi:10.1080/01621459.1997.10474007.

    >>> error_632_plus(0.0, 0.5, 0.5)
    0.5
    """
    capped = min(out_of_bag, no_information)  # no worse than without information
    overfitting = 0.0  # 0 for none, 1 if the model predicts no better than without information
    if capped > apparent:
        overfitting = (capped - apparent) / (no_information - apparent)
    weight = 0.632 / (1 - 0.368 * overfitting)  # from 0.632 to 1
    return (1 - weight) * apparent + weight * capped


def no_information(label: ArrayLike, predicted: ArrayLike) -> float:
    """The error rate if predictions were independent of labels: 1 − Σ over classes of the share of
    labels × the share of predictions.

    >>> no_information([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    actual = np.asarray(label)
    decision = np.asarray(predicted)
    same_length(label=actual, predicted=decision)
    class_index, classes = codes(np.concatenate([actual, decision]))
    labels, predictions = np.split(class_index, 2)
    share_of_labels = np.bincount(labels, minlength=classes.size) / labels.size
    share_of_predictions = np.bincount(predictions, minlength=classes.size) / labels.size
    return float(1 - np.dot(share_of_labels, share_of_predictions))


@dataclass(frozen=True)
class Bootstrap:
    """Error rates of one learner: on its training rows, out of bag, with no information, .632 and
    .632+.
    """

    apparent: float
    out_of_bag: float
    no_information: float
    error_632: float
    error_632_plus: float

    def accuracy(self, rate: str) -> float:
        """1 − an error rate. rate: the name of its field."""
        return 1.0 - float(getattr(self, rate))


def strongest(features: pd.DataFrame, label: ArrayLike, k: int, kind: str) -> list[str]:
    """The k columns with the largest F statistic against the label, each column alone, in the order
    of the table.

    kind: of the label, "classes" or "number". Missing numbers are replaced by the median. The F of
    a text column is the largest of its values, each as a column of 0 and 1. Constant columns are
    selected last.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [1.0, 2, 1, 2], "b": [1.0, 1, 2, 3], "c": ["x", "x", "x", "z"]})
    >>> strongest(table, [0, 0, 1, 1], 1, "classes")
    ['b']
    """
    from sklearn.preprocessing import OneHotEncoder

    numbers = features.select_dtypes("number")
    text = features.select_dtypes(exclude="number")
    f_of_column: dict[str, float] = {}
    if numbers.shape[1]:
        # the median of a column without any number is missing too
        filled = numbers.fillna(numbers.median()).fillna(0.0)
        values = _f_statistics(filled.to_numpy(np.float64), label, kind)
        f_of_column |= dict(zip(numbers, values, strict=True))
    for name in text:
        one_hot = OneHotEncoder().fit_transform(text[[name]])
        f_of_column[name] = _f_statistics(one_hot, label, kind).max()
    largest_first = np.argsort([-f_of_column[name] for name in features], kind="stable")
    selected = np.sort(largest_first[:k])  # in the order of the table
    return [features.columns[position] for position in selected]


def _f_statistics(columns: Matrix, label: ArrayLike, kind: str) -> Floats:
    """The F statistic of each column of a matrix, which may be sparse, against the label: of an
    analysis of variance for classes, of a linear regression for numbers. −1, below all others, for
    constant columns, of which it is undefined. kind: of the label, "classes" or "number".
    """
    from sklearn.feature_selection import f_classif, f_regression

    f_test = f_classif if kind == CLASSES else f_regression
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scikit-learn warns of constant columns
        f, _ = f_test(columns, np.asarray(label))
    return np.asarray(np.nan_to_num(f, nan=-1.0))
