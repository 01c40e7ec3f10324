"""Curves over all thresholds: ROC, precision-recall and gain, with bands and crossings, and how the
scores of each class are spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import ROUNDING, Bools, Floats, ratio
from evalkit.machine.progress_bars import progress
from evalkit.metrics import counts, curves, influence
from evalkit.metrics.counts import Counts
from evalkit.metrics.curves import Curve
from evalkit.statistics import bootstrap
from evalkit.studies.study import Row, SystemPair, as_data_frame

# the curves by kind: ROC, precision by recall, and gain
CURVES: dict[str, Callable[[Counts], Curve]] = {
    "roc": curves.roc_curve,
    "pr": curves.precision_steps,
    "gain": curves.gain_curve,
}


class CurveWithArea(NamedTuple):
    """How a kind of curve, and the area below it, come from counts."""

    curve: Callable[[Counts], Curve]
    area: Callable[[Counts], float]


CURVES_WITH_AREA = {
    "roc": CurveWithArea(curves.roc_curve, counts.auc),
    "pr": CurveWithArea(curves.precision_recall_curve, counts.average_precision),
}
JSON_CELLS = 40  # cells of a side for the points that the JSON holds
FINE_GRID = np.linspace(0, 1, 1001)  # where it is seen which of two curves lies above
BAND_GRID = np.linspace(0, 1, 41)  # where bands are known


def points(name: str, curve: Curve, cells: int = curves.CELLS) -> pd.DataFrame:
    """The points of a curve that its figure needs: x, y, threshold, and the name as `system`.
    cells: the resolution of the figure, as in `curves.drawn`.
    """
    keep = curves.points_to_draw(curve.x, curve.y, cells)
    columns = {"x": curve.x[keep], "y": curve.y[keep], "threshold": curve.threshold[keep]}
    return pd.DataFrame({"system": name} | columns)


def curve(tables: Mapping[str, Counts], kind: str, cells: int = curves.CELLS) -> pd.DataFrame:
    """The points of one kind of curve (of `CURVES`) for every table. tables: the counts of each
    system or class. cells: the resolution of the figure, as in `curves.drawn`.
    """
    frames = [points(name, CURVES[kind](table), cells) for name, table in tables.items()]
    return pd.concat(frames, ignore_index=True)


def crossings(tables: Mapping[str, Counts], pairs: Sequence[SystemPair]) -> pd.DataFrame:
    """Where the ROC curves, and the precision-recall curves, of two systems cross: a row for each
    kind of curve and pair.

    Columns: curve ("roc" or "pr"), first (the system with the larger area), second, crossings (the
    x where they cross, a list), above (the share of x at which the first system's curve is above).
    tables: the counts of each system by score.
    """
    rows = list[Row]()
    with progress("curves crossed", len(CURVES_WITH_AREA) * len(pairs), "curves") as draw:
        for kind, of_counts in CURVES_WITH_AREA.items():
            curve_of = {name: of_counts.curve(table) for name, table in tables.items()}
            area_of = {name: of_counts.area(table) for name, table in tables.items()}
            for pair in pairs:
                draw(len(rows))
                rows.append({"curve": kind} | _crossing(pair, curve_of, area_of))
    return pd.DataFrame(rows, columns=["curve", "first", "second", "crossings", "above"])


def _crossing(pair: SystemPair, curve_of: Mapping[str, Curve], area_of: Mapping[str, float]) -> Row:
    """The row of a pair in `crossings`, without the kind of curve; which curve is above is seen on
    the points of `FINE_GRID`. curve_of, area_of: the curve and its area by system.
    """
    first, second = sorted(pair, key=lambda name: area_of[name], reverse=True)
    larger = curve_of[first]
    smaller = curve_of[second]
    larger_heights = np.interp(FINE_GRID, larger.x, larger.y)
    smaller_heights = np.interp(FINE_GRID, smaller.x, smaller.y)
    share_above = float(np.mean(larger_heights > smaller_heights))
    crossed_at = curves.crossings(curve_of[pair[0]], curve_of[pair[1]])
    return {
        "first": first,
        "second": second,
        "crossings": crossed_at.tolist(),
        "above": share_above,
    }


def band(name: str, resampled: Sequence[Counts], kind: str, *, level: float) -> pd.DataFrame:
    """Pointwise limits of a kind of curve ("roc" or "pr") from the tables of resamples: x, low,
    high, and the name as `system`. resampled: the counts of each resample. level: of the limits.
    """
    low, high = bootstrap.band(resampled, HEIGHTS_ON_GRID[kind], level=level)
    return pd.DataFrame({"system": name, "x": BAND_GRID, "low": low, "high": high})


def _recall_on_grid(table: Counts) -> Floats:
    """Recall at the false positive rates of `BAND_GRID`, on straight lines between the points of
    the ROC curve.
    """
    roc = curves.roc_curve(table)
    # of points above each other the highest, which is the last
    is_highest = np.append(np.diff(roc.x) > 0, True)
    return np.asarray(np.interp(BAND_GRID, roc.x[is_highest], roc.y[is_highest]))


def _precision_on_grid(table: Counts) -> Floats:
    """Precision at the recalls of `BAND_GRID`: that at the highest threshold that reaches the
    recall.
    """
    steps = curves.precision_steps(table)  # recall rises
    place = np.searchsorted(steps.x, BAND_GRID)
    return steps.y[np.minimum(place, len(steps.x) - 1)]


HEIGHTS_ON_GRID: dict[str, Callable[[Counts], Floats]] = {
    "roc": _recall_on_grid,
    "pr": _precision_on_grid,
}


# How scores are spread ----------------------------------------------------------------------------

BINS = 30


def histogram(tables: Mapping[str, Counts], edges: Floats) -> pd.DataFrame:
    """The share of each class that lies in bins of the score: system, low, high, positive,
    negative.

    edges: of the bins, ascending. Bins are closed on the left, the last on both sides.
    """
    frames = [_histogram(name, table, edges) for name, table in tables.items()]
    return pd.concat(frames, ignore_index=True)


def _histogram(name: str, table: Counts, edges: Floats) -> pd.DataFrame:
    """The histogram of one system, with the columns of `histogram`. table: its counts by score.
    edges: of the bins, ascending; they enclose all scores.
    """
    bins = len(edges) - 1
    bin_of_score = np.searchsorted(edges, table.threshold, side="right") - 1
    bin_of_score = np.clip(bin_of_score, 0, bins - 1)  # the last edge belongs to the last bin
    columns = {
        "system": name,
        "low": edges[:-1],
        "high": edges[1:],
        "positive": np.bincount(bin_of_score, table.positive, bins) / table.positive.sum(),
        "negative": np.bincount(bin_of_score, table.negative, bins) / table.negative.sum(),
    }
    return pd.DataFrame(columns)


def edges(tables: Mapping[str, Counts], *, probabilities: bool, bins: int = BINS) -> Floats:
    """The edges of `bins` equal bins that hold all scores of all systems; for probabilities they go
    from 0 to 1. tables: the counts of each system by score.
    """
    if probabilities:
        return np.arange(bins + 1) / bins
    low = min(table.threshold[-1] for table in tables.values())  # thresholds descend
    high = max(table.threshold[0] for table in tables.values())
    if not high > low:
        high = low + max(1.0, abs(low) * ROUNDING)  # all scores are equal: any width will do
    return np.linspace(low, high, bins + 1)


def distribution(name: str, table: Counts, cells: int = curves.CELLS) -> pd.DataFrame:
    """The cumulative distribution of the scores of each class: the share at or below a score, at
    the points that a figure needs.

    Columns: system, x (the score, ascending), positive, negative. name: of the system. table: its
    counts at each distinct score. cells: the resolution of the figure, as in `curves.drawn`.
    """
    # Thresholds descend, and `table.tp` counts the positives at or above each. Those strictly above
    # a threshold are those at or above the one before it.
    positives_above = np.append(0, table.tp[:-1])
    negatives_above = np.append(0, table.fp[:-1])
    columns = {
        "system": name,
        "x": table.threshold,
        "positive": 1 - positives_above / table.positives,
        "negative": 1 - negatives_above / table.negatives,
    }
    frame = pd.DataFrame(columns)[::-1]  # scores ascending
    x = frame["x"].to_numpy()
    is_drawn: Bools = np.zeros(len(frame), dtype=bool)
    for class_column in ("positive", "negative"):  # a point is kept if either curve needs it
        is_drawn |= curves.points_to_draw(x, frame[class_column].to_numpy(), cells)
    return frame[is_drawn]


@as_data_frame
def ks_distances(tables: Mapping[str, Counts]) -> Iterator[Row]:
    """Yield the largest distance between the distribution functions of the two classes of each
    system (Kolmogorov-Smirnov).

    Columns: system; x, the score where it lies; positive, negative, the share of each class below
    that score; value, the distance.
    """
    for name, table in tables.items():
        index = influence.widest_gap(table).threshold_index
        # `tp` and `fp` count the rows at or above the threshold: the others are below
        positive = 1 - float(ratio(table.tp[index], table.positives))
        negative = 1 - float(ratio(table.fp[index], table.negatives))
        yield {
            "system": name,
            "x": float(table.threshold[index]),
            "positive": positive,
            "negative": negative,
            "value": abs(positive - negative),
        }
