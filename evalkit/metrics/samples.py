"""Random samples of the rows of a table, or of its whole units, and random parts of them, both by
hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, quotient
from evalkit.metrics.blocks import Block
from evalkit.metrics.counts import run_starts
from evalkit.metrics.hashes import GOLDEN, mix_bits


def parts_of(block: Block, parts: int) -> Ints:
    """Assign each row to one of `parts` parts at random: the number of its part, from 0, for each
    row. The rows of a unit are in the same part.

    A key of the row decides, so that the same rows always have the same parts. It is the hash of
    its unit or id. A table without ids has only hashes of whole rows, by which equal rows would all
    go to one part. There the number of the row in the input decides. In engines that do not know
    this number, the place of the row in the order of the hashes of its block does.
    """
    key = block.key
    if block.key_hashes_row and block.names is not None:
        key = block.names.astype(np.uint64)  # without ids the names are the numbers of the rows
    elif block.key_hashes_row:
        # Consecutive numbers in the order of the hashes, the same for every order of the rows. They
        # begin at the sum of the hashes (modulo 2^64), so that two blocks have different numbers.
        key = np.empty_like(block.key)
        first = block.key.sum(dtype=np.uint64)
        key[np.argsort(block.key)] = first + np.arange(len(block), dtype=np.uint64)
    # `mix_bits` makes numbers look random that are not, such as consecutive ones
    part = mix_bits(key + GOLDEN) % np.uint64(parts)
    return part.astype(np.int64)


def part_sums(
    part: Ints, actual: Bools, candidate: Ints, weight: Floats, shape: tuple[int, int]
) -> Floats:
    """The weight of the rows by part, class and candidate threshold: shape (parts, 2 · candidates),
    in each row the positives by candidate, then the negatives.

    part, candidate: of each row the number of its part, and that of its candidate, the highest that
    is not above its score. actual: True for positives. shape: the numbers of parts and of
    candidates.
    """
    parts, candidates = shape
    is_negative = ~actual
    part_and_class = part * 2 + is_negative
    cell = part_and_class * candidates + candidate
    sums = np.bincount(cell, weight, minlength=parts * 2 * candidates)
    return sums.astype(np.float64).reshape(parts, 2 * candidates)


class SquareSum(NamedTuple):
    """An estimated sum of squares over the units of a table, and the relative uncertainty of its
    root.
    """

    value: float
    uncertainty: float


@dataclass(frozen=True, eq=False)
class Sample:
    """A random sample of the rows of a table, or of its whole units: those whose hash is below a
    border, so that the sample is the same in any order of the rows; all rows if there are few.

    max_rows: the largest number of rows. blocks: the sampled rows, in pieces. multiplicity: for
    each block how many equal rows of the table each of its rows stands for: rows without ids that
    are equal have the same hash. table_rows: the number of rows of the table. border: hashes from
    here on are not sampled; None if all are.
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
        rows = block.take(slice(None))
        return Sample(max_rows, (rows,), (once,), len(block))

    def __add__(self, other: Sample) -> Sample:
        """A sample of the rows of both: the rows whose hash is below the lower of the two borders.
        `multiplicity` says of each row how many equal rows it stands for.
        """
        # a sample without a border has all rows of its part of the table
        borders = [border for border in (self.border, other.border) if border is not None]
        border = min(borders, default=None)
        # The blocks of this sample are not cut at the border here, as that would copy them in each
        # addition. `reduced` cuts them.
        blocks = [*self.blocks]
        multiplicity = [*self.multiplicity]
        for block, times in zip(other.blocks, other.multiplicity, strict=True):
            below = _below(block, border)
            blocks.append(block.take(below))
            multiplicity.append(times[below])
        joined = Sample(
            self.max_rows,
            blocks=tuple(blocks),
            multiplicity=tuple(multiplicity),
            table_rows=self.table_rows + other.table_rows,
            border=border,
        )
        sampled_rows = sum(map(len, blocks))
        if sampled_rows > 1.5 * self.max_rows:  # only now and then, because it copies all rows
            return joined.reduced
        return joined

    @cached_property
    def reduced(self) -> Sample:
        """The same sample as one block of at most `max_rows` rows.

        First, rows whose hash is not below the border are dropped. Then one of several equal rows
        without ids stands for all of them, with their number as its multiplicity. If more than
        `max_rows` rows are left, the border is lowered.
        """
        # nothing to do for one block with few rows, unless equal rows are to be put together
        has_all_rows = self.table_rows <= self.max_rows
        if len(self.blocks) == 1 and has_all_rows and not self.blocks[0].key_hashes_row:
            return self
        block = Block.join(self.blocks)
        multiplicity = np.concatenate(self.multiplicity)
        border = self.border
        rows = np.arange(len(block))  # the indices of the rows that stay in the sample
        if border is not None:
            rows = np.flatnonzero(block.key < border)
        if block.key_hashes_row and len(rows):
            # equal rows have the same key: in the order of keys they are neighbours
            order = np.argsort(block.key[rows], kind="stable")
            rows = rows[order]
            first_of_equals = run_starts(block.key[rows])
            multiplicity = np.add.reduceat(multiplicity[rows], first_of_equals)
            rows = rows[first_of_equals]
        else:
            multiplicity = multiplicity[rows]
        block = block.take(rows)
        if len(block) > self.max_rows:
            # the new border is a key that `max_rows` keys are below, or fewer if keys are equal
            border = np.partition(block.key, self.max_rows)[self.max_rows]
            below = np.flatnonzero(block.key < border)
            block = block.take(below)
            multiplicity = multiplicity[below]
        return Sample(self.max_rows, (block,), (multiplicity,), self.table_rows, border)

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
        """The rows of the table / the rows that the sample has, equal ones included: the factor
        from sums over the sample to sums over the table.
        """
        return quotient(self.table_rows, self.times.sum())

    @property
    def is_complete(self) -> bool:
        """True if the sample is the whole table, with one row for each."""
        return len(self.rows) == self.table_rows

    def influence_square(self, influence: Floats) -> SquareSum:
        """An estimate of the sum of the squared influences ψ over the units of the table, and the
        relative uncertainty of its root.

        Each unit is in the sample with the probability 1 / d, with d = `stands_for`. With sums over
        the sample, the estimate is d Σ ψ² (Horvitz and Thompson), and its estimated variance is
        d (d − 1) Σ ψ⁴. The relative error of the root is half of that of the estimate.

        influence: ψ of each sampled row on a metric, its weight included; 0 for rows that the
        metric leaves out.
        """
        d = self.stands_for
        times = self.times.astype(np.float64)  # how many equal rows each sampled row stands for
        square = influence**2
        if self.rows.clustered:  # ψ of a unit is the sum over its rows; no two units are equal
            square = np.bincount(self._units, influence).astype(np.float64) ** 2
            times = np.ones(len(square))
        estimate = d * float(times @ square)
        # equal rows have the same hash and are sampled together: times · ψ² in place of one ψ²
        fourth_powers = float(times**2 @ square**2)
        error = np.sqrt(d * (d - 1) * fourth_powers)
        relative_error_of_root = quotient(error, 2 * estimate)
        return SquareSum(estimate, relative_error_of_root)

    @cached_property
    def _units(self) -> Ints:
        """The number of each sampled row's unit."""
        _, number = np.unique(self.rows.key, return_inverse=True)
        return number


def _below(block: Block, border: np.uint64 | None) -> Ints | slice:
    """The rows of a block whose hash is below a border; all if there is none."""
    if border is None:
        return slice(None)
    return np.flatnonzero(block.key < border)
