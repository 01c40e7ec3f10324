"""`evalkit index FOLDER`: one page of all reports in a folder, from their JSON: verdicts, numbers
over time.
"""

import json
import math
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import nbformat.v4 as notebooks
import pandas as pd

from evalkit import numbers, report
from evalkit.arrays import Record
from evalkit.commands import batch
from evalkit.commands.requests import DONE, RequestRefused
from evalkit.drawing import strips, tables
from evalkit.drawing.cells import Cell, escape, interval_cell, number_cell
from evalkit.drawing.columns import column_by_row, named
from evalkit.drawing.paragraphs import heading
from evalkit.drawing.pieces import Html, stack
from evalkit.findings.kinds import Severity
from evalkit.machine import terminal
from evalkit.pages import as_json
from evalkit.studies.study import as_data_frame

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from pandas.api.typing import DataFrameGroupBy

NAME = "index"
# in every page that evalkit writes, see page/evalkit/index.html.j2
GENERATOR = '<meta name="generator" content="evalkit">'
DRAWN = 40  # reports of a series that its picture shows: the last ones
ENDS = ["value", "low", "high"]
DATES = ["ISO8601", "%Y-%m-%d", "%d.%m.%Y"]  # how a date may be written; 1/11/2026 has two meanings
DATES += ["%B %Y", "%d %B %Y", "%B %d, %Y", "%b %Y", "%d %b %Y", "%b %d, %Y"]
# reports of one kind and metric, whose values over time are one series
SERIES_COLUMNS = ["report", "metric"]


def main(options: Namespace) -> int:
    """Write the index of a folder and print where it is. Raises RequestRefused where no report
    is."""
    path = write(options.folder)
    if path is None:
        raise RequestRefused(
            f"{options.folder}: must have the results of reports (NAME.json), got none"
        )
    terminal.show(path)
    return DONE


def write(folder: Path) -> Path | None:
    """Write the page of all reports in a folder and below, and return its path; without a report
    write nothing and return None.

    Raises RequestRefused where a page that evalkit did not write has its name.
    """
    reports = read(folder)
    if reports.empty:
        return None
    index_page = folder / f"{NAME}.html"
    if index_page.is_file():
        old_html = index_page.read_text(encoding="utf-8", errors="replace")
        if GENERATOR not in old_html:
            raise RequestRefused(
                f"{index_page}: is not a page of evalkit, so it is not replaced; rename it, then "
                f"run evalkit index"
            )
    html = page(ordered_by_date(reports), folder.resolve().name)
    report.write(folder, NAME, {".html": html})
    return index_page


def ordered_by_date(frame: pd.DataFrame) -> pd.DataFrame:
    """The reports of each series by date, which is in the column `when`; first, by name, those
    without a clear one.
    """
    # pandas also reads the word "today"
    dates = frame["date"].where(frame["date"].str.contains(r"\d"))
    by_form = [pd.to_datetime(dates, format=form, errors="coerce", utc=True) for form in DATES]
    # a column for each form; the first that fits the row fills those before it
    first_fitting = pd.concat(by_form, axis=1).bfill(axis=1).iloc[:, 0]
    frame = frame.astype(dict.fromkeys(ENDS, float)).assign(when=first_fitting)
    return frame.sort_values(
        [*SERIES_COLUMNS, "when", "place"], na_position="first", ignore_index=True
    )


