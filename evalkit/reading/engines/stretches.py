"""A stream of Arrow batches as tables of a stated size, and of whole groups of a column's equal values."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

HASH = "hash of by"  # a number that brings equal texts together: engines sort it in half the time of the texts


def tables(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """The rows of the batches as Arrow tables of `size` rows, the last one shorter, however the batches are cut.

    >>> import pyarrow as pa
    >>> [len(table) for table in tables([pa.record_batch({"x": [1, 2, 3]}), pa.record_batch({"x": [4, 5]})], 2)]
    [2, 2, 1]
    """
    import pyarrow as pa

    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        while rows >= size:
            cut = len(waiting[-1]) - (rows - size)
            last = waiting.pop()
            yield pa.Table.from_batches([*waiting, last.slice(0, cut)])
            rows -= size
            waiting = [last.slice(cut)] if rows else []
    if waiting:
        yield pa.Table.from_batches(waiting)


def whole_groups(parts: Iterable[Any], by: str) -> Iterator[Any]:
    """Arrow tables of whole groups, from tables in which equal values of the column `by` are neighbours.

    Of each table the last group is held back until the next one shows where it ends.

    >>> import pyarrow as pa
    >>> parts = [pa.table({"q": ["a", "b"]}), pa.table({"q": ["b", "c"]})]
    >>> [one["q"].to_pylist() for one in whole_groups(parts, "q")]
    [['a'], ['b', 'b'], ['c']]
    """
    import pyarrow as pa

    waiting: list[Any] = []
    for table in parts:
        waiting.append(table)
        whole = pa.concat_tables(waiting)
        cut = _last_start(whole[by])
        if cut:
            yield whole.slice(0, cut)
        waiting = [whole.slice(cut)]
    if waiting:
        yield pa.concat_tables(waiting)


def of_hash(parts: Iterable[Any]) -> Iterator[Any]:
    """Arrow tables of whole groups of the column `HASH`, without it: no text is in two of them.

    >>> import pyarrow as pa
    >>> [one.to_pydict() for one in of_hash([pa.table({"q": ["a", "b", "a"], HASH: [7, 7, 7]})])]
    [{'q': ['a', 'b', 'a']}]
    """
    for table in whole_groups(parts, HASH):
        yield table.drop_columns([HASH])


def as_they_are(table: Any) -> Any:
    """The rows of a shard, which nothing reduces."""
    return table


def _last_start(column: Any) -> int:
    """Where the last group of equal neighbours begins."""
    import pyarrow.compute as pc

    last, n = column[-1], len(column)
    step = 1
    while step < n and pc.all(pc.equal(column.slice(n - step), last)).as_py():
        step *= 2
    tail = column.slice(max(0, n - step))
    other = np.flatnonzero(~pc.equal(tail, last).to_numpy())
    return max(0, n - step) + (int(other[-1]) + 1 if len(other) else 0)
