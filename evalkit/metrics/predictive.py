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

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import losses

# roles of the columns that state a distribution; behind the words stands a level, or a number
QUANTILE, MEMBER, MEAN, DEVIATION = "quantile ", "member ", "mean", "deviation"
EXACT = 10  # decimals of a level


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
    """A quantile that a table does not state. level: a share."""

    def __init__(self, level: float) -> None:
        super().__init__(f"no quantile {level}")
        self.level = level


@dataclass(frozen=True, eq=False)
class Predictive(ABC):
    """What a system says of each actual value, beyond one number. values: the numbers that state
    it, one row per column of the input.
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
        return Bounds(self.quantile(low), self.quantile(round(1 - low, EXACT)))


@dataclass(frozen=True, eq=False)
class Quantiles(Predictive):
    """Quantiles at some levels. levels: ascending shares, one for each row of the values."""

    levels: tuple[float, ...]

    def quantile(self, level: float) -> Floats:
        """The column of a level. Raises MissingLevel if there is none."""
        if level not in self.levels:
            raise MissingLevel(level)
        return np.asarray(self.values[self.levels.index(level)])

    @property
    def drops(self) -> Floats:
        """By how much a quantile lies below one of a lower level, the largest of each row; 0 if
        quantiles do not cross.

        >>> Quantiles(np.array([[1.0, 3.0], [2.0, 1.0], [2.0, 4.0]]), (0.1, 0.5, 0.9)).drops
        array([0., 2.])
        """
        return np.asarray((np.maximum.accumulate(self.values) - self.values).max(axis=0))


class Ensemble(Predictive):
    """Draws from the distribution of each row, one row of the values per draw."""

    def quantile(self, level: float) -> Floats:
        """The draw at place level × (number of draws + 1), between two draws linearly: an actual
        value from the same distribution lies below it with the probability `level`.

        Raises MissingLevel for a level beyond the lowest or the highest draw.

        >>> Ensemble(np.array([[3.0], [1.0], [2.0]])).quantile(0.25)
        array([1.])
        """
        place = round(level * (len(self.values) + 1), EXACT)
        if not 1 <= place <= len(self.values):
            raise MissingLevel(level)
        return np.asarray(np.quantile(self.values, level, axis=0, method="weibull"))


class Normal(Predictive):
    """Normal distributions: the values are the means, then the standard deviations."""

    def quantile(self, level: float) -> Floats:
        """The quantile of the normal distribution."""
        from scipy.special import ndtri

        mean, deviation = self.values
        return np.asarray(mean + deviation * ndtri(level))


def are_same(first: Predictive | None, second: Predictive | None) -> bool:
    """True if two systems state the same distributions, by columns of the same roles; also if
    neither states any.
    """
    if first is None or second is None:
        return first is second
    return np.array_equal(first.values, second.values)


def of_roles(columns: Mapping[str, Floats], forecast: Floats) -> Predictive | None:
    """The distributions that columns state, by their roles; None without such columns. forecast:
    the mean, if only the standard deviation has a column.

    >>> of_roles({"quantile 0.9": np.array([2.0]), "quantile 0.1": np.array([1.0])}, None).levels
    (0.1, 0.9)
    """
    if is_ensemble(columns):
        members = [values for role, values in columns.items() if role.startswith(MEMBER)]
        return Ensemble(np.array(members))
    levels = sorted(level_of_role(role) for role in columns if role.startswith(QUANTILE))
    if levels:
        return Quantiles(np.array([columns[f"{QUANTILE}{level}"] for level in levels]), (*levels,))
    if DEVIATION in columns:
        return Normal(np.array([columns.get(MEAN, forecast), columns[DEVIATION]]))
    return None


def level_of_role(role: str) -> float:
    """The level of a quantile, from the role of its column."""
    return float(role.removeprefix(QUANTILE))


# Scores per row -----------------------------------------------------------------------------------


def covered(actual: Floats, interval: Bounds, percent: float) -> Floats:
    """1 if the actual value lies in the interval or on a bound, else 0. The mean is the coverage.

    >>> covered(np.array([1.0, 5.0]), Bounds(np.array([1.0, 1.0]), np.array([4.0, 4.0])), 90)
    array([1., 0.])
    """
    return ((interval.low <= actual) & (actual <= interval.high)).astype(np.float64)


def interval_score(actual: Floats, interval: Bounds, percent: float) -> Floats:
    """Winkler's score: the width, and 2 / (1 - level) times the distance of an actual value outside
    of the interval.

    Gneiting and Raftery 2007, doi:10.1198/016214506000001437.

    >>> interval_score(np.array([5.0]), Bounds(np.array([1.0]), np.array([4.0])), 80)
    array([13.])
    """
    low, high = interval
    outside = np.maximum(low - actual, 0) + np.maximum(actual - high, 0)
    return high - low + 2 / level_of(100 - percent) * outside


def width(actual: Floats, interval: Bounds, percent: float) -> Floats:
    """The distance of the bounds."""
    return interval.high - interval.low


class WeightedParts(NamedTuple):
    """The three parts of the weighted interval score, per row."""

    overprediction: Floats
    underprediction: Floats
    dispersion: Floats


def weighted_interval_score(actual: Floats, quantiles: Quantiles) -> Floats:
    """Twice the pinball loss, averaged over the levels. The mean is the WIS, which approximates the
    CRPS.

    Bracher, Ray, Gneiting and Reich 2021, doi:10.1371/journal.pcbi.1008618.

    >>> weighted_interval_score(
    ...     np.array([5.0]), Quantiles(np.array([[1.0], [2.0], [4.0]]), (0.1, 0.5, 0.9))
    ... ).round(4)
    array([1.8667])
    """
    pairs = zip(quantiles.levels, quantiles.values, strict=True)
    loss = [2 * losses.quantile(actual, values, level) for level, values in pairs]
    return np.asarray(np.mean(loss, axis=0))


def weighted_parts(actual: Floats, quantiles: Quantiles) -> WeightedParts:
    """The parts of `weighted_interval_score`: how far forecasts lie above the actual value, below
    it, and their widths by level. Each lower quantile needs the upper one of the same interval.
    """
    levels = np.array(quantiles.levels)[:, None]
    excess = quantiles.values - actual
    n = len(levels)
    weight = np.where(levels == 0.5, 1, 2) / n  # half of the median belongs to either side
    over = (weight * np.maximum(excess, 0) * (levels <= 0.5)).sum(axis=0)
    under = (weight * np.maximum(-excess, 0) * (levels >= 0.5)).sum(axis=0)
    ends = 2 * np.minimum(levels, 1 - levels) * np.sign(levels - 0.5) / n
    return WeightedParts(over, under, (ends * excess).sum(axis=0))


def reached(actual: Floats, distribution: Predictive, percent: float) -> Floats:
    """1 if the actual value is at most the quantile, else 0. The mean is the level, if the
    quantiles are right.
    """
    return np.asarray(actual <= distribution.quantile(level_of(percent)), np.float64)


def crps(actual: Floats, distribution: Ensemble | Normal) -> Floats:
    """The continuous ranked probability score: of the empirical distribution of draws their mean
    distance from the actual value, less half of that from one another; of a normal distribution the
    closed form.

    Gneiting and Raftery 2007, doi:10.1198/016214506000001437.

    >>> crps(np.array([1.0]), Ensemble(np.array([[0.0], [2.0]])))
    array([0.5])
    >>> crps(np.array([0.0, 3.0]), Normal(np.array([[0.0, 1.0], [1.0, 0.0]]))).round(4)
    array([0.2337, 2.    ])
    """
    if isinstance(distribution, Ensemble):
        return _of_members(actual, distribution.values, pairs=len(distribution.values) ** 2)
    from scipy.special import ndtr

    mean, deviation = distribution.values
    z = (actual - mean) / np.where(deviation > 0, deviation, 1)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    score = deviation * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))
    return np.asarray(np.where(deviation > 0, score, np.abs(actual - mean)))


def fair_crps(actual: Floats, ensemble: Ensemble) -> Floats:
    """`crps` as an infinite ensemble is expected to have it: distances of a draw from itself do not
    count.

    Ferro 2014, doi:10.1002/qj.2270.

    >>> fair_crps(np.array([1.0]), Ensemble(np.array([[0.0], [2.0]])))
    array([0.])
    """
    n = len(ensemble.values)
    return _of_members(actual, ensemble.values, pairs=n * (n - 1))


def _of_members(actual: Floats, members: Floats, pairs: int) -> Floats:
    """The mean distance of the members from the actual value, less the sum of the distances of all
    of their pairs by `pairs`, halved.
    """
    n = len(members)
    # the sum of these distances, from the order of the members
    weight = 2 * np.arange(1, n + 1) - n - 1
    distances = 2 * weight @ np.sort(members, axis=0)
    return np.asarray(np.abs(members - actual).mean(axis=0) - distances / (2 * pairs))
