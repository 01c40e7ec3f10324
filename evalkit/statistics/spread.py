"""Spread: the sums of powers of influence values, which give standard error, skewness and degrees
of freedom.

The influence value of a unit is how far it moves the statistic, to first order; they add up to 0
over all units. Sums of their powers can be added up over blocks, so the units need not be in
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, codes, finite, ratio


def unknown_power(power: int) -> float:
    """A `Spread.standardised_power` for which no powers were added up: NaN."""
    return float("nan")


def only_power(known_power: int, value: float) -> Callable[[int], float]:
    """A `Spread.standardised_power` for which one power was added up: `value` for the power
    `known_power`, NaN for any other.

    >>> standardised_power = only_power(3, 0.5)
    >>> standardised_power(3), standardised_power(4)
    (0.5, nan)
    """

    def standardised_power(power: int) -> float:
        """`value` for the power that was added up, else NaN."""
        if power == known_power:
            return value
        return unknown_power(power)

    return standardised_power


@dataclass(frozen=True, eq=False)
class Spread:
    """Sums of powers of the influence values l of n units, from which the standard error and the
    skewness of a metric follow.

    square: Σ l². kish: Kish's effective number of units. standardised_power: p -> Σ lᵖ / (Σ
    l²)^(p/2), for p = 3 and 4, NaN for a power that was not added up. has_bartlett_weights: True
    for units in time order whose autocovariances got Bartlett's weights.

    >>> s = Spread.from_influence(np.array([4.0, -1, -1, -1, -1, 0]))
    >>> round(s.error, 3), round(s.skewness, 3), round(s.kurtosis_freedom(5.0), 3)
    (4.899, 1.643, 4.138)
    """

    n: float
    square: float
    kish: float
    standardised_power: Callable[[int], float] = unknown_power
    has_bartlett_weights: bool = False

    @staticmethod
    def from_influence(
        influence: Floats, *, kish: float | None = None, frequency: Floats | None = None
    ) -> "Spread":
        """The spread of influence values, shape (values,).

        kish: the effective number of units, by default their number. frequency: the number of units
        with each value, shape (values,); by default each value is that of one unit.
        """
        squares = influence**2
        if frequency is None:
            n = float(len(influence))
            square = float(squares.sum())
        else:
            n = float(frequency.sum())
            square = float(frequency @ squares)

        def standardised_power(power: int) -> float:
            """Σ lᵖ / (Σ l²)^(p/2) of these values, computed only if it is asked for."""
            return float(standardised(influence, power, frequency))

        effective_units = n if kish is None else kish
        return Spread(n, square, kish=effective_units, standardised_power=standardised_power)

    @staticmethod
    def from_series(influence: Floats, lags: int) -> "Spread":
        """The spread of influence values in time order, shape (units,), each of which depends on
        the `lags` values before it: `error` is that of Diebold and Mariano, with Harvey's
        correction.

        Autocovariances up to `lags` are added to the variance; if the sum is not positive, they get
        Bartlett's weights, with which it is never negative. The error is NaN unless there are more
        than lags + 1 units, as Harvey's correction then divides by 0 or less. Diebold and
        Mariano 1995, doi:10.1080/07350015.1995.10524599; Harvey, Leybourne and Newbold 1997,
        doi:10.1016/S0169-2070(96)00719-4.

        >>> s = Spread.from_series(np.array([1.0, 2.0, -1.0, -2.0]) / 4, lags=1)
        >>> round(s.error, 4), s.has_bartlett_weights
        (1.5275, False)
        """
        n = len(influence)
        spread = Spread.from_influence(influence)
        if n <= lags + 1:
            return replace(spread, square=np.nan)
        distances = np.arange(1, lags + 1)
        products = np.array([influence[lag:] @ influence[:-lag] for lag in distances])
        # (Σ l)² of units that depend on each other: each pair of units counts in both orders
        square = spread.square + 2 * products.sum()
        has_bartlett_weights = bool(spread.square > 0 and square <= 0)
        if has_bartlett_weights:
            bartlett_weights = 1 - distances / (lags + 1)
            square = spread.square + 2 * bartlett_weights @ products
        # Harvey's factor is n² / (m (m − 1)) with m = n − lags. Its part n / (n − 1) comes from
        # `error`; the rest is applied here.
        m = n - lags
        correction = n * (n - 1) / (m * (m - 1))
        return replace(
            spread,
            square=max(square, 0.0) * correction,
            has_bartlett_weights=has_bartlett_weights,
        )

    @staticmethod
    def from_jackknife(leave_one_out: Floats, kish: float) -> "Spread":
        """The spread whose `error` is that of Tukey's jackknife.

        With few units, the influence values of the delta method are too small. leave_one_out: the
        metric without each unit, shape (units,). kish: Kish's effective number of units.
        """
        # Tukey's variance is Σ (value without a unit − their mean)² (K − 1) / K, with K = kish. As
        # `error` multiplies Σ l² by K / (K − 1), l has the factor (K − 1) / K.
        deviation = leave_one_out - leave_one_out.mean()
        influence = deviation * (kish - 1) / kish
        return Spread.from_influence(influence, kish=kish)

    @property
    def error(self) -> float:
        """The standard error, √(Σ l² K / (K − 1)) with Kish's number K; NaN for one unit."""
        variance = self.square * ratio(self.kish, self.kish - 1)
        return float(np.sqrt(variance))

    @property
    def skewness(self) -> float:
        """The skewness of the influence values; 0 if all are 0, NaN if cubes were not added up."""
        # (Σ l³ / n) / (Σ l² / n)^1.5 = √n Σ l³ / (Σ l²)^1.5, as the mean of l is 0
        return self.standardised_power(3) * float(np.sqrt(self.n))

    def kurtosis_freedom(self, largest: float) -> float:
        """The degrees of freedom of the squared error, from the kurtosis of the influence values;
        at least 1 and at most `largest`. If fourth powers were not added up, they are `largest`.

        The relative variance of Σ l² is Σ l⁴ / (Σ l²)² − 1 / n. That of a chi-square with f degrees
        of freedom is 2 / f: f is chosen so that both are equal.
        """
        largest = float(max(largest, 1.0))
        relative_variance = self.standardised_power(4) - 1 / max(self.n, 1)
        if relative_variance > 0:  # False for NaN
            freedom = max(2 / relative_variance, 1.0)
            return float(min(freedom, largest))
        # all squares are equal, or fourth powers are unknown: no reason for fewer than `largest`
        return largest


