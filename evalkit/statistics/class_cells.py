"""Metrics of classes from counts and sums instead of rows.

Of predicted classes there is a cell per combination of actual and predicted classes: all rows of a
cell have the same influence on a metric, so sums over rows are sums over cells. If rows are
clustered, the sums over units of the products of their weights in each two cells give the variance
between units. Of scores the influence of a row is a linear combination of columns that were added
up per row or per unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, codes, ratio
from evalkit.catalogue import kinds, metric, score_kinds
from evalkit.limits import USUAL
from evalkit.metrics import grid, influence
from evalkit.metrics.blocks import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.moments import Moments, UnitColumns, UnitSums
from evalkit.metrics.rows import Rows, Sums
from evalkit.metrics.summaries import Bundle
from evalkit.metrics.tallies import Tally
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import (
    NO_CLASSES,
    ClassSquares,
    Component,
    JointRows,
    Layout,
    RowStatistic,
    ScoreStatistic,
    SpreadStatistic,
)
from evalkit.statistics.summed import LinearStatistic, combined_spread, has_units

DENSE = 2**22  # cells up to which each has an element in an array
SAME_PRODUCTS = 1e-12  # relative difference of sums of products that is rounding


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of the actual class and the classes predicted by one or two systems: rows (`n`), Σ
    weight, Σ weight² (`squares`).
    """

    actual: Ints
    predicted: tuple[Ints, ...]
    n: Ints
    weight: Floats
    squares: Floats

    @property
    def with_weight(self) -> Cells:
        """The cells whose weight is above 0."""
        number = np.flatnonzero(self.weight > 0)
        predicted = tuple(column[number] for column in self.predicted)
        return Cells(
            actual=self.actual[number],
            predicted=predicted,
            n=self.n[number],
            weight=self.weight[number],
            squares=self.squares[number],
        )

    def rows(self, system: int, classes: int) -> Rows:
        """The cells as rows, one per cell, with the predictions of the first (0) or second (1)
        system.
        """
        decision = self.predicted[system]
        return Rows(self.actual, decision=decision, weight=self.weight, classes=classes)


def decision_cells(decisions: Counts) -> Cells:
    """The cells of the decisions at a threshold, for unweighted rows."""
    actual, predicted = kinds.CELLS
    n = np.ravel([decisions.positive, decisions.negative])
    weight = n.astype(np.float64)
    return Cells(actual, predicted=(predicted,), n=n, weight=weight, squares=weight).with_weight


@dataclass(frozen=True, eq=False)
class SliceCells:
    """The cells of a slice. n: number of units, or of rows. by_system: the cells of each system.

    by_pair: the joint cells of each pair of systems, lower number first. moments: for clustered
    rows the uncentred moments of the units' weights in the cells of all systems; None if rows are
    independent.
    """

    classes: int
    layout: Layout
    n: int
    by_system: Sequence[Cells]
    by_pair: Mapping[tuple[int, int], Cells]
    moments: Moments | None = None

    def columns(self, system: int) -> Ints:
        """The columns of a system's cells among those of `moments`."""
        cells = self.by_system[system]
        return (system * self.classes + cells.actual) * self.classes + cells.predicted[0]

    @property
    def in_memory(self) -> bool:
        """True if the cells of every unit are in memory."""
        return has_units(self.moments)

    def kish(self, member: Floats, system: int = 0) -> float:
        """Kish's effective number of units, (Σ w)² / Σ w²; w is a unit's weight in the cells that
        are a `member` (1, else 0).
        """
        total = self.by_system[system].weight @ member
        squares = self.products(system, member[None])[0, 0]
        return float(ratio(total**2, squares))

    def products(self, system: int, values: Floats) -> Floats:
        """The matrix Σ x xᵀ over units, where x holds a unit's weighted sums of each line of
        `values`, which has one column per cell of the system.
        """
        if self.moments is None:
            return (values * self.by_system[system].squares) @ values.T
        columns = self.columns(system)
        return values @ self.moments.second[np.ix_(columns, columns)] @ values.T


def of_system(chosen: metric.Chosen, slice_cells: SliceCells, system: int) -> CellStatistic:
    """A metric of one system."""
    cells = slice_cells.by_system[system]
    rows = cells.rows(0, slice_cells.classes)
    return CellStatistic(
        chosen, rows, slice_cells=slice_cells, system=system, square_weights=cells.squares
    )


