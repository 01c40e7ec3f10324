"""Two independent samples, such as the arms of an A/B test: differences and lifts of means, ratios
and proportions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats, codes, finite, minus, ratio, same_length
from evalkit.metrics.rows import Sums
from evalkit.statistics.alternatives import Tails
from evalkit.statistics.intervals import Comparison, Estimate
from evalkit.statistics.proportions import ratio_score, two_proportions
from evalkit.statistics.significance import DifferenceByT, compare, limits_agreeing, rejected
from evalkit.statistics.spread import Interval, Spread, bisect, satterthwaite


def difference(
    treatment: Arm,
    control: Arm,
    *,
    level: float = 0.95,
    unit: str = "user",
    method: str = "Welch t",
) -> Comparison:
    """The treatment's mean or ratio of sums − the control's by t, users as units; freedom by
    Satterthwaite.

    p and limits are NaN if an arm has fewer than two users or neither arm varies.
    Welch 1947, doi:10.1093/biomet/34.1-2.28.

    >>> round(difference(mean_of([1, 2, 3, 4]), mean_of([0, 1, 1, 2])).p_value, 4)
    0.106
    """
    by_t = DifferenceByT(
        value=treatment.value - control.value,
        error=float(np.sqrt(treatment.variance + control.variance)) or np.nan,
        n=treatment.n + control.n,
        freedom=_freedom(treatment, control),
        method=method,
        scale=0.0,  # no error is taken for rounding
    )
    return by_t.comparison(level=level, unit=unit)


def lift(treatment: Arm, control: Arm, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """The treatment's mean or ratio of sums / the control's − 1 with Fieller's interval; p is that
    of `difference`.

    The lift is 0 exactly if the difference is, so that one test serves both: 0 lies outside the
    interval exactly if p < 1 − level. A limit is infinite if the control's could be 0; everything
    is NaN if it is 0. Fieller 1954, doi:10.1111/j.2517-6161.1954.tb00159.x.

    >>> round(lift(mean_of([2, 4]), mean_of([1, 3])).difference.value, 3)
    0.5
    """
    from scipy.special import stdtrit

    value = float(ratio(treatment.value, control.value)) - 1
    observed_ratio = value + 1  # a lift is a ratio − 1
    freedom = _freedom(treatment, control)
    p = np.nan if np.isnan(value) else difference(treatment, control, level=level).p_value
    n = treatment.n + control.n

    def interval(level_of_limits: float) -> Estimate:
        """The lift with Fieller's limits."""
        if np.isnan(p):
            return Estimate(value, np.nan, np.nan, level_of_limits, n, "Fieller")
        quantile = float(stdtrit(freedom, (1 + level_of_limits) / 2))
        reach = quantile * np.sqrt(treatment.variance)
        control_reach = quantile * np.sqrt(control.variance)
        quotients = _quotients(treatment.value, control.value, reach, control_reach)
        ratios = Interval(*sorted(quotients))
        if abs(control.value) <= control_reach:  # the control's could be 0
            ratios = _unbounded_quotients(
                observed_ratio, ratios, rejected=rejected(p, level_of_limits)
            )
        low = ratios.low - 1
        high = ratios.high - 1
        return Estimate(value, low, high, level_of_limits, n, "Fieller")

    return compare(interval, p, level=level, unit=unit, method="Fieller")


def share_lift(
    hits: int, n: int, control_hits: int, control_n: int, *, level: float = 0.95
) -> Comparison:
    """Ratio of two proportions − 1, with p of the score test and the interval that inverts it
    (Koopman).

    NaN if control_hits is 0.

    >>> e = share_lift(56, 70, 48, 80).difference
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.3333, 0.0798, 0.6708)
    """
    test = two_proportions(hits, n, control_hits, control_n, level=level)
    value = float(ratio(hits / n, control_hits / control_n)) - 1

    def interval(level_of_limits: float) -> Estimate:
        """The lift with Koopman's limits of the ratio, less 1."""
        quotient = ratio_score(hits, n, control_hits, control_n, level=level_of_limits)
        low = quotient.low - 1 if control_hits else np.nan
        high = quotient.high - 1 if control_hits else np.nan
        return Estimate(value, low, high, level_of_limits, quotient.n, quotient.method)

    p = test.p_value if control_hits else np.nan
    return compare(interval, p, level=level, unit=test.unit, method=test.method)


