"""Tables of the page in HTML, from cells or from a data frame."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from evalkit.drawing.cells import Cell, Head, Table, as_cell, breakable_name, escape
from evalkit.drawing.columns import Column, Columns, named
from evalkit.drawing.pieces import Html, folded, stack

LISTED = 200  # rows of a table that someone may still read
UNFOLDED = 30  # rows of a long table that are not folded
LONG = 40  # characters of a row's head: one with more has several lines
BESIDE_FIGURE = 62  # characters of a line that fit beside a figure
BOLD = 2  # characters by which a head is wider than its text: its bold letters and the mark to sort


class EndTags(NamedTuple):
    """What ends a row, a head and a cell of a table in HTML."""

    row: str = "</tr>"
    head: str = "</th>"
    cell: str = "</td>"


ALL_TAGS = EndTags()
TableRows = Sequence[Sequence[Cell | str]]  # rows of a table, each with the content of every column


def table(
    caption: str,
    columns: Sequence[Head],
    rows: TableRows,
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
    note = truncation_note(len(rows), note)
    content = _content(caption, columns, rows[:LISTED], note, marks)
    first_rows = content.rows
    folded_html = ""
    further_rows = content.rows[UNFOLDED:]
    if len(further_rows) >= UNFOLDED // 2:  # fewer are not worth a fold
        first_rows = content.rows[:UNFOLDED]
        further_table = Html(_html(f"{caption}, continued", content.columns, further_rows))
        folded_html = folded(f"{len(further_rows):,} more rows", further_table, "rows").html
    html = _html(caption, content.columns, first_rows, place) + _note_html(content) + folded_html
    return Html(html, content.text, (content,))


def split_table(
    caption: str, columns: Sequence[Head], rows: TableRows, note: str, *, marks: str, widest: int
) -> Html:
    """A table with at most `widest` columns after the first. Of more columns several tables below
    each other, about equally wide: each repeats the first column, and the last has the note.
    """
    first, *heads = columns
    n_tables = math.ceil(len(heads) / widest)
    width = math.ceil(len(heads) / n_tables)
    tables = []
    for start in range(0, len(heads), width):
        end = start + width
        table_heads = [first, *heads[start:end]]
        table_rows = []
        for row_head, *cells in rows:
            table_rows.append([row_head, *cells[start:end]])
        name = caption if start == 0 else f"{caption}, continued"
        note_below = note if end >= len(heads) else ""
        tables.append(table(name, table_heads, table_rows, note_below, marks=marks))
    return stack(tables)


def unlimited_table(caption: str, columns: Sequence[Head], rows: TableRows, note: str = "") -> Html:
    """A table with all its rows, however many: for a fold of its own. It has no end tags, which
    HTML does not need, to be smaller.
    """
    content = _content(caption, columns, rows, note)
    html = _html(caption, content.columns, content.rows, ends=EndTags("", "", ""))
    return Html(html + _note_html(content), content.text, (content,))


def _content(
    caption: str, columns: Sequence[Head], rows: TableRows, note: str, marks: str = ""
) -> Table:
    """The contents of a table, its texts as cells."""
    cells = [list(map(as_cell, row)) for row in rows]
    return Table(caption, list(map(as_cell, columns)), cells, note, marks)


def _note_html(content: Table) -> str:
    """The note below a table in HTML; "" without one."""
    return f'<p class="muted">{escape(content.note)}</p>' if content.note else ""


def truncation_note(rows: int, note: str) -> str:
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
    """A table in its box in HTML. Before the first row of each group stands the group's heading;
    the first cell of a row, its head, names the group, "" for none.

    columns: the heads. place: the id of the box, "" for none. ends: the end tags of rows, heads and
    cells, which HTML allows to leave out.
    """
    head = ""
    for i, column in enumerate(columns):
        head += _start_of_column(column, [row[i] for row in rows]) + ends.head
    body = ""
    group = ""  # of the row before
    for row_head, *cells in rows:
        if row_head.group != group:
            group = row_head.group
            body += _group_heading(group, len(columns))
        inner = "".join(f"{_start_of_cell(cell)}{ends.cell}" for cell in cells)
        body += f"<tr>{_start_of_head(row_head)}{ends.head}{inner}{ends.row}"
    box = f' id="{place}"' if place else ""
    # a table that does not fit beside a figure takes the whole width of the page
    kind = "scroll wide" if _least_width(columns, rows) > BESIDE_FIGURE else "scroll"
    return (
        f'<div class="{kind}"{box}><table class="metrics"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}{ends.row}</thead><tbody>{body}</tbody></table></div>"
    )


def _group_heading(group: str, columns: int) -> str:
    """The row above a group of rows, with its name across all columns, in HTML."""
    # in JupyterLab, which has its own style of tables, it would stand on the right
    heading = f'<th colspan="{columns}" style="text-align: left">{escape(group)}</th>'
    return f'<tr class="group">{heading}</tr>'


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
    return max(len(unbroken) for unbroken in (*cell.text.split(" "), limits))


def _start_of_column(head: Cell, cells: Sequence[Cell]) -> str:
    """The head of a column in HTML, without its end tag; aligned as the cells below it if these are
    all words.
    """
    have_words = [("text" in cell.kind) for cell in cells]
    kind = ""
    if have_words and all(have_words):
        kind = f' class="{cells[0].kind}"'
    return f'<th scope="col"{kind}>{head.markup or breakable_name(head.text)}'


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

    columns: by the head of each column, the function that makes its cells from the rows of the
    frame; or in one text, see `named`. place: the id of the table's box.
    """
    if rows is None or not len(rows):
        return Html("")
    records = rows.head(LISTED).to_dict("records")
    by_head = named(columns) if isinstance(columns, str) else columns
    cells_by_column = [make_cells(records) for make_cells in by_head.values()]
    table_rows = list(zip(*cells_by_column, strict=True))
    return table(caption, list(by_head), table_rows, truncation_note(len(rows), note), place)


def by_system(
    caption: str,
    frame: pd.DataFrame,
    along: str,
    column: Column,
    note: str = "",
    head: Callable[..., Head] = str,
) -> Html:
    """The table of a data frame with a row for each `system`, and a column for each value of the
    column `along`, such as each k. The frame has, for each value, all systems in the same order.

    column: makes the cells of a column from the rows of its value. head: makes its head from the
    value.
    """
    systems = list(dict.fromkeys(frame["system"]))
    heads: list[Head] = ["system"]
    cells_by_column: list[Sequence[Cell | str]] = [systems]
    for value, rows_of_value in frame.groupby(along, sort=False):
        heads.append(head(value))
        cells_by_column.append(column(rows_of_value.to_dict("records")))
    table_rows = list(zip(*cells_by_column, strict=True))
    return table(caption, heads, table_rows, note)
