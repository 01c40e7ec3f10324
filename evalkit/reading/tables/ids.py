"""Ids of ranked lists as numbers: row keys, hashes of texts, ids sorted by their bytes, and the
order of ranks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints
from evalkit.reading.tables import table

BLOCK = 2**15  # rows whose words stay in the cache
# 2^64 over the golden ratio: an odd number without a pattern in its bits
MIX = np.uint64(0x9E3779B97F4A7C15)
Keys = NDArray[np.uint64]


def pair(group: Ints, groups: int, number: Keys) -> Keys:
    """A key for each (group, number): the group above the leading bits of the number; equal pairs
    have equal keys.

    >>> pair(np.array([1, 1]), 2, np.array([2**63, 1], np.uint64)).tolist() == [3 * 2**62, 2**63]
    True
    """
    bits = np.uint64(max(groups - 1, 0).bit_length())
    if not bits:
        return number
    key = np.empty(len(number), np.uint64)
    for at in blocks(len(key)):
        np.left_shift(group[at].astype(np.uint64), np.uint64(64) - bits, out=key[at])
        key[at] |= number[at] >> bits
    return key


@dataclass(frozen=True, eq=False)
class Sorted:
    """The order of rows by a key, ascending: `order` has the rows, `same` is True for those equal
    to the one before.
    """

    key: Keys
    order: Ints
    same: Bools

    @classmethod
    def of(cls, key: Keys) -> "Sorted":
        """The order of the keys' rows; rows with equal keys are in any order.

        >>> found = Sorted.of(np.array([7, 5, 7], np.uint64))
        >>> found.order.tolist(), found.same.tolist()
        ([1, 0, 2], [False, False, True])
        """
        order, same = numbered(key.copy())
        rows = np.flatnonzero(runs(same))
        if len(rows):
            some = order[rows]
            order[rows] = some = some[np.argsort(key[some])]
            same[rows[1:]] = key[some[1:]] == key[some[:-1]]
        return cls(key, order, same)

    def find(self, wanted: Keys) -> tuple[Ints, Ints]:
        """The indices of the wanted keys that exist, and a row with each.

        >>> Sorted.of(np.array([7, 5], np.uint64)).find(np.array([5, 6, 7], np.uint64))
        (array([0, 2]), array([1, 0]))
        """
        if not len(self.key):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        key = self.key[self.order]
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        number = np.flatnonzero(key[place] == wanted)
        return number, self.order[place[number]]


def numbered(key: Keys) -> tuple[Ints, Bools]:
    """The rows in the order of the leading bits of their keys, and a mask: equal in them to the row
    before.

    One plain sort of keys whose last bits are replaced by the row's number is several times faster
    than a sort that moves row numbers along with the keys. The keys are overwritten.

    >>> order, same = numbered(np.array([2**63, 4, 2**63 + 1], np.uint64))
    >>> order.tolist(), same.tolist()
    ([1, 0, 2], [False, False, True])
    """
    spare = (np.uint64(1) << np.uint64(max(len(key) - 1, 0).bit_length())) - np.uint64(1)
    number = np.arange(min(BLOCK, len(key)), dtype=np.uint64)
    for at in blocks(len(key)):
        some = key[at]
        some &= ~spare
        some |= number[: len(some)]
        some |= np.uint64(at.start)
    key.sort()
    same = np.zeros(len(key), bool)
    for at in blocks(len(key) - 1):
        np.less_equal(key[1:][at] ^ key[:-1][at], spare, out=same[1:][at])
    key &= spare
    return key.view(np.int64), same


def blocks(rows: int) -> list[slice]:
    """Slices of the rows that fit into the cache."""
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]


def runs(same: Bools) -> Bools:
    """A mask of the rows equal to a neighbour, from the mask of those equal to the row before."""
    return np.asarray(same | np.append(same[1:], False))


# Texts as numbers ---------------------------------------------------------------------------------


SHORT = 12  # bytes of a text that are hashed at once, with its length
LEADING = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # the first n bytes of eight


def hashed(text: Any) -> Keys:
    """A 64-bit number for each text of an Arrow array without nulls: equal texts have equal
    numbers.

    It takes eight bytes at a time, block by block, so that intermediate results stay in the cache.

    >>> import pyarrow as pa
    >>> a, b, c = hashed(pa.array(["doc12345678", "doc1", "doc12345678"]))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    import pyarrow as pa

    text = text.cast(pa.large_string())
    _, ends, content = text.buffers()
    ends = np.frombuffer(ends, np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.frombuffer(content or b"", np.uint8)
    numbers = np.empty(len(text), np.uint64)
    for at in blocks(len(numbers)):
        own = ends[at.start : at.stop + 1]
        _hash(content[own[0] : own[-1]], own[:-1] - own[0], np.diff(own), numbers[at])
    return numbers


def _hash(content: NDArray[np.uint8], start: Ints, length: Ints, numbers: Keys) -> None:
    """Each word of some texts is mixed into what the ones before it gave."""
    padded = np.concatenate([content, np.zeros(16, np.uint8)])
    words = np.ndarray(len(padded) - 7, "<u8", padded.data, strides=(1,))  # one begins at each byte

    def at(start: Ints, left: Ints) -> Keys:
        """Eight bytes from there on, zeros behind the end of the text."""
        return np.asarray(words[start] & LEADING.take(left, mode="clip"), np.uint64)

    numbers[:] = at(start, np.minimum(length, 4)) << np.uint64(32)
    numbers |= length.astype(np.uint64)
    _mix(numbers)
    numbers ^= at(start + 4, length - 4)
    _mix(numbers)
    rows = np.flatnonzero(length > SHORT)
    start, left = start[rows] + SHORT, length[rows] - SHORT
    while rows.size:  # a single longer text costs the others nothing
        mixed = numbers[rows] ^ at(start, left)
        _mix(mixed)
        numbers[rows] = mixed
        more = left > 8
        rows, start, left = rows[more], start[more] + 8, left[more] - 8


def _mix(words: Keys) -> None:
    """Make the upper bits of words depend on all bits, in place."""
    words *= MIX
    words ^= words >> np.uint64(32)


Blocks = Sequence[Any]  # Arrow arrays of text, one after another


def sorted_codes(*groups: Blocks) -> tuple[np.ndarray, list[Ints]]:
    """All distinct texts in the order of their UTF-8 bytes, and each group's codes into them."""
    code, texts = table.ordered([block for group in groups for block in group])
    ends = np.cumsum([sum(map(len, group)) for group in groups])
    return np.array(texts.to_pylist(), dtype=object), np.split(code, ends[:-1])


def named(blocks: Sequence[tuple[str, int] | Any]) -> tuple[np.ndarray, Ints]:
    """As `sorted_codes` for one group; a block may also be one name for a number of rows.

    >>> names, code = named([("b", 2), ("a", 1)])
    >>> names.tolist(), code.tolist()
    (['a', 'b'], [1, 1, 0])
    """
    import pyarrow as pa

    def column(name: str, rows: int) -> Any:
        return pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(rows, np.int32)), pa.array([name], pa.string())
        )

    names, (code,) = sorted_codes(
        [column(*block) if isinstance(block, tuple) else block for block in blocks]
    )
    return names, code


