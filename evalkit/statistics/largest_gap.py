"""The largest gap between groups: the highest less the lowest value, with limits that allow for
having picked both groups.

A gap θ is tested by T(θ), the largest of (difference − θ) / standard error over all pairs of
groups. Its distribution is drawn from normal errors around those values that are the closest to the
observed ones among all whose largest gap is θ. So it depends on how many groups could be the
highest or the lowest one: with one of each, limits are those of the pair; with equal groups, T(0)
is the statistic of Tukey and Kramer. The limits are those of all pairs at the levels at which these
tests reject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.statistics.groups import GroupValues
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.significance import equivalence_level
from evalkit.statistics.spread import bisect

METHOD = "largest of all pairs"
DRAWS = 1000  # of errors, each with its mirror image
STEPS = 12  # of the search for a limit
FARTHEST = 6.0  # standard errors above the observed gap, where a limit is searched
TIED = (
    1.0  # a value within so many standard errors of the highest or the lowest one is tied with it
)
MIN_Z = 0.1  # of the limits of a pair
RELATIVE = 1e-9  # least error of a difference beside the largest value


class LargestGap(NamedTuple):
    """The largest difference between two of several groups, and their numbers."""

    highest: int
    lowest: int
    estimate: Estimate
    ratio: float
    equivalence: Estimate


class LimitDistances(NamedTuple):
    """How many standard errors limits lie below and above a difference; infinite below if 0 is
    among the gaps.
    """

    below: float
    above: float


@dataclass(frozen=True, eq=False)
class NormalGroups:
    """Values of at least two groups with normal errors.

    value, variance: (groups,) each. noise: drawn errors, (draws, groups). pair_error: the standard
    errors of differences, (groups, groups).
    """

    value: Floats
    variance: Floats
    noise: Floats
    pair_error: Floats

    @classmethod
    def from_errors(
        cls, value: Floats, error: Floats, correlation: Floats, rng: np.random.Generator
    ) -> NormalGroups:
        """Groups with these standard errors, whose correlation is (groups, groups)."""
        covariance = correlation * np.outer(error, error)
        variance = np.diag(covariance)
        zero = np.zeros(len(value))
        drawn = rng.multivariate_normal(
            zero, covariance, DRAWS, check_valid="ignore", method="eigh"
        )
        pair_variance = variance[:, None] + variance - 2 * covariance
        least = RELATIVE * np.abs(value).max() + np.finfo(float).tiny
        pair_error = np.maximum(np.sqrt(np.maximum(pair_variance, 0)), least)
        return cls(value, variance, np.concatenate([drawn, -drawn]), pair_error)

    @cached_property
    def gap(self) -> float:
        """The largest gap."""
        return float(np.ptp(self.value))

    def reach(self, level: float) -> LimitDistances:
        """How far the limits lie below and above the difference of each pair.

        Two groups are a single pair. Of more, no gap below the widest half interval of a pair is
        too large for the data: there the lower limit has the whole error probability, elsewhere
        half of it.
        """
        z = normal_quantile(level)
        if len(self.value) == 2:
            return LimitDistances(z, z)
        tail = (1 - level) / 2
        widest = z * float(self.pair_error.max())
        high = max(self._high(tail), widest)
        low = self._low(2 * tail)
        if low >= widest:
            low = max(self._low(tail), widest)
        below = self._statistic(low) if low > 0 else np.inf
        return LimitDistances(below, -self._statistic(high))

    def _low(self, tail: float) -> float:
        """The largest gap below which the observed one is too large."""
        if self._p_above(0.0) >= tail:
            return 0.0
        return bisect(lambda gap: self._p_above(gap) < tail, 0.0, self.gap, steps=STEPS).inside

    def _high(self, tail: float) -> float:
        """The smallest gap above which the observed one is too small, at least the observed one."""
        if self._p_below(self.gap) < tail:
            return self.gap
        farthest = self.gap + FARTHEST * float(self.pair_error.max())
        found = bisect(lambda gap: self._p_below(gap) >= tail, self.gap, farthest, steps=STEPS)
        return found.outside

    def _p_above(self, gap: float) -> float:
        """The probability of a statistic as large as the observed one, if this is the gap."""
        return float(np.mean(self._drawn(gap) >= self._statistic(gap)))

    def _p_below(self, gap: float) -> float:
        """The probability of a statistic as small as the observed one, if this is the gap."""
        return float(np.mean(self._drawn(gap) <= self._statistic(gap)))

    def _statistic(self, gap: float) -> float:
        """The largest distance of a difference above the gap, in its standard errors."""
        return float(self._distances(self.value, gap).max())

    def _drawn(self, gap: float) -> Floats:
        """The statistic of each draw, if this is the gap."""
        distances = self._distances(self.closest(gap), gap)
        largest: Floats = (self._pair_noise + distances[:, None]).max(axis=0)
        return largest

    def _distances(self, value: Floats, gap: float) -> Floats:
        """The distance of each difference above the gap, in its standard errors, (pairs,)."""
        first, second = self._pairs
        return (value[first] - value[second] - gap) / self.pair_error[first, second]

    @cached_property
    def _pair_noise(self) -> Floats:
        """The drawn errors of each difference, in its standard errors, (pairs, draws)."""
        first, second = self._pairs
        drawn = self.noise[:, first] - self.noise[:, second]
        return np.ascontiguousarray((drawn / self.pair_error[first, second]).T)

    @property
    def _pairs(self) -> tuple[Ints, Ints]:
        """The two numbers of each pair of groups, in both orders."""
        first, second = np.nonzero(~np.eye(len(self.value), dtype=bool))
        return first, second

    def closest(self, gap: float) -> Floats:
        """The values closest to the observed ones, in standard errors, whose largest gap is this.

        A smaller gap than the observed one moves the highest and the lowest values to two bounds,
        and with them what lies within `TIED` errors, as ties would otherwise be missed; a larger
        one moves two groups apart.
        """
        if gap < self.gap:
            bound = self._lower_bound(gap)
            moved = np.clip(self.value, bound, bound + gap)
            near = TIED * np.sqrt(self.variance)
            from_lowest = moved - bound
            from_highest = bound + gap - moved
            is_high = (from_highest <= near) & (from_highest <= from_lowest)
            is_low = (from_lowest <= near) & (from_lowest < from_highest)
            return np.where(is_high, bound + gap, np.where(is_low, bound, moved))
        missing = gap - (self.value[:, None] - self.value)
        cost = missing / self.pair_error
        np.fill_diagonal(cost, np.inf)
        high, low = np.unravel_index(cost.argmin(), cost.shape)
        shares = self.variance[[high, low]] + np.finfo(float).tiny
        shares = shares / shares.sum()
        highest = self.value[high] + shares[0] * missing[high, low]
        lowest = self.value[low] - shares[1] * missing[high, low]
        moved = np.clip(self.value, lowest, highest)
        moved[high] = highest
        moved[low] = lowest
        return moved

    def _lower_bound(self, gap: float) -> float:
        """The lower of two bounds this far apart, at which the values above both pull as much as
        those below, each by its distance over its variance.
        """
        variance = np.maximum(self.variance, np.finfo(float).tiny)
        weight = variance.min() / variance
        # the pull upwards falls linearly from each of these bounds to the next
        bounds = np.sort(np.concatenate([self.value - gap, self.value]))
        above = np.maximum(self.value - gap - bounds[:, None], 0)
        below = np.maximum(bounds[:, None] - self.value, 0)
        pull = (above - below) @ weight
        return float(np.interp(0.0, -pull, bounds))


def largest_gap(
    groups: GroupValues, level: float, *, rng: np.random.Generator
) -> LargestGap | None:
    """The highest less the lowest value of the groups in which there is one; None below two.

    The equivalence interval is the same at 1 − 2α. A group whose limits are unknown leaves the gap
    without an upper one.

    >>> from evalkit.statistics.groups import GroupShares
    >>> shares = GroupShares(np.array([56.0, 48.0]), np.array([70.0, 80.0]))
    >>> gap = largest_gap(shares, 0.95, rng=np.random.default_rng(1))
    >>> gap.highest, gap.lowest, str(gap.estimate)
    (0, 1, '0.20 [0.05, 0.34]')
    """
    values = groups.values
    defined = ~np.isnan(values)
    count = int(defined.sum())
    if count < 2:
        return None
    highest = int(np.nanargmax(values))
    lowest = int(np.nanargmin(values))
    gap = float(values[highest] - values[lowest])
    share = float(ratio(values[lowest], values[highest]))
    defined_groups = np.flatnonzero(defined)
    if np.isnan(groups.errors[defined_groups]).any():
        unknown = Estimate(gap, 0.0, np.nan, level, count, METHOD)
        return LargestGap(highest, lowest, unknown, share, unknown)
    normal = NormalGroups.from_errors(
        values[defined_groups],
        groups.errors[defined_groups],
        groups.correlation[np.ix_(defined_groups, defined_groups)],
        rng,
    )
    is_pair = defined[:, None] & defined & ~np.eye(len(values), dtype=bool)
    estimates = []
    for level_of_limits in (level, equivalence_level(level)):
        reach = normal.reach(level_of_limits)
        low = 0.0
        if np.isfinite(reach.below):
            differences = groups.differences(_level_of(reach.below))
            low = float(differences.low[is_pair].max(initial=0.0))
        differences = groups.differences(_level_of(reach.above))
        high = float(differences.high[is_pair].max())
        estimates.append(Estimate(gap, low, high, level_of_limits, count, METHOD))
    return LargestGap(highest, lowest, estimates[0], share, estimates[1])


def _level_of(errors: float) -> float:
    """The level of a normal interval that reaches so many standard errors on both sides."""
    return math.erf(max(errors, MIN_Z) / math.sqrt(2))
