"""Own metrics: a function and its kind become a row of the catalogue, with interval, test, slices
and definition.

    import evalkit as ek

    @ek.mean(best="high")
    def money_saved(label, predicted):
        # 90 for each fraud that is stopped, less 10 for each review
        return 90 * (label & predicted) - 10 * predicted

    study = ek.classification("cases.csv", metrics=["roc_auc", money_saved])

The names of the function's arguments say what it is computed from (`Input` lists them): rows,
ranked lists or users.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from numbers import Real
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, TypeVar, Unpack

import numpy as np

from evalkit.arrays import Bools, Floats, ParameterError
from evalkit.catalogue.kinds import (
    Loss,
    MeanPerUnit,
    MetricKind,
    Ratio,
    RatioOfRows,
    Resampled,
    Share,
)
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.catalogue.score_kinds import Decision
from evalkit.metrics import counts, rankings
from evalkit.metrics.rows import Rows, Sums
from evalkit.numbers import plural
from evalkit.parameters.kinds import did_you_mean

# what a function must return for a unit, by how many numbers it has: 1 for a mean, 2 for a ratio
RESULTS = {1: "one number", 2: "a pair (numerator, denominator)"}


@dataclass(frozen=True)
class Function:
    """A function with its name, the names of its arguments, the range of its values, and when it is
    undefined.

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
        """The result of the function for these arguments by name, whose arrays it cannot change.
        Raises ParameterError if it raises any exception.
        """
        try:
            with np.errstate(all="ignore"):
                arguments = {name: _read_only(values[name]) for name in self.arguments}
                return self.call(**arguments)
        except Exception as error:
            raise self.refused(f"raised {type(error).__name__}: {error}") from error

    def call_for_all(
        self, values: Mapping[str, Any], n: int, arrays: int, unit: str
    ) -> list[Floats]:
        """The result of one call for all n units, as arrays of n numbers: one array of numbers, or
        two, of numerators and of denominators.

        values: the arguments by name. arrays: how many arrays, 1 or 2. unit: the word for a unit,
        such as "row", for errors.
        """
        results = self._as_list(self(values), arrays, unit)
        return [self._checked_array(result, n, unit, arrays) for result in results]

    def call_for_each(
        self, calls: Iterator[Mapping[str, Any]], n: int, arrays: int, unit: str
    ) -> list[Floats]:
        """The results of n calls, one per unit, as arrays of n numbers: one array of the numbers
        that the calls return, or two, of their numerators and of their denominators.

        calls: the arguments of each call by name. arrays, unit: as in `call_for_all`.
        """
        table = np.empty((arrays, n))
        for i, values in enumerate(calls):
            results = self._as_list(self(values), arrays, unit)
            table[:, i] = [self.number(result, f"{unit} {i + 1}") for result in results]
        return [self._checked_array(array, n, unit, arrays) for array in table]

    def number(self, result: Any, where: str) -> float:
        """The result of the function as a float. Raises ParameterError for anything but a number.
        where: what it is the result for, for the error.
        """
        try:
            return float(_floats(result))
        except (TypeError, ValueError):
            raise self.refused(f"must return one number, got {_short(result)} ({where})") from None

    def checked(self, number: float, where: str) -> float:
        """The number as it is. Raises ParameterError if it is not in the declared range, or if it
        is NaN and the metric is not declared to be undefined anywhere. where: as in `number`.
        """
        self._checked_array(np.array([number]), n=1, unit=where, arrays=1)
        return number

    def _as_list(self, result: Any, length: int, unit: str) -> list[Any]:
        """The result of a call as a list of this length: of itself, or of numerator and
        denominator. Raises ParameterError if the length is 2 and the result is not a pair.
        """
        if length == 1:
            return [result]
        if isinstance(result, tuple) and len(result) == 2:
            return list(result)
        raise self.refused(f"must return {RESULTS[2]} for each {unit}, got {_short(result)}")

    def _checked_array(self, result: Any, n: int, unit: str, arrays: int) -> Floats:
        """What a user's function returned, as an array of n floats, one per unit. Raises
        ParameterError for another shape, and for a number that is not finite or not in the declared
        range; NaN is allowed if the metric is declared to be undefined somewhere.

        unit: the word for a unit, for the error. arrays: how many arrays the function returns: 1
        for a mean; 2 for a ratio, of which this is the numerators or the denominators.
        """
        try:
            numbers = _floats(result)
        except (TypeError, ValueError):
            raise self.refused(f"must return numbers, got {_short(result)}") from None
        if numbers.shape != (n,):
            shape = "x".join(map(str, numbers.shape)) or "one number"
            raise self.refused(f"must return {RESULTS[arrays]} per {unit} ({n:,}), got {shape}")
        wrong = np.isinf(numbers) if self.undefined else ~np.isfinite(numbers)
        if arrays == 1:  # the range is that of the metric, not of numerators and denominators
            wrong |= (numbers < self.low) | (numbers > self.high)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            where = f"{unit} {first + 1}" if n > 1 else unit  # a single unit needs no number
            reason = self._broken_rule(float(numbers[first]), where)
            raise self.refused(reason)
        return numbers

    def _broken_rule(self, value: float, where: str) -> str:
        """The end of the error for a wrong number that a user's function returned: which rule it
        breaks, as it is NaN, infinite or out of the declared range. where: for which unit.
        """
        if np.isnan(value):
            return (
                f"must be a number, got nan ({where}); say where it is undefined: undefined='...'"
            )
        if np.isinf(value):
            return f"must be finite, got {value} ({where})"
        declared = f"{self.low:g} and {self.high:g}, as declared"
        return f"must be within {declared}, got {value:g} ({where})"

    def refused(self, reason: str) -> ParameterError:
        """The error, to be raised, for a function that breaks a rule. reason: the end of the
        message, after the function's name.
        """
        return ParameterError(f"metrics: {self.name} {reason}")


