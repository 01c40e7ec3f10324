"""Two independent samples, such as the arms of an A/B test: differences and lifts of means, ratios
and proportions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, codes, finite, minus, ratio, same_length
from evalkit.metrics.rows import Sums
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.proportions import ratio_score, two_proportions
from evalkit.statistics.significance import ByT, Comparison, agree, compare, rejected
from evalkit.statistics.spread import Spread, bisect, satterthwaite


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
    arms = [treatment, control]
    error = float(np.sqrt(sum(arm.variance for arm in arms))) or np.nan
    n = sum(arm.n for arm in arms)
    t = ByT(treatment.value - control.value, error, n, _freedom(arms), method, scale=0.0)
    return t.compared(level=level, unit=unit)


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

    a, b = treatment, control
    value = float(ratio(a.value, b.value)) - 1
    freedom = _freedom([a, b])
    p = difference(a, b, level=level).p_value if value == value else np.nan

    def interval(at: float) -> Estimate:
        q = float(stdtrit(freedom, (1 + at) / 2))
        reach_a = q * np.sqrt(a.variance)
        reach_b = q * np.sqrt(b.variance)
        low, high = sorted(_quotients(a.value, b.value, reach_a, reach_b))
        if abs(b.value) <= reach_b:
            low, high = _open(value + 1, (low, high), rejected=rejected(p, at))
        limits = (low - 1, high - 1) if p == p else (np.nan, np.nan)
        return Estimate(value, *limits, at, a.n + b.n, "Fieller")

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

    def interval(at: float) -> Estimate:
        e = ratio_score(hits, n, control_hits, control_n, level=at)
        low, high = (e.low - 1, e.high - 1) if control_hits else (np.nan, np.nan)
        return Estimate(
            float(ratio(hits / n, control_hits / control_n)) - 1, low, high, at, e.n, e.method
        )

    p = test.p_value if control_hits else np.nan
    return compare(interval, p, level=level, unit=test.unit, method=test.method)


# One arm, and two of them


@dataclass(frozen=True, eq=False)
class Arm:
    """A statistic of one arm: its value, the spread of the users' influence on it, and the
    effective number of users.

    effect: the influence of each user on the value, if users are in memory.
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
    """An arm from the values of its users."""
    n = effect.size
    return Arm(
        value,
        Spread.of((effect - effect.mean()) / n if n else effect),
        n if users is None else users,
        effect,
    )


def centred(values: Floats) -> tuple[float, Floats]:
    """The mean of an arm, and the difference of each user's value from it."""
    value = float(ratio(values.sum(), values.size))
    return value, minus(values, value)


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
    whole = bottom.sum()
    value = float(ratio(top.sum(), whole))
    without = np.where(bottom == whole, 0.0, whole - bottom)
    effect = ratio((n - 1) * minus(top, value * bottom), without)
    return arm_of(value, effect, float(ratio(whole**2, bottom @ bottom)))


def _freedom(arms: Sequence[Arm]) -> float:
    """Satterthwaite's degrees of freedom."""
    variance, freedom = (
        np.array([getattr(arm, name) for arm in arms]) for name in ("variance", "freedom")
    )
    return satterthwaite(variance, freedom)


def _quotients(a: float, b: float, reach_a: float, reach_b: float) -> tuple[float, float]:
    """The two q with (a − q b)² = reach_a² + (q reach_b)²; the smaller one first if a and b are
    positive.
    """
    lead = b * b - reach_b * reach_b
    last = a * a - reach_a * reach_a
    middle = a * b + np.copysign(np.sqrt(np.maximum((a * b) ** 2 - lead * last, 0.0)), a * b)
    return (float(last / middle) if middle else 0.0), float(ratio(middle, lead))


def _open(quotient: float, ends: Sequence[float], *, rejected: bool) -> tuple[float, float]:
    """The open interval of a quotient whose divisor could be 0: outside of `ends` on its side, or
    everything.
    """
    if not rejected:
        return -np.inf, np.inf
    return (ends[1], np.inf) if quotient >= ends[1] else (-np.inf, ends[0])


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
DEALT = 20_000  # up to so many possible deals all are visited
DRAWS, FEWEST = 9_999, 1_999
WORK = 2**25  # units dealt in all: half a second
TIE = 1e-9  # t closer than this are equal
STEPS = 25  # halvings of the interval that holds a limit
SKEWED = (
    0.1  # skewness of the difference of the means from which Welch's tails are no longer 2.5% each
)


