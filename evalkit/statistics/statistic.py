"""Statistic: one metric of one system on a sample, with the quantities that intervals and tests
need.

It is computed from values per unit (`UnitStatistic`), from rows in memory (`RowStatistic`), or from
sums over blocks (`summed`, `class_cells`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, minus, ratio
from evalkit.catalogue import kinds, score_kinds
from evalkit.catalogue.metric import Harmonic, MeanOverClasses, Metric, MetricAtK
from evalkit.metrics.counts import RechosenCounts
from evalkit.metrics.predictive import are_same
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.bootstrap import defined
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.spread import Spread, kish, only_power, sum_by_unit

# the weight, in Efron's .632 estimate, of the value on the rows that chose the threshold
WEIGHT_OF_SAME_ROWS = float(np.exp(-1))
HEAVY_TIMES = 2  # a unit that dominates has at least so many times the mean weight of a unit
MOST_SHARE = 0.999  # a unit with a larger share of the weight of a group always dominates it


class Layout(Enum):
    """The layout of a sample, by which `inference` chooses interval and test."""

    PLAIN = "rows that count alike"
    CLUSTERED = "rows in units"
    WEIGHTED = "rows with weights, in units or not"
    SERIES = "rows in time order, weighted or not"
    DIVIDED = "units that two systems divide between them"
    INDEPENDENT = "other units in each system"
    FOLDS = "folds that share training rows"
    KNOWN = "a number that is known"
    DRAWN = "draws of units that are the same in every sample"
    JUDGED = "scores of a judge, corrected by labels of some units"


class Difference(NamedTuple):
    """The difference of two values, its standard error, and the number of units that have both.

    has_bartlett_weights: True if autocovariances got Bartlett's weights, as in `Spread`.
    """

    value: float
    error: float
    n: int
    has_bartlett_weights: bool = False


class HitCount(NamedTuple):
    """The number of hits, and of the rows or units that could be one."""

    hits: int
    n: int


class Discordant(NamedTuple):
    """The number of rows that are a hit of the first system alone, of the second alone, and of all
    rows that count.
    """

    first_only: int
    second_only: int
    n: int

    @property
    def share(self) -> float:
        """The share of the rows that are a hit of one system alone; NaN without rows."""
        return float(ratio(self.first_only + self.second_only, self.n))


class ClassSquares(NamedTuple):
    """For each class the sum of the squared influence of its rows on a difference, and the number
    of its rows, shape (classes,) each. Both are empty if rows are weighted or clustered, or if the
    metric does not depend on a class.
    """

    squares: Floats
    rows: Ints


NO_CLASSES = ClassSquares(np.empty(0), np.empty(0, np.int64))


# What intervals and tests can ask -----------------------------------------------------------------

# A subclass has what stands below `if TYPE_CHECKING` as a field, or computes it.


@dataclass(frozen=True, eq=False)
class Statistic:
    """One metric of one system on a sample. metric_at_k: the metric, with its cut-off if it has
    one. n: the number of units, or of rows if these are independent.
    """

    metric_at_k: MetricAtK

    mid_p: ClassVar[bool] = False  # True if sign flips count ties half

    if TYPE_CHECKING:

        @property
        def layout(self) -> Layout: ...
        @property
        def value(self) -> float: ...
        @property
        def n(self) -> int: ...

    @property
    def metric(self) -> Metric:
        """The metric, as a row of the catalogue."""
        return self.metric_at_k.metric

    @property
    def kind(self) -> kinds.MetricKind:
        """How the metric is computed, which decides its interval and test."""
        return self.metric.kind

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory, False if only sums over units are."""
        return True

    @property
    def rechooses_threshold(self) -> bool:
        """True if the threshold was chosen on these units, and is chosen again on samples of
        them.
        """
        return False

    @property
    def has_dominant_unit(self) -> bool:
        """True if one unit may have so much of the weight that there is no interval or test."""
        return False

    def shares_units_with(self, other: Self) -> bool:
        """True if at least one unit has both values."""
        return True

    def predicts_same(self, other: Self) -> bool:
        """True if both systems are known to predict the same for every row."""
        return False

    def shared_means(self) -> list[UnitStatistic]:
        """The means of values of units that all systems share: this statistic if it is one,
        otherwise none.
        """
        return []

    def untransformed_statistic(self) -> Self:
        """The statistic of the metric that this one transforms; itself if it transforms none."""
        original = self.metric_at_k.base
        return self if original is self.metric_at_k else replace(self, metric_at_k=original)

    def unadjusted(self) -> Statistic:
        """The statistic before an adjustment; itself if it is not adjusted."""
        return self

    @property
    def informative_units(self) -> float:
        """The number of units that would give the same standard error without the adjustment."""
        return float(self.n)


