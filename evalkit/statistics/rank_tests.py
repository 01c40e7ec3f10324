"""Ranks of systems by unit: Wilcoxon's test for two, Friedman's with its critical difference and
Tukey's for many.

They answer other questions than a mean does. Where skewed differences have the mean 0 Wilcoxon
rejects, more surely the more units there are; the mean rank of one system depends on which others
are compared.
"""

from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, finite, normal_density, ratio
from evalkit.statistics import signflip
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.spread import bisect, checked_differences

UNITS_AT_ONCE = 2**16  # units that are ranked at once, to bound memory
# Up to so many units all signs are flipped here, for an exact p. scipy does the same if there are
# ties, by 2^n calls that take seconds.
MAX_FLIPPED_UNITS = 13
MAX_SCIPY_UNITS = 50  # scipy's p is exact up to so many, if there are no ties


@dataclass(frozen=True, eq=False)
class MeanRanks:
    """The mean rank of each system over units, 1 the best, (systems,), and the p-values of
    Friedman's and of Iman and Davenport's test that all systems rank alike.
    """

    means: Floats
    units: int
    friedman: float
    iman_davenport: float


def wilcoxon(differences: ArrayLike, alternative: Alternative = Alternative.TWO_SIDED) -> float:
    """The p-value of Wilcoxon's signed-rank test of differences, one per unit; zeros are left out.

    The null is a distribution that is symmetric around 0, not a mean of 0. Biometrics Bulletin
    1945, doi:10.2307/3001968.

    >>> round(wilcoxon([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]), 7)
    0.0412598
    """
    values = checked_differences(differences)
    nonzero = values[values != 0]
    if nonzero.size == 0:
        return 1.0
    # the number of units that decides on the method includes zeros, as in scipy
    if MAX_FLIPPED_UNITS < values.size <= MAX_SCIPY_UNITS:
        from scipy import stats

        return float(stats.wilcoxon(values, alternative=alternative.value).pvalue)
    import pandas as pd
    from scipy.special import ndtr

    sizes = pd.Series(np.abs(nonzero))
    signed_ranks = np.sign(nonzero) * sizes.rank().to_numpy()
    if values.size > MAX_SCIPY_UNITS:
        # under the null the sum is nearly normal, with the mean 0 and the variance Σ rank²
        z = signed_ranks.sum() / np.sqrt(signed_ranks @ signed_ranks)
        # `evidence` is how far z lies in the direction of the alternative, or in either direction
        one_sided_p = ndtr(-alternative.evidence(z))
        return float(len(alternative.signs) * one_sided_p)
    # The exact p: the share of all sign vectors whose sum is at least as far. `enumerated` gives
    # the sums of half of the vectors; the other half has the opposite sums.
    half = signflip.enumerated(signed_ranks)
    evidence = alternative.evidence(np.concatenate([half, -half]))
    observed_evidence = alternative.evidence(signed_ranks.sum())
    return float(np.mean(evidence >= observed_evidence))


def ranked(values: ArrayLike) -> MeanRanks:
    """The mean ranks of k ≥ 3 systems over n units, with two tests that all rank alike: (units,
    systems) in; in each unit the largest value has rank 1.

    Friedman's χ², corrected for ties, JASA 1937, doi:10.1080/01621459.1937.10503522; and Iman and
    Davenport's F, (n − 1) χ² / (n (k − 1) − χ²), which is less conservative,
    doi:10.1080/03610928008827904. NaN if every unit is tied. Raises InputError below three systems.

    >>> ranked([[0.9, 0.8, 0.8], [0.7, 0.6, 0.5]]).means
    array([1.  , 2.25, 2.75])
    """
    from scipy.special import chdtrc, fdtrc

    table = _unit_table(values)
    n, k = table.shape
    if k < 3:
        raise InputError(f"values must have at least 3 systems, got {k}")
    sums, variation = _rank_sums(table)
    deviations = sums - n * (k + 1) / 2
    squares = float(np.sum(deviations**2))
    chi_square = float(ratio((k - 1) * squares, variation))
    divisor = n * (k - 1) - chi_square  # of F
    if divisor <= 0:
        # Every unit ranks the systems in the same order: F is infinite. p is the exact probability
        # that n − 1 units by chance repeat the order of the first, one of k! (without ties).
        iman_davenport = float(factorial(k)) ** (1 - n)
    else:
        f = (n - 1) * chi_square / divisor
        second_freedom = (k - 1) * (n - 1)
        iman_davenport = float(fdtrc(k - 1, second_freedom, f))
    friedman = chdtrc(k - 1, chi_square)
    return MeanRanks(
        means=sums / n,
        units=n,
        friedman=float(friedman),
        iman_davenport=iman_davenport,
    )


class RankSums(NamedTuple):
    """The sum of each system's ranks over units, (systems,); and the variation of ranks within
    units, Σ (rank − mean rank)² over all units and systems, which ties lower.
    """

    by_system: Floats
    variation: float


def _rank_sums(table: Floats) -> RankSums:
    """The sum of each system's ranks over the units, and the variation of ranks within units: Σ
    (rank − mean rank)². In each unit the largest value has rank 1; tied systems have the mean of
    their ranks.

    table: the values, (units, systems).
    """
    import pandas as pd

    n, k = table.shape
    mean_rank = (k + 1) / 2
    sums = np.zeros(k)
    variation = 0.0
    for start in range(0, n, UNITS_AT_ONCE):
        block = pd.DataFrame(table[start : start + UNITS_AT_ONCE])
        ranks = block.rank(axis=1, ascending=False).to_numpy()
        deviations = ranks - mean_rank
        sums += ranks.sum(axis=0)
        variation += float(np.sum(deviations**2))
    return RankSums(sums, variation)


