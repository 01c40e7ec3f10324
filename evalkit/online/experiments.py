"""A/B tests of users: assignment, sample ratio, differences and lifts with intervals, capping, strata and CUPED.

The unit is the user: tables have one row per user. Differences are treatment − control; ratios of sums are `Pooled`.
See also `power`, `sequential` for interim analyses, and `proportions.two_proportions` for shares of users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, RowError, codes, finite, ratio, same_length
from evalkit.metrics.rankings import Pooled
from evalkit.statistics.intervals import Estimate, satterthwaite, wilson
from evalkit.statistics.proportions import two_proportions
from evalkit.statistics.significance import (
    ROUNDING,
    Comparison,
    check_comparison_level,
    compare,
    rejected,
)


@dataclass(frozen=True)
class Assignment:
    """Users of an experiment: `arm` (a place in `arms`) of each user kept, and the `rows` of these in the table.

    crossed: the number of users seen in several arms, who are left out.
    """

    arm: Ints
    arms: tuple[str, ...]
    rows: Ints
    crossed: int


def assignment(user: ArrayLike, arm: ArrayLike, *, arms: Sequence[str]) -> Assignment:
    """The users by arm, in the order of the table. Users seen in several arms are left out and counted in `crossed`.

    Raises RowError if an arm is unknown or a user has several rows (sum them first), InputError if an arm has no user
    of its own.

    >>> users = assignment(["u", "v", "w", "w"], ["a", "b", "a", "b"], arms=("a", "b"))
    >>> users.arm, users.crossed
    (array([0, 1]), 1)
    """
    code, names = codes(user)
    number = _arm_numbers(arm, arms)
    same_length(user=code, arm=number)
    arms_of_user = np.bincount(np.unique(code * len(arms) + number) // len(arms), minlength=names.size)
    rows = np.flatnonzero(arms_of_user[code] == 1)
    again = np.setdiff1d(rows, rows[np.unique(code[rows], return_index=True)[1]])
    if again.size:
        rule = f"must have one row, got {names[code[again[0]]]} again: sum them first"
        raise RowError("user", rule, again[0], again.size)
    crossed = int((arms_of_user > 1).sum())
    for position, name in enumerate(arms):
        if not (number[rows] == position).any():
            left_out = f"; {crossed} users seen in several arms are left out" if crossed else ""
            raise InputError(f"every arm must have a user of its own, got none in {name}{left_out}")
    return Assignment(number[rows], tuple(arms), rows, crossed)


def _arm_numbers(arm: ArrayLike, arms: Sequence[str]) -> Ints:
    """The place in `arms` of each row's arm; raise RowError for an unknown one."""
    label = np.asarray(arm).astype(str)
    number = np.select([label == name for name in arms], list(range(len(arms))), default=-1)
    unknown = np.flatnonzero(number < 0)
    if unknown.size:
        rule = f"must be one of {', '.join(arms)}, got {str(label[unknown[0]])!r}"
        raise RowError("arm", rule, unknown[0], unknown.size)
    return number


def sample_ratio(counts: ArrayLike, shares: ArrayLike | None = None) -> float:
    """p of the chi-square test of a sample ratio mismatch: users by arm against the planned shares, by default equal.

    Below 0.001 the assignment is faulty, and no result of the experiment is valid.
    Fabijan et al., KDD 2019, doi:10.1145/3292500.3330722.

    >>> round(sample_ratio([821_588, 815_482]) * 1e6, 1)
    1.8
    """
    from scipy.special import chdtrc

    observed = finite("counts", counts)
    planned = np.ones(observed.size) if shares is None else finite("shares", shares)
    same_length(counts=observed, shares=planned)  # type: ignore[arg-type]
    if observed.size < 2 or (planned <= 0).any() or observed.min() < 0 or observed.sum() == 0:
        raise InputError(f"counts must hold users of 2 or more planned arms, got {observed.tolist()}")
    expected = observed.sum() * planned / planned.sum()
    return float(chdtrc(observed.size - 1, ((observed - expected) ** 2 / expected).sum()))


