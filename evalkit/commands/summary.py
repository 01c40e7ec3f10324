"""`evalkit summary REPORT`: the first screen of a report for a mail or a pull request."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from evalkit import report, system
from evalkit.arrays import InputError
from evalkit.commands import batch, requests
from evalkit.drawing.strips import Axis, Point
from evalkit.drawing.tables import Cell, Html, escape, markdown, table, with_interval
from evalkit.findings.kinds import NOTE
from evalkit.numbers import counted, decimals, number, signed

LISTED = 12  # systems, rules and findings; a mail or a comment is no page
INK, MUTED, LINE, SOFT = "#1f2328", "#59636e", "#d1d9e0", "#f6f8fa"
TONES = {"better": "#1a7f37", "pass": "#1a7f37", "worse": "#b3261e", "fail": "#b3261e"}
FONT = "font-family:Segoe UI,Helvetica,Arial,sans-serif"
CELL = f"padding:5px 10px;border-bottom:1px solid {LINE};text-align:left;vertical-align:middle"
CAUGHT = "Regression caught: the smallest true one that fails the rule with 80% probability."
WIDTH = 200  # pixels of the axis
DOT = 8


@dataclass(frozen=True)
class Strip:
    """The first metric of every system. rows: system, value, low, high, difference, word."""

    metric: str
    rows: list[dict[str, Any]]

    @property
    def table(self) -> Html:
        """The strip without its axis."""
        heads = ["system", self.metric]
        compared = any(row["word"] for row in self.rows)
        columns = [[Cell(row["system"], kind="text") for row in self.rows]]
        columns.append([_estimate(row) for row in self.rows])
        if compared:
            heads += ["difference", "verdict"]
            columns.append([Cell(row["difference"]) for row in self.rows])
            columns.append([Cell(row["word"], kind="text") for row in self.rows])
        return table(f"{self.metric} with its interval", heads, list(zip(*columns, strict=True)))

    @property
    def points(self) -> list[Point]:
        """The value of each system with its limits."""
        return [(row["value"], row["low"], row["high"]) for row in self.rows]


def main(options: Any) -> int:
    """Print the summary as Markdown, or write it as a mail with its picture; return the status."""
    with requests.one_line():
        file = options.report.with_name(f"{report.stem(options.report)}.json")
        results = read(file)
    if not options.html:
        system.show(comment(results, report.stem(file)))
        return requests.DONE
    pictures = {}
    for place, strip in enumerate(strips(results), start=1):
        pictures[strip.metric] = file.with_name(f"{report.stem(file)}.{place}.png")
        picture(strip, pictures[strip.metric])
    body = file.with_name(f"{report.stem(file)}.mail.html")
    body.write_text(mail(results, report.stem(file)), encoding="utf-8", newline="\n")
    for path in (body, *pictures.values()):
        system.show(str(path))
    return requests.DONE


def read(file: Path) -> Mapping[str, Any]:
    """The results of a report. Raises InputError for what is none."""
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
        report_of = results["report"]
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, LookupError, TypeError):
        raise InputError(f"{file}: must be the results of a report (NAME.json)") from None
    assert isinstance(report_of, str)
    return dict(results)


# What is said -------------------------------------------------------------------------------------


def title(results: Mapping[str, Any], name: str) -> str:
    """The title of the report, with the date of its data."""
    given = results["parameters"]
    shown = str(given.get("title") or f"{results['report'].capitalize()}: {name}")
    return f"{shown}, {given['data_date']}" if given.get("data_date") else shown


def gate(results: Mapping[str, Any]) -> str:
    """How the gate ended, in a line; "" without one."""
    judged = results["gate"]
    if judged is None:
        return ""
    return judged.get("message") or f"gate: {judged['rule']}: met"


def strips(results: Mapping[str, Any]) -> Iterator[Strip]:
    """The strip of the report, or of its log and its users."""
    for part in batch.parts(results):
        estimates = part.get("estimates") or []
        if not estimates:
            continue
        metric = part.get("primary") or estimates[0]["metric"]
        systems = [row for row in estimates if row["metric"] == metric][:LISTED]
        headline = part.get("headline") or []
        yield Strip(metric, [_row(row, headline) for row in systems])


def _row(estimate: Mapping[str, Any], headline: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row of the strip, with the comparison of the headline in which the system is the first."""
    row = {name: estimate[name] for name in ("system", "value", "low", "high")}
    row = {name: math.nan if value is None else value for name, value in row.items()}
    row |= {"difference": "", "word": ""}
    for compared in headline:
        if compared["first"] == row["system"]:
            ends = [compared[name] for name in ("difference", "low", "high")]
            shown = "–" if None in ends else f"{signed(ends[0], decimals(*([e] for e in ends)))}"
            row["difference"] = f"{shown} from {compared['second']}"
            row["word"] = compared["verdict"]
            break
    return row


