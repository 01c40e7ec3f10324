"""Multiple testing: adjusted p-values of a family of tests, rank intervals, and bounds for interim
analyses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError, finite, ratio
from evalkit.statistics import intervals, signflip
from evalkit.statistics.spread import bisect, of_units
from evalkit.system import progress


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, which control the probability of any false rejection; NaN is not
    counted and stays.

    Scandinavian Journal of Statistics 1979.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    return _stepwise(p_values, lambda p: np.maximum.accumulate(p * np.arange(p.size, 0, -1)))


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p-values, which control the expected share of false
    rejections; NaN stays.

    Journal of the Royal Statistical Society B 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """
    return _stepwise(
        p_values,
        lambda p: np.minimum.accumulate((p * p.size / np.arange(1, p.size + 1))[::-1])[::-1],
    )


def unadjusted(p_values: ArrayLike) -> Floats:
    """The p-values unchanged."""
    return np.array(p_values, float)


def max_t(differences: ArrayLike, *, rng: np.random.Generator, draws: int = 100_000) -> Floats:
    """Adjusted p-values of the mean of each column by joint sign flips of shared units: (n, m) in,
    (m,) out.

    Each draw flips a unit in all columns at once; a column's |Σ d| / √Σ d² is compared with the
    largest of the draw over the columns that are no more extreme (step-down, as Holm). It uses the
    correlation that Holm ignores. Raises InputError for a value that is not finite. Westfall and
    Young 1993, algorithm 2.8; Boytsov, Belova, Westfall, CIKM 2013.

    >>> d = np.array([[1.0, -1.0], [2.0, 1.0], [3.0, -1.0], [1.0, 1.0], [2.0, -1.0], [2.0, 1.0]])
    >>> max_t(d, rng=np.random.default_rng(1)).round(2)
    array([0.06, 1.  ])
    """
    columns = np.asarray(differences, float)
    if columns.ndim != 2 or len(columns) == 0:
        raise InputError(f"differences must have units × comparisons, got shape {columns.shape}")
    return adjusted(Pairs.of_columns(columns), rng=rng, draws=draws)


