"""The study of forecasts: all that the page asks follows from how forecasts and errors are distributed, and from sums.

Where the rows are, and how they vary, its two subclasses know: `rating_rows` and `rating_sums`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Chosen
from evalkit.metrics.distribution import Distribution
from evalkit.reading.tables.parts import Source
from evalkit.statistics.intervals import Estimate
from evalkit.studies.account import Account
from evalkit.studies.mean_reliability import MeanReliability
from evalkit.studies.row_study import RowStudy

METRICS = ("mae", "rmse", "bias", "median_absolute_error", "r2")
BIAS = lookup.find("bias", "forecasts")
TENTHS = 10
EXAMPLES = 5
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
MEAN, MEDIAN = "mean", "median"  # of the actual values


@dataclass(frozen=True)
class Actual:
    """How the actual values are distributed: mean, standard deviation, lowest, highest, share of zeros."""

    mean: float
    deviation: float
    low: float
    high: float
    zeros: float


@dataclass(frozen=True)
class Tenth:
    """A tenth of a system's forecasts: its number, from 1, mean forecast, mean actual value, bias, rows."""

    tenth: int
    forecast: float
    actual: float
    bias: Estimate
    n: int


@dataclass(frozen=True, eq=False, repr=False)
class Rating(RowStudy):
    """The study of forecasts of numbers; the units are rows, or the unit that was named."""

    report: ClassVar[str] = "rating"
    listed_under: ClassVar[str] = "Errors"

    # What the rows tell

    @property
    @abstractmethod
    def account(self) -> Account:
        """What was read."""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether rows carry weights."""

    @property
    @abstractmethod
    def units(self) -> int:
        """The units that vary: rows, or the units of the column that was named."""

    @property
    @abstractmethod
    def actual(self) -> Actual:
        """The actual values."""

    @property
    @abstractmethod
    def target(self) -> Distribution:
        """How the actual values are distributed."""

    @property
    @abstractmethod
    def forecasts(self) -> Mapping[str, Distribution]:
        """How the forecasts of each system are distributed."""

    @property
    @abstractmethod
    def errors(self) -> Mapping[str, Distribution]:
        """How forecast − actual of each system is distributed."""

    @abstractmethod
    def of_constant(self, chosen: Chosen, name: str) -> float:
        """The metric of forecasting the mean or the median of the actual values for every row."""

    @abstractmethod
    def nearer(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Units on which the first system has the smaller absolute error, and on which the second has."""

    @abstractmethod
    def tenths_of(self, name: str) -> list[Tenth]:
        """Tenths of a system's forecasts, lowest first."""

    @abstractmethod
    def mean_of(self, name: str) -> MeanReliability:
        """The mean of the actual values along the forecast of a system."""

    @abstractmethod
    def crossed(self, name: str, against: str, edges: tuple[Floats, Floats]) -> Floats:
        """The weight of rows in cells of a system's forecast and, against it, the actual value or the error."""

    @abstractmethod
    def windows(self, names: list[str]) -> list[str]:
        """The systems over which the axes of their pictures reach."""

    @abstractmethod
    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The rows that the leader misses by most."""

    @property
    def bound(self) -> float:
        """How far quantiles of the errors can lie from those of the rows."""
        return 0.0

    @property
    def banded(self) -> bool:
        """Whether reliability diagrams have bands."""
        return True

    # What follows

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was read."""
        return self.account.sources

    def comparison_extras(self, chosen: Chosen, pair: tuple[str, str]) -> dict[str, Any]:
        """Units on which the first has the smaller absolute error, and the difference that so many would show."""
        wins, losses = self.nearer(pair)
        ties = self.units - wins - losses
        return {"wins": wins, "ties": ties, "losses": losses} | super().comparison_extras(chosen, pair)

    def constant(self, chosen: Chosen) -> float:
        """The metric of forecasting the mean of the actual values for every row."""
        return self.of_constant(chosen, MEAN)

    def constant_median(self, chosen: Chosen) -> float:
        """The metric of forecasting the median of the actual values for every row, which has the least MAE of all."""
        return self.of_constant(chosen, MEDIAN)

    @cached_property
    def tenths(self) -> pd.DataFrame:
        """By tenths of each system's forecast: mean forecast, mean actual and bias with intervals, rows."""
        rows = []
        for name in self.order:
            for t in self.tenths_of(name):
                means: dict[str, Any] = {"tenth": t.tenth, "forecast": t.forecast, "actual": t.actual}
                interval = {"bias": t.bias.value, "low": t.bias.low, "high": t.bias.high, "n": t.n}
                rows.append({"system": name} | means | interval)
        return pd.DataFrame(rows)

    @cached_property
    def means(self) -> dict[str, MeanReliability]:
        """The mean of the actual values along the forecast of every system, best first."""
        return {name: self.mean_of(name) for name in self.order}

    @cached_property
    def parts(self) -> pd.DataFrame:
        """The squared error of every system by CORP: mse, miscalibration, discrimination, uncertainty, skill.

        skill: (discrimination − miscalibration) / uncertainty, the R² against the mean of the actual values.
        """
        rows = []
        for name, of_system in self.means.items():
            d = of_system.parts
            gained = d.discrimination - d.miscalibration
            skill = float(ratio(gained, d.uncertainty))
            rows.append({"system": name, "mse": d.uncertainty - gained} | asdict(d) | {"skill": skill})
        return pd.DataFrame(rows)

    @cached_property
    def spread(self) -> pd.DataFrame:
        """Quantiles of the error forecast − actual of every system."""
        rows = []
        for name in self.order:
            values = self.errors[name].quantiles(SHARES)
            rows.append({"system": name} | {f"{q:.0%}": v for q, v in zip(SHARES, values, strict=True)})
        return pd.DataFrame(rows)

    @property
    def heavy(self) -> float:
        """The share of the leader's squared error that the worst hundredth of the rows holds."""
        return self.errors[self.leader].heaviest()


def tenth_edges(column: Distribution) -> Floats:
    """The edges of tenths of the rows."""
    return np.unique(column.quantiles((np.arange(1, TENTHS) / TENTHS).tolist()))
