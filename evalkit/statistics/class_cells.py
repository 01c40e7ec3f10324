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
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics import grid, influence
from evalkit.metrics.blocks import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.moments import Moments, UnitColumns, UnitSums
from evalkit.metrics.rows import Rows, Sums
from evalkit.metrics.summaries import Bundle
from evalkit.metrics.tallies import Tally
from evalkit.statistics.spread import Spread, only_power
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

# with more possible cells, only those that occur are kept, which needs a sort
MAX_DENSE_CELLS = 2**22
ROUNDING_OF_PRODUCTS = 1e-12  # relative difference of sums of products that is rounding


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of a slice, added up by actual class and the classes that one or two systems
    predict.

    actual: the class of each cell, (cells,). predicted: one such array per system. n: its number of
    rows. weight, squares: Σ weight and Σ weight² over its rows.
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
        """`Rows` with one row per cell, weighted by the weight of the cell.

        system: whose predictions, 0 or 1 as in `predicted`. classes: the number of classes.
        """
        decision = self.predicted[system]
        return Rows(self.actual, decision=decision, weight=self.weight, classes=classes)


def decision_cells(decisions: Counts) -> Cells:
    """The cells of unweighted rows by label and decision, at most four, from the counts of
    decisions: rows predicted positive first, then the others.
    """
    actual, predicted = kinds.CELLS
    n = np.ravel([decisions.positive, decisions.negative])
    weight = n.astype(np.float64)
    return Cells(actual, predicted=(predicted,), n=n, weight=weight, squares=weight).with_weight


@dataclass(frozen=True, eq=False)
class SliceCells:
    """The cells of all systems on a slice of the sample.

    classes: the number of classes. n: the number of units, or of rows if these are independent.
    by_system: the cells of each system. by_pair: the cells of both systems' predictions, by the
    numbers of the pair, the lower first. moments: for clustered rows the uncentred moments over
    units of a unit's weight in each possible cell of each system, see `column_of_cell`; None if
    rows are independent.
    """

    classes: int
    layout: Layout
    n: int
    by_system: Sequence[Cells]
    by_pair: Mapping[tuple[int, int], Cells]
    moments: Moments | None = None

    def column_of_cell(self, system: int) -> Ints:
        """The column in `moments` of each cell of a system, (cells,): columns are numbered by
        system, actual class and predicted class, the last fastest.
        """
        cells = self.by_system[system]
        (predicted,) = cells.predicted  # of one system
        system_and_actual = system * self.classes + cells.actual
        return system_and_actual * self.classes + predicted

    @property
    def in_memory(self) -> bool:
        """True if the cells of every unit are in memory."""
        return has_units(self.moments)

    def kish(self, in_group: Floats, system: int = 0) -> float:
        """Kish's effective number of units, (Σ w)² / Σ w², with a unit's weight w in a group of the
        cells of a system. in_group: 1 for these cells, 0 for the others.
        """
        total = self.by_system[system].weight @ in_group
        # the one number of a unit is its w: the products are a 1 × 1 matrix, Σ w²
        squares = self.products(system, in_group[None]).item()
        return float(ratio(total**2, squares))

    def products(self, system: int, values: Floats) -> Floats:
        """The sums over units of the products of each two of k numbers of a unit: (k, k). A number
        is the unit's sum of weight · value over the cells of the system.

        values: (k, cells), a row of values of the cells for each number.
        """
        if self.moments is None:  # each row is a unit, with one value: Σ weight² value valueᵀ
            return (values * self.by_system[system].squares) @ values.T
        columns = self.column_of_cell(system)
        # Σ over units of a unit's weight in one cell times its weight in another: (cells, cells)
        weight_products = self.moments.second[np.ix_(columns, columns)]
        return values @ weight_products @ values.T


def cell_statistic(
    metric_at_k: metric.MetricAtK, slice_cells: SliceCells, system: int
) -> CellStatistic:
    """The statistic of a metric of one system, given by its number, on a slice."""
    cells = slice_cells.by_system[system]
    # cells of one system hold its predictions alone, as number 0
    rows = cells.rows(system=0, classes=slice_cells.classes)
    return CellStatistic(
        metric_at_k, rows, slice_cells=slice_cells, system=system, square_weights=cells.squares
    )