class TermStatistic(Statistic):
    """A mean, or a ratio of sums, whose terms are known for every row or unit.

    sums: the terms. unit: the cluster of each row, None if they are independent or added up by
    unit.
    """

    if TYPE_CHECKING:

        @property
        def sums(self) -> Sums: ...
        @property
        def unit(self) -> np.ndarray | None: ...

    def term_differences(self, second: Self) -> Sums:
        """The terms of the difference of two statistics with the same denominator: the differences
        of their numerators, NaN if either is undefined.
        """
        return Sums(minus(self.sums.numerator, second.sums.numerator), self.sums.denominator)

    def counts_same_rows(self, other: Self) -> bool:
        """True if the same rows of every unit count for both statistics; a metric may leave out
        rows.
        """
        return True


class SpreadStatistic(Statistic):
    """A metric whose units have known influence values.

    spread: of the influence values. freedom: the degrees of freedom of the standard error, Kish's
    number of units less 1.
    """

    error_method: ClassVar[str] = "delta method"

    if TYPE_CHECKING:

        @property
        def spread(self) -> Spread: ...
        @property
        def freedom(self) -> float: ...
        def difference_spread(self, second: Self) -> Spread:
            """The spread of the units' influence on the difference self − second."""

    @property
    def has_dominant_unit(self) -> bool:
        """True if one unit may have so much of the weight, more than the kind's share
        `heavy_share`, that no interval or test is valid; judged by Kish's number of units, as only
        sums over units are known.
        """
        if self.layout is not Layout.WEIGHTED:  # without weights no row has more than another
            return False
        share = self.kind.heavy_share
        # Kish's number is 1 / Σ (share of a unit)². If one unit has more than `heavy_share`, the
        # number is below 1 / heavy_share². The number of a few equal units is as small. So it must
        # also be far below the number of units.
        kish_number = self.freedom + 1
        bound = min(1 / share**2, self.n / HEAVY_TIMES)
        return kish_number < bound

    def difference_on_shared_units(self, second: Self) -> Difference:
        """The difference self − second over the units that have both values."""
        return Difference(self.value - second.value, self.difference_spread(second).error, self.n)


@dataclass(frozen=True, eq=False)
class Component:
    """One of the metrics whose mean is another metric.

    share: its weight in the mean. statistic: of this metric, on its part of the rows. influence: of
    each unit of all rows on it, (units,). bias: the upward bias of its value, 0 if none is known.
    """

    share: float
    statistic: SpreadStatistic
    influence: Floats
    bias: float = 0.0


