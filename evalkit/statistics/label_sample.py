"""What a study of several labels measures on where rows are not kept: counted cells, sums, bins of scores."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Floats
from evalkit.catalogue.kinds import Loss, Share
from evalkit.catalogue.metric import Chosen, Metric, Weighted
from evalkit.metrics import cells as tables_of
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import Rows
from evalkit.statistics.each_sample import EachCounted, SummedEach
from evalkit.statistics.label_passes import TWO, First
from evalkit.statistics.label_sums import Second
from evalkit.statistics.of_areas import OfArea, OfLabels, Scores
from evalkit.statistics.of_cells import Group, OfCells, of_system
from evalkit.statistics.of_sums import Form, Moments
from evalkit.statistics.of_totals import OfShared, OfTotals
from evalkit.statistics.statistic import Layout, Statistic

FOUR = Rows(np.array([[1], [1], [0], [0]]) == 1, decision=np.array([[1], [0], [1], [0]]) == 1)


@dataclass(frozen=True, eq=False)
class Decided:
    """The table of a label's scores, and what a threshold decides."""

    counts: Counts
    threshold: float

    @property
    def chances(self) -> Counts:
        """The table whose scores are taken as probabilities."""
        return self.counts

    @cached_property
    def cut(self) -> Counts:
        """The table of what is decided."""
        return tables_of.decision(self.counts, self.threshold)


@dataclass(frozen=True, eq=False)
class Counted(EachCounted):
    """What the first reading tells."""

    first: First

    @property
    def labels(self) -> range:
        """Their numbers."""
        return range(self.first.labels)

    @cached_property
    def _groups(self) -> dict[str, Group]:
        return {}

    def group(self, number: int, of: int | str) -> Group:
        """The cells of a label, or of what is counted by name, in a group of rows."""
        place = f"{number} {of}"
        if place not in self._groups:
            rows = int(self.g.sums[f"{number}"][0])
            sizes: Any = (TWO, len(self.order), rows, self.layout)
            self._groups[place] = self.first.counting.group(self.g, place, *sizes)
        return self._groups[place]

    def scores(self, group: int, label: int, system: int) -> Scores:
        """The scores of a label."""
        return Scores(self.g.grids[f"{group} {label} {system} scores"], self.first.scale)

    def kish(self, group: int) -> float:
        """Kish's number of units, or the number of rows."""
        of = self.group(group, 0)
        return float(of.n) if self.layout is Layout.SUMMED else of.kish(np.ones(len(of.each[0].weight)))

    def of_label(self, metric: Metric, group: int, system: int, label: int, moments: Any = None) -> Any:
        """A metric of one label. moments: of how much rows move the metric of each label, where they are known."""
        kind: Any = metric.kind
        if kind.decided:
            return of_system(Chosen(metric), self.group(group, label), system)
        return self.of_table(metric, group, system, label, moments, self.scores(group, label, system))

    def of_table(
        self, metric: Metric, group: int, system: int, label: int, moments: Any, tables: Any, column: str = ""
    ) -> OfArea:
        """A metric of the table of one label's scores. column: of the moments, by default that of system and label."""
        of, kind, column = self.group(group, label), metric.kind, column or f"{system} {label}"
        sides = [of.each[0].actual == 1, of.each[0].actual == 0]
        plain = self.layout is Layout.SUMMED
        kish = float(of.n) if plain else min(of.kish(side.astype(np.float64)) for side in sides)
        known: Any = kind
        sums: Any = (moments, self.layout, known.read(known.source(tables)), {column: 1.0}, column)
        return OfArea(Chosen(metric), *sums, tables=tables, size=of.n, kish=kish)

    def shares(self, kind: Any, group: int) -> Floats:
        """The share of each label in a mean."""
        if not isinstance(kind, Weighted):
            return np.full(len(self.labels), 1 / len(self.labels))
        positive = [self.group(group, j).each[0] for j in self.labels]
        size = np.array([one.weight[one.actual == 1].sum() for one in positive], float)
        return size / size.sum() if size.any() else size

    def value(self, chosen: Chosen, system: int, group: int = 0) -> float:
        """A metric of a system."""
        kind: Any = chosen.base.metric.kind
        if kind.totalled:
            of = kind.of_terms(self.known(chosen.base, group, system))
            nothing: Any = None
            return OfTotals(chosen, nothing, self.layout, of, {}, "").value
        if isinstance(kind, Share):
            return float(as_hits(chosen, self.group(group, chosen.label), system).value)
        return self.mean(chosen, group, system, None).value

    def mean(self, chosen: Chosen, group: int, system: int, moments: Any, powers: Any = None) -> OfLabels:
        """A mean over the labels; those without a share have no part in it."""
        kind: Any = chosen.metric.kind
        share = self.shares(kind, group)
        weighted = isinstance(kind, Weighted)
        there = [j for j in self.labels if share[j] > 0]
        each = [self.of_label(kind.of, group, system, j, moments) for j in there]
        columns = [f"{system} {j}" for j in there]
        size = self.group(group, 0).n
        moving, shares = f"{system} shares" if weighted else "", share[there].tolist()
        known: Any = (chosen, moments, self.layout, shares, each, columns, system, size, self.kish(group))
        known += (moving, powers or {})
        return OfLabels(*known)


