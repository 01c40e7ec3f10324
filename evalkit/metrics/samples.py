"""Random samples of the rows of a table, or of its whole units, and random parts of them, both by
hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import GOLDEN, mixed


def parts_of(block: Block, parts: int) -> Ints:
    """The number of the part, below `parts`, that each row is put into at random; the rows of a
    unit share a part.

    The unit or the id of a row decides. For rows without ids their number in the input decides, or,
    in engines that do not know it, their position in the order of the hashes of the block.
    """
    key = block.key
    if block.key_hashes_row and block.names is not None:
        key = block.names.astype(np.uint64)
    elif block.key_hashes_row:
        key = np.empty_like(block.key)
        # different blocks begin with different numbers: the sum of their hashes, modulo 2^64
        first = block.key.sum(dtype=np.uint64)
        key[np.argsort(block.key)] = first + np.arange(len(block), dtype=np.uint64)
    return (mixed(key + GOLDEN) % np.uint64(parts)).astype(np.int64)


def part_sums(
    part: Ints, actual: Bools, place: Ints, weight: Floats, shape: tuple[int, int]
) -> Floats:
    """The weight of the rows, with a row per part and in it the positives by candidate threshold,
    then the negatives.

    place: the number of each row's candidate, which is the highest that is not above its score.
    shape: the numbers of parts and of candidates.
    """
    parts, candidates = shape
    is_negative = ~actual
    cell = (part * 2 + is_negative) * candidates + place
    sums = np.bincount(cell, weight, parts * 2 * candidates).astype(np.float64)
    return sums.reshape(parts, 2 * candidates)


class SquareSum(NamedTuple):
    """An estimated sum of squares over the units of a table, and the relative uncertainty of its
    root.
    """

    value: float
    uncertainty: float


@dataclass(frozen=True, eq=False)
class Sample:
    """A random sample: the rows, or whole units, whose hash is below a border; all rows if there
    are few.

    max_rows: the largest number of rows. blocks: the sampled rows. multiplicity: for each block how
    many rows of the table each of its rows stands for, because equal rows without ids count as
    one. table_rows: the number of rows of the table. border: hashes from here on are not sampled,
    None if all are.
    """

    max_rows: int
    blocks: tuple[Block, ...]
    multiplicity: tuple[Ints, ...]
    table_rows: int
    border: np.uint64 | None = None

    @staticmethod
    def from_block(block: Block, max_rows: int) -> Sample:
        """A sample of all rows of a block."""
        once = np.broadcast_to(np.int64(1), len(block))
        return Sample(max_rows, (block.take(slice(None)),), (once,), len(block))

    def __add__(self, other: Sample) -> Sample:
        """A sample of the rows of both, below the lower of their borders."""
        borders = [border for border in (self.border, other.border) if border is not None]
        border = min(borders, default=None)
        blocks = [*self.blocks]
        multiplicity = [*self.multiplicity]
        for block, times in zip(other.blocks, other.multiplicity, strict=True):
            below = _below(block, border)
            blocks.append(block.take(below))
            multiplicity.append(times[below])
        joined = Sample(
            self.max_rows,
            tuple(blocks),
            tuple(multiplicity),
            self.table_rows + other.table_rows,
            border,
        )
        # It is reduced only now and then, because that copies all rows.
        return joined.reduced if sum(map(len, blocks)) > 1.5 * self.max_rows else joined

    @cached_property
    def reduced(self) -> Sample:
        """The sample as one block of at most `max_rows` rows, in which equal rows are one."""
        has_all_rows = self.table_rows <= self.max_rows
        if len(self.blocks) == 1 and has_all_rows and not self.blocks[0].key_hashes_row:
            return self
        block = Block.join(self.blocks)
        times = np.concatenate(self.multiplicity)
        border = self.border
        rows = np.arange(len(block))
        if border is not None:
            rows = np.flatnonzero(block.key < border)
        times_of_rows = times[rows]
        if block.key_hashes_row and len(rows):
            # equal rows have the same key: one of them stands for all
            rows = rows[np.argsort(block.key[rows], kind="stable")]
            first = np.flatnonzero(np.append(True, np.diff(block.key[rows]) != 0))
            times_of_rows = np.add.reduceat(times[rows], first)
            rows = rows[first]
        block = block.take(rows)
        if len(block) > self.max_rows:
            # `max_rows` keys are below it, or fewer if keys are equal
            border = np.partition(block.key, self.max_rows)[self.max_rows]
            rows = np.flatnonzero(block.key < border)
            block = block.take(rows)
            times_of_rows = times_of_rows[rows]
        return Sample(self.max_rows, (block,), (times_of_rows,), self.table_rows, border)

    @cached_property
    def rows(self) -> Block:
        """The sampled rows."""
        return self.reduced.blocks[0]

    @property
    def times(self) -> Ints:
        """How many rows of the table each of `rows` stands for."""
        return self.reduced.multiplicity[0]

    @property
    def stands_for(self) -> float:
        """The number of rows that each sampled row represents."""
        return float(ratio(self.table_rows, self.times.sum()))

    @property
    def is_complete(self) -> bool:
        """True if the sample is the whole table, with one row for each."""
        return len(self.rows) == self.table_rows

    def influence_square(self, influence: Floats) -> SquareSum:
        """Σ d ψ² over units, and the relative uncertainty of its root: ½ √(Σ d (d − 1) ψ⁴) / Σ d
        ψ².

        influence: ψ of each sampled row on a metric, including its weight; 0 for rows that do not
        count. d: `stands_for`.
        """
        d = self.stands_for
        times = self.times.astype(np.float64)
        square = influence**2
        if self.rows.clustered:
            square = np.bincount(self._units, influence).astype(np.float64) ** 2
            times = np.ones(len(square))
        total = d * float(times @ square)
        error = np.sqrt(d * (d - 1) * float(times**2 @ square**2))
        return SquareSum(total, float(ratio(error, 2 * total)))

    @cached_property
    def _units(self) -> Ints:
        """The number of each sampled row's unit."""
        _, number = np.unique(self.rows.key, return_inverse=True)
        return number


def _below(block: Block, border: np.uint64 | None) -> Ints | slice:
    """The rows of a block whose hash is below a border; all if there is none."""
    return slice(None) if border is None else np.flatnonzero(block.key < border)
