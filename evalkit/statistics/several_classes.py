"""What a study of several classes measures on: rows at hand, or what two readings by blocks keep of them.

The first reading counts cells of actual and predicted classes and bins of scores, and adds up losses; the second adds
up how much each row moves what follows from the order of the scores.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.class_metrics import against_rest
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.catalogue.score_kinds import Tables
from evalkit.metrics import counts, grid, kept
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.kept import Bundle, Distinct, Parted, Tally, Total
from evalkit.metrics.labels import Confusion
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_areas import OfArea, OfAreas, Ranked, Scores
from evalkit.statistics.class_cells import CellCounts, Cells, Counting, Group, OfCells, of_system
from evalkit.statistics.statistic import HeldRows, Layout, OfRows, Statistic
from evalkit.statistics.summed import OfMoments, Terms
from evalkit.statistics.two_classes import Moments

SHARED = ("rows", "weight")  # the first columns of an area
LEAST = 2**12  # bins of the scores of a class or label at least
ENDS = 4  # bins in which the lowest and the highest number stay
Change = Callable[[Rows], Rows]


SHARE = Metric("number", "rows", Share(lambda member, hit: (member, hit)), "", "", "")


def highest(score: Floats, predicted: Ints) -> Floats:
    """The score of the predicted class. score: one column a class."""
    return np.take_along_axis(score, predicted[:, None], axis=1)[:, 0]


# Rows at hand ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldClasses(HeldRows):
    """Rows of several classes at hand."""

    @property
    def _any(self) -> Rows:
        return next(iter(self.rows.values()))

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

    def of_class(self, metric: Metric, system: str, c: int) -> OfRows:
        """A metric of the scores of a class against the rest."""
        return self.derived(metric, system, lambda rows: against_rest(rows, c))

    def table(self, system: str, c: int) -> Counts:
        """The table of a class against the rest."""
        rows = self.rows[system]
        return counted_by_score(rows.actual == c, rows.scores[:, c], rows.weight)

    def top(self, system: str) -> Counts:
        """Right or wrong by the score of the predicted class."""
        rows = self.rows[system]
        return counted_by_score(rows.predicted == rows.actual, highest(rows.scores, rows.predicted), rows.weight)

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

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        return np.zeros(2)


def counted_by_score(hit: Bools, score: Floats, weight: Floats | None) -> Counts:
    """The table of a score on rows that are hits or not, and that weigh alike or not."""
    return counts.count(score, hit) if weight is None else counts.count(score, weight * hit, weight * ~hit)


# The first reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counted(Bundle):
    """What the first reading keeps; groups, systems and classes are numbers.

    cells: of each group. moments: of the terms of losses. scores: of each class, its rows as positives. top: of the
    predicted class, right or wrong. off: how far the scores of a row are from adding up to 1. facts: rows, and of each
    system those whose predicted class has not the highest score.
    """

    cells: dict[int, CellCounts]
    moments: dict[int, kept.Moments | Parted]
    scores: dict[tuple[int, int, int], Tally]
    top: dict[int, Tally]
    off: dict[int, Tally]
    facts: Total
    ids: Distinct


@dataclass(frozen=True, eq=False)
class ByClass:
    """What the first reading counts. scored: whether each class has a score.

    counting: of cells. terms: of losses. sliced, ranked: whether losses and scores are also counted of slices. room,
    fewer: bins of the scores of a class, and of those in a slice. ids: that are looked through for a second one.
    """

    scored: bool
    counting: Counting
    terms: Terms
    sliced: bool
    ranked: bool
    room: int
    fewer: int
    ids: int

    @property
    def classes(self) -> int:
        """How many there are."""
        return self.counting.classes

    def rows_of(self, block: Block, system: int) -> Rows:
        """What is, and what a system says of it."""
        return rows_of(block, system, self.classes, scored=self.scored)

    def __call__(self, block: Block) -> Counted:
        """What is kept of a block."""
        block = decided(block, scored=self.scored)
        rows, systems = [self.rows_of(block, i) for i in range(len(block.said))], range(len(block.said))
        lower = [int((r.scores.max(axis=1) > highest(r.scores, r.predicted)).sum()) if self.scored else 0 for r in rows]
        weight = self.counting.weights(block)
        cells, moments, scores = {}, {}, {}
        for group, part in block.groups():
            some = self.counting.weights(part)
            cells[group] = self.counting(
                part, np.asarray(part.truth, np.int64), [*np.asarray(part.own["predicted"], np.int64)], some
            )
            if self.terms.metrics and (self.sliced or not group):
                moments[group] = self.terms.moments(part, group)
            if self.scored and (self.ranked or not group):
                most = self.fewer if group else self.room
                for i, c in np.ndindex(len(systems), self.classes):
                    scores[group, i, c] = self._tally(part.said[i, c], part.truth == c, some, most)
        scored = systems if self.scored else ()
        off = [np.abs(block.said[i].sum(axis=0) - 1) for i in scored]
        return Counted(
            cells=cells,
            moments=moments,
            scores=scores,
            top={i: self._top(rows[i], weight) for i in scored},
            off={i: Tally(ENDS, (grid.tally(np.array([x.min(), x.max()]), most=ENDS),)) for i, x in enumerate(off)},
            facts=Total(np.array([len(block), *lower])),
            ids=Distinct.of(np.empty(0) if block.id is None else block.id, self.ids),
        )

    def _tally(self, score: Floats, hit: np.ndarray, weight: Ints | None, most: int) -> Tally:
        return Tally(most, (grid.reduce(score, hit, weight, most=most),))

    def _top(self, rows: Rows, weight: Ints | None) -> Tally:
        own = highest(rows.scores, rows.predicted)
        return self._tally(own, rows.predicted == rows.actual, weight, self.room)


def decided(block: Block, *, scored: bool) -> Block:
    """The block with the class that each system predicts, else the one of the highest score."""
    predicted = block.own.get("predicted", None if scored else block.said)
    predicted = block.said.argmax(axis=1) if predicted is None else predicted.astype(np.int64)
    return replace(block, own={"predicted": predicted})


def rows_of(block: Block, system: int, classes: int, *, scored: bool) -> Rows:
    """What is, and what a system says of it; its weights are those of the block."""
    score = block.said[system].T if scored else None
    predicted = block.own["predicted"][system]
    return Rows(block.truth, score, decision=predicted, classes=classes, beside=block.beside)


def whole_weights(block: Block, scale: float | None) -> Floats:
    """The weight of each row as it is counted."""
    every: Floats = block.weights
    return every if scale is None else (grid.whole(every, scale) * scale).astype(np.float64, copy=False)


# The second reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Areas(Bundle):
    """By group and metric: moments of how much rows move it; and by class the products of what moves its mean."""

    moments: dict[tuple[int, str], kept.Moments | Parted]
    strata: dict[tuple[int, str], Total]


@dataclass(frozen=True, eq=False)
class ByArea:
    """How much each row moves metrics of one class. of: of each group and metric its classes, of each system."""

    classes: int
    scale: float | None
    of: Mapping[tuple[int, str], Sequence[Sequence[Ranked]]]

    @property
    def names(self) -> list[str]:
        """What stands in the columns of a metric."""
        systems = len(next(iter(self.of.values())))
        return [*SHARED, *(f"{i} {c}" for i in range(systems) for c in range(self.classes))]

    def __call__(self, block: Block) -> Areas:
        """What is kept of a block."""
        moments: dict[Any, kept.Moments | Parted] = {}
        strata: dict[Any, Total] = {}
        wanted = {group for group, _ in self.of}
        for group, part in (one for one in block.groups() if one[0] in wanted):
            for at, systems in ((at, systems) for at, systems in self.of.items() if at[0] == group):
                moments[at], by_class = self._kept(part, systems)
                strata |= {} if by_class is None else {at: by_class}
        return Areas(moments, strata)

    def _kept(self, part: Block, systems: Sequence[Sequence[Ranked]]) -> tuple[kept.Moments | Parted, Total | None]:
        """The moments; of rows that count alike also the products of the means, by the class of the row."""
        plain, n = self.scale is None and not part.clustered, len(systems)
        strata = np.zeros((self.classes, n, n))

        def columns(some: Block) -> Floats:
            x = self._columns(some, systems)
            if plain:
                moved = x[len(SHARED) :].reshape(n, self.classes, -1).mean(axis=1)
                for i, j in np.ndindex(n, n):
                    strata[:, i, j] += np.bincount(some.truth, moved[i] * moved[j], self.classes)
            return x

        moments = (Parted if part.parted else kept.Moments).of(self._placed(part, systems), columns, 0)
        return moments, Total(strata.ravel()) if plain else None

    def _placed(self, part: Block, systems: Sequence[Sequence[Ranked]]) -> Block:
        """The block with the place of each score among what moves its class, in the place of the score."""
        at = [
            [one.places(part.truth == c, part.said[i, c]) for c, one in enumerate(own)] for i, own in enumerate(systems)
        ]
        return replace(part, said=np.array(at), own={})

    def _columns(self, block: Block, systems: Sequence[Sequence[Ranked]]) -> Floats:
        weight = whole_weights(block, self.scale)
        x = np.empty((len(SHARED) + len(systems) * self.classes, len(block)))
        x[0], x[1] = 1.0, weight
        every = (one.moved.take(place) for own, said in zip(systems, block.said, strict=True)
                 for one, place in zip(own, said, strict=True))  # fmt: skip
        for row, moved in zip(x[len(SHARED) :], every, strict=True):
            np.multiply(moved, weight, out=row)
        return x


# What they tell -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """All systems on the same rows, whose scores for each class or label are counted. design: how rows lie.

    first: the first reading, and counted what it counted: moments, cells and scores.
    """

    systems: tuple[str, ...]
    first: Any
    counted: Any
    design: Layout

    @property
    def layout(self) -> Layout:
        """Whether rows count alike."""
        return Layout.SUMMED if self.design is Layout.PLAIN else Layout.SUMMED_VARIED

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.first.counting.scale is not None

    def loss(self, chosen: Chosen, group: int, i: int) -> OfMoments:
        """A metric that follows from sums over rows."""
        moments = replace(self.counted.moments[group].moments, each=None)
        place = self.first.terms.place(group, self.first.terms.metrics.index(chosen.base), i)
        return OfMoments(chosen, moments, place, self.design)

    def scores(self, group: int, system: int, c: int) -> Scores:
        """The scores of a class or label."""
        key = (group, system, c)
        if key not in self._scores:
            self._scores[key] = Scores(self.counted.scores[key].whole, self.first.counting.scale)
        return self._scores[key]

    @cached_property
    def _scores(self) -> dict[tuple[int, int, int], Scores]:
        return {}

    def kish(self, of: Group) -> float:
        """Kish's number of the units of a group, or the number of its rows."""
        return float(of.n) if self.design is Layout.PLAIN else of.kish(np.ones(len(of.each[0].weight)))

    def area(self, chosen: Chosen, of: Group, positive: int, tables: Tables, moments: Any, column: str) -> OfArea:
        """A metric of the scores of one class, `positive` among the cells, against the rest."""
        kind: Any = chosen.metric.kind
        side = of.each[0].actual == positive
        kish = min(of.kish(one.astype(np.float64)) for one in (side, ~side))
        kish = float(of.n) if self.design is Layout.PLAIN else kish
        value, form = kind.read(kind.source(tables)), {column: 1.0}
        return OfArea(chosen, moments, self.layout, value, form, column, tables=tables, size=of.n, kish=kish)


