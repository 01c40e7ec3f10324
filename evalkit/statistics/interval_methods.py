"""The interval methods, each a function of a `Statistic`; `inference` chooses the one for a
metric.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evalkit.arrays import ratio
from evalkit.catalogue import kinds, score_kinds
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics import curves, influence
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import bootstrap, closed_forms, independent, intervals, significance
from evalkit.statistics.independent import Arm
from evalkit.statistics.intervals import Ends, Estimate, recovered
from evalkit.statistics.methods import (
    BY_RECHOSEN,
    DRAWN,
    JACKKNIFE,
    NONE,
    Options,
    ShareStatistic,
    sign_flips_of,
)
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import (
    KnownValue,
    Layout,
    NoisyUnitStatistic,
    RowStatistic,
    ScoreStatistic,
    SpreadStatistic,
    Statistic,
    TermStatistic,
    UnitStatistic,
)

OF_CELLS = "t on the logit scale of the range, half a row added to each cell"
BOYD = "t on the logit scale, with Boyd's binomial limits"
UNMOVED = "none (no row moves the value)"  # all influence values are 0
GAP = "Newcombe's limit above, a bootstrap over all thresholds below"
BOOTSTRAP_T = f"{JACKKNIFE}, with a bootstrap-t"
HALF_ROW = 0.5  # added to each cell
FEW_UNITS = 20  # below this many units the limits of functions of means allow for a bootstrap-t
# With fewer positives, and a share of positives below RARE_SHARE, average precision depends on the
# few negatives that score highest.
FEW_POSITIVES = 50
RARE_SHARE = 0.05
# The positives that belong to the negatives of the sample at the stated base rate: with fewer than
# this number, the interval of average precision does not keep its level.
ENOUGH_POSITIVES = 100


def t_on_range(
    statistic: Statistic,
    error: float,
    options: Options,
    *,
    freedom: float,
    n: int | None = None,
    ends: Ends | None = None,
    method: str = "",
) -> Estimate:
    """The value of a statistic with t limits from this standard error, on the logit scale of the
    metric's range (log scale for one bound, its own for none).

    freedom: the degrees of freedom of the error. n: the number of units, by default that of the
    statistic. ends: bounds in place of the metric's own. method: the name of the method, by default
    that of the scale. If both bounds are finite, an error of 0 or a value at a bound gives Wilson's
    limits of freedom + 1 units.
    """
    if n is None:
        n = statistic.n
    if ends is None:
        ends = statistic.metric.ends
    return closed_forms.t_within_range(
        statistic.value,
        error,
        freedom=freedom,
        n=n,
        level=options.level,
        ends=ends,
        method=method,
    )


def no_interval(statistic: Statistic, options: Options, method: str = NONE) -> Estimate:
    """The value with limits of NaN. method: the reason; by default that the metric is biased upward
    in every sample, so that no interval keeps its level.
    """
    return Estimate.without_limits(statistic.value, options.level, statistic.n, method)


def stated_estimate(statistic: KnownValue, options: Options) -> Estimate:
    """The estimate that an earlier report states, as it is."""
    return statistic.estimate


# Means and ratios of sums -------------------------------------------------------------------------


def wilson(statistic: ShareStatistic | RowStatistic, options: Options) -> Estimate:
    """A share with Wilson's interval."""
    hits, n = statistic.hits()
    return intervals.wilson(hits, n, level=options.level)


def mean(statistic: TermStatistic, options: Options) -> Estimate:
    """The mean of one value per unit with the interval of `intervals.mean`, over the units for
    which the value is defined.
    """
    sums = statistic.sums
    values = sums.numerator[sums.defined]
    return intervals.mean(values, level=options.level, ends=statistic.metric.ends)


def mean_of_drawn(statistic: NoisyUnitStatistic, options: Options) -> Estimate:
    """The mean over fixed units, each measured by several random draws: the error is that of the
    draws, and another sample of units is not considered.
    """
    error = statistic.error_on(statistic.sums.defined)
    return t_on_range(statistic, error, options, freedom=statistic.freedom, method=DRAWN)


