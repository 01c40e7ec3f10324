"""Curves over the threshold, areas under them, rules that choose a threshold, and net benefit."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit import numbers
from evalkit.arrays import Bools, Floats, quotient, ratio
from evalkit.metrics import counts
from evalkit.metrics.counts import (
    Counts,
    Weights,
    blocks,
    f_score,
    false_positive_rate,
    precision,
    predicted_rate,
    recall,
)

CELLS = 1000  # of a side of a picture: finer than half a pixel


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (x, y) and the threshold of each, highest threshold first; x never decreases."""

    x: Floats
    y: Floats
    threshold: Floats

    def __repr__(self) -> str:
        """The number of points and the ends."""
        if not self.x.size:
            return "<Curve: no points>"
        first = f"({numbers.number(self.x[0])}, {numbers.number(self.y[0])})"
        last = f"({numbers.number(self.x[-1])}, {numbers.number(self.y[-1])})"
        return f"<Curve: {self.x.size:,} points, {first} to {last}>"

    def _repr_html_(self) -> str:
        return numbers.points({"x": self.x, "y": self.y, "threshold": self.threshold})


def roc_curve(c: Counts) -> Curve:
    """Recall over false positive rate, from (0, 0) at threshold infinity."""
    none = from_none(Counts(c.threshold[:0], c.tp[:0], c.fp[:0], c.positives, c.negatives))
    x = np.append(false_positive_rate(none), false_positive_rate(c))
    y = np.append(recall(none), recall(c))
    return Curve(x, y, np.append(none.threshold, c.threshold))


def precision_recall_curve(c: Counts) -> Curve:
    """Precision over recall, from the highest score on: without predicted positives precision is
    undefined.
    """
    return Curve(recall(c), precision(c), c.threshold)


def gain_curve(c: Counts) -> Curve:
    """Recall over the share of rows predicted positive, from (0, 0): cumulative gain, also CAP."""
    c = from_none(c)
    return Curve(predicted_rate(c), recall(c), c.threshold)


def precision_steps(c: Counts) -> Curve:
    """The precision-recall curve as drawn, in steps: each precision extends back to the recall of
    the point before.

    The area below the steps is therefore average precision. The curve starts at recall 0 with the
    precision of the first threshold that finds a positive.

    >>> from evalkit.metrics.counts import count
    >>> steps = precision_steps(count([0.9, 0.8, 0.7], [0, 1, 1]))
    >>> steps.x.tolist(), steps.y.round(3).tolist()
    ([0.0, 0.5, 1.0], [0.5, 0.5, 0.667])
    """
    curve = precision_recall_curve(c)  # x: recall, y: precision
    first = int(np.searchsorted(c.tp, 0, side="right"))  # the first threshold with a positive
    recall = curve.x[first:]
    precision = curve.y[first:]
    threshold = curve.threshold[first:]
    if not len(recall):  # no positives: all recalls are NaN
        return curve
    return Curve(
        x=np.append(0.0, recall),
        y=np.append(precision[:1], precision),
        threshold=np.append(threshold[:1], threshold),
    )


def points_to_draw(x: Floats, y: Floats, cells: int = CELLS) -> Bools:
    """A mask of the points of a line that a picture needs: the first and the last of each stretch
    within one cell of a grid.

    The grid has `cells` rows and columns between the lowest and the highest of each coordinate. The
    line through the points that are kept, straight or in steps, is nowhere off by more than a cell.
    A point that is not finite is kept.

    >>> x = np.linspace(0, 1, 100_001)
    >>> keep = points_to_draw(x, x**2)
    >>> line_through_kept = np.interp(x, x[keep], x[keep] ** 2)
    >>> int(keep.sum()) < 4000, bool(np.abs(line_through_kept - x**2).max() < 1e-3)
    (True, True)
    """
    # for each point but the last: the next one lies in another cell
    leaves_row = np.diff(_cell(y, cells)) != 0
    leaves_column = np.diff(_cell(x, cells)) != 0
    leaves_cell = leaves_row | leaves_column
    is_first_in_cell = np.append(True, leaves_cell)
    is_last_in_cell = np.append(leaves_cell, True)
    is_needed: Bools = is_first_in_cell | is_last_in_cell
    return is_needed


