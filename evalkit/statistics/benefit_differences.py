"""Differences in net benefit of two systems on the same rows, with intervals at each threshold."""

from dataclasses import dataclass

import numpy as np

from evalkit.arrays import Floats, codes
from evalkit.metrics.net_benefit import odds
from evalkit.metrics.rows import Rows
from evalkit.statistics.spread import kish

ONE_ROW = 1.0  # on which the two systems differ, added to each class


@dataclass(frozen=True, eq=False)
class Differences:
    """First − second at each threshold, with pointwise limits."""

    value: Floats
    low: Floats
    high: Floats


def differences(first: Rows, second: Rows, chance: Floats, *, level: float) -> Differences:
    """Net benefit of the first less that of the second at each probability, with t limits from the paired rows.

    By unit where rows have one, with weights where they have any. One more row of each class on which the two decide
    differently enters the variance alone, so that few such rows claim no certainty (as Agresti and Min 2005,
    doi:10.1002/sim.1781).

    >>> rows = [Rows(np.array([1, 0, 1, 0]), np.array(s)) for s in ([0.9, 0.2, 0.8, 0.1], [0.9, 0.6, 0.2, 0.1])]
    >>> d = differences(*rows, np.array([0.5]), level=0.95)
    >>> float(d.value[0]), bool(d.low[0] < 0 < d.high[0])
    (0.5, True)
    """
    from scipy.special import stdtrit

    weight = first.weights
    of, size = _units(first, weight)
    total, freedom = weight.sum(), max(kish(size) - 1, 1.0)
    value, error = np.empty(len(chance)), np.empty(len(chance))
    for i, (t, cost) in enumerate(zip(chance, odds(chance), strict=True)):
        decided = (first.scores >= t).astype(np.int8) - (second.scores >= t)
        apart = np.flatnonzero(decided)
        moved = weight[apart] * decided[apart] * np.where(first.actual[apart] == 1, 1.0, -cost)
        sums = np.bincount(of[apart], moved, len(size))
        value[i] = moved.sum() / total
        added = ONE_ROW * (1 + cost**2) * (total / len(weight)) ** 2
        error[i] = np.sqrt((np.sum((sums - value[i] * size) ** 2) + added) * (freedom + 1) / freedom) / total
    half = stdtrit(freedom, (1 + level) / 2) * error
    return Differences(value, value - half, value + half)


def _units(rows: Rows, weight: Floats) -> tuple[np.ndarray, Floats]:
    """The unit of each row, by number, and the weight of each unit."""
    if rows.unit is None:
        return np.arange(len(rows)), weight
    of, names = codes(rows.unit)
    return of, np.bincount(of, weight, len(names)).astype(np.float64)
