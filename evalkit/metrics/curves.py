"""Curves over the threshold, the areas and points that are read off them, and the choice of a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, ratio
from evalkit.metrics.counts import (
    STEP,
    Counts,
    auc,
    f_score,
    false_positive_rate,
    precision,
    precision_sum,
    predicted_rate,
    rate_gap,
    recall,
    steps,
)
from evalkit.metrics.influence import placement_squares


@dataclass(frozen=True, eq=False)
class Curve:
    """Points (x, y) and the threshold of each, highest first; x rises or stays."""

    x: Floats
    y: Floats
    threshold: Floats


def roc_curve(c: Counts) -> Curve:
    """Recall over false positive rate, from (0, 0) at threshold infinity."""
    c = from_none(c)
    return Curve(false_positive_rate(c), recall(c), c.threshold)


def precision_recall_curve(c: Counts) -> Curve:
    """Precision over recall, from the highest score on: with nothing predicted there is no precision."""
    return Curve(recall(c), precision(c), c.threshold)


def gain_curve(c: Counts) -> Curve:
    """Recall over the share of rows predicted positive, from (0, 0): cumulative gain, also CAP."""
    c = from_none(c)
    return Curve(predicted_rate(c), recall(c), c.threshold)


def lift_curve(c: Counts) -> Curve:
    """Lift over the share of rows predicted positive."""
    return Curve(predicted_rate(c), lift(c), c.threshold)


def lift(c: Counts) -> Floats:
    """precision / base rate: how many times more positives than among rows picked at random."""
    return ratio(precision(c) * c.total, c.positives)


def from_none(c: Counts) -> Counts:
    """The table with a first row at threshold infinity, where nothing is predicted positive."""
    threshold, tp, fp = np.append(np.inf, c.threshold), np.append(0, c.tp), np.append(0, c.fp)
    return Counts(threshold, tp, fp, c.positives, c.negatives)


def thin(c: Counts, points: int = 1000, kept: Sequence[float] = ()) -> Counts:
    """At most `points` of the thresholds: even in recall, in false positive rate, and dense among the highest scores.

    What stands at the thresholds left is exact, and the last of them, where all is predicted positive, stays. kept:
    more thresholds whose decisions stay in the table, besides the points; one above all scores decides nothing.

    >>> from evalkit.metrics.counts import count
    >>> c = count(np.arange(5000), np.arange(5000) % 2)
    >>> len(thin(c).threshold) <= 1000, thin(c).tp[-1].item() == c.positives
    (True, True)
    """
    if len(c.threshold) <= points:
        return c
    share = np.append(np.linspace(0, 1, points // 4), np.geomspace(1 / c.total, 1, points // 4))
    place = [np.searchsorted(column, share * column[-1]) for column in (c.tp, c.fp)]
    decided = np.searchsorted(-c.threshold, -np.array(kept, dtype=np.float64), side="right") - 1
    stay = np.unique(np.concatenate([*place, decided[(decided >= 0) & ~np.isnan(kept)]])).astype(np.int64)
    return replace(c, threshold=c.threshold[stay], tp=c.tp[stay], fp=c.fp[stay])


def at_depth(c: Counts, rows: ArrayLike) -> Counts:
    """The table where exactly `rows` rows are predicted positive, TP and FP taken linear within a tie."""
    rows, depth = np.asarray(rows, dtype=np.float64), np.append(0, c.tp + c.fp)
    tp, fp = (np.interp(rows, depth, np.append(0, column)) for column in (c.tp, c.fp))
    above = np.searchsorted(depth[1:], rows)
    return Counts(np.append(c.threshold, -np.inf)[above], tp, fp, c.positives, c.negatives)


def at_base_rate(c: Counts, rate: float) -> Counts:
    """The table as it would be if a share `rate` of the rows were positive: the negatives get another weight.

    ROC and AUC stay, precision and whatever rests on it move.

    >>> from evalkit.metrics.counts import average_precision, count
    >>> c = count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])
    >>> tenfold = at_base_rate(c, 4 / 34)
    >>> print(f"{auc(tenfold):.6f} {average_precision(tenfold):.6f}")
    0.833333 0.583333
    """
    times = float(ratio(c.positives * (1 - rate), rate * c.negatives))
    return replace(c, fp=c.fp * times, negatives=c.negatives * times)


def crossings(a: Curve, b: Curve) -> Floats:
    """Where, along x, one curve stops lying above the other, points joined by straight lines; empty if one contains it.

    >>> a = Curve(np.array([0, 0.5, 1]), np.array([0, 0.9, 1]), np.zeros(3))
    >>> b = Curve(np.array([0, 0.25, 1]), np.array([0, 0.7, 1]), np.zeros(3))
    >>> crossings(a, b).round(3)
    array([0.429])
    """
    x = np.unique(np.concatenate([a.x, b.x]))
    x = x[(x >= max(a.x[0], b.x[0])) & (x <= min(a.x[-1], b.x[-1]))]
    ends = np.stack([x[:-1], x[1:]], axis=1)
    inside = ends @ np.array([[0.75, 0.25], [0.25, 0.75]])  # neither curve jumps there, and both are straight
    above = np.interp(inside, a.x, a.y) - np.interp(inside, b.x, b.y)
    above = (above @ np.array([[1.5, -0.5], [-0.5, 1.5]])).ravel()  # back to the two ends
    x, above = ends.ravel()[np.abs(above) > 1e-12], above[np.abs(above) > 1e-12]
    turn = np.flatnonzero(above[1:] * above[:-1] < 0)
    return x[turn] + above[turn] / (above[turn] - above[turn + 1]) * (x[turn + 1] - x[turn])


# Areas ------------------------------------------------------------------------------------------------------


def break_even(c: Counts) -> float:
    """Recall, which is precision, when exactly P rows are predicted positive, TP and FP taken linear within a tie.

    >>> from evalkit.metrics.counts import count
    >>> print(f"{break_even(count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])):.2f}")
    0.75
    """
    return float(recall(at_depth(c, c.positives)))


def average_precision_interpolated(c: Counts) -> float:
    """Mean over the positives of the largest precision at their recall or beyond (VOC 2010, all points).

    >>> from evalkit.metrics.counts import count
    >>> print(f"{average_precision_interpolated(count([6, 5, 4, 3, 2, 1], [1, 0, 0, 1, 1, 1])):.2f}")
    0.75
    """
    return float(ratio(np.dot(c.positive, _best_beyond(c)), c.positives))


def average_precision_11_points(c: Counts) -> float:
    """Mean of the largest precision at recall 0, 0.1, ..., 1 or beyond (TREC, VOC 2007)."""
    if not c.positives:
        return float("nan")
    reached = np.searchsorted(10 * c.tp, np.arange(11) * c.positives)
    return float(np.mean(_best_beyond(c)[reached]))


def pr_auc_davis_goadrich(c: Counts) -> float:
    """The area under the PR curve, FP taken linear in TP between thresholds. doi:10.1145/1143844.1143874.

    Equals precrec's. Between TP = a and b precision is x / (A x + B), A = 1 + n/p: its integral has a closed
    form.
    """
    p, n, top = c.positive, c.negative, c.tp + c.fp
    slope = 1 + ratio(n, p)
    offset = top - slope * c.tp
    before = top - p - n
    bend = np.where(before > 0, offset * np.log(ratio(top, before)) / slope**2, 0)
    return float(ratio(np.sum(np.where(p > 0, p / slope - bend, 0)), c.positives))


def pr_auc_trapezoid(c: Counts) -> float:
    """The area under the PR curve by the trapezoid rule from (0, 1): 0.625 for a constant score at base rate 0.25.

    Too optimistic where scores tie; here to be compared with, as auc(recall, precision) of scikit-learn.
    """
    y = np.append(1, precision(c))
    return float(np.sum(ratio(c.positive, c.positives) * (y[1:] + y[:-1]) / 2)) if c.positives else float("nan")


def partial_auc(c: Counts, low: float = 0.0, high: float = 1.0) -> float:
    """The area under the ROC curve between two false positive rates, not divided by their distance."""
    roc = roc_curve(c)
    return _window(roc.x, roc.y, low, high)


def partial_auc_recall(c: Counts, low: float = 0.0, high: float = 1.0) -> float:
    """The area right of the ROC curve, specificity over recall, between two recalls; pROC's focus on sensitivity."""
    roc = roc_curve(c)
    return _window(roc.y, 1 - roc.x, low, high)


