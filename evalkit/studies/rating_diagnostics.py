"""What the findings of a rating report are measured by, and the rows that its figure of errors draws."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from evalkit.studies.rating import Rating

DRAWN = 700  # rows of a drawn cloud
HEAVY = 0.25  # the share of the squared error in 1% of the rows from which RMSE is driven by a few


@dataclass(frozen=True)
class Actual:
    """How the actual values are distributed: mean, standard deviation, lowest, highest, share of zeros."""

    mean: float
    deviation: float
    low: float
    high: float
    zeros: float


def actual(study: Rating) -> Actual:
    """The actual values."""
    a = study.data.actual
    return Actual(float(a.mean()), float(a.std()), float(a.min()), float(a.max()), float(np.mean(a == 0)))


def units(study: Rating) -> int:
    """The units that vary: rows, or the units of the column that was named."""
    return len(study.data.actual) if study.unit is None else len(np.unique(study.unit))


def constant_forecasts(study: Rating) -> list[str]:
    """The systems that forecast the same value for every row."""
    return [name for name, forecast in study.data.forecast.items() if np.ptp(forecast) == 0]


def cloud(study: Rating) -> pd.DataFrame:
    """Some rows of the leader, evenly along its forecast: forecast and error, which is forecast − actual."""
    forecast = study.data.forecast[study.leader]
    order = np.argsort(forecast, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, DRAWN).astype(int))]
    return pd.DataFrame({"forecast": forecast[some], "error": (forecast - study.data.actual)[some]})
