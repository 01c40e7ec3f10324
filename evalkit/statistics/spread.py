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
    """NaN: the standardised sum of a power of the influence values that was not added up."""
    return float("nan")


@dataclass(frozen=True, eq=False)
class Spread:
    """Sums of powers of the influence values l of n units.

    square: Σ l². kish: Kish's effective number of units. standardised_power: p -> Σ lᵖ /
    (Σ l²)^(p/2), for p = 3 and 4. tapered: True for units in time order whose autocovariances got
    Bartlett's weights.

    >>> s = Spread.from_influence(np.array([4.0, -1, -1, -1, -1, 0]))
    >>> round(s.error, 3), round(s.skewness, 3), round(s.kurtosis_freedom(5.0), 3)
    (4.899, 1.643, 4.138)
    """

    n: float
    square: float
    kish: float
    standardised_power: Callable[[int], float] = unknown_power
    tapered: bool = False

    @staticmethod
    def from_influence(
        influence: Floats, *, kish: float | None = None, frequency: Floats | None = None
    ) -> "Spread":
        """The spread of influence values, one per unit.

        kish: the effective number of units, by default their number. frequency: the number of units
        with each value, None for one.
        """
        squares = influence**2
        if frequency is None:
            n = float(len(influence))
            square = float(squares.sum())
        else:
            n = float(frequency.sum())
            square = float(frequency @ squares)

        def standardised_power(power: int) -> float:
            """The field of this name; it is computed only if it is asked for."""
            return float(standardised(influence, power, frequency))

        return Spread(n, square, n if kish is None else kish, standardised_power)

    @staticmethod
    def from_series(influence: Floats, lags: int) -> "Spread":
        """The spread of influence values in time order that depend on the `lags` ones before them,
        so that `error` is that of Diebold and Mariano, with Harvey's correction.

        Autocovariances up to `lags` are added to the variance; if the sum is not positive, they get
        Bartlett's weights, with which it is. NaN without more units than lags + 1. Diebold and
        Mariano 1995, doi:10.1080/07350015.1995.10524599; Harvey, Leybourne and Newbold 1997,
        doi:10.1016/S0169-2070(96)00719-4.

        >>> s = Spread.from_series(np.array([1.0, 2.0, -1.0, -2.0]) / 4, lags=1)
        >>> round(s.error, 4), s.tapered
        (1.5275, False)
        """
        n = len(influence)
        spread = Spread.from_influence(influence)
        if n <= lags + 1:
            return replace(spread, square=np.nan)
        distances = np.arange(1, lags + 1)
        products = np.array([influence[lag:] @ influence[:-lag] for lag in distances])
        square = spread.square + 2 * products.sum()
        tapered = bool(spread.square > 0 and square <= 0)
        if tapered:
            square = spread.square + 2 * (1 - distances / (lags + 1)) @ products
        # Harvey's factor is n² / ((n − lags) (n − lags − 1)), of which `error` has n / (n − 1)
        correction = n * (n - 1) / ((n - lags) * (n - lags - 1))
        return replace(spread, square=max(square, 0.0) * correction, tapered=tapered)

    @staticmethod
    def from_jackknife(leave_one_out: Floats, kish: float) -> "Spread":
        """The spread by Tukey's jackknife, from the value without each unit.

        With few units, first-order influence values are too small.
        """
        # Tukey's variance is Σ (value without a unit − their mean)² (K − 1) / K, and `error`
        # multiplies Σ l² by K / (K − 1)
        influence = (leave_one_out - leave_one_out.mean()) * (kish - 1) / kish
        return Spread.from_influence(influence, kish=kish)

    @property
    def error(self) -> float:
        """The standard error, √(Σ l² K / (K − 1)) with Kish's number K; NaN for one unit."""
        return float(np.sqrt(self.square * ratio(self.kish, self.kish - 1)))

    @property
    def skewness(self) -> float:
        """The skewness of the influence values; 0 if all are 0."""
        return self.standardised_power(3) * float(np.sqrt(self.n))

    def kurtosis_freedom(self, largest: float) -> float:
        """The degrees of freedom of the squared error, from the kurtosis of the influence values:
        between 1 and `largest`.

        The variance of Σ l², estimated from fourth powers, is that of a chi-square with 2 / (Σ l⁴ /
        (Σ l²)² − 1 / n) degrees of freedom.
        """
        largest = float(max(largest, 1.0))
        relative_variance = self.standardised_power(4) - 1 / max(self.n, 1)  # of Σ l²
        if relative_variance > 0:  # not for NaN, of powers that are not known
            return float(min(max(2 / relative_variance, 1.0), largest))
        return largest