def partial_auc_mcclish(c: Counts, high: float) -> float:
    """(1 + (A - chance) / (best - chance)) / 2 of the area A up to FPR `high`: 0.5 for chance, 1 for best.

    chance = high² / 2, best = high. doi:10.1177/0272989X8900900307. Equals roc_auc_score(max_fpr=high).
    """
    chance = high**2 / 2
    return float(0.5 * (1 + ratio(partial_auc(c, 0, high) - chance, high - chance)))


def _window(x: Floats, y: Floats, low: float, high: float) -> float:
    if np.isnan(x).any() or np.isnan(y).any():
        return float("nan")
    inside = (x > low) & (x < high)
    left = y[x <= low][-1] if np.any(x == low) else np.interp(low, x, y)
    right = y[np.searchsorted(x, high)] if np.any(x == high) else np.interp(high, x, y)
    return float(np.trapezoid(np.r_[left, y[inside], right], np.r_[low, x[inside], high]))


def _best_beyond(c: Counts) -> Floats:
    """At each threshold the largest precision there or lower."""
    return np.maximum.accumulate(precision(c)[::-1])[::-1]


# Choice of a threshold --------------------------------------------------------------------------------------


def cost(c: Counts, false_positive: float, false_negative: float) -> Floats:
    """Mean cost of a row: (FP false_positive + FN false_negative) / all."""
    return ratio(c.fp * false_positive + c.fn * false_negative, c.total)


