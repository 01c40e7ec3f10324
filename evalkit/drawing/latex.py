"""Tables in LaTeX."""

from evalkit.drawing.cells import LINE_BREAKS, Cell, Table

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


def latex(table: Table) -> str:
    r"""The table in LaTeX for the package booktabs; the best values bold, marks of significance as
    superscripts.

    >>> rows = [[Cell("a_b"), Cell("0.81", kind="lead", differs_from="b")]]
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
    latex = _escape_latex(LINE_BREAKS.sub(" ", cell.text.strip()))
    if cell.kind == "lead":
        latex = rf"\textbf{{{latex}}}"
    if cell.differs_from:
        latex += f"$^{{{cell.differs_from}}}$"
    if cell.further_text:
        latex += rf" {{\footnotesize {_escape_latex(cell.further_text)}}}"
    return latex


def _escape_latex(text: str) -> str:
    """Text made safe for LaTeX, with its commands for signs that its fonts may lack."""
    return "".join(LATEX.get(letter, letter) for letter in text)
