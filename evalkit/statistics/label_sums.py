"""The second reading of rows of several labels, each shard by itself: how much each row moves what is not only counted.

That is losses, means over the labels, and both along a moving threshold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics.rows import Shard
from evalkit.statistics.binned_scores import places
from evalkit.statistics.forecast_passes import SHARED, Moved, groups, weights
from evalkit.statistics.gathered import Gathered, Pass, Summing
from evalkit.statistics.label_passes import rows_of
from evalkit.statistics.of_areas import Ranked

SWEPT = (*SHARED, "hits", "predicted", "true")  # the first columns at a threshold


class OfLabel(Protocol):
    """How much a row moves a metric of one label."""

    def column(self, actual: Bools, decided: Bools, score: Floats) -> Floats:
        """Of rows of weight 1: whether the label is true, whether it is predicted, and its score."""


@dataclass(frozen=True, eq=False)
class ByCell:
    """Of what is decided: moved by 2 · true + predicted."""

    moved: Floats

    def column(self, actual: Bools, decided: Bools, score: Floats) -> Floats:
        """How much each row of weight 1 moves the metric."""
        return self.moved.take(2 * actual.astype(np.int8) + decided)


@dataclass(frozen=True, eq=False)
class ByScore:
    """Of the order of the scores."""

    ranked: Ranked

    def column(self, actual: Bools, decided: Bools, score: Floats) -> Floats:
        """How much each row of weight 1 moves the metric."""
        low = self.ranked.low
        return self.ranked.moved.take(places(low, np.ascontiguousarray(score)) + np.where(actual, 0, len(low)))


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean of a metric over the labels, of each system: of each label how much rows move its metric.

    shares: of each system the share of each label in the mean; moving: how much a row with the label moves the mean
    through the shares, None where these are fixed. picked: of every two systems, by label and 4 · true + 2 · what the
    first predicts + what the second does, how much a row moves the difference, where both pick their rows.
    """

    systems: Sequence[Sequence[OfLabel]]
    shares: Sequence[Floats]
    moving: Sequence[Floats] | None
    picked: Mapping[tuple[int, int], Floats]

    @property
    def names(self) -> list[str]:
        """What stands in the columns: each system's labels, then its shares."""
        systems = range(len(self.systems))
        each = [f"{i} {j}" for i in systems for j in range(len(self.shares[0]))]
        return [*SHARED, *each, *([] if self.moving is None else [f"{i} shares" for i in systems])]


@dataclass(frozen=True, eq=False)
class Sweep:
    """The metrics of one system along a threshold for all labels. f1: of each threshold by label."""

    system: int
    thresholds: Floats
    f1: Sequence[Sequence[ByCell]]


@dataclass(frozen=True, eq=False)
class Second(Pass):
    """Sums, products and cubes of how much rows move metrics, by row or by unit, of every group.

    losses: of each group the losses of each system. means: by group and metric. plain: rows count alike, and the fourth
    powers of what moves the difference of two systems' means are added up as well.
    """

    cuts: Sequence[Floats]
    losses: Mapping[int, Sequence[Sequence[Moved]]]
    means: Mapping[tuple[int, str], Mean]
    sweep: Sweep
    scale: float | None
    plain: bool
    apart: bool

    def loss_names(self, group: int) -> list[str]:
        """What stands in the columns of the losses of a group."""
        moved = enumerate(self.losses[group])
        return [*SHARED, *(f"{i} {one.chosen.label}" for i, metrics in moved for one in metrics)]

    @property
    def swept_names(self) -> list[str]:
        """What stands in the columns at a threshold."""
        return [*SWEPT, *(f"{j}" for j in range(len(self.cuts[0])))]

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        if not any(self.losses) and not any(group for group, _ in self.means):
            shard = replace(shard, slice=[], slices=[])  # no slice needs a second reading
        g, weight = Gathered(), weights(shard, self.scale)
        summing = Summing(shard.unit, shard.units, self.apart)
        for group, part, rows in groups(shard):
            some = weight[rows]
            if group in self.losses:
                columns = _Losses(part, some, self.losses[group], self.cuts)
                g.sums[f"{group} losses"] = summing(columns, len(self.loss_names(group)), part.unit)
            for (at, label), mean in self.means.items():
                if at == group:
                    self._mean(g, f"{group} {label}", _Means(part, some, mean, self.cuts), summing)
        if len(shard.label):
            self._swept(g, shard, weight, summing)
        return g.table()

    def _mean(self, g: Gathered, place: str, columns: "_Means", summing: Summing) -> None:
        """The sums of a mean over the labels."""
        powers: dict[str, Floats] = {}

        def by_pair(at: slice, x: Floats) -> None:
            for name, moved in columns.differences(at, x):
                square = moved * moved
                powers[name] = powers.get(name, 0) + np.array([square.sum(), square @ square])

        also = by_pair if self.plain else None
        g.sums[f"{place} mean"] = summing(columns, len(columns.mean.names), columns.part.unit, also)
        g.sums.update({f"{place} {name}": sums for name, sums in powers.items()})

    def _swept(self, g: Gathered, shard: Shard, weight: Floats, summing: Summing) -> None:
        """What moves at each threshold."""
        actual = np.ascontiguousarray(shard.label.T)
        score, true = np.ascontiguousarray(shard.score[self.sweep.system].T), shard.label.sum(axis=1)
        for number, (threshold, f1) in enumerate(zip(self.sweep.thresholds, self.sweep.f1, strict=True)):
            columns = _Swept(actual, score, true, weight, float(threshold), f1)
            g.sums[f"swept {number}"] = summing(columns, len(self.swept_names), shard.unit)


