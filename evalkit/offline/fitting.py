"""Estimators by import path, and their fits over many splits on two cores within a time limit."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, codes, same_length
from evalkit.limits import USUAL
from evalkit.metrics.rows import Rows
from evalkit.reading.inputs.folds import CLASSES
from evalkit.system import progress

CORES = 2
PROBED = 3  # fits from which the time per fit is estimated
CHUNK = 16  # fits between two looks at the clock


# Estimators


def load(path: str, name: str, kind: str) -> Any:
    """Return the estimator at an import path: a class is called without arguments, an instance is
    used as it is.

    The module may be in the working directory. Raises ParameterError if it cannot be imported, is
    not an estimator (other objects are not called), or does not predict targets of this kind.

    >>> load("sklearn.dummy.DummyClassifier", "estimator", "classes")
    DummyClassifier()
    """
    module, _, attribute = path.replace(":", ".").rpartition(".")
    try:
        _add_working_directory()
        imported = getattr(import_module(module), attribute)
    except Exception as error:  # importing a module can raise anything
        raise ParameterError(f"{name}: cannot import {path!r}: {_first(str(error))}") from None
    if not (
        callable(getattr(imported, "fit", None)) and callable(getattr(imported, "predict", None))
    ):
        what = "a class without them" if isinstance(imported, type) else type(imported).__name__
        raise ParameterError(
            f"{name}: {path!r} must be an estimator, with fit and predict, got {what}"
        )
    estimator = _called(imported, path, name) if isinstance(imported, type) else imported
    _refuse_unsuitable(estimator, path, name, kind)
    return estimator


def _add_working_directory() -> None:
    """Add the working directory as the last place to import from, in this process and those it
    starts.
    """
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _refuse_unsuitable(estimator: Any, path: str, name: str, kind: str) -> None:
    """Raise ParameterError if it cannot be cloned, is a regressor for classes, or a classifier for
    numbers.
    """
    from sklearn.base import clone, is_classifier, is_clusterer, is_regressor

    try:
        clone(estimator)
        clusters = is_clusterer(estimator)
        wrong = (is_regressor if kind == CLASSES else is_classifier)(estimator)
    except (TypeError, AttributeError, RuntimeError):
        got = type(estimator).__name__
        raise ParameterError(
            f"{name}: {path!r} must be what scikit-learn's BaseEstimator is, got {got}"
        ) from None
    if clusters:
        raise ParameterError(f"{name}: {path!r} is a clusterer, which predicts no target")
    if wrong:
        predicts, target = ("numbers", "classes") if kind == CLASSES else ("classes", "numbers")
        raise ParameterError(
            f"{name}: {path!r} predicts {predicts}, but the target holds {target}; task= says which"
        )


def _called(estimator: type, path: str, name: str) -> Any:
    try:
        return estimator()
    except Exception as error:
        raise ParameterError(
            f"{name}: {path!r} cannot be called without arguments: {_line(error)}"
        ) from None


def usual(kind: str) -> Any:
    """Return the default estimator: logistic regression for classes, ridge regression for
    numbers.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    return LogisticRegression(max_iter=1000) if kind == CLASSES else Ridge()


def dummy(kind: str) -> Any:
    """Return the no-skill estimator: the most frequent class and the class shares, or the training
    median.
    """
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if kind == CLASSES:
        return DummyClassifier(strategy="prior")
    return DummyRegressor(strategy="median")


def prepared(estimator: Any, features: pd.DataFrame, seed: int) -> Any:
    """Return a pipeline of the usual preprocessing and the estimator, with all unset random states
    set to the seed.

    Numbers: missing values are replaced by the median, then scaled to mean 0 and standard deviation
    1. Text: one column per value. A pipeline gets no further preprocessing.
    """
    from sklearn import base, compose, impute, pipeline, preprocessing

    if not hasattr(estimator, "steps"):
        imputer = impute.SimpleImputer(strategy="median", keep_empty_features=True)
        numbers = pipeline.make_pipeline(imputer, preprocessing.StandardScaler())
        select = compose.make_column_selector
        encoded = (
            preprocessing.OneHotEncoder(handle_unknown="ignore"),
            select(dtype_exclude="number"),
        )
        columns = compose.make_column_transformer(
            (numbers, select(dtype_include="number")), encoded
        )
        text = features.select_dtypes(exclude="number").shape[1]
        estimator = pipeline.make_pipeline(columns if text else numbers, estimator)
    unset = (key for key, value in estimator.get_params().items() if value is None)
    states = {key: seed for key in unset if key.split("__")[-1] == "random_state"}
    return base.clone(estimator).set_params(**states)


