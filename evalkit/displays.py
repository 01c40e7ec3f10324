"""What a notebook shows of a piece: figures as PNG, and HTML without SVG, which viewers strip."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

PAGE = "application/vnd.evalkit.page+html"  # what the page has in place of an output


class Display(NamedTuple):
    """An output of a cell: its contents by MIME type, and what is known of them."""

    data: dict[str, Any]
    metadata: dict[str, Any]


class Displayed(ABC):
    """What shows itself in a notebook by one output or several."""

    @abstractmethod
    def displays(self) -> list[Display]:
        """The outputs, in order."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for output in self.displays():
            display(output.data, metadata=output.metadata, raw=True)  # type: ignore[no-untyped-call]


def with_page(html: str, outputs: Sequence[Display]) -> list[Display]:
    """The outputs with the HTML of the page that replaces them: all of it is in the first.

    >>> with_page("<svg/>", [Display({"image/png": ""}, {})])[0].data[PAGE]
    '<svg/>'
    """
    pages = [html] + [""] * (len(outputs) - 1)
    return [
        Display(output.data | {PAGE: page}, output.metadata)
        for output, page in zip(outputs, pages, strict=True)
    ]
