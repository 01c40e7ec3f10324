"""Kinds of metrics: each has the functions that intervals and tests need, so nothing depends on a
metric's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.metrics import influence, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows, Sums

if TYPE_CHECKING:
    from evalkit.catalogue.metric import Metric


@dataclass(frozen=True, eq=False)
class Effects:
    """A value and the influence of each row: the derivative by its weight, times the weight; the
    sum is 0.
    """

    value: float
    rows: Floats


Centre = tuple[
    float, float
]  # near which actual values and forecasts lie: from there their squares are summed
CELLS = (np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0]))  # label and decision


# Kinds --------------------------------------------------------------------------------------------


class Kind(ABC):
    """The kind of a metric, which decides its interval and test.

    apart: tests estimate the variance of positive and negative rows separately. decided: only the
    decisions at the threshold matter, not the order of the scores. joint: value and influence are
    computed together. of_rows: it is a mean over rows. original: the metric that it transforms.
    picks: two systems differ in the rows that count. summed: it is computed from sums over rows in
    two readings. totalled: it is computed from sums of `terms`. termed: `Termed.sums` gives each
    row or unit its terms, whose sums over any subset give the metric of that subset. heavy: the
    share of the weight above which one row or unit leaves no interval: tests would reject what is
    true too often.
    """

    heavy: ClassVar[float] = 0.4
    apart: ClassVar[bool] = False
    decided: ClassVar[bool] = False
    joint: ClassVar[bool] = False
    of_rows: ClassVar[bool] = False
    summed: ClassVar[bool] = False
    totalled: ClassVar[bool] = False
    termed: ClassVar[bool] = False
    picks: ClassVar[bool] = False
    original: ClassVar[Metric | None] = None

    @property
    def leave_one_out(self) -> Kind | None:
        """The same metric with the influence of leaving out each row, for a mean over many parts
        with few positives each; None if it has no such form.
        """
        return None

    @property
    def thresholded(self) -> bool:
        """True if another threshold can change the metric."""
        return self.decided

    @property
    def needs_rows(self) -> bool:
        """True if intervals and tests use more of the rows than their terms."""
        return not self.termed

    def groups(self, rows: Rows) -> list[Bools]:
        """The groups of rows that the metric depends on; the smallest limits how well the variance
        is known.
        """
        label = rows.actual == 1
        return [label, ~label] if self.apart else [np.ones(len(rows), dtype=bool)]

    def strata(self, rows: Rows) -> Any:
        """The class of each row, if each class adds its own part to the variance of a difference;
        else None.
        """
        return rows.actual != 1 if self.apart else None

    def excess(self, rows: Rows) -> float:
        """The upward bias of the value in a small sample, which adds up in a mean of several
        metrics.
        """
        return 0.0

    def value(self, rows: Rows, k: int | None) -> float:
        """The metric of all rows."""
        return self.effects(rows, k).value

    @abstractmethod
    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference of two systems, for unweighted rows."""
        return self.effects(first, k).rows - self.effects(second, k).rows


class Termed(Kind):
    """A ratio of sums of terms, one term per row or unit."""

    termed: ClassVar[bool] = True

    @abstractmethod
    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms of each unit."""

    def value(self, rows: Rows, k: int | None) -> float:
        """The ratio of the sums."""
        return self.sums(rows, k, 1).value

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        terms = self.sums(rows, k, 1)
        value, size = terms.value, terms.size
        total = np.nansum(size if terms.defined.all() else np.where(terms.defined, size, np.nan))
        moved = ratio(terms.numerator - value * size, total)
        return Effects(value, np.nan_to_num(moved, copy=False) if np.isfinite(value) else moved)


class OfTable(Kind):
    """A metric that is computed from counts of labels 0 and 1 by score, without the rows."""

    @abstractmethod
    def at(self, c: Counts, threshold: float) -> float:
        """The metric of the table; for a metric of decisions, at the threshold."""


@dataclass(frozen=True)
class PerUnit(Termed):
    """The mean of one value per unit. of: (structure, k, level) -> the values; level is the
    relevance level.
    """

    of: Callable[..., Floats]

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The values of the units."""
        return Sums(self.of(structure, k, level))


class Proportion(PerUnit):
    """A mean of zeros and ones over units that other systems do not share."""


