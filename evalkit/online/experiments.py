"""A/B tests of users: assignment, sample ratio, capping, strata and CUPED.

The unit is the user: tables have one row per user. Differences are treatment − control.
See also `independent` for two arms as they are, `power`, and `multiplicity` for interim analyses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
from evalkit.statistics.independent import (
    CentredValues,
    arm_of_mean,
    arm_with_value,
    centre_values,
    difference,
)
from evalkit.statistics.significance import Comparison

COPIED = 1e-9  # residuals this small against the values are rounding: they copy the covariate


@dataclass(frozen=True)
class Assignment:
    """The users of an experiment who are compared, each in one arm.

    arm: of each user, an index into `arms`. rows: of each user, its row in the table. crossed: the
    number of users seen in several arms, who are left out.
    """

    arm: np.ndarray
    arms: tuple[str, ...]
    rows: Ints
    crossed: int


def assignment(user: ArrayLike, arm: ArrayLike, *, arms: Sequence[str]) -> Assignment:
    """The users of a table with their arms, in its order. Users seen in several arms are left out
    and counted in `crossed`.

    user, arm: of each row. Raises RowError if an arm is unknown or a user has several rows (sum
    them first), InputError if an arm has no user of its own.

    >>> users = assignment(["u", "v", "w", "w"], ["a", "b", "a", "b"], arms=("a", "b"))
    >>> users.arm, users.crossed
    (array([0, 1], dtype=int16), 1)
    """
    same_length(user=np.asarray(user), arm=np.asarray(arm))
    code, names = codes(np.asarray(arm).astype(str))
    every_row = np.arange(len(code))
    return assigned(Coded(tuple(names.tolist()), code), arms, every_row, np.asarray(user))


def assigned(arm: Coded, arms: Sequence[str], repeated_rows: Ints, user: ArrayLike) -> Assignment:
    """The users of a table with a row per user, each with the arm of the experiment; users with
    rows in several arms are left out and counted as crossed. For a long table: ids are compared
    only in `repeated_rows`, the ascending numbers of the rows whose user may have others.

    arm: of each row of the table. user: the id of the user of each of `repeated_rows`. Raises
    RowError for an arm that is not in `arms` and a user with several rows in one arm, InputError
    for an arm without a user of its own.
    """
    arm_index = _arm_indices(arm, arms)  # of each row of the table
    user_index, names = codes(user)  # of each of `repeated_rows`
    # each user and arm that occur together, as the number user · arms + arm
    user_and_arm = np.unique(user_index * len(arms) + arm_index[repeated_rows])
    n_arms_of_user = np.bincount(user_and_arm // len(arms), minlength=names.size)
    # a second row of a user in one arm; all masks have an element for each of `repeated_rows`
    has_one_arm = n_arms_of_user[user_index] == 1
    is_first = np.zeros(len(repeated_rows), dtype=np.bool_)
    _, first_of_user = np.unique(user_index, return_index=True)
    is_first[first_of_user] = True
    is_repeated = has_one_arm & ~is_first
    if is_repeated.any():
        rows = repeated_rows[is_repeated]
        name = names[user_index[is_repeated][0]]
        rule = f"must have one row, got {name} again: sum them first"
        raise RowError("user", rule, rows[0], rows.size)

    # without the rows of crossed users
    rows = np.delete(np.arange(len(arm_index)), repeated_rows[~has_one_arm])
    crossed = int((n_arms_of_user > 1).sum())
    users_of_arm = np.bincount(arm_index[rows], minlength=len(arms))
    if users_of_arm.min() == 0:
        got = f"got none in {arms[int(users_of_arm.argmin())]}"
        if crossed:
            got += f"; {crossed} users seen in several arms are left out"
        raise InputError(f"every arm must have a user of its own, {got}")
    return Assignment(arm_index[rows], tuple(arms), rows, crossed)


def _arm_indices(arm: Coded, arms: Sequence[str]) -> NDArray[np.int16]:
    """The index in `arms` of the arm of each row. Raises RowError for an arm that is none of
    them.
    """
    index = {name: i for i, name in enumerate(arms)}
    arm_of_name = np.array([index.get(name, -1) for name in arm.names], np.int16)
    arm_index = arm_of_name[arm.code]
    unknown = np.flatnonzero(arm_index < 0)
    if unknown.size:
        name = arm.names[int(arm.code[unknown[0]])]
        rule = f"must be one of {', '.join(arms)}, got {name!r}"
        raise RowError("arm", rule, unknown[0], unknown.size)
    return arm_index


def sample_ratio(counts: ArrayLike, shares: ArrayLike | None = None) -> float:
    """The p-value of the chi-square test of a sample ratio mismatch: users by arm against planned
    or equal shares.

    counts: users of each arm. shares: planned, in any unit, by default equal. Below 0.001 the
    assignment is faulty, and no result of the experiment is valid. Fabijan et al., KDD 2019,
    doi:10.1145/3292500.3330722.

    >>> round(sample_ratio([821_588, 815_482]) * 1e6, 1)
    1.8
    """
    from scipy.special import chdtrc

    observed = finite("counts", counts)
    planned = np.ones(observed.size) if shares is None else finite("shares", shares)
    same_length(counts=observed, shares=planned)
    if observed.size < 2 or (planned <= 0).any() or observed.min() < 0 or observed.sum() == 0:
        raise InputError(
            f"counts must hold users of 2 or more planned arms, got {observed.tolist()}"
        )
    expected = observed.sum() * planned / planned.sum()
    chi_square = ((observed - expected) ** 2 / expected).sum()
    freedom = observed.size - 1
    return float(chdtrc(freedom, chi_square))


def capped(values: ArrayLike, *, share: float = 0.99) -> Floats:
    """The values, those above their quantile `share` replaced by it (winsorised). values: of both
    arms. This changes the estimand, so report the cap.

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
    """Difference of means, treatment − control, adjusted for a covariate from before the
    experiment.

    One slope for both arms, estimated within arms: a difference between the arms, by chance or by
    the treatment, does not change it. treatment, control: one value per user.
    treatment_before, control_before: the covariate of the same users, in the same order. The
    covariate must not be affected by the experiment. unit: the noun for a user. Deng, Xu, Kohavi,
    Walker, WSDM 2013, doi:10.1145/2433396.2433413.

    >>> round(cuped([3, 5, 8], [2, 4, 6], [1, 2, 3], [1, 2, 3]).difference.value, 3)
    1.333
    """
    arms = adjusted(treatment, control, treatment_before, control_before)
    return difference(
        arm_of_mean(arms.treatment),
        arm_of_mean(arms.control),
        level=level,
        unit=unit,
        method="CUPED",
    )


