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
from collections.abc import Callable, Collection, Iterator, Mapping
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
    Kind,
    Loss,
    PerUnit,
    Ratio,
    RatioOfRows,
    Resampled,
    Share,
)
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.catalogue.score_kinds import Decision
from evalkit.metrics import counts, rankings
from evalkit.metrics.rows import Rows, Sums
from evalkit.numbers import plural
from evalkit.parameters.kinds import did_you_mean

# what a function must return for a unit, by the number of its `sides`: 1 for a mean, 2 for a ratio
SIDES = {1: "one number", 2: "a pair (numerator, denominator)"}


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
        """The result of the function for these arguments. Raises ParameterError if it raises."""
        try:
            with np.errstate(all="ignore"):
                return self.call(**{name: _read_only(values[name]) for name in self.arguments})
        except Exception as error:
            raise self.refused(f"raised {type(error).__name__}: {error}") from error

    def arrays(self, values: Mapping[str, Any], n: int, sides: int, unit: str) -> list[Floats]:
        """The result of one call: an array of n numbers, or with two `sides` a pair of them.

        unit: what each number is of, such as "row", for errors.
        """
        arrays = self._sides(self(values), sides, unit)
        return [self._numbers(array, n, unit, sides) for array in arrays]

    def rows(
        self, calls: Iterator[Mapping[str, Any]], n: int, sides: int, unit: str
    ) -> list[Floats]:
        """The arrays from n calls, one per unit, that each return one number or one pair."""
        table = np.empty((sides, n))
        for i, values in enumerate(calls):
            for side, number in enumerate(self._sides(self(values), sides, unit)):
                table[side, i] = self.number(number, f"{unit} {i + 1}")
        return [self._numbers(column, n, unit, sides) for column in table]

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

    def _sides(self, result: Any, sides: int, unit: str) -> list[Any]:
        """What the function returned as a list of one or two. Raises ParameterError for two where
        it is no pair.
        """
        if sides == 1:
            return [result]
        if isinstance(result, tuple) and len(result) == 2:
            return list(result)
        raise self.refused(f"must return {SIDES[2]} for each {unit}, got {_short(result)}")

    def _numbers(self, result: Any, n: int, unit: str, sides: int) -> Floats:
        """The result as n numbers. Raises ParameterError for another shape, and for a number that
        is not finite or not in the declared range.
        """
        try:
            numbers = _floats(result)
        except (TypeError, ValueError):
            raise self.refused(f"must return numbers, got {_short(result)}") from None
        if numbers.shape != (n,):
            shape = "x".join(map(str, numbers.shape)) or "one number"
            raise self.refused(f"must return {SIDES[sides]} per {unit} ({n:,}), got {shape}")
        wrong = np.isinf(numbers) if self.undefined else ~np.isfinite(numbers)
        if sides == 1:  # the range is that of the metric, not of numerators and denominators
            wrong |= (numbers < self.low) | (numbers > self.high)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            where = f"{unit} {first + 1}" if n > 1 else unit
            raise self.refused(self._broken_rule(float(numbers[first]), where))
        return numbers

    def _broken_rule(self, value: float, where: str) -> str:
        """The rule that a number breaks, for the error."""
        if np.isnan(value):
            return (
                f"must be a number, got nan ({where}); say where it is undefined: undefined='...'"
            )
        if np.isinf(value):
            return f"must be finite, got {value} ({where})"
        declared = f"{self.low:g} and {self.high:g}, as declared"
        return f"must be within {declared}, got {value:g} ({where})"

    def refused(self, reason: str) -> ParameterError:
        """The error of this metric."""
        return ParameterError(f"metrics: {self.name} {reason}")


def _floats(result: Any) -> Floats:
    """Numbers and booleans as floats, and masked elements as NaN. Raises TypeError for text, times
    and complex numbers.
    """
    array = np.ma.asarray(result) if isinstance(result, np.ma.MaskedArray) else np.asarray(result)
    has_texts = array.dtype.kind == "O" and any(isinstance(value, str) for value in array.flat)
    numbers_or_objects = "biufO"  # numpy's letters of booleans, integers, floats and objects
    if array.dtype.kind not in numbers_or_objects or result is None or has_texts:
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
    return f"{type(value).__name__} {text[:60]}{'…' if len(text) > 60 else ''}"


