"""Ids of ranked lists as numbers: keys of rows, hashes of texts, ids in the order of their bytes, order of ranks."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import keys

BLOCK = 2**15  # rows whose words stay in the cache
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: an odd number without a pattern in its bits
ROOM = 3  # a table has at least 2 ** ROOM places per key
FEW = 6  # 2 ** FEW flags per key, so that few other rows hit one
HALF = np.uint64(32)
SEVERAL, TAG = np.uint8(1), np.uint8(128)  # of a table's places
Keys = NDArray[np.uint64]


def pair(group: Ints, groups: int, number: Keys) -> Keys:
    """A key for each (group, number): the group above the leading bits of the number; equal pairs have equal keys.

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


@dataclass(frozen=True)
class Sorted:
    """The order of rows by a key, ascending: `order` names the rows, `same` says which of them equal the one before."""

    order: Ints
    same: Bools

    @classmethod
    def of(cls, key: Keys) -> "Sorted":
        """The order of the keys' rows; rows with one key stay in any order.

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
        return cls(order, same)


def numbered(key: Keys) -> tuple[Ints, Bools]:
    """The rows in the order of the leading bits of their keys, and which agree in them with the row before.

    One plain sort of keys whose last bits give way to the row's number is several times faster than a sort that moves
    row numbers beside the keys. The keys are overwritten.

    >>> order, same = numbered(np.array([2**63, 4, 2**63 + 1], np.uint64))
    >>> order.tolist(), same.tolist()
    ([1, 0, 2], [False, False, True])
    """
    spare = _below(np.uint64(max(len(key) - 1, 0).bit_length()))
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


def repeated(key: Keys) -> Ints:
    """The rows whose keys other rows have as well, ascending.

    A sort of half the bits, mixed, names the few keys that can be there twice: about n² / 2³³ of n rows by chance.

    >>> repeated(np.array([7, 5, 7, 6], np.uint64)).tolist()
    [0, 2]
    """
    half = np.empty(len(key), np.uint32)
    for at in blocks(len(key)):
        half[at] = _half(key[at])
    half.sort()
    again = [half[1:][at][half[1:][at] == half[:-1][at]] for at in blocks(len(key) - 1)]
    flags = np.zeros(1 << max(16, min(sum(map(len, again)).bit_length() + FEW, 32)), bool)
    last = np.uint64(len(flags) - 1)
    for some in again:
        flags[some & last] = True
    flagged = [at.start + np.flatnonzero(flags.take((_half(key[at]) & last).view(np.int64))) for at in blocks(len(key))]
    rows = np.concatenate([np.zeros(0, np.int64), *flagged])
    found = Sorted.of(key[rows])
    return np.sort(rows[found.order[runs(found.same)]])


def _half(key: Keys) -> Keys:
    """The leading half of the bits of mixed keys."""
    mixed = key * MIX
    mixed >>= HALF
    return mixed


@dataclass(frozen=True, eq=False)
class Table:
    """Rows by their keys, no two of which are equal: a table of the leading bits of the mixed keys says where to look.

    tag: for these bits TAG with the next ones of the row's mixed key; 0 where no row has them, SEVERAL where more than
    one has. row: the row. shared: the rows that share these bits, in the order of their keys.
    """

    key: Keys
    shift: np.uint64
    tag: NDArray[np.uint8]
    row: NDArray[np.int32]
    shared: Ints

    @classmethod
    def of(cls, key: Keys) -> "Table":
        """Of fewer than 2 ** 31 keys."""
        bits = min(len(key).bit_length() + ROOM, 32)
        shift, number = np.uint64(64 - bits), np.arange(len(key), dtype=np.int32)
        place, own = _places(key, shift)
        tag, row = np.zeros(1 << bits, np.uint8), np.empty(1 << bits, np.int32)
        row[place] = number
        tag[place] = own
        tag[place[row[place] != number]] = SEVERAL
        shared = np.flatnonzero(tag[place] == SEVERAL)
        return cls(key, shift, tag, row, shared[np.argsort(key[shared])])

    def find(self, wanted: Keys) -> tuple[Ints, Ints]:
        """The numbers of the wanted keys that a row has, and these rows.

        >>> Table.of(np.array([7, 5], np.uint64)).find(np.array([5, 6, 7], np.uint64))
        (array([0, 2]), array([1, 0]))
        """
        none = np.zeros(0, np.int64)
        if not len(self.key):
            return none, none
        among = self.key[self.shared]
        found = [self._found(wanted[at], among, at.start) for at in blocks(len(wanted))]
        number, row = (np.concatenate([none, *(some[i] for some in found)]) for i in (0, 1))
        return number, row

    def _found(self, wanted: Keys, among: Keys, start: int) -> tuple[Ints, Ints]:
        """As `find`, of keys numbered from `start`; among: the keys of the rows that share their places."""
        place, own = _places(wanted, self.shift)
        tag = self.tag.take(place)
        number = np.flatnonzero((tag == own) | (tag == SEVERAL))
        key, row = wanted.take(number), self.row.take(place.take(number)).astype(np.int64)
        shares = np.flatnonzero(tag.take(number) == SEVERAL)
        if shares.size:
            at = np.searchsorted(among, key[shares])
            row[shares] = self.shared[np.minimum(at, len(among) - 1)]
        same = self.key.take(row) == key
        return number[same] + start, row[same]


def _places(key: Keys, shift: np.uint64) -> tuple[Ints, NDArray[np.uint8]]:
    """The leading bits of mixed keys, and TAG with the bits that follow."""
    mixed = key * MIX
    own = (mixed >> (shift - np.uint64(7))).astype(np.uint8)
    own |= TAG
    mixed >>= shift
    return mixed.view(np.int64), own


def blocks(rows: int) -> list[slice]:
    """So many rows in slices that stay in the cache."""
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]


def runs(same: Bools) -> Bools:
    """Which rows equal the row before or after them, from which ones equal the one before."""
    return same | np.concatenate([same[1:], [False]])


def _below(bits: np.uint64) -> np.uint64:
    """The largest number of so many bits."""
    return (np.uint64(1) << bits) - np.uint64(1)


# Hashes of texts ------------------------------------------------------------------------------------------------------


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


# Ids ------------------------------------------------------------------------------------------------------------------


Blocks = list[Any]  # Arrow arrays of text, one after another
Codes = NDArray[np.int32]
Numbered = list[tuple[Codes, Codes]]  # of each block the numbers of its texts, and its rows' codes of them


def coded(*groups: Blocks) -> tuple[Any, list[Ints]]:
    """All distinct texts as an Arrow array, and each group's codes into it."""
    texts, numbers = _numbered(groups)
    return texts, [_codes(group, np.arange(len(texts))) for group in numbers]