def _floats(result: Any) -> Floats:
    """Numbers and booleans as an array of floats, with NaN for masked elements. Raises TypeError
    for text, times and complex numbers.
    """
    array = np.asarray(result)
    if isinstance(result, np.ma.MaskedArray):
        array = np.ma.asarray(result)
    kind = array.dtype.kind
    has_texts = kind == "O" and any(isinstance(value, str) for value in array.flat)
    numbers_or_objects = "biufO"  # numpy's letters of booleans, integers, floats and objects
    if kind not in numbers_or_objects or result is None or has_texts:
        raise TypeError(array.dtype)
    return np.ma.filled(array.astype(np.float64, copy=False), np.nan)


def _read_only(value: Any) -> Any:
    """A view of an array that cannot be changed; any other value as it is."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _short(value: Any) -> str:
    """The type of a value and the beginning of its text, for errors."""
    text = repr(value).replace("\n", " ")
    rest = "…" if len(text) > 60 else ""
    return f"{type(value).__name__} {text[:60]}{rest}"


def names_of(call: Callable[..., Any]) -> dict[str, bool]:
    """The names of a function's arguments: name -> True if the argument has no default. The names
    of *args and **kwargs come with their stars. Raises ParameterError for anything but a function.
    """
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(
            f"metrics: an own metric must be a function, got {_short(call)}"
        ) from None
    names = {}
    for parameter in parameters:
        stars = ""
        if parameter.kind is parameter.VAR_POSITIONAL:
            stars = "*"
        elif parameter.kind is parameter.VAR_KEYWORD:
            stars = "**"
        names[f"{stars}{parameter.name}"] = parameter.default is parameter.empty
    return names


def arguments_of(
    name: str, call: Callable[..., Any], input_arguments: Collection[str], *, columns: bool
) -> tuple[str, ...]:
    """The arguments by which a function is to be called: those that are `input_arguments`, and all
    others that have no default. The others must be columns of the input. Any further argument keeps
    its default.

    name: of the metric. input_arguments: what the report offers; empty for an A/B test, whose
    metrics take columns alone. columns: True if other arguments can be columns. Raises
    ParameterError for an argument without a default that can be neither, and for a function that
    takes none of the `input_arguments` or, if these are empty, no argument at all.
    """
    has_no_default = names_of(call)
    arguments = tuple(
        argument
        for argument in has_no_default
        if argument in input_arguments or has_no_default[argument]
    )
    others = [argument for argument in arguments if argument not in input_arguments]
    # names of *args and **kwargs, which begin with stars, are no identifiers
    wrong = [argument for argument in others if not (columns and argument.isidentifier())]
    if input_arguments:
        has_enough = not {*arguments}.isdisjoint(input_arguments)
    else:
        has_enough = len(arguments) > 0
    if wrong or not has_enough:
        rule = ", ".join(input_arguments) or "columns of numbers"
        got = ", ".join(wrong or has_no_default) or "none"
        raise ParameterError(f"metrics: the arguments of {name} must be of: {rule}; got {got}")
    return arguments


class Input:
    """The data that a user's function may be computed from: which arguments it may have, and the
    kinds of metrics that are made of it.

    unit: the thing that has one number, such as "row". structures: the tables of the catalogue that
    its metrics belong to. reads: argument -> how it is read from a structure, such as `Rows`.
    columns: True if an argument can be a further column of the input. cut: "may" or "never" carry
    @k.
    """

    unit: ClassVar[str]
    structures: ClassVar[tuple[str, ...]]
    reads: ClassVar[Mapping[str, Callable[[Any], Any]]]
    columns: ClassVar[bool] = False
    cut: ClassVar[str] = "never"

    def values(self, structure: Any, function: Function) -> Mapping[str, Any]:
        """The arguments of a function by name, read from a structure."""
        return {name: self.reads[name](structure) for name in function.arguments}

    def results(
        self, function: Function, structure: Any, k: int | None, level: float, arrays: int
    ) -> list[Floats]:
        """What a function returns for all units, as arrays with an element per unit: one array of
        numbers, or two, of numerators and of denominators. arrays: how many. k, level: unused here;
        ranked lists have a cut-off and a lowest relevant grade.
        """
        values = self.values(structure, function)
        n = max(map(len, values.values()))  # the arguments all have one element per unit
        return function.call_for_all(values, n, arrays, self.unit)

    def mean(self, function: Function) -> MetricKind:
        """The kind of the mean of one number per unit, which the function returns."""
        return MeanPerUnit(partial(self._one_per_unit, function))

    def ratio(self, function: Function) -> MetricKind:
        """The kind of the ratio of the sums of two numbers per unit, which the function returns."""
        return Ratio(partial(self._two_per_unit, function))

    def _one_per_unit(
        self, function: Function, structure: Any, k: int | None, level: float
    ) -> Floats:
        """The function's number for each unit of a structure."""
        (numbers,) = self.results(function, structure, k, level, arrays=1)
        return numbers

    def _two_per_unit(
        self, function: Function, structure: Any, k: int | None, level: float
    ) -> Sums:
        """The function's numerator and denominator for each unit of a structure."""
        numerator, denominator = self.results(function, structure, k, level, arrays=2)
        return Sums(numerator, denominator)


