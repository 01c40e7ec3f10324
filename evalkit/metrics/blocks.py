"""`Block`: some rows of a table as checked numeric columns, with every system's predictions and
hashes of the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics import predictive
from evalkit.metrics.counts import run_numbers, run_starts
from evalkit.metrics.hashes import Hashes
from evalkit.metrics.rows import Rows, weights_or_ones

STEP = 2**14  # rows that are processed together: their columns stay in the cache
ALL_ROWS_GROUP = 0  # the number of the group of all rows; those of slices are above it


class BlockSlice(NamedTuple):
    """A group of the rows of a block: its number, `ALL_ROWS_GROUP` or that of a slice, and the
    rows.
    """

    number: int
    block: Block


class KeyIndex(NamedTuple):
    """The distinct keys of a block, and for each row the index of its key among them."""

    keys: Hashes
    position: Ints


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that every system predicts, as checked columns; the last axis of every column is that of
    the rows.

    truth: the actual value, 0 or 1, class number, or one row per label. predictions: one row per
    system, or one table per system with one row per class or label. key: a hash of the unit, else
    of the id, else of the whole row. id: a hash of the id, if ids may repeat. clustered: rows with
    the same key are one unit, and are neighbours unless `units_split`. units_split: the rows of a
    unit may be spread over several blocks. key_hashes_row: rows with the same key are equal.
    slices: per column for segments, the number of each row's slice, counted from 1 over all
    columns. shared_columns, system_columns: further numeric columns by name, shared by the systems
    or with a row per system. names: the ids, or the row numbers, or None. units: the ids of the
    units, as Arrow text.
    """

    truth: np.ndarray
    predictions: np.ndarray
    weight: Floats | None
    key: Hashes
    id: Hashes | None = None
    clustered: bool = False
    units_split: bool = False
    key_hashes_row: bool = False
    slices: Sequence[Ints] = ()
    shared_columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    system_columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    names: Any = None
    units: Any = None

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 1 if there are no weights."""
        return weights_or_ones(self.weight, len(self))

    @property
    def total_weight(self) -> float:
        """The sum of the weights; the number of rows if there are no weights."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @cached_property
    def unit_starts(self) -> Ints:
        """The index of the first row of each unit, if units are not split over blocks, so that
        their rows are neighbours.
        """
        return run_starts(self.key)

    @cached_property
    def key_index(self) -> KeyIndex:
        """The distinct keys, and for each row the index of its key among them."""
        if self.clustered and not self.units_split:  # equal keys are neighbours: no sort is needed
            unit_sizes = np.diff(self.unit_starts, append=len(self))
            return KeyIndex(self.key[self.unit_starts], run_numbers(unit_sizes))
        keys, position = np.unique(self.key, return_inverse=True)
        return KeyIndex(keys, position)

    @property
    def texts(self) -> Any:
        """The ids of the rows, or their numbers, as Arrow text."""
        import pyarrow as pa

        names = pa.array(self.names) if isinstance(self.names, np.ndarray) else self.names
        return names.cast(pa.string())

    def rows(self, system: int) -> Rows:
        """The rows of one system, by number: actual values, predictions and, if it has columns
        for them, predictive distributions. Without units (not `clustered`) each row is a unit, and
        `unit` is None.
        """
        predictions = self.predictions[system]
        # a system may have other columns too, which are not part of its rows
        distribution_columns = {
            role: values[system]
            for role, values in self.system_columns.items()
            if predictive.is_role(role)
        }
        unit = self.key if self.clustered else None
        return Rows(
            self.truth,
            predictions,
            weight=self.weight,
            unit=unit,
            columns=self.shared_columns,
            predictive=predictive.of_roles(distribution_columns, predictions),
        )

    def take(self, rows: Ints | slice) -> Block:
        """The rows with these indices, without their names."""
        return self._combined([self], partial(_select, rows=rows))

    def groups(self) -> Iterator[BlockSlice]:
        """The number and the rows of each group: first all rows, then the rows of each slice, if
        there are any. `slices` has for each column with segments the number of every row's slice,
        which no slice of another column has.
        """
        yield BlockSlice(ALL_ROWS_GROUP, self)
        for slice_of_row in self.slices:
            # sort the rows by the number of their slice, and cut where the number changes
            order = np.argsort(slice_of_row, kind="stable")
            starts = run_starts(slice_of_row[order])
            for rows in np.split(order, starts[1:]):
                number = int(slice_of_row[rows[0]])  # that of all these rows
                yield BlockSlice(number, self.take(rows))

    def steps(self) -> Iterator[Block]:
        """Yield the block in pieces of about `STEP` rows, so that their columns stay in the cache.
        A unit whose rows are neighbours is not cut.
        """
        starts = np.arange(0, len(self), STEP)
        if self.clustered and not self.units_split:  # the rows of a unit are neighbours
            # move each start back to the start of the unit that it lies in
            unit = np.searchsorted(self.unit_starts, starts, side="right") - 1
            starts = np.unique(self.unit_starts[unit])
        ends = [*starts[1:].tolist(), len(self)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            yield self.take(slice(start, end))

    @staticmethod
    def join(blocks: Sequence[Block]) -> Block:
        """The rows of the blocks one after another, without their names."""
        return blocks[0]._combined(blocks, partial(np.concatenate, axis=-1))

    def _combined(
        self, blocks: Sequence[Block], combine: Callable[[list[np.ndarray]], np.ndarray]
    ) -> Block:
        """A block each of whose columns is made of the same column of the `blocks`, of which this
        one is the first. Flags such as `clustered` are those of this block. Names and ids are left
        out: what needs them reads them from the whole block.

        combine: the arrays of a column, one of each block -> the new column, such as
        np.concatenate.
        """
        weight = None
        if self.weight is not None:  # all blocks of a table have weights, or none has
            weight = combine([block.weights for block in blocks])
        slice_columns = zip(*(block.slices for block in blocks), strict=True)
        return replace(
            self,
            truth=combine([block.truth for block in blocks]),
            predictions=combine([block.predictions for block in blocks]),
            key=combine([block.key for block in blocks]),
            weight=weight,
            slices=[combine([*columns]) for columns in slice_columns],
            shared_columns=_combined_by_name([block.shared_columns for block in blocks], combine),
            system_columns=_combined_by_name([block.system_columns for block in blocks], combine),
            id=None,
            names=None,
            units=None,
        )


def _combined_by_name(
    tables: Sequence[Mapping[str, np.ndarray]], combine: Callable[[list[np.ndarray]], np.ndarray]
) -> dict[str, np.ndarray]:
    """For each name a column made of the columns of this name of all tables, which have the same
    names. combine: as for `Block._combined`.
    """
    return {name: combine([table[name] for table in tables]) for name in tables[0]}


def _select(columns: list[np.ndarray], rows: Ints | slice) -> np.ndarray:
    """Some rows of a column of a single block, for `Block._combined`."""
    (column,) = columns
    return column[..., rows]
