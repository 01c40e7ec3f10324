"""Statistics of multi-label metrics, from rows in memory or from the sums of two readings in
blocks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ratio
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import Chosen, Combined, Metric, Weighted
from evalkit.catalogue.tables import AVERAGE_PRECISION, LABELS, ROC_AUC, of_label
from evalkit.measured.classes import SHARE, Change, HeldSeveral, Several, key_of
from evalkit.measured.readings import ByMoves, Cut, Mean, Place, label_rows, ranked
from evalkit.measured.rows import Terms
from evalkit.metrics import counts, curves, grid, kept
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import class_cells, summed
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import Difference, RowStatistic, Statistic

STEPS = 41  # thresholds at most
TOP = "top label"  # the name of the share of rows whose label with the highest score is true
MICRO = [Chosen(LABELS[name]) for name in ("micro_f1", "micro_precision", "micro_recall")]


def off(label: int) -> Chosen:
    """By how much the mean score of a label exceeds the share of rows that have it."""
    kind = Loss(lambda rows, k: rows.scores[:, label] - rows.actual[:, label])
    return Chosen(Metric(f"off {label}", "rows", kind, "", "", "", low=-np.inf, high=np.inf))


def top_hits(rows: Rows) -> tuple[Bools, Bools]:
    """Two masks: all rows, and the rows whose highest-scored label is true."""
    best = rows.scores.argmax(axis=1)
    return np.ones(len(best), dtype=bool), rows.actual[np.arange(len(best)), best]


# Rows at hand -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeldLabels(HeldSeveral):
    """Multi-label rows in memory."""

    together = True

    def against(self, rows: Rows, c: int) -> Rows:
        return of_label(rows, c)

    def sizes(self) -> Ints:
        """The number of rows on which each label is true."""
        return self._any.actual.sum(axis=0)

    @property
    def weights(self) -> Floats:
        """The total weight of the rows on which each label is true; without weights their
        number.
        """
        return np.dot(self._any.weights, self._any.actual)

    @property
    def shares(self) -> Floats:
        """The share of rows, by weight, on which each label is true."""
        return np.average(self._any.actual, axis=0, weights=self._any.weight)

    @property
    def per_row(self) -> tuple[float, float]:
        """The mean number of labels of a row, and the share of rows that have none."""
        per_row = self._any.actual.sum(axis=1)
        w = self._any.weight
        return float(np.average(per_row, weights=w)), float(np.average(per_row == 0, weights=w))

    def ends(self, system: str) -> tuple[float, float]:
        """The lowest and the highest score of a system."""
        score = self.rows[system].scores
        return float(score.min()), float(score.max())

    def decided(self, system: str, label: int) -> tuple[int, int, int, int]:
        """The numbers of TP, FP, FN and TN of a system's decisions on a label."""
        rows = self.rows[system]
        y = rows.actual[:, label]
        d = rows.predicted[:, label]
        return int((y & d).sum()), int((~y & d).sum()), int((y & ~d).sum()), int((~y & ~d).sum())

    def derived(self, metric: Metric, system: str, change: Change, label: int) -> RowStatistic:
        """A metric of one label after `change` has replaced its actual values and predictions."""
        return RowStatistic(Chosen(metric), change(of_label(self.rows[system], label)))

    def pooled(self, system: str) -> counts.Counts:
        """The table of counts by score over all labels of all rows (micro-averaging)."""
        rows = self.rows[system]
        weight = None if rows.weight is None else np.repeat(rows.weight, rows.actual.shape[1])
        return Rows(rows.actual.ravel().astype(np.int64), rows.scores.ravel(), weight=weight).counts

    def steps(self, system: str) -> Floats:
        """The distinct scores over all labels, or if there are many, quantiles of the scores over
        rows and labels.
        """
        every = self.rows[system].scores
        score = np.unique(every)
        if score.size <= STEPS:
            return score
        return np.quantile(every, np.linspace(0, 1, STEPS), method="inverted_cdf")

    def swept(self, chosen: Chosen, system: str, number: int, threshold: float) -> RowStatistic:
        """A metric with the same threshold for all labels."""
        return RowStatistic(chosen, replace(self.rows[system], threshold=threshold))

    def top(self, system: str) -> RowStatistic:
        """The share of rows whose highest-scored label is true."""
        rows = self.rows[system]
        member, hit = top_hits(rows)
        return RowStatistic(
            Chosen(SHARE), Rows(member, decision=hit, weight=rows.weight, unit=rows.unit)
        )

    def off(self, system: str, label: int) -> RowStatistic:
        """By how much the mean score of a label exceeds the share of rows that have it."""
        return RowStatistic(off(label), self.rows[system])

    def constant(self, system: str) -> Rows:
        """Rows with constant scores: each label is scored by the share of rows that have it."""
        rows = self.rows[system]
        return replace(rows, score=np.tile(self.shares, (len(rows), 1)))


