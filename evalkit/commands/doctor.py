"""`evalkit doctor`: whether this installation can make a report: versions, kernel, folders, what is optional."""

import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import bundled, kernels, processor
from evalkit.commands.runs import DONE, FAILED

SPACE = 10**9  # bytes that a large table may spill


class Check(NamedTuple):
    """One line: how it is, what was looked at, what was seen."""

    mark: str
    what: str
    seen: str


OK, MISSING, OPTIONAL = "ok", "missing", "optional"  # optional: not there, and most reports do not need it


def _needed(there: object) -> str:
    return OK if there else MISSING


def _wanted(there: object) -> str:
    return OK if there else OPTIONAL


def main(options: Any) -> int:
    """Print one line per check; return 1 where something that a report needs is missing."""
    checks = [check for checks in CHECKS for check in checks()]
    for check in checks:
        print(f"{check.mark:<8} {check.what}: {check.seen}")
    return FAILED if any(check.mark == MISSING for check in checks) else DONE


def _python() -> Iterator[Check]:
    yield Check(_needed(sys.version_info >= (3, 11)), "Python", f"{platform.python_version()} on {platform.platform()}")


def _packages() -> Iterator[Check]:
    """The packages that evalkit requires, and their versions."""
    ours = next(iter(packages_distributions().get("evalkit", ())), None)
    if ours is None:
        yield Check(MISSING, "evalkit", "not installed; run pip install -e . in the checkout")
        return
    yield Check(OK, ours, version(ours))
    for line in (line for line in requires(ours) or [] if "extra ==" not in line):
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        try:
            yield Check(OK, name, f"{version(name)} (required: {line})")
        except PackageNotFoundError:
            yield Check(MISSING, name, f"not installed (required: {line})")


def _kernel() -> Iterator[Check]:
    """Whether the kernel of the reports is installed."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        yield Check(OK, "kernel python3", KernelSpecManager().get_kernel_spec("python3").argv[0])
    except NoSuchKernel:
        yield Check(MISSING, "kernel python3", "not installed; run python -m ipykernel install --sys-prefix")


def _folders() -> Iterator[Check]:
    """Whether reports can be written here, and tables spilled."""
    here, spill = kernels.nearest(Path("reports")), Path(tempfile.gettempdir())
    yield Check(_needed(os.access(here, os.W_OK)), "folder of reports", str(here.resolve()))
    free = shutil.disk_usage(spill).free
    yield Check(
        _needed(os.access(spill, os.W_OK) and free > SPACE), "temporary folder", f"{spill}, {free / 1e9:.1f} GB free"
    )
    folder = bundled.notebooks()
    yield Check(_wanted(folder.is_dir()), "bundled notebooks", str(folder) if folder.is_dir() else "none")


def _machine() -> Iterator[Check]:
    """What large tables can use."""
    import psutil

    memory = psutil.virtual_memory().total
    yield Check(OK, "memory and processors", f"{memory / 1e9:.1f} GB, {os.cpu_count()} processors")
    advice = f"slow on this processor; before Python starts, set {processor.SWITCH}=X86_V4 (reports do so themselves)"
    slow = processor.this_one_sorts_slowly()
    yield Check(_wanted(not slow), "numpy's sort", advice if slow else processor.sort_is())


def _spark() -> Iterator[Check]:
    """What Spark tables need."""
    there = importlib.util.find_spec("pyspark") is not None
    yield Check(_wanted(there), "pyspark", version("pyspark") if there else "not installed; only for Spark tables")
    java = shutil.which("java")
    yield Check(_wanted(java), "Java", java or "not found; only for Spark tables")


CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (_python, _packages, _kernel, _folders, _machine, _spark)
