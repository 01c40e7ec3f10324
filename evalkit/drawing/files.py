"""Files that a reader exports."""

from os import PathLike
from pathlib import Path

from evalkit.arrays import ParameterError


def write_if_path(text: str, path: str | PathLike[str] | None) -> str:
    """Return the text, which is also written to the path if there is one."""
    if path is not None:
        path_to_write(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def path_to_write(path: str | PathLike[str]) -> Path:
    """The path of a file to write; a missing folder is created.

    Raises ParameterError for a path without a name, and if the folder cannot be created.
    """
    file = Path(path)
    if not file.name:
        raise ParameterError(
            f"path must name a file, such as 'figure.pdf' or 'table.csv', got {str(path)!r}"
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"path: cannot write to {file.parent}: {error.strerror}") from None
    return file
