"""Rules of columns: what a value must be, as the text of the error, as a numpy function and in
SQL.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Union

import numpy as np

from evalkit.arrays import LARGEST, Bools, Floats, InputError
from evalkit.numbers import cut, exact
from evalkit.reading.tables import duck
from evalkit.reading.tables.columns import facts

if TYPE_CHECKING:
    import pyarrow as pa

    from evalkit.reading.tables.parts import InputPart

CellValue = str | float | None  # None for an empty cell
NO_ROW_NUMBER = 0  # in place of a row's number, from 1, where an engine does not number rows
LONGEST = 1000  # bytes of a name; a page repeats names often
HIGHEST = 2**53  # above it a double does not hold every whole number
MOST_WEIGHT, LEAST_WEIGHT = 1e12, 1e-100


class BrokenRule(InputError):
    """A block contains an invalid value; the reader of the blocks then finds its file and row."""


@dataclass(frozen=True)
class ColumnRule:
    """A rule that the reader of a column checks itself.

    text: what stands behind "must" in the error. hint: the advice at the end of the error.
    """

    text: str
    hint: str = ""

    def cell_text(self, got: CellValue) -> str:
        """A value as the error writes it; None is an empty cell."""
        if got is None:
            return "nothing"
        return cut(got) if isinstance(got, str) else exact(got)

    def error(self, where: str, column: str, got: CellValue, row: int) -> InputError:
        """The error for one value of a column.

        where: the file or table. row: the number of the row, from 1, or `NO_ROW_NUMBER`.
        """
        hint = f"; {self.hint}" if self.hint else ""
        return InputError(
            f"{where}: {column} must {self.text}, got {self.cell_text(got)}{row_suffix(row)}{hint}"
        )

    def located_error(
        self, locate: "Callable[[int], tuple[InputPart, int]]", column: str, row: int, got: str
    ) -> InputError:
        """The error for a row of all parts, which `locate` finds in its own part."""
        part, number = locate(row)
        return self.error(part.name, column, got, number)


@dataclass(frozen=True, kw_only=True)
class ValueRule(ColumnRule):
    """A rule for the values of a column. breaks: numbers, or Arrow text -> True if invalid.

    sql: the SQL condition of an invalid value {x}; {finite} is the test that it is finite, {real}
    that it is not NaN, {bytes} its length. allows_empty: True if a cell may be empty.
    """

    breaks: Callable[[Any], Bools]
    sql: str
    allows_empty: bool = False

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

    def cell_text(self, got: CellValue) -> str:
        """The number of bytes, and how the text begins."""
        text = str(got)
        return f"{len(text.encode(errors='replace')):,}, beginning with {text[:40]!r}"


def row_suffix(row: int) -> str:
    """The end of an error, which names the row; "" for `NO_ROW_NUMBER`."""
    return "" if row == NO_ROW_NUMBER else f" (row {row})"


def is_empty(values: "pa.Array") -> Bools:
    """A mask of the empty cells (nulls) of an Arrow array."""
    if not values.null_count:  # Arrow has counted them already
        return np.broadcast_to(np.False_, len(values))  # takes no memory
    return np.asarray(values.is_null())


def is_long(texts: "pa.Array") -> Bools:
    """A mask of the texts of an Arrow array that are too long for a page to repeat: more than
    `LONGEST` bytes.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # a column of Arrow's dictionary type stores each distinct text once: it is enough to measure it
    distinct_texts = texts
    if pa.types.is_dictionary(texts.type):
        distinct_texts = texts.dictionary
    longest = pc.max(pc.binary_length(distinct_texts)).as_py()  # None if all cells are empty
    if longest is None or longest <= LONGEST:
        return np.broadcast_to(np.False_, len(texts))  # takes no memory
    lengths = pc.binary_length(texts.cast(distinct_texts.type))  # of each row's text
    return np.asarray(pc.fill_null(lengths, 0)) > LONGEST