def as_hits(chosen: Chosen, group: Group, system: int) -> OfCells:
    """A share of rows, of which the cells tell whether they count and are hits."""
    metric = chosen.metric
    named: dict[str, Any] = {**vars(metric), "kind": Share(lambda member, hit: (member == 1, hit == 1))}
    return of_system(Chosen(Metric(**named), chosen.k), group, system)


@dataclass(frozen=True, eq=False)
class SummedLabels(SummedEach[Counted]):
    """All systems on the same rows, which were read twice."""

    second: Second

    def _of_each(self, chosen: Chosen, group: int, i: int) -> OfCells | OfLabels:
        """A share of rows, or a mean over the labels."""
        if isinstance(chosen.base.metric.kind, Share):
            return as_hits(chosen, self.counted.group(group, chosen.label), i)
        key = key_of(chosen)
        return self.counted.mean(chosen, group, i, self._of_mean(group, key), self._powers(group, key))

    def of_label(self, metric: Metric, system: str, label: int) -> Statistic:
        """A metric of one label."""
        i, key = self.counted.order.index(system), Chosen(metric).label
        moments = self._of_mean(0, key) if (0, key) in self.second.means else None
        return self.counted.of_label(metric, 0, i, label, moments)

    def share_of_label(self, metric: Metric, system: str, label: int, change: Any) -> OfCells:
        """A metric of the rows of a label with other things in the place of what is and is said."""
        of = of_system(Chosen(metric), self.counted.group(0, label), self.counted.order.index(system))
        return of.of(Chosen(metric), change(of.rows))

    def _loss(self, chosen: Chosen, group: int, i: int) -> OfTotals:
        base, plain = chosen.base, self.layout is Layout.SUMMED
        kind: Any = base.metric.kind
        totals, column = self.counted.known(base, group, i), f"{i} {base.label}"
        moments = self._moments(f"{group} losses", self.second.loss_names(group))
        known: dict[str, Any] = {"chosen": chosen, "moments": moments, "layout": self.layout, "column": column}
        known |= {"of": kind.of_terms(totals), "form": {column: 1.0}}
        if not (plain and isinstance(kind, Loss)):
            return OfTotals(**known)
        pairs = combinations(self.counted.systems, 2)
        sums = self.counted.g.sums
        shared = {(a, b): sums[name] for a, b in pairs if (name := f"{group} {a} {b} {base.label}") in sums}
        return OfShared(**known, members=int(totals[1]), place=i, shared=shared)

    def _of_mean(self, group: int, key: str) -> Moments:
        return self._moments(f"{group} {key} mean", self.second.means[group, key].names)

    def _powers(self, group: int, key: str) -> dict[tuple[int, int], Floats]:
        pairs, sums = combinations(self.counted.systems, 2), self.g.sums
        return {(a, b): sums[name] for a, b in pairs if (name := f"{group} {key} {a} {b}") in sums}

    # Along a threshold

    def swept(self, chosen: Chosen, number: int) -> Statistic:
        """A ratio of sums over all labels, or a mean of F1 over the labels, at one of the thresholds."""
        moments = self._moments(f"swept {number}", self.second.swept_names)
        kind: Any = chosen.metric.kind
        return self._micro(chosen, moments) if kind.totalled else self._macro(chosen, moments, number)

    def _micro(self, chosen: Chosen, moments: Moments) -> OfTotals:
        """From what each of a hit, a miss and a false alarm adds to both sums."""
        kind: Any = chosen.metric.kind
        sides: list[Form] = []
        for hit, missed, false, _ in kind.sides(FOUR):
            sides.append({"hits": hit - missed - false, "predicted": float(false), "true": float(missed)})
        top, bottom = (moments.total(side) for side in sides)
        value = kind.of_terms(np.array([top, bottom]))
        form = {name: (sides[0][name] - value * sides[1][name]) / bottom if bottom else 0.0 for name in sides[0]}
        return OfTotals(chosen, moments, self.layout, value, form, "")

    def _macro(self, chosen: Chosen, moments: Moments, number: int) -> OfLabels:
        kind: Any = chosen.metric.kind
        c, sweep = self.counted, self.second.sweep
        each = []
        for j in c.labels:
            tables = Decided(c.scores(0, j, sweep.system).counts, float(sweep.thresholds[number]))
            each.append(c.of_table(kind.of, 0, sweep.system, j, moments, tables, f"{j}"))
        columns = [f"{j}" for j in c.labels]
        sizes, shares = (sweep.system, c.group(0, 0).n, c.kish(0)), c.shares(kind, 0).tolist()
        known: Any = (chosen, moments, self.layout, shares, each, columns, *sizes)
        known += ("", {})
        return OfLabels(*known)


def key_of(chosen: Chosen) -> str:
    """Under which name the sums of a mean over labels stand: means with fixed shares have those of their metric."""
    kind: Any = chosen.metric.kind
    return chosen.label if isinstance(kind, Weighted) else Chosen(kind.of).label
