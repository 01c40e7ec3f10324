"""What a rule on an estimate catches: how often it fails, by the size of a true regression."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from evalkit.arrays import ratio
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.methods import POWER
from evalkit.statistics.spread import Interval, bisect

BLUNT = 0.2  # a rule with a smaller probability of failing can hardly fail
STEPS = 24  # of a bisection, to seven digits
FARTHEST = 2.0**40  # standard errors, or times the units
LEAST_VARIANCE = 1e-6  # of no difference, as a share of that of a detectable difference
LOWER_LEVEL = 0.5  # a second level, at which a smaller difference is detectable


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How often a rule on an estimate fails, if a new sample of as many units is drawn.

    fails: (estimate, its standard error) -> whether the rule fails. unchanged: the expected
    estimate of an unchanged model. sign: −1 if a regression lowers the estimate, 1 if it raises it.
    error: regression -> standard error. bounds: what the rule compares limits with. reaches: the
    distances of these limits from the estimate, in standard errors. largest: regression that the
    metric allows.

    >>> def fails(estimate, error):  # "not worse", decided by the upper 95% limit
    ...     return estimate + 1.96 * error < 0
    >>> rule = Sensitivity(fails, 0.0, -1, lambda regression: 0.01, [0.0], [1.96], 1.0)
    >>> round(rule.unchanged_fails, 3), round(rule.caught, 3), round(rule.probability(0.01), 2)
    (0.025, 0.028, 0.17)
    >>> round(rule.growth(0.01), 1)  # times as many units catch a regression of 0.01
    7.8
    """

    fails: Callable[[float, float], bool]
    unchanged: float
    sign: int
    error: Callable[[float], float]
    bounds: Sequence[float]
    reaches: Sequence[float]
    largest: float = np.inf

    @cached_property
    def quantiles(self) -> list[float]:
        """Where limits and the estimate itself lie around it."""
        return [0.0, *self.reaches, *(-reach for reach in self.reaches)]

    def probability(self, regression: float, growth: float = 1.0) -> float:
        """The probability that the rule fails at a true regression, with `growth` times as many
        units; NaN without a standard error, or if the metric does not allow the regression.
        """
        from scipy.special import ndtr

        error = self.error(regression) / growth**0.5
        if regression > self.largest or not 0 <= error < np.inf:
            return np.nan
        expected = self.unchanged + self.sign * regression
        if error == 0:  # at the end of the range all units have the same value
            return float(self.fails(expected, error))
        # between two of these estimates the result of the rule is the same
        edges = sorted({bound + q * error for bound in self.bounds for q in self.quantiles})
        ends = [edges[0] - 2 * error, *edges, edges[-1] + 2 * error]
        below_edge = ndtr((np.array(edges) - expected) / error)
        between_edges = np.diff(below_edge, prepend=0.0, append=1.0)
        failing = [self.fails((low + high) / 2, error) for low, high in pairwise(ends)]
        return float(between_edges[failing].sum())

    @cached_property
    def unchanged_fails(self) -> float:
        """The probability that the rule fails for an unchanged model."""
        return self.probability(0.0)

    @cached_property
    def caught(self) -> float:
        """The smallest true regression at which the rule fails with a probability of 80%: 0 if it
        does for an unchanged model, NaN if none does.
        """

        def is_caught(regression: float) -> bool:
            """Whether the rule fails often enough."""
            return self.probability(regression) >= POWER

        return _smallest(is_caught, self.error(0.0), self.largest)

    def growth(self, regression: float) -> float:
        """How many times as many units let the rule fail with a probability of 80% at a regression,
        and of 20% at most for an unchanged model; NaN if no number does so from there on.
        """

        def separates(growth: float) -> bool:
            """Whether so many units do."""
            catches = self.probability(regression, growth) >= POWER
            return catches and self.probability(0.0, growth) <= 1 - POWER

        # a regression that the rule allows may fail it with few units, and passes with many
        return _smallest(separates, 1.0) if separates(FARTHEST) else np.nan


