"""`Estimate` and `Comparison`, the results of inference, and intervals in closed form or by a
bootstrap of units.

The unit is what was sampled independently: the query, the user, the fold. Several rows of one user
are one unit: `by_unit` adds them up, and the mean over rows is then a ratio of sums,
`ratio_delta(*by_unit(values, user))`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit import numbers
from evalkit.arrays import (
    Bools,
    Floats,
    InputError,
    ParameterError,
    codes,
    finite,
    minus,
    ratio,
    same_length,
)
from evalkit.statistics.alternatives import Alternative, Tails
from evalkit.statistics.spread import Interval, Spread, inverted, standard_error

Ends = tuple[float, float]  # the smallest and the largest value of a metric
UNBOUNDED = (-np.inf, np.inf)

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

    @classmethod
    def without_limits(cls, value: float, level: float, n: float, method: str) -> Estimate:
        """A value with limits of NaN: no interval exists, or none keeps its level."""
        return cls(float(value), low=np.nan, high=np.nan, level=level, n=int(n), method=method)

    @property
    def reach(self) -> Floats:
        """The distances from the value to the lower and to the upper limit: (2,), both 0 or
        more.
        """
        return np.array([self.value - self.low, self.high - self.value])

    def extended_to(self, value: float) -> Estimate:
        """This interval as that of `value`: the limits stay, except that one on the wrong side of
        `value` is moved to it.
        """
        return replace(self, value=value, low=min(self.low, value), high=max(self.high, value))

    def no_closer_than(self, other: Estimate, method: str = "") -> Estimate:
        """The value with, on each side, the limit of `self` or `other` that is farther out.

        method: the name of the result's method, by default that of `self`.
        """
        # min and max keep the first argument if the other is NaN
        low = min(self.low, other.low)
        high = max(self.high, other.high)
        return replace(self, low=low, high=high, method=method or self.method)

    def __str__(self) -> str:
        """The value and its interval, as a page shows them."""
        return numbers.estimate(self.value, self.low, self.high)

    def __repr__(self) -> str:
        """The value and its interval, the level, the method and n."""
        return f"Estimate({self}, {numbers.percent(self.level)} {self.method}, n = {self.n:,})"

    def _repr_html_(self) -> str:
        import html

        return html.escape(str(self))


@dataclass(frozen=True)
class Comparison:
    """A difference with its interval at level 1 − α, its p-value, the p-value adjusted over the
    family of comparisons, the name of its method and that of the unit.

    `equivalence` is the interval of the same difference at level 1 − 2α: if it lies inside a
    margin, the two one-sided tests (TOST) show equivalence at level α. alpha: the test's
    significance level, None for 1 − the level of the interval. tails: the one-sided p-values; None
    if they follow from the two-sided p as for a continuous distribution. alternative: two-sided or
    the side that interval and p are about.
    """

    difference: Estimate
    p_value: float
    adjusted: float
    method: str
    unit: str
    equivalence: Estimate
    alpha: float | None = None
    tails: Tails | None = None
    alternative: Alternative = Alternative.TWO_SIDED

    @classmethod
    def without_test(cls, difference: Estimate, unit: str) -> Comparison:
        """A difference without limits whose p is NaN; its method says why."""
        return cls(
            difference,
            p_value=np.nan,
            adjusted=np.nan,
            method=difference.method,
            unit=unit,
            equivalence=difference,
        )

    @property
    def test_level(self) -> float:
        """The level of the test: 1 − alpha if it is stated, else that of the interval."""
        return self.difference.level if self.alpha is None else 1 - self.alpha

    @property
    def half_width(self) -> float:
        """Half of the interval's width; if one-sided, the distance from the value to its limit."""
        e = self.difference
        return self.alternative.half_width(e.value, e.low, e.high)

    def answering(self, alternative: Alternative, *, level: float) -> Comparison:
        """This two-sided comparison made one-sided; itself for the two-sided alternative.

        level: of the one-sided interval, whose other limit is infinite. This comparison must have
        the level `alternative.two_sided_level(level)`. If value and both limits are 0, no unit
        differs, and the limits stay 0. If a limit is NaN, there is no interval, and both are NaN.
        The adjusted p is p, as no other comparison is known here.

        >>> interval = Estimate(2.0, 0.5, 3.5, 0.9, 20, "t")
        >>> c = Comparison(interval, 0.04, 0.04, "t", "row", interval)
        >>> c.answering(Alternative.GREATER, level=0.95)
        Comparison(+2.0 [+0.5, +∞], p 0.020, adjusted 0.020; t, greater, n = 20, unit row)
        """
        if not alternative.one_sided:
            return self
        two_sided = self.difference
        # without tails of its own the null distribution is symmetric and continuous
        tails = self.tails or Tails.from_two_sided_p(self.p_value, two_sided.value)
        p = alternative.p_value(self.p_value, tails)
        low, high = alternative.limits(two_sided.low, two_sided.high)
        if np.isnan([two_sided.low, two_sided.high]).any():
            low = high = np.nan
        if two_sided.value == two_sided.low == two_sided.high == 0:
            low = high = 0.0
        return replace(
            self,
            difference=replace(two_sided, low=low, high=high, level=level),
            p_value=p,
            adjusted=p,
            method=f"{self.method}, {alternative}",
            alternative=alternative,
        )

    def with_limits(self, change: Callable[[Estimate], Estimate]) -> Comparison:
        """The same test with both intervals of the difference changed."""
        return replace(
            self, difference=change(self.difference), equivalence=change(self.equivalence)
        )

    def __str__(self) -> str:
        """The difference and its interval, p and adjusted p, as a page shows them."""
        d = self.difference
        p = f"p {numbers.p_value(self.p_value)}, adjusted {numbers.p_value(self.adjusted)}"
        return f"{numbers.estimate(d.value, d.low, d.high, numbers.signed_number)}, {p}"

    def __repr__(self) -> str:
        """The difference, p, the method, n and the unit."""
        return f"Comparison({self}; {self.method}, n = {self.difference.n:,}, unit {self.unit})"

    def _repr_html_(self) -> str:
        import html

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
    """Σ numerator / Σ denominator with the delta method's interval; one element per unit, t
    quantile on n − 1.

    With (sums, counts) from `by_unit` it is the mean over rows with a cluster-robust interval. NaN
    if the denominators add up to 0; limits are NaN below two units. Deng, Knoblich, Lu, KDD 2018,
    doi:10.1145/3219819.3219919.

    >>> e = ratio_delta([2, 0, 1], [4, 1, 1])
    >>> round(e.value, 6), round(e.low, 4), round(e.high, 4)
    (0.5, -0.121, 1.121)
    """
    numerators = finite("numerator", numerator)
    denominators = finite("denominator", denominator)
    n = same_length(numerator=numerators, denominator=denominators)
    total = denominators.sum()
    value = float(ratio(numerators.sum(), total))
    residuals = numerators - value * denominators
    # n times the influence of each unit, residual / Σ denominator: the terms of a mean, of which
    # `standard_error` takes the error
    terms = ratio(residuals * n, total)
    return t_interval(value, standard_error(terms), n=n, level=level, method="delta method")


