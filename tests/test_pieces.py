"""The pieces that cells name: all are there, and a name that is not there fails with the list of those that are."""

import ast
import importlib
import json
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from evalkit import running
from evalkit.pages import classification_page, page, ranking_page

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def named(path: Path) -> set[tuple[str, str]]:
    """The modules of pages and their pieces that the cells of a notebook name."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    tree = ast.parse(code)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "evalkit.pages"]
    modules = {alias.name for node in imports for alias in node.names}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return {(ast.unparse(node.value), node.attr) for node in nodes if ast.unparse(node.value) in modules}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_piece_that_a_cell_names_exists(path):
    assert named(path)
    for module, piece in named(path):
        assert piece in page.names(importlib.import_module(f"evalkit.pages.{module}")), (module, piece)


@pytest.mark.parametrize("module", sorted({module for path in NOTEBOOKS for module, _ in named(path)}))
def test_an_unknown_piece_is_answered_with_the_list(module):
    own = importlib.import_module(f"evalkit.pages.{module}")
    with pytest.raises(AttributeError, match=f"no attribute 'estimtes'; its pieces are .*{page.names(own)[0]}"):
        own.estimtes  # noqa: B018 - the attribute itself is what is tested


def test_a_cell_that_names_an_unknown_piece_fails():
    cell = new_code_cell("from evalkit.pages import ranking_page\nranking_page.estimtes")
    run = running.execute(new_notebook(cells=[cell]), {})
    assert run.failure.name == "AttributeError"
    assert ", ".join(page.names(ranking_page)) in run.failure.message


OF_TWO = {"base_rate_plot", "base_rate", "cost_plot", "top_plot", "moving_threshold_table", "decision_difference"}
LACKS = {"BinaryStudy": {"class_calibration_plot"}, "ClassesStudy": OF_TWO | {"threshold_plot"}}
LACKS |= {"LabelsStudy": OF_TWO | {"thresholds", "calibration_plot", "confusion_plot"}}


@pytest.mark.parametrize("kind", classification_page.KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_classification_has_every_piece_but_these(kind):
    own = {piece.__name__ for piece in classification_page.PIECES if piece.__module__ == classification_page.__name__}
    there = {name for name in own if any(hasattr(module, name) for module in classification_page.KINDS[kind])}
    assert own - there == LACKS[kind.__name__] | {"roc", "precision_recall"}
