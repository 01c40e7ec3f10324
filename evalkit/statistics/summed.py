"""Metrics of a table that was read in blocks: from moments of their terms, and medians from a
sample of rows.

The influence of a unit on a metric is a linear combination of its terms (the delta method). Value,
standard error and that of a difference therefore follow from one table of moments; each metric only
adds its derivative.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from evalkit.arrays import Bools, Floats, minus, ratio
from evalkit.catalogue import kinds, metric, score_kinds
from evalkit.metrics.moments import Moments
from evalkit.metrics.rows import Sums
from evalkit.metrics.samples import Sample
from evalkit.statistics.spread import Spread, only_power, unknown_power
from evalkit.statistics.statistic import Layout, SpreadStatistic, TermStatistic

ERROR_METHOD = "influence sums"
# the mean squared deviation, as a share of the squared value, below which it is a rounding error
NO_VARIANCE = 1e-14


@dataclass(frozen=True, eq=False)
class TermProducts:
    """The moments of the products of each two terms of a metric (the numbers per row whose sums
    give the metric). The influence of a unit is a linear combination of the terms, so that the
    fourth powers of the influence follow from them.

    offsets: for a function of means, the numbers that were subtracted from its terms to keep
    digits, one per mean.
    """

    moments: Moments
    offsets: Floats


def has_units(moments: Moments | None) -> bool:
    """True if the columns of each unit are in memory."""
    return moments is not None and moments.unit_columns is not None


def combined_spread(
    moments: Moments,
    coefficients: Floats,
    *,
    minus_coefficients: Floats | None = None,
    n: int,
    freedom: float,
    standardised_power: Callable[[int], float] = unknown_power,
) -> Spread:
    """The spread of influence values that are a linear combination of the columns of moments. It is
    computed from the columns of each unit if these are in memory, otherwise from the sums of their
    products.

    coefficients: of each column, shape (columns,). minus_coefficients: the coefficients of a second
    metric, for the spread of the influence on the first metric less the second; None for one metric
    alone. n: the number of units that count. freedom: Kish's number of units, less 1.
    standardised_power: as in `Spread`, for its skewness and kurtosis; used only if the columns of
    each unit are not in memory.
    """
    effective_units = freedom + 1  # by Kish
    if moments.units is None:  # only sums are in memory
        if minus_coefficients is not None:
            coefficients = coefficients - minus_coefficients
        square = moments.square(coefficients)
        return Spread(n, square, kish=effective_units, standardised_power=standardised_power)
    influence = coefficients @ moments.units  # of each unit
    if minus_coefficients is not None:
        # `minus` gives exactly 0 where both influence values are equal but for rounding
        influence = minus(influence, minus_coefficients @ moments.units)
    # the rows that do not count for a loss have moments too: their influence is 0, but n lacks them
    return replace(Spread.from_influence(influence, kish=effective_units), n=n)


@dataclass(frozen=True, eq=False)
class LinearStatistic(SpreadStatistic):
    """A metric of which a unit's influence is a linear combination of its columns: the moments of
    the columns give the standard error.

    coefficients: of each column in the influence, shape (columns,). untransformed: the value; for
    a metric that transforms another one, the value of that other one.
    """

    moments: Moments

    if TYPE_CHECKING:

        @property
        def coefficients(self) -> Floats: ...
        @property
        def untransformed(self) -> float: ...

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory."""
        return has_units(self.moments)

    @property
    def value(self) -> float:
        """The value of the metric: `untransformed`, or the metric's function of it."""
        kind = self.kind
        assert isinstance(kind, kinds.MetricKind)
        if isinstance(kind, metric.TransformedMetric):
            return float(kind.function(self.untransformed))
        return float(self.untransformed)

    @cached_property
    def spread(self) -> Spread:
        """The spread of the units' influence values, each the sum of the coefficients times the
        columns of the unit. If the single units are not in memory, its skewness and kurtosis come
        from `_standardised_power`.
        """
        return combined_spread(
            self.moments,
            self.coefficients,
            n=self.n,
            freedom=self.freedom,
            standardised_power=self._standardised_power,
        )

    def difference_spread(self, second: Self) -> Spread:
        """The spread of the units' influence on the difference self − second: a linear combination
        of the same columns, whose coefficients are those of the first less those of the second. Its
        skewness and kurtosis are NaN if the single units are not in memory, as the powers of
        differences are not added up.
        """
        return combined_spread(
            self.moments,
            self.coefficients,
            minus_coefficients=second.coefficients,
            n=self.n,
            freedom=self.freedom,
        )

    def _standardised_power(self, power: int) -> float:
        """Σ lᵖ / (Σ l²)^(p/2) of the units' influence values l, for a power p of 3 or 4; NaN unless
        a subclass has added it up.
        """
        return unknown_power(power)


