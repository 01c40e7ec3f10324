"""Kinds of metrics: each has the functions that intervals and tests need, so nothing depends on a
metric's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Bools, Floats, quotient, ratio
from evalkit.metrics import influence, labels
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows, Sums


@dataclass(frozen=True, eq=False)
class ValueAndInfluence:
    """The value of a metric, and the influence of each row on it: the derivative of the value by
    the row's weight, times the weight. The influences of all rows add up to 0.
    """

    value: float
    influence: Floats


class Centre(NamedTuple):
    """Numbers near which actual values and forecasts lie: squares are summed around them, which
    keeps digits.
    """

    actual: float
    forecast: float


class FourCells(NamedTuple):
    """The label and the decision of each of the four kinds of rows: TP, FN, FP, TN."""

    label: np.ndarray
    decision: np.ndarray


CELLS = FourCells(label=np.array([1, 1, 0, 0]), decision=np.array([1, 0, 1, 0]))
# the indices in `CELLS` of rows predicted positive, TP and FP, and of the others, FN and TN
PREDICTED = [0, 2]
NOT_PREDICTED = [1, 3]


class RowMasks(NamedTuple):
    """Two masks of rows: the denominator of a share, and its numerator, which is a part of that."""

    eligible: Bools
    hit: Bools


def all_eligible(hit: Bools) -> RowMasks:
    """The masks of a share of all rows, with these hits."""
    return RowMasks(np.ones(len(hit), dtype=bool), hit)


class HitCounts(NamedTuple):
    """The numerator and the denominator of a share: numbers, or weights, of rows."""

    hits: float
    eligible: float


# (actual, predicted) -> `RowMasks`: which rows a share is of, and which of them are hits
HitRule = Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]


# Kinds --------------------------------------------------------------------------------------------


class MetricKind(ABC):
    """The kind of a metric, which decides its interval and test.

    variance_by_class: tests estimate the variance of positive and negative rows separately.
    uses_decisions: only the decisions at the threshold matter, not the order of the scores. joint:
    value and influence are computed together. mean_over_rows: it is a mean over rows. selects_rows:
    each system selects the rows that it is a mean over, as precision. summed: sums over rows
    suffice to compute it, so that a large table is read in blocks. has_terms: it is a ratio of sums
    of terms of rows or units (`RatioOfSums.sums`), so that any subset has its own. heavy_share: if
    one row or unit has a larger share of the weight, there is no interval, because tests would
    reject a true null hypothesis too often.
    """

    heavy_share: ClassVar[float] = 0.4
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
        """True if sums over rows suffice to compute it."""
        return False

    @property
    def has_terms(self) -> bool:
        """True if each row or unit has terms whose sums over any subset give its metric."""
        return False

    @property
    def selects_rows(self) -> bool:
        """True if each system selects the rows that the metric is a mean over."""
        return False

    @property
    def leave_one_out(self) -> MetricKind | None:
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

    @property
    def limits_use_fourth_powers(self) -> bool:
        """True if limits use the kurtosis of the influence values where only sums over rows are
        known: a few rows may carry most of the variance.
        """
        return False

    def groups(self, rows: Rows) -> list[Bools]:
        """Masks of the groups of rows in which the variance is estimated, such as the positives and
        the negatives; the size of the smallest limits how well it is known.
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

    def upward_bias(self, rows: Rows) -> float:
        """The upward bias of the value in a small sample, 0 if none is known. In a mean of the same
        metric over many classes it does not average out.
        """
        return 0.0

    def value(self, rows: Rows, k: int | None) -> float:
        """The metric of all rows."""
        return self.effects(rows, k).value

    @abstractmethod
    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value and the influence of each row."""

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row on the difference of two systems, for unweighted rows."""
        return self.effects(first, k).influence - self.effects(second, k).influence


NO_RELEVANCE_LEVEL = 1  # of rows, which have no grades


class RatioOfSums(MetricKind):
    """A ratio of sums of terms, one term per row or unit."""

    @property
    def has_terms(self) -> bool:
        """True: see `sums`."""
        return True

    @abstractmethod
    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The terms of each unit. structure: rows, ranked lists or others, by the metric's table.
        k: the cut-off. level: the lowest relevant grade, which only ranked lists use.
        """

    def value(self, rows: Rows, k: int | None) -> float:
        """The ratio of the sums."""
        return self.sums(rows, k, level=NO_RELEVANCE_LEVEL).value

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The ratio Σ numerators / Σ denominators over the rows, and the influence of each row, the
        derivative of the ratio by its weight: (numerator - ratio · denominator) / Σ denominators.
        The influence is 0 for a row without a value. All NaN if the ratio is undefined. k: the
        cut-off.
        """
        # the level means nothing here, as rows have no grades
        terms = self.sums(rows, k, level=NO_RELEVANCE_LEVEL)
        value = terms.value
        denominator = terms.size  # 1 for each row if the ratio is a mean
        residual = terms.numerator - value * denominator
        if not terms.defined.all():  # rows without a value count in neither sum
            denominator = np.where(terms.defined, denominator, np.nan)
        influence = ratio(residual, np.nansum(denominator))
        if np.isfinite(value):  # then NaN marks just the rows without a value
            influence = np.nan_to_num(influence, copy=False)
        return ValueAndInfluence(value, influence)


