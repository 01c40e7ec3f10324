"""The two readings of rows of several labels, block by block: what is kept of each.

Each label is a problem of two classes on the same rows. The first reading counts the cells of each and bins of its
scores, and adds up losses; the second adds up how much each row moves means over the labels, and all along a threshold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import grid, kept
from evalkit.metrics.block import Block
from evalkit.metrics.kept import Bundle, Distinct, Parted, Tally, Total
from evalkit.metrics.rows import Rows
from evalkit.statistics.class_areas import Ranked
from evalkit.statistics.class_cells import CellCounts, Counting
from evalkit.statistics.several_classes import SHARED, whole_weights
from evalkit.statistics.summed import Terms

SWEPT = (*SHARED, "hits", "predicted", "true")  # the first columns at a threshold
CODED = 52  # labels up to which those of a row are one whole number
Hits = Callable[[Rows], tuple[Bools, Bools]]  # which rows count, and which of these are hits
Place = tuple[int, str]  # a group and a metric


# The first reading ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counted(Bundle):
    """What the first reading keeps; groups, systems and labels are numbers.

    cells: by group of each label, and of shares of rows by name. moments: of the terms of losses. scores: of each label
    by group and system, its rows as positives. every: where rows have weights, the scores of all labels, each once.
    sets: which labels rows have together, as whole numbers; none of too many labels. facts: rows, and the weight of
    those without a label.
    """

    cells: dict[tuple[int, int | str], CellCounts]
    moments: dict[int, kept.Moments | Parted]
    scores: dict[tuple[int, int, int], Tally]
    every: dict[int, Tally]
    sets: tuple[Tally, ...]
    facts: Total
    ids: Distinct


def labelled(block: Block, labels: int) -> Block:
    """The block with a row for each label, true or not, and of each system a table of one row a label."""
    said = block.said.reshape(-1, labels, len(block))
    return replace(block, truth=block.truth.reshape(labels, -1) == 1, said=said)


def rows_of(block: Block, system: int, cuts: Sequence[Floats]) -> Rows:
    """What is, and what a system says of it; its weights are those of the block. cuts: of each the thresholds."""
    return Rows(block.truth.T, block.said[system].T, cuts[system], beside=block.beside)


@dataclass(frozen=True, eq=False)
class ByLabel:
    """What the first reading counts. cuts: of each system the threshold of each label.

    counting: of cells. terms: of losses. hits, sliced_hits: shares of rows by name, of all rows and of each slice.
    sliced, decided, ranked: whether losses, cells and scores are also counted of slices. room, fewer: bins of the
    scores of a label, and of those in a slice. bins: of which labels come together. ids: that are looked through.
    """

    cuts: Sequence[Floats]
    counting: Counting
    terms: Terms
    hits: Mapping[str, Hits]
    sliced_hits: Mapping[str, Hits]
    sliced: bool
    decided: bool
    ranked: bool
    room: int
    fewer: int
    bins: int
    ids: int

    @property
    def labels(self) -> int:
        """How many there are."""
        return len(self.cuts[0])

    def __call__(self, block: Block) -> Counted:
        """What is kept of a block."""
        block, systems = labelled(block, self.labels), range(len(self.cuts))
        weight, none = self.counting.weights(block), ~block.truth.any(axis=0)
        counted, moments, scores = {}, {}, {}
        for group, part in block.groups():
            some = self.counting.weights(part)
            for name, actual, said in self._problems(part, group):
                counted[group, name] = self.counting(part, actual.astype(np.int64), said.astype(np.int64), some)
            if self.terms.metrics and (self.sliced or not group):
                moments[group] = self.terms.moments(part, group)
            if self.ranked or not group:
                most = self.fewer if group else self.room
                for i, j in np.ndindex(len(systems), self.labels):
                    bins = grid.reduce(part.said[i, j], np.asarray(part.truth[j], bool), some, most=most)
                    scores[group, i, j] = Tally(most, (bins,))
        every = systems if weight is not None else ()
        return Counted(
            cells=counted,
            moments=moments,
            scores=scores,
            every={i: Tally(self.room, (grid.tally(block.said[i].ravel(), most=self.room),)) for i in every},
            sets=self._sets(block, weight),
            facts=Total(np.array([len(block), none.sum() if weight is None else weight[none].sum()])),
            ids=Distinct.of(np.empty(0) if block.id is None else block.id, self.ids),
        )

    def _problems(self, part: Block, group: int) -> Any:
        """The label or the name of what is counted, what is, and what each system says of it."""
        if self.decided or not group:
            for j in range(self.labels):
                yield j, part.truth[j], np.array([part.said[i, j] >= cut[j] for i, cut in enumerate(self.cuts)])
        rows = [rows_of(part, i, self.cuts) for i in range(len(self.cuts))]
        for name, of in (self.sliced_hits if group else self.hits).items():
            members, hits = zip(*map(of, rows), strict=True)
            yield name, members[0], np.array(hits)

    def _sets(self, block: Block, weight: Ints | None) -> tuple[Tally, ...]:
        if self.labels > CODED:
            return ()
        code = 2.0 ** np.arange(self.labels) @ block.truth
        return (Tally(self.bins, (grid.tally(code, weight, most=self.bins),)),)


# The second reading ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cut:
    """How much a row moves a metric of what a threshold decides of a label: by 2 · true + predicted."""

    at: float
    moved: Floats

    def places(self, actual: Bools, score: Floats) -> Ints:
        """Where among what moves it each row stands."""
        return 2 * actual.astype(np.int64) + (score >= self.at)


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean of a metric over the labels, of each system: of each label how much rows move its metric.

    shares: of each label in the mean; moving: of each system how much a row with the label moves the mean through the
    shares, nothing where these are fixed. picked: of every two systems that pick their rows, by label and 4 · true +
    2 · what the first predicts + what the second does, how much a row moves the difference.
    """

    of: Sequence[Sequence[Ranked | Cut]]
    shares: Floats
    moving: Sequence[Floats]
    picked: Mapping[tuple[int, int], Floats]

    @property
    def names(self) -> list[str]:
        """What stands in the columns: each system's labels, then its shares."""
        each = [f"{i} {j}" for i, own in enumerate(self.of) for j in range(len(own))]
        return [*SHARED, *each, *(f"{i} shares" for i in range(len(self.moving)))]

    def placed(self, part: Block) -> Block:
        """The block with the place of each score among what moves its label, in the place of the score."""
        at = [
            [one.places(part.truth[j], part.said[i, j]) for j, one in enumerate(own)] for i, own in enumerate(self.of)
        ]
        return replace(part, said=np.array(at))

    def columns(self, block: Block, weight: Floats) -> Floats:
        """How much each row of a block so placed moves the mean."""
        every = (one.moved.take(place) for own, said in zip(self.of, block.said, strict=True)
                 for one, place in zip(own, said, strict=True))  # fmt: skip
        x = np.empty((len(self.names), len(block)))
        x[0], x[1] = 1.0, weight
        for row, moved in zip(x[len(SHARED) :], [*every, *(of @ block.truth for of in self.moving)], strict=True):
            np.multiply(moved, weight, out=row)
        return x

    def powers(self, block: Block, x: Floats) -> Floats:
        """Of every two systems the sums of the squares and fourth powers of what moves the difference."""
        k, n = len(self.shares), len(self.of)
        moved = np.tensordot(self.shares, x[len(SHARED) : len(SHARED) + n * k].reshape(n, k, -1), (0, 1))
        moved += x[len(SHARED) + n * k :] if self.moving else 0.0
        powers = []
        for i, j in combinations(range(n), 2):
            apart = moved[i] - moved[j]
            if self.picked:
                a, b = block.said[i], block.said[j]
                apart = np.sum(
                    [of.take(2 * p + q % 2) for of, p, q in zip(self.picked[i, j], a, b, strict=True)], axis=0
                )
            square = apart * apart
            powers.append([square.sum(), square @ square])
        return np.array(powers).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Sweep:
    """The metrics of one system along a threshold for all labels. f1: of each threshold by label."""

    system: int
    thresholds: Floats
    f1: Sequence[Sequence[Floats]]

    @property
    def names(self) -> list[str]:
        """What stands in the columns."""
        return [*SWEPT, *map(str, range(len(self.f1[0])))]

    def columns(self, block: Block, weight: Floats, number: int) -> Floats:
        """How much each row moves what is measured at a threshold."""
        decided, x = block.said[self.system] >= self.thresholds[number], np.empty((len(self.names), len(block)))
        x[0], x[1] = 1.0, weight
        x[2] = (block.truth & decided).sum(axis=0, dtype=np.int16)
        x[3] = decided.sum(axis=0, dtype=np.int16)
        x[4] = block.truth.sum(axis=0, dtype=np.int16)
        cell = 2 * block.truth.view(np.int8) + decided
        for j, moved in enumerate(self.f1[number]):
            moved.take(cell[j], out=x[len(SWEPT) + j])
        x[2:] *= weight
        return x