_RESCALE = "multiply all weights by the same number; no result depends on their scale"
PRESENT = TextRule("not be empty", breaks=is_empty, sql="{x} IS NULL")
SHORT = LengthRule(
    f"have at most {LONGEST:,} bytes",
    "write nested JSON as rows with a plain column for each value",
    breaks=is_long,
    sql=f"{{bytes}} > {LONGEST}",
    allows_empty=True,
)
FINITE = ValueRule(
    "be a finite number", breaks=lambda x: ~np.isfinite(x), sql="{x} IS NULL OR NOT ({finite})"
)
FINITE_OR_EMPTY = ValueRule(
    "be a finite number or empty",
    breaks=lambda x: ~np.isfinite(x),
    sql="NOT ({finite})",
    allows_empty=True,
)
FINITE_OR_NONE = ValueRule(
    "be finite or empty", breaks=np.isinf, sql="NOT ({finite}) AND ({real})", allows_empty=True
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
    allows_empty=True,
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
# texts of Arrow, or doubles of numpy
CheckedColumn = Union["pa.Array", Floats]
TEXT: Rules = (PRESENT,)
NAME: Rules = (PRESENT, SHORT)  # of a system, a class or a group
NAME_OR_EMPTY: Rules = (SHORT,)
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
    "name or empty": NAME_OR_EMPTY,
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
    error if it is missing. normalise: maps texts with the same meaning, such as 1.0 and 1, to
    one text.
    """

    name: str
    rules: Rules = TEXT
    per_system: bool = False
    required: bool = False
    normalise: Callable[[str], str] = str

    @classmethod
    def declared(
        cls,
        name: str,
        *,
        per_system: bool = False,
        required: bool = False,
        normalise: Callable[[str], str] = str,
    ) -> Self:
        """A role of `roles.toml`, with the rules of its content there."""
        return cls(name, CONTENT[facts("roles")[name]["content"]], per_system, required, normalise)

    def column(self, name: str, system: int | None = None) -> "RoleColumn":
        """The column of this name in this role. system: the number of the system that it belongs
        to; None if all systems share it.
        """
        return RoleColumn(self.name, Field(name, self.rules, self.normalise), system)


@dataclass(frozen=True)
class Field:
    """A column of a part, and the rules of its values; without rules any text is valid.
    normalise: as in a role.
    """

    column: str
    rules: Rules = TEXT
    normalise: Callable[[str], str] = str

    @property
    def is_number(self) -> bool:
        """True if the column is read as doubles, False if as texts: its first rule tells."""
        return bool(self.rules) and not isinstance(self.rules[0], TextRule)

    def check(
        self, values: "pa.Array", part: "InputPart | None", earlier_rows: int | None = 0
    ) -> "pa.Array | Floats":
        """The values of the column, if they follow its rules: texts as they are, numbers as a numpy
        array with NaN for empty cells, and 0 for −0.0.

        values: an Arrow array. part: the file or table that they stand in; None if it is unknown.
        earlier_rows: how many of its rows came before these; None if rows have no numbers. Raises
        InputError for the first value that breaks a rule; BrokenRule if the part is unknown.
        """
        checked = values
        if self.is_number:  # doubles without an empty cell are not copied
            checked = values.to_numpy(zero_copy_only=False)
        for rule in self.rules:
            is_broken = rule.breaks(checked)
            if rule.allows_empty:
                is_broken = is_broken & ~is_empty(values)
            if is_broken.any():
                if part is None:  # whoever reads the blocks then looks for the file and row
                    raise BrokenRule(f"{self.column} must {rule.text}")
                index = int(is_broken.argmax())  # of the first value that breaks the rule
                row = NO_ROW_NUMBER
                if earlier_rows is not None:
                    row = earlier_rows + index + 1  # rows are counted from 1
                raise rule.error(part.name, self.column, values[index].as_py(), row)
        if not self.is_number or checked.dtype.kind == "i":  # whole numbers have no −0.0
            return checked
        # −0.0 equals 0.0 but has other bytes, by which values are sorted and grouped. Adding 0.0
        # makes it 0.0; a column without a zero is not copied.
        return checked + 0.0 if (checked == 0).any() else checked


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
    def name_in_table(self) -> str:
        """The name of the column in a `CheckedTable`: its role, and the number of its system."""
        return self.role if self.system is None else f"{self.role} {self.system}"


Fields = Mapping[str, Field]  # by the role that a column has while it is read


class ColumnsByType(NamedTuple):
    """Role -> column, of the columns that are read as texts and of those read as doubles."""

    texts: dict[str, str]
    numbers: dict[str, str]


def columns_by_type(fields: Fields) -> ColumnsByType:
    """Role -> name of the column, in two dicts: of the columns that are read as texts, and of those
    that are read as doubles. fields: role -> column and its rules, which say the type.
    """
    texts = {role: field.column for role, field in fields.items() if not field.is_number}
    numbers = {role: field.column for role, field in fields.items() if field.is_number}
    return ColumnsByType(texts, numbers)


# Precision ----------------------------------------------------------------------------------------


Precision = np.dtype[np.floating[Any]]
HALF: Precision = np.dtype("float16")
SINGLE: Precision = np.dtype("float32")
DOUBLE: Precision = np.dtype("float64")
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
    return STORED.get(part.stored_types.get(column, ""), DOUBLE)


def widest_type(precisions: Iterable[Precision]) -> Precision:
    """The type that holds the numbers of all of these, as pandas stores such columns when it
    concatenates them.

    >>> widest_type([HALF, SINGLE])
    dtype('float32')
    """
    return max(precisions, key=lambda precision: precision.itemsize, default=DOUBLE)


def rounded(threshold: float, precision: Precision) -> float:
    """The threshold in this precision, so that score >= threshold gives what numpy finds in the
    column.

    >>> rounded(0.7, SINGLE), rounded(0.7, DOUBLE)
    (0.699999988079071, 0.7)
    """
    with np.errstate(over="ignore"):
        return float(precision.type(threshold))
