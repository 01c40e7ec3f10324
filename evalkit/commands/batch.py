"""Several reports by one command: a list of notebooks, one report for each file, or the diffs of
two folders.
"""

import glob
import json
import math
import re
import signal
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from evalkit import numbers, report
from evalkit.arrays import Record
from evalkit.commands import requests
from evalkit.commands.requests import (
    DONE,
    FAILED,
    GATE,
    REFUSED,
    Outcome,
    ReportJob,
    RequestRefused,
)
from evalkit.machine import folders, kernels, terminal

WORST = (FAILED, REFUSED, GATE, DONE)  # of several statuses the first that occurs
WIDEST = 60  # letters of a column of the table


@dataclass(frozen=True)
class Planned:
    """A report of the batch: the name of its files, and its notebook and parameters, or why they
    are rejected.
    """

    name: str
    job: ReportJob | None
    refused: str = ""


@dataclass(frozen=True)
class InputFiles:
    """The files of which each gets a report of its own.

    parameter: the one that takes the file.
    """

    parameter: str
    files: tuple[str, ...]


class Request(NamedTuple):
    """A report that the options ask for: the name of its files, its notebook, and parameters by
    name that are its own.
    """

    name: str
    notebook_path: Path
    parameters: dict[str, str]


def plan(options: Namespace, settings: requests.SettingsFile) -> list[Planned]:
    """All reports that the options request, each checked before the first kernel starts. The
    options have several notebooks, or `each`, a pattern of files with a report for each file.

    Raises RequestRefused for what concerns all of them: a missing notebook, a pattern without a
    file, one name for two reports.
    """
    paths = [requests.find(notebook, options.folder_of_notebooks) for notebook in options.notebook]
    inputs = None if options.each is None else input_files(options.each)
    all_requests = list(_requests(paths, inputs))
    names = Counter(request.name for request in all_requests)
    ((name, count),) = names.most_common(1)
    if count > 1:
        raise RequestRefused(f"two reports would have the name {name!r}")
    # refused even if a pattern matches a single file, as it may match any number
    if options.name is not None:
        raise RequestRefused(f"--name names one report, got {len(all_requests)}")
    return [planned(request, options, settings) for request in all_requests]


def _requests(notebooks: Sequence[Path], inputs: InputFiles | None) -> Iterator[Request]:
    """A report of each notebook; with input files one of each notebook and file."""
    for notebook in notebooks:
        if inputs is None:
            yield Request(notebook.stem, notebook, {})
            continue
        for name, file in zip(_names(inputs.files), inputs.files, strict=True):
            yield Request(f"{notebook.stem}-{name}", notebook, {inputs.parameter: file})


def planned(request: Request, options: Namespace, settings: requests.SettingsFile) -> Planned:
    """A checked report, or the reason why it is rejected."""
    name, notebook, parameters = request
    try:
        return Planned(
            name, requests.checked_report_job(notebook, options, settings, name, parameters)
        )
    except RequestRefused as error:
        return Planned(name, None, str(error))


def input_files(pattern: str) -> InputFiles:
    """The files of a pattern, in order; `log=PATTERN` names the parameter, otherwise it is `preds`.

    Raises RequestRefused for a pattern that matches nothing.
    """
    parameter = "preds"
    named = re.fullmatch(r"([a-z_]+)=(.+)", pattern)
    if named:
        parameter, pattern = named.groups()
    matched = tuple(sorted(glob.glob(pattern, recursive=True)))
    if not matched:
        raise RequestRefused(f"--each: no file matches {pattern!r}")
    return InputFiles(parameter, matched)


