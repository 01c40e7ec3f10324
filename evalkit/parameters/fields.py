"""The parameters of a report as one frozen dataclass: each field has a kind, a default and one line of help.

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Report(Shared):
        ks: tuple[int, ...] = option(Integers(), "cut-offs of the curve")

The help of the command line, the JSON schema and the docs are generated from it; a test compares it with the signature
of `read` and with the parameters cell of the notebook.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import wraps
from os import PathLike
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

from evalkit.arrays import ParameterError
from evalkit.parameters import decisions, readers
from evalkit.parameters.arrays import Arrays, InPython

# What the arguments of `read` may be.
Tables: TypeAlias = str | PathLike[str] | Sequence[Any] | Any  # a path, folder, pattern, frame or batches, or several
Names: TypeAlias = str | Sequence[str]  # "a,b" or a list
Metrics: TypeAlias = str | Sequence[Any]  # names, and functions declared by ek.mean, ek.ratio, ek.share, ek.of_counts
Wholes: TypeAlias = str | int | Sequence[int]  # "1,5,10", a number or a list
Columns: TypeAlias = Sequence[Any] | Any  # a list or an array, or a column of pandas, polars or Arrow
ColumnsOfEach: TypeAlias = Mapping[str, Any] | Sequence[Any] | Any  # a column, or a dict of columns by system
Named: TypeAlias = str | Mapping[str, Any]  # "query=topic,item=sku" or a mapping

Function = TypeVar("Function", bound=Callable[..., Any])
Schema = Mapping[str, Any]
UNKNOWN = "unknown"


class Kind(Protocol):
    """The kind of a parameter: how to read and check a value, and how to describe it."""

    @property
    def words(self) -> str:
        """A description of valid values, for the help and the docs."""

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""

    @property
    def accepts(self) -> str:
        """The type of the argument of `read`."""

    def read(self, name: str, value: Any) -> Any:
        """Return the value, typed. Raises ParameterError for a value that is not of this kind."""


@dataclass(frozen=True)
class Plain:
    """A kind without bounds: its words, the type that `read` accepts, its JSON schema and its reader."""

    words: str
    accepts: str
    schema: Schema
    reader: Callable[[str, Any], Any]

    def read(self, name: str, value: Any) -> Any:
        """Return the value, typed. Raises ParameterError if the reader refuses it."""
        return self.reader(name, value)


def _planned_shares(name: str, value: Any) -> Mapping[str, float] | str | None:
    """Planned shares by arm, or the word `unknown`; None if none are given."""
    if value is None or value == UNKNOWN:
        return value
    shares = readers.mapping(name, value)
    return {arm: _required(name, readers.number(name, share, above=0)) for arm, share in shares.items()}


LIST: Schema = {"type": ["string", "array"], "items": {"type": "string"}}
MAPPING: Schema = {"type": ["string", "object"]}
NUMBER_OR_TEXT: Schema = {"type": ["string", "number"]}

DATA = Plain("a path, folder or pattern, or several", "Tables", LIST, readers.paths)  # or frames and batches
TEXT = Plain("text", "str", NUMBER_OR_TEXT, readers.text)
TEXTS = Plain("texts", "Names", LIST, lambda name, value: tuple(readers.texts(name, value)))
METRICS = Plain("names of metrics, FILE.py:NAME of own ones", "Metrics", LIST, readers.metrics)
PAIRS = Plain("pairs name=text", "Named", MAPPING, readers.mapping)
COST_PAIR = Plain("fp=number,fn=number", "Named", {**MAPPING, "required": ["fp", "fn"]}, decisions.costs)
CUT = Plain(decisions.FORMS, "str | float", NUMBER_OR_TEXT, decisions.threshold)
SHARES = Plain("pairs arm=number, or unknown", "Named", MAPPING, _planned_shares)
YES_NO = Plain("yes or no", "str | bool", {"enum": ["yes", "no", True, False]}, readers.yes_or_no)
FOLDER = Plain("a folder that exists", "str", {"type": "string"}, readers.folder)


@dataclass(frozen=True)
class Size:
    """A number of bytes, such as "2GB"."""

    least: int
    accepts: ClassVar[str] = "str"
    schema: ClassVar[Schema] = {"type": ["string", "integer"]}

    @property
    def words(self) -> str:
        """A description of valid values."""
        return f"a size of at least {self.least // 10**6}MB"

    def read(self, name: str, value: Any) -> int | None:
        """Return the bytes, None if no size is given."""
        return readers.size(name, value, self.least)


@dataclass(frozen=True)
class Choice:
    """One of the allowed texts."""

    allowed: tuple[str, ...]
    accepts: ClassVar[str] = "str"

    @property
    def words(self) -> str:
        """A description of valid values."""
        return "one of " + ", ".join(f'"{text}"' if "," in text else text for text in self.allowed)

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        return {"type": "string", "enum": list(self.allowed)}

    def read(self, name: str, value: Any) -> str | None:
        """Return the text, None if none is given."""
        return readers.choice(name, value, self.allowed)


@dataclass(frozen=True)
class Number:
    """A finite number of at least `least`, and strictly between two bounds."""

    above: float = -math.inf
    below: float = math.inf
    least: float = -math.inf
    accepts: ClassVar[str] = "float"

    @property
    def words(self) -> str:
        """A description of valid values."""
        return f"a number of at least {self.least:g}" if math.isfinite(self.least) else self._range

    @property
    def _range(self) -> str:
        return readers.number_words(self.above, self.below)

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        bounds = {"exclusiveMinimum": self.above, "exclusiveMaximum": self.below, "minimum": self.least}
        return {"type": "number"} | {key: bound for key, bound in bounds.items() if math.isfinite(bound)}

    def read(self, name: str, value: Any) -> float | None:
        """Return the number, None if none is given."""
        number = readers.number(name, value, self.above, self.below)
        if number is not None and number < self.least:
            raise ParameterError(f"{name} must be {self.words}, got {value!r}")
        return number


@dataclass(frozen=True)
class Integer:
    """A whole number."""

    least: int = 1
    most: int | None = None
    accepts: ClassVar[str] = "int"

    @property
    def words(self) -> str:
        """A description of valid values."""
        return f"a whole number of at least {self.least}" + (f" and at most {self.most}" if self.most else "")

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        return {"type": "integer", "minimum": self.least} | ({"maximum": self.most} if self.most else {})

    def read(self, name: str, value: Any) -> int | None:
        """Return the number, None if none is given."""
        number = readers.integer(name, value, self.least)
        if number is not None and self.most is not None and number > self.most:
            raise ParameterError(f"{name} must be at most {self.most}, got {number}")
        return number


@dataclass(frozen=True)
class Integers:
    """Whole numbers, such as "1,5,10"."""

    least: int = 1
    accepts: ClassVar[str] = "Wholes"

    @property
    def words(self) -> str:
        """A description of valid values."""
        return f"whole numbers of at least {self.least}"

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        return {"type": ["string", "integer", "array"], "items": {"type": "integer", "minimum": self.least}}

    def read(self, name: str, value: Any) -> tuple[int, ...]:
        """Return the distinct numbers in ascending order, empty if none are given."""
        return tuple(sorted(set(readers.integers(name, value, self.least))))


# A class of parameters ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """A parameter: its kind and one line of help."""

    kind: Kind
    help: str


def option(kind: Kind, text: str, default: Any = None) -> Any:
    """Return a field of a parameters class with its kind, one line of help and its default. None means: not given."""
    return field(default=default, metadata={Option: Option(kind, text)})


def option_of(entry: Field[Any]) -> Option:
    """The kind and the help of a field."""
    return entry.metadata[Option]  # type: ignore[no-any-return,call-overload]


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameters:
    """The base of the parameters of a report: the fields from `option` are its parameters.

    given: the raw values of the parameters that are not at their default, as the user gave them.
    """

    given: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def options(cls) -> dict[str, Field[Any]]:
        """The fields that are parameters, by name: the report's own first, then those of each mixin."""
        own = {entry.name: entry for entry in fields(cls) if Option in entry.metadata}
        names = dict.fromkeys(name for base in cls.__mro__ for name in inspect.get_annotations(base))
        return {name: own[name] for name in names if name in own}

    @classmethod
    def arguments(cls) -> dict[str, Field[Any]]:
        """The fields that only `read` has: labels and predictions in memory, instead of a table."""
        return {entry.name: entry for entry in fields(cls) if InPython in entry.metadata}

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """Return the parameters read from raw values; those missing from `raw` have their default.

        Raises ParameterError for unknown names, and for all invalid values in one message; None is invalid if the
        default is not None.
        """
        options, arguments = cls.options(), cls.arguments()
        readers.refuse_unknown(raw, [*options, *arguments])
        defaults = {name: entry.default for name, entry in options.items()}
        changed = {name: value for name, value in raw.items() if not _same(value, defaults.get(name))}
        in_memory = {name: changed[name] for name in arguments if name in changed}
        stated = {name: value for name, value in raw.items() if name in options}
        if in_memory and "preds" in changed:
            raise ParameterError(f"preds and {next(iter(in_memory))}: give one, a table or arrays")
        beside = {}
        if in_memory and hasattr(unit := raw.get("unit"), "__len__") and not isinstance(unit, str):
            beside = {"unit": unit}
            stated["unit"] = changed["unit"] = "unit"
        values = _read(options, defaults | stated)
        if in_memory:
            values["preds"] = Arrays.of(arguments, in_memory, beside, values.get("positive"))
        return cls(**values, given=changed)

    @property
    def tables(self) -> list[Any]:
        """The inputs that were given: paths, frames, or several."""
        names = [name for name, entry in self.options().items() if option_of(entry).kind is DATA]
        return [table for name in names if (table := getattr(self, name)) is not None]

    def filled(self, values: Mapping[str, Any]) -> Self:
        """Return the parameters with these raw values in place of those at their default."""
        return replace(self, **_read(self.options(), {k: v for k, v in values.items() if k not in self.given}))


