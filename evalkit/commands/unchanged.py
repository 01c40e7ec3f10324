"""Whether a report would be made of what it was made of before: `evalkit report --if-changed`."""

import json
from typing import NamedTuple

from evalkit import report
from evalkit.arrays import InputError, Record
from evalkit.commands import batch
from evalkit.commands.requests import ReportJob
from evalkit.limits import USUAL_LIMITS
from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK, Parameters
from evalkit.reading.tables import sources
from evalkit.studies import provenance, units

READ_FROM_FILES = (".py:", ".toml")  # in a parameter: files whose contents the JSON does not have


class InputFile(NamedTuple):
    """A file that was read: its name as printed, and its SHA-256, "" for what is no file."""

    name: str
    sha256: str


def results(job: ReportJob) -> Record | None:
    """The results of the report that was made before, if the job would make the same again: with
    the same inputs, parameters and versions. None if anything differs or cannot be known.

    It cannot be known for a notebook of the user, nor if a parameter names a file whose contents
    the JSON does not have, or is data, of which the JSON has only the type.
    """
    if not job.bundled or any(map(_names_file, job.parameters.values())):
        return None
    path = job.folder / f"{job.name}.json"
    try:
        stored: Record = json.loads(path.read_text(encoding="utf-8"))
        return stored if _would_be_same(stored, job) else None
    # no such file, a file of another kind, or an input that is refused
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _names_file(value: object) -> bool:
    """True if a parameter names a file whose contents the JSON does not have, such as a policy."""
    return any(mark in str(value) for mark in READ_FROM_FILES)


def _would_be_same(stored: Record, job: ReportJob) -> bool:
    """True if a report still has all its files, and was made from the inputs, parameters, settings
    file and versions that the job has now. stored: the results in its JSON.

    Raises KeyError, TypeError or ValueError for results of another form.
    """
    if stored["report"] != job.bundled or stored["versions"] != provenance.versions():
        return False
    for ending in _certain_endings(stored):
        if not (job.folder / f"{job.name}{ending}").exists():
            return False
    parameters = PARAMETERS_BY_NOTEBOOK[job.bundled].from_raw(job.parameters)
    if provenance.holds_data(parameters.given_values):
        return False
    printable = provenance.printable(parameters.given_values)
    as_stored = json.loads(json.dumps(printable))  # through JSON, where a tuple becomes a list
    if stored["parameters"] != as_stored:
        return False
    if stored.get("settings", "") != job.origin:  # the file that the parameters are from
        return False
    stored_files = {InputFile(source["name"], source["sha256"]) for source in stored["inputs"]}
    return stored_files == _input_files(parameters)


def _certain_endings(stored: Record) -> list[str]:
    """The endings of the files that the report must have. The file of its units is among them only
    if it was certainly written: if it was asked for, or if units were not too many to write it
    unasked. stored: the results in its JSON.
    """
    without_units = list(report.CONTENTS)  # the endings of the page, the notebook and the JSON
    asks_for_units = stored["parameters"].get("units")  # None: written unless they are too many
    # a diff has no units of its own: they are those of its two reports
    if asks_for_units is False or stored["report"] == "diff":
        return without_units
    systems = set()
    for table_results in batch.results_by_table(stored):
        for estimate in table_results.get("estimates") or []:
            systems.add(estimate["system"])
    rows = sum(file["rows"] for file in stored["inputs"])
    # the limit is for units times systems, and there are at most as many units as rows
    may_be_too_many = rows * len(systems) > units.MOST
    if may_be_too_many and not asks_for_units:
        return without_units
    return [*without_units, report.UNITS]


def _input_files(parameters: Parameters) -> set[InputFile]:
    """The input files that the parameters name, with the SHA-256 that they have now. Raises
    InputError if they name none, or an input that is no file, such as a data frame.
    """
    header = getattr(parameters, "header", None)  # only some reports have this parameter
    files = set()
    for table in parameters.tables:
        # a table may have several files
        for part in sources.parts(table, header, USUAL_LIMITS.reading):
            rows = 0  # are stated beside the SHA-256, which does not need them
            files.add(InputFile(part.name, part.fingerprint(rows).sha256))
    if not files or any(not file.sha256 for file in files):
        raise InputError("there is no file to compare")
    return files