def standardised(influence: Floats, power: int, frequency: Floats | None = None) -> Floats:
    """Σ lᵖ / (Σ l²)^(p/2) along the last axis, for p = 3 or 4; 0 if all l are 0.

    frequency: the number of units with each value, None for one. Values are scaled to avoid
    overflow and underflow.

    >>> float(standardised(np.array([-1.0, -1.0, 2.0]), 3).round(4))
    0.4082
    """
    largest = np.abs(influence).max(axis=-1, initial=0.0, keepdims=True)
    scaled = influence / np.where(largest == 0, 1.0, largest)
    squares = scaled * scaled
    powers = scaled * (squares if power == 3 else squares * scaled)
    if frequency is None:
        square_sum = squares.sum(axis=-1)
        power_sum = powers.sum(axis=-1)
    else:
        square_sum = squares @ frequency
        power_sum = powers @ frequency
    divisor = np.where(square_sum == 0, 1.0, square_sum) ** (power / 2)
    return np.where(square_sum == 0, 0.0, power_sum / divisor)


def standard_error(influence: ArrayLike) -> float:
    """The error of the mean of values l, one per unit, whose mean is 0: √(Σ l² / n(n − 1)). NaN
    below two units.

    >>> round(standard_error([-1, 0, 1]), 6)
    0.57735
    """
    values = np.asarray(influence, float)
    return Spread.from_influence(values).error / max(values.size, 1)


def satterthwaite(variance: Floats, freedom: Floats | Ints) -> float:
    """The degrees of freedom of a sum of variances, each estimated on its own; doi:10.2307/3002019.

    >>> satterthwaite(np.array([1.0, 1.0]), np.array([4, 4]))
    8.0
    """
    return float(ratio(variance.sum() ** 2, (variance**2 / freedom).sum()))


def satterthwaite_of_few(variance: Floats, freedom: Floats | Ints) -> float:
    """The degrees of freedom of a sum of variances that are each estimated from few values: from
    two on.

    The square of such a variance is (f + 2) / f times too large on f degrees of freedom, so that
    `satterthwaite` would give too few: Satterthwaite 1946, doi:10.2307/3002019. At least the
    fewest of `freedom`, at most their sum, which it is if nothing varies; NaN without variances.

    >>> satterthwaite_of_few(np.array([3.0, 2.0, 1.0]), np.array([1, 1, 1]))
    3.0
    >>> round(satterthwaite_of_few(np.array([9.0, 1.0, 1.0]), np.array([3, 3, 3])), 3)
    5.289
    """
    if not variance.size:
        return float("nan")
    most = float(freedom.sum())
    corrected = ratio(variance.sum() ** 2, (variance**2 / (freedom + 2)).sum()) - 2
    return float(np.clip(np.nan_to_num(corrected, nan=most), freedom.min(), most))


def kish(weight: Floats) -> float:
    """Kish's effective number of units, (Σ w)² / Σ w².

    >>> kish(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(ratio(weight.sum() ** 2, np.dot(weight, weight)))


def checked_differences(differences: ArrayLike) -> Floats:
    """The differences as an array, one per unit. Raises InputError without units or with a value
    that is not finite.
    """
    values = finite("differences", differences)
    if values.size == 0:
        raise InputError("differences must hold at least one unit, got none")
    return values


def by_unit(values: Floats, unit: np.ndarray | None) -> Floats:
    """The sum of the values of each unit's rows; the values themselves if `unit`, the key of each
    row's unit, is None. A unit with a NaN has NaN.

    >>> by_unit(np.array([1.0, 2.0, np.nan]), np.array(["u", "u", "v"]))
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
    """Where a condition that holds at `inside` stops to hold before `outside`: two points as close
    as bisection gets them.

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


Score = Callable[[float], float]  # tested value -> standard normal statistic, which falls with it


class Interval(NamedTuple):
    """The lower and the upper limit of an interval."""

    low: float
    high: float


def lower_score_limit(score: Score, z: float, *, low: float, value: float) -> float:
    """Where a score that falls as its argument rises comes down to z, between `low` and `value`,
    where it is 0.
    """

    def lies_below_limit(tested: float) -> bool:
        """True if the score rejects the tested value as too low."""
        return score(tested) > z

    return bisect(lies_below_limit, inside=low, outside=value).inside


def upper_score_limit(score: Score, z: float, *, value: float, high: float) -> float:
    """Where a score that falls as its argument rises comes down to −z, between `value`, where it
    is 0, and `high`.
    """

    def lies_below_limit(tested: float) -> bool:
        """True unless the score rejects the tested value as too high."""
        return score(tested) > -z

    return bisect(lies_below_limit, inside=value, outside=high).inside


def inverted(score: Score, z: float, low: float, value: float, high: float) -> Interval:
    """The limits of a score interval: where a decreasing score, 0 at `value`, equals z and −z.

    The lower limit is searched from `low` on, the upper one up to `high`.

    >>> [round(limit, 9) for limit in inverted(lambda x: -x, 1.0, -4.0, 0.0, 4.0)]
    [-1.0, 1.0]
    """
    return Interval(
        lower_score_limit(score, z, low=low, value=value),
        upper_score_limit(score, z, value=value, high=high),
    )
