"""Metrics of a table that was read in blocks: from moments of their terms, and medians from a sample of rows.

The influence of a unit on a metric is a linear combination of its terms (the delta method). Value, standard error and
that of a difference therefore follow from one table of moments; each metric only adds its derivative.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError, minus, ratio
from evalkit.catalogue.kinds import Centre, Loss, RatioOfRows
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.score_kinds import Middle, OfMeans, Quantile
from evalkit.limits import Limits
from evalkit.metrics.kept import Block, Bundle, Counts, Moments, Parted, Sample, summed
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics.spread import Spread, unknown
from evalkit.statistics.statistic import Layout, Statistic
from evalkit.system import cached

HOW = "influence sums"
UNLIKE = "leaves rows out that differ by system, which needs all rows in memory; choose the systems one by one"


@dataclass(frozen=True, eq=False)
class Squares:
    """Moments of the products of two terms of a metric.

    The terms of a function of means are taken relative to `near`.
    """

    moments: Moments
    near: Floats


def at_hand(moments: Moments | None) -> bool:
    """True if the columns of each unit are kept."""
    return moments is not None and moments.each is not None


def formed(
    moments: Moments, form: Floats, other: Floats | None, n: int, freedom: float, power: Any = unknown
) -> Spread:
    """The spread of influence values that are the combination `form` of the columns, less `other` if there is one."""
    if moments.units is None:
        return Spread(n, moments.square(form if other is None else form - other), freedom + 1, power)
    moved = form @ moments.units
    return replace(Spread.of(moved if other is None else minus(moved, other @ moments.units), kish=freedom + 1), n=n)


@dataclass(frozen=True, eq=False)
class Formed(Statistic):
    """A metric whose influence values are a linear combination, `form`, of columns. moments: of these, by row or unit.

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
        return float(self.of if kind.original is None else kind.f(self.of))

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
    """A function of the sums of its terms, which are the columns at `place`; the first column is the weight.

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
        part = round(self.totals[1]) if self.plain and isinstance(self.kind, Loss) else 0
        return part or self.moments.n

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of the standard error: Kish's number of units, less 1."""
        return self.n - 1.0 if self.plain else self.moments.kish(0) - 1

    def _slopes(self, near: Floats | float = 0.0) -> Floats:
        """The units' influence as a linear combination of the terms, whose numbers lie around `near`."""
        if not isinstance(self.kind, OfMeans):
            return np.array(ratio([1.0, -self.of], self.totals[1]))
        means = ratio(self.totals[1:], self.totals[0])
        slopes = self.kind.f(means)[1]
        return np.array(ratio([-slopes @ (means - near), *slopes], self.totals[0]))

    @cached_property
    def form(self) -> Floats:
        """The units' influence values as multiples of all columns."""
        form = np.zeros(len(self.moments.mean))
        form[self.place] = self._slopes()
        return form

    def _power(self, power: int) -> float:
        """Fourth powers, where they are known; else cubes of a loss: rows that take no part are 0 in the sums."""
        if power == 4:
            if self.squares is None:
                return np.nan
            square, fourth = self.squares.moments.powers(self._slopes(self.squares.near) * self.totals[0])
            return float(ratio(fourth, square**2))
        m, at, value = self.moments, self.place.start, self.of
        by, out = m.mean[at] - value, m.n - self.n
        cube = m.third[at] + 3 * m.second[at, at] * by + m.n * by**3 + out * value**3
        square = m.second[at, at] + m.n * by**2 - out * value**2
        return float(cube / square**1.5) if square > 1e-14 * m.n * value**2 else 0.0

    # Where every unit is at hand

    @cached_property
    def _each(self) -> Floats:
        return self.moments.units[self.place]

    @cached_property
    def sums(self) -> Sums:
        """The terms of each unit, for a mean or a ratio of sums."""
        top, size = self._each
        if not isinstance(self.kind, Loss):
            return Sums(top, size)
        top = np.where((size > 0) | (self.moments.units[0] == 0), top, np.nan)  # NaN where no row takes part
        return Sums(top) if self.plain else Sums(top, size)

    def without_each(self) -> Floats:
        """The metric without each unit, for a function of means."""
        return self.kind.of_sets(self.totals[:, None] - self._each)


