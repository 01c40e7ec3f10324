"""Agreement of two raters beyond chance: Cohen's κ, weighted κ, Gwet's AC1 and Krippendorff's α.

Each is 1 − observed / expected disagreement; they differ in the disagreement that chance would
give. Its standard error is that of the delta method.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.statistics.closed_forms import t_within_range
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.spread import Spread, sum_by_unit

ENDS = (-1.0, 1.0)
METHOD = "delta method, t on the logit scale"
# (values, others) -> for each value its mean disagreement with the others
Expected = Callable[[Floats, Floats], Floats]


class Ratings(NamedTuple):
    """The ratings that two raters gave the same units, one number per unit, shape (units,) each;
    unit: the cluster of each, None if units are independent.
    """

    first: Floats
    second: Floats
    unit: np.ndarray | None = None

    def cut(self, threshold: float) -> "Ratings":
        """The ratings as 1 from the threshold on, else 0."""
        first = np.where(self.first >= threshold, 1.0, 0.0)
        second = np.where(self.second >= threshold, 1.0, 0.0)
        return Ratings(first, second, self.unit)

    @property
    def categories(self) -> int:
        """The number of different values."""
        return len(np.unique([self.first, self.second]))

    @property
    def unequal_indicator(self) -> Floats:
        """1 for each unit with different ratings, else 0."""
        unequal: Floats = (self.first != self.second).astype(np.float64)
        return unequal

    @property
    def squares(self) -> Floats:
        """The squared difference of each unit's ratings."""
        squares: Floats = np.square(self.first - self.second)
        return squares


class Disagreement(NamedTuple):
    """The observed disagreement of each unit, (units,); the mean disagreement expected by chance;
    and the influence of each unit on the expected one, times the number of units, (units,).
    """

    observed: Floats
    expected: float
    influence_on_expected: Floats