def standardised(influence: Floats, power: int, frequency: Floats | None = None) -> Floats:
    """Σ lᵖ / (Σ l²)^(p/2) of influence values l along the last axis, for the power p = 3 or 4; 0 if
    all l are 0. Shape (…, values) in, (…) out.

    frequency: the number of units with each value, shape (values,); by default one.

    >>> float(standardised(np.array([-1.0, -1.0, 2.0]), 3).round(4))
    0.4082
    """
    # divided by the largest, a factor that cancels: powers of very large or small values leave the
    # range of doubles
    largest = np.abs(influence).max(axis=-1, initial=0.0, keepdims=True)
    scaled = influence / np.where(largest == 0, 1.0, largest)
    squares = scaled * scaled
    powers = scaled * squares
    if power == 4:
        powers *= scaled
    if frequency is None:
        square_sum = squares.sum(axis=-1)
        power_sum = powers.sum(axis=-1)
    else:
        square_sum = squares @ frequency
        power_sum = powers @ frequency
    all_are_0 = square_sum == 0
    divisor = np.where(all_are_0, 1.0, square_sum) ** (power / 2)
    return np.where(all_are_0, 0.0, power_sum / divisor)


def standard_error(influence: ArrayLike) -> float:
    """The standard error of the mean of n values, √(Σ l² / n(n − 1)); NaN for fewer than two.

    influence: the values less their mean, l, shape (n,).

    >>> round(standard_error([-1, 0, 1]), 6)
    0.57735
    """
    values = np.asarray(influence, float)
    # the influence of a unit on the mean is l / n; `error` is proportional to it
    return Spread.from_influence(values).error / max(values.size, 1)


def satterthwaite(variance: Floats, freedom: Floats | Ints) -> float:
    """The degrees of freedom of a sum of independent variances v with f degrees each, (Σ v)² /
    Σ (v² / f). Satterthwaite 1946, doi:10.2307/3002019.

    >>> satterthwaite(np.array([1.0, 1.0]), np.array([4, 4]))
    8.0
    """
    total = variance.sum()
    uncertainty = (variance**2 / freedom).sum()  # half the variance of the estimated total
    return float(ratio(total**2, uncertainty))


def satterthwaite_of_few(variance: Floats, freedom: Floats | Ints) -> float:
    """The degrees of freedom of a sum of independent variances v that are each estimated from few
    values, as few as two: (Σ v)² / Σ (v² / (f + 2)) − 2.

    An estimate v on f degrees of freedom has E v² = (f + 2) / f · (true variance)². `satterthwaite`
    divides by v², which is too large on average, and so gives too few degrees of freedom:
    Satterthwaite 1946, doi:10.2307/3002019.

    freedom: f of each variance. The result is at least the smallest f and at most their sum, which
    it is if all v are 0; NaN without variances.

    >>> satterthwaite_of_few(np.array([3.0, 2.0, 1.0]), np.array([1, 1, 1]))
    3.0
    >>> round(satterthwaite_of_few(np.array([9.0, 1.0, 1.0]), np.array([3, 3, 3])), 3)
    5.289
    """
    if not variance.size:
        return float("nan")
    largest = float(freedom.sum())
    total = variance.sum()
    uncertainty = (variance**2 / (freedom + 2)).sum()
    corrected = ratio(total**2, uncertainty) - 2
    corrected = np.nan_to_num(corrected, nan=largest)
    return float(np.clip(corrected, freedom.min(), largest))


