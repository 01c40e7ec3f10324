"""Tests on ranks: Wilcoxon for two systems, Friedman and its critical difference for many.

They answer other questions than a mean does. Where skewed differences have the mean 0 Wilcoxon rejects, more surely
the more units there are; the mean rank of one system depends on which others are compared.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, finite
from evalkit.statistics.intervals import Estimate, normal_quantile
from evalkit.statistics.significance import Comparison, agree, compare
from evalkit.statistics.spread import bisect

EXACT = 50  # units up to which scipy takes the exact distribution
HODGES = "Hodges–Lehmann"
AT_ONCE = 2**16  # units that are ranked at once


@dataclass(frozen=True, eq=False)
class Ranked:
    """The mean ranks of systems over units, 1 the best, and two p-values that all systems rank alike."""

    means: Floats
    units: int
    friedman: float
    iman_davenport: float


def wilcoxon(differences: ArrayLike, *, level: float = 0.95, unit: str = "query") -> Comparison:
    """The pseudo-median of the differences by Wilcoxon's signed-rank test; zeros are left out of the test.

    It does not test a mean. The difference is the Hodges–Lehmann estimate, the median of the means of all pairs. Its
    interval inverts the exact test where p is exact (at most 50 units, without zeros and ties), elsewhere the normal
    approximation. Biometrics Bulletin 1945, doi:10.2307/3001968.

    >>> c = wilcoxon([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
    >>> round(c.p_value, 7), c.difference.value, round(c.difference.low, 9)
    (0.0412598, 25.0, 4.0)
    """
    units = np.sort(finite("differences", differences))
    p, sizes = wilcoxon_p(units), np.abs(units)
    exact = units.size <= EXACT and sizes.min() > 0 and np.unique(sizes).size == units.size
    pairs = units.size * (units.size + 1) / 2
    value = (_pair_mean(units, np.ceil(pairs / 2)) + _pair_mean(units, np.floor(pairs / 2) + 1)) / 2

    def interval(level: float) -> Estimate:
        low = _exact_rank(units.size, level) if exact else _normal_rank(units.size, level)
        limits = (_pair_mean(units, low), _pair_mean(units, pairs + 1 - low)) if low >= 1 else (-np.inf, np.inf)
        return Estimate(value, *(agree(value, limits, p, level) if value else limits), level, units.size, HODGES)

    return compare(interval, p, level=level, unit=unit, method="Wilcoxon signed rank (not of a mean)")


def wilcoxon_p(differences: ArrayLike) -> float:
    """The p-value of `wilcoxon` alone; the limits of an interval of many units take most of its time.

    >>> round(wilcoxon_p([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]), 7)
    0.0412598
    """
    from scipy import stats

    units = finite("differences", differences)
    if units.size == 0:
        raise InputError("differences must hold at least one unit, got none")
    return float(stats.wilcoxon(units).pvalue) if np.any(units != 0) else 1.0


def _normal_rank(n: int, level: float) -> float:
    """The rank of the mean of two units that is the lower limit, by the normal approximation."""
    return float(np.floor(n * (n + 1) / 4 - normal_quantile(level) * np.sqrt(n * (n + 1) * (2 * n + 1) / 24)))


def _exact_rank(n: int, level: float) -> float:
    """The same by the exact distribution of the rank sum: so many sums are each so rare that the test rejects."""
    chance = np.ones(1)
    for rank in range(1, n + 1):
        chance = (np.append(chance, np.zeros(rank)) + np.append(np.zeros(rank), chance)) / 2
    tail = np.minimum(2 * np.cumsum(chance), 1.0)
    return float(np.searchsorted(tail, round(1 - level, 12) * (1 - 1e-12)))


def mean_ranks(values: ArrayLike) -> Floats:
    """The mean rank of each system over the units, 1 the best (largest), ties shared: units × systems in.

    >>> mean_ranks([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]])
    array([1.  , 2.25, 2.75])
    """
    sums, _, n = _ranks(values)
    return sums / n


def friedman(values: ArrayLike) -> float:
    """The p-value of Friedman's χ² test, corrected for ties, that all systems rank alike: units × systems in.

    NaN where every unit is tied. Raises InputError below three systems. JASA 1937, doi:10.1080/01621459.1937.10503522.
    """
    return ranked(values).friedman


def iman_davenport(values: ArrayLike) -> float:
    """The p-value of Friedman's test by Iman and Davenport's F, (n − 1) χ² / (n (k − 1) − χ²); less conservative.

    Communications in Statistics 1980, doi:10.1080/03610928008827904.
    """
    return ranked(values).iman_davenport


def ranked(values: ArrayLike) -> Ranked:
    """Mean ranks of three systems or more, and both tests."""
    from scipy.special import chdtrc, fdtrc

    sums, ties, n = _ranks(values)
    k = len(sums)
    if k < 3:
        raise InputError(f"values must have at least 3 systems, got {k}")
    left = 1 - ties / (k * (k * k - 1) * n)
    spread = 12 / (k * n * (k + 1)) * float(np.sum((sums - n * (k + 1) / 2) ** 2))
    statistic = spread / left if left > 0 else np.nan
    rest = n * (k - 1) - statistic
    if rest <= 0:
        iman = float(factorial(k)) ** (1 - n)  # every unit ranks the systems alike: F is infinite, this chance is not 0
    else:
        iman = float(fdtrc(k - 1, (k - 1) * (n - 1), (n - 1) * statistic / rest))
    return Ranked(sums / n, n, float(chdtrc(k - 1, statistic)), iman)


def _ranks(values: ArrayLike) -> tuple[Floats, float, int]:
    """The sum of each system's ranks, the sum of t³ − t over ties of t, and the units; some units at a time."""
    from scipy.stats import rankdata

    table = _table(values)
    sums, ties = np.zeros(table.shape[1]), 0.0
    for start in range(0, len(table), AT_ONCE):
        some = -table[start : start + AT_ONCE]
        low, high = (rankdata(some, method, axis=1) for method in ("min", "max"))
        sums += (low + high).sum(axis=0) / 2
        ties += float(np.sum((high - low + 1.0) ** 2 - 1))
    return sums, ties, len(table)


def critical_difference(systems: int, units: int, *, level: float = 0.95) -> float:
    """Nemenyi's critical difference of two mean ranks, q √(k (k + 1) / 6 n), q the studentised range / √2.

    Demšar, Journal of Machine Learning Research 2006, section 3.2.2.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = studentized_range.ppf(level, systems, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(systems * (systems + 1) / (6 * units)))


def blocked_tukey(values: ArrayLike) -> Floats:
    """Tukey's p-values of all pairs of systems on the same units: units × systems in, a square matrix out.

    The unit's own level is taken out first; without that (one-way) the test is blind to most paired differences.
    Carterette, ACM TOIS 2012, doi:10.1145/2094072.2094076.
    """
    from scipy.stats import studentized_range

    table = _table(values)
    n = len(table)
    mean = table.mean(axis=0)
    residual = table - mean - table.mean(axis=1, keepdims=True) + table.mean()
    k = len(mean)
    freedom = (n - 1) * (k - 1)
    error = np.sqrt(float(np.sum(residual**2)) / freedom / n)
    first, second = np.triu_indices(k, 1)  # each pair once: an integral takes 30 ms
    p = np.ones((k, k))
    p[first, second] = p[second, first] = studentized_range.sf(np.abs(mean[first] - mean[second]) / error, k, freedom)
    return p


def _table(values: ArrayLike) -> Floats:
    table = np.asarray(values, float)
    if table.ndim != 2 or min(table.shape) < 2:
        raise InputError(f"values must have at least 2 units × 2 systems, got shape {table.shape}")
    finite("values", table.ravel())
    return table


def _pair_mean(ordered: Floats, rank: float) -> float:
    """The rank-th smallest of the n (n + 1) / 2 means of pairs i ≤ j, by counting them, not listing them."""
    if _pairs_up_to(ordered, ordered[0]) >= rank:
        return float(ordered[0])
    return bisect(lambda mean: _pairs_up_to(ordered, mean) < rank, ordered[0], ordered[-1], steps=100)[1]


def _pairs_up_to(ordered: Floats, mean: float) -> float:
    """How many pairs i ≤ j have a mean of at most `mean`."""
    below = np.searchsorted(ordered, 2 * mean - ordered, side="right")
    return (below.sum() + np.sum(ordered <= mean)) / 2
