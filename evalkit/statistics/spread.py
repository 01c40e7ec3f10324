"""Spread: the sums of powers of influence values, which give standard error, skewness and degrees
of freedom.

The influence value of a unit is how far it moves the statistic, to first order; they add up to 0
over all units. Sums of their powers can be added up over blocks, so the units need not be in
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, Ints, codes, finite, ratio


def unknown(power: int) -> float:
    """NaN, for a power of the influence values that was not added up."""
    return float("nan")


@dataclass(frozen=True, eq=False)
class Spread:
    """Sums of powers of the influence values l of n units. square: Σ l². kish: Kish's effective
    number of units.

    power: p -> Σ lᵖ / (Σ l²)^(p/2), for p = 3 and 4.

    >>> s = Spread.of(np.array([4.0, -1, -1, -1, -1, 0]))
    >>> round(s.error, 3), round(s.skewness, 3), round(s.freedom(5.0), 3)
    (4.899, 1.643, 4.138)
    """

    n: float
    square: float
    kish: float
    power: Callable[[int], float] = unknown

    @staticmethod
    def of(moved: Floats, *, kish: float | None = None, times: Floats | None = None) -> "Spread":
        """The spread of influence values, one per unit. times: the number of units with each
        value.
        """
        n = float(len(moved) if times is None else times.sum())
        squares = moved**2
        square = float(squares.sum() if times is None else times @ squares)
        return Spread(
            n, square, n if kish is None else kish, lambda p: float(standardised(moved, p, times))
        )

    @staticmethod
    def without_each(values: Floats, kish: float) -> "Spread":
        """The spread from the values without each unit (Tukey's jackknife); first-order influence
        is too small.
        """
        return Spread.of((values - values.mean()) * (kish - 1) / kish, kish=kish)

    @property
    def error(self) -> float:
        """The standard error, √(Σ l² K / (K − 1)) with Kish's number K; NaN for one unit."""
        return float(np.sqrt(self.square * ratio(self.kish, self.kish - 1)))

    @property
    def skewness(self) -> float:
        """The skewness of the influence values; 0 if all are 0."""
        return self.power(3) * float(np.sqrt(self.n))

    def freedom(self, most: float) -> float:
        """The degrees of freedom of the squared error, from the kurtosis of the influence values; 1
        to `most`.

        The variance of Σ l², estimated from fourth powers, is that of a chi-square with 2 / (Σ l⁴ /
        (Σ l²)² − 1 / n).
        """
        most = max(most, 1.0)
        spread = self.power(4) - 1 / max(self.n, 1)
        return float(min(max(2 / spread, 1.0), most)) if spread > 0 else float(most)


def standardised(moved: Floats, power: int, times: Floats | None = None) -> Any:
    """Σ lᵖ / (Σ l²)^(p/2) along the last axis, 0 if all are 0; values are scaled to avoid overflow
    and underflow.

    >>> float(standardised(np.array([-1.0, -1.0, 2.0]), 3).round(4))
    0.4082
    """
    far = np.abs(moved).max(axis=-1, initial=0.0, keepdims=True)
    z = moved / np.where(far == 0, 1.0, far)
    squared = z * z
    z *= squared if power == 3 else squared * z
    square, whole = (x.sum(axis=-1) if times is None else x @ times for x in (squared, z))
    return np.where(square == 0, 0.0, whole / np.where(square == 0, 1.0, square) ** (power / 2))


def standard_error(effect: ArrayLike) -> float:
    """The error of the mean of effects l, one per unit, whose mean is 0: √(Σ l² / n(n − 1)). NaN
    below two units.

    >>> round(standard_error([-1, 0, 1]), 6)
    0.57735
    """
    effects = np.asarray(effect, float)
    return Spread.of(effects).error / max(effects.size, 1)


def satterthwaite(variance: Floats, freedom: Floats | Ints) -> float:
    """The degrees of freedom of a sum of variances, each estimated on its own; doi:10.2307/3002019.

    >>> satterthwaite(np.array([1.0, 1.0]), np.array([4, 4]))
    8.0
    """
    return float(ratio(variance.sum() ** 2, (variance**2 / freedom).sum()))


def satterthwaite_of_few(variance: Floats, freedom: Floats | Ints) -> float:
    """The same of variances that are each estimated from few values: from two on.

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
    found = ratio(variance.sum() ** 2, (variance**2 / (freedom + 2)).sum()) - 2
    return float(np.clip(np.nan_to_num(found, nan=most), freedom.min(), most))


def kish(weight: Floats) -> float:
    """Kish's effective number of units, (Σ w)² / Σ w².

    >>> kish(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(ratio(weight.sum() ** 2, np.dot(weight, weight)))


def of_units(differences: ArrayLike) -> Floats:
    """The differences, one per unit. Raises InputError without units or with a value that is not
    finite.
    """
    units = finite("differences", differences)
    if units.size == 0:
        raise InputError("differences must hold at least one unit, got none")
    return units


def by_unit(rows: Floats, unit: np.ndarray | None) -> Floats:
    """The sum of each unit's rows; the rows themselves if there are no units. A unit with a NaN has
    NaN.

    >>> by_unit(np.array([1.0, 2.0, np.nan]), np.array(["u", "u", "v"]))
    array([ 3., nan])
    """
    if unit is None:
        return rows
    code, names = codes(unit)
    return np.bincount(code, rows, names.size).astype(np.float64)


# Roots --------------------------------------------------------------------------------------------


def bisect(
    holds: Callable[[float], bool], inside: float, outside: float, *, steps: int = 60
) -> tuple[float, float]:
    """Two points as close as bisection gets them, one for which a condition holds and one for which
    it does not.

    >>> inside, outside = bisect(lambda x: x * x < 2, 1.0, 2.0)
    >>> inside < 2**0.5 <= outside, round(outside, 12)
    (True, 1.414213562373)
    """
    for _ in range(steps):
        middle = (inside + outside) / 2
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return float(inside), float(outside)


def inverted(
    score: Callable[[float], float], z: float, low: float, value: float, high: float
) -> tuple[float, float]:
    """The points at which a decreasing score, 0 at `value`, equals z (from `low` on) and −z (up to
    `high`).

    >>> [round(limit, 9) for limit in inverted(lambda x: -x, 1.0, -4.0, 0.0, 4.0)]
    [-1.0, 1.0]
    """
    return bisect(lambda x: score(x) > z, low, value)[0], bisect(
        lambda x: score(x) > -z, value, high
    )[0]
