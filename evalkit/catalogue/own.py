"""Own metrics: a function and its kind become a row of the catalogue, with interval, test, slices and definition.

    import evalkit as ek

    @ek.mean(best="high")
    def money_saved(label, predicted):
        \"\"\"Money saved per case: 90 for each fraud that is stopped, less 10 for each case that is reviewed.\"\"\"
        return 90 * (label & predicted) - 10 * predicted

    study = classification.read("cases.csv", metrics=["roc_auc", money_saved])

The names of the function's arguments say what it is computed from: those of rows, of ranked lists or of users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.catalogue.kinds import CELLS, Kind, Loss, OwnShare, PerUnit, Ratio, Share
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.catalogue.own_functions import Function, arguments_of, names_of
from evalkit.catalogue.preferences import Side
from evalkit.catalogue.score_kinds import Decision
from evalkit.metrics.counts import Counts
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.rows import Rows
from evalkit.metrics.sums import Sums

Direction = Literal["high", "low", "neither"]


class About(TypedDict, total=False):
    """What can be said of an own metric.

    name: how it is called; default: as the function. best: whether high or low values are better, or neither; default:
    high. low, high: the range of its values; default: without ends, of a share 0 and 1. formula: its definition on the
    page; default: the first line of the docstring. undefined: where it is undefined, such as "the list is empty"; the
    function returns NaN there, which is refused otherwise.
    """

    name: str
    best: Direction
    low: float
    high: float
    formula: str
    undefined: str


@dataclass(frozen=True, repr=False)
class OwnMetric(Metric):
    """A metric that a user declared.

    structures: the tables of the catalogue that it may join. arguments: of its function. file, sha256: where it was
    read, "" for one that was declared beside the call of `read`.
    """

    structures: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    file: str = ""
    sha256: str = ""

    def __repr__(self) -> str:
        return f"<own metric {self.name}({', '.join(self.arguments)})>"

    @property
    def decided(self) -> bool:
        """True if the function takes what a threshold decides."""
        return self.kind.decided or "predicted" in self.arguments

    def at(self, k: int) -> Chosen:
        """The metric of the first k items of each list, as `ndcg@10` is that of the first 10."""
        return Chosen(self, k)

    def read_from(self, file: str, sha256: str) -> OwnMetric:
        """The same metric, which says where it was read."""
        return replace(self, file=file, sha256=sha256, equals=f"none, an own metric of {file}")


Declared = Callable[[Callable[..., Any]], OwnMetric]


# What a function is computed from -----------------------------------------------------------------------------------


class Input:
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

    def mean(self, function: Function) -> Kind:
        """The mean of one number per unit."""
        raise NotImplementedError

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums of two numbers per unit."""
        raise NotImplementedError


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
            raise function.refused(f"needs the column {missing[0]!r}, which this report does not read")
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

        def terms(rows: Rows, k: int | None, level: float) -> Sums:
            return Sums(*(rows.weights * side for side in self.sides(function, rows, 2)))

        return Ratio(terms)


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
CUT = ("label", "predicted")  # the arguments of a share
COUNTS = ("tp", "fp", "fn", "tn")


# Declaring ----------------------------------------------------------------------------------------------------------


def mean(**about: Unpack[About]) -> Declared:
    """Declare a mean of one number per unit: per row, per ranked list or per user, as its arguments say.

    Of rows: label or actual, score or forecast, predicted, and columns of the input such as amount; arrays of n
    elements in, n numbers out. Several classes are numbered from 0; of several classes or labels score has one column
    each. Of ranked lists: grades, ranks, ideal, k, level; called for each list, one number out. Of interleaved users:
    credit, whole, won, sessions. Of a table of users: columns of numbers alone.

    >>> @mean(best="low", low=0)
    ... def overshoot(actual, forecast):
    ...     return np.maximum(forecast - actual, 0)
    >>> overshoot
    <own metric overshoot(actual, forecast)>
    >>> Chosen(overshoot).value(Rows(np.array([1.0, 2.0]), np.array([3.0, 1.0])))
    1.0
    """

    def declare(call: Callable[..., Any]) -> OwnMetric:
        function, source = _of_units(call, about)
        return _metric(function, source.mean(function), source.structures, about, f"mean per {source.unit}", source.cut)

    return declare


def ratio(**about: Unpack[About]) -> Declared:
    """Declare a ratio of two sums over units: the function returns a pair (numerator, denominator) per unit.

    Its arguments are those of `mean`. Of rows the pair is of two arrays, of a ranked list of two numbers.

    >>> @ratio(best="low", low=0)
    ... def cost_per_alarm(label, predicted):
    ...     return 5.0 * (predicted & (label == 0)), predicted
    >>> Chosen(cost_per_alarm).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    2.5
    """

    def declare(call: Callable[..., Any]) -> OwnMetric:
        function, source = _of_units(call, about)
        kind, words = source.ratio(function), f"ratio of sums over {_many(source.unit)}"
        return _metric(function, kind, source.structures, about, words, source.cut)

    return declare


