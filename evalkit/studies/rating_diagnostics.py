"""What the findings of a rating report are measured by."""

from dataclasses import dataclass

import numpy as np

from evalkit.studies.rating import Rating

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


@dataclass(frozen=True)
class Constant:
    """A value that, forecast for every row, is better than every system by the primary metric: its name, the metric."""

    name: str
    value: float


def constant_wins(study: Rating) -> Constant | None:
    """The mean or the median of the actual values, if one of them is better than every system."""
    chosen = study.primary
    sign = {"low": 1.0, "high": -1.0, "neither": np.nan}[chosen.metric.best]
    every = (Constant("mean", study.constant(chosen)), Constant("median", study.constant_median(chosen)))
    best = min(every, key=lambda constant: sign * constant.value)
    return best if sign * best.value < sign * study.estimate(chosen, study.leader).value else None
