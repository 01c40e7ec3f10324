"""One class against the rest, or one label: its numbers with their limits, and the curves of the most frequent."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.catalogue.kinds import Ratio, Smooth
from evalkit.catalogue.multiclass import AREA, PRECISION
from evalkit.metrics import counts, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums
from evalkit.studies.binary import POINTS
from evalkit.studies.row_study import RowStudy

DRAWN = 8  # curves that one picture can hold


def _f1(rows: Rows, k: int | None, level: float) -> Sums:
    w = rows.weights
    return Sums(w * 2 * (rows.actual & rows.predicted), w * (rows.actual.astype(float) + rows.predicted))


F1 = Ratio(_f1)
OF_ORDER = {"auc": Smooth(AREA.effects), "average_precision": Smooth(PRECISION.effects)}


def numbers(
    study: RowStudy, actual: Bools, decided: Bools, score: Floats | None, weight: Floats | None
) -> dict[str, float]:
    """Precision, recall, F1 and, with scores, AUC and average precision, each as itself, `_low` and `_high`."""
    rows = Rows(actual.astype(np.int64), score, weight=weight, unit=study.unit, decision=decided)
    estimates = {
        "precision": study.share(decided, actual, weight),
        "recall": study.share(actual, decided, weight),
        "f1": study.number(F1, rows),
    }
    if score is not None:
        estimates |= {name: study.number(kind, rows) for name, kind in OF_ORDER.items()}
    sides = {"": "value", "_low": "low", "_high": "high"}
    return {f"{metric}{end}": getattr(e, side) for metric, e in estimates.items() for end, side in sides.items()}


def table(hit: Bools, score: Floats, weight: Floats | None) -> Counts:
    """The table of a score on rows that are hits or not, and that weigh alike or not."""
    return counts.count(score, hit) if weight is None else counts.count(score, weight * hit, weight * ~hit)


def most_frequent(
    names: Sequence[str], actual: Bools, score: Floats, weight: Floats | None
) -> list[tuple[str, Counts]]:
    """The tables of those classes that have a curve, the eight with most positives, in their order.

    actual, score: one column a class.
    """
    tables = [(name, table(hit, own, weight)) for name, hit, own in zip(names, actual.T, score.T, strict=True)]
    drawn = [(name, c) for name, c in tables if 0 < c.positives < c.total]
    kept = {name for name, _ in sorted(drawn, key=lambda named: -named[1].positives)[:DRAWN]}
    return [(name, c) for name, c in drawn if name in kept]


def curve(tables: Sequence[tuple[str, Counts]], kind: str) -> pd.DataFrame:
    """The points of a kind of curve of every class: x, y and the class as `system`."""
    points_of = {"roc": curves.roc_curve, "pr": curves.precision_recall_curve}[kind]
    frames = []
    for name, c in tables:
        points = points_of(curves.thin(c, POINTS))
        frames.append(pd.DataFrame({"system": name, "x": points.x, "y": points.y}))
    return pd.concat(frames, ignore_index=True)
