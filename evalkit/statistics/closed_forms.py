"""Intervals in closed form: Student's t on the logit scale, and limits combined from those of
shares (MOVER).

None of them resamples, so they are the same for rows in memory and for sums over blocks.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from evalkit.arrays import Floats, InputError, ratio
from evalkit.statistics.intervals import (
    Ends,
    Estimate,
    check_level,
    mover_distance,
    normal_quantile,
    recovered,
    t_quantile,
    wilson,
)
from evalkit.statistics.spread import Interval, bisect

# the method of `t_within_range` by the number of infinite ends of the range
SCALES = {0: "t on the logit scale", 1: "t on the log scale", 2: "t"}
OVERLAP = "Wilson of the Jaccard index, mapped"
MOVER = "MOVER"
# the largest step on a log scale: e^100 is as good as infinite, and no overflow
FARTHEST_STEP = 100.0


def t_within_range(
    value: float,
    error: float,
    *,
    freedom: float,
    n: int,
    level: float,
    ends: Ends = (0.0, 1.0),
    method: str = "",
) -> Estimate:
    """A value with t limits on the logit scale of its range `ends`: on the log scale of the
    distance from the bound if only one is finite, untransformed if none is.

    error, freedom: the standard error on the untransformed scale and its degrees of freedom; the
    delta method carries it to the scale, on which limits stay inside the range. n: the number of
    units, which the result only reports. method: what it is called, by default by its scale.

    In a range with two finite ends Wilson's limits of freedom + 1 units are used if the value lies
    at an end or the error is 0. In a range with an infinite end the interval has no width if the
    error is 0 or the value lies at the other end. NaN limits if freedom is 0 or below.

    >>> e = t_within_range(0.9, 0.02, freedom=50.0, n=1000, level=0.95)
    >>> round(e.low, 4), round(e.high, 4)
    (0.8521, 0.9336)
    >>> e = t_within_range(1.0, 0.0, freedom=9.0, n=1000, level=0.95)
    >>> round(e.low, 4), e.high
    (0.7225, 1.0)
    """
    check_level(level)
    low, high = ends
    width = high - low
    infinite_ends = int(np.isinf(ends).sum())
    method = method or SCALES[infinite_ends]
    if np.isnan(value) or np.isnan(error) or freedom <= 0:
        return Estimate.without_limits(value, level, n, method)
    if infinite_ends == 0 and (error == 0 or value in (low, high)):
        units = freedom + 1
        # as if so many units lay at the upper end of the range, and the others at the lower end
        units_at_high = (value - low) / width * units
        share = wilson(units_at_high, units, level=level)
        lower_limit = float(low + width * share.low)
        upper_limit = float(low + width * share.high)
        return Estimate(float(value), lower_limit, upper_limit, level, int(n), "Wilson")
    half_width = t_quantile(level, freedom) * error
    limits = _limits_on_scale(float(value), half_width, low, high)
    return Estimate(float(value), limits.low, limits.high, level, int(n), method)


def _limits_on_scale(value: float, half_width: float, low: float, high: float) -> Interval:
    """Value ± half_width, an interval on the untransformed scale, recomputed on the logit or log
    scale of the range and mapped back. At an end of the range both limits are the value.
    """
    below = value - low
    above = high - value
    if np.isinf(below) and np.isinf(above):  # no bound, no transformation
        return Interval(float(value - half_width), float(value + half_width))
    if not (below > 0 and above > 0):
        return Interval(float(value), float(value))
    # the derivative of the scale, log(below) − log(above); an infinite distance adds nothing
    slope = 1 / below + 1 / above
    step = min(half_width * slope, FARTHEST_STEP)
    return Interval(
        low=_moved_on_scale(value, -step, low, high), high=_moved_on_scale(value, step, low, high)
    )


def _moved_on_scale(value: float, step: float, low: float, high: float) -> float:
    """The x with scale(x) = scale(value) + step, in which the scale of the range from `low` to
    `high` is log(x − low), −log(high − x), or the logit, which is their sum.
    """
    below = value - low
    above = high - value
    if np.isinf(high):
        moved = low + below * np.exp(step)
    elif np.isinf(low):
        moved = high - above * np.exp(-step)
    else:
        odds_against = above / below * np.exp(-step)
        moved = low + (high - low) / (1 + odds_against)
    return float(moved)


def binomial_logit(value: float, positives: float, *, level: float) -> Estimate:
    """Average precision AP of a sample with P positives with Boyd's binomial limits,
    logit(AP) ± t / √(P · AP · (1 − AP)), t on P − 1 degrees of freedom.

    A value at or below 0, from which a bias was taken, counts as a tenth of a positive. Boyd, Eng,
    Page 2013, doi:10.1007/978-3-642-40994-3_29.

    >>> e = binomial_logit(0.5, 16, level=0.95)
    >>> round(e.low, 4), round(e.high, 4)
    (0.2562, 0.7438)
    """
    smallest = 0.1 / positives
    share = float(np.clip(value, smallest, 1 - smallest))
    variance = share * (1 - share) / positives
    error = float(np.sqrt(variance))
    return t_within_range(share, error, freedom=positives - 1, n=int(positives), level=level)


def overlap(
    hits: float, missed: float, false: float, *, weight: float, times: float, level: float
) -> Estimate:
    """times · TP / (times · TP + weight · FN + FP), such as F-beta, with limits from those of two
    shares.

    hits: TP. missed: FN. false: FP. times: the factor of TP. weight: the factor of FN. Weight 1 and
    times 2 give F1 = 2J / (1 + J); weight b² and times 1 + b² give F-beta.

    The metric is a function of two shares: the Jaccard index J, that of TP in TP + FN + FP, and the
    share of FN in FN + FP. MOVER combines how far the metric moves if one share goes to its Wilson
    limits and the other stays. With weight 1 the second share has no effect. NaN limits if there is
    neither a hit nor an error.

    >>> e = overlap(8, 1, 1, weight=1.0, times=1.0, level=0.95)
    >>> (e.low, e.high) == (wilson(8, 10).low, wilson(8, 10).high), e.value
    (True, 0.8)
    >>> e = overlap(8, 1, 1, weight=4.0, times=5.0, level=0.95)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.8889, 0.6534, 0.9853)
    """
    errors = missed + false
    rows = hits + missed + false

    def metric(jaccard: float, missed_share: float) -> float:
        """The metric from J and the share of FN among the errors: numerator and denominator are
        divided by TP + FN + FP.
        """
        gain = times * jaccard
        weight_of_error = 1 + (weight - 1) * missed_share  # the mean one
        loss = weight_of_error * (1 - jaccard)
        return float(ratio(gain, gain + loss))

    jaccard = wilson(hits, rows, level=level)
    missed_share = wilson(missed, errors, level=level)
    # Without errors the share of FN is unknown. The value is 1 for any share, but the lower limit
    # of J has errors. All count as the kind that costs more: FN if their weight is above 1, or FP.
    observed_share = missed_share.value if errors else float(weight > 1)
    value = metric(jaccard.value, observed_share)
    # the metric if one share goes to its limits and the other stays
    low_by_jaccard = metric(jaccard.low, observed_share)
    high_by_jaccard = metric(jaccard.high, observed_share)
    low_by_share = value
    high_by_share = value
    if errors:  # the upper limit of the share lowers the metric if FN weighs more than FP
        at_low = metric(jaccard.value, missed_share.low)
        at_high = metric(jaccard.value, missed_share.high)
        low_by_share = min(at_low, at_high)
        high_by_share = max(at_low, at_high)
    reach_of_jaccard = np.array([value - low_by_jaccard, high_by_jaccard - value])
    reach_of_share = np.array([value - low_by_share, high_by_share - value])
    limits = recovered(value, reach_of_jaccard, reach_of_share)
    return Estimate(value, max(limits.low, 0.0), min(limits.high, 1.0), level, int(rows), OVERLAP)


@dataclass(frozen=True, eq=False)
class WeightedEstimate:
    """One metric of a mean of metrics: its weight in the mean, its value with limits, and the
    influence of each unit on it, (units,).
    """

    weight: float
    estimate: Estimate
    influence: Floats


def mover_sum(estimates: Iterable[WeightedEstimate], *, n: int, level: float) -> Estimate:
    """Σ weight · value of metrics of the same units, with limits by MOVER (method of variance
    estimates recovery).

    estimates: the parts i of the sum. The distance of the lower limit from the value is
    √Σᵢⱼ rᵢⱼ dᵢ dⱼ, with dᵢ = weight (value − lower limit) of part i and the correlation rᵢⱼ of the
    influence values of two parts; the upper limit likewise. A part whose influence values are all 0
    is uncorrelated with the others. NaN limits if a part has none. Zou and Donner 2008,
    doi:10.1002/sim.3095; with correlations Zou 2008, doi:10.1093/aje/kwn104.

    >>> first = WeightedEstimate(0.5, wilson(8, 10), np.array([1.0, -1.0, 0, 0]))
    >>> second = WeightedEstimate(0.5, wilson(6, 10), np.array([0, 0, 1, -1]))
    >>> e = mover_sum([first, second], n=20, level=0.95)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.7, 0.4887, 0.8363)
    """
    value = 0.0
    uncorrelated = np.zeros(2)  # squared distances below and above of parts without influence
    # With the influence lᵢ of the units on part i, rᵢⱼ is lᵢ · lⱼ / |lᵢ| |lⱼ|. So Σᵢⱼ rᵢⱼ dᵢ dⱼ is
    # the squared length of the vector Σᵢ dᵢ lᵢ / |lᵢ|. One vector is added up for the distances
    # below, and one for the distances above; None before the first part tells how long they are.
    below = above = None
    for part in estimates:
        value += part.weight * part.estimate.value
        distance = part.weight * part.estimate.reach  # below and above
        length = float(np.sqrt(np.dot(part.influence, part.influence)))
        if length == 0:
            uncorrelated += distance**2
            continue
        if below is None or above is None:
            below = np.zeros(part.influence.size)
            above = np.zeros(part.influence.size)
        below_multiple, above_multiple = distance / length
        below += below_multiple * part.influence
        above += above_multiple * part.influence
    squares = uncorrelated
    if below is not None and above is not None:
        # the squared lengths of both vectors
        squares = uncorrelated + np.einsum("ij,ij->i", [below, above], [below, above])
    reach_below, reach_above = np.sqrt(squares)
    low = float(value - reach_below)
    high = float(value + reach_above)
    return Estimate(value, low, high, level, int(n), MOVER)


def lift(
    hits: float,
    picked: float,
    positives: float,
    total: float,
    share_near_cut_off: float,
    *,
    level: float,
) -> Estimate:
    """The lift of the picked rows (such as the highest-scored ones), their precision / the base
    rate, with Wilson's limits of both combined by MOVER on the log scale, on which the lift is a
    difference.

    hits: positives among the picked rows. picked, positives, total: numbers of rows. The two rates
    are correlated, because the picked rows are some of all rows. share_near_cut_off: the share of
    positives among rows near the cut-off score, which enter or leave from sample to sample; with a
    fixed threshold it is the precision itself.

    >>> e = lift(40, 50, 100, 1000, 0.8, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (8.0, 6.458, 9.628)
    """
    precision = precision_of_picked(hits, picked, total, share_near_cut_off, level=level)
    base = wilson(positives, total, level=level)
    value = float(ratio(ratio(hits, picked), ratio(positives, total)))
    if not hits:  # a lift of 0 has no logarithm
        high = float(ratio(precision.high, ratio(positives, total)))
        return Estimate(value, 0.0, high, level, int(total), MOVER)
    correlation = _correlation_with_base(hits, picked, positives, total, share_near_cut_off)
    # on the log scale: how far each limit of both rates lies from the value
    precision_above = np.log(precision.high / precision.value)
    precision_below = np.log(precision.value / precision.low)
    base_above = np.log(base.high / base.value)
    base_below = np.log(base.value / base.low)
    # the lift is largest where the precision is high and the base rate low
    above = mover_distance(precision_above, base_below, correlation)
    below = mover_distance(precision_below, base_above, correlation)
    low = value * float(np.exp(-below))
    high = value * float(np.exp(above))
    return Estimate(value, low, high, level, int(total), MOVER)


def _correlation_with_base(
    hits: float, picked: float, positives: float, total: float, share_near_cut_off: float
) -> float:
    """The correlation of the precision of the picked (highest-scored) rows with the base rate; 0 if
    one of them does not vary.

    hits: positives among the picked rows. picked, positives, total: numbers of rows.
    share_near_cut_off: as in `lift`.
    """
    precision = ratio(hits, picked)
    base = ratio(positives, total)
    depth = ratio(picked, total)
    # By the delta method, covariance and variance are sums over rows of products of influences. A
    # row with label y moves the base rate by (y − base) / total. If it is picked, it pushes out a
    # row near the cut-off, and moves the precision by (y − share_near_cut_off) / picked; from this
    # the mean over all rows is subtracted. The sums follow from the share of picked rows with
    # y = 1, the precision.
    # the covariance times the number of all rows
    covariance = precision * (1 - share_near_cut_off) - base * (precision - share_near_cut_off)
    # the variance of the precision times the number of picked rows, with what rows add that enter
    # or leave at the cut-off
    added_at_cut_off = (1 - depth) * (precision - share_near_cut_off) ** 2
    variance = precision * (1 - precision) + added_at_cut_off
    base_variance = base * (1 - base)
    # the product of both standard deviations, times the number of all rows like the covariance
    scale = np.sqrt(ratio(variance * base_variance, depth))
    return correlation_from(covariance, scale)


def correlation_from(covariance: float | Floats, scale: float | Floats) -> float:
    """The correlation, covariance / scale, cut to −1 … 1 where rounding leaves it outside; 0 if one
    of the two numbers does not vary. scale: the product of their standard deviations.
    """
    correlation = np.nan_to_num(ratio(covariance, scale))
    return float(np.clip(correlation, -1, 1))


def precision_of_picked(
    hits: float, picked: float, total: float, share_near_cut_off: float, *, level: float
) -> Estimate:
    """Precision of the picked rows (the highest-scored ones) with Wilson's limits, for the number
    of binomial rows with the same variance.

    hits: positives among the picked rows. picked, total: numbers of rows. share_near_cut_off: the
    share of positives among rows near the cut-off score, which enter or leave from sample to sample
    and so add to the variance.

    >>> e = precision_of_picked(40, 50, 1000, 0.5, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.8, 0.635, 0.902)
    """
    precision = ratio(hits, picked)
    depth = ratio(picked, total)
    binomial_variance = precision * (1 - precision)
    # what rows that enter or leave at the cut-off from sample to sample add
    added_at_cut_off = (1 - depth) * (precision - share_near_cut_off) ** 2
    effective_rows = float(picked)
    if binomial_variance > 0:
        binomial_share = ratio(binomial_variance, binomial_variance + added_at_cut_off)
        effective_rows = float(picked * binomial_share)
    return wilson(float(precision * effective_rows), effective_rows, level=level)


def correlated_difference(first: Estimate, second: Estimate, correlation: float) -> Estimate:
    """first − second of two values of the same rows, with limits from those of both by MOVER.

    correlation: of the errors of the two values. The result has the `n` of the first value. Zou
    2008, doi:10.1093/aje/kwn104.

    >>> e = correlated_difference(wilson(56, 70), wilson(49, 70), 0.5)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.1, -0.002, 0.202)
    """
    below_first, above_first = first.reach
    below_second, above_second = second.reach
    value = first.value - second.value
    low = value - mover_distance(below_first, above_second, correlation)
    high = value + mover_distance(above_first, below_second, correlation)
    return Estimate(value, float(low), float(high), first.level, first.n, MOVER)


def divided(difference: Estimate, divisor: Estimate) -> Estimate:
    """A difference / a divisor above 0, with limits from those of both by MOVER on the log scale,
    on which the quotient is a difference.

    A limit of the difference on the other side of 0 is divided by the value of the divisor, so the
    result contains 0 if and only if the difference did.

    >>> half = divided(Estimate(0.2, 0.1, 0.3, 0.95, 50, ""), wilson(50, 100))
    >>> round(half.value, 3), round(half.low, 3), round(half.high, 3)
    (0.4, 0.196, 0.633)
    """
    return replace(
        difference,
        value=float(difference.value / divisor.value),
        low=_divided_limit(difference.low, difference.value, divisor),
        high=_divided_limit(difference.high, difference.value, divisor),
    )


def _divided_limit(limit: float, value: float, divisor: Estimate) -> float:
    """One limit of a difference / a divisor, by MOVER on the log scale: the distances of both
    limits from their values are combined there. limit, value: of the difference.
    """
    # the limit is 0 or on the other side of 0, where log(limit / value) does not exist
    if not value * limit > 0:
        return float(limit / divisor.value)
    quotient = float(value / divisor.value)
    log_distance = np.log(limit / value)
    if abs(limit) > abs(value):  # a quotient farther from 0 goes with a smaller divisor
        divisor_distance = np.log(divisor.value / divisor.low)
        step = np.hypot(log_distance, divisor_distance)
    else:
        divisor_distance = np.log(divisor.high / divisor.value)
        step = -np.hypot(log_distance, divisor_distance)
    return float(quotient * np.exp(step))


def lift_of_few(
    hits: float, positives: float, depth: float, share_near_cut_off: float, *, n: int, level: float
) -> Estimate:
    """The lift of the picked rows (the highest-scored ones) as recall / depth, with Wilson's limits
    of the recall: for fewer positives than picked rows, as the recall then has most of the error.

    hits: positives among the picked rows. positives: among all rows. depth: the share of the n rows
    that is picked. share_near_cut_off: the share of positives among rows near the cut-off score.
    The sample size of Wilson's limits is the number of positives whose binomial variance is that of
    the recall.

    >>> e = lift_of_few(18, 20, 0.5, 0.02, n=1000, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (1.8, 1.394, 1.945)
    """
    recall = float(ratio(hits, positives))
    negatives = n - positives
    picked_negatives = n * depth - hits
    # four kinds of rows, here and in the arrays below: positives picked or not, negatives likewise
    rows = np.array([hits, positives - hits, picked_negatives, negatives - picked_negatives])
    hit_deviation = np.array([1 - recall, -recall, 0, 0])
    picked_deviation = np.array([1, 0, 1, 0]) - depth
    # The influence of a row on the recall, times the number of positives. As the number of picked
    # rows is fixed, a picked row pushes out a row near the cut-off, which is a hit with the
    # probability share_near_cut_off.
    influence = hit_deviation - share_near_cut_off * picked_deviation
    effective_positives = float(positives)
    if 0 < recall < 1:
        variance = float(rows @ influence**2) / positives**2
        binomial_variance = recall * (1 - recall)
        effective_positives = float(ratio(binomial_variance, variance))
    limits = wilson(recall * effective_positives, effective_positives, level=level)
    return Estimate(recall / depth, limits.low / depth, limits.high / depth, level, int(n), MOVER)


# An area under the ROC curve, from its standard error and the class sizes -------------------------


FEW_ROWS = 50  # below this many of either class the logit interval covers too little


def auc_interval(
    area: float, error: float, positives: int, negatives: int, *, level: float = 0.95
) -> Estimate:
    """The area under the ROC curve with a normal interval from DeLong's standard error on the logit
    scale, or with Newcombe's for small classes.

    Newcombe's is used if a class has fewer than 50 rows or the area is 0 or 1; the result names the
    method. NaN if a class is empty.

    >>> auc_interval(0.9, 0.02, 200, 800).method, auc_interval(1.0, 0.0, 200, 800).method
    ('logit DeLong', 'Newcombe 5')
    >>> e = auc_interval(0.9, 0.02, 200, 800)
    >>> round(e.low, 4), round(e.high, 4)
    (0.8534, 0.9329)
    """
    if min(positives, negatives) < FEW_ROWS or error == 0 or area in (0, 1):
        return auc_newcombe(area, positives, negatives, level=level)
    return t_within_range(
        area, error, freedom=np.inf, n=positives + negatives, level=level, method="logit DeLong"
    )


def hanley_mcneil_factor(area: float | Floats, positives: int, negatives: int) -> float | Floats:
    """Hanley and McNeil's variance of the area A under the ROC curve, divided by A (1 − A), with
    the N* of Newcombe's method 5: (1 + N* ((1 − A) / (2 − A) + A / (1 + A))) / (m n) with
    m positives, n negatives and N* = (m + n) / 2 − 1. One per area. doi:10.1002/sim.2324.
    """
    # the correlation of two comparisons, positive with negative, that have one row in common
    with_same_negative = (1 - area) / (2 - area)
    with_same_positive = area / (1 + area)
    pairs_beside = (positives + negatives) / 2 - 1  # N*
    inflation = 1 + pairs_beside * (with_same_negative + with_same_positive)
    return inflation / (positives * negatives)


def auc_newcombe(area: float, positives: int, negatives: int, *, level: float = 0.95) -> Estimate:
    """The area A under the ROC curve with Newcombe's method 5, a score interval: every true area θ
    with |A − θ| ≤ z σ(θ).

    σ² is the variance of Hanley and McNeil at θ itself, θ (1 − θ) times `hanley_mcneil_factor`. The
    interval has a width even at A = 1. NaN if a class is empty. Raises InputError unless
    0 ≤ A ≤ 1. Statistics in Medicine 2006, doi:10.1002/sim.2324.

    >>> e = auc_newcombe(1.0, 10, 10)
    >>> round(e.low, 4), e.high
    (0.8002, 1.0)
    """
    z = normal_quantile(level)
    n = positives + negatives
    if min(positives, negatives) < 1 or np.isnan(area):
        return Estimate.without_limits(area, level, n, "Newcombe 5")
    if not 0 <= area <= 1:
        raise InputError(f"area must lie between 0 and 1, got {area}")

    def not_rejected(theta: float) -> bool:
        """True if the true area may be θ: (A − θ)² ≤ z² σ²(θ)."""
        variance = theta * (1 - theta) * hanley_mcneil_factor(theta, positives, negatives)
        return bool((area - theta) ** 2 <= z**2 * variance)

    low = bisect(not_rejected, inside=area, outside=0.0, steps=80).inside
    high = bisect(not_rejected, inside=area, outside=1.0, steps=80).inside
    return Estimate(float(area), low, high, level, n, "Newcombe 5")
