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
    """A key of 64 bits for each row: in its upper bits the row's group, behind them as many leading
    bits of the row's number as there is room for. So a sort by keys is one by group, then number.

    group: of each row, from 0. groups: how many groups there are. number: of each row; two rows of
    a group whose numbers differ only in the last bits, which are lost, have equal keys.

    >>> keys = row_keys(np.array([1, 1]), 2, np.array([2**63, 1], np.uint64))
    >>> keys.tolist() == [3 * 2**62, 2**63]
    True
    """
    group_bits = np.uint64(max(groups - 1, 0).bit_length())
    if not group_bits:  # of a single group nothing need be stored
        return number
    key = np.empty(len(number), np.uint64)
    for rows in cache_slices(len(key)):
        np.left_shift(group[rows].astype(np.uint64), np.uint64(64) - group_bits, out=key[rows])
        key[rows] |= number[rows] >> group_bits
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
        # a quick sort by the leading bits of the keys alone; it overwrites its argument
        order, equals_previous = sort_keys(key.copy())
        # Groups of keys with equal leading bits are in a wrong order still. One sort of the keys of
        # all such groups orders each of them, and leaves the groups where they are.
        places = np.flatnonzero(equal_to_neighbour(equals_previous))
        if len(places):
            rows = order[places]
            rows = rows[np.argsort(key[rows])]
            order[places] = rows
            equals_previous[places[1:]] = key[rows[1:]] == key[rows[:-1]]
        return cls(key, order, equals_previous)

    def find(self, keys: Keys) -> "KeyMatches":
        """For each key that some row has: its index in `keys`, and the number of such a row, any of
        them if several rows have it. Keys that no row has are left out.

        >>> SortedKeys.sort(np.array([7, 5], np.uint64)).find(np.array([5, 6, 7], np.uint64))
        KeyMatches(key_index=array([0, 2]), row=array([1, 0]))
        """
        if not len(self.key):
            return KeyMatches(np.zeros(0, np.int64), np.zeros(0, np.int64))
        sorted_keys = self.key[self.order]
        # where each key would be inserted; a key above all others is compared with the last one
        place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
        key_index = np.flatnonzero(sorted_keys[place] == keys)
        return KeyMatches(key_index, self.order[place[key_index]])


class KeyMatches(NamedTuple):
    """The indices, among the keys that were looked up, of those that some row has, and for each of
    them the number of such a row.
    """

    key_index: Ints
    row: Ints


class LeadingOrder(NamedTuple):
    """The rows in the order of the leading bits of their keys, and a mask of the places of this
    order that equal the place before in these bits.
    """

    order: Ints
    equals_previous: Bools


def sort_keys(key: Keys) -> LeadingOrder:
    """The row numbers in the order of the leading bits of their keys, and for each whether these
    bits equal those of the row before. The keys are overwritten.

    The last bits of a key, as many as a row number has, are replaced by the number of its row. Then
    one plain sort of the keys orders the row numbers, which is several times faster than argsort.

    >>> order, equals_previous = sort_keys(np.array([2**63, 4, 2**63 + 1], np.uint64))
    >>> order.tolist(), equals_previous.tolist()
    ([1, 0, 2], [False, False, True])
    """
    bits_of_row_number = max(len(key) - 1, 0).bit_length()
    row_mask = (np.uint64(1) << np.uint64(bits_of_row_number)) - np.uint64(1)  # ones in these bits
    number_in_block = np.arange(min(BLOCK, len(key)), dtype=np.uint64)
    # Slices have BLOCK rows, a power of two, so that a row number is the slice's first row "or" the
    # number in the slice.
    for rows in cache_slices(len(key)):
        block = key[rows]  # a view: `key` is changed
        block &= ~row_mask
        block |= number_in_block[: len(block)]
        block |= np.uint64(rows.start)
    key.sort()
    equals_previous = np.zeros(len(key), bool)
    for rows in cache_slices(len(key) - 1):
        differing_bits = key[1:][rows] ^ key[:-1][rows]
        # the leading bits are equal if only bits of the row numbers differ
        np.less_equal(differing_bits, row_mask, out=equals_previous[1:][rows])
    key &= row_mask  # only the row numbers are left
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
# masks of the first n bytes of eight, for n from 0 to 8
LEADING = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)


