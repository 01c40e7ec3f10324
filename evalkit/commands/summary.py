"""`evalkit summary REPORT`: the first screen of a report for a mail or a pull request."""

import base64
import json
import math
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeGuard
from urllib.parse import quote

import pandas as pd

from evalkit import report
from evalkit.arrays import InputError, Record
from evalkit.catalogue import lookup
from evalkit.commands import batch, requests
from evalkit.drawing.cells import Cell, breakable_name, escape, interval_cell
from evalkit.drawing.markdown import markdown, markdown_line
from evalkit.drawing.pieces import Html
from evalkit.drawing.strips import Axis, Point
from evalkit.drawing.tables import table
from evalkit.findings.kinds import NOTE, SEVERE, WARNING
from evalkit.machine import terminal
from evalkit.numbers import (
    count_with_noun,
    decimals,
    limits_from_json,
    number,
    percent,
    plural,
    signed_number,
)
from evalkit.pages import first_screen
from evalkit.parameters.policy import CANNOT_TELL, FAIL, PASS

LISTED = 12  # systems, rules and findings; a mail or a comment is no page
INK = "#1f2328"  # of text
MUTED_COLOUR = "#59636e"  # of what matters less
LINE = "#d1d9e0"  # between rows
SOFT = "#f6f8fa"  # behind the heads of columns
TONES = {"better": "#1a7f37", "pass": "#1a7f37", "worse": "#b3261e", "fail": "#b3261e"}
FONT = "font-family:Segoe UI,Helvetica,Arial,sans-serif"
CELL = f"padding:5px 6px;border-bottom:1px solid {LINE};text-align:left;vertical-align:middle"
CAUGHT = (
    "Regression caught: the smallest true regression that fails the rule with 80% probability. "
    "Unchanged: the probability that a model without any regression fails it, ≥ of a rule with "
    "several statements, of which each may fail."
)
WIDTH = 130  # pixels of the axis, which a telephone has beside the columns of text
PICTURE_WIDTH = 6  # inches
DOT = 8  # pixels of the width and the height of the dot at a value
LINE_HEIGHT = 3  # pixels of an interval

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
    """A system with its estimate, `value`, and a comparison in which it is the first; or a further
    comparison of the system above, with an empty name and without a point (None).

    difference, verdict: "" without a comparison. point: NaN where the value is not known. tone: the
    verdict of all comparisons of the system, "" if they differ.
    """

    system: str
    value: Cell
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
        if self.has_verdicts:
            heads += ["difference", "verdict"]
        table_rows = []
        for row in self.rows:
            cells = [Cell(row.system, kind="text"), row.value]
            if self.has_verdicts:
                cells += [Cell(row.difference), Cell(row.verdict, kind="text")]
            table_rows.append(cells)
        interval = f"{self.level} interval".lstrip()
        return table(f"{self.metric} with its {interval}", heads, table_rows, self.note)

    @property
    def has_verdicts(self) -> bool:
        """True if a system is compared."""
        return any(row.verdict for row in self.rows)

    @property
    def points(self) -> list[Point]:
        """The value of each system with its limits."""
        return [row.point for row in self.rows if row.point]


def main(options: Namespace) -> int:
    """Print the summary as Markdown, or write it as a mail with its picture; return the status."""
    with requests.input_errors_refused():
        if options.report.is_dir():
            raise InputError(f"{options.report}: must be a file of a report, got a folder")
        file = options.report.with_name(f"{report.stem(options.report)}.json")
        results = read(file)
        if options.html:
            paths = write(results, file)
        else:
            paths = []
            terminal.show(comment(results, report.stem(file)))
    for path in paths:
        terminal.show(str(path))
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
    """The results of a report, with the fields that the summary shows.

    What a notebook of one's own publishes in another form is left out. Raises InputError where the
    file is not the results of a report.
    """
    try:
        # NaN and infinity, which no report writes and which have no place on an axis, become None
        results = json.loads(file.read_text(encoding="utf-8"), parse_constant=lambda name: None)
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror}") from None
    except ValueError:
        results = None
    if not _has(results, {"report": str}):
        raise InputError(f"{file}: must be the results of a report (NAME.json)")
    summarised = _study_fields(results) | {
        "report": results["report"],
        "parameters": _mapping(results.get("parameters")),
        "inputs": _rows(results.get("inputs"), {"name": str}),
        "findings": _rows(results.get("findings"), FINDING),
        "gate": _gate(results.get("gate")),
    }
    for name in ("log", "users"):  # the two studies of an interleaving report
        if name in results:
            summarised[name] = _study_fields(results[name])
    if _has(results.get("verdict"), VERDICT):
        summarised["verdict"] = results["verdict"]
    return summarised


