"""Statistics of classification metrics: of tables read in blocks, and of several classes in memory.

The first reading counts the scores in bins and what is predicted in cells, and adds up losses. The
second adds up the influence of each row on the metrics of ranking (such as AUC) and of decisions at
a threshold. See `readings`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError
from evalkit.caching import cached
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import MeanOverClasses, Metric, MetricAtK, Weighted
from evalkit.catalogue.score_kinds import ScoreKind, Tables
from evalkit.catalogue.tables import against_rest
from evalkit.measured.readings import (
    ALL_CLASSES,
    BinaryFirstReading,
    BinarySums,
    Binned,
    CellsKey,
    ClassFirstReading,
    ClassSums,
    FirstReading,
    FirstSummary,
    GroupMetric,
    RowSums,
    ScoresKey,
    SecondReading,
    SecondSummary,
    SpecificSums,
    count_not_highest,
)
from evalkit.measured.rows import (
    ALL_ROWS,
    RowsInMemory,
    TermsKey,
    group_number,
    weight_of_counted_rows,
)
from evalkit.metrics import counts, labels
from evalkit.metrics.blocks import ALL_ROWS_GROUP
from evalkit.metrics.losses import score_of_class
from evalkit.metrics.moments import Moments
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.bootstrap import ThresholdChoice
from evalkit.statistics.class_cells import (
    Cells,
    CellStatistic,
    ClassMeanStatistic,
    InfluenceStatistic,
    SliceCells,
    cell_statistic,
    decision_cells,
)
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, UnitStatistic
from evalkit.statistics.summed import MomentStatistic, has_units

Change = Callable[[Rows], Rows]  # replaces actual values and predictions
Element = TypeVar("Element")
ONLY_PROBLEM = 0  # the number of the only problem that two classes are
# a share of rows, with the mask of eligible rows as actual values, that of hits as predictions
SHARE = Metric("number", "rows", Share(lambda eligible, hit: (eligible, hit)), formula="")


class ProblemCells(NamedTuple):
    """The confusion cells in which the decisions on a class or label are counted, and the actual
    value in them that is its positive one.
    """

    cells: SliceCells
    positive: int


class MeanPart(NamedTuple):
    """A class or label of a mean: its share, and its metric."""

    share: float
    statistic: InfluenceStatistic | CellStatistic


class BinErrors(NamedTuple):
    """By how much counting scores in bins may change an AUC, and an average precision, at most."""

    auc: float
    average_precision: float


# All systems on the same rows, read in blocks -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockMetrics(ABC, Generic[SpecificSums]):
    """All systems on the same rows of a table that was read once or twice in blocks.

    The positive class of two, each of several classes and each label is one problem: positives
    against all others. first, summary: the first reading and its summary. second, second_summary:
    the second reading and its summary, if there was one.
    """

    systems: tuple[str, ...]
    first: FirstReading[SpecificSums]
    summary: FirstSummary[SpecificSums]
    layout: Layout
    second: SecondReading | None = None
    second_summary: SecondSummary | None = None

    @property
    def in_memory(self) -> bool:
        """True if the confusion cells of every unit are in memory."""
        return self.problem_cells(ALL_ROWS_GROUP, c=0).cells.in_memory  # the same for every class

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
        """The numbers of the groups of rows: `ALL_ROWS_GROUP` and those of slices."""
        with_cells = {key.group for key in self.summary.cells}
        with_scores = {key.group for key in self.summary.scores}
        return with_cells | with_scores | set(self.summary.moments)

    def weight_of_group(self, group: int) -> float:
        """The total weight of the rows of a group."""
        return self.summary.weights[group]

    @property
    def problems(self) -> range:
        """The numbers of the classes or labels; 0 alone if there are two classes."""
        return range(self.first.problems)

    # Tables

    @cached
    def cells(self, group: int, name: int | str = ALL_CLASSES) -> SliceCells:
        """The confusion cells of all systems in a group of rows: of all classes, of one label by
        number, or of a share of rows by name.
        """
        counted = self.summary.cells[CellsKey(group, name)]
        return self.first.cell_counter.slice_cells(counted, self.layout)

    @abstractmethod
    def problem_cells(self, group: int, c: int) -> ProblemCells:
        """The confusion cells that have the decisions on class or label c in a group of rows, and
        the actual value in them that is the positive one.
        """

    @cached
    def scores(self, group: int, system: int, c: int) -> Binned:
        """The scores of a system, by number, for class or label c in a group of rows."""
        tally = self.summary.scores[ScoresKey(group, system, c)]
        return Binned(tally.merged, self.scale)

    def table(self, system: str, c: int) -> counts.Counts:
        """The table of counts by score of class c against the rest, or of label c, on all rows."""
        return self.scores(ALL_ROWS_GROUP, self.systems.index(system), c).midpoint_counts

    def system_cells(
        self, i: int, group: int = ALL_ROWS_GROUP, name: int | str = ALL_CLASSES
    ) -> Cells:
        """The confusion cells of system i alone, including rows of weight 0. group, name: as in
        `cells`.
        """
        by_systems = self.summary.cells[CellsKey(group, name)].cells
        tally = by_systems[i, i]  # of one system; that of a pair has two different numbers
        return self.first.cell_counter.cells(tally.merged, systems=1)

    @property
    def bin_errors(self) -> BinErrors:
        """By how much counting scores in bins may change an AUC, and an average precision, at most:
        the largest change of any system, class and label, on all rows. A metric that is undefined
        for a class or label (NaN) counts as unchanged.
        """
        auc_errors = [0.0]
        average_precision_errors = [0.0]
        for key in self.summary.scores:
            if key.group == ALL_ROWS_GROUP:
                scores = self.scores(key.group, key.system, key.problem)
                limits = scores.average_precision_range
                auc_errors.append(float(np.nan_to_num(scores.auc_error)))
                error = np.nan_to_num(limits.high - limits.low)
                average_precision_errors.append(float(error))
        return BinErrors(max(auc_errors), max(average_precision_errors))

    # The influence of rows

    @cached_property
    def means(self) -> dict[GroupMetric, Moments]:
        """The moments of the rows' influence on each metric, with sums of products that are not
        centred, as influence adds up to 0; by group and metric. Empty as long as the table has been
        read only once.
        """
        if self.second_summary is None:
            return {}
        means = self.second_summary.means
        return {key: sums.moments.around_zero for key, sums in means.items()}

    def powers(self, key: GroupMetric) -> dict[tuple[int, int], Floats]:
        """For each pair of systems, by number, the `MeanInfluence.sums_of_powers` of a metric,
        shape (strata, 2); empty if they were not added up.
        """
        if self.second_summary is None or key not in self.second_summary.powers:
            return {}
        return self.by_pair(self.second_summary.powers[key].sums)

    def by_pair(self, elements: Iterable[Element]) -> dict[tuple[int, int], Element]:
        """The elements, one for each pair of systems, by the numbers of the two."""
        pairs = combinations(range(len(self.systems)), 2)
        return dict(zip(pairs, elements, strict=True))

    def rows_per_class(self, group: int) -> Ints:
        """The number of rows of each class in a group; empty if rows may have several labels."""
        return np.empty(0, np.int64)

    # Metrics

    def measure(self, metric_at_k: MetricAtK, system: str, member: int | slice) -> Statistic:
        """The metric of a system in a group of rows: a loss from the sums of its terms, a metric of
        decisions from confusion cells, any other metric from counts by score. member: the number of
        the group, or a Python slice for all rows, as for rows in memory.
        """
        group = group_number(member)
        i = self.systems.index(system)
        if metric_at_k.base in self.first.loss_adder.metrics:
            return self.loss_statistic(metric_at_k, group, i)
        if metric_at_k.uses_decisions:
            return self.decision_statistic(metric_at_k, group, i)
        return self.score_statistic(metric_at_k, group, i)

    def loss_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> MomentStatistic:
        """A metric of system i that is computed from sums of terms of the rows."""
        moments = self.summary.moments[group].moments
        adder = self.first.loss_adder
        key = TermsKey(adder.metrics.index(metric_at_k.base), system=i)
        return MomentStatistic(metric_at_k, moments, adder.term_columns(group, key), self.layout)

    def refuse_partial_losses(self) -> None:
        """Raise ParameterError for a loss that is undefined or infinite on some row. Two systems
        are then compared on the rows on which both losses are finite, and sums over the rows of
        each system do not tell the common rows.
        """
        systems = range(len(self.systems))
        for metric_at_k in self.first.loss_adder.metrics:
            losses = [self.loss_statistic(metric_at_k, ALL_ROWS_GROUP, i) for i in systems]
            totals = [loss.totals for loss in losses]
            is_finite = np.isfinite(totals).all()
            # only of a loss is the denominator the weight of the rows on which it is defined
            is_loss = isinstance(metric_at_k.metric.kind, Loss)
            if (is_loss and leaves_rows_out(losses)) or not is_finite:
                raise ParameterError(
                    f"metrics: {metric_at_k.label} leaves rows out, which needs all rows in memory"
                )

    def decision_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> Statistic:
        """A metric of the decisions of system i in a group of rows."""
        return cell_statistic(metric_at_k, self.cells(group), i)

    def score_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> Statistic:
        """A metric of the scores of system i in a group of rows that is a mean of a metric over the
        classes or labels whose share in it is above 0. Two classes have a `score_statistic` of
        their own, as there is nothing to take a mean over.
        """
        kind = metric_at_k.metric.kind
        assert isinstance(kind, MeanOverClasses)
        shares = self.shares_in(kind, group)
        present = np.flatnonzero(shares > 0).tolist()  # numbers of classes or labels
        key = GroupMetric(group, sums_label(metric_at_k))
        moments = self.means.get(key)  # of the rows' influence; None after one reading alone
        # The moments have the columns of `MeanInfluence.columns`: first one for each system and
        # class, system by system; then, if the shares depend on the rows, one for each system.
        problems = len(self.problems)
        columns = [i * problems + c for c in present]
        if isinstance(kind, Weighted):  # its shares depend on the rows
            first_column_of_shares = len(self.systems) * problems
            columns.append(first_column_of_shares + i)
        metric = self.metric_of_problem(kind, group)
        parts = []
        for c in present:
            statistic = self.problem_statistic(metric, group, i, c, moments)
            parts.append(MeanPart(float(shares[c]), statistic))
        mean = self.mean_statistic(metric_at_k, group, i, moments, columns, parts)
        # comparisons need sums of powers of the influence on the difference to each other system
        return replace(mean, powers=self.powers(key), rows_per_class=self.rows_per_class(group))

    def metric_of_problem(self, kind: MeanOverClasses, group: int) -> MetricAtK:
        """The metric of each class or label of a mean; by the jackknife if they are many and have
        few positives in the group, see `MeanOverClasses.scarce`.
        """
        if self.plain and kind.scarce(self.positive_weights(group)):
            return MetricAtK(kind.leave_one_out.metric)
        return MetricAtK(kind.metric)

    def positive_weights(self, group: int) -> Floats:
        """The number of rows of each class; of labels the weight of the rows with each label."""
        return self.rows_per_class(group).astype(np.float64)

    def shares_in(self, kind: MeanOverClasses, group: int) -> Floats:
        """The share of each class or label in a mean: equal shares, which add up to 1; a weighted
        mean over labels has others. kind, group: unused here, as equal shares depend on neither.
        """
        problems = len(self.problems)
        return np.full(problems, 1 / problems)

    def problem_metric(
        self, metric: Metric, system: str, c: int
    ) -> InfluenceStatistic | CellStatistic:
        """A metric of class c against the rest, or of label c, on all rows."""
        metric_at_k = MetricAtK(metric)
        moments = self.means.get(GroupMetric(ALL_ROWS_GROUP, metric_at_k.label))
        i = self.systems.index(system)
        return self.problem_statistic(metric_at_k, ALL_ROWS_GROUP, i, c, moments)

    def statistic_after_change(
        self, metric: Metric, system: str, change: Change, c: int = 0
    ) -> CellStatistic:
        """A metric of the classes, or of label c, on all rows, after `change` has replaced actual
        values and predictions. The statistic has a row for each cell, so that `change` is applied
        to a few rows only.
        """
        cells = self.problem_cells(ALL_ROWS_GROUP, c).cells
        statistic = cell_statistic(MetricAtK(metric), cells, self.systems.index(system))
        return replace(statistic, rows=change(statistic.rows))

    def problem_statistic(
        self, metric_at_k: MetricAtK, group: int, i: int, c: int, moments: Moments | None = None
    ) -> InfluenceStatistic | CellStatistic:
        """A metric of system i for class c against the rest, or for label c, in a group of rows. A
        metric of decisions comes from confusion cells, a metric of scores from counts by score and
        the moments of the rows' influence on the metric.

        moments: of the influence of the rows, with a column for each system and, in it, each class
        or label, see `MeanInfluence.columns`; None as long as the table has been read only once.
        """
        if metric_at_k.uses_decisions:
            return cell_statistic(metric_at_k, self.problem_cells(group, c).cells, i)
        return self.influence_statistic(
            metric_at_k,
            group,
            c,
            tables=self.scores(group, i, c),
            moments=moments,
            column=i * len(self.problems) + c,
        )

    def influence_statistic(
        self,
        metric_at_k: MetricAtK,
        group: int,
        c: int,
        tables: Tables,
        moments: Moments | None,
        column: int,
    ) -> InfluenceStatistic:
        """A metric of the scores of class or label c against the rest, in a group of rows: its
        value from the counts by score, its error from the moments of the rows' influence on it.

        tables: the counts. moments: sums over the rows that a second reading of the table makes;
        None as long as the table has been read only once, when no more than the value is needed.
        column: the number of the column of `moments` that is the influence on this metric.
        """
        kind = metric_at_k.base.metric.kind
        assert isinstance(kind, ScoreKind)
        problem_cells = self.problem_cells(group, c)
        # the value of the base metric: `metric_at_k` may be a function of it, as Gini is 2 AUC − 1
        value_of_base = kind.value_of_table(kind.score_table(tables))
        return InfluenceStatistic(
            metric_at_k,
            moments,  # type: ignore[arg-type]  # without them only the value is asked for
            layout=self.layout,
            untransformed=value_of_base,
            coefficients=_coefficients(moments, {column: 1.0}),
            n=problem_cells.cells.n,
            freedom=self._effective_units(kind, problem_cells) - 1,  # of the standard error
            tables=tables,
        )

    def _effective_units(self, kind: ScoreKind, problem_cells: ProblemCells) -> float:
        """The number of units that the standard error of a metric of scores rests on.

        On plain rows (independent and unweighted) these are all units, whatever the metric. If
        rows are clustered or weighted, it is Kish's effective number; for a metric whose variance
        is a sum over the two classes, such as AUC, that of the class with fewer.
        """
        cells = problem_cells.cells
        if self.plain:
            return float(cells.n)
        # the actual values, unlike the predictions, are the same for all systems
        is_positive = cells.by_system[0].actual == problem_cells.positive
        if not kind.variance_by_class:
            every_cell = np.ones(len(is_positive))
            return cells.kish(every_cell)
        positive_units = cells.kish(is_positive.astype(np.float64))
        negative_units = cells.kish((~is_positive).astype(np.float64))
        return min(positive_units, negative_units)

    def mean_statistic(
        self,
        metric_at_k: MetricAtK,
        group: int,
        i: int,
        moments: Moments | None,
        columns: Sequence[int],
        parts: Sequence[MeanPart],
    ) -> ClassMeanStatistic:
        """The mean over classes or labels, Σ share · metric of the class, of system i in a group of
        rows.

        parts: the share and the metric of each class. moments: of the influence of the rows; None
        after the first reading of the table, when no more than the value is asked for. columns:
        numbers of columns of the moments, [part 1, …, part m]: the influence on the metric of each
        part. If the shares depend on the rows, they are [part 1, …, part m, shares], the last one
        being the influence on the mean through the shares.
        """
        cells = self.problem_cells(group, c=0).cells  # of all rows, whichever the class or label
        effective_units = float(cells.n)
        if not self.plain:  # rows are clustered or weighted: Kish's effective number
            every_cell = np.ones(len(cells.by_system[0].weight))
            effective_units = cells.kish(every_cell)
        shares = [part.share for part in parts]
        values = [part.share * part.statistic.value for part in parts]
        # The influence on the mean is a linear combination of columns: Σ share · influence on the
        # part, and once the influence through the shares.
        columns_of_parts = columns[: len(parts)]
        multiple_of_column = dict(zip(columns_of_parts, shares, strict=True))
        if len(columns) > len(parts):
            column_of_shares = columns[-1]
            multiple_of_column[column_of_shares] = 1.0
        return ClassMeanStatistic(
            metric_at_k,
            moments,  # type: ignore[arg-type]  # without them only the value is asked for
            layout=self.layout,
            untransformed=float(sum(values)),
            coefficients=_coefficients(moments, multiple_of_column),
            n=cells.n,
            freedom=effective_units - 1.0,  # of the standard error
            system=i,
            positives=self.positive_weights(group),
            columns=columns,
            shares=shares,
            statistics=[part.statistic for part in parts],
        )


def leaves_rows_out(losses: Sequence[MomentStatistic]) -> bool:
    """True if the loss of any system is undefined on some rows, which it leaves out. losses: of all
    systems, on the same rows.
    """
    weight_of_all_rows = losses[0].moments.totals[0]  # the first column is the weight
    lowest_weight = min(map(weight_of_counted_rows, losses))
    return lowest_weight < float(weight_of_all_rows)


def sums_label(metric_at_k: MetricAtK) -> str:
    """The label by which the sums of the influence on a mean are stored. A mean with fixed shares
    uses the label of the metric that it is the mean of: other means of the same metric with fixed
    shares then use the same sums. A mean with weighted shares has sums and a label of its own.
    """
    kind = metric_at_k.metric.kind
    assert isinstance(kind, MeanOverClasses)
    if isinstance(kind, Weighted):
        return metric_at_k.label
    return MetricAtK(kind.metric).label


def _coefficients(moments: Moments | None, multiples: Mapping[int, float]) -> Floats:
    """The coefficients of a linear combination of the columns of the moments, an array with one per
    column: `multiples` has those that are not 0, by number of the column. Empty without moments.
    """
    if moments is None:
        return np.zeros(0)
    columns = len(moments.mean)
    coefficients = np.zeros(columns)
    for column, multiple in multiples.items():
        coefficients[column] = multiple
    return coefficients


# Two classes


@dataclass(frozen=True, eq=False, kw_only=True)
class SummedBinary(BlockMetrics[BinarySums]):
    """The metrics of two classes, from one or two readings. threshold_of: (system, its table of
    counts) -> the threshold of its decisions.

    choice: how the threshold is chosen again on samples; None if it is fixed.
    """

    first: BinaryFirstReading
    threshold_of: Callable[[str, counts.Counts], float]
    choice: ThresholdChoice | None = None

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory."""
        losses = self.summary.moments.get(ALL_ROWS_GROUP)
        return super().in_memory if losses is None else has_units(losses.moments)

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """The threshold of each system."""
        thresholds = {}
        for i, name in enumerate(self.systems):
            table = self.scores(ALL_ROWS_GROUP, i, ONLY_PROBLEM).counts
            thresholds[name] = self.threshold_of(name, table)
        return thresholds

    def problem_cells(self, group: int, c: int) -> ProblemCells:
        """The confusion cells of the decisions, in which class 1 is positive."""
        return ProblemCells(self.cells(group), 1)

    def measure(self, metric_at_k: MetricAtK, system: str, member: int | slice) -> Statistic:
        """The metric of a system in a group of rows. A metric that ranks the rows within each unit,
        as GAUC, is computed from the numerator and the denominator of each unit's value. member:
        the number of the group, or a Python slice for all rows.
        """
        if metric_at_k not in self.first.unit_metrics:
            return super().measure(metric_at_k, system, member)
        group = group_number(member)
        metric = self.first.unit_metrics.index(metric_at_k)
        # each metric and, in it, each system has two columns: see `_unit_terms`
        pairs_of_columns_before = metric * len(self.systems) + self.systems.index(system)
        column = 2 * pairs_of_columns_before
        columns_by_unit = self.summary.kind_sums.unit_terms[group].units
        numerator, denominator = columns_by_unit[column : column + 2]
        # clustered: a unit with a value may have several rows
        return UnitStatistic(metric_at_k, Sums(numerator, denominator), design=Layout.CLUSTERED)

    def decision_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> CellStatistic:
        """A metric of the decisions of system i at its threshold, in a group of rows. If `choice`
        says how the threshold was chosen on all rows, the metric on all rows comes with a function
        that chooses it again on samples of them.
        """
        statistic = cell_statistic(metric_at_k, self.cells(group), i)
        if group != ALL_ROWS_GROUP or self.choice is None:
            return statistic
        rows = replace(statistic.rows, redraw_counts=lambda: self.rechosen_counts(i))
        return replace(statistic, rows=rows)

    @cached
    def rechosen_counts(self, i: int) -> counts.RechosenCounts:
        """The counts of system i on samples, on each of which the threshold is chosen again."""
        assert self.choice is not None
        if self.second is None or self.second_summary is None:  # of independent, unweighted rows
            return self.choice.from_table(self.scores(ALL_ROWS_GROUP, i, ONLY_PROBLEM).counts)
        candidates = self.second.candidates[i]
        return self.choice.from_parts(candidates, self.second_summary.part_sums[i].sums)

    def score_statistic(self, metric_at_k: MetricAtK, group: int, i: int) -> InfluenceStatistic:
        """A metric of the scores of system i in a group of rows.

        The table is read twice, and the second reading adds up the influence of the rows
        (`means`), from which the standard error follows. Without a second reading it follows from
        the counts by score, which suffice for a single system on independent, unweighted rows. For
        comparisons there are the sums of powers of the influence on the difference to each other
        system (`powers`).
        """
        key = GroupMetric(group, metric_at_k.base.label)
        statistic = self.influence_statistic(
            metric_at_k,
            group,
            c=ONLY_PROBLEM,
            tables=self.scores(group, i, ONLY_PROBLEM),
            moments=self.means.get(key),
            column=i,  # the influence on the metric has a column for each system
        )
        return replace(
            statistic, system=i, powers=self.powers(key), rows_per_class=self.rows_per_class(group)
        )

    def rows_per_class(self, group: int) -> Ints:
        """The numbers of negative and of positive rows in a group."""
        c = self.scores(group, 0, ONLY_PROBLEM).counts  # the classes are the same for all systems
        return np.array([c.negatives, c.positives])

    @cached
    def cells(self, group: int, name: int | str = ALL_CLASSES) -> SliceCells:
        """The confusion cells (numbers of rows by actual and predicted class) of the decisions of
        all systems on two classes in a group of rows. The second reading has counted them, for each
        system and each pair. In a group that it left out, and without it, they follow from each
        system's counts of positives and negatives by score. name: unused, as two classes have no
        cells but those of `ALL_CLASSES`.
        """
        if self.second_summary is not None and group in self.second_summary.cells:
            return self.first.cell_counter.slice_cells(
                self.second_summary.cells[group], self.layout
            )
        # `by_pair`, the cells of pairs, stays empty: decisions that are compared are counted in a
        # second reading
        decisions = []
        for i, system in enumerate(self.systems):
            scores = self.scores(group, i, ONLY_PROBLEM).at_threshold(self.thresholds[system])
            decisions.append(scores.decision_counts)
        return SliceCells(
            classes=2,
            layout=self.layout,
            n=int(decisions[0].total),
            by_system=[decision_cells(counts_of_system) for counts_of_system in decisions],
            by_pair={},
        )


