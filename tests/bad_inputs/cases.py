"""The ways in which a table can be bad, each stated on a role and not on a report.

A `Cell` stands in row 3 of the second file; a `Table` changes that file's rows or columns; a `File`
damages its bytes.
"""

import gzip
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

ROW = 3  # the bad one, counted from 1
TEXT = ("csv", "tsv")
TYPED = ("parquet", "jsonl", "frame")
EVERY = (*TEXT, *TYPED)
# a cell is read from TSV as from CSV; what has to do with the separator is tried in both
CELL = (
    "csv",
    *TYPED,
)


@dataclass(frozen=True)
class Case:
    """A way to be bad. role: of the column that is changed; says: patterns that the refusal must
    hold.

    change: of the data frame that is then written, given the column; damage: of the bytes of the
    good file. names_column, names_row: whether there is a column, and a row, to name. pair: only
    bad beside the first file; either: the rows contradict each other, so that either file may be
    named. only: readers that it fits, where the role alone does not tell; but: readers for which
    such a table is a good one; unseen: those for which it is one out of core, where the page
    repeats no such value.
    """

    name: str
    role: str
    says: tuple[str, ...]
    change: Callable[..., pd.DataFrame] | None = None
    damage: Callable[[bytes], bytes] | None = None
    formats: tuple[str, ...] = CELL
    names_column: bool = False
    names_row: bool = False
    pair: bool = False
    either: bool = False
    only: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


# Cells --------------------------------------------------------------------------------------------


def put(table: pd.DataFrame, column: str, row: int, value: Any) -> pd.DataFrame:
    """The table with one cell replaced; `row` counts from 1."""
    values = table[column].astype(object).to_list()
    values[row - 1] = value
    return table.assign(**{column: pd.Series(values, dtype=object)})


NOTHING = "nothing|none|empty|missing"


