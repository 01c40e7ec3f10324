"""Random inputs of each report: every limit in range, the value between its limits, test and
interval of one mind.

`python benchmarks/trust/consistent.py [inputs]`: so many inputs of each report, 1,000 if nothing is
said; prints what contradicts itself, and exits 1 where anything does. A difference larger than the
one that "would show with 80% power" may be "cannot tell" in at most 20% of such cases.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numbers_of import study
from world import World
from worlds import WORLDS

INPUTS = 1_000
SEED = 20261123
ROUNDING = 1e-9
LARGEST = 200  # units of an input


def contradictions(of: Any) -> Iterator[str]:
    """What a study says that cannot be true together."""
    ranges = {
        chosen.label: (chosen.metric.low, chosen.metric.high) for chosen in of.settings.metrics
    }
    for row in of.estimates.itertuples():
        low, high = ranges[row.metric]
        if row.low < low - ROUNDING or row.high > high + ROUNDING:
            yield f"{row.metric}: limits {row.low}, {row.high} beyond the range {low} to {high}"
        if row.low > row.value + ROUNDING or row.high < row.value - ROUNDING:
            yield f"{row.metric}: the value {row.value} outside its limits {row.low}, {row.high}"
    for row in of.comparisons.itertuples():
        yield from _of_difference(row, *ranges[row.metric])


def _of_difference(row: Any, low: float, high: float) -> Iterator[str]:
    if max(abs(row.low), abs(row.high)) > high - low + ROUNDING:
        yield f"{row.metric}: a difference of {row.low} to {row.high} in a range of {low} to {high}"
    excludes = row.low > ROUNDING or row.high < -ROUNDING
    alpha = 1 - row.level
    touches = min(abs(row.low), abs(row.high)) <= ROUNDING or abs(row.p - alpha) <= ROUNDING
    if np.isfinite(row.p + row.low + row.high) and not touches and excludes != (row.p < alpha):
        yield f"{row.metric}: p {row.p:.4f} beside {row.low:.5g} to {row.high:.5g} ({row.method})"


def worsened(inputs: Any, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """The inputs, with the numbers of system "b" mixed up in a random share of its rows; of an arm,
    set to 0.
    """
    return {name: _worsened(table.copy(), rng) for name, table in inputs.items()}


def _worsened(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    numbers = table.select_dtypes("number").columns
    share = rng.random()
    column = next((name for name in ("system", "model", "arm") if name in table), None)
    own = np.ones(len(table), bool) if column is None else (table[column] == "b").to_numpy()
    rows = np.flatnonzero(own & (rng.random(len(table)) < share))
    if column == "arm":
        table.loc[rows, [name for name in PAID if name in table]] = 0
        return table
    mixed = rng.permutation(rows)
    for name in numbers:
        if (
            name == "b"
            or name.endswith("_b")
            or (column and (name == "score" or name.startswith("p_")))
        ):
            table.loc[rows, name] = table[name].to_numpy()[mixed]
    return table


PAID = ("revenue", "bought", "clicks")


def random_input(worlds: list[World], number: int) -> tuple[World, int, Any]:
    """One of the worlds with another number of units, and its input; every second with a system
    made worse.
    """
    rng = np.random.default_rng([SEED, number])
    world = worlds[rng.integers(len(worlds))]
    n = int(np.exp(rng.uniform(np.log(8), np.log(min(world.n, LARGEST) + 1))))
    drawn = world.draw(rng, n)
    return world, n, worsened(drawn, rng) if number % 2 else drawn


@dataclass
class Larger:
    """Differences that are larger than what "would show", and how many of them no test declares."""

    every: int = 0
    untold: int = 0

    def add(self, of: Any) -> None:
        """Counts those of a study."""
        for row in of.comparisons.itertuples():
            if abs(row.difference) > getattr(row, "detectable", np.nan) * (1 + ROUNDING):
                self.every += 1
                self.untold += row.verdict == "cannot tell"

    @property
    def too_many(self) -> bool:
        """Whether more are untold than a power of 80% leaves."""
        return self.untold > 0.2 * self.every


def of_report(report: str, inputs: int) -> tuple[Counter[str], Larger]:
    """What the inputs of a report are said to be: how often each contradiction came; and the larger
    differences.
    """
    worlds = [
        world
        for world in WORLDS
        if world.report == report and {"differences", "power"} & set(world.frames)
    ]
    tally = Counter[str]()
    larger = Larger()
    for number in range(inputs):
        world, n, drawn = random_input(worlds, number)
        try:
            read = study(world, drawn)
            tally.update(f"{world.name}, n = {n}: {text}" for text in contradictions(read))
            larger.add(read)
        except ValueError as error:  # an input that is refused in words
            tally["refused: " + str(error)[:60]] += 0
    return tally, larger


def main() -> int:
    """Prints every contradiction."""
    inputs = int(sys.argv[1]) if len(sys.argv) > 1 else INPUTS
    errors = 0
    for report in dict.fromkeys(world.report for world in WORLDS):
        tally, larger = of_report(report, inputs)
        texts = [text for text, times in tally.items() if times]
        errors += len(texts) + larger.too_many
        print(
            f"{report}: {inputs} inputs, {len(texts)} contradictions",
            *texts[:20],
            sep="\n  ",
            flush=True,
        )
        print(
            f"  {larger.every} differences above what would show, {larger.untold} of them cannot "
            f"tell",
            flush=True,
        )
    return int(errors > 0)


if __name__ == "__main__":
    sys.exit(main())
