"""Sections that users add to a page: the cells of their notebooks, which see `study`, run when the
page is made.
"""

import ast
import base64
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit import report, running
from evalkit.displays import Display, Displayed
from evalkit.drawing.cells import escape
from evalkit.page.arrangement import ASKED, SECTION, own_notebooks

if TYPE_CHECKING:
    from nbformat import NotebookNode


@dataclass(frozen=True)
class OwnSections(Displayed):
    """What the cells of users' notebooks show. asked: the parameter `sections`, all sections of the
    page in order.
    """

    asked: tuple[str, ...]
    outputs: tuple[Display, ...]

    def displays(self) -> list[Display]:
        """An empty output whose metadata tell the page which sections it has, and the outputs of
        the cells.
        """
        order = Display({"text/plain": ""}, {ASKED: [*self.asked]})
        return [order, *self.outputs]


class SectionRunError(Exception):
    """A section cannot be run further; the message says where and why."""


def run(study: Any) -> OwnSections:
    """Run the notebooks that the parameter `sections` names, and return what they show.

    A notebook that fails shows its error in its place. The messages of these errors become an
    attribute of the study, so that its gate fails. Raises ParameterError for a missing file.
    """
    names = own_notebooks(study.p.sections)
    failures: list[str] = []
    # through `vars`, as a study is frozen; it replaces the messages of an earlier run
    vars(study)[report.FAILED_SECTIONS] = failures
    outputs: list[Display] = []
    for name in names:
        with _own_figures():  # apart from the reader's own figures
            displays = list(_section(name, study, failures))
        # the page finds the outputs of a section by its name in their metadata
        outputs += [Display(data, {**metadata, SECTION: name}) for data, metadata in displays]
    return OwnSections(study.p.sections, tuple(outputs))


def _section(name: str, study: object, failures: list[str]) -> Iterator[Display]:
    """What the cells of a notebook show. After a cell that fails, none is run: its message is shown
    and added to `failures`.
    """
    try:
        yield from _cells(name, study)
    except SectionRunError as failed:
        message = str(failed)
        failures.append(message)
        text = f"<p><strong>This section failed:</strong> {escape(message)}</p>"
        yield Display({"text/html": text, "text/plain": f"This section failed: {message}"}, {})


def _cells(name: str, study: object) -> Iterator[Display]:
    """Run the cells of a notebook, and yield what they show: Markdown, rich outputs and printed
    text, and figures left open. Raises SectionRunError if a cell, one of its figures or the file
    fails.
    """
    from IPython.utils.capture import capture_output

    variables = {"__name__": "__main__", running.STUDY: study}
    for number, cell in enumerate(_read(name).cells, start=1):
        if cell.cell_type == "markdown":
            yield Display({"text/markdown": cell.source}, {})
        if cell.cell_type != "code":
            continue
        with capture_output(stdout=False, stderr=False) as captured:
            cell.source = _without_reading(cell.source)
            error = running.run_cell(cell, number, variables, f"{name}, ")
        for rich in captured.outputs:
            yield Display(rich.data, rich.metadata or {})
        for output in cell.outputs:
            if output.output_type != "error":
                yield _display(output)
        try:
            yield from _figures()
        except Exception as undrawn:  # matplotlib reads a formula as it draws it
            error = error or undrawn
        if error:
            raise SectionRunError(f"{name}, cell {number}: {_described(error)}")


def _read(name: str) -> "NotebookNode":
    """The notebook in a file. Raises SectionRunError if the file holds none."""
    try:
        return report.read(Path(name).expanduser())
    except Exception as error:  # nbformat raises errors of any kind for what is no notebook
        raise SectionRunError(f"{name}: {_described(error)}") from error


def _described(error: BaseException) -> str:
    """The name of an error and its message."""
    return f"{type(error).__name__}: {error}"


def _without_reading(source: str) -> str:
    """The source of a cell without its statements that assign `study`. A notebook needs them to run
    on its own; in a page it is to use the study of the page.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return source  # running the cell will show the error
    other_statements = [node for node in body if not running.assigns_study(node)]
    if len(other_statements) == len(body):
        return source
    rest = ast.unparse(ast.Module(other_statements, []))
    # `unparse` drops the last semicolon, which tells a notebook not to show the value
    hides_value = running.ends_in_semicolon(source)
    return f"{rest};" if rest and hides_value else rest


def _display(output: "NotebookNode") -> Display:
    """An output of a notebook's cell as a display; printed text as plain text."""
    if output.output_type == "stream":
        return Display({"text/plain": output.text}, {})
    return Display(dict(output.data), dict(output.metadata))


@contextmanager
def _own_figures() -> Iterator[None]:
    """While a section runs, let pyplot have the section's figures alone; afterwards the reader's
    open figures are there again.
    """
    from matplotlib._pylab_helpers import Gcf

    readers_figures = Gcf.figs.copy()
    Gcf.figs.clear()
    try:
        yield
    finally:
        Gcf.destroy_all()  # what a section that failed left open
        Gcf.figs.update(readers_figures)


def _figures() -> Iterator[Display]:
    """The figures of pyplot that a cell left open, as PNG as in Jupyter, and close them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        file = io.BytesIO()
        figure.savefig(file, format="png", bbox_inches="tight")
        yield Display({"image/png": base64.b64encode(file.getvalue()).decode("ascii")}, {})
        pyplot.close(figure)
