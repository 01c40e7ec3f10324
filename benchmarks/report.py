"""What a report costs: `evalkit report ranking` on the bundled sample against papermill and nbconvert on nothing.

The lower bound is a notebook that only imports numpy, pandas and matplotlib, run by papermill and converted by
nbconvert: what anyone pays before the first metric. Both in turn, three times; the medians' ratio is printed.

Python may store its byte code, as an installed package has it: an environment that forbids it would compile evalkit,
which runs here from its sources, in each process, and none of the installed packages.

What was tried, in seconds of CPU on a busy machine, each pair of figures in turn, medians of 5:

- What a kernel's notebook imports of evalkit, imported as it starts without the garbage collector and left out of its
  later work, no tools for Fortran with scipy, rare collections in the command itself: 5.62 -> 5.04.
  In one process alone: 4.25 with the imports left out, 5.19 without any collection, 5.63 with Python's own; the load
  changed meanwhile (3.3 to 4.7, 4.3 to 5.7, 5.0 to 5.8), so that only the order says something.
- numpy's tools for Fortran, which scipy's import pulls in: 0.93 -> 0.72 for pandas, DuckDB and scipy.special.
- One process for everything, IPython's shell without sockets: 5.36 against 5.05 of the command with its kernel, so no
  gain above the noise; a kernel that is forked could at most save the imports that both processes have.
- Of the five figures (1.3 s), the ten panels of the slices are half: half of that is two rounds of matplotlib's
  constrained layout, which asks each axis for its ticks again. Not changed.
- Not tried: a page without nbconvert's other exporters, bleach and bs4, about 0.2 s of imports.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Claim

BIN = Path(sys.executable).parent
FORBIDS = "PYTHONDONTWRITEBYTECODE"


def processor_seconds(*commands: list[str], folder: str) -> float:
    """User and system seconds of the commands and of every process that they start and wait for."""
    environment = {name: value for name, value in os.environ.items() if name != FORBIDS}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def empty_notebook(path: Path) -> None:
    """A notebook with one cell, the imports of any analysis."""
    import nbformat

    cell = nbformat.v4.new_code_cell("import numpy, pandas, matplotlib.pyplot")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), path)


def main(rounds: int = 3) -> list[Claim]:
    """Prints both medians and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        empty_notebook(Path(folder, "empty.ipynb"))
        bound = [
            [str(BIN / "papermill"), "--no-progress-bar", "empty.ipynb", "out.ipynb"],
            [str(BIN / "jupyter-nbconvert"), "--to", "html", "out.ipynb"],
        ]
        ours = [[str(BIN / "evalkit"), "report", "ranking", "-o", os.path.join(folder, "reports")]]
        processor_seconds(*bound, *ours, folder=folder)  # font caches and byte code, once
        pairs = [
            (processor_seconds(*bound, folder=folder), processor_seconds(*ours, folder=folder)) for _ in range(rounds)
        ]
    empty, full = (statistics.median(one) for one in zip(*pairs, strict=True))
    print(f"empty notebook, papermill + nbconvert: {empty:.2f} s CPU")
    print(f"evalkit report ranking, bundled sample: {full:.2f} s CPU")
    print(f"ratio {full / empty:.2f}")
    return [Claim("ranking report / an empty notebook by papermill and nbconvert", full / empty, "<= 0.9")]


if __name__ == "__main__":
    main()
