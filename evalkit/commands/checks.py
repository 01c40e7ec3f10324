"""What is checked before a report: `evalkit doctor` an installation, `evalkit inspect FILE…` an
input.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.commands import requests
from evalkit.machine import folders, processors, terminal
from evalkit.machine.bundled_files import bundled_notebooks
from evalkit.numbers import count_with_noun

if TYPE_CHECKING:
    from evalkit.reading.tables.parts import InputPart
    from evalkit.studies.inspection import ReportReading

DISTRIBUTION = "evalkit-reports"
SPILLED_BYTES = 10**9  # that a large table may write to the temporary folder
# what an optional extra of the distribution is for
EXTRAS = {
    "docs": "the site of the documentation",
    "excel": "to_excel of tables",
    "spark": "Spark tables",
}


class CheckLine(NamedTuple):
    """One line of a check: its status, what is checked, and what was found."""

    status: str
    subject: str
    result: str


OK = "ok"
MISSING = "missing"
OPTIONAL = "optional"  # not there, and most reports do not need it


def _status(is_there: object, otherwise: str = MISSING) -> str:
    """OK for what is there, `otherwise` for what is not: None, False, 0 or empty."""
    return OK if is_there else otherwise


def doctor(options: Namespace) -> int:
    """Print one line per check; return 1 if something that a report needs is missing."""
    checks = list(chain.from_iterable(check() for check in CHECKS))
    for check in checks:
        terminal.show_line(f"{check.status:<8} {check.subject}: {check.result}")
    if any(check.status == MISSING for check in checks):
        return requests.FAILED
    return requests.DONE


def _python() -> Iterator[CheckLine]:
    """Whether Python is new enough, and on which machine it runs."""
    yield CheckLine(
        _status(sys.version_info >= (3, 11)),
        "Python",
        f"{platform.python_version()} on {platform.platform()}",
    )


def _packages() -> Iterator[CheckLine]:
    """The packages that evalkit requires, those of its extras, and their versions."""
    try:
        yield CheckLine(OK, DISTRIBUTION, version(DISTRIBUTION))
        requirements = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        yield CheckLine(
            MISSING, DISTRIBUTION, "not installed; run pip install -e . in the checkout"
        )
        return
    for line in requirements:
        requirement, _, extra = line.partition("; extra == ")
        if extra:
            yield _extra_package(requirement, extra.strip("'\""))
        else:
            yield _package(requirement, MISSING, f"required: {requirement}")


def _extra_package(requirement: str, extra: str) -> CheckLine:
    """Whether the package of an optional extra is installed."""
    purpose = f"{requirement}, only for {EXTRAS[extra]}: pip install '{DISTRIBUTION}[{extra}]'"
    return _package(requirement, OPTIONAL, purpose)


def _package(requirement: str, otherwise: str, purpose: str) -> CheckLine:
    """Whether the package of a requirement such as `numpy>=2.0` is installed.

    otherwise: the status if it is not. purpose: words about what it is for.
    """
    name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
    try:
        return CheckLine(OK, name, f"{version(name)} ({purpose})")
    except PackageNotFoundError:
        return CheckLine(otherwise, name, f"not installed ({purpose})")


def _kernel() -> Iterator[CheckLine]:
    """Whether the kernel of the reports is installed."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        yield CheckLine(
            OK, "kernel python3", KernelSpecManager().get_kernel_spec("python3").argv[0]
        )
    except NoSuchKernel:
        yield CheckLine(
            MISSING, "kernel python3", "not installed; run python -m ipykernel install --sys-prefix"
        )


def _folders() -> Iterator[CheckLine]:
    """Whether reports can be written to the folder "reports", or where it would be made; whether
    the temporary folder has room for tables that do not fit into memory; and where the bundled
    notebooks are.
    """
    folder = folders.nearest_existing_folder(Path("reports"))  # the nearest parent that exists
    can_write = os.access(folder, os.W_OK)
    yield CheckLine(_status(can_write), "folder of reports", str(folder.resolve()))
    temporary_folder = Path(tempfile.gettempdir())
    free_bytes = shutil.disk_usage(temporary_folder).free
    has_room = os.access(temporary_folder, os.W_OK) and free_bytes > SPILLED_BYTES
    yield CheckLine(
        _status(has_room), "temporary folder", f"{temporary_folder}, {free_bytes / 1e9:.1f} GB free"
    )
    notebooks = bundled_notebooks()
    if notebooks.is_dir():
        yield CheckLine(OK, "bundled notebooks", str(notebooks))
    else:
        yield CheckLine(OPTIONAL, "bundled notebooks", "none")


