"""A figure of a page on its own: drawn on any axes in the reader's style, or saved in any size and format."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from os import PathLike
from typing import Any

from evalkit.arrays import ParameterError
from evalkit.drawing.exports import writable


@contextmanager
def quiet() -> Iterator[None]:
    """Draw without the warnings that a reader cannot act on.

    The page's reader has other fonts than this machine, and a crowded figure is drawn all the same.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font|constrained_layout not applied")
        yield


def _checked_size(size: Any) -> tuple[float, float]:
    """Width and height. Raises ParameterError for anything but two numbers above 0."""
    numbers = tuple(size) if isinstance(size, Iterable) else (size,)
    if len(numbers) != 2 or not all(isinstance(side, Real) and 0 < float(side) < math.inf for side in numbers):
        raise ParameterError(f"size must be width and height in inches, such as (3.3, 2.6), got {size!r}")
    return numbers


@dataclass(frozen=True, eq=False)
class Drawing:
    """How a figure is drawn: `draw(*data, ax, **options)`, with an array of axes if there are several panels.

    size: width and height in inches. panels: rows and columns, None for a single panel. style: rcParams of the page.
    """

    draw: Callable[..., Any]
    data: Sequence[Any]
    options: Mapping[str, Any]
    size: tuple[float, float]
    panels: tuple[int, int] | None
    style: Mapping[Any, Any]

    def on(self, ax: Any = None) -> Any:
        """Draw on `ax`, or on a new figure of pyplot if it is None, and return the axes.

        ax: axes of matplotlib, or of a figure of several panels an array of as many. Where an rcParam differs from
        matplotlib's default, it replaces that of the page. Raises ParameterError for another number of axes.
        """
        with self._styled():
            axes = self._new() if ax is None else self._checked(ax)
            self._draw(axes)
        return axes if axes.size > 1 else axes.flat[0]

    def save(self, path: str | PathLike[str], *, size: tuple[float, float] | None = None, **options: Any) -> None:
        """Write the figure as the suffix of the path says: PDF, SVG, PNG, …

        size: width and height in inches; None: those of the page. options: of matplotlib's `savefig`, such as dpi.
        A missing folder is made. Raises ParameterError for a path without a name, and for another size.
        """
        from matplotlib.figure import Figure

        file = writable(path) if isinstance(path, str | PathLike) else path
        figsize = self.size if size is None else _checked_size(size)
        with self._styled():
            figure = Figure(figsize=figsize, layout="constrained")
            self._draw(self._subplots(figure.subplots))
            figure.savefig(file, **options)

    def _draw(self, axes: Any) -> None:
        self.draw(*self.data, axes if self.panels else axes.flat[0], **self.options)

    def _new(self) -> Any:
        """The axes of a new figure, in the size of the page unless the reader set another."""
        import matplotlib as mpl
        from matplotlib import pyplot

        own = mpl.rcParams["figure.figsize"] != mpl.rcParamsDefault["figure.figsize"]
        figure = pyplot.figure(figsize=None if own else self.size, layout="constrained")
        return self._subplots(figure.subplots)

    def _subplots(self, subplots: Callable[..., Any]) -> Any:
        return subplots(*(self.panels or (1, 1)), sharex=True, sharey=True, squeeze=False)

    def _checked(self, ax: Any) -> Any:
        """The axes as an array of rows and columns."""
        import numpy as np

        axes, (rows, columns) = np.asarray(ax, dtype=object), self.panels or (1, 1)
        if others := [panel for panel in axes.flat if not hasattr(panel, "transAxes")]:
            raise ParameterError(f"ax must be axes of matplotlib, such as plt.gca(), got {type(others[0]).__name__}")
        if axes.size != rows * columns:
            wanted = "one" if rows * columns == 1 else f"{rows * columns}, such as plt.subplots({rows}, {columns})[1]"
            raise ParameterError(f"ax must be axes of matplotlib, {wanted}, got {axes.size}")
        return axes.reshape(rows, columns)

    @contextmanager
    def _styled(self) -> Iterator[None]:
        """The style of the page where the reader set no other.

        A notebook's first figure switches pyplot to interactive, which must outlast it: else no other one is shown.
        """
        import matplotlib as mpl

        usual: Mapping[Any, Any] = mpl.rcParamsDefault
        now: Mapping[Any, Any] = mpl.rcParams
        style = {name: value for name, value in self.style.items() if now[name] == usual[name]}
        with mpl.rc_context(style), quiet():
            yield
            interactive = mpl.is_interactive()
        mpl.interactive(interactive)
