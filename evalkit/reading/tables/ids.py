"""Ids of ranked lists as numbers: row keys, hashes of texts, ids sorted by their bytes, and the
order of ranks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints
from evalkit.reading.tables import table

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 2**15  # rows whose words stay in the cache
# 2^64 over the golden ratio: an odd number without a pattern in its bits
MIX = np.uint64(0x9E3779B97F4A7C15)
Keys = NDArray[np.uint64]


def row_keys(group: Ints, groups: int, number: Keys) -> Keys:
    """A key of 64 bits for each pair of a group and a number; equal pairs have equal keys.

    The bits of the group stand first, the leading bits of the number behind them. Different pairs
    of one group may have equal keys too, as the last bits of the number are lost. group: the group
    of each row, from 0. groups: how many groups there are. number: of each row.

    >>> keys = row_keys(np.array([1, 1]), 2, np.array([2**63, 1], np.uint64))
    >>> keys.tolist() == [3 * 2**62, 2**63]
    True
    """
    bits = np.uint64(max(groups - 1, 0).bit_length())
    if not bits:
        return number
    key = np.empty(len(number), np.uint64)
    for rows in cache_slices(len(key)):
        np.left_shift(group[rows].astype(np.uint64), np.uint64(64) - bits, out=key[rows])
        key[rows] |= number[rows] >> bits
    return key


@dataclass(frozen=True, eq=False)
class SortedKeys:
    """The order of rows by their keys, ascending.

    key: of each row, unsorted. order: the rows in the order of their keys. equals_previous: for
    each place of this order, True if its key equals that of the place before.
    """

    key: Keys
    order: Ints
    equals_previous: Bools

    @classmethod
    def sort(cls, key: Keys) -> "SortedKeys":
        """Sort rows by their keys; rows with equal keys are in any order.

        >>> found = SortedKeys.sort(np.array([7, 5, 7], np.uint64))
        >>> found.order.tolist(), found.equals_previous.tolist()
        ([1, 0, 2], [False, False, True])
        """
        order, equals_previous = sort_keys(key.copy())
        places = np.flatnonzero(equal_to_neighbour(equals_previous))
        # keys that are equal in their leading bits may differ in the others, and are sorted by all
        # bits; where one such stretch ends and another begins, the keys differ
        if len(places):
            rows = order[places]
            rows = rows[np.argsort(key[rows])]
            order[places] = rows
            equals_previous[places[1:]] = key[rows[1:]] == key[rows[:-1]]
        return cls(key, order, equals_previous)

    def find(self, keys: Keys) -> "KeyMatches":
        """Look keys up among those of the rows. A key that no row has is left out of the result;
        for a key of several rows the result has one of these rows.

        >>> SortedKeys.sort(np.array([7, 5], np.uint64)).find(np.array([5, 6, 7], np.uint64))
        KeyMatches(place=array([0, 2]), row=array([1, 0]))
        """
        if not len(self.key):
            return KeyMatches(np.zeros(0, np.int64), np.zeros(0, np.int64))
        ordered = self.key[self.order]
        place = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
        index = np.flatnonzero(ordered[place] == keys)
        return KeyMatches(index, self.order[place[index]])


class KeyMatches(NamedTuple):
    """The places, among the keys that were looked up, of those that some row has, and for each of
    them the number of such a row.
    """

    place: Ints
    row: Ints


class LeadingOrder(NamedTuple):
    """The rows in the order of the leading bits of their keys, and a mask of the places of this
    order that equal the place before in these bits.
    """

    order: Ints
    equals_previous: Bools


def sort_keys(key: Keys) -> LeadingOrder:
    """Sort rows by the leading bits of their keys.

    One plain sort of keys whose last bits are replaced by the row's number is several times faster
    than a sort that moves row numbers along with the keys. The keys are overwritten.

    >>> order, equals_previous = sort_keys(np.array([2**63, 4, 2**63 + 1], np.uint64))
    >>> order.tolist(), equals_previous.tolist()
    ([1, 0, 2], [False, False, True])
    """
    # a mask of as many last bits as the largest row number has
    number_bits = (np.uint64(1) << np.uint64(max(len(key) - 1, 0).bit_length())) - np.uint64(1)
    number = np.arange(min(BLOCK, len(key)), dtype=np.uint64)
    for rows in cache_slices(len(key)):
        block = key[rows]
        block &= ~number_bits
        block |= number[: len(block)]
        block |= np.uint64(rows.start)
    key.sort()
    equals_previous = np.zeros(len(key), bool)
    for rows in cache_slices(len(key) - 1):
        differing_bits = key[1:][rows] ^ key[:-1][rows]
        np.less_equal(differing_bits, number_bits, out=equals_previous[1:][rows])
    key &= number_bits  # only the numbers of the rows are left
    return LeadingOrder(key.view(np.int64), equals_previous)


def cache_slices(rows: int) -> list[slice]:
    """All rows as slices so short that the values of one stay in the cache."""
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]


def equal_to_neighbour(equals_previous: Bools) -> Bools:
    """A mask of the places that equal the place before or the one behind. equals_previous: a mask
    of those that equal the place before.
    """
    equals_next = np.append(equals_previous[1:], False)
    return np.asarray(equals_previous | equals_next)


# Texts as numbers ---------------------------------------------------------------------------------


SHORT = 12  # bytes of a text that are hashed at once, with its length
LEADING = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # the first n bytes of eight


def text_hashes(text: "pa.Array") -> Keys:
    """A 64-bit number for each text of an Arrow array without nulls: equal texts have equal
    numbers.

    It takes eight bytes at a time, block by block, so that intermediate results stay in the cache.

    >>> import pyarrow as pa
    >>> a, b, c = text_hashes(pa.array(["doc12345678", "doc1", "doc12345678"]))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    import pyarrow as pa

    text = text.cast(pa.large_string())
    _, offsets, content = text.buffers()
    offsets = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    content = np.frombuffer(content or b"", np.uint8)
    numbers = np.empty(len(text), np.uint64)
    for rows in cache_slices(len(numbers)):
        ends = offsets[rows.start : rows.stop + 1]
        block = content[ends[0] : ends[-1]]
        _hash_words(block, ends[:-1] - ends[0], np.diff(ends), numbers[rows])
    return numbers


