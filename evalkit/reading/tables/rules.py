"""Rules of columns: what a value must be, as the text of the error, as a numpy function and in
SQL.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from evalkit.arrays import LARGEST, Bools, Floats, InputError
from evalkit.numbers import cut, exact
from evalkit.reading.tables import duck
from evalkit.reading.tables.columns import facts
from evalkit.reading.tables.parts import Part, at

HIGHEST = 2**53  # above it a double does not hold every whole number
MOST_WEIGHT, LEAST_WEIGHT = 1e12, 1e-100


class BrokenRule(InputError):
    """A block contains an invalid value; the reader of the blocks then finds its file and row."""


@dataclass(frozen=True)
class ValueRule:
    """A rule for the values of a column. text: the part of the error after "must". breaks: numbers
    -> True if invalid.

    sql: the SQL condition of an invalid value {x}; {finite} is the test that it is finite, {real}
    that it is not NaN, {bytes} its length. optional: True if a cell may be empty. hint: the advice
    at the end of the error.
    """

    text: str
    breaks: Callable[[Floats], Bools] | None
    sql: str
    hint: str = ""
    optional: bool = False

    def wrong(self, role: str, dialect: duck.Dialect) -> str:
        """The SQL condition that a value of a role is invalid."""
        x = dialect.quote(role)
        return self.sql.format(
            x=x, finite=dialect.finite(role), real=dialect.real.format(x), bytes=dialect.bytes(role)
        )

    def error(self, part: Part, column: str, got: Any, row: int) -> InputError:
        """The error for one value of a column. None is an empty cell, and row 0 has no number."""
        value = "nothing" if got is None else cut(got) if isinstance(got, str) else exact(got)
        hint = f"; {self.hint}" if self.hint else ""
        return InputError(f"{part.name}: {column} must {self.text}, got {value}{at(row)}{hint}")

    def of(
        self, locate: Callable[[int], tuple[Part, int]], column: str, row: int, got: str
    ) -> InputError:
        """The error for a row of all parts, which `locate` finds in its own part."""
        part, number = locate(row)
        return self.error(part, column, got, number)


_RESCALE = "multiply all weights by the same number; no result depends on their scale"
PRESENT = ValueRule("not be empty", None, "{x} IS NULL")
SHORT = ValueRule(f"have at most {duck.LONGEST:,} bytes", None, f"{{bytes}} > {duck.LONGEST}")
FINITE = ValueRule("be a finite number", lambda x: ~np.isfinite(x), "{x} IS NULL OR NOT ({finite})")
FINITE_OR_EMPTY = ValueRule(
    "be a finite number or empty", lambda x: ~np.isfinite(x), "NOT ({finite})", optional=True
)
FINITE_OR_NONE = ValueRule(
    "be finite or empty", np.isinf, "NOT ({finite}) AND ({real})", optional=True
)
MEASURABLE = ValueRule(
    f"lie within ±{LARGEST:g}",
    lambda x: np.abs(x) > LARGEST,
    f"{{finite}} AND abs({{x}}) > {LARGEST!r}",
)
RANK = ValueRule(
    "be a whole number of at least 1",
    lambda x: (x < 1) | (x != np.floor(x)),
    "{x} < 1 OR {x} % 1 <> 0",
)
COUNTABLE = ValueRule(f"be at most {HIGHEST}", lambda x: x > HIGHEST, f"{{x}} > {HIGHEST}")
ZERO_OR_ONE = ValueRule("be 0 or 1", lambda x: (x != 0) & (x != 1), "{x} <> 0 AND {x} <> 1")
PASS_OR_FAIL = ValueRule(
    "be 0, 1 or empty",
    lambda x: (x != 0) & (x != 1) & ~np.isnan(x),
    "{x} <> 0 AND {x} <> 1 AND ({real})",
    "pass@k and pass^k count the draws that pass",
    optional=True,
)
PROBABILITY = ValueRule(
    "be a probability between 0 and 1", lambda x: (x < 0) | (x > 1), "{x} < 0 OR {x} > 1"
)
NOT_NEGATIVE = ValueRule("be 0 or more", lambda x: x < 0, "{x} < 0")
NO_HUGE_WEIGHT = ValueRule(
    f"be at most {MOST_WEIGHT:g}", lambda x: x > MOST_WEIGHT, f"{{x}} > {MOST_WEIGHT!r}", _RESCALE
)
NO_TINY_WEIGHT = ValueRule(
    f"be 0 or at least {LEAST_WEIGHT:g}",
    lambda x: (x > 0) & (x < LEAST_WEIGHT),
    f"{{x}} > 0 AND {{x}} < {LEAST_WEIGHT!r}",
    _RESCALE,
)

Rules = tuple[ValueRule, ...]
TEXT: Rules = (PRESENT,)
ANY: Rules = ()
NUMBER: Rules = (FINITE,)
MEASURED: Rules = (FINITE, MEASURABLE)
VALUES: Rules = (FINITE_OR_NONE, MEASURABLE)
RANKS: Rules = (FINITE, RANK, COUNTABLE)
FLAGS: Rules = (FINITE, ZERO_OR_ONE)
PASSED: Rules = (PASS_OR_FAIL,)
PROBABILITIES: Rules = (FINITE, PROBABILITY)
WEIGHTS: Rules = (FINITE, NOT_NEGATIVE, NO_HUGE_WEIGHT, NO_TINY_WEIGHT)


CONTENT: Mapping[str, Rules] = {  # what roles.toml calls them
    "text": TEXT,
    "short text": (SHORT,),
    "number": NUMBER,
    "measured": MEASURED,
    "rank": RANKS,
    "grade": (FINITE_OR_EMPTY,),
    "weight": WEIGHTS,
    "amount or empty": (FINITE_OR_EMPTY, NOT_NEGATIVE),
    "share or empty": (FINITE_OR_EMPTY, PROBABILITY),
}


@dataclass(frozen=True)
class Role:
    """The use of a column: its name among `columns`, the rules of its values, in order, and whether
    it is required.

    own: each system has its own column, in wide tables `<name>_<system>`. required: an error if it
    is missing. plain: maps texts with the same meaning to one text.
    """

    name: str
    rules: Rules = TEXT
    own: bool = False
    required: bool = False
    plain: Callable[[str], str] = str

    @classmethod
    def declared(
        cls,
        name: str,
        *,
        own: bool = False,
        required: bool = False,
        plain: Callable[[str], str] = str,
    ) -> Self:
        """A role of `roles.toml`, with the rules of its content there."""
        return cls(name, CONTENT[facts("roles")[name]["content"]], own, required, plain)

    def field(self, column: str) -> "Field":
        """A column of this role."""
        return Field(column, self.rules, self.plain)


@dataclass(frozen=True)
class Field:
    """A column of a part, and the rules of its values; texts that may be empty have no rules.
    plain: as in a role.
    """

    column: str
    rules: Rules = TEXT
    plain: Callable[[str], str] = str

    @property
    def is_number(self) -> bool:
        """True if it is read as doubles."""
        return any(rule.breaks for rule in self.rules)

    def checked(self, values: Any, part: Part | None, before: int | None = 0) -> Any:
        """An Arrow array that keeps the rules: text as it is, doubles as numpy has them, NaN if one
        is empty.

        before: rows of the part that came earlier; None if they have no numbers. Raises InputError
        for the first value that breaks the first rule that any value breaks, and Refused where the
        part is not known.
        """
        if not self.is_number:
            if PRESENT in self.rules and values.null_count:
                raise self._error(PRESENT, part, None, _first(_empty(values)), before)
            return values
        numbers, empty = doubles(values)
        for rule in self.rules:
            assert rule.breaks is not None
            wrong = rule.breaks(numbers)
            wrong = wrong & ~empty if rule.optional else wrong
            if wrong.any():
                row = _first(wrong)
                raise self._error(rule, part, None if empty[row] else numbers[row], row, before)
        if numbers.dtype.kind == "i" or numbers.all():
            return numbers
        return numbers + 0.0  # −0.0 and 0.0 are one number

    def _error(
        self, rule: ValueRule, part: Part | None, got: Any, row: int, before: int | None
    ) -> InputError:
        if part is None:
            return BrokenRule(f"{self.column} must {rule.text}")
        return rule.error(part, self.column, got, 0 if before is None else before + row + 1)


Fields = Mapping[str, Field]  # by the role that a column has while it is read


def column_key(role: str, system: int) -> str:
    """The name, while it is read, of a column that a system has of its own."""
    return f"{role} {system}"


def split(fields: Fields) -> tuple[dict[str, str], dict[str, str]]:
    """The columns of text and of numbers by role."""
    text = {role: column.column for role, column in fields.items() if not column.is_number}
    return text, {role: column.column for role, column in fields.items() if column.is_number}


def doubles(values: Any) -> tuple[Floats, Bools]:
    """An Arrow array of doubles as numpy, with NaN for empty cells, and a mask of these."""
    if not values.null_count:
        return np.asarray(values), np.broadcast_to(np.False_, len(values))
    return values.to_numpy(zero_copy_only=False), _empty(values)


def _empty(values: Any) -> Bools:
    return np.asarray(values.is_null())


def _first(wrong: Bools) -> int:
    return int(wrong.argmax())


# Precision ----------------------------------------------------------------------------------------


Precision = np.dtype[np.floating[Any]]
HALF, SINGLE, DOUBLE = (np.dtype(f"float{bits}") for bits in (16, 32, 64))
WORDS = {
    HALF: "half precision (float16)",
    SINGLE: "single precision (float32)",
    DOUBLE: "double precision (float64)",
}
STORED = {"halffloat": HALF, "float": SINGLE}  # Arrow's names; float is Spark's name too


def of(part: Part, column: str) -> Precision:
    """The precision of a column's numbers: float16, float32, or float64, which whole numbers and
    text have as well.
    """
    return STORED.get(part.stored.get(column, ""), DOUBLE)


def widest(several: Iterable[Precision]) -> Precision:
    """The type that holds the values of all, as pandas stores such columns when it concatenates
    them.

    >>> widest([HALF, SINGLE])
    dtype('float32')
    """
    return max(several, key=lambda precision: precision.itemsize, default=DOUBLE)


def rounded(threshold: float, to: Precision) -> float:
    """The threshold in this precision, so that score >= threshold gives what numpy finds in the
    column.

    >>> rounded(0.7, SINGLE), rounded(0.7, DOUBLE)
    (0.699999988079071, 0.7)
    """
    with np.errstate(over="ignore"):
        return float(to.type(threshold))
