"""Own metrics: a function and its kind become a row of the catalogue, with interval, test, slices and definition.

    import evalkit as ek

    @ek.mean(best="high")
    def money_saved(label, predicted):
        \"\"\"Money saved per case: 90 for each fraud that is stopped, less 10 for each case that is reviewed.\"\"\"
        return 90 * (label & predicted) - 10 * predicted

    study = ek.classification("cases.csv", metrics=["roc_auc", money_saved])

The names of the function's arguments say what it is computed from: those of rows, of ranked lists or of users.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, wraps
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import numpy as np

from evalkit.arrays import Bools, ParameterError
from evalkit.catalogue.kinds import Kind, Share
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.catalogue.own_functions import INPUTS, Function, Input, arguments_of, names_of
from evalkit.catalogue.score_kinds import Decision
from evalkit.metrics.counts import Counts
from evalkit.numbers import plural

Direction = Literal["high", "low", "neither"]


class About(TypedDict, total=False):
    """The description of an own metric.

    name: its name; default: that of the function. best: which values are better, "high", "low" or "neither"; default:
    high. low, high: the range of its values; default: unbounded, for a share 0 and 1. formula: its definition on the
    page; default: the first line of the docstring. undefined: when it is undefined, such as "the list is empty"; the
    function returns NaN then, which is an error otherwise.
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
    read from, "" for one that was declared in the calling code.
    """

    structures: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    file: str = ""
    sha256: str = ""

    def __repr__(self) -> str:
        return f"<own metric {self.name}({', '.join(self.arguments)})>"

    @property
    def decided(self) -> bool:
        """True if the function takes the decisions at a threshold."""
        return self.kind.decided or "predicted" in self.arguments

    def at(self, k: int) -> Chosen:
        """The metric of the first k items of each list, like `ndcg@10`."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise ParameterError(f"metrics: the k of {self.name}.at(k) must be a whole number of at least 1, got {k!r}")
        return Chosen(self, int(k))


Declared = Callable[[Callable[..., Any]], OwnMetric]
Declaring = TypeVar("Declaring", bound=Callable[..., Declared])


CUT = ("label", "predicted")  # the arguments of a share
COUNTS = ("tp", "fp", "fn", "tn")


# Declaring ----------------------------------------------------------------------------------------------------------


def _checked(declaring: Declaring) -> Declaring:
    """Refuse what nothing can be declared by: a function without parentheses, an unknown argument, or a value of it."""

    @wraps(declaring)
    def checked(*calls: Any, **about: Any) -> Declared:
        if calls:
            raise ParameterError(f"metrics: declare a function by @ek.{declaring.__name__}(), with parentheses")
        if unknown := [name for name in about if name not in About.__annotations__]:
            has = ", ".join(About.__annotations__)
            raise ParameterError(f"metrics: ek.{declaring.__name__} has no argument {unknown[0]!r}, it has {has}")
        for name, value in about.items():
            kind, words = (Real, "a number") if name in ("low", "high") else (str, "text")
            if not isinstance(value, kind):
                raise ParameterError(f"metrics: {name} of ek.{declaring.__name__} must be {words}, got {value!r}")
        return declaring(**about)

    return checked  # type: ignore[return-value]


@_checked
def mean(**about: Unpack[About]) -> Declared:
    """Declare a metric that is a mean of one number per unit. The names of the function's arguments say of which units.

    Rows: label or actual, score or forecast, predicted, and columns of the input such as amount; the function takes
    arrays of n elements and returns n numbers. Classes are numbered from 0; with several classes or labels, score has
    one column for each. Ranked lists: grades, ranks, ideal, k, level; the function is called for each list and returns
    a number. Users of interleaving: credit, whole, won, sessions. Users of an A/B test: only columns of numbers.

    >>> from evalkit.metrics.rows import Rows
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


@_checked
def ratio(**about: Unpack[About]) -> Declared:
    """Declare a ratio of two sums over units: the function returns a pair (numerator, denominator) per unit.

    Its arguments are those of `mean`. For rows it returns two arrays, for a ranked list two numbers.

    >>> from evalkit.metrics.rows import Rows
    >>> @ratio(best="low", low=0)
    ... def cost_per_alarm(label, predicted):
    ...     return 5.0 * (predicted & (label == 0)), predicted
    >>> Chosen(cost_per_alarm).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    2.5
    """

    def declare(call: Callable[..., Any]) -> OwnMetric:
        function, source = _of_units(call, about)
        kind, words = source.ratio(function), f"ratio of sums over {plural(source.unit, 2)}"
        return _metric(function, kind, source.structures, about, words, source.cut)

    return declare


@_checked
def share(**about: Unpack[About]) -> Declared:
    """Declare a share of rows, for two classes: the function returns which rows count, and which of them are hits.

    Its arguments are label and predicted, as booleans; it must work row by row.

    >>> from evalkit.metrics.rows import Rows
    >>> @share()
    ... def alarms_in_vain(label, predicted):
    ...     return predicted, ~label
    >>> Chosen(alarms_in_vain).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    0.5
    """

    def declare(call: Callable[..., Any]) -> OwnMetric:
        ranged: About = {"low": 0.0, "high": 1.0, **about}
        function = _function(call, CUT, _never, ranged)
        return _metric(function, Share.by(_rule(function)), ("counts",), ranged, "share of rows")

    return declare


@_checked
def of_counts(**about: Unpack[About]) -> Declared:
    """Declare a smooth function of the confusion counts at the threshold, for two classes: tp, fp, fn, tn.

    It must be a rate: the same if all counts double.

    >>> from evalkit.metrics.rows import Rows
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
    """The function of the counts. Raises ParameterError if it changes with the number of rows."""
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
        unit="",
    )


def load(file: str, name: str) -> OwnMetric:
    """The metric of this name in a Python file, with the file's name and SHA-256.

    Raises ParameterError for a file that cannot be read or run, and for a name that is not a metric in it.
    """
    path = Path(file).expanduser()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"metrics: cannot read {file}: {error.strerror}") from None
    metrics = _of_file(file, source)
    if name not in metrics:
        has = ", ".join(metrics) or "none; a metric is a function declared by ek.mean, ek.ratio, ek.share, ek.of_counts"
        raise ParameterError(f"metrics: {file} has no metric {name!r}; it has {has}")
    sha256, equals = hashlib.sha256(source).hexdigest(), f"none, an own metric of {path.name}"
    return replace(metrics[name], file=path.name, sha256=sha256, equals=equals)


@cache
def _of_file(file: str, source: bytes) -> dict[str, OwnMetric]:
    """The metrics of a file, by the names of its variables."""
    module = ModuleType(f"own_metrics_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # while it runs: dataclasses look themselves up there
    try:
        exec(compile(source, file, "exec"), vars(module))
    except ParameterError as error:
        raise ParameterError(f"{error} ({file})") from None
    except (Exception, SystemExit) as error:
        raise ParameterError(f"metrics: {file} raised {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[module.__name__]  # so that functions are sent to workers by value
    return {name: value for name, value in vars(module).items() if isinstance(value, OwnMetric)}
