"""Whether a report would be made of what it was made of before: `evalkit report --if-changed`."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit import report
from evalkit.arrays import InputError
from evalkit.commands import batch
from evalkit.commands.requests import Job
from evalkit.limits import USUAL
from evalkit.parameters.reports import NOTEBOOKS, Parameters
from evalkit.reading.tables import sources
from evalkit.studies import provenance, units

READ_FROM_FILES = (".py:", ".toml")  # in a parameter: files whose contents the JSON does not have


class InputFile(NamedTuple):
    """A file that was read: its name as printed, and its SHA-256."""

    name: str
    sha256: str


def results(job: Job) -> dict[str, Any] | None:
    """The results of the report that is there, if its inputs, parameters and versions are those of
    the job; None if anything differs or is not known.

    Only a bundled notebook is known not to have changed, and only parameters that name no further
    files and have no data, of which the JSON has the type alone.
    """
    texts = [str(value) for value in job.parameters.values()]
    names_files = any(mark in text for mark in READ_FROM_FILES for text in texts)
    if names_files or not job.bundled:
        return None
    path = job.folder / f"{job.name}.json"
    try:
        stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        asked = NOTEBOOKS[job.bundled].from_raw(job.parameters)
        same = (
            stored["report"] == job.bundled
            and all((job.folder / f"{job.name}{ending}").exists() for ending in _endings(stored))
            and stored["versions"] == provenance.versions()
            and not provenance.holds_data(asked.given)
            and stored["parameters"] == json.loads(json.dumps(provenance.printable(asked.given)))
            and stored.get("settings", "") == job.origin
            and {InputFile(i["name"], i["sha256"]) for i in stored["inputs"]} == _files(asked)
        )
    except (OSError, ValueError, KeyError, TypeError):  # another file, or an input that is refused
        return None
    return stored if same else None


def _endings(stored: Mapping[str, Any]) -> list[str]:
    """The endings of the files that the report has for certain: that of its units unless they were
    not asked for, or may have been too many.
    """
    asked = stored["parameters"].get("units")
    if asked is False or stored["report"] == "diff":  # whose units are those of its two reports
        return [*report.CONTENTS]
    estimates = [row for part in batch.parts(stored) for row in part.get("estimates") or []]
    systems = {row["system"] for row in estimates}
    rows = sum(file["rows"] for file in stored["inputs"])
    many = rows * len(systems) > units.MOST  # a unit has at least one row
    return [*report.CONTENTS] if many and not asked else [*report.CONTENTS, report.UNITS]


def _files(asked: Parameters) -> set[InputFile]:
    """The files that the parameters name now."""
    header = getattr(asked, "header", None)
    parts = [part for table in asked.tables for part in sources.parts(table, header, USUAL.reading)]
    files = {InputFile(part.name, part.fingerprint(0).sha256) for part in parts}
    if not files or any(not file.sha256 for file in files):
        raise InputError("there is no file to compare")
    return files
