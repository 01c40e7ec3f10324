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
from evalkit.catalogue.kinds import Loss, RowMasks, Share, TermsKind, all_eligible
from evalkit.catalogue.metric import MeanOverClasses, Metric, MetricAtK, Weighted
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
    LabelSums,
    MeanInfluence,
    PairSums,
    ScoreInfluence,
    ScoresKey,
    SecondReading,
    label_rows,
)
from evalkit.measured.rows import TermAdder, TermsKey, weight_of_counted_rows
from evalkit.metrics import counts, curves, grid
from evalkit.metrics.blocks import ALL_ROWS_GROUP, Block
from evalkit.metrics.moments import Moments
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import class_cells
from evalkit.statistics.spread import Spread
from evalkit.statistics.statistic import Difference, RowStatistic, Statistic
from evalkit.statistics.summed import MomentStatistic

STEPS = 41  # the largest number of common thresholds at which metrics are measured
TOP = "top label"  # the name of the share of rows whose label with the highest score is true
MICRO = [MetricAtK(LABELS[name]) for name in ("micro_f1", "micro_precision", "micro_recall")]


class DecisionOutcomes(NamedTuple):
    """The numbers of rows with each outcome of the decisions on a label."""

    tp: int
    fp: int
    fn: int
    tn: int


class LabelsPerRow(NamedTuple):
    """The mean number of labels of a row, and the share of rows that have none."""

    mean: float
    share_of_none: float


def score_excess(label: int) -> MetricAtK:
    """The metric that says by how much the mean score of a label exceeds the share of rows that
    have it: 0 if its scores are right on average as probabilities. label: its number.
    """
    kind = Loss(partial(_score_less_label, label=label))
    name = f"score excess {label}"
    return MetricAtK(Metric(name, "rows", kind, formula="", low=-np.inf, high=np.inf))


def _score_less_label(rows: Rows, k: None, label: int) -> Floats:
    """The score of a label less 1 where it is true, on each row. k: unused, as losses of rows have
    no cut-off.
    """
    return np.asarray(rows.scores[:, label] - rows.actual[:, label])


def top_hits(rows: Rows) -> RowMasks:
    """The masks of the share of all rows whose highest-scored label is true."""
    top_label = rows.scores.argmax(axis=1)
    hit = rows.actual[np.arange(len(top_label)), top_label]
    return all_eligible(hit)


# Rows in memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelsInMemory(ProblemsInMemory):
    """Multi-label rows in memory."""

    label_sets_known = True

    def problem_rows(self, rows: Rows, c: int) -> Rows:
        """The rows with actual value 1 where label c is true, else 0, and its scores."""
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
        return np.average(rows.actual, axis=0, weights=rows.weight)

    @property
    def per_row(self) -> LabelsPerRow:
        """The mean number of labels of a row, and the share of rows that have none, by weight."""
        rows = self._first_rows
        labels = rows.actual.sum(axis=1)
        mean = np.average(labels, weights=rows.weight)
        share_of_none = np.average(labels == 0, weights=rows.weight)
        return LabelsPerRow(float(mean), float(share_of_none))

    def score_range(self, system: str) -> grid.Range:
        """The lowest and the highest score of a system."""
        score = self.rows[system].scores
        return grid.Range(float(score.min()), float(score.max()))

    def outcomes(self, system: str, label: int) -> DecisionOutcomes:
        """The numbers of true and false positives and negatives among a system's decisions on a
        label, by number.
        """
        rows = self.rows[system]
        cell = 2 * rows.actual[:, label] + rows.predicted[:, label]
        tn, fp, fn, tp = np.bincount(cell, minlength=4).tolist()
        return DecisionOutcomes(tp, fp, fn, tn)

    def statistic_after_change(
        self, metric: Metric, system: str, change: Change, label: int
    ) -> RowStatistic:
        """A metric of one label after `change` has replaced its actual values and predictions."""
        rows = of_label(self.rows[system], label)
        return RowStatistic(MetricAtK(metric), change(rows))

    def pooled(self, system: str) -> counts.Counts:
        """The table of counts by score over all labels of all rows (micro-averaging)."""
        rows = self.rows[system]
        weight = None if rows.weight is None else np.repeat(rows.weight, rows.actual.shape[1])
        actual = rows.actual.ravel().astype(np.int64)
        return Rows(actual, rows.scores.ravel(), weight=weight).counts

    def score_steps(self, system: str) -> Floats:
        """Up to `STEPS` scores, ascending, to be used as thresholds: the distinct scores over all
        labels or, if they are more, quantiles of the scores over all rows and labels.
        """
        scores = self.rows[system].scores
        distinct = np.unique(scores)
        if distinct.size <= STEPS:
            return distinct
        levels = np.linspace(0, 1, STEPS)
        return np.quantile(scores, levels, method="inverted_cdf")

    def at_common_threshold(
        self, metric_at_k: MetricAtK, system: str, number: int, threshold: float
    ) -> RowStatistic:
        """A metric with the same threshold for all labels. number: of the threshold; it is only
        needed for rows that were read in blocks.
        """
        rows = replace(self.rows[system], threshold=threshold)
        return RowStatistic(metric_at_k, rows)

    def top_label_share(self, system: str) -> RowStatistic:
        """The share of rows whose highest-scored label is true."""
        rows = self.rows[system]
        eligible, hit = top_hits(rows)
        # `SHARE` takes the two masks in place of actual values and predictions
        masks = Rows(eligible, decision=hit, weight=rows.weight, unit=rows.unit)
        return RowStatistic(MetricAtK(SHARE), masks)

    def score_excess(self, system: str, label: int) -> RowStatistic:
        """By how much the mean score of a label exceeds the share of rows that have it."""
        return RowStatistic(score_excess(label), self.rows[system])

    def constant_rows(self, system: str) -> Rows:
        """The rows with the scores of a constant baseline: each label's share of the rows."""
        rows = self.rows[system]
        return replace(rows, score=np.tile(self.shares, (len(rows), 1)))


