"""`TimeOrder`: the steps of rows in time, and the naive forecasts that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, ratio

TIMES_OF_STEP = 33  # of the longest horizon, below which tests reject too often


class Scales(NamedTuple):
    """The mean absolute and the mean squared error of the naive forecast of each row's series."""

    absolute: Floats
    squared: Floats


@dataclass(frozen=True, eq=False)
class TimeOrder:
    """For each row the number of steps of its time since the first one, in which missing times
    count, the number of its series, from 0, and how many steps ahead its forecast looks.

    weight: of each row; None if rows are unweighted. is_regular: True if most distinct times are
    equally far apart. is_even: True if all distances are whole numbers of steps; otherwise each
    distinct time is a step.
    """

    step: Ints
    series: Ints
    steps_ahead: Ints
    weight: Floats | None = None
    is_regular: bool = True
    is_even: bool = True

    @property
    def times(self) -> int:
        """The number of distinct times, those of rows without weight apart."""
        step = self.step if self.weight is None else self.step[self.weight > 0]
        return len(np.unique(step))

    @property
    def series_count(self) -> int:
        """The number of series."""
        return len(np.unique(self.series))

    @cached_property
    def horizons(self) -> Ints:
        """The distinct horizons, in steps."""
        return np.unique(self.steps_ahead)

    @property
    def longest_horizon(self) -> int:
        """The longest horizon, in steps."""
        return int(self.horizons[-1])

    @property
    def lags(self) -> int:
        """How many steps back errors depend on others."""
        return self.longest_horizon - 1

    @property
    def has_few_times(self) -> bool:
        """True if there are so few times for the longest horizon that tests reject too often."""
        return self.lags > 0 and self.times < TIMES_OF_STEP * self.longest_horizon

    def last_rows(self, count: int) -> Ints:
        """The last rows of the first series at the shortest horizon, in time order, by number."""
        is_first_series = self.series == self.series.min()
        is_shortest_horizon = self.steps_ahead == self.horizons[0]
        rows = np.flatnonzero(is_first_series & is_shortest_horizon)
        order = np.argsort(self.step[rows], kind="stable")
        return rows[order][-count:]

    @cached_property
    def first_of_equals(self) -> Ints:
        """For each row the first row with its time, series and horizon, by number."""
        keys = np.column_stack([self._keys(self.step), self.steps_ahead])
        _, first, key = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first[key.ravel()]

    def _keys(self, step: Ints) -> Ints:
        """A number for each series and step, which grows by series and then by step."""
        steps = int(self.step.max(initial=0)) + 1
        return self.series * steps + step

    def values_before(self, actual: Floats, season: int = 1) -> Floats:
        """The last actual value of each row's series that was known when it was forecast, or with a
        season that of the same time in an earlier season; NaN where the table has none.

        >>> order = TimeOrder(np.array([0, 1, 2]), np.zeros(3, int), np.array([1, 1, 2]))
        >>> order.values_before(np.array([5.0, 6.0, 7.0]))
        array([nan,  5.,  5.])
        """
        seasons = -(-self.steps_ahead // season)
        step_before = self.step - season * seasons
        return self._values_at(actual, step_before, season)

    def _values_at(self, actual: Floats, step: Ints, season: int) -> Floats:
        """The actual value of each row's series at the row's element of `step`; NaN where the table
        has none.

        step: one per row; negative before the first time of the table, where no series has a value.
        season: in steps. If it is one step, the last value before stands in for a missing one. In a
        longer season the value before has another place in the season, and cannot.
        """
        # one key for each series and step, ascending by series, then by step
        table_keys, first_row = np.unique(self._keys(self.step), return_index=True)
        keys = self._keys(step)
        position = np.searchsorted(table_keys, keys, side="right") - 1  # of the last key up to it
        row = first_row[position]
        # the key of a negative step would be that of a step of the series before
        exists = (step >= 0) & (position >= 0)
        if season == 1:
            exists &= self.series[row] == self.series  # else the key is of the series before
        else:
            exists &= table_keys[position] == keys
        return np.where(exists, actual[row], np.nan)

    def naive_scales(self, actual: Floats, season: int = 1) -> Scales:
        """The divisors of MASE and of RMSSE for each row: the mean absolute and the mean squared
        error of the naive forecast over the row's series. The naive forecast is the actual value
        one season before, see `_values_at`. NaN for a series in which no value has another one a
        season before. season: in steps.
        """
        # A series may have several rows at one step, such as forecasts with several horizons of the
        # same actual value. The value counts once: the first row has it.
        _, first_row = np.unique(self._keys(self.step), return_index=True)
        naive_forecast = self._values_at(actual, self.step - season, season)
        error = (actual - naive_forecast)[first_row]
        series = self.series[first_row]
        has_forecast = ~np.isnan(error)
        error = error[has_forecast]
        series = series[has_forecast]
        # of each series, by number
        count = np.bincount(series, minlength=self.series.max() + 1)
        sum_of_absolute = np.bincount(series, np.abs(error), len(count))
        sum_of_squares = np.bincount(series, error**2, len(count))
        absolute = ratio(sum_of_absolute, count)
        squared = ratio(sum_of_squares, count)
        return Scales(absolute[self.series], squared[self.series])


def mean_of_series(actual: Floats, weight: Floats, series: Ints) -> Floats:
    """The mean of the actual values of each row's series.

    >>> mean_of_series(np.array([1.0, 3.0, 5.0]), np.ones(3), np.array([0, 0, 1]))
    array([2., 2., 5.])
    """
    total = np.bincount(series, weight * actual)
    mean = ratio(total, np.bincount(series, weight))
    return mean[series]
