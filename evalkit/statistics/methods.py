"""The tests, each a function of two statistics, and their minimum detectable difference;
`inference` chooses one.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, minus, ratio
from evalkit.catalogue import kinds, score_kinds
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.metrics.rows import Sums, defined_in_both
from evalkit.statistics import closed_forms, independent, intervals, power, proportions
from evalkit.statistics.independent import Arm
from evalkit.statistics.intervals import Comparison, Estimate
from evalkit.statistics.significance import (
    WELCH,
    DifferenceByT,
    by_limits,
    nadeau_bengio,
    sign_flip,
    welch_t,
)
from evalkit.statistics.spread import Spread, standard_error
from evalkit.statistics.statistic import (
    Difference,
    KnownValue,
    NoisyUnitStatistic,
    RowStatistic,
    ScoreStatistic,
    SpreadStatistic,
    Statistic,
    SuccessShare,
    TermStatistic,
    UnitStatistic,
)

BY_CLASS = "delta method by class, Welch t"
DIEBOLD_MARIANO = "Diebold–Mariano"
TAPERED = f"{DIEBOLD_MARIANO}, Bartlett's weights"
JACKKNIFE = "jackknife t"
DRAWN = "variance of draws"
BY_RECHOSEN = "bootstrap, threshold chosen again"
UNDEFINED = "undefined"
GIVEN = "given"  # the method of a value that is known, not estimated
NONE = "none (biased upward)"
DOMINATED = "none (too few rows or units have most of the weight)"
# rows on which two systems decide differently, added per class and direction, see `added_variance`
ADDED_ROWS = 0.25
POWER = 0.8  # the probability with which a detectable difference is detected


class RandomStream(IntEnum):
    """The sequences of random numbers that the intervals and tests of a study draw. The number is
    the key with which `Study.rng` begins the sequence.
    """

    ESTIMATES = 1  # the intervals of estimates
    COMPARISONS = 2  # the tests and intervals of differences
    FURTHER_METRICS = 3  # the intervals of metrics that are not in the table of a binary report


@dataclass(frozen=True, eq=False)
class Options:
    """The options of intervals and tests.

    unit: the noun for a unit, such as "row". limits: the numbers of units up to which slower
    methods are used. test_to_train: test rows per training row, for folds. many_units: True if
    there are too many for sign flips. seed: of the bootstrap samples that all systems share.
    """

    level: float
    rng: np.random.Generator
    unit: str = "row"
    limits: Limits = USUAL_LIMITS
    test_to_train: float = 0.0
    many_units: bool = False
    seed: int = 0

    def compare(self, difference: DifferenceByT) -> Comparison:
        """The t-test of a difference at this level."""
        return difference.comparison(level=self.level, unit=self.unit)


# Means and ratios of sums -------------------------------------------------------------------------


def mcnemar(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """McNemar's asymptotic test of two shares of hits on the same rows, with Tango's interval.

    It is used in place of McNemar's mid-p test, which is conservative with few rows and has no
    interval.
    """
    rows = first.discordant_rows(second)
    return proportions.mcnemar_asymptotic(
        rows.first_only, rows.second_only, rows.n, level=options.level, unit=options.unit
    )


def sign_flip_test(first: TermStatistic, second: TermStatistic, options: Options) -> Comparison:
    """The sign-flip test of two means, or of two ratios of sums with the same denominator; the rows
    of a unit are flipped together.

    With very many units it is the t-test, which is as accurate and faster.
    """
    if options.many_units:
        return t_test(first, second, options)
    difference = first.term_differences(second)
    mid_p = first.mid_p and second.mid_p
    return sign_flips_of(difference, first.unit, options, mid_p=mid_p)


def sign_flips_of(
    difference: Sums, unit: np.ndarray | None, options: Options, *, mid_p: bool = False
) -> Comparison:
    """The sign-flip test of a difference of means or of ratios of sums, Σ numerators / Σ
    denominators over the rows. Rows without a difference are left out.

    difference: the numerator of the difference on each row, with the denominator that both systems
    share. unit: the key of each row's unit, whose rows are flipped together; None if each row is a
    unit. mid_p: as for `sign_flip`.
    """
    unit_sums = difference.summed_by_unit(difference.defined, unit)
    numerator = unit_sums.numerator
    denominator = None  # of a mean over units, each of which counts once
    if unit is not None or difference.denominator is not None:
        has_value = unit_sums.size > 0  # a unit with a denominator of 0 has no difference
        numerator = numerator[has_value]
        denominator = unit_sums.size[has_value]
    return sign_flip(
        numerator,
        denominator,
        rng=options.rng,
        level=options.level,
        unit=options.unit,
        mid_p=mid_p,
    )


def flips_or_t(first: TermStatistic, second: TermStatistic, options: Options) -> Comparison:
    """The sign-flip test, or with more than `limits.flipped` units the t-test."""
    units = int(first.sums.defined.sum()) if first.unit is None else first.n
    if units > options.limits.flipped:
        return t_test(first, second, options)
    return sign_flip_test(first, second, options)


def losses(first: TermStatistic, second: TermStatistic, options: Options) -> Comparison:
    """The test of two mean losses: `flips_or_t`, or MOVER if on some row a system predicts a
    probability of 0 or 1 and the other does not predict the same.

    A wrong prediction of 0 or 1 has by far the largest loss (`worst` of the kind). It may be so
    rare that the data have none; MOVER's limits allow for it nevertheless.
    """
    defined = defined_in_both(first.sums, second.sums)
    kind = first.kind
    assert isinstance(kind, kinds.Loss)
    first_losses = first.sums.numerator[defined]
    second_losses = second.sums.numerator[defined]
    first_certain, second_certain = intervals.certain_alone(first_losses, second_losses, kind.worst)
    # `sure`: the rows on which this system predicts 0 or 1, and the other not the same
    if not first_certain.sure.any() and not second_certain.sure.any():
        return flips_or_t(first, second, options)

    def interval(level: float) -> Estimate:
        """The difference of both means, with limits by MOVER."""
        return intervals.difference_of_losses(first_losses, second_losses, kind.worst, level=level)

    return by_limits(
        interval, level=options.level, unit=options.unit, method=intervals.PAIRED_T_WITH_CERTAIN
    )


def flips_or_influence(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """The sign-flip test if there are few units and the same rows of each count for both systems,
    otherwise t by influence values.
    """
    if first.n <= options.limits.flipped and first.counts_same_rows(second):
        return sign_flip_test(first, second, options)
    return t_of_shared_units(first, second, options)


def t_of_shared_units(
    first: SpreadStatistic, second: SpreadStatistic, options: Options
) -> Comparison:
    """Compare by t, with the standard error of the influence on the difference, over the rows or
    units that have values of both.

    The degrees of freedom are Kish's number of units, which both systems share, less 1. They are at
    least 1: Kish's number is near 1 if one unit has nearly all the weight.
    """
    difference = first.difference_on_shared_units(second)
    by_t = DifferenceByT(
        value=difference.value,
        error=difference.error,
        n=difference.n,
        freedom=max(first.freedom, 1.0),
        method=first.error_method,
        scale=_magnitude(first, second),  # an error that is tiny beside it is a rounding error
    )
    return options.compare(by_t)


def flips_of_sums(first: TermStatistic, second: TermStatistic, options: Options) -> Comparison:
    """Compare two ratios of sums: by `flips_or_t` if both systems have the same denominator in
    every row, otherwise by t with the jackknife's error.

    The difference of two ratios with one denominator is a ratio too, whose numerators can be
    flipped. With different denominators it is none.
    """
    difference = first.term_differences(second)  # of the numerators, row by row
    by_unit = difference.summed_by_unit(difference.defined, first.unit)
    same_denominators = np.array_equal(first.sums.size, second.sums.size, equal_nan=True)
    # Sign flips leave out the units with the denominator 0, whose numerators count in the ratio of
    # all sums. This changes nothing only if both systems have the same numerators there.
    is_left_out = by_unit.size == 0
    if same_denominators and not by_unit.numerator[is_left_out].any():
        return flips_or_t(first, second, options)
    return t_test(first, second, options)


def t_test(first: TermStatistic, second: TermStatistic, options: Options) -> Comparison:
    """The difference of two means (Student's paired t) or, for clustered rows and ratios of sums,
    by the jackknife.
    """
    return options.compare(paired(first, second))


def paired_t(first: SpreadStatistic, second: SpreadStatistic, options: Options) -> Comparison:
    """The difference of two means by Student's paired t, where only sums over the units that have
    both values are in memory.
    """
    difference = first.difference_on_shared_units(second)
    by_t = DifferenceByT(
        value=difference.value,
        error=difference.error,
        n=difference.n,
        freedom=difference.n - 1,
        method="paired t",
        scale=_magnitude(first, second),
    )
    return options.compare(by_t)


def diebold_mariano(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """Compare rows in time order by Diebold and Mariano's test, with Harvey's correction; see
    `Spread.from_series`.

    A mean or another ratio of sums is compared over the rows with both values. Any other metric is
    not made of terms of single rows, and is compared by its influence values on all rows.
    """
    if isinstance(first.kind, kinds.RatioOfSums):
        difference = first.difference_on_shared_units(second)
    else:
        spread = first.difference_spread(second)
        difference = Difference(
            value=first.value - second.value,
            error=spread.error,
            n=int(spread.n),
            has_bartlett_weights=spread.has_bartlett_weights,
        )
    method = DIEBOLD_MARIANO
    if difference.has_bartlett_weights:  # the plain sum of autocovariances was not positive
        method = TAPERED
    by_t = DifferenceByT(
        value=difference.value,
        error=difference.error,
        n=difference.n,
        freedom=max(difference.n - 1.0, 1.0),
        method=method,
        scale=_magnitude(first, second),
    )
    return options.compare(by_t)


class VarianceGrowth(NamedTuple):
    """How the variance of the units' differences depends on the true mean difference d: Var(d) =
    Var(0) + linear · |d| + quadratic · d², or with `linear_if_worse` for a first system that is
    worse than the second.
    """

    linear: float
    quadratic: float
    linear_if_worse: float

    def added(self, improvement: float) -> float:
        """Var(d) − Var(0). improvement: d, below 0 if the first system is worse."""
        linear = self.linear_if_worse if improvement < 0 else self.linear
        return linear * abs(improvement) + self.quadratic * improvement**2


NO_GROWTH = VarianceGrowth(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class PairedDifference(DifferenceByT):
    """The difference of two statistics of the same n units.

    variance_growth: how the variance of the units' differences grows with the true difference.
    exactness_margin: how much larger the smallest difference is that sign flips detect than that of
    t. Sign flips are conservative if other signs often give the observed mean, as where all units
    that differ do so by one amount. The margin is then half the distance of two neighbouring
    possible means, otherwise 0.
    """

    variance_growth: VarianceGrowth = NO_GROWTH
    exactness_margin: float = 0.0

    @property
    def spread(self) -> float:
        """The standard deviation of the units' differences, as observed; NaN below two units."""
        return self.error * float(np.sqrt(self.n))

    def spread_at(self, difference: float) -> float:
        """The standard deviation of the units' differences if the true difference is
        `difference`.
        """
        # the observed variance + Var(assumed) − Var(observed), both taken as improvements
        change = self.variance_growth.added(abs(difference)) - self.variance_growth.added(
            abs(self.value)
        )
        variance = self.spread**2 + change
        return float(np.sqrt(max(variance, 0.0)))

    def detectable(self, level: float) -> float:
        """The smallest true difference that a test of this many units detects with 80% power: that
        of the t-test, plus `exactness_margin`. NaN if sign flips of so few units have no p of at
        most 1 − level.
        """
        smallest_p = 2.0 ** (1 - self.n)  # two of the 2ⁿ sign vectors, if all signs are equal
        if smallest_p > 1 - level:
            return np.nan
        sd_at_0 = self.spread_at(0.0)
        by_t = power.minimum_detectable(
            sd_at_0,
            self.n,
            level=level,
            power=POWER,
            # the change of the variance from a true difference of 0 on
            grows=self.variance_growth.linear,
            bends=self.variance_growth.quadratic,
        )
        return self.exactness_margin + by_t


def paired(first: TermStatistic, second: TermStatistic) -> PairedDifference:
    """The difference of two means or ratios of sums over the units that have values of both, for a
    t-test: Student's paired t for means of independent units, otherwise the jackknife.
    """
    defined = defined_in_both(first.sums, second.sums)
    are_means = first.sums.denominator is None and second.sums.denominator is None
    if first.unit is None and are_means:
        return _paired_means(first, second, defined)
    unit = first.unit  # both systems have the same rows in the same units
    first_ratio = independent.arm_of_ratio(first.sums.summed_by_unit(defined, unit))
    second_ratio = independent.arm_of_ratio(second.sums.summed_by_unit(defined, unit))
    # The influence of each unit times the number of units. On a mean this is the unit's deviation
    # from it, which `standard_error` takes; on a ratio it is the jackknife's counterpart.
    scaled_influence = first_ratio.scaled_influence - second_ratio.scaled_influence
    return PairedDifference(
        value=first_ratio.value - second_ratio.value,
        error=standard_error(scaled_influence),
        n=scaled_influence.size,
        freedom=min(first_ratio.freedom, second_ratio.freedom),
        method=JACKKNIFE,
    )


def _paired_means(
    first: TermStatistic, second: TermStatistic, defined: np.ndarray
) -> PairedDifference:
    """The difference of two means of independent units, for Student's paired t, with the growth of
    its variance and the margin that the detectable difference needs (`PairedDifference`).

    defined: mask of the units with both values, at least one.
    """
    first_values = first.sums.numerator[defined]
    second_values = second.sums.numerator[defined]
    differences = minus(first_values, second_values)
    n = differences.size
    value = float(differences.mean())
    sizes = np.abs(differences)
    largest = float(sizes.max())
    is_usual_size = (sizes == 0) | (sizes == largest)
    have_one_size = bool(is_usual_size.all())
    exactness_margin = 0.0
    # If all units that differ do so by one size, few means are possible, and other signs often give
    # exactly the observed mean. A p-value that counts these ties in full is conservative: the
    # detected difference is larger, by half the distance of two possible means. The mid-p, which
    # counts ties half, is not conservative.
    if have_one_size and not first.mid_p:
        # the sign of one unit changes the mean by 2 · largest / n, the distance of two means
        exactness_margin = largest / n
    return PairedDifference(
        value=value,
        error=standard_error(differences - value),
        n=n,
        freedom=n - 1,
        method="paired t",
        scale=largest,  # an error that is tiny beside the largest difference is a rounding error
        variance_growth=_variance_growth(first_values, second_values, first.metric),
        exactness_margin=exactness_margin,
    )


def _variance_growth(first: Floats, second: Floats, metric: Metric) -> VarianceGrowth:
    """How the variance of the units' differences grows with the true mean difference d of two
    systems: Var(d) = Var(0) + linear · |d| + quadratic · d². A heuristic, checked by simulation.

    first, second: the values of the two systems, one per unit. Two things change the variance:

    1. Units that are equal now come to differ: `_growth_of_equal_units`, a part of `linear`.
    2. In a metric with a finite range, low to high, the variance of a system changes with its mean.
       The part of the first system's variance that the second does not share is taken as
       proportional to the product (mean − low) (high − mean). At d = 0 both systems have the
       second's mean. If the first's mean is better by d, the product changes by slope · d − d²; if
       it is worse by d, by −slope · d − d², for which there is `linear_if_worse`.

    Without a finite range there is no second change; `quadratic` is then −(share of equal units).
    The reason: the variance is the mean square of the differences less d². If only equal units come
    to differ, d² is subtracted in full. If the difference of every unit grows by d, the mean square
    grows by d² too, and nothing is subtracted.
    """
    differences = first - second
    equal_share = float((differences == 0).mean())
    if equal_share == 1:
        return NO_GROWTH
    deviation = first - first.mean()
    other_deviation = second - second.mean()
    by_equal_units = _growth_of_equal_units(differences, deviation, other_deviation)
    low, high = metric.ends
    if not np.isfinite(high - low):
        return VarianceGrowth(
            linear=by_equal_units, quadratic=-equal_share, linear_if_worse=by_equal_units
        )
    n = differences.size
    mean = float(first.mean())
    covariance = float(deviation @ other_deviation) / n
    unshared_variance = float(deviation @ deviation) / n - covariance
    largest_variance = (mean - low) * (high - mean)  # of values with this mean, within the range
    # 0 if the mean is at an end of the range, where nothing varies
    unshared_share = unshared_variance / (largest_variance or np.inf)
    # the derivative of that product at the mean of d = 0, towards the better end of the range
    mean_at_0 = float(second.mean())
    slope = metric.sign * (low + high - 2 * mean_at_0)
    return VarianceGrowth(
        linear=by_equal_units + unshared_share * slope,
        quadratic=-unshared_share,
        linear_if_worse=by_equal_units - unshared_share * slope,
    )


def _growth_of_equal_units(
    differences: Floats, deviation: Floats, other_deviation: Floats
) -> float:
    """The slope of the variance of the differences over the true difference, as far as it comes
    from units with equal values, some of which differ once the systems do.

    It is taken as correlation of the systems · (share of equal units)² · root mean square of the
    differences that are not 0: a heuristic, chosen by simulation. The more the systems are alike,
    the more surely equal units come to differ; unrelated systems are equal by coincidence.

    differences: one per unit, not all 0. deviation, other_deviation: each system's values less
    their mean, one per unit.
    """
    n = differences.size
    equal_share = float((differences == 0).mean())
    covariance = float(deviation @ other_deviation) / n
    variance = float(deviation @ deviation) / n
    other_variance = float(other_deviation @ other_deviation) / n
    sd_product = (variance * other_variance) ** 0.5 or np.inf
    # taken as 0 if a system is constant, or if it is negative
    correlation = max(covariance / sd_product, 0.0)
    mean_square = differences @ differences / np.count_nonzero(differences)
    typical_size = float(np.sqrt(mean_square))
    return correlation * equal_share**2 * typical_size


# By influence values ------------------------------------------------------------------------------


def _by_t(
    first: Statistic,
    second: Statistic,
    options: Options,
    *,
    error: float,
    freedom: float,
    method: str,
) -> Comparison:
    """The difference of two values by t with this standard error and these degrees of freedom.

    Both values are of the same units, of which there are n. method: its name in the result.
    """
    by_t = DifferenceByT(
        value=first.value - second.value,
        error=error,
        n=first.n,
        freedom=freedom,
        method=method,
        scale=_magnitude(first, second),
    )
    return options.compare(by_t)


def _magnitude(first: Statistic, second: Statistic) -> float:
    """The magnitude of two values, at most 1, relative to which a difference may be a rounding
    error; 1 for a metric without a lower bound, as its values may be near 0 whatever its terms.
    """
    if not np.isfinite(first.metric.low):
        return 1.0
    return min(1.0, max(abs(first.value), abs(second.value)))


def influence(first: SpreadStatistic, second: SpreadStatistic, options: Options) -> Comparison:
    """Compare by the standard error of the influence values of rows or units."""
    error = first.difference_spread(second).error
    freedom = max(first.freedom, 1.0)
    return _by_t(first, second, options, error=error, freedom=freedom, method=first.error_method)


def at_rechosen_threshold(
    first: RowStatistic, second: RowStatistic, options: Options
) -> Comparison:
    """Compare by t, with the standard deviation of the difference over bootstrap samples as
    standard error, or that at the fixed thresholds if it is larger. On each sample the thresholds
    of both systems are chosen again.

    The samples alone may give too small an error: of thresholds that are chosen for a given recall,
    for example, recall itself hardly varies.
    """
    error_at_fixed = first.difference_spread(second).error
    # (samples,) each: both systems are measured on the same samples
    error_by_samples = np.nanstd(first.bootstrap_values - second.bootstrap_values)
    # fmax ignores a NaN, which `error_by_samples` is if no sample has a value
    larger_error = np.fmax(error_at_fixed, error_by_samples)
    # if decisions differ on few rows or on none, this may be chance: some more rows are imagined
    variance = larger_error**2 + added_variance(first, second).sum()
    return _by_t(
        first,
        second,
        options,
        error=float(np.sqrt(variance)),
        freedom=max(first.freedom, 1.0),
        method=BY_RECHOSEN,
    )


def jackknife_t(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """Compare by t with the jackknife's standard error, or with many units by `influence`.

    With few units, influence values of the delta method underestimate the error; with many both
    errors agree. The bound is `limits.flipped`: up to so many units a table that is read in blocks
    keeps the sums of each unit, which the jackknife needs.
    """
    if first.n > options.limits.flipped:
        return influence(first, second, options)
    differences = first.leave_one_out_values() - second.leave_one_out_values()
    # left out, a unit may leave a metric that is undefined, such as a recall without positives
    if differences.size < 2 or not np.isfinite(differences).all():
        return influence(first, second, options)
    kish_number = first.freedom + 1  # the degrees of freedom are Kish's number of units less 1
    spread = Spread.from_jackknife(differences, kish=kish_number)
    freedom = max(first.freedom, 1.0)
    return _by_t(first, second, options, error=spread.error, freedom=freedom, method=JACKKNIFE)


def welch_or_kurtosis_t(
    first: ScoreStatistic, second: ScoreStatistic, options: Options
) -> Comparison:
    """Compare by t with fewer degrees of freedom than rows − 1, as a few rows, such as those of a
    rare class, may carry most of the variance.

    The degrees of freedom are Welch's, from the variance of each class, if every class has two rows
    or more. Otherwise they follow from the kurtosis of the influence values, also where there are
    no classes to tell apart (weighted or clustered rows).
    """
    # A mean over classes with few positives takes influence values from leaving out each row, as
    # the usual ones are biased there. Any other metric stays as it is.
    first = first.leave_one_out()
    second = second.leave_one_out()
    classes = variance_by_class(first, second)
    if classes.rows.size and classes.rows.min() > 1:
        value = first.value - second.value
        return options.compare(welch_t(value, classes.variance, classes.rows, method=BY_CLASS))
    # For a share of the rows that a system selects, such as a precision, the spread is that under
    # the hypothesis of equal shares: above 0 even if all rows that one system selects are hits.
    spread = first.null_difference_spread(second)
    freedom = spread.kurtosis_freedom(first.n - 1.0)
    return _by_t(
        first, second, options, error=spread.error, freedom=freedom, method=first.error_method
    )


def kurtosis_t_of_decisions(
    first: ScoreStatistic, second: ScoreStatistic, options: Options
) -> Comparison:
    """Compare decisions at a threshold by t with the degrees of freedom that follow from the
    kurtosis of the influence values.

    The variance allows for some more rows on which the decisions differ (`added_variance`).
    """
    spread = first.difference_spread(second)
    variance = spread.error**2 + added_variance(first, second).sum()
    error = float(np.sqrt(variance))
    freedom = spread.kurtosis_freedom(first.n - 1.0)
    return _by_t(first, second, options, error=error, freedom=freedom, method=first.error_method)


def added_variance(first: ScoreStatistic, second: ScoreStatistic) -> Floats:
    """The variance that some imagined rows with differing decisions add to a difference: that of
    positive rows, then that of negative ones, (2,).

    If the decisions differ on few rows, the number of these rows is uncertain; if they differ on
    none, the difference would have a variance of 0. So `ADDED_ROWS` rows of each class are imagined
    that the first system alone predicts positive, and as many that the second alone does.
    """
    variance = np.zeros(2)
    # Each imagined row adds its squared influence on the difference: its influence on the metric of
    # one system less that on the other's. In each turn this system predicts the row positive and
    # the other one negative. Both metrics are taken to be alike, so that the table of this system
    # gives the influence on the other's metric too.
    for statistic in (first, second):
        kind = statistic.kind
        assert isinstance(kind, kinds.Share | score_kinds.Decision)
        decisions = statistic.tables.decision_counts  # counts of the decisions at the threshold
        # lines: of a positive row, then of a negative one; columns: predicted positive, or not
        influence = kind.influence_table(decisions)
        if_predicted_positive, if_predicted_negative = influence.T
        variance += ADDED_ROWS * (if_predicted_negative - if_predicted_positive) ** 2
    return variance


class ClassVariance(NamedTuple):
    """The variance that the rows of each class add to a difference, and their number, shape
    (classes,) each.
    """

    variance: Floats
    rows: Ints


def variance_by_class(first: ScoreStatistic, second: ScoreStatistic) -> ClassVariance:
    """The variance that the n rows of each class add to the difference: Σ l² · n / (n − 1) of their
    influence l on it.
    """
    classes = first.squares_by_class(second)
    variance = classes.squares * ratio(classes.rows, classes.rows - 1)
    return ClassVariance(variance, classes.rows)


def welch(
    first: ScoreStatistic,
    second: ScoreStatistic,
    options: Options,
    added: Floats | None = None,
    method: str = WELCH,
) -> Comparison:
    """Compare by Welch's t, with the variance of the rows of each class from their influence on the
    difference. With few rows in a class, a normal interval would exceed its nominal error rate.

    added: what is added to the variance of each class, (classes,), see `added_variance`; None for
    nothing. method: its name in the result.
    """
    classes = variance_by_class(first, second)
    variance = classes.variance
    if added is not None:
        variance = variance + added
    value = first.value - second.value
    return options.compare(welch_t(value, variance, classes.rows, method))


def welch_of_decisions(
    first: ScoreStatistic, second: ScoreStatistic, options: Options
) -> Comparison:
    """`welch` for decisions at a threshold; the variance allows for some more rows on which the
    decisions differ (`added_variance`).
    """
    return welch(first, second, options, added_variance(first, second))


def two_gaps(first: ScoreStatistic, second: ScoreStatistic, options: Options) -> Comparison:
    """Compare two KS distances, each at its own threshold, by Welch's t.

    A KS distance is the true positive rate less the false positive rate. If both systems decide
    alike on the few rows of a class, that class would add no variance. So, after Agresti and Min,
    doi:10.1002/sim.1781, half a row of each class is imagined that the first system alone predicts
    positive, and half a row that the second alone does.
    """
    classes = variance_by_class(first, second)
    # A row that one system alone predicts positive has the influence 1 / (rows of its class) on the
    # difference, up to the sign. Both half rows of a class add up to one squared influence.
    added = 1.0 / np.maximum(classes.rows, 1) ** 2
    difference = welch_t(
        first.value - second.value,
        classes.variance + added,
        classes.rows,
        method="Agresti–Min, Welch t",
    )
    return options.compare(difference)


def two_areas(first: ScoreStatistic, second: ScoreStatistic, options: Options) -> Comparison:
    """Compare two areas under the ROC curve by DeLong's variance. The t-distribution has Welch's
    degrees of freedom, as the variance of a rare class is known poorly.
    """
    return welch(first, second, options, method="DeLong, Welch t")


def t_of_rows(first: ScoreStatistic, second: ScoreStatistic, options: Options) -> Comparison:
    """Compare by t, with the variance of `welch` and (rows − 1) degrees of freedom. With few
    positives Welch's would be so few that the test would never reject.
    """
    classes = variance_by_class(first, second)
    error = float(np.sqrt(classes.variance.sum()))
    freedom = int(classes.rows.sum()) - 1.0
    return _by_t(
        first, second, options, error=error, freedom=freedom, method="influence of rows, t"
    )


def predictive_values(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """The score test of two precisions (positive predictive values) on the same rows, some of which
    both systems may predict positive. The variance allows for some more rows, of either class, on
    which the decisions differ (`added_variance`).
    """
    added = added_variance(first, second).sum()
    return proportions.predictive_values(
        first.hits(),
        second.hits(),
        shared=first.joint_hits(second),
        n=first.n,
        added_variance=float(added),
        level=options.level,
        unit=options.unit,
    )


def two_lifts(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """The test of two lifts: that of the precisions. A lift is a precision divided by the base
    rate, the same for both systems, by which the difference and its limits are divided.
    """
    kind = first.kind
    assert isinstance(kind, score_kinds.Lift)
    assert kind.share is not None  # only a lift outside the catalogue could lack its precision
    precision = MetricAtK(kind.share)
    first_precision = replace(first, metric_at_k=precision)
    second_precision = replace(second, metric_at_k=precision)
    test_of_precisions = predictive_values(first_precision, second_precision, options)
    decisions = first.tables.decision_counts  # counts of the decisions at the threshold

    def divided_by_base_rate(difference: Estimate) -> Estimate:
        """The difference of the lifts, from that of the precisions. Its limits also allow for the
        error of the base rate, which is estimated from the same rows.
        """
        base_rate = intervals.wilson(decisions.positives, decisions.total, level=difference.level)
        return closed_forms.divided(difference, base_rate)

    return test_of_precisions.with_limits(divided_by_base_rate)


# No test, folds, draws, independent samples -------------------------------------------------------


def no_test(first: Statistic, second: Statistic, options: Options, why: str = NONE) -> Comparison:
    """The difference without limits and with p = NaN. why: the reason, as the method."""
    value = first.value - second.value
    difference = Estimate.without_limits(value, options.level, first.n, why)
    return Comparison.without_test(difference, options.unit)


def two_folds(first: UnitStatistic, second: UnitStatistic, options: Options) -> Comparison:
    """The test of Nadeau and Bengio for two means over folds, whose scores share training rows."""
    defined = defined_in_both(first.sums, second.sums)
    differences = (first.sums.per_unit - second.sums.per_unit)[defined]
    # only the quotient of both numbers of rows matters, test rows per training row
    return nadeau_bengio(
        differences, train=1, test=options.test_to_train, level=options.level, unit=options.unit
    )


def two_drawn(
    first: NoisyUnitStatistic, second: NoisyUnitStatistic, options: Options
) -> Comparison:
    """Compare two means by t over the units that have both values. Units are the same in every
    sample, so that the variance is that of the random draws alone.

    The draws of both systems are taken as independent: their variances add up, and so do their
    degrees of freedom, as in Student's t of two samples.
    """
    defined = defined_in_both(first.sums, second.sums)
    differences = (first.sums.numerator - second.sums.numerator)[defined]
    error = np.hypot(first.error_on(defined), second.error_on(defined))
    by_t = DifferenceByT(
        value=float(differences.mean()),
        error=float(error),
        n=differences.size,
        freedom=first.freedom + second.freedom,
        method=DRAWN,
    )
    return options.compare(by_t)


def two_means(first: UnitStatistic, second: UnitStatistic, options: Options) -> Comparison:
    """Compare the means of two independent arms by Welch's t, or by the studentised permutation
    test if their difference is too skewed for t and the units are few enough to permute
    (`needs_permutation`).
    """
    treatment = first.sums.numerator
    control = second.sums.numerator
    if independent.needs_permutation(treatment, control):
        return independent.studentised(
            treatment, control, rng=options.rng, level=options.level, unit=options.unit
        )
    return independent.difference(
        independent.arm_of_mean(treatment),
        independent.arm_of_mean(control),
        level=options.level,
        unit=options.unit,
    )


def _ratio_arm(statistic: UnitStatistic) -> Arm:
    """The ratio of sums of an arm, with the jackknife's influence of each unit."""
    return independent.arm_of_ratio(statistic.sums)


def two_ratios(first: UnitStatistic, second: UnitStatistic, options: Options) -> Comparison:
    """Compare the ratios of sums of two independent arms by t with the jackknife's errors."""
    return independent.difference(
        _ratio_arm(first),
        _ratio_arm(second),
        level=options.level,
        unit=options.unit,
        method=JACKKNIFE,
    )


ShareStatistic = UnitStatistic | SuccessShare  # of zeros and ones


def two_proportions(
    first: ShareStatistic, second: ShareStatistic | KnownValue, options: Options
) -> Comparison:
    """The score test of two independent proportions, or the exact binomial test of the first
    against a known one.
    """
    hits, n = first.hits()
    if isinstance(second, KnownValue):
        return proportions.binomial_test(
            hits, n, null=second.value, level=options.level, unit=options.unit
        )
    other_hits, other_n = second.hits()
    return proportions.two_proportions(
        hits, n, other_hits, other_n, level=options.level, unit=options.unit
    )


# Lifts --------------------------------------------------------------------------------------------


def lift_of_means(first: UnitStatistic, second: UnitStatistic, options: Options) -> Comparison:
    """The relative difference of the means of two independent arms, first / second − 1, with
    Fieller's interval.

    Where `two_means` uses the studentised permutation test, test and interval are by permutation
    here too, but only if no value is negative, which `permuted_lift` asks for.
    """
    treatment = first.sums.numerator
    control = second.sums.numerator
    if (
        independent.needs_permutation(treatment, control)
        and min(treatment.min(), control.min()) >= 0
    ):
        return independent.permuted_lift(treatment, control, rng=options.rng, level=options.level)
    return independent.lift(
        independent.arm_of_mean(treatment), independent.arm_of_mean(control), level=options.level
    )


def lift_of_ratios(first: UnitStatistic, second: UnitStatistic, options: Options) -> Comparison:
    """The relative difference of two independent ratios of sums, first / second − 1, with Fieller's
    interval.
    """
    return independent.lift(_ratio_arm(first), _ratio_arm(second), level=options.level)


def lift_of_shares(first: ShareStatistic, second: ShareStatistic, options: Options) -> Comparison:
    """The relative difference of two independent shares, first / second − 1, with Koopman's
    interval of their ratio.
    """
    hits, n = first.hits()
    control_hits, control_n = second.hits()
    return independent.share_lift(hits, n, control_hits, control_n, level=options.level)


def no_lift(first: Statistic, second: Statistic, options: Options) -> Comparison:
    """Raise TypeError: systems on the same units are compared by their difference. second, options:
    not used; every method of a lift takes them.
    """
    raise TypeError(f"{first.metric_at_k.label}: a lift needs other units in each system")


# The minimum detectable difference ----------------------------------------------------------------


def detectable_by_width(
    first: Statistic, second: Statistic, comparison: Comparison, level: float
) -> float:
    """The detectable difference, z(level) + z(80% power) standard errors, with the standard error
    from the width of the interval; of a one-sided interval from its limit. first, second: not used;
    every rule for a detectable difference takes them.
    """
    difference = comparison.difference
    two_sided_level = comparison.alternative.two_sided_level(difference.level)
    error = comparison.half_width / intervals.normal_quantile(two_sided_level)
    z = intervals.normal_quantile(level) + intervals.one_sided_normal_quantile(POWER)
    return float(error * z)


def detectable_by_pairs(
    first: TermStatistic, second: TermStatistic, comparison: Comparison, level: float
) -> float:
    """The detectable difference from the paired values of the units (`PairedDifference`).
    comparison: not used; every rule for a detectable difference takes one.
    """
    return paired(first, second).detectable(level)


def detectable_by_decisions(
    first: RowStatistic, second: RowStatistic, comparison: Comparison, level: float
) -> float:
    """The detectable difference of two shares of hits. A row is discordant if one system alone has
    a hit on it, else concordant.

    The difference of a row is −1, 0 or 1, so that the mean square of the differences is the share
    of discordant rows. It is taken as their variance; the mean squared is neglected. The share
    grows with the true difference d: discordant rows stay so, and a share d of the concordant rows
    becomes discordant. So Var(d) = Var(0) + (share of concordant rows) · d. The observed share of
    discordant rows is Var at the observed difference, from which Var(0) follows.

    comparison: not used; every rule for a detectable difference takes one.
    """
    rows = first.discordant_rows(second)
    observed_difference = ratio(abs(rows.first_only - rows.second_only), rows.n)
    concordant = 1 - rows.share
    variance_at_0 = rows.share - concordant * float(observed_difference)
    sd_at_0 = np.sqrt(variance_at_0)
    return power.minimum_detectable(sd_at_0, rows.n, level=level, power=POWER, grows=concordant)


def detectable_by_shares(
    first: Statistic, second: Statistic, comparison: Comparison, level: float
) -> float:
    """The detectable difference of two independent shares, from the second share, on which the
    variance depends, and both sample sizes.

    An adjustment by a covariate lowers the standard error as more units would. So the share is that
    of the values before an adjustment, and each sample size the number of units that would give the
    same standard error without one. comparison: not used; every rule for a detectable difference
    takes one.
    """
    return power.detectable_share(
        base=second.unadjusted().value,
        n=first.informative_units,
        m=second.informative_units,
        level=level,
        power=POWER,
    )


def detectable_by_means(
    first: UnitStatistic, second: UnitStatistic, comparison: Comparison, level: float
) -> float:
    """The detectable difference of the means of two independent arms, from their spread, their
    sizes and the mean that the difference starts from.

    The difference starts from the second mean or, if the arms do not differ significantly, from the
    mean of both arms. The effect is taken to multiply all values by one factor, so that standard
    deviation / mean stays the same; it is estimated from both arms. This makes no sense if a value
    before an adjustment is negative, if a mean is not above 0, or if an arm has a single unit: the
    result is then that of `detectable_by_width`.
    """
    # as measured: an adjustment may turn values negative that a factor multiplies all the same
    raw_arms = (first.unadjusted(), second.unadjusted())
    lowest = min(arm.sums.numerator.min() for arm in raw_arms)
    if lowest < 0 or min(first.value, second.value) <= 0 or min(first.n, second.n) < 2:
        return detectable_by_width(first, second, comparison, level)
    sizes = np.array([first.n, second.n])
    relative_variances = []  # (standard deviation / mean)² of each arm
    for arm in (first, second):
        values = arm.sums.numerator
        mean = values.mean()
        relative_variances.append(values.var(ddof=1) / mean**2)
    base = second.value
    differs = comparison.p_value < 1 - comparison.test_level  # False also if p is NaN
    if not differs:
        base = float(np.average([first.value, second.value], weights=sizes))
    relative_variance = np.average(relative_variances, weights=sizes)
    sd = base * float(np.sqrt(relative_variance))
    return power.detectable_lift(base, sd, n=first.n, m=second.n, level=level, power=POWER)