def _cell(values: Floats, cells: int) -> Floats:
    """Which of `cells` equal parts of the range of the values each value lies in, as a number from
    0; all lie in 0 if they are equal. A value that is not finite gets a negative number that no
    other has, so that it never shares a part with another.
    """
    is_finite = np.isfinite(values)
    low = values.min(where=is_finite, initial=np.inf)
    high = values.max(where=is_finite, initial=-np.inf)
    cell = np.zeros(values.size)
    if high > low:
        share_of_range = (values - low) / (high - low)
        cell = np.floor(share_of_range * cells)
    if is_finite.all():
        return cell
    unique_cell = -np.arange(1.0, values.size + 1)
    return np.where(is_finite, cell, unique_cell)


def lift(c: Counts) -> Floats:
    """precision / base rate: how many times more positives than among rows chosen at random."""
    precision_times_rows = precision(c) * c.total
    return ratio(precision_times_rows, c.positives)


def from_none(c: Counts) -> Counts:
    """The counts with a further first threshold, infinity, where nothing is predicted positive."""
    threshold = np.append(np.inf, c.threshold)
    return replace(c, threshold=threshold, tp=np.append(0, c.tp), fp=np.append(0, c.fp))


def thin(c: Counts, points: int = 1000) -> Counts:
    """The counts at no more than `points` thresholds.

    The thresholds are even in recall and in false positive rate, and dense among the highest
    scores. Counts at those left are exact; the last one, where every row is predicted positive,
    always stays. For drawing see `drawn`.

    >>> from evalkit.metrics.counts import count
    >>> c = count(np.arange(5000), np.arange(5000) % 2)
    >>> len(thin(c).threshold) <= 1000, thin(c).tp[-1].item() == c.positives
    (True, True)
    """
    if len(c.threshold) <= points:
        return c
    # For each of some rates the first threshold is taken at which recall reaches it, and the first
    # at which the false positive rate does. One half of the rates, a quarter of the points, are
    # even from 0 to 1. The others grow by equal factors from 1 / number of rows to 1.
    even = np.linspace(0, 1, points // 4)
    dense_at_top = np.geomspace(1 / c.total, 1, points // 4)
    rate = np.append(even, dense_at_top)
    by_recall = np.searchsorted(c.tp, rate * c.tp[-1])
    by_false_positive_rate = np.searchsorted(c.fp, rate * c.fp[-1])
    index = np.union1d(by_recall, by_false_positive_rate)
    return replace(c, threshold=c.threshold[index], tp=c.tp[index], fp=c.fp[index])


def at_depth(c: Counts, rows: ArrayLike) -> Counts:
    """The counts where exactly this many of the highest-scored rows are predicted positive, for
    each number in `rows`; same shape. TP and FP are interpolated linearly within ties. The
    threshold is the score of the last of these rows, or minus infinity if the table has fewer.
    """
    rows = np.asarray(rows, dtype=np.float64)
    rows_at_or_above = c.tp + c.fp  # by threshold
    depth = np.append(0, rows_at_or_above)
    tp = np.interp(rows, depth, np.append(0, c.tp))
    fp = np.interp(rows, depth, np.append(0, c.fp))
    # the first threshold with that many rows; one past the end if there is none
    index = np.searchsorted(rows_at_or_above, rows)
    threshold = np.append(c.threshold, -np.inf)[index]
    return Counts(threshold, tp, fp, c.positives, c.negatives)


def recall_at_rate(c: Counts, rate: ArrayLike) -> Floats:
    """The recall at a false positive rate, on the ROC curve whose points are joined by straight
    lines; shape of `rate`, which holds rates of 0 to 1. Undefined if a class has no row.

    Where the curve is vertical it is the upper end, the largest recall with this rate. Of tied
    scores at the rate a part is predicted positive. Equals scikit-learn's roc_curve, read by
    numpy's interp.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.9, 0.8, 0.7, 0.6, 0.5, 0.5], [1, 0, 1, 0, 1, 0])
    >>> recall_at_rate(c, [0, 1 / 3, 5 / 6]).round(4).tolist()
    [0.3333, 0.6667, 0.8333]
    """
    rate = np.asarray(rate, dtype=np.float64)
    if not (c.positives and c.negatives):
        return np.full(rate.shape, np.nan)
    roc = roc_curve(c)
    # the last point of this rate or a lower one, and the one after it
    before = np.searchsorted(roc.x, rate, side="right") - 1
    after = np.minimum(before + 1, len(roc.x) - 1)
    rate_before = roc.x[before]
    recall_before = roc.y[before]
    distance = roc.x[after] - rate_before
    # how much of the way to the next point the rate lies; 0 after the last one
    share = np.nan_to_num(ratio(rate - rate_before, distance))
    rise = roc.y[after] - recall_before
    recalls: Floats = recall_before + share * rise
    return recalls


def at_base_rate(c: Counts, rate: float) -> Counts:
    """The counts reweighted to base rate `rate`: the negatives get another weight.

    ROC and AUC stay the same; precision and every metric based on it change.

    >>> from evalkit.metrics.counts import auc, average_precision, count
    >>> c = count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])
    >>> tenfold = at_base_rate(c, 4 / 34)
    >>> print(f"{auc(tenfold):.6f} {average_precision(tenfold):.6f}")
    0.833333 0.583333
    """
    # the solution of P / (P + weight N) = rate
    weight = quotient(c.positives * (1 - rate), rate * c.negatives)
    return replace(c, fp=c.fp * weight, negatives=c.negatives * weight)


def crossings(a: Curve, b: Curve) -> Floats:
    """The x where two piecewise linear curves cross, ascending; empty if one is never below the
    other.

    >>> a = Curve(np.array([0, 0.5, 1]), np.array([0, 0.9, 1]), np.zeros(3))
    >>> b = Curve(np.array([0, 0.25, 1]), np.array([0, 0.7, 1]), np.zeros(3))
    >>> crossings(a, b).round(3)
    array([0.429])
    """
    # cut the range of x that both have into segments on which both curves are straight
    cut = np.unique(np.concatenate([a.x, b.x]))
    low = max(a.x[0], b.x[0])
    high = min(a.x[-1], b.x[-1])
    is_common = (cut >= low) & (cut <= high)
    cut = cut[is_common]
    ends = np.stack([cut[:-1], cut[1:]], axis=1)  # shape (segments, 2)
    # a - b at both ends of each segment. At an end a curve may jump, and interp would take one of
    # its two values. So the difference is taken at a quarter and at three quarters of the segment,
    # and the straight line through these two is continued to the ends.
    quarters = ends @ np.array([[0.75, 0.25], [0.25, 0.75]])
    at_quarters = np.interp(quarters, a.x, a.y) - np.interp(quarters, b.x, b.y)
    at_ends = at_quarters @ np.array([[1.5, -0.5], [-0.5, 1.5]])
    difference = at_ends.ravel()
    differs = np.abs(difference) > 1e-12  # less is rounding: the curves touch or are equal
    x = ends.ravel()[differs]
    difference = difference[differs]
    # a crossing lies between two neighbours of opposite sign, where the line between them is 0
    changes_sign = difference[1:] * difference[:-1] < 0
    before = np.flatnonzero(changes_sign)
    after = before + 1
    drop = difference[before] - difference[after]
    share = difference[before] / drop  # of the way from one to the other
    distance = x[after] - x[before]
    crossing: Floats = x[before] + share * distance
    return crossing


# Areas --------------------------------------------------------------------------------------------


def break_even(c: Counts) -> float:
    """Recall where exactly P rows are predicted positive, which equals precision there.

    TP and FP are interpolated linearly within ties.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])
    >>> print(f"{break_even(c):.2f}")
    0.75
    """
    top = at_depth(c, c.positives)
    return float(recall(top))


def average_precision_interpolated(c: Counts) -> float:
    """Mean over the positives of the largest precision at their recall or higher (VOC 2010, all
    points).

    >>> from evalkit.metrics.counts import count
    >>> c = count([6, 5, 4, 3, 2, 1], [1, 0, 0, 1, 1, 1])
    >>> print(f"{average_precision_interpolated(c):.2f}")
    0.75
    """
    # a running maximum from the lowest threshold, which has the highest recall
    lowest_first = precision(c)[::-1]
    best_from_here = np.maximum.accumulate(lowest_first)[::-1]
    return quotient(np.dot(c.positive, best_from_here), c.positives)


def pr_auc_davis_goadrich(c: Counts) -> float:
    """The area under the PR curve with FP linear in TP between thresholds.
    doi:10.1145/1143844.1143874.

    Equals precrec's. The lower of two neighbouring thresholds has p positives and n negatives of
    exactly its score. A point between the two with x true positives has A x + B rows at or above
    it, with A = 1 + n/p, and so the precision x / (A x + B). Its integral over x, between the TP of
    the two thresholds, is p/A - B/A² log(rows / rows before), with the rows at or above each.
    """
    p = c.positive
    n = c.negative
    rows = c.tp + c.fp
    slope = 1 + ratio(n, p)  # A
    offset = rows - slope * c.tp  # B
    rows_before = np.maximum(rows - p - n, 0)  # rounding may leave less
    # without rows before, B is 0, and so is B/A² log(rows / rows before)
    log_growth = np.log(ratio(rows, rows_before))
    log_term = offset * log_growth / slope**2
    log_term = np.where(rows_before > 0, log_term, 0)
    # between thresholds without new positives recall stands still: no area
    area_in_tp = np.where(p > 0, p / slope - log_term, 0)
    return quotient(area_in_tp.sum(), c.positives)


def pr_auc_trapezoid(c: Counts) -> float:
    """The area under the PR curve by the trapezoid rule from (0, 1): 0.625 for a constant score at
    base rate 0.25.

    Too optimistic if scores tie; here for comparison with scikit-learn's auc(recall, precision).
    """
    if not c.positives:
        return float("nan")
    y = np.append(1, precision(c))
    recall_gained = ratio(c.positive, c.positives)  # the widths of the trapezoids
    height = (y[1:] + y[:-1]) / 2
    area = recall_gained * height
    return float(area.sum())


def partial_auc(c: Counts, low: float = 0.0, high: float = 1.0) -> float:
    """The area under the ROC curve between two false positive rates, not divided by their distance.

    c: the table of counts by threshold. low, high: the two rates. Undefined if one class is absent.
    Equals pROC's auc(partial.auc = c(1 - low, 1 - high)).
    """
    roc = roc_curve(c)
    x = roc.x  # false positive rate, ascending
    y = roc.y  # recall
    if np.isnan(x).any() or np.isnan(y).any():
        return float("nan")
    # The curve may be vertical at an end, where x has several points: at `low` the area begins at
    # the last of them, the upper end, at `high` it stops at the first, the lower end.
    y_low = np.interp(low, x, y)
    if np.any(x == low):
        y_low = y[x <= low][-1]
    y_high = np.interp(high, x, y)
    if np.any(x == high):
        y_high = y[np.searchsorted(x, high)]
    inside = (x > low) & (x < high)
    x_between = np.r_[low, x[inside], high]
    y_between = np.r_[y_low, y[inside], y_high]
    return float(np.trapezoid(y_between, x_between))


def partial_auc_mcclish(c: Counts, high: float) -> float:
    """The area under the ROC curve up to the false positive rate `high`, scaled to 0.5 for no skill
    and 1 for the best score: (1 + (area - no_skill) / (best - no_skill)) / 2.

    doi:10.1177/0272989X8900900307. Equals roc_auc_score(max_fpr=high).
    """
    no_skill = high**2 / 2  # the triangle below the diagonal
    best = high  # the rectangle below recall 1
    area = partial_auc(c, 0, high)
    skill = quotient(area - no_skill, best - no_skill)
    return 0.5 * (1 + skill)


# Choice of a threshold ----------------------------------------------------------------------------


def cost(c: Counts, false_positive: float, false_negative: float) -> Floats:
    """Mean cost per row: (FP false_positive + FN false_negative) / all."""
    total_cost = c.fp * false_positive + c.fn * false_negative
    return ratio(total_cost, c.total)


def cheapest(c: Counts, false_positive: float, false_negative: float) -> float:
    """The threshold of least `cost`, the highest one if several tie; infinity if it is cheapest to
    predict nothing positive. false_positive, false_negative: the cost of one.
    """
    c = from_none(c)
    least = np.argmin(cost(c, false_positive, false_negative))
    return float(c.threshold[least])


def best_f(c: Counts, beta: float = 1.0) -> float:
    """The threshold of the largest F-beta, the highest one if several tie; NaN without positives.
    F-beta there is optimistic: it is largest on just these rows.
    """
    if not c.positives:
        return float("nan")
    largest = -np.inf
    best_threshold = float("nan")
    for run in blocks(c):  # short runs of thresholds, for memory; the highest thresholds first
        f_beta = f_score(run, beta)
        if f_beta.max() > largest:  # not at a tie, so that the higher threshold stays
            largest = f_beta.max()
            best_threshold = float(run.threshold[f_beta.argmax()])
    return best_threshold


def for_precision(c: Counts, target: float) -> float:
    """The threshold of the largest recall among those with a precision of at least `target`; among
    equal recalls that of the largest precision. NaN if no precision is so large.

    >>> for_precision(counts.count([0.9, 0.7, 0.5], [1, 1, 0]), 0.6)
    0.7
    """
    is_precise = precision(c) >= target
    return _largest_recall(c, is_precise)


def for_recall(c: Counts, target: float) -> float:
    """The threshold of the largest precision among those with a recall of at least `target`; among
    equal precisions that of the largest recall. NaN if no recall is so large, as without positives.

    >>> for_recall(counts.count([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 1]), 0.5)
    0.5
    """
    has_recall = recall(c) >= target
    lowest_first = np.flatnonzero(has_recall)[::-1]  # indices of thresholds
    if not lowest_first.size:
        return float("nan")
    # argmax takes the first of equal ones: with the lowest threshold first, that of most recall
    best = np.argmax(precision(c)[lowest_first])
    index = lowest_first[best]
    return float(c.threshold[index])


def for_specificity(c: Counts, target: float) -> float:
    """The threshold of the largest recall among those with specificity of at least `target`, of
    equal ones that of the largest specificity; NaN if none has it.

    >>> for_specificity(counts.count([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 0]), 0.5)
    0.6
    """
    is_specific = counts.specificity(c) >= target
    return _largest_recall(c, is_specific)


def _largest_recall(c: Counts, is_allowed: Bools) -> float:
    """The threshold of the largest recall among those that a mask allows; of equal recalls that of
    the fewest false positives, which the mask must allow too. NaN if it allows none.
    """
    allowed = np.flatnonzero(is_allowed)
    if not allowed.size:
        return float("nan")
    # Thresholds descend, so that recall never falls along them: the last of these has the largest.
    # Of all thresholds with this recall the first has the fewest false positives.
    largest_tp = c.tp[allowed[-1]]
    first = np.searchsorted(c.tp, largest_tp)
    return float(c.threshold[first])


# Net benefit of decisions at a threshold probability ----------------------------------------------


def net_benefit(c: Counts, chance: Floats) -> Floats:
    """TP / n − FP / n · t / (1 − t) of predicting positive from each threshold probability t on;
    shape of `chance`, which holds the t, below 1.

    t is the probability at which a reader would just act: a false positive then costs t / (1 − t)
    true positives. Equals dcurves' dca. Vickers and Elkin 2006, doi:10.1177/0272989X06295361.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0])
    >>> net_benefit(c, np.array([0.2, 0.5])).round(4).tolist()
    [0.4375, 0.0]
    """
    decisions = counts.at(c, chance)
    return _benefit(decisions.tp, decisions.fp, odds(chance), c.total)


def _benefit(tp: Weights, fp: Weights, false_positive: Floats, rows: float) -> Floats:
    """(TP − FP · cost of a false positive, in true positives) / rows: the net benefit."""
    return ratio(tp - fp * false_positive, rows)


class NetBenefitCurve(NamedTuple):
    """Threshold probabilities, lowest first, and the net benefit at each."""

    probability: Floats
    net_benefit: Floats


def decision_curve(c: Counts, grid: Floats) -> NetBenefitCurve:
    """The points of the net benefit curve: threshold probabilities, lowest first, and the net
    benefit at each.

    grid: probabilities, ascending; the points are these and, for each score among them, two with
    the same probability: at a score its rows are still predicted positive, just above it they are
    not, so that the curve jumps. Between scores it is smooth.

    >>> from evalkit.metrics.counts import count
    >>> x, y = decision_curve(count([0.6], positive=[3], negative=[1]), np.array([0.5, 0.7]))
    >>> x.tolist(), y.round(3).tolist()
    ([0.5, 0.6, 0.6, 0.7], [0.5, 0.375, 0.0, 0.0])
    """
    # The scores within the grid are c.threshold[start:stop], highest first. searchsorted needs
    # ascending numbers, so that scores and ends of the grid are negated.
    start, stop = np.searchsorted(-c.threshold, [-grid[-1], -grid[0]])
    descending_score = c.threshold[start:stop]
    cost_of_false_positive = odds(descending_score)
    # element i has the count above threshold i, element i + 1 the count at or above it
    tp = np.append(0, c.tp)
    fp = np.append(0, c.fp)
    above = slice(start, stop)
    at_or_above = slice(start + 1, stop + 1)
    benefit_at = _benefit(tp[at_or_above], fp[at_or_above], cost_of_false_positive, c.total)
    benefit_above = _benefit(tp[above], fp[above], cost_of_false_positive, c.total)
    ascending_score = descending_score[::-1]
    # two points for each score, lowest scores first: at the score, then just above it
    pairs = np.stack([benefit_at[::-1], benefit_above[::-1]], axis=1)
    benefit = pairs.ravel()
    # A point of the grid is inserted behind the two points of each lower score.
    position = 2 * np.searchsorted(ascending_score, grid)
    return NetBenefitCurve(
        probability=np.insert(np.repeat(ascending_score, 2), position, grid),
        net_benefit=np.insert(benefit, position, net_benefit(c, grid)),
    )


def treat_all(c: Counts, chance: Floats) -> Floats:
    """The net benefit of predicting every row positive, at each threshold probability.

    >>> from evalkit.metrics.counts import count
    >>> treat_all(count([0.9, 0.6], [1, 0]), np.array([0.2, 0.5])).tolist()
    [0.375, 0.0]
    """
    return _benefit(c.positives, c.negatives, odds(chance), c.total)


def odds(chance: Floats) -> Floats:
    """t / (1 − t): the odds of a probability t."""
    return np.asarray(chance / (1 - chance), dtype=np.float64)
