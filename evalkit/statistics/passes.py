"""The two readings of scored rows, each shard by itself: bins of scores first, then sums of what moves the metrics.

A result is a table with one row a group of rows, its numbers in lists; two results laid end to end are merged into one.
The groups: all rows, then every slice of every column for segments. Fit to be sent to other machines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit import side_by_side
from evalkit.arrays import Bools, Floats, Ints
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.grid import Grid
from evalkit.metrics.kept import products
from evalkit.metrics.rows import Shard
from evalkit.statistics.binned_scores import Columns
from evalkit.statistics.of_sums import Moments
from evalkit.statistics.resampling import ALONE

BLOCK = 2**17  # rows whose columns are held at once
LONG = 2**14  # numbers in a row from which they are worth a chunk of their own
FACTS = -1  # the key of the row that counts rows
BINS = ("low", "high", "positive", "negative")
SHARED = ("rows", "positive", "negative")
SUMS = ("total", "gram", "cubes")


def groups(shard: Shard) -> Iterator[tuple[int, Ints | slice]]:
    """The number of each group, 0 for all rows, and its rows."""
    yield 0, slice(None)
    number = 1
    for part, size in zip(shard.slice, shard.slices, strict=True):
        order = np.argsort(part, kind="stable")
        edges = np.searchsorted(part[order], np.arange(size + 1))
        for i in range(size):
            yield number + i, order[edges[i] : edges[i + 1]]
        number += size


# The first reading --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class First:
    """Bins of every group and system, by the key group * systems + system; under FACTS counts of rows.

    cuts: of each system a threshold that is known beforehand: what is at or above it is counted exactly. most, fewer:
    bins of all rows, and of a slice of them.
    """

    systems: int
    cuts: Sequence[float] | None
    most: int = USUAL.bins
    fewer: int = USUAL.slice_bins

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        grids = {}
        for group, rows in groups(shard):
            weight = None if shard.weight is None else shard.weight[rows]
            for i, score in enumerate(shard.score):
                key, cut = group * self.systems + i, None if self.cuts is None else self.cuts[i]
                grids[key] = grid.reduce(
                    score[rows], shard.label[rows], weight, most=self._room(key), cut=cut, threads=shard.threads
                )
        return _binned(grids, np.array([len(shard.label), shard.label.sum(), shard.twice, shard.differ]))

    def _room(self, key: int) -> int:
        """The bins of a group and system."""
        return self.most if key < self.systems else self.fewer

    def merge(self, table: Any) -> Any:
        """Two results as one; while they are small they only stand one after the other, and wait for more."""
        if sum(len(chunk.flatten()) for chunk in table["low"].chunks) < self._enough:
            return table
        return _binned(self.bins(table), facts(table))

    @property
    def _enough(self) -> int:
        """Bins that wait to be merged."""
        return 2 * self.most * self.systems

    def bins(self, table: Any) -> dict[int, Grid]:
        """What came of it, by key."""
        grids: dict[int, list[Grid]] = {}
        for key, part in bins(table, self.cuts):
            grids.setdefault(key, []).append(part)
        return {
            key: parts[0] if len(parts) == 1 else grid.merge(parts, self._room(key)) for key, parts in grids.items()
        }


def _binned(grids: Mapping[int, Grid], counted: Ints) -> Any:
    import pyarrow as pa

    nothing = np.empty(0, np.int64)
    whole = {**grids, FACTS: Grid(0, nothing, nothing, counted.astype(np.int64), nothing)}
    columns = {name: lists([getattr(part, name) for part in whole.values()]) for name in BINS}
    return pa.table(
        {"key": pa.array(list(whole), pa.int64()), "shift": [part.shift for part in whole.values()], **columns}
    )


def bins(table: Any, cuts: Sequence[float] | None) -> Iterator[tuple[int, Grid]]:
    """Key and bins of each row of a result."""
    at = None if cuts is None else grid.codes(np.array(cuts))
    columns = [arrays(table[name]) for name in BINS]
    for i, (key, shift) in enumerate(zip(table["key"].to_pylist(), table["shift"].to_pylist(), strict=True)):
        if key != FACTS:
            low, high, positive, negative = (column[i] for column in columns)
            cut = None if at is None else int(at[key % len(at)])
            yield key, Grid(shift, low, high, positive, negative, cut)


def facts(table: Any) -> Ints:
    """Rows, positive rows, ids that come twice, disagreements."""
    counted = zip(table["key"].to_pylist(), arrays(table["positive"]), strict=True)
    return np.sum([numbers for key, numbers in counted if key == FACTS], axis=0)


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Second:
    """Sums of the columns and of their products, by row or by unit, of every group.

    scale: what weights are counted in, None without weights. apart: units are few, and the sums of each stand side by
    side until all rows are read. models: of every group the columns of each system.
    """

    scale: float | None
    apart: bool
    models: Mapping[int, Sequence[Columns]]

    def names(self, group: int) -> list[str]:
        """What stands in the columns of a group."""
        return [*SHARED, *(name for columns in self.models[group] for name in columns.names)]

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        weight: np.ndarray = np.ones(len(shard.label))
        if shard.weight is not None and self.scale:
            weight = shard.weight * self.scale
        wanted = [(group, rows) for group, rows in groups(shard) if group in self.models]
        return _summed({group: self._sums(group, shard, weight, rows) for group, rows in wanted})

    def _sums(self, group: int, shard: Shard, weight: Floats, rows: Ints | slice) -> "Sums":
        label, some, score = shard.label[rows], weight[rows], [values[rows] for values in shard.score]
        unit = None if shard.unit is None else shard.unit[rows]
        size, m = shard.units if unit is not None else 0, len(self.names(group))
        blocks = [slice(start, start + BLOCK) for start in range(0, len(label), BLOCK)]

        def columns(at: slice) -> Floats:
            return self._block(group, label[at], [values[at] for values in score], some[at])

        if unit is None:
            whole = Sums(0, np.zeros(m), np.zeros(m * m), np.zeros(m))
            return sum(side_by_side.ordered(lambda at: of_rows(columns(at)), blocks, shard.threads), whole)
        by_unit = np.zeros((size, m))
        for at in blocks:
            add(by_unit, unit[at], columns(at))
        return Sums(0, by_unit.ravel(), np.empty(0), np.empty(0)) if self.apart else collapsed(by_unit)

    def _block(self, group: int, label: Bools, score: Sequence[Floats], weight: Floats) -> Floats:
        shared = np.array([np.ones(len(label)), weight * label, weight * ~label])
        own = [columns.rows(label, values, weight) for columns, values in zip(self.models[group], score, strict=True)]
        return np.concatenate([shared, *own])

    @staticmethod
    def merge(table: Any) -> Any:
        """Two results as one."""
        whole: dict[int, Sums] = {}
        for group, part in sums(table):
            whole[group] = whole[group] + part if group in whole else part
        return _summed(whole)

    def moments(self, table: Any) -> dict[int, Moments]:
        """What came of it, by group."""
        moments = {}
        for group, part in sums(table):
            names = self.names(group)
            whole = collapsed(part.total.reshape(-1, len(names))) if self.apart else part
            moments[group] = Moments(names, whole.n, whole.total, whole.gram.reshape(len(names), -1), whole.cubes)
        return moments


@dataclass(frozen=True, eq=False)
class Sums:
    """Units, sums of the columns, of their products and cubes; before units are whole, their columns as `total`."""

    n: int
    total: Floats
    gram: Floats
    cubes: Floats

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.n + other.n, self.total + other.total, self.gram + other.gram, self.cubes + other.cubes)


def of_rows(x: Floats) -> Sums:
    """The sums over rows from their columns, one below the other."""
    return Sums(x.shape[1], x.sum(axis=1), products(x).ravel(), cubed(x))


def collapsed(by_unit: Floats) -> Sums:
    """The sums over units from the columns of each unit, one row a unit; those without rows do not count."""
    there = by_unit[by_unit[:, 0] > 0]
    return Sums(len(there), there.sum(axis=0), products(there.T).ravel(), cubed(there.T))


def cubed(x: Floats) -> Floats:
    """The sum of the cubes of each row of x, in pieces that stay in the processor's cache."""
    step = max(1, ALONE // len(x))
    whole = np.zeros(len(x))
    for start in range(0, x.shape[1], step):
        piece = x[:, start : start + step]
        whole += np.einsum("ij,ij,ij->i", piece, piece, piece)
    return whole


def add(by_unit: Floats, unit: Ints, x: Floats) -> None:
    """Adds the columns of rows to those of their units."""
    for i, column in enumerate(x):
        by_unit[:, i] += np.bincount(unit, column, len(by_unit))


def _summed(groups: Mapping[int, Sums]) -> Any:
    import pyarrow as pa

    columns = {name: lists([getattr(part, name) for part in groups.values()]) for name in SUMS}
    n = pa.array([part.n for part in groups.values()], pa.int64())
    return pa.table({"key": pa.array(list(groups), pa.int64()), "n": n, **columns})


def sums(table: Any) -> Iterator[tuple[int, Sums]]:
    """Key and sums of each row of a result."""
    total, gram, cubes = (arrays(table[name]) for name in SUMS)
    for i, (key, n) in enumerate(zip(table["key"].to_pylist(), table["n"].to_pylist(), strict=True)):
        yield key, Sums(n, total[i], gram[i], cubes[i])


# Lists of numbers in a table ----------------------------------------------------------------------------------------


def lists(columns: Sequence[np.ndarray]) -> Any:
    """An Arrow column with one of these in each row; long ones are not copied."""
    import pyarrow as pa

    if sum(map(len, columns)) > LONG * len(columns):
        rows = ((pa.array([0, len(values)], pa.int64()), pa.array(values)) for values in columns)
        return pa.chunked_array([pa.LargeListArray.from_arrays(*row) for row in rows])
    offsets = np.append(0, np.cumsum([len(values) for values in columns]))
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pa.array(np.concatenate(columns)))


def arrays(column: Any) -> list[np.ndarray]:
    """What stands in each row of such a column."""
    return [numbers.values.to_numpy() for numbers in column]
