"""Curves over the threshold, areas under them, rules that choose a threshold, and net benefit."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from evalkit import numbers
from evalkit.arrays import Bools, Floats, ratio
from evalkit.metrics import counts
from evalkit.metrics.counts import (
    Counts,
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
    curve = precision_recall_curve(c)
    first = int(np.searchsorted(c.tp, 0, side="right"))  # the first threshold with a positive
    x = curve.x[first:]
    y = curve.y[first:]
    threshold = curve.threshold[first:]
    if len(x):
        return Curve(np.append(0.0, x), np.append(y[:1], y), np.append(threshold[:1], threshold))
    return curve


def drawn(x: Floats, y: Floats, cells: int = CELLS) -> Bools:
    """Which points of a line a picture needs: the first and the last of each stretch within one
    cell of a grid.

    The grid has `cells` rows and columns between the lowest and the highest of each coordinate.
    Points that follow each other and that are left are joined as before, so the line drawn from
    them, straight or in steps, is nowhere off by more than a cell. A point that is not finite
    stays.

    >>> x = np.linspace(0, 1, 100_001)
    >>> keep = drawn(x, x**2)
    >>> (
    ...     int(keep.sum()) < 4000,
    ...     float(np.abs(np.interp(x, x[keep], x[keep] ** 2) - x**2).max()) < 1e-3,
    ... )
    (True, True)
    """
    # of each point but the last: the next point lies in another cell
    leaves_cell = (np.diff(_cell(y, cells)) != 0) | (np.diff(_cell(x, cells)) != 0)
    is_first = np.append(True, leaves_cell)
    is_last = np.append(leaves_cell, True)
    return np.asarray(is_first | is_last)


def _cell(values: Floats, cells: int) -> Floats:
    """The number of the row or column of the grid that each coordinate lies in; one of its own,
    below 0, for each that is not finite.
    """
    finite = np.isfinite(values)
    low = values.min(where=finite, initial=np.inf)
    high = values.max(where=finite, initial=-np.inf)
    cell = np.zeros(values.size)
    if high > low:
        cell = np.floor((values - low) / (high - low) * cells)
    if finite.all():
        return cell
    return np.where(finite, cell, -np.arange(1.0, values.size + 1))


def lift(c: Counts) -> Floats:
    """precision / base rate: how many times more positives than among rows chosen at random."""
    return ratio(precision(c) * c.total, c.positives)


def from_none(c: Counts) -> Counts:
    """The counts with threshold infinity, where nothing is predicted positive, added at the
    front.
    """
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
    even = np.linspace(0, 1, points // 4)
    dense_at_top = np.geomspace(1 / c.total, 1, points // 4)
    share = np.append(even, dense_at_top)
    in_recall = np.searchsorted(c.tp, share * c.tp[-1])
    in_false_positive_rate = np.searchsorted(c.fp, share * c.fp[-1])
    selected = np.union1d(in_recall, in_false_positive_rate)
    return replace(c, threshold=c.threshold[selected], tp=c.tp[selected], fp=c.fp[selected])


def at_depth(c: Counts, rows: ArrayLike) -> Counts:
    """The counts where exactly `rows` rows are predicted positive, with TP and FP interpolated
    linearly within ties.
    """
    rows = np.asarray(rows, dtype=np.float64)
    rows_reached = c.tp + c.fp
    depth = np.append(0, rows_reached)
    tp = np.interp(rows, depth, np.append(0, c.tp))
    fp = np.interp(rows, depth, np.append(0, c.fp))
    reached = np.searchsorted(rows_reached, rows)  # the first threshold with that many rows
    threshold = np.append(c.threshold, -np.inf)[reached]
    return Counts(threshold, tp, fp, c.positives, c.negatives)


def at_base_rate(c: Counts, rate: float) -> Counts:
    """The counts reweighted to base rate `rate`: the negatives get another weight.

    ROC and AUC stay the same; precision and every metric based on it change.

    >>> from evalkit.metrics.counts import auc, average_precision, count
    >>> c = count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])
    >>> tenfold = at_base_rate(c, 4 / 34)
    >>> print(f"{auc(tenfold):.6f} {average_precision(tenfold):.6f}")
    0.833333 0.583333
    """
    # P / (P + times N) = rate
    times = float(ratio(c.positives * (1 - rate), rate * c.negatives))
    return replace(c, fp=c.fp * times, negatives=c.negatives * times)


def crossings(a: Curve, b: Curve) -> Floats:
    """The x where two piecewise linear curves cross; empty if one is never below the other.

    >>> a = Curve(np.array([0, 0.5, 1]), np.array([0, 0.9, 1]), np.zeros(3))
    >>> b = Curve(np.array([0, 0.25, 1]), np.array([0, 0.7, 1]), np.zeros(3))
    >>> crossings(a, b).round(3)
    array([0.429])
    """
    x = np.unique(np.concatenate([a.x, b.x]))
    x = x[(x >= max(a.x[0], b.x[0])) & (x <= min(a.x[-1], b.x[-1]))]
    ends = np.stack([x[:-1], x[1:]], axis=1)  # of the stretches on which both curves are straight
    # A curve may jump at an end: the difference is taken at a quarter and at three quarters of each
    # stretch, and continued from there to its ends.
    inside = ends @ np.array([[0.75, 0.25], [0.25, 0.75]])
    difference = np.interp(inside, a.x, a.y) - np.interp(inside, b.x, b.y)
    difference = (difference @ np.array([[1.5, -0.5], [-0.5, 1.5]])).ravel()
    apart = np.abs(difference) > 1e-12  # less is rounding
    x = ends.ravel()[apart]
    difference = difference[apart]
    before = np.flatnonzero(difference[1:] * difference[:-1] < 0)
    after = before + 1
    share = difference[before] / (difference[before] - difference[after])
    return np.asarray(x[before] + share * (x[after] - x[before]))


# Areas --------------------------------------------------------------------------------------------


def break_even(c: Counts) -> float:
    """Recall where exactly P rows are predicted positive, which equals precision there.

    TP and FP are interpolated linearly within ties.

    >>> from evalkit.metrics.counts import count
    >>> print(
    ...     f"{break_even(count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])):.2f}"
    ... )
    0.75
    """
    return float(recall(at_depth(c, c.positives)))


def average_precision_interpolated(c: Counts) -> float:
    """Mean over the positives of the largest precision at their recall or higher (VOC 2010, all
    points).

    >>> from evalkit.metrics.counts import count
    >>> print(
    ...     f"{average_precision_interpolated(count([6, 5, 4, 3, 2, 1], [1, 0, 0, 1, 1, 1])):.2f}"
    ... )
    0.75
    """
    best_beyond = np.maximum.accumulate(precision(c)[::-1])[::-1]
    return float(ratio(np.dot(c.positive, best_beyond), c.positives))


def pr_auc_davis_goadrich(c: Counts) -> float:
    """The area under the PR curve with FP linear in TP between thresholds.
    doi:10.1145/1143844.1143874.

    Equals precrec's. Between TP = a and b precision is x / (A x + B), A = 1 + n/p, which has a
    closed integral.
    """
    p = c.positive
    n = c.negative
    rows = c.tp + c.fp
    slope = 1 + ratio(n, p)  # A
    offset = rows - slope * c.tp  # B
    rows_before = np.maximum(rows - p - n, 0)  # rounding may leave less
    log_term = np.where(rows_before > 0, offset * np.log(ratio(rows, rows_before)) / slope**2, 0)
    area = np.sum(np.where(p > 0, p / slope - log_term, 0))
    return float(ratio(area, c.positives))


def pr_auc_trapezoid(c: Counts) -> float:
    """The area under the PR curve by the trapezoid rule from (0, 1): 0.625 for a constant score at
    base rate 0.25.

    Too optimistic if scores tie; here for comparison with scikit-learn's auc(recall, precision).
    """
    if not c.positives:
        return float("nan")
    y = np.append(1, precision(c))
    width = ratio(c.positive, c.positives)
    return float(np.sum(width * (y[1:] + y[:-1]) / 2))


def partial_auc(c: Counts, low: float = 0.0, high: float = 1.0) -> float:
    """The area under the ROC curve between two false positive rates, not divided by their distance.

    Undefined if one class is absent. Equals pROC's auc(partial.auc = c(1 - low, 1 - high)).
    """
    roc = roc_curve(c)
    x = roc.x
    y = roc.y
    if np.isnan(x).any() or np.isnan(y).any():
        return float("nan")
    inside = (x > low) & (x < high)
    # Where the curve is vertical at an end, the part inside begins at its upper end at `low`, and
    # stops at its lower end at `high`.
    y_low = y[x <= low][-1] if np.any(x == low) else np.interp(low, x, y)
    y_high = y[np.searchsorted(x, high)] if np.any(x == high) else np.interp(high, x, y)
    return float(np.trapezoid(np.r_[y_low, y[inside], y_high], np.r_[low, x[inside], high]))


def partial_auc_mcclish(c: Counts, high: float) -> float:
    """(1 + (A - no_skill) / (best - no_skill)) / 2 of the area A up to FPR `high`: 0.5 for no
    skill, 1 for the best.

    no_skill = high² / 2, best = high. doi:10.1177/0272989X8900900307. Equals
    roc_auc_score(max_fpr=high).
    """
    no_skill = high**2 / 2
    return float(0.5 * (1 + ratio(partial_auc(c, 0, high) - no_skill, high - no_skill)))


# Choice of a threshold ----------------------------------------------------------------------------


def cost(c: Counts, false_positive: float, false_negative: float) -> Floats:
    """Mean cost per row: (FP false_positive + FN false_negative) / all."""
    return ratio(c.fp * false_positive + c.fn * false_negative, c.total)


def cheapest(c: Counts, false_positive: float, false_negative: float) -> float:
    """The threshold of least cost, possibly infinity (nothing is predicted positive); the highest
    of ties.
    """
    c = from_none(c)
    return float(c.threshold[np.argmin(cost(c, false_positive, false_negative))])


def best_f(c: Counts, beta: float = 1.0) -> float:
    """The threshold of the largest F-beta, the highest one if several tie; optimistic on the rows
    it was chosen on.
    """
    if not c.positives:
        return float("nan")
    best_score = -np.inf
    best_threshold = float("nan")
    for part in blocks(c):
        score = f_score(part, beta)
        if score.max() > best_score:
            best_score = score.max()
            best_threshold = float(part.threshold[score.argmax()])
    return best_threshold


def for_precision(c: Counts, target: float) -> float:
    """The threshold of the largest recall among those with precision of at least `target`, of
    equal ones that of the largest precision; NaN if none has it.

    >>> for_precision(counts.count([0.9, 0.7, 0.5], [1, 1, 0]), 0.6)
    0.7
    """
    enough = np.flatnonzero(precision(c) >= target)
    if not enough.size:
        return float("nan")
    # Recall never falls from one threshold to the next, so that the last has the largest. Of those
    # with the same recall the first has the fewest false positives.
    first = np.searchsorted(c.tp, c.tp[enough[-1]])
    return float(c.threshold[first])


def for_recall(c: Counts, target: float) -> float:
    """The threshold of the largest precision among those with recall of at least `target`, of
    equal ones that of the largest recall; NaN without positives.

    >>> for_recall(counts.count([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 1]), 0.5)
    0.5
    """
    enough = np.flatnonzero(recall(c) >= target)
    if not enough.size:
        return float("nan")
    lowest_first = precision(c)[enough][::-1]  # of equal ones argmax takes the lowest threshold
    return float(c.threshold[enough[-1 - np.argmax(lowest_first)]])


def for_specificity(c: Counts, target: float) -> float:
    """The threshold of the largest recall among those with specificity of at least `target`, of
    equal ones that of the largest specificity; NaN if none has it.

    >>> for_specificity(counts.count([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 0]), 0.5)
    0.6
    """
    enough = np.flatnonzero(counts.specificity(c) >= target)
    if not enough.size:
        return float("nan")
    # as in `for_precision`
    return float(c.threshold[np.searchsorted(c.tp, c.tp[enough[-1]])])


# Net benefit of decisions at a threshold probability ----------------------------------------------


def net_benefit(c: Counts, chance: Floats) -> Floats:
    """TP / n − FP / n · t / (1 − t) of predicting positive from each probability t on; below 1.

    t is the probability at which a reader would just act: a false positive then costs t / (1 − t)
    true positives. Equals dcurves' dca. Vickers and Elkin 2006, doi:10.1177/0272989X06295361.

    >>> from evalkit.metrics.counts import count
    >>> net_benefit(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0]), np.array([0.2, 0.5])).round(
    ...     4
    ... ).tolist()
    [0.4375, 0.0]
    """
    decided = counts.at(c, chance)
    return ratio(decided.tp - decided.fp * odds(chance), c.total)


def decision_curve(c: Counts, grid: Floats) -> tuple[Floats, Floats]:
    """Threshold probabilities, lowest first, and the net benefit at them: at each of a grid and on
    both sides of jumps.

    Just above a score, rows with that score are no longer predicted positive; between scores the
    curve is smooth.

    >>> from evalkit.metrics.counts import count
    >>> x, y = decision_curve(count([0.6], positive=[3], negative=[1]), np.array([0.5, 0.7]))
    >>> x.tolist(), y.round(3).tolist()
    ([0.5, 0.6, 0.6, 0.7], [0.5, 0.375, 0.0, 0.0])
    """
    # the scores within the grid; they descend, the grid ascends
    start, stop = np.searchsorted(-c.threshold, [-grid[-1], -grid[0]])
    score = c.threshold[start:stop][::-1]
    cost = odds(score)
    tp = np.append(0, c.tp)
    fp = np.append(0, c.fp)
    # row i of these two columns has the rows above score i, row i + 1 also those with it
    with_score = slice(start + 1, stop + 1)
    above_score = slice(start, stop)
    benefit = np.empty((len(score), 2))
    for column, rows in enumerate((with_score, above_score)):
        benefit[:, column] = ratio(tp[rows][::-1] - fp[rows][::-1] * cost, c.total)
    place = 2 * np.searchsorted(score, grid)  # of the grid, between the pairs of the scores
    x = np.insert(np.repeat(score, 2), place, grid)
    return x, np.insert(benefit.ravel(), place, net_benefit(c, grid))


def treat_all(c: Counts, chance: Floats) -> Floats:
    """The net benefit of predicting every row positive.

    >>> from evalkit.metrics.counts import count
    >>> treat_all(count([0.9, 0.6], [1, 0]), np.array([0.2, 0.5])).tolist()
    [0.375, 0.0]
    """
    return ratio(c.positives - c.negatives * odds(chance), c.total)


def odds(chance: Floats) -> Floats:
    """t / (1 − t)."""
    return np.asarray(chance / (1 - chance), dtype=np.float64)
