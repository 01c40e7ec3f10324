"""Statistics of classification metrics: of tables read in blocks, and of several classes in memory.

The first reading counts the scores in bins and what is predicted in cells, and adds up losses. The
second adds up the influence of each row on the metrics of ranking (such as AUC) and of decisions at
a threshold. See `readings`.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, ParameterError
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import Chosen, Combined, Metric, Weighted
from evalkit.catalogue.tables import against_rest
from evalkit.measured.readings import WHOLE, Binned, Place, RowSums, highest
from evalkit.measured.rows import HeldRows
from evalkit.metrics import counts, kept, labels
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.bootstrap import ThresholdChoice
from evalkit.statistics.class_cells import (
    CellStatistic,
    ClassMeanStatistic,
    InfluenceStatistic,
    SliceCells,
    decision_cells,
    of_system,
)
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, UnitStatistic
from evalkit.statistics.summed import MomentStatistic, has_units
from evalkit.system import cached

Change = Callable[[Rows], Rows]
Parts = Sequence[tuple[float, Any]]
SHARE = Metric("number", "rows", Share(lambda member, hit: (member, hit)), "", "", "")


# All systems on the same rows, read in blocks -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Several:
    """All systems on the same rows of a table that was read once or twice in blocks.

    The positive class of two, each of several classes and each label is one problem: positives
    against all others. first: the first reading; counted: its summary. second, moved: the second
    reading and its summary, if there was one.
    """

    systems: tuple[str, ...]
    first: Any
    counted: Any
    layout: Layout
    second: Any = None
    moved: Any = None

    @property
    def in_memory(self) -> bool:
        """True if the cells of every unit are in memory."""
        return self.problem(0, 0)[0].in_memory

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout is Layout.PLAIN

    @property
    def scale(self) -> float | None:
        """The unit that weights are counted in; None for unweighted rows."""
        return self.first.scale

    @property
    def weighted(self) -> bool:
        """True if rows have weights."""
        return self.scale is not None

    @cached_property
    def groups(self) -> set[int]:
        """The numbers of the groups of rows; 0 stands for all rows."""
        return {at[0] for at in [*self.counted.cells, *self.counted.scores]} | set(
            self.counted.moments
        )

    @property
    def problems(self) -> range:
        """The numbers of the classes or labels; 0 alone if there are two classes."""
        return range(self.first.problems)

    # Tables

    @cached
    def cells(self, group: int, of: int | str = WHOLE) -> SliceCells:
        """The cells of all classes, of one label, or of a share of rows with this name."""
        return self.first.counting.slice_cells(self.counted.cells[group, of], self.layout)

    def problem(self, group: int, c: int) -> tuple[SliceCells, int]:
        """The cells of a class or label, and the value of `Cells.actual` that is positive."""
        return self.cells(group), 1

    @cached
    def scores(self, group: int, system: int, c: int) -> Binned:
        """The scores of a class or label."""
        return Binned(self.counted.scores[group, system, c].whole, self.scale)

    def table(self, system: str, c: int) -> counts.Counts:
        """The table of a class against the rest, or of a label."""
        return self.scores(0, self.systems.index(system), c).chances

    def read(self, i: int, group: int = 0, of: int | str = WHOLE) -> Any:
        """The cells of a system, including rows of weight 0."""
        return self.first.counting.cells(self.counted.cells[group, of].cells[i, i].whole, 1)

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins may change an AUC, and an average precision; both at
        most.
        """
        every = [self.scores(*at).moved for at in self.counted.scores if at[0] == 0]
        width, low, high = np.nan_to_num(np.array(every)).reshape(-1, 3).T
        return np.array([width.max(initial=0.0), (high - low).max(initial=0.0)])

    # How much rows move them

    @cached_property
    def means(self) -> dict[Place, kept.Moments]:
        """The moments of the influence values on each mean, by group and metric."""
        if self.moved is None:
            return {}
        return {at: one.moments.around_zero for at, one in self.moved.means.items()}

    def powers(self, at: Place) -> dict[tuple[int, int], Floats]:
        """For each pair of systems the powers of the influence on the difference, if they were
        added up.
        """
        powers = None if self.moved is None else self.moved.powers.get(at)
        return {} if powers is None else self.by_pair(powers.sums)

    def by_pair(self, each: Iterable[Any]) -> dict[tuple[int, int], Any]:
        """The elements of `each`, by the numbers of the two systems."""
        return dict(zip(combinations(range(len(self.systems)), 2), each, strict=True))

    def strata(self, group: int) -> Ints:
        """The number of rows of each class in a group; empty if rows may have several labels."""
        return np.empty(0, np.int64)

    # Metrics

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group = 0 if isinstance(member, slice) else member
        i = self.systems.index(system)
        if chosen.base in self.first.terms.metrics:
            return self.loss(chosen, group, i)
        return (self.of_decisions if chosen.decided else self.of_scores)(chosen, group, i)

    def loss(self, chosen: Chosen, group: int, i: int) -> MomentStatistic:
        """A metric computed from sums over rows."""
        moments = self.counted.moments[group].moments
        place = self.first.terms.place(group, self.first.terms.metrics.index(chosen.base), i)
        return MomentStatistic(chosen, moments, place, self.layout)

    def refuse_partial_losses(self) -> None:
        """Raise ParameterError for a loss that leaves rows out: pairing systems then needs the rows
        themselves.
        """
        for chosen in self.first.terms.metrics:
            sides = [self.loss(chosen, 0, i) for i in range(len(self.systems))]
            left = min(one.totals[1] for one in sides) < sides[0].moments.totals[0]
            if not np.isfinite([one.totals for one in sides]).all() or (
                isinstance(chosen.metric.kind, Loss) and left
            ):
                raise ParameterError(
                    f"metrics: {chosen.label} leaves rows out, which needs all rows in memory"
                )

    def of_decisions(self, chosen: Chosen, group: int, i: int) -> Statistic:
        """A metric of the predicted classes."""
        return of_system(chosen, self.cells(group), i)

    def of_scores(self, chosen: Chosen, group: int, i: int) -> Statistic:
        """A mean over the classes or labels whose share is above 0."""
        kind: Any = chosen.metric.kind
        at = (group, key_of(chosen))
        share = self.shares_in(kind, group)
        k = len(self.problems)
        there = np.flatnonzero(share > 0).tolist()
        moments = self.means.get(at)
        columns = [i * k + c for c in there] + (
            [len(self.systems) * k + i] if isinstance(kind, Weighted) else []
        )
        of = self.part_of(kind, group)
        parts = [(float(share[c]), self.one(of, group, i, c, moments)) for c in there]
        return self.mean(
            chosen,
            group,
            moments,
            columns,
            parts,
            system=i,
            powers=self.powers(at),
            class_rows=self.strata(group),
        )

    def part_of(self, kind: Combined, group: int) -> Chosen:
        """The metric of each part of a mean, for parts with many or with few positives."""
        scarce = self.plain and kind.scarce(self.true(group))
        return Chosen((kind.leave_one_out if scarce else kind).of)

    def true(self, group: int) -> Floats:
        """The weight of the rows of each class, or with each label."""
        return self.strata(group).astype(np.float64)

    def shares_in(self, kind: Any, group: int) -> Floats:
        """The share of each class or label in a mean."""
        return np.full(len(self.problems), 1 / len(self.problems))

    def of_one(self, metric: Metric, system: str, c: int) -> Any:
        """A metric of one class against the rest, or of one label."""
        chosen = Chosen(metric)
        return self.one(chosen, 0, self.systems.index(system), c, self.means.get((0, chosen.label)))

    def derived(self, metric: Metric, system: str, change: Change, c: int = 0) -> CellStatistic:
        """A metric of classes, or of one label, after `change` has replaced actual values and
        predictions.
        """
        of = of_system(Chosen(metric), self.problem(0, c)[0], self.systems.index(system))
        return replace(of, rows=change(of.rows))

    def one(
        self,
        chosen: Chosen,
        group: int,
        i: int,
        c: int,
        moments: kept.Moments | None = None,
        **more: Any,
    ) -> Any:
        """A metric of one class or label. moments: of the rows' influence on the metric of each
        class, if known.
        """
        if chosen.decided:
            return of_system(chosen, self.problem(group, c)[0], i)
        column = i * len(self.problems) + c
        return self.area(chosen, group, c, self.scores(group, i, c), moments, column, **more)

    def area(
        self,
        chosen: Chosen,
        group: int,
        c: int,
        tables: Any,
        moments: Any,
        column: int,
        **more: Any,
    ) -> InfluenceStatistic:
        """A metric of the scores of one class or label against the rest. more: other fields of
        `InfluenceStatistic`.
        """
        kind = chosen.base.metric.kind
        of, positive = self.problem(group, c)
        side = of.by_system[0].actual == positive
        sides = [side, ~side] if kind.apart else [np.ones(len(side))]
        kish = float(of.n) if self.plain else min(of.kish(np.asarray(one, float)) for one in sides)
        value = kind.read(kind.source(tables))
        own = _form(moments, {column: 1.0})
        return InfluenceStatistic(
            chosen, moments, self.layout, value, own, of.n, kish - 1, tables, **more
        )

    def mean(
        self, chosen: Chosen, group: int, moments: Any, columns: Any, parts: Parts, **more: Any
    ) -> ClassMeanStatistic:
        """A mean over classes or labels. parts: the share and the metric of each. columns, more:
        fields of `ClassMeanStatistic`.
        """
        of = self.problem(group, 0)[0]
        shares = [share for share, _ in parts]
        kish = of.n if self.plain else of.kish(np.ones(len(of.by_system[0].weight)))
        value = float(sum(share * one.value for share, one in parts))
        form = _form(
            moments, dict.fromkeys(columns, 1.0) | dict(zip(columns, shares, strict=False))
        )
        more |= {
            "positives": self.true(group),
            "columns": columns,
            "shares": shares,
            "statistics": [one for _, one in parts],
        }
        return ClassMeanStatistic(
            chosen, moments, self.layout, value, form, of.n, kish - 1.0, **more
        )


