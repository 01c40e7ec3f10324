"""Finds the parts of an input: files, folders, glob patterns, data frames, record batches, Spark
tables.

Folder names such as system=A/part-0 become columns (Hive partitions); marker files of engines
(_SUCCESS, _committed_1, hidden checksums) are ignored. The format of a file follows from its
suffix, or from its content if there is no known one; a new format is one line in `FORMATS`.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeGuard

from evalkit import limits
from evalkit.arrays import InputError
from evalkit.machine.bundled_files import bundled_root
from evalkit.machine.terminal import printable
from evalkit.reading.tables import columns, documents, formats, frames, logs, spark_tables
from evalkit.reading.tables.parts import InputPart

# the names of files that engines leave beside data: _SUCCESS, _committed_1, _metadata
MARK = re.compile(r"_[^.]*")
NAME = 80  # characters of a path that an error repeats
# what a folder of the format contains -> the format
TABLE_FORMATS = {
    "_delta_log": "Delta Lake",
    "metadata/[v0-9]*.metadata.json": "Iceberg",
    ".hoodie": "Hudi",
}


def find(path: str | Path) -> Path:
    """The path, looked up in the working directory, then in the checkout or package that contains
    evalkit.

    Raises InputError if it is in neither.
    """
    wanted = Path(path).expanduser()
    roots = [Path()] if wanted.is_absolute() else [Path.cwd(), bundled_root()]
    for root in roots:
        if (root / wanted).exists():
            return root / wanted
    raise InputError(
        f"{path}: no such file or folder, in neither the working directory nor evalkit's own"
    )


class Located(NamedTuple):
    """The files of a path, a folder or a glob pattern.

    files: in the order of their names. named_folder: the folder that the path names, or that of the
    file. Only folders below it become columns: a path to a file in run=3/ means the file, without
    a column `run`.
    """

    files: list[Path]
    named_folder: Path


def located(path: str | Path) -> Located:
    """Look up a path, a folder or a glob pattern. Raises InputError if there is no such file."""
    text = str(path)
    if not text.strip():
        raise InputError(f"a path must name a file, a folder or a pattern, got {text!r}")
    if re.match(r"[a-z]\w+:/", text):
        raise columns.refused(text, "remote")
    try:
        paths_found = _located(path)
        for file in paths_found.files:
            if file.name != printable(file.name):
                raise columns.refused(printable(str(file)), "odd_name")
        return paths_found
    # a name that is too long, a folder that may not be read, ~user without a home
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        beginning = text if len(text) <= NAME else f"{text[:NAME]}…"
        raise InputError(f"{beginning}: cannot be read: {why}") from None


def _located(path: str | Path) -> Located:
    """Look up a path, a folder or a glob pattern, whose errors are not yet in one form."""
    text = str(path)
    if any(wildcard in text for wildcard in "*?[") and not Path(text).expanduser().exists():
        matches = _glob(Path(text).expanduser())
        files = sorted(
            file for file in matches.files if file.is_file() and not _is_mark(file, text)
        )
        if not files:
            raise InputError(f"{path}: no file matches this pattern")
        _refuse_formats(path, files)
        return Located(files, matches.named_folder)
    existing = find(path)
    _refuse_formats(path, [existing])
    if not existing.is_dir():
        return Located([existing], existing.parent)
    files = logs.logs_in_folder(existing) or sorted(_inside(existing))
    if not files:
        raise InputError(f"{path}: the folder holds no file")
    return Located(files, existing)


def _refuse_formats(path: str | Path, paths: Iterable[Path]) -> None:
    """Raise InputError for what a table format manages: its log, and not the folder, says which
    files are the table.

    path: as the user names it. paths: the files and folders that it names.
    """
    possible = [file.absolute() for file in paths if file.is_dir() or ".parquet" in file.suffixes]
    folders = set(possible).union(*(file.parents for file in possible))
    for folder in sorted(folders):
        for mark, kind in TABLE_FORMATS.items():
            if any(folder.glob(mark)):
                raise columns.refused(str(path), "table_format", kind=kind)


def innermost_common_folder(folders: Iterable[Path]) -> Path:
    """The innermost folder that contains all of these paths; an empty path if there are none.

    >>> innermost_common_folder([Path("/out/system=A"), Path("/out/system=B")])
    PosixPath('/out')
    """
    paths = [os.path.abspath(folder) for folder in folders]
    return Path(os.path.commonpath(paths)) if paths else Path()


def _inside(folder: Path) -> Iterator[Path]:
    """The files of a folder, and those of folders in it that are columns; no marks of engines."""
    for path in folder.iterdir():
        if path.is_dir() and formats.PARTITION.fullmatch(path.name):
            yield from _inside(path)
        elif path.is_file() and not _is_mark(path):
            yield path


def _is_mark(path: Path, pattern: str = "") -> bool:
    """True if a file is hidden, unless the pattern asks for hidden files, or one that an engine
    leaves beside its data, such as _SUCCESS and _committed_1.
    """
    is_hidden = path.name.startswith(".") and not Path(pattern).name.startswith(".")
    return is_hidden or bool(MARK.fullmatch(path.name))


def _glob(pattern: Path) -> Located:
    """The files and folders that match a pattern, in any order, and the folder that the pattern
    names before its first wildcard.
    """
    roots = [Path(pattern.anchor)] if pattern.is_absolute() else [Path.cwd(), bundled_root()]
    relative = pattern.relative_to(pattern.anchor)
    before_wildcard = itertools.takewhile(
        lambda part: not any(wildcard in part for wildcard in "*?["), relative.parts
    )
    named_folder = Path(*before_wildcard)
    for root in roots:
        if matches := list(root.glob(str(relative))):
            return Located(matches, root / named_folder)
    return Located([], named_folder)


# What an input names ------------------------------------------------------------------------------


SHOWN = 3  # files that a message names
MANY = 200  # files whose headers are read before the report is started
SYSTEM = "system"  # the column of a mapping's names


def parts(
    data: object,
    header: str | None = None,
    reading: limits.ReadingLimits = limits.USUAL_LIMITS.reading,
) -> list[InputPart]:
    """All files, frames and tables of an input (its parts), with their columns; rows are not read.

    data: a path, folder or pattern, "spark:table", a frame, record batches, a dict, or a list of
    these. A dict of columns is one table; any other dict has one table per system. header: "none"
    if text tables have no header. reading: how many rows may be collected from Spark. Raises
    InputError for a path without a file, an empty list, and what cannot be read.
    """
    in_memory = frames.part_in_memory(data)
    if in_memory is not None:
        return [in_memory]
    items = [located(item) if _is_path(item) else item for item in _flattened(data)]
    if not items:
        raise InputError("data must name at least one file or frame, got an empty list")
    # A folder such as country=DE, as Spark writes partitions, gives its files a column country, but
    # only below the innermost folder that all folders in `data` share: those above it are the same
    # for all files.
    common_folder = innermost_common_folder(
        item.named_folder for item in items if isinstance(item, Located)
    )
    opened: list[InputPart] = []
    for item in items:
        opened += _parts_of_item(item, header, reading, common_folder)
    return logs.with_common_columns(opened)  # of evaluation logs; other parts stay as they are


def optional_parts(
    data: object,
    header: str | None = None,
    reading: limits.ReadingLimits = limits.USUAL_LIMITS.reading,
) -> list[InputPart] | None:
    """The parts of an input that may be left out, as from `parts`; None if it is left out."""
    return None if data is None else parts(data, header, reading)


def _flattened(data: object) -> list[object]:
    """The items of a list and of the lists in it; for anything else a list of it alone."""
    if not isinstance(data, list | tuple):
        return [data]
    items = []
    for item in data:
        items += _flattened(item)
    return items


def headers(data: object, header: str | None = None) -> list[InputPart]:
    """The parts of an input whose columns are known without reading rows; [] for other inputs.

    Other inputs are JSON Lines, anything but files, and more than `MANY` files.
    """
    items = [] if data is None else _flattened(data)
    named_paths = [item for item in items if _is_path(item)]
    if len(named_paths) < len(items):
        return []
    paths: list[Path] = []
    for named_path in named_paths:
        paths += located(named_path).files
    if not paths or len(paths) > MANY or not all(map(formats.has_header, paths)):
        return []
    return parts(data, header)


def _is_path(data: object) -> TypeGuard[str | Path]:
    """True for a path, a folder or a pattern, also as text; False for a table of Spark."""
    return isinstance(data, str | Path) and not str(data).startswith(spark_tables.PREFIX)


def _parts_of_item(
    data: object, header: str | None, reading: limits.ReadingLimits, common_folder: Path
) -> list[InputPart]:
    """The parts of one item of an input, such as a file or a frame. common_folder: the innermost
    folder that contains all paths of the input.
    """
    if isinstance(data, InputPart):
        return [data]
    if isinstance(data, Mapping) and documents.is_of_lists(data):
        return [frames.part_of_columns(documents.as_columns(data))]
    if isinstance(data, Mapping):  # system -> its table
        parts_of_systems = []
        for name, table in data.items():
            for table_part in parts(table, header, reading):
                parts_of_systems.append(with_system_name(table_part, str(name)))
        return parts_of_systems
    if isinstance(data, Located):
        return list(formats.opened(data.files, header, common_folder))
    part = spark_tables.part_of(data, reading.collected) or frames.part_in_memory(data)
    if part is None:
        raise frames.no_table_error(data)
    return [part]


def with_system_name(part: InputPart, name: str) -> InputPart:
    """The part with the name of its system in each row, as if a folder system=NAME held it."""
    names = tuple(dict.fromkeys([*part.columns, SYSTEM]))
    return replace(part, columns=names, folder_values={**part.folder_values, SYSTEM: name})


# Errors of an input as a whole --------------------------------------------------------------------


def with_files(error: InputError, tables: Iterable[object]) -> InputError:
    """The error, beginning with the names of the first files of the input, unless it names one
    itself. tables: the input, such as paths and frames.
    """
    try:
        names = list(itertools.chain.from_iterable(map(_names, tables)))
    except InputError:  # a path that cannot be found, which the error names
        return error
    if not names or str(error).startswith((*names, frames.NAME, frames.BATCHES, spark_tables.NAME)):
        return error
    return InputError(f"{columns.listed(dict.fromkeys(names), SHOWN)}: {error}")


def _names(data: object) -> list[str]:
    """The files and Spark tables that an input names, as messages write them."""
    if isinstance(data, Mapping):
        return list(itertools.chain.from_iterable(map(_names, data.values())))
    names: list[str] = []
    for item in _flattened(data):
        if _is_path(item):
            names += map(formats.printed_path, located(item).files)
        elif isinstance(item, str):
            names.append(item)
    return names