def _study_fields(study: object) -> dict[str, object]:
    """The answer, the estimates, the headline and the metric that decides.

    study: what a study publishes: the results, or the log or the users in them.
    """
    published = _mapping(study)
    return {
        "answer": [str(sentence) for sentence in _list(published.get("answer"))],
        "estimates": _rows(published.get("estimates"), ESTIMATE),
        "headline": _rows(published.get("headline"), COMPARISON),
        "primary": published.get("primary"),
    }


def _gate(gate: object) -> dict[str, object] | None:
    """The gate of the results with those rules and statements that have the expected fields; None
    if the report has no gate. gate: what the report published.
    """
    if not isinstance(gate, Mapping):
        return None
    rules = []
    for rule in _rows(gate.get("rules"), RULE):
        rules.append({**rule, "statements": _rows(rule.get("statements"), STATEMENT)})
    return {**gate, "rules": rules, "warnings": _list(gate.get("warnings"))}


def _mapping(value: object) -> Record:
    """The value, or an empty mapping where it is none."""
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    """The value, or an empty list where it is none."""
    return value if isinstance(value, list) else []


def _rows(rows: object, fields: Fields) -> list[Record]:
    """The rows of a table of the results that have all these fields."""
    return [row for row in _list(rows) if _has(row, fields)]


def _has(value: object, fields: Fields) -> TypeGuard[Record]:
    """True for a mapping with all these fields, and with values of their types."""
    if not isinstance(value, Mapping):
        return False
    return all(name in value and isinstance(value[name], kind) for name, kind in fields.items())


# What is said -------------------------------------------------------------------------------------


def title(results: Record, name: str) -> str:
    """The title of the report with the date of its data: the title that the user set, or else the
    kind of report and its name. name: that of the file of the results, without its ending.
    """
    parameters = results["parameters"]
    kind = results["report"].capitalize()
    if "log" in results and not results["log"]["estimates"]:
        kind = "A/B test"  # the interleaving report, given a table of users but no log
    inputs = [source["name"] for source in results["inputs"]]
    if results["report"] == "diff" and len(inputs) > 1:
        old, new = inputs[-2:]  # after any earlier reports
        name = f"{new} against {old}"
    elif inputs and name == results["report"]:  # "ranking" alone: the user gave no name
        name = first_screen.input_name(inputs)
    heading = str(parameters.get("title") or f"{kind}: {name}")
    date = parameters.get("data_date")
    return f"{heading}, {date}" if date else heading


def answer(results: Record) -> list[str]:
    """The sentences of the first screen; of an earlier report, which has none in its results, the
    verdict in a line.
    """
    sentences = []
    for table_results in batch.results_by_table(results):
        sentences += table_results.get("answer", [])
    if not sentences:
        sentences.append(batch.verdict(results))
    return [sentence for sentence in sentences if sentence]


def gate(results: Record) -> str:
    """How the gate ended, in a line: its own message, or else its result and its rule; "" without a
    gate, and for a gate without a result.
    """
    judged = results["gate"] or {}
    if judged.get("message"):
        return _capitalised(str(judged["message"]))
    rule = judged.get("rule", "no rule given")  # a notebook may publish a gate of its own
    result = _result_of_gate(judged)
    if result == PASS:
        return f"Gate passed: {rule}"
    return f"Gate failed: {rule}" if result == FAIL else ""


