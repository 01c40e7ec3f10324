"""What the page shows in words and tables: all text from the data escaped."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from evalkit.drawing import exports
from evalkit.drawing.exports import Cell, Table, cell, escape
from evalkit.drawing.exports import joined as joined
from evalkit.findings.kinds import Finding
from evalkit.numbers import Show, decimals, definition, interval, number, p_value, printed, signed, thousands

NAME = re.compile(r"(_)(?=\w)")  # where the printed head of a narrow column may break
SLASH = re.compile(r"\b(\w/\w)\b|/")  # an abbreviation such as A/B, or where a path may break


@dataclass(frozen=True)
class Html:
    """A piece of the page: HTML for the page, plain text for a terminal."""

    html: str
    text: str = ""
    tables: tuple["Table", ...] = ()

    def to_frames(self) -> list[pd.DataFrame]:
        """The tables as frames of numbers with the digits of the page; an interval has columns `low` and `high`."""
        return [exports.frame(table) for table in self.tables]

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in Markdown, which is also written if there is a path."""
        return exports.written("\n".join(map(exports.markdown, self.tables)), path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in LaTeX for the package booktabs, with intervals and marks of significance; as `to_markdown`."""
        return exports.written("\n".join(map(exports.latex, self.tables)), path)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The tables as CSV, which is also written if there is a path; several are divided by an empty line."""
        return exports.written(
            "\n".join(exports.spreadsheet(frame).to_csv(index=False) for frame in self.to_frames()), path
        )

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write the tables as the sheets of a workbook; needs openpyxl."""
        exports.workbook(self.to_frames(), path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


def with_interval(value: float, low: float, high: float, show: Show = number, places: int | None = None) -> Cell:
    """A number and its interval."""
    places = decimals([value], [low], [high]) if places is None else places
    numbers = tuple(printed(number, places) for number in (value, low, high))
    return Cell(show(value, places), interval(low, high, show, places), numbers=numbers)


def number_cell(value: float, places: int | None = None, show: Show = number) -> Cell:
    """A number."""
    places = decimals([value]) if places is None else places
    return Cell(show(value, places), numbers=(printed(value, places),))


def p_cell(p: float) -> Cell:
    """A p-value; below the smallest that is printed it is words.

    >>> p_cell(0.0004).numbers, p_cell(0.2).numbers
    ((), (0.2,))
    """
    text = p_value(p)
    return Cell(text, numbers=() if text.startswith("<") else (p if math.isnan(p) else float(text),))


def heading(text: str, asked: str, *more: str) -> Html:
    """The title and the question that the page answers, then what else is to be said first."""
    lines = "".join(f'<p class="asked">{escape(line)}</p>' for line in (asked, *more))
    breaking = SLASH.sub(lambda m: f"<span>{m[1]}</span>" if m[1] else "/<wbr>", escape(text))
    return Html(f"<h1>{breaking}</h1>{lines}", "\n".join([text, asked, *more]))


def verdict(word: str, main: Cell, *small: Cell) -> Html:
    """The answer: a word, the line beside it, and smaller lines below."""
    lines = "".join(f"<p>{line.html}</p>" for line in small)
    kind, text = word.replace(" ", "-"), f"{word}: {main.whole}"
    return Html(f'<div class="verdict {kind}"><p><strong>{escape(word)}</strong> {main.html}</p>{lines}</div>', text)


def answer(sentence: str) -> Html:
    """The answer in a sentence that a reader can repeat."""
    return Html(f'<p class="answer">{escape(sentence)}</p>', sentence)


def gloss(metric: Cell, meaning: str) -> Html:
    """What the metric of the answer measures: its name, and what it is in plain words."""
    return Html(f'<p class="gloss muted">{metric.html}: {escape(meaning)}</p>', f"{metric.whole}: {meaning}")


def stack(pieces: Iterable[Html]) -> Html:
    """Several pieces below one another."""
    pieces = list(pieces)
    every = tuple(table for piece in pieces for table in piece.tables)
    return Html("".join(piece.html for piece in pieces), "\n".join(piece.text for piece in pieces), every)


def findings(items: Iterable[Finding]) -> Html:
    """What to know first, each with its code; one that could change the answer with what to do."""
    several = list(items)
    rows = "".join(_alike(list(alike)) for _, alike in groupby(several, key=lambda finding: finding.kind.code))
    return Html(f'<ul class="notes">{rows}</ul>', "\n".join(map(str, several)))


def _alike(findings: list[Finding]) -> str:
    """Findings of one kind; of many the first ones, the others folded."""
    rows, rest = "".join(map(_finding, findings[:ALIKE])), "".join(map(_finding, findings[ALIKE:]))
    if not rest:
        return rows
    summary = f"{len(findings) - ALIKE:,} more of {findings[0].kind.code}"
    return f'{rows}<li><details><summary>{summary}</summary><ul class="notes">{rest}</ul></details></li>'


def _finding(finding: Finding) -> str:
    text = escape(finding.message)
    if not finding.matters:
        return f"<li>{text} {code(finding)}</li>"
    advice = enumerate(escape(finding.kind.advice).split("`"))  # what stands between two marks is code
    marked = "".join(f"<code>{part}</code>" if i % 2 else part for i, part in advice)
    return f'<li class="warn">{text} {marked} {code(finding)}</li>'


def code(finding: Finding) -> str:
    """The code of a finding as HTML, with its name and what to do under the pointer."""
    kind = finding.kind
    return f'<span class="muted" title="{escape(kind.name)}: {escape(kind.advice.replace("`", ""))}">{kind.code}</span>'


def paragraph(text: str) -> Html:
    """One muted paragraph."""
    return Html(f'<p class="muted">{escape(text)}</p>', text)


LISTED = 200  # rows of a table that someone may still read
UNFOLDED = 30  # rows of a table of which the others are folded
LONG = 40  # more letters of a row's head than stand on one line
ALIKE = 3  # findings of one kind that are read one by one
Head = Cell | str


def table(
    caption: str,
    columns: Sequence[Head],
    rows: Sequence[Sequence[Cell | str]],
    note: str = "",
    place: str = "",
    *,
    marks: str = "",
) -> Html:
    """A table in a box that scrolls on a phone, of at most `LISTED` rows.

    The first cell of a row is its head. place: the id of the box. marks: what the marks of cells mean, which only a
    printed table has.
    """
    content = _content(caption, columns, rows[:LISTED], cut(len(rows), note), marks)
    shown, rest = content.rows, content.rows[UNFOLDED:]
    more = ""
    if len(rest) >= UNFOLDED // 2:
        shown, inner = shown[:UNFOLDED], _html(f"{caption}, continued", content.columns, rest)
        more = folded(f"{len(rest):,} more rows", Html(inner), "rows").html
    return Html(_html(caption, content.columns, shown, place) + _below(content) + more, content.text, (content,))


def whole(caption: str, columns: Sequence[Head], rows: Sequence[Sequence[Cell | str]], note: str = "") -> Html:
    """A table of all its rows, for a fold of its own; HTML lets it do without the end tags of rows and cells."""
    content = _content(caption, columns, rows, note)
    return Html(
        _html(caption, content.columns, content.rows, ends=("", "", "")) + _below(content), content.text, (content,)
    )


def _content(
    caption: str, columns: Sequence[Head], rows: Sequence[Sequence[Cell | str]], note: str, marks: str = ""
) -> Table:
    return Table(caption, [*map(cell, columns)], [[*map(cell, row)] for row in rows], note, marks)


def _below(content: Table) -> str:
    return f'<p class="muted">{escape(content.note)}</p>' if content.note else ""


def cut(rows: int, note: str) -> str:
    """The note of a table of so many rows, which says so where it does not show all."""
    return f"The first {LISTED} of {rows:,} rows; the JSON holds all. {note}".strip() if rows > LISTED else note


def _html(
    caption: str,
    columns: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    place: str = "",
    ends: tuple[str, str, str] = ("</tr>", "</th>", "</td>"),
) -> str:
    """The HTML of a table in its box. ends: the end tags of rows, heads and cells."""
    tr, th, td = ends
    words = [bool(rows) and all(row[i].kind == "text" for row in rows) for i in range(len(columns))]
    heads = (column.markup or NAME.sub(r"\1<wbr>", escape(column.text)) for column in columns)
    kinds = (' class="text"' if word else "" for word in words)
    head = "".join(f'<th scope="col"{kind}>{text}{th}' for kind, text in zip(kinds, heads, strict=True))
    body = "".join(f"<tr>{_first(row[0])}{th}{''.join(f'{_td(one)}{td}' for one in row[1:])}{tr}" for row in rows)
    inner = f"<caption>{escape(caption)}</caption><thead><tr>{head}{tr}</thead><tbody>{body}</tbody>"
    box = f' id="{place}"' if place else ""
    return f'<div class="scroll"{box}><table class="metrics">{inner}</table></div>'


def _first(cell: Cell) -> str:
    """The head of a row, without its end."""
    long = ' class="long"' if len(cell.whole) > LONG else ""
    return f'<th scope="row"{long}>{cell.html}'


def _td(cell: Cell) -> str:
    """A cell without its end; the best value is bold without the style of the page too, as in JupyterLab."""
    kind = f' class="{cell.kind}"' if cell.kind else ""
    return f"<td{kind}>{f'<b>{cell.html}</b>' if cell.kind == 'lead' else cell.html}"


Rows = Sequence[Mapping[str, Any]]
Column = Callable[[Rows], Sequence[Cell | str]]  # the cells of a column, of all its rows
Numbers = Callable[[Rows], list[Cell]]  # the same of numbers


def of_rows(
    caption: str, rows: pd.DataFrame | None, columns: "Mapping[str, Column] | str", note: str = "", place: str = ""
) -> Html:
    """A table of a frame; nothing where that is None. columns: each head, and what makes its cells; see `columns`."""
    if rows is None:
        return Html("")
    records, makers = rows.head(LISTED).to_dict("records"), named(columns) if isinstance(columns, str) else columns
    cells = zip(*(column(records) for column in makers.values()), strict=True)
    return table(caption, list(makers), list(cells), cut(len(rows), note), place)


def by_system(caption: str, frame: pd.DataFrame, along: str, column: Column, note: str = "", head: Any = str) -> Html:
    """A table with a row for each system, and a column for each value along which the frame goes."""
    parts = [part.to_dict("records") for _, part in frame.groupby(along, sort=False)]
    rows = list(zip(dict.fromkeys(frame["system"]), *map(column, parts), strict=True))
    return table(caption, ["system", *map(head, dict.fromkeys(frame[along]))], rows, note)


def each(make: Callable[[Mapping[str, Any]], Cell | str]) -> Column:
    """A column whose cells are made one by one."""
    return lambda rows: [make(row) for row in rows]


def text(name: str, show: Callable[[Any], str] = str) -> Column:
    """A column of names, or of numbers that are written by themselves."""
    return each(lambda row: show(row[name]))


def count(name: str, show: Callable[[Any], str] = thousands) -> Column:
    """A column of counts."""
    return each(lambda row: Cell(show(row[name]), numbers=(row[name],)))


def p_column(name: str) -> Column:
    """A column of p-values."""
    return each(lambda row: p_cell(row[name]))


def words(name: str) -> Column:
    """A column of words, set to the left."""
    return each(lambda row: Cell(str(row[name]), kind="text"))


@each
def pair(row: Mapping[str, Any]) -> Cell:
    """The heads of rows of comparisons."""
    return minus(row["first"], row["second"])


def minus(first: object, second: object) -> Cell:
    """The head of one comparison; in a narrow column the sign stays with the second name."""
    return Cell(f"{first} − {second}", markup=f"{escape(first)} −&nbsp;{escape(second)}")


def value(name: str, show: Show = number) -> Numbers:
    """A column of numbers, all with the same decimals."""

    def cells(rows: Rows) -> list[Cell]:
        places = decimals(row[name] for row in rows)
        return [number_cell(row[name], places, show) for row in rows]

    return cells


def limits(name: str, low: str = "low", high: str = "high", show: Show = number) -> Numbers:
    """A column of numbers with their intervals, all with the same decimals."""

    def cells(rows: Rows) -> list[Cell]:
        places = decimals(*([row[key] for row in rows] for key in (name, low, high)))
        return [with_interval(row[name], row[low], row[high], show, places) for row in rows]

    return cells


KINDS: dict[str, Callable[[str], Column]] = {
    "": text,
    "w": words,
    "#": value,
    "±": partial(value, show=signed),
    "[]": limits,
    "±[]": partial(limits, show=signed),
    "[_]": lambda name: limits(name, f"{name}_low", f"{name}_high"),
    "n": count,
    "i": partial(count, show=str),
    "p": p_column,
    "%": partial(text, show="{:.0%}".format),
}


def named(columns: str) -> dict[str, Column]:
    """Columns in one text: `head = name kind`, divided by |; the head is the name where it is left out.

    Kinds: none, a text; w, words, set to the left; #, a number; ±, one with its sign; [] and ±[], with the limits low
    and high; [_], with limits of its own name; n, a count; i, one without grouping; p; %.
    """
    parts = [part.rpartition("=") for part in columns.split("|")]
    split = [(head.strip(), *name.split()) for head, _, name in parts]
    return {(head or name): KINDS["".join(kind)](name) for head, name, *kind in split}


def folded(summary: str, piece: Html, kind: str = "", place: str = "") -> Html:
    """A piece that opens when its summary is clicked. kind, place: the class and the id of the fold, none if empty."""
    start = "".join(f' {name}="{value}"' for name, value in (("id", place), ("class", kind)) if value)
    return Html(
        f"<details{start}><summary>{escape(summary)}</summary>{piece.html}</details>",
        f"{summary}\n{piece.text}",
        piece.tables,
    )


def definitions(items: Sequence[tuple[str, str]]) -> Html:
    """Names and what they mean, plain text, folded; links open them and lead to them by `definition`."""
    listed = _listed("definitions", items, [f' id="{definition(name)}"' for name, _ in items])
    return folded(f"{len(items)} metrics, methods and terms", listed)


def provenance(items: Sequence[tuple[str, str]]) -> Html:
    """What made this page: names and values, plain text, folded."""
    return folded("Command, inputs and versions", _listed("definitions provenance", items, [""] * len(items)))


def _listed(kind: str, items: Sequence[tuple[str, str]], places: Sequence[str]) -> Html:
    listed = zip(places, items, strict=True)
    body = "".join(f"<dt{place}>{escape(name)}</dt><dd>{escape(text)}</dd>" for place, (name, text) in listed)
    return Html(f'<dl class="{kind}">{body}</dl>', "\n".join(f"{name}: {text}" for name, text in items))


@dataclass(frozen=True)
class Results:
    """What the last cell publishes: every number of the page, unrounded, for `evalkit report` to write as JSON."""

    results: Mapping[str, Any]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"application/vnd.evalkit+json": plain(self.results), "text/plain": ""}


PLAIN = (str, int, bool, type(None))  # what JSON has as it is: most of what many comparisons hold


def plain(value: Any) -> Any:
    """The value as JSON has it: no numpy types; NaN and infinity, which JSON lacks, are null."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return str(value)
