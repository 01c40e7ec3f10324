"""Tables and words of the page, and how they are written as HTML, text, Markdown, LaTeX, CSV and
frames; all text from data is escaped.
"""

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pandas as pd

from evalkit.arrays import ParameterError, Record
from evalkit.displays import Display, Displayed, with_page
from evalkit.numbers import (
    END,
    Show,
    decimals,
    definition,
    interval,
    link,
    number,
    p_value,
    printed,
    signed,
    thousands,
)

LIMITED = ("", " low", " high")  # what follows a column's name in a frame: number, limits
BREAKS = re.compile(r"[\r\n\t]+")
NUMBER = r"[+−]?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|∞)|–"
# a number as tables print it, perhaps with its interval: safe in a spreadsheet, although it may
# begin with a sign
SIGNED = re.compile(rf"(?:{NUMBER}|-\d[\d.]*)%?(?: \[(?:{NUMBER})%?, (?:{NUMBER})%?\])?")
INTERVAL = rf"\[(?:{NUMBER})%?, (?:{NUMBER})%?\](?![\[(:])"  # brackets that are no link
# an interval, which stays as it is, or, as group 1, a character that Markdown takes for markup
MARKED = re.compile(rf"{INTERVAL}|([\\`*~$\[\]]|(?<!\w)_|_(?!\w))")
# before a heading, a list, a quote or a rule at the start of a line, and the end of a heading
LINE_MARK = re.compile(r"^(\d+)(?=[.)](?:\s|$))|^(?=[+=>-](?![\d.,]))|(?<!\S)(?=#)")
# what a forge links without markup: the first letters of a URL, a person, an issue; ndcg@10.low
# stays as it is, because a terminal shows it too
LINKED = re.compile(
    r"(?i:\bwww)(?=\.)|:(?=//)|(?<![A-Za-z0-9])@(?=\w)|@(?=[A-Za-z][\w-]*\.\w)|[#!](?=\d)"
)
NOT_LINKED = r"\g<0>&#8203;"  # followed by a space without width, which nobody sees
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {mark: f"\\{mark}" for mark in "&%$#_{}"}
LATEX |= {
    "−": "$-$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\rightarrow$",
    "∞": r"$\infty$",
    "–": "--",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "<": "$<$",
    ">": "$>$",
    "\u00a0": "~",
    "|": "$|$",
    "½": r"$\frac{1}{2}$",
    "√": r"$\surd$",
    "…": r"\ldots{}",
    "·": r"$\cdot$",
    "α": r"$\alpha$",
}


def escape(text: object) -> str:
    """Text made safe for HTML."""
    return html.escape(str(text), quote=True)


@dataclass(frozen=True)
class Cell:
    """A cell of a table, or words of a sentence.

    limits: an interval behind the text. beside, below: muted texts behind both, and on further
    lines. numbers: the printed number, or the number and its limits; empty for words. markup: the
    text as HTML, if it is more than the escaped text, such as a link. kind: classes of HTML, such
    as lead (the best value), muted, text (words, left-aligned), one (on one line). tag: an element
    around all. mark: letters of the systems from which a printed table says it differs
    significantly. group: for the head of a row, a heading above all rows that have the same.
    """

    text: str
    limits: str | None = None
    beside: str = ""
    below: tuple[str, ...] = ()
    numbers: tuple[float, ...] = ()
    markup: str = ""
    kind: str = ""
    tag: str = ""
    mark: str = ""
    group: str = ""

    @property
    def html(self) -> str:
        """The cell as HTML.

        >>> Cell("0.79", "[0.75, 0.81]", below=("n = 7",)).html
        '0.79 <wbr><span class="ci">[0.75, 0.81]</span><br><span class="muted">n = 7</span>'
        """
        limits = "" if self.limits is None else f' <wbr><span class="ci">{self.limits}</span>'
        beside = f' <span class="muted">{escape(self.beside)}</span>' if self.beside else ""
        lines = [f'<br><span class="muted">{escape(line)}</span>' for line in self.below]
        below = "".join(lines).replace("\n", "<br>")
        inner = f"{self.markup or escape(self.text)}{limits}{beside}{below}"
        return f"<{self.tag}>{inner}</{self.tag}>" if self.tag else inner

    @property
    def further_text(self) -> str:
        """The interval and the texts beside and below, on one line."""
        texts = [self.limits, self.beside, *self.below]
        return BREAKS.sub(" ", " ".join(filter(None, texts)))

    @property
    def full_text(self) -> str:
        """All that the cell says, on one line.

        >>> Cell("0.79", "[0.75, 0.81]", below=("n = 7",)).full_text
        '0.79 [0.75, 0.81] n = 7'
        """
        return f"{BREAKS.sub(' ', self.text.strip())} {self.further_text}".strip()


