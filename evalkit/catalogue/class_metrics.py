"""Metrics of several classes, and of several labels per row, with the influence of each row."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.catalogue.kinds import Agreement, Effects, Loss, RatioOfRows, Share
from evalkit.catalogue.metric import Combined, Harmonic, Metric, Part, Weighted, described, rows_of
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION, F1, PRECISION, RECALL, ROC_AUC
from evalkit.metrics import counts, labels, losses
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows

STEP = 1e-4  # of all rows: the weight added to a cell to see what it moves


# What each row adds ----------------------------------------------------------------------------------------------


def of_confusion(metric: Callable[[Confusion], float], rows: Rows) -> Effects:
    """A metric of the confusion table and the influence of each row, by a small change of its cell.

    >>> s = Rows(np.array([0, 0, 1, 1]), decision=np.array([0, 1, 1, 1]))
    >>> of_confusion(lambda m: np.trace(m.table) / m.total, s).rows.round(2)
    array([ 0.06, -0.19,  0.06,  0.06])
    """
    m, value = rows.confusion, metric(rows.confusion)
    cell = rows.actual * rows.classes + rows.predicted
    moved, step = np.zeros(rows.classes**2), STEP * m.total
    for place in np.unique(cell) if not np.isnan(value) else []:
        table = m.table.astype(np.float64)
        table.flat[place] += step
        moved[place] = (metric(Confusion(table, m.classes)) - value) / step
    by_row, w = moved[cell], rows.weights
    return Effects(value, w * (by_row - ratio(np.dot(w, by_row), w.sum())))


def against_rest(rows: Rows, c: int) -> Rows:
    """The rows with one class as positive, its score, and whether it is predicted."""
    score, decision = (None if rows.score is None else rows.score[:, c]), rows.predicted == c
    return replace(rows, actual=(rows.actual == c).astype(np.int64), score=score, decision=decision)


def _each(rows: Rows, classes: Ints) -> Iterator[Part]:
    return (Part(1 / len(classes), against_rest(rows, c)) for c in classes)


def _all_classes(rows: Rows) -> Iterator[Part]:
    return _each(rows, np.arange(rows.classes))


def _one_vs_rest(of: Metric) -> Combined:
    return Combined(of, _all_classes, classed=True)


def _macro(of: Metric) -> Combined:
    """The mean over the classes that occur or are predicted."""

    def parts(rows: Rows) -> Iterator[Part]:
        return _each(rows, np.flatnonzero(labels.occurs(labels.one_vs_rest(rows.confusion))))

    return Combined(of, parts, classed=True)


def _with_rows(rows: Rows) -> Iterator[Part]:
    return _each(rows, np.flatnonzero(rows.confusion.table.sum(axis=1)))


def _pairs(rows: Rows) -> Iterator[Part]:
    """The rows of two classes i, j with the score of i, for every ordered pair."""
    for i in range(rows.classes):
        for j in np.delete(np.arange(rows.classes), i):
            places = np.flatnonzero((rows.actual == i) | (rows.actual == j))
            yield Part(1 / (rows.classes * (rows.classes - 1)), against_rest(rows.take(places), i), places)


def _table(metric: Callable[[Confusion], float]) -> Agreement:
    return Agreement(lambda rows, k: of_confusion(metric, rows))


def _weighted(metric: labels.Metric) -> Agreement:
    """The mean over the classes that have rows, weighted by these, of a metric of the confusion table."""
    return _table(lambda m: labels.weighted(labels.one_vs_rest(m), metric))


RIGHT = Share(lambda actual, predicted: (np.ones(len(actual), dtype=bool), actual == predicted))
MACRO_PRECISION = described("macro_precision", "classes", _macro(PRECISION))
MACRO_RECALL = described("macro_recall", "classes", _macro(RECALL))
CLASSES = rows_of(
    "classes",
    {
        "accuracy": RIGHT,
        "macro_f1": _macro(F1),
        "macro_precision": MACRO_PRECISION,
        "macro_recall": MACRO_RECALL,
        "macro_f1_of_means": Harmonic((MACRO_PRECISION, MACRO_RECALL)),
        "weighted_f1": _weighted(counts.f_score),
        "weighted_precision": _weighted(counts.precision),
        "weighted_recall": RIGHT,
        "balanced_accuracy": Combined(RECALL, _with_rows, classed=True),
        "mcc": _table(labels.mcc),
        "kappa": _table(labels.kappa),
        "kappa_quadratic": _table(labels.kappa_quadratic),
        "top": Loss(lambda rows, k: labels.in_top(rows.actual, rows.scores, k)),
        "roc_auc_ovr": _one_vs_rest(ROC_AUC),
        "roc_auc_hand_till": Combined(ROC_AUC, _pairs, classed=True, whole=False),
        "roc_auc_ovr_weighted": Weighted(ROC_AUC, _all_classes, classed=True),
        "roc_auc_ovo_weighted": Weighted(
            ROC_AUC, _pairs, classed=True, whole=False, counted=lambda rows: np.ones(len(rows), dtype=bool)
        ),
        "map_classes": _one_vs_rest(AVERAGE_PRECISION),
        "log_loss": Loss(lambda rows, k: losses.log_classes(rows.actual, rows.scores), losses.WORST),
        "brier": Loss(lambda rows, k: losses.brier_classes(rows.actual, rows.scores)),
    },
)


# Several labels per row -----------------------------------------------------------------------------------------------


def _micro(of: Callable[[Floats, Floats, Floats], tuple[Floats, Floats]]) -> RatioOfRows:
    """A ratio of sums over all rows and labels. of: (labels true, labels predicted, both) of each row -> its sides."""
    return RatioOfRows(lambda rows: of(*rows.label_counts))


def of_label(rows: Rows, j: int) -> Rows:
    """The rows with one label as what is true, its score, and whether it is predicted."""
    score = None if rows.score is None else rows.score[:, j]
    return replace(rows, actual=rows.actual[:, j].astype(np.int64), score=score, decision=rows.predicted[:, j])


def _each_label(rows: Rows) -> Iterator[Part]:
    count = rows.actual.shape[1]
    return (Part(1 / count, of_label(rows, j)) for j in range(count))


def _by_row(of: Callable[[Bools, Bools], Floats]) -> Loss:
    """The mean over the rows."""
    return Loss(lambda rows, k: of(rows.actual, rows.predicted))


def _of_scores(of: Callable[[Bools, Floats], Floats]) -> Loss:
    """The mean over the rows of a number of all their labels and scores."""
    return Loss(lambda rows, k: of(rows.actual, rows.scores))


RECALLED = _micro(lambda true, said, both: (both, true))
LABELS = rows_of(
    "labels",
    {
        "micro_f1": _micro(lambda true, said, both: (2 * both, true + said)),
        "micro_precision": _micro(lambda true, said, both: (both, said)),
        "micro_recall": RECALLED,
        "macro_f1": Combined(F1, _each_label),
        "weighted_f1": Weighted(F1, _each_label),
        "weighted_precision": Weighted(PRECISION, _each_label),
        "weighted_recall": RECALLED,
        "samples_f1": _by_row(labels.f1_by_row),
        "samples_jaccard": _by_row(labels.jaccard_by_row),
        "exact_match": Share(lambda y, d: (np.ones(len(y), dtype=bool), labels.exact_match(y, d) == 1)),
        "hamming_loss": _by_row(labels.hamming),
        "map_classes": Combined(AVERAGE_PRECISION, _each_label),
        "roc_auc_macro": Combined(ROC_AUC, _each_label),
        "ranking_loss": _of_scores(labels.ranking_loss),
        "label_ranking_average_precision": _of_scores(labels.label_ranking_average_precision),
        "coverage_error": _of_scores(labels.coverage_error),
    },
)
