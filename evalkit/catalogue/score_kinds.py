"""Kinds of metrics of scores: of a table of scores, and of numbers: smooth functions of means, and
medians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import Centre, Effects, Kind, TableKind, TermsKind
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
    def chances(self) -> Counts: ...
    @property
    def cut(self) -> Counts: ...


class StepInfluence(NamedTuple):
    """A run of thresholds, and the influence of a positive (first row) and a negative (second) at
    each.
    """

    step: Step
    influence: Floats


# Of the whole order -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoreKind(TableKind):
    """A number of the whole order of the scores.

    function: the metric of a table. closed_form: the influence of a positive (first row) and a
    negative (second) at each threshold; None for numerical derivatives. by_step: the same for a run
    of thresholds at a time, the lowest first, of a table whose value is known; None if it saves
    nothing. rises: True if it never falls if a positive's score rises or a negative's falls.
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

    def source(self, tables: Tables) -> Counts:
        """The table that the metric is read from."""
        return tables.chances

    def read(self, c: Counts) -> float:
        """The metric of that table, or of one resampled from it."""
        return float(self.function(c))

    def value(self, rows: Rows, k: int | None) -> float:
        """The metric of the rows' table."""
        return self.read(self.source(rows))

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and a negative (second) at each
        threshold.
        """
        if self.closed_form is None:
            return influence.numerical(c, self.read)
        return self.closed_form(c)

    def influence_by_step(self, c: Counts, value: float) -> Iterator[StepInfluence]:
        """Yield runs of thresholds of the table, the lowest first, each with its part of
        `influence_table`. value: the metric.
        """
        if self.by_step is not None:
            for step, of_step in self.by_step(c, value):
                yield StepInfluence(step, of_step)
            return
        lowest_first = reversed(runs(self.influence_table(c)))
        for step, of_step in zip(steps(c, backwards=True), lowest_first, strict=False):
            yield StepInfluence(step, of_step)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        table = self.influence_table(rows.counts)
        of_class = np.where(rows.actual == 1, 0, 1)  # the first row of the table is of positives
        return Effects(self.value(rows, k), rows.weights * table[of_class, rows.place])


class Area(ScoreKind):
    """The area under the ROC curve: a mean over pairs of a positive and a negative row."""

    @property
    def leave_one_out(self) -> Area:
        """Itself: first-order influence values are large enough."""
        return self


@dataclass(frozen=True)
class Order(ScoreKind):
    """A smooth number of the order between 0 and 1, or at least bounded.

    bias: a function of a table of unweighted rows.
    """

    bias: TableFunction | None = None

    @property
    def biased(self) -> bool:
        """True if few positives make it too high, as average precision."""
        return self.bias is not None

    def excess(self, rows: Rows) -> float:
        """The bias, if it is known."""
        if self.bias is None or rows.weight is not None:
            return 0.0
        return float(self.bias(rows.counts))


@dataclass(frozen=True)
class AtBaseRate(Order):
    """A number of the order at another base rate, by reweighting the negatives."""

    rate: float = 0.5

    def positives_of(self, c: Counts) -> float:
        """The number of positives that this many negatives would have at that base rate."""
        return float(c.negatives * ratio(self.rate, 1 - self.rate))


class Skill(ScoreKind):
    """A smooth number of the scores as probabilities, without a lower bound."""


class Coefficient(ScoreKind):
    """A coefficient of a regression of the labels on the scores, without bounds."""


class Gap(ScoreKind):
    """The largest distance of two rates over the thresholds, which almost every sample
    overestimates.
    """


class Calibration(ScoreKind):
    """A distance between probabilities and observed frequencies: 0 is perfect and never reached in
    a sample.

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
        """The metric of each of many counts, which are arrays in `c`."""
        # the fields of `Counts` in their order
        rows = zip(c.threshold, c.tp, c.fp, c.positives, c.negatives, strict=True)
        return np.array([float(self.function(Counts(*row))) for row in rows])

    def source(self, tables: Tables) -> Counts:
        """The table of the decisions."""
        return tables.cut

    def read(self, c: Counts) -> float:
        """The metric of a table of decisions, whose scores are 1 and 0."""
        return self.value_at(c, 1.0)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        # `Rows.outcome` numbers the cells of the table row by row
        by_row = self.influence_table(rows.cut).ravel().take(rows.outcome)
        if rows.weight is not None:
            by_row *= rows.weight
        return Effects(self.value(rows, k), by_row)


