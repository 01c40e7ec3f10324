"""Graded gains: cumulative gain, its discounted and normalised forms, and expected reciprocal rank.

Every judged grade above 0 has a gain, whatever the relevance level. One value per query, as in `rankings`.
"""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, InputError, Ints, ratio
from evalkit.metrics.rankings import Hits, Lists, Rankings, defined

Gain = Callable[[Floats], Floats]
ANY = float(np.nextafter(0, 1))


def linear(grade: Floats) -> Floats:
    """The grade itself."""
    return grade


def exponential(grade: Floats) -> Floats:
    """2^grade − 1. Raises InputError above 1023, where a double overflows."""
    if (grade > 1023).any():
        raise InputError(f"grade must be at most 1023 for an exponential gain, got {grade[grade > 1023][0]:g}")
    return np.exp2(grade) - 1


def binary(level: float = 1) -> Gain:
    """1 at or above the level, else 0."""
    return lambda grade: (grade >= level).astype(float)


def _graded(lists: Lists, k: int | None) -> Hits:
    """The rows with a grade above 0 in the first k ranks."""
    return lists.hits(ANY).first(k)


def _discounted(lists: Lists, k: int | None, gain: Gain) -> Floats:
    graded = _graded(lists, k)
    return graded.total(gain(lists.grade[graded.row]) / np.log2(graded.rank + 1))


def cg(r: Rankings, k: int | None = None) -> Floats:
    """Cumulative gain: the sum of the grades of the first k.

    >>> from evalkit.metrics.rankings import from_grades
    >>> cg(from_grades([[5, 3, 2, 1, 2]]))
    array([13.])
    """
    graded = _graded(r.retrieved, k)
    return defined(r, ANY, graded.total(r.retrieved.grade[graded.row]))


def dcg(r: Rankings, k: int | None = None, gain: Gain = linear) -> Floats:
    """Discounted cumulative gain: Σ gain(grade) / log2(rank + 1) over the first k.

    >>> from evalkit.metrics.rankings import from_grades
    >>> dcg(from_grades([[3, 1, 2, 3, 2]])).round(6)
    array([6.696665])
    """
    return defined(r, ANY, _discounted(r.retrieved, k, gain))


def ndcg(r: Rankings, k: int | None = None, gain: Gain = linear) -> Floats:
    """DCG@k / DCG@k of all judged items in their best order. Undefined if the latter is 0.

    Järvelin and Kekäläinen 2002, doi:10.1145/582415.582418, with the discount log2(rank + 1) that is usual today.
    >>> from evalkit.metrics.rankings import from_grades
    >>> ndcg(from_grades([[3, 1, 2, 3, 2]])).round(6)
    array([0.937778])
    """
    return ratio(_discounted(r.retrieved, k, gain), _discounted(r.ideal, k, gain))


def err(r: Rankings, k: int | None = None) -> Floats:
    """Expected reciprocal rank: Σ 1/rank · P(the user stops there), P(satisfied) = (2^grade − 1) / 2^top_grade.

    Chapelle, Metzler, Zhang and Grinspan 2009, doi:10.1145/1645953.1646033. The top grade is that of the whole scale.
    >>> from evalkit.metrics.rankings import from_grades
    >>> err(from_grades([[1, 1]])).round(4)
    array([0.625])
    """
    graded = _graded(r.retrieved, k)
    stop = np.exp2(r.retrieved.grade[graded.row] - r.top_grade) - np.exp2(-r.top_grade)
    # The product of 1 − stop over the rows before, by a running sum of logarithms inside each list. 1 − stop is at
    # least 2^−top; from a top grade of 53 on a double cannot tell that from 0, so its logarithm is kept finite.
    stop = np.minimum(stop, 1 - 2.0**-53)
    arrive = np.exp(_before(np.log1p(-stop), graded.owner))
    return defined(r, ANY, graded.total(stop * arrive / graded.rank))


def _before(values: Floats, owner: Ints) -> Floats:
    """For each value the sum of those before it in its list; owner: the list of each, ascending.

    Lists of similar length are laid side by side, so that no sum runs on from one list to the next: the result of a
    list is the same to the last bit, whatever the other lists are.

    >>> _before(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 0, 3]))
    array([0., 1., 3., 0.])
    """
    _, start, size = np.unique(owner, return_index=True, return_counts=True)
    within = np.arange(len(owner)) - np.repeat(start, size)
    list_of = np.repeat(np.arange(len(size)), size)
    padded = 1 << np.ceil(np.log2(size)).astype(np.int64)  # the length of each list, rounded up to a power of two
    sums = np.zeros(len(values))
    for width in np.unique(padded):
        lists = np.flatnonzero(padded == width)
        rows = np.flatnonzero(padded[list_of] == width)
        line = np.searchsorted(lists, list_of[rows])
        grid = np.zeros((len(lists), width + 1))
        grid[line, within[rows] + 1] = values[rows]
        sums[rows] = np.cumsum(grid, axis=1)[line, within[rows]]
    return sums
