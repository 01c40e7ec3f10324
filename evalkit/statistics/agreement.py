"""Agreement of two raters beyond chance: Cohen's κ, weighted κ, Gwet's AC1 and Krippendorff's α.

Each is 1 − observed / expected disagreement; they differ in the disagreement that chance would
give. Its standard error is that of the delta method.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.statistics.closed_forms import ranged_t
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.spread import Spread, by_unit

ENDS = (-1.0, 1.0)
METHOD = "delta method, t on the logit scale"
Expected = Callable[[Floats, Floats], Floats]  # (values, a rater's) -> mean disagreement of each


class Ratings(NamedTuple):
    """The ratings of two raters of the same units, shape (units,) each; unit: the cluster of each,
    None if units are independent.
    """

    first: Floats
    second: Floats
    unit: np.ndarray | None = None

    def cut(self, threshold: float) -> "Ratings":
        """The ratings as 1 from the threshold on, else 0."""
        first, second = (np.where(side >= threshold, 1.0, 0.0) for side in self[:2])
        return Ratings(first, second, self.unit)

    @property
    def categories(self) -> int:
        """The number of different values."""
        return len(np.unique(self[:2]))

    @property
    def unequal(self) -> Floats:
        """1 for each unit with different ratings, else 0."""
        unequal: Floats = (self.first != self.second).astype(np.float64)
        return unequal

    @property
    def squares(self) -> Floats:
        """The squared difference of each unit's ratings."""
        squares: Floats = np.square(self.first - self.second)
        return squares


class Disagreement(NamedTuple):
    """The observed disagreement of each unit, that expected by chance, and how far each unit moves
    the latter times the number of units.
    """

    observed: Floats
    expected: float
    moved: Floats


def share_unequal(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others that differ."""
    names, number = np.unique(np.concatenate([values, others]), return_inverse=True)
    counts = np.bincount(number[len(values) :], minlength=len(names))
    return 1.0 - counts[number[: len(values)]] / len(others)


def mean_square(values: Floats, others: Floats) -> Floats:
    """For each value the mean squared difference from the others."""
    mean_squares: Floats = np.square(values - others.mean()) + others.var()
    return mean_squares


def kappa(ratings: Ratings) -> Disagreement:
    """Cohen's κ: chance keeps each rater's own frequencies. Cohen 1960,
    doi:10.1177/001316446002000104.
    """
    return _by_own_frequencies(ratings, ratings.unequal, share_unequal)


def weighted_kappa(ratings: Ratings) -> Disagreement:
    """κ with quadratic weights: a disagreement counts as its square. Cohen 1968,
    doi:10.1037/h0026256.
    """
    return _by_own_frequencies(ratings, ratings.squares, mean_square)


def _by_own_frequencies(ratings: Ratings, observed: Floats, expected: Expected) -> Disagreement:
    of_first = expected(ratings.first, ratings.second)
    of_second = expected(ratings.second, ratings.first)
    mean = float(of_first.mean())
    return Disagreement(observed, mean, of_first + of_second - 2 * mean)


def alpha(ratings: Ratings) -> Disagreement:
    """Krippendorff's α of categories: chance draws two of all ratings without replacement.
    Krippendorff 2004, doi:10.1111/j.1468-2958.2004.tb00738.x.
    """
    return _by_pooled_frequencies(ratings, ratings.unequal, share_unequal)


def interval_alpha(ratings: Ratings) -> Disagreement:
    """Krippendorff's α of numbers: a disagreement counts as its square."""
    return _by_pooled_frequencies(ratings, ratings.squares, mean_square)


def _by_pooled_frequencies(ratings: Ratings, observed: Floats, expected: Expected) -> Disagreement:
    pooled = np.concatenate(ratings[:2])
    of_first, of_second = np.split(expected(pooled, pooled), 2)
    without_replacement = ratio(len(pooled), len(pooled) - 1)
    mean = float(without_replacement * (of_first + of_second).mean() / 2)
    return Disagreement(observed, mean, without_replacement * (of_first + of_second) - 2 * mean)


def ac1(ratings: Ratings) -> Disagreement:
    """Gwet's AC1: chance agrees where units are hard to rate, which is rare if one category is.
    Gwet 2008, doi:10.1348/000711006X126600.
    """
    names, number = np.unique(np.concatenate(ratings[:2]), return_inverse=True)
    share = np.bincount(number) / len(number)
    others = max(len(names) - 1, 1)
    of_first, of_second = np.split((1 - 2 * share[number]) / others, 2)
    by_rating = (of_first + of_second) / 2
    return Disagreement(
        ratings.unequal,
        float(1 - share @ (1 - share) / others),
        by_rating.mean() - by_rating,
    )


def estimate(ratings: Ratings, coefficient: Disagreement, level: float) -> Estimate:
    """A coefficient with its interval; NaN if no disagreement is to be expected.

    Its standard error has the degrees of freedom that the kurtosis of the units' influence leaves.
    Without any disagreement the limits are Wilson's.

    >>> judge, human = np.array([1, 1, 0, 0, 1, 1, 0, 1.0]), np.array([1, 0, 0, 0, 1, 1, 0, 1.0])
    >>> ratings = Ratings(judge, human)
    >>> round(estimate(ratings, kappa(ratings), 0.95).value, 4)  # 1 − (1 / 8) / (1 / 2)
    0.75
    """
    observed, expected, moved = coefficient
    share = ratio(observed.mean(), expected)
    influence = -(observed - observed.mean() - share * moved) / (expected or np.nan)
    spread = Spread.from_influence(by_unit(influence / len(observed), ratings.unit))
    return ranged_t(
        float(1 - share),
        spread.error,
        freedom=spread.kurtosis_freedom(spread.n - 1),
        n=len(observed),
        level=level,
        ends=ENDS,
        method=METHOD,
    )