def mean_of_arm(statistic: UnitStatistic, options: Options) -> Estimate:
    """The mean of one arm of an experiment; without limits if all values are equal, for example
    revenues of 0. Equal values do not say how large an amount without an upper bound may be.
    """
    values = statistic.sums.numerator[statistic.sums.defined]
    if values.size and np.ptp(values) == 0:
        return no_interval(statistic, options, UNMOVED)
    return mean(statistic, options)


def mean_of_losses(statistic: TermStatistic, options: Options) -> Estimate:
    """The mean of a loss per row, with the interval of `intervals.mean_of_losses`, which allows for
    wrong predictions of 0 or 1.
    """
    metric = statistic.metric
    kind = metric.kind
    assert isinstance(kind, kinds.Loss)
    losses = statistic.sums.numerator[statistic.sums.defined]
    return intervals.mean_of_losses(losses, worst=kind.worst, level=options.level, ends=metric.ends)


def summed_mean(statistic: SpreadStatistic, options: Options) -> Estimate:
    """The mean with the interval that its spread gives, where sums replace the units' values."""
    ends = statistic.metric.ends
    return intervals.of_spread(statistic.value, statistic.spread, level=options.level, ends=ends)


def mean_of_table(metric_at_k: MetricAtK, table: Counts, *, level: float) -> Estimate:
    """The mean of a loss of scores, such as log loss, with the interval of `intervals.of_spread`,
    from a table of the numbers of positive and of negative rows (unweighted) with each score.
    """
    kind = metric_at_k.metric.kind
    assert isinstance(kind, kinds.Loss)
    # one row per class and threshold, and how many rows of the table are like it
    label = np.repeat([1, 0], len(table.threshold))
    score = np.tile(table.threshold, 2)
    frequency = np.concatenate([table.positive, table.negative]).astype(np.float64)
    loss = kind.per_row(Rows(label, score), metric_at_k.k)
    value = kind.value_at(table, threshold=np.nan)  # a loss of scores has no threshold
    spread = Spread.from_influence((loss - value) / table.total, frequency=frequency)
    return intervals.of_spread(value, spread, level=level, ends=metric_at_k.metric.ends)


def jackknife(
    statistic: TermStatistic,
    options: Options,
    *,
    by_kurtosis: bool = False,
    ends: Ends | None = None,
) -> Estimate:
    """A ratio of sums over units with the jackknife's error: t on Kish's degrees of freedom, on the
    logit or log scale of the metric's range.

    by_kurtosis: True to reduce the degrees of freedom by the kurtosis of the influence values, for
    samples in which a few units may carry most of the variance. ends: bounds in place of those of
    the metric.
    """
    sums = statistic.sums
    sums_of_units = sums.summed_by_unit(sums.defined, statistic.unit)
    ratio_of_sums = independent.arm_of_ratio(sums_of_units)
    spread = ratio_of_sums.spread
    freedom = ratio_of_sums.freedom
    if by_kurtosis:
        freedom = spread.kurtosis_freedom(freedom)
    return t_on_range(
        statistic,
        spread.error,
        options,
        freedom=freedom,
        n=ratio_of_sums.n,
        ends=ends,
        method=JACKKNIFE,
    )


def ratio_of_arm(statistic: UnitStatistic, options: Options) -> Estimate:
    """`jackknife_by_kurtosis` for one arm of an experiment, on the logit or log scale of the
    metric's range. If the metric states no range, it follows from the data: it begins at 0 if no
    sum is negative, and then ends at 1 if no numerator exceeds its denominator.

    In simulations with heavy users, 95% intervals covered 89 to 95% without a transformation, 93 to
    97% on the log scale.
    """
    numerator = statistic.sums.numerator
    denominator = statistic.sums.size
    ends = statistic.metric.ends
    has_no_range = np.isinf(ends).all()
    never_negative = min(numerator.min(), denominator.min()) >= 0
    if has_no_range and never_negative:
        ends = (0.0, np.inf)
        is_share = bool((numerator <= denominator).all())
        if is_share and 0 < statistic.value < 1:  # at 0 or 1 the logit does not exist
            ends = (0.0, 1.0)
    return jackknife(statistic, options, by_kurtosis=True, ends=ends)


