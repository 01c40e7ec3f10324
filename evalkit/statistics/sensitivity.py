"""What a rule on an estimate catches: how often it fails, by the size of a true regression."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from evalkit.arrays import ratio
from evalkit.statistics import methods
from evalkit.statistics.intervals import (
    Comparison,
    Estimate,
    normal_quantile,
    one_sided_normal_quantile,
    tango,
)
from evalkit.statistics.methods import POWER
from evalkit.statistics.power import minimum_detectable
from evalkit.statistics.spread import Interval, bisect
from evalkit.statistics.statistic import RowStatistic, TermStatistic

BLUNT = 0.2  # a rule that fails with a smaller probability than this is called blunt
HALVINGS = 24  # of a bisection, which gives seven digits
FARTHEST_FACTOR = 2.0**40  # the search goes up to so many standard errors, or times the units
# the least variance at a difference of 0, as a share of that at the detectable difference
LEAST_VARIANCE = 1e-6
LOWER_LEVEL = 0.5  # a second level, at which a test detects a smaller difference


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The probability that a rule on an estimate fails for a new sample of as many units, by the
    size of a true regression (how much worse the model has become, at least 0).

    fails: (estimate, its standard error) -> True if the rule fails. expected_estimate: that of an
    unchanged model. worse_sign: −1 if a regression lowers the estimate, 1 if it raises it. error:
    regression -> standard error. critical_numbers: those with which the rule compares the estimate
    or its limits. limit_distances: of these limits from the estimate, in standard errors. largest:
    the largest regression that the range of the metric allows.

    >>> def fails(estimate, error):  # "not worse", decided by the upper 95% limit
    ...     return estimate + 1.96 * error < 0
    >>> rule = Sensitivity(fails, 0.0, -1, lambda regression: 0.01, [0.0], [1.96], 1.0)
    >>> round(rule.unchanged_fails, 3), round(rule.caught, 3), round(rule.probability(0.01), 2)
    (0.025, 0.028, 0.17)
    >>> round(rule.growth(0.01), 1)  # times as many units catch a regression of 0.01
    7.8
    """

    fails: Callable[[float, float], bool]
    expected_estimate: float
    worse_sign: int
    error: Callable[[float], float]
    critical_numbers: Sequence[float]
    limit_distances: Sequence[float]
    largest: float = np.inf

    @cached_property
    def positions(self) -> list[float]:
        """The positions that the rule may compare with a bound, estimate and limits, as standard
        errors from the estimate.
        """
        below = [-distance for distance in self.limit_distances]
        return [0.0, *self.limit_distances, *below]

    def probability(self, regression: float, growth: float = 1.0) -> float:
        """The probability that the rule fails at a true regression, in a sample of `growth` times
        as many units as the data have. NaN without a standard error, or if the range of the metric
        does not allow the regression.
        """
        from scipy.special import ndtr

        if regression > self.largest:
            return np.nan
        error = self.error(regression) / growth**0.5
        if not 0 <= error < np.inf:
            return np.nan
        expected = self.expected_estimate + self.worse_sign * regression
        if error == 0:  # at an end of the range nothing varies: every sample has this estimate
            return float(self.fails(expected, error))
        # The rule compares the estimate and its limits with the critical numbers. Each of them lies
        # a fixed number of standard errors (`positions`) from the estimate. So the result changes
        # only at an edge, an estimate at which one of them equals a critical number. Between two
        # edges the rule is asked once, in the middle. An edge is number − position · error; as
        # positions come in pairs of both signs, adding gives the same edges.
        crossings = set[float]()
        for number in self.critical_numbers:
            crossings.update(number + position * error for position in self.positions)
        edges = sorted(crossings)
        ends = [edges[0] - 2 * error, *edges, edges[-1] + 2 * error]
        failing = [self.fails((low + high) / 2, error) for low, high in pairwise(ends)]
        # the probability of an estimate below the first edge, between two edges, above the last
        z = (np.array(edges) - expected) / error
        below_edge = ndtr(z)
        probability = np.diff(below_edge, prepend=0.0, append=1.0)
        return float(probability[failing].sum())

    @cached_property
    def unchanged_fails(self) -> float:
        """The probability that the rule fails for an unchanged model."""
        return self.probability(0.0)

    @cached_property
    def caught(self) -> float:
        """The smallest true regression at which the rule fails with a probability of 80%. 0 if an
        unchanged model fails so often, NaN if no regression does or the standard error is unknown.
        """

        def is_caught(regression: float) -> bool:
            """True if the rule fails with a probability of 80%."""
            return self.probability(regression) >= POWER

        # The search starts at `scale`, a standard error, and ends at `FARTHEST_FACTOR` times it.
        # Where the data hardly vary this is too early. The search must go well beyond the farthest
        # critical number, to twice its distance: if the rule ever fails, it does so there.
        distances = np.abs(np.array(self.critical_numbers) - self.expected_estimate)
        farthest = 2 * float(distances.max(initial=0.0))
        scale = max(self.error(0.0), farthest / FARTHEST_FACTOR)  # max keeps a NaN in first place
        return _smallest(is_caught, scale=scale, largest=self.largest)

    def growth(self, regression: float) -> float:
        """By which factor the number of units must grow for the rule to tell a regression from an
        unchanged model: it fails the one with a probability of at least 80% and the other with at
        most 20%, with this and any larger factor. NaN if there is no such factor.
        """

        def separates(factor: float) -> bool:
            """True if the rule catches the regression, and passes an unchanged model, with `factor`
            times the units.
            """
            catches = self.probability(regression, factor) >= POWER
            return catches and self.probability(0.0, factor) <= 1 - POWER

        # All larger factors must separate too, so that the answer is NaN unless the largest does. A
        # regression within the rule's margin may fail by chance with few units, but passes with
        # many.
        if not separates(FARTHEST_FACTOR):
            return np.nan
        return _smallest(separates, scale=1.0)


