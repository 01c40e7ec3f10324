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
from evalkit.statistics.intervals import Estimate, mover_distance, normal_quantile
from evalkit.statistics.proportions import miettinen_nurminen, ratio_score
from evalkit.statistics.spread import LimitArrays

LEVEL_OF_ERRORS = 0.95  # of the intervals from whose width standard errors follow


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
    def errors_if_equal(self) -> Floats:
        """The standard error of each value if all groups have the same true value, (groups,)."""

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
        variance = share * (1 - share) / rows
        return np.asarray(np.sqrt(variance))

    @property
    def errors_if_equal(self) -> Floats:
        """The same errors: with the added rows, groups with similar shares have similar errors."""
        return self.errors

    @property
    def correlation(self) -> Floats:
        """The identity, as groups share no rows."""
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
        return self._arrays(LEVEL_OF_ERRORS).value

    @cached_property
    def errors(self) -> Floats:
        """The standard errors with which normal intervals would be as wide as the groups'."""
        arrays = self._arrays(LEVEL_OF_ERRORS)
        widths = arrays.high - arrays.low
        return widths / (2 * normal_quantile(LEVEL_OF_ERRORS))

    @property
    def errors_if_equal(self) -> Floats:
        """The same errors: how they depend on the true value is not known of any metric."""
        return self.errors

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
        """The limits of each pair's difference, row less column, (groups, groups) each: by MOVER
        from the limits of both groups and the correlation of their errors.
        """
        groups = self._arrays(level)
        difference = groups.value[:, None] - groups.value  # row less column
        below = groups.value - groups.low
        above = groups.high - groups.value
        # the difference is low where the group of the row is low and that of the column high
        distance_below = mover_distance(below[:, None], above, self.correlation)
        distance_above = mover_distance(above[:, None], below, self.correlation)
        return LimitArrays(low=difference - distance_below, high=difference + distance_above)

    def ratio(self, first: int, second: int, level: float) -> Estimate:
        """The ratio of the values of two groups, which are taken as independent, with limits by
        MOVER (Donner and Zou 2012, doi:10.1177/0962280210391076). Value and limits are NaN if the
        interval of either value reaches below 0, if the numerator has none, or if the ratio is
        undefined.
        """
        numerator = self.estimate(first, level)
        denominator = self.estimate(second, level)
        n = numerator.n + denominator.n
        value = float(ratio(numerator.value, denominator.value))
        numerator_may_be_negative = not numerator.low >= 0  # or has no limits, NaN
        if numerator_may_be_negative or denominator.low < 0 or np.isnan(value):
            return Estimate.without_limits(np.nan, level, n, "MOVER")
        pair = (numerator.value, denominator.value)
        low = _ratio_limit(*pair, numerator.low, denominator.high, sign=-1)
        high = _ratio_limit(*pair, numerator.high, denominator.low, sign=1)
        return Estimate(value, low, high, level, n, "MOVER")


class _EstimateArrays(NamedTuple):
    """The values of all groups and their limits, (groups,) each."""

    value: Floats
    low: Floats
    high: Floats


def _ratio_limit(
    numerator: float,
    denominator: float,
    numerator_limit: float,
    denominator_limit: float,
    sign: int,
) -> float:
    """A limit of a ratio a / b by MOVER (Donner and Zou 2012, doi:10.1177/0962280210391076):
    (a b ± √((a b)² − A B)) / B, with A = a_limit (2 a − a_limit) and B likewise.

    numerator, denominator: the values a and b. sign: 1 for the upper limit of the ratio, which
    takes the upper limit of the numerator and the lower limit of the denominator; −1 for the lower
    limit, which takes the lower and the upper one. If B is 0 or below, as for a lower limit of 0 of
    the denominator, the ratio has no bound: its limit is infinite, or 0 for the lower limit.
    """
    divisor = denominator_limit * (2 * denominator - denominator_limit)  # B
    if divisor <= 0:
        return np.inf if sign > 0 else 0.0
    numerator_term = numerator_limit * (2 * numerator - numerator_limit)  # A
    product = numerator * denominator
    discriminant = product**2 - numerator_term * divisor
    root = np.sqrt(max(discriminant, 0.0))
    return float((product + sign * root) / divisor)
