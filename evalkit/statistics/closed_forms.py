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
    normal_quantile,
    recovered,
    wilson,
)
from evalkit.statistics.spread import bisect

SCALES = {
    0: "t on the logit scale",
    1: "t on the log scale",
    2: "t",
}  # by how many ends of the range are infinite
OVERLAP = "Wilson of the Jaccard index, mapped"
MOVER = "MOVER"
FARTHEST = 100.0  # a step on a logarithmic scale beyond which nothing changes


def ranged_t(
    value: float,
    error: float,
    *,
    freedom: float,
    n: int,
    level: float,
    ends: Ends = (0.0, 1.0),
    method: str = "",
) -> Estimate:
    """A value with t limits on the logit scale of its range: the log scale for one bound, the plain
    one for none.

    The half width is carried to that scale by the delta method. If the value lies at an end of the
    range, or if the error is 0, Wilson's limits of freedom + 1 units are used instead. A range with
    an infinite bound has no such limits: the interval of a value with error 0 then has no width.
    NaN limits if freedom is 0 or below.

    >>> e = ranged_t(0.9, 0.02, freedom=50.0, n=1000, level=0.95)
    >>> round(e.low, 4), round(e.high, 4)
    (0.8521, 0.9336)
    >>> e = ranged_t(1.0, 0.0, freedom=9.0, n=1000, level=0.95)
    >>> round(e.low, 4), e.high
    (0.7225, 1.0)
    """
    from scipy.special import stdtrit

    check_level(level)
    low, high = ends
    open_ends = int(np.isinf(ends).sum())
    method = method or SCALES[open_ends]
    if np.isnan(value) or np.isnan(error) or freedom <= 0:
        return Estimate(float(value), np.nan, np.nan, level, int(n), method)
    if not open_ends and (error == 0 or value in (low, high)):
        e = wilson((value - low) / (high - low) * (freedom + 1), freedom + 1, level=level)
        bottom, top = (float(low + (high - low) * limit) for limit in (e.low, e.high))
        return Estimate(float(value), bottom, top, level, int(n), "Wilson")
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    return Estimate(float(value), *_around(value, half, low, high), level, int(n), method)


def _around(value: float, half: float, low: float, high: float) -> tuple[float, float]:
    """Value ± half on the scale of the range, mapped back; the value itself at an end of the
    range.
    """
    below = value - low
    above = high - value
    if np.isinf(below) and np.isinf(above):
        return float(value - half), float(value + half)
    if not (below > 0 and above > 0):
        return float(value), float(value)
    step = min(half * (1 / below + 1 / above), FARTHEST)  # of an end at infinity nothing
    return _moved(value, low, high, -step), _moved(value, low, high, step)


def _moved(value: float, low: float, high: float, step: float) -> float:
    """The number one step further on the scale of the range."""
    if np.isinf(high):
        return float(low + (value - low) * np.exp(step))
    if np.isinf(low):
        return float(high - (high - value) * np.exp(-step))
    return float(low + (high - low) / (1 + (high - value) / (value - low) * np.exp(-step)))


def binomial_logit(value: float, positives: float, *, level: float) -> Estimate:
    """Average precision with Boyd's binomial limits, logit ± t / √(P · AP · (1 − AP)), t on P − 1
    degrees of freedom.

    A value at or below 0, from which a bias was taken, counts as a tenth of a positive. Boyd, Eng,
    Page 2013, doi:10.1007/978-3-642-40994-3_29.

    >>> e = binomial_logit(0.5, 16, level=0.95)
    >>> round(e.low, 4), round(e.high, 4)
    (0.2562, 0.7438)
    """
    share = float(np.clip(value, 0.1 / positives, 1 - 0.1 / positives))
    error = np.sqrt(share * (1 - share) / positives)
    return ranged_t(share, error, freedom=positives - 1, n=int(positives), level=level)


def overlap(
    hits: float, missed: float, false: float, *, weight: float, times: float, level: float
) -> Estimate:
    """times TP / (times TP + weight FN + FP), such as F-beta, with limits from those of two shares.

    The Jaccard index J, the share of TP in TP + FN + FP, and the share of FN in FN + FP have
    Wilson's limits, which are combined by MOVER. With weight 1 the second share has no effect.
    Weight 1 and times 2 give F1 = 2J / (1 + J); weight b² and times 1 + b² give F-beta. NaN limits
    if there is neither a hit nor an error.

    >>> e = overlap(8, 1, 1, weight=1.0, times=1.0, level=0.95)
    >>> (e.low, e.high) == (wilson(8, 10).low, wilson(8, 10).high), e.value
    (True, 0.8)
    >>> e = overlap(8, 1, 1, weight=4.0, times=5.0, level=0.95)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.8889, 0.6534, 0.9853)
    """
    errors = missed + false
    rows = hits + missed + false

    def of(jaccard: float, share: float) -> float:
        return float(
            ratio(times * jaccard, times * jaccard + (1 + (weight - 1) * share) * (1 - jaccard))
        )

    j = wilson(hits, rows, level=level)
    q = wilson(missed, errors, level=level)
    middle = q.value if errors else float(weight > 1)  # without errors the dearest kind stands in
    value = of(j.value, middle)
    ends = sorted(of(j.value, share) for share in (q.low, q.high)) if errors else [value, value]
    of_jaccard = np.array([value - of(j.low, middle), of(j.high, middle) - value])
    low, high = recovered(value, of_jaccard, np.array([value - ends[0], ends[1] - value]))
    return Estimate(value, max(low, 0.0), min(high, 1.0), level, int(rows), OVERLAP)


