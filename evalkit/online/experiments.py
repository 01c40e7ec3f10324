"""A/B tests of users: arms checked, lift with its interval, heavy users capped, strata, CUPED, sample ratio.

The unit is the user: a table with one row a user. Differences are treatment − control. Power is `power`, the price of
repeated looks `sequential`, shares of users are `proportions.two_proportions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, codes, finite, ratio, same_length
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.significance import Comparison, check_comparison_level, compare


@dataclass(frozen=True)
class Assignment:
    """Users of an experiment: `unit` and `arm` (its number in `arms`) of the users kept, and their `rows` in the table.

    `crossed` users were seen in several arms and are left out.
    """

    unit: np.ndarray
    arm: Ints
    arms: tuple[str, ...]
    rows: Ints
    crossed: int


def assignment(unit: ArrayLike, arm: ArrayLike, *, arms: Sequence[str]) -> Assignment:
    """The users by arm, in the order of the table. Users seen in several arms are left out and counted in `crossed`.

    Raises InputError where an arm is unknown or has no user, or where a user has several rows: sum them first.

    >>> made = assignment(["u", "v", "w", "w"], ["a", "b", "a", "b"], arms=("a", "b"))
    >>> made.arm, made.crossed
    (array([0, 1]), 1)
    """
    who, names = codes(unit)
    label = np.asarray(arm).astype(str)
    same_length(unit=who, arm=label)  # type: ignore[arg-type]
    number = np.select([label == name for name in arms], list(range(len(arms))), default=-1)
    if (number < 0).any():
        row = int(np.argmax(number < 0))
        raise InputError(f"arm must be one of {', '.join(arms)}, got {label[row]} (row {row})")
    seen = np.bincount(np.unique(who * len(arms) + number) // len(arms), minlength=names.size)
    rows = np.flatnonzero(seen[who] == 1)
    again = np.flatnonzero(np.bincount(who[rows], minlength=names.size) > 1)
    if again.size:
        raise InputError(
            f"unit must have one row, got several for {names[again[0]]} ({again.size} units): sum them first"
        )
    for position, name in enumerate(arms):
        if not (number[rows] == position).any():
            raise InputError(f"every arm must have a user of its own, got none in {name}")
    return Assignment(np.asarray(unit)[rows], number[rows], tuple(arms), rows, int((seen > 1).sum()))


def sample_ratio(counts: ArrayLike, shares: ArrayLike | None = None) -> float:
    """p of the chi-square test that users fell into the arms as planned, equally where no shares are given.

    Below 0.001 the experiment is broken, whatever its result. Fabijan et al., KDD 2019, doi:10.1145/3292500.3330722.

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
    """Values above the pooled quantile at `share` set to it: fewer heavy users, and another estimand, to be named.

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

    p and limits are NaN where an arm has fewer than two users or neither arm varies.
    Welch 1947, doi:10.1093/biomet/34.1-2.28.

    >>> round(difference([1, 2, 3, 4], [0, 1, 1, 2]).p_value, 4)
    0.106
    """
    arms = [finite(name, values) for name, values in {"treatment": treatment, "control": control}.items()]
    means = [_mean(arm) for arm in arms]
    return _welch(
        means[0] - means[1], [arm - mean for arm, mean in zip(arms, means, strict=True)], level, unit, "Welch t"
    )


def lift(treatment: ArrayLike, control: ArrayLike, *, level: float = 0.95, unit: str = "user") -> Comparison:
    """Mean of the treatment / mean of the control − 1, by the delta method. NaN where the control's mean is 0.

    >>> round(lift([2, 4], [1, 3]).difference.value, 3)
    0.5
    """
    ones = [np.ones(np.size(values)) for values in (treatment, control)]
    return ratio_lift(treatment, ones[0], control, ones[1], level=level, unit=unit)


