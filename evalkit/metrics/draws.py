"""Repeated draws of each unit, such as several answers to one question; pass@k and pass^k of draws that are 0 or 1."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats, ratio


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of each unit. count: how many have a value. mean. variance: with count − 1, NaN below two draws."""

    count: Floats
    mean: Floats
    variance: Floats

    def __len__(self) -> int:
        return len(self.count)

    @property
    def several(self) -> bool:
        """Whether any unit has more than one draw."""
        return bool((self.count > 1).any())

    @property
    def passes(self) -> bool:
        """Whether all draws are 0 or 1."""
        odds = self.mean * (1 - self.mean)
        expected = np.where(self.count > 1, ratio(odds * self.count, self.count - 1), 0.0)
        return bool(
            np.allclose(np.where(self.count > 1, self.variance, odds)[self.count > 0], expected[self.count > 0])
        )

    @property
    def pooled(self) -> float:
        """The variance of a draw around the mean of its unit, from all units; NaN where none has several."""
        freedom = np.maximum(self.count - 1, 0)
        return float(ratio(freedom @ np.nan_to_num(self.variance), freedom.sum()))

    @property
    def noise(self) -> Floats:
        """The variance of the mean of each unit by its draws."""
        return ratio(self.pooled, self.count)

    def noise_of(self, value: Callable[["Draws"], Floats]) -> Floats:
        """The variance of another value of each unit by its draws, which are 0 or 1: that of the jackknife.

        NaN where the value without one of the draws is undefined, as pass@k is of k draws.
        """
        n, c = self.count, self.successes
        without = [np.nan_to_num(value(Draws(n - 1, ratio(c - hit, n - 1), n))) for hit in (1, 0)]
        defined = ~np.isnan(value(Draws(n - 1, ratio(np.minimum(c, n - 1), n - 1), n)))
        mean = ratio(c * without[0] + (n - c) * without[1], n)
        square = c * (without[0] - mean) ** 2 + (n - c) * (without[1] - mean) ** 2
        return np.where(defined, ratio(n - 1, n) * square, np.nan)

    @property
    def successes(self) -> Floats:
        """The draws that are 1, where all are 0 or 1."""
        return np.rint(self.count * self.mean)


def any_passes(draws: Draws, k: int) -> Floats:
    """pass@k, the probability that any of k draws passes: 1 − C(n − c, k) / C(n, k), which is unbiased.

    n: draws of the unit; c: those that pass. NaN below k draws.
    Chen et al. 2021, arXiv 2107.03374.

    >>> any_passes(Draws(np.array([4.0, 2]), np.array([0.25, 1]), np.zeros(2)), 3)
    array([0.75,  nan])
    """
    return 1 - _all_among(draws.count - draws.successes, draws.count, k)


def all_pass(draws: Draws, k: int) -> Floats:
    """pass^k, the probability that all of k draws pass: C(c, k) / C(n, k), which is unbiased; NaN below k draws.

    Yao et al. 2024, arXiv 2406.12045.

    >>> all_pass(Draws(np.array([4.0, 4]), np.array([0.75, 0.25]), np.zeros(2)), 2)
    array([0.5, 0. ])
    """
    return _all_among(draws.successes, draws.count, k)


def _all_among(some: Floats, count: Floats, k: int) -> Floats:
    """C(some, k) / C(count, k): the probability that k draws of these are all among some."""
    share = np.where(count >= k, 1.0, np.nan)
    for drawn in range(k):
        share = share * np.maximum(some - drawn, 0) / np.where(count > drawn, count - drawn, np.nan)
    return share
