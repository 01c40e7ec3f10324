"""What a report costs: `evalkit report ranking` on the bundled sample against papermill and
nbconvert on nothing.

The lower bound is a notebook that only imports numpy, pandas and matplotlib, run by papermill and
converted by nbconvert: what anyone pays before the first metric. Both in turn, five times; the
medians' ratio is printed. Then all six sample reports by one command, against a command for each.

Python may store its byte code, as an installed package has it: an environment that forbids it would
compile evalkit, which runs here from its sources, in each process, and none of the installed
packages.

What was tried, in seconds of CPU on a busy machine, each pair of figures in turn, medians of 5:

- What a kernel's notebook imports of evalkit, imported as it starts without the garbage collector
  and left out of its later work, no tools for Fortran with scipy, rare collections in the command
  itself: 5.62 -> 5.04. In one process alone: 4.25 with the imports left out, 5.19 without any
  collection, 5.63 with Python's own; the load changed meanwhile (3.3 to 4.7, 4.3 to 5.7, 5.0 to
  5.8), so that only the order says something.
- numpy's tools for Fortran, which scipy's import pulls in: 0.93 -> 0.72 for pandas, DuckDB and
  scipy.special.
- One process for everything, IPython's shell without sockets: 5.36 against 5.05 of the command
  with its kernel, so no gain above the noise; a kernel that is forked could at most save the
  imports that both processes have.
- Of the five figures (1.3 s), the ten panels of the slices are half: half of that is two rounds
  of matplotlib's constrained layout, which asks each axis for its ticks again. Not changed.
- All six reports by one command, against a command each of the code before kernels stayed warm:
  39.8 and 25.9 s (0.65, 0.69 and 0.75 in three rounds); then half of the kernel's 23 s was the
  simulation of the interleaving report. Poisson counts where a play ends the session, and no work
  on wrappings and kinds that no item has: 10.6 -> 7.7 s; p-values without the intervals that the
  significance report's lessons do not show: 0.4 s less; 32.5 and 20.5 s (0.63).
- Of 3.68 s on 30 November (3.49 on the 28th, 3.07 before the one form, in one run): tests of each
  slice against the rest, which the page had not before, about 0.15; 37 modules more, 0.07; five
  pictures for the stored notebook beside those of the page, 0.3. Not changed.
- Significance, medians of 3 in turn: 5.51 -> 4.30, of which 0.5 is the import of scipy.stats, for a
  density, quantiles and ranks, and 0.25 the bounds of looks, by secants and not by bisection.
- One exporter for all pages of a process, so that its templates are compiled once: 0.086 -> 0.022 s
  a page, the same bytes, kept; of six reports about 0.3 s.
- What else is done anew for each report and not by its cells: notebooks read, 0.005 s each, and the
  executed ones written, 0.023 s, 0.019 without the check of their form. Not changed.
- Not tried: a page without nbconvert's other exporters, bleach and bs4, about 0.2 s of imports.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path

from results import REPORTS, Claim
from usage import usage

COVERS = REPORTS
BIN = Path(sys.executable).parent
SIX = ("classification", "interleaving", "ranking", "rating", "significance", "validation")


def empty_notebook(path: Path) -> None:
    """A notebook with one cell, the imports of any analysis."""
    import nbformat

    cell = nbformat.v4.new_code_cell("import numpy, pandas, matplotlib.pyplot")
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), path)


def main(rounds: int = 5) -> list[Claim]:
    """Prints both medians and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        empty_notebook(Path(folder, "empty.ipynb"))
        bound = [
            [str(BIN / "papermill"), "--no-progress-bar", "empty.ipynb", "out.ipynb"],
            [str(BIN / "jupyter-nbconvert"), "--to", "html", "out.ipynb"],
        ]
        ours = [report(folder, "ranking")]
        seconds([*bound, *ours], folder)  # font caches and byte code, once
        empty, full = in_turn(bound, ours, folder, rounds)
        alone, together = in_turn(
            [report(folder, name) for name in SIX], [report(folder, *SIX)], folder, rounds
        )
    print(f"empty notebook, papermill + nbconvert: {empty:.2f} s CPU")
    print(f"evalkit report ranking, bundled sample: {full:.2f} s CPU")
    print(f"ratio {full / empty:.2f}")
    print(f"six sample reports: {alone:.1f} s CPU by six commands, {together:.1f} s by one")
    return [
        Claim(
            "ranking report / an empty notebook by papermill and nbconvert", full / empty, "<= 0.9"
        ),
        Claim("six sample reports by one command / by six commands", together / alone, "<= 0.5"),
    ]


def report(folder: str, *names: str) -> list[str]:
    """The command that makes these sample reports."""
    return [str(BIN / "evalkit"), "report", *names, "-o", os.path.join(folder, "reports")]


def seconds(commands: list[list[str]], folder: str) -> float:
    """The CPU seconds of some commands."""
    return sum(usage(command, folder).cpu for command in commands)


def in_turn(
    first: list[list[str]], second: list[list[str]], folder: str, rounds: int
) -> tuple[float, float]:
    """The median CPU seconds of both lists of commands."""
    pairs = [(seconds(first, folder), seconds(second, folder)) for _ in range(rounds)]
    first_seconds, second_seconds = zip(*pairs, strict=True)
    return statistics.median(first_seconds), statistics.median(second_seconds)


if __name__ == "__main__":
    main()