def share_unequal(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others that differ from it."""
    categories, number = np.unique(np.concatenate([values, others]), return_inverse=True)
    value_number = number[: len(values)]
    other_number = number[len(values) :]
    counts = np.bincount(other_number, minlength=len(categories))
    return 1.0 - counts[value_number] / len(others)


def mean_square(values: Floats, others: Floats) -> Floats:
    """For each value the mean squared difference from the others: its squared difference from their
    mean, plus their variance.
    """
    distances = values - others.mean()
    mean_squares: Floats = np.square(distances) + others.var()
    return mean_squares


def kappa(ratings: Ratings) -> Disagreement:
    """Cohen's κ: chance keeps each rater's own frequencies. Cohen 1960,
    doi:10.1177/001316446002000104.
    """
    return _by_own_frequencies(ratings, ratings.unequal_indicator, share_unequal)


def weighted_kappa(ratings: Ratings) -> Disagreement:
    """κ with quadratic weights: a disagreement counts as its square. Cohen 1968,
    doi:10.1037/h0026256.
    """
    return _by_own_frequencies(ratings, ratings.squares, mean_square)


def _by_own_frequencies(ratings: Ratings, observed: Floats, expected: Expected) -> Disagreement:
    """The observed and the expected disagreement of two raters where chance pairs each rating of
    the first with any of the second, so that each rater keeps his own frequencies.

    observed: the disagreement of each unit. expected: (values, others) -> for each value its mean
    disagreement with the others.
    """
    # of each rating of one rater with all ratings of the other
    first_disagreement = expected(ratings.first, ratings.second)
    second_disagreement = expected(ratings.second, ratings.first)
    mean = float(first_disagreement.mean())  # over all pairs; that of the second is the same
    # a unit is in such a pair by its first and by its second rating
    influence = first_disagreement + second_disagreement - 2 * mean
    return Disagreement(observed, mean, influence)


def alpha(ratings: Ratings) -> Disagreement:
    """Krippendorff's α of categories: chance draws two of all ratings without replacement.
    Krippendorff 2004, doi:10.1111/j.1468-2958.2004.tb00738.x.
    """
    return _by_pooled_frequencies(ratings, ratings.unequal_indicator, share_unequal)


def interval_alpha(ratings: Ratings) -> Disagreement:
    """Krippendorff's α of numbers: a disagreement counts as its square."""
    return _by_pooled_frequencies(ratings, ratings.squares, mean_square)


def _by_pooled_frequencies(ratings: Ratings, observed: Floats, expected: Expected) -> Disagreement:
    """The observed and the expected disagreement of Krippendorff's α: chance pairs any two of all
    ratings, of either rater, so that both raters have the frequencies of all ratings.

    observed: the disagreement of each unit. expected: (values, others) -> for each value its mean
    disagreement with the others.
    """
    pooled = np.concatenate([ratings.first, ratings.second])
    first_disagreement, second_disagreement = np.split(expected(pooled, pooled), 2)
    # `expected` pairs each rating also with itself, with which it agrees. A mean over the other
    # ratings alone is larger by this factor.
    without_itself = ratio(len(pooled), len(pooled) - 1)
    disagreement_of_unit = without_itself * (first_disagreement + second_disagreement)
    mean = float(disagreement_of_unit.mean() / 2)  # of a rating; a unit has two
    # The mean is over pairs of the 2n ratings. Each of a unit's two ratings is the first of a pair
    # as often as the second. So n times the influence of the unit on the mean is the sum of the
    # mean disagreements of its two ratings, less what two average ratings have.
    return Disagreement(observed, mean, influence_on_expected=disagreement_of_unit - 2 * mean)


def ac1(ratings: Ratings) -> Disagreement:
    """Gwet's AC1: with the share π of each of q categories among all ratings, chance agrees with
    the probability Σ π (1 − π) / (q − 1), which is small where nearly all ratings are of one
    category. Gwet 2008, doi:10.1348/000711006X126600.
    """
    pooled = np.concatenate([ratings.first, ratings.second])
    categories, number = np.unique(pooled, return_inverse=True)
    share = np.bincount(number) / len(number)
    # q − 1; with a single category Σ π (1 − π) is 0, whatever it is divided by
    other_categories = max(len(categories) - 1, 1)
    chance_agreement = share @ (1 - share) / other_categories
    # for each rating the derivative of the chance agreement by π of its category
    derivative = (1 - 2 * share[number]) / other_categories
    first_derivative, second_derivative = np.split(derivative, 2)  # of each rater's ratings
    # a unit has two of the 2n ratings: its influence, times n, is the mean of their derivatives
    # less the mean over all units
    unit_derivative = (first_derivative + second_derivative) / 2
    influence_on_agreement = unit_derivative - unit_derivative.mean()
    return Disagreement(
        ratings.unequal_indicator,
        expected=float(1 - chance_agreement),
        influence_on_expected=-influence_on_agreement,
    )


def estimate(ratings: Ratings, coefficient: Disagreement, level: float) -> Estimate:
    """A coefficient, 1 − observed / expected disagreement, with its interval by the delta method;
    NaN if no disagreement is to be expected.

    ratings: those that `coefficient` was computed from, whose clusters the error needs. The degrees
    of freedom of the standard error follow from the kurtosis of the units' influence. If there is
    no observed disagreement, the error is 0, and `t_within_range` returns Wilson's limits.

    >>> judge, human = np.array([1, 1, 0, 0, 1, 1, 0, 1.0]), np.array([1, 0, 0, 0, 1, 1, 0, 1.0])
    >>> ratings = Ratings(judge, human)
    >>> round(estimate(ratings, kappa(ratings), 0.95).value, 4)  # 1 − (1 / 8) / (1 / 2)
    0.75
    """
    observed, expected, influence_on_expected = coefficient
    n = len(observed)
    quotient = ratio(observed.mean(), expected)
    # The influence of each unit on the coefficient, 1 − quotient, by the delta method, times n as
    # that on the expected disagreement; NaN if no disagreement is expected.
    influence_on_observed = observed - observed.mean()
    difference = influence_on_observed - quotient * influence_on_expected
    influence = -difference / (expected or np.nan)
    spread = Spread.from_influence(sum_by_unit(influence / n, ratings.unit))
    return t_within_range(
        float(1 - quotient),
        spread.error,
        freedom=spread.kurtosis_freedom(spread.n - 1),
        n=n,
        level=level,
        ends=ENDS,
        method=METHOD,
    )