class AdjustedArms(NamedTuple):
    """The adjusted values of the users of both arms."""

    treatment: Floats
    control: Floats


def adjusted(
    treatment: ArrayLike, control: ArrayLike, treatment_before: ArrayLike, control_before: ArrayLike
) -> AdjustedArms:
    """The values of both arms minus the slope of `cuped` times the covariate, so that their means
    differ as in `cuped`. The parameters are those of `cuped`.

    Raises InputError for a covariate that determines the values.

    >>> [
    ...     values.round(3).tolist()
    ...     for values in adjusted([3, 5, 8], [2, 4, 6], [1, 2, 3], [1, 2, 3])
    ... ]
    [[0.75, 0.5, 1.25], [-0.25, -0.5, -0.75]]
    """
    first = _arm_with_covariate("treatment", treatment, treatment_before)
    second = _arm_with_covariate("control", control, control_before)
    arms = (first, second)
    # The least-squares slope of the values on the covariate, common to both arms. Deviations are
    # from the mean of the arm, so that a difference between the arms does not enter the slope.
    product = sum(float(arm.values.deviations @ arm.before.deviations) for arm in arms)
    square = sum(float(arm.before.deviations @ arm.before.deviations) for arm in arms)
    slope = float(np.nan_to_num(ratio(product, square)))  # 0 for a covariate that does not vary
    # If all residuals are 0 up to rounding, the covariate determines the values. It was then not
    # measured before the experiment, and would remove its effect.
    values = np.concatenate([arm.values.deviations for arm in arms])
    residuals = np.concatenate(
        [arm.values.deviations - slope * arm.before.deviations for arm in arms]
    )
    if values.any() and np.abs(residuals).max() <= COPIED * np.abs(values).max():
        raise InputError(
            "before must be measured before the experiment, got a column that determines the metric"
        )
    return AdjustedArms(first.adjusted(slope), second.adjusted(slope))