class RowInput(Input):
    """Rows of predictions: arrays with one element per row. Any other argument is a column of
    numbers of the input.
    """

    unit = "row"
    structures = ("counts", "classes", "labels", "forecasts")
    reads: ClassVar = {
        "label": attrgetter("actual"),
        "actual": attrgetter("actual"),
        "score": attrgetter("scores"),
        "forecast": attrgetter("scores"),
        "predicted": attrgetter("predicted"),
    }
    columns = True

    def values(self, rows: Rows, function: Function) -> Mapping[str, Any]:
        """The values of a function's arguments, by name, from rows of predictions. Raises
        ParameterError for a column that this report does not read.

        An argument is either one of `function.columns`, the further columns of the input, or one
        that `reads` computes from the rows, such as `label`. An argument that is in neither has a
        default, which stays. rows: of one system.
        """
        missing = [name for name in function.columns if name not in rows.columns]
        if missing:
            hint = did_you_mean(missing[0], self.reads)
            raise function.refused(
                f"needs the column {missing[0]!r}, which this report does not read{hint}"
            )
        values = {name: rows.columns[name] for name in function.columns}
        for name in function.arguments:
            if name in self.reads:
                read_from = self.reads[name]  # such as rows -> rows.actual
                values[name] = read_from(rows)
        return values

    def mean(self, function: Function) -> MetricKind:
        """The kind of the mean of one number per row, weighted if rows have weights."""
        return Loss(partial(self._one_per_row, function), partial=True)

    def ratio(self, function: Function) -> MetricKind:
        """The kind of the ratio of the sums of two numbers per row, each weighted if rows are."""
        return RatioOfRows(partial(self._two_per_row, function))

    def _one_per_row(self, function: Function, rows: Rows, k: int | None) -> Floats:
        """The function's number for each row."""
        (numbers,) = self.results(function, rows, k, level=1, arrays=1)
        return numbers

    def _two_per_row(self, function: Function, rows: Rows) -> list[Floats]:
        """The function's numerator and denominator for each row."""
        return self.results(function, rows, k=None, level=1, arrays=2)


class UserInput(Input):
    """Users of interleaved sessions: arrays with one element per user, of one arm."""

    unit = "user"
    structures = ("interleaving",)
    reads: ClassVar = {name: attrgetter(name) for name in ("credit", "whole", "won", "sessions")}


class ColumnInput(Input):
    """A table of users of an A/B test: columns of numbers with one element per user, and nothing
    else.
    """

    unit = "user"
    structures = ("users",)
    reads: ClassVar = {}
    columns = True

    def values(self, structure: Mapping[str, Floats], function: Function) -> Mapping[str, Any]:
        """The columns of the table, all of which are arguments. function: unused, for the same
        reason.
        """
        return structure


class RankedList(NamedTuple):
    """One ranked list, up to the cut-off k.

    grades: of the returned items, best rank first, NaN if not judged; ranks: of these items. ideal:
    all judged grades of the query, highest first. k: None for the whole list. level: the lowest
    grade that counts as relevant.
    """

    grades: Floats
    ranks: np.ndarray
    ideal: Floats
    k: int | None
    level: float


