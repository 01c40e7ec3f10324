"""Tests of proportions on paired or independent samples: McNemar, score, Fisher, binomial and sign
test.

They assume independent units. If a user has several rows, use `significance.sign_flip` on rows
added up by user.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, InputError, Ints, ParameterError, finite, ratio
from evalkit.statistics import signflip
from evalkit.statistics.alternatives import Tails
from evalkit.statistics.intervals import (
    Comparison,
    Estimate,
    check_proportion,
    clopper_pearson,
    newcombe,
    normal_quantile,
    standard_score,
    tango,
)
from evalkit.statistics.significance import (
    DifferenceByT,
    check_comparison_level,
    compare,
)
from evalkit.statistics.spread import LimitArrays, lower_score_limit, upper_score_limit

# outcomes -> the logarithm of the probability of each, up to a constant
LogProbability = Callable[[ArrayLike], Floats]
HitsAndRows = tuple[int, int]  # hits, and rows predicted positive
# trials up to which doubles hold the logarithm of a probability to six digits
MAX_EXACT_TRIALS = 1_000_000_000
PREDICTIVE = "weighted generalised score test"
# an outcome is negligible beside another if its log-probability is lower by this: e⁻⁴⁵ is 3e-20
NEGLIGIBLE = 45.0


def mcnemar_asymptotic(
    first_only: int, second_only: int, n: int, *, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """The difference of two proportions on the same n units by McNemar's test, (b − c)² / (b + c)
    against χ² with one degree of freedom, without continuity correction, with Tango's interval.

    first_only (b), second_only (c): the number of units on which only the first, or only the
    second, is right.

    >>> round(mcnemar_asymptotic(1, 7, 21).p_value, 7)
    0.0338949
    """
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")

    def interval(level_of_limits: float) -> Estimate:
        """Tango's interval."""
        return tango(first_only, second_only, n, level=level_of_limits)

    p = mcnemar_p(first_only, second_only)
    return compare(interval, p, level=level, unit=unit, method="asymptotic McNemar test")


def mcnemar_p(first_only: int, second_only: int) -> float:
    """The p-value of `mcnemar_asymptotic`, with the same numbers; 1 if the two never differ.

    >>> round(mcnemar_p(1, 7), 7)
    0.0338949
    """
    from scipy.special import ndtr

    discordant = first_only + second_only
    if not discordant:
        return 1.0
    z = abs(first_only - second_only) / np.sqrt(discordant)
    return float(2 * ndtr(-z))


def predictive_values(
    first: HitsAndRows,
    second: HitsAndRows,
    shared: Ints,
    *,
    n: int,
    added_variance: float = 0.0,
    level: float = 0.95,
    unit: str = "row",
) -> Comparison:
    """The difference of two systems' precisions on the same n rows by Kosinski's weighted
    generalised score test, with the interval value ± z · error.

    first, second: hits, and rows predicted positive. shared: the numbers of rows that both predict
    positive, a 2 × 2 table by hit or not of the first (lines) and of the second (columns). The
    variance is that under equal precisions, so that it is above 0 even if all rows of one system
    are hits. It is 0 if all predictions agree, for which there is added_variance: a variance that
    is added to it. Kosinski 2013, doi:10.1002/sim.5587.

    >>> round(predictive_values((25, 40), (30, 60), np.array([[20, 0], [0, 10]]), n=100).p_value, 4)
    0.06
    """
    hits, rows = first
    other_hits, other_rows = second
    all_rows = rows + other_rows
    pooled = (hits + other_hits) / all_rows
    # Var(h₁ / n₁ − h₂ / n₂) = (p (1 − p) − 2 c) (1 / n₁ + 1 / n₂) with the pooled precision p and
    # c = Σ over the shared rows of the product of both deviations from p, divided by n₁ + n₂
    deviation = np.array([1 - pooled, -pooled])  # of a hit, and of a row that is none
    covariance = float(deviation @ shared @ deviation) / all_rows
    row_variance = pooled * (1 - pooled) - 2 * covariance
    variance = max(row_variance, 0.0) * (1 / rows + 1 / other_rows)
    error = np.sqrt(variance + added_variance)
    test = DifferenceByT(
        value=hits / rows - other_hits / other_rows,
        error=float(error),
        n=n,
        freedom=np.inf,  # the score test is normal
        method=PREDICTIVE,
        scale=0.0,  # no error counts as rounding error
    )
    return test.comparison(level=level, unit=unit)


