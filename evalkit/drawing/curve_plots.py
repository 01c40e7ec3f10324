"""Plots of scores and forecasts: curves, confusion tables, reliability diagrams, histograms,
folds.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import figures as marks, plots
from evalkit.drawing.figures import characters
from evalkit.drawing.plots import COLOURS, GREY, GRID, MARKERS, above, legend, note, said, short
from evalkit.numbers import decimals, number, signed

SOLID: dict[str, Any] = {"markersize": 7, "mec": "white"}
HOLLOW: dict[str, Any] = {"markersize": 6, "marker": "o", "mfc": "none"}
DIAGONAL = ((0.0, 1.0), (0.0, 1.0))
FAINT: dict[str, Any] = {"color": "#bfc5cb", "linewidth": 0.8, "zorder": 1.5}
REFERENCE: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": ":"}
WORDS = 42  # characters that fit beside a panel
STEPS = "steps-pre"  # a value holds back to the point before it
FROM_ABOVE = "steps-post"  # the same of points that run from right to left
# cells of a confusion table stay so pale that this ink is read on them, in the dark too
INK, PALE = (
    "#000",
    2.5,
)
GAP = 2  # characters between names below an axis
FEW = 6  # classes whose shares fit into the cells of a confusion table
KINDS = {"test": COLOURS[0], "both": "#9ec6e0", "training": "#d9dce1"}


@dataclass(frozen=True, eq=False)
class Panel:
    """A panel of a figure of curves: lines, bands, marked points, a reference line, labels.

    lines: system, x, y. bands: system, x, low, high. points, circles: system, x, y, the operating
    points and others. reference: the ends of a dotted line. steps: how the points of a line are
    joined, straight or in steps. keys: the words of each system in a legend of the panel's own;
    none for that below the last panel. caption: of a figure of this panel alone. faint: the systems
    whose lines are thin and grey, and not in the legend.
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
    keys: Mapping[str, str] = field(default_factory=dict)
    caption: str = ""
    faint: Collection[str] = ()

    @property
    def band_steps(self) -> str | None:
        """How the edges of a band are joined: as the line that it belongs to point by point, else
        straight.
        """
        if self.bands is self.lines and self.steps != "default":
            return self.steps.removeprefix("steps-")
        return None


def look(i: int) -> dict[str, Any]:
    """Colour and dashes of the i-th system: told apart also without colour, and where a colour
    comes again.

    >>> look(0)["linestyle"], look(6)["linestyle"]
    ('-', '--')
    """
    return {"color": plots.colour(i), "linestyle": plots.DASHES[i % len(plots.DASHES)]}


def panels(frames: Sequence[Panel], axes: Any) -> Any:
    """One panel beside the other, the systems in the legend of the last, and of each with words of
    its own.
    """
    systems = list(dict.fromkeys(name for panel in frames for name in panel.lines["system"]))
    for panel, ax in zip(frames, axes.flat, strict=False):
        lines = _panel(panel, ax, systems)
        if panel.keys or (panel is frames[-1] and len(systems) > 1):
            legend(ax, lines, panel.keys)
    return axes


def _panel(panel: Panel, ax: Any, systems: list[str]) -> list[tuple[str, Any]]:
    """Draw one panel; return its lines with their names."""
    lines = []
    for name, line in panel.lines.groupby("system", sort=False):
        i = systems.index(str(name))
        style = FAINT if name in panel.faint else look(i)
        drawn = ax.plot(line["x"], line["y"], drawstyle=panel.steps, **style)[0]
        marked = (str(name), marks.series(drawn, name))
        lines += [] if name in panel.faint else [marked]
    if panel.bands is not None:
        faint = marks.paleness(panel.bands["system"].nunique())
        for name, band in panel.bands.groupby("system", sort=False):
            colour = look(systems.index(str(name)))["color"]
            drawn = ax.fill_between(
                band["x"],
                band["low"],
                band["high"],
                color=colour,
                alpha=faint,
                linewidth=0,
                step=panel.band_steps,
            )
            marks.band(drawn, name)
    for rows, shape in ((panel.points, SOLID), (panel.circles, HOLLOW)):
        for row in (
            ()
            if rows is None
            else rows[np.isfinite(rows["x"]) & np.isfinite(rows["y"])].itertuples()
        ):
            i = systems.index(row.system)
            style = {"marker": MARKERS[i % len(MARKERS)], "color": look(i)["color"]} | shape
            marks.series(ax.plot([row.x], [row.y], **style)[0], row.system)
    if panel.reference is not None:
        (x0, x1), (y0, y1) = panel.reference
        ax.plot([x0, x1], [y0, y1], **REFERENCE)
    ax.set(xlabel=panel.xlabel, ylabel=short(panel.ylabel, WORDS), title=above(panel.title, ax))
    ax.grid(**GRID)
    return lines


