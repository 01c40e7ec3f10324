"""Influence of each row on metrics of scores, in closed form or by cells, and the variances that
follow.

An influence value is the derivative of the metric with respect to the weight of the row. The values
of all rows add up to 0. Summed by unit (row, user) and squared, their total estimates the variance
of the metric, or of a difference of two metrics if the values of two models on the same rows are
subtracted first.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics.counts import Counts, Step, auc, average_precision, blocks, rate_gap, steps


def auc_variance(c: Counts, area: float | None = None) -> float:
    """S10 / P + S01 / N: DeLong's variance of AUC, from the variances of the placements of both
    classes.

    area: the AUC, if it is known. Undefined if a class has fewer than two rows.
    doi:10.2307/2531595. Equals pROC's var(method = "delong").

    >>> from evalkit.metrics.counts import count
    >>> print(f"{auc_variance(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])):.4f}")
    0.1250
    """
    area = auc(c) if area is None else area
    squares = np.zeros(2)
    for step in steps(c):
        squares = squares + placement_squares(c, step, area)
    size = np.array([c.positives, c.negatives])
    # a variance, squares / (size - 1), of each class, divided by the size of the class
    return float(ratio(squares, size * (size - 1)).sum())


def placement_squares(c: Counts, step: Step, area: float) -> Floats:
    """Sums of the squared distances of the placements from `area` in one step: for positives, for
    negatives.
    """
    # twice the rows of the other class that a row is ahead of, less twice the expected number
    of_positives = 2 * (c.negatives - step.fp) + step.n - 2 * c.negatives * area
    of_negatives = 2 * step.tp - step.p - 2 * c.positives * area
    of_positives *= of_positives
    of_negatives *= of_negatives
    squares = np.array([np.dot(step.p, of_positives), np.dot(step.n, of_negatives)])
    others = np.array([c.negatives, c.positives])
    return ratio(squares, 4.0 * others**2)


def auc_influence(c: Counts) -> Floats:
    """(placement - AUC) / size of the class: the influence of a positive (first row) and a negative
    at each threshold.

    It is what a row of weight 1 adds to AUC, to first order.

    >>> from evalkit.metrics.counts import count
    >>> auc_influence(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).tolist()
    [[0.125, 0.0, -0.125, -0.25], [-0.25, -0.125, 0.0, 0.125]]
    """
    # placements: the share of the other class that a row is ahead of, a tie counting one half;
    # c.positive and c.negative are by threshold, c.positives and c.negatives are totals
    of_positives = ratio(2 * (c.negatives - c.fp) + c.negative, 2 * c.negatives)
    of_negatives = ratio(2 * c.tp - c.positive, 2 * c.positives)
    sizes = np.array([[c.positives], [c.negatives]])
    return ratio(np.array([of_positives, of_negatives]) - auc(c), sizes)


def average_precision_influence(c: Counts) -> Floats:
    """The influence on average precision of a positive (first row) and a negative (second) at each
    threshold.

    With T = TP and M = TP + FP at a score, and sums over the positives at or below the row, it is
    (label (T/M - AP + sum 1/M) - sum T/M²) / P.

    >>> from evalkit.metrics.counts import count
    >>> average_precision_influence(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).round(4)[
    ...     :, :3
    ... ].tolist()
    [[0.1389, -0.1111, -0.0278], [-0.6111, -0.1111, -0.1111]]
    """
    lowest_first = [of_step for _, of_step in average_precision_by_step(c)]
    return np.concatenate([np.empty((2, 0)), *reversed(lowest_first)], axis=1)


def average_precision_by_step(
    c: Counts, value: float | None = None
) -> Iterator[tuple[Step, Floats]]:
    """Yield the steps of the table, the lowest scores first, each with its part of
    `average_precision_influence`.

    value: the average precision, where it is known.
    """
    value = average_precision(c) if value is None else value
    share = ratio(1.0, c.positives)
    sums_below = 0j  # of the terms of the steps before, which have lower scores
    for step in steps(c, backwards=True):
        rows = step.tp + step.fp
        precision = step.tp / rows
        # of each threshold p / M and p T / M², as parts of one complex number: one cumsum for both
        terms = np.empty(len(rows), complex)
        np.divide(step.p, rows, out=terms.real)
        np.multiply(terms.real, precision, out=terms.imag)
        sums = np.cumsum(terms[::-1])[::-1] + sums_below
        sums_below = sums[0]
        of_positives = precision + sums.real - sums.imag - value
        of_negatives = -sums.imag
        yield step, np.array([of_positives, of_negatives]) * share


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
    positives = float(c.positives)  # the total
    negatives = float(c.negatives)
    if positives < 2:
        return 0.0
    rows = c.tp + c.fp
    precision = c.tp / rows
    rows_left = np.maximum(rows - 1, 1)  # M = 1: the products below are 0
    # the precisions of a positive, added up over the rows that are left out one at a time
    no_negative = c.fp * c.tp / rows_left + (negatives - c.fp) * precision
    no_positive = (c.tp - 1.0) ** 2 / rows_left + (positives - c.tp) * precision
    # the average precisions without each row, added up; c.positive: the positives by threshold
    sum_of_values = c.positive @ no_negative / positives
    sum_of_values += c.positive @ no_positive / (positives - 1)
    n = positives + negatives
    return float((n - 1) * (sum_of_values / n - average_precision(c)))


def ks_influence(c: Counts) -> Floats:
    """The influence on max |TPR - FPR| of a positive (first row) and a negative (second) at each
    threshold.

    Evaluated at the threshold of the largest distance, the first one if several tie. With I = 1 for
    rows at or above it, else 0: (I - TPR) / P for positives and -(I - FPR) / N for negatives; with
    opposite signs if FPR > TPR.

    >>> from evalkit.metrics.counts import count
    >>> ks_influence(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])).round(4).tolist()
    [[0.1111, 0.1111, -0.2222, -0.2222], [-1.0, -1.0, 0.0, 0.0]]
    """
    index, sign = widest_gap(c)
    # of positives (first) and of negatives, whose rate lowers the gap
    rates = np.array([ratio(c.tp[index], c.positives), ratio(c.fp[index], c.negatives)])
    sizes = np.array([c.positives, -c.negatives])
    influence = np.empty((2, len(c.threshold)))
    influence[:, : index + 1] = (sign * ratio(1 - rates, sizes))[:, None]
    influence[:, index + 1 :] = (sign * ratio(-rates, sizes))[:, None]
    return influence


class WidestGap(NamedTuple):
    """The index of the threshold of the largest |TPR - FPR|, and the sign of TPR - FPR there."""

    place: int
    sign: float


def widest_gap(c: Counts) -> WidestGap:
    """The largest |TPR - FPR|, the first one if several tie.

    >>> from evalkit.metrics.counts import count
    >>> gap = widest_gap(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1]))
    >>> gap.place, float(gap.sign)
    (1, 1.0)
    """
    parts = list(blocks(c))
    widest = int(np.argmax([rate_gap(c, part) for part in parts]))
    part = parts[widest]
    gap = part.tp * c.negatives - part.fp * c.positives  # (TPR - FPR) P N
    index = int(np.argmax(np.abs(gap)))
    thresholds_before = sum(len(before.tp) for before in parts[:widest])
    return WidestGap(thresholds_before + index, np.sign(gap[index]))


def place(threshold: Floats, score: Floats) -> Ints:
    """The index of each score among thresholds, highest first; the last one for lower scores, whose
    rows have weight 0.
    """
    order = np.argsort(-score)  # neighbours in this order are found in the cache
    index = np.empty(len(score), np.int64)
    # both descend: negated, they ascend as searchsorted needs
    index[order] = np.searchsorted(-threshold, -score[order])
    return np.minimum(index, len(threshold) - 1)


# Cells: neighbouring thresholds together, what a threshold decides, and how they move a metric ----

Metric = Callable[[Counts], float]
CELLS = 1_024  # more do not change a standard error: tests/test_resampling.py


def cells(c: Counts, max_cells: int = CELLS) -> Ints:
    """The number of each threshold's cell, ascending from 0: one threshold per cell, or one run of
    thresholds that no positive separates, or `max_cells` cells.

    Runs lose nothing, and are used if they are few. Otherwise cells are about equal in recall, in
    false positive rate and in the logarithm of the rank: cells of equal mass would miss the few
    rows that decide the precision of the highest scores.

    >>> from evalkit.metrics.counts import count
    >>> cells(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), max_cells=4)
    array([0, 0, 1, 2, 2, 3])
    """
    starts = _cell_starts(c, max_cells)
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=len(c.threshold)))


def cell_ends(c: Counts, max_cells: int = CELLS) -> Counts:
    """The table at the last threshold of each cell, with the counts of all rows up to there.

    >>> from evalkit.metrics.counts import count
    >>> cell_ends(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), max_cells=4).fp
    array([2, 2, 4, 4])
    """
    last = np.empty(0, np.int64)
    if len(c.threshold):
        last = np.append(_cell_starts(c, max_cells)[1:], len(c.threshold)) - 1
    return Counts(c.threshold[last], c.tp[last], c.fp[last], c.positives, c.negatives)


def _cell_starts(c: Counts, max_cells: int) -> Ints:
    """The first threshold of each cell, by index."""
    if len(c.threshold) <= max_cells:
        return np.arange(len(c.threshold))
    has_positives = np.append(c.tp[:1] > 0, c.tp[1:] > c.tp[:-1])
    # a run begins where a threshold has positives, or the one before has
    begins_run = np.append(True, has_positives[1:] | has_positives[:-1])
    if np.count_nonzero(begins_run) <= max_cells:
        return np.flatnonzero(begins_run)
    cell_of = _cells_by_progress(c, max_cells)
    has_weights = c.tp.dtype.kind == "f"
    if has_weights:  # rounding may let the progress fall: all thresholds are looked at
        cell = cell_of(np.arange(len(c.threshold)))
        return np.flatnonzero(np.append(True, np.diff(cell) > 0))
    return _first_of_each_cell(cell_of, max_cells, len(c.threshold))


def _cells_by_progress(c: Counts, max_cells: int) -> Callable[[Ints], Ints]:
    """A function from indices of thresholds to cells that are about equal in recall, false positive
    rate and the logarithm of the rank.
    """

    def progress(index: Ints | slice) -> Floats:
        """The sum of recall, false positive rate and relative logarithm of the rank."""
        tp = c.tp[index]
        fp = c.fp[index]
        depth = np.log1p(tp + fp) / np.log1p(c.total)
        return np.asarray(ratio(tp, c.positives) + ratio(fp, c.negatives) + depth)

    total = progress(slice(-1, None))

    def cell_of(index: Ints) -> Ints:
        """The cells of thresholds by index."""
        cell = (progress(index) / total * max_cells).astype(np.int64)
        return np.minimum(cell, max_cells - 1)

    return cell_of


def _first_of_each_cell(cell_of: Callable[[Ints], Ints], cells: int, size: int) -> Ints:
    """The first threshold of each cell that has one, of `size` thresholds whose cells ascend, by
    bisection for all cells at once: most thresholds need no look.
    """
    # for each cell the first index is between these two, both included
    low = np.zeros(cells, np.int64)
    high = np.full(cells, size - 1)
    wanted = np.arange(cells)
    while (low < high).any():
        middle = (low + high) // 2
        reached = cell_of(middle) >= wanted
        low = np.where(reached, low, middle + 1)
        high = np.where(reached, middle, high)
    exists = cell_of(low) >= wanted
    return np.unique(np.append(0, low[exists]))


def pool(c: Counts, cell: Ints) -> Counts:
    """The table with one threshold per cell, the mean score of its rows.

    >>> from evalkit.metrics.counts import count
    >>> pool(count([4, 3, 2, 1], [1, 0, 1, 0]), np.array([0, 0, 1, 1])).threshold
    array([3.5, 1.5])
    """
    last = np.flatnonzero(np.append(np.diff(cell) > 0, True))
    rows = c.positive + c.negative
    score = ratio(np.bincount(cell, rows * c.threshold), np.bincount(cell, rows))
    has_one_threshold = np.bincount(cell) == 1
    # its score without rounding
    score[has_one_threshold] = c.threshold[last[has_one_threshold]]
    return Counts(score, c.tp[last], c.fp[last], c.positives, c.negatives)


def pooled(c: Counts) -> Counts:
    """The table pooled into its cells."""
    return pool(c, cells(c))


class Derivatives(NamedTuple):
    """The derivative of a metric with respect to the weight of a positive, and of a negative, at
    each threshold.
    """

    positive: Floats
    negative: Floats


def derivatives(c: Counts, metric: Metric) -> Derivatives:
    """The derivatives of the metric by one-sided differences; over all rows of the table they add
    up to 0.
    """
    step = 1e-4 * c.total  # the added weight: small, but far above rounding error
    value = metric(c)
    k = len(c.threshold)
    if np.isnan(value):
        return Derivatives(np.full(k, np.nan), np.full(k, np.nan))
    added = np.zeros((k, k))
    added[np.triu_indices(k)] = step  # row i adds to threshold i and to all below it
    p, n = c.positives, c.negatives
    of_positive = [metric(Counts(c.threshold, c.tp + row, c.fp, p + step, n)) for row in added]
    of_negative = [metric(Counts(c.threshold, c.tp, c.fp + row, p, n + step)) for row in added]
    positive = (np.array(of_positive) - value) / step
    negative = (np.array(of_negative) - value) / step
    # over the rows; c.positive and c.negative are the rows by threshold
    mean = (np.dot(c.positive, positive) + np.dot(c.negative, negative)) / c.total
    return Derivatives(positive - mean, negative - mean)


_DERIVATIVES: WeakKeyDictionary[Counts, dict[Metric, Derivatives]] = WeakKeyDictionary()


def numerical(c: Counts, metric: Metric) -> Floats:
    """The influence on the metric of a positive (first row) and a negative (second) at each
    threshold, by numerical derivatives that are the same within a cell.

    The derivatives in the cells are stored with the table, because the interval and each comparison
    of a system use them.
    """
    cell = cells(c)
    stored = _DERIVATIVES.setdefault(c, {})
    if metric not in stored:
        stored[metric] = derivatives(pool(c, cell), metric)
    return np.array(stored[metric])[:, cell]


def decision(c: Counts, threshold: float) -> Counts:
    """The table of the decisions at a threshold: two cells, at or above it and below, with scores 1
    and 0.

    Its resamples are exactly those of the rows for every metric at that threshold.

    >>> from evalkit.metrics.counts import count
    >>> d = decision(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0]), 0.5)
    >>> d.tp, d.fp
    (array([1, 2]), array([1, 2]))
    """
    # The number of scores that reach the threshold. Scores descend, and bisect, unlike
    # searchsorted, needs no ascending copy of them.
    reached = bisect_right(c.threshold, -threshold, key=lambda score: -score)
    tp = c.tp[reached - 1] if reached else 0
    fp = c.fp[reached - 1] if reached else 0
    return Counts.of(np.array([1.0, 0.0]), np.array([tp, c.positives]), np.array([fp, c.negatives]))
