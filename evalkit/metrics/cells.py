"""Cells of a table: neighbouring thresholds together, what a threshold decides, and how they move a metric."""

from bisect import bisect_right
from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.metrics.counts import Counts

Metric = Callable[[Counts], float]
CELLS = 1_024  # more do not change a standard error: tests/test_cells.py


def cells(c: Counts, most: int = CELLS) -> Ints:
    """The number of each threshold's cell, from 0, rising: one a threshold, exact runs, or `most` cells.

    `runs` where they are few. Otherwise cells are about even in recall, in false positive rate and in the logarithm
    of the rank: cells of equal mass would miss the few rows that decide the precision of the highest scores.

    >>> from evalkit.metrics.counts import count
    >>> cells(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), most=4)
    array([0, 0, 1, 2, 2, 3])
    """
    starts = _starts(c, most)
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=len(c.threshold)))


def ends(c: Counts, most: int = CELLS) -> Counts:
    """The table at the last threshold of each cell, which counts all rows of the cells so far.

    >>> from evalkit.metrics.counts import count
    >>> ends(count([6, 5, 4, 3, 2, 1], [0, 0, 1, 0, 0, 1]), most=4).fp
    array([2, 2, 4, 4])
    """
    last = np.append(_starts(c, most)[1:], len(c.threshold)) - 1 if len(c.threshold) else np.empty(0, np.int64)
    return Counts(c.threshold[last], c.tp[last], c.fp[last], c.positives, c.negatives)


def _starts(c: Counts, most: int) -> Ints:
    """The first threshold of each cell."""
    if len(c.threshold) <= most:
        return np.arange(len(c.threshold))
    run = _begins(c)
    if np.count_nonzero(run) <= most:
        return np.flatnonzero(run)
    part = _parts(c, most)
    if c.tp.dtype.kind == "f":
        every = part(np.arange(len(c.threshold)))
        return np.flatnonzero(np.append(True, np.diff(every) > 0))
    return _first(part, most, len(c.threshold))  # of whole numbers it rises: most thresholds need no look


def _parts(c: Counts, most: int) -> Callable[[Ints], Ints]:
    """The part of the table, of so many, that thresholds lie in."""

    def spread(at: Ints | slice) -> Floats:
        tp, fp = c.tp[at], c.fp[at]
        return ratio(tp, c.positives) + ratio(fp, c.negatives) + np.log1p(tp + fp) / np.log1p(c.total)

    whole = spread(slice(-1, None))
    return lambda at: np.minimum((spread(at) / whole * most).astype(np.int64), most - 1)


def _first(part: Callable[[Ints], Ints], most: int, size: int) -> Ints:
    """The first threshold of each part that has one, of `size` thresholds, by halving."""
    low, high, wanted = np.zeros(most, np.int64), np.full(most, size - 1), np.arange(most)
    while (low < high).any():
        middle = (low + high) // 2
        there = part(middle) >= wanted
        low, high = np.where(there, low, middle + 1), np.where(there, middle, high)
    return np.unique(np.append(0, low[part(low) >= wanted]))


def runs(c: Counts) -> Ints:
    """Cells that lose nothing: a threshold with positives is one, the thresholds without between two of them are one.

    Average precision, AUC, KS and the best F know no more of the negatives.

    >>> from evalkit.metrics.counts import count
    >>> runs(count([5, 4, 3, 2, 1], [0, 0, 1, 1, 0]))
    array([0, 0, 1, 2, 3])
    """
    starts = np.flatnonzero(_begins(c))
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=len(c.threshold)))


def _begins(c: Counts) -> Bools:
    """True for the first threshold of each run."""
    has = np.append(c.tp[:1] > 0, c.tp[1:] > c.tp[:-1])
    begins = has.copy()
    begins[1:] |= has[:-1]
    begins[:1] = True
    return begins


def pool(c: Counts, cell: Ints) -> Counts:
    """The table with one threshold a cell, the mean score of its rows.

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
    """The table in its cells."""
    return pool(c, cells(c))


def derivatives(c: Counts, metric: Metric) -> tuple[Floats, Floats]:
    """The derivative of the metric by the weight of a positive, and of a negative, at each threshold of the table.

    By one-sided differences; over all rows of the table they add up to 0.
    """
    step, value, k = 1e-4 * c.total, metric(c), len(c.threshold)
    if np.isnan(value):
        return np.full(k, np.nan), np.full(k, np.nan)
    more = np.zeros((k, k))
    more[np.triu_indices(k)] = step  # row i adds to threshold i and to all below it
    p, n = c.positives, c.negatives
    positive = np.array([metric(Counts(c.threshold, c.tp + m, c.fp, p + step, n)) for m in more])
    negative = np.array([metric(Counts(c.threshold, c.tp, c.fp + m, p, n + step)) for m in more])
    positive, negative = (positive - value) / step, (negative - value) / step
    middle = (np.dot(c.positive, positive) + np.dot(c.negative, negative)) / c.total
    return positive - middle, negative - middle


_KNOWN: WeakKeyDictionary[Counts, dict[Metric, tuple[Floats, Floats]]] = WeakKeyDictionary()


def moves(c: Counts, metric: Metric) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to the metric, cell by cell.

    The derivatives in the cells are kept with the table: the interval and each comparison of a system need them.
    """
    cell, known = cells(c), _KNOWN.setdefault(c, {})
    if metric not in known:
        known[metric] = derivatives(pool(c, cell), metric)
    return np.array(known[metric])[:, cell]


def decision(c: Counts, threshold: float) -> Counts:
    """The table of what a threshold decides: two cells, at or above it and below, at scores 1 and 0.

    Its resamples are exactly those of the rows for every metric of that threshold.

    >>> from evalkit.metrics.counts import count
    >>> d = decision(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0]), 0.5)
    >>> d.tp, d.fp
    (array([1, 2]), array([1, 2]))
    """
    above = bisect_right(c.threshold, -threshold, key=lambda score: -score)  # the array is never copied
    tp, fp = (column[above - 1] if above else 0 for column in (c.tp, c.fp))
    return Counts(
        np.array([1.0, 0.0]), np.array([tp, c.positives]), np.array([fp, c.negatives]), c.positives, c.negatives
    )
