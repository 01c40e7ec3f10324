"""Metrics of a table that was read in blocks: from moments of their terms, and medians from a
sample of rows.

The influence of a unit on a metric is a linear combination of its terms (the delta method). Value,
standard error and that of a difference therefore follow from one table of moments; each metric only
adds its derivative.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, minus, ratio
from evalkit.catalogue import kinds, metric, score_kinds
from evalkit.metrics.moments import Moments
from evalkit.metrics.rows import Sums
from evalkit.metrics.samples import Sample
from evalkit.statistics.spread import Spread, unknown
from evalkit.statistics.statistic import Layout, Statistic

HOW = "influence sums"


@dataclass(frozen=True, eq=False)
class Squares:
    """Moments of the products of two terms of a metric.

    The terms of a function of means are taken relative to `near`.
    """

    moments: Moments
    near: Floats


def at_hand(moments: Moments | None) -> bool:
    """True if the columns of each unit are kept."""
    return moments is not None and moments.unit_columns is not None


def formed(
    moments: Moments,
    form: Floats,
    other: Floats | None,
    n: int,
    freedom: float,
    power: Any = unknown,
) -> Spread:
    """The spread of influence values that are the combination `form` of the columns, less `other`
    if there is one.
    """
    if moments.units is None:
        return Spread(
            n, moments.square(form if other is None else form - other), freedom + 1, power
        )
    moved = form @ moments.units
    return replace(
        Spread.of(
            moved if other is None else minus(moved, other @ moments.units), kish=freedom + 1
        ),
        n=n,
    )


@dataclass(frozen=True, eq=False)
class Formed(Statistic):
    """A metric whose influence values are a linear combination, `form`, of columns. moments: of
    these, by row or unit.

    A subclass adds `of`, the value before it is transformed, `n` and `freedom`.
    """

    moments: Moments

    unit: ClassVar[None] = None  # what is kept of each unit is added up already

    @property
    def held(self) -> bool:  # type: ignore[override]
        """True if every unit is in memory."""
        return at_hand(self.moments)

    @property
    def value(self: Any) -> float:
        """The value of the metric."""
        kind = self.chosen.metric.kind
        return float(kind.function(self.of) if isinstance(kind, metric.Transformed) else self.of)

    @cached_property
    def spread(self: Any) -> Spread:
        """The spread of the units' influence values."""
        return formed(self.moments, self.form, None, self.n, self.freedom, self._power)

    def spread_from(self: Any, other: Any) -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        return formed(self.moments, self.form, other.form, self.n, self.freedom)

    def _power(self, power: int) -> float:
        return float("nan")


@dataclass(frozen=True, eq=False)
class OfMoments(Formed):
    """A function of the sums of its terms, which are the columns at `place`; the first column is
    the weight.

    layout: of the sample. squares: moments of the products of its terms, if known.
    """

    place: slice
    layout: Layout
    squares: Squares | None = None

    how: ClassVar[str] = HOW

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout is Layout.PLAIN

    @property
    def kind(self) -> Any:
        """The kind of the metric, or of the one that it transforms."""
        return self.chosen.base.metric.kind

    @cached_property
    def totals(self) -> Floats:
        """The sums of the terms."""
        return self.moments.totals[self.place]

    @cached_property
    def of(self) -> float:
        """The value before it is transformed."""
        return float(self.kind.of_terms(self.totals))

    @property
    def n(self) -> int:
        """The number of units, or of the rows that count; the number of all rows if none counts."""
        part = round(self.totals[1]) if self.plain and isinstance(self.kind, kinds.Loss) else 0
        return part or self.moments.n

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, less 1."""
        return self.n - 1.0 if self.plain else self.moments.kish(0) - 1

    def _slopes(self, near: Floats | float = 0.0) -> Floats:
        """The units' influence as a linear combination of the terms, whose numbers lie around
        `near`.
        """
        if not isinstance(self.kind, score_kinds.FunctionOfMeans):
            return np.array(ratio([1.0, -self.of], self.totals[1]))
        means = ratio(self.totals[1:], self.totals[0])
        slopes = self.kind.function(means).slopes
        return np.array(ratio([-slopes @ (means - near), *slopes], self.totals[0]))

    @cached_property
    def form(self) -> Floats:
        """The units' influence values as multiples of all columns."""
        form = np.zeros(len(self.moments.mean))
        form[self.place] = self._slopes()
        return form

    def _power(self, power: int) -> float:
        """Fourth powers, where they are known; else cubes of a loss: rows that take no part are 0
        in the sums.
        """
        if power == 4:
            if self.squares is None:
                return np.nan
            square, fourth = self.squares.moments.powers(
                self._slopes(self.squares.near) * self.totals[0]
            )
            return float(ratio(fourth, square**2))
        m, at, value = self.moments, self.place.start, self.of
        by = m.mean[at] - value
        out = m.n - self.n
        cube = m.third[at] + 3 * m.second[at, at] * by + m.n * by**3 + out * value**3
        square = m.second[at, at] + m.n * by**2 - out * value**2
        return float(cube / square**1.5) if square > 1e-14 * m.n * value**2 else 0.0

    # Where every unit is at hand

    @cached_property
    def unit_terms(self) -> Floats:
        """The sums of the terms of each unit: one column per unit."""
        return self.moments.units[self.place]

    @cached_property
    def sums(self) -> Sums:
        """The terms of each unit, for a mean or a ratio of sums."""
        top, size = self.unit_terms
        if not isinstance(self.kind, kinds.Loss):
            return Sums(top, size)
        # NaN where no row takes part
        top = np.where((size > 0) | (self.moments.units[0] == 0), top, np.nan)
        return Sums(top) if self.plain else Sums(top, size)

    def without_each(self) -> Floats:
        """The metric without each unit, for a function of means."""
        return self.kind.of_many_terms(self.totals[:, None] - self.unit_terms)


@dataclass(frozen=True, eq=False)
class OfDrawn(Statistic):
    """A median of all rows, whose standard error is estimated from a sample of them.

    member: the sampled rows that belong to the group. system: its number.
    """

    middle: score_kinds.MedianEstimate
    sample: Sample
    system: int
    member: Bools | slice
    layout: Layout
    n: int
    freedom: float

    how: ClassVar[str] = HOW
    held: ClassVar[bool] = False

    @property
    def value(self) -> float:
        """The median."""
        return self.middle.value

    @cached_property
    def moved(self) -> Floats:
        """The influence of each sampled row on the median."""
        rows = self.sample.rows
        moved = np.zeros(len(self.sample.rows))
        own = rows.rows(self.system)
        kind = self.chosen.metric.kind
        assert isinstance(kind, score_kinds.Median)
        effect = kind.influence_of_rows(own, self.middle)
        moved[self.member] = (own.weights * effect)[self.member]
        return moved

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        return Spread(self.n, self.sample.influence_square(self.moved).value, self.freedom + 1)

    def spread_from(self, other: "OfDrawn") -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        square = self.sample.influence_square(self.moved - other.moved).value
        return Spread(self.n, square, self.freedom + 1)

    @property
    def unsure(self) -> float:
        """The relative uncertainty of the standard error."""
        return self.sample.influence_square(self.moved).uncertainty


@dataclass(frozen=True, eq=False)
class OfSums(Statistic):
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

    how: ClassVar[str] = HOW
    held: ClassVar[bool] = False

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        return Spread(
            self.n, self.square, self.freedom + 1, lambda power: self.skew / float(np.sqrt(self.n))
        )