def matrix(table: Any, ax: Any, *, classes: Sequence[str], xlabel: str, ylabel: str) -> Any:
    """A confusion table: shade by the share of the row, counts in the cells, and of few classes the
    shares too.
    """
    counts = np.asarray(table, float)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.pcolormesh(
        np.arange(len(classes) + 1),
        np.arange(len(classes) + 1),
        share,
        cmap="Blues",
        vmin=0,
        vmax=PALE,
    )
    if len(classes) <= 15:
        for i, j in np.ndindex(counts.shape):
            words = (
                f"{counts[i, j]:,.0f}\n{share[i, j]:.0%}"
                if len(classes) <= FEW
                else f"{counts[i, j]:,.0f}"
            )
            ax.text(j + 0.5, i + 0.5, words, ha="center", va="center", color=INK)
    ticks = np.arange(len(classes)) + 0.5
    names = [short(name, 16) for name in classes]
    wide = sum(map(len, names)) + GAP * len(names) + max(map(len, names))
    ax.set_xticks(ticks, names, rotation=0 if wide <= characters(plots.width(ax)) else 90)
    ax.set_yticks(ticks, names)
    ax.set(ylim=(len(classes), 0), xlabel=xlabel, ylabel=ylabel)
    return ax


def matrices(tables: Mapping[str, Any], axes: Any, **labels: Any) -> Any:
    """A confusion table a system, side by side; labels: those of `matrix`."""
    for (name, table), ax in zip(tables.items(), axes.flat, strict=False):
        matrix(table, ax, **labels).set_title(above(name, ax))
    return axes


def tenths(frame: pd.DataFrame, axes: Any, *, ylabel: str) -> Any:
    """One panel per system: a value by tenths with its interval, around 0."""
    for name, part, ax in _each(frame, axes, "decile of the forecast", ylabel):
        ax.axhline(0, color="#444", linewidth=0.9)
        marks.band(
            ax.vlines(part["tenth"], part["low"], part["high"], color=COLOURS[0], linewidth=1.6),
            name,
        )
        points = ax.plot(
            part["tenth"],
            part["value"],
            linestyle="none",
            marker="o",
            markersize=4,
            color=COLOURS[0],
        )[0]
        texts = zip(part["tenth"], said(part, signed), strict=True)
        marks.series(points, name, [f"{name}, decile {tenth}: {text}" for tenth, text in texts])
    return axes


def coverage(frame: pd.DataFrame, ax: Any) -> Any:
    """The coverage of the intervals of each system by their level, with its interval, around the
    diagonal. frame: system, nominal, value, low, high.
    """
    lines = []
    ax.plot([0, 1], [0, 1], **REFERENCE)
    for i, (name, part) in enumerate(frame.groupby("system", sort=False)):
        style = look(i) | {"marker": MARKERS[i % len(MARKERS)], "markersize": 5}
        line = ax.plot(part["nominal"], part["value"], **style)[0]
        colour = style["color"]
        limits = ax.vlines(part["nominal"], part["low"], part["high"], color=colour, alpha=0.5)
        marks.band(limits, name)
        lines.append((str(name), marks.series(line, name)))
    if len(lines) > 1:
        legend(ax, lines, {})
    ax.set(xlabel="level of the interval", ylabel="share of actual values in it")
    ax.grid(**GRID)
    return ax


def fan(intervals: pd.DataFrame, points: pd.DataFrame, ax: Any) -> Any:
    """Rows side by side: nested intervals as bars, the forecast and the actual value. intervals:
    row, low, high, the widest first. points: row, forecast, actual.
    """
    levels = intervals["nominal"].unique().tolist()
    for i, level in enumerate(levels):
        part = intervals[intervals["nominal"] == level]
        pale = 0.9 * (i + 1) / len(levels)
        ax.vlines(part["row"], part["low"], part["high"], color=COLOURS[0], alpha=pale, linewidth=6)
    dots = {"linestyle": "none", "marker": "o", "markersize": 3.5}
    ax.plot(points["row"], points["forecast"], color=COLOURS[0], mfc="white", **dots)
    ax.plot(points["row"], points["actual"], color=COLOURS[1], **dots)
    ax.set(xlabel="row", ylabel="forecast and actual")
    ax.grid(**GRID)
    return ax


# Scores -------------------------------------------------------------------------------------------