@dataclass(frozen=True, eq=False)
class CellStatistic(RowStatistic):
    """A metric of one system, computed from its cells, which are taken as weighted rows.

    slice_cells: those of all systems. system: the number of this one. square_weights: Σ weight² of
    each cell, which the variance of independent rows needs.
    """

    slice_cells: SliceCells
    system: int
    square_weights: Floats

    # the methods of `RowStatistic` look at single rows, which a cell does not know
    has_dominant_unit = SpreadStatistic.has_dominant_unit
    difference_on_shared_units = SpreadStatistic.difference_on_shared_units

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
        """The number of units, or of rows if these are independent."""
        return self.slice_cells.n

    @property
    def fewest_units(self) -> float:
        """Kish's number of units in the smallest group of rows that the metric depends on."""
        kind = self.kind
        assert isinstance(kind, kinds.MetricKind)
        masks = [in_group.astype(np.float64) for in_group in kind.groups(self.rows)]
        return min(self.slice_cells.kish(in_group, self.system) for in_group in masks)

    @cached_property
    def row_influence(self) -> Floats:
        """The influence of one row of each cell on the metric, per unit of weight."""
        return ratio(self.effects.influence, self.rows.weights)

    def with_metric(self, metric_at_k: metric.MetricAtK, rows: Rows) -> CellStatistic:
        """The statistic of another metric on the same cells. rows: one per cell, perhaps with other
        classes than before, such as one class against the rest.
        """
        return replace(self, metric_at_k=metric_at_k, rows=rows)

    @property
    def upward_bias(self) -> float:
        """The expected value in samples of this size − the true value."""
        kind = self.kind
        assert isinstance(kind, kinds.MetricKind)
        return kind.upward_bias(self.rows)

    # The variance

    @cached_property
    def spread(self) -> Spread:
        """The spread of the units' influence values: from the cells if rows are independent, from
        the moments if they are clustered.
        """
        moments = self.slice_cells.moments
        if moments is None:
            return self._spread_of(self.row_influence, statistic=self)
        return combined_spread(moments, self.coefficients, n=self.n, freedom=self.freedom)

    def difference_spread(self, second: Self) -> Spread:
        """The spread of the units' influence on the difference self − second: from the joint cells
        of both systems if rows are independent, from the moments if they are clustered.
        """
        moments = self.slice_cells.moments
        if moments is None:
            joint = self.on_joint_rows(second)
            difference = joint.first.row_influence - joint.second.row_influence
            # of either statistic: both have the same joint cells
            return self._spread_of(difference, statistic=joint.first)
        return combined_spread(
            moments,
            self.coefficients,
            minus_coefficients=second.coefficients,
            n=self.n,
            freedom=self.freedom,
        )

    def null_difference_spread(self, second: Self) -> Spread:
        """As `difference_spread`, under the null hypothesis that both systems are equal, for
        independent rows and metrics of the highest-scored ones.
        """
        if self.slice_cells.moments is None:
            return super().null_difference_spread(second)
        return self.difference_spread(second)

    @property
    def coefficients(self) -> Floats:
        """The influence of a row of weight 1 in the cell of each column of the moments; 0 for the
        columns of other systems.
        """
        return self._by_moment_column(self.row_influence)

    def _by_moment_column(self, cell_values: Floats) -> Floats:
        """Values, one per cell of this system, at the columns of these cells in the moments; 0 at
        all other columns.
        """
        assert self.slice_cells.moments is not None
        columns = np.zeros(len(self.slice_cells.moments.mean))
        columns[self.slice_cells.column_of_cell(self.system)] = cell_values
        return columns

    @cached_property
    def sums(self) -> Sums:
        """The numerator and the denominator of the metric by unit, if the cells of every unit are
        in memory; the numerator is NaN for a unit that has no row for which the metric is defined.
        """
        terms = self.metric_at_k.sums(self.rows)  # of each cell
        numerator = self._sums_of_units(np.nan_to_num(terms.numerator))
        denominator = self._sums_of_units(np.where(terms.defined, terms.size, 0.0))
        defined_weight = self._sums_of_units(self.rows.weights * terms.defined)
        return Sums(np.where(defined_weight > 0, numerator, np.nan), denominator)

    def _sums_of_units(self, cell_sums: Floats) -> Floats:
        """The sum of each unit, (units,), from the sums over the rows of each cell, (cells,): a
        unit has the share of a cell's sum that it has of the cell's weight.
        """
        assert self.slice_cells.moments is not None
        weight_of_unit = self.slice_cells.moments.units  # in each cell: (columns, units)
        per_weight = ratio(cell_sums, self.rows.weights)
        sums: Floats = self._by_moment_column(per_weight) @ weight_of_unit
        return sums

    def counts_same_rows(self, other: Self) -> bool:
        """True if the metric is defined for as many rows of each unit for both systems."""
        return np.array_equal(self.sums.size, other.sums.size)

    def _spread_of(self, influence: Floats, statistic: RowStatistic) -> Spread:
        """The spread of the influence values of independent rows.

        influence: of a row of weight 1 in each cell, (cells,); a row has its weight times this.
        statistic: a `CellStatistic` whose rows are these cells: this statistic, or, for a
        difference, one with joint cells.
        """
        assert isinstance(statistic, CellStatistic)
        square = float(statistic.square_weights @ influence**2)  # Σ (weight · influence)²
        # Skewness and kurtosis would need Σ weight³ and Σ weight⁴, which cells do not hold: for
        # both a row counts as `weight` rows of weight 1.
        by_frequency = Spread.from_influence(influence, frequency=statistic.rows.weights)
        return Spread(
            self.n,
            square,
            kish=self.freedom + 1,
            standardised_power=by_frequency.standardised_power,
        )

    # Two systems

    def decides_same(self, other: Self) -> bool:
        """True if both systems predict the same class for every row; for clustered rows, if each
        unit has the same weight in each cell.
        """
        moments = self.slice_cells.moments
        if moments is None:
            joint = self.on_joint_rows(other)
            return np.array_equal(joint.first.rows.predicted, joint.second.rows.predicted)
        # Let x be a unit's weight in a cell of this system, y that in the same cell of the other.
        # If Σ x x, Σ x y and Σ y y over units are equal, Σ (x − y)² is 0, and no unit differs.
        cells = self.slice_cells.classes**2
        systems = len(self.slice_cells.by_system)
        # axes: system and cell of the first factor of a product, system and cell of the second
        products = moments.second.reshape(systems, cells, systems, cells)
        # of each two cells, (cells, cells); the products of a cell with itself are the diagonal
        xx = products[self.system, :, self.system]
        xy = products[self.system, :, other.system]
        yy = products[other.system, :, other.system]
        xy_is_same = np.allclose(xy, xx, rtol=ROUNDING_OF_PRODUCTS, atol=0.0)
        return xy_is_same and np.allclose(yy, xx, rtol=ROUNDING_OF_PRODUCTS, atol=0.0)

    def on_joint_rows(self, second: Self) -> JointRows:
        """Both statistics with the same rows, one per joint cell. All rows of a joint cell have the
        same actual class and the same two predictions, and so the same influence on each metric.
        """
        lower = min(self.system, second.system)
        higher = max(self.system, second.system)
        joint_cells = self.slice_cells.by_pair[lower, higher]
        classes = self.slice_cells.classes
        # joint cells hold the predictions of the system with the lower number at place 0, those of
        # the other one at place 1
        own_place = int(self.system != lower)
        second_place = int(second.system != lower)
        own_rows = joint_cells.rows(own_place, classes)
        second_rows = joint_cells.rows(second_place, classes)
        squares = joint_cells.squares  # Σ weight² of each joint cell
        return JointRows(
            first=replace(self, rows=own_rows, square_weights=squares),
            second=replace(second, rows=second_rows, square_weights=squares),
            square_weight=squares,
        )

    def count_rows(self, member: Bools) -> int:
        """The number of rows, each with weight 1, in the cells that the mask `member` marks."""
        return int(self.rows.weights @ member)

    def _null_influence(self, second: RowStatistic) -> Floats:
        # per unit of weight, as `row_influence`
        return ratio(super()._null_influence(second), self.rows.weights)

    # The metrics of a mean

    def components(self) -> Iterator[Component]:
        """The metrics that this one is the mean of: one metric on the rows of each part, such as a
        class against the rest, with the share of the part in the mean.
        """
        kind = self.kind
        assert isinstance(kind, metric.MeanOverClasses)
        metric_of_part = metric.MetricAtK(kind.metric)
        parts = list(kind.parts(self.rows))
        statistics = [self.with_metric(metric_of_part, part.rows) for part in parts]
        yield from self._components(statistics, [part.share for part in parts])

    def harmonic_pair(self) -> list[Component]:
        """The two metrics that this one is the harmonic mean of."""
        kind = self.kind
        assert isinstance(kind, metric.Harmonic)
        statistics = [self.with_metric(metric.MetricAtK(row), self.rows) for row in kind.pair]
        return self._components(statistics, [1.0, 1.0])

    def _components(
        self, statistics: Sequence[CellStatistic], shares: Sequence[float]
    ) -> list[Component]:
        """Statistics of the same cells as components with these shares. As the influence of single
        units is not known, vectors with the same variances and correlations take its place.
        """
        row_influence = np.array([statistic.row_influence for statistic in statistics])
        vectors = vectors_of(self.slice_cells.products(self.system, row_influence))
        return [
            Component(share, statistic, influence=vector)
            for share, statistic, vector in zip(shares, statistics, vectors, strict=True)
        ]


