"""The two readings of rows of several classes, each shard by itself: counted cells of what is and what systems say,
sums of losses and bins of scores; then how much each row moves what follows from the order of scores, and losses.

Names of what is gathered: the group, then the system by its number, then what it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.rows import Rows, Shard
from evalkit.statistics.binned_scores import places
from evalkit.statistics.cell_passes import Counting, Said
from evalkit.statistics.forecast_passes import SHARED, Moved, groups, totals_of, weights
from evalkit.statistics.gathered import Gathered, Pass, Summing
from evalkit.statistics.of_areas import Scores
from evalkit.statistics.of_cells import Cells

FACTS = "facts"
NOWHERE = (0.0, 0.0)  # losses of classes do not depend on a centre
ENDS = 4  # bins in which the lowest and the highest number stay


def rows_of(shard: Shard, system: int, classes: int) -> Rows:
    """What is, and what a system says of it."""
    score = shard.score[system]
    scored = score if score.shape[1] else None
    return Rows(shard.label, scored, decision=shard.decision[system], classes=classes)


@dataclass(frozen=True, eq=False)
class First(Pass):
    """Counted cells, what losses add up to, and bins of scores: of each class against the rest, of the predicted one.

    losses, sliced: of all rows, and of each slice. ranked, ranked_slices: whether the scores of each class are counted.
    counting: of cells. room, fewer: bins of the scores of a class, and of those in a slice.
    """

    classes: int
    losses: Sequence[Chosen]
    sliced: Sequence[Chosen]
    ranked: bool
    ranked_slices: bool
    counting: Counting
    room: int = USUAL.bins
    fewer: int = USUAL.slice_bins

    @property
    def scale(self) -> float | None:
        """What weights are counted in."""
        return self.counting.scale

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g, weight, systems = Gathered(), weights(shard, self.scale), range(len(shard.decision))
        facts = [len(shard.label), shard.twice, shard.differ, *(_lower(shard, i) for i in systems)]
        g.sums[FACTS] = np.array(facts, float)
        for group, part, rows in groups(shard):
            some = weight[rows]
            g.sums[f"{group}"] = np.array([len(some), some.sum(), np.sum(some * some)])
            said = Said(self.classes, part.label, part.decision, part.weight, part.unit, part.units)
            self.counting.add(g, f"{group}", said)
            for i in systems:
                of = rows_of(part, i, self.classes)
                for chosen in self.sliced if group else self.losses:
                    g.sums.update({f"{group} {i} {chosen.label}": t for t in totals_of(chosen, of, NOWHERE, some)})
                if of.score is not None and (self.ranked_slices if group else self.ranked):
                    self._scores(g, f"{group} {i}", of, part.weight, self.fewer if group else self.room)
                if of.score is not None and not group:
                    self._probabilities(g, f"{group} {i}", of, part.weight)
        return g.table()

    def _scores(self, g: Gathered, place: str, rows: Rows, weight: Ints | None, most: int) -> None:
        """The bins of the scores of each class, its rows as positives."""
        for c, score in enumerate(rows.scores.T):
            g.grids[f"{place} {c}"] = grid.reduce(score.copy(), rows.actual == c, weight, most=most)

    def _probabilities(self, g: Gathered, place: str, rows: Rows, weight: Ints | None) -> None:
        """The bins of the score of the predicted class, right or wrong; how far scores are from adding up to 1."""
        right = rows.predicted == rows.actual
        g.grids[f"{place} top"] = grid.reduce(_own(rows), right, weight, most=self.room)
        off = np.abs(rows.scores.sum(axis=1) - 1)
        g.grids[f"{place} off"] = grid.tally(np.array([off.min(), off.max()]), most=ENDS)

    def most(self, name: str) -> int:
        """The bins of a name."""
        last = name.rsplit(" ", 1)[1]
        if last in ("cells", "squares"):
            return self.counting.bins
        return ENDS if last == "off" else self.room if name.startswith("0 ") else self.fewer

    # What came of it

    def cells(self, g: Gathered, group: int, *systems: int) -> Cells:
        """The cells of one or two systems."""
        return self.counting.cells(g, f"{group}", self.classes, systems)


def _own(rows: Rows) -> Floats:
    """The score of the predicted class."""
    return np.take_along_axis(rows.scores, rows.predicted[:, None], axis=1)[:, 0]


def _lower(shard: Shard, system: int) -> int:
    """Rows whose predicted class does not have the highest score."""
    rows = rows_of(shard, system, 0)
    return 0 if rows.score is None or not len(rows) else int((rows.scores.max(axis=1) > _own(rows)).sum())


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ranked:
    """How much a row moves a metric of one class against the rest: by its class and its score.

    low: the codes of the bins of its scores, rising. moved: of positive rows by bin, then of negative ones.
    """

    low: Ints
    moved: Floats


def ranked(chosen: Chosen, scores: Scores) -> Ranked:
    """How much the rows of each bin move the metric of one class, or label."""
    kind: Any = chosen.metric.kind
    moved = np.ascontiguousarray(kind.bins(scores.chances)[:, ::-1])
    return Ranked(grid.codes(scores.counts.threshold[::-1]), np.nan_to_num(moved).ravel())


@dataclass(frozen=True, eq=False)
class Second(Pass):
    """How much each row moves losses and areas: sums, products and cubes by row or by unit, of every group.

    losses: of each group the losses of each system. areas: of each group and metric its classes, of each system.
    plain: rows count alike, and what moves the mean of an area over the classes is also known by class.
    """

    classes: int
    losses: Mapping[int, Sequence[Sequence[Moved]]]
    areas: Mapping[tuple[int, str], Sequence[Sequence[Ranked]]]
    scale: float | None
    plain: bool
    apart: bool

    def loss_names(self, group: int) -> list[str]:
        """What stands in the columns of the losses of a group."""
        moved = enumerate(self.losses[group])
        return [*SHARED, *(f"{i} {one.chosen.label}" for i, metrics in moved for one in metrics)]

    def area_names(self, group: int, label: str) -> list[str]:
        """What stands in the columns of a metric by class."""
        systems = range(len(self.areas[group, label]))
        return [*SHARED, *(f"{i} {c}" for i in systems for c in range(self.classes))]

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        if not any(self.losses) and not any(group for group, _ in self.areas):
            shard = replace(shard, slice=[], slices=[])  # no slice needs a second reading
        g, weight = Gathered(), weights(shard, self.scale)
        summing = Summing(shard.unit, shard.units, self.apart)
        for group, part, rows in groups(shard):
            some = weight[rows]
            if group in self.losses:
                columns = _Losses(part, some, self.losses[group], self.classes)
                g.sums[f"{group} losses"] = summing(columns, len(self.loss_names(group)), part.unit)
            for at, label in self.areas:
                if at == group:
                    self._add(g, f"{group} {label}", _Areas(part, some, self.areas[group, label]), summing)
        return g.table()

    def _add(self, g: Gathered, place: str, columns: "_Areas", summing: Summing) -> None:
        """The sums of a metric by class; of rows that count alike also those of its mean, by the class of the row."""
        systems, label = len(columns.systems), columns.part.label
        strata = np.zeros((self.classes, systems, systems))

        def by_class(at: slice, x: Floats) -> None:
            moved = x[len(SHARED) :].reshape(systems, self.classes, -1).mean(axis=1)
            for i in range(systems):
                for j in range(systems):
                    strata[:, i, j] += np.bincount(label[at], moved[i] * moved[j], self.classes)

        m = len(SHARED) + systems * self.classes
        g.sums[f"{place} areas"] = summing(columns, m, columns.part.unit, by_class if self.plain else None)
        if self.plain:
            g.sums[f"{place} strata"] = strata.ravel()


@dataclass(frozen=True, eq=False)
class _Losses:
    """The columns of the losses of a group's rows."""

    part: Shard
    weight: Floats
    systems: Sequence[Sequence[Moved]]
    classes: int

    def __len__(self) -> int:
        return len(self.weight)

    def __call__(self, at: slice) -> Floats:
        block, weight = self.part.at(at), self.weight[at]
        rows = [rows_of(block, i, self.classes) for i in range(len(self.systems))]
        moved = (one.column(rows[i]) * weight for i, metrics in enumerate(self.systems) for one in metrics)
        return np.array([np.ones(len(weight)), weight, *moved])


@dataclass(frozen=True, eq=False)
class _Areas:
    """The columns of a metric of each class against the rest."""

    part: Shard
    weight: Floats
    systems: Sequence[Sequence[Ranked]]

    def __len__(self) -> int:
        return len(self.weight)

    def __call__(self, at: slice) -> Floats:
        label, weight = self.part.label[at], self.weight[at]
        columns = [np.ones(len(weight)), weight]
        for score, classes in zip(self.part.score, self.systems, strict=True):
            for c, ranked in enumerate(classes):
                place = places(ranked.low, np.ascontiguousarray(score[at, c]))
                side = np.where(label == c, 0, len(ranked.low))
                columns.append(ranked.moved.take(place + side) * weight)
        return np.array(columns)