@dataclass(frozen=True, eq=False)
class Part:
    """One metric of a mean of metrics: its weight in the mean, its value with limits, the influence
    of each unit.
    """

    share: float
    estimate: Estimate
    moved: Floats


def mover_mean(parts: Iterable[Part], *, n: int, level: float) -> Estimate:
    """Σ share · value of metrics of the same units, with limits by MOVER (method of variance
    estimates recovery).

    The distance of the lower limit is √Σᵢⱼ rᵢⱼ dᵢ dⱼ, with dᵢ = share (value − lower limit) of each
    part and rᵢⱼ the correlation of the influence values of two parts; the upper limit likewise. A
    part whose influence values are all 0 is uncorrelated with the others. NaN limits if a part has
    none. Zou and Donner 2008, doi:10.1002/sim.3095; with correlations Zou 2008,
    doi:10.1093/aje/kwn104.

    >>> first = Part(0.5, wilson(8, 10), np.array([1.0, -1.0, 0, 0]))
    >>> second = Part(0.5, wilson(6, 10), np.array([0, 0, 1, -1]))
    >>> e = mover_mean([first, second], n=20, level=0.95)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.7, 0.4887, 0.8363)
    """
    value = 0.0
    alone = np.zeros(2)
    sums = None
    for part in parts:
        e = part.estimate
        distance = part.share * e.reach
        spread = float(np.sqrt(np.dot(part.moved, part.moved)))
        value += part.share * e.value
        if spread > 0:
            if sums is None:
                sums = np.zeros((2, part.moved.size))
            for total, multiple in zip(sums, distance / spread, strict=True):
                total += multiple * part.moved
        else:
            alone += distance**2
    below, above = np.sqrt(alone + (0.0 if sums is None else np.einsum("ij,ij->i", sums, sums)))
    return Estimate(value, float(value - below), float(value + above), level, int(n), MOVER)


def lift(
    hits: float, picked: float, positives: float, total: float, border: float, *, level: float
) -> Estimate:
    """Precision of the picked rows / base rate, with Wilson's limits of both combined by MOVER on
    the log scale.

    The two rates are correlated, because the picked rows are some of all rows. border: the share of
    positives near the cut-off score, where rows enter or leave from sample to sample; with a fixed
    threshold it is the precision itself.

    >>> e = lift(40, 50, 100, 1000, 0.8, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (8.0, 6.458, 9.628)
    """
    share = ratio(hits, picked)
    base = ratio(positives, total)
    depth = ratio(picked, total)
    value = float(ratio(share, base))
    spread = share * (1 - share)
    moved = (1 - depth) * (share - border) ** 2
    p = precision_of_picked(hits, picked, total, border, level=level)
    r = wilson(positives, total, level=level)
    scale = np.sqrt((spread + moved) * base * (1 - base) / depth) if depth > 0 else 0.0
    together = float(
        np.clip(np.nan_to_num(ratio(share * (1 - border) - base * (share - border), scale)), -1, 1)
    )
    if not hits:
        return Estimate(value, 0.0, float(ratio(p.high, base)), level, int(total), MOVER)
    above = _together(np.log(p.high / p.value), np.log(r.value / r.low), together)
    below = _together(np.log(p.value / p.low), np.log(r.high / r.value), together)
    return Estimate(
        value, value * float(np.exp(-below)), value * float(np.exp(above)), level, int(total), MOVER
    )


def precision_of_picked(
    hits: float, picked: float, total: float, border: float, *, level: float
) -> Estimate:
    """Precision of the picked rows with Wilson's limits, for the number of binomial rows with the
    same variance.

    border: as in `lift`; the rows that enter and leave there add to the variance.

    >>> e = precision_of_picked(40, 50, 1000, 0.5, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.8, 0.635, 0.902)
    """
    share = ratio(hits, picked)
    depth = ratio(picked, total)
    spread = share * (1 - share)
    moved = (1 - depth) * (share - border) ** 2
    like = float(picked * ratio(spread, spread + moved)) if spread > 0 else picked
    return wilson(float(share * like), float(like), level=level)