def names_of(call: Callable[..., Any]) -> dict[str, bool]:
    """The names of a function's arguments, each with True if it has no default."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        raise ParameterError(
            f"metrics: an own metric must be a function, got {_short(call)}"
        ) from None
    names = {}
    for p in parameters:
        is_starred = p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        names[str(p) if is_starred else p.name] = p.default is p.empty  # str has the stars
    return names


def arguments_of(
    name: str, call: Callable[..., Any], known: Collection[str], *, columns: bool
) -> tuple[str, ...]:
    """The arguments of a function that are in `known`, and those without a default that may be
    further columns.

    Raises ParameterError for any other argument without a default, and for a function without an
    argument in `known`, if `known` has any.
    """
    names = names_of(call)
    arguments = tuple(argument for argument, needed in names.items() if needed or argument in known)
    unknown = [argument for argument in arguments if argument not in known]
    wrong = [argument for argument in unknown if not (columns and argument.isidentifier())]
    # one of the known arguments is needed, or where there are none any argument
    enough = not {*arguments}.isdisjoint(known) if known else bool(arguments)
    if wrong or not enough:
        rule = ", ".join(known) or "columns of numbers"
        got = ", ".join(wrong or names) or "none"
        raise ParameterError(f"metrics: the arguments of {name} must be of: {rule}; got {got}")
    return arguments


class Input:
    """The data that a function may use: its possible arguments, and the kinds of metrics that can
    be made of it.

    unit: the thing that has one number, such as "row". structures: the tables of the catalogue that
    its metrics belong to. reads: how each argument is read from a structure, such as `Rows`.
    columns: True if an argument can be a further column of the input. cut: "may" or "never" carry
    @k.
    """

    unit: ClassVar[str]
    structures: ClassVar[tuple[str, ...]]
    reads: ClassVar[Mapping[str, Callable[[Any], Any]]]
    columns: ClassVar[bool] = False
    cut: ClassVar[str] = "never"

    def values(self, structure: Any, function: Function) -> Mapping[str, Any]:
        """The arguments of a function."""
        return {name: self.reads[name](structure) for name in function.arguments}

    def results(
        self, function: Function, structure: Any, k: int | None, level: float, sides: int
    ) -> list[Floats]:
        """One array with a number per unit, or with two `sides` numerators and denominators."""
        values = self.values(structure, function)
        n = len(next(iter(values.values())))
        return function.arrays(values, n, sides, self.unit)

    def mean(self, function: Function) -> Kind:
        """The mean of one number per unit."""

        def values(structure: Any, k: int | None, level: float) -> Floats:
            """The number of each unit."""
            (numbers,) = self.results(function, structure, k, level, sides=1)
            return numbers

        return PerUnit(values)

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums of two numbers per unit."""

        def terms(structure: Any, k: int | None, level: float) -> Sums:
            """The numerator and the denominator of each unit."""
            numerator, denominator = self.results(function, structure, k, level, sides=2)
            return Sums(numerator, denominator)

        return Ratio(terms)


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

    def values(self, structure: Rows, function: Function) -> Mapping[str, Any]:
        """The arguments of a function. Raises ParameterError for a column that a report does not
        read.
        """
        missing = [name for name in function.columns if name not in structure.columns]
        if missing:
            near = did_you_mean(missing[0], self.reads)
            raise function.refused(
                f"needs the column {missing[0]!r}, which this report does not read{near}"
            )
        values = {name: structure.columns[name] for name in function.columns}
        for name in function.arguments:
            if name in self.reads:
                values[name] = self.reads[name](structure)
        return values

    def mean(self, function: Function) -> Kind:
        """The mean over rows, weighted where rows have weights."""

        def loss(rows: Rows, k: int | None) -> Floats:
            """The number of each row."""
            (numbers,) = self.results(function, rows, k, level=1, sides=1)
            return numbers

        return Loss(loss, partial=True)

    def ratio(self, function: Function) -> Kind:
        """The ratio of the sums over rows, weighted where rows have weights."""
        return RatioOfRows(lambda rows: self.results(function, rows, k=None, level=1, sides=2))


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
        """The columns."""
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
        self, function: Function, r: rankings.Rankings, k: int | None, level: float, sides: int
    ) -> list[Floats]:
        """One array with a number per query, or with two `sides` numerators and denominators."""
        calls = (self.values(ranked, function) for ranked in _ranked_lists(r, k, level))
        return function.rows(calls, n=len(r), sides=sides, unit=self.unit)


