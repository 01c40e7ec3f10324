"""The best or worst of several slices: which differ from the rest, and the value of one that was
picked because it is the highest.

The slices share no units, so that their values are independent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, finite, ratio
from evalkit.statistics.intervals import Estimate, check_level, normal_quantile
from evalkit.statistics.max_t import max_t_of_sums
from evalkit.statistics.spread import bisect

METHOD = "hybrid conditional"
PROJECTED = 0.1  # the share of α that the projection interval takes


def picked_p(p: ArrayLike, count: int) -> Floats:
    """The p-value of the smallest of `count` independent p-values: 1 − (1 − p)^count (Šidák).

    Raises InputError for a count below 1.

    >>> picked_p([0.009, 0.00049], 23).round(3).tolist()
    [0.188, 0.011]
    """
    if count < 1:
        raise InputError(f"count must be at least 1, got {count}")
    return np.asarray(-np.expm1(count * np.log1p(-np.asarray(p, float))))


class AgainstRest(NamedTuple):
    """Each slice beside the others. rest: the mean of the others by weight. error: of the
    difference. adjusted: its p-value, adjusted for all slices.
    """

    rest: Floats
    error: Floats
    adjusted: Floats


def against_rest(
    values: ArrayLike, errors: ArrayLike, weights: ArrayLike, *, rng: np.random.Generator
) -> AgainstRest:
    """Compare each of m independent values with the mean of the others, by weight: (m,) each.

    errors: the standard errors of the values. p by max-T (step-down) from normal draws with the
    correlation of the differences. Raises InputError for fewer than two values, or one that is not
    finite.

    >>> compared = against_rest([0.5, 0.6, 0.9], [0.1] * 3, [1, 1, 1], rng=np.random.default_rng(1))
    >>> compared.rest.round(2).tolist(), compared.adjusted.round(1).tolist()
    ([0.75, 0.7, 0.55], [0.1, 0.4, 0.0])
    """
    value = finite("values", values)
    variance = finite("errors", errors) ** 2
    weight = finite("weights", weights)
    if value.size < 2:
        raise InputError(f"values must hold at least two, got {value.size}")
    # row by row the weights of a difference: 1 of the slice, less the shares of the others
    others = np.tile(weight, (value.size, 1))
    np.fill_diagonal(others, 0.0)
    shares = ratio(others, others.sum(axis=1, keepdims=True))
    contrasts = np.eye(value.size) - shares
    covariance = (contrasts * variance) @ contrasts.T
    error = np.sqrt(np.diag(covariance))
    correlation = np.nan_to_num(ratio(covariance, np.outer(error, error)))
    z = np.nan_to_num(ratio(contrasts @ value, error))
    adjusted = max_t_of_sums(z, correlation, rng=rng)
    return AgainstRest(shares @ value, error, adjusted)


def highest(values: ArrayLike, errors: ArrayLike, *, level: float = 0.95) -> Estimate:
    """The true value of the one of m independent values that is the highest, corrected for having
    been picked: median-unbiased, with an interval. n: m.

    The highest value is normal, given the second highest, above it; the true value is where the
    observed one is the median of this distribution. The hybrid interval also lies in the one that
    holds for all values together, at a tenth of α. For the lowest, negate values and result.
    Andrews, Kitagawa and McCloskey 2024, doi:10.1093/qje/qjad043. Raises InputError for fewer than
    two values or an error that is not above 0, ParameterError unless 0 < level < 1.

    >>> str(highest([0.90, 0.60, 0.50], [0.05] * 3)), str(highest([0.61, 0.60, 0.59], [0.05] * 3))
    ('0.90 [0.80, 1.00]', '0.51 [0.44, 0.69]')
    """
    check_level(level)
    value = finite("values", values)
    error = finite("errors", errors)
    if value.size < 2 or not (error > 0).all():
        raise InputError("values must hold at least two, with errors above 0")
    first = int(value.argmax())
    scale = float(error[first])
    top = float(value[first])
    second = float(np.delete(value, first).max())
    alpha = 1 - level
    level_of_each = (1 - PROJECTED * alpha) ** (1 / value.size)
    reach = normal_quantile(level_of_each) * scale
    tail = alpha * (1 - PROJECTED) / (1 - PROJECTED * alpha) / 2

    def true_value(share: float) -> float:
        """The true value of which the observed one is this quantile."""

        def is_lower(tested: float) -> bool:
            """True if the true value lies above the tested one."""
            low = max(second, tested - reach)
            return _share_below(top, tested, scale, low, tested + reach) > share

        return bisect(is_lower, inside=top - reach, outside=top + reach).inside

    low, middle, high = (true_value(share) for share in (1 - tail, 0.5, tail))
    return Estimate(middle, low, high, level, value.size, METHOD)


def _share_below(x: float, mean: float, scale: float, low: float, high: float) -> float:
    """The probability of at most x, of a normal distribution cut to the range from low to high."""
    from scipy.special import ndtr

    below = ndtr((low - mean) / scale)
    inside = ndtr((high - mean) / scale) - below
    if inside <= 0:
        return 1.0
    return float(np.clip((ndtr((x - mean) / scale) - below) / inside, 0.0, 1.0))
