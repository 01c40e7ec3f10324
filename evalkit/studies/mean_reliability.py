"""Whether forecasts are right on average wherever they lie: the isotonic mean of a system, its band, and CORP."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.metrics import curves, mean_calibration
from evalkit.metrics.calibration import Decomposition
from evalkit.metrics.rows import Rows
from evalkit.statistics import mean_consistency
from evalkit.studies.reliability import Reliability

SPREAD = 25  # bins of forecasts
TAIL = 0.005  # share of rows that each end of an axis may leave out


@dataclass(frozen=True, eq=False)
class MeanReliability:
    """curve: x, y, straight between them. bands: x, low, high. parts: of the squared error. rows: of the system."""

    curve: pd.DataFrame
    bands: pd.DataFrame
    parts: Decomposition
    rows: Rows


def of_rows(rows: Rows, rng: np.random.Generator, *, draws: int, level: float) -> MeanReliability:
    """Return the mean along the forecasts of a system; draws, level: of its band."""
    table = mean_calibration.means(rows)
    x, y = mean_calibration.isotonic_curve(table)
    at, low, high = mean_consistency.consistency(rows, table, rng=rng, draws=draws, level=level)
    curve, bands = pd.DataFrame({"x": x, "y": y}), pd.DataFrame({"x": at, "low": low, "high": high})
    return MeanReliability(curve, bands, mean_calibration.decompose(rows, table), rows)


def drawn(systems: dict[str, MeanReliability]) -> Reliability:
    """The parts of their lines that one picture shows, all along the same axis: the central 99% of forecasts."""
    ends = window([system.rows.scores for system in systems.values()])
    curve = [_cut(system.curve, ends).assign(system=name) for name, system in systems.items()]
    bands = [_cut(system.bands, ends).assign(system=name) for name, system in systems.items()]
    spread = [_spread(system.rows, ends).assign(system=name) for name, system in systems.items()]
    return Reliability(*(pd.concat(frames, ignore_index=True) for frames in (curve, bands, spread)))


def window(columns: Sequence[Floats]) -> tuple[float, float]:
    """The ends of an axis that holds the central 99% of each column, and so every value of fewer than 200.

    >>> window([np.arange(5.0), np.arange(1000.0)])
    (0.0, 995.0)
    """
    low = min(float(np.quantile(column, TAIL, method="lower")) for column in columns)
    high = max(float(np.quantile(column, 1 - TAIL, method="higher")) for column in columns)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _cut(frame: pd.DataFrame, ends: tuple[float, float]) -> pd.DataFrame:
    """The points that a square picture between these ends needs, with points at the ends where lines go on."""
    x, near = frame["x"].to_numpy(), (2 * ends[0] - ends[1], 2 * ends[1] - ends[0])
    inside = x[(x > ends[0]) & (x < ends[1])]
    inside = np.unique(np.r_[np.clip(ends, x[0], x[-1]), inside])
    lines = {name: np.interp(inside, x, frame[name]) for name in frame.columns[1:]}
    keep = np.any([curves.drawn(inside, np.clip(line, *near)) for line in lines.values()], axis=0)
    return pd.DataFrame({"x": inside} | lines)[keep]


def _spread(rows: Rows, ends: tuple[float, float]) -> pd.DataFrame:
    edges = np.linspace(*ends, SPREAD + 1)
    weight = np.histogram(rows.scores, edges, weights=rows.weight)[0].astype(np.float64)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "rows": weight})