def ratio_difference(
    numerator: ArrayLike,
    denominator: ArrayLike,
    control_numerator: ArrayLike,
    control_denominator: ArrayLike,
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Σ numerator / Σ denominator of the treatment − that of the control, users as units, by the delta method.

    Deng, Knoblich, Lu, KDD 2018, doi:10.1145/3219819.3219919.

    >>> round(ratio_difference([2, 1], [4, 2], [1, 0], [4, 1]).difference.value, 3)
    0.3
    """
    (a, effect_a), (b, effect_b) = _rate(numerator, denominator), _rate(control_numerator, control_denominator)
    return _welch(a - b, [effect_a, effect_b], level, unit, "delta method")


def ratio_lift(
    numerator: ArrayLike,
    denominator: ArrayLike,
    control_numerator: ArrayLike,
    control_denominator: ArrayLike,
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """The treatment's ratio of sums / the control's − 1, users as units, by the delta method; NaN over 0.

    >>> round(ratio_lift([2, 1], [4, 2], [1, 0], [4, 1]).difference.value, 3)
    1.5
    """
    (a, effect_a), (b, effect_b) = _rate(numerator, denominator), _rate(control_numerator, control_denominator)
    quotient = float(ratio(a, b))
    return _welch(quotient - 1, [ratio(effect_a, b), quotient * ratio(effect_b, b)], level, unit, "delta method")


def cuped(
    treatment: ArrayLike,
    control: ArrayLike,
    treatment_before: ArrayLike,
    control_before: ArrayLike,
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """The difference of means after what a column from before the experiment explains is taken off.

    One slope for both arms, from the spread within arms. Never a column that the experiment could change.
    Deng, Xu, Kohavi, Walker, WSDM 2013, doi:10.1145/2433396.2433413.

    >>> round(cuped([3, 5, 7], [2, 4, 6], [1, 2, 3], [1, 2, 3]).difference.value, 3)
    1.0
    """
    arms = {"treatment": treatment, "control": control}
    after = [finite(name, values) for name, values in arms.items()]
    before = [finite(f"{name}_before", v) for name, v in zip(arms, (treatment_before, control_before), strict=True)]
    for name, one, other in zip(arms, after, before, strict=True):
        same_length(**{name: one, f"{name}_before": other})  # type: ignore[arg-type]
    off, off_before = ([v - _mean(v) for v in arm] for arm in (after, before))
    product = sum(float(y @ x) for y, x in zip(off, off_before, strict=True))
    slope = float(np.nan_to_num(ratio(product, sum(float(x @ x) for x in off_before))))
    value = _mean(after[0]) - _mean(after[1]) - slope * (_mean(before[0]) - _mean(before[1]))
    effect = [y - slope * x for y, x in zip(off, off_before, strict=True)]
    return _welch(value, effect, level, unit, "CUPED")


def stratified(
    values: Mapping[str, ArrayLike],
    strata: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Mean difference within each stratum, weighted by the stratum's share of all users (post-stratification).

    Both mappings hold `treatment` and `control`. Raises InputError for a stratum that an arm lacks.
    """
    y = {arm: finite(arm, values[arm]) for arm in ("treatment", "control")}
    for arm in y:
        same_length(**{arm: y[arm], "strata": np.asarray(strata[arm])})  # type: ignore[arg-type]
    number, names = codes(np.concatenate([np.asarray(strata[arm]) for arm in y]))
    part = dict(zip(y, np.split(number, [y["treatment"].size]), strict=True))
    share, value, effects = np.bincount(number) / number.size, 0.0, []
    for sign, arm in zip((1, -1), y, strict=True):
        size = np.bincount(part[arm], minlength=names.size)
        if size.min() == 0:
            raise InputError(f"every stratum must have users in both arms, got none of {names[size.argmin()]} in {arm}")
        means = np.bincount(part[arm], weights=y[arm], minlength=names.size) / size
        value += sign * float(share @ means)
        weight = (share * y[arm].size / size)[part[arm]]
        effects.append(weight * (y[arm] - means[part[arm]]))
    return _welch(value, effects, level, unit, "post-stratified t")


def _mean(values: Floats) -> float:
    return float(ratio(values.sum(), values.size))


def _rate(numerator: ArrayLike, denominator: ArrayLike) -> tuple[float, Floats]:
    """The ratio of sums and each user's influence on it, scaled so that it is a mean's."""
    top, bottom = finite("numerator", numerator), finite("denominator", denominator)
    same_length(numerator=top, denominator=bottom)  # type: ignore[arg-type]
    value = float(ratio(top.sum(), bottom.sum()))
    return value, ratio(top - value * bottom, _mean(bottom))


def _welch(value: float, effects: Sequence[Floats], level: float, unit: str, method: str) -> Comparison:
    """A difference of two arms from the influence of each arm's users, t with Satterthwaite's degrees of freedom."""
    from scipy.special import stdtr, stdtrit

    check_comparison_level(level)
    size = np.array([effect.size for effect in effects])
    known = size.min() > 1
    part = np.array([effect.var(ddof=1) / effect.size if known else np.nan for effect in effects])
    error = float(np.sqrt(part.sum())) or np.nan
    freedom = float(ratio(part.sum() ** 2, (part**2 / np.maximum(size - 1, 1)).sum()))

    def interval(at: float) -> Estimate:
        half = float(stdtrit(freedom, (1 + at) / 2)) * error
        return Estimate(value, value - half, value + half, at, int(size.sum()), method)

    p = float(2 * stdtr(freedom, -abs(value) / error))
    return compare(interval, p, level=level, unit=unit, method=method)
