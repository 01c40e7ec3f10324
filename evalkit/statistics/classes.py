"""Statistics of classification metrics: of two classes read in blocks, and of several classes in memory or in blocks.

With two classes, the first reading counts the scores in bins and adds up losses. The second adds up the influence of
each row on the metrics of ranking (such as AUC) and of decisions at a threshold. For several classes see `readings`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.class_metrics import against_rest
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics import calibration, grid
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.kept import Moments, Tally
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.class_cells import Group, OfCells, of_cut, of_system
from evalkit.statistics.forms import Binned, OfForm, OfMean
from evalkit.statistics.readings import WHOLE, Asked, Counted, Several, highest, tally
from evalkit.statistics.statistic import HeldRows, Layout, OfRows, OfUnits, Statistic
from evalkit.statistics.summed import at_hand
from evalkit.system import cached

Change = Callable[[Rows], Rows]
UNITS = 2**23  # whose values are kept side by side, of a metric within units
SHARE = Metric("number", "rows", Share(lambda member, hit: (member, hit)), "", "", "")


# Two classes: the first reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class ByScore(Asked):
    """The first reading of two classes. cuts: each system's threshold, if it is fixed; counts at a fixed one are exact.

    within: metrics that rank the rows within each unit, whose values per unit are kept; within_slices: also per slice.
    It also counts the positive rows and, per system, the scores outside 0..1 and those of 0 or 1 that are wrong.
    """

    sliced: bool = False
    ranked: bool = True
    cuts: Sequence[float] | None = None
    within: Sequence[Chosen] = ()
    within_slices: bool = False

    def __call__(self, block: Block) -> Counted:
        """Summarise a block."""
        asked = ((group, part) for group, part in block.groups() if self.within_slices or not group)
        values = {("within", group): Moments.of(part, self._values, UNITS) for group, part in asked if self.within}
        counted = super().__call__(block)
        return replace(counted, more=values)

    def scores(self, part: Block, weight: Ints | None, most: int) -> Iterator[tuple[tuple[int, int], Tally]]:
        for i, said in enumerate(part.said):
            yield (i, 0), tally(said, part.truth == 1, weight, most, None if self.cuts is None else self.cuts[i])

    def more(self, block: Block, weight: Ints | None) -> tuple[dict[tuple[str, int], Any], Sequence[Any]]:
        hit = block.truth == 1
        return {}, [hit.sum(), *(n for said in block.said for n in _outside(said, hit))]

    def _values(self, block: Block) -> Floats:
        """What each row adds to the value of its unit and to how much that counts."""
        every = [chosen.sums(block.rows(i)) for chosen in self.within for i in range(len(block.said))]
        return np.array([side for sums in every for side in (sums.numerator, sums.size)])


def _outside(score: Floats, hit: Bools) -> tuple[int, int]:
    """Scores that are no probabilities, and those that are certain of the other class."""
    low, high = calibration.EPSILON, 1 - calibration.EPSILON
    if low <= score.min() and score.max() <= high:
        return 0, 0
    certain = np.where(hit, score < low, score > high)
    return int(np.count_nonzero((score < 0) | (score > 1))), int(np.count_nonzero(certain))


# Two classes that were read once or twice -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SummedRows(Several):
    """Two classes, whose rows were read once or twice. cut: the threshold of a system, by its table."""

    cut: Callable[[str, Counts], float]

    @property
    def held(self) -> bool:
        """True if every unit is in memory."""
        losses = self.counted.moments.get(0)
        return self.cells(0).units is not None if losses is None else at_hand(losses.moments)

    @cached_property
    def groups(self) -> set[int]:
        """Their numbers, 0 of all rows."""
        return {group for group, _, _ in self.counted.scores}

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """The threshold of every system."""
        return {name: self.cut(name, self.scores(0, i, 0).counts) for i, name in enumerate(self.systems)}

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group, i = 0 if isinstance(member, slice) else member, self.systems.index(system)
        if chosen in self.first.within:
            at = 2 * (self.first.within.index(chosen) * len(self.systems) + i)
            sides = self.counted.more["within", group].units[at : at + 2]
            return OfUnits(chosen, Sums(*sides), design=Layout.CLUSTERED)
        if chosen.decided:
            return of_system(chosen, self.cells(group), i)
        if chosen.base.metric.kind.totalled:
            return self.loss(chosen, group, i)
        at, tables = (group, chosen.base.label), self.scores(group, i, 0)  # which tell everything of one plain system
        strata = np.array([tables.counts.negatives, tables.counts.positives])
        more: Any = {"system": i, "powers": self.powers(at), "strata": strata}
        return self.area(chosen, self.cells(group), 1, tables, self.means.get(at), i, **more)

    @cached
    def cells(self, group: int, of: int | str = WHOLE) -> Group:
        """What the thresholds of all systems decide."""
        if self.moved is not None and group in self.moved.cells:
            return self.second.counting.group(self.moved.cells[group], self.layout)
        cuts = [self.scores(group, i, 0).at(self.thresholds[name]).cut for i, name in enumerate(self.systems)]
        return Group(2, self.layout, int(cuts[0].total), [of_cut(cut) for cut in cuts], {})


# Several classes: rows at hand ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldSeveral(HeldRows):
    """Multi-class or multi-label rows in memory."""

    @property
    def _any(self) -> Rows:
        return next(iter(self.rows.values()))

    def of_one(self, metric: Metric, system: str, c: int) -> OfRows:
        """A metric of one class against the rest, or of one label."""
        return OfRows(Chosen(metric), self.against(self.rows[system], c))

    @abstractmethod
    def against(self, rows: Rows, c: int) -> Rows:
        """The rows of one class against the others, or of one label."""

    def table(self, system: str, c: int) -> Counts:
        """The table of a class against the rest, or of a label."""
        return self.against(self.rows[system], c).counts

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        return np.zeros(2)


@dataclass(frozen=True, eq=False)
class HeldClasses(HeldSeveral):
    """Multi-class rows in memory."""

    def against(self, rows: Rows, c: int) -> Rows:
        return against_rest(rows, c)

    def sizes(self, member: Any = slice(None)) -> Ints:
        """The rows of each class in a group."""
        return np.bincount(self._any.actual[member], minlength=self._any.classes)

    @property
    def weights(self) -> Floats:
        """The rows of each class, or their weight."""
        return np.asarray(np.bincount(self._any.actual, self._any.weight, self._any.classes), np.float64)

    def confusion(self, system: str) -> Confusion:
        """The rows, or their weight, by actual and by predicted class."""
        return self.rows[system].confusion

    def said(self, system: str) -> Ints:
        """The rows for which a system predicts each class."""
        return np.bincount(self.rows[system].predicted, minlength=self._any.classes)

    def derived(self, metric: Metric, system: str, change: Change) -> OfRows:
        """A metric of the rows of a system with other things in the place of what is and is said."""
        return OfRows(Chosen(metric), change(self.rows[system]))

    def top(self, system: str) -> Counts:
        """Right or wrong by the score of the predicted class."""
        rows = self.rows[system]
        right = (rows.predicted == rows.actual).astype(np.int64)
        return Rows(right, highest(rows.scores, rows.predicted), weight=rows.weight).counts

    def lower(self, system: str) -> int:
        """Rows whose predicted class does not have the highest score."""
        rows = self.rows[system]
        return int((rows.scores.max(axis=1) > highest(rows.scores, rows.predicted)).sum())

    def off(self, system: str) -> float:
        """By how much the scores of a row are off from adding up to 1 at most."""
        return float(np.abs(self.rows[system].scores.sum(axis=1) - 1).max())

    def constant(self, shares: Floats) -> Rows:
        """Rows of which each is predicted as the largest class, with the shares as probabilities."""
        rows = self._any
        decision = np.full(len(rows), int(shares.argmax()))
        score = None if rows.score is None else np.tile(shares, (len(rows), 1))
        return replace(rows, decision=decision, score=score)


# Several classes that were read once or twice -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SummedClasses(Several):
    """Several classes, whose rows were read once or twice."""

    @property
    def held(self) -> bool:
        """True if the cells of every unit are in memory."""
        return self.cells(0).units is not None

    @property
    def classes(self) -> int:
        """How many there are."""
        return self.first.counting.classes

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group, i = 0 if isinstance(member, slice) else member, self.systems.index(system)
        if chosen.base.metric.kind.totalled:
            return self.loss(chosen, group, i)
        if chosen.base.metric.kind.decided:
            return of_system(chosen, self.cells(group), i)
        return self._mean(chosen, group, i)

    def derived(self, metric: Metric, system: str, change: Change) -> OfCells:
        """A metric of the rows of a system with other things in the place of what is and is said."""
        of = of_system(Chosen(metric), self.cells(0), self.systems.index(system))
        return replace(of, rows=change(of.rows))

    def of_one(self, metric: Metric, system: str, c: int) -> OfForm:
        """A metric of the scores of a class against the rest."""
        return self._area(Chosen(metric), 0, self.systems.index(system), c)

    def _area(self, chosen: Chosen, group: int, i: int, c: int) -> OfForm:
        moments = self.means.get((group, chosen.label))
        return self.area(chosen, self.cells(group), c, self.scores(group, i, c), moments, i * self.classes + c)

    def _mean(self, chosen: Chosen, group: int, i: int) -> OfMean:
        kind: Any = chosen.metric.kind
        of, at, k = self.cells(group), (group, Chosen(kind.of).label), self.classes
        more = {
            "shares": [part.share for part in kind.weighed(of_system(chosen, of, i).rows)],
            "each": [self._area(Chosen(kind.of), group, i, c) for c in range(k)],
            "system": i,
            "powers": self.powers(at),
            "strata": self.sizes(group),
        }
        return self.mean(chosen, of, self.means[at], range(i * k, i * k + k), **more)

    # Tables

    def sizes(self, member: Any = slice(None)) -> Ints:
        """The rows of each class in a group; a slice is all rows."""
        cells = self.read(0, 0 if isinstance(member, slice) else member)
        return np.bincount(cells.actual, cells.n, self.classes).astype(np.int64)

    @property
    def weights(self) -> Floats:
        """The rows of each class, or their weight."""
        return np.asarray(self.confusion(self.systems[0]).table.sum(axis=1), np.float64)

    def confusion(self, system: str) -> Confusion:
        """The rows, or their weight, by actual and by predicted class."""
        cells, k = self.cells(0).each[self.systems.index(system)], self.classes
        table = np.zeros((k, k), np.float64 if self.weighted else np.int64)
        table[cells.actual, cells.said[0]] = cells.weight if self.weighted else cells.n
        return Confusion(table, np.arange(k))

    def said(self, system: str) -> Ints:
        """The rows for which a system predicts each class."""
        cells = self.read(self.systems.index(system))
        return np.bincount(cells.said[0], cells.n, self.classes).astype(np.int64)

    def top(self, system: str) -> Counts:
        """Right or wrong by the score of the predicted class."""
        return Binned(self.counted.more["top", self.systems.index(system)].whole, self.scale).chances

    def lower(self, system: str) -> int:
        """Rows whose predicted class does not have the highest score."""
        return int(self.counted.facts.sums[1 + self.systems.index(system)])

    def off(self, system: str) -> float:
        """By how much the scores of a row are off from adding up to 1 at most."""
        return float(grid.scores(self.counted.more["off", self.systems.index(system)].whole.high[-1:])[0])

    def constant(self, shares: Floats) -> Rows:
        """Rows of which each is predicted as the largest class, with the shares as probabilities."""
        there, weight = np.flatnonzero(shares > 0), self.weights
        decision = np.full(len(there), int(shares.argmax()))
        score = np.tile(shares, (len(there), 1)) if self.first.scored else None
        return Rows(there, score, decision=decision, weight=weight[there], classes=len(shares))