class ScoreStatistic(SpreadStatistic):
    """A metric of rows with a class or label, which may be a mean of metrics (`components`).

    tables: the tables of counts by score.
    """

    if TYPE_CHECKING:

        @property
        def tables(self) -> score_kinds.Tables: ...
        def squares_by_class(self, second: Self) -> ClassSquares:
            """The influence on the difference self − second by class, for unweighted rows."""

        def components(self) -> Iterator[Component]:
            """The metrics that this one is the mean of."""

        def share_influence(self) -> Floats | None:
            """The units' influence on a mean over classes or labels through the shares (weights) of
            the classes, which are estimated from the rows; None if the shares are fixed.
            """

        def null_difference_spread(self, second: Self) -> Spread:
            """As `difference_spread`; for metrics of the highest-scored rows under the null
            hypothesis that both systems are equal.
            """

    @property
    def scarce(self) -> bool:
        """True if it is a mean of many metrics with few positives each, as by class; see
        `MeanOverClasses.scarce`.
        """
        return False

    def leave_one_out(self) -> Self:
        """The statistic with influence values from leaving out each row if it is `scarce`, where
        the bias of few positives matters; otherwise itself.
        """
        return replace(self, metric_at_k=self.metric_at_k.leave_one_out) if self.scarce else self

    @cached_property
    def table_spread(self) -> Spread:
        """The spread of the rows' influence values, for a metric of unweighted rows.

        All rows of a class with the same score have the same influence. So Σ influence² over the
        rows is Σ (number of rows) · influence² over classes and thresholds, and likewise Σ
        influence³, for the skewness. Fourth powers are not added up.
        """
        kind = self.kind
        assert isinstance(kind, score_kinds.ScoreKind)
        table = kind.score_table(self.tables)
        square_sums = []
        cube_sums = []
        # a step is a run of neighbouring thresholds: no array is as long as the whole table
        for step, influence in kind.influence_by_step(table, self.value):
            of_positive, of_negative = influence  # of one row at each threshold
            negatives = _squares_and_cubes(of_negative, rows=step.n)
            positives = _squares_and_cubes(of_positive, rows=step.p)
            square_sums += [negatives.squares, positives.squares]
            cube_sums += [negatives.cubes, positives.cubes]
        # The steps come with the lowest scores first, the table has the highest first. Added up in
        # the order of the table, the sums have the rounding error of a sum in one piece.
        square = float(sum(reversed(square_sums)))
        cube = float(sum(reversed(cube_sums)))
        standardised_cube = np.nan_to_num(ratio(cube, square**1.5))
        return Spread(
            n=table.total,
            square=square,
            kish=table.total,
            standardised_power=only_power(3, float(standardised_cube)),
        )


class SquaresAndCubes(NamedTuple):
    """Σ l² and Σ l³ of the influence l of some rows."""

    squares: float
    cubes: float


def _squares_and_cubes(influence: Floats, rows: Ints | Floats) -> SquaresAndCubes:
    """The sums of the powers of influence values over rows. rows: how many rows have each value."""
    frequency = rows.astype(np.float64)
    squares = influence * influence
    sum_of_squares = np.dot(frequency, squares)
    # the cubes overwrite the squares, which is faster than new memory
    cubes = np.multiply(squares, influence, out=squares)
    return SquaresAndCubes(sum_of_squares, np.dot(frequency, cubes))


# Units --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UnitStatistic(TermStatistic):
    """A mean or a ratio of sums of values per unit.

    sums: the values. unit: the cluster of each, None if they are independent. design: the layout if
    they are independent.
    """

    sums: Sums
    unit: np.ndarray | None = None
    design: Layout = Layout.PLAIN

    @property
    def layout(self) -> Layout:
        """The layout of the sample: `design`, unless the units are clustered."""
        return self.design if self.unit is None else Layout.CLUSTERED

    @cached_property
    def value(self) -> float:
        """The mean, or the ratio of sums."""
        return self.sums.value

    @property
    def n(self) -> int:
        """The number of units with a value."""
        return int(self.sums.defined.sum())

    def shares_units_with(self, other: UnitStatistic) -> bool:
        """True if at least one unit has both values; of independent samples each must have one."""
        if self.layout is Layout.INDEPENDENT:
            return bool(self.n and other.n)
        return bool((self.sums.defined & other.sums.defined).any())

    def shared_means(self) -> list[UnitStatistic]:
        """See `Statistic`: none for a ratio of sums, and for units that are not shared."""
        if self.sums.denominator is None and self.layout in (Layout.PLAIN, Layout.CLUSTERED):
            return [self]
        return []

    def unadjusted(self) -> UnitStatistic:
        """Itself: the values are not adjusted."""
        return self

    def hits(self) -> HitCount:
        """The number of units with the value 1, and of all units, for values of 0 and 1."""
        return HitCount(int(self.sums.numerator.sum()), len(self.sums.numerator))


class RepeatedUnitStatistic(UnitStatistic):
    """A mean of values from repeated draws of 0 or 1, such as pass@k. As they take few values,
    sign flips often tie, and the mid-p is used.
    """

    mid_p = True


