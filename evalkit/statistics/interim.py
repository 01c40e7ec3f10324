"""Interim analyses: how often repeated tests of a true null reject, and bounds that keep the level.

All are of equally spaced looks at sums of independent normal steps.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from evalkit.arrays import Floats, ParameterError, normal_density
from evalkit.statistics import intervals

# of the Gauss–Legendre rule; the error of the level is below 1e-9 up to a hundred looks
NODES = 160
# of the secant method: the last step, and how many at most
TOLERANCE = 1e-12
MAX_STEPS = 30


def false_positive_rate(looks: int, *, level: float = 0.95) -> float:
    """The probability that at least one of `looks` equally spaced interim tests at 1 − level
    rejects a true null.

    Armitage, McPherson, Rowe, JRSS A 1969, doi:10.2307/2343787.

    >>> [round(false_positive_rate(k), 3) for k in (1, 2, 5, 10, 20)]
    [0.05, 0.083, 0.142, 0.193, 0.248]
    """
    _check_looks(looks)
    return crossing_probability(np.full(looks, intervals.normal_quantile(level)))


def pocock(looks: int, *, level: float = 0.95) -> Floats:
    """Pocock's bounds for |z| at each of `looks` equally spaced interim analyses: one constant.

    Biometrika 1977, doi:10.1093/biomet/64.2.191.

    >>> pocock(5).round(3)
    array([2.413, 2.413, 2.413, 2.413, 2.413])
    """
    return _bounds(looks, level, power=0.0)


def obrien_fleming(looks: int, *, level: float = 0.95) -> Floats:
    """O'Brien and Fleming's bounds for |z| at interim analysis k of K: c √(K / k), hard to cross
    early.

    Biometrics 1979, doi:10.2307/2530245.

    >>> obrien_fleming(5).round(2)
    array([4.56, 3.23, 2.63, 2.28, 2.04])
    """
    return _bounds(looks, level, power=0.5)


def _bounds(looks: int, level: float, power: float) -> Floats:
    """The bounds c (K / k)^power at each look k of K, (looks,), of which at least one is crossed
    with the probability 1 − level. power: 0 for Pocock's bounds, ½ for O'Brien and Fleming's.
    """
    _check_looks(looks)
    return _constant(looks, level, power) * _shape(looks, power)


@cache
def _constant(looks: int, level: float, power: float) -> float:
    """The factor c of the bounds at which the probability of crossing one is 1 − level. Arguments
    as for `_bounds`.

    At the wanted factor log(probability / (1 − level)) is 0. The secant method finds it in a few
    steps, as the logarithm is nearly a parabola in the factor.
    """
    error = 1 - level
    shape = _shape(looks, power)

    def excess(factor: float) -> float:
        """log(probability of crossing / error), which falls as the factor rises."""
        crossing = crossing_probability(factor * shape)
        # Up to Bonferroni's factor, the last look alone is crossed with at least this probability.
        # If the level is nearly 1, rounding may go below, even to 0, which has no logarithm.
        least = error / looks
        return math.log(max(crossing, least) / error)

    # the secant method starts from two factors: that of the last look alone, and Bonferroni's; the
    # wanted one lies between them
    before = intervals.normal_quantile(level)
    factor = intervals.normal_quantile(1 - error / looks)
    excess_before = excess(before)
    for _ in range(MAX_STEPS):
        excess_now = excess(factor)
        if excess_now == excess_before or abs(factor - before) < TOLERANCE:
            break
        step = excess_now * (before - factor) / (excess_now - excess_before)
        before = factor
        excess_before = excess_now
        factor += step
    return factor


def _shape(looks: int, power: float) -> Floats:
    """(K / k)^power at look k of K: the bounds but for their factor."""
    look = np.arange(1.0, looks + 1)
    shape: Floats = (looks / look) ** power
    return shape


def crossing_probability(bounds: Floats) -> float:
    """The probability that |z_k| passes its bound at some look k, where z_k √k is the sum of k
    independent standard normal steps. bounds: of |z_k|, (looks,).

    The density of the sum among the trials that have crossed no bound is integrated from look to
    look (Armitage, McPherson and Rowe), by a Gauss–Legendre rule.
    """
    rule = _quadrature()
    look = np.arange(1.0, bounds.size + 1)
    bounds_of_sum = bounds * np.sqrt(look)
    # points of the sum, and the probability that each stands for: before the first step it is 0
    points = np.zeros(1)
    probability = np.ones(1)
    for bound in bounds_of_sum:
        points_before = points
        points = bound * rule.nodes  # from −bound to bound
        # of the step to each point (rows) from each point before (columns)
        step = points[:, None] - points_before
        step_density = normal_density(step)
        # of the sum at each point, among the trials that crossed no earlier bound
        density = step_density @ probability
        probability = density * rule.weights * bound
    return float(1 - probability.sum())  # what is left has crossed no bound


class Quadrature(NamedTuple):
    """The nodes of an integration rule on [−1, 1], and their weights."""

    nodes: Floats
    weights: Floats


@cache
def _quadrature() -> Quadrature:
    """The Gauss–Legendre rule with `NODES` nodes."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return Quadrature(nodes, weights)


def _check_looks(looks: int) -> None:
    """Raise ParameterError below one look."""
    if looks < 1:
        raise ParameterError(f"looks must be at least 1, got {looks}")
