"""The rows of the table of metrics for several labels a row, with how much each row of the data moves them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.binary import AVERAGE_PRECISION, F1, NO_ROWS, PRECISION, ROC_AUC
from evalkit.catalogue.combined_kinds import Combined, Part, Weighted
from evalkit.catalogue.kinds import (
    Kind,
    Loss,
    RatioOfRows,
    Share,
)
from evalkit.catalogue.metric import Metric
from evalkit.metrics import labels
from evalkit.metrics.rows import Rows

HEADS = {"labels": "Multi-label classification"}
ALIASES = {
    "f1_micro": "micro_f1",
    "f1_samples": "samples_f1",
    "jaccard_samples": "samples_jaccard",
    "subset_accuracy": "exact_match",
    "hamming": "hamming_loss",
    "lrap": "label_ranking_average_precision",
}


def _micro(top: Callable[[Bools, Bools], Floats], bottom: Callable[[Bools, Bools], Floats]) -> Kind:
    """A ratio of sums over all rows and labels."""

    return RatioOfRows(lambda rows: [side(rows.actual, rows.predicted) for side in (top, bottom)])


def _hits(y: Bools, d: Bools) -> Floats:
    return (y & d).sum(axis=1).astype(np.float64)


def _all(y: Bools, d: Bools) -> Floats:
    return (y.sum(axis=1) + d.sum(axis=1)).astype(np.float64)


def of_label(rows: Rows, j: int) -> Rows:
    """The rows with one label as what is true, its score, and whether it is predicted."""
    score = None if rows.score is None else rows.score[:, j]
    return replace(rows, actual=rows.actual[:, j].astype(np.int64), score=score, decision=rows.predicted[:, j])


def _parts(rows: Rows) -> Iterator[Part]:
    count = rows.actual.shape[1]
    return (Part(1 / count, of_label(rows, j)) for j in range(count))


def _by_label(of: Metric) -> Kind:
    """The mean over the labels."""
    return Combined(of, _parts)


def _by_row(of: Callable[[Bools, Bools], Floats]) -> Kind:
    """The mean over the rows."""
    return Loss(lambda rows, k: of(rows.actual, rows.predicted))


def _label(name: str, kind: Kind, formula: str, undefined: str, equals: str, **rest) -> Metric:
    return Metric(name, "labels", kind, formula, undefined, equals, cut="never", **rest)


RECALLED = _micro(_hits, lambda y, d: y.sum(axis=1) * 1.0)

ROWS = (
    _label(
        "micro_f1",
        _micro(lambda y, d: 2 * _hits(y, d), _all),
        "2 Σ TP / (2 Σ TP + Σ FP + Σ FN) over all labels",
        "no label is true and none predicted",
        "scikit-learn f1_score(average='micro')",
        plain="the harmonic mean of precision and recall over all labels together",
    ),
    _label(
        "micro_precision",
        _micro(_hits, lambda y, d: d.sum(axis=1) * 1.0),
        "Σ TP / Σ (TP + FP) over all labels",
        "nothing is predicted",
        "scikit-learn precision_score(average='micro')",
        plain="the share of the predicted labels that are true, over all labels together",
    ),
    _label(
        "micro_recall",
        RECALLED,
        "Σ TP / Σ (TP + FN) over all labels",
        "no label is true",
        "scikit-learn recall_score(average='micro')",
        plain="the share of the true labels that are predicted, over all labels together",
    ),
    _label(
        "macro_f1",
        _by_label(F1),
        "mean over the labels of F1",
        "a label is never true and never predicted",
        "scikit-learn f1_score(average='macro')",
        plain="the mean over the labels of F1, the harmonic mean of precision and recall",
    ),
    _label(
        "weighted_f1",
        Weighted(F1, _parts),
        "mean over the labels of F1, weighted by how often each is true",
        "no label is true",
        "scikit-learn f1_score(average='weighted')",
        plain="F1, the harmonic mean of precision and recall, averaged over the true labels",
    ),
    _label(
        "weighted_precision",
        Weighted(PRECISION, _parts),
        "mean over the labels of precision, weighted by how often each is true",
        "a label that is true is never predicted",
        "scikit-learn precision_score(average='weighted'), which counts 0 where undefined",
        plain="the share of the predictions that are right, averaged over the true labels",
    ),
    _label(
        "weighted_recall",
        RECALLED,
        "mean over the labels of recall, weighted by how often each is true, which is micro_recall",
        "no label is true",
        "scikit-learn recall_score(average='weighted')",
        plain="the share of the true labels that are predicted",
    ),
    _label(
        "samples_f1",
        _by_row(labels.f1_by_row),
        "mean over rows of F1 of the row's labels; a row with none true and none predicted takes no part",
        "no row has a label true or predicted",
        "scikit-learn f1_score(average='samples') where every row has a label true or predicted",
        plain="the mean over rows of the harmonic mean of precision and recall of their labels",
    ),
    _label(
        "samples_jaccard",
        _by_row(labels.jaccard_by_row),
        "mean over rows of labels true and predicted / true or predicted; a row with neither takes no part",
        "no row has a label true or predicted",
        "scikit-learn jaccard_score(average='samples') where every row has a label true or predicted",
        plain="the mean over rows of the share that is right of the labels that are true or predicted",
    ),
    _label(
        "exact_match",
        Share(lambda actual, decided: (np.ones(len(actual), dtype=bool), labels.exact_match(actual, decided) == 1)),
        "rows with every label right / all",
        NO_ROWS,
        "scikit-learn accuracy_score (subset accuracy)",
        plain="the share of rows with every label right",
    ),
    _label(
        "hamming_loss",
        _by_row(labels.hamming),
        "share of wrong labels",
        NO_ROWS,
        "scikit-learn hamming_loss",
        best="low",
        plain="the share of labels that are wrong",
    ),
    _label(
        "map_classes",
        _by_label(AVERAGE_PRECISION),
        "mean over the labels of average precision",
        "a label is never true",
        "scikit-learn average_precision_score(average='macro')",
        plain="the mean over the labels of the average precision, which says how pure the highest scores are",
    ),
    _label(
        "roc_auc_macro",
        _by_label(ROC_AUC),
        "mean over the labels of AUC",
        "a label is never or always true",
        "scikit-learn roc_auc_score(average='macro')",
        plain="how often a row with a label scores higher for it than a row without, mean over labels; ½ without skill",
    ),
    _label(
        "ranking_loss",
        Loss(lambda rows, k: labels.ranking_loss(rows.actual, rows.scores)),
        "mean over rows of the share of pairs (true, false label) in the wrong order, a tie ½",
        "every row has all labels or none",
        "scikit-learn label_ranking_loss where scores do not tie and no row has all labels or none",
        best="low",
        plain="how often a false label of a row scores above a true one",
    ),
    _label(
        "label_ranking_average_precision",
        Loss(lambda rows, k: labels.label_ranking_average_precision(rows.actual, rows.scores)),
        "mean over rows with a true label of the mean precision at their true labels",
        "no row has a true label",
        "scikit-learn label_ranking_average_precision_score where every row has a true label",
        plain="how early the true labels of a row stand if its labels are ordered by score; 1 if they come first",
    ),
    _label(
        "coverage_error",
        Loss(lambda rows, k: labels.coverage_error(rows.actual, rows.scores)),
        "mean over rows of how many of the highest scores hold all true labels",
        "no row has a true label",
        "scikit-learn coverage_error where every row has a true label",
        best="low",
        high=np.inf,
        plain="how many of the highest scores of a row are needed to cover its true labels",
        unit="labels",
    ),
)
