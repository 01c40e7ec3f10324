"""Metrics of classes from counts and sums instead of rows.

Of predicted classes there is a cell per combination of actual and predicted classes: all rows of a
cell have the same influence on a metric, so sums over rows are sums over cells. If rows are
clustered, the sums over units of the products of their weights in each two cells give the variance
between units. Of scores the influence of a row is a linear form, a combination of columns that were
added up per row or per unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, codes, ratio
from evalkit.catalogue import kinds, metric
from evalkit.limits import USUAL
from evalkit.metrics import grid, influence
from evalkit.metrics.blocks import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.moments import Moments, UnitColumns, UnitSums
from evalkit.metrics.rows import Rows, Sums
from evalkit.metrics.summaries import Bundle
from evalkit.metrics.tallies import Tally
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import Layout, OfRows, Piece, Statistic
from evalkit.statistics.summed import Formed, at_hand, formed

DENSE = 2**22  # cells up to which each has a place


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of the actual class and the class predicted (`said`) by one or two systems: rows, Σ
    weight, Σ weight².
    """

    actual: Ints
    said: tuple[Ints, ...]
    n: Ints
    weight: Floats
    squares: Floats

    @property
    def weighing(self) -> Cells:
        """The cells whose weight is above 0."""
        at = np.flatnonzero(self.weight > 0)
        said = tuple(column[at] for column in self.said)
        return Cells(self.actual[at], said, self.n[at], self.weight[at], self.squares[at])

    def rows(self, place: int, classes: int) -> Rows:
        """The cells as rows, one per cell, with the predictions of the system at `place`."""
        return Rows(self.actual, decision=self.said[place], weight=self.weight, classes=classes)


def of_cut(c: Counts) -> Cells:
    """The cells of the decisions at a threshold, for unweighted rows."""
    actual, said = kinds.CELLS
    n = np.ravel([c.positive, c.negative])
    return Cells(actual, (said,), n, n.astype(np.float64), n.astype(np.float64)).weighing


@dataclass(frozen=True, eq=False)
class Group:
    """The cells of a slice. n: number of units, or of rows. each: per system.

    pairs: per pair of systems, lower number first. moments: for clustered rows the uncentred
    moments of the units' weights in the cells of all systems; None if rows are independent.
    """

    classes: int
    layout: Layout
    n: int
    each: Sequence[Cells]
    pairs: Mapping[tuple[int, int], Cells]
    moments: Moments | None = None

    def places(self, system: int) -> Ints:
        """The positions of a system's cells among the cells of all systems."""
        cells = self.each[system]
        return (system * self.classes + cells.actual) * self.classes + cells.said[0]

    @property
    def held(self) -> bool:
        """True if the cells of every unit are in memory."""
        return at_hand(self.moments)

    def kish(self, rows: Floats, system: int = 0) -> float:
        """Kish's effective number of units, (Σ w)² / Σ w²; w is a unit's weight in the cells that
        `rows` marks.
        """
        return float(
            ratio((self.each[system].weight @ rows) ** 2, self.products(system, rows[None])[0, 0])
        )

    def products(self, system: int, moved: Floats) -> Floats:
        """The matrix Σ x xᵀ over units, where x is a unit's sum of each row of `moved` over its
        rows, by weight.
        """
        if self.moments is None:
            return (moved * self.each[system].squares) @ moved.T
        at = self.places(system)
        return moved @ self.moments.second[np.ix_(at, at)] @ moved.T


def of_system(chosen: metric.Chosen, group: Group, system: int) -> OfCells:
    """A metric of one system."""
    cells = group.each[system]
    return OfCells(chosen, cells.rows(0, group.classes), group, system, cells.squares)


