"""What the readings of shards share: their groups of rows, sums of columns by row or unit, lists of numbers in a table.

The groups: all rows, then every slice of every column for segments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics.kept import products
from evalkit.metrics.rows import Shard
from evalkit.statistics.resampling import ALONE

BLOCK = 2**17  # rows whose columns are held at once
LONG = 2**14  # numbers in a row from which they are worth a chunk of their own


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


@dataclass(frozen=True, eq=False)
class Sums:
    """Units, sums of the columns, of their products and cubes; before units are whole, their columns as `total`."""

    n: int
    total: Floats
    gram: Floats
    cubes: Floats

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.n + other.n, self.total + other.total, self.gram + other.gram, self.cubes + other.cubes)


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
