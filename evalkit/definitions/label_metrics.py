"""The rows of the table of metrics for several labels a row, with how much each row of the data moves them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.definitions.class_metrics import NO_ROWS, mean, of_order, per_row, weights
from evalkit.definitions.metric import Effects, Metric
from evalkit.metrics import counts, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import auc_influence, average_precision_influence
from evalkit.metrics.rankings import Pooled

HEADS = {"labels": "Multi-label classification"}
ALIASES = {
    "f1_micro": "micro_f1",
    "subset_accuracy": "exact_match",
    "hamming": "hamming_loss",
    "lrap": "label_ranking_average_precision",
}


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows with any number of labels: actual, decided and score have one column per label.

    threshold: one for all labels, or one per label.
    """

    actual: Bools
    score: Floats
    threshold: float | Floats = 0.5
    weight: Floats | None = None

    def take(self, member: Bools | slice) -> "Labelled":
        """The rows that are members."""
        weight = None if self.weight is None else self.weight[member]
        return replace(self, actual=self.actual[member], score=self.score[member], weight=weight)

    @property
    def decided(self) -> Bools:
        """score >= threshold."""
        return self.score >= self.threshold


def _micro(top: Callable[[Bools, Bools], Floats], bottom: Callable[[Bools, Bools], Floats]) -> Callable[..., Pooled]:
    """A ratio of sums over all rows and labels."""

    def compute(s: Labelled, k: int | None, level: float) -> Pooled:
        w = weights(s)
        return Pooled(w * top(s.actual, s.decided), w * bottom(s.actual, s.decided))

    return compute


def _hits(y: Bools, d: Bools) -> Floats:
    return (y & d).sum(axis=1).astype(np.float64)


def _all(y: Bools, d: Bools) -> Floats:
    return (y.sum(axis=1) + d.sum(axis=1)).astype(np.float64)


def macro_f1(s: Labelled, k: int | None = None, level: float = 1) -> Effects:
    """Mean over the labels of F1; a row moves a label's by (2 hit − F1 (actual + decided)) / Σ (actual + decided)."""
    w = weights(s)[:, None]
    hit, size = w * (s.actual & s.decided), w * (s.actual.astype(float) + s.decided)
    f1 = ratio(2 * hit.sum(axis=0), size.sum(axis=0))
    return Effects(float(f1.mean()), ratio(2 * hit - f1 * size, size.sum(axis=0)).mean(axis=1))


def _by_label(metric: Callable[[Counts], float], influence: Callable[..., Floats]) -> Callable[..., Effects]:
    def compute(s: Labelled, k: int | None, level: float) -> Effects:
        columns = range(s.actual.shape[1])
        w = weights(s)
        return mean([of_order(metric, influence, s.actual[:, j].astype(int), s.score[:, j], w) for j in columns])

    return compute


def _label(name: str, compute: Callable[..., Any], formula: str, undefined: str, equals: str, **rest) -> Metric:
    return Metric(name, "labels", compute, formula, undefined, equals, cut="never", **rest)


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
        macro_f1,
        "mean over the labels of F1",
        "a label is never true and never predicted",
        "scikit-learn f1_score(average='macro')",
    ),
    _label(
        "exact_match",
        per_row(lambda s: labels.exact_match(s.actual, s.decided)),
        "rows with every label right / all",
        NO_ROWS,
        "scikit-learn accuracy_score (subset accuracy)",
    ),
    _label(
        "hamming_loss",
        per_row(lambda s: labels.hamming(s.actual, s.decided)),
        "share of wrong labels",
        NO_ROWS,
        "scikit-learn hamming_loss",
        best="low",
    ),
    _label(
        "map_classes",
        _by_label(counts.average_precision, average_precision_influence),
        "mean over the labels of average precision",
        "a label is never true",
        "scikit-learn average_precision_score(average='macro')",
    ),
    _label(
        "roc_auc_macro",
        _by_label(counts.auc, auc_influence),
        "mean over the labels of AUC",
        "a label is never or always true",
        "scikit-learn roc_auc_score(average='macro')",
    ),
    _label(
        "ranking_loss",
        per_row(lambda s: labels.ranking_loss(s.actual, s.score)),
        "mean over rows of the share of pairs (true, false label) in the wrong order, a tie ½",
        "every row has all labels or none",
        "scikit-learn label_ranking_loss where scores do not tie and no row has all labels or none",
        best="low",
    ),
    _label(
        "label_ranking_average_precision",
        per_row(lambda s: labels.label_ranking_average_precision(s.actual, s.score)),
        "mean over rows with a true label of the mean precision at their true labels",
        "no row has a true label",
        "scikit-learn label_ranking_average_precision_score where every row has a true label",
    ),
    _label(
        "coverage_error",
        per_row(lambda s: labels.coverage_error(s.actual, s.score)),
        "mean over rows of how many of the highest scores hold all true labels",
        "no row has a true label",
        "scikit-learn coverage_error where every row has a true label",
        best="low",
        high=np.inf,
    ),
)
