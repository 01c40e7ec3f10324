"""Run a notebook's cells as papermill does, by nbclient, which imports faster."""

import ast
import copy
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

LOG = logging.getLogger(__name__)
START_SECONDS = 60
INJECTED = "injected-parameters"


class Stopped(RuntimeError):
    """The kernel died or did not start, or a cell took too long. cell: the position of the one that ran."""

    def __init__(self, error: Exception, cell: int) -> None:
        super().__init__(" ".join(str(error).split()))
        self.name, self.cell = type(error).__name__, cell


def prepared(notebook: Any, parameters: Mapping[str, Any], below: str = "") -> Any:
    """A copy of the notebook without outputs, and with a cell that assigns the parameters if there are any.

    The cell replaces one of an earlier run, or follows the cell tagged `parameters`, or is the first. below: the last
    line of the cell, "" for none.
    """
    ready = copy.deepcopy(notebook)
    for cell in ready.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    if parameters:
        earlier, declared = _tagged(ready, INJECTED), _tagged(ready, "parameters")
        start = earlier[0] if earlier else declared[0] + 1 if declared else 0
        ready.cells[start : start + len(earlier[:1])] = [_assigning(parameters, below)]
    return ready


def _tagged(notebook: Any, tag: str) -> list[int]:
    return [i for i, cell in enumerate(notebook.cells) if tag in cell.metadata.get("tags", [])]


def _assigning(parameters: Mapping[str, Any], below: str) -> Any:
    from nbformat.v4 import new_code_cell

    lines = ["# Parameters", *(f"{name} = {literal(value)}" for name, value in parameters.items())]
    source = "\n".join([*lines, ""]) + (f"\n{below}" if below else "")
    return new_code_cell(source, id=INJECTED, metadata={"tags": [INJECTED]})


def literal(value: Any) -> str:
    """The Python of a parameter's value, as papermill writes it: numbers, lists, mappings; other values become text.

    >>> literal({"ks": [1, None], "note": 'café "au lait"'})
    '{"ks": [1, None], "note": "caf\\\\xe9 \\\\"au lait\\\\""}'
    """
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    if isinstance(value, float):
        return f"float('{value}')"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(str(key))}: {literal(part)}' for key, part in value.items())}}}"
    return '"' + str(value).encode("unicode_escape").decode().replace('"', r"\"") + '"'


def imported(notebook: Any, package: str) -> str:
    """The statements, one a line, by which the cells of a notebook import from a package; not those within others."""
    trees = [_parsed(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    return "\n".join(ast.unparse(node) for tree in trees for node in tree.body if _is_of(node, package))


def _parsed(source: str) -> ast.Module:
    """The source of a cell, empty where it is more than Python, such as a magic."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _is_of(node: ast.stmt, package: str) -> bool:
    """True for a statement that imports from a package and from no other."""
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    else:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    return bool(names) and all(name.split(".")[0] == package for name in names)


def run(notebook: Any, seconds: int, watch: Callable[..., None] | None, **options: Any) -> int | None:
    """Run the cells in place, and return the position of the one that raised an error that its tags do not allow.

    seconds: for each cell. watch: called before each cell with `cell` and `cell_index`. options: of nbclient. Raises
    Stopped, and NoSuchKernel where no kernel is installed.
    """
    from nbclient import NotebookClient

    at = 0

    def started(cell: Any, cell_index: int) -> None:
        nonlocal at
        at = cell_index
        if watch:
            watch(cell=cell, cell_index=cell_index)

    limits: dict[str, Any] = {"timeout": seconds, "startup_timeout": START_SECONDS, "raise_on_iopub_timeout": True}
    client = NotebookClient(notebook, on_cell_start=started, kernel_name="python3", log=LOG, **limits, **options)
    try:
        return _run(client)
    except (RuntimeError, TimeoutError) as error:
        raise Stopped(error, at) from error


def _run(client: Any) -> int | None:
    from nbclient.exceptions import CellExecutionError

    failed = None
    client.reset_execution_trackers()
    with client.setup_kernel():
        for i, cell in enumerate(client.nb.cells):
            try:
                client.execute_cell(cell, i)
            except CellExecutionError:
                failed = i
                break
        about = client.wait_for_reply(client.kc.kernel_info())
        client.nb.metadata["language_info"] = about["content"]["language_info"]
        client.set_widgets_metadata()
    return failed