def kish(weight: Floats) -> float:
    """Kish's effective number of units, (Σ w)² / Σ w². weight: w of each unit, shape (units,).

    >>> kish(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    total = weight.sum()
    return float(ratio(total**2, np.dot(weight, weight)))


def checked_differences(differences: ArrayLike) -> Floats:
    """The differences as an array, one per unit. Raises InputError if there are none, or if one is
    not finite.
    """
    values = finite("differences", differences)
    if values.size == 0:
        raise InputError("differences must hold at least one unit, got none")
    return values


def sum_by_unit(values: Floats, unit: np.ndarray | None) -> Floats:
    """The sum of the values of each unit's rows, shape (units,), units in the order of their keys;
    the values themselves if `unit` is None. A unit with a NaN has NaN.

    values: one per row. unit: the key of each row's unit.

    >>> sum_by_unit(np.array([1.0, 2.0, np.nan]), np.array(["u", "u", "v"]))
    array([ 3., nan])
    """
    if unit is None:
        return values
    number, names = codes(unit)
    return np.bincount(number, values, names.size).astype(np.float64)


# Roots --------------------------------------------------------------------------------------------


class Boundary(NamedTuple):
    """Two neighbouring points, one for which a condition holds and one for which it does not."""

    inside: float
    outside: float


def bisect(
    holds: Callable[[float], bool], inside: float, outside: float, *, steps: int = 60
) -> Boundary:
    """A point where a condition holds and one where it does not, as close to each other as `steps`
    halvings of the range from `inside` to `outside` bring them.

    holds: the condition. It holds at `inside` and not at `outside`, whichever of them is larger.

    >>> boundary = bisect(lambda x: x * x < 2, 1.0, 2.0)
    >>> boundary.inside < 2**0.5 <= boundary.outside, round(boundary.outside, 12)
    (True, 1.414213562373)
    """
    for _ in range(steps):
        middle = (inside + outside) / 2
        if middle in (inside, outside):  # no number lies between
            break
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return Boundary(float(inside), float(outside))


def percentile_shares(level: float) -> list[float]:
    """The shares of the two quantiles that are the limits of a percentile interval, (1 − level) / 2
    and (1 + level) / 2.
    """
    return [(1 - level) / 2, (1 + level) / 2]


# tested value of a parameter -> standard normal test statistic, which falls as the value rises
Score = Callable[[float], float]


class Interval(NamedTuple):
    """The lower and the upper limit of an interval."""

    low: float
    high: float


class LimitArrays(NamedTuple):
    """The lower and the upper limits of several values, one array each."""

    low: Floats
    high: Floats


def lower_score_limit(score: Score, z: float, *, low: float, value: float) -> float:
    """The lower limit of a score interval: the tested value at which the falling score equals z.

    It lies between `low`, the least possible value, and `value`, the estimate, where the score
    is 0.
    """

    def lies_below_limit(tested: float) -> bool:
        """True if the score rejects the tested value as too low."""
        return score(tested) > z

    return bisect(lies_below_limit, inside=low, outside=value).inside


def upper_score_limit(score: Score, z: float, *, value: float, high: float) -> float:
    """The upper limit of a score interval: the tested value at which the falling score equals −z.

    It lies between `value`, the estimate, where the score is 0, and `high`, the largest possible
    value.
    """

    def lies_below_limit(tested: float) -> bool:
        """True unless the score rejects the tested value as too high."""
        return score(tested) > -z

    return bisect(lies_below_limit, inside=value, outside=high).inside


def inverted(score: Score, z: float, *, low: float, value: float, high: float) -> Interval:
    """The limits of a score interval: the tested values at which the falling score equals z and −z.

    low, high: the least and the largest possible value. value: the estimate, where the score is 0.

    >>> [round(limit, 9) for limit in inverted(lambda x: -x, 1.0, low=-4.0, value=0.0, high=4.0)]
    [-1.0, 1.0]
    """
    return Interval(
        lower_score_limit(score, z, low=low, value=value),
        upper_score_limit(score, z, value=value, high=high),
    )
