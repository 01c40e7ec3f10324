"""What a study of several classes measures on: rows at hand, or what two readings by blocks keep of them."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.class_metrics import against_rest
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics import grid
from evalkit.metrics.counts import Counts
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_cells import OfCells, of_system
from evalkit.statistics.forms import Binned, OfForm, OfMean
from evalkit.statistics.readings import Several, highest
from evalkit.statistics.statistic import HeldRows, Layout, OfRows, Statistic

Change = Callable[[Rows], Rows]
SHARE = Metric("number", "rows", Share(lambda member, hit: (member, hit)), "", "", "")


# Rows at hand ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldSeveral(HeldRows):
    """Rows of several classes or labels at hand."""

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
    """Rows of several classes at hand."""

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


# What they tell -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SummedClasses(Several):
    """Several classes, whose rows were read once or twice."""

    @property
    def layout(self) -> Layout:
        """How all rows lie."""
        return self.cells(0).layout

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
        return self.area(chosen, self.cells(group), c, self.scores(group, i, c), moments, [i * self.classes + c])

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
