"""Influence of each row on metrics of scores, in closed form or by cells, and the variances that
follow.

An influence value is the derivative of the metric with respect to the weight of the row. The values
of all rows add up to 0. Summed by unit (row, user) and squared, their total estimates the variance
of the metric, or of a difference of two metrics if the values of two models on the same rows are
subtracted first.
"""

import operator
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics.counts import (
    Counts,
    Step,
    auc,
    average_precision,
    blocks,
    rate_gap,
    run_ends,
    run_numbers,
    runs,
    steps,
    total_before,
)


def auc_variance(c: Counts, area: float | None = None) -> float:
    """Variance of AUC by DeLong: S10 / P + S01 / N, with the sample variances S10 of the placement
    values of the P positives and S01 of those of the N negatives.

    The placement value of a positive is the share of the negatives below it, that of a negative
    the share of the positives above it, a tie counting one half; the mean of either is AUC. area:
    the AUC, if it is known. Undefined if a class has fewer than two rows. doi:10.2307/2531595.
    Equals pROC's var(method = "delong").

    >>> from evalkit.metrics.counts import count
    >>> print(f"{auc_variance(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])):.4f}")
    0.1250
    """
    area = auc(c) if area is None else area
    squares = np.zeros(2)  # of positives, of negatives
    for step in steps(c):  # runs of thresholds, whose arrays stay in the cache
        squares = squares + placement_squares(c, step, area)
    size = np.array([c.positives, c.negatives])
    # squares / (size - 1) is the sample variance of a class; its mean varies by that / size
    variance_of_mean = ratio(squares, size * (size - 1))
    return float(variance_of_mean.sum())


def placement_squares(c: Counts, step: Step, area: float) -> Floats:
    """Σ (placement value - AUC)² over the rows of one step of thresholds: of the positives, then of
    the negatives; shape (2,).

    The placement value of a positive is the share of the negatives below it, that of a negative the
    share of the positives above it, a tie counting one half. area: the AUC, the mean of either.
    """
    # 2 N times the placement value of a positive: a negative below counts 2, a tied one 1
    twice_below = 2 * (c.negatives - step.fp) + step.n
    # 2 P times the placement value of a negative: a positive above counts 2, a tied one 1
    twice_above = 2 * step.tp - step.p
    of_positives = twice_below - 2 * c.negatives * area
    of_negatives = twice_above - 2 * c.positives * area
    of_positives *= of_positives  # squared in place
    of_negatives *= of_negatives
    # each score has several rows: step.p positives, step.n negatives
    squares = np.array([np.dot(step.p, of_positives), np.dot(step.n, of_negatives)])
    # the factors 2 N and 2 P of the placement values are taken off their squares
    size_of_other_class = np.array([c.negatives, c.positives])
    return ratio(squares, 4.0 * size_of_other_class**2)


def auc_influence(c: Counts) -> Floats:
    """(placement value - AUC) / size of the class: the influence on AUC of a positive (first row)
    and of a negative (second row) at each threshold; shape (2, thresholds).

    AUC is the mean of the placement values of either class (see `auc_variance`), so that this is
    what a row of weight 1 adds to AUC, to first order.

    >>> from evalkit.metrics.counts import count
    >>> auc_influence(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).tolist()
    [[0.125, 0.0, -0.125, -0.25], [-0.25, -0.125, 0.0, 0.125]]
    """
    area = auc(c)
    influence = np.empty((2, len(c.threshold)))
    # by runs of thresholds, whose arrays stay in the cache; not strict: a table without thresholds
    # has no step, but one run of length 0
    for step, (of_positives, of_negatives) in zip(steps(c), runs(influence), strict=False):
        # a negative below counts 2, a tied one 1: step.n are those with exactly this score
        twice_below = 2 * (c.negatives - step.fp) + step.n
        # a positive above counts 2, a tied one 1
        twice_above = 2 * step.tp - step.p
        of_positives[:] = ratio(ratio(twice_below, 2 * c.negatives) - area, c.positives)
        of_negatives[:] = ratio(ratio(twice_above, 2 * c.positives) - area, c.negatives)
    return influence


