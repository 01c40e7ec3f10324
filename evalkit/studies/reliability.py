"""Reliability diagrams without bins (CORP), for probabilities and forecasts: isotonic curves and
consistency bands.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalkit.metrics import calibration, curves
from evalkit.metrics.counts import Counts
from evalkit.metrics.distributions import Distribution
from evalkit.statistics import consistency, intervals
from evalkit.studies.study import Row, as_data_frame

SCORE_EDGES = np.arange(26) / 25  # of the bins in which scores are counted
RECORDED_CELLS = 40  # cells per side of what the JSON holds


@dataclass(frozen=True)
class FigureDetail:
    """How finely a figure is drawn. curve, band: the cells per side of the grid that decides which
    points of a curve and of a band a picture needs, see `curves.drawn`. pooled: the largest number
    of distinct scores of a band; more are pooled, see `consistency.band`.
    """

    curve: int = curves.CELLS
    band: int = 100
    pooled: int = consistency.MAX_BAND_CELLS


@dataclass(frozen=True, eq=False)
class Reliability:
    """How often what was predicted came true, by score; frames with the column `system`.

    curve: x (the score), y (the isotonic share of positives), joined by lines. bands: x, low, high,
    within which a calibrated curve lies; None if rows are clustered or weighted, because then
    labels cannot be drawn independently. spread: how the scores are spread, low and high (of each
    bin of scores), rows (their number in the bin).
    """

    curve: pd.DataFrame
    bands: pd.DataFrame | None
    spread: pd.DataFrame

    def of_systems(self, systems: Sequence[str]) -> "Reliability":
        """The same frames with the rows of some systems alone."""
        curve = self.curve[self.curve["system"].isin(systems)]
        spread = self.spread[self.spread["system"].isin(systems)]
        bands = self.bands
        if bands is not None:
            bands = bands[bands["system"].isin(systems)]
        return Reliability(curve, bands, spread)

    def points_for_json(self) -> dict[str, dict[str, list[object]]]:
        """The frames as the JSON has them, by name and column: a few points of each curve, all of
        them exact.
        """
        frames = {"curve": _recorded_points(self.curve, "y"), "spread": self.spread}
        if self.bands is not None:
            frames["bands"] = _recorded_points(self.bands, "low", "high")
        return {name: frame.to_dict("list") for name, frame in frames.items()}


def reliability(
    tables: Mapping[str, Counts],
    rng: Callable[[], np.random.Generator],
    *,
    draws: int,
    level: float | None,
    detail: FigureDetail,
) -> Reliability:
    """The reliability of each system: the isotonic share of positives by score, the number of rows
    by score, and a consistency band, in which the share lies under perfect calibration.

    tables: system -> its counts by score. rng: makes a new generator for each band. draws: how
    often the labels of all rows are drawn for a band. level: of the bands; None for no bands.
    detail: how finely the figure is drawn.
    """
    curve = [_curve(name, table, detail.curve) for name, table in tables.items()]
    spread = [_spread(name, table) for name, table in tables.items()]
    bands = None
    if level is not None:
        bands_by_system = []
        for name, table in tables.items():
            bands_by_system.append(_band(name, table, rng(), draws, level, detail))
        bands = pd.concat(bands_by_system, ignore_index=True)
    return Reliability(
        pd.concat(curve, ignore_index=True), bands, pd.concat(spread, ignore_index=True)
    )


def _curve(system: str, table: Counts, cells: int) -> pd.DataFrame:
    """The isotonic share of positives by score: system, x, y."""
    x, y = calibration.isotonic_curve(table)
    return _drawn_points(pd.DataFrame({"system": system, "x": x, "y": y}), cells, "y")


def _band(
    system: str,
    table: Counts,
    rng: np.random.Generator,
    draws: int,
    level: float,
    detail: FigureDetail,
) -> pd.DataFrame:
    """The consistency band of a system: system, x, low, high. The parameters are those of
    `reliability`.
    """
    band = consistency.band(table, rng=rng, draws=draws, level=level, max_cells=detail.pooled)
    frame = _band_frame(band).assign(system=system)
    return _drawn_points(frame[["system", "x", "low", "high"]], detail.band, "low", "high")


def _band_frame(band: consistency.Band) -> pd.DataFrame:
    """A band as columns: x, low, high."""
    return pd.DataFrame(dict(zip(("x", "low", "high"), band, strict=True)))


def _spread(system: str, table: Counts) -> pd.DataFrame:
    """The number of rows in each bin of the score: system, low, high, rows."""
    n_bins = len(SCORE_EDGES) - 1
    bin_of_score = np.searchsorted(SCORE_EDGES, table.threshold, side="right") - 1
    bin_of_score = np.clip(bin_of_score, 0, n_bins - 1)  # a score of 1 lies in the last
    rows = np.bincount(bin_of_score, table.positive + table.negative, n_bins)
    bins = {"low": SCORE_EDGES[:-1], "high": SCORE_EDGES[1:], "rows": rows}
    return pd.DataFrame({"system": system} | bins)


def _recorded_points(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The points of each system's lines that the JSON holds."""
    points = []
    for _, rows in frame.groupby("system", sort=False):
        points.append(_drawn_points(rows, RECORDED_CELLS, *columns))
    return pd.concat(points)


