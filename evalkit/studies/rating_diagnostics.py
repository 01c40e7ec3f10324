"""What the findings of a rating report are measured by, and the rows that its figure of errors draws."""

from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats
from evalkit.studies.rating import Rating

DRAWN = 700  # rows of a drawn cloud
HEAVY = 0.25  # the share of the squared error in 1 % of the rows from which RMSE is driven by a few


@dataclass(frozen=True)
class Actual:
    """How the actual values are distributed: mean, standard deviation, lowest, highest, share of zeros."""

    mean: float
    deviation: float
    low: float
    high: float
    zeros: float

    @property
    def constant(self) -> bool:
        """True if all are equal."""
        return self.low == self.high


def actual(s: Rating) -> Actual:
    """The actual values."""
    a = s.data.actual
    return Actual(float(a.mean()), float(a.std()), float(a.min()), float(a.max()), float(np.mean(a == 0)))


def units(s: Rating) -> int:
    """The units that vary: rows, or the units of the column that was named."""
    return len(s.data.actual) if s.unit is None else len(np.unique(s.unit))


def constant_forecasts(s: Rating) -> list[str]:
    """The systems that forecast the same value for every row."""
    return [name for name, f in s.data.forecast.items() if np.ptp(f) == 0]


def dominated(s: Rating) -> bool:
    """True if 1 % of the rows hold much of the leader's squared error."""
    return s.heavy > HEAVY


@dataclass(frozen=True)
class Cloud:
    """Some rows of the leader, evenly along its forecast: forecast and actual − forecast."""

    forecast: Floats
    error: Floats


def cloud(s: Rating) -> Cloud:
    """The rows to draw."""
    forecast = s.data.forecast[s.leader]
    order = np.argsort(forecast, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, DRAWN).astype(int))]
    return Cloud(forecast[some], (s.data.actual - forecast)[some])
