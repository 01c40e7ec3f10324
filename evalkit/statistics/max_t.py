"""Max-T: adjusted p-values of many differences by sign flips of the units that all of them share.

Under shared signs the sum of a difference is the difference of two sums. So what is drawn are the
sums of the systems, which are few, not those of their pairs; differences of units are made for
some pairs at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, finite, ratio
from evalkit.statistics import signflip
from evalkit.statistics.alternatives import Alternative
from evalkit.system import progress

FIRST_UNITS = 13  # units whose signs are all visited in one block: 4,096 sums of a system
CLOSE = 0.01  # pairs closer than this share of their systems' size are flipped themselves
# drawn sums that are compared at once, so that they stay in the processor's cache
COMPARED_AT_ONCE = 2**16
MADE_AT_ONCE = 2**21  # differences of units that are made at once

Fold = Callable[..., Floats]  # sums -> what is compared of them, in the same place
FOLDS: tuple[Fold, ...] = (np.positive, np.negative)  # a sign vector, and its opposite
AddUp = Callable[[Floats], Floats]  # rows, (rows, k) -> the sums of each unit, (n, k)
# columns, (n, k) -> their sums under the sign vectors of a block, (k, draws)
SignedSums = Callable[[Floats], Floats]


def max_t(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 100_000,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """Adjusted p-values of the mean of each column by joint sign flips of shared units: (n, m) in,
    (m,) out.

    Each draw flips a unit in all columns at once; a column's |Σ d| / √Σ d² is compared with the
    largest of the draw over the columns that are no more extreme (step-down, as Holm). A one-sided
    question has Σ d, or −Σ d, in place of |Σ d|. It uses the correlation that Holm ignores. Raises
    InputError for a value that is not finite. Westfall and Young 1993, algorithm 2.8; Boytsov,
    Belova, Westfall, CIKM 2013.

    >>> d = np.array([[1.0, -1.0], [2.0, 1.0], [3.0, -1.0], [1.0, 1.0], [2.0, -1.0], [2.0, 1.0]])
    >>> max_t(d, rng=np.random.default_rng(1)).round(2)
    array([0.06, 1.  ])
    """
    columns = np.asarray(differences, float)
    if columns.ndim != 2 or len(columns) == 0:
        raise InputError(f"differences must have units × comparisons, got shape {columns.shape}")
    pairs = ColumnPairs.from_differences(columns)
    return adjusted(pairs, rng=rng, draws=draws, alternative=alternative)


def max_t_of_sums(
    total: Floats,
    gram: Floats,
    *,
    rng: np.random.Generator,
    draws: int = 100_000,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """`max_t` from column sums and sums of products (`gram`), for so many units that sign-flip sums
    are normally distributed.

    Under joint sign flips the sums have covariance `gram`; normal draws with this covariance are
    used instead.

    >>> d = np.random.default_rng(2).normal(0.05, 1, (2000, 2))
    >>> p = max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    >>> bool(np.all(np.abs(p - max_t(d, rng=np.random.default_rng(1))) < 0.01))
    True
    """
    size = np.sqrt(np.diag(gram))
    # 0 for a column of zeros
    observed = np.nan_to_num(alternative.evidence(ratio(total, size)))
    order = np.argsort(-observed, kind="stable")  # the most extreme column first
    m = order.size
    correlation = np.nan_to_num(ratio(gram, np.outer(size, size)))[np.ix_(order, order)]
    values, vectors = np.linalg.eigh(correlation)
    # root @ rootᵀ is the correlation; rounding may leave a value below 0
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    bound = observed[order, None]
    bound = bound - signflip.TIE * np.abs(bound)
    extreme = np.zeros(m, np.int64)
    block = max(1, signflip.HELD // m)
    for start in range(0, draws, block):
        normal = rng.standard_normal((m, min(block, draws - start)))
        largest = alternative.evidence(root @ normal)  # columns × draws
        # the largest of each column and those after it, which are less extreme
        np.maximum.accumulate(largest[::-1], axis=0, out=largest[::-1])
        extreme += np.sum(largest >= bound, axis=1)
    adjusted = np.empty(m)
    adjusted[order] = np.maximum.accumulate((1 + extreme) / (1 + draws))
    return adjusted


def max_t_of_many(
    pairs: ColumnPairs,
    *,
    rng: np.random.Generator,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """`max_t_of_sums` for pairs of columns."""
    unit_vectors = np.eye(pairs.values.shape[1])
    differences = unit_vectors[pairs.first] - unit_vectors[pairs.second]
    total = differences @ pairs.values.sum(axis=0)
    gram = differences @ (pairs.values.T @ pairs.values) @ differences.T
    return max_t_of_sums(total, gram, rng=rng, alternative=alternative)


@dataclass(frozen=True, eq=False)
class ColumnPairs:
    """m pairs of columns of a table of n units; `first` and `second` hold the column numbers, (m,)
    each.

    values: (n, columns); the difference of two columns is that of the pair, up to rounding.
    differences: the numbers of k pairs -> their exact differences, (n, k).
    """

    values: Floats
    first: Ints
    second: Ints
    differences: Callable[[Ints], Floats]

    @classmethod
    def from_table(
        cls,
        table: Floats,
        first: Ints,
        second: Ints,
        *,
        metric: Ints | None = None,
        add_up: AddUp = lambda rows: rows,
    ) -> ColumnPairs:
        """The pairs of columns of a table, (rows, columns).

        metric: the number of each column's metric, None if all have one. The two columns of a pair
        have the same metric; what the systems have in common is subtracted first. add_up: (rows, k)
        -> (n, k), adds up the rows of each unit, if units have several. Raises InputError for a
        value that is not finite.

        >>> table = np.array([[1.0, 4.0], [3.0, 3.0]])
        >>> pairs = ColumnPairs.from_table(table, np.array([0]), np.array([1]))
        >>> pairs.differences(np.array([0])).tolist()
        [[-3.0], [0.0]]
        """
        finite("differences", table.ravel())
        if metric is None:
            values = table - table.mean(axis=1, keepdims=True)
        else:
            values = np.empty(table.shape)
            for number in np.unique(metric):
                columns = table[:, metric == number]
                values[:, metric == number] = columns - columns.mean(axis=1, keepdims=True)

        def differences(pairs: Ints) -> Floats:
            """The differences of the pairs with these numbers, added up by unit."""
            minuend = np.take(table, first[pairs], axis=1)
            return add_up(minuend - np.take(table, second[pairs], axis=1))

        return cls(add_up(values), first, second, differences)

    @classmethod
    def from_differences(cls, columns: Floats) -> ColumnPairs:
        """Pairs from known differences, (n, m), instead of columns of a table."""
        no_columns = np.zeros((len(columns), 1))
        zero = np.zeros(columns.shape[1], np.int64)
        return cls(no_columns, zero, zero, lambda pairs: np.take(columns, pairs, axis=1))

    def __len__(self) -> int:
        return len(self.first)

    def take(self, pairs: Ints, units: Ints) -> ColumnPairs:
        """Some of the pairs, with the units in another order."""

        def differences(numbers: Ints) -> Floats:
            """The differences of the pairs with these numbers among the chosen ones."""
            return self.differences(pairs[numbers])[units]

        return ColumnPairs(self.values[units], self.first[pairs], self.second[pairs], differences)

    @property
    def scale(self) -> Floats:
        """The size of each pair: the larger √Σ v² of its two columns."""
        size = np.sqrt(np.sum(self.values**2, axis=0))
        scale: Floats = np.maximum(size[self.first], size[self.second])
        return scale


def adjusted(
    pairs: ColumnPairs,
    *,
    rng: np.random.Generator,
    draws: int = 100_000,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """The adjusted p-values of `max_t` for m pairs of columns, (m,).

    Raises InputError for a value that is not finite.

    >>> table = np.random.default_rng(1).normal(size=(50, 3)) + [1.0, 0.0, 0.0]
    >>> pairs = ColumnPairs.from_table(table, np.array([0, 0, 1]), np.array([1, 2, 2]))
    >>> adjusted(pairs, rng=np.random.default_rng(1), draws=1000).round(2)
    array([0.  , 0.  , 0.17])
    """
    units = _unit_order(pairs)  # the order of the units changes no draw
    m = len(pairs)
    size = np.empty(m)
    observed = np.empty(m)
    for block in _blocks(m, max(MADE_AT_ONCE // len(units), 2)):
        scaled = pairs.differences(np.arange(m)[block])[units]
        finite("differences", scaled.ravel())
        size[block] = np.sqrt(np.sum(scaled**2, axis=0))
        # of a column of zeros no draw is less extreme
        np.divide(scaled, size[block], out=scaled, where=size[block] != 0)
        sums = alternative.evidence(scaled.sum(axis=0))
        observed[block] = sums - signflip.TIE * np.abs(sums) - signflip.TIE
    order = np.argsort(-observed, kind="stable")
    counts = count_extreme(
        pairs.take(order, units),
        size[order],
        observed[order],
        rng=rng,
        draws=draws,
        alternative=alternative,
    )
    p = np.empty(m)
    p[order] = np.maximum.accumulate((1 + counts.extreme) / (1 + counts.draws))
    return p


def _unit_order(pairs: ColumnPairs) -> Ints:
    """The order of the units by their last differences, then by those before; many are read only
    where units tie.

    >>> _unit_order(ColumnPairs.from_differences(np.array([[2, 1], [1, 1], [3, 0]]))).tolist()
    [2, 1, 0]
    """
    read = 1
    m = len(pairs)
    while True:
        last = pairs.differences(np.arange(max(m - read, 0), m))
        order = np.lexsort(last.T)
        neighbours_differ = (last[order[1:]] != last[order[:-1]]).any(axis=1)
        if read >= m or neighbours_differ.all():
            return order
        read *= 4


def _blocks(m: int, size: int) -> Iterator[slice]:
    """Slices of m pairs, `size` in each, the last one more: one column alone would be added up in
    another order.

    >>> [(block.start, block.stop) for block in _blocks(5, 2)]
    [(0, 2), (2, 5)]
    """
    starts = range(0, max(m - 1, 1), size)
    for start in starts:
        yield slice(start, m if start == starts[-1] else start + size)


class ExtremeCounts(NamedTuple):
    """For each pair in how many sign vectors it is extreme, and the number of sign vectors."""

    extreme: Ints
    draws: int


def count_extreme(
    pairs: ColumnPairs,
    size: Floats,
    observed: Floats,
    *,
    rng: np.random.Generator,
    draws: int,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> ExtremeCounts:
    """In how many sign vectors the largest |Σ ± d| / size of each pair and those after it is at
    least `observed`.

    The sign vectors are all of them (up to sign, without the identity) for at most 20 units,
    otherwise at least `draws` random ones. Of a one-sided question Σ ± d takes the place of
    |Σ ± d|, in each of them and in its opposite.

    >>> pairs = ColumnPairs.from_differences(np.array([[1.0, 2.0], [3.0, 1.0]]))
    >>> rng = np.random.default_rng(1)
    >>> count_extreme(pairs, np.ones(2), np.array([2.0, 2.0]), rng=rng, draws=0)
    ExtremeCounts(extreme=array([1, 0]), draws=1)
    """
    n = len(pairs.values)
    m = len(pairs)
    inverse_size = np.divide(1.0, size, out=np.zeros(m), where=size != 0)
    scale = pairs.scale
    # the difference of two sums would lose their digits
    close = (size < CLOSE * scale) | (scale == 0)
    if n <= signflip.ENUMERATED:
        blocks = _every_sign_vector(n)
        total = 1 << (n - 1)
        title = "flipping signs"
    else:
        blocks = _random_sign_vectors(n, max(signflip.HELD // m, 1), rng, draws)
        total = draws
        title = "drawing signs"
    extreme = np.zeros(m, np.int64)
    done = 0
    count_block = partial(
        _count_extreme_of_block,
        pairs,
        close=close,
        inverse_size=inverse_size,
        observed=observed,
    )
    with progress(title, total) as show:
        for signed_sums in blocks:
            show(done)
            for fold in FOLDS if alternative.one_sided else (np.abs,):
                counts = count_block(signed_sums, fold=fold)
                extreme += counts.extreme
                done += counts.draws
    if alternative.one_sided and n <= signflip.ENUMERATED:
        # The enumeration leaves out the data's own signs, which the caller counts. Each vector has
        # been counted with its opposite, except these: theirs is one further vector.
        opposite_of_data = count_block(_sums_of_data, fold=np.negative)
        extreme += opposite_of_data.extreme
        done += 1
    return ExtremeCounts(extreme, done)


def _every_sign_vector(n: int) -> Iterator[SignedSums]:
    """Every sign vector of n units, up to its sign and but the first: the first units take all
    signs in each block.
    """
    first = min(n, FIRST_UNITS)

    def signed_sums(columns: Floats, number: int) -> Floats:
        """The sums of the block whose other units have the signs in the bits of its number."""
        other_signs = 1.0 - 2.0 * (number >> np.arange(n - first) & 1)
        sums = signflip.enumerated(np.ascontiguousarray(columns[:first].T))
        sums += (other_signs @ columns[first:])[:, None]
        return sums[:, 1:] if number == 0 else sums  # the first is that of the data

    return (partial(signed_sums, number=number) for number in range(1 << (n - first)))


def _sums_of_data(columns: Floats) -> Floats:
    """The sums under the data's own signs, as a block of one draw."""
    sums: Floats = columns.sum(axis=0)[:, None]
    return sums


