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
from evalkit.statistics.spread import Spread, unknown_power
from evalkit.statistics.statistic import Layout, SpreadStatistic, TermStatistic

ERROR_METHOD = "influence sums"
NO_VARIANCE = 1e-14  # of the squared value: below it what is left of a variance is rounding


@dataclass(frozen=True, eq=False)
class Squares:
    """Moments of the products of two terms of a metric.

    The terms of a function of means are taken relative to `near`.
    """

    moments: Moments
    near: Floats


def has_units(moments: Moments | None) -> bool:
    """True if the columns of each unit are in memory."""
    return moments is not None and moments.unit_columns is not None


def combined_spread(
    moments: Moments,
    coefficients: Floats,
    other: Floats | None,
    *,
    n: int,
    freedom: float,
    standardised_power: Callable[[int], float] = unknown_power,
) -> Spread:
    """The spread of influence values that are a linear combination of the columns of moments, less
    the combination `other` if there is one.
    """
    kish = freedom + 1
    if moments.units is None:  # only sums are in memory
        difference = coefficients if other is None else coefficients - other
        return Spread(
            n, moments.square(difference), kish=kish, standardised_power=standardised_power
        )
    influence = coefficients @ moments.units
    if other is not None:
        influence = minus(influence, other @ moments.units)
    return replace(Spread.from_influence(influence, kish=kish), n=n)


@dataclass(frozen=True, eq=False)
class LinearStatistic(SpreadStatistic):
    """A metric whose influence values are a linear combination of columns that were added up.

    moments: of these columns, by row or unit. coefficients: of each column. untransformed: the
    value, before `Transformed` if the metric is of this kind.
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
        """The value of the metric."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, kinds.Kind)
        if isinstance(kind, metric.Transformed):
            return float(kind.function(self.untransformed))
        return float(self.untransformed)

    @cached_property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        return combined_spread(
            self.moments,
            self.coefficients,
            None,
            n=self.n,
            freedom=self.freedom,
            standardised_power=self._standardised_power,
        )

    def difference_spread(self, other: Self) -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        return combined_spread(
            self.moments, self.coefficients, other.coefficients, n=self.n, freedom=self.freedom
        )

    def _standardised_power(self, power: int) -> float:
        """See `Spread`: NaN, as powers were not added up."""
        return float("nan")