@dataclass(frozen=True, eq=False)
class MomentStatistic(LinearStatistic, TermStatistic):
    """A metric that is a function of the sums of its terms over all rows.

    term_columns: the columns of `moments` that hold its terms; column 0 of `moments` is the weight
    of a unit. products: the moments of the products of its terms, None if they were not added up.
    """

    term_columns: slice
    layout: Layout
    products: TermProducts | None = None

    error_method: ClassVar[str] = ERROR_METHOD

    @property
    def unit(self) -> None:
        """None, as for independent rows: the terms are added up by unit already."""
        return

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout is Layout.PLAIN

    @property
    def base_kind(self) -> kinds.RowTerms | score_kinds.FunctionOfMeans:
        """The kind of the metric, or of the one that it transforms."""
        kind = self.metric_at_k.base.metric.kind
        assert isinstance(kind, kinds.RowTerms | score_kinds.FunctionOfMeans)
        return kind

    @cached_property
    def totals(self) -> Floats:
        """The sums of the terms over all rows, shape (terms,)."""
        return self.moments.totals[self.term_columns]

    @cached_property
    def untransformed(self) -> float:
        """The value before it is transformed."""
        return float(self.base_kind.of_terms(self.totals))

    @property
    def n(self) -> int:
        """The number of units. For a loss on independent unweighted rows it is the number of rows
        that count, or of all rows if none counts.
        """
        if self.plain and isinstance(self.base_kind, kinds.Loss):
            _, size = self.totals  # Σ loss, and the number of rows that count
            counting_rows = round(float(size))
            if counting_rows:
                return counting_rows
        return self.moments.n

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, less 1."""
        return self.n - 1.0 if self.plain else self.moments.kish(0) - 1

    def _term_coefficients(self, offsets: Floats | float = 0.0) -> Floats:
        """The coefficients, shape (terms,), with which a unit's terms add up to its influence, by
        the delta method. The terms of a ratio of sums are numerator and denominator; those of a
        function of means are the weight, then a sum per mean.

        offsets: only for a function of means. They were subtracted from the numbers of the rows
        before these were added up: one per mean, or 0 for all.
        """
        kind = self.base_kind
        if not isinstance(kind, score_kinds.FunctionOfMeans):
            # influence: (numerator − value · denominator of a unit) / Σ denominator
            _, denominator = self.totals
            return np.array(ratio([1.0, -self.untransformed], denominator))
        # influence: slopes · (sums of a unit − means · its weight) / Σ weight. The sums here lack
        # offset · weight, so that means − offsets take the place of the means.
        weight, *sums = self.totals
        means = ratio(np.array(sums), weight)
        _, slopes = kind.function(means)  # the derivatives of the metric by the means
        coefficient_of_weight = -slopes @ (means - offsets)
        return np.array(ratio([coefficient_of_weight, *slopes], weight))

    @cached_property
    def coefficients(self) -> Floats:
        """The coefficient of each column of `moments` in a unit's influence; 0 except for terms."""
        coefficients = np.zeros(len(self.moments.mean))
        coefficients[self.term_columns] = self._term_coefficients()
        return coefficients

    def _standardised_power(self, power: int) -> float:
        """See `Spread`; the power 3 is asked for losses only."""
        if power == 4:
            return self._fourth_power()
        return self._cube_of_loss()

    def _fourth_power(self) -> float:
        """Σ l⁴ / (Σ l²)² of the units' influence l; NaN if products were not added up."""
        if self.products is None:
            return np.nan
        # The coefficients of l · Σ weight, which is of the size of the terms for any number of
        # rows. A common factor leaves the quotient as it is.
        weight, *_ = self.totals
        coefficients = self._term_coefficients(self.products.offsets) * weight
        powers = self.products.moments.powers(coefficients)
        return float(ratio(powers.fourth_powers, powers.squares**2))

    def _cube_of_loss(self) -> float:
        """Σ l³ / (Σ l²)^1.5 of the influence values l on a mean loss; 0 if all losses are equal.

        l is the deviation of a loss from the mean loss of the rows that count, up to a factor that
        cancels. The moments are over all N rows, in which a row that does not count has the loss 0.
        They hold sums of x, the deviation of a loss from the mean over all N rows; Σ x is 0.

        With shift = mean over all rows − mean loss, l is x + shift. So Σ l³ over all rows is Σ x³ +
        3 shift Σ x² + N shift³, and Σ l² is Σ x² + N shift². The terms of the rows that do not
        count are then subtracted from both sums.
        """
        moments = self.moments
        all_rows = moments.n  # N
        loss_column = self.term_columns.start  # the first of the two terms of a loss
        mean_loss = self.untransformed  # also where the metric is a function of it, such as a root
        shift = moments.mean[loss_column] - mean_loss
        squares_of_x = moments.second[loss_column, loss_column]
        cubes_of_x = moments.third[loss_column]
        cubes = cubes_of_x + 3 * squares_of_x * shift + all_rows * shift**3
        squares = squares_of_x + all_rows * shift**2
        # a row that does not count has l = 0 − mean loss: its cube, −(mean loss)³, is subtracted
        excluded = all_rows - self.n
        cubes += excluded * mean_loss**3
        squares -= excluded * mean_loss**2
        if squares > NO_VARIANCE * all_rows * mean_loss**2:
            return float(cubes / squares**1.5)
        return 0.0  # nothing varies but for rounding error

    # Where every unit is in memory

    @cached_property
    def unit_terms(self) -> Floats:
        """The sums of the terms of each unit, shape (terms, units)."""
        terms: Floats = self.moments.units[self.term_columns]
        return terms

    @cached_property
    def sums(self) -> Sums:
        """The numerator and the denominator of each unit, for a mean or a ratio of sums; a loss on
        independent unweighted rows has no denominator. The numerator of a loss is NaN for a unit of
        which no row counts.
        """
        numerator, denominator = self.unit_terms
        if not isinstance(self.base_kind, kinds.Loss):
            return Sums(numerator, denominator)
        weight, *_ = self.moments.units
        # The denominator is the weight of the unit's rows that count: if it is 0, no row counts.
        # With a unit weight of 0 it is 0 in any case, and does not tell. Such a unit is taken to
        # count, which changes nothing.
        counts = (denominator > 0) | (weight == 0)
        numerator = np.where(counts, numerator, np.nan)
        if self.plain:  # each unit is one row
            return Sums(numerator)
        return Sums(numerator, denominator)

    def leave_one_out_values(self) -> Floats:
        """The metric without each unit, shape (units,), for a function of means."""
        kind = self.base_kind
        assert isinstance(kind, score_kinds.FunctionOfMeans)
        totals = self.totals[:, None]  # a column, from which each unit is subtracted
        return kind.of_many_terms(totals - self.unit_terms)