def vectors_of(products: Floats) -> Floats:
    """k vectors, the rows of the result, (k, k), whose inner products are `products`, (k, k).

    If products are sums over units of products of influence values, the vectors can take the place
    of the influence values, (k, units): their variances and correlations are the same.

    >>> vectors = vectors_of(np.array([[4.0, 2.0], [2.0, 9.0]]))
    >>> (vectors @ vectors.T).round(12).tolist()
    [[4.0, 2.0], [2.0, 9.0]]
    """
    length = np.sqrt(np.diagonal(products))
    # of a vector of length 0 the correlations are 0, not NaN
    correlation = np.nan_to_num(ratio(products, np.outer(length, length)))
    # V √λ for the eigenvectors V and the eigenvalues λ, which rounding may leave below 0:
    # (V √λ) (V √λ)ᵀ is the correlation
    eigenvalues, eigenvectors = np.linalg.eigh(correlation)
    unit_vectors = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    vectors: Floats = unit_vectors * length[:, None]
    return vectors


# Metrics of scores, from moments of the rows' influence -------------------------------------------


@dataclass(frozen=True, eq=False)
class InfluenceStatistic(LinearStatistic, ScoreStatistic):
    """A metric of scores, from sums instead of rows. A unit's influence is Σ coefficients · its
    columns; moments: of the columns over units, uncentred.

    untransformed: the value, or that of the metric that it transforms. n: the number of units, or
    of rows. freedom: Kish's number of them, less 1. tables: counts by score. system: its number.
    powers: for unweighted rows, by pair of systems (lower number first), Σ l² and Σ l⁴ of the
    influence l on their difference by class: (classes, 2), first the squares. rows_per_class: the
    number of rows of each class, empty if rows may have several labels.
    """

    layout: Layout
    untransformed: float
    coefficients: Floats
    n: int
    freedom: float
    tables: score_kinds.Tables = None  # type: ignore[assignment]  # a mean over classes has none
    system: int = 0
    powers: Mapping[tuple[int, int], Floats] = field(default_factory=dict)
    rows_per_class: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    error_method: ClassVar[str] = "influence sums, two passes"

    def predicts_same(self, other: Self) -> bool:
        """True if both have the same counts at each score, and each unit has the same influence on
        both: its influence on their difference has no spread.
        """
        # A mean over classes has no tables: equality is not known. The type does not say None, as
        # all other statistics of scores have tables.
        if self.tables is None or other.tables is None:  # type: ignore[redundant-expr]
            return False  # type: ignore[unreachable]
        if self.difference_spread(other).error != 0:
            return False
        own_counts = self.tables.counts
        other_counts = other.tables.counts
        return (
            np.array_equal(own_counts.threshold, other_counts.threshold)
            and np.array_equal(own_counts.tp, other_counts.tp)
            and np.array_equal(own_counts.fp, other_counts.fp)
        )

    def _difference_powers(self, second: Self) -> Floats:
        """Σ l² and Σ l⁴ of the influence l on the difference: (classes, 2)."""
        lower = min(self.system, second.system)
        higher = max(self.system, second.system)
        return self.powers[lower, higher]

    def squares_by_class(self, second: Self) -> ClassSquares:
        """For each class that occurs, Σ squared influence of its rows on the difference, and the
        number of its rows. No class if rows are weighted or clustered (`powers` is then empty), or
        if a row may have several labels (`rows_per_class` is then empty).
        """
        if not self.powers:
            return NO_CLASSES
        occurs = self.rows_per_class > 0
        squares, _ = self._difference_powers(second).T  # Σ l² of each class, and its Σ l⁴
        squares = squares[: len(occurs)]  # none without numbers of rows
        return ClassSquares(squares[occurs], self.rows_per_class[occurs])

    def null_difference_spread(self, second: Self) -> Spread:
        """The spread of the units' influence l on the difference, from Σ l² and Σ l⁴ (`powers`);
        if these sums were not added up, `difference_spread`.

        Σ l² is the squared error, and Σ l⁴ gives the kurtosis. A metric of the highest-scored rows,
        such as precision, has the l of the null hypothesis that both systems are equal.
        """
        if not self.powers:
            return self.difference_spread(second)
        square, fourth = self._difference_powers(second).sum(axis=0)  # over the classes
        standardised_fourth = float(ratio(fourth, square**2))
        return Spread(
            self.n,
            float(square),
            kish=self.freedom + 1,
            standardised_power=only_power(4, standardised_fourth),
        )

    @property
    def upward_bias(self) -> float:
        """The expected value in samples of this size − the true value."""
        return float(self.kind.upward_bias(self.tables))  # type: ignore[arg-type]  # a table


