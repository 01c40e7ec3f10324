"""Effect sizes, the power of a test, the minimum detectable difference and the required sample
size.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import InputError, ParameterError, finite, ratio, same_length
from evalkit.statistics.intervals import (
    check_level,
    normal_quantile,
    one_sided_normal_quantile,
    t_quantile,
)
from evalkit.statistics.spread import bisect


def paired_power(difference: float, sd: float, n: float, *, level: float = 0.95) -> float:
    """The power of a paired t-test of n units: the probability that the two-sided test at
    α = 1 − level rejects with the sign of the true `difference`.

    sd: the standard deviation of the paired differences. NaN below two units.

    >>> round(paired_power(0.5, 1, 34), 4)
    0.8078
    """
    return _power(difference, sd, n, n - 1, level)


def independent_power(difference: float, sd: float, n: float, *, level: float = 0.95) -> float:
    """The power of a t-test of two independent groups of n units each, as `paired_power`; sd: the
    standard deviation in each group.

    >>> round(independent_power(1, 1, 20), 7)
    0.8689528
    """
    # the variance of the difference of two means is 2 sd² / n
    return _power(difference, sd * np.sqrt(2.0), n, 2 * n - 2, level)


def minimum_detectable(
    sd: float,
    n: float,
    *,
    level: float = 0.95,
    power: float = 0.8,
    grows: float = 0.0,
    bends: float = 0.0,
) -> float:
    """The smallest true difference that a paired t-test of n units detects with this power.

    sd: the standard deviation (n − 1) of the paired differences if the true difference is 0. grows,
    bends: at a true difference d > 0 their variance is sd² + `grows` · d + `bends` · d². NaN below
    two units, or if no difference is detectable; 0 if sd and `grows` are 0.

    >>> round(minimum_detectable(1.0, 34), 4)
    0.495
    """
    _check(sd, power, level)
    if not n >= 2 or np.isnan(sd):
        return np.nan
    effect = _detectable_effect(n, level, power)  # in standard deviations
    # The detectable d satisfies d = effect · √(sd² + grows d + bends d²). Both sides squared, d is
    # the larger root of lead d² − 2 half d − last = 0.
    lead = 1 - bends * effect**2
    half = grows * effect**2 / 2
    last = (sd * effect) ** 2
    if not lead > 0:  # effect · the standard deviation grows faster than the difference
        return np.nan
    root = np.sqrt(half**2 + lead * last)
    return float((half + root) / lead)


@lru_cache(maxsize=256)
def _detectable_effect(n: float, level: float, power: float) -> float:
    """The true difference, in standard deviations, that a paired t-test of n units detects with
    this power. Cached, because many pairs of systems have the same n.
    """

    def excess_power(effect: float) -> float:
        """By how much the power at this difference exceeds the wished one."""
        return paired_power(effect, 1.0, n, level=level) - power

    return _root(excess_power, low=0.0, high=1.0)


def detectable_share(
    base: float, n: float, m: float, *, level: float = 0.95, power: float = 0.8
) -> float:
    """The smallest true difference of two shares, `base` in an arm of m units and base + difference
    in one of n, that the score test detects with this power.

    The difference is taken towards ½, where the variance is larger: a difference of the same size
    in the other direction is then detected too. NaN if even the largest difference would not be
    detected. Fleiss, Levin, Paik 2003, section 4.2, solve the same equation for n, without
    continuity correction.

    >>> round(detectable_share(0.1, 500, 500), 4)
    0.0595
    """
    _check(0.0, power, level)
    z = normal_quantile(level)
    z_power = one_sided_normal_quantile(power)
    base = min(base, 1 - base)  # at most ½, so that towards ½ is upwards
    base_variance = base * (1 - base)
    if not min(n, m) > 0 or np.isnan(base):
        return np.nan

    def excess(difference: float) -> float:
        """Difference − (z · error under the null + z_power · error under the alternative): 0 if the
        test detects the difference with just this power, above 0 if with more.
        """
        other_share = base + difference
        pooled = (n * other_share + m * base) / (n + m)
        null_variance = pooled * (1 - pooled) * (1 / n + 1 / m)
        variance = other_share * (1 - other_share) / n + base_variance / m
        detectable = z * np.sqrt(null_variance) + z_power * np.sqrt(variance)
        return float(difference - detectable)

    largest_difference = 1 - base
    if excess(largest_difference) < 0:  # not even this one is detected
        return np.nan
    return _root(excess, low=0.0, high=largest_difference)


def detectable_lift(
    mean: float, sd: float, n: float, m: float, *, level: float = 0.95, power: float = 0.8
) -> float:
    """The smallest detectable difference from a mean above 0 if the effect multiplies each value of
    the n units of one arm by the same factor.

    mean, sd: of the m units of the other arm. Such an effect does not change sd / mean, and so not
    the standard error of the log of the ratio of both means, sd / mean · √(1 / n + 1 / m). The
    detectable ratio is exp(z · this error), with the z of level plus that of power.

    >>> round(detectable_lift(1.0, 2.0, 1000, 1000), 4)  # 0.2506 if the spread stayed
    0.2848
    """
    _check(sd, power, level)
    z = normal_quantile(level) + one_sided_normal_quantile(power)
    log_error = ratio(sd, mean) * np.sqrt(1 / n + 1 / m)
    log_ratio = z * log_error
    return float(mean * np.expm1(log_ratio))


def required_n(difference: float, sd: float, *, level: float = 0.95, power: float = 0.8) -> float:
    """The number of units, not rounded, with which a paired t-test detects the true `difference`
    with this power; at least 2. sd: as in `paired_power`.

    >>> round(required_n(0.5, 1), 2)
    33.37
    """
    return _required(paired_power, difference, sd, level, power)


def required_n_independent(
    difference: float, sd: float, *, level: float = 0.95, power: float = 0.8
) -> float:
    """The number of units in each of two independent groups, not rounded, with which a t-test
    detects the true `difference` with this power; at least 2. sd: as in `independent_power`.

    >>> round(required_n_independent(1, 1, power=0.9), 4)
    22.0211
    """
    return _required(independent_power, difference, sd, level, power)


def _required(
    power_of: Callable[..., float], difference: float, sd: float, level: float, power: float
) -> float:
    """The number of units, not rounded and at least 2, from which on a test has this power.

    power_of: the power of the test as a function of (difference, sd, n, level). difference: the
    true one. sd: the standard deviation, as `power_of` takes it. Raises ParameterError for a
    difference of 0, which no number of units detects, or one that is not finite.
    """
    if difference == 0 or not np.isfinite(difference):
        raise ParameterError(f"difference must be finite and not 0, got {difference}")
    _check(sd, power, level)

    def excess_power(n: float) -> float:
        """By how much the power with n units exceeds the wished one."""
        return power_of(difference, sd, n, level=level) - power

    return _root(excess_power, low=2.0, high=4.0)


def _power(difference: float, sd: float, n: float, freedom: float, level: float) -> float:
    """The power of a two-sided t-test, without rejections of the wrong sign: the upper tail of the
    noncentral t beyond the critical value.

    difference: the true one. n: the number of units of one group. sd: √n times the standard error
    of the difference. freedom: the degrees of freedom of the test. NaN for n below 2.
    """
    from scipy.special import nctdtr

    check_level(level)
    if not n >= 2:
        return np.nan
    noncentrality = LARGEST_NONCENTRALITY  # without a spread any difference is found
    if sd > 0:
        effect = abs(difference) / sd
        noncentrality = min(effect * np.sqrt(n), LARGEST_NONCENTRALITY)
    critical = t_quantile(level, freedom)
    return float(1 - nctdtr(freedom, noncentrality, critical))


LARGEST_NONCENTRALITY = 1e3  # noncentrality of t, from which on the power is 1


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """The x above `low` at which a rising function reaches 0, by bisection; `high` is doubled until
    the function is above 0 there. If it is above 0 at `low`, the result is `low`.
    """
    while rising(high) < 0:
        low = high
        high = 2 * high

    def lies_below_root(x: float) -> bool:
        """True if the function is below 0 at x."""
        return rising(x) < 0

    return bisect(lies_below_root, inside=low, outside=high).outside


def _check(sd: float, power: float, level: float) -> None:
    """Raise InputError if sd < 0, ParameterError unless 0 < 1 − level < power < 1."""
    check_level(level)
    if sd < 0:
        raise InputError(f"sd must be at least 0, got {sd}")
    if not 1 - level < power < 1:
        raise ParameterError(f"power must lie between 1 - level and 1, got {power}")


@dataclass(frozen=True)
class Effect:
    """Effect sizes of first − second on the same units.

    difference: the mean difference. relative: mean difference / |mean of the second|; standardised:
    Cohen's d_z, mean / standard deviation of the differences; superiority: P(first > second) + ½
    P(equal); wins, ties, losses of the first.
    """

    difference: float
    relative: float
    standardised: float
    superiority: float
    wins: int
    ties: int
    losses: int


def effect(first: ArrayLike, second: ArrayLike) -> Effect:
    """The effect sizes of two systems on the same units; NaN if a denominator is 0 or there is no
    unit.

    >>> e = effect([0.5, 0.7, 0.9], [0.4, 0.7, 0.7])
    >>> round(e.relative, 4), round(e.standardised, 4), round(e.superiority, 4)
    (0.1667, 1.0, 0.8333)
    >>> e.wins, e.ties, e.losses
    (2, 1, 0)
    """
    first_values = finite("first", first)
    second_values = finite("second", second)
    n = same_length(first=first_values, second=second_values)
    differences = first_values - second_values
    mean = float(ratio(differences.sum(), n))
    sd = float(np.std(differences, ddof=1)) if n > 1 else np.nan
    wins = int(np.sum(differences > 0))
    losses = int(np.sum(differences < 0))
    ties = n - wins - losses
    second_mean = ratio(second_values.sum(), n)
    relative = ratio(mean, abs(second_mean))
    superiority = ratio(wins + ties / 2, n)
    return Effect(
        difference=mean,
        relative=float(relative),
        standardised=float(ratio(mean, sd)),
        superiority=float(superiority),
        wins=wins,
        ties=ties,
        losses=losses,
    )
