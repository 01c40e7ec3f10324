"""Tables of the page in HTML, from cells or from a data frame."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from evalkit.drawing.cells import Cell, Head, Table, breaking, cell, escape
from evalkit.drawing.columns import Column, Columns, named
from evalkit.drawing.pieces import Html, folded, stack

LISTED = 200  # rows of a table that someone may still read
UNFOLDED = 30  # rows of a long table that are not folded
LONG = 40  # characters of a row's head: one with more has several lines
HALF = 62  # characters of a line that fit beside a figure
BOLD = 2  # characters by which a head is wider than its text: its bold letters and the mark to sort


class EndTags(NamedTuple):
    """What ends a row, a head and a cell of a table in HTML."""

    row: str = "</tr>"
    head: str = "</th>"
    cell: str = "</td>"


ALL_TAGS = EndTags()
Lines = Sequence[Sequence[Cell | str]]


def table(
    caption: str,
    columns: Sequence[Head],
    rows: Lines,
    note: str = "",
    place: str = "",
    *,
    marks: str = "",
) -> Html:
    """A table in a box that scrolls on a phone; its first `LISTED` rows, of which those after
    `UNFOLDED` are folded.

    The first cell of a row is its head. place: the id of the box. marks: the meaning of the marks
    of cells, which only a printed table shows.
    """
    content = _content(caption, columns, rows[:LISTED], note_of_first(len(rows), note), marks)
    unfolded = content.rows
    fold = ""
    further_rows = content.rows[UNFOLDED:]
    if len(further_rows) >= UNFOLDED // 2:  # fewer are not worth a fold
        unfolded = content.rows[:UNFOLDED]
        inner = _html(f"{caption}, continued", content.columns, further_rows)
        fold = folded(f"{len(further_rows):,} more rows", Html(inner), "rows").html
    html = _html(caption, content.columns, unfolded, place)
    return Html(html + _note_html(content) + fold, content.text, (content,))


def split_table(
    caption: str, columns: Sequence[Head], rows: Lines, note: str, *, marks: str, widest: int
) -> Html:
    """A table with at most `widest` columns behind the first, or several below each other that each
    have the first column and their share of the others.
    """
    first, *heads = columns
    number = math.ceil(len(heads) / widest)
    width = math.ceil(len(heads) / number)
    parts = []
    for start in range(0, len(heads), width):
        part_rows = [[row[0], *row[1 + start :][:width]] for row in rows]
        part_heads = [first, *heads[start : start + width]]
        name = caption if start == 0 else f"{caption}, continued"
        is_last = start + width >= len(heads)
        parts.append(table(name, part_heads, part_rows, note if is_last else "", marks=marks))
    return stack(parts)


def unlimited_table(caption: str, columns: Sequence[Head], rows: Lines, note: str = "") -> Html:
    """A table with all its rows, however many: for a fold of its own. It has no end tags, which
    HTML does not need, to be smaller.
    """
    content = _content(caption, columns, rows, note)
    html = _html(caption, content.columns, content.rows, ends=EndTags("", "", ""))
    return Html(html + _note_html(content), content.text, (content,))


def _content(
    caption: str, columns: Sequence[Head], rows: Lines, note: str, marks: str = ""
) -> Table:
    """The contents of a table, its texts as cells."""
    heads = [cell(head) for head in columns]
    cells = [[cell(value) for value in row] for row in rows]
    return Table(caption, heads, cells, note, marks)


def _note_html(content: Table) -> str:
    """The note below a table in HTML; "" without one."""
    return f'<p class="muted">{escape(content.note)}</p>' if content.note else ""


def note_of_first(rows: int, note: str) -> str:
    """The note of a table of so many rows; if these are more than `LISTED`, it says that only the
    first are shown.
    """
    if rows > LISTED:
        return f"The first {LISTED} of {rows:,} rows; the JSON holds all. {note}".strip()
    return note


def _html(
    caption: str,
    columns: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    place: str = "",
    ends: EndTags = ALL_TAGS,
) -> str:
    """A table in its box in HTML. Before the first row of each group stands the group's heading.

    place: the id of the box.
    """
    head = ""
    for i, column in enumerate(columns):
        is_text = bool(rows) and all("text" in row[i].kind for row in rows)
        kind = f' class="{rows[0][i].kind}"' if is_text else ""
        head += f'<th scope="col"{kind}>{column.markup or breaking(column.text)}{ends.head}'
    body = []
    group = ""
    for first, *others in rows:
        if first.group != group:
            group = first.group
            span = len(others) + 1
            # in JupyterLab, which has its own style of tables, it would stand on the right
            heading = f'<th colspan="{span}" style="text-align: left">{escape(group)}</th>'
            body.append(f'<tr class="group">{heading}</tr>')
        cells = "".join(f"{_start_of_cell(other)}{ends.cell}" for other in others)
        body.append(f"<tr>{_start_of_head(first)}{ends.head}{cells}{ends.row}")
    inner = (
        f"<caption>{escape(caption)}</caption><thead><tr>{head}{ends.row}</thead>"
        f"<tbody>{''.join(body)}</tbody>"
    )
    box = f' id="{place}"' if place else ""
    kind = "scroll wide" if _least_width(columns, rows) > HALF else "scroll"
    return f'<div class="{kind}"{box}><table class="metrics">{inner}</table></div>'


def _least_width(columns: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> int:
    """The characters of a line of the table where every cell that may break does so."""
    width = 0
    for head, *cells in zip(columns, *rows, strict=True):
        widths = [_longest_part(cell) for cell in cells]
        width += max([_longest_part(head) + BOLD, *widths])
    return width


def _longest_part(cell: Cell) -> int:
    """The characters of the longest part of a cell that stays on one line."""
    limits = cell.limits or ""
    if "one" in cell.kind:
        return len(f"{cell.text} {limits}")
    return max(map(len, [*cell.text.split(" "), limits]))


def _start_of_head(cell: Cell) -> str:
    """The head of a row in HTML, without its end tag."""
    long = ' class="long"' if len(cell.full_text) > LONG else ""
    return f'<th scope="row"{long}>{cell.html}'


def _start_of_cell(cell: Cell) -> str:
    """A cell in HTML, without its end tag; the best value is bold also where the style of the page
    is missing, as in JupyterLab.
    """
    kind = f' class="{cell.kind}"' if cell.kind else ""
    html = f"<b>{cell.html}</b>" if cell.kind == "lead" else cell.html
    return f"<td{kind}>{html}"


def of_rows(
    caption: str, rows: pd.DataFrame | None, columns: Columns, note: str = "", place: str = ""
) -> Html:
    """The table of a data frame; an empty piece if it has no rows.

    columns: the cells of each column by its head; or in one text, see `named`. place: the id of its
    box.
    """
    if rows is None or not len(rows):
        return Html("")
    records = rows.head(LISTED).to_dict("records")
    by_head = named(columns) if isinstance(columns, str) else columns
    cells = [column(records) for column in by_head.values()]
    table_rows = list(zip(*cells, strict=True))
    return table(caption, list(by_head), table_rows, note_of_first(len(rows), note), place)


def by_system(
    caption: str, frame: pd.DataFrame, along: str, column: Column, note: str = "", head: Any = str
) -> Html:
    """The table of a data frame with a row for each `system`, and a column for each value of the
    column `along`; each value has all systems, in the same order.

    column: the cells of a column from the rows of its value. head: the head from the value.
    """
    values = list(dict.fromkeys(frame[along]))
    cells = [column(part.to_dict("records")) for _, part in frame.groupby(along, sort=False)]
    rows = list(zip(dict.fromkeys(frame["system"]), *cells, strict=True))
    return table(caption, ["system", *map(head, values)], rows, note)
