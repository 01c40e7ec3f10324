"""JSON lines, or one JSON file of rows, read by DuckDB as JSON values: its own types would rewrite ids that look like
dates, UUIDs or large numbers.
"""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from evalkit.arrays import InputError
from evalkit.reading.tables import duck
from evalkit.reading.tables.dialects import DUCKDB
from evalkit.reading.tables.parts import IDS, Frames, Selection, TextFile, stamp


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


def opened(path: Path, header: str | None) -> JsonLines:
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