@dataclass(frozen=True, eq=False)
class CellStatistic(RowStatistic):
    """A metric of one system, computed from its cells as rows. square_weights: Σ weight² of each
    cell.
    """

    slice_cells: SliceCells
    system: int
    square_weights: Floats

    # cells hold no single row that could dominate or leave out a value
    dominated = SpreadStatistic.dominated
    shared_difference = SpreadStatistic.shared_difference

    @property
    def layout(self) -> Layout:
        """The layout of the rows."""
        return self.slice_cells.layout

    @property
    def in_memory(self) -> bool:
        """True if the cells of every unit are in memory."""
        return self.slice_cells.in_memory

    @cached_property
    def n(self) -> int:
        """The number of units, or of rows."""
        return self.slice_cells.n

    @property
    def fewest_units(self) -> float:
        """Kish's number of units in the smallest group of rows that the metric depends on."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, kinds.Kind)
        groups = [member.astype(np.float64) for member in kind.groups(self.rows)]
        return min(self.slice_cells.kish(member, self.system) for member in groups)

    @cached_property
    def row_influence(self) -> Floats:
        """The influence of one row of each cell on the metric, per unit of weight."""
        return ratio(self.effects.influence, self.rows.weights)

    def with_metric(self, chosen: metric.Chosen, rows: Rows) -> CellStatistic:
        """A metric of the same cells, with `rows` in place of the actual and predicted classes."""
        return replace(self, chosen=chosen, rows=rows)

    @property
    def excess(self) -> float:
        """The upward bias of the value in a small sample."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, kinds.Kind)
        return kind.excess(self.rows)

    # How it varies

    @cached_property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        moments = self.slice_cells.moments
        if moments is None:
            return self._spread_of(self.row_influence, self)
        return combined_spread(moments, self.coefficients, None, n=self.n, freedom=self.freedom)

    def difference_spread(self, other: Self) -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        moments = self.slice_cells.moments
        if moments is None:
            joint = self.on_joint_rows(other)
            difference = joint.first.row_influence - joint.second.row_influence
            return self._spread_of(difference, joint.first)
        return combined_spread(
            moments, self.coefficients, other.coefficients, n=self.n, freedom=self.freedom
        )

    def null_difference_spread(self, other: Self) -> Spread:
        """As `difference_spread`, under the null hypothesis that both systems are equal, for
        independent rows and metrics of the highest-scored ones.
        """
        if self.slice_cells.moments is None:
            return super().null_difference_spread(other)
        return self.difference_spread(other)

    @property
    def coefficients(self) -> Floats:
        """The influence of one row of each cell, in an array with an element for each column of
        the moments.
        """
        return self._among_columns(self.row_influence)

    def _among_columns(self, values: Floats) -> Floats:
        """Values of the system's cells, in an array with an element for each column of the moments:
        0 for the other systems' cells.
        """
        assert self.slice_cells.moments is not None
        columns = np.zeros(len(self.slice_cells.moments.mean))
        columns[self.slice_cells.columns(self.system)] = values
        return columns

    @cached_property
    def sums(self) -> Sums:
        """The terms of each unit, if there are few units; NaN for a unit without a row that
        counts.
        """
        assert self.slice_cells.moments is not None
        units = self.slice_cells.moments.units
        terms = self.chosen.sums(self.rows)
        weight = self.rows.weights

        def by_unit(cell_values: Floats) -> Floats:
            """The sum of each unit, from the sums of each cell."""
            per_weight = ratio(cell_values, weight)
            sums: Floats = self._among_columns(per_weight) @ units
            return sums

        total = by_unit(np.nan_to_num(terms.numerator))
        size = by_unit(np.where(terms.defined, terms.size, 0.0))
        counting_weight = by_unit(weight * terms.defined)
        return Sums(np.where(counting_weight > 0, total, np.nan), size)

    def counts_same_rows(self, other: Self) -> bool:
        """True if as many rows of each unit count for both systems."""
        return np.array_equal(self.sums.size, other.sums.size)

    def _spread_of(self, influence: Floats, statistic: RowStatistic) -> Spread:
        """The spread of influence values, one per cell of a statistic, for independent rows."""
        assert isinstance(statistic, CellStatistic)
        square = max(float(statistic.square_weights @ influence**2), 0.0)
        by_frequency = Spread.from_influence(influence, frequency=statistic.rows.weights)
        return Spread(
            self.n,
            square,
            kish=self.freedom + 1,
            standardised_power=by_frequency.standardised_power,
        )

    # Two systems

    def decides_same(self, other: Self) -> bool:
        """True if both systems decide the same for every row, or in every unit as often."""
        moments = self.slice_cells.moments
        if moments is None:
            joint = self.on_joint_rows(other)
            return np.array_equal(joint.first.rows.predicted, joint.second.rows.predicted)
        # Σ (x − y)² over units is 0 if Σ x², Σ x y and Σ y² are equal
        cells = self.slice_cells.classes**2
        systems = len(self.slice_cells.by_system)
        # axes: system and cell, of both columns of a product
        second = moments.second.reshape(-1, cells, systems, cells)
        squares = second[self.system, :, self.system]
        products = second[self.system, :, other.system]
        other_squares = second[other.system, :, other.system]
        return np.allclose(products, squares, SAME_PRODUCTS, 0.0) and np.allclose(
            other_squares, squares, SAME_PRODUCTS, 0.0
        )

    def on_joint_rows(self, other: Self) -> JointRows:
        """Both metrics on the joint cells of the two systems."""
        lower = min(self.system, other.system)
        pair = (lower, max(self.system, other.system))
        cells = self.slice_cells.by_pair[pair]
        classes = self.slice_cells.classes

        def on_pair(statistic: Self) -> Self:
            """The statistic with the joint cells as its rows."""
            rows = cells.rows(pair.index(statistic.system), classes)
            return replace(statistic, rows=rows, system=self.system, square_weights=cells.squares)

        return JointRows(on_pair(self), on_pair(other), cells.squares)

    def count_rows(self, member: Bools) -> int:
        """The number of rows in the cells that `member` marks."""
        return int(self.rows.weights @ member)

    def _null_influence(self, other: RowStatistic) -> Floats:
        return ratio(super()._null_influence(other), self.rows.weights)

    # What it combines

    def components(self) -> Iterator[Component]:
        """The metrics that this one is the mean of."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, metric.Combined)
        chosen = metric.Chosen(kind.metric)
        parts = list(kind.parts(self.rows))
        statistics = [self.with_metric(chosen, part.rows) for part in parts]
        yield from self._components(statistics, [part.share for part in parts])

    def harmonic_pair(self) -> list[Component]:
        """The two metrics that this one is the harmonic mean of."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, metric.Harmonic)
        statistics = [self.with_metric(metric.Chosen(row), self.rows) for row in kind.pair]
        return self._components(statistics, [1.0, 1.0])

    def _components(
        self, statistics: Sequence[CellStatistic], shares: Sequence[float]
    ) -> list[Component]:
        """Statistics of the same cells with their shares and their units' influence."""
        row_influence = np.array([statistic.row_influence for statistic in statistics])
        vectors = vectors_of(self.slice_cells.products(self.system, row_influence))
        return list(map(Component, shares, statistics, vectors))


