"""A/B tests of users: assignment, sample ratio, capping, strata and CUPED.

The unit is the user: tables have one row per user. Differences are treatment − control.
See also `independent` for two arms as they are, `power`, and `multiplicity` for interim analyses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import (
    Floats,
    InputError,
    Ints,
    ParameterError,
    RowError,
    codes,
    finite,
    minus,
    ratio,
    same_length,
)
from evalkit.reading.tables.table import Coded
from evalkit.statistics.independent import CentredValues, arm_of, centred, difference, mean_of
from evalkit.statistics.significance import Comparison

COPIED = 1e-9  # residuals this small against the values are rounding


@dataclass(frozen=True)
class Assignment:
    """Users of an experiment: the `arm` of each (an index into `arms`), and their `rows` in the
    table.

    crossed: the number of users seen in several arms, who are left out.
    """

    arm: np.ndarray
    arms: tuple[str, ...]
    rows: Ints
    crossed: int


def assignment(user: ArrayLike, arm: ArrayLike, *, arms: Sequence[str]) -> Assignment:
    """The users by arm, in the order of the table. Users seen in several arms are left out and
    counted in `crossed`.

    Raises RowError if an arm is unknown or a user has several rows (sum them first), InputError if
    an arm has no user of its own.

    >>> users = assignment(["u", "v", "w", "w"], ["a", "b", "a", "b"], arms=("a", "b"))
    >>> users.arm, users.crossed
    (array([0, 1], dtype=int16), 1)
    """
    same_length(user=np.asarray(user), arm=np.asarray(arm))
    code, names = codes(np.asarray(arm).astype(str))
    return assigned(
        Coded(tuple(names.tolist()), code), arms, np.arange(len(code)), np.asarray(user)
    )


def assigned(arm: Coded, arms: Sequence[str], several: Ints, user: ArrayLike) -> Assignment:
    """`assignment` if only the rows `several` may belong to users with several rows; user: the ids
    of these rows.
    """
    places = {name: place for place, name in enumerate(arms)}
    number = np.array([places.get(name, -1) for name in arm.names], np.int16)[arm.code]
    unknown = np.flatnonzero(number < 0)
    if unknown.size:
        name = arm.names[int(arm.code[unknown[0]])]
        raise RowError(
            "arm", f"must be one of {', '.join(arms)}, got {name!r}", unknown[0], unknown.size
        )
    code, names = codes(user)
    arms_of_user = np.bincount(
        np.unique(code * len(arms) + number[several]) // len(arms), minlength=names.size
    )
    alone = arms_of_user[code] == 1
    first = np.zeros(len(several), dtype=np.bool_)
    first[np.unique(code, return_index=True)[1]] = True
    again = several[alone & ~first]
    if again.size:
        user_again = names[code[alone & ~first][0]]
        raise RowError(
            "user",
            f"must have one row, got {user_again} again: sum them first",
            again[0],
            again.size,
        )
    rows = np.delete(np.arange(len(number)), several[~alone])
    crossed = int((arms_of_user > 1).sum())
    counts = np.bincount(number[rows], minlength=len(arms))
    if counts.min() == 0:
        crossed_users = f"; {crossed} users seen in several arms are left out" if crossed else ""
        raise InputError(
            f"every arm must have a user of its own, got none in "
            f"{arms[int(counts.argmin())]}{crossed_users}"
        )
    return Assignment(number[rows], tuple(arms), rows, crossed)


def sample_ratio(counts: ArrayLike, shares: ArrayLike | None = None) -> float:
    """The p-value of the chi-square test of a sample ratio mismatch: users by arm against planned
    or equal shares.

    Below 0.001 the assignment is faulty, and no result of the experiment is valid. Fabijan et al.,
    KDD 2019, doi:10.1145/3292500.3330722.

    >>> round(sample_ratio([821_588, 815_482]) * 1e6, 1)
    1.8
    """
    from scipy.special import chdtrc

    observed = finite("counts", counts)
    planned = np.ones(observed.size) if shares is None else finite("shares", shares)
    same_length(counts=observed, shares=planned)  # type: ignore[arg-type]
    if observed.size < 2 or (planned <= 0).any() or observed.min() < 0 or observed.sum() == 0:
        raise InputError(
            f"counts must hold users of 2 or more planned arms, got {observed.tolist()}"
        )
    expected = observed.sum() * planned / planned.sum()
    return float(chdtrc(observed.size - 1, ((observed - expected) ** 2 / expected).sum()))


def capped(values: ArrayLike, *, share: float = 0.99) -> Floats:
    """Winsorise the values at their quantile `share`, over both arms. This changes the estimand, so
    report the cap.

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
    """Difference of means, adjusted for a covariate from before the experiment.

    One slope for both arms, estimated within arms. The covariate must not be affected by the
    experiment. Deng, Xu, Kohavi, Walker, WSDM 2013, doi:10.1145/2433396.2433413.

    >>> round(cuped([3, 5, 8], [2, 4, 6], [1, 2, 3], [1, 2, 3]).difference.value, 3)
    1.333
    """
    arms = adjusted(treatment, control, treatment_before, control_before)
    return difference(*map(mean_of, arms), level=level, unit=unit, method="CUPED")