@dataclass(frozen=True, eq=False)
class OfCells(OfRows):
    """A metric of one system, computed from its cells. squares: Σ weight² of each cell."""

    group: Group
    system: int
    squares: Floats

    dominated, against = Statistic.dominated, Statistic.against

    @property
    def layout(self) -> Layout:
        """The layout of the rows."""
        return self.group.layout

    @property
    def held(self) -> bool:  # type: ignore[override]
        """True if the cells of every unit are in memory."""
        return self.group.held

    @cached_property
    def n(self) -> int:
        """The number of units, or of rows."""
        return self.group.n

    @property
    def fewest(self) -> float:
        """Kish's number of units in the smallest group of rows that the metric depends on."""
        groups = self.chosen.metric.kind.groups(self.rows)
        return min(self.group.kish(member.astype(np.float64), self.system) for member in groups)

    @cached_property
    def each(self) -> Floats:  # type: ignore[override]
        """The influence of one row of each cell on the metric, per unit of weight."""
        return ratio(self.effects.influence, self.rows.weights)

    def of(self, chosen: metric.Chosen, rows: Rows) -> OfCells:
        """A metric of the same cells, with `rows` in place of the actual and predicted classes."""
        return OfCells(chosen, rows, self.group, self.system, self.squares)

    @property
    def excess(self) -> float:
        """The upward bias of the value in a small sample."""
        return self.chosen.metric.kind.excess(self.rows)

    # How it varies

    @cached_property
    def spread(self) -> Spread:  # type: ignore[override]
        """The spread of the units' influence values."""
        if self.group.moments is None:
            return self.spread_of(self.each, self)
        return formed(self.group.moments, self.form, None, self.n, self.freedom)

    def spread_from(self, other: Any) -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        if self.group.moments is None:
            a, b, _ = self.pair(other)
            return self.spread_of(a.each - b.each, a)
        return formed(self.group.moments, self.form, other.form, self.n, self.freedom)

    def spread_apart(self, other: Any) -> Spread:
        if self.group.moments is None:
            return super().spread_apart(other)
        return self.spread_from(other)

    @property
    def form(self) -> Floats:
        """The influence of one row of each cell, in an array with an element for each cell of all
        systems.
        """
        return self._among_all(self.each)

    def _among_all(self, column: Floats) -> Floats:
        assert self.group.moments is not None
        every = np.zeros(len(self.group.moments.mean))
        every[self.group.places(self.system)] = column
        return every

    @cached_property
    def sums(self) -> Sums:  # type: ignore[override]
        """The terms of each unit, if there are few units; NaN for a unit without a row that
        counts.
        """
        terms = self.chosen.sums(self.rows)
        weight = self.rows.weights
        sides = (
            np.nan_to_num(terms.numerator),
            np.where(terms.defined, terms.size, 0.0),
            weight * terms.defined,
        )
        units = self.group.moments.units  # type: ignore[union-attr]
        top, bottom, rows = (self._among_all(ratio(side, weight)) @ units for side in sides)
        return Sums(np.where(rows > 0, top, np.nan), bottom)

    def pairs(self, other: Any) -> bool:
        return np.array_equal(self.sums.size, other.sums.size)

    def spread_of(self, moved: Floats, on: Any) -> Spread:
        """The spread of influence values `moved`, one per cell of `on`, for independent rows."""
        power = Spread.of(moved, times=on.rows.weights).power
        return Spread(self.n, max(float(on.squares @ moved**2), 0.0), self.freedom + 1, power)

    # Two systems

    def decides_as(self, other: Any) -> bool:
        if self.group.moments is None:
            a, b, _ = self.pair(other)
            return np.array_equal(a.rows.predicted, b.rows.predicted)
        # Σ (x − y)² over units is 0 if all three products are equal
        cells = self.group.classes**2
        table = self.group.moments.second.reshape(-1, cells, len(self.group.each), cells)
        i, j = self.system, other.system
        products = (table[i, :, i], table[i, :, j], table[j, :, j])
        return all(np.allclose(side, products[0], 1e-12, 0.0) for side in products[1:])

    def pair(self, other: Any) -> tuple[OfCells, OfCells, Floats]:
        """Both metrics on the joint cells of the two systems, and the squared weights of these
        cells.
        """
        systems = min(self.system, other.system), max(self.system, other.system)
        cells = self.group.pairs[systems]
        rows = [
            cells.rows(systems.index(side.system), self.group.classes) for side in (self, other)
        ]
        a = OfCells(self.chosen, rows[0], self.group, self.system, cells.squares)
        b = OfCells(other.chosen, rows[1], self.group, self.system, cells.squares)
        return a, b, cells.squares

    def counted(self, rows: Bools) -> int:
        """The number of rows in the cells that `rows` marks."""
        return int(self.rows.weights @ rows)

    def _picked_apart(self, other: OfRows) -> Floats:
        return ratio(super()._picked_apart(other), self.rows.weights)

    # What it combines

    def parts(self) -> Iterator[Piece]:
        """The metrics that this one is the mean of."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, metric.Combined)
        parts = list(kind.parts(self.rows))
        of = metric.Chosen(kind.metric)
        yield from self._pieces(
            [self.of(of, part.rows) for part in parts], [part.share for part in parts]
        )

    def both(self) -> list[Piece]:
        """The two metrics that this one is the harmonic mean of."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, metric.Harmonic)
        sides = [self.of(metric.Chosen(of), self.rows) for of in kind.pair]
        return self._pieces(sides, [1.0, 1.0])

    def _pieces(self, sides: Sequence[OfCells], shares: Sequence[float]) -> list[Piece]:
        moved = image(self.group.products(self.system, np.array([side.each for side in sides])))
        return [Piece(*one) for one in zip(shares, sides, moved, strict=True)]


