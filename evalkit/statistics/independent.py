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
from evalkit.statistics.intervals import Comparison, Estimate, t_quantile
from evalkit.statistics.proportions import ratio_score, two_proportions
from evalkit.statistics.significance import DifferenceByT, compare, limits_agreeing, rejected
from evalkit.statistics.spread import Interval, Spread, bisect, kish, satterthwaite


def difference(
    treatment: Arm,
    control: Arm,
    *,
    level: float = 0.95,
    unit: str = "user",
    method: str = "Welch t",
) -> Comparison:
    """The treatment's value − the control's, a mean or a ratio of sums each, tested by Welch's t on
    Satterthwaite's degrees of freedom.

    unit, method: what a page calls a user and the test. p and limits are NaN if an arm has fewer
    than two users or neither arm varies. Welch 1947, doi:10.1093/biomet/34.1-2.28.

    >>> round(difference(arm_of_mean([1, 2, 3, 4]), arm_of_mean([0, 1, 1, 2])).p_value, 4)
    0.106
    """
    error = float(np.sqrt(treatment.variance + control.variance))
    by_t = DifferenceByT(
        value=treatment.value - control.value,
        error=error or np.nan,  # t would divide by an error of 0
        n=treatment.n + control.n,
        freedom=_freedom(treatment, control),
        method=method,
        scale=0.0,  # no error is so small that it counts as rounding error
    )
    return by_t.comparison(level=level, unit=unit)


