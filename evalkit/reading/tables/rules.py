"""Rules of columns: what a value must be, as the text of the error, as a numpy function and in
SQL.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evalkit.arrays import LARGEST, Bools, Floats, InputError
from evalkit.numbers import cut, exact
from evalkit.reading.tables import duck
from evalkit.reading.tables.columns import facts

if TYPE_CHECKING:
    from evalkit.reading.tables.parts import InputPart

LONGEST = 1000  # bytes of a name; a page repeats names often
HIGHEST = 2**53  # above it a double does not hold every whole number
MOST_WEIGHT, LEAST_WEIGHT = 1e12, 1e-100


class BrokenRule(InputError):
    """A block contains an invalid value; the reader of the blocks then finds its file and row."""


@dataclass(frozen=True)
class ColumnRule:
    """A rule that the reader of a column checks itself. text: the part of the error after "must".
    hint: the advice at the end of the error.
    """

    text: str
    hint: str = ""

    def shown(self, got: Any) -> str:
        """A value as the error writes it; None is an empty cell."""
        if got is None:
            return "nothing"
        return cut(got) if isinstance(got, str) else exact(got)

    def error(self, where: str, column: str, got: Any, row: int) -> InputError:
        """The error for one value of a column. Row 0 has no number."""
        hint = f"; {self.hint}" if self.hint else ""
        return InputError(
            f"{where}: {column} must {self.text}, got {self.shown(got)}{at(row)}{hint}"
        )

    def of(
        self, locate: "Callable[[int], tuple[InputPart, int]]", column: str, row: int, got: str
    ) -> InputError:
        """The error for a row of all parts, which `locate` finds in its own part."""
        part, number = locate(row)
        return self.error(part.name, column, got, number)


@dataclass(frozen=True, kw_only=True)
class ValueRule(ColumnRule):
    """A rule for the values of a column. breaks: numbers, or Arrow text -> True if invalid.

    sql: the SQL condition of an invalid value {x}; {finite} is the test that it is finite, {real}
    that it is not NaN, {bytes} its length. optional: True if a cell may be empty.
    """

    breaks: Callable[[Any], Bools]
    sql: str
    optional: bool = False

    def wrong(self, role: str, dialect: duck.Dialect) -> str:
        """The SQL condition that a value of a role is invalid."""
        x = dialect.quote(role)
        return self.sql.format(
            x=x, finite=dialect.finite(role), real=dialect.real.format(x), bytes=dialect.bytes(role)
        )


@dataclass(frozen=True, kw_only=True)
class TextRule(ValueRule):
    """A rule for texts."""


class LengthRule(TextRule):
    """The bound on texts that a page repeats."""

    def shown(self, got: Any) -> str:
        """The number of bytes, and how the text begins."""
        return f"{len(got.encode(errors='replace')):,}, beginning with {got[:40]!r}"


def at(row: int) -> str:
    """The end of an error that names a row; "" for row 0, which has no number."""
    return f" (row {row})" if row else ""


def empty(values: Any) -> Bools:
    """A mask of the empty cells (nulls) of an Arrow array."""
    if not values.null_count:
        return np.broadcast_to(np.False_, len(values))
    return np.asarray(values.is_null())


def is_long(texts: Any) -> Bools:
    """A mask of the texts of an Arrow array that are too long for a page to repeat: more than
    `LONGEST` bytes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    distinct = texts.dictionary if pa.types.is_dictionary(texts.type) else texts
    if (pc.max(pc.binary_length(distinct)).as_py() or 0) <= LONGEST:
        return np.broadcast_to(np.False_, len(texts))
    size = pc.fill_null(pc.binary_length(texts.cast(distinct.type)), 0)
    return np.asarray(size) > LONGEST


_RESCALE = "multiply all weights by the same number; no result depends on their scale"
PRESENT = TextRule("not be empty", breaks=empty, sql="{x} IS NULL")
SHORT = LengthRule(
    f"have at most {LONGEST:,} bytes",
    "write nested JSON as rows with a plain column for each value",
    breaks=is_long,
    sql=f"{{bytes}} > {LONGEST}",
    optional=True,
)
FINITE = ValueRule(
    "be a finite number", breaks=lambda x: ~np.isfinite(x), sql="{x} IS NULL OR NOT ({finite})"
)
FINITE_OR_EMPTY = ValueRule(
    "be a finite number or empty",
    breaks=lambda x: ~np.isfinite(x),
    sql="NOT ({finite})",
    optional=True,
)
FINITE_OR_NONE = ValueRule(
    "be finite or empty", breaks=np.isinf, sql="NOT ({finite}) AND ({real})", optional=True
)
MEASURABLE = ValueRule(
    f"lie within ±{LARGEST:g}",
    breaks=lambda x: np.abs(x) > LARGEST,
    sql=f"{{finite}} AND abs({{x}}) > {LARGEST!r}",
)
RANK = ValueRule(
    "be a whole number of at least 1",
    breaks=lambda x: (x < 1) | (x != np.floor(x)),
    sql="{x} < 1 OR {x} % 1 <> 0",
)
COUNTABLE = ValueRule(
    f"be at most {HIGHEST}", breaks=lambda x: x > HIGHEST, sql=f"{{x}} > {HIGHEST}"
)
ZERO_OR_ONE = ValueRule(
    "be 0 or 1", breaks=lambda x: (x != 0) & (x != 1), sql="{x} <> 0 AND {x} <> 1"
)
PASS_OR_FAIL = ValueRule(
    "be 0, 1 or empty",
    "pass@k and pass^k count the draws that pass",
    breaks=lambda x: (x != 0) & (x != 1) & ~np.isnan(x),
    sql="{x} <> 0 AND {x} <> 1 AND ({real})",
    optional=True,
)
PROBABILITY = ValueRule(
    "be a probability between 0 and 1",
    breaks=lambda x: (x < 0) | (x > 1),
    sql="{x} < 0 OR {x} > 1",
)
NOT_NEGATIVE = ValueRule("be 0 or more", breaks=lambda x: x < 0, sql="{x} < 0")
NO_HUGE_WEIGHT = ValueRule(
    f"be at most {MOST_WEIGHT:g}",
    _RESCALE,
    breaks=lambda x: x > MOST_WEIGHT,
    sql=f"{{x}} > {MOST_WEIGHT!r}",
)
NO_TINY_WEIGHT = ValueRule(
    f"be 0 or at least {LEAST_WEIGHT:g}",
    _RESCALE,
    breaks=lambda x: (x > 0) & (x < LEAST_WEIGHT),
    sql=f"{{x}} > 0 AND {{x}} < {LEAST_WEIGHT!r}",
)