def _ranked_lists(r: rankings.Rankings, k: int | None, level: float) -> Iterator[RankedList]:
    """The list of each query, up to rank k."""
    retrieved = r.retrieved
    ideal = r.ideal
    for i in range(len(r)):
        start = retrieved.offset[i]
        end = retrieved.offset[i + 1]
        ranks = retrieved.rank[start:end]
        if k is not None:  # ranks may have gaps
            ranks = ranks[: int(np.searchsorted(ranks, k, side="right"))]
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
        """The number. Raises ParameterError if the function raises or returns anything else."""
        values = {}
        for name in self.function.arguments:
            if name == WEIGHTS:
                values[name] = rows.weights
            elif name in TRUTHS:
                values[name] = rows.actual if self.of_forecasts else rows.actual.astype(np.int64)
            elif name in SCORES or self.of_forecasts or self.takes_probabilities:
                values[name] = rows.scores
            else:
                values[name] = rows.predicted.astype(np.int64)
        if rows.weight is not None and WEIGHTS not in values:
            raise self.function.refused(f"takes no {WEIGHTS}, and the rows have weights")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of samples where the number is undefined
            number = self.function.number(self.function(values), "of the rows")
        return number if np.isnan(number) else self.function.checked(number, "of the rows")

    @property
    def takes_probabilities(self) -> bool:
        """True for a function of scikit-learn whose predictions are probabilities."""
        called = getattr(self.function.call, "func", self.function.call)  # of a partial
        is_of_sklearn = str(getattr(called, "__module__", "")).startswith("sklearn.")
        return is_of_sklearn and called.__name__ in OF_PROBABILITIES


# the first is taken for a function without an argument of any
INPUTS = (ColumnInput(), RowInput(), ListInput(), UserInput())


# Metrics of functions -----------------------------------------------------------------------------

Direction = Literal["high", "low", "neither"]


class About(TypedDict, total=False):
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
        of_rows = isinstance(self.kind, Resampled) and not self.needs
        return self.kind.uses_decisions or of_rows or "predicted" in self.arguments

    def at(self, k: int) -> Chosen:
        """The metric of the first k items of each list, like `ndcg@10`."""
        if not _is_whole(k) or k < 1:
            raise ParameterError(
                f"metrics: the k of {self.name}.at(k) must be a whole number of at least 1, got "
                f"{k!r}"
            )
        return Chosen(self, int(k))


Declared = Callable[[Callable[..., Any]], OwnMetric]
Declaring = TypeVar("Declaring", bound=Callable[..., Declared])
SHARE_ARGUMENTS = ("label", "predicted")
COUNTS = ("tp", "fp", "fn", "tn")


# Declaring ----------------------------------------------------------------------------------------


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _checked(declaring: Declaring) -> Declaring:
    """The same decorator with checks of its arguments. It refuses a missing pair of parentheses, an
    unknown argument, and a value of the wrong type.
    """

    @wraps(declaring)
    def checked(*positional: Any, **about: Any) -> Declared:
        """Check the description, and declare."""
        if positional:  # the function itself, where the parentheses are missing
            raise ParameterError(
                f"metrics: declare a function by @ek.{declaring.__name__}(), with parentheses"
            )
        unknown = [name for name in about if name not in About.__annotations__]
        if unknown:
            has = ", ".join(About.__annotations__)
            raise ParameterError(
                f"metrics: ek.{declaring.__name__} has no argument {unknown[0]!r}, it has {has}"
            )
        for name, value in about.items():
            argument = f"metrics: {name} of ek.{declaring.__name__}"
            if name in ("low", "high"):
                if not isinstance(value, Real):
                    raise ParameterError(f"{argument} must be a number, got {value!r}")
            elif not isinstance(value, str):
                raise ParameterError(f"{argument} must be text, got {value!r}")
        return declaring(**about)

    return checked  # type: ignore[return-value]  # the type of `declaring` is kept for editors