def two_proportions(
    successes_a: int,
    n_a: int,
    successes_b: int,
    n_b: int,
    *,
    level: float = 0.95,
    unit: str = "row",
) -> Comparison:
    """The difference a − b of two independent proportions: pooled score test, and Mee's interval,
    which inverts the score test of each difference.

    Raises InputError if an arm has no data.

    >>> round(two_proportions(56, 70, 48, 80).p_value, 7)
    0.0080451
    """
    from scipy.special import ndtr

    _check_arms(successes_a, n_a, successes_b, n_b)
    pooled = (successes_a + successes_b) / (n_a + n_b)
    variance = pooled * (1 - pooled) * (1 / n_a + 1 / n_b)
    p = 1.0  # the variance is 0 if all units or no unit is a success: then the arms are equal
    if variance > 0:
        difference = successes_a / n_a - successes_b / n_b
        z = abs(difference) / np.sqrt(variance)
        p = float(2 * ndtr(-z))

    def interval(level_of_limits: float) -> Estimate:
        """Mee's interval."""
        return difference_score(successes_a, n_a, successes_b, n_b, level=level_of_limits)

    return compare(interval, p, level=level, unit=unit, method="score")


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
    the observed one. Above `MAX_EXACT_TRIALS` trials the score test is used, as `method` then says:
    the two agree there to four digits.

    >>> round(fisher(3, 4, 1, 4).p_value, 6)
    0.485714
    """
    from scipy.special import betaln

    _check_arms(successes_a, n_a, successes_b, n_b)
    if n_a + n_b > MAX_EXACT_TRIALS:
        return two_proportions(successes_a, n_a, successes_b, n_b, level=level, unit=unit)
    total = successes_a + successes_b

    def log_probability(successes: ArrayLike) -> Floats:
        """The log-probability, up to a constant, of the tables with the observed margins and these
        numbers of successes in the first arm (hypergeometric).
        """
        first = np.asarray(successes, float)
        second = total - first
        # C(n, k) is 1 / ((n + 1) B(k + 1, n − k + 1))
        first_log_choices = -betaln(first + 1, n_a - first + 1)
        second_log_choices = -betaln(second + 1, n_b - second + 1)
        log: Floats = first_log_choices + second_log_choices
        return log

    def interval(level_of_limits: float) -> Estimate:
        """Newcombe's interval."""
        return newcombe(successes_a, n_a, successes_b, n_b, level=level_of_limits)

    # The possible successes of the first arm. The second arm has the rest of all successes, from 0
    # to n_b.
    outcomes = OutcomeRange(max(0, total - n_b), min(total, n_a))
    mode = (n_a + 1) * (total + 1) // (n_a + n_b + 2)  # of the hypergeometric distribution
    p = _p_of_no_likelier(log_probability, successes_a, outcomes, mode=mode)
    tails = _tails(log_probability, successes_a, outcomes, mode=mode)
    return compare(interval, p, level=level, unit=unit, method="Fisher", tails=tails)


def binomial_test(
    successes: int, n: int, *, null: float = 0.5, level: float = 0.95, unit: str = "row"
) -> Comparison:
    """Successes / n − null by the exact two-sided binomial test, with the Clopper–Pearson interval.

    p is the sum of the probabilities of the outcomes that are no more likely than the observed one;
    for more than `MAX_EXACT_TRIALS` trials the score test is used, as `method` then says. The tails
    are those of the binomial distribution.

    >>> round(binomial_test(8, 10).p_value, 6), round(binomial_test(682, 925, null=0.75).p_value, 7)
    (0.109375, 0.3824916)
    """
    from scipy.special import ndtr

    _check_binomial(successes, n, null, level)
    if n > MAX_EXACT_TRIALS:
        expected = n * null
        sd = np.sqrt(expected * (1 - null))
        z = abs(successes - expected) / sd
        p = float(2 * ndtr(-z))
        return _binomial(successes, n, p, null=null, level=level, unit=unit, method="score")
    mode = _binomial_mode(n, null)
    log_probability = partial(log_binomial, n=n, null=null)
    p = _p_of_no_likelier(log_probability, successes, OutcomeRange(0, n), mode=mode)
    comparison = _binomial(
        successes, n, p, null=null, level=level, unit=unit, method="exact binomial"
    )
    return replace(comparison, tails=_binomial_tails(successes, n, null))


