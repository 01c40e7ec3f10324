"""Sections of an executed notebook: one in which every piece of the page is empty is left out, heading and all."""

from collections.abc import Iterator
from typing import Any

EMPTY = ({"text/html": "", "text/plain": ""}, {"text/html": ""})


def without_empty(cells: list[Any]) -> list[Any]:
    """The cells without those of sections that have pieces and show nothing."""
    return [cell for section in _sections(cells) if not _is_empty(section) for cell in section]


def _sections(cells: list[Any]) -> Iterator[list[Any]]:
    """Runs of cells, each begun by a markdown cell with a heading."""
    section: list[Any] = []
    for cell in cells:
        if _is_heading(cell) and section:
            yield section
            section = []
        section.append(cell)
    yield section


def _is_heading(cell: Any) -> bool:
    return cell.cell_type == "markdown" and cell.source.lstrip().startswith("#")


def _is_empty(section: list[Any]) -> bool:
    """True for a heading whose outputs are all pieces without text; a section without outputs stays."""
    outputs = [output for cell in section for output in cell.get("outputs", [])]
    return bool(outputs) and _is_heading(section[0]) and all(output.get("data") in EMPTY for output in outputs)