def _smallest(holds: Callable[[float], bool], scale: float, largest: float = np.inf) -> float:
    """The smallest number from 0 to `largest` for which a condition holds that holds from some
    number on. NaN if it holds for none, or unless `scale` is finite and above 0.

    scale: where the search begins; it is doubled until the condition holds, up to `FARTHEST_FACTOR`
    times. A number below scale / `FARTHEST_FACTOR` counts as 0.
    """
    if not 0 < scale < np.inf:
        return np.nan
    if holds(min(scale / FARTHEST_FACTOR, largest)):
        return 0.0
    farthest = min(scale * FARTHEST_FACTOR, largest)
    number = min(scale, farthest)
    while not holds(number):
        if not number < farthest:
            return np.nan
        number = min(2 * number, farthest)

    def fails(size: float) -> bool:
        """True if the condition does not hold."""
        return not holds(size)

    return bisect(fails, inside=0.0, outside=number, steps=HALVINGS).outside


ErrorOf = Callable[[float], float]  # a true value or difference -> the standard error


def detectable_by_normal(level: float) -> float:
    """The difference that a two-sided normal test at this level detects with 80% power, in standard
    errors: the quantiles of both added up.

    >>> round(detectable_by_normal(0.95), 3)
    2.802
    """
    return normal_quantile(level) + one_sided_normal_quantile(POWER)


