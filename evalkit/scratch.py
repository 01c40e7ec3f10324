"""Temporary folders that carry the number of their process, so that what a killed run left is found and removed."""

import os
import re
import shutil
import tempfile
from pathlib import Path

OURS = re.compile(r"evalkit-(\d+)-.*")


def made(where: Path | None = None) -> Path:
    """A new folder, in the machine's temporary one or in `where`; who makes it removes it. Raises OSError."""
    place = Path(tempfile.gettempdir()) if where is None else where
    sweep(place)
    return Path(tempfile.mkdtemp(prefix=f"evalkit-{os.getpid()}-", dir=place))


def sweep(where: Path | None = None) -> None:
    """Removes the folders of processes that are no more."""
    for left in (Path(tempfile.gettempdir()) if where is None else where).glob("evalkit-*"):
        found = OURS.fullmatch(left.name)
        if found and os.name == "posix" and not alive(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)


def alive(process: int) -> bool:
    """Whether a process of this number runs, anybody's."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