def share(**about: Unpack[About]) -> Declared:
    """Declare a share of rows, of two classes: the function returns which rows count, and which of them are hits.

    Its arguments are label and predicted, as booleans; it must work row by row.

    >>> @share()
    ... def alarms_in_vain(label, predicted):
    ...     return predicted, ~label
    >>> Chosen(alarms_in_vain).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    0.5
    """

    def declare(call: Callable[..., Any]) -> OwnMetric:
        function = _function(call, CUT, _never, {"low": 0.0, "high": 1.0, **about})
        rule = _rule(function)
        counts_positive, counts_negative = rule(*CELLS)[0].reshape(2, 2)
        same = counts_positive[0] == counts_positive[1] and counts_negative[0] == counts_negative[1]
        kind = Share(rule) if same else OwnShare(rule)
        return _metric(function, kind, ("counts",), {"low": 0.0, "high": 1.0, **about}, "share of rows")

    return declare


def of_counts(**about: Unpack[About]) -> Declared:
    """Declare a smooth function of the four counts at the threshold, of two classes: tp, fp, fn, tn.

    It must be a rate: the same if all counts double.

    >>> @of_counts(best="low", low=0)
    ... def cost(fp, fn, tp, tn):
    ...     return (fp + 5 * fn) / (tp + fp + fn + tn)
    >>> Chosen(cost).value(Rows(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.1])))
    2.0
    """

    def declare(call: Callable[..., Any]) -> OwnMetric:
        function = _function(call, COUNTS, _never, about)
        kind = Decision(lambda c: _rate(function, c))
        return _metric(function, kind, ("counts",), about, "function of the four counts at the threshold")

    return declare


def _rule(function: Function) -> Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]:
    """The members and the hits of rows."""

    def rule(label: np.ndarray, predicted: np.ndarray) -> tuple[Bools, Bools]:
        values = {"label": label == 1, "predicted": predicted == 1}
        member, hit = function.arrays(values, len(label), 2, "row")
        for side in (member, hit):
            if not np.isin(side, (0, 1)).all():
                raise function.refused("must return a pair of booleans per row")
        return member == 1, hit == 1

    return rule


def _rate(function: Function, c: Counts) -> float:
    """The function of the counts. Raises ParameterError where it changes with the number of rows."""
    value, doubled = (
        function.number(function({name: np.float64(times * getattr(c, name)) for name in COUNTS}), "of the counts")
        for times in (1, 2)
    )
    if not np.isclose(value, doubled, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise function.refused(
            f"must be a rate, the same if all counts double: got {value:g} and {doubled:g}; divide by the rows"
        )
    return function.checked(value, "of the counts")


def _of_units(call: Callable[..., Any], about: About) -> tuple[Function, Input]:
    """The function, and what its arguments are of."""
    names = set(names_of(call))
    source = max(INPUTS, key=lambda source: len(names & set(source.reads)))
    return _function(call, tuple(source.reads), source.further, about), source


def _never(name: str) -> bool:
    return False


def _function(
    call: Callable[..., Any], known: tuple[str, ...], further: Callable[[str], bool], about: About
) -> Function:
    """The function with its checks. Raises ParameterError for a name, a direction or a range that cannot be."""
    name = str(about.get("name", getattr(call, "__name__", "")))
    if not name.isidentifier():
        raise ParameterError(f"metrics: name must be a word of letters, digits and _, got {name!r}; set name='...'")
    low, high = float(about.get("low", -np.inf)), float(about.get("high", np.inf))
    if not low < high:
        raise ParameterError(f"metrics: {name}: low must be below high, got {low:g} and {high:g}")
    if about.get("best", "high") not in ("high", "low", "neither"):
        raise ParameterError(f"metrics: {name}: best must be high, low or neither, got {about['best']!r}")
    arguments = arguments_of(name, call, known, further)
    columns = tuple(argument for argument in arguments if argument not in known)
    return Function(name, call, arguments, columns, low, high, about.get("undefined", ""))


def _metric(
    function: Function, kind: Kind, structures: tuple[str, ...], about: About, words: str, cut: str = "never"
) -> OwnMetric:
    """The row of the catalogue."""
    lines = (function.call.__doc__ or "").strip().splitlines()
    usual = lines[0].rstrip(".") if lines else f"{words}: {function.name}({', '.join(function.arguments)})"
    return OwnMetric(
        name=function.name,
        structure="own",
        kind=kind,
        formula=about.get("formula") or usual,
        undefined=function.undefined,
        equals="none, an own metric",
        cut=cut,
        low=function.low,
        high=function.high,
        best=about.get("best", "high"),
        tie_range=False,
        needs="scores" if {"score", "forecast"} & set(function.arguments) else "",
        columns=function.columns,
        structures=structures,
        arguments=function.arguments,
    )


def _many(unit: str) -> str:
    return "queries" if unit == "query" else f"{unit}s"