ClassStatistic = CellStatistic | InfluenceStatistic


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassMeanStatistic(InfluenceStatistic):
    """A mean of a metric over classes or labels.

    shares, statistics: the share of each class in the mean, and the statistic of its metric.
    positives: the number of rows of each class. columns: the column of each class among those of
    the moments; if shares are estimated, also the column of the rows' influence through the shares.
    """

    shares: Sequence[float]
    statistics: Sequence[ClassStatistic]
    positives: Floats
    columns: Sequence[int]

    @property
    def scarce(self) -> bool:
        """True if it is a mean of many parts of unweighted rows with few positives each."""
        kind = self.kind
        if self.layout is not Layout.PLAIN or not isinstance(kind, metric.MeanOverClasses):
            return False
        return kind.scarce(self.positives)

    def leave_one_out(self) -> Self:
        """Itself: the influence values of a scarce mean were already added up by leaving out each
        row.
        """
        return self

    @cached_property
    def _column_vectors(self) -> Floats:
        """A vector per column that stands in for the units' influence through this column; see
        `vectors_of`.
        """
        return vectors_of(self.moments.second[np.ix_(self.columns, self.columns)])

    def components(self) -> Iterator[Component]:
        """One component per class or label."""
        vectors = self._column_vectors[: len(self.statistics)]
        for share, statistic, vector in zip(self.shares, self.statistics, vectors, strict=True):
            yield Component(share, statistic, influence=vector, bias=statistic.upward_bias)

    def share_influence(self) -> Floats | None:
        """The units' influence on the mean through its shares; None if the shares are fixed."""
        shares_are_estimated = len(self.columns) > len(self.statistics)
        return self._column_vectors[-1] if shares_are_estimated else None


