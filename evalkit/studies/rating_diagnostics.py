"""What the findings of a rating report are measured by."""

from dataclasses import dataclass

import numpy as np

from evalkit.catalogue.forecast_kinds import Quantile
from evalkit.studies.rating import Rating

HEAVY = 0.25  # the share of the squared error in 1% of the rows from which RMSE is driven by a few


def constant_forecasts(study: Rating) -> list[str]:
    """The systems that forecast the same value for every row."""
    return [name for name, forecast in study.forecasts.items() if forecast.low == forecast.high]


def medians(study: Rating) -> bool:
    """Whether a median is compared."""
    return any(isinstance(chosen.metric.kind, Quantile) for chosen in study.directed)


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
