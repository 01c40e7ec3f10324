"""Tests of proportions on paired or independent samples: McNemar, score, Fisher, binomial and sign
test.

They assume independent units. If a user has several rows, use `significance.sign_flip` on rows
added up by user.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, finite, ratio
from evalkit.statistics import signflip
from evalkit.statistics.intervals import (
    Estimate,
    check_proportion,
    clopper_pearson,
    newcombe,
    normal_quantile,
    tango,
)
from evalkit.statistics.significance import ByT, Comparison, check_comparison_level, compare
from evalkit.statistics.spread import bisect, inverted

Chance = Callable[[Any], Any]  # the logarithm of the chance of each outcome, up to a constant
Hits = tuple[int, int]  # hits, and rows predicted positive
EXACT = 1_000_000_000  # trials up to which doubles hold the logarithm of a chance to six digits
PREDICTIVE = "weighted generalised score test"
COUNTS = (
    45.0  # a chance smaller than another by this logarithm does not count beside it: e⁻⁴⁵ is 3e-20
)


def mcnemar_asymptotic(
    first_only: int, second_only: int, n: int, *, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """McNemar's test by (b − c)² / (b + c) against χ² with one degree of freedom, without
    correction.

    >>> round(mcnemar_asymptotic(1, 7, 21).p_value, 7)
    0.0338949
    """
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")
    p = mcnemar_p(first_only, second_only)
    method = "asymptotic McNemar test"
    return compare(
        lambda at: tango(first_only, second_only, n, level=at),
        p,
        level=level,
        unit=unit,
        method=method,
    )


def mcnemar_p(first_only: int, second_only: int) -> float:
    """The p-value of `mcnemar_asymptotic` alone, without the limits of an interval.

    >>> round(mcnemar_p(1, 7), 7)
    0.0338949
    """
    from scipy.special import ndtr

    both = first_only + second_only
    return float(2 * ndtr(-abs(first_only - second_only) / np.sqrt(both))) if both else 1.0


def predictive_values(
    first: Hits,
    second: Hits,
    shared: Ints,
    *,
    n: int,
    more: float = 0.0,
    level: float = 0.95,
    unit: str = "row",
) -> Comparison:
    """The difference of two systems' precisions on n rows by Kosinski's weighted generalised score
    test.

    first, second: hits, and rows predicted positive. shared: a 2 × 2 table of the rows that both
    predict positive, by hit or not of the first and of the second. The variance is computed under
    equal precisions, so it is above 0 even if all rows of one system are hits. more: is added to
    the variance, which is 0 if all predictions agree. Kosinski 2013, doi:10.1002/sim.5587.

    >>> round(predictive_values((25, 40), (30, 60), np.array([[20, 0], [0, 10]]), n=100).p_value, 4)
    0.06
    """
    (hits, rows), (other_hits, other_rows) = first, second
    whole = rows + other_rows
    equal = (hits + other_hits) / whole
    apart = np.array([1 - equal, -equal])
    together = float(apart @ shared @ apart) / whole
    variance = max(equal * (1 - equal) - 2 * together, 0.0) * (1 / rows + 1 / other_rows)
    value = hits / rows - other_hits / other_rows
    test = ByT(value, float(np.sqrt(variance + more)), n, np.inf, PREDICTIVE, scale=0.0)
    return test.compared(level=level, unit=unit)


def two_proportions(
    successes_a: int,
    n_a: int,
    successes_b: int,
    n_b: int,
    *,
    level: float = 0.95,
    unit: str = "row",
) -> Comparison:
    """The difference of two independent proportions: pooled score test, and the interval that
    inverts it (Mee).

    Raises InputError if an arm has no data.

    >>> round(two_proportions(56, 70, 48, 80).p_value, 7)
    0.0080451
    """
    from scipy.special import ndtr

    _check_arms(successes_a, n_a, successes_b, n_b)
    pooled = (successes_a + successes_b) / (n_a + n_b)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    z = ratio(successes_a / n_a - successes_b / n_b, error)
    p = 1.0 if error == 0 else float(2 * ndtr(-abs(z)))
    table = successes_a, n_a, successes_b, n_b
    return compare(
        lambda at: difference_score(*table, level=at), p, level=level, unit=unit, method="score"
    )


def fisher(
    successes_a: int,
    n_a: int,
    successes_b: int,
    n_b: int,
    *,
    level: float = 0.95,
    unit: str = "row",
) -> Comparison:
    """The difference of two independent proportions: Fisher's exact test (conservative), Newcombe's
    interval.

    p is the sum of the probabilities of the tables with these margins that are no more likely than
    the observed one. For more than `EXACT` trials the score test is used, as `method` then says:
    the two agree there to four digits.

    >>> round(fisher(3, 4, 1, 4).p_value, 6)
    0.485714
    """
    from scipy.special import betaln

    _check_arms(successes_a, n_a, successes_b, n_b)
    if n_a + n_b > EXACT:
        return two_proportions(successes_a, n_a, successes_b, n_b, level=level, unit=unit)
    total = successes_a + successes_b

    def log_chance(k: ArrayLike) -> Floats:  # up to a constant
        first = np.asarray(k, float)
        return -betaln(first + 1, n_a - first + 1) - betaln(
            total - first + 1, n_b - total + first + 1
        )

    mode = (n_a + 1) * (total + 1) // (n_a + n_b + 2)
    p = _no_likelier(
        log_chance, successes_a, low=max(0, total - n_b), mode=mode, high=min(total, n_a)
    )
    table = successes_a, n_a, successes_b, n_b
    return compare(
        lambda at: newcombe(*table, level=at), p, level=level, unit=unit, method="Fisher"
    )


def binomial_test(
    successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """Successes / n − null by the exact two-sided binomial test, with the Clopper–Pearson interval.

    p is the sum of the probabilities of the outcomes that are no more likely than the observed one;
    for more than `EXACT` trials the score test is used, as `method` then says. One-sided:
    `binomial_greater`, `binomial_less`.

    >>> round(binomial_test(8, 10).p_value, 6), round(binomial_test(682, 925, null=0.75).p_value, 7)
    (0.109375, 0.3824916)
    """
    from scipy.special import ndtr

    _check_binomial(successes, n, null, level)
    if n > EXACT:
        p = float(2 * ndtr(-abs(successes - n * null) / np.sqrt(n * null * (1 - null))))
        return _binomial(successes, n, p, null=null, level=level, unit=unit, method="score")
    mode = min(int((n + 1) * null), n)
    p = _no_likelier(lambda k: log_binomial(k, n, null), successes, low=0, mode=mode, high=n)
    return _binomial(successes, n, p, null=null, level=level, unit=unit, method="exact binomial")


def log_binomial(successes: ArrayLike, n: int, null: float) -> Floats:
    """The log-probability of this number of successes in n trials with success probability `null`.

    >>> float(np.exp(log_binomial(1, 2, 0.5)).round(12))
    0.5
    """
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.asarray(successes, float)
    return (
        gammaln(n + 1)
        - gammaln(k + 1)
        - gammaln(n - k + 1)
        + xlogy(k, null)
        + xlog1py(n - k, -null)
    )


def likely(n: int, null: float) -> tuple[int, int]:
    """The smallest and largest number of successes in n trials whose probability is not negligible.

    >>> likely(10, 0.5)
    (0, 10)
    """
    mode = min(int((n + 1) * null), n)
    return _first(lambda k: log_binomial(k, n, null), 0, mode), _last(
        lambda k: log_binomial(k, n, null), mode, n
    )


def sign_test(differences: ArrayLike, *, level: float = 0.95, unit: str = "query") -> Comparison:
    """The share of wins among the units that differ, minus ½, by the exact binomial test; ties are
    left out.

    It does not test a mean: with many small losses and few large gains it rejects even if the mean
    difference is 0.

    >>> c = sign_test([0.1, 0.2, -0.1, 0.3, 0.0])
    >>> c.difference.value, round(c.p_value, 6)
    (0.25, 0.625)
    """
    units = finite("differences", differences)
    wins = int(np.sum(units > 0))
    moved = int(np.sum(units != 0))
    if moved == 0:
        raise InputError("differences must hold at least one that is not 0, got none")
    p = signflip.fair_coin(wins, moved)
    return _binomial(
        wins, moved, p, null=0.5, level=level, unit=unit, method="sign test (not of a mean)"
    )


def binomial_greater(
    successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """Successes / n − null by the exact one-sided test that the share is above null; the interval
    has no upper limit.

    >>> [round(binomial_greater(k, 10).p_value, 7) for k in (8, 9)]
    [0.0546875, 0.0107422]
    """
    from scipy.special import bdtrc

    p = float(bdtrc(successes - 1, n, null)) if successes else 1.0
    return _one_sided(successes, n, p, null=null, level=level, unit=unit, side="greater")


def binomial_less(
    successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """Successes / n − null by the exact one-sided test that the share is below null; the interval
    has no lower limit.

    >>> round(binomial_less(1, 10).p_value, 7)
    0.0107422
    """
    from scipy.special import bdtr

    return _one_sided(
        successes,
        n,
        float(bdtr(successes, n, null)),
        null=null,
        level=level,
        unit=unit,
        side="less",
    )


def _no_likelier(log_chance: Chance, seen: int, *, low: int, mode: int, high: int) -> float:
    """The chance of the outcomes low..high that are no more likely than the one seen; most likely
    is `mode`.

    Only what counts is added up, around the mode and from where each tail begins: the cost grows
    with the spread of the outcomes, not with their number.
    """
    bound = float(log_chance(seen)) + 1e-7
    left = low - 1 + bisect_right(range(low, mode + 1), bound, key=log_chance)
    right = high + 1 - bisect_right(range(high, mode, -1), bound, key=log_chance)
    if left == mode:
        return 1.0

    def added(first: int, last: int) -> float:
        return float(np.exp(log_chance(np.arange(first, last + 1)) - log_chance(mode)).sum())

    whole = added(_first(log_chance, low, mode), _last(log_chance, mode, high))
    lower = added(_first(log_chance, low, left), left) if left >= low else 0.0
    upper = added(right, _last(log_chance, right, high)) if right <= high else 0.0
    return min(1.0, (lower + upper) / whole)


def _first(log_chance: Chance, low: int, last: int) -> int:
    """The first outcome whose chance counts beside that of the last one, up to which the chances
    rise.
    """
    return low + bisect_left(range(low, last), float(log_chance(last)) - COUNTS, key=log_chance)


def _last(log_chance: Chance, first: int, high: int) -> int:
    """The last outcome whose chance counts beside that of the first one, from which on the chances
    fall.
    """
    return high - bisect_left(
        range(high, first, -1), float(log_chance(first)) - COUNTS, key=log_chance
    )


def _binomial(
    hits: int, n: int, p: float, *, null: float, level: float, unit: str, method: str
) -> Comparison:
    return compare(
        lambda at: _less(clopper_pearson(hits, n, level=at), null),
        p,
        level=level,
        unit=unit,
        method=method,
    )


def _one_sided(
    successes: int, n: int, p: float, *, null: float, level: float, unit: str, side: str
) -> Comparison:
    """The comparison with the one-sided limit of its test, "greater" or "less"; the other side is
    open.
    """
    _check_binomial(successes, n, null, level)
    both = _binomial(
        successes, n, p, null=null, level=level, unit=unit, method=f"exact binomial, {side}"
    )
    limit = _less(clopper_pearson(successes, n, level=2 * level - 1), null)
    low, high = (limit.low, 1 - null) if side == "greater" else (-null, limit.high)
    return replace(both, difference=replace(limit, low=low, high=high, level=level))


def _less(share: Estimate, null: float) -> Estimate:
    """The estimate of share − null."""
    return replace(share, value=share.value - null, low=share.low - null, high=share.high - null)


def _check_binomial(successes: int, n: int, null: float, level: float) -> None:
    check_comparison_level(level)
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")
    check_proportion(successes, n)
    if not 0 < null < 1:
        raise ParameterError(f"null must lie between 0 and 1, got {null}")


def _check_arms(successes_a: int, n_a: int, successes_b: int, n_b: int) -> None:
    for arm, successes, n in (("a", successes_a, n_a), ("b", successes_b, n_b)):
        if n < 1:
            raise InputError(f"n_{arm} must be at least 1, got {n}")
        check_proportion(successes, n)


# Score intervals: the differences and the ratios that the score test does not reject --------------

# At a difference of 0, and at a ratio of 1, the statistic is that of the pooled score test
# (Pearson's χ²), so that test and interval cannot disagree.

FARTHEST_RATIO = 1e9  # a ratio of proportions beyond which there is no limit


def difference_score(
    successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95
) -> Estimate:
    """The difference a − b of two independent proportions with Mee's score interval.

    Its variance uses the maximum likelihood proportions with the tested difference, as Miettinen
    and Nurminen's, without their factor N / (N − 1). NaN where n_a or n_b is 0. Mee 1984,
    Biometrics 40:1175; Newcombe 1998 (his method 5),
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> e = difference_score(56, 70, 48, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0533, 0.3377)
    """
    check_proportion(successes_a, n_a)
    check_proportion(successes_b, n_b)
    a = float(ratio(successes_a, n_a))
    b = float(ratio(successes_b, n_b))
    if not n_a or not n_b:
        return Estimate(a - b, np.nan, np.nan, level, int(n_a + n_b), "score")

    def score(difference: float) -> float:
        p = _likeliest(a, n_a, b, n_b, difference)
        q = p - difference
        return _standardised(a - b - difference, p * (1 - p) / n_a + q * (1 - q) / n_b)

    return Estimate(
        a - b,
        *inverted(score, normal_quantile(level), -1.0, a - b, 1.0),
        level,
        int(n_a + n_b),
        "score",
    )


def ratio_score(
    successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95
) -> Estimate:
    """The ratio a / b of two independent proportions with Koopman's score interval.

    The upper limit is infinite if successes_b is 0; everything is NaN if both numbers of successes
    are 0. Koopman 1984, doi:10.2307/2531405.

    >>> e = ratio_score(36, 40, 16, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (4.5, 2.9396, 7.1522)
    """
    check_proportion(successes_a, n_a)
    check_proportion(successes_b, n_b)
    a = float(ratio(successes_a, n_a))
    b = float(ratio(successes_b, n_b))
    value = float(ratio(a, b)) if successes_b else np.inf * a if successes_a else np.nan
    if np.isnan(value) or not n_a or not n_b:
        return Estimate(value, np.nan, np.nan, level, int(n_a + n_b), "score")
    z = normal_quantile(level)

    def score(log: float) -> float:
        times = float(np.exp(log))
        whole = n_a + n_b
        lead = (n_a + n_b) * times
        middle = n_a * times + successes_a + n_b + successes_b * times
        root = np.sqrt(max(middle**2 - 4 * lead * (successes_a + successes_b), 0.0))
        q = (middle - root) / (2 * lead) if whole else 0.0
        p = min(times * q, 1.0)
        return _standardised(a - times * b, p * (1 - p) / n_a + times**2 * q * (1 - q) / n_b)

    far = np.log(FARTHEST_RATIO)
    at = float(np.log(value)) if 0 < value < np.inf else 0.0
    low = (
        np.exp(bisect(lambda x: score(x) > z, -far, at if value < np.inf else far)[0])
        if successes_a
        else 0.0
    )
    high = (
        np.exp(bisect(lambda x: score(x) > -z, at if value > 0 else -far, far)[0])
        if successes_b
        else np.inf
    )
    return Estimate(value, float(low), float(high), level, int(n_a + n_b), "score")


def _standardised(distance: float, variance: float) -> float:
    if variance > 0:
        return float(distance / np.sqrt(variance))
    return float(np.sign(distance)) * np.inf if distance else 0.0


def _likeliest(a: float, n_a: float, b: float, n_b: float, difference: float) -> float:
    """The likeliest first proportion where the second is `difference` smaller: a root of a cubic,
    in closed form.

    Farrington and Manning 1990, doi:10.1002/sim.4780091208, appendix 1.
    """
    t = n_b / n_a
    d = difference
    lead = 1 + t
    square = -(1 + t + a + t * b + d * (t + 2))
    linear = d**2 + d * (2 * a + t + 1) + a + t * b
    last = -a * d * (1 + d)
    shift = square / (3 * lead)
    v = shift**3 - square * linear / (6 * lead**2) + last / (2 * lead)
    u = np.copysign(np.sqrt(max(shift**2 - linear / (3 * lead), 0.0)), v)
    angle = (np.pi + np.arccos(np.clip(v / u**3, -1.0, 1.0) if u else 0.0)) / 3
    return float(np.clip(2 * u * np.cos(angle) - shift, max(0.0, d), min(1.0, 1.0 + d)))