class ArmWithCovariate(NamedTuple):
    """The values of the users of an arm, and those of a covariate from before the experiment; each
    as their mean and the deviations from it.
    """

    values: CentredValues
    before: CentredValues

    def adjusted(self, slope: float) -> Floats:
        """The values minus the slope times the covariate."""
        mean, deviations = self.values
        mean_before, deviations_before = self.before
        return mean + deviations - slope * (mean_before + deviations_before)


def _arm_with_covariate(name: str, values: ArrayLike, before: ArrayLike) -> ArmWithCovariate:
    """An arm from its columns. Raises InputError if they differ in length or hold a number that is
    not finite. name: of the arm, for errors.
    """
    arm = ArmWithCovariate(
        values=centre_values(finite(name, values)),
        before=centre_values(finite(f"{name}_before", before)),
    )
    same_length(**{name: arm.values.deviations, f"{name}_before": arm.before.deviations})
    return arm


def stratified(
    values: Mapping[str, ArrayLike],
    strata: Mapping[str, ArrayLike],
    *,
    level: float = 0.95,
    unit: str = "user",
) -> Comparison:
    """Mean difference within each stratum, weighted by the stratum's share of all users
    (post-stratification).

    values, strata: one value and one stratum per user; both mappings have the keys `treatment` and
    `control`. unit: the noun for a user. Raises InputError for a stratum without users in an arm.

    >>> strata = {"treatment": ["x", "y", "y"], "control": ["x", "x", "y"]}
    >>> stratified({"treatment": [2, 5, 9], "control": [1, 2, 5]}, strata).difference.value
    1.25
    """
    values_by_arm = {arm: finite(arm, values[arm]) for arm in ("treatment", "control")}
    for arm, y in values_by_arm.items():
        same_length(**{arm: y, "strata": np.asarray(strata[arm])})
    strata_of_all = np.concatenate([np.asarray(strata[arm]) for arm in values_by_arm])
    stratum_of_user, names = codes(strata_of_all)
    share = np.bincount(stratum_of_user) / stratum_of_user.size  # of all users, by stratum
    # split after the users of the treatment, which come first
    stratum_by_arm = np.split(stratum_of_user, [values_by_arm["treatment"].size])
    arms = []
    for (arm, y), stratum in zip(values_by_arm.items(), stratum_by_arm, strict=True):
        users = np.bincount(stratum, minlength=names.size)  # by stratum
        if users.min() == 0:
            raise InputError(
                f"every stratum must have users in both arms, got none of {names[users.argmin()]} "
                f"in {arm}"
            )
        total = np.bincount(stratum, weights=y, minlength=names.size)
        means = total / users
        value = float(share @ means)  # the mean of the arm, if its strata had their shares of all
        # This weights each user by the stratum's share of all users over its share of the arm. The
        # standard error follows from the deviations from the stratum's mean with these weights.
        weight_by_stratum = share * y.size / users
        deviation = minus(y, means[stratum])  # y − mean
        arms.append(arm_with_value(value, scaled_influence=weight_by_stratum[stratum] * deviation))
    treatment, control = arms
    return difference(treatment, control, level=level, unit=unit, method="post-stratified t")


def correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's r; 0 if x or y does not vary.

    >>> round(correlation([1, 2, 3], [1, 2, 4]), 4), correlation([1, 2], [3, 3])
    (0.982, 0.0)
    """
    a = centre_values(finite("x", x)).deviations
    b = centre_values(finite("y", y)).deviations
    spread = np.sqrt(a @ a) * np.sqrt(b @ b)
    if spread > 0:
        return float(a @ b / spread)
    return 0.0
