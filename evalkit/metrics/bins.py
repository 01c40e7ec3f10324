"""Places in equal bins: the rows of each, and the lowest and the highest place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from evalkit.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Bins:
    """What falls into each bin: rows, and the lowest and the highest place."""

    count: Ints
    low: Floats
    high: Floats

    def __add__(self, other: Bins) -> Bins:
        return Bins(self.count + other.count, np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def edges_of(low: float, high: float, most: int, distinct: int) -> Floats:
    """The edges of bins of places between two, at most so many and no more than there are distinct places.

    >>> edges_of(0.0, 4.0, 120, 2).tolist()
    [0.0, 2.0, 4.0]
    """
    return np.linspace(low, high, min(most, distinct) + 1)


def bin_of(place: Floats, edges: Floats) -> Ints:
    """The bin of each place; the last one holds its upper edge.

    >>> bin_of(np.array([0.0, 2.0, 4.0]), np.array([0.0, 2.0, 4.0])).tolist()
    [0, 1, 1]
    """
    return np.clip(np.searchsorted(edges, place, side="right") - 1, 0, len(edges) - 2)


def of_places(part: Ints, place: Floats, bins: int) -> Bins:
    """The bins of rows. part: of each its bin."""
    low, high = np.full(bins, np.inf), np.full(bins, -np.inf)
    np.minimum.at(low, part, place)
    np.maximum.at(high, part, place)
    return Bins(np.bincount(part, minlength=bins), low, high)


def together(parts: Sequence[Bins], bins: int) -> Bins:
    """All of them as one."""
    nothing = Bins(np.zeros(bins, np.int64), np.full(bins, np.inf), np.full(bins, -np.inf))
    return reduce(Bins.__add__, parts, nothing)