def _capitalised(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _result_of_gate(judged: Record) -> str:
    """PASS or FAIL; "" where the gate states no result."""
    passed = judged.get("passed")
    if not isinstance(passed, bool):
        return ""
    return PASS if passed else FAIL


def strips(results: Record) -> Iterator[Strip]:
    """The strip of the report: the primary metric of its systems, and their comparisons. Of an
    interleaving report one for its log and one for its users, as far as it has them.
    """
    for table_results in batch.results_by_table(results):
        estimates = table_results.get("estimates") or []
        metrics: list[str] = [row["metric"] for row in estimates]
        if not metrics:
            continue
        metric = table_results.get("primary")
        if metric not in metrics:  # an earlier report, or a notebook that names none
            metric = metrics[0]
        systems = [row for row in estimates if row["metric"] == metric]
        listed = systems[:LISTED]
        names = {row["system"] for row in listed}
        headline = table_results.get("headline") or []
        # a comparison stands in the row of its first system
        comparisons = [row for row in headline if row["first"] in names][:LISTED]
        rows: list[StripRow] = []
        for estimate in listed:
            rows += _strip_rows(estimate, comparisons)
        further_systems = _unlisted(len(systems) - LISTED, "system")
        further_comparisons = _unlisted(len(headline) - len(comparisons), "comparison")
        level = systems[0].get("level")
        level_text = percent(level) if isinstance(level, float) else ""
        note = f"{further_systems} {further_comparisons}".strip()
        yield Strip(lookup.title_of(metric), level_text, rows, note)


def _unlisted(count: int, noun: str) -> str:
    """The sentence that says how many things are not listed, "" if all are."""
    return f"And {count:,} more {plural(noun, count)}." if count > 0 else ""


def _strip_rows(estimate: Record, headline: Sequence[Record]) -> Iterator[StripRow]:
    """The rows of a system: with its first comparison, then one for each further comparison."""
    system = estimate["system"]
    value = _number(estimate["value"])
    low = _number(estimate["low"])
    high = _number(estimate["high"])
    cell = interval_cell(value, low, high)
    # a limit that is not known is drawn at the value, as on the page
    drawn_low = value if math.isnan(low) else low
    drawn_high = value if math.isnan(high) else high
    point = (value, drawn_low, drawn_high)
    comparisons = [row for row in headline if row["first"] == system]
    if not comparisons:
        yield StripRow(system, cell, "", "", point)
        return
    first, *further = comparisons
    has_one_verdict = all(row["verdict"] == first["verdict"] for row in further)
    tone = first["verdict"] if has_one_verdict else ""
    yield StripRow(system, cell, _difference(first), first["verdict"], point, tone)
    for row in further:
        yield StripRow("", Cell(""), _difference(row), row["verdict"], None)


def _number(value: float | None) -> float:
    """A number of the results, NaN for null."""
    return math.nan if value is None else value


def _difference(comparison: Record) -> str:
    """The difference from the second system, with the digits that its interval deserves."""
    difference = comparison["difference"]
    low, high = limits_from_json(comparison["low"], comparison["high"])
    if difference is None:
        return f"– from {comparison['second']}"
    places = None if math.isnan(low) else decimals([difference], [low], [high])
    return f"{signed_number(difference, places)} from {comparison['second']}"


def rules(results: Record) -> Html:
    """The rules of the gate, those that are not kept first: the result, and what each statement
    that decides it says.
    """
    judged = results["gate"] or {"rules": []}
    ordered = sorted(judged["rules"], key=_is_kept)
    rows = []
    for rule in ordered[:LISTED]:
        statements = rule["statements"]
        deciding = [row for row in statements if row["result"] == rule["result"]]
        rows.append(
            [
                Cell(rule["that"], kind="text"),
                Cell(_result(rule), kind="text"),
                Cell(_decided_by(deciding), kind="text"),
                Cell(_caught(statements)),
            ]
        )
    if not rows:
        return Html("")
    heads = ["rule", "result", "decided by", "regression caught"]
    note = f"{CAUGHT} {_unlisted(len(ordered) - LISTED, 'rule')}".rstrip()
    return table(count_with_noun(len(ordered), "rule"), heads, rows, note)


def _result(rule: Record) -> str:
    """The result of a rule, and whether the rule is kept if the data do not tell."""
    if rule["result"] != CANNOT_TELL:
        return str(rule["result"])
    outcome = "kept" if _is_kept(rule) else "not kept"
    return f"{CANNOT_TELL}: {outcome}"


def _is_kept(rule: Record) -> bool:
    """Whether the gate counts a rule as kept."""
    return bool(rule.get("kept", rule["result"] == PASS))


def _largest_caught(statements: Sequence[Record]) -> float:
    """The regression that fails a rule whatever system or slice it is in; NaN if one of the
    statements fails for none.
    """
    largest = math.nan
    for statement in statements:
        size = statement.get("catches")
        if not isinstance(size, int | float):
            return math.nan
        largest = size if math.isnan(largest) else max(largest, size)
    return largest


def _caught(statements: Sequence[Record]) -> str:
    """The smallest regression that a rule catches, and, if it is known, the probability that a
    model without any regression fails the rule, such as "0.02; unchanged ≥ 3%". statements: those
    of the rule, one for each system and slice.
    """
    caught = number(_largest_caught(statements))
    false_alarms = []  # of each statement the probability that an unchanged model fails it
    for statement in statements:
        probability = statement.get("unchanged_fails")
        if isinstance(probability, int | float):
            false_alarms.append(probability)
    if not false_alarms:
        return caught
    largest = first_screen.probability(max(false_alarms)).text  # such as "3%" or "<0.1%"
    # The rule fails if any of its statements does: its probability is at least the largest one.
    # With "<0.1%" nothing is said of a lower bound.
    has_lower_bound = not largest.startswith("<")
    if len(statements) > 1 and has_lower_bound:
        largest = f"≥ {largest.lstrip('>')}"
    return f"{caught}; unchanged {largest}"


def _decided_by(statements: Sequence[Record]) -> str:
    """The systems and slices on which a rule's result rests, with the reason of those that are not
    decided. statements: of the rule, those that have its result.
    """
    texts: dict[str, None] = {}  # a set that keeps the order
    for row in statements:
        slice_name = f"{row.get('segment') or ''} {row['slice']}".strip()
        subject = f"{row['system']} ({slice_name})" if slice_name else row["system"]
        text = f"{subject} {row['why']}".strip()
        if text:
            texts[text] = None
    if len(texts) > LISTED:
        return count_with_noun(len(texts), "statement")
    return ", ".join(texts)


def warned(results: Record) -> list[str]:
    """What the reader should be warned of, a line each: the severe findings; the warnings of the
    gate, such as of a rule that hardly any regression fails; the findings that are warnings. Of
    more than `LISTED` lines the first, and how many are left out.
    """
    severe = []
    warnings = []
    gate_results = results["gate"] or {}  # None without a gate
    for text in gate_results.get("warnings", []):
        warnings.append(f"{_capitalised(WARNING)}: {text}")
    for finding in results["findings"]:
        line = f"{_capitalised(finding['severity'])}: {finding['message']}"
        if finding["severity"] == SEVERE:
            severe.append(line)
        elif finding["severity"] != NOTE:
            warnings.append(line)
    lines = severe + warnings
    listed = lines[:LISTED]
    if len(lines) > LISTED:
        listed.append(_unlisted(len(lines) - LISTED, "warning"))
    return listed


# As a comment -------------------------------------------------------------------------------------


def comment(results: Record, name: str) -> str:
    """The summary as Markdown. Its first line is a mark by which the comment that an earlier run
    wrote is found again. name: of the report's file, without its ending.
    """
    # percent-encoded, as a name with "-->" would end the mark, and one with a quotation mark the
    # text of a command that looks for the mark
    mark = f"<!-- evalkit {quote(name, safe=' ')} -->"
    lines = [mark, f"### {markdown_line(title(results, name))}", ""]
    sentences = answer(results)
    if sentences:
        first, *further = sentences
        lines += [f"**{markdown_line(first)}**", ""]
        if further:
            lines += [markdown_line(" ".join(further)), ""]
    has_failed = _result_of_gate(results["gate"] or {}) == FAIL
    gate_line = markdown_line(gate(results))
    if gate_line and has_failed:
        gate_line = f"**{gate_line}**"
    if gate_line:
        lines += [gate_line, ""]
    for strip in strips(results):
        lines += [f"{markdown(strip_table)}\n" for strip_table in strip.table.tables]
    state = " open" if has_failed else ""  # of the fold
    for rule_table in rules(results).tables:
        fold = f"<details{state}><summary>Each rule</summary>\n"
        lines += [fold, markdown(rule_table), "\n</details>\n"]
    lines += [f"- {markdown_line(message)}" for message in warned(results)]
    return "\n".join(lines).rstrip()


# As a mail ----------------------------------------------------------------------------------------


def mail(results: Record, name: str) -> str:
    """The summary as an HTML document: title, answer, gate, systems, rules and warnings. Styles are
    inline and there is no SVG, as mail clients drop style sheets and SVG. name: of the report's
    file, without its ending.
    """
    heading = escape(title(results, name))
    parts = [f'<h1 style="{FONT};font-size:20px;margin:0 0 12px;color:{INK}">{heading}</h1>']
    sentences = answer(results)
    if sentences:
        first, *further = sentences
        parts.append(_paragraph(first, size=16))
        if further:
            parts.append(_paragraph(" ".join(further)))
    gate_line = gate(results)
    if gate_line:
        colour = TONES.get(_result_of_gate(results["gate"]), INK)  # green for pass, red for fail
        parts.append(_paragraph(gate_line, colour=colour))
    for strip in strips(results):
        parts += [_strip(strip), _note(strip.note)]
    for rule_table in rules(results).tables:  # one table, or none without rules
        heads, *rows = rule_table.lines  # the texts of the cells, line by line
        rows_in_html = [_rule(row) for row in rows]
        parts += [_table(heads, rows_in_html), _note(rule_table.note)]
    parts += [_paragraph(line) for line in warned(results)]
    style = f"max-width:720px;margin:0 auto;padding:16px;background:#ffffff;color:{INK}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f'</head><body style="margin:0"><div style="{style}">{"".join(parts)}</div></body></html>\n'
    )


