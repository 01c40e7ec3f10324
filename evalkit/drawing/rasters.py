"""Figures in pixels: PNG with few colours and twice as many pixels an inch as a screen."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCREEN = 96  # pixels of an inch of a page
SCALE = 2  # pixels of the picture to one of the screen, in each direction
DPI = SCREEN * SCALE  # pixels of an inch of the picture
MAX_COLOURS = 64  # so that files stay small
WIDEST = 10.1  # inches of a row of panels, at most
GAP = 0.1  # inches between two panels
Pixels = npt.NDArray[np.uint8]


class Png(NamedTuple):
    """A picture as PNG in base64, and its size in pixels of the screen."""

    content: str
    width: int
    height: int


def png(figure: Figure, panels: Sequence[tuple[float, float]], style: Mapping[Any, Any]) -> Png:
    """The PNG of a figure of matplotlib whose layout was computed before: its parts keep their
    places, at a higher resolution.

    panels: the left and the right end of each panel of a row, in inches; those that the screen has
    no room for move to a further row. Empty for a figure that stays as it is. style: rcParams.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_layout_engine("none")
    figure.set_facecolor("white")
    _scale_labels(figure, DPI / figure.dpi)
    figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(figure)  # its methods have no types
    with mpl.rc_context({**style, "text.hinting": "none"}), warnings.catch_warnings():
        # the warning would write a control character of a name to the terminal
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    if panels:
        pixels = _in_rows([_panel(pixels, start, end) for start, end in panels])
    # without the fourth channel, of opacity, quantize tells more colours apart
    image = Image.fromarray(pixels).convert("RGB")
    reduced = image.quantize(MAX_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    file = io.BytesIO()
    reduced.save(file, "png", compress_level=8)  # 9 takes three times as long for 2 % less
    content = base64.b64encode(file.getvalue()).decode("ascii")
    # a pixel of the screen has SCALE by SCALE of the picture
    return Png(content, image.width // SCALE, image.height // SCALE)


def _scale_labels(figure: Figure, scale: float) -> None:
    """Move the labels of axes as far as the resolution grows: matplotlib keeps their distance from
    the axes in pixels. scale: the new resolution by the old one.
    """
    for ax in figure.axes:
        x, y_pixels = ax.xaxis.label.get_position()
        ax.xaxis.label.set_position((x, y_pixels * scale))
        x_pixels, y = ax.yaxis.label.get_position()
        ax.yaxis.label.set_position((x_pixels * scale, y))


def _panel(pixels: Pixels, start: float, end: float) -> Pixels:
    """The pixels between two ends of a panel in inches from the left, and the gap to the next
    panel. pixels: shape (height, width, 4).
    """
    first = max(round(start * DPI), 0)
    last = round(end * DPI)
    return _widened(pixels[:, first:last], round(GAP * DPI))


def _in_rows(panels: Sequence[Pixels]) -> Pixels:
    """One picture of panels side by side, in as many rows as they need, none wider than `WIDEST`
    inches. panels, and the picture: pixels of shape (height, width, 4), all of one height.

    >>> [_in_rows([np.zeros((3, width, 4), np.uint8)] * 3).shape for width in (500, 900)]
    [(3, 1500, 4), (6, 1800, 4)]
    """
    rows: list[list[Pixels]] = [[]]
    for panel in panels:
        last_row = rows[-1]
        width = sum(pixels.shape[1] for pixels in [*last_row, panel])
        if last_row and width > WIDEST * DPI:  # the panel begins a row; a first one always fits
            rows.append([])
        rows[-1].append(panel)
    joined = [np.concatenate(row, axis=1) for row in rows]
    widest = max(row.shape[1] for row in joined)
    # rows must have one width to stand above each other: the others get white columns
    return np.concatenate([_widened(row, widest - row.shape[1]) for row in joined])


def _widened(pixels: Pixels, columns: int) -> Pixels:
    """The pixels with so many white columns more to their right."""
    return np.pad(pixels, ((0, 0), (0, columns), (0, 0)), constant_values=255)
