"""Estimate and Comparison, the results of inference; and intervals in closed form or by a bootstrap of units.

The unit is what was sampled: the query, the user, the fold. Rows of one user are no units; `by_unit` adds
them up first, and the mean of clustered rows is then a ratio of sums: `ratio_delta(*by_unit(values, user))`.
"""

from __future__ import annotations  # np.random is imported when it is used: it costs a tenth of numpy

import html
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit import numbers
from evalkit.arrays import Floats, InputError, ParameterError, codes, finite, ratio, same_length
from evalkit.statistics.resampling import bca_shares, defined
from evalkit.statistics.spread import bisect, standard_error

# Results


@dataclass(frozen=True)
class Estimate:
    """A value with its two-sided interval at `level` (a share), from n units, by a named method.

    >>> print(Estimate(0.94812, 0.9261, 0.9713, 0.95, 100, "t"))
    0.948 [0.926, 0.971]
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    method: str

    def __str__(self) -> str:
        """The value and its interval, as a page shows them."""
        return numbers.estimate(self.value, self.low, self.high)

    def __repr__(self) -> str:
        """The value and its interval, the level, the method and n."""
        return f"Estimate({self}, {numbers.percent(self.level)} {self.method}, n = {self.n:,})"

    def _repr_html_(self) -> str:
        return html.escape(str(self))


@dataclass(frozen=True)
class Comparison:
    """A difference with its interval at level 1 − α, its p-value alone and within its family, and what was resampled.

    `equivalence` is the interval of the same difference at level 1 − 2α: inside a margin, it is the two one-sided
    tests (TOST) of equivalence at level α.
    """

    difference: Estimate
    p_value: float
    adjusted: float
    method: str
    unit: str
    equivalence: Estimate

    def __str__(self) -> str:
        """The difference and its interval, p and adjusted p, as a page shows them."""
        d, p = self.difference, f"p {numbers.p_value(self.p_value)}, adjusted {numbers.p_value(self.adjusted)}"
        return f"{numbers.estimate(d.value, d.low, d.high, numbers.signed)}, {p}"

    def __repr__(self) -> str:
        """The difference, p, the method, n and the unit."""
        return f"Comparison({self}; {self.method}, n = {self.difference.n:,}, unit {self.unit})"

    def _repr_html_(self) -> str:
        return html.escape(str(self))


# Means and ratios of sums


def mean_t(values: ArrayLike, *, level: float = 0.95) -> Estimate:
    """The mean of the units with Student's t interval, mean ± t(n − 1) s/√n.

    The limits are NaN below two units. Raises InputError for a value that is not finite.

    >>> e = mean_t([1, 2, 3])
    >>> round(e.value, 6), round(e.low, 4), round(e.high, 4)
    (2.0, -0.4841, 4.4841)
    """
    units = finite("values", values)
    value = float(ratio(units.sum(), units.size))
    return t_interval(value, standard_error(units - value), n=units.size, level=level, method="t")


def ratio_delta(numerator: ArrayLike, denominator: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Σ numerator / Σ denominator with the delta method's interval, one row a unit, t quantile on n − 1.

    With (sums, counts) of `by_unit` it is the mean over rows with an interval robust to clusters.
    Undefined where the denominators add up to 0, limits NaN below two units.
    Deng, Knoblich, Lu, KDD 2018, doi:10.1145/3219819.3219919.

    >>> e = ratio_delta([2, 0, 1], [4, 1, 1])
    >>> round(e.value, 6), round(e.low, 4), round(e.high, 4)
    (0.5, -0.121, 1.121)
    """
    top, bottom = _pair(numerator, denominator)
    value, effect = _ratio_influence(top, bottom)
    return t_interval(value, standard_error(effect), n=top.size, level=level, method="delta method")


def by_unit(values: ArrayLike, unit: ArrayLike) -> tuple[Floats, Floats]:
    """The sum and the number of the rows of each unit, in the order of the sorted unit keys.

    Raises InputError where a value is not finite or the columns differ in length.

    >>> by_unit([1, 0, 1], ["b", "a", "b"])
    (array([0., 2.]), array([1., 2.]))
    """
    rows, keys = finite("values", values), np.asarray(unit)
    same_length(values=rows, unit=keys)
    code, names = codes(keys)
    counts = np.bincount(code, minlength=names.size)
    return np.bincount(code, rows, names.size).astype(np.float64), counts.astype(np.float64)