def image(products: Floats) -> Floats:
    """Row vectors with this matrix of inner products; their correlations are those of the influence
    values.

    >>> moved = image(np.array([[4.0, 2.0], [2.0, 9.0]]))
    >>> (moved @ moved.T).round(12).tolist()
    [[4.0, 2.0], [2.0, 9.0]]
    """
    size = np.sqrt(np.diagonal(products))
    values, vectors = np.linalg.eigh(np.nan_to_num(ratio(products, np.outer(size, size))))
    return vectors * np.sqrt(np.maximum(values, 0.0)) * size[:, None]


# Metrics from moments of how much rows move them --------------------------------------------------


@dataclass(frozen=True, eq=False)
class OfForm(Formed):
    """A metric whose influence values are a linear combination, `form`, of columns. moments: of the
    columns, uncentred.

    of: its value, or that of the metric that it transforms. n: number of units, or of rows.
    freedom: Kish's number of them, less 1. tables: the tables of its score. system: its number.
    powers: for unweighted rows and each pair of systems, the sums of the squares and fourth powers
    of the influence on the difference, per stratum. strata: the number of rows of each class, empty
    if rows may have several labels.
    """

    layout: Layout
    of: float
    form: Floats
    n: int
    freedom: float
    tables: Any = None
    system: int = 0
    powers: Mapping[tuple[int, int], Floats] = field(default_factory=dict)
    strata: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    how: ClassVar[str] = "influence sums, two passes"

    def predicts_as(self, other: OfForm) -> bool:
        """True if both have the same table of scores, and each unit moves both alike."""
        if self.tables is None or self.spread_from(other).error != 0:
            return False
        sides = (self.tables.counts, other.tables.counts)
        first, second = ((c.threshold, c.tp, c.fp) for c in sides)
        return all(map(np.array_equal, first, second))

    def _powers(self, other: OfForm) -> Floats:
        return self.powers[min(self.system, other.system), max(self.system, other.system)]

    def by_stratum(self, other: OfForm) -> tuple[Floats, Ints]:
        """The sum of the squared influence on the difference in each class, and its rows.

        Both are empty if rows are weighted or clustered.
        """
        if not self.powers:
            return np.empty(0), np.empty(0, np.int64)
        there = self.strata > 0
        return self._powers(other)[: len(there)][there, 0], self.strata[there]

    def spread_apart(self, other: OfForm) -> Spread:
        """The spread of the units' influence on the difference, from its powers where they are
        known.
        """
        if not self.powers:
            return self.spread_from(other)
        square, fourth = self._powers(other).sum(axis=0)
        return Spread(
            self.n, float(square), self.freedom + 1, lambda power: float(ratio(fourth, square**2))
        )

    @property
    def excess(self) -> float:
        """The upward bias of the value in a small sample."""
        return float(self.chosen.metric.kind.excess(self.tables))


@dataclass(frozen=True, eq=False, kw_only=True)
class OfMean(OfForm):
    """A mean over classes or labels.

    shares, each: the share of each class in the mean, and its metric. positives: the number of its
    rows. columns: the column of each
    class; if shares are estimated, also the column of the rows' influence through the shares.
    """

    shares: Sequence[float]
    each: Sequence[Any]
    positives: Floats
    columns: Sequence[int]

    @property
    def scarce(self) -> bool:  # type: ignore[override]
        """True if it is a mean of many parts of unweighted rows with few positives each."""
        kind = self.chosen.metric.kind
        if self.layout is not Layout.PLAIN or not isinstance(kind, metric.Combined):
            return False
        return kind.scarce(self.positives)

    def leave_one_out(self) -> OfMean:
        """Itself: the second reading adds up the influence of leaving out each row."""
        return self

    @cached_property
    def _moved(self) -> Floats:
        """The influence of the units on each part of the form."""
        return image(self.moments.second[np.ix_(self.columns, self.columns)])

    def parts(self) -> Iterator[Piece]:
        """One piece per class or label."""
        rows = zip(self.shares, self.each, self._moved[: len(self.each)], strict=True)
        return (Piece(share, one, vector, one.excess) for share, one, vector in rows)

    def of_shares(self) -> Floats | None:
        """The units' influence on the mean through its shares; None if the shares are fixed."""
        return self._moved[-1] if len(self.columns) > len(self.each) else None


