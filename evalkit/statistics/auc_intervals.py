"""Intervals of an area under the ROC curve from the area, its standard error and the class sizes."""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import InputError
from evalkit.statistics.intervals import Estimate, normal_quantile

FEW = 50  # below this many of either class the logit interval covers too little


def auc_interval(area: float, error: float, positives: int, negatives: int, *, level: float = 0.95) -> Estimate:
    """The area with the logit interval of DeLong's error, or Newcombe's for small classes.

    Newcombe's where a class has fewer than 50 or the error is 0; the result names the method. NaN where a class
    is empty.

    >>> auc_interval(0.9, 0.02, 200, 800).method, auc_interval(1.0, 0.0, 200, 800).method
    ('logit DeLong', 'Newcombe 5')
    """
    if min(positives, negatives) < FEW or error == 0:
        return auc_newcombe(area, positives, negatives, level=level)
    return auc_logit(area, error, n=positives + negatives, level=level)


def auc_logit(area: float, error: float, *, n: int, level: float = 0.95) -> Estimate:
    """The area with a normal interval on the logit scale, logit(A) ± z error / A(1 − A); NaN limits where A is 0 or 1.

    >>> e = auc_logit(0.9, 0.02, n=1000)
    >>> round(e.low, 4), round(e.high, 4)
    (0.8534, 0.9329)
    """
    z = normal_quantile(level)
    if not 0 < area < 1:
        return Estimate(float(area), np.nan, np.nan, level, int(n), "logit DeLong")
    middle, half = np.log(area / (1 - area)), z * error / (area * (1 - area))
    low, high = 1 / (1 + np.exp(-(middle + np.array([-half, half]))))
    return Estimate(float(area), float(low), float(high), level, int(n), "logit DeLong")


def auc_newcombe(area: float, positives: int, negatives: int, *, level: float = 0.95) -> Estimate:
    """The area with Newcombe's method 5: every θ with |A − θ| ≤ z σ(θ).

    σ² is Hanley and McNeil's variance at θ itself, with N* = (m + n) / 2 − 1. Never without width, also at A = 1.
    NaN where a class is empty. Raises InputError unless 0 ≤ A ≤ 1. Statistics in Medicine 2006, doi:10.1002/sim.2324.

    >>> e = auc_newcombe(1.0, 10, 10)
    >>> round(e.low, 4), e.high
    (0.8002, 1.0)
    """
    z, n = normal_quantile(level), positives + negatives
    if min(positives, negatives) < 1 or np.isnan(area):
        return Estimate(float(area), np.nan, np.nan, level, n, "Newcombe 5")
    if not 0 <= area <= 1:
        raise InputError(f"area must lie between 0 and 1, got {area}")

    def within(truth: float) -> bool:
        spread = 1 + (n / 2 - 1) * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        return (area - truth) ** 2 <= z**2 * truth * (1 - truth) * spread / (positives * negatives)

    low, high = _edge(within, area, 0.0), _edge(within, area, 1.0)
    return Estimate(float(area), low, high, level, n, "Newcombe 5")


def _edge(within: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last point on the way from a point inside a set to one outside; the outer point itself where it is held."""
    for _ in range(80):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if within(middle) else (inside, middle)
    return float(inside)
