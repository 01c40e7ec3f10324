"""Kinds of metrics: each carries the functions that intervals and tests need; nobody asks what a metric is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.metrics import cells, counts
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

if TYPE_CHECKING:
    from evalkit.catalogue.metric import Metric

Number = Callable[[Counts], Any]  # a metric of a table, or of one threshold


@dataclass(frozen=True, eq=False)
class Effects:
    """A value and how much each row moves it: the derivative by the row's weight, times the weight; the sum is 0."""

    value: float
    rows: Floats


class Tables(Protocol):
    """The tables of a score: at its thresholds, as probabilities, and of what the threshold decides."""

    @property
    def counts(self) -> Counts: ...
    @property
    def chances(self) -> Counts: ...
    @property
    def cut(self) -> Counts: ...


# Kinds ------------------------------------------------------------------------------------------------------------


class Kind:
    """What a metric is to inference.

    apart: tests take the variance that positive and that negative rows add each by itself. decided: a threshold
    decides the metric, the order of the scores beside it does not matter. joint: value and effects come together.
    centred: a row moves the metric by its own number, less the mean. of_rows: the metric is a mean over rows.
    """

    apart: ClassVar[bool] = False
    decided: ClassVar[bool] = False
    joint: ClassVar[bool] = False
    centred: ClassVar[bool] = False
    of_rows: ClassVar[bool] = False

    @property
    def original(self) -> Metric | None:
        """The metric that this one transforms."""
        return None

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms of each unit, where the metric is a ratio of sums."""
        raise NotImplementedError

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        terms = self.sums(rows, k, 1)
        top, bottom = terms.numerator, terms.size
        moved = ratio(top - terms.value * bottom, np.nansum(np.where(np.isnan(top), np.nan, bottom)))
        return Effects(terms.value, np.nan_to_num(moved) if np.isfinite(terms.value) else moved)

    def value(self, rows: Rows, k: int | None) -> float:
        """The metric of all rows."""
        return self.sums(rows, k, 1).value

    def at(self, c: Counts, threshold: float) -> float:
        """The metric of a table of labels 0 and 1, at the threshold where one decides."""
        raise NotImplementedError


@dataclass(frozen=True)
class PerUnit(Kind):
    """The mean of one value a unit. of: (structure, k, level) -> the values; level is the relevance level."""

    of: Callable[..., Floats]

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The values."""
        return Sums(self.of(structure, k, level))


class Proportion(PerUnit):
    """A mean of zeros and ones, of units that other systems do not share."""


@dataclass(frozen=True)
class Ratio(Kind):
    """A ratio of sums over units. of: (structure, k, level) -> the terms of each unit."""

    of: Callable[..., Sums]

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms, times the weight of a row that has one."""
        return self.of(structure, k, level)


@dataclass(frozen=True)
class Loss(Kind):
    """The mean of one number a row. per_row: (rows, k) -> the numbers, NaN for a row that takes no part."""

    per_row: Callable[[Rows, Any], Floats]
    centred: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The losses, times the weights where rows have any."""
        loss, weight = self.per_row(structure, k), structure.weight
        return Sums(loss) if weight is None else Sums(loss * weight, np.where(np.isnan(loss), np.nan, weight))

    def at(self, c: Counts, threshold: float) -> float:
        """The mean over the rows of a table."""
        label = np.repeat([1, 0], len(c.threshold))
        loss = self.per_row(Rows(label, np.tile(c.threshold, 2)), None)
        return float(ratio(np.dot(np.concatenate([c.positive, c.negative]), loss), c.total))


CELLS = (np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))  # label and decision