@dataclass(frozen=True)
class Overlap(Decision):
    """times TP / (times TP + weight FN + FP): F-beta and the Jaccard index, which ignore true
    negatives.
    """

    weight: float = 1.0
    times: float = 1.0

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and a negative (second), predicted
        or not.
        """
        value = self.read(c)
        of_positives = [self.times * (1 - value), -self.weight * value]
        of_negatives = [-value, 0.0]
        return ratio(np.array([of_positives, of_negatives]), self._denominator(c))

    def _denominator(self, c: Counts) -> Any:
        """times TP + weight FN + FP. c: a table of decisions, predicted positive first."""
        tp, fn = c.positive
        fp, _ = c.negative
        return self.times * tp + self.weight * fn + fp

    @property
    def leave_one_out(self) -> LeaveOneOut:
        """The same metric by the jackknife."""
        return LeaveOneOut(self.function, weight=self.weight, times=self.times)


class LeaveOneOut(Overlap):
    """An overlap whose influence values are those of leaving out each row, for unweighted rows.

    With few positives first-order influence values are too small, and the value is biased.
    Quenouille 1956, doi:10.1093/biomet/43.3-4.353.
    """

    def _falls(self, c: Counts) -> Floats:
        """By how much the metric falls without a positive (first row) or a negative (second),
        predicted or not; 0 if it is then undefined.
        """
        tp, _ = c.positive
        hits = self.times * np.array([[tp - 1, tp], [tp, tp]])
        removed = np.array([[self.times, self.weight], [1.0, 0.0]])  # from the denominator
        without_row = ratio(hits, self._denominator(c) - removed)
        return np.nan_to_num(self.read(c) - without_row)

    def _rows(self, c: Counts) -> Floats:
        """The number of rows of each kind."""
        return np.array([c.positive, c.negative], float)

    def influence_table(self, c: Counts) -> Floats:
        """As `Overlap.influence_table`, (n - 1) / n times what the metric loses without the row,
        less the mean loss.

        >>> from evalkit.catalogue.tables import F1
        >>> c = Counts.of(np.array([1.0, 0.0]), np.array([2, 3]), np.array([1, 2]))
        >>> F1.kind.leave_one_out.influence_table(c).round(4).tolist()
        [[0.1227, -0.1173], [-0.1173, -0.0107]]
        """
        falls = self._falls(c)
        mean = ratio(np.sum(falls * self._rows(c)), c.total)
        return np.asarray((falls - mean) * ratio(c.total - 1, c.total))

    def excess(self, rows: Rows) -> float:
        """The upward bias by the jackknife."""
        c = rows.cut
        return float(-ratio((c.total - 1) * np.sum(self._falls(c) * self._rows(c)), c.total))


class Picked(NamedTuple):
    """The rows that a threshold or a depth picks: the hits among them, their number, and the share
    of hits near the cut-off.
    """

    hits: float
    rows: float
    border_share: float


@dataclass(frozen=True)
class Lift(Decision):
    """Precision of the picked rows / base rate. share: the precision."""

    share: Metric | None = None

    def picked(self, c: Counts) -> Picked:
        """The rows that are predicted positive; the share of hits near the cut-off is taken to be
        that of all of them.
        """
        # the first threshold of a table of decisions has the rows that are predicted positive
        hits = c.tp[0]
        rows = hits + c.fp[0]
        return Picked(hits, rows, border_share=float(ratio(hits, rows)))


@dataclass(frozen=True)
class Depth(ScoreKind):
    """The lift of the rows with the highest scores; a tie at the cut-off is split in proportion.

    depth: below 1 their share of all rows, otherwise their number.
    """

    depth: float = 0.1
    variance_by_class: ClassVar[bool] = False

    def share(self, c: Counts) -> float:
        """The share of the picked rows in all rows."""
        return self.depth if self.depth < 1 else float(ratio(self.depth, c.total))

    def picked(self, c: Counts) -> Picked:
        """The rows with the highest scores."""
        rows = self.share(c) * c.total
        width = min(rows, c.total - rows) / 2  # of the window around the cut-off, on each side
        low, hits, high = curves.at_depth(c, [rows - width, rows, rows + width]).tp
        border_share = float(ratio(high - low, 2 * width)) if width else 0.0
        return Picked(float(hits), float(rows), border_share)

    def influence_table(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and a negative (second) at each
        threshold.
        """
        picked = self.picked(c)
        rows_here = c.positive + c.negative
        rows_above = c.tp + c.fp - rows_here
        # the part of these rows that is picked; the cut-off splits those of one score
        picked_part = np.clip(ratio(picked.rows - rows_above, rows_here), 0, 1)
        # a row moves the cut-off, over which it pushes hits of the share around it
        pushed_out = -picked.border_share * (picked_part - self.share(c))
        hits = np.array([picked_part + pushed_out, pushed_out])
        return self.influence_of_hits(c, hits, picked)

    def influence_of_hits(self, c: Counts, hits: Floats, picked: Picked) -> Floats:
        """The influence on the metric, from the hits that a row at each threshold adds."""
        hits[0] -= ratio(picked.hits, c.positives)  # a positive also raises the base rate
        return ratio(hits, c.positives * self.share(c))