class TableKind(MetricKind):
    """A metric that is computed from counts of labels 0 and 1 by score, without the rows."""

    @abstractmethod
    def value_at(self, c: Counts, threshold: float) -> float:
        """The metric of the table; for a metric of decisions, at the threshold."""


class TermsKind(MetricKind):
    """A metric that is a function of sums of terms of the rows."""

    @abstractmethod
    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """The terms of each row, unweighted."""

    @abstractmethod
    def of_terms(self, totals: Floats) -> float:
        """The metric, from the sums of the terms."""


@dataclass(frozen=True)
class Resampled(MetricKind):
    """A number that is known only as a function of the rows, such as a user's own function: its
    variance comes from resampled rows, because the influence of a single row is not known.

    function: rows -> the number, NaN where it is undefined.
    """

    function: Callable[[Rows], float]

    def value(self, rows: Rows, k: int | None) -> float:
        """The number of the rows."""
        return self.function(rows)

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value, with NaN as the influence of each row."""
        return ValueAndInfluence(self.value(rows, k), np.full(len(rows), np.nan))


@dataclass(frozen=True)
class MeanPerUnit(RatioOfSums):
    """The mean of one value per unit. function: (structure, k, level) -> the values; level is the
    relevance level.
    """

    function: Callable[..., Floats]

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The values of the units."""
        return Sums(self.function(structure, k, level))


class Proportion(MeanPerUnit):
    """A mean of zeros and ones over units that belong to one system only."""


@dataclass(frozen=True)
class Ratio(RatioOfSums):
    """A ratio of sums over units. function: (structure, k, level) -> the numerator and the
    denominator of each unit; level is the relevance level.

    ranked_within_unit: True if the rows are ranked within their unit, so that a unit's terms are
    not the same if only some of its rows are included.
    """

    function: Callable[..., Sums]
    ranked_within_unit: bool = False

    @property
    def has_terms(self) -> bool:
        """True if a part of a unit's rows has the terms that it has among all of them."""
        return not self.ranked_within_unit

    def sums(self, structure: Any, k: int | None, level: float) -> Sums:
        """The numerator and the denominator of each unit, times the weights of rows that have
        any.
        """
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
        return quotient(numerator, denominator)


@dataclass(frozen=True)
class Loss(RowTerms):
    """The mean of one number per row, its loss. per_row: (rows, k) -> the losses, NaN for a row
    that is left out of the mean; k is the number behind the @ of the metric's name.

    worst: the loss of a row whose prediction is certain and wrong, if it is far from all others.
    partial: True if rows may be left out. of_distributions: True if it scores predictive
    distributions, which only some tables have.
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
        """The two terms of each row, unweighted: its loss and 1, or 0 and 0 if it is left out."""
        loss = self.per_row(rows, k)
        undefined = np.isnan(loss)
        return [np.where(undefined, 0.0, loss), (~undefined).astype(np.float64)]

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The weighted loss of each row as numerator, and its weight as denominator; NaN for a row
        that is left out. k: the number behind the @ of the metric's name. level: the grade from
        which an item of a ranked list is relevant; unused, as rows have no grades.
        """
        loss = self.per_row(structure, k)
        weight = structure.weight
        if weight is None:
            return Sums(loss)  # each row weighs 1
        weight_of_counted = np.where(np.isnan(loss), np.nan, weight)
        return Sums(loss * weight, weight_of_counted)

    def rows_without_value(self, rows: Rows, k: int | None) -> int:
        """The number of rows that are left out of the mean."""
        if not self.partial:
            return 0
        undefined = np.isnan(self.per_row(rows, k))
        return int(undefined.sum())

    def value_at(self, c: Counts, threshold: float) -> float:
        """The mean over the rows of a table; NaN if the loss of any of them is undefined: then
        systems are compared on the rows that both have, which a table does not tell.
        """
        rows = table_as_rows(c, threshold)
        no_k = None  # losses of scores have no number behind an @
        loss = self.per_row(rows, no_k)
        # a class may have no row with a score: its loss there is not used, even if it is undefined
        loss = np.where(rows.weights > 0, loss, 0.0)
        return quotient(np.dot(rows.weights, loss), c.total)