@_checked
def mean(**about: Unpack[About]) -> Declared:
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
    >>> Chosen(overshoot).value(Rows(np.array([1.0, 2.0]), np.array([3.0, 1.0])))
    1.0
    """

    return _declare_of_units(
        about, lambda source, function: source.mean(function), "mean per {unit}"
    )


@_checked
def ratio(**about: Unpack[About]) -> Declared:
    """Declare a ratio of two sums over units: the function returns a pair (numerator, denominator)
    per unit.

    Its arguments are those of `mean`. For rows it returns two arrays, for a ranked list two
    numbers.

    >>> from evalkit.metrics.rows import Rows
    >>> @ratio(best="low", low=0)
    ... def cost_per_alarm(label, predicted):
    ...     return 5.0 * (predicted & (label == 0)), predicted
    >>> Chosen(cost_per_alarm).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    2.5
    """

    return _declare_of_units(
        about, lambda source, function: source.ratio(function), "ratio of sums over {units}"
    )


@_checked
def share(**about: Unpack[About]) -> Declared:
    """Declare a share of rows, for two classes: the function returns which rows count, and which of
    them are hits.

    Its arguments are label and predicted, as booleans; it must work row by row.

    >>> from evalkit.metrics.rows import Rows
    >>> @share()
    ... def alarms_in_vain(label, predicted):
    ...     return predicted, ~label
    >>> Chosen(alarms_in_vain).value(Rows(np.array([1, 0, 0]), np.array([0.9, 0.8, 0.1])))
    0.5
    """
    description: About = {"low": 0.0, "high": 1.0, **about}
    return _declare_of_decisions(
        description,
        SHARE_ARGUMENTS,
        lambda function: Share.from_rule(_rule(function)),
        "share of rows",
    )


@_checked
def of_counts(**about: Unpack[About]) -> Declared:
    """Declare a smooth function of the confusion counts at the threshold, for two classes: tp, fp,
    fn, tn.

    It must be a rate: the same if all counts double.

    >>> from evalkit.metrics.rows import Rows
    >>> @of_counts(best="low", low=0)
    ... def cost(fp, fn, tp, tn):
    ...     return (fp + 5 * fn) / (tp + fp + fn + tn)
    >>> Chosen(cost).value(Rows(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.1])))
    2.0
    """
    return _declare_of_decisions(
        about,
        COUNTS,
        lambda function: Decision(partial(_rate, function)),
        "function of the four counts at the threshold",
    )


@_checked
def bootstrap(**about: Unpack[About]) -> Declared:
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
    >>> Chosen(largest).value(Rows(np.array([1, 0]), np.array([0.9, 0.8])))
    1.0
    """

    def declare_bootstrap(call: Callable[..., Any]) -> OwnMetric:
        """The metric of a function of all rows."""
        description: About = {"name": usual_name(call), **about}
        function = _function(call, _arguments_of_rows(call), description)
        of_rows = FunctionOfRows(function)
        metric = _metric(
            function,
            kind=Resampled(of_rows),
            structures=RowInput.structures,
            about=description,
            definition="by bootstrap",
        )
        takes_scores = of_rows.takes_probabilities or {*SCORES} & {*function.arguments}
        return replace(metric, needs="scores" if takes_scores else "")

    return declare_bootstrap


def _arguments_of_rows(call: Callable[..., Any]) -> tuple[str, ...]:
    """The names that a function of all rows has for the truth, the predictions and the weights: the
    first of each; where one of the first two is missing, all that it could have.
    """
    names = names_of(call)
    truths = [name for name in names if name in TRUTHS]
    predictions = [name for name in names if name in (*SCORES, *PREDICTIONS)]
    if not (truths and predictions):
        return (*TRUTHS, *SCORES, *PREDICTIONS, WEIGHTS)
    return (truths[0], predictions[0], WEIGHTS)


def usual_name(call: Callable[..., Any]) -> str:
    """The name of a function; of a partial one with the values of its arguments; of any other
    object that can be called that of its class.

    >>> from functools import partial
    >>> usual_name(partial(np.quantile, 0.5, method="lower"))
    'quantile_0_5_lower'
    """
    called = getattr(call, "func", call)
    name = getattr(called, "__name__", type(called).__name__)
    values = [*getattr(call, "args", ()), *getattr(call, "keywords", {}).values()]
    return re.sub(r"\W", "_", "_".join([name, *map(str, values)]))


def _rule(function: Function) -> Callable[[np.ndarray, np.ndarray], tuple[Bools, Bools]]:
    """The rule of a share: (label, predicted) -> which rows count, and which of them are hits."""

    def rule(label: np.ndarray, predicted: np.ndarray) -> tuple[Bools, Bools]:
        """The result of the user's function, checked."""
        values = {"label": label == 1, "predicted": predicted == 1}
        member, hit = function.arrays(values, len(label), sides=2, unit="row")
        for mask in (member, hit):
            if not np.isin(mask, (0, 1)).all():
                raise function.refused("must return a pair of booleans per row")
        return member == 1, hit == 1

    return rule


def _rate(function: Function, c: counts.Counts) -> float:
    """The function of the counts. Raises ParameterError if it changes with the number of rows."""
    counted = {name: np.float64(getattr(c, name)) for name in COUNTS}
    doubled_counts = {name: 2 * count for name, count in counted.items()}
    value = function.number(function(counted), "of the counts")
    doubled = function.number(function(doubled_counts), "of the counts")
    if not np.isclose(value, doubled, rtol=1e-9, atol=1e-12, equal_nan=True):
        got = f"got {value:g} and {doubled:g}"
        raise function.refused(
            f"must be a rate, the same if all counts double: {got}; divide by the rows"
        )
    return function.checked(value, "of the counts")