def concatenated(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks in sequence; a single one is not copied."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


# The order of a ranking ---------------------------------------------------------------------------


def by_rank(of: Ints, score: Floats, item: Callable[[Ints], Ints]) -> tuple[Ints, Bools]:
    """The order of rows by list, then score descending, then item descending; `item` ranks the
    items of some rows.

    Second, which rows of that order have the list and the score of the one before. Lists that come
    in one piece, best score first, are only put in order; else a sort of a packed key, the list
    above the leading bits of the score, puts all rows in place but those whose keys are equal:
    these few are sorted exactly.

    >>> order, tied = by_rank(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), lambda rows: rows)
    >>> order.tolist(), tied.tolist()
    ([1, 2, 0], [False, False, True])
    """
    order, same = _pieces(of, score) or _by_score(of, score)
    rows = np.flatnonzero(runs(same))
    if len(rows):
        some = order[rows]
        order[rows] = some[np.lexsort((-item(some), -score[some], of[some]))]
    return order, same


def _by_score(of: Ints, score: Floats) -> tuple[Ints, Bools]:
    """What `by_rank` gives, ties unordered."""
    order, same = numbered(packed(of, score))
    rows = np.flatnonzero(runs(same))
    if len(rows):
        some = order[rows]
        order[rows] = some = some[np.lexsort((-score[some], of[some]))]
        same[rows[1:]] = (of[some[1:]] == of[some[:-1]]) & (score[some[1:]] == score[some[:-1]])
    return order, same


def packed(group: Ints, score: Floats) -> Keys:
    """Keys in the order of the group, then of the leading bits of the score, descending.

    Equal keys may stand for different scores, because the group takes the place of the last bits of
    the score.

    >>> packed(np.array([1, 0, 0]), np.array([9.0, -1.0, 2.5])).argsort()
    array([2, 1, 0])
    """
    bits = int(group.max(initial=0)).bit_length()
    key = np.empty(len(score), np.uint64)
    for at in blocks(len(key)):
        code = (score[at] + 0.0).view(np.uint64)
        positive = (~code).view(
            np.int64
        ) >> 63  # all bits of scores of at least 0: these but the sign are inverted
        code ^= positive.view(np.uint64) >> np.uint64(1)
        np.right_shift(code, np.uint64(bits), out=key[at])
        if bits:
            key[at] |= group[at].astype(np.uint64) << np.uint64(64 - bits)
    return key


def _pieces(of: Ints, score: Floats) -> tuple[Ints, Bools] | None:
    """What `by_rank` gives, ties unordered, where each list is one piece whose scores never rise;
    else None.
    """
    fresh = np.empty(max(len(of) - 1, 0), bool)
    for at in blocks(len(fresh)):  # the first block tells of most others
        np.not_equal(of[1:][at], of[:-1][at], out=fresh[at])
        if not (fresh[at] | (score[1:][at] <= score[:-1][at])).all():
            return None
    start = np.concatenate([[0], np.flatnonzero(fresh) + 1])[: len(of)]
    code = of[start]
    turn = np.argsort(code)
    if (code[turn[1:]] == code[turn[:-1]]).any():
        return None
    size = np.diff(start, append=len(of))[turn]
    begins = np.cumsum(size) - size
    order = np.repeat(start[turn] - begins, size)
    order += np.arange(len(of))
    ranked, same = score[order], np.zeros(len(of), bool)
    np.equal(ranked[1:], ranked[:-1], out=same[1:])
    same[begins] = False
    return order, same