def capped(values: ArrayLike, *, share: float = 0.99) -> Floats:
    """Values with those above the pooled quantile at `share` set to it; the estimand changes, so report the cap.

    >>> capped([1, 2, 3, 100], share=0.5)
    array([1. , 2. , 2.5, 2.5])
    """
    if not 0 < share < 1:
        raise ParameterError(f"share must lie between 0 and 1, got {share}")
    array = finite("values", values)
    return np.minimum(array, np.quantile(array, share))


# Treatment against control


def difference(treatment: ArrayLike, control: ArrayLike, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Mean of the treatment's users − mean of the control's, by Welch's t.

    p and limits are NaN if an arm has fewer than two users or neither arm varies.
    Welch 1947, doi:10.1093/biomet/34.1-2.28.

    >>> round(difference([1, 2, 3, 4], [0, 1, 1, 2]).p_value, 4)
    0.106
    """
    a, b = (_mean_of(finite(name, v)) for name, v in {"treatment": treatment, "control": control}.items())
    return _t(a.value - b.value, [a, b], level, unit, "Welch t")


def lift(treatment: ArrayLike, control: ArrayLike, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Mean of the treatment / mean of the control − 1, with the interval of `ratio_lift` and the p of `difference`.

    >>> round(lift([2, 4], [1, 3]).difference.value, 3)
    0.5
    """
    a, b = (_mean_of(finite(name, v)) for name, v in {"treatment": treatment, "control": control}.items())
    return _fieller(a, b, level, unit)


def ratio_difference(treatment: Pooled, control: Pooled, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Σ numerator / Σ denominator of the treatment − that of the control, users as units, by the jackknife.

    Leaving out each user gives heavy users their full weight in the error. The plain delta method, which it equals for
    many light users, rejects too often if a few users have much of the denominator. For the same reason the degrees of
    freedom use Kish's number of users, (Σ denominator)² / Σ denominator². With a denominator of ones it equals
    `difference`. NaN if a denominator adds up to 0 or only one user has a denominator other than 0.
    Tukey 1958; Deng, Knoblich, Lu, KDD 2018, doi:10.1145/3219819.3219919.

    >>> from evalkit.metrics.rankings import Pooled
    >>> round(ratio_difference(Pooled([2, 1], [4, 2]), Pooled([1, 0], [4, 1])).difference.value, 3)
    0.3
    """
    a, b = _ratio_of(treatment), _ratio_of(control)
    return _t(a.value - b.value, [a, b], level, unit, "jackknife t")


def ratio_lift(treatment: Pooled, control: Pooled, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """The treatment's ratio of sums / the control's − 1 with Fieller's interval; p is that of `ratio_difference`.

    The lift is 0 exactly if the difference is, so that one test serves both: 0 lies outside the interval exactly if
    p < 1 − level. A limit is infinite if the control's ratio could be 0; everything is NaN if it is 0.
    Fieller 1954, doi:10.1111/j.2517-6161.1954.tb00159.x.

    >>> from evalkit.metrics.rankings import Pooled
    >>> round(ratio_lift(Pooled([2, 1], [4, 2]), Pooled([1, 0], [4, 1])).difference.value, 3)
    1.5
    """
    return _fieller(_ratio_of(treatment), _ratio_of(control), level, unit)


def share_lift(hits: int, n: int, control_hits: int, control_n: int, *, level: float = 0.95) -> Comparison:
    """Ratio of two proportions − 1, with p of the score test and limits from both Wilson intervals (MOVER).

    Contains 0 exactly if Newcombe's interval of the difference does. NaN if control_hits is 0.
    Donner, Zou 2012, doi:10.1177/0962280210389082.

    >>> e = share_lift(56, 70, 48, 80).difference
    >>> round(e.value, 4), round(e.low, 4), round(e.high, 4)
    (0.3333, 0.0783, 0.6629)
    """
    test = two_proportions(hits, n, control_hits, control_n, level=level)

    def interval(at: float) -> Estimate:
        a, b = wilson(hits, n, level=at), wilson(control_hits, control_n, level=at)
        low, _ = _quotients(a.value, b.value, a.value - a.low, b.high - b.value)
        _, high = _quotients(a.value, b.value, a.high - a.value, b.value - b.low)
        value = float(ratio(a.value, b.value)) - 1
        limits = (low - 1, high - 1) if control_hits else (np.nan, np.nan)
        return Estimate(value, *limits, at, n + control_n, "MOVER")

    p = test.p_value if control_hits else np.nan
    return compare(interval, p, level=level, unit=test.unit, method=test.method)


def cuped(
    treatment: ArrayLike,
    control: ArrayLike,
    treatment_before: ArrayLike,
    control_before: ArrayLike,
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Difference of means, adjusted for a covariate from before the experiment.

    One slope for both arms, estimated within arms. The covariate must not be affected by the experiment.
    Deng, Xu, Kohavi, Walker, WSDM 2013, doi:10.1145/2433396.2433413.

    >>> round(cuped([3, 5, 8], [2, 4, 6], [1, 2, 3], [1, 2, 3]).difference.value, 3)
    1.333
    """
    arms = {"treatment": treatment, "control": control}
    after = [_mean_of(finite(name, values)) for name, values in arms.items()]
    befores = zip(arms, (treatment_before, control_before), strict=True)
    before = [_mean_of(finite(f"{name}_before", values)) for name, values in befores]
    for name, y, x in zip(arms, after, before, strict=True):
        same_length(**{name: y.effect, f"{name}_before": x.effect})
    product = sum(float(y.effect @ x.effect) for y, x in zip(after, before, strict=True))
    slope = float(np.nan_to_num(ratio(product, sum(float(x.effect @ x.effect) for x in before))))
    value = after[0].value - after[1].value - slope * (before[0].value - before[1].value)
    parts = [_arm(value, _minus(y.effect, slope * x.effect)) for y, x in zip(after, before, strict=True)]
    return _t(value, parts, level, unit, "CUPED")


def stratified(
    values: Mapping[str, ArrayLike],
    strata: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Mean difference within each stratum, weighted by the stratum's share of all users (post-stratification).

    Both mappings have the keys `treatment` and `control`. Raises InputError for a stratum without users in an arm.

    >>> strata = {"treatment": ["x", "y", "y"], "control": ["x", "x", "y"]}
    >>> stratified({"treatment": [2, 5, 9], "control": [1, 2, 5]}, strata).difference.value
    1.25
    """
    y = {arm: finite(arm, values[arm]) for arm in ("treatment", "control")}
    for arm in y:
        same_length(**{arm: y[arm], "strata": np.asarray(strata[arm])})
    number, names = codes(np.concatenate([np.asarray(strata[arm]) for arm in y]))
    part = dict(zip(y, np.split(number, [y["treatment"].size]), strict=True))
    share, arms = np.bincount(number) / number.size, []
    for arm in y:
        size = np.bincount(part[arm], minlength=names.size)
        if size.min() == 0:
            raise InputError(f"every stratum must have users in both arms, got none of {names[size.argmin()]} in {arm}")
        means = np.bincount(part[arm], weights=y[arm], minlength=names.size) / size
        weight = (share * y[arm].size / size)[part[arm]]
        arms.append(_arm(float(share @ means), weight * _minus(y[arm], means[part[arm]])))
    return _t(arms[0].value - arms[1].value, arms, level, unit, "post-stratified t")


def correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's r; 0 if x or y does not vary, because it then explains nothing.

    >>> round(correlation([1, 2, 3], [1, 2, 4]), 4), correlation([1, 2], [3, 3])
    (0.982, 0.0)
    """
    a, b = (_mean_of(finite(name, values)).effect for name, values in {"x": x, "y": y}.items())
    spread = np.sqrt(a @ a) * np.sqrt(b @ b)
    return float(a @ b / spread) if spread > 0 else 0.0


# One arm, and two of them


@dataclass(frozen=True)
class _Arm:
    """A statistic of one arm: its value, each user's effect on it, its variance and the degrees of freedom of that.

    The variance is NaN with fewer than two users.
    """

    value: float
    effect: Floats
    variance: float
    freedom: float


def _arm(value: float, effect: Floats, users: float | None = None) -> _Arm:
    n = effect.size
    variance = float(effect.var(ddof=1) / n) if n > 1 else np.nan
    return _Arm(value, effect, variance, max((n if users is None else users) - 1, 1))


def _mean_of(values: Floats) -> _Arm:
    value = float(ratio(values.sum(), values.size))
    return _arm(value, _minus(values, value))


def _ratio_of(values: Pooled) -> _Arm:
    """The ratio of sums; a user's effect is (n − 1) times the drop of the ratio if the user is left out."""
    top, bottom = finite("numerator", values.numerator), finite("denominator", values.denominator)
    n, whole = same_length(numerator=top, denominator=bottom), bottom.sum()
    value = float(ratio(top.sum(), whole))
    without = np.where(bottom == whole, 0.0, whole - bottom)
    effect = ratio((n - 1) * _minus(top, value * bottom), without)
    return _arm(value, effect, float(ratio(whole**2, bottom @ bottom)))


def _minus(a: Floats, b: Floats | float) -> Floats:
    """a − b, exactly 0 if it is only rounding error: equal users must not seem to vary."""
    difference = a - b
    return np.where(np.abs(difference) > ROUNDING * (np.abs(a) + np.abs(b)), difference, 0.0)


def _freedom(arms: Sequence[_Arm]) -> float:
    """Satterthwaite's degrees of freedom."""
    variance, freedom = (np.array([getattr(arm, name) for arm in arms]) for name in ("variance", "freedom"))
    return satterthwaite(variance, freedom)


def _t(value: float, arms: Sequence[_Arm], level: float, unit: str, method: str) -> Comparison:
    """Compare two arms by t."""
    from scipy.special import stdtr, stdtrit

    check_comparison_level(level)
    error, freedom = float(np.sqrt(sum(arm.variance for arm in arms))) or np.nan, _freedom(arms)
    n = sum(arm.effect.size for arm in arms)

    def interval(at: float) -> Estimate:
        half = float(stdtrit(freedom, (1 + at) / 2)) * error
        return Estimate(value, value - half, value + half, at, n, method)

    p = float(2 * stdtr(freedom, -abs(value) / error))
    return compare(interval, p, level=level, unit=unit, method=method)


def _fieller(a: _Arm, b: _Arm, level: float, unit: str) -> Comparison:
    """Compare a / b − 1 with 0 by Fieller's interval and the t of the difference a − b."""
    from scipy.special import stdtrit

    value, freedom = float(ratio(a.value, b.value)) - 1, _freedom([a, b])
    p = _t(a.value - b.value, [a, b], level, unit, "").p_value if value == value else np.nan

    def interval(at: float) -> Estimate:
        q = float(stdtrit(freedom, (1 + at) / 2))
        reach_a, reach_b = q * np.sqrt(a.variance), q * np.sqrt(b.variance)
        low, high = sorted(_quotients(a.value, b.value, reach_a, reach_b))
        if abs(b.value) <= reach_b:
            low, high = _open(value + 1, (low, high), rejected=rejected(p, at))
        limits = (low - 1, high - 1) if p == p else (np.nan, np.nan)
        return Estimate(value, *limits, at, a.effect.size + b.effect.size, "Fieller")

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