def cheapest(c: Counts, false_positive: float, false_negative: float) -> float:
    """The threshold of least cost, infinity (predict nothing positive) among them; the highest of equals."""
    c = from_none(c)
    return float(c.threshold[np.argmin(cost(c, false_positive, false_negative))])


def best_f(c: Counts, beta: float = 1.0) -> float:
    """The threshold of the largest F-beta, the highest of equals. Chosen on the rows it is judged by: optimistic."""
    return float(c.threshold[np.argmax(f_score(c, beta))]) if c.positives else float("nan")


def for_precision(c: Counts, target: float) -> float:
    """The lowest threshold with precision of at least `target`: the largest recall it allows. NaN when none does."""
    enough = np.flatnonzero(precision(c) >= target)
    return float(c.threshold[enough[-1]]) if enough.size else float("nan")


def for_recall(c: Counts, target: float) -> float:
    """The highest threshold with recall of at least `target`. NaN without positives."""
    enough = np.flatnonzero(recall(c) >= target)
    return float(c.threshold[enough[0]]) if enough.size else float("nan")


# All at once ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """What `summary` finds; auc_variance is DeLong's, roc has at most 1,000 points."""

    auc: float
    auc_variance: float
    average_precision: float
    ks: float
    best_f1: float
    best_threshold: float
    roc: Curve


def summary(c: Counts) -> Summary:
    """AUC with DeLong's variance, average precision, KS, the best F1 and a thin ROC curve, in one pass in blocks.

    The same numbers as the functions of these names, from the cache instead of from memory.

    >>> from evalkit.metrics.counts import count
    >>> s = summary(count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0]))
    >>> print(f"{s.auc:.4f} {s.average_precision:.4f} {s.ks:.4f} {s.best_f1:.4f} at {s.best_threshold}")
    0.8333 0.8333 0.5000 0.8000 at 0.5
    """
    area, squares, hits, gap, best, place = auc(c), np.zeros(2), 0.0, 0.0, -1.0, 0
    for number, s in enumerate(steps(c)):
        squares += placement_squares(c, s, area)
        hits += precision_sum(s)
        gap = max(gap, rate_gap(c, s))
        f1 = s.tp / (s.tp + s.fp + c.positives)
        if f1.max() > best:
            best, place = f1.max(), number * STEP + int(f1.argmax())
    size = np.array([c.positives, c.negatives])
    return Summary(
        auc=area,
        auc_variance=float(ratio(squares, size * (size - 1)).sum()),
        average_precision=float(ratio(hits, c.positives)),
        ks=float(ratio(gap, c.positives * c.negatives)),
        best_f1=float(2 * best) if c.positives else float("nan"),
        best_threshold=float(c.threshold[place]) if c.positives else float("nan"),
        roc=roc_curve(thin(c)),
    )
