"""A/B tests of users: arms checked, lift with its interval, heavy users capped, strata, CUPED, sample ratio.

The unit is the user: a table with one row a user. Differences are treatment − control.
`independent` compares two arms as they are; power is `power`, the price of repeated looks `sequential`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, ParameterError, RowError, codes, finite, ratio, same_length
from evalkit.statistics.independent import arm_of, mean_of, minus, t_of_arms
from evalkit.statistics.significance import Comparison


@dataclass(frozen=True)
class Assignment:
    """Users of an experiment: `arm` (its number in `arms`) of the users kept, and their `rows` in the table.

    `crossed` users were seen in several arms and are left out.
    """

    arm: Ints
    arms: tuple[str, ...]
    rows: Ints
    crossed: int


def assignment(user: ArrayLike, arm: ArrayLike, *, arms: Sequence[str]) -> Assignment:
    """The users by arm, in the order of the table. Users seen in several arms are left out and counted in `crossed`.

    Raises RowError where an arm is unknown or a user has several rows (sum them first), InputError where an arm has no
    user of its own.

    >>> made = assignment(["u", "v", "w", "w"], ["a", "b", "a", "b"], arms=("a", "b"))
    >>> made.arm, made.crossed
    (array([0, 1]), 1)
    """
    who, names = codes(user)
    label = np.asarray(arm).astype(str)
    same_length(user=who, arm=label)
    number = np.select([label == name for name in arms], list(range(len(arms))), default=-1)
    unknown = np.flatnonzero(number < 0)
    if unknown.size:
        rule = f"must be one of {', '.join(arms)}, got {str(label[unknown[0]])!r}"
        raise RowError("arm", rule, unknown[0], unknown.size)
    seen = np.bincount(np.unique(who * len(arms) + number) // len(arms), minlength=names.size)
    rows = np.flatnonzero(seen[who] == 1)
    again = np.setdiff1d(rows, rows[np.unique(who[rows], return_index=True)[1]])
    if again.size:
        rule = f"must have one row, got {names[who[again[0]]]} again: sum them first"
        raise RowError("user", rule, again[0], again.size)
    crossed = int((seen > 1).sum())
    for position, name in enumerate(arms):
        if not (number[rows] == position).any():
            left = f"; {crossed} users seen in several arms are left out" if crossed else ""
            raise InputError(f"every arm must have a user of its own, got none in {name}{left}")
    return Assignment(number[rows], tuple(arms), rows, crossed)


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

    >>> round(cuped([3, 5, 8], [2, 4, 6], [1, 2, 3], [1, 2, 3]).difference.value, 3)
    1.333
    """
    arms = {"treatment": treatment, "control": control}
    after = [mean_of(finite(name, values)) for name, values in arms.items()]
    befores = zip(arms, (treatment_before, control_before), strict=True)
    before = [mean_of(finite(f"{name}_before", values)) for name, values in befores]
    for name, one, other in zip(arms, after, before, strict=True):
        same_length(**{name: one.effect, f"{name}_before": other.effect})
    product = sum(float(y.effect @ x.effect) for y, x in zip(after, before, strict=True))
    slope = float(np.nan_to_num(ratio(product, sum(float(x.effect @ x.effect) for x in before))))
    value = after[0].value - after[1].value - slope * (before[0].value - before[1].value)
    parts = [arm_of(value, minus(y.effect, slope * x.effect)) for y, x in zip(after, before, strict=True)]
    return t_of_arms(value, parts, level, unit, "CUPED")


def stratified(
    values: Mapping[str, ArrayLike],
    strata: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Mean difference within each stratum, weighted by the stratum's share of all users (post-stratification).

    Both mappings hold `treatment` and `control`. Raises InputError for a stratum that an arm lacks.

    >>> y, s = {"treatment": [2, 5, 9], "control": [1, 2, 5]}, {"treatment": "xyy", "control": "xxy"}
    >>> stratified(y, {arm: list(one) for arm, one in s.items()}).difference.value
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
        arms.append(arm_of(float(share @ means), weight * minus(y[arm], means[part[arm]])))
    return t_of_arms(arms[0].value - arms[1].value, arms, level, unit, "post-stratified t")


def correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Pearson's r, 0 where one of them does not vary: it explains nothing.

    >>> round(correlation([1, 2, 3], [1, 2, 4]), 4), correlation([1, 2], [3, 3])
    (0.982, 0.0)
    """
    x, y = (mean_of(finite(name, values)).effect for name, values in {"one": one, "other": other}.items())
    spread = np.sqrt(x @ x) * np.sqrt(y @ y)
    return float(x @ y / spread) if spread > 0 else 0.0