# How cells are counted ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellCounts(Bundle):
    """The sums from which the cells of a slice are made.

    cells: by the numbers of two systems, the number of rows by actual class and both predicted
    classes (of one system under its number twice), and for weighted rows Σ weight and Σ weight².
    products: for clustered rows one element, the products of a unit's weights in each two cells,
    summed over units; while units are still split over blocks, the weights themselves. Else empty.
    """

    cells: dict[tuple[int, int], Tally]
    products: tuple[CellMoments | UnitSums, ...]


@dataclass(frozen=True, eq=False)
class CellMoments(Moments):
    """The moments of the weights that units have in cells (actual and predicted class), one column
    per cell of each system. Only the sums of products of each two columns (`second`), not centred,
    are known; means and sums of cubes are not needed and 0.

    unit_columns: one element, the weights themselves as a sparse matrix with a row per unit and a
    column per cell, as most cells are empty in a unit. For methods that need every unit; None if
    there are more than `max_units`.
    """

    def __add__(self, other: Moments) -> CellMoments:
        """The moments over the units of both, which must be different units; means and sums of
        cubes stay 0.

        The weights of each unit are kept, for methods that need every unit, if both have them and
        the units are at most `max_units` together; more would take too much memory.
        """
        from scipy import sparse

        n = self.n + other.n
        unit_columns = None
        if n <= self.max_units and self.unit_columns is not None and other.unit_columns is not None:
            # one element each: here sparse matrices are joined at once, not kept as pieces
            (units,) = self.unit_columns
            (other_units,) = other.unit_columns
            key = np.append(units.key, other_units.key)
            weights = sparse.vstack([units.columns, other_units.columns], "csr")
            unit_columns = (UnitColumns(key, weights),)
        return replace(self, n=n, second=self.second + other.second, unit_columns=unit_columns)

    @cached_property
    def units(self) -> Any:  # a scipy sparse matrix, which has no types
        """The columns of every unit, a column per unit in the order of the hashes of their keys;
        None if they are not kept.
        """
        if self.unit_columns is None:
            return None
        (units,) = self.unit_columns
        return units.columns[np.argsort(units.key, kind="stable")].T


