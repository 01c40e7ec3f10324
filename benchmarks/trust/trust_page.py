"""docs/trust.md, a page that one reads, and docs/trust_tables.md, every cell of the simulation."""

import datetime
import platform
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import diebold_mariano
from cells import INTERVAL, KINDS, POWER, STATES, TEST, Cell, Kind
from declared import CAUSES

BOUNDS = "<!-- trust: made by make trust -->\n", "<!-- end of trust -->"


def write(top: Path, every: list[Cell], *, seed: int) -> None:
    """Write docs/trust.md, docs/trust_tables.md and the counts in the README."""
    (top / "docs" / "trust.md").write_text(text(every, seed=seed), encoding="utf-8")
    (top / "docs" / "trust_tables.md").write_text(tables(every), encoding="utf-8")
    readme = (top / "README.md").read_text(encoding="utf-8")
    before, _, rest = readme.partition(BOUNDS[0])
    after = rest.partition(BOUNDS[1])[2]
    (top / "README.md").write_text(
        f"{before}{BOUNDS[0]}{in_short(every)}\n{BOUNDS[1]}{after}", encoding="utf-8"
    )


def write_series(top: Path, every: list[Cell], *, seed: int) -> None:
    """Write docs/trust_series.md, from the cells of forecasts of series and of distributions."""
    (top / "docs" / "trust_series.md").write_text(series(every, seed=seed), encoding="utf-8")


def in_short(every: list[Cell]) -> str:
    """The README's table: how many cells of each kind hold what they say."""
    rows = []
    for kind in KINDS:
        states = Counter(cell.state for cell in every if cell.kind is kind)
        rows.append(
            f"| {kind.held} | {states.total():,} | "
            + " | ".join(f"{states[s]:,}" for s in STATES)
            + " |"
        )
    return "\n".join(
        [f"| simulated | number | {' | '.join(STATES)} |", "|---|---|---|---|---|---|", *rows]
    )


def text(every: list[Cell], *, seed: int) -> str:
    """The page in Markdown: what was simulated, what holds, and every exception by its reason."""
    runs = _sample_sizes(every)
    known = [f"{name} {version(name)}" for name in ("numpy", "pandas", "scipy")]
    versions = ", ".join([f"Python {platform.python_version()}", *known])
    kinds = [_holds(kind, [cell for cell in every if cell.kind is kind]) for kind in KINDS]
    outside = [cell for cell in every if cell.state == "outside"]
    nothing = "Every number outside these bounds is listed below."
    return f"""# Do the intervals and tests hold what they say?

{chr(10).join(one for one in kinds if one)}

{"**Not yet: " + ", ".join(f"{c.where}: {c.number}" for c in outside) + "**" if outside else nothing}

`make trust` draws samples from simulated populations, called worlds, whose true values are known (equally good systems,
rare classes, ties, weights, users with many rows, heavy tails), runs the report on each sample, and counts how often
the numbers on the page are right. Both bounds, 93% and 6%, allow for two standard errors of the simulation. In the
tables, a cell is one interval, test or power figure in one world: *inside* its bounds, *conservative*, or *declared*:
outside, with the reason below and a note on the page.

{_counts(every)}

Conservative intervals contain the true value in more than 97% of the samples, conservative tests reject in fewer than
4%. [The tables](trust_tables.md) have every figure; [one-sided tests](trust_one_sided.md) and [forecasts of series and
of distributions](trust_series.md) have their own pages.

{_exceptions(every)}

Simulated on {datetime.datetime.now(datetime.UTC).date()}: {runs} samples of each world, seed {seed}, {versions}.
"""


def series(every: list[Cell], *, seed: int) -> str:
    """The page on forecasts of series and of distributions in Markdown."""
    holds = "\n".join(filter(None, (_holds(kind, _of_kind(every, kind)) for kind in KINDS)))
    subjects = "\n".join(_subject(words, every) for words in SUBJECTS)
    figures = "\n\n".join(table for kind in KINDS for table in _tables(every, kind))
    exceptions = _exceptions(every).replace("## Where", "## Intervals and tests: where")
    return f"""# Forecasts of series and of distributions: do intervals and tests hold what they say?

<!-- made by make trust -->

{holds}

Two systems that are equally good are evaluated in samples of simulated populations, as [for all reports](trust.md):
quantiles, draws and moments, by row and with clusters (places); rows in time order, by series, and against a reference.
An interval should contain the true value in 93 to 97% of the samples, a 5% test should reject in 4 to 6%, each but for
two standard errors of the simulation.

| | number | inside | conservative | declared | outside | percent of the samples |
|---|---|---|---|---|---|---|
{subjects}

## The level of Diebold and Mariano's test

How often the 5% test of two equally good forecasts rejects, by the number of times n, in {diebold_mariano.SAMPLES:,}
samples. It allows for errors that depend on those up to the horizon less 1 before. Errors that depend on all earlier ones
(AR) are not covered at any n: the page warns if it sees them (EK355).

{diebold_mariano.table()}

{exceptions}

## Every figure

{figures}

Simulated on {datetime.datetime.now(datetime.UTC).date()}: {_sample_sizes(every)} samples of each world, seed {seed}.
"""


class Subject(NamedTuple):
    """Cells of one kind whose numbers begin with one of some words, in worlds whose names hold a
    text.
    """

    title: str
    kind: Kind
    numbers: tuple[str, ...]
    world: str = ""


