"""Metrics of two classes within units, such as users: the rows of each are ranked among themselves."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, Ints, codes
from evalkit.catalogue.kinds import Ratio
from evalkit.catalogue.metric import Metric, described
from evalkit.metrics import grouped
from evalkit.metrics.grouped import GroupedCounts
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

Importance = Callable[[GroupedCounts], Floats | Ints]


def _within(importance: Importance) -> Ratio:
    """The mean of the units' AUC: what a unit counts stands in its first row; one of a single class takes no part."""

    def of(rows: Rows, k: int | None, level: float) -> Sums:
        code, _ = codes(np.zeros(len(rows)) if rows.unit is None else rows.unit)  # without units the rows are one
        g = _grouped(rows, code)
        weight = np.zeros(len(rows))
        weight[np.unique(code, return_index=True)[1]] = importance(g)
        return Sums(weight * g.auc[code], np.where(np.isnan(g.auc[code]), np.nan, weight))

    return Ratio(of, within=True)


def _grouped(rows: Rows, code: Ints) -> GroupedCounts:
    if rows.weight is None:
        return grouped.auc_by_group(rows.actual, rows.scores, code)
    return grouped.weighted_auc_by_group(rows.actual, rows.scores, code, rows.weight)


def _gauc(name: str, importance: Importance) -> Metric:
    return described(name, "counts", _within(importance), cut="never", needs="scores of units")


GAUC = _gauc("gauc", lambda g: g.impressions)
ROWS = (
    GAUC,
    _gauc("gauc_positives", lambda g: g.positives),
    _gauc("gauc_uniform", lambda g: np.ones(len(g.group))),
)