def by_unit(values: ArrayLike, unit: ArrayLike) -> tuple[Floats, Floats]:
    """The sum and the number of the rows of each unit, in the order of the sorted unit keys.

    Raises InputError if a value is not finite or the columns differ in length.

    >>> by_unit([1, 0, 1], ["b", "a", "b"])
    (array([0., 2.]), array([1., 2.]))
    """
    rows = finite("values", values)
    keys = np.asarray(unit)
    same_length(values=rows, unit=keys)
    number, names = codes(keys)
    sums = np.bincount(number, rows, names.size)
    counts = np.bincount(number, minlength=names.size)
    return sums.astype(np.float64), counts.astype(np.float64)


# Proportions


def wilson(successes: float, n: float, *, level: float = 0.95) -> Estimate:
    """Successes / n with Wilson's score interval, which inverts the score test of a proportion.

    NaN where n is 0. Raises InputError unless 0 ≤ successes ≤ n. Wilson, JASA 1927,
    doi:10.1080/01621459.1927.10502953.

    >>> e = wilson(8, 10)
    >>> round(e.low, 5), round(e.high, 5)
    (0.49016, 0.94332)
    """
    check_proportion(successes, n)
    limits = _score_limits(float(ratio(successes, n)), n, normal_quantile(level))
    # these limits are 0 and 1 exactly, which the formula misses by rounding error
    low = 0.0 if successes == 0 else limits.low
    high = 1.0 if successes == n else limits.high
    return _proportion(successes, n, low, high, level, "Wilson")


