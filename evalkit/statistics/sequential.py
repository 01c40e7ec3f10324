"""Repeated looks at growing data: what they cost, and the bounds that pay for it."""

from functools import cache

import numpy as np

from evalkit.arrays import Floats, ParameterError
from evalkit.statistics.intervals import check_level, normal_quantile

NODES = 160  # of the Gauss–Legendre rule; the error of the level is below 1e-9 up to a hundred looks


def false_positive_rate(looks: int, *, level: float = 0.95) -> float:
    """The chance that at least one of `looks` equally spaced tests at 1 − level rejects a true null.

    Armitage, McPherson, Rowe, JRSS A 1969, doi:10.2307/2343787.

    >>> [round(false_positive_rate(k), 3) for k in (1, 2, 5, 10, 20)]
    [0.05, 0.083, 0.142, 0.193, 0.248]
    """
    return _crossing(np.full(_looks(looks), normal_quantile(level)))


def pocock(looks: int, *, level: float = 0.95) -> Floats:
    """Pocock's bounds for |z| at each of `looks` equally spaced looks: one constant.

    Biometrika 1977, doi:10.1093/biomet/64.2.191.

    >>> pocock(5).round(3)
    array([2.413, 2.413, 2.413, 2.413, 2.413])
    """
    return _constant(looks, level, 0.0) * np.ones(looks)


def obrien_fleming(looks: int, *, level: float = 0.95) -> Floats:
    """O'Brien and Fleming's bounds for |z|: c √(K / k), hard to cross early.

    Biometrics 1979, doi:10.2307/2530245.

    >>> obrien_fleming(5).round(2)
    array([4.56, 3.23, 2.63, 2.28, 2.04])
    """
    return _constant(looks, level, 0.5) * _shape(looks, 0.5)


@cache
def _constant(looks: int, level: float, power: float) -> float:
    """The factor of the bound's shape at which the chance of crossing it is 1 − level."""
    check_level(level)
    low, high = 0.0, normal_quantile(level) + np.sqrt(2 * np.log(_looks(looks))) + 1
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _crossing(middle * _shape(looks, power)) > 1 - level else (low, middle)
    return (low + high) / 2


def _shape(looks: int, power: float) -> Floats:
    return (looks / np.arange(1.0, looks + 1)) ** power


def _crossing(bounds: Floats) -> float:
    """The chance that |z_k| passes its bound at some look k, for sums of independent normal steps."""
    nodes, weights = _rule()
    edges = bounds * np.sqrt(np.arange(1.0, bounds.size + 1))  # bounds of the sum of the steps
    points, weight = np.zeros(1), np.ones(1)  # the sum starts at 0
    for edge in edges:
        before, points = points, edge * nodes
        density = _normal(points[:, None] - before) @ weight
        weight = density * weights * edge
    return float(1 - weight.sum())


@cache
def _rule() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(NODES)


def _normal(x: Floats) -> Floats:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _looks(looks: int) -> int:
    if looks < 1:
        raise ParameterError(f"looks must be at least 1, got {looks}")
    return looks
