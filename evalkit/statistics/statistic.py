"""Statistic: one metric of one system on a sample, with the quantities that intervals and tests
need.

It is computed from values per unit (`OfUnits`), from rows in memory (`OfRows`), or from sums over
blocks (`summed`, `class_cells`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, minus, ratio
from evalkit.catalogue import kinds, metric, score_kinds
from evalkit.metrics.counts import RechosenCounts
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.bootstrap import defined
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.spread import Spread, by_unit, kish

LEFT_IN = float(np.exp(-1))  # the weight of the rows' own value in Efron's .632 estimate
TIMES = 2  # the mean weight: of few units each has much of the weight


class Layout(Enum):
    """The layout of a sample, by which `inference` chooses interval and test."""

    PLAIN = "rows that count alike"
    CLUSTERED = "rows in units"
    WEIGHTED = "rows with weights, in units or not"
    DIVIDED = "units that two systems divide between them"
    INDEPENDENT = "other units in each system"
    FOLDS = "folds that share training rows"
    KNOWN = "a number that is known"
    DRAWN = "draws of units that are the same in every sample"


@dataclass(frozen=True, eq=False)
class Statistic:
    """One metric of one system: `chosen`, the `layout` of the sample, `value`, and `n`, the number
    of units.

    `spread` has the units' influence values; `spread_from` those on the difference from another
    statistic.
    """

    chosen: metric.Chosen

    # whether it is a mean of many parts with few positives each: `metric.Combined.scarce`
    scarce: ClassVar[bool] = False
    held: ClassVar[bool] = True  # whether every unit is at hand; else sums over units are
    mid_p: ClassVar[bool] = False  # whether sign flips count ties half
    redraws: ClassVar[bool] = (
        False  # whether the threshold was chosen on the units, and is again on samples of them
    )

    @property
    def dominated(self: Any) -> bool:
        """True if one unit may have more weight than `Kind.heavy`, as Kish's number of the units
        says.
        """
        heavy = self.chosen.metric.kind.heavy
        return self.layout is Layout.WEIGHTED and self.freedom + 1 < min(
            1 / heavy**2, self.n / TIMES
        )

    def meets(self, other: Any) -> bool:
        """True if at least one unit has both values."""
        return True

    @cached_property
    def table_spread(self: Any) -> Spread:
        """The spread of a metric of unweighted rows, from the influence of one row of each bin of
        its score.
        """
        kind = self.chosen.metric.kind
        parts = []
        c = kind.source(self.tables)
        for step, moved in kind.influence_by_step(c, self.value):
            for rows, by in ((step.n, moved[1]), (step.p, moved[0])):
                each = rows.astype(np.float64)
                squared = by * by
                parts.append(
                    (np.dot(each, squared), np.dot(each, np.multiply(squared, by, out=squared)))
                )
        squares, cubes = (float(sum(reversed(side))) for side in zip(*parts, strict=True))
        skew = float(np.nan_to_num(ratio(cubes, squares**1.5)))
        return Spread(c.total, squares, c.total, lambda power: skew)

    def predicts_as(self, other: Any) -> bool:
        """True if both systems are known to predict the same for every row."""
        return False

    def pairs(self, other: Any) -> bool:
        """True if the row-by-row values of both are known, for a metric that leaves rows out."""
        return True

    def against(self: Any, other: Any) -> tuple[float, float, int]:
        """The difference over the units that have both values, its standard error, and the number
        of these units.
        """
        return self.value - other.value, self.spread_from(other).error, self.n

    def minus(self: Any, other: Any) -> Sums:
        """The differences of two statistics' terms over a common denominator, NaN if either is
        undefined.
        """
        return Sums(minus(self.sums.numerator, other.sums.numerator), self.sums.denominator)

    def shared_means(self) -> list[OfUnits]:
        """[this statistic] if it is a mean of values of units that all systems share, otherwise
        [].
        """
        return []

    def leave_one_out(self) -> Self:
        """The statistic with the influence of leaving out each row, if it is `scarce`."""
        return replace(self, chosen=self.chosen.leave_one_out) if self.scarce else self

    def base(self) -> Self:
        """The statistic of the metric that this one transforms; itself if it transforms none."""
        original = self.chosen.base
        return self if original is self.chosen else replace(self, chosen=original)

    def unadjusted(self) -> Any:
        """The statistic before an adjustment; itself if it is not adjusted."""
        return self

    @property
    def informative(self: Any) -> float:
        """The number of units that tell as much without the adjustment."""
        return float(self.n)


# Units --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OfUnits(Statistic):
    """Values per unit. unit: the cluster of each value, None if they are independent.

    design: the layout in that case.
    """

    sums: Sums
    unit: np.ndarray | None = None
    design: Layout = Layout.PLAIN

    @property
    def layout(self) -> Layout:
        """The layout of the sample."""
        return self.design if self.unit is None else Layout.CLUSTERED

    @cached_property
    def value(self) -> float:
        """The mean, or the ratio of sums."""
        return self.sums.value

    @property
    def n(self) -> int:
        """Units with a value."""
        return int(self.sums.defined.sum())

    def meets(self, other: OfUnits) -> bool:
        """True if at least one unit has both values."""
        if self.layout is Layout.INDEPENDENT:
            return bool(self.n and other.n)
        return bool((self.sums.defined & other.sums.defined).any())

    def shared_means(self) -> list[OfUnits]:
        if self.sums.denominator is None and self.layout in (Layout.PLAIN, Layout.CLUSTERED):
            return [self]
        return []

    def hits(self) -> tuple[int, int]:
        """The number of ones and the number of units; each value is 0 or 1."""
        return int(self.sums.numerator.sum()), len(self.sums.numerator)


class OfRepeated(OfUnits):
    """Values of repeated draws of 0 or 1, such as pass@k: they have few steps, and their
    differences often tie.
    """

    mid_p = True


@dataclass(frozen=True, eq=False)
class OfAdjusted(OfUnits):
    """Values of units adjusted by an earlier measurement (CUPED): a mean of amounts, also where the
    raw values are 0 and 1.
    """

    original: OfUnits = field(kw_only=True)

    @staticmethod
    def metric_of(chosen: metric.Chosen) -> metric.Chosen:
        """The mean of the adjusted values of a metric."""
        kind = chosen.metric.kind
        assert isinstance(kind, kinds.PerUnit)
        mean = kinds.PerUnit(kind.function)
        return replace(chosen, metric=replace(chosen.metric, kind=mean))

    @classmethod
    def of(cls, original: OfUnits, values: Floats) -> Self:
        """The adjusted values of the units of a statistic."""
        chosen = cls.metric_of(original.chosen)
        return cls(chosen, Sums(values), design=original.design, original=original)

    def unadjusted(self) -> OfUnits:
        return self.original

    @property
    def informative(self) -> float:
        """The units, times the factor by which the adjustment reduces the variance."""
        before = self.original.sums.numerator.var()
        after = self.sums.numerator.var()
        return self.n * float(ratio(before, after))


@dataclass(frozen=True, eq=False)
class OfDraws(OfUnits):
    """Values of units that are fixed; each is estimated from random draws.

    noise: the variance of each value over its draws. freedom: degrees of freedom of these
    variances.
    """

    noise: Floats = field(default_factory=lambda: np.empty(0))
    freedom: float = np.nan

    layout: ClassVar[Layout] = Layout.DRAWN  # type: ignore[misc]

    def noise_on(self, keep: Bools) -> float:
        """The standard error of the mean over the units `keep`; NaN if the variance of one of them
        is unknown.
        """
        return float(np.sqrt(self.noise[keep].sum()) / keep.sum())


@dataclass(frozen=True, eq=False)
class Hits(Statistic):
    """The share of successes in trials of one system, independent of other systems' trials."""

    successes: int
    n: int

    layout: ClassVar[Layout] = Layout.INDEPENDENT

    @property
    def value(self) -> float:
        """The share of successes."""
        return float(ratio(self.successes, self.n))

    def hits(self) -> tuple[int, int]:
        """Successes and trials."""
        return self.successes, self.n


