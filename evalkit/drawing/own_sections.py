"""Sections of one's own: the cells of a notebook that see `study`, run where the page is made."""

import ast
import base64
import html
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit import report, running
from evalkit.arrays import ParameterError
from evalkit.displays import Display, Displayed
from evalkit.page.arrangement import ASKED, NOTEBOOK, SECTION


@dataclass(frozen=True)
class OwnSections(Displayed):
    """What the cells of the notebooks show. asked: all sections that were asked for."""

    asked: tuple[str, ...]
    outputs: tuple[Display, ...]

    def displays(self) -> list[Display]:
        """What was asked for, of which a reader sees nothing, and the outputs."""
        return [Display({"text/plain": ""}, {ASKED: [*self.asked]}), *self.outputs]


class Failed(Exception):
    """A section that cannot go on; the message says where and why."""


def run(study: Any) -> OwnSections:
    """Run the notebooks that the parameter `sections` names; the error of one is shown in its
    place, and kept for the end of the report. An earlier run does not count.
    """
    names = [name for name in study.p.sections if name.endswith(NOTEBOOK)]
    if missing := [name for name in names if not Path(name).expanduser().is_file()]:
        raise ParameterError(f"sections: there is no file {missing[0]}")
    failures: list[str] = []
    vars(study)[report.FAILED_SECTIONS] = failures
    outputs: list[Display] = []
    for name in names:
        with _no_figures():
            shown = [*_section(name, study, failures)]
        outputs += [Display(data, {**metadata, SECTION: name}) for data, metadata in shown]
    return OwnSections(study.p.sections, tuple(outputs))


def _section(name: str, study: Any, failures: list[str]) -> Iterator[Display]:
    """What the cells of a notebook show, up to the first that fails, whose message is added to the
    failures.
    """
    try:
        yield from _cells(name, study)
    except Failed as failed:
        message = str(failed)
        failures.append(message)
        text = f"<p><strong>This section failed:</strong> {html.escape(message)}</p>"
        yield Display({"text/html": text, "text/plain": f"This section failed: {message}"}, {})


def _cells(name: str, study: Any) -> Iterator[Display]:
    """What the cells of a notebook show. Raises Failed where one of them, its figure or the file
    fails.
    """
    from IPython.utils.capture import capture_output

    variables = {"__name__": "__main__", running.STUDY: study}
    for number, cell in enumerate(_read(name).cells, start=1):
        if cell.cell_type == "markdown":
            yield Display({"text/markdown": cell.source}, {})
        if cell.cell_type != "code":
            continue
        with capture_output(stdout=False, stderr=False) as displayed:
            cell.source = _without_reading(cell.source)
            error = running.run_cell(cell, number, variables, f"{name}, ")
        yield from (Display(rich.data, rich.metadata or {}) for rich in displayed.outputs)
        yield from (_display(output) for output in cell.outputs if output.output_type != "error")
        try:
            yield from _figures()
        except Exception as undrawn:  # matplotlib reads a formula as it draws it
            error = error or undrawn
        if error:
            raise Failed(f"{name}, cell {number}: {_described(error)}")


def _read(name: str) -> Any:
    """The notebook. Raises Failed for a file that is none."""
    try:
        return report.read(Path(name).expanduser())
    except Exception as error:  # nbformat raises errors of any kind for what is no notebook
        raise Failed(f"{name}: {_described(error)}") from error


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _without_reading(source: str) -> str:
    """The source without assignments of `study`, by which a notebook also runs alone."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return source  # it is refused where it runs
    kept = [node for node in body if not running.assigns_study(node)]
    return source if len(kept) == len(body) else ast.unparse(ast.Module(kept, []))


def _display(output: Any) -> Display:
    if output.output_type == "stream":
        return Display({"text/plain": output.text}, {})
    return Display(dict(output.data), dict(output.metadata))


@contextmanager
def _no_figures() -> Iterator[None]:
    """While a section runs, pyplot has no figures but its own: the reader's open ones stay as they
    are.
    """
    from matplotlib._pylab_helpers import Gcf

    readers = Gcf.figs.copy()
    Gcf.figs.clear()
    try:
        yield
    finally:
        Gcf.destroy_all()  # what a section that failed left open
        Gcf.figs.update(readers)


def _figures() -> Iterator[Display]:
    """The figures of pyplot that a cell left open, as Jupyter shows them."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        file = io.BytesIO()
        figure.savefig(file, format="png", bbox_inches="tight")
        yield Display({"image/png": base64.b64encode(file.getvalue()).decode("ascii")}, {})
        pyplot.close(figure)
