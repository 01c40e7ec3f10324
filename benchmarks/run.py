"""Runs the benchmarks of this folder, all or those named: `make bench`. All of them write RESULTS.md.

Each prints what it measured and returns the ratios, against a peer or a bound of the same run, that are claimed of it.
"""

import contextlib
import importlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TextIO

from results import END, START, Claim, machine, table

from evalkit import processor

HERE = Path(__file__).resolve().parent
# This, what ranking.py starts for each tool, how results are written, and a count of code that measures no time.
NO_BENCHMARK = ("run", "contenders", "results", "figures")
SORTING = ("classification", "ranking", "scores")  # what depends on numpy's sort
HEAD = """# What the benchmarks measured

Made by `make bench`. Every ratio is of one run on one machine, processor time unless it says otherwise; a machine
that does other work at the same time shows other ratios.

"""


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


def measured(name: str) -> tuple[list[Claim], str]:
    """What one benchmark claims, and what it printed."""
    print(f"\n== {name}", flush=True)
    with contextlib.redirect_stdout(Tee(sys.stdout)) as printed:
        claims = importlib.import_module(name).main()
    return claims, printed.getvalue().strip("\n")


def sorted_slowly(name: str) -> str:
    """What one benchmark prints with the slow sort that numpy has by itself on this processor; it claims nothing."""
    print(f"\n== {name}, slow sort", flush=True)
    command = [sys.executable, "-c", f"import {name}; {name}.main()"]
    done = subprocess.run(
        command, cwd=HERE, env=os.environ | {processor.SWITCH: ""}, check=True, capture_output=True, text=True
    )
    print(done.stdout)
    return done.stdout.strip("\n")


def main(names: list[str]) -> None:
    """The named ones, or all of them in the order of their names."""
    every = [path.stem for path in sorted(HERE.glob("*.py")) if path.stem not in NO_BENCHMARK]
    found = {name: measured(name) for name in names or every}
    claims = table([one for some, _ in found.values() for one in some])
    print("\n" + claims)
    if not names:
        texts = {name: printed for name, (_, printed) in found.items()}
        if processor.sorts_slowly(processor.described()):
            texts |= {f"{name}, with the slow sort, without bounds": sorted_slowly(name) for name in SORTING}
        parts = [f"## {name}\n\n```text\n{printed}\n```\n" for name, printed in texts.items()]
        growth = "![Time and memory against rows](growth.svg)\n"
        text = f"{HEAD}{machine()}\n\n{START}{claims}{END}\n{growth}\n" + "\n".join(parts)
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")


def start_again_where_sorts_are_slow() -> None:
    """As `evalkit report` starts its kernel: numpy reads the variable when it is imported."""
    more = processor.remedy(os.environ)
    if more:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | more)


if __name__ == "__main__":
    start_again_where_sorts_are_slow()
    main(sys.argv[1:])
