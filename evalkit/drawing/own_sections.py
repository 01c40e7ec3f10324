"""Sections of one's own: the cells of a notebook that see `study`, run where the page is made."""

import ast
import base64
import html
import io
import sys
from collections.abc import Iterator
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


def run(study: Any) -> OwnSections:
    """Run the notebooks that the parameter `sections` names; the error of one is shown in its
    place, and kept for the end of the report.
    """
    names = [name for name in study.p.sections if name.endswith(NOTEBOOK)]
    if missing := [name for name in names if not Path(name).is_file()]:
        raise ParameterError(f"sections: there is no file {missing[0]}")
    outputs = [
        Display(output.data, {**output.metadata, SECTION: name})
        for name in names
        for output in _section(name, study)
    ]
    return OwnSections(study.p.sections, tuple(outputs))


def _section(name: str, study: Any) -> Iterator[Display]:
    """What the cells of a notebook show, up to the first that fails."""
    from IPython.utils.capture import capture_output

    variables = {"__name__": "__main__", running.STUDY: study}
    for number, cell in enumerate(report.read(Path(name)).cells, start=1):
        if cell.cell_type == "markdown":
            yield Display({"text/markdown": cell.source}, {})
        if cell.cell_type != "code":
            continue
        with capture_output(stdout=False, stderr=False) as displayed:
            cell.source = _without_reading(cell.source)
            error = running.run_cell(cell, number, variables)
        yield from (Display(rich.data, rich.metadata or {}) for rich in displayed.outputs)
        yield from (_display(output) for output in cell.outputs if output.output_type != "error")
        yield from _figures()
        if error:
            message = f"{name}, cell {number}: {type(error).__name__}: {error}"
            vars(study).setdefault(report.FAILED_SECTIONS, []).append(message)
            text = f"<p><strong>This section failed:</strong> {html.escape(message)}</p>"
            yield Display({"text/html": text, "text/plain": f"This section failed: {message}"}, {})
            return


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
