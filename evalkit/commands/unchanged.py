"""Whether a report would be made of what it was made of before: `evalkit report --if-changed`."""

import json
from typing import NamedTuple

from evalkit import report
from evalkit.arrays import InputError, Record
from evalkit.commands import batch
from evalkit.commands.requests import ReportJob
from evalkit.limits import USUAL
from evalkit.parameters.reports import NOTEBOOKS, Parameters
from evalkit.reading.tables import sources
from evalkit.studies import provenance, units

READ_FROM_FILES = (".py:", ".toml")  # in a parameter: files whose contents the JSON does not have


class InputFile(NamedTuple):
    """A file that was read: its name as printed, and its SHA-256, "" for what is no file."""

    name: str
    sha256: str


def results(job: ReportJob) -> Record | None:
    """The results of the report that is there, if its inputs, parameters and versions are those of
    the job; None if anything differs or is not known.

    Only a bundled notebook is known not to have changed, and only parameters that name no further
    files and have no data, of which the JSON has the type alone.
    """
    if not job.bundled or any(map(_names_file, job.parameters.values())):
        return None
    path = job.folder / f"{job.name}.json"
    try:
        stored: Record = json.loads(path.read_text(encoding="utf-8"))
        return stored if _is_of(stored, job) else None
    except (OSError, ValueError, KeyError, TypeError):  # another file, or an input that is refused
        return None


def _names_file(value: object) -> bool:
    """True if a parameter names a file whose contents the JSON does not have, such as a policy."""
    return any(mark in str(value) for mark in READ_FROM_FILES)


def _is_of(stored: Record, job: ReportJob) -> bool:
    """True if a report has all its files, and was made of the inputs, parameters and versions that
    the job has now. Raises KeyError, TypeError or ValueError for results of another form.
    """
    if stored["report"] != job.bundled or stored["versions"] != provenance.versions():
        return False
    if any(not (job.folder / f"{job.name}{ending}").exists() for ending in _endings(stored)):
        return False
    parameters = NOTEBOOKS[job.bundled].from_raw(job.parameters)
    if provenance.holds_data(parameters.given):
        return False
    # as JSON has them, where a tuple is a list
    stated = json.loads(json.dumps(provenance.printable(parameters.given)))
    if stored["parameters"] != stated or stored.get("settings", "") != job.origin:
        return False
    files = {InputFile(source["name"], source["sha256"]) for source in stored["inputs"]}
    return files == _files(parameters)


def _endings(stored: Record) -> list[str]:
    """The endings of the files that the report has for certain: that of its units unless they were
    not asked for, or may have been too many.
    """
    without_units = list(report.CONTENTS)
    asks_for_units = stored["parameters"].get("units")  # None: unless they are too many
    if asks_for_units is False or stored["report"] == "diff":  # its units are those of two reports
        return without_units
    systems = set()
    for table_results in batch.results_by_table(stored):
        for estimate in table_results.get("estimates") or []:
            systems.add(estimate["system"])
    rows = sum(file["rows"] for file in stored["inputs"])
    may_be_too_many = rows * len(systems) > units.MOST  # a unit has at least one row
    if may_be_too_many and not asks_for_units:
        return without_units
    return [*without_units, report.UNITS]


def _files(parameters: Parameters) -> set[InputFile]:
    """The files that the parameters name now. Raises InputError if they name none, or data that are
    no file.
    """
    header = getattr(parameters, "header", None)
    files = set()
    for table in parameters.tables:
        for source in sources.parts(table, header, USUAL.reading):
            files.add(InputFile(source.name, source.fingerprint(0).sha256))
    if not files or any(not file.sha256 for file in files):
        raise InputError("there is no file to compare")
    return files
