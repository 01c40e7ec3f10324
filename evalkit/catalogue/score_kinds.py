"""Kinds of metrics of scores: of a table of scores, and of numbers: smooth functions of means, and
medians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from evalkit.arrays import Floats, quotient, ratio
from evalkit.catalogue.kinds import Centre, MetricKind, TableKind, TermsKind, ValueAndInfluence
from evalkit.catalogue.metric import Metric
from evalkit.metrics import counts, curves, influence
from evalkit.metrics.counts import Counts, Step, runs, steps
from evalkit.metrics.distributions import Distribution
from evalkit.metrics.rows import Rows

TableFunction = Callable[[Counts], Any]  # a metric of a table, or of one threshold


class Tables(Protocol):
    """The tables of a score: by threshold, as probabilities, and of the decisions at the
    threshold.
    """

    @property
    def counts(self) -> Counts: ...
    @property
    def midpoint_counts(self) -> Counts: ...
    @property
    def decision_counts(self) -> Counts: ...


class StepInfluence(NamedTuple):
    """A run of thresholds, and the influence of a positive (first row) and a negative (second) at
    each.
    """

    step: Step
    influence: Floats


# Of the whole order -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreKind(TableKind):
    """A metric of the whole order of the scores, such as AUC, computed from their table.

    function: table -> the metric. closed_form: table -> the influence of a positive (first row) and
    of a negative (second row) at each threshold; None for numerical derivatives. by_step: (table,
    metric) -> the same for one run of thresholds at a time, the lowest first, which needs less
    memory; None if it does not. rises: True if the metric never falls when the score of a positive
    rises or that of a negative falls.
    """

    function: TableFunction
    closed_form: Callable[[Counts], Floats] | None = None
    by_step: Callable[[Counts, float], Iterator[tuple[Step, Floats]]] | None = None
    rises: bool = True
    variance_by_class: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def value_at(self, c: Counts, threshold: float) -> float:
        """The metric of a table."""
        return float(self.function(c))

    def score_table(self, tables: Tables) -> Counts:
        """The table of a score that `function` takes: that of the whole order of the scores."""
        return tables.midpoint_counts

    def value_of_table(self, c: Counts) -> float:
        """The metric of a table from `score_table`, or of one resampled from it."""
        return float(self.function(c))

    def value(self, rows: Rows, k: int | None) -> float:
        """The metric of the rows' table."""
        return self.value_of_table(self.score_table(rows))

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and of a negative (second row) at
        each threshold; shape (2, thresholds).
        """
        if self.closed_form is None:
            return influence.numerical(c, self.value_of_table)
        return self.closed_form(c)

    def influence_by_step(self, c: Counts, value: float) -> Iterator[StepInfluence]:
        """Yield the table in runs of thresholds, the lowest first, each with the influence on the
        metric of a positive (first row) and of a negative (second row) at its thresholds.

        value: the metric of the table, for `by_step`.
        """
        if self.by_step is not None:  # one run at a time, to save memory
            for step, influence_of_step in self.by_step(c, value):
                yield StepInfluence(step, influence_of_step)
            return
        # the influences at all thresholds, cut into runs
        lowest_first = reversed(runs(self.influence_table(c)))
        # not strict: a table without thresholds has no step, but one run of length 0
        for step, influence_of_step in zip(steps(c, backwards=True), lowest_first, strict=False):
            yield StepInfluence(step, influence_of_step)

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value, and the influence of each row: that of its class and threshold, by weight."""
        table = self.influence_table(rows.counts)
        # in the flat table the thresholds of negatives stand behind those of positives
        first_index_of_class = table.shape[1] * (rows.actual != 1)
        influence_of_rows = table.ravel().take(first_index_of_class + rows.threshold_index)
        if rows.weight is not None:
            influence_of_rows *= rows.weight
        return ValueAndInfluence(self.value(rows, k), influence_of_rows)


class Area(ScoreKind):
    """The area under the ROC curve: a mean over pairs of a positive and a negative row."""

    @property
    def leave_one_out(self) -> Area:
        """Itself: AUC has no bias, and its first-order influence values are large enough also for
        few positives.
        """
        return self


