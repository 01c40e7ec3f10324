"""Slices: the groups of units that share a value of a column; numbers with many values fall into quarters."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Bools, Floats

MOST = 12


@dataclass(frozen=True)
class Slice:
    """One group: the column, the value or range that its units share, and which units they are."""

    column: str
    label: str
    member: Bools


def slices(column: str, values: ArrayLike, most: int = MOST) -> list[Slice]:
    """The groups of a column of text, in order of the value; every unit lies in one of them.

    Numbers with more than `most` distinct values fall into quarters; of more texts the most frequent stay, and the
    rest is one group, so that no unit is left out.

    >>> [(s.label, int(s.member.sum())) for s in slices("digit", ["2", "10", "2"])]
    [('2', 2), ('10', 1)]
    """
    texts = np.asarray(values, dtype=object).astype(str)
    names, code = np.unique(texts, return_inverse=True)
    numbers = _numbers(names)
    if len(names) <= most:
        order = np.argsort(numbers, kind="stable") if numbers is not None else np.arange(len(names))
        return [Slice(column, str(names[i]), code == i) for i in order]
    return _quarters(column, numbers[code]) if numbers is not None else _frequent(column, names, code, most)


def _numbers(names: np.ndarray) -> Floats | None:
    try:
        found = np.array([float(name) for name in names])
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def _quarters(column: str, values: Floats) -> list[Slice]:
    edges = np.unique(np.quantile(values, [0, 0.25, 0.5, 0.75, 1], method="inverted_cdf"))
    place = np.maximum(np.searchsorted(edges, values), 1)
    bounds = pairwise(edges)
    found = [(f"({low:.15g}, {high:.15g}]", place == i) for i, (low, high) in enumerate(bounds, start=1)]
    found[0] = (f"[{edges[0]:.15g}, {edges[1]:.15g}]", found[0][1])
    return [Slice(column, label, member) for label, member in found if member.any()]


def _frequent(column: str, names: np.ndarray, code: np.ndarray, most: int) -> list[Slice]:
    order = np.argsort(-np.bincount(code), kind="stable")
    kept, rest = np.sort(order[: most - 1]), order[most - 1 :]
    found = [Slice(column, str(names[i]), code == i) for i in kept]
    return [*found, Slice(column, f"({len(rest)} other values)", np.isin(code, rest))]
