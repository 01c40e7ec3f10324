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
LEFT_OUT_TAGS = {"papermill-error-cell-tag", "notebook-only"}
# sections with these pieces stay whatever is asked for: warnings, and how numbers were made
NEEDED = re.compile(r"\.(findings|definitions|origin|results)\(")
PIECE = re.compile(r"\.(\w+?)(?:_plot)?\(study")


def arranged(cells: Sequence[NotebookNode]) -> list[NotebookNode]:
    """The cells of an executed notebook as the parameter `sections` asks for them: the cells before
    the first heading, the requested sections, pieces and notebooks of the user, and last the
    sections that no page may lack. All cells, in their order, if nothing was asked for.
    """
    # the cell `study.own_sections()` has the requested names and the outputs of the user's
    # notebooks as its outputs; it is not itself on the page
    own_outputs = []
    page_cells = []
    for cell in cells:
        outputs = _outputs_of_own_sections(cell)
        own_outputs += outputs
        if not outputs:
            page_cells.append(cell)
    if not own_outputs:
        return page_cells
    requested_names: list[str] = []
    cells_by_own_notebook: dict[str, list[NotebookNode]] = {}
    for output in own_outputs:
        requested_names = output.metadata.get(ASKED, requested_names)
        if SECTION in output.metadata:
            own_notebook = output.metadata[SECTION]
            cells_by_own_notebook.setdefault(own_notebook, []).append(_cell_with(output))
    before_headings, *sections = split_by_heading(page_cells)
    section_by_name = {_name(section): section for section in sections}
    arranged_cells = [*before_headings]
    for name in requested_names:
        requested_cells = cells_by_own_notebook.get(name)
        if requested_cells is None:
            requested_cells = _section_or_piece(name, section_by_name)
        arranged_cells += requested_cells
    arranged_ids = {cell.id for cell in arranged_cells}
    for section in sections:
        is_needed = any(NEEDED.search(cell.source) for cell in section)
        if is_needed:
            arranged_cells += [cell for cell in section if cell.id not in arranged_ids]
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
    for a notebook of one's own that does not exist. cells: of the report's notebook. names: those
    that the parameter `sections` asks for.
    """
    own_notebooks(names)  # raises for a missing file
    _before_headings, *sections = split_by_heading(cells_on_page(cells))
    section_by_name = {_name(section): section for section in sections}
    for name in names:
        is_own_notebook = name.endswith(NOTEBOOK)
        if not is_own_notebook and not _section_or_piece(name, section_by_name):
            hint = did_you_mean(name, section_by_name)
            raise ParameterError(
                f"sections: there is no section {name!r}{hint}, there are "
                f"{', '.join(section_by_name)}; a notebook of your own ends in .ipynb"
            )


def cells_on_page(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """The cells without those of which the page has nothing."""
    return [cell for cell in cells if LEFT_OUT_TAGS.isdisjoint(cell.metadata.get("tags", []))]


def split_by_heading(cells: Iterable[NotebookNode]) -> Iterator[list[NotebookNode]]:
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


def _section_or_piece(name: str, sections: Mapping[str, list[NotebookNode]]) -> list[NotebookNode]:
    """The cells of the section of this name, or else those that call the piece of this name, such
    as `page.tiers(study)`; empty if there is neither. sections: the cells of each, by its name.
    """
    if name in sections:
        return sections[name]
    cells = []
    for cell in chain.from_iterable(sections.values()):
        if cell.cell_type == "code" and name in (cell.id, *PIECE.findall(cell.source)):
            cells.append(cell)
    return cells


def _outputs_of_own_sections(cell: NotebookNode) -> list[NotebookNode]:
    """The outputs of `study.own_sections()`, if the cell has any."""
    outputs = cell.get("outputs", [])
    return [output for output in outputs if {ASKED, SECTION} & output.get("metadata", {}).keys()]


def _cell_with(output: NotebookNode) -> NotebookNode:
    """A cell of an own section from its output."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    cell: NotebookNode = new_code_cell(outputs=[output])
    if set(output.data) == {"text/markdown"}:
        cell = new_markdown_cell(output.data["text/markdown"])
    return cell
