"""Statistics of multi-label metrics, from rows in memory or from the sums of two readings in
blocks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.kinds import Loss, RowMasks, Share, TermsKind
from evalkit.catalogue.metric import Chosen, Combined, Metric, Weighted
from evalkit.catalogue.score_kinds import Overlap
from evalkit.catalogue.tables import AVERAGE_PRECISION, LABELS, ROC_AUC, of_label
from evalkit.measured.classes import (
    SHARE,
    BlockMetrics,
    Change,
    MeanPart,
    ProblemCells,
    ProblemsInMemory,
    leaves_rows_out,
    sums_label,
)
from evalkit.measured.readings import (
    Binned,
    DecisionInfluence,
    GroupMetric,
    InfluenceTable,
    LabelFirstReading,
    LabelFurther,
    MeanInfluence,
    PairSums,
    ScoreInfluence,
    ScoresKey,
    SecondReading,
    label_rows,
)
from evalkit.measured.rows import Terms, weight_of_counted_rows
from evalkit.metrics import counts, curves, grid
from evalkit.metrics.blocks import Block
from evalkit.metrics.moments import Moments
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import class_cells
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import Difference, RowStatistic, Statistic
from evalkit.statistics.summed import MomentStatistic

STEPS = 41  # thresholds at most
TOP = "top label"  # the name of the share of rows whose label with the highest score is true
MICRO = [Chosen(LABELS[name]) for name in ("micro_f1", "micro_precision", "micro_recall")]


class Outcomes(NamedTuple):
    """The numbers of rows with each outcome of the decisions on a label."""

    tp: int
    fp: int
    fn: int
    tn: int


class LabelsPerRow(NamedTuple):
    """The mean number of labels of a row, and the share of rows that have none."""

    mean: float
    share_of_none: float


def score_excess(label: int) -> Chosen:
    """By how much the mean score of a label exceeds the share of rows that have it."""
    kind = Loss(lambda rows, k: rows.scores[:, label] - rows.actual[:, label])
    name = f"score excess {label}"
    return Chosen(Metric(name, "rows", kind, formula="", low=-np.inf, high=np.inf))


def top_hits(rows: Rows) -> RowMasks:
    """All rows count; hits are those whose highest-scored label is true."""
    best = rows.scores.argmax(axis=1)
    hit = rows.actual[np.arange(len(best)), best]
    return RowMasks(np.ones(len(best), dtype=bool), hit)


# Rows in memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelsInMemory(ProblemsInMemory):
    """Multi-label rows in memory."""

    label_sets_known = True

    def problem_rows(self, rows: Rows, c: int) -> Rows:
        """The rows with one label as the actual value."""
        return of_label(rows, c)

    def sizes(self) -> Ints:
        """The number of rows on which each label is true."""
        return np.asarray(np.count_nonzero(self._first_rows.actual, axis=0))

    @property
    def weights(self) -> Floats:
        """The total weight of the rows on which each label is true; without weights their
        number.
        """
        return np.asarray(np.dot(self._first_rows.weights, self._first_rows.actual))

    @property
    def shares(self) -> Floats:
        """The share of rows, by weight, on which each label is true."""
        rows = self._first_rows
        return np.asarray(np.average(rows.actual, axis=0, weights=rows.weight))

    @property
    def per_row(self) -> LabelsPerRow:
        """The mean number of labels of a row, and the share of rows that have none, by weight."""
        rows = self._first_rows
        labels = rows.actual.sum(axis=1)
        mean = np.average(labels, weights=rows.weight)
        return LabelsPerRow(float(mean), float(np.average(labels == 0, weights=rows.weight)))

    def score_range(self, system: str) -> grid.Range:
        """The lowest and the highest score of a system."""
        score = self.rows[system].scores
        return grid.Range(float(score.min()), float(score.max()))

    def outcomes(self, system: str, label: int) -> Outcomes:
        """The outcomes of a system's decisions on a label."""
        rows = self.rows[system]
        y = rows.actual[:, label]
        d = rows.predicted[:, label]
        return Outcomes(
            tp=int((y & d).sum()),
            fp=int((~y & d).sum()),
            fn=int((y & ~d).sum()),
            tn=int((~y & ~d).sum()),
        )

    def derived(self, metric: Metric, system: str, change: Change, label: int) -> RowStatistic:
        """A metric of one label after `change` has replaced its actual values and predictions."""
        return RowStatistic(Chosen(metric), change(of_label(self.rows[system], label)))

    def pooled(self, system: str) -> counts.Counts:
        """The table of counts by score over all labels of all rows (micro-averaging)."""
        rows = self.rows[system]
        weight = None if rows.weight is None else np.repeat(rows.weight, rows.actual.shape[1])
        actual = rows.actual.ravel().astype(np.int64)
        return Rows(actual, rows.scores.ravel(), weight=weight).counts

    def score_steps(self, system: str) -> Floats:
        """The distinct scores over all labels, or if there are many, quantiles of the scores over
        rows and labels.
        """
        scores = self.rows[system].scores
        distinct = np.unique(scores)
        if distinct.size <= STEPS:
            return distinct
        shares = np.linspace(0, 1, STEPS)
        return np.asarray(np.quantile(scores, shares, method="inverted_cdf"))

    def at_common_threshold(
        self, chosen: Chosen, system: str, number: int, threshold: float
    ) -> RowStatistic:
        """A metric with the same threshold for all labels. number: of the threshold."""
        return RowStatistic(chosen, replace(self.rows[system], threshold=threshold))

    def top_label_share(self, system: str) -> RowStatistic:
        """The share of rows whose highest-scored label is true."""
        rows = self.rows[system]
        member, hit = top_hits(rows)
        # `SHARE` takes the mask of the rows that count for actual values, that of hits as decisions
        masks = Rows(member, decision=hit, weight=rows.weight, unit=rows.unit)
        return RowStatistic(Chosen(SHARE), masks)

    def score_excess(self, system: str, label: int) -> RowStatistic:
        """By how much the mean score of a label exceeds the share of rows that have it."""
        return RowStatistic(score_excess(label), self.rows[system])

    def constant_rows(self, system: str) -> Rows:
        """Rows with constant scores: each label is scored by the share of rows that have it."""
        rows = self.rows[system]
        return replace(rows, score=np.tile(self.shares, (len(rows), 1)))