@dataclass(frozen=True)
class Order(ScoreKind):
    """A smooth metric of the order of the scores, between 0 and 1 or at least bounded.

    bias: table of unweighted rows -> the upward bias of the metric; None if it is not known.
    """

    bias: TableFunction | None = None

    @property
    def biased(self) -> bool:
        """True if few positives make it too high, as average precision."""
        return self.bias is not None

    def upward_bias(self, rows: Rows) -> float:
        """The bias of unweighted rows; 0 if it is not known."""
        if self.bias is None or rows.weight is not None:
            return 0.0
        return float(self.bias(rows.counts))


@dataclass(frozen=True)
class AtBaseRate(Order):
    """A metric of the order of the scores at another base rate, by reweighting the negatives.
    rate: the base rate.
    """

    rate: float = 0.5

    def positives_of(self, c: Counts) -> float:
        """The number of positives that the negatives of a table would have at the base rate: P from
        P / (P + N) = rate.
        """
        odds = quotient(self.rate, 1 - self.rate)
        return float(c.negatives * odds)


class Skill(ScoreKind):
    """A smooth metric of scores that are read as probabilities, without a lower bound."""


class Coefficient(ScoreKind):
    """A coefficient of a regression of the labels on the scores, without bounds."""


class Gap(ScoreKind):
    """The largest distance of two rates over the thresholds, such as KS; almost every sample has a
    larger one than the population.
    """


class Calibration(ScoreKind):
    """A distance between probabilities and observed frequencies. 0 is perfect calibration, which a
    sample never reaches.

    It has no valid interval, but labels drawn from the scores show what perfect calibration would
    give.
    """

    variance_by_class: ClassVar[bool] = False


@dataclass(frozen=True)
class Decision(ScoreKind):
    """A smooth number of the four counts at the threshold."""

    uses_decisions: ClassVar[bool] = True

    def value_at(self, c: Counts, threshold: float) -> float:
        """The metric at the threshold."""
        return float(self.function(counts.at(c, threshold)))

    def values_of_counts(self, c: Counts) -> Floats:
        """The metric of each of many samples. c: counts at a threshold, arrays over the samples."""
        # the fields of `Counts` in their order, for one sample at a time
        samples = map(Counts, c.threshold, c.tp, c.fp, c.positives, c.negatives)
        values = [float(self.function(sample)) for sample in samples]
        return np.array(values)

    def score_table(self, tables: Tables) -> Counts:
        """The table of the decisions."""
        return tables.decision_counts

    def value_of_table(self, c: Counts) -> float:
        """The metric of a table of decisions, whose scores are 1 and 0."""
        return self.value_at(c, 1.0)

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value, and the influence of each row: that of its outcome, TP, FN, FP or TN, by
        weight.
        """
        by_outcome = self.influence_table(rows.decision_counts).ravel()
        influence_of_rows = by_outcome.take(rows.outcome)
        if rows.weight is not None:
            influence_of_rows *= rows.weight
        return ValueAndInfluence(self.value(rows, k), influence_of_rows)


@dataclass(frozen=True)
class Overlap(Decision):
    """times · TP / (times · TP + weight · FN + FP), with two factors: F-beta and the Jaccard index,
    which ignore true negatives.
    """

    weight: float = 1.0
    times: float = 1.0

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and of a negative (second row),
        predicted positive (first column) or not. c: the table of decisions.

        A row changes numerator and denominator by these: TP both by `times`, FN the denominator by
        `weight`, FP the denominator by 1. The derivative of numerator / denominator is (change of
        the numerator - value · change of the denominator) / denominator.
        """
        value = self.value_of_table(c)
        of_positives = [self.times * (1 - value), -self.weight * value]  # TP, FN
        of_negatives = [-value, 0.0]  # FP, TN
        return ratio(np.array([of_positives, of_negatives]), self._denominator(c))

    def _denominator(self, c: Counts) -> Any:
        """times · TP + weight · FN + FP. c: a table of decisions, predicted positive first."""
        tp, fn = c.positive
        fp, _ = c.negative
        return self.times * tp + self.weight * fn + fp

    @property
    def leave_one_out(self) -> LeaveOneOut:
        """The same metric by the jackknife."""
        return LeaveOneOut(self.function, weight=self.weight, times=self.times)