# One arm, and quotients of two


@dataclass(frozen=True, eq=False)
class Arm:
    """A statistic of one arm: its value, the spread of the users' influence on it, and the
    effective number of users.

    effect: the influence of each user on the value, times their number, if users are in memory.
    """

    value: float
    spread: Spread
    users: float
    effect: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def n(self) -> int:
        """The number of users."""
        return int(self.spread.n)

    @property
    def variance(self) -> float:
        """The squared standard error; NaN with fewer than two users."""
        return self.spread.error**2

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the variance."""
        return max(self.users - 1, 1)


def arm_of(value: float, effect: Floats, users: float | None = None) -> Arm:
    """An arm from the influence of each user on its value, times their number (`effect`).

    users: their effective number, by default their number.
    """
    n = effect.size
    influence = (effect - effect.mean()) / n if n else effect
    spread = Spread.from_influence(influence)
    return Arm(value, spread, users=n if users is None else users, effect=effect)


class CentredValues(NamedTuple):
    """The mean of an arm, and the difference of each user's value from it."""

    mean: float
    deviations: Floats


def centred(values: Floats) -> CentredValues:
    """The mean of an arm, and each user's deviation from it."""
    mean = float(ratio(values.sum(), values.size))
    return CentredValues(mean, minus(values, mean))


def mean_of(values: ArrayLike) -> Arm:
    """The mean of an arm. Raises InputError for a value that is not finite."""
    return arm_of(*centred(finite("values", values)))


def ratio_of(values: Sums) -> Arm:
    """The ratio of sums by the jackknife; a user's effect is (n − 1) times its drop if the user is
    left out.

    Leaving out each user gives heavy users their full weight in the error. The plain delta method,
    which it equals for many light users, rejects too often if a few users have much of the
    denominator. For the same reason the degrees of freedom use Kish's number of users, (Σ
    denominator)² / Σ denominator². With a denominator of ones it is `mean_of`. NaN if the
    denominator adds up to 0; the error too if only one user has one other than 0. Tukey 1958; Deng,
    Knoblich, Lu, KDD 2018, doi:10.1145/3219819.3219919.

    >>> from evalkit.metrics.rows import Sums
    >>> round(ratio_of(Sums([2, 1], [4, 2])).value, 3)
    0.5
    """
    top = finite("numerator", values.numerator)
    bottom = finite("denominator", values.size)
    n = same_length(numerator=top, denominator=bottom)
    total = bottom.sum()
    value = float(ratio(top.sum(), total))
    # exactly 0 for a user with the whole denominator, without whom there is no ratio
    total_of_others = np.where(bottom == total, 0.0, total - bottom)
    effect = ratio((n - 1) * minus(top, value * bottom), total_of_others)
    kish = float(ratio(total**2, bottom @ bottom))
    return arm_of(value, effect, kish)


def _freedom(first: Arm, second: Arm) -> float:
    """Satterthwaite's degrees of freedom of the difference of two arms."""
    variance = np.array([first.variance, second.variance])
    freedom = np.array([first.freedom, second.freedom])
    return satterthwaite(variance, freedom)


def _quotients(a: float, b: float, reach_a: float, reach_b: float) -> tuple[float, float]:
    """The two q with (a − q b)² = reach_a² + (q reach_b)², in no order."""
    # q² lead − 2 q a b + last = 0; `middle` is the sum that does not cancel
    lead = b * b - reach_b * reach_b
    last = a * a - reach_a * reach_a
    root = np.sqrt(np.maximum((a * b) ** 2 - lead * last, 0.0))
    middle = a * b + np.copysign(root, a * b)
    near = float(last / middle) if middle else 0.0
    far = float(ratio(middle, lead))
    return near, far


