"""What a command is asked for, and one report: its notebook run with parameters, its files written,
its outcome.
"""

from __future__ import annotations

import copy
import hashlib
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from evalkit import report
from evalkit.machine import folders, terminal
from evalkit.machine.bundled_files import bundled_notebooks

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from evalkit.arrays import Record
    from evalkit.parameters.cells import Listing
    from evalkit.parameters.kinds import Parameter
    from evalkit.parameters.reports import Parameters

LARGEST = 10**6  # bytes of a file of settings
ENTRY_PREFIX = "\n  "  # before each entry of a listing in a message
ALIASES = {"ab": "interleaving", "evals": "significance"}  # what people look for


class RequestRefused(Exception):
    """The request cannot be carried out; the message is the line to print."""


@contextmanager
def input_errors_refused() -> Iterator[None]:
    """A context that raises RequestRefused in place of InputError (or ParameterError, a subclass),
    so that the command prints the message alone, without a traceback.
    """
    from evalkit.arrays import InputError

    try:
        yield
    except InputError as error:
        raise RequestRefused(str(error)) from None


# Notebooks ----------------------------------------------------------------------------------------


def find(name_or_path: str, folder: Path) -> Path:
    """Return the path of a notebook from its path, or from its name in the folder of evalkit's own
    notebooks. Raises RequestRefused for an unknown name, with the similar ones.
    """
    name_or_path = ALIASES.get(name_or_path, name_or_path)
    if name_or_path.endswith(".ipynb") or "/" in name_or_path or os.sep in name_or_path:
        return Path(name_or_path)
    path = folder / f"{name_or_path}.ipynb"
    if path.is_file():
        return path
    if not folder.is_dir():
        need = f"{name_or_path!r} must be the path of a notebook (.ipynb)"
        raise RequestRefused(f"evalkit is installed without its notebooks, so {need}")
    from evalkit.parameters.kinds import did_you_mean

    names = sorted(notebook_path.stem for notebook_path in folder.glob("*.ipynb"))
    hint = did_you_mean(name_or_path, names)
    raise RequestRefused(
        f"no notebook named {name_or_path!r}{hint}; there are: "
        f"{', '.join(names) or 'none'}{advice_to_quote(name_or_path)}"
    )


def advice_to_quote(name: str) -> str:
    """The advice to quote a pattern that a shell has replaced by the names of files; "" if this is
    no file.

    >>> advice_to_quote("ranking")
    ''
    """
    return "; put a pattern of files in quotes: -p preds '*.csv'" if Path(name).is_file() else ""


def load(path: Path) -> NotebookNode:
    """The notebook in a file. Raises RequestRefused if the file holds none."""
    try:
        return report.read(path)
    except OSError as error:
        raise RequestRefused(f"cannot read {path}: {error.strerror}") from None
    # nbformat raises these for text, other JSON and old formats
    except (ValueError, AttributeError, KeyError):
        raise RequestRefused(f"{path} is not a Jupyter notebook") from None


def blank(notebook: NotebookNode) -> str:
    """The text of a notebook without outputs."""
    import nbformat

    blanked = copy.deepcopy(notebook)
    for cell in blanked.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    return str(nbformat.writes(blanked))


def declared(notebook: NotebookNode, path: Path) -> dict[str, Parameter]:
    """The parameters that a notebook declares, by name; none without a cell of parameters."""
    from evalkit.parameters import cells

    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if not tagged:
        return {}
    try:
        return cells.declared(tagged[0].source)
    except SyntaxError as error:
        raise RequestRefused(
            f"{path}: the parameters cell is not Python: {error.msg} (line {error.lineno})"
        ) from None


def listing(path: Path) -> Listing:
    """The parameters of a notebook: for a bundled one without reading it, for others from the
    parameters cell.
    """
    from evalkit.parameters import cells

    report_parameters = bundled_parameters_class(path)
    if report_parameters is not None:
        return cells.Listing(path.stem, report_parameters.options().values())
    return cells.Listing(path.stem, declared(load(path), path).values())


def bundled_parameters_class(path: Path) -> type[Parameters] | None:
    """The parameters of a bundled notebook, None for any other."""
    from evalkit.parameters.reports import PARAMETERS_BY_NOTEBOOK

    return (
        PARAMETERS_BY_NOTEBOOK.get(path.stem)
        if path.resolve().parent == bundled_notebooks()
        else None
    )


# Parameters ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SettingsFile:
    """The parameters of a settings file. origin: its name and SHA-256, "" if there is no file."""

    values: Mapping[str, object]
    origin: str = ""


