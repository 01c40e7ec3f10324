"""`Distribution`: the distribution of the numbers of a column, as distinct values or in bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Floats, Ints, are_whole

ROUNDING = 1e-12  # how far rounding may take a sum of shares from its true value
LARGEST = 100  # one in this many rows belongs to the largest


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of numbers: distinct numbers or middles of bins, ascending; the rows and the
    weight of each.

    integers: True if all are whole numbers. low, high: the smallest and the largest. half_width: of
    each bin, 0 for one distinct number.
    """

    values: Floats
    rows: Ints
    weight: Floats
    integers: bool
    low: float
    high: float
    half_width: Floats

    @staticmethod
    def from_values(values: Floats) -> Distribution:
        """The distribution of a column of unweighted rows in memory.

        >>> numbers = Distribution.from_values(np.array([3.0, 1.0, 3.0]))
        >>> numbers.quantiles([0.0, 0.5, 1.0]).tolist()
        [1.0, 3.0, 3.0]
        """
        distinct, rows = np.unique(values, return_counts=True)
        return Distribution(
            values=distinct,
            rows=rows,
            weight=rows.astype(np.float64),
            integers=are_whole(distinct),
            low=float(distinct[0]),
            high=float(distinct[-1]),
            half_width=np.zeros(len(rows)),
        )

    def sizes(self) -> Distribution:
        """The distribution of the absolute values: a number and its negative become one, with the
        rows and weights of both. Of a bin its middle is taken, so that `low` and `high` are the
        smallest and the largest absolute middle.
        """
        size, index = np.unique(np.abs(self.values), return_inverse=True)
        # a number and its negative may stand for bins of different widths: the wider one is kept
        half_width = np.zeros(len(size))
        np.maximum.at(half_width, index, self.half_width)
        return Distribution(
            values=size,
            rows=np.bincount(index, self.rows, len(size)).astype(np.int64),
            weight=np.bincount(index, self.weight, len(size)).astype(np.float64),
            integers=self.integers,
            low=float(size[0]),
            high=float(size[-1]),
            half_width=half_width,
        )

    @cached_property
    def _rows_up_to(self) -> Ints:
        """The number of rows up to and with each value."""
        return np.cumsum(self.rows)

    @property
    def row_count(self) -> int:
        """The number of all rows."""
        return int(self._rows_up_to[-1])

    @property
    def _last(self) -> int:
        """The position of the largest row, where the smallest has 0."""
        return self.row_count - 1

    def _value_at(self, position: int) -> float:
        """The number of the row at a position, from 0, of all rows in ascending order."""
        index = np.searchsorted(self._rows_up_to, position, side="right")
        return float(self.values[index])

    def quantile_error(self, shares: Sequence[float]) -> float:
        """The largest possible error, due to binning, of the quantiles of these shares: half the
        width of the widest bin that any of them is interpolated from.
        """
        position = np.array(shares) * self._last
        neighbours = np.concatenate([np.floor(position), np.ceil(position)])
        bins = np.searchsorted(self._rows_up_to, neighbours, side="right")
        return float(self.half_width[bins].max())

    @property
    def mean(self) -> float:
        """The mean over the rows, unweighted."""
        return float(self.values @ self.rows / self.row_count)

    @property
    def median(self) -> float:
        """The median over the rows, unweighted."""
        return float(self.quantiles([0.5])[0])

    @property
    def zeros(self) -> int:
        """The number of rows that are 0."""
        rows_of_zero = self.rows[self.values == 0]
        return int(rows_of_zero.sum())

    def quantiles(self, shares: Sequence[float]) -> Floats:
        """Quantiles over the rows, unweighted, with linear interpolation between neighbouring
        numbers.
        """
        numbers = [self._interpolated(share * self._last) for share in shares]
        return np.array(numbers)

    def _interpolated(self, position: float) -> float:
        """The number at a position between two rows of the sorted rows, by linear interpolation."""
        below = int(np.floor(position))
        a = self._value_at(below)
        b = self._value_at(min(below + 1, self._last))
        distance = b - a
        fraction = position - below
        # computed from the nearer of the two numbers, for the same rounding as in numpy
        if fraction < 0.5:
            return a + distance * fraction
        return b - distance * (1 - fraction)

    def range_without_tails(self, tail: float) -> tuple[float, float]:
        """The smallest and the largest number after leaving out at most the share `tail` of the
        rows at each end.
        """
        low = np.floor(tail * self._last)
        high = np.ceil((1 - tail) * self._last)
        return self._value_at(int(low)), self._value_at(int(high))

    def histogram(self, edges: Floats) -> Floats:
        """The weight of the rows between each two neighbouring edges."""
        weight, _ = np.histogram(self.values, edges, weights=self.weight)
        return weight.astype(np.float64)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def weighted_median(self) -> float:
        """The smallest number up to which at least half of the weight lies."""
        share = np.cumsum(self.weight) / self.weight.sum()
        middle = np.searchsorted(share, 0.5 - ROUNDING)
        return float(self.values[middle])

    def share_of_largest(self) -> float:
        """The share of the sum of squares that comes from the 1 % of the rows (at least one) with
        the largest absolute values; 0 if all numbers are 0.
        """
        sizes = self.sizes()
        square = sizes.values[::-1] ** 2  # of each distinct absolute value, the largest first
        rows = sizes.rows[::-1]
        largest_count = max(1, self.row_count // LARGEST)  # rows
        rows_among_largest = _first_rows(rows, largest_count)
        total = float(square @ rows)
        if total == 0:
            return 0.0
        return float(square @ rows_among_largest) / total

    def largest(self, share: float) -> Ints:
        """How many of the rows of each number belong to the share of all rows, rounded up, that has
        the largest numbers; shape of `values`.
        """
        count = np.ceil(share * self.row_count)
        return self.top(int(count))

    def top(self, count: int) -> Ints:
        """How many of the rows of each number are among the `count` rows with the largest numbers;
        shape of `values`.
        """
        largest_first = self.rows[::-1]
        return _first_rows(largest_first, count)[::-1]


def _first_rows(rows: Ints, count: int) -> Ints:
    """How many of the rows of each number are among the first `count` rows. rows: of each number,
    in order.
    """
    rows_before = np.cumsum(rows) - rows
    return np.asarray(np.clip(count - rows_before, 0, rows))
