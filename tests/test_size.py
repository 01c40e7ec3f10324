"""The size of the house: code lines by folder, which only fall; a new capability may raise them by what it was allowed.

A code line holds code: blank lines, comments and docstrings do not count.
"""

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
LONGEST = 40  # code lines of a function
LINES = {
    "catalogue": 1_369,
    "commands": 685,
    "drawing": 1_462,
    "findings": 81,
    "measured": 936,
    "metrics": 1_957,
    "offline": 766,
    "online": 874,
    "page": 194,
    "pages": 3_604,
    "parameters": 1_007,
    "reading": 6_165,
    "statistics": 3_166,
    "studies": 5_982,
    "top": 1_026,
}
MODULES = 166
TESTS = 19_237


@cache
def code_lines(source: str) -> set[int]:
    """The numbers of the lines that hold code.

    >>> code_lines('def f():\\n    \"\"\"Text.\"\"\"\\n\\n    return 1  # one\\n')
    {1, 4}
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in EMPTY for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


@cache
def sources(folder: str) -> dict[Path, str]:
    """The modules of a folder."""
    return {path.relative_to(TOP): path.read_text(encoding="utf-8") for path in sorted((TOP / folder).rglob("*.py"))}


def test_no_folder_is_larger_than_its_budget():
    size = Counter()
    for path, source in sources("evalkit").items():
        size[path.parts[1] if len(path.parts) > 2 else "top"] += len(code_lines(source))
    over = {
        folder: f"{lines} code lines of {LINES.get(folder, 0)}"
        for folder, lines in size.items()
        if lines > LINES.get(folder, 0)
    }
    assert not over, "make room, or say in the commit what the new capability was allowed"
    assert sum(size.values()) <= sum(LINES.values())


def test_there_are_no_more_modules_and_tests_than_the_budget_has():
    assert len(sources("evalkit")) <= MODULES
    assert sum(len(code_lines(source)) for source in sources("tests").values()) <= TESTS


def test_a_function_tells_one_step():
    long = []
    for path, source in sources("evalkit").items():
        lines = code_lines(source)
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.FunctionDef)
                and len(lines & set(range(node.lineno, node.end_lineno + 1))) > LONGEST
            ):
                long.append(f"{path}: {node.name}")
    assert not long
