"""Several tests: adjusted p-values of a family, and what repeated tests of growing data cost, with bounds for them."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, InputError, ParameterError, ratio
from evalkit.statistics import joint_flips, signflip
from evalkit.statistics.intervals import check_level, normal_quantile
from evalkit.statistics.joint_flips import Pairs


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, which control the probability of any false rejection; NaN stays NaN and is not counted.

    Scandinavian Journal of Statistics 1979.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    return _stepwise(p_values, lambda p: np.maximum.accumulate(p * np.arange(p.size, 0, -1)))


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p-values: the expected share of false rejections; NaN stays NaN.

    Journal of the Royal Statistical Society B 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    array([0.03, 0.04, 0.04])
    """

    def ordered(p: Floats) -> Floats:
        return np.minimum.accumulate((p * p.size / np.arange(1, p.size + 1))[::-1])[::-1]

    return _stepwise(p_values, ordered)


def unadjusted(p_values: ArrayLike) -> Floats:
    """The p-values as they are."""
    return np.array(p_values, float)


def max_t(differences: ArrayLike, *, rng: np.random.Generator, draws: int = 100_000) -> Floats:
    """Adjusted p-values of the mean of each column by joint sign flips of shared units: (n, m) in, (m,) out.

    Each draw flips a unit in all columns at once; a column's |Σ d| / √Σ d² is compared with the largest of the draw
    over the columns that are no more extreme (step-down, as Holm). It uses the correlation that Holm ignores.
    Raises InputError for a value that is not finite.
    Westfall and Young 1993, algorithm 2.8; Boytsov, Belova, Westfall, CIKM 2013.

    >>> d = np.array([[1.0, -1.0], [2.0, 1.0], [3.0, -1.0], [1.0, 1.0], [2.0, -1.0], [2.0, 1.0]])
    >>> max_t(d, rng=np.random.default_rng(1)).round(2)
    array([0.06, 1.  ])
    """
    columns = np.asarray(differences, float)
    if columns.ndim != 2 or len(columns) == 0:
        raise InputError(f"differences must have units × comparisons, got shape {columns.shape}")
    return joint_flips.adjusted(joint_flips.Pairs.of_columns(columns), rng=rng, draws=draws)


def max_t_of_sums(total: Floats, gram: Floats, *, rng: np.random.Generator, draws: int = 100_000) -> Floats:
    """The same from the sum of each column, and of the products of the columns, of so many units that signs are normal.

    Under joint sign flips the sums have covariance `gram`; draws of that normal distribution take their place.

    >>> d = np.random.default_rng(2).normal(0.05, 1, (2000, 2))
    >>> p = max_t_of_sums(d.sum(axis=0), d.T @ d, rng=np.random.default_rng(1))
    >>> bool(np.all(np.abs(p - max_t(d, rng=np.random.default_rng(1))) < 0.01))
    True
    """
    size = np.sqrt(np.diag(gram))
    observed = np.nan_to_num(np.abs(ratio(total, size)))
    order = np.argsort(-observed, kind="stable")
    correlation = np.nan_to_num(ratio(gram, np.outer(size, size)))[np.ix_(order, order)]
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    extreme, step = np.zeros(order.size, np.int64), max(1, signflip.HELD // order.size)
    for start in range(0, draws, step):
        drawn = np.abs(root @ rng.standard_normal((order.size, min(step, draws - start))))
        np.maximum.accumulate(drawn[::-1], axis=0, out=drawn[::-1])
        extreme += np.sum(drawn >= observed[order, None] * (1 - signflip.TIE), axis=1)
    adjusted = np.empty(order.size)
    adjusted[order] = np.maximum.accumulate((1 + extreme) / (1 + draws))
    return adjusted


def max_t_of_many(pairs: Pairs, *, rng: np.random.Generator) -> Floats:
    """The same of pairs of columns."""
    places = np.eye(pairs.values.shape[1])
    form = places[pairs.first] - places[pairs.second]
    return max_t_of_sums(form @ pairs.values.sum(axis=0), form @ (pairs.values.T @ pairs.values) @ form.T, rng=rng)


def _stepwise(p_values: ArrayLike, ordered: Callable[[Floats], Floats]) -> Floats:
    """Adjust the p-values that exist in ascending order and put them back."""
    p = np.asarray(p_values, float)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    out = np.full(p.shape, np.nan)
    out[order] = np.minimum(ordered(p[order]), 1.0)
    return out


NODES = 160  # of the Gauss–Legendre rule; the error of the level is below 1e-9 up to a hundred looks


def false_positive_rate(looks: int, *, level: float = 0.95) -> float:
    """The probability that at least one of `looks` equally spaced tests at 1 − level rejects a true null.

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
