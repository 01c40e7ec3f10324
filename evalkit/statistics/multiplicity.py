"""Adjusted p-values of a family of tests: Holm, Benjamini and Hochberg.

The other ways to handle several tests stand in modules of their own, and are found here too:
`max_t` by joint sign flips, `interim` analyses, `rank_tests` and `rank_intervals` of many systems.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats
from evalkit.statistics.interim import (
    false_positive_rate as false_positive_rate,
    obrien_fleming as obrien_fleming,
    pocock as pocock,
)
from evalkit.statistics.max_t import max_t as max_t, max_t_of_sums as max_t_of_sums
from evalkit.statistics.rank_intervals import Ranks as Ranks, ranks as ranks, tiers as tiers
from evalkit.statistics.rank_tests import (
    MeanRanks as MeanRanks,
    blocked_tukey as blocked_tukey,
    critical_difference as critical_difference,
    ranked as ranked,
    wilcoxon as wilcoxon,
)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, which control the probability of any false rejection; NaN is not
    counted and stays.

    Scandinavian Journal of Statistics 1979.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """

    def step_down(p: Floats) -> Floats:
        """Holm's p-values of ascending ones."""
        not_smaller = np.arange(p.size, 0, -1)  # how many p-values are at least as large
        return np.maximum.accumulate(p * not_smaller)

    return _stepwise(p_values, step_down)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p-values, which control the expected share of false
    rejections; NaN stays.

    Journal of the Royal Statistical Society B 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """

    def step_up(p: Floats) -> Floats:
        """Benjamini and Hochberg's p-values of ascending ones."""
        rank = np.arange(1, p.size + 1)
        scaled = p * p.size / rank
        # the minimum over each scaled p-value and those after it
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _stepwise(p_values, step_up)


def unadjusted(p_values: ArrayLike) -> Floats:
    """The p-values unchanged."""
    return np.array(p_values, float)


def _stepwise(p_values: ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """The adjusted p-values, in the order of the given ones; NaN stays, and is not counted.

    adjust: ascending p-values -> the adjusted ones, which may exceed 1 and are cut to at most 1.
    """
    p = np.asarray(p_values, float)
    defined = np.flatnonzero(~np.isnan(p))
    rising = np.argsort(p[defined], kind="stable")
    order = defined[rising]
    adjusted = np.full(p.shape, np.nan)
    adjusted[order] = np.minimum(adjust(p[order]), 1.0)
    return adjusted
