"""Estimators by import path, and their fits over many splits: one line of progress, two cores, a stop by time."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ParameterError
from evalkit.definitions.predicted import Predicted
from evalkit.reading.examples import CLASSES

if TYPE_CHECKING:
    import pandas as pd

CORES = 2
PROBED = 3  # fits that tell how long one takes
WORTH = 8.0  # seconds of work from which a second process pays for its start
CHUNK = 16


# Estimators


def load(path: str, name: str, kind: str) -> Any:
    """The estimator at an import path: a class is called without arguments, an estimator taken as it is.

    The module may lie in the working directory. Raises ParameterError where nothing can be imported, or what is there
    is no estimator (nothing else is called), or does not predict what the target is.

    >>> load("sklearn.dummy.DummyClassifier", "estimator", "classes")
    DummyClassifier()
    """
    module, _, attribute = path.replace(":", ".").rpartition(".")
    try:
        _add_working_directory()
        found = getattr(import_module(module), attribute)
    except Exception as error:  # a module may fail in any way of its own
        raise ParameterError(f"{name}: cannot import {path!r}: {_first(str(error))}") from None
    if not (callable(getattr(found, "fit", None)) and callable(getattr(found, "predict", None))):
        what = "a class without them" if isinstance(found, type) else type(found).__name__
        raise ParameterError(f"{name}: {path!r} must be an estimator, with fit and predict, got {what}")
    found = _called(found, path, name) if isinstance(found, type) else found
    _suits(found, path, name, kind)
    return found


def _add_working_directory() -> None:
    """Makes the working directory the last place to import from, in this process and those it starts."""
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)


def _suits(found: Any, path: str, name: str, kind: str) -> None:
    """Raises ParameterError for what cannot be fitted anew, a regressor on classes, or a classifier on numbers."""
    from sklearn.base import clone, is_classifier, is_clusterer, is_regressor

    try:
        clone(found)
        clusters, wrong = is_clusterer(found), (is_regressor if kind == CLASSES else is_classifier)(found)
    except (TypeError, AttributeError, RuntimeError):
        got = type(found).__name__
        raise ParameterError(f"{name}: {path!r} must be what scikit-learn's BaseEstimator is, got {got}") from None
    if clusters:
        raise ParameterError(f"{name}: {path!r} makes clusters of its own, and predicts no target")
    if wrong:
        predicts, target = ("numbers", "classes") if kind == CLASSES else ("classes", "numbers")
        raise ParameterError(f"{name}: {path!r} predicts {predicts}, but the target holds {target}; task= says which")


def _called(found: Any, path: str, name: str) -> Any:
    try:
        return found()
    except Exception as error:
        raise ParameterError(f"{name}: {path!r} cannot be called without arguments: {_line(error)}") from None


def usual(kind: str) -> Any:
    """The estimator where none is named: logistic regression for classes, ridge regression for numbers."""
    from sklearn.linear_model import LogisticRegression, Ridge

    return LogisticRegression(max_iter=1000) if kind == CLASSES else Ridge()


def dummy(kind: str) -> Any:
    """What every model must beat: the most frequent class with the classes' shares, or the training median."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return DummyClassifier(strategy="prior") if kind == CLASSES else DummyRegressor(strategy="median")


def prepared(estimator: Any, features: pd.DataFrame, seed: int) -> Any:
    """The estimator behind the usual preparation, unless it is a pipeline; its random states are set to the seed.

    Numbers: missing ones take the median, then mean 0 and standard deviation 1. Text: one column a value.
    """
    from sklearn.base import clone
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if not hasattr(estimator, "steps"):
        numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
        columns = make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        )
        text = features.select_dtypes(exclude="number").shape[1]
        estimator = make_pipeline(columns if text else numbers, estimator)
    every = estimator.get_params()
    states = {key: seed for key, value in every.items() if key.split("__")[-1] == "random_state" and value is None}
    return clone(estimator).set_params(**states)


# Fits


