"""Drawings of scores as they are: reliability of probabilities, and how scores are spread."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import marks
from evalkit.drawing.curve_plots import GRID, NAME, REFERENCE
from evalkit.drawing.plots import COLOURS, GREY, legend, short
from evalkit.numbers import number

BELOW = 0.2  # height of the histogram, of the axis of shares
SMALL = 7.5


def reliability(
    curve: pd.DataFrame,
    bands: pd.DataFrame | None,
    spread: pd.DataFrame,
    axes: Any,
    *,
    ylabel: str,
    words: Mapping[str, Sequence[str]],
) -> Any:
    """One square a system: the isotonic curve, the band around the diagonal, the histogram of scores beneath.

    curve: system, x, y. bands: system, x, low, high. spread: system, low, high, rows. words: lines in the corner.
    """
    for (name, line), ax in zip(curve.groupby("system", sort=False), axes.flat, strict=False):
        ax.plot([0, 1], [0, 1], **REFERENCE)
        if bands is not None:
            own = bands[bands["system"] == name]
            marks.band(ax.fill_between(own["x"], own["low"], own["high"], color=GREY, alpha=0.25, linewidth=0), name)
        marks.series(ax.plot(line["x"], line["y"], color=COLOURS[0], linewidth=1.4)[0], name)
        _beneath(spread[spread["system"] == name], ax)
        ax.text(0.03, 0.98, "\n".join(words[str(name)]), fontsize=SMALL, va="top", transform=ax.transAxes)
        ax.set_title(short(str(name), NAME))
        ax.grid(**GRID)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-BELOW - 0.03, 1.02)
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_xlabel("predicted probability")
        ax.set_ylabel(ylabel)
    for ax in list(axes.flat)[curve["system"].nunique() :]:
        ax.set_axis_off()
    return axes


def _beneath(spread: pd.DataFrame, ax: Any) -> None:
    """The histogram below 0, its highest bar as high as there is room."""
    edges = np.append(spread["low"], spread["high"].iloc[-1])
    tops = (BELOW - 0.03) * spread["rows"] / max(spread["rows"].max(), 1) - BELOW
    ax.stairs(tops, edges, baseline=-BELOW, fill=True, color=COLOURS[0], alpha=0.55, linewidth=0)


# Two classes

CLASSES = {"positive": COLOURS[1], "negative": COLOURS[0]}


def histograms(
    frame: pd.DataFrame, axes: Any, *, xlabel: str, ylabel: str, sides: Sequence[str] = tuple(CLASSES)
) -> Any:
    """One square a system: the share of each class in bins, `low`, `high`, `positive`, `negative`.

    sides: what the two are called.
    """
    for (name, part), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=True):
        edges = np.append(part["low"], part["high"].iloc[-1])
        drawn = [
            (shown, marks.series(ax.stairs(part[side], edges, fill=True, color=colour, alpha=0.45, linewidth=0), shown))
            for (side, colour), shown in zip(CLASSES.items(), sides, strict=True)
        ]
        for side, colour in CLASSES.items():
            ax.stairs(part[side], edges, color=colour, linewidth=0.9)
        _titled(ax, str(name), xlabel, ylabel)
    legend(list(axes.flat)[-1], drawn)
    return axes


def distributions(
    frame: pd.DataFrame,
    distances: pd.DataFrame,
    axes: Any,
    *,
    xlabel: str,
    ylabel: str,
    sides: Sequence[str] = tuple(CLASSES),
) -> Any:
    """One square a system: the distribution function of each class in steps, and where they are farthest apart."""
    of_system = distances.set_index("system")
    for (name, part), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=True):
        drawn = []
        for side, shown, dashes in zip(CLASSES, sides, ("-", "--"), strict=True):
            line = ax.plot(part["x"], part[side], drawstyle="steps-post", color=CLASSES[side], linestyle=dashes)[0]
            drawn.append((shown, marks.series(line, shown)))
        widest = of_system.loc[name]
        ax.plot([widest["x"]] * 2, [widest["negative"], widest["positive"]], color="#444", marker="_", linewidth=1.2)
        middle = (widest["negative"] + widest["positive"]) / 2
        place: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center", "fontsize": SMALL}
        place["bbox"] = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5}
        ax.annotate(f"KS {number(widest['value'])}", (widest["x"], middle), **place)
        _titled(ax, str(name), xlabel, ylabel)
    legend(list(axes.flat)[-1], drawn)
    return axes


def _titled(ax: Any, name: str, xlabel: str, ylabel: str) -> None:
    ax.set_title(short(name, NAME))
    ax.grid(**GRID)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
