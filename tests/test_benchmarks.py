"""Every benchmark has a `main` that returns claims and needs no argument; what it prints is not tested here."""

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
OTHERS = {
    "by_name",
    "contenders",
    "faults",
    "figures",
    "results",
    "run",
    "syntax",
    "usage",
}  # what benchmarks use, and counts of code
BENCHMARKS = [path for path in sorted(FOLDER.glob("*.py")) if path.stem not in OTHERS]


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_main_takes_no_argument_that_it_needs(path):
    found = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    main = next(node for node in found if node.name == "main")
    assert ast.unparse(main.returns) == "list[Claim]"  # by which run.py knows it
    arguments = main.args
    assert len(arguments.args) == len(arguments.defaults)
    assert not arguments.kwonlyargs or all(arguments.kw_defaults)