def vectors_of(products: Floats) -> Floats:
    """Row vectors with this matrix of inner products; as influence values they have the same
    variances and correlations as those that the products were summed from.

    >>> vectors = vectors_of(np.array([[4.0, 2.0], [2.0, 9.0]]))
    >>> (vectors @ vectors.T).round(12).tolist()
    [[4.0, 2.0], [2.0, 9.0]]
    """
    size = np.sqrt(np.diagonal(products))
    correlation = np.nan_to_num(ratio(products, np.outer(size, size)))
    values, vectors = np.linalg.eigh(correlation)
    scaled: Floats = vectors * np.sqrt(np.maximum(values, 0.0)) * size[:, None]
    return scaled


# Metrics of scores, from moments of the rows' influence -------------------------------------------


@dataclass(frozen=True, eq=False)
class InfluenceStatistic(LinearStatistic, ScoreStatistic):
    """A metric of scores whose influence values were added up. moments: of their columns,
    uncentred; coefficients: of the columns.

    untransformed: its value, or that of the metric that it transforms. n: number of units, or of
    rows. freedom: Kish's number of them, less 1. tables: the tables of its score. system: its
    number. powers: for unweighted rows and each pair of systems, the sums of the squares and fourth
    powers of the influence on the difference, per class. class_rows: the number of rows of each
    class, empty if rows may have several labels.
    """

    layout: Layout
    untransformed: float
    coefficients: Floats
    n: int
    freedom: float
    tables: score_kinds.Tables = None  # type: ignore[assignment]  # a mean over classes has none
    system: int = 0
    powers: Mapping[tuple[int, int], Floats] = field(default_factory=dict)
    class_rows: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    error_method: ClassVar[str] = "influence sums, two passes"

    def predicts_same(self, other: Self) -> bool:
        """True if both have the same table of scores, and each unit moves both alike."""
        if self.tables is None or other.tables is None:  # type: ignore[redundant-expr]
            return False  # type: ignore[unreachable]
        if self.difference_spread(other).error != 0:
            return False
        table = self.tables.counts
        others = other.tables.counts
        return (
            np.array_equal(table.threshold, others.threshold)
            and np.array_equal(table.tp, others.tp)
            and np.array_equal(table.fp, others.fp)
        )

    def _difference_powers(self, other: Self) -> Floats:
        """Σ l² and Σ l⁴ of the influence l on the difference, one line per class."""
        return self.powers[min(self.system, other.system), max(self.system, other.system)]

    def squares_by_class(self, other: Self) -> ClassSquares:
        """The influence on the difference by class; empty if rows are weighted or clustered."""
        if not self.powers:
            return NO_CLASSES
        occurs = self.class_rows > 0
        square, _ = self._difference_powers(other).T
        return ClassSquares(square[: len(occurs)][occurs], self.class_rows[occurs])

    def null_difference_spread(self, other: Self) -> Spread:
        """The spread of the units' influence on the difference, from its powers if they are
        known.
        """
        if not self.powers:
            return self.difference_spread(other)
        square, fourth = self._difference_powers(other).sum(axis=0)
        standardised_fourth = float(ratio(fourth, square**2))
        return Spread(
            self.n,
            float(square),
            kish=self.freedom + 1,
            standardised_power=lambda power: standardised_fourth,
        )

    @property
    def excess(self) -> float:
        """The upward bias of the value in a small sample."""
        return float(self.chosen.metric.kind.excess(self.tables))  # type: ignore[arg-type]  # a table


