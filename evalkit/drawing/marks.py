"""Marks: which system an artist of a figure draws and what its points say, for whoever points at them on the page.

A mark is remembered on the artist and stands in the SVG as attributes of the artist's group.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from evalkit.arrays import Bools
from evalkit.drawing.tables import escape

MARK = "_evalkit_mark"
OF_GROUP = re.compile(r'<g id="mark-(\d+)"')
EMPTY = re.compile(r'<g id="mark-\d+"/>')
OF_PATH = re.compile(r'(<g data-(?:series|limits)="[^>]*>\s*(?:<defs>\s*)?<path [^>]*?\bd=")([^"]*)')
AXES = '<g class="axes"'
LINEAR = "linear"


def series(artist: Any, system: object, says: Iterable[str] = ()) -> Any:
    """Mark what draws points of a system, and return it; what draws none stays without a mark.

    says: a line for each point, of which that of a point that is not finite is left out; without, its place says it.
    """
    lines, drawn = [line.replace("\n", " ") for line in says], _drawn(artist)
    if not drawn.any():
        return artist
    if lines and len(drawn) > 1:
        lines = [line for line, there in zip(lines, drawn, strict=True) if there]
    return _mark(artist, series=str(system), says="\n".join(lines))


def _drawn(artist: Any) -> Bools:
    """Which points of a line are finite; an artist of another kind is drawn."""
    if not hasattr(artist, "get_xydata"):
        return np.ones(1, dtype=bool)
    finite: Bools = np.isfinite(np.asarray(artist.get_xydata(), float)).all(axis=1)
    return finite


def paleness(lines: int) -> float:
    """The opacity of a band beside so many others, which together must not hide the lines.

    >>> paleness(4), paleness(8)
    (0.12, 0.06)
    """
    return 0.12 * min(1, 4 / lines)


def band(artist: Any, system: object) -> Any:
    """Mark what draws the limits of a system, and return it."""
    return _mark(artist, limits=str(system))


def legend(artist: Any, system: object) -> Any:
    """Mark what names a system in the legend, and return it."""
    return _mark(artist, key=str(system))


def _mark(artist: Any, **attributes: str) -> Any:
    setattr(artist, MARK, {name: text for name, text in attributes.items() if text or name != "says"})
    return artist


def numbered(figure: Any) -> list[str]:
    """Give each marked artist a number in the SVG; return the attributes of each, by number."""
    marked = [artist for ax in figure.axes for artist in _drawn_on(ax) if hasattr(artist, MARK)]
    for number, artist in enumerate(marked):
        artist.set_gid(f"mark-{number}")
    return [_attributes(getattr(artist, MARK)) for artist in marked]


def _drawn_on(ax: Any) -> list[Any]:
    """Lines, patches and collections of axes, and those of their legend.

    matplotlib's `findobj` makes all ticks, before it is known which are needed.
    """
    key = ax.get_legend()
    return [*ax.lines, *ax.patches, *ax.collections, *(key.findobj() if key else ())]


def written(svg: str, marks: Sequence[str], axes: Sequence[Any]) -> str:
    """The SVG with the attributes of marks on their groups, and the scales of axes on theirs."""
    svg = EMPTY.sub("", svg)
    svg = OF_GROUP.sub(lambda match: f"<g {marks[int(match[1])]}", svg)
    svg = OF_PATH.sub(lambda match: match[1] + _sloped(match[2]), svg)
    head, *groups = svg.split(AXES)
    return head + "".join(f"{AXES} {_scales(ax)}{group}" for ax, group in zip(axes, groups, strict=True))


def _sloped(path: str) -> str:
    """The path without the short forms of level and upright lines, so that each step has two numbers.

    >>> _sloped("M0 1h5v-2l3 4")
    'M0 1l5 0l0 -2l3 4'
    """
    return re.sub(r"h([^a-zA-Z]+)", r"l\1 0", path).replace("v", "l0 ")


def _attributes(texts: dict[str, str]) -> str:
    return " ".join(f'data-{name}="{escape(text)}"' for name, text in texts.items())


def _scales(ax: Any) -> str:
    """What each axis is; of linear ones the number at the edge of the figure, that of a point more, the decimals."""
    box, (width, height) = ax.get_position(), 72 * ax.figure.get_size_inches()
    ends = {"x": (box.x0 * width, box.x1 * width), "y": (height - box.y0 * height, height - box.y1 * height)}
    axes = {
        "x": (ax.get_xscale(), ax.get_xlim(), ax.get_xlabel()),
        "y": (ax.get_yscale(), ax.get_ylim(), ax.get_ylabel()),
    }
    texts = {}
    for name, (kind, limits, label) in axes.items():
        if kind == LINEAR:
            (low, high), (start, end) = limits, ends[name]
            step = (high - low) / (end - start)
            texts[name] = f"{low - start * step:.7g} {step:.7g} {max(0, math.floor(1 - math.log10(abs(step))))}"
        texts[f"{name}-is"] = re.sub(r" \([^()]*\)$", "", label)
    return _attributes(texts)
