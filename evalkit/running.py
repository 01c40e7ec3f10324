"""Run notebooks: by papermill, in this process or in a kernel; or on a study that is there
already.
"""

from __future__ import annotations

import ast
import copy
import io
import linecache
import platform
import tokenize
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import report
from evalkit.arrays import ParameterError
from evalkit.displays import Displayed
from evalkit.machine import folders, kernels
from evalkit.parameters import cells
from evalkit.report import Failure, Run

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from papermill.engines import Engine, NotebookExecutionManager

CELL_SECONDS = 3600
INJECTED = "injected-parameters"
STUDY = "study"  # what the cells of a report call it
Variables = dict[str, Any]  # of a notebook, by name
LANGUAGE = {  # what a kernel says of itself
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}


# By papermill -------------------------------------------------------------------------------------


def execute(
    notebook: NotebookNode,
    parameters: Mapping[str, object],
    *,
    origin: str = "",
    units: Path | None = None,
    in_process: bool = False,
    bar: str = "",
) -> Run:
    """Run a copy of the notebook by papermill in the working directory, and return the executed
    notebook, its results, its failure, if any, and the path of the file of units, if it wrote one.

    parameters: those that the user set. origin: the settings file that has them. units: the path
    for the file of units. in_process: run the cells in this process, as is possible for bundled
    notebooks; else in a kernel. bar: the name on the progress bar, "" for none.
    """
    from papermill.engines import NBClientEngine

    ready = prepared(notebook, parameters, origin)
    progress_bar: object = {"desc": bar, "leave": False} if bar else False
    options = {"progress_bar": progress_bar, "execution_timeout": CELL_SECONDS}
    with kernels.kernel_options(units) as options_of_kernel:
        if in_process:
            failure = _run_in_place(ready, engine(), options)
        else:
            failure = _run_in_place(ready, NBClientEngine, options_of_kernel | options)
    if failure is not None and failure.name == report.GATE:
        # a failed gate is a result of the report, not a failure of the run; another cell may have
        # failed as well
        ready = report.without_gate_error(ready)
        failure = report.found_failure(ready)
    results = report.published(ready)
    if failure is None and not isinstance(results, dict):
        last_cell = len(ready.cells) - 1
        message = f"the notebook published no results ({report.RESULTS})"
        failure = Failure("ResultsError", message, last_cell)
    if units is not None and not units.exists():  # the report wrote none
        units = None
    # without what belongs to this run alone, such as times
    return Run(report.stripped(ready, failure), results, failure, units)


def prepared(
    notebook: NotebookNode, parameters: Mapping[str, object], origin: str = ""
) -> NotebookNode:
    """A copy of the notebook with papermill's cell that assigns the parameters, if there are any.
    origin: the settings file of the parameters, which a comment in this cell names; "" for none.
    """
    from papermill.parameterize import parameterize_notebook

    ready = copy.deepcopy(notebook)
    # what papermill adds to a notebook that it reads from a file
    ready.metadata.setdefault("papermill", type(ready.metadata)())
    for cell in ready.cells:
        cell.metadata.setdefault("tags", [])
    if parameters:
        ready = parameterize_notebook(
            ready, dict(parameters), kernel_name="python3", language="python"
        )
        injected = next(cell for cell in ready.cells if INJECTED in cell.metadata.tags)
        injected.id = INJECTED  # papermill's is random
        if origin:
            injected.source += f"\n{cells.SETTINGS}{origin}"
    return ready


def _run_in_place(
    notebook: NotebookNode, engine_used: type[Engine], options: Mapping[str, object]
) -> Failure | None:
    """Run `notebook` in place by an engine of papermill's, and return its failure; None if it ended
    without one. options: of the engine.
    """
    from jupyter_client.kernelspec import NoSuchKernel

    try:
        engine_used.execute_notebook(notebook, "python3", **options)
    except NoSuchKernel as error:
        return Failure("NoSuchKernel", f"no kernel named {error.name!r} is installed", 0)
    except (RuntimeError, TimeoutError) as error:  # of the kernel, not of a cell
        message = " ".join(str(error).split())
        return Failure(type(error).__name__, message, report.last_started(notebook))
    return report.found_failure(notebook)


