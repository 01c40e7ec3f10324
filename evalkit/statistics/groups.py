"""Gaps of a metric between groups of units: differences and ratios of each pair of groups.

Groups share no rows, so that their values are independent unless a unit has rows in several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.caching import cached
from evalkit.statistics.intervals import Estimate, hall, mover_distance, normal_quantile
from evalkit.statistics.proportions import miettinen_nurminen, ratio_score
from evalkit.statistics.spread import LimitArrays, bisect

FARTHEST = 8.0  # standard errors, beyond which no error of the reference lies
NODES = 401  # errors of the reference, over which a probability is summed
STEPS = 40  # of the search for a quantile
DIFFERENCE_OF_MEANS = "Welch, corrected for skewness"
LEVEL_OF_ERRORS = 0.95  # of the intervals from whose width standard errors follow


def level_of_each(level: float, count: int) -> float:
    """The level of each of `count` intervals that hold together at `level` (Šidák 1967).

    >>> level_of_each(0.95, 1), round(level_of_each(0.95, 3), 4)
    (0.95, 0.983)
    """
    return float(level ** (1 / max(count, 1)))


def level_of_comparison(errors: Floats, reference: int, level: float) -> float:
    """The level of the normal interval of each comparison of a group with the reference, such that
    the intervals of all other groups hold together at `level` (Dunnett 1955,
    doi:10.1080/01621459.1955.10501294).

    errors: the standard errors of the groups' values, which are independent, (groups,). All
    comparisons have the error of the reference in common, so that they often fail together: each
    may have a lower level than independent ones, that of `level_of_each`.

    >>> round(level_of_comparison(np.ones(4), 0, 0.95), 4), round(level_of_each(0.95, 3), 4)
    (0.9812, 0.983)
    """
    from scipy.special import ndtr

    reference_error = errors[reference]
    others = np.delete(errors, reference)
    if len(others) < 2 or not (errors > 0).all():
        return level_of_each(level, len(others))
    # for each error z of the reference, in standard errors, the others are independent
    z = np.linspace(-FARTHEST, FARTHEST, NODES)
    density = np.exp(-(z**2) / 2)
    shift = reference_error * z[:, None]  # (nodes, 1)
    difference_error = np.hypot(others, reference_error)

    def probability(quantile: float) -> float:
        """The probability that all differences are within so many of their standard errors."""
        reach = quantile * difference_error
        within = ndtr((shift + reach) / others) - ndtr((shift - reach) / others)
        return float(density @ within.prod(axis=1) / density.sum())

    def is_too_narrow(quantile: float) -> bool:
        """True if intervals of this quantile hold together with less than the probability."""
        return probability(quantile) < level

    widest = normal_quantile(level_of_each(level, len(others)))
    quantile = bisect(is_too_narrow, normal_quantile(level), widest, steps=STEPS).outside
    return math.erf(quantile / math.sqrt(2))


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
        """The errors with the share of all groups together, which needs no added rows: 0 only if no
        group has a hit, or none a miss.
        """
        common_share = ratio(self.hits.sum(), self.rows.sum())
        variance = ratio(common_share * (1 - common_share), self.rows)
        return np.asarray(np.sqrt(variance))

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


class MeanOfGroup(NamedTuple):
    """A mean over the rows of a group: its standard error, the skewness of the rows, and their
    number.
    """

    value: float
    error: float
    skewness: float
    n: int

    @property
    def third_cumulant(self) -> float:
        """The third cumulant of the mean, which is subtracted as means are."""
        return float(self.skewness / np.sqrt(self.n) * self.error**3)


@dataclass(frozen=True, eq=False)
class GroupMeans(GroupEstimates):
    """The mean of a bounded loss in each group of independent, unweighted rows.

    The interval of such a mean allows for a sample that shows too little of how losses vary.
    Limits of a difference by MOVER would have the allowances of both groups, and would be too wide.
    So groups that have shown it have t limits of their difference, corrected for skewness.

    means: of the groups that have shown it; None for the others, whose differences have limits by
    MOVER.
    """

    means: Sequence[MeanOfGroup | None]

    @cached_property
    def errors(self) -> Floats:
        """The standard error of each mean; without one in `means`, that of `GroupEstimates`."""
        errors = super().errors.copy()
        for group, mean in enumerate(self.means):
            if mean is not None:
                errors[group] = mean.error
        return errors

    def differences(self, level: float) -> LimitArrays:
        """The limits of the difference of each two groups, row less column: (groups, groups)."""
        by_mover = super().differences(level)
        low = by_mover.low.copy()
        high = by_mover.high.copy()
        for row, first in enumerate(self.means):
            for column, second in enumerate(self.means):
                if row != column and first is not None and second is not None:
                    limits = difference_of_means(first, second, level=level)
                    low[row, column] = limits.low
                    high[row, column] = limits.high
        return LimitArrays(low, high)


def difference_of_means(first: MeanOfGroup, second: MeanOfGroup, *, level: float) -> Estimate:
    """The difference of two independent means, first less second, with limits by t with the degrees
    of freedom of Welch (1947), corrected for the skewness of the difference as by `hall`.

    At least one of the means has an error above 0. Without skewness the limits are Welch's:

    >>> first, second = MeanOfGroup(1.0, 0.1, 0.0, 30), MeanOfGroup(0.8, 0.1, 0.0, 30)
    >>> difference = difference_of_means(first, second, level=0.95)
    >>> round(difference.low, 4), round(difference.high, 4)
    (-0.0831, 0.4831)
    """
    value = first.value - second.value
    error = float(np.hypot(first.error, second.error))
    # Welch: error⁴ / Σ errorᵢ⁴ / (nᵢ − 1)
    fourth_powers = first.error**4 / (first.n - 1) + second.error**4 / (second.n - 1)
    freedom = error**4 / fourth_powers
    # so many units have this number of degrees of freedom, and with this skewness their mean is as
    # skewed as the difference
    n = freedom + 1
    cumulant = first.third_cumulant - second.third_cumulant
    skewness = cumulant / error**3 * np.sqrt(n)
    return hall(value, error, skewness, n=n, level=level, method=DIFFERENCE_OF_MEANS)


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
