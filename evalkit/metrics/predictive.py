"""Predictive distributions: for each row quantiles, an ensemble or a normal distribution, and their
scores per row.

In the scores, actual values come first. The last axis of every array is that of the rows, as in
`Block`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, normal_density
from evalkit.metrics import losses

# roles of the columns that state a distribution; behind the words stands a level, or a number
QUANTILE, MEMBER, MEAN, DEVIATION = "quantile ", "member ", "mean", "deviation"
EXACT = 10  # decimals to which levels are rounded, so that equal levels are equal floats


def is_role(role: str) -> bool:
    """True for the role of a column that states a distribution."""
    return role in (MEAN, DEVIATION) or role.startswith((QUANTILE, MEMBER))


def is_ensemble(roles: Collection[str]) -> bool:
    """True if columns in these roles are draws."""
    return any(role.startswith(MEMBER) for role in roles)


def level_of(percent: float) -> float:
    """The level of a quantile in percent, as a share."""
    return round(percent / 100, EXACT)


class Bounds(NamedTuple):
    """The lower and the upper bound of an interval, per row."""

    low: Floats
    high: Floats


class MissingLevel(ValueError):
    """There is no quantile of this level, a share, in the table."""

    def __init__(self, level: float) -> None:
        super().__init__(f"no quantile {level}")
        self.level = level


@dataclass(frozen=True, eq=False)
class Predictive(ABC):
    """The predictive distributions of a system, one per row. values: the numbers that describe them
    (quantiles, draws, or mean and deviation), shape (numbers, rows).
    """

    values: Floats

    @abstractmethod
    def quantile(self, level: float) -> Floats:
        """The quantile of each row. level: a share, such as 0.05."""

    def take(self, member: Bools | Ints | slice) -> Self:
        """The rows that `member` selects."""
        return replace(self, values=self.values[:, member])

    def interval(self, percent: float) -> Bounds:
        """The central interval that is to hold so many percent of the actual values.

        >>> Quantiles(np.array([[1.0], [4.0]]), (0.05, 0.95)).interval(90)
        Bounds(low=array([1.]), high=array([4.]))
        """
        low = level_of((100 - percent) / 2)
        high = round(1 - low, EXACT)
        return Bounds(self.quantile(low), self.quantile(high))


@dataclass(frozen=True, eq=False)
class Quantiles(Predictive):
    """Quantiles at some levels. levels: ascending shares, one for each row of the values."""

    levels: tuple[float, ...]

    def quantile(self, level: float) -> Floats:
        """The column of a level. Raises MissingLevel if there is none."""
        if level not in self.levels:
            raise MissingLevel(level)
        row = self.levels.index(level)
        return np.asarray(self.values[row])

    @property
    def drops(self) -> Floats:
        """By how much a quantile lies below one of a lower level, the largest of each row; 0 if
        quantiles do not cross.

        >>> Quantiles(np.array([[1.0, 3.0], [2.0, 1.0], [2.0, 4.0]]), (0.1, 0.5, 0.9)).drops
        array([0., 2.])
        """
        largest_so_far = np.maximum.accumulate(self.values)
        drops: Floats = np.max(largest_so_far - self.values, axis=0)
        return drops


class Ensemble(Predictive):
    """Draws from the distribution of each row, one row of the values per draw."""

    def quantile(self, level: float) -> Floats:
        """The draw at place level × (number of draws + 1), between two draws linearly: an actual
        value from the same distribution lies below it with the probability `level`.

        Raises MissingLevel for a level beyond the lowest or the highest draw.

        >>> Ensemble(np.array([[3.0], [1.0], [2.0]])).quantile(0.25)
        array([1.])
        """
        draws = len(self.values)
        place = round(level * (draws + 1), EXACT)
        if not 1 <= place <= draws:
            raise MissingLevel(level)
        return np.quantile(self.values, level, axis=0, method="weibull")


class Normal(Predictive):
    """Normal distributions: the values are the means, then the standard deviations."""

    def quantile(self, level: float) -> Floats:
        """The quantile of the normal distribution."""
        from scipy.special import ndtri

        mean, deviation = self.values
        quantile: Floats = mean + deviation * ndtri(level)
        return quantile


def are_same(first: Predictive | None, second: Predictive | None) -> bool:
    """True if two systems have the same distributions, by columns of the same roles; also if
    neither has any.
    """
    if first is None or second is None:
        return first is second
    return np.array_equal(first.values, second.values)


def of_roles(columns: Mapping[str, Floats], forecast: Floats) -> Predictive | None:
    """The predictive distributions that columns describe. columns: by role. If any column has the
    role of a member, they are an ensemble; else quantiles if any has that of a quantile; else
    normal distributions if one has the standard deviation; else None. forecast: the means of the
    normal distributions, if no column has them; otherwise unused.

    >>> of_roles({"quantile 0.9": np.array([2.0]), "quantile 0.1": np.array([1.0])}, None).levels
    (0.1, 0.9)
    """
    if is_ensemble(columns):
        members = [values for role, values in columns.items() if role.startswith(MEMBER)]
        return Ensemble(np.array(members))
    quantile_roles = [role for role in columns if role.startswith(QUANTILE)]
    if quantile_roles:
        ascending = sorted(quantile_roles, key=level_of_role)
        values = np.array([columns[role] for role in ascending])
        return Quantiles(values, levels=tuple(map(level_of_role, ascending)))
    if DEVIATION in columns:
        mean = columns.get(MEAN, forecast)
        return Normal(np.array([mean, columns[DEVIATION]]))
    return None


def level_of_role(role: str) -> float:
    """The level of a quantile, such as 0.9, from the role of its column, such as "quantile 0.9"."""
    return float(role.removeprefix(QUANTILE))


# Scores per row -----------------------------------------------------------------------------------


def covered(actual: Floats, interval: Bounds, percent: float) -> Floats:
    """1 if the actual value lies in the interval or on a bound, else 0. The mean is the coverage.

    >>> covered(np.array([1.0, 5.0]), Bounds(np.array([1.0, 1.0]), np.array([4.0, 4.0])), 90)
    array([1., 0.])
    """
    is_covered = (interval.low <= actual) & (actual <= interval.high)
    return is_covered.astype(np.float64)


def interval_score(actual: Floats, interval: Bounds, percent: float) -> Floats:
    """Winkler's score of each row: the width of the interval, and 2 / (1 - level) times the
    distance of an actual value outside of it. percent: 100 times the level.

    Gneiting and Raftery 2007, doi:10.1198/016214506000001437.

    >>> interval_score(np.array([5.0]), Bounds(np.array([1.0]), np.array([4.0])), 80)
    array([13.])
    """
    low, high = interval
    distance_below = np.maximum(low - actual, 0)
    distance_above = np.maximum(actual - high, 0)
    distance_outside = distance_below + distance_above
    share_outside = level_of(100 - percent)  # 1 - level, without the rounding error of 1 - 0.9
    penalty = 2 / share_outside * distance_outside
    return high - low + penalty


def width(actual: Floats, interval: Bounds, percent: float) -> Floats:
    """The width of the interval of each row. actual, percent: as for other scores, unused."""
    return interval.high - interval.low


class WeightedParts(NamedTuple):
    """The three parts of the weighted interval score, each of shape (rows,)."""

    overprediction: Floats
    underprediction: Floats
    dispersion: Floats


def weighted_interval_score(actual: Floats, quantiles: Quantiles) -> Floats:
    """Twice the pinball loss, averaged over the levels, of each row. The mean over rows is the WIS,
    which approximates the CRPS.

    Bracher, Ray, Gneiting and Reich 2021, doi:10.1371/journal.pcbi.1008618.

    >>> weighted_interval_score(
    ...     np.array([5.0]), Quantiles(np.array([[1.0], [2.0], [4.0]]), (0.1, 0.5, 0.9))
    ... ).round(4)
    array([1.8667])
    """
    pairs = zip(quantiles.levels, quantiles.values, strict=True)
    loss_of_levels = [2 * losses.quantile(actual, values, level) for level, values in pairs]
    loss: Floats = np.mean(loss_of_levels, axis=0)
    return loss


def weighted_parts(actual: Floats, quantiles: Quantiles) -> WeightedParts:
    """The parts of `weighted_interval_score`, which add up to it: the penalties for actual values
    below the lower bounds of the central intervals (overprediction) and above the upper bounds
    (underprediction), and the widths of the intervals (dispersion); each array of shape (rows,).

    Each lower quantile must have the upper one of the same interval, and the other way round.
    """
    levels = np.array(quantiles.levels)[:, None]
    n = len(levels)
    above_actual = quantiles.values - actual  # shape (levels, rows)
    # Each quantile q costs 2 / n times its pinball loss for the actual value y:
    # lower bound, level t:      2 / n · (max(q - y, 0) - t (q - y))
    # upper bound, level 1 - t:  2 / n · (max(y - q, 0) + t (q - y))
    # The first terms are the penalties.
    is_lower_bound = levels <= 0.5
    is_upper_bound = levels >= 0.5
    # the median, which is both bounds, costs 2 / n · |q - y| / 2
    penalty = np.where(levels == 0.5, 1, 2) / n
    overshoot = np.maximum(above_actual, 0)
    undershoot = np.maximum(-above_actual, 0)
    overprediction = (penalty * overshoot * is_lower_bound).sum(axis=0)
    underprediction = (penalty * undershoot * is_upper_bound).sum(axis=0)
    # The second terms of both bounds add up to 2 t / n times the width: y cancels out.
    sign = np.sign(levels - 0.5)  # 1 for an upper bound, -1 for a lower one, 0 for the median
    lower_level = np.minimum(levels, 1 - levels)  # t
    width_factor = 2 * lower_level * sign / n
    dispersion = (width_factor * above_actual).sum(axis=0)
    return WeightedParts(overprediction, underprediction, dispersion)


def is_at_most_quantile(actual: Floats, distribution: Predictive, percent: float) -> Floats:
    """1 for each row whose actual value is at most the quantile of this percentage, else 0. The
    mean is the level, if the quantiles are right.
    """
    quantile = distribution.quantile(level_of(percent))
    return np.asarray(actual <= quantile, np.float64)


def crps(actual: Floats, distribution: Ensemble | Normal) -> Floats:
    """The continuous ranked probability score (CRPS) of each row, E|X − actual| − ½ E|X − X'| with
    independent X and X' from the row's distribution; shape (rows,).

    For an ensemble both are means over its draws. For a normal distribution with standard deviation
    σ it is σ (z (2 Φ(z) − 1) + 2 φ(z) − 1/√π) with z = (actual − mean) / σ, or the absolute error
    if σ = 0.

    Gneiting and Raftery 2007, doi:10.1198/016214506000001437.

    >>> crps(np.array([1.0]), Ensemble(np.array([[0.0], [2.0]])))
    array([0.5])
    >>> crps(np.array([0.0, 3.0]), Normal(np.array([[0.0, 1.0], [1.0, 0.0]]))).round(4)
    array([0.2337, 2.    ])
    """
    if isinstance(distribution, Ensemble):
        # X' may be the same draw as X: n² pairs
        n = len(distribution.values)
        return _ensemble_crps(actual, distribution.values, pairs=n**2)
    from scipy.special import ndtr

    mean, deviation = distribution.values
    positive_deviation = np.where(deviation > 0, deviation, 1)
    z = (actual - mean) / positive_deviation
    probability = ndtr(z)  # Φ(z)
    density = normal_density(z)  # φ(z)
    distance = z * (2 * probability - 1) + 2 * density  # E|X − actual| / σ
    half_distance_of_draws = 1 / np.sqrt(np.pi)  # ½ E|X − X'| / σ
    score = deviation * (distance - half_distance_of_draws)
    absolute_error = np.abs(actual - mean)
    return np.asarray(np.where(deviation > 0, score, absolute_error))


def fair_crps(actual: Floats, ensemble: Ensemble) -> Floats:
    """The CRPS that an infinite ensemble is expected to have, of each row: as `crps`, with ½ E|X −
    X'| over pairs of different draws.

    Ferro 2014, doi:10.1002/qj.2270.

    >>> fair_crps(np.array([1.0]), Ensemble(np.array([[0.0], [2.0]])))
    array([0.])
    """
    n = len(ensemble.values)
    return _ensemble_crps(actual, ensemble.values, pairs=n * (n - 1))


def _ensemble_crps(actual: Floats, members: Floats, pairs: int) -> Floats:
    """The mean distance of the members from the actual value, less half the mean distance of two
    members, of each row. members: shape (members, rows). pairs: the number of ordered pairs in the
    mean distance: n² if it has pairs of a member with itself, else n (n − 1).
    """
    n = len(members)
    # Σ |x − x'| over all ordered pairs is 2 Σ (2 i − n − 1) x_i of the sorted members, i from 1:
    # the i-th one is the larger of i − 1 pairs and the smaller of n − i
    coefficient = np.arange(1 - n, n, 2)
    distances = 2 * coefficient @ np.sort(members, axis=0)
    mean_error = np.abs(members - actual).mean(axis=0)
    crps: Floats = mean_error - distances / (2 * pairs)
    return crps