@dataclass(frozen=True, eq=False)
class AdjustedStatistic(UnitStatistic):
    """A mean of values that are adjusted by an earlier measurement of each unit (CUPED).

    original: the statistic of the raw values. The adjusted ones are amounts, also if the raw ones
    are 0 and 1.
    """

    original: UnitStatistic = field(kw_only=True)

    @staticmethod
    def adjusted_metric(metric_at_k: MetricAtK) -> MetricAtK:
        """The metric of the adjusted values: the plain mean, also where the original metric is a
        share, whose intervals need values of 0 and 1.
        """
        metric = metric_at_k.metric
        kind = metric.kind
        assert isinstance(kind, kinds.MeanPerUnit)
        mean = kinds.MeanPerUnit(kind.function)
        return replace(metric_at_k, metric=replace(metric, kind=mean))

    @classmethod
    def adjust(cls, original: UnitStatistic, values: Floats) -> Self:
        """The statistic of adjusted values of the same units."""
        metric_at_k = cls.adjusted_metric(original.metric_at_k)
        return cls(metric_at_k, Sums(values), design=original.design, original=original)

    def unadjusted(self) -> UnitStatistic:
        """The statistic of the raw values."""
        return self.original

    @property
    def informative_units(self) -> float:
        """The number of units times the factor by which the adjustment divides the variance."""
        before = self.original.sums.numerator.var()
        after = self.sums.numerator.var()
        return self.n * float(ratio(before, after))


@dataclass(frozen=True, eq=False)
class NoisyUnitStatistic(UnitStatistic):
    """A mean over units that are the same in every sample; the value of each is estimated from
    random draws, which alone vary.

    noise: the variance of each estimated value, shape (units,). freedom: the degrees of freedom of
    these variances.
    """

    noise: Floats = field(default_factory=lambda: np.empty(0))
    freedom: float = np.nan

    @property
    def layout(self) -> Layout:
        """Fixed units, of which only the draws vary."""
        return Layout.DRAWN

    def error_on(self, units: Bools) -> float:
        """The standard error of the mean over the units that this mask marks; NaN if the variance
        of one of them is unknown.
        """
        variance_of_sum = self.noise[units].sum()
        return float(np.sqrt(variance_of_sum) / units.sum())


@dataclass(frozen=True, eq=False)
class SuccessShare(Statistic):
    """The share of successes in trials of one system, independent of other systems' trials."""

    successes: int
    n: int

    @property
    def layout(self) -> Layout:
        """Independent trials."""
        return Layout.INDEPENDENT

    @property
    def value(self) -> float:
        """The share of successes."""
        return float(ratio(self.successes, self.n))

    def hits(self) -> HitCount:
        """Successes and trials."""
        return HitCount(self.successes, self.n)


@dataclass(frozen=True, eq=False)
class KnownValue(Statistic):
    """A number from an earlier report, with the interval given there, if any."""

    estimate: Estimate

    @property
    def layout(self) -> Layout:
        """A number that is known."""
        return Layout.KNOWN

    @property
    def value(self) -> float:
        """The number."""
        return self.estimate.value

    @property
    def n(self) -> int:
        """The number of units."""
        return self.estimate.n


# Rows at hand -------------------------------------------------------------------------------------


class JointRows(NamedTuple):
    """Two statistics, of either system, on the same rows; or on the same cells, each of which
    stands for all rows with the same actual class and the same two predictions.

    square_weight: with it the squared influence of a row, or of one row of weight 1 of each cell,
    is added up over all rows: 1, or the Σ weight² of each cell.
    """

    first: RowStatistic
    second: RowStatistic
    square_weight: Floats | float


