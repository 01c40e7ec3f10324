"""What a study of several classes measures on where rows are not kept: counted cells, sums of losses, binned scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_passes import First, Second
from evalkit.statistics.each_sample import EachCounted, SummedEach
from evalkit.statistics.of_areas import OfArea, OfAreas, Scores
from evalkit.statistics.of_cells import Group, OfCells, of_system
from evalkit.statistics.of_totals import OfTotals
from evalkit.statistics.statistic import Layout


@dataclass(frozen=True, eq=False)
class Counted(EachCounted):
    """What the first reading tells. groups: by number, 0 for all rows."""

    first: First
    groups: Mapping[int, Group]

    def scores(self, group: int, system: int, c: int) -> Scores:
        """The scores of a class."""
        return Scores(self.g.grids[f"{group} {system} {c}"], self.first.scale)

    def each(self, group: int, system: int) -> list[Scores]:
        """The scores of every class."""
        return [self.scores(group, system, c) for c in range(self.first.classes)]

    def top(self, system: int) -> Scores:
        """The scores of the predicted class, right or wrong."""
        return Scores(self.g.grids[f"0 {system} top"], self.first.scale)

    def there(self) -> list[int]:
        """The classes that any row has or any system predicts."""
        cells = [self.first.cells(self.g, 0, i) for i in self.systems]
        return np.unique(np.concatenate([side for c in cells for side in (c.actual, c.said[0])])).tolist()

    def rows(self, group: int) -> np.ndarray:
        """The rows of each class."""
        cells = self.first.cells(self.g, group, 0)
        return np.bincount(cells.actual, cells.n, self.first.classes).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SummedClasses(SummedEach[Counted]):
    """All systems on the same rows, which were read once or twice. outside: a score that is no probability, or ""."""

    second: Second | None
    outside: str

    def derived(self, metric: Metric, system: str, change: Callable[[Rows], Rows]) -> OfCells:
        """A metric of the rows of a system with other things in the place of what is and is said."""
        of = of_system(Chosen(metric), self.counted.groups[0], self.counted.order.index(system))
        return of.of(Chosen(metric), change(of.rows))

    def of_class(self, metric: Metric, system: str, c: int) -> OfArea:
        """A metric of the scores of a class against the rest."""
        return self._area(Chosen(metric), 0, self.counted.order.index(system), c)

    def _of_each(self, chosen: Chosen, group: int, i: int) -> OfCells | OfAreas:
        """A metric of the cells, or a mean over the classes."""
        if chosen.base.metric.kind.decided:
            return of_system(chosen, self.counted.groups[group], i)
        return self._mean(chosen, group, i)

    def _loss(self, chosen: Chosen, group: int, i: int) -> OfTotals:
        assert self.second is not None
        base, plain = chosen.base, self.layout is Layout.SUMMED
        kind: Any = base.metric.kind
        totals, column = self.counted.known(base, group, i), f"{i} {base.label}"
        moments = self._moments(f"{group} losses", self.second.loss_names(group))
        members = int(totals[1]) if plain and isinstance(kind, Loss) else None
        return OfTotals(chosen, moments, self.layout, kind.of_terms(totals), {column: 1.0}, column, members)

    def _area(self, chosen: Chosen, group: int, i: int, c: int) -> OfArea:
        moments: Any = None
        label = chosen.label
        kind: Any = chosen.metric.kind
        if self.second is not None and (group, label) in self.second.areas:
            moments = self._moments(f"{group} {label} areas", self.second.area_names(group, label))
        of = self.counted.groups[group]
        sides = [of.each[0].actual == c, of.each[0].actual != c]
        kish = float(of.n) if self.layout is Layout.SUMMED else min(of.kish(side.astype(float)) for side in sides)
        tables, column = self.counted.scores(group, i, c), f"{i} {c}"
        value = kind.read(kind.source(tables))
        sums: Any = (moments, self.layout, value, {column: 1.0}, column)
        return OfArea(chosen, *sums, tables=tables, size=of.n, kish=kish)

    def _mean(self, chosen: Chosen, group: int, i: int) -> OfAreas:
        kind: Any = chosen.metric.kind
        of, label = self.counted.groups[group], Chosen(kind.of).label
        assert self.second is not None
        cells, plain = of_system(chosen, of, i).rows, self.layout is Layout.SUMMED
        shares: Sequence[float] = [part.share for part in kind.weighed(cells)]
        classes = [self._area(Chosen(kind.of), group, i, c) for c in range(len(shares))]
        moments = self._moments(f"{group} {label} areas", self.second.area_names(group, label))
        strata, systems = None, len(self.counted.order)
        if plain:
            strata = self.g.sums[f"{group} {label} strata"].reshape(-1, systems, systems)
        kish = float(of.n) if plain else of.kish(np.ones(len(of.each[0].weight)))
        columns = [one.column for one in classes]
        known: Any = (chosen, moments, self.layout, shares, classes, columns, i, of.n, kish)
        known += (strata, self.counted.rows(group))
        return OfAreas(*known)
