"""Drawings of forecasts of numbers: actual against forecast, errors in bins, and the mean along the forecast."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import marks
from evalkit.drawing.curve_plots import GRID, NAME, REFERENCE
from evalkit.drawing.plots import COLOURS, GREY, said, short
from evalkit.drawing.score_plots import SMALL
from evalkit.numbers import decimals, number, signed

MEAN = "mean error"
SHADES = 5  # of cells, even in the logarithm of their rows
BENEATH = 0.17  # share of the height that a histogram below takes
BULK = (0.05, 0.95)  # shares of rows between which a line always lies inside the axes


def cells(frame: pd.DataFrame, axes: Any, *, xlabel: str, ylabel: str) -> Any:
    """One square a system: cells `x`, `y`, `width`, `height`, the darker the more `rows`, and the diagonal."""
    most = frame["rows"].max()
    low, high = frame[["x", "y"]].min(), (frame[["x", "y"]] + frame[["width", "height"]].to_numpy()).max()
    ends = [min(low["x"], low["y"]), max(high["x"], high["y"])]
    for (name, part), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=True):
        _shaded(part, most, ax)
        ax.plot(ends, ends, **REFERENCE | {"color": "#444"})
        ax.set_xlim(low["x"], high["x"])
        ax.set_ylim(low["y"], high["y"])
        _titled(ax, str(name), xlabel, ylabel)
    return axes


def error_cells(frame: pd.DataFrame, tenths: pd.DataFrame, ax: Any, *, xlabel: str, ylabel: str) -> Any:
    """Cells of forecast and error around 0, with the mean error by tenths and its interval."""
    _shaded(frame, frame["rows"].max(), ax)
    marks.band(ax.vlines(tenths["forecast"], tenths["low"], tenths["high"], color=COLOURS[1], linewidth=2), MEAN)
    means = ax.plot(tenths["forecast"], tenths["bias"], marker="o", markersize=4, color=COLOURS[1], linewidth=1)[0]
    texts = zip(tenths["forecast"], said(tenths, signed, "bias"), strict=True)
    marks.series(means, MEAN, [f"forecast {number(x)}: {MEAN} {text}" for x, text in texts])
    ax.axhline(0, color="#444", linewidth=0.9)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(**GRID)
    return ax


def _shaded(part: pd.DataFrame, most: float, ax: Any) -> None:
    """Cells in shades by the logarithm of their rows, the darkest where there are most."""
    share = np.log(np.maximum(part["rows"], 1)) / max(np.log(most), 1e-9)
    for shade, some in part.groupby(np.minimum(share * SHADES, SHADES - 1).astype(int)):
        _filled(some, ax, alpha=0.15 + 0.85 * float(str(shade)) / (SHADES - 1))


def _filled(part: pd.DataFrame, ax: Any, *, alpha: float) -> None:
    """Cells as one path, those on top of each other in one piece."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    part = part.sort_values(["x", "y"])
    x, y = part["x"].to_numpy(), part["y"].to_numpy()
    width, height = part["width"].iloc[0], part["height"].iloc[0]
    begins = np.append(True, (np.diff(x) != 0) | (np.diff(y) > 1.5 * height))
    low, high = y[begins], y[np.append(begins[1:], True)] + height
    left, right = x[begins], x[begins] + width
    corners = np.stack([[left, low], [right, low], [right, high], [left, high], [left, low]]).transpose(2, 0, 1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(left)
    path = Path(corners.reshape(-1, 2), codes)
    ax.add_patch(PathPatch(path, facecolor=COLOURS[0], alpha=alpha, linewidth=0))


def errors(frame: pd.DataFrame, means: Mapping[str, float], axes: Any, *, xlabel: str, ylabel: str) -> Any:
    """One square a system: the share of rows in bins of the error, `low`, `high`, `share`; means: a line of each."""
    places = decimals(frame["high"] - frame["low"])
    for (name, part), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=True):
        edges = np.append(part["low"], part["high"].iloc[-1])
        bars = ax.stairs(part["share"], edges, fill=True, color=COLOURS[0], alpha=0.55, linewidth=0)
        marks.series(bars, name)
        ax.axvline(0, color="#444", linewidth=0.9)
        mean = means[str(name)]
        if edges[0] <= mean <= edges[-1]:
            ax.axvline(mean, color=COLOURS[1], linewidth=1.3, linestyle="--")
        side = 0.98 if np.argmax(part["share"]) < len(part) / 2 else 0.02
        place = {"ha": "right" if side > 0.5 else "left", "va": "top", "transform": ax.transAxes}
        ax.text(side, 0.97, f"mean {signed(mean, places)}", fontsize=SMALL, **place)
        ax.set_xlim(edges[0], edges[-1])
        _titled(ax, str(name), xlabel, ylabel)
    return axes


def means(
    curve: pd.DataFrame,
    bands: pd.DataFrame | None,
    spread: pd.DataFrame,
    axes: Any,
    *,
    words: Mapping[str, Sequence[str]],
) -> Any:
    """One square a system: the isotonic mean, the band around the diagonal, the histogram of forecasts beneath.

    curve: system, x, y. bands: system, x, low, high, or none. spread: system, low, high, rows. words: in the corner.
    """
    left, right = spread["low"].min(), spread["high"].max()
    bottom, top = _heights(curve, bands, spread)
    room = (top - bottom) * BENEATH / (1 - BENEATH)
    for (name, line), ax in zip(curve.groupby("system", sort=False), axes.flat, strict=True):
        rows = spread[spread["system"] == name]
        ax.plot([left, right], [left, right], **REFERENCE)
        if bands is not None:
            band = bands[bands["system"] == name]
            marks.band(ax.fill_between(band["x"], band["low"], band["high"], color=GREY, alpha=0.25, linewidth=0), name)
        marks.series(ax.plot(line["x"], line["y"], color=COLOURS[0], linewidth=1.4)[0], name)
        edges = np.append(rows["low"], rows["high"].iloc[-1])
        tops = 0.9 * room * rows["rows"] / max(rows["rows"].max(), 1) + bottom - room
        ax.stairs(tops, edges, baseline=bottom - room, fill=True, color=COLOURS[0], alpha=0.55, linewidth=0)
        ax.text(0.03, 0.98, "\n".join(words[str(name)]), fontsize=SMALL, va="top", transform=ax.transAxes)
        ax.set_xlim(left, right)
        ax.set_ylim(bottom - room, top)
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
        _titled(ax, str(name), "forecast", "mean actual")
    return axes


def _heights(curve: pd.DataFrame, bands: pd.DataFrame | None, spread: pd.DataFrame) -> tuple[float, float]:
    """The ends of the axis: the diagonal, and the lines and bands over the bulk of the forecasts of each system."""
    ends = [spread["low"].min(), spread["high"].max()]
    for name, rows in spread.groupby("system", sort=False):
        share = np.append(0, np.cumsum(rows["rows"])) / max(rows["rows"].sum(), 1)
        first, last = np.interp(BULK, share, np.append(rows["low"], rows["high"].iloc[-1]))
        x = np.linspace(first, last, 50)
        line = curve[curve["system"] == name]
        ends += np.interp(x, line["x"], line["y"]).tolist()
        if bands is None:
            continue
        band = bands[bands["system"] == name]
        ends += [*np.interp(x, band["x"], band["low"]), *np.interp(x, band["x"], band["high"])]
    return min(ends), max(ends)


def _titled(ax: Any, name: str, xlabel: str, ylabel: str) -> None:
    ax.set_title(short(name, NAME))
    ax.grid(**GRID)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
