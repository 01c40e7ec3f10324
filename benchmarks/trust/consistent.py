"""Random inputs of each report: every limit in range, the value between its limits, test and interval of one mind.

`python benchmarks/trust/consistent.py [inputs]`: so many inputs of each report, 1,000 if nothing is said; prints what
contradicts itself, and exits 1 where anything does.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numbers_of import study
from world import World
from worlds import WORLDS

INPUTS = 1_000
SEED = 20261123
ROUNDING = 1e-9
LARGEST = 200  # units of an input


def contradictions(of: Any) -> Iterator[str]:
    """What a study says that cannot be true together."""
    ranges = {chosen.label: (chosen.metric.low, chosen.metric.high) for chosen in of.settings.metrics}
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
    excludes, alpha = row.low > ROUNDING or row.high < -ROUNDING, 1 - row.level
    touches = min(abs(row.low), abs(row.high)) <= ROUNDING or abs(row.p - alpha) <= ROUNDING
    if np.isfinite(row.p + row.low + row.high) and not touches and excludes != (row.p < alpha):
        yield f"{row.metric}: p {row.p:.4f} beside {row.low:.5g} to {row.high:.5g} ({row.method})"


def random_input(worlds: list[World], number: int) -> tuple[World, int, Any]:
    """One of the worlds with another number of units, and its input."""
    rng = np.random.default_rng([SEED, number])
    world = worlds[rng.integers(len(worlds))]
    n = int(np.exp(rng.uniform(np.log(8), np.log(min(world.n, LARGEST) + 1))))
    return world, n, world.draw(rng, n)


def of_report(report: str, inputs: int) -> Counter[str]:
    """What the inputs of a report are said to be: how often each contradiction came."""
    worlds = [world for world in WORLDS if world.report == report and "differences" in world.frames]
    tally: Counter[str] = Counter()
    for number in range(inputs):
        world, n, drawn = random_input(worlds, number)
        try:
            tally.update(f"{world.name}, n = {n}: {text}" for text in contradictions(study(world, drawn)))
        except ValueError as error:  # an input that is refused in words
            tally["refused: " + str(error)[:60]] += 0
    return tally


def main() -> int:
    """Prints every contradiction."""
    inputs, errors = int(sys.argv[1]) if len(sys.argv) > 1 else INPUTS, 0
    for report in dict.fromkeys(world.report for world in WORLDS):
        tally = of_report(report, inputs)
        found = [text for text, times in tally.items() if times]
        errors += len(found)
        print(f"{report}: {inputs} inputs, {len(found)} contradictions", *found[:20], sep="\n  ", flush=True)
    return int(errors > 0)


if __name__ == "__main__":
    sys.exit(main())
