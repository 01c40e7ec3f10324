"""The two readings of values per unit, each shard by itself: means first, then how far values and differences lie from
them, how often a system is higher, how the differences are distributed, and how the systems rank.

A column is a metric of a system: number of the metric × systems + number of the system.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.grid import Grid
from evalkit.metrics.sums import UnitShard
from evalkit.statistics import gathered, passes
from evalkit.statistics.gathered import Gathered

UNITS, FACTS, JOINT, RANKS = "units", "facts", "joint", "ranks"
FEWEST = 2**12  # bins of the differences of a pair, however many pairs there are

# The first reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class First:
    """Units, rows, and of each column its units, those that are neither 0 nor 1, the sum, and both ends."""

    def __call__(self, shard: UnitShard) -> Any:
        """The result of a shard, as a table."""
        return self.gathered(shard).table()

    def gathered(self, shard: UnitShard) -> Gathered:
        """The result of a shard."""
        rows, g = shard.rows, Gathered()
        g.sums[UNITS] = np.array([shard.values.shape[1], rows.sum()], float)
        g.sums[FACTS] = np.array([shard.twice, shard.differ], float)
        g.most[UNITS] = np.array([-rows.min(initial=np.iinfo(np.int64).max), rows.max(initial=0)], float)
        for column, values in enumerate(shard.values):
            some = values[~np.isnan(values)]
            parted = np.count_nonzero((some != 0) & (some != 1))
            g.sums[str(column)] = np.array([some.size, parted, some.sum()])
            g.most[str(column)] = np.array([-some.min(initial=np.inf), some.max(initial=-np.inf)])
        return g

    def merge(self, table: Any) -> Any:
        """Two results as one."""
        return gathered.merged(gathered.parts(table), lambda name: 0).table()

    def whole(self, table: Any) -> "Known":
        """What came of it."""
        return Known(gathered.merged(gathered.parts(table), lambda name: 0))


@dataclass(frozen=True, eq=False)
class Known:
    """What the first reading tells."""

    g: Gathered

    @property
    def units(self) -> int:
        """All units."""
        return int(self.g.sums[UNITS][0])

    @property
    def facts(self) -> tuple[int, int]:
        """How often ids came twice, and in how many columns rows of one id differ."""
        twice, differ = self.g.sums[FACTS].tolist()
        return int(twice), int(differ)

    @property
    def rows(self) -> tuple[int, int, int]:
        """The fewest and the most rows of a unit, or of a cell that has any; all rows."""
        least, most = self.g.most[UNITS].tolist()
        return int(-least), int(most), int(self.g.sums[UNITS][1])

    def n(self, column: int) -> int:
        """Units that have a value."""
        return int(self.g.sums[str(column)][0])

    def binary(self, column: int) -> bool:
        """Whether all are 0 or 1."""
        return self.n(column) > 0 and not self.g.sums[str(column)][1]

    def total(self, column: int) -> float:
        """The sum."""
        return float(self.g.sums[str(column)][2])

    def mean(self, column: int) -> float:
        """The mean; NaN of no unit."""
        return float(ratio(self.total(column), self.n(column)))


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Second:
    """Sums of how far units lie from the means, by column and by pair; bins of the differences; ranks by the first
    metric.

    centres: the mean of each column. systems: how many. pairs: of systems, the first with the lower number. most: bins
    of all pairs together. Units that all systems have are added up with their products, by metric and in all.
    """

    centres: Floats
    systems: int
    pairs: Sequence[tuple[int, int]]
    most: int = USUAL.bins

    @property
    def metrics(self) -> int:
        """How many metrics there are."""
        return len(self.centres) // self.systems

    @property
    def bins(self) -> int:
        """The bins of the differences of a pair."""
        return max(self.most // max(len(self.pairs) * self.metrics, 1), FEWEST)

    def __call__(self, shard: UnitShard) -> Any:
        """The result of a shard."""
        g, moved = Gathered(), shard.values - self.centres[:, None]
        for column, x in enumerate(moved):
            some = x[~np.isnan(x)]
            squared = some * some
            g.sums[f"of {column}"] = np.array([some.sum(), squared.sum(), squared @ some])
        whole = ~np.isnan(moved)
        for metric in range(self.metrics):
            at = slice(metric * self.systems, (metric + 1) * self.systems)
            self._add_pairs(g, metric, shard.values[at])
            g.sums[f"table {metric}"] = products(moved[at][:, whole[at].all(axis=0)])
        g.sums[JOINT] = products(moved[:, whole.all(axis=0)])
        g.sums[RANKS] = ranks(shard.values[: self.systems, whole[: self.systems].all(axis=0)])
        return g.table()

    def centre(self, metric: int, first: int, second: int) -> float:
        """What the differences of a pair are measured from."""
        centres = self.centres[metric * self.systems :]
        return float(centres[first] - centres[second])

    def _add_pairs(self, g: Gathered, metric: int, values: Floats) -> None:
        for i, j in self.pairs:
            d = values[i] - values[j]
            self.add_differences(g, (metric, i, j), d[~np.isnan(d)])

    def add_differences(self, g: Gathered, pair: tuple[int, int, int], d: Floats) -> None:
        """Units that have both, where the first is higher, equal, lower; sums of the differences and their powers."""
        e, name = d - self.centre(*pair), place(*pair)
        won, lost, squared = np.count_nonzero(d > 0), np.count_nonzero(d < 0), e * e
        sums = [d.size, won, d.size - won - lost, lost, e.sum(), squared.sum(), squared @ e, d @ d]
        g.sums[name] = np.array(sums, float)
        g.most[name] = np.array([np.abs(d).max(initial=0.0)])
        if d.size:
            g.grids[name] = grid.tally(d, most=self.bins)

    def merge(self, table: Any) -> Any:
        """Two results as one; while they are small they only stand one after the other, and wait for more."""
        return table if gathered.waiting(table, self.most) else self._merged(gathered.parts(table)).table()

    def whole(self, table: Any) -> Gathered:
        """What came of it."""
        return self._merged(gathered.parts(table))

    def _merged(self, every: Sequence[Gathered]) -> Gathered:
        return gathered.merged(every, lambda name: self.bins)


def place(metric: int, first: int, second: int) -> str:
    """The name of a pair of systems by a metric."""
    return f"pair {metric} {first} {second}"


def products(x: Floats) -> Floats:
    """Units, the sums of the columns and of their products."""
    return np.concatenate([[x.shape[1]], x.sum(axis=1), passes.products(x).ravel()])


def ranks(values: Floats) -> Floats:
    """The sum of each system's ranks, 1 the highest, ties shared; of the units' ties t³ − t; the units.

    >>> ranks(np.array([[0.9, 0.7], [0.8, 0.6], [0.8, 0.5]]))
    array([2. , 4.5, 5.5, 6. , 2. ])
    """
    systems, n = values.shape
    sums, alike = np.full(systems, float(n)), np.ones((systems, n), np.int32)
    for i, j in combinations(range(systems), 2):
        higher, equal = values[i] > values[j], values[i] == values[j]
        above, level = np.count_nonzero(higher), np.count_nonzero(equal)
        sums[i] += n - above - level / 2
        sums[j] += above + level / 2
        alike[i] += equal
        alike[j] += equal
    ties = float(np.sum(alike.astype(np.int64) ** 2 - 1))
    return np.concatenate([sums, [ties, n]])


# What follows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Together:
    """Units that all columns have: their number, the sums of how far these lie from the means, and of the products."""

    n: int
    sums: Floats
    gram: Floats

    @classmethod
    def of(cls, flat: Floats, columns: int) -> "Together":
        """From what the second reading added up."""
        n, sums, gram = np.split(flat, [1, 1 + columns])
        return cls(int(n[0]), sums, gram.reshape(columns, columns))

    def residual(self) -> float:
        """The sum of the squares that neither the unit nor the system explains."""
        k, n = len(self.sums), max(self.n, 1)
        within = float(np.trace(self.gram) - self.sums @ self.sums / n)
        return within - float(self.gram.sum() / k - self.sums.sum() ** 2 / (n * k))


@dataclass(frozen=True, eq=False)
class Differences:
    """Of a pair: units that have both, where the first is higher, equal, lower; how far differences lie from `centre`.

    sums, squares, cubes: of these. plain: of the squares of the differences as they are. largest: without its sign.
    """

    n: int
    wins: int
    ties: int
    losses: int
    centre: float
    sums: float
    squares: float
    cubes: float
    plain: float
    largest: float
    bins: Grid | None

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.centre + float(ratio(self.sums, self.n))

    @property
    def deviation(self) -> float:
        """The standard deviation, NaN below two units."""
        spread = max(self.squares - float(ratio(self.sums**2, self.n)), 0.0)
        return float(np.sqrt(ratio(spread, self.n - 1.0))) if self.n > 1 else float("nan")

    def turned(self) -> "Differences":
        """Of the second less the first."""
        bins = None if self.bins is None else _turned(self.bins)
        moved = (-self.centre, -self.sums, self.squares, -self.cubes, self.plain, self.largest)
        return Differences(self.n, self.losses, self.ties, self.wins, *moved, bins)


def _turned(g: Grid) -> Grid:
    """The bins of the numbers with the other sign."""
    low, high = (grid.codes(-grid.scores(side[::-1])) for side in (g.high, g.low))
    return Grid(g.shift, low, high, g.positive[::-1], g.negative[::-1])


@dataclass(frozen=True, eq=False)
class Added:
    """What both readings tell."""

    known: Known
    second: Second
    g: Gathered

    def powers(self, column: int) -> Floats:
        """Sums of how far a column's values lie from its mean, of their squares and cubes."""
        return self.g.sums[f"of {column}"]

    def pair(self, metric: int, first: int, second: int) -> Differences:
        """The differences of two systems."""
        if first > second:
            return self.pair(metric, second, first).turned()
        name = place(metric, first, second)
        n, wins, ties, losses, total, squares, cubes, plain = self.g.sums[name].tolist()
        counts, moved = (int(n), int(wins), int(ties), int(losses)), (total, squares, cubes, plain)
        centre, largest = self.second.centre(metric, first, second), float(self.g.most[name][0])
        return Differences(*counts, centre, *moved, largest, self.g.grids.get(name))

    def table(self, metric: int) -> Together:
        """The units that all systems have by a metric."""
        return Together.of(self.g.sums[f"table {metric}"], self.second.systems)

    @property
    def joint(self) -> Together:
        """The units that all systems have by all metrics."""
        return Together.of(self.g.sums[JOINT], len(self.second.centres))

    @property
    def ranks(self) -> tuple[Floats, float, int]:
        """The sum of each system's ranks by the first metric, 1 the highest; t³ − t of ties; units."""
        *sums, ties, n = self.g.sums[RANKS].tolist()
        return np.array(sums), float(ties), int(n)
