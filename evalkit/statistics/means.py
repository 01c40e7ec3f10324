"""Intervals of means of skewed values in closed form, for values within a range and for values without bounds."""

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, finite, ratio
from evalkit.statistics.intervals import Estimate, check_level, t_interval, wilson
from evalkit.statistics.spread import Spread, standard_error

HALL = "t, corrected for skewness"
CERTAIN = "t, corrected for skewness, with Wilson's limits for predictions that are certain"
SURE = "paired t, with Wilson's limits for predictions that are certain"
EFFECTIVE = "Wilson, effective sample size"
ROUNDING = 1e-12
BEND, SLOPE = 0.5, 0.3  # below BEND the cube root in the inverse of Hall's g goes on as a line with this slope
ANY = (-np.inf, np.inf)  # the range of values that may be anything


def mean(values: ArrayLike, *, level: float = 0.95, ends: tuple[float, float] = ANY) -> Estimate:
    """The mean of the units: Wilson's interval where each is 0 or 1, else by `of_moments`.

    ends: the bounds of the values. The limits are NaN below two units. Raises InputError for a value that is not
    finite.

    >>> mean([0, 1, 1, 1]).method, mean([0, 1, 2, 3]).method, mean([0.2, 0.4], ends=(0, 1)).method
    ('Wilson', 't, corrected for skewness', 'Wilson, effective sample size')
    """
    units = finite("values", values)
    if units.size and ((units == 0) | (units == 1)).all():
        return wilson(int(units.sum()), units.size, level=level)
    value = float(ratio(units.sum(), units.size))
    spread = Spread.of((units - value) / max(units.size, 1))
    return of_moments(value, spread.error, spread.skewness, n=units.size, level=level, ends=ends)


def of_moments(
    value: float, error: float, skew: float, *, n: int, level: float, ends: tuple[float, float] = ANY
) -> Estimate:
    """The mean of n units from its standard error and their skewness: `bounded` between two ends, else `hall`."""
    if np.isfinite(ends[1] - ends[0]):
        return bounded(value, error, skew, n=n, level=level, ends=ends)
    return hall(value, error, skew, n=n, level=level)


def mean_of_losses(
    values: ArrayLike, *, worst: float, level: float = 0.95, ends: tuple[float, float] = ANY
) -> Estimate:
    """`mean` of losses whose largest value, the loss of a certain prediction that is wrong, is very large.

    Few units or none have the largest loss. Its share is taken among the units predicted with certainty, which have
    either no loss or the largest one; Wilson's limits of this share are combined with those of the others by MOVER.

    >>> e = mean_of_losses([0, 0, 0, 1, 1, 2, 1, 2], worst=36.0)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.875, 0.22, 8.492)
    """
    units = finite("values", values)
    wrong, sure = certain(units, worst)
    rest = mean(np.where(wrong, 0.0, units), level=level, ends=ends)
    if not sure.any():
        return rest
    share, times = wilson(int(wrong.sum()), int(sure.sum()), level=level), worst * float(sure.mean())
    value = rest.value + times * share.value
    low = value - np.hypot(rest.value - rest.low, times * (share.value - share.low))
    high = value + np.hypot(rest.high - rest.value, times * (share.high - share.value))
    return Estimate(value, float(low), float(high), level, units.size, CERTAIN)


def certain(units: Floats, worst: float) -> tuple[Bools, Bools]:
    """The units predicted with certainty that are wrong, and all of them; none where no loss is that large."""
    wrong = units >= worst * (1 - ROUNDING)
    return wrong, (wrong | (units <= ROUNDING)) & np.isfinite(worst)


def certain_alone(first: Floats, second: Floats, worst: float) -> list[tuple[Bools, Bools]]:
    """Of each of two systems on the same units `certain`, without those of which the other says the same."""
    (wrong, sure), (other, too) = certain(first, worst), certain(second, worst)
    alike = sure & too & (wrong == other)
    return [(wrong, sure & ~alike), (other, too & ~alike)]


def difference_of_losses(first: Floats, second: Floats, worst: float, *, level: float) -> Estimate:
    """The difference of two mean losses of the same units, with the same allowance for predictions that are certain.

    To t of the other losses MOVER adds Wilson's limits of the share that is wrong where only one system is certain.

    >>> e = difference_of_losses(np.array([0.01, 0.02, 0.01, 0.5]), np.array([0, 0, 0, 0.5]), 36.0, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.01, -15.15, 0.023)
    """
    n, sides = first.size, certain_alone(first, second, worst)
    rest = np.where(sides[0][0], 0.0, first) - np.where(sides[1][0], 0.0, second)
    e = t_interval(float(rest.mean()), standard_error(rest - rest.mean()), n=n, level=level, method=SURE)
    value, below, above = e.value, (e.value - e.low) ** 2, (e.high - e.value) ** 2
    value += worst / n * (int(sides[0][0].sum()) - int(sides[1][0].sum()))
    for sign, (wrong, alone) in zip((1, -1), sides, strict=True):
        if alone.any():
            share, times = (
                wilson(int((wrong & alone).sum()), int(alone.sum()), level=level),
                worst * float(alone.mean()),
            )
            down, up = (times * (share.value - share.low), times * (share.high - share.value))[::sign]
            below, above = below + down**2, above + up**2
    return Estimate(value, value - float(np.sqrt(below)), value + float(np.sqrt(above)), level, n, SURE)


