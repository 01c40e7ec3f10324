"""Hashes of rows and of texts, by numpy's own arithmetic, so that every engine samples the same
rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats

Hashes = np.ndarray  # whole numbers of 64 bits without sign
# The step of splitmix64, 2^64 / the golden ratio: its multiples are spread evenly, and added before
# mixing they keep 0 from being mixed into 0.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix_bits(x: Hashes) -> Hashes:
    """Whole numbers that look random, by the mixing function of splitmix64: different numbers are
    mixed into different ones. doi:10.1145/2714064.2660195.
    """
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def hash_numbers(columns: Sequence[Floats]) -> Hashes:
    """A hash of the numbers of each row; equal rows have equal hashes."""
    key = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        bits = (column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        key = mix_bits(key + bits + GOLDEN)
    return key


def hash_texts(column: Any) -> Hashes:
    """A hash of each text of an Arrow array. Each byte is hashed together with its position in the
    text. The hashes of a text are added up, with its length, and the sum is hashed (`mix_bits`).

    >>> import pyarrow as pa
    >>> texts = ["ab", "ba", "", "ab"]
    >>> in_a_slice = pa.array(["x", *texts]).slice(1)
    >>> hash_texts(pa.array(texts)).tolist() == hash_texts(in_a_slice).tolist()
    True
    """
    import pyarrow as pa

    texts = column.cast(pa.large_string())
    # Arrow has all texts as bytes one after another, and the offset of each among them.
    _, offsets, data = texts.buffers()
    # where each text begins, and where the last one ends; the array may be a slice of a longer one
    end = texts.offset + len(texts) + 1
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : end]
    data_start = bounds[0]
    data_end = bounds[-1]
    sum_of_hashes = np.zeros(len(column), np.uint64)
    length = np.diff(bounds)
    text_start = bounds[:-1] - data_start
    if data_end > data_start:
        text_bytes = np.frombuffer(data, np.uint8)[data_start:data_end].astype(np.uint64)
        # the position of each byte within its text, from 1, so that "ab" and "ba" differ
        byte_number = np.arange(len(text_bytes))
        position = byte_number - np.repeat(text_start, length) + 1
        steps = position.astype(np.uint64) * GOLDEN
        byte_hashes = mix_bits(text_bytes + steps)
        filled = length > 0  # reduceat would give an empty text the hash of the next byte
        sum_of_hashes[filled] = np.add.reduceat(byte_hashes, text_start[filled])
    return mix_bits(sum_of_hashes + length.astype(np.uint64))


@dataclass(frozen=True, eq=False)
class KeyRepeats:
    """Counts rows whose key occurred before, from the hashes of all rows; it gives up once there
    are more than `max_keys` distinct ones.

    sorted_keys: arrays of sorted distinct hashes, not yet merged into one; empty once there are too
    many. repeats: the number of rows known so far whose hash occurred before.
    """

    max_keys: int
    sorted_keys: tuple[Hashes, ...]
    repeats: int

    @staticmethod
    def from_keys(key: Hashes, max_keys: int) -> "KeyRepeats":
        """The keys of a block. key: a hash of what may occur twice, such as an id.

        >>> first = KeyRepeats.from_keys(np.array([3, 5], np.uint64), 9)
        >>> (first + KeyRepeats.from_keys(np.array([5, 5], np.uint64), 9)).repeated_rows
        2
        """
        distinct = np.unique(key)
        return KeyRepeats(max_keys, (distinct,), len(key) - len(distinct))

    def __add__(self, other: "KeyRepeats") -> "KeyRepeats":
        """The keys of the rows of both. They stay in several arrays of sorted distinct keys; the
        last two arrays are merged while `_is_to_be_merged` says so.

        A key that both merged arrays have is a repeated row. Once there are more than `max_keys`
        keys, none are kept, and `repeats` stays at the number that is known by then.
        """
        arrays = self.sorted_keys + other.sorted_keys
        repeats = self.repeats + other.repeats
        # a block without rows has one empty array: no array at all means that there were too many
        one_had_too_many = not (self.sorted_keys and other.sorted_keys)
        if one_had_too_many:
            return KeyRepeats(self.max_keys, sorted_keys=(), repeats=repeats)
        while _is_to_be_merged(arrays, self.max_keys):
            *earlier, second_last, last = arrays
            joined = np.sort(np.concatenate([second_last, last]), kind="stable")
            differs_from_key_before = joined[1:] != joined[:-1]
            is_first = np.append(True, differs_from_key_before)
            distinct = joined[is_first]
            arrays = (*earlier, distinct)
            repeats += len(joined) - len(distinct)
        if sum(map(len, arrays)) > self.max_keys:
            arrays = ()
        return KeyRepeats(self.max_keys, arrays, repeats)

    @cached_property
    def repeated_rows(self) -> int | None:
        """The number of rows whose key occurred before; None if there were too many keys to tell,
        and no repeated one was found until then.
        """
        if not self.sorted_keys:
            return self.repeats or None
        keys = np.concatenate(self.sorted_keys)
        repeats = len(keys) - len(np.unique(keys))
        return self.repeats + repeats


def _is_to_be_merged(arrays: tuple[Hashes, ...], max_keys: int) -> bool:
    """True if the last two arrays are to be merged: they have similar lengths, so that each key is
    merged only a few times, or there may be too many keys.
    """
    if len(arrays) < 2:
        return False
    *_, second_last, last = map(len, arrays)
    has_similar_length = last * 2 > second_last
    keys = sum(map(len, arrays))
    return has_similar_length or keys > max_keys