def _codes(group: Numbered, place: Ints) -> Ints:
    """The places of the texts of a group's rows."""
    code = np.empty(sum(len(own) for _, own in group), np.int64)
    filled = 0
    for number, own in group:
        of_own = place[number]
        for at in blocks(len(own)):
            of_own.take(own[at], out=code[filled : filled + len(own)][at])
        filled += len(own)
    return code


def _numbered(groups: Sequence[Blocks]) -> tuple[Any, list[Numbered]]:
    """All distinct texts, and of each block the numbers of its own texts among them, and its rows' codes of its own."""
    import pyarrow as pa

    flat = [block for group in groups for block in group]
    if not flat:
        return pa.array([], pa.string()), [[] for _ in groups]
    codes: Sequence[Codes]
    if all(pa.types.is_dictionary(block.type) and not block.null_count for block in flat):
        own, codes = zip(*map(_in_use, flat), strict=True)
        every = pa.concat_arrays(own).dictionary_encode(null_encoding="encode")
        texts, ends = every.dictionary, np.cumsum([len(some) for some in own])
        numbers = np.split(every.indices.to_numpy(), ends[:-1])
    else:
        texts, codes = _encoded(flat)
        numbers = [np.arange(len(texts), dtype=np.int32)] * len(flat)
    pairs = iter(zip(numbers, codes, strict=True))
    return texts, [[next(pairs) for _ in group] for group in groups]


