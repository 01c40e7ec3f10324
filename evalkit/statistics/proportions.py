"""Tests of proportions, on the same units or independent ones: McNemar, score, Fisher, binomial, sign test.

The units counted are independent of each other: where one user has many rows, take `significance.sign_flip` with
the rows added up by user instead.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import InputError, ParameterError, finite, ratio
from evalkit.statistics import signflip
from evalkit.statistics.intervals import Estimate, check_proportion, clopper_pearson, newcombe, tango
from evalkit.statistics.significance import Comparison, check_comparison_level, compare


def mcnemar(first_only: int, second_only: int, n: int, *, level: float = 0.95, unit: str = "row") -> Comparison:
    """The difference of two proportions on the same n units by McNemar's test, mid-p, with Tango's interval.

    `first_only` counts the units that only the first has right.
    Fagerland, Lydersen, Laake, BMC Medical Research Methodology 2013, doi:10.1186/1471-2288-13-91.

    >>> round(mcnemar(1, 7, 21).p_value, 7)
    0.0390625
    """
    from scipy.special import bdtr

    fewer, both = min(first_only, second_only), first_only + second_only
    p = float(bdtr(fewer, both, 0.5) + (bdtr(fewer - 1, both, 0.5) if fewer else 0.0)) if both else 1.0
    return _mcnemar(first_only, second_only, n, min(p, 1.0), level=level, unit=unit, method="McNemar mid-p")


def mcnemar_exact(first_only: int, second_only: int, n: int, *, level: float = 0.95, unit: str = "row") -> Comparison:
    """McNemar's test with the exact binomial p-value: the sign flip of right and wrong; conservative.

    >>> round(mcnemar_exact(1, 7, 21).p_value, 7)
    0.0703125
    """
    p = signflip.fair_coin(first_only, first_only + second_only) if first_only + second_only else 1.0
    return _mcnemar(first_only, second_only, n, p, level=level, unit=unit, method="McNemar exact")


def mcnemar_asymptotic(
    first_only: int, second_only: int, n: int, *, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """McNemar's test by (b − c)² / (b + c) against χ² with one degree of freedom, without correction.

    >>> round(mcnemar_asymptotic(1, 7, 21).p_value, 7)
    0.0338949
    """
    from scipy.special import ndtr

    both = first_only + second_only
    p = float(2 * ndtr(-abs(first_only - second_only) / np.sqrt(both))) if both else 1.0
    return _mcnemar(first_only, second_only, n, p, level=level, unit=unit, method="McNemar asymptotic")


def two_proportions(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """The difference of two independent proportions: pooled score test, Newcombe's interval.

    Raises InputError where an arm has no data.

    >>> round(two_proportions(56, 70, 48, 80).p_value, 7)
    0.0080451
    """
    from scipy.special import ndtr

    _check_arms(successes_a, n_a, successes_b, n_b)
    pooled = (successes_a + successes_b) / (n_a + n_b)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    z = ratio(successes_a / n_a - successes_b / n_b, error)
    p = 1.0 if error == 0 else float(2 * ndtr(-abs(z)))
    return compare(
        lambda at: newcombe(successes_a, n_a, successes_b, n_b, level=at), p, level=level, unit=unit, method="score"
    )


def fisher(
    successes_a: int, n_a: int, successes_b: int, n_b: int, *, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """The difference of two independent proportions: Fisher's exact test (conservative), Newcombe's interval.

    p adds up the tables with these margins that are no more likely than the one seen.

    >>> round(fisher(3, 4, 1, 4).p_value, 6)
    0.485714
    """
    from scipy.special import betaln

    _check_arms(successes_a, n_a, successes_b, n_b)
    total = successes_a + successes_b
    k = np.arange(max(0, total - n_b), min(total, n_a) + 1)
    log = -betaln(k + 1, n_a - k + 1) - betaln(total - k + 1, n_b - total + k + 1)  # the binomials, up to a factor
    share = np.exp(log - log.max())
    p = float(share[log <= log[successes_a - k[0]] + 1e-7].sum() / share.sum())
    return compare(
        lambda at: newcombe(successes_a, n_a, successes_b, n_b, level=at), p, level=level, unit=unit, method="Fisher"
    )


def binomial_test(successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row") -> Comparison:
    """Successes / n − null by the exact two-sided binomial test, with the Clopper–Pearson interval.

    p adds up the outcomes no more likely than the one seen. One-sided: `binomial_greater`, `binomial_less`.

    >>> round(binomial_test(8, 10).p_value, 6), round(binomial_test(682, 925, null=0.75).p_value, 7)
    (0.109375, 0.3824916)
    """
    from scipy.special import gammaln, xlog1py, xlogy

    _check_binomial(successes, n, null, level)
    k = np.arange(n + 1)
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, null) + xlog1py(n - k, -null)
    p = float(min(1.0, np.exp(log[log <= log[successes] + 1e-7]).sum()))
    return _binomial(successes, n, p, null=null, level=level, unit=unit, method="exact binomial")


def sign_test(differences: ArrayLike, *, level: float = 0.95, unit: str = "query") -> Comparison:
    """The share of wins among the units that differ, minus ½, by the exact binomial test; ties are left out.

    It does not test a mean: with many small losses and few large gains of mean 0 it rejects always.

    >>> c = sign_test([0.1, 0.2, -0.1, 0.3, 0.0])
    >>> c.difference.value, round(c.p_value, 6)
    (0.25, 0.625)
    """
    units = finite("differences", differences)
    wins, moved = int(np.sum(units > 0)), int(np.sum(units != 0))
    if moved == 0:
        raise InputError("differences must hold at least one that is not 0, got none")
    p = signflip.fair_coin(wins, moved)
    return _binomial(wins, moved, p, null=0.5, level=level, unit=unit, method="sign test (not of a mean)")


def binomial_greater(
    successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """Successes / n − null by the exact one-sided test that the share is above null; the interval has no upper limit.

    >>> [round(binomial_greater(k, 10).p_value, 7) for k in (8, 9)]
    [0.0546875, 0.0107422]
    """
    from scipy.special import bdtrc

    _check_binomial(successes, n, null, level)
    p = float(bdtrc(successes - 1, n, null)) if successes else 1.0
    both = _binomial(successes, n, p, null=null, level=level, unit=unit, method="exact binomial, greater")
    return _one_sided(both, successes, n, null=null, greater_or_less="greater")


def binomial_less(successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row") -> Comparison:
    """Successes / n − null by the exact one-sided test that the share is below null; the interval has no lower limit.

    >>> round(binomial_less(1, 10).p_value, 7)
    0.0107422
    """
    from scipy.special import bdtr

    _check_binomial(successes, n, null, level)
    p = float(bdtr(successes, n, null))
    both = _binomial(successes, n, p, null=null, level=level, unit=unit, method="exact binomial, less")
    return _one_sided(both, successes, n, null=null, greater_or_less="less")


def _mcnemar(
    first_only: int, second_only: int, n: int, p: float, *, level: float, unit: str, method: str
) -> Comparison:
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")
    return compare(lambda at: tango(first_only, second_only, n, level=at), p, level=level, unit=unit, method=method)


def _binomial(successes: int, n: int, p: float, *, null: float, level: float, unit: str, method: str) -> Comparison:
    return compare(
        lambda at: _less(clopper_pearson(successes, n, level=at), null), p, level=level, unit=unit, method=method
    )


def _one_sided(both: Comparison, successes: int, n: int, *, null: float, greater_or_less: str) -> Comparison:
    """The comparison with the one-sided limit of its test; the other side is open."""
    level = both.difference.level
    limit = _less(clopper_pearson(successes, n, level=2 * level - 1), null)
    low, high = (limit.low, 1 - null) if greater_or_less == "greater" else (-null, limit.high)
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
