"""Cells of tables, which are words or numbers with their intervals, and the contents of a table;
all text from data is escaped.
"""

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.machine.terminal import escape_control_character
from evalkit.numbers import END, Show, decimals, interval, number, p_value, printed

# what HTML does not allow, and what turns the direction of the text that follows
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
LINE_BREAKS = re.compile(r"[\r\n\t]+")
NUMBER = r"[+−]?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|∞)|–"


def escape(text: object) -> str:
    r"""Text made safe for HTML; control characters are escaped as Python does.

    >>> print(escape("<b>\x07"))
    &lt;b&gt;\x07
    """
    return html.escape(CONTROL_CHARACTERS.sub(escape_control_character, str(text)), quote=True)


def link(text: str, place: str) -> str:
    """A link to a place on the same page, as HTML."""
    return f'<a href="#{place}">{escape(text)}</a>'


@dataclass(frozen=True)
class Cell:
    """A cell of a table, or words of a sentence.

    limits: an interval behind the text. beside, below: muted texts behind both, and on further
    lines. numbers: the printed number, or the number and its limits; empty for words. markup: the
    text as HTML, if it is more than the escaped text, such as a link. kind: classes of HTML, such
    as lead (the best value), muted, text (words, left-aligned), one (on one line). tag: an element
    around all. differs_from: letters of the systems from which a printed table says it differs
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
    differs_from: str = ""
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
        return LINE_BREAKS.sub(" ", " ".join(filter(None, texts)))

    @property
    def full_text(self) -> str:
        """All that the cell says, on one line.

        >>> Cell("0.79", "[0.75, 0.81]", below=("n = 7",)).full_text
        '0.79 [0.75, 0.81] n = 7'
        """
        return f"{LINE_BREAKS.sub(' ', self.text.strip())} {self.further_text}".strip()


def as_cell(content: Cell | str) -> Cell:
    """The content if it is a cell, else a cell with this text."""
    return content if isinstance(content, Cell) else Cell(content)


def join(*pieces: Cell | str) -> Cell:
    """The pieces of a sentence, one behind the other, as one cell."""
    text = ""
    markup = ""
    for piece in map(as_cell, pieces):
        text += piece.text
        if piece.further_text:
            text += f" {piece.further_text}"
        markup += piece.html
    return Cell(text, markup=markup)


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
        lines = []
        for row in (self.columns, *self.rows):
            lines.append([cell.full_text for cell in row])
        return lines

    @property
    def column_widths(self) -> list[int]:
        """The characters of the longest text of each column."""
        columns = zip(*self.lines, strict=True)
        return [max(map(len, texts)) for texts in columns]

    @property
    def text(self) -> str:
        """The table for a terminal: the caption, and the columns, as wide as their longest cell."""
        widths = self.column_widths
        padded = [self.caption]
        for line in self.lines:
            cells = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
            padded.append("  ".join(cells))
        return "\n".join(padded)


NAME = re.compile(r"(_)(?=\w)")  # where the printed head of a narrow column may break


def interval_cell(
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
    printed_p = math.nan if math.isnan(p) else float(text)
    return Cell(text, numbers=(printed_p,))


Head = Cell | str


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
    markup = link(title, place) if place else escape(title)
    markup += sign
    if title.casefold() != name.casefold():
        markup += f'<br><span class="muted">{breakable_name(name)}</span>'
    return Cell(f"{name}{sign}", markup=markup)


def breakable_name(name: str) -> str:
    """A name in HTML, where a line may end behind an underscore."""
    return NAME.sub(r"\1<wbr>", escape(name))


def minus(first: object, second: object) -> Cell:
    """The head "first − second"; in a narrow column the sign stays with the second name."""
    markup = f"{escape(first)} −\N{NO-BREAK SPACE}{escape(second)}"
    return Cell(f"{first} − {second}", markup=markup)