def key_of(chosen: Chosen) -> str:
    """The name under which the sums of a mean are stored; means with fixed shares use those of
    their metric.
    """
    if isinstance(chosen.metric.kind, Weighted):
        return chosen.label
    return Chosen(chosen.metric.kind.of).label


def _form(moments: kept.Moments | None, of: Mapping[int, float]) -> Floats:
    """The multiples of the columns; nothing if these were not added up."""
    form = np.zeros(0 if moments is None else len(moments.mean))
    for column, times in of.items() if len(form) else ():
        form[column] = times
    return form


# Two classes


@dataclass(frozen=True, eq=False, kw_only=True)
class SummedBinary(Several):
    """Two classes. cut: a function from a system and its table to the threshold.

    choice: how the threshold is chosen again on samples; None if it is fixed.
    """

    cut: Callable[[str, counts.Counts], float]
    choice: ThresholdChoice | None = None

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory."""
        losses = self.counted.moments.get(0)
        return super().in_memory if losses is None else has_units(losses.moments)

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """The threshold of each system."""
        return {
            name: self.cut(name, self.scores(0, i, 0).counts) for i, name in enumerate(self.systems)
        }

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        if chosen not in self.first.within:
            return super().measure(chosen, system, member)
        at = 2 * (self.first.within.index(chosen) * len(self.systems) + self.systems.index(system))
        sides = self.counted.more["within", 0 if isinstance(member, slice) else member].units[
            at : at + 2
        ]
        return UnitStatistic(chosen, Sums(*sides), design=Layout.CLUSTERED)

    def of_decisions(self, chosen: Chosen, group: int, i: int) -> CellStatistic:
        statistic = of_system(chosen, self.cells(group), i)
        if group or self.choice is None:
            return statistic
        return replace(
            statistic, rows=replace(statistic.rows, redraw=lambda: self.rechosen_counts(i))
        )

    @cached
    def rechosen_counts(self, i: int) -> counts.RechosenCounts:
        """The counts of a system on samples, on each of which the threshold is chosen again."""
        choice: Any = self.choice
        if self.second is None:
            return choice.of_table(self.scores(0, i, 0).counts)
        return choice.of_parts(self.second.candidates[i], self.moved.part_sums[i].sums)

    def of_scores(self, chosen: Chosen, group: int, i: int) -> InfluenceStatistic:
        at = (group, chosen.base.label)  # the tables tell everything of one plain system
        return self.one(
            chosen,
            group,
            i,
            0,
            self.means.get(at),
            system=i,
            powers=self.powers(at),
            class_rows=self.strata(group),
        )

    def strata(self, group: int) -> Ints:
        """The numbers of negative and of positive rows in a group."""
        c = self.scores(group, 0, 0).counts
        return np.array([c.negatives, c.positives])

    @cached
    def cells(self, group: int, of: int | str = WHOLE) -> SliceCells:
        """The cells of the decisions of all systems."""
        if self.moved is not None and group in self.moved.cells:
            return self.second.counting.slice_cells(self.moved.cells[group], self.layout)
        cuts = [
            self.scores(group, i, 0).at(self.thresholds[name]).cut
            for i, name in enumerate(self.systems)
        ]
        return SliceCells(
            2, self.layout, int(cuts[0].total), [decision_cells(cut) for cut in cuts], {}
        )


# Several classes: rows at hand --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldSeveral(HeldRows):
    """Multi-class or multi-label rows in memory."""

    @property
    def _any(self) -> Rows:
        return next(iter(self.rows.values()))

    def of_one(self, metric: Metric, system: str, c: int) -> RowStatistic:
        """A metric of one class against the rest, or of one label."""
        return RowStatistic(Chosen(metric), self.against(self.rows[system], c))

    @abstractmethod
    def against(self, rows: Rows, c: int) -> Rows:
        """The rows of one class against the others, or of one label."""

    def table(self, system: str, c: int) -> counts.Counts:
        """The table of a class against the rest, or of a label."""
        return self.against(self.rows[system], c).counts

    @property
    def bounds(self) -> Floats:
        """0 and 0: scores in memory are not counted in bins."""
        return np.zeros(2)


@dataclass(frozen=True, eq=False)
class HeldClasses(HeldSeveral):
    """Multi-class rows in memory."""

    def against(self, rows: Rows, c: int) -> Rows:
        return against_rest(rows, c)

    def sizes(self, member: Any = slice(None)) -> Ints:
        """The number of rows of each class in a group."""
        return np.bincount(self._any.actual[member], minlength=self._any.classes)

    @property
    def weights(self) -> Floats:
        """The total weight of the rows of each class; without weights their number."""
        return np.asarray(
            np.bincount(self._any.actual, self._any.weight, self._any.classes), np.float64
        )

    def confusion(self, system: str) -> labels.Confusion:
        """The confusion matrix, of weights or of numbers of rows."""
        return self.rows[system].confusion

    def said(self, system: str) -> Ints:
        """The number of rows for which a system predicts each class."""
        return np.bincount(self.rows[system].predicted, minlength=self._any.classes)

    def derived(self, metric: Metric, system: str, change: Change) -> RowStatistic:
        """A metric of a system's rows after `change` has replaced their actual values and
        predictions.
        """
        return RowStatistic(Chosen(metric), change(self.rows[system]))

    def top(self, system: str) -> counts.Counts:
        """The table of right and wrong predictions by the score of the predicted class."""
        rows = self.rows[system]
        right = (rows.predicted == rows.actual).astype(np.int64)
        return Rows(right, highest(rows.scores, rows.predicted), weight=rows.weight).counts

    def lower(self, system: str) -> int:
        """The number of rows whose predicted class does not have the highest score."""
        rows = self.rows[system]
        return int((rows.scores.max(axis=1) > highest(rows.scores, rows.predicted)).sum())

    def sums(self, system: str) -> RowSums:
        """The sums of the rows' scores."""
        return RowSums.of(self.rows[system], self.rows[system].weight)

    def constant(self, shares: Floats) -> Rows:
        """Rows that are all predicted as the largest class, with the shares of the classes as
        probabilities.
        """
        rows = self._any
        decision = np.full(len(rows), int(shares.argmax()))
        score = None if rows.score is None else np.tile(shares, (len(rows), 1))
        return replace(rows, decision=decision, score=score)