def cell(value: Cell | str) -> Cell:
    """The value if it is a cell, else a cell with this text."""
    return value if isinstance(value, Cell) else Cell(value)


def join(*parts: Cell | str) -> Cell:
    """The parts of a sentence, one behind the other, as one cell."""
    cells = [cell(part) for part in parts]
    text = ""
    for part in cells:
        text += f"{part.text} {part.further_text}" if part.further_text else part.text
    return Cell(text, markup="".join(part.html for part in cells))


@dataclass(frozen=True)
class Table:
    """The contents of a table of the page.

    columns: the heads. rows: as many cells each. note: a text below. marks: the meaning of the
    marks in its cells.
    """

    caption: str
    columns: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    marks: str = ""

    @property
    def lines(self) -> list[list[str]]:
        """The text of each cell by row, the heads of the columns first."""
        return [[cell.full_text for cell in row] for row in [self.columns, *self.rows]]

    @property
    def text(self) -> str:
        """The table for a terminal: the caption, and the columns, as wide as their longest cell."""
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        padded = [self.caption]
        for line in self.lines:
            cells = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
            padded.append("  ".join(cells))
        return "\n".join(padded)


def markdown(table: Table) -> str:
    """The table in Markdown, with its caption above and its note below."""
    head, *rows = [list(map(escape_markdown, line)) for line in table.lines]
    columns = zip(*table.rows, strict=True)
    words = [all(cell.kind == "text" or not cell.text for cell in column) for column in columns]
    alignments = [":--", *(":--" if is_text else "--:" for is_text in words[1:])]
    lines = [f"| {' | '.join(row)} |" for row in [head, alignments, *rows]]
    note = [escape_markdown(table.note), ""] if table.note else []
    return "\n".join([f"**{escape_markdown(table.caption)}**", "", *lines, "", *note])


def escape_markdown(text: str) -> str:
    r"""The text without anything that Markdown or HTML would take for markup, or a forge for a link
    or a mention; intervals, `roc_auc` and `ndcg@10` have none.

    >>> escape_markdown("[x](javascript:y) <b> a|b `c` roc_auc 0.79 [0.75, 0.81]")
    '\\[x\\](javascript:y) &lt;b> a&#124;b \\`c\\` roc_auc 0.79 [0.75, 0.81]'
    >>> escape_markdown("@ann https://x.org ndcg@10")
    '@&#8203;ann https:&#8203;//x.org ndcg@10'
    """
    one_line = " ".join(text.split())
    text = MARKED.sub(_with_backslash, one_line)
    text = LINKED.sub(NOT_LINKED, text.replace("&", "&amp;"))
    return text.replace("<", "&lt;").replace("|", "&#124;")


def _with_backslash(match: re.Match[str]) -> str:
    """What `MARKED` found: an interval as it is, another character behind a backslash."""
    return f"\\{match[1]}" if match[1] else match[0]


def markdown_line(text: str) -> str:
    r"""A line of Markdown that shows the text, and is no heading and no list.

    >>> markdown_line("# a"), markdown_line("1. a"), markdown_line("- a"), markdown_line("-1")
    ('\\# a', '1\\. a', '\\- a', '-1')
    """
    return LINE_MARK.sub(r"\1\\", escape_markdown(text))


