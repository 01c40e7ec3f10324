"""Moments of columns over the units of a table, which are merged exactly by Chan's formula."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import Hashes

Columns = Callable[[Block], Floats]  # columns of the rows of a block, one row per column

LEAST = 64  # rows whose products are added up at once
ALONE = 2**18  # numbers that wake no second thread of BLAS
# A sum of squares is taken as 0 below this share of the sum of its absolute terms: rounding leaves
# as much.
ROUNDING = 1e-14
# Kish's number of units is taken as 1 if it exceeds 1 by less: rounding leaves as much where one
# unit has all weight.
ALL_ON_ONE = 1e-12


def products(x: Floats) -> Floats:
    """x @ x.T in pieces so small that BLAS does not start further threads, which would only wait
    for each other.

    With many columns a piece has at least a few rows, because adding the pieces would otherwise
    take longer than making them.
    """
    step = max(LEAST, ALONE // len(x) ** 2)
    total = np.zeros((len(x), len(x)))
    for start in range(0, x.shape[1], step):
        piece = x[:, start : start + step]
        total += piece @ piece.T
    return total


class UnitColumns(NamedTuple):
    """Columns with one number per unit, and the hash of each unit."""

    key: Hashes
    columns: Any  # an array; of `class_cells.Products` a sparse matrix


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of m columns over n units: means, centred sums of products, and centred sums of
    cubes.

    unit_columns: the columns themselves, for methods that need every unit; None if there are more
    than `max_units` units.
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
        """The moments of columns of a block.

        columns: rows -> their columns, weights included; they are added up by unit. squared: the
        moments of all products of two columns, from which the fourth power of any linear
        combination follows.
        """
        units = len(block.unit_starts) if block.clustered else len(block)
        if units > max_units:  # no piece needs to keep its units
            max_units = 0
        parts = [
            Moments._from_piece(piece, columns(piece), max_units, squared=squared)
            for piece in block.steps()
        ]
        while len(parts) > 1:  # neighbours are added in pairs: fewer roundings than one by one
            pairs = [first + second for first, second in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0]

    @staticmethod
    def _from_piece(block: Block, x: Floats, max_units: int, *, squared: bool) -> Moments:
        key = block.key
        if block.clustered:
            x = np.add.reduceat(x, block.unit_starts, axis=1)
            key = key[block.unit_starts]
        if squared:
            i, j = np.triu_indices(len(x))
            return Moments.from_columns(key=None, x=x[i] * x[j], max_units=0)
        return Moments.from_columns(key, x, max_units)

    @staticmethod
    def from_columns(key: Hashes | None, x: Floats, max_units: int) -> Moments:
        """The moments of columns in memory. key: the hash of each unit, if units are to be kept.

        x: one row per column, one element per unit.
        """
        n = x.shape[1]
        mean = x.mean(axis=1)
        d = x - mean[:, None]
        cubes = np.einsum("in,in,in->i", d, d, d)  # for each column i the sum over the units n
        unit_columns = None
        if key is not None and n <= max_units:
            unit_columns = (UnitColumns(key, x),)
        return Moments(n, mean, products(d), cubes, max_units, unit_columns)

    def __add__(self, other: Moments) -> Moments:
        """The moments of both, by Chan, Golub and LeVeque 1979, the cubes by Pébay 2008."""
        a = self.n
        b = other.n
        n = a + b
        d = other.mean - self.mean
        squares = np.diag(self.second)
        other_squares = np.diag(other.second)
        third = self.third + other.third + d**3 * (a * b * (a - b) / n**2)
        third = third + 3 * d / n * (a * other_squares - b * squares)
        second = self.second + other.second + np.outer(d, d) * (a * b / n)
        unit_columns = None
        if n <= self.max_units and self.unit_columns is not None and other.unit_columns is not None:
            unit_columns = (*self.unit_columns, *other.unit_columns)  # pieces, joined by `units`
        return Moments(n, self.mean + d * (b / n), second, third, self.max_units, unit_columns)

    @property
    def moments(self) -> Moments:
        """Itself, as for `UnitSums`."""
        return self

    @cached_property
    def totals(self) -> Floats:
        """The sums of the columns."""
        return self.mean * self.n

    @cached_property
    def units(self) -> Any:
        """The columns of each unit, in the order of their hashes, which does not depend on the
        order of the rows; None if units are not kept.
        """
        if self.unit_columns is None:
            return None
        key = np.concatenate([part.key for part in self.unit_columns])
        columns = np.concatenate([part.columns for part in self.unit_columns], axis=-1)
        return columns[:, np.argsort(key, kind="stable")]

    @property
    def around_zero(self) -> Moments:
        """The moments with uncentred sums of products."""
        return replace(self, second=self.second + np.outer(self.totals, self.mean))

    def square(self, form: Floats) -> float:
        """The centred sum of squares of a linear combination of the columns; 0 if it is only
        rounding error.
        """
        value = float(form @ self.second @ form)
        if value > ROUNDING * float(np.abs(form) @ np.abs(self.second) @ np.abs(form)):
            return value
        return 0.0

    def powers(self, form: Floats) -> tuple[float, float]:
        """The sums of the squares and of the fourth powers of a linear combination of columns, if
        these moments are `squared`: of the products of two columns.
        """
        i, j = np.triu_indices(len(form))  # the order of products in `from_block`
        times = np.where(i == j, 1, 2)  # a product of two different columns occurs twice
        coefficient = form[i] * form[j] * times
        mean_square = float(coefficient @ self.mean)
        around_mean = float(coefficient @ self.second @ coefficient)
        return mean_square * self.n, around_mean + self.n * mean_square**2

    def kish(self, column: int) -> float:
        """Kish's effective number of units, (Σ x)² / Σ x² of a column."""
        total = self.totals[column]
        sum_of_squares = self.second[column, column] + total**2 / self.n
        kish = float(ratio(total**2, sum_of_squares))
        return 1.0 if kish - 1 < ALL_ON_ONE else kish


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Sums of columns per unit, for few units whose rows are spread over the blocks.

    key: the hash of each unit, ascending. sums: one row per column, one element per unit.
    """

    key: Hashes
    sums: Floats
    max_units: int

    @staticmethod
    def from_block(block: Block, columns: Columns, max_units: int) -> UnitSums:
        """The sums per unit of columns of a block; columns: as in `Moments.from_block`."""
        keys, unit = block.key_index

        def sums_of_pieces() -> Iterator[Floats]:
            start = 0
            for piece in block.steps():
                unit_of_row = unit[start : start + len(piece)]
                start += len(piece)
                yield np.array([np.bincount(unit_of_row, x, len(keys)) for x in columns(piece)])

        return UnitSums(keys, reduce(np.add, sums_of_pieces()), max_units)

    def __add__(self, other: UnitSums) -> UnitSums:
        """The sums of the units of both; those of a unit that both have are added."""
        keys, unit = np.unique(np.append(self.key, other.key), return_inverse=True)
        columns = np.concatenate([self.sums, other.sums], axis=1)
        sums = np.array([np.bincount(unit, column, len(keys)) for column in columns])
        return UnitSums(keys, sums, self.max_units)

    @cached_property
    def moments(self) -> Moments:
        """The moments over the units."""
        return Moments.from_columns(self.key, self.sums, max(self.max_units, len(self.key)))


def summed(block: Block, columns: Columns, max_units: int) -> Moments | UnitSums:
    """The moments of columns, or the sums per unit if the rows of a unit are spread over the
    blocks.
    """
    summary = UnitSums if block.units_split else Moments
    return summary.from_block(block, columns, max_units)
