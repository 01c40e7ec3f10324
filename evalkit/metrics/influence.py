"""Influence of each row on metrics of scores, in closed form or by cells, and the variances that
follow.

An influence value is the derivative of the metric with respect to the weight of the row. The values
of all rows add up to 0. Summed by unit (row, user) and squared, their total estimates the variance
of the metric, or of a difference of two metrics if the values of two models on the same rows are
subtracted first.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics.counts import Counts, Step, auc, average_precision, blocks, rate_gap, steps


def auc_variance(c: Counts, area: float | None = None) -> float:
    """S10 / P + S01 / N: DeLong's variance of AUC, from the variances of the placements of both
    classes.

    area: the AUC, where it is known. Undefined if a class has fewer than two rows.
    doi:10.2307/2531595. Equals pROC's var(method = "delong").

    >>> from evalkit.metrics.counts import count
    >>> print(f"{auc_variance(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])):.4f}")
    0.1250
    """
    area = auc(c) if area is None else area
    squares = sum((placement_squares(c, step, area) for step in steps(c)), start=np.zeros(2))
    size = np.array([c.positives, c.negatives])
    return float(ratio(squares, size * (size - 1)).sum())


def placement_squares(c: Counts, step: Step, area: float) -> Floats:
    """Sums of the squared distances of the placements from `area` in one step: for positives, for
    negatives.
    """
    of_positives = 2 * (c.negatives - step.fp) + step.n - 2 * c.negatives * area
    of_negatives = 2 * step.tp - step.p - 2 * c.positives * area
    of_positives *= of_positives
    of_negatives *= of_negatives
    squares = np.array([np.dot(step.p, of_positives), np.dot(step.n, of_negatives)])
    return ratio(squares, 4.0 * np.array([c.negatives, c.positives]) ** 2)


def auc_bins(c: Counts) -> Floats:
    """(placement - AUC) / size of the class: the influence of a positive (first row) and a negative
    at each threshold.

    It is what a row of weight 1 adds to AUC, to first order.

    >>> from evalkit.metrics.counts import count
    >>> auc_bins(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).tolist()
    [[0.125, 0.0, -0.125, -0.25], [-0.25, -0.125, 0.0, 0.125]]
    """
    of_positives = ratio(2 * (c.negatives - c.fp) + c.negative, 2 * c.negatives)
    of_negatives = ratio(2 * c.tp - c.positive, 2 * c.positives)
    return ratio(
        np.array([of_positives, of_negatives]) - auc(c), np.array([[c.positives], [c.negatives]])
    )


def average_precision_bins(c: Counts) -> Floats:
    """The influence on average precision of a positive (first row) and a negative (second) at each
    threshold.

    With T = TP and M = TP + FP at a score, and sums over the positives at or below the row, it is
    (label (T/M - AP + sum 1/M) - sum T/M²) / P.

    >>> from evalkit.metrics.counts import count
    >>> average_precision_bins(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).round(4)[:, :3].tolist()
    [[0.1389, -0.1111, -0.0278], [-0.6111, -0.1111, -0.1111]]
    """
    parts = [moved for _, moved in average_precision_moves(c)]
    return np.concatenate([np.empty((2, 0)), *reversed(parts)], axis=1)


def average_precision_moves(c: Counts, value: float | None = None) -> Iterator[tuple[Step, Floats]]:
    """Yield the steps of the table, the lowest scores first, each with its part of
    `average_precision_bins`.

    value: the average precision, where it is known.
    """
    value = average_precision(c) if value is None else value
    share = ratio(1.0, c.positives)
    after = 0j
    for step in steps(c, backwards=True):
        rows = step.tp + step.fp
        precision = step.tp / rows
        # of each threshold p / M, and p T / M²: added up from below in one run
        terms = np.empty(len(rows), complex)
        np.divide(step.p, rows, out=terms.real)
        np.multiply(terms.real, precision, out=terms.imag)
        below = np.cumsum(terms[::-1])[::-1] + after
        after = below[0]
        precision += below.real
        moved = np.array([precision - below.imag - value, -below.imag])
        moved *= share
        yield step, moved


def average_precision_bias(c: Counts) -> float:
    """The upward bias of average precision, by the jackknife, for unweighted rows; 0 below two
    positives.

    A positive counts itself in its precision, which matters if there are few positives. With T, F
    and M = T + F at a score of p positives, leaving out a negative above it makes T / (M − 1), a
    positive (T − 1) / (M − 1). Quenouille 1956, doi:10.1093/biomet/43.3-4.353.

    >>> from evalkit.metrics.counts import count
    >>> round(average_precision_bias(count([0.9, 0.8, 0.7, 0.6, 0.5], [0, 1, 0, 0, 1])), 4)
    0.2
    """
    positives = float(c.positives)
    negatives = float(c.negatives)
    if positives < 2:
        return 0.0
    rows = c.tp + c.fp
    precision = c.tp / rows
    fewer = np.maximum(rows - 1, 1)
    without_one = c.positive @ (c.fp * c.tp / fewer + (negatives - c.fp) * precision) / positives
    without_one += (
        c.positive @ ((c.tp - 1.0) ** 2 / fewer + (positives - c.tp) * precision) / (positives - 1)
    )
    n = positives + negatives
    return float((n - 1) * (without_one / n - average_precision(c)))


def ks_bins(c: Counts) -> Floats:
    """The influence on max |TPR - FPR| of a positive (first row) and a negative (second) at each
    threshold.

    Evaluated at the threshold of the largest distance, the first one if several tie. With I = 1 for
    rows at or above it, else 0: (I - TPR) / P for positives and -(I - FPR) / N for negatives; with
    opposite signs if FPR > TPR.

    >>> from evalkit.metrics.counts import count
    >>> ks_bins(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])).round(4).tolist()
    [[0.1111, 0.1111, -0.2222, -0.2222], [-1.0, -1.0, 0.0, 0.0]]
    """
    top, sign = widest(c)
    share = np.array([ratio(c.tp[top], c.positives), ratio(c.fp[top], c.negatives)])
    size = np.array([c.positives, -c.negatives])
    bins = np.empty((2, len(c.threshold)))
    bins[:, : top + 1] = (sign * ratio(1 - share, size))[:, None]
    bins[:, top + 1 :] = (sign * ratio(-share, size))[:, None]
    return bins


def widest(c: Counts) -> tuple[int, float]:
    """The index of the largest |TPR - FPR|, the first one if several tie, and the sign of TPR - FPR
    there.

    >>> from evalkit.metrics.counts import count
    >>> place, sign = widest(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1]))
    >>> place, float(sign)
    (1, 1.0)
    """
    parts = list(blocks(c))
    block = int(np.argmax([rate_gap(c, part) for part in parts]))
    gap = parts[block].tp * c.negatives - parts[block].fp * c.positives
    here = int(np.argmax(np.abs(gap)))
    return sum(len(part.tp) for part in parts[:block]) + here, np.sign(gap[here])


def place(threshold: Floats, score: Floats) -> Ints:
    """The index of each score among thresholds, highest first; the last one for lower scores, whose
    rows have weight 0.
    """
    order = np.argsort(-score)  # neighbours in this order are found in the cache
    place = np.empty(len(score), np.int64)
    place[order] = np.searchsorted(-threshold, -score[order])
    return np.minimum(place, len(threshold) - 1)


# Cells: neighbouring thresholds together, what a threshold decides, and how they move a metric ----

Metric = Callable[[Counts], float]
CELLS = 1_024  # more do not change a standard error: tests/test_resampling.py


def cells(c: Counts, most: int = CELLS) -> Ints:
    """The number of each threshold's cell, ascending from 0: one threshold per cell, exact runs, or
    `most` cells.

    `runs` are used if they are few. Otherwise cells are about equal in recall, in false positive
    rate and in the logarithm of the rank: cells of equal mass would miss the few rows that decide
    the precision of the highest scores.

    >>> from evalkit.metrics.counts import count
    >>> cells(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), most=4)
    array([0, 0, 1, 2, 2, 3])
    """
    starts = _starts(c, most)
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=len(c.threshold)))


def ends(c: Counts, most: int = CELLS) -> Counts:
    """The table at the last threshold of each cell, with the counts of all rows up to there.

    >>> from evalkit.metrics.counts import count
    >>> ends(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), most=4).fp
    array([2, 2, 4, 4])
    """
    last = (
        np.append(_starts(c, most)[1:], len(c.threshold)) - 1
        if len(c.threshold)
        else np.empty(0, np.int64)
    )
    return Counts(c.threshold[last], c.tp[last], c.fp[last], c.positives, c.negatives)


def _starts(c: Counts, most: int) -> Ints:
    """The first threshold of each cell."""
    if len(c.threshold) <= most:
        return np.arange(len(c.threshold))
    has = np.append(c.tp[:1] > 0, c.tp[1:] > c.tp[:-1])
    # where a threshold has positives, or the one before has
    run = np.append(True, has[1:] | has[:-1])
    if np.count_nonzero(run) <= most:
        return np.flatnonzero(run)
    part = _parts(c, most)
    if c.tp.dtype.kind == "f":
        every = part(np.arange(len(c.threshold)))
        return np.flatnonzero(np.append(True, np.diff(every) > 0))
    # of whole numbers it rises: most thresholds need no look
    return _first(part, most, len(c.threshold))


def _parts(c: Counts, most: int) -> Callable[[Ints], Ints]:
    """The part of the table that each threshold lies in."""

    def spread(at: Ints | slice) -> Floats:
        tp = c.tp[at]
        fp = c.fp[at]
        return (
            ratio(tp, c.positives) + ratio(fp, c.negatives) + np.log1p(tp + fp) / np.log1p(c.total)
        )

    whole = spread(slice(-1, None))
    return lambda at: np.minimum((spread(at) / whole * most).astype(np.int64), most - 1)


def _first(part: Callable[[Ints], Ints], most: int, size: int) -> Ints:
    """The first threshold of each part that has one, of `size` thresholds, by halving."""
    low = np.zeros(most, np.int64)
    high = np.full(most, size - 1)
    wanted = np.arange(most)
    while (low < high).any():
        middle = (low + high) // 2
        there = part(middle) >= wanted
        low = np.where(there, low, middle + 1)
        high = np.where(there, middle, high)
    return np.unique(np.append(0, low[part(low) >= wanted]))


def pool(c: Counts, cell: Ints) -> Counts:
    """The table with one threshold per cell, the mean score of its rows.

    >>> from evalkit.metrics.counts import count
    >>> pool(count([4, 3, 2, 1], [1, 0, 1, 0]), np.array([0, 0, 1, 1])).threshold
    array([3.5, 1.5])
    """
    last = np.flatnonzero(np.append(np.diff(cell) > 0, True))
    rows = c.positive + c.negative
    score = ratio(np.bincount(cell, rows * c.threshold), np.bincount(cell, rows))
    exact = np.bincount(cell) == 1
    score[exact] = c.threshold[last[exact]]
    return Counts(score, c.tp[last], c.fp[last], c.positives, c.negatives)


def pooled(c: Counts) -> Counts:
    """The table pooled into its cells."""
    return pool(c, cells(c))


def derivatives(c: Counts, metric: Metric) -> tuple[Floats, Floats]:
    """The derivative of the metric with respect to the weight of a positive, and of a negative, at
    each threshold.

    By one-sided differences; over all rows of the table they add up to 0.
    """
    step = 1e-4 * c.total
    value = metric(c)
    k = len(c.threshold)
    if np.isnan(value):
        return np.full(k, np.nan), np.full(k, np.nan)
    more = np.zeros((k, k))
    more[np.triu_indices(k)] = step  # row i adds to threshold i and to all below it
    p, n = c.positives, c.negatives
    positive = np.array([metric(Counts(c.threshold, c.tp + m, c.fp, p + step, n)) for m in more])
    negative = np.array([metric(Counts(c.threshold, c.tp, c.fp + m, p, n + step)) for m in more])
    positive = (positive - value) / step
    negative = (negative - value) / step
    middle = (np.dot(c.positive, positive) + np.dot(c.negative, negative)) / c.total
    return positive - middle, negative - middle


_KNOWN: WeakKeyDictionary[Counts, dict[Metric, tuple[Floats, Floats]]] = WeakKeyDictionary()


def moves(c: Counts, metric: Metric) -> Floats:
    """The influence on the metric of a positive (first row) and a negative (second) at each
    threshold, by cell.

    The derivatives in the cells are stored with the table, because the interval and each comparison
    of a system use them.
    """
    cell = cells(c)
    known = _KNOWN.setdefault(c, {})
    if metric not in known:
        known[metric] = derivatives(pool(c, cell), metric)
    return np.array(known[metric])[:, cell]


def decision(c: Counts, threshold: float) -> Counts:
    """The table of the decisions at a threshold: two cells, at or above it and below, with scores 1
    and 0.

    Its resamples are exactly those of the rows for every metric at that threshold.

    >>> from evalkit.metrics.counts import count
    >>> d = decision(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0]), 0.5)
    >>> d.tp, d.fp
    (array([1, 2]), array([1, 2]))
    """
    # the array is never copied
    above = bisect_right(c.threshold, -threshold, key=lambda score: -score)
    tp, fp = (column[above - 1] if above else 0 for column in (c.tp, c.fp))
    return Counts.of(np.array([1.0, 0.0]), np.array([tp, c.positives]), np.array([fp, c.negatives]))