# What they tell -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OfShared(summed.MomentStatistic):
    """A mean over rows that is undefined on some rows of some systems. Each system may leave out
    different rows.

    number: of the system. shared: for each pair of systems the weight of the rows that both have,
    their differences, and their number. columns: the positions of the columns of each pair.
    """

    number: int = 0
    shared: Any = None
    columns: Any = None

    def _with(self, other: Any) -> tuple[int, float]:
        """Which column has the rows of both, and the sign of the differences in the next."""
        column = self.columns[min(self.number, other.number), max(self.number, other.number)]
        return column, 1.0 if self.number < other.number else -1.0

    def overlaps(self, other: Any) -> bool:
        """True if at least one row has both values."""
        return bool(self.shared.totals[self._with(other)[0]] > 0)

    def shared_difference(self, other: Any) -> Difference:
        """The difference over the rows that have both values, its standard error, and the number of
        these rows.
        """
        at, sign = self._with(other)
        size, apart, rows = self.shared.totals[at : at + 3]
        alike = np.isclose(
            size, [self.totals[1], other.totals[1]], rtol=1e-12, atol=0
        ).all()  # the same rows left out
        units = self.shared.units
        both = min(round(rows), self.shared.n) if units is None else np.count_nonzero(units[at])
        n = self.n if alike else int(both)
        form = np.array([-apart / size, 1.0]) / size
        square = max(
            float(form @ self.shared.around_zero.second[at : at + 2, at : at + 2] @ form), 0.0
        )
        kish = n if self.plain else self.freedom + 1
        return Difference(sign * float(apart / size), Spread(n, square, kish).error, n)

    def term_differences(self, other: Any) -> Sums:
        """The differences by unit, over the rows that have both values, if there are few units."""
        at, sign = self._with(other)
        size, apart = self.shared.units[at : at + 2]
        return Sums(sign * apart, size)