# Several classes that were read once or twice -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class SummedClasses(Several):
    """Several classes, whose rows were read once or twice."""

    def problem(self, group: int, c: int) -> tuple[SliceCells, int]:
        return self.cells(group), c

    def strata(self, group: int) -> Ints:
        return self.sizes(group)

    # Tables

    def sizes(self, member: Any = slice(None)) -> Ints:
        """The number of rows of each class in a group; a slice means all rows."""
        cells = self.read(0, 0 if isinstance(member, slice) else member)
        return np.bincount(cells.actual, cells.n, len(self.problems)).astype(np.int64)

    @property
    def weights(self) -> Floats:
        """The total weight of the rows of each class; without weights their number."""
        return np.asarray(self.confusion(self.systems[0]).table.sum(axis=1), np.float64)

    def confusion(self, system: str) -> labels.Confusion:
        """The confusion matrix, of weights or of numbers of rows."""
        cells = self.cells(0).by_system[self.systems.index(system)]
        k = len(self.problems)
        table = np.zeros((k, k), np.float64 if self.weighted else np.int64)
        table[cells.actual, cells.predicted[0]] = cells.weight if self.weighted else cells.n
        return labels.Confusion(table, np.arange(k))

    def said(self, system: str) -> Ints:
        """The number of rows for which a system predicts each class."""
        cells = self.read(self.systems.index(system))
        return np.bincount(cells.predicted[0], cells.n, len(self.problems)).astype(np.int64)

    def top(self, system: str) -> counts.Counts:
        """The table of right and wrong predictions by the score of the predicted class."""
        return Binned(
            self.counted.more["top", self.systems.index(system)].whole, self.scale
        ).chances

    def lower(self, system: str) -> int:
        """The number of rows whose predicted class does not have the highest score."""
        return int(self.counted.facts.sums[1 + self.systems.index(system)])

    def sums(self, system: str) -> RowSums:
        """The sums of the rows' scores."""
        sums: RowSums = self.counted.more["sums", self.systems.index(system)]
        return sums

    def constant(self, shares: Floats) -> Rows:
        """Rows that are all predicted as the largest class, with the shares of the classes as
        probabilities.
        """
        there = np.flatnonzero(shares > 0)
        weight = self.weights
        decision = np.full(len(there), int(shares.argmax()))
        score = np.tile(shares, (len(there), 1)) if self.first.scored else None
        return Rows(there, score, decision=decision, weight=weight[there], classes=len(shares))