@dataclass(frozen=True, eq=False)
class _Losses:
    """The columns of the losses of a group's rows."""

    part: Shard
    weight: Floats
    systems: Sequence[Sequence[Moved]]
    cuts: Sequence[Floats]

    def __len__(self) -> int:
        return len(self.weight)

    def __call__(self, at: slice) -> Floats:
        block, weight = self.part.at(at), self.weight[at]
        columns = [np.ones(len(weight)), weight]
        for i, metrics in enumerate(self.systems):
            rows = rows_of(block, i, self.cuts[i])
            columns += [one.column(rows) * weight for one in metrics]
        return np.array(columns)


@dataclass(frozen=True, eq=False)
class _Means:
    """The columns of a mean over the labels of a group's rows."""

    part: Shard
    weight: Floats
    mean: Mean
    cuts: Sequence[Floats]

    def __len__(self) -> int:
        return len(self.weight)

    def __call__(self, at: slice) -> Floats:
        label, weight = self.part.label[at], self.weight[at]
        columns = [np.ones(len(weight)), weight]
        for score, cuts, labels in zip(self.part.score, self.cuts, self.mean.systems, strict=True):
            for j, of in enumerate(labels):
                own = score[at, j]
                columns.append(of.column(label[:, j], own >= cuts[j], own) * weight)
        columns += [label @ moving * weight for moving in self.mean.moving or ()]
        return np.array(columns)

    def differences(self, at: slice, x: Floats) -> list[tuple[str, Floats]]:
        """How much each of the rows moves the difference of every two systems' means."""
        systems = range(len(self.mean.systems))
        moved = [self._moved(i, x) for i in systems]
        pairs = [(i, j) for j in systems for i in range(j)]
        return [(f"{i} {j}", self._picked(at, i, j) if self.mean.picked else moved[i] - moved[j]) for i, j in pairs]

    def _moved(self, system: int, x: Floats) -> Floats:
        """How much each row moves the mean of a system."""
        shares, k = self.mean.shares[system], len(self.mean.shares[system])
        first = len(SHARED) + system * k
        whole = shares @ x[first : first + k]
        return whole if self.mean.moving is None else whole + x[len(SHARED) + len(self.mean.systems) * k + system]

    def _picked(self, at: slice, i: int, j: int) -> Floats:
        label, moved = self.part.label[at], np.zeros(len(self.weight[at]))
        for c, of in enumerate(self.mean.picked[i, j]):
            first, second = (self.part.score[s][at, c] >= self.cuts[s][c] for s in (i, j))
            moved += of.take(_cell(label[:, c], first, second))
        return moved


def _cell(actual: Bools, first: Bools, second: Bools) -> Ints:
    return 4 * actual.astype(np.int64) + 2 * first + second


@dataclass(frozen=True, eq=False)
class _Swept:
    """The columns at a threshold. actual, score: one row a label. true: how many labels each row has."""

    actual: Bools
    score: Floats
    true: Ints
    weight: Floats
    threshold: float
    f1: Sequence[ByCell]

    def __len__(self) -> int:
        return len(self.weight)

    def __call__(self, at: slice) -> Floats:
        actual, weight = self.actual[:, at], self.weight[at]
        decided = self.score[:, at] >= self.threshold
        columns = np.empty((len(SWEPT) + len(self.f1), len(weight)))
        columns[0] = 1.0
        columns[1] = weight
        columns[2] = (actual & decided).sum(axis=0, dtype=np.int16)
        columns[3] = decided.sum(axis=0, dtype=np.int16)
        columns[4] = self.true[at]
        cell = 2 * actual.view(np.int8) + decided
        for j, of in enumerate(self.f1):
            of.moved.take(cell[j], out=columns[len(SWEPT) + j])
        columns[2:] *= weight
        return columns