@as_data_frame
def read(folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each report of a folder, or table of one; other JSON is passed over."""
    for path in sorted(folder.rglob("*.json")):
        place = path.relative_to(folder).with_suffix("").as_posix()
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
            if results["schema"] != as_json.SCHEMA:
                continue
            rows = list(_rows(results, path.resolve(), place))
        except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
            continue
        yield from rows


def _rows(results: Record, path: Path, place: str) -> Iterator[dict[str, Any]]:
    """A row for each table of a report: what the report says as a whole, and the first estimate.

    place: the path from the folder of the index, without its ending.
    """
    parameters = results["parameters"]
    counts = Counter(finding["severity"] for finding in results["findings"])
    findings = [f"{severity} {counts[severity]}" for severity in Severity if counts[severity]]
    # a diff has the dates of the old and of the new report, and stands with the new one
    last_date = results.get("dates", [""])[-1]
    shared_columns = {
        "place": place,
        "stored": report.name_with_folder(path),
        "report": results["report"],
        "name": str(parameters.get("title") or place),
        "date": str(parameters.get("data_date") or last_date),
        "verdict": batch.verdict(results),
        "gate": _gate(results["gate"]),
        "findings": ", ".join(findings),
        # the last two; a diff has two inputs, the JSON of the old and of the new report
        "inputs": tuple(source["name"] for source in results["inputs"][-2:]),
    }
    for table_results in batch.results_by_table(results):
        if table_results.get("estimates"):
            estimate = table_results["estimates"][0]
            yield shared_columns | {name: estimate[name] for name in ("system", "metric", *ENDS)}


def _gate(gate: Record | None) -> str:
    """How the gate of a report ended: "kept" if all its rules were; "" without a gate. A gate with
    a rule that failed has failed, even if other rules could not be decided.
    """
    if gate is None:
        return ""
    if gate["passed"]:
        return "kept"
    if gate.get("undecided") and not gate["failed"]:
        return "not decided"
    return "failed"


def page(frame: pd.DataFrame, folder: str) -> str:
    """The page: every report in a table that sorts and filters, then each series of several over
    time. folder: its name.
    """
    question = f"What do the {len(frame)} reports say, and how do their first numbers move?"
    cells = [_cell(stack([heading(f"Reports in {folder}", question), listing(frame)]))]
    for (kind, metric), series in _series(frame):
        if len(series) > 1:
            cells.append(notebooks.new_markdown_cell(f"## {kind}: {metric}"))
            cells.append(_cell(over_time(metric, series)))
    return report.page(notebooks.new_notebook(cells=cells))


def _series(frame: pd.DataFrame) -> "DataFrameGroupBy[tuple[str, str]]":
    """The reports of each kind and metric in the order of their dates; a diff is about two reports,
    and in none.
    """
    return frame[frame["report"] != "diff"].groupby(SERIES_COLUMNS)


def _cell(piece: Html) -> "NotebookNode":
    """A cell of a notebook whose output is a piece of the page."""
    output = notebooks.new_output("display_data", {"text/html": piece.html})
    cell: NotebookNode = notebooks.new_code_cell("", outputs=[output])
    return cell


def listing(frame: pd.DataFrame) -> Html:
    """A row for each report, the latest data first, with the change since the report before it in
    its series.
    """
    dated = _series(frame[frame["when"].notna()])
    # pandas puts these in the rows of `frame` by its index; a report that is the first of its
    # series, or has no clear date, gets NaN
    frame = frame.assign(earlier=dated["stored"].shift(), change=dated["value"].diff())
    # the page of a diff by its inputs, the JSON of the earlier and of the later report
    diff_pages = dict(zip(frame["inputs"], frame["place"], strict=True))
    reports_in_pairs = zip(frame["earlier"], frame["stored"], strict=True)
    frame["diff"] = [diff_pages.get(pair, "") for pair in reports_in_pairs]
    frame["first"] = frame["system"] + ": " + frame["metric"]
    columns = {"report": column_by_row(_link), "data of": column_by_row(_date)}
    columns |= named("verdict w | first number=first w")
    columns |= {"value": column_by_row(_value), "change": column_by_row(_change)}
    columns |= named("gate w | findings w")
    records = frame.sort_values("when", ascending=False, kind="stable").to_dict("records")
    cells_by_column = [column(records) for column in columns.values()]
    rows = list(zip(*cells_by_column, strict=True))
    note = (
        "change: from the report before it of the same kind and metric, without a test; a link "
        "leads to their diff. A report has one only if its data_date is clear, such as 2026-11-16 "
        "or October 2026."
    )
    return tables.unlimited_table("All reports", list(columns), rows, note)


def _date(row: Record) -> Cell:
    """When the data of a report were collected."""
    return Cell(row["date"], kind="one")


def _link(row: Record) -> Cell:
    """The name of a report, which leads to its page."""
    return _page_link(row["place"], row["name"])


def _page_link(place: str, text: str) -> Cell:
    """Words that lead to the page of a report."""
    return Cell(text, markup=f'<a href="{quote(place)}.html">{escape(text)}</a>')


def _value(row: Record) -> Cell:
    """The first estimate of a report, with its interval."""
    return interval_cell(row["value"], row["low"], row["high"])


def _change(row: Record) -> Cell:
    """The change since the report before, with a link to the diff of both where there is one."""
    if math.isnan(row["change"]):
        return Cell("")
    places = numbers.decimals([row["value"]], [row["low"]], [row["high"]])
    change = number_cell(row["change"], places, numbers.signed_number)
    return _page_link(row["diff"], change.text) if row["diff"] else change


def over_time(metric: str, series: pd.DataFrame) -> Html:
    """The last reports of a series, one below the other, with their intervals on one axis.

    series: the rows of `ordered_by_date` of one kind and metric, first those without a clear date.
    """
    rows = series.tail(DRAWN).to_dict("records")
    results = []
    for row in rows:
        estimate = (row["value"], row["low"], row["high"])
        results.append(
            strips.Result(
                name=_link(row),
                points=[(row["name"], estimate)],
                cells=[row["date"], _value(row)],
            )
        )
    caption = (
        f"{metric} of the best system in the last {len(rows)} of {len(series)} reports, in the "
        f"order of their dates"
    )
    undated = int(series["when"].isna().sum())
    if undated:  # they have no place in time and stand first, in the order of their names
        caption += (
            f"; first, by name, {numbers.count_with_noun(undated, 'report')} without a clear date"
        )
    return strips.strip(caption, ["report", "data of", metric], results)
