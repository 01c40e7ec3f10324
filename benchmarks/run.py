"""Runs the benchmarks of this folder, all or those named: `make bench`.

    python benchmarks/run.py --write                    # all, stored in `found`; writes RESULTS.md
    python benchmarks/run.py classification ranking significance    # only prints
    python benchmarks/run.py --times 3 classification   # the median of each ratio

Each prints what it measured and returns the ratios, against a peer or a bound of the same run, that
are claimed of it.
"""

import argparse
import contextlib
import importlib
import io
import os
import re
import statistics
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import results
from results import Claim, Found

from evalkit.machine import processors

HERE = Path(__file__).resolve().parent
# what makes a module a benchmark
MAIN = re.compile(r"^def main\(.*\) -> list\[Claim\]:$", re.MULTILINE)


class Tee(io.StringIO):
    """Keeps what is printed, and prints it."""

    def __init__(self, screen: TextIO) -> None:
        """Prints to `screen`."""
        super().__init__()
        self.screen = screen

    def write(self, text: str) -> int:
        """One piece of text to both."""
        self.screen.write(text)
        self.screen.flush()
        return super().write(text)


def measured(name: str, times: int, commit: str) -> Found:
    """What one benchmark claims, each ratio the median of so many runs, and what the last one
    printed.
    """
    module = importlib.import_module(name)
    runs: list[list[Claim]] = []
    for _ in range(times):
        print(f"\n== {name}", flush=True)
        with contextlib.redirect_stdout(Tee(sys.stdout)) as printed:
            runs.append(module.main())
    claims = [
        replace(claim, figure=statistics.median(run[place].figure for run in runs))
        for place, claim in enumerate(runs[-1])
    ]
    covers = (*module.COVERS, f"benchmarks/{name}.py")
    return Found(
        claims,
        printed.getvalue().strip("\n"),
        f"{datetime.now(UTC):%Y-%m-%d}",
        results.machine(),
        commit,
        covers,
        results.digest(covers),
    )


def benchmarks() -> list[str]:
    """The modules of this folder whose `main` returns claims, in the order of their names."""
    return [
        path.stem
        for path in sorted(HERE.glob("*.py"))
        if MAIN.search(path.read_text(encoding="utf-8"))
    ]


def main() -> None:
    """The named ones, or all of them in the order of their names."""
    parser = argparse.ArgumentParser(description="Run benchmarks and print their ratios.")
    parser.add_argument("--write", action="store_true", help="store the results, make RESULTS.md")
    parser.add_argument("--times", type=int, default=1, help="runs, of whose ratios the median is")
    parser.add_argument("names", nargs="*", metavar="BENCHMARK", help=", ".join(benchmarks()))
    given = parser.parse_args()
    found = {}
    commit = results.revision()
    for name in given.names or benchmarks():
        found[name] = measured(name, given.times, commit)
        if given.write:
            found[name].save(name)
            (HERE / "RESULTS.md").write_text(results.text(), encoding="utf-8")
    print("\n" + results.table(found))


if __name__ == "__main__":
    # As `evalkit report` starts its kernel: numpy reads the variable when it is imported.
    if more := processors.fast_sort_variables(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | more)
    main()
