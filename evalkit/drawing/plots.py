"""Plots: each function draws computed numbers on a matplotlib `ax` and returns it."""

import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import figures as marks
from evalkit.numbers import Show, decimals, estimate, number, signed

DASHES = ("-", "--", "-.", (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5, 1, 1.5)))  # 5: no look comes again before 40 lines
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6b6b", "#332288")
GREY = "#767676"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MANY = 2000  # more points than a picture can show, thinned by their quantiles
LINES = 6  # of a title
HALF = 22  # characters of a name of which a legend holds two side by side
GRID: dict[str, Any] = {"color": "#ddd", "linewidth": 0.6}
TITLE_SIZE = 8.5
TITLE_LINE = 0.15  # inches of a line of this size
TITLE_INCHES = 0.085  # that a character of this size needs, wide ones among them
Sides = tuple[str, str]  # what it means to lie to the left of 0, and to the right


def colour(i: int) -> str:
    """The colour of the i-th system: the page's, or that of a cycle of colours that the reader set in rcParams."""
    import matplotlib as mpl

    usual: Mapping[Any, Any] = mpl.rcParamsDefault
    cycle = mpl.rcParams["axes.prop_cycle"]
    colours = COLOURS if cycle == usual["axes.prop_cycle"] else cycle.by_key().get("color", COLOURS)
    return str(colours[i % len(colours)])


