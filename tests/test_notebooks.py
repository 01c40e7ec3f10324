"""The notebooks are thin, executed and clean: what nbval compares is worth comparing."""

import ast
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
LOGIC = (
    ast.FunctionDef,
    ast.For,
    ast.While,
    ast.If,
    ast.IfExp,
    ast.Lambda,
    ast.ListComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def code(path: Path) -> list[dict]:
    return [cell for cell in cells(path) if cell["cell_type"] == "code"]


def tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


@each
def test_cells_hold_calls_and_no_logic(path):
    for cell in code(path):
        source = "".join(cell["source"])
        found = [type(node).__name__ for node in ast.walk(ast.parse(source)) if isinstance(node, LOGIC)]
        assert not found, f"{cell['id']} holds {found}"


@each
def test_one_parameters_cell_with_a_comment_on_every_line(path):
    tagged = [cell for cell in code(path) if "parameters" in tags(cell)]
    assert len(tagged) == 1
    assert not [cell for cell in cells(path) if "injected-parameters" in tags(cell)]
    # papermill reads no line with a second "=", not even in its comment.
    lines = "".join(tagged[0]["source"]).splitlines()
    assert all(re.fullmatch(r"\w+(: \w+)? = [^=]+  # [^=]+", line) for line in lines)


@each
def test_every_cell_was_run_in_order_without_error_or_warning(path):
    assert [cell["execution_count"] for cell in code(path)] == list(range(1, len(code(path)) + 1))
    outputs = [output for cell in code(path) for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]


@each
def test_ids_are_words_and_the_kernel_is_python3(path):
    ids = [cell["id"] for cell in cells(path)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9-]+", one) for one in ids)
    assert json.loads(path.read_text(encoding="utf-8"))["metadata"]["kernelspec"]["name"] == "python3"


@each
def test_small_and_without_this_machine(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 400_000
    assert not re.search(r"/(home|root|tmp|Users|work)/", text)
