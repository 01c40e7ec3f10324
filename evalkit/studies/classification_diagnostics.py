"""What the findings of the classification reports are measured by."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from evalkit.catalogue import lookup
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.row_metrics import GAUC, ROC_AUC
from evalkit.metrics import calibration, counts, curves, grid
from evalkit.reading.tables.rules import Precision
from evalkit.statistics import methods
from evalkit.statistics.significance import Comparison
from evalkit.statistics.statistic import Layout
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.diagnostics import Ends
from evalkit.studies.labels import LabelsStudy

SOME = 30  # rows of a class below which the page warns
DOMINANT = 0.9  # the share of the larger class from which accuracy says little
MOST = grid.MOST  # distinct scores that are counted apart

LOG_LOSS = lookup.find("log_loss", "counts")
TOGETHER = 40  # classes that a picture can show: its size grows with their square
NORMAL = 1e-3  # how far the probabilities of a row may be from adding up to 1


class Miscalibration(Enum):
    """How probabilities are wrong: the coefficient of the recalibration, and the side of its value if calibrated."""

    OVERCONFIDENT = "slope", "below"
    UNDERCONFIDENT = "slope", "above"
    TOO_LOW = "intercept", "above"
    TOO_HIGH = "intercept", "below"


CALIBRATED = {"slope": 1.0, "intercept": 0.0}


def miscalibrated(study: BinaryStudy) -> tuple[dict[Miscalibration, list[str]], list[str]]:
    """The systems by how their probabilities are wrong, and those whose intervals hold both values of calibration."""
    rows = study.calibration[study.calibration["part"].isin(CALIBRATED)].dropna(subset=["low", "high"])
    wrong: dict[Miscalibration, list[str]] = {}
    for row in rows.itertuples():
        if row.high < CALIBRATED[row.part] or row.low > CALIBRATED[row.part]:
            side = "below" if row.high < CALIBRATED[row.part] else "above"
            wrong.setdefault(Miscalibration((row.part, side)), []).append(row.system)
    every = {name for names in wrong.values() for name in names}
    return wrong, [name for name in dict.fromkeys(rows["system"]) if name not in every]


@dataclass(frozen=True)
class Classes:
    """Share of positives, accuracy of always predicting the larger class, and rows of the smaller class."""

    base_rate: float
    majority: float
    smaller: int


def classes(study: BinaryStudy) -> Classes:
    """The two classes of the rows."""
    c, smaller = study.table(study.order[0]), min(study.facts.positives, study.facts.rows - study.facts.positives)
    return Classes(counts.base_rate(c), counts.majority(c), smaller)


def reversed_scores(study: BinaryStudy) -> dict[str, float]:
    """The AUC of each system for which it is below 0.5."""
    areas = {name: counts.auc(study.table(name)) for name in study.order}
    return {name: area for name, area in areas.items() if area < 0.5}


def within_units(study: BinaryStudy) -> Comparison | None:
    """The leader's AUC of all rows − that within units (GAUC), the rows in units; None where these are not at hand."""
    if study.settings.unit is None or study.layout is Layout.SUMMED_VARIED:
        return None
    pooled, within = (study.measure(Chosen(metric), study.leader) for metric in (ROC_AUC, GAUC))
    return methods.influence(pooled, within, study.inference_options(1))


def pooled_and_within(study: BinaryStudy, difference: Comparison) -> tuple[float, float]:
    """The leader's AUC of all rows and that within units, which lies below it by the difference."""
    pooled = areas(study)[study.leader][0]
    return pooled, pooled - difference.difference.value


def clipped(study: BinaryStudy) -> dict[str, int]:
    """The rows of each system whose probability log loss clips, without zeros; none where it is not asked for."""
    if LOG_LOSS not in study.settings.metrics:
        return {}
    return {name: n for name in study.order if (n := study.clipped(name))}


