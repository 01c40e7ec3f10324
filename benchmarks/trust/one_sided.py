"""One-sided tests, the third part of `make trust`: how often they reject a difference that is not
there, and whether p and interval agree.

The two systems of a world are equally good, so that "a is above b" and "a is below b" are each
rejected in 5% of its samples. In every sample p must be below 5% exactly where the one limit
excludes 0. Exits 1 if a side rejects in more than 6%, but for twice the error of the simulation, or
if a sample disagrees. A run of all worlds with all samples writes docs/trust_one_sided.md.
"""

import argparse
import datetime
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from cells import MOST_SIZE
from gates import BATCH, _prepare
from numbers_of import FIRST, SECOND, study
from world import World
from worlds import WORLDS

from evalkit.catalogue.metric import MetricAtK
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.intervals import Comparison

SEED = 20261130
RUNS = 1_000
ALPHA = 0.05
SIDES = (Alternative.GREATER, Alternative.LESS)
CHOSEN = (
    ("significance", "paired values", 10),
    ("significance", "paired values, long tails", 50),
    ("significance", "right or wrong", 100),
    ("significance", "values by user", 25),
    ("significance", "shares", 400),
    ("significance", "folds, ten times ten", 100),
    ("classification", "two classes, 30% positive", 200),
    ("classification", "two classes by user", 50),
    ("classification", "three classes", 60),
    ("rating", "lognormal errors", 50),
    ("rating", "errors by user", 25),
    ("ranking", "queries, a hard task", 50),
    ("interleaving", "users, equal arms", 400),
    ("interleaving", "sessions, heavy users", 50),
    ("diff", "forecasts of two days", 200),
)
PAGE = Path(__file__).parents[2] / "docs" / "trust_one_sided.md"
BY_PLACE = {(world.report, world.name, world.n): world for world in WORLDS}


@dataclass
class SideCount:
    """What became of a metric's test over samples, of both sides."""

    samples: int = 0
    greater: int = 0
    less: int = 0
    disagree: int = 0

    def add(self, answers: dict[Alternative, Comparison]) -> None:
        """Count one sample; nothing if there is no p."""
        if any(np.isnan(c.p_value) for c in answers.values()):
            return
        self.samples += 1
        self.greater += answers[Alternative.GREATER].p_value < ALPHA
        self.less += answers[Alternative.LESS].p_value < ALPHA
        self.disagree += any(_disagrees(c) for c in answers.values())

    def merge(self, other: "SideCount") -> None:
        """Add the samples of another batch."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def _disagrees(c: Comparison) -> bool:
    """Whether p rejects and the interval has 0, or the reverse."""
    outside = c.difference.low > 0 or c.difference.high < 0
    return bool((c.p_value < ALPHA) != outside)


def _answers(of: Any, chosen: MetricAtK) -> dict[Alternative, Comparison]:
    """The comparison of the two systems, or of the two days, for each side."""
    pair = of.pairs[0] if of.directed_pairs else (FIRST, SECOND)
    baseline = None if of.directed_pairs else SECOND
    asked = {
        side: replace(of, settings=replace(of.settings, alternative=side, baseline=baseline))
        for side in SIDES
    }
    return {side: study_of.compare(chosen, pair) for side, study_of in asked.items()}


def batch(place: tuple[str, str, int], number: int) -> dict[str, SideCount]:
    """The counts of some samples by metric."""
    world = BY_PLACE[place]
    counts: dict[str, SideCount] = {}
    for sample in range(number * BATCH, (number + 1) * BATCH):
        of = study(world, world.draw(np.random.default_rng([SEED, sample]), world.n))
        for chosen in of.metrics_with_direction:
            counts.setdefault(chosen.label, SideCount()).add(_answers(of, chosen))
    return counts


@dataclass(frozen=True)
class Level:
    """How often the tests of a metric in a world rejected, as shares of the samples."""

    world: str
    metric: str
    samples: int
    greater: float
    less: float
    disagree: int

    @property
    def largest(self) -> float:
        """The share of the side that rejected more often."""
        return max(self.greater, self.less)

    @property
    def holds(self) -> bool:
        """Whether neither side rejects too often, and p and interval agree in all samples."""
        error = (MOST_SIZE * (1 - MOST_SIZE) / max(self.samples, 1)) ** 0.5
        return self.largest <= MOST_SIZE + 2 * error and not self.disagree


def level_of(world: World, metric: str, count: SideCount) -> Level:
    """The shares of a count."""
    return Level(
        world=f"{world.report}: {world.name}, {world.n}",
        metric=metric,
        samples=count.samples,
        greater=count.greater / max(count.samples, 1),
        less=count.less / max(count.samples, 1),
        disagree=count.disagree,
    )


def page(levels: list[Level]) -> str:
    """The page of the docs in Markdown."""
    held = sum(level.holds for level in levels)
    samples = sum(level.samples for level in levels)
    disagree = sum(level.disagree for level in levels)
    outside = [f"{level.world}: {level.metric}" for level in levels if not level.holds]
    exceptions = f"\n\nOutside this bound: {'; '.join(outside)}." if outside else ""
    return f"""# Do one-sided tests hold their level?

