"""Plots of scores and forecasts: curves, confusion tables, reliability diagrams, histograms,
folds.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from evalkit.drawing import figures as marks, plots
from evalkit.drawing.figures import AxesArray, Style, characters_per_line
from evalkit.drawing.plots import (
    COLOURS,
    DARK_GREY,
    GREY,
    GRID_LINE_STYLE,
    MARKERS,
    ZERO_LINE_STYLE,
    add_legend,
    estimate_texts,
    note,
    panel_title,
    rows_downwards,
    shorten,
)
from evalkit.numbers import decimals, number, signed_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

SOLID: Style = {"markersize": 7, "mec": "white"}
HOLLOW: Style = {"markersize": 6, "marker": "o", "mfc": "none"}
DIAGONAL = ((0.0, 1.0), (0.0, 1.0))
FAINT: Style = {"color": "#bfc5cb", "linewidth": 0.8, "zorder": 1.5}
REFERENCE: Style = {"color": GREY, "linewidth": 0.9, "linestyle": ":"}
YLABEL = 42  # characters that fit beside a panel
Step = Literal["pre", "post"]
STEPS = "steps-pre"  # a value holds back to the point before it
STEPS_FROM_RIGHT = "steps-post"  # the same of points that run from right to left
STEP_OF_LINES: dict[str, Step] = {STEPS: "pre", STEPS_FROM_RIGHT: "post"}
INK = "#000"  # of the counts in a confusion table
# the end of the shades of a confusion table: shares, at most 1, stay so pale that the ink is read
# on them, in the dark too
PALE = 2.5
NAMED_CELLS = 15  # classes up to which there is room for counts in the cells
FEW_CLASSES = 6  # classes up to which there is room for shares below the counts
CLASS_NAME = 16  # characters of the name of a class
NAMED_TICKS = 4  # times of a series that fit below an axis
GAP = 2  # characters between names below an axis
KINDS = {"test": COLOURS[0], "both": "#9ec6e0", "training": "#d9dce1"}


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of a figure of curves: lines, bands, marked points, a reference line, labels.

    lines: system, x, y. bands: system, x, low, high. points, circles: system, x, y, the operating
    points and others. reference: the ends of a dotted line, as (x0, x1), (y0, y1). steps: how the
    points of a line are joined, a `drawstyle` of matplotlib. legend_texts: a text behind the name
    of each system in a legend of the panel's own; empty for the legend below the last panel.
    caption: of a figure of this panel alone. faint_systems: the systems whose lines are thin and
    grey, and not in the legend.
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
    legend_texts: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
    faint_systems: Collection[str] = ()

    @property
    def band_steps(self) -> Step | None:
        """The option `step` of `fill_between` for the bands: that of the lines if both have the
        same points, else None, straight.
        """
        if self.bands is self.lines and self.steps != "default":
            return STEP_OF_LINES[self.steps]
        return None


def line_style(i: int) -> Style:
    """Colour and dashes of the i-th system, as options of `ax.plot`: told apart also without
    colour, and where a colour comes again.

    >>> line_style(0)["linestyle"], line_style(6)["linestyle"]
    ('-', '--')
    """
    return {"color": plots.system_colour(i), "linestyle": plots.DASHES[i % len(plots.DASHES)]}


def panels(frames: Sequence[Panel], axes: AxesArray) -> AxesArray:
    """Draw each panel on its axes, a system in the same colour on all of them. A panel with texts
    for its legend has a legend of its own; the last panel has one of the names anyway, if there are
    several systems.
    """
    systems = list(dict.fromkeys(name for panel in frames for name in panel.lines["system"]))
    for panel, ax in zip(frames, axes.flat, strict=False):  # there may be more axes than panels
        line_of_system = _panel(panel, ax, systems)
        is_last = panel is frames[-1]
        if panel.legend_texts or (is_last and len(systems) > 1):
            add_legend(ax, line_of_system, panel.legend_texts)
    return axes


def _panel(panel: Panel, ax: Axes, systems: list[str]) -> dict[str, Line2D]:
    """Draw the lines of a panel, with its bands, its operating points (filled), its other points
    (hollow) and its reference line, as far as it has them; return the line of each system that the
    legend names.

    systems: of all panels, so that a system looks the same in each.
    """
    lines = {}
    for name, points in panel.lines.groupby("system", sort=False):
        is_faint = name in panel.faint_systems
        style = FAINT if is_faint else line_style(systems.index(str(name)))
        line = ax.plot(points["x"], points["y"], drawstyle=panel.steps, **style)[0]
        marks.mark_points(line, name)
        if not is_faint:
            lines[str(name)] = line
    if panel.bands is not None:
        _bands(panel.bands, panel.band_steps, ax, systems)
    if panel.points is not None:
        _points(panel.points, SOLID, ax, systems)
    if panel.circles is not None:
        _points(panel.circles, HOLLOW, ax, systems)
    if panel.reference is not None:
        x_ends, y_ends = panel.reference
        ax.plot(x_ends, y_ends, **REFERENCE)
    if panel.lines["x"].dtype.kind == "i":
        ax.locator_params(axis="x", integer=True)  # no tick at 1.5 steps
    ylabel = shorten(panel.ylabel, YLABEL)
    ax.set(xlabel=panel.xlabel, ylabel=ylabel, title=panel_title(panel.title, ax))
    ax.grid(**GRID_LINE_STYLE)
    return lines


def _bands(bands: pd.DataFrame, step: Step | None, ax: Axes, systems: list[str]) -> None:
    """Draw the band of each system, from `low` to `high` along `x`, in the system's colour.

    step: as in `fill_between`.
    """
    opacity = marks.band_opacity(bands["system"].nunique())
    for name, band in bands.groupby("system", sort=False):
        area = ax.fill_between(
            band["x"],
            band["low"],
            band["high"],
            color=line_style(systems.index(str(name)))["color"],
            alpha=opacity,
            linewidth=0,
            step=step,
        )
        marks.mark_limits(area, name)


def _points(points: pd.DataFrame, shape: Style, ax: Axes, systems: list[str]) -> None:
    """Draw the points whose `x` and `y` are finite, in the colour and with the marker of their
    system. shape: options of `ax.plot` that come before these.
    """
    is_finite = np.isfinite(points["x"]) & np.isfinite(points["y"])
    for row in points[is_finite].itertuples():
        i = systems.index(row.system)
        style: Style = {
            "marker": MARKERS[i % len(MARKERS)],
            "color": line_style(i)["color"],
        } | shape
        marks.mark_points(ax.plot([row.x], [row.y], **style)[0], row.system)


def draw_confusion_matrix(
    table: npt.ArrayLike, ax: Axes, *, classes: Sequence[str], xlabel: str, ylabel: str
) -> Axes:
    """Draw a confusion table: each cell is the darker the larger its share of the row, and has its
    count and its share as texts, as far as the number of classes leaves room.

    table: counts of shape (n_classes, n_classes). classes: the names of rows and columns.
    """
    counts = np.asarray(table, float)
    row_totals = counts.sum(axis=1, keepdims=True)
    share = counts / np.maximum(row_totals, 1)  # 0 in an empty row
    edges = np.arange(len(classes) + 1)
    ax.pcolormesh(edges, edges, share, cmap="Blues", vmin=0, vmax=PALE)
    if len(classes) <= NAMED_CELLS:
        for i, j in np.ndindex(counts.shape):
            text = f"{counts[i, j]:,.0f}"
            if len(classes) <= FEW_CLASSES:
                text += f"\n{share[i, j]:.0%}"
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=INK)
    middles = np.arange(len(classes)) + 0.5
    names = [shorten(name, CLASS_NAME) for name in classes]
    # Names below the columns are upright if they do not fit side by side. Each is centred below its
    # column, so that those at the two ends reach out by half of their lengths, together at most by
    # the longest.
    lengths = [len(name) for name in names]
    needed = sum(lengths) + GAP * len(names) + max(lengths)
    has_room = needed <= characters_per_line(plots.panel_width(ax))
    rotation = 0 if has_room else 90
    ax.set_xticks(middles, names, rotation=rotation)
    ax.set_yticks(middles, names)
    ax.set(ylim=(len(classes), 0), xlabel=xlabel, ylabel=ylabel)  # the first class on top
    return ax


def draw_confusion_matrices(
    tables: Mapping[str, npt.ArrayLike],
    axes: AxesArray,
    *,
    classes: Sequence[str],
    xlabel: str,
    ylabel: str,
) -> AxesArray:
    """Draw the confusion table of each system, one panel per system; see
    `draw_confusion_matrix`."""
    for (name, table), ax in zip(tables.items(), axes.flat, strict=False):
        draw_confusion_matrix(table, ax, classes=classes, xlabel=xlabel, ylabel=ylabel)
        ax.set_title(panel_title(name, ax))
    return axes


def tenths(frame: pd.DataFrame, axes: AxesArray, *, ylabel: str) -> AxesArray:
    """Draw a value by decile of the forecast with its interval, around 0, one panel per system.

    frame: system, tenth, value, low, high.
    """
    for panel in _system_panels(frame, axes, "decile of the forecast", ylabel):
        ax = panel.ax
        deciles = panel.rows
        ax.axhline(0, **ZERO_LINE_STYLE)
        x = deciles["tenth"]
        limits = ax.vlines(x, deciles["low"], deciles["high"], color=COLOURS[0], linewidth=1.6)
        marks.mark_limits(limits, panel.system)
        dots: Style = {"linestyle": "none", "marker": "o", "markersize": 4, "color": COLOURS[0]}
        points = ax.plot(x, deciles["value"], **dots)[0]
        texts = zip(x, estimate_texts(deciles, signed_number), strict=True)
        says = [f"{panel.system}, decile {tenth}: {text}" for tenth, text in texts]
        marks.mark_points(points, panel.system, says)
        ax.locator_params("x", integer=True)  # there is no decile between two others
    return axes


def coverage(frame: pd.DataFrame, ax: Axes) -> Axes:
    """Draw the share of actual values in the intervals of each system against the level of the
    intervals, with the confidence interval of the share; on the diagonal both are equal.

    frame: system, nominal, value, low, high.
    """
    lines = {}
    ax.plot([0, 1], [0, 1], **REFERENCE)
    for i, (name, levels) in enumerate(frame.groupby("system", sort=False)):
        style = line_style(i) | {"marker": MARKERS[i % len(MARKERS)], "markersize": 5}
        line = ax.plot(levels["nominal"], levels["value"], **style)[0]
        limits = ax.vlines(
            levels["nominal"], levels["low"], levels["high"], color=style["color"], alpha=0.5
        )
        marks.mark_limits(limits, name)
        lines[str(name)] = marks.mark_points(line, name)
    if len(lines) > 1:
        add_legend(ax, lines)
    ax.set(xlabel="level of the interval", ylabel="share of actual values in it")
    ax.grid(**GRID_LINE_STYLE)
    return ax


def fan(
    intervals: pd.DataFrame,
    points: pd.DataFrame,
    ax: Axes,
    *,
    xlabel: str,
    names: Sequence[str] = (),
) -> Axes:
    """Draw rows side by side: nested intervals as bars, the narrower the darker, the forecast as a
    white dot, the actual value as a filled one.

    intervals: row, nominal (the level), low, high, the widest level first. points: row, forecast,
    actual. names: of the rows, such as times; some stand at ticks. Without names the numbers of the
    rows stand there.
    """
    levels = intervals["nominal"].unique().tolist()
    for i, level in enumerate(levels):
        bars = intervals[intervals["nominal"] == level]
        opacity = 0.9 * (i + 1) / len(levels)
        ax.vlines(
            bars["row"], bars["low"], bars["high"], color=COLOURS[0], alpha=opacity, linewidth=6
        )
    dots: Style = {"linestyle": "none", "marker": "o", "markersize": 3.5}
    ax.plot(points["row"], points["forecast"], color=COLOURS[0], mfc="white", **dots)
    ax.plot(points["row"], points["actual"], color=COLOURS[1], **dots)
    if names:
        step = -(-len(names) // NAMED_TICKS)
        ax.set_xticks(points["row"][::step].tolist(), names[::step])
    ax.set(xlabel=xlabel, ylabel="forecast and actual")
    ax.grid(**GRID_LINE_STYLE)
    return ax


# Scores -------------------------------------------------------------------------------------------

BELOW = 0.2  # height of the histogram below 0, of which the axis of shares has 1
CORNER_WIDTH = 0.4  # of the square: the text in its upper left corner reaches no farther right
CORNER_FLOOR = 0.7  # height in the square above which that text stands
CLASS_COLOURS = {"positive": COLOURS[1], "negative": COLOURS[0]}
SIDES = tuple(CLASS_COLOURS)
Words = Mapping[str, Sequence[str]]  # of each system, lines in the corner of its square


def reliability(
    curve: pd.DataFrame,
    bands: pd.DataFrame | None,
    spread: pd.DataFrame,
    axes: AxesArray,
    *,
    ylabel: str,
    words: Words,
) -> AxesArray:
    """Draw a reliability diagram per system: the share of positives as an isotonic function of the
    predicted probability, a band around the diagonal, and the histogram of scores beneath.

    curve: system, x, y. bands: system, x, low, high; None for no bands. spread: the bins of scores,
    system, low, high (the edges), rows (their number). words: by system, the lines of text in the
    corner of its panel.
    """
    for panel in _system_panels(curve, axes, "predicted probability", ylabel):
        ax = panel.ax
        ax.plot([0, 1], [0, 1], **REFERENCE)
        _draw_isotonic_curve(panel.system, panel.rows, bands, ax)
        scores = spread[spread["system"] == panel.system]
        _draw_histogram_beneath(scores, ax, floor=-BELOW, height=BELOW - 0.03)
        _corner_text(panel.rows, words[panel.system], ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(-BELOW - 0.03, 1.02))
        ax.set_yticks(np.linspace(0, 1, 6))
    for ax in list(axes.flat)[curve["system"].nunique() :]:
        ax.set_axis_off()
    return axes


def _draw_isotonic_curve(
    system: str, line: pd.DataFrame, bands: pd.DataFrame | None, ax: Axes
) -> None:
    """Draw the isotonic curve of a system over its band. line: x, y. bands: of all systems."""
    if bands is not None:
        band = bands[bands["system"] == system]
        area = ax.fill_between(
            band["x"], band["low"], band["high"], color=GREY, alpha=0.25, linewidth=0
        )
        marks.mark_limits(area, system)
    curve = ax.plot(line["x"], line["y"], color=COLOURS[0], linewidth=1.4)[0]
    marks.mark_points(curve, system)


def _draw_histogram_beneath(bins: pd.DataFrame, ax: Axes, *, floor: float, height: float) -> None:
    """Draw the `rows` of bins as a histogram that stands at y = floor and is `height` high."""
    largest_count = max(bins["rows"].max(), 1)
    tops = height * bins["rows"] / largest_count + floor
    style: Style = {"fill": True, "color": COLOURS[0], "alpha": 0.55, "linewidth": 0}
    ax.stairs(tops, _bin_edges(bins), baseline=floor, **style)


def _corner_text(curve: pd.DataFrame, lines: Sequence[str], ax: Axes) -> None:
    """Write lines into the upper left corner, or into the lower right one if the curve passes
    through the upper left.
    """
    corner: Style = {"x": 0.03, "y": 0.98, "va": "top"}
    curve_is_there = np.interp(CORNER_WIDTH, curve["x"], curve["y"]) > CORNER_FLOOR
    if curve_is_there:
        corner = {"x": 0.97, "y": 0.2, "ha": "right", "va": "bottom"}  # above the histogram
    _write_panel_text(ax, "\n".join(lines), **corner)


def _write_panel_text(ax: Axes, text: str, **style: Any) -> None:
    """Write a small text. style: options of `ax.text`; x and y are shares of the panel."""
    ax.text(s=text, fontsize=marks.small_font_size(), transform=ax.transAxes, **style)


def draw_score_histograms(
    frame: pd.DataFrame, axes: AxesArray, *, xlabel: str, ylabel: str, sides: Sequence[str] = SIDES
) -> AxesArray:
    """Draw the histogram of scores of each class, one panel per system.

    frame: system, low, high (the edges of the bin), and the shares of the class in it, positive,
    negative. sides: what the two classes are called.
    """
    for panel in _system_panels(frame, axes, xlabel, ylabel):
        bins = panel.rows
        edges = _bin_edges(bins)
        areas = {}
        for (column, colour), name in zip(CLASS_COLOURS.items(), sides, strict=True):
            area = panel.ax.stairs(
                bins[column], edges, fill=True, color=colour, alpha=0.45, linewidth=0
            )
            areas[name] = marks.mark_points(area, name)
        for column, colour in CLASS_COLOURS.items():
            panel.ax.stairs(bins[column], edges, color=colour, linewidth=0.9)  # over both areas
    add_legend(list(axes.flat)[-1], areas)
    return axes


def distributions(
    frame: pd.DataFrame,
    distances: pd.DataFrame,
    axes: AxesArray,
    *,
    xlabel: str,
    ylabel: str,
    sides: Sequence[str] = SIDES,
) -> AxesArray:
    """Draw the distribution function of the scores of each class, one panel per system, and the
    Kolmogorov-Smirnov distance, where the two are farthest apart.

    frame: system, x, and the functions at x, positive, negative. distances: system, x, value (the
    distance), positive, negative. sides: what the two classes are called.
    """
    distance_of = distances.set_index("system")
    for panel in _system_panels(frame, axes, xlabel, ylabel):
        x = panel.rows["x"]
        lines = {}
        for column, name, dashes in zip(CLASS_COLOURS, sides, ("-", "--"), strict=True):
            colour = CLASS_COLOURS[column]
            style: Style = {"drawstyle": "steps-post", "color": colour, "linestyle": dashes}
            line = panel.ax.plot(x, panel.rows[column], **style)[0]
            lines[name] = marks.mark_points(line, name)
        _mark_distance(distance_of.loc[panel.system], panel.ax)
    add_legend(list(axes.flat)[-1], lines)
    return axes


def _mark_distance(distance: pd.Series[float], ax: Axes) -> None:
    """Draw the Kolmogorov-Smirnov distance as an upright line with its value.

    distance: x, value, and the ends of the line, positive, negative.
    """
    x = distance["x"]
    ends = [distance["negative"], distance["positive"]]
    ax.plot([x, x], ends, color=DARK_GREY, marker="_", linewidth=1.2)
    # the value stands on the side of the line where the panel has more room
    placement: Style = {"offset": (4, 0), "ha": "left"}
    if x > sum(ax.get_xlim()) / 2:
        placement = {"offset": (-4, 0), "ha": "right"}
    note(
        ax,
        f"KS {number(distance['value'])}",
        (x, sum(ends) / 2),
        **placement,
        va="center",
        fontsize=marks.small_font_size(),
        bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5},
    )


# Forecasts ----------------------------------------------------------------------------------------

MEAN_ERROR_LABEL = "mean error"
SHADE_COUNT = 5  # of cells, even in the logarithm of their rows
HISTOGRAM_SHARE = 0.17  # share of the height that a histogram below takes
BULK = (0.05, 0.95)  # shares of rows between which a line always lies inside the axes


def cells(frame: pd.DataFrame, axes: AxesArray, *, xlabel: str, ylabel: str) -> AxesArray:
    """Draw rows by forecast and actual value as shaded cells around the diagonal, one panel per
    system, all with the same limits.

    frame: system, `x` and `y` (the lower left corner of a cell), `width`, `height`, and the number
    of `rows` in it; the more, the darker.
    """
    largest_count = frame["rows"].max()
    low = frame[["x", "y"]].min()
    # an array, because pandas would match columns by their names, x and width, when it adds frames
    sizes = frame[["width", "height"]].to_numpy()
    high = (frame[["x", "y"]] + sizes).max()  # x, y: the upper right corner of all cells
    diagonal = [min(low["x"], low["y"]), max(high["x"], high["y"])]
    for panel in _system_panels(frame, axes, xlabel, ylabel):
        _draw_shaded_cells(panel.rows, largest_count, panel.ax)
        panel.ax.plot(diagonal, diagonal, **REFERENCE | {"color": DARK_GREY})
        panel.ax.set(xlim=(low["x"], high["x"]), ylim=(low["y"], high["y"]))
    return axes


def draw_error_cells(
    frame: pd.DataFrame, tenths: pd.DataFrame, ax: Axes, *, name: str, xlabel: str, ylabel: str
) -> Axes:
    """Draw the rows of a system by forecast and error as shaded cells around 0, and over them the
    mean error in each tenth of the forecasts with its interval.

    frame: cells of a two-dimensional histogram, with the columns of `cells`. tenths: forecast, bias
    (the mean error), low, high. name: the title.
    """
    _draw_shaded_cells(frame, frame["rows"].max(), ax)
    forecasts = tenths["forecast"]
    limits = ax.vlines(forecasts, tenths["low"], tenths["high"], color=COLOURS[1], linewidth=2)
    marks.mark_limits(limits, MEAN_ERROR_LABEL)
    style: Style = {"marker": "o", "markersize": 4, "color": COLOURS[1], "linewidth": 1}
    means = ax.plot(forecasts, tenths["bias"], **style)[0]
    texts = zip(forecasts, estimate_texts(tenths, signed_number, "bias"), strict=True)
    marks.mark_points(
        means,
        MEAN_ERROR_LABEL,
        [f"forecast {number(x)}: {MEAN_ERROR_LABEL} {text}" for x, text in texts],
    )
    ax.axhline(0, **ZERO_LINE_STYLE)
    ax.set(title=panel_title(name, ax), xlabel=xlabel, ylabel=ylabel)
    ax.grid(**GRID_LINE_STYLE)
    return ax


def _draw_shaded_cells(cells: pd.DataFrame, largest_count: float, ax: Axes) -> None:
    """Draw cells in `SHADE_COUNT` shades by the logarithm of their `rows`; the darkest have
    `largest_count`."""
    log_share = np.log(np.maximum(cells["rows"], 1)) / max(np.log(largest_count), 1e-9)  # 0 to 1
    shades = np.minimum(log_share * SHADE_COUNT, SHADE_COUNT - 1).astype(int)
    for shade in range(SHADE_COUNT):
        shade_cells = cells[shades == shade]
        if len(shade_cells):
            opacity = 0.15 + 0.85 * shade / (SHADE_COUNT - 1)  # the palest can still be seen
            _fill_cells(shade_cells, ax, opacity)


def _fill_cells(cells: pd.DataFrame, ax: Axes, opacity: float) -> None:
    """Draw rectangular cells of one size in one shade: as a single path, which keeps files small.
    Neighbours in a column are drawn as one rectangle, so that no edge shows between them.

    cells: x and y (the lower left corner), width, height.
    """
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    cells = cells.sort_values(["x", "y"])  # by column, from below
    x = cells["x"].to_numpy()
    y = cells["y"].to_numpy()
    width = cells["width"].iloc[0]
    height = cells["height"].iloc[0]
    # A cell begins a rectangle if it is the first of its column, or if the cell below it is
    # missing: the step from the one before is then two heights or more, otherwise one.
    is_new_column = np.diff(x) != 0
    is_after_gap = np.diff(y) > 1.5 * height
    is_first = np.append(True, is_new_column | is_after_gap)  # of a rectangle
    is_last = np.append(is_first[1:], True)
    bottom = y[is_first]
    top = y[is_last] + height
    left = x[is_first]
    right = left + width
    # the corners of each rectangle, back to the first; each coordinate has shape (rectangles,)
    corners = [(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)]
    by_corner = np.array(corners)  # shape (5, 2, rectangles)
    vertices = by_corner.transpose(2, 0, 1).reshape(-1, 2)  # rectangle by rectangle
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(left)
    patch = PathPatch(Path(vertices, codes), facecolor=COLOURS[0], alpha=opacity, linewidth=0)
    ax.add_patch(patch)


def errors(
    frame: pd.DataFrame, means: Mapping[str, float], axes: AxesArray, *, xlabel: str, ylabel: str
) -> AxesArray:
    """Draw the histogram of errors around 0 and a line at their mean, one panel per system.

    frame: system, low, high (the edges of the bin), share (of the rows in it). means: the mean
    error by system, also as a text.
    """
    places = decimals(frame["high"] - frame["low"])
    for panel in _system_panels(frame, axes, xlabel, ylabel):
        ax = panel.ax
        shares = panel.rows["share"]
        edges = _bin_edges(panel.rows)
        area = ax.stairs(shares, edges, fill=True, color=COLOURS[0], alpha=0.55, linewidth=0)
        marks.mark_points(area, panel.system)
        ax.axvline(0, **ZERO_LINE_STYLE)
        mean = means[panel.system]
        if edges[0] <= mean <= edges[-1]:
            ax.axvline(mean, color=COLOURS[1], linewidth=1.3, linestyle="--")
        # the text stands in the upper corner away from the highest bar
        corner: Style = {"x": 0.02, "ha": "left"}
        if np.argmax(shares) < len(shares) / 2:
            corner = {"x": 0.98, "ha": "right"}
        _write_panel_text(ax, f"mean {signed_number(mean, places)}", y=0.97, va="top", **corner)
        ax.set(xlim=(edges[0], edges[-1]))
    return axes


def means(
    curve: pd.DataFrame,
    bands: pd.DataFrame | None,
    spread: pd.DataFrame,
    axes: AxesArray,
    *,
    words: Words,
) -> AxesArray:
    """Draw the mean actual value as an isotonic function of the forecast, one panel per system: a
    band around the diagonal, and the histogram of forecasts beneath.

    curve: system, x, y. bands: system, x, low, high; None for no bands. spread: the bins of
    forecasts, system, low, high (the edges), rows (their number). words: by system, the lines of
    text in the upper left corner of its panel.
    """
    left = spread["low"].min()
    right = spread["high"].max()
    bottom, top = _height_range(curve, bands, spread)  # of the curves
    # the histogram takes the share HISTOGRAM_SHARE of the height of a panel, the curves take the
    # rest
    panel_height = (top - bottom) / (1 - HISTOGRAM_SHARE)
    room = HISTOGRAM_SHARE * panel_height
    for panel in _system_panels(curve, axes, "forecast", "mean actual"):
        ax = panel.ax
        ax.plot([left, right], [left, right], **REFERENCE)
        _draw_isotonic_curve(panel.system, panel.rows, bands, ax)
        forecasts = spread[spread["system"] == panel.system]
        _draw_histogram_beneath(forecasts, ax, floor=bottom - room, height=0.9 * room)
        _write_panel_text(ax, "\n".join(words[panel.system]), x=0.03, y=0.98, va="top")
        ax.set(xlim=(left, right), ylim=(bottom - room, top))
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
    return axes


def _height_range(
    curve: pd.DataFrame, bands: pd.DataFrame | None, spread: pd.DataFrame
) -> tuple[float, float]:
    """The lowest and the highest y that the panels of `means` must show: of the diagonal over all
    forecasts, and of lines and bands over the middle 90% of the forecasts only, because at the ends
    few rows may make them jump.

    curve: system, x, y. bands: system, x, low, high. spread: bins of forecasts, system, low, high,
    rows.
    """
    heights = [spread["low"].min(), spread["high"].max()]  # on the diagonal y is the forecast
    for name, bins in spread.groupby("system", sort=False):
        edges = _bin_edges(bins)
        # the share of rows below each edge; interpolated, it gives quantiles of the forecasts
        share_below = np.append(0, np.cumsum(bins["rows"])) / max(bins["rows"].sum(), 1)
        first, last = np.interp(BULK, share_below, edges)
        x = np.linspace(first, last, 50)  # from the 5% quantile to the 95% quantile
        line = curve[curve["system"] == name]
        heights += np.interp(x, line["x"], line["y"]).tolist()
        if bands is not None:
            band = bands[bands["system"] == name]
            for edge in ("low", "high"):
                heights += np.interp(x, band["x"], band[edge]).tolist()
    return min(heights), max(heights)


class SystemPanel(NamedTuple):
    """A system, its rows of a frame, and the axes on which they are drawn."""

    system: str
    rows: pd.DataFrame
    ax: Axes


def _system_panels(
    frame: pd.DataFrame, axes: AxesArray, xlabel: str, ylabel: str
) -> Iterator[SystemPanel]:
    """The panel of each `system` of the frame, with its title, labels and grid lines."""
    for (name, rows), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=False):
        ax.set(title=panel_title(str(name), ax), xlabel=xlabel, ylabel=ylabel)
        ax.grid(**GRID_LINE_STYLE)
        yield SystemPanel(str(name), rows, ax)


def _bin_edges(bins: pd.DataFrame) -> np.ndarray:
    """The edges of adjoining bins, shape (n_bins + 1,), from their `low` and `high`."""
    return np.append(bins["low"], bins["high"].iloc[-1])


# Folds --------------------------------------------------------------------------------------------


def draw_map(frame: pd.DataFrame, ax: Axes, *, xlabel: str, dated: bool = False) -> Axes:
    """Draw one bar per fold, its stretches coloured by what their rows are used for.

    frame: `fold`, `kind` (test, training, both), `start`, `width`. dated: True if x is a date.
    """
    folds = list(dict.fromkeys(frame["fold"]))
    keys = {}
    for kind, colour in KINDS.items():
        of_kind = frame[frame["kind"] == kind]
        for i, fold in enumerate(folds):
            stretches = of_kind[of_kind["fold"] == fold]
            spans = list(zip(stretches["start"], stretches["width"], strict=True))
            ax.broken_barh(spans, (i - 0.4, 0.8), color=colour, lw=0)
        if len(of_kind):
            keys[kind] = ax.plot([], [], color=colour, linewidth=6)[0]  # for the legend alone
    ax.set_yticks(range(len(folds)), [str(fold) for fold in folds])
    rows_downwards(ax, len(folds))
    ax.set(ylabel="fold", xlabel=xlabel)
    if dated:
        ax.xaxis_date()
    add_legend(ax, keys)
    return ax


LETTERS_BELOW = 60  # of the labels below a figure
BETWEEN_SYSTEMS = 0.12  # from one system to the next beside it, where folds are 1 apart


def draw_folds(frame: pd.DataFrame, ax: Axes, *, label: str, subject: str, xlabel: str) -> Axes:
    """Draw the value of a metric of each system on the test rows of each fold as a point, and for
    one system as hollow points the values on the training rows, which show overfitting.

    frame: system, fold, a column of the values, on_train (may be missing). label: the name of that
    column, and the label of its axis. subject: the system whose values on the training rows are
    drawn.
    """
    folds = list(dict.fromkeys(frame["fold"]))
    points = {}
    for i, (name, values) in enumerate(frame.groupby("system", sort=False)):
        # systems stand side by side at the number of the fold
        x = [folds.index(fold) + BETWEEN_SYSTEMS * i for fold in values["fold"]]
        style = plots.marker_style(i)
        dots = ax.plot(x, values[label], linestyle="none", **style)[0]
        test = zip(values["fold"], values[label], strict=True)
        says = [f"{name}, fold {fold}: {number(value)}" for fold, value in test]
        points[str(name)] = marks.mark_points(dots, name, says)
        if name == subject and "on_train" in values:
            hollow = style | {"markerfacecolor": "none"}
            dots = ax.plot(x, values["on_train"], linestyle="none", **hollow)[0]
            training = zip(values["fold"], values["on_train"], strict=True)
            says = [
                f"{name}, training rows of fold {fold}: {number(value)}" for fold, value in training
            ]
            marks.mark_points(dots, name, says)
    # every fold has a label if all labels and a space behind each fit, otherwise every second, …
    longest = max(len(str(fold)) for fold in folds)
    step = math.ceil(len(folds) * (longest + 1) / LETTERS_BELOW)
    labelled = range(0, len(folds), step)
    ax.set_xticks(labelled, [str(folds[i]) for i in labelled])
    ax.set(xlabel=xlabel, ylabel=label)
    ax.grid(axis="y", **GRID_LINE_STYLE)
    add_legend(ax, points)
    return ax


GOLDEN_RATIO = 0.618  # its multiples, without their whole parts, spread evenly over 0 to 1


def draw_strip(frame: pd.DataFrame, ax: Axes, *, xlabel: str) -> Axes:
    """Draw the `value`s of each `way` as one row of points, and a line at their mean.

    The points are spread over the height of the row, so that equal ones do not hide each other.
    """
    names = list(dict.fromkeys(frame["way"]))
    for i, name in enumerate(names):
        values = np.sort(frame[frame["way"] == name]["value"].dropna().to_numpy(float))
        y = np.full(values.size, float(i))
        if values.size > 1:
            # from −0.5 to 0.5, the same each time it is drawn
            spread = np.arange(values.size) * GOLDEN_RATIO % 1 - 0.5
            y = i + 0.55 * spread
        points = ax.plot(values, y, "o", color=COLOURS[0], markersize=3.2, alpha=0.55)[0]
        marks.mark_points(points, name, [f"{name}: {number(value)}" for value in values])
        if values.size:
            mean = values.mean()
            ax.plot([mean, mean], [i - 0.36, i + 0.36], color=COLOURS[1], linewidth=2)
    counts = frame.groupby("way", sort=False).size()
    ax.set_yticks(range(len(names)), [f"{name} ({counts[name]})" for name in names])
    rows_downwards(ax, len(names))
    ax.set(xlabel=xlabel)
    ax.grid(axis="x", **GRID_LINE_STYLE)
    return ax