@dataclass(frozen=True)
class Ratio(Termed):
    """A ratio of sums over units. of: (structure, k, level) -> the terms of each unit.

    within: True if a unit's terms depend on which of its rows are included, because they are ranked
    within the unit.
    """

    of: Callable[..., Sums]
    within: bool = False

    @property
    def termed(self) -> bool:  # type: ignore[override]
        """True if some of the rows have the same terms."""
        return not self.within

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms, multiplied by the weights of rows that have any."""
        return self.of(structure, k, level)


class OfRowTerms(Termed, OfTable):
    """A ratio of sums of terms of each row."""

    summed: ClassVar[bool] = True
    totalled: ClassVar[bool] = True

    @abstractmethod
    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """Both terms of each row, unweighted."""

    def of_terms(self, totals: Floats) -> float:
        """The ratio, from the sums of the terms."""
        return float(ratio(totals[0], totals[1]))


@dataclass(frozen=True)
class Loss(OfRowTerms):
    """The mean of one number per row. per_row: (rows, k) -> the numbers, NaN for a row that does
    not count.

    worst: the number of a row whose prediction is certain and wrong, if it is far from all others.
    partial: True if some rows may not count.
    """

    per_row: Callable[[Rows, Any], Floats]
    worst: float = np.inf
    partial: bool = False
    of_rows: ClassVar[bool] = True

    @property
    def needs_rows(self) -> bool:
        """True if one error may cost far more than all others: which rows are certain matters."""
        return bool(np.isfinite(self.worst))

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """For each row its loss, and 1 if it counts, unweighted."""
        loss = self.per_row(rows, k)
        return [np.where(np.isnan(loss), 0.0, loss), (~np.isnan(loss)).astype(np.float64)]

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The losses, multiplied by the weights of rows that have any."""
        loss = self.per_row(structure, k)
        weight = structure.weight
        if weight is None:
            return Sums(loss)
        return Sums(loss * weight, np.where(np.isnan(loss), np.nan, weight))

    def rows_without_value(self, rows: Rows, k: int | None) -> int:
        """The number of rows that do not count."""
        return int(np.isnan(self.per_row(rows, k)).sum()) if self.partial else 0

    def at(self, c: Counts, threshold: float) -> float:
        """The mean over the rows of a table; NaN if some rows do not count, because their pairs are
        unknown.
        """
        rows, weight = rows_of(c, threshold)
        return float(
            ratio(np.dot(weight, np.where(weight > 0, self.per_row(rows, None), 0.0)), c.total)
        )


@dataclass(frozen=True)
class RatioOfRows(OfRowTerms):
    """A ratio of sums over rows. sides: the two numbers of each row, before its weight."""

    sides: Callable[[Rows], Sequence[Floats]]

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """Both numbers of each row, unweighted."""
        return self.sides(rows)

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """Both numbers, times the weights of the rows."""
        return Sums(*(structure.weights * side for side in self.sides(structure)))

    def at(self, c: Counts, threshold: float) -> float:
        """The ratio over the rows of a table; NaN if some rows do not count."""
        rows, weight = rows_of(c, threshold)
        return float(
            ratio(*(np.dot(weight[weight > 0], side[weight > 0]) for side in self.sides(rows)))
        )


def rows_of(c: Counts, threshold: float) -> tuple[Rows, Floats]:
    """One row for each class and threshold of a table, and its weight."""
    label = np.repeat([1, 0], len(c.threshold))
    return Rows(label, np.tile(c.threshold, 2), threshold), np.concatenate([c.positive, c.negative])


