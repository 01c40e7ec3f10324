"""What the function of an own metric is computed from: rows, ranked lists, interleaved users, a table of users."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Floats
from evalkit.catalogue.kinds import Kind, Loss, PerUnit, Ratio, RatioOfRows
from evalkit.catalogue.own_functions import Function
from evalkit.catalogue.preferences import Side
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums
from evalkit.parameters.kinds import did_you_mean


class Input(ABC):
    """What a function can be computed from: the arguments that it may take, and which metrics can be made of it.

    unit: what has one number. structures: the tables of the catalogue. reads: each argument from the structure.
    """

    unit: ClassVar[str]
    structures: ClassVar[tuple[str, ...]]
    reads: ClassVar[Mapping[str, Callable[[Any], Any]]]
    cut: ClassVar[str] = "never"

    def values(self, structure: Any, function: Function) -> dict[str, Any]:
        """The arguments of a function."""
        return {name: self.reads[name](structure) for name in function.arguments}

    def further(self, name: str) -> bool:
        """Whether an argument can be a further column of the input."""
        return False

    @abstractmethod
    def mean(self, function: Function) -> Kind:
        """The mean of one number per unit."""

    @abstractmethod
    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums of two numbers per unit."""


class OfRows(Input):
    """Rows of predictions: arrays with one element per row. Any other argument is a column of numbers of the input."""

    unit = "row"
    structures = ("counts", "classes", "labels", "forecasts")
    reads: ClassVar = {
        "label": attrgetter("actual"),
        "actual": attrgetter("actual"),
        "score": attrgetter("scores"),
        "forecast": attrgetter("scores"),
        "predicted": attrgetter("predicted"),
    }

    def further(self, name: str) -> bool:
        """Whether a column can have this name."""
        return name.isidentifier()

    def values(self, structure: Rows, function: Function) -> dict[str, Any]:
        """The arguments of a function. Raises ParameterError for a column that a report does not read."""
        if missing := [name for name in function.columns if name not in structure.beside]:
            near = did_you_mean(missing[0], self.reads)
            raise function.refused(f"needs the column {missing[0]!r}, which this report does not read{near}")
        read = {name: self.reads[name](structure) for name in function.arguments if name in self.reads}
        return read | {name: structure.beside[name] for name in function.columns}

    def sides(self, function: Function, rows: Rows, sides: int) -> list[Floats]:
        """One array of numbers, or two."""
        return function.arrays(self.values(rows, function), len(rows), sides, self.unit)

    def mean(self, function: Function) -> Kind:
        """The mean over rows, weighted where rows have weights."""
        return Loss(lambda rows, k: self.sides(function, rows, 1)[0])

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums over rows, weighted where rows have weights."""
        return RatioOfRows(lambda rows: self.sides(function, rows, 2))


class OfUsers(Input):
    """Users of interleaved sessions: arrays with one element per user, of one arm."""

    unit = "user"
    structures = ("interleaving",)
    reads: ClassVar = {name: attrgetter(name) for name in ("credit", "whole", "won", "sessions")}

    def sides(self, function: Function, side: Side, sides: int) -> list[Floats]:
        """One array of numbers, or two."""
        return function.arrays(self.values(side, function), len(side.credit), sides, self.unit)

    def mean(self, function: Function) -> Kind:
        """The mean over users."""
        return PerUnit(lambda side, k, level: self.sides(function, side, 1)[0])

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums over users."""
        return Ratio(lambda side, k, level: Sums(*self.sides(function, side, 2)))


class OfTable(Input):
    """A table of users of an A/B test: columns of numbers with one element per user, and nothing else."""

    unit = "user"
    structures = ("users",)
    reads: ClassVar = {}

    def further(self, name: str) -> bool:
        """Whether a column can have this name."""
        return name.isidentifier()

    def sides(self, function: Function, numbers: Mapping[str, Floats], sides: int) -> list[Floats]:
        """One array of numbers, or two."""
        return function.arrays(numbers, len(numbers[function.columns[0]]), sides, self.unit)

    def mean(self, function: Function) -> Kind:
        """The mean over the users of an arm."""
        return PerUnit(lambda numbers, k, level: self.sides(function, numbers, 1)[0])

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums over the users of an arm."""
        return Ratio(lambda numbers, k, level: Sums(*self.sides(function, numbers, 2)))


class RankedList(NamedTuple):
    """One ranked list, as far as the cut-off k.

    grades: of the items returned, best rank first, NaN where not judged; ranks: of the same items. ideal: all judged
    grades of the query, highest first. k: None for the whole list. level: the lowest grade that counts as relevant.
    """

    grades: Floats
    ranks: np.ndarray
    ideal: Floats
    k: int | None
    level: float


class OfLists(Input):
    """Ranked lists: a function is called once for each query."""

    unit = "query"
    structures = ("rankings",)
    reads: ClassVar = {name: attrgetter(name) for name in RankedList._fields}
    cut = "may"

    def sides(self, function: Function, r: Rankings, k: int | None, level: float, sides: int) -> list[Floats]:
        """One array with a number per query, or two."""
        calls = (self.values(each, function) for each in _lists(r, k, level))
        return function.rows(calls, len(r), sides, self.unit)

    def mean(self, function: Function) -> Kind:
        """The mean over queries."""
        return PerUnit(lambda r, k, level: self.sides(function, r, k, level, 1)[0])

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums over queries."""
        return Ratio(lambda r, k, level: Sums(*self.sides(function, r, k, level, 2)))


def _lists(r: Rankings, k: int | None, level: float) -> Iterator[RankedList]:
    retrieved, ideal = r.retrieved, r.ideal
    for i in range(len(r)):
        here = slice(retrieved.offset[i], retrieved.offset[i + 1])
        ranks = retrieved.rank[here]
        kept = slice(None) if k is None else slice(0, int(np.searchsorted(ranks, k, side="right")))
        judged = ideal.grade[ideal.offset[i] : ideal.offset[i + 1]]
        yield RankedList(retrieved.grade[here][kept], ranks[kept], judged, k, level)


INPUTS = (OfTable(), OfRows(), OfLists(), OfUsers())  # the first where a function takes no argument of the others