class TopRecall(Depth):
    """The recall of the rows with the highest scores, which is their lift times their share."""

    def influence_of_hits(self, c: Counts, hits: Floats, picked: Picked) -> Floats:
        """The influence on the recall, from the hits that a row at each threshold adds."""
        return super().influence_of_hits(c, hits, picked) * self.share(c)


class TopPrecision(Depth):
    """The precision of the rows with the highest scores."""

    def influence_of_hits(self, c: Counts, hits: Floats, picked: Picked) -> Floats:
        """The influence on the precision, from the hits that a row at each threshold adds."""
        precision = ratio(picked.hits, picked.rows)
        return ratio(hits - self.share(c) * precision, picked.rows)


def youden(recall: float, false_positive_rate: float) -> float:
    """Recall less the false positive rate."""
    return recall - false_positive_rate


@dataclass(frozen=True)
class FunctionOfRates(Decision):
    """A number that rises with the recall and falls with the false positive rate at the threshold:
    `rates` computes it from both.
    """

    rates: Callable[[float, float], float] = youden


@dataclass(frozen=True)
class MeanOfShares(Decision):
    """The mean of shares of disjoint sets of rows, such as recall and specificity."""

    shares: tuple[Metric, ...] = ()


class ValueAndSlopes(NamedTuple):
    """The value of a function of means, and its derivative by each of them."""

    value: Floats
    slopes: Floats


@dataclass(frozen=True)
class FunctionOfMeans(TermsKind):
    """A smooth function of means of numbers per row.

    numbers: (rows, centre) -> the numbers, one array per mean. function: their means, also several
    sets of them -> the value and its derivatives. The value must not depend on the centre, which is
    for numerical precision: squares are taken of numbers around 0.
    """

    numbers: Callable[[Rows, Centre], Sequence[Floats]]
    function: Callable[[Floats], ValueAndSlopes]
    joint: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        share = rows.shares
        numbers = self.numbers(rows, self.centre(rows))
        means = np.array([np.dot(share, column) for column in numbers])
        value, slopes = self.function(means)
        influence = np.zeros(len(rows))
        for column, mean, slope in zip(numbers, means, slopes, strict=True):
            influence += slope * (column - mean)
        return Effects(float(value), share * influence)

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
        """The values of several sets of rows, whose sums of the terms are the columns."""
        weight, sums = totals[0], totals[1:]  # the first term is the constant 1
        return self.function(ratio(sums, weight)).value