# Several classes: rows in memory ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProblemsInMemory(RowsInMemory, ABC):
    """Multi-class or multi-label rows in memory; each class or label is a problem of its own."""

    def problem_metric(self, metric: Metric, system: str, c: int) -> RowStatistic:
        """A metric of class c against the rest, or of label c."""
        rows = self.problem_rows(self.rows[system], c)
        return RowStatistic(MetricAtK(metric), rows)

    @abstractmethod
    def problem_rows(self, rows: Rows, c: int) -> Rows:
        """The rows with actual value 1 for class or label c, 0 for the others, and its scores."""

    def table(self, system: str, c: int) -> counts.Counts:
        """The table of a class against the rest, or of a label."""
        return self.problem_rows(self.rows[system], c).counts

    @property
    def bin_errors(self) -> BinErrors:
        """0 and 0: scores in memory are not counted in bins."""
        return BinErrors(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class ClassesInMemory(ProblemsInMemory):
    """Multi-class rows in memory."""

    def problem_rows(self, rows: Rows, c: int) -> Rows:
        """The rows with actual value 1 for class c, 0 for the others, and its scores."""
        return against_rest(rows, c)

    def sizes(self, member: Bools | slice = ALL_ROWS) -> Ints:
        """The number of rows of each class, shape (classes,). member: of these rows."""
        rows = self._first_rows
        return np.bincount(rows.actual[member], minlength=rows.classes)

    @property
    def weights(self) -> Floats:
        """The total weight of the rows of each class; without weights their number."""
        rows = self._first_rows
        return np.asarray(np.bincount(rows.actual, rows.weight, rows.classes), np.float64)

    def confusion(self, system: str) -> labels.Confusion:
        """The confusion matrix, of weights or of numbers of rows."""
        return self.rows[system].confusion

    def predicted_sizes(self, system: str) -> Ints:
        """The number of rows for which a system predicts each class."""
        return np.bincount(self.rows[system].predicted, minlength=self._first_rows.classes)

    def statistic_after_change(self, metric: Metric, system: str, change: Change) -> RowStatistic:
        """A metric of a system's rows after `change` has replaced their actual values and
        predictions.
        """
        rows = change(self.rows[system])
        return RowStatistic(MetricAtK(metric), rows)

    def top_scores(self, system: str) -> counts.Counts:
        """The table of right and wrong predictions by the score of the predicted class."""
        rows = self.rows[system]
        right = (rows.predicted == rows.actual).astype(np.int64)
        score = score_of_class(rows.scores, rows.predicted)
        return Rows(right, score, weight=rows.weight).counts

    def not_highest(self, system: str) -> int:
        """The number of rows whose predicted class does not have the highest score."""
        rows = self.rows[system]
        return count_not_highest(rows.scores, score_of_class(rows.scores, rows.predicted))

    def row_sums(self, system: str) -> RowSums:
        """The sums of the rows' scores."""
        return RowSums.from_rows(self.rows[system], self.rows[system].weight)

    def constant_rows(self, shares: Floats) -> Rows:
        """The rows with the predictions of a constant baseline: the largest class, with the shares
        of the classes as probabilities.
        """
        rows = self._first_rows
        decision = np.full(len(rows), shares.argmax())
        score = None if rows.score is None else np.tile(shares, (len(rows), 1))
        return replace(rows, decision=decision, score=score)


# Several classes that were read once or twice -----------------------------------------------------


@dataclass(frozen=True, eq=False)
class SummedClasses(BlockMetrics[ClassSums]):
    """The metrics of several classes, from one or two readings."""

    first: ClassFirstReading

    def problem_cells(self, group: int, c: int) -> ProblemCells:
        """The confusion cells of all classes, in which class c is positive."""
        return ProblemCells(self.cells(group), c)

    def rows_per_class(self, group: int) -> Ints:
        """The number of rows of each class in a group."""
        return self.sizes(group)

    # Tables

    def sizes(self, member: int | slice = ALL_ROWS) -> Ints:
        """The number of rows of each class, shape (classes,). member: as in `measure`."""
        group = group_number(member)
        cells = self.system_cells(0, group)  # actual classes are the same for all systems
        return np.bincount(cells.actual, cells.n, len(self.problems)).astype(np.int64)

    @property
    def weights(self) -> Floats:
        """The total weight of the rows of each class; without weights their number."""
        table = self.confusion(self.systems[0]).table  # actual classes are the same for all
        return np.asarray(table.sum(axis=1), np.float64)

    def confusion(self, system: str) -> labels.Confusion:
        """The confusion matrix of a system on all rows: of weights if rows have them, else of
        numbers of rows.
        """
        cells = self.cells(ALL_ROWS_GROUP).by_system[self.systems.index(system)]
        rows: Floats | Ints = cells.n
        if self.weighted:
            rows = cells.weight
        k = len(self.problems)
        table = np.zeros((k, k), rows.dtype)
        (predicted,) = cells.predicted  # of one system
        table[cells.actual, predicted] = rows
        return labels.Confusion(table, np.arange(k))

    def predicted_sizes(self, system: str) -> Ints:
        """The number of rows for which a system predicts each class."""
        cells = self.system_cells(self.systems.index(system))
        (predicted,) = cells.predicted  # of one system
        return np.bincount(predicted, cells.n, len(self.problems)).astype(np.int64)

    def top_scores(self, system: str) -> counts.Counts:
        """The table of right and wrong predictions by the score of the predicted class."""
        tally = self.summary.kind_sums.top_scores[self.systems.index(system)]
        return Binned(tally.merged, self.scale).midpoint_counts

    def not_highest(self, system: str) -> int:
        """The number of rows whose predicted class does not have the highest score."""
        i = self.systems.index(system)
        return int(self.summary.kind_sums.not_highest.sums[i])

    def row_sums(self, system: str) -> RowSums:
        """The sums of the rows' scores."""
        return self.summary.kind_sums.row_sums[self.systems.index(system)]

    def constant_rows(self, shares: Floats) -> Rows:
        """The predictions of a constant baseline, the largest class with the shares of the classes
        as probabilities, in one row for each class that occurs, with the weight of the class.
        """
        present = np.flatnonzero(shares > 0)
        decision = np.full(len(present), shares.argmax())
        score = np.tile(shares, (len(present), 1)) if self.first.scored else None
        weight = self.weights[present]
        return Rows(present, score, decision=decision, weight=weight, classes=len(shares))
