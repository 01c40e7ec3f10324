"""One report: a notebook run with its parameters, its files written, and its outcome."""

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit import report
from evalkit.commands import requests
from evalkit.commands.requests import Refused, Settings

DONE, FAILED, REFUSED, GATE = 0, 1, 2, 3
UNITS = "units.parquet"  # what a run leaves on its desk


@dataclass(frozen=True)
class Job:
    """A report to make: the notebook, its parameters, and the name and the folder of its files.

    origin: the file of settings that parameters came from, "" where none did. bundled: the notebook is evalkit's own.
    """

    notebook: Any
    parameters: dict[str, Any]
    folder: Path
    name: str
    origin: str = ""
    bundled: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a report: the exit status, the page, lines for stderr, and the results that were published."""

    status: int
    page: Path | None = None
    messages: tuple[str, ...] = ()
    results: dict[str, Any] | None = None


def job(path: Path, options: Any, file: Settings, name: str | None, more: dict[str, str] | None = None) -> Job:
    """The report that the options ask for, checked before a kernel starts. more: further parameters, as text.

    Raises Refused for a notebook, a parameter, a name or a folder that cannot be.
    """
    notebook = requests.load(path)
    pairs = [*options.parameters, *(more or {}).items()]
    parameters = requests.parameters(pairs, file, requests.declared(notebook, path))
    requests.refuse_values(parameters, path)
    files = requests.name(name, path.stem)
    requests.refuse_folder(options.folder, path)
    return Job(notebook, parameters, options.folder, files, file.origin, requests.report_of(path) is not None)


def quiet() -> None:
    """Silence the loggers that repeat, in many lines, the one line at the end."""
    for logger in ("papermill", "asyncio"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)


def made(job: Job, desk: Path, *, bar: bool = False) -> Outcome:
    """Make the report. desk: a folder for what a run leaves. bar: shows progress. Raises Refused as `finish` does."""
    from evalkit import running

    units = desk / UNITS
    units.unlink(missing_ok=True)  # what a run that failed has left
    shown = job.name if bar else ""
    run = running.execute(job.notebook, job.parameters, origin=job.origin, units=units, here=job.bundled, bar=shown)
    return finish(run, job.folder, job.name)


def finish(run: report.Run, folder: Path, name: str) -> Outcome:
    """Write the files of a run. Raises Refused where the run refused its input, and for a folder that cannot be."""
    if run.failure and run.failure.name in report.REFUSALS:
        raise Refused(run.failure.message)
    other = report.replaced(folder, name, run)
    page = _write(folder, name, report.files(run))[0]
    if run.failure:
        return Outcome(FAILED, page, (f"run failed: {run.failure.name}: {run.failure.message}; see {page}",))
    report.discard(folder, name, run)
    note = (f"note: this replaced a report of other data ({other}); --name NAME keeps both",) if other else ()
    return _gated(Outcome(DONE, page, note, run.results))


def _gated(outcome: Outcome) -> Outcome:
    """The outcome, with the gate that the report failed."""
    gate = (outcome.results or {}).get("gate") or {}
    if gate.get("passed") is not False:
        return outcome
    failed = ", ".join(gate.get("failed", []))
    rule = gate.get("rule", "no rule given")
    message = f"gate failed: {rule}{f': not met by {failed}' if failed else ''}"
    return replace(outcome, status=GATE, messages=(*outcome.messages, message))


def _write(folder: Path, name: str, contents: Mapping[str, str | Path]) -> list[Path]:
    try:
        return report.write(folder, name, contents)
    except OSError as error:
        raise Refused(f"cannot write to {folder}: {error.strerror}") from None


def say(message: str, status: int) -> int:
    """Print one line on stderr and return the status."""
    print(f"evalkit: {' '.join(message.split())}", file=sys.stderr)
    return status