def _unbounded_quotients(quotient: float, ends: Interval, *, rejected: bool) -> Interval:
    """The open interval of a quotient whose divisor could be 0.

    It lies outside of `ends` on the side of the quotient; it is the whole line unless a difference
    of 0 is rejected.
    """
    if not rejected:
        return Interval(-np.inf, np.inf)
    if quotient >= ends.high:
        return Interval(ends.high, np.inf)
    return Interval(-np.inf, ends.low)


# The studentised permutation test, for skewed arms of unequal size --------------------------------

# A deal is one random reassignment of all units to two arms of the original sizes. The test
# compares Welch's t of the data with Welch's t of every deal. It is exact if the two distributions
# are equal, and right for many units if only the two means are equal. To test "the first mean is θ
# larger", θ is subtracted from the units of the first arm before they are dealt; to test "the first
# mean is r times the second", the units of the second arm are multiplied by r. The interval is the
# set of θ, or of r, that the test does not reject, so test and interval agree. Five sums are kept
# of each deal; t follows from them for every θ and r. With strata, units are dealt within each
# stratum, and t is that of the mean of the differences in the strata, weighted by their numbers of
# units. Janssen 1997, doi:10.1016/S0167-7152(97)00043-6; Chung and Romano 2013,
# doi:10.1214/13-AOS1090.

METHOD = "studentised permutation"
ALL_DEALS = 20_000  # up to so many possible deals all are visited
MOST_DRAWS = 9_999
FEWEST_DRAWS = 1_999
WORK = 2**25  # units dealt in all: half a second
TIE = 1e-9  # t closer than this are equal
DOUBLINGS = 80  # of a step, in search of a limit: beyond 2^80 steps there is none
HALVINGS = 25  # of the interval that holds a limit
# skewness of the difference of the means from which Welch's tails are no longer 2.5% each
SKEWED = 0.1
NO_VARIANCE = 1e-12  # relative size of a variance that is what rounding leaves of none


def difference_skewness(first: Floats, second: Floats) -> float:
    """The skewness of (mean of the first arm − mean of the second), from that of the units; 0 if no
    unit varies.

    The larger it is, the more the two tails of Welch's t differ. It is 0 for arms of the same size
    and shape.

    >>> round(difference_skewness(np.array([0.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0])), 6)
    0.0
    """
    n = first.size
    m = second.size
    var_a = first.var()
    var_b = second.var()
    skew_a = Spread.from_influence(first - first.mean()).skewness
    skew_b = Spread.from_influence(second - second.mean()).skewness
    variance = var_a / n + var_b / m
    third_moment = skew_a * var_a**1.5 / n**2 - skew_b * var_b**1.5 / m**2
    return float(third_moment / variance**1.5) if variance > 0 else 0.0


def pooled_skewness(first: Floats, second: Floats) -> float:
    """The skewness of the difference if both arms have the skewness of all units; few units may not
    show their own.

    >>> round(pooled_skewness(np.array([0.0, 0.0]), np.array([0.0, 0.0, 3.0, 0.0])), 3)
    0.408
    """
    deviations = np.concatenate([first - first.mean(), second - second.mean()])
    n = first.size
    m = second.size
    skewness = Spread.from_influence(deviations).skewness
    return float(skewness * abs(1 / n**2 - 1 / m**2) / (1 / n + 1 / m) ** 1.5)


def fits(first: Floats, second: Floats) -> bool:
    """True if Welch's t is unreliable, because the arms are skewed and differ, and there are at
    most 16,000 units.
    """
    if min(first.size, second.size) < 2:
        return False
    # units with the most frequent value are not dealt one by one
    dealt_units = _less_frequent(np.concatenate([first, second]))
    if dealt_units * FEWEST_DRAWS > WORK:
        return False
    # few units may not show their own skewness: the larger one decides
    own_skewness = abs(difference_skewness(first, second))
    return max(own_skewness, abs(pooled_skewness(first, second))) > SKEWED