def cell(role: str, value: Any = None, *, name: str = "", says: str = "", **more: Any) -> Case:
    """A cell of a role that holds what it must not."""

    def change(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
        return put(rows, columns[0], ROW, value)

    name, says = (
        ("empty", NOTHING) if value is None else (name or str(value), says or re.escape(str(value)))
    )
    return Case(f"{role}: {name}", role, (says,), change, names_column=True, names_row=True, **more)


LONG = {"value": "n" * 100_000, "name": "a very long text", "says": "n{20}"}
CELLS = (
    *(
        cell(**asked)
        for asked in tomllib.loads(Path(__file__).with_name("cells.toml").read_text("utf-8"))[
            "cells"
        ]
    ),
    cell("name", **LONG),
    cell("unit", **LONG, but=("binary",), unseen=("forecasts",)),
)


# Rows and columns ---------------------------------------------------------------------------------


def table(
    name: str, role: str, change: Callable[..., pd.DataFrame], *says: str, **more: Any
) -> Case:
    """Rows or columns that are bad together."""
    return Case(name, role, says, change, **more)


def repeated(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The first row again, behind the third."""
    return pd.concat([rows[:ROW], rows[:1], rows[ROW:]], ignore_index=True)


def other(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Another value in row 3 than the other rows with the same id or unit have."""
    value = rows[column][ROW - 1]
    if pd.api.types.is_float_dtype(rows[column]):
        return put(rows, column, ROW, value + 0.5)
    return put(rows, column, ROW, next(other for other in rows[column].unique() if other != value))


def fractions(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Ids with a decimal point: 1.5, 2.5, …"""
    code, _ = pd.factorize(rows[column])
    return rows.assign(**{column: code + 1.5})


TWINS = {"item": ("item_id", "doc_id"), "query": ("query_id", "qid"), "label": ("y_true", "target")}
TWINS |= {"actual": ("y_true", "target")}


def twins(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The column under two other names that it may have."""
    first, second = TWINS[column]
    return rows.rename(columns={column: first}).assign(**{second: rows[column]})


TABLES = (
    table(
        "an id twice",
        "id",
        repeated,
        "twice|again|once|more than",
        but=("queries", "wide values", "independent values", "long values", "features"),
    ),
    table(
        "an id of the other file",
        "id",
        lambda rows, column: put(rows, column, ROW, f"{rows[column][0][0]}1"),
        "twice|again|once|more than",
        only=("trials", "users"),
        pair=True,
    ),
    table(
        "a column missing",
        "needed",
        lambda rows, column: rows.drop(columns=column),
        names_column=True,
        pair=True,
    ),
    table(
        "two columns missing",
        "two needed",
        lambda rows, *columns: rows.drop(columns=list(columns)),
        names_column=True,
        pair=True,
    ),
    table("two columns of one role", "twin", twins, "both"),
    table(
        "a header in capitals",
        "needed",
        lambda rows, column: rows.rename(columns={column: column.upper()}),
        names_column=True,
        pair=True,
        but=("folds",),
    ),
    table(
        "a third team",
        "name",
        lambda rows, column: put(rows, column, ROW, "c"),
        "c",
        names_column=True,
        only=("sessions",),
    ),
    table(
        "ids with a fraction",
        "id",
        fractions,
        "DOUBLE|double|float|text|whole",
        formats=TYPED,
        names_column=True,
    ),
    table(
        "another value of the same id",
        "shared",
        other,
        "differ|one |same|two|several|more than",
        names_column=True,
        pair=True,
        but=("ranked lists",),
    ),
    table(
        "another grade of the same item",
        "shared",
        other,
        "one grade",
        names_column=True,
        either=True,
        pair=True,
        only=("ranked lists",),
    ),
    table(
        "a unit that changes within a query",
        "unit",
        other,
        ("differ|one |same|two|several|more than"),
        names_column=True,
        only=("ranked lists",),
    ),
    table(
        "a group that changes within a query",
        "segment",
        other,
        ("differ|one |same|two|several|more than"),
        names_column=True,
        only=("ranked lists", "sessions"),
    ),
    table(
        "weights that are all 0",
        "weight",
        lambda rows, column: rows.assign(**{column: 0}),
        "0",
        names_column=True,
    ),
    table(
        "a column of nothing",
        "number",
        lambda rows, column: rows.assign(**{column: None}),
        NOTHING + ("|no values?"),
        names_column=True,
    ),
    table(
        "an id of nothing",
        "id",
        lambda rows, column: rows.assign(**{column: None}),
        NOTHING,
        names_column=True,
    ),
    table("no rows", "any", lambda rows: rows[:0], "no rows|empty"),
    table(
        "a line of totals",
        "number",
        lambda rows, column: pd.concat(
            [rows, pd.DataFrame([{name: "Total" if name == column else None for name in rows}])],
            ignore_index=True,
        ),
        "Total|nothing|empty",
        formats=TEXT,
    ),
    table(
        "the header again",
        "number",
        lambda rows, column: pd.concat(
            [
                rows[: ROW - 1].astype(object),
                pd.DataFrame([{name: name for name in rows}]),
                rows[ROW - 1 :].astype(object),
            ],
            ignore_index=True,
        ),
        "must",
        formats=TEXT,
        names_row=True,
    ),
)


# Bytes --------------------------------------------------------------------------------------------


def file(
    name: str,
    damage: Callable[[bytes], bytes],
    *says: str,
    formats: tuple[str, ...] = TEXT,
    **more: Any,
) -> Case:
    """A file whose bytes are bad."""
    return Case(name, "any", says, damage=damage, formats=formats, **more)


def line(change: Callable[[bytes], bytes], row: int = ROW) -> Callable[[bytes], bytes]:
    """A change of one line of a text file; row 0 is the header."""

    def damage(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        return b"".join([*lines[:row], change(lines[row]), *lines[row + 1 :]])

    return damage


def separator(text: bytes) -> bytes:
    """The sign between the cells of a line."""
    return b"\t" if b"\t" in text else b","


def longer(text: bytes) -> bytes:
    """A line with two cells more."""
    return text.rstrip(b"\n") + 2 * (separator(text) + b"7") + b"\n"


def shorter(text: bytes) -> bytes:
    """A line without its last cell."""
    return text.rpartition(separator(text))[0] + b"\n"


def first_cell(change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """A change of the first cell of a line."""

    def changed(text: bytes) -> bytes:
        cell, sign, rest = text.partition(separator(text))
        return change(cell) + sign + rest

    return changed


def doubled_name(text: bytes) -> bytes:
    """A header whose last column has the name of the first."""
    names = text.rstrip(b"\n").split(separator(text))
    return separator(text).join([*names, names[0]]) + b"\n"


def number_of(text: bytes, value: bytes) -> bytes:
    """A line of a TREC file with another score or grade."""
    fields = text.split()
    place = 4 if len(fields) == 6 else 3
    return b" ".join([*fields[:place], value, *fields[place + 1 :]]) + b"\n"


PAGE = b"<!DOCTYPE html>\n<html><body><h1>Sign in</h1></body></html>\n"
FILES = (
    file(
        "an empty file", lambda content: b"", "empty", formats=(*TEXT, "jsonl", "parquet", "trec")
    ),
    file(
        "only blank lines",
        lambda content: b"\n\n\n",
        "empty|no rows|no header|blank|column",
        formats=(*TEXT, "jsonl"),
    ),
    file("a line with more cells", line(longer), "cells|columns|fields|values", names_row=True),
    file("a line with fewer cells", line(shorter), "cells|columns|fields|values", names_row=True),
    file("an open quote", line(first_cell(lambda cell: b'"' + cell)), "quote"),
    file(
        "a byte that is no UTF-8",
        line(first_cell(lambda cell: cell + b"\xff")),
        "UTF-8|utf-8",
        formats=(*TEXT, "trec"),
    ),
    file(
        "a byte in JSON that is no UTF-8",
        line(first_cell(lambda cell: cell + b"\xff")),
        ("broken JSON.*(byte|row)"),
        formats=("jsonl",),
    ),
    file("a NUL in the header", line(first_cell(lambda cell: cell + b"\0"), 0), "NUL"),
    file("a column twice", line(doubled_name, 0), "distinct"),
    file("UTF-16", lambda content: content.decode().encode("utf-16"), "UTF-8|utf-8"),
    file("a page of HTML", lambda content: PAGE, "HTML|header|column|no table|must"),
    file(
        "a picture",
        lambda content: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
        "UTF-8|must|NUL",
    ),
    file(
        "a packed file cut off",
        lambda content: gzip.compress(content)[:-20],
        "gzip|cut|packed|whole|UTF-8|NUL|must",
    ),
    file(
        "Parquet cut off",
        lambda content: content[:-40],
        "complete Parquet file",
        formats=("parquet",),
    ),
    file(
        "Parquet without its middle",
        lambda content: content[:8] + content[-12:],
        "Parquet",
        formats=("parquet",),
    ),
    file(
        "text that is called Parquet",
        lambda content: b"id,label\n1,2\n",
        "Parquet",
        formats=("parquet",),
    ),
    file(
        "JSON with a bracket open",
        line(lambda text: text.rstrip()[:-1] + b"\n"),
        ("broken JSON.*(byte|row)"),
        formats=("jsonl",),
    ),
    file(
        "JSON without a key",
        line(lambda text: b"{}\n"),
        NOTHING + "|lacks|must",
        formats=("jsonl",),
    ),
    file(
        "JSON that is no record",
        line(lambda text: b"[1, 2]\n"),
        "JSON|object|record",
        formats=("jsonl",),
    ),
    file(
        "TREC with a field missing",
        line(lambda text: b" ".join(text.split()[:-2]) + b"\n", ROW - 1),
        "fields",
        formats=("trec",),
        names_row=True,
    ),
    file(
        "TREC with text for a number",
        line(lambda text: number_of(text, b"high"), ROW - 1),
        "high",
        formats=("trec",),
        names_row=True,
    ),
    file(
        "TREC with a decimal comma",
        line(lambda text: number_of(text, b"0,5"), ROW - 1),
        "0,5",
        formats=("trec",),
        names_row=True,
    ),
    file(
        "TREC with an infinite number",
        line(lambda text: number_of(text, b"inf"), ROW - 1),
        "inf",
        formats=("trec",),
        names_row=True,
    ),
    file(
        "TREC with a blank in an item",
        line(lambda text: re.sub(rb" d", b" d ", text), ROW - 1),
        "blank|fields",
        formats=("trec",),
        names_row=True,
    ),
)

CASES = (*CELLS, *TABLES, *FILES)


def fits(case: Case, reader: Any) -> bool:
    """True if the reader has a column of the role and no other reason speaks against it."""
    formats = set(case.formats) & set(reader.formats)
    if case.change is not None and reader.formats == ("trec",):
        return False
    named = not case.only or reader.name in case.only
    columns = case.role == "any" or reader.columns(case.role)
    return bool(formats and named and columns) and reader.name not in case.but
