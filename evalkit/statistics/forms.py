"""Metrics of one class or label against the rest, computed from bins of scores, cells and sums instead of rows.

A class, a label and the positive class of two are the same problem: positives against all other rows. The influence of
a row is a linear form, a combination of columns that were added up per row or per unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, ParameterError
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen
from evalkit.catalogue.row_metrics import AVERAGE_PRECISION
from evalkit.catalogue.score_kinds import Curve
from evalkit.metrics import grid, influence
from evalkit.metrics.block import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.grid import Grid
from evalkit.metrics.kept import Moments
from evalkit.statistics.class_cells import Group, image
from evalkit.statistics.spread import Spread, freedom_of
from evalkit.statistics.statistic import Layout, Piece
from evalkit.statistics.summed import Formed, OfMoments
from evalkit.system import cached


@dataclass(frozen=True, eq=False)
class Binned:
    """Scores in bins. weight: the unit that weights are counted in, None for unweighted rows. threshold: of a class."""

    bins: Grid
    weight: float | None
    threshold: float = np.nan

    def at(self, threshold: float) -> Binned:
        """The same at a threshold; the scores are not counted again."""
        table = replace(self, threshold=threshold)
        vars(table)["counts"] = self.counts
        return table

    @cached_property
    def counts(self) -> Counts:
        """The table of the scores."""
        return grid.counts(self.bins, self.weight or 1.0)

    @cached_property
    def chances(self) -> Counts:
        """The same with the middle of each bin as its score: for metrics that take scores as probabilities."""
        c = self.counts
        return Counts(grid.middles(self.bins), c.tp, c.fp, c.positives, c.negatives)

    @cached_property
    def cut(self) -> Counts:
        """The table of what the threshold decides."""
        return influence.decision(self.counts, self.threshold)

    @cached_property
    def shared(self) -> Bools:
        """Whether each threshold stands for several distinct scores."""
        return grid.spread(self.bins)

    @property
    def moved(self) -> tuple[float, float, float]:
        """The most that shared bins move AUC, and the limits of average precision."""
        return grid.auc_width(self.counts, self.shared), *grid.average_precision_limits(self.counts, self.shared)

    def changed(self, chosen: Chosen) -> float:
        """The most that shared bins move a metric of the whole table; NaN where nothing bounds it."""
        kind = chosen.base.metric.kind
        if not isinstance(kind, Curve) or not kind.rises:
            return np.nan
        value, tables = chosen.at(self.chances), [replace(self, bins=bins) for bins in grid.ends(self.bins)]
        ends = [chosen.at(t.chances) for t in tables]
        if chosen.base.metric is AVERAGE_PRECISION:
            ends = [*self.moved[1:]]
        return max(abs(end - value) for end in ends)


def places(low: Ints, score: Floats) -> Ints:
    """The bin of each score, of bins that begin at these codes: sorted, the search runs through them."""
    code = grid.codes(score)
    order = np.argsort(code)
    place = np.empty(len(code), np.int64)
    place[order] = np.searchsorted(low, code[order], side="right") - 1
    return np.maximum(place, 0)  # below the lowest bin stand only rows without weight


@dataclass(frozen=True, eq=False)
class Ranked:
    """The influence of a row on a metric of one class against the rest, by its class and the bin of its score.

    low: where each bin of scores begins, ascending, as codes. moved: by bin, for positive rows, then for negative ones.
    """

    low: Ints
    moved: Floats

    def places(self, actual: Bools, score: Floats) -> Ints:
        """Where among what moves it each row stands."""
        return places(self.low, score) + np.where(actual, 0, len(self.low))


def ranked(chosen: Chosen, table: Binned) -> Ranked:
    """How much the rows of each bin move the metric of one class, or label."""
    moved = np.ascontiguousarray(chosen.metric.kind.bins(table.chances)[:, ::-1])
    return Ranked(grid.codes(table.counts.threshold[::-1]), np.nan_to_num(moved).ravel())


def whole_weights(block: Block, scale: float | None) -> Floats:
    """The weight of each row as it is counted."""
    every: Floats = block.weights
    return every if scale is None else (grid.whole(every, scale) * scale).astype(np.float64, copy=False)


# Statistics -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OfForm(Formed):
    """A metric whose influence values are a linear combination, `form`, of columns. moments: of the columns, around 0.

    of: its value, or that of the metric that it transforms. n: units, or rows. freedom: Kish's number of them,
    less 1. tables: those of its score. system: its number. powers: of every two systems, of unweighted rows, the
    sums of the squares and fourth powers of what moves the difference, by stratum. strata: the rows of each class that
    has any, nothing of rows that may have several labels.
    """

    layout: Layout
    of: float
    form: Floats
    n: int
    freedom: float
    tables: Any = None
    system: int = 0
    powers: Mapping[tuple[int, int], Floats] = field(default_factory=dict)
    strata: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    how: ClassVar[str] = "influence sums, two passes"

    def _powers(self, other: OfForm) -> Floats:
        return self.powers[min(self.system, other.system), max(self.system, other.system)]

    def by_stratum(self, other: OfForm) -> tuple[Floats, Ints]:
        """The sum of the squares of what moves the difference in each class, and its rows; of none where rows vary."""
        if not self.powers:
            return np.empty(0), np.empty(0, np.int64)
        there = self.strata > 0
        return self._powers(other)[: len(there)][there, 0], self.strata[there]

    def of_few(self, other: OfForm) -> tuple[float, float]:
        """The standard error of the difference, and the degrees of freedom that the kurtosis of its rows leaves."""
        if not self.powers:
            spread = self.spread_from(other)
            return spread.error, spread.freedom(self.n - 1.0)
        square, fourth = self._powers(other).sum(axis=0).tolist()
        return Spread(self.n, square, self.freedom + 1).error, freedom_of(square, fourth, self.n, self.n - 1.0)

    @property
    def excess(self) -> float:
        """How much too high the value of so few rows is."""
        return float(self.chosen.metric.kind.excess(self.tables))


@dataclass(frozen=True, eq=False, kw_only=True)
class OfMean(OfForm):
    """A mean over classes or labels.

    shares, each: the share of each in the mean, and its metric. columns: that of each, and where shares are estimated
    that of how much rows move the mean through them.
    """

    shares: Sequence[float]
    each: Sequence[Any]
    columns: Sequence[int]

    @cached_property
    def _moved(self) -> Floats:
        """How much units move each part of the form."""
        return image(self.moments.second[np.ix_(self.columns, self.columns)])

    def parts(self) -> Iterator[Piece]:
        """The classes, or labels."""
        rows = zip(self.shares, self.each, self._moved[: len(self.each)], strict=True)
        return (Piece(share, one, vector, one.excess) for share, one, vector in rows)

    def of_shares(self) -> Floats | None:
        """How much units move the mean through its shares; None where these are fixed."""
        return self._moved[-1] if len(self.columns) > len(self.each) else None


# All systems on the same rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneAgainstRest:
    """All systems on the same rows, whose scores are counted per class or label. layout: of the sample.

    first: the first reading; counted: its counts, moments and cells.
    """

    systems: tuple[str, ...]
    first: Any
    counted: Any
    layout: Layout

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.layout is Layout.PLAIN

    @property
    def scale(self) -> float | None:
        """The unit that weights are counted in; None for unweighted rows."""
        return self.first.scale

    @property
    def weighted(self) -> bool:
        """Whether rows carry weights."""
        return self.scale is not None

    def loss(self, chosen: Chosen, group: int, i: int) -> OfMoments:
        """A metric that follows from sums over rows."""
        moments = self.counted.moments[group].moments
        place = self.first.terms.place(group, self.first.terms.metrics.index(chosen.base), i)
        return OfMoments(chosen, moments, place, self.layout)

    def refuse_left_out(self) -> None:
        """Raises ParameterError for a loss that leaves rows out: which of two systems are left out only rows tell."""
        for chosen in self.first.terms.metrics:
            sides = [self.loss(chosen, 0, i) for i in range(len(self.systems))]
            left = min(one.totals[1] for one in sides) < sides[0].moments.totals[0]
            if not np.isfinite([one.totals for one in sides]).all() or (isinstance(chosen.metric.kind, Loss) and left):
                raise ParameterError(f"metrics: {chosen.label} leaves rows out, which needs all rows in memory")

    @cached
    def scores(self, group: int, system: int, c: int) -> Binned:
        """The scores of a class or label."""
        return Binned(self.counted.scores[group, system, c].whole, self.scale)

    @property
    def bounds(self) -> Floats:
        """By how much counting scores in bins changes an AUC and an average precision at most."""
        every = [self.scores(*at).moved for at in self.counted.scores if at[0] == 0]
        width, low, high = np.nan_to_num(np.array(every)).reshape(-1, 3).T
        return np.array([width.max(initial=0.0), (high - low).max(initial=0.0)])

    def freedom(self, of: Group) -> float:
        """Kish's number of the units of a group, or the number of its rows, less 1."""
        return (of.n if self.plain else of.kish(np.ones(len(of.each[0].weight)))) - 1.0

    def area(
        self, chosen: Chosen, of: Group, positive: int, tables: Any, moments: Any, column: int, **more: Any
    ) -> OfForm:
        """A metric of the scores of one class, `positive` among the cells, against the rest. more: as of `OfForm`."""
        kind = chosen.base.metric.kind
        side = of.each[0].actual == positive
        sides = [side, ~side] if kind.apart else [np.ones(len(side))]
        kish = float(of.n) if self.plain else min(of.kish(np.asarray(one, float)) for one in sides)
        value, own = kind.read(kind.source(tables)), _form(moments, {column: 1.0})
        return OfForm(chosen, moments, self.layout, value, own, of.n, kish - 1, tables, **more)

    def mean(self, chosen: Chosen, of: Group, moments: Any, columns: Sequence[int], **more: Any) -> OfMean:
        """A mean over classes or labels. columns, more: as of `OfMean`."""
        value = float(sum(share * one.value for share, one in zip(more["shares"], more["each"], strict=True)))
        form = _form(moments, dict.fromkeys(columns, 1.0) | dict(zip(columns, more["shares"], strict=False)))
        return OfMean(chosen, moments, self.layout, value, form, of.n, self.freedom(of), columns=columns, **more)


def _form(moments: Moments | None, of: Mapping[int, float]) -> Floats:
    """The multiples of the columns; nothing where these were not added up."""
    form = np.zeros(0 if moments is None else len(moments.mean))
    for column, times in of.items() if len(form) else ():
        form[column] = times
    return form
