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

    x = np.linspace(-8.0, 8.0, 1601)  # the largest of the groups' standard normal errors
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    def is_likely(quantile: float) -> bool:
        """True if the range exceeds the quantile more often than the level allows."""
        others = (ndtr(x) - ndtr(x - quantile)) ** (groups - 1)
        return float(groups * np.sum(density * others) * (x[1] - x[0])) < level

    widest = bisect(is_likely, inside=0.0, outside=20.0).inside
    return float(2 * ndtr(widest / np.sqrt(2)) - 1)


class LargestGap(NamedTuple):
    """The largest difference between two of several groups, and their numbers."""

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
        rows = (self.hits[:, None], self.rows[:, None])
        return miettinen_nurminen(*rows, self.hits, self.rows, level=level)

    def ratio(self, first: int, second: int, level: float) -> Estimate:
        """The ratio of two shares, with Koopman's score interval."""
        own = (self.hits[first], self.rows[first])
        return ratio_score(*own, self.hits[second], self.rows[second], level=level)


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """Any metric on each group, from the interval that it has there.

    estimate: (group, level) -> its estimate. count: the number of groups. correlation: of the
    groups' errors, (groups, groups); the identity unless units have rows in several groups.
    """

    estimate: Callable[[int, float], Estimate]
    correlation: Floats

    @cached_property
    def values(self) -> Floats:
        """The value of each group."""
        return self._numbers(0.95).value

    @cached
    def _numbers(self, level: float) -> _Numbers:
        """The values and the limits of all groups at a level."""
        estimates = [self.estimate(group, level) for group in range(len(self.correlation))]
        return _Numbers(
            value=np.array([e.value for e in estimates], float),
            low=np.array([e.low for e in estimates], float),
            high=np.array([e.high for e in estimates], float),
        )

    def differences(self, level: float) -> LimitArrays:
        """MOVER of the limits of both groups, with the correlation of their errors."""
        numbers = self._numbers(level)
        value = numbers.value[:, None] - numbers.value
        below = numbers.value - numbers.low
        above = numbers.high - numbers.value
        low = value - _hypotenuse(below[:, None], above, self.correlation)
        high = value + _hypotenuse(above[:, None], below, self.correlation)
        return LimitArrays(low, high)

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
        low = _ratio_limit(a.value, a.low, b.value, b.high, side=-1)
        high = _ratio_limit(a.value, a.high, b.value, b.low, side=1)
        return Estimate(value, low, high, level, n, "MOVER")


class _Numbers(NamedTuple):
    """The values of groups and their limits."""

    value: Floats
    low: Floats
    high: Floats


def _hypotenuse(first: Floats, second: Floats, correlation: Floats) -> Floats:
    """The distance of the limit of each difference, from those of its two values."""
    squares = first**2 + second**2 - 2 * correlation * first * second
    distance: Floats = np.sqrt(np.maximum(squares, 0.0))
    return distance


def _ratio_limit(a: float, limit_a: float, b: float, limit_b: float, side: int) -> float:
    """A limit of a / b, from the limit of each on the side that moves the ratio there; infinite on
    the upper side where b may be 0. side: −1 for the lower one.
    """
    divisor = limit_b * (2 * b - limit_b)
    if divisor <= 0:
        return np.inf if side > 0 else 0.0
    square = (a * b) ** 2 - limit_a * (2 * a - limit_a) * divisor
    return float((a * b + side * np.sqrt(max(square, 0.0))) / divisor)


def largest_gap(groups: GroupValues, level: float) -> LargestGap | None:
    """The highest less the lowest value of the groups in which there is one; None below two.

    The lower limit is the largest of those that hold for all pairs together, at least 0. The upper
    one is the largest of those of each pair alone: some pair has the true largest gap, and its own
    limit holds it. The equivalence interval is the same at 1 − 2α.

    >>> gap = largest_gap(GroupShares(np.array([56.0, 48.0]), np.array([70.0, 80.0])), 0.95)
    >>> gap.highest, gap.lowest, str(gap.estimate)
    (0, 1, '0.20 [0.05, 0.34]')
    """
    values = groups.values
    defined = int(np.count_nonzero(~np.isnan(values)))
    if defined < 2:
        return None
    highest = int(np.nanargmax(values))
    lowest = int(np.nanargmin(values))
    gap = float(values[highest] - values[lowest])
    is_pair = ~np.isnan(values[:, None] - values) & ~np.eye(len(values), dtype=bool)

    def estimate(level_of_limits: float) -> Estimate:
        """The gap with its limits."""
        together = groups.differences(level_of_pairs(level_of_limits, defined))
        alone = groups.differences(level_of_limits)
        low = float(np.nan_to_num(together.low[is_pair]).max(initial=0.0))
        high = float(alone.high[is_pair].max())  # NaN if that of a pair is unknown
        return Estimate(gap, low, high, level_of_limits, defined, METHOD)

    share = float(ratio(values[lowest], values[highest]))
    return LargestGap(highest, lowest, estimate(level), share, estimate(equivalence_level(level)))
