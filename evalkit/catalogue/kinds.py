"""Kinds of metrics: each has the functions that intervals and tests need, so nothing depends on a
metric's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, ratio
from evalkit.metrics import influence, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows, Sums


@dataclass(frozen=True, eq=False)
class Effects:
    """A value and the influence of each row: the derivative by its weight, times the weight; the
    sum is 0.
    """

    value: float
    influence: Floats


class Centre(NamedTuple):
    """Numbers near which actual values and forecasts lie: squares are summed around them, which
    keeps digits.
    """

    actual: float
    forecast: float


class Cells(NamedTuple):
    """Labels and decisions of the four kinds of rows: TP, FN, FP, TN."""

    label: np.ndarray
    decision: np.ndarray


CELLS = Cells(label=np.array([1, 1, 0, 0]), decision=np.array([1, 0, 1, 0]))


# the places in `CELLS` of a positive and a negative row, by the decision
PREDICTED = [0, 2]
NOT_PREDICTED = [1, 3]


class RowMasks(NamedTuple):
    """Two masks: the rows that count, and the hits among them."""

    member: Bools
    hit: Bools


class HitCounts(NamedTuple):
    """The numbers, or weights, of the hits and of the rows that count."""

    hits: float
    members: float


HitRule = Callable[
    [np.ndarray, np.ndarray], tuple[Bools, Bools]
]  # (actual, predicted) -> `RowMasks`


# Kinds --------------------------------------------------------------------------------------------


class Kind(ABC):
    """The kind of a metric, which decides its interval and test.

    variance_by_class: tests estimate the variance of positive and negative rows separately.
    uses_decisions: only the decisions at the threshold matter, not the order of the scores. joint:
    value and influence are computed together. mean_over_rows: it is a mean over rows. selects_rows:
    two systems differ in the rows that count. summed: it is computed from sums over rows in two
    readings. has_terms: `RatioOfSums.sums` gives each row or unit its terms, whose sums over any
    subset give the metric of that subset. heavy: if one row or unit has a larger share of the
    weight, there is no interval, because tests would reject a true null hypothesis too often.
    """

    heavy: ClassVar[float] = 0.4
    variance_by_class: ClassVar[bool] = False
    joint: ClassVar[bool] = False
    mean_over_rows: ClassVar[bool] = False

    # these follow from the metrics that a kind combines, or are constants of a kind

    @property
    def uses_decisions(self) -> bool:
        """True if only the decisions at the threshold matter."""
        return False

    @property
    def summed(self) -> bool:
        """True if it is computed from sums over rows in two readings."""
        return False

    @property
    def has_terms(self) -> bool:
        """True if each row or unit has terms whose sums over any subset give its metric."""
        return False

    @property
    def selects_rows(self) -> bool:
        """True if two systems differ in the rows that count."""
        return False

    @property
    def leave_one_out(self) -> Kind | None:
        """The same metric with the influence of leaving out each row, for a mean over many parts
        with few positives each; None if it has no such form.
        """
        return None

    @property
    def moves_with_threshold(self) -> bool:
        """True if another threshold can change the metric."""
        return self.uses_decisions

    @property
    def needs_rows(self) -> bool:
        """True if intervals and tests use more of the rows than their terms."""
        return not self.has_terms

    def groups(self, rows: Rows) -> list[Bools]:
        """The groups of rows that the metric depends on; the smallest limits how well the variance
        is known.
        """
        if not self.variance_by_class:
            return [np.ones(len(rows), dtype=bool)]
        positive = rows.actual == 1
        return [positive, ~positive]

    def strata(self, rows: Rows) -> np.ndarray | None:
        """The class of each row, if each class adds its own part to the variance of a difference;
        else None.
        """
        return rows.actual != 1 if self.variance_by_class else None

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

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference of two systems, for unweighted rows."""
        return self.effects(first, k).influence - self.effects(second, k).influence


class RatioOfSums(Kind):
    """A ratio of sums of terms, one term per row or unit."""

    @property
    def has_terms(self) -> bool:
        """True: see `sums`."""
        return True

    @abstractmethod
    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms of each unit. structure: rows, ranked lists or others, by the metric's
        table.
        """

    def value(self, rows: Rows, k: int | None) -> float:
        """The ratio of the sums."""
        return self.sums(rows, k, 1).value

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        terms = self.sums(rows, k, 1)
        value = terms.value
        size = terms.size
        defined = terms.defined
        total = np.nansum(size if defined.all() else np.where(defined, size, np.nan))
        influence = ratio(terms.numerator - value * size, total)
        if np.isfinite(value):  # a row without a value has no influence
            influence = np.nan_to_num(influence, copy=False)
        return Effects(value, influence)


class TableKind(Kind):
    """A metric that is computed from counts of labels 0 and 1 by score, without the rows."""

    @abstractmethod
    def value_at(self, c: Counts, threshold: float) -> float:
        """The metric of the table; for a metric of decisions, at the threshold."""


class TermsKind(Kind):
    """A metric that is a function of sums of terms of the rows."""

    @abstractmethod
    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """The terms of each row, unweighted."""

    @abstractmethod
    def of_terms(self, totals: Floats) -> float:
        """The metric, from the sums of the terms."""


@dataclass(frozen=True)
class Resampled(Kind):
    """A number that is known only as a function of the rows: samples of the rows show how it
    varies. Nothing says how a single row moves it.

    function: rows -> the number, NaN where it is undefined.
    """

    function: Callable[[Rows], float]

    def value(self, rows: Rows, k: int | None) -> float:
        """The number of the rows."""
        return self.function(rows)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value; the influence of each row is not known."""
        return Effects(self.value(rows, k), np.full(len(rows), np.nan))


