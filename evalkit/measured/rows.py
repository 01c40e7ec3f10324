"""The metrics of all systems on the same rows, from rows in memory or from sums over blocks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.catalogue import kinds, metric
from evalkit.catalogue.score_kinds import Middle, OfMeans, Quantile
from evalkit.limits import Limits
from evalkit.metrics.kept import Block, Bundle, Counts, Moments, Parted, Sample, summed
from evalkit.metrics.rows import Rows
from evalkit.statistics.statistic import Layout, RowStatistic, Statistic, layout_of
from evalkit.statistics.summed import MomentStatistic, SampledMedian, Squares, has_units
from evalkit.system import cached

UNLIKE = (
    "leaves rows out that differ by system, which needs all rows in memory; choose the systems one "
    "by one"
)
KEPT = 2**24  # rows of all systems whose statistics of one metric stay in memory


@dataclass(frozen=True, eq=False)
class HeldRows:
    """All systems on the same rows in memory. ids: the ids by which rows are paired, if they are
    needed.
    """

    rows: Mapping[str, Rows]
    ids: Callable[[], np.ndarray]

    in_memory: ClassVar[bool] = True

    @property
    def layout(self) -> Layout:
        """The layout of the sample."""
        rows = next(iter(self.rows.values()))
        return layout_of(units=rows.unit is not None, weights=rows.weight is not None)

    def measure(self, chosen: metric.Chosen, system: str, member: Bools | slice) -> RowStatistic:
        """The metric of a system; a slice is all rows."""
        if not isinstance(member, slice):
            return RowStatistic(chosen, self.rows[system].take(member))
        # until another metric is measured: what is computed of a system serves all pairs
        kept = self._kept
        if any(of != chosen for of, _ in list(kept)[:1]):
            kept.clear()
        statistic = kept.get((chosen, system), RowStatistic(chosen, self.rows[system]))
        if (len(kept) + 1) * len(statistic.rows) <= KEPT:
            kept[chosen, system] = statistic
        return statistic

    @cached_property
    def _kept(self) -> dict[tuple[metric.Chosen, str], RowStatistic]:
        return {}


@dataclass(frozen=True, eq=False)
class Kept(Bundle):
    """The summary of the rows. Groups (slices; 0 is all rows), systems and metrics are numbered.

    moments: by group. squares: of products of terms, by group, metric and system. errors: by group
    and system; the median is that of their sizes.
    """

    moments: dict[int, Moments | Parted]
    squares: dict[tuple[int, int, int], Moments]
    errors: dict[tuple[int, int], Counts]
    sample: Sample


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of metrics that are added up over a block: for all rows those of all metrics, for
    slices of the first.

    centres: for each system, values near its actual values and forecasts, which keep digits. near:
    by metric and system, values near its terms. few: the largest number of units whose terms are
    kept one by one. more: a function to further columns, `width` of them, which are added up by
    weight and unit like the terms. rows: the actual values and a system's predictions, if they are
    more than one number or come with further columns.
    """

    metrics: tuple[metric.Chosen, ...]
    centres: Sequence[kinds.Centre]
    near: Mapping[tuple[int, int], Floats]
    few: int
    more: Callable[[Block], Floats] | None = None
    width: int = 0
    rows: Callable[[Block, int], Rows] | None = None

    @staticmethod
    def of(
        metrics: Sequence[metric.Chosen], heads: Sequence[Block], few: int, **more: Any
    ) -> "Terms":
        """The terms of these metrics. heads: some first rows of each system, from which the centres
        are computed.
        """
        every = np.concatenate([head.truth for head in heads])
        own = [(head, i if len(head.said) > 1 else 0) for i, head in enumerate(heads)]
        centres = [
            (float(every.mean()), float((head.said[at] if len(head) else every).mean()))
            for head, at in own
        ]
        made = Terms(tuple(metrics), centres, {}, few, **more)
        near = {}
        for m, chosen in enumerate(metrics):
            kind: Any = chosen.metric.kind
            for i, (head, at) in enumerate(own if kind.totalled else []):
                terms = kind.terms(made.said(head, at), chosen.k, centres[i])
                around = isinstance(kind, OfMeans) and len(head)
                near[m, i] = np.array(
                    [0.0, *(np.mean(term) if around else 0.0 for term in terms[1:])]
                )
        return replace(made, near=near)

    @staticmethod
    def alone(
        metrics: Sequence[metric.Chosen],
        systems: int,
        few: int,
        rows: Callable[[Block, int], Rows] | None = None,
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
        if self.rows:
            return self.rows(block, i)
        return Rows(block.truth, block.said[i], beside=block.beside)

    def moments(self, block: Block, group: int) -> Moments | Parted:
        """The moments of the weight, the further columns, and the terms of each system and metric,
        all by weight.
        """
        return summed(block, partial(self._columns, group=group), self.few)

    def squares(self, block: Block, group: int) -> dict[tuple[int, int, int], Moments]:
        """The moments of the products of two terms, for metrics whose limits use fourth powers."""
        asked = [
            m
            for m in self._of(group)
            if isinstance(self.metrics[m].metric.kind, OfMeans | kinds.RatioOfRows)
        ]
        every = [] if block.parted else [(m, i) for m in asked for i in range(len(block.said))]
        return {
            (group, *at): Moments.of(block, partial(self._around, at=at), 0, squared=True)
            for at in every
        }

    def kept(self, block: Block, limits: Limits) -> dict[str, Any]:
        """The fields of `Kept` except the sample, for all rows and for each slice."""
        moments = dict[int, Any]()
        squares = dict[Any, Moments]()
        errors = dict[Any, Counts]()
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
        systems = range(len(self.centres))
        metrics = self._of(group)
        sizes = [len(self.near.get((own, system), ())) for system in systems for own in metrics]
        at = i * len(metrics) + m
        start = 1 + self.width + sum(sizes[:at])
        return slice(start, start + sizes[at])

    def _of(self, group: int) -> range:
        return range(len(self.metrics[:1] if group else self.metrics))

    def _columns(self, block: Block, group: int) -> Floats:
        w = block.weights
        more = np.empty((0, len(block))) if self.more is None else self.more(block)
        each = [self.said(block, i) for i in range(len(block.said))]
        every = (
            (rows, m, i)
            for i, rows in enumerate(each)
            for m in self._of(group)
            if (m, i) in self.near
        )
        return np.array(
            [
                w,
                *(w * column for column in more),
                *(w * t for at in every for t in self._terms(*at)),
            ]
        )

    def _terms(self, rows: Rows, m: int, i: int) -> Sequence[Floats]:
        of = self.metrics[m]
        return of.metric.kind.terms(rows, of.k, self.centres[i])

    def _around(self, block: Block, at: tuple[int, int]) -> Floats:
        terms = self._terms(self.said(block, at[1]), *at)
        return np.asarray((np.array(terms) - self.near[at][:, None]) * block.weights)


@dataclass(frozen=True, eq=False)
class SummedForecasts:
    """The metrics of a study whose table was read in blocks, from the summary `kept`. layout: of
    the sample.
    """

    systems: tuple[str, ...]
    terms: Terms
    kept: Kept
    layout: Layout

    @property
    def groups(self) -> Collection[int]:
        """The numbers of the groups of rows; 0 stands for all rows."""
        return self.kept.moments.keys()

    @property
    def in_memory(self) -> bool:
        """True if every unit is in memory."""
        return has_units(self.kept.moments[0].moments)

    def measure(self, chosen: metric.Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group = 0 if isinstance(member, slice) else member
        i = self.systems.index(system)
        m = self.terms.metrics.index(chosen.base)
        moments = self.kept.moments[group].moments
        if isinstance(chosen.base.metric.kind, Quantile):
            plain = self.layout is Layout.PLAIN
            n = moments.n
            inside = self._inside(group)
            freedom = n - 1.0 if plain else moments.kish(0) - 1
            return SampledMedian(
                chosen,
                self.middle(chosen, group, i),
                self.kept.sample,
                i,
                inside,
                self.layout,
                n,
                freedom,
            )
        squares = self.kept.squares.get((group, m, i))
        of_squares = None if squares is None else Squares(squares, self.terms.near[m, i][1:])
        return MomentStatistic(
            chosen, moments, self.terms.place(group, m, i), self.layout, of_squares
        )

    @cached
    def middle(self, chosen: metric.Chosen, group: int, i: int) -> Middle:
        """The median of the absolute errors."""
        c = self.kept.errors[group, i]
        kind = chosen.base.metric.kind
        rows, *sums = c.whole.sums
        weighted = bool(sums)
        squares = float(sums[1].sum() if weighted else rows.sum())
        return kind.middle(c.counted(weighted=weighted).sizes(), squares, weighted=weighted)

    def _inside(self, group: int) -> Bools | slice:
        columns = self.kept.sample.rows.slices
        return np.any([column == group for column in columns], axis=0) if group else slice(None)

    def refuse_unlike(self) -> None:
        """Raise ParameterError for a loss that leaves out other rows for each system: pairing needs
        the rows.
        """
        for chosen in self.terms.metrics:
            if isinstance(chosen.metric.kind, kinds.Loss):
                every: Any = [self.measure(chosen, name, slice(None)) for name in self.systems]
                if len({one.totals[1] for one in every}) > 1:
                    raise ParameterError(f"metrics: {chosen.label} {UNLIKE}")


def refuse_unsummed(metrics: Sequence[metric.Chosen], rows: int) -> None:
    """Raise ParameterError for a metric that cannot be computed from sums and counted errors."""
    for chosen in metrics:
        kind = chosen.base.metric.kind
        if not (kind.totalled or isinstance(kind, Quantile)):
            raise ParameterError(
                f"metrics: {chosen.label} needs all rows in memory, got {rows:,} rows"
            )