def average_precision_influence(c: Counts) -> Floats:
    """The influence on average precision (AP) of a positive (first row) and of a negative (second
    row) at each threshold; shape (2, thresholds).

    AP is the mean over the P positives of the precision T/M at their score, with T = TP and M =
    TP + FP. A row of weight w changes it in three ways: it lowers the precision at each score at or
    below its own, as M grows: - w T/M²; if it is positive, it raises it there, as T grows: + w
    1/M, and it is one more term of the mean: w (T/M - AP). With sums over the positives at or below
    the row: (label (T/M - AP + Σ 1/M) - Σ T/M²) / P.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.9, 0.8, 0.7], [1, 0, 1])
    >>> average_precision_influence(c).round(4).tolist()
    [[0.1389, -0.1111, -0.0278], [-0.6111, -0.1111, -0.1111]]
    """
    lowest_first = [influence for _, influence in average_precision_by_step(c)]
    no_threshold = np.empty((2, 0))  # the result of an empty table
    return np.concatenate([no_threshold, *reversed(lowest_first)], axis=1)


def average_precision_by_step(
    c: Counts, value: float | None = None
) -> Iterator[tuple[Step, Floats]]:
    """Yield the steps (runs of thresholds) of the table, the step of the lowest scores first. With
    each step comes the influence on average precision (AP) of a positive (first row) and of a
    negative (second row) at each of its thresholds, which descend as in the table. NaN without
    positives.

    AP is the mean over the P positives of the precision T/M at their score, with T = TP and M =
    TP + FP. Each row lowers the precision at the scores at or below its own by T/M², as M grows. A
    positive also raises it there by 1/M, as T grows, and it is one more term of the mean, T/M - AP.
    The influence is (label (T/M - AP + Σ 1/M) - Σ T/M²) / P, with sums over the positives at or
    below the row. value: AP, if it is known.
    """
    value = average_precision(c) if value is None else value
    share = ratio(1.0, c.positives)
    # The two sums over the positives at or below a row, Σ 1/M and Σ T/M², are the real and the
    # imaginary part of one array, so that one cumsum makes both.
    sums_of_steps_below = 0j
    for step in steps(c, backwards=True):  # runs of thresholds, the lowest first
        rows = step.tp + step.fp  # M
        precision = step.tp / rows  # T/M
        terms = np.empty(len(rows), complex)
        np.divide(step.p, rows, out=terms.real)  # 1/M of each of the positives of a score
        np.multiply(terms.real, precision, out=terms.imag)  # T/M² of each
        # from the lowest threshold of the step upwards
        sums_within_step = np.cumsum(terms[::-1])[::-1]
        sums = sums_within_step + sums_of_steps_below
        sums_of_steps_below = sums[0]
        of_positives = precision + sums.real - sums.imag - value
        of_negatives = -sums.imag
        yield step, np.array([of_positives, of_negatives]) * share


def average_precision_bias(c: Counts) -> float:
    """Upward bias of average precision by the jackknife, for unweighted rows: (n - 1) (mean of the
    values without one row each - value); 0 below two positives.

    There is a bias because a positive counts itself in its precision, which matters if there are
    few positives. Quenouille 1956, doi:10.1093/biomet/43.3-4.353.

    >>> from evalkit.metrics.counts import count
    >>> round(average_precision_bias(count([0.9, 0.8, 0.7, 0.6, 0.5], [0, 1, 0, 0, 1])), 4)
    0.2
    """
    positives = float(c.positives)  # the total; c.positive has those of each threshold
    negatives = float(c.negatives)
    if positives < 2:
        return 0.0
    rows = c.tp + c.fp  # at or above each threshold
    precision = c.tp / rows
    other_rows = np.maximum(rows - 1, 1)  # where rows is 1 the products below are 0
    # The precision of a positive at each threshold, summed over N tables in each of which one of
    # the N negatives is missing. In FP of these tables it was at or above the threshold: the
    # precision is TP / (rows - 1). In the others the precision is unchanged.
    sum_without_negative = c.fp * c.tp / other_rows + (negatives - c.fp) * precision
    # The same for P - 1 tables in each of which one other positive is missing. In TP - 1 of these
    # it was at or above the threshold: the precision is (TP - 1) / (rows - 1).
    other_positives = c.tp - 1.0
    sum_without_positive = other_positives**2 / other_rows + (positives - c.tp) * precision
    # Average precision, summed over the n tables in each of which one row is missing. It is a mean
    # over P positives if that is a negative, and over P - 1 if it is a positive. c.positive has the
    # number of positives of each score.
    sum_of_values = c.positive @ sum_without_negative / positives
    sum_of_values += c.positive @ sum_without_positive / (positives - 1)
    n = positives + negatives
    mean_value = sum_of_values / n
    return float((n - 1) * (mean_value - average_precision(c)))


