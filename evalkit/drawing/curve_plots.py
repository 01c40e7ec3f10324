"""Drawings of scores under a moving threshold: curves with bands, sweeps, confusion tables, residuals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import marks, plots
from evalkit.drawing.plots import COLOURS, GREY, MARKERS, legend, said, short
from evalkit.numbers import number, signed

GRID: dict[str, Any] = {"color": "#ddd", "linewidth": 0.6}
SOLID: dict[str, Any] = {"markersize": 7, "mec": "white"}
HOLLOW: dict[str, Any] = {"markersize": 6, "marker": "o", "mfc": "none"}
REFERENCE: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": ":"}
WORDS = 42  # characters that fit above a panel, or beside it
NAME = 28
STEPS = "steps-pre"  # a value holds back to the point before it
FROM_ABOVE = "steps-post"  # the same of points that run from right to left

INK, PALE = "#000", 2.5  # cells of a confusion table stay so pale that this ink is read on them, in the dark too
FEW = 6  # classes whose shares fit into the cells of a confusion table
KINDS = {"test": COLOURS[0], "both": "#9ec6e0", "training": "#d9dce1"}


@dataclass(frozen=True, eq=False)
class Panel:
    """What stands in one square of a figure of curves: lines, bands, marked points, a reference line, words.

    lines: system, x, y. bands: system, x, low, high. points, circles: system, x, y, the operating points and others.
    reference: the ends of a dotted line. steps: how the points of a line are joined, straight or in steps.
    """

    lines: pd.DataFrame
    xlabel: str
    ylabel: str
    title: str = ""
    bands: pd.DataFrame | None = None
    points: pd.DataFrame | None = None
    reference: tuple[tuple[float, float], tuple[float, float]] | None = None
    steps: str = "default"
    circles: pd.DataFrame | None = None

    @property
    def band_steps(self) -> str | None:
        """How the edges of a band are joined: as the line that it belongs to point by point, else straight."""
        return self.steps.removeprefix("steps-") if self.bands is self.lines and self.steps != "default" else None


def look(i: int) -> dict[str, Any]:
    """Colour and dashes of the i-th system: told apart also without colour, and where a colour comes again.

    >>> look(0)["linestyle"], look(6)["linestyle"]
    ('-', '--')
    """
    return {"color": plots.colour(i), "linestyle": plots.DASHES[i % len(plots.DASHES)]}


def panels(frames: Sequence[Panel], axes: Any) -> Any:
    """One panel beside the other, the systems in the legend of the last."""
    systems = list(dict.fromkeys(name for panel in frames for name in panel.lines["system"]))
    lines = [_panel(panel, ax, systems) for panel, ax in zip(frames, axes.flat, strict=True)]
    if len(systems) > 1:
        legend(list(axes.flat)[-1], lines[-1])
    return axes


def _panel(panel: Panel, ax: Any, systems: list[str]) -> list[tuple[str, Any]]:
    """Draw one panel; return its lines with their names."""
    lines = []
    for name, line in panel.lines.groupby("system", sort=False):
        i = systems.index(str(name))
        drawn = ax.plot(line["x"], line["y"], drawstyle=panel.steps, **look(i))[0]
        lines.append((str(name), marks.series(drawn, name)))
    if panel.bands is not None:
        faint = marks.paleness(panel.bands["system"].nunique())
        for name, band in panel.bands.groupby("system", sort=False):
            colour = look(systems.index(str(name)))["color"]
            shade: Any = {"color": colour, "alpha": faint, "linewidth": 0, "step": panel.band_steps}
            drawn = ax.fill_between(band["x"], band["low"], band["high"], **shade)
            marks.band(drawn, name)
    for rows, shape in ((panel.points, SOLID), (panel.circles, HOLLOW)):
        for row in () if rows is None else rows[np.isfinite(rows["x"]) & np.isfinite(rows["y"])].itertuples():
            i = systems.index(row.system)
            style = {"marker": MARKERS[i % len(MARKERS)], "color": look(i)["color"]} | shape
            marks.series(ax.plot([row.x], [row.y], **style)[0], row.system)
    if panel.reference is not None:
        (x0, x1), (y0, y1) = panel.reference
        ax.plot([x0, x1], [y0, y1], **REFERENCE)
    ax.set_xlabel(panel.xlabel)
    ax.set_ylabel(short(panel.ylabel, WORDS))
    ax.set_title(short(panel.title, WORDS))
    ax.grid(**GRID)
    return lines


def matrix(table: Any, ax: Any, *, classes: Sequence[str], xlabel: str, ylabel: str) -> Any:
    """A confusion table: shade by the share of the row, counts in the cells, and of few classes the shares too."""
    counts = np.asarray(table, float)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.pcolormesh(np.arange(len(classes) + 1), np.arange(len(classes) + 1), share, cmap="Blues", vmin=0, vmax=PALE)
    if len(classes) <= 15:
        for i, j in np.ndindex(counts.shape):
            words = f"{counts[i, j]:,.0f}\n{share[i, j]:.0%}" if len(classes) <= FEW else f"{counts[i, j]:,.0f}"
            ax.text(j + 0.5, i + 0.5, words, ha="center", va="center", color=INK)
    ticks, names = np.arange(len(classes)) + 0.5, [short(name, 16) for name in classes]
    ax.set_xticks(ticks, names, rotation=0 if len(classes) <= 6 else 90)
    ax.set_yticks(ticks, names)
    ax.set_ylim(len(classes), 0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    return ax


def matrices(tables: Mapping[str, Any], axes: Any, **labels: Any) -> Any:
    """A confusion table a system, side by side; labels: those of `matrix`."""
    for (name, table), ax in zip(tables.items(), axes.flat, strict=True):
        matrix(table, ax, **labels).set_title(short(name, NAME))
    return axes


def tenths(frame: pd.DataFrame, axes: Any, *, ylabel: str) -> Any:
    """One panel a system: a value by tenths with its interval, around 0."""
    for (name, part), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=True):
        ax.axhline(0, color="#444", linewidth=0.9)
        marks.band(ax.vlines(part["tenth"], part["low"], part["high"], color=COLOURS[0], linewidth=1.6), name)
        points = ax.plot(part["tenth"], part["value"], linestyle="none", marker="o", markersize=4, color=COLOURS[0])[0]
        texts = zip(part["tenth"], said(part, signed), strict=True)
        marks.series(points, name, [f"{name}, decile {tenth}: {text}" for tenth, text in texts])
        ax.set_title(short(str(name), NAME))
        ax.set_xlabel("decile of the forecast")
        ax.set_ylabel(ylabel)
        ax.grid(**GRID)
    return axes


# Folds


def draw_map(frame: pd.DataFrame, ax: Any, *, xlabel: str, dated: bool = False) -> Any:
    """One bar a fold, its stretches coloured by what they do: `fold`, `kind`, `start`, `width`."""
    folds, drawn = list(dict.fromkeys(frame["fold"])), []
    for kind, colour in KINDS.items():
        some = frame[frame["kind"] == kind]
        for i, fold in enumerate(folds):
            part = some[some["fold"] == fold]
            ax.broken_barh(list(zip(part["start"], part["width"], strict=True)), (i - 0.4, 0.8), color=colour, lw=0)
        if len(some):
            drawn.append((kind, ax.plot([], [], color=colour, linewidth=6)[0]))
    ax.set_yticks(range(len(folds)), [str(fold) for fold in folds])
    ax.set_ylim(len(folds) - 0.4, -0.6)
    ax.set_ylabel("fold")
    ax.set_xlabel(xlabel)
    if dated:
        ax.xaxis_date()
    plots.legend(ax, drawn)
    return ax


def draw_folds(frame: pd.DataFrame, ax: Any, *, label: str, subject: str, xlabel: str) -> Any:
    """One point a `system` and `fold`; the subject's `on_train` hollow."""
    order, drawn = list(dict.fromkeys(frame["fold"])), []
    for i, (name, part) in enumerate(frame.groupby("system", sort=False)):
        x = [order.index(fold) + 0.12 * i for fold in part["fold"]]
        look = plots.style_of(i)
        says = [f"{name}, fold {fold}: {number(value)}" for fold, value in zip(part["fold"], part[label], strict=True)]
        drawn.append((str(name), marks.series(ax.plot(x, part[label], linestyle="none", **look)[0], name, says)))
        if name == subject and "on_train" in part:
            on_train = ax.plot(x, part["on_train"], linestyle="none", **(look | {"markerfacecolor": "none"}))[0]
            texts = zip(part["fold"], part["on_train"], strict=True)
            marks.series(on_train, name, [f"{name}, training rows of fold {fold}: {number(y)}" for fold, y in texts])
    ax.set_xticks(range(len(order)), [str(fold) for fold in order])
    ax.set_xlabel(xlabel)
    ax.set_ylabel(label)
    ax.grid(axis="y", color="#ddd", linewidth=0.6)
    plots.legend(ax, drawn)
    return ax


def draw_strip(frame: pd.DataFrame, ax: Any, *, xlabel: str) -> Any:
    """One row a `way`: its `value`s as points side by side where they coincide, and their mean."""
    names = list(dict.fromkeys(frame["way"]))
    for i, name in enumerate(names):
        values = np.sort(frame[frame["way"] == name]["value"].dropna().to_numpy(float))
        step = np.arange(values.size) * 0.618 % 1 - 0.5  # a fixed sequence that spreads evenly
        heights = i + 0.55 * step * (values.size > 1)
        points = ax.plot(values, heights, "o", color=COLOURS[0], markersize=3.2, alpha=0.55)[0]
        marks.series(points, name, [f"{name}: {number(value)}" for value in values])
        if values.size:
            ax.plot([values.mean()] * 2, [i - 0.36, i + 0.36], color=COLOURS[1], linewidth=2)
    counts = frame.groupby("way", sort=False).size()
    ax.set_yticks(range(len(names)), [f"{name} ({counts[name]})" for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(xlabel)
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    return ax
