"""Text ids as whole numbers, and the order of rows that a ranking has."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import keys

SHORT = 12  # bytes of a text that Arrow's views hold themselves
LONG = 256  # bytes; longer texts are hashed one by one
BLOCK = 2**15  # rows whose words stay in the cache
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: an odd number without a pattern in its bits
LEADING = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # the first n bytes of eight
Blocks = list[Any]  # Arrow arrays of text, one after another


def coded(*groups: Blocks) -> tuple[Any, list[NDArray[np.int32]]]:
    """All distinct texts as an Arrow array in the order of their appearance, and each group's codes into it."""
    import pyarrow as pa

    flat = [block for group in groups for block in group]
    if not flat:
        return pa.array([], pa.string()), [np.zeros(0, np.int32) for _ in groups]
    # 32-bit offsets hold 2 GB of text; more of it, or texts of several types, take the wider type.
    if len({block.type for block in flat}) > 1 or sum(block.nbytes for block in flat) > 1 << 30:
        flat = [block.cast(pa.large_string()) for block in flat]
    encoded = pa.concat_arrays(flat)
    if pa.types.is_dictionary(encoded.type) and not encoded.null_count:
        texts, code = _in_use(encoded)
    else:
        encoded = _decoded(encoded).dictionary_encode(null_encoding="encode")
        texts, code = encoded.dictionary, encoded.indices.to_numpy()
    ends = np.cumsum([sum(map(len, group)) for group in groups])
    return texts, np.split(code, ends[:-1])


def _decoded(text: Any) -> Any:
    import pyarrow as pa

    return text.cast(text.type.value_type) if pa.types.is_dictionary(text.type) else text


def _in_dictionary(text: Any, rows: Ints) -> tuple[Any, Ints]:
    """The texts themselves and where those of some rows stand among them, where rows have codes of texts."""
    import pyarrow as pa

    coded = pa.types.is_dictionary(text.type)
    return (text.dictionary, text.indices.to_numpy()[rows]) if coded else (text, rows)


def _in_use(encoded: Any) -> tuple[Any, NDArray[np.int32]]:
    """The texts of a dictionary array that some row has, and the rows' codes into them."""
    import pyarrow as pa

    code = encoded.indices.to_numpy()
    used = np.zeros(len(encoded.dictionary), bool)
    used[code] = True
    if used.all():
        return encoded.dictionary, code
    return encoded.dictionary.filter(pa.array(used)), (np.cumsum(used, dtype=np.int32) - 1)[code]


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


def hashes(text: Any) -> NDArray[np.uint64]:
    """A 64-bit number for each text of an Arrow array without nulls: equal texts have equal numbers.

    Eight bytes at a time, block by block, so that what is under way stays in the cache.

    >>> import pyarrow as pa
    >>> a, b, c = hashes(pa.array(["doc12345678", "doc1", "doc12345678"]))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    text = _decoded(text)
    words, views = Words.of(text), _views(text)
    numbers = np.empty(len(text), np.uint64)
    for at in _blocks(len(numbers)):
        start, length = words.stretches(at)
        numbers[at] = _hashes(words, start, length, None if views is None else views[at])
        for row in at.start + np.flatnonzero(length > LONG):
            numbers[row] = int.from_bytes(hashlib.blake2b(text[row].as_buffer(), digest_size=8).digest(), "little")
    return numbers


def _views(text: Any) -> NDArray[np.uint64] | None:
    """Two words of each text: its length with its first four bytes, and, up to SHORT bytes, the eight that follow.

    None where Arrow has no such views of it: in older versions, and of more than 2 GB.
    """
    import pyarrow as pa

    try:
        views = text.cast(pa.string_view())
    except pa.ArrowException:
        return None
    return np.frombuffer(views.buffers()[1], "<u8").reshape(-1, 2)[views.offset : views.offset + len(text)]


def _hashes(words: Words, start: Ints, length: Ints, views: NDArray[np.uint64] | None) -> NDArray[np.uint64]:
    """The numbers of texts of at most LONG bytes: each word is mixed into what the ones before it gave."""
    rows = np.flatnonzero(length > SHORT)
    if views is None:
        first = length.astype(np.uint64) | words.at(start, length) << np.uint64(32)
        second = words.at(start + 4, length - 4)
    else:
        first, second = views[:, 0].copy(), views[:, 1].copy()
        second[rows] = words.at(start[rows] + 4, length[rows])
    numbers = _mixed(_mixed(first) ^ second)
    rows = rows[length[rows] <= LONG]
    start, left = start[rows] + SHORT, length[rows] - SHORT
    while rows.size:  # a single longer text costs the others nothing
        numbers[rows] = _mixed(numbers[rows] ^ words.at(start, left))
        more = left > 8
        rows, start, left = rows[more], start[more] + 8, left[more] - 8
    return numbers


def _mixed(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words whose upper bits depend on all bits, in place."""
    word *= MIX
    word ^= word >> np.uint64(32)
    return word


def same_texts(first: Any, rows: Ints, second: Any, others: Ints) -> bool:
    """Whether rows of an Arrow array of text have the texts of as many rows of another.

    >>> import pyarrow as pa
    >>> same_texts(pa.array(["a", "b"]), np.array([1, 0]), pa.array(["b", "c"]), np.array([0, 1]))
    False
    """
    (first, rows), (second, others) = _in_dictionary(first, rows), _in_dictionary(second, others)
    one, other = Words.of(first), Words.of(second)
    (start, length), (there, long) = one.stretches(rows), other.stretches(others)
    if (length != long).any():
        return False
    last = np.maximum(length - 8, 0)
    same = one.at(start, length) == other.at(there, length)
    same &= one.at(start + last, length - last) == other.at(there + last, length - last)
    at, rows = 8, np.flatnonzero(length > 16)
    while rows.size and same.all():
        same[rows] = one.words[start[rows] + at] == other.words[there[rows] + at]
        at += 8
        rows = rows[length[rows] > at + 8]
    return bool(same.all())


