"""What an input names, as the parts that it consists of: paths, folders, patterns, frames, batches, Spark tables.

Nothing is guessed: ids stay the text that the file holds, numbers are doubles or refused with file, column, row and
value. DuckDB reads CSV, Parquet and JSON lines; `trec` reads TREC text; frames come by the Arrow PyCapsule interface,
Spark tables by name or as Spark data frames, collected where they are small.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import USUAL, Reading
from evalkit.parameters import Parameters
from evalkit.parameters.kinds import named
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import arrays, duck, folders, formats, frames, parquet, spark_tables
from evalkit.reading.tables.parts import Part

Made = TypeVar("Made")
SHOWN = 3  # files that a message names
MANY = 200  # files whose headers are read before the report is started
SYSTEM = "system"  # the column of a mapping's names
LARGE = 1 << 16  # bytes from which a text is taken to hold more than a header


def parts(data: Any, header: str | None = None, reading: Reading = USUAL.reading) -> list[Part]:
    """Every file, frame or table of `data`: a path, folder or pattern, "spark:table", a frame, batches, or a list.

    A mapping of columns is a frame, a mapping of anything else one table per system.

    header: "none" where text tables have none. Parts stay as they are: batches can be read only once, so who needs them
    twice asks for the parts first.
    """
    items = _items(data)
    if not items:
        raise InputError("data must name at least one file or frame, got an empty list")
    tops = [folders.located(item)[1] for item in items if _is_path(item)]
    top = folders.common(tops) if tops else Path()
    return [part for item in items for part in _parts(item, header, reading, top)]


def _items(data: Any) -> list[Any]:
    """What a list, of lists too, names one by one."""
    return [item for some in data for item in _items(some)] if isinstance(data, list | tuple) else [data]


def headers(data: Any, header: str | None = None) -> list[Part]:
    """The parts of files that have a header, whose columns are known without reading rows.

    None where one has not: rows of JSON say each which columns they have, and a cluster must be asked; nor where the
    files are more than `MANY`.
    """
    items = [] if data is None else _items(data)
    if not all(map(_is_path, items)):
        return []
    paths = [path for item in items for path in folders.located(item)[0]]
    return parts(data, header) if paths and len(paths) <= MANY and all(map(formats.has_header, paths)) else []


def _is_path(data: Any) -> bool:
    return isinstance(data, str | Path) and not str(data).startswith(spark_tables.PREFIX)


def _parts(data: Any, header: str | None, reading: Reading, top: Path) -> list[Part]:
    """The parts of what is no list; top: the folder that all paths share."""
    data = arrays.joined(data)
    if isinstance(data, Part):
        return [data]
    if isinstance(data, Mapping):
        return _of_systems(data, header, reading)
    if _is_path(data):
        return [formats.part_of(path, header, top) for path in _with_rows(folders.located(data)[0], header)]
    return [spark_tables.part_of(data, reading.collected) or frames.part_of(data)]


def _of_systems(tables: Mapping[Any, Any], header: str | None, reading: Reading) -> list[Part]:
    """The parts of the systems that the names are."""
    if not tables:
        raise InputError("data must name at least one column or table, got an empty dict")
    several = {name: parts(table, header, reading) for name, table in named("data", tables).items()}
    return [_of_system(part, name) for name, every in several.items() for part in every]


def _of_system(part: Part, name: str) -> Part:
    """The part with the name of its system in each row, as if a folder system=NAME held it."""
    names = tuple(dict.fromkeys([*part.columns, SYSTEM]))
    return replace(part, columns=names, folders={**part.folders, SYSTEM: name})


def _with_rows(paths: Sequence[Path], header: str | None = None) -> list[Path]:
    """The files without the pieces that hold no row, where another piece in the same folder holds some.

    An engine writes a table as one piece a task, and a task without a row leaves a piece without one: no fault. A file
    that is not such a piece, and a table all of whose pieces are without rows, stay: their reader refuses them.

    paths: in the order of their names. header: "none" where text tables have none.
    """
    kept: list[Path] = []
    for _, group in groupby(paths, key=lambda path: (path.parent, bool(folders.WRITTEN.fullmatch(path.name)))):
        several = list(group)
        written = len(several) > 1 and folders.WRITTEN.fullmatch(several[0].name)
        full = [path for path in several if _has_rows(path, header)] if written else several
        kept += full or several
    return kept


def _has_rows(path: Path, header: str | None) -> bool:
    """Whether a file holds a row; a file that cannot be read is taken to, so that its reader says why."""
    try:
        if path.stat().st_size == 0:
            return False
        if {".parquet", ".pq"} & set(path.suffixes):
            return parquet.rows(path) > 0
        return path.stat().st_size > LARGE or len(_lines(path)) > _heads(path, header)
    except (InputError, OSError):
        return True


def _lines(path: Path) -> list[bytes]:
    """The first lines of a text that are not blank."""
    return [line for line in duck.start(path).splitlines() if line.strip()]


def _heads(path: Path, header: str | None) -> int:
    """How many lines of a text are no rows: the header of a table."""
    return int(bool({".csv", ".tsv", ".tab"} & set(path.suffixes)) and header != NO_HEADER)


# Errors of an input as a whole ----------------------------------------------------------------------------------


def naming_files(make: Callable[..., Made]) -> Callable[..., Made]:
    """Have every InputError of a function of parameters name a file: all that they name, unless it has one already."""

    @wraps(make)
    def located(p: Parameters, *others: Any) -> Made:
        try:
            return make(p, *others)
        except ParameterError:
            raise
        except InputError as error:
            names = [name for table in p.tables for name in _names(table)]
            if not names or str(error).startswith(tuple(names)):
                raise
            raise InputError(f"{listed(names)}: {error}") from None

    return located


def _names(data: Any) -> list[str]:
    """The files and Spark tables that an input names, as messages write them; none where one is missing."""
    if isinstance(data, Mapping):
        return [name for table in data.values() for name in _names(table)]
    items = [item for item in _items(data) if isinstance(item, str | Path)]
    try:
        files = [folders.located(item)[0] if _is_path(item) else [item] for item in items]
    except InputError:
        return []
    return [duck.shown(path) if isinstance(path, Path) else path for some in files for path in some]


def listed(names: Iterable[str]) -> str:
    """The distinct names of files, the first ones where they are many.

    >>> listed(["a.csv", "b.csv", "a.csv"]), listed("abcde")
    ('a.csv, b.csv', 'a, b, c and 2 more')
    """
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - SHOWN} more" if len(distinct) > SHOWN else ""
    return ", ".join(distinct[:SHOWN]) + more
