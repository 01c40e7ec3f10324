"""`make bench` finds a `main` without arguments in every benchmark; what it prints is not tested here."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
NO_BENCHMARK = ("run", "contenders", "results", "figures")
BENCHMARKS = [path for path in sorted(FOLDER.glob("*.py")) if path.stem not in NO_BENCHMARK]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_main_takes_no_argument_that_it_needs(path):
    found = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    arguments = next(node.args for node in found if node.name == "main")
    assert len(arguments.args) == len(arguments.defaults)
    assert not arguments.kwonlyargs or all(arguments.kw_defaults)