# Fits


@dataclass(frozen=True, eq=False)
class Job:
    """A fit to make: the system, its training and test rows; `place` names the fit in errors.

    on_train: predict the training rows too. columns: the features that this fit uses, None for all.
    """

    system: str
    train: Ints
    test: Ints
    place: str
    on_train: bool = False
    columns: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """Predictions for the test rows, for the training rows if the job asks for them, and the
    warnings of a fit.
    """

    test: Rows
    train: Rows | None
    warned: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Learner:
    """Estimators by system, and the rows to learn from. label: class numbers, or any numbers if
    classes is 0.
    """

    estimators: dict[str, Any]
    features: pd.DataFrame
    label: np.ndarray
    classes: int

    def fit(self, job: Job) -> Fit:
        """Make one fit. Raises InputError with the message of the estimator if it fails."""
        from sklearn.base import clone

        y = self.label
        if self.classes and np.unique(y[job.train]).size < 2:
            raise InputError(
                f"label must have 2 or more classes among the training rows of {job.place}, got one"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                x = self.features if job.columns is None else self.features[list(job.columns)]
                model = clone(self.estimators[job.system]).fit(x.iloc[job.train], y[job.train])
                test = self._predicted(model, x.iloc[job.test], job.test)
                train = (
                    self._predicted(model, x.iloc[job.train], job.train) if job.on_train else None
                )
            except Exception as error:
                raise InputError(
                    f"estimator {job.system} fails on {job.place}: {_line(error)}"
                ) from None
        return Fit(
            test, train, tuple(f"{w.category.__name__}: {_first(str(w.message))}" for w in caught)
        )

    def _predicted(self, model: Any, x: pd.DataFrame, rows: Ints) -> Rows:
        if hasattr(model, "steps"):  # preprocess the rows once for decisions and probabilities
            x = model[:-1].transform(x) if len(model.steps) > 1 else x
            model = model[-1]
        decision = np.asarray(model.predict(x), dtype=np.float64).reshape(len(rows))
        if not np.isfinite(decision).all():
            raise ValueError(f"it predicts {decision[~np.isfinite(decision)][0]}")
        if not self.classes:
            return Rows(self.label[rows], decision)
        decided = decision.astype(np.int64)
        said: dict[str, Any] = {
            "actual": self.label[rows],
            "decision": decided,
            "classes": self.classes,
        }
        if hasattr(model, "predict_proba"):
            p = np.zeros((len(rows), self.classes))
            p[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(x)
            return Rows(score=p[:, 1] if self.classes == 2 else p, **said)
        binary = self.classes == 2 and hasattr(model, "decision_function")
        return Rows(score=np.asarray(model.decision_function(x)) if binary else None, **said)


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {_first(str(error))}"


def _first(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[0].strip()[:200] if lines else "no message"


def run(
    learner: Learner,
    jobs: Sequence[Job],
    *,
    required: int,
    seconds: float,
    second_process: float = USUAL.second_process,
    clock: Callable[[], float] = time.monotonic,
) -> list[Fit]:
    """Make the fits of the jobs in order: the first `required` in any case, then as many as fit
    into `seconds`.

    Work of up to `second_process` seconds is done by one process, because starting another takes
    seconds. Linear algebra uses one thread: on small tables its threads wait for each other.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    start = clock()
    fits = list[Fit]()

    def unfinished() -> bool:
        return len(fits) < len(jobs) and (len(fits) < required or clock() - start <= seconds)

    def pays_for_two() -> bool:
        if len(fits) < PROBED:
            return False
        left = _work_left(len(fits), len(jobs), required, seconds, clock() - start)
        return left > second_process

    with progress("fitting", len(jobs)) as draw, threadpool_limits(1):
        while unfinished() and not pays_for_two():
            fits.append(learner.fit(jobs[len(fits)]))
            draw(len(fits))
        if unfinished():
            with Parallel(n_jobs=CORES) as parallel:
                while unfinished():
                    end = (
                        len(fits) + CHUNK
                        if len(fits) >= required
                        else min(len(fits) + CHUNK, required)
                    )
                    fits += parallel(delayed(learner.fit)(job) for job in jobs[len(fits) : end])
                    draw(len(fits))
    return fits


def _work_left(fits: int, jobs: int, required: int, seconds: float, spent: float) -> float:
    """Expected seconds of work left: the required fits, and as many of the others as `seconds`
    allow.
    """
    each = spent / fits
    optional = min(each * (jobs - max(required, fits)), max(seconds - spent, 0.0))
    return each * max(required - fits, 0) + optional


def steps(estimator: Any) -> list[str]:
    """The steps of an estimator as text."""
    if not hasattr(estimator, "steps"):
        return [type(estimator).__name__]
    first = estimator.steps[0][1]
    words = {
        "ColumnTransformer": "missing numbers set to the median, scaled; text one-hot encoded",
        "Pipeline": "missing numbers set to the median, scaled",
    }
    steps = [repr(step).replace("\n", " ") for _, step in estimator.steps[1:]]
    return [words.get(type(first).__name__, repr(first)), *steps]


def error_632(apparent: float, out_of_bag: float) -> float:
    """0.368 × error on the training rows + 0.632 × error out of bag. Efron 1983,
    doi:10.1080/01621459.1983.10477973.

    >>> round(1 - error_632(0.0, 0.5), 3)
    0.684
    """
    return 0.368 * apparent + 0.632 * out_of_bag


def error_632_plus(apparent: float, out_of_bag: float, no_information: float) -> float:
    """The .632 error with a larger weight for the error out of bag, the larger the rate of
    overfitting.

    apparent: the error of the model fitted to *all* rows, on these rows. no_information: from the
    predictions of this model. Efron, Tibshirani 1997, doi:10.1080/01621459.1997.10474007.

    >>> error_632_plus(0.0, 0.5, 0.5)
    0.5
    """
    capped = min(out_of_bag, no_information)
    rate = (
        (capped - apparent) / (no_information - apparent)
        if min(capped, no_information) > apparent
        else 0.0
    )
    weight = 0.632 / (1 - 0.368 * rate)
    return (1 - weight) * apparent + weight * capped


def no_information(label: ArrayLike, predicted: ArrayLike) -> float:
    """Error rate if predictions were independent of labels: Σ over classes of share × (1 −
    predicted share).

    >>> no_information([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    same_length(label=label, predicted=predicted)  # type: ignore[arg-type]
    number, _ = codes(np.concatenate([np.asarray(label), np.asarray(predicted)]))
    half = number.size // 2
    share = [
        np.bincount(side, minlength=number.max() + 1) / half
        for side in (number[:half], number[half:])
    ]
    return float(1 - np.dot(*share))


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
        """1 − an error rate."""
        return 1.0 - float(getattr(self, rate))


def strongest(features: pd.DataFrame, label: ArrayLike, k: int, kind: str) -> list[str]:
    """The k columns with the largest F statistic against the label, each column alone, in the order
    of the table.

    kind: whether the label is a class or a number. Missing numbers are replaced by the median. A
    text column has the largest F of its values; constant columns come last.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": [1.0, 2, 1, 2], "b": [1.0, 1, 2, 3], "c": ["x", "x", "x", "z"]})
    >>> strongest(table, [0, 0, 1, 1], 1, "classes")
    ['b']
    """
    from sklearn.preprocessing import OneHotEncoder

    numbers = features.select_dtypes("number")
    text = features.select_dtypes(exclude="number")
    f: dict[str, float] = {}
    if numbers.shape[1]:
        filled = numbers.fillna(numbers.median()).fillna(0.0)
        f |= dict(zip(numbers, _f(filled.to_numpy(np.float64), label, kind), strict=True))
    for name in text:
        f[name] = _f(OneHotEncoder().fit_transform(text[[name]]), label, kind).max()
    best = np.argsort([-f[name] for name in features], kind="stable")[:k]
    return [features.columns[place] for place in np.sort(best)]


def _f(columns: Any, label: ArrayLike, kind: str) -> Floats:
    """The F statistic of each column, −1 for constant columns."""
    from sklearn.feature_selection import f_classif, f_regression

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant columns
        value = (f_classif if kind == CLASSES else f_regression)(columns, np.asarray(label))[0]
    return np.nan_to_num(value, nan=-1.0)