def error_by_difference(detectable: Callable[[float], float], level: float) -> ErrorOf:
    """The standard error of a difference as a function of the true difference, recovered from what
    a normal test at `level` detects.

    detectable: level -> the difference that the test detects with 80% power. A normal test detects
    a fixed number of standard errors. The detected difference / this number is therefore the error
    at this true difference. At LOWER_LEVEL the test detects a smaller difference, which gives a
    second error. The variance at other differences lies on the line through both squared errors; it
    is constant if LOWER_LEVEL gives none. The returned function gives NaN if the test detects no
    difference, or even a difference of 0, as nothing varies.

    >>> def detectable(level):  # of an error of 0.1, whatever the difference
    ...     return 0.1 * detectable_by_normal(level)
    >>> round(error_by_difference(detectable, 0.95)(0.0), 6)
    0.1
    """
    difference = detectable(level)
    lower_difference = detectable(LOWER_LEVEL)
    if not 0 < difference < np.inf:  # infinite if the test has no limits
        return lambda true_difference: np.nan
    variance = (difference / detectable_by_normal(level)) ** 2
    lower_variance = (lower_difference / detectable_by_normal(LOWER_LEVEL)) ** 2
    # of the line through both variances; NaN, taken as 0 below, if the second one is unknown
    slope = float(ratio(variance - lower_variance, difference - lower_difference))
    # a steeper line would have less than LEAST_VARIANCE · variance at a true difference of 0
    largest_slope = (1 - LEAST_VARIANCE) * variance / difference
    slope = min(np.nan_to_num(slope), largest_slope)

    def error(true_difference: float) -> float:
        """The standard error at a true difference."""
        distance = abs(true_difference) - difference
        true_variance = variance + slope * distance
        return float(np.sqrt(max(true_variance, 0.0)))

    return error


def error_of_pairs(
    first: TermStatistic, second: TermStatistic, comparison: Comparison, level: float
) -> ErrorOf:
    """The standard error of a difference of paired means as a function of the true difference. It
    is enlarged so that a normal test with it has the power of the t-test at `level`; see
    `_error_of_units`.

    The variance depends on the direction of the difference: near an end of the metric's range a
    system that is worse may vary more than one that is as much better. comparison: of the two
    systems; it tells which true difference the data are taken to have.
    """
    difference = methods.paired(first, second)
    growth = difference.variance_growth
    sign = first.metric.sign  # sign · difference is above 0 if the first system is better
    # Var(0): the observed variance, less what `growth` adds at the true difference of the data
    difference_of_data = _assumed_difference(comparison)
    variance_at_0 = difference.spread**2 - growth.added(sign * difference_of_data)

    def variance(true_difference: float) -> float:
        """The variance of the units' differences at a true difference."""
        return variance_at_0 + growth.added(sign * true_difference)

    return _error_of_units(variance, difference.n, difference.detectable(level), level)


def error_of_decisions(
    first: RowStatistic, second: RowStatistic, comparison: Comparison, level: float
) -> ErrorOf:
    """The standard error of a difference of two shares of hits as a function of the true
    difference. It is enlarged so that a normal test with it has the power of the test at `level`;
    see `_error_of_units`.

    The variance of a row's difference is the share of rows on which the decisions disagree. A true
    difference d changes the decision on a share d of the rows. Of these, the rows that agreed so
    far then disagree, so that the variance grows by d · the share of agreeing rows.

    comparison: of the two systems; it tells which true difference the data are taken to have.
    """
    rows = first.discordant_rows(second)
    disagreeing = rows.share
    agreeing = 1 - disagreeing
    # Var(0): the observed variance, less its growth at the true difference of the data
    difference_of_data = _assumed_difference(comparison)
    variance_at_0 = disagreeing - agreeing * abs(difference_of_data)

    def variance(true_difference: float) -> float:
        """The variance of the rows' differences at a true difference."""
        return variance_at_0 + agreeing * abs(true_difference)

    detectable = methods.detectable_by_decisions(first, second, comparison, level)
    return _error_of_units(variance, rows.n, detectable, level)