def import_scipy() -> None:
    """Import scipy without `numpy.f2py`, numpy's tools for Fortran, which take as long to import as
    scipy itself.

    scipy asks numpy for every name that numpy lists, and numpy imports f2py when it is asked for
    this name. While scipy is imported, the name therefore stands for None; afterwards f2py can be
    imported as before.
    """
    import numpy

    if "f2py" in vars(numpy):  # imported already
        return
    vars(numpy)["f2py"] = None
    try:
        import scipy.special  # noqa: F401
    finally:
        if vars(numpy)["f2py"] is None:
            del vars(numpy)["f2py"]


def engine() -> type[Engine]:
    """The engine by which papermill runs the cells of a bundled notebook in this process, as a
    kernel would.
    """
    from papermill.engines import Engine

    class InProcess(Engine):  # type: ignore[misc]  # papermill has no types
        """Each cell has its outputs, or the error that ends the run."""

        @classmethod
        def execute_managed_notebook(
            cls, nb_man: NotebookExecutionManager, kernel_name: str, **options: Any
        ) -> None:
            """Run the code cells of the notebook, up to the first error, in this process. papermill
            calls this method, and is told when each cell starts, fails and ends.
            """
            variables: Variables = {"__name__": "__main__"}  # which the cells share
            import_scipy()
            with cells.history() as sources:
                for i, cell in enumerate(nb_man.nb.cells):
                    nb_man.cell_start(cell, i)
                    if cell.cell_type == "code":
                        sources.append(cell.source)
                        error = run_cell(cell, len(sources), variables)
                        if error is not None:
                            nb_man.cell_exception(cell, i, exception=error)
                            break
                    nb_man.cell_complete(cell, i)
            nb_man.nb.metadata["language_info"] = LANGUAGE | {"version": platform.python_version()}

    return InProcess


def run_cell(
    cell: NotebookNode, number: int, variables: Variables, prefix: str = ""
) -> Exception | SystemExit | None:
    """Run a cell, store its outputs, and return the error that it raised, which is its last output;
    None if it raised none. An exit is an error too, as in a kernel.

    number: of the cell, from 1. variables: those of the notebook, which the cell changes. prefix:
    what the name of the cell begins with in tracebacks, such as the name of another notebook; ""
    for a cell of the report.
    """
    from nbformat.v4 import new_output

    printed = io.StringIO()
    errors = io.StringIO()
    file = f"<{prefix}cell {number}>"
    # so that tracebacks can quote the lines of the cell, which is in no file
    linecache.cache[file] = len(cell.source), None, cell.source.splitlines(keepends=True), file
    value = None
    raised: Exception | SystemExit | None = None
    try:
        with redirect_stdout(printed), redirect_stderr(errors):
            value = value_of(ast.parse(cell.source, file).body, variables, file)
    except (Exception, SystemExit) as error:
        raised = error
    show(cell, number, value, [("stdout", printed.getvalue()), ("stderr", errors.getvalue())])
    if raised is None:
        return None
    frames = raised.__traceback__
    while frames and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    raised.__traceback__ = frames  # from the cell on, without the frames of this module
    lines = "".join(traceback.format_exception(raised)).splitlines()
    name = type(raised).__name__
    cell.outputs.append(new_output("error", ename=name, evalue=str(raised), traceback=lines))
    return raised


# On a study ---------------------------------------------------------------------------------------


def save(
    path: Path, notebook: NotebookNode, study: Displayed, parameters: Mapping[str, object]
) -> None:
    """Write the page (.html), the executed notebook (.ipynb) or the results (.json), by the suffix
    of the path. parameters: those that the user set, as of `run`.

    A missing folder is created. Raises ParameterError for another suffix, and if the folder cannot
    be created.
    """
    if path.suffix not in report.CONTENTS:
        endings = ", ".join([*report.CONTENTS, report.UNITS])
        raise ParameterError(f"path must end in one of {endings}, got {path.name!r}")
    content_of = report.CONTENTS[path.suffix]
    _write(path, path.suffix, content_of(run(notebook, study, parameters)))


