"""Drawings of scores as they are: reliability of probabilities, and how scores are spread."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import marks
from evalkit.drawing.curve_plots import GRID, NAME, REFERENCE
from evalkit.drawing.plots import COLOURS, GREY, short

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
