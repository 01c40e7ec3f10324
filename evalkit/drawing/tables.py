"""Tables and words of the page as values: as HTML, text, Markdown, LaTeX and frames; all text from
data is escaped.
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
from typing import Any, Protocol

import pandas as pd

from evalkit.arrays import ParameterError
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

LIMITED = ("", " low", " high")  # the columns of a number with its limits
BREAKS = re.compile(r"[\r\n\t]+")
NUMBER = r"[+−]?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|∞)|–"
SIGNED = re.compile(rf"(?:{NUMBER}|-\d[\d.]*)%?(?: \[(?:{NUMBER})%?, (?:{NUMBER})%?\])?")
INTERVAL = rf"\[(?:{NUMBER})%?, (?:{NUMBER})%?\](?![\[(:])"  # brackets that are no link
MARKED = re.compile(rf"{INTERVAL}|([\\`*~$\[\]]|(?<!\w)_|_(?!\w))")
# before a heading, a list, a quote or a rule at the start of a line, and the end of a heading
LINE_MARK = re.compile(r"^(\d+)(?=[.)](?:\s|$))|^(?=[+=>-](?![\d.,]))|(?<!\S)(?=#)")
# what a forge links without markup: the first letters of a URL, a person, an issue; ndcg@10.low
# stays as it is, because a terminal shows it too
LINKED = re.compile(
    r"(?i:\bwww)(?=\.)|:(?=//)|(?<![A-Za-z0-9])@(?=\w)|@(?=[A-Za-z][\w-]*\.\w)|[#!](?=\d)"
)
NOT_LINKED = r"\g<0>&#8203;"  # behind them a space without width, which nobody sees
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
    """A table cell, or words of a sentence: a text, an interval behind it, what stands beside and
    below.

    numbers: the number that is printed, or the number and its limits. markup: the text as HTML,
    where it is more than the text, such as a link. kind: a class (lead, muted, text; one: on one
    line). tag: an element around all. mark: of significance. group: of a head of a row, the words
    above the rows that have it.
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
        below = "".join(
            f'<br><span class="muted">{escape(line)}</span>' for line in self.below
        ).replace("\n", "<br>")
        inner = f"{self.markup or escape(self.text)}{limits}{beside}{below}"
        return f"<{self.tag}>{inner}</{self.tag}>" if self.tag else inner

    @property
    def rest(self) -> str:
        """What stands behind the text and below it."""
        return BREAKS.sub(" ", " ".join(filter(None, [self.limits, self.beside, *self.below])))

    @property
    def whole(self) -> str:
        """All that the cell says.

        >>> Cell("0.79", "[0.75, 0.81]", below=("n = 7",)).whole
        '0.79 [0.75, 0.81] n = 7'
        """
        return f"{BREAKS.sub(' ', self.text.strip())} {self.rest}".strip()


def cell(value: Cell | str) -> Cell:
    """The cell of a text."""
    return value if isinstance(value, Cell) else Cell(value)


def joined(*parts: Cell | str) -> Cell:
    """Words of a sentence in one."""
    cells = [cell(part) for part in parts]
    text = "".join(f"{part.text} {part.rest}" if part.rest else part.text for part in cells)
    return Cell(text, markup="".join(part.html for part in cells))


@dataclass(frozen=True)
class Table:
    """The contents of a table of the page. marks: the meaning of the marks in its cells."""

    caption: str
    columns: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    marks: str = ""

    @property
    def lines(self) -> list[list[str]]:
        """The text of each cell, the column heads first."""
        return [[cell.whole for cell in row] for row in [self.columns, *self.rows]]

    @property
    def text(self) -> str:
        """The table for a terminal."""
        width = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        padded = (
            "  ".join(c.ljust(w) for c, w in zip(line, width, strict=True)) for line in self.lines
        )
        return "\n".join([self.caption, *padded])