def clopper_pearson(successes: float, n: float, *, level: float = 0.95) -> Estimate:
    """Successes / n with the interval that inverts the two one-sided exact binomial tests.

    It covers at least `level`, often more. NaN if n is 0. Raises InputError unless 0 ≤ successes ≤
    n. Clopper and Pearson, Biometrika 1934, doi:10.1093/biomet/26.4.404.

    >>> e = clopper_pearson(8, 10)
    >>> round(e.low, 5), round(e.high, 5)
    (0.4439, 0.97479)
    """
    from scipy.special import betaincinv

    check_proportion(successes, n)
    # The lower limit is the proportion at which at least so many successes have the probability
    # `tail`, the upper one that at which at most so many have it: quantiles of beta distributions.
    tail = (1 - level) / 2
    failures = n - successes
    low = 0.0 if successes == 0 else betaincinv(successes, failures + 1, tail)
    high = 1.0 if failures == 0 else betaincinv(successes + 1, failures, 1 - tail)
    return _proportion(successes, n, low, high, level, "Clopper–Pearson")


def newcombe(
    successes_a: float, n_a: float, successes_b: float, n_b: float, *, level: float = 0.95
) -> Estimate:
    """The difference a − b of two independent proportions with Newcombe's hybrid score interval.

    NaN if n_a or n_b is 0. Statistics in Medicine 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I.

    >>> e = newcombe(56, 70, 48, 80)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    difference = mover(wilson(successes_a, n_a, level=level), wilson(successes_b, n_b, level=level))
    return replace(difference, n=int(n_a + n_b), method="Newcombe")


def tango(first_only: float, second_only: float, n: float, *, level: float = 0.95) -> Estimate:
    """(first_only − second_only) / n, two proportions on the same n units, with Tango's score
    interval.

    first_only, second_only: the numbers of units on which only the first or only the second is
    right. The interval contains 0 exactly when McNemar's asymptotic test does not reject. NaN where
    n is 0. Statistics in Medicine 1998,
    doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B.

    >>> e = tango(12, 2, 50)
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0611, 0.3447)
    """
    check_proportion(first_only + second_only, n)
    value = float(ratio(first_only - second_only, n))
    if n == 0:
        return Estimate.without_limits(value, level, n, "Tango")
    score = partial(_tango_score, first_only, second_only, n)
    z = normal_quantile(level)
    low, high = inverted(score, z, low=-1.0, value=value, high=1.0)
    return Estimate(value, low, high, level, int(n), "Tango")


# Differences of independent values


def mover(a: Estimate, b: Estimate) -> Estimate:
    """The difference a − b of two independent values, with limits from those of each by MOVER
    (method of variance estimates recovery).

    The lower limit is a − b − √((a − low of a)² + (high of b − b)²), the upper one likewise. For
    two Wilson intervals it is Newcombe's method 10. n is the sum of both. NaN limits if a value has
    none. Zou, Donner 2008, doi:10.1002/sim.3095.

    >>> e = mover(wilson(56, 70), wilson(48, 80))
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    value = a.value - b.value
    # reversed: the distance to the upper limit of b is how far b lowers a − b
    low, high = recovered(value, a.reach, b.reach[::-1])
    return Estimate(value, low, high, a.level, a.n + b.n, "MOVER")