def jackknife_by_kurtosis(statistic: TermStatistic, options: Options) -> Estimate:
    """`jackknife`, with fewer degrees of freedom if a few units carry most of the variance."""
    return jackknife(statistic, options, by_kurtosis=True)


def arm_within(arm: Arm, low: float, high: float, *, level: float) -> Estimate:
    """The value of an arm, a ratio of sums within a range, with the jackknife's limits on the logit
    or log scale; NaN without units.
    """
    freedom = arm.spread.kurtosis_freedom(arm.freedom) if arm.n else 0.0
    return closed_forms.t_within_range(
        arm.value, arm.spread.error, freedom=freedom, n=arm.n, level=level, ends=(low, high)
    )


def jackknife_by_kurtosis_or_delta(statistic: RowStatistic, options: Options) -> Estimate:
    """`jackknife_by_kurtosis`, or `delta` above 20,000 units (`limits.flipped`), where both
    agree.
    """
    if statistic.n > options.limits.flipped:
        return delta(statistic, options)
    return jackknife_by_kurtosis(statistic, options)


def divided(statistic: UnitStatistic, options: Options) -> Estimate:
    """The share of one of two systems that divide each unit's total between them, with limits from
    the sign-flip interval of their difference.

    The other system has the rest, so that the difference is 2 · share − 1 and a limit of the share
    is (1 + limit of the difference) / 2: share and difference cannot contradict each other. Above
    20,000 units (`limits.flipped`) the jackknife is used, which is then as good and faster.
    """
    if statistic.n > options.limits.flipped:
        return jackknife(statistic, options)
    sums = statistic.sums
    total = sums.size  # of both systems, by unit: the denominators of the share
    # numerator − (total − numerator): what this system has more than the other
    terms = Sums(2 * sums.numerator - total, sums.denominator)
    difference = sign_flips_of(terms, statistic.unit, options).difference
    low = (1 + difference.low) / 2
    high = (1 + difference.high) / 2
    return replace(difference, value=statistic.value, low=low, high=high)


def mean_over_folds(statistic: UnitStatistic, options: Options) -> Estimate:
    """The mean over folds of cross-validation with Nadeau and Bengio's interval, which allows for
    the training rows that folds share.
    """
    values = statistic.sums.per_unit[statistic.sums.defined]
    # only the quotient of both numbers of rows matters; the "difference" is that from 0
    corrected = significance.nadeau_bengio(
        values, train=1, test=options.test_to_train, level=options.level
    )
    return corrected.difference


# By influence values ------------------------------------------------------------------------------


def delta(statistic: SpreadStatistic, options: Options) -> Estimate:
    """The delta method: t from the influence of each row or unit on the metric, on the logit or log
    scale of its range.
    """
    return t_on_range(
        statistic,
        statistic.spread.error,
        options,
        freedom=max(statistic.freedom, 1.0),
        method=statistic.error_method,
    )


def ranged_t_by_unit(statistic: SpreadStatistic, options: Options) -> Estimate:
    """t from the influence values of units, on Kish's degrees of freedom and the logit or log scale
    of the metric's range.
    """
    error = statistic.spread.error
    return t_on_range(statistic, error, options, freedom=_kish_freedom(statistic))


def _kish_freedom(statistic: SpreadStatistic) -> float:
    """Kish's degrees of freedom, raised to 1 if they lie between 0 and 1; without any (0 or below)
    there is no interval.
    """
    freedom = statistic.freedom
    return max(freedom, 1.0) if freedom > 0 else freedom


