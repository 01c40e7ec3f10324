"""The items of the first rows of every list, by number, with their texts: what stands beside the grades."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evalkit.arrays import Ints
from evalkit.metrics.diversity import Items

KEPT = 200_000  # rows of all lists together whose items stay
DEEPEST, SHALLOWEST = 100, 10  # rows of each list that do; with fewer than these none does


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The first `depth` rows of all lists: those of a system after those of another, one list after another.

    items: gives those of each row, as Arrow text. length: rows of each list. Items are copied and numbered when they
    are first asked for.
    """

    items: Callable[[], Any]
    length: Ints
    systems: Sequence[str]
    depth: int

    @cached_property
    def _coded(self) -> Any:
        return self.items().dictionary_encode()

    @property
    def texts(self) -> Any:
        """Each item once, as Arrow text."""
        return self._coded.dictionary

    @cached_property
    def lists(self) -> Mapping[str, Items]:
        """System -> the first rows of its lists, by place in `texts`."""
        item, texts = self._coded.indices.to_numpy().astype(np.int64), self._coded.dictionary
        ends = np.concatenate([[0], np.cumsum(self.length)])
        queries, lists = len(self.length) // len(self.systems), {}
        for i, system in enumerate(self.systems):
            offset = ends[i * queries : (i + 1) * queries + 1]
            lists[system] = Items(item[offset[0] : offset[-1]], offset - offset[0], len(texts))
        return lists

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