def recovered(value: float, *reach: Floats) -> Interval:
    """The limits of a sum of independent terms by MOVER: value − √Σ distance², value + √Σ
    distance².

    value: the sum. reach: for each term the distances from its value to its lower and its upper
    limit, (2,).

    >>> recovered(1.0, np.array([0.3, 3.0]), np.array([0.4, 4.0]))
    Interval(low=0.5, high=6.0)
    """
    below, above = np.hypot.reduce(reach)  # √Σ distance² over the terms, on each side
    return Interval(float(value - below), float(value + above))


def mover_distance(
    first: Floats | float, second: Floats | float, correlation: Floats | float
) -> Floats:
    """The distance of a limit of a − b from its value by MOVER, √(first² + second² − 2 correlation
    first second), from the distances `first` of a limit of a and `second` of the opposite one of b.

    correlation: of a and b. The arguments broadcast; one distance per element.
    """
    shared = 2 * correlation * first * second
    squares = first**2 + second**2 - shared
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


# Quantiles, and intervals from an error or from replicates


def normal_quantile(level: float) -> float:
    """The z of a two-sided interval at this level: a standard normal variable lies between −z and z
    with probability `level`. Raises ParameterError unless 0 < level < 1.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    check_level(level)
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + level) / 2)


def one_sided_normal_quantile(level: float) -> float:
    """The z of a one-sided limit: a standard normal variable is at most z with probability `level`.
    Raises ParameterError unless ½ < level < 1.

    >>> round(one_sided_normal_quantile(0.8), 6)
    0.841621
    """
    # the two-sided interval at this level leaves 1 − level above
    return normal_quantile(2 * level - 1)


def t_quantile(level: float, freedom: float) -> float:
    """The t of a two-sided interval at this level: Student's t on `freedom` degrees of freedom lies
    between −t and t with probability `level`. Infinite ones are those of a normal variable.

    >>> round(t_quantile(0.95, 10), 4), round(t_quantile(0.95, np.inf), 4)
    (2.2281, 1.96)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def check_level(level: float) -> None:
    """Raise ParameterError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ParameterError(f"level must lie between 0 and 1, got {level}")


def t_interval(
    value: float, error: float, *, n: int, level: float, method: str, freedom: float | None = None
) -> Estimate:
    """A value with the limits value ± t · error, with the quantile t of this level on `freedom`
    degrees of freedom, by default n − 1. With infinite ones the limits are normal, as from a known
    error. They are NaN if the value or the error is.

    >>> round(t_interval(0, 1, n=9, level=0.95, method="z", freedom=np.inf).high, 4)
    1.96
    """
    check_level(level)
    if freedom is None:
        freedom = n - 1
    half_width = t_quantile(level, freedom) * error
    low = float(value - half_width)
    high = float(value + half_width)
    return Estimate(float(value), low, high, level, int(n), method)


def bca_interval(
    value: float, replicates: ArrayLike, effect: ArrayLike, *, n: int, level: float
) -> Estimate:
    """A value with the bias-corrected and accelerated interval: those quantiles of the bootstrap
    replicates that `bca_shares` names.

    replicates: one value per resample, NaN where undefined. effect: one influence value per unit,
    up to a factor. NaN limits below two units. Efron, JASA 1987,
    doi:10.1080/01621459.1987.10478410.

    >>> e = bca_interval(2, [1, 2, 3], [-1, 0, 1], n=9, level=0.5)
    >>> e.low, e.high
    (1.5, 2.5)
    """
    from evalkit.statistics.bootstrap import bca_shares, defined

    z = normal_quantile(level)
    values = defined(replicates)
    low = np.nan
    high = np.nan
    if n > 1 and values.size and not np.isnan(value):
        shares = bca_shares(value, values, effect, z=[-z, z])
        low, high = np.quantile(values, shares)
    return Estimate(float(value), float(low), float(high), level, int(n), "BCa bootstrap")


def check_proportion(successes: float, n: float) -> None:
    """Raise InputError unless 0 ≤ successes ≤ n."""
    if not 0 <= successes <= n:
        raise InputError(f"successes must lie between 0 and n = {n}, got {successes}")


def _proportion(
    successes: float, n: float, low: float, high: float, level: float, method: str
) -> Estimate:
    """Successes / n with the limits low and high; NaN limits if n is 0."""
    if n == 0:
        low = high = np.nan
    return Estimate(float(ratio(successes, n)), float(low), float(high), level, int(n), method)


def _tango_score(first_only: float, second_only: float, n: float, difference: float) -> float:
    """Tango's standard normal statistic of the hypothesis that the two proportions differ by
    `difference`. first_only, second_only, n: as in `tango`.
    """
    d = difference
    observed = first_only - second_only
    discordant = first_only + second_only
    # The maximum-likelihood share of units that are second only, under the hypothesis: the positive
    # root of the score equation 2 n share² + linear share − constant = 0.
    linear = (2 * n - observed) * d - discordant
    constant = second_only * d * (1 - d)
    discriminant = linear**2 + 8 * n * constant
    share = (np.sqrt(discriminant) - linear) / (4 * n)
    # the share of first only is share + d, so that this is the sum of both shares, less d²
    variance_of_unit = 2 * share + d * (1 - d)
    return standard_score(observed - n * d, n * variance_of_unit)


def standard_score(distance: float, variance: float) -> float:
    """A score statistic: distance / √variance, with the distance of an observed number from that of
    the hypothesis.

    If the variance is 0, or below by rounding error, the hypothesis is certainly wrong, unless it
    is just what was observed: infinite with the sign of the distance, or 0 for a distance of 0.
    """
    if variance > 0:
        return float(distance / np.sqrt(variance))
    return math.copysign(np.inf, distance) if distance else 0.0


# Means of skewed values in closed form ------------------------------------------------------------


HALL = "t, corrected for skewness"
MEAN_WITH_CERTAIN = (
    "t, corrected for skewness, with Wilson's limits for predictions that are certain"
)
PAIRED_T_WITH_CERTAIN = "paired t, with Wilson's limits for predictions that are certain"
EFFECTIVE_WILSON = "Wilson, effective sample size"
ROUNDING = 1e-12  # losses this close to 0, or relatively to the largest loss, are equal to it
# the cube root in the inverse of Hall's g is a straight line with this slope, in terms of the cube,
# where the root would be below BEND
BEND = 0.5
SLOPE = 0.3


def mean(
    values: ArrayLike, rows: ArrayLike | None = None, *, level: float = 0.95, ends: Ends = UNBOUNDED
) -> Estimate:
    """The mean of the values, one per unit, with Wilson's interval if all are 0 or 1, and may be
    either, else with that of `of_spread`.

    rows: the number of units with each value, None for one. ends: the bounds of the values.
    The limits are NaN below two units. Raises InputError for a value that is not finite.

    >>> mean([0, 1, 1, 1]).method, mean([0, 1, 2, 3]).method, mean([0.2, 0.4], ends=(0, 1)).method
    ('Wilson', 't, corrected for skewness', 'Wilson, effective sample size')
    >>> counted, alone = mean([0, 1, 5], [90, 7, 3]), mean([0] * 90 + [1] * 7 + [5] * 3)
    >>> round(counted.low, 12) == round(alone.low, 12), round(counted.high, 6)
    (True, 0.614065)
    """
    x = finite("values", values)
    if rows is None:
        frequency = None
        total = float(x.sum())
        n: float = x.size
    else:  # values that no unit has are left out
        frequency = finite("rows", rows)
        x = x[frequency > 0]
        frequency = frequency[frequency > 0]
        total = float(frequency @ x)
        n = float(frequency.sum())
    lowest, highest = ends
    may_be_0_or_1 = lowest <= 0 and highest >= 1
    if n and may_be_0_or_1 and ((x == 0) | (x == 1)).all():
        return wilson(total, n, level=level)
    value = float(ratio(total, n))
    # the influence of a unit on the mean is its deviation / n
    influence = minus(x, value) / max(n, 1)
    spread = Spread.from_influence(influence, frequency=frequency)
    return of_spread(value, spread, level=level, ends=ends)


def of_spread(value: float, spread: Spread, *, level: float, ends: Ends = UNBOUNDED) -> Estimate:
    """A value with the interval of a mean that has this spread of influence values: `bounded` if
    `ends`, the range of the metric, are finite, else `hall`.
    """
    n = int(spread.n)
    low, high = ends
    if np.isfinite(high - low):
        return bounded(value, spread.error, spread.skewness, n=n, level=level, ends=ends)
    return hall(value, spread.error, spread.skewness, n=n, level=level)


def mean_of_losses(
    values: ArrayLike, *, worst: float, level: float = 0.95, ends: Ends = UNBOUNDED
) -> Estimate:
    """The mean of a loss such as log loss, whose value for a wrong prediction of exactly 0 or 1 is
    extremely large (`worst`, a clipped infinity), with an interval that allows for such losses.

    A sample may contain none of them, although they occur. Predictions of 0 or 1 are known by their
    loss of 0 or `worst`, and the share of wrong ones among them has Wilson's limits. These limits
    are combined with the interval of the mean of the other losses by MOVER.

    >>> e = mean_of_losses([0, 0, 0, 1, 1, 2, 1, 2], worst=36.0)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.875, 0.22, 8.492)
    """
    losses = finite("values", values)
    certain = certain_predictions(losses, worst)
    other_losses = np.where(certain.wrong, 0.0, losses)
    rest = mean(other_losses, level=level, ends=ends)
    if not certain.sure.any():
        return rest
    wrong = certain.loss_of_wrong(worst, level)
    value = rest.value + wrong.value
    low, high = recovered(value, rest.reach, wrong.reach)
    return Estimate(value, low, high, level, losses.size, MEAN_WITH_CERTAIN)


class CertainPredictions(NamedTuple):
    """Two masks of units: wrong marks the wrong predictions of exactly 0 or 1, sure all predictions
    of exactly 0 or 1.
    """

    wrong: Bools
    sure: Bools

    def loss_of_wrong(self, worst: float, level: float) -> Estimate:
        """What the wrong ones among the sure predictions add to the mean loss of all units, with
        Wilson's limits of their share; n is the number of sure predictions. worst: the loss of a
        wrong one.
        """
        wrong = int((self.wrong & self.sure).sum())
        wrong_share = wilson(wrong, int(self.sure.sum()), level=level)
        loss_if_all_wrong = worst * float(self.sure.mean())
        return replace(
            wrong_share,
            value=loss_if_all_wrong * wrong_share.value,
            low=loss_if_all_wrong * wrong_share.low,
            high=loss_if_all_wrong * wrong_share.high,
        )


def certain_predictions(losses: Floats, worst: float) -> CertainPredictions:
    """The predictions of 0 or 1, recognised by their loss of 0 or `worst`; none are sure if `worst`
    is infinite: then any loss may occur.
    """
    wrong = losses >= worst * (1 - ROUNDING)
    sure = (wrong | (losses <= ROUNDING)) & np.isfinite(worst)
    return CertainPredictions(wrong, sure)


def certain_alone(first: Floats, second: Floats, worst: float) -> list[CertainPredictions]:
    """The predictions of 0 or 1 (certain ones) of each of two systems on the same units, less those
    that both systems make: these add nothing to the difference of the losses.

    first, second: the losses by unit, (n,) each. worst: the loss of a wrong prediction of 0 or 1.
    Only `sure` leaves out the common predictions. `wrong` still marks them, for callers that set
    the losses of all wrong predictions to 0.
    """
    first_certain = certain_predictions(first, worst)
    second_certain = certain_predictions(second, worst)
    # on the same unit two sure predictions are the same if both are wrong or both are right
    same_prediction = (
        first_certain.sure & second_certain.sure & (first_certain.wrong == second_certain.wrong)
    )
    return [
        system._replace(sure=system.sure & ~same_prediction)
        for system in (first_certain, second_certain)
    ]


def difference_of_losses(first: Floats, second: Floats, worst: float, *, level: float) -> Estimate:
    """The difference of the mean losses of two systems on the same units, with an interval that
    allows for wrong predictions of 0 or 1, as rare ones have by far the largest loss.

    Three terms are added up, with limits by MOVER. The first is the mean difference of all other
    losses, with the paired t interval. The second and the third are, for each system, the loss of
    its wrong predictions of 0 or 1. A system's limits follow from Wilson's of the share of wrong
    ones among its predictions of 0 or 1, without those that both systems make on a unit, as they
    add nothing to the difference.

    first, second: the losses by unit, (n,) each. worst: the loss of a wrong prediction of 0 or 1,
    such as that of a probability of 0 for what happens.

    >>> first, second = np.array([0.01, 0.02, 0.01, 0.5]), np.array([0, 0, 0, 0.5])
    >>> e = difference_of_losses(first, second, worst=36.0, level=0.95)
    >>> round(e.value, 3), round(e.low, 3), round(e.high, 3)
    (0.01, -15.15, 0.023)
    """
    n = first.size
    first_certain, second_certain = certain_alone(first, second, worst)
    # wrong predictions of 0 or 1 count as 0 here: they have terms of their own
    first_rest = np.where(first_certain.wrong, 0.0, first)
    second_rest = np.where(second_certain.wrong, 0.0, second)
    rest = mean_t(first_rest - second_rest, level=level)
    # units on which both are wrong are in both numbers, and cancel
    wrong_difference = int(first_certain.wrong.sum()) - int(second_certain.wrong.sum())
    value = rest.value + worst / n * wrong_difference
    # how far each term of the difference may move it down and up, for MOVER
    reaches = [rest.reach]
    if first_certain.sure.any():
        reaches.append(first_certain.loss_of_wrong(worst, level).reach)
    if second_certain.sure.any():
        second_wrong = second_certain.loss_of_wrong(worst, level)
        # reversed: the second system's upper limit lowers the difference
        reaches.append(second_wrong.reach[::-1])
    low, high = recovered(value, *reaches)
    return Estimate(value, low, high, level, n, PAIRED_T_WITH_CERTAIN)


def bounded(
    value: float, error: float, skew: float, *, n: int, level: float, ends: Ends = (0.0, 1.0)
) -> Estimate:
    """A mean of n units within a range, with Wilson's interval of the effective sample size.

    error: the standard error. skew: the skewness of the units. ends: the finite range. The
    effective sample size is the number of zeros and ones whose share would have the same variance
    (Korn and Graubard, Survey Methodology 1998). A few units may be equal by chance, and then show
    no variance: so one unit is added, with the largest variance that the mean allows. The more
    skewed the units are, the more the error itself varies: the quantile is that of t on fewer
    degrees of freedom, as in `hall`.

    >>> e = bounded(0.8, 0.02, -1.0, n=25, level=0.95)
    >>> round(e.low, 3), round(e.high, 3)
    (0.742, 0.848)
    >>> bounded(1.0, 0.0, 0.0, n=25, level=0.95).low == wilson(25, 25).low
    True
    """
    check_level(level)
    start, end = ends
    width = end - start
    if n < 2:
        return Estimate.without_limits(value, level, n, EFFECTIVE_WILSON)
    share = (value - start) / width  # the mean on a range of 0 to 1
    if share * (1 - share) <= 0:  # every unit is at one end: 0 or n of n are at the upper one
        units_at_high = n * float(np.clip(share, 0, 1))
        at_end = wilson(units_at_high, n, level=level)
        limits = Interval(at_end.low, at_end.high)
        method = at_end.method
    else:
        # The largest variance with a mean p is p (1 − p), of zeros and ones. p is the mean after a
        # 0 and a 1 were added: with a mean near an end p (1 − p) would be too small.
        padded_share = (share * n + 1) / (n + 2)
        largest_variance = padded_share * (1 - padded_share)  # of the added unit
        deviation_squares = n * (n - 1) * (error / width) ** 2  # Σ over the units
        variance = (deviation_squares + largest_variance) / n  # of a unit
        effective_n = n * share * (1 - share) / variance
        limits = _score_limits(share, effective_n, _skewed_quantile(skew, n, level))
        method = EFFECTIVE_WILSON
    low = float(start + width * limits.low)
    high = float(start + width * limits.high)
    return Estimate(float(value), low, high, level, int(n), method)


def _score_limits(share: float, n: float, q: float) -> Interval:
    """Wilson's limits of a share of n units: the p with |share − p| = q √(p (1 − p) / n), in which
    q is the quantile of the interval.
    """
    # the roots of the quadratic equation in p, (middle ± half_width) / divisor
    variance = n * share * (1 - share)  # of the number of successes
    q_square = q * q
    middle = n * share + q_square / 2
    half_width = q * np.sqrt(variance + q_square / 4)
    divisor = n + q_square
    low = (middle - half_width) / divisor
    high = (middle + half_width) / divisor
    return Interval(float(low), float(high))


def _skewed_quantile(skew: float, n: float, level: float) -> float:
    """The two-sided quantile of t at this level for a mean of n units; the degrees of freedom are
    the smaller of n − 1 and 2 n / skew², at least 1, see `hall`.
    """
    freedom = float(n - 1)
    if skew:
        freedom_by_skewness = ratio(2 * n, skew**2)
        freedom = float(np.clip(freedom_by_skewness, 1, n - 1))
    return t_quantile(level, freedom)


def hall(
    value: float, error: float, skew: float, *, n: float, level: float, method: str = HALL
) -> Estimate:
    """A mean of n units with limits by Hall's cubic transformation of t, which corrects for
    skewness.

    value: the mean. error: its standard error. skew: the skewness γ of the units. For skewed values
    T = (mean − μ) / standard error is skewed, with the true mean μ, but g(T) = T +
    γ (T² / 3 + 1 / 6) / √n + γ² T³ / (27 n) is nearly symmetric. g is increasing, so its inverse at
    the quantiles of t gives limits of T, and T gives those of μ. With γ = 0 they are Student's.

    Far out, where the inverse is very steep, a straight line takes its place: otherwise the limits
    of a sample of few units could lie endlessly far away. The quantiles have the smaller of n − 1
    and 2 n / γ² degrees of freedom, as the error itself varies more for skewed values. Hall, JRSS B
    1992, doi:10.1111/j.2517-6161.1992.tb01876.x.

    >>> e = hall(1.0, 0.1, 2.0, n=25, level=0.95)
    >>> round(e.low, 3), round(e.high, 3)
    (0.831, 1.386)
    """
    check_level(level)
    if n < 2:
        return Estimate.without_limits(value, level, n, method)
    # μ = value − error · T: the upper limit of T gives the lower limit of μ
    q = _skewed_quantile(skew, n, level)
    low = value - error * _inverse_of_hall(q, skew, n)
    high = value - error * _inverse_of_hall(-q, skew, n)
    return Estimate(float(value), float(low), float(high), level, int(n), method)


def _inverse_of_hall(q: float, skew: float, n: float) -> float:
    """The T at which Hall's g(T) is q, see `hall`: 3 √n / γ · (r − 1) with the skewness γ, the cube
    root r of x = 1 + γ u and u = q / √n − γ / (6 n). As r³ − 1 is γ u, the same T is
    3 √n u / (r² + r + 1), in which γ may be 0.

    Towards x = 0 the cube root becomes ever steeper, so that in a few samples a limit would lie
    very far out. Where r would be below BEND, a straight line in x takes its place in the divisor:
    it has the slope SLOPE and ends at 0.
    """
    u = q / np.sqrt(n) - skew / (6 * n)
    x = 1 + skew * u
    below_bend = BEND**3 - x
    line = max(BEND - SLOPE * below_bend, 0.0)
    root = np.cbrt(x) if below_bend < 0 else line
    divisor = root**2 + root + 1
    t = 3 * np.sqrt(n) * u / divisor
    return float(t)