# How cells are counted ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellCounts(Bundle):
    """The counts from which the cells of a slice are made; systems are numbered.

    cells: for two systems, or twice the same one, the number of rows by actual class and both
    predicted classes, and for weighted rows the sums of the weights and of their squares. products:
    for clustered rows the products of a unit's weights in each two cells; while units are still
    split over blocks, the weights themselves.
    """

    cells: dict[tuple[int, int], Tally]
    products: tuple[Products | UnitSums, ...]


@dataclass(frozen=True, eq=False)
class Products(Moments):
    """The uncentred moments of columns that are mostly 0 in a unit; sums of cubes are not kept.

    unit_columns: one element, whose columns are a sparse matrix with a row for each unit.
    """

    def __add__(self, other: Moments) -> Products:
        from scipy import sparse

        n = self.n + other.n
        unit_columns = None
        if n <= self.max_units and self.unit_columns is not None and other.unit_columns is not None:
            (first,) = self.unit_columns
            (second,) = other.unit_columns
            columns = sparse.vstack([first.columns, second.columns], "csr")
            unit_columns = (UnitColumns(np.append(first.key, second.key), columns),)
        second_moments = self.second + other.second
        return replace(self, n=n, second=second_moments, unit_columns=unit_columns)

    @cached_property
    def units(self) -> Any:
        """The columns of every unit, in the order of their hashes."""
        if self.unit_columns is None:
            return None
        (units,) = self.unit_columns
        return units.columns[np.argsort(units.key, kind="stable")].T


@dataclass(frozen=True, eq=False)
class Counting:
    """How cells are counted. classes: the number of actual, and of predicted, classes.

    scale, squares: the units in which weights and their squares are counted, None if rows are
    unweighted. bins: the largest number of cells. few: the largest number of units whose cells are
    kept one by one.
    """

    classes: int
    scale: float | None
    squares: float = 1.0
    bins: int = USUAL.bins
    few: int = 0

    def weights(self, block: Block) -> Ints | None:
        """The weight of each row as a whole number."""
        return None if self.scale is None else grid.in_units(block.weights, self.scale)

    def __call__(
        self, block: Block, actual: Ints, said: Sequence[Ints] | Ints, weight: Ints | None
    ) -> CellCounts:
        """The cells of the rows of a block."""
        k = self.classes
        cells = dict[tuple[int, int], Tally]()
        for i, own in enumerate(said):
            codes = {(i, i): (actual * k + own, k**2)}
            codes |= {
                (j, i): ((actual * k + said[j]) * k + own, k**3)
                for j in range(0 if block.clustered else i)
            }
            cells |= {
                pair: Tally(max_bins=self.bins, grids=(self._bins(*of, weight),))
                for pair, of in codes.items()
            }
        return CellCounts(
            cells, (self._products(block, actual, said, weight),) if block.clustered else ()
        )

    def _bins(self, cell: Ints, size: int, weight: Ints | None) -> grid.Grid:
        """The number of rows of each cell, and for weighted rows the sums of their weights and of
        the squares.
        """
        columns = [np.ones(len(cell), np.int64)]
        if weight is not None:
            columns += [
                weight,
                np.rint((weight * (self.scale or 1.0)) ** 2 / self.squares).astype(np.int64),
            ]
        if size > DENSE:
            return grid.binned(grid.codes(cell.astype(np.float64)), columns, self.bins)
        sums = np.zeros((len(columns), size), np.int64)
        for added, column in zip(sums, columns, strict=True):
            np.add.at(added, cell, column)
        there = np.flatnonzero(sums[0])
        code = grid.codes(there.astype(np.float64))
        return grid.Grid(0, code, code, tuple(sums[:, there]))

    def _products(
        self, block: Block, actual: Ints, said: Sequence[Ints] | Ints, whole: Ints | None
    ) -> Products | UnitSums:
        from scipy import sparse

        k = self.classes
        weight = np.ones(len(block)) if whole is None else whole * (self.scale or 1.0)
        cell = [(i * k + actual) * k + own for i, own in enumerate(said)]
        size = len(said) * k**2
        names, unit = block.key_index
        if block.units_split:
            every = [np.bincount(at * len(names) + unit, weight, size * len(names)) for at in cell]
            return UnitSums(names, np.sum(every, axis=0).reshape(size, len(names)), 0)
        at = np.tile(unit, len(cell)), np.concatenate(cell)
        by_unit = sparse.csr_matrix((np.tile(weight, len(cell)), at), (len(names), size))
        each = (UnitColumns(names, by_unit),) if len(names) <= self.few else None
        none = np.zeros(size)
        gram = (by_unit.T @ by_unit).toarray()
        return Products(len(names), none, gram, none, self.few, each)

    # What came of it

    def group(self, c: CellCounts, design: Layout) -> Group:
        """The cells of all systems. design: the layout of the rows."""
        of = {at: self.read(tally.merged, 1 + (at[0] < at[1])) for at, tally in c.cells.items()}
        each = [cells.weighing for (i, j), cells in of.items() if i == j]
        pairs = {(i, j): cells.weighing for (i, j), cells in of.items() if i < j}
        moments = c.products[0].moments.around_zero if c.products else None
        return Group(
            self.classes,
            design,
            moments.n if moments else int(of[0, 0].n.sum()),
            each,
            pairs,
            moments,
        )

    def read(self, table: grid.Grid, systems: int) -> Cells:
        """The cells of `systems` systems."""
        code = grid.scores(table.low).astype(np.int64)
        actual, *said = np.unravel_index(code, (self.classes,) * (1 + systems))
        rows, weight, squared = (table.sums * 3)[:3]  # without weights rows stand for all
        return Cells(
            actual, tuple(said), rows, weight * (self.scale or 1.0), squared * self.squares
        )


