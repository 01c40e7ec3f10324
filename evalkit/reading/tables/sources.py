"""What an input names, as the parts that it consists of: paths, folders, patterns, frames, batches, Spark tables.

Folders are read as engines write them: their names may be columns (system=A/part-0), and files that only say how the
writing went (_SUCCESS, _committed_1, hidden checksums) are no data. A file is read by its suffix, or by its content
where that says nothing: a new format is one line in `FORMATS`. Nothing is guessed.
"""

import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from evalkit import system
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import USUAL, Reading
from evalkit.parameters import Parameters
from evalkit.parameters.kinds import named
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import duck, frames, parquet, spark_tables, text_files, trec
from evalkit.reading.tables.parts import PACKED, File, Part

MARK = re.compile(r"_[^.]*")  # a name that begins so and has no suffix: _SUCCESS, _committed_1, _metadata
PARTITION = re.compile(r"([^=]+)=(.*)")
WRITTEN = re.compile(r"part[-.]\d.*")  # a piece of a table as Spark, Arrow and Dask name it
NAME = 80  # characters of a path that an error repeats
NOTHING = "__HIVE_DEFAULT_PARTITION__"
TABLE_FORMATS = {
    "_delta_log": "Delta Lake",
    "metadata/[v0-9]*.metadata.json": "Iceberg",
    ".hoodie": "Hudi",
}  # by their marks


def find(path: str | Path) -> Path:
    """The path itself, looked for in the working directory, then in the checkout or package that holds evalkit.

    Raises InputError when it is in neither place.
    """
    wanted = Path(path).expanduser()
    roots = [Path()] if wanted.is_absolute() else [Path.cwd(), system.bundled_root()]
    for root in roots:
        if (root / wanted).exists():
            return root / wanted
    raise InputError(f"{path}: no such file or folder, in neither the working directory nor evalkit's own")


def files(path: str | Path) -> list[Path]:
    """The files that a path, a folder or a glob pattern stands for, in the order of their names."""
    return located(path)[0]


def located(path: str | Path) -> tuple[list[Path], Path]:
    """The files of a path, a folder or a glob pattern, in the order of their names, and the folder that it names.

    Only folders below that one can be columns: who names a file in run=3/ means the file and not a column `run`.
    """
    text = str(path)
    if not text.strip():
        raise InputError(f"a path must name a file, a folder or a pattern, got {text!r}")
    try:
        return _located(path)
    except (OSError, RuntimeError) as error:  # a name that is too long, a folder that is closed, no home of ~user
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{text if len(text) <= NAME else f'{text[:NAME]}…'}: cannot be read: {why}") from None


def _located(path: str | Path) -> tuple[list[Path], Path]:
    text = str(path)
    if any(mark in text for mark in "*?[") and not Path(text).expanduser().exists():
        matches, top = _glob(Path(text).expanduser())
        files = sorted(file for file in matches if file.is_file() and not _is_mark(file, text))
        if not files:
            raise InputError(f"{path}: no file matches this pattern")
        _refuse_formats(path, files)
        return files, top
    there = find(path)
    _refuse_formats(path, [there])
    if not there.is_dir():
        return [there], there.parent
    inside = sorted(_inside(there))
    if not inside:
        raise InputError(f"{path}: the folder holds no file")
    return inside, there


def _refuse_formats(path: str | Path, found: Iterable[Path]) -> None:
    """Raise InputError for what a table format manages: its log, and not the folder, says which files are the table."""
    plain = [file.absolute() for file in found if file.is_dir() or ".parquet" in file.suffixes]
    for folder in sorted({folder for file in plain for folder in (file, *file.parents)}):
        if kind := next((kind for mark, kind in TABLE_FORMATS.items() if any(folder.glob(mark))), None):
            raise InputError(
                f"{path}: must be plain files, got a table of {kind}, whose folder also has rows that were deleted or "
                "replaced; write its rows to a Parquet file with a library that reads this format, or use spark:TABLE"
            )


def common(tops: Iterable[Path]) -> Path:
    """The innermost folder that holds all of these.

    >>> common([Path("/out/system=A"), Path("/out/system=B")])
    PosixPath('/out')
    """
    return Path(os.path.commonpath([os.path.abspath(top) for top in tops]))


def _inside(folder: Path) -> Iterator[Path]:
    """The files of a folder, and those of folders in it that are columns; no marks of engines."""
    for path in folder.iterdir():
        if path.is_dir() and PARTITION.fullmatch(path.name):
            yield from _inside(path)
        elif path.is_file() and not _is_mark(path):
            yield path


def _is_mark(path: Path, pattern: str = "") -> bool:
    """Whether a file is hidden, or one that an engine leaves beside its data, such as _SUCCESS and _committed_1."""
    name = path.name
    return (name.startswith(".") and not Path(pattern).name.startswith(".")) or bool(MARK.fullmatch(name))


def _glob(pattern: Path) -> tuple[list[Path], Path]:
    """What matches a pattern, and the folder that its parts before the first wildcard name."""
    roots = [Path(pattern.anchor)] if pattern.is_absolute() else [Path.cwd(), system.bundled_root()]
    relative = pattern.relative_to(pattern.anchor)
    plain = itertools.takewhile(lambda part: not any(mark in part for mark in "*?["), relative.parts)
    named = Path(*plain)
    for root in roots:
        if matches := list(root.glob(str(relative))):
            return matches, root / named
    return [], named


