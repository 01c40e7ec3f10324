"""The table of methods: which interval and which test a metric gets.

It is the first rule of the table that fits the metric's kind and the layout of the sample:
independent, clustered or weighted rows. For clustered rows, influence values are added up per unit.
The page prints its description of methods from this table.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Generic, TypeVar

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue import kinds, metric, score_kinds as scores
from evalkit.catalogue.kinds import MetricKind
from evalkit.catalogue.metric import Harmonic, MeanOverClasses, MetricAtK
from evalkit.catalogue.tables import PRECISION, against_rest
from evalkit.metrics import counts, labels
from evalkit.statistics import (
    closed_forms,
    interval_methods,
    intervals,
    judged,
    methods,
    row_bootstrap,
    significance,
)
from evalkit.statistics.closed_forms import WeightedEstimate
from evalkit.statistics.intervals import Comparison, Estimate, t_interval
from evalkit.statistics.methods import JACKKNIFE, Options as Options
from evalkit.statistics.significance import DifferenceByT
from evalkit.statistics.statistic import (
    Layout,
    RowStatistic,
    ScoreStatistic,
    Statistic,
    TermStatistic,
)

# The class of the statistics that a function takes follows from the kind and the layout by which
# its rule chooses it.
IntervalFunction = Callable[..., Estimate]  # (statistic, options)
TestFunction = Callable[..., Comparison]  # (first, second, options)
MethodFunction = TypeVar("MethodFunction", IntervalFunction, TestFunction)

# Intervals ----------------------------------------------------------------------------------------


def estimate(statistic: Statistic, options: Options) -> Estimate:
    """The value of a statistic with its interval, cut to the range of the metric.

    There are no limits if the value is undefined, or if `statistic.has_dominant_unit`: one unit may
    have so much of the weight that no interval keeps its level.
    """
    if np.isnan(statistic.value):
        return interval_methods.no_interval(statistic, options, methods.UNDEFINED)
    if statistic.has_dominant_unit:
        return interval_methods.no_interval(statistic, options, methods.DOMINATED)
    interval_of = method(statistic).interval
    metric = statistic.metric
    return cut_to_range(interval_of(statistic, options), metric.low, metric.high)


def cut_to_range(estimate: Estimate, low: float, high: float) -> Estimate:
    """The interval cut to the metric's range, from `low` to `high`; never without width.

    If all n units are equal, t gives an interval without width. In a finite range no values vary
    more than those at its two ends, so Wilson's limits of the share at the upper end replace it.
    Without a finite range the data do not say how far other units may lie, and the limits are NaN.

    >>> e = cut_to_range(Estimate(1.0, 1.0, 1.0, 0.95, 50, "t"), 0.0, 1.0)
    >>> round(e.low, 3), e.high, e.method
    (0.929, 1.0, 'Wilson')
    """
    n = estimate.n
    if n == 0 or estimate.low != estimate.high:  # True for limits of NaN, which stay
        return replace(estimate, low=max(estimate.low, low), high=min(estimate.high, high))
    if not np.isfinite(low + high):
        return replace(estimate, low=np.nan, high=np.nan, method=interval_methods.UNMOVED)
    width = high - low
    # so many units at the upper end, and all others at the lower one, have the same mean
    units_at_high = (estimate.value - low) / width * n
    share = intervals.wilson(units_at_high, n, level=estimate.level)
    lower_limit = float(low + width * share.low)
    upper_limit = float(low + width * share.high)
    return replace(estimate, low=lower_limit, high=upper_limit, method="Wilson")


def compare(first: Statistic, second: Statistic, options: Options) -> Comparison:
    """The difference first − second with the interval and the test of the metric; NaN with n = 0 if
    either value is undefined or no unit has both.

    If both systems predict the same, both limits are 0 and p is 1: tests that add rows or cells to
    the data would report a width otherwise.
    """
    if np.isnan(first.value - second.value) or not first.shares_units_with(second):
        return undefined(options.level, options.unit)
    comparison = _tested(first, second, options)
    # the predictions are known to the base: for a metric that transforms another one the original,
    # otherwise the statistic itself
    if not first.untransformed_statistic().predicts_same(second.untransformed_statistic()):
        return comparison
    # an error of 0 on infinitely many degrees of freedom gives limits of 0 and p = 1
    no_difference = DifferenceByT(
        value=0.0,
        error=0.0,
        n=comparison.difference.n,
        freedom=np.inf,
        method=comparison.method,
    )
    return options.compare(no_difference)


def _tested(first: Statistic, second: Statistic, options: Options) -> Comparison:
    """The difference by the test of the table of methods, its limits cut to the possible
    differences; without a test if one unit has too much of the weight.

    t does not exist if the difference is the same for each unit, as t divides by a standard error
    of 0. Then the difference may follow from the limits of both values, but only for rows and units
    of rows: other samples, such as time series, keep the result of their own test.
    """
    if first.has_dominant_unit or second.has_dominant_unit:
        return methods.no_test(first, second, options, methods.DOMINATED)
    comparison = method(first).test(first, second, options)
    # the limits of both values may stand in for t, but one unit alone is not tested
    may_use_limits = first.n > 1 and first.layout in ROW_LAYOUTS
    if may_use_limits and _lacks_t(comparison):
        comparison = _by_limits_if_any(first, second, options, comparison)
    return within_range(comparison, widest=first.metric.high - first.metric.low)


def _lacks_t(comparison: Comparison) -> bool:
    """True if the difference is not 0 and has no p: one that is the same for each unit has a
    standard error of 0, by which t divides.
    """
    return bool(np.isnan(comparison.p_value) and abs(comparison.difference.value) > 0)


def _by_limits_if_any(
    first: Statistic, second: Statistic, options: Options, comparison: Comparison
) -> Comparison:
    """The difference from the separate limits of both values, which may exist where t does not; the
    comparison as it is if they do not, and for a metric that combines others.
    """
    if isinstance(first.kind, COMBINING):
        return comparison
    by_limits = compare_by_mover(first, second, options, n=first.n)
    return by_limits if np.isfinite(by_limits.difference.low) else comparison


def compare_by_mover(
    first: Statistic,
    second: Statistic,
    options: Options,
    interval_of: IntervalFunction = estimate,
    *,
    n: int,
) -> Comparison:
    """The difference first − second by MOVER from the separate limits of both values; p is that of
    the inverted interval, NaN if a value has no limits.

    interval_of: (statistic, options) -> its value with limits. n: the number of units of the
    comparison.
    """

    def interval(level: float) -> Estimate:
        """The difference with its limits from those of both values at this level."""
        at_level = replace(options, level=level)
        first_estimate = interval_of(first, at_level)
        second_estimate = interval_of(second, at_level)
        return replace(intervals.mover(first_estimate, second_estimate), n=n)

    return significance.by_limits(
        interval, level=options.level, unit=options.unit, method=closed_forms.MOVER
    )


def compare_independent_orders(
    first: ScoreStatistic, second: ScoreStatistic, options: Options
) -> Comparison:
    """The difference of two metrics of the order of scores, such as ROC AUC, on independent
    samples, by MOVER of their limits.

    t of the difference rejects too often if there are few positives, because the distribution of
    each value is then skewed, which limits on the logit scale allow for.
    """
    return compare_by_mover(
        first,
        second,
        options,
        interval_of=interval_methods.ranged_t_of_table,
        n=first.n + second.n,
    )


def compare_recalls_at_rate(
    first: ScoreStatistic, second: ScoreStatistic, options: Options
) -> Comparison:
    """The difference of two recalls at a false positive rate on the same rows, by MOVER of their
    limits with the correlation of their influence values; p is that of the inverted interval.

    t of the difference rejects too often if few false positives are expected, as the influence of
    a negative then rests on few of them.
    """
    errors = np.array([first.spread.error, second.spread.error])
    error_of_difference = first.difference_spread(second).error
    # from Var(a − b) = Var(a) + Var(b) − 2 Cov(a, b)
    covariance = (errors @ errors - error_of_difference**2) / 2
    correlation = closed_forms.correlation_from(covariance, errors.prod())

    def interval(level: float) -> Estimate:
        """The difference with its limits at this level."""
        at_level = replace(options, level=level)
        return closed_forms.correlated_difference(
            estimate(first, at_level), estimate(second, at_level), correlation
        )

    return significance.by_limits(
        interval, level=options.level, unit=options.unit, method=closed_forms.MOVER
    )


def within_range(comparison: Comparison, widest: float) -> Comparison:
    """The comparison with its limits cut to the possible differences, −widest to widest; widest:
    the width of the metric's range.
    """

    def cut(difference: Estimate) -> Estimate:
        """The difference with its limits cut; limits of NaN stay."""
        if -widest <= difference.low and difference.high <= widest:
            return difference
        low = float(np.maximum(difference.low, -widest))
        high = float(np.minimum(difference.high, widest))
        return replace(difference, low=low, high=high)

    return comparison.with_limits(cut)


def undefined(level: float, unit: str) -> Comparison:
    """A comparison of undefined values: value, limits and p are NaN, n is 0. unit: the noun for a
    unit.
    """
    no_difference = Estimate.without_limits(np.nan, level, n=0, method=methods.UNDEFINED)
    return Comparison.without_test(no_difference, unit)


def _transformed_interval(statistic: Statistic, options: Options) -> Estimate:
    """The interval of a monotone function of another metric (the original): that function of the
    original's limits.
    """
    kind = statistic.kind
    assert isinstance(kind, metric.TransformedMetric)
    original = estimate(statistic.untransformed_statistic(), options)
    # a decreasing function exchanges the limits
    low, high = sorted((kind.function(original.low), kind.function(original.high)))
    return replace(original, value=statistic.value, low=low, high=high)


def _transformed_test(first: Statistic, second: Statistic, options: Options) -> Comparison:
    """The test of the original metric, whose difference a − b and limits are multiplied by
    (f(a) − f(b)) / (a − b), the mean slope of the transformation f, or by f′(a) if a = b.

    So the difference is exactly f(a) − f(b), and the interval contains 0 if the original's does.
    """
    kind = first.kind
    assert isinstance(kind, metric.TransformedMetric)
    original_first = first.untransformed_statistic()
    original_second = second.untransformed_statistic()
    original_difference = original_first.value - original_second.value
    if original_difference:
        slope = (first.value - second.value) / original_difference
    else:
        slope = kind.slope(original_first.value)  # the derivative f′

    def times_slope(difference: Estimate) -> Estimate:
        """The difference with its limits on the transformed scale."""
        # a negative slope exchanges the limits
        low, high = sorted((slope * difference.low, slope * difference.high))
        return replace(difference, value=slope * difference.value, low=low, high=high)

    return compare(original_first, original_second, options).with_limits(times_slope)


def _mean_interval(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The interval of a mean over components, such as classes, by MOVER: from the limits of each,
    with the correlations of their influence values.

    If the shares of the components are estimated, they are one more component, of value 0, with
    normal limits. Limits of biased components are moved by their bias, because averaging many of
    them narrows the interval and leaves the bias; the mean's limits are then extended to the value.
    For many components with few positives each (`scarce`) `_scarce_mean_interval` is used.
    """
    if statistic.scarce:
        return _scarce_mean_interval(statistic.leave_one_out(), options)
    components = _weighted_components(statistic, options)
    unbiased = closed_forms.mover_sum(components, n=statistic.n, level=options.level)
    return unbiased.extended_to(statistic.value)


