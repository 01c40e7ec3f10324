"""The parameters of a report as one frozen dataclass: each field has a kind, a default and one line of help.

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Report(Shared):
        ks: tuple[int, ...] = option(Integers(), "cut-offs of the curve")

The command line's help, the JSON schema and the docs are made from it; the signature of `read` and the parameters cell
of the notebook are held to it by a test.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeAlias

from evalkit.arrays import ParameterError
from evalkit.parameters import decisions, readers
from evalkit.parameters.decisions import Costs, Threshold

# What the arguments of `read` may be.
Tables: TypeAlias = str | PathLike[str] | Sequence[Any] | Any  # a path, folder, pattern, frame or batches, or several
Names: TypeAlias = str | Sequence[str]  # "a,b" or a list
Wholes: TypeAlias = str | int | Sequence[int]  # "1,5,10", a number or a list
Named: TypeAlias = str | Mapping[str, Any]  # "query=topic,item=sku" or a mapping

Schema = Mapping[str, Any]
UNKNOWN = "unknown"


class Kind(Protocol):
    """What a parameter may be: how a value is read and checked, how JSON schema, words and `read` say it."""

    @property
    def words(self) -> str:
        """What a value is, for the help and the docs."""

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""

    @property
    def accepts(self) -> str:
        """The type that the argument of `read` has."""

    def read(self, name: str, value: Any) -> Any:
        """Return the value, typed; raises ParameterError for a value that is not of this kind."""


@dataclass(frozen=True)
class Data:
    """Files or frames: a path, a folder, a pattern, a frame, or several of these; "a,b" and "[a, b]" are lists."""

    words: ClassVar[str] = "a path, folder or pattern, or several"
    accepts: ClassVar[str] = "Tables"
    schema: ClassVar[Schema] = {"type": ["string", "array"], "items": {"type": "string"}}

    def read(self, name: str, value: Any) -> Any:
        """Return the value, as a list if it is the text of one."""
        return readers.paths(name, value)


@dataclass(frozen=True)
class Text:
    """One text."""

    words: ClassVar[str] = "text"
    accepts: ClassVar[str] = "str"
    schema: ClassVar[Schema] = {"type": ["string", "number"]}

    def read(self, name: str, value: Any) -> str | None:
        """Return the text, None where none is given."""
        return readers.text(name, value)


@dataclass(frozen=True)
class Texts:
    """Texts separated by commas."""

    words: ClassVar[str] = "texts"
    accepts: ClassVar[str] = "Names"
    schema: ClassVar[Schema] = {"type": ["string", "array"], "items": {"type": "string"}}

    def read(self, name: str, value: Any) -> tuple[str, ...]:
        """Return the texts, none where None is given."""
        return tuple(readers.texts(name, value))


@dataclass(frozen=True)
class Pairs:
    """Texts by name, such as "query=topic,item=sku"."""

    words: ClassVar[str] = "pairs name=text"
    accepts: ClassVar[str] = "Named"
    schema: ClassVar[Schema] = {"type": ["string", "object"]}

    def read(self, name: str, value: Any) -> Mapping[str, str]:
        """Return the texts by name, none where None is given."""
        return readers.mapping(name, value)


@dataclass(frozen=True)
class CostPair:
    """The costs of a false positive and a false negative, "fp=1,fn=5"."""

    words: ClassVar[str] = "fp=number,fn=number"
    accepts: ClassVar[str] = "Named"
    schema: ClassVar[Schema] = {"type": ["string", "object"], "required": ["fp", "fn"]}

    def read(self, name: str, value: Any) -> Costs | None:
        """Return the costs, None where none are given."""
        return decisions.costs(name, value)


@dataclass(frozen=True)
class Cut:
    """A threshold of scores, or a rule that chooses it."""

    words: ClassVar[str] = decisions.FORMS
    accepts: ClassVar[str] = "str | float"
    schema: ClassVar[Schema] = {"type": ["string", "number"]}

    def read(self, name: str, value: Any) -> Threshold | None:
        """Return the threshold, None where none is given."""
        return decisions.threshold(name, value)


@dataclass(frozen=True)
class Shares:
    """Planned shares by arm, "a=1,b=1", or the word `unknown`."""

    words: ClassVar[str] = "pairs arm=number, or unknown"
    accepts: ClassVar[str] = "Named"
    schema: ClassVar[Schema] = {"type": ["string", "object"]}

    def read(self, name: str, value: Any) -> Mapping[str, float] | str | None:
        """Return the shares by arm, None where none are given."""
        if value is None or value == UNKNOWN:
            return value
        shares = readers.mapping(name, value)
        return {arm: _required(name, readers.number(name, share, above=0)) for arm, share in shares.items()}


@dataclass(frozen=True)
class Size:
    """A number of bytes, such as "2GB"."""

    least: int
    accepts: ClassVar[str] = "str"
    schema: ClassVar[Schema] = {"type": ["string", "integer"]}

    @property
    def words(self) -> str:
        """What a value is."""
        return f"a size of at least {self.least // 10**6}MB"

    def read(self, name: str, value: Any) -> int | None:
        """Return the bytes, None where no size is given."""
        return readers.size(name, value, self.least)


@dataclass(frozen=True)
class Folder:
    """A folder that exists."""

    words: ClassVar[str] = "a folder that exists"
    accepts: ClassVar[str] = "str"
    schema: ClassVar[Schema] = {"type": "string"}

    def read(self, name: str, value: Any) -> Path | None:
        """Return the path, None where no folder is given."""
        return readers.folder(name, value)


@dataclass(frozen=True)
class Choice:
    """One of the texts that are allowed."""

    allowed: tuple[str, ...]
    accepts: ClassVar[str] = "str"

    @property
    def words(self) -> str:
        """What a value is."""
        return "one of " + ", ".join(f'"{text}"' if "," in text else text for text in self.allowed)

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        return {"type": "string", "enum": list(self.allowed)}

    def read(self, name: str, value: Any) -> str | None:
        """Return the text, None where none is given."""
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
        """What a value is."""
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
        """Return the number, None where none is given."""
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
        """What a value is."""
        return f"a whole number of at least {self.least}" + (f" and at most {self.most}" if self.most else "")

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        return {"type": "integer", "minimum": self.least} | ({"maximum": self.most} if self.most else {})

    def read(self, name: str, value: Any) -> int | None:
        """Return the number, None where none is given."""
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
        """What a value is."""
        return f"whole numbers of at least {self.least}"

    @property
    def schema(self) -> Schema:
        """The JSON schema of a value."""
        return {"type": ["string", "integer", "array"], "items": {"type": "integer", "minimum": self.least}}

    def read(self, name: str, value: Any) -> tuple[int, ...]:
        """Return the numbers, each once and in order; none where None is given."""
        return tuple(sorted(set(readers.integers(name, value, self.least))))


# A class of parameters ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """A parameter: its kind and one line of help."""

    kind: Kind
    help: str


def option(kind: Kind, text: str, default: Any = None) -> Any:
    """Return a field of a parameters class: its kind, one line of help, its default. None means: not given."""
    return field(default=default, metadata={Option: Option(kind, text)})


def option_of(entry: Field[Any]) -> Option:
    """The kind and the help of a field."""
    return entry.metadata[Option]  # type: ignore[no-any-return,call-overload]


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameters:
    """The base of the parameters of a report, which are the fields that `option` makes.

    given: the values as the user gave them, of the parameters that are not at their default.
    """

    given: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def options(cls) -> dict[str, Field[Any]]:
        """The fields that are parameters, by name: the report's own first, then those of each mixin."""
        own = {entry.name: entry for entry in fields(cls) if Option in entry.metadata}
        names = dict.fromkeys(name for base in cls.__mro__ for name in inspect.get_annotations(base))
        return {name: own[name] for name in names if name in own}

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """Return the parameters read from raw values; those that `raw` lacks have their default.

        Raises ParameterError for values that their kinds refuse, all in one message, for None where the default is a
        value, and for unknown names.
        """
        options = cls.options()
        readers.refuse_unknown(raw, options)
        given = {name: value for name, value in raw.items() if not _same(value, options[name].default)}
        return cls(**_read(options, {name: entry.default for name, entry in options.items()} | dict(raw)), given=given)

    def filled(self, values: Mapping[str, Any]) -> Self:
        """Return the parameters with these raw values for those that were not given."""
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