def at_rechosen_threshold(statistic: RowStatistic, options: Options) -> Estimate:
    """The observed value of a metric at a threshold that was chosen on the same rows. The t limits
    are those of the value expected on new rows, as the observed one is too good on average. A limit
    that does not enclose the observed value is moved to it.

    The standard error comes from bootstrap samples, on each of which the threshold is chosen again.
    It is at least that at the fixed threshold: if the threshold is chosen for a given recall, for
    example, recall hardly varies over the samples. If the value is at an end of the range, for
    example because every row above the threshold is a hit, it varies in few samples or in none:
    then the limits are no closer than Wilson's.
    """
    ends = statistic.metric.ends
    error_at_fixed = statistic.spread.error
    error_by_samples = np.nanstd(statistic.bootstrap_values)
    # fmax ignores NaN, the standard deviation if no sample has a value
    larger_error = float(np.fmax(error_at_fixed, error_by_samples))
    on_new_rows = closed_forms.t_within_range(
        statistic.value_on_new_rows,
        larger_error,
        freedom=_kish_freedom(statistic),
        n=statistic.n,
        level=options.level,
        ends=ends,
        method=BY_RECHOSEN,
    )
    estimate = on_new_rows.extended_to(statistic.value)
    if statistic.value not in ends:
        return estimate
    # With an error of 0 `t_on_range` gives Wilson's limits of freedom + 1 units: here of Kish's
    # number of the smallest group of rows that the metric depends on, such as the positives.
    wilson_limits = t_on_range(statistic, 0.0, options, freedom=statistic.fewest_units - 1)
    return estimate.no_closer_than(wilson_limits)


def delta_by_kurtosis(statistic: SpreadStatistic, options: Options) -> Estimate:
    """The delta method with degrees of freedom reduced by the kurtosis of the influence values, for
    metrics whose variance may come from a few rows.

    A metric whose kind is `joint`, such as R², is a smooth function of means. Its scale is the
    logarithm of the distance to the upper bound, on which R² is nearly symmetric. Other metrics use
    the scale of their range. If the spread holds no fourth powers of the influence values, this is
    `delta`.
    """
    spread = statistic.spread
    metric = statistic.metric
    if np.isnan(spread.standardised_power(4)):  # fourth powers are not known
        return delta(statistic, options)
    low = metric.low
    if metric.kind.joint:
        low = -np.inf  # only the distance to the upper bound then makes the scale
    return t_on_range(
        statistic,
        spread.error,
        options,
        freedom=spread.kurtosis_freedom(statistic.freedom),
        ends=(low, metric.high),
        method=statistic.error_method,
    )


def jackknife_or_delta(statistic: RowStatistic, options: Options) -> Estimate:
    """t with the jackknife's error on the logarithm of the distance to the upper bound, for smooth
    functions of means, such as R²: the delta method underestimates the error with few units.

    `delta_by_kurtosis` takes its place in three cases: for a single unit; above `limits.flipped`
    units (20,000), where both agree; and if the metric without one unit is undefined or at the
    bound, where the logarithm does not exist. For clustered or weighted rows of fewer than
    FEW_UNITS units the limits are no closer than those of a bootstrap-t.
    """
    if statistic.n > options.limits.flipped:
        return delta_by_kurtosis(statistic, options)
    high = statistic.metric.high
    with np.errstate(divide="ignore", invalid="ignore"):
        log_distance = np.log(high - statistic.leave_one_out_values())
    if log_distance.size < 2 or not np.isfinite(log_distance).all():
        return delta_by_kurtosis(statistic, options)
    kish_number = statistic.freedom + 1  # of effective units
    spread = Spread.from_jackknife(log_distance, kish_number)
    estimate = t_on_range(
        statistic,
        # the error of the logarithm, times the distance, is that of the value (delta method)
        (high - statistic.value) * spread.error,
        options,
        freedom=spread.kurtosis_freedom(statistic.freedom),
        ends=(-np.inf, high),
        method=JACKKNIFE,
    )
    if statistic.n < FEW_UNITS and statistic.layout is not Layout.PLAIN:
        return _with_bootstrap_t(estimate, statistic, options)
    return estimate