@dataclass(frozen=True)
class PerUnit(RatioOfSums):
    """The mean of one value per unit. function: (structure, k, level) -> the values; level is the
    relevance level.
    """

    function: Callable[..., Floats]

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The values of the units."""
        return Sums(self.function(structure, k, level))


class Proportion(PerUnit):
    """A mean of zeros and ones over units that belong to one system only."""


@dataclass(frozen=True)
class Ratio(RatioOfSums):
    """A ratio of sums over units. function: (structure, k, level) -> the terms of each unit.

    within: True if a unit's terms depend on which of its rows are included, because they are ranked
    within the unit.
    """

    function: Callable[..., Sums]
    within: bool = False

    @property
    def has_terms(self) -> bool:
        """True if a part of a unit's rows has the terms that it has among all of them."""
        return not self.within

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms, multiplied by the weights of rows that have any."""
        return self.function(structure, k, level)


class RowTerms(RatioOfSums, TableKind, TermsKind):
    """A ratio of sums of terms of each row."""

    @property
    def summed(self) -> bool:
        """True: sums of terms suffice."""
        return True

    def of_terms(self, totals: Floats) -> float:
        """The ratio, from the sums of the two terms."""
        numerator, denominator = totals
        return float(ratio(numerator, denominator))


@dataclass(frozen=True)
class Loss(RowTerms):
    """The mean of one number per row. per_row: (rows, k) -> the numbers, NaN for a row that does
    not count.

    worst: the number of a row whose prediction is certain and wrong, if it is far from all others.
    partial: True if some rows may not count. of_distributions: True if the numbers are those of the
    predictive distributions of rows that have any.
    """

    per_row: Callable[[Rows, Any], Floats]
    worst: float = np.inf
    partial: bool = False
    of_distributions: bool = False
    mean_over_rows: ClassVar[bool] = True

    @property
    def needs_rows(self) -> bool:
        """True if one error may cost far more than all others: which rows are certain matters."""
        return bool(np.isfinite(self.worst))

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """For each row its loss, and 1 if it counts, unweighted."""
        loss = self.per_row(rows, k)
        undefined = np.isnan(loss)
        return [np.where(undefined, 0.0, loss), (~undefined).astype(np.float64)]

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

    def value_at(self, c: Counts, threshold: float) -> float:
        """The mean over the rows of a table; NaN if some rows do not count, because their pairs are
        unknown.
        """
        rows = rows_of(c, threshold)
        # a score that no row of a class has counts for nothing, even if its loss is undefined
        loss = np.where(rows.weights > 0, self.per_row(rows, None), 0.0)
        return float(ratio(np.dot(rows.weights, loss), c.total))


@dataclass(frozen=True)
class RatioOfRows(RowTerms):
    """A ratio of sums over rows. sides: the numerator and the denominator of each row, before its
    weight; a numerator of NaN for a row that does not count. of_distributions: as in `Loss`.
    """

    sides: Callable[[Rows], Sequence[Floats]]
    of_distributions: bool = False

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """Both numbers of each row, unweighted."""
        return self.sides(rows)

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """Both numbers, times the weights of the rows."""
        numerator, denominator = self.sides(structure)
        return Sums(structure.weights * numerator, structure.weights * denominator)

    def value_at(self, c: Counts, threshold: float) -> float:
        """The ratio over the rows of a table; NaN if some rows do not count."""
        rows = rows_of(c, threshold)
        numerator, denominator = self.sides(rows)
        member = rows.weights > 0
        weight = rows.weights[member]
        return float(ratio(np.dot(weight, numerator[member]), np.dot(weight, denominator[member])))


def rows_of(c: Counts, threshold: float) -> Rows:
    """One row for each class and score of a table, with its weight."""
    label = np.repeat([1, 0], len(c.threshold))
    weight = np.concatenate([c.positive, c.negative])
    return Rows(label, np.tile(c.threshold, 2), threshold, weight)


@dataclass(frozen=True)
class Share(RatioOfSums, TableKind):
    """The share of hits among the rows that count. rule: (actual, predicted) -> two masks: the rows
    that count, and the hits among them.
    """

    rule: HitRule
    uses_decisions: ClassVar[bool] = True
    mean_over_rows: ClassVar[bool] = True
    summed: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True  # two systems are compared on the rows that count for both

    @staticmethod
    def from_rule(rule: HitRule) -> Share:
        """The share of a rule: an `OwnShare` if the predictions decide which rows count."""
        member = Share(rule).cells().member
        predicted = member[PREDICTED]
        not_predicted = member[NOT_PREDICTED]
        return OwnShare(rule) if (predicted != not_predicted).any() else Share(rule)

    @property
    def moves_with_threshold(self) -> bool:
        """True if it is not a share of labels alone."""
        return any((mask[PREDICTED] != mask[NOT_PREDICTED]).any() for mask in self.cells())

    def hits(self, rows: Rows) -> RowMasks:
        """The rows that count, and the hits among them."""
        member, hit = self.rule(rows.actual, rows.predicted)
        return RowMasks(member, member & hit)

    def groups(self, rows: Rows) -> list[Bools]:
        """The rows that count."""
        return [self.hits(rows).member]

    def cells(self) -> RowMasks:
        """The masks of `hits` for the four kinds of rows in `CELLS`."""
        member, hit = self.rule(CELLS.label == 1, CELLS.decision == 1)
        return RowMasks(member, member & hit)

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The weight of hits and of the rows that count."""
        member, hit = self.hits(structure)
        return Sums(structure.weights * hit, structure.weights * member)

    def influence_table(self, decided: Counts) -> Floats:
        """The influence on the share of a positive (first row) and a negative (second), predicted
        or not.
        """
        hits, members = self.hit_counts(decided)
        member, hit = self.cells()
        # the four kinds of rows are in the order of a table by class and decision
        return ratio(member * (hit - ratio(hits, members)), members).reshape(2, 2)

    def hit_counts(self, decided: Counts) -> HitCounts:
        """The numbers of hits and of rows that count, from the table of decisions."""
        # in the order of `CELLS`, because the decision 1 stands before the decision 0
        weight = np.array([decided.positive, decided.negative]).ravel()
        member, hit = self.cells()
        return HitCounts((weight @ hit).item(), (weight @ member).item())

    def values_of_counts(self, c: Counts) -> Floats:
        """The share of each of many counts, which are arrays in `c`."""
        weight = np.array([c.tp, c.fn, c.fp, c.tn])
        member, hit = self.cells()
        return ratio(hit @ weight, member @ weight)

    def value_at(self, c: Counts, threshold: float) -> float:
        """The share at the threshold."""
        counts = self.hit_counts(influence.decision(c, threshold))
        return float(ratio(counts.hits, counts.members))