def _paragraph(text: str, *, size: int = 14, colour: str = INK) -> str:
    """A paragraph. size: of its letters in pixels."""
    style = f"{FONT};font-size:{size}px;line-height:1.45;margin:0 0 12px;color:{colour}"
    return f'<p style="{style}">{escape(text)}</p>'


def _note(text: str) -> str:
    """The note below a table as a paragraph; "" for no note."""
    return _paragraph(text, size=12, colour=MUTED_COLOUR) if text else ""


def _strip(strip: Strip) -> str:
    """The strip as an HTML table, with each system's interval drawn below its value."""
    axis = Axis.around(strip.points, reference=math.nan)
    rows = []
    for row in strip.rows:
        interval = ""
        if row.point:  # None in a further comparison of the system above
            interval = _axis(axis, row.point, row.tone)
        cells = [breakable_name(row.system), f"{escape(row.value.full_text)}{interval}"]
        if strip.has_verdicts:
            cells.append(f"{breakable_name(row.difference)}<br>{_word(row.verdict)}")
        rows.append(cells)
    heads = ["system", strip.metric]
    if strip.has_verdicts:
        heads.append("difference")
    return _table(heads, rows)


def _rule(row: Sequence[str]) -> list[str]:
    """The cells of a rule, with its result in its colour."""
    rule, result, decided_by, caught = row
    return [breakable_name(rule), _word(result), breakable_name(decided_by), breakable_name(caught)]