@dataclass(frozen=True, eq=False, kw_only=True)
class CellCounter:
    """Counts cells block by block, in whole numbers, so that sums do not depend on the order.

    classes: the number of classes. scale: weights are counted as multiples of it; None if rows are
    unweighted. square_scale: the squares of weights are counted as multiples of it. max_cells: the
    largest number of cells. max_units: the largest number of units whose cells are kept one by one.
    """

    classes: int
    scale: float | None
    square_scale: float = 1.0
    max_cells: int = USUAL_LIMITS.bins
    max_units: int = 0

    @property
    def weight_of_one(self) -> float:
        """The weight that a counted 1 stands for: `scale`, or 1 if rows are unweighted."""
        return self.scale or 1.0

    def weights(self, block: Block) -> Ints | None:
        """The weight of each row as a whole multiple of `scale`; None if rows are unweighted."""
        if self.scale is None:
            return None
        return grid.in_units(block.weights, self.scale)

    def count(
        self, block: Block, actual: Ints, predicted: Sequence[Ints] | Ints, weight: Ints | None
    ) -> CellCounts:
        """The number and the weight of the rows of a block in each cell.

        The cells of system s, by actual and predicted class, are under the key (s, s). To compare
        two systems takes further sums. If rows are independent, these are the joint cells, by
        actual class and the classes that systems r < s predict, under the key (r, s). If rows are
        clustered, `products` has one element instead: the products of a unit's weights in two
        cells, summed over units.

        actual: the class of each row, (rows,). predicted: the class that each system predicts for
        each row, (systems, rows). weight: of each row in whole multiples of `scale`, None if rows
        are unweighted; see `weights`.
        """
        k = self.classes
        cells = dict[tuple[int, int], Tally]()
        for system, predicted_class in enumerate(predicted):
            cell_of_row = actual * k + predicted_class
            cells[system, system] = self._tally(cell_of_row, k**2, weight)
            if block.clustered:  # `products` take the place of joint cells
                continue
            for earlier in range(system):
                earlier_cell_of_row = actual * k + predicted[earlier]
                joint_cell_of_row = earlier_cell_of_row * k + predicted_class
                cells[earlier, system] = self._tally(joint_cell_of_row, k**3, weight)
        if not block.clustered:
            return CellCounts(cells, products=())
        products = self._products(block, actual, predicted, weight)
        return CellCounts(cells, products=(products,))

    def _tally(self, cell_of_row: Ints, possible_cells: int, weight: Ints | None) -> Tally:
        """The number of rows by cell, and for weighted rows Σ weight and Σ weight², as a tally to
        which those of other blocks can be added. Arguments as for `_bins`.
        """
        bins = self._bins(cell_of_row, possible_cells, weight)
        return Tally(max_bins=self.max_cells, grids=(bins,))

    def _bins(self, cell_of_row: Ints, possible_cells: int, weight: Ints | None) -> grid.Grid:
        """One bin per cell that occurs, with the number of the cell in the place of a score. The
        sums of a bin are the number of rows and, for weighted rows, Σ weight / `scale` and
        Σ weight² / `square_scale`; both are rounded to whole numbers row by row, so that the sums
        are exact.

        cell_of_row: the number of each row's cell, below `possible_cells`. weight: of each row, as
        a number of times `scale`, from `weights`; None if rows are unweighted.
        """
        columns = [np.ones(len(cell_of_row), np.int64)]  # whole numbers, whose sums are exact
        if weight is not None:
            squares = (weight * self.weight_of_one) ** 2  # of the weights themselves
            columns += [weight, np.rint(squares / self.square_scale).astype(np.int64)]
        if possible_cells > MAX_DENSE_CELLS:  # too many for an array of all: the rows are sorted
            codes_of_rows = grid.codes(cell_of_row.astype(np.float64))
            return grid.binned(codes_of_rows, columns, self.max_cells)
        # not np.bincount, which adds up floats
        sums = np.zeros((len(columns), possible_cells), np.int64)
        for sum_by_cell, column in zip(sums, columns, strict=True):
            np.add.at(sum_by_cell, cell_of_row, column)
        rows_by_cell, *_ = sums
        occurring = np.flatnonzero(rows_by_cell)
        code = grid.codes(occurring.astype(np.float64))
        # A grid has a bin per range of codes. Here a bin holds one cell: no bits of a code are
        # dropped (`shift`), and the lowest and the highest code of the bin are the same.
        return grid.Grid(shift=0, low=code, high=code, sums=tuple(sums[:, occurring]))

    def _products(
        self,
        block: Block,
        actual: Ints,
        predicted: Sequence[Ints] | Ints,
        whole_weight: Ints | None,
    ) -> CellMoments | UnitSums:
        """The products of a unit's weights in each two cells of all systems, summed over units:
        (cells, cells). If the rows of a unit are spread over blocks, no block knows the products;
        the result is then the weights themselves, (cells, units), which other blocks add to.

        actual, predicted: as in `count`. whole_weight: of each row, as a number of times `scale`,
        from `weights`; None if rows are unweighted.
        """
        from scipy import sparse

        k = self.classes
        weight = np.ones(len(block))
        if whole_weight is not None:
            weight = (whole_weight * self.weight_of_one).astype(np.float64)
        # for each system the number of each row's cell: by system, actual and predicted class
        cell_of_row = []
        for system, predicted_class in enumerate(predicted):
            system_and_actual = system * k + actual
            cell_of_row.append(system_and_actual * k + predicted_class)
        systems = len(predicted)
        cells = systems * k**2
        hashes, unit = block.key_index  # of each unit, and the number of each row's unit
        units = len(hashes)
        if block.units_split:
            sums = np.zeros(cells * units)
            for cell in cell_of_row:
                cell_and_unit = cell * units + unit
                sums = sums + np.bincount(cell_and_unit, weight, cells * units)
            # `max_units` has no effect on sums by unit, which keep all units
            return UnitSums(hashes, sums.reshape(cells, units), max_units=0)
        # The weight of each unit in each cell, (units, cells), sparse, as most cells are empty in a
        # unit. A row has an entry per system; scipy adds up entries at the same position.
        entries = np.tile(weight, systems)
        positions = (np.tile(unit, systems), np.concatenate(cell_of_row))
        by_unit = sparse.csr_matrix((entries, positions), (units, cells))
        # single units are kept for methods that need them, if memory allows
        unit_columns = (UnitColumns(hashes, by_unit),) if units <= self.max_units else None
        not_kept = np.zeros(cells)  # means and sums of cubes, see `CellMoments`
        return CellMoments(
            n=units,
            mean=not_kept,
            second=(by_unit.T @ by_unit).toarray(),
            third=not_kept,
            max_units=self.max_units,
            unit_columns=unit_columns,
        )

    def slice_cells(self, counts: CellCounts, layout: Layout) -> SliceCells:
        """The cells of all systems and of each two, and the number of units (or of independent
        rows). counts: added up over all blocks. layout: of the rows.
        """
        by_system = []
        by_pair = {}
        for (first, second), tally in counts.cells.items():
            if first == second:  # the cells of one system have its number twice
                by_system.append(self.cells(tally.merged, systems=1).with_weight)
            else:
                by_pair[first, second] = self.cells(tally.merged, systems=2).with_weight
        if counts.products:  # one element if rows are clustered, else none
            (products,) = counts.products
            moments = products.moments.around_zero
            n = moments.n
        else:
            moments = None
            # each row is in one cell of any system, also a row without weight
            cells_of_first = self.cells(counts.cells[0, 0].merged, systems=1)
            n = int(cells_of_first.n.sum())
        return SliceCells(
            self.classes, layout, n=n, by_system=by_system, by_pair=by_pair, moments=moments
        )

    def cells(self, bins: grid.Grid, systems: int) -> Cells:
        """The cells of one system, or of two, with their sums, from the bins of `_bins`. systems: 1
        or 2.
        """
        # The score of a bin is the number of its cell, whose digits to the base of the number of
        # classes are the actual class and then each prediction.
        cell = grid.scores(bins.low).astype(np.int64)
        actual, *predicted = np.unravel_index(cell, (self.classes,) * (1 + systems))
        if len(bins.sums) == 1:  # unweighted: weights and their squares are 1 per row
            (rows,) = bins.sums
            weight = rows
            squares = rows
        else:
            rows, weight, squares = bins.sums
        return Cells(
            actual=actual,
            predicted=tuple(predicted),
            n=rows,
            weight=weight * self.weight_of_one,
            squares=squares * self.square_scale,
        )


