"""The two readings of forecasts, each shard by itself: what metrics add up to, and how numbers are distributed; then
how much each row moves the metrics, and what the page draws along the forecasts.

Names of what is gathered: the group, then the system by its number, then what it is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints, minus
from evalkit.catalogue.forecast_kinds import Quantile
from evalkit.catalogue.kinds import Centre
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.rows import Rows, Shard
from evalkit.statistics import gathered, passes
from evalkit.statistics.gathered import Gathered, Pass, Summing

SHARED = ("rows", "weight")  # the first columns of each group
ALONG = ("rows", "weight", "forecast", "actual", "above")  # those of the rows of one tenth
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
    """What metrics add up to, and counted numbers: the actual values, and of each system its forecasts and errors.

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
        g.sums[FACTS] = self._facts(shard)
        for group, part, rows in groups(shard):
            some, metrics = weight[rows], self.sliced if group else self.metrics
            g.sums[f"{group}"] = np.array([len(some), some.sum(), np.sum(some * some)])
            for i in range(len(part.score)):
                self._add(g, f"{group} {i}", rows_of(part, i), self.centres[i], some, metrics)
                if not group or any(isinstance(chosen.metric.kind, Quantile) for chosen in metrics):
                    g.grids[f"{group} {i} error"] = self._tally(part.score[i] - part.label, part.weight, group)
        if len(shard.label):
            self._distributions(g, shard)
        return g.table()

    def _add(
        self, g: Gathered, place: str, rows: Rows, centre: Centre, weight: Floats, metrics: Sequence[Chosen]
    ) -> None:
        """The terms of the metrics."""
        for chosen in metrics:
            g.sums.update({f"{place} {chosen.label}": totals for totals in totals_of(chosen, rows, centre, weight)})

    def _tally(self, values: Floats, weight: Ints | None, group: int) -> grid.Grid:
        return grid.tally(values, weight, most=self.fewer if group else self.bins)

    def _distributions(self, g: Gathered, shard: Shard) -> None:
        g.grids["actual"] = grid.tally(shard.label, shard.weight, most=self.bins // 4)
        g.sums["parted actual"] = _parted(shard.label)
        for i, score in enumerate(shard.score):
            g.grids[f"0 {i} forecast"] = grid.tally(score, shard.weight, most=self.bins // 4)
            g.sums[f"parted {i}"] = np.concatenate([_parted(score), _parted(score - shard.label)])
            for j in range(i):
                g.sums[f"near {j} {i}"] = won(*(np.abs(shard.score[at] - shard.label) for at in (j, i)))

    def _facts(self, shard: Shard) -> Floats:
        """Rows, ids that come twice, disagreements, zeros; sums of actual values and of squares, also weighted."""
        around, weight = shard.label - self.centres[0][0], weights(shard, self.scale)
        square = around * around
        sums = [around.sum(), square.sum(), np.sum(weight * around), np.sum(weight * square)]
        return np.array([len(around), shard.twice, shard.differ, np.count_nonzero(shard.label == 0), *sums], float)

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


def _parted(values: Floats) -> Floats:
    """How many numbers are not whole."""
    return np.array([np.count_nonzero(values != np.rint(values))], float)


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
class Along:
    """What is drawn along the forecasts of one system.

    edges: of tenths of the rows. bias: the mean error. low: the codes of the bins of its forecasts, rising. x, actual:
    the edges of cells of forecast and actual value. own, error: of its forecast and its error.
    """

    edges: Floats
    bias: float
    low: Ints
    x: Floats
    actual: Floats
    own: Floats
    error: Floats


@dataclass(frozen=True, eq=False)
class Second(Pass):
    """How much each row moves the metrics: sums, products and cubes by row or by unit, of every group.

    models: of each group the metrics of each system. along: of each system. first: its terms are those of constant
    forecasts. apart: units are few, and the sums of each stand side by side until all rows are read.
    """

    models: Mapping[int, Sequence[Sequence[Moved]]]
    along: Sequence[Along]
    constants: Sequence[float]
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
        for i, along in enumerate(self.along):
            g.sums.update(_tenths(shard, i, along, weight, summing))
            g.sums.update(_drawn(shard, i, along, weight))
        for j, value in enumerate(self.constants):
            self._constant(g, j, value, shard, weight)
        if shard.unit is not None:
            g.sums.update(_won(shard, shard.unit, weight, apart=self.apart))
        return g.table()

    def _constant(self, g: Gathered, number: int, value: float, shard: Shard, weight: Floats) -> None:
        """What the metrics of a constant forecast add up to."""
        rows = Rows(shard.label, np.full(len(shard.label), value), beside=shard.beside)
        for chosen in self.first.metrics:
            every = totals_of(chosen, rows, (self.first.centres[0][0], value), weight)
            g.sums.update({f"constant {number} {chosen.label}": totals for totals in every})
        if len(rows) and any(isinstance(chosen.metric.kind, Quantile) for chosen in self.first.metrics):
            g.grids[f"constant {number} error"] = grid.tally(value - shard.label, shard.weight, most=self.first.bins)

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


def _won(shard: Shard, unit: Ints, weight: Floats, *, apart: bool) -> dict[str, Floats]:
    """How much each system misses each unit; or by pairs, of whole units, on how many either misses less."""
    rows = (weight * np.abs(score - shard.label) for score in shard.score)
    off = [np.bincount(unit, row, shard.units).astype(np.float64) for row in rows]
    if apart:
        return {f"off {i}": missed for i, missed in enumerate(off)}
    return {f"won {i} {j}": won(off[i], off[j]) for j in range(len(off)) for i in range(j)}


def won(first: Floats, second: Floats) -> Floats:
    """Units or rows that the first misses less than the second, and the other way round; rounding wins nothing."""
    more = minus(second, first)
    return np.array([np.count_nonzero(more > 0), np.count_nonzero(more < 0)], float)


def _tenths(shard: Shard, i: int, along: Along, weight: Floats, summing: Summing) -> dict[str, Floats]:
    """Sums over the rows of each tenth of the forecasts."""
    forecast, actual = shard.score[i], shard.label
    place = np.searchsorted(along.edges, forecast, side="right")
    sums = {}
    for tenth in range(len(along.edges) + 1):
        rows = np.flatnonzero(place == tenth)
        if len(rows):
            f, a, w = forecast[rows], actual[rows], weight[rows]
            columns = np.array([np.ones(len(rows)), w, w * f, w * a, w * (f - a - along.bias)])
            unit = None if shard.unit is None else shard.unit[rows]
            sums[f"{i} tenth {tenth}"] = summing(_Held(columns), len(ALONG), unit)
    return sums


@dataclass(frozen=True, eq=False)
class _Held:
    """Columns at hand."""

    columns: Floats

    def __len__(self) -> int:
        return self.columns.shape[1]

    def __call__(self, at: slice) -> Floats:
        return self.columns[:, at]


def _drawn(shard: Shard, i: int, along: Along, weight: Floats) -> dict[str, Floats]:
    """By bins of the forecast weight, actual values, forecasts and squared errors; and the cells of two pictures."""
    forecast, actual = shard.score[i], shard.label
    code = grid.codes(forecast)
    order = np.argsort(code)
    place = np.maximum(np.searchsorted(along.low, code[order], side="right") - 1, 0)
    error = weight * (actual - forecast)
    columns = (weight, weight * actual, weight * forecast, error * error)
    bins = [np.bincount(place, column[order], len(along.low)).astype(np.float64) for column in columns]
    cells = {
        "actual cells": _crossed(forecast, actual, weight, along.x, along.actual),
        "error cells": _crossed(forecast, forecast - actual, weight, along.own, along.error),
    }
    return {f"{i} bins": np.concatenate(bins)} | {f"{i} {name}": cell for name, cell in cells.items()}


def _cell(values: Floats, edges: Floats) -> Ints:
    """Between which edges each value lies, as numpy's histograms have it; −1 outside."""
    place = np.searchsorted(edges, values, side="right") - 1
    place[values == edges[-1]] = len(edges) - 2
    place[values > edges[-1]] = -1
    return place


def _crossed(values: Floats, up: Floats, weight: Floats, xs: Floats, ys: Floats) -> Floats:
    """The weight of the rows in cells between both edges, as numpy's histograms have them."""
    x, y = _cell(values, xs), _cell(up, ys)
    inside: Bools = (x >= 0) & (y >= 0)
    across = len(ys) - 1
    sums = np.bincount(x[inside] * across + y[inside], weight[inside], (len(xs) - 1) * across)
    return sums.astype(np.float64)
