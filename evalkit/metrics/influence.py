"""How much each row moves AUC and average precision, and the variances that follow: DeLong's, by row or by unit.

An influence value is the derivative of the metric by the row's weight. The values of all rows add up to 0;
the sum of the squares of their sums by unit (row, user) estimates the variance of the metric, and of a
difference of two metrics when the values of two models on the same rows are subtracted first.
"""

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics.counts import Counts, Step, auc, average_precision, steps


def auc_variance(c: Counts) -> float:
    """S10 / P + S01 / N: DeLong's variance of AUC, from the variances of the placements of both classes.

    Undefined when a class has fewer than two rows. doi:10.2307/2531595. Equals pROC's var(method = "delong").

    >>> from evalkit.metrics.counts import count
    >>> print(f"{auc_variance(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])):.4f}")
    0.1250
    """
    area = auc(c)
    squares = sum((placement_squares(c, s, area) for s in steps(c)), start=np.zeros(2))
    size = np.array([c.positives, c.negatives])
    return float(ratio(squares, size * (size - 1)).sum())


def placement_squares(c: Counts, s: Step, area: float) -> Floats:
    """Squared distances of the placements from `area` in one step of the table: sums for positives, for negatives."""
    of_positives = 2 * (c.negatives - s.fp) + s.n - 2 * c.negatives * area
    of_negatives = 2 * s.tp - s.p - 2 * c.positives * area
    squares = np.array([np.dot(s.p, of_positives * of_positives), np.dot(s.n, of_negatives * of_negatives)])
    return ratio(squares, 4.0 * np.array([c.negatives, c.positives]) ** 2)


def placements(c: Counts, label: Ints, score: Floats) -> Floats:
    """Of a positive, the share of negatives below it; of a negative, the share of positives above; ties one half.

    label, score: rows whose scores all stand in `c`. The mean of either class is the AUC.

    >>> from evalkit.metrics.counts import count
    >>> c = count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])
    >>> placements(c, np.array([1, 0, 1, 0]), np.array([0.9, 0.8, 0.7, 0.6]))
    array([1. , 0.5, 0.5, 1. ])
    """
    k = place(c, score)
    of_positives = ratio(2 * (c.negatives - c.fp) + c.negative, 2 * c.negatives)
    of_negatives = ratio(2 * c.tp - c.positive, 2 * c.positives)
    return np.where(label == 1, of_positives[k], of_negatives[k])


def auc_bins(c: Counts) -> Floats:
    """(placement - AUC) / size of the class: what a positive (first row) or a negative (second) at each threshold adds.

    A row of weight 1, to first order.

    >>> from evalkit.metrics.counts import count
    >>> auc_bins(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).tolist()
    [[0.125, 0.0, -0.125, -0.25], [-0.25, -0.125, 0.0, 0.125]]
    """
    of_positives = ratio(2 * (c.negatives - c.fp) + c.negative, 2 * c.negatives)
    of_negatives = ratio(2 * c.tp - c.positive, 2 * c.positives)
    area = auc(c)
    return np.array([ratio(of_positives - area, c.positives), ratio(of_negatives - area, c.negatives)])


def average_precision_bins(c: Counts) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to average precision, to first order.

    With T = TP and M = TP + FP at a score, sums over the positives at or below the row:
    (label (T/M - AP + sum 1/M) - sum T/M²) / P.

    >>> from evalkit.metrics.counts import count
    >>> average_precision_bins(count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])).round(4)[:, :3].tolist()
    [[0.1389, -0.1111, -0.0278], [-0.6111, -0.1111, -0.1111]]
    """
    bins, after = np.empty((2, len(c.threshold))), np.zeros((2, 1))
    stop = len(c.threshold)
    for s in steps(c, backwards=True):
        rows = s.tp + s.fp
        precision = s.tp / rows
        below = np.empty((2, len(rows)))  # what the thresholds from each one down add: p / M, and p T / M²
        np.divide(s.p, rows, out=below[0])
        np.multiply(below[0], precision, out=below[1])
        below = np.cumsum(below[:, ::-1], axis=1)[:, ::-1] + after
        after = below[:, :1]
        at = slice(stop - len(rows), stop)
        np.negative(below[1], out=bins[1, at])
        bins[0, at] = precision + below[0] - below[1]
        stop -= len(rows)
    bins[0] -= average_precision(c)
    bins *= ratio(1.0, c.positives)
    return bins


def ks_bins(c: Counts) -> Floats:
    """What a positive (first row) and a negative (second) at each threshold adds to max |TPR - FPR|, to first order.

    At the threshold of the largest distance, the first of equal ones: (1 where the row is at or above it - TPR) / P,
    and -(the same - FPR) / N; the other way round where FPR is the larger.

    >>> from evalkit.metrics.counts import count
    >>> ks_bins(count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])).round(4).tolist()
    [[0.1111, 0.1111, -0.2222, -0.2222], [-1.0, -1.0, 0.0, 0.0]]
    """
    gaps = [s.tp * c.negatives - s.fp * c.positives for s in steps(c)]
    block = int(np.argmax([np.abs(gap).max() for gap in gaps]))
    here = int(np.argmax(np.abs(gaps[block])))
    top, sign = sum(map(len, gaps[:block])) + here, np.sign(gaps[block][here])
    share = np.array([ratio(c.tp[top], c.positives), ratio(c.fp[top], c.negatives)])
    size = np.array([c.positives, -c.negatives])
    bins = np.empty((2, len(c.threshold)))
    bins[:, : top + 1] = (sign * ratio(1 - share, size))[:, None]
    bins[:, top + 1 :] = (sign * ratio(-share, size))[:, None]
    return bins


def of_rows(bins: Floats, c: Counts, label: Ints, score: Floats) -> Floats:
    """What each row has of a number for each class and threshold of the table."""
    return bins[np.where(label == 1, 0, 1), place(c, score)]


def auc_covariance(label: Ints, placements: Floats) -> Floats:
    """DeLong's covariance matrix of the AUC of several models on the same rows.

    placements: one row a model, one column a row of the data, as `placements` gives them. NaN when a class
    has fewer than two rows. doi:10.2307/2531595. Equals pROC's cov().
    """
    return _spread(placements[:, label == 1]) + _spread(placements[:, label == 0])


def _spread(part: Floats) -> Floats:
    """Covariance matrix of the means of the rows of `part`."""
    size = part.shape[1]
    distance = part - ratio(part.sum(axis=1, keepdims=True), size)
    return ratio(distance @ distance.T, size * (size - 1))


def place(c: Counts, score: Floats) -> Ints:
    """The row of the table where each score stands; the last one for lower scores, which need rows without weight."""
    return np.minimum(np.searchsorted(-c.threshold, -score), len(c.threshold) - 1)