def _word(word: str) -> str:
    """A verdict or a result in its colour."""
    return f'<b style="color:{TONES.get(word, MUTED_COLOUR)}">{escape(word)}</b>' if word else ""


class Bar(NamedTuple):
    """A coloured cell of an axis, in pixels."""

    width: int
    height: int
    colour: str


def _axis(axis: Axis, point: Point, tone: str) -> str:
    """An interval with its dot on the axis, drawn as an HTML table of one row: cells of a colour
    for the interval, transparent ones beside it. Only transparent if the value is not known.

    tone: the verdict that decides the colour; "" for blue.
    """
    cells = ""
    for bar in _bars(axis, point, TONES.get(tone, "#0969da")):
        if bar.width:
            cells += (
                f'<td width="{bar.width}" style="padding:4px 0 0"><div style="width:{bar.width}px;'
                f"height:{bar.height}px;background-color:{bar.colour};font-size:0;line-height:0"
                f'">&nbsp;</div></td>'
            )
    table_style = f"border-collapse:collapse;width:{WIDTH}px"
    return (
        f'<table role="presentation" cellpadding="0" cellspacing="0" width="{WIDTH}" '
        f'style="{table_style}"><tr>{cells}</tr></table>'
    )


def _bars(axis: Axis, point: Point, colour: str) -> list[Bar]:
    """The cells of an axis from left to right: an interval, and within it the dot at its value.
    Together they are as wide as the axis.
    """
    value, low, high = point
    if math.isnan(value):
        return [Bar(WIDTH, LINE_HEIGHT, "transparent")]
    dot_start = _pixel(axis, value) - DOT // 2
    dot_end = dot_start + DOT
    start = min(_pixel(axis, low), dot_start)  # a short interval ends with the dot
    end = max(_pixel(axis, high), dot_end)
    return [
        Bar(start, LINE_HEIGHT, "transparent"),
        Bar(dot_start - start, LINE_HEIGHT, colour),
        Bar(DOT, DOT, colour),
        Bar(end - dot_end, LINE_HEIGHT, colour),
        Bar(WIDTH - end, LINE_HEIGHT, "transparent"),
    ]