# Decisions at many thresholds at once -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MovingCut:
    """A system's decisions at several thresholds, on clustered or weighted rows."""

    groups: Sequence[Group]

    @classmethod
    def of(cls, rows: Rows, counts: Counts) -> MovingCut:
        """The decisions on rows at the thresholds of their counts, in descending order."""
        unit, size = units_of(rows)
        units = len(size)
        cuts = (of_cut(influence.decision(counts, threshold)) for threshold in counts.threshold)
        none = np.zeros(4)
        every = zip(cuts, _grams(rows, counts.threshold, unit, units), strict=True)
        each = ((cut, Moments(units, none, gram, none, 0, None)) for cut, gram in every)
        return cls([Group(2, Layout.WEIGHTED, units, [cut], {}, moments) for cut, moments in each])

    @property
    def units(self) -> float:
        """Kish's number of units."""
        group = self.groups[0]
        return group.kish(np.ones(len(group.each[0].weight)))

    @cached_property
    def spread(self) -> Floats:
        """The variances and covariance of the two error rates, one row per threshold.

        The columns are x, the variance of FP / n; y, twice the covariance; and z, the variance of
        FN / n. The mean cost a FP / n + b FN / n has the variance a² x + a b y + b² z.
        """
        return ratio(self.units, self.units - 1) * np.array(
            [_quadratic(group) for group in self.groups]
        )


def _quadratic(group: Group) -> Floats:
    """Σ x², 2 Σ x y and Σ y² over units, with the influence of each on FP / n (x) and on FN / n
    (y).
    """
    # places of a negative that is predicted, and of a positive that is not
    cells = group.each[0]
    errors = [1, 2]
    n = cells.weight.sum()
    size = np.bincount(group.places(0), cells.weight, 4)
    moved = np.eye(4)[errors] - size[errors, None] / n
    (x, xy), (_, y) = moved @ group.moments.second @ moved.T / n**2  # type: ignore[union-attr]
    return np.maximum([x, 2 * xy, y], [0.0, -np.inf, 0.0])


def _grams(rows: Rows, threshold: Floats, unit: Ints, units: int) -> Iterator[Floats]:
    """The products of units' weights in two cells at each threshold; only the units of rows in
    between change.
    """
    cell = np.where(rows.actual == 1, 2, 0)
    columns = np.zeros((4, units))
    np.add.at(columns, (cell, unit), rows.weights)
    gram = columns @ columns.T
    entering = np.searchsorted(-threshold, -np.asarray(rows.score, float), side="left")
    order = np.argsort(entering, kind="stable")
    for new in np.split(
        order, np.searchsorted(entering[order], np.arange(1, len(threshold) + 1))[:-1]
    ):
        touched, at = np.unique(unit[new], return_inverse=True)
        before = columns[:, touched]
        after = before.copy()
        np.add.at(after, (cell[new], at), -rows.weights[new])
        np.add.at(after, (cell[new] + 1, at), rows.weights[new])
        columns[:, touched] = after
        gram = gram + after @ after.T - before @ before.T
        yield gram


def units_of(rows: Rows) -> tuple[Ints, Floats]:
    """The unit of each row, by number, and the weight of each unit."""
    of = np.arange(len(rows)) if rows.unit is None else codes(rows.unit)[0]
    return of, np.bincount(of, rows.weights).astype(np.float64)
