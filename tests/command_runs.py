"""A small notebook of one's own, and the command line run on it inside this process."""

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from evalkit import __main__ as command

ROOT = Path(__file__).resolve().parents[1]
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
DEFAULTS = 'preds = "a.csv"  # a file\nks = [1]  # cut-offs\ngood = True  # passes the gate\n'
CHECK = "from evalkit import parameters\nparameters.check()"
PUBLISH = (
    "results = {'ks': ks, 'preds': preds, 'é': 0.1 + 0.2, 'gate': {'rule': 'good is true', "
    "'passed': good}}\n"
    "display({'application/vnd.evalkit+json': results, 'text/plain': ''}, raw=True)"
)


@pytest.fixture(scope="module", autouse=True)
def importable():
    """The kernels find this checkout from any working directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        yield


@dataclass
class Ended:
    """How a command ended: exit status, what it printed, and where it was to write."""

    status: int
    out: str
    err: str
    folder: Path


def notebook(path, *sources):
    cells = [new_markdown_cell("# A report\n\n## First", id="title")]
    cells.append(new_code_cell(DEFAULTS, id="defaults", metadata={"tags": ["parameters"]}))
    cells += [new_code_cell(source, id=f"code-{i}") for i, source in enumerate(sources)]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)
    return path


def evalkit(*arguments, folder, notebooks=None):
    out = io.StringIO()
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        given = [] if folder is None else ["-o", str(folder)]
        status = command.main([*map(str, arguments), *given], notebooks)
    return Ended(status, out.getvalue(), err.getvalue(), folder)
