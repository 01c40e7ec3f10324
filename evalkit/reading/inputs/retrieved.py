"""The items of the first rows of every list, by number, with their texts: what stands beside the grades."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Ints
from evalkit.metrics.diversity import Items

KEPT = 200_000  # rows of all lists together whose items stay
DEEPEST, SHALLOWEST = 100, 10  # rows of each list that do; with fewer than these none does


@dataclass(frozen=True, eq=False)
class Retrieved:
    """texts: each item once, as Arrow text. lists: system -> the first `depth` rows of its lists, by place in texts."""

    texts: Any
    lists: Mapping[str, Items]
    depth: int

    def first(self, system: str, query: int, k: int) -> list[str]:
        """The items of the first k rows, at most `depth`, of a list."""
        lists = self.lists[system]
        start, stop = lists.offset[query : query + 2]
        return self.texts.take(lists.item[start : min(start + k, stop)]).to_pylist()


def depth(lists: int) -> int:
    """How many rows of each of so many lists stay; 0 for too many lists.

    >>> depth(500), depth(4_000), depth(40_000)
    (100, 50, 0)
    """
    rows = min(DEEPEST, KEPT // max(lists, 1))
    return rows if rows >= SHALLOWEST else 0


def stretches(start: Ints, length: Ints) -> Ints:
    """The numbers of each stretch, from its start on, one stretch after another.

    >>> stretches(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(length) - length
    return np.arange(length.sum()) + np.repeat(start - before, length)


def of(texts: Any, length: Ints, systems: Sequence[str], depth: int) -> Retrieved:
    """From the items of all lists, one list after another, all lists of one system after those of another."""
    coded = texts.dictionary_encode()
    item, ends = coded.indices.to_numpy().astype(np.int64), np.concatenate([[0], np.cumsum(length)])
    queries, lists = len(length) // len(systems), {}
    for i, system in enumerate(systems):
        offset = ends[i * queries : (i + 1) * queries + 1]
        lists[system] = Items(item[offset[0] : offset[-1]], offset - offset[0], len(coded.dictionary))
    return Retrieved(coded.dictionary, lists, depth)
