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
from evalkit.machine.progress_bars import progress
from evalkit.statistics import signflip
from evalkit.statistics.alternatives import Alternative

FIRST_UNITS = 13  # units whose signs are all visited in one block: 4,096 sums of a system
# A pair whose √Σ difference² is below this share of its columns' √Σ value² gets its sums from its
# differences: as the difference of two sums they would lose two digits or more.
CLOSE_SHARE = 0.01
# drawn sums that are compared at once, so that they stay in the processor's cache
COMPARED_AT_ONCE = 2**16
DIFFERENCES_AT_ONCE = 2**21  # differences of units that are made at once

# (signed sums, out=array) -> the evidence against the null that is compared with the data's
Evidence = Callable[..., Floats]
TWO_SIDED: tuple[Evidence, ...] = (np.abs,)
# a drawn sign vector and its opposite, whose sums are the negative ones, count as two
ONE_SIDED: tuple[Evidence, ...] = (np.positive, np.negative)
AddUp = Callable[[Floats], Floats]  # rows, (rows, k) -> the sums of each unit, (n, k)
# columns, (n, k) -> their sums with the signs of each sign vector of a block, (k, draws)
SignedSums = Callable[[Floats], Floats]


def max_t(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 100_000,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """p-values of the means of m columns of differences, adjusted for testing all of them, by joint
    sign flips of the n units: (n, m) in, (m,) out.

    Each draw flips a unit in all columns at once. A column's statistic |Σ d| / √Σ d² is compared
    with the largest statistic of the draw among the columns that are no more extreme in the data
    (step-down, as Holm). A one-sided alternative has Σ d, or −Σ d, in place of |Σ d|. Unlike Holm
    it uses the correlation of the columns, and so rejects more. Raises InputError for a value that
    is not finite. Westfall and Young 1993, algorithm 2.8; Boytsov, Belova, Westfall, CIKM 2013.

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
    """`max_t` from sums, for so many units that sign-flip sums are normally distributed.

    total: the sum of each column of differences, (m,). gram: the sums of products of each two
    columns, (m, m). Result: the adjusted p-value of each column, (m,).

    Under joint sign flips the sums have mean 0 and covariance `gram`. So the statistics, which are
    the sums / √Σ d², are drawn as normal numbers with the correlations of `gram`. As in `max_t`, a
    column is compared with the largest statistic among itself and the less extreme columns.

    >>> d = np.random.default_rng(2).normal(0.05, 1, (2000, 2))
    >>> p = max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    >>> bool(np.all(np.abs(p - max_t(d, rng=np.random.default_rng(1))) < 0.01))
    True
    """
    norm = np.sqrt(np.diag(gram))
    # the statistic of each column; 0 / 0 for a column of zeros counts as 0
    observed = np.nan_to_num(alternative.evidence(ratio(total, norm)))
    order = np.argsort(-observed, kind="stable")  # the most extreme column first
    m = order.size
    correlation = np.nan_to_num(ratio(gram, np.outer(norm, norm)))
    eigenvalues, eigenvectors = np.linalg.eigh(correlation[np.ix_(order, order)])
    # root @ rootᵀ is the correlation; rounding may leave an eigenvalue below 0
    root = eigenvectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    sorted_observed = observed[order, None]
    # lowered by the rounding error, so that a draw which is equal but for rounding counts
    reached = sorted_observed - signflip.SUM_TIE_TOLERANCE * np.abs(sorted_observed)
    extreme_draws = np.zeros(m, np.int64)  # by column, from the most extreme one on
    draws_at_once = max(1, signflip.MAX_SUMS_HELD // m)
    for start in range(0, draws, draws_at_once):
        normal = _normal_numbers(rng, m, min(draws_at_once, draws - start))
        statistics = alternative.evidence(root @ normal)  # columns × draws
        # step-down: each row becomes the largest of its column and of the less extreme ones after.
        # maximum.accumulate is 20 times slower
        for i in range(m - 2, -1, -1):
            np.maximum(statistics[i], statistics[i + 1], out=statistics[i])
        extreme_draws += np.sum(statistics >= reached, axis=1)
    adjusted = np.empty(m)
    # the data count as a draw; a p-value is at least that of each more extreme column
    adjusted[order] = np.maximum.accumulate((1 + extreme_draws) / (1 + draws))
    return adjusted


@signflip.replayed
def _normal_numbers(rng: np.random.Generator, m: int, draws: int) -> Floats:
    """Standard normal numbers, (m, draws); families of slices that are compared one after the
    other, one for each system, share them.
    """
    return rng.standard_normal((m, draws))


def max_t_of_many(
    pairs: ColumnPairs,
    *,
    rng: np.random.Generator,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """`max_t` for pairs of columns of a table with many units, by `max_t_of_sums`: (pairs,)."""
    # one line per pair with 1 and −1 at its two columns: times the sums of columns it gives the
    # sums of the pairs' differences
    unit_vectors = np.eye(pairs.values.shape[1])
    contrasts = unit_vectors[pairs.first] - unit_vectors[pairs.second]
    total = contrasts @ pairs.values.sum(axis=0)
    gram = contrasts @ (pairs.values.T @ pairs.values) @ contrasts.T
    return max_t_of_sums(total, gram, rng=rng, alternative=alternative)


@dataclass(frozen=True, eq=False)
class ColumnPairs:
    """m pairs of columns of a table of n units; `first` and `second` hold the column numbers, (m,)
    each.

    values: (n, columns); the difference of two columns is that of the pair, up to rounding error.
    differences: a function from the numbers of k pairs to their differences without this error,
    (n, k).
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

        first, second: the column numbers of each pair, (m,) each; both columns of a pair have the
        same metric. metric: the number of each column's metric, (columns,); None if all columns
        have the same. add_up: (rows, k) -> (n, k), adds up the rows of each unit; by default each
        row is a unit. Raises InputError for a value that is not finite.

        In each row of `values` the mean of the columns of the same metric is subtracted. It cancels
        in the difference of two columns, and sums of the smaller numbers keep more digits.

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
            """The differences of the pairs with these numbers, added up by unit: (n, k). They come
            from the table, as the mean subtracted from `values` adds a rounding error.
            """
            minuend = np.take(table, first[pairs], axis=1)
            subtrahend = np.take(table, second[pairs], axis=1)
            return add_up(minuend - subtrahend)

        return cls(add_up(values), first, second, differences)

    @classmethod
    def from_differences(cls, columns: Floats) -> ColumnPairs:
        """Pairs from their differences, (n, m), without a table: `values` is one column of zeros,
        so that the sums of each pair are taken from its differences (`loses_digits`).
        """
        no_columns = np.zeros((len(columns), 1))
        zero = np.zeros(columns.shape[1], np.int64)
        return cls(no_columns, zero, zero, lambda pairs: np.take(columns, pairs, axis=1))

    def __len__(self) -> int:
        return len(self.first)

    def take(self, pairs: Ints, units: Ints) -> ColumnPairs:
        """The pairs with the numbers `pairs`, in this order, and the units in the order `units`."""

        def differences(numbers: Ints) -> Floats:
            """The differences of the pairs with these numbers among the chosen ones."""
            return self.differences(pairs[numbers])[units]

        return ColumnPairs(self.values[units], self.first[pairs], self.second[pairs], differences)

    def loses_digits(self, norm: Floats) -> Bools:
        """A mask of the pairs, (m,), whose signed sums must be taken from their differences: as the
        difference of the sums of two columns they would lose digits, or there are no columns.

        norm: √Σ difference² of each pair, (m,).
        """
        column_norm = np.sqrt(np.sum(self.values**2, axis=0))
        larger_norm = np.maximum(column_norm[self.first], column_norm[self.second])
        is_close = norm < CLOSE_SHARE * larger_norm
        has_no_columns = larger_norm == 0  # as from `from_differences`
        return np.asarray(is_close | has_no_columns)


def adjusted(
    pairs: ColumnPairs,
    *,
    rng: np.random.Generator,
    draws: int = 100_000,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> Floats:
    """The adjusted p-values of `max_t` for m pairs of columns, (m,).

    draws: the least number of random sign vectors; of at most 20 units all vectors are visited
    instead. Raises InputError for a value that is not finite.

    >>> table = np.random.default_rng(1).normal(size=(50, 3)) + [1.0, 0.0, 0.0]
    >>> pairs = ColumnPairs.from_table(table, np.array([0, 0, 1]), np.array([1, 2, 2]))
    >>> adjusted(pairs, rng=np.random.default_rng(1), draws=1000).round(2)
    array([0.  , 0.  , 0.17])
    """
    units = _unit_order(pairs)  # sorted, so that the input's order of units changes no p-value
    norm, observed = _observed_statistics(pairs, units, alternative)
    order = np.argsort(-observed, kind="stable")  # the most extreme pair first
    counts = count_extreme(
        pairs.take(order, units),
        norm=norm[order],
        observed=observed[order],
        rng=rng,
        draws=draws,
        alternative=alternative,
    )
    p = np.empty(len(pairs))
    # the data count as a draw; a p-value is at least that of each more extreme pair
    p[order] = np.maximum.accumulate((1 + counts.extreme) / (1 + counts.draws))
    return p


class ObservedStatistics(NamedTuple):
    """Of each pair in the data, (m,) each. norm: √Σ d², with the pair's differences d by unit.
    statistic: |Σ d| / norm, or Σ d / norm or −Σ d / norm for a one-sided alternative, less its
    rounding error.
    """

    norm: Floats
    statistic: Floats


def _observed_statistics(
    pairs: ColumnPairs, units: Ints, alternative: Alternative
) -> ObservedStatistics:
    """The statistics of all pairs, with the differences of some pairs in memory at a time. units:
    the order in which the differences of units are added up. Raises InputError for a difference
    that is not finite.
    """
    m = len(pairs)
    norm = np.empty(m)
    observed = np.empty(m)
    pairs_at_once = max(DIFFERENCES_AT_ONCE // len(units), 2)
    for block in _blocks(m, pairs_at_once):
        numbers = np.arange(block.start, block.stop)
        differences = pairs.differences(numbers)[units]
        finite("differences", differences.ravel())
        norm[block] = np.sqrt(np.sum(differences**2, axis=0))
        # a pair without any difference stays 0: then every draw is as extreme, and p is 1
        scaled = np.divide(differences, norm[block], out=differences, where=norm[block] != 0)
        statistic = alternative.evidence(scaled.sum(axis=0))
        # Lowered by the rounding error, so that a draw which is equal but for rounding counts. Its
        # second part does not fall with the statistic: the scaled differences have the length 1.
        relative_rounding = signflip.SUM_TIE_TOLERANCE * np.abs(statistic)
        observed[block] = statistic - relative_rounding - signflip.SUM_TIE_TOLERANCE
    return ObservedStatistics(norm, observed)


def _unit_order(pairs: ColumnPairs) -> Ints:
    """The numbers of the units, sorted by their difference of the last pair; units with the same
    one are sorted by the difference of the pair before, and so on: (n,).

    Only as many pairs are compared as tell all units from each other. Comparing further pairs does
    not change the order, as they only break ties.

    >>> _unit_order(ColumnPairs.from_differences(np.array([[2, 1], [1, 1], [3, 0]]))).tolist()
    [2, 1, 0]
    """
    m = len(pairs)
    compared = 1  # the number of pairs, counted from the last one: often one is enough
    while True:
        last_pairs = np.arange(max(m - compared, 0), m)
        differences = pairs.differences(last_pairs)
        order = np.lexsort(differences.T)  # the last row of its argument is the first key
        ordered = differences[order]
        neighbours_differ = (ordered[1:] != ordered[:-1]).any(axis=1)
        if compared >= m or neighbours_differ.all():
            return order
        compared *= 4


def _blocks(m: int, size: int) -> Iterator[slice]:
    """Slices that divide m pairs into blocks of `size`, the last one up to one larger, so that none
    has one pair: numpy adds up a single column in another order, with another rounding error.

    >>> [(block.start, block.stop) for block in _blocks(5, 2)]
    [(0, 2), (2, 5)]
    """
    starts = range(0, max(m - 1, 1), size)  # none at m − 1, where a block of one pair would begin
    ends = [*starts[1:], m]
    for start, end in zip(starts, ends, strict=True):
        yield slice(start, end)


class ExtremeCounts(NamedTuple):
    """extreme: for each pair the number of sign vectors in which it is extreme, (m,). draws: the
    number of sign vectors.
    """

    extreme: Ints
    draws: int


def count_extreme(
    pairs: ColumnPairs,
    norm: Floats,
    observed: Floats,
    *,
    rng: np.random.Generator,
    draws: int,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> ExtremeCounts:
    """For each pair of columns, the number of sign vectors in which its own statistic or that of a
    later pair reaches its observed one: step-down max-T.

    A pair's statistic is |Σ ± d| / norm, with its differences d by unit; for a one-sided
    alternative it is Σ ± d / norm, or −Σ ± d / norm. pairs: the most extreme first. norm: √Σ d² of
    each, (m,). observed: the statistic of each in the data, (m,), in the direction of the
    alternative.

    Up to 20 units, all sign vectors are visited. The vector that flips no sign is left out: it is
    the data, which the caller counts. Of a vector and its opposite one is visited, in all
    2^(n − 1) − 1. Both have the same |Σ ± d|; for a one-sided alternative each visit counts as two
    vectors, with Σ ± d and with −Σ ± d. With more units at least `draws` random vectors are drawn.

    >>> pairs = ColumnPairs.from_differences(np.array([[1.0, 2.0], [3.0, 1.0]]))
    >>> rng = np.random.default_rng(1)
    >>> count_extreme(pairs, np.ones(2), np.array([2.0, 2.0]), rng=rng, draws=0)
    ExtremeCounts(extreme=array([1, 0]), draws=1)
    """
    n = len(pairs.values)
    m = len(pairs)
    # what is made of each drawn sum; `observed` has the direction of the alternative already
    all_evidence = ONE_SIDED if alternative.one_sided else TWO_SIDED
    visits_all = n <= signflip.MAX_ENUMERATED_UNITS
    signs = _sign_vectors(n, m, rng, draws)
    count_block = partial(
        _count_extreme_of_block,
        pairs,
        from_differences=pairs.loses_digits(norm),
        inverse_norm=np.divide(1.0, norm, out=np.zeros(m), where=norm != 0),
        observed=observed,
    )
    extreme = np.zeros(m, np.int64)
    counted = 0
    with progress(signs.title, signs.vectors * len(all_evidence)) as show:
        for signed_sums in signs.blocks:
            show(counted)
            for evidence in all_evidence:
                counts = count_block(signed_sums, evidence=evidence)
                extreme += counts.extreme
                counted += counts.draws
    if alternative.one_sided and visits_all:
        # The vector that flips all signs was not visited, as it is the opposite of the data: its
        # sums are −Σ d, of which the alternative "less" takes −(−Σ d).
        evidence_of_opposite: Evidence = np.negative
        if alternative is Alternative.LESS:
            evidence_of_opposite = np.positive
        opposite_of_data = count_block(_sums_of_data, evidence=evidence_of_opposite)
        extreme += opposite_of_data.extreme
        counted += 1
    return ExtremeCounts(extreme, counted)


class SignVectors(NamedTuple):
    """Sign vectors in blocks: for each block a function from columns, (n, k), to their sums with
    these signs, (k, draws). vectors: about how many there are. title: what is done, for the
    progress bar.
    """

    blocks: Iterator[SignedSums]
    vectors: int
    title: str


def _sign_vectors(n: int, m: int, rng: np.random.Generator, draws: int) -> SignVectors:
    """The sign vectors of n units for m pairs of columns: all of at most 20 units, otherwise at
    least `draws` random ones, in blocks whose sums fit into memory.
    """
    if n <= signflip.MAX_ENUMERATED_UNITS:
        return SignVectors(_every_sign_vector(n), vectors=1 << (n - 1), title="flipping signs")
    block = max(signflip.MAX_SUMS_HELD // m, 1)
    blocks = _random_sign_vectors(n, block, rng, draws)
    return SignVectors(blocks, vectors=draws, title="drawing signs")


def _every_sign_vector(n: int) -> Iterator[SignedSums]:
    """For each block of sign vectors a function from columns, (n, k), to their sums with these
    signs, (k, draws). The blocks hold each sign vector of n units, one of each two opposite ones,
    except the data's, which flips none.

    In each block the first FIRST_UNITS units take all signs, and the others have fixed ones.
    """
    first_units = min(n, FIRST_UNITS)
    other_units = n - first_units
    for block in range(1 << other_units):
        # bit i of the number of the block is the sign of other unit i, 1 for −
        bits = block >> np.arange(other_units) & 1
        yield partial(_sums_of_block, other_signs=1.0 - 2.0 * bits.astype(np.float64))


def _sums_of_block(columns: Floats, other_signs: Floats) -> Floats:
    """The sums of columns, (n, k), under each sign vector of a block, (k, draws). The last units
    have the signs `other_signs`. The units before them take all signs, but the very first is always
    +. The vector without a flipped sign is left out: it is the data, which the caller counts.
    """
    first_units = len(columns) - other_signs.size
    sums = signflip.enumerated(np.ascontiguousarray(columns[:first_units].T))
    sums += (other_signs @ columns[first_units:])[:, None]
    if (other_signs == 1).all():
        return sums[:, 1:]  # the first vector of `enumerated` flips no sign
    return sums


def _sums_of_data(columns: Floats) -> Floats:
    """The sums without any flipped sign, as a block of one draw: (k, 1)."""
    sums: Floats = columns.sum(axis=0)[:, None]
    return sums


def _random_sign_vectors(
    n: int, block: int, rng: np.random.Generator, draws: int
) -> Iterator[SignedSums]:
    """For each block of random sign vectors of n units a function from columns, (n, k), to their
    sums with these signs, (k, draws). All blocks together have at least `draws` vectors; `block`:
    the least number of one block.
    """
    missing = draws
    while missing > 0:
        signs = signflip.signs(n, rng, min(block, missing))
        yield partial(signflip.signed_sums, signs=signs)
        missing -= signs.size


def _count_extreme_of_block(
    pairs: ColumnPairs,
    signed_sums: SignedSums,
    *,
    from_differences: Bools,
    inverse_norm: Floats,
    observed: Floats,
    evidence: Evidence,
) -> ExtremeCounts:
    """The counts of `count_extreme` over the sign vectors of one block.

    signed_sums: columns -> their sums with the signs of each vector of the block, (columns, draws).
    The signed sum of a pair is the difference of the sums of its two columns; for the pairs of the
    mask `from_differences` it is made from the pair's differences, see `ColumnPairs.loses_digits`.
    inverse_norm: 1 / √Σ d² of each pair, 0 if all its d are 0. observed: the statistic of each pair
    in the data, (m,). evidence: writes |sum|, sum or −sum to `out`.

    Each pair is compared with the largest statistic of itself and all later pairs. So pairs are
    taken some at a time, from the last ones on, and `largest_after` carries the maximum along.
    """
    column_sums = signed_sums(pairs.values)
    draws = column_sums.shape[1]
    m = len(pairs)
    extreme = np.zeros(m, np.int64)
    largest_after = np.full(draws, -np.inf)  # of the pairs after `block`, in each draw
    pairs_at_once = max(COMPARED_AT_ONCE // max(draws, 1), 1)
    for stop in range(m, 0, -pairs_at_once):
        block = slice(max(stop - pairs_at_once, 0), stop)  # of pairs
        sums = column_sums[pairs.first[block]]
        sums -= column_sums[pairs.second[block]]
        inexact = np.flatnonzero(from_differences[block])  # numbers within `block`
        if inexact.size:
            sums[inexact] = signed_sums(pairs.differences(block.start + inexact))
        # the statistics take the memory of the sums, which are not needed any more
        statistics = evidence(sums, out=sums)
        statistics *= inverse_norm[block, None]
        # each row becomes the largest of its pair and those after it; maximum.accumulate is 20
        # times slower
        np.maximum(statistics[-1], largest_after, out=statistics[-1])
        for i in range(len(statistics) - 2, -1, -1):
            np.maximum(statistics[i], statistics[i + 1], out=statistics[i])
        extreme[block] = np.count_nonzero(statistics >= observed[block, None], axis=1)
        largest_after = statistics[0]
    return ExtremeCounts(extreme, draws)