def adjusted(
    treatment: ArrayLike, control: ArrayLike, treatment_before: ArrayLike, control_before: ArrayLike
) -> tuple[Floats, Floats]:
    """The values of both arms minus the slope of `cuped` times the covariate, so that their means
    differ as in `cuped`.

    >>> [
    ...     values.round(3).tolist()
    ...     for values in adjusted([3, 5, 8], [2, 4, 6], [1, 2, 3], [1, 2, 3])
    ... ]
    [[0.75, 0.5, 1.25], [-0.25, -0.5, -0.75]]
    """
    after, before, slope = _slope(treatment, control, treatment_before, control_before)
    arms = list(zip(after, before, strict=True))
    values = np.concatenate([y for _, y in after])
    residuals = np.concatenate([y - slope * x for (_, y), (_, x) in arms])
    if values.any() and np.abs(residuals).max() <= COPIED * np.abs(values).max():
        raise InputError(
            "before must be measured before the experiment, got a column that determines the metric"
        )
    first, second = (mean + y - slope * (earlier + x) for (mean, y), (earlier, x) in arms)
    return first, second


def _slope(
    treatment: ArrayLike, control: ArrayLike, treatment_before: ArrayLike, control_before: ArrayLike
) -> tuple[list[CentredValues], list[CentredValues], float]:
    """The mean of both arms and how far values lie above it, the same of the covariate, and the
    slope within arms.
    """
    arms = {"treatment": treatment, "control": control}
    after = [centred(finite(name, values)) for name, values in arms.items()]
    befores = zip(arms, (treatment_before, control_before), strict=True)
    before = [centred(finite(f"{name}_before", values)) for name, values in befores]
    for name, (_, y), (_, x) in zip(arms, after, before, strict=True):
        same_length(**{name: y, f"{name}_before": x})
    product = sum(float(y @ x) for (_, y), (_, x) in zip(after, before, strict=True))
    return after, before, float(np.nan_to_num(ratio(product, sum(float(x @ x) for _, x in before))))


def stratified(
    values: Mapping[str, ArrayLike],
    strata: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Mean difference within each stratum, weighted by the stratum's share of all users
    (post-stratification).

    Both mappings have the keys `treatment` and `control`. Raises InputError for a stratum without
    users in an arm.

    >>> strata = {"treatment": ["x", "y", "y"], "control": ["x", "x", "y"]}
    >>> stratified({"treatment": [2, 5, 9], "control": [1, 2, 5]}, strata).difference.value
    1.25
    """
    y = {arm: finite(arm, values[arm]) for arm in ("treatment", "control")}
    for arm in y:
        same_length(**{arm: y[arm], "strata": np.asarray(strata[arm])})
    number, names = codes(np.concatenate([np.asarray(strata[arm]) for arm in y]))
    part = dict(zip(y, np.split(number, [y["treatment"].size]), strict=True))
    share = np.bincount(number) / number.size
    arms = []
    for arm in y:
        size = np.bincount(part[arm], minlength=names.size)
        if size.min() == 0:
            raise InputError(
                f"every stratum must have users in both arms, got none of {names[size.argmin()]} "
                f"in {arm}"
            )
        means = np.bincount(part[arm], weights=y[arm], minlength=names.size) / size
        weight = (share * y[arm].size / size)[part[arm]]
        arms.append(arm_of(float(share @ means), weight * minus(y[arm], means[part[arm]])))
    return difference(*arms, level=level, unit=unit, method="post-stratified t")


def correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's r; 0 if x or y does not vary.

    >>> round(correlation([1, 2, 3], [1, 2, 4]), 4), correlation([1, 2], [3, 3])
    (0.982, 0.0)
    """
    (_, a), (_, b) = (centred(finite(name, values)) for name, values in {"x": x, "y": y}.items())
    spread = np.sqrt(a @ a) * np.sqrt(b @ b)
    return float(a @ b / spread) if spread > 0 else 0.0