def style_of(i: int) -> dict[str, Any]:
    """Colour and marker of the i-th system: told apart also without colour."""
    return {"color": colour(i), "marker": MARKERS[(i + i // len(COLOURS)) % len(MARKERS)], "markersize": 5}


def short(name: str, most: int = 32) -> str:
    """The name, or its beginning and an ellipsis."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def title(name: str, width: int) -> str:
    """A name in as many lines of so many characters as it needs, at most `LINES`.

    >>> title("housing rented from a relative", 16)
    'housing rented\\nfrom a relative'
    """
    return "\n".join(textwrap.wrap(name, width, break_on_hyphens=False, max_lines=LINES, placeholder=" …") or [name])


def note(ax: Any, words: str, at: tuple[Any, Any], by: tuple[float, float], **style: Any) -> None:
    """Words beside a point, so many points of type away from it."""
    ax.annotate(words, at, xytext=by, textcoords="offset points", **style)


def legend(ax: Any, lines: Sequence[tuple[str, Any]], words: Mapping[str, str] = MappingProxyType({})) -> None:
    """A legend of named lines below the axes. Matplotlib by itself leaves out names that begin with an underscore.

    words: what stands behind a name.
    """
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
    named = [f"{short(name)}{words.get(name, '')}" for name, _ in lines]
    columns = 1 if max(map(len, named)) > HALF else 2
    drawn = ax.legend([line for _, line in lines], [str(i) for i in range(len(lines))], ncol=columns, **place)
    drawn.set_label(f"{-(-len(lines) // columns)} lines")
    for text, handle, shown, (name, _) in zip(drawn.get_texts(), drawn.legend_handles, named, lines, strict=True):
        marks.legend(text, name).set_text(shown)
        marks.legend(handle, name)


def intervals(frame: pd.DataFrame, ax: Any, *, label: str, zero: bool, sides: Sides | None = None) -> Any:
    """One row a result, `name`, `value`, `low`, `high`: a point and its interval, best reading from top to bottom."""
    known, rows = np.flatnonzero(np.isfinite(frame["value"])), list(frame.itertuples())
    for i, text in zip(known, said(frame.iloc[known], signed if zero else number), strict=True):
        row = rows[i]
        colour = row.colour if "colour" in frame else COLOURS[0]
        low, high = (value if np.isfinite(value) else row.value for value in (row.low, row.high))
        marks.band(ax.plot([low, high], [i, i], color=colour, solid_capstyle="butt")[0], row.name)
        point = ax.plot([row.value], [i], marker="o", markersize=6, color=colour, linestyle="none")[0]
        marks.series(point, row.name, [f"{row.name}: {text}"])
    if zero:
        ax.axvline(0, color="#444", linewidth=0.9)
    if sides:
        above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "fontsize": 8, "color": "#444"}
        note(ax, f"← {sides[0]}", (0, 1), (-5, 2), ha="right", **above)
        note(ax, f"{sides[1]} →", (0, 1), (5, 2), ha="left", **above)
    ax.set_yticks(range(len(frame)), [short(name, 48) for name in frame["name"]])
    ax.set(ylim=(len(frame) - 0.4, -0.6))
    if np.ptp(ax.get_xlim()) < 0.05:  # ticks have four decimals or more
        ax.locator_params(axis="x", nbins=4)
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    ax.set_xlabel(short(label, 64), loc="right")
    return ax


def said(frame: pd.DataFrame, show: Show = number, value: str = "value") -> list[str]:
    """The values of a frame with their intervals, in words, all with the same decimals."""
    columns = [frame[name].tolist() for name in (value, "low", "high")]
    places = decimals(*columns)
    return [estimate(x, low, high, show, places) for x, low, high in zip(*columns, strict=True)]


def curves(frame: pd.DataFrame, ax: Any, *, x: str, y: str, xlabel: str, ylabel: str, log: bool = False) -> Any:
    """One line a `system` with its band from `low` to `high`."""
    lines, faint = [], marks.paleness(frame["system"].nunique())
    for i, (name, line) in enumerate(frame.groupby("system", sort=False)):
        look = style_of(i)
        says = [f"{name}, {x} {place:g}: {text}" for place, text in zip(line[x], said(line, value=y), strict=True)]
        drawn = ax.plot(line[x], line[y], linestyle=DASHES[i % len(DASHES)], **look)[0]
        lines.append((str(name), marks.series(drawn, name, says)))
        limits = ax.fill_between(line[x], line["low"], line["high"], color=look["color"], alpha=faint, linewidth=0)
        marks.band(limits, name)
    if log:
        ax.set(xscale="log")
        ticks = sorted(set(frame[x]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.grid(**GRID)
    legend(ax, lines)
    return ax


def bars(values: Sequence[float], ax: Any, *, xlabel: str, ylabel: str, colours: Sequence[str] = COLOURS) -> Any:
    """Sorted numbers, one bar per unit: above 0 in the first colour, below in the second; the mean as a line."""
    every = np.sort(np.asarray(values, float))
    if not len(every):
        return ax
    kept = every if len(every) <= MANY else np.quantile(every, np.linspace(0, 1, MANY))
    place = (np.arange(len(kept)) + 0.5) * len(every) / len(kept)
    edges = np.arange(len(kept) + 1) * len(every) / len(kept)
    for sign, colour in ((1, colours[0]), (-1, colours[1])):
        bar = ax.stairs(np.where(sign * kept > 0, kept, 0.0), edges, fill=True, color=colour, linewidth=0)
        marks.series(bar, "")
    ax.axhline(0, color="#444", linewidth=0.9)
    mean, show = float(every.mean()), signed if every.min(initial=0) < 0 else number
    ax.axhline(mean, color="#444", linewidth=1.2, linestyle="--")
    note(ax, f"mean {show(mean)}", (place[0], mean), (2, 3))
    ax.set(xlabel=xlabel, ylabel=ylabel)
    return ax


def multiples(frame: pd.DataFrame, axes: Any, *, label: str) -> Any:
    """One panel a `slice`, same axes: each `system` as a point with its interval, n in the title."""
    systems = list(dict.fromkeys(frame["system"]))
    beside = 0.08 * max(len(short(name, 22)) for name in systems)
    width = int((axes.flat[0].figure.get_figwidth() - beside) / axes.shape[1] / TITLE_INCHES)
    for ax, (name, part) in zip(axes.flat, frame.groupby("slice", sort=False), strict=False):
        for row, text in zip(part.itertuples(), said(part), strict=True):
            i = systems.index(row.system)
            low, high = (value if np.isfinite(value) else row.value for value in (row.low, row.high))
            marks.band(ax.plot([low, high], [i, i], color=colour(i))[0], row.system)
            point = ax.plot([row.value], [i], linestyle="none", **style_of(i))[0]
            marks.series(point, row.system, [f"{row.system}, {name}: {text}"])
        ax.set_title(f"{title(str(name), width)}\nn = {part['n'].max():,}", fontsize=TITLE_SIZE)
        ax.grid(axis="x", color="#ddd", linewidth=0.6)
    _lowest(axes, frame["slice"].nunique(), label)
    axes.flat[0].set_yticks(range(len(systems)), [short(name, 22) for name in systems])
    axes.flat[0].set_ylim(len(systems) - 0.5, -0.5)
    _room_for_titles(axes)
    return axes


def _lowest(axes: Any, panels: int, label: str) -> None:
    """The lowest of so many panels in each column have the numbers and the label of the axis."""
    for i, ax in enumerate(axes.flat):
        if i >= panels:
            ax.set_axis_off()
        elif i + axes.shape[1] >= panels:
            ax.tick_params(labelbottom=True)
            ax.set(xlabel=label)


def _room_for_titles(axes: Any) -> None:
    """Make the figure higher by the lines that the longest title of each row of panels has beyond two and n."""
    lines = [max(ax.get_title(loc="left").count("\n") for ax in row) for row in axes]
    figure = axes.flat[0].figure
    figure.set_figheight(figure.get_figheight() + TITLE_LINE * sum(max(n - 2, 0) for n in lines))
