"""Two systems, or arms, that have other units each: differences and lifts of means, ratios of sums and proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, finite, minus, ratio, same_length
from evalkit.metrics.sums import Sums
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.proportions import two_proportions
from evalkit.statistics.score_intervals import ratio_score
from evalkit.statistics.significance import Comparison, compare, error_t, rejected
from evalkit.statistics.spread import Spread, satterthwaite


def difference(treatment: ArrayLike, control: ArrayLike, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Mean of the treatment's users − mean of the control's, by Welch's t.

    p and limits are NaN if an arm has fewer than two users or neither arm varies.
    Welch 1947, doi:10.1093/biomet/34.1-2.28.

    >>> round(difference([1, 2, 3, 4], [0, 1, 1, 2]).p_value, 4)
    0.106
    """
    a, b = (mean_of(finite(name, v)) for name, v in {"treatment": treatment, "control": control}.items())
    return t_of_arms(a.value - b.value, [a, b], level, unit, "Welch t")


def lift(treatment: ArrayLike, control: ArrayLike, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Mean of the treatment / mean of the control − 1, with the interval of `ratio_lift` and the p of `difference`.

    >>> round(lift([2, 4], [1, 3]).difference.value, 3)
    0.5
    """
    a, b = (mean_of(finite(name, v)) for name, v in {"treatment": treatment, "control": control}.items())
    return lift_of_arms(a, b, level, unit)


def ratio_difference(treatment: Sums, control: Sums, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Σ numerator / Σ denominator of the treatment − that of the control, users as units, by the jackknife.

    Leaving out each user gives heavy users their full weight in the error. The plain delta method, which it equals for
    many light users, rejects too often if a few users have much of the denominator. For the same reason the degrees of
    freedom use Kish's number of users, (Σ denominator)² / Σ denominator². With a denominator of ones it equals
    `difference`. NaN if a denominator adds up to 0 or only one user has a denominator other than 0.
    Tukey 1958; Deng, Knoblich, Lu, KDD 2018, doi:10.1145/3219819.3219919.

    >>> from evalkit.metrics.sums import Sums
    >>> round(ratio_difference(Sums([2, 1], [4, 2]), Sums([1, 0], [4, 1])).difference.value, 3)
    0.3
    """
    a, b = ratio_of(treatment), ratio_of(control)
    return t_of_arms(a.value - b.value, [a, b], level, unit, "jackknife t")


def ratio_lift(treatment: Sums, control: Sums, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """The treatment's ratio of sums / the control's − 1 with Fieller's interval; p is that of `ratio_difference`.

    The lift is 0 exactly if the difference is, so that one test serves both: 0 lies outside the interval exactly if
    p < 1 − level. A limit is infinite if the control's ratio could be 0; everything is NaN if it is 0.
    Fieller 1954, doi:10.1111/j.2517-6161.1954.tb00159.x.

    >>> from evalkit.metrics.sums import Sums
    >>> round(ratio_lift(Sums([2, 1], [4, 2]), Sums([1, 0], [4, 1])).difference.value, 3)
    1.5
    """
    return lift_of_arms(ratio_of(treatment), ratio_of(control), level, unit)


def share_lift(hits: int, n: int, control_hits: int, control_n: int, *, level: float = 0.95) -> Comparison:
    """Ratio of two proportions − 1, with p of the score test and the interval that inverts it (Koopman).

    NaN if control_hits is 0.

    >>> e = share_lift(56, 70, 48, 80).difference
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.3333, 0.0798, 0.6708)
    """
    test = two_proportions(hits, n, control_hits, control_n, level=level)

    def interval(at: float) -> Estimate:
        e = ratio_score(hits, n, control_hits, control_n, level=at)
        low, high = (e.low - 1, e.high - 1) if control_hits else (np.nan, np.nan)
        return Estimate(float(ratio(hits / n, control_hits / control_n)) - 1, low, high, at, e.n, e.method)

    p = test.p_value if control_hits else np.nan
    return compare(interval, p, level=level, unit=test.unit, method=test.method)


# One arm, and two of them


@dataclass(frozen=True, eq=False)
class Arm:
    """A statistic of one arm: its value, how much users move it, and how many equal users tell as much.

    effect: of each user on the value, where users are at hand.
    """

    value: float
    spread: Spread
    users: float
    effect: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def n(self) -> int:
        """Users."""
        return int(self.spread.n)

    @property
    def variance(self) -> float:
        """The squared error; NaN with fewer than two users."""
        return self.spread.error**2

    @property
    def freedom(self) -> float:
        """The degrees of freedom of the variance."""
        return max(self.users - 1, 1)


def arm_of(value: float, effect: Floats, users: float | None = None) -> Arm:
    """An arm of users at hand."""
    n = effect.size
    spread = Spread.of((effect - effect.mean()) / n if n else effect)
    return Arm(value, spread, n if users is None else users, effect)


def mean_of(values: Floats) -> Arm:
    """The mean of an arm."""
    value = float(ratio(values.sum(), values.size))
    return arm_of(value, minus(values, value))


def ratio_of(values: Sums) -> Arm:
    """The ratio of sums; a user's effect is (n − 1) times the drop of the ratio if the user is left out.

    The degrees of freedom are Kish's number of users, (Σ denominator)² / Σ denominator², less 1.
    """
    top, bottom = finite("numerator", values.numerator), finite("denominator", values.size)
    n, whole = same_length(numerator=top, denominator=bottom), bottom.sum()
    value = float(ratio(top.sum(), whole))
    return arm_of(value, left_out(top, bottom, value, whole, n), float(ratio(whole**2, bottom @ bottom)))


def left_out(top: Floats, bottom: Floats, value: float | Floats, whole: float | Floats, n: int | Floats) -> Floats:
    """(n − 1) times the drop of a ratio of sums if each of these of its n users is left out.

    value: of the ratio. whole: its sum of denominators. Each may also be an array: users of several ratios.
    """
    without = np.where(bottom == whole, 0.0, whole - bottom)
    return ratio((n - 1) * minus(top, value * bottom), without)


def _freedom(arms: Sequence[Arm]) -> float:
    """Satterthwaite's degrees of freedom."""
    variance, freedom = (np.array([getattr(arm, name) for arm in arms]) for name in ("variance", "freedom"))
    return satterthwaite(variance, freedom)


def t_of_arms(value: float, arms: Sequence[Arm], level: float, unit: str, method: str) -> Comparison:
    """Compare two arms by t."""
    error, n = float(np.sqrt(sum(arm.variance for arm in arms))) or np.nan, sum(arm.n for arm in arms)
    return error_t(value, error, n=n, freedom=_freedom(arms), scale=0.0, level=level, unit=unit, method=method)


def lift_of_arms(a: Arm, b: Arm, level: float, unit: str) -> Comparison:
    """Compare a / b − 1 with 0 by Fieller's interval and the t of the difference a − b."""
    from scipy.special import stdtrit

    value, freedom = float(ratio(a.value, b.value)) - 1, _freedom([a, b])
    p = t_of_arms(a.value - b.value, [a, b], level, unit, "").p_value if value == value else np.nan

    def interval(at: float) -> Estimate:
        q = float(stdtrit(freedom, (1 + at) / 2))
        reach_a, reach_b = q * np.sqrt(a.variance), q * np.sqrt(b.variance)
        low, high = sorted(_quotients(a.value, b.value, reach_a, reach_b))
        if abs(b.value) <= reach_b:
            low, high = _open(value + 1, (low, high), rejected=rejected(p, at))
        limits = (low - 1, high - 1) if p == p else (np.nan, np.nan)
        return Estimate(value, *limits, at, a.n + b.n, "Fieller")

    return compare(interval, p, level=level, unit=unit, method="Fieller")


def _quotients(a: float, b: float, reach_a: float, reach_b: float) -> tuple[float, float]:
    """The two q with (a − q b)² = reach_a² + (q reach_b)²; the smaller one first if a and b are positive."""
    lead, last = b * b - reach_b * reach_b, a * a - reach_a * reach_a
    middle = a * b + np.copysign(np.sqrt(np.maximum((a * b) ** 2 - lead * last, 0.0)), a * b)
    return (float(last / middle) if middle else 0.0), float(ratio(middle, lead))


def _open(quotient: float, ends: Sequence[float], *, rejected: bool) -> tuple[float, float]:
    """The open interval of a quotient whose divisor could be 0: outside of `ends` on its side, or everything."""
    if not rejected:
        return -np.inf, np.inf
    return (ends[1], np.inf) if quotient >= ends[1] else (-np.inf, ends[0])