BELOW = 0.2  # height of the histogram, of the axis of shares
LEFT, HIGH = 0.4, 0.7  # left of which and above which the words in the corner stand
CLASSES = {"positive": COLOURS[1], "negative": COLOURS[0]}
SIDES = tuple(CLASSES)
Words = Mapping[str, Sequence[str]]  # of each system, lines in the corner of its square


def reliability(
    curve: pd.DataFrame,
    bands: pd.DataFrame | None,
    spread: pd.DataFrame,
    axes: Any,
    *,
    ylabel: str,
    words: Words,
) -> Any:
    """One square per system: the isotonic curve, the band around the diagonal, the histogram of
    scores beneath.

    curve: system, x, y. bands: system, x, low, high. spread: system, low, high, rows. words: lines
    in the corner.
    """
    for name, line, ax in _each(curve, axes, "predicted probability", ylabel):
        ax.plot([0, 1], [0, 1], **REFERENCE)
        _isotonic(name, line, bands, ax)
        _beneath(spread[spread["system"] == name], ax, -BELOW, BELOW - 0.03)
        _corner(line, words[name], ax)
        ax.set(xlim=(-0.02, 1.02), ylim=(-BELOW - 0.03, 1.02))
        ax.set_yticks(np.linspace(0, 1, 6))
    for ax in list(axes.flat)[curve["system"].nunique() :]:
        ax.set_axis_off()
    return axes


def _isotonic(name: str, line: pd.DataFrame, bands: pd.DataFrame | None, ax: Any) -> None:
    """The isotonic curve of a system over its band."""
    if bands is not None:
        band = bands[bands["system"] == name]
        marks.band(
            ax.fill_between(
                band["x"], band["low"], band["high"], color=GREY, alpha=0.25, linewidth=0
            ),
            name,
        )
    marks.series(ax.plot(line["x"], line["y"], color=COLOURS[0], linewidth=1.4)[0], name)


def _beneath(spread: pd.DataFrame, ax: Any, floor: float, height: float) -> None:
    """A histogram that stands on the floor, its highest bar of this height."""
    tops = height * spread["rows"] / max(spread["rows"].max(), 1) + floor
    ax.stairs(
        tops, _edges(spread), baseline=floor, fill=True, color=COLOURS[0], alpha=0.55, linewidth=0
    )


def _corner(line: pd.DataFrame, words: Sequence[str], ax: Any) -> None:
    """Words in the upper left corner, or at the lower right where the curve passes through the
    upper left.
    """
    taken = np.interp(LEFT, line["x"], line["y"]) > HIGH
    place: dict[str, Any] = (
        {"x": 0.97, "y": 0.2, "ha": "right", "va": "bottom"} if taken else {"x": 0.03, "y": 0.98}
    )
    ax.text(
        **{"va": "top"} | place, s="\n".join(words), fontsize=marks.small(), transform=ax.transAxes
    )


def histograms(
    frame: pd.DataFrame, axes: Any, *, xlabel: str, ylabel: str, sides: Sequence[str] = SIDES
) -> Any:
    """One square per system: the share of each class in bins, `low`, `high`, `positive`,
    `negative`.

    sides: what the two are called.
    """
    for _, part, ax in _each(frame, axes, xlabel, ylabel):
        edges = _edges(part)
        drawn = [
            (
                shown,
                marks.series(
                    ax.stairs(part[side], edges, fill=True, color=colour, alpha=0.45, linewidth=0),
                    shown,
                ),
            )
            for (side, colour), shown in zip(CLASSES.items(), sides, strict=True)
        ]
        for side, colour in CLASSES.items():
            ax.stairs(part[side], edges, color=colour, linewidth=0.9)
    legend(list(axes.flat)[-1], drawn)
    return axes


def distributions(
    frame: pd.DataFrame,
    distances: pd.DataFrame,
    axes: Any,
    *,
    xlabel: str,
    ylabel: str,
    sides: Sequence[str] = SIDES,
) -> Any:
    """One square per system: the distribution function of each class in steps, and where they are
    farthest apart.
    """
    of_system = distances.set_index("system")
    for name, part, ax in _each(frame, axes, xlabel, ylabel):
        drawn = []
        for side, shown, dashes in zip(CLASSES, sides, ("-", "--"), strict=True):
            line = ax.plot(
                part["x"], part[side], drawstyle="steps-post", color=CLASSES[side], linestyle=dashes
            )[0]
            drawn.append((shown, marks.series(line, shown)))
        widest = of_system.loc[name]
        ax.plot(
            [widest["x"]] * 2,
            [widest["negative"], widest["positive"]],
            color="#444",
            marker="_",
            linewidth=1.2,
        )
        middle = (widest["negative"] + widest["positive"]) / 2
        left = widest["x"] > sum(ax.get_xlim()) / 2
        box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5}
        note(
            ax,
            f"KS {number(widest['value'])}",
            (widest["x"], middle),
            (-4 if left else 4, 0),
            ha="right" if left else "left",
            va="center",
            fontsize=marks.small(),
            bbox=box,
        )
    legend(list(axes.flat)[-1], drawn)
    return axes


