"""What the findings and figures of two classes are measured by."""

from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from evalkit.catalogue import lookup, score_kinds, tables
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics import calibration, counts, curves, grid
from evalkit.statistics import methods, significance
from evalkit.statistics.statistic import RowStatistic
from evalkit.studies import diagnostics, score_curves
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.study import Row, framed
from evalkit.system import cached

SOME = 30  # rows of a class below which the page warns
# positive rows, and their share, below which average precision's interval is too narrow
RARE, RARELY = (
    50,
    0.005,
)
MOST = grid.MAX_BINS  # distinct scores that are counted apart
LOG_LOSS, AVERAGE_PRECISION = (
    lookup.find_metric(name, "counts") for name in ("log_loss", "average_precision")
)
CALIBRATED = {"slope": 1.0, "intercept": 0.0}
HARDLY, MUCH = 0.001, 0.1  # a probability; a share of the log loss
TIED = 3  # rows of one score: of more, ties are likely
MANY = 0.2  # the share of repeated rows above which they are warned of, unless ties are likely


def rarely_positive(study: BinaryStudy) -> bool:
    """True if positive rows are so few and so rare that intervals of average precision are too
    narrow.
    """
    return (
        study.positives < RARE
        and study.base_rate < RARELY
        and AVERAGE_PRECISION in study.settings.metrics
    )


class Miscalibration(Enum):
    """A form of miscalibration: a coefficient of logistic recalibration, and the side on which it
    deviates.
    """

    OVERCONFIDENT = "slope", "below"
    UNDERCONFIDENT = "slope", "above"
    TOO_LOW = "intercept", "above"
    TOO_HIGH = "intercept", "below"


def miscalibrated(study: BinaryStudy) -> tuple[dict[Miscalibration, list[str]], list[str]]:
    """The systems by form of miscalibration, and those whose intervals contain both values of
    perfect calibration.
    """
    rows = study.calibration[study.calibration["part"].isin(CALIBRATED)].dropna(
        subset=["low", "high"]
    )
    wrong: dict[Miscalibration, list[str]] = {}
    for row in rows.itertuples():
        if row.high < CALIBRATED[row.part] or row.low > CALIBRATED[row.part]:
            side = "below" if row.high < CALIBRATED[row.part] else "above"
            wrong.setdefault(Miscalibration((row.part, side)), []).append(row.system)
    every = {name for names in wrong.values() for name in names}
    return wrong, [name for name in dict.fromkeys(rows["system"]) if name not in every]


def within_units(study: BinaryStudy) -> significance.Comparison | None:
    """The leader's AUC over all rows − its AUC within units (GAUC), clustered by unit.

    None if no unit is named, or the rows are not in memory.
    """
    if study.settings.unit is None or study.blocks is not None:
        return None
    pooled = study.measure(MetricAtK(tables.ROC_AUC), study.leader)
    within = study.measure(MetricAtK(tables.GAUC), study.leader)
    assert isinstance(pooled, RowStatistic)
    assert isinstance(within, RowStatistic)
    return methods.influence(pooled, within, study.inference_options(1))


def area_within_units(study: BinaryStudy) -> float:
    """The leader's GAUC."""
    within: Any = study.measure(MetricAtK(tables.GAUC), study.leader)
    return float(within.value)


def clipped(study: BinaryStudy) -> dict[str, int]:
    """By system the number of rows, if any, whose probability log loss clips; empty if log loss is
    not asked for.
    """
    if LOG_LOSS not in study.settings.metrics:
        return {}
    return {name: n for name in study.order if (n := int(calibration.clipped(study.chances(name))))}


@cached
def unforeseen(study: BinaryStudy) -> dict[str, float]:
    """By system the share of log loss from rows with an outcome that it gave almost no probability,
    if it is large.
    """
    if LOG_LOSS not in study.settings.metrics:
        return {}
    shares = {name: calibration.unforeseen(study.chances(name), HARDLY) for name in study.order}
    return {name: part for name, part in shares.items() if part > MUCH}


def repeated(study: BinaryStudy) -> tuple[int, int, bool]:
    """Rows with the same label and scores as another row (0 if at most 1 %); distinct scores if
    few.

    Last, True if they may be duplicates: there are many, and the number of distinct scores is not
    small.
    """
    rows = len(study.account)
    n = study.repeated or 0
    values = [distinct_scores(study, name) for name in study.order]
    few = max((value or rows for value in values), default=rows)
    few = few if few * TIED < rows else 0
    return (n if n > 0.01 * rows else 0), few, n > MANY * rows and not few


def binned(study: BinaryStudy) -> dict[str, dict[str, float]]:
    """For systems with scores in bins, the most that this changes each metric; NaN if no bound is
    known.

    Metrics at a threshold and means of losses are exact and left out.
    """
    kinds = {chosen: chosen.base.metric.kind for chosen in study.settings.metrics}
    moved = [
        chosen
        for chosen, kind in kinds.items()
        if isinstance(kind, score_kinds.ScoreKind) and not kind.uses_decisions
    ]
    return {
        name: {c.label: power_of_ten(tables.largest_change(c)) for c in moved}
        for name, tables in study.binned.items()
    }


def power_of_ten(value: float) -> float:
    """The smallest power of ten that is not below the value; 1e-16 for 0.

    >>> power_of_ten(0.002)
    0.01
    """
    if np.isnan(value):
        return value
    return float(f"1e{int(np.ceil(np.log10(value)))}") if value > 0 else 1e-16


def distinct_scores(study: BinaryStudy, name: str) -> int | None:
    """The number of distinct scores of a system, None if they were pooled in bins."""
    return None if name in study.binned else len(study.table(name).threshold)


def score_ends(study: BinaryStudy) -> dict[str, diagnostics.Ends]:
    """The lowest and the highest score of each system."""
    return {
        name: (float(c.threshold[-1]), float(c.threshold[0]))
        for name, c in study.counts_by_system.items()
    }


def areas(study: BinaryStudy) -> dict[str, tuple[float, float]]:
    """The areas under the two curves of each system: AUC and average precision."""
    return {
        name: (counts.auc(c), counts.average_precision(c))
        for name, c in study.counts_by_system.items()
    }


@framed
def operating_points(study: BinaryStudy, kind: str) -> Iterator[Row]:
    """The point of each system's threshold on its curve: system, x, y; kind: roc or pr."""
    for name, c in study.counts_by_system.items():
        d = counts.at(c, study.thresholds[name])
        x, y = (
            (counts.false_positive_rate, counts.recall)
            if kind == "roc"
            else (counts.recall, counts.precision)
        )
        yield {"system": name, "x": float(x(d)), "y": float(y(d))}


@framed
def break_even(study: BinaryStudy) -> Iterator[Row]:
    """The point on each system's curve where precision equals recall: system, x, y."""
    for name, c in study.counts_by_system.items():
        value = float(curves.break_even(c))
        yield {"system": name, "x": value, "y": value}


@cached
def at_other_rate(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The curves at the other base rate."""
    every = study.counts_by_system.items()
    tables = {name: curves.at_base_rate(c, study.other_rate) for name, c in every}
    return score_curves.curve(tables, kind)


def used_costs(study: BinaryStudy) -> pd.DataFrame:
    """The share predicted positive and the mean cost of each system at its threshold: system, x,
    y.
    """
    d = study.decisions
    predicted = (d["tp"] + d["fp"]) / (d["tp"] + d["fp"] + d["fn"] + d["tn"])
    return pd.DataFrame({"system": d["system"], "x": predicted, "y": d["cost"]})