def _pixel(axis: Axis, value: float) -> int:
    """Where a value lies on the axis, in pixels from the left."""
    percent = float(axis.position_percent(value).rstrip("%"))
    return round(percent / 100 * WIDTH)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with inline styles. rows: cells of HTML."""
    style = f"{CELL};{FONT};font-size:13px;color:{INK}"
    head = "".join(
        f'<th style="{style};background:{SOFT};color:{MUTED_COLOUR}">{escape(text)}</th>'
        for text in heads
    )
    body = ""
    for row in rows:
        cells = "".join(f'<td style="{style}">{cell}</td>' for cell in row)
        body += f"<tr>{cells}</tr>"
    table_style = "border-collapse:collapse;margin:0 0 16px"
    return f'<table cellspacing="0" style="{table_style}"><tr>{head}</tr>{body}</table>'


def _encodable(text: str) -> str:
    """The text with lone surrogates escaped, which matplotlib cannot draw."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def picture(strip: Strip, path: Path) -> None:
    """Write the systems of a strip with their intervals as a PNG in the style of the page: a
    picture to attach to a mail, in which the table has only coarse bars.
    """
    from matplotlib import style

    from evalkit.drawing import figures, plots

    metric = _encodable(strip.metric)
    rows = []
    for row in strip.rows:
        if row.point:  # None for a further comparison of the system above
            value, low, high = row.point
            rows.append({"name": _encodable(row.system), "value": value, "low": low, "high": high})
    estimates = pd.DataFrame(rows, columns=["name", "value", "low", "high"])
    figure = figures.figure_drawn_by(
        plots.intervals,
        estimates,
        caption=metric,
        height=figures.figure_height(len(estimates), each=0.35),
        width=PICTURE_WIDTH,
        label=metric,
        zero=False,  # 0 is not a reference for values
    )
    with style.context("default"):  # what the reader's matplotlibrc sets is not the page's style
        path.write_bytes(base64.b64decode(figure.png.content))
