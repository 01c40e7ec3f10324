"""Cells of a table: neighbouring thresholds together, what a threshold decides, and how they move a metric."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
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
    if len(c.threshold) <= most:
        return np.arange(len(c.threshold))
    run = runs(c)
    if run[-1] < most:
        return run
    rows = c.tp + c.fp
    spread = ratio(c.tp, c.positives) + ratio(c.fp, c.negatives) + np.log1p(rows) / np.log1p(c.total)
    part = np.minimum((spread / spread[-1] * most).astype(np.int64), most - 1)
    return np.cumsum(np.append(0, np.diff(part) > 0))


def runs(c: Counts) -> Ints:
    """Cells that lose nothing: a threshold with positives is one, the thresholds without between two of them are one.

    Average precision, AUC, KS and the best F know no more of the negatives.

    >>> from evalkit.metrics.counts import count
    >>> runs(count([5, 4, 3, 2, 1], [0, 0, 1, 1, 0]))
    array([0, 0, 1, 2, 3])
    """
    has = c.positive > 0
    run = np.cumsum(has | np.append(False, has[:-1]))
    return run - run[:1]


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
    above = np.searchsorted(-c.threshold, -threshold, side="right")
    tp, fp = (np.append(0, column)[above] for column in (c.tp, c.fp))
    return Counts(
        np.array([1.0, 0.0]), np.array([tp, c.positives]), np.array([fp, c.negatives]), c.positives, c.negatives
    )
