"""Reliability diagrams without bins (CORP), for probabilities and forecasts: isotonic curves and
consistency bands.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evalkit.arrays import Floats
from evalkit.metrics import calibration, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.distributions import Distribution
from evalkit.statistics import consistency, intervals
from evalkit.studies.study import Row, framed

SPREAD = np.arange(26) / 25  # edges of the bins in which scores are counted
RECORDED = 40  # the same of what the JSON holds


@dataclass(frozen=True)
class Fine:
    """The resolution of a figure: cells per side for its curve and its band, and the most distinct
    scores of a band.

    See `curves.drawn` and `consistency.band`.
    """

    curve: int = curves.CELLS
    band: int = 100
    pooled: int = consistency.MAX_BAND_CELLS


@dataclass(frozen=True, eq=False)
class Reliability:
    """Frames by `system`. curve: x, y, joined by lines. bands: x, low, high. spread: low, high,
    rows of each bin.

    bands is None if rows are clustered or weighted, because then labels cannot be drawn
    independently.
    """

    curve: pd.DataFrame
    bands: pd.DataFrame | None
    spread: pd.DataFrame

    def only(self, systems: Sequence[str]) -> "Reliability":
        """The reliability of some systems."""
        curve, spread = (
            frame[frame["system"].isin(systems)] for frame in (self.curve, self.spread)
        )
        bands = None if self.bands is None else self.bands[self.bands["system"].isin(systems)]
        return Reliability(curve, bands, spread)

    def recorded(self) -> dict[str, dict[str, list[object]]]:
        """Columns of a few points of each curve; all are exact."""
        frames = {"curve": _few(self.curve, "y"), "spread": self.spread}
        frames |= {} if self.bands is None else {"bands": _few(self.bands, "low", "high")}
        return {name: frame.to_dict("list") for name, frame in frames.items()}


def reliability(
    tables: Mapping[str, Counts],
    rng: Callable[[], np.random.Generator],
    *,
    draws: int,
    level: float | None,
    fine: Fine,
) -> Reliability:
    """Return the reliability of each system from its table; level: of the bands, None for none."""
    every = [_curve(name, c, fine.curve) for name, c in tables.items()]
    bands = (
        None
        if level is None
        else [_band(name, c, rng(), draws, level, fine) for name, c in tables.items()]
    )
    spread = [_spread(name, c) for name, c in tables.items()]
    joined = None if bands is None else pd.concat(bands, ignore_index=True)
    return Reliability(
        pd.concat(every, ignore_index=True), joined, pd.concat(spread, ignore_index=True)
    )


def _curve(name: str, c: Counts, cells: int) -> pd.DataFrame:
    x, y = calibration.isotonic_curve(c)
    return _drawn(pd.DataFrame({"system": name, "x": x, "y": y}), cells, "y")


def _band(
    name: str, c: Counts, rng: np.random.Generator, draws: int, level: float, fine: Fine
) -> pd.DataFrame:
    x, low, high = consistency.band(c, rng=rng, draws=draws, level=level, max_cells=fine.pooled)
    return _drawn(
        pd.DataFrame({"system": name, "x": x, "low": low, "high": high}), fine.band, "low", "high"
    )


def _spread(name: str, c: Counts) -> pd.DataFrame:
    place = np.clip(np.searchsorted(SPREAD, c.threshold, side="right") - 1, 0, len(SPREAD) - 2)
    rows = np.bincount(place, c.positive + c.negative, len(SPREAD) - 1)
    return pd.DataFrame({"system": name, "low": SPREAD[:-1], "high": SPREAD[1:], "rows": rows})


def _few(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return pd.concat(
        [_drawn(part, RECORDED, *columns) for _, part in frame.groupby("system", sort=False)]
    )


def _drawn(frame: pd.DataFrame, cells: int, *columns: str) -> pd.DataFrame:
    """The points that a picture of so many cells a side needs, of lines over x."""
    keep = [
        curves.drawn(frame["x"].to_numpy(), frame[column].to_numpy(), cells) for column in columns
    ]
    return frame[np.any(keep, axis=0)]


# Bins ---------------------------------------------------------------------------------------------


TENTHS = 10


@framed
def by_tenths(tables: Mapping[str, Counts], *, level: float | None) -> Iterator[Row]:
    """Share of positives and mean score in about equal tenths of the rows; Wilson limits at a
    level, or none.
    """
    for name, c in tables.items():
        parts = calibration.bins_quantile(c, TENTHS)
        for n, hits, score in zip(parts.rows, parts.positives, parts.score, strict=True):
            e = intervals.wilson(min(hits, n), n, level=level or 0.95)
            ends = {"low": e.low, "high": e.high} if level else {"low": np.nan, "high": np.nan}
            yield {"system": name, "x": score / n, "y": e.value} | ends | {"n": n}


# Of forecasts: whether they are right on average wherever they lie --------------------------------


BINS = 25  # bins of forecasts
TAIL = 0.005  # share of rows that each end of an axis may leave out
POINTS = 256  # doubles that an axis must be wide


@dataclass(frozen=True, eq=False)
class MeanReliability:
    """One system. curve: x, y, joined by lines. bands: x, low, high, or None. parts: the decomposed
    squared error.

    forecasts: the distribution of the system's forecasts.
    """

    curve: pd.DataFrame
    bands: pd.DataFrame | None
    parts: calibration.Decomposition
    forecasts: Distribution


def mean_reliability(
    table: calibration.Means,
    uncertainty: float,
    band: tuple[Floats, Floats, Floats] | None,
    forecasts: Distribution,
) -> MeanReliability:
    """The mean of the actual values along the forecasts. uncertainty: their variance. band: x, low,
    high.
    """
    x, y = calibration.means_curve(table)
    bands = (
        None if band is None else pd.DataFrame(dict(zip(("x", "low", "high"), band, strict=True)))
    )
    return MeanReliability(
        pd.DataFrame({"x": x, "y": y}), bands, calibration.decomposed(table, uncertainty), forecasts
    )


def drawn_means(systems: dict[str, MeanReliability]) -> Reliability:
    """The parts of several systems' lines on a common axis: the central 99% of forecasts."""
    ends = window([system.forecasts for system in systems.values()])
    curve = [_cut(system.curve, ends).assign(system=name) for name, system in systems.items()]
    bands = [
        _cut(own.bands, ends).assign(system=name)
        for name, own in systems.items()
        if own.bands is not None
    ]
    spread = [
        _forecast_spread(system.forecasts, ends).assign(system=name)
        for name, system in systems.items()
    ]
    band = pd.concat(bands, ignore_index=True) if bands else None
    return Reliability(
        pd.concat(curve, ignore_index=True), band, pd.concat(spread, ignore_index=True)
    )