def _drawn_points(frame: pd.DataFrame, cells: int, *columns: str) -> pd.DataFrame:
    """The rows of a frame that a picture needs to draw some of its columns as lines over x, with so
    many cells per side.
    """
    x = frame["x"].to_numpy()
    is_needed = [curves.points_to_draw(x, frame[column].to_numpy(), cells) for column in columns]
    return frame[np.any(is_needed, axis=0)]


# Bins ---------------------------------------------------------------------------------------------


TENTHS = 10


@as_data_frame
def by_tenths(tables: Mapping[str, Counts], *, level: float | None) -> Iterator[Row]:
    """As a frame, about equal tenths of the rows of each table by score: system (the name of the
    table), x (mean score), y (share of positives), low, high (its Wilson limits), n (rows, or the
    sum of their weights).

    level: of the limits; None leaves them NaN.
    """
    for name, table in tables.items():
        bins = calibration.bins_quantile(table, TENTHS)
        for n, hits, score_sum in zip(bins.rows, bins.positives, bins.score, strict=True):
            hits = min(hits, n)  # the sum of weights may exceed n by rounding
            low = np.nan
            high = np.nan
            if level is not None:
                share = intervals.wilson(hits, n, level=level)
                low = share.low
                high = share.high
            row = {"system": name, "x": score_sum / n, "y": hits / n}
            yield row | {"low": low, "high": high, "n": n}


# Of forecasts: whether they are right on average wherever they lie --------------------------------


BINS = 25  # bins of forecasts
TAIL = 0.005  # share of rows that each end of an axis may leave out
MIN_DOUBLES = 256  # a narrower axis has too few different double numbers to draw on


@dataclass(frozen=True, eq=False)
class MeanReliability:
    """The reliability of one system's forecasts. curve: x, y, joined by lines. bands: x, low, high;
    None where they are unknown. decomposition: of the mean squared error.
    """

    curve: pd.DataFrame
    bands: pd.DataFrame | None
    decomposition: calibration.Decomposition
    forecasts: Distribution


def mean_reliability(
    table: calibration.Means,
    uncertainty: float,
    band: consistency.Band | None,
    forecasts: Distribution,
) -> MeanReliability:
    """The mean of the actual values as a function of the forecast, for one system.

    table: the mean of the actual values by forecast. uncertainty: the variance of all actual
    values. band: in which the means lie under perfect calibration; None if it is unknown.
    forecasts: the distribution of the forecasts.
    """
    x, y = calibration.means_curve(table)
    bands = None
    if band is not None:
        bands = _band_frame(band)
    return MeanReliability(
        curve=pd.DataFrame({"x": x, "y": y}),
        bands=bands,
        decomposition=calibration.decomposed(table, uncertainty),
        forecasts=forecasts,
    )