def partitions(path: Path, top: Path | None = None) -> dict[str, str | None]:
    """The columns that the folders right above a file are, outermost first; None is an empty value.

    top: the folder that was named; neither it nor those above it are columns.

    >>> partitions(Path("out/day=1/system=a%20b/part-0.parquet"))
    {'day': '1', 'system': 'a b'}
    >>> partitions(Path("/out/day=1/system=a/part-0.parquet"), Path("/out/day=1"))
    {'system': 'a'}
    """
    pairs = [pair.groups() for pair in map(PARTITION.fullmatch, _folders(path, top)) if pair]
    return {unquote(name): None if value == NOTHING else unquote(value) for name, value in pairs}


def _folders(path: Path, top: Path | None = None) -> list[str]:
    """The names of the folders right above a file, and below `top`, that are columns."""
    names: list[str] = []
    for folder in path.parents:
        if not PARTITION.fullmatch(folder.name) or (top is not None and Path(os.path.abspath(folder)) == top):
            break
        names.insert(0, folder.name)
    return names


def table(path: Path) -> Path:
    """What a file is a piece of: without the folders that are columns; of a piece that an engine wrote its folder.

    >>> table(Path("bm25/day=1/part-00000-1f.parquet")), table(Path("runs/lang=de/bm25.run"))
    (PosixPath('bm25'), PosixPath('runs/bm25.run'))
    """
    root = path.parents[len(_folders(path))]
    return root if WRITTEN.fullmatch(path.name) else root / path.name


# Formats --------------------------------------------------------------------------------------------------------------


SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def delimited_or_trec(path: Path, header: str | None) -> File:
    """A text file whose suffix says that it is a table: TREC text by its content, unless `header` says what it is."""
    if header is None and (layout := trec.layout_of_table(trec.first_lines(path))):
        return trec.opened(path, layout)
    return text_files.opened(path, header)


FORMATS: dict[str, Callable[[Path, str | None], File]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), delimited_or_trec),
    **dict.fromkeys((".parquet", ".pq"), parquet.opened),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), text_files.opened_json),
}


def has_header(path: Path) -> bool:
    """Whether a file says once which columns it has: JSON says it in each row."""
    return _opener(path) is not text_files.opened_json


def part_of(path: Path, header: str | None, top: Path) -> File:
    """A file with the columns that its folders below `top` are, which come before its own of that name."""
    part, more = _part(path, header), partitions(path, top)
    return replace(part, columns=tuple(dict.fromkeys([*part.columns, *more])), folders=more) if more else part


def _part(path: Path, header: str | None) -> File:
    _no_file(path)
    opened = _opener(path)
    if opened and path.suffix.lower() in PACKED - {".gz", ".zst"}:
        raise InputError(f"{duck.shown(path)}: a compressed table must be .gz or .zst, got {path.suffix}")
    try:
        return (opened or _by_content)(path, header)
    except OSError as error:
        raise InputError(f"{duck.shown(path)}: cannot be read, {error}") from None


def _opener(path: Path) -> Callable[[Path, str | None], File] | None:
    """What opens the file by its suffix, packed or not."""
    suffix = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED][-1:]
    return FORMATS.get(suffix[0] if suffix else "")


def _no_file(path: Path) -> None:
    """Raises InputError for what is no file, which could not be read twice, and for a file without content."""
    try:
        status = path.stat()
        with path.open("rb") if stat.S_ISREG(status.st_mode) else nullcontext():
            pass
    except OSError as error:
        raise InputError(f"{duck.shown(path)}: cannot be read: {error.strerror}") from None
    if kind := next((what for is_kind, what in SPECIAL if is_kind(status.st_mode)), None):
        raise InputError(f"{duck.shown(path)}: must be a file, got {kind}; write its content into a file first")
    if status.st_size == 0:
        raise InputError(f"{duck.shown(path)}: the file is empty")


def _by_content(path: Path, header: str | None) -> File:
    """A file whose suffix names no format: TREC text, or else a table that has a delimiter."""
    lines = trec.first_lines(path)
    if not lines:
        raise InputError(f"{duck.shown(path)}: the file has only blank lines and comments")
    if layout := trec.layout_of(lines):
        return trec.opened(path, layout)
    part = text_files.opened(path, header)
    if len(part.columns) == 1:
        raise InputError(
            f"{part.name}: must be {trec.RUN.title}, {trec.QRELS.title}, or a table with a header, "
            f"got the first line {' '.join(lines[0])[:80]!r}"
        )
    return part


# What an input names --------------------------------------------------------------------------------------------------


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
    tops = [located(item)[1] for item in items if _is_path(item)]
    top = common(tops) if tops else Path()
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
    paths = [path for item in items for path in located(item)[0]]
    return parts(data, header) if paths and len(paths) <= MANY and all(map(has_header, paths)) else []


def _is_path(data: Any) -> bool:
    return isinstance(data, str | Path) and not str(data).startswith(spark_tables.PREFIX)


def _parts(data: Any, header: str | None, reading: Reading, top: Path) -> list[Part]:
    """The parts of what is no list; top: the folder that all paths share."""
    data = frames.joined(data)
    if isinstance(data, Part):
        return [data]
    if isinstance(data, Mapping):
        return _of_systems(data, header, reading)
    if _is_path(data):
        return [part_of(path, header, top) for path in _with_rows(located(data)[0], header)]
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
    for _, group in groupby(paths, key=lambda path: (path.parent, bool(WRITTEN.fullmatch(path.name)))):
        several = list(group)
        written = len(several) > 1 and WRITTEN.fullmatch(several[0].name)
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
        files = [located(item)[0] if _is_path(item) else [item] for item in items]
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
