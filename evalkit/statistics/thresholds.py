"""Every threshold of some at once, of rows in units or with weights: the sums that the intervals of decisions need."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Floats, codes, ratio
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import influence
from evalkit.metrics.counts import Counts
from evalkit.metrics.curves import odds
from evalkit.metrics.rows import Rows
from evalkit.statistics import closed_forms, inference
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.spread import kish
from evalkit.statistics.statistic import Layout
from evalkit.statistics.two_classes import Form, Moments, OfSums, SummedRows

POSITIVE, HIT, NEGATIVE, ALARM = NAMES = ("positive", "\nhit", "negative", "\nalarm")


@dataclass(frozen=True, eq=False)
class Cut:
    """What one threshold decides, as `OfSums` asks for it."""

    counts: Counts
    threshold: float

    @cached_property
    def cut(self) -> Counts:
        """The table of what is decided."""
        return influence.decision(self.counts, self.threshold)


@dataclass(frozen=True, eq=False)
class MovingCut:
    """The decisions of a system at some thresholds, and the moments of units, or of rows with weights, at each."""

    counts: Counts
    moments: Sequence[Moments]

    @classmethod
    def of(cls, rows: Rows, counts: Counts) -> "MovingCut":
        """Of rows at the thresholds of their counts, which fall."""
        return cls(counts, list(_moments(rows, counts.threshold)))

    @cached_property
    def _sample(self) -> SummedRows:
        cuts: Any = {i: {"": Cut(self.counts, threshold)} for i, threshold in enumerate(self.counts.threshold)}
        return SummedRows(cuts, dict(enumerate(self.moments)), Layout.SUMMED_VARIED)

    def estimate(self, chosen: Chosen, place: int, o: Options) -> Estimate:
        """A metric of decisions at one of the thresholds, as of the rows themselves."""
        return inference.estimate(OfSums(chosen, self._sample, "", place), o)

    @property
    def units(self) -> float:
        """Kish's number of units."""
        return self.moments[0].kish({POSITIVE: 1.0, NEGATIVE: 1.0})

    @cached_property
    def spread(self) -> Floats:
        """What the two mean errors vary, a row for each threshold: variance of FP / n, twice the covariance, of FN / n.

        The mean cost a FP / n + b FN / n has the variance a² x + a b y + b² z.
        """
        inflated = ratio(self.units, self.units - 1)
        return inflated * np.array([_quadratic(moments) for moments in self.moments])


def mean_cost(mean: float, top: float, variance: float, units: float, level: float) -> Estimate:
    """A mean cost between 0 and `top` with t limits on the logit scale, on Kish's degrees of freedom."""
    error = float(np.sqrt(variance))
    return closed_forms.ranged_t(mean, error, freedom=units - 1, n=int(units), level=level, low=0.0, high=top)


def _quadratic(m: Moments) -> Floats:
    """Σ x², 2 Σ x y and Σ y² over units, by how much each moves FP / n (x) and FN / n (y)."""
    n = m.total({POSITIVE: 1.0, NEGATIVE: 1.0})
    errors: list[Form] = [{ALARM: 1.0}, {POSITIVE: 1.0, HIT: -1.0}]
    moved = np.array([[form.get(name, 0.0) for name in m.names] for form in errors])
    moved[:, [m.names.index(POSITIVE), m.names.index(NEGATIVE)]] -= np.array([[m.total(form)] for form in errors]) / n
    (x, xy), (_, y) = moved @ m.gram @ moved.T / n**2
    return np.maximum([x, 2 * xy, y], [0.0, -np.inf, 0.0])


def _moments(rows: Rows, threshold: Floats) -> Iterator[Moments]:
    """The moments at each threshold; from one to the next only the units of the rows between them change."""
    unit, units = (np.arange(len(rows)), len(rows)) if rows.unit is None else _coded(rows.unit)
    side = np.where(rows.actual == 1, 0, 2)
    columns = np.zeros((len(NAMES), units))
    np.add.at(columns, (side, unit), rows.weights)
    gram, sums = columns @ columns.T, columns.sum(axis=1)
    entering = np.searchsorted(-threshold, -np.asarray(rows.score, float), side="left")
    order = np.argsort(entering, kind="stable")
    for new in np.split(order, np.searchsorted(entering[order], np.arange(1, len(threshold) + 1))[:-1]):
        touched, at = np.unique(unit[new], return_inverse=True)
        before = columns[:, touched]
        after = before.copy()
        np.add.at(after, (side[new] + 1, at), rows.weights[new])
        columns[:, touched] = after
        gram = gram + after @ after.T - before @ before.T
        sums = sums + (after - before).sum(axis=1)
        yield Moments(NAMES, units, sums, gram, np.zeros(len(NAMES)))


def _coded(unit: np.ndarray) -> tuple[np.ndarray, int]:
    code, names = codes(unit)
    return code, names.size


# Differences in net benefit -------------------------------------------------------------------------------------------


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
