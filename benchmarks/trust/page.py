"""What came of the simulation, as cells with their bounds and as docs/trust.md."""

import datetime
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from declared import DECLARED, Declared
from worlds import World

LEAST, MOST = 0.93, 0.97  # of samples whose interval holds the truth
LEAST_SIZE, MOST_SIZE = 0.04, 0.06  # of samples in which a test at 5 % rejects what is true
ERRORS = 2  # standard errors of the simulation that a cell may lie outside


@dataclass(frozen=True)
class Cell:
    """One interval or one test in one world. share: of samples that hold the truth, or that reject."""

    world: World
    number: str
    test: bool
    share: float
    runs: int
    below: float
    above: float
    width: float
    declared: Declared | None

    @property
    def error(self) -> float:
        """The standard error of the share, at its nominal value."""
        return float(np.sqrt(0.95 * 0.05 / self.runs))

    @property
    def outside(self) -> bool:
        """Whether it covers too rarely, or rejects too often, by more than the simulation's own error."""
        if self.test:
            return self.share - ERRORS * self.error > MOST_SIZE
        return self.share + ERRORS * self.error < LEAST

    @property
    def conservative(self) -> bool:
        """Whether it covers, or keeps, more than it says."""
        if self.test:
            return self.share + ERRORS * self.error < LEAST_SIZE
        return self.share - ERRORS * self.error > MOST


def cells(worlds: Mapping[str, World], tallies: Mapping[str, Mapping[str, Any]]) -> list[Cell]:
    """Every interval and every test of every world."""
    every = []
    for name, world in worlds.items():
        for number, tally in tallies[name].items():
            if tally.runs:
                below, above = tally.below / tally.runs, tally.above / tally.runs
                share, width = 1 - below - above, tally.width / tally.runs
                every.append(_cell(world, number, share, tally.runs, below, above, width, test=False))
            if tally.tests:
                every.append(_cell(world, number, tally.rejected / tally.tests, tally.tests, test=True))
    return every


def _cell(
    world: World,
    number: str,
    share: float,
    runs: int,
    below: float = np.nan,
    above: float = np.nan,
    width: float = np.nan,
    *,
    test: bool,
) -> Cell:
    return Cell(world, number, test, share, runs, below, above, width, _declared(world, number, share, test=test))


def _declared(world: World, number: str, share: float, *, test: bool) -> Declared | None:
    """The exception that covers a cell: named so, and no worse than it says."""
    for one in DECLARED:
        kept = share <= one.most if test else share >= one.least
        if one.world in f"{world.report} {world.name} {world.n}" and one.number in number and kept:
            return one
    return None


def summary(every: list[Cell], seconds: float) -> str:
    """The cells out of bounds, and how many there are of each kind."""
    lines = [_line(cell) for cell in every if cell.outside]
    counts = {
        "intervals": [cell for cell in every if not cell.test],
        "tests": [cell for cell in every if cell.test],
    }
    for kind, some in counts.items():
        outside = [cell for cell in some if cell.outside]
        undeclared = sum(cell.declared is None for cell in outside)
        wide = sum(cell.conservative for cell in some)
        lines.append(f"{len(some)} {kind}: {len(outside)} out of bounds, {undeclared} undeclared; {wide} conservative")
    return "\n".join([*lines, f"{seconds / 60:.1f} minutes"])


def _line(cell: Cell) -> str:
    kind = "rejects" if cell.test else "covers"
    sides = "" if cell.test else f" (below {cell.below:.3f}, above {cell.above:.3f})"
    state = "" if cell.declared is None else ", declared"
    where = f"{cell.world.report}, {cell.world.name}, n = {cell.world.n}"
    return f"{where}: {cell.number} {kind} {cell.share:.3f}{sides}{state}"


# docs/trust.md ------------------------------------------------------------------------------------------------------


def write(path: Path, every: list[Cell], *, runs: int, seed: int) -> None:
    """Writes the tables: one for each report, worlds down, numbers across."""
    path.write_text(text(every, runs=runs, seed=seed), encoding="utf-8")


def text(every: list[Cell], *, runs: int, seed: int) -> str:
    """The page in Markdown."""
    reports = list(dict.fromkeys(cell.world.report for cell in every))
    return (
        "\n\n".join([_head(every, runs, seed), *(_report(name, every) for name in reports), _exceptions(every)]) + "\n"
    )


def _head(every: list[Cell], runs: int, seed: int) -> str:
    known = [f"{name} {version(name)}" for name in ("numpy", "pandas", "scipy")]
    versions = ", ".join([f"Python {platform.python_version()}", *known])
    intervals, tests = (sum(cell.test is test for cell in every) for test in (False, True))
    date = datetime.datetime.now(datetime.UTC).date()
    return f"""# Do the intervals and tests hold what they say?

Simulated by `make trust` on {date}: {runs:,} samples of each world, seed {seed}, {versions}.
{intervals} intervals should hold the true value in 95 % of the samples; {tests} tests at 5 % should reject in 5 % of
the samples a difference that is not there. Bold: below 93 % or above 6 % by more than two standard errors of the
simulation. Every number is computed by the functions that the pages call."""


def _report(name: str, every: list[Cell]) -> str:
    some = [cell for cell in every if cell.world.report == name]
    tables = [_table(some, test=test) for test in (False, True)]
    return "\n\n".join([f"## {name}", *(table for table in tables if table)])


def _table(some: list[Cell], *, test: bool) -> str:
    kept = [cell for cell in some if cell.test is test]
    if not kept:
        return ""
    numbers = list(dict.fromkeys(cell.number for cell in kept))
    worlds = list(dict.fromkeys((cell.world.name, cell.world.n) for cell in kept))
    by_place = {(cell.number, cell.world.name, cell.world.n): cell for cell in kept}
    title = "Tests: share of samples rejected, in percent" if test else "Intervals: coverage in percent"
    head = f"| | {' | '.join(f'{name}, n = {n:,}' for name, n in worlds)} |"
    rows = [
        f"| {number} | {' | '.join(_share(by_place.get((number, *world))) for world in worlds)} |" for number in numbers
    ]
    return "\n".join([f"**{title}**", "", head, "|---|" + "---|" * len(worlds), *rows])


def _share(cell: Cell | None) -> str:
    if cell is None:
        return ""
    shown = f"{100 * cell.share:.1f}"
    return f"**{shown}**" if cell.outside else shown


def _exceptions(every: list[Cell]) -> str:
    rows = [
        f"| {cell.world.name}, n = {cell.world.n:,} | {cell.number} | {100 * cell.share:.1f} | "
        f"{cell.declared.reason} | {cell.declared.told} |"
        for cell in every
        if cell.outside and cell.declared
    ]
    if not rows:
        return "## Declared exceptions\n\nNone."
    head = "| world | number | % | reason | what the page says |\n|---|---|---|---|---|"
    return "\n".join(["## Declared exceptions", "", head, *rows])