class ListInput(Input):
    """Ranked lists: a function is called once for each query."""

    unit = "query"
    structures = ("rankings",)
    reads: ClassVar = {name: attrgetter(name) for name in RankedList._fields}
    cut = "may"

    def results(
        self, function: Function, r: rankings.Rankings, k: int | None, level: float, arrays: int
    ) -> list[Floats]:
        """What a function returns for each query, as arrays with an element per query: one array of
        numbers, or two, of numerators and of denominators. k, level: as in `_ranked_lists`. arrays:
        how many.
        """
        calls = (self.values(ranked, function) for ranked in _ranked_lists(r, k, level))
        return function.call_for_each(calls, n=len(r), arrays=arrays, unit=self.unit)


def _ranked_lists(r: rankings.Rankings, k: int | None, level: float) -> Iterator[RankedList]:
    """The `RankedList` of each query, in the order of the queries: its retrieved items up to rank
    k, and all its judged grades. k: None for the whole list. level: the grade from which an item is
    relevant. Each list also has k and level, for functions that take them.
    """
    retrieved = r.retrieved
    ideal = r.ideal  # all judged items
    # the items of list i are offset[i] to offset[i + 1]
    for i in range(len(r)):
        start = retrieved.offset[i]
        end = retrieved.offset[i + 1]
        ranks = retrieved.rank[start:end]  # ascending
        if k is not None:  # ranks may have gaps, so that up to rank k there may be fewer than k
            items_up_to_k = int(np.searchsorted(ranks, k, side="right"))
            ranks = ranks[:items_up_to_k]
        grades = retrieved.grade[start : start + len(ranks)]
        judged = ideal.grade[ideal.offset[i] : ideal.offset[i + 1]]
        yield RankedList(grades, ranks, judged, k, level)


# what other libraries, such as scikit-learn, call the arguments of a metric of rows
TRUTHS = ("y_true", "y1", "label", "actual")
SCORES = ("y_score", "y_scores", "y_prob", "y_proba", "probas_pred", "pred_decision", "score")
PREDICTIONS = ("y_pred", "y2", "y_hat", "predicted", "forecast")
WEIGHTS = "sample_weight"
# functions of scikit-learn whose y_pred are probabilities
OF_PROBABILITIES = {"log_loss", "d2_log_loss_score"}


@dataclass(frozen=True)
class FunctionOfRows:
    """A function of all rows at once, `f(y_true, y_score)`, that returns one number.

    of_forecasts: True if the predictions are forecasts of a number, not classes.
    """

    function: Function
    of_forecasts: bool = False

    def __call__(self, rows: Rows) -> float:
        """The number that the user's function returns for the rows; NaN if it is undefined on them.
        The function takes their truth, predictions and weights by its own names, such as y_true and
        y_pred. Raises ParameterError if the function raises, if it returns anything but a number in
        the declared range, and if rows have weights that it cannot take.
        """
        predictions_are_scores = self.of_forecasts or self.takes_probabilities
        values = {}
        for name in self.function.arguments:
            if name == WEIGHTS:
                values[name] = rows.weights
            elif name in TRUTHS:
                values[name] = rows.actual if self.of_forecasts else rows.actual.astype(np.int64)
            elif name in SCORES or predictions_are_scores:
                # a name such as y_pred may also stand for scores: for forecasts, and for the
                # probabilities of scikit-learn's log_loss
                values[name] = rows.scores
            else:  # the predicted classes
                values[name] = rows.predicted.astype(np.int64)
        if rows.weight is not None and WEIGHTS not in values:
            raise self.function.refused(f"takes no {WEIGHTS}, and the rows have weights")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bootstrap samples where the number is undefined
            number = self.function.number(self.function(values), "of the rows")
        if np.isnan(number):  # no error, as for `checked`: the rows may be a bootstrap sample
            return number
        return self.function.checked(number, "of the rows")

    @property
    def takes_probabilities(self) -> bool:
        """True for a function of scikit-learn whose predictions are probabilities."""
        # of a functools.partial the function that it calls
        called = getattr(self.function.call, "func", self.function.call)
        is_of_sklearn = str(getattr(called, "__module__", "")).startswith("sklearn.")
        return is_of_sklearn and called.__name__ in OF_PROBABILITIES


# the first is taken for a function without an argument of any
INPUTS: tuple[Input, ...] = (ColumnInput(), RowInput(), ListInput(), UserInput())


# Metrics of functions -----------------------------------------------------------------------------

Direction = Literal["high", "low", "neither"]