def drawn_means(systems: dict[str, MeanReliability]) -> Reliability:
    """The curves, bands and histograms of several systems as they are drawn, on a common axis that
    holds the central 99% of the forecasts of each. systems: by name.
    """
    axis = central_axis([system.forecasts for system in systems.values()])
    curves_by_system = []
    bands_by_system = []
    spreads = []
    for name, system in systems.items():
        curves_by_system.append(_cut(system.curve, axis).assign(system=name))
        spreads.append(_forecast_spread(system.forecasts, axis).assign(system=name))
        if system.bands is not None:
            bands_by_system.append(_cut(system.bands, axis).assign(system=name))
    bands = None
    if bands_by_system:
        bands = pd.concat(bands_by_system, ignore_index=True)
    curve = pd.concat(curves_by_system, ignore_index=True)
    return Reliability(curve, bands, pd.concat(spreads, ignore_index=True))


class ForecastAxis(NamedTuple):
    """The ends of an axis."""

    low: float
    high: float


def central_axis(columns: Sequence[Distribution]) -> ForecastAxis:
    """An axis that holds the central 99% of each column; of a column with fewer than 200 values all
    of them. If there are too few double numbers between its ends to draw on (`MIN_DOUBLES`), as for
    equal values, the axis is widened at both ends, by 0.5 or more.

    columns: the forecasts of each system.

    >>> from evalkit.metrics.distributions import Distribution
    >>> central_axis([Distribution.from_values(np.arange(n)) for n in (5.0, 1000.0)])
    ForecastAxis(low=0.0, high=995.0)
    """
    ranges = [column.range_without_tails(TAIL) for column in columns]
    low = min(low for low, _ in ranges)
    high = max(high for _, high in ranges)
    # spacing: the distance from the largest value to the next double number
    min_width = MIN_DOUBLES * float(np.spacing(max(-low, high)))
    if high - low > min_width:
        return ForecastAxis(low, high)
    margin = max(0.5, min_width)
    return ForecastAxis(low - margin, high + margin)


def _cut(frame: pd.DataFrame, axis: ForecastAxis) -> pd.DataFrame:
    """The same lines cut at both ends of the horizontal axis, with only the points that a picture
    needs. A line that goes on beyond an end gets an interpolated point there. The vertical axis has
    the same ends, so that the diagonal (perfect calibration) crosses the picture.

    frame: its first column is x, ascending; each other column is a line over x.
    """
    x = frame["x"].to_numpy()
    x_inside = x[(x > axis.low) & (x < axis.high)]
    x_ends = np.clip(axis, x[0], x[-1])  # where the lines enter and leave the picture
    points = np.unique(np.concatenate([x_ends, x_inside]))
    lines = {name: np.interp(points, x, frame[name]) for name in frame.columns[1:]}
    # `points_to_draw` lays a grid over all values of a line, and one far outside the picture would
    # make it coarse. So values are clipped at one length of the axis, high − low, beyond its ends.
    lowest = 2 * axis.low - axis.high
    highest = 2 * axis.high - axis.low
    is_needed = [
        curves.points_to_draw(points, np.clip(line, lowest, highest)) for line in lines.values()
    ]
    is_needed_by_any = np.any(is_needed, axis=0)
    return pd.DataFrame({"x": points} | lines)[is_needed_by_any]


def _forecast_spread(forecasts: Distribution, axis: ForecastAxis) -> pd.DataFrame:
    """The number of rows in each bin of the forecast: low, high, rows."""
    edges = np.linspace(axis.low, axis.high, BINS + 1)
    return pd.DataFrame({"low": edges[:-1], "high": edges[1:], "rows": forecasts.histogram(edges)})