@dataclass(frozen=True, eq=False)
class SummedLabels(Several):
    """Multi-label metrics of a table that was read twice in blocks."""

    def problem(self, group: int, c: int) -> tuple[class_cells.SliceCells, int]:
        return self.cells(group, c), 1

    # Metrics

    def loss(self, chosen: Chosen, group: int, i: int) -> summed.MomentStatistic:
        """A metric computed from sums over rows."""
        whole = super().loss(chosen, group, i)
        shared = None if self.moved is None else self.moved.shared.get((group, chosen.base.label))
        if shared is None:
            return whole
        moments = shared.moments
        columns = self.by_pair(range(0, len(shared.moments.mean), 3))
        return OfShared(
            chosen,
            whole.moments,
            whole.place,
            self.layout,
            number=i,
            shared=moments,
            columns=columns,
        )

    def of_decisions(self, chosen: Chosen, group: int, i: int) -> Any:
        """A mean over labels, or a share of rows, computed from cells."""
        if not isinstance(chosen.metric.kind, Share):
            return self.of_scores(chosen, group, i)
        named: dict[str, Any] = {
            **vars(chosen.metric),
            "kind": Share(lambda member, hit: (member == 1, hit == 1)),
        }
        return class_cells.of_system(
            Chosen(Metric(**named), chosen.k), self.cells(group, chosen.label), i
        )

    def shares_in(self, kind: Any, group: int) -> Floats:
        if not isinstance(kind, Weighted):
            return super().shares_in(kind, group)
        size = self.true(group)
        return size / size.sum() if size.any() else size

    def true(self, group: int) -> Floats:
        """The weight of the rows that have each label."""
        every = [self.cells(group, j).by_system[0] for j in self.problems]
        return np.array([one.weight[one.actual == 1].sum() for one in every], float)

    # Metrics of labels

    def top(self, system: str) -> Any:
        """The share of rows whose highest-scored label is true."""
        return self.of_decisions(Chosen(replace(SHARE, name=TOP)), 0, self.systems.index(system))

    def off(self, system: str, label: int) -> summed.MomentStatistic:
        """By how much the mean score of a label exceeds the share of rows that have it; for the
        swept system.
        """
        return self._alone(-1, self.second.alone[-1].metrics[label])

    # Along a threshold

    def swept(self, chosen: Chosen, system: str, number: int, threshold: float) -> Statistic:
        """A ratio of sums over all labels, or a mean of F1 over labels, with the same threshold for
        all labels.
        """
        kind: Any = chosen.metric.kind
        if kind.totalled:
            return self._alone(number, chosen)
        i = self.second.system
        of = self.part_of(kind, 0)
        moments = self.moved.alone[number].moments.around_zero
        each = [
            self.area(of, 0, j, self.scores(0, i, j).at(threshold), moments, 1 + j)
            for j in self.problems
        ]
        parts = list(zip(self.shares_in(kind, 0).tolist(), each, strict=True))
        return self.mean(chosen, 0, moments, range(1, 1 + len(parts)), parts, system=i)

    def _alone(self, number: int, chosen: Chosen) -> summed.MomentStatistic:
        """A metric of the system for which more is computed than for the others."""
        terms = self.second.alone[number]
        moments = self.moved.alone[number].moments
        return summed.MomentStatistic(
            chosen, moments, terms.place(0, terms.metrics.index(chosen), 0), self.layout
        )

    # Tables

    def sizes(self) -> Ints:
        """The number of rows on which each label is true."""
        return np.array([sum(self.decided(self.systems[0], j)[::2]) for j in self.problems])

    @property
    def weights(self) -> Floats:
        """The total weight of the rows on which each label is true; without weights their
        number.
        """
        return self.true(0)

    @property
    def shares(self) -> Floats:
        """The share of rows, by weight, on which each label is true."""
        return ratio(self.true(0), float(self.cells(0, 0).by_system[0].weight.sum()))

    @property
    def per_row(self) -> tuple[float, float]:
        """The mean number of labels of a row, and the share of rows that have none."""
        none = float(self.counted.facts.sums[1]) * (self.scale or 1.0)
        return float(self.shares.sum()), none / float(self.cells(0, 0).by_system[0].weight.sum())

    def ends(self, system: str) -> tuple[float, float]:
        """The lowest and the highest score of a system."""
        bins = [self.scores(0, self.systems.index(system), j).bins for j in self.problems]
        low = np.array([one.low[0] for one in bins])
        high = np.array([one.high[-1] for one in bins])
        return float(grid.scores(low).min()), float(grid.scores(high).max())

    def decided(self, system: str, label: int) -> tuple[int, int, int, int]:
        """The numbers of TP, FP, FN and TN of a system's decisions on a label."""
        of = self.read(self.systems.index(system), 0, label)
        tn, fp, fn, tp = np.bincount(2 * of.actual + of.predicted[0], of.n, 4).astype(int).tolist()
        return tp, fp, fn, tn

    def _together(self, system: str) -> grid.Grid:
        i = self.systems.index(system)
        return grid.merge(
            [self.counted.scores[0, i, j].whole for j in self.problems], self.first.bins()
        )

    def pooled(self, system: str) -> counts.Counts:
        """The table of counts by score over all labels of all rows (micro-averaging)."""
        return grid.counts(self._together(system), self.scale or 1.0)

    def steps(self, system: str) -> Floats:
        """The distinct scores over all labels, or if there are many, their quantiles as numpy
        computes them.
        """
        every = self.counted.more["every", self.systems.index(system)] if self.weighted else None
        bins = every.whole if every else self._together(system)
        score = grid.scores(bins.low)
        rows = bins.positive if every else bins.positive + bins.negative
        if len(score) <= STEPS:
            return score
        up_to = np.cumsum(rows)
        place = np.maximum(np.ceil(np.linspace(0, 1, STEPS) * up_to[-1] - 1), 0)
        return score[np.searchsorted(up_to, place, side="right")]

    @property
    def together(self) -> bool:
        """True if the combinations of labels are known: they are counted for few labels with few
        combinations.
        """
        sets = self.counted.more.get(("sets", 0))
        return sets is not None and not sets.whole.shift

    def constant(self, system: str) -> Rows:
        """Rows with constant scores, one row per combination of labels: each label is scored by its
        share of rows.
        """
        known = self.counted.more["sets", 0].whole
        actual = (
            grid.scores(known.low).astype(np.int64)[:, None] >> np.array(self.problems)
        ) & 1 == 1
        weight: Floats = known.negative * np.float64(self.scale or 1.0)
        return Rows(
            actual,
            np.tile(self.shares, (len(actual), 1)),
            self.first.cuts[self.systems.index(system)],
            weight,
        )


# The second reading -------------------------------------------------------------------------------


def second(
    measured: SummedLabels, metrics: Sequence[Chosen], leader: str, *, sure: bool
) -> ByMoves:
    """The second reading, made from the results of the first. sure: True if scores are
    probabilities.
    """
    first, plain = measured.first, measured.plain
    means = dict[Place, Mean]()
    shared = dict[Place, Chosen]()
    for group in sorted(measured.groups):
        for chosen in metrics[:1] if group else metrics:
            if isinstance(chosen.metric.kind, Combined):
                means[group, key_of(chosen)] = _mean(measured, chosen, group)
            if isinstance(chosen.base.metric.kind, Loss) and _leaves_out(measured, chosen, group):
                shared[group, chosen.base.label] = chosen.base
    if not plain:
        for metric in (ROC_AUC, AVERAGE_PRECISION):
            chosen = Chosen(
                Metric(metric.name, "labels", Combined(metric, lambda rows: []), "", "", "")
            )
            means.setdefault((0, metric.name), _mean(measured, chosen, 0))
    at = measured.systems.index(leader)
    few = first.terms.few
    scores = (
        [terms_of([off(j) for j in measured.problems], 1, few, first.cuts[at : at + 1])]
        if sure
        else []
    )
    return ByMoves(
        first.told,
        measured.scale,
        plain,
        few,
        means,
        shared,
        first.cuts,
        system=at,
        alone=[*_sweep(measured, leader), *scores],
    )