class Description(TypedDict, total=False):
    """The description of an own metric.

    name: its name; default: that of the function. best: which values are better, "high", "low" or
    "neither"; default: high. low, high: the range of its values; default: unbounded, for a share 0
    and 1. formula: its definition on the page; default: the first line of the docstring. undefined:
    when it is undefined, such as "the list is empty"; the function returns NaN then, which is an
    error otherwise.
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

    structures: the tables of the catalogue that it may join. arguments: of its function. file,
    sha256: where it was read from, "" for one that was declared in the calling code.
    """

    structures: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    file: str = ""
    sha256: str = ""

    def __repr__(self) -> str:
        return f"<own metric {self.name}({', '.join(self.arguments)})>"

    @property
    def uses_decisions(self) -> bool:
        """True if the function takes the decisions at a threshold."""
        # a function of all rows that does not need scores takes the predicted classes
        of_rows = isinstance(self.kind, Resampled) and not self.needs
        return self.kind.uses_decisions or of_rows or "predicted" in self.arguments

    def at(self, k: int) -> MetricAtK:
        """The metric of the first k items of each list, like `ndcg@10`. Raises ParameterError if k
        is not a whole number of at least 1.
        """
        if not _is_whole(k) or k < 1:
            raise ParameterError(
                f"metrics: the k of {self.name}.at(k) must be a whole number of at least 1, got "
                f"{k!r}"
            )
        return MetricAtK(self, int(k))


Declared = Callable[[Callable[..., Any]], OwnMetric]
Declaring = TypeVar("Declaring", bound=Callable[..., Declared])
SHARE_ARGUMENTS = ("label", "predicted")
COUNTS = ("tp", "fp", "fn", "tn")


# Declaring ----------------------------------------------------------------------------------------


