"""Exports: text files, and the results as JSON."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.arrays import ParameterError


def written(text: str, path: str | PathLike[str] | None) -> str:
    """Return the text, after writing it to the path if there is one."""
    if path is not None:
        writable(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def writable(path: str | PathLike[str]) -> Path:
    """The path of a file to write; a missing folder is created.

    Raises ParameterError for a path without a name, and if the folder cannot be created.
    """
    file = Path(path)
    if not file.name:
        raise ParameterError(f"path must name a file, such as 'figure.pdf' or 'table.csv', got {str(path)!r}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"path: cannot write to {file.parent}: {error.strerror}") from None
    return file


@dataclass(frozen=True)
class Results:
    """What the last cell publishes: every number of the page, unrounded, for `evalkit report` to write as JSON."""

    results: Mapping[str, Any]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"application/vnd.evalkit+json": plain(self.results), "text/plain": ""}


PLAIN = (str, int, bool, type(None))  # what JSON has as it is: most of what many comparisons hold


def plain(value: Any) -> Any:
    """The value for JSON: without numpy types, and with null for NaN and infinity, which JSON lacks."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return str(value)
