"""Plots: each function draws what is computed on an `ax` and returns it; `picture` makes it a piece of the page."""

import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import paths
from evalkit.drawing.figures import Drawing
from evalkit.drawing.tables import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b6b6b", "#332288")
GREY = "#767676"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "evalkit",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.6,
}
MANY = 2000  # more points than a picture can show, thinned by their quantiles


@dataclass(frozen=True)
class Picture:
    """A drawn figure as SVG, with the text that stands for it and the line below it."""

    svg: str
    alt: str
    caption: str
    drawing: Drawing

    def __call__(self, ax: Any = None) -> Any:
        """Draw on `ax`, or on a new figure of pyplot, and return the axes; see `Drawing.on`."""
        return self.drawing.on(ax)

    def save(self, path: str | PathLike[str], *, size: tuple[float, float] | None = None, **options: Any) -> None:
        """Write the figure as the suffix of the path says: PDF, SVG, PNG; see `Drawing.save`."""
        self.drawing.save(path, size=size, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        below = f"<figcaption>{escape(self.caption)}</figcaption>"
        return {"text/html": f'<figure><div class="scroll">{self.svg}</div>{below}</figure>', "text/plain": self.alt}


def grid(panels: int, *, across: int) -> tuple[int, int]:
    """Rows and columns for so many panels, at most so many across.

    >>> grid(6, across=4)
    (2, 4)
    """
    columns = min(across, panels)
    return -(-panels // columns), columns


def tall(rows: int, *, head: float = 0.9, each: float = 0.3) -> tuple[float, float]:
    """The size of a figure of so many rows, in inches: a head and as much for each."""
    return 7.6, head + each * rows


def wide(panels: int, *, edge: float, each: float, height: float) -> tuple[float, float]:
    """The size of a figure of so many panels side by side, in inches."""
    return edge + each * panels, height


def picture(
    draw: Callable[..., Any],
    *data: Any,
    caption: str,
    alt: str = "",
    size: tuple[float, float] = (7.6, 3.4),
    panels: tuple[int, int] | None = None,
    **options: Any,
) -> Picture:
    """The figure that `draw(*data, ax, **options)` makes, `ax` an array of axes where panels are named.

    alt: the text that stands for it, where the caption does not say enough.
    """
    import io

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The page's reader has other fonts than this machine, and a crowded figure is drawn all the same.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font|constrained_layout not applied")
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(*(panels or (1, 1)), sharex=True, sharey=True, squeeze=False)
        draw(*data, axes if panels else axes[0, 0], **options)
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    drawing = Drawing(draw, data, options, size, panels, STYLE)
    return Picture(_embedded(buffer.getvalue(), alt or caption), alt or caption, caption, drawing)


def _embedded(svg: str, alt: str) -> str:
    """The SVG element alone, named for screen readers, with only the ids that something refers to."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    svg = re.sub(r' d="([^"]*)"', lambda path: f' d="{paths.compact(path[1])}"', svg)
    # Two decimals are enough for another coordinate; what stands between the tags is text and stays.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), svg)
    svg = re.sub(r' xmlns:xlink="[^"]*"| xmlns="[^"]*"| version="1.1"', "", svg, count=3).replace("xlink:href", "href")
    svg = re.sub(r"\n\s*", "\n", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1).strip()


def colour(i: int) -> str:
    """The colour of the i-th system: the page's, or that of a cycle of colours that the reader set in rcParams."""
    import matplotlib as mpl

    usual: Mapping[Any, Any] = mpl.rcParamsDefault
    cycle = mpl.rcParams["axes.prop_cycle"]
    colours = COLOURS if cycle == usual["axes.prop_cycle"] else cycle.by_key().get("color", COLOURS)
    return str(colours[i % len(colours)])


def style_of(i: int) -> dict[str, Any]:
    """Colour and marker of the i-th system: told apart also without colour."""
    return {"color": colour(i), "marker": MARKERS[i % len(MARKERS)], "markersize": 5}


def short(name: str, most: int = 32) -> str:
    """The name, or its beginning and an ellipsis."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def title(name: str, width: int) -> str:
    """A name in at most two lines of so many characters.

    >>> title("housing rented from a relative", 16)
    'housing rented\\nfrom a relative'
    """
    first, *rest = textwrap.wrap(name, width, break_on_hyphens=False) or [name]
    return "\n".join([first, short(" ".join(rest), width)] if rest else [first])


def legend(ax: Any, lines: Sequence[tuple[str, Any]], **place: Any) -> None:
    """A legend of named lines. Matplotlib by itself leaves out names that begin with an underscore."""
    drawn = ax.legend([line for _, line in lines], [str(i) for i in range(len(lines))], **place)
    for text, (name, _) in zip(drawn.get_texts(), lines, strict=True):
        text.set_text(short(name))


BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}  # where a legend covers no data
TITLE_SIZE = 8.5
TITLE_INCHES = 0.085  # that a character of this size needs, wide ones among them


def intervals(frame: pd.DataFrame, ax: Any, *, label: str, zero: bool) -> Any:
    """One row a result, `name`, `value`, `low`, `high`: a point and its interval, best reading from top to bottom."""
    for i, row in enumerate(frame.itertuples()):
        colour = row.colour if "colour" in frame else COLOURS[0]
        low, high = (value if np.isfinite(value) else row.value for value in (row.low, row.high))
        ax.plot([low, high], [i, i], color=colour, solid_capstyle="butt")
        ax.plot([row.value], [i], marker="o", markersize=6, color=colour, linestyle="none")
    if zero:
        ax.axvline(0, color="#444", linewidth=0.9)
    ax.set_yticks(range(len(frame)), [short(name, 48) for name in frame["name"]])
    ax.set_ylim(len(frame) - 0.4, -0.6)
    ax.grid(axis="x", color="#ddd", linewidth=0.6)
    ax.set_xlabel(label)
    return ax


def curves(frame: pd.DataFrame, ax: Any, *, x: str, y: str, xlabel: str, ylabel: str, log: bool = False) -> Any:
    """One line a `system` with its band from `low` to `high`."""
    lines = []
    for i, (name, line) in enumerate(frame.groupby("system", sort=False)):
        look = style_of(i)
        lines.append((str(name), ax.plot(line[x], line[y], **look)[0]))
        ax.fill_between(line[x], line["low"], line["high"], color=look["color"], alpha=0.12, linewidth=0)
    if log:
        ax.set_xscale("log")
        ticks = sorted(set(frame[x]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(color="#ddd", linewidth=0.6)
    legend(ax, lines, **BESIDE)
    return ax


def bars(values: Sequence[float], ax: Any, *, xlabel: str, ylabel: str) -> Any:
    """Sorted differences, one bar a unit: above 0 in the first colour, below in the second; the mean as a line."""
    every = np.sort(np.asarray(values, float))
    if not len(every):
        return ax
    kept = every if len(every) <= MANY else np.quantile(every, np.linspace(0, 1, MANY))
    place = (np.arange(len(kept)) + 0.5) * len(every) / len(kept)
    edges = np.arange(len(kept) + 1) * len(every) / len(kept)
    for sign, colour in ((1, COLOURS[0]), (-1, COLOURS[1])):
        ax.stairs(np.where(sign * kept > 0, kept, 0.0), edges, fill=True, color=colour, linewidth=0)
    ax.axhline(0, color="#444", linewidth=0.9)
    ax.axhline(float(every.mean()), color="#444", linewidth=1.2, linestyle="--")
    plus = "+" if every.min(initial=0) < 0 else ""
    ax.annotate(f"mean {every.mean():{plus}.3f}", (place[0], every.mean()), xytext=(2, 3), textcoords="offset points")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    return ax


def multiples(frame: pd.DataFrame, axes: Any, *, label: str) -> Any:
    """One panel a `slice`, same axes: each `system` as a point with its interval, n in the title."""
    systems = list(dict.fromkeys(frame["system"]))
    beside = 0.08 * max(len(short(name, 22)) for name in systems)
    width = int((axes.flat[0].figure.get_figwidth() - beside) / axes.shape[1] / TITLE_INCHES)
    for ax, (name, part) in zip(axes.flat, frame.groupby("slice", sort=False), strict=False):
        for row in part.itertuples():
            i = systems.index(row.system)
            low, high = (value if np.isfinite(value) else row.value for value in (row.low, row.high))
            ax.plot([low, high], [i, i], color=colour(i))
            ax.plot([row.value], [i], linestyle="none", **style_of(i))
        ax.set_title(f"{title(str(name), width)}\nn = {part['n'].max():,}", fontsize=TITLE_SIZE)
        ax.grid(axis="x", color="#ddd", linewidth=0.6)
    for ax in list(axes.flat)[frame["slice"].nunique() :]:
        ax.set_axis_off()
    axes.flat[0].set_yticks(range(len(systems)), [short(name, 22) for name in systems])
    axes.flat[0].set_ylim(len(systems) - 0.5, -0.5)
    for ax in axes[-1]:
        ax.set_xlabel(label)
    return axes
