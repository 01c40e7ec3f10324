"""The rows of the table of metrics for several labels a row, with how much each row of the data moves them."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.catalogue.kinds import Combined, Curve, Effects, Kind, Loss, Ratio, Share
from evalkit.catalogue.metric import Metric
from evalkit.catalogue.multiclass import AREA, NO_ROWS, PRECISION, mean, of_order
from evalkit.metrics import labels
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

HEADS = {"labels": "Multi-label classification"}
ALIASES = {
    "f1_micro": "micro_f1",
    "subset_accuracy": "exact_match",
    "hamming": "hamming_loss",
    "lrap": "label_ranking_average_precision",
}


def _micro(top: Callable[[Bools, Bools], Floats], bottom: Callable[[Bools, Bools], Floats]) -> Kind:
    """A ratio of sums over all rows and labels."""

    def terms(rows: Rows, k: int | None, level: float) -> Sums:
        sides = (side(rows.actual, rows.predicted) for side in (top, bottom))
        return Sums(*(rows.weights * side for side in sides))

    return Ratio(terms)


def _hits(y: Bools, d: Bools) -> Floats:
    return (y & d).sum(axis=1).astype(np.float64)


def _all(y: Bools, d: Bools) -> Floats:
    return (y.sum(axis=1) + d.sum(axis=1)).astype(np.float64)


def macro_f1(rows: Rows, k: int | None = None) -> Effects:
    """Mean over the labels of F1; a row moves a label's by (2 hit − F1 (actual + decided)) / Σ (actual + decided)."""
    w = rows.weights[:, None]
    hit, size = w * (rows.actual & rows.predicted), w * (rows.actual.astype(float) + rows.predicted)
    f1 = ratio(2 * hit.sum(axis=0), size.sum(axis=0))
    return Effects(float(f1.mean()), ratio(2 * hit - f1 * size, size.sum(axis=0)).mean(axis=1))


def _by_label(kind: Curve) -> Kind:
    def effects(rows: Rows, k: int | None) -> Effects:
        return mean([of_order(kind, rows, *column) for column in zip(rows.actual.T, rows.scores.T, strict=True)])

    return Combined(effects)


def _label(name: str, kind: Kind, formula: str, undefined: str, equals: str, **rest) -> Metric:
    return Metric(name, "labels", kind, formula, undefined, equals, cut="never", **rest)


ROWS = (
    _label(
        "micro_f1",
        _micro(lambda y, d: 2 * _hits(y, d), _all),
        "2 Σ TP / (2 Σ TP + Σ FP + Σ FN) over all labels",
        "no label is true and none predicted",
        "scikit-learn f1_score(average='micro')",
    ),
    _label(
        "micro_precision",
        _micro(_hits, lambda y, d: d.sum(axis=1) * 1.0),
        "Σ TP / Σ (TP + FP) over all labels",
        "nothing is predicted",
        "scikit-learn precision_score(average='micro')",
    ),
    _label(
        "micro_recall",
        _micro(_hits, lambda y, d: y.sum(axis=1) * 1.0),
        "Σ TP / Σ (TP + FN) over all labels",
        "no label is true",
        "scikit-learn recall_score(average='micro')",
    ),
    _label(
        "macro_f1",
        Combined(macro_f1),
        "mean over the labels of F1",
        "a label is never true and never predicted",
        "scikit-learn f1_score(average='macro')",
    ),
    _label(
        "exact_match",
        Share(lambda actual, decided: (np.ones(len(actual), dtype=bool), labels.exact_match(actual, decided) == 1)),
        "rows with every label right / all",
        NO_ROWS,
        "scikit-learn accuracy_score (subset accuracy)",
    ),
    _label(
        "hamming_loss",
        Loss(lambda rows, k: labels.hamming(rows.actual, rows.predicted)),
        "share of wrong labels",
        NO_ROWS,
        "scikit-learn hamming_loss",
        best="low",
    ),
    _label(
        "map_classes",
        _by_label(PRECISION),
        "mean over the labels of average precision",
        "a label is never true",
        "scikit-learn average_precision_score(average='macro')",
    ),
    _label(
        "roc_auc_macro",
        _by_label(AREA),
        "mean over the labels of AUC",
        "a label is never or always true",
        "scikit-learn roc_auc_score(average='macro')",
    ),
    _label(
        "ranking_loss",
        Loss(lambda rows, k: labels.ranking_loss(rows.actual, rows.scores)),
        "mean over rows of the share of pairs (true, false label) in the wrong order, a tie ½",
        "every row has all labels or none",
        "scikit-learn label_ranking_loss where scores do not tie and no row has all labels or none",
        best="low",
    ),
    _label(
        "label_ranking_average_precision",
        Loss(lambda rows, k: labels.label_ranking_average_precision(rows.actual, rows.scores)),
        "mean over rows with a true label of the mean precision at their true labels",
        "no row has a true label",
        "scikit-learn label_ranking_average_precision_score where every row has a true label",
    ),
    _label(
        "coverage_error",
        Loss(lambda rows, k: labels.coverage_error(rows.actual, rows.scores)),
        "mean over rows of how many of the highest scores hold all true labels",
        "no row has a true label",
        "scikit-learn coverage_error where every row has a true label",
        best="low",
        high=np.inf,
    ),
)
