"""What no reader takes, refused before it is read or printed: what is no file, and texts longer than a name."""

import stat
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from evalkit.arrays import InputError
from evalkit.reading.tables import duck

SPECIAL = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def no_file(path: Path) -> None:
    """Raises InputError for what is no file, which could not be read twice, and for a file without content."""
    try:
        status = path.stat()
        with path.open("rb") if stat.S_ISREG(status.st_mode) else nullcontext():
            pass
    except OSError as error:
        raise InputError(f"{duck.shown(path)}: cannot be read: {error.strerror}") from None
    if kind := next((what for is_one, what in SPECIAL if is_one(status.st_mode)), None):
        raise InputError(f"{duck.shown(path)}: must be a file, got {kind}; write its content into a file first")
    if status.st_size == 0:
        raise InputError(f"{duck.shown(path)}: the file is empty")


def long_text(values: Any, what: str) -> None:
    """Raises InputError for a text that stands on the page again and again, and is longer than a name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.dictionary if pa.types.is_dictionary(values.type) else values
    if not len(texts) or (pc.max(pc.binary_length(texts)).as_py() or 0) <= duck.LONGEST:
        return
    every = values.cast(texts.type)
    row = int(pc.index(pc.greater(pc.binary_length(every), duck.LONGEST), True).as_py())
    raise duck.too_long(what, every[row].as_py(), f" (row {row + 1})")
