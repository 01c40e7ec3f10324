"""Gaps of a metric between groups of units: differences and ratios of each pair of groups.

Groups share no rows, so that their values are independent unless a unit has rows in several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.caching import cached
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.proportions import LimitArrays, miettinen_nurminen, ratio_score


def level_of_each(level: float, count: int) -> float:
    """The level of each of `count` intervals that hold together at `level` (Šidák 1967).

    >>> level_of_each(0.95, 1), round(level_of_each(0.95, 3), 4)
    (0.95, 0.983)
    """
    return float(level ** (1 / max(count, 1)))


class GroupValues(Protocol):
    """A metric on each of several groups; NaN where it is undefined."""

    @property
    def values(self) -> Floats:
        """The value in each group, (groups,)."""

    @property
    def errors(self) -> Floats:
        """The standard error of each value, more than 0 unless nothing varies, (groups,)."""

    @property
    def correlation(self) -> Floats:
        """The correlation of the errors, (groups, groups)."""

    def differences(self, level: float) -> LimitArrays:
        """The limits of each pair's difference, row less column: (groups, groups) each."""

    def ratio(self, first: int, second: int, level: float) -> Estimate:
        """The ratio of the values of two groups."""


@dataclass(frozen=True, eq=False)
class GroupShares:
    """Shares of independent, unweighted rows: the hits and the rows that count in each group."""

    hits: Floats
    rows: Floats

    @property
    def values(self) -> Floats:
        """The share of each group."""
        return ratio(self.hits, self.rows)

    @property
    def errors(self) -> Floats:
        """The errors after two hits and two misses are added, as by Agresti and Coull (1998)."""
        rows = self.rows + 4
        share = (self.hits + 2) / rows
        return np.asarray(np.sqrt(share * (1 - share) / rows))

    @property
    def correlation(self) -> Floats:
        """None, as groups share no rows."""
        return np.eye(len(self.rows))

    def differences(self, level: float) -> LimitArrays:
        """The score limits of Miettinen and Nurminen.

        >>> shares = GroupShares(np.array([56.0, 48.0]), np.array([70.0, 80.0]))
        >>> float(shares.differences(0.95).low[0, 1].round(4))
        0.0528
        """
        return miettinen_nurminen(
            self.hits[:, None], self.rows[:, None], self.hits, self.rows, level=level
        )

    def ratio(self, first: int, second: int, level: float) -> Estimate:
        """The ratio of two shares, with Koopman's score interval."""
        return ratio_score(
            self.hits[first], self.rows[first], self.hits[second], self.rows[second], level=level
        )


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """Any metric on each group, from the interval that it has there.

    estimate: (number of a group, level) -> its estimate. correlation: of the groups' errors,
    (groups, groups); the identity unless units have rows in several groups.
    """

    estimate: Callable[[int, float], Estimate]
    correlation: Floats

    @cached_property
    def values(self) -> Floats:
        """The value of each group."""
        any_level = 0.95  # of limits that are not used
        return self._arrays(any_level).value

    @cached_property
    def errors(self) -> Floats:
        """The errors that the width of the intervals states."""
        arrays = self._arrays(0.95)
        return (arrays.high - arrays.low) / (2 * normal_quantile(0.95))

    @cached
    def _arrays(self, level: float) -> _EstimateArrays:
        """The values and the limits of all groups at a level."""
        estimates = [self.estimate(group, level) for group in range(len(self.correlation))]
        return _EstimateArrays(
            value=np.array([e.value for e in estimates], float),
            low=np.array([e.low for e in estimates], float),
            high=np.array([e.high for e in estimates], float),
        )

    def differences(self, level: float) -> LimitArrays:
        """The limits of each pair's difference by MOVER from those of both groups, with the
        correlation of their errors.
        """
        groups = self._arrays(level)
        difference = groups.value[:, None] - groups.value  # row less column
        below = groups.value - groups.low
        above = groups.high - groups.value
        # the difference is low where the group of the row is low and that of the column high
        distance_below = _mover_distance(below[:, None], above, self.correlation)
        distance_above = _mover_distance(above[:, None], below, self.correlation)
        return LimitArrays(low=difference - distance_below, high=difference + distance_above)

    def ratio(self, first: int, second: int, level: float) -> Estimate:
        """MOVER of the ratio of two values that cannot be negative (Donner and Zou 2012,
        doi:10.1177/0962280210391076), taken as independent; NaN for others.
        """
        numerator = self.estimate(first, level)
        denominator = self.estimate(second, level)
        n = numerator.n + denominator.n
        value = float(ratio(numerator.value, denominator.value))
        if not min(numerator.low, denominator.low) >= 0 or np.isnan(value):
            return Estimate(np.nan, low=np.nan, high=np.nan, level=level, n=n, method="MOVER")
        pair = (numerator.value, denominator.value)
        low = _ratio_limit(*pair, numerator.low, denominator.high, side=-1)
        high = _ratio_limit(*pair, numerator.high, denominator.low, side=1)
        return Estimate(value, low, high, level, n, "MOVER")


class _EstimateArrays(NamedTuple):
    """The values of all groups and their limits, (groups,) each."""

    value: Floats
    low: Floats
    high: Floats


def _mover_distance(first: Floats, second: Floats, correlation: Floats) -> Floats:
    """The distance of a limit of a − b from its value by MOVER, √(first² + second² − 2 correlation
    first second), from the distances `first` of a and `second` of b; one per element.
    """
    squares = first**2 + second**2 - 2 * correlation * first * second
    distance: Floats = np.sqrt(np.maximum(squares, 0.0))
    return distance


def _ratio_limit(
    numerator: float,
    denominator: float,
    numerator_limit: float,
    denominator_limit: float,
    side: int,
) -> float:
    """A limit of a ratio a / b by MOVER (Donner and Zou 2012, doi:10.1177/0962280210391076):
    (a b ± √((a b)² − A B)) / B, with A = a_limit (2 a − a_limit) and B likewise.

    side: 1 for the upper limit, which takes the upper limit of the numerator and the lower one of
    the denominator; −1 for the lower limit, which takes the other two. Where the denominator may be
    0, the ratio is not bounded above, and below only by 0.
    """
    divisor = denominator_limit * (2 * denominator - denominator_limit)  # B
    if divisor <= 0:
        return np.inf if side > 0 else 0.0
    product = numerator * denominator
    square = product**2 - numerator_limit * (2 * numerator - numerator_limit) * divisor
    return float((product + side * np.sqrt(max(square, 0.0))) / divisor)
