"""Metrics of multi-class and multi-label outcomes, from a `Confusion` matrix, scores or rows of
labels.

`one_vs_rest` turns classes into `Counts` with one row per class. The metrics of a threshold in
counts.py then return one value per class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints, quotient, ratio
from evalkit.metrics import losses
from evalkit.metrics.counts import Counts, Weights, auc_by_group, count, f_score, precision

Metric = Callable[[Counts], Floats]


@dataclass(frozen=True, eq=False)
class Confusion:
    """A confusion matrix: actual classes in rows, predicted classes in columns. classes: the names,
    in their order.
    """

    table: Weights
    classes: NDArray[Any]

    @property
    def total(self) -> float:
        """All rows."""
        total: float = self.table.sum().item()
        return total


def one_vs_rest(m: Confusion) -> Counts:
    """Counts with one row per class: that class is positive, all others are negative.

    >>> precision(one_vs_rest(Confusion(np.array([[1, 1], [0, 1]]), np.arange(2))))
    array([1. , 0.5])
    """
    tp = m.table.diagonal()
    fp = m.table.sum(axis=0) - tp
    positives = m.table.sum(axis=1)
    no_threshold = np.full(len(tp), np.nan)
    return Counts(no_threshold, tp, fp, positives, m.table.sum() - positives)


# Averages over classes ----------------------------------------------------------------------------


def weighted(c: Counts, metric: Metric = f_score) -> float:
    """Mean over the classes weighted by their positives. With one class per row, weighted recall is
    the accuracy. c: from `one_vs_rest`.

    >>> m = Confusion(np.array([[1, 1], [0, 2]]), np.arange(2))
    >>> round(weighted(one_vs_rest(m)), 4)  # F1 of 2/3 and 4/5
    0.7333
    """
    occurring = c.positives > 0  # the metric of a class without positives may be undefined
    weight = c.positives[occurring]
    weighted_sum = np.dot(metric(c)[occurring], weight)
    return quotient(weighted_sum, c.positives.sum())


def occurs(c: Counts) -> Bools:
    """True for each class that occurs or is predicted at least once. c: from `one_vs_rest`, so that
    fp are the rows that are predicted as the class and are not of it.
    """
    occurs: Bools = c.positives + c.fp > 0
    return occurs


# Metrics of the confusion table -------------------------------------------------------------------


def mcc(m: Confusion) -> float:
    """Correlation of actual and predicted class (Gorodkin's R_K).
    doi:10.1016/j.compbiolchem.2004.09.006.

    Undefined if either has only one class. Equals matthews_corrcoef, which returns 0 in that case.
    """
    actual, predicted, total = _margins(m)  # rows by actual class, by predicted class, and all
    # each times n²: Σ over the classes of cov(is actual, is predicted), and of both variances
    covariance = total * np.trace(m.table) - actual @ predicted
    # one root, which is exact where both variances are equal: an MCC of 1 is no rounded one
    variances = _class_variance(actual) * _class_variance(predicted)
    return quotient(covariance, np.sqrt(variances))


def _class_variance(rows: Floats) -> float:
    """n² times Σ over the classes of the variance of "a row is of the class". rows: of each class,
    n in all.
    """
    n = rows.sum()
    variance: float = n**2 - rows @ rows
    return max(variance, 0.0)  # rounding may leave less where there is one class


def kappa(m: Confusion) -> float:
    """(accuracy - expected) / (1 - expected): Cohen's kappa; expected is the accuracy under
    independence.

    doi:10.1177/001316446002000104.
    """
    is_wrong = 1 - np.eye(len(m.table))
    return _kappa(m, penalty=is_wrong)


def kappa_quadratic(m: Confusion) -> float:
    """Cohen's kappa with quadratic weights: the penalty of a disagreement is the squared distance
    of the two classes, which are in order.
    """
    number = np.arange(len(m.table))
    distance = number[:, None] - number  # of each two classes
    return _kappa(m, penalty=distance**2.0)


def _kappa(m: Confusion, penalty: NDArray[Any]) -> float:
    """1 - Σ penalty · rows / its value that is expected if actual and predicted classes were
    independent. penalty: of each cell of the matrix, 0 on the diagonal.
    """
    actual, predicted, total = _margins(m)
    observed = np.sum(penalty * m.table)
    # under independence a cell has actual · predicted / total rows
    expected_times_total = actual @ penalty @ predicted
    return 1 - quotient(observed * total, expected_times_total)


class Margins(NamedTuple):
    """The rows by actual class, by predicted class, and all rows of a confusion matrix."""

    actual: Floats
    predicted: Floats
    total: float


def _margins(m: Confusion) -> Margins:
    """The margins as floats, whose products cannot overflow."""
    table = m.table.astype(np.float64)
    return Margins(table.sum(axis=1), table.sum(axis=0), float(table.sum()))


def coverage_by_class(m: Confusion, target: float) -> Floats:
    """Share of all rows predicted as each class whose precision is at least `target`, 0 for the
    other classes.

    It is the work saved if only these predictions need no review; `coverage` is their sum.
    """
    is_precise = precision(one_vs_rest(m)) >= target
    predicted = m.table.sum(axis=0)
    return ratio(predicted * is_precise, m.total)


def coverage(m: Confusion, target: float) -> float:
    """Share of the rows predicted as classes whose precision is at least `target`; 0 if no class
    reaches it.

    >>> m = Confusion(np.array([[80, 5, 100], [6, 92, 50], [4, 3, 60]]), np.arange(3))
    >>> coverage(m, 0.8), coverage(m, 0.99)
    (0.475, 0.0)
    """
    shares = coverage_by_class(m, target)
    return float(shares.sum())


# Scores for every class ---------------------------------------------------------------------------


def top_label(actual: Ints, score: Floats) -> Counts:
    """`Counts` of "the prediction is correct" by its score: their ECE is the top-label ECE, their
    AUC finds errors.
    """
    best = score.argmax(axis=1)  # the predicted class of each row
    return count(losses.score_of_class(score, best), best == actual)


def in_top(actual: Ints, score: Floats, k: int) -> Floats:
    """1 for each row whose actual class is among the k highest scores, a fraction if a tie crosses
    the cut-off; shape (rows,).

    The mean is the top-k accuracy. For a tie it is the share of the tied classes that fit into the
    first k. score: shape (rows, classes).

    >>> in_top(np.array([2, 0]), np.array([[0.5, 0.2, 0.3], [0.2, 0.6, 0.2]]), 2)
    array([1. , 0.5])
    """
    score_of_actual = losses.score_of_class(score, actual)[:, None]
    higher = (score > score_of_actual).sum(axis=1)
    tied = (score == score_of_actual).sum(axis=1)  # with the actual class itself
    share_of_tie = (k - higher) / tied
    return np.asarray(np.clip(share_of_tie, 0, 1), np.float64)


# Several labels per row ---------------------------------------------------------------------------


def exact_match(actual: Bools, predicted: Bools) -> Floats:
    """1 for each row whose labels are all correct, else 0; the mean is the subset accuracy."""
    is_correct = actual == predicted  # each label
    return np.asarray(is_correct.all(axis=1), np.float64)


def f1_by_row(actual: Bools, predicted: Bools) -> Floats:
    """2 |true and predicted| / (|true| + |predicted|) of each row's labels; NaN if it has neither.

    >>> f1_by_row(np.array([[1, 1, 0], [0, 0, 0]]) == 1, np.array([[1, 0, 1], [0, 0, 0]]) == 1)
    array([0.5, nan])
    """
    in_both = (actual & predicted).sum(axis=1)
    return ratio(2.0 * in_both, actual.sum(axis=1) + predicted.sum(axis=1))


def jaccard_by_row(actual: Bools, predicted: Bools) -> Floats:
    """|true and predicted| / |true or predicted| of each row's labels; NaN if it has neither.

    >>> jaccard_by_row(np.array([[1, 1, 0]]) == 1, np.array([[1, 0, 1]]) == 1).round(4)
    array([0.3333])
    """
    in_both = (actual & predicted).sum(axis=1)
    in_either = (actual | predicted).sum(axis=1)
    return ratio(in_both, in_either)


def hamming(actual: Bools, predicted: Bools) -> Floats:
    """Share of wrong labels per row; the mean is the Hamming loss."""
    wrong_labels = (actual != predicted).sum(axis=1)
    return ratio(wrong_labels, actual.shape[1])


def ranking_loss(actual: Bools, score: Floats) -> Floats:
    """1 - AUC over the labels of each row, a tie counting one half; NaN if all labels or none are
    true.

    >>> actual, score = np.array([[0, 1, 1, 1, 0, 0, 1]]), np.array([[7.0, 6, 5, 5, 5, 4, 3]])
    >>> ranking_loss(actual, score).round(6)
    array([0.583333])
    """
    row = np.repeat(np.arange(len(actual)), actual.shape[1])  # of each label: rows are the groups
    groups = auc_by_group(actual.ravel(), score.ravel(), row)
    return 1 - groups.auc


def coverage_error(actual: Bools, score: Floats) -> Floats:
    """Per row, the number of highest scores that include all true labels, ties counted; NaN if no
    label is true.
    """
    lowest_of_true = np.where(actual, score, np.inf).min(axis=1, keepdims=True)
    labels = (score >= lowest_of_true).sum(axis=1)
    return np.where(actual.any(axis=1), labels, np.nan)


def label_ranking_average_precision(actual: Bools, score: Floats) -> Floats:
    """Label ranking average precision (LRAP) of each row: the mean, over its true labels, of the
    share of true labels among those that score at least as high; NaN if no label is true. actual,
    score: shape (rows, labels).
    """
    # the labels of each row, highest scores first
    order = np.argsort(-score, axis=1)
    ranked_score = np.take_along_axis(score, order, axis=1)
    is_true = np.take_along_axis(actual, order, axis=1)
    labels = score.shape[1]
    equals_next = ranked_score[:, :-1] == ranked_score[:, 1:]
    tied_with_next = np.pad(equals_next, ((0, 0), (0, 1)))  # False for the last one
    # Tied labels all take the last rank of the tie. A rank that is tied with the next one is set to
    # the largest possible rank, so that a running minimum from the back finds the last of its tie.
    last_rank_of_tie = np.where(tied_with_next, labels, np.arange(1, labels + 1))
    rank = np.minimum.accumulate(last_rank_of_tie[:, ::-1], axis=1)[:, ::-1]
    true_up_to_rank = np.take_along_axis(is_true.cumsum(axis=1), rank - 1, axis=1)
    precision = true_up_to_rank / rank
    sum_of_precisions = np.sum(is_true * precision, axis=1)
    return ratio(sum_of_precisions, is_true.sum(axis=1))
