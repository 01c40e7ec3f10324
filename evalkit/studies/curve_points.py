"""Points of curves over the threshold as their pictures need them, and bands around them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.metrics import counts, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.curves import Curve
from evalkit.statistics import bootstrap
from evalkit.system import progress

CURVES: dict[str, Callable[[Counts], Curve]] = {
    "roc": curves.roc_curve,
    "pr": curves.precision_steps,
    "gain": curves.gain_curve,
}
CROSSED: dict[str, tuple[Callable[[Counts], Curve], Callable[[Counts], float]]] = {  # with the area below
    "roc": (curves.roc_curve, counts.auc),
    "pr": (curves.precision_recall_curve, counts.average_precision),
}
RECORDED = 40  # cells of a side for the points that the JSON holds
FINE = np.linspace(0, 1, 1001)  # where it is seen which of two curves lies above
GRID = np.linspace(0, 1, 41)  # where bands are known


def points(name: str, curve: Curve, cells: int = curves.CELLS) -> pd.DataFrame:
    """The points of a curve that its picture needs: x, y, threshold, and the name as `system`; see `curves.drawn`."""
    keep = curves.drawn(curve.x, curve.y, cells)
    columns = {"x": curve.x[keep], "y": curve.y[keep], "threshold": curve.threshold[keep]}
    return pd.DataFrame({"system": name} | columns)


def curve(tables: Mapping[str, Counts], kind: str, cells: int = curves.CELLS) -> pd.DataFrame:
    """The points of a kind of curve of every table, by the name of its system or class; cells: see `curves.drawn`."""
    return pd.concat([points(name, CURVES[kind](c), cells) for name, c in tables.items()], ignore_index=True)


def crossings(tables: Mapping[str, Counts], pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """For every pair, where along x its two curves of a kind cross: curve, first, second, crossings, above.

    first: the system with the larger area; above: the share of x at which its curve lies above the other.
    """
    rows = list[dict[str, Any]]()
    with progress("curves crossed", len(CROSSED) * len(pairs), "curves") as draw:
        for kind, (points_of, area_of) in CROSSED.items():
            lines = {name: points_of(c) for name, c in tables.items()}
            areas = {name: area_of(c) for name, c in tables.items()}
            for pair in pairs:
                draw(len(rows))
                rows.append({"curve": kind} | _crossing(pair, lines, areas))
    return pd.DataFrame(rows, columns=["curve", "first", "second", "crossings", "above"])


def _crossing(pair: tuple[str, str], lines: Mapping[str, Curve], areas: Mapping[str, float]) -> dict[str, Any]:
    first, second = sorted(pair, key=lambda name: areas[name], reverse=True)
    high, low = lines[first], lines[second]
    share = float(np.mean(np.interp(FINE, high.x, high.y) > np.interp(FINE, low.x, low.y)))
    at = curves.crossings(*(lines[name] for name in pair))
    return {"first": first, "second": second, "crossings": at.tolist(), "above": share}


def band(name: str, resampled: Sequence[Counts], kind: str, *, level: float) -> pd.DataFrame:
    """Pointwise limits of a kind of curve from the tables of resamples: x, low, high, and the name as `system`."""
    low, high = bootstrap.band(resampled, READ[kind], level=level)
    return pd.DataFrame({"system": name, "x": GRID, "low": low, "high": high})


def _recall(c: Counts) -> Floats:
    """Recall at the false positive rates of the grid, points joined by straight lines."""
    roc = curves.roc_curve(c)
    last = np.append(np.diff(roc.x) > 0, True)
    return np.interp(GRID, roc.x[last], roc.y[last])


def _precision(c: Counts) -> Floats:
    """Precision at the recalls of the grid: at the first threshold that reaches it."""
    pr = curves.precision_steps(c)
    return pr.y[np.minimum(np.searchsorted(pr.x, GRID), len(pr.x) - 1)]


READ: dict[str, Callable[[Counts], Floats]] = {"roc": _recall, "pr": _precision}
