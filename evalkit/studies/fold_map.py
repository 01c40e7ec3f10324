"""The map of the folds: where along time, groups or rows each fold tests and where it trains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.metrics.bins import Bins, bin_of, edges_of, of_places

Side = tuple[str, Ints, Ints]  # the name of a fold, its test rows and its training rows


def places(rows: int, time: Floats | None, group: np.ndarray | None, tests: Sequence[Ints]) -> Floats:
    """The place of each row: its time, the place of its group in the order of the folds that test it, or its number."""
    if time is not None:
        return time
    if group is None:
        return np.arange(rows, dtype=float)
    first = np.full(rows, len(tests))
    for i, test in reversed(list(enumerate(tests))):
        first[test] = i
    names, code = np.unique(group, return_inverse=True)
    tested = np.full(names.size, len(tests))
    np.minimum.at(tested, code, first)
    rank = np.empty(names.size)
    rank[np.lexsort((np.arange(names.size), tested))] = np.arange(names.size)
    return rank[code]


def of_rows(place: Floats, sides: Sequence[Side], most: int, *, axis: str) -> pd.DataFrame:
    """Neighbouring bins of one kind, fold by fold: fold, kind, start, width."""
    last = place.max() + (0 if axis == "time" else 1)
    edges = edges_of(place.min(), last, most, np.unique(place).size)
    part = bin_of(place, edges)
    exact = place if axis != "row" else part.astype(float)  # rows of a table have no order to keep

    def within(rows: Ints) -> Bins:
        return of_places(part[rows], exact[rows], len(edges) - 1)

    return drawn([(name, within(test), within(train)) for name, test, train in sides], edges)


def drawn(sides: Sequence[tuple[str, Bins, Bins]], edges: Floats) -> pd.DataFrame:
    """Neighbouring bins of one kind, from the bins of the test rows and of the training rows of each fold."""
    rows, bins = [], len(edges) - 1
    for name, test, train in sides:
        kind = _kinds(test, train)
        cuts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1]))
        ends = np.append(cuts[1:], bins)
        rows += [(name, kind[a], edges[a], edges[b] - edges[a]) for a, b in zip(cuts, ends, strict=True) if kind[a]]
    return pd.DataFrame(rows, columns=["fold", "kind", "start", "width"])


def _kinds(test: Bins, train: Bins) -> np.ndarray:
    """What each bin holds; both only where test and training rows lie between each other, else what it has more of."""
    mixed = (train.high >= test.low) & (test.high >= train.low)  # else the bin is only too wide to part them
    tests, trains = test.count > 0, train.count > 0
    more = np.where(test.count >= train.count, "test", "training")
    return np.where(tests & trains, np.where(mixed, "both", more), np.select([tests, trains], ["test", "training"], ""))