def divided(e: Estimate, by: Estimate) -> Estimate:
    """A difference over a number above 0, each with its limits, by MOVER on the log scale of both.

    A limit on the other side of 0 is divided by the value of the divisor, so the result contains 0
    if and only if the difference did.

    >>> half = divided(Estimate(0.2, 0.1, 0.3, 0.95, 50, ""), wilson(50, 100))
    >>> round(half.value, 3), round(half.low, 3), round(half.high, 3)
    (0.4, 0.196, 0.633)
    """

    def end(limit: float) -> float:
        if not e.value * limit > 0:
            return float(limit / by.value)
        grows = abs(limit) > abs(e.value)
        other = by.value / by.low if grows else by.high / by.value
        step = np.hypot(np.log(limit / e.value), np.log(other))
        return float(e.value / by.value * np.exp(step if grows else -step))

    return replace(
        e, value=float(e.value / by.value), low=end(e.low), high=end(e.high), method=e.method
    )


def lift_of_few(
    hits: float, positives: float, depth: float, border: float, *, n: int, level: float
) -> Estimate:
    """Recall among a share of the rows / that share, with Wilson's limits of the recall.

    Their sample size is the number of positives with the same variance. It allows for the fixed
    number of picked rows: a row that enters pushes another one out.

    >>> e = lift_of_few(18, 20, 0.5, 0.02, n=1000, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (1.8, 1.394, 1.945)
    """
    recall = float(ratio(hits, positives))
    negatives = n - positives
    inside = n * depth - hits
    rows = np.array([hits, positives - hits, inside, negatives - inside])
    moved = np.array([1 - recall, -recall, 0, 0]) - border * (np.array([1, 0, 1, 0]) - depth)
    variance = float(rows @ moved**2)
    like = (
        float(positives**2 * ratio(recall * (1 - recall), variance))
        if 0 < recall < 1
        else positives
    )
    e = wilson(recall * like, like, level=level)
    return Estimate(recall / depth, e.low / depth, e.high / depth, level, int(n), MOVER)


def _together(first: float, second: float, correlation: float) -> float:
    """The distance of the limit of a difference."""
    return float(np.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0)))


# An area under the ROC curve, from its standard error and the class sizes -------------------------


FEW = 50  # below this many of either class the logit interval covers too little


def auc_interval(
    area: float, error: float, positives: int, negatives: int, *, level: float = 0.95
) -> Estimate:
    """The area with a normal interval from DeLong's error on the logit scale, or Newcombe's for
    small classes.

    Newcombe's is used if a class has fewer than 50 rows or the area is 0 or 1; the result names the
    method. NaN if a class is empty.

    >>> auc_interval(0.9, 0.02, 200, 800).method, auc_interval(1.0, 0.0, 200, 800).method
    ('logit DeLong', 'Newcombe 5')
    >>> e = auc_interval(0.9, 0.02, 200, 800)
    >>> round(e.low, 4), round(e.high, 4)
    (0.8534, 0.9329)
    """
    if min(positives, negatives) < FEW or error == 0 or area in (0, 1):
        return auc_newcombe(area, positives, negatives, level=level)
    return ranged_t(
        area, error, freedom=np.inf, n=positives + negatives, level=level, method="logit DeLong"
    )


def auc_newcombe(area: float, positives: int, negatives: int, *, level: float = 0.95) -> Estimate:
    """The area with Newcombe's method 5: every θ with |A − θ| ≤ z σ(θ).

    σ² is Hanley and McNeil's variance at θ itself, with N* = (m + n) / 2 − 1. The interval has a
    width even at A = 1. NaN if a class is empty. Raises InputError unless 0 ≤ A ≤ 1. Statistics in
    Medicine 2006, doi:10.1002/sim.2324.

    >>> e = auc_newcombe(1.0, 10, 10)
    >>> round(e.low, 4), e.high
    (0.8002, 1.0)
    """
    z = normal_quantile(level)
    n = positives + negatives
    if min(positives, negatives) < 1 or np.isnan(area):
        return Estimate(float(area), np.nan, np.nan, level, n, "Newcombe 5")
    if not 0 <= area <= 1:
        raise InputError(f"area must lie between 0 and 1, got {area}")

    def within(truth: float) -> bool:
        spread = 1 + (n / 2 - 1) * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        return (area - truth) ** 2 <= z**2 * truth * (1 - truth) * spread / (positives * negatives)

    low, high = (bisect(within, area, end, steps=80)[0] for end in (0.0, 1.0))
    return Estimate(float(area), low, high, level, n, "Newcombe 5")
