"""Texts as numbers of 64 bits, and whether texts that have one number are the same."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Ints
from evalkit.reading.tables.row_keys import MIX, blocks

SHORT = 12  # bytes of a text that Arrow's views hold themselves
LONG = 256  # bytes; longer texts are hashed one by one
LEADING = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # the first n bytes of eight
LENGTH = np.uint64(2**32 - 1)  # the bits of a view's first word that are the length


@dataclass(frozen=True, eq=False)
class Words:
    """An Arrow array of text by words of eight bytes.

    ends: where its texts begin, and where the last one ends. words: the one that begins at each byte of all texts, but
    for the last seven bytes.
    """

    ends: Ints
    words: NDArray[np.uint64]

    @classmethod
    def of(cls, text: Any) -> "Words":
        """Of an Arrow array without nulls."""
        import pyarrow as pa

        _, ends, content = text.buffers()
        wide = "<i8" if pa.types.is_large_string(text.type) else "<i4"
        ends = np.frombuffer(ends, wide)[text.offset : text.offset + len(text) + 1] if len(text) else np.zeros(1, wide)
        raw = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
        raw = raw if len(raw) >= 8 else np.concatenate([raw, np.zeros(8, np.uint8)])
        return cls(ends, np.ndarray(len(raw) - 7, "<u8", raw.data, strides=(1,)))

    def stretches(self, rows: Any) -> tuple[Ints, Ints]:
        """Where some texts begin, and their length in bytes."""
        start = self.ends[:-1][rows].astype(np.int64)
        return start, self.ends[1:][rows] - start

    def at(self, start: Ints, length: Ints) -> NDArray[np.uint64]:
        """The first eight bytes of stretches that begin there, zeros behind their end."""
        last = np.minimum(start, len(self.words) - 1)
        word = self.words[last]
        word >>= (8 * (start - last)).astype(np.uint64)
        word &= LEADING[np.clip(length, 0, 8)]
        return word

    def same(self, rows: Ints, other: "Words", others: Ints) -> bool:
        """Whether these rows have the texts of as many rows of another array."""
        (start, length), (there, long) = self.stretches(rows), other.stretches(others)
        if (length != long).any():
            return False
        last = np.maximum(length - 8, 0)
        same = self.at(start, length) == other.at(there, length)
        same &= self.at(start + last, length - last) == other.at(there + last, length - last)
        at, rows = 8, np.flatnonzero(length > 16)
        while rows.size and same.all():
            same[rows] = self.words[start[rows] + at] == other.words[there[rows] + at]
            at += 8
            rows = rows[length[rows] > at + 8]
        return bool(same.all())


@dataclass(frozen=True, eq=False)
class HashedTexts:
    """The texts of the rows of an Arrow array without nulls; code: the place of each row's in `text`, None: its own.

    views: two words of each text, its length with its first four bytes, and, up to SHORT bytes, the eight that follow.
    None where Arrow has no such views of it: in older versions, and of more than 2 GB.
    """

    text: Any
    views: NDArray[np.uint64] | None
    code: Ints | None = None

    @classmethod
    def of(cls, column: Any) -> "HashedTexts":
        """Of text, or of codes of texts."""
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            return cls(column.dictionary, _views(column.dictionary), column.indices.to_numpy())
        return cls(column, _views(column))

    @cached_property
    def words(self) -> Words:
        """The texts by words."""
        return Words.of(self.text)

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """A 64-bit number for each row: equal texts have equal numbers.

        Eight bytes at a time, block by block, so that what is under way stays in the cache.

        >>> import pyarrow as pa
        >>> a, b, c = HashedTexts.of(pa.array(["doc12345678", "doc1", "doc12345678"])).hashes
        >>> bool(a == c), bool(a == b)
        (True, False)
        """
        numbers = np.empty(len(self.text), np.uint64)
        for at in blocks(len(numbers)):
            self._hash(at, numbers[at])
        return numbers if self.code is None else numbers[self.code]

    def _hash(self, at: slice, numbers: NDArray[np.uint64]) -> None:
        """Each word of some texts is mixed into what the ones before it gave."""
        length: NDArray[Any]
        if self.views is None:
            start, length = self.words.stretches(at)
            numbers[:] = length.astype(np.uint64) | self.words.at(start, length) << np.uint64(32)
            second = self.words.at(start + 4, length - 4)
        else:
            numbers[:], second = self.views[at, 0], self.views[at, 1]
            length = self.views.view(np.uint32)[at, 0]
        longer = np.flatnonzero(length > SHORT) if length.max() > SHORT else np.zeros(0, np.int64)
        if longer.size:
            second = second.copy()
            start, length = self.words.stretches(at.start + longer)
            second[longer] = self.words.at(start + 4, length)
        _mix(numbers)
        numbers ^= second
        _mix(numbers)
        if longer.size:
            self._hash_longer(at.start, longer, numbers)

    def _hash_longer(self, first: int, rows: Ints, numbers: NDArray[np.uint64]) -> None:
        """The words behind the first SHORT bytes; rows: of a block whose first is `first`."""
        start, length = self.words.stretches(first + rows)
        for row in rows[length > LONG].tolist():
            digest = hashlib.blake2b(self.text[first + row].as_buffer(), digest_size=8).digest()
            numbers[row] = int.from_bytes(digest, "little")
        within = length <= LONG
        rows, start, left = rows[within], start[within] + SHORT, length[within] - SHORT
        while rows.size:  # a single longer text costs the others nothing
            mixed = numbers[rows] ^ self.words.at(start, left)
            _mix(mixed)
            numbers[rows] = mixed
            more = left > 8
            rows, start, left = rows[more], start[more] + 8, left[more] - 8

    def same(self, rows: Ints, other: "HashedTexts", others: Ints) -> bool:
        """Whether these rows have the texts of as many rows of another array.

        >>> import pyarrow as pa
        >>> first, second = (HashedTexts.of(pa.array(texts)) for texts in (["a", "b"], ["b", "c"]))
        >>> first.same(np.array([1, 0]), second, np.array([0, 1]))
        False
        """
        rows = rows if self.code is None else self.code[rows]
        others = others if other.code is None else other.code[others]
        if self.views is None or other.views is None:
            return self.words.same(rows, other.words, others)
        view, there = self.views.take(rows, axis=0), other.views.take(others, axis=0)
        differs = view != there
        longer = np.flatnonzero((view[:, 0] & LENGTH) > SHORT)
        differs[longer, 1] = False  # the second word says where the text stands
        return not differs.any() and self.words.same(rows[longer], other.words, others[longer])


def _views(text: Any) -> NDArray[np.uint64] | None:
    import pyarrow as pa

    try:
        views = text.cast(pa.string_view())
    except pa.ArrowException:
        return None
    return np.frombuffer(views.buffers()[1], "<u8").reshape(-1, 2)[views.offset : views.offset + len(text)]


def _mix(words: NDArray[np.uint64]) -> None:
    """Make the upper bits of words depend on all bits, in place."""
    words *= MIX
    words ^= words >> np.uint64(32)
