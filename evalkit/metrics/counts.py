"""Counts: binary outcomes at every threshold of a score, and the metrics that need nothing else.

Predicted positive means score >= threshold. `count` sorts the scores once; the rest is arithmetic
on its table.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit import numbers
from evalkit.arrays import (
    Floats,
    InputError,
    Ints,
    are_whole,
    codes,
    finite,
    quotient,
    ratio,
    same_length,
)

Weights = NDArray[Any]  # int64, or float64 if a weight is not a whole number


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of positives (tp) and of negatives (fp) at or above each distinct score.

    threshold: the distinct scores, highest first, shape (n_thresholds,). tp, fp: cumulative, same
    shape; int64 if all weights are whole numbers. positives, negatives: the totals, which stay the
    same at other thresholds (`at`). In `labels.one_vs_rest` the columns have one row per class;
    totals are then arrays, and the metrics of a threshold return one value per class.
    """

    threshold: Floats
    tp: Weights
    fp: Weights
    positives: Any
    negatives: Any

    @staticmethod
    def from_columns(threshold: Floats, tp: Weights, fp: Weights) -> "Counts":
        """The table with these columns; its totals are the counts at the last threshold, which all
        rows reach, or 0 without thresholds.
        """
        positives = tp[-1].item() if tp.size else 0
        negatives = fp[-1].item() if fp.size else 0
        return Counts(threshold, tp, fp, positives, negatives)

    of = from_columns  # the name by which scripts know it

    def __repr__(self) -> str:
        """The totals and the number of thresholds."""
        totals = f"{np.sum(self.positives):,} positives, {np.sum(self.negatives):,} negatives"
        return f"<Counts: {totals}, {self.threshold.shape[-1]:,} thresholds>"

    def _repr_html_(self) -> str:
        """The table of the thresholds as HTML, for notebooks; for counts of several classes, which
        do not fit one table, the text of `repr`.
        """
        has_several_classes = self.tp.ndim != 1
        if has_several_classes:
            import html

            return html.escape(repr(self))
        columns = {"true positives": self.tp, "false positives": self.fp}
        return numbers.points({"threshold": self.threshold, **columns})

    @property
    def positive(self) -> Weights:
        """The positives with exactly this score, by threshold; `positives` is their total."""
        return _differences(self.tp, 0)

    @property
    def negative(self) -> Weights:
        """The negatives with exactly this score, by threshold; `negatives` is their total."""
        return _differences(self.fp, 0)

    @property
    def rows(self) -> Weights:
        """The rows with exactly this score, by threshold; `total` is their total."""
        rows: Weights = self.positive + self.negative
        return rows

    @property
    def fn(self) -> Weights:
        """The positives below each threshold."""
        fn: Weights = self.positives - self.tp
        return fn

    @property
    def tn(self) -> Weights:
        """The negatives below each threshold."""
        tn: Weights = self.negatives - self.fp
        return tn

    @property
    def total(self) -> Any:
        """The number of positives and negatives together."""
        return self.positives + self.negatives

    @property
    def pairs(self) -> Any:
        """The number of pairs of a positive and a negative."""
        return self.positives * self.negatives


# Making a table -----------------------------------------------------------------------------------


class RechosenCounts(NamedTuple):
    """Counts at the thresholds that bootstrap samples choose; in both tables each array has one
    element per sample.

    sample: the counts of the sample at the threshold chosen on it. all_rows: those of the original
    rows at the same threshold. If no threshold of a sample satisfies the rule, all are NaN.
    """

    sample: Counts
    all_rows: Counts


def count(score: ArrayLike, positive: ArrayLike, negative: ArrayLike | None = None) -> Counts:
    """Counts of a score from rows, a histogram or the result of a GROUP BY; equal scores are added
    up.

    positive, negative: weight at each score, >= 0; scores without weight are left out. Without
    `negative` each score is one row, and `positive` its label, 0 or 1. Raises InputError for a
    score that is not finite, a label other than 0 and 1, a weight below 0, or columns of different
    lengths.

    >>> c = count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])
    >>> c.threshold, c.tp, c.fp
    (array([0.8, 0.7, 0.5, 0.3]), array([1, 2, 4, 4]), array([0, 0, 2, 3]))
    >>> histogram = count([0.8, 0.7, 0.5, 0.3], positive=[1, 1, 2, 0], negative=[0, 0, 2, 1])
    >>> bool((histogram.tp == c.tp).all())
    True
    """
    score = finite("score", score)
    if negative is None:
        label = zero_one("label", positive)
        same_length(score=score, label=label)
        return _count_rows(score, label)
    positive = _weights("positive", positive)
    negative = _weights("negative", negative)
    same_length(score=score, positive=positive, negative=negative)
    return _count_weights(score, positive, negative)