@dataclass(frozen=True, eq=False)
class MomentStatistic(LinearStatistic, TermStatistic):
    """A function of the sums of its terms, which are the columns at `place`; the first column is
    the weight.

    layout: of the sample. squares: moments of the products of its terms, if known.
    """

    place: slice
    layout: Layout
    squares: Squares | None = None

    error_method: ClassVar[str] = ERROR_METHOD

    @property
    def unit(self) -> None:
        """None: the terms are added up by unit already."""
        return

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout is Layout.PLAIN

    @property
    def kind(self) -> kinds.RowTerms | score_kinds.FunctionOfMeans:
        """The kind of the metric, or of the one that it transforms."""
        kind = self.chosen.base.metric.kind
        assert isinstance(kind, kinds.RowTerms | score_kinds.FunctionOfMeans)
        return kind

    @cached_property
    def totals(self) -> Floats:
        """The sums of the terms."""
        return self.moments.totals[self.place]

    @cached_property
    def untransformed(self) -> float:
        """The value before it is transformed."""
        return float(self.kind.of_terms(self.totals))

    @property
    def n(self) -> int:
        """The number of units, or of the rows that count; the number of all rows if none counts."""
        if self.plain and isinstance(self.kind, kinds.Loss):
            _, size = self.totals  # Σ loss, and the number of rows that count
            counting_rows = round(float(size))
            if counting_rows:
                return counting_rows
        return self.moments.n

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, less 1."""
        return self.n - 1.0 if self.plain else self.moments.kish(0) - 1

    def _term_coefficients(self, near: Floats | float = 0.0) -> Floats:
        """The units' influence as a linear combination of the terms, by the delta method.

        near: for a function of means, the numbers that were subtracted from the terms of each row
        when these were added up, as for `Squares`. Terms of a ratio of sums are never shifted.
        """
        kind = self.kind
        if not isinstance(kind, score_kinds.FunctionOfMeans):
            # (numerator − value · denominator of a unit) / Σ denominator
            _, denominator = self.totals
            return np.array(ratio([1.0, -self.untransformed], denominator))
        # slopes · (sums of a unit − means · its weight) / Σ weight
        weight, *sums = self.totals
        means = ratio(np.array(sums), weight)
        _, slopes = kind.function(means)
        return np.array(ratio([-slopes @ (means - near), *slopes], weight))

    @cached_property
    def coefficients(self) -> Floats:
        """The units' influence values as multiples of all columns."""
        coefficients = np.zeros(len(self.moments.mean))
        coefficients[self.place] = self._term_coefficients()
        return coefficients

    def _standardised_power(self, power: int) -> float:
        """See `Spread`: fourth powers, if they are known; cubes of a loss."""
        if power == 4:
            return self._fourth_power()
        return self._cube_of_loss()

    def _fourth_power(self) -> float:
        """Σ l⁴ / (Σ l²)² of the influence values l; NaN if squares were not added up."""
        if self.squares is None:
            return np.nan
        # times Σ weight, a common factor of l that leaves the quotient as it is
        weight, *_ = self.totals
        coefficients = self._term_coefficients(self.squares.near) * weight
        square, fourth = self.squares.moments.powers(coefficients)
        return float(ratio(fourth, square**2))

    def _cube_of_loss(self) -> float:
        """Σ l³ / (Σ l²)^1.5 of the influence values l on a loss.

        The column holds the losses of all rows, and 0 for rows that do not count: these are taken
        out of the sums. With deviations x from the column's mean, whose sum is 0, Σ (x + shift)³ is
        Σ x³ + 3 shift Σ x² + n shift³, and Σ (x + shift)² is Σ x² + n shift².
        """
        moments = self.moments
        column = self.place.start
        value = self.untransformed
        shift = moments.mean[column] - value  # from the column's mean to the metric
        excluded = moments.n - self.n  # rows with 0, whose deviation from the metric is −value
        second = moments.second[column, column]
        cubes = moments.third[column] + 3 * second * shift + moments.n * shift**3
        cubes += excluded * value**3
        squares = second + moments.n * shift**2 - excluded * value**2
        if squares > NO_VARIANCE * moments.n * value**2:
            return float(cubes / squares**1.5)
        return 0.0

    # Where every unit is in memory

    @cached_property
    def unit_terms(self) -> Floats:
        """The sums of the terms of each unit: one column per unit."""
        terms: Floats = self.moments.units[self.place]
        return terms

    @cached_property
    def sums(self) -> Sums:
        """The terms of each unit, for a mean or a ratio of sums."""
        total, size = self.unit_terms
        if not isinstance(self.kind, kinds.Loss):
            return Sums(total, size)
        weight = self.moments.units[0]
        # NaN for a unit of which no row counts
        total = np.where((size > 0) | (weight == 0), total, np.nan)
        return Sums(total) if self.plain else Sums(total, size)

    def leave_one_out_values(self) -> Floats:
        """The metric without each unit, for a function of means."""
        kind = self.kind
        assert isinstance(kind, score_kinds.FunctionOfMeans)
        totals = self.totals[:, None]
        return kind.of_many_terms(totals - self.unit_terms)


@dataclass(frozen=True, eq=False)
class SampledMedian(SpreadStatistic):
    """A median of all rows, whose standard error is estimated from a sample of them.

    middle: the median. system: its number. member: the sampled rows that belong to the slice.
    """

    middle: score_kinds.MedianEstimate
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
        return self.middle.value

    @cached_property
    def row_influence(self) -> Floats:
        """The influence of each sampled row on the median; 0 for rows of other slices."""
        kind = self.chosen.metric.kind
        assert isinstance(kind, score_kinds.Median)
        rows = self.sample.rows.rows(self.system)
        influence = rows.weights * kind.influence_of_rows(rows, self.middle)
        in_slice = np.zeros(len(self.sample.rows))
        in_slice[self.member] = influence[self.member]
        return in_slice

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        square = self.sample.influence_square(self.row_influence).value
        return Spread(self.n, square, self.freedom + 1)

    def difference_spread(self, other: Self) -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        difference = self.row_influence - other.row_influence
        square = self.sample.influence_square(difference).value
        return Spread(self.n, square, self.freedom + 1)

    @property
    def unsure(self) -> float:
        """The relative uncertainty of the standard error."""
        return self.sample.influence_square(self.row_influence).uncertainty


@dataclass(frozen=True, eq=False)
class SummedMean(SpreadStatistic):
    """A mean of which only sums are known. square: Σ of the squared influence values. skew: their
    skewness.

    unsure: the relative uncertainty of the standard error.
    """

    layout: Layout
    value: float
    n: int
    freedom: float
    square: float
    skew: float = 0.0
    unsure: float = 0.0

    error_method: ClassVar[str] = ERROR_METHOD

    @property
    def in_memory(self) -> bool:
        """False: only sums are."""
        return False

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        # the skewness is √n Σ l³ / (Σ l²)^1.5
        standardised_cube = self.skew / float(np.sqrt(self.n))
        return Spread(
            self.n,
            self.square,
            kish=self.freedom + 1,
            standardised_power=lambda power: standardised_cube,
        )
