"""Turn the rows of a shard into values per unit: wide or long, with draws or without, in clusters or not."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics.sums import UnitShard
from evalkit.reading.inputs import unit_columns
from evalkit.reading.reductions.shards import codes_of, ordered, places_of

ID, CLUSTER = "id", "cluster"


class Shape(Protocol):
    """How the rows of a shard are values of units; fit to be sent to other machines."""

    def __call__(self, table: Any) -> UnitShard:
        """The units of an Arrow table, which has all rows of each."""


@dataclass(frozen=True, eq=False)
class ClusteredUnits:
    """The units in clusters of an Arrow table, in the order of `unit_roles.coded`, in which memory adds them up.

    pair: of each unit the number of its cluster × ids + that of its id. code: of each row the place of its unit.
    """

    pair: Ints
    code: Ints
    ids: Any
    clusters: Any

    @classmethod
    def of(cls, table: Any) -> "ClusteredUnits":
        """From the columns of both; a unit is one in its cluster."""
        (group, clusters), (number, ids) = ordered(table[CLUSTER]), ordered(table[ID])
        pair, code = np.unique(group * len(ids) + number, return_inverse=True)
        return cls(pair, code.astype(np.int64), ids, clusters)

    @property
    def cluster(self) -> Ints:
        """The number of each unit's cluster."""
        return self.pair // max(len(self.ids), 1)

    def names(self) -> tuple[Any, Any]:
        """The id and the cluster of each unit, Arrow arrays."""
        import pyarrow as pa

        id = self.pair % max(len(self.ids), 1)
        return self.ids.take(pa.array(id)), self.clusters.take(pa.array(self.cluster))


def coded(table: Any) -> tuple[Ints, int, Ints | None]:
    """Each row's unit by number, how many there are, and the cluster of each, None where there are none."""
    if CLUSTER not in table.column_names:
        return *codes_of(table[ID]), None
    units = ClusteredUnits.of(table)
    return units.code, len(units.pair), units.cluster


@dataclass(frozen=True)
class WideRows:
    """Column v<i> for each system. drawn: whether several rows may be one unit."""

    systems: int
    drawn: bool

    def __call__(self, table: Any) -> UnitShard:
        """The units, in the order of their first rows; in clusters by cluster."""
        numbers = [table[f"v{i}"].to_numpy() + 0.0 for i in range(self.systems)]
        if not self.drawn:
            return self._of_rows(np.array(numbers), table)
        code, units, cluster = coded(table)
        means = [unit_columns.means(code, column, units) for column in numbers]
        return UnitShard(np.array([mean for mean, _ in means]), means[0][1], cluster)

    @staticmethod
    def _of_rows(values: Floats, table: Any) -> UnitShard:
        """Each row is a unit; sums by cluster do not depend on the order in which an engine gives the rows."""
        rows = np.ones(len(table), np.int64)
        if CLUSTER not in table.column_names:
            return UnitShard(values, rows)
        group, _ = codes_of(table[CLUSTER])
        order = np.lexsort([*values, group])
        return UnitShard(values[:, order], rows, group[order])


@dataclass(frozen=True)
class LongRows:
    """Columns system, value and perhaps metric. every: all names of both. wanted: those that are compared."""

    every: tuple[tuple[str, ...], tuple[str, ...]]
    wanted: tuple[tuple[str, ...], tuple[str, ...]]
    measured: bool

    def __call__(self, table: Any) -> UnitShard:
        """The units, in the order of their first rows; in clusters by cluster."""
        code, units, cluster = coded(table)
        systems, metrics = self.every
        system = places_of(table["system"], systems)
        metric = places_of(table["metric"], metrics) if self.measured else np.zeros(len(table), np.int64)
        shape = (units, len(systems), len(metrics))
        cell = np.asarray(np.ravel_multi_index((code, system, metric), shape), np.int64)
        means, rows = unit_columns.means(cell, table["value"].to_numpy(), int(np.prod(shape)))
        each = means.reshape(shape)
        kept = [each[:, systems.index(s), metrics.index(m)] for m in self.wanted[1] for s in self.wanted[0]]
        return UnitShard(np.array(kept), rows[rows > 0], cluster)


@dataclass(frozen=True, eq=False)
class OfShard:
    """What `function` makes of the units of a shard."""

    shape: Shape
    function: Callable[[UnitShard], Any]

    def __call__(self, table: Any) -> Any:
        """The result, an Arrow table."""
        return self.function(self.shape(table))
