"""The notebooks and samples that come with evalkit: in an installed package, or at the top of a checkout."""

import copy
import os
from functools import cache
from pathlib import Path
from typing import Any


@cache
def package() -> Path:
    """The folder of the package, found when it is asked for: a worker of a cluster has the modules without files."""
    from importlib.resources import files

    return Path(os.fspath(files("evalkit"))).resolve()  # type: ignore[call-overload]


@cache
def root() -> Path:
    """The folder that holds notebooks/ and data/.

    A path and no stream: papermill, Jupyter and DuckDB open files themselves.
    """
    return package() if (package() / "notebooks").is_dir() else package().parent


def notebooks() -> Path:
    """The folder of the notebooks that are called by name."""
    return root() / "notebooks"


def is_checkout() -> bool:
    """True if evalkit runs from a checkout, where notebooks/ lies beside the package."""
    return root() != package() and notebooks().is_dir()


def blank(notebook: Any) -> str:
    """The text of a notebook without outputs."""
    import nbformat

    out = copy.deepcopy(notebook)
    for cell in out.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return str(nbformat.writes(out))
