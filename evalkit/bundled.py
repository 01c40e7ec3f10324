"""The notebooks and samples that come with evalkit: in an installed package, or at the top of a checkout."""

import os
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


@cache
def root() -> Path:
    """The folder that holds notebooks/ and data/.

    A path and no stream: papermill, Jupyter and DuckDB open files themselves.
    """
    from importlib.resources import files

    package = Path(os.fspath(files("evalkit")))  # type: ignore[call-overload]
    return package if (package / "notebooks").is_dir() else PACKAGE.parent


def notebooks() -> Path:
    """The folder of the notebooks that are called by name."""
    return root() / "notebooks"


def is_checkout() -> bool:
    """True if evalkit runs from a checkout, where notebooks/ lies beside the package."""
    return root() == PACKAGE.parent and notebooks().is_dir()