def _estimate(row: Mapping[str, Any]) -> Cell:
    return with_interval(row["value"], row["low"], row["high"])


def rules(results: Mapping[str, Any]) -> Html:
    """The rules of the gate: the result, and what each statement that decides it says."""
    judged = results["gate"] or {"rules": []}
    rows = []
    for rule in judged["rules"][:LISTED]:
        deciding = [s for s in rule["statements"] if s["result"] == rule["result"]]
        caught = [s.get("catches") for s in rule["statements"]]
        largest = max((size for size in caught if size is not None), default=math.nan)
        rows.append(
            [
                Cell(rule["that"], kind="text"),
                Cell(rule["result"], kind="text"),
                Cell(_decided_by(deciding), kind="text"),
                Cell(number(largest)),
            ]
        )
    heads = ["rule", "result", "decided by", "regression caught"]
    return table(CAUGHT, heads, rows) if rows else Html("")


def _decided_by(statements: Sequence[Mapping[str, Any]]) -> str:
    """The systems and slices of statements."""
    names = [
        " ".join(filter(None, [row["system"], row["slice"], row["why"]])) for row in statements
    ]
    shown = [*dict.fromkeys(filter(None, names))]
    if len(shown) > LISTED:
        return counted(len(shown), "statement")
    return ", ".join(shown)


def warned(results: Mapping[str, Any]) -> list[str]:
    """The findings that are severe or warnings, and the rules that can hardly fail."""
    found = [one for one in results["findings"] if one["severity"] != NOTE]
    messages = [f"{one['severity']}: {one['message']}" for one in found]
    blunt = (results["gate"] or {}).get("warnings", [])
    return [*(f"warning: {rule}" for rule in blunt), *messages][:LISTED]


# As a comment -------------------------------------------------------------------------------------


def comment(results: Mapping[str, Any], name: str) -> str:
    """The summary as Markdown. Its first line is a mark by which a comment is found again."""
    lines = [f"<!-- evalkit {name} -->", f"### {_plain(title(results, name))}", ""]
    lines += [f"**{_plain(batch.verdict(results))}**", ""]
    if ended := gate(results):
        lines += [_plain(ended), ""]
    lines += [f"{markdown(part)}\n" for strip in strips(results) for part in strip.table.tables]
    for part in rules(results).tables:
        lines += ["<details><summary>Each rule</summary>\n", markdown(part), "\n</details>\n"]
    lines += [f"- {_plain(message)}" for message in warned(results)]
    return "\n".join(lines).rstrip()


def _plain(text: str) -> str:
    """Text in which nothing is Markdown."""
    return escape(text).replace("*", "\\*").replace("_", "\\_").replace("`", "\\`")


# As a mail ----------------------------------------------------------------------------------------