def _less_frequent(values: Floats) -> int:
    """How many of the values are not the most frequent one; of very many values at least half of
    this number, without a sort.
    """
    most_units = WORK // FEWEST_DRAWS
    if values.size > 2 * most_units:
        # if fewer than half differ from the most frequent value, it is the median
        middle = values.size // 2
        median = np.partition(values, middle)[middle]
        return int(np.count_nonzero(values != median))
    return int(values.size - np.unique(values, return_counts=True)[1].max())


def studentised(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    strata: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
    unit: str = "user",
    dealt: int = ALL_DEALS,
) -> Comparison:
    """Return the comparison of two means; p is twice the smaller tail.

    strata: the stratum of each unit, for both arms; each stratum must have units of both arms.
    dealt: up to this number of possible deals all are visited, above it random ones are drawn.

    >>> c = studentised([1, 2, 9, 30], [0, 1, 1, 2], rng=np.random.default_rng(1))
    >>> round(c.p_value * 70), c.method
    (14, 'studentised permutation')
    """
    a = finite("first", first)
    b = finite("second", second)
    deals = _deals(a, b, strata, rng, dealt)
    value = deals.value
    units = a.size + b.size
    observed_variance = deals.variance(_shifts(0.0))[0]  # the first deal is the data
    step = float(np.sqrt(observed_variance)) or 1.0
    line = deals.along(_shifts, centre=value, step=step)

    def interval(level_of_limits: float) -> Estimate:
        """The difference with the farthest ones that are not rejected."""
        drawn = Interval(
            _difference_limit(line, value, level_of_limits, BELOW),
            _difference_limit(line, value, level_of_limits, ABOVE),
        )
        low, high = limits_agreeing(value, drawn, deals.p, level_of_limits)
        return Estimate(value, low, high, level_of_limits, units, METHOD)

    return compare(interval, deals.p, level=level, unit=unit, method=METHOD, tails=deals.tails)


def _difference_limit(line: DealsLine, observed: float, level: float, side: LimitSide) -> float:
    """The farthest difference on one side of the observed one that is not rejected."""

    def not_rejected(distance: float) -> bool:
        """True if the test at this level leaves the difference at this distance."""
        tail = side.tail(line.tails(observed + side.sign * distance))
        return not rejected(2 * tail, level)

    return observed + side.sign * _farthest(not_rejected, line.step)


@dataclass(frozen=True)
class LimitSide:
    """A side of the observed value: its sign, and the tail of the deals that rejects values
    there.
    """

    sign: float
    tail: Callable[[Tails], float]


BELOW = LimitSide(-1.0, lambda tails: tails.upper)
ABOVE = LimitSide(1.0, lambda tails: tails.lower)


class Null(NamedTuple):
    """A tested hypothesis: the first mean is `shift` larger than `ratio` times the second."""

    shift: float
    ratio: float


def _shifts(shift: float) -> Null:
    """The hypothesis that the first mean is `shift` larger."""
    return Null(shift, 1.0)


def permuted_lift(
    first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, level: float = 0.95
) -> Comparison:
    """Return the lift, mean of the first / mean of the second − 1, of values of 0 or more; p is
    that of `studentised`.

    A limit is infinite if no ratio on its side is rejected; everything is NaN if the second mean is
    0.

    >>> c = permuted_lift([1, 2, 9, 30], [0, 1, 1, 2], rng=np.random.default_rng(1))
    >>> round(c.p_value * 70), round(c.difference.value, 2)
    (14, 9.5)
    """
    a = finite("first", first)
    b = finite("second", second)
    deals = _deals(a, b, None, rng, ALL_DEALS)
    value = float(ratio(a.mean(), b.mean())) - 1
    observed_ratio = 1 + value  # a lift is a ratio − 1
    ratio_exists = bool(b.any())  # values are not negative: a mean of 0 has zeros alone
    p = deals.p if ratio_exists else np.nan
    n = a.size + b.size

    def scaled(quotient: float) -> Null:
        """The hypothesis that the first mean is `quotient` times the second."""
        # the most frequent value, 0 in the deals, must be multiplied too
        return Null((quotient - 1) * deals.most_frequent, quotient)

    deals_by_ratio = deals.along(scaled, centre=1.0, step=0.5)

    def interval(level_of_limits: float) -> Estimate:
        """The lift with the farthest ones that are not rejected."""
        if not ratio_exists:
            return Estimate(value, np.nan, np.nan, level_of_limits, n, METHOD)
        drawn = Interval(
            _ratio_limit(deals_by_ratio, observed_ratio, level_of_limits, BELOW) - 1,
            _ratio_limit(deals_by_ratio, observed_ratio, level_of_limits, ABOVE) - 1,
        )
        low, high = limits_agreeing(value, drawn, p, level_of_limits)
        return Estimate(value, low, high, level_of_limits, n, METHOD)

    tails = deals.tails if ratio_exists else None
    return compare(interval, p, level=level, unit="user", method=METHOD, tails=tails)


