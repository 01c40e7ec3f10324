"""Confusion: metrics of multi-class and multi-label outcomes.

`one_vs_rest` and `label_counts` turn classes and labels into `Counts` with one row per class. The metrics of a
threshold in counts.py then return one value per class, and `macro`, `micro` and `weighted` average them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.arrays import Bools, Floats, InputError, Ints, codes, ratio, same_length
from evalkit.metrics import keys
from evalkit.metrics.counts import (
    Counts,
    Weights,
    auc,
    auc_by_group,
    average_precision,
    count,
    f_score,
    precision,
    recall,
)

Metric = Callable[[Counts], Floats]


@dataclass(frozen=True, eq=False)
class Confusion:
    """Rows by actual (down) and predicted class (across). `classes`: the names of both, in one order."""

    table: Weights
    classes: NDArray

    @property
    def total(self) -> float:
        """All rows."""
        return self.table.sum().item()


def confusion(
    actual: ArrayLike, predicted: ArrayLike, weight: ArrayLike | None = None, classes: Sequence | None = None
) -> Confusion:
    """The K x K table of actual and predicted classes, in the order of `classes`; by default all that occur, sorted.

    Raises InputError for columns of different lengths and for a class that is not in `classes`.

    >>> m = confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> m.table.tolist(), m.classes.tolist()
    ([[1, 1], [0, 1]], ['a', 'b'])
    """
    actual, predicted = np.asarray(actual), np.asarray(predicted)
    rows = same_length(actual=actual, predicted=predicted)
    code, names = codes(np.concatenate([actual, predicted]))
    if classes is not None:
        code, names = _in(names, classes)[code], np.asarray(classes)
    k = len(names)
    cell = code[:rows] * k + code[rows:]
    if weight is None:
        return Confusion(np.bincount(cell, minlength=k * k).reshape(k, k), names)
    same_length(actual=actual, weight=np.asarray(weight))
    return Confusion(np.bincount(cell, np.asarray(weight, dtype=np.float64), k * k).reshape(k, k), names)


def _in(names: NDArray, classes: Sequence) -> Ints:
    place = {name: i for i, name in enumerate(classes)}
    unknown = [name for name in names.tolist() if name not in place]
    if unknown:
        raise InputError(f"class must be one of {list(classes)}, got {unknown[0]}")
    return np.array([place[name] for name in names.tolist()], dtype=np.int64)


def one_vs_rest(m: Confusion) -> Counts:
    """Counts with one row per class: that class is positive, all others are negative.

    >>> precision(one_vs_rest(confusion(["a", "a", "b"], ["a", "b", "b"])))
    array([1. , 0.5])
    """
    tp, positives = m.table.diagonal(), m.table.sum(axis=1)
    return Counts(np.full(len(tp), np.nan), tp, m.table.sum(axis=0) - tp, positives, m.table.sum() - positives)


def label_counts(actual: ArrayLike, predicted: ArrayLike) -> Counts:
    """Counts with one row per label, from two tables of 0 and 1 with one row per sample and one column per label.

    >>> recall(label_counts([[1, 0], [1, 1]], [[1, 1], [0, 1]]))
    array([0.5, 1. ])
    """
    actual, predicted = binary_matrix("actual", actual), binary_matrix("predicted", predicted)
    positives = actual.sum(axis=0)
    tp, fp = (actual & predicted).sum(axis=0), (~actual & predicted).sum(axis=0)
    return Counts(np.full(len(tp), np.nan), tp, fp, positives, len(actual) - positives)


def binary_matrix(name: str, values: ArrayLike) -> Bools:
    """`values` as truth values in two dimensions. Raises InputError for other shapes and for values except 0 and 1."""
    matrix = np.asarray(values)
    if matrix.ndim != 2:
        raise InputError(f"{name} must have one row per sample and one column per label, got shape {matrix.shape}")
    return keys.zero_one(name, matrix.ravel()).reshape(matrix.shape).astype(bool)


# Averages over classes ----------------------------------------------------------------------------------------


def macro(c: Counts, metric: Metric = f_score) -> float:
    """Unweighted mean over the classes of a metric of each; `macro(c)` is the mean of the per-class F1.

    A class that neither occurs nor is predicted is left out; one for which the metric is undefined makes the mean
    undefined (scikit-learn counts it as 0).

    >>> y = [1] * 5 + [2] * 4 + [3] * 3 + [4] * 2
    >>> c = one_vs_rest(confusion(y, [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 3, 4, 3], classes=[1, 2, 3, 4, 5]))
    >>> print(f"{macro(c):.4f} {macro_f1_of_means(c):.6f}")
    0.5625 0.582857
    """
    value = metric(c)[occurs(c)]
    return float(value.mean()) if value.size else float("nan")


def micro(c: Counts, metric: Metric = f_score) -> float:
    """The metric of the summed counts. With one class per row, micro precision, recall and F1 equal the accuracy."""
    return float(metric(Counts(np.full((), np.nan), c.tp.sum(), c.fp.sum(), c.positives.sum(), c.negatives.sum())))


def weighted(c: Counts, metric: Metric = f_score) -> float:
    """Mean over the classes weighted by their positives. With one class per row, weighted recall is the accuracy."""
    has = c.positives > 0
    return float(ratio(np.dot(metric(c)[has], c.positives[has]), c.positives.sum()))


def macro_f1_of_means(c: Counts) -> float:
    """F1 of macro precision and macro recall; not macro F1, and never smaller. arXiv:1911.03347."""
    p, r = macro(c, precision), macro(c, recall)
    return float(ratio(2 * p * r, p + r))


def occurs(c: Counts) -> Bools:
    """True for each class that occurs or is predicted at least once."""
    return c.positives + c.fp > 0


# Metrics of the confusion table -------------------------------------------------------------------------------


def accuracy(m: Confusion) -> float:
    """Rows on the diagonal / all rows."""
    return float(ratio(np.trace(m.table), m.total))


def majority(m: Confusion) -> float:
    """Rows of the largest actual class / all rows: the baseline of every accuracy."""
    return float(ratio(m.table.sum(axis=1).max(initial=0), m.total))


def balanced_accuracy(m: Confusion) -> float:
    """Mean recall of the classes that have rows. Equals balanced_accuracy_score; yardstick defines it differently.

    Unlike it, `macro(c, recall)` is undefined if a class without rows is predicted.
    """
    value = recall(one_vs_rest(m))
    return float(ratio(np.nansum(value), np.sum(~np.isnan(value))))


def mcc(m: Confusion) -> float:
    """Correlation of actual and predicted class (Gorodkin's R_K). doi:10.1016/j.compbiolchem.2004.09.006.

    Undefined if either has only one class. Equals matthews_corrcoef, which returns 0 in that case.
    """
    actual, predicted, total = _margins(m)
    covariance = total * np.trace(m.table) - actual @ predicted
    spread = [max(side.sum() ** 2 - side @ side, 0.0) for side in (actual, predicted)]  # 0 of one class, rounded or not
    return float(ratio(covariance, np.sqrt(spread[0]) * np.sqrt(spread[1])))


def kappa(m: Confusion) -> float:
    """(accuracy - chance) / (1 - chance): Cohen's kappa. doi:10.1177/001316446002000104."""
    return _kappa(m, 1 - np.eye(len(m.table)))


def kappa_quadratic(m: Confusion) -> float:
    """Cohen's kappa with quadratic weights: the squared distance of ordered classes weights a disagreement."""
    place = np.arange(len(m.table))
    return _kappa(m, (place[:, None] - place) ** 2.0)


def _kappa(m: Confusion, penalty: NDArray[Any]) -> float:
    actual, predicted, total = _margins(m)
    return float(1 - ratio(np.sum(penalty * m.table) * total, actual @ penalty @ predicted))


def _margins(m: Confusion) -> tuple[Floats, Floats, float]:
    table = m.table.astype(np.float64)
    return table.sum(axis=1), table.sum(axis=0), float(table.sum())


def coverage_by_class(m: Confusion, target: float) -> Floats:
    """Share of all rows predicted as each class whose precision is at least `target`, 0 for the other classes.

    The work saved if only those predictions need no review; `coverage` is their sum.
    """
    enough = precision(one_vs_rest(m)) >= target
    return ratio(np.where(enough, m.table.sum(axis=0), 0), m.total)


def coverage(m: Confusion, target: float) -> float:
    """Share of the rows predicted as classes whose precision is at least `target`; 0 if no class reaches it.

    >>> m = Confusion(np.array([[80, 5, 100], [6, 92, 50], [4, 3, 60]]), np.arange(3))
    >>> coverage(m, 0.8), coverage(m, 0.99)
    (0.475, 0.0)
    """
    return float(coverage_by_class(m, target).sum())


# Scores for every class ---------------------------------------------------------------------------------------


def class_counts(actual: Ints, score: Floats) -> list[Counts]:
    """`Counts` of each class against the rest. actual: the column of each row's class; score: one column per class."""
    return score_counts(actual[:, None] == np.arange(score.shape[1]), score)


def score_counts(actual: Bools, score: Floats) -> list[Counts]:
    """`Counts` of each label. actual, score: one row per sample, one column per label."""
    return [count(score[:, k], actual[:, k]) for k in range(score.shape[1])]


def each(tables: list[Counts], metric: Callable[[Counts], float]) -> Floats:
    """A metric of the whole order for each class or label, NaN if undefined.

    `each(tables, auc)` is the one-vs-rest AUC by class, its mean roc_auc_score(multi_class="ovr").
    """
    return np.array([metric(c) for c in tables], dtype=np.float64)


def map_classes(tables: list[Counts], area: Callable[[Counts], float] = average_precision) -> float:
    """Mean over classes or labels of average precision, or of another `area`; undefined if one has no positives.

    >>> map_classes(score_counts(np.array([[1, 0], [0, 1]], dtype=bool), np.array([[0.9, 0.9], [0.1, 0.1]])))
    0.75
    """
    return float(ratio(each(tables, area).sum(), len(tables)))


def auc_micro(actual: Ints, score: Floats) -> float:
    """AUC over all (row, class) pairs pooled, the micro average; scores must be comparable between classes."""
    return auc(count(score.ravel(), (actual[:, None] == np.arange(score.shape[1])).ravel()))


def auc_pairs(actual: Ints, score: Floats) -> Floats:
    """A[i, j]: AUC of class i against class j by the score of i, on the rows of both classes; NaN on the diagonal."""
    k = score.shape[1]
    pairs = np.full((k, k), np.nan)
    for i in range(k):
        own = score[actual == i, i]
        for j in np.delete(np.arange(k), i):
            other = score[actual == j, i]
            pairs[i, j] = auc(count(np.append(own, other), np.arange(len(own) + len(other)) < len(own)))
    return pairs


def auc_hand_till(actual: Ints, score: Floats) -> float:
    """M = mean over pairs of classes of (A[i, j] + A[j, i]) / 2. doi:10.1023/A:1010920819831.

    Equals roc_auc_score(multi_class="ovo"). Undefined if a class has no row.

    >>> y, s = np.array([0, 1, 2]), np.eye(3)
    >>> auc_hand_till(y, s)
    1.0
    """
    pairs = auc_pairs(actual, score)
    return float(pairs[~np.eye(len(pairs), dtype=bool)].mean()) if len(pairs) > 1 else float("nan")


def top_label(actual: Ints, score: Floats) -> Counts:
    """`Counts` of "the prediction is correct" by its score: their ECE is the top-label ECE, their AUC finds errors."""
    best = score.argmax(axis=1)
    return count(score[np.arange(len(score)), best], best == actual)


def in_top(actual: Ints, score: Floats, k: int) -> Floats:
    """1 for each row whose actual class is among the k highest scores, a fraction if a tie crosses the cut-off.

    The mean is the top-k accuracy. For a tie it is the share of the tied classes that fit into the first k.

    >>> in_top(np.array([2, 0]), np.array([[0.5, 0.2, 0.3], [0.2, 0.6, 0.2]]), 2)
    array([1. , 0.5])
    """
    own = score[np.arange(len(score)), actual][:, None]
    return np.clip((k - (score > own).sum(axis=1)) / (score == own).sum(axis=1), 0, 1)


# Several labels per row ---------------------------------------------------------------------------------------


def exact_match(actual: Bools, predicted: Bools) -> Floats:
    """1 for each row whose labels are all correct, else 0; the mean is the subset accuracy."""
    return (actual == predicted).all(axis=1).astype(np.float64)


def f1_by_row(actual: Bools, predicted: Bools) -> Floats:
    """2 |true and predicted| / (|true| + |predicted|) of each row's labels; NaN where it has neither.

    >>> f1_by_row(np.array([[1, 1, 0], [0, 0, 0]]) == 1, np.array([[1, 0, 1], [0, 0, 0]]) == 1)
    array([0.5, nan])
    """
    return ratio(2.0 * (actual & predicted).sum(axis=1), actual.sum(axis=1) + predicted.sum(axis=1))


def jaccard_by_row(actual: Bools, predicted: Bools) -> Floats:
    """|true and predicted| / |true or predicted| of each row's labels; NaN where it has neither.

    >>> jaccard_by_row(np.array([[1, 1, 0]]) == 1, np.array([[1, 0, 1]]) == 1).round(4)
    array([0.3333])
    """
    return ratio((actual & predicted).sum(axis=1), (actual | predicted).sum(axis=1))


def hamming(actual: Bools, predicted: Bools) -> Floats:
    """Share of wrong labels per row; the mean is the Hamming loss."""
    return ratio((actual != predicted).sum(axis=1), actual.shape[1])


def ranking_loss(actual: Bools, score: Floats) -> Floats:
    """1 - AUC over the labels of each row, a tie counting one half; NaN if all labels or none are true.

    >>> ranking_loss(np.array([[0, 1, 1, 1, 0, 0, 1]]), np.array([[7.0, 6, 5, 5, 5, 4, 3]])).round(6)
    array([0.583333])
    """
    row = np.repeat(np.arange(len(actual)), actual.shape[1])
    return 1 - auc_by_group(actual.ravel(), score.ravel(), row).auc


def coverage_error(actual: Bools, score: Floats) -> Floats:
    """Per row, the number of highest scores that include all true labels, ties counted; NaN if no label is true."""
    lowest = np.where(actual, score, np.inf).min(axis=1, keepdims=True)
    return np.where(actual.any(axis=1), (score >= lowest).sum(axis=1), np.nan)


def label_ranking_average_precision(actual: Bools, score: Floats) -> Floats:
    """LRAP: mean over the true labels of each row of the precision at their score; NaN if no label is true."""
    order = np.argsort(-score, axis=1)
    ranked, label = np.take_along_axis(score, order, axis=1), np.take_along_axis(actual, order, axis=1)
    place = np.arange(1, score.shape[1] + 1)
    tied = ranked[:, :-1] == ranked[:, 1:]
    last = np.where(np.pad(tied, ((0, 0), (0, 1))), score.shape[1], place)
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]  # tied labels all take the last place of the tie
    hits = np.take_along_axis(label.cumsum(axis=1), last - 1, axis=1)
    return ratio(np.sum(label * hits / last, axis=1), label.sum(axis=1))
