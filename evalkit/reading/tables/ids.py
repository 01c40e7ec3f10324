"""Text ids as whole numbers in the order of their bytes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalkit.arrays import Ints
from evalkit.reading.tables import row_keys

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
        for at in row_keys.blocks(len(own)):
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
    for at in row_keys.blocks(len(code)):
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
