"""The first reading of rows of several labels, each shard by itself: counted cells of each label, sums, bins of scores.

Names of what is gathered: the group, then the label or what is counted, then the system by its number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.kinds import Loss
from evalkit.catalogue.metric import Chosen
from evalkit.limits import USUAL
from evalkit.metrics import grid
from evalkit.metrics.rows import Rows, Shard
from evalkit.statistics.cell_passes import Counting, Said
from evalkit.statistics.forecast_passes import groups, weights
from evalkit.statistics.gathered import Gathered, Pass

Hits = Callable[[Rows], tuple[Bools, Bools]]  # which rows count, and which of these are hits
FACTS = "facts"
NOWHERE = (0.0, 0.0)  # losses of labels do not depend on a centre
TWO = 2  # what a label or a hit can be
CODED = 52  # labels up to which those of a row are one whole number


def rows_of(shard: Shard, system: int, cuts: Floats) -> Rows:
    """What is, and what a system says of it. cuts: the threshold of each label."""
    return Rows(shard.label, shard.score[system], cuts)


@dataclass(frozen=True, eq=False)
class First(Pass):
    """Counted cells of each label, what losses add up to, and bins of the scores of each label.

    cuts: of each system the threshold of each label. losses, sliced: of all rows, and of each slice. hits, sliced_hits:
    shares of rows by name, likewise. cells, ranked: whether the decisions and the scores of a slice are counted.
    plain: rows count alike. room, fewer: bins of the scores of a label, and of those in a slice.
    """

    labels: int
    cuts: Sequence[Floats]
    losses: Sequence[Chosen]
    sliced: Sequence[Chosen]
    hits: Mapping[str, Hits]
    sliced_hits: Mapping[str, Hits]
    cells: bool
    ranked: bool
    counting: Counting
    plain: bool
    room: int = USUAL.bins
    fewer: int = USUAL.slice_bins

    @property
    def scale(self) -> float | None:
        """What weights are counted in."""
        return self.counting.scale

    def __call__(self, shard: Shard) -> Any:
        """The result of a shard."""
        g, weight = Gathered(), weights(shard, self.scale)
        g.sums[FACTS] = np.array([len(shard.label), shard.twice, shard.differ], float)
        for group, part, rows in groups(shard):
            every = [rows_of(part, i, cuts) for i, cuts in enumerate(self.cuts)]
            some = weight[rows]
            g.sums[f"{group}"] = np.array([len(some), some.sum(), np.sum(some * some)])
            self._losses(g, group, every, some)
            for name, of in (self.sliced_hits if group else self.hits).items():
                members, hits = zip(*map(of, every), strict=True)
                self._counted(g, f"{group} {name}", part, members[0], hits)
            if self.cells or not group:
                for j in range(self.labels):
                    said = [own.predicted[:, j] for own in every]
                    self._counted(g, f"{group} {j}", part, part.label[:, j], said)
            if self.ranked or not group:
                self._scores(g, group, part)
            if not group:
                self._whole(g, part, some)
        return g.table()

    def _counted(self, g: Gathered, place: str, part: Shard, actual: Bools, said: Sequence[Bools]) -> None:
        columns = [column.astype(np.int64) for column in said]
        rows = Said(TWO, actual.astype(np.int64), columns, part.weight, part.unit, part.units)
        self.counting.add(g, place, rows)

    def _losses(self, g: Gathered, group: int, every: Sequence[Rows], weight: Floats) -> None:
        """What the terms of losses add up to; of rows that count alike also the differences of every two systems."""
        for chosen in self.sliced if group else self.losses:
            kind: Any = chosen.metric.kind
            terms = [kind.terms(rows, chosen.k, NOWHERE) for rows in every]
            for i, own in enumerate(terms):
                g.sums[f"{group} {i} {chosen.label}"] = np.array([np.sum(term * weight) for term in own])
            if self.plain and isinstance(kind, Loss):
                for i, j in combinations(range(len(terms)), 2):
                    g.sums[f"{group} {i} {j} {chosen.label}"] = _shared(terms[i], terms[j])

    def _scores(self, g: Gathered, group: int, part: Shard) -> None:
        """The bins of the scores of each label, its rows as positives."""
        most = self.fewer if group else self.room
        for i, score in enumerate(part.score):
            for j in range(self.labels):
                name, column = f"{group} {j} {i} scores", score[:, j].copy()
                g.grids[name] = grid.reduce(column, part.label[:, j], part.weight, most=most)

    def _whole(self, g: Gathered, part: Shard, weight: Floats) -> None:
        """Mean scores, rows without a label, and which labels come together; where rows have weights, all scores."""
        g.sums["none"] = np.array([weight @ ~part.label.any(axis=1)])
        for i, score in enumerate(part.score):
            g.sums[f"{i} mean"] = weight @ score
            if part.weight is not None:
                g.grids[f"0 {i} every"] = grid.tally(score.ravel(), most=self.room)
        if self.labels <= CODED:
            code = part.label @ 2.0 ** np.arange(self.labels)
            g.grids["0 patterns"] = grid.tally(code, part.weight, most=self.counting.bins)

    def most(self, name: str) -> int:
        """The bins of a name."""
        if name.rsplit(" ", 1)[1] in ("cells", "squares", "patterns"):
            return self.counting.bins
        return self.room if name.startswith("0 ") else self.fewer


def _shared(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    """Rows with a loss of both systems, their differences and the squares of these added up."""
    both = first[1] * second[1]
    apart = (first[0] - second[0]) * both
    return np.array([both.sum(), apart.sum(), apart @ apart])


def patterns(code: Ints, labels: int) -> Bools:
    """Which labels are true, one row a code."""
    return (code[:, None] >> np.arange(labels)) & 1 == 1