def _is_whole(value: object) -> bool:
    """True for a whole number, of Python or numpy, but not for a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _mean_kind(source: Input, function: Function) -> MetricKind:
    """The kind of a metric declared by `mean`."""
    return source.mean(function)


def _ratio_kind(source: Input, function: Function) -> MetricKind:
    """The kind of a metric declared by `ratio`."""
    return source.ratio(function)


def _share_kind(function: Function) -> MetricKind:
    """The kind of a metric declared by `share`."""
    return Share.from_rule(partial(_eligible_and_hits, function))


def _decision_kind(function: Function) -> MetricKind:
    """The kind of a metric declared by `of_counts`."""
    return Decision(partial(_rate, function))


def _with_checked_arguments(declaring: Declaring) -> Declaring:
    """The function `declaring`, such as `mean`, by whose call `@ek.mean(name=...)` users declare a
    metric; its arguments are checked first, see `_check_description`.
    """

    @wraps(declaring)
    def checked(*positional: Any, **about: Any) -> Declared:
        """What `declaring` returns for the arguments, once they are checked."""
        _check_description(declaring.__name__, positional, about)
        return declaring(**about)

    return checked  # type: ignore[return-value]  # the type of `declaring` is kept for editors


def _check_description(
    decorator: str, positional: Sequence[Any], description: Mapping[str, Any]
) -> None:
    """Raise ParameterError for arguments with which a decorator such as `mean` cannot be called: a
    positional one, an unknown one, and a value of the wrong type.

    decorator: its name. positional, description: its arguments without and with a name.
    """
    if positional:  # the decorated function itself: @ek.mean in place of @ek.mean()
        raise ParameterError(f"metrics: declare a function by @ek.{decorator}(), with parentheses")
    arguments = Description.__annotations__
    unknown = [name for name in description if name not in arguments]
    if unknown:
        raise ParameterError(
            f"metrics: ek.{decorator} has no argument {unknown[0]!r}, it has {', '.join(arguments)}"
        )
    for name, value in description.items():
        argument = f"metrics: {name} of ek.{decorator}"
        if name in ("low", "high"):
            if not isinstance(value, Real):
                raise ParameterError(f"{argument} must be a number, got {value!r}")
        elif not isinstance(value, str):
            raise ParameterError(f"{argument} must be text, got {value!r}")


@_with_checked_arguments
def mean(**about: Unpack[Description]) -> Declared:
    """Declare a metric that is a mean of one number per unit. The names of the function's arguments
    say of which units.

    Rows: label or actual, score or forecast, predicted, and columns of the input such as amount;
    the function takes arrays of n elements and returns n numbers. Classes are numbered from 0; with
    several classes or labels, score has one column for each. Ranked lists: grades, ranks, ideal, k,
    level; the function is called for each list and returns a number. Users of interleaving: credit,
    whole, won, sessions. Users of an A/B test: only columns of numbers.

    >>> from evalkit.metrics.rows import Rows
    >>> @mean(best="low", low=0)
    ... def overshoot(actual, forecast):
    ...     return np.maximum(forecast - actual, 0)
    >>> overshoot
    <own metric overshoot(actual, forecast)>
    >>> MetricAtK(overshoot).value(Rows(np.array([1.0, 2.0]), np.array([3.0, 1.0])))
    1.0
    """

    return _declare_of_units(about, _mean_kind, "mean per {unit}")


@_with_checked_arguments
def ratio(**about: Unpack[Description]) -> Declared:
    """Declare a ratio of two sums over units: the function returns a pair (numerator, denominator)
    per unit.

    Its arguments are those of `mean`. For rows it returns two arrays, for a ranked list two
    numbers.

    >>> from evalkit.metrics.rows import Rows
    >>> @ratio(best="low", low=0)
    ... def cost_per_alarm(label, predicted):
    ...     return 5.0 * (predicted & (label == 0)), predicted
    >>> MetricAtK(cost_per_alarm).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    2.5
    """

    return _declare_of_units(about, _ratio_kind, "ratio of sums over {units}")


@_with_checked_arguments
def share(**about: Unpack[Description]) -> Declared:
    """Declare a share of rows, for two classes: the function returns which rows count, and which of
    them are hits.

    Its arguments are label and predicted, as booleans; it must work row by row.

    >>> from evalkit.metrics.rows import Rows
    >>> @share()
    ... def alarms_in_vain(label, predicted):
    ...     return predicted, ~label
    >>> MetricAtK(alarms_in_vain).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    0.5
    """
    description: Description = {"low": 0.0, "high": 1.0, **about}
    return _declare_of_decisions(
        description,
        input_arguments=SHARE_ARGUMENTS,
        make_kind=_share_kind,
        definition="share of rows",
    )


@_with_checked_arguments
def of_counts(**about: Unpack[Description]) -> Declared:
    """Declare a smooth function of the confusion counts at the threshold, for two classes: tp, fp,
    fn, tn.

    It must be a rate: the same if all counts double.

    >>> from evalkit.metrics.rows import Rows
    >>> @of_counts(best="low", low=0)
    ... def cost(fp, fn, tp, tn):
    ...     return (fp + 5 * fn) / (tp + fp + fn + tn)
    >>> MetricAtK(cost).value(Rows(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.1])))
    2.0
    """
    return _declare_of_decisions(
        about,
        input_arguments=COUNTS,
        make_kind=_decision_kind,
        definition="function of the four counts at the threshold",
    )


@_with_checked_arguments
def bootstrap(**about: Unpack[Description]) -> Declared:
    """Declare any function of all rows, f(y_true, y_score) or f(y_true, y_pred), as a metric whose
    interval and test are by a percentile bootstrap of rows, or of whole units.

    y_score are the scores, y_pred the predicted classes, in the rating report the forecasts; a
    sample_weight gets the weights. A function that is passed as a metric as it is, such as one of
    scikit-learn's, is declared like this. It is slow, and its interval is too narrow for few units
    and for what a few rows decide; a maximum has none.

    >>> from evalkit.metrics.rows import Rows
    >>> @bootstrap(best="low", low=0)
    ... def largest(y_true, y_pred):
    ...     return np.max(y_true != y_pred)
    >>> MetricAtK(largest).value(Rows(np.array([1, 0]), np.array([0.9, 0.8])))
    1.0
    """
    return partial(_bootstrap_metric, description=about)


def _bootstrap_metric(call: Callable[..., Any], description: Description) -> OwnMetric:
    """The metric of a function of all rows at once, f(y_true, y_pred) -> a number, whose interval
    comes from the bootstrap. description: what the user stated in the decorator; without a name in
    it the metric has that of the function.
    """
    named_description: Description = {"name": usual_name(call), **description}
    function = _declared_function(
        call, input_arguments=_arguments_of_rows(call), description=named_description
    )
    function_of_rows = FunctionOfRows(function)
    metric = _own_metric(
        function,
        kind=Resampled(function_of_rows),
        structures=RowInput.structures,
        description=named_description,
        definition="by bootstrap",
    )
    # `_own_metric` takes only arguments named score and forecast for scores; here the argument may
    # also have the name that it has in other libraries
    takes_scores = not {*SCORES}.isdisjoint(function.arguments)
    if takes_scores or function_of_rows.takes_probabilities:
        return replace(metric, needs="scores")
    return replace(metric, needs="")


def _arguments_of_rows(call: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a function of all rows is offered: the name that it has for
    the truth (y_true …), the name that it has for the predictions (y_pred …), and sample_weight,
    which it need not have. If several of its arguments have usual names, the first one counts.

    If no argument has a usual name for the truth, or none for the predictions, all usual names are
    returned: `arguments_of` then raises an error that lists them.
    """
    arguments = names_of(call)
    truths = [name for name in arguments if name in TRUTHS]
    predictions = [name for name in arguments if name in (*SCORES, *PREDICTIONS)]
    if not (truths and predictions):
        return (*TRUTHS, *SCORES, *PREDICTIONS, WEIGHTS)
    return (truths[0], predictions[0], WEIGHTS)