def latex(table: Table) -> str:
    r"""The table in LaTeX for the package booktabs; the best values bold, marks of significance as
    superscripts.

    >>> rows = [[Cell("a_b"), Cell("0.81", kind="lead", mark="b")]]
    >>> print(latex(Table("AUC", [Cell("system"), Cell("auc ↑")], rows)))
    \begin{table}
    \caption{AUC}
    \begin{tabular}{lr}
    \toprule
    system & auc $\uparrow$ \\
    \midrule
    a\_b & \textbf{0.81}$^{b}$ \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    heads = " & ".join(_escape_latex(column.full_text) for column in table.columns)
    rows = []
    for row in table.rows:
        line = " & ".join(map(_latex_cell, row))
        # behind \\, the end of the row before, these would be taken for an option
        guard = "{}" if line.startswith(("[", "*")) else ""
        rows.append(rf"{guard}{line} \\")
    below = " ".join(text for text in (table.note, table.marks) if text)
    note = [rf"\par\footnotesize {_escape_latex(below)}"] if below else []
    alignments = "l" + "r" * (len(table.columns) - 1)
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escape_latex(table.caption)}}}",
        rf"\begin{{tabular}}{{{alignments}}}",
        r"\toprule",
        rf"{heads} \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *note,
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _latex_cell(cell: Cell) -> str:
    """A cell in LaTeX: the text, bold if it is the best, its mark, and in small type the interval
    and further texts.
    """
    latex = _escape_latex(BREAKS.sub(" ", cell.text.strip()))
    if cell.kind == "lead":
        latex = rf"\textbf{{{latex}}}"
    if cell.mark:
        latex += f"$^{{{cell.mark}}}$"
    if cell.further_text:
        latex += rf" {{\footnotesize {_escape_latex(cell.further_text)}}}"
    return latex


def _escape_latex(text: str) -> str:
    """Text made safe for LaTeX, with its commands for signs that its fonts may lack."""
    return "".join(LATEX.get(letter, letter) for letter in text)


def frame(table: Table) -> pd.DataFrame:
    """The table as a data frame: numbers as numbers, an interval in two further columns, other text
    of a cell with a number in a column of notes.

    >>> rows = [
    ...     [Cell("a"), Cell("+1,204", "[−3, 2,411]", numbers=(1204, -3, 2411))],
    ...     [Cell("b"), Cell("–")],
    ... ]
    >>> frame(Table("", [Cell("system"), Cell("cost")], rows)).iloc[0].to_dict()
    {'system': 'a', 'cost': 1204.0, 'cost low': -3.0, 'cost high': 2411.0}
    """
    columns: dict[str, list[Any]] = {}
    for i, head in enumerate(table.columns):
        cells = [row[i] for row in table.rows]
        columns |= _frame_columns(head.full_text, cells)
    return pd.DataFrame(columns)


def _frame_columns(name: str, cells: Sequence[Cell]) -> dict[str, list[Any]]:
    """The columns of a frame that one column of a table gives: NAME; NAME low and NAME high, if a
    cell has limits; NAME note, if a cell with a number has further texts.
    """
    size = max((len(cell.numbers) for cell in cells), default=0) or 1
    rows = [_values(cell, size) for cell in cells]
    columns: dict[str, list[Any]] = {}
    for i, suffix in enumerate(LIMITED[:size]):
        columns[f"{name}{suffix}"] = [row[i] for row in rows]
    notes = [_note(cell) for cell in cells]
    if any(notes):
        columns[f"{name} note"] = notes
    return columns


def _values(cell: Cell, size: int) -> list[Any]:
    """`size` values of a frame for a cell: its numbers, or its text, and NaN for those it lacks."""
    values: list[Any] = list(cell.numbers)
    if not values and cell.text == "–":  # a missing number
        values = [math.nan]
    elif not values:
        values = [cell.full_text if size == 1 else cell.text]
    return (values + [math.nan] * size)[:size]


def _note(cell: Cell) -> str:
    """The texts beside and below a number; "" for a cell without a number."""
    return " ".join(filter(None, [cell.beside, *cell.below])) if cell.numbers else ""


def spreadsheet(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with an apostrophe before each text that a spreadsheet would run as a formula;
    numbers printed as text have none.
    """
    return table.map(_without_formula).rename(columns=_without_formula)


def _without_formula(cell: Any) -> Any:
    """A cell of a frame, with an apostrophe before it if a spreadsheet would run it."""
    if not isinstance(cell, str):
        return cell
    runs = cell.startswith(tuple("=+-@\t\r")) and not SIGNED.fullmatch(cell)
    return f"'{cell}" if runs else cell


def workbook(frames: Sequence[pd.DataFrame], path: str | PathLike[str]) -> None:
    """Write the frames as the sheets of an Excel workbook.

    Raises ImportError without openpyxl; otherwise as `writable`.
    """
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise ImportError("to_excel needs the package openpyxl: pip install openpyxl") from None
    with pd.ExcelWriter(writable(path), engine="openpyxl") as writer:
        for number, table in enumerate(frames, start=1):
            spreadsheet(table).to_excel(writer, sheet_name=f"table {number}", index=False)