def save_units(path: Path, write: Callable[[Path], None]) -> None:
    """Write the file of units (.units.parquet) to the path. write: a function that writes the file
    to the path of a draft, or writes no file if the study has no units.

    A missing folder is created. Raises ParameterError if there are no units, or if the folder
    cannot be created.
    """
    with folders.scratch_folder() as scratch:
        draft = scratch / "units"  # so that a failure leaves no half-written file at the path
        write(draft)
        if not draft.exists():
            raise ParameterError("path: this study has no units to write; see the parameter units")
        _write(path, report.UNITS, draft)


def _write(path: Path, ending: str, content: str | Path) -> None:
    """Write a text, or a copy of a file, to the path. Raises ParameterError where it cannot."""
    try:
        report.write(path.parent, path.name.removesuffix(ending), {ending: content})
    except OSError as error:
        raise ParameterError(f"path: cannot write to {path.parent}: {error.strerror}") from None


def run(notebook: NotebookNode, study: Displayed, parameters: Mapping[str, object]) -> Run:
    """Run the cells of a notebook on a study that is there already, and return it with their
    outputs. The statements that would read the study are left out.

    parameters: those that the user set, which replace those of the parameters cell. An error in a
    cell is raised, except for that of a failed gate, which is a result: its cell, the last one,
    shows nothing.
    """
    executed = copy.deepcopy(notebook)
    variables: Variables = {"__name__": "__main__", STUDY: study}
    code = [cell for cell in executed.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        body = [node for node in ast.parse(cell.source).body if not assigns_study(node)]
        with suppress(report.GateFailed):
            show(cell, number, value_of(body, variables))
        if "parameters" in cell.metadata.get("tags", []):  # the cell has assigned the defaults
            variables.update(parameters)
    stripped = report.stripped(executed, failure=None)  # an error would have been raised
    return Run(stripped, report.published(executed), failure=None)


def value_of(body: Sequence[ast.stmt], variables: Variables, file: str = "<cell>") -> object:
    """Run the statements of a cell and return the value of the last one, None if it is not an
    expression. file: the name of the cell in tracebacks.
    """
    statements = list(body)
    expression: ast.expr = ast.Constant(None)
    last = statements[-1] if statements else None
    if isinstance(last, ast.Expr):
        statements.pop()
        expression = last.value
    module = ast.Module(statements, [])
    exec(compile(module, file, "exec"), variables)
    # a constant that no source contains has no line number, which `compile` requires
    last_line = ast.fix_missing_locations(ast.Expression(expression))
    return eval(compile(last_line, file, "eval"), variables)


def show(
    cell: NotebookNode, number: int, value: object, printed: Sequence[tuple[str, str]] = ()
) -> None:
    """Store in a cell its number and outputs, as Jupyter does: what it printed, and the value of
    its last expression, unless that is None or a semicolon ends the cell.

    printed: the name and the text of each stream, such as "stdout".
    """
    from nbformat.v4 import new_output

    cell.execution_count = number
    cell.outputs = [new_output("stream", name=name, text=text) for name, text in printed if text]
    if value is None or ends_in_semicolon(cell.source):
        return
    if isinstance(value, Displayed):  # a piece of a page can be several outputs
        for display in value.displays():
            cell.outputs.append(new_output("display_data", **display._asdict()))
    else:
        result = new_output("execute_result", data=bundle(value), execution_count=number)
        cell.outputs.append(result)


def ends_in_semicolon(source: str) -> bool:
    """True for a cell whose last value Jupyter does not show.

    >>> [ends_in_semicolon(source) for source in ("1;  # quiet", "1", "'a;'")]
    [True, False, False]
    """
    if ";" not in source:
        return False
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [token.string for token in tokens if token.type != tokenize.COMMENT]
    written = [text for text in texts if text.strip()]
    return written[-1:] == [";"]


def assigns_study(node: ast.stmt) -> bool:
    """True for a statement that reads the study."""
    plain = cells.without_annotation(node)
    return isinstance(plain, ast.Assign) and STUDY in cells.target_names(plain)


def bundle(value: object) -> dict[str, object]:
    """The representations in which Jupyter shows a value."""
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(value)  # type: ignore[no-untyped-call]
    return dict(data)
