"""Gaps of a metric between groups of units: differences and ratios of each pair of groups, and the
largest gap, with limits that hold together.

Groups share no rows, so that their values are independent unless a unit has rows in several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple, Protocol

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.proportions import LimitArrays, miettinen_nurminen, ratio_score
from evalkit.statistics.significance import equivalence_level
from evalkit.statistics.spread import bisect
from evalkit.system import cached

METHOD = "largest of all pairs"


def level_of_each(level: float, count: int) -> float:
    """The level of each of `count` intervals that hold together at `level` (Šidák 1967).

    >>> level_of_each(0.95, 1), round(level_of_each(0.95, 3), 4)
    (0.95, 0.983)
    """
    return float(level ** (1 / max(count, 1)))


@cache
def level_of_pairs(level: float, groups: int) -> float:
    """The level of each interval of the difference of two of so many groups, where those of all
    pairs hold together at `level`: the studentised range of Tukey and Kramer.

    >>> level_of_pairs(0.95, 2), round(level_of_pairs(0.95, 4), 4)
    (0.95, 0.9898)
    """
    if groups <= 2:
        return level
    from scipy.special import ndtr

    largest = np.linspace(-8.0, 8.0, 1601)  # values of the largest of the standard normal errors
    step = largest[1] - largest[0]
    density = np.exp(-(largest**2) / 2) / np.sqrt(2 * np.pi)

    def exceeded_too_often(bound: float) -> bool:
        """True if the range of the groups' errors lies within the bound with a probability below
        the level: the integral over the largest error, below which all others lie within the bound.
        """
        others_within = (ndtr(largest) - ndtr(largest - bound)) ** (groups - 1)
        return float(groups * np.sum(density * others_within) * step) < level

    quantile = bisect(exceeded_too_often, inside=0.0, outside=20.0).inside
    # the difference of two such errors has the standard deviation √2
    return float(2 * ndtr(quantile / np.sqrt(2)) - 1)


class LargestGap(NamedTuple):
    """The largest difference between two of several groups (estimate), the numbers of both groups,
    the lowest value / the highest (ratio), and the interval for a test of equivalence.
    """

    highest: int
    lowest: int
    estimate: Estimate
    ratio: float
    equivalence: Estimate


class GroupValues(Protocol):
    """A metric on each of several groups; NaN where it is undefined."""

    @property
    def values(self) -> Floats:
        """The value in each group, (groups,)."""

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
        a = self.estimate(first, level)
        b = self.estimate(second, level)
        n = a.n + b.n
        value = float(ratio(a.value, b.value))
        if not min(a.low, b.low) >= 0 or np.isnan(value):
            return Estimate(np.nan, np.nan, np.nan, level, n, "MOVER")
        low = _ratio_limit(a.value, a.low, b.value, b.high, sign=-1)
        high = _ratio_limit(a.value, a.high, b.value, b.low, sign=1)
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


def _ratio_limit(a: float, limit_a: float, b: float, limit_b: float, sign: int) -> float:
    """A limit of a / b by MOVER (Donner and Zou 2012), (a b ± √((a b)² − A B)) / B with A = limit_a
    (2 a − limit_a) and B likewise.

    sign: 1 for the upper limit, infinite if b may be 0; −1 for the lower one. limit_a, limit_b: the
    limits of a and of b that move the ratio to this side.
    """
    divisor = limit_b * (2 * b - limit_b)  # B
    if divisor <= 0:
        return np.inf if sign > 0 else 0.0
    square = (a * b) ** 2 - limit_a * (2 * a - limit_a) * divisor
    return float((a * b + sign * np.sqrt(max(square, 0.0))) / divisor)


def largest_gap(groups: GroupValues, level: float) -> LargestGap | None:
    """The highest less the lowest value of the groups, of those with a value; None if fewer than
    two have one.

    The lower limit is the largest of those that hold for all pairs together, at least 0. The upper
    one is the largest of those of each pair alone: some pair has the true largest gap, and its own
    limit holds it. The equivalence interval is the same at 1 − 2α.

    >>> gap = largest_gap(GroupShares(np.array([56.0, 48.0]), np.array([70.0, 80.0])), 0.95)
    >>> gap.highest, gap.lowest, str(gap.estimate)
    (0, 1, '0.20 [0.05, 0.34]')
    """
    values = groups.values
    if np.count_nonzero(~np.isnan(values)) < 2:
        return None
    highest = int(np.nanargmax(values))
    lowest = int(np.nanargmin(values))
    return LargestGap(
        highest,
        lowest,
        estimate=_gap_estimate(groups, level),
        ratio=float(ratio(values[lowest], values[highest])),
        equivalence=_gap_estimate(groups, equivalence_level(level)),
    )


def _gap_estimate(groups: GroupValues, level: float) -> Estimate:
    """The largest gap with its limits at this level, see `largest_gap`; n is the number of groups
    with a value.
    """
    values = groups.values
    defined = int(np.count_nonzero(~np.isnan(values)))
    gap = float(np.nanmax(values) - np.nanmin(values))
    different_groups = ~np.eye(len(values), dtype=bool)
    is_pair = ~np.isnan(values[:, None] - values) & different_groups
    together = groups.differences(level_of_pairs(level, defined))
    alone = groups.differences(level)
    low = float(np.nan_to_num(together.low[is_pair]).max(initial=0.0))
    high = float(alone.high[is_pair].max())  # NaN if that of a pair is unknown
    return Estimate(gap, low, high, level, defined, METHOD)