def ks_influence(c: Counts) -> Floats:
    """The influence on KS = max |TPR - FPR| of a positive (first row) and of a negative (second
    row) at each threshold; shape (2, thresholds).

    The threshold of the largest distance, the first one if several tie, is taken as fixed. TPR is a
    mean over positives of I = 1 at or above it, else 0, so that a positive adds (I - TPR) / P, and
    likewise a negative -(I - FPR) / N; with opposite signs if FPR > TPR there.

    >>> from evalkit.metrics.counts import count
    >>> ks_influence(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])).round(4).tolist()
    [[0.1111, 0.1111, -0.2222, -0.2222], [-1.0, -1.0, 0.0, 0.0]]
    """
    index, sign = widest_gap(c)
    tpr = ratio(c.tp[index], c.positives)
    fpr = ratio(c.fp[index], c.negatives)
    rates = np.array([tpr, fpr])
    signed_sizes = np.array([c.positives, -c.negatives])  # a higher FPR lowers TPR - FPR
    at_or_above = sign * ratio(1 - rates, signed_sizes)  # I = 1
    below = sign * ratio(-rates, signed_sizes)  # I = 0
    influence = np.empty((2, len(c.threshold)))
    influence[:, : index + 1] = at_or_above[:, None]
    influence[:, index + 1 :] = below[:, None]
    return influence


class WidestGap(NamedTuple):
    """The threshold of the largest |TPR - FPR|. threshold_index: highest threshold first. sign: of
    TPR - FPR there.
    """

    threshold_index: int
    sign: float


def widest_gap(c: Counts) -> WidestGap:
    """The index of the threshold of the largest |TPR - FPR|, the first one if several tie, and the
    sign of TPR - FPR there.

    >>> from evalkit.metrics.counts import count
    >>> gap = widest_gap(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1]))
    >>> gap.threshold_index, float(gap.sign)
    (1, 1.0)
    """
    runs = list(blocks(c))  # short runs of thresholds: no array is as long as the table
    largest_distances = [rate_gap(c, run) for run in runs]
    widest_run = int(np.argmax(largest_distances))  # the first one if several tie
    run = runs[widest_run]
    gap = run.tp * c.negatives - run.fp * c.positives  # (TPR - FPR) P N, exact in whole numbers
    index = int(np.argmax(np.abs(gap)))
    thresholds_before = sum(len(earlier.tp) for earlier in runs[:widest_run])
    sign = np.sign(gap[index])
    return WidestGap(thresholds_before + index, sign)


def threshold_index(threshold: Floats, score: Floats) -> Ints:
    """The index of each score among the thresholds, of which it is one; shape of `score`.

    threshold: the distinct scores, highest first. A score below all of them, which only rows of
    weight 0 have, gets the last index.
    """
    highest_first = np.argsort(-score)  # neighbours in this order are found in the cache
    index = np.empty(len(score), np.int64)
    # both descend: negated, they ascend as searchsorted needs
    index[highest_first] = np.searchsorted(-threshold, -score[highest_first])
    return np.minimum(index, len(threshold) - 1)


# Cells of neighbouring thresholds, numerical derivatives, and decisions at a threshold ------------

Metric = Callable[[Counts], float]
CELLS = 1_024  # more do not change a standard error: tests/test_resampling.py


def cells(c: Counts, max_cells: int = CELLS) -> Ints:
    """Group neighbouring thresholds into at most `max_cells` cells: the number of each threshold's
    cell, ascending from 0; shape (thresholds,).

    If there are few enough thresholds, each is a cell. Else, if they are few enough, the cells are
    the runs of thresholds without positives and the single thresholds with positives: rows of
    such a run can be exchanged, so that this loses nothing. Otherwise cells are about equal in
    recall, in false positive rate and in the logarithm of the rank: cells of equal mass would miss
    the few rows that decide the precision of the highest scores.

    >>> from evalkit.metrics.counts import count
    >>> cells(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), max_cells=4)
    array([0, 0, 1, 2, 2, 3])
    """
    starts = _cell_starts(c, max_cells)
    size = np.diff(starts, append=len(c.threshold))  # thresholds of each cell
    return run_numbers(size)


