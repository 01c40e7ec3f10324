"""Tables and estimators that the tests of the validation study share."""

import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd

from evalkit.limits import Limits
from evalkit.parameters.reports import ValidationParameters
from evalkit.studies import validation

ROOT = Path(__file__).resolve().parents[1]
CANCER = "data/breast_cancer/features.csv"
CREDIT = ROOT / "data" / "german_credit" / "predictions.csv"
DUMMY = "sklearn.dummy.DummyClassifier"
FAST = {"seconds": 1e-9}  # the chosen folds alone


def cancer(rows: int = 569) -> pd.DataFrame:
    """The first rows of the bundled table of tumours, of which no two are equal; 569 are all."""
    return pd.read_csv(ROOT / CANCER).iloc[:rows]


def applicants() -> pd.DataFrame:
    """German credit's own columns, one row an applicant."""
    frame = pd.read_csv(CREDIT)
    return frame[frame["model"] == "forest"].drop(columns=["model", "y_score", "fold"])


def visits(rows: int) -> pd.DataFrame:
    """Visits to a doctor with a column for the person: consecutive rows that agree in all that is
    constant.
    """
    frame = pd.read_parquet(ROOT / "data" / "rand_hie" / "visits.parquet").iloc[:rows]
    key = frame.drop(columns=["id", "mdvis"]).astype(str).agg("|".join, axis=1)
    return frame.assign(person=(key != key.shift()).cumsum().astype(str))


def severe(study) -> dict:
    """The severe findings of a study, by their names."""
    return {one.name: one for one in study.audit_findings if one.severity == "severe"}


def noise(n: int, *, seed: int = 0, columns: int = 3) -> pd.DataFrame:
    """Normal features x0, x1, … and labels 0 and 1, half each, that do not depend on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{i}" for i in range(columns)])
    return frame.assign(label=rng.permutation(np.arange(n) % 2))


def five_fold_study(frame: pd.DataFrame, **parameters):
    """The study of the usual estimator, fitted in five folds of a table of features."""
    return validation.read(features=frame, k=5, **FAST, **parameters)


def study_within(limits: Limits, **parameters):
    """The study of estimators that are fitted here, within other limits."""
    return validation.study_of(ValidationParameters.from_raw(parameters), limits)


def estimators() -> None:
    """A module with estimators that fail, as a user might write one."""
    from sklearn.dummy import DummyClassifier

    class Fails(DummyClassifier):
        def fit(self, x, y):
            raise RuntimeError("no luck\nat all")

    class Warns(DummyClassifier):
        def fit(self, x, y):
            import warnings

            warnings.warn("I warn", UserWarning, stacklevel=1)
            return super().fit(x, y)

    class Lost(DummyClassifier):
        def predict(self, x):
            return np.full(len(x), np.nan)

    class Needs(DummyClassifier):
        def __init__(self, x):
            self.x = x

    class Duck:
        def fit(self, x, y):
            return self

        def predict(self, x):
            return np.zeros(len(x))

    module = types.ModuleType("tests_estimators")
    module.__dict__["Duck"] = Duck
    module.__dict__["Lost"] = Lost
    module.__dict__.update(Fails=Fails, warns=Warns(), Needs=Needs, number=7, nothing=lambda: 7)
    sys.modules["tests_estimators"] = module