def _binomial_tails(successes: int, n: int, null: float) -> Tails:
    """The probabilities of at most, and of at least, so many successes in n trials."""
    from scipy.special import bdtr, bdtrc

    at_most = float(bdtr(successes, n, null))
    at_least = float(bdtrc(successes - 1, n, null)) if successes else 1.0
    return Tails(lower=at_most, upper=at_least)


def log_binomial(successes: ArrayLike, n: int, null: float) -> Floats:
    """The log-probability of this number of successes in n trials with success probability `null`.

    >>> float(np.exp(log_binomial(1, 2, 0.5)).round(12))
    0.5
    """
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.asarray(successes, float)
    log_choices = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    log: Floats = log_choices + xlogy(k, null) + xlog1py(n - k, -null)
    return log


def _binomial_mode(n: int, null: float) -> int:
    """The most probable number of successes in n trials with success probability `null`."""
    mode = int((n + 1) * null)
    return min(mode, n)


class OutcomeRange(NamedTuple):
    """A range of outcomes (numbers of successes): the smallest and the largest."""

    first: int
    last: int


def likely(n: int, null: float) -> OutcomeRange:
    """The range of the numbers of successes in n trials whose probability is not `NEGLIGIBLE`
    against that of the most probable number.

    >>> likely(10, 0.5)
    OutcomeRange(first=0, last=10)
    """
    mode = _binomial_mode(n, null)
    log_probability = partial(log_binomial, n=n, null=null)
    return OutcomeRange(
        first=_first_likely(log_probability, 0, mode), last=_last_likely(log_probability, mode, n)
    )


def sign_test(differences: ArrayLike, *, level: float = 0.95, unit: str = "query") -> Comparison:
    """The share of units with a difference above 0 among those with one other than 0, minus ½, by
    the exact binomial test.

    It does not test a mean: with many small losses and few large gains it rejects even if the mean
    difference is 0.

    >>> c = sign_test([0.1, 0.2, -0.1, 0.3, 0.0])
    >>> c.difference.value, round(c.p_value, 6)
    (0.25, 0.625)
    """
    units = finite("differences", differences)
    wins = int(np.sum(units > 0))
    differing = int(np.sum(units != 0))
    if differing == 0:
        raise InputError("differences must hold at least one that is not 0, got none")
    check_comparison_level(level)
    p = signflip.fair_coin(wins, differing)  # the binomial test's p in closed form, never 0
    method = "sign test (not of a mean)"
    comparison = _binomial(wins, differing, p, null=0.5, level=level, unit=unit, method=method)
    if differing > MAX_EXACT_TRIALS:  # so many are normal: the tails follow from p
        return comparison
    return replace(comparison, tails=_binomial_tails(wins, differing, 0.5))


def _p_of_no_likelier(
    log_probability: LogProbability, observed: int, outcomes: OutcomeRange, *, mode: int
) -> float:
    """The two-sided exact p-value: the probability of those outcomes that are no more likely than
    the observed one. outcomes: all possible ones. mode: the most likely one.
    """
    # an outcome that is as likely as the observed one but for rounding error counts too
    bound = float(log_probability(observed)) + 1e-7
    # Probabilities rise from either end to the mode: bisection finds how many outcomes, counted
    # from each end, have at most the bound.
    key = _as_float_function(log_probability)
    first, last = outcomes
    lower_outcomes = bisect_right(range(first, mode + 1), bound, key=key)
    upper_outcomes = bisect_right(range(last, mode, -1), bound, key=key)
    lower_end = first + lower_outcomes - 1
    upper_start = last - upper_outcomes + 1
    if lower_end == mode:  # the observed outcome is as likely as the mode: all outcomes count
        return 1.0
    # The functions below give probabilities / that of the mode, which cancels in the quotient.
    tails = 0.0
    if lower_outcomes:
        tails += _lower_tail(log_probability, first, lower_end, mode=mode)
    if upper_outcomes:
        tails += _upper_tail(log_probability, upper_start, last, mode=mode)
    return min(1.0, tails / _all_outcomes(log_probability, outcomes, mode=mode))