class LeaveOneOut(Overlap):
    """F-beta or the Jaccard index of unweighted rows with influence values and bias by the
    jackknife: each row is left out in turn.

    With few positives first-order influence values are too small, and the value is biased.
    Quenouille 1956, doi:10.1093/biomet/43.3-4.353.
    """

    def _loss_without_row(self, c: Counts) -> Floats:
        """By how much the metric falls if one row is left out: for a row of the cell TP, FN (first
        line), FP or TN (second line). 0 if the metric is undefined without the row. c: the table of
        decisions.

        The metric is times · TP / (times · TP + weight · FN + FP), with the fields `times` and
        `weight`.
        """
        tp, _ = c.positive  # TP and FN: predicted positive first
        # the numerator without one row of each cell: only a TP is missing in it
        numerator = self.times * np.array([[tp - 1, tp], [tp, tp]])
        # what one row of each cell adds to the denominator; a TN adds nothing
        added_to_denominator = np.array([[self.times, self.weight], [1.0, 0.0]])
        without_row = ratio(numerator, self._denominator(c) - added_to_denominator)
        loss = self.value_of_table(c) - without_row
        return np.nan_to_num(loss)

    def _rows_by_cell(self, c: Counts) -> Floats:
        """The numbers of rows TP, FN (first line) and FP, TN (second line)."""
        return np.array([c.positive, c.negative], float)

    def influence_table(self, c: Counts) -> Floats:
        """As `Overlap.influence_table`: (n - 1) / n times what the metric loses without the row,
        less the mean loss over all rows.

        >>> from evalkit.catalogue.tables import F1
        >>> c = Counts.from_columns(np.array([1.0, 0.0]), np.array([2, 3]), np.array([1, 2]))
        >>> F1.kind.leave_one_out.influence_table(c).round(4).tolist()
        [[0.1227, -0.1173], [-0.1173, -0.0107]]
        """
        loss = self._loss_without_row(c)
        sum_of_losses = np.sum(loss * self._rows_by_cell(c))
        mean_loss = ratio(sum_of_losses, c.total)
        return (loss - mean_loss) * ratio(c.total - 1, c.total)

    def upward_bias(self, rows: Rows) -> float:
        """The upward bias by the jackknife: (n - 1) (mean of the values without one row each -
        value), which is -(n - 1) / n times the sum over all rows of what the metric loses without
        the row.
        """
        c = rows.decision_counts
        sum_of_losses = np.sum(self._loss_without_row(c) * self._rows_by_cell(c))
        return -quotient((c.total - 1) * sum_of_losses, c.total)


class SelectedRows(NamedTuple):
    """The rows that a threshold or a depth selects: the hits (positives) among them, their number,
    and the share of positives among the rows with scores near the cut-off.
    """

    hits: float
    rows: float
    share_near_cut_off: float


@dataclass(frozen=True)
class Lift(Decision):
    """Lift: the precision of the rows predicted positive / the base rate. share: the precision."""

    share: Metric | None = None

    def selected_rows(self, c: Counts) -> SelectedRows:
        """The rows that are predicted positive. Near the threshold the share of positives is taken
        to be that of all of them. c: the table of decisions.
        """
        # the first threshold of a table of decisions has the rows that are predicted positive
        hits = c.tp[0]
        rows = hits + c.fp[0]
        return SelectedRows(hits, rows, share_near_cut_off=quotient(hits, rows))