# Rows that were read in blocks --------------------------------------------------------------------


class PairColumns(NamedTuple):
    """The position of the columns `PairSums` of a pair of systems among those of all pairs.

    start: the position of the first of them. sign: 1, or -1 for the difference of the system with
    the higher number and that with the lower one.
    """

    start: int
    sign: float

    @property
    def all(self) -> slice:
        """The columns of `PairSums`."""
        return slice(self.start, self.start + len(PairSums._fields))

    @property
    def weight_and_difference(self) -> slice:
        """The first two of the columns."""
        return slice(self.start, self.start + 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedRowsStatistic(MomentStatistic):
    """A mean over rows that is undefined on some rows of some systems. Each system may leave out
    different rows.

    number: of the system. pair_moments: the moments of the columns `PairSums` of all pairs of
    systems. starts: the position of the first column of each pair.
    """

    number: int
    pair_moments: Moments
    starts: Mapping[tuple[int, int], int]

    def _pair(self, other: "SharedRowsStatistic") -> PairColumns:
        """The columns of this system and another."""
        pair = min(self.number, other.number), max(self.number, other.number)
        return PairColumns(self.starts[pair], 1.0 if self.number < other.number else -1.0)

    def overlaps(self, other: Self) -> bool:
        """True if at least one row has both values."""
        totals = PairSums(*self.pair_moments.totals[self._pair(other).all])
        return bool(totals.weight > 0)

    def shared_difference(self, other: Self) -> Difference:
        """The difference over the rows that have both values, and its standard error."""
        pair = self._pair(other)
        weight, difference, _ = self.pair_moments.totals[pair.all]
        # both leave out the same rows if those of each have the weight of those that both have
        weights = [weight_of_counted_rows(self), weight_of_counted_rows(other)]
        same_rows = np.isclose(weight, weights, rtol=1e-12, atol=0).all()
        n = self.n if same_rows else self._units_with_both(pair)
        # the derivatives of difference / weight by the weight and by the difference
        form = np.array([-difference / weight, 1.0]) / weight
        columns = pair.weight_and_difference
        second = self.pair_moments.around_zero.second[columns, columns]
        square = max(float(form @ second @ form), 0.0)  # rounding may leave less
        kish = n if self.plain else self.freedom + 1
        value = pair.sign * float(difference / weight)
        return Difference(value, Spread(n, square, kish).error, n)

    def _units_with_both(self, pair: PairColumns) -> int:
        """The number of units with a row that has both values; at most that many where units are
        not kept.
        """
        units = self.pair_moments.units
        if units is None:
            totals = PairSums(*self.pair_moments.totals[pair.all])
            return min(round(float(totals.rows)), self.pair_moments.n)
        columns = PairSums(*units[pair.all])
        return int(np.count_nonzero(columns.weight))

    def term_differences(self, other: Self) -> Sums:
        """The differences by unit, over the rows that have both values, if there are few units."""
        pair = self._pair(other)
        columns = PairSums(*self.pair_moments.units[pair.all])
        return Sums(pair.sign * columns.difference, columns.weight)


@dataclass(frozen=True, eq=False)
class SummedLabels(BlockMetrics[LabelFurther]):
    """Multi-label metrics of a table that was read twice in blocks."""

    first: LabelFirstReading

    def problem_cells(self, group: int, c: int) -> ProblemCells:
        """The cells of one label, in which 1 is positive."""
        return ProblemCells(self.cells(group, c), 1)

    # Metrics

    def loss(self, chosen: Chosen, group: int, i: int) -> MomentStatistic:
        """A metric computed from sums over rows."""
        loss = super().loss(chosen, group, i)
        key = GroupMetric(group, chosen.base.label)
        if self.second_summary is None or key not in self.second_summary.pair_sums:
            return loss
        pair_moments = self.second_summary.pair_sums[key].moments
        starts = range(0, len(pair_moments.mean), len(PairSums._fields))
        return SharedRowsStatistic(
            chosen=chosen,
            moments=loss.moments,
            place=loss.place,
            layout=self.layout,
            number=i,
            pair_moments=pair_moments,
            starts=self.by_pair(starts),
        )

    def of_decisions(self, chosen: Chosen, group: int, i: int) -> Statistic:
        """A mean over labels, or a share of rows, computed from cells."""
        if not isinstance(chosen.metric.kind, Share):
            return self.of_scores(chosen, group, i)
        # the cells of a share have actual 1 for a row that counts, and predicted 1 for a hit
        kind = Share(lambda member, hit: (member == 1, hit == 1))
        counted = Chosen(replace(chosen.metric, kind=kind), chosen.k)
        return class_cells.of_system(counted, self.cells(group, chosen.label), i)

    def shares_in(self, kind: Combined, group: int) -> Floats:
        """The share of each label in a mean."""
        if not isinstance(kind, Weighted):
            return super().shares_in(kind, group)
        weights = self.positive_weights(group)
        return weights / weights.sum() if weights.any() else weights

    def positive_weights(self, group: int) -> Floats:
        """The weight of the rows that have each label."""
        weights = []
        for j in self.problems:
            cells = self.cells(group, j).by_system[0]
            weights.append(cells.weight[cells.actual == 1].sum())
        return np.array(weights, float)

    # Metrics of labels

    def top_label_share(self, system: str) -> Statistic:
        """The share of rows whose highest-scored label is true."""
        return self.of_decisions(Chosen(replace(SHARE, name=TOP)), 0, self.systems.index(system))

    def score_excess(self, system: str, label: int) -> MomentStatistic:
        """By how much the mean score of a label exceeds the share of rows that have it; for the
        leader alone.
        """
        assert self.second is not None
        last = len(self.second.alone) - 1  # after those of the common thresholds
        return self._alone(last, self.second.alone[last].metrics[label])

    # Along a threshold

    def at_common_threshold(
        self, chosen: Chosen, system: str, number: int, threshold: float
    ) -> Statistic:
        """A ratio of sums over all labels, or a mean of F1 over labels, with the same threshold for
        all labels; for the leader alone. number: of the threshold.
        """
        kind = chosen.metric.kind
        if isinstance(kind, TermsKind):
            return self._alone(number, chosen)
        assert isinstance(kind, Combined)
        assert self.second is not None
        assert self.second_summary is not None
        i = self.second.system
        metric = self.part_metric(kind, 0)
        moments = self.second_summary.alone[number].moments.around_zero
        parts = []
        # the first column is the weight, those of the labels' F1 follow: see `_terms_by_threshold`
        columns = range(1, 1 + len(self.problems))
        for j, share, column in zip(self.problems, self.shares_in(kind, 0), columns, strict=True):
            scores = self.scores(0, i, j).at_threshold(threshold)
            parts.append(MeanPart(float(share), self.area(metric, 0, j, scores, moments, column)))
        return self.mean(chosen, 0, i, moments, columns, parts)

    def _alone(self, number: int, chosen: Chosen) -> MomentStatistic:
        """A metric of the leader, for which more is summed than for the other systems. number: the
        position in `SecondReading.alone` of the terms that have the metric.
        """
        assert self.second is not None
        assert self.second_summary is not None
        terms = self.second.alone[number]
        moments = self.second_summary.alone[number].moments
        # the leader is the only system of these terms
        place = terms.place(group=0, m=terms.metrics.index(chosen), i=0)
        return MomentStatistic(chosen, moments, place, self.layout)

    # Tables

    @property
    def _total_weight(self) -> float:
        """The weight of all rows."""
        return float(self.cells(0, 0).by_system[0].weight.sum())

    def sizes(self) -> Ints:
        """The number of rows on which each label is true."""
        outcomes = [self.outcomes(self.systems[0], j) for j in self.problems]
        return np.array([label.tp + label.fn for label in outcomes])

    @property
    def weights(self) -> Floats:
        """The total weight of the rows on which each label is true; without weights their
        number.
        """
        return self.positive_weights(0)

    @property
    def shares(self) -> Floats:
        """The share of rows, by weight, on which each label is true."""
        return ratio(self.weights, self._total_weight)

    @property
    def per_row(self) -> LabelsPerRow:
        """The mean number of labels of a row, and the share of rows that have none, by weight."""
        without_label = float(self.summary.further.without_label) * (self.scale or 1.0)
        return LabelsPerRow(float(self.shares.sum()), without_label / self._total_weight)

    def score_range(self, system: str) -> grid.Range:
        """The lowest and the highest score of a system."""
        i = self.systems.index(system)
        bins = [self.scores(0, i, j).bins for j in self.problems]
        lowest = np.array([table.low[0] for table in bins])
        highest = np.array([table.high[-1] for table in bins])
        return grid.Range(float(grid.scores(lowest).min()), float(grid.scores(highest).max()))

    def outcomes(self, system: str, label: int) -> Outcomes:
        """The outcomes of a system's decisions on a label."""
        cells = self.system_cells(self.systems.index(system), 0, label)
        (predicted,) = cells.predicted  # of one system
        cell = 2 * cells.actual + predicted
        tn, fp, fn, tp = np.bincount(cell, cells.n, 4).astype(int).tolist()
        return Outcomes(tp, fp, fn, tn)

    def _pooled_bins(self, system: str) -> grid.Grid:
        """The scores over all labels of all rows, in bins."""
        i = self.systems.index(system)
        tables = [self.summary.scores[ScoresKey(0, i, j)].merged for j in self.problems]
        return grid.merge(tables, self.first.max_bins())

    def pooled(self, system: str) -> counts.Counts:
        """The table of counts by score over all labels of all rows (micro-averaging)."""
        return grid.counts(self._pooled_bins(system), self.scale or 1.0)

    def score_steps(self, system: str) -> Floats:
        """The distinct scores over all labels, or if there are many, their quantiles as numpy
        computes them.
        """
        if self.weighted:
            i = self.systems.index(system)
            bins = self.summary.further.unweighted_scores[i].merged
            rows = bins.positive  # of a tally without classes the number of all rows
        else:
            bins = self._pooled_bins(system)
            rows = bins.positive + bins.negative
        score = grid.scores(bins.low)
        if len(score) <= STEPS:
            return score
        rows_up_to = np.cumsum(rows)
        # the positions of method="inverted_cdf" of np.quantile
        position = np.maximum(np.ceil(np.linspace(0, 1, STEPS) * rows_up_to[-1] - 1), 0)
        return np.asarray(score[np.searchsorted(rows_up_to, position, side="right")])

    @property
    def label_sets_known(self) -> bool:
        """True if the combinations of labels are known: they are counted for few labels with few
        combinations.
        """
        label_sets = self.summary.further.label_sets
        return bool(label_sets) and not label_sets[0].merged.shift

    def constant_rows(self, system: str) -> Rows:
        """Rows with constant scores, one row per combination of labels: each label is scored by its
        share of rows.
        """
        label_sets = self.summary.further.label_sets[0].merged
        code = grid.scores(label_sets.low).astype(np.int64)
        # bit j of a code is set where label j is true
        actual = (code[:, None] >> np.array(self.problems)) & 1 == 1
        weight: Floats = label_sets.negative * np.float64(self.scale or 1.0)
        score = np.tile(self.shares, (len(actual), 1))
        return Rows(actual, score, self.first.thresholds[self.systems.index(system)], weight)


# The second reading -------------------------------------------------------------------------------


def second_reading(
    measured: SummedLabels, metrics: Sequence[Chosen], leader: str, *, probabilities: bool
) -> SecondReading:
    """The second reading, made from the results of the first. probabilities: True if scores are."""
    first = measured.first
    means = dict[GroupMetric, MeanInfluence]()
    partial_losses = dict[GroupMetric, Chosen]()
    for group in sorted(measured.groups):
        measured_here = metrics if group == 0 else metrics[:1]  # slices have the first metric only
        for chosen in measured_here:
            if isinstance(chosen.metric.kind, Combined):
                key = GroupMetric(group, sums_label(chosen))
                means[key] = _mean_influence(measured, chosen, group)
            if isinstance(chosen.base.metric.kind, Loss) and _leaves_out(measured, chosen, group):
                partial_losses[GroupMetric(group, chosen.base.label)] = chosen.base
    if not measured.plain:
        # the page has the areas of each label; on plain rows their tables alone give the errors
        for metric in (ROC_AUC, AVERAGE_PRECISION):
            key = GroupMetric(0, metric.name)
            if key not in means:
                kind = Combined(metric, lambda rows: [])  # only the sums are used, never the parts
                chosen = Chosen(Metric(metric.name, "labels", kind, formula=""))
                means[key] = _mean_influence(measured, chosen, 0)
    system = measured.systems.index(leader)
    alone = [*_terms_by_threshold(measured, leader)]
    if probabilities:
        excess = [score_excess(j) for j in measured.problems]
        thresholds = first.thresholds[system : system + 1]
        alone.append(terms_of(excess, 1, first.terms.max_units, thresholds))
    return SecondReading(
        first=first,
        plain=measured.plain,
        means=means,
        partial_losses=partial_losses,
        thresholds=first.thresholds,
        system=system,
        alone=alone,
    )


def _leaves_out(measured: SummedLabels, chosen: Chosen, group: int) -> bool:
    """True if any of several systems leaves rows out."""
    losses = [measured.loss(chosen, group, i) for i in range(len(measured.systems))]
    return len(losses) > 1 and leaves_rows_out(losses)


def _mean_influence(measured: SummedLabels, chosen: Chosen, group: int) -> MeanInfluence:
    """The influence of each row on a mean over the labels."""
    kind = chosen.metric.kind
    assert isinstance(kind, Combined)
    shares = measured.shares_in(kind, group)
    systems = range(len(measured.systems))
    metric = measured.part_metric(kind, group)
    statistics = [
        [measured.problem_statistic(metric, group, i, j) for j in measured.problems]
        for i in systems
    ]
    through_shares = list[Floats]()
    if isinstance(kind, Weighted):
        total = measured.positive_weights(group).sum()
        for of_labels in statistics:
            value = np.array([statistic.value for statistic in of_labels])
            mean = float(np.nansum(shares * value))
            through_shares.append(np.nan_to_num(ratio(value - mean, total)))
    on_difference = {}
    if kind.selects_rows and measured.plain:
        for i, j in combinations(systems, 2):
            differences = [
                _decision_differences(first, second)
                for first, second in zip(statistics[i], statistics[j], strict=True)
            ]
            on_difference[i, j] = shares[:, None] * np.array(differences)
            if through_shares:
                with_label = np.arange(8) >= 4  # of the cells 4 · true + 2 · first + second
                difference = through_shares[i] - through_shares[j]
                on_difference[i, j] += with_label * difference[:, None]
    tables = [
        [
            _label_influence(statistic, float(threshold))
            for statistic, threshold in zip(of_labels, thresholds, strict=True)
        ]
        for of_labels, thresholds in zip(statistics, measured.first.thresholds, strict=True)
    ]
    return MeanInfluence(tables, shares, through_shares, on_difference)


def _label_influence(
    statistic: class_cells.CellStatistic | class_cells.InfluenceStatistic, threshold: float
) -> InfluenceTable:
    """The influence of a row on a metric of one label, from its cells or from its table of
    scores.
    """
    if isinstance(statistic, class_cells.CellStatistic):
        influence = np.zeros(4)
        cell = 2 * statistic.rows.actual + statistic.rows.predicted
        # all rows of a cell have the same influence
        influence[cell] = np.nan_to_num(statistic.row_influence)
        return DecisionInfluence(threshold, influence)
    assert isinstance(statistic.tables, Binned)
    return ScoreInfluence.from_table(statistic.chosen, statistic.tables)


def _decision_differences(
    first: class_cells.CellStatistic | class_cells.InfluenceStatistic,
    second: class_cells.CellStatistic | class_cells.InfluenceStatistic,
) -> Floats:
    """The influence of a row on the difference of two systems in a metric of decisions, by 4 · true
    + 2 · first + second.
    """
    assert isinstance(first, class_cells.CellStatistic)
    assert isinstance(second, class_cells.CellStatistic)
    influence = np.zeros(8)
    joint = first.on_joint_rows(second)
    rows = joint.first.rows
    cell = 4 * rows.actual + 2 * rows.predicted + joint.second.rows.predicted
    # all rows of a cell have the same influence
    influence[cell] = np.nan_to_num(joint.first.difference_influence(joint.second))
    return influence


def _terms_by_threshold(measured: SummedLabels, leader: str) -> Iterator[Terms]:
    """For some thresholds the terms of metrics over all labels, and the influence of rows on each
    label's F1.
    """
    i = measured.systems.index(leader)
    tables = [measured.scores(0, i, j) for j in measured.problems]
    macro_f1 = LABELS["macro_f1"].kind
    assert isinstance(macro_f1, Combined)
    f1 = measured.part_metric(macro_f1, 0).metric.kind
    assert isinstance(f1, Overlap)
    for threshold in thresholds_of(measured, leader).tolist():
        by_cell = []
        for table in tables:
            # a row for true labels and one for others, each predicted and then not predicted
            bins = np.nan_to_num(f1.influence_table(table.at_threshold(threshold).cut))
            by_cell.append(bins[::-1, ::-1].ravel())  # by 2 · true + predicted
        thresholds = [np.full(len(tables), threshold)]
        terms = terms_of(MICRO, 1, measured.first.terms.max_units, thresholds)
        further = partial(_label_influences, by_cell=by_cell, threshold=threshold)
        yield replace(terms, further=further, further_width=len(tables))


def _label_influences(block: Block, by_cell: Sequence[Floats], threshold: float) -> Floats:
    """The influence of each row on a metric of each label's decisions at a threshold: one row per
    label.

    by_cell: for each label the influence by 2 · true + predicted.
    """
    cell = 2 * block.truth.view(np.int8) + (block.predictions[0] >= threshold)
    return np.array([influence.take(cell[j]) for j, influence in enumerate(by_cell)])


def thresholds_of(measured: LabelsInMemory | SummedLabels, system: str) -> Floats:
    """The thresholds at which metrics are measured: some of the scores, and the best threshold if
    there is one.
    """
    best = curves.best_f(measured.pooled(system))
    thresholds = np.union1d(measured.score_steps(system), best)
    return thresholds[np.isfinite(thresholds)]


def terms_of(
    metrics: Sequence[Chosen], systems: int, max_units: int, thresholds: Sequence[Floats]
) -> Terms:
    """The terms of the metrics that are computed from sums over rows, at the thresholds of each
    system.
    """
    rows_of = partial(label_rows, thresholds=thresholds)
    return Terms.uncentred(metrics, systems, max_units, rows_of)
