"""Slices: the groups of units that share a value of a column; numbers with many values fall into quarters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, Ints
from evalkit.reading.tables.coded import Coded

MOST = 12
BOUND = re.compile(r"\s*([<>])=?\s*(?=[0-9])")


@dataclass(frozen=True)
class Slice:
    """One group: the column, the value or range that its units share, and which units they are.

    member: their mask, or where the rows are not at hand the number of the group.
    """

    column: str
    label: str
    member: Any


def slices(column: str, values: ArrayLike | Coded, most: int = MOST) -> list[Slice]:
    """The groups of a column of text, in natural order of the value; every unit lies in one of them.

    Numbers with more than `most` distinct values fall into quarters; of more texts the most frequent stay, and the
    rest is one group, so that no unit is left out.

    >>> [(s.label, int(s.member.sum())) for s in slices("digit", ["2", "10", "2"])]
    [('2', 2), ('10', 1)]
    """
    if isinstance(values, Coded):
        names, code = np.array(values.names), values.code
    else:
        names, code = np.unique(np.asarray(values, dtype=object).astype(str), return_inverse=True)
    grouped = groups(names, np.bincount(code, minlength=len(names)), most)
    of = grouped.of[code]
    return [Slice(column, label, of == i) for i, label in enumerate(grouped.labels)]


@dataclass(frozen=True, eq=False)
class Groups:
    """The labels of the groups of a column, and the number of each distinct value's group."""

    labels: list[str]
    of: Ints


def groups(names: np.ndarray, rows: Ints, most: int = MOST) -> Groups:
    """The groups that `slices` makes, from the distinct values in order and how many units have each.

    >>> groups(np.array(["10", "2"]), np.array([1, 2])).labels
    ['2', '10']
    """
    numbers = _numbers(names)
    if len(names) <= most:
        order = np.argsort(numbers, kind="stable") if numbers is not None else natural(names)
        return Groups([str(names[i]) for i in order], np.argsort(order))
    return _quarters(numbers, rows) if numbers is not None else _frequent(names, rows, most)


def of_groups(labels: Mapping[str, Sequence[str]]) -> list[Slice]:
    """The slices of columns whose rows are not at hand, by their numbers: those of one column after the other.

    >>> [(s.column, s.label, s.member) for s in of_groups({"device": ["tv", "web"], "day": ["1"]})]
    [('device', 'tv', 1), ('device', 'web', 2), ('day', '1', 3)]
    """
    named = [(column, label) for column, own in labels.items() for label in own]
    return [Slice(column, label, number) for number, (column, label) in enumerate(named, start=1)]


def natural(names: np.ndarray) -> Ints:
    """The order of texts in which the whole numbers that they hold count as numbers, and "<" and ">" as bounds.

    >>> natural(np.array(["10+", "2-9", "<=2", "week 10", "week 9"])).tolist()
    [2, 1, 0, 4, 3]
    """
    keys = [_natural_key(name) for name in names.tolist()]
    return np.array(sorted(range(len(names)), key=keys.__getitem__), np.int64)


def _natural_key(name: str) -> tuple[list[int | str], int]:
    """The parts of a text with its numbers as numbers; then which side of them it lies on, if it is a bound."""
    bound = BOUND.match(name)
    side = {"<": -1, ">": 1}[bound[1]] if bound else 0
    parts = re.split(r"([0-9]+)", name[bound.end() :] if bound else name)
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], side


def _numbers(names: np.ndarray) -> Floats | None:
    try:
        numbers = np.array([float(name) for name in names])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _quarters(values: Floats, rows: Ints) -> Groups:
    edges = np.unique(np.quantile(values, [0, 0.25, 0.5, 0.75, 1], weights=rows, method="inverted_cdf"))
    place = np.maximum(np.searchsorted(edges, values), 1) - 1
    labels = [f"({low:.15g}, {high:.15g}]" for low, high in pairwise(edges)]
    labels[0] = f"[{edges[0]:.15g}, {edges[1]:.15g}]"
    filled, of = np.unique(place, return_inverse=True)
    return Groups([labels[i] for i in filled], of)


def _frequent(names: np.ndarray, rows: Ints, most: int) -> Groups:
    order = np.argsort(-rows, kind="stable")
    kept, rest = np.sort(order[: most - 1]), order[most - 1 :]
    kept = kept[natural(names[kept])]
    of = np.empty(len(names), dtype=np.int64)
    of[kept], of[rest] = np.arange(len(kept)), len(kept)
    return Groups([*(str(names[i]) for i in kept), f"({len(rest)} other values)"], of)
