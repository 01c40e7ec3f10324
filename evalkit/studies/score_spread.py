"""How the scores of the two classes are spread: histograms in common bins, distribution functions, their distance."""

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, ratio
from evalkit.metrics import curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.influence import widest
from evalkit.studies.binary import BinaryStudy

BINS = 30


def histogram(study: BinaryStudy) -> pd.DataFrame:
    """The share of each class in bins of the score that all systems have: system, low, high, positive, negative.

    Bins are equal, closed on the left, the last on both sides; of probabilities they go from 0 to 1.
    """
    edges = _edges(study)
    return pd.concat([_binned(name, study.table(name), edges) for name in study.order], ignore_index=True)


def _edges(study: BinaryStudy) -> Floats:
    if study.probabilities:
        return np.linspace(0, 1, BINS + 1)
    ends = np.array([study.table(name).threshold[[-1, 0]] for name in study.order])
    low, high = ends[:, 0].min(), ends[:, 1].max()
    return np.linspace(low, high if high > low else low + 1, BINS + 1)


def _binned(name: str, c: Counts, edges: Floats) -> pd.DataFrame:
    place = np.clip(np.searchsorted(edges, c.threshold, side="right") - 1, 0, BINS - 1)
    positive, negative = (np.bincount(place, rows, BINS) / rows.sum() for rows in (c.positive, c.negative))
    sides = {"positive": positive, "negative": negative}
    return pd.DataFrame({"system": name, "low": edges[:-1], "high": edges[1:]} | sides)


def distribution(name: str, c: Counts) -> pd.DataFrame:
    """The share of each class at or below a score, at the points that a picture needs.

    Columns: system, x, positive, negative.
    """
    above = np.array([np.append(0, c.tp[:-1]), np.append(0, c.fp[:-1])]) / [[c.positives], [c.negatives]]
    frame = pd.DataFrame({"system": name, "x": c.threshold, "positive": 1 - above[0], "negative": 1 - above[1]})[::-1]
    keep = [curves.drawn(frame["x"].to_numpy(), frame[side].to_numpy()) for side in ("positive", "negative")]
    return frame[keep[0] | keep[1]]


def distances(study: BinaryStudy) -> pd.DataFrame:
    """The largest distance of the two functions (KS): system, x, and the share of each class below x; value."""
    rows = []
    for name in study.order:
        c = study.table(name)
        place, _ = widest(c)
        sides = [1 - float(ratio(c.tp[place], c.positives)), 1 - float(ratio(c.fp[place], c.negatives))]
        shares = {"positive": sides[0], "negative": sides[1], "value": abs(sides[0] - sides[1])}
        rows.append({"system": name, "x": float(c.threshold[place])} | shares)
    return pd.DataFrame(rows)
