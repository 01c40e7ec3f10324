"""Intervals of decision metrics at many thresholds at once, for clustered or weighted rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evalkit.arrays import Floats, Ints, codes, ratio
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import influence
from evalkit.metrics.counts import Counts
from evalkit.metrics.curves import odds
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.class_cells import Group, of_cut, of_system
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.spread import kish
from evalkit.statistics.statistic import Layout


@dataclass(frozen=True, eq=False)
class MovingCut:
    """A system's decisions at several thresholds, on clustered or weighted rows."""

    groups: Sequence[Group]

    @classmethod
    def of(cls, rows: Rows, counts: Counts) -> "MovingCut":
        """Of rows at the thresholds of their counts, which fall."""
        unit, size = _units(rows)
        units = len(size)
        every = zip(counts.threshold, _grams(rows, counts.threshold, unit, units), strict=True)
        each = ((of_cut(influence.decision(counts, threshold)), gram) for threshold, gram in every)
        return cls([Group(2, Layout.WEIGHTED, units, [cut], {}, gram) for cut, gram in each])

    def estimate(self, chosen: Chosen, place: int, o: Options) -> Estimate:
        """A metric of decisions at one of the thresholds, as of the rows themselves."""
        return inference.estimate(of_system(chosen, self.groups[place], 0), o)

    @property
    def units(self) -> float:
        """Kish's number of units."""
        group = self.groups[0]
        return group.kish(np.ones(len(group.each[0].weight)))

    @cached_property
    def spread(self) -> Floats:
        """What the two mean errors vary, a row for each threshold: variance of FP / n, twice the covariance, of FN / n.

        The mean cost a FP / n + b FN / n has the variance a² x + a b y + b² z.
        """
        return ratio(self.units, self.units - 1) * np.array([_quadratic(group) for group in self.groups])


def _quadratic(group: Group) -> Floats:
    """Σ x², 2 Σ x y and Σ y² over units, by how much each moves FP / n (x) and FN / n (y)."""
    cells, errors = group.each[0], [1, 2]  # places of a negative that is predicted, and of a positive that is not
    n, size = cells.weight.sum(), np.bincount(group.places(0), cells.weight, 4)
    moved = np.eye(4)[errors] - size[errors, None] / n
    (x, xy), (_, y) = moved @ group.gram @ moved.T / n**2
    return np.maximum([x, 2 * xy, y], [0.0, -np.inf, 0.0])


def _grams(rows: Rows, threshold: Floats, unit: Ints, units: int) -> Iterator[Floats]:
    """The products of units' weights in two cells at each threshold; only the units of rows in between change."""
    cell = np.where(rows.actual == 1, 2, 0)
    columns = np.zeros((4, units))
    np.add.at(columns, (cell, unit), rows.weights)
    gram = columns @ columns.T
    entering = np.searchsorted(-threshold, -np.asarray(rows.score, float), side="left")
    order = np.argsort(entering, kind="stable")
    for new in np.split(order, np.searchsorted(entering[order], np.arange(1, len(threshold) + 1))[:-1]):
        touched, at = np.unique(unit[new], return_inverse=True)
        before = columns[:, touched]
        after = before.copy()
        np.add.at(after, (cell[new], at), -rows.weights[new])
        np.add.at(after, (cell[new] + 1, at), rows.weights[new])
        columns[:, touched] = after
        gram = gram + after @ after.T - before @ before.T
        yield gram


# Differences in net benefit -------------------------------------------------------------------------------------------


ONE_ROW = 1.0  # on which the two systems differ, added to each class


@dataclass(frozen=True, eq=False)
class Differences:
    """The difference first − second at each threshold, with pointwise limits."""

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
    of, size = _units(first)
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


def _units(rows: Rows) -> tuple[Ints, Floats]:
    """The unit of each row, by number, and the weight of each unit."""
    of = np.arange(len(rows)) if rows.unit is None else codes(rows.unit)[0]
    return of, np.bincount(of, rows.weights).astype(np.float64)
