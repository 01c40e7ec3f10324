"""One-sided tests, the third part of `make trust`: how often they reject a difference that is not
there, and whether p and interval agree.

The two systems of a world are equally good, so that "a is above b" and "a is below b" are each
rejected in 5% of its samples. In every sample p must be below 5% exactly where the one limit
excludes 0. Exits 1 if a side rejects in more than 6%, but for twice the error of the simulation, or
if a sample disagrees.
"""

import argparse
import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cells import MOST_SIZE
from gates import BATCH, _prepare
from numbers_of import FIRST, SECOND, study
from world import World
from worlds import WORLDS

from evalkit.catalogue.metric import Chosen
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


def _answers(of: Any, chosen: Chosen) -> dict[Alternative, Comparison]:
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
        for chosen in of.directed:
            counts.setdefault(chosen.label, SideCount()).add(_answers(of, chosen))
    return counts


def row(world: World, metric: str, count: SideCount) -> dict[str, Any]:
    """What was found of a metric in a world."""
    most = MOST_SIZE + 2 * (MOST_SIZE * (1 - MOST_SIZE) / max(count.samples, 1)) ** 0.5
    shares = {side: getattr(count, side) / max(count.samples, 1) for side in ("greater", "less")}
    holds = max(shares.values()) <= most and not count.disagree
    place = {"world": f"{world.report}: {world.name}, {world.n}", "metric": metric}
    found = {"samples": count.samples, **shares, "disagree": count.disagree}
    return place | found | {"holds": holds}


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
    holds = True
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
                found = row(world, metric, count)
                print(json.dumps(found), flush=True)
                holds = holds and found["holds"]
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
