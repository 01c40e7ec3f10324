"""The two readings of values whose units lie in clusters, whole clusters in each shard: sums by cluster, then how much
each cluster moves a mean or a difference, and how the means of clusters differ.

A mean over units is a ratio of sums by cluster: of the values, and of how many units have one. Columns and pairs have
the names of `unit_passes`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.metrics.sums import UnitShard
from evalkit.statistics import unit_passes
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.independent import Arm, left_out
from evalkit.statistics.methods import Paired
from evalkit.statistics.unit_passes import JOINT, RANKS, Added, Known, Second, place

CLUSTERS = "clusters"


def by_cluster(values: Floats, cluster: Ints) -> tuple[Floats, Floats]:
    """The sum and the number of the values of each cluster that has any.

    >>> by_cluster(np.array([1.0, 2.0, np.nan, 4.0]), np.array([0, 0, 1, 2]))
    (array([3., 4.]), array([2., 1.]))
    """
    some = ~np.isnan(values)
    total, count = np.bincount(cluster[some], values[some]), np.bincount(cluster[some])
    return total[count > 0].astype(np.float64), count[count > 0].astype(np.float64)


def _sums(total: Floats, count: Floats) -> Floats:
    """Clusters, and the sums of totals, of counts, of squared totals and of squared counts."""
    return np.array([total.size, total.sum(), count.sum(), total @ total, count @ count])


def moved_by(sums: Floats, total: Floats, count: Floats) -> Floats:
    """How much each cluster moves a ratio of sums, the jackknife; sums: as `_sums` returns them."""
    n, top, size, *_ = sums.tolist()
    return left_out(total, count, float(ratio(top, size)), size, n)


# The first reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class First(unit_passes.First):
    """What values add up to, and by cluster those of each column and the differences of each pair.

    systems: how many. pairs: of systems, the first with the lower number.
    """

    systems: int
    pairs: Sequence[tuple[int, int]]

    def gathered(self, shard: UnitShard) -> Gathered:
        """The result of a shard."""
        g, cluster = super().gathered(shard), of_clusters(shard)
        g.sums[CLUSTERS] = np.array([float(len(np.unique(cluster)))])
        for column, values in enumerate(shard.values):
            g.sums[f"by {column}"] = _sums(*by_cluster(values, cluster))
        for metric, values in enumerate(np.split(shard.values, len(shard.values) // self.systems)):
            for i, j in self.pairs:
                g.sums[f"by {place(metric, i, j)}"] = _sums(*by_cluster(values[i] - values[j], cluster))
        return g

    def whole(self, table: Any) -> "KnownClusters":
        """What came of it."""
        return KnownClusters(super().whole(table).g)


def of_clusters(shard: UnitShard) -> Ints:
    """The cluster of each unit of a shard that has them."""
    assert shard.cluster is not None
    return shard.cluster


@dataclass(frozen=True, eq=False)
class KnownClusters(Known):
    """What the first reading tells."""

    @property
    def clusters(self) -> int:
        """All clusters."""
        return int(self.g.sums[CLUSTERS][0])

    def by(self, name: object) -> Floats:
        """Of a column or of a pair: clusters, and the sums of totals, counts, squared totals and squared counts."""
        return self.g.sums[f"by {name}"]


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SecondOfClusters(Second):
    """How much each cluster moves means and differences; how the means of clusters differ, lie together, and rank.

    known: what the first reading tells.
    """

    known: KnownClusters

    def centre(self, metric: int, first: int, second: int) -> float:
        """The difference over the units that have both."""
        _, top, size, *_ = self.known.by(place(metric, first, second)).tolist()
        return float(ratio(top, size))

    def __call__(self, shard: UnitShard) -> Any:
        """The result of a shard."""
        g, cluster = Gathered(), of_clusters(shard)
        for column, values in enumerate(shard.values):
            self._add_moved(g, column, *by_cluster(values, cluster))
        whole = ~np.isnan(shard.values)
        for metric in range(self.metrics):
            at = slice(metric * self.systems, (metric + 1) * self.systems)
            self._add_pairs_of(g, metric, shard.values[at], cluster)
            common = whole[at].all(axis=0)
            means = _means(shard.values[at, :][:, common], cluster[common])
            g.sums[f"table {metric}"] = unit_passes.products(means - self.centres[at, None])
            if not metric:
                g.sums[RANKS] = unit_passes.ranks(means)
        joint = whole.all(axis=0)
        g.sums[JOINT] = unit_passes.products(self._totals(shard.values[:, joint], cluster[joint]))
        return g.table()

    def _add_moved(self, g: Gathered, name: object, total: Floats, count: Floats) -> None:
        moved = moved_by(self.known.by(name), total, count)
        g.sums[f"moved {name}"] = np.array([moved.sum(), moved @ moved])

    def _add_pairs_of(self, g: Gathered, metric: int, values: Floats, cluster: Ints) -> None:
        for i, j in self.pairs:
            total, count = by_cluster(values[i] - values[j], cluster)
            self._add_moved(g, place(metric, i, j), total, count)
            self.add_differences(g, (metric, i, j), total / count)

    def _totals(self, values: Floats, cluster: Ints) -> Floats:
        """The sum of how far each cluster's values lie from the means, by column, and last its units."""
        above = values - self.centres[:, None]
        count = np.bincount(cluster)
        some = count > 0
        return np.array([np.bincount(cluster, column)[some] for column in above] + [count[some].astype(np.float64)])


def _means(values: Floats, cluster: Ints) -> Floats:
    """The mean of each column by cluster."""
    sides = [by_cluster(column, cluster) for column in values]
    return np.array([total / count for total, count in sides])


# What follows ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AddedClusters(Added):
    """What both readings tell."""

    known: KnownClusters

    def arm(self, column: int) -> Arm:
        """The mean of a column's units, with its variance over clusters."""
        value, n, freedom = self._ratio(column)
        total, square = self.g.sums[f"moved {column}"].tolist()
        variance = max(square - total**2 / n, 0.0) / (n - 1) / n if n > 1 else float("nan")
        return Arm(value, n, variance, freedom)

    def paired(self, metric: int, first: int, second: int) -> Paired:
        """The mean difference of the units that both systems have, as `methods.paired` of whole clusters."""
        if first > second:
            other = self.paired(metric, second, first)
            return replace(other, value=-other.value)
        name = place(metric, first, second)
        value, n, freedom = self._ratio(name)
        error = float(np.sqrt(ratio(self.g.sums[f"moved {name}"][1], n * (n - 1.0))))
        return Paired(value, error, n, freedom, 1.0, "jackknife t")

    def _ratio(self, name: object) -> tuple[float, int, float]:
        """The mean over units, the clusters, and the degrees of freedom of its variance, by Kish's number of these."""
        n, top, size, _, squares = self.known.by(name).tolist()
        return float(ratio(top, size)), int(n), max(float(ratio(size**2, squares)) - 1, 1)

    def units_of_pair(self, metric: int, first: int, second: int) -> tuple[int, float]:
        """How many units both systems have; the sum of the squares of what differences add up to by cluster."""
        _, _, count, squares, _ = self.known.by(place(metric, min(first, second), max(first, second))).tolist()
        return int(count), squares

    @property
    def totals(self) -> tuple[int, Floats, Floats]:
        """Of the units that all columns have: their number; by cluster the sums and the products of `_totals`."""
        width = len(self.second.centres) + 1
        _, sums, gram = np.split(self.g.sums[JOINT], [1, 1 + width])
        return int(sums[-1]), sums, gram.reshape(width, width)
