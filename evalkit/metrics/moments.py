"""Moments of columns over the units of a table, which are merged exactly by Chan's formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints, quotient
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import Hashes

Columns = Callable[[Block], Floats]  # a block -> columns of its rows, shape (columns, rows)

MIN_PIECE = 64  # rows whose products are added up at once, at least
MAX_MULTIPLICATIONS = 2**18  # in one product of matrices, so that BLAS starts no second thread
# A sum of squares is taken as 0 below this share of the sum of its absolute terms: rounding leaves
# as much.
ROUNDING = 1e-14
# Kish's number of units is taken as 1 if it exceeds 1 by less: rounding leaves as much where one
# unit has all weight.
ALL_ON_ONE = 1e-12


def products(x: Floats) -> Floats:
    """x @ x.T, the sums of products of each two columns; shape (columns, columns).

    x: shape (columns, rows). The rows are taken in pieces so small that BLAS does not start further
    threads, which would only wait for each other. With many columns a piece has at least a few
    rows, because adding the pieces would otherwise take longer than making them.
    """
    n_products = len(x) ** 2
    step = max(MIN_PIECE, MAX_MULTIPLICATIONS // n_products)
    total = np.zeros((len(x), len(x)))
    for start in range(0, x.shape[1], step):
        piece = x[:, start : start + step]
        total += piece @ piece.T
    return total


class UnitColumns(NamedTuple):
    """Columns with one number per unit, and the hash of each unit."""

    key: Hashes
    columns: Any  # (columns, units); in `class_cells.CellMoments` a sparse matrix (units, columns)


class PowerSumsOfUnits(NamedTuple):
    """The sums over units of the squares and of the fourth powers of a number of each unit."""

    squares: float
    fourth_powers: float


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of m columns over n units: their means, shape (m,), centred sums of products of each
    two columns, shape (m, m), and centred sums of cubes, shape (m,).

    unit_columns: the columns themselves, in pieces, for methods that need every unit; None if there
    are more than `max_units` units.
    """

    n: int
    mean: Floats
    second: Floats
    third: Floats
    max_units: int
    unit_columns: tuple[UnitColumns, ...] | None

    @staticmethod
    def from_block(
        block: Block, columns: Columns, max_units: int, *, squared: bool = False
    ) -> Moments:
        """The moments (means, sums of products and of cubes) of columns over the units of a block.
        The rows of a unit are added up first; without units each row is one.

        columns: block -> the columns, weights included, shape (columns, rows); it is called for
        pieces of the block. max_units: with more units the columns of the single units are not
        kept. squared: False for the moments of the columns. True for those of the products of each
        two columns, from which `powers` has the fourth powers of a linear combination.
        """
        units = len(block.unit_starts) if block.clustered else len(block)
        if units > max_units:  # too many in the whole block: no piece needs to keep its own
            max_units = 0
        moments = [
            Moments._from_piece(piece, columns(piece), max_units, squared=squared)
            for piece in block.steps()
        ]
        # neighbours are added in pairs, then the sums of pairs: fewer roundings than one by one
        while len(moments) > 1:
            neighbours = zip(moments[::2], moments[1::2], strict=False)
            pairs = [first + second for first, second in neighbours]
            without_neighbour = moments[2 * len(pairs) :]  # the last one of an odd number
            moments = [*pairs, *without_neighbour]
        return moments[0]

    @staticmethod
    def _from_piece(block: Block, x: Floats, max_units: int, *, squared: bool) -> Moments:
        """The moments over units of columns of the rows of a block, which are first added up by
        unit if rows have units. x: the columns, shape (columns, rows). squared: if True, the
        moments of the products of each two columns instead. Single units are not kept for these, as
        `powers` needs sums only.
        """
        unit_key = block.key
        if block.clustered:  # the rows of a unit are neighbours: x becomes its sums
            x = np.add.reduceat(x, block.unit_starts, axis=1)
            unit_key = block.key[block.unit_starts]
        if squared:
            i, j = np.triu_indices(len(x))  # each two columns once
            squares = x[i] * x[j]
            return Moments.from_columns(key=None, x=squares, max_units=0)
        return Moments.from_columns(unit_key, x, max_units)

    @staticmethod
    def from_columns(key: Hashes | None, x: Floats, max_units: int) -> Moments:
        """The moments over units of columns in memory: means, centred sums of products and of
        cubes. x: shape (columns, units). key: the hash of each unit, with which the columns are
        kept if there are at most `max_units` units; None if they are not to be kept.
        """
        n = x.shape[1]
        mean = x.mean(axis=1)
        deviation = x - mean[:, None]
        # for each column i the sum of cubes over the units n
        cubes = np.einsum("in,in,in->i", deviation, deviation, deviation)
        unit_columns = None
        if key is not None and n <= max_units:
            unit_columns = (UnitColumns(key, x),)
        return Moments(
            n,
            mean,
            second=products(deviation),
            third=cubes,
            max_units=max_units,
            unit_columns=unit_columns,
        )

    def __add__(self, other: Moments) -> Moments:
        """The moments over the units of both tables. One table has a units, the other b, both n;
        d is the difference of their means, a number per column.

        Sums of products (Chan, Golub and LeVeque 1979): S = S_a + S_b + d dᵀ a b / n. Sums of cubes
        (Pébay 2008): C = C_a + C_b + d³ a b (a − b) / n² + 3 d (a Q_b − b Q_a) / n, with the sum of
        squares Q of each column, the diagonal of S.

        The columns of the single units (`unit_columns`) are kept only while both tables have them
        and have at most `max_units` units together.
        """
        a = self.n
        b = other.n
        n = a + b
        d = other.mean - self.mean
        squares = np.diag(self.second)  # Q_a
        other_squares = np.diag(other.second)  # Q_b
        shift_of_cubes = d**3 * (a * b * (a - b) / n**2)
        third = self.third + other.third + shift_of_cubes
        cross_terms = a * other_squares - b * squares
        third = third + 3 * d / n * cross_terms
        shift_of_products = np.outer(d, d) * (a * b / n)
        second = self.second + other.second + shift_of_products
        unit_columns = None
        if n <= self.max_units and self.unit_columns is not None and other.unit_columns is not None:
            unit_columns = (*self.unit_columns, *other.unit_columns)  # pieces, joined by `units`
        mean = self.mean + d * (b / n)
        return Moments(
            n,
            mean,
            second=second,
            third=third,
            max_units=self.max_units,
            unit_columns=unit_columns,
        )

    @property
    def moments(self) -> Moments:
        """Itself: `UnitSums` has this property too, so that either can be asked for it."""
        return self

    @cached_property
    def totals(self) -> Floats:
        """The sums of the columns."""
        return self.mean * self.n

    @cached_property
    def units(self) -> Any:
        """The columns, an array (or in a subclass a sparse matrix) of shape (columns, units), the
        units in the order of their hashes, which does not depend on the order of the rows; None if
        units are not kept.
        """
        if self.unit_columns is None:
            return None
        key = np.concatenate([piece.key for piece in self.unit_columns])
        columns = np.concatenate([piece.columns for piece in self.unit_columns], axis=-1)
        order = np.argsort(key, kind="stable")
        return columns[:, order]

    @property
    def around_zero(self) -> Moments:
        """The moments with sums of products that are not centred: Σ x y in place of Σ (x - mean) (y
        - mean).
        """
        products_of_means = np.outer(self.totals, self.mean)
        return replace(self, second=self.second + products_of_means)

    def square(self, coefficients: Floats) -> float:
        """The centred sum of squares of a linear combination of the columns; 0 if it is only
        rounding error. coefficients: one for each column.
        """
        value = float(coefficients @ self.second @ coefficients)
        # the sum of the absolute terms, of which rounding errors are a share
        sizes = np.abs(coefficients)
        size_of_terms = sizes @ np.abs(self.second) @ sizes
        if value > ROUNDING * size_of_terms:
            return value
        return 0.0

    def powers(self, coefficients: Floats) -> PowerSumsOfUnits:
        """The sums over units of the squares and of the fourth powers of a linear combination Σ fᵢ
        xᵢ of m columns. These moments must be those of the products of each two of the columns:
        made with `squared`. coefficients: fᵢ, one for each of the m columns.
        """
        # (Σ fᵢ xᵢ)² is Σ fᵢ fⱼ xᵢ xⱼ, a linear combination of the products. Here each product is
        # one column; in the sum the product of two different columns occurs twice.
        i, j = np.triu_indices(len(coefficients))
        occurrences = np.where(i == j, 1, 2)
        coefficient = coefficients[i] * coefficients[j] * occurrences
        mean_square = float(coefficient @ self.mean)
        # Fourth powers are squares of squares: Σ s² = Σ (s − mean of s)² + n (mean of s)², with the
        # square s of each unit.
        around_mean = float(coefficient @ self.second @ coefficient)
        fourth_powers = around_mean + self.n * mean_square**2
        return PowerSumsOfUnits(mean_square * self.n, fourth_powers)

    def kish(self, column: int) -> float:
        """Kish's effective number of units, (Σ x)² / Σ x², of the column of this number."""
        total = self.totals[column]
        sum_of_squares = self.second[column, column] + total**2 / self.n
        kish = quotient(total**2, sum_of_squares)
        return 1.0 if kish - 1 < ALL_ON_ONE else kish


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums of columns per unit, for tables of few units in which the rows of a unit may be in
    several blocks.

    key: the hash of each unit, ascending. sums: shape (columns, units).
    """

    key: Hashes
    sums: Floats
    max_units: int

    @staticmethod
    def from_block(block: Block, columns: Columns, max_units: int) -> UnitSums:
        """The sums of columns by unit over the rows of a block, shape (columns, units), for tables
        in which several blocks may have rows of the same unit.

        columns: block -> the columns, weights included; it is called for pieces of the block.
        max_units: limits nothing here; it is kept for the moments that are made of the sums.
        """
        keys, unit = block.key_index  # the distinct units, and for each row the index of its unit
        sums = None
        start = 0
        for piece in block.steps():
            unit_of_row = unit[start : start + len(piece)]
            start += len(piece)
            sums_of_piece = _sums_by_unit(columns(piece), unit_of_row, units=len(keys))
            sums = sums_of_piece if sums is None else sums + sums_of_piece
        assert sums is not None  # a block has at least one piece
        return UnitSums(keys, sums, max_units)

    def __add__(self, other: UnitSums) -> UnitSums:
        """The sums of the units of both; those of a unit that both have are added."""
        keys, unit = np.unique(np.append(self.key, other.key), return_inverse=True)
        columns = np.concatenate([self.sums, other.sums], axis=1)
        sums = _sums_by_unit(columns, unit, len(keys))
        return UnitSums(keys, sums, self.max_units)

    @cached_property
    def moments(self) -> Moments:
        """The moments over the units."""
        max_units = max(self.max_units, len(self.key))
        return Moments.from_columns(self.key, self.sums, max_units)


def _sums_by_unit(columns: Floats, unit: Ints, units: int) -> Floats:
    """The sums of each column by unit, shape (columns, units). unit: the number of the unit of each
    element of a column.
    """
    return np.array([np.bincount(unit, column, units) for column in columns])


def summed(block: Block, columns: Columns, max_units: int) -> Moments | UnitSums:
    """The moments of columns of a block, or their sums per unit if the rows of a unit may be in
    several blocks. columns, max_units: as in `Moments.from_block`.
    """
    if block.units_split:
        return UnitSums.from_block(block, columns, max_units)
    return Moments.from_block(block, columns, max_units)