@dataclass(frozen=True)
class Depth(ScoreKind):
    """The lift of the rows with the highest scores; a tie at the cut-off is split in proportion.

    depth: below 1 their share of all rows, otherwise their number.
    """

    depth: float = 0.1
    variance_by_class: ClassVar[bool] = False

    def share(self, c: Counts) -> float:
        """The share of the top rows in all rows."""
        return self.depth if self.depth < 1 else quotient(self.depth, c.total)

    def selected_rows(self, c: Counts) -> SelectedRows:
        """The rows with the highest scores: their hits (positives), their number, and the share of
        positives near the cut-off, which is measured in a window of rows around it that reaches
        half of the way to the nearer end of the list.
        """
        rows = self.share(c) * c.total
        half_width = min(rows, c.total - rows) / 2
        depths = [rows - half_width, rows, rows + half_width]
        tp_at_start, hits, tp_at_end = curves.at_depth(c, depths).tp
        share_near_cut_off = 0.0
        if half_width:
            share_near_cut_off = quotient(tp_at_end - tp_at_start, 2 * half_width)
        return SelectedRows(float(hits), float(rows), share_near_cut_off)

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and of a negative (second row) at
        each threshold; shape (2, thresholds).

        The metric follows from the hits, the positives above the cut-off. One more row changes them
        in two ways. If it is a positive above the cut-off, it is a hit itself. And it moves the
        cut-off, as `share` more rows are selected: a row above it takes a place, so that 1 − share
        other rows drop out; a row below it takes none, so that share others come in. These others
        are near the cut-off, and `share_near_cut_off` of them are hits.
        """
        top = self.selected_rows(c)
        rows_at_score = c.rows
        rows_above = c.tp + c.fp - rows_at_score
        # the share of the rows of each score that is selected: 1 above the cut-off, 0 below it
        rows_to_cut_off = ratio(top.rows - rows_above, rows_at_score)
        selected_share = np.clip(rows_to_cut_off, 0, 1)
        rows_that_drop_out = selected_share - self.share(c)  # below 0: rows that come in
        lost_hits = top.share_near_cut_off * rows_that_drop_out
        # how many hits a positive adds, itself included, and a negative
        added_hits = np.array([selected_share - lost_hits, -lost_hits])
        # the subclasses for recall and precision divide the hits by other numbers than lift does
        return self.influence_of_hits(c, added_hits, top)

    def influence_of_hits(self, c: Counts, hits: Floats, selected_rows: SelectedRows) -> Floats:
        """The influence on the lift = hits / (P · share). hits: how many hits a row of each class
        and threshold adds, as in `influence_table`; it is overwritten.
        """
        # a positive also raises P, the number of positives, and so lowers the lift
        hits[0] -= ratio(selected_rows.hits, c.positives)
        return ratio(hits, c.positives * self.share(c))


class TopRecall(Depth):
    """The recall of the rows with the highest scores, which is their lift times their share."""

    def influence_of_hits(self, c: Counts, hits: Floats, selected_rows: SelectedRows) -> Floats:
        """The influence on the recall = hits / P, from the hits that a row adds."""
        return super().influence_of_hits(c, hits, selected_rows) * self.share(c)


class TopPrecision(Depth):
    """The precision of the rows with the highest scores."""

    def influence_of_hits(self, c: Counts, hits: Floats, selected_rows: SelectedRows) -> Floats:
        """The influence on the precision = hits / rows, from the hits that a row adds; it also adds
        `share` to the rows.
        """
        precision = ratio(selected_rows.hits, selected_rows.rows)
        lost_by_more_rows = self.share(c) * precision
        return ratio(hits - lost_by_more_rows, selected_rows.rows)


@dataclass(frozen=True)
class RecallAtRate(ScoreKind):
    """The recall at a false positive rate. rate: that rate, above 0 and below 1."""

    rate: float = 0.1

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the recall of a positive (first row) and of a negative (second row) at
        each threshold; shape (2, thresholds).

        The cut-off is where the false positive rate is `rate`. A positive above it is a hit: the
        influence is that on a share, (selected − recall) / P, where `selected` is 1 above the
        cut-off and 0 below it. A negative changes the false positive rate at the cut-off likewise,
        by (selected − rate) / N. The cut-off moves until the rate is the same again, and the recall
        changes by −slope times as much, with the slope of the ROC curve there.

        The slope is measured from half of the rate to one and a half of it. For a rate above ½ it
        is measured half of the way to the end of the curve, to either side.
        """
        false_positive_rate = ratio(c.fp, c.negatives)
        rate_before = ratio(c.fp - c.negative, c.negatives)
        # `selected` at the cut-off itself is the share of the negatives with this score that the
        # rate still allows. A score without negatives has no such share: it lies above the cut-off
        # if `false_positive_rate` there is at most `rate`.
        rate_at_score = false_positive_rate - rate_before
        negatives_to_cut_off = ratio(self.rate - rate_before, rate_at_score)
        share_of_negatives = np.clip(negatives_to_cut_off, 0, 1)
        is_above = false_positive_rate <= self.rate
        selected = np.where(c.negative > 0, share_of_negatives, is_above)
        half_width = min(self.rate, 1 - self.rate) / 2
        around = [self.rate - half_width, self.rate, self.rate + half_width]
        lower, recall, higher = curves.recall_at_rate(c, around)
        slope = ratio(higher - lower, 2 * half_width)
        of_positives = ratio(selected - recall, c.positives)
        on_rate = ratio(selected - self.rate, c.negatives)
        of_negatives = -slope * on_rate
        return np.array([of_positives, of_negatives])