ClassStatistic = CellStatistic | InfluenceStatistic


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassMeanStatistic(InfluenceStatistic):
    """A mean over classes or labels.

    shares, statistics: the share of each class in the mean, and its metric. positives: the number
    of its rows. columns: the column of each class among those of the moments; if shares are
    estimated, also the column of the rows' influence through the shares.
    """

    shares: Sequence[float]
    statistics: Sequence[ClassStatistic]
    positives: Floats
    columns: Sequence[int]

    @property
    def scarce(self) -> bool:
        """True if it is a mean of many parts of unweighted rows with few positives each."""
        kind = self.chosen.metric.kind
        if self.layout is not Layout.PLAIN or not isinstance(kind, metric.Combined):
            return False
        return kind.scarce(self.positives)

    def leave_one_out(self) -> Self:
        """Itself: the second reading adds up the influence of leaving out each row."""
        return self

    @cached_property
    def _column_vectors(self) -> Floats:
        """The influence of the units through each column."""
        return vectors_of(self.moments.second[np.ix_(self.columns, self.columns)])

    def components(self) -> Iterator[Component]:
        """One component per class or label."""
        vectors = self._column_vectors[: len(self.statistics)]
        for share, statistic, vector in zip(self.shares, self.statistics, vectors, strict=True):
            yield Component(share, statistic, vector, statistic.excess)

    def share_influence(self) -> Floats | None:
        """The units' influence on the mean through its shares; None if the shares are fixed."""
        shares_are_estimated = len(self.columns) > len(self.statistics)
        return self._column_vectors[-1] if shares_are_estimated else None


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
    def units(self) -> Any:  # a scipy sparse matrix, which has no types
        """The columns of every unit, in the order of their hashes."""
        if self.unit_columns is None:
            return None
        (units,) = self.unit_columns
        return units.columns[np.argsort(units.key, kind="stable")].T