@dataclass(frozen=True, eq=False)
class SummedClasses(OneAgainstRest):
    """Several classes, whose rows were read once or twice."""

    groups: Mapping[int, Group]
    second: ByArea | None = None
    areas: Areas | None = None

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group, i = 0 if isinstance(member, slice) else member, self.systems.index(system)
        if chosen.base.metric.kind.totalled:
            return self.loss(chosen, group, i)
        if chosen.base.metric.kind.decided:
            return of_system(chosen, self.groups[group], i)
        return self._mean(chosen, group, i)

    def derived(self, metric: Metric, system: str, change: Change) -> OfCells:
        """A metric of the rows of a system with other things in the place of what is and is said."""
        of = of_system(Chosen(metric), self.groups[0], self.systems.index(system))
        return of.of(Chosen(metric), change(of.rows))

    def of_class(self, metric: Metric, system: str, c: int) -> OfArea:
        """A metric of the scores of a class against the rest."""
        return self._area(Chosen(metric), 0, self.systems.index(system), c)

    def _area(self, chosen: Chosen, group: int, i: int, c: int) -> OfArea:
        moments: Any = self._moments.get((group, chosen.label))
        return self.area(chosen, self.groups[group], c, self.scores(group, i, c), moments, f"{i} {c}")

    def _mean(self, chosen: Chosen, group: int, i: int) -> OfAreas:
        kind: Any = chosen.metric.kind
        of, at, plain = self.groups[group], (group, Chosen(kind.of).label), self.design is Layout.PLAIN
        shares: Sequence[float] = [part.share for part in kind.weighed(of_system(chosen, of, i).rows)]
        classes = [self._area(Chosen(kind.of), group, i, c) for c in range(len(shares))]
        assert self.areas is not None
        n = len(self.systems)
        strata = self.areas.strata[at].sums.reshape(-1, n, n) if plain else None
        columns = [one.column for one in classes]
        known: Any = (chosen, self._moments[at], self.layout, shares, classes, columns, i, of.n, self.kish(of))
        known += (strata, self.sizes(group))
        return OfAreas(*known)

    @cached_property
    def _moments(self) -> dict[tuple[int, str], Moments]:
        """Of each group and metric of one class."""
        if self.second is None or self.areas is None:
            return {}
        return {at: Moments.of(self.second.names, one.moments) for at, one in self.areas.moments.items()}

    # Tables

    def sizes(self, member: Any = slice(None)) -> Ints:
        """The rows of each class in a group; a slice is all rows."""
        cells = self._read(0 if isinstance(member, slice) else member, 0)
        return np.bincount(cells.actual, cells.n, self.first.classes).astype(np.int64)

    @property
    def weights(self) -> Floats:
        """The rows of each class, or their weight."""
        return np.asarray(self.confusion(self.systems[0]).table.sum(axis=1), np.float64)

    def confusion(self, system: str) -> Confusion:
        """The rows, or their weight, by actual and by predicted class."""
        cells, k = self.groups[0].each[self.systems.index(system)], self.first.classes
        table = np.zeros((k, k), np.float64 if self.weighted else np.int64)
        table[cells.actual, cells.said[0]] = cells.weight if self.weighted else cells.n
        return Confusion(table, np.arange(k))

    def said(self, system: str) -> Ints:
        """The rows for which a system predicts each class."""
        cells = self._read(0, self.systems.index(system))
        return np.bincount(cells.said[0], cells.n, self.first.classes).astype(np.int64)

    def _read(self, group: int, i: int) -> Cells:
        """The cells of a system, those of rows without weight too."""
        return self.first.counting.read(self.counted.cells[group].cells[i, i].whole, None, 1)

    def table(self, system: str, c: int) -> Counts:
        """The table of a class against the rest."""
        return self.scores(0, self.systems.index(system), c).chances

    def top(self, system: str) -> Counts:
        """Right or wrong by the score of the predicted class."""
        return Scores(self.counted.top[self.systems.index(system)].whole, self.first.counting.scale).chances

    def lower(self, system: str) -> int:
        """Rows whose predicted class does not have the highest score."""
        return int(self.counted.facts.sums[1 + self.systems.index(system)])

    def off(self, system: str) -> float:
        """By how much the scores of a row are off from adding up to 1 at most."""
        return float(grid.scores(self.counted.off[self.systems.index(system)].whole.high[-1:])[0])

    def constant(self, shares: Floats) -> Rows:
        """Rows of which each is predicted as the largest class, with the shares as probabilities."""
        there, weight = np.flatnonzero(shares > 0), self.weights
        decision = np.full(len(there), int(shares.argmax()))
        score = np.tile(shares, (len(there), 1)) if self.first.scored else None
        return Rows(there, score, decision=decision, weight=weight[there], classes=len(shares))

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        if not self.first.scored:
            return np.zeros(2)
        every = [self.scores(*at).widths for at in self.counted.scores if at[0] == 0]
        return np.nan_to_num(every).max(axis=0)
