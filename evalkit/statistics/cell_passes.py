"""Counted cells of what is and what systems say, gathered shard by shard: rows alike in both are one row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.grid import Grid
from evalkit.statistics import passes
from evalkit.statistics.gathered import Gathered
from evalkit.statistics.of_cells import Cells, Group
from evalkit.statistics.statistic import Layout

DENSE = 2**22  # cells up to which each has a place
BESIDE = 2**22  # numbers of units that stand side by side
LEAST = 2**12  # bins of the scores of a class or label at least


@dataclass(frozen=True, eq=False)
class Said:
    """What is, and what each system says of it, of `classes` each; the weights of the rows, and their units."""

    classes: int
    actual: Ints
    said: Sequence[Ints]
    weight: Ints | None
    unit: Ints | None
    units: int


@dataclass(frozen=True, eq=False)
class Counting:
    """How cells are counted. scale, squares: what weights and their squares are counted in, None without weights.

    bins: of cells at most. apart: units are few, and stand side by side.
    """

    scale: float | None
    squares: float
    apart: bool
    bins: int = USUAL.bins

    def add(self, g: Gathered, place: str, rows: Said) -> None:
        """The cells of each system, and of every two; of rows in units the products of these."""
        k, said = rows.classes, rows.said
        for i, own in enumerate(said):
            cell = rows.actual * k + own
            self._cells(g, f"{place} {i}", cell, k**2, rows.weight)
            for j in range(i if rows.unit is None else 0):
                self._cells(g, f"{place} {j} {i}", (rows.actual * k + said[j]) * k + own, k**3, rows.weight)
        if rows.unit is not None:
            g.sums[f"{place} gram"] = self._gram(rows, rows.unit)

    def _cells(self, g: Gathered, place: str, cell: Ints, size: int, weight: Ints | None) -> None:
        """Rows and weight by cell; of rows that do not count alike also the squares of their weights."""
        for name, bins in zip(("cells", "squares"), self.bins_of(cell, size, weight), strict=False):
            g.grids[f"{place} {name}"] = bins

    def bins_of(self, cell: Ints, size: int, weight: Ints | None) -> list[Grid]:
        """Rows and weight by cell, of so many; of rows that do not count alike also the squares of their weights."""
        if weight is None:
            if size <= DENSE:
                rows = np.bincount(cell, minlength=size)
                there = np.flatnonzero(rows)
                rows = rows[there]
            else:
                there, rows = np.unique(cell, return_counts=True)
            code = grid.codes(there.astype(np.float64))
            return [Grid(0, code, code, rows, rows)]
        value = weight * (self.scale or 1.0)
        squared = np.rint(value * value / self.squares).astype(np.int64)
        return [grid.tally(cell.astype(np.float64), column, most=self.bins) for column in (weight, squared)]

    def _gram(self, rows: Said, unit: Ints) -> Floats:
        """How many units there are, and the products of their weights in every two cells; of few, those weights."""
        from scipy import sparse

        k, units = rows.classes, rows.units
        size = len(rows.said) * k**2
        cell = [(i * k + rows.actual) * k + own for i, own in enumerate(rows.said)]
        weight: Floats = np.ones(len(unit))
        if rows.weight is not None:
            weight = (rows.weight * (self.scale or 1.0)).astype(np.float64, copy=False)
        if self.apart:
            columns = np.zeros((units, size + 1))
            columns[:, size] = np.bincount(unit, minlength=units)
            for at in cell:
                columns[:, :size] += np.bincount(unit * size + at, weight, units * size).reshape(-1, size)
            return columns.ravel()
        every = np.tile(unit, len(cell))
        by_unit = sparse.csr_matrix((np.tile(weight, len(cell)), (every, np.concatenate(cell))), (units, size))
        return np.append(len(np.unique(unit)), (by_unit.T @ by_unit).toarray().ravel())

    # What came of it

    def cells(self, g: Gathered, place: str, k: int, systems: Sequence[int]) -> Cells:
        """The cells of one or two systems."""
        at = " ".join(map(str, (place, *systems)))
        return self.read(g.grids[f"{at} cells"], g.grids.get(f"{at} squares"), k, len(systems))

    def read(self, table: Grid, squares: Grid | None, k: int, systems: int) -> Cells:
        """The cells of so many systems, from rows and weight by cell, and the squares of the weights."""
        code = grid.scores(table.low).astype(np.int64)
        said, actual = [], code
        for _ in range(systems):
            actual, last = np.divmod(actual, k)
            said.append(last)
        weight: Floats = table.negative * np.float64(self.scale or 1.0)
        squared: Floats = weight if squares is None else squares.negative * np.float64(self.squares)
        return Cells(actual, tuple(reversed(said)), table.positive, weight, squared)

    def gram(self, g: Gathered, place: str, size: int) -> tuple[int, Floats]:
        """How many units there are, and the sums over units of the products of their weights in two cells."""
        flat = g.sums[f"{place} gram"]
        if not self.apart:
            return int(flat[0]), flat[1:].reshape(size, size)
        columns = flat.reshape(-1, size + 1)
        return int(np.count_nonzero(columns[:, size])), passes.products(columns[:, :size].T)

    def group(self, g: Gathered, place: str, k: int, systems: int, rows: int, layout: Layout) -> Group:
        """The cells of all systems on so many rows."""
        each = [self.cells(g, place, k, [i]).weighing for i in range(systems)]
        if f"{place} gram" in g.sums:
            n, gram = self.gram(g, place, systems * k**2)
            return Group(k, layout, n, each, {}, gram)
        pairs = [(j, i) for i in range(systems) for j in range(i)]
        return Group(k, layout, rows, each, {pair: self.cells(g, place, k, pair).weighing for pair in pairs})