def difference_skewness(first: Floats, second: Floats) -> float:
    """The skewness of (mean of the first arm − mean of the second), from that of the units; 0 if no
    unit varies.

    The larger it is, the more the two tails of Welch's t differ. It is 0 for arms of the same size
    and shape.

    >>> round(difference_skewness(np.array([0.0, 0.0, 3.0]), np.array([0.0, 0.0, 3.0])), 6)
    0.0
    """
    (a, skew_a, n), (b, skew_b, m) = (
        (x.var(), Spread.of(x - x.mean()).skewness, x.size) for x in (first, second)
    )
    variance = a / n + b / m
    cube = skew_a * a**1.5 / n**2 - skew_b * b**1.5 / m**2
    return float(cube / variance**1.5) if variance > 0 else 0.0


def pooled_skewness(first: Floats, second: Floats) -> float:
    """The skewness of the difference if both arms have the skewness of all units; few units may not
    show their own.

    >>> round(pooled_skewness(np.array([0.0, 0.0]), np.array([0.0, 0.0, 3.0, 0.0])), 3)
    0.408
    """
    spread = np.concatenate([first - first.mean(), second - second.mean()])
    n, m = first.size, second.size
    return float(Spread.of(spread).skewness * abs(1 / n**2 - 1 / m**2) / (1 / n + 1 / m) ** 1.5)


def fits(first: Floats, second: Floats) -> bool:
    """True if Welch's t is unreliable, because the arms are skewed and differ, and there are at
    most 16,000 units.
    """
    if min(first.size, second.size) < 2 or _unlike(np.concatenate([first, second])) * FEWEST > WORK:
        return False
    return (
        max(abs(difference_skewness(first, second)), abs(pooled_skewness(first, second))) > SKEWED
    )