def _encoded(blocks: Blocks) -> tuple[Any, Sequence[Codes]]:
    """The distinct texts of all blocks, and the codes of each block's rows into them."""
    import pyarrow as pa

    # 32-bit offsets hold 2 GB of text; more of it, or texts of several types, take the wider type.
    if len({block.type for block in blocks}) > 1 or sum(block.nbytes for block in blocks) > 1 << 30:
        blocks = [block.cast(pa.large_string()) for block in blocks]
    encoded = _decoded(pa.concat_arrays(blocks)).dictionary_encode(null_encoding="encode")
    return encoded.dictionary, np.split(encoded.indices.to_numpy(), np.cumsum([len(block) for block in blocks])[:-1])


def _decoded(text: Any) -> Any:
    import pyarrow as pa

    return text.cast(text.type.value_type) if pa.types.is_dictionary(text.type) else text


def _in_use(encoded: Any) -> tuple[Any, Codes]:
    """The texts of a dictionary array that some row has, and the rows' codes into them."""
    import pyarrow as pa

    texts, code = encoded.dictionary.cast(pa.large_string()), encoded.indices.cast(pa.int32()).to_numpy()
    used = np.zeros(len(texts), bool)
    for at in blocks(len(code)):
        used[code[at]] = True
        if used.all():
            return texts, code
    return texts.filter(pa.array(used)), (np.cumsum(used, dtype=np.int32) - 1)[code]


def places(texts: Any) -> Ints:
    """The place of each of these distinct texts in the order of their UTF-8 bytes."""
    import pyarrow.compute as pc

    order = pc.sort_indices(texts).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def sorted_codes(*groups: Blocks) -> tuple[np.ndarray, list[Ints]]:
    """All distinct texts in the order of their UTF-8 bytes, and each group's codes into them."""
    texts, numbers = _numbered(groups)
    place = places(texts)
    names = np.empty(len(place), dtype=object)
    names[place] = texts.to_pylist()
    return names, [_codes(group, place) for group in numbers]


def named(blocks: Sequence[tuple[str, int] | Any]) -> tuple[np.ndarray, Ints]:
    """As `sorted_codes` of one group, whose blocks may also be one name for a number of rows.

    >>> names, code = named([("b", 2), ("a", 1)])
    >>> names.tolist(), code.tolist()
    (['a', 'b'], [1, 1, 0])
    """
    whole = (np.empty(0, object), [np.empty(0, np.int64)])
    each = [whole if isinstance(block, tuple) else sorted_codes([block]) for block in blocks]
    known = {block[0] for block in blocks if isinstance(block, tuple)} | {
        system for names, _ in each for system in names
    }
    place = {name: i for i, name in enumerate(sorted(known, key=lambda name: name.encode()))}
    codes = [
        np.broadcast_to(np.int64(place[block[0]]), block[1])
        if isinstance(block, tuple)
        else np.array([place[system] for system in names], np.int64)[code]
        for block, (names, (code,)) in zip(blocks, each, strict=True)
    ]
    return np.array(list(place), dtype=object), joined(codes)


def joined(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks end to end; one alone is not copied."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


# The order of a ranking -----------------------------------------------------------------------------------------------


def by_rank(of: Ints, score: Floats, item: Callable[[Ints], Ints]) -> tuple[Ints, Bools]:
    """The order of rows by list, then score descending, then item descending; `item` ranks the items of some rows.

    Second, which rows of that order have the list and the score of the one before. Lists that come in one piece, best
    score first, are only put in order; else a sort of a packed key, the list above the leading bits of the score, puts
    all rows in place but those whose keys are equal: these few are sorted exactly.

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
    order, same = numbered(keys.packed(of, score))
    rows = np.flatnonzero(runs(same))
    if len(rows):
        some = order[rows]
        order[rows] = some = some[np.lexsort((-score[some], of[some]))]
        same[rows[1:]] = (of[some[1:]] == of[some[:-1]]) & (score[some[1:]] == score[some[:-1]])
    return order, same


def _pieces(of: Ints, score: Floats) -> tuple[Ints, Bools] | None:
    """What `by_rank` gives, ties unordered, where each list is one piece whose scores never rise; else None."""
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
