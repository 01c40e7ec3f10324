"""The rows of the table of metrics for several classes, with how much each row of the data moves them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from evalkit.arrays import Bools, Ints, ratio
from evalkit.catalogue.binary import AVERAGE_PRECISION, F1, PRECISION, RECALL, ROC_AUC
from evalkit.catalogue.combined_kinds import Combined, Harmonic, Part, Weighted
from evalkit.catalogue.kinds import (
    Agreement,
    Effects,
    Kind,
    Loss,
    Share,
)
from evalkit.catalogue.metric import Metric, described
from evalkit.metrics import counts, labels, losses
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows

HEADS = {"classes": "Multi-class classification"}
ALIASES = {
    "f1_macro": "macro_f1",
    "f1_weighted": "weighted_f1",
    "precision_weighted": "weighted_precision",
    "recall_weighted": "weighted_recall",
    "ovr": "roc_auc_ovr",
    "ovo": "roc_auc_hand_till",
    "ovr_weighted": "roc_auc_ovr_weighted",
    "ovo_weighted": "roc_auc_ovo_weighted",
}
STEP = 1e-4  # of all rows: the weight added to a cell to see what it moves


# What each row adds ----------------------------------------------------------------------------------------------


def of_confusion(metric: Callable[[Confusion], float], rows: Rows) -> Effects:
    """A metric of the confusion table and how much each row moves it: by adding a little to its cell.

    >>> s = Rows(np.array([0, 0, 1, 1]), decision=np.array([0, 1, 1, 1]))
    >>> of_confusion(labels.accuracy, s).rows.round(2)
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


def _by_class(rows: Rows) -> list[Bools]:
    """The rows of each class that has any."""
    return [rows.actual == c for c in np.unique(rows.actual)]


def _one_vs_rest(of: Metric) -> Kind:
    return Combined(of, lambda rows: _each(rows, np.arange(rows.classes)), _by_class)


def _macro(of: Metric) -> Kind:
    """The mean over the classes that occur or are predicted."""

    def parts(rows: Rows) -> Iterator[Part]:
        return _each(rows, np.flatnonzero(labels.occurs(labels.one_vs_rest(rows.confusion))))

    return Combined(of, parts, _by_class)


def _with_rows(rows: Rows) -> Iterator[Part]:
    return _each(rows, np.flatnonzero(rows.confusion.table.sum(axis=1)))


def _pairs(rows: Rows) -> Iterator[Part]:
    """The rows of two classes i, j with the score of i, for every ordered pair."""
    for i in range(rows.classes):
        for j in np.delete(np.arange(rows.classes), i):
            places = np.flatnonzero((rows.actual == i) | (rows.actual == j))
            yield Part(1 / (rows.classes * (rows.classes - 1)), against_rest(rows.take(places), i), places)


def _table(metric: Callable[[Confusion], float]) -> Kind:
    return Agreement(lambda rows, k: of_confusion(metric, rows))


def _weighted(metric: labels.Metric) -> Kind:
    """The mean over the classes that have rows, weighted by these, of a metric of the confusion table."""
    return _table(lambda m: labels.weighted(labels.one_vs_rest(m), metric))


# The table --------------------------------------------------------------------------------------------------------


def _class(name: str, kind: Kind, cut: str = "never", **rest) -> Metric:
    return described(name, "classes", kind, cut=cut, **rest)


RIGHT = Share(lambda actual, predicted: (np.ones(len(actual), dtype=bool), actual == predicted))

MACRO_PRECISION = _class("macro_precision", _macro(PRECISION))
MACRO_RECALL = _class("macro_recall", _macro(RECALL))

ROWS = (
    _class("accuracy", RIGHT),
    _class("macro_f1", _macro(F1)),
    MACRO_PRECISION,
    MACRO_RECALL,
    _class("macro_f1_of_means", Harmonic((MACRO_PRECISION, MACRO_RECALL))),
    _class("weighted_f1", _weighted(counts.f_score)),
    _class("weighted_precision", _weighted(counts.precision)),
    _class("weighted_recall", RIGHT),
    _class("balanced_accuracy", Combined(RECALL, _with_rows, _by_class)),
    _class("mcc", _table(labels.mcc), low=-1.0),
    _class("kappa", _table(labels.kappa), low=-1.0),
    _class("kappa_quadratic", _table(labels.kappa_quadratic), low=-1.0),
    _class("top", Loss(lambda rows, k: labels.in_top(rows.actual, rows.scores, k)), cut="must", needs="scores"),
    _class("roc_auc_ovr", _one_vs_rest(ROC_AUC), needs="scores"),
    _class("roc_auc_hand_till", Combined(ROC_AUC, _pairs, _by_class, whole=False), needs="scores"),
    _class(
        "roc_auc_ovr_weighted",
        Weighted(ROC_AUC, lambda rows: _each(rows, np.arange(rows.classes)), _by_class),
        needs="scores",
    ),
    _class(
        "roc_auc_ovo_weighted",
        Weighted(ROC_AUC, _pairs, _by_class, whole=False, counted=lambda rows: np.ones(len(rows), dtype=bool)),
        needs="scores",
    ),
    _class("map_classes", _one_vs_rest(AVERAGE_PRECISION), needs="scores"),
    _class(
        "log_loss",
        Loss(lambda rows, k: losses.log_classes(rows.actual, rows.scores), losses.WORST),
        best="low",
        high=np.inf,
        needs="probabilities",
        unit="nats",
    ),
    _class(
        "brier",
        Loss(lambda rows, k: losses.brier_classes(rows.actual, rows.scores)),
        best="low",
        high=2.0,
        needs="probabilities",
    ),
)
