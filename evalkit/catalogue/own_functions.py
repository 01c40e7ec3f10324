"""Functions of a user: what they are computed from, called by the names of their arguments, and checked.

The names of the arguments say what a function is computed from: `Input` lists them. Arrays are read-only.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import Floats, ParameterError
from evalkit.catalogue.kinds import Kind, Loss, PerUnit, Ratio, RatioOfRows
from evalkit.catalogue.unit_metrics import Side
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.rows import Rows, Sums
from evalkit.parameters.kinds import did_you_mean

SIDES = {1: "one number", 2: "a pair (numerator, denominator)"}


@dataclass(frozen=True)
class Function:
    """A function with its name, the names of its arguments, the range of its values, and when it is undefined.

    columns: the arguments that are further columns of the input.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[str, ...]
    columns: tuple[str, ...]
    low: float
    high: float
    undefined: str

    def __call__(self, values: Mapping[str, Any]) -> Any:
        """What the function returns for these arguments. Raises ParameterError if it raises."""
        try:
            with np.errstate(all="ignore"):
                return self.call(**{name: _read_only(values[name]) for name in self.arguments})
        except Exception as error:
            raise self.refused(f"raised {type(error).__name__}: {error}") from error

    def arrays(self, values: Mapping[str, Any], n: int, sides: int, per: str) -> list[Floats]:
        """One array of n numbers, or a pair of them."""
        result = self(values)
        arrays = [result] if sides == 1 else self._pair(result, per)
        return [self._numbers(array, n, per, sides) for array in arrays]

    def rows(self, calls: Iterator[Mapping[str, Any]], n: int, sides: int, per: str) -> list[Floats]:
        """The arrays from n calls that each return one number or one pair."""
        table = np.empty((sides, n))
        for i, values in enumerate(calls):
            result = self(values)
            for side, number in enumerate([result] if sides == 1 else self._pair(result, per)):
                table[side, i] = self.number(number, f"{per} {i + 1}")
        return [self._numbers(column, n, per, sides) for column in table]

    def number(self, result: Any, where: str) -> float:
        """One number. Raises ParameterError for anything else."""
        try:
            return float(_floats(result))
        except (TypeError, ValueError):
            raise self.refused(f"must return one number, got {_short(result)} ({where})") from None

    def checked(self, number: float, where: str) -> float:
        """The number, if it is in range, or NaN if the metric is declared as undefined there."""
        self._numbers(np.array([number]), 1, where, 1)
        return number

    def _pair(self, result: Any, per: str) -> list[Any]:
        if isinstance(result, tuple) and len(result) == 2:
            return list(result)
        raise self.refused(f"must return {SIDES[2]} for each {per}, got {_short(result)}")

    def _numbers(self, result: Any, n: int, per: str, sides: int) -> Floats:
        try:
            numbers = _floats(result)
        except (TypeError, ValueError):
            raise self.refused(f"must return numbers, got {_short(result)}") from None
        if numbers.shape != (n,):
            shape = "x".join(map(str, numbers.shape)) or "one number"
            raise self.refused(f"must return {SIDES[sides]} per {per} ({n:,}), got {shape}")
        wrong = np.isinf(numbers) if self.undefined else ~np.isfinite(numbers)
        low, high = (self.low, self.high) if sides == 1 else (-np.inf, np.inf)
        outside = wrong | (numbers < low) | (numbers > high)
        if outside.any():
            raise self.refused(self._rule(numbers, int(np.flatnonzero(outside)[0]), low, high, per))
        return numbers

    def _rule(self, numbers: Floats, at: int, low: float, high: float, per: str) -> str:
        """What the number at this place breaks."""
        value = float(numbers[at])
        where = f"{per} {at + 1}" if len(numbers) > 1 else per
        if np.isnan(value):
            return f"must be a number, got nan ({where}); say where it is undefined: undefined='...'"
        if np.isinf(value):
            return f"must be finite, got {value} ({where})"
        return f"must be within {low:g} and {high:g}, as declared, got {value:g} ({where})"

    def refused(self, reason: str) -> ParameterError:
        """The error of this metric."""
        return ParameterError(f"metrics: {self.name} {reason}")


def _floats(result: Any) -> Floats:
    """Numbers and booleans as they are; what is masked is NaN. Raises TypeError for text, times and complex numbers."""
    array = np.ma.asarray(result) if isinstance(result, np.ma.MaskedArray) else np.asarray(result)
    texts = array.dtype.kind == "O" and any(isinstance(value, str) for value in array.flat)
    if array.dtype.kind not in "biufO" or result is None or texts:
        raise TypeError(array.dtype)
    return np.ma.filled(array.astype(np.float64, copy=False), np.nan)


