"""The sections of an executed notebook as the parameter `sections` asks for them: chosen, in
another order, and with those of notebooks of one's own.

The cell `study.own_sections()` shows the own ones; the metadata of its outputs say what was
asked for, and which notebook an output is of.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalkit.arrays import ParameterError
from evalkit.parameters.kinds import did_you_mean

ASKED = "evalkit-sections"  # in the metadata of an output: the names that were asked for
SECTION = "evalkit-section"  # and the notebook that the output is of
NOTEBOOK = ".ipynb"
# tags of cells that are not on the page: papermill's banner, what only explains the notebook
LEFT_OUT = {"papermill-error-cell-tag", "notebook-only"}
# sections with these pieces stay whatever is asked for: warnings, and how numbers were made
NEEDED = re.compile(r"\.(findings|definitions|origin|results)\(")
PIECE = re.compile(r"\.(\w+?)(?:_plot)?\(study")


def arranged(cells: Sequence[Any]) -> list[Any]:
    """The cells, in the sections and the order that the notebook was asked for."""
    rest = [cell for cell in cells if not _own_outputs(cell)]
    if len(rest) == len(cells):
        return rest
    asked: list[str] = []
    own: dict[str, list[Any]] = {}
    for cell in cells:
        for output in _own_outputs(cell):
            asked = output.metadata.get(ASKED, asked)
            if SECTION in output.metadata:
                own.setdefault(output.metadata[SECTION], []).append(_cell(output))
    first, *others = by_heading(rest)
    named = {_name(section): section for section in others}
    chosen = [cell for name in asked for cell in own.get(name) or _find(name, named)]
    ids = {cell.id for cell in chosen}
    needed = [s for s in others if any(NEEDED.search(cell.source) for cell in s)]
    missing = [cell for section in needed for cell in section if cell.id not in ids]
    return [*first, *chosen, *missing]


def own_notebooks(names: Sequence[str]) -> list[str]:
    """The names of notebooks among those of sections. Raises ParameterError for a missing file."""
    notebooks = [name for name in names if name.endswith(NOTEBOOK)]
    for name in notebooks:
        if not Path(name).expanduser().is_file():
            raise ParameterError(f"sections: there is no file {name}")
    return notebooks


def check(cells: Sequence[Any], names: Sequence[str]) -> None:
    """Raise ParameterError for a name that is neither a section nor a piece of the notebook, and
    for a notebook of one's own that does not exist.
    """
    own_notebooks(names)
    _, *sections = by_heading(on_page(cells))
    named = {_name(section): section for section in sections}
    for name in names:
        if not name.endswith(NOTEBOOK) and not _find(name, named):
            hint = did_you_mean(name, named)
            raise ParameterError(
                f"sections: there is no section {name!r}{hint}, there are {', '.join(named)}; a "
                "notebook of your own ends in .ipynb"
            )


def on_page(cells: Iterable[Any]) -> list[Any]:
    """The cells without those of which the page has nothing."""
    return [cell for cell in cells if LEFT_OUT.isdisjoint(cell.metadata.get("tags", []))]


def by_heading(cells: Iterable[Any]) -> Iterator[list[Any]]:
    """Runs of cells, each but the first begun by a markdown cell with a heading."""
    section: list[Any] = []
    for cell in cells:
        if is_heading(cell) and section:
            yield section
            section = []
        section.append(cell)
    yield section


def is_heading(cell: Any) -> bool:
    """True for a markdown cell that begins with a heading."""
    return bool(cell.cell_type == "markdown" and cell.source.lstrip().startswith("#"))


def _name(section: Sequence[Any]) -> str:
    return str(section[0].id.removesuffix("-head"))


def _find(name: str, named: Mapping[str, list[Any]]) -> list[Any]:
    """The section of this name, or the cells that show the piece of this name."""
    if name in named:
        return named[name]
    cells = [cell for section in named.values() for cell in section if cell.cell_type == "code"]
    return [c for c in cells if name in (c.id, *PIECE.findall(c.source))]


def _own_outputs(cell: Any) -> list[Any]:
    """The outputs of `study.own_sections()`, if the cell has any."""
    outputs = cell.get("outputs", [])
    return [output for output in outputs if {ASKED, SECTION} & output.get("metadata", {}).keys()]


def _cell(output: Any) -> Any:
    """A cell of an own section from its output."""
    from nbformat.v4 import new_code_cell, new_markdown_cell

    if set(output.data) == {"text/markdown"}:
        return new_markdown_cell(output.data["text/markdown"])
    return new_code_cell(outputs=[output])
