"""The folders of the package, and of the notebooks and data that come with it."""

import os
from functools import cache
from pathlib import Path


@cache
def package_folder() -> Path:
    """The folder of the package, determined when called, because workers of a cluster have modules
    without files.
    """
    from importlib.resources import files

    return Path(os.fspath(files("evalkit"))).resolve()  # type: ignore[call-overload]


@cache
def bundled_root() -> Path:
    """The folder with notebooks/ and data/.

    It is a path, not a stream, because papermill, Jupyter and DuckDB open files themselves.
    """
    if (package_folder() / "notebooks").is_dir():
        return package_folder()
    return package_folder().parent


def bundled_notebooks() -> Path:
    """The folder of the notebooks that can be called by name."""
    return bundled_root() / "notebooks"