def _unlike(values: Floats) -> int:
    """How many of the values are not the most frequent one; of many, where these are most of them,
    half or more.
    """
    if values.size > 2 * (WORK // FEWEST):  # more than half are the middle one, which takes no sort
        return int(
            np.count_nonzero(values != np.partition(values, values.size // 2)[values.size // 2])
        )
    return int(values.size - np.unique(values, return_counts=True)[1].max())


def studentised(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    strata: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
    unit: str = "user",
    dealt: int = DEALT,
) -> Comparison:
    """Return the comparison of two means; p is twice the smaller tail.

    strata: the stratum of each unit, for both arms; each stratum must have units of both arms.
    dealt: up to this number of possible deals all are visited, above it random ones are drawn.

    >>> c = studentised([1, 2, 9, 30], [0, 1, 1, 2], rng=np.random.default_rng(1))
    >>> round(c.p_value * 70), c.method
    (14, 'studentised permutation')
    """
    arms = finite("first", first), finite("second", second)
    deals = _deals(*arms, strata, rng, dealt)
    value = deals.value
    units = arms[0].size + arms[1].size
    step = float(np.sqrt(deals.variance(0.0)[0])) or 1.0
    line = deals.along(lambda x: (x, 1.0), value, step)

    def limit(at: float, side: int, away: float) -> float:
        return value + away * _farthest(
            lambda far: not rejected(2 * line.tails(value + away * far)[side], at), step
        )

    def interval(at: float) -> Estimate:
        low, high = (limit(at, side, away) for side, away in SIDES)
        return Estimate(value, *agree(value, (low, high), deals.p, at), at, units, METHOD)

    return compare(interval, deals.p, level=level, unit=unit, method=METHOD)


SIDES = ((0, -1.0), (1, 1.0))  # below and above


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
    deals = _deals(a, b, None, rng, DEALT)
    value = float(ratio(a.mean(), b.mean())) - 1
    p = deals.p if b.any() else np.nan
    line = deals.along(lambda x: ((x - 1) * deals.usual, x), 1.0, 0.5)

    def interval(at: float) -> Estimate:
        if not b.any():
            return Estimate(value, np.nan, np.nan, at, a.size + b.size, METHOD)
        ends = (_ratio_limit(line, 1 + value, at, side, away) - 1 for side, away in SIDES)
        return Estimate(
            value, *agree(value, (next(ends), next(ends)), p, at), at, a.size + b.size, METHOD
        )

    return compare(interval, p, level=level, unit="user", method=METHOD)


def _ratio_limit(line: Line, ratio_is: float, level: float, side: int, away: float) -> float:
    """The farthest ratio on one side that is not rejected; on the log scale; from 0 if the observed
    ratio is 0.
    """

    def holds(distance: float) -> bool:
        times = ratio_is * np.exp(away * distance) if ratio_is > 0 else distance
        return not rejected(2 * line.tails(times)[side], level)

    if ratio_is == 0:
        return _farthest(holds, 1.0) if side else 0.0
    distance = _farthest(holds, 1.0, most=FARTHEST)
    return (
        float(ratio_is * np.exp(away * distance))
        if distance < np.inf
        else (np.inf if side else 0.0)
    )


FARTHEST = 30.0  # a ratio of e^30, or its inverse, beyond which nothing changes


@dataclass(frozen=True, eq=False)
class Deals:
    """Sums over the units of each deal's first arm, `sums`, and of both arms, `whole`: sums ×
    strata × deals.

    The first deal is the data as observed. The sums are: the number, the sum and the sum of squares
    of those units that were observed in the first arm, the sum and the sum of squares of all. m:
    units of the second arm by stratum. usual: the most frequent value, which was subtracted from
    all.
    """

    sums: Floats
    whole: Floats
    m: Floats
    usual: float

    @property
    def n(self) -> Floats:
        """Units of the first arm by stratum."""
        return self.whole[0]

    @property
    def weight(self) -> Floats:
        """Each stratum's share of all units."""
        units = self.n + self.m
        return units / units.sum()

    @property
    def value(self) -> float:
        """The observed difference of the means."""
        return float(self.gap(0.0)[0])

    @property
    def p(self) -> float:
        """The p-value of no difference: twice the smaller tail."""
        return min(1.0, 2 * min(self.along(lambda x: (x, 1.0), 0.0, 1.0).tails(0.0)))

    def _arms(self, theta: float, times: float) -> list[tuple[Floats, Floats]]:
        """Sum and sum of squares of both arms."""
        first = _changed(self.sums, theta, times)
        whole = _changed(self.whole, theta, times)
        return [first, (whole[0] - first[0], whole[1] - first[1])]

    def gap(self, theta: float, times: float = 1.0) -> Floats:
        """The difference of the means in each deal."""
        (first, _), (second, _) = self._arms(theta, times)
        return (self.weight * (first / self.n - second / self.m)).sum(axis=0)

    def variance(self, theta: float, times: float = 1.0) -> Floats:
        """The squared standard error of the difference in each deal."""
        arms = zip(self._arms(theta, times), (self.n, self.m), strict=True)
        first, second = (_error(squares, total, n, self.weight) for (total, squares), n in arms)
        return first + second

    def along(
        self, path: Callable[[float], tuple[float, float]], centre: float, step: float
    ) -> Line:
        """The deals as functions of one number x, in which θ and `times` are linear."""
        below, here, above = (path(centre + side * step) for side in (-1, 0, 1))
        gap = self.gap(*here)
        variance = [self.variance(*at) for at in (below, here, above)]
        slope = (variance[2] - variance[0]) / 2
        bend = (variance[2] + variance[0]) / 2 - variance[1]
        return Line(centre, step, (gap, self.gap(*above) - gap), (variance[1], slope, bend))


def _changed(sums: Floats, theta: float, times: float) -> tuple[Floats, Floats]:
    """Sum and sum of squares where own units are less θ, and the others multiplied by `times`."""
    own, own_sum, own_square, total, square = sums
    squares = own_square - 2 * theta * own_sum + theta**2 * own + times**2 * (square - own_square)
    return own_sum - theta * own + times * (total - own_sum), squares


@dataclass(frozen=True, eq=False)
class Line:
    """The deals as functions of x: each difference is linear, its variance quadratic in y = (x −
    centre) / step.

    gap, variance: the coefficients of 1, y and y², one number per deal.
    """

    centre: float
    step: float
    gap: tuple[Floats, Floats]
    variance: tuple[Floats, Floats, Floats]

    def tails(self, x: float) -> tuple[float, float]:
        """The share of deals whose t is at least that of the data, and the share whose t is at most
        that.
        """
        y = (x - self.centre) / self.step
        level, slope, bend = self.variance
        variance = level + y * (slope + y * bend)
        variance[variance < 1e-12 * variance.max()] = 0.0  # what rounding leaves of none
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (self.gap[0] + y * self.gap[1]) / np.sqrt(variance)
        t[np.isnan(t)] = 0.0
        edge = TIE * max(1.0, abs(t[0])) if np.isfinite(t[0]) else 0.0
        return np.count_nonzero(t >= t[0] - edge) / t.size, np.count_nonzero(
            t <= t[0] + edge
        ) / t.size


def _error(squares: Floats, total: Floats, n: Floats, weight: Floats) -> Floats:
    """The squared standard error of a weighted mean over strata; a variance that is only rounding
    error counts as 0.
    """
    spread = squares - total**2 / n
    spread = np.where(spread > 1e-12 * squares, spread, 0.0)
    return (weight**2 * spread / n**2).sum(axis=0) * n.sum() / (n.sum() - 1)


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
    mine = np.arange(a.size + b.size) < a.size
    values, counts = np.unique(pooled, return_counts=True)
    usual = values[counts.argmax()]
    x = pooled - usual
    of = (
        np.zeros(x.size, np.int64)
        if strata is None
        else codes(np.concatenate([np.asarray(s) for s in strata]))[0]
    )
    draws = int(np.clip(WORK // max(int(np.count_nonzero(x)), 1), FEWEST, DRAWS))
    draw = _every if strata is None and comb(x.size, a.size) <= dealt else _drawn
    parts = []
    whole = []
    for at in range(of.max(initial=0) + 1):
        own = mine[of == at]
        sums = _sums(x[of == at], mine[of == at])
        parts.append(
            np.hstack([sums[own].sum(axis=0)[:, None], draw(x[of == at], own, draws, rng)])
        )
        whole.append(sums.sum(axis=0))
    m = np.bincount(of[~mine], minlength=len(parts)).astype(np.float64)[:, None]
    return Deals(np.stack(parts, axis=1), np.array(whole).T[:, :, None], m, float(usual))


def _sums(x: Floats, mine: np.ndarray) -> Floats:
    """The columns that are summed over the first arm of a deal: observed in it (0 or 1), x and x²
    of these, x, x².
    """
    return np.column_stack([mine, x * mine, x * x * mine, x, x * x])


def _every(x: Floats, mine: np.ndarray, draws: int, rng: np.random.Generator) -> Floats:
    """Every deal but the observed one, which is the first in lexicographic order."""
    n = int(mine.sum())
    places = np.array(list(combinations(range(x.size), n)))[1:].reshape(-1, n)
    return _sums(x, mine)[places].sum(axis=1).T


def _drawn(x: Floats, mine: np.ndarray, draws: int, rng: np.random.Generator) -> Floats:
    """Random deals. Units with the most frequent value are not drawn one by one, only their number
    and their arms.
    """
    moving = np.flatnonzero(x)
    n = int(mine.sum())
    order = np.lexsort([mine[moving], x[moving]])  # the order of the units changes no deal
    sums = _sums(x, mine)[moving[order]]
    k = moving.size
    taken = rng.hypergeometric(k, x.size - k, n, draws)
    parts = []
    for some in np.split(
        taken, range(500, draws, 500)
    ):  # the sums over the first units of random orders
        ranks = rng.permuted(np.tile(np.arange(k, dtype=np.intp), (len(some), 1)), axis=1)
        parts.append((ranks < some[:, None]).astype(np.float64) @ sums)
    columns = np.vstack(parts).T
    usual_mine = int(np.sum(mine & (x == 0)))
    columns[0] += rng.hypergeometric(usual_mine, x.size - k - usual_mine, n - taken)
    return columns


def _farthest(holds: Callable[[float], bool], step: float, most: float = np.inf) -> float:
    """The largest distance that holds, by doubling and bisection; infinite if every distance up to
    `most` does.
    """
    for _ in range(80):
        if not holds(step):
            return bisect(holds, 0.0, step, steps=STEPS)[0]
        if step > most:
            break
        step *= 2
    return np.inf
