"""Tables as values, and what they are elsewhere: as text, Markdown, LaTeX and frames, with the digits of the page."""

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from evalkit.arrays import ParameterError

LIMITED = ("", " low", " high")  # the columns of a number with its limits
BREAKS = re.compile(r"[\r\n\t]+")
NUMBER = r"[+−]?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|∞)|–"
SIGNED = re.compile(rf"(?:{NUMBER}|-\d[\d.]*)%?(?: \[(?:{NUMBER})%?, (?:{NUMBER})%?\])?")
INTERVAL = rf"\[(?:{NUMBER})%?, (?:{NUMBER})%?\](?![\[(:])"  # brackets that are no link
MARKED = re.compile(rf"{INTERVAL}|([\\`*~$\[\]]|(?<!\w)_|_(?!\w))")
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {mark: f"\\{mark}" for mark in "&%$#_{}"}
LATEX |= {"−": "$-$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\rightarrow$", "∞": r"$\infty$", "–": "--"}
LATEX |= {"±": r"$\pm$", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "<": "$<$", ">": "$>$", "\u00a0": "~"}
LATEX |= {"|": "$|$", "½": r"$\frac{1}{2}$", "√": r"$\surd$", "…": r"\ldots{}", "·": r"$\cdot$", "α": r"$\alpha$"}


def escape(text: object) -> str:
    """Text made safe for HTML."""
    return html.escape(str(text), quote=True)


@dataclass(frozen=True)
class Cell:
    """A table cell, or words of a sentence: a text, an interval behind it, what stands beside and below.

    numbers: the number that is printed, or the number and its limits. markup: the text as HTML, where it is more than
    the text, such as a link. kind: a class (lead, muted, text). tag: an element around all. mark: of significance.
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

    @property
    def html(self) -> str:
        """The cell as HTML.

        >>> Cell("0.79", "[0.75, 0.81]", below=("n = 7",)).html
        '0.79 <wbr><span class="ci">[0.75, 0.81]</span><br><span class="muted">n = 7</span>'
        """
        limits = "" if self.limits is None else f' <wbr><span class="ci">{self.limits}</span>'
        beside = f' <span class="muted">{escape(self.beside)}</span>' if self.beside else ""
        below = "".join(f'<br><span class="muted">{escape(line)}</span>' for line in self.below).replace("\n", "<br>")
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
    """What a table of the page says. marks: what the marks of its cells mean."""

    caption: str
    columns: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    marks: str = ""

    @property
    def lines(self) -> list[list[str]]:
        """The text of each cell, the heads first."""
        return [[cell.whole for cell in row] for row in [self.columns, *self.rows]]

    @property
    def text(self) -> str:
        """The table for a terminal."""
        width = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        padded = ("  ".join(c.ljust(w) for c, w in zip(line, width, strict=True)) for line in self.lines)
        return "\n".join([self.caption, *padded])


def markdown(table: Table) -> str:
    """The table in Markdown, with its caption above and its note below."""
    rows = [list(map(_plain, line)) for line in table.lines]
    rows.insert(1, [":--", *["--:"] * (len(table.columns) - 1)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    note = [_plain(table.note), ""] if table.note else []
    return "\n".join([f"**{_plain(table.caption)}**", "", *lines, "", *note])


def _plain(text: str) -> str:
    r"""The text without anything that Markdown or HTML would take for markup; intervals and `roc_auc` have none.

    >>> _plain("[x](javascript:y) <b> a|b `c` roc_auc 0.79 [0.75, 0.81]")
    '\\[x\\](javascript:y) &lt;b> a&#124;b \\`c\\` roc_auc 0.79 [0.75, 0.81]'
    """
    text = MARKED.sub(lambda match: f"\\{match[1]}" if match[1] else match[0], " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")


def latex(table: Table) -> str:
    r"""The table in LaTeX for the package booktabs; the best values bold, marks of significance as superscripts.

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
    rows = [rf"{_no_option(' & '.join(map(_latex_cell, row)))} \\" for row in table.rows]
    below = " ".join(text for text in (table.note, table.marks) if text)
    note = [rf"\par\footnotesize {_escaped(below)}"] if below else []
    body = [rf"{heads} \\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", *note]
    layout = "l" + "r" * (len(table.columns) - 1)
    head = [r"\begin{table}", rf"\caption{{{_escaped(table.caption)}}}", rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    return "\n".join([*head, *body, r"\end{table}", ""])


def _no_option(line: str) -> str:
    """The line of a table, whose first letter the command above it would take for an option."""
    return f"{{}}{line}" if line.startswith(("[", "*")) else line


def _latex_cell(cell: Cell) -> str:
    """The text, and in small type what stands behind it."""
    shown = _escaped(BREAKS.sub(" ", cell.text.strip()))
    bold = rf"\textbf{{{shown}}}" if cell.kind == "lead" else shown
    mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
    return bold + mark + (rf" {{\footnotesize {_escaped(cell.rest)}}}" if cell.rest else "")


def _escaped(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def frame(table: Table) -> pd.DataFrame:
    """The table as a frame: numbers are numbers, an interval stands in columns of its own, what is below it in a note.

    >>> rows = [[Cell("a"), Cell("+1,204", "[−3, 2,411]", numbers=(1204, -3, 2411))], [Cell("b"), Cell("–")]]
    >>> frame(Table("", [Cell("system"), Cell("cost")], rows)).to_dict("list")
    {'system': ['a', 'b'], 'cost': [1204.0, nan], 'cost low': [-3.0, nan], 'cost high': [2411.0, nan]}
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
    notes = [" ".join(filter(None, [cell.beside, *cell.below])) if cell.numbers else "" for cell in cells]
    return columns | ({f"{name} note": notes} if any(notes) else {})


def _words(cell: Cell, size: int) -> Any:
    """What a cell without numbers says; a dash is no number."""
    return math.nan if cell.text == "–" else cell.whole if size == 1 else cell.text


def spreadsheet(table: pd.DataFrame) -> pd.DataFrame:
    """The frame with an apostrophe before each text that a spreadsheet would run as a formula; numbers have none."""

    def safe(cell: Any) -> Any:
        runs = isinstance(cell, str) and cell.startswith(tuple("=+-@\t\r")) and not SIGNED.fullmatch(cell)
        return f"'{cell}" if runs else cell

    return table.map(safe).rename(columns=safe)


def written(text: str, path: str | PathLike[str] | None) -> str:
    """The text, written to the path if there is one."""
    if path is not None:
        writable(path).write_text(text, encoding="utf-8", newline="\n")
    return text


def writable(path: str | PathLike[str]) -> Path:
    """The path of a file to write, whose folder is made if it is missing.

    Raises ParameterError for a path without a name, and where the folder cannot be.
    """
    file = Path(path)
    if not file.name:
        raise ParameterError(f"path must name a file, such as 'figure.pdf' or 'table.csv', got {str(path)!r}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"path: cannot write to {file.parent}: {error.strerror}") from None
    return file


def workbook(frames: Sequence[pd.DataFrame], path: str | PathLike[str]) -> None:
    """Write the frames as the sheets of an Excel workbook. Raises ImportError without openpyxl, else as `writable`."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise ImportError("to_excel needs the package openpyxl: pip install openpyxl") from None
    with pd.ExcelWriter(writable(path), engine="openpyxl") as writer:
        for number, table in enumerate(frames, start=1):
            spreadsheet(table).to_excel(writer, sheet_name=f"table {number}", index=False)