def _with_bootstrap_t(estimate: Estimate, statistic: RowStatistic, options: Options) -> Estimate:
    """The estimate with its limits widened to those of a bootstrap-t where these are farther.

    t takes value and estimated variance as independent. In samples of few units the two depend on
    each other, and a bootstrap-t repeats the dependence in each of its samples.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.FunctionOfMeans)
    terms = statistic.unit_terms  # (terms, units)
    # units sorted by their first term, then the next, so that their order changes no sample
    sorted_terms = terms[:, np.lexsort(terms[::-1])]
    limits = bootstrap.t_limits(
        sorted_terms,
        kind.function,
        high=statistic.metric.high,
        rng=options.rng,
        level=options.level,
        resamples=options.limits.resamples,
    )
    wider = replace(estimate, low=limits.low, high=limits.high)
    return estimate.no_closer_than(wider, BOOTSTRAP_T)


def skewness_corrected_by_influence(statistic: SpreadStatistic, options: Options) -> Estimate:
    """The value with Hall's interval; without limits if all influence values are 0 although the
    value is inside the metric's range, for example if all rows have one class.
    """
    spread = statistic.spread
    metric = statistic.metric
    if spread.error == 0 and metric.low < statistic.value < metric.high:
        return no_interval(statistic, options, UNMOVED)
    return intervals.hall(
        statistic.value, spread.error, spread.skewness, n=statistic.n, level=options.level
    )


# From tables of unweighted rows ---------------------------------------------------------------


def delong(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The area under the ROC curve with the interval of `closed_forms.auc_interval` from DeLong's
    standard error: normal on the logit scale, or Newcombe's for small classes.
    """
    table = statistic.tables.midpoint_counts  # at or above each score, or the middle of its bin
    area = statistic.value
    error = float(np.sqrt(influence.auc_variance(table, area)))
    return closed_forms.auc_interval(
        area, error, table.positives, table.negatives, level=options.level
    )


def ranged_t_of_table(statistic: ScoreStatistic, options: Options) -> Estimate:
    """t on the logit or log scale of the metric's range, for unweighted rows, on as many degrees of
    freedom as the rarer class has rows, less 1: that class decides how well the error is known.
    """
    table = statistic.tables.counts  # at or above each score
    freedom = min(table.positives, table.negatives) - 1
    error = statistic.table_spread.error
    return t_on_range(statistic, error, options, freedom=freedom, n=int(table.total))


def order_of_scores(statistic: ScoreStatistic, options: Options) -> Estimate:
    """A metric of the order of scores with the interval of `ranged_t_of_table`. For average
    precision with few, rare positives it is widened to contain Boyd's binomial interval around the
    bias-corrected value.

    If positives are rare, the few negatives that score above them decide. Most samples contain no
    such negative, and their influence values and error are then too small. Boyd, Eng, Page 2013,
    doi:10.1007/978-3-642-40994-3_29.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.Order)
    estimate = ranged_t_of_table(statistic, options)
    if not kind.biased:  # of the metrics of the order of scores only average precision is
        return estimate
    table = statistic.tables.counts  # at or above each score
    # a single positive has neither a known bias nor, on 0 degrees of freedom, Boyd's limits
    rare = 1 < table.positives < min(FEW_POSITIVES, RARE_SHARE * table.total)
    if not rare or not 0 < statistic.value < 1:  # at 0 or 1 there is no bias to correct
        return estimate
    unbiased = statistic.value - influence.average_precision_bias(table)
    boyd = closed_forms.binomial_logit(unbiased, table.positives, level=options.level)
    return estimate.no_closer_than(boyd, BOYD)


def lift_of_units(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The lift with the interval of `ranged_t_by_unit`, cut at the largest possible lift: a
    precision of 1 / the lower limit of the base rate.
    """
    estimate = ranged_t_by_unit(statistic, options)
    decisions = statistic.tables.decision_counts  # counts of the decisions at the threshold
    units = statistic.freedom + 1  # Kish's number
    base_rate = float(ratio(decisions.positives, decisions.total))
    base_limits = intervals.wilson(base_rate * units, units, level=options.level)
    largest_lift = float(ratio(1.0, base_limits.low))
    return replace(estimate, high=min(estimate.high, largest_lift))


