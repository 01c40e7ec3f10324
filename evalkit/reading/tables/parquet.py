"""Parquet files read straight by Arrow where their columns are what is wanted already: no query, no copy of the texts.

Types that need SQL to become text or doubles (decimals, times, texts that hold numbers) are left to DuckDB.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.arrays import InputError
from evalkit.reading.tables import duck
from evalkit.reading.tables.parts import File, Frames, Selection, stamp

# Their dictionaries hold a text once; of one that does not Arrow would take other texts, without a word.
WRITERS = ("parquet-cpp", "parquet-mr", "parquet-rs", "duckdb", "polars", "fastparquet")


@dataclass(frozen=True, eq=False, kw_only=True)
class Parquet(File):
    """A Parquet file, read by Arrow where it can be, else by DuckDB."""

    @property
    def counted(self) -> int:
        return rows(self.path)

    @property
    def stored(self) -> Mapping[str, str]:
        return {field.name: str(field.type) for field in types(self.path)}

    @property
    def directions(self) -> Mapping[str, str]:
        return directions(types(self.path))

    def explain(self, selection: Selection) -> None:
        super().explain(selection)
        raise duck.no_parquet(self.name) from None

    def _read(self, text: Mapping[str, str], numbers: Mapping[str, str], coded: Collection[str]) -> dict[str, Any]:
        plain = self.folders.keys().isdisjoint([*text.values(), *numbers.values()])
        columns = read(self.path, text, numbers, coded) if plain else None
        return columns or super()._read(text, numbers, coded)

    def _types(self, source: str, frames: Frames) -> Mapping[str, str]:
        """As DuckDB has them, but for durations, which it takes for whole numbers."""
        durations = [name for name, kind in self.stored.items() if kind.startswith("duration")]
        return {**super()._types(source, frames), **dict.fromkeys(durations, "INTERVAL")}

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> tuple[str, Frames]:
        return _from(self.path), {}


def opened(path: Path, header: str | None = None) -> Parquet:
    """The file; raises InputError where it is not whole, or two columns have one name."""
    where, names = duck.shown(path), types(path).names
    if "" in names:  # DuckDB names what has no name
        names = _names_by_duck(path, where)
    return Parquet(name=where, columns=tuple(names), path=path, stamp=stamp(path))


def _names_by_duck(path: Path, where: str) -> list[str]:
    try:
        return list(duck.sql(f"DESCRIBE SELECT * FROM {_from(path)}", where)["column_name"].to_pylist())
    except InputError:
        raise duck.no_parquet(where) from None


def _from(path: Path) -> str:
    return f"read_parquet({duck.pattern(path)}, hive_partitioning=false)"


def rows(path: Path) -> int:
    """How many rows the file has."""
    return int(_metadata(path).num_rows)


def read(
    path: Path, text: Mapping[str, str], numbers: Mapping[str, str], coded: Collection[str] = ()
) -> dict[str, Any] | None:
    """The columns by role, text and doubles; None where a column is of a type that needs SQL.

    coded: roles of text that come as Arrow dictionaries. Raises InputError for text that is not UTF-8 and for a file
    that is broken.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata, kinds = _metadata(path), {field.name: field.type for field in types(path)}
    wanted = list(dict.fromkeys([*text.values(), *numbers.values()]))
    if not all(
        name in kinds and kind(kinds[name])
        for kind, some in ((_text, text), (_number, numbers))
        for name in some.values()
    ):
        return None
    dictionaries = [text[role] for role in coded if role in text and pa.types.is_string(kinds[text[role]])]
    if not str(metadata.created_by).lower().startswith(WRITERS):
        dictionaries = []
    try:
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=dictionaries) as file:
            table = file.read(columns=wanted)
    except _errors():
        raise duck.no_parquet(duck.shown(path)) from None
    columns = {name: _whole(table[name]) for name in wanted}
    by_role = {role: _as_text(columns[name], name, path, as_codes=role in coded) for role, name in text.items()}
    for name in dictionaries:
        _check_codes(columns[name], path)
    return by_role | {role: columns[name].cast(pa.float64(), safe=False) for role, name in numbers.items()}


def _whole(column: Any) -> Any:
    """The column as one array; `combine_chunks` copies one chunk as well."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def types(path: Path) -> Any:
    """The Arrow schema."""
    try:
        return _metadata(path).schema.to_arrow_schema()
    except _errors():
        raise duck.no_parquet(duck.shown(path)) from None


def directions(schema: Any) -> Mapping[str, str]:
    """Which values of each metric are better, where evalkit wrote the units of a report."""
    about = json.loads((schema.metadata or {}).get(b"evalkit", b"{}"))
    return {row["metric"]: row["best"] for row in about.get("metrics", [])}


def _metadata(path: Path) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(path)
    except _errors():
        raise duck.no_parquet(duck.shown(path)) from None


def _errors() -> tuple[type[Exception], ...]:
    """What Arrow raises of a file that is broken; a column's name that is not UTF-8 is a ValueError."""
    import pyarrow as pa

    return pa.ArrowException, ValueError, OSError


def _check_codes(column: Any, path: Path) -> None:
    """Raises InputError where a code has no text."""
    try:
        column.validate(full=True)
    except _errors():
        raise duck.no_parquet(duck.shown(path)) from None


def _text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind)


def _number(kind: Any) -> bool:
    from pyarrow import types

    return types.is_float32(kind) or types.is_float64(kind) or types.is_integer(kind) or types.is_boolean(kind)


def _as_text(column: Any, name: str, path: Path, *, as_codes: bool) -> Any:
    import pyarrow as pa

    if pa.types.is_integer(column.type) and as_codes:
        encoded = column.dictionary_encode()  # a few texts are made, not one a row
        return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(pa.string()))
    if pa.types.is_integer(column.type):
        return column.cast(pa.string())
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    if not ascii_only(texts):
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            raise InputError(f"{duck.shown(path)}: {name} must be UTF-8 text, other bytes found") from None
    return column


def ascii_only(texts: Any) -> bool:
    """Whether an Arrow array of text holds none but ASCII characters."""
    import numpy as np

    content = texts.buffers()[2]
    return content is None or not content.size or int(np.frombuffer(content, np.int8).min()) >= 0
