"""Kinds of metrics of scores: of a table of scores, and of numbers: smooth functions of means, and
quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import Centre, Effects, Kind, OfTable
from evalkit.metrics import counts, curves, grid, influence
from evalkit.metrics.counts import Counts, Step, runs, steps
from evalkit.metrics.rows import Rows

if TYPE_CHECKING:
    from evalkit.catalogue.metric import Metric

Number = Callable[[Counts], Any]  # a metric of a table, or of one threshold


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


# Of the whole order -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve(OfTable):
    """A number of the whole order of the scores.

    of: the metric of a table. terms: the influence of a positive (first row) and a negative
    (second) at each threshold, in closed form; None for numerical derivatives. moves: the same for
    a run of thresholds at a time, the lowest first, of a table whose value is known; None if it
    saves nothing. rises: True if it never falls if a positive's score rises or a negative's falls.
    """

    of: Number
    terms: Callable[[Counts], Floats] | None = None
    moves: Callable[[Counts, float], Iterator[tuple[Step, Floats]]] | None = None
    rises: bool = True
    apart: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def at(self, c: Counts, threshold: float) -> float:
        """The metric of a table."""
        return float(self.of(c))

    def source(self, tables: Tables) -> Counts:
        """The table that the metric is read from."""
        return tables.chances

    def read(self, c: Counts) -> float:
        """The metric of that table, or of one resampled from it."""
        return float(self.of(c))

    def value(self, rows: Rows, k: int | None) -> float:
        """The metric of the rows' table."""
        return self.read(self.source(rows))

    def bins(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and a negative (second) at each
        threshold.
        """
        return influence.moves(c, self.read) if self.terms is None else self.terms(c)

    def by_steps(self, c: Counts, value: float) -> Iterator[tuple[Step, Floats]]:
        """Yield runs of thresholds of the table, the lowest first, each with its part of `bins`.
        value: the metric.
        """
        if self.moves is not None:
            yield from self.moves(c, value)
            return
        yield from zip(steps(c, backwards=True), reversed(runs(self.bins(c))), strict=False)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        moved = self.bins(rows.counts)[np.where(rows.actual == 1, 0, 1), rows.place]
        return Effects(self.value(rows, k), rows.weights * moved)


class Area(Curve):
    """The area under the ROC curve: a mean over pairs of a positive and a negative row."""

    @property
    def leave_one_out(self) -> Area:
        """Itself: first-order influence values are large enough."""
        return self


@dataclass(frozen=True)
class Order(Curve):
    """A smooth number of the order between 0 and 1, or at least bounded.

    bias: a function of a table of unweighted rows.
    """

    bias: Number | None = None

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
class AtRate(Order):
    """A number of the order at another base rate, by reweighting the negatives."""

    rate: float = 0.5

    def positives_of(self, c: Counts) -> float:
        """The number of positives that this many negatives would have at that base rate."""
        return float(c.negatives * ratio(self.rate, 1 - self.rate))


class Skill(Curve):
    """A smooth number of the scores as probabilities, without a lower bound."""


class Coefficient(Curve):
    """A coefficient of a regression of the labels on the scores, without bounds."""


class Gap(Curve):
    """The largest distance of two rates over the thresholds, which almost every sample
    overestimates.
    """


class Calibration(Curve):
    """A distance between probabilities and observed frequencies: 0 is perfect and never reached in
    a sample.

    It has no valid interval, but labels drawn from the scores show what perfect calibration would
    give.
    """

    apart: ClassVar[bool] = False


@dataclass(frozen=True)
class Decision(Curve):
    """A smooth number of the four counts at the threshold."""

    decided: ClassVar[bool] = True

    def at(self, c: Counts, threshold: float) -> float:
        """The metric at the threshold."""
        return float(self.of(counts.at(c, threshold)))

    def each(self, c: Counts) -> Floats:
        """The metric of each of many counts."""
        sides = zip(c.threshold, c.tp, c.fp, c.positives, c.negatives, strict=True)
        return np.array([float(self.of(Counts(*of))) for of in sides])

    def source(self, tables: Tables) -> Counts:
        """The table of the decisions."""
        return tables.cut

    def read(self, c: Counts) -> float:
        """The metric of a table of decisions, whose scores are 1 and 0."""
        return self.at(c, 1.0)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        moved = self.bins(rows.cut).ravel().take(rows.outcome)
        if rows.weight is not None:
            moved *= rows.weight
        return Effects(self.value(rows, k), moved)


@dataclass(frozen=True)
class Overlap(Decision):
    """times TP / (times TP + weight FN + FP): F-beta and the Jaccard index, which ignore true
    negatives.
    """

    weight: float = 1.0
    times: float = 1.0

    def bins(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and a negative (second), predicted
        or not.
        """
        value = self.read(c)
        tp, fn = c.positive
        fp, _ = c.negative
        size = self.times * tp + self.weight * fn + fp
        return ratio(
            np.array([[self.times * (1 - value), -self.weight * value], [-value, 0.0]]), size
        )

    @property
    def leave_one_out(self) -> LeaveOneOut:
        """The same metric by the jackknife."""
        return LeaveOneOut(self.of, weight=self.weight, times=self.times)


class LeaveOneOut(Overlap):
    """An overlap whose influence values are those of leaving out each row, for unweighted rows.

    With few positives first-order influence values are too small, and the value is biased.
    Quenouille 1956, doi:10.1093/biomet/43.3-4.353.
    """

    def _falls(self, c: Counts) -> Floats:
        """By how much the metric falls without a positive (first row) or a negative (second),
        predicted or not; 0 if it is then undefined.
        """
        value = self.read(c)
        tp, fn = c.positive
        fp, _ = c.negative
        size = self.times * tp + self.weight * fn + fp
        hits = self.times * np.array([[tp - 1, tp], [tp, tp]])
        without = ratio(hits, size - np.array([[self.times, self.weight], [1.0, 0.0]]))
        return np.nan_to_num(value - without)

    def _rows(self, c: Counts) -> Floats:
        """The number of rows of each kind."""
        return np.array([c.positive, c.negative], float)

    def bins(self, c: Counts) -> Floats:
        """As `Overlap.bins`, (n - 1) / n times what the metric loses without the row, less the mean
        loss.

        >>> from evalkit.catalogue.tables import F1
        >>> c = Counts.of(np.array([1.0, 0.0]), np.array([2, 3]), np.array([1, 2]))
        >>> F1.kind.leave_one_out.bins(c).round(4).tolist()
        [[0.1227, -0.1173], [-0.1173, -0.0107]]
        """
        falls = self._falls(c)
        mean = ratio(np.sum(falls * self._rows(c)), c.total)
        return (falls - mean) * ratio(c.total - 1, c.total)

    def excess(self, rows: Rows) -> float:
        """The upward bias by the jackknife."""
        c = rows.cut
        return float(-ratio((c.total - 1) * np.sum(self._falls(c) * self._rows(c)), c.total))


@dataclass(frozen=True)
class Lift(Decision):
    """Precision of the picked rows / base rate. share: the precision."""

    share: Metric | None = None

    def picked(self, c: Counts) -> tuple[float, float, float]:
        """Hits among the picked rows, the number of picked rows, and the share of hits near the
        cut-off.
        """
        hits = c.tp[0]
        picked = c.tp[0] + c.fp[0]
        return hits, picked, float(ratio(hits, picked))


@dataclass(frozen=True)
class Depth(Curve):
    """The lift of the rows with the highest scores; a tie at the cut-off is split in proportion.

    depth: below 1 their share of all rows, otherwise their number.
    """

    depth: float = 0.1
    apart: ClassVar[bool] = False

    def share(self, c: Counts) -> float:
        """The share of the picked rows in all rows."""
        return self.depth if self.depth < 1 else float(ratio(self.depth, c.total))

    def picked(self, c: Counts) -> tuple[float, float, float]:
        """Hits among the picked rows, the number of picked rows, and the share of hits around the
        cut-off.
        """
        rows = self.share(c) * c.total
        wide = min(rows, c.total - rows) / 2
        low, middle, high = curves.at_depth(c, [rows - wide, rows, rows + wide]).tp
        return float(middle), float(rows), float(ratio(high - low, 2 * wide)) if wide else 0.0

    def bins(self, c: Counts) -> Floats:
        """The influence on the metric of a positive (first row) and a negative (second) at each
        threshold.
        """
        hits, rows, border = self.picked(c)
        each = c.positive + c.negative
        # the part of these rows that is picked
        inside = np.clip(ratio(rows - (c.tp + c.fp - each), each), 0, 1)
        moved = -border * (inside - self.share(c))
        return self.moves_of(c, np.array([inside + moved, moved]), hits, rows)

    def moves_of(self, c: Counts, hits: Floats, all_hits: float, rows: float) -> Floats:
        """The effect on the metric of the hits that each threshold adds."""
        hits[0] -= ratio(all_hits, c.positives)
        return ratio(hits, c.positives * self.share(c))


class TopRecall(Depth):
    """The recall of the rows with the highest scores, which is their lift times their share."""

    def moves_of(self, c: Counts, hits: Floats, all_hits: float, rows: float) -> Floats:
        """The effect on the recall of the hits that each threshold adds."""
        return super().moves_of(c, hits, all_hits, rows) * self.share(c)


class TopPrecision(Depth):
    """The precision of the rows with the highest scores."""

    def moves_of(self, c: Counts, hits: Floats, all_hits: float, rows: float) -> Floats:
        """The effect on the precision of the hits that each threshold adds."""
        return ratio(hits - self.share(c) * ratio(all_hits, rows), rows)


@dataclass(frozen=True)
class AtRates(Decision):
    """A number that rises with the recall and falls with the false positive rate at the threshold:
    `rates` has both.
    """

    rates: Callable[[float, float], float] = lambda recall, false: recall - false


@dataclass(frozen=True)
class OfShares(Decision):
    """The mean of shares of disjoint sets of rows, such as recall and specificity."""

    shares: tuple[Metric, ...] = ()


@dataclass(frozen=True)
class OfMeans(Kind):
    """A smooth function of means of numbers per row.

    of: (rows, centre) -> the numbers. f: their means, also several sets of them -> the value and
    its derivatives. The value must not depend on the centre, which is for numerical precision:
    squares are taken of numbers around 0.
    """

    of: Callable[[Rows, Centre], Sequence[Floats]]
    f: Callable[[Floats], tuple[Floats, Floats]]
    joint: ClassVar[bool] = True
    totalled: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        share = rows.shares
        numbers = self.of(rows, self.centre(rows))
        means = np.array([np.dot(share, column) for column in numbers])
        value, slopes = self.f(means)
        moved = np.zeros(len(rows))
        for column, mean, slope in zip(numbers, means, slopes, strict=True):
            moved += slope * (column - mean)
        return Effects(float(value), share * moved)

    def centre(self, rows: Rows) -> Centre:
        """The means of actual values and forecasts."""
        return _centre(rows.actual, rows.shares), _centre(rows.scores, rows.shares)

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """1 and the numbers of each row, unweighted."""
        return [np.ones(len(rows)), *self.of(rows, centre)]

    def of_terms(self, totals: Floats) -> float:
        """The value, from the sums of the terms."""
        return float(self.of_sets(totals))

    def of_sets(self, totals: Floats) -> Floats:
        """The values of several sets of rows, whose sums of the terms are the columns."""
        return self.f(ratio(totals[1:], totals[0]))[0]


def _centre(values: Floats, share: Floats) -> float:
    """The mean, which rounding must not take out of the range of the values."""
    return float(np.clip(np.dot(share, values), values.min(), values.max())) if len(values) else 0.0


@dataclass(frozen=True)
class Middle:
    """A median: the value, the slope of the quantiles there, the share of rows up to it minus one
    half, all weight.
    """

    value: float
    slope: float
    excess: float
    weight: float


@dataclass(frozen=True)
class Quantile(Kind):
    """The median of a number per row; its influence values use the density there, from the spacing
    of the numbers.

    Hall and Sheather 1988, doi:10.1111/j.2517-6161.1988.tb01735.x. of: rows -> the numbers.
    """

    of: Callable[[Rows], Floats]
    joint: ClassVar[bool] = True
    heavy: ClassVar[float] = 0.2

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        size = self.of(rows)
        share = rows.shares
        if not len(size):
            return Effects(float("nan"), share)
        wide = _bandwidth(float(np.sum(share**2)))
        low, high = (_quantile(size, share, at) for at in (0.5 - wide, 0.5 + wide))
        middle = float(np.median(size)) if rows.weight is None else _median(size, share)
        excess = float(share[size <= middle].sum() - 0.5)  # with it the effects add up to 0
        return Effects(
            middle, share * (0.5 - (size <= middle) + excess) * (high - low) / (2 * wide)
        )

    def middle(self, table: grid.Counted, squares: float, *, weighted: bool) -> Middle:
        """The median of counted numbers. squares: the sum of the squared weights of the rows."""
        total = float(table.weight.sum())
        share = table.weight / total
        wide = _bandwidth(squares / total**2)
        low, high = (_quantile(table.values, share, at) for at in (0.5 - wide, 0.5 + wide))
        middle = _median(table.values, share) if weighted else float(table.quantiles([0.5])[0])
        excess = float(table.weight[table.values <= middle].sum() / total - 0.5)
        return Middle(middle, (high - low) / (2 * wide), excess, total)

    def of_terms(self, known: Middle) -> float:
        """The median."""
        return known.value

    def moved(self, rows: Rows, k: int | None, centre: Centre, known: Middle) -> Floats:
        """The influence of each row of weight 1 on the median."""
        below = (self.of(rows) <= known.value).astype(np.float64)
        return (0.5 - below + known.excess) * (known.slope / known.weight)


HALF = 1e-11  # how far a sum of shares that is one half may be from it, by rounding


def _bandwidth(squares: float) -> float:
    """How far from the middle, as a share of the rows, the spacing is taken. squares: the sum of
    squared shares.
    """
    return min(0.25, 0.54 * float(squares) ** (1 / 3))


def _median(size: Floats, share: Floats) -> float:
    """The middle; where half of the weight ends at a row, the mean of it and the next, as of
    unweighted rows.
    """
    return (_quantile(size, share, 0.5 - HALF) + _quantile(size, share, 0.5 + HALF)) / 2


def _quantile(size: Floats, share: Floats, at: float) -> float:
    order = np.argsort(size, kind="stable")
    place = np.searchsorted(np.cumsum(share[order]), at)
    return float(size[order[min(int(place), len(size) - 1)]])