def text_hashes(text: "pa.Array") -> Keys:
    """A 64-bit hash of each text of an Arrow array without nulls: equal texts have equal hashes.

    Texts are hashed in blocks, so that intermediate results stay in the processor's cache.

    >>> import pyarrow as pa
    >>> a, b, c = text_hashes(pa.array(["doc12345678", "doc1", "doc12345678"]))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    import pyarrow as pa

    # Arrow stores the UTF-8 bytes of all texts one after another, and where each text begins; a
    # slice of an array has the bytes of the whole array
    text = text.cast(pa.large_string())
    _, offsets_buffer, bytes_buffer = text.buffers()
    all_offsets = np.frombuffer(offsets_buffer, np.int64)
    offsets = all_offsets[text.offset : text.offset + len(text) + 1]
    all_bytes = np.frombuffer(bytes_buffer or b"", np.uint8)
    hashes = np.empty(len(text), np.uint64)
    for rows in cache_slices(len(hashes)):
        block_offsets = offsets[rows.start : rows.stop + 1]
        first_byte = block_offsets[0]
        block_bytes = all_bytes[first_byte : block_offsets[-1]]
        start = block_offsets[:-1] - first_byte
        _hash_words(block_bytes, start, np.diff(block_offsets), hashes[rows])
    return hashes


def _hash_words(content: NDArray[np.uint8], start: Ints, length: Ints, hashes: Keys) -> None:
    """Write a hash of each text into `hashes`.

    content: the bytes of all texts. start: where each text begins in them. length: its number of
    bytes. The bytes are mixed in as words of eight: first four bytes and the length, then eight
    bytes, which is all of a text of up to `SHORT` bytes; then, of longer texts, eight at a time.
    """
    padded = np.append(content, np.zeros(16, np.uint8))  # words may reach beyond the last text
    # a view without a copy: the 64-bit number of the eight bytes from each byte on
    words = np.ndarray(len(padded) - 7, "<u8", padded.data, strides=(1,))

    def word_of_texts(first_byte: Ints, bytes_left: Ints) -> Keys:
        """Eight bytes of each text as a number; those beyond its end, after `bytes_left`, are 0."""
        # "clip" takes the mask of no byte for a negative number, of all eight for a large one
        masks = LEADING.take(bytes_left, mode="clip")
        return np.asarray(words[first_byte] & masks)

    hashes[:] = word_of_texts(start, np.minimum(length, 4)) << np.uint64(32)
    hashes |= length.astype(np.uint64)
    _mix_bits(hashes)
    hashes ^= word_of_texts(start + 4, length - 4)
    _mix_bits(hashes)
    n_hashed = SHORT
    longer = np.flatnonzero(length > n_hashed)  # only these texts are looped over
    while longer.size:
        mixed = hashes[longer] ^ word_of_texts(start[longer] + n_hashed, length[longer] - n_hashed)
        _mix_bits(mixed)
        hashes[longer] = mixed
        n_hashed += 8
        longer = longer[length[longer] > n_hashed]


def _mix_bits(words: Keys) -> None:
    """Make the upper bits of words depend on all bits, in place."""
    words *= MIX
    words ^= words >> np.uint64(32)


Blocks = Sequence[Any]  # Arrow arrays of text, one after another


class SortedCodes(NamedTuple):
    """Distinct texts in the order of their UTF-8 bytes, and for each column of texts the index of
    each of its texts among them.
    """

    names: np.ndarray
    codes: list[Ints]


def sorted_codes(*columns: Blocks) -> SortedCodes:
    """The distinct texts of several columns, sorted by their UTF-8 bytes, and for each column an
    array with the index of each of its texts among them.

    columns: each a list of Arrow arrays, one after another.
    """
    code, texts = table.encode_sorted(list(chain.from_iterable(columns)))
    ends = np.cumsum([sum(map(len, column)) for column in columns])
    codes_of_columns = np.split(code, ends[:-1])
    return SortedCodes(np.array(texts.to_pylist(), dtype=object), codes_of_columns)


class SystemCodes(NamedTuple):
    """The systems in the order of their bytes, and the index of each row's system among them."""

    names: np.ndarray
    code: Ints


class OnlySystem(NamedTuple):
    """The name of the system of all rows of a block, and the number of these rows."""

    name: str
    rows: int


def codes_of_systems(blocks: Sequence["OnlySystem | pa.Array"]) -> SystemCodes:
    """The distinct names of systems, sorted, and for each row the index of its system among them.

    blocks: the rows, in sequence. A block is an Arrow array of the name in each row, or, if all of
    its rows have the same system, the name of this and their number.

    >>> names, code = codes_of_systems([OnlySystem("b", 2), OnlySystem("a", 1)])
    >>> names.tolist(), code.tolist()
    (['a', 'b'], [1, 1, 0])
    """
    import pyarrow as pa

    columns = []
    for block in blocks:
        column = block
        if isinstance(block, OnlySystem):
            # the name is stored once, and not in every row
            code = pa.array(np.zeros(block.rows, np.int32))
            column = pa.DictionaryArray.from_arrays(code, pa.array([block.name], pa.string()))
        columns.append(column)
    sorted_systems = sorted_codes(columns)
    return SystemCodes(sorted_systems.names, code=sorted_systems.codes[0])


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
    """Sort rows by list, then score descending, then item descending, as trec_eval does. A row is
    tied if it has the list and score of the row before.

    list_of_row: the number of each row's list. score: of each row. item_ranks: a function that
    returns for some rows the ranks of their items, ascending; it is called only for rows with equal
    scores, as comparing items takes long.

    >>> order, tied = rank_order(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), lambda rows: rows)
    >>> order.tolist(), tied.tolist()
    ([1, 2, 0], [False, False, True])
    """
    by_score = _order_of_sorted_lists(list_of_row, score)
    if by_score is None:  # the rows of a list are not yet sorted by score
        by_score = _order_by_score(list_of_row, score)
    order, tied = by_score
    # Rows with equal scores are in any order still. One sort of all such rows orders each group of
    # them by item, and leaves the groups where they are.
    places = np.flatnonzero(equal_to_neighbour(tied))
    if len(places):
        rows = order[places]
        order[places] = rows[np.lexsort((-item_ranks(rows), -score[rows], list_of_row[rows]))]
    return RankOrder(order, tied)