def places(texts: Any) -> Ints:
    """The place of each of these distinct texts in the order of their UTF-8 bytes."""
    import pyarrow.compute as pc

    order = pc.sort_indices(texts).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def sorted_codes(*groups: Blocks) -> tuple[np.ndarray, list[Ints]]:
    """All distinct texts in the order of their UTF-8 bytes, and each group's codes into them."""
    texts, codes = coded(*groups)
    place = places(texts)
    names = np.empty(len(place), dtype=object)
    names[place] = texts.to_pylist()
    return names, [place[code] for code in codes]


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


def pair(group: Ints, groups: int, number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A key for each (group, number): the group above the leading bits of the number; equal pairs have equal keys.

    >>> pair(np.array([1, 1]), 2, np.array([2**63, 1], np.uint64)).tolist() == [3 * 2**62, 2**63]
    True
    """
    bits = np.uint64(max(groups - 1, 0).bit_length())
    if not bits:
        return number
    key = np.empty(len(number), np.uint64)
    for at in _blocks(len(key)):
        np.left_shift(group[at].astype(np.uint64), np.uint64(64) - bits, out=key[at])
        key[at] |= number[at] >> bits
    return key


def joined(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks end to end; one alone is not copied."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


@dataclass(frozen=True)
class Sorted:
    """The order of rows by a key, ascending: `order` names the rows, `same` says which of them equal the one before.

    One plain sort of keys whose last bits give way to the row's number is several times faster than a sort that moves
    row numbers beside the keys. The few rows that agree in the bits that are left are then sorted by the whole key.
    """

    key: NDArray[np.uint64]
    leading: NDArray[np.uint64]
    spare: np.uint64
    order: Ints
    same: Bools

    @classmethod
    def of(cls, key: NDArray[np.uint64]) -> "Sorted":
        """The order of the keys' rows.

        >>> found = Sorted.of(np.array([7, 5, 7], np.uint64))
        >>> found.order.tolist(), found.same.tolist()
        ([1, 0, 2], [False, False, True])
        """
        spare = np.uint64(max(len(key) - 1, 0).bit_length())
        leading = np.empty_like(key)
        for at in _blocks(len(key)):
            np.bitwise_and(key[at], ~_below(spare), out=leading[at])
            leading[at] |= np.arange(at.start, at.stop, dtype=np.uint64)
        leading.sort()
        order = (leading & _below(spare)).view(np.int64)
        same = np.zeros(len(key), bool)
        np.less_equal(leading[1:] ^ leading[:-1], _below(spare), out=same[1:])
        rows = np.flatnonzero(_runs(same))
        if len(rows):
            some = order[rows]
            order[rows] = some = some[np.argsort(key[some])]
            same[rows[1:]] = key[some[1:]] == key[some[:-1]]
        return cls(key, leading, spare, order, same)

    def find(self, wanted: NDArray[np.uint64]) -> Ints:
        """For each wanted key a row that has it, -1 where none does; fastest where the wanted ascend.

        >>> Sorted.of(np.array([7, 5], np.uint64)).find(np.array([5, 6, 7], np.uint64)).tolist()
        [1, -1, 0]
        """
        at = np.searchsorted(self.leading, wanted >> self.spare << self.spare)
        row_of = np.full(len(wanted), -1)
        left = np.flatnonzero(at < len(self.key))
        while left.size:
            row = self.order[at[left]]
            differs = self.key[row] ^ wanted[left]
            row_of[left[differs == 0]] = row[differs == 0]
            left = left[(differs > 0) & (differs <= _below(self.spare))]
            at[left] += 1
            left = left[at[left] < len(self.key)]
        return row_of


def _blocks(rows: int) -> list[slice]:
    """So many rows in slices that stay in the cache."""
    return [slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK)]


def _below(bits: np.uint64) -> np.uint64:
    """The largest number of so many bits."""
    return (np.uint64(1) << bits) - np.uint64(1)


def by_rank(of: Ints, score: Floats, item: Callable[[Ints], Ints]) -> tuple[Ints, Bools]:
    """The order of rows by list, then score descending, then item descending; `item` ranks the items of some rows.

    Second, which rows of that order have the list and the score of the one before. Lists that come in one piece, best
    score first, are only put in order; else a sort of a packed key, the list above the leading bits of the score, puts
    all rows in place but those whose keys are equal: these few are sorted exactly.

    >>> order, tied = by_rank(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), lambda rows: rows)
    >>> order.tolist(), tied.tolist()
    ([1, 2, 0], [False, False, True])
    """
    if (pieces := _pieces(of, score)) is None:
        packed = Sorted.of(keys.packed(of, score))
        pieces = packed.order, packed.same
    order, same = pieces
    rows = np.flatnonzero(_runs(same))
    if len(rows):
        some = order[rows]
        order[rows] = some = some[np.lexsort((-item(some), -score[some], of[some]))]
        same[rows[1:]] = (of[some[1:]] == of[some[:-1]]) & (score[some[1:]] == score[some[:-1]])
    return order, same


def _pieces(of: Ints, score: Floats) -> tuple[Ints, Bools] | None:
    """What `by_rank` gives, ties unordered, where each list is one piece whose scores never rise; else None."""
    fresh = np.empty(max(len(of) - 1, 0), bool)
    for at in _blocks(len(fresh)):  # the first block tells of most others
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


def _runs(same: Bools) -> Bools:
    """Which rows equal the row before or after them, from which ones equal the one before."""
    return same | np.concatenate([same[1:], [False]])
