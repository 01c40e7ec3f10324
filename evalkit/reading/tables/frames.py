"""Data frames of pandas, polars and Arrow, by the Arrow PyCapsule interface, and Arrow record batches.

Batches, of an iterator or of a reader such as a database client's, can be read only once and need not fit into memory:
they go to a Parquet file in the temporary folder first.
"""

import re
import shutil
import warnings
import weakref
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from evalkit import scratch
from evalkit.arrays import InputError
from evalkit.reading.tables import parquet
from evalkit.reading.tables.dialects import DUCKDB, Dialect
from evalkit.reading.tables.parquet import Parquet
from evalkit.reading.tables.parts import IDS, Frames, Part, Selection, Source, stamp

NAME, BATCHES = "data frame", "record batches"
PLAIN = {  # Arrow's types that DuckDB has too, by its own name
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "halffloat": "FLOAT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame(Part):
    """A data frame as an Arrow table.

    halves: columns that were float16, held as float32: DuckDB has no float16. mixed: columns of texts and numbers, held
    as text.
    """

    table: Any
    halves: tuple[str, ...] = ()
    mixed: Collection[str] = ()
    unnamed: ClassVar[bool] = True
    without_rows: ClassVar[str] = "the frame has columns and no rows"

    @property
    def counted(self) -> int:
        return len(self.table)

    @property
    def stored(self) -> Mapping[str, str]:
        kinds = {name: str(kind) for name, kind in zip(self.table.column_names, self.table.schema.types, strict=True)}
        return kinds | dict.fromkeys(self.halves, "halffloat")

    @property
    def directions(self) -> Mapping[str, str]:
        return parquet.directions(self.table.schema)

    def select(
        self, text: Mapping[str, str], numbers: Mapping[str, str], dialect: Dialect = DUCKDB, frame: str = "frame"
    ) -> Selection:
        if both := [column for role, column in text.items() if role in IDS and column in self.mixed]:
            raise InputError(f"{self.name}: {both[0]} must hold ids as text or whole numbers, got both in one column")
        return super().select(text, numbers, dialect, frame)

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> tuple[str, Frames]:
        return frame, {frame: self.table}

    def _types(self, source: str, frames: Frames) -> Mapping[str, str]:
        """The columns of an empty frame may have any type; DuckDB is asked only for types that are not plain."""
        if not self.rows:
            return dict.fromkeys(self.columns, "VARCHAR")
        kinds = {name: PLAIN.get(str(kind)) for name, kind in self.stored.items()}
        known = {name: kind for name, kind in kinds.items() if kind}
        folders = dict.fromkeys(self.folders, "VARCHAR")
        return known | folders if len(known) == len(kinds) else super()._types(source, frames)


def part_of(data: Any) -> Part:
    """The frame, or in a file the batches of an iterator or an Arrow reader; raises InputError for anything else."""
    return _batches(data) if isinstance(data, Iterator) or type(data).__name__ == "RecordBatchReader" else _frame(data)


def _frame(data: Any) -> Frame:
    """The frame; raises InputError for what is none, cannot be read, or has one name twice."""
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        kinds, got = "pandas, polars, Arrow, Spark", type(data).__name__
        arrays = "; give arrays as a dict of columns" if hasattr(data, "__array__") else ""
        raise InputError(f"data must be a path, a list of paths or a data frame ({kinds}), got {got}{arrays}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The DataFrame has column names of mixed type")
            table, mixed = _table(_without_intervals(data))
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        why = "; ".join(str(argument).splitlines()[0] for argument in error.args)
        raise InputError(f"the frame cannot be read: {why}") from None
    stated = table.schema.metadata
    kept = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    table = table.select(kept) if len(kept) < table.num_columns else table  # pandas' own index has no name
    names = [str(name) or f"column {i}" for i, name in enumerate(table.column_names, start=1)]
    table = table.rename_columns(names)
    halves = tuple(name for name, kind in zip(names, table.schema.types, strict=True) if kind == pa.float16())
    types = [pa.float32() if name in halves else kind for name, kind in zip(names, table.schema.types, strict=True)]
    table = table.cast(pa.schema(list(zip(names, types, strict=True)))).replace_schema_metadata(stated)
    return Frame(name=NAME, columns=tuple(names), table=table, halves=halves, mixed=mixed)


class _Folder:
    """A temporary folder that is removed when nobody needs this any more, at the latest with the process."""

    def __init__(self) -> None:
        self.path = scratch.new_folder()
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches(Parquet):
    """Record batches in a Parquet file of ours."""

    folder: _Folder
    unnamed: ClassVar[bool] = True

    def fingerprint(self, rows: int) -> Source:
        return Source(self.name, rows)


def _is_pandas(data: Any) -> bool:
    """True for a pandas frame whose columns have distinct names."""
    return type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns") and data.columns.is_unique


def _without_intervals(data: Any) -> Any:
    """The frame with pandas' intervals, such as those of `pandas.cut`, as text: DuckDB does not survive them."""
    if not _is_pandas(data):
        return data
    types = {name: getattr(getattr(kind, "categories", None), "dtype", kind) for name, kind in data.dtypes.items()}
    intervals = [name for name, kind in types.items() if str(kind).startswith("interval")]
    texts = {name: data[name].astype(object).map(str, na_action="ignore") for name in intervals}
    return data.assign(**{str(name): text for name, text in texts.items()}) if texts else data


def _mixed(data: Any) -> list[str]:
    """The columns of a pandas frame that hold texts and numbers, which Arrow does not take; none of another frame."""
    if not _is_pandas(data):
        return []
    objects = [name for name in data.columns if isinstance(name, str) and data[name].dtype == object]
    return [name for name in objects if {str} < {*data[name].dropna().map(type)} <= {str, int, float, bool}]


def _table(data: Any) -> tuple[Any, list[str]]:
    """The frame as Arrow has it, and its mixed columns, which are text so that their reader names the wrong cell."""
    import pyarrow as pa

    try:
        return pa.table(data), []
    except pa.ArrowException:
        mixed = _mixed(data)
        if not mixed:
            raise
        return pa.table(data.assign(**{name: data[name].map(str, na_action="ignore") for name in mixed})), mixed


def _batches(data: Any) -> Batches:
    """The batches of an iterator or an Arrow reader in a file; raises InputError where there is no batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, stream = _stream(data)
    names = [str(name) for name in schema.names]
    folder = _Folder()
    path = folder.path / "batches.parquet"
    try:
        with pq.ParquetWriter(path, schema, compression="lz4") as file:
            for batch in stream:
                file.write_batch(_batch(batch))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{BATCHES}: cannot be read, {str(error).splitlines()[0]}") from None
    return Batches(name=BATCHES, columns=tuple(names), path=path, stamp=stamp(path), folder=folder)


def _stream(data: Any) -> tuple[Any, Iterator[Any]]:
    if not isinstance(data, Iterator):
        return data.schema, iter(data)
    first = next(data, None)
    if first is None:
        raise InputError(f"{BATCHES}: there must be at least one, got none")
    return _batch(first).schema, chain([first], data)


def _batch(batch: Any) -> Any:
    if type(batch).__name__ != "RecordBatch":
        raise InputError(f"{BATCHES}: an iterator must give Arrow record batches, got {type(batch).__name__}")
    return batch