<!-- made by make trust -->

- {held} of {len(levels)} one-sided 5% tests reject a true null hypothesis in at most 6% of the
  samples, in both directions.
- p and the interval disagree in {disagree:,} of {samples:,} pairs of tests: p is below 5% where the
  limit that counts excludes 0.{exceptions}

Two equally good systems are compared with `alternative="greater"` and with `alternative="less"` in
samples of simulated populations ([the worlds of two-sided tests](trust.md)). The bound of 6% allows
for two standard errors of the simulation. A test that rejects in fewer than 4% is conservative.

| world, n | metrics | samples | rejects as greater, % | rejects as less, % |
|---|---|---|---|---|
{chr(10).join(_rows(levels))}

Simulated on {datetime.datetime.now(datetime.UTC).date()}, seed {SEED}.
"""


def _rows(levels: list[Level]) -> list[str]:
    """A row of the page's table for each world."""
    rows = []
    for world, found in groupby(levels, key=lambda level: level.world):
        metrics = list(found)
        names = ", ".join(f"`{level.metric}`" for level in metrics)
        samples = _range([level.samples for level in metrics], "{:,}")
        greater = _range([100 * level.greater for level in metrics], "{:.1f}")
        less = _range([100 * level.less for level in metrics], "{:.1f}")
        rows.append(f"| {world} | {names} | {samples} | {greater} | {less} |")
    return rows


def _range(values: list[Any], form: str) -> str:
    """The least and the greatest value, or the one that all have."""
    least = form.format(min(values))
    most = form.format(max(values))
    return least if least == most else f"{least} to {most}"


def main() -> int:
    """Run the worlds that are asked for and print a line for each metric; 1 if one does not
    hold.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", default="", help="only worlds whose name holds this text")
    parser.add_argument("--runs", type=int, default=RUNS, help="samples of each world")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    levels: list[Level] = []
    with ProcessPoolExecutor(options.j, initializer=_prepare) as pool:
        for place in CHOSEN:
            world = BY_PLACE[place]
            if options.world not in f"{world.report} {world.name}":
                continue
            tasks = [pool.submit(batch, place, i) for i in range(-(-options.runs // BATCH))]
            counts: dict[str, SideCount] = {}
            for task in tasks:
                for metric, count in task.result().items():
                    counts.setdefault(metric, SideCount()).merge(count)
            for metric, count in counts.items():
                level = level_of(world, metric, count)
                print(json.dumps(asdict(level) | {"holds": level.holds}), flush=True)
                levels.append(level)
    if options.runs >= RUNS and not options.world:
        PAGE.write_text(page(levels), encoding="utf-8")
    return int(not all(level.holds for level in levels))


if __name__ == "__main__":
    sys.exit(main())