def stretch_of_decisions(
    first: RowStatistic, second: RowStatistic, margin: float, n: int, level: float
) -> float:
    """How many times as far from the estimate Tango's lower limit of a difference of two shares
    lies as the normal limit. 1 if the two decisions are equal on all rows.

    Tango's limit is the difference that a score test just does not reject. It lies further away, as
    the test takes the variance at that difference, at which more rows disagree than at the
    estimate.

    The factor is that of a planned sample of n rows, in which the decisions disagree as often as
    here, and whose normal lower limit is −margin. margin: of non-inferiority.
    """
    rows = first.discordant_rows(second)
    disagreeing = rows.share
    normal_error = float(np.sqrt(disagreeing / n))
    normal_distance = normal_quantile(level) * normal_error
    if not normal_distance > 0:
        return 1.0
    # of the planned sample: its normal limit, estimate − normal_distance, is −margin
    estimate = float(np.clip(normal_distance - margin, -1.0, 1.0))
    disagreeing = max(disagreeing, abs(estimate))  # fewer rows could not make such a difference
    first_only = n * (disagreeing + estimate) / 2
    second_only = n * (disagreeing - estimate) / 2
    limits = tango(first_only, second_only, n, level=level)
    return float((limits.value - limits.low) / normal_distance)


def _assumed_difference(comparison: Comparison) -> float:
    """The true difference that the data are taken to have: the observed one if it is significant,
    else 0.

    If the true difference is 0, the observed one is some chance distance from it, on either side:
    to correct the variance by that distance would bias it.
    """
    is_significant = comparison.p_value < 1 - comparison.test_level
    return comparison.difference.value if is_significant else 0.0


def _error_of_units(
    variance: Callable[[float], float], n: int, detectable: float, level: float
) -> ErrorOf:
    """The standard error of the mean difference of n units as a function of the true difference. It
    is enlarged so that a normal test with it has the power of the t-test at this level. The
    returned function gives NaN if the t-test detects no difference.

    variance: true difference -> variance of the units' differences; a smaller one than
    LEAST_VARIANCE times that at `detectable` is raised to this bound. detectable: the smallest
    difference that the t-test detects.
    """
    if not detectable > 0:
        return lambda true_difference: np.nan
    least_variance = LEAST_VARIANCE * variance(detectable)
    # how many standard errors the t-test detects: √n as standard deviation is a standard error of 1
    detectable_in_errors = minimum_detectable(n**0.5, n, level=level, power=POWER)
    enlargement = detectable_in_errors / detectable_by_normal(level)

    def error(true_difference: float) -> float:
        """The standard error at a true difference."""
        true_variance = max(variance(true_difference), least_variance, 0.0)
        error_of_mean = np.sqrt(true_variance / n)
        return float(enlargement * error_of_mean)

    return error


def error_by_value(estimate: Estimate, ends: Interval) -> ErrorOf:
    """The standard error of an estimate as a function of the true value. At the observed value it
    follows from the width of the interval. The function returns NaN if the interval has no width.

    ends: the range of the metric, low to high, either of which may be infinite. In a finite range
    the error is proportional to √((value − low) (high − value)), as for a share. If only low is
    finite, it is proportional to value − low, as if all values were multiplied by one factor.
    Without a finite low it is constant.

    >>> share = Estimate(0.5, 0.402, 0.598, 0.95, 100, "")
    >>> round(error_by_value(share, Interval(0.0, 1.0))(0.2), 3)
    0.04
    """
    usual_error = (estimate.high - estimate.low) / 2 / normal_quantile(estimate.level)
    if not usual_error > 0:
        return lambda value: np.nan
    usual_scale = _error_scale(estimate.value, ends)
    if usual_scale == 0:  # the estimate lies at an end of the range: the error is taken as constant
        return lambda value: usual_error

    def error(value: float) -> float:
        """The standard error at a true value."""
        return usual_error * _error_scale(value, ends) / usual_scale

    return error


def _error_scale(value: float, ends: Interval) -> float:
    """A number to which the standard error at a true value is proportional, by the range of the
    metric, see `error_by_value`.
    """
    if not np.isfinite(ends.low):
        return 1.0
    above_low = max(value - ends.low, 0.0)
    if not np.isfinite(ends.high):
        return above_low
    below_high = max(ends.high - value, 0.0)
    return float(np.sqrt(above_low * below_high))