@dataclass(frozen=True)
class RatioOfRows(RowTerms):
    """A ratio of sums over rows. terms_of_rows: rows -> the numerator and the denominator of each
    row, unweighted; a numerator of NaN for a row that does not count. of_distributions: True if it
    scores predictive distributions, which only some tables have.
    """

    terms_of_rows: Callable[[Rows], Sequence[Floats]]
    of_distributions: bool = False
    limits_use_fourth_powers: ClassVar[bool] = True

    def terms(self, rows: Rows, k: int | None, centre: Centre) -> Sequence[Floats]:
        """The numerator and the denominator of each row, unweighted."""
        return self.terms_of_rows(rows)

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The numerator and the denominator of each row, times its weight."""
        numerator, denominator = self.terms_of_rows(structure)
        return Sums(structure.weights * numerator, structure.weights * denominator)

    def value_at(self, c: Counts, threshold: float) -> float:
        """The ratio over the rows of a table; NaN if a term of any of them is undefined. threshold:
        from which score on rows are predicted positive, for terms of decisions.
        """
        rows = table_as_rows(c, threshold)
        numerator, denominator = self.terms_of_rows(rows)
        # `rows` has both classes at each score, with weight 0 where the table has no such row: the
        # terms of these are not used, as they may be undefined
        exists = rows.weights > 0
        weight = rows.weights[exists]
        sum_of_numerators = np.dot(weight, numerator[exists])
        sum_of_denominators = np.dot(weight, denominator[exists])
        return quotient(sum_of_numerators, sum_of_denominators)


def table_as_rows(c: Counts, threshold: float) -> Rows:
    """A table as rows: for each score one of label 1 and one of label 0, weighted by the rows of
    this class with exactly this score; the weight may be 0.
    """
    label = np.repeat([1, 0], len(c.threshold))
    weight = np.concatenate([c.positive, c.negative])
    return Rows(label, np.tile(c.threshold, 2), threshold, weight)


@dataclass(frozen=True)
class Share(RatioOfSums, TableKind):
    """The share of hits among the eligible rows, such as precision: true labels among the rows
    predicted positive. rule: (actual, predicted) -> the masks of eligible rows and of hits.
    """

    rule: HitRule
    uses_decisions: ClassVar[bool] = True
    mean_over_rows: ClassVar[bool] = True
    summed: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = True  # two systems are compared on the rows eligible in both

    @staticmethod
    def from_rule(rule: HitRule) -> Share:
        """The share of a rule: an `OwnShare` if the predictions decide which rows are eligible."""
        share = Share(rule)
        selects_rows = _depends_on_prediction(share.cells().eligible)
        return OwnShare(rule) if selects_rows else share

    @property
    def moves_with_threshold(self) -> bool:
        """True if another threshold can change it: if predictions decide which rows are eligible,
        or which of them are hits.
        """
        return any(map(_depends_on_prediction, self.cells()))

    def hits(self, rows: Rows) -> RowMasks:
        """The eligible rows, and the hits among them."""
        eligible, hit = self.rule(rows.actual, rows.predicted)
        return RowMasks(eligible, eligible & hit)

    def groups(self, rows: Rows) -> list[Bools]:
        """A single mask, of the eligible rows: their number limits how well the variance is
        known.
        """
        return [self.hits(rows).eligible]

    def cells(self) -> RowMasks:
        """The masks of `hits` for the four kinds of rows in `CELLS`; shape (4,)."""
        eligible, hit = self.rule(CELLS.label == 1, CELLS.decision == 1)
        return RowMasks(eligible, eligible & hit)

    def sums(self, structure: Rows, k: int | None, level: float) -> Sums:
        """The terms of each row: as numerator its weight if it is a hit, else 0; as denominator its
        weight if it is eligible, else 0.
        """
        eligible, hit = self.hits(structure)
        return Sums(structure.weights * hit, structure.weights * eligible)

    def influence_table(self, decided: Counts) -> Floats:
        """The influence on the share of a positive (first row) and of a negative (second row),
        predicted positive (first column) or not: (hit - share) / number of eligible rows for an
        eligible row, else 0. decided: the table of decisions.
        """
        counts = self.hit_counts(decided)
        share = ratio(counts.hits, counts.eligible)
        eligible, hit = self.cells()
        residual = eligible * (hit - share)
        # `CELLS` has the order of this table, row by row
        return ratio(residual, counts.eligible).reshape(2, 2)

    def hit_counts(self, decided: Counts) -> HitCounts:
        """The numbers of hits and of eligible rows. decided: the table of decisions, whose scores
        are 1 for the rows predicted positive, then 0.
        """
        # in the order of `CELLS`: TP, FN, FP, TN
        weight = np.array([decided.positive, decided.negative]).ravel()
        eligible, hit = self.cells()
        return HitCounts((weight @ hit).item(), (weight @ eligible).item())

    def values_of_counts(self, c: Counts) -> Floats:
        """The share of each of many samples. c: counts at a threshold, arrays over the samples."""
        weight = np.array([c.tp, c.fn, c.fp, c.tn])  # in the order of `CELLS`
        eligible, hit = self.cells()
        return ratio(hit @ weight, eligible @ weight)

    def value_at(self, c: Counts, threshold: float) -> float:
        """The share at the threshold."""
        counts = self.hit_counts(influence.decision(c, threshold))
        return quotient(counts.hits, counts.eligible)


def _depends_on_prediction(mask: Bools) -> bool:
    """True if a mask of the four kinds of rows in `CELLS` differs for rows with the same label."""
    differs = mask[PREDICTED] != mask[NOT_PREDICTED]
    return bool(differs.any())


@dataclass(frozen=True)
class OwnShare(Share):
    """A share of rows that each system selects by its predictions, such as precision: the eligible
    rows of two systems differ.
    """

    selects_rows: ClassVar[bool] = True

    def influence_on_difference(self, first: Rows, second: Rows, k: int | None) -> Floats:
        """The influence of each row, times its weight, on the difference of two shares, under the
        null hypothesis that both systems have the same share.

        The influences are scaled so that Σ weight · influence² is the variance of the weighted
        generalised score test. Kosinski 2013, doi:10.1002/sim.5587. It is above 0 also if all
        eligible rows of one system are hits, as the common share is then below 1, unless those of
        the other system are all hits too.

        first, second: the same rows with the predictions of two systems. The weight of a row is the
        number of equal rows that it stands for. k: unused, as shares have no cut-off.
        """
        weight = first.weights
        # masks of the rows: those that a system selects (eligible), and the hits among them
        a = self.hits(first)
        b = self.hits(second)
        sizes = np.array([weight @ a.eligible, weight @ b.eligible])  # n and m
        hits_of_both = weight @ a.hit + weight @ b.hit
        common_share = quotient(hits_of_both, sizes.sum())  # p
        # each row's hit less the share that both systems have under the null hypothesis
        residual_a = a.eligible * (a.hit - common_share)
        residual_b = b.eligible * (b.hit - common_share)
        # Kosinski's variance of the difference is (p (1 - p) - 2 C) (1/n + 1/m). Here p (1 - p) is
        # the variance of a hit. C is Σ weight · residual_a · residual_b / (n + m): only rows that
        # are eligible in both systems add to it. Rounding may leave less than 0.
        covariance = float((weight * residual_a) @ residual_b)
        row_variance = common_share * (1 - common_share) - 2 * covariance / sizes.sum()
        inverse_sizes = float(ratio(1.0, sizes).sum())  # 1/n + 1/m
        variance = max(row_variance, 0.0) * inverse_sizes
        # first-order influences, whose weighted squares add up to another variance: scaled to this
        influence = ratio(residual_a, sizes[0]) - ratio(residual_b, sizes[1])
        unscaled_variance = (weight * influence) @ influence
        factor = ratio(variance, unscaled_variance)  # NaN if all influences are 0
        return weight * influence * np.sqrt(np.nan_to_num(factor))


@dataclass(frozen=True)
class Smooth(MetricKind):
    """Any other smooth number of the rows. function: (rows, k) -> its effects."""

    function: Callable[[Rows, int | None], ValueAndInfluence]
    joint: ClassVar[bool] = True

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value and the influence of each row."""
        return self.function(rows, k)


class Agreement(Smooth):
    """A smooth number of the table of actual and predicted classes."""

    uses_decisions: ClassVar[bool] = True
    summed: ClassVar[bool] = True


@dataclass(frozen=True)
class ClassCoverage(MetricKind):
    """The share of the rows that are predicted as classes whose precision reaches a target.

    The influence of a row is that of the share of these classes, as if they were fixed.
    """

    target: float
    uses_decisions: ClassVar[bool] = True
    summed: ClassVar[bool] = True

    def share(self, classes: Bools) -> Share:
        """The share of the rows that are predicted as some classes. classes: a mask."""
        return Share(partial(_predicted_as, classes=classes))

    def value(self, rows: Rows, k: int | None) -> float:
        """The share."""
        return labels.coverage(rows.confusion, self.target)

    def effects(self, rows: Rows, k: int | None) -> ValueAndInfluence:
        """The value and the influence of each row."""
        covered = labels.coverage_by_class(rows.confusion, self.target) > 0
        return self.share(covered).effects(rows, k)


def _predicted_as(actual: np.ndarray, predicted: np.ndarray, classes: Bools) -> RowMasks:
    """All rows are eligible; hits are those predicted as one of the classes. classes: a mask."""
    return all_eligible(classes[predicted])
