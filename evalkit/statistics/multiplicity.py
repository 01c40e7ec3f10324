"""Adjusted p-values of a family of tests."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, finite, ratio
from evalkit.statistics import signflip


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, which control the chance of any false rejection; NaN stays NaN and is not counted.

    Scandinavian Journal of Statistics 1979.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    return _stepwise(p_values, lambda p: np.maximum.accumulate(p * np.arange(p.size, 0, -1)))


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p-values: the expected share of false rejections; NaN stays NaN.

    Journal of the Royal Statistical Society B 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """

    def ordered(p: Floats) -> Floats:
        return np.minimum.accumulate((p * p.size / np.arange(1, p.size + 1))[::-1])[::-1]

    return _stepwise(p_values, ordered)


def unadjusted(p_values: ArrayLike) -> Floats:
    """The p-values as they are."""
    return np.array(p_values, float)


def max_t(differences: ArrayLike, *, rng: np.random.Generator, draws: int = 100_000) -> Floats:
    """Adjusted p-values of the mean of each column by joint sign flips of shared units: (n, m) in, (m,) out.

    Each draw flips a unit in all columns at once; a column's |Σ d| / √Σ d² is compared with the largest of the
    draw. It uses the correlation that Holm ignores. Raises InputError for a value that is not finite.
    Westfall and Young 1993; Boytsov, Belova, Westfall, CIKM 2013.

    >>> d = np.array([[1.0, -1.0], [2.0, 1.0], [3.0, -1.0], [1.0, 1.0], [2.0, -1.0], [2.0, 1.0]])
    >>> max_t(d, rng=np.random.default_rng(1)).round(2)
    array([0.06, 1.  ])
    """
    columns = np.asarray(differences, float)
    if columns.ndim != 2 or len(columns) == 0:
        raise InputError(f"differences must have units × comparisons, got shape {columns.shape}")
    finite("differences", columns.ravel())
    columns = columns[np.lexsort(columns.T)]  # the order of the units changes no draw
    scaled = ratio(columns, np.sqrt(np.sum(columns**2, axis=0)))
    scaled[np.isnan(scaled)] = 0.0  # a column of zeros: no draw is less extreme
    largest = np.sort(signflip.largest_sums(scaled, rng=rng, draws=draws))
    observed = np.abs(scaled.sum(axis=0)) * (1 - signflip.TIE) - signflip.TIE
    extreme = largest.size - np.searchsorted(largest, observed)
    return (1 + extreme) / (1 + largest.size)


def _stepwise(p_values: ArrayLike, ordered: Callable[[Floats], Floats]) -> Floats:
    """Adjust the p-values that exist in ascending order and put them back."""
    p = np.asarray(p_values, float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(p.shape, np.nan)
    out[order] = np.minimum(ordered(p[order]), 1.0)
    return out
