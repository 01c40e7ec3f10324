"""Intervals of means of skewed values: a closed form where t alone is too short."""

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, finite, ratio
from evalkit.statistics.intervals import Estimate, check_level, standard_error, wilson

HALL = "t, corrected for skewness"
CERTAIN = "t, corrected for skewness, with Wilson's limits for predictions that are certain"
ROUNDING = 1e-12


def mean(values: ArrayLike, *, level: float = 0.95) -> Estimate:
    """The mean of the units: Wilson's interval where each is 0 or 1, else t corrected for skewness.

    The limits are NaN below two units. Raises InputError for a value that is not finite.

    >>> mean([0, 1, 1, 1]).method, mean([0, 1, 2, 3]).method
    ('Wilson', 't, corrected for skewness')
    """
    units = finite("values", values)
    if units.size and ((units == 0) | (units == 1)).all():
        return wilson(int(units.sum()), units.size, level=level)
    value = float(ratio(units.sum(), units.size))
    spread = units - value
    return hall(value, standard_error(spread), skewness(spread), n=units.size, level=level)


def mean_with_ends(values: ArrayLike, *, worst: float, level: float = 0.95) -> Estimate:
    """The mean of losses of which the worst, that of a certain prediction that is wrong, is very large.

    Few units, or none, have it, and their share among those predicted with certainty (with no loss, or this one) says
    how many there may be: Wilson's limits of it are added to those of the others by MOVER.

    >>> e = mean_with_ends([0, 0, 0, 1, 1, 2, 1, 2], worst=36.0)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.875, 0.22, 8.492)
    """
    units = finite("values", values)
    wrong = units >= worst * (1 - ROUNDING)
    certain = int(np.sum(wrong | (units <= ROUNDING))) if np.isfinite(worst) else 0
    rest = mean(np.where(wrong, 0.0, units), level=level)
    if not certain:
        return rest
    share, times = wilson(int(wrong.sum()), certain, level=level), worst * certain / units.size
    value = rest.value + times * share.value
    low = value - np.hypot(rest.value - rest.low, times * (share.value - share.low))
    high = value + np.hypot(rest.high - rest.value, times * (share.high - share.value))
    return Estimate(value, float(low), float(high), level, units.size, CERTAIN)


def mean_of_counts(values: ArrayLike, rows: ArrayLike, *, level: float = 0.95) -> Estimate:
    """`mean` of values of which each comes so many times.

    >>> counted, alone = mean_of_counts([0, 1, 5], [90, 7, 3]), mean([0] * 90 + [1] * 7 + [5] * 3)
    >>> round(counted.low, 12) == round(alone.low, 12), round(counted.high, 6)
    (True, 1.054424)
    """
    each, times = finite("values", values), finite("rows", rows)
    each, times, n = each[times > 0], times[times > 0], float(times.sum())
    if ((each == 0) | (each == 1)).all():
        return wilson(float(times @ each), n, level=level)
    value = float(times @ each) / n
    square, cube = (float(times @ (each - value) ** power) / n for power in (2, 3))
    error, skew = float(np.sqrt(ratio(square, n - 1))), float(np.nan_to_num(ratio(cube, square**1.5)))
    return hall(value, error, skew, n=int(n), level=level)


def skewness(spread: Floats) -> float:
    """The mean cube over the cubed root mean square of values less their mean; 0 where nothing varies.

    >>> round(skewness(np.array([-1.0, -1.0, 2.0])), 4)
    0.7071
    """
    far = np.abs(spread).max(initial=0.0)
    if far == 0:
        return 0.0
    z = spread / far  # whatever the values are counted in, no power of them is too large or too small
    return float(np.mean(z**3) / np.mean(z**2) ** 1.5)


def hall(value: float, error: float, skew: float, *, n: int, level: float, method: str = HALL) -> Estimate:
    """A mean of n units by Hall's cubic transformation of t.

    g(T) = T + γ (T² / 3 + 1 / 6) / √n + γ² T³ / 27 n is nearly symmetric where T is not; it rises, so its inverse gives
    the limits. Of symmetric values (skew 0) it is Student's interval. Hall, JRSS B 1992,
    doi:10.1111/j.2517-6161.1992.tb01876.x. The quantiles are those of t on n − 1 degrees of freedom, or on 2 n / γ²
    where few units carry the variance: `intervals.freedom_left` with the least kurtosis that goes with γ, γ² + 1.

    >>> e = hall(1.0, 0.1, 2.0, n=25, level=0.95)
    >>> round(e.low, 3), round(e.high, 3)
    (0.831, 1.395)
    """
    from scipy.special import stdtrit

    check_level(level)
    if n < 2:
        return Estimate(float(value), np.nan, np.nan, level, int(n), method)
    freedom = np.clip(ratio(2 * n, skew**2), 1, n - 1) if skew else n - 1
    q = float(stdtrit(freedom, (1 + level) / 2))
    low, high = (value - error * _untransformed(at, skew, n) for at in (q, -q))
    return Estimate(float(value), float(low), float(high), level, int(n), method)


def _untransformed(q: float, skew: float, n: int) -> float:
    """The T at which g(T) is q: 3 √n / γ ((1 + γ u)^(1/3) − 1) with u = q / √n − γ / 6 n, without its cancellation."""
    u = q / np.sqrt(n) - skew / (6 * n)
    root = np.cbrt(1 + skew * u)
    return float(3 * np.sqrt(n) * u / (root**2 + root + 1))