@dataclass(frozen=True)
class Share(Kind):
    """Hits among some of the rows. of: (actual, predicted) -> which rows count, and which of them are hits."""

    of: Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]
    decided: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True

    def hits(self, rows: Rows) -> tuple[Bools, Bools]:
        """Which rows count, and which of these are hits."""
        member, hit = self.of(rows.actual, rows.predicted)
        return member, member & hit

    def cells(self) -> tuple[Bools, Bools]:
        """The same of a positive that is predicted, one that is not, and of such negatives."""
        member, hit = self.of(CELLS[0] == 1, CELLS[1] == 1)
        return member, member & hit

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The weight of hits and of the rows that count."""
        member, hit = self.hits(structure)
        return Sums(structure.weights * hit, structure.weights * member)

    def bins(self, decided: Counts) -> Floats:
        """How much a positive (first row) and a negative (second), predicted or not, moves the share."""
        (hits, members), (member, hit) = self.of_table(decided), self.cells()
        return ratio(member * (hit - ratio(hits, members)), members).reshape(2, 2)

    def of_table(self, decided: Counts) -> tuple[float, float]:
        """Hits and members, of the table of what is decided."""
        weight, (member, hit) = np.array([decided.positive, decided.negative]).ravel(), self.cells()
        return (weight @ hit).item(), (weight @ member).item()

    def at(self, c: Counts, threshold: float) -> float:
        """The share at the threshold."""
        return float(ratio(*self.of_table(cells.decision(c, threshold))))


@dataclass(frozen=True)
class OwnShare(Share):
    """A share of rows that each system picks for itself: two systems differ in the rows that count."""


@dataclass(frozen=True)
class Smooth(Kind):
    """Any other smooth number of the rows. of: (rows, k) -> its effects."""

    of: Callable[[Rows, int | None], Effects]
    joint: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        return self.of(rows, k)

    def value(self, rows: Rows, k: int | None) -> float:
        """The value."""
        return self.of(rows, k).value


class Quantile(Smooth):
    """A quantile of a number per row: its effects take the density there from the spacing."""


class Combined(Smooth):
    """A mean of the same metric of each class or label: the effects are those of its parts, added up."""


# Of the table of a score ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve(Kind):
    """A number of the whole order of the scores.

    of: the metric of a table. terms: what a positive (first row) and a negative (second) at each threshold adds to it
    to first order, in closed form; None for numerical derivatives.
    """

    of: Number
    terms: Callable[[Counts], Floats] | None = None

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
        if self.terms is not None:
            return self.terms(c)
        cell = cells.cells(c)
        return np.array(cells.derivatives(cells.pool(c, cell), self.read))[:, cell]

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        moved = self.bins(rows.counts)[np.where(rows.actual == 1, 0, 1), rows.place]
        return Effects(self.value(rows, k), rows.weights * moved)


class Area(Curve):
    """The area under the ROC curve: a mean over pairs of a positive and a negative row."""

    apart: ClassVar[bool] = True


class Order(Curve):
    """A smooth number of the order whose terms are known in closed form."""

    apart: ClassVar[bool] = True


class Rough(Curve):
    """A number of the order with a largest distance, a bend or bins in it: not smooth enough for first-order terms."""


@dataclass(frozen=True)
class Decision(Curve):
    """A smooth number of the four counts at the threshold."""

    apart: ClassVar[bool] = True
    decided: ClassVar[bool] = True

    def at(self, c: Counts, threshold: float) -> float:
        """The metric at the threshold."""
        return float(self.of(counts.at(c, threshold)))

    def source(self, tables: Tables) -> Counts:
        """The table of what is decided."""
        return tables.cut

    def read(self, c: Counts) -> float:
        """The metric of a table of decisions, whose scores are 1 and 0."""
        return self.at(c, 1.0)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        moved = self.bins(rows.cut)[np.where(rows.actual == 1, 0, 1), np.where(rows.predicted == 1, 0, 1)]
        return Effects(self.value(rows, k), rows.weights * moved)


# Of another metric ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transformed(Kind):
    """A monotone function f of another metric, with f′ as slope: it has that metric's test."""

    of: Metric
    f: Callable[[float], float]
    slope: Callable[[float], float]

    @property
    def original(self) -> Metric | None:
        """The metric that this one transforms."""
        return self.of

    def value(self, rows: Rows, k: int | None) -> float:
        """The function of the other metric's value."""
        return self.f(self.of.kind.value(rows, k))

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The other metric's effects times f′."""
        e = self.of.kind.effects(rows, k)
        return Effects(self.f(e.value), self.slope(e.value) * e.rows)

    def at(self, c: Counts, threshold: float) -> float:
        """The function of the other metric's value."""
        return self.f(self.of.kind.at(c, threshold))