def mail(results: Mapping[str, Any], name: str) -> str:
    """The summary as one HTML body with inline styles: mail clients drop style sheets and SVG."""
    heading = escape(title(results, name))
    parts = [f'<h1 style="{FONT};font-size:20px;margin:0 0 12px;color:{INK}">{heading}</h1>']
    parts.append(_paragraph(batch.verdict(results), size=16))
    if ended := gate(results):
        tone = TONES["pass" if results["gate"]["passed"] else "fail"]
        parts.append(_paragraph(ended, colour=tone))
    parts += map(_strip, strips(results))
    if judged := rules(results).tables:
        heads, *rows = judged[0].lines
        parts.append(_table(heads, rows))
        parts.append(_paragraph(CAUGHT, size=12, colour=MUTED))
    parts += map(_paragraph, warned(results))
    style = f"max-width:720px;margin:0 auto;padding:16px;background:#ffffff;color:{INK}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f'</head><body style="margin:0"><div style="{style}">{"".join(parts)}</div></body></html>\n'
    )


def _paragraph(text: str, *, size: int = 14, colour: str = INK) -> str:
    style = f"{FONT};font-size:{size}px;line-height:1.45;margin:0 0 12px;color:{colour}"
    return f'<p style="{style}">{escape(text)}</p>'


def _strip(strip: Strip) -> str:
    """The strip with its axis as the cells of a table."""
    axis = Axis.of(strip.points, math.nan)
    rows = []
    for row, point in zip(strip.rows, strip.points, strict=True):
        shown = _estimate(row)
        cells = [escape(row["system"]), _axis(axis, point, row["word"])]
        cells += [escape(f"{shown.text} {shown.rest}"), escape(row["difference"])]
        cells.append(f'<b style="color:{TONES.get(row["word"], MUTED)}">{escape(row["word"])}</b>')
        rows.append(cells)
    heads = ["system", "", strip.metric, "difference", "verdict"]
    return _table(heads, rows, escaped=True)


def _axis(axis: Axis, point: Point, word: str) -> str:
    """An interval with its dot: cells of a table, empty ones beside coloured ones."""
    value, low, high = (_pixel(axis, end) for end in point)
    tone = TONES.get(word, "#0969da")
    widths = [
        (low, "transparent", 3),
        (max(value - DOT // 2 - low, 0), tone, 3),
        (DOT, tone, DOT),
        (max(high - value - DOT // 2, 0), tone, 3),
        (max(WIDTH - max(high, value + DOT // 2), 0), "transparent", 3),
    ]
    cells = "".join(
        f'<td width="{width}" style="padding:0"><div style="width:{width}px;height:{height}px;'
        f'background-color:{colour};font-size:0;line-height:0">&nbsp;</div></td>'
        for width, colour, height in widths
        if width
    )
    table_style = f"border-collapse:collapse;width:{WIDTH}px"
    return (
        f'<table role="presentation" cellpadding="0" cellspacing="0" width="{WIDTH}" '
        f'style="{table_style}"><tr>{cells}</tr></table>'
    )


def _pixel(axis: Axis, value: float) -> int:
    """Where a value lies on the axis; a limit that is unknown in its middle."""
    if math.isnan(value):
        return WIDTH // 2
    return round(float(axis.at(value).rstrip("%")) / 100 * WIDTH)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, escaped: bool = False) -> str:
    """A table with inline styles. escaped: whether the cells are HTML."""
    style = f"{CELL};{FONT};font-size:13px;color:{INK}"
    head = "".join(
        f'<th style="{style};background:{SOFT};color:{MUTED}">{escape(text)}</th>' for text in heads
    )
    body = ""
    for row in rows:
        cells = row if escaped else map(escape, row)
        shown = "".join(f'<td style="{style}">{cell}</td>' for cell in cells)
        body += f"<tr>{shown}</tr>"
    table_style = "border-collapse:collapse;margin:0 0 16px"
    return f'<table cellspacing="0" style="{table_style}"><tr>{head}</tr>{body}</table>'


def picture(strip: Strip, path: Path) -> None:
    """Write the strip as a PNG, for mail clients that take pictures."""
    from matplotlib.figure import Figure

    from evalkit.drawing import plots

    frame = pd.DataFrame(strip.rows).rename(columns={"system": "name"})
    figure = Figure(figsize=(6, 0.9 + 0.35 * len(frame)), layout="constrained")
    plots.intervals(frame, figure.subplots(), label=strip.metric, zero=False)
    figure.savefig(path, dpi=150)