def _tails(
    log_probability: LogProbability, observed: int, outcomes: OutcomeRange, *, mode: int
) -> Tails:
    """The one-sided p-values: the probability of at most, and of at least, the observed outcome.
    outcomes: all possible ones. mode: the most likely one.

    The tail away from the mode is added up. The other tail follows: the two add up to 1 plus the
    probability of the observed outcome, which is in both.
    """
    total = _all_outcomes(log_probability, outcomes, mode=mode)  # relative to the mode, as a tail
    # of the observed outcome alone: a range of outcomes that starts and ends with it
    point = _relative_probability(log_probability, observed, observed, mode=mode) / total
    if observed <= mode:
        lower = _lower_tail(log_probability, outcomes.first, observed, mode=mode) / total
        upper = 1 - lower + point
    else:
        upper = _upper_tail(log_probability, observed, outcomes.last, mode=mode) / total
        lower = 1 - upper + point
    return Tails(lower=min(lower, 1.0), upper=min(upper, 1.0))


# Sums of probabilities, each divided by that of the mode, which may be far from 1. Only what is not
# negligible is added up, so that the cost grows with the spread of the outcomes, not their number.


def _relative_probability(
    log_probability: LogProbability, first: int, last: int, *, mode: int
) -> float:
    """The probability of the outcomes from `first` to `last` / that of the mode."""
    outcomes = np.arange(first, last + 1)
    log_ratio = log_probability(outcomes) - log_probability(mode)
    return float(np.exp(log_ratio).sum())


def _all_outcomes(log_probability: LogProbability, outcomes: OutcomeRange, *, mode: int) -> float:
    """The probability of all outcomes / that of the mode."""
    first = _first_likely(log_probability, outcomes.first, mode)
    last = _last_likely(log_probability, mode, outcomes.last)
    return _relative_probability(log_probability, first, last, mode=mode)


def _lower_tail(log_probability: LogProbability, first: int, end: int, *, mode: int) -> float:
    """The probability of the outcomes from `first`, the smallest, to `end`, at most the mode / that
    of the mode.
    """
    likely_start = _first_likely(log_probability, first, end)
    return _relative_probability(log_probability, likely_start, end, mode=mode)


def _upper_tail(log_probability: LogProbability, start: int, last: int, *, mode: int) -> float:
    """The probability of the outcomes from `start`, at least the mode, to `last`, the largest /
    that of the mode.
    """
    likely_end = _last_likely(log_probability, start, last)
    return _relative_probability(log_probability, start, likely_end, mode=mode)


def _as_float_function(log_probability: LogProbability) -> Callable[[int], float]:
    """`log_probability` as a function of one outcome that returns a float."""
    return lambda outcome: float(log_probability(outcome))


def _first_likely(log_probability: LogProbability, low: int, last: int) -> int:
    """The first outcome from `low` on whose probability is not `NEGLIGIBLE` against that of `last`.
    Probabilities must rise from `low` to `last`.
    """
    bound = float(log_probability(last)) - NEGLIGIBLE
    return low + bisect_left(range(low, last), bound, key=_as_float_function(log_probability))


def _last_likely(log_probability: LogProbability, first: int, high: int) -> int:
    """The last outcome up to `high` whose probability is not `NEGLIGIBLE` against that of `first`.
    Probabilities must fall from `first` to `high`.
    """
    bound = float(log_probability(first)) - NEGLIGIBLE
    return high - bisect_left(
        range(high, first, -1), bound, key=_as_float_function(log_probability)
    )


def _binomial(
    hits: int, n: int, p: float, *, null: float, level: float, unit: str, method: str
) -> Comparison:
    """The comparison of a share, hits / n, with a known one, `null`: the difference hits / n − null
    with this p and the Clopper–Pearson interval. method: its name in the result.
    """

    def interval(level_of_limits: float) -> Estimate:
        """hits / n − null, with the limits of Clopper and Pearson less the null."""
        share = clopper_pearson(hits, n, level=level_of_limits)
        return replace(
            share, value=share.value - null, low=share.low - null, high=share.high - null
        )

    return compare(interval, p, level=level, unit=unit, method=method)


def _check_binomial(successes: int, n: int, null: float, level: float) -> None:
    """Raise InputError unless n ≥ 1 and 0 ≤ successes ≤ n, ParameterError unless 0 < null < 1 and
    0.5 < level < 1.
    """
    check_comparison_level(level)
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}")
    check_proportion(successes, n)
    if not 0 < null < 1:
        raise ParameterError(f"null must lie between 0 and 1, got {null}")