@dataclass(frozen=True)
class OwnShare(Share):
    """A share of rows that each system selects for itself: two systems differ in the rows that
    count.
    """

    selects_rows: ClassVar[bool] = True

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference, computed under the null hypothesis that both
        shares are equal.

        A few rows that are all hits then do not have a variance of 0. A weight is the number of
        equal rows that a row stands for. The squares add up to the variance of the weighted
        generalised score test. Kosinski 2013, doi:10.1002/sim.5587.
        """
        weight = first.weights
        a = self.hits(first)
        b = self.hits(second)
        sizes = np.array([weight @ a.member, weight @ b.member])
        common = float(ratio(weight @ a.hit + weight @ b.hit, sizes.sum()))  # share of both systems
        residual_a = a.member * (a.hit - common)
        residual_b = b.member * (b.hit - common)
        covariance = float((weight * residual_a) @ residual_b)
        # less the covariance of rows that count for both; rounding may leave less than 0
        pooled = max(common * (1 - common) - 2 * covariance / sizes.sum(), 0.0)
        variance = pooled * float(ratio(1.0, sizes).sum())
        influence = ratio(residual_a, sizes[0]) - ratio(residual_b, sizes[1])
        # scaled so that their squares, by weight, add up to this variance
        factor = ratio(variance, float((weight * influence) @ influence))
        return weight * influence * np.sqrt(np.nan_to_num(factor))


@dataclass(frozen=True)
class Smooth(Kind):
    """Any other smooth number of the rows. function: (rows, k) -> its effects."""

    function: Callable[[Rows, int | None], Effects]
    joint: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        return self.function(rows, k)


class Agreement(Smooth):
    """A smooth number of the table of actual and predicted classes."""

    uses_decisions: ClassVar[bool] = True
    summed: ClassVar[bool] = True


@dataclass(frozen=True)
class ClassCoverage(Kind):
    """The share of the rows that are predicted as classes whose precision reaches a target.

    The influence of a row is that of the share of these classes, as if they were fixed.
    """

    target: float
    uses_decisions: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def share(self, classes: Bools) -> Share:
        """The share of the rows that are predicted as some classes."""

        def rule(actual: np.ndarray, predicted: np.ndarray) -> tuple[Bools, Bools]:
            """All rows count; hits are those predicted as one of the classes."""
            return np.ones(len(actual), bool), classes[predicted]

        return Share(rule)

    def value(self, rows: Rows, k: int | None) -> float:
        """The share."""
        return labels.coverage(rows.confusion, self.target)

    def effects(self, rows: Rows, k: int | None) -> Effects:
        """The value and the influence of each row."""
        covered = labels.coverage_by_class(rows.confusion, self.target) > 0
        return self.share(covered).effects(rows, k)