def _weighted_components(statistic: ScoreStatistic, options: Options) -> Iterator[WeightedEstimate]:
    """Yield each component of a mean with its share as weight, its value and limits less its upward
    bias, and its influence by unit.

    If the shares are estimated, they vary from sample to sample, and add to the error of the mean.
    One more component then stands for this error: it has weight 1, value 0 and normal limits.
    """
    for component in statistic.components():
        biased = estimate(component.statistic, options)
        unbiased = replace(
            biased,
            value=biased.value - component.bias,
            low=biased.low - component.bias,
            high=biased.high - component.bias,
        )
        yield WeightedEstimate(component.share, unbiased, component.influence)
    influence = statistic.share_influence()
    if influence is not None:
        error = float(np.sqrt(influence @ influence))  # the variance is Σ influence²
        # n and method of a component are not used: `mover_sum` takes value and limits
        of_shares = t_interval(0.0, error, n=0, level=options.level, method="", freedom=np.inf)
        yield WeightedEstimate(1.0, of_shares, influence)


def _scarce_mean_interval(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The interval of a mean over many components with few positives each: t on the logit scale
    around the value less its bias. If the value itself lies outside, the nearer limit is moved to
    it.

    MOVER would be wrong here: it carries over the skewness of single components, which averages out
    in the mean.
    """
    low, high = statistic.metric.ends
    bias = sum(component.share * component.bias for component in statistic.components())
    unbiased_value = np.clip(statistic.value - bias, low, high)
    unbiased = closed_forms.t_within_range(
        float(unbiased_value),
        statistic.spread.error,
        freedom=statistic.freedom,
        n=statistic.n,
        level=options.level,
        ends=(low, high),
    )
    return unbiased.extended_to(statistic.value)


def _harmonic_interval(statistic: RowStatistic, options: Options) -> Estimate:
    """The interval of the harmonic mean of two metrics by MOVER.

    For each of the two metrics, the mean is computed at both limits of this metric and the value of
    the other one. The distances of these means from the value are combined, with the correlation of
    the influence values of both metrics.
    """
    kind = statistic.kind
    assert isinstance(kind, Harmonic)
    value = statistic.value
    pair = statistic.harmonic_pair()
    means_at_limits = []  # the value of the mean, with its limits if one metric alone varies
    for component, other in zip(pair, reversed(pair), strict=True):
        limits = estimate(component.statistic, options)
        other_value = other.statistic.value
        mean_at_limits = replace(
            limits,
            value=value,
            low=kind.mean(limits.low, other_value),
            high=kind.mean(limits.high, other_value),
        )
        means_at_limits.append(WeightedEstimate(1.0, mean_at_limits, component.influence))
    # Both weights are 1, as each distance counts in full. `mover_sum` adds up the values too, so
    # that its value is twice the harmonic mean, and its limits are one mean too high.
    doubled = closed_forms.mover_sum(means_at_limits, n=statistic.n, level=options.level)
    return replace(doubled, value=value, low=doubled.low - value, high=doubled.high - value)


def _coverage_interval(statistic: RowStatistic, options: Options) -> Estimate:
    """The interval of class coverage, the share of rows predicted as a class whose precision
    reaches a target.

    It must allow for not knowing which classes reach the target, and for the error of a share of
    rows. Its lower limit is that of the share of rows predicted as classes that significantly reach
    the target, its upper limit that of classes that are not significantly below it.
    """
    level = options.level
    classes = _PredictedClasses.of_statistic(statistic)
    # statistics of plain shares of rows, with the interval of a share
    known_share = estimate(classes.share(classes.known_to_reach_target(level)), options)
    possible_share = estimate(classes.share(classes.may_reach_target(level)), options)
    return Estimate(
        statistic.value,
        low=known_share.low,
        high=possible_share.high,
        level=level,
        n=statistic.n,
        method=COVERAGE_LIMITS,
    )


def _coverage_test(first: RowStatistic, second: RowStatistic, options: Options) -> Comparison:
    """The difference of two class coverages, with the test that inverts the interval of
    `_coverage_difference`.
    """
    interval = partial(
        _coverage_difference,
        _PredictedClasses.of_statistic(first),
        _PredictedClasses.of_statistic(second),
        same_decisions=first.decides_same(second),
    )
    return significance.by_limits(
        interval, level=options.level, unit=options.unit, method=COVERAGE_LIMITS
    )


def _coverage_difference(
    first: "_PredictedClasses", second: "_PredictedClasses", level: float, *, same_decisions: bool
) -> Estimate:
    """The difference of two class coverages, the shares of rows predicted as classes whose
    precision reaches a target, with limits at this level of confidence.

    Tests at this level sort the classes of each system: some are known to reach the target, and
    more may reach it. The coverage lies between the share of rows of the known classes and that of
    the possible ones. So the smallest difference is the known share of the first system − the
    possible share of the second; its lower limit is the result's. The largest difference, possible
    − known, gives the upper limit.

    same_decisions: True if both systems predict the same class for every row.
    """
    first_known = first.share(first.known_to_reach_target(level))
    second_known = second.share(second.known_to_reach_target(level))
    if same_decisions:  # the same classes reach the target: the difference is 0, whichever they are
        return _share_difference(first_known, second_known, level)
    first_possible = first.share(first.may_reach_target(level))
    second_possible = second.share(second.may_reach_target(level))
    return Estimate(
        first.statistic.value - second.statistic.value,
        low=_share_difference(first_known, second_possible, level).low,
        high=_share_difference(first_possible, second_known, level).high,
        level=level,
        n=first.statistic.n,
        method=COVERAGE_LIMITS,
    )


def _share_difference(first: RowStatistic, second: RowStatistic, level: float) -> Estimate:
    """The difference of two shares of the same rows: Tango's interval if rows are independent and
    unweighted, else t from the influence values, on at least 1 degree of freedom. Its method has no
    meaning: `_coverage_test` names its own.
    """
    if first.layout is Layout.PLAIN:
        rows = first.discordant_rows(second)
        return intervals.tango(rows.first_only, rows.second_only, rows.n, level=level)
    by_t = DifferenceByT(
        value=first.value - second.value,
        error=first.difference_spread(second).error,
        n=first.n,
        freedom=max(first.freedom, 1.0),
        method="",
    )
    return by_t.interval(level)


@dataclass(frozen=True, eq=False)
class _PredictedClasses:
    """The score tests of whether the precision of each class that a system predicts reaches a
    target.

    The test statistic of a class is excess / deviation, (precision − target) / √(target (1 −
    target) / rows), standard normal if the true precision is the target.

    statistic: of the system's class coverage. excess: for each class (precision − target) √rows, 0
    for one that is never predicted; rows are effective ones. deviation: √(target (1 − target)), the
    standard deviation of a row's hit (1 or 0) if the true precision is the target. count: the
    number of predicted classes, for which the tests are corrected together (Šidák).
    """

    statistic: RowStatistic
    excess: Floats
    deviation: float
    count: int

    @classmethod
    def of_statistic(cls, statistic: RowStatistic) -> "_PredictedClasses":
        """The tests of a system's classes. statistic: of the system's class coverage, the share of
        rows predicted as a class whose precision reaches the target; its k is the target.
        """
        table = labels.one_vs_rest(statistic.rows.confusion)  # each count has a number per class
        rows = table.tp + table.fp  # predicted as each class
        target = statistic.metric_at_k.k
        # clustered or weighted rows say less than as many independent ones
        if statistic.layout is not Layout.PLAIN:
            rows = np.array([_effective_rows(statistic, number) for number in range(len(rows))])
        above_target = counts.precision(table) - target  # NaN for a class without rows
        variance_of_hit = target * (1 - target)
        # times √rows the excess has the same deviation for every class
        return cls(
            statistic,
            excess=np.nan_to_num(above_target * np.sqrt(rows)),
            deviation=float(np.sqrt(variance_of_hit)),
            count=int(np.count_nonzero(rows)),
        )

    def margin(self, level: float) -> float:
        """The critical value of the excess of a class, at this level of confidence for all classes
        together.
        """
        level_of_class = level ** (1 / max(self.count, 1))  # Šidák
        return intervals.normal_quantile(level_of_class) * self.deviation

    def known_to_reach_target(self, level: float) -> Bools:
        """A mask of the classes whose precision is significantly above the target, at this level of
        confidence.
        """
        return self.excess > self.margin(level)

    def may_reach_target(self, level: float) -> Bools:
        """A mask of the classes whose precision is not significantly below the target, at this
        level of confidence.
        """
        return self.excess >= -self.margin(level)

    def share(self, classes: Bools) -> RowStatistic:
        """The statistic of the share of rows that are predicted as one of `classes`, a mask."""
        metric = self.statistic.metric
        assert isinstance(metric.kind, kinds.ClassCoverage)
        # without `kind_at`, by which the number behind the @ would bring back the kind of coverage
        share = replace(metric, kind=metric.kind.share(classes), kind_at=None)
        return replace(self.statistic, metric_at_k=MetricAtK(share))


def _effective_rows(statistic: RowStatistic, predicted: int) -> float:
    """The effective number of the rows that are predicted as one class, for clustered or weighted
    rows: with so many independent rows, the precision of the class would have the same error.

    statistic: of class coverage. predicted: the number of the class. If its precision is 0 or 1,
    the error is 0, and tells no number. Then the result is Kish's number of units that have rows
    predicted as the class.
    """
    rows = against_rest(statistic.rows, predicted)
    precision = replace(statistic, metric_at_k=MetricAtK(PRECISION), rows=rows)
    share = precision.value
    error = precision.spread.error
    if error > 0:
        # error² of n independent rows is share (1 − share) / n
        return share * (1 - share) / error**2
    return precision.fewest_units


# The table ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rule(Generic[MethodFunction]):
    """A row of the table of methods: for metrics of these kinds on samples of these layouts, the
    interval or test (`function`) and its name on the page.

    in_memory: True if it needs the values of every unit, False if it works on sums alone, None if
    it takes both.
    """

    kinds: type[MetricKind] | tuple[type[MetricKind], ...]
    layouts: tuple[Layout, ...]
    function: MethodFunction
    name: str
    in_memory: bool | None = None

    def fits(self, kind: type[MetricKind], layout: Layout, *, in_memory: bool) -> bool:
        """True if the rule is for this kind and this layout. in_memory: True if the sample has the
        values of every unit, False if it has sums alone.
        """
        if layout not in self.layouts or self.in_memory not in (None, in_memory):
            return False
        return issubclass(kind, self.kinds)


PLAIN_ROWS = (Layout.PLAIN,)
UNIT_LAYOUTS = (Layout.CLUSTERED, Layout.WEIGHTED)
ROW_LAYOUTS = (*PLAIN_ROWS, *UNIT_LAYOUTS)
IN_TIME_ORDER = (Layout.SERIES,)
COMBINING = (MeanOverClasses, Harmonic)  # kinds that combine other metrics

COVERAGE_LIMITS = (
    "limits of the shares of the classes that are known to reach the precision, and that may"
)
ERROR_OF_SAMPLES = "error from bootstrap samples on each of which the threshold is chosen again"
DELTA = "delta method"
DELTA_BY_KURTOSIS = f"{DELTA}, with degrees of freedom from the kurtosis of the influence values"
HALL = "skewness-corrected t (Hall)"
MEAN_OF_VALUES = f"Wilson with the effective sample size, {HALL} if values have no bounds"
MEAN_OR_SHARE = f"{MEAN_OF_VALUES}, Wilson if all are 0 or 1"
JACKKNIFE_BY_KURTOSIS = (
    f"{JACKKNIFE}, with the freedom that the kurtosis of the influence values leaves, "
    f"{DELTA} above 20,000 units"
)
JACKKNIFE_OR_BOOTSTRAP_T = (
    f"{JACKKNIFE_BY_KURTOSIS}, no closer than a bootstrap-t "
    f"below {interval_methods.FEW_UNITS} units"
)
LOGIT_BY_RARER_CLASS = (
    "t on the logit scale, on as many degrees of freedom as the rarer class has rows"
)
RARE_POSITIVES = (
    f"{LOGIT_BY_RARER_CLASS}; with fewer than {interval_methods.FEW_POSITIVES} positives, "
    f"below {interval_methods.RARE_SHARE:.0%} of all rows, average precision no closer than Boyd's "
    "binomial limits"
)
SANDWICH = "sandwich variance, t on as many degrees of freedom as the rarer class has rows"
DELONG_OR_NEWCOMBE = (
    "DeLong's variance on the logit scale, Newcombe's method 5 where a class has fewer than 50 rows"
)
WILSON_OF_TOP_ROWS = "Wilson, with the variance of rows that enter and leave"
MOVER_OF_LIFT = "MOVER of Wilson's limits of precision and base rate"
MOVER_AT_RATE = (
    "MOVER of Wilson's limits of the recall, and of the recall at Wilson's limits of the false "
    "positive rate"
)
MOVER_OF_RATES = "MOVER of Wilson's limits of recall and false positive rate"
MOVER_OF_PARTS = (
    "MOVER of the limits of each class or label; t on the logit scale, of F1 by the jackknife, "
    "where their number is above half of the mean number of their positives"
)
LOGIT_BY_UNIT = "t on the logit scale, by unit or weighted row, on Kish's degrees of freedom"
BY_DRAWS = "t on the variance of draws"
JACKKNIFE_OF_ARM = (
    f"{JACKKNIFE} on the log scale (logit if no numerator exceeds its denominator), with the "
    "freedom that the kurtosis leaves"
)
BOOTSTRAP = (
    f"{row_bootstrap.METHOD} of the rows, or of whole units: too narrow for few of them and for "
    "what a few rows decide, such as R²; none for a maximum"
)
AUTOCOVARIANCES = "variance with autocovariances up to the longest horizon less 1"
DELTA_OF_SERIES = f"{DELTA}, {AUTOCOVARIANCES}"
MEAN_OF_SERIES = f"{MEAN_OF_VALUES}, {AUTOCOVARIANCES}"
HALF_OF_DIFFERENCE = "half the interval of the difference, from sign flips of the units' sums"

INTERVALS: tuple[Rule[IntervalFunction], ...] = (
    Rule(MetricKind, (Layout.KNOWN,), interval_methods.stated_estimate, "as given"),
    Rule(MetricKind, (Layout.FOLDS,), interval_methods.mean_over_folds, "Nadeau–Bengio"),
    Rule(MetricKind, (Layout.DIVIDED,), interval_methods.divided, HALF_OF_DIFFERENCE),
    Rule(kinds.MeanPerUnit, (Layout.DRAWN,), interval_methods.mean_of_drawn, BY_DRAWS),
    Rule(kinds.MeanPerUnit, (Layout.JUDGED,), judged.interval, judged.METHOD),
    Rule(kinds.Proportion, (Layout.INDEPENDENT,), interval_methods.wilson, "Wilson"),
    Rule(kinds.MeanPerUnit, (Layout.INDEPENDENT,), interval_methods.mean_of_arm, MEAN_OR_SHARE),
    Rule(kinds.Ratio, (Layout.INDEPENDENT,), interval_methods.ratio_of_arm, JACKKNIFE_OF_ARM),
    Rule(
        metric.TransformedMetric,
        (*ROW_LAYOUTS, *IN_TIME_ORDER),
        _transformed_interval,
        "the original's, transformed",
    ),
    Rule(MeanOverClasses, ROW_LAYOUTS, _mean_interval, MOVER_OF_PARTS),
    Rule(Harmonic, ROW_LAYOUTS, _harmonic_interval, MOVER_OF_PARTS),
    Rule(scores.Calibration, ROW_LAYOUTS, interval_methods.no_interval, "none"),
    Rule(kinds.Resampled, (*ROW_LAYOUTS, *IN_TIME_ORDER), row_bootstrap.interval, BOOTSTRAP),
    Rule(kinds.Loss, IN_TIME_ORDER, interval_methods.summed_mean, MEAN_OF_SERIES),
    Rule(MetricKind, IN_TIME_ORDER, interval_methods.delta_by_kurtosis, DELTA_OF_SERIES),
    Rule(
        scores.FunctionOfMeans,
        ROW_LAYOUTS,
        interval_methods.jackknife_or_delta,
        JACKKNIFE_OR_BOOTSTRAP_T,
        in_memory=True,
    ),
    Rule(
        (scores.FunctionOfMeans, kinds.RatioOfRows),
        ROW_LAYOUTS,
        interval_methods.delta_by_kurtosis,
        DELTA,
        in_memory=False,
    ),
    Rule(
        (kinds.Ratio, kinds.RatioOfRows),
        ROW_LAYOUTS,
        interval_methods.jackknife_by_kurtosis,
        JACKKNIFE,
    ),
    Rule(kinds.Loss, PLAIN_ROWS, interval_methods.mean_of_losses, MEAN_OR_SHARE, in_memory=True),
    Rule(kinds.Loss, PLAIN_ROWS, interval_methods.summed_mean, MEAN_OF_VALUES),
    Rule(
        kinds.Loss,
        UNIT_LAYOUTS,
        interval_methods.jackknife_by_kurtosis_or_delta,
        JACKKNIFE_BY_KURTOSIS,
        in_memory=True,
    ),
    Rule(kinds.MeanPerUnit, PLAIN_ROWS, interval_methods.mean, MEAN_OR_SHARE),
    Rule(kinds.MeanPerUnit, (Layout.CLUSTERED,), interval_methods.jackknife, JACKKNIFE),
    Rule(
        (kinds.MeanPerUnit, kinds.Loss, scores.Median), ROW_LAYOUTS, interval_methods.delta, DELTA
    ),
    Rule(kinds.ClassCoverage, ROW_LAYOUTS, _coverage_interval, COVERAGE_LIMITS),
    Rule(kinds.Agreement, PLAIN_ROWS, interval_methods.skewness_corrected_by_influence, HALL),
    Rule(kinds.Agreement, UNIT_LAYOUTS, interval_methods.ranged_t_by_unit, LOGIT_BY_UNIT),
    Rule(kinds.Smooth, UNIT_LAYOUTS, interval_methods.delta, DELTA, in_memory=False),
    Rule(kinds.Smooth, ROW_LAYOUTS, interval_methods.delta_by_kurtosis, DELTA_BY_KURTOSIS),
    Rule(scores.Gap, UNIT_LAYOUTS, interval_methods.gap_of_units, interval_methods.GAP),
    Rule(scores.Lift, UNIT_LAYOUTS, interval_methods.lift_of_units, LOGIT_BY_UNIT),
    Rule(scores.AtBaseRate, UNIT_LAYOUTS, interval_methods.at_base_rate_of_units, LOGIT_BY_UNIT),
    Rule(MetricKind, UNIT_LAYOUTS, interval_methods.ranged_t_by_unit, LOGIT_BY_UNIT),
    Rule(kinds.Share, PLAIN_ROWS, interval_methods.wilson, "Wilson"),
    Rule(scores.Area, PLAIN_ROWS, interval_methods.delong, DELONG_OR_NEWCOMBE),
    Rule(scores.AtBaseRate, PLAIN_ROWS, interval_methods.at_base_rate, LOGIT_BY_RARER_CLASS),
    Rule(scores.Order, PLAIN_ROWS, interval_methods.order_of_scores, RARE_POSITIVES),
    Rule(scores.Coefficient, PLAIN_ROWS, interval_methods.ranged_t_of_table, SANDWICH),
    Rule(scores.Skill, PLAIN_ROWS, interval_methods.skewness_corrected, HALL),
    Rule(scores.Gap, PLAIN_ROWS, interval_methods.gap, interval_methods.GAP),
    Rule(
        scores.Overlap,
        PLAIN_ROWS,
        interval_methods.overlap,
        "Wilson's limits of the Jaccard index, mapped",
    ),
    Rule(
        scores.MeanOfShares, PLAIN_ROWS, interval_methods.mean_of_shares, "MOVER of Wilson's limits"
    ),
    Rule(scores.Lift, PLAIN_ROWS, interval_methods.lift, MOVER_OF_LIFT),
    Rule(scores.TopRecall, PLAIN_ROWS, interval_methods.top_recall, MOVER_OF_LIFT),
    Rule(scores.TopPrecision, PLAIN_ROWS, interval_methods.top_precision, WILSON_OF_TOP_ROWS),
    Rule(scores.Depth, PLAIN_ROWS, interval_methods.lift_of_top_rows, MOVER_OF_LIFT),
    Rule(scores.RecallAtRate, PLAIN_ROWS, interval_methods.recall_at_rate, MOVER_AT_RATE),
    Rule(scores.FunctionOfRates, PLAIN_ROWS, interval_methods.function_of_rates, MOVER_OF_RATES),
    Rule(
        scores.Decision,
        PLAIN_ROWS,
        interval_methods.decision_with_half_rows,
        interval_methods.OF_CELLS,
    ),
)

WELCH_OF_ROWS = "Welch's t on the influence of each row"
WITH_A_ROW = "with one row more on which decisions differ"
WELCH_OF_DECISIONS = f"{WELCH_OF_ROWS}, {WITH_A_ROW}"
SCORE_TEST_OF_PRECISIONS = f"weighted generalised score test (Kosinski), {WITH_A_ROW}"
DELTA_BY_KISH = "delta method, on Kish's degrees of freedom"
WELCH_BY_CLASS = (
    f"{WELCH_OF_ROWS}, by class; where rows have several labels, or a class one row, "
    f"{DELTA_BY_KURTOSIS}"
)
DIEBOLD_MARIANO = (
    f"{methods.DIEBOLD_MARIANO} with the correction of Harvey, Leybourne and Newbold, "
    f"{AUTOCOVARIANCES}, with Bartlett's weights where it is not positive"
)
WELCH_OR_PERMUTATION = "Welch's t, the studentised permutation test if arms are skewed and unequal"
FLIPS_OF_UNITS = "sign flips of whole units"
FLIPS_OR_JACKKNIFE = f"{FLIPS_OF_UNITS}, {JACKKNIFE} if the denominators differ"
FLIPS_OR_DELTA = f"{FLIPS_OF_UNITS}, {DELTA} above 20,000 units"

TESTS: tuple[Rule[TestFunction], ...] = (
    Rule(MetricKind, (Layout.KNOWN,), methods.no_test, "none"),
    Rule(MetricKind, (Layout.FOLDS,), methods.two_folds, "Nadeau–Bengio's corrected t"),
    Rule(MetricKind, (Layout.DIVIDED,), methods.flips_of_sums, "sign flips of the units' sums"),
    Rule(kinds.MeanPerUnit, (Layout.DRAWN,), methods.two_drawn, BY_DRAWS),
    Rule(kinds.MeanPerUnit, (Layout.JUDGED,), judged.compare, judged.METHOD),
    Rule(
        kinds.Proportion,
        (Layout.INDEPENDENT,),
        methods.two_proportions,
        "the score test with its interval",
    ),
    Rule(kinds.MeanPerUnit, (Layout.INDEPENDENT,), methods.two_means, WELCH_OR_PERMUTATION),
    Rule(kinds.Ratio, (Layout.INDEPENDENT,), methods.two_ratios, JACKKNIFE),
    Rule(
        metric.TransformedMetric,
        (*ROW_LAYOUTS, *IN_TIME_ORDER),
        _transformed_test,
        "the original's",
    ),
    Rule(COMBINING, PLAIN_ROWS, methods.welch_or_kurtosis_t, WELCH_BY_CLASS),
    Rule(COMBINING, UNIT_LAYOUTS, methods.welch_or_kurtosis_t, DELTA_BY_KURTOSIS, in_memory=True),
    Rule(scores.Calibration, ROW_LAYOUTS, methods.no_test, "none"),
    Rule(kinds.Resampled, (*ROW_LAYOUTS, *IN_TIME_ORDER), row_bootstrap.test, BOOTSTRAP),
    Rule(MetricKind, IN_TIME_ORDER, methods.diebold_mariano, DIEBOLD_MARIANO),
    Rule(
        scores.FunctionOfMeans,
        ROW_LAYOUTS,
        methods.jackknife_t,
        f"{JACKKNIFE}, {DELTA} above 20,000 units",
        in_memory=True,
    ),
    Rule(
        (scores.FunctionOfMeans, kinds.RatioOfRows),
        ROW_LAYOUTS,
        methods.influence,
        DELTA,
        in_memory=False,
    ),
    Rule((kinds.Ratio, kinds.RatioOfRows), ROW_LAYOUTS, methods.flips_of_sums, FLIPS_OR_JACKKNIFE),
    Rule(
        kinds.Loss,
        PLAIN_ROWS,
        methods.losses,
        "sign flips, paired t above 20,000 rows",
        in_memory=True,
    ),
    Rule(kinds.Loss, PLAIN_ROWS, methods.paired_t, "paired t"),
    Rule(kinds.MeanPerUnit, PLAIN_ROWS, methods.sign_flip_test, "sign flips"),
    Rule(kinds.MeanPerUnit, (Layout.CLUSTERED,), methods.sign_flip_test, FLIPS_OF_UNITS),
    Rule(kinds.ClassCoverage, ROW_LAYOUTS, _coverage_test, "the test that inverts such limits"),
    Rule((kinds.OwnShare, kinds.Agreement), UNIT_LAYOUTS, methods.influence, DELTA_BY_KISH),
    Rule(
        (kinds.Share, kinds.Loss),
        (Layout.CLUSTERED,),
        methods.flips_or_influence,
        FLIPS_OR_DELTA,
        in_memory=True,
    ),
    Rule(kinds.Loss, (Layout.WEIGHTED,), methods.t_of_shared_units, DELTA),
    Rule(
        (kinds.MeanPerUnit, kinds.Loss, kinds.Smooth, scores.Median),
        ROW_LAYOUTS,
        methods.influence,
        DELTA,
    ),
    Rule(MetricKind, UNIT_LAYOUTS, methods.influence, DELTA_BY_KISH),
    Rule(kinds.OwnShare, PLAIN_ROWS, methods.predictive_values, SCORE_TEST_OF_PRECISIONS),
    Rule(kinds.Share, PLAIN_ROWS, methods.mcnemar, "McNemar's test with Tango's interval"),
    Rule(scores.Area, PLAIN_ROWS, methods.two_areas, "DeLong's variance, Welch's t"),
    Rule(
        (scores.AtBaseRate, scores.Skill, scores.Coefficient),
        PLAIN_ROWS,
        methods.welch,
        WELCH_OF_ROWS,
    ),
    Rule(scores.Depth, PLAIN_ROWS, methods.welch_or_kurtosis_t, DELTA_BY_KURTOSIS),
    Rule(
        scores.RecallAtRate,
        PLAIN_ROWS,
        compare_recalls_at_rate,
        "the test that inverts MOVER of both intervals, with their correlation",
    ),
    Rule(scores.Order, PLAIN_ROWS, methods.t_of_rows, "t on the influence of each row"),
    Rule(
        scores.Gap, PLAIN_ROWS, methods.two_gaps, f"{WELCH_OF_ROWS}, half a row added to each cell"
    ),
    Rule(
        (scores.Overlap, scores.MeanOfShares, scores.FunctionOfRates),
        PLAIN_ROWS,
        methods.welch_of_decisions,
        WELCH_OF_DECISIONS,
    ),
    Rule(
        scores.Lift, PLAIN_ROWS, methods.two_lifts, f"{SCORE_TEST_OF_PRECISIONS}, of the precision"
    ),
    Rule(
        scores.Decision,
        PLAIN_ROWS,
        methods.kurtosis_t_of_decisions,
        f"{DELTA_BY_KURTOSIS}, {WITH_A_ROW}",
    ),
)


@dataclass(frozen=True, eq=False)
class Method:
    """The interval and the test of a statistic; interval_is, test_is: their names on the page."""

    interval: IntervalFunction
    interval_is: str
    test: TestFunction
    test_is: str


NameOf = Callable[[Method], str]  # the name of the interval, or of the test
# for decisions at a threshold that is chosen again on each bootstrap sample, before any rule
RECHOSEN = Method(
    interval_methods.at_rechosen_threshold,
    f"t on the logit scale around Efron's .632 estimate, {ERROR_OF_SAMPLES}",
    methods.at_rechosen_threshold,
    f"t, {ERROR_OF_SAMPLES}",
)


def _first_fitting(
    rules: Iterable[Rule[MethodFunction]],
    kind: type[MetricKind],
    layout: Layout,
    *,
    in_memory: bool,
) -> Rule[MethodFunction]:
    """The first rule of a table that fits a kind and a layout; StopIteration if none does."""
    return next(rule for rule in rules if rule.fits(kind, layout, in_memory=in_memory))


@cache
def _method_of_kind(kind: type[MetricKind], layout: Layout, *, in_memory: bool) -> Method:
    """The method from the first interval rule and the first test rule that fit a kind."""
    interval = _first_fitting(INTERVALS, kind, layout, in_memory=in_memory)
    test = _first_fitting(TESTS, kind, layout, in_memory=in_memory)
    return Method(interval.function, interval.name, test.function, test.name)


def _method(kind: MetricKind, layout: Layout, *, in_memory: bool, rechosen: bool) -> Method:
    """The method of a kind of metric on a layout. It is apart from `method` because `method_names`
    names methods where there are no statistics yet. rechosen: True if bootstrap samples choose
    their own thresholds.
    """
    if rechosen and kind.moves_with_threshold:
        return RECHOSEN
    return _method_of_kind(type(kind), layout, in_memory=in_memory)


def method(statistic: Statistic) -> Method:
    """The interval and the test of a statistic, from the kind of its metric and the layout of its
    sample.
    """
    return _method(
        statistic.kind,
        statistic.layout,
        in_memory=statistic.in_memory,
        rechosen=statistic.rechooses_threshold,
    )


# the tests that may flip the signs of differences per unit
FLIPPING = (
    methods.sign_flip_test,
    methods.losses,
    methods.flips_or_t,
    methods.flips_or_influence,
    methods.flips_of_sums,
)


def flipped_differences(first: Statistic, second: Statistic) -> Floats | None:
    """The differences, one per unit, whose signs are flipped to compare two statistics; None if
    their test flips no signs or they share no units.
    """
    # of a transformed metric the original is tested
    first = first.untransformed_statistic()
    second = second.untransformed_statistic()
    if method(first).test not in FLIPPING or not first.shares_units_with(second):
        return None
    assert isinstance(first, TermStatistic)
    assert isinstance(second, TermStatistic)
    terms = first.term_differences(second)
    differences = terms.summed_by_unit(terms.defined, first.unit).numerator
    return differences if differences.size else None


def method_names(
    metrics: Iterable[MetricAtK],
    layout: Layout,
    name_of: NameOf,
    *,
    in_memory: bool = True,
    rechosen: bool = False,
) -> str:
    """The names of the methods of some metrics as text, "metric, metric: method; …", grouped by
    method.

    A metric that transforms another one has the method of the other one, and is named with it:
    "gini (as roc_auc)". name_of: gives the name of a method's interval, or of its test.

    The method of a metric depends on three facts of the sample. layout: whether rows are weighted,
    clustered or neither. in_memory: True if the values of every unit are known, False if only sums
    are. rechosen: True if thresholds are chosen again on each bootstrap sample.

    >>> from evalkit.catalogue.lookup import find_metric
    >>> metrics = [
    ...     find_metric(name, "counts") for name in ("recall", "roc_auc", "gini", "accuracy")
    ... ]
    >>> print(
    ...     method_names(metrics, Layout.PLAIN, lambda method: method.test_is).replace("; ", "\\n")
    ... )
    recall, accuracy: McNemar's test with Tango's interval
    roc_auc, gini (as roc_auc): DeLong's variance, Welch's t
    """
    labels_by_name: dict[str, list[str]] = {}
    for metric_at_k in metrics:
        base = metric_at_k.base
        label = metric_at_k.label
        if base is not metric_at_k:
            label = f"{label} (as {base.label})"
        method = _method(base.metric.kind, layout, in_memory=in_memory, rechosen=rechosen)
        labels_by_name.setdefault(name_of(method), []).append(label)
    return "; ".join(f"{', '.join(labels)}: {name}" for name, labels in labels_by_name.items())


LIFTS: dict[TestFunction, TestFunction] = {
    methods.two_means: methods.lift_of_means,
    methods.two_ratios: methods.lift_of_ratios,
    methods.two_proportions: methods.lift_of_shares,
}
DETECTABLE: dict[TestFunction, Callable[..., float]] = {
    methods.sign_flip_test: methods.detectable_by_pairs,
    methods.mcnemar: methods.detectable_by_decisions,
    methods.two_proportions: methods.detectable_by_shares,
    methods.two_means: methods.detectable_by_means,
}


def lift(first: Statistic, second: Statistic, options: Options) -> Comparison:
    """The comparison of first / second − 1, for statistics of two arms. Raise TypeError for systems
    on the same units, which have no such test.
    """
    lift_of = LIFTS.get(method(first).test, methods.no_lift)
    return lift_of(first, second, options)


def detectable(first: Statistic, second: Statistic, comparison: Comparison, level: float) -> float:
    """The smallest true difference that the test of this comparison shows at a level with 80%
    power; NaN if the difference is undefined.
    """
    if np.isnan(comparison.difference.value):
        return np.nan
    test = method(first.unadjusted()).test
    detectable_by = DETECTABLE.get(test, methods.detectable_by_width)
    return detectable_by(first, second, comparison, level)
