"""Columns of tables that are made from the rows of a data frame."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from evalkit.arrays import Record
from evalkit.drawing.cells import Cell, interval_cell, minus, number_cell, p_cell
from evalkit.numbers import Show, decimals, number, signed_number, thousands

Rows = Sequence[Record]  # of a frame, each by column
Column = Callable[[Rows], Sequence[Cell | str]]  # from all rows to the cells of a column
Columns = Mapping[str, Column] | str  # by the head of each; or in one text, see `named`
NumberColumn = Callable[[Rows], list[Cell]]  # a column of numbers


def column_by_row(make: Callable[[Record], Cell | str]) -> Column:
    """A column whose cells are made row by row: `make` returns the cell of a row."""
    return partial(_cells_of_rows, make)


def _cells_of_rows(make: Callable[[Record], Cell | str], rows: Rows) -> list[Cell | str]:
    """The cell of each row."""
    return [make(row) for row in rows]


def text(name: str, show: Callable[..., str] = str) -> Column:
    """A column of texts, from the column `name` of the frame. show: writes a value."""
    return column_by_row(lambda row: show(row[name]))


def count(name: str, show: Callable[..., str] = thousands) -> Column:
    """A column of counts, from the column `name` of the frame. show: writes a count."""

    def count_cell(row: Record) -> Cell:
        """The cell of the count in a row."""
        n = row[name]
        return Cell(show(n), numbers=(n,))

    return column_by_row(count_cell)


def p_column(name: str) -> Column:
    """A column of p-values."""
    return column_by_row(lambda row: p_cell(row[name]))


def words(name: str) -> Column:
    """A left-aligned column of words, from the column `name` of the frame."""

    def cell_of_words(row: Record) -> Cell:
        """The cell of the words in a row."""
        return Cell(str(row[name]), kind="text")

    return column_by_row(cell_of_words)


@column_by_row
def pair(row: Record) -> Cell:
    """The heads of rows that compare two systems: "first − second"."""
    return minus(row["first"], row["second"])


def value(name: str, show: Show = number) -> NumberColumn:
    """A column of numbers, all with the same decimals. show: writes a number."""
    return partial(_number_cells, name=name, show=show)


def _number_cells(rows: Rows, name: str, show: Show) -> list[Cell]:
    """The cells of the numbers in column `name`."""
    places = decimals(row[name] for row in rows)
    return [number_cell(row[name], places, show) for row in rows]


def limits(name: str, low: str = "low", high: str = "high", show: Show = number) -> NumberColumn:
    """A column of numbers with their intervals, all with the same decimals.

    name, low, high: columns of the frame. show: writes a number.
    """
    return partial(_interval_cells, name=name, low=low, high=high, show=show)


def _interval_cells(rows: Rows, name: str, low: str, high: str, show: Show) -> list[Cell]:
    """The cells of the numbers in column `name` with their limits."""
    values = [row[name] for row in rows]
    places = decimals(values, [row[low] for row in rows], [row[high] for row in rows])
    return [interval_cell(row[name], row[low], row[high], show, places) for row in rows]


def prefixed_interval_column(name: str, show: Show = number) -> NumberColumn:
    """A column of numbers with their intervals, which the frame has as NAME_low and NAME_high."""
    return limits(name, f"{name}_low", f"{name}_high", show)


KINDS: dict[str, Callable[[str], Column]] = {
    "": text,
    "w": words,
    "#": value,
    "±": partial(value, show=signed_number),
    "[]": limits,
    "±[]": partial(limits, show=signed_number),
    "[_]": prefixed_interval_column,
    "n": count,
    "i": partial(count, show=str),
    "p": p_column,
    "%": partial(text, show="{:.0%}".format),
}


def named(columns: str, **kinds: Callable[[str], Column]) -> dict[str, Column]:
    """Columns by their heads, from a text "head = name kind | head = name kind"; without a head the
    name is used.

    name: a column of the frame. kind: none, a text; w, words, left-aligned; #, a number; ±, one
    with its sign; [] and ±[], with the limits low and high; [_], with the limits NAME_low and
    NAME_high; n, a count; i, one without grouping; p, a p-value; %, a percentage. kinds: further
    kinds, from the name to the column.
    """
    all_kinds = KINDS | kinds
    by_head = {}
    for column in columns.split("|"):
        head, _, name_and_kind = column.rpartition("=")
        name, _, kind = name_and_kind.strip().partition(" ")
        by_head[head.strip() or name] = all_kinds[kind.strip()](name)
    return by_head