def unforeseen(study: BinaryStudy) -> dict[str, float]:
    """The share of each system's log loss in rows that it gave hardly a chance, where that is much of it."""
    if LOG_LOSS not in study.settings.metrics:
        return {}
    shares = {name: calibration.unforeseen(study.chances(name), HARDLY) for name in study.order}
    return {name: part for name, part in shares.items() if part > MUCH}


HARDLY, MUCH = 0.001, 0.1  # a probability; a share of the log loss


TIED = 3  # rows of one score: of more, ties are likely
MANY = 0.2  # the share of repeated rows above which they are warned of, unless ties are likely


def repeated(study: BinaryStudy) -> tuple[int, int, bool]:
    """Rows whose label and scores another row has too, 0 if they are a hundredth or less; distinct scores if few.

    Last whether the rows may be duplicates: they are many, and scores are not few.
    """
    rows, n = study.facts.rows, study.repeated or 0
    values = [distinct_scores(study, name) for name in study.order]
    few = max((value or rows for value in values), default=rows)
    few = few if few * TIED < rows else 0
    return (n if n > 0.01 * rows else 0), few, n > MANY * rows and not few


def certain_included(study: BinaryStudy) -> bool:
    """Whether limits of differences in log loss allow for certain predictions that are wrong."""
    return study.layout is Layout.PLAIN


def binned(study: BinaryStudy) -> list[dict[str, Any]]:
    """The systems whose scores are counted in bins: their areas, and by how much the bins change each at most."""
    rows = []
    for name, (width, low, high) in study.binned.items():
        area, precision = counts.auc(study.table(name)), counts.average_precision(study.table(name))
        change = power_of_ten(max(high - precision, precision - low))
        areas = {"auc": area, "auc_change": power_of_ten(width)}
        rows.append({"system": name} | areas | {"average_precision": precision, "average_precision_change": change})
    return rows


def power_of_ten(value: float) -> float:
    """A power of ten that is not smaller; 1e-16 for 0.

    >>> power_of_ten(0.002)
    0.01
    """
    return float(f"1e{int(np.ceil(np.log10(value)))}") if value > 0 else 1e-16


def distinct_scores(study: BinaryStudy, name: str) -> int | None:
    """The number of distinct scores of a system, None if they are binned."""
    return None if name in study.binned else len(study.table(name).threshold)


def score_ends(study: BinaryStudy) -> dict[str, Ends]:
    """The lowest and the highest score of each system."""
    return {
        name: (float(study.table(name).threshold[-1]), float(study.table(name).threshold[0])) for name in study.order
    }


def unreachable(study: BinaryStudy) -> list[str]:
    """The systems for which no threshold keeps the rule."""
    return [name for name, threshold in study.thresholds.items() if np.isnan(threshold)]


# What the figures mark


def areas(study: BinaryStudy) -> dict[str, tuple[float, float]]:
    """The areas under the two curves of each system: AUC and average precision."""
    tables = {name: study.table(name) for name in study.order}
    return {name: (counts.auc(c), counts.average_precision(c)) for name, c in tables.items()}