def _ratio_limit(line: DealsLine, observed: float, level: float, side: LimitSide) -> float:
    """The farthest ratio on one side of the observed one that is not rejected.

    The search is on the log scale; if the observed ratio is 0, from 0 upwards.
    """
    if observed == 0:
        return _farthest_from_0(line, level) if side is ABOVE else 0.0

    def not_rejected(distance: float) -> bool:
        """True if the test at this level leaves the ratio at this distance of logarithms."""
        tail = side.tail(line.tails(observed * np.exp(side.sign * distance)))
        return not rejected(2 * tail, level)

    distance = _farthest(not_rejected, 1.0, most=FARTHEST)
    if distance < np.inf:
        return float(observed * np.exp(side.sign * distance))
    return np.inf if side is ABOVE else 0.0


def _farthest_from_0(line: DealsLine, level: float) -> float:
    """The largest ratio that is not rejected if the observed one is 0."""

    def not_rejected(quotient: float) -> bool:
        """True if the test at this level leaves this ratio."""
        return not rejected(2 * line.tails(quotient).lower, level)

    return _farthest(not_rejected, 1.0)


FARTHEST = 30.0  # a ratio of e^30, or its inverse, beyond which nothing changes


class DealtSums(NamedTuple):
    """Sums over the units of an arm in each deal: strata × deals each.

    own, own_sum, own_squares: the number, the sum and the sum of squares of those units that were
    observed in the first arm. total, squares: the sum and the sum of squares of all.
    """

    own: Floats
    own_sum: Floats
    own_squares: Floats
    total: Floats
    squares: Floats

    def under(self, null: Null) -> ArmSums:
        """The sums if own units are less the shift, and the others multiplied by the ratio."""
        others = self.total - self.own_sum
        other_squares = self.squares - self.own_squares
        total = self.own_sum - null.shift * self.own + null.ratio * others
        own_squares = self.own_squares - 2 * null.shift * self.own_sum + null.shift**2 * self.own
        return ArmSums(total, own_squares + null.ratio**2 * other_squares)


class ArmSums(NamedTuple):
    """The sum and the sum of squares of the units of an arm: strata × deals each."""

    total: Floats
    squares: Floats