@dataclass(frozen=True, eq=False)
class SampledMedian(SpreadStatistic):
    """A median over all rows of a slice, whose standard error is estimated from a sample of rows.

    median: of all rows. system: the number of the system in the sample. member: mask or range of
    the sampled rows that belong to the slice. n: the units of the slice. freedom: Kish's number of
    units, less 1.
    """

    median: score_kinds.MedianEstimate
    sample: Sample
    system: int
    member: Bools | slice
    layout: Layout
    n: int
    freedom: float

    error_method: ClassVar[str] = ERROR_METHOD

    @property
    def in_memory(self) -> bool:
        """False: only a sample is."""
        return False

    @property
    def value(self) -> float:
        """The median."""
        return self.median.value

    @cached_property
    def row_influence(self) -> Floats:
        """The influence of each sampled row on the median, weight included, shape (sampled rows,);
        0 for rows of other slices, which the sample holds too.
        """
        kind = self.kind
        assert isinstance(kind, score_kinds.Median)
        block = self.sample.rows  # the predictions of all systems
        rows = block.rows(self.system)
        influence = rows.weights * kind.influence_of_rows(rows, self.median)
        in_slice = np.zeros(len(block))
        in_slice[self.member] = influence[self.member]
        return in_slice

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence on the median, estimated from the sample."""
        square = self.sample.influence_square(self.row_influence).value
        return Spread(self.n, square, kish=self.freedom + 1)

    def difference_spread(self, second: Self) -> Spread:
        """The spread of the units' influence on the difference self − second, from the same sampled
        rows.
        """
        difference = self.row_influence - second.row_influence
        square = self.sample.influence_square(difference).value
        return Spread(self.n, square, kish=self.freedom + 1)

    @property
    def error_uncertainty(self) -> float:
        """The relative uncertainty of the standard error, which is estimated from a sample."""
        return self.sample.influence_square(self.row_influence).uncertainty


@dataclass(frozen=True, eq=False)
class SummedMean(SpreadStatistic):
    """A mean of which only sums over the units are in memory.

    n: the number of units. freedom: Kish's number of units, less 1. square: Σ l² of the units'
    influence values l. skew: their skewness. error_uncertainty: the relative uncertainty of the
    standard error, 0 if it is not estimated from a sample.
    """

    layout: Layout
    value: float
    n: int
    freedom: float
    square: float
    skew: float = 0.0
    error_uncertainty: float = 0.0

    error_method: ClassVar[str] = ERROR_METHOD

    @property
    def in_memory(self) -> bool:
        """False: only sums are."""
        return False

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence values, whose fourth powers are not known."""
        # the skewness is √n Σ l³ / (Σ l²)^1.5
        standardised_cube = self.skew / float(np.sqrt(self.n))
        return Spread(
            self.n,
            self.square,
            kish=self.freedom + 1,  # `freedom` is that number less 1
            standardised_power=only_power(3, standardised_cube),
        )
