"""Intervals of a learner that need fits of their own: nested cross-validation (Bates, Hastie,
Tibshirani 2024, doi:10.1080/01621459.2023.2197686), and Nadeau and Bengio's conservative z.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats, InputError
from evalkit.statistics.intervals import Estimate, t_interval

METHOD = "nested cross-validation"


@dataclass(frozen=True, eq=False)
class NestedFold:
    """The values of rows around one fold of a draw of k folds.

    outer: of the rows of the fold, by the model that was fitted without it. inner: of the rows of
    the other folds, each by the model that was fitted without its own fold and this one.
    """

    outer: Floats
    inner: Floats

    @property
    def square(self) -> float:
        """The squared difference of the means of `inner` and `outer`, less the variance of the mean
        of `outer`: an estimate of the squared error of the inner mean, which may be below 0.
        """
        difference = float(self.inner.mean() - self.outer.mean())
        variance_of_mean = float(self.outer.var(ddof=1)) / self.outer.size
        return difference**2 - variance_of_mean


@dataclass(frozen=True, eq=False)
class NestedDraws:
    """Every fold of some draws of k folds of n independent rows.

    Raises InputError without folds, or for a fold of one row.
    """

    folds: Sequence[NestedFold]
    k: int
    n: int

    def __post_init__(self) -> None:
        smallest = min((fold.outer.size for fold in self.folds), default=0)
        if smallest < 2:
            raise InputError(f"folds must have 2 or more rows each, got {smallest}")

    def estimate(self, level: float = 0.95) -> Estimate:
        """The expected value of a row, such as its loss, for the models of a learner, with the
        interval of nested cross-validation (Bates, Hastie and Tibshirani, see the module).

        The value is the mean of the inner values, corrected for the fewer training rows of inner
        models: by (1 + (k − 2) / k) times the excess of this mean over that of the outer values.
        The squared error is (k − 1) / k times the mean of the folds' `square`
        (`NestedFold.square`). It is clipped to at least the squared error of n independent rows,
        and at most k times as much.

        >>> fold = NestedFold(outer=np.array([0.0, 1.0]), inner=np.array([0.0, 1.0, 1.0, 1.0]))
        >>> e = NestedDraws([fold] * 3, k=3, n=6).estimate()
        >>> round(e.value, 4), round((e.high - e.value) / 1.959964, 4)  # 3/4 − 4/3 · (3/4 − 1/2)
        (0.4167, 0.1846)
        """
        inner = np.concatenate([fold.inner for fold in self.folds])
        outer = np.concatenate([fold.outer for fold in self.folds])
        inner_mean = float(inner.mean())
        excess = inner_mean - float(outer.mean())
        excess_factor = 1 + (self.k - 2) / self.k
        value = inner_mean - excess_factor * excess
        mean_square = float(np.mean([fold.square for fold in self.folds]))
        squared_error = (self.k - 1) / self.k * mean_square
        # a variance was subtracted in each `square`, so that their mean may be below 0
        error = np.sqrt(max(squared_error, 0.0))
        error_of_independent = float(inner.std(ddof=1)) / np.sqrt(self.n)
        largest_error = np.sqrt(self.k) * error_of_independent
        error = float(np.clip(error, error_of_independent, largest_error))
        return t_interval(value, error, n=self.n, level=level, method=METHOD, freedom=np.inf)


CONSERVATIVE = "conservative z"


def conservative_z(
    values: Floats, first: Floats, second: Floats, *, n: int, level: float = 0.95
) -> Estimate:
    """The mean of a metric over random holdouts drawn from n rows, with a variance from disjoint
    halves of the rows, whose means are independent. Nadeau and Bengio 2003,
    doi:10.1023/A:1024068626366.

    values: the metric on each holdout, (holdouts,). first, second: for each of several splits of
    the rows into halves, the metric's mean over holdouts within the first and within the second
    half, (splits,). Holdouts within a half have as many test rows as the others, but fewer training
    rows. n: the number of all rows.

    The variance is half the mean of (first − second)². It is conservative, as a mean over holdouts
    within half of the rows varies more than one within all rows. Raises InputError without a
    holdout or a split.

    >>> e = conservative_z(np.array([0.6, 0.8]), np.array([0.6, 0.7]), np.array([0.8, 0.7]), n=100)
    >>> round(e.value, 4), round((e.high - e.value) / 1.959964, 4)  # √(0.2² / 4)
    (0.7, 0.1)
    """
    if not (values.size and first.size):
        raise InputError(f"values and halves must not be empty, got {values.size} and {first.size}")
    difference_squares = (first - second) ** 2
    variance = difference_squares.sum() / (2 * first.size)
    error = float(np.sqrt(variance))
    mean = float(values.mean())
    return t_interval(mean, error, n=n, level=level, method=CONSERVATIVE, freedom=np.inf)
