"""Run the cells of a notebook in this process on a study that is there already: `study.save("report.html")`."""

import ast
import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalkit import report, scratch
from evalkit.arrays import ParameterError
from evalkit.report import Run

STUDY = "study"  # what the cells of a report call it


def save(path: Path, notebook: Any, study: Any, given: Mapping[str, Any]) -> None:
    """Write the page (.html), the executed notebook (.ipynb) or the results (.json), as the suffix of the path says.

    A missing folder is made. Raises ParameterError for another suffix, and where the folder cannot be.
    """
    if path.suffix not in report.CONTENTS:
        raise ParameterError(
            f"path must end in one of {', '.join([*report.CONTENTS, report.UNITS])}, got {path.name!r}"
        )
    _write(path, path.suffix, report.CONTENTS[path.suffix](run(notebook, study, given)))


def save_units(path: Path, write: Callable[[Path], None]) -> None:
    """Write the file of the units (.units.parquet). write: writes it to a path, or nothing where there are none.

    A missing folder is made. Raises ParameterError where there are no units, and where the folder cannot be.
    """
    with scratch.folder() as desk:
        write(draft := desk / "units")
        if not draft.exists():
            raise ParameterError("path: this study has no units to write; see the parameter units")
        _write(path, report.UNITS, draft)


def _write(path: Path, ending: str, content: str | Path) -> None:
    try:
        report.write(path.parent, path.name.removesuffix(ending), {ending: content})
    except OSError as error:
        raise ParameterError(f"path: cannot write to {path.parent}: {error.strerror}") from None


def run(notebook: Any, study: Any, given: Mapping[str, Any]) -> Run:
    """The notebook with the outputs of its cells, of which none reads the study again.

    given: the parameters that the user set, which replace those of the parameters cell. An error of a cell is raised.
    """
    from nbformat.v4 import new_output

    out, variables = copy.deepcopy(notebook), {"__name__": "__main__", STUDY: study}
    code = [cell for cell in out.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        value = last_value(cell.source, variables)
        if "parameters" in cell.metadata.get("tags", []):
            variables.update(given)
        shown = [] if value is None else [new_output("execute_result", data=bundle(value), execution_count=number)]
        cell.outputs, cell.execution_count = shown, number
    return Run(report.stripped(out, None), report.published(out), None)


def last_value(source: str, variables: dict[str, Any]) -> Any:
    """Run the source of a cell, less what assigns the study, and return the value of its last line, None of others."""
    body = [node for node in ast.parse(source).body if not _assigns_study(node)]
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), variables)
    return (
        eval(compile(ast.Expression(last.value), "<cell>", "eval"), variables) if isinstance(last, ast.Expr) else None
    )


def _assigns_study(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == STUDY for t in node.targets)


def bundle(value: Any) -> dict[str, Any]:
    """The forms in which Jupyter shows a value."""
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(value)  # type: ignore[no-untyped-call]
    return dict(data)