def _names(files: Sequence[str]) -> list[str]:
    """A name for each file: its own without ending; where two files have the same, each has its
    folders in front, "runs-a-scores.csv".
    """
    paths = [Path(file) for file in files]
    stems = [path.name.split(".")[0] for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [_name_with_folders(path) for path in paths]


def _name_with_folders(path: Path) -> str:
    """The path with hyphens between its parts, without the root and parent folders ("..")."""
    names = [name for name in path.parts if name not in (path.anchor, "..")]
    return "-".join(names)


# Running ------------------------------------------------------------------------------------------


def run(planned: Sequence[Planned], workers: int) -> list[Outcome]:
    """Make the planned reports, several at once in at most `workers` processes, and print the
    outcome of each as it ends. Return all outcomes in the order of the plan; a report that was
    rejected when it was planned has its rejection as outcome.
    """
    jobs = dict[int, ReportJob]()  # by place in the plan, as the outcomes
    outcomes = dict[int, Outcome]()
    for i, report_planned in enumerate(planned):
        if report_planned.job is not None:
            jobs[i] = report_planned.job
        else:
            outcomes[i] = Outcome(REFUSED, messages=(report_planned.refused,))
            _print_outcome(report_planned.name, outcomes[i])
    if workers == 1 or len(jobs) == 1:
        for i, job in jobs.items():
            outcomes[i] = _make(job)
            _print_outcome(job.name, outcomes[i])
        return [outcomes[i] for i in range(len(planned))]
    pool = ProcessPoolExecutor(
        min(workers, len(jobs)), get_context("spawn"), initializer=_prepare_process
    )
    try:
        place_of_task = {pool.submit(_make, job): i for i, job in jobs.items()}
        for task in as_completed(place_of_task):
            i = place_of_task[task]
            outcomes[i] = _outcome(task)
            _print_outcome(jobs[i].name, outcomes[i])
    except BaseException:  # interrupted: the reports that the processes are making are not written
        kernels.end_processes()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return [outcomes[i] for i in range(len(planned))]


def _prepare_process() -> None:
    """At the start of a process: leave interrupts to the command, which ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests.silence_loggers()


def _make(job: ReportJob) -> Outcome:
    """Make a report, and remove its temporary files and open figures, as one process makes several
    reports. An error on the input is returned as an outcome, so that the others are made.
    """
    with folders.scratch_folder() as run_folder:
        try:
            return requests.make(job, run_folder)
        except RequestRefused as error:
            return Outcome(REFUSED, messages=(str(error),))
        finally:
            # a report without figures has not imported it
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")


def _outcome(task: Future[Outcome]) -> Outcome:
    """The outcome of a task that has ended; that of a failed run if its process was killed."""
    try:
        return task.result()
    except BrokenProcessPool:
        return Outcome(FAILED, messages=("run failed: its process was ended",))


def _print_outcome(name: str, outcome: Outcome) -> None:
    """Print the path of a page that was made on stdout, and the messages on stderr."""
    if outcome.page and outcome.status != FAILED:
        terminal.show(outcome.page)
    for message in outcome.messages:
        requests.print_message(f"{name}: {message}", outcome.status)


# The table at the end -----------------------------------------------------------------------------


def status(outcomes: Sequence[Outcome]) -> int:
    """The exit status of the batch: that of a failed report, else of a rejected one, else of a
    gate.
    """
    statuses = {outcome.status for outcome in outcomes}
    return next(status for status in WORST if status in statuses)


def table(planned: Sequence[Planned], outcomes: Sequence[Outcome]) -> str:
    """One line per report: its name, how it ended, and its first comparison."""
    rows = [("report", "status", "verdict")]
    for report_planned, outcome in zip(planned, outcomes, strict=True):
        status = STATUS_NAMES[outcome.status]
        rows.append((report_planned.name, status, _verdict_or_message(outcome)))
    name_width = max(len(name) for name, _, _ in rows)
    status_width = max(len(status) for _, status, _ in rows)
    lines = [f"{name:<{name_width}}  {status:<{status_width}}  {end}" for name, status, end in rows]
    return "\n".join(line.rstrip() for line in lines)


COMPARISON_COLUMNS = (
    "report",
    "status",
    "page",
    "verdict",
    "metric",
    "first",
    "second",
    "difference",
    "low",
    "high",
    "p",
    "adjusted",
)
ESTIMATE_COLUMNS = ("system", "metric", "value", "low", "high")


def records(planned: Sequence[Planned], outcomes: Sequence[Outcome]) -> list[Record]:
    """The table unrounded, a row for each report and comparison of its headline; one system has its
    first estimate.
    """
    rows: list[Record] = []
    for report_planned, outcome in zip(planned, outcomes, strict=True):
        rows += _records(report_planned.name, outcome)
    return rows


def _records(name: str, outcome: Outcome) -> list[Record]:
    """The rows of one report in the table of all: a row for each comparison of its headline; the
    first estimate if nothing is compared; and a row with its status alone if it has neither, as
    one that failed.
    """
    results = outcome.results or {}
    shared_columns = {
        "report": name,
        "status": STATUS_NAMES[outcome.status],
        "page": outcome.page and outcome.page.name,
    }
    if "verdict" in results:  # of a validation report
        shared_columns["verdict"] = results["verdict"]["word"]
    if outcome.messages:
        shared_columns["message"] = " ".join(outcome.messages)
    all_results = results_by_table(results)  # an interleaving report has them of two tables
    rows: list[dict[str, object]] = []
    for table_results in all_results:
        for comparison in table_results.get("headline") or []:
            rows.append(_with_columns(comparison, COMPARISON_COLUMNS))
    if not rows:
        for table_results in all_results:
            for estimate in (table_results.get("estimates") or [])[:1]:
                rows.append(_with_columns(estimate, ESTIMATE_COLUMNS))
    if not rows:
        rows.append({})
    return [shared_columns | row for row in rows]


def _with_columns(row: Record, names: Sequence[str]) -> dict[str, object]:
    """The columns of these names, as far as the row has them."""
    return {name: row[name] for name in names if name in row}


def write(rows: Sequence[Record], folder: Path) -> None:
    """Write the rows of all reports, see `frames_as_records`, to each.csv and each.json in a
    folder."""
    import pandas as pd

    from evalkit.drawing.spreadsheets import escape_formulas

    frame = pd.DataFrame(rows)
    order = [*COMPARISON_COLUMNS, "system", "value", "message"]
    frame = frame[[name for name in order if name in frame]]  # reports differ in their columns
    escape_formulas(frame).to_csv(folder / "each.csv", index=False)
    frame.to_json(
        folder / "each.json", orient="records", indent=1, double_precision=15, force_ascii=False
    )


STATUS_NAMES = {DONE: "done", FAILED: "failed", REFUSED: "refused", GATE: "gate failed"}


def _verdict_or_message(outcome: Outcome) -> str:
    """The verdict of a report that has results, else the start of its messages."""
    if outcome.results is None:
        return numbers.cut(" ".join(outcome.messages), WIDEST)
    return " ".join(verdict(outcome.results).split())  # names may hold line breaks


def verdict(results: Record) -> str:
    """The results of a report in one line: its verdict, which only a validation report has; else
    the first comparison of each table, if systems are compared; else its first estimate.
    """
    validation = results.get("verdict")
    if validation:
        return f"{validation['word']}: {validation['because']}"
    comparisons = []
    for table_results in results_by_table(results):  # one table, or two of an interleaving report
        headline = table_results.get("headline")
        if headline:
            comparisons.append(_comparison(headline[0]))
    if comparisons:
        return "; ".join(comparisons)
    return _first_estimate(results)


def results_by_table(results: Record) -> list[Record]:
    """The results of each table that has a headline of its own: those of the report, or those of
    the log and of the users within an interleaving report.
    """
    possible = (results, results.get("log"), results.get("users"))
    return [of_table for of_table in possible if isinstance(of_table, Mapping)]


def _comparison(row: Record) -> str:
    """The first comparison of the page, with the digits that its interval deserves."""
    low, high = numbers.limits_from_json(row["low"], row["high"])
    difference = "undefined"
    if row["difference"] is not None and math.isnan(low):
        difference = f"{numbers.signed_number(row['difference'])} no interval"
    elif row["difference"] is not None:
        difference = numbers.estimate(row["difference"], low, high, numbers.signed_number)
    return f"{row['verdict']}: {row['first']} − {row['second']} on {row['metric']} {difference}"


def _first_estimate(results: Record) -> str:
    """The first estimate of a report without a comparison; "" without estimates."""
    rows = results.get("estimates") or []
    if rows and rows[0]["value"] is not None:
        return f"{rows[0]['system']}: {rows[0]['metric']} {rows[0]['value']:.3g}"
    return ""


def main(options: Namespace) -> int:
    """Make all reports of a command, print the table of their outcomes, and return the exit status.
    With a report for each file of a pattern, the table is also written to files, with an index
    page of the folder.
    """
    planned = plan(options, requests.settings(options.file))
    try:
        outcomes = run(planned, options.workers)
    finally:
        _clean_up(planned)
    if options.each is not None and any(outcome.page for outcome in outcomes):
        write(records(planned, outcomes), options.folder)
        from evalkit.commands import index

        try:
            index.write(options.folder)
        except RequestRefused as error:
            requests.print_message(str(error), REFUSED)
    terminal.show(f"\n{table(planned, outcomes)}", sys.stderr)
    return status(outcomes)


def _clean_up(planned: Sequence[Planned]) -> None:
    """Stop kernels that an interrupted run left behind, and remove temporary files: the usual ones,
    and those of large inputs in each folder that a report names for them (spill).
    """
    spill_folders = set()
    for report_planned in planned:
        if report_planned.job is not None:
            spill_folders.add(report_planned.job.parameters.get("spill"))
    if not spill_folders:
        spill_folders.add(None)  # the usual files are removed even if every report was rejected
    for spill in spill_folders:
        kernels.clean(spill)


# Diffs of two reports, or of every report that two folders share ----------------------------------


def diff(options: Namespace) -> int:
    """Make the diffs and print the table of each; return the exit status."""
    requests.silence_loggers()
    all_diffs = diffs(options)
    outcomes = run(all_diffs, options.workers)
    for outcome in outcomes:
        if outcome.results is not None:
            terminal.show(f"\n{account(outcome.results)}")
    if len(all_diffs) > 1:
        terminal.show(f"\n{table(all_diffs, outcomes)}", sys.stderr)
    return status(outcomes)


def diffs(options: Namespace) -> list[Planned]:
    """All diffs that are asked for: one of two or more reports, the oldest first; or if the last
    two paths are folders, one for each report that both have. Raises RequestRefused for fewer than
    two paths, and for folders that share no report.
    """
    reports = [Path(path) for path in options.reports]
    if len(reports) < 2:
        raise RequestRefused("diff needs two reports, OLD and NEW, got one")
    reports_by_name = {"diff": reports}  # by the name of the diff
    old, new = reports[-2:]
    if old.is_dir() and new.is_dir():
        names = report_names_in_both(old, new)
        if options.name is not None and len(names) > 1:
            raise RequestRefused(f"--name names one report, got {len(names)}")
        reports_by_name = {}
        for name in names:
            unit_files = [folder / f"{name}{report.UNITS}" for folder in reports]
            reports_by_name[f"diff-{name}"] = unit_files
    notebook = requests.find("diff", options.folder_of_notebooks)
    settings = requests.settings(options.file)
    all_diffs = []
    for name, paths in reports_by_name.items():
        request = Request(options.name or name, notebook, diff_parameters(paths))
        all_diffs.append(planned(request, options, settings))
    return all_diffs


def diff_parameters(reports: Sequence[Path]) -> dict[str, str]:
    """The parameters of a diff as text; of earlier folders those that have the report."""
    *earlier, old, new = map(str, reports)
    existing = []
    for path in earlier:
        if Path(path).exists() or not path.endswith(report.UNITS):
            existing.append(path)
    parameters = {"old": old, "new": new}
    if existing:
        parameters["earlier"] = json.dumps(existing)
    return parameters


def report_names_in_both(old: Path, new: Path) -> list[str]:
    """The names of the reports that both folders have, sorted; a note on stderr names those that
    only one has. Raises RequestRefused if they have none in common.
    """
    old_names = _report_names(old)
    new_names = _report_names(new)
    in_both = sorted(old_names & new_names)
    in_one = ", ".join(sorted(old_names ^ new_names))
    if not in_both:
        raise RequestRefused(
            f"{old} and {new} must share a report with units (NAME{report.UNITS}); they have "
            f"{in_one or 'none'}"
        )
    if in_one:
        terminal.show(f"evalkit: note: only in one of the folders: {in_one}", sys.stderr)
    return in_both


def _report_names(folder: Path) -> set[str]:
    """The names of the reports with units in a folder."""
    return {report.stem(file) for file in folder.glob(f"*{report.UNITS}")}


def _limits(row: Record) -> dict[str, float]:
    """The limits of a row of the account: of the difference and of the change, by column."""
    limits = {}
    for low_name, high_name in (("low", "high"), ("change_low", "change_high")):
        low, high = numbers.limits_from_json(row.get(low_name), row.get(high_name))
        limits[low_name] = low
        limits[high_name] = high
    return limits


def account(results: Record) -> str:
    """The results of a diff as text for a terminal: the change of each metric of each system as a
    sum of terms, then notes: the slice that changed most, and what could not be compared.

    results: of the JSON of the diff. Only a line of text if both reports have the same values.
    """
    if results["same"]:
        return "no difference: the same units with the same values"
    import pandas as pd

    from evalkit.findings.kinds import NO_COMMON_UNITS, NOT_COMPARED
    from evalkit.pages import diff_page

    rows = [row | _limits(row) for row in results["account"]]
    frame = pd.DataFrame(rows).fillna(float("nan"))  # unknown numbers are None in JSON
    primary = frame["metric"][0]  # the metric that decides stands first
    notes = diff_page.most_changed(primary, results["most_changed"])
    for finding in results["findings"]:
        if finding["code"] in (NO_COMMON_UNITS.code, NOT_COMPARED.code):
            notes.append(finding["message"])
    return "\n".join([diff_page.account_table(frame).text, *notes])
