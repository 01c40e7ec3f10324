"""A figure of a page on its own: drawn on any axes in the reader's style, or saved in any size and format."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

from evalkit.arrays import ParameterError

MESSAGES = "Glyph .* missing from font|constrained_layout not applied"  # a crowded figure is drawn all the same


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
        """
        from matplotlib.figure import Figure

        with self._styled():
            figure = Figure(figsize=size or self.size, layout="constrained")
            self._draw(self._subplots(figure.subplots))
            figure.savefig(path, **options)

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
        if axes.size != rows * columns:
            wanted = "one" if rows * columns == 1 else f"{rows * columns}, such as plt.subplots({rows}, {columns})[1]"
            raise ParameterError(f"ax must be axes of matplotlib, {wanted}, got {axes.size}")
        return axes.reshape(rows, columns)

    @contextmanager
    def _styled(self) -> Iterator[None]:
        """The style of the page where the reader set no other."""
        import warnings

        import matplotlib as mpl

        usual: Mapping[Any, Any] = mpl.rcParamsDefault
        now: Mapping[Any, Any] = mpl.rcParams
        style = {name: value for name, value in self.style.items() if now[name] == usual[name]}
        with mpl.rc_context(style), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=MESSAGES)
            yield
