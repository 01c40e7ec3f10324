"""What readings of rows of several classes or labels share: groups, weights, sums of terms, what each row moves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.kinds import Centre
from evalkit.catalogue.metric import Chosen
from evalkit.metrics.rows import Rows, Shard
from evalkit.statistics import passes

SHARED = ("rows", "weight")  # the first columns of each group


def weights(shard: Shard, scale: float | None) -> Floats:
    """The weight of each row."""
    every: Floats = np.ones(len(shard.label))
    return every if shard.weight is None else (shard.weight * (scale or 1.0)).astype(np.float64, copy=False)


def groups(shard: Shard) -> Iterator[tuple[int, Shard, Ints | slice]]:
    """The number of each group that has rows, 0 for all, its rows and where they stand."""
    for group, rows in passes.groups(shard):
        part = shard if isinstance(rows, slice) else shard.at(rows)
        if len(part.label):
            yield group, part, rows


def totals_of(chosen: Chosen, rows: Rows, centre: Centre, weight: Floats) -> Iterator[Floats]:
    """The sums of the terms of a metric that adds up."""
    kind: Any = chosen.metric.kind
    if kind.totalled:
        yield np.array([np.sum(term * weight) for term in kind.terms(rows, chosen.k, centre)])


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