def _hash_words(content: NDArray[np.uint8], start: Ints, length: Ints, numbers: Keys) -> None:
    """Write the hash of each text into `numbers`.

    The first word that is mixed holds the first four bytes and the length, the second one the next
    eight bytes. So two steps without a loop do for texts of up to `SHORT` bytes. Each further eight
    bytes of a longer text are mixed in after them.

    content: the bytes of all texts. start: where each text begins in them. length: its number of
    bytes.
    """
    padded = np.append(content, np.zeros(16, np.uint8))
    # a view: for each byte the number that it and the seven bytes behind it make
    words = np.ndarray(len(padded) - 7, "<u8", padded.data, strides=(1,))

    def word(start: Ints, left: Ints) -> Keys:
        """The next eight bytes of each text, of which `left` are left; zeros behind its end."""
        return np.asarray(words[start] & LEADING.take(left, mode="clip"))

    numbers[:] = word(start, np.minimum(length, 4)) << np.uint64(32)
    numbers |= length.astype(np.uint64)
    _mix_bits(numbers)
    numbers ^= word(start + 4, length - 4)
    _mix_bits(numbers)
    done = SHORT
    rows = np.flatnonzero(length > done)
    while rows.size:  # a single longer text costs the others nothing
        mixed = numbers[rows] ^ word(start[rows] + done, length[rows] - done)
        _mix_bits(mixed)
        numbers[rows] = mixed
        done += 8
        rows = rows[length[rows] > done]


def _mix_bits(words: Keys) -> None:
    """Make the upper bits of words depend on all bits, in place."""
    words *= MIX
    words ^= words >> np.uint64(32)


Blocks = Sequence[Any]  # Arrow arrays of text, one after another


class SortedCodes(NamedTuple):
    """Distinct texts in the order of their UTF-8 bytes, and for each group of texts the index of
    each text among them.
    """

    names: np.ndarray
    codes: list[Ints]


def sorted_codes(*groups: Blocks) -> SortedCodes:
    """The texts of all groups as numbers. groups: lists of Arrow arrays."""
    code, texts = table.encode_sorted(list(chain.from_iterable(groups)))
    ends = np.cumsum([sum(map(len, group)) for group in groups])
    return SortedCodes(np.array(texts.to_pylist(), dtype=object), np.split(code, ends[:-1]))


class SystemCodes(NamedTuple):
    """The systems in the order of their bytes, and the index of each row's system among them."""

    names: np.ndarray
    code: Ints


class OnlySystem(NamedTuple):
    """The name of the system of all rows of a block, and the number of these rows."""

    name: str
    rows: int


def codes_of_systems(blocks: Sequence["OnlySystem | pa.Array"]) -> SystemCodes:
    """The systems of rows as numbers. blocks: of each an Arrow array of names, or its only system.

    >>> names, code = codes_of_systems([OnlySystem("b", 2), OnlySystem("a", 1)])
    >>> names.tolist(), code.tolist()
    (['a', 'b'], [1, 1, 0])
    """
    import pyarrow as pa

    columns = []
    for block in blocks:
        column = block
        if isinstance(block, OnlySystem):
            code = pa.array(np.zeros(block.rows, np.int32))
            column = pa.DictionaryArray.from_arrays(code, pa.array([block.name], pa.string()))
        columns.append(column)
    names, (code_of_row,) = sorted_codes(columns)
    return SystemCodes(names, code_of_row)