def usual_name(call: Callable[..., Any]) -> str:
    """The name of the metric of a function: that of the function; of a functools.partial also with
    the values of its arguments; of any other object that can be called that of its class.

    >>> from functools import partial
    >>> usual_name(partial(np.quantile, 0.5, method="lower"))
    'quantile_0_5_lower'
    """
    called = getattr(call, "func", call)  # of a partial the function itself
    name = getattr(called, "__name__", type(called).__name__)
    values = [*getattr(call, "args", ()), *getattr(call, "keywords", {}).values()]
    name_with_values = "_".join([name, *map(str, values)])
    return re.sub(r"\W", "_", name_with_values)


def _eligible_and_hits(
    function: Function, label: np.ndarray, predicted: np.ndarray
) -> tuple[Bools, Bools]:
    """The masks of a share of rows that a user's function returns: the eligible rows, and the hits
    among them. label, predicted: of each row, 1 for the positive class. Raises ParameterError for
    anything but two arrays of booleans with an element per row.
    """
    values = {"label": label == 1, "predicted": predicted == 1}
    eligible, hit = function.call_for_all(values, len(label), arrays=2, unit="row")
    for mask in (eligible, hit):
        if not np.isin(mask, (0, 1)).all():
            raise function.refused("must return a pair of booleans per row")
    return eligible == 1, hit == 1


def _rate(function: Function, c: counts.Counts) -> float:
    """The value of a user's function of the counts (tp, fp, fn, tn) at a threshold. Raises
    ParameterError if it is not a rate, that is if doubling all counts changes it.
    """
    counts_by_name = {name: np.float64(getattr(c, name)) for name in COUNTS}
    doubled_counts = {name: 2 * count for name, count in counts_by_name.items()}
    value = function.number(function(counts_by_name), "of the counts")
    value_of_doubled = function.number(function(doubled_counts), "of the counts")
    if not np.isclose(value, value_of_doubled, rtol=1e-9, atol=1e-12, equal_nan=True):
        got = f"got {value:g} and {value_of_doubled:g}"
        raise function.refused(
            f"must be a rate, the same if all counts double: {got}; divide by the rows"
        )
    return function.checked(value, "of the counts")


def _declare_of_decisions(
    description: Description,
    input_arguments: tuple[str, ...],
    make_kind: Callable[[Function], MetricKind],
    definition: str,
) -> Declared:
    """A decorator that makes a metric of a user's function of the decisions on two classes; its
    arguments are those of `_metric_of_decisions`.
    """
    return partial(
        _metric_of_decisions,
        description=description,
        input_arguments=input_arguments,
        make_kind=make_kind,
        definition=definition,
    )


def _metric_of_decisions(
    call: Callable[..., Any],
    description: Description,
    input_arguments: tuple[str, ...],
    make_kind: Callable[[Function], MetricKind],
    definition: str,
) -> OwnMetric:
    """The metric of a user's function of the decisions on two classes.

    description: what the user stated in the decorator. input_arguments: the arguments that the
    function may have. make_kind: function -> the kind of the metric. definition: the beginning of
    the metric's definition, if the user does not state one.
    """
    function = _declared_function(call, input_arguments, description)
    return _own_metric(
        function,
        kind=make_kind(function),
        structures=("counts",),
        description=description,
        definition=definition,
    )


def _declare_of_units(
    description: Description, make_kind: Callable[[Input, Function], MetricKind], definition: str
) -> Declared:
    """A decorator that makes a metric of a user's function of units; its arguments are those of
    `_metric_of_units`.
    """
    return partial(
        _metric_of_units, description=description, make_kind=make_kind, definition=definition
    )


def _metric_of_units(
    call: Callable[..., Any],
    description: Description,
    make_kind: Callable[[Input, Function], MetricKind],
    definition: str,
) -> OwnMetric:
    """The metric of a user's function of units, such as rows, ranked lists or users. The names of
    the function's arguments tell which of the `INPUTS` it is computed from, each an `Input` for one
    type of unit. The input says in which reports the metric can be computed (`structures`) and
    whether it has a cut-off k (`cut`).

    description: what the user stated in the decorator. make_kind: (input, function) -> the kind of
    the metric. definition: the beginning of the metric's definition, if the user does not state
    one; {unit} and {units} in it are replaced by the word for a unit.
    """
    unit_input = _input_for(set(names_of(call)))
    function = _declared_function(
        call,
        input_arguments=tuple(unit_input.reads),
        description=description,
        columns=unit_input.columns,
    )
    unit = unit_input.unit
    return _own_metric(
        function,
        kind=make_kind(unit_input, function),
        structures=unit_input.structures,
        description=description,
        definition=definition.format(unit=unit, units=plural(unit, 2)),
        cut=unit_input.cut,
    )


