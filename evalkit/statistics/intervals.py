"""Estimate: a number with its interval; closed forms where one is honest, a bootstrap of units elsewhere.

The unit is what was sampled: the query, the user, the fold. Rows of one user are no units; `by_unit` adds
them up first, and the mean of clustered rows is then a ratio of sums: `ratio_delta(*by_unit(values, user))`.
"""

from __future__ import annotations  # np.random is imported when it is used: it costs a tenth of numpy

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, codes, finite, ratio, same_length
from evalkit.statistics.resampling import bca_shares, defined, resampled_sums
from evalkit.statistics.results import Estimate as Estimate
from evalkit.statistics.student import freedom_of

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


def mean_percentile(
    values: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, resamples: int = 10_000
) -> Estimate:
    """The mean of the units with the percentile interval of a bootstrap of units.

    >>> e = mean_percentile([0, 0, 1, 1], rng=np.random.default_rng(1), resamples=1000)
    >>> (e.value, e.low, e.high)
    (0.5, 0.0, 1.0)
    """
    units = finite("values", values)
    return ratio_percentile(units, np.ones(units.size), rng=rng, level=level, resamples=resamples)


def mean_bca(values: ArrayLike, *, rng: np.random.Generator, level: float = 0.95, resamples: int = 10_000) -> Estimate:
    """The mean of the units with the bias-corrected and accelerated interval of a bootstrap of units.

    The acceleration comes from the influence of each unit: one pass, no n × n jackknife.
    Efron, JASA 1987, doi:10.1080/01621459.1987.10478410.

    >>> e = mean_bca([1, 2, 3, 10], rng=np.random.default_rng(1))
    >>> e.low < e.value < e.high, e.high - e.value > e.value - e.low
    (True, True)
    """
    units = finite("values", values)
    return ratio_bca(units, np.ones(units.size), rng=rng, level=level, resamples=resamples)


def ratio_percentile(
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Estimate:
    """Σ numerator / Σ denominator with the percentile interval of a bootstrap of units.

    Resamples whose denominators add up to 0 are left out.

    >>> e = ratio_percentile([1, 0, 1, 0], [1, 1, 1, 1], rng=np.random.default_rng(1), resamples=1000)
    >>> (e.value, e.low, e.high, e.method)
    (0.5, 0.0, 1.0, 'percentile bootstrap')
    """
    top, bottom = _pair(numerator, denominator)
    value, _ = _ratio_influence(top, bottom)
    replicates = _ratio_replicates(top, bottom, rng, resamples)
    return percentile_interval(value, replicates, n=top.size, level=level)


def ratio_bca(
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Estimate:
    """Σ numerator / Σ denominator with the BCa interval of a bootstrap of units; see `mean_bca`.

    >>> ratio_bca([3, 4], [4, 0], rng=np.random.default_rng(1)).value
    1.75
    """
    top, bottom = _pair(numerator, denominator)
    value, effect = _ratio_influence(top, bottom)
    replicates = _ratio_replicates(top, bottom, rng, resamples)
    return bca_interval(value, replicates, effect, n=top.size, level=level)


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
    low = falling_root(lambda d: _tango_score(first_only, second_only, n, d) - z, -1.0, value)
    high = falling_root(lambda d: _tango_score(first_only, second_only, n, d) + z, value, 1.0)
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


def standard_error(effect: ArrayLike) -> float:
    """√(Σ l² / n(n − 1)) of one influence value l a unit: how far each unit moves the statistic, mean 0.

    NaN below two units.

    >>> round(standard_error([-1, 0, 1]), 6)
    0.57735
    """
    influence = np.asarray(effect, float)
    n = influence.size
    return float(np.sqrt(ratio(np.sum(influence**2), n * (n - 1.0))))


def satterthwaite(variance: Floats, freedom: Floats | Ints) -> float:
    """The degrees of freedom of a sum of variances, each estimated on its own; doi:10.2307/3002019.

    >>> satterthwaite(np.array([1.0, 1.0]), np.array([4, 4]))
    8.0
    """
    return float(ratio(variance.sum() ** 2, (variance**2 / freedom).sum()))


def freedom_left(moved: Floats, most: float, times: Floats | None = None) -> float:
    """The degrees of freedom of the variance Σ l² of influence values l, by their kurtosis: at least 1, at most `most`.

    The variance of Σ l², from their fourth powers, is that of a chi-square with 2 / (Σ l⁴ / (Σ l²)² − 1 / n) of them.
    times: how many units have each value.

    >>> round(freedom_left(np.array([4.0, -1, -1, -1, -1, 0]), 5.0), 3)
    4.138
    """
    squares, rows = moved**2, np.ones(len(moved)) if times is None else times
    return freedom_of(float(rows @ squares), float(rows @ squares**2), float(rows.sum()), most)


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


def percentile_interval(value: float, replicates: ArrayLike, *, n: int, level: float) -> Estimate:
    """The central `level` of the bootstrap replicates; undefined replicates (NaN) are left out.

    NaN limits below two units, where nothing varies.

    >>> percentile_interval(2, [1, 2, 3], n=9, level=0.5).low
    1.5
    """
    check_level(level)
    tail = (1 - level) / 2
    low, high = _quantiles(value, replicates, n, np.array([tail, 1 - tail]))
    return Estimate(float(value), low, high, level, int(n), "percentile bootstrap")


def bca_interval(value: float, replicates: ArrayLike, effect: ArrayLike, *, n: int, level: float) -> Estimate:
    """The bias-corrected and accelerated interval: replicates at the shares that `bca_shares` gives.

    `effect` holds one influence value a unit. NaN limits below two units.
    Efron, JASA 1987, doi:10.1080/01621459.1987.10478410.

    >>> e = bca_interval(2, [1, 2, 3], [-1, 0, 1], n=9, level=0.5)
    >>> e.low, e.high
    (1.5, 2.5)
    """
    z = normal_quantile(level)
    low, high = _quantiles(value, replicates, n, bca_shares(value, replicates, effect, z=[-z, z]))
    return Estimate(float(value), low, high, level, int(n), "BCa bootstrap")


def _quantiles(value: float, replicates: ArrayLike, n: int, shares: Floats) -> tuple[float, float]:
    drawn = defined(replicates)
    if n < 2 or drawn.size == 0 or np.isnan(value):
        return np.nan, np.nan
    low, high = np.quantile(drawn, shares)
    return float(low), float(high)


def _pair(numerator: ArrayLike, denominator: ArrayLike) -> tuple[Floats, Floats]:
    top, bottom = finite("numerator", numerator), finite("denominator", denominator)
    same_length(numerator=top, denominator=bottom)
    return top, bottom


def _ratio_influence(top: Floats, bottom: Floats) -> tuple[float, Floats]:
    """The ratio of the sums, and each unit's influence (numerator − ratio · denominator) / its mean."""
    value = float(ratio(top.sum(), bottom.sum()))
    return value, ratio((top - value * bottom) * top.size, bottom.sum())


def _ratio_replicates(top: Floats, bottom: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    if resamples < 1:
        raise ParameterError(f"resamples must be at least 1, got {resamples}")
    if np.all(bottom == 1):  # a mean: its denominator is n in every resample
        return resampled_sums(top[:, None], rng=rng, resamples=resamples)[:, 0] / max(top.size, 1)
    sums = resampled_sums(np.column_stack([top, bottom]), rng=rng, resamples=resamples)
    return ratio(sums[:, 0], sums[:, 1])


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


def falling_root(falling: Callable[[float], float], low: float, high: float) -> float:
    """The root of a falling function between two points, to the last bit but a few."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return float((low + high) / 2)