def max_t_of_sums(
    total: Floats, gram: Floats, *, rng: np.random.Generator, draws: int = 100_000
) -> Floats:
    """`max_t` from column sums and sums of products, for so many units that sign-flip sums are
    normally distributed.

    Under joint sign flips the sums have covariance `gram`; normal draws with this covariance are
    used instead.

    >>> d = np.random.default_rng(2).normal(0.05, 1, (2000, 2))
    >>> p = max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    >>> bool(np.all(np.abs(p - max_t(d, rng=np.random.default_rng(1))) < 0.01))
    True
    """
    size = np.sqrt(np.diag(gram))
    observed = np.nan_to_num(np.abs(ratio(total, size)))
    order = np.argsort(-observed, kind="stable")
    correlation = np.nan_to_num(ratio(gram, np.outer(size, size)))[np.ix_(order, order)]
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    extreme = np.zeros(order.size, np.int64)
    step = max(1, signflip.HELD // order.size)
    for start in range(0, draws, step):
        drawn = np.abs(root @ rng.standard_normal((order.size, min(step, draws - start))))
        np.maximum.accumulate(drawn[::-1], axis=0, out=drawn[::-1])
        extreme += np.sum(drawn >= observed[order, None] * (1 - signflip.TIE), axis=1)
    adjusted = np.empty(order.size)
    adjusted[order] = np.maximum.accumulate((1 + extreme) / (1 + draws))
    return adjusted


def max_t_of_many(pairs: Pairs, *, rng: np.random.Generator) -> Floats:
    """`max_t_of_sums` for pairs of columns."""
    places = np.eye(pairs.values.shape[1])
    form = places[pairs.first] - places[pairs.second]
    return max_t_of_sums(
        form @ pairs.values.sum(axis=0), form @ (pairs.values.T @ pairs.values) @ form.T, rng=rng
    )


def _stepwise(p_values: ArrayLike, ordered: Callable[[Floats], Floats]) -> Floats:
    """Adjust the p-values that exist in ascending order and put them back."""
    p = np.asarray(p_values, float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(p.shape, np.nan)
    out[order] = np.minimum(ordered(p[order]), 1.0)
    return out


NODES = (
    160  # of the Gauss–Legendre rule; the error of the level is below 1e-9 up to a hundred looks
)


def false_positive_rate(looks: int, *, level: float = 0.95) -> float:
    """The probability that at least one of `looks` equally spaced interim tests at 1 − level
    rejects a true null.

    Armitage, McPherson, Rowe, JRSS A 1969, doi:10.2307/2343787.

    >>> [round(false_positive_rate(k), 3) for k in (1, 2, 5, 10, 20)]
    [0.05, 0.083, 0.142, 0.193, 0.248]
    """
    return _crossing(np.full(_looks(looks), intervals.normal_quantile(level)))


def pocock(looks: int, *, level: float = 0.95) -> Floats:
    """Pocock's bounds for |z| at each of `looks` equally spaced interim analyses: one constant.

    Biometrika 1977, doi:10.1093/biomet/64.2.191.

    >>> pocock(5).round(3)
    array([2.413, 2.413, 2.413, 2.413, 2.413])
    """
    return _constant(looks, level, 0.0) * np.ones(looks)


def obrien_fleming(looks: int, *, level: float = 0.95) -> Floats:
    """O'Brien and Fleming's bounds for |z| at interim analysis k of K: c √(K / k), hard to cross
    early.

    Biometrics 1979, doi:10.2307/2530245.

    >>> obrien_fleming(5).round(2)
    array([4.56, 3.23, 2.63, 2.28, 2.04])
    """
    return _constant(looks, level, 0.5) * _shape(looks, 0.5)


@cache
def _constant(looks: int, level: float, power: float) -> float:
    """The factor of the bound's shape at which the chance of crossing it is 1 − level."""
    far = float(intervals.normal_quantile(level) + np.sqrt(2 * np.log(_looks(looks))) + 1)
    return bisect(lambda factor: _crossing(factor * _shape(looks, power)) > 1 - level, 0.0, far)[0]


def _shape(looks: int, power: float) -> Floats:
    return (looks / np.arange(1.0, looks + 1)) ** power


def _crossing(bounds: Floats) -> float:
    """The chance that |z_k| passes its bound at some look k, for sums of independent normal
    steps.
    """
    nodes, weights = _rule()
    edges = bounds * np.sqrt(np.arange(1.0, bounds.size + 1))  # bounds of the sum of the steps
    points, weight = np.zeros(1), np.ones(1)  # the sum starts at 0
    for edge in edges:
        before = points
        points = edge * nodes
        density = np.exp(-((points[:, None] - before) ** 2) / 2) / np.sqrt(2 * np.pi) @ weight
        weight = density * weights * edge
    return float(1 - weight.sum())


@cache
def _rule() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)


def _looks(looks: int) -> int:
    if looks < 1:
        raise ParameterError(f"looks must be at least 1, got {looks}")
    return looks


# Max-T: many differences under sign flips of the units that all of them share ---------------------

# Under shared signs the sum of a difference is the difference of two sums. So what is drawn are the
# sums of the systems, which are few, not those of their pairs; differences of units are made for
# some pairs at a time.

FIRST = 13  # units whose signs are all visited in one block: 4,096 sums of a system
APART = 0.01  # pairs closer than this share of their systems' size are flipped themselves
TOGETHER = 2**16  # drawn sums that are compared at once, so that they stay in the processor's cache
MADE = 2**21  # differences of units that are made at once

AddUp = Callable[[Floats], Floats]  # rows, (rows, k) -> the sums of each unit, (n, k)
Summed = Callable[
    [Floats], Floats
]  # columns, (n, k) -> their sums under the sign vectors of a block, (k, draws)


@dataclass(frozen=True, eq=False)
class Pairs:
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
    def of(
        cls,
        table: Floats,
        first: Ints,
        second: Ints,
        *,
        metric: Ints | None = None,
        added: AddUp = lambda rows: rows,
    ) -> Pairs:
        """The pairs of columns of a table, (rows, columns).

        metric: the number of each column's metric, None if all have one. The two columns of a pair
        have the same metric; what the systems have in common is subtracted first. added: (rows, k)
        -> (n, k), adds up the rows of each unit, if units have several. Raises InputError for a
        value that is not finite.

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
            return added(
                np.take(table, first[places], axis=1) - np.take(table, second[places], axis=1)
            )

        return cls(added(values), first, second, differences)

    @classmethod
    def of_columns(cls, columns: Floats) -> Pairs:
        """Pairs from known differences, (n, m), instead of columns of a table."""
        none = np.zeros(columns.shape[1], np.int64)
        return cls(
            np.zeros((len(columns), 1)), none, none, lambda places: np.take(columns, places, axis=1)
        )

    def __len__(self) -> int:
        return len(self.first)

    def take(self, places: Ints, units: Ints) -> Pairs:
        """Some of the pairs, with the units in another order."""

        def differences(some: Ints) -> Floats:
            return self.differences(places[some])[units]

        return Pairs(self.values[units], self.first[places], self.second[places], differences)

    @property
    def scale(self) -> Floats:
        """The size of each pair: the larger √Σ v² of its two columns."""
        size = np.sqrt(np.sum(self.values**2, axis=0))
        return np.maximum(size[self.first], size[self.second])


def adjusted(pairs: Pairs, *, rng: np.random.Generator, draws: int = 100_000) -> Floats:
    """The adjusted p-values of `max_t` for m pairs of columns, (m,).

    Raises InputError for a value that is not finite.

    >>> table = np.random.default_rng(1).normal(size=(50, 3)) + [1.0, 0.0, 0.0]
    >>> pairs = Pairs.of(table, np.array([0, 0, 1]), np.array([1, 2, 2]))
    >>> adjusted(pairs, rng=np.random.default_rng(1), draws=1000).round(2)
    array([0.  , 0.  , 0.17])
    """
    units = _order(pairs)  # the order of the units changes no draw
    m = len(pairs)
    size = np.empty(m)
    observed = np.empty(m)
    for part in _parts(m, max(MADE // len(units), 2)):
        scaled = pairs.differences(np.arange(m)[part])[units]
        finite("differences", scaled.ravel())
        size[part] = np.sqrt(np.sum(scaled**2, axis=0))
        # of a column of zeros no draw is less extreme
        np.divide(scaled, size[part], out=scaled, where=size[part] != 0)
        observed[part] = np.abs(scaled.sum(axis=0)) * (1 - signflip.TIE) - signflip.TIE
    order = np.argsort(-observed, kind="stable")
    extreme, drawn = exceeded(
        pairs.take(order, units), size[order], observed[order], rng=rng, draws=draws
    )
    p = np.empty(m)
    p[order] = np.maximum.accumulate((1 + extreme) / (1 + drawn))
    return p


def _order(pairs: Pairs) -> Ints:
    """The order of the units by their last differences, then by those before; many are read only
    where units tie.

    >>> _order(Pairs.of_columns(np.array([[2, 1], [1, 1], [3, 0]]))).tolist()
    [2, 1, 0]
    """
    several = 1
    m = len(pairs)
    while True:
        last = pairs.differences(np.arange(max(m - several, 0), m))
        order = np.lexsort(last.T)
        if several >= m or (last[order[1:]] != last[order[:-1]]).any(axis=1).all():
            return order
        several *= 4


def _parts(m: int, step: int) -> Iterator[slice]:
    """Slices of m pairs, `step` in each, the last one more: one column alone would be added up in
    another order.

    >>> [(part.start, part.stop) for part in _parts(5, 2)]
    [(0, 2), (2, 5)]
    """
    starts = range(0, max(m - 1, 1), step)
    for start in starts:
        yield slice(start, m if start == starts[-1] else start + step)


def exceeded(
    pairs: Pairs, size: Floats, observed: Floats, *, rng: np.random.Generator, draws: int
) -> tuple[Ints, int]:
    """In how many sign vectors the largest |Σ ± d| / size of each pair and those after it is at
    least `observed`.

    Returns m counts, and the number of sign vectors: all of them (up to sign, without the identity)
    for at most 20 units, otherwise at least `draws` random ones.

    >>> pairs = Pairs.of_columns(np.array([[1.0, 2.0], [3.0, 1.0]]))
    >>> exceeded(pairs, np.ones(2), np.array([2.0, 2.0]), rng=np.random.default_rng(1), draws=0)
    (array([1, 0]), 1)
    """
    n = len(pairs.values)
    m = len(pairs)
    inverse = np.divide(1.0, size, out=np.zeros(m), where=size != 0)
    times = np.zeros(m, np.int64)
    scale = pairs.scale
    close = (size < APART * scale) | (scale == 0)
    every = n <= signflip.ENUMERATED
    blocks = _enumerated(n) if every else _drawn(n, max(signflip.HELD // m, 1), rng, draws)
    drawn = 0
    total = 1 << (n - 1) if every else draws
    with progress("flipping signs" if every else "drawing signs", total) as draw:
        for summed in blocks:
            draw(drawn)
            drawn += _count(times, pairs, summed, close, inverse, observed)
    return times, drawn


def _enumerated(n: int) -> Iterator[Summed]:
    """Every sign vector of n units, up to its sign and but the first: the first units take all
    signs in each block.
    """
    first = min(n, FIRST)

    def summed(columns: Floats, number: int) -> Floats:
        rest = 1.0 - 2.0 * (number >> np.arange(n - first) & 1)
        sums = signflip.enumerated(np.ascontiguousarray(columns[:first].T))
        sums += (rest @ columns[first:])[:, None]
        return sums[:, not number :]

    return (partial(summed, number=number) for number in range(1 << (n - first)))


def _drawn(n: int, chunk: int, rng: np.random.Generator, draws: int) -> Iterator[Summed]:
    """At least `draws` random sign vectors, about `chunk` in each block; only whole blocks are
    drawn.
    """
    drawn = 0
    while drawn < draws:
        signs = signflip.signs(n, rng, min(chunk, draws - drawn))
        yield partial(signflip.summed, signs=signs)
        drawn += signs.size


def _count(
    times: Ints, pairs: Pairs, summed: Summed, close: Bools, inverse: Floats, observed: Floats
) -> int:
    """Add to `times` in how many of these draws the largest of each pair and later ones is
    `observed`; return all.

    Some pairs at a time, the last first. close: pairs that are flipped themselves.
    """
    drawn = summed(pairs.values)
    largest = np.zeros(drawn.shape[1])
    some = max(TOGETHER // max(drawn.shape[1], 1), 1)
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


# Rank intervals and tiers -------------------------------------------------------------------------


BEYOND_DRAWING = (
    3.09  # standard errors of a drawn p-value: one in a thousand lies further below the exact one
)


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rank of each system, 1 for the best, with simultaneous confidence limits of its true
    rank.

    tier: from 1. No two systems of a tier differ significantly; systems of neighbouring tiers may
    or may not.
    """

    low: Ints
    high: Ints
    tier: Ints


def ranks(
    values: ArrayLike, *, level: float, rng: np.random.Generator, draws: int = 5_000
) -> Ranks:
    """Rank intervals of m systems from the values of n units, higher being better: (n, m) in.

    All pairs are tested by step-down max-T with joint sign flips; a true rank lies in [1 + number
    of systems that are significantly better, m − number that are significantly worse], for all
    systems simultaneously with probability at least `level`. If signs are drawn, a pair is
    significant only if more draws would hardly change that. The true rank of equally good systems
    is any of those that they share. Mogstad, Romano, Shaikh and Wilhelm 2024,
    doi:10.1093/restud/rdad006. Raises InputError for a value that is not finite.

    >>> rng = np.random.default_rng(1)
    >>> values = rng.normal(size=(80, 3)) + [1.0, 0.0, 0.05]
    >>> r = ranks(values, level=0.95, rng=rng)
    >>> r.low.tolist(), r.high.tolist(), r.tier.tolist()
    ([1, 2, 2], [1, 3, 3], [1, 2, 2])
    """
    table = np.asarray(values, float)
    m = table.shape[1]
    means = table.mean(axis=0)
    first, second = np.triu_indices(m, 1)
    p_values = adjusted(Pairs.of(table, first, second), rng=rng, draws=draws)
    if len(table) > signflip.ENUMERATED:
        p_values += BEYOND_DRAWING * np.sqrt(p_values * (1 - p_values) / draws)
    better, worse = np.where(means[first] > means[second], (first, second), (second, first))
    significant = np.zeros((m, m), dtype=bool)
    significant[better, worse] = p_values < 1 - level
    tier = tiers(significant, np.argsort(-means, kind="stable"))
    return Ranks(1 + significant.sum(axis=0), m - significant.sum(axis=1), tier)


def tiers(better: Bools, order: Sequence[int] | Ints) -> Ints:
    """The tier of each system. Tiers are maximal runs of the ranking in which no system is
    significantly better.

    better: better[i, j] is True if system i is significantly better than j. order: the systems,
    best first.

    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 2] = True
    >>> tiers(better, [0, 1, 2])
    array([1, 1, 2])
    """
    tier = np.empty(len(order), np.int64)
    run = list[int]()
    number = 1
    for system in order:
        if any(better[member, system] for member in run):
            number = number + 1
            run = []
        run.append(system)
        tier[system] = number
    return tier


# Ranks of systems by unit: Wilcoxon for two, Friedman and its critical difference for many --------

# They answer other questions than a mean does. Where skewed differences have the mean 0 Wilcoxon
# rejects, more surely the more units there are; the mean rank of one system depends on which others
# are compared.

AT_ONCE = 2**16  # units that are ranked at once
# units of which every sign is flipped: with ties scipy does so too, 2^n calls that take seconds
FLIPPED = 13


@dataclass(frozen=True, eq=False)
class Ranked:
    """The mean ranks of systems over units, 1 the best, and two p-values of the null that all
    systems rank alike.
    """

    means: Floats
    units: int
    friedman: float
    iman_davenport: float


def wilcoxon(differences: ArrayLike) -> float:
    """The p-value of Wilcoxon's signed-rank test; zeros are left out. It does not test a mean.

    Biometrics Bulletin 1945, doi:10.2307/3001968.

    >>> round(wilcoxon([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]), 7)
    0.0412598
    """
    from scipy import stats

    units = of_units(differences)
    moved = units[units != 0]
    if moved.size == 0:
        return 1.0
    if units.size > FLIPPED:
        return float(stats.wilcoxon(units).pvalue)
    ranks = np.sign(moved) * stats.rankdata(np.abs(moved))
    return float(np.mean(np.abs(signflip.enumerated(ranks)) >= abs(ranks.sum())))


def ranked(values: ArrayLike) -> Ranked:
    """Mean ranks of at least three systems, and two tests that all rank alike: (units, systems) in,
    the largest best.

    Friedman's χ², corrected for ties, JASA 1937, doi:10.1080/01621459.1937.10503522; and Iman and
    Davenport's F, (n − 1) χ² / (n (k − 1) − χ²), which is less conservative,
    doi:10.1080/03610928008827904. NaN if every unit is tied. Raises InputError below three systems.

    >>> ranked([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).means
    array([1.  , 2.25, 2.75])
    """
    from scipy.special import chdtrc, fdtrc

    sums, ties, n = _rank_sums(values)
    k = len(sums)
    if k < 3:
        raise InputError(f"values must have at least 3 systems, got {k}")
    left = 1 - ties / (k * (k * k - 1) * n)
    spread = 12 / (k * n * (k + 1)) * float(np.sum((sums - n * (k + 1) / 2) ** 2))
    statistic = spread / left if left > 0 else np.nan
    rest = n * (k - 1) - statistic
    if rest <= 0:
        # every unit ranks the systems alike: F is infinite, this chance is not 0
        iman = float(factorial(k)) ** (1 - n)
    else:
        iman = float(fdtrc(k - 1, (k - 1) * (n - 1), (n - 1) * statistic / rest))
    return Ranked(sums / n, n, float(chdtrc(k - 1, statistic)), iman)


def _rank_sums(values: ArrayLike) -> tuple[Floats, float, int]:
    """The sum of each system's ranks, the sum of t³ − t over ties of t, and the units; some units
    at a time.
    """
    from scipy.stats import rankdata

    table = _unit_table(values)
    sums = np.zeros(table.shape[1])
    ties = 0.0
    for start in range(0, len(table), AT_ONCE):
        some = -table[start : start + AT_ONCE]
        low, high = (rankdata(some, method, axis=1) for method in ("min", "max"))
        sums += (low + high).sum(axis=0) / 2
        ties += float(np.sum((high - low + 1.0) ** 2 - 1))
    return sums, ties, len(table)


def critical_difference(systems: int, units: int, *, level: float = 0.95) -> float:
    """Nemenyi's critical difference of two mean ranks, q √(k (k + 1) / 6 n); q is the studentised
    range / √2.

    Demšar, Journal of Machine Learning Research 2006, section 3.2.2.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = studentized_range.ppf(level, systems, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(systems * (systems + 1) / (6 * units)))


def blocked_tukey(values: ArrayLike) -> Floats:
    """Tukey's p-values of all pairs of systems on the same units: (units, systems) in, a square
    matrix out.

    The mean of each unit is removed first; without that (one-way) the test misses most paired
    differences. Carterette, ACM TOIS 2012, doi:10.1145/2094072.2094076.
    """
    table = _unit_table(values)
    n, k = table.shape
    mean = table.mean(axis=0)
    residual = table - mean - table.mean(axis=1, keepdims=True) + table.mean()
    freedom = (n - 1) * (k - 1)
    error = np.sqrt(float(np.sum(residual**2)) / freedom / n)
    first, second = np.triu_indices(k, 1)
    p = np.ones((k, k))
    beyond = studentised_range_beyond(np.abs(mean[first] - mean[second]) / error, k, freedom)
    p[first, second] = p[second, first] = beyond
    return p


S_NODES, Z_NODES = 241, 201  # of the trapezoids, whose error is then below 1e-12


def studentised_range_beyond(q: Floats, k: int, freedom: int) -> Floats:
    """The probability that the range of k standard normal variables, divided by an independent
    standard error with these degrees of freedom, exceeds each q.

    Trapezoids over the logarithm of the standard error and over the largest variable: smooth
    functions that vanish at both ends, for which they converge faster than any power.
    scipy.stats.studentized_range takes 30 ms for each q.

    >>> studentised_range_beyond(np.array([0.0, 3.877]), k=3, freedom=10).round(3)
    array([1.  , 0.05])
    """
    from scipy.special import ndtr
    from scipy.stats import chi2

    lowest = 0.5 * np.log(chi2.ppf(1e-17, freedom) / freedom)
    highest = 0.5 * np.log(chi2.isf(1e-17, freedom) / freedom)
    log_error = np.linspace(lowest, highest, S_NODES)
    step = log_error[1] - log_error[0]
    squares = freedom * np.exp(2 * log_error)
    weight = 2 * squares * chi2.pdf(squares, freedom) * step
    z = np.linspace(-8.5, 8.5, Z_NODES)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    beyond = np.empty(len(q))
    for i, width in enumerate(np.multiply.outer(q, np.exp(log_error))):
        inside = k * (ndtr(z) - ndtr(z - width[:, None])) ** (k - 1) @ density
        beyond[i] = weight @ (1 - inside)
    return np.clip(beyond, 0.0, 1.0)


def _unit_table(values: ArrayLike) -> Floats:
    table = np.asarray(values, float)
    if table.ndim != 2 or min(table.shape) < 2:
        raise InputError(f"values must have at least 2 units × 2 systems, got shape {table.shape}")
    finite("values", table.ravel())
    return table