def _machine() -> Iterator[CheckLine]:
    """What large tables can use."""
    import psutil

    memory = psutil.virtual_memory().total
    yield CheckLine(
        OK, "memory and processors", f"{memory / 1e9:.1f} GB, {os.cpu_count()} processors"
    )
    if processors.this_process_sorts_slowly():
        setting = f"{processors.DISABLED_FEATURES_VARIABLE}=X86_V4"
        advice = (
            f"slow on this processor; before Python starts, set {setting} "
            f"(reports do so themselves)"
        )
        yield CheckLine(OPTIONAL, "numpy's sort", advice)
    else:
        yield CheckLine(OK, "numpy's sort", processors.sort_name())


def _java() -> Iterator[CheckLine]:
    """What Spark tables need beside the package."""
    java = shutil.which("java")
    yield CheckLine(_status(java, OPTIONAL), "Java", java or "not found; only for Spark tables")


CHECKS: tuple[Callable[[], Iterator[CheckLine]], ...] = (
    _python,
    _packages,
    _kernel,
    _folders,
    _machine,
    _java,
)


def inspect(options: Namespace) -> int:
    """Try every report, or the one that was named, on the files, and print the command of each that
    can read them, the one whose columns fit best first. If none can, or the user asks why, also
    print what the files hold and why the other reports refuse them. Return 2 if none can.
    """
    from evalkit.parameters.reports import REPORTS
    from evalkit.studies import inspection

    names = list(REPORTS)
    if options.report:
        name = requests.ALIASES.get(options.report, options.report)
        if name not in REPORTS:
            raise requests.RequestRefused(
                f"--report must be one of {', '.join(REPORTS)}, got {name!r}"
            )
        names = [name]
    with requests.input_errors_refused():
        readings = _readings(options, names)
        contents = _contents(options.files)
    is_read = False
    for reading in readings:
        if reading.inspection:  # None if the report refuses the files
            is_read = True
            description = inspection.described(reading.inspection, options.files)
            terminal.show_line(f"{reading.command}  # {reading.report}: {description}")
    if options.why or not is_read:
        for line in contents:
            terminal.show_line(line)
        for reading in readings:
            if not reading.inspection:
                terminal.show(
                    requests.message_in_lines(f"{reading.report}: refused: {reading.refusal}")
                )
    return requests.DONE if is_read else requests.REFUSED


def _readings(options: Namespace, names: list[str]) -> list["ReportReading"]:
    """How each of these reports reads the files with the parameters that were given."""
    from evalkit.studies import inspection

    file = requests.settings(options.file)
    values = requests.parameters(options.parameters, file, requests.parameters_as_texts())
    return inspection.readings(options.files, names, values, dict(options.parameters))


def _contents(files: list[str]) -> list[str]:
    """What the files hold, a line for each table in them: its number of rows, and its columns with
    their types if the file states types. For large files a last line says that the values were not
    read.
    """
    from evalkit.reading.tables import sources
    from evalkit.studies import inspection

    lines = []
    tables = sources.parts(list(files))
    for table in tables:
        columns = []
        for name in table.columns:
            # Arrow's name of the type, "" if none is stated; "large_" is how Arrow stores texts
            type_name = table.stored_types.get(name, "").removeprefix("large_")
            described = f"{name} ({type_name})" if type_name else name
            columns.append(described)
        lines.append(f"{table.name}: {_size(table)}; columns {', '.join(columns)}")
    if not inspection.small(tables):
        lines.append(
            f"values: not read, as there are more than {inspection.SMALL:,} rows; the report "
            f"checks them"
        )
    return lines


def _size(table: "InputPart") -> str:
    """The number of rows of a table in words; "about" if it is estimated from the file's size."""
    from evalkit.reading.tables.parts import HEAD

    if table.known_rows is not None:
        return count_with_noun(table.known_rows, "row")
    cells_of_a_column = next(iter(table.head.values()), ())
    rows_of_head = len(cells_of_a_column)
    if 0 < rows_of_head < HEAD:  # the head, of at most HEAD rows, is then the whole table
        return count_with_noun(rows_of_head, "row")
    return f"about {count_with_noun(table.rows, 'row')}"