# Proportions


def wilson(successes: float, n: float, *, level: float = 0.95) -> Estimate:
    """Successes / n with Wilson's score interval, which inverts the score test of a proportion.

    NaN where n is 0. Raises InputError unless 0 ≤ successes ≤ n.
    Wilson, JASA 1927, doi:10.1080/01621459.1927.10502953.

    >>> e = wilson(8, 10)
    >>> round(e.low, 5), round(e.high, 5)
    (0.49016, 0.94332)
    """
    check_proportion(successes, n)
    share, z2 = ratio(successes, n), normal_quantile(level) ** 2
    middle = ratio(successes + z2 / 2, n + z2)
    half = np.sqrt(z2) * ratio(np.sqrt(n * share * (1 - share) + z2 / 4), n + z2)
    low = 0.0 if successes == 0 else middle - half
    high = 1.0 if successes == n else middle + half
    return _proportion(successes, n, low, high, level, "Wilson")


def clopper_pearson(successes: float, n: float, *, level: float = 0.95) -> Estimate:
    """Successes / n with the interval that inverts the two one-sided exact binomial tests.

    It covers at least `level`, often more. NaN where n is 0. Raises InputError unless 0 ≤ successes ≤ n.
    Clopper and Pearson, Biometrika 1934, doi:10.1093/biomet/26.4.404.

    >>> e = clopper_pearson(8, 10)
    >>> round(e.low, 5), round(e.high, 5)
    (0.4439, 0.97479)
    """
    from scipy.special import betaincinv

    check_proportion(successes, n)
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else betaincinv(successes, n - successes + 1, tail)
    high = 1.0 if successes == n else betaincinv(successes + 1, n - successes, 1 - tail)
    return _proportion(successes, n, low, high, level, "Clopper–Pearson")


def newcombe(successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95) -> Estimate:
    """The difference a − b of two independent proportions with Newcombe's hybrid score interval.

    NaN where n_a or n_b is 0. Statistics in Medicine 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> e = newcombe(56, 70, 48, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    a, b = wilson(successes_a, n_a, level=level), wilson(successes_b, n_b, level=level)
    value = a.value - b.value
    low = value - np.hypot(a.value - a.low, b.high - b.value)
    high = value + np.hypot(a.high - a.value, b.value - b.low)
    return Estimate(value, float(low), float(high), level, int(n_a + n_b), "Newcombe")


def tango(first_only: float, second_only: float, n: float, *, level: float = 0.95) -> Estimate:
    """(first_only − second_only) / n, two proportions on the same n units, with Tango's score interval.

    `first_only` counts the units that only the first has right. The interval holds 0 exactly when McNemar's
    asymptotic test does not reject. NaN where n is 0. Statistics in Medicine 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B.

    >>> e = tango(12, 2, 50)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0611, 0.3447)
    """
    check_proportion(first_only + second_only, n)
    value = float(ratio(first_only - second_only, n))
    if n == 0:
        return Estimate(value, np.nan, np.nan, level, 0, "Tango")
    z = normal_quantile(level)
    low, _ = bisect(lambda d: _tango_score(first_only, second_only, n, d) > z, -1.0, value)
    high, _ = bisect(lambda d: _tango_score(first_only, second_only, n, d) > -z, value, 1.0)
    return Estimate(value, low, high, level, int(n), "Tango")


# Differences of independent values


def mover(a: Estimate, b: Estimate) -> Estimate:
    """a − b from the limits of two independent values, each of its own rows: the method of variance estimates recovery.

    Of two Wilson intervals it is Newcombe's interval 10. n is that of both. NaN limits where a value has none.
    Zou, Donner 2008, doi:10.1002/sim.3095.

    >>> e = mover(wilson(56, 70), wilson(48, 80))
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    value = a.value - b.value
    below = float(np.hypot(a.value - a.low, b.high - b.value))
    above = float(np.hypot(a.high - a.value, b.value - b.low))
    return Estimate(value, value - below, value + above, a.level, a.n + b.n, "MOVER")


