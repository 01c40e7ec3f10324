"""The largest gap between groups: the highest less the lowest value, with limits that allow for
having picked both groups.

A gap θ is tested by T(θ), the largest of (difference − θ) / standard error over all pairs of
groups. Its distribution is that with normal errors around those values that are the closest to the
observed ones among all whose largest gap is θ. So it depends on how many groups could be the
highest or the lowest one: with one of each, limits are those of the pair; with equal groups, T(0)
is the statistic of Tukey and Kramer. The limits are those of all pairs at the levels at which these
tests reject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.statistics.groups import GroupValues
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.significance import equivalence_level
from evalkit.statistics.spread import bisect

METHOD = "largest of all pairs"
# Of the lattice from which errors are taken: the number of points, a prime, and a generator with
# which, by trial, shares of points are as exact as those of 70,000 random draws with three to six
# groups, and of 25,000 with thirty.
POINTS = 8191
GENERATOR = 5130
EDGE = 1e-12  # of the range from 0 to 1, beyond which a coordinate is taken to lie on it
STEPS = 12  # of the search for a limit
FARTHEST = 6.0  # standard errors above the observed gap, where a limit is searched
# a value within so many standard errors of the highest or the lowest one is tied with it
TIED = 1.0
MIN_Z = 0.1  # of the limits of a pair
HIGHEST_LEVEL = 1 - 1e-15  # of 8 standard errors: more are as good as certain
RELATIVE = 1e-9  # least error of a difference beside the largest value


class LargestGap(NamedTuple):
    """The largest difference between two of several groups, and their numbers. ratio: the lowest
    value / the highest. equivalence: the difference with its interval at level 1 − 2α.
    """

    highest: int
    lowest: int
    estimate: Estimate
    ratio: float
    equivalence: Estimate


class LimitDistances(NamedTuple):
    """How many standard errors limits lie below and above a difference; infinite below if the
    lower limit of the gap is 0.
    """

    below: float
    above: float


@dataclass(frozen=True, eq=False)
class NormalGroups:
    """Values of at least two groups with normal errors.

    value, variance: (groups,) each. noise: errors, (POINTS, groups). pair_error: the standard
    errors of the differences of two groups, (groups, groups), never 0. if_equal: the same groups
    with the errors that they have if all true values are equal; None if these errors are the same.
    """

    value: Floats
    variance: Floats
    noise: Floats
    pair_error: Floats
    if_equal: NormalGroups | None = None

    @classmethod
    def from_errors(
        cls, value: Floats, error: Floats, correlation: Floats, rng: np.random.Generator
    ) -> NormalGroups:
        """The groups with these values and standard errors, (groups,) each, and with normal errors
        from a lattice that `rng` shifts. correlation: of the errors of each two groups, (groups,
        groups).

        The standard error of a difference is at least RELATIVE times the largest value, since T
        divides by it.
        """
        covariance = correlation * np.outer(error, error)
        variance = np.diag(covariance)
        # the root of the covariance by its eigenvalues also exists where it is singular, of errors
        # that are 0 or depend on one another
        eigenvalues, eigenvectors = np.linalg.eigh(covariance)
        root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0))
        noise = _standard_normal_points(len(value), rng) @ root.T
        pair_variance = variance[:, None] + variance - 2 * covariance  # of the difference of two
        magnitude = np.abs(value).max()
        least_error = RELATIVE * magnitude + np.finfo(float).tiny  # not 0 if all values are 0
        pair_error = np.sqrt(np.maximum(pair_variance, 0))
        pair_error = np.maximum(pair_error, least_error)
        return cls(value, variance, noise, pair_error)

    @cached_property
    def gap(self) -> float:
        """The largest gap."""
        return float(np.ptp(self.value))

    def limit_distances(self, level: float) -> LimitDistances:
        """How many standard errors the limits of each pair of groups lie below and above the
        difference of the pair: the largest lower limit of all pairs, and the largest upper limit,
        are then the limits of the largest gap at this level.

        Two groups are a single pair, with normal limits. With more groups the limits of the gap
        follow from tests of true gaps, and the tests have to share the error probability 1 − level.
        The upper limit is never below `widest`, the half width of the widest normal interval of a
        pair. So only the lower limit can miss a true gap below `widest`: its test takes the whole
        probability. Either limit can miss a wider gap: each test takes half.
        """
        z = normal_quantile(level)
        if len(self.value) == 2:
            return LimitDistances(below=z, above=z)
        whole_error = 1 - level
        half_error = whole_error / 2
        widest = z * float(self.pair_error.max())
        high = max(self._upper_limit_of_gap(half_error), widest)
        low = self._lower_limit_of_gap(whole_error)
        if low >= widest:
            # every gap below `widest` is rejected; wider gaps are tested again, at half_error
            low = max(self._lower_limit_of_gap(half_error), widest)
        # A true gap of 0, all groups equal, is tested with the errors that equal groups would have.
        groups_if_equal = self.if_equal or self
        may_be_equal = groups_if_equal._p_above(0.0) >= whole_error
        # From limits of the gap to distances: T(θ) is the largest of (difference − θ) / error over
        # all pairs, so that the largest of (difference − T(θ) · error) is θ. With lower limits
        # T(low) errors below the differences, the largest lower limit is thus `low`; with upper
        # limits −T(high) errors above them, the largest upper limit is `high`.
        below = np.inf  # all groups may be equal: no pair has a lower limit above 0
        if not may_be_equal:
            below = self._test_statistic(low)
        return LimitDistances(below, above=-self._test_statistic(high))

    def _lower_limit_of_gap(self, tail: float) -> float:
        """The lower limit of the gap: true gaps below it have less than the probability `tail` of a
        statistic as large as the observed one; 0 if a true gap of 0 has at least this probability.
        """

        def is_too_small(gap: float) -> bool:
            """True if the observed statistic is too large for this true gap."""
            return self._p_above(gap) < tail

        if not is_too_small(0.0):
            return 0.0
        # the search begins nearby if the gap is many errors wide, as its steps are parts of the way
        nearby = self.gap - FARTHEST * float(self.pair_error.max())
        start = 0.0
        if nearby > 0 and is_too_small(nearby):
            start = nearby
        # inside: the largest gap found to be too small, so that the limit is not too high
        return bisect(is_too_small, start, self.gap, steps=STEPS).inside

    def _upper_limit_of_gap(self, tail: float) -> float:
        """The upper limit of the gap: true gaps above it have less than the probability `tail` of a
        statistic as small as the observed one. At least the observed gap.
        """

        def is_possible(gap: float) -> bool:
            """True if the observed statistic is not too small for this true gap."""
            return self._p_below(gap) >= tail

        if not is_possible(self.gap):
            return self.gap
        largest_error = float(self.pair_error.max())
        farthest = self.gap + FARTHEST * largest_error  # taken to be impossible
        # outside: the smallest gap found to be impossible, so that the limit is not too low
        return bisect(is_possible, self.gap, farthest, steps=STEPS).outside

    def _p_above(self, gap: float) -> float:
        """The probability of a statistic as large as the observed one, if this is the true gap."""
        is_as_large = self._statistics_of_points(gap) >= self._test_statistic(gap)
        return float(is_as_large.mean())

    def _p_below(self, gap: float) -> float:
        """The probability of a statistic as small as the observed one, if this is the true gap."""
        is_as_small = self._statistics_of_points(gap) <= self._test_statistic(gap)
        return float(is_as_small.mean())

    def _test_statistic(self, gap: float) -> float:
        """T(gap): the largest of (difference − gap) / standard error over all pairs."""
        return float(self._distances(self.value, gap).max())

    def _statistics_of_points(self, gap: float) -> Floats:
        """T(gap) with the errors of each point, if this is the true gap; (POINTS,)."""
        distances = self._distances(self.closest_values(gap), gap)
        largest: Floats = (self._pair_noise + distances[:, None]).max(axis=0)
        return largest

    def _distances(self, value: Floats, gap: float) -> Floats:
        """(difference − gap) / standard error of each pair of groups of these values, (pairs,)."""
        first, second = self._pairs
        difference = value[first] - value[second]
        return (difference - gap) / self.pair_error[first, second]

    @cached_property
    def _pair_noise(self) -> Floats:
        """The errors of each difference, in its standard errors, (pairs, POINTS)."""
        first, second = self._pairs
        noise = self.noise[:, first] - self.noise[:, second]
        in_errors = noise / self.pair_error[first, second]
        return np.ascontiguousarray(in_errors.T)

    @property
    def _pairs(self) -> tuple[Ints, Ints]:
        """The two numbers of each pair of groups, in both orders."""
        first, second = np.nonzero(~np.eye(len(self.value), dtype=bool))
        return first, second

    def closest_values(self, gap: float) -> Floats:
        """The values closest to the observed ones, in standard errors, whose largest gap is this;
        (groups,).
        """
        return self._drawn_together(gap) if gap < self.gap else self._moved_apart(gap)

    def _drawn_together(self, gap: float) -> Floats:
        """The values, (groups,), cut to a range as wide as this gap, which is smaller than the
        observed one: the range that is closest to them by weighted least squares.

        Values within `TIED` standard errors of an end are moved to the nearer end, since their true
        values may be the highest or lowest too: the more groups can be, the larger is the gap that
        chance alone makes.
        """
        start = self._closest_start(gap)
        end = start + gap
        values = np.clip(self.value, start, end)
        tie_distance = TIED * np.sqrt(self.variance)
        from_start = values - start
        from_end = end - values
        is_tied_with_end = (from_end <= tie_distance) & (from_end <= from_start)
        is_tied_with_start = (from_start <= tie_distance) & (from_start < from_end)
        values[is_tied_with_end] = end
        values[is_tied_with_start] = start
        return values

    def _moved_apart(self, gap: float) -> Floats:
        """The values with two groups moved apart until their difference is this gap, which is not
        smaller than the observed one: those two for which it takes the fewest standard errors. The
        group with the larger variance is moved further. Other values are cut to the range between.
        """
        difference = self.value[:, None] - self.value  # of each pair, row less column
        missing = gap - difference
        errors_to_move = missing / self.pair_error
        np.fill_diagonal(errors_to_move, np.inf)
        high, low = np.unravel_index(errors_to_move.argmin(), errors_to_move.shape)
        # tiny: if both variances are 0, each group is moved by half
        variances = self.variance[[high, low]] + np.finfo(float).tiny
        share_of_high, share_of_low = variances / variances.sum()
        highest = self.value[high] + share_of_high * missing[high, low]
        lowest = self.value[low] - share_of_low * missing[high, low]
        values = np.clip(self.value, lowest, highest)
        values[high] = highest
        values[low] = lowest
        return values

    def _closest_start(self, gap: float) -> float:
        """The lower end of the range of this width that is closest to the values by least squares,
        weighted by 1 / variance.

        The sum of squares Σ distance² / variance, over the values outside the range, is smallest
        where its derivative is 0: the values above the range pull it as strongly upwards as the
        values below pull it downwards, each by distance / variance.
        """
        variance = np.maximum(self.variance, np.finfo(float).tiny)
        weight = variance.min() / variance  # a common factor, so that no weight is infinite
        # starts at which an end of the range meets a value: between two the pull falls linearly
        starts = np.sort(np.concatenate([self.value - gap, self.value]))
        # how far each value lies above the range, and below it: starts × groups
        above = np.maximum(self.value - gap - starts[:, None], 0)
        below = np.maximum(starts[:, None] - self.value, 0)
        pull = (above - below) @ weight  # upwards, less downwards
        return float(np.interp(0.0, -pull, starts))  # the start at which the pull is 0


def _standard_normal_points(dimensions: int, rng: np.random.Generator) -> Floats:
    """Points of the standard normal distribution, (POINTS, dimensions), which fill the space more
    evenly than random draws.

    The i-th point of a Korobov lattice is the fractional part of i (1, g, g², …) / POINTS, in which
    g is the generator. `rng` shifts all points together, and the normal quantiles of the
    coordinates are taken.
    """
    from scipy.special import ndtri

    powers = [pow(GENERATOR, power, POINTS) for power in range(dimensions)]
    steps = np.outer(np.arange(POINTS), powers) % POINTS / POINTS
    uniform = (steps + rng.random(dimensions)) % 1
    inside = np.clip(uniform, EDGE, 1 - EDGE)  # without 0, which has no finite quantile
    return np.asarray(ndtri(inside))


def largest_gap(
    groups: GroupValues, level: float, *, rng: np.random.Generator
) -> LargestGap | None:
    """The highest less the lowest of the groups' values with limits that allow for having picked
    both; groups without a value are left out. None below two groups with one.

    Each limit is the largest one of all pairs of groups, from the intervals of the pairs at levels
    that allow for the picking. `equivalence` has the limits at level 1 − 2α. If the standard error
    of a group is unknown, the upper limit is NaN and the lower one 0. rng: shifts the lattice of
    errors, from which the levels of the pairs follow.

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
    quotient = float(ratio(values[lowest], values[highest]))  # lowest / highest
    defined_groups = np.flatnonzero(defined)
    if np.isnan(groups.errors[defined_groups]).any():
        unknown = Estimate(gap, low=0.0, high=np.nan, level=level, n=count, method=METHOD)
        return LargestGap(highest, lowest, unknown, quotient, equivalence=unknown)
    normal = _normal_groups(groups, defined_groups, rng)
    # a mask, (groups, groups): two different groups with a value
    is_pair = defined[:, None] & defined & ~np.eye(len(values), dtype=bool)

    def estimate_at(level_of_limits: float) -> Estimate:
        """The gap with limits at this level.

        `limit_distances` says how many standard errors the limits of the pairs must lie from their
        differences. A normal interval has this reach at some level (`_level_of`), and the pairs get
        their own intervals, such as Miettinen and Nurminen's of shares, there.
        """
        distances = normal.limit_distances(level_of_limits)
        low = 0.0
        if np.isfinite(distances.below):  # infinite if all groups may be equal: the limit is 0
            for_low = groups.differences(_level_of(distances.below))
            low = float(for_low.low[is_pair].max(initial=0.0))
        for_high = groups.differences(_level_of(distances.above))
        high = float(for_high.high[is_pair].max())
        return Estimate(gap, low, high, level_of_limits, n=count, method=METHOD)

    estimate = estimate_at(level)
    equivalence = estimate_at(equivalence_level(level))
    return LargestGap(highest, lowest, estimate, quotient, equivalence)


def _normal_groups(
    groups: GroupValues, defined_groups: Ints, rng: np.random.Generator
) -> NormalGroups:
    """The groups with the numbers `defined_groups`, which have a value, with normal errors.

    Under the hypothesis of equal true values some kinds of groups have other standard errors: then
    `if_equal` holds the groups with these. rng: shifts the lattice of errors.
    """
    values = groups.values[defined_groups]
    errors = groups.errors[defined_groups]
    errors_if_equal = groups.errors_if_equal[defined_groups]
    # rows and columns of the groups with a value
    correlation = groups.correlation[np.ix_(defined_groups, defined_groups)]
    normal = NormalGroups.from_errors(values, errors, correlation, rng)
    if np.array_equal(errors, errors_if_equal):
        return normal
    if_equal = NormalGroups.from_errors(values, errors_if_equal, correlation, rng)
    return replace(normal, if_equal=if_equal)


def _level_of(errors: float) -> float:
    """The level of a normal interval that reaches so many standard errors on both sides, at least
    MIN_Z, since a level is above 0.
    """
    level = math.erf(max(errors, MIN_Z) / math.sqrt(2))
    return min(level, HIGHEST_LEVEL)
