"""A stream of Arrow batches as tables of a stated size, and of whole groups of a column's equal values."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


def tables(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """The batches laid together to Arrow tables of at least `size` rows, the last one shorter."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= size:
            yield pa.Table.from_batches(waiting)
            waiting = []
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