# What the intervals above are made of; a study with its own replicates or influence values starts here


def normal_quantile(level: float) -> float:
    """The z that leaves (1 − level) / 2 above it. Raises ParameterError unless 0 < level < 1.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    check_level(level)
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def check_level(level: float) -> None:
    """Raises ParameterError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ParameterError(f"level must lie between 0 and 1, got {level}")


def t_interval(
    value: float, error: float, *, n: int, level: float, method: str, freedom: float | None = None
) -> Estimate:
    """value ± t error, on n − 1 degrees of freedom or those given. The limits are NaN where the value or the error is.

    >>> round(t_interval(0, 1, n=10**6, level=0.95, method="t").high, 4)
    1.96
    """
    from scipy.special import stdtrit

    check_level(level)
    half = float(stdtrit(n - 1 if freedom is None else freedom, (1 + level) / 2)) * error if n > 1 else np.nan
    return Estimate(float(value), float(value - half), float(value + half), level, int(n), method)


def z_interval(value: float, error: float, *, n: int, level: float, method: str) -> Estimate:
    """value ± z error: a standard error that is known, or estimated from very many.

    >>> round(z_interval(0, 1, n=9, level=0.95, method="z").high, 4)
    1.96
    """
    half = normal_quantile(level) * error
    return Estimate(float(value), float(value - half), float(value + half), level, int(n), method)


def bca_interval(value: float, replicates: ArrayLike, effect: ArrayLike, *, n: int, level: float) -> Estimate:
    """The bias-corrected and accelerated interval: replicates at the shares that `bca_shares` gives.

    `effect` holds one influence value a unit. NaN limits below two units.
    Efron, JASA 1987, doi:10.1080/01621459.1987.10478410.

    >>> e = bca_interval(2, [1, 2, 3], [-1, 0, 1], n=9, level=0.5)
    >>> e.low, e.high
    (1.5, 2.5)
    """
    z = normal_quantile(level)
    drawn, low, high = defined(replicates), np.nan, np.nan
    if n > 1 and drawn.size and not np.isnan(value):
        low, high = np.quantile(drawn, bca_shares(value, replicates, effect, z=[-z, z]))
    return Estimate(float(value), float(low), float(high), level, int(n), "BCa bootstrap")


def _pair(numerator: ArrayLike, denominator: ArrayLike) -> tuple[Floats, Floats]:
    top, bottom = finite("numerator", numerator), finite("denominator", denominator)
    same_length(numerator=top, denominator=bottom)
    return top, bottom


def _ratio_influence(top: Floats, bottom: Floats) -> tuple[float, Floats]:
    """The ratio of the sums, and each unit's influence (numerator − ratio · denominator) / its mean."""
    value = float(ratio(top.sum(), bottom.sum()))
    return value, ratio((top - value * bottom) * top.size, bottom.sum())


def check_proportion(successes: float, n: float) -> None:
    """Raises InputError unless 0 ≤ successes ≤ n."""
    if not 0 <= successes <= n:
        raise InputError(f"successes must lie between 0 and n = {n}, got {successes}")


def _proportion(successes: float, n: float, low: float, high: float, level: float, method: str) -> Estimate:
    if n == 0:
        low = high = np.nan
    return Estimate(float(ratio(successes, n)), float(low), float(high), level, int(n), method)


def _tango_score(first_only: float, second_only: float, n: float, difference: float) -> float:
    """Tango's standard normal statistic of the hypothesis that the two proportions differ by `difference`."""
    linear = (2 * n - first_only + second_only) * difference - first_only - second_only
    root = np.sqrt(linear**2 + 8 * n * second_only * difference * (1 - difference))
    share = (root - linear) / (4 * n)  # the maximum-likelihood share of second_only under the hypothesis
    variance = max(n * (2 * share + difference * (1 - difference)), 0.0)
    distance = first_only - second_only - n * difference
    return float(distance / np.sqrt(variance)) if variance > 0 else float(np.sign(distance)) * np.inf
