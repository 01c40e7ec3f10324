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
    inside = slice(*np.searchsorted(-c.threshold, [-grid[-1], -grid[0]]))
    at, cost = c.threshold[inside][::-1], odds(c.threshold[inside])[::-1]
    above, tp, fp = np.empty((2, len(at))), np.append(0, c.tp), np.append(0, c.fp)
    for row, first in zip(above, (1, 0), strict=True):  # at the score, and just above it
        both = slice(inside.start + first, inside.stop + first)
        row[:] = ratio(tp[both][::-1] - fp[both][::-1] * cost, c.total)
    place = 2 * np.searchsorted(at, grid)
    return np.insert(np.repeat(at, 2), place, grid), np.insert(above.T.ravel(), place, net_benefit(c, grid))


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