@dataclass(frozen=True, eq=False)
class OfDrawn(Statistic):
    """A median of all rows, whose standard error is estimated from a sample of them.

    member: the sampled rows that belong to the group. system: its number.
    """

    middle: Middle
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
        rows, moved = self.sample.rows, np.zeros(len(self.sample.rows))
        own = rows.rows(self.system)
        effect = self.chosen.metric.kind.moved(own, None, (0.0, 0.0), self.middle)
        moved[self.member] = (own.weights * effect)[self.member]
        return moved

    @property
    def spread(self) -> Spread:
        """The spread of the units' influence values."""
        return Spread(self.n, self.sample.square(self.moved)[0], self.freedom + 1)

    def spread_from(self, other: "OfDrawn") -> Spread:
        """The spread of the units' influence on the difference from `other`."""
        return Spread(self.n, self.sample.square(self.moved - other.moved)[0], self.freedom + 1)

    @property
    def unsure(self) -> float:
        """The relative uncertainty of the standard error."""
        return self.sample.square(self.moved)[1]


@dataclass(frozen=True, eq=False)
class OfSums(Statistic):
    """A mean of which only sums are known. square: Σ of the squared influence values. skew: their skewness.

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
        return Spread(self.n, self.square, self.freedom + 1, lambda power: self.skew / float(np.sqrt(self.n)))


# Several metrics of several systems -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kept(Bundle):
    """The summary of the rows. Groups (slices; 0 is all rows), systems and metrics are numbered.

    moments: by group. squares: of products of terms, by group, metric and system. errors: by group and system; the
    median is that of their sizes.
    """

    moments: dict[int, Moments | Parted]
    squares: dict[tuple[int, int, int], Moments]
    errors: dict[tuple[int, int], Counts]
    sample: Sample


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of metrics that are added up over a block: for all rows those of all metrics, for slices of the first.

    centres: for each system, values near its actual values and forecasts, which keep digits. near: by metric and
    system, values near its terms. few: the largest number of units whose terms are kept one by one. more: a function to
    further columns, `width` of them, which are added up by weight and unit like the terms. rows: the actual values and
    a system's predictions, if they are more than one number or come with further columns.
    """

    metrics: tuple[Chosen, ...]
    centres: Sequence[Centre]
    near: Mapping[tuple[int, int], Floats]
    few: int
    more: Callable[[Block], Floats] | None = None
    width: int = 0
    rows: Callable[[Block, int], Rows] | None = None

    @staticmethod
    def of(metrics: Sequence[Chosen], heads: Sequence[Block], few: int, **more: Any) -> "Terms":
        """The terms of these metrics. heads: some first rows of each system, from which the centres are computed."""
        every = np.concatenate([head.truth for head in heads])
        own = [(head, i if len(head.said) > 1 else 0) for i, head in enumerate(heads)]
        centres = [(float(every.mean()), float((head.said[at] if len(head) else every).mean())) for head, at in own]
        made, near = Terms(tuple(metrics), centres, {}, few, **more), {}
        for m, chosen in enumerate(metrics):
            kind: Any = chosen.metric.kind
            for i, (head, at) in enumerate(own if kind.totalled else []):
                terms = kind.terms(made.said(head, at), chosen.k, centres[i])
                around = isinstance(kind, OfMeans) and len(head)
                near[m, i] = np.array([0.0, *(np.mean(term) if around else 0.0 for term in terms[1:])])
        return replace(made, near=near)

    @staticmethod
    def alone(
        metrics: Sequence[Chosen], systems: int, few: int, rows: Callable[[Block, int], Rows] | None = None
    ) -> "Terms":
        """The terms of losses and ratios, without centres."""
        near = {at: np.zeros(2) for at in np.ndindex(len(metrics), systems)}
        return Terms(tuple(metrics), [(0.0, 0.0)] * systems, near, few, rows=rows)  # type: ignore[arg-type]

    @property
    def quantile(self) -> bool:
        """True if the metric of the slices is a median."""
        return bool(self.metrics) and isinstance(self.metrics[0].metric.kind, Quantile)

    def said(self, block: Block, i: int) -> Rows:
        """The actual values and a system's predictions."""
        return self.rows(block, i) if self.rows else Rows(block.truth, block.said[i], beside=block.beside)

    def moments(self, block: Block, group: int) -> Moments | Parted:
        """The moments of the weight, the further columns, and the terms of each system and metric, all by weight."""
        return summed(block, partial(self._columns, group=group), self.few)

    def squares(self, block: Block, group: int) -> dict[tuple[int, int, int], Moments]:
        """The moments of the products of two terms, for metrics whose limits use fourth powers."""
        asked = [m for m in self._of(group) if isinstance(self.metrics[m].metric.kind, OfMeans | RatioOfRows)]
        every = [] if block.parted else [(m, i) for m in asked for i in range(len(block.said))]
        return {(group, *at): Moments.of(block, partial(self._around, at=at), 0, squared=True) for at in every}

    def kept(self, block: Block, limits: Limits) -> dict[str, Any]:
        """The fields of `Kept` except the sample, for all rows and for each slice."""
        moments, squares, errors = dict[int, Any](), dict[Any, Moments](), dict[Any, Counts]()
        for group, part in block.groups():
            moments[group] = self.moments(part, group)
            squares |= self.squares(part, group)
            if not group or self.quantile:
                bins = limits.slice_bins if group else limits.bins
                weight = [] if part.weight is None else [part.weight, part.weight**2]
                for i, said in enumerate(part.said):
                    errors[group, i] = Counts.of(said - part.truth, weight, bins)
        return {"moments": moments, "squares": squares, "errors": errors}

    def place(self, group: int, m: int, i: int) -> slice:
        """The position of a metric's terms for a system among the columns of `moments`."""
        systems, metrics = range(len(self.centres)), self._of(group)
        sizes = [len(self.near.get((own, system), ())) for system in systems for own in metrics]
        at = i * len(metrics) + m
        start = 1 + self.width + sum(sizes[:at])
        return slice(start, start + sizes[at])

    def _of(self, group: int) -> range:
        return range(len(self.metrics[:1] if group else self.metrics))

    def _columns(self, block: Block, group: int) -> Floats:
        w, more = block.weights, np.empty((0, len(block))) if self.more is None else self.more(block)
        each = [self.said(block, i) for i in range(len(block.said))]
        every = ((rows, m, i) for i, rows in enumerate(each) for m in self._of(group) if (m, i) in self.near)
        return np.array([w, *(w * column for column in more), *(w * t for at in every for t in self._terms(*at))])

    def _terms(self, rows: Rows, m: int, i: int) -> Sequence[Floats]:
        of = self.metrics[m]
        return of.metric.kind.terms(rows, of.k, self.centres[i])

    def _around(self, block: Block, at: tuple[int, int]) -> Floats:
        terms = self._terms(self.said(block, at[1]), *at)
        return np.asarray((np.array(terms) - self.near[at][:, None]) * block.weights)


