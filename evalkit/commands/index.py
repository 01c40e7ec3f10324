"""`evalkit index FOLDER`: one page of all reports in a folder, from their JSON: verdicts, numbers
over time.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat.v4 as notebooks
import pandas as pd

from evalkit import numbers, report
from evalkit.arrays import Record
from evalkit.commands import batch
from evalkit.commands.requests import DONE, Refused
from evalkit.drawing import strips, tables
from evalkit.drawing.cells import Cell, escape, number_cell, with_interval
from evalkit.drawing.columns import each, named
from evalkit.drawing.paragraphs import heading
from evalkit.drawing.pieces import Html, stack
from evalkit.findings.kinds import Severity
from evalkit.machine import terminal
from evalkit.pages import as_json
from evalkit.studies.study import framed

NAME = "index"
OURS = '<meta name="generator" content="evalkit">'  # in every page, see page/evalkit/index.html.j2
DRAWN = 40  # reports of a series that its picture shows: the last ones
ENDS = ["value", "low", "high"]
DATES = ["ISO8601", "%Y-%m-%d", "%d.%m.%Y"]  # how a date may be written; 1/11/2026 has two meanings
DATES += [
    form for month in ("%B", "%b") for form in (f"{month} %Y", f"%d {month} %Y", f"{month} %d, %Y")
]
SERIES = [
    "report",
    "metric",
]  # reports of one kind and metric, whose values over time are one series


def main(options: Namespace) -> int:
    """Write the index of a folder and print where it is. Raises Refused where no report is."""
    if (path := write(options.folder)) is None:
        raise Refused(f"{options.folder}: must have the results of reports (NAME.json), got none")
    terminal.show(path)
    return DONE


def write(folder: Path) -> Path | None:
    """Write the page of all reports in a folder and below; nothing, and None, where there are none.

    Raises Refused where a page that evalkit did not write has its name.
    """
    if not len(frame := read(folder)):
        return None
    page_there = folder / f"{NAME}.html"
    if page_there.is_file() and OURS not in page_there.read_text(
        encoding="utf-8", errors="replace"
    ):
        raise Refused(
            f"{page_there}: is not a page of evalkit, so it is not replaced; rename it, then run "
            f"evalkit index"
        )
    return report.write(folder, NAME, {".html": page(ordered(frame), folder.resolve().name)})[0]


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """The reports of each series by date, which is in the column `when`; first, by name, those
    without a clear one.
    """
    # pandas also reads the word "today"
    dates = frame["date"].where(frame["date"].str.contains(r"\d"))
    read_as = [pd.to_datetime(dates, format=form, errors="coerce", utc=True) for form in DATES]
    frame = frame.astype(dict.fromkeys(ENDS, float)).assign(
        when=pd.concat(read_as, axis=1).bfill(axis=1).iloc[:, 0]
    )
    return frame.sort_values([*SERIES, "when", "place"], na_position="first", ignore_index=True)


@framed
def read(folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each report of a folder, or table of one; other JSON is passed over."""
    for path in sorted(folder.rglob("*.json")):
        place = path.relative_to(folder).with_suffix("").as_posix()
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            if results["schema"] != as_json.SCHEMA:
                continue
            said = {"place": place, "shown": report.shown(path.resolve())} | _said(results, place)
            first = [part["estimates"][0] for part in batch.parts(results) if part.get("estimates")]
            rows = [
                said | {name: estimate[name] for name in ("system", "metric", *ENDS)}
                for estimate in first
            ]
        except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
            continue
        yield from rows


def _said(results: Record, place: str) -> dict[str, Any]:
    """What a report says as a whole. inputs: the last two, which of a diff are the old and the new
    report.
    """
    given = results["parameters"]
    gate = results["gate"]
    severities = [one["severity"] for one in results["findings"]]
    return {
        "report": results["report"],
        "name": str(given.get("title") or place),
        "date": str(given.get("data_date") or results.get("dates", [""])[-1]),
        "said": batch.verdict(results),
        "gate": _gate(gate),
        "findings": ", ".join(
            f"{name} {severities.count(name)}" for name in Severity if name in severities
        ),
        "inputs": tuple(source["name"] for source in results["inputs"][-2:]),
    }