# Rows that were read in blocks --------------------------------------------------------------------


class PairColumns(NamedTuple):
    """Where the three columns `PairSums` of a pair of systems stand among those of all pairs.

    start: the number of the first of them. sign: 1 for the system with the lower number less the
    other, as the columns have the difference; -1 for the opposite difference.
    """

    start: int
    sign: float

    @property
    def column_slice(self) -> slice:
        """The three columns."""
        return slice(self.start, self.start + len(PairSums._fields))

    @property
    def weight_and_difference(self) -> slice:
        """The first two of the columns."""
        return slice(self.start, self.start + 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedRowsStatistic(MomentStatistic):
    """A mean over rows of a loss that is undefined on some rows, which may be others for each
    system: two systems are compared on the rows on which both are defined.

    number: of the system. pair_moments: the moments of the columns `PairSums` of all pairs of
    systems. starts: for each pair of systems, by number, that of its first column.
    """

    number: int
    pair_moments: Moments
    starts: Mapping[tuple[int, int], int]

    def _pair(self, other: "SharedRowsStatistic") -> PairColumns:
        """Where the columns of this system and another stand."""
        if self.number < other.number:
            return PairColumns(self.starts[self.number, other.number], sign=1.0)
        return PairColumns(self.starts[other.number, self.number], sign=-1.0)

    def shares_units_with(self, other: Self) -> bool:
        """True if both systems have a value on at least one row."""
        pair = self._pair(other)
        totals = PairSums(*self.pair_moments.totals[pair.column_slice])
        return bool(totals.weight > 0)

    def difference_on_shared_units(self, second: Self) -> Difference:
        """The mean difference of two systems' losses over the rows on which both are defined, Σ
        weight · difference / Σ weight, and its standard error by the delta method. If rows are
        clustered or weighted, the effective number of units is that of all rows.
        """
        pair = self._pair(second)
        totals = PairSums(*self.pair_moments.totals[pair.column_slice])
        # the columns have the system with the lower number less the other
        lower_less_higher = float(totals.difference / totals.weight)
        # Both systems have a loss on the same rows if the rows of each have as much weight as the
        # rows that both have.
        weights = [weight_of_counted_rows(self), weight_of_counted_rows(second)]
        same_rows = np.isclose(totals.weight, weights, rtol=1e-12, atol=0).all()
        n = self.n if same_rows else self._units_with_both(pair)
        # the derivatives of the ratio by the sum of weights and by the sum of differences
        slopes = np.array([-lower_less_higher, 1.0]) / totals.weight
        # Σ of the products of weight and difference, (2, 2). They are not centred, as the influence
        # of the units, slopes · (weight, difference), adds up to 0.
        columns = pair.weight_and_difference
        products = self.pair_moments.around_zero.second[columns, columns]
        sum_of_squares = float(slopes @ products @ slopes)  # of the influence
        sum_of_squares = max(sum_of_squares, 0.0)  # rounding may leave less
        effective_units: float = n
        if not self.plain:
            # Kish's number is `freedom` + 1. It is that of all rows, an approximation for the rows
            # that both have.
            effective_units = self.freedom + 1
        spread = Spread(n, square=sum_of_squares, kish=effective_units)
        return Difference(pair.sign * lower_less_higher, spread.error, n)

    def _units_with_both(self, pair: PairColumns) -> int:
        """The number of units with a row on which both systems' losses are defined. If the sums of
        each unit are not kept, an upper bound of it: the number of rows with both losses, or of all
        units if these are fewer. pair: where the three columns of the two systems stand.
        """
        columns_by_unit = self.pair_moments.units
        if columns_by_unit is None:
            totals = PairSums(*self.pair_moments.totals[pair.column_slice])
            rows_with_both = round(float(totals.rows))  # a whole number, as each row counts 1
            return min(rows_with_both, self.pair_moments.n)
        sums_by_unit = PairSums(*columns_by_unit[pair.column_slice])
        has_both = sums_by_unit.weight != 0  # the weight is that of the rows with both losses
        return int(np.count_nonzero(has_both))

    def term_differences(self, second: Self) -> Sums:
        """The difference and the weight of each unit, over the rows on which both systems have a
        value; only if the units are kept.
        """
        pair = self._pair(second)
        columns_by_unit = PairSums(*self.pair_moments.units[pair.column_slice])
        return Sums(pair.sign * columns_by_unit.difference, columns_by_unit.weight)


@dataclass(frozen=True, eq=False)
class SummedLabels(BlockMetrics[LabelSums]):
    """Multi-label metrics of a table that was read twice in blocks."""

    first: LabelFirstReading

    def problem_cells(self, group: int, c: int) -> ProblemCells:
        """The confusion cells of label c, in which 1 is positive."""
        return ProblemCells(self.cells(group, c), 1)

    # Metrics

    def loss_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> MomentStatistic:
        """A loss of system i in a group of rows, from the sums of its terms. A loss that leaves
        rows out may leave out other rows for each system. Its statistic then also has, for each
        pair of systems, sums over the rows on which both have a loss; the second reading made them.
        """
        loss = super().loss_statistic(metric_at_k, group, i)
        key = GroupMetric(group, metric_at_k.base.label)
        if self.second_summary is None or key not in self.second_summary.pair_sums:
            return loss
        pair_moments = self.second_summary.pair_sums[key].moments
        # the first of the three columns of each pair: 0, 3, 6 …
        columns = len(pair_moments.mean)
        starts = range(0, columns, len(PairSums._fields))
        return SharedRowsStatistic(
            metric_at_k=metric_at_k,
            moments=loss.moments,
            term_columns=loss.term_columns,
            layout=self.layout,
            number=i,
            pair_moments=pair_moments,
            starts=self.by_pair(starts),
        )

    def decision_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> Statistic:
        """A metric of the decisions of system i: a mean over labels, or a share of rows."""
        if not isinstance(metric_at_k.metric.kind, Share):
            return self.score_statistic(metric_at_k, group, i)
        # A share was counted as cells: the actual value is 1 for an eligible row, the predicted one
        # 1 for a hit. The same share of these values:
        kind = Share(lambda actual, predicted: (actual == 1, predicted == 1))
        share_of_cells = MetricAtK(replace(metric_at_k.metric, kind=kind), metric_at_k.k)
        return class_cells.cell_statistic(share_of_cells, self.cells(group, metric_at_k.label), i)

    def shares_in(self, kind: MeanOverClasses, group: int) -> Floats:
        """The share of each label in a mean. They add up to 1; those of a weighted mean are all 0
        if no row of the group has a label.
        """
        if not isinstance(kind, Weighted):
            return super().shares_in(kind, group)
        weights = self.positive_weights(group)
        return weights / weights.sum() if weights.any() else weights

    def positive_weights(self, group: int) -> Floats:
        """The weight of the rows that have each label."""
        weights = []
        for j in self.problems:
            cells = self.cells(group, j).by_system[0]  # the labels are the same for all systems
            weight_of_true = cells.weight[cells.actual == 1]
            weights.append(weight_of_true.sum())
        return np.array(weights, float)

    # Metrics of labels

    def top_label_share(self, system: str) -> Statistic:
        """The share of rows whose highest-scored label is true."""
        share = MetricAtK(replace(SHARE, name=TOP))
        return self.decision_statistic(share, ALL_ROWS_GROUP, self.systems.index(system))

    def score_excess(self, system: str, label: int) -> MomentStatistic:
        """By how much the mean score of a label exceeds the share of rows that have it, of the
        leader, the only system for which this is summed.
        """
        assert self.second is not None
        last = len(self.second.leader_adders) - 1  # after the terms of the common thresholds
        adder = self.second.leader_adders[last]
        return self._metric_of_leader(last, adder.metrics[label])

    # Along a threshold

    def at_common_threshold(
        self, metric_at_k: MetricAtK, system: str, number: int, threshold: float
    ) -> Statistic:
        """A metric on all rows with the same threshold for all labels: a ratio of sums over the
        labels (micro-averaged), or the mean of F1 over the labels.

        system: unused, as these sums are made of the leader alone. number: of the threshold, in the
        order of `thresholds_of`.
        """
        kind = metric_at_k.metric.kind
        if isinstance(kind, TermsKind):  # micro-averaged
            return self._metric_of_leader(number, metric_at_k)
        assert isinstance(kind, MeanOverClasses)
        assert self.second is not None
        assert self.second_summary is not None
        leader = self.second.leader
        f1 = self.metric_of_problem(kind, ALL_ROWS_GROUP)
        shares = self.shares_in(kind, ALL_ROWS_GROUP).tolist()
        # sums of products that are not centred, as the influence of all rows adds up to 0
        moments = self.second_summary.leader_moments[number].moments.around_zero
        # Column 0 is the weight. Then comes for each label the influence of the rows on its F1, see
        # `_adders_by_threshold`.
        columns = range(1, 1 + len(self.problems))
        parts = []
        for label, share, column in zip(self.problems, shares, columns, strict=True):
            scores = self.scores(ALL_ROWS_GROUP, leader, label).at_threshold(threshold)
            f1_of_label = self.influence_statistic(
                f1, ALL_ROWS_GROUP, label, tables=scores, moments=moments, column=column
            )
            parts.append(MeanPart(share, f1_of_label))
        return self.mean_statistic(metric_at_k, ALL_ROWS_GROUP, leader, moments, columns, parts)

    def _metric_of_leader(self, number: int, metric_at_k: MetricAtK) -> MomentStatistic:
        """A metric of the leader on all rows, from the terms that the second reading has added up
        for this system alone. Such metrics are `score_excess`, and the metrics at thresholds that
        are common to all labels. number: which of `SecondReading.leader_adders` has added up the
        terms.
        """
        assert self.second is not None
        assert self.second_summary is not None
        adder = self.second.leader_adders[number]
        moments = self.second_summary.leader_moments[number].moments
        metric_number = adder.metrics.index(metric_at_k)
        # the leader is the only system of this adder, so that its number there is 0
        columns = adder.term_columns(ALL_ROWS_GROUP, TermsKey(metric_number, system=0))
        return MomentStatistic(metric_at_k, moments, columns, self.layout)

    # Tables

    @property
    def _total_weight(self) -> float:
        """The weight of all rows."""
        # the cells of any label and system have all rows
        cells = self.cells(ALL_ROWS_GROUP, 0).by_system[0]
        return float(cells.weight.sum())

    def sizes(self) -> Ints:
        """The number of rows on which each label is true."""
        outcomes = [self.outcomes(self.systems[0], j) for j in self.problems]
        sizes = [label.tp + label.fn for label in outcomes]
        return np.array(sizes)

    @property
    def weights(self) -> Floats:
        """The total weight of the rows on which each label is true; without weights their
        number.
        """
        return self.positive_weights(ALL_ROWS_GROUP)

    @property
    def shares(self) -> Floats:
        """The share of rows, by weight, on which each label is true."""
        return ratio(self.weights, self._total_weight)

    @property
    def per_row(self) -> LabelsPerRow:
        """The mean number of labels of a row, and the share of rows that have none, by weight."""
        without_label = float(self.summary.kind_sums.without_label) * (self.scale or 1.0)
        share_of_none = without_label / self._total_weight
        return LabelsPerRow(float(self.shares.sum()), share_of_none)

    def score_range(self, system: str) -> grid.Range:
        """The lowest and the highest score of a system, over all labels."""
        i = self.systems.index(system)
        bins = [self.scores(ALL_ROWS_GROUP, i, j).bins for j in self.problems]
        # of each label; bins ascend and have whole numbers, the codes of their scores
        lowest_codes = np.array([table.low[0] for table in bins])
        highest_codes = np.array([table.high[-1] for table in bins])
        low = grid.scores(lowest_codes).min()
        high = grid.scores(highest_codes).max()
        return grid.Range(float(low), float(high))

    def outcomes(self, system: str, label: int) -> DecisionOutcomes:
        """The outcomes of a system's decisions on a label."""
        cells = self.system_cells(self.systems.index(system), ALL_ROWS_GROUP, label)
        (predicted,) = cells.predicted  # of one system
        cell = 2 * cells.actual + predicted
        tn, fp, fn, tp = np.bincount(cell, cells.n, 4).astype(int).tolist()
        return DecisionOutcomes(tp, fp, fn, tn)

    def _pooled_bins(self, system: str) -> grid.Grid:
        """The scores of a system over all labels and rows, in bins."""
        i = self.systems.index(system)
        keys = [ScoresKey(ALL_ROWS_GROUP, system=i, problem=j) for j in self.problems]
        bins_of_labels = [self.summary.scores[key].merged for key in keys]
        return grid.merge(bins_of_labels, self.first.max_bins())

    def pooled(self, system: str) -> counts.Counts:
        """The table of counts by score over all labels of all rows (micro-averaging)."""
        return grid.counts(self._pooled_bins(system), self.scale or 1.0)

    def score_steps(self, system: str) -> Floats:
        """Up to `STEPS` scores, ascending, to be used as thresholds: the distinct scores over all
        labels or, if they are more, quantiles of the scores over all rows and labels. In the
        quantiles rows count equally whatever their weight.
        """
        if self.weighted:  # the bins of `_pooled_bins` have weights, not numbers of rows
            i = self.systems.index(system)
            bins = self.summary.kind_sums.unweighted_scores[i].merged
            # these bins have no classes: in place of positives they have all rows, see
            # `grid.bin_values`
            scores_in_bin = bins.positive
        else:
            bins = self._pooled_bins(system)
            scores_in_bin = bins.positive + bins.negative
        lowest_score = grid.scores(bins.low)  # of each bin
        if len(lowest_score) <= STEPS:
            return lowest_score
        # as np.quantile with method="inverted_cdf": the quantile of n sorted scores at a level is
        # the score with the index ⌈level · n⌉ − 1, at level 0 the first
        scores_up_to_bin = np.cumsum(scores_in_bin)
        n = scores_up_to_bin[-1]
        levels = np.linspace(0, 1, STEPS)
        index = np.maximum(np.ceil(levels * n - 1), 0)
        bin_of_quantile = np.searchsorted(scores_up_to_bin, index, side="right")
        return np.asarray(lowest_score[bin_of_quantile])

    @property
    def label_sets_known(self) -> bool:
        """True if the combinations of labels were counted, each by itself: there are few enough
        labels, and so few combinations that no bin holds several.
        """
        label_sets = self.summary.kind_sums.label_sets
        return bool(label_sets) and label_sets[0].merged.shift == 0

    def constant_rows(self, system: str) -> Rows:
        """The rows of a constant baseline, whose score of each label is the label's share of all
        rows, at the thresholds of a system. There is one row for each combination of labels that
        occurs, with the weight of all rows that have it. Only if `label_sets_known`.
        """
        (tally,) = self.summary.kind_sums.label_sets
        label_sets = tally.merged  # the codes of the combinations, counted as scores are
        code = grid.scores(label_sets.low).astype(np.int64)
        # bit j of a code is set where label j is true
        label_numbers = np.array(self.problems)
        shifted = code[:, None] >> label_numbers  # shape (label sets, labels)
        actual = shifted & 1 == 1
        # these bins have no classes: in place of negatives they have the weight of all rows, in
        # units of the scale, see `grid.bin_values`; without a scale rows count 1
        unit_of_weight = np.float64(self.scale or 1.0)
        weight: Floats = label_sets.negative * unit_of_weight
        score = np.tile(self.shares, (len(actual), 1))
        thresholds = self.first.thresholds[self.systems.index(system)]
        return Rows(actual, score, threshold=thresholds, weight=weight)


# The second reading -------------------------------------------------------------------------------


def second_reading(
    labels: SummedLabels, metrics: Sequence[MetricAtK], leader: str, *, probabilities: bool
) -> SecondReading:
    """The second reading of a table of labels, to be called with each block of rows. On all rows
    and on slices it adds up the influence of the rows on means over the labels, and the differences
    of systems in losses that leave rows out. On all rows it also adds up the terms of the leader.

    labels: the results of the first reading. metrics: of the report; slices have the first one
    only. leader: the system for which metrics at common thresholds are also summed. probabilities:
    True if scores are probabilities: their excess over the share of rows with the label is then
    measured.
    """
    first = labels.first
    means = dict[GroupMetric, MeanInfluence]()
    partial_losses = dict[GroupMetric, MetricAtK]()
    for group in sorted(labels.groups):
        metrics_of_group = metrics if group == ALL_ROWS_GROUP else metrics[:1]
        for metric_at_k in metrics_of_group:
            base = metric_at_k.base
            if isinstance(metric_at_k.metric.kind, MeanOverClasses):  # a mean over the labels
                # means that can use the same sums have the same key
                key = GroupMetric(group, sums_label(metric_at_k))
                means[key] = _mean_influence(labels, metric_at_k, group)
            if isinstance(base.metric.kind, Loss) and _leaves_out(labels, metric_at_k, group):
                partial_losses[GroupMetric(group, base.label)] = base
    # the standard errors of the areas of each label: of independent, unweighted rows they follow
    # from the counts by score, which the first reading has
    if not labels.plain:
        means |= _areas_of_labels(labels, means)
    leader_number = labels.systems.index(leader)
    leader_adders = [*_adders_by_threshold(labels, leader)]
    if probabilities:
        excess_metrics = [score_excess(j) for j in labels.problems]
        excess_adder = label_term_adder(
            excess_metrics,
            systems=1,
            max_units=first.loss_adder.max_units,
            thresholds=[first.thresholds[leader_number]],
        )
        leader_adders.append(excess_adder)
    return SecondReading(
        first=first,
        plain=labels.plain,
        means=means,
        partial_losses=partial_losses,
        thresholds=first.thresholds,
        leader=leader_number,
        leader_adders=leader_adders,
    )


def _areas_of_labels(
    labels: SummedLabels, means: Mapping[GroupMetric, MeanInfluence]
) -> dict[GroupMetric, MeanInfluence]:
    """The influence of the rows on the two areas, AUC and average precision, of each label. They
    give the standard errors that the page shows if rows are weighted or clustered. An area that
    `means` has already is left out.
    """
    areas = {}
    for area in (ROC_AUC, AVERAGE_PRECISION):
        key = GroupMetric(ALL_ROWS_GROUP, area.name)
        if key not in means:
            # A mean over the labels, as `_mean_influence` takes one. Only the influence on the area
            # of each label is used later, so that the parts of the mean are never asked for.
            mean = MeanOverClasses(area, lambda rows: [])
            mean_area = MetricAtK(Metric(area.name, "labels", kind=mean, formula=""))
            areas[key] = _mean_influence(labels, mean_area, ALL_ROWS_GROUP)
    return areas


def _leaves_out(labels: SummedLabels, metric_at_k: MetricAtK, group: int) -> bool:
    """True if there are several systems and a loss is undefined on some rows of any of them."""
    systems = range(len(labels.systems))
    losses = [labels.loss_statistic(metric_at_k, group, i) for i in systems]
    return len(losses) > 1 and leaves_rows_out(losses)


def _mean_influence(labels: SummedLabels, metric_at_k: MetricAtK, group: int) -> MeanInfluence:
    """The influence of the rows of a group on a mean of a metric over the labels, Σ share · metric
    of the label, for all systems: through the metric of each label and, if the shares depend on the
    rows, through the shares. For metrics such as precision also the influence on the difference of
    each two systems.
    """
    kind = metric_at_k.metric.kind
    assert isinstance(kind, MeanOverClasses)
    systems = range(len(labels.systems))
    shares = labels.shares_in(kind, group)
    metric = labels.metric_of_problem(kind, group)  # of each label
    statistics = []  # by system and label: the metric of the label
    tables = []  # by system and label: the influence of a row on it, by the row's cell
    for i, thresholds in zip(systems, labels.first.thresholds, strict=True):
        of_labels = [labels.problem_statistic(metric, group, i, j) for j in labels.problems]
        statistics.append(of_labels)
        tables.append([*map(_label_influence, of_labels, thresholds.tolist())])
    share_influence = list[Floats]()  # of each system: by label, of a row that has the label
    if isinstance(kind, Weighted):  # the shares depend on the rows
        total = float(labels.positive_weights(group).sum())
        share_influence = [_share_influence(of_labels, shares, total) for of_labels in statistics]
    joint_influence = {}
    # A metric such as precision is a mean over rows that each system selects. The influence on a
    # difference is then not the difference of two influences. It is used for independent,
    # unweighted rows only.
    if kind.selects_rows and labels.plain:
        for i, j in combinations(systems, 2):
            on_difference = _joint_influence(statistics[i], statistics[j], shares)  # (labels, 8)
            if share_influence:
                # a row that has a label changes its share, whatever the two systems predict: in
                # four of the eight cells
                through_shares = share_influence[i] - share_influence[j]  # (labels,)
                on_difference += through_shares[:, None] * HAS_LABEL
            joint_influence[i, j] = on_difference
    return MeanInfluence(tables, shares, share_influence, joint_influence)


LabelStatistic = class_cells.CellStatistic | class_cells.InfluenceStatistic
# which of the eight cells 4 · true + 2 · predicted by the first + predicted by the second are of
# rows that have the label: True for the last four
HAS_LABEL = np.arange(8) >= 4


def _share_influence(
    of_labels: Sequence[LabelStatistic], shares: Floats, total_weight: float
) -> Floats:
    """How a row with a label changes a mean over labels by raising the share of the label: up if
    the label's value is above the mean; shape (labels,). 0 for a label whose value is undefined.

    of_labels: the metric of each label. total_weight: the weights of the rows with each label,
    added up over the labels.
    """
    value = np.array([statistic.value for statistic in of_labels])
    mean = float(np.nansum(shares * value))
    influence = ratio(value - mean, total_weight)
    return np.nan_to_num(influence)


def _joint_influence(
    first: Sequence[LabelStatistic], second: Sequence[LabelStatistic], shares: Floats
) -> Floats:
    """The influence of a row on the difference of two systems in a mean over labels, through each
    label; shape (labels, 8), indexed as in `_decision_differences`. first, second: of each label.
    """
    differences = [
        _decision_differences(of_first, of_second)
        for of_first, of_second in zip(first, second, strict=True)
    ]
    return shares[:, None] * np.array(differences)


def _label_influence(statistic: LabelStatistic, threshold: float) -> InfluenceTable:
    """The influence of a row on the metric of one label, as a table: for a metric of decisions with
    a value for each of the four cells 2 · true + predicted, else for each bin of the score. 0 where
    the metric is undefined, so that it adds nothing to sums. threshold: of the decisions.
    """
    if isinstance(statistic, class_cells.InfluenceStatistic):  # a metric of scores
        assert isinstance(statistic.tables, Binned)
        return ScoreInfluence.from_table(statistic.metric_at_k, statistic.tables)
    # the statistic has one row for each cell that occurs, which stands for all rows of the cell
    cell = 2 * statistic.rows.actual + statistic.rows.predicted
    influence = np.zeros(4)
    influence[cell] = np.nan_to_num(statistic.row_influence)
    return DecisionInfluence(threshold, influence)


def _decision_differences(
    first: LabelStatistic,
    second: LabelStatistic,
) -> Floats:
    """The influence of a row on the difference of two systems in a metric of the decisions on one
    label; shape (8,), indexed by 4 · true + 2 · predicted by the first + predicted by the second. 0
    for cells without rows, and where the metric is undefined.

    first, second: the metric of each system.
    """
    assert isinstance(first, class_cells.CellStatistic)
    assert isinstance(second, class_cells.CellStatistic)
    # both statistics with one row for each of the eight cells that occurs; it stands for all rows
    # of the cell
    joint = first.on_joint_rows(second)
    actual = joint.first.rows.actual
    first_predicted = joint.first.rows.predicted
    second_predicted = joint.second.rows.predicted
    cell = 4 * actual + 2 * first_predicted + second_predicted
    influence = np.zeros(8)
    influence[cell] = np.nan_to_num(joint.first.difference_influence(joint.second))
    return influence


def _adders_by_threshold(labels: SummedLabels, leader: str) -> Iterator[TermAdder]:
    """For each of `thresholds_of`, as the common threshold of all labels, an adder of terms of the
    leader: the terms of the micro-averaged metrics and, as extra columns, the influence of a row on
    the F1 of each label.
    """
    i = labels.systems.index(leader)
    scores_of_labels = [labels.scores(ALL_ROWS_GROUP, i, j) for j in labels.problems]
    macro_f1 = LABELS["macro_f1"].kind
    assert isinstance(macro_f1, MeanOverClasses)
    # F1 itself or, with many labels of few positives, its leave-one-out form
    f1 = labels.metric_of_problem(macro_f1, ALL_ROWS_GROUP).metric.kind
    assert isinstance(f1, Overlap)
    for threshold in thresholds_of(labels, leader).tolist():
        influence_by_cell = []
        for scores in scores_of_labels:
            decisions = scores.at_threshold(threshold).decision_counts
            influence = f1.influence_table(decisions)  # NaN if F1 is undefined
            # (2, 2): first the row of true, and the column of predicted
            by_decision = np.nan_to_num(influence)
            # both axes reversed, so that the index of the flat array is 2 · true + predicted
            influence_by_cell.append(by_decision[::-1, ::-1].ravel())
        adder = label_term_adder(
            MICRO,
            systems=1,
            max_units=labels.first.loss_adder.max_units,
            thresholds=[np.full(len(scores_of_labels), threshold)],
        )
        influence_columns = partial(
            _label_influences, by_cell=influence_by_cell, threshold=threshold
        )
        yield replace(adder, extra_columns=influence_columns, extra_width=len(scores_of_labels))


def _label_influences(block: Block, by_cell: Sequence[Floats], threshold: float) -> Floats:
    """The influence of each row on a metric of each label's decisions at a threshold: one row per
    label. block: with the scores of a single system.

    by_cell: for each label the influence by 2 · true + predicted.
    """
    (scores,) = block.predictions
    is_predicted = scores >= threshold
    cell = 2 * block.truth.view(np.int8) + is_predicted  # read as 0 and 1, without a copy
    influences = [influence.take(cell[j]) for j, influence in enumerate(by_cell)]
    return np.array(influences)


def thresholds_of(labels: LabelsInMemory | SummedLabels, system: str) -> Floats:
    """The thresholds, common to all labels, at which metrics of a system are measured, ascending:
    its `score_steps`, and the threshold of the best micro-averaged F1 if there is one.
    """
    best = curves.best_f(labels.pooled(system))
    thresholds = np.union1d(labels.score_steps(system), best)
    return thresholds[np.isfinite(thresholds)]


def label_term_adder(
    metrics: Sequence[MetricAtK], systems: int, max_units: int, thresholds: Sequence[Floats]
) -> TermAdder:
    """The terms to be summed of losses and ratios over rows of labels. systems: their number.
    max_units: the largest number of units to keep. thresholds: for each system an array with one
    per label.
    """
    rows_of_system = partial(label_rows, thresholds=thresholds)
    return TermAdder.uncentred_term_adder(metrics, systems, max_units, rows_of_system)
