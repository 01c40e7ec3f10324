"""Runs the benchmarks of this folder, all or those named: `make bench`. All of them write
RESULTS.md.

Each prints what it measured and returns the ratios, against a peer or a bound of the same run, that
are claimed of it. Results stay in .bench/found, so that one benchmark can be rerun alone.
"""

import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from results import END, START, Claim, machine, table

from evalkit import system

HERE = Path(__file__).resolve().parent
# what makes a module a benchmark
MAIN = re.compile(r"^def main\(.*\) -> list\[Claim\]:$", re.MULTILINE)
SORTING = ("classification", "ranking", "scores")  # what depends on numpy's sort
FOUND = HERE.parent / ".bench" / "found"
HEAD = """# What the benchmarks measured

Made by `make bench`. Every ratio is of one run on one machine, processor time unless it says otherwise; a machine
that does other work at the same time shows other ratios.

"""


@dataclass(frozen=True)
class Found:
    """What one benchmark claimed and printed, when, and on which machine."""

    claims: Sequence[Claim]
    printed: str
    day: str
    machine: str

    def save(self, name: str) -> None:
        """Into the folder of what was found."""
        FOUND.mkdir(parents=True, exist_ok=True)
        (FOUND / f"{name}.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Found":
        """What `save` wrote."""
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(**kept | {"claims": [Claim(**claim) for claim in kept["claims"]]})

    def section(self, name: str, usual: str) -> str:
        """Its part of RESULTS.md; usual: the machine that needs no mention."""
        where = "" if self.machine == usual else f" on {self.machine}"
        return f"## {name}\n\nMeasured {self.day}{where}\n\n```text\n{self.printed}\n```\n"


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


def now(claims: Sequence[Claim], printed: str) -> Found:
    """What was found today, here."""
    return Found(claims, printed.strip("\n"), f"{datetime.now(UTC):%Y-%m-%d}", machine())


def measured(name: str) -> Found:
    """What one benchmark claims, and what it printed."""
    print(f"\n== {name}", flush=True)
    with contextlib.redirect_stdout(Tee(sys.stdout)) as printed:
        claims = importlib.import_module(name).main()
    return now(claims, printed.getvalue())


def sorted_slowly(name: str) -> Found:
    """What one benchmark prints with the slow sort that numpy has by itself on this processor; it
    claims nothing.
    """
    print(f"\n== {name}, slow sort", flush=True)
    command = [sys.executable, "-c", f"import {name}; {name}.main()"]
    done = subprocess.run(
        command,
        cwd=HERE,
        env=os.environ | {system.SWITCH: ""},
        check=True,
        capture_output=True,
        text=True,
    )
    print(done.stdout)
    return now([], done.stdout)


def benchmarks() -> list[str]:
    """The modules of this folder whose `main` returns claims, in the order of their names."""
    return [
        path.stem
        for path in sorted(HERE.glob("*.py"))
        if MAIN.search(path.read_text(encoding="utf-8"))
    ]


def write(names: Sequence[str]) -> str:
    """RESULTS.md, once all benchmarks of these names were run; returns the table of the claims
    found so far.
    """
    every = {
        path.stem: Found.load(path)
        for path in sorted(FOUND.glob("*.json"))
        if path.stem.split(",")[0] in names
    }
    claims = table([claim for found in every.values() for claim in found.claims])
    growth = "![Time and memory against rows](growth.svg)\n"
    parts = [found.section(name, machine()) for name, found in every.items()]
    text = f"{HEAD}{machine()}\n\n{START}{claims}{END}\n{growth}\n" + "\n".join(parts)
    if every.keys() >= set(names):
        (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    return claims


def main(names: list[str]) -> None:
    """The named ones, or all of them in the order of their names; those that sort also with a slow
    sort.
    """
    every = benchmarks()
    slow = system.sorts_slowly(system.described())
    for name in names or every:
        measured(name).save(name)
        write(every)
    for name in (name for name in names or every if slow and name in SORTING):
        sorted_slowly(name).save(f"{name}, with the slow sort, without bounds")
    print("\n" + write(every))


def start_again_where_sorts_are_slow() -> None:
    """As `evalkit report` starts its kernel: numpy reads the variable when it is imported."""
    more = system.remedy(os.environ)
    if more:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | more)


if __name__ == "__main__":
    start_again_where_sorts_are_slow()
    main(sys.argv[1:])