@dataclass(frozen=True, eq=False)
class Summed:
    """The metrics of a study whose table was read in blocks, from the summary `kept`. layout: of the sample."""

    systems: tuple[str, ...]
    terms: Terms
    kept: Kept
    layout: Layout

    @property
    def groups(self) -> Collection[int]:
        """The numbers of the groups of rows; 0 stands for all rows."""
        return self.kept.moments.keys()

    @property
    def held(self) -> bool:
        """True if every unit is in memory."""
        return at_hand(self.kept.moments[0].moments)

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group, i = 0 if isinstance(member, slice) else member, self.systems.index(system)
        m = self.terms.metrics.index(chosen.base)
        moments = self.kept.moments[group].moments
        if isinstance(chosen.base.metric.kind, Quantile):
            plain, n, inside = self.layout is Layout.PLAIN, moments.n, self._inside(group)
            freedom = n - 1.0 if plain else moments.kish(0) - 1
            return OfDrawn(chosen, self.middle(chosen, group, i), self.kept.sample, i, inside, self.layout, n, freedom)
        squares = self.kept.squares.get((group, m, i))
        of_squares = None if squares is None else Squares(squares, self.terms.near[m, i][1:])
        return OfMoments(chosen, moments, self.terms.place(group, m, i), self.layout, of_squares)

    @cached
    def middle(self, chosen: Chosen, group: int, i: int) -> Middle:
        """The median of the absolute errors."""
        c, kind = self.kept.errors[group, i], chosen.base.metric.kind
        rows, *sums = c.whole.sums
        weighted = bool(sums)
        squares = float(sums[1].sum() if weighted else rows.sum())
        return kind.middle(c.counted(weighted=weighted).sizes(), squares, weighted=weighted)

    def _inside(self, group: int) -> Bools | slice:
        columns = self.kept.sample.rows.slices
        return np.any([column == group for column in columns], axis=0) if group else slice(None)

    def refuse_unlike(self) -> None:
        """Raise ParameterError for a loss that leaves out other rows for each system: pairing needs the rows."""
        for chosen in self.terms.metrics:
            if isinstance(chosen.metric.kind, Loss):
                every: Any = [self.measure(chosen, name, slice(None)) for name in self.systems]
                if len({one.totals[1] for one in every}) > 1:
                    raise ParameterError(f"metrics: {chosen.label} {UNLIKE}")


def refuse_unsummed(metrics: Sequence[Chosen], rows: int) -> None:
    """Raise ParameterError for a metric that cannot be computed from sums and counted errors."""
    for chosen in metrics:
        kind = chosen.base.metric.kind
        if not (kind.totalled or isinstance(kind, Quantile)):
            raise ParameterError(f"metrics: {chosen.label} needs all rows in memory, got {rows:,} rows")