def concatenated(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks in sequence; a single one is not copied."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


# The order of a ranking ---------------------------------------------------------------------------


class RankOrder(NamedTuple):
    """Rows list by list, best rank first, and which of them have the list and the score of the row
    before.
    """

    rows: Ints
    tied: Bools


def rank_order(list_of_row: Ints, score: Floats, item_ranks: Callable[[Ints], Ints]) -> RankOrder:
    """Sort rows by list, then score descending, then item descending, as trec_eval does.

    list_of_row: the number of each row's list. score: of each row. item_ranks: a function that
    returns for some rows the ranks of their items, ascending; it is called only for the rows that
    tie, as comparing items takes long. Lists that come in one piece, best score first, are only put
    in order. Others are sorted by a packed key, the list above the leading bits of the score; then
    the few rows whose keys are equal are sorted exactly.

    >>> order, tied = rank_order(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), lambda rows: rows)
    >>> order.tolist(), tied.tolist()
    ([1, 2, 0], [False, False, True])
    """
    by_score = _order_of_sorted_lists(list_of_row, score)
    if by_score is None:
        by_score = _order_by_score(list_of_row, score)
    order, tied = by_score
    places = np.flatnonzero(equal_to_neighbour(tied))
    if len(places):
        rows = order[places]
        order[places] = rows[np.lexsort((-item_ranks(rows), -score[rows], list_of_row[rows]))]
    return RankOrder(order, tied)


def _order_by_score(list_of_row: Ints, score: Floats) -> RankOrder:
    """The order and the ties of `rank_order`, but with rows that tie in any order."""
    order, tied = sort_keys(rank_keys(list_of_row, score))
    places = np.flatnonzero(equal_to_neighbour(tied))
    # rows whose keys are equal may have different scores, and are sorted by the scores themselves;
    # where one stretch of equal keys ends and another begins, the list or the score differs
    if len(places):
        rows = order[places]
        rows = rows[np.lexsort((-score[rows], list_of_row[rows]))]
        order[places] = rows
        is_same_list = list_of_row[rows[1:]] == list_of_row[rows[:-1]]
        is_same_score = score[rows[1:]] == score[rows[:-1]]
        tied[places[1:]] = is_same_list & is_same_score
    return RankOrder(order, tied)


def rank_keys(group: Ints, score: Floats) -> Keys:
    """Keys in the order of the group, then of the leading bits of the score, descending.

    Equal keys may stand for different scores, because the group takes the place of the last bits of
    the score.

    >>> rank_keys(np.array([1, 0, 0]), np.array([9.0, -1.0, 2.5])).argsort()
    array([2, 1, 0])
    """
    bits = int(group.max(initial=0)).bit_length()
    key = np.empty(len(score), np.uint64)
    for rows in cache_slices(len(key)):
        code = (score[rows] + 0.0).view(np.uint64)
        # The bits of negative scores rise as the scores fall. So do those of all others once they
        # are inverted without the sign: this mask has all bits for them, and none for negative ones
        is_positive = (~code).view(np.int64) >> 63
        code ^= is_positive.view(np.uint64) >> np.uint64(1)
        np.right_shift(code, np.uint64(bits), out=key[rows])
        if bits:
            key[rows] |= group[rows].astype(np.uint64) << np.uint64(64 - bits)
    return key


def _order_of_sorted_lists(list_of_row: Ints, score: Floats) -> RankOrder | None:
    """The order and the ties of `rank_order`, with rows that tie in any order, if each list is one
    stretch of the rows and its scores never rise; else None.
    """
    starts = _starts_of_sorted_lists(list_of_row, score)
    if starts is None:
        return None
    lists = list_of_row[starts]
    by_list = np.argsort(lists)
    if (lists[by_list[1:]] == lists[by_list[:-1]]).any():  # a list begins twice
        return None
    sizes = np.diff(starts, append=len(list_of_row))[by_list]
    new_starts = np.cumsum(sizes) - sizes
    order = np.repeat(starts[by_list] - new_starts, sizes)  # how far each row is moved
    order += np.arange(len(list_of_row))
    ordered_score = score[order]
    tied = np.zeros(len(list_of_row), bool)
    np.equal(ordered_score[1:], ordered_score[:-1], out=tied[1:])
    tied[new_starts] = False  # the row before is of another list
    return RankOrder(order, tied)


def _starts_of_sorted_lists(list_of_row: Ints, score: Floats) -> Ints | None:
    """The rows at which another list begins than that of the row before; None if scores rise within
    a list.
    """
    begins_list = np.empty(max(len(list_of_row) - 1, 0), bool)  # for each row but the first
    for rows in cache_slices(len(begins_list)):  # in blocks, as most other inputs fail in the first
        np.not_equal(list_of_row[1:][rows], list_of_row[:-1][rows], out=begins_list[rows])
        never_rises = score[1:][rows] <= score[:-1][rows]
        if not (begins_list[rows] | never_rises).all():
            return None
    starts = np.append(0, np.flatnonzero(begins_list) + 1)
    return starts[: len(list_of_row)]  # none without rows
