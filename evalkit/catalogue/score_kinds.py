"""Kinds of metrics of the table of a score: of its whole order, of its probabilities, of what a threshold decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from evalkit.arrays import Floats, ratio
from evalkit.catalogue.kinds import Effects, OfTable
from evalkit.metrics import cells, counts, curves
from evalkit.metrics.counts import Counts, Step, steps
from evalkit.metrics.rows import Rows

if TYPE_CHECKING:
    from evalkit.catalogue.metric import Metric

Number = Callable[[Counts], Any]  # a metric of a table, or of one threshold


class Tables(Protocol):
    """The tables of a score: at its thresholds, as probabilities, and of what the threshold decides, None without."""

    @property
    def counts(self) -> Counts: ...
    @property
    def chances(self) -> Counts: ...
    @property
    def cut(self) -> Counts | None: ...


# Of the whole order -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve(OfTable):
    """A number of the whole order of the scores.

    of: the metric of a table. terms: what a positive (first row) and a negative (second) at each threshold adds to it
    to first order, in closed form; None for numerical derivatives. moves: the same for a run of thresholds at a time,
    the lowest first, of a table whose value is known; None where nothing is saved by it.
    """

    of: Number
    terms: Callable[[Counts], Floats] | None = None
    moves: Callable[[Counts, float], Iterator[tuple[Step, Floats]]] | None = None
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
        """What a positive (first row) and a negative (second) at each threshold of the table adds to the metric."""
        return cells.moves(c, self.read) if self.terms is None else self.terms(c)

    def by_steps(self, c: Counts, value: float) -> Iterator[tuple[Step, Floats]]:
        """Yield runs of thresholds of the table, the lowest first, each with its part of `bins`. value: the metric."""
        if self.moves is not None:
            yield from self.moves(c, value)
            return
        bins = self.bins(c)
        stop = bins.shape[1]
        for step in steps(c, backwards=True):
            start = stop - len(step.p)
            yield step, bins[:, start:stop]
            stop = start

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        moved = self.bins(rows.counts)[np.where(rows.actual == 1, 0, 1), rows.place]
        return Effects(self.value(rows, k), rows.weights * moved)


class Area(Curve):
    """The area under the ROC curve: a mean over pairs of a positive and a negative row."""

    apart: ClassVar[bool] = True


@dataclass(frozen=True)
class Order(Curve):
    """A smooth number of the order between 0 and 1, or at least bounded. bias: of a table whose rows count alike."""

    bias: Number | None = None
    apart: ClassVar[bool] = True

    def excess(self, rows: Rows) -> float:
        """The bias, where it is known."""
        return 0.0 if self.bias is None or rows.weight is not None else float(self.bias(rows.counts))


@dataclass(frozen=True)
class AtRate(Order):
    """A number of the order at another base rate, which gives the negatives another weight."""

    rate: float = 0.5

    def positives_of(self, c: Counts) -> float:
        """Positives that would come with the negatives at hand at that rate."""
        return float(c.negatives * ratio(self.rate, 1 - self.rate))


class Skill(Curve):
    """A smooth number of the scores as probabilities, without an end of its range below."""

    apart: ClassVar[bool] = True


class Coefficient(Curve):
    """A coefficient of a regression of the labels on the scores, which has no ends."""

    apart: ClassVar[bool] = True


class Gap(Curve):
    """The largest distance of two rates over the thresholds: larger in almost every sample than it is."""

    apart: ClassVar[bool] = True


class Calibration(Curve):
    """A distance of probabilities from how often they come true: 0 at best and never in a sample.

    No interval holds it, but labels drawn from the scores say what perfect calibration would show.
    """


@dataclass(frozen=True)
class Decision(Curve):
    """A smooth number of the four counts at the threshold."""

    apart: ClassVar[bool] = True
    decided: ClassVar[bool] = True

    def at(self, c: Counts, threshold: float) -> float:
        """The metric at the threshold."""
        return float(self.of(counts.at(c, threshold)))

    def each(self, c: Counts) -> Floats:
        """The metric of each of many counts."""
        sides = zip(c.threshold, c.tp, c.fp, c.positives, c.negatives, strict=True)
        return np.array([float(self.of(Counts(*of))) for of in sides])

    def source(self, tables: Tables) -> Counts:
        """The table of what is decided."""
        assert tables.cut is not None
        return tables.cut

    def read(self, c: Counts) -> float:
        """The metric of a table of decisions, whose scores are 1 and 0."""
        return self.at(c, 1.0)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        moved = self.bins(rows.cut)[np.where(rows.actual == 1, 0, 1), np.where(rows.predicted == 1, 0, 1)]
        return Effects(self.value(rows, k), rows.weights * moved)


@dataclass(frozen=True)
class Overlap(Decision):
    """times TP / (times TP + weight FN + FP): F-beta and the Jaccard index, which no true negative moves."""

    weight: float = 1.0
    times: float = 1.0

    def bins(self, c: Counts) -> Floats:
        """What a positive (first row) and a negative (second), predicted or not, adds to the metric."""
        value, (tp, fn), (fp, _) = self.read(c), c.positive, c.negative
        size = self.times * tp + self.weight * fn + fp
        return ratio(np.array([[self.times * (1 - value), -self.weight * value], [-value, 0.0]]), size)


@dataclass(frozen=True)
class Lift(Decision):
    """Precision of the rows that are picked / base rate. share: the precision."""

    share: Metric | None = None

    def picked(self, c: Counts) -> tuple[float, float, float]:
        """Hits among the rows picked, the rows picked, and the share of hits at their border."""
        hits, picked = c.tp[0], c.tp[0] + c.fp[0]
        return hits, picked, float(ratio(hits, picked))


@dataclass(frozen=True)
class Depth(Curve):
    """The lift of a share of the rows, those with the highest scores; a tie at the border is taken in parts."""

    depth: float = 0.1

    def picked(self, c: Counts) -> tuple[float, float, float]:
        """Hits among the rows picked, the rows picked, and the share of hits around their border."""
        rows = self.depth * c.total
        wide = min(rows, c.total - rows) / 2
        low, middle, high = curves.at_depth(c, [rows - wide, rows, rows + wide]).tp
        return float(middle), float(rows), float(ratio(high - low, 2 * wide))

    def bins(self, c: Counts) -> Floats:
        """What a positive (first row) and a negative (second) at each threshold adds to the lift."""
        hits, rows, border = self.picked(c)
        each = c.positive + c.negative
        inside = np.clip(ratio(rows - (c.tp + c.fp - each), each), 0, 1)  # the part of these rows that is picked
        moved = -border * (inside - self.depth)
        return ratio(np.array([inside - ratio(hits, c.positives) + moved, moved]), c.positives * self.depth)


@dataclass(frozen=True)
class AtRates(Decision):
    """A number that rises with the recall and falls with the false positive rate at the threshold: `rates` of both."""

    rates: Callable[[float, float], float] = lambda recall, false: recall - false


@dataclass(frozen=True)
class OfShares(Decision):
    """The mean of shares of rows that do not overlap, such as recall and specificity."""

    shares: tuple[Metric, ...] = ()