def window(columns: Sequence[Distribution]) -> tuple[float, float]:
    """The ends of an axis that holds the central 99% of each column; with fewer than 200 values,
    all of them.

    >>> from evalkit.metrics.distributions import Distribution
    >>> window([Distribution.from_values(np.arange(n)) for n in (5.0, 1000.0)])
    (0.0, 995.0)
    """
    ends = [column.range_without_tails(TAIL) for column in columns]
    low = min(low for low, _ in ends)
    high = max(high for _, high in ends)
    least = POINTS * float(np.spacing(max(-low, high)))
    return (low, high) if high - low > least else (low - max(0.5, least), high + max(0.5, least))


def _cut(frame: pd.DataFrame, ends: tuple[float, float]) -> pd.DataFrame:
    """The points that a square picture between these ends needs, with points at the ends where
    lines go on.
    """
    x = frame["x"].to_numpy()
    near = (2 * ends[0] - ends[1], 2 * ends[1] - ends[0])
    inside = x[(x > ends[0]) & (x < ends[1])]
    inside = np.unique(np.r_[np.clip(ends, x[0], x[-1]), inside])
    lines = {name: np.interp(inside, x, frame[name]) for name in frame.columns[1:]}
    keep = np.any([curves.drawn(inside, np.clip(line, *near)) for line in lines.values()], axis=0)
    return pd.DataFrame({"x": inside} | lines)[keep]


def _forecast_spread(forecasts: Distribution, ends: tuple[float, float]) -> pd.DataFrame:
    edges = np.linspace(*ends, BINS + 1)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "rows": forecasts.histogram(edges)})