@dataclass(frozen=True, eq=False)
class Known(Statistic):
    """A number from an earlier report, with the interval given there, if any."""

    estimate: Estimate

    layout: ClassVar[Layout] = Layout.KNOWN

    @property
    def value(self) -> float:
        """The number."""
        return self.estimate.value

    @property
    def n(self) -> int:
        """The number of units."""
        return self.estimate.n


# Rows at hand -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Piece:
    """A metric that another one combines: its weight in the mean, its statistic, and the influence
    of each unit.

    excess: the upward bias of its value.
    """

    share: float
    statistic: Any
    moved: Floats
    excess: float = 0.0


@dataclass(frozen=True, eq=False)
class OfRows(Statistic):
    """A metric computed from rows in memory."""

    rows: Rows

    how: ClassVar[str] = "delta method"

    @property
    def layout(self) -> Layout:
        """The layout of the sample."""
        return layout_of(units=self.unit is not None, weights=self.rows.weight is not None)

    @property
    def redraws(self) -> bool:  # type: ignore[override]
        """True if the threshold was chosen on the same rows."""
        return self.rows.redraw is not None

    @cached_property
    def bootstrap_values(self) -> Floats:
        """The metric on bootstrap samples; the threshold is chosen again on each."""
        return self._decision_kind.values_of_counts(self.rechosen.sample)

    @property
    def _decision_kind(self) -> kinds.Share | score_kinds.Decision:
        """The kind of a metric of decisions."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, kinds.Share | score_kinds.Decision)
        return kind

    @property
    def rechosen(self) -> RechosenCounts:
        """The counts of bootstrap samples, at thresholds that are chosen again on each."""
        redraw: Any = self.rows.redraw
        return redraw()

    @cached_property
    def value_elsewhere(self) -> float:
        """The value that is expected on other rows than those that chose the threshold: Efron's
        .632 estimate.

        On the rows that a sample leaves out, the metric lies as far below the whole table's as this
        lies below the sample's own: the thresholds fit the chance of the sample and that of the
        table equally well.
        """
        each = self._decision_kind.values_of_counts
        left_out = defined(2 * each(self.rechosen.whole) - self.bootstrap_values)
        if not left_out.size:
            return self.value
        estimate = LEFT_IN * self.value + (1 - LEFT_IN) * float(left_out.mean())
        inside = self.chosen.metric.low < estimate < self.chosen.metric.high
        return estimate if inside else self.value

    @cached_property
    def value(self) -> float:
        """The value of the metric."""
        kind: kinds.Kind = self.chosen.metric.kind
        return self.effects.value if kind.joint else kind.value(self.rows, self.chosen.k)

    @cached_property
    def effects(self) -> kinds.Effects:
        """The value and the influence of each row."""
        return self.chosen.effects(self.rows)

    @cached_property
    def sums(self) -> Sums:
        """The terms of each row, for a mean or a ratio of sums."""
        return self.chosen.sums(self.rows)

    def predicts_as(self, other: OfRows) -> bool:
        if not np.array_equal(self.rows.scores, other.rows.scores):
            return False  # equal decisions of other scores: of the rows to come some will differ
        if not self.chosen.uses_decisions:
            return True
        rechosen = not self.redraws or np.array_equal(
            self.bootstrap_values, other.bootstrap_values, equal_nan=True
        )
        return rechosen and self.decides_as(other)

    def decides_as(self, other: OfRows) -> bool:
        """True if both systems decide the same for every row."""
        return np.array_equal(self.rows.predicted, other.rows.predicted)

    @property
    def unit(self) -> np.ndarray | None:
        """The unit of each row."""
        return self.rows.unit

    @cached_property
    def n(self) -> int:
        """The number of units, or of rows."""
        return len(self.rows) if self.unit is None else len(np.unique(self.unit))

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, less 1.

        It is that of the smallest group of rows that the metric depends on, such as the positive
        ones.
        """
        return self.n - 1.0 if self.layout is Layout.PLAIN else self.fewest - 1

    @property
    def fewest(self) -> float:
        """Kish's number of units in the smallest group of rows that the metric depends on."""
        groups = self.chosen.metric.kind.groups(self.rows)
        return min(kish(by_unit(self.rows.weights * group, self.unit)) for group in groups)

    @property
    def dominated(self: Any) -> bool:
        """True if a unit has more of a group's weight than `Kind.heavy`, and `TIMES` as much as its
        mean unit.
        """
        if self.layout is not Layout.WEIGHTED:
            return False
        kind = self.chosen.metric.kind
        each = (by_unit(self.rows.weights * group, self.unit) for group in kind.groups(self.rows))
        most = (
            (w.max(initial=0.0), w.sum(), min(TIMES / max(int(np.count_nonzero(w)), 1), 0.999))
            for w in each
        )
        return any(one > weight * max(kind.heavy, share) for one, weight, share in most)

    @property
    def each(self) -> Floats:
        """The influence of each row, or of one row of each cell."""
        return self.effects.influence

    @cached_property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        return self.spread_of(self.each, self)

    def spread_from(self, other: OfRows) -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        return self.spread_of(self.each - other.each, self)

    def spread_of(self, moved: Floats, on: OfRows) -> Spread:
        """The spread of influence values `moved`, one per row of `on`, added up by unit."""
        return Spread.of(by_unit(moved, self.unit), kish=self.freedom + 1)

    def against(self, other: OfRows) -> tuple[float, float, int]:
        if np.array_equal(self.sums.defined, other.sums.defined):
            return super().against(other)
        difference = self.minus(other)
        top, size = difference.by_unit(difference.defined, self.unit)
        value = float(top.sum() / size.sum())
        spread = Spread.of((top - value * size) / size.sum(), kish=self.freedom + 1)
        return value, spread.error, int(np.count_nonzero(size))

    @cached_property
    def unit_terms(self) -> Floats:
        """The sums of the terms of each unit, for a function of means: one column per unit."""
        kind: Any = self.chosen.metric.kind
        terms = kind.terms(self.rows, self.chosen.k, kind.centre(self.rows))
        return np.array([by_unit(term * self.rows.weights, self.unit) for term in terms])

    def without_each(self) -> Floats:
        """The metric without each unit, for a function of means."""
        kind: Any = self.chosen.metric.kind
        terms = self.unit_terms
        return kind.of_many_terms(terms.sum(axis=1)[:, None] - terms)

    def pair(self, other: OfRows) -> tuple[OfRows, OfRows, Floats | float]:
        """Both metrics on the same rows, and the factor of each row's squared influence."""
        return self, other, 1.0

    def counted(self, rows: Bools) -> int:
        """The number of rows that `rows` marks."""
        return int(np.count_nonzero(rows))

    def apart_by(self, other: OfRows) -> Floats:
        """The influence of each row on the difference, for unweighted rows.

        For metrics of the highest-scored rows it is computed under the null hypothesis that both
        systems are equal.
        """
        picks = self.chosen.metric.kind.selects_rows and self.layout is Layout.PLAIN
        return self._picked_apart(other) if picks else self.each - other.each

    def _picked_apart(self, other: OfRows) -> Floats:
        return self.chosen.metric.kind.influence_on_difference(self.rows, other.rows, self.chosen.k)

    def by_stratum(self, other: OfRows) -> tuple[Floats, Ints]:
        """The sum of the squared influence on the difference in each class, and the number of its
        rows.

        Both are empty if rows are weighted or clustered.
        """
        kind = self.chosen.metric.kind
        if self.layout is not Layout.PLAIN or kind.strata(self.rows) is None:
            return np.empty(0), np.empty(0, np.int64)
        a, b, times = self.pair(other)
        of = kind.strata(a.rows)
        assert of is not None
        squares: Floats = np.bincount(of, times * a.apart_by(b) ** 2).astype(np.float64, copy=False)
        rows = np.bincount(of, a.rows.weight).astype(np.int64)
        return squares[rows > 0], rows[rows > 0]

    def spread_apart(self, other: OfRows) -> Spread:
        """The spread of what `apart_by` has of each unit."""
        a, b, _ = self.pair(other)
        return self.spread_of(a.apart_by(b), a)

    @property
    def scarce(self) -> bool:  # type: ignore[override]
        """True if it is a mean of many parts of unweighted rows with few positives each."""
        kind = self.chosen.metric.kind
        if self.layout is not Layout.PLAIN or not isinstance(kind, metric.Combined):
            return False
        each = (part.rows for part in kind.split(self.rows))
        return kind.scarce(np.array([rows.weights @ (rows.actual == 1) for rows in each]))

    def parts(self) -> Iterator[Piece]:
        """The metrics that this one is the mean of."""
        kind: Any = self.chosen.metric.kind
        for part in kind.parts(self.rows):
            side = OfRows(metric.Chosen(kind.metric), part.rows)
            moved = by_unit(part.among_all(side.effects.influence, len(self.rows)), self.unit)
            yield Piece(part.share, side, moved, kind.metric.kind.excess(part.rows))

    def of_shares(self) -> Floats | None:
        """The units' influence on the mean through the shares of its parts; None if these are
        fixed.
        """
        kind = self.chosen.metric.kind
        assert isinstance(kind, metric.Combined)
        moved = kind.influence_through_shares(self.rows, None, self.value)
        return None if moved is None else by_unit(moved, self.unit)

    def both(self) -> list[Piece]:
        """The two metrics that this one is the harmonic mean of."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, metric.Harmonic)
        sides = [OfRows(metric.Chosen(of), self.rows) for of in kind.pair]
        return [Piece(1.0, side, by_unit(side.effects.influence, self.unit)) for side in sides]

    def moved_by_group(self) -> list[Floats]:
        """The units' influence, for each group of rows with a variance of its own; clustered rows
        are one group.
        """
        if self.layout is not Layout.PLAIN:
            return [by_unit(self.effects.influence, self.unit)]
        return [
            self.effects.influence[group] for group in self.chosen.metric.kind.groups(self.rows)
        ]

    @property
    def tables(self) -> score_kinds.Tables:
        """The tables of counts by score."""
        return self.rows

    def hits(self) -> tuple[int, int]:
        """The number of hits, and of the rows that count."""
        member, hit = self._hits
        return self.counted(hit), self.counted(member)

    def only(self, other: OfRows) -> tuple[int, int, int]:
        """The number of rows that are a hit of this system alone, of the other alone, and of all
        rows that count.
        """
        a, b, _ = self.pair(other)
        (member, first), (_, second) = a._hits, b._hits
        return a.counted(first & ~second), a.counted(member & second & ~first), a.counted(member)

    def shared(self, other: OfRows) -> Ints:
        """A 2 × 2 table of the rows that count for both: hit or not of this one (rows), of the
        other (columns).
        """
        a, b, _ = self.pair(other)
        (member, first), (others, second) = a._hits, b._hits
        both = member & others
        return np.array(
            [[a.counted(both & x & y) for y in (second, ~second)] for x in (first, ~first)]
        )

    @cached_property
    def _hits(self) -> tuple[Bools, Bools]:
        kind = self.chosen.metric.kind
        assert isinstance(kind, kinds.Share)
        return kind.hits(self.rows)


def pooled_variances(parts: Sequence[Sequence[Floats]]) -> tuple[Floats, float]:
    """The variance of one metric on each of several similar parts of the rows, and the number of
    units behind it.

    parts: for each part the units' influence values, by group (`OfRows.moved_by_group`). The
    variance of a unit's influence is pooled over all parts, for each group such as the positive
    rows, and scaled by the group's size in the part.
    """
    variance = np.zeros(len(parts))
    fewest = np.inf
    for moved in zip(*parts, strict=True):
        units = np.array([len(effects) for effects in moved])
        each = sum(float(effects @ effects) * n**2 for effects, n in zip(moved, units, strict=True))
        variance += ratio(each, np.sum(units - 1) * units)
        fewest = min(fewest, float(units.sum()))
    return variance, fewest


def layout_of(*, units: bool, weights: bool) -> Layout:
    """The layout of rows with or without units and weights."""
    return Layout.WEIGHTED if weights else Layout.CLUSTERED if units else Layout.PLAIN