def _order_by_score(list_of_row: Ints, score: Floats) -> RankOrder:
    """Sort rows by list, then score descending, with rows of equal scores in any order. A row is
    tied if it has the list and score of the row before.

    list_of_row: the number of each row's list. score: of each row.
    """
    # a quick sort by keys of the list and the leading bits of the score
    order, tied = sort_keys(rank_keys(list_of_row, score))
    # Rows of a list whose scores have equal leading bits are in any order still. One sort of all
    # such rows by list and score orders each group of them, and leaves the groups where they are.
    places = np.flatnonzero(equal_to_neighbour(tied))
    if len(places):
        rows = order[places]
        rows = rows[np.lexsort((-score[rows], list_of_row[rows]))]
        order[places] = rows
        is_same_list = list_of_row[rows[1:]] == list_of_row[rows[:-1]]
        is_same_score = score[rows[1:]] == score[rows[:-1]]
        tied[places[1:]] = is_same_list & is_same_score
    return RankOrder(order, tied)


def rank_keys(group: Ints, score: Floats) -> Keys:
    """A key of 64 bits for each row, so that a sort by keys is one by group, then score descending.

    group: of each row, from 0. score: of each row. In the key, the group takes the place of the
    last bits of the score: rows of a group with almost the same score may have equal keys.

    >>> rank_keys(np.array([1, 0, 0]), np.array([9.0, -1.0, 2.5])).argsort()
    array([2, 1, 0])
    """
    group_bits = int(group.max(initial=0)).bit_length()
    key = np.empty(len(score), np.uint64)
    for rows in cache_slices(len(key)):
        bits = (score[rows] + 0.0).view(np.uint64)  # those of a double; −0.0 becomes 0.0
        # As whole numbers, the bits of negative doubles rise as the doubles fall. So do those of
        # the others once all bits but the sign are inverted. The shift of the inverted sign makes a
        # mask: all ones for a double without a sign, all zeros for a negative one.
        not_negative = (~bits).view(np.int64) >> 63
        bits ^= not_negative.view(np.uint64) >> np.uint64(1)
        np.right_shift(bits, np.uint64(group_bits), out=key[rows])
        if group_bits:
            key[rows] |= group[rows].astype(np.uint64) << np.uint64(64 - group_bits)
    return key


def _order_of_sorted_lists(list_of_row: Ints, score: Floats) -> RankOrder | None:
    """Sort rows by list if the rows of each list already follow each other, best score first; None
    if they do not. Then only whole lists need be moved, which is quicker than a sort of rows.

    list_of_row: the number of each row's list. score: of each row. A row is tied if it has the list
    and score of the row before.
    """
    starts = _starts_of_sorted_lists(list_of_row, score)
    if starts is None:  # a score rises within a list
        return None
    lists = list_of_row[starts]
    by_list = np.argsort(lists)
    if (lists[by_list[1:]] == lists[by_list[:-1]]).any():  # rows of a list stand in two places
        return None
    sizes = np.diff(starts, append=len(list_of_row))[by_list]
    new_starts = np.cumsum(sizes) - sizes
    # the row at place i of the new order is the old row i, shifted as far as its list is
    shift_of_list = starts[by_list] - new_starts
    order = np.repeat(shift_of_list, sizes)
    order += np.arange(len(list_of_row))
    ordered_score = score[order]
    tied = np.zeros(len(list_of_row), bool)
    np.equal(ordered_score[1:], ordered_score[:-1], out=tied[1:])
    tied[new_starts] = False  # before the first row of a list stands a row of another one
    return RankOrder(order, tied)


def _starts_of_sorted_lists(list_of_row: Ints, score: Floats) -> Ints | None:
    """The rows whose list is another one than that of the row before, as the first row is; None if
    a score is above that of the row before in the same list.

    list_of_row: the number of each row's list. score: of each row.
    """
    begins_list = np.empty(max(len(list_of_row) - 1, 0), bool)  # for each row but the first
    # block by block: if scores are not sorted, this is mostly seen in the first block
    for rows in cache_slices(len(begins_list)):
        np.not_equal(list_of_row[1:][rows], list_of_row[:-1][rows], out=begins_list[rows])
        is_not_above = score[1:][rows] <= score[:-1][rows]
        if not (begins_list[rows] | is_not_above).all():
            return None
    starts = np.append(0, np.flatnonzero(begins_list) + 1)
    return starts[: len(list_of_row)]  # empty if there are no rows