def _read_only(value: Any) -> Any:
    """The value, which a function cannot change."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return f"{type(value).__name__} {text[:60]}{'…' if len(text) > 60 else ''}"


def names_of(call: Callable[..., Any]) -> dict[str, bool]:
    """The names of a function's arguments, and True for those without a default."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(f"metrics: an own metric must be a function, got {_short(call)}") from None
    return {str(p) if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name: p.default is p.empty for p in parameters}


def arguments_of(
    name: str, call: Callable[..., Any], known: Collection[str], others: Callable[[str], bool]
) -> tuple[str, ...]:
    """The arguments of a function that are in `known`, and those without a default that `others` accepts.

    Raises ParameterError for any other argument without a default, and for a function without an argument in `known`,
    if `known` has any.
    """
    names = names_of(call)
    taken = tuple(argument for argument, needed in names.items() if needed or argument in known)
    wrong = [argument for argument in taken if argument not in known and not others(argument)]
    if wrong or not ({*taken} & {*known} if known else taken):
        rule, got = ", ".join(known) or "columns of numbers", ", ".join(wrong or names) or "none"
        raise ParameterError(f"metrics: the arguments of {name} must be of: {rule}; got {got}")
    return taken


class Input(ABC):
    """The data that a function may use: its possible arguments, and the kinds of metrics that can be made of it.

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
        """True if an argument can be a further column of the input."""
        return False

    @abstractmethod
    def sides(self, function: Function, structure: Any, k: int | None, level: float, sides: int) -> list[Floats]:
        """One array with a number per unit, or two."""

    def mean(self, function: Function) -> Kind:
        """The mean of one number per unit."""
        return PerUnit(lambda structure, k, level: self.sides(function, structure, k, level, 1)[0])

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums of two numbers per unit."""
        return Ratio(lambda structure, k, level: Sums(*self.sides(function, structure, k, level, 2)))


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
        """True if a column can have this name."""
        return name.isidentifier()

    def values(self, structure: Rows, function: Function) -> dict[str, Any]:
        """The arguments of a function. Raises ParameterError for a column that a report does not read."""
        if missing := [name for name in function.columns if name not in structure.beside]:
            near = did_you_mean(missing[0], self.reads)
            raise function.refused(f"needs the column {missing[0]!r}, which this report does not read{near}")
        read = {name: self.reads[name](structure) for name in function.arguments if name in self.reads}
        return read | {name: structure.beside[name] for name in function.columns}

    def sides(self, function: Function, rows: Rows, k: int | None, level: float, sides: int) -> list[Floats]:
        return function.arrays(self.values(rows, function), len(rows), sides, self.unit)

    def mean(self, function: Function) -> Kind:
        """The mean over rows, weighted where rows have weights."""
        return Loss(lambda rows, k: self.sides(function, rows, k, 1, 1)[0])

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums over rows, weighted where rows have weights."""
        return RatioOfRows(lambda rows: self.sides(function, rows, None, 1, 2))


class OfUsers(Input):
    """Users of interleaved sessions: arrays with one element per user, of one arm."""

    unit = "user"
    structures = ("interleaving",)
    reads: ClassVar = {name: attrgetter(name) for name in ("credit", "whole", "won", "sessions")}

    def sides(self, function: Function, side: Side, k: int | None, level: float, sides: int) -> list[Floats]:
        return function.arrays(self.values(side, function), len(side.credit), sides, self.unit)


class OfTable(Input):
    """A table of users of an A/B test: columns of numbers with one element per user, and nothing else."""

    unit = "user"
    structures = ("users",)
    reads: ClassVar = {}

    def further(self, name: str) -> bool:
        """True if a column can have this name."""
        return name.isidentifier()

    def sides(
        self, function: Function, numbers: Mapping[str, Floats], k: int | None, level: float, sides: int
    ) -> list[Floats]:
        return function.arrays(numbers, len(numbers[function.columns[0]]), sides, self.unit)


class RankedList(NamedTuple):
    """One ranked list, up to the cut-off k.

    grades: of the returned items, best rank first, NaN if not judged; ranks: of these items. ideal: all judged grades
    of the query, highest first. k: None for the whole list. level: the lowest grade that counts as relevant.
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


def _lists(r: Rankings, k: int | None, level: float) -> Iterator[RankedList]:
    retrieved, ideal = r.retrieved, r.ideal
    for i in range(len(r)):
        here = slice(retrieved.offset[i], retrieved.offset[i + 1])
        ranks = retrieved.rank[here]
        kept = slice(None) if k is None else slice(0, int(np.searchsorted(ranks, k, side="right")))
        judged = ideal.grade[ideal.offset[i] : ideal.offset[i + 1]]
        yield RankedList(retrieved.grade[here][kept], ranks[kept], judged, k, level)


INPUTS = (OfTable(), OfRows(), OfLists(), OfUsers())  # the first where a function takes no argument of the others
