"""Several reports by one command: a list of notebooks, one report for each file, or the diffs of
two folders.
"""

import glob
import json
import math
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from evalkit import numbers, report, system
from evalkit.commands import requests
from evalkit.commands.requests import DONE, FAILED, GATE, REFUSED, Job, Outcome, Refused

WORST = (FAILED, REFUSED, GATE, DONE)  # of several statuses the first that occurs
WIDEST = 60  # letters of a column of the table


@dataclass(frozen=True)
class Planned:
    """A report of the batch: the name of its files, and its notebook and parameters, or why they
    are rejected.
    """

    name: str
    job: Job | None
    refused: str = ""


@dataclass(frozen=True)
class Each:
    """One input for each report: the parameter that takes it, and the files."""

    parameter: str
    files: tuple[str, ...]


def plan(options: Any, settings: requests.Settings) -> list[Planned]:
    """All reports that the options request, each checked before the first kernel starts.

    Raises Refused for what concerns all of them: a missing notebook, a pattern without a file, one
    name for two reports.
    """
    paths = [requests.find(notebook, options.folder_of_notebooks) for notebook in options.notebook]
    inputs = None if options.each is None else each(options.each)
    asked = list(_asked(paths, inputs))
    names = [name for name, _, _ in asked]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Refused(f"two reports would have the name {twice[0]!r}")
    if options.name is not None:
        raise Refused(f"--name names one report, got {len(asked)}")
    return [planned(name, path, more, options, settings) for name, path, more in asked]


def _asked(
    paths: Sequence[Path], inputs: Each | None
) -> Iterator[tuple[str, Path, dict[str, str]]]:
    """Name, notebook and further parameters of every report."""
    for path in paths:
        if inputs is None:
            yield path.stem, path, {}
        else:
            for name, file in zip(_names(inputs.files), inputs.files, strict=True):
                yield f"{path.stem}-{name}", path, {inputs.parameter: file}


def planned(
    name: str, path: Path, more: dict[str, str], options: Any, settings: requests.Settings
) -> Planned:
    """A checked report, or the reason why it is rejected."""
    try:
        return Planned(name, requests.job(path, options, settings, name, more))
    except Refused as error:
        return Planned(name, None, str(error))


def each(pattern: str) -> Each:
    """The files of a pattern, in order; `log=PATTERN` names the parameter, otherwise it is `preds`.

    Raises Refused for a pattern that matches nothing.
    """
    named = re.fullmatch(r"([a-z_]+)=(.+)", pattern)
    parameter, files = (named[1], named[2]) if named else ("preds", pattern)
    matched = tuple(sorted(glob.glob(files, recursive=True)))
    if not matched:
        raise Refused(f"--each: no file matches {files!r}")
    return Each(parameter, matched)


