"""What an input names, as the parts that it consists of: paths, folders, patterns, frames, batches, Spark tables.

Nothing is guessed: ids stay the text that the file holds, numbers are doubles or refused with file, column, row and
value. DuckDB reads CSV, Parquet and JSON lines; `trec` reads TREC text; frames come by the Arrow PyCapsule interface,
Spark tables by name or as Spark data frames, collected where they are small.
"""

from pathlib import Path
from typing import Any

from evalkit.arrays import InputError
from evalkit.reading.tables import batches, folders, formats, frames, pieces, spark_tables
from evalkit.reading.tables.parts import Part


def parts(data: Any, header: str | None = None) -> list[Part]:
    """Every file, frame or table of `data`: a path, folder or pattern, "spark:table", a frame, batches, or a list.

    header: "none" where text tables have none. Parts stay as they are: batches can be read only once, so who needs them
    twice asks for the parts first.
    """
    if not isinstance(data, list | tuple):
        return _parts(data, header)
    if not data:
        raise InputError("data must name at least one file or frame, got an empty list")
    tops = [folders.located(item)[1] for item in data if _is_path(item)]
    top = folders.common(tops) if tops else None
    return [part for item in data for part in (_parts(item, header, top) if _is_path(item) else parts(item, header))]


def _is_path(data: Any) -> bool:
    return isinstance(data, str | Path) and not str(data).startswith(spark_tables.PREFIX)


def _parts(data: Any, header: str | None, top: Path | None = None) -> list[Part]:
    """The parts of what is no list; top: the folder that all paths of a list share."""
    if isinstance(data, Part):
        return [data]
    if table := spark_tables.opened(data):
        return [table]
    if isinstance(data, str | Path):
        paths, own = folders.located(data)
        top = folders.common([top or own])
        return [formats.part_of(path, header, top) for path in pieces.with_rows(paths, header)]
    return [batches.opened(data) or frames.opened(data)]