def _random_sign_vectors(
    n: int, block: int, rng: np.random.Generator, draws: int
) -> Iterator[SignedSums]:
    """At least `draws` random sign vectors, about `block` at a time; only whole blocks are
    drawn.
    """
    done = 0
    while done < draws:
        signs = signflip.signs(n, rng, min(block, draws - done))
        yield partial(signflip.signed_sums, signs=signs)
        done += signs.size


def _count_extreme_of_block(
    pairs: ColumnPairs,
    signed_sums: SignedSums,
    *,
    close: Bools,
    inverse_size: Floats,
    observed: Floats,
    fold: Fold,
) -> ExtremeCounts:
    """The counts of `count_extreme` over the sign vectors of a block.

    close: pairs that are flipped themselves. fold: what is compared of a sum. Some pairs at a time
    are compared, the last first.
    """
    column_sums = signed_sums(pairs.values)
    draws = column_sums.shape[1]
    m = len(pairs)
    extreme = np.zeros(m, np.int64)
    largest = np.full(draws, -np.inf)  # of the pairs that are done, in each draw
    at_once = max(COMPARED_AT_ONCE // max(draws, 1), 1)
    for stop in range(m, 0, -at_once):
        block = slice(max(stop - at_once, 0), stop)
        sums = column_sums[pairs.first[block]]
        sums -= column_sums[pairs.second[block]]
        near = np.flatnonzero(close[block])
        if near.size:
            sums[near] = signed_sums(pairs.differences(block.start + near))
        fold(sums, out=sums)
        sums *= inverse_size[block, None]
        np.maximum(sums[-1], largest, out=sums[-1])
        for i in range(len(sums) - 2, -1, -1):  # maximum.accumulate takes twenty times as long
            np.maximum(sums[i], sums[i + 1], out=sums[i])
        extreme[block] = np.count_nonzero(sums >= observed[block, None], axis=1)
        largest = sums[0]
    return ExtremeCounts(extreme, draws)
