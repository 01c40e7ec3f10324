"""Mergeable tables of rows by score or by value, exact up to a number of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, are_whole
from evalkit.metrics import grid
from evalkit.metrics.distributions import Distribution


@dataclass(frozen=True, eq=False, kw_only=True)
class Tally:
    """Rows of two classes by score: those that are in bins (`grids`), counted exactly in each, and
    those that wait to be put into bins.

    max_bins: the largest number of bins. grids: tables of binned rows, to be merged. waiting: the
    codes, with the label as last bit, of rows that are not binned yet, at most `max_waiting` of
    them: one sort of many takes less than merging the bins of each block. cut: the code of a
    threshold at which a bin begins.
    """

    max_bins: int
    grids: tuple[grid.Grid, ...] = ()
    waiting: tuple[Ints, ...] = ()
    max_waiting: int = 0
    cut: int | None = None

    @staticmethod
    def from_hits(
        score: Floats,
        hit: Bools,
        weight: Ints | None,
        *,
        max_bins: int,
        max_waiting: int = 0,
        cut: float | None = None,
    ) -> Tally:
        """The positives and negatives of a block by score, in at most `max_bins` bins. Unweighted
        rows are not binned yet (`waiting`) if they are at most `max_waiting`: it is faster to bin
        the rows of many blocks together. Weighted rows are binned at once.

        hit: True for positive rows. weight: of each row, a whole number; None for unweighted rows.
        cut: a bin begins at this score, so that counts at it as threshold are exact.
        """
        cut_code = None if cut is None else grid.code_of(cut)
        no_rows = Tally(max_bins=max_bins, max_waiting=max_waiting, cut=cut_code)
        if weight is None:
            # Rows wait as codes of score and label. If a score leaves no bit for the label, the
            # result is None, and the rows are binned at once.
            codes = grid.with_labels(score, hit, cut_code)
            if codes is not None:
                return replace(no_rows, waiting=(codes,))._with_few_waiting
        table = grid.bin_scores(score, hit, weight, max_bins=max_bins, cut=cut)
        return replace(no_rows, grids=(table,))

    @property
    def allowed_bins(self) -> int:
        """The largest number of bins, which a subclass may lower."""
        return self.max_bins

    def __add__(self, other: Self) -> Self:
        """The tally of the rows of both.

        For speed their tables of bins (`grids`) are merged only once they have more than twice as
        many bins as are allowed. Until then they stay separate. Merged bins are at least as wide as
        the widest bins of any table: all tables get these at once, which leaves fewer bins.
        """
        all_rows = replace(
            self, grids=self.grids + other.grids, waiting=self.waiting + other.waiting
        )._with_few_waiting  # too many waiting rows are put into a grid
        max_bins = all_rows.allowed_bins
        # the larger the shift the wider the bins
        widest_shift = max((table.shift for table in all_rows.grids), default=0)
        grids = tuple(_with_shift(table, widest_shift, max_bins) for table in all_rows.grids)
        all_rows = replace(all_rows, grids=grids)
        bins = sum(len(table.low) for table in grids)  # a table has one element of `low` per bin
        if bins > 2 * max_bins:
            # `merged` has the waiting rows too
            return replace(all_rows, grids=(all_rows.merged,), waiting=())
        return all_rows

    @property
    def _with_few_waiting(self) -> Self:
        """The same tally; rows that wait are put into bins if they are more than `max_waiting`."""
        if sum(map(len, self.waiting)) <= self.max_waiting:
            return self
        return replace(self, grids=self._all_grids, waiting=())

    @property
    def binned(self) -> Self:
        """The same rows in one grid, without those that waited, which take more memory."""
        return replace(self, grids=(self.merged,), waiting=())

    @property
    def _all_grids(self) -> tuple[grid.Grid, ...]:
        """The grids, and another one of the rows that wait to be put into bins."""
        if not self.waiting:
            return self.grids
        return *self.grids, grid.labelled(np.concatenate(self.waiting), self.max_bins, self.cut)

    @cached_property
    def merged(self) -> grid.Grid:
        """All rows in one grid."""
        grids = self._all_grids
        return grids[0] if len(grids) == 1 else grid.merge(grids, self.allowed_bins)


def _with_shift(table: grid.Grid, shift: int, max_bins: int) -> grid.Grid:
    """The grid with bins that are at least as wide as this shift makes them, and at most `max_bins`
    bins. shift: how many of the last bits of their codes the numbers of a bin may differ in.
    """
    if table.shift == shift:
        return table
    return grid.pooled(replace(table, shift=shift), max_bins)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueCounts(Tally):
    """Rows by value, lowest first, with the sums of other columns by value: exact, or in bins if
    there are many values.

    max_bins: a quarter of it is used if there are more than two columns and more rows than bins,
    because these are for sums along the values, not for quantiles. integers: True if all values are
    whole numbers.
    """

    integers: bool = True

    @staticmethod
    def from_values(
        values: Floats, columns: Sequence[Floats] = (), max_bins: int = grid.MAX_BINS
    ) -> ValueCounts:
        """The rows of a block counted by distinct value, ascending, in at most `allowed_bins` bins,
        which are `max_bins` or a quarter of them, see the class. columns: other numbers of each
        row, to be added up by value.

        >>> c = ValueCounts.from_values(np.array([2.5, -1.0, 2.5]), [np.array([1.0, 4.0, 2.0])])
        >>> c.distribution(weighted=True).values.tolist()
        [-1.0, 2.5]
        >>> [column.tolist() for column in c.merged.sums]
        [[1, 2], [4.0, 3.0]]
        """
        code = grid.codes(values)  # whole numbers in the order of the values
        sorted_columns = list[Floats]()
        if columns:
            order = np.argsort(code, kind="stable")
            code = code[order]
            sorted_columns = [column[order] for column in columns]
        else:  # faster than argsort, and no column has to follow
            code.sort()
        rows = np.broadcast_to(np.int64(1), len(code))  # each bin has one row
        one_bin_per_row = grid.Grid(shift=0, low=code, high=code, sums=(rows, *sorted_columns))
        integers = are_whole(values)
        unpooled = ValueCounts(max_bins=max_bins, grids=(one_bin_per_row,), integers=integers)
        return replace(unpooled, grids=(grid.pooled(one_bin_per_row, unpooled.allowed_bins),))

    @property
    def allowed_bins(self) -> int:
        """The largest number of bins: `max_bins`, or a quarter of it for many columns and rows."""
        columns = len(self.grids[0].sums) - 1  # the first of the sums are the numbers of rows
        if columns <= 2:
            return self.max_bins
        rows = sum(table.sums[0].sum() for table in self.grids)
        return self.max_bins // 4 if rows > self.max_bins else self.max_bins

    def __add__(self, other: Self) -> Self:
        return replace(super().__add__(other), integers=self.integers and other.integers)

    def distribution(self, *, weighted: bool) -> Distribution:
        """The distribution of the values: the middle of each bin with the number and the weight of
        its rows. weighted: True if the first of the `columns` of `from_values` is the weight of the
        rows; else each row weighs 1.
        """
        table = self.merged
        low = grid.scores(table.low)
        high = low
        middle = low
        half_width: Floats = np.broadcast_to(np.float64(0), len(low))
        if table.high is not table.low:  # if they are one array, no bin has several values
            high = grid.scores(table.high)
            # each is halved first, because a sum of very large values would be infinite
            middle = np.where(low == high, low, low / 2 + high / 2)
            half_width = (high - low) / 2
        rows, *sums_of_columns = table.sums  # of each bin: the number of rows, then the columns
        rows = np.asarray(rows, np.int64)
        weight = rows.astype(np.float64)
        if weighted:
            weight = sums_of_columns[0]
        return Distribution(
            values=middle,
            rows=rows,
            weight=weight,
            integers=self.integers,
            low=float(low[0]),
            high=float(high[-1]),
            half_width=half_width,
        )