def _smallest(holds: Callable[[float], bool], scale: float, largest: float = np.inf) -> float:
    """The smallest size from 0 to `largest` from which on a condition holds; NaN if none is."""
    if not 0 < scale < np.inf:
        return np.nan
    if holds(min(scale / FARTHEST, largest)):
        return 0.0
    farthest = min(scale * FARTHEST, largest)
    high = min(scale, farthest)
    while not holds(high):
        if not high < farthest:
            return np.nan
        high = min(2 * high, farthest)
    return bisect(lambda size: not holds(size), inside=0.0, outside=high, steps=STEPS).outside


ErrorOf = Callable[[float], float]  # a true value or difference -> the standard error


def detectable_by_normal(level: float) -> float:
    """The difference that a normal test detects with 80% power, in standard errors.

    >>> round(detectable_by_normal(0.95), 3)
    2.802
    """
    # normal_quantile is two-sided: 2 · power − 1 leaves 1 − power above
    return normal_quantile(level) + normal_quantile(2 * POWER - 1)


def error_by_difference(
    detectable: Callable[[float], float],
    level: float,
    in_errors: Callable[[float], float] = detectable_by_normal,
) -> ErrorOf:
    """The standard error of a difference as a function of the true difference, for limits by normal
    quantiles at `level`; NaN if the data have no spread.

    detectable: level -> the difference that the test detects with 80% power. in_errors: the same in
    standard errors, which are more of a t-test of few units. The variance is the line through those
    at two levels; it is constant if only the one at `level` is known.

    >>> def detectable(level):  # of an error of 0.1, whatever the difference
    ...     return 0.1 * detectable_by_normal(level)
    >>> round(error_by_difference(detectable, 0.95)(0.0), 6)
    0.1
    """
    difference = detectable(level)
    lower_difference = detectable(LOWER_LEVEL)
    if not difference > 0:
        return lambda true_difference: np.nan
    variance = (difference / in_errors(level)) ** 2
    lower_variance = (lower_difference / in_errors(LOWER_LEVEL)) ** 2
    slope = float(ratio(variance - lower_variance, difference - lower_difference))
    # a line that starts below 0 would leave small differences without an error
    slope = min(np.nan_to_num(slope), (1 - LEAST_VARIANCE) * variance / difference)
    to_normal = in_errors(level) / detectable_by_normal(level)

    def error(true_difference: float) -> float:
        """The standard error at a true difference."""
        true_variance = variance + slope * (true_difference - difference)
        return float(to_normal * np.sqrt(max(true_variance, 0.0)))

    return error


def error_by_value(estimate: Estimate, ends: Interval) -> ErrorOf:
    """The standard error of an estimate as a function of the true value, from the width of its
    interval.

    ends: of the metric. Within a range the error goes with √((value − low) (high − value)), as that
    of a share; above a lowest value with the distance from it, as if all values were multiplied.
    It is NaN if the interval has no width.

    >>> share = Estimate(0.5, 0.402, 0.598, 0.95, 100, "")
    >>> round(error_by_value(share, Interval(0.0, 1.0))(0.2), 3)
    0.04
    """
    usual_error = (estimate.high - estimate.low) / 2 / normal_quantile(estimate.level)
    if not usual_error > 0:
        return lambda value: np.nan

    def scale(value: float) -> float:
        """What the standard error is proportional to."""
        if not np.isfinite(ends.low):
            return 1.0
        above = max(value - ends.low, 0.0)
        if not np.isfinite(ends.high):
            return above
        return float(np.sqrt(above * max(ends.high - value, 0.0)))

    usual_scale = scale(estimate.value)
    if usual_scale == 0:  # at an end nothing tells how the error grows
        return lambda value: usual_error
    return lambda value: usual_error * scale(value) / usual_scale
