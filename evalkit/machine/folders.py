"""Folders: temporary ones, which name their process, and the working directory."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

# the bits of a mode by which the owner may read, write and enter a folder
OWNER_PERMISSIONS = 0o700
SCRATCH = re.compile(r"evalkit-(\d+)-.*")


def new_scratch_folder(parent: Path | None = None) -> Path:
    """Make a folder in `parent` or the system's temporary folder, and return its path; the caller
    removes it. Its name has the number of the process, so that the next process removes it if this
    one is killed. Raises OSError if it cannot be made or used.
    """
    parent = parent or Path(tempfile.gettempdir())
    remove_leftovers(parent)
    path = Path(tempfile.mkdtemp(prefix=f"evalkit-{os.getpid()}-", dir=parent))
    if path.stat().st_mode & OWNER_PERMISSIONS != OWNER_PERMISSIONS:
        path.rmdir()
        raise PermissionError(
            errno.EACCES, "umask must let you read what you write; set umask 022", str(parent)
        )
    return path


def working_directory() -> Path | None:
    """The working directory; None if it was removed while the process was running, as temporary
    folders of notebooks may be.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


@contextmanager
def working_in(folder: Path | None) -> Iterator[None]:
    """A context in which relative paths are those of this folder, if it is known."""
    if folder in (None, working_directory()):
        yield
        return
    with chdir(folder):
        yield


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder, which is removed at the end. Raises OSError."""
    path = new_scratch_folder()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def remove_leftovers(parent: Path | None = None) -> None:
    """Remove the temporary folders in `parent` that belong to processes which have ended."""
    for folder in (parent or Path(tempfile.gettempdir())).glob("evalkit-*"):
        name = SCRATCH.fullmatch(folder.name)
        if name and os.name == "posix" and not is_process_alive(int(name[1])):
            shutil.rmtree(folder, ignore_errors=True)


def is_process_alive(process: int) -> bool:
    """True if a process with this number runs, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def is_writable(folder: Path) -> bool:
    """True if the folder is writable, or can be made in its nearest parent that exists."""
    try:
        with tempfile.TemporaryFile(dir=nearest_existing_folder(folder)):
            return True
    except OSError:
        return False


def nearest_existing_folder(folder: Path) -> Path:
    """The folder itself if it exists, else its nearest parent that does."""
    return next(place for place in (folder, *folder.absolute().parents) if place.exists())
