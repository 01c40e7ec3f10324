"""Repeated draws of each unit, such as several answers to one question; pass@k and pass^k of draws
that are 0 or 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, quotient, ratio

# quantiles that stand for the distribution of a probability
QUANTILES = (np.arange(64)[:, None] + 0.5) / 64  # one row each
MID_P = "mid-p"  # in the name of a test that counts ties of such draws half
# draws that a prior weighs at most: the probabilities of units are then nearly the same
MAX_PRIOR = 1_000


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of each unit. count: the number of draws with a value. mean: their mean. variance:
    their variance, with count − 1 as the divisor; NaN below two draws.
    """

    count: Floats
    mean: Floats
    variance: Floats

    def __len__(self) -> int:
        return len(self.count)

    @property
    def has_several_draws(self) -> bool:
        """True if any unit has more than one draw."""
        return bool((self.count > 1).any())

    @property
    def _freedom(self) -> Floats:
        """The degrees of freedom of the variance of each unit."""
        return np.maximum(self.count - 1, 0)

    @property
    def has_binary_draws(self) -> bool:
        """True if all draws are 0 or 1: then the sum of their squares equals their sum."""
        around_mean = self._freedom * np.nan_to_num(self.variance)
        squares = around_mean + self.count * self.mean**2
        return bool(np.allclose(squares, self.count * self.mean, equal_nan=True))

    @property
    def repeated(self) -> bool:
        """True if most units have several draws and all draws are 0 or 1: means then have few
        distinct values, which often tie.
        """
        units_with_several = int(np.count_nonzero(self.count > 1))
        return 2 * units_with_several > len(self) and self.has_binary_draws

    @property
    def pooled(self) -> float:
        """The variance of a draw around the mean of its unit, from all units; NaN if no unit has
        several draws.
        """
        around_mean = self._freedom @ np.nan_to_num(self.variance)
        return quotient(around_mean, self._freedom.sum())

    @property
    def noise(self) -> Floats:
        """The variance of the mean of each unit over repeated draws of the same unit."""
        return ratio(self.pooled, self.count)

    def noise_of(self, value: Callable[["Draws"], Floats]) -> Floats:
        """The noise of a value of each unit, such as pass^k: its variance over repeated draws of
        the same unit. All draws are 0 or 1. NaN for a unit without draws.

        value: draws -> the value of each unit; it must not use the variance of the draws.

        In the beta-binomial model a unit has a success probability p, and the p of all units have
        the distribution `_prior`. The noise is the variance of the value given p, averaged over
        this distribution: it is the same for all units with the same number of draws. A model is
        needed for a value that uses more than half of the draws, such as pass^4 of five: there is
        no unbiased estimate of its noise, and that of the jackknife is too large by half.
        """
        if np.allclose(value(self), self.mean, equal_nan=True):  # a mean needs no model
            return self.noise
        from scipy.special import bdtr, betaincinv

        noise = np.full(len(self), np.nan)
        # quantiles of the beta distribution stand for it: success probabilities, shape (64, 1)
        p = betaincinv(self._prior.a, self._prior.b, QUANTILES)
        for n in np.unique(self.count[self.count > 0]):
            # the possible outcomes of n draws, as if each were a unit: 0 to n successes
            successes = np.arange(n + 1)
            unknown = np.full(successes.size, np.nan)
            outcomes = Draws(np.full(successes.size, n), mean=successes / n, variance=unknown)
            value_of_outcome = value(outcomes)
            # the binomial probability of each outcome given each p, shape (64, outcomes)
            probability = np.diff(bdtr(successes, int(n), p), prepend=0)
            mean = probability @ value_of_outcome  # given each p
            mean_square = probability @ value_of_outcome**2
            variance = mean_square - mean**2
            noise[self.count == n] = variance.mean()  # over the p
        return noise

    @property
    def _prior(self) -> "Beta":
        """The beta distribution of the success probabilities of the units, by the method of
        moments.

        Its parameters a and b follow from two numbers: the share of successes, which is a / (a +
        b), and the strength a + b. The strength is the variance of a draw within its unit / the
        variance of the probabilities between units. It is at most about `MAX_PRIOR`.

        One more draw, half a success, is added to the data. Without it the strength would be
        undefined if all draws are equal, and 0 if the draws of each unit are equal.
        """
        successes = np.nansum(self.successes) + 0.5  # with the added draw
        share = successes / (self.count.sum() + 1)
        variance = share * (1 - share)  # of a draw of any unit: within and between units together
        freedom = self._freedom.sum()
        # Σ (draw − mean of its unit)² over all draws. The added draw has one degree of freedom and
        # the variance of all units.
        around_mean = freedom * np.nan_to_num(self.pooled) + variance
        within_unit = around_mean / (freedom + 1)
        # by chance the difference may be 0 or less: its lower bound is what limits the strength
        between_units = max(variance - within_unit, variance / MAX_PRIOR)
        strength = within_unit / between_units
        return Beta(strength * share, strength * (1 - share))

    @property
    def successes(self) -> Floats:
        """The draws that are 1, where all are 0 or 1."""
        return np.rint(self.count * self.mean)


class Beta(NamedTuple):
    """The parameters of a beta distribution."""

    a: float
    b: float


def any_passes(draws: Draws, k: int) -> Floats:
    """pass@k, the probability that any of k draws passes: 1 − C(n − c, k) / C(n, k), which is
    unbiased.

    n: draws of the unit; c: those that pass. NaN below k draws.
    Chen et al. 2021, arXiv 2107.03374.

    >>> any_passes(Draws(np.array([4.0, 2]), np.array([0.25, 1]), np.zeros(2)), 3)
    array([0.75,  nan])
    """
    failures = draws.count - draws.successes
    return 1 - _all_among(failures, draws.count, k)


def all_pass(draws: Draws, k: int) -> Floats:
    """pass^k, the probability that all of k draws pass: C(c, k) / C(n, k), which is unbiased; NaN
    below k draws.

    Yao et al. 2024, arXiv 2406.12045.

    >>> all_pass(Draws(np.array([4.0, 4]), np.array([0.75, 0.25]), np.zeros(2)), 2)
    array([0.5, 0. ])
    """
    return _all_among(draws.successes, draws.count, k)


def _all_among(marked: Floats, count: Floats, k: int) -> Floats:
    """C(marked, k) / C(count, k): the probability that k draws, taken of `count` without
    replacement, are all among the `marked` ones; NaN if count < k.
    """
    probability = np.where(count >= k, 1.0, np.nan)
    for taken in range(k):
        # the next draw is a marked one
        remaining = np.where(count > taken, count - taken, np.nan)
        remaining_marked = np.maximum(marked - taken, 0)
        probability = probability * remaining_marked / remaining
    return probability