def critical_difference(systems: int, units: int, *, level: float = 0.95) -> float:
    """Nemenyi's critical difference q √(k (k + 1) / 6 n) of two mean ranks of k systems on n units,
    adjusted for all pairs; q is the quantile at `level` of the studentised range / √2.

    Demšar, Journal of Machine Learning Research 2006, section 3.2.2.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """

    def lies_below(width: float) -> bool:
        """True if a range is at most this width with a probability below `level`."""
        probability = _range_within(np.array([width]), systems)
        return bool(probability[0] < level)

    # a range of more than 2 · LARGEST_Z has hardly any probability
    quantile = bisect(lies_below, inside=0.0, outside=2 * LARGEST_Z).outside
    q = quantile / np.sqrt(2)
    variance = systems * (systems + 1) / (6 * units)  # of the difference of two mean ranks
    return float(q * np.sqrt(variance))


def blocked_tukey(values: ArrayLike) -> Floats:
    """Tukey's p-values of all pairs of k systems on the same n units, adjusted for all pairs:
    (n, k) in, a symmetric (k, k) matrix out, with ones on the diagonal.

    The residuals are those of a two-way table: values less the mean of their system and of their
    unit. A one-way table would leave the means of the units in the residuals, and the test would
    miss most paired differences. If all residuals are 0, p is 0 for systems that differ and NaN for
    equal ones, with numpy's warning of the division. Carterette, ACM TOIS 2012,
    doi:10.1145/2094072.2094076.
    """
    table = _unit_table(values)
    n, k = table.shape
    system_mean = table.mean(axis=0)
    unit_mean = table.mean(axis=1, keepdims=True)
    residual = table - system_mean - unit_mean + table.mean()
    freedom = (n - 1) * (k - 1)
    variance = float(np.sum(residual**2)) / freedom
    error = np.sqrt(variance / n)  # of a system's mean
    first, second = np.triu_indices(k, 1)  # the numbers of the systems of each pair
    difference = system_mean[first] - system_mean[second]
    q = np.abs(difference) / error
    p_values = studentised_range_beyond(q, k, freedom)
    p = np.ones((k, k))
    p[first, second] = p_values
    p[second, first] = p_values
    return p


# the numbers of trapezoids over the standard error and over z that leave an error below 1e-12
ERROR_NODES = 241
NORMAL_NODES = 201
LARGEST_Z = 8.5  # the integral over z stops here: the tail has a probability of 1e-17
NEGLIGIBLE = 1e-17  # probability of the standard errors that are left out on each side


def studentised_range_beyond(q: Floats, k: int, freedom: int) -> Floats:
    """The upper tail of the studentised range: the probability that the range of k standard normal
    variables, divided by an independent standard error with these degrees of freedom, exceeds each
    element of q.

    It is integrated by trapezoids over the logarithm of the standard error and over the largest
    variable: smooth functions that vanish at both ends, for which they converge faster than any
    power. scipy.stats.studentized_range takes 30 ms for each q.

    >>> studentised_range_beyond(np.array([0.0, 3.877]), k=3, freedom=10).round(3)
    array([1.  , 0.05])
    """
    from scipy.special import chdtri, gammaincinv, gammaln

    half = freedom / 2
    # the square of the error, times freedom, is χ², whose half is a gamma variable
    smallest_square = gammaincinv(half, NEGLIGIBLE) / half
    largest_square = chdtri(freedom, NEGLIGIBLE) / freedom
    lowest = 0.5 * np.log(smallest_square)
    highest = 0.5 * np.log(largest_square)
    log_error = np.linspace(lowest, highest, ERROR_NODES)
    step = log_error[1] - log_error[0]
    squares = freedom * np.exp(2 * log_error)  # of the error, as a χ² variable
    log_kernel = (half - 1) * np.log(squares) - squares / 2  # the density but for its constant
    log_density = log_kernel - gammaln(half) - np.log(2) * half
    # density of the log error: that of χ², times d(squares) / d(log error) = 2 squares
    error_weight = 2 * squares * np.exp(log_density) * step
    beyond = np.empty(len(q))
    # the range exceeds q · error: a row of these widths for each q
    for number, widths in enumerate(np.multiply.outer(q, np.exp(log_error))):
        beyond[number] = error_weight @ (1 - _range_within(widths, k))
    return np.clip(beyond, 0.0, 1.0)


def _range_within(widths: Floats, k: int) -> Floats:
    """The probability that the range of k independent standard normal variables, largest less
    smallest, is at most each width: shape (widths,) in and out.
    """
    from scipy.special import ndtr

    z = np.linspace(-LARGEST_Z, LARGEST_Z, NORMAL_NODES)  # of the largest variable
    density = normal_density(z)
    z_weight = density * (z[1] - z[0])
    # given the largest variable, all others lie within the width below it: widths × z
    one_within = ndtr(z) - ndtr(z - widths[:, None])
    all_within = one_within ** (k - 1)
    probability: Floats = k * all_within @ z_weight  # any of the k may be the largest
    return probability


def _unit_table(values: ArrayLike) -> Floats:
    """The values as an array, (units, systems). Raises InputError for another shape, or a value
    that is not finite.
    """
    table = np.asarray(values, float)
    if table.ndim != 2 or min(table.shape) < 2:
        raise InputError(f"values must have at least 2 units × 2 systems, got shape {table.shape}")
    finite("values", table.ravel())
    return table