def skewness_corrected(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The value with the interval of `intervals.of_spread`, which corrects t for skewness, for
    unweighted rows.
    """
    return intervals.of_spread(statistic.value, statistic.table_spread, level=options.level)


def decision_with_half_rows(statistic: ScoreStatistic, options: Options) -> Estimate:
    """A metric of decisions, such as MCC, with t on the logit scale of its range, after half a row
    has been added to each cell of the 2 × 2 table of decisions.

    The half rows keep the interval from having no width if there are few predictions, or none; the
    limits are extended to the value itself if necessary. The degrees of freedom follow from the
    kurtosis of the cells' influence values.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.Decision)
    decisions = statistic.tables.decision_counts  # counts of the decisions at the threshold
    # the first element counts rows predicted positive, the second the others
    tp, fn = decisions.positive + HALF_ROW
    fp, tn = decisions.negative + HALF_ROW
    padded = Counts.from_columns(decisions.threshold, np.cumsum([tp, fn]), np.cumsum([fp, tn]))
    influence_of_cell = np.ravel(kind.influence_table(padded))  # in the order TP, FN, FP, TN
    spread = Spread.from_influence(influence_of_cell, frequency=np.array([tp, fn, fp, tn]))
    estimate = closed_forms.t_within_range(
        kind.value_of_table(padded),
        spread.error,
        freedom=spread.kurtosis_freedom(padded.total - 1),
        n=int(decisions.total),
        level=options.level,
        ends=statistic.metric.ends,
        method=OF_CELLS,
    )
    return estimate.extended_to(statistic.value)


def overlap(statistic: ScoreStatistic, options: Options) -> Estimate:
    """F-beta or the Jaccard index with the interval of `closed_forms.overlap`, by MOVER from the
    Wilson limits of two shares.

    Both metrics are times · TP / (times · TP + weight · FN + FP). F-beta has times = 1 + β² and
    weight = β², the Jaccard index has 1 for both.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.Overlap)
    decisions = statistic.tables.decision_counts  # counts of the decisions at the threshold
    tp, fn = decisions.positive  # of rows predicted positive, and of the others
    fp, _ = decisions.negative
    estimate = closed_forms.overlap(
        hits=tp, missed=fn, false=fp, weight=kind.weight, times=kind.times, level=options.level
    )
    return replace(estimate, n=int(decisions.total))


def mean_of_shares(statistic: RowStatistic, options: Options) -> Estimate:
    """The unweighted mean of shares of disjoint sets of rows, such as balanced accuracy, by MOVER
    from Wilson's limits of each share.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.MeanOfShares)
    # disjoint rows: zeros in place of influence values mean no correlation
    uncorrelated = np.zeros(1)
    weight = 1 / len(kind.shares)
    parts = []
    for share in kind.shares:
        estimate = wilson(replace(statistic, metric_at_k=MetricAtK(share)), options)
        parts.append(closed_forms.WeightedEstimate(weight, estimate, uncorrelated))
    n = int(statistic.tables.decision_counts.total)
    return closed_forms.mover_sum(parts, n=n, level=options.level)


def gap(statistic: ScoreStatistic, options: Options, rows_per_weight: float = 1.0) -> Estimate:
    """The largest distance between recall and false positive rate over all thresholds (KS), with a
    conservative interval. The sample value is too large on average, as its threshold is chosen.

    The upper limit takes the threshold as given: it is Newcombe's for the distance there (MOVER
    from Wilson's limits of both rates), and rather too large, like the value. The lower limit is
    the value less what chance and the choice of the threshold may add to the distance: a quantile
    of bootstrap samples.

    rows_per_weight: the number of independent rows that a weight of 1 represents.
    """
    table = statistic.tables.counts  # at or above each score
    widest, sign = influence.widest_gap(table)  # its threshold's number; sign of TPR − FPR there
    # at least 2, as small weights may round to no row, of which there is no rate
    positives = max(round(table.positives * rows_per_weight), 2)
    negatives = max(round(table.negatives * rows_per_weight), 2)
    recall = float(ratio(table.tp[widest], table.tp[-1]))
    fall_out = float(ratio(table.fp[widest], table.fp[-1]))
    larger = _wilson_of_rate(recall, positives, options.level)
    smaller = _wilson_of_rate(fall_out, negatives, options.level)
    if sign < 0:
        larger, smaller = smaller, larger
    # by how much the distance rises at some threshold: in (1 − level) / 2 of the resamples by more
    rise_by_chance = bootstrap.largest_rise(
        table,
        positives=positives,
        negatives=negatives,
        sign=sign,
        rng=options.rng,
        share=(1 + options.level) / 2,
        resamples=options.limits.resamples,
    )
    value = statistic.value
    # reversed: the distance to the lower limit of the smaller rate is how far it raises the gap
    limits = recovered(value, larger.reach, smaller.reach[::-1])
    low = float(max(value - rise_by_chance, 0.0))
    return Estimate(value, low, min(limits.high, 1.0), options.level, statistic.n, GAP)


def _wilson_of_rate(rate: float, rows: int, level: float) -> Estimate:
    """A rate, of so many rows, with Wilson's interval."""
    hits = min(rate * rows, rows)  # rounding error may lift it above the rows
    return intervals.wilson(hits, rows, level=level)


def gap_of_units(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The largest distance between recall and false positive rate over all thresholds (KS) of
    clustered or weighted rows, with the interval of `gap` for so many independent rows that the
    distance at the chosen threshold has the same variance.
    """
    table = statistic.tables.counts  # at or above each score
    error = statistic.spread.error
    sizes = np.array([table.positives, table.negatives])
    if error > 0:
        widest, _ = influence.widest_gap(table)
        recall = ratio(table.tp[widest], table.positives)
        fall_out = ratio(table.fp[widest], table.negatives)
        rates = np.array([recall, fall_out])
        # if each weight of 1 were an independent row
        variance_of_rate = rates * (1 - rates) / sizes
        independent_variance = variance_of_rate.sum()
        rows_per_weight = float(ratio(independent_variance, error**2))
    else:  # no variance to compare with: the rarer class counts as Kish's number of units
        rows_per_weight = (statistic.freedom + 1) / sizes.min()
    return gap(statistic, options, rows_per_weight)


def at_base_rate(
    statistic: ScoreStatistic,
    options: Options,
    interval_of: Callable[[ScoreStatistic, Options], Estimate] = ranged_t_of_table,
) -> Estimate:
    """A metric at a stated base rate with the interval of `interval_of`; without limits if the
    sample has too few negatives.

    At a low base rate the few negatives that score highest decide, and the sample must have enough
    negatives to tell how these few vary. It has enough if a table with as many negatives, at the
    stated base rate, would have at least ENOUGH_POSITIVES positives. A base rate that is not below
    the sample's asks for no more than the sample's own interval would, and is not checked.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.AtBaseRate)
    table = statistic.tables.counts  # at or above each score
    # as many as belong to the sample's negatives at the stated base rate
    positives = kind.positives_of(table)
    not_below_sample = positives >= table.positives  # the stated base rate, beside the sample's
    if positives >= ENOUGH_POSITIVES or not_below_sample:
        return interval_of(statistic, options)
    return no_interval(statistic, options)


def at_base_rate_of_units(statistic: ScoreStatistic, options: Options) -> Estimate:
    """`at_base_rate` for clustered or weighted rows."""
    return at_base_rate(statistic, options, ranged_t_by_unit)


class PickedRows(NamedTuple):
    """The rows above a cut-off, which a metric selects: the positives among them (hits), and their
    number. table: the counts of all rows.

    share_near_cut_off: the share of positives among the rows with scores near the cut-off, which
    may be selected in one sample and not in another.
    """

    hits: float
    rows: float
    share_near_cut_off: float
    table: Counts


def _picked(statistic: ScoreStatistic) -> PickedRows:
    """The rows that a metric selects: the highest-scored ones (`Depth`), or the ones predicted
    positive (`Lift`).
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.Lift | score_kinds.Depth)
    table = kind.score_table(statistic.tables)
    picked = kind.selected_rows(table)
    return PickedRows(
        picked.hits, picked.rows, share_near_cut_off=picked.share_near_cut_off, table=table
    )


def lift(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The lift of the rows that the metric selects, by a threshold or as the highest-scored ones,
    with the interval of `closed_forms.lift`, from Wilson's limits of precision and base rate.
    """
    picked = _picked(statistic)
    return closed_forms.lift(
        picked.hits,
        picked=picked.rows,
        positives=picked.table.positives,
        total=picked.table.total,
        share_near_cut_off=picked.share_near_cut_off,
        level=options.level,
    )


def lift_of_top_rows(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The lift of the rows with the highest scores. Its limits follow from those of the precision
    (`lift`) unless more rows are selected than there are positives: then from those of the recall.

    Precision is a share of the selected rows, recall one of the positives: the share of fewer rows
    has most of the error.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.Depth)
    picked = _picked(statistic)
    table = picked.table
    if table.positives >= picked.rows:
        return lift(statistic, options)
    return closed_forms.lift_of_few(
        picked.hits,
        positives=table.positives,
        depth=kind.share(table),
        share_near_cut_off=picked.share_near_cut_off,
        n=int(table.total),
        level=options.level,
    )


def top_recall(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The recall of the rows with the highest scores, which is their lift times their share of all
    rows: with the limits of `lift_of_top_rows` times this share, at most 1.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.TopRecall)
    lifted = lift_of_top_rows(statistic, options)
    share = kind.share(kind.score_table(statistic.tables))
    high = min(lifted.high * share, 1.0)
    return replace(lifted, value=statistic.value, low=lifted.low * share, high=high)


def top_precision(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The precision of the rows with the highest scores, with Wilson's limits, which allow for rows
    that enter and leave at the cut-off from sample to sample.
    """
    picked = _picked(statistic)
    total = picked.table.total
    estimate = closed_forms.precision_of_picked(
        picked.hits,
        picked=picked.rows,
        total=total,
        share_near_cut_off=picked.share_near_cut_off,
        level=options.level,
    )
    # Wilson's limits come with a number of effective rows: n is that of all rows
    return replace(estimate, value=statistic.value, n=int(total))


def recall_at_rate(statistic: ScoreStatistic, options: Options) -> Estimate:
    """The recall at a false positive rate. MOVER combines two independent errors: that of the
    recall, from the positives (Wilson's limits), and that of the threshold, from the negatives (the
    recall at Wilson's limits of the rate).

    The true threshold of this rate lies between the scores of two negatives of the sample, anywhere
    between them. The value takes the lower of the two scores, which gives the larger recall. The
    lower limit takes the higher score, one negative less: its rate is Wilson's lower limit less
    1 / negatives. If this is below 0, as with few expected false positives, the recall may be as
    low as 0.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.RecallAtRate)
    table = kind.score_table(statistic.tables)
    value = statistic.value
    recall = intervals.wilson(value * table.positives, table.positives, level=options.level)
    rate = intervals.wilson(kind.rate * table.negatives, table.negatives, level=options.level)
    lowest_rate = float(rate.low - ratio(1.0, table.negatives))  # with one negative less
    rates = [max(lowest_rate, 0.0), rate.high]
    lowest_recall, highest_recall = curves.recall_at_rate(table, rates)
    if lowest_rate < 0:
        lowest_recall = 0.0
    reach_of_rate = np.array([value - lowest_recall, highest_recall - value])
    low, high = intervals.recovered(value, recall.reach, reach_of_rate)
    return Estimate(value, low, high, options.level, int(table.total), closed_forms.MOVER)


def function_of_rates(statistic: ScoreStatistic, options: Options) -> Estimate:
    """A metric from 0 to 1 that rises with recall and falls with the false positive rate, such as
    precision at a stated base rate, with limits by MOVER from Wilson's of both rates.

    The two rates are independent, because they are shares of different rows: the positives and the
    negatives.
    """
    kind = statistic.kind
    assert isinstance(kind, score_kinds.FunctionOfRates)
    decisions = statistic.tables.decision_counts  # counts of the decisions at the threshold
    # the first element counts rows predicted positive, the last one all rows
    recall = intervals.wilson(decisions.tp[0], decisions.tp[-1], level=options.level)
    fall_out = intervals.wilson(decisions.fp[0], decisions.fp[-1], level=options.level)
    value = kind.rates(recall.value, fall_out.value)
    # the metric if one rate goes to its limits and the other stays
    low_by_recall = kind.rates(recall.low, fall_out.value)
    high_by_recall = kind.rates(recall.high, fall_out.value)
    low_by_fall_out = kind.rates(recall.value, fall_out.high)
    high_by_fall_out = kind.rates(recall.value, fall_out.low)
    reach_of_recall = np.array([value - low_by_recall, high_by_recall - value])
    reach_of_fall_out = np.array([value - low_by_fall_out, high_by_fall_out - value])
    limits = recovered(value, reach_of_recall, reach_of_fall_out)
    return Estimate(
        statistic.value,
        max(limits.low, 0.0),
        min(limits.high, 1.0),
        options.level,
        int(decisions.total),
        closed_forms.MOVER,
    )
