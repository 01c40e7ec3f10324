"""What the findings of a binary report are measured by, and what constant predictions achieve."""

from dataclasses import dataclass

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

    @property
    def dominated(self) -> bool:
        """True if accuracy says little."""
        return self.majority > DOMINANT

    @property
    def few(self) -> bool:
        """True if the smaller class has too few rows for narrow intervals."""
        return 0 < self.smaller < SOME


def classes(s: BinaryStudy) -> Classes:
    """The two classes of the rows."""
    c, smaller = s.table(s.order[0]), min(s.facts.positives, s.facts.rows - s.facts.positives)
    return Classes(counts.base_rate(c), counts.majority(c), smaller)


def reversed_scores(s: BinaryStudy) -> dict[str, float]:
    """The AUC of each system for which it is below 0.5."""
    areas = {name: counts.auc(s.table(name)) for name in s.order}
    return {name: area for name, area in areas.items() if area < 0.5}


def clipped(s: BinaryStudy) -> dict[str, int]:
    """The rows of each system whose probability log loss clips, without zeros."""
    return {name: n for name in s.order if (n := s.clipped(name))}


def repeated(s: BinaryStudy) -> tuple[int, bool]:
    """Rows whose label and scores another row has too, 0 if they are a hundredth or less; True above a fifth."""
    n = s.facts.repeated or 0
    return (n if n > 0.01 * s.facts.rows else 0), n > 0.2 * s.facts.rows


@dataclass(frozen=True)
class Binned:
    """The areas of a system whose scores are binned, and by how much the bins can move each: at most so much."""

    auc: float
    auc_change: float
    average_precision: float
    average_precision_change: float


def binned(s: BinaryStudy) -> dict[str, Binned]:
    """The systems whose scores are counted in bins."""
    several = {}
    for name, (width, low, high) in s.facts.binned.items():
        area, precision = counts.auc(s.table(name)), counts.average_precision(s.table(name))
        change = max(high - precision, precision - low)
        several[name] = Binned(area, power_of_ten(width), precision, power_of_ten(change))
    return several


def power_of_ten(value: float) -> float:
    """A power of ten that is not smaller; 1e-16 for 0.

    >>> power_of_ten(0.002)
    0.01
    """
    return float(f"1e{int(np.ceil(np.log10(value)))}") if value > 0 else 1e-16


def distinct_scores(s: BinaryStudy, name: str) -> int | None:
    """The number of distinct scores of a system, None if they are binned."""
    return None if name in s.facts.binned else len(s.table(name).threshold)


def score_ends(s: BinaryStudy) -> dict[str, Ends]:
    """The lowest and the highest score of each system."""
    return {name: (float(s.table(name).threshold[-1]), float(s.table(name).threshold[0])) for name in s.order}


def unreachable(s: BinaryStudy) -> list[str]:
    """The systems for which no threshold keeps the rule."""
    return [name for name, threshold in s.thresholds.items() if np.isnan(threshold)]


# What the figures mark


@dataclass(frozen=True)
class Areas:
    """The areas under the two curves of a system."""

    auc: float
    average_precision: float


def areas(s: BinaryStudy) -> dict[str, Areas]:
    """The areas of every system."""
    tables = {name: s.table(name) for name in s.order}
    return {name: Areas(counts.auc(c), counts.average_precision(c)) for name, c in tables.items()}


def operating_points(s: BinaryStudy, kind: str) -> pd.DataFrame:
    """Where the threshold of each system lies on its curve: system, x, y; kind: roc or pr."""
    rows = []
    for name in s.order:
        d = counts.at(s.table(name), s.thresholds[name])
        x = counts.false_positive_rate(d) if kind == "roc" else counts.recall(d)
        y = counts.recall(d) if kind == "roc" else counts.precision(d)
        rows.append({"system": name, "x": float(x), "y": float(y)})
    return pd.DataFrame(rows).dropna()


def at_other_rate(s: BinaryStudy, kind: str) -> pd.DataFrame:
    """The curves if the base rate were another."""
    return s.curve(kind, lambda c: curves.at_base_rate(c, s.other_rate))


def used_costs(s: BinaryStudy) -> pd.DataFrame:
    """The share predicted positive and the mean cost of each system at its threshold: system, x, y."""
    d = s.decisions
    predicted = (d["tp"] + d["fp"]) / (d["tp"] + d["fp"] + d["fn"] + d["tn"])
    return pd.DataFrame({"system": d["system"], "x": predicted, "y": d["cost"]})


# What a constant prediction achieves


def constant(s: BinaryStudy, chosen: Chosen) -> float:
    """The metric of a constant score, the base rate."""
    c = s.table(s.order[0])
    score, positives, negatives = (np.array([value]) for value in (counts.base_rate(c), c.positives, c.negatives))
    return chosen.at(counts.Counts(score, positives, negatives, c.positives, c.negatives))


def larger_class(s: BinaryStudy, chosen: Chosen) -> float:
    """The metric of always predicting the larger class."""
    c = s.table(s.order[0])
    return chosen.at(c, -np.inf if c.positives > c.negatives else np.inf)
