"""Text tables with a delimiter, with a header or without one, read strictly by DuckDB."""

import csv
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.arrays import InputError
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import columns, duck
from evalkit.reading.tables.dialects import DUCKDB
from evalkit.reading.tables.parts import Frames, Selection, TextFile, stamp

DELIMITERS = ",\t;|"


@dataclass(frozen=True, eq=False, kw_only=True)
class Csv(TextFile):
    """A table whose first line holds the column names. own: the columns of the file itself, in its order."""

    own: tuple[str, ...]
    delimiter: str
    header: ClassVar[str] = "true"

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> tuple[str, Frames]:
        types = ", ".join(f"{DUCKDB.literal(n)}: '{'DOUBLE' if n in numbers else 'VARCHAR'}'" for n in self.own)
        form = f"header={self.header}, auto_detect=false, delim={DUCKDB.literal(self.delimiter)}"
        strict = "quote='\"', escape='\"', nullstr='', strict_mode=true, hive_partitioning=false"
        return f"read_csv({duck.pattern(self.path)}, {form}, {strict}, columns={{{types}}})", {}

    def explain(self, selection: Selection) -> None:
        """DuckDB itself names the line."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Headless(Csv):
    """A table whose first line is a row; its columns are called 1, 2, 3, …"""

    header: ClassVar[str] = "false"


def opened(path: Path, header: str | None) -> Csv:
    """The table; raises InputError where its first line holds no names, or one twice."""
    cells, delimiter = _first_line(path)
    where = duck.shown(path)
    if header == NO_HEADER:
        names = tuple(str(i) for i in range(1, len(cells) + 1))
        return Headless(name=where, columns=names, own=names, delimiter=delimiter, path=path, stamp=stamp(path))
    names = tuple(name or f"column {i}" for i, name in enumerate(cells, start=1))
    try:
        return Csv(name=where, columns=names, own=names, delimiter=delimiter, path=path, stamp=stamp(path))
    except InputError as error:
        raise InputError(f"{error}{columns.no_header(names)}") from None


def _first_line(path: Path) -> tuple[list[str], str]:
    """The cells of the first line, and the delimiter: the one it holds most of."""
    first = duck.start(path).split(b"\n", 1)[0]
    try:
        line = first.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError as error:
        byte = first[error.start]
        raise InputError(f"{duck.shown(path)}: must be UTF-8 text, got byte 0x{byte:02x} (line 1)") from None
    if not line.strip() or "\r" in line or line.count('"') % 2:
        wrong = "is empty" if not line.strip() else "holds a carriage return" if "\r" in line else "has an open quote"
        raise InputError(f"{duck.shown(path)}: the first line must hold the column names, but it {wrong}")
    delimiter = max(DELIMITERS, key=line.count)
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter))], delimiter