def export(text: str, path: str | PathLike[str] | None) -> str:
    """Return the text, which is also written to the path if there is one."""
    if path is not None:
        writable(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def writable(path: str | PathLike[str]) -> Path:
    """The path of a file to write; a missing folder is created.

    Raises ParameterError for a path without a name, and if the folder cannot be created.
    """
    file = Path(path)
    if not file.name:
        raise ParameterError(
            f"path must name a file, such as 'figure.pdf' or 'table.csv', got {str(path)!r}"
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"path: cannot write to {file.parent}: {error.strerror}") from None
    return file


# Pieces of the page -------------------------------------------------------------------------------

NAME = re.compile(r"(_)(?=\w)")  # where the printed head of a narrow column may break
SLASH = re.compile(r"\b(\w/\w)\b|/")  # an abbreviation such as A/B, or where a path may break


@dataclass(frozen=True, repr=False)
class Html(Displayed):
    """A piece of the page: HTML for the page, plain text for a terminal.

    tables: the contents of the tables in it, for exports. replaced_by: the pieces that a notebook
    shows in its place, figures, and HTML without SVG and controls; empty if it shows the same.
    """

    html: str
    text: str = ""
    tables: tuple["Table", ...] = ()
    replaced_by: tuple["Piece", ...] = ()

    def __repr__(self) -> str:
        """The text, which a console shows."""
        return self.text

    def to_frames(self) -> list[pd.DataFrame]:
        """The tables as frames of numbers with the digits of the page; an interval has columns
        `low` and `high`.
        """
        return [frame(table) for table in self.tables]

    def to_markdown(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in Markdown, which is also written if there is a path."""
        return export("\n".join(map(markdown, self.tables)), path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in LaTeX for the package booktabs, with intervals and marks of significance;
        as `to_markdown`.
        """
        return export("\n".join(map(latex, self.tables)), path)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The tables as CSV, which is also written if there is a path; several are separated by an
        empty line.
        """
        tables = [spreadsheet(frame).to_csv(index=False) for frame in self.to_frames()]
        return export("\n".join(tables), path)

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write the tables as the sheets of a workbook; needs openpyxl."""
        workbook(self.to_frames(), path)

    @property
    def notebook_pieces(self) -> tuple["Piece", ...]:
        """The pieces that a notebook shows."""
        return self.replaced_by or (self,)

    def displays(self) -> list[Display]:
        """Its HTML and text, or what replaces it, as outputs of a notebook."""
        if not self.replaced_by:
            return [Display({"text/html": self.html, "text/plain": self.text}, {})]
        outputs = [output for piece in self.replaced_by for output in piece.displays()]
        return with_page(self.html, outputs)


class Piece(Protocol):
    """A piece of a page, such as a figure or a table: HTML for the page, text for a terminal, the
    contents of tables, and what a notebook shows.
    """

    @property
    def html(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def tables(self) -> tuple[Table, ...]: ...
    @property
    def notebook_pieces(self) -> tuple["Piece", ...]: ...
    def displays(self) -> list[Display]: ...


def with_interval(
    value: float, low: float, high: float, show: Show = number, places: int | None = None
) -> Cell:
    """The cell of a number and its interval. show: writes a number. places: the decimals; None: as
    many as the interval deserves.
    """
    if places is None:
        places = decimals([value], [low], [high])
    numbers = tuple(printed(number, places) for number in (value, low, high))
    return Cell(show(value, places), interval(low, high, show, places), numbers=numbers)


def number_cell(value: float, places: int | None = None, show: Show = number) -> Cell:
    """The cell of a number. places: the decimals; None: three digits. show: writes a number."""
    if places is None:
        places = decimals([value])
    return Cell(show(value, places), numbers=(printed(value, places),))


def p_cell(p: float) -> Cell:
    """The cell of a p-value. One below the smallest that is printed is words, "<0.001", and no
    number.

    >>> p_cell(0.0004).numbers, p_cell(0.2).numbers
    ((), (0.2,))
    """
    text = p_value(p)
    if text.startswith("<"):
        return Cell(text)
    return Cell(text, numbers=(p if math.isnan(p) else float(text),))


def heading(title: str, question: str, *notices: str) -> Html:
    """The title of a page, the question that it answers, and what a reader must know first."""
    lines = "".join(f'<p class="asked">{escape(line)}</p>' for line in (question, *notices))
    breaking_title = SLASH.sub(_breaking_slash, escape(title))
    text = "\n".join([title, question, *notices])
    return Html(f"<h1>{breaking_title}</h1>{lines}", text)


def _breaking_slash(match: re.Match[str]) -> str:
    """What `SLASH` found: an abbreviation such as A/B on one line, or a slash that may end one."""
    return f"<span>{match[1]}</span>" if match[1] else "/<wbr>"


def verdict(word: str, main: Cell, *small: Cell) -> Html:
    """The verdict: a word, the line beside it, and smaller lines below."""
    lines = "".join(f"<p>{line.html}</p>" for line in small)
    kind = word.replace(" ", "-")
    text = f"{word}: {main.full_text}"
    first_line = f"<p><strong>{escape(word)}</strong> {main.html}</p>"
    return Html(f'<div class="verdict {kind}">{first_line}{lines}</div>', text)


def answer(sentence: str, *conditions: str) -> Html:
    """The answer in a sentence that a reader can repeat, and what would change it."""
    turns = "".join(f'<p class="turn">{escape(line)}</p>' for line in conditions)
    text = "\n".join([sentence, *conditions])
    return Html(f'<p class="answer">{escape(sentence)}</p>{turns}', text)


def stack(pieces: Iterable[Piece]) -> Html:
    """Several pieces below one another as one; empty ones leave no line."""
    filled = [piece for piece in pieces if piece.html]
    tables = tuple(table for piece in filled for table in piece.tables)
    is_same_in_notebook = all(isinstance(piece, Html) and not piece.replaced_by for piece in filled)
    replaced_by = () if is_same_in_notebook else tuple(_in_notebook(filled))
    return Html(_html_of(filled), _text_of(filled), tables, replaced_by)


def _html_of(pieces: Iterable[Piece]) -> str:
    """The HTML of several pieces."""
    return "".join(piece.html for piece in pieces)


def _text_of(pieces: Iterable[Piece]) -> str:
    """The text of several pieces, each on lines of its own."""
    return "\n".join(piece.text for piece in pieces)


def _in_notebook(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """What a notebook shows of the pieces: each figure, and all HTML between two of them as one
    piece.
    """
    shown = [part for piece in pieces for part in piece.notebook_pieces]
    for is_html, parts in groupby(shown, key=lambda part: isinstance(part, Html)):
        run = list(parts)
        if is_html:
            yield Html(_html_of(run), _text_of(run))
        else:
            yield from run


def paragraph(text: Cell | str) -> Html:
    """One muted paragraph."""
    return Html(f'<p class="muted">{cell(text).html}</p>', cell(text).full_text)


LISTED = 200  # rows of a table that someone may still read
UNFOLDED = 30  # rows of a long table that are not folded
LONG = 40  # characters of a row's head: one with more has several lines
HALF = 62  # characters of a line that fit beside a figure
BOLD = 2  # characters by which a head is wider than its text: its bold letters and the mark to sort
Head = Cell | str


class EndTags(NamedTuple):
    """What ends a row, a head and a cell of a table in HTML."""

    row: str = "</tr>"
    head: str = "</th>"
    cell: str = "</td>"


ALL_TAGS = EndTags()
Lines = Sequence[Sequence[Cell | str]]


def table(
    caption: str,
    columns: Sequence[Head],
    rows: Lines,
    note: str = "",
    place: str = "",
    *,
    marks: str = "",
) -> Html:
    """A table in a box that scrolls on a phone; its first `LISTED` rows, of which those after
    `UNFOLDED` are folded.

    The first cell of a row is its head. place: the id of the box. marks: the meaning of the marks
    of cells, which only a printed table shows.
    """
    content = _content(caption, columns, rows[:LISTED], note_of_first(len(rows), note), marks)
    unfolded = content.rows
    fold = ""
    further_rows = content.rows[UNFOLDED:]
    if len(further_rows) >= UNFOLDED // 2:  # fewer are not worth a fold
        unfolded = content.rows[:UNFOLDED]
        inner = _html(f"{caption}, continued", content.columns, further_rows)
        fold = folded(f"{len(further_rows):,} more rows", Html(inner), "rows").html
    html = _html(caption, content.columns, unfolded, place)
    return Html(html + _note_html(content) + fold, content.text, (content,))


def split_table(
    caption: str, columns: Sequence[Head], rows: Lines, note: str, *, marks: str, widest: int
) -> Html:
    """A table with at most `widest` columns behind the first, or several below each other that each
    have the first column and their share of the others.
    """
    first, *heads = columns
    number = math.ceil(len(heads) / widest)
    width = math.ceil(len(heads) / number)
    parts = []
    for start in range(0, len(heads), width):
        part_rows = [[row[0], *row[1 + start :][:width]] for row in rows]
        part_heads = [first, *heads[start : start + width]]
        name = caption if start == 0 else f"{caption}, continued"
        is_last = start + width >= len(heads)
        parts.append(table(name, part_heads, part_rows, note if is_last else "", marks=marks))
    return stack(parts)


def unlimited_table(caption: str, columns: Sequence[Head], rows: Lines, note: str = "") -> Html:
    """A table with all its rows, however many: for a fold of its own. It has no end tags, which
    HTML does not need, to be smaller.
    """
    content = _content(caption, columns, rows, note)
    html = _html(caption, content.columns, content.rows, ends=EndTags("", "", ""))
    return Html(html + _note_html(content), content.text, (content,))


def _content(
    caption: str, columns: Sequence[Head], rows: Lines, note: str, marks: str = ""
) -> Table:
    """The contents of a table, its texts as cells."""
    heads = [cell(head) for head in columns]
    cells = [[cell(value) for value in row] for row in rows]
    return Table(caption, heads, cells, note, marks)


def _note_html(content: Table) -> str:
    """The note below a table in HTML; "" without one."""
    return f'<p class="muted">{escape(content.note)}</p>' if content.note else ""


def note_of_first(rows: int, note: str) -> str:
    """The note of a table of so many rows; if these are more than `LISTED`, it says that only the
    first are shown.
    """
    if rows > LISTED:
        return f"The first {LISTED} of {rows:,} rows; the JSON holds all. {note}".strip()
    return note


def _html(
    caption: str,
    columns: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    place: str = "",
    ends: EndTags = ALL_TAGS,
) -> str:
    """A table in its box in HTML. Before the first row of each group stands the group's heading.

    place: the id of the box.
    """
    head = ""
    for i, column in enumerate(columns):
        is_text = bool(rows) and all("text" in row[i].kind for row in rows)
        kind = f' class="{rows[0][i].kind}"' if is_text else ""
        head += f'<th scope="col"{kind}>{column.markup or breaking(column.text)}{ends.head}'
    body = []
    group = ""
    for first, *others in rows:
        if first.group != group:
            group = first.group
            span = len(others) + 1
            # in JupyterLab, which has its own style of tables, it would stand on the right
            heading = f'<th colspan="{span}" style="text-align: left">{escape(group)}</th>'
            body.append(f'<tr class="group">{heading}</tr>')
        cells = "".join(f"{_start_of_cell(other)}{ends.cell}" for other in others)
        body.append(f"<tr>{_start_of_head(first)}{ends.head}{cells}{ends.row}")
    inner = (
        f"<caption>{escape(caption)}</caption><thead><tr>{head}{ends.row}</thead>"
        f"<tbody>{''.join(body)}</tbody>"
    )
    box = f' id="{place}"' if place else ""
    kind = "scroll wide" if _least_width(columns, rows) > HALF else "scroll"
    return f'<div class="{kind}"{box}><table class="metrics">{inner}</table></div>'


def _least_width(columns: Sequence[Cell], rows: Sequence[Sequence[Cell]]) -> int:
    """The characters of a line of the table where every cell that may break does so."""
    width = 0
    for head, *cells in zip(columns, *rows, strict=True):
        widths = [_longest_part(cell) for cell in cells]
        width += max([_longest_part(head) + BOLD, *widths])
    return width


def _longest_part(cell: Cell) -> int:
    """The characters of the longest part of a cell that stays on one line."""
    limits = cell.limits or ""
    if "one" in cell.kind:
        return len(f"{cell.text} {limits}")
    return max(map(len, [*cell.text.split(" "), limits]))


def slice_cell(group: str, value: object, link: str = "") -> Cell:
    """The head of the row of a slice, its value, below the name of its group.

    Where rows are sorted, so that groups are apart, that name stands before the value. link: the
    place that the head leads to, "" for none.
    """
    markup = f'<span class="of">{escape(group)} </span>{escape(value)}'
    if link:
        markup = f'<a class="slice" href="#{link}">{markup}{END}</a>'
    return Cell(f"{group} {value}", markup=markup, group=group)


def metric_head(title: str, name: str, sign: str = "", place: str = "") -> Cell:
    """The head of a metric's column: the name that people say, a sign such as ↑, and below it the
    name in code, if that is another.

    place: where the title leads, "" for nowhere.

    >>> metric_head("F1", "f1").markup, metric_head("ROC AUC", "roc_auc").markup
    ('F1', 'ROC AUC<br><span class="muted">roc_<wbr>auc</span>')
    """
    markup = (link(title, place) if place else escape(title)) + sign
    if title.casefold() != name.casefold():
        markup += f'<br><span class="muted">{breaking(name)}</span>'
    return Cell(f"{name}{sign}", markup=markup)


def breaking(name: str) -> str:
    """A name in HTML, where a line may end behind an underscore."""
    return NAME.sub(r"\1<wbr>", escape(name))


def _start_of_head(cell: Cell) -> str:
    """The head of a row in HTML, without its end tag."""
    long = ' class="long"' if len(cell.full_text) > LONG else ""
    return f'<th scope="row"{long}>{cell.html}'


def _start_of_cell(cell: Cell) -> str:
    """A cell in HTML, without its end tag; the best value is bold also where the style of the page
    is missing, as in JupyterLab.
    """
    kind = f' class="{cell.kind}"' if cell.kind else ""
    html = f"<b>{cell.html}</b>" if cell.kind == "lead" else cell.html
    return f"<td{kind}>{html}"


Rows = Sequence[Record]  # of a frame, each by column
Column = Callable[[Rows], Sequence[Cell | str]]  # from all rows to the cells of a column
Columns = Mapping[str, Column] | str  # by the head of each; or in one text, see `named`
Numbers = Callable[[Rows], list[Cell]]  # a column of numbers


def of_rows(
    caption: str, rows: pd.DataFrame | None, columns: Columns, note: str = "", place: str = ""
) -> Html:
    """The table of a data frame; an empty piece if it has no rows.

    columns: the cells of each column by its head; or in one text, see `named`. place: the id of its
    box.
    """
    if rows is None or not len(rows):
        return Html("")
    records = rows.head(LISTED).to_dict("records")
    by_head = named(columns) if isinstance(columns, str) else columns
    cells = [column(records) for column in by_head.values()]
    table_rows = list(zip(*cells, strict=True))
    return table(caption, list(by_head), table_rows, note_of_first(len(rows), note), place)


def by_system(
    caption: str, frame: pd.DataFrame, along: str, column: Column, note: str = "", head: Any = str
) -> Html:
    """The table of a data frame with a row for each `system`, and a column for each value of the
    column `along`; each value has all systems, in the same order.

    column: the cells of a column from the rows of its value. head: the head from the value.
    """
    values = list(dict.fromkeys(frame[along]))
    cells = [column(part.to_dict("records")) for _, part in frame.groupby(along, sort=False)]
    rows = list(zip(dict.fromkeys(frame["system"]), *cells, strict=True))
    return table(caption, ["system", *map(head, values)], rows, note)


def each(make: Callable[[Record], Cell | str]) -> Column:
    """A column whose cells are made row by row: `make` returns the cell of a row."""
    return partial(_cells_of_rows, make)


def _cells_of_rows(make: Callable[[Record], Cell | str], rows: Rows) -> list[Cell | str]:
    """The cell of each row."""
    return [make(row) for row in rows]


def text(name: str, show: Callable[[Any], str] = str) -> Column:
    """A column of texts, from the column `name` of the frame. show: writes a value."""
    return each(lambda row: show(row[name]))


def count(name: str, show: Callable[[Any], str] = thousands) -> Column:
    """A column of counts. show: writes one."""
    return each(lambda row: Cell(show(row[name]), numbers=(row[name],)))


def p_column(name: str) -> Column:
    """A column of p-values."""
    return each(lambda row: p_cell(row[name]))


def words(name: str) -> Column:
    """A left-aligned column of words."""
    return each(lambda row: Cell(str(row[name]), kind="text"))


@each
def pair(row: Record) -> Cell:
    """The heads of rows that compare two systems: "first − second"."""
    return minus(row["first"], row["second"])


def minus(first: object, second: object) -> Cell:
    """The head "first − second"; in a narrow column the sign stays with the second name."""
    markup = f"{escape(first)} −\N{NO-BREAK SPACE}{escape(second)}"
    return Cell(f"{first} − {second}", markup=markup)


def value(name: str, show: Show = number) -> Numbers:
    """A column of numbers, all with the same decimals. show: writes a number."""
    return partial(_number_cells, name=name, show=show)


def _number_cells(rows: Rows, name: str, show: Show) -> list[Cell]:
    """The cells of the numbers in column `name`."""
    places = decimals(row[name] for row in rows)
    return [number_cell(row[name], places, show) for row in rows]


def limits(name: str, low: str = "low", high: str = "high", show: Show = number) -> Numbers:
    """A column of numbers with their intervals, all with the same decimals.

    name, low, high: columns of the frame. show: writes a number.
    """
    return partial(_interval_cells, name=name, low=low, high=high, show=show)


def _interval_cells(rows: Rows, name: str, low: str, high: str, show: Show) -> list[Cell]:
    """The cells of the numbers in column `name` with their limits."""
    values = [row[name] for row in rows]
    places = decimals(values, [row[low] for row in rows], [row[high] for row in rows])
    return [with_interval(row[name], row[low], row[high], show, places) for row in rows]


def prefixed_limits(name: str, show: Show = number) -> Numbers:
    """A column of numbers with their intervals, which the frame has as NAME_low and NAME_high."""
    return limits(name, f"{name}_low", f"{name}_high", show)


KINDS: dict[str, Callable[[str], Column]] = {
    "": text,
    "w": words,
    "#": value,
    "±": partial(value, show=signed),
    "[]": limits,
    "±[]": partial(limits, show=signed),
    "[_]": prefixed_limits,
    "n": count,
    "i": partial(count, show=str),
    "p": p_column,
    "%": partial(text, show="{:.0%}".format),
}


def named(columns: str, **kinds: Callable[[str], Column]) -> dict[str, Column]:
    """Columns by their heads, from a text "head = name kind | head = name kind"; without a head the
    name is used.

    name: a column of the frame. kind: none, a text; w, words, left-aligned; #, a number; ±, one
    with its sign; [] and ±[], with the limits low and high; [_], with the limits NAME_low and
    NAME_high; n, a count; i, one without grouping; p, a p-value; %, a percentage. kinds: further
    kinds, from the name to the column.
    """
    all_kinds = KINDS | kinds
    by_head = {}
    for part in columns.split("|"):
        head, _, name_and_kind = part.rpartition("=")
        name, *kind = name_and_kind.split()
        by_head[head.strip() or name] = all_kinds["".join(kind)](name)
    return by_head


def folded(summary: str, piece: Html, kind: str = "", place: str = "") -> Html:
    """A piece that opens when its summary is clicked; an empty piece stays empty.

    kind, place: class and id, "" for none.
    """
    if not piece.html:
        return piece
    attributes = f' id="{place}"' if place else ""
    if kind:
        attributes += f' class="{kind}"'
    start = f"<details{attributes}><summary>{escape(summary)}</summary>"
    replaced_by: list[Piece] = []
    if all(isinstance(part, Html) for part in piece.replaced_by):
        for part in piece.replaced_by:
            replaced_by.append(Html(f"{start}{part.html}</details>", part.text))
    else:  # an output of its own, as a figure is, cannot be folded
        replaced_by = [Html(f"<p><b>{escape(summary)}</b></p>", summary), *piece.replaced_by]
    html = f"{start}{piece.html}</details>"
    return Html(html, f"{summary}\n{piece.text}", piece.tables, tuple(replaced_by))


def definitions(items: Sequence[tuple[str, str]]) -> Html:
    """Names and their meanings, plain text, folded; links of `numbers.definition` open the fold and
    show a meaning.
    """
    places = [f' id="{definition(name)}"' for name, _ in items]
    summary = f"{len(items)} metrics, methods and terms"
    return folded(summary, _definition_list("definitions", items, places))


def provenance(items: Sequence[tuple[str, str]]) -> Html:
    """How this page was made: names and values, plain text, folded."""
    places = [""] * len(items)
    values = _definition_list("definitions provenance", items, places)
    return folded("Command, inputs and versions", values)


def _definition_list(kind: str, items: Sequence[tuple[str, str]], places: Sequence[str]) -> Html:
    """A list of names and texts. kind: its classes. places: of each name an attribute, or ""."""
    body = ""
    for place, (name, text) in zip(places, items, strict=True):
        body += f"<dt{place}>{escape(name)}</dt><dd>{escape(text)}</dd>"
    lines = [f"{name}: {text}" for name, text in items]
    return Html(f'<dl class="{kind}">{body}</dl>', "\n".join(lines))