@dataclass(frozen=True, eq=False)
class Job:
    """One fit to make: of which system, on which rows, to be asked about which; `place` names it in errors.

    columns: the features that this fit sees, None for all.
    """

    system: str
    train: Ints
    test: Ints
    place: str
    on_train: bool = False
    columns: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """What the fitted estimator says of the test rows, of the training rows where asked, and what it warned of."""

    test: Predicted
    train: Predicted | None
    warned: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Learner:
    """Estimators by system, and the rows they learn from; label: class numbers, or numbers where classes is 0."""

    estimators: dict[str, Any]
    features: pd.DataFrame
    label: Floats
    classes: int

    def fit(self, job: Job) -> Fit:
        """One fit; raises InputError with the estimator's own words where it fails."""
        from sklearn.base import clone

        y = self.label.astype(np.int64) if self.classes else self.label
        if self.classes and np.unique(y[job.train]).size < 2:
            raise InputError(f"label must have 2 or more classes among the training rows of {job.place}, got one")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                x = self.features if job.columns is None else self.features[list(job.columns)]
                model = clone(self.estimators[job.system]).fit(x.iloc[job.train], y[job.train])
                test = self._predicted(model, x.iloc[job.test], job.test)
                train = self._predicted(model, x.iloc[job.train], job.train) if job.on_train else None
            except Exception as error:
                raise InputError(f"estimator {job.system} fails on {job.place}: {_line(error)}") from None
        return Fit(test, train, tuple(f"{one.category.__name__}: {_first(str(one.message))}" for one in caught))

    def _predicted(self, model: Any, x: pd.DataFrame, rows: Ints) -> Predicted:
        if hasattr(model, "steps"):  # prepare the rows once for both questions
            x, model = model[:-1].transform(x) if len(model.steps) > 1 else x, model[-1]
        decision = np.asarray(model.predict(x), dtype=np.float64).reshape(len(rows))
        if not np.isfinite(decision).all():
            raise ValueError(f"it predicts {decision[~np.isfinite(decision)][0]}")
        if not self.classes:
            return Predicted(self.label[rows], decision)
        if hasattr(model, "predict_proba"):
            chance = np.zeros((len(rows), self.classes))
            chance[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(x)
            return Predicted(self.label[rows], decision, chance[:, 1] if self.classes == 2 else None, chance)
        binary = self.classes == 2 and hasattr(model, "decision_function")
        return Predicted(self.label[rows], decision, np.asarray(model.decision_function(x)) if binary else None)


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
    clock: Callable[[], float] = time.monotonic,
) -> list[Fit]:
    """The fits of the jobs in order: the first `required` always, of the rest as many as fit into the seconds.

    One process while the work is short, as starting others takes seconds; otherwise two. Linear algebra keeps to one
    thread: on small tables its threads wait for each other.
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    start, done = clock(), list[Fit]()

    def late() -> bool:
        return len(done) >= required and clock() - start > seconds

    def much() -> bool:
        """Whether what is required and what the seconds allow of the rest pays for a second process."""
        spent = clock() - start
        each = spent / len(done)
        rest = min(each * (len(jobs) - max(required, len(done))), max(seconds - spent, 0.0))
        return each * max(required - len(done), 0) + rest > WORTH

    with progress(len(jobs)) as draw, threadpool_limits(1):
        while len(done) < len(jobs) and not late():
            if len(done) >= PROBED and much():
                break
            done.append(learner.fit(jobs[len(done)]))
            draw(len(done))
        if len(done) < len(jobs) and not late():
            with Parallel(n_jobs=CORES) as parallel:
                while len(done) < len(jobs) and not late():
                    end = len(done) + CHUNK if len(done) >= required else min(len(done) + CHUNK, required)
                    done += parallel(delayed(learner.fit)(job) for job in jobs[len(done) : end])
                    draw(len(done))
    return done


# A line of progress


@contextmanager
def progress(total: int) -> Iterator[Callable[[int], None]]:
    """A function that redraws one line, on a terminal or in Jupyter; the line is gone afterwards, nothing is stored."""
    show, erase = _shown()
    last = 0.0

    def draw(done: int) -> None:
        nonlocal last
        if done in (1, total) or time.monotonic() - last > 0.3:
            last = time.monotonic()
            filled = round(20 * done / total)
            show(f"fitting [{'#' * filled}{'.' * (20 - filled)}] {done} of {total}")

    try:
        yield draw
    finally:
        erase()


def _shown() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """How to show and how to erase a line here; nothing happens where nobody watches."""
    if sys.stderr.isatty():

        def write(text: str) -> None:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

        return write, lambda: write("")
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None or not hasattr(shell, "kernel"):
        return lambda text: None, lambda: None
    from IPython.display import clear_output, display

    handle: Any = display({"text/plain": "fitting"}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
    return lambda text: handle.update({"text/plain": text}, raw=True), clear_output


def steps(estimator: Any) -> list[str]:
    """The steps of an estimator in words."""
    if not hasattr(estimator, "steps"):
        return [type(estimator).__name__]
    first = estimator.steps[0][1]
    words = {"ColumnTransformer": "missing numbers to the median, scaled; text one column a value"}
    words |= {"Pipeline": "missing numbers to the median, scaled"}
    steps = [repr(step).replace("\n", " ") for _, step in estimator.steps[1:]]
    return [words.get(type(first).__name__, repr(first)), *steps]