def settings(path: Path | None) -> SettingsFile:
    """Read a settings file (TOML or YAML), whose keys are the parameters. Raise Refused for an
    unreadable file.
    """
    if path is None:
        return SettingsFile({})
    import tomllib

    try:
        source = path.read_bytes()
        if len(source) > LARGEST:
            raise RequestRefused(
                f"-f: {path} must have at most {LARGEST:,} bytes, got {len(source):,}"
            )
        text = source.decode("utf-8")
        is_yaml = path.suffix in (".yaml", ".yml")
        values = _read_yaml(text) if is_yaml else tomllib.loads(text)
    except OSError as error:
        raise RequestRefused(f"-f: cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise RequestRefused(f"-f: {path} is nested too deep") from None
    except ValueError as error:
        raise RequestRefused(f"-f: {path} is not a TOML or YAML file: {error}") from None
    origin = f"{path.name}, SHA-256 {hashlib.sha256(source).hexdigest()}"
    return SettingsFile({name: _plain(value) for name, value in values.items()}, origin)


def _read_yaml(text: str) -> dict[str, object]:
    """The parameters of a file of YAML, as papermill has them; ValueError for anything else."""
    import yaml

    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    if not isinstance(values, dict):
        raise ValueError("it must name parameters, such as preds: a.csv")
    return {str(name): value for name, value in values.items() if value is not None}


def _plain(value: object) -> object:
    """A value of TOML as `-p` would give it: dates and times become text."""
    if isinstance(value, Mapping):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return value if isinstance(value, str | bool | int | float) else str(value)


def parameters(
    pairs: Sequence[Sequence[str]], file: SettingsFile, known: Mapping[str, Parameter]
) -> dict[str, object]:
    """The values by name: those of the settings file, overridden by those of the command line. The
    text of a command line is read as a number or a list unless the parameter is a text. Raises
    Refused for a parameter that is unknown, or given twice on the command line.

    pairs: name and text of each `-p`. known: the parameters that there are, by name.
    """
    from evalkit.parameters.cells import typed
    from evalkit.parameters.kinds import refuse_unknown

    names = [name for name, _ in pairs]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise RequestRefused(f"parameter {repeated[0]!r} is given twice")
    values = dict(file.values)
    with input_errors_refused():
        refuse_unknown([*values, *names], known)
        for name, text in pairs:
            values[name] = typed(text, known[name])
    return values


def refuse_values(values: Mapping[str, object], path: Path) -> None:
    """Raise Refused for values, and for inputs by their columns, that a bundled notebook would
    reject, before a kernel starts. A notebook of one's own checks its parameters itself.

    values: the parameters by name. path: of the notebook.
    """
    from evalkit.parameters.reports import REPORTS

    parameters_class = bundled_parameters_class(path)
    if parameters_class is None:  # not a bundled notebook
        return
    with input_errors_refused():
        parameters = parameters_class.from_raw(values)
    # without a value of the user's the report reads the bundled sample, whose columns are known
    if parameters.given_values and path.stem in REPORTS:
        from evalkit.studies import inspection

        with input_errors_refused():
            inspection.check_headers(parameters)


# Names and folders --------------------------------------------------------------------------------


def report_file_name(option: str | None, default: str) -> str:
    """The name of the report's files. Raises RequestRefused if no file can have it.

    option: the value of `--name`, None if it is not set.
    """
    name = default if option is None else option
    has_separator = any(mark in name for mark in ("/", os.sep, "\n", "\r"))
    if not name.strip() or name.startswith(".") or has_separator:
        raise RequestRefused(
            f"--name must be a file name without a folder and without a leading dot, got {name!r}"
        )
    size = len(os.fsencode(name))
    if size > report.longest_name():
        raise RequestRefused(
            f"--name must be at most {report.longest_name()} bytes long, got {size} ({name[:40]}…)"
        )
    return name


def refuse_folder(folder: Path, notebook_path: Path) -> None:
    """Reject, before a long run, a folder that is not writable or that contains the notebook
    itself.
    """
    try:
        folder.exists()
    except OSError as error:  # such as a name that is too long
        raise RequestRefused(f"-o {str(folder)[:80]}: {error.strerror}") from None
    if folder.resolve() == notebook_path.resolve().parent:
        raise RequestRefused(
            f"-o {folder} is the notebook's own folder; the report would overwrite the notebook"
        )
    nearest = folders.nearest_existing_folder(folder)
    if not nearest.is_dir():
        raise RequestRefused(f"-o {folder}: {nearest} is not a folder")
    if not os.access(nearest, os.W_OK):
        raise RequestRefused(f"-o {folder}: {nearest} is not writable")


# exit statuses: GATE of a report whose gate failed
DONE = 0
FAILED = 1
REFUSED = 2
GATE = 3
NOTEBOOK = ".ipynb"
UNITS = "units.parquet"  # what a run leaves on its desk


@dataclass(frozen=True)
class ReportJob:
    """A report to make: the notebook, its parameters, and the name and the folder of its files.

    origin: the settings file of the parameters, "" if there is none. bundled: the name of the
    report if the notebook is evalkit's own, and so are all its sections; "" otherwise. if_changed:
    a report that would be the same again is not made.
    """

    notebook: NotebookNode
    parameters: Record
    folder: Path
    name: str
    origin: str = ""
    bundled: str = ""
    if_changed: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of a report: the exit status, the page, lines for stderr, and the published
    results.
    """

    status: int
    page: Path | None = None
    messages: tuple[str, ...] = ()
    results: Record | None = None


def checked_report_job(
    path: Path,
    options: Namespace,
    file: SettingsFile,
    name: str | None,
    further: Mapping[str, str] = MappingProxyType({}),
) -> ReportJob:
    """The report that the options request, checked before a kernel starts.

    path: of the notebook. file: the settings file, whose parameters those of the options override.
    name: of the report's files; None: that of the notebook. further: parameters beside those of the
    options, as text. Raises RequestRefused for an invalid notebook, parameter, name or folder.
    """
    notebook = load(path)
    pairs = [*options.parameters, *further.items()]
    values = parameters(pairs, file, declared(notebook, path))
    refuse_values(values, path)
    sections = _sections(notebook, values)
    file_name = report_file_name(name, path.stem)
    refuse_folder(options.folder, path)
    # evalkit runs its own cells in this process; those of a notebook of the user's, as report or as
    # section, need a kernel, as they may show what only a kernel shows
    has_cells_of_user = bundled_parameters_class(path) is None or any(map(_is_notebook, sections))
    bundled = "" if has_cells_of_user else path.stem
    return ReportJob(
        notebook,
        values,
        options.folder,
        file_name,
        origin=file.origin,
        bundled=bundled,
        if_changed=getattr(options, "if_changed", False),
    )


def _is_notebook(section: str) -> bool:
    """True for a section that is a notebook of the user's."""
    return section.endswith(NOTEBOOK)


def _sections(notebook: NotebookNode, values: Mapping[str, object]) -> list[str]:
    """The sections that are asked for, none for all. Raises RequestRefused for one that the
    notebook lacks.
    """
    if values.get("sections") is None:
        return []
    from evalkit.page.arrangement import check
    from evalkit.parameters.kinds import texts

    with input_errors_refused():
        names = texts("sections", values["sections"])
        check(notebook.cells, names)
    return names


def closest(options: Namespace, names: Sequence[str] = ()) -> str:
    """The name of the report that reads the files of `preds` best, where the user names no report;
    says so on stderr. Raises RequestRefused if none reads them, or if the user has to choose
    between columns.

    names: the reports to choose from; empty for all.
    """
    from evalkit.reading.matching import commands
    from evalkit.studies import inspection

    files = _files_of_preds(options)
    if not files:
        raise RequestRefused("name a report, such as classification, or a file: -p preds FILE")
    other_texts = {name: text for name, text in options.parameters if name != "preds"}
    values = parameters(list(other_texts.items()), settings(options.file), parameters_as_texts())
    reports = names or inspection.BY_CLOSENESS
    with input_errors_refused():
        # how each report reads the files, the closest first, those that refuse them last
        readings = inspection.readings(files, reports, values, other_texts)
    closest_reading = readings[0]
    if closest_reading.inspection is None:  # it refuses the files, and so do all
        refusals = [f"{reading.report}: {reading.refusal}" for reading in readings]
        raise RequestRefused(commands.listing(f"no report reads {files[0]}", refusals))
    if closest_reading.choice:  # only after a choice between columns that fit equally well
        ways = [reading.command for reading in readings if reading.inspection]
        count = "several ways" if len(ways) > 1 else "one way, if this is meant"
        raise RequestRefused(commands.listing(f"{files[0]} can be read in {count}", ways))
    description = message_in_lines(inspection.described(closest_reading.inspection, files))
    command = closest_reading.command
    line = f"evalkit: no report was named, this is: {command}  # {description}"
    terminal.show_line(line, sys.stderr)
    return closest_reading.report


def _files_of_preds(options: Namespace) -> list[str]:
    """The files that the options name as `preds`, each of which may be a list or a pattern."""
    from evalkit.parameters.kinds import split_paths

    files = list[str]()
    for name, text in options.parameters:
        if name == "preds":
            listed = split_paths(name, text)
            if isinstance(listed, list):
                files += listed
            else:  # a single file, as it is written
                files.append(text)
    return files


def parameters_as_texts() -> dict[str, Parameter]:
    """The parameters of all reports by name, each declared as a text: while the report is not
    known, a value stays as it is written. The reports read the same name in different ways.
    """
    from evalkit.parameters.kinds import WRITTEN  # the kind of a text
    from evalkit.parameters.reports import REPORTS

    options = {}
    for parameters_of_report in REPORTS.values():
        for name, parameter in parameters_of_report.options().items():
            options[name] = replace(parameter, kind=WRITTEN)
    return options


def silence_loggers() -> None:
    """Silence the loggers that repeat the final line in many lines."""
    for logger in ("papermill", "asyncio"):
        logging.getLogger(logger).setLevel(logging.CRITICAL)


def make(job: ReportJob, desk: Path, *, bar: bool = False) -> Outcome:
    """Run the notebook of the job and write the report; if the job asks so, leave a stored report
    of the same inputs, parameters and versions as it is. Raises RequestRefused if the run rejects
    its input, and for an unusable folder.

    desk: a folder for the file of units, until it is copied. bar: shows progress.
    """
    from evalkit import running

    if job.if_changed:
        from evalkit.commands import unchanged

        stored = unchanged.results(job)
        if stored is not None:  # the results of that report
            page = job.folder / f"{job.name}.html"
            note = f"note: {page} is unchanged: the same inputs, parameters and versions"
            return _with_gate(Outcome(DONE, page, (note,), stored))
    units = desk / UNITS
    units.unlink(missing_ok=True)  # of an earlier run that failed
    name_on_bar = job.name if bar else ""
    run = running.execute(
        job.notebook,
        job.parameters,
        origin=job.origin,
        units=units,
        in_process=bool(job.bundled),
        bar=name_on_bar,
    )
    return finish(run, job.folder, job.name)


def finish(run: report.Run, folder: Path, name: str) -> Outcome:
    """Write the files of a run, also of one that failed, and return how it ended. Raises
    RequestRefused if the run rejected its input, and for an unusable folder; then nothing is
    written.
    """
    if run.failure and run.failure.name in report.REFUSALS:
        raise RequestRefused(run.failure.message)
    other_data = report.replaced(folder, name, run)  # looked up before the files are replaced
    page = _write(folder, name, report.files(run))[0]
    if run.failure:
        message = f"run failed: {run.failure.name}: {run.failure.message}; see {page}"
        return Outcome(FAILED, page, (message,))
    report.discard(folder, name, run)  # files of earlier runs that do not belong beside this one
    notes = tuple[str, ...]()
    if other_data:
        notes = (
            f"note: this replaced a report of other data ({other_data}); --name NAME keeps both",
        )
    # a report whose gate fails is written as well, but ends with another status
    return _with_gate(Outcome(DONE, page, notes, run.results))


def _with_gate(outcome: Outcome) -> Outcome:
    """The outcome; if the gate of its report failed, with that status and message."""
    gate = (outcome.results or {}).get("gate") or {}
    if gate.get("passed") is not False:
        return outcome
    # the notebook may publish a gate of its own
    message = gate.get("message") or f"gate failed: {gate.get('rule', 'no rule given')}"
    return replace(outcome, status=GATE, messages=(*outcome.messages, message))


def _write(folder: Path, name: str, contents: Mapping[str, str | Path]) -> list[Path]:
    """Write the files of a report, by their ending, and return their paths, the page first. Raises
    Refused if they cannot be written.
    """
    try:
        return report.write(folder, name, contents)
    except OSError as error:
        raise RequestRefused(f"cannot write to {folder}: {error.strerror}") from None


def print_message(message: str, status: int) -> int:
    """Print a message on stderr, each entry of a `listing` in a line of its own, and return the
    status.
    """
    terminal.show(f"evalkit: {message_in_lines(message)}", sys.stderr)
    return status


def message_in_lines(message: str) -> str:
    """A message in one line, and in a further one each entry of its listing."""
    return ENTRY_PREFIX.join(" ".join(line.split()) for line in message.split(ENTRY_PREFIX))