def _same(value: Any, default: Any) -> bool:
    """True if a raw value is the default; a frame or a list never is."""
    return (value is None or isinstance(value, str | int | float)) and value == default


def _read(options: Mapping[str, Field[Any]], raw: Mapping[str, Any]) -> dict[str, Any]:
    values, refused = {}, []
    for name, value in raw.items():
        try:
            values[name] = _read_one(options[name], value)
        except ParameterError as error:
            refused.append(str(error))
    if refused:
        raise ParameterError("; ".join(refused))
    return values


def _read_one(entry: Field[Any], value: Any) -> Any:
    read = option_of(entry).kind.read(entry.name, value)
    return read if entry.default is None else _required(entry.name, read)


def _required(name: str, value: Any) -> Any:
    if value is None:
        raise ParameterError(f"{name} must have a value, got None")
    return value


def documented(report: type[Parameters]) -> Callable[[Function], Function]:
    """Give `read` its public name, and its docstring a line for each argument, from the parameters of its report.

    Python's own errors then say `ranking()`, and an unknown argument is refused with the one that is nearest.
    """

    def with_arguments(read: Function) -> Function:
        lines = {name: entry.metadata[InPython].help for name, entry in report.arguments().items()}  # type: ignore[call-overload]
        lines |= {name: option_of(entry).help for name, entry in report.options().items()}
        known, public = inspect.signature(read).parameters, report.__name__.lower()
        arrays = list(report.arguments())[:2]  # labels and predictions, as scikit-learn's metrics take them

        @wraps(read)
        def named(*data: Any, **arguments: Any) -> Any:
            if unknown := next((name for name in arguments if name not in known), None):
                near = readers.did_you_mean(unknown, known)
                raise TypeError(f"{public}() got an unexpected keyword argument {unknown!r}{near}")
            if len(data) == len(arrays) == 2 and not isinstance(data[0], str | PathLike):
                return read(**dict(zip(arrays, data, strict=True)), **arguments)
            return read(*data, **arguments)

        named.__name__ = read.__qualname__ = public  # a pickle finds `named` by its own __qualname__, `read`
        named.__doc__ = f"{inspect.cleandoc(read.__doc__ or '')}\n\nArguments:\n\n" + "\n".join(
            f"{name}: {lines[name]}" for name in known
        )
        return named  # type: ignore[return-value]

    return with_arguments
