"""Tables as data frames, and data frames as sheets that run no formula from data."""

import math
import re
from collections.abc import Sequence
from os import PathLike

import pandas as pd

from evalkit.drawing.cells import NUMBER, Cell, Table
from evalkit.drawing.files import path_to_write

SUFFIXES = ("", " low", " high")  # of a column's name in a frame: for a number and its limits
# a number as tables print it, perhaps with its interval: safe in a spreadsheet, although it may
# begin with a sign
SIGNED = re.compile(rf"(?:{NUMBER}|-\d[\d.]*)%?(?: \[(?:{NUMBER})%?, (?:{NUMBER})%?\])?")


def frame(table: Table) -> pd.DataFrame:
    """The table as a data frame: numbers as numbers, an interval in two further columns, other text
    of a cell with a number in a column of notes.

    >>> rows = [
    ...     [Cell("a"), Cell("+1,204", "[−3, 2,411]", numbers=(1204, -3, 2411))],
    ...     [Cell("b"), Cell("–")],
    ... ]
    >>> frame(Table("", [Cell("system"), Cell("cost")], rows)).iloc[0].to_dict()
    {'system': 'a', 'cost': 1204.0, 'cost low': -3.0, 'cost high': 2411.0}
    """
    columns: dict[str, list[float | str]] = {}
    for i, head in enumerate(table.columns):
        cells = [row[i] for row in table.rows]
        columns |= _frame_columns(head.full_text, cells)
    return pd.DataFrame(columns)


def _frame_columns(name: str, cells: Sequence[Cell]) -> dict[str, list[float | str]]:
    """The columns of a frame that one column of a table gives: NAME; NAME low and NAME high, if a
    cell has limits; NAME note, if a cell with a number has further texts. cells: one per row.
    """
    # 1: texts or numbers alone; 3: a cell has a number and its two limits
    n_columns = max((len(cell.numbers) for cell in cells), default=0) or 1
    values_by_row = [_values(cell, n_columns) for cell in cells]
    columns: dict[str, list[float | str]] = {}
    for i, suffix in enumerate(SUFFIXES[:n_columns]):
        columns[f"{name}{suffix}"] = [values[i] for values in values_by_row]
    notes = [_note(cell) for cell in cells]
    if any(notes):
        columns[f"{name} note"] = list(notes)
    return columns


def _values(cell: Cell, n_columns: int) -> list[float | str]:
    """The values that a cell gives for `n_columns` columns of a frame: its numbers, or in the first
    column its text; NaN in the columns for which it has nothing.
    """
    values: list[float | str] = list(cell.numbers)
    if not values:
        if cell.text == "–":  # how tables print a missing number
            values = [math.nan]
        elif n_columns == 1:
            values = [cell.full_text]
        else:  # among numbers with limits, the text without what stands beside and below it
            values = [cell.text]
    n_missing = n_columns - len(values)
    return values + [math.nan] * n_missing


def _note(cell: Cell) -> str:
    """The texts beside and below a number; "" for a cell without a number."""
    if not cell.numbers:
        return ""
    return " ".join(filter(None, [cell.beside, *cell.below]))


def escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with an apostrophe before each text that a spreadsheet would run as a formula;
    numbers printed as text have none.
    """
    return table.map(_without_formula).rename(columns=_without_formula)


def _without_formula(value: object) -> object:
    """A value of a frame, with an apostrophe before it if a spreadsheet would run it."""
    if not isinstance(value, str):
        return value
    is_formula = value.startswith(tuple("=+-@\t\r")) and not SIGNED.fullmatch(value)
    return f"'{value}" if is_formula else value


def workbook(frames: Sequence[pd.DataFrame], path: str | PathLike[str]) -> None:
    """Write the frames as the sheets of an Excel workbook.

    Raises ImportError without openpyxl; otherwise as `path_to_write`.
    """
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise ImportError("to_excel needs the package openpyxl: pip install openpyxl") from None
    with pd.ExcelWriter(path_to_write(path), engine="openpyxl") as writer:
        for number, table in enumerate(frames, start=1):
            escape_formulas(table).to_excel(writer, sheet_name=f"table {number}", index=False)
