"""Studies compute, pages speak: pages do no arithmetic and no statistics, studies hold no
sentences.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "evalkit"
PAGES = sorted((PACKAGE / "pages").glob("*.py"))
STUDIES = sorted((PACKAGE / "studies").glob("*.py"))
COMPUTING = (
    "evalkit.statistics",
    "evalkit.metrics",
    "evalkit.online",
    "evalkit.offline",
    "scipy",
    "numpy",
)
OPERATORS = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
REDUCTIONS = (
    "sum mean std var median quantile cumsum corr argmax argmin idxmax idxmin argsort round prod "
    "diff dot"
)
LONGEST = 11  # words of a literal in a study: a label or the name of a method, and no sentence
# what a metric of a study is, what a column of a file holds
DEFINITIONS = (
    "formula",
    "undefined",
    "equals",
    "holds",
)
# the words of the methods, until they stand with the methods
METHODS = (
    "interval_methods_text",
    "tests_text",
    "band_methods_text",
)


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_types(node: ast.stmt) -> bool:
    """True for `if TYPE_CHECKING:`, below which types alone are imported."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def computing(path: Path) -> Iterator[str]:
    """What a module computes: imports of what computes, but for types, operators on numbers,
    reductions of columns.
    """
    module = tree(path)
    for_types = {id(part) for node in module.body if is_for_types(node) for part in ast.walk(node)}
    for node in ast.walk(module):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(COMPUTING):
            yield f"line {node.lineno}: imports {node.module}"
        if isinstance(node, ast.Import) and any(
            alias.name.startswith(COMPUTING) for alias in node.names
        ):
            yield f"line {node.lineno}: imports {', '.join(alias.name for alias in node.names)}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, OPERATORS):
            yield f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.AugAssign) and isinstance(node.op, OPERATORS):
            yield f"line {node.lineno}: {ast.unparse(node)}"
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in REDUCTIONS.split()
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def sentences(path: Path) -> Iterator[str]:
    """The long literals of a module, but docstrings, errors, definitions of metrics and words of
    methods.
    """
    module = tree(path)
    free = {id(part) for node in ast.walk(module) if spoken(node) for part in ast.walk(node)}
    joined = [node for node in ast.walk(module) if isinstance(node, ast.JoinedStr)]
    inner = {id(part) for node in joined for part in ast.walk(node) if part is not node}
    for node in ast.walk(module):
        if id(node) not in free | inner and is_sentence(text := literal(node)):
            yield f"line {node.lineno}: {text}"


def is_sentence(text: str) -> bool:
    """True for more words than a label has, and for several words that end with a full stop."""
    return len(text.split()) > LONGEST or (len(text.split()) > 2 and text.rstrip().endswith("."))


def spoken(node: ast.AST) -> bool:
    """True for docstrings, errors, definitions of metrics and the words of methods."""
    if isinstance(node, ast.FunctionDef) and node.name in METHODS:
        return True
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    error = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error")
    return docstring or error or (isinstance(node, ast.keyword) and node.arg in DEFINITIONS)


def literal(node: ast.AST) -> str:
    """The text of a string, each hole of an f-string as one word; empty for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_computes_nothing(path):
    assert not list(computing(path))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_holds_no_sentences(path):
    assert not list(sentences(path))


def test_imports_operators_and_reductions_are_found_in_a_module(tmp_path):
    """Modules of pages must compute nothing; `computing` finds what would be a computation. Here a
    module has an import of numpy, and a second line with an operator and a reduction, and a third
    with an operator that assigns.
    """
    module = tmp_path / "module.py"
    module.write_text('import numpy\ntotal = 100 * frame["n"].sum()\ntotal /= 2\n')
    assert sorted(computing(module)) == [
        "line 1: imports numpy",
        "line 2: 100 * frame['n'].sum()",  # an operator
        "line 2: frame['n'].sum()",  # a reduction
        "line 3: total /= 2",
    ]


def test_a_literal_of_more_words_than_a_label_is_found_in_a_module(tmp_path):
    """At most 11 words are a label; the hole {n} counts as one word of 12."""
    module = tmp_path / "module.py"
    module.write_text(
        'text = f"{n} rows of the table have no value and are left out"\nname = "left out"\n'
    )
    assert list(sentences(module)) == ["line 1: X rows of the table have no value and are left out"]


def test_a_docstring_is_no_sentence_of_a_study(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""A docstring, which may be as long as its module needs it to be."""\n')
    assert not list(sentences(module))