def youden(recall: float, false_positive_rate: float) -> float:
    """Youden's J: recall − false positive rate."""
    return recall - false_positive_rate


@dataclass(frozen=True)
class FunctionOfRates(Decision):
    """A metric of the decisions that rises with the recall and falls with the false positive rate.
    rates: (recall, false positive rate) -> the metric.
    """

    rates: Callable[[float, float], float] = youden


@dataclass(frozen=True)
class MeanOfShares(Decision):
    """The mean of shares of disjoint sets of rows: balanced accuracy of recall and specificity."""

    shares: tuple[Metric, ...] = ()


class ValueAndSlopes(NamedTuple):
    """The value of a function of means, and its derivative by each of them."""

    value: Floats
    slopes: Floats


@dataclass(frozen=True)
class FunctionOfMeans(TermsKind):
    """A smooth function of means of numbers per row, such as R², which follows from the means of
    squared errors, actual values and their squares.

    numbers: (rows, centre) -> the numbers, one array per mean. function: their means, of one or, as
    columns, of several sets of rows -> the value and its derivatives by the means. The value must
    not depend on the centre: numbers less a centre near their mean keep digits when squared.
    """

    numbers: Callable[[Rows, Centre], Sequence[Floats]]
    function: Callable[[Floats], ValueAndSlopes]
    joint: ClassVar[bool] = True
    limits_use_fourth_powers: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value of the function of means, and the influence of each row by the delta method:
        the sum over the means of derivative · (number of the row − mean), times the row's share of
        the weight. k: unused, as these metrics have no cut-off.

        The numbers are computed from actual values and forecasts less a centre, because squares of
        small numbers keep more digits. Value and influences do not depend on the centre.
        """
        share = rows.shares
        numbers = self.numbers(rows, self.centre(rows))  # for each mean an array of shape (rows,)
        means = np.array([np.dot(share, column) for column in numbers])
        value, slopes = self.function(means)
        influence = np.zeros(len(rows))
        for column, mean, slope in zip(numbers, means, slopes, strict=True):
            influence += slope * (column - mean)
        return ValueAndInfluence(float(value), share * influence)

    def centre(self, rows: Rows) -> Centre:
        """The means of actual values and forecasts."""
        return Centre(_mean(rows.actual, rows.shares), _mean(rows.scores, rows.shares))

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """1 and the numbers of each row, unweighted."""
        return [np.ones(len(rows)), *self.numbers(rows, centre)]

    def of_terms(self, totals: Floats) -> float:
        """The value, from the sums of the terms."""
        return float(self.of_many_terms(totals))

    def of_many_terms(self, totals: Floats) -> Floats:
        """The values of several sets of rows. totals: for each set a column, the sums of terms."""
        weight = totals[0]  # the first term is the constant 1
        sums = totals[1:]
        return self.function(ratio(sums, weight)).value


def _mean(values: Floats, share: Floats) -> float:
    """The mean weighted by shares, 0 of no values; clipped, as rounding could take it out of the
    range of the values.
    """
    if not len(values):
        return 0.0
    mean = np.dot(share, values)
    return float(np.clip(mean, values.min(), values.max()))


@dataclass(frozen=True)
class MedianEstimate:
    """The median of a table, and the numbers from which the influence of each row on it follows.

    slope: of the quantile function at the median, 1 / density. above_half: the share of the weight
    at or below the median, less one half. weight: of all rows.
    """

    value: float
    slope: float
    above_half: float
    weight: float


@dataclass(frozen=True)
class Median(MetricKind):
    """The median of a number per row. numbers: rows -> a number for each.

    The influence of a row of share s is s (½ − [number ≤ median]) / density: a row above the median
    raises it. The density there is estimated from quantiles on both sides. Hall and Sheather 1988,
    doi:10.1111/j.2517-6161.1988.tb01735.x.
    """

    numbers: Callable[[Rows], Floats]
    joint: ClassVar[bool] = True
    heavy_share: ClassVar[float] = 0.2

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The median of the rows' numbers, and the influence of each row; NaN without rows. k:
        unused, as a median has no cut-off.

        The influence is share · pull · slope. The share is that of the row in the weight. The slope
        is that of the quantile function at the median. The pull is −½ for a row up to the median
        and ½ for a row above it; then `above_half` is added, so that the influences add up to 0.
        """
        numbers = self.numbers(rows)
        share = rows.shares
        if not len(numbers):
            return ValueAndInfluence(float("nan"), share)
        squared_shares = float(np.sum(share**2))  # 1 / the effective number of rows
        slope = _slope_at_median(numbers, share, squared_shares)
        if rows.weight is None:  # the same number as by equal weights, but faster
            median = float(np.median(numbers))
        else:
            median = _weighted_median(numbers, share)
        up_to_median = numbers <= median
        # the rows up to the median may have more than half of the weight, as in an odd number of
        # rows: by how much
        above_half = share[up_to_median].sum() - 0.5
        pull = 0.5 - up_to_median + above_half
        return ValueAndInfluence(median, share * pull * slope)

    def estimate(
        self, table: Distribution, squared_weights: float, *, weighted: bool
    ) -> MedianEstimate:
        """The median of a table that is read in blocks, and the numbers from which
        `influence_of_rows` has the influences; the formulas are those of `effects`.

        table: the distribution of the numbers, which may be in bins. squared_weights: the sum of
        the squared weights of the rows, which a distribution does not have. weighted: True if the
        rows have weights.
        """
        total = float(table.weight.sum())
        share = table.weight / total
        squared_shares = squared_weights / total**2  # 1 / the effective number of rows
        slope = _slope_at_median(table.values, share, squared_shares)
        median = table.median  # of unweighted rows
        if weighted:
            median = _weighted_median(table.values, share)
        up_to_median = table.values <= median
        share_up_to_median = table.weight[up_to_median].sum() / total
        above_half = float(share_up_to_median - 0.5)
        return MedianEstimate(median, slope, above_half, weight=total)

    def influence_of_rows(self, rows: Rows, estimate: MedianEstimate) -> Floats:
        """The influence of rows, each with weight 1, on the median of the table that they are a
        sample of. estimate: the median of this table.
        """
        up_to_median = (self.numbers(rows) <= estimate.value).astype(np.float64)
        pull = 0.5 - up_to_median + estimate.above_half  # up for a row above the median, else down
        return pull * (estimate.slope / estimate.weight)