def _mean(values: Floats, share: Floats) -> float:
    """The mean, which rounding must not take out of the range of the values; 0 of no values."""
    if not len(values):
        return 0.0
    return float(np.clip(np.dot(share, values), values.min(), values.max()))


@dataclass(frozen=True)
class MedianEstimate:
    """A median. value: the median. slope: of the quantiles at the median, 1 / density. excess: the
    share of the weight up to the median less one half. weight: of all rows.
    """

    value: float
    slope: float
    excess: float
    weight: float


@dataclass(frozen=True)
class Median(Kind):
    """The median of a number per row; its influence values use the density there, from the spacing
    of the numbers.

    Hall and Sheather 1988, doi:10.1111/j.2517-6161.1988.tb01735.x. numbers: rows -> a number for
    each row.
    """

    numbers: Callable[[Rows], Floats]
    joint: ClassVar[bool] = True
    heavy: ClassVar[float] = 0.2

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        numbers = self.numbers(rows)
        share = rows.shares
        if not len(numbers):
            return Effects(float("nan"), share)
        slope = _slope_at_median(numbers, share, float(np.sum(share**2)))
        if rows.weight is None:
            median = float(np.median(numbers))
        else:
            median = _weighted_median(numbers, share)
        up_to = numbers <= median
        excess = float(share[up_to].sum() - 0.5)  # with it the effects add up to 0
        return Effects(median, share * (0.5 - up_to + excess) * slope)

    def estimate(
        self, table: Distribution, squared_weights: float, *, weighted: bool
    ) -> MedianEstimate:
        """The median of counted numbers. squared_weights: the sum of those of the rows."""
        total = float(table.weight.sum())
        share = table.weight / total
        slope = _slope_at_median(table.values, share, squared_weights / total**2)
        median = _weighted_median(table.values, share) if weighted else table.median
        excess = float(table.weight[table.values <= median].sum() / total - 0.5)
        return MedianEstimate(median, slope, excess, total)

    def influence_of_rows(self, rows: Rows, estimate: MedianEstimate) -> Floats:
        """The influence of each row of weight 1 on the median of a larger table."""
        up_to = (self.numbers(rows) <= estimate.value).astype(np.float64)
        return (0.5 - up_to + estimate.excess) * (estimate.slope / estimate.weight)


HALF = 1e-11  # how far a sum of shares that is one half may be from it, by rounding


def _slope_at_median(numbers: Floats, share: Floats, squared_shares: float) -> float:
    """The slope of the quantiles at the median, from those on both sides of it: 1 / density.

    squared_shares: the sum of the squared shares of the rows.
    """
    # On each side, as a share of rows. Hall and Sheather's width falls with the cube root of n, and
    # 1 / squared_shares is Kish's number of rows.
    width = min(0.25, 0.54 * float(squared_shares) ** (1 / 3))
    low = _quantile(numbers, share, 0.5 - width)
    high = _quantile(numbers, share, 0.5 + width)
    return float((high - low) / (2 * width))


def _weighted_median(numbers: Floats, share: Floats) -> float:
    """The median by weight; where half of the weight ends at a number, the mean of it and the next,
    as of unweighted rows.
    """
    below = _quantile(numbers, share, 0.5 - HALF)
    above = _quantile(numbers, share, 0.5 + HALF)
    return (below + above) / 2


def _quantile(numbers: Floats, share: Floats, level: float) -> float:
    """The smallest number up to which the shares add up to at least the level."""
    order = np.argsort(numbers, kind="stable")
    position = int(np.searchsorted(np.cumsum(share[order]), level))
    return float(numbers[order[min(position, len(numbers) - 1)]])