def bounded(
    value: float, error: float, skew: float, *, n: int, level: float, ends: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """A mean of n units within a range, with Wilson's interval of the effective sample size.

    The effective sample size is the number of zeros and ones whose share would have the same variance (Korn and
    Graubard, Survey Methodology 1998). One unit of the largest variance that the mean allows is added, because a few
    units may be alike by chance. The quantile is that of t on the degrees of freedom of `hall`. The interval has a
    width even if all units are equal.

    >>> e = bounded(0.8, 0.02, -1.0, n=25, level=0.95)
    >>> round(e.low, 3), round(e.high, 3)
    (0.742, 0.848)
    >>> bounded(1.0, 0.0, 0.0, n=25, level=0.95).low == wilson(25, 25).low
    True
    """
    check_level(level)
    low, width = ends[0], ends[1] - ends[0]
    if n < 2:
        return Estimate(float(value), np.nan, np.nan, level, int(n), EFFECTIVE)
    share = (value - low) / width
    if share * (1 - share) <= 0:
        e = wilson(n * float(np.clip(share, 0, 1)), n, level=level)
        bottom, top, method = e.low, e.high, e.method
    else:
        middle = (share * n + 1) / (n + 2)
        variance = (n * (n - 1) * (error / width) ** 2 + middle * (1 - middle)) / n  # of the units, one more among them
        bottom, top = _score(share, n * share * (1 - share) / variance, _quantile(skew, n, level))
        method = EFFECTIVE
    return Estimate(float(value), float(low + width * bottom), float(low + width * top), level, int(n), method)


def _score(share: float, n: float, q: float) -> tuple[float, float]:
    """Wilson's limits of a share of n units."""
    middle = (share + q * q / (2 * n)) / (1 + q * q / n)
    half = q / (1 + q * q / n) * np.sqrt(share * (1 - share) / n + (q / (2 * n)) ** 2)
    return middle - half, middle + half


def _quantile(skew: float, n: int, level: float) -> float:
    """The quantile of t, with degrees of freedom reduced for skewness; see `hall`."""
    from scipy.special import stdtrit

    freedom = np.clip(ratio(2 * n, skew**2), 1, n - 1) if skew else n - 1
    return float(stdtrit(freedom, (1 + level) / 2))


def mean_of_counts(values: ArrayLike, rows: ArrayLike, *, level: float = 0.95) -> Estimate:
    """`mean` of values with the number of times that each occurs.

    >>> counted, alone = mean_of_counts([0, 1, 5], [90, 7, 3]), mean([0] * 90 + [1] * 7 + [5] * 3)
    >>> round(counted.low, 12) == round(alone.low, 12), round(counted.high, 6)
    (True, 0.614065)
    """
    each, times = finite("values", values), finite("rows", rows)
    each, times, n = each[times > 0], times[times > 0], float(times.sum())
    if ((each == 0) | (each == 1)).all():
        return wilson(float(times @ each), n, level=level)
    value = float(times @ each) / n
    spread = Spread.of((each - value) / n, times=times)
    return hall(value, spread.error, spread.skewness, n=int(n), level=level)


def hall(value: float, error: float, skew: float, *, n: int, level: float, method: str = HALL) -> Estimate:
    """A mean of n units by Hall's cubic transformation of t.

    For skewed values T = (mean − μ) / standard error is skewed, but g(T) = T + γ (T² / 3 + 1 / 6) / √n + γ² T³ / 27 n
    is nearly symmetric. g is increasing, so its inverse at the quantiles of t gives the limits. γ is the skewness of
    the units; with γ = 0 this is Student's interval. The degrees of freedom are the smaller of n − 1 and 2 n / γ²: that
    is `Spread.freedom` at the smallest kurtosis that a skewness of γ allows, γ² + 1.
    Hall, JRSS B 1992, doi:10.1111/j.2517-6161.1992.tb01876.x.

    >>> e = hall(1.0, 0.1, 2.0, n=25, level=0.95)
    >>> round(e.low, 3), round(e.high, 3)
    (0.831, 1.386)
    """
    check_level(level)
    if n < 2:
        return Estimate(float(value), np.nan, np.nan, level, int(n), method)
    q = _quantile(skew, n, level)
    low, high = (value - error * _untransformed(at, skew, n) for at in (q, -q))
    return Estimate(float(value), float(low), float(high), level, int(n), method)


def _untransformed(q: float, skew: float, n: int) -> float:
    """The T at which g(T) is q: 3 √n / γ ((1 + γ u)^(1/3) − 1) with u = q / √n − γ / 6 n, without its cancellation.

    A cube root falls ever faster towards 0, and with it the limit runs away, in few samples and far. Below BEND the
    root goes on as a straight line, down to 0.
    """
    u = q / np.sqrt(n) - skew / (6 * n)
    cube = 1 + skew * u
    root = np.cbrt(cube) if cube > BEND**3 else max(BEND - SLOPE * (BEND**3 - cube), 0.0)
    return float(3 * np.sqrt(n) * u / (root**2 + root + 1))
