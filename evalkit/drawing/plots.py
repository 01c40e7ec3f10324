"""Plots: each function draws what is computed on an `ax` and returns it; `picture` makes it a piece of the page."""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import figures, marks, paths
from evalkit.drawing.figures import Drawing
from evalkit.drawing.tables import escape
from evalkit.numbers import Show, decimals, estimate, number, signed

DASHES = ("-", "--", "-.", (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5, 1, 1.5)))  # 5: no look comes again before 40 lines
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


WIDTH = 5.4  # inches: on a phone its text is still 8 pixels high
PANELS = (WIDTH, 4.3, 3.1, 2.4)  # the width of each of one, two, three or four panels in a row


@dataclass(frozen=True)
class Picture:
    """A drawn figure as SVG, with the text that stands for it and the line below it.

    kind: "" for one that narrows with the screen, "wide" for one that would then be too small to read and scrolls.
    summary: the line that opens a folded figure; "" for one that is not folded.
    """

    svg: str
    alt: str
    caption: str
    drawing: Drawing
    kind: str = ""
    summary: str = ""

    def __call__(self, ax: Any = None) -> Any:
        """Draw on `ax`, or on a new figure of pyplot, and return the axes; see `Drawing.on`."""
        return self.drawing.on(ax)

    def save(self, path: str | PathLike[str], *, size: tuple[float, float] | None = None, **options: Any) -> None:
        """Write the figure as the suffix of the path says: PDF, SVG, PNG; see `Drawing.save`."""
        self.drawing.save(path, size=size, **options)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        below = f"<figcaption>{escape(self.caption)}</figcaption>"
        box = f'<div class="{f"scroll {self.kind}".strip()}">{self.svg}</div>'
        figure = f"<figure>{box}{below}</figure>"
        folded = f"<details><summary>{escape(self.summary)}</summary>{figure}</details>"
        return {"text/html": folded if self.summary else figure, "text/plain": self.alt}

    def folded(self, summary: str) -> "Picture":
        """The figure folded below a line that opens it."""
        return replace(self, summary=summary)


def grid(panels: int, *, across: int) -> tuple[int, int]:
    """Rows and columns for so many panels, at most so many across.

    >>> grid(6, across=4)
    (2, 4)
    """
    columns = min(across, panels)
    return -(-panels // columns), columns


def tall(rows: int, *, head: float = 0.9, each: float = 0.3) -> float:
    """The height of a figure of so many rows, in inches: a head and as much for each."""
    return head + each * rows


def picture(
    draw: Callable[..., Any],
    *data: Any,
    caption: str,
    alt: str = "",
    size: tuple[float, float] = (WIDTH, 3.0),
    panels: tuple[int, int] | None = None,
    **options: Any,
) -> Picture:
    """The figure that `draw(*data, ax, **options)` makes, `ax` an array of axes where panels are named.

    alt: the text that stands for it, where the caption does not say enough. size: width and height in inches.
    """
    svg, axes = _drawn(draw, data, options, size, panels)
    named = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt or caption)}" ', 1)
    drawing = Drawing(draw, data, options, _size(axes), panels, STYLE)
    return Picture(named, alt or caption, caption, drawing, "wide" if size[0] > WIDTH else "")


def row(
    draw: Callable[..., Any], *data: Any, panels: int, caption: str, alt: str = "", height: float = 3.0, **options: Any
) -> Picture:
    """Panels side by side, of which the ones that a narrow screen has no room for move below: `picture`, cut apart."""
    if panels == 1:
        return picture(draw, *data, caption=caption, alt=alt, size=(WIDTH, height), panels=(1, 1), **options)
    width = PANELS[min(panels, len(PANELS)) - 1] * panels
    every = _labelled(draw)
    svg, axes = _drawn(every, data, options, (width, height), (1, panels))
    cut = "".join(_apart(svg, _boxes(axes), axes.flat[0].figure))
    together = f'<div class="row" role="img" aria-label="{escape(alt or caption)}">{cut}</div>'
    drawing = Drawing(every, data, options, _size(axes), (1, panels), STYLE)
    return Picture(together, alt or caption, caption, drawing)