def operating_points(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """Where the threshold of each system lies on its curve: system, x, y; kind: roc or pr."""
    rows = []
    for name in study.order:
        d = counts.at(study.table(name), study.thresholds[name])
        x = counts.false_positive_rate(d) if kind == "roc" else counts.recall(d)
        y = counts.recall(d) if kind == "roc" else counts.precision(d)
        rows.append({"system": name, "x": float(x), "y": float(y)})
    return pd.DataFrame(rows).dropna()


def break_even(study: BinaryStudy) -> pd.DataFrame:
    """Where precision equals recall on the curve of each system: system, x, y."""
    values = {name: float(curves.break_even(study.table(name))) for name in study.order}
    return pd.DataFrame([{"system": name, "x": value, "y": value} for name, value in values.items()]).dropna()


def at_other_rate(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The curves if the base rate were another."""
    return study.curve(kind, lambda c: curves.at_base_rate(c, study.other_rate))


def used_costs(study: BinaryStudy) -> pd.DataFrame:
    """The share predicted positive and the mean cost of each system at its threshold: system, x, y."""
    d = study.decisions
    predicted = (d["tp"] + d["fp"]) / (d["tp"] + d["fp"] + d["fn"] + d["tn"])
    return pd.DataFrame({"system": d["system"], "x": predicted, "y": d["cost"]})


def rows_by_class(study: ClassesStudy) -> dict[str, int]:
    """The rows of each class."""
    return dict(zip(study.classes, study.sizes.tolist(), strict=True))


def rows_by_label(study: LabelsStudy) -> dict[str, int]:
    """The rows on which each label is true."""
    return dict(zip(study.labels, study.sizes.tolist(), strict=True))


def never_predicted(study: ClassesStudy) -> dict[str, list[str]]:
    """The classes that occur and that a system never predicts, by system."""
    several = {}
    for name in study.systems:
        lacks = (study.sizes > 0) & (study.said(name) == 0)
        several[name] = [c for c, lacking in zip(study.classes, lacks, strict=True) if lacking]
    return {name: lacking for name, lacking in several.items() if lacking}


def not_highest(study: ClassesStudy) -> dict[str, int]:
    """Rows whose predicted class, which a column says, has not the highest score, by system, without zeros."""
    return {name: rows for name, rows in study.lower.items() if rows}


def unnormalised(study: ClassesStudy) -> dict[str, float]:
    """The systems whose probabilities do not add up to 1, and by how much they are off at most."""
    return {name: value for name, value in study.off.items() if value > NORMAL}


def incomplete_slices(study: ClassesStudy) -> list[str]:
    """The slices that lack a class which other rows have."""
    several = np.count_nonzero(study.sizes)
    return [f"{p.column} {p.label}" for p in study.slices if np.count_nonzero(study.sizes_in(p)) < several]


def worst_mistake(study: ClassesStudy) -> tuple[str, str, float] | None:
    """The most frequent mistake of the leader: the actual class, the predicted one, and the weight of such rows."""
    table = study.confusion(study.leader).table
    wrong = np.where(np.eye(len(table), dtype=bool), -1, table)
    i, j = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return (study.classes[i], study.classes[j], float(wrong[i, j])) if wrong[i, j] > 0 else None


def drawn_together(table: np.ndarray, classes: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The table of at most `TOGETHER` classes, the rarest summed into one, and the names of the classes."""
    if len(classes) <= TOGETHER:
        return table, classes
    kept = np.sort(np.argsort(-table.sum(axis=1), kind="stable")[: TOGETHER - 1])
    place = np.full(len(classes), TOGETHER - 1)
    place[kept] = np.arange(TOGETHER - 1)
    together = np.zeros((TOGETHER, TOGETHER), dtype=table.dtype)
    np.add.at(together, (place[:, None], place[None, :]), table)
    return together, (*(classes[i] for i in kept), f"({len(classes) - TOGETHER + 1} others)")


@dataclass(frozen=True)
class Labels:
    """The share of rows with each label, the mean number of labels of a row, and the share of rows with none."""

    shares: dict[str, float]
    per_row: float
    none: float
    hamming_of_none: float


def labels(study: LabelsStudy) -> Labels:
    """The labels of the rows."""
    mean, none = study.per_row
    shares = dict(zip(study.labels, study.shares.tolist(), strict=True))
    return Labels(shares, mean, none, float(study.shares.mean()))


def stored(study: LabelsStudy) -> dict[str, Precision]:
    """The precision of each system's scores; of each of its labels if these differ."""
    named: dict[str, Precision] = {}
    for name, some in study.precision.items():
        several = [f"{name}: {label}" for label in study.labels] if len(set(some)) > 1 else [name]
        named |= dict(zip(several, some, strict=False))
    return named