@dataclass(frozen=True, eq=False)
class RowStatistic(TermStatistic, ScoreStatistic):
    """A metric computed from rows in memory."""

    rows: Rows

    @property
    def layout(self) -> Layout:
        """The layout of the sample."""
        return layout_of_rows(self.rows)

    @property
    def rechooses_threshold(self) -> bool:
        """True if the threshold was chosen on the same rows."""
        return self.rows.redraw_counts is not None

    @cached_property
    def bootstrap_values(self) -> Floats:
        """The metric on bootstrap samples; the threshold is chosen again on each."""
        kind = self.kind
        assert isinstance(kind, kinds.Share | score_kinds.Decision)
        return kind.values_of_counts(self.rechosen_threshold_counts.sample)

    @property
    def rechosen_threshold_counts(self) -> RechosenCounts:
        """The counts of bootstrap samples, at thresholds that are chosen again on each."""
        assert self.rows.redraw_counts is not None
        return self.rows.redraw_counts()

    @cached_property
    def value_on_new_rows(self) -> float:
        """The value that is expected on new rows, at a threshold chosen on these: Efron's .632
        estimate, 0.368 · value + 0.632 · value on the rows that a bootstrap sample leaves out.

        The value on the rows left out is taken as 2 · (value on all rows) − (value on the sample),
        at the threshold that the sample chose. The result is the observed value if no sample has a
        threshold that satisfies the rule of choice, or if the estimate is beyond the range of the
        metric.
        """
        kind = self.kind
        assert isinstance(kind, kinds.Share | score_kinds.Decision)
        # at the threshold that each sample chose, (samples,); NaN if it has none
        on_sample = self.bootstrap_values
        on_all_rows = kind.values_of_counts(self.rechosen_threshold_counts.all_rows)
        # How often does the sample have a row? A row left out 0 times; one of all rows once on
        # average; one drawn from the sample twice on average. The threshold fits a row about
        # linearly in this number, so that the three values lie at equal distances.
        on_left_out_rows = defined(2 * on_all_rows - on_sample)
        if not on_left_out_rows.size:
            return self.value
        value_on_left_out_rows = float(on_left_out_rows.mean())
        estimate = WEIGHT_OF_SAME_ROWS * self.value
        estimate += (1 - WEIGHT_OF_SAME_ROWS) * value_on_left_out_rows
        is_possible = self.metric.low < estimate < self.metric.high
        return estimate if is_possible else self.value

    @cached_property
    def value(self) -> float:
        """The value of the metric."""
        kind = self.kind
        if kind.joint:  # value and influence are computed together
            return self.effects.value
        return kind.value(self.rows, self.metric_at_k.k)

    @cached_property
    def effects(self) -> kinds.ValueAndInfluence:
        """The value and the influence of each row."""
        return self.metric_at_k.effects(self.rows)

    @cached_property
    def sums(self) -> Sums:
        """The terms of each row, for a mean or a ratio of sums."""
        return self.metric_at_k.sums(self.rows)

    def predicts_same(self, other: Self) -> bool:
        """True if both systems have the same scores and, for a metric that uses them, the same
        distributions or the same decisions. Where the threshold was chosen on these rows, both must
        also have the same values on bootstrap samples, on which it is chosen again.
        """
        if not np.array_equal(self.rows.scores, other.rows.scores):
            return False  # also if all decisions are equal: on new rows some will differ
        kind = self.kind
        if isinstance(kind, kinds.Loss | kinds.RatioOfRows) and kind.of_distributions:
            return are_same(self.rows.predictive, other.rows.predictive)
        if not self.metric_at_k.uses_decisions:
            return True
        # of a sample only the metric is known, not its decisions: equal metrics stand for them
        if self.rechooses_threshold and not np.array_equal(
            self.bootstrap_values, other.bootstrap_values, equal_nan=True
        ):
            return False
        return self.decides_same(other)

    def decides_same(self, other: Self) -> bool:
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
        """The degrees of freedom of the standard error: Kish's number of units, less 1, in the
        smallest group of rows that the metric depends on, such as the positive ones.
        """
        return self.n - 1.0 if self.layout is Layout.PLAIN else self.fewest_units - 1

    def _group_weights(self) -> Iterator[Floats]:
        """Yield, for each group of rows that the metric depends on, the weight of each unit in it,
        shape (units,).
        """
        for in_group in self.kind.groups(self.rows):  # masks of rows
            yield sum_by_unit(self.rows.weights * in_group, self.unit)

    @property
    def fewest_units(self) -> float:
        """Kish's number of units in the smallest group of rows that the metric depends on."""
        return min(map(kish, self._group_weights()))

    @property
    def has_dominant_unit(self) -> bool:
        """True if one unit has so much of the weight of a group of rows that no interval or test is
        valid: more than the kind's share `heavy_share`, and among few units also more than twice
        the mean share (`HEAVY_TIMES`), or nearly all (`MOST_SHARE`).
        """
        if self.layout is not Layout.WEIGHTED:  # without weights no row has more than another
            return False
        for weights in self._group_weights():
            units = max(int(np.count_nonzero(weights)), 1)
            # HEAVY_TIMES / units, a multiple of the mean share, is 1 or more for one or two units.
            # No unit has a larger share, so that MOST_SHARE takes its place.
            multiple_of_mean = min(HEAVY_TIMES / units, MOST_SHARE)
            bound = max(self.kind.heavy_share, multiple_of_mean)
            if weights.max(initial=0.0) > weights.sum() * bound:
                return True
        return False

    @property
    def row_influence(self) -> Floats:
        """The influence of each row, or of one row of each cell."""
        return self.effects.influence

    @cached_property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        return self._spread_of(self.row_influence, self)

    def difference_spread(self, second: Self) -> Spread:
        """The spread of the units' influence on the difference self − second."""
        return self._spread_of(self.row_influence - second.row_influence, self)

    def _spread_of(self, influence: Floats, statistic: RowStatistic) -> Spread:
        """The spread of the influence values of the rows of `statistic`, added up by unit; of rows
        in time order without the units that do not count.

        statistic: only a subclass that holds cells in place of rows needs it, for their weights.
        """
        unit_influence = sum_by_unit(influence, self.unit)
        if self.layout is Layout.SERIES:
            unit_influence = unit_influence[self._counting_units]
        return self._spread_of_units(unit_influence)

    @property
    def _counting_units(self) -> Bools:
        """True for each unit with weight in a group of rows that the metric depends on."""
        weights = np.array([*self._group_weights()])  # shape (groups, units)
        return np.asarray((weights > 0).any(axis=0))

    def _spread_of_units(self, influence: Floats) -> Spread:
        """The spread of influence values, one per unit."""
        if self.layout is Layout.SERIES:
            return Spread.from_series(influence, self.rows.lags)
        return Spread.from_influence(influence, kish=self.freedom + 1)

    def difference_on_shared_units(self, second: Self) -> Difference:
        """The difference self − second over the rows that have both values, as a ratio of sums over
        units, with its error by the delta method. Both systems have the same denominators.
        """
        same_rows = np.array_equal(self.sums.defined, second.sums.defined)
        if same_rows and self.layout is not Layout.SERIES:
            # Both values are over the same rows already, so that the usual difference serves. For a
            # series it does not: it lacks `has_bartlett_weights`, and its n counts the times
            # without weight.
            return super().difference_on_shared_units(second)
        differences = self.term_differences(second)  # of each row; NaN unless both have a value
        by_unit = differences.summed_by_unit(differences.defined, self.unit)
        weight = by_unit.size  # the denominator of each unit
        value = float(by_unit.numerator.sum() / weight.sum())
        influence = (by_unit.numerator - value * weight) / weight.sum()
        has_weight = weight != 0
        if self.layout is Layout.SERIES:
            # A unit without weight has the influence 0, which adds nothing to a sum of squares. In
            # a series it would take a place, and so change which units are neighbours.
            influence = influence[has_weight]
        spread = self._spread_of_units(influence)
        n = int(np.count_nonzero(has_weight))
        return Difference(
            value, spread.error, n=n, has_bartlett_weights=spread.has_bartlett_weights
        )

    @cached_property
    def unit_terms(self) -> Floats:
        """The sums of the terms of each unit, for a function of means: shape (terms, units)."""
        kind = self.kind
        assert isinstance(kind, score_kinds.FunctionOfMeans)
        terms = kind.terms(self.rows, self.metric_at_k.k, kind.centre(self.rows))
        return np.array([sum_by_unit(term * self.rows.weights, self.unit) for term in terms])

    def leave_one_out_values(self) -> Floats:
        """The metric without each unit, shape (units,), for a function of means."""
        kind = self.kind
        assert isinstance(kind, score_kinds.FunctionOfMeans)
        terms = self.unit_terms
        totals = terms.sum(axis=1)[:, None]  # a column, from which each unit is subtracted
        return kind.of_many_terms(totals - terms)

    def on_joint_rows(self, second: Self) -> JointRows:
        """Both statistics on the same rows: these, which systems in memory share already."""
        return JointRows(self, second, square_weight=1.0)

    def count_rows(self, member: Bools) -> int:
        """The number of rows that `member` marks."""
        return int(np.count_nonzero(member))

    def difference_influence(self, second: Self) -> Floats:
        """The influence of each row on the difference, for unweighted rows.

        For metrics of the highest-scored rows it is computed under the null hypothesis that both
        systems are equal.
        """
        if self.kind.selects_rows and self.layout is Layout.PLAIN:
            return self._null_influence(second)
        return self.row_influence - second.row_influence

    def _null_influence(self, second: RowStatistic) -> Floats:
        """The influence of each row on the difference if both systems are equal."""
        kind = self.kind
        return kind.influence_on_difference(self.rows, second.rows, self.metric_at_k.k)

    def squares_by_class(self, second: Self) -> ClassSquares:
        """For each actual class that occurs, as a group of Welch's t: the sum of its rows' squared
        influence on the difference self − second, and its number of rows. Empty if rows are
        weighted or clustered, or if the metric has no classes.
        """
        kind = self.kind
        if self.layout is not Layout.PLAIN or kind.strata(self.rows) is None:
            return NO_CLASSES
        joint = self.on_joint_rows(second)  # the same rows, or cells of rows, with both predictions
        row_class = kind.strata(joint.first.rows)  # the number of each row's or cell's class
        assert row_class is not None
        influence = joint.first.difference_influence(joint.second)
        squares = np.bincount(row_class, joint.square_weight * influence**2)
        # The weight of a cell is its number of rows. Single rows have no weights here: the weight
        # None of `bincount` counts each as 1.
        rows = np.bincount(row_class, joint.first.rows.weight).astype(np.int64)
        occurs = rows > 0
        return ClassSquares(squares[occurs].astype(np.float64), rows[occurs])

    def null_difference_spread(self, second: Self) -> Spread:
        """The spread of the units' influence on the difference, as `difference_influence`."""
        joint = self.on_joint_rows(second)
        return self._spread_of(joint.first.difference_influence(joint.second), joint.first)

    @property
    def scarce(self) -> bool:
        """True for a mean over many classes or labels with few positives each, if its metric has a
        leave-one-out form to use in this case (`MeanOverClasses.scarce`); False for rows with units
        or weights.
        """
        kind = self.kind
        if self.layout is not Layout.PLAIN or not isinstance(kind, MeanOverClasses):
            return False
        positives = [np.count_nonzero(part.rows.actual == 1) for part in kind.split(self.rows)]
        return kind.scarce(np.array(positives, float))

    def components(self) -> Iterator[Component]:
        """Yield the metrics that this one is the mean of: one per class or label, the same base
        metric, such as precision, each with its share in the mean.
        """
        kind = self.kind
        assert isinstance(kind, MeanOverClasses)
        for part in kind.parts(self.rows):  # one per class or label
            statistic = RowStatistic(MetricAtK(kind.metric), part.rows)
            # one per row of the whole sample: 0 for the rows that the part does not have
            influence = part.among_all(statistic.effects.influence, len(self.rows))
            yield Component(
                share=part.share,
                statistic=statistic,
                influence=sum_by_unit(influence, self.unit),
                bias=kind.metric.kind.upward_bias(part.rows),
            )

    def share_influence(self) -> Floats | None:
        """The units' influence on a mean over classes or labels through the shares (weights) of the
        classes, which are estimated from the rows; shape (units,). None if the shares are fixed.
        """
        kind = self.kind
        # a mean over classes or labels, which has no cut-off k
        assert isinstance(kind, MeanOverClasses)
        row_influence = kind.influence_through_shares(self.rows, k=None, value=self.value)
        if row_influence is None:
            return None
        return sum_by_unit(row_influence, self.unit)

    def harmonic_pair(self) -> list[Component]:
        """The two metrics that this one is the harmonic mean of, with their influence by unit.

        Their `share` is 1 and has no meaning: a harmonic mean is no weighted sum.
        """
        kind = self.kind
        assert isinstance(kind, Harmonic)
        pair = []
        for metric in kind.pair:
            statistic = RowStatistic(MetricAtK(metric), self.rows)
            influence = sum_by_unit(statistic.effects.influence, self.unit)
            pair.append(Component(share=1.0, statistic=statistic, influence=influence))
        return pair

    def influence_by_group(self) -> list[Floats]:
        """The units' influence on the metric, one array for each group of rows that has a variance
        of its own, such as the positive rows; clustered or weighted rows are one group. For
        `pooled_variances`.
        """
        if self.layout is not Layout.PLAIN:
            return [sum_by_unit(self.effects.influence, self.unit)]
        kind = self.kind
        return [self.effects.influence[group] for group in kind.groups(self.rows)]

    @property
    def tables(self) -> score_kinds.Tables:
        """The tables of counts by score: the rows, which have them as properties."""
        return self.rows

    @cached_property
    def _hit_masks(self) -> kinds.RowMasks:
        """The masks of the rows that count for a share of rows, and of the hits among them."""
        kind = self.kind
        assert isinstance(kind, kinds.Share)
        return kind.hits(self.rows)

    def hits(self) -> HitCount:
        """The number of hits, and of the rows that count."""
        masks = self._hit_masks
        return HitCount(self.count_rows(masks.hit), self.count_rows(masks.eligible))

    def discordant_rows(self, second: Self) -> Discordant:
        """The numbers of rows that are a hit of the first system alone, and of the second alone; n
        is the number of rows that count. The metric must be one for which the same rows count
        (`eligible`) whatever the prediction, such as recall.
        """
        joint = self.on_joint_rows(second)  # the same rows, or cells of rows, with both predictions
        first_rows = joint.first._hit_masks
        second_rows = joint.second._hit_masks
        count_rows = joint.first.count_rows
        return Discordant(
            first_only=count_rows(first_rows.hit & ~second_rows.hit),
            second_only=count_rows(second_rows.hit & ~first_rows.hit),
            n=count_rows(first_rows.eligible),
        )

    def joint_hits(self, second: Self) -> Ints:
        """The 2 × 2 table of the numbers of rows that count for both statistics: hit or miss of
        this one (lines), hit or miss of the other (columns).
        """
        joint = self.on_joint_rows(second)  # the same rows, or cells of rows, with both predictions
        first_rows = joint.first._hit_masks
        second_rows = joint.second._hit_masks
        count_for_both = first_rows.eligible & second_rows.eligible
        # among the rows that count for both, each that is no hit of a system is its miss
        hit = count_for_both & first_rows.hit
        missed = count_for_both & ~first_rows.hit
        second_hit = second_rows.hit
        count_rows = joint.first.count_rows
        return np.array(
            [
                [count_rows(hit & second_hit), count_rows(hit & ~second_hit)],
                [count_rows(missed & second_hit), count_rows(missed & ~second_hit)],
            ]
        )


