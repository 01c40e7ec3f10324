"""Whether forecasts are right on average wherever they lie: the isotonic mean of a system, its band, and CORP."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.metrics import curves, mean_calibration
from evalkit.metrics.calibration import Decomposition
from evalkit.metrics.distribution import Distribution
from evalkit.metrics.mean_calibration import Means
from evalkit.studies.reliability import Reliability

SPREAD = 25  # bins of forecasts
TAIL = 0.005  # share of rows that each end of an axis may leave out
POINTS = 256  # doubles that an axis must be wide


@dataclass(frozen=True, eq=False)
class MeanReliability:
    """curve: x, y, straight between them. bands: x, low, high, or none. parts: of the squared error.

    forecasts: how those of the system are distributed.
    """

    curve: pd.DataFrame
    bands: pd.DataFrame | None
    parts: Decomposition
    forecasts: Distribution


def of(
    table: Means, uncertainty: float, band: tuple[Floats, Floats, Floats] | None, forecasts: Distribution
) -> MeanReliability:
    """The mean of the actual values along the forecasts. uncertainty: their variance. band: x, low, high."""
    x, y = mean_calibration.isotonic_curve(table)
    bands = None if band is None else pd.DataFrame(dict(zip(("x", "low", "high"), band, strict=True)))
    parts = mean_calibration.decomposed(table, uncertainty)
    return MeanReliability(pd.DataFrame({"x": x, "y": y}), bands, parts, forecasts)


def drawn(systems: dict[str, MeanReliability]) -> Reliability:
    """The parts of their lines that one picture shows, all along the same axis: the central 99% of forecasts."""
    ends = window([system.forecasts for system in systems.values()])
    curve = [_cut(system.curve, ends).assign(system=name) for name, system in systems.items()]
    bands = [_cut(own.bands, ends).assign(system=name) for name, own in systems.items() if own.bands is not None]
    spread = [_spread(system.forecasts, ends).assign(system=name) for name, system in systems.items()]
    band = pd.concat(bands, ignore_index=True) if bands else None
    return Reliability(pd.concat(curve, ignore_index=True), band, pd.concat(spread, ignore_index=True))


def window(columns: Sequence[Distribution]) -> tuple[float, float]:
    """The ends of an axis that holds the central 99% of each column, and so every value of fewer than 200.

    >>> from evalkit.metrics.distribution import Held
    >>> window([Held(np.arange(5.0)), Held(np.arange(1000.0))])
    (0.0, 995.0)
    """
    ends = [column.window(TAIL) for column in columns]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    least = POINTS * float(np.spacing(max(-low, high)))
    return (low, high) if high - low > least else (low - max(0.5, least), high + max(0.5, least))


def _cut(frame: pd.DataFrame, ends: tuple[float, float]) -> pd.DataFrame:
    """The points that a square picture between these ends needs, with points at the ends where lines go on."""
    x, near = frame["x"].to_numpy(), (2 * ends[0] - ends[1], 2 * ends[1] - ends[0])
    inside = x[(x > ends[0]) & (x < ends[1])]
    inside = np.unique(np.r_[np.clip(ends, x[0], x[-1]), inside])
    lines = {name: np.interp(inside, x, frame[name]) for name in frame.columns[1:]}
    keep = np.any([curves.drawn(inside, np.clip(line, *near)) for line in lines.values()], axis=0)
    return pd.DataFrame({"x": inside} | lines)[keep]


def _spread(forecasts: Distribution, ends: tuple[float, float]) -> pd.DataFrame:
    edges = np.linspace(*ends, SPREAD + 1)
    weight = forecasts.histogram(edges)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "rows": weight})
