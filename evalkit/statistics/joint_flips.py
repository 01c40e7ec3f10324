"""Max-T: many differences under sign flips of the units that all of them share.

Under shared signs the sum of a difference is the difference of two sums. So what is drawn are the sums of the systems,
which are few, not those of their pairs; differences of units are made for some pairs at a time, and never all held.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, finite
from evalkit.statistics import signflip
from evalkit.system import progress

FIRST = 13  # units whose signs are all visited in one block: 4,096 sums of a system
APART = 0.01  # pairs closer than this share of their systems' size are flipped themselves
TOGETHER = 2**16  # drawn sums that are compared at once, so that they stay in the processor's cache
MADE = 2**21  # differences of units that are made at once

Summed = Callable[[Floats], Floats]  # columns, (n, k) -> their sums under the sign vectors of a block, (k, draws)


def _as_they_are(differences: Floats) -> Floats:
    return differences


@dataclass(frozen=True, eq=False)
class Pairs:
    """Differences of the columns `first` and `second` of a table, (m,) numbers each, of the same n units.

    values: (n, columns), where the difference of two columns is that of the pair but for rounding.
    differences: places of k pairs -> their differences to the last bit, (n, k).
    """

    values: Floats
    first: Ints
    second: Ints
    differences: Callable[[Ints], Floats]

    @classmethod
    def of(
        cls,
        table: Floats,
        first: Ints,
        second: Ints,
        *,
        metric: Ints | None = None,
        added: Callable[[Floats], Floats] = _as_they_are,
    ) -> "Pairs":
        """The pairs of columns of a table, (rows, columns).

        metric: the number of each column's metric, None where all have one: a pair has one metric, and what its systems
        have in common goes. added: (rows, k) -> (n, k), adds the rows of units up, where units have several.
        Raises InputError for a value that is not finite.

        >>> pairs = Pairs.of(np.array([[1.0, 4.0], [3.0, 3.0]]), np.array([0]), np.array([1]))
        >>> pairs.differences(np.array([0])).tolist()
        [[-3.0], [0.0]]
        """
        finite("differences", table.ravel())
        values = np.empty(table.shape)
        for number in [0] if metric is None else np.unique(metric):
            own = slice(None) if metric is None else metric == number
            values[:, own] = table[:, own] - table[:, own].mean(axis=1, keepdims=True)

        def differences(places: Ints) -> Floats:
            return added(np.take(table, first[places], axis=1) - np.take(table, second[places], axis=1))

        return cls(added(values), first, second, differences)

    @classmethod
    def of_columns(cls, columns: Floats) -> "Pairs":
        """Differences that are known, (n, m), and not of columns of a table."""
        none = np.zeros(columns.shape[1], np.int64)
        return cls(np.zeros((len(columns), 1)), none, none, lambda places: np.take(columns, places, axis=1))

    def __len__(self) -> int:
        return len(self.first)

    def take(self, places: Ints, units: Ints) -> "Pairs":
        """Some pairs, and the units in another order."""

        def differences(some: Ints) -> Floats:
            return self.differences(places[some])[units]

        return Pairs(self.values[units], self.first[places], self.second[places], differences)

    @property
    def scale(self) -> Floats:
        """The size √Σ v² of the larger side of each pair."""
        size = np.sqrt(np.sum(self.values**2, axis=0))
        return np.maximum(size[self.first], size[self.second])


def adjusted(pairs: Pairs, *, rng: np.random.Generator, draws: int = 100_000) -> Floats:
    """The p-values of `multiplicity.max_t` from pairs of columns: (m,).

    Raises InputError for a value that is not finite.

    >>> table = np.random.default_rng(1).normal(size=(50, 3)) + [1.0, 0.0, 0.0]
    >>> pairs = Pairs.of(table, np.array([0, 0, 1]), np.array([1, 2, 2]))
    >>> adjusted(pairs, rng=np.random.default_rng(1), draws=1000).round(2)
    array([0.  , 0.  , 0.17])
    """
    units = _order(pairs)  # the order of the units changes no draw
    m = len(pairs)
    size, observed = np.empty(m), np.empty(m)
    for part in _parts(m, max(MADE // len(units), 2)):
        scaled = pairs.differences(np.arange(m)[part])[units]
        finite("differences", scaled.ravel())
        size[part] = np.sqrt(np.sum(scaled**2, axis=0))
        np.divide(scaled, size[part], out=scaled, where=size[part] != 0)  # of a column of zeros no draw is less extreme
        observed[part] = np.abs(scaled.sum(axis=0)) * (1 - signflip.TIE) - signflip.TIE
    order = np.argsort(-observed, kind="stable")
    extreme, drawn = exceeded(pairs.take(order, units), size[order], observed[order], rng=rng, draws=draws)
    p = np.empty(m)
    p[order] = np.maximum.accumulate((1 + extreme) / (1 + drawn))
    return p


def _order(pairs: Pairs) -> Ints:
    """The order of the units by their last differences, then by those before; many are read only where units tie.

    >>> _order(Pairs.of_columns(np.array([[2, 1], [1, 1], [3, 0]]))).tolist()
    [2, 1, 0]
    """
    several, m = 1, len(pairs)
    while True:
        last = pairs.differences(np.arange(max(m - several, 0), m))
        order = np.lexsort(last.T)
        if several >= m or (last[order[1:]] != last[order[:-1]]).any(axis=1).all():
            return order
        several *= 4


def _parts(m: int, step: int) -> Iterator[slice]:
    """Slices of m pairs, `step` in each, the last one more: one column alone would be added up in another order.

    >>> [(part.start, part.stop) for part in _parts(5, 2)]
    [(0, 2), (2, 5)]
    """
    starts = range(0, max(m - 1, 1), step)
    for start in starts:
        yield slice(start, m if start == starts[-1] else start + step)


def exceeded(pairs: Pairs, size: Floats, observed: Floats, *, rng: np.random.Generator, draws: int) -> tuple[Ints, int]:
    """In how many sign vectors the largest |Σ ± d| / size of each pair and those after it is at least `observed`.

    m numbers out, and of how many: every sign vector (up to its sign, the unflipped one left out) for at most 20 units,
    otherwise at least `draws` random ones.

    >>> pairs = Pairs.of_columns(np.array([[1.0, 2.0], [3.0, 1.0]]))
    >>> exceeded(pairs, np.ones(2), np.array([2.0, 2.0]), rng=np.random.default_rng(1), draws=0)
    (array([1, 0]), 1)
    """
    n, m = len(pairs.values), len(pairs)
    inverse = np.divide(1.0, size, out=np.zeros(m), where=size != 0)
    times, scale = np.zeros(m, np.int64), pairs.scale
    close = (size < APART * scale) | (scale == 0)
    every = n <= signflip.ENUMERATED
    blocks = _enumerated(n) if every else _drawn(n, max(signflip.HELD // m, 1), rng, draws)
    drawn, total = 0, 1 << (n - 1) if every else draws
    with progress("flipping signs" if every else "drawing signs", total) as draw:
        for summed in blocks:
            draw(drawn)
            drawn += _count(times, pairs, summed, close, inverse, observed)
    return times, drawn


def _enumerated(n: int) -> Iterator[Summed]:
    """Every sign vector of n units, up to its sign and but the first: the first units take all signs in each block."""
    first = min(n, FIRST)

    def summed(columns: Floats, number: int) -> Floats:
        rest = 1.0 - 2.0 * (number >> np.arange(n - first) & 1)
        sums = signflip.enumerated(np.ascontiguousarray(columns[:first].T))
        sums += (rest @ columns[first:])[:, None]
        return sums[:, not number :]

    return (partial(summed, number=number) for number in range(1 << (n - first)))


def _drawn(n: int, chunk: int, rng: np.random.Generator, draws: int) -> Iterator[Summed]:
    """At least so many random sign vectors, about `chunk` in each block; whole blocks are drawn."""
    drawn = 0
    while drawn < draws:
        signs = signflip.signs(n, rng, min(chunk, draws - drawn))
        yield partial(signflip.summed, signs=signs)
        drawn += signs.size


def _count(times: Ints, pairs: Pairs, summed: Summed, close: Bools, inverse: Floats, observed: Floats) -> int:
    """Add to `times` in how many of these draws the largest of each pair and later ones is `observed`; return all.

    Some pairs at a time, the last first. close: pairs that are flipped themselves.
    """
    drawn = summed(pairs.values)
    largest, some = np.zeros(drawn.shape[1]), max(TOGETHER // max(drawn.shape[1], 1), 1)
    for stop in range(len(times), 0, -some):
        part = slice(max(stop - some, 0), stop)
        sums = drawn[pairs.first[part]]
        sums -= drawn[pairs.second[part]]
        if (near := np.flatnonzero(close[part])).size:
            sums[near] = summed(pairs.differences(part.start + near))
        np.abs(sums, out=sums)
        sums *= inverse[part, None]
        np.maximum(sums[-1], largest, out=sums[-1])
        for i in range(len(sums) - 2, -1, -1):  # maximum.accumulate takes twenty times as long
            np.maximum(sums[i], sums[i + 1], out=sums[i])
        times[part] += np.count_nonzero(sums >= observed[part, None], axis=1)
        largest = sums[0]
    return len(largest)
