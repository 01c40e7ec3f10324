"""Mergeable summaries of the blocks of a table: `+` merges those of two blocks.

None depends on the order of the rows, the engine or the size of the blocks. This module has the
simple ones; `moments`, `tallies`, `samples` and `hashes` have the others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np

from evalkit.arrays import Floats, minus
from evalkit.metrics.blocks import Block


@dataclass(frozen=True, eq=False)
class Bundle:
    """Several summaries of a block: + adds each field, and merges mappings key by key."""

    def __add__(self, other: Self) -> Self:
        """The summary of the rows of both."""
        names = [field.name for field in fields(self)]
        sums = {name: _sum(getattr(self, name), getattr(other, name)) for name in names}
        return type(self)(**sums)


def _sum(first: Any, second: Any) -> Any:
    """first + second, the same field of two bundles: an array, a number or a summary. Tuples of
    these are added element by element, and dicts key by key; a key that only one has keeps its
    value.
    """
    if isinstance(first, tuple):
        return tuple(_sum(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, dict):
        merged = first | second
        for key in first.keys() & second.keys():
            merged[key] = first[key] + second[key]
        return merged
    return first + second


@dataclass(frozen=True, eq=False)
class Total:
    """Numbers that are added up over blocks."""

    sums: Floats

    def __add__(self, other: Total) -> Total:
        return Total(self.sums + other.sums)


@dataclass(frozen=True, eq=False)
class Wins(Bundle):
    """The numbers of units on which the first of two systems has the smaller error (wins), the same
    error (ties) and the larger one (losses).
    """

    wins: int
    ties: int
    losses: int

    @staticmethod
    def from_errors(first: Floats, second: Floats) -> Wins:
        """The wins, ties and losses of the first system from both systems' errors on each unit: the
        smaller error wins; errors that differ only by rounding are ties.
        """
        excess = minus(second, first)
        return Wins(
            wins=int(np.count_nonzero(excess > 0)),
            ties=int(np.count_nonzero(excess == 0)),
            losses=int(np.count_nonzero(excess < 0)),
        )


class ExtremeRow(NamedTuple):
    """A row with a large error: its id or number, and both values."""

    name: Any
    actual: float
    prediction: float


@dataclass(frozen=True, eq=False)
class Extremes:
    """The rows of the largest sizes, such as errors, at most `max_rows`, the largest first; equal
    sizes in the order of the rows' names. size: of each of these rows.
    """

    max_rows: int
    size: Floats
    rows: tuple[ExtremeRow, ...]

    @staticmethod
    def from_block(block: Block, size: Floats, system: int, max_rows: int) -> Extremes:
        """The `max_rows` rows of a block with the largest sizes, such as errors. size: of each row
        of the block. system: whose predictions the rows show, by number.
        """
        # the smallest of the `max_rows` largest sizes
        position = max(len(size) - max_rows, 0)
        smallest_size = np.partition(size, position)[position]
        # Very many rows may have just this size. Names decide among equal sizes, but it takes long
        # to read them: only the first 1,000 · `max_rows` of these rows are candidates.
        tied = np.flatnonzero(size == smallest_size)[: 1_000 * max_rows]
        largest = np.concatenate([np.flatnonzero(size > smallest_size), tied])
        names = [""] * len(largest)
        if block.names is not None:
            names = _as_list(block.names.take(largest))
        actual = block.truth[largest].tolist()
        predictions = block.predictions[system][largest].tolist()
        rows = map(ExtremeRow, names, actual, predictions)
        candidates = Extremes(max_rows, size[largest], tuple(rows))
        return candidates._trimmed()

    def __add__(self, other: Extremes) -> Extremes:
        """The rows of the largest sizes of both."""
        sizes = np.append(self.size, other.size)
        candidates = Extremes(self.max_rows, sizes, self.rows + other.rows)
        return candidates._trimmed()

    def _trimmed(self) -> Extremes:
        """The first `max_rows` of these rows, the largest size first."""
        order = sorted(range(len(self.rows)), key=lambda i: (-self.size[i], self.rows[i]))
        order = order[: self.max_rows]
        rows = tuple(self.rows[i] for i in order)
        return Extremes(self.max_rows, self.size[order], rows)


def _as_list(values: Any) -> list[Any]:
    """The values of a numpy or of an Arrow array."""
    return list(values.tolist()) if isinstance(values, np.ndarray) else list(values.to_pylist())
