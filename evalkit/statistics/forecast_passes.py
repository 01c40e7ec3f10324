"""The two readings of out-of-fold forecasts, each shard by itself: what metrics add up to, then how much each row
moves them.

Names of what is gathered: the group, then the system by its number, then what it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.forecast_kinds import Quantile
from evalkit.catalogue.kinds import Centre
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.rows import Rows, Shard
from evalkit.statistics import gathered, passes
from evalkit.statistics.gathered import Gathered, Pass, Summing

SHARED = ("rows", "weight")  # the first columns of each group
FACTS = "facts"


def weights(shard: Shard, scale: float | None) -> Floats:
    """The weight of each row."""
    every: Floats = np.ones(len(shard.label))
    return every if shard.weight is None else (shard.weight * (scale or 1.0)).astype(np.float64, copy=False)


def rows_of(shard: Shard, system: int) -> Rows:
    """What is, and what a system says of it."""
    return Rows(shard.label, shard.score[system], beside=shard.beside)


def groups(shard: Shard) -> Iterator[tuple[int, Shard, Ints | slice]]:
    """The number of each group that has rows, 0 for all, its rows and where they stand."""
    for group, rows in passes.groups(shard):
        part = shard if isinstance(rows, slice) else shard.at(rows)
        if len(part.label):
            yield group, part, rows


@dataclass(frozen=True, eq=False)
class First(Pass):
    """What metrics add up to: rows, ids that come twice and disagreements, and of each system its errors.

    metrics, sliced: of all rows, and of each slice. centres: of each system, where actual values and forecasts lie.
    bins, fewer: of numbers that all rows have, and of a slice.
    """

    metrics: Sequence[Chosen]
    sliced: Sequence[Chosen]
    centres: Sequence[Centre]
    scale: float | None
    bins: int = USUAL.bins
    fewer: int = USUAL.slice_bins

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g, weight = Gathered(), weights(shard, self.scale)
        g.sums[FACTS] = np.array([len(shard.label), shard.twice, shard.differ], float)
        for group, part, rows in groups(shard):
            some, metrics = weight[rows], self.sliced if group else self.metrics
            g.sums[f"{group}"] = np.array([len(some), some.sum(), np.sum(some * some)])
            for i in range(len(part.score)):
                self._add(g, f"{group} {i}", rows_of(part, i), self.centres[i], some, metrics)
                if not group or any(isinstance(chosen.metric.kind, Quantile) for chosen in metrics):
                    g.grids[f"{group} {i} error"] = self._tally(part.score[i] - part.label, part.weight, group)
        return g.table()

    def _add(
        self, g: Gathered, place: str, rows: Rows, centre: Centre, weight: Floats, metrics: Sequence[Chosen]
    ) -> None:
        """The terms of the metrics."""
        for chosen in metrics:
            g.sums.update({f"{place} {chosen.label}": totals for totals in totals_of(chosen, rows, centre, weight)})

    def _tally(self, values: Floats, weight: Ints | None, group: int) -> grid.Grid:
        return grid.tally(values, weight, most=self.fewer if group else self.bins)

    def most(self, name: str) -> int:
        """The bins of a name."""
        if name.endswith("error"):
            return self.bins if name.startswith("0 ") else self.fewer
        return self.bins // 4

    def merge(self, table: Any) -> Any:
        """Two results as one; while they are small they only stand one after the other, and wait for more."""
        every = gathered.parts(table)
        if sum(part.bins for part in every) < 2 * self.bins:
            return table
        return gathered.merged(every, self.most).table()


def totals_of(chosen: Chosen, rows: Rows, centre: Centre, weight: Floats) -> Iterator[Floats]:
    """The sums of the terms of a metric that adds up."""
    kind: Any = chosen.metric.kind
    if kind.totalled:
        yield np.array([np.sum(term * weight) for term in kind.terms(rows, chosen.k, centre)])


# The second reading -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moved:
    """A metric of one system, with what is known of it: how much each row moves it is a column."""

    chosen: Chosen
    centre: Centre
    known: Any

    def column(self, rows: Rows) -> Floats:
        """How much each row of weight 1 moves the metric."""
        kind: Any = self.chosen.metric.kind
        return kind.moved(rows, self.chosen.k, self.centre, self.known)


@dataclass(frozen=True, eq=False)
class Second(Pass):
    """How much each row moves the metrics: sums, products and cubes by row or by unit, of every group.

    models: of each group the metrics of each system. first: what these follow from. apart: units are few, and the
    sums of each stand side by side until all rows are read.
    """

    models: Mapping[int, Sequence[Sequence[Moved]]]
    first: First
    apart: bool

    def names(self, group: int) -> list[str]:
        """What stands in the columns of a group."""
        moved = enumerate(self.models[group])
        return [*SHARED, *(f"{i} {one.chosen.label}" for i, metrics in moved for one in metrics)]

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g, weight = Gathered(), weights(shard, self.first.scale)
        summing = Summing(shard.unit, shard.units, self.apart)
        for group, part, rows in groups(shard):
            some = weight[rows]
            columns = _Columns(part, some, self.models[group])
            g.sums[f"{group} moments"] = summing(columns, len(self.names(group)), part.unit)
        return g.table()

    def most(self, name: str) -> int:
        """The bins of a name."""
        return self.first.bins


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of a group's rows."""

    part: Shard
    weight: Floats
    systems: Sequence[Sequence[Moved]]

    def __len__(self) -> int:
        return len(self.weight)

    def __call__(self, at: slice) -> Floats:
        block, weight = self.part.at(at), self.weight[at]
        moved = (one.column(rows_of(block, i)) * weight for i, metrics in enumerate(self.systems) for one in metrics)
        return np.array([np.ones(len(weight)), weight, *moved])