@dataclass(frozen=True)
class Share(Termed, OfTable):
    """Hits among some of the rows. of: (actual, predicted) -> two masks: rows that count, and hits
    among them.
    """

    of: Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]
    decided: ClassVar[bool] = True
    of_rows: ClassVar[bool] = True
    summed: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True  # two systems are compared on the rows that count for both

    @staticmethod
    def by(rule: Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]) -> Share:
        """The share of a rule: an `OwnShare` if the predictions decide which rows count."""
        member = Share(rule).cells()[0]
        return OwnShare(rule) if (member[::2] != member[1::2]).any() else Share(rule)

    @property
    def thresholded(self) -> bool:
        """True if it is not a share of labels alone."""
        cells = np.array(self.cells())
        return bool((cells[:, [0, 2]] != cells[:, [1, 3]]).any())

    def hits(self, rows: Rows) -> tuple[Bools, Bools]:
        """Two masks: the rows that count, and the hits among them."""
        member, hit = self.of(rows.actual, rows.predicted)
        return member, member & hit

    def groups(self, rows: Rows) -> list[Bools]:
        """The rows that count."""
        return [self.hits(rows)[0]]

    def cells(self) -> tuple[Bools, Bools]:
        """These masks for a predicted and an unpredicted positive, and for such negatives."""
        member, hit = self.of(CELLS[0] == 1, CELLS[1] == 1)
        return member, member & hit

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The weight of hits and of the rows that count."""
        member, hit = self.hits(structure)
        return Sums(structure.weights * hit, structure.weights * member)

    def bins(self, decided: Counts) -> Floats:
        """The influence on the share of a positive (first row) and a negative (second), predicted
        or not.
        """
        hits, members = self.of_table(decided)
        member, hit = self.cells()
        return ratio(member * (hit - ratio(hits, members)), members).reshape(2, 2)

    def of_table(self, decided: Counts) -> tuple[float, float]:
        """The numbers of hits and of rows that count, from the table of decisions."""
        weight = np.array([decided.positive, decided.negative]).ravel()
        member, hit = self.cells()
        return (weight @ hit).item(), (weight @ member).item()

    def each(self, c: Counts) -> Floats:
        """The share of each of many counts."""
        weight = np.array([c.tp, c.fn, c.fp, c.tn])
        member, hit = self.cells()
        return ratio(hit @ weight, member @ weight)

    def at(self, c: Counts, threshold: float) -> float:
        """The share at the threshold."""
        return float(ratio(*self.of_table(influence.decision(c, threshold))))


@dataclass(frozen=True)
class OwnShare(Share):
    """A share of rows that each system selects for itself: two systems differ in the rows that
    count.
    """

    picks: ClassVar[bool] = True

    def apart_by(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference, computed under the null hypothesis that both
        shares are equal.

        A few rows that are all hits then do not have a variance of 0. A weight is the number of
        equal rows that a row stands for. The squares add up to the variance of the weighted
        generalised score test. Kosinski 2013, doi:10.1002/sim.5587.
        """
        sides = [self.hits(rows) for rows in (first, second)]
        times = first.weights
        sizes = np.array([times @ member for member, _ in sides])
        equal = float(ratio(sum(times @ hit for _, hit in sides), sizes.sum()))
        a, b = (member * (hit - equal) for member, hit in sides)
        shared = float((times * a) @ b)
        variance = max(equal * (1 - equal) - 2 * shared / sizes.sum(), 0.0) * float(
            ratio(1.0, sizes).sum()
        )
        moved = ratio(a, sizes[0]) - ratio(b, sizes[1])
        return (
            times * moved * np.sqrt(np.nan_to_num(ratio(variance, float((times * moved) @ moved))))
        )


@dataclass(frozen=True)
class Smooth(Kind):
    """Any other smooth number of the rows. of: (rows, k) -> its effects."""

    of: Callable[[Rows, int | None], Effects]
    joint: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        return self.of(rows, k)


class Agreement(Smooth):
    """A smooth number of the table of actual and predicted classes."""

    decided: ClassVar[bool] = True
    summed: ClassVar[bool] = True


@dataclass(frozen=True)
class ClassCoverage(Kind):
    """The share of the rows that are predicted as classes whose precision reaches a target.

    The influence of a row is that of the share of these classes, as if they were fixed.
    """

    target: float
    decided: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def share(self, classes: Bools) -> Share:
        """The share of the rows that are predicted as some classes."""
        return Share(lambda actual, predicted: (np.ones(len(actual), bool), classes[predicted]))

    def value(self, rows: Rows, k: int | None) -> float:
        """The share."""
        return labels.coverage(rows.confusion, self.target)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        classes = labels.coverage_by_class(rows.confusion, self.target) > 0
        return self.share(classes).effects(rows, k)


# Of another metric --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transformed(OfTable):
    """A monotone function f of another metric, with f′ as slope: it has that metric's test."""

    of: Metric
    f: Callable[[float], float]
    slope: Callable[[float], float]

    @property
    def original(self) -> Metric | None:  # type: ignore[override]
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
