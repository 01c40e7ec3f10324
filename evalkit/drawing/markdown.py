"""Tables and lines in Markdown, in which text from data is no markup."""

import re
from collections.abc import Iterable

from evalkit.drawing.cells import NUMBER, Table

LEFT = ":--"  # aligned so
RIGHT = "--:"

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


def markdown(table: Table) -> str:
    """The table in Markdown, with its caption above and its note below. Columns of words are
    aligned on the left, numbers on the right.
    """
    alignments = [LEFT]  # of the heads of the rows
    columns = list(zip(*table.rows, strict=True))
    for column in columns[1:]:
        has_words_alone = all(cell.kind == "text" or not cell.text for cell in column)
        alignment = LEFT if has_words_alone else RIGHT
        alignments.append(alignment)
    head, *rows = [_row(map(escape_markdown, line)) for line in table.lines]
    lines = [f"**{escape_markdown(table.caption)}**", "", head, _row(alignments)]
    lines += rows
    lines.append("")
    if table.note:
        lines += [escape_markdown(table.note), ""]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    """The row of a table with these cells, which are Markdown."""
    return f"| {' | '.join(cells)} |"


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
