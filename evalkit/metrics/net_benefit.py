"""Net benefit of decisions at a threshold probability: what the decision curve draws."""

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.metrics import counts
from evalkit.metrics.counts import Counts


def net_benefit(c: Counts, chance: Floats) -> Floats:
    """TP / n − FP / n · t / (1 − t) of predicting positive from each probability t on; below 1.

    t is the probability at which a reader would just act: a false positive then costs t / (1 − t) true positives.
    Equals dcurves' dca. Vickers and Elkin 2006, doi:10.1177/0272989X06295361.

    >>> from evalkit.metrics.counts import count
    >>> net_benefit(count([0.9, 0.6, 0.4, 0.1], [1, 0, 1, 0]), np.array([0.2, 0.5])).round(4).tolist()
    [0.4375, 0.0]
    """
    decided = counts.at(c, chance)
    return ratio(decided.tp - decided.fp * odds(chance), c.total)


def decision_curve(c: Counts, grid: Floats) -> tuple[Floats, Floats]:
    """Threshold probabilities, lowest first, and the net benefit at them: at each of a grid and on both sides of jumps.

    Just above a score, rows with that score are no longer predicted positive; between scores the curve is smooth.

    >>> from evalkit.metrics.counts import count
    >>> x, y = decision_curve(count([0.6], positive=[3], negative=[1]), np.array([0.5, 0.7]))
    >>> x.tolist(), y.round(3).tolist()
    ([0.5, 0.6, 0.6, 0.7], [0.5, 0.375, 0.0, 0.0])
    """
    inside = (c.threshold > grid[0]) & (c.threshold < grid[-1])
    at = c.threshold[inside]
    tp, fp = (np.append(0, column[:-1])[inside] for column in (c.tp, c.fp))
    above = ratio(tp - fp * odds(at), c.total)
    x = np.concatenate([grid, at, at])
    y = np.concatenate([net_benefit(c, grid), net_benefit(c, at), above])
    order = np.lexsort([np.repeat([0, 0, 1], [len(grid), len(at), len(at)]), x])
    return x[order], y[order]


def treat_all(c: Counts, chance: Floats) -> Floats:
    """The net benefit of predicting every row positive.

    >>> from evalkit.metrics.counts import count
    >>> treat_all(count([0.9, 0.6], [1, 0]), np.array([0.2, 0.5])).tolist()
    [0.375, 0.0]
    """
    return ratio(c.positives - c.negatives * odds(chance), c.total)


def odds(chance: Floats) -> Floats:
    """t / (1 − t)."""
    return np.asarray(chance / (1 - chance), dtype=np.float64)