def _check_arms(successes_a: int, n_a: int, successes_b: int, n_b: int) -> None:
    """Raise InputError unless both arms have trials and at most as many successes."""
    for arm, successes, n in (("a", successes_a, n_a), ("b", successes_b, n_b)):
        if n < 1:
            raise InputError(f"n_{arm} must be at least 1, got {n}")
        check_proportion(successes, n)


# Score intervals: the differences and the ratios that the score test does not reject --------------

# At a difference of 0, and at a ratio of 1, the statistic is that of the pooled score test
# (Pearson's χ²), so that test and interval cannot disagree.

HALVINGS = 46  # of the width in which a limit lies, until it is known to 1e-13
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
    squared_bound = normal_quantile(level) ** 2
    limits = _score_limits(  # of arrays with one element
        np.full(1, a),
        np.full(1, float(n_a)),
        np.full(1, b),
        np.full(1, float(n_b)),
        squared_bound=np.full(1, squared_bound),
    )
    return Estimate(a - b, limits.low.item(), limits.high.item(), level, int(n_a + n_b), "score")


def miettinen_nurminen(
    successes_a: ArrayLike, n_a: ArrayLike, successes_b: ArrayLike, n_b: ArrayLike, *, level: float
) -> LimitArrays:
    """The limits of differences a − b of independent proportions, one per element of the arrays.

    They are those of `difference_score`, but with the variance multiplied by N / (N − 1), N = n_a +
    n_b, which widens them where arms are small. NaN where n_a or n_b is 0. Raises ParameterError
    unless 0 < level < 1. Miettinen and Nurminen 1985, doi:10.1002/sim.4780040211.

    >>> limits = miettinen_nurminen([56], [70], [48], [80], level=0.95)
    >>> limits.low.round(4).tolist(), limits.high.round(4).tolist()
    ([0.0528], [0.3382])
    """
    counts = [np.asarray(number, float) for number in (successes_a, n_a, successes_b, n_b)]
    hits_a, rows_a, hits_b, rows_b = np.broadcast_arrays(*counts)
    rows = rows_a + rows_b
    squared_bound = normal_quantile(level) ** 2 * ratio(rows, rows - 1)
    a = ratio(hits_a, rows_a)
    b = ratio(hits_b, rows_b)
    return _score_limits(a, rows_a, b, rows_b, squared_bound=squared_bound)


def _score_limits(
    a: Floats, n_a: Floats, b: Floats, n_b: Floats, *, squared_bound: Floats
) -> LimitArrays:
    """The smallest and the largest difference a − b of two proportions that the score test does not
    reject, one per element of the arrays; NaN where n_a or n_b is 0.

    a, b: the observed proportions. squared_bound: the test rejects where the squared score
    statistic exceeds it: z², or for Miettinen and Nurminen z² N / (N − 1).
    """
    observed = a - b

    def rejected(difference: Floats) -> Bools:
        """True where the score test rejects this true difference: (observed − difference)² /
        variance exceeds the bound, with the variance of the likeliest proportions that differ so.
        """
        likeliest_a = _likeliest(a, n_a, b, n_b, difference)
        likeliest_b = likeliest_a - difference
        variance_a = likeliest_a * (1 - likeliest_a) / n_a
        variance_b = likeliest_b * (1 - likeliest_b) / n_b
        variance = variance_a + variance_b
        rejects: Bools = (observed - difference) ** 2 > squared_bound * variance
        return rejects

    # All lower limits (first row) and upper limits (second row) are bisected at once. inside: a
    # difference that is not rejected. outside: one that is rejected, or −1 and 1, the ends.
    inside = np.stack([observed, observed])
    outside = np.stack([np.full(observed.shape, -1.0), np.full(observed.shape, 1.0)])
    with np.errstate(divide="ignore", invalid="ignore"):  # of arms without units, which give NaN
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            rejects = rejected(middle)
            outside = np.where(rejects, middle, outside)
            inside = np.where(rejects, inside, middle)
    return LimitArrays(*inside)


