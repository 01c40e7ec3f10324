"""Which class reads a file: by its suffix, or by its content where that says nothing. A new format is one line here."""

import stat
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from evalkit.arrays import InputError
from evalkit.reading.tables import delimited, duck, folders, json_lines, parquet, trec, trec_files
from evalkit.reading.tables.parts import PACKED, File

SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def delimited_or_trec(path: Path, header: str | None) -> File:
    """A text file whose suffix says that it is a table: TREC text by its content, unless `header` says what it is."""
    if header is None and (layout := trec.layout_of_table(trec.first_lines(path))):
        return trec_files.opened(path, layout)
    return delimited.opened(path, header)


FORMATS: dict[str, Callable[[Path, str | None], File]] = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), delimited_or_trec),
    **dict.fromkeys((".parquet", ".pq"), parquet.opened),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), json_lines.opened),
}


def has_header(path: Path) -> bool:
    """Whether a file says once which columns it has: JSON says it in each row."""
    return _opener(path) is not json_lines.opened


def part_of(path: Path, header: str | None, top: Path) -> File:
    """A file with the columns that its folders below `top` are, which come before its own of that name."""
    part, more = _part(path, header), folders.partitions(path, top)
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
        return trec_files.opened(path, layout)
    part = delimited.opened(path, header)
    if len(part.columns) == 1:
        raise InputError(
            f"{part.name}: must be {trec.RUN.title}, {trec.QRELS.title}, or a table with a header, "
            f"got the first line {' '.join(lines[0])[:80]!r}"
        )
    return part