def _gate(gate: Record | None) -> str:
    """How the gate of a report ended; "" without one."""
    if gate is None:
        return ""
    if gate["passed"]:
        return "kept"
    if gate.get("undecided") and not gate["failed"]:
        return "not decided"
    return "failed"


def page(frame: pd.DataFrame, of: str) -> str:
    """The page: every report in a table that sorts and filters, then each series of several over
    time.
    """
    asked = f"What do the {len(frame)} reports say, and how do their first numbers move?"
    cells = [_shown(stack([heading(f"Reports in {of}", asked), listing(frame)]))]
    for (kind, metric), series in _series(frame):
        if len(series) > 1:
            cells += [
                notebooks.new_markdown_cell(f"## {kind}: {metric}"),
                _shown(over_time(metric, series)),
            ]
    return report.page(notebooks.new_notebook(cells=cells))


def _series(frame: pd.DataFrame) -> Any:
    """The reports of each kind and metric in the order of their dates; a diff is about two reports,
    and in none.
    """
    return frame[frame["report"] != "diff"].groupby(SERIES)


def _shown(piece: Html) -> Any:
    """A cell that has shown a piece of the page."""
    return notebooks.new_code_cell(
        "", outputs=[notebooks.new_output("display_data", {"text/html": piece.html})]
    )


def listing(frame: pd.DataFrame) -> Html:
    """A row for each report, the latest data first, with the change since the report before it in
    its series.
    """
    series = _series(frame[frame["when"].notna()])
    diffs = dict(zip(frame["inputs"], frame["place"], strict=True))
    frame = frame.assign(before=series["shown"].shift(), change=series["value"].diff())
    frame["diff"] = [
        diffs.get(pair, "") for pair in zip(frame["before"], frame["shown"], strict=True)
    ]
    frame["first"] = frame["system"] + ": " + frame["metric"]
    columns = {"report": each(_link), "data of": each(lambda row: Cell(row["date"], kind="one"))}
    columns |= named("verdict=said w | first number=first w") | {
        "value": each(_value),
        "change": each(_change),
    }
    columns |= named("gate w | findings w")
    records = frame.sort_values("when", ascending=False, kind="stable").to_dict("records")
    rows = list(zip(*(cells(records) for cells in columns.values()), strict=True))
    note = (
        "change: from the report before it of the same kind and metric, without a test; a link "
        "leads to their diff. "
    )
    note += "A report has one only if its data_date is clear, such as 2026-11-16 or October 2026."
    return tables.unlimited_table("All reports", list(columns), rows, note)


def _link(row: Record) -> Cell:
    return _to(row["place"], row["name"])


def _to(place: str, text: str) -> Cell:
    """Words that lead to the page of a report."""
    return Cell(text, markup=f'<a href="{quote(place)}.html">{escape(text)}</a>')


def _value(row: Record) -> Cell:
    return with_interval(row["value"], row["low"], row["high"])


def _change(row: Record) -> Cell:
    """The change since the report before, with a link to the diff of both where there is one."""
    if row["change"] != row["change"]:
        return Cell("")
    change = number_cell(
        row["change"], numbers.decimals(*([row[end]] for end in ENDS)), numbers.signed
    )
    return _to(row["diff"], change.text) if row["diff"] else change


def over_time(metric: str, series: pd.DataFrame) -> Html:
    """The last reports of a series, one below the other, with their intervals on one axis."""
    rows = series.tail(DRAWN).to_dict("records")
    points = [(row["name"], (row["value"], row["low"], row["high"])) for row in rows]
    shown = [
        strips.Result(_link(row), [at], [row["date"], _value(row)])
        for row, at in zip(rows, points, strict=True)
    ]
    of = f"the last {len(rows)} of {len(series)} reports, in the order of their dates"
    if undated := int(series["when"].isna().sum()):
        of += f"; first, by name, {numbers.counted(undated, 'report')} without a clear date"
    return strips.strip(
        f"{metric} of the best system in {of}", ["report", "data of", metric], shown
    )