def at(c: Counts, threshold: ArrayLike) -> Counts:
    """The counts at one or more other thresholds, for the metrics of a threshold; NaN at a
    threshold of NaN.

    >>> c = count([1, 0], positive=[140, 11], negative=[40, 4809])
    >>> half = at(c, 0.5)
    >>> print(f"{precision(half):.6f} {recall(half):.6f} {f_score(half, beta=2):.6f}")
    0.777778 0.927152 0.892857
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    # How many distinct scores reach each threshold. Scores descend: negated, they ascend as
    # searchsorted needs. The counts are those at the last of these scores, 0 if none reaches it.
    scores_reaching = np.searchsorted(-c.threshold, -threshold, side="right")
    tp = np.append(0, c.tp)[scores_reaching]
    fp = np.append(0, c.fp)[scores_reaching]
    is_undefined = np.isnan(threshold)
    if is_undefined.any():
        tp = np.where(is_undefined, np.nan, tp)
        fp = np.where(is_undefined, np.nan, fp)
    return Counts(threshold, tp, fp, c.positives, c.negatives)


def _count_rows(score: Floats, label: NDArray[np.int8]) -> Counts:
    """The table of positives and negatives at or above each distinct score, from one score and one
    label (0 or 1) per row.

    A key, a whole number, is made of the bits of each score with the label behind them: to sort
    keys is faster than argsort of the scores. A key has room for the label if the score is below 2
    in absolute value. So larger scores are divided by a power of two, which is exact.
    """
    power = exponent(score)
    key = with_label(score, label, power)
    if key is None:  # the division would take bits from a very small score
        positive = label.astype(np.int64)
        return _count_weights(score, positive, negative=1 - positive)
    key.sort()
    key = key[::-1].copy()  # highest scores first
    tp = np.cumsum(key & 1)  # the label is the last bit
    key >>= 1  # drops the label: the bits of the score alone
    last = run_ends(key)  # the last row of each distinct score
    has_ties = len(last) < len(key)
    if has_ties:
        tp = tp[last]
        key = key[last]
    # `with_label` has inverted the bits of negative scores: a second time restores them
    threshold = ordered(key).view(np.float64)
    if power:  # undo the division
        threshold = threshold * 2.0**power
    rows = last + 1  # at or above each score
    return Counts.from_columns(threshold, tp, fp=rows - tp)


def _count_weights(score: Floats, positive: Weights, negative: Weights) -> Counts:
    """The table of positives and negatives at or above each distinct score, from the weight of
    positives and of negatives at each score; scores may repeat, and those without weight are left
    out.
    """
    order = np.argsort(score)[::-1]  # highest scores first
    rows = positive + negative
    order = order[rows[order] > 0]
    score = score[order] + 0.0  # -0.0 becomes 0.0
    last = run_ends(score)  # the last row of each distinct score
    tp = np.cumsum(positive[order])[last]
    fp = np.cumsum(negative[order])[last]
    return Counts.from_columns(score[last], tp, fp)


def _weights(name: str, values: ArrayLike) -> Weights:
    """The values as an array, int64 if all are whole numbers. Raises InputError for one that is
    below 0 or not finite. name: of the argument, for the error.
    """
    weight = finite(name, values)
    wrong = np.flatnonzero(weight < 0)
    if wrong.size:
        row = wrong[0]
        raise InputError(f"{name} must hold weights of 0 or more, got {weight[row]} (row {row})")
    return weight.astype(np.int64) if are_whole(weight) else weight


# Scores as whole numbers of 63 bits, of which one plain sort orders the rows ----------------------

ROWS = 2**15  # processed at once: they stay in the cache
BELOW = 2.0  # doubles of a smaller absolute value leave one of their 64 bits unused


def exponent(score: Floats) -> int:
    """The power of two to divide finite scores by, so that all are below 2 in absolute value; 0 if
    they are already.
    """
    largest = max(score.max(initial=0), -score.min(initial=0))  # in absolute value
    # frexp: largest = fraction · 2^power with a fraction from 0.5 to 1, so that
    # largest / 2^(power - 1) is below 2
    _, power = np.frexp(largest)
    return max(0, int(power) - 1)


def with_label(score: Floats, label: np.ndarray, exponent: int = 0) -> Ints | None:
    """One whole number per row, a key, whose order is that of the scores and, among equal scores,
    of the labels: the bits of the score, then the label as last bit.

    Scores are finite; -0.0 equals 0.0. exponent: scores are first divided by 2^exponent. None if
    the division cannot be undone exactly, or if a score is then not below 2 in absolute value. In
    the ordered bits of smaller ones the second bit repeats the first: one of them gives room to the
    label.

    >>> with_label(np.array([0.5, 0.5, -0.0]), np.array([1, 0, 1], np.int8)).argsort()
    array([2, 1, 0])
    """
    key = np.empty(len(score), np.int64)
    for start in range(0, len(key), ROWS):  # pieces that stay in the processor's cache
        piece = slice(start, start + ROWS)
        scaled = score[piece]
        if exponent:
            scaled = score[piece] * 2.0**-exponent
            if np.any(scaled * 2.0**exponent != score[piece]):
                return None
        lowest = scaled.min()
        if not (lowest > -BELOW and scaled.max() < BELOW):
            return None
        bits = scaled.view(np.int64)  # in the order of the numbers if all are above 0
        if lowest <= 0:
            bits = ordered((scaled + 0.0).view(np.int64))  # -0.0 becomes 0.0
        np.left_shift(bits, 1, out=key[piece])
        np.bitwise_or(key[piece], label[piece], out=key[piece])
    return key


def run_ends(values: NDArray[Any]) -> Ints:
    """The last index of each run of equal values.

    >>> run_ends(np.array([7, 7, 5]))
    array([1, 2])
    """
    end = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=end[:-1])
    return np.flatnonzero(end)


def run_starts(values: NDArray[Any]) -> Ints:
    """The first index of each run of equal values.

    >>> run_starts(np.array([7, 7, 5]))
    array([0, 2])
    """
    start = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=start[1:])
    return np.flatnonzero(start)


def run_numbers(size: Ints) -> Ints:
    """The number of each element's run, from the sizes of the runs, which may be 0.

    >>> run_numbers(np.array([2, 0, 1]))
    array([0, 0, 2])
    """
    return np.repeat(np.arange(len(size)), size)


def total_before(totals: Weights, index: int) -> Any:
    """The running total before an index; 0 at the first."""
    return totals[index - 1] if index else 0


def zero_one(name: str, label: ArrayLike) -> NDArray[np.int8]:
    """Labels as int8. Raises InputError for a label that is neither 0 nor 1. name: of the argument,
    for the error.

    >>> zero_one("label", [1, 2])
    Traceback (most recent call last):
    evalkit.arrays.InputError: label must hold only 0 and 1, got 2 (row 1)
    """
    label = np.asarray(label)
    if label.ndim != 1:
        raise InputError(f"{name} must have one dimension, got shape {label.shape}")
    if label.dtype != bool:
        is_wrong = (label != 0) & (label != 1)
        wrong = np.flatnonzero(is_wrong)
        if wrong.size:
            row = wrong[0]
            raise InputError(f"{name} must hold only 0 and 1, got {label[row]} (row {row})")
    return label.astype(np.int8)


def ordered(bits: Ints) -> Ints:
    """The bits of floats, changed so that their order as whole numbers is that of the floats; the
    same change again restores the bits.
    """
    if bits.min(initial=0) >= 0:
        return bits  # of floats that are not negative they are in order already
    # The bits of negative floats are in the reverse order: all but the sign are inverted.
    # bits >> 63 repeats the sign: it is -1, all bits set, where that is negative, else 0.
    all_but_sign = np.iinfo(np.int64).max
    return bits ^ ((bits >> 63) & all_but_sign)


# Metrics of a threshold ---------------------------------------------------------------------------


def majority(c: Counts) -> float:
    """max(P, N) / all: the accuracy of always predicting the larger class, the baseline of every
    accuracy.
    """
    return quotient(max(c.positives, c.negatives), c.total)


def base_rate(c: Counts) -> float:
    """P / all; also prevalence. The precision and the average precision of a no-skill score."""
    return quotient(c.positives, c.total)


def predicted_rate(c: Counts) -> Floats:
    """(TP + FP) / all: the share of rows predicted positive; also depth, alert rate."""
    return ratio(c.tp + c.fp, c.total)


def precision(c: Counts) -> Floats:
    """TP / (TP + FP); also positive predictive value. Undefined if nothing is predicted
    positive.
    """
    return ratio(c.tp, c.tp + c.fp)


def recall(c: Counts) -> Floats:
    """TP / P; also sensitivity, true positive rate. Undefined without positives."""
    return ratio(c.tp, c.positives)


def specificity(c: Counts) -> Floats:
    """TN / N; also true negative rate, selectivity. Undefined without negatives."""
    return ratio(c.tn, c.negatives)


def false_positive_rate(c: Counts) -> Floats:
    """FP / N = 1 - specificity; also fall-out. Its denominator is FP + TN, not FN + TN."""
    return ratio(c.fp, c.negatives)


def f_score(c: Counts, beta: float = 1.0) -> Floats:
    """(1 + b²) TP / ((1 + b²) TP + b² FN + FP): b = beta, so that a miss weighs as b² false alarms.

    Computed from counts, not from precision and recall: 0 if every positive is missed, NaN only if
    nothing is positive and nothing predicted positive. van Rijsbergen, Information Retrieval
    (1979), ch. 7.
    """
    miss_weight = beta**2
    return ratio((1 + miss_weight) * c.tp, c.tp + c.fp + miss_weight * c.positives)


def jaccard(c: Counts) -> Floats:
    """TP / (TP + FP + FN); also critical success index, threat score."""
    return ratio(c.tp, c.positives + c.fp)


def balanced_accuracy(c: Counts) -> Floats:
    """(recall + specificity) / 2. Undefined when one class is absent."""
    return (recall(c) + specificity(c)) / 2


def mcc(c: Counts) -> Floats:
    """(TP TN - FP FN) / sqrt((TP+FP) (TP+FN) (TN+FP) (TN+FN)): Matthews' correlation of label and
    prediction.

    Undefined, not 0, if either has one class only. doi:10.1016/0005-2795(75)90109-9.

    >>> print(f"{mcc(at(count([1, 0], [140, 11], [40, 4809]), 1)):.6f}")
    0.844160
    """
    covariance = c.tp * c.tn - c.fp * c.fn  # times n²
    # roots of single products: the product of all four would overflow 64 bits
    of_labels = np.sqrt(c.positives) * np.sqrt(c.negatives)
    of_predictions = np.sqrt(c.tp + c.fp) * np.sqrt(c.tn + c.fn)
    return ratio(covariance, of_labels * of_predictions)


def kappa(c: Counts) -> Floats:
    """2 (TP TN - FP FN) / ((TP+FP) N + P (TN+FN)): Cohen's agreement beyond chance.

    Undefined if all labels and predictions are the same class. doi:10.1177/001316446002000104.
    """
    predicted_positive = c.tp + c.fp
    predicted_negative = c.fn + c.tn
    margins = predicted_positive * c.negatives + c.positives * predicted_negative
    covariance = c.tp * c.tn - c.fp * c.fn  # times n²
    return ratio(2 * covariance, margins)


# Metrics of the whole order -----------------------------------------------------------------------


class Step(NamedTuple):
    """A run of consecutive thresholds, highest first: positives and negatives with exactly each
    score (p, n), and at or above it (tp, fp).
    """

    p: Weights
    n: Weights
    tp: Weights
    fp: Weights


STEP = 8_192  # thresholds; their columns fit the cache, and BLAS starts no threads for so few


def steps(c: Counts, *, backwards: bool = False) -> Iterator[Step]:
    """Yield the table in runs of `STEP` thresholds, so that a sum over it needs no array as long as
    the table: of each threshold the positives and negatives with exactly this score, and those at
    or above it. backwards: the lowest thresholds first; within a run the highest stays first.
    """
    starts = range(0, len(c.threshold), STEP)
    ordered_starts = reversed(starts) if backwards else starts
    for start in ordered_starts:
        tp = c.tp[start : start + STEP]
        fp = c.fp[start : start + STEP]
        positives_at_score = _differences(tp, total_before(c.tp, start))
        negatives_at_score = _differences(fp, total_before(c.fp, start))
        yield Step(positives_at_score, negatives_at_score, tp, fp)


def runs(values: NDArray[Any]) -> list[NDArray[Any]]:
    """The values of all thresholds (last axis) cut into the runs of `steps`."""
    return np.split(values, range(STEP, values.shape[-1], STEP), axis=-1)


def blocks(c: Counts) -> Iterator[Counts]:
    """Yield the table in runs of `STEP` thresholds, each as a table with the totals of all rows."""
    for start in range(0, len(c.threshold), STEP):
        run = slice(start, start + STEP)
        yield Counts(c.threshold[run], c.tp[run], c.fp[run], c.positives, c.negatives)


def _differences(totals: Weights, before: Any) -> Weights:
    """How much each running total adds to the one before, along the last axis: np.diff with a
    start, in half its time. before: the total before the first.
    """
    added = np.empty_like(totals)
    np.subtract(totals[..., 1:], totals[..., :-1], out=added[..., 1:])
    np.subtract(totals[..., :1], before, out=added[..., :1])
    return added


def twice_u(c: Counts) -> float:
    """2 U, twice the Mann-Whitney statistic: over all pairs of a positive and a negative, 2 if the
    positive scores higher, 1 for a tie.

    An exact whole number if the weights are. doi:10.1214/aoms/1177730491.
    """
    total: float = 0
    for step in steps(c):
        # of a positive at each score: its lower negatives count 2, its tied ones 1
        below_and_tied = 2 * (c.negatives - step.fp) + step.n
        total += np.dot(step.p, below_and_tied).item()
    return total


def auc(c: Counts) -> float:
    """U / (P N): the probability that a positive scores above a negative, a tie counting one half.

    The area under the ROC curve by the trapezoid rule, and 1 - ranking loss. Undefined when one
    class is absent. doi:10.1148/radiology.143.1.7063747.

    >>> print(f"{auc(count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])):.6f}")
    0.833333
    """
    return quotient(twice_u(c), 2 * c.pairs)


def average_precision(c: Counts) -> float:
    """Mean over the positives of the precision at their score: the area under the PR curve in
    steps.

    Equals scikit-learn's average_precision_score. Undefined without positives.

    >>> c = count([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])
    >>> print(f"{average_precision(c):.6f}")
    0.833333
    """
    total = 0.0
    for step in steps(c):
        precision = step.tp / (step.tp + step.fp)
        total += np.dot(step.p, precision).item()
    return quotient(total, c.positives)


def ks(c: Counts) -> float:
    """max |TPR - FPR| over the thresholds: the Kolmogorov-Smirnov distance between the scores of
    the classes.
    """
    widest = max((rate_gap(c, run) for run in blocks(c)), default=0)  # times P N
    return quotient(widest, c.pairs)


def rate_gap(c: Counts, step: Step | Counts) -> float:
    """max |TPR - FPR| P N within a run of thresholds: an exact whole number if the weights are."""
    gap = step.tp * c.negatives - step.fp * c.positives
    widest: float = np.abs(gap).max().item()
    return widest


# AUC inside many groups at once, and GAUC, their weighted mean ------------------------------------


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """What the AUC inside each group follows from; arrays with one element per group.

    group: the distinct keys, ascending. twice_u: 2 U of the group's rows, see `twice_u`. positives,
    negatives: their numbers. int64 unless rows have weights. The AUC of a group is undefined if it
    has only one class.
    """

    group: NDArray[Any]
    twice_u: Ints | Floats
    positives: Ints | Floats
    negatives: Ints | Floats

    @property
    def impressions(self) -> Ints | Floats:
        """Rows of each group."""
        return self.positives + self.negatives

    @property
    def auc(self) -> Floats:
        """AUC of each group, NaN if it has only one class."""
        pairs = self.positives * self.negatives
        return ratio(self.twice_u, 2 * pairs)


def auc_by_group(label: ArrayLike, score: ArrayLike, group: ArrayLike) -> GroupedCounts:
    """AUC within each group (a user, a query), by one sort for all groups: U / (positives ·
    negatives), with Mann and Whitney's U, the number of pairs of a positive and a negative in which
    the positive has the higher score, a tie counting one half. The result has 2 U.

    Raises InputError for a score that is not finite, a label other than 0 and 1, or columns of
    different lengths.

    >>> user = ["u1", "u1", "u1", "u1", "u2", "u2", "u2"]
    >>> g = auc_by_group([1, 0, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.1, 0.6, 0.7, 0.2], user)
    >>> g.auc, g.impressions
    (array([0.75, 0.5 ]), array([4, 3]))
    """
    score = finite("score", score) + 0.0
    label = zero_one("label", label)
    group = np.asarray(group)
    same_length(label=label, score=score, group=group)
    group_code, names = codes(group)
    score_code, distinct_scores = codes(score)
    # One whole number per row holds group, score and label, in this order: one sort of them sorts
    # all groups. Up to 2^30 rows it fits 63 bits, as groups and scores are at most as many as rows.
    bits = len(distinct_scores).bit_length() + 1  # of the score and the label
    key = group_code << bits | score_code << 1 | label
    key.sort()
    rows = np.bincount(group_code, minlength=len(names))
    group_start = np.cumsum(rows) - rows  # among the sorted rows
    positive_row = np.flatnonzero(key & 1)  # the positives among the sorted rows
    # the positives of a group are positive_row[first:end]
    first, end = np.searchsorted(positive_row, [group_start, group_start + rows])
    positives = end - first
    # Pairs of a positive and a negative of the same group with a lower or equal score: such a
    # negative stands before the positive among the sorted rows.
    # 1. Negatives of any group before a positive: the i-th positive, in sorted row r, has r - i.
    # 2. Their sum over the positives of a group is a difference of a running sum.
    # 3. Negatives of the groups before are taken off, once for each positive.
    negatives_before_row = positive_row - np.arange(len(positive_row))
    running_sum = np.append(0, np.cumsum(negatives_before_row))
    negatives_before = running_sum[end] - running_sum[first]
    negatives_of_groups_before = group_start - first  # all rows less the positives
    wins_and_ties = negatives_before - positives * negatives_of_groups_before
    # a tie stands in `wins_and_ties` as a win, but counts one half
    ties = _tied_pairs(key, positive_row, bits, groups=len(names))
    twice_u = 2 * wins_and_ties - ties
    return GroupedCounts(names, twice_u, positives, negatives=rows - positives)


def weighted_auc_by_group(
    label: ArrayLike, score: ArrayLike, group: ArrayLike, weight: ArrayLike
) -> GroupedCounts:
    """AUC within each group of weighted rows: as `auc_by_group`, from the pairs of a positive and a
    negative, a pair counting the product of its weights.

    >>> g = weighted_auc_by_group([1, 0, 1], [0.9, 0.8, 0.7], ["u", "u", "u"], [3.0, 1.0, 1.0])
    >>> g.auc, g.impressions
    (array([0.75]), array([5.]))
    """
    label = zero_one("label", label)
    weight = np.asarray(weight, dtype=np.float64)
    group_code, names = codes(group)
    score_code, distinct_scores = codes(score)
    # a cell: the rows of one group with one score; cells ascend by group, then by score
    n_scores = len(distinct_scores)
    cell_of_row, cell_code = codes(group_code * n_scores + score_code)
    group_of_cell = cell_code // n_scores
    # the weight of the positives and of the negatives, by cell and by group
    weight_if_negative = weight * (1 - label)
    positive = np.bincount(cell_of_row, weight * label, len(cell_code))
    negative = np.bincount(cell_of_row, weight_if_negative, len(cell_code))
    positives = np.bincount(group_of_cell, positive, len(names))
    negatives = np.bincount(group_of_cell, negative, len(names))
    # negatives in the cells before, less those of the groups before: those of the same group with a
    # lower score
    before_group = np.cumsum(negatives) - negatives
    before_cell = np.cumsum(negative) - negative
    below = before_cell - before_group[group_of_cell]
    # for each positive a lower negative counts 2, a tied one 1
    below_and_tied = 2 * below + negative
    twice_u = np.bincount(group_of_cell, positive * below_and_tied, len(names))
    return GroupedCounts(names, twice_u, positives, negatives)


def _tied_pairs(key: Ints, positive_row: Ints, bits: int, groups: int) -> Ints:
    """Number of pairs of a positive and a negative with equal scores, per group; shape (groups,).

    key: of each row, ascending: the bits of the group, then of the score, then the label as last
    bit, so that negatives come first in a tie. positive_row: the indices of the positives. bits:
    how many of the last bits are those of score and label.
    """
    # The first positive of each tie: the key before it is less by 1, as only the label differs. A
    # positive in row 0 is compared with the last key (index -1), which is not less.
    key_before = key[positive_row - 1]
    is_first = key_before == key[positive_row] - 1
    first = positive_row[is_first]
    positive_key = key[first]
    negative_key = positive_key - 1  # the same group and score with label 0
    negatives = first - np.searchsorted(key, negative_key)
    positives = np.searchsorted(key, positive_key, side="right") - first
    pairs = np.zeros(groups, dtype=np.int64)
    group = positive_key >> bits
    np.add.at(pairs, group, positives * negatives)  # a group may have several ties
    return pairs
