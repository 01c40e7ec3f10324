"""Pieces of a table as engines write them, one a task: a task without a row leaves a file without one, no fault.

A file that is not such a piece, and a table all of whose pieces are without rows, stay: their reader refuses them.
"""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from evalkit.arrays import InputError
from evalkit.parameters.reports import NO_HEADER
from evalkit.reading.tables import duck, folders, parquet

LARGE = 1 << 16  # bytes from which a text is taken to hold more than a header


def with_rows(paths: Sequence[Path], header: str | None = None) -> list[Path]:
    """The files without the pieces that hold no row, where another piece in the same folder holds some.

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