# Decisions at many thresholds at once -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DecisionsByThreshold:
    """A system's decisions at several thresholds, on clustered or weighted rows, for the intervals
    of a page on which the threshold can be moved.

    by_threshold: of each threshold the weight of the true and false negatives and positives (the
    four cells, in the order TN, FP, FN, TP), with the products of the cells over units.
    """

    by_threshold: Sequence[SliceCells]

    @classmethod
    def from_rows(cls, rows: Rows, table: Counts) -> DecisionsByThreshold:
        """The decisions on rows at each threshold of `table`, in the order of its thresholds, the
        highest first. table: the counts of these rows.
        """
        numbered = units_of(rows)
        units = len(numbered.weight_of_unit)
        products = _cell_products(rows, table.threshold, numbered.unit_of_row, units)
        # the variance of a rate needs only the sums of products of two cells, `second`
        not_needed = np.zeros(4)
        by_threshold = []
        for threshold, products_of_cells in zip(table.threshold, products, strict=True):
            cells = decision_cells(influence.decision(table, threshold))
            moments = Moments(
                n=units,
                mean=not_needed,
                second=products_of_cells,
                third=not_needed,
                max_units=0,
                unit_columns=None,  # single units are not needed either
            )
            by_threshold.append(
                SliceCells(
                    classes=2,
                    # the rows may be in units, weighted or both; weighted is the general case
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
        """Kish's number of units, which is the same at each threshold."""
        slice_cells = self.by_threshold[0]
        every_cell = np.ones(len(slice_cells.by_system[0].weight))
        return slice_cells.kish(every_cell)

    @cached_property
    def error_variance(self) -> Floats:
        """The variances and the covariance of FP / n and FN / n, one row per threshold:
        (thresholds, 3).

        The columns are x, the variance of FP / n; y, twice the covariance; and z, the variance of
        FN / n. The mean cost a FP / n + b FN / n has the variance a² x + a b y + b² z.
        """
        squares = np.array([_error_squares(cells) for cells in self.by_threshold])
        # n / (n − 1) of Kish's number of units, as of a sample variance
        variance: Floats = ratio(self.units, self.units - 1) * squares
        return variance


# the columns of these cells among the four of a system, 2 · actual + predicted
FALSE_POSITIVE = 1
FALSE_NEGATIVE = 2


def _error_squares(slice_cells: SliceCells) -> Floats:
    """Σ x², 2 Σ x y and Σ y² over units, (3,), with the influence x of a unit on FP / n, the share
    of false positives among all rows, and y on FN / n, the share of false negatives. The variance
    of any weighted sum of both shares follows from them.

    slice_cells: the decisions of one system at a threshold.
    """
    assert slice_cells.moments is not None
    (cells,) = slice_cells.by_system
    n = cells.weight.sum()
    # in the order TN, FP, FN, TP, also of cells without rows, which `cells` does not have
    weight_of_cell = np.bincount(slice_cells.column_of_cell(system=0), cells.weight, minlength=4)
    errors = [FALSE_POSITIVE, FALSE_NEGATIVE]
    # n times the influence of a row in each of the 4 cells, on FP / n (first line) and on FN / n:
    # 1 in the cell of the error, else 0, less the share; (2, 4)
    influence_of_cell = np.eye(4)[errors] - weight_of_cell[errors, None] / n
    # `second`: Σ over units of a unit's weight in one cell times its weight in another, (4, 4)
    products = influence_of_cell @ slice_cells.moments.second @ influence_of_cell.T / n**2
    (xx, xy), (_, yy) = products
    # rounding may leave a sum of squares below 0; Σ x y may be negative without rounding
    return np.array([max(xx, 0.0), 2 * xy, max(yy, 0.0)])


def _cell_products(rows: Rows, threshold: Floats, unit: Ints, units: int) -> Iterator[Floats]:
    """Yield, for each threshold, the products of a unit's weights in each two of the four cells
    (TN, FP, FN, TP), summed over units: (4, 4).

    threshold: descending; the last one must not be above the lowest score. unit: the number of each
    row's unit, below `units`.

    From one threshold to the next only the rows with a score in between change their cell, from TN
    to FP or from FN to TP. So only the products of the units of these rows are replaced.
    """
    # the cell of a row is 2 · actual + predicted; at first no row is predicted positive
    negative_cell = np.where(rows.actual == 1, 2, 0)
    weights = np.zeros((4, units))  # of each unit in each cell
    np.add.at(weights, (negative_cell, unit), rows.weights)
    products = weights @ weights.T
    # the number of the first threshold at which each row is predicted positive; thresholds and
    # scores are negated, as searchsorted needs ascending values
    entry = np.searchsorted(-threshold, -np.asarray(rows.score, float), side="left")
    order = np.argsort(entry, kind="stable")
    # the rows that enter at a threshold are neighbours in `order`, up to its place in `ends`
    next_threshold = np.arange(1, len(threshold) + 1)
    ends = np.searchsorted(entry[order], next_threshold)
    for entering in np.split(order, ends[:-1]):
        # These rows are predicted positive from here on: they leave their cell for the next number.
        # position: of each row's unit among the units that change.
        changing_units, position = np.unique(unit[entering], return_inverse=True)
        before = weights[:, changing_units]
        after = before.copy()
        np.add.at(after, (negative_cell[entering], position), -rows.weights[entering])
        np.add.at(after, (negative_cell[entering] + 1, position), rows.weights[entering])
        weights[:, changing_units] = after
        products = products + after @ after.T - before @ before.T
        yield products


class UnitWeights(NamedTuple):
    """The units of rows, numbered from 0: the number of each row's unit, (rows,), and the weight of
    each unit, (units,).
    """

    unit_of_row: Ints
    weight_of_unit: Floats


def units_of(rows: Rows) -> UnitWeights:
    """The units of rows and their weights; each row is a unit if rows are independent."""
    unit = np.arange(len(rows))
    if rows.unit is not None:
        unit, _ = codes(rows.unit)
    return UnitWeights(unit, np.bincount(unit, rows.weights).astype(np.float64))
