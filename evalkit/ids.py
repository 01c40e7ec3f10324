"""Text ids as whole numbers, and the order of rows that a ranking has."""

from collections.abc import Callable
from typing import Any

import numpy as np

from evalkit import keys
from evalkit.arrays import Bools, Floats, Ints

Blocks = list[Any]  # Arrow arrays of text, one after another


def coded(*groups: Blocks) -> tuple[Any, list[Ints]]:
    """All distinct texts as an Arrow array in the order of their appearance, and each group's codes into it."""
    import pyarrow as pa

    flat = [block.cast(pa.large_string()) for group in groups for block in group]
    if not flat:
        return pa.array([], pa.large_string()), [np.zeros(0, np.int64) for _ in groups]
    encoded = pa.concat_arrays(flat).dictionary_encode(null_encoding="encode")
    ends = np.cumsum([sum(map(len, group)) for group in groups])
    return encoded.dictionary, np.split(encoded.indices.to_numpy().astype(np.int64), ends[:-1])


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
