"""How the scores of the two classes are spread: histograms in common bins, distribution functions, their distance."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pandas as pd

from evalkit.arrays import ROUNDING, Floats, ratio
from evalkit.metrics import curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import widest

BINS = 30


def histogram(tables: Mapping[str, Counts], edges: Floats) -> pd.DataFrame:
    """The share of each class in bins of the score: system, low, high, positive, negative.

    Bins are closed on the left, the last on both sides.
    """
    return pd.concat([_binned(name, c, edges) for name, c in tables.items()], ignore_index=True)


class Scored(Protocol):
    """A study that knows whether all scores are probabilities."""

    @property
    def probabilities(self) -> bool:
        """Whether every score lies in 0..1."""


def edges(study: Scored, tables: Mapping[str, Counts], bins: int = BINS) -> Floats:
    """Edges of equal bins that hold all scores; of probabilities they go from 0 to 1."""
    if study.probabilities:
        return np.arange(bins + 1) / bins
    ends = np.array([c.threshold[[-1, 0]] for c in tables.values()])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    return np.linspace(low, high if high > low else low + max(1.0, abs(low) * ROUNDING), bins + 1)


def _binned(name: str, c: Counts, edges: Floats) -> pd.DataFrame:
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, c.threshold, side="right") - 1, 0, bins - 1)
    positive, negative = (np.bincount(place, rows, bins) / rows.sum() for rows in (c.positive, c.negative))
    sides = {"positive": positive, "negative": negative}
    return pd.DataFrame({"system": name, "low": edges[:-1], "high": edges[1:]} | sides)


def distribution(name: str, c: Counts, cells: int = curves.CELLS) -> pd.DataFrame:
    """The share of each class at or below a score, at the points that a picture needs.

    Columns: system, x, positive, negative. cells: see `curves.drawn`.
    """
    above = np.array([np.append(0, c.tp[:-1]), np.append(0, c.fp[:-1])]) / [[c.positives], [c.negatives]]
    frame = pd.DataFrame({"system": name, "x": c.threshold, "positive": 1 - above[0], "negative": 1 - above[1]})[::-1]
    keep = [curves.drawn(frame["x"].to_numpy(), frame[side].to_numpy(), cells) for side in ("positive", "negative")]
    return frame[keep[0] | keep[1]]


def distances(tables: Mapping[str, Counts]) -> pd.DataFrame:
    """The largest distance of the two functions (KS): system, x, and the share of each class below x; value."""
    rows = []
    for name, c in tables.items():
        place, _ = widest(c)
        sides = [1 - float(ratio(c.tp[place], c.positives)), 1 - float(ratio(c.fp[place], c.negatives))]
        shares = {"positive": sides[0], "negative": sides[1], "value": abs(sides[0] - sides[1])}
        rows.append({"system": name, "x": float(c.threshold[place])} | shares)
    return pd.DataFrame(rows)