HALF = 1e-11  # a sum of shares within this distance of one half is one half, up to rounding


def _slope_at_median(numbers: Floats, share: Floats, squared_shares: float) -> float:
    """The slope of the quantile function at the median, which is 1 / density: the difference of the
    quantiles at ½ ± width, by 2 width.

    share: of each number in the weight. squared_shares: the sum of the squared shares of the rows.
    """
    # Hall and Sheather's width falls with the cube root of n; 1 / squared_shares is Kish's
    # effective number of rows
    cube_root = float(squared_shares ** (1 / 3))
    width = min(0.25, 0.54 * cube_root)
    low, high = _quantiles(numbers, share, (0.5 - width, 0.5 + width))
    return (high - low) / (2 * width)


def _weighted_median(numbers: Floats, share: Floats) -> float:
    """The median by weight. Where half of the weight ends exactly at a number it is the mean of
    this and the next number, as for an even number of unweighted rows.
    """
    # otherwise both are the same number
    below, above = _quantiles(numbers, share, (0.5 - HALF, 0.5 + HALF))
    return (below + above) / 2


def _quantiles(numbers: Floats, share: Floats, levels: tuple[float, ...]) -> list[float]:
    """For each level the smallest number up to which the shares add up to at least the level."""
    order = np.argsort(numbers, kind="stable")
    share_up_to = np.cumsum(share[order])
    last = len(numbers) - 1  # rounding may leave the shares below the level
    positions = np.minimum(np.searchsorted(share_up_to, levels), last)
    quantiles: list[float] = numbers[order[positions]].tolist()
    return quantiles
