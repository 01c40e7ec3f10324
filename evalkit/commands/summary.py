"""`evalkit summary REPORT`: the first screen of a report for a mail or a pull request."""

import base64
import json
import math
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from evalkit import report, system
from evalkit.arrays import InputError, Record
from evalkit.catalogue import lookup
from evalkit.commands import batch, requests
from evalkit.drawing.strips import Axis, Point
from evalkit.drawing.tables import (
    Cell,
    Html,
    breaking,
    escape,
    markdown,
    markdown_line,
    table,
    with_interval,
)
from evalkit.findings.kinds import NOTE, SEVERE, WARNING
from evalkit.numbers import counted, decimals, limits_from_json, number, percent, plural, signed
from evalkit.pages import first_screen
from evalkit.parameters.policy import CANNOT_TELL, FAIL, PASS

LISTED = 12  # systems, rules and findings; a mail or a comment is no page
INK, MUTED, LINE, SOFT = "#1f2328", "#59636e", "#d1d9e0", "#f6f8fa"
TONES = {"better": "#1a7f37", "pass": "#1a7f37", "worse": "#b3261e", "fail": "#b3261e"}
FONT = "font-family:Segoe UI,Helvetica,Arial,sans-serif"
CELL = f"padding:5px 6px;border-bottom:1px solid {LINE};text-align:left;vertical-align:middle"
CAUGHT = (
    "Regression caught: the smallest true regression that fails the rule with 80% probability. "
    "Unchanged: the probability that a model without any regression fails it, ≥ of a rule with "
    "several statements, of which each may fail."
)
WIDTH = 130  # pixels of the axis, which a telephone has beside the columns of text
PICTURE = 6  # inches of the width of the picture
DOT = 8

# The form of what the summary reads: the fields of a row, and the types of their values.
NUMBER = (int, float, type(None))
Fields = Mapping[str, type | tuple[type, ...]]
LIMITS: Fields = {"low": NUMBER, "high": NUMBER}
ESTIMATE: Fields = {"metric": str, "system": str, "value": NUMBER, **LIMITS}
PAIR: Fields = {"metric": str, "first": str, "second": str}
COMPARISON: Fields = {**PAIR, "difference": NUMBER, **LIMITS, "verdict": str}
FINDING: Fields = {"severity": str, "message": str}
VERDICT: Fields = {"word": str, "because": str}
RULE: Fields = {"that": str, "result": str}
STATEMENT: Fields = {"system": str, "slice": str, "why": str, "result": str}


class StripRow(NamedTuple):
    """A system with its estimate and a comparison in which it is the first; or a further comparison
    of the system above, with an empty name and no point.

    difference, verdict: "" without a comparison. point: NaN where the value is not known. tone: the
    verdict of all comparisons of the system, "" if they differ.
    """

    system: str
    estimate: Cell
    difference: str
    verdict: str
    point: Point | None
    tone: str = ""


@dataclass(frozen=True)
class Strip:
    """The first metric of the systems, and the comparisons of the headline.

    level: of the intervals as text, "" if it is not known. note: how many systems and comparisons
    are left out, "" if none are.
    """

    metric: str
    level: str
    rows: list[StripRow]
    note: str

    @property
    def table(self) -> Html:
        """The strip without its axis."""
        heads = ["system", self.metric]
        compared = any(row.verdict for row in self.rows)
        if compared:
            heads += ["difference", "verdict"]
        lines = []
        for row in self.rows:
            line = [Cell(row.system, kind="text"), row.estimate]
            if compared:
                line += [Cell(row.difference), Cell(row.verdict, kind="text")]
            lines.append(line)
        interval = f"{self.level} interval".lstrip()
        return table(f"{self.metric} with its {interval}", heads, lines, self.note)

    @property
    def points(self) -> list[Point]:
        """The value of each system with its limits."""
        return [row.point for row in self.rows if row.point]


def main(options: Namespace) -> int:
    """Print the summary as Markdown, or write it as a mail with its picture; return the status."""
    with requests.one_line():
        if options.report.is_dir():
            raise InputError(f"{options.report}: must be a file of a report, got a folder")
        file = options.report.with_name(f"{report.stem(options.report)}.json")
        results = read(file)
        if options.html:
            paths = write(results, file)
        else:
            paths = []
            system.show(comment(results, report.stem(file)))
    for path in paths:
        system.show(str(path))
    return requests.DONE