# Forecasts ----------------------------------------------------------------------------------------

MEAN = "mean error"
SHADES = 5  # of cells, even in the logarithm of their rows
BENEATH = 0.17  # share of the height that a histogram below takes
BULK = (0.05, 0.95)  # shares of rows between which a line always lies inside the axes


def cells(frame: pd.DataFrame, axes: Any, *, xlabel: str, ylabel: str) -> Any:
    """One square per system: cells `x`, `y`, `width`, `height`, the darker the more `rows`, and the
    diagonal.
    """
    most = frame["rows"].max()
    low = frame[["x", "y"]].min()
    high = (frame[["x", "y"]] + frame[["width", "height"]].to_numpy()).max()
    ends = [min(low["x"], low["y"]), max(high["x"], high["y"])]
    for _, part, ax in _each(frame, axes, xlabel, ylabel):
        _shaded(part, most, ax)
        ax.plot(ends, ends, **REFERENCE | {"color": "#444"})
        ax.set(xlim=(low["x"], high["x"]), ylim=(low["y"], high["y"]))
    return axes


def error_cells(
    frame: pd.DataFrame, tenths: pd.DataFrame, ax: Any, *, name: str, xlabel: str, ylabel: str
) -> Any:
    """Cells of forecast and error of a system around 0, with the mean error by tenths and its
    interval.
    """
    _shaded(frame, frame["rows"].max(), ax)
    marks.band(
        ax.vlines(tenths["forecast"], tenths["low"], tenths["high"], color=COLOURS[1], linewidth=2),
        MEAN,
    )
    means = ax.plot(
        tenths["forecast"], tenths["bias"], marker="o", markersize=4, color=COLOURS[1], linewidth=1
    )[0]
    texts = zip(tenths["forecast"], said(tenths, signed, "bias"), strict=True)
    marks.series(means, MEAN, [f"forecast {number(x)}: {MEAN} {text}" for x, text in texts])
    ax.axhline(0, color="#444", linewidth=0.9)
    ax.set(title=above(name, ax), xlabel=xlabel, ylabel=ylabel)
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
    x = part["x"].to_numpy()
    y = part["y"].to_numpy()
    width = part["width"].iloc[0]
    height = part["height"].iloc[0]
    begins = np.append(True, (np.diff(x) != 0) | (np.diff(y) > 1.5 * height))
    low = y[begins]
    high = y[np.append(begins[1:], True)] + height
    left = x[begins]
    right = x[begins] + width
    corners = np.stack(
        [[left, low], [right, low], [right, high], [left, high], [left, low]]
    ).transpose(2, 0, 1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(left)
    path = Path(corners.reshape(-1, 2), codes)
    ax.add_patch(PathPatch(path, facecolor=COLOURS[0], alpha=alpha, linewidth=0))


def errors(
    frame: pd.DataFrame, means: Mapping[str, float], axes: Any, *, xlabel: str, ylabel: str
) -> Any:
    """One square per system: the share of rows in bins of the error, `low`, `high`, `share`; means:
    a line of each.
    """
    places = decimals(frame["high"] - frame["low"])
    for name, part, ax in _each(frame, axes, xlabel, ylabel):
        edges = _edges(part)
        marks.series(
            ax.stairs(part["share"], edges, fill=True, color=COLOURS[0], alpha=0.55, linewidth=0),
            name,
        )
        ax.axvline(0, color="#444", linewidth=0.9)
        mean = means[name]
        if edges[0] <= mean <= edges[-1]:
            ax.axvline(mean, color=COLOURS[1], linewidth=1.3, linestyle="--")
        side = 0.98 if np.argmax(part["share"]) < len(part) / 2 else 0.02
        ax.text(
            side,
            0.97,
            f"mean {signed(mean, places)}",
            fontsize=marks.small(),
            ha="right" if side > 0.5 else "left",
            va="top",
            transform=ax.transAxes,
        )
        ax.set(xlim=(edges[0], edges[-1]))
    return axes


def means(
    curve: pd.DataFrame,
    bands: pd.DataFrame | None,
    spread: pd.DataFrame,
    axes: Any,
    *,
    words: Words,
) -> Any:
    """One square per system: the isotonic mean, the band around the diagonal, the histogram of
    forecasts beneath.

    curve: system, x, y. bands: system, x, low, high, or none. spread: system, low, high, rows.
    words: in the corner.
    """
    left = spread["low"].min()
    right = spread["high"].max()
    bottom, top = _heights(curve, bands, spread)
    room = (top - bottom) * BENEATH / (1 - BENEATH)
    for name, line, ax in _each(curve, axes, "forecast", "mean actual"):
        ax.plot([left, right], [left, right], **REFERENCE)
        _isotonic(name, line, bands, ax)
        _beneath(spread[spread["system"] == name], ax, bottom - room, 0.9 * room)
        ax.text(
            0.03,
            0.98,
            "\n".join(words[name]),
            fontsize=marks.small(),
            va="top",
            transform=ax.transAxes,
        )
        ax.set(xlim=(left, right), ylim=(bottom - room, top))
        ax.set_yticks([tick for tick in ax.get_yticks() if bottom <= tick <= top])
    return axes


def _heights(
    curve: pd.DataFrame, bands: pd.DataFrame | None, spread: pd.DataFrame
) -> tuple[float, float]:
    """The ends of the axis: the diagonal, and the lines and bands over the bulk of the forecasts of
    each system.
    """
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


def _each(
    frame: pd.DataFrame, axes: Any, xlabel: str, ylabel: str
) -> Iterator[tuple[str, pd.DataFrame, Any]]:
    """Name, rows and square of each system."""
    for (name, part), ax in zip(frame.groupby("system", sort=False), axes.flat, strict=False):
        ax.set(title=above(str(name), ax), xlabel=xlabel, ylabel=ylabel)
        ax.grid(**GRID)
        yield str(name), part, ax


def _edges(bins: pd.DataFrame) -> np.ndarray:
    """The edges of bins from `low` to `high`."""
    return np.append(bins["low"], bins["high"].iloc[-1])


# Folds --------------------------------------------------------------------------------------------


def draw_map(frame: pd.DataFrame, ax: Any, *, xlabel: str, dated: bool = False) -> Any:
    """One bar per fold, its stretches coloured by what they do: `fold`, `kind`, `start`,
    `width`.
    """
    folds = list(dict.fromkeys(frame["fold"]))
    drawn = []
    for kind, colour in KINDS.items():
        some = frame[frame["kind"] == kind]
        for i, fold in enumerate(folds):
            part = some[some["fold"] == fold]
            ax.broken_barh(
                list(zip(part["start"], part["width"], strict=True)),
                (i - 0.4, 0.8),
                color=colour,
                lw=0,
            )
        if len(some):
            drawn.append((kind, ax.plot([], [], color=colour, linewidth=6)[0]))
    ax.set_yticks(range(len(folds)), [str(fold) for fold in folds])
    ax.set(ylim=(len(folds) - 0.4, -0.6), ylabel="fold", xlabel=xlabel)
    if dated:
        ax.xaxis_date()
    plots.legend(ax, drawn)
    return ax


def draw_folds(frame: pd.DataFrame, ax: Any, *, label: str, subject: str, xlabel: str) -> Any:
    """One point a `system` and `fold`; the subject's `on_train` hollow."""
    order = list(dict.fromkeys(frame["fold"]))
    drawn = []
    for i, (name, part) in enumerate(frame.groupby("system", sort=False)):
        x = [order.index(fold) + 0.12 * i for fold in part["fold"]]
        look = plots.style_of(i)
        says = [
            f"{name}, fold {fold}: {number(value)}"
            for fold, value in zip(part["fold"], part[label], strict=True)
        ]
        drawn.append(
            (
                str(name),
                marks.series(ax.plot(x, part[label], linestyle="none", **look)[0], name, says),
            )
        )
        if name == subject and "on_train" in part:
            on_train = ax.plot(
                x, part["on_train"], linestyle="none", **(look | {"markerfacecolor": "none"})
            )[0]
            texts = zip(part["fold"], part["on_train"], strict=True)
            marks.series(
                on_train,
                name,
                [f"{name}, training rows of fold {fold}: {number(y)}" for fold, y in texts],
            )
    ax.set_xticks(range(len(order)), [str(fold) for fold in order])
    ax.set(xlabel=xlabel, ylabel=label)
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
    ax.set(ylim=(len(names) - 0.4, -0.6), xlabel=xlabel)
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    return ax