def cell_ends(c: Counts, max_cells: int = CELLS) -> Counts:
    """The table at the last threshold of each of the `cells` only; counts stay cumulative.

    >>> from evalkit.metrics.counts import count
    >>> cell_ends(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), max_cells=4).fp
    array([2, 2, 4, 4])
    """
    last = np.empty(0, np.int64)
    if len(c.threshold):
        # a cell ends just before the next one starts, the last one at the end of the table
        next_starts = np.append(_cell_starts(c, max_cells)[1:], len(c.threshold))
        last = next_starts - 1
    return Counts(c.threshold[last], c.tp[last], c.fp[last], c.positives, c.negatives)


def _cell_starts(c: Counts, max_cells: int) -> Ints:
    """The index of the first threshold of each cell (group of neighbouring thresholds), of which
    there are at most `max_cells`.

    Three ways are tried, the finest first. Each threshold is a cell. Each threshold with positives
    is a cell, and each run of thresholds without positives. Cells are about equal in
    `CellsByProgress.progress`: they have few thresholds where a rate rises fast, and among the
    highest scores.
    """
    if len(c.threshold) <= max_cells:
        return np.arange(len(c.threshold))
    has_positives = c.positive > 0
    # a cell begins at each threshold with positives, and at the one after it
    begins_after_first = has_positives[1:] | has_positives[:-1]
    begins_cell = np.append(True, begins_after_first)
    if np.count_nonzero(begins_cell) <= max_cells:
        return np.flatnonzero(begins_cell)
    by_progress = CellsByProgress(c, max_cells)
    has_weights = c.tp.dtype.kind == "f"
    if has_weights:  # rounding may let the progress fall: no bisection, all thresholds are read
        cell = by_progress.cells_at(np.arange(len(c.threshold)))
        rises = np.diff(cell) > 0
        return np.flatnonzero(np.append(True, rises))
    return by_progress.first_of_each_cell()


@dataclass(frozen=True, eq=False)
class CellsByProgress:
    """Cells of thresholds that are about equal in progress: the sum of recall, false positive rate
    and relative logarithm of the rank, each of which rises along the thresholds.
    """

    table: Counts
    max_cells: int

    def progress(self, index: Ints | slice) -> Floats:
        """Recall + false positive rate + log(1 + rank) / log(1 + n) at thresholds by index, with n
        rows, of which `rank` are at or above the threshold. The rate of a class without rows is 0.
        """
        c = self.table
        tp = c.tp[index]
        fp = c.fp[index]
        depth = np.log1p(tp + fp) / np.log1p(c.total)
        recall = np.nan_to_num(ratio(tp, c.positives))
        false_positive_rate = np.nan_to_num(ratio(fp, c.negatives))
        progress: Floats = recall + false_positive_rate + depth
        return progress

    @cached_property
    def _progress_at_end(self) -> Floats:
        """The progress at the last threshold, the largest; shape (1,)."""
        return self.progress(slice(-1, None))

    def cells_at(self, index: Ints) -> Ints:
        """The cells, from 0 to max_cells - 1, of thresholds by index."""
        share = self.progress(index) / self._progress_at_end
        cell = (share * self.max_cells).astype(np.int64)
        return np.minimum(cell, self.max_cells - 1)

    def first_of_each_cell(self) -> Ints:
        """The index of the first threshold of each cell, ascending, without cells that have no
        threshold. The cells of the thresholds ascend, so that a bisection for all cells at once
        finds them: the cell of most thresholds is never computed.
        """
        cells = np.arange(self.max_cells)
        # for each cell the first threshold in it or in a later one lies between these indices
        low = np.zeros(self.max_cells, np.int64)
        last_threshold = len(self.table.threshold) - 1
        high = np.full(self.max_cells, last_threshold)
        while (low < high).any():
            middle = (low + high) // 2
            reaches_cell = self.cells_at(middle) >= cells
            low = np.where(reaches_cell, low, middle + 1)
            high = np.where(reaches_cell, middle, high)
        is_found = self.cells_at(low) >= cells  # else even the last threshold is in a cell before
        starts = np.append(0, low[is_found])
        return np.unique(starts)  # a cell without thresholds repeats the next


