"""`evalkit index FOLDER`: one page of all reports in a folder, from their JSON: verdicts, numbers over time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

from evalkit import report
from evalkit.commands import batch
from evalkit.commands.requests import DONE, Refused
from evalkit.findings.kinds import Severity

NAME = "index"
DRAWN = 40  # reports of a series that its picture shows: the last ones
NUMBERS = ("value", "low", "high")


@dataclass(frozen=True, eq=False)
class Entry:
    """A report, or a table of one. place: of its page, from the folder of the index. part: its results."""

    place: Path
    results: Mapping[str, Any]
    part: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its title, else its place."""
        return str(self.results["parameters"].get("title") or self.place.with_suffix(""))

    @property
    def date(self) -> str:
        """When the data were collected, as it says."""
        return str(self.results["parameters"].get("data_date") or "")

    @property
    def first(self) -> Mapping[str, Any]:
        """The first estimate: of the metric that decides, and the best system."""
        return {**self.part["estimates"][0]}

    @property
    def ends(self) -> tuple[float, float, float]:
        """Its value and limits, NaN where undefined."""
        value, low, high = (float("nan" if self.first[end] is None else self.first[end]) for end in NUMBERS)
        return value, low, high

    @property
    def series(self) -> tuple[str, str]:
        """The kind of report and the metric, whose values over time are one series."""
        return self.results["report"], self.first["metric"]


def main(options: Any) -> int:
    """Write the index of a folder and print where it is. Raises Refused where no report is."""
    path = write(options.folder)
    if path is None:
        raise Refused(f"{options.folder}: must have the results of reports (NAME.json), got none")
    print(path)
    return DONE


def write(folder: Path) -> Path | None:
    """Write the page of all reports in a folder and below; nothing, and None, where there are none."""
    entries = sorted(read(folder), key=lambda entry: (entry.series, entry.date, str(entry.place)))
    if not entries:
        return None
    return report.write(folder, NAME, {".html": page(entries, folder.resolve().name)})[0]


def read(folder: Path) -> Iterator[Entry]:
    """The reports of a folder; other JSON is passed over."""
    for path in sorted(folder.rglob("*.json")):
        try:
            results = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(results, dict) and str(results.get("schema", "")).startswith("evalkit/"):
            place = path.relative_to(folder).with_suffix(".html")
            yield from (Entry(place, results, part) for part in batch.parts(results) if part.get("estimates"))


def page(entries: Sequence[Entry], of: str) -> str:
    """The page: every report in a table that sorts and filters, then each series of several over time."""
    import nbformat.v4 as notebooks

    from evalkit.drawing import tables

    asked = f"What do the {len(entries)} reports say, and how do their first numbers move?"
    cells = [_shown(tables.stack([tables.heading(f"Reports in {of}", asked), listing(entries)]))]
    for (kind, metric), some in groupby(entries, key=lambda entry: entry.series):
        if len(series := [*some]) > 1:
            cells += [notebooks.new_markdown_cell(f"## {kind}: {metric}"), _shown(over_time(metric, series))]
    return report.page(notebooks.new_notebook(cells=cells))


def _shown(piece: Any) -> Any:
    """A cell that has shown a piece of the page."""
    import nbformat.v4 as notebooks

    return notebooks.new_code_cell("", outputs=[notebooks.new_output("display_data", {"text/html": piece.html})])


def listing(entries: Sequence[Entry]) -> Any:
    """A row for each report, the latest data first, with the change since the report before it in its series."""
    from evalkit.drawing import tables
    from evalkit.drawing.tables import Cell

    old = {b: a for a, b in pairwise(entries) if a.series == b.series}
    rows = []
    for entry in sorted(entries, key=lambda entry: entry.date, reverse=True):
        gate, severities = entry.results["gate"], [finding["severity"] for finding in entry.results["findings"]]
        counts = [f"{name} {severities.count(name)}" for name in Severity if name in severities]
        texts = [batch.verdict(entry.results), f"{entry.first['system']}: {entry.first['metric']}"]
        kept = "" if gate is None else "kept" if gate["passed"] else "failed"
        numbers = [tables.with_interval(*entry.ends), _change(entry, old.get(entry), entries)]
        cells = [*(Cell(text, kind="text") for text in texts), *numbers]
        rows.append(
            [
                _link(entry, entry.name),
                Cell(entry.date, kind="one"),
                *cells,
                *(Cell(text, kind="text") for text in (kept, ", ".join(counts))),
            ]
        )
    heads = ["report", "data of", "verdict", "first number", "value", "change", "gate", "findings"]
    note = "change: from the report before it of the same kind and metric, without a test; a link leads to their diff."
    return tables.whole("All reports", heads, rows, note)


def _link(entry: Entry, text: str) -> Any:
    from evalkit.drawing.tables import Cell, escape

    return Cell(text, markup=f'<a href="{quote(entry.place.as_posix())}">{escape(text)}</a>')


def _change(entry: Entry, old: Entry | None, entries: Sequence[Entry]) -> Any:
    """The change of the value since the report before, with a link to the diff of both where there is one."""
    from evalkit.drawing import tables
    from evalkit.numbers import decimals, signed

    if old is None:
        return ""
    change = tables.number_cell(entry.ends[0] - old.ends[0], decimals(*([end] for end in entry.ends)), signed)
    pair = ["/".join(side.place.with_suffix("").parts[-2:]) for side in (old, entry)]
    diffs = (other for other in entries if [source["name"] for source in other.results["inputs"]][-2:] == pair)
    return next((_link(diff, change.text) for diff in diffs), change)


def over_time(metric: str, entries: Sequence[Entry]) -> Any:
    """The last reports of a series, one below the other, with their intervals on one axis."""
    from evalkit.drawing import strips, tables
    from evalkit.drawing.strips import Result

    shown = entries[-DRAWN:]
    rows = [
        Result(_link(entry, entry.name), [(entry.name, entry.ends)], [entry.date, tables.with_interval(*entry.ends)])
        for entry in shown
    ]
    caption = (
        f"{metric} of the best system in the last {len(shown)} of {len(entries)} reports, in the order of their dates"
    )
    return strips.strip(caption, ["report", "data of", metric], rows)