def ratio_score(
    successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95
) -> Estimate:
    """The ratio a / b of two independent proportions with Koopman's score interval.

    The upper limit is infinite if successes_b is 0; everything is NaN if both numbers of successes
    are 0, or a proportion is of nothing. Koopman 1984, doi:10.2307/2531405.

    >>> e = ratio_score(36, 40, 16, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (4.5, 2.9396, 7.1522)
    """
    check_proportion(successes_a, n_a)
    check_proportion(successes_b, n_b)
    a = float(ratio(successes_a, n_a))
    b = float(ratio(successes_b, n_b))
    value = float(ratio(a, b))
    if n_b and not successes_b:
        value = np.inf if successes_a else np.nan
    if np.isnan(value):
        return Estimate.without_limits(value, level, n_a + n_b, "score")
    z = normal_quantile(level)

    def score(log_ratio: float) -> float:
        """The standard normal statistic of the hypothesis a = true ratio · b, which falls as the
        true ratio rises.
        """
        true_ratio = float(np.exp(log_ratio))
        likeliest = _likeliest_of_ratio(successes_a, n_a, successes_b, n_b, true_ratio)
        variance_a = likeliest.a * (1 - likeliest.a) / n_a
        variance_b = likeliest.b * (1 - likeliest.b) / n_b
        variance = variance_a + true_ratio**2 * variance_b
        return standard_score(a - true_ratio * b, variance)

    # each limit is searched between the observed ratio and the farthest one, as logarithms
    farthest = np.log(FARTHEST_RATIO)
    if value == 0:
        observed = -farthest
    elif value == np.inf:
        observed = farthest
    else:
        observed = float(np.log(value))
    # without successes of a any smaller ratio is possible, without successes of b any larger one
    low = 0.0
    high = np.inf
    if successes_a:
        low = np.exp(lower_score_limit(score, z, low=-farthest, value=observed))
    if successes_b:
        high = np.exp(upper_score_limit(score, z, value=observed, high=farthest))
    return Estimate(value, float(low), float(high), level, int(n_a + n_b), "score")


class Proportions(NamedTuple):
    """The proportions of successes in two arms."""

    a: float
    b: float


def _likeliest_of_ratio(
    successes_a: float, n_a: float, successes_b: float, n_b: float, true_ratio: float
) -> Proportions:
    """The maximum-likelihood proportions a and b under the hypothesis a = true_ratio · b (Koopman,
    see `ratio_score`).
    """
    # b solves the score equation: quadratic b² − linear b + last = 0
    quadratic = (n_a + n_b) * true_ratio
    linear = n_a * true_ratio + successes_a + n_b + successes_b * true_ratio
    last = successes_a + successes_b
    discriminant = linear**2 - 4 * quadratic * last
    root = np.sqrt(max(discriminant, 0.0))
    b = (linear - root) / (2 * quadratic)  # the root at which neither proportion exceeds 1
    return Proportions(min(true_ratio * b, 1.0), b)


def _likeliest(a: Floats, n_a: Floats, b: Floats, n_b: Floats, difference: Floats) -> Floats:
    """The maximum-likelihood proportion p of the first arm under the hypothesis that the second
    arm's is p − difference, one per element: a root of a cubic, in closed form.

    a, b: the observed proportions. n_a, n_b: the units of the arms; NaN results where one is 0. All
    arrays have one shape. Farrington and Manning 1990, doi:10.1002/sim.4780091208, appendix 1,
    whose θ, u and v have the same names here.
    """
    theta = n_b / n_a
    d = difference
    # the score equation in p: lead p³ + square p² + linear p + last = 0
    lead = 1 + theta
    square = -(1 + theta + a + theta * b + d * (theta + 2))
    linear = d**2 + d * (2 * a + theta + 1) + a + theta * b
    last = -a * d * (1 + d)
    # Its three real roots are 2 u cos(angle) − shift for three angles (Viète); this angle gives the
    # one between 0 and 1. u has the sign of v.
    shift = square / (3 * lead)
    cross_term = square * linear / (6 * lead**2)
    v = shift**3 - cross_term + last / (2 * lead)
    u_squared = shift**2 - linear / (3 * lead)
    u = np.copysign(np.sqrt(np.maximum(u_squared, 0.0)), v)
    # rounding may leave the quotient out of the range of a cosine
    cosine = np.minimum(np.maximum(v / u**3, -1.0), 1.0)
    # with u = 0 the three roots are one, −shift, whatever the angle: 0 in place of the NaN of 0 / 0
    cosine = np.where(u == 0, 0.0, cosine)
    angle = (np.pi + np.arccos(cosine)) / 3
    p = 2 * u * np.cos(angle) - shift
    # rounding may leave p out of the range in which both proportions lie between 0 and 1
    smallest = np.maximum(0.0, d)
    largest = np.minimum(1.0, 1.0 + d)
    likeliest: Floats = np.minimum(np.maximum(p, smallest), largest)
    return likeliest
