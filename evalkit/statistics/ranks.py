"""Tests on ranks: Wilcoxon for two systems, Friedman and its critical difference for many.

They answer other questions than a mean does. Where skewed differences have the mean 0 Wilcoxon rejects, more surely
the more units there are; the mean rank of one system depends on which others are compared.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, finite

AT_ONCE = 2**16  # units that are ranked at once


@dataclass(frozen=True, eq=False)
class Ranked:
    """The mean ranks of systems over units, 1 the best, and two p-values that all systems rank alike."""

    means: Floats
    units: int
    friedman: float
    iman_davenport: float


def wilcoxon(differences: ArrayLike) -> float:
    """The p-value of Wilcoxon's signed-rank test of the differences; zeros are left out. It does not test a mean.

    Biometrics Bulletin 1945, doi:10.2307/3001968.

    >>> round(wilcoxon([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]), 7)
    0.0412598
    """
    from scipy import stats

    units = finite("differences", differences)
    if units.size == 0:
        raise InputError("differences must hold at least one unit, got none")
    return float(stats.wilcoxon(units).pvalue) if np.any(units != 0) else 1.0


def ranked(values: ArrayLike) -> Ranked:
    """Mean ranks of three systems or more, and two tests that all rank alike: units × systems in, the largest best.

    Friedman's χ², corrected for ties, JASA 1937, doi:10.1080/01621459.1937.10503522; and by Iman and Davenport's
    F, (n − 1) χ² / (n (k − 1) − χ²), which is less conservative, doi:10.1080/03610928008827904. NaN where every unit is
    tied. Raises InputError below three systems.

    >>> ranked([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).means
    array([1.  , 2.25, 2.75])
    """
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
