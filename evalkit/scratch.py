"""Temporary folders named after their process, so that those of a killed run can be removed."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OWN = 0o700  # what the owner of a folder may do
OURS = re.compile(r"evalkit-(\d+)-.*")


def new_folder(parent: Path | None = None) -> Path:
    """Make a folder in `parent` or the system's temporary folder; the caller removes it. Raises OSError."""
    parent = parent or Path(tempfile.gettempdir())
    sweep(parent)
    path = Path(tempfile.mkdtemp(prefix=f"evalkit-{os.getpid()}-", dir=parent))
    if path.stat().st_mode & OWN != OWN:
        path.rmdir()
        raise PermissionError(errno.EACCES, "umask must let you read what you write; set umask 022", str(parent))
    return path


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed at the end. Raises OSError."""
    path = new_folder()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep(parent: Path | None = None) -> None:
    """Remove the folders of processes that have ended."""
    for folder in (parent or Path(tempfile.gettempdir())).glob("evalkit-*"):
        name = OURS.fullmatch(folder.name)
        if name and os.name == "posix" and not alive(int(name[1])):
            shutil.rmtree(folder, ignore_errors=True)


def alive(process: int) -> bool:
    """True if a process with this number runs, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
