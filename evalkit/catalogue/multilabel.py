"""The rows of the table of metrics for several labels a row, with how much each row of the data moves them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.binary import AVERAGE_PRECISION, F1, PRECISION, ROC_AUC
from evalkit.catalogue.combined_kinds import Combined, Part, Weighted
from evalkit.catalogue.kinds import (
    Kind,
    Loss,
    RatioOfRows,
    Share,
)
from evalkit.catalogue.metric import Metric, described
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


def _label(name: str, kind: Kind, **rest) -> Metric:
    return described(name, "labels", kind, cut="never", **rest)


RECALLED = _micro(_hits, lambda y, d: y.sum(axis=1) * 1.0)

ROWS = (
    _label("micro_f1", _micro(lambda y, d: 2 * _hits(y, d), _all)),
    _label("micro_precision", _micro(_hits, lambda y, d: d.sum(axis=1) * 1.0)),
    _label("micro_recall", RECALLED),
    _label("macro_f1", _by_label(F1)),
    _label("weighted_f1", Weighted(F1, _parts)),
    _label("weighted_precision", Weighted(PRECISION, _parts)),
    _label("weighted_recall", RECALLED),
    _label("samples_f1", _by_row(labels.f1_by_row)),
    _label("samples_jaccard", _by_row(labels.jaccard_by_row)),
    _label(
        "exact_match",
        Share(lambda actual, decided: (np.ones(len(actual), dtype=bool), labels.exact_match(actual, decided) == 1)),
    ),
    _label("hamming_loss", _by_row(labels.hamming), best="low"),
    _label("map_classes", _by_label(AVERAGE_PRECISION)),
    _label("roc_auc_macro", _by_label(ROC_AUC)),
    _label("ranking_loss", Loss(lambda rows, k: labels.ranking_loss(rows.actual, rows.scores)), best="low"),
    _label(
        "label_ranking_average_precision",
        Loss(lambda rows, k: labels.label_ranking_average_precision(rows.actual, rows.scores)),
    ),
    _label(
        "coverage_error",
        Loss(lambda rows, k: labels.coverage_error(rows.actual, rows.scores)),
        best="low",
        high=np.inf,
        unit="labels",
    ),
)