def _names(files: Sequence[str]) -> list[str]:
    """A name for each file: its own without ending, with its folders where two files have the
    same.
    """
    paths = [Path(file) for file in files]
    stems = [path.name.split(".")[0] for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    return [_name_with_folders(path) for path in paths]


def _name_with_folders(path: Path) -> str:
    return "-".join(part for part in path.parts if part not in (path.anchor, ".."))


# Running ------------------------------------------------------------------------------------------


def run(planned: Sequence[Planned], workers: int) -> list[Outcome]:
    """Make the reports, in `workers` processes at once; print the outcome of each as it ends."""
    jobs = {i: p.job for i, p in enumerate(planned) if p.job is not None}
    outcomes = {
        i: _said(p.name, Outcome(REFUSED, messages=(p.refused,)))
        for i, p in enumerate(planned)
        if not p.job
    }
    if workers == 1 or len(jobs) == 1:
        outcomes |= {i: _said(job.name, _made(job)) for i, job in jobs.items()}
        return [outcomes[i] for i in range(len(planned))]
    pool = ProcessPoolExecutor(min(workers, len(jobs)), get_context("spawn"), initializer=_start)
    try:
        tasks = {pool.submit(_made, job): i for i, job in jobs.items()}
        for task in as_completed(tasks):
            outcomes[tasks[task]] = _said(jobs[tasks[task]].name, _outcome(task))
    except BaseException:  # interrupted: what the processes are at is not written
        system.end_processes()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return [outcomes[i] for i in range(len(planned))]


def _start() -> None:
    """At the start of a process: an interrupt of the command ends it by way of the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests.quiet()


def _made(job: Job) -> Outcome:
    """Make a report, and leave nothing of it to the next."""
    with system.scratch_folder() as desk:
        try:
            return requests.made(job, desk)
        except Refused as error:
            return Outcome(REFUSED, messages=(str(error),))
        finally:
            if "matplotlib.pyplot" in sys.modules:
                sys.modules["matplotlib.pyplot"].close("all")


def _outcome(task: Future[Outcome]) -> Outcome:
    try:
        return task.result()
    except BrokenProcessPool:
        return Outcome(FAILED, messages=("run failed: its process was ended",))


def _said(name: str, outcome: Outcome) -> Outcome:
    if outcome.page and outcome.status != FAILED:
        system.show(outcome.page)
    for message in outcome.messages:
        requests.say(f"{name}: {message}", outcome.status)
    return outcome


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
    rows += [(p.name, ENDED[o.status], _said_of(o)) for p, o in zip(planned, outcomes, strict=True)]
    wide = [max(len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(
        f"{name:<{wide[0]}}  {ended:<{wide[1]}}  {said}".rstrip() for name, ended, said in rows
    )


ROW = (
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
OF_SYSTEM = ("system", "metric", "value", "low", "high")


def records(planned: Sequence[Planned], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The table unrounded, a row for each report and comparison of its headline; one system has its
    first estimate.
    """
    return [row for p, o in zip(planned, outcomes, strict=True) for row in _records(p.name, o)]


def _records(name: str, outcome: Outcome) -> list[dict[str, Any]]:
    results = outcome.results or {}
    of = {
        "report": name,
        "status": ENDED[outcome.status],
        "page": outcome.page and outcome.page.name,
    }
    of |= {"verdict": results["verdict"]["word"]} if "verdict" in results else {}
    of |= {"message": " ".join(outcome.messages)} if outcome.messages else {}
    said: list[tuple[Any, Sequence[str]]]
    said = [(row, ROW) for part in parts(results) for row in part.get("headline") or []]
    said = said or [
        (row, OF_SYSTEM) for part in parts(results) for row in (part.get("estimates") or [])[:1]
    ]
    return [of | {name: row[name] for name in names if name in row} for row, names in said] or [of]


def write(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """The table as each.csv and each.json."""
    import pandas as pd

    from evalkit.drawing import tables

    names = [*ROW, "system", "value", "message"]
    frame = pd.DataFrame(rows, columns=[name for name in names if any(name in row for row in rows)])
    tables.spreadsheet(frame).to_csv(folder / "each.csv", index=False)
    frame.to_json(
        folder / "each.json", orient="records", indent=1, double_precision=15, force_ascii=False
    )


ENDED = {DONE: "done", FAILED: "failed", REFUSED: "refused", GATE: "gate failed"}


def _said_of(outcome: Outcome) -> str:
    if outcome.results is None:
        return numbers.cut(" ".join(outcome.messages), WIDEST)
    return " ".join(verdict(outcome.results).split())  # names may hold line breaks


def verdict(results: Mapping[str, Any]) -> str:
    """The results of a report in one line: its verdict, its first comparisons, or its first
    number.
    """
    if trust := results.get("verdict"):
        return f"{trust['word']}: {trust['because']}"
    headlines = [part["headline"] for part in parts(results) if part.get("headline")]
    return "; ".join(_comparison(rows[0]) for rows in headlines) or _value(results)


def parts(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts with a headline of their own: the report, or the log and the users of an
    interleaving report.
    """
    return [
        part
        for part in (results, results.get("log"), results.get("users"))
        if isinstance(part, Mapping)
    ]


def _comparison(row: dict[str, Any]) -> str:
    """The first comparison of the page, with the digits that its interval deserves."""
    low, high = numbers.limits_from_json(row["low"], row["high"])
    difference = "undefined"
    if row["difference"] is not None and math.isnan(low):
        difference = f"{numbers.signed(row['difference'])} no interval"
    elif row["difference"] is not None:
        difference = numbers.estimate(row["difference"], low, high, numbers.signed)
    return f"{row['verdict']}: {row['first']} − {row['second']} on {row['metric']} {difference}"


def _value(results: Mapping[str, Any]) -> str:
    """The first estimate of a report without a comparison."""
    rows = results.get("estimates") or []
    if rows and rows[0]["value"] is not None:
        return f"{rows[0]['system']}: {rows[0]['metric']} {rows[0]['value']:.3g}"
    return ""


def main(options: Any) -> int:
    """Make the reports of a command and print the table; return the exit status."""
    planned = plan(options, requests.settings(options.file))
    try:
        outcomes = run(planned, options.workers)
    finally:
        for spill in {p.job.parameters.get("spill") for p in planned if p.job} or {None}:
            system.clean(spill)
    if options.each is not None and any(outcome.page for outcome in outcomes):
        write(records(planned, outcomes), options.folder)
        from evalkit.commands import index

        try:
            index.write(options.folder)
        except Refused as error:
            requests.say(str(error), REFUSED)
    system.show(f"\n{table(planned, outcomes)}", sys.stderr)
    return status(outcomes)


# Diffs of two reports, or of every report that two folders share ----------------------------------


def diff(options: Any) -> int:
    """Make the diffs and print the table of each; return the exit status."""
    requests.quiet()
    every = diffs(options)
    outcomes = run(every, options.workers)
    for outcome in outcomes:
        if outcome.results is not None:
            system.show(f"\n{account(outcome.results)}")
    if len(every) > 1:
        system.show(f"\n{table(every, outcomes)}", sys.stderr)
    return status(outcomes)


def diffs(options: Any) -> list[Planned]:
    """All diffs that are asked for. Raises Refused for fewer than two reports, and for folders that
    share none.
    """
    given = [Path(path) for path in options.reports]
    if len(given) < 2:
        raise Refused("diff needs two reports, OLD and NEW, got one")
    every = {"diff": given}
    if all(path.is_dir() for path in given[-2:]):
        names = shared(*given[-2:])
        if options.name is not None and len(names) > 1:
            raise Refused(f"--name names one report, got {len(names)}")
        every = {
            f"diff-{name}": [path / f"{name}{report.UNITS}" for path in given] for name in names
        }
    path = requests.find("diff", options.folder_of_notebooks)
    settings = requests.settings(options.file)
    return [
        planned(options.name or name, path, of_diff(paths), options, settings)
        for name, paths in every.items()
    ]


def of_diff(reports: Sequence[Path]) -> dict[str, str]:
    """The parameters of a diff as text; of earlier folders those that have the report."""
    *earlier, old, new = map(str, reports)
    there = [path for path in earlier if Path(path).exists() or not path.endswith(report.UNITS)]
    return {"old": old, "new": new} | ({"earlier": json.dumps(there)} if there else {})


def shared(old: Path, new: Path) -> list[str]:
    """The reports of both folders; says which are only in one. Raises Refused where there are
    none.
    """
    names = [{report.stem(file) for file in path.glob(f"*{report.UNITS}")} for path in (old, new)]
    both = sorted(names[0] & names[1])
    alone = ", ".join(sorted(names[0] ^ names[1]))
    if not both:
        have = f"have {alone}" if alone else "have none"
        raise Refused(
            f"{old} and {new} must share a report with units (NAME{report.UNITS}); they {have}"
        )
    if alone:
        system.show(f"evalkit: note: only in one of the folders: {alone}", sys.stderr)
    return both


def _limits(row: Mapping[str, Any]) -> dict[str, float]:
    """The limits of a row of the account."""
    return {
        name: limit
        for ends in (("low", "high"), ("change_low", "change_high"))
        for name, limit in zip(ends, numbers.limits_from_json(*map(row.get, ends)), strict=True)
    }


def account(results: Mapping[str, Any]) -> str:
    """The change of each metric of each system and its terms, for a terminal."""
    import pandas as pd

    from evalkit.findings.kinds import NO_COMMON_UNITS, NOT_COMPARED
    from evalkit.pages import diff_page

    codes = {NO_COMMON_UNITS.code, NOT_COMPARED.code}
    limits = [one["message"] for one in results["findings"] if one["code"] in codes]
    if results["same"]:
        return "no difference: the same units with the same values"
    rows = [row | _limits(row) for row in results["account"]]
    frame = pd.DataFrame(rows).fillna(float("nan"))
    changed = diff_page.most_changed(frame["metric"][0], results["most_changed"])
    return "\n".join([diff_page.account_table(frame).text, *changed, *limits])
