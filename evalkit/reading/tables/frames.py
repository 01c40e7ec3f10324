"""Data frames of pandas, polars and Arrow, by the Arrow PyCapsule interface."""

import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from evalkit.arrays import InputError
from evalkit.reading.tables import duck
from evalkit.reading.tables.parts import Frames, Part

NAME = "data frame"


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame(Part):
    """A data frame as an Arrow table. halves: columns that were float16, held as float32: DuckDB has no float16."""

    table: Any
    halves: tuple[str, ...] = ()
    unnamed: ClassVar[bool] = True
    without_rows: ClassVar[str] = "the frame has columns and no rows"

    @property
    def counted(self) -> int:
        return len(self.table)

    @property
    def stored(self) -> Mapping[str, str]:
        kinds = {name: str(kind) for name, kind in zip(self.columns, self.table.schema.types, strict=True)}
        return kinds | dict.fromkeys(self.halves, "halffloat")

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> tuple[str, Frames]:
        return frame, {frame: self.table}

    def _types(self, source: str, frames: Frames) -> Mapping[str, str]:
        """The columns of an empty frame may have any type."""
        return super()._types(source, frames) if self.rows else dict.fromkeys(self.columns, "VARCHAR")


def opened(data: Any) -> Frame:
    """The frame; raises InputError for what is none, cannot be read, or has one name twice."""
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        kinds, got = "pandas, polars, Arrow, Spark", type(data).__name__
        raise InputError(f"data must be a path, a list of paths or a data frame ({kinds}), got {got}")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The DataFrame has column names of mixed type")
            table = pa.table(data)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        why = "; ".join(str(argument).splitlines()[0] for argument in error.args)
        raise InputError(f"the frame cannot be read: {why}") from None
    kept = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    table = table.select(kept) if len(kept) < table.num_columns else table  # pandas' own index has no name
    names = [str(name) or f"column {i}" for i, name in enumerate(table.column_names, start=1)]
    table = table.rename_columns(names)
    duck.distinct(names, NAME)
    halves = tuple(name for name, kind in zip(names, table.schema.types, strict=True) if kind == pa.float16())
    types = [pa.float32() if name in halves else kind for name, kind in zip(names, table.schema.types, strict=True)]
    table = table.cast(pa.schema(list(zip(names, types, strict=True))))
    return Frame(name=NAME, columns=tuple(names), table=table, halves=halves)
