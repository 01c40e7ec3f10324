"""Ranks of the input as places in lists: ascending, each used once, with gaps where no row has a rank."""

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics.rankings import Lists
from evalkit.reading.tables import row_keys


def positions(ranked: Bools, score: Floats, tied: Bools, ends: Ints) -> Ints | None:
    """The place of each row of lists in order; None where it is the row's number in its list throughout.

    ranked: rows whose negated score is their rank; the others are counted. tied: rows with the score of the row before.
    ends: where the lists begin and end.

    >>> positions(np.array([True, True]), np.array([-2.0, -9.0]), np.array([False, False]), np.array([0, 2])).tolist()
    [2, 9]
    """
    counted = np.arange(1, len(score) + 1) - np.repeat(ends[:-1], np.diff(ends))
    position = apart(np.where(ranked, -score, counted).astype(np.int64), tied, ends)
    return None if np.array_equal(position, counted) else position


def apart(rank: Ints, tied: Bools, ends: Ints) -> Ints:
    """The place of each row of lists in order: its rank, or the next free one where rows before it share a rank.

    rank: ascending in each list; ends: where the lists begin and end.

    >>> apart(np.array([2, 2, 3, 9]), np.array([False, True, False, False]), np.array([0, 4])).tolist()
    [2, 3, 4, 9]
    """
    if not tied.any():
        return rank
    size = np.diff(ends)
    within = np.arange(len(rank)) - np.repeat(ends[:-1], size)
    # A place is the largest rank less row number so far in the list, plus the row number. Lists are kept apart by
    # the codes of these differences, whose product with the number of lists fits where the differences would not.
    value, code = np.unique(rank - within, return_inverse=True)
    key = np.repeat(np.arange(len(size)), size) * len(value) + code
    return np.asarray(value[np.maximum.accumulate(key) % len(value)] + within)


def gaps(some: Lists) -> tuple[int, int]:
    """How many lists start above rank 1, and how many lack a rank behind their first."""
    if some.position is None:
        return 0, 0
    filled = some.length > 0
    first = some.position[some.offset[:-1][filled]]
    span = some.depth[filled] - first + 1
    return int((first > 1).sum()), int((span > some.length[filled]).sum())


def in_order(row: Ints, grade: Floats, order: Ints, levels: Floats) -> Floats:
    """The grades of some rows in an order of all rows, NaN for the others; levels: all distinct grades, ascending.

    >>> in_order(np.array([2, 1]), np.array([1.0, 2.0]), np.array([2, 0, 1]), np.array([1.0, 2.0]))
    array([ 1., nan,  2.])
    """
    code = np.zeros(len(order), np.min_scalar_type(len(levels)))  # few bytes a row, which stay in the cache
    code[row] = np.searchsorted(levels, grade) + 1
    grades, ordered = np.concatenate([[np.nan], levels]), np.empty(len(order))
    for at in row_keys.blocks(len(order)):
        grades.take(code.take(order[at]), out=ordered[at])
    return ordered


def best_first(of: Ints, grade: Floats, levels: Floats) -> Floats:
    """Grades by list, in each the best first; levels: all distinct grades, ascending.

    >>> best_first(np.array([0, 1, 1]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0]))
    array([1., 2., 1.])
    """
    bits = len(levels).bit_length()
    key = (of.astype(np.int64) << bits) | (len(levels) - np.searchsorted(levels, grade))
    key.sort()
    return levels[len(levels) - (key & ((1 << bits) - 1))]
