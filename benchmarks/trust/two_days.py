"""Pairs of days: level and coverage of the differences of `evalkit diff`, of units that come and go.

    .venv/bin/python benchmarks/trust/two_days.py 1000    # pairs of days per world; 5 CPU minutes

A world draws the rows of two days of n units, of which a share is common; units keep an effect of their own, rows of
clustered worlds are other ones on each day. Under the null both days are alike; for coverage the second is shifted.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from evalkit.catalogue import lookup
from evalkit.metrics import rankings
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.methods import Options
from evalkit.studies.unit_files import Joined, Side

Day = Callable[[np.random.Generator, np.ndarray, float], Side]  # the units of a day, and its shift -> what it says


@dataclass(frozen=True)
class World:
    """days: (rng, population) -> a function that draws one day. common: the share of units on both days."""

    days: Callable[[np.random.Generator, int], Day]
    shift: float
    n: int = 200
    common: float = 0.7

    def draw(self, rng: np.random.Generator, shift: float, n: int = 0) -> Joined:
        """Two days, the second one shifted."""
        n = n or self.n
        shared, of = int(n * self.common), self.days(rng, 2 * n)
        old, new = np.arange(n), np.r_[np.arange(shared), np.arange(n, 2 * n - shared)]
        return Joined(of(rng, old, 0.0), of(rng, new, shift), named=True)


def terms(metric: str, structure: str, unit: np.ndarray, values: np.ndarray) -> Side:
    """A mean of values, one per row."""
    file = SimpleNamespace(unit=unit, row=np.arange(unit.size))
    return Side(file, file.row, Sums(values, np.ones(unit.size)), lookup.find(metric, structure))


def scored(metric: str, unit: np.ndarray, row: np.ndarray, rows: Rows) -> Side:
    """A metric of labels and scores."""
    file = SimpleNamespace(unit=unit, row=row)
    return Side(file, np.arange(unit.size), rows, lookup.find(metric, "counts"))


def means(rng: np.random.Generator, population: int) -> Day:
    effect = rng.gamma(2, 1, population)
    return lambda rng, ids, shift: terms("mae", "forecasts", ids, effect[ids] + rng.gamma(1, 0.5, ids.size) + shift)


def order(metric: str) -> Callable[[np.random.Generator, int], Day]:
    def days(rng: np.random.Generator, population: int) -> Day:
        label, effect = (rng.random(population) < 0.3).astype(int), rng.normal(size=population)

        def day(rng: np.random.Generator, ids: np.ndarray, shift: float) -> Side:
            score = label[ids] * (1 + shift) + 0.7 * effect[ids] + 0.7 * rng.normal(size=ids.size)
            return scored(metric, ids, ids, Rows(label[ids], score))

        return day

    return days


def lists(rng: np.random.Generator, population: int) -> Day:
    grade = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0], (population, 10))
    effect = rng.normal(size=grade.shape)

    def day(rng: np.random.Generator, ids: np.ndarray, shift: float) -> Side:
        score = grade[ids] * (1 + shift) + 0.8 * effect[ids] + 0.8 * rng.normal(size=(ids.size, 10))
        ranked = np.take_along_axis(grade[ids], np.argsort(-score, axis=1), axis=1)
        return terms("ndcg@5", "rankings", ids, rankings.ndcg(rankings.from_grades(list(ranked)), k=5))

    return day


def ratio_by_user(rng: np.random.Generator, population: int) -> Day:
    chance, rows = rng.beta(2, 5, population), rng.poisson(3, population) + 1.0

    def day(rng: np.random.Generator, ids: np.ndarray, shift: float) -> Side:
        unit = np.repeat(ids, rng.poisson(rows[ids]) + 1)
        hit = rng.random(unit.size) < np.clip(chance[unit] + shift, 0, 1)
        return terms("precision", "counts", unit, hit.astype(float))

    return day


def order_by_user(rng: np.random.Generator, population: int) -> Day:
    effect = rng.normal(size=population)

    def day(rng: np.random.Generator, ids: np.ndarray, shift: float) -> Side:
        unit = np.repeat(ids, rng.poisson(3, ids.size) + 1)
        label = (rng.random(unit.size) < 0.3).astype(int)
        score = label * (1 + shift) + 0.6 * effect[unit] + 0.8 * rng.normal(size=unit.size)
        row = rng.integers(10**12) + np.arange(unit.size)  # other rows on each day
        return scored("roc_auc", unit, row, Rows(label, score, unit=unit))

    return day


WORLDS = {
    "mean": World(means, 0.1),
    "AUC": World(order("roc_auc"), 0.3, 400),
    "average precision": World(order("average_precision"), 0.3, 400),
    "nDCG": World(lists, 0.3, 120),
    "ratio by users": World(ratio_by_user, 0.05),
    "AUC by users": World(order_by_user, 0.3, 150),
    "mean, half of a large table on each day": World(means, 0.05, 2000, 0.5),
    "AUC, half of a large table on each day": World(order("roc_auc"), 0.2, 2000, 0.5),
    "mean, no common unit": World(means, 0.1, 200, 0.0),
    "AUC, no common unit": World(order("roc_auc"), 0.3, 400, 0.0),
    "ratio by users, no common unit": World(ratio_by_user, 0.05, 200, 0.0),
}


def main(pairs: int) -> None:
    """Print the level and the coverage of every world."""
    for name, world in WORLDS.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        large = [world.draw(rng, world.shift, 10_000) for _ in range(40)]
        true = np.mean([joined.new.value - joined.old.value for joined in large])
        rejected = covered = 0
        for number in range(pairs):
            o = Options(0.95, np.random.default_rng(number))
            rejected += world.draw(rng, 0.0).comparison(o).p_value < 0.05
            e = world.draw(rng, world.shift).comparison(o).difference
            covered += e.low <= true <= e.high
        print(f"{name}: level {rejected / pairs:.3f}, coverage {covered / pairs:.3f} of {true:+.4f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
