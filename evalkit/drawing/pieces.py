"""Pieces of a page: HTML with its text and the contents of its tables, stacked or folded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from os import PathLike
from typing import Protocol

import pandas as pd

from evalkit.displays import Display, Displayed, with_page
from evalkit.drawing.cells import Table, escape
from evalkit.drawing.files import write_if_path
from evalkit.drawing.latex import latex
from evalkit.drawing.markdown import markdown
from evalkit.drawing.spreadsheets import escape_formulas, frame, workbook


@dataclass(frozen=True, repr=False)
class Html(Displayed):
    """A piece of the page: HTML for the page, plain text for a terminal.

    tables: the contents of the tables in it, for exports. replaced_by: the pieces that a notebook
    shows in its place, figures, and HTML without SVG and controls; empty if it shows the same.
    """

    html: str
    text: str = ""
    tables: tuple["Table", ...] = ()
    replaced_by: tuple["Piece", ...] = ()

    def __repr__(self) -> str:
        """The text, which a console shows."""
        return self.text

    def to_frames(self) -> list[pd.DataFrame]:
        """The tables as frames of numbers with the digits of the page; an interval has columns
        `low` and `high`.
        """
        return [frame(table) for table in self.tables]

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in Markdown, which is also written if there is a path."""
        return write_if_path("\n".join(map(markdown, self.tables)), path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in LaTeX for the package booktabs, with intervals and marks of significance;
        as `to_markdown`.
        """
        return write_if_path("\n".join(map(latex, self.tables)), path)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The tables as CSV, which is also written if there is a path; several are separated by an
        empty line.
        """
        tables = [escape_formulas(frame).to_csv(index=False) for frame in self.to_frames()]
        return write_if_path("\n".join(tables), path)

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write the tables as the sheets of a workbook; needs openpyxl."""
        workbook(self.to_frames(), path)

    @property
    def notebook_pieces(self) -> tuple["Piece", ...]:
        """The pieces that a notebook shows."""
        return self.replaced_by or (self,)

    def displays(self) -> list[Display]:
        """Its HTML and text, or what replaces it, as outputs of a notebook."""
        if not self.replaced_by:
            return [Display({"text/html": self.html, "text/plain": self.text}, {})]
        outputs = chain.from_iterable(piece.displays() for piece in self.replaced_by)
        return with_page(self.html, list(outputs))


class Piece(Protocol):
    """A piece of a page, such as a figure or a table: HTML for the page, text for a terminal, the
    contents of tables, and what a notebook shows.
    """

    @property
    def html(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def tables(self) -> tuple[Table, ...]: ...
    @property
    def notebook_pieces(self) -> tuple["Piece", ...]: ...
    def displays(self) -> list[Display]: ...


def stack(pieces: Iterable[Piece]) -> Html:
    """Several pieces below one another as one piece; empty ones are left out.

    A notebook shows this piece's HTML like the page, unless one of the pieces is a figure, or looks
    different in a notebook: then it shows the pieces in `replaced_by` instead.
    """
    filled = [piece for piece in pieces if piece.html]
    tables = tuple(chain.from_iterable(piece.tables for piece in filled))
    replaced_by: list[Piece] = []
    is_same_in_notebook = all(isinstance(piece, Html) and not piece.replaced_by for piece in filled)
    if not is_same_in_notebook:
        replaced_by = list(_in_notebook(filled))
    return Html(_joined_html(filled), _joined_text(filled), tables, tuple(replaced_by))


def _joined_html(pieces: Iterable[Piece]) -> str:
    """The HTML of several pieces."""
    return "".join(piece.html for piece in pieces)


def _joined_text(pieces: Iterable[Piece]) -> str:
    """The text of several pieces, each on lines of its own."""
    return "\n".join(piece.text for piece in pieces)


def _in_notebook(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """What a notebook shows of the pieces: each figure, and all HTML between two of them as one
    piece.
    """
    notebook_pieces = chain.from_iterable(piece.notebook_pieces for piece in pieces)
    for are_html, neighbours in groupby(notebook_pieces, key=_is_html):
        if are_html:
            html = list(neighbours)
            yield Html(_joined_html(html), _joined_text(html))
        else:
            yield from neighbours


def _is_html(piece: Piece) -> bool:
    """True for HTML, which a notebook can join and fold; False for a figure."""
    return isinstance(piece, Html)


def folded(summary: str, piece: Html, kind: str = "", place: str = "") -> Html:
    """A piece that is hidden until a reader clicks its summary, a line of text; an empty piece
    stays empty. A notebook folds HTML too, but cannot fold a figure, an output of its own: then all
    of the piece stands open below the summary.

    kind, place: the class and the id of the HTML element, "" for none.
    """
    if not piece.html:
        return piece
    attributes = f' id="{place}"' if place else ""
    if kind:
        attributes += f' class="{kind}"'
    start = f"<details{attributes}><summary>{escape(summary)}</summary>"
    # what a notebook shows instead; it stays empty if the notebook shows the same as the page
    replaced_by: list[Piece] = []
    can_be_folded = all(map(_is_html, piece.replaced_by))
    if can_be_folded:
        for html in piece.replaced_by:
            replaced_by.append(Html(f"{start}{html.html}</details>", html.text))
    else:
        replaced_by.append(Html(f"<p><b>{escape(summary)}</b></p>", summary))
        replaced_by += piece.replaced_by
    html_of_page = f"{start}{piece.html}</details>"
    return Html(html_of_page, f"{summary}\n{piece.text}", piece.tables, tuple(replaced_by))