Rules = tuple[ValueRule, ...]
TEXT: Rules = (PRESENT,)
NAME: Rules = (PRESENT, SHORT)  # of a system, a class or a group
LABELS: Rules = (SHORT,)
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
    "name": NAME,
    "name or empty": LABELS,
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

    per_system: each system has a column of its own, in wide tables `<name>_<system>`. required: an
    error if it is missing. plain: maps texts with the same meaning to one text.
    """

    name: str
    rules: Rules = TEXT
    per_system: bool = False
    required: bool = False
    plain: Callable[[str], str] = str

    @classmethod
    def declared(
        cls,
        name: str,
        *,
        per_system: bool = False,
        required: bool = False,
        plain: Callable[[str], str] = str,
    ) -> Self:
        """A role of `roles.toml`, with the rules of its content there."""
        return cls(name, CONTENT[facts("roles")[name]["content"]], per_system, required, plain)

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
        return bool(self.rules) and not isinstance(self.rules[0], TextRule)

    def check(self, values: Any, part: "InputPart | None", before: int | None = 0) -> Any:
        """The values of an Arrow array that keep the rules: texts as they are, numbers as numpy has
        them, with NaN for empty cells.

        part: where the values stand; None if that is not known. before: rows of the part that came
        earlier; None if they have no numbers. Raises InputError for the first value that breaks
        the first rule that any value breaks; BrokenRule if the part is not known.
        """
        checked = doubles(values) if self.is_number else values
        for rule in self.rules:
            is_broken = rule.breaks(checked)
            if rule.optional:
                is_broken = is_broken & ~empty(values)
            if is_broken.any():
                if part is None:
                    raise BrokenRule(f"{self.column} must {rule.text}")
                row = int(is_broken.argmax())
                number = 0 if before is None else before + row + 1
                raise rule.error(part.name, self.column, values[row].as_py(), number)
        if not self.is_number or checked.dtype.kind == "i" or checked.all():
            return checked
        return checked + 0.0  # −0.0 and 0.0 are one number


@dataclass(frozen=True)
class RoleColumn:
    """A column that is read, and its role.

    system: the number of the system that it belongs to, 0 for that of the row in a long table; None
    if all systems share it.
    """

    role: str
    field: Field
    system: int | None = None

    @property
    def key(self) -> str:
        """The name of the column while it is read."""
        return self.role if self.system is None else f"{self.role} {self.system}"


Fields = Mapping[str, Field]  # by the role that a column has while it is read


def columns_by_type(fields: Fields) -> tuple[dict[str, str], dict[str, str]]:
    """Role -> column of the texts among some columns, and of the numbers."""
    text = {role: column.column for role, column in fields.items() if not column.is_number}
    return text, {role: column.column for role, column in fields.items() if column.is_number}


def doubles(values: Any) -> Floats:
    """An Arrow array of doubles as numpy, with NaN for empty cells."""
    if not values.null_count:
        return np.asarray(values)
    numbers: Floats = values.to_numpy(zero_copy_only=False)
    return numbers


# Precision ----------------------------------------------------------------------------------------


Precision = np.dtype[np.floating[Any]]
HALF, SINGLE, DOUBLE = (np.dtype(f"float{bits}") for bits in (16, 32, 64))
WORDS = {
    HALF: "half precision (float16)",
    SINGLE: "single precision (float32)",
    DOUBLE: "double precision (float64)",
}
STORED = {"halffloat": HALF, "float": SINGLE}  # Arrow's names; float is Spark's name too


def precision_of(part: "InputPart", column: str) -> Precision:
    """The floating-point type in which a part stores the numbers of a column; double precision for
    whole numbers and text.
    """
    return STORED.get(part.stored.get(column, ""), DOUBLE)


def widest(precisions: Iterable[Precision]) -> Precision:
    """The type that holds the numbers of all of these, as pandas stores such columns when it
    concatenates them.

    >>> widest([HALF, SINGLE])
    dtype('float32')
    """
    return max(precisions, key=lambda precision: precision.itemsize, default=DOUBLE)


def rounded(threshold: float, to: Precision) -> float:
    """The threshold in this precision, so that score >= threshold gives what numpy finds in the
    column.

    >>> rounded(0.7, SINGLE), rounded(0.7, DOUBLE)
    (0.699999988079071, 0.7)
    """
    with np.errstate(over="ignore"):
        return float(to.type(threshold))