def _input_for(names: set[str]) -> Input:
    """The input that has most of these arguments; the first one of several that have as many."""
    best = INPUTS[0]
    for source in INPUTS:
        if len(names.intersection(source.reads)) > len(names.intersection(best.reads)):
            best = source
    return best


def _declared_function(
    call: Callable[..., Any],
    input_arguments: tuple[str, ...],
    description: Description,
    *,
    columns: bool = False,
) -> Function:
    """A user's function with its name, the names of its arguments and its range.

    input_arguments: the arguments that the report offers to a function. description: what the user
    stated in the decorator. columns: True if any other argument may be a column of the input.
    Raises ParameterError for a wrong name, argument, direction or range.
    """
    name_of_function = getattr(call, "__name__", "")
    name = str(description.get("name", name_of_function))
    if not name.isidentifier():
        raise ParameterError(
            f"metrics: name must be a word of letters, digits and _, got {name!r}; set name='...'"
        )
    low = float(description.get("low", -np.inf))
    high = float(description.get("high", np.inf))
    if not low < high:
        raise ParameterError(f"metrics: {name}: low must be below high, got {low:g} and {high:g}")
    if description.get("best", "high") not in ("high", "low", "neither"):
        raise ParameterError(
            f"metrics: {name}: best must be high, low or neither, got {description['best']!r}"
        )
    arguments = arguments_of(name, call, input_arguments, columns=columns)
    further = tuple(argument for argument in arguments if argument not in input_arguments)
    return Function(
        name,
        call,
        arguments=arguments,
        columns=further,
        low=low,
        high=high,
        undefined=description.get("undefined", ""),
    )


def _own_metric(
    function: Function,
    kind: MetricKind,
    structures: tuple[str, ...],
    description: Description,
    definition: str,
    cut: str = "never",
) -> OwnMetric:
    """The metric of a user's function as a row of the catalogue. Its definition is the `formula`
    that the user stated in `description`, else the first line of the function's docstring, else
    `definition` with the signature. kind: computes it. structures: the kinds of input that it can
    be computed from. cut: whether its name "may" or can "never" carry @k.
    """
    formula = f"{definition}: {function.name}({', '.join(function.arguments)})"
    docstring = (function.call.__doc__ or "").strip()
    if docstring:
        first_line = docstring.splitlines()[0]
        formula = first_line.rstrip(".")
    # so that it is refused for an input without scores, such as predicted classes alone
    takes_scores = not {"score", "forecast"}.isdisjoint(function.arguments)
    needs = "scores" if takes_scores else ""
    return OwnMetric(
        name=function.name,
        structure="own",
        kind=kind,
        formula=description.get("formula") or formula,
        undefined=function.undefined,
        equals="none, an own metric",  # no public tool has the same number
        cut=cut,
        low=function.low,
        high=function.high,
        best=description.get("best", "high"),
        tie_range=False,  # nothing is known of how it changes with the order of tied items
        needs=needs,
        columns=function.columns,
        structures=structures,
        arguments=function.arguments,
        unit="",  # not known
    )


def load(
    file: str, name: str, declare_plain: Callable[[Callable[..., Any], str], OwnMetric]
) -> OwnMetric:
    """The metric of this name in a Python file, which is run. The metric gets the file's name and
    SHA-256, by which the comparison of two reports tells whether both mean the same metric.

    declare_plain: (function, name) -> the metric of a function that the file did not declare as a
    metric. It is a parameter because the module that defines it imports this one. Raises
    ParameterError for a file that cannot be read or run, and for a name that is neither a metric
    nor a function in it.
    """
    path = Path(file).expanduser()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"metrics: cannot read {file}: {error.strerror}") from None
    variables = _variables_of_file(file, source)
    metrics = [key for key, value in variables.items() if isinstance(value, OwnMetric)]
    metric = variables.get(name)
    if callable(metric) and not isinstance(metric, OwnMetric | type):
        metric = declare_plain(metric, name)
    if not isinstance(metric, OwnMetric):
        declared = (
            "a function declared by ek.mean, ek.ratio, ek.share, ek.of_counts or ek.bootstrap, or "
            "any plain function f(y_true, y_pred)"
        )
        has = ", ".join(metrics) or f"none; a metric is {declared}"
        raise ParameterError(f"metrics: {file} has no metric {name!r}; it has {has}")
    sha256 = hashlib.sha256(source).hexdigest()
    equals = f"none, an own metric of {path.name}"  # no public tool computes it
    return replace(metric, file=path.name, sha256=sha256, equals=equals)


@cache
def _variables_of_file(file: str, source: bytes) -> dict[str, Any]:
    """Run a Python file and return its variables by name. Raises ParameterError if it raises.

    file: its path. source: its content. The result is cached by both, so that a file that has
    changed is run again.
    """
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
    return dict(vars(module))  # what a function later assigns to a global changes no metric