@dataclass(frozen=True, eq=False)
class Deals:
    """Sums over the units of each deal's first arm, and of both arms.

    The first deal is the data as observed. n, m: units of the first and of the second arm by
    stratum. most_frequent: the most frequent value, which was subtracted from all.
    """

    first: DealtSums
    pooled: DealtSums
    n: Floats
    m: Floats
    most_frequent: float

    @property
    def weight(self) -> Floats:
        """Each stratum's share of all units."""
        units = self.n + self.m
        share: Floats = units / units.sum()
        return share

    @property
    def value(self) -> float:
        """The observed difference of the means."""
        observed_deal = 0
        return float(self.difference(_shifts(0.0))[observed_deal])

    @property
    def tails(self) -> Tails:
        """The tails of no difference."""
        return self.along(_shifts, centre=0.0, step=1.0).tails(0.0)

    @property
    def p(self) -> float:
        """The p-value of no difference: twice the smaller tail."""
        return min(1.0, 2 * min(self.tails))

    def _arms(self, null: Null) -> tuple[ArmSums, ArmSums]:
        """The sums of the first and of the second arm under a hypothesis."""
        first = self.first.under(null)
        pooled = self.pooled.under(null)
        second = ArmSums(pooled.total - first.total, pooled.squares - first.squares)
        return first, second

    def difference(self, null: Null) -> Floats:
        """The difference of the means in each deal, less what the hypothesis says."""
        first, second = self._arms(null)
        by_stratum = first.total / self.n - second.total / self.m
        difference: Floats = (self.weight * by_stratum).sum(axis=0)
        return difference

    def variance(self, null: Null) -> Floats:
        """The squared standard error of the difference in each deal."""
        first, second = self._arms(null)
        first_variance = _squared_error(first, self.n, self.weight)
        return first_variance + _squared_error(second, self.m, self.weight)

    def along(self, null_at: Callable[[float], Null], centre: float, step: float) -> DealsLine:
        """The deals as functions of one number x. null_at: x -> the hypothesis, which is linear in
        x.
        """
        # a line is known from two points, a quadratic from three
        null = null_at(centre)
        null_above = null_at(centre + step)
        difference = self.difference(null)
        slope = self.difference(null_above) - difference
        variance_below = self.variance(null_at(centre - step))
        variance = self.variance(null)
        variance_above = self.variance(null_above)
        variance_slope = (variance_above - variance_below) / 2
        variance_bend = (variance_above + variance_below) / 2 - variance
        return DealsLine(
            centre=centre,
            step=step,
            difference=difference,
            slope=slope,
            variance=variance,
            variance_slope=variance_slope,
            variance_bend=variance_bend,
        )


@dataclass(frozen=True, eq=False)
class DealsLine:
    """The deals as functions of x: each difference is linear, its variance quadratic in y = (x −
    centre) / step.

    difference, slope: the coefficients of 1 and y. variance, variance_slope, variance_bend: those
    of 1, y and y². One number per deal each.
    """

    centre: float
    step: float
    difference: Floats
    slope: Floats
    variance: Floats
    variance_slope: Floats
    variance_bend: Floats

    def tails(self, x: float) -> Tails:
        """The tails of t at x, beyond that of the data."""
        y = (x - self.centre) / self.step
        variance = self.variance + y * (self.variance_slope + y * self.variance_bend)
        variance[variance < NO_VARIANCE * variance.max()] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (self.difference + y * self.slope) / np.sqrt(variance)
        t[np.isnan(t)] = 0.0  # 0 / 0: neither the difference nor a unit varies
        observed = t[0]  # the first deal is the data
        tie = TIE * max(1.0, abs(observed)) if np.isfinite(observed) else 0.0
        upper = np.count_nonzero(t >= observed - tie) / t.size
        lower = np.count_nonzero(t <= observed + tie) / t.size
        return Tails(lower, upper)


def _squared_error(arm: ArmSums, n: Floats, weight: Floats) -> Floats:
    """The squared standard error of an arm's weighted mean over strata, in each deal.

    n: units by stratum. A variance that is only rounding error counts as 0.
    """
    deviation_squares = arm.squares - arm.total**2 / n
    rounding = NO_VARIANCE * arm.squares
    deviation_squares = np.where(deviation_squares > rounding, deviation_squares, 0.0)
    units = n.sum()
    variance: Floats = (weight**2 * deviation_squares / n**2).sum(axis=0) * units / (units - 1)
    return variance