def lift(treatment: Arm, control: Arm, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """The treatment's value / the control's − 1 (relative difference), with Fieller's interval; p
    is that of `difference`.

    The lift is 0 if and only if the difference is, so that one test serves both: 0 lies outside the
    interval exactly if p < 1 − level. A limit is infinite if the control's interval contains 0, and
    everything is NaN if its value is 0. Fieller 1954, doi:10.1111/j.2517-6161.1954.tb00159.x.

    >>> round(lift(arm_of_mean([2, 4]), arm_of_mean([1, 3])).difference.value, 3)
    0.5
    """
    p = np.nan
    if control.value:
        p = difference(treatment, control, level=level).p_value
    interval = partial(_fieller, treatment, control, p)
    return compare(interval, p, level=level, unit=unit, method="Fieller")


def _fieller(treatment: Arm, control: Arm, p: float, level: float) -> Estimate:
    """The lift, which is the quotient of the arms less 1, with Fieller's limits: the quotients q at
    which |t| of (treatment − q · control) equals the quantile, less 1.

    p: of the test of no difference; NaN limits if p is NaN. If the control's interval contains 0,
    quotients of any size are possible. The lift then has two infinite limits, or one if p rejects a
    lift of 0.
    """
    quotient = float(ratio(treatment.value, control.value))
    value = quotient - 1
    n = treatment.n + control.n
    if np.isnan(p):
        return Estimate.without_limits(value, level, n, "Fieller")
    quantile = t_quantile(level, _freedom(treatment, control))
    half_width = quantile * np.sqrt(treatment.variance)
    control_half_width = quantile * np.sqrt(control.variance)
    limits = _fieller_quotients(treatment.value, control.value, half_width, control_half_width)
    control_may_be_0 = abs(control.value) <= control_half_width
    if control_may_be_0:
        limits = _unbounded_quotients(quotient, limits, rejected=rejected(p, level))
    return Estimate(value, limits.low - 1, limits.high - 1, level, n, "Fieller")


def share_lift(
    hits: int, n: int, control_hits: int, control_n: int, *, level: float = 0.95
) -> Comparison:
    """The ratio of two independent proportions − 1, (hits / n) / (control_hits / control_n) − 1,
    with p of the score test and the interval that inverts it (Koopman).

    NaN if control_hits is 0: the ratio is undefined.

    >>> e = share_lift(56, 70, 48, 80).difference
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.3333, 0.0798, 0.6708)
    """
    test = two_proportions(hits, n, control_hits, control_n, level=level)
    observed_ratio = float(ratio(hits / n, control_hits / control_n))
    value = observed_ratio - 1

    def interval(level_of_limits: float) -> Estimate:
        """The lift with Koopman's limits of the ratio, less 1."""
        quotient = ratio_score(hits, n, control_hits, control_n, level=level_of_limits)
        low = quotient.low - 1
        high = quotient.high - 1
        if not control_hits:  # Koopman's upper limit is infinite, but there is no ratio
            low = high = np.nan
        return Estimate(value, low, high, level_of_limits, quotient.n, quotient.method)

    p = test.p_value if control_hits else np.nan
    return compare(interval, p, level=level, unit=test.unit, method=test.method)


# One arm, and quotients of two


@dataclass(frozen=True, eq=False)
class Arm:
    """The mean or ratio of sums of one arm, with what its standard error needs.

    spread: moments of the influence of each user on the value; the sum of its squares gives the
    variance. users: the effective number, which gives the degrees of freedom. scaled_influence: the
    influence of each user times the number of users, (users,); empty if users are not in memory.
    """

    value: float
    spread: Spread
    users: float
    scaled_influence: Floats = field(default_factory=lambda: np.empty(0))

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
        """The degrees of freedom of the variance; at least 1, as Kish's number can be near 1."""
        return max(self.users - 1, 1)


def arm_with_value(value: float, scaled_influence: Floats, users: float | None = None) -> Arm:
    """An arm with this value.

    scaled_influence: the influence of each user on the value, times the number of users: for a mean
    the user's deviation from it. users: the effective number of users, by default their number.
    """
    n = scaled_influence.size
    influence = scaled_influence
    if n:
        # centred, as the jackknife's values need not add up to 0
        influence = (scaled_influence - scaled_influence.mean()) / n
    effective_users = float(n) if users is None else users
    spread = Spread.from_influence(influence)
    return Arm(value, spread, users=effective_users, scaled_influence=scaled_influence)


class CentredValues(NamedTuple):
    """The mean of an arm, and each user's value − mean."""

    mean: float
    deviations: Floats


def centre_values(values: Floats) -> CentredValues:
    """The mean of the users' values, NaN without users, and each user's deviation from it."""
    mean = float(ratio(values.sum(), values.size))
    return CentredValues(mean, minus(values, mean))


def arm_of_mean(values: ArrayLike) -> Arm:
    """The arm of a mean, from one value per user. Raises InputError for a value that is not
    finite.
    """
    mean, deviations = centre_values(finite("values", values))
    return arm_with_value(mean, scaled_influence=deviations)


def arm_of_ratio(values: Sums) -> Arm:
    """The arm of a ratio of sums, Σ numerator / Σ denominator, with the jackknife's error.

    values: a numerator and a denominator (`size`) per user. With denominators of 1 the result is
    that of `arm_of_mean`. The value is NaN if the denominators add up to 0. The error is NaN if a
    single user has the whole denominator.

    The influence of a user, times n, is (n − 1) times (ratio − ratio without the user). With many
    light users the jackknife equals the delta method. With a few users that have much of the
    denominator the delta method gives too small an error; the degrees of freedom allow for these
    users by Kish's number, (Σ denominator)² / Σ denominator². Tukey 1958; Deng, Knoblich, Lu,
    KDD 2018, doi:10.1145/3219819.3219919.

    >>> from evalkit.metrics.rows import Sums
    >>> round(arm_of_ratio(Sums([2, 1], [4, 2])).value, 3)
    0.5
    """
    numerator = finite("numerator", values.numerator)
    denominator = finite("denominator", values.size)
    n = same_length(numerator=numerator, denominator=denominator)
    total = denominator.sum()
    value = float(ratio(numerator.sum(), total))
    # exactly 0 for a user with the whole denominator, without whom there is no ratio
    total_of_others = np.where(denominator == total, 0.0, total - denominator)
    # ratio − ratio without the user is (numerator − ratio · denominator of the user) /
    # denominator of the others
    deviation = minus(numerator, value * denominator)
    scaled_influence = ratio((n - 1) * deviation, total_of_others)
    return arm_with_value(value, scaled_influence, users=kish(denominator))


def _freedom(first: Arm, second: Arm) -> float:
    """Satterthwaite's degrees of freedom of the difference of two arms."""
    variance = np.array([first.variance, second.variance])
    freedom = np.array([first.freedom, second.freedom])
    return satterthwaite(variance, freedom)


def _fieller_quotients(a: float, b: float, half_width_a: float, half_width_b: float) -> Interval:
    """Fieller's limits of a / b: the two q with (a − q b)² = half_width_a² + (q half_width_b)², the
    smaller one first.
    """
    # The quadratic lead q² − 2 a b q + last = 0. Its roots are (a b ± √discriminant) / lead. The
    # one whose numerator adds numbers of equal sign has no cancellation; the other one follows from
    # the product of both, last / lead.
    lead = b * b - half_width_b * half_width_b
    last = a * a - half_width_a * half_width_a
    product = a * b
    discriminant = product**2 - lead * last
    root = np.sqrt(np.maximum(discriminant, 0.0))
    numerator = product + np.copysign(root, product)
    root_by_sum = float(ratio(numerator, lead))
    root_by_product = float(last / numerator) if numerator else 0.0
    low, high = sorted((root_by_product, root_by_sum))
    return Interval(low, high)


def _unbounded_quotients(quotient: float, ends: Interval, *, rejected: bool) -> Interval:
    """Fieller's interval of a quotient whose divisor may be 0: unbounded on one side or on both.

    ends: the roots of Fieller's quadratic, between which the quotients are then rejected instead of
    those outside. The half line beyond `ends` that contains the observed quotient is the interval.
    rejected: True if the test rejects a difference of 0; otherwise no quotient can be excluded.
    """
    if not rejected:
        return Interval(-np.inf, np.inf)
    if quotient >= ends.high:
        return Interval(ends.high, np.inf)
    return Interval(-np.inf, ends.low)


# The studentised permutation test, for skewed arms of unequal size --------------------------------

# A permutation is one reassignment of all units to two arms of the original sizes. The test
# compares Welch's t of the data with Welch's t of every permutation. It is exact if the two
# distributions are equal, and right for many units if only the two means are equal. To test "the
# first mean is θ larger", θ is subtracted from the units of the first arm before they are permuted;
# to test "the first mean is r times the second", the units of the second arm are multiplied by r.
# The interval is the set of θ, or of r, that the test does not reject, so test and interval agree.
# Five sums are kept of each permutation; t follows from them for every θ and r. With strata, units
# are permuted within each stratum, and t is that of the mean of the differences in the strata,
# weighted by their numbers of units. Janssen 1997, doi:10.1016/S0167-7152(97)00043-6; Chung and
# Romano 2013, doi:10.1214/13-AOS1090.

METHOD = "studentised permutation"
MAX_ENUMERATED = 20_000  # up to so many possible permutations all are visited
MOST_DRAWS = 9_999
FEWEST_DRAWS = 1_999
MAX_UNITS_IN_ALL_DRAWS = 2**25  # units that are permuted in all: half a second
# relative to t: values of t closer than this differ by rounding and count as equal
T_TIE_TOLERANCE = 1e-9
DOUBLINGS = 80  # of the distance, in search of a limit: after 80 it is taken as infinite
HALVINGS = 25  # of the interval that holds a limit, which is then known to 3e-8 of its width
# skewness of the difference of the means from which Welch's tails are no longer 2.5% each
NOTABLE_SKEWNESS = 0.1
NO_VARIANCE = 1e-12  # a variance that is smaller, relative to its terms, is rounding error


def difference_skewness(first: Floats, second: Floats) -> float:
    """The skewness of (mean of the first arm − mean of the second) over samples, estimated from the
    values of the units of both arms; 0 if no unit varies.

    The larger it is, the more the two tails of Welch's t differ. It is 0 for arms of the same size
    and distribution.

    >>> round(difference_skewness(np.array([0.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0])), 6)
    0.0
    """
    n = first.size
    m = second.size
    first_variance = first.var()
    second_variance = second.var()
    first_skewness = Spread.from_influence(first - first.mean()).skewness
    second_skewness = Spread.from_influence(second - second.mean()).skewness
    variance = first_variance / n + second_variance / m
    # third central moments of independent means add up; that of a mean is that of a unit / n²
    third_moment = first_skewness * first_variance**1.5 / n**2
    third_moment -= second_skewness * second_variance**1.5 / m**2
    if variance > 0:
        return float(third_moment / variance**1.5)
    return 0.0


def pooled_skewness(first: Floats, second: Floats) -> float:
    """`difference_skewness`, up to its sign, if both arms have the variance and the skewness of all
    units around the mean of their arm: an arm of few units may not show its own.

    >>> round(pooled_skewness(np.array([0.0, 0.0]), np.array([0.0, 0.0, 3.0, 0.0])), 3)
    0.408
    """
    deviations = np.concatenate([first - first.mean(), second - second.mean()])
    n = first.size
    m = second.size
    skewness = Spread.from_influence(deviations).skewness
    # as in `difference_skewness` with one variance, which cancels, and one skewness
    variance = 1 / n + 1 / m
    third_moment = skewness * (1 / n**2 - 1 / m**2)
    return float(abs(third_moment) / variance**1.5)


def needs_permutation(first: Floats, second: Floats) -> bool:
    """True if `studentised` should replace Welch's t: the difference of the means is skewed, and
    there are few enough units to permute.

    first, second: one value per unit of each arm. At most about 16,000 units can be permuted. Units
    with the most frequent value do not count, as they are not permuted one by one.
    """
    if min(first.size, second.size) < 2:
        return False
    permuted_units = _units_off_mode(np.concatenate([first, second]))
    if permuted_units * FEWEST_DRAWS > MAX_UNITS_IN_ALL_DRAWS:
        return False
    # an arm of few units may not show its skewness: the larger estimate decides
    by_arm = abs(difference_skewness(first, second))
    pooled = abs(pooled_skewness(first, second))
    return max(by_arm, pooled) > NOTABLE_SKEWNESS


def _units_off_mode(values: Floats) -> int:
    """The number of values that differ from the most frequent value (mode). If more values differ
    than can be permuted, the result may be larger than this number.

    With more than twice as many values as can be permuted, the median, which is found without a
    sort, stands in for the mode. If more than half of the units have one value, it is both mode and
    median. Otherwise at least half of the units differ from any value: too many to permute, whether
    the median or the mode is left out.
    """
    most_units = MAX_UNITS_IN_ALL_DRAWS // FEWEST_DRAWS
    if values.size > 2 * most_units:
        middle = values.size // 2
        median = np.partition(values, middle)[middle]
        return int(np.count_nonzero(values != median))
    _, counts = np.unique(values, return_counts=True)
    return int(values.size - counts.max())


def studentised(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    strata: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
    unit: str = "user",
    max_enumerated: int = MAX_ENUMERATED,
) -> Comparison:
    """Mean of the first arm − mean of the second by the studentised permutation test: Welch's t of
    the data is compared with that of every reassignment of the units to two arms of the same sizes
    (permutation). p is twice the smaller tail; the interval is the set of true differences that the
    test does not reject. Janssen 1997, doi:10.1016/S0167-7152(97)00043-6.

    first, second: one value per unit. strata: the stratum of each unit of the first and of the
    second arm, None if all units are permuted together; each stratum must have units of both arms.
    unit: what a page calls a unit. max_enumerated: up to this number of possible permutations all
    are visited, above it random ones are drawn.

    >>> c = studentised([1, 2, 9, 30], [0, 1, 1, 2], rng=np.random.default_rng(1))
    >>> round(c.p_value * 70), c.method
    (14, 'studentised permutation')
    """
    first_values = finite("first", first)
    second_values = finite("second", second)
    permutations = _permutations(first_values, second_values, strata, rng, max_enumerated)
    value = permutations.value
    units = first_values.size + second_values.size
    variances = permutations.variance(_null_of_difference(0.0))
    observed_variance = variances[0]  # the first permutation is the data
    # the search for limits goes in steps of the standard error; if neither arm varies, of 1
    step = float(np.sqrt(observed_variance)) or 1.0
    # t of every permutation as a function of the tested difference: the search tests many
    polynomials = permutations.as_polynomials(_null_of_difference, centre=value, step=step)
    p = permutations.p
    interval = partial(_difference_interval, polynomials, value, p, units)
    return compare(interval, p, level=level, unit=unit, method=METHOD, tails=permutations.tails)


def _difference_interval(
    polynomials: PermutationPolynomials, value: float, p: float, units: int, level: float
) -> Estimate:
    """The observed difference with its limits: on each side the farthest difference that the test
    at this level does not reject.

    polynomials: t of each permutation for any tested difference. value: the observed difference. p:
    of the test of no difference. units: the number of units of both arms.
    """
    farthest = Interval(
        low=_difference_limit(polynomials, value, level, BELOW),
        high=_difference_limit(polynomials, value, level, ABOVE),
    )
    # the search is not exact, but 0 must lie outside exactly if p rejects it
    low, high = limits_agreeing(value, farthest, p, level)
    return Estimate(value, low, high, level, units, METHOD)


def _difference_limit(
    polynomials: PermutationPolynomials, observed: float, level: float, side: LimitSide
) -> float:
    """The limit of the interval on one side: the difference farthest from the observed one that the
    test at this level does not reject; infinite if it rejects none. polynomials: t of each
    permutation for any tested difference.
    """

    def not_rejected(distance: float) -> bool:
        """True if the true difference may be this far from the observed one."""
        tested = observed + side.sign * distance
        p = 2 * side.tail(polynomials.tails(tested))
        return not rejected(p, level)

    return observed + side.sign * _farthest(not_rejected, polynomials.step)


@dataclass(frozen=True)
class LimitSide:
    """Below or above the observed value. sign: −1 or 1. tail: the probability, out of both tails,
    that decides about tested values on this side: of t at least as large as observed for tested
    values below, and the other way round.
    """

    sign: float
    tail: Callable[[Tails], float]


BELOW = LimitSide(-1.0, lambda tails: tails.upper)
ABOVE = LimitSide(1.0, lambda tails: tails.lower)


class NullHypothesis(NamedTuple):
    """A tested hypothesis: the first mean is `shift` larger than `ratio` times the second."""

    shift: float
    ratio: float


def _null_of_difference(difference: float) -> NullHypothesis:
    """The hypothesis that the first mean is the second + `difference`."""
    return NullHypothesis(shift=difference, ratio=1.0)


def permuted_lift(
    first: ArrayLike, second: ArrayLike, *, rng: np.random.Generator, level: float = 0.95
) -> Comparison:
    """Mean of the first arm / mean of the second − 1 by the studentised permutation test; p is that
    of `studentised`.

    first, second: one value per unit, none below 0.

    The upper limit is infinite if no ratio above the observed one is rejected, the lower one is −1
    if none below it is. Value, limits and p are NaN if the second mean is 0.

    >>> c = permuted_lift([1, 2, 9, 30], [0, 1, 1, 2], rng=np.random.default_rng(1))
    >>> round(c.p_value * 70), round(c.difference.value, 2)
    (14, 9.5)
    """
    first_values = finite("first", first)
    second_values = finite("second", second)
    permutations = _permutations(
        first_values, second_values, strata=None, rng=rng, max_enumerated=MAX_ENUMERATED
    )
    observed_ratio = float(ratio(first_values.mean(), second_values.mean()))
    ratio_exists = bool(second_values.any())  # no value is negative: the mean is 0 only if all are
    p = permutations.p if ratio_exists else np.nan
    units = first_values.size + second_values.size

    def null_of_ratio(quotient: float) -> NullHypothesis:
        """The hypothesis that the first mean is `quotient` times the second."""
        # The first arm's x are compared with the second arm's q x. Permutations hold x − c, where c
        # is the most frequent value. Less q c, which changes no difference, the two are
        # (x − c) − (q − 1) c and q (x − c): so the shift is (q − 1) c.
        return NullHypothesis(shift=(quotient - 1) * permutations.most_frequent, ratio=quotient)

    # At ½, 1 and 1½; any other three ratios would give the same polynomials, as the difference is
    # linear in the ratio and its variance quadratic.
    polynomials = permutations.as_polynomials(null_of_ratio, centre=1.0, step=0.5)
    interval = partial(_lift_interval, polynomials, observed_ratio, p, units)
    tails = permutations.tails if ratio_exists else None
    return compare(interval, p, level=level, unit="user", method=METHOD, tails=tails)


def _lift_interval(
    polynomials: PermutationPolynomials, observed_ratio: float, p: float, units: int, level: float
) -> Estimate:
    """The observed lift, which is the ratio less 1, with its limits: on each side the farthest lift
    that the test at this level does not reject.

    polynomials: t of each permutation for any tested ratio. p: of the test of no difference, NaN if
    the ratio does not exist; the limits are then NaN. units: the number of units of both arms.
    """
    value = observed_ratio - 1
    if np.isnan(p):
        return Estimate.without_limits(value, level, units, METHOD)
    lowest = _ratio_limit(polynomials, observed_ratio, level, BELOW)
    highest = _ratio_limit(polynomials, observed_ratio, level, ABOVE)
    farthest = Interval(low=lowest - 1, high=highest - 1)
    # the search is not exact, but 0 must lie outside exactly if p rejects it
    low, high = limits_agreeing(value, farthest, p, level)
    return Estimate(value, low, high, level, units, METHOD)


def _ratio_limit(
    polynomials: PermutationPolynomials, observed: float, level: float, side: LimitSide
) -> float:
    """The limit of the interval on one side: the ratio farthest from the observed one that the test
    at this level does not reject; 0 or infinite if it rejects none.

    The search is on the log scale, or, if the observed ratio is 0, from 0 upwards. polynomials: as
    for `_lift_interval`.
    """
    if observed == 0:
        return _farthest_from_0(polynomials, level) if side is ABOVE else 0.0

    def not_rejected(distance: float) -> bool:
        """True if the log of the true ratio may be this far from that of the observed one."""
        tested = observed * np.exp(side.sign * distance)
        p = 2 * side.tail(polynomials.tails(tested))
        return not rejected(p, level)

    distance = _farthest(not_rejected, 1.0, max_distance=FARTHEST_LOG_RATIO)
    log_ratio = side.sign * distance  # infinite without a limit: the ratio is then 0 or infinite
    return float(observed * np.exp(log_ratio))


def _farthest_from_0(polynomials: PermutationPolynomials, level: float) -> float:
    """The largest ratio that the test does not reject if the observed one is 0."""

    def not_rejected(quotient: float) -> bool:
        """True if the true ratio may be this one."""
        p = 2 * polynomials.tails(quotient).lower
        return not rejected(p, level)

    return _farthest(not_rejected, 1.0)


# on the log scale: a limit beyond e^30, or its inverse, counts as infinite, or 0
FARTHEST_LOG_RATIO = 30.0


class PermutedSums(NamedTuple):
    """Sums over the units that each permutation puts into an arm: (strata, permutations) each.

    treated, treated_sum, treated_squares: the number, the sum and the sum of squares of those units
    that were observed in the first arm (the treatment). total, squares: the sum and the sum of
    squares of all.
    """

    treated: Floats
    treated_sum: Floats
    treated_squares: Floats
    total: Floats
    squares: Floats

    def under(self, null: NullHypothesis) -> ArmSums:
        """The sums after the hypothesis has made the units of both arms alike: x − shift in place
        of x for units that were observed in the first arm (treated), ratio · x for those of the
        second (controls). Each permutation mixes units of both.
        """
        shift = null.shift
        scaled_sum = null.ratio * (self.total - self.treated_sum)  # of the controls
        scaled_squares = null.ratio**2 * (self.squares - self.treated_squares)
        shifted_sum = self.treated_sum - shift * self.treated
        # Σ (x − shift)² = Σ x² − 2 shift Σ x + shift² n
        shifted_squares = self.treated_squares - 2 * shift * self.treated_sum
        shifted_squares += shift**2 * self.treated
        return ArmSums(total=shifted_sum + scaled_sum, squares=shifted_squares + scaled_squares)


class ArmSums(NamedTuple):
    """The sum and the sum of squares of the units of an arm: (strata, permutations) each."""

    total: Floats
    squares: Floats


class BothArms(NamedTuple):
    """The sums of the first and of the second arm."""

    first: ArmSums
    second: ArmSums


@dataclass(frozen=True, eq=False)
class Permutations:
    """Reassignments of all units to two arms, as sums: `first` over the units of the first arm,
    `pooled` over those of both arms.

    The first permutation is the data as observed. n, m: the number of units of the first and of the
    second arm, (strata, 1). most_frequent: the most frequent value of all units, which was
    subtracted from each.
    """

    first: PermutedSums
    pooled: PermutedSums
    n: Floats
    m: Floats
    most_frequent: float

    @property
    def weight(self) -> Floats:
        """Each stratum's share of all units, (strata, 1)."""
        units = self.n + self.m
        share: Floats = units / units.sum()
        return share

    @property
    def value(self) -> float:
        """The observed difference of the means."""
        differences = self.difference(_null_of_difference(0.0))
        return float(differences[0])  # the first permutation is the data

    @property
    def tails(self) -> Tails:
        """The tails of the test of no difference."""
        return self.as_polynomials(_null_of_difference, centre=0.0, step=1.0).tails(0.0)

    @property
    def p(self) -> float:
        """The p-value of no difference: twice the smaller tail."""
        return min(1.0, 2 * min(self.tails))

    def _arms(self, null: NullHypothesis) -> BothArms:
        """The sums of both arms of each permutation under a hypothesis."""
        first = self.first.under(null)
        pooled = self.pooled.under(null)
        second = ArmSums(pooled.total - first.total, pooled.squares - first.squares)
        return BothArms(first, second)

    def difference(self, null: NullHypothesis) -> Floats:
        """The mean of the first arm − that of the second, 0 on average under the hypothesis:
        (permutations,).
        """
        arms = self._arms(null)
        by_stratum = arms.first.total / self.n - arms.second.total / self.m
        difference: Floats = (self.weight * by_stratum).sum(axis=0)
        return difference

    def variance(self, null: NullHypothesis) -> Floats:
        """The squared standard error of the difference in each permutation: (permutations,)."""
        arms = self._arms(null)
        first_variance = _squared_error(arms.first, self.n, self.weight)
        return first_variance + _squared_error(arms.second, self.m, self.weight)

    def as_polynomials(
        self, null_at: Callable[[float], NullHypothesis], centre: float, step: float
    ) -> PermutationPolynomials:
        """The difference and the variance of each permutation as polynomials of a tested value x,
        which takes less than adding up the arms again for each x.

        null_at: x -> the tested hypothesis, whose shift and ratio are linear in x: so the
        difference of means is linear in x, and its variance quadratic. They are interpolated at
        centre − step, centre and centre + step; slopes are per step.
        """
        below = null_at(centre - step)
        middle = null_at(centre)
        above = null_at(centre + step)
        difference = self.difference(middle)
        slope = self.difference(above) - difference
        variance_below = self.variance(below)
        variance = self.variance(middle)
        variance_above = self.variance(above)
        variance_slope = (variance_above - variance_below) / 2
        variance_curvature = (variance_above + variance_below) / 2 - variance
        return PermutationPolynomials(
            centre=centre,
            step=step,
            difference=difference,
            slope=slope,
            variance=variance,
            variance_slope=variance_slope,
            variance_curvature=variance_curvature,
        )


@dataclass(frozen=True, eq=False)
class PermutationPolynomials:
    """The differences of means of all permutations, and their variances, as polynomials of
    y = (x − centre) / step with a tested value x, which give t of each permutation for any x.

    The difference is difference + slope y, and its variance is variance + variance_slope y +
    variance_curvature y²; one coefficient per permutation in each array.
    """

    centre: float
    step: float
    difference: Floats
    slope: Floats
    variance: Floats
    variance_slope: Floats
    variance_curvature: Floats

    def tails(self, x: float) -> Tails:
        """The shares of the permutations whose t is at most, and at least, that of the data, both
        with ties, if the true difference or ratio is x.
        """
        y = (x - self.centre) / self.step
        difference = self.difference + y * self.slope
        # variance + variance_slope y + variance_curvature y², with y factored out
        slope = self.variance_slope + y * self.variance_curvature
        variance = self.variance + y * slope
        rounding_error = NO_VARIANCE * variance.max()
        variance[variance < rounding_error] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            t = difference / np.sqrt(variance)
        t[np.isnan(t)] = 0.0  # 0 / 0: no difference, and no unit varies
        observed = t[0]  # the first permutation is the data
        rounding = 0.0  # of an infinite t, which ties only with itself
        if np.isfinite(observed):
            rounding = T_TIE_TOLERANCE * max(1.0, abs(observed))
        at_least = np.count_nonzero(t >= observed - rounding)
        at_most = np.count_nonzero(t <= observed + rounding)
        return Tails(lower=at_most / t.size, upper=at_least / t.size)


def _squared_error(arm: ArmSums, n: Floats, weight: Floats) -> Floats:
    """The squared standard error of an arm's weighted mean over strata, Σ weight · mean of the
    stratum, in each permutation: (permutations,).

    arm: the sums of the arm's units. n: the number of its units by stratum, (strata, 1). weight: of
    each stratum, (strata, 1). A variance that is only rounding error counts as 0.
    """
    deviation_squares = arm.squares - arm.total**2 / n  # Σ (x − mean)²
    rounding = NO_VARIANCE * arm.squares
    deviation_squares = np.where(deviation_squares > rounding, deviation_squares, 0.0)
    of_stratum = weight**2 * deviation_squares / n**2
    # n / (n − 1) makes a sample variance unbiased; of the whole arm, as a stratum may have one unit
    units = n.sum()
    variance: Floats = of_stratum.sum(axis=0) * units / (units - 1)
    return variance


# x and in_first of the units of a stratum -> the sums over the first arm in each permutation except
# the observed one, (fields of `PermutedSums`, permutations)
StratumPermutations = Callable[[Floats, Bools], Floats]


def _permutations(
    first_values: Floats,
    second_values: Floats,
    strata: tuple[ArrayLike, ArrayLike] | None,
    rng: np.random.Generator,
    max_enumerated: int,
) -> Permutations:
    """The permutations of the units of two arms, from their values: all if there are no strata and
    at most `max_enumerated` permutations, else random ones. In each stratum the units are permuted
    by themselves.

    first_values, second_values: one value per unit. strata: the stratum of each unit of the first
    and of the second arm; None if all units are permuted together. rng: draws random permutations.
    """
    values = np.concatenate([first_values, second_values])
    in_first = np.arange(values.size) < first_values.size
    distinct, counts = np.unique(values, return_counts=True)
    most_frequent = distinct[counts.argmax()]
    # as many units as possible then have x = 0, and add nothing to the sums of a permutation
    x = values - most_frequent
    stratum = np.zeros(x.size, np.int64)  # the number of each unit's stratum
    if strata is not None:
        strata_of_arms = [np.asarray(names) for names in strata]
        stratum, _ = codes(np.concatenate(strata_of_arms))
    permuted_sums: StratumPermutations = _every_permutation
    if strata is not None or comb(x.size, first_values.size) > max_enumerated:
        permuted_sums = _random_permutations(x, rng)
    first_by_stratum = []  # the sums over the first arm: (fields, permutations) each
    pooled_by_stratum = []  # the sums over both arms: (fields,) each
    for number in range(stratum.max(initial=0) + 1):
        in_stratum = stratum == number
        stratum_x = x[in_stratum]
        stratum_in_first = in_first[in_stratum]
        columns = _summed_columns(stratum_x, stratum_in_first)  # (units, fields)
        # the first permutation is the data
        observed = columns[stratum_in_first].sum(axis=0)[:, None]
        permuted = permuted_sums(stratum_x, stratum_in_first)
        first_by_stratum.append(np.hstack([observed, permuted]))
        pooled_by_stratum.append(columns.sum(axis=0))
    first = np.stack(first_by_stratum, axis=1)  # fields × strata × permutations
    # the sums of both arms are the same in every permutation: fields × strata × 1
    pooled = np.array(pooled_by_stratum).T[:, :, None]
    strata_count = len(first_by_stratum)
    # the units of the first arm and of the second in each stratum
    n = np.bincount(stratum[in_first], minlength=strata_count).astype(np.float64)
    m = np.bincount(stratum[~in_first], minlength=strata_count).astype(np.float64)
    return Permutations(
        first=PermutedSums(*first),
        pooled=PermutedSums(*pooled),
        n=n[:, None],
        m=m[:, None],
        most_frequent=float(most_frequent),
    )


def _random_permutations(x: Floats, rng: np.random.Generator) -> StratumPermutations:
    """A function that draws permutations of a stratum: the fewer, the more units are permuted in
    all, so that the time is bounded. x: of the units of all strata, 0 for those that are not
    permuted one by one.
    """
    permuted_units = max(int(np.count_nonzero(x)), 1)  # not 0: it divides
    draws = int(np.clip(MAX_UNITS_IN_ALL_DRAWS // permuted_units, FEWEST_DRAWS, MOST_DRAWS))
    return partial(_drawn_permutations, draws=draws, rng=rng)


def _summed_columns(x: Floats, in_first: Bools) -> Floats:
    """A row per unit with what it adds to each field of `PermutedSums`, in their order, in the arm
    that it is assigned to: (units, 5). x: the value of each unit. in_first: True if it was observed
    in the first arm.
    """
    return np.column_stack([in_first, x * in_first, x * x * in_first, x, x * x])


def _every_permutation(x: Floats, in_first: Bools) -> Floats:
    """The sums over the first arm of every permutation except the observed one: a row per field of
    `PermutedSums`, a column per permutation. Units of the first arm must come first. x, in_first:
    as for `_summed_columns`.
    """
    n = int(in_first.sum())
    # of each permutation the numbers of the units in its first arm, (permutations, n)
    choices = combinations(range(x.size), n)
    first_arms = np.array(list(choices))
    # the first combination, units 0 to n − 1, is the observed permutation
    other_arms = first_arms[1:]
    # what each unit adds, (permutations, units of the arm, fields), summed over the arm
    sums: Floats = _summed_columns(x, in_first)[other_arms].sum(axis=1).T
    return sums


PERMUTATIONS_AT_ONCE = 500  # random orders of all units that are held at once


def _drawn_permutations(x: Floats, in_first: Bools, draws: int, rng: np.random.Generator) -> Floats:
    """The sums over the first arm of random permutations: a row per field of `PermutedSums`, a
    column per permutation. x, in_first: as for `_summed_columns`. draws: the number of
    permutations.

    Units with the most frequent value have x = 0, and add only to the number of treated units. So
    only the other units are drawn one by one, in three steps: how many other units are in the first
    arm of a permutation (hypergeometric), which ones these are, and how many of the units with
    x = 0 that fill up the arm are treated (hypergeometric again).
    """
    nonzero = np.flatnonzero(x)
    nonzero_units = nonzero.size
    zero_units = x.size - nonzero_units
    n = int(in_first.sum())
    # sorted, so that the permutations do not depend on the order of the units in the input
    order = np.lexsort([in_first[nonzero], x[nonzero]])
    columns = _summed_columns(x, in_first)[nonzero[order]]
    # for each permutation, how many of the n units in its first arm have another x than 0
    nonzero_in_arm = rng.hypergeometric(nonzero_units, zero_units, n, draws)
    unit_numbers = np.arange(nonzero_units, dtype=np.intp)
    blocks = np.split(nonzero_in_arm, range(PERMUTATIONS_AT_ONCE, draws, PERMUTATIONS_AT_ONCE))
    sums = []
    for block in blocks:
        # a row per permutation: of a random order of the units the first ones are in the first arm
        ranks = rng.permuted(np.tile(unit_numbers, (len(block), 1)), axis=1)
        in_arm = (ranks < block[:, None]).astype(np.float64)
        sums.append(in_arm @ columns)
    fields = np.vstack(sums).T  # of `PermutedSums`
    is_treated_zero = in_first & (x == 0)  # treated: observed in the first arm
    zeros_treated = int(is_treated_zero.sum())
    zeros_of_second = zero_units - zeros_treated
    # how many of the zeros in the first arm of each permutation are treated
    treated_in_arm = rng.hypergeometric(zeros_treated, zeros_of_second, n - nonzero_in_arm)
    # the first field is `treated`, a number of units; the other sums of zeros are 0
    fields[0] += treated_in_arm
    return fields


def _farthest(holds: Callable[[float], bool], step: float, max_distance: float = np.inf) -> float:
    """The largest distance at which a condition holds; infinite if it still holds above
    `max_distance`, or after DOUBLINGS doublings of `step`.

    holds: distance -> the condition, which is true at 0 and false from some distance on. step: the
    first distance that is tried; it is doubled until the condition fails.
    """
    for _ in range(DOUBLINGS):
        if not holds(step):
            return bisect(holds, inside=0.0, outside=step, steps=HALVINGS).inside
        if step > max_distance:
            break
        step *= 2
    return np.inf