@dataclass(frozen=True, eq=False)
class Moved(Bundle):
    """What the second reading keeps.

    means: of each group and metric moments of how much rows move a mean; powers: of rows that count alike. swept: at
    each threshold. off: how far scores lie above. shared: of each group and loss that leaves rows out, of every two
    systems the rows that both have, and the sums of the differences and of their squares.
    """

    means: dict[Place, kept.Moments | Parted]
    powers: dict[Place, Total]
    swept: dict[int, kept.Moments | Parted]
    off: tuple[kept.Moments | Parted, ...]
    shared: dict[Place, Total]


@dataclass(frozen=True, eq=False)
class ByMoves:
    """How much each row moves what is not only counted. plain: rows count alike. means: by group and metric.

    off: of the system whose metrics are swept. shared: losses that leave rows out, by group and metric.
    """

    cuts: Sequence[Floats]
    scale: float | None
    plain: bool
    means: Mapping[Place, Mean]
    sweep: Sweep
    off: Terms | None
    shared: Mapping[Place, Chosen]

    def __call__(self, block: Block) -> Moved:
        """What is kept of a block."""
        block = labelled(block, len(self.cuts[0]))
        means: dict[Place, kept.Moments | Parted] = {}
        powers: dict[Place, Total] = {}
        shared: dict[Place, Total] = {}
        groups = {group for group, _ in [*self.means, *self.shared]}
        for group, part in (one for one in block.groups() if one[0] in groups) if any(groups) else [(0, block)]:
            for at in (at for at in self.means if at[0] == group):
                means[at], sums = self._mean(part, self.means[at])
                powers |= {at: Total(sums)} if self.plain else {}
            shared |= {at: self._shared(part, of) for at, of in self.shared.items() if at[0] == group}
        sweep, moments = self.sweep, (Parted if block.parted else kept.Moments).of
        alone = replace(block, said=block.said[sweep.system : sweep.system + 1])

        def at_step(number: int) -> kept.Moments | Parted:
            return moments(block, lambda some: sweep.columns(some, self._weights(some), number), 0)

        swept = {number: at_step(number) for number in range(len(sweep.thresholds))}
        return Moved(means, powers, swept, (self.off.moments(alone, 0),) if self.off else (), shared)

    def _weights(self, block: Block) -> Floats:
        return whole_weights(block, self.scale)

    def _mean(self, part: Block, mean: Mean) -> tuple[kept.Moments | Parted, Floats]:
        """The moments of what moves a mean; of rows that count alike also the powers of differences."""
        powers = np.zeros((len(mean.of) * (len(mean.of) - 1) // 2, 2))

        def columns(some: Block) -> Floats:
            x = mean.columns(some, self._weights(some))
            if self.plain:
                powers[:] += mean.powers(some, x)
            return x

        return (Parted if part.parted else kept.Moments).of(mean.placed(part), columns, 0), powers

    def _shared(self, part: Block, chosen: Chosen) -> Total:
        kind: Any = chosen.metric.kind
        terms = [kind.terms(rows_of(part, i, self.cuts), chosen.k, (0.0, 0.0)) for i in range(len(self.cuts))]
        sums = []
        for (first, size), (second, other) in combinations(terms, 2):
            both = size * other
            apart = (first - second) * both
            sums.append([both.sum(), apart.sum(), apart @ apart])
        return Total(np.array(sums).reshape(-1, 3))
