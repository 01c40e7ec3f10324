"""Text tables read by DuckDB: with a delimiter, with a header or without one; JSON lines, or one JSON file of rows.

JSON is read as JSON values: DuckDB's own types would rewrite ids that look like dates, UUIDs or large numbers.
"""

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.arrays import InputError
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import duck
from evalkit.reading.tables.duck import DUCKDB
from evalkit.reading.tables.parts import IDS, PACKED, Frames, Selection, TextFile, stamp

TAIL = 10_000  # bytes at the end of a file in which its last lines stand
DELIMITERS = ",\t;|"
GROUPED, POINT = (
    r"[-+]?(\d{1,3}|[1-9]\d{0,2}([.]\d{3})+)",
    "%.%",
)  # thousands, as one and all cells of a column have them
COMMAS, COMMA = r"[-+]?(\d{1,3}([.]\d{3})*|\d+)(,\d+)?", "%,%"  # the same with decimal commas


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

    def check(self, selection: Selection) -> None:
        """Raise InputError if a column of numbers seems to group thousands by dots, as 1.234 beside decimal commas."""
        others = [name for name in self.own if name not in selection.numbers.values()]
        if self.delimiter != ";" or not others:
            return
        forms = dict.fromkeys(others, (COMMAS, COMMA)) | {
            name: (GROUPED, POINT) for name in selection.numbers.values() if name in self.own
        }
        cells = (
            f"max({name}) FILTER ({name} LIKE '{mark}') || if(bool_and(regexp_full_match({name}, '{form}')), '', NULL)"
            for name, (form, mark) in ((DUCKDB.quote(name), form) for name, form in forms.items())
        )
        source, frames = self._source((), (), "")
        found = duck.sql(f"SELECT {', '.join(cells)} FROM {source}", self.name, **frames).to_pydict().values()
        seen = {name: cell for name, (cell,) in zip(forms, found, strict=True) if cell is not None}
        commas = [name for name in others if name in seen]
        for name in selection.numbers.values():
            if name in seen and commas:
                raise InputError(
                    f"{self.name}: {name} must be written alike in the whole file, got {seen[name]!r} beside the "
                    f"decimal commas of {commas[0]}, {seen[commas[0]]!r}; write 1234.5, with a point and no groups"
                )


@dataclass(frozen=True, eq=False, kw_only=True)
class Headless(Csv):
    """A table whose first line is a row; its columns are called 1, 2, 3, …"""

    header: ClassVar[str] = "false"


def opened(path: Path, header: str | None) -> Csv:
    """The table; raises InputError where its first line holds no names, or one twice."""
    cells, delimiter = _first_line(path)
    where = duck.shown(path)
    _refuse_total(path, delimiter)
    if header == NO_HEADER:
        names = tuple(str(i) for i in range(1, len(cells) + 1))
        return Headless(name=where, columns=names, own=names, delimiter=delimiter, path=path, stamp=stamp(path))
    names = tuple(name or f"column {i}" for i, name in enumerate(cells, start=1))
    try:
        return Csv(name=where, columns=names, own=names, delimiter=delimiter, path=path, stamp=stamp(path))
    except InputError as error:
        raise InputError(f"{error}{roles_of.no_header(names)}") from None


def _refuse_total(path: Path, delimiter: str) -> None:
    """Raise InputError for a last line of totals, whose first cell is a word such as Total, and no other one's."""
    if path.suffix.lower() not in PACKED:
        with path.open("rb") as file:
            file.seek(-min(TAIL, file.seek(0, 2)), 2)
            lines = file.read().decode(errors="replace").split("\n")[1:]
        cells = [cell for line in lines if (cell := line.split(delimiter)[0].strip('" \r'))][-2:]
        if cells and cells[0] != cells[-1] and re.search(roles_of.SUMMARY, cells[-1], re.IGNORECASE):
            raise InputError(
                f"{duck.shown(path)}: every line must be a row of its own, got {cells[-1]!r} in the last one, which "
                "sums up the others; remove it"
            )


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


# JSON lines -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class JsonLines(TextFile):
    """A file of JSON objects, one a row."""

    nested: ClassVar[bool] = True

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> tuple[str, Frames]:
        types = ", ".join(f"{DUCKDB.literal(name)}: 'JSON'" for name in columns)
        return _from(self.path, f"columns={{{types}}}"), {}

    def check(self, selection: Selection) -> None:
        """Raises InputError for the first id that is neither text nor a whole number."""
        for column in (column for role, column in selection.text.items() if role in IDS and column not in self.folders):
            value = DUCKDB.plain(column, "JSON")
            other = f"json_type({DUCKDB.quote(column)}) NOT IN ('VARCHAR', 'BIGINT', 'UBIGINT')"
            if row := selection.first(value, f"{other} AND NOT regexp_full_match({value}, '-?[0-9]+')"):
                raise InputError(
                    f"{self.name}: {column} must be text or a whole number, got {row[1][:80]} (row {row[0]})"
                )


def opened_json(path: Path, header: str | None) -> JsonLines:
    """The file with the columns that any of its rows has."""
    where = duck.shown(path)
    described = duck.sql(f"DESCRIBE SELECT * FROM {_from(path, 'sample_size=-1')}", where)
    names = tuple(described["column_name"].to_pylist())
    if names == ("json",):  # what DuckDB calls the values of a file whose rows are not all objects, or that has none
        if not duck.start(path).strip():
            raise InputError(f"{where}: the file has only blank lines")
        raise InputError(f'{where}: every row must be a JSON object, such as {{"id": 1}}, got other values')
    return JsonLines(name=where, columns=names, path=path, stamp=stamp(path))


def _from(path: Path, kinds: str) -> str:
    form = "auto" if ".json" in path.suffixes else "newline_delimited"
    return f"read_json({duck.pattern(path)}, format='{form}', {kinds}, hive_partitioning=false)"
