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
from evalkit.catalogue.metric import Metric
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
NO_ROWS = "there is no row"
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


def _class(name: str, kind: Kind, formula: str, undefined: str, equals: str, **rest) -> Metric:
    return Metric(name, "classes", kind, formula, undefined, equals, cut=rest.pop("cut", "never"), **rest)


RIGHT = Share(lambda actual, predicted: (np.ones(len(actual), dtype=bool), actual == predicted))
ABSENT = "a class has no row"
UNSEEN = "a class has no row and is predicted"
ONE = "actual or predicted classes are all one"

MACRO_PRECISION = _class(
    "macro_precision",
    _macro(PRECISION),
    "mean over the classes of precision",
    "a class is never predicted",
    "scikit-learn precision_score(average='macro'), which counts 0 where undefined",
    plain="the mean over the classes of the share of predictions that are right",
)
MACRO_RECALL = _class(
    "macro_recall",
    _macro(RECALL),
    "mean over the classes of recall",
    UNSEEN,
    "scikit-learn recall_score(average='macro')",
    plain="the mean over the classes of the share of their rows that is recognised",
)

ROWS = (
    _class(
        "accuracy",
        RIGHT,
        "rows whose class is predicted / all; also micro F1",
        NO_ROWS,
        "scikit-learn accuracy_score",
        plain="the share of rows whose class is predicted correctly",
    ),
    _class(
        "macro_f1",
        _macro(F1),
        "mean over the classes of F1; a class that neither occurs nor is predicted takes no part",
        NO_ROWS,
        "scikit-learn f1_score(average='macro')",
        plain="the mean over the classes of F1, the harmonic mean of precision and recall",
    ),
    MACRO_PRECISION,
    MACRO_RECALL,
    _class(
        "macro_f1_of_means",
        Harmonic((MACRO_PRECISION, MACRO_RECALL)),
        "F1 of macro precision and macro recall",
        "a class is never predicted",
        "none as such",
        reference="Opitz and Burst 2019, arXiv:1911.03347",
        plain="the harmonic mean of macro precision and macro recall",
    ),
    _class(
        "weighted_f1",
        _weighted(counts.f_score),
        "mean over the classes of F1 weighted by their rows",
        NO_ROWS,
        "scikit-learn f1_score(average='weighted')",
        plain="F1, the harmonic mean of precision and recall, averaged over the rows' classes",
    ),
    _class(
        "weighted_precision",
        _weighted(counts.precision),
        "mean over the classes of precision weighted by their rows",
        "a class with rows is never predicted",
        "scikit-learn precision_score(average='weighted'), which counts 0 where undefined",
        plain="the share of predictions that are right, averaged over the rows' classes",
    ),
    _class(
        "weighted_recall",
        RIGHT,
        "mean over the classes of recall weighted by their rows, which is the accuracy",
        NO_ROWS,
        "scikit-learn recall_score(average='weighted')",
        plain="the share of rows whose class is predicted correctly",
    ),
    _class(
        "balanced_accuracy",
        Combined(RECALL, _with_rows, _by_class),
        "mean recall of the classes that have rows",
        NO_ROWS,
        "scikit-learn balanced_accuracy_score",
        plain="the mean over the classes of the share of their rows that is recognised",
    ),
    _class(
        "mcc",
        _table(labels.mcc),
        "correlation of actual and predicted class (R_K)",
        ONE,
        "scikit-learn matthews_corrcoef",
        low=-1.0,
        reference="Gorodkin 2004, doi:10.1016/j.compbiolchem.2004.09.006",
        plain="the correlation of actual and predicted class; 0 without skill",
    ),
    _class(
        "kappa",
        _table(labels.kappa),
        "(accuracy − chance) / (1 − chance)",
        "actual and predicted classes are all one and the same",
        "scikit-learn cohen_kappa_score",
        low=-1.0,
        plain="the agreement of actual and predicted class beyond chance; 0 without skill",
    ),
    _class(
        "kappa_quadratic",
        _table(labels.kappa_quadratic),
        "kappa with squared distance of the classes, which are in order",
        "actual and predicted classes are all one and the same",
        "scikit-learn cohen_kappa_score(weights='quadratic')",
        low=-1.0,
        plain="the agreement of actual and predicted class beyond chance, where far misses weigh more",
    ),
    _class(
        "top",
        Loss(lambda rows, k: labels.in_top(rows.actual, rows.scores, k)),
        "rows whose class is among the k highest scores / all; a tie at the border counts by its share",
        NO_ROWS,
        "scikit-learn top_k_accuracy_score where no scores tie",
        cut="must",
        needs="scores",
        plain="the share of rows whose class has one of the {k} highest scores",
    ),
    _class(
        "roc_auc_ovr",
        _one_vs_rest(ROC_AUC),
        "mean over the classes of the AUC of the class against the rest",
        ABSENT,
        "scikit-learn roc_auc_score(multi_class='ovr')",
        needs="scores",
        plain="how often a row of a class scores higher for it than other rows, mean over classes; ½ without skill",
    ),
    _class(
        "roc_auc_hand_till",
        Combined(ROC_AUC, _pairs, _by_class, whole=False),
        "mean over ordered pairs of classes of the AUC of one over the other by its score",
        ABSENT,
        "scikit-learn roc_auc_score(multi_class='ovo'); pROC multiclass.roc",
        reference="Hand and Till 2001, doi:10.1023/A:1010920819831",
        needs="scores",
        plain="how often a row scores higher for its class than a row of another, mean over pairs; ½ without skill",
    ),
    _class(
        "roc_auc_ovr_weighted",
        Weighted(ROC_AUC, lambda rows: _each(rows, np.arange(rows.classes)), _by_class),
        "mean over the classes of the AUC of the class against the rest, weighted by its rows",
        "all rows are of one class",
        "scikit-learn roc_auc_score(multi_class='ovr', average='weighted')",
        needs="scores",
        plain="how often a row of a class scores higher for it than other rows, classes weighted; ½ without skill",
    ),
    _class(
        "roc_auc_ovo_weighted",
        Weighted(ROC_AUC, _pairs, _by_class, whole=False, counted=lambda rows: np.ones(len(rows), dtype=bool)),
        "mean over ordered pairs of classes of the AUC of one over the other, weighted by the rows of both",
        ABSENT,
        "scikit-learn roc_auc_score(multi_class='ovo', average='weighted')",
        needs="scores",
        plain="how often a row scores higher for its class than a row of another, pairs weighted; ½ without skill",
    ),
    _class(
        "map_classes",
        _one_vs_rest(AVERAGE_PRECISION),
        "mean over the classes of average precision against the rest",
        ABSENT,
        "mean of scikit-learn average_precision_score by class",
        needs="scores",
        plain="the mean over the classes of the average precision, which says how pure the highest scores are",
    ),
    _class(
        "log_loss",
        Loss(lambda rows, k: losses.log_classes(rows.actual, rows.scores), losses.WORST),
        "mean −log(probability of the actual class), probabilities scaled to sum 1, clipped at ε",
        NO_ROWS,
        "scikit-learn log_loss",
        best="low",
        high=np.inf,
        needs="probabilities",
        plain="the mean penalty for low probabilities of the actual class, which is large for confident errors",
        unit="nats",
    ),
    _class(
        "brier",
        Loss(lambda rows, k: losses.brier_classes(rows.actual, rows.scores)),
        "mean over rows of Σ over classes (probability − 1 for the actual class)²: 0 to 2",
        NO_ROWS,
        "scikit-learn brier_score_loss(scale_by_half=False)",
        best="low",
        high=2.0,
        needs="probabilities",
        plain="the mean squared distance between the probabilities and what happened",
    ),
)
