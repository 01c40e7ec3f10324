"""What the findings of a binary report are measured by, and what constant predictions achieve."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evalkit.catalogue.metric import Chosen
from evalkit.metrics import counts, curves, grid
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.diagnostics import Ends

SOME = 30  # rows of a class below which the page warns
DOMINANT = 0.9  # the share of the larger class from which accuracy says little
MOST = grid.MOST  # distinct scores that are counted apart


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


def clipped(study: BinaryStudy) -> dict[str, int]:
    """The rows of each system whose probability log loss clips, without zeros."""
    return {name: n for name in study.order if (n := study.clipped(name))}


def repeated(study: BinaryStudy) -> tuple[int, bool]:
    """Rows whose label and scores another row has too, 0 if they are a hundredth or less; True above a fifth."""
    n = study.facts.repeated or 0
    return (n if n > 0.01 * study.facts.rows else 0), n > 0.2 * study.facts.rows


def binned(study: BinaryStudy) -> list[dict[str, Any]]:
    """The systems whose scores are counted in bins: their areas, and by how much the bins change each at most."""
    rows = []
    for name, (width, low, high) in study.facts.binned.items():
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
    return None if name in study.facts.binned else len(study.table(name).threshold)


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


def at_other_rate(study: BinaryStudy, kind: str) -> pd.DataFrame:
    """The curves if the base rate were another."""
    return study.curve(kind, lambda c: curves.at_base_rate(c, study.other_rate))


def used_costs(study: BinaryStudy) -> pd.DataFrame:
    """The share predicted positive and the mean cost of each system at its threshold: system, x, y."""
    d = study.decisions
    predicted = (d["tp"] + d["fp"]) / (d["tp"] + d["fp"] + d["fn"] + d["tn"])
    return pd.DataFrame({"system": d["system"], "x": predicted, "y": d["cost"]})


# What a constant prediction achieves


def constant(study: BinaryStudy, chosen: Chosen) -> float:
    """The metric of a constant score, the base rate."""
    c = study.table(study.order[0])
    score, positives, negatives = (np.array([value]) for value in (counts.base_rate(c), c.positives, c.negatives))
    return chosen.at(counts.Counts(score, positives, negatives, c.positives, c.negatives))


def larger_class(study: BinaryStudy, chosen: Chosen) -> float:
    """The metric of always predicting the larger class."""
    c = study.table(study.order[0])
    return chosen.at(c, -np.inf if c.positives > c.negatives else np.inf)
