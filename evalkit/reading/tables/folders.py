"""Paths, folders and patterns as files; folders as engines write them, whose names may be columns: system=A/part-0.

Files that only say how the writing went (_SUCCESS, _committed_1, hidden checksums) are no data.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from evalkit import bundled
from evalkit.arrays import InputError

MARK = re.compile(r"_[^.]*")  # a name that begins so and has no suffix: _SUCCESS, _committed_1, _metadata
PARTITION = re.compile(r"([^=]+)=(.*)")
WRITTEN = re.compile(r"part[-.]\d.*")  # a piece of a table as Spark, Arrow and Dask name it
NAME = 80  # characters of a path that an error repeats
NOTHING = "__HIVE_DEFAULT_PARTITION__"
FORMATS = {"_delta_log": "Delta Lake", "metadata/[v0-9]*.metadata.json": "Iceberg", ".hoodie": "Hudi"}  # by their marks


def find(path: str | Path) -> Path:
    """The path itself, looked for in the working directory, then in the checkout or package that holds evalkit.

    Raises InputError when it is in neither place.
    """
    wanted = Path(path).expanduser()
    roots = [Path()] if wanted.is_absolute() else [Path.cwd(), bundled.root()]
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
        if kind := next((kind for mark, kind in FORMATS.items() if any(folder.glob(mark))), None):
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
    roots = [Path(pattern.anchor)] if pattern.is_absolute() else [Path.cwd(), bundled.root()]
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
