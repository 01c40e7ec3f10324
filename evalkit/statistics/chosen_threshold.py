"""Decisions on bootstrap samples, on each of which the threshold is chosen again.

Where a rule would put the threshold is known so badly that this moves precision and recall by more than the rows do at
a threshold that is given.
"""

from collections.abc import Callable

import numpy as np

from evalkit.arrays import Floats, codes
from evalkit.metrics import cells, counts
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows

CELLS = 512  # thresholds among which a sample chooses
PARTS = 2_000  # that more units are put into by chance: a sample draws whole parts


def redrawn(rows: Rows, choose: Callable[[Counts], float], *, rng: np.random.Generator, samples: int) -> Counts:
    """The counts on samples of whole units, each at the threshold that `choose` finds in it: arrays, of all samples.

    A sample gives every unit a weight of its own, exponentially distributed (Rubin's Bayesian bootstrap). With the same
    random numbers the samples of all systems are the same. Where no threshold keeps the rule all is NaN.
    Rubin 1981, doi:10.1214/aos/1176345338.

    >>> from evalkit.metrics import curves
    >>> rows = Rows(np.array([1, 1, 0, 0]), np.array([0.9, 0.6, 0.4, 0.1]))
    >>> drawn = redrawn(rows, curves.best_f, rng=np.random.default_rng(1), samples=3)
    >>> counts.precision(drawn), counts.recall(drawn)
    (array([1., 1., 1.]), array([1., 1., 1.]))
    """
    cell = cells.cells(rows.counts, CELLS)
    table, k = cells.pool(rows.counts, cell), int(cell[-1]) + 1
    of, names = codes(np.arange(len(rows)) if rows.unit is None else rows.unit)
    parts = min(names.size, PARTS)
    part = rng.permutation(names.size) % parts
    where = part[of] * 2 * k + cell[rows.place] + k * (rows.actual == 0)
    sums = np.bincount(where, rows.weights, parts * 2 * k).reshape(parts, 2 * k)
    drawn = rng.standard_exponential((samples, parts)) @ sums
    each = [_at_choice(table.threshold, side[:k], side[k:], choose) for side in drawn]
    return Counts(*np.array(each).T)


def _at_choice(threshold: Floats, positive: Floats, negative: Floats, choose: Callable[[Counts], float]) -> Floats:
    """The threshold that is chosen, with the two counts there, and those of all rows."""
    tp, fp = np.cumsum(positive), np.cumsum(negative)
    c = Counts(threshold, tp, fp, tp[-1], fp[-1])
    at = counts.at(c, choose(c))
    missing = np.nan if np.isnan(at.threshold) else 0.0
    return np.array([at.threshold, at.tp, at.fp, c.positives, c.negatives]) + missing
