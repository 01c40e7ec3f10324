"""Text ids as whole numbers, and the order of rows that a ranking has."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import keys

LAST = 2**21  # a table of so many bytes stays in the cache
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
    encoded = pa.concat_arrays(flat).dictionary_encode(null_encoding="encode")
    ends = np.cumsum([sum(map(len, group)) for group in groups])
    return encoded.dictionary, np.split(encoded.indices.to_numpy(), ends[:-1])


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
    known = {block[0] for block in blocks if isinstance(block, tuple)} | {one for names, _ in each for one in names}
    place = {name: i for i, name in enumerate(sorted(known, key=lambda name: name.encode()))}
    codes = [
        np.full(block[1], place[block[0]])
        if isinstance(block, tuple)
        else np.array([place[one] for one in names])[code]
        for block, (names, (code,)) in zip(blocks, each, strict=True)
    ]
    return np.array(list(place), dtype=object), np.concatenate(codes)


def pair(group: Ints, groups: int, number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A key for each (group, number): the group above the leading bits of the number; equal pairs have equal keys.

    >>> pair(np.array([1, 1]), 2, np.array([2**63, 1], np.uint64)).tolist() == [3 * 2**62, 2**63]
    True
    """
    bits = np.uint64(max(groups - 1, 0).bit_length())
    if not bits:
        return number
    key = group.astype(np.uint64)
    key <<= np.uint64(64) - bits
    key |= number >> bits
    return key


def joined(blocks: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The blocks end to end; one alone is not copied."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def found(wanted: NDArray[np.uint64], known: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Which of the wanted keys are among the known ones, which ascend, and where there.

    A table of the keys' last bits leaves few to search: most wanted keys are not known, and a look is not a search.

    >>> found(np.array([7, 5, 6], np.uint64), np.array([5, 7], np.uint64))
    (array([0, 1]), array([1, 0]))
    """
    last = np.uint64(LAST - 1)
    seen = np.zeros(LAST, bool)
    seen[known & last] = True
    some = np.flatnonzero(seen[wanted & last])
    spot = np.minimum(np.searchsorted(known, wanted[some]), len(known) - 1)
    same = known[spot] == wanted[some]
    return some[same], spot[same]


def by_rank(of: Ints, score: Floats, item: Callable[[Ints], Ints]) -> Ints:
    """The order of rows by list, then score descending, then item descending; `item` ranks the items of some rows.

    Rows that come in order are only checked. Else one sort of a packed key, the list above the leading bits of the
    score, puts all rows in place but those whose keys are equal: these few are sorted exactly.

    >>> by_rank(np.array([0, 0, 0]), np.array([0.5, 0.9, 0.5]), lambda rows: rows)
    array([1, 2, 0])
    """
    fresh, tied = of[1:] != of[:-1], score[1:] == score[:-1]
    if (of[1:] >= of[:-1]).all() and (fresh | tied | (score[1:] < score[:-1])).all():
        order, doubt = np.arange(len(of)), ~fresh & tied
    else:
        key = keys.packed(of, score)
        order = np.argsort(key)
        key = key[order]
        doubt = key[1:] == key[:-1]
    rows = np.flatnonzero(_runs(doubt))
    if len(rows):
        some = order[rows]
        order[rows] = some[np.lexsort((-item(some), -score[some], of[some]))]
    return order


def _runs(equal: Bools) -> Bools:
    """Which rows equal the row before or after them, from which pairs of neighbours are equal."""
    return np.concatenate([[False], equal]) | np.concatenate([equal, [False]])
