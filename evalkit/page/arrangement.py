"""The sections of an executed notebook as the parameter `sections` asks for them: chosen, in
another order, and with those of notebooks of one's own.

The cell `study.own_sections()` shows the own ones; the metadata of its outputs say what was
asked for, and which notebook an output is of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.arrays import ParameterError
from evalkit.parameters.kinds import did_you_mean

if TYPE_CHECKING:
    from nbformat import NotebookNode

ASKED = "evalkit-sections"  # in the metadata of an output: the names that were asked for
SECTION = "evalkit-section"  # and the notebook that the output is of
NOTEBOOK = ".ipynb"
# tags of cells that are not on the page: papermill's banner, what only explains the notebook
LEFT_OUT = {"papermill-error-cell-tag", "notebook-only"}
# sections with these pieces stay whatever is asked for: warnings, and how numbers were made
NEEDED = re.compile(r"\.(findings|definitions|origin|results)\(")
PIECE = re.compile(r"\.(\w+?)(?:_plot)?\(study")


def arranged(cells: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The cells, in the sections and the order that the notebook was asked for."""
    own_outputs = []
    other_cells = []
    for cell in cells:
        outputs = _own_outputs(cell)
        own_outputs += outputs
        if not outputs:
            other_cells.append(cell)
    if not own_outputs:
        return other_cells
    wanted: list[str] = []
    own_sections: dict[str, list[NotebookNode]] = {}
    for output in own_outputs:
        wanted = output.metadata.get(ASKED, wanted)
        if SECTION in output.metadata:
            own_sections.setdefault(output.metadata[SECTION], []).append(_cell(output))
    first, *sections = by_heading(other_cells)
    by_name = {_name(section): section for section in sections}
    arranged_cells = first
    for name in wanted:
        arranged_cells += own_sections.get(name) or _find(name, by_name)
    ids = {cell.id for cell in arranged_cells}
    for section in sections:
        if any(NEEDED.search(cell.source) for cell in section):
            arranged_cells += [cell for cell in section if cell.id not in ids]
    return arranged_cells


def own_notebooks(names: Sequence[str]) -> list[str]:
    """The names of notebooks among those of sections. Raises ParameterError for a missing file."""
    notebooks = [name for name in names if name.endswith(NOTEBOOK)]
    for name in notebooks:
        if not Path(name).expanduser().is_file():
            raise ParameterError(f"sections: there is no file {name}")
    return notebooks


def check(cells: Sequence[NotebookNode], names: Sequence[str]) -> None:
    """Raise ParameterError for a name that is neither a section nor a piece of the notebook, and
    for a notebook of one's own that does not exist.
    """
    own_notebooks(names)
    _, *sections = by_heading(on_page(cells))
    by_name = {_name(section): section for section in sections}
    for name in names:
        if not name.endswith(NOTEBOOK) and not _find(name, by_name):
            hint = did_you_mean(name, by_name)
            raise ParameterError(
                f"sections: there is no section {name!r}{hint}, there are {', '.join(by_name)}; a "
                "notebook of your own ends in .ipynb"
            )


def on_page(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """The cells without those of which the page has nothing."""
    return [cell for cell in cells if LEFT_OUT.isdisjoint(cell.metadata.get("tags", []))]


def by_heading(cells: Iterable[NotebookNode]) -> Iterator[list[NotebookNode]]:
    """Runs of cells, each but the first begun by a markdown cell with a heading."""
    section: list[NotebookNode] = []
    for cell in cells:
        if is_heading(cell) and section:
            yield section
            section = []
        section.append(cell)
    yield section


def is_heading(cell: NotebookNode) -> bool:
    """True for a markdown cell that begins with a heading."""
    return bool(cell.cell_type == "markdown" and cell.source.lstrip().startswith("#"))


def _name(section: Sequence[NotebookNode]) -> str:
    """The name of a section: the id of its first cell, without "-head"."""
    return str(section[0].id.removesuffix("-head"))


def _find(name: str, sections: Mapping[str, list[NotebookNode]]) -> list[NotebookNode]:
    """The section of this name, or the cells that show the piece of this name; empty for none.

    sections: their cells by name.
    """
    if name in sections:
        return sections[name]
    cells = []
    for cell in chain.from_iterable(sections.values()):
        if cell.cell_type == "code" and name in (cell.id, *PIECE.findall(cell.source)):
            cells.append(cell)
    return cells


def _own_outputs(cell: NotebookNode) -> list[NotebookNode]:
    """The outputs of `study.own_sections()`, if the cell has any."""
    outputs = cell.get("outputs", [])
    return [output for output in outputs if {ASKED, SECTION} & output.get("metadata", {}).keys()]


def _cell(output: NotebookNode) -> NotebookNode:
    """A cell of an own section from its output."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    cell: NotebookNode = new_code_cell(outputs=[output])
    if set(output.data) == {"text/markdown"}:
        cell = new_markdown_cell(output.data["text/markdown"])
    return cell