def _declare_of_decisions(
    about: About, known: tuple[str, ...], kind_of: Callable[[Function], Kind], definition: str
) -> Declared:
    """Declare a metric of the decisions for two classes. known: the arguments that its function may
    have. definition: what it is if the user does not say it.
    """

    def declare_of_decisions(call: Callable[..., Any]) -> OwnMetric:
        """The metric of a function."""
        function = _function(call, known, about)
        return _metric(function, kind_of(function), ("counts",), about, definition)

    return declare_of_decisions


def _declare_of_units(
    about: About, kind_of: Callable[[Input, Function], Kind], definition: str
) -> Declared:
    """Declare a metric of units, such as rows, ranked lists or users: the names of the function's
    arguments tell which.

    kind_of: (input, function) -> the kind of the metric. definition: what it is if the user does
    not say it, with {unit} or {units}.
    """

    def declare_of_units(call: Callable[..., Any]) -> OwnMetric:
        """The metric of a function, read from the input that has most of its arguments."""
        names = set(names_of(call))
        # the first of several inputs with as many
        source = max(INPUTS, key=lambda source: len(names.intersection(source.reads)))
        function = _function(call, tuple(source.reads), about, columns=source.columns)
        return _metric(
            function,
            kind=kind_of(source, function),
            structures=source.structures,
            about=about,
            definition=definition.format(unit=source.unit, units=plural(source.unit, 2)),
            cut=source.cut,
        )

    return declare_of_units


def _function(
    call: Callable[..., Any], known: tuple[str, ...], about: About, *, columns: bool = False
) -> Function:
    """The function with its checks. Raises ParameterError for a name, a direction or a range that
    cannot be.
    """
    name = str(about.get("name", getattr(call, "__name__", "")))
    if not name.isidentifier():
        raise ParameterError(
            f"metrics: name must be a word of letters, digits and _, got {name!r}; set name='...'"
        )
    low = float(about.get("low", -np.inf))
    high = float(about.get("high", np.inf))
    if not low < high:
        raise ParameterError(f"metrics: {name}: low must be below high, got {low:g} and {high:g}")
    if about.get("best", "high") not in ("high", "low", "neither"):
        raise ParameterError(
            f"metrics: {name}: best must be high, low or neither, got {about['best']!r}"
        )
    arguments = arguments_of(name, call, known, columns=columns)
    others = tuple(argument for argument in arguments if argument not in known)
    return Function(name, call, arguments, others, low, high, about.get("undefined", ""))


def _metric(
    function: Function,
    kind: Kind,
    structures: tuple[str, ...],
    about: About,
    definition: str,
    cut: str = "never",
) -> OwnMetric:
    """The row of the catalogue. definition: the beginning of its definition, if the function has no
    docstring. cut: "may" or "never" carry @k.
    """
    formula = f"{definition}: {function.name}({', '.join(function.arguments)})"
    docstring = (function.call.__doc__ or "").strip()
    if docstring:
        first_line = docstring.splitlines()[0]
        formula = first_line.rstrip(".")
    return OwnMetric(
        name=function.name,
        structure="own",
        kind=kind,
        formula=about.get("formula") or formula,
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


def load(
    file: str, name: str, of_function: Callable[[Callable[..., Any], str], OwnMetric]
) -> OwnMetric:
    """The metric of this name in a Python file, with the file's name and SHA-256.

    of_function: makes a metric of a plain function and its name. Raises ParameterError for a file
    that cannot be read or run, and for a name that is not a metric in it.
    """
    path = Path(file).expanduser()
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ParameterError(f"metrics: cannot read {file}: {error.strerror}") from None
    variables = _of_file(file, source)
    metrics = [key for key, value in variables.items() if isinstance(value, OwnMetric)]
    metric = variables.get(name)
    if callable(metric) and not isinstance(metric, OwnMetric | type):
        metric = of_function(metric, name)
    if not isinstance(metric, OwnMetric):
        declared = (
            "a function declared by ek.mean, ek.ratio, ek.share, ek.of_counts or ek.bootstrap, or "
            "any plain function f(y_true, y_pred)"
        )
        has = ", ".join(metrics) or f"none; a metric is {declared}"
        raise ParameterError(f"metrics: {file} has no metric {name!r}; it has {has}")
    sha256 = hashlib.sha256(source).hexdigest()
    equals = f"none, an own metric of {path.name}"
    return replace(metric, file=path.name, sha256=sha256, equals=equals)


@cache
def _of_file(file: str, source: bytes) -> dict[str, Any]:
    """The variables of a file by name."""
    # cached by file and content, so that a file that has changed is run again
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