def _boxes(axes: Any) -> list[Any]:
    """What each panel covers, in the style in which it was drawn: in another there are other ticks."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE), figures.quiet():
        return [ax.get_tightbbox() for ax in axes.flat]


def _size(axes: Any) -> tuple[float, float]:
    """Width and height in inches of the figure that the axes are in."""
    width, height = axes.flat[0].figure.get_size_inches()
    return float(width), float(height)


def _labelled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """The drawing with the numbers of its axis on each panel."""

    def draw_all(*data: Any, **options: Any) -> None:
        for ax in data[-1].flat:
            ax.tick_params(labelleft=True)
        draw(*data, **options)

    return draw_all


def _drawn(
    draw: Callable[..., Any],
    data: Sequence[Any],
    options: dict[str, Any],
    size: tuple[float, float],
    panels: tuple[int, int] | None,
) -> tuple[str, Any]:
    """The figure as an SVG element, its marks on it, and its axes."""
    import io

    figures.skip_documentation()
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE), figures.quiet():
        figure = Figure(figsize=size, layout="constrained", facecolor="none")
        axes = figure.subplots(*(panels or (1, 1)), sharex=True, sharey=True, squeeze=False)
        for ax in axes.flat:
            ax.set_facecolor("none")
        draw(*data, axes if panels else axes[0, 0], **options)
        figure.set_figheight(figure.get_figheight() + LINE * max(map(_lines_below, axes.flat)))
        attributes, buffer = marks.numbered(figure), io.StringIO()
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None, "Creator": None})
    return marks.written(_embedded(buffer.getvalue()), attributes, list(axes.flat)), axes


def _lines_below(ax: Any) -> int:
    """How many lines the legend below the axes has."""
    legend = ax.get_legend()
    lines = legend.get_label().removesuffix(" lines") if legend else ""
    return int(lines) if lines.isdecimal() else 0


def _apart(svg: str, boxes: Sequence[Any], figure: Any) -> Iterator[str]:
    """An SVG element for each panel: its group of the figure, seen through a window around its box.

    What one of them defines the others may use, as they stand in one document.
    """
    head, *groups = re.split(r'(?=<g class="axes")', svg)
    point = 72 / figure.dpi
    for i, (group, box) in enumerate(zip(groups, boxes, strict=True)):
        left, width = point * box.x0, point * box.width
        height = 72 * figure.get_figheight() - point * box.y0
        window = f'width="{width:.1f}pt" height="{height:.1f}pt" viewBox="{left:.1f} 0 {width:.1f} {height:.1f}"'
        inner = head[head.index(">") + 1 :] if i == 0 else "<g>"
        yield f"<svg {window}>{inner}{group}" + ("" if i == len(groups) - 1 else "</g></svg>")


ENDS = "stroke: #000000; stroke-width: 0.8; stroke-linejoin: miter; stroke-linecap: square"
FREQUENT = {  # class of the elements with a style that a figure has often
    "txt-m": "font-size: 9px; text-anchor: middle",
    "txt-e": "font-size: 9px; text-anchor: end",
    "txt-s": "font-size: 9px; text-anchor: start",
    "spine": f"fill: none; {ENDS}",
}
SHARED = "text{font-family: 'DejaVu Sans', sans-serif}path.grid{fill: none; stroke: #ddd; stroke-width: .6}" + "".join(
    f".{name}{{{style}}}" for name, style in FREQUENT.items()
)
GRID = re.compile(r' clip-path="[^"]*" style="fill: none; stroke: #dddddd; stroke-width: 0.6; stroke-linecap: square"')
SINGLE = re.compile(r"<g>\s*(<(?:path|use|text)\b[^\n]*(?:/>|</text>))\s*</g>")


def _shared(svg: str) -> str:
    """The SVG with what all texts, grid lines and ticks have in common said once, and no groups of one element."""
    svg = re.sub(r";? font-family: [^;\"]*(?=;|\")", "", svg).replace("*{stroke", f"{SHARED}*{{stroke", 1)
    for name, style in FREQUENT.items():
        svg = svg.replace(f' style="{style}"', f' class="{name}"')
    svg = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", GRID.sub(' class="grid"', svg))
    svg = re.sub(r'(<use [^>]*?) style="stroke: #000000; stroke-width: 0.8"', r"\1", svg)  # as the tick is defined
    return SINGLE.sub(r"\1", SINGLE.sub(r"\1", svg))


def _embedded(svg: str) -> str:
    """The SVG element alone, with the ids that something refers to and those of marks; groups of axes have a class."""
    svg = svg[svg.index("<svg") :].replace('<g id="axes_', '<g class="axes" id="axes_')
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(
        r' id="([^"]*)"', lambda match: match[0] if match[1] in used or match[1].startswith("mark-") else "", svg
    )
    svg = _shared(svg)
    svg = re.sub(r' d="([^"]*)"', lambda path: f' d="{paths.compact(path[1])}"', svg)
    # Two decimals are enough for another coordinate; what stands between the tags is text and stays.
    svg = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), svg)
    svg = re.sub(r' xmlns:xlink="[^"]*"| xmlns="[^"]*"| version="1.1"', "", svg, count=3).replace("xlink:href", "href")
    svg = re.sub(r"\n\s*", "\n", svg)
    return svg.strip()


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


LINES = 6  # of a title
HALF = 22  # characters of a name of which a legend holds two side by side
LINE = 0.2  # inches of a line of a legend


def legend(ax: Any, lines: Sequence[tuple[str, Any]]) -> None:
    """A legend of named lines below the axes. Matplotlib by itself leaves out names that begin with an underscore."""
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
    columns = 1 if max(len(name) for name, _ in lines) > HALF else 2
    drawn = ax.legend([line for _, line in lines], [str(i) for i in range(len(lines))], ncol=columns, **place)
    drawn.set_label(f"{-(-len(lines) // columns)} lines")
    for text, handle, (name, _) in zip(drawn.get_texts(), drawn.legend_handles, lines, strict=True):
        marks.legend(text, name).set_text(short(name))
        marks.legend(handle, name)


TITLE_SIZE = 8.5
TITLE_LINE = 0.15  # inches of a line of this size
TITLE_INCHES = 0.085  # that a character of this size needs, wide ones among them
Sides = tuple[str, str]  # what it means to lie to the left of 0, and to the right


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
        above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "fontsize": 8}
        ax.annotate(f"← {sides[0]}", (0, 1), xytext=(-5, 2), ha="right", color="#444", **above)
        ax.annotate(f"{sides[1]} →", (0, 1), xytext=(5, 2), ha="left", color="#444", **above)
    ax.set_yticks(range(len(frame)), [short(name, 48) for name in frame["name"]])
    ax.set_ylim(len(frame) - 0.4, -0.6)
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
        ax.set_xscale("log")
        ticks = sorted(set(frame[x]))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(color="#ddd", linewidth=0.6)
    legend(ax, lines)
    return ax


def bars(values: Sequence[float], ax: Any, *, xlabel: str, ylabel: str, colours: Sequence[str] = COLOURS) -> Any:
    """Sorted numbers, one bar a unit: above 0 in the first colour, below in the second; the mean as a line."""
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
    ax.annotate(f"mean {show(mean)}", (place[0], mean), xytext=(2, 3), textcoords="offset points")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
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
            ax.set_xlabel(label)


def _room_for_titles(axes: Any) -> None:
    """Make the figure higher by the lines that the longest title of each row of panels has beyond two and n."""
    lines = [max(ax.get_title(loc="left").count("\n") for ax in row) for row in axes]
    figure = axes.flat[0].figure
    figure.set_figheight(figure.get_figheight() + TITLE_LINE * sum(max(n - 2, 0) for n in lines))
