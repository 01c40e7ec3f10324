"""Metrics of two classes within units, such as users: the rows of each are ranked among themselves."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, Ints, codes
from evalkit.catalogue.kinds import Ratio
from evalkit.catalogue.metric import Metric
from evalkit.metrics import grouped
from evalkit.metrics.grouped import GroupedCounts
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

ONE_CLASS = "no unit has both classes"
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


def _gauc(name: str, importance: Importance, by: str, equals: str, reference: str = "") -> Metric:
    formula = f"mean of the AUC within each unit, {by}; units with one class are left out"
    plain = f"how often a positive row of a unit scores higher than a negative one of it, {by}; ½ without skill"
    of = _within(importance)
    return Metric(
        name,
        "counts",
        of,
        formula,
        ONE_CLASS,
        equals,
        cut="never",
        reference=reference,
        needs="scores of units",
        plain=plain,
    )


GAUC = _gauc(
    "gauc",
    lambda g: g.impressions,
    "weighted by its rows",
    "none as such; Zhou et al. 2018, eq. 7",
    "Zhou et al. 2018, doi:10.1145/3219819.3219823",
)
ROWS = (
    GAUC,
    _gauc("gauc_positives", lambda g: g.positives, "weighted by its positive rows", "RecBole GAUC"),
    _gauc(
        "gauc_uniform", lambda g: np.ones(len(g.group)), "each unit alike", "mean of scikit-learn roc_auc_score by unit"
    ),
)