class PooledVariance(NamedTuple):
    """The variance of a metric on each part of the rows, shape (parts,), and the number of units of
    the smallest group of rows, all parts together.
    """

    variance: Floats
    fewest_units: float


def pooled_variances(influence_by_group: Sequence[Sequence[Floats]]) -> PooledVariance:
    """The variance of one metric on each of several parts of the rows, such as folds. The parts are
    taken to be alike, so that the variance of a unit is estimated from all of them.

    influence_by_group: for each part one array per group of rows (such as the positive and the
    negative rows), with the influence of each unit of this group in the part. The variance of a
    unit is pooled over the parts, for each group apart. The group adds to the variance of a part
    this pooled variance / its units there. The result also has the number of units of the smallest
    group, infinite without parts.
    """
    parts = len(influence_by_group)
    variance = np.zeros(parts)  # of the metric on each part
    fewest_units = np.inf
    groups = zip(*influence_by_group, strict=True)  # of each group its influence in each part
    for influence_by_part in groups:
        units = np.array([len(influence) for influence in influence_by_part])
        squares = np.array([influence @ influence for influence in influence_by_part])
        # a unit's influence is (its deviation from the mean) / units: times units² its square is
        # the squared deviation
        deviation_squares = np.sum(squares * units**2)
        freedom = np.sum(units - 1)
        # the pooled variance of a unit, deviation_squares / freedom, divided by the units
        variance += ratio(deviation_squares, freedom * units)
        fewest_units = min(fewest_units, float(units.sum()))
    return PooledVariance(variance, fewest_units)


def layout_of(*, units: bool, weights: bool) -> Layout:
    """The layout of rows with or without units and weights."""
    if weights:
        return Layout.WEIGHTED
    return Layout.CLUSTERED if units else Layout.PLAIN


def layout_of_rows(rows: Rows) -> Layout:
    """The layout of rows in memory."""
    if rows.steps_ahead is not None:
        return Layout.SERIES
    return layout_of(units=rows.unit is not None, weights=rows.weight is not None)
