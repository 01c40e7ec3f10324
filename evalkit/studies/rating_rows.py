"""The study of forecasts from the rows themselves."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import sums
from evalkit.metrics.distribution import Held
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs.ratings import Ratings
from evalkit.statistics.sample import HeldRows
from evalkit.studies import account, mean_reliability
from evalkit.studies.account import Account
from evalkit.studies.mean_reliability import MeanReliability
from evalkit.studies.rating_study import EXAMPLES, MEAN, Actual, Rating, Tenth, tenth_edges


@dataclass(frozen=True, eq=False, repr=False)
class RowsStudy(Rating):
    """The study of rows in memory."""

    data: Ratings

    @property
    def account(self) -> Account:
        """What was read."""
        return account.of_rows(self.data.rows)

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.data.weight is not None

    @property
    def units(self) -> int:
        """The units that vary: rows, or the units of the column that was named."""
        return len(self.data.actual) if self.unit is None else len(np.unique(self.unit))

    @cached_property
    def sample(self) -> HeldRows:
        """Every system's forecasts beside the actual values."""
        d = self.data
        shared: dict[str, Any] = {"weight": d.weight, "unit": self.unit, "beside": self.beside(d.rows)}
        return HeldRows({name: Rows(d.actual, f, **shared) for name, f in d.forecast.items()}, lambda: d.rows.id)

    @cached_property
    def actual(self) -> Actual:
        """The actual values."""
        a = self.data.actual
        return Actual(float(a.mean()), float(a.std()), float(a.min()), float(a.max()), float(np.mean(a == 0)))

    @cached_property
    def target(self) -> Held:
        """How the actual values are distributed."""
        return Held(self.data.actual, self.data.weight)

    @cached_property
    def forecasts(self) -> dict[str, Held]:
        """How the forecasts of each system are distributed."""
        return {name: Held(f, self.data.weight) for name, f in self.data.forecast.items()}

    @cached_property
    def errors(self) -> dict[str, Held]:
        """How forecast − actual of each system is distributed."""
        return {name: Held(f - self.data.actual, self.data.weight) for name, f in self.data.forecast.items()}

    def of_constant(self, chosen: Chosen, name: str) -> float:
        """The metric of forecasting the mean or the median of the actual values for every row."""
        rows = self.sample.rows[self.leader]
        value = float(np.dot(rows.shares, rows.actual)) if name == MEAN else self.target.weighted_median()
        return chosen.value(replace(rows, score=np.full(len(rows), value)))

    def nearer(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Units on which the first system has the smaller absolute error, and on which the second has."""
        weight = 1.0 if self.unit is None or self.data.weight is None else self.data.weight
        first, second = (Sums(-weight * np.abs(self.data.forecast[name] - self.data.actual)) for name in pair)
        wins, _, losses = sums.wins(first, second, self.unit)
        return wins, losses

    def tenths_of(self, name: str) -> list[Tenth]:
        """Tenths of a system's forecasts, lowest first."""
        forecast, weight, tenths = self.data.forecast[name], self.data.weight, []
        part = np.searchsorted(tenth_edges(self.forecasts[name]), forecast, side="right")
        for i in np.unique(part):
            member = part == i
            bias = self.mean(forecast - self.data.actual, weight, member)
            of_forecast, actual = (self.mean(values, weight, member) for values in (forecast, self.data.actual))
            tenths.append(Tenth(int(i) + 1, of_forecast.value, actual.value, bias, int(member.sum())))
        return tenths

    def mean_of(self, name: str) -> MeanReliability:
        """The mean of the actual values along the forecast of a system."""
        draws, level = self.settings.limits.bands, self.settings.level
        return mean_reliability.of_rows(self.sample.rows[name], self.rng(5), draws=draws, level=level)

    def crossed(self, name: str, against: str, edges: tuple[Floats, Floats]) -> Floats:
        """The weight of rows in cells of a system's forecast and, against it, the actual value or the error."""
        y = {"actual": self.data.actual, "error": self.errors[name].values}[against]
        return np.histogram2d(self.data.forecast[name], y, edges, weights=self.data.weight)[0]

    def windows(self, names: list[str]) -> list[str]:
        """The systems over which the axes of their pictures reach."""
        return names

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The rows that the leader misses by most."""
        actual, forecast = self.data.actual, self.data.forecast[self.leader]
        worst = np.argsort(-np.abs(forecast - actual), kind="stable")[:n]
        columns = {"id": self.data.rows.id[worst], "actual": actual[worst], "forecast": forecast[worst]}
        return pd.DataFrame(columns).assign(error=forecast[worst] - actual[worst])
