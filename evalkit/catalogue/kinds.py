"""Kinds of metrics: each carries the functions that intervals and tests need; nobody asks what a metric is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.metrics import cells
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

if TYPE_CHECKING:
    from evalkit.catalogue.metric import Metric


@dataclass(frozen=True, eq=False)
class Effects:
    """A value and how much each row moves it: the derivative by the row's weight, times the weight; the sum is 0."""

    value: float
    rows: Floats


CELLS = (np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))  # label and decision


# Kinds ------------------------------------------------------------------------------------------------------------


class Kind:
    """What a metric is to inference.

    apart: tests take the variance that positive and that negative rows add each by itself. decided: a threshold
    decides the metric, the order of the scores beside it does not matter. joint: value and effects come together.
    centred: a row moves the metric by numbers of its own, not of its place in the table. of_rows: the metric is a mean
    over rows. summed: sums over rows that are read twice tell it.
    """

    apart: ClassVar[bool] = False
    decided: ClassVar[bool] = False
    joint: ClassVar[bool] = False
    centred: ClassVar[bool] = False
    of_rows: ClassVar[bool] = False
    summed: ClassVar[bool] = False

    @property
    def original(self) -> Metric | None:
        """The metric that this one transforms."""
        return None

    def groups(self, rows: Rows) -> list[Bools]:
        """The groups of rows on each of which the metric depends: of the smaller one few may tell its variance."""
        label = rows.actual == 1
        return [label, ~label] if self.apart else [np.ones(len(rows), dtype=bool)]

    def group_cells(self) -> list[Bools]:
        """The same groups by TP, FN, FP and TN."""
        label = CELLS[0] == 1
        return [label, ~label] if self.apart else [np.ones(4, dtype=bool)]

    def strata(self, rows: Rows) -> list[Bools]:
        """The groups of rows that add to the variance of a difference each by themselves; none where all do alike."""
        return []

    def excess(self, rows: Rows) -> float:
        """How much too high the value of so few rows is; what adds up where a metric is a mean of several."""
        return 0.0

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
    """The mean of one number a row. per_row: (rows, k) -> the numbers, NaN for a row that takes no part.

    worst: the number of a row whose prediction is certain and wrong, where that is far from all others.
    """

    per_row: Callable[[Rows, Any], Floats]
    worst: float = np.inf
    centred: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The losses, times the weights where rows have any."""
        loss, weight = self.per_row(structure, k), structure.weight
        return Sums(loss) if weight is None else Sums(loss * weight, np.where(np.isnan(loss), np.nan, weight))

    def at(self, c: Counts, threshold: float) -> float:
        """The mean over the rows of a table."""
        return self.of_table(c, threshold)[0]

    def of_table(self, c: Counts, threshold: float) -> tuple[float, float]:
        """The mean over the rows of a table and their weight; NaN if some take no part: their pairs are not known."""
        rows, weight = rows_of(c, threshold)
        loss = self.per_row(rows, None)
        if np.isnan(loss[weight > 0]).any():
            return np.nan, np.nan
        return float(ratio(np.dot(weight, np.nan_to_num(loss)), c.total)), float(c.total)

    def above(self, rows: Rows, value: float) -> Floats:
        """What each row adds to the sum beyond the value."""
        return self.per_row(rows, None) - value


@dataclass(frozen=True)
class RatioOfRows(Kind):
    """A ratio of sums over rows. sides: the two numbers of each row, before its weight."""

    sides: Callable[[Rows], Sequence[Floats]]
    centred: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """Both numbers, times the weights of the rows."""
        return Sums(*(structure.weights * side for side in self.sides(structure)))

    def at(self, c: Counts, threshold: float) -> float:
        """The ratio over the rows of a table."""
        return self.of_table(c, threshold)[0]

    def of_table(self, c: Counts, threshold: float) -> tuple[float, float]:
        """The ratio over the rows of a table and the sum of their denominators; NaN if some take no part."""
        rows, weight = rows_of(c, threshold)
        top, bottom = (np.dot(weight[weight > 0], side[weight > 0]) for side in self.sides(rows))
        return (float(ratio(top, bottom)), float(bottom)) if np.isfinite(top) else (np.nan, np.nan)

    def above(self, rows: Rows, value: float) -> Floats:
        """What each row adds to the numerator beyond the value times its denominator."""
        top, bottom = self.sides(rows)
        return top - value * bottom


def rows_of(c: Counts, threshold: float) -> tuple[Rows, Floats]:
    """One row for each class and threshold of a table, and how much it weighs."""
    label = np.repeat([1, 0], len(c.threshold))
    return Rows(label, np.tile(c.threshold, 2), threshold), np.concatenate([c.positive, c.negative])


@dataclass(frozen=True)
class Share(Kind):
    """Hits among some of the rows. of: (actual, predicted) -> which rows count, and which of them are hits."""

    of: Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]
    decided: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def hits(self, rows: Rows) -> tuple[Bools, Bools]:
        """Which rows count, and which of these are hits."""
        member, hit = self.of(rows.actual, rows.predicted)
        return member, member & hit

    def groups(self, rows: Rows) -> list[Bools]:
        """The rows that count."""
        return [self.hits(rows)[0]]

    def group_cells(self) -> list[Bools]:
        """The cells that count."""
        return [self.cells()[0]]

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


class Agreement(Smooth):
    """A smooth number of the table of actual and predicted classes."""


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one class or label among all: its share in the mean, and where its rows stand; None: all of them."""

    share: float
    rows: Rows
    places: np.ndarray | None = None

    def spread(self, moved: Floats, n: int) -> Floats:
        """What moves the part, of all n rows: 0 for those that take no part."""
        if self.places is None:
            return moved
        every = np.zeros(n)
        every[self.places] = moved
        return every