def pool(c: Counts, cell: Ints) -> Counts:
    """The table with one threshold per cell, a group of neighbouring thresholds: the mean score of
    the rows of the cell.

    cell: the number of each threshold's cell, ascending from 0, as from `cells`.

    >>> from evalkit.metrics.counts import count
    >>> pool(count([4, 3, 2, 1], [1, 0, 1, 0]), np.array([0, 0, 1, 1])).threshold
    array([3.5, 1.5])
    """
    last = run_ends(cell)  # the last threshold of each cell
    rows = c.rows
    sum_of_scores = np.bincount(cell, rows * c.threshold)
    mean_score = ratio(sum_of_scores, np.bincount(cell, rows))
    # exactly the score of a cell with a single one: n score / n may differ from it by rounding
    has_one_threshold = np.bincount(cell) == 1
    mean_score[has_one_threshold] = c.threshold[last[has_one_threshold]]
    return Counts(mean_score, c.tp[last], c.fp[last], c.positives, c.negatives)


def pooled(c: Counts) -> Counts:
    """The table with one threshold per cell of neighbouring thresholds, see `cells`."""
    return pool(c, cells(c))


class Derivatives(NamedTuple):
    """The derivative of a metric with respect to the weight of a positive, and of a negative, at
    each threshold.
    """

    positive: Floats
    negative: Floats


def derivatives(c: Counts, metric: Metric) -> Derivatives:
    """The derivatives of a metric by the weight of a positive and of a negative at each threshold,
    numerically: (metric with a little more weight there − metric) / the added weight. Centred, so
    that they add up to 0 over all rows of the table.
    """
    step = 1e-4 * c.total  # the added weight: small, but far above rounding error
    value = metric(c)
    n = len(c.threshold)
    if np.isnan(value):
        return Derivatives(np.full(n, np.nan), np.full(n, np.nan))
    # Row i: what weight at threshold i adds to the counts. They are cumulative, so that it counts
    # there and at all lower thresholds.
    added_to_counts = np.zeros((n, n))
    added_to_counts[np.triu_indices(n)] = step
    with_positive = np.empty(n)  # the metric with weight of a positive added at each threshold
    with_negative = np.empty(n)
    for i, added in enumerate(added_to_counts):
        more_positives = replace(c, tp=c.tp + added, positives=c.positives + step)
        more_negatives = replace(c, fp=c.fp + added, negatives=c.negatives + step)
        with_positive[i] = metric(more_positives)
        with_negative[i] = metric(more_negatives)
    by_positive = (with_positive - value) / step
    by_negative = (with_negative - value) / step
    # A metric does not change if all weights grow alike: without the error of the numerical
    # derivatives their mean over the rows would be 0.
    total = np.dot(c.positive, by_positive) + np.dot(c.negative, by_negative)
    mean = total / c.total
    return Derivatives(by_positive - mean, by_negative - mean)


_DERIVATIVES: WeakKeyDictionary[Counts, dict[Metric, Derivatives]] = WeakKeyDictionary()


def numerical(c: Counts, metric: Metric) -> Floats:
    """The influence on a metric of a positive (first row) and of a negative (second row) at each
    threshold, by numerical derivatives; shape (2, thresholds).

    They are computed once per cell of neighbouring thresholds (`cells`), and stored with the table,
    because the interval and each comparison of a system use them.
    """
    cell = cells(c)
    stored = _DERIVATIVES.setdefault(c, {})
    if metric not in stored:
        stored[metric] = derivatives(pool(c, cell), metric)
    by_cell = np.array(stored[metric])
    return by_cell[:, cell]


def decision(c: Counts, threshold: float) -> Counts:
    """The table of the decisions at a threshold: predicted positive rows get the score 1, the
    others 0, so that it has these two thresholds.

    Every metric at the threshold depends on these counts alone, so that resampling this table is
    resampling the rows.

    >>> from evalkit.metrics.counts import count
    >>> d = decision(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0]), 0.5)
    >>> d.tp, d.fp
    (array([1, 2]), array([1, 2]))
    """
    # The number of scores at or above the threshold. Scores descend, and bisect with a key, unlike
    # searchsorted, needs no ascending copy of them.
    reached = bisect_right(c.threshold, -threshold, key=operator.neg)
    tp = total_before(c.tp, reached)
    fp = total_before(c.fp, reached)
    scores = np.array([1.0, 0.0])
    # at or above score 0 are all rows
    return Counts.from_columns(scores, np.array([tp, c.positives]), np.array([fp, c.negatives]))
