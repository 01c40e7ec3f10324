"""Figures in pixels: PNG with few colours and twice as many pixels an inch as a screen."""

import base64
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SCREEN = 96  # pixels of an inch of a page
SCALE = 2  # pixels of the picture to one of the screen, in each direction
DPI = SCREEN * SCALE  # pixels of an inch of the picture
COLOURS = 64  # at most, so that files stay small
WIDEST = 10.1  # inches of a row of panels
GAP = 0.1  # inches between them
Pixels = npt.NDArray[np.uint8]


class Png(NamedTuple):
    """A picture, encoded in base64, and its size on the screen."""

    content: str
    width: int
    height: int


def png(figure: Any, panels: Sequence[tuple[float, float]], style: Mapping[Any, Any]) -> Png:
    """The PNG of a figure of matplotlib that was drawn before and keeps the places of its parts.

    panels: where each panel of a row begins and ends, in inches; those that the screen has no room
    for move to a further row. Empty for a figure that is left as it is.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_layout_engine("none")
    figure.set_facecolor("white")
    _scale_labels(figure, DPI / figure.dpi)
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    with mpl.rc_context({**style, "text.hinting": "none"}), warnings.catch_warnings():
        # the warning would write a control character of a name to the terminal
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    if panels:
        pixels = _rows([_panel(pixels, left, right) for left, right in panels])
    # quantize tells fewer colours apart in an image of four channels
    image = Image.fromarray(pixels).convert("RGB")
    few = image.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    file = io.BytesIO()
    few.save(file, "png")
    content = base64.b64encode(file.getvalue()).decode("ascii")
    return Png(content, image.width // SCALE, image.height // SCALE)


def _scale_labels(figure: Any, scale: float) -> None:
    """Keep the distance of labels from their axes, which matplotlib has in pixels."""
    for ax in figure.axes:
        x, below = ax.xaxis.label.get_position()
        ax.xaxis.label.set_position((x, below * scale))
        beside, y = ax.yaxis.label.get_position()
        ax.yaxis.label.set_position((beside * scale, y))


def _panel(pixels: Pixels, left: float, right: float) -> Pixels:
    first, last = (round(end * DPI) for end in (left, right))
    return _widened(pixels[:, max(first, 0) : last], round(GAP * DPI))


def _rows(panels: Sequence[Pixels]) -> Pixels:
    """Panels side by side, in as many rows as they need.

    >>> [_rows([np.zeros((3, width, 4), np.uint8)] * 3).shape for width in (500, 900)]
    [(3, 1500, 4), (6, 1800, 4)]
    """
    rows: list[list[Pixels]] = [[]]
    for panel in panels:
        width = sum(other.shape[1] for other in rows[-1]) + panel.shape[1]
        if rows[-1] and width > WIDEST * DPI:
            rows.append([])
        rows[-1].append(panel)
    joined = [np.concatenate(row, axis=1) for row in rows]
    widest = max(row.shape[1] for row in joined)
    return np.concatenate([_widened(row, widest - row.shape[1]) for row in joined])


def _widened(pixels: Pixels, columns: int) -> Pixels:
    """The pixels with this number of white columns to their right."""
    return np.pad(pixels, ((0, 0), (0, columns), (0, 0)), constant_values=255)