@dataclass(frozen=True, eq=False)
class CellCounter:
    """How cells are counted. classes: the number of actual, and of predicted, classes.

    scale, square_scale: the units in which weights and their squares are counted, scale None if
    rows are unweighted. bins: the largest number of cells. few: the largest number of units whose
    cells are kept one by one.
    """

    classes: int
    scale: float | None
    square_scale: float = 1.0
    bins: int = USUAL.bins
    few: int = 0

    def weights(self, block: Block) -> Ints | None:
        """The weight of each row as a whole number; None if rows are unweighted."""
        return None if self.scale is None else grid.in_units(block.weights, self.scale)

    def count(
        self, block: Block, actual: Ints, predicted: Sequence[Ints] | Ints, weight: Ints | None
    ) -> CellCounts:
        """The cells of the rows of a block. predicted: the classes of each system. weight: as from
        `weights`.
        """
        k = self.classes
        cells = dict[tuple[int, int], Tally]()
        for system, classes in enumerate(predicted):
            cells[system, system] = self._tally(actual * k + classes, k**2, weight)
            if block.clustered:  # pairs of systems are compared by unit, from the products
                continue
            for earlier in range(system):
                joint = (actual * k + predicted[earlier]) * k + classes
                cells[earlier, system] = self._tally(joint, k**3, weight)
        if not block.clustered:
            return CellCounts(cells, ())
        return CellCounts(cells, (self._products(block, actual, predicted, weight),))

    def _tally(self, cell: Ints, cells: int, weight: Ints | None) -> Tally:
        """The number of rows by cell, and for weighted rows the sums of their weights and of the
        squares. cell: of each row, below `cells`.
        """
        return Tally(max_bins=self.bins, grids=(self._bins(cell, cells, weight),))

    def _bins(self, cell: Ints, cells: int, weight: Ints | None) -> grid.Grid:
        """The sums of `_tally`, one bin per cell that occurs."""
        columns = [np.ones(len(cell), np.int64)]  # of whole numbers, whose sums are exact
        if weight is not None:
            squares = (weight * (self.scale or 1.0)) ** 2
            columns += [weight, np.rint(squares / self.square_scale).astype(np.int64)]
        if cells > DENSE:
            return grid.binned(grid.codes(cell.astype(np.float64)), columns, self.bins)
        sums = np.zeros((len(columns), cells), np.int64)
        for total, column in zip(sums, columns, strict=True):
            np.add.at(total, cell, column)
        rows, *_ = sums
        occurring = np.flatnonzero(rows)
        code = grid.codes(occurring.astype(np.float64))
        return grid.Grid(shift=0, low=code, high=code, sums=tuple(sums[:, occurring]))

    def _products(
        self,
        block: Block,
        actual: Ints,
        predicted: Sequence[Ints] | Ints,
        whole_weight: Ints | None,
    ) -> Products | UnitSums:
        """The products of a unit's weights in each two cells of all systems, or the weights
        themselves if the rows of a unit are spread over blocks.
        """
        from scipy import sparse

        k = self.classes
        weight = np.ones(len(block))
        if whole_weight is not None:
            weight = (whole_weight * (self.scale or 1.0)).astype(np.float64)
        columns = [(system * k + actual) * k + classes for system, classes in enumerate(predicted)]
        size = len(predicted) * k**2
        hashes, unit = block.key_index
        units = len(hashes)
        if block.units_split:
            sums = np.zeros(size * units)
            for column in columns:
                sums = sums + np.bincount(column * units + unit, weight, size * units)
            return UnitSums(hashes, sums.reshape(size, units), 0)
        entries = np.tile(weight, len(columns))
        positions = (np.tile(unit, len(columns)), np.concatenate(columns))
        by_unit = sparse.csr_matrix((entries, positions), (units, size))
        unit_columns = (UnitColumns(hashes, by_unit),) if units <= self.few else None
        not_kept = np.zeros(size)
        return Products(
            n=units,
            mean=not_kept,
            second=(by_unit.T @ by_unit).toarray(),
            third=not_kept,
            max_units=self.few,
            unit_columns=unit_columns,
        )

    def slice_cells(self, counts: CellCounts, layout: Layout) -> SliceCells:
        """The cells of all systems. layout: of the rows."""
        by_system = []
        by_pair = {}
        for (first, second), tally in counts.cells.items():
            if first == second:
                by_system.append(self.cells(tally.merged, 1).with_weight)
            else:
                by_pair[first, second] = self.cells(tally.merged, 2).with_weight
        if counts.products:
            moments = counts.products[0].moments.around_zero
            n = moments.n
        else:
            moments = None
            n = int(self.cells(counts.cells[0, 0].merged, 1).n.sum())
        return SliceCells(
            self.classes, layout, n=n, by_system=by_system, by_pair=by_pair, moments=moments
        )

    def cells(self, table: grid.Grid, systems: int) -> Cells:
        """The cells of one system or of a pair, from their counts."""
        code = grid.scores(table.low).astype(np.int64)
        actual, *predicted = np.unravel_index(code, (self.classes,) * (1 + systems))
        if len(table.sums) == 1:  # without weights rows stand for all
            rows = weight = squares = table.sums[0]
        else:
            rows, weight, squares = table.sums
        return Cells(
            actual=actual,
            predicted=tuple(predicted),
            n=rows,
            weight=weight * (self.scale or 1.0),
            squares=squares * self.square_scale,
        )


