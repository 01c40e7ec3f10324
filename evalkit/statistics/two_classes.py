"""What a study of two classes measures on where rows are not at hand: what one or two readings by blocks keep of them.

The first counts bins of scores and adds up losses; the second adds up how much each row moves what follows from the
order of the scores, and what thresholds decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import calibration, grid, kept
from evalkit.metrics.block import Block
from evalkit.metrics.kept import Bundle, Moments, Parted, Tally, Values
from evalkit.metrics.rows import Sums
from evalkit.statistics.class_cells import Cells, Group, of_cut, of_system
from evalkit.statistics.forms import Binned, OneAgainstRest, places, ranked, whole_weights
from evalkit.statistics.readings import Counted, First, tally
from evalkit.statistics.statistic import Layout, OfUnits, Statistic

# The first reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class ByScore(First):
    """Of two classes. cuts: of each system a threshold that is known beforehand: what is at or above it is exact.

    within: metrics that rank the rows of each unit among themselves; the values of each unit are kept. within_slices:
    whether they are kept of slices. Counted are positive rows, and of each system the rows whose score is no
    probability, and those that are certain of the other class.
    """

    sliced: bool = False
    ranked: bool = True
    cuts: Sequence[float] | None = None
    within: Sequence[Chosen] = ()
    within_slices: bool = False

    def __call__(self, block: Block) -> Counted:
        """What is kept of a block."""
        asked = ((group, part) for group, part in block.groups() if self.within_slices or not group)
        values = {("within", group): Values.of(part, self._values) for group, part in asked if self.within}
        counted = super().__call__(block)
        return replace(counted, more=values)

    def told(self, block: Block) -> Block:
        return block

    def problems(self, part: Block, group: int) -> Iterator[tuple[int | str, Any, Any]]:
        return iter(())

    def scores(self, part: Block, weight: Ints | None, most: int) -> Iterator[tuple[tuple[int, int], Tally]]:
        for i, said in enumerate(part.said):
            yield (i, 0), tally(said, part.truth == 1, weight, most, None if self.cuts is None else self.cuts[i])

    def more(self, block: Block, weight: Ints | None) -> tuple[dict[tuple[str, int], Any], Sequence[Any]]:
        hit = block.truth == 1
        return {}, [hit.sum(), *(n for said in block.said for n in _outside(said, hit))]

    def _values(self, block: Block) -> Floats:
        """What each row adds to the value of its unit and to how much that counts."""
        every = [chosen.sums(block.rows(i)) for chosen in self.within for i in range(len(block.said))]
        return np.array([side for sums in every for side in (sums.numerator, sums.size)])


def _outside(score: Floats, hit: Bools) -> tuple[int, int]:
    """Scores that are no probabilities, and those that are certain of the other class."""
    low, high = calibration.EPSILON, 1 - calibration.EPSILON
    if low <= score.min() and score.max() <= high:
        return 0, 0
    certain = np.where(hit, score < low, score > high)
    return int(np.count_nonzero((score < 0) | (score > 1))), int(np.count_nonzero(certain))


# The second reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """Of one system its threshold, and how much a row of each bin moves each metric, of bins that begin at `low`."""

    threshold: float
    low: Ints
    moved: Mapping[Chosen, Floats]

    @staticmethod
    def of(table: Binned, metrics: Sequence[Chosen]) -> Columns:
        """The columns of a table."""
        low = grid.codes(table.counts.threshold[::-1])
        return Columns(table.threshold, low, {chosen: ranked(chosen, table).moved for chosen in metrics})

    @property
    def pairs(self) -> int:
        """How many pairs of columns it has."""
        return 1 + len(self.moved)


@dataclass(frozen=True, eq=False)
class Moved(Bundle):
    """What the second reading keeps of each group."""

    moments: dict[int, Moments | Parted]


@dataclass(frozen=True, eq=False)
class ByColumns:
    """Moments of pairs of columns, of positive rows and of negative ones: of their weight, and of each system.

    models: of each group the columns of each system: the weight of the rows that it predicts positive, and how much
    each row moves each of the metrics of the group. few: units whose columns are kept side by side.
    """

    scale: float | None
    few: int
    models: Mapping[int, Sequence[Columns]]

    def __call__(self, block: Block) -> Moved:
        """What is kept of a block."""
        of = (Parted if block.parted else kept.Moments).of
        groups = ((group, part) for group, part in block.groups() if group in self.models)
        columns = ((group, self._placed(part, group), partial(self._columns, group)) for group, part in groups)
        return Moved({group: of(part, own, self.few) for group, part, own in columns})

    def _placed(self, block: Block, group: int) -> Block:
        """The block with the bin of each score, found of all rows at once: sorted, they run through the bins."""
        models = enumerate(zip(self.models[group], block.said, strict=True))
        placed: dict[str, Any] = {f"{i}": places(of.low, said) for i, (of, said) in models if of.moved}
        return replace(block, beside=placed)

    def _columns(self, group: int, block: Block) -> Floats:
        weight, hit, models = whole_weights(block, self.scale), block.truth == 1, self.models[group]
        x = np.empty((1 + sum(of.pairs for of in models), 2, len(block)))
        x[0, 0], start = weight, 1
        for i, (of, said) in enumerate(zip(models, block.said, strict=True)):
            x[start, 0] = np.where(said >= of.threshold, weight, 0.0)
            if of.moved:
                place: Any = block.beside[f"{i}"] + np.where(hit, 0, len(of.low))
                x[start + 1 : start + of.pairs, 0] = [moved.take(place) * weight for moved in of.moved.values()]
            start += of.pairs
        np.multiply(x[:, 0], ~hit, out=x[:, 1])
        x[:, 0] *= hit
        return x.reshape(-1, len(block))

    def pair(self, group: int, i: int, chosen: Chosen | None = None) -> tuple[int, int]:
        """The two columns of a metric of a system; without one those of the rows that it predicts positive."""
        at = 1 + sum(of.pairs for of in self.models[group][:i])
        at += 0 if chosen is None else 1 + list(self.models[group][i].moved).index(chosen)
        return 2 * at, 2 * at + 1


# What they tell -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SummedRows(OneAgainstRest):
    """Two classes, whose rows were read once or twice. tables: of each group those of every system.

    moments: around 0, of the groups that were read twice; of the others the tables tell everything.
    """

    tables: Mapping[int, Mapping[str, Binned]]
    second: ByColumns
    moments: Mapping[int, Moments] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """How all rows lie."""
        losses = self.counted.moments.get(0)
        return self.layout_of(self.moments.get(0, None if losses is None else losses.moments))

    @property
    def groups(self) -> Collection[int]:
        """Their numbers, 0 of all rows."""
        return self.tables.keys()

    def measure(self, chosen: Chosen, system: str, member: Any) -> Statistic:
        """The metric of a system in a group; a slice is all rows."""
        group, i = 0 if isinstance(member, slice) else member, self.systems.index(system)
        kind: Any = chosen.base.metric.kind
        if chosen in self.first.within:
            at = 2 * (self.first.within.index(chosen) * len(self.systems) + i)
            sides = self.counted.more["within", group].units[at : at + 2]
            return OfUnits(chosen, Sums(*sides), design=Layout.CLUSTERED)
        if chosen.decided:
            return of_system(chosen, self.cells(group), i)
        if kind.totalled:
            return self.loss(chosen, group, i)
        known = group in self.moments and chosen.base in self.second.models[group][i].moved  # else its table tells
        moments, form = self.moments[group] if known else None, self.second.pair(group, i, chosen.base) if known else ()
        return self.area(chosen, self.cells(group), 1, self.tables[group][system], moments, form)

    def cells(self, group: int) -> Group:
        """What the thresholds of all systems decide."""
        if group not in self._cells:
            self._cells[group] = self._group(group)
        return self._cells[group]

    @cached_property
    def _cells(self) -> dict[int, Group]:
        return {}

    def _group(self, group: int) -> Group:
        each, moments = [of_cut(table.cut) for table in self.tables[group].values()], self.moments.get(group)
        layout = self.layout_of(moments)
        if moments is None:
            return Group(2, layout, int(next(iter(self.tables[group].values())).counts.total), each, {})
        own, units = [self.second.pair(group, i) for i in range(len(each))], moments.units
        if not self.plain:
            of = np.zeros((len(each), 2, 2, len(moments.second)))  # by system, what is, and what is said
            for i, pair in enumerate(own):
                for actual, (whole, predicted) in enumerate(zip((1, 0), pair[::-1], strict=True)):
                    of[i, actual, 1, predicted] = of[i, actual, 0, whole] = 1.0
                    of[i, actual, 0, predicted] = -1.0
            flat = of.reshape(-1, len(moments.second))
            by_unit = None if units is None else (flat @ units).T
            return Group(2, layout, moments.n, each, {}, flat @ moments.second @ flat.T, by_unit)
        pairs = {}
        for j in range(len(own)):
            for i in range(j):
                pairs[i, j] = _together(moments.second, own[i], own[j])
        return Group(2, layout, moments.n, each, pairs)


def _together(gram: Floats, first: tuple[int, int], second: tuple[int, int]) -> Cells:
    """Rows that count alike by what is and what two systems say, from the products of their columns."""
    n = []
    for whole, (a, b) in enumerate(zip(first, second, strict=True)):
        both = gram[a, b]
        n += [both, gram[a, a] - both, gram[b, b] - both, gram[whole, whole] - gram[a, a] - gram[b, b] + both]
    rows = np.rint(n)
    said = np.array([1, 1, 0, 0] * 2), np.array([1, 0, 1, 0] * 2)
    return Cells(np.repeat([1, 0], 4), said, rows.astype(np.int64), rows, rows).weighing
