"""Paths, folders and patterns as files; folders as engines write them, whose names may be columns: system=A/part-0.

Files that only say how the writing went (_SUCCESS, _committed_1, hidden checksums) are no data.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from evalkit.arrays import InputError

MARK = re.compile(r"_[^.]*")  # a name that begins so and has no suffix: _SUCCESS, _committed_1, _metadata
PARTITION = re.compile(r"([^=]+)=(.*)")
WRITTEN = re.compile(r"part[-.]\d.*")  # a piece of a table as Spark, Arrow and Dask name it
NAME = 80  # characters of a path that an error repeats
NOTHING = "__HIVE_DEFAULT_PARTITION__"


def find(path: str | Path) -> Path:
    """The path itself, looked for in the working directory, then in the checkout or package that holds evalkit.

    Raises InputError when it is in neither place.
    """
    given = Path(path).expanduser()
    roots = [Path()] if given.is_absolute() else [Path.cwd(), Path(__file__).resolve().parents[2]]
    for root in roots:
        if (root / given).exists():
            return root / given
    raise InputError(f"{path}: no such file or folder, in neither the working directory nor evalkit's own")


def files(path: str | Path) -> list[Path]:
    """The files that a path, a folder or a glob pattern stands for, in the order of their names."""
    text = str(path)
    if not text.strip():
        raise InputError(f"a path must name a file, a folder or a pattern, got {text!r}")
    try:
        return _files(path)
    except (OSError, RuntimeError) as error:  # a name that is too long, a folder that is closed, no home of ~user
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{text if len(text) <= NAME else f'{text[:NAME]}…'}: cannot be read: {why}") from None


def _files(path: str | Path) -> list[Path]:
    text = str(path)
    if any(mark in text for mark in "*?[") and not Path(text).expanduser().exists():
        found = sorted(one for one in _glob(Path(text).expanduser()) if one.is_file() and not _is_mark(one, text))
        if not found:
            raise InputError(f"{path}: no file matches this pattern")
        return found
    there = find(path)
    if not there.is_dir():
        return [there]
    inside = sorted(_inside(there))
    if not inside:
        raise InputError(f"{path}: the folder holds no file")
    return inside


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


def _glob(pattern: Path) -> Iterable[Path]:
    roots = [Path(pattern.anchor)] if pattern.is_absolute() else [Path.cwd(), Path(__file__).resolve().parents[2]]
    relative = str(pattern.relative_to(pattern.anchor))
    for root in roots:
        if found := list(root.glob(relative)):
            return found
    return []


def partitions(path: Path) -> dict[str, str | None]:
    """The columns that the folders right above a file are, outermost first; None is an empty value.

    >>> partitions(Path("out/day=1/system=a%20b/part-0.parquet"))
    {'day': '1', 'system': 'a b'}
    """
    pairs = [pair.groups() for pair in map(PARTITION.fullmatch, _folders(path)) if pair]
    return {unquote(name): None if value == NOTHING else unquote(value) for name, value in pairs}


def _folders(path: Path) -> list[str]:
    """The names of the folders right above a file that are columns."""
    names: list[str] = []
    for folder in path.parents:
        if not PARTITION.fullmatch(folder.name):
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