def write(results: Record, file: Path) -> list[Path]:
    """Write the mail and its pictures beside the file of the results; return their paths.

    Raises InputError where they cannot be written.
    """
    name = report.stem(file)
    body = file.with_name(f"{name}.mail.html")
    paths = [body]
    try:
        for place, strip in enumerate(strips(results), start=1):
            paths.append(file.with_name(f"{name}.{place}.png"))
            picture(strip, paths[-1])
        html = mail(results, name)
        body.write_text(html, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise InputError(f"cannot write to {file.parent}: {error.strerror}") from None
    return paths


# What is read -------------------------------------------------------------------------------------


def read(file: Path) -> Record:
    """The results of a report, with the parts that the summary shows.

    What a notebook of one's own publishes in another form is left out. Raises InputError where the
    file is not the results of a report.
    """
    try:
        # what is no number has no place on an axis
        results = json.loads(file.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError:
        results = None
    if not _has({"report": str}, results):
        raise InputError(f"{file}: must be the results of a report (NAME.json)")
    parts = {name: _part(results[name]) for name in ("log", "users") if name in results}
    if _has(VERDICT, results.get("verdict")):
        parts["verdict"] = results["verdict"]
    return _part(results) | {
        "report": results["report"],
        "parameters": _mapping(results.get("parameters")),
        "inputs": _rows(results.get("inputs"), {"name": str}),
        "findings": _rows(results.get("findings"), FINDING),
        "gate": _gate(results.get("gate")),
        **parts,
    }


def _part(part: Any) -> dict[str, Any]:
    """The answer, the estimates, the headline and the metric that decides."""
    part = _mapping(part)
    answer = part.get("answer")
    return {
        "answer": [str(sentence) for sentence in answer] if isinstance(answer, list) else [],
        "estimates": _rows(part.get("estimates"), ESTIMATE),
        "headline": _rows(part.get("headline"), COMPARISON),
        "primary": part.get("primary"),
    }


def _gate(gate: Any) -> dict[str, Any] | None:
    """The gate, None without one."""
    if not isinstance(gate, Mapping):
        return None
    rules = [
        {**rule, "statements": _rows(rule.get("statements"), STATEMENT)}
        for rule in _rows(gate.get("rules"), RULE)
    ]
    warnings = gate.get("warnings")
    return {**gate, "rules": rules, "warnings": warnings if isinstance(warnings, list) else []}


def _mapping(part: Any) -> Record:
    """A part of the results with fields; without any where it has another form."""
    return part if isinstance(part, Mapping) else {}


def _rows(rows: Any, fields: Fields) -> list[Record]:
    """The rows of a table of the results that have all these fields."""
    return [row for row in rows if _has(fields, row)] if isinstance(rows, list) else []


def _has(fields: Fields, row: Any) -> bool:
    """Whether a row has all these fields, with values of their types."""
    if not isinstance(row, Mapping):
        return False
    return all(name in row and isinstance(row[name], kind) for name, kind in fields.items())


# What is said -------------------------------------------------------------------------------------


def title(results: Record, name: str) -> str:
    """The title of the report, with the date of its data; of one without a name of its own, with
    its first input.
    """
    given = results["parameters"]
    kind = results["report"].capitalize()
    if "log" in results and not results["log"]["estimates"]:
        kind = "A/B test"
    inputs = [source["name"] for source in results["inputs"]]
    if results["report"] == "diff" and len(inputs) > 1:
        old, new = inputs[-2:]
        name = f"{new} against {old}"
    elif inputs and name == results["report"]:
        name = first_screen.input_name(inputs)
    shown = str(given.get("title") or f"{kind}: {name}")
    return f"{shown}, {given['data_date']}" if given.get("data_date") else shown


def answer(results: Record) -> list[str]:
    """The sentences of the first screen; of an earlier report, which has none in its results, the
    verdict in a line.
    """
    sentences = [sentence for part in batch.parts(results) for sentence in part.get("answer", [])]
    if sentences:
        return sentences
    return [verdict] if (verdict := batch.verdict(results)) else []


def gate(results: Record) -> str:
    """How the gate ended, in a line; "" without one."""
    judged = results["gate"] or {}
    if judged.get("message"):
        return _capitalised(str(judged["message"]))
    rule = judged.get("rule", "no rule given")  # a notebook may publish a gate of its own
    words = {PASS: f"Gate passed: {rule}", FAIL: f"Gate failed: {rule}"}
    return words.get(_ended(judged), "")


def _capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _ended(judged: Record) -> str:
    """The result of a gate, "" where it states none."""
    passed = judged.get("passed")
    if not isinstance(passed, bool):
        return ""
    return PASS if passed else FAIL


def strips(results: Record) -> Iterator[Strip]:
    """The strip of the report, or of its log and its users."""
    for part in batch.parts(results):
        estimates = part.get("estimates") or []
        metrics: list[str] = [row["metric"] for row in estimates]
        if not metrics:
            continue
        metric = part.get("primary")
        if metric not in metrics:
            metric = metrics[0]
        systems = [row for row in estimates if row["metric"] == metric]
        names = {row["system"] for row in systems[:LISTED]}
        headline = part.get("headline") or []
        compared = [row for row in headline if row["first"] in names][:LISTED]
        unlisted = [
            _unlisted(len(systems) - LISTED, "system"),
            _unlisted(len(headline) - len(compared), "comparison"),
        ]
        rows = [row for system in systems[:LISTED] for row in _strip_rows(system, compared)]
        level = systems[0].get("level")
        stated = percent(level) if isinstance(level, float) else ""
        yield Strip(lookup.title_of(metric), stated, rows, " ".join(filter(None, unlisted)))


def _unlisted(count: int, noun: str) -> str:
    """The sentence that says how many things are not listed, "" if all are."""
    return f"And {count:,} more {plural(noun, count)}." if count > 0 else ""


def _strip_rows(estimate: Record, headline: Sequence[Record]) -> Iterator[StripRow]:
    """The rows of a system: with its first comparison, then one for each further comparison."""
    system = estimate["system"]
    value, low, high = (_known(estimate[name]) for name in ("value", "low", "high"))
    shown = with_interval(value, low, high)
    # a limit that is not known is drawn at the value, as on the page
    drawn_low, drawn_high = (value if math.isnan(end) else end for end in (low, high))
    point = (value, drawn_low, drawn_high)
    compared = [row for row in headline if row["first"] == system]
    if not compared:
        yield StripRow(system, shown, "", "", point)
        return
    first, *others = compared
    is_same = all(row["verdict"] == first["verdict"] for row in others)
    tone = first["verdict"] if is_same else ""
    yield StripRow(system, shown, _difference(first), first["verdict"], point, tone)
    for row in others:
        yield StripRow("", Cell(""), _difference(row), row["verdict"], None)


def _known(value: float | None) -> float:
    """A number of the results, NaN for null."""
    return math.nan if value is None else value


def _difference(comparison: Record) -> str:
    """The difference from the second system, with the digits that its interval deserves."""
    difference = comparison["difference"]
    low, high = limits_from_json(comparison["low"], comparison["high"])
    if difference is None:
        return f"– from {comparison['second']}"
    places = None if math.isnan(low) else decimals([difference], [low], [high])
    return f"{signed(difference, places)} from {comparison['second']}"


def rules(results: Record) -> Html:
    """The rules of the gate, those that are not kept first: the result, and what each statement
    that decides it says.
    """
    judged = results["gate"] or {"rules": []}
    ordered = sorted(judged["rules"], key=_is_kept)
    rows = []
    for rule in ordered[:LISTED]:
        deciding = [s for s in rule["statements"] if s["result"] == rule["result"]]
        rows.append(
            [
                Cell(rule["that"], kind="text"),
                Cell(_result(rule), kind="text"),
                Cell(_decided_by(deciding), kind="text"),
                Cell(_caught(rule["statements"])),
            ]
        )
    heads = ["rule", "result", "decided by", "regression caught"]
    note = f"{CAUGHT} {_unlisted(len(ordered) - LISTED, 'rule')}".rstrip()
    return table(counted(len(ordered), "rule"), heads, rows, note) if rows else Html("")


def _result(rule: Record) -> str:
    """The result of a rule, and whether the rule is kept if the data do not tell."""
    if rule["result"] != CANNOT_TELL:
        return str(rule["result"])
    return f"{CANNOT_TELL}: {'kept' if _is_kept(rule) else 'not kept'}"


def _is_kept(rule: Record) -> bool:
    """Whether the gate counts a rule as kept."""
    return bool(rule.get("kept", rule["result"] == PASS))


def _largest_caught(statements: Sequence[Record]) -> float:
    """The regression that fails a rule whatever system or slice it is in; NaN if one of the
    statements fails for none.
    """
    caught = [statement.get("catches") for statement in statements]
    known = [size for size in caught if isinstance(size, int | float)]
    if len(known) < len(caught):
        return math.nan
    return max(known, default=math.nan)


def _caught(statements: Sequence[Record]) -> str:
    """The regression that a rule catches, and how probably an unchanged model fails it, if that is
    known.
    """
    caught = number(_largest_caught(statements))
    probabilities = [statement.get("unchanged_fails") for statement in statements]
    known = [share for share in probabilities if isinstance(share, int | float)]
    if not known:
        return caught
    largest = first_screen.probability(max(known)).text
    if len(statements) > 1 and not largest.startswith("<"):
        largest = f"≥ {largest.lstrip('>')}"
    return f"{caught}; unchanged {largest}"


def _decided_by(statements: Sequence[Record]) -> str:
    """The systems and slices of statements, with why they are not decided."""
    names = []
    for row in statements:
        part = " ".join(filter(None, [row.get("segment"), row["slice"]]))
        about = f"{row['system']} ({part})" if part else row["system"]
        names.append(" ".join(filter(None, [about, row["why"]])))
    shown = [*dict.fromkeys(filter(None, names))]
    if len(shown) > LISTED:
        return counted(len(shown), "statement")
    return ", ".join(shown)


def warned(results: Record) -> list[str]:
    """The severe findings, then the rules that can hardly fail and the findings that are
    warnings.
    """
    blunt = (results["gate"] or {}).get("warnings", [])
    found = [{"severity": WARNING, "message": rule} for rule in blunt] + results["findings"]
    listed = [one for one in found if one["severity"] != NOTE]
    listed.sort(key=lambda one: one["severity"] != SEVERE)
    messages = [f"{_capitalised(one['severity'])}: {one['message']}" for one in listed]
    unlisted = _unlisted(len(messages) - LISTED, "warning")
    return [*messages[:LISTED], *filter(None, [unlisted])]


# As a comment -------------------------------------------------------------------------------------


def comment(results: Record, name: str) -> str:
    """The summary as Markdown. Its first line is a mark by which a comment is found again."""
    # quoted, as a name may end the mark, or the text of a command in which the mark stands
    mark = f"<!-- evalkit {quote(name, safe=' ')} -->"
    lines = [mark, f"### {markdown_line(title(results, name))}", ""]
    first, *further = answer(results) or [""]
    if first:
        lines += [f"**{markdown_line(first)}**", ""]
    if further:
        lines += [markdown_line(" ".join(further)), ""]
    if ended := markdown_line(gate(results)):
        is_failed = _ended(results["gate"]) == FAIL
        lines += [f"**{ended}**" if is_failed else ended, ""]
    lines += [f"{markdown(part)}\n" for strip in strips(results) for part in strip.table.tables]
    state = " open" if _ended(results["gate"] or {}) == FAIL else ""  # of the fold
    for part in rules(results).tables:
        fold = f"<details{state}><summary>Each rule</summary>\n"
        lines += [fold, markdown(part), "\n</details>\n"]
    lines += [f"- {markdown_line(message)}" for message in warned(results)]
    return "\n".join(lines).rstrip()


# As a mail ----------------------------------------------------------------------------------------


def mail(results: Record, name: str) -> str:
    """The summary as one HTML body with inline styles: mail clients drop style sheets and SVG."""
    heading = escape(title(results, name))
    parts = [f'<h1 style="{FONT};font-size:20px;margin:0 0 12px;color:{INK}">{heading}</h1>']
    first, *further = answer(results) or [""]
    if first:
        parts.append(_paragraph(first, size=16))
    if further:
        parts.append(_paragraph(" ".join(further)))
    if ended := gate(results):
        colour = TONES.get(_ended(results["gate"]), INK)
        parts.append(_paragraph(ended, colour=colour))
    for strip in strips(results):
        parts += [_strip(strip), _note(strip.note)]
    for judged in rules(results).tables:
        heads, *rows = judged.lines
        parts += [_table(heads, [_rule(row) for row in rows]), _note(judged.note)]
    parts += map(_paragraph, warned(results))
    style = f"max-width:720px;margin:0 auto;padding:16px;background:#ffffff;color:{INK}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f'</head><body style="margin:0"><div style="{style}">{"".join(parts)}</div></body></html>\n'
    )


def _paragraph(text: str, *, size: int = 14, colour: str = INK) -> str:
    style = f"{FONT};font-size:{size}px;line-height:1.45;margin:0 0 12px;color:{colour}"
    return f'<p style="{style}">{escape(text)}</p>'


def _note(text: str) -> str:
    """What is said below a table; "" if there is nothing to say."""
    return _paragraph(text, size=12, colour=MUTED) if text else ""


def _strip(strip: Strip) -> str:
    """The strip with its axis as the cells of a table."""
    axis = Axis.of(strip.points, math.nan)
    compared = any(row.verdict for row in strip.rows)
    rows = []
    for row in strip.rows:
        drawn = _axis(axis, row.point, row.tone) if row.point else ""
        cells = [breaking(row.system), f"{escape(row.estimate.full_text)}{drawn}"]
        if compared:
            cells.append(f"{breaking(row.difference)}<br>{_word(row.verdict)}")
        rows.append(cells)
    heads = ["system", strip.metric]
    return _table([*heads, "difference"] if compared else heads, rows)


def _rule(row: Sequence[str]) -> list[str]:
    """The cells of a rule, with its result in its colour."""
    that, result, *others = row
    return [breaking(that), _word(result), *map(breaking, others)]


def _word(word: str) -> str:
    """A verdict or a result in its colour."""
    return f'<b style="color:{TONES.get(word, MUTED)}">{escape(word)}</b>' if word else ""


def _axis(axis: Axis, point: Point, word: str) -> str:
    """An interval with its dot: cells of a table, empty ones beside coloured ones; without a value
    the axis is empty.
    """
    tone = TONES.get(word, "#0969da")
    if math.isnan(point[0]):
        widths = [(WIDTH, "transparent", 3)]
    else:
        value, low, high = (_pixel(axis, end) for end in point)
        left = value - DOT // 2
        right = left + DOT
        widths = [
            (min(low, left), "transparent", 3),
            (max(left - low, 0), tone, 3),
            (DOT, tone, DOT),
            (max(high - right, 0), tone, 3),
            (WIDTH - max(high, right), "transparent", 3),
        ]
    cells = "".join(
        f'<td width="{width}" style="padding:4px 0 0"><div style="width:{width}px;'
        f'height:{height}px;background-color:{colour};font-size:0;line-height:0">&nbsp;</div></td>'
        for width, colour, height in widths
        if width
    )
    table_style = f"border-collapse:collapse;width:{WIDTH}px"
    return (
        f'<table role="presentation" cellpadding="0" cellspacing="0" width="{WIDTH}" '
        f'style="{table_style}"><tr>{cells}</tr></table>'
    )


def _pixel(axis: Axis, value: float) -> int:
    """Where a value lies on the axis, in pixels from the left."""
    return round(float(axis.at(value).rstrip("%")) / 100 * WIDTH)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with inline styles. rows: cells of HTML."""
    style = f"{CELL};{FONT};font-size:13px;color:{INK}"
    head = "".join(
        f'<th style="{style};background:{SOFT};color:{MUTED}">{escape(text)}</th>' for text in heads
    )
    body = ""
    for row in rows:
        shown = "".join(f'<td style="{style}">{cell}</td>' for cell in row)
        body += f"<tr>{shown}</tr>"
    table_style = "border-collapse:collapse;margin:0 0 16px"
    return f'<table cellspacing="0" style="{table_style}"><tr>{head}</tr>{body}</table>'


def _encodable(text: str) -> str:
    """The text with lone surrogates escaped, which matplotlib cannot draw."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def picture(strip: Strip, path: Path) -> None:
    """Write the strip as a PNG in the style of the page, for mail clients that take pictures."""
    from matplotlib import style

    from evalkit.drawing import figures, plots

    metric = _encodable(strip.metric)
    drawn = [(_encodable(row.system), *row.point) for row in strip.rows if row.point]
    frame = pd.DataFrame(drawn, columns=["name", "value", "low", "high"])
    figure = figures.picture(
        plots.intervals,
        frame,
        caption=metric,
        height=figures.tall(len(frame), each=0.35),
        width=PICTURE,
        label=metric,
        zero=False,
    )
    with style.context("default"):  # what the reader's matplotlibrc sets is not the page's style
        path.write_bytes(base64.b64decode(figure.png.content))
