"""A block: some rows of a table as checked numeric columns, with every system's predictions and hashes of the ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics.rows import Rows

STEP = 2**14  # rows that are looked at together: what is made of them stays in the cache
Hashes = np.ndarray  # whole numbers of 64 bits without sign


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that every system predicts, as checked columns; the last axis of every column is that of the rows.

    truth: the actual value, 0 or 1, class number, or one row per label. said: the predictions, one row per system, or
    one table per system with one row per class or label. key: a hash of the unit, else of the id, else of the whole row
    (`alike`: rows with the same key are then equal). id: a hash of the id, if ids may repeat. clustered: rows with the
    same key are one unit, and are neighbours unless `parted`. slices: per column for segments, the number of each row's
    slice, counted from 1 over all columns. beside, own: further numeric columns, shared by the systems or of each.
    names: the ids, or the row numbers, or None. units: the ids of the units, as Arrow text.
    """

    truth: Floats
    said: Floats
    weight: Floats | None
    key: Hashes
    id: Hashes | None = None
    clustered: bool = False
    parted: bool = False
    alike: bool = False
    slices: Sequence[Ints] = ()
    beside: Mapping[str, Floats] = field(default_factory=dict)
    own: Mapping[str, Floats] = field(default_factory=dict)
    names: Any = None
    units: Any = None

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 1 if there are no weights."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def starts(self) -> Ints:
        """Where each unit begins, of rows whose units are whole."""
        return np.flatnonzero(np.append(True, self.key[1:] != self.key[:-1])[: len(self)])

    @cached_property
    def distinct(self) -> tuple[Hashes, Ints]:
        """The keys, each once, and the number of each row's."""
        if self.clustered and not self.parted:
            return self.key[self.starts], np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self)))
        names, code = np.unique(self.key, return_inverse=True)
        return names, code

    @property
    def texts(self) -> Any:
        """The ids, or the numbers of the rows, as Arrow's texts."""
        import pyarrow as pa

        return (
            pa.array(self.names).cast(pa.string())
            if isinstance(self.names, np.ndarray)
            else self.names.cast(pa.string())
        )

    def rows(self, system: int) -> Rows:
        """What is, and what a system says of it."""
        unit = self.key if self.clustered else None
        return Rows(self.truth, self.said[system], weight=self.weight, unit=unit, beside=self.beside)

    def at(self, rows: Any) -> Block:
        """The rows at these places, without their names."""
        return self._of([self], lambda columns: columns[0][..., rows])

    def groups(self) -> Iterator[tuple[int, Block]]:
        """All rows, as group 0, and those of each slice that has any."""
        yield 0, self
        for column in self.slices:
            order = np.argsort(column, kind="stable")
            starts = np.flatnonzero(np.diff(column[order], prepend=-1))
            for rows in np.split(order, starts[1:]):
                yield int(column[rows[0]]), self.at(rows)

    def steps(self) -> Iterator[Block]:
        """Some thousand rows at a time, of whole units."""
        cuts = np.arange(0, len(self), STEP)
        if self.clustered and not self.parted:
            cuts = np.unique(self.starts[np.searchsorted(self.starts, cuts, side="right") - 1])
        for start, end in zip(cuts.tolist(), [*cuts[1:].tolist(), len(self)], strict=True):
            yield self.at(slice(start, end))

    @staticmethod
    def join(parts: Sequence[Block]) -> Block:
        """The rows of the parts one after another, without their names."""
        return parts[0]._of(parts, lambda columns: np.concatenate(columns, axis=-1))

    def _of(self, parts: Sequence[Block], made: Callable[[list[np.ndarray]], np.ndarray]) -> Block:
        """A block whose columns are made of those of the parts."""
        return replace(
            self,
            truth=made([part.truth for part in parts]),
            said=made([part.said for part in parts]),
            weight=None if self.weight is None else made([part.weights for part in parts]),
            key=made([part.key for part in parts]),
            id=None,
            slices=[made([part.slices[i] for part in parts]) for i in range(len(self.slices))],
            beside={name: made([part.beside[name] for part in parts]) for name in self.beside},
            own={name: made([part.own[name] for part in parts]) for name in self.own},
            names=None,
            units=None,
        )


# Hashes: numpy's own, so that every engine draws the same rows --------------------------------------------------------

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mixed(x: Hashes) -> Hashes:
    """Whole numbers that look random (splitmix64, doi:10.1145/2714064.2660195)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def of_numbers(columns: Sequence[Floats]) -> Hashes:
    """A hash of the numbers of each row: rows that say the same have the same."""
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        key = mixed(key + (column + 0.0).view(np.uint64) + GOLDEN)
    return key


def of_texts(column: Any) -> Hashes:
    """A hash of each text of an Arrow array, of its bytes and their places.

    >>> import pyarrow as pa
    >>> some = ["ab", "ba", "", "ab"]
    >>> of_texts(pa.array(some)).tolist() == of_texts(pa.array(["x", *some]).slice(1)).tolist()
    True
    """
    import pyarrow as pa

    texts = column.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    key, size, first = np.zeros(len(column), np.uint64), np.diff(ends), ends[:-1] - ends[0]
    if ends[-1] > ends[0]:
        letters = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].astype(np.uint64)
        place = np.arange(1, len(letters) + 1) - np.repeat(first, size)
        some = size > 0
        key[some] = np.add.reduceat(mixed(letters + place.astype(np.uint64) * GOLDEN), first[some])
    return mixed(key + size.astype(np.uint64))