def markdown(table: Table) -> str:
    """The table in Markdown, with its caption above and its note below."""
    rows = [list(map(escape_markdown, line)) for line in table.lines]
    rows.insert(1, [":--", *["--:"] * (len(table.columns) - 1)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
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
    text = MARKED.sub(
        lambda match: f"\\{match[1]}" if match[1] else match[0], " ".join(text.split())
    )
    text = LINKED.sub(NOT_LINKED, text.replace("&", "&amp;"))
    return text.replace("<", "&lt;").replace("|", "&#124;")


def markdown_line(text: str) -> str:
    r"""A line of Markdown that says the text, and is no heading and no list.

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
    heads = " & ".join(_escaped(column.whole) for column in table.columns)
    lines = [" & ".join(map(_latex_cell, row)) for row in table.rows]
    rows = [
        rf"{'{}' if line.startswith(('[', '*')) else ''}{line} \\" for line in lines
    ]  # else an option of \\
    below = " ".join(text for text in (table.note, table.marks) if text)
    note = [rf"\par\footnotesize {_escaped(below)}"] if below else []
    body = [rf"{heads} \\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", *note]
    layout = "l" + "r" * (len(table.columns) - 1)
    head = [
        r"\begin{table}",
        rf"\caption{{{_escaped(table.caption)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
    ]
    return "\n".join([*head, *body, r"\end{table}", ""])


def _latex_cell(cell: Cell) -> str:
    """The text, and in small type what stands behind it."""
    shown = _escaped(BREAKS.sub(" ", cell.text.strip()))
    bold = rf"\textbf{{{shown}}}" if cell.kind == "lead" else shown
    mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
    return bold + mark + (rf" {{\footnotesize {_escaped(cell.rest)}}}" if cell.rest else "")


def _escaped(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def frame(table: Table) -> pd.DataFrame:
    """The table as a data frame: numbers as numbers, an interval in two columns of its own, further
    text as a note.

    >>> rows = [
    ...     [Cell("a"), Cell("+1,204", "[−3, 2,411]", numbers=(1204, -3, 2411))],
    ...     [Cell("b"), Cell("–")],
    ... ]
    >>> frame(Table("", [Cell("system"), Cell("cost")], rows)).iloc[0].to_dict()
    {'system': 'a', 'cost': 1204.0, 'cost low': -3.0, 'cost high': 2411.0}
    """
    columns: dict[str, list[Any]] = {}
    for i, head in enumerate(table.columns):
        columns |= _split(head.whole, [row[i] for row in table.rows])
    return pd.DataFrame(columns)


def _split(name: str, cells: Sequence[Cell]) -> dict[str, list[Any]]:
    """The columns of a column's cells."""
    size = max((len(cell.numbers) for cell in cells), default=0) or 1
    known = [(*(cell.numbers or [_words(cell, size)]), *[math.nan] * size)[:size] for cell in cells]
    columns = {f"{name}{side}": [row[i] for row in known] for i, side in enumerate(LIMITED[:size])}
    notes = [
        " ".join(filter(None, [cell.beside, *cell.below])) if cell.numbers else "" for cell in cells
    ]
    return columns | ({f"{name} note": notes} if any(notes) else {})


def _words(cell: Cell, size: int) -> Any:
    """What a cell without numbers says; a dash is no number."""
    return math.nan if cell.text == "–" else cell.whole if size == 1 else cell.text


def spreadsheet(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with an apostrophe before each text that a spreadsheet would run as a formula;
    numbers have none.
    """

    def safe(cell: Any) -> Any:
        runs = (
            isinstance(cell, str)
            and cell.startswith(tuple("=+-@\t\r"))
            and not SIGNED.fullmatch(cell)
        )
        return f"'{cell}" if runs else cell

    return table.map(safe).rename(columns=safe)


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


def written(text: str, path: str | PathLike[str] | None) -> str:
    """Return the text, after writing it to the path if there is one."""
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

    replaced_by: the figures, and HTML without SVG and controls, that a notebook shows in its place;
    empty where it shows the same.
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
        return written("\n".join(map(markdown, self.tables)), path)

    def to_latex(self, path: str | PathLike[str] | None = None) -> str:
        """The tables in LaTeX for the package booktabs, with intervals and marks of significance;
        as `to_markdown`.
        """
        return written("\n".join(map(latex, self.tables)), path)

    def to_csv(self, path: str | PathLike[str] | None = None) -> str:
        """The tables as CSV, which is also written if there is a path; several are separated by an
        empty line.
        """
        return written(
            "\n".join(spreadsheet(frame).to_csv(index=False) for frame in self.to_frames()), path
        )

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write the tables as the sheets of a workbook; needs openpyxl."""
        workbook(self.to_frames(), path)

    @property
    def notebook_pieces(self) -> tuple["Piece", ...]:
        """What a notebook shows."""
        return self.replaced_by or (self,)

    def displays(self) -> list[Display]:
        """Its HTML and text, or what replaces it."""
        if not self.replaced_by:
            return [Display({"text/html": self.html, "text/plain": self.text}, {})]
        outputs = [output for piece in self.replaced_by for output in piece.displays()]
        return with_page(self.html, outputs)


class Piece(Protocol):
    """What a page is made of: HTML, text for a terminal, tables; and what a notebook shows."""

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
    return Cell(
        text, numbers=() if text.startswith("<") else (p if math.isnan(p) else float(text),)
    )


def heading(text: str, asked: str, *more: str) -> Html:
    """The title and the question that the page answers, then what else is to be said first."""
    lines = "".join(f'<p class="asked">{escape(line)}</p>' for line in (asked, *more))
    breaking = SLASH.sub(lambda m: f"<span>{m[1]}</span>" if m[1] else "/<wbr>", escape(text))
    return Html(f"<h1>{breaking}</h1>{lines}", "\n".join([text, asked, *more]))


def verdict(word: str, main: Cell, *small: Cell) -> Html:
    """The verdict: a word, the line beside it, and smaller lines below."""
    lines = "".join(f"<p>{line.html}</p>" for line in small)
    kind = word.replace(" ", "-")
    text = f"{word}: {main.whole}"
    return Html(
        f'<div class="verdict {kind}"><p><strong>{escape(word)}</strong> {main.html}</p>'
        f"{lines}</div>",
        text,
    )


def answer(sentence: str, *more: str) -> Html:
    """The answer in a sentence that a reader can repeat, and what would change it."""
    turns = "".join(f'<p class="turn">{escape(turn)}</p>' for turn in more)
    return Html(f'<p class="answer">{escape(sentence)}</p>{turns}', "\n".join([sentence, *more]))


def stack(pieces: Iterable[Piece]) -> Html:
    """Several pieces below one another; empty ones leave no line."""
    pieces = [piece for piece in pieces if piece.html]
    every = tuple(table for piece in pieces for table in piece.tables)
    html, text = _together(pieces)
    same = all(isinstance(piece, Html) and not piece.replaced_by for piece in pieces)
    return Html(html, text, every, () if same else tuple(_in_notebook(pieces)))


def _together(pieces: Iterable[Piece]) -> tuple[str, str]:
    """The HTML and the text of several pieces."""
    several = list(pieces)
    text = "\n".join(piece.text for piece in several)
    return "".join(piece.html for piece in several), text


def _in_notebook(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """What a notebook shows of the pieces: figures, and the HTML between two of them as one."""
    every = [each for piece in pieces for each in piece.notebook_pieces]
    for is_html, run in groupby(every, key=lambda piece: isinstance(piece, Html)):
        if is_html:
            yield Html(*_together(run))
        else:
            yield from run


def paragraph(text: Cell | str) -> Html:
    """One muted paragraph."""
    return Html(f'<p class="muted">{cell(text).html}</p>', cell(text).whole)


LISTED = 200  # rows of a table that someone may still read
UNFOLDED = 30  # rows of a table of which the others are folded
LONG = 40  # more letters of a row's head than stand on one line
Head = Cell | str
ENDS = ("</tr>", "</th>", "</td>")
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
    """A table in a box that scrolls on a phone, with at most `LISTED` rows.

    The first cell of a row is its head. place: the id of the box. marks: the meaning of the marks
    of cells, which only a printed table shows.
    """
    content = _content(caption, columns, rows[:LISTED], cut(len(rows), note), marks)
    shown = content.rows
    rest = content.rows[UNFOLDED:]
    more = ""
    if len(rest) >= UNFOLDED // 2:
        shown = shown[:UNFOLDED]
        inner = _html(f"{caption}, continued", content.columns, rest)
        more = folded(f"{len(rest):,} more rows", Html(inner), "rows").html
    return Html(
        _html(caption, content.columns, shown, place) + _below(content) + more,
        content.text,
        (content,),
    )


def cut_apart(
    caption: str, columns: Sequence[Head], rows: Lines, note: str, *, marks: str, widest: int
) -> Html:
    """A table; one with more columns behind the first than `widest` as several of like width."""
    first, *heads = columns
    several = math.ceil(len(heads) / widest)
    width = math.ceil(len(heads) / several)
    parts = []
    for start in range(0, len(heads), width):
        cut_rows = [[row[0], *row[1 + start :][:width]] for row in rows]
        cut_heads = [first, *heads[start : start + width]]
        name = caption if start == 0 else f"{caption}, continued"
        last = start + width >= len(heads)
        parts.append(table(name, cut_heads, cut_rows, note if last else "", marks=marks))
    return stack(parts)


def whole(caption: str, columns: Sequence[Head], rows: Lines, note: str = "") -> Html:
    """A table with all its rows, for a fold of its own, without the end tags that HTML does not
    need.
    """
    content = _content(caption, columns, rows, note)
    html = _html(caption, content.columns, content.rows, ends=("", "", ""))
    return Html(html + _below(content), content.text, (content,))


def _content(
    caption: str, columns: Sequence[Head], rows: Lines, note: str, marks: str = ""
) -> Table:
    return Table(caption, [*map(cell, columns)], [[*map(cell, row)] for row in rows], note, marks)


def _below(content: Table) -> str:
    return f'<p class="muted">{escape(content.note)}</p>' if content.note else ""


def cut(rows: int, note: str) -> str:
    """The note of a table of this many rows, with a sentence if not all are shown."""
    if rows > LISTED:
        return f"The first {LISTED} of {rows:,} rows; the JSON holds all. {note}".strip()
    return note


def _html(
    caption: str,
    columns: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    place: str = "",
    ends: Sequence[str] = ENDS,
) -> str:
    """The HTML of a table in its box. ends: the end tags of rows, heads and cells."""
    tr, th, td = ends
    words = [bool(rows) and all("text" in row[i].kind for row in rows) for i in range(len(columns))]
    heads = (column.markup or breaking(column.text) for column in columns)
    kinds = (f' class="{rows[0][i].kind}"' if word else "" for i, word in enumerate(words))
    head = "".join(
        f'<th scope="col"{kind}>{text}{th}' for kind, text in zip(kinds, heads, strict=True)
    )
    body = "".join(
        f"{above}<tr>{_first(row[0])}{th}{''.join(f'{_td(one)}{td}' for one in row[1:])}{tr}"
        for above, row in zip(_groups(rows), rows, strict=True)
    )
    inner = (
        f"<caption>{escape(caption)}</caption><thead><tr>{head}{tr}</thead><tbody>{body}</tbody>"
    )
    box = f' id="{place}"' if place else ""
    return f'<div class="scroll"{box}><table class="metrics">{inner}</table></div>'


def below(group: str, value: object, link: str = "") -> Cell:
    """A value below the name of its group, which stands before it where rows are sorted. link:
    where it is listed.
    """
    markup = f'<span class="of">{escape(group)} </span>{escape(value)}'
    linked = f'<a class="slice" href="#{link}">{markup}{END}</a>' if link else markup
    return Cell(f"{group} {value}", markup=linked, group=group)


def titled(title: str, name: str, sign: str = "", place: str = "") -> Cell:
    """The head of a column: the name that people say, a sign, and below it the name in code.

    place: where the title leads, if anywhere.

    >>> titled("F1", "f1").markup, titled("ROC AUC", "roc_auc").markup
    ('F1', 'ROC AUC<br><span class="muted">roc_<wbr>auc</span>')
    """
    said = link(title, place) if place else escape(title)
    same = title.casefold() == name.casefold()
    below = "" if same else f'<br><span class="muted">{breaking(name)}</span>'
    return Cell(f"{name}{sign}", markup=f"{said}{sign}{below}")


def breaking(name: str) -> str:
    """A name as HTML that may break behind an underscore."""
    return NAME.sub(r"\1<wbr>", escape(name))


def _groups(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """Before each row the head of its group, if that begins there."""
    last = ""
    for first, *others in rows:
        begins = first.group != last
        yield (
            f'<tr class="group"><th colspan="{len(others) + 1}">{escape(first.group)}</th></tr>'
            if begins
            else ""
        )
        last = first.group


def _first(cell: Cell) -> str:
    """The head of a row, without its end."""
    long = ' class="long"' if len(cell.whole) > LONG else ""
    return f'<th scope="row"{long}>{cell.html}'


def _td(cell: Cell) -> str:
    """A cell without its end; the best value is bold without the style of the page too, as in
    JupyterLab.
    """
    kind = f' class="{cell.kind}"' if cell.kind else ""
    return f"<td{kind}>{f'<b>{cell.html}</b>' if cell.kind == 'lead' else cell.html}"


Rows = Sequence[Mapping[str, Any]]
Column = Callable[[Rows], Sequence[Cell | str]]  # the cells of a column, of all its rows
Columns = Mapping[str, Column] | str  # by the head of each; or in one text, see `named`
Numbers = Callable[[Rows], list[Cell]]  # the same of numbers


def of_rows(
    caption: str, rows: pd.DataFrame | None, columns: Columns, note: str = "", place: str = ""
) -> Html:
    """A table of a data frame; "" if it has no rows. columns: the head and the cells of each
    column; see `named`. place: the id of its box.
    """
    if rows is None or not len(rows):
        return Html("")
    records = rows.head(LISTED).to_dict("records")
    makers = named(columns) if isinstance(columns, str) else columns
    cells = zip(*(column(records) for column in makers.values()), strict=True)
    return table(caption, list(makers), list(cells), cut(len(rows), note), place)


def by_system(
    caption: str, frame: pd.DataFrame, along: str, column: Column, note: str = "", head: Any = str
) -> Html:
    """A table with a row for each system, and a column for each value of `along`."""
    parts = [part.to_dict("records") for _, part in frame.groupby(along, sort=False)]
    rows = list(zip(dict.fromkeys(frame["system"]), *map(column, parts), strict=True))
    return table(caption, ["system", *map(head, dict.fromkeys(frame[along]))], rows, note)


def each(make: Callable[[Mapping[str, Any]], Cell | str]) -> Column:
    """A column whose cells are made row by row."""
    return lambda rows: [make(row) for row in rows]


def text(name: str, show: Callable[[Any], str] = str) -> Column:
    """A column of names, or of numbers that are formatted one by one."""
    return each(lambda row: show(row[name]))


def count(name: str, show: Callable[[Any], str] = thousands) -> Column:
    """A column of counts."""
    return each(lambda row: Cell(show(row[name]), numbers=(row[name],)))


def p_column(name: str) -> Column:
    """A column of p-values."""
    return each(lambda row: p_cell(row[name]))


def words(name: str) -> Column:
    """A left-aligned column of words."""
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


def named(columns: str, **kinds: Callable[[str], Column]) -> dict[str, Column]:
    """Columns in one text: `head = name kind`, separated by |; without a head, the name is used.

    Kinds: none, a text; w, words, left-aligned; #, a number; ±, one with its sign; [] and ±[], with
    the limits low and high; [_], with limits of its own name; n, a count; i, one without grouping;
    p; %. kinds: further ones, by name.
    """
    parts = [part.rpartition("=") for part in columns.split("|")]
    split = [(head.strip(), *name.split()) for head, _, name in parts]
    return {(head or name): (KINDS | kinds)["".join(kind)](name) for head, name, *kind in split}


def folded(summary: str, piece: Html, kind: str = "", place: str = "") -> Html:
    """A piece that opens when its summary is clicked; nothing of an empty one. kind, place: class
    and id, if any.
    """
    if not piece.html:
        return piece
    start = "".join(
        f' {name}="{value}"' for name, value in (("id", place), ("class", kind)) if value
    )

    def opened(html: str) -> str:
        return f"<details{start}><summary>{escape(summary)}</summary>{html}</details>"

    replaced_by: tuple[Piece, ...] = piece.replaced_by
    if all(isinstance(each, Html) for each in replaced_by):
        replaced_by = tuple(Html(opened(each.html), each.text) for each in replaced_by)
    else:  # an output of its own, as a figure is, cannot be folded
        replaced_by = (Html(f"<p><b>{escape(summary)}</b></p>", summary), *replaced_by)
    text = f"{summary}\n{piece.text}"
    return Html(opened(piece.html), text, piece.tables, replaced_by)


def definitions(items: Sequence[tuple[str, str]]) -> Html:
    """Names and their meanings, plain text, folded; links from `definition` open and show them."""
    listed = _listed("definitions", items, [f' id="{definition(name)}"' for name, _ in items])
    return folded(f"{len(items)} metrics, methods and terms", listed)


def provenance(items: Sequence[tuple[str, str]]) -> Html:
    """How this page was made: names and values, plain text, folded."""
    return folded(
        "Command, inputs and versions", _listed("definitions provenance", items, [""] * len(items))
    )


def _listed(kind: str, items: Sequence[tuple[str, str]], places: Sequence[str]) -> Html:
    listed = zip(places, items, strict=True)
    body = "".join(
        f"<dt{place}>{escape(name)}</dt><dd>{escape(text)}</dd>" for place, (name, text) in listed
    )
    return Html(
        f'<dl class="{kind}">{body}</dl>', "\n".join(f"{name}: {text}" for name, text in items)
    )