@dataclass(frozen=True)
class Combined(Kind):
    """A mean of one metric of each class or label. of: that metric. parts: the rows of each. by: the strata."""

    of: Metric
    parts: Callable[[Rows], Iterable[Part]]
    by: Callable[[Rows], list[Bools]] = lambda rows: []

    def strata(self, rows: Rows) -> list[Bools]:
        """The rows of each class, where a row has one."""
        return self.by(rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts with their shares in the mean."""
        return self.parts(rows)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats | None:
        """How much each row moves the mean as it moves the shares; None where these are fixed."""
        return None

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean; undefined where there is no part, or one is undefined."""
        values = [(part.share, self.of.kind.value(part.rows, k)) for part in self.weighed(rows)]
        return float(sum(share * value for share, value in values)) if values else float("nan")

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it: the effects of the parts, added up."""
        value, moved = float("nan"), np.zeros(len(rows))
        for number, part in enumerate(self.weighed(rows)):
            e = self.of.kind.effects(part.rows, k)
            value = part.share * e.value + (value if number else 0.0)
            moved += part.share * part.spread(e.rows, len(rows))
        shares = self.by_share(rows, k, value)
        return Effects(value, moved if shares is None else moved + shares)


def _positive(rows: Rows) -> Bools:
    return rows.actual == 1


@dataclass(frozen=True)
class Weighted(Combined):
    """The mean with the weight that each part has in the rows. counted: which of a part's rows these are."""

    counted: Callable[[Rows], Bools] = _positive

    def _weight(self, part: Part) -> Floats:
        return part.rows.weights * self.counted(part.rows)

    def weighed(self, rows: Rows) -> Iterable[Part]:
        """The parts that have any weight."""
        sizes = [float(self._weight(part).sum()) for part in self.parts(rows)]
        pairs = zip(self.parts(rows), sizes, strict=True)
        return (replace(part, share=size / sum(sizes)) for part, size in pairs if size > 0)

    def by_share(self, rows: Rows, k: int | None, value: float) -> Floats:
        """A row counts for its parts: by how much these are above the mean."""
        moved, total = np.zeros(len(rows)), 0.0
        for part in self.weighed(rows):
            weight = self._weight(part)
            moved += part.spread(weight * (self.of.kind.value(part.rows, k) - value), len(rows))
            total += float(weight.sum())
        return ratio(moved, total)


@dataclass(frozen=True)
class Harmonic(Kind):
    """The harmonic mean of two metrics, both of which it rises with."""

    pair: tuple[Metric, Metric]

    def strata(self, rows: Rows) -> list[Bools]:
        """Those of the two."""
        return self.pair[0].kind.strata(rows)

    def of(self, first: float, second: float) -> float:
        """The mean of two values."""
        return float(ratio(2 * first * second, first + second))

    def value(self, rows: Rows, k: int | None) -> float:
        """The mean of the two metrics."""
        first, second = (of.kind.value(rows, k) for of in self.pair)
        return self.of(first, second)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value, and how much each row moves it."""
        a, b = (of.kind.effects(rows, k) for of in self.pair)
        moved = 2 * (b.value**2 * a.rows + a.value**2 * b.rows)
        return Effects(self.of(a.value, b.value), ratio(moved, (a.value + b.value) ** 2))


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
