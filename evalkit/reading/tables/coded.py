"""Columns of text as numbers into their distinct texts: most columns repeat a few."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Ints
from evalkit.metrics import block as hashes

PIECE = 2**18  # texts that are hashed at once, within some megabytes


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts as numbers into its distinct texts, in order."""

    names: tuple[str, ...]
    code: Ints

    @classmethod
    def of(cls, distinct: Sequence[str], place: Ints) -> "Coded":
        """The texts at these places among others, of which several may be the same text.

        >>> Coded.of(["b", "a", "b"], np.array([0, 2, 1])).texts.tolist()
        ['b', 'b', 'a']
        """
        names = sorted({*distinct})
        number = {name: i for i, name in enumerate(names)}
        return cls(tuple(names), np.array([number[text] for text in distinct], np.int64)[place])

    @cached_property
    def texts(self) -> np.ndarray:
        """The column as objects; equal texts are one object."""
        return np.array([*self.names, None], dtype=object)[self.code]

    def __len__(self) -> int:
        return len(self.code)

    def take(self, rows: Bools | Ints | slice) -> "Coded":
        """The rows, with the names that they have."""
        code = self.code[rows]
        there = np.bincount(code, minlength=len(self.names)) > 0
        if there.all():
            return Coded(self.names, code)
        names = tuple(name for name, stands in zip(self.names, there, strict=True) if stands)
        return Coded(names, (np.cumsum(there) - 1)[code])

    def first(self, *names: str) -> int:
        """The first row that holds one of the names."""
        return int(np.flatnonzero(np.isin(self.code, [self.names.index(name) for name in names]))[0])

    def other_than(self, classes: Collection[str]) -> tuple[int, str] | None:
        """Row and text of the first that is none of these classes; None where all are."""
        others = [name for name in self.names if name not in classes]
        return (row := self.first(*others), self.names[self.code[row]]) if others else None

    def among(self, classes: Sequence[str]) -> Ints:
        """Each row's number among the classes."""
        return np.array([classes.index(name) for name in self.names], dtype=np.int64)[self.code]


def joined(columns: Sequence[Coded]) -> Coded:
    """The texts of several columns end to end."""
    names = sorted({name for column in columns for name in column.names})
    number = {name: i for i, name in enumerate(names)}
    place = [np.array([number[name] for name in column.names], np.int64)[column.code] for column in columns]
    return Coded(tuple(names), np.concatenate(place))


@dataclass(frozen=True, eq=False)
class Texts(Mapping[str, np.ndarray]):
    """Columns of text by role; the texts of the rows are laid out where they are asked for."""

    coded: Mapping[str, Coded]

    def __getitem__(self, role: str) -> np.ndarray:
        return self.coded[role].texts

    def __iter__(self) -> Iterator[str]:
        return iter(self.coded)

    def __len__(self) -> int:
        return len(self.coded)


def repeated(column: Any) -> Ints:
    """The rows of an Arrow column of text whose text another row has too, in order.

    >>> import pyarrow as pa
    >>> repeated(pa.chunked_array([["a", "b"], ["c", "a"]])).tolist()
    [0, 3]
    """
    chunks = getattr(column, "chunks", [column])
    pieces = [chunk.slice(start, PIECE) for chunk in chunks for start in range(0, len(chunk), PIECE)]
    key = np.concatenate([hashes.of_texts(piece) for piece in pieces])
    order = np.sort(key)
    rows = np.flatnonzero(np.isin(key, order[1:][order[1:] == order[:-1]]))
    code = column.take(rows).combine_chunks().dictionary_encode().indices.to_numpy() if len(rows) else rows
    return rows[np.bincount(code)[code] > 1]


def whole(column: Any) -> Any:
    """Texts as one Arrow array."""
    import pyarrow as pa

    some = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([pa.array(column)])
    return some.cast(pa.large_string()).combine_chunks()


def indexed(column: Any) -> tuple[Ints, Any]:
    """Whole numbers that are equal where texts are, in the order in which these come first, and the distinct texts."""
    coded = whole(column).dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False).astype(np.int64), coded.dictionary


def ordered(column: Any) -> tuple[Ints, Any]:
    """The place of each text among the sorted distinct ones, and these."""
    import pyarrow as pa
    import pyarrow.compute as pc

    code, texts = indexed(column)
    order = pc.sort_indices(texts).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[code], texts.take(pa.array(order))


def places_of(column: Any, texts: Sequence[str]) -> Ints:
    """The number of each text in a list that holds them all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.index_in(column, value_set=pa.array(texts, column.type)).to_numpy()


def encoded(blocks: Sequence[Any]) -> tuple[list[str | None], Ints]:
    """Distinct texts of Arrow arrays laid end to end, and each row's place among them; an empty one is None."""
    import pyarrow as pa

    if all(pa.types.is_dictionary(block.type) for block in blocks):
        column = pa.chunked_array([_large(block) for block in blocks]).unify_dictionaries().combine_chunks()
    else:
        column = pa.chunked_array([block.cast(pa.large_string()) for block in blocks]).combine_chunks()
        column = column.dictionary_encode(null_encoding="encode")
    column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    distinct, place = column.dictionary.to_pylist(), column.indices
    if place.null_count:
        place, distinct = place.fill_null(len(distinct)), [*distinct, None]
    return distinct, place.to_numpy(zero_copy_only=False)


def _large(block: Any) -> Any:
    """An Arrow dictionary of text, whatever its numbers are, as one of long texts and 32 bits."""
    import pyarrow as pa

    indices, texts = block.indices.cast(pa.int32()), block.dictionary.cast(pa.large_string())
    return pa.DictionaryArray.from_arrays(indices, texts)


def plainly(texts: Sequence[str | None], plain: Callable[[str], str]) -> list[str | None]:
    """Each text as `plain` has it, None where it is empty."""
    return [None if text is None else plain(text) for text in texts]