def _leaves_out(measured: SummedLabels, chosen: Chosen, group: int) -> bool:
    """True if any of several systems leaves rows out."""
    every = [measured.loss(chosen, group, i) for i in range(len(measured.systems))]
    return (
        len(every) > 1 and min(float(one.totals[1]) for one in every) < every[0].moments.totals[0]
    )


def _mean(measured: SummedLabels, chosen: Chosen, group: int) -> Mean:
    """The influence of each row on a mean over the labels."""
    kind: Any = chosen.metric.kind
    shares = measured.shares_in(kind, group)
    systems = range(len(measured.systems))
    labels = measured.problems
    of_label = measured.part_of(kind, group)
    each = [[measured.one(of_label, group, i, j) for j in labels] for i in systems]
    moving: list[Floats] = []
    for own in each if isinstance(kind, Weighted) else ():
        value = np.array([one.value for one in own])
        moving.append(
            np.nan_to_num(
                ratio(value - float(np.nansum(shares * value)), measured.true(group).sum())
            )
        )
    picked = {}
    if kind.picks and measured.plain:
        through = moving or [np.zeros(len(shares)) for _ in systems]
        for i, j in combinations(systems, 2):
            tables = [_apart(first, second) for first, second in zip(each[i], each[j], strict=True)]
            with_label = (np.arange(8) >= 4) * (through[i] - through[j])[:, None]
            picked[i, j] = shares[:, None] * np.array(tables) + with_label
    of = [
        [_of_label(one, cut) for one, cut in zip(own, cuts, strict=True)]
        for own, cuts in zip(each, measured.first.cuts, strict=True)
    ]
    return Mean(of, shares, moving, picked)


def _of_label(of: Any, cut: float) -> Any:
    """The influence of a row on a metric of one label, from its cells or from its table of
    scores.
    """
    if not of.chosen.metric.kind.decided:
        return ranked(of.chosen, of.tables)
    moved = np.zeros(4)
    moved[2 * of.rows.actual + of.rows.predicted] = np.nan_to_num(of.row_influence)
    return Cut(float(cut), moved)


def _apart(first: class_cells.CellStatistic, second: class_cells.CellStatistic) -> Floats:
    """The influence of a row on the difference of two systems, by 4 · true + 2 · first + second."""
    moved = np.zeros(8)
    a, b, _ = first.on_joint_rows(second)
    moved[4 * a.rows.actual + 2 * a.rows.predicted + b.rows.predicted] = np.nan_to_num(
        a.difference_influence(b)
    )
    return moved


def _sweep(measured: SummedLabels, leader: str) -> Iterator[Terms]:
    """For some thresholds the terms of metrics over all labels, and the influence of rows on each
    label's F1.
    """
    tables = [measured.scores(0, measured.systems.index(leader), j) for j in measured.problems]
    kind: Any = measured.part_of(LABELS["macro_f1"].kind, 0).metric.kind
    for t in thresholds_of(measured, leader).tolist():
        sides = [np.nan_to_num(kind.bins(table.at(t).cut)) for table in tables]
        f1 = [np.array([right, false, missed, hit]) for (hit, missed), (false, right) in sides]
        terms = terms_of(MICRO, 1, measured.first.terms.few, [np.full(len(f1), t)])
        yield replace(terms, more=partial(_moved, f1=f1, threshold=t), width=len(f1))


def _moved(block: kept.Block, f1: Sequence[Floats], threshold: float) -> Floats:
    """The influence of each row on the F1 of each label."""
    cell = 2 * block.truth.view(np.int8) + (block.said[0] >= threshold)
    return np.array([moved.take(own) for moved, own in zip(f1, cell, strict=True)])


def thresholds_of(measured: HeldLabels | SummedLabels, system: str) -> Floats:
    """The thresholds at which metrics are measured: some of the scores, and the best threshold if
    there is one.
    """
    drawn = np.union1d(measured.steps(system), curves.best_f(measured.pooled(system)))
    return drawn[np.isfinite(drawn)]


def terms_of(metrics: Sequence[Chosen], systems: int, few: int, cuts: Sequence[Floats]) -> Terms:
    """The terms of the metrics that are computed from sums over rows, at the thresholds of each
    system.
    """
    return Terms.alone(metrics, systems, few, partial(label_rows, cuts=cuts))
