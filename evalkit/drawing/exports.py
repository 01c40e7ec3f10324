"""The tables of a page elsewhere: as text, Markdown, LaTeX and frames, with the digits of the page."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from evalkit.arrays import ParameterError

NUMBER = r"[+−]?(?:\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|∞)|–"
WITH_INTERVAL = re.compile(rf"({NUMBER}) \[({NUMBER}), ({NUMBER})\]")
ALONE = re.compile(NUMBER)
SIGNED = re.compile(rf"(?:{NUMBER}|-\d[\d.]*)%?(?: \[(?:{NUMBER})%?, (?:{NUMBER})%?\])?")
INTERVAL = rf"\[(?:{NUMBER})%?, (?:{NUMBER})%?\](?![\[(:])"  # brackets that are no link
MARKED = re.compile(rf"{INTERVAL}|([\\`*~$\[\]]|(?<!\w)_|_(?!\w))")
WORDS = {"lead": r"\textbf{%s}", "ci": r"{\footnotesize %s}"}
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX |= {mark: f"\\{mark}" for mark in "&%$#_{}"}
LATEX |= {"−": "$-$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\rightarrow$", "∞": r"$\infty$", "–": "--"}
LATEX |= {"±": r"$\pm$", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "<": "$<$", ">": "$>$", "\u00a0": "~"}
LATEX |= {"|": "$|$", "½": r"$\frac{1}{2}$", "√": r"$\surd$", "…": r"\ldots{}", "·": r"$\cdot$", "α": r"$\alpha$"}


@dataclass(frozen=True)
class Cell:
    """A table cell: HTML, a class (lead, muted, text), and a mark of significance for a printed table."""

    html: str
    kind: str = ""
    mark: str = ""

    @property
    def text(self) -> str:
        """The cell without its markup, and without what it opens to, which stands in a div.

        >>> Cell('0.79 <wbr><span class="ci">[0.75, 0.81]</span><br>n = 7').text, Cell("a −&nbsp;b").text
        ('0.79 [0.75, 0.81] n = 7', 'a − b')
        """
        text = html.unescape(
            re.sub(r"<div>.*?</div>|<[^>]*>", "", self.html.replace("<br>", " ").replace("&nbsp;", " "))
        ).strip()
        return re.sub(r"[\r\n\t]+", " ", text)


@dataclass(frozen=True)
class Table:
    """What a table of the page says. marks: what the marks of its cells mean."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    marks: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """The text of each cell."""
        return [[cell.text for cell in row] for row in self.rows]

    @property
    def text(self) -> str:
        """The table for a terminal."""
        lines = [list(self.columns), *self.cells]
        width = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        padded = ("  ".join(c.ljust(w) for c, w in zip(line, width, strict=True)) for line in lines)
        return "\n".join([self.caption, *padded])


def markdown(table: Table) -> str:
    """The table in Markdown, with its caption above and its note below."""
    rows = [list(map(_plain, line)) for line in [table.columns, *table.cells]]
    rows.insert(1, [":--", *["--:"] * (len(table.columns) - 1)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(
        [f"**{_plain(table.caption)}**", "", *lines, "", *([_plain(table.note), ""] if table.note else [])]
    )


def _plain(text: str) -> str:
    r"""The text without anything that Markdown or HTML would take for markup; intervals and `roc_auc` have none.

    >>> _plain("[x](javascript:y) <b> a|b `c` roc_auc 0.79 [0.75, 0.81]")
    '\\[x\\](javascript:y) &lt;b> a&#124;b \\`c\\` roc_auc 0.79 [0.75, 0.81]'
    """
    text = MARKED.sub(lambda match: f"\\{match[1]}" if match[1] else match[0], " ".join(text.split()))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")


def latex(table: Table) -> str:
    r"""The table in LaTeX for the package booktabs; the best values bold, marks of significance as superscripts.

    >>> print(latex(Table("AUC", ["system", "auc ↑"], [[Cell("a_b"), Cell("0.81", "lead", "b")]])))
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
    heads = " & ".join(map(_escaped, table.columns))
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
    """Value and interval, the interval in small type."""
    match = WITH_INTERVAL.match(cell.text)
    value = match[1] if match else cell.text
    rest = cell.text[len(value) :]
    shown = WORDS["lead"] % _escaped(value) if cell.kind == "lead" else _escaped(value)
    mark = f"$^{{{cell.mark}}}$" if cell.mark else ""
    return shown + mark + (f" {WORDS['ci'] % _escaped(rest.strip())}" if rest.strip() else "")


def _escaped(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def frame(table: Table) -> pd.DataFrame:
    """The table as a frame: numbers are numbers, an interval stands in columns of its own.

    >>> rows = [[Cell("a"), Cell("+1,204 [−3, 2,411]")], [Cell("b"), Cell("–")]]
    >>> frame(Table("", ["system", "cost"], rows)).to_dict("list")
    {'system': ['a', 'b'], 'cost': [1204.0, nan], 'cost low': [-3.0, nan], 'cost high': [2411.0, nan]}
    """
    columns: dict[str, list[Any]] = {}
    for i, name in enumerate(table.columns):
        columns |= _split(name, [row[i] for row in table.cells])
    return pd.DataFrame(columns)


def _split(name: str, cells: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a column's cells: what follows an interval, such as n, stands beside it."""
    matches = [WITH_INTERVAL.match(cell) for cell in cells]
    if not any(matches):
        return {name: [_number(cell) for cell in cells]}
    parts = [
        [*m.groups(), cell[m.end() :].strip()] if m else [cell, "–", "–", ""]
        for m, cell in zip(matches, cells, strict=True)
    ]
    values, low, high, beside = zip(*parts, strict=True)
    columns = {name: values, f"{name} low": low, f"{name} high": high}
    numbers = {key: [_number(cell) for cell in column] for key, column in columns.items()}
    return numbers | ({f"{name} note": list(beside)} if any(beside) else {})


def _number(cell: str) -> Any:
    """The number that a cell is; any other text as it stands."""
    if not ALONE.fullmatch(cell):
        return cell
    return float(cell.replace("−", "-").replace(",", "").replace("∞", "inf").replace("–", "nan"))


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
