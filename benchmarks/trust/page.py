"""docs/trust.md: the cells of the simulation in tables."""

import datetime
import platform
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import earlier
from cells import KINDS, STATES, Cell, Kind
from declared import CAUSES

BOUNDS = "<!-- trust: made by make trust -->\n", "<!-- end of trust -->"


def write(top: Path, every: list[Cell], *, seed: int) -> None:
    """Writes docs/trust.md, a table for each report, worlds across, numbers down; and the counts in the README."""
    (top / "docs" / "trust.md").write_text(text(every, seed=seed), encoding="utf-8")
    readme = (top / "README.md").read_text(encoding="utf-8")
    before, _, rest = readme.partition(BOUNDS[0])
    after = rest.partition(BOUNDS[1])[2]
    (top / "README.md").write_text(f"{before}{BOUNDS[0]}{in_short(every)}\n{BOUNDS[1]}{after}", encoding="utf-8")


def in_short(every: list[Cell]) -> str:
    """The README's table: how many cells of each kind hold what they say."""
    rows = []
    for kind in KINDS:
        states = Counter(cell.state for cell in every if cell.kind is kind)
        rows.append(f"| {kind.held} | {states.total():,} | " + " | ".join(f"{states[s]:,}" for s in STATES) + " |")
    return "\n".join([f"| simulated | number | {' | '.join(STATES)} |", "|---|---|---|---|---|---|", *rows])


def text(every: list[Cell], *, seed: int) -> str:
    """The page in Markdown."""
    reports = list(dict.fromkeys(cell.world.report for cell in every))
    return (
        "\n\n".join(
            [
                _head(every, seed),
                earlier.table(every),
                *(_report(name, every) for name in reports),
                _exceptions(every),
                _conservative(every),
            ]
        )
        + "\n"
    )


def _head(every: list[Cell], seed: int) -> str:
    samples = Counter(Counter(cell.runs for cell in some).most_common(1)[0][0] for some in _by_world(every).values())
    runs = f"{min(samples):,}" if len(samples) == 1 else f"{min(samples):,} to {max(samples):,}"
    known = [f"{name} {version(name)}" for name in ("numpy", "pandas", "scipy")]
    versions = ", ".join([f"Python {platform.python_version()}", *known])
    count = Counter(cell.kind.name for cell in every)
    date = datetime.datetime.now(datetime.UTC).date()
    return f"""# Do the intervals and tests hold what they say?

Simulated by `make trust` on {date}: {runs} samples of each world, seed {seed}, {versions}.
{count["interval"]:,} intervals should hold the true value in 95% of the samples; {count["test"]:,} tests at 5% should
reject in 5% of the samples a difference that is not there; {count["power"]} differences that a page says "would show
with 80% power" should be shown in 75 to 85%. Bold: an interval below 93%, a test above 6%, by more than two
standard errors of the simulation. Every number is computed by the functions that the pages call.

{_counts(every)}"""


def _by_world(every: list[Cell]) -> dict[str, list[Cell]]:
    worlds: dict[str, list[Cell]] = {}
    for cell in every:
        worlds.setdefault(cell.where, []).append(cell)
    return worlds


def _counts(every: list[Cell]) -> str:
    rows = []
    for report in dict.fromkeys(cell.world.report for cell in every):
        states = Counter(cell.state for cell in every if cell.world.report == report)
        rows.append(f"| {report} | {states.total()} | " + " | ".join(str(states[state]) for state in STATES) + " |")
    return "\n".join([f"| report | cells | {' | '.join(STATES)} |", "|---|---|---|---|---|---|", *rows])


def _report(name: str, every: list[Cell]) -> str:
    some = [cell for cell in every if cell.world.report == name]
    tables = [table for kind in KINDS for table in _tables(some, kind)]
    return "\n\n".join([f"## {name}", *tables])


def _tables(some: list[Cell], kind: Kind) -> Iterator[str]:
    """One table for the worlds that print the same numbers."""
    by_world: dict[tuple[str, int], dict[str, Cell]] = {}
    for cell in some:
        if cell.kind is kind:
            by_world.setdefault((cell.world.name, cell.world.n), {})[cell.number] = cell
    alike: dict[tuple[str, ...], list[tuple[str, int]]] = {}
    for world, numbers in by_world.items():
        alike.setdefault(tuple(numbers), []).append(world)
    for numbers, worlds in alike.items():
        head = f"| | {' | '.join(f'{name}, n = {n:,}' for name, n in worlds)} |"
        rows = [
            f"| {number} | {' | '.join(_share(by_world[world][number]) for world in worlds)} |" for number in numbers
        ]
        yield "\n".join([f"**{kind.title}**", "", head, "|---|" + "---|" * len(worlds), *rows])


def _share(cell: Cell) -> str:
    text = f"{100 * cell.share:.1f}"
    return f"**{text}**" if cell.outside else text


def _lists(every: list[Cell]) -> list[str]:
    return [_exceptions(every), _conservative(every)]


def _exceptions(every: list[Cell]) -> str:
    rows = [
        f"| {cell.where} | {cell.number} | {100 * cell.share:.1f} | {cell.declared.reason} | {cell.declared.told} |"
        for cell in every
        if cell.outside and cell.declared
    ]
    if not rows:
        return "## Declared exceptions\n\nNone."
    head = "| world | number | % | reason | what the page says |\n|---|---|---|---|---|"
    return "\n".join(["## Declared exceptions", "", head, *rows])


def _conservative(every: list[Cell]) -> str:
    rows = [
        f"| {cell.where} | {cell.number} | {100 * cell.share:.1f} | {cause(cell)} |"
        for cell in every
        if cell.state == "conservative"
    ]
    head = "| world | number | % | cause |\n|---|---|---|---|"
    return "\n".join(["## Conservative: above 97%, below 4%", "", head, *rows])


def cause(cell: Cell) -> str:
    """Why a cell errs less often than it says."""
    return next((cause.reason for cause in CAUSES if cause.names(cell.where, cell.number)), "few distinct values")