def _deals(
    a: Floats,
    b: Floats,
    strata: tuple[ArrayLike, ArrayLike] | None,
    rng: np.random.Generator,
    dealt: int,
) -> Deals:
    """All deals if they are few and there is one stratum, else random ones; the most frequent value
    is subtracted.
    """
    pooled = np.concatenate([a, b])
    in_first = np.arange(pooled.size) < a.size
    distinct, counts = np.unique(pooled, return_counts=True)
    most_frequent = distinct[counts.argmax()]
    x = pooled - most_frequent  # units with 0 add nothing to the sums of a deal
    if strata is None:
        stratum = np.zeros(x.size, np.int64)
    else:
        stratum = codes(np.concatenate([np.asarray(names) for names in strata]))[0]
    draws = int(np.clip(WORK // max(int(np.count_nonzero(x)), 1), FEWEST_DRAWS, MOST_DRAWS))
    sums_of_deals: Callable[[Floats, Bools], Floats]
    sums_of_deals = partial(_drawn_deals, draws=draws, rng=rng)
    if strata is None and comb(x.size, a.size) <= dealt:
        sums_of_deals = _every_deal
    first = []  # for each stratum the sums of the first arm, (fields of `DealtSums`, deals)
    both = []  # for each stratum the sums of both arms, one per field
    for number in range(stratum.max(initial=0) + 1):
        member = stratum == number
        own = in_first[member]
        columns = _summed_columns(x[member], own)
        observed = columns[own].sum(axis=0)[:, None]
        first.append(np.hstack([observed, sums_of_deals(x[member], own)]))
        both.append(columns.sum(axis=0))
    n = np.bincount(stratum[in_first], minlength=len(first)).astype(np.float64)[:, None]
    m = np.bincount(stratum[~in_first], minlength=len(first)).astype(np.float64)[:, None]
    return Deals(
        first=DealtSums(*np.stack(first, axis=1)),
        pooled=DealtSums(*np.array(both).T[:, :, None]),  # the same in every deal
        n=n,
        m=m,
        most_frequent=float(most_frequent),
    )


def _summed_columns(x: Floats, in_first: Bools) -> Floats:
    """The columns that are summed over the first arm of a deal, in the order of `DealtSums`. x: the
    value of each unit. in_first: True if it was observed in the first arm.
    """
    return np.column_stack([in_first, x * in_first, x * x * in_first, x, x * x])


def _every_deal(x: Floats, in_first: Bools) -> Floats:
    """The sums of every deal but the observed one, which is the first in lexicographic order: one
    column per deal.
    """
    n = int(in_first.sum())
    first_arms = np.array(list(combinations(range(x.size), n)))[1:].reshape(-1, n)
    sums: Floats = _summed_columns(x, in_first)[first_arms].sum(axis=1).T
    return sums


DEALS_AT_ONCE = 500  # random orders of all units that are held at once


def _drawn_deals(x: Floats, in_first: Bools, draws: int, rng: np.random.Generator) -> Floats:
    """The sums of random deals: a row per field of `DealtSums`, a column per deal.

    Units with the most frequent value, 0, are not drawn one by one, only their number and their
    arms.
    """
    moving = np.flatnonzero(x)
    n = int(in_first.sum())
    order = np.lexsort([in_first[moving], x[moving]])  # the order of the units changes no deal
    columns = _summed_columns(x, in_first)[moving[order]]
    k = moving.size
    taken = rng.hypergeometric(k, x.size - k, n, draws)  # moving units in the first arm
    sums = []
    for block in np.split(taken, range(DEALS_AT_ONCE, draws, DEALS_AT_ONCE)):
        # the first units of a random order are taken
        ranks = rng.permuted(np.tile(np.arange(k, dtype=np.intp), (len(block), 1)), axis=1)
        sums.append((ranks < block[:, None]).astype(np.float64) @ columns)
    deals = np.vstack(sums).T
    zeros_in_first = int(np.sum(in_first & (x == 0)))
    own_zeros = rng.hypergeometric(zeros_in_first, x.size - k - zeros_in_first, n - taken)
    deals[0] += own_zeros  # the row of `own`, their number: the other sums of zeros are 0
    return deals


def _farthest(holds: Callable[[float], bool], step: float, most: float = np.inf) -> float:
    """The largest distance that holds, by doubling and bisection; infinite if every distance up to
    `most` does.
    """
    for _ in range(DOUBLINGS):
        if not holds(step):
            return bisect(holds, inside=0.0, outside=step, steps=HALVINGS).inside
        if step > most:
            break
        step *= 2
    return np.inf
