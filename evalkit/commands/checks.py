"""What is checked before a report: `evalkit doctor` an installation, `evalkit inspect FILE…` an
input.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import system
from evalkit.commands import requests
from evalkit.numbers import counted

DISTRIBUTION = "evalkit-reports"
SPACE = 10**9  # bytes that a large table may spill
# what an optional extra of the distribution is for
EXTRAS = {
    "docs": "the site of the documentation",
    "excel": "to_excel of tables",
    "spark": "Spark tables",
}


class Check(NamedTuple):
    """One line of a check: its status, its subject, its finding."""

    mark: str
    what: str
    seen: str


# optional: not there, and most reports do not need it
OK, MISSING, OPTIONAL = (
    "ok",
    "missing",
    "optional",
)


def _mark(there: object, lacking: str = MISSING) -> str:
    return OK if there else lacking


def doctor(options: Any) -> int:
    """Print one line per check; return 1 if something that a report needs is missing."""
    checks = [check for checks in CHECKS for check in checks()]
    for check in checks:
        system.show_line(f"{check.mark:<8} {check.what}: {check.seen}")
    return requests.FAILED if any(check.mark == MISSING for check in checks) else requests.DONE


def _python() -> Iterator[Check]:
    yield Check(
        _mark(sys.version_info >= (3, 11)),
        "Python",
        f"{platform.python_version()} on {platform.platform()}",
    )


def _packages() -> Iterator[Check]:
    """The packages that evalkit requires, those of its extras, and their versions."""
    try:
        yield Check(OK, DISTRIBUTION, version(DISTRIBUTION))
        requirements = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        yield Check(MISSING, DISTRIBUTION, "not installed; run pip install -e . in the checkout")
        return
    for line in requirements:
        requirement, _, extra = line.partition("; extra == ")
        if extra:
            yield _extra_package(requirement, extra.strip("'\""))
        else:
            yield _package(requirement, MISSING, f"required: {requirement}")


def _extra_package(requirement: str, extra: str) -> Check:
    purpose = f"{requirement}, only for {EXTRAS[extra]}: pip install '{DISTRIBUTION}[{extra}]'"
    return _package(requirement, OPTIONAL, purpose)


def _package(requirement: str, lacking: str, purpose: str) -> Check:
    """Whether the package of a requirement such as `numpy>=2.0` is installed."""
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    try:
        return Check(OK, name, f"{version(name)} ({purpose})")
    except PackageNotFoundError:
        return Check(lacking, name, f"not installed ({purpose})")


def _kernel() -> Iterator[Check]:
    """Whether the kernel of the reports is installed."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        yield Check(OK, "kernel python3", KernelSpecManager().get_kernel_spec("python3").argv[0])
    except NoSuchKernel:
        yield Check(
            MISSING, "kernel python3", "not installed; run python -m ipykernel install --sys-prefix"
        )


def _folders() -> Iterator[Check]:
    """Whether reports can be written here, and tables spilled."""
    here = system.nearest(Path("reports"))
    spill = Path(tempfile.gettempdir())
    yield Check(_mark(os.access(here, os.W_OK)), "folder of reports", str(here.resolve()))
    free = shutil.disk_usage(spill).free
    roomy = os.access(spill, os.W_OK) and free > SPACE
    yield Check(_mark(roomy), "temporary folder", f"{spill}, {free / 1e9:.1f} GB free")
    folder = system.bundled_notebooks()
    yield Check(
        _mark(folder.is_dir(), OPTIONAL),
        "bundled notebooks",
        str(folder) if folder.is_dir() else "none",
    )


def _machine() -> Iterator[Check]:
    """What large tables can use."""
    import psutil

    memory = psutil.virtual_memory().total
    yield Check(OK, "memory and processors", f"{memory / 1e9:.1f} GB, {os.cpu_count()} processors")
    advice = (
        f"slow on this processor; before Python starts, set {system.SWITCH}=X86_V4 (reports do so "
        f"themselves)"
    )
    slow = system.this_one_sorts_slowly()
    yield Check(_mark(not slow, OPTIONAL), "numpy's sort", advice if slow else system.sort_is())


def _java() -> Iterator[Check]:
    """What Spark tables need beside the package."""
    java = shutil.which("java")
    yield Check(_mark(java, OPTIONAL), "Java", java or "not found; only for Spark tables")


CHECKS: tuple[Callable[[], Iterator[Check]], ...] = (
    _python,
    _packages,
    _kernel,
    _folders,
    _machine,
    _java,
)


def inspect(options: Any) -> int:
    """Print the command of the closest report, and of each other one that reads the files; return 2
    if none does.
    """
    from evalkit.parameters.reports import REPORTS
    from evalkit.studies import inspection

    named = requests.ALIASES.get(options.report, options.report)
    names = [named] if named else list(REPORTS)
    if unknown := [name for name in names if name not in REPORTS]:
        raise requests.Refused(f"--report must be one of {', '.join(REPORTS)}, got {unknown[0]!r}")
    with requests.one_line():
        found = _readings(options, names)
        about = _table(options.files)
    read = [one for one in found if one.inspection]
    for one in read:
        line = (
            f"{one.command}  # {one.report}: {inspection.described(one.inspection, options.files)}"
        )
        system.show_line(line)
    if options.why or not read:
        for line in about:
            system.show_line(line)
        for one in found:
            if not one.inspection:
                system.show(requests.in_lines(f"{one.report}: refused: {one.refusal}"))
    return requests.DONE if read else requests.REFUSED


def _readings(options: Any, names: list[str]) -> list[Any]:
    """How each report reads the files with the parameters that are given."""
    from evalkit.studies import inspection

    file = requests.settings(options.file)
    values = requests.parameters(options.parameters, file, requests.written_options())
    return inspection.readings(options.files, names, values, dict(options.parameters))


def _table(files: list[str]) -> list[str]:
    """The parts of the input, a line each: rows and columns, with the types that a part states."""
    from evalkit.reading.tables import sources
    from evalkit.reading.tables.parts import HEAD
    from evalkit.studies import inspection

    lines = []
    parts = sources.parts(list(files))
    for part in parts:
        first = len(next(iter(part.head.values()), ()))
        is_whole = part.known_rows is None and 0 < first < HEAD
        rows = first if is_whole else part.rows
        about = "" if is_whole or part.known_rows is not None else "about "
        types = {
            name: f" ({kind.removeprefix('large_')})" for name, kind in part.stored_types.items()
        }
        columns = (f"{name}{types.get(name, '')}" for name in part.columns)
        lines.append(f"{part.name}: {about}{counted(rows, 'row')}; columns {', '.join(columns)}")
    if not inspection.small(parts):
        lines.append(
            f"values: not read, as there are more than {inspection.SMALL:,} rows; the report "
            f"checks them"
        )
    return lines