SCORES = ("wis", "crps", "fair_crps")
SUBJECTS = (
    Subject("Coverage of intervals of 50, 90 and 95%", INTERVAL, ("value: coverage@",)),
    Subject("WIS and CRPS", INTERVAL, tuple(f"value: {name}" for name in SCORES)),
    Subject("Differences in WIS and CRPS", INTERVAL, tuple(f"difference: {n}" for n in SCORES)),
    Subject("The same, clustered by place", INTERVAL, ("difference: wis",), "by place"),
    Subject("5% tests of WIS and CRPS", TEST, tuple(f"difference: {name}" for name in SCORES)),
    Subject(
        "Skill, one step ahead", INTERVAL, ("value: mae_skill", "value: mse_skill"), "one step"
    ),
    Subject("Skill, four steps ahead", INTERVAL, ("value: mae_skill", "value: mse_skill"), "four"),
    Subject("Skill, by series", INTERVAL, ("value: mae_skill", "value: mse_skill"), "by series"),
    Subject("Skill, against the mean", INTERVAL, ("value: m",), "against the mean"),
    Subject("MASE and RMSSE, by series", INTERVAL, ("value: mase", "value: rmsse"), "by series"),
)


def _of_kind(every: list[Cell], kind: Kind) -> list[Cell]:
    return [cell for cell in every if cell.kind is kind]


def _subject(subject: Subject, every: list[Cell]) -> str:
    """A row of the table of subjects."""
    cells = [
        cell
        for cell in _of_kind(every, subject.kind)
        if cell.number.startswith(subject.numbers) and subject.world in cell.world.name
    ]
    states = Counter(cell.state for cell in cells)
    shares = [100 * cell.share for cell in cells]
    span = f"{min(shares):.1f} to {max(shares):.1f}" if shares else ""
    counts = " | ".join(str(states[state]) for state in STATES)
    return f"| {subject.title} | {len(cells)} | {counts} | {span} |"


def _sample_sizes(every: list[Cell]) -> str:
    """The number of samples of a world, or the least and the greatest."""
    of_worlds = [Counter(cell.runs for cell in cells) for cells in _by_world(every).values()]
    sizes = {runs.most_common(1)[0][0] for runs in of_worlds}
    least = min(sizes)
    most = max(sizes)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _holds(kind: Kind, some: list[Cell]) -> str:
    """How many cells of a kind hold what they say, in a sentence."""
    if not some:
        return ""
    fine = sum(not cell.outside for cell in some)
    what = {
        INTERVAL: f"{kind.held} contain the true value in at least 93% of the samples",
        TEST: f"{kind.held} reject a true null hypothesis in at most 6% of the samples",
        POWER: (
            "differences that the page says would show with 80% power are shown in 75 to 85% of the "
            "samples"
        ),
    }
    return f"- {fine:,} of {len(some):,} {what[kind]}."


def tables(every: list[Cell]) -> str:
    """The figures of all cells in Markdown."""
    reports = list(dict.fromkeys(cell.world.report for cell in every))
    head = "# Every simulated interval and test\n\n<!-- made by make trust -->"
    bold = "Bold: outside the bounds of [the summary](trust.md)."
    return (
        "\n\n".join([head, bold, *(_report(name, every) for name in reports), _conservative(every)])
        + "\n"
    )


def _by_world(every: list[Cell]) -> dict[str, list[Cell]]:
    worlds: dict[str, list[Cell]] = {}
    for cell in every:
        worlds.setdefault(cell.where, []).append(cell)
    return worlds


def _counts(every: list[Cell]) -> str:
    rows = []
    for report in dict.fromkeys(cell.world.report for cell in every):
        states = Counter(cell.state for cell in every if cell.world.report == report)
        rows.append(
            f"| {report} | {states.total()} | "
            + " | ".join(str(states[state]) for state in STATES)
            + " |"
        )
    return "\n".join(
        [f"| report | cells | {' | '.join(STATES)} |", "|---|---|---|---|---|---|", *rows]
    )


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
    for names, worlds in alike.items():
        head = f"| | {' | '.join(f'{name}, n = {n:,}' for name, n in worlds)} |"
        rows = [
            f"| {number} | {' | '.join(_share(by_world[world][number]) for world in worlds)} |"
            for number in names
        ]
        yield "\n".join([f"**{kind.title}**", "", head, "|---|" + "---|" * len(worlds), *rows])


def _share(cell: Cell) -> str:
    text = f"{100 * cell.share:.1f}"
    return f"**{text}**" if cell.outside else text


def _exceptions(every: list[Cell]) -> str:
    """The cells that leave their bounds, by the reason."""
    reasons: dict[tuple[str, str], list[Cell]] = {}
    for cell in every:
        if cell.outside and cell.declared:
            reasons.setdefault((cell.declared.reason, cell.declared.told), []).append(cell)
    if not reasons:
        return "## Where they do not hold\n\nNowhere."
    head = (
        "| world | coverage or rejection rate, % | reason | what the page says |\n|---|---|---|---|"
    )
    rows = [
        f"| {'; '.join(sorted({cell.where for cell in some}))} | {_figures(some)} | {reason} | "
        f"{told} |"
        for (reason, told), some in reasons.items()
    ]
    return "\n".join(
        ["## Where they do not hold", "", "Each of these is stated on the page.", "", head, *rows]
    )


def _figures(some: list[Cell]) -> str:
    """The shares of some cells, by number."""
    numbers: dict[str, list[float]] = {}
    for cell in some:
        numbers.setdefault(f"{cell.number} {cell.kind.verb}", []).append(100 * cell.share)
    span = {name: (min(shares), max(shares)) for name, shares in numbers.items()}
    return "; ".join(
        f"{name} {a:.1f}" if a == b else f"{name} {a:.1f} to {b:.1f}"
        for name, (a, b) in span.items()
    )


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
    return next(
        (cause.reason for cause in CAUSES if cause.names(cell.where, cell.number)),
        "few distinct values",
    )