# Decisions at many thresholds at once -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MovingDecisions:
    """A system's decisions at several thresholds, on clustered or weighted rows."""

    by_threshold: Sequence[SliceCells]

    @classmethod
    def of_rows(cls, rows: Rows, table: Counts) -> MovingDecisions:
        """The decisions on rows at the thresholds of their counts, in descending order."""
        unit, weights = units_of(rows)
        units = len(weights)
        products = _cell_products(rows, table.threshold, unit, units)
        not_kept = np.zeros(4)
        by_threshold = []
        for threshold, second in zip(table.threshold, products, strict=True):
            cells = decision_cells(influence.decision(table, threshold))
            moments = Moments(
                n=units,
                mean=not_kept,
                second=second,
                third=not_kept,
                max_units=0,
                unit_columns=None,
            )
            by_threshold.append(
                SliceCells(
                    classes=2,
                    layout=Layout.WEIGHTED,
                    n=units,
                    by_system=[cells],
                    by_pair={},
                    moments=moments,
                )
            )
        return cls(by_threshold)

    @property
    def units(self) -> float:
        """Kish's number of units."""
        slice_cells = self.by_threshold[0]
        every_cell = np.ones(len(slice_cells.by_system[0].weight))
        return slice_cells.kish(every_cell)

    @cached_property
    def error_variance(self) -> Floats:
        """The variance and covariance of the two error rates, one row per threshold.

        The columns are x, the variance of FP / n; y, twice the covariance; and z, the variance of
        FN / n. The mean cost a FP / n + b FN / n has the variance a² x + a b y + b² z.
        """
        squares = np.array([_error_squares(cells) for cells in self.by_threshold])
        variance: Floats = ratio(self.units, self.units - 1) * squares
        return variance


FALSE_POSITIVE = 1  # the columns of these cells among those of a system with two classes
FALSE_NEGATIVE = 2


def _error_squares(slice_cells: SliceCells) -> Floats:
    """Σ x², 2 Σ x y and Σ y² over units, with the influence of each on FP / n (x) and on FN / n
    (y).
    """
    assert slice_cells.moments is not None
    cells = slice_cells.by_system[0]
    n = cells.weight.sum()
    weight = np.bincount(slice_cells.columns(0), cells.weight, 4)
    errors = [FALSE_POSITIVE, FALSE_NEGATIVE]
    # two rows, FP and FN: 1 in their own cell, less their share, of each cell's weight
    influence_of_cell = np.eye(4)[errors] - weight[errors, None] / n
    squares = influence_of_cell @ slice_cells.moments.second @ influence_of_cell.T / n**2
    (x, xy), (_, y) = squares
    # rounding may leave a square below 0, which a product may be
    return np.maximum([x, 2 * xy, y], [0.0, -np.inf, 0.0])


def _cell_products(rows: Rows, threshold: Floats, unit: Ints, units: int) -> Iterator[Floats]:
    """At each threshold, in descending order, the products of units' weights in two cells, summed
    over units: (4, 4).

    Between two thresholds only the units of rows with a score in between change.
    """
    # the cell of a row is 2 · actual + predicted; no row is predicted positive yet
    cell = np.where(rows.actual == 1, 2, 0)
    weights = np.zeros((4, units))  # of each unit in each cell
    np.add.at(weights, (cell, unit), rows.weights)
    products = weights @ weights.T
    entering = np.searchsorted(-threshold, -np.asarray(rows.score, float), side="left")
    order = np.argsort(entering, kind="stable")
    starts = np.searchsorted(entering[order], np.arange(1, len(threshold) + 1))
    for entered in np.split(order, starts[:-1]):
        touched, number = np.unique(unit[entered], return_inverse=True)
        before = weights[:, touched]
        after = before.copy()
        np.add.at(after, (cell[entered], number), -rows.weights[entered])
        np.add.at(after, (cell[entered] + 1, number), rows.weights[entered])
        weights[:, touched] = after
        products = products + after @ after.T - before @ before.T
        yield products


class UnitWeights(NamedTuple):
    """The number of each row's unit, and the weight of each unit."""

    unit: Ints
    weight: Floats


def units_of(rows: Rows) -> UnitWeights:
    """The units of rows; each row is one if they are independent."""
    unit = np.arange(len(rows)) if rows.unit is None else codes(rows.unit)[0]
    return UnitWeights(unit, np.bincount(unit, rows.weights).astype(np.float64))
