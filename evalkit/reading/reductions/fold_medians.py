"""The actual values of folds that an engine holds: their means, and the exact median of some folds together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.metrics import grid
from evalkit.metrics.grid import Grid
from evalkit.metrics.rows import Shard
from evalkit.reading.reductions.fold_ids import CELL
from evalkit.reading.reductions.folds import LargeFolds
from evalkit.reading.reductions.shards import Segment
from evalkit.statistics import gathered
from evalkit.statistics.gathered import Gathered

LEAST = 2**10  # bins of a fold, however many folds there are
ROWS = "rows"


@dataclass(frozen=True, eq=False)
class Actual:
    """The bins of the actual values of each fold, and their sums around a centre."""

    centre: float
    bins: int

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g = Gathered({ROWS: np.array([len(shard.label)], float)})
        for cell in np.unique(shard.slice[0]).tolist():
            values = shard.label[shard.slice[0] == cell]
            g.grids[f"{cell}"] = grid.tally(values, most=self.bins)
            g.sums[f"{cell}"] = np.array([np.sum(values - self.centre)])
        return g.table()

    def merge(self, table: Any) -> Any:
        """Two results as one."""
        return self.whole(table).table()

    def whole(self, table: Any) -> Gathered:
        """What came of it."""
        return gathered.merged(gathered.parts(table), lambda name: self.bins)


@dataclass(frozen=True, eq=False)
class Counted:
    """The counted actual values of the cells of a table."""

    t: LargeFolds
    centre: float
    g: Gathered

    def mean(self, cells: Ints) -> float:
        """The mean of the rows of some cells."""
        total = sum(float(self.g.sums[f"{cell}"][0]) for cell in cells)
        return self.centre + total / int(self.t.cells.rows[cells].sum())

    def median(self, cells: Ints) -> float:
        """The median of the rows of some cells; values of a shared bin around it are asked of the engine."""
        whole = grid.merge([self.g.grids[f"{cell}"] for cell in cells], most=len(cells) * grid.MOST)
        ends = np.cumsum(whole.positive)
        n = int(ends[-1])
        middles = [self._at(cells, whole, ends, place) for place in sorted({(n - 1) // 2, n // 2})]
        return float(np.mean(middles))

    def _at(self, cells: Ints, whole: Grid, ends: Ints, place: int) -> float:
        """The value at a place, from 0, of the rows in order."""
        bin_ = int(np.searchsorted(ends, place, side="right"))
        low, high = grid.scores(whole.low[bin_ : bin_ + 1])[0], grid.scores(whole.high[bin_ : bin_ + 1])[0]
        if low == high:
            return float(low)
        values, rows = self._within(cells, float(low), float(high))
        before = int(ends[bin_] - whole.positive[bin_])
        return float(values[np.searchsorted(np.cumsum(rows), place - before, side="right")])

    def _within(self, cells: Sequence[int] | Ints, low: float, high: float) -> tuple[Floats, Ints]:
        """The distinct values between two, in order, and the rows of each."""
        literal = self.t.engine.dialect.literal
        among = ", ".join(literal(self.t.cells.text[cell]) for cell in cells)
        ends = [f"CAST({literal(repr(end))} AS DOUBLE)" for end in (low, high)]
        condition = f"{self.t.one_system} AND {CELL} IN ({among}) AND label BETWEEN {ends[0]} AND {ends[1]}"
        table = self.t.ask("label, count(*) AS n", f"WHERE {condition} GROUP BY label ORDER BY label")
        return table["label"].to_numpy(), table["n"].to_numpy()


def read(t: LargeFolds, bins: int) -> Counted:
    """The actual values by cell. bins: of all cells together."""
    texts = t.cells.text
    by_cell = replace(t.plan, segments=(Segment(texts, np.arange(len(texts))),), unit=False, units=None)
    actual = Actual(t.actual, max(LEAST, bins // (2 * len(texts))))
    table = replace(t, plan=by_cell).reduce(actual, actual.merge, by_unit=False)
    return Counted(t, t.actual, actual.whole(table))
