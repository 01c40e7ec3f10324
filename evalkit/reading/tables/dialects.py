"""The SQL of DuckDB and of Spark where the two differ: names, texts, finite numbers, a column's cells by its type."""

import re
from typing import Protocol

NUMBER = "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[-+]?[0-9]+)?$|^[-+]?(nan|inf|infinity)$"
REFUSED = "<evalkit>{}</evalkit>"  # how an error that SQL raises quotes our own words


class Dialect(Protocol):
    """What a query says in one of the two; types are named as the engine names them.

    row_number: of a row, from 1, in the order of the input; None where rows have no order.
    """

    row_number: str | None

    def quote(self, name: str) -> str:
        """The name of a column."""

    def literal(self, text: object) -> str:
        """A text."""

    def finite(self, name: str) -> str:
        """A condition that is false of NaN and of infinite numbers."""

    def bytes(self, name: str) -> str:
        """How many bytes a text has."""

    def matches(self, text: str, pattern: str) -> str:
        """A condition: the SQL of a text matches a regular expression somewhere."""

    def is_text(self, kind: str) -> bool:
        """Whether a column of this type holds texts, which may be those of numbers."""

    def holds_ids(self, kind: str) -> bool:
        """Whether a column of this type may hold ids: text or whole numbers."""

    def holds_numbers(self, kind: str) -> bool:
        """Whether a column of this type may hold numbers or the texts of numbers."""

    def text(self, name: str, kind: str) -> str:
        """A column's cells as text."""

    def number(self, name: str, kind: str, where: str) -> str:
        """A column's cells as doubles; what is no number stops the query. where: the part, for the error."""


class _DuckDB:
    """DuckDB's SQL. Type JSON: a value as it stands in a file of JSON lines."""

    row_number: str | None = "row_number() OVER ()"
    numeric = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|HALF_FLOAT|\"NULL\"|NULL")
    no_id = re.compile(r"FLOAT|DOUBLE|DECIMAL.*|HALF_FLOAT|STRUCT.*|MAP.*|UNION.*|.*\[\d*\]")

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: object) -> str:
        return "'" + str(text).replace("'", "''") + "'"

    def finite(self, name: str) -> str:
        """Not a comparison: DuckDB would answer that from the file's smallest and largest number, without NaN."""
        return f"isfinite({self.quote(name)})"

    def bytes(self, name: str) -> str:
        return f"strlen({self.quote(name)})"

    def matches(self, text: str, pattern: str) -> str:
        return f"regexp_matches({text}, {self.literal(pattern)})"

    def is_text(self, kind: str) -> bool:
        return kind in ("VARCHAR", "JSON")

    def holds_ids(self, kind: str) -> bool:
        return not self.no_id.fullmatch(kind)

    def holds_numbers(self, kind: str) -> bool:
        return self.is_text(kind) or bool(self.numeric.fullmatch(kind))

    def text(self, name: str, kind: str) -> str:
        return f"CAST({self.plain(name, kind)} AS VARCHAR)"

    def number(self, name: str, kind: str, where: str) -> str:
        return f"CAST({self.of_number(name, kind)} AS DOUBLE)"

    def plain(self, name: str, kind: str) -> str:
        """A column's value as it stands in the file: a JSON text without its quotes."""
        return f"({self.quote(name)} ->> '$')" if kind == "JSON" else self.quote(name)

    def of_number(self, name: str, kind: str) -> str:
        """A number or the text of one: JSON's true and false are 1 and 0, as booleans of other sources are."""
        value = self.plain(name, kind)
        truth = f"json_type({self.quote(name)}) = 'BOOLEAN'"
        return f"if({truth}, if({value} = 'true', '1', '0'), {value})" if kind == "JSON" else value


class _Spark:
    """Spark's SQL."""

    row_number: str | None = None
    texts = ("STRING", "CHAR", "VARCHAR")
    numeric = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "VOID")
    no_id = ("FLOAT", "DOUBLE", "DECIMAL", "BINARY", "ARRAY", "MAP", "STRUCT", "VARIANT")

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def literal(self, text: object) -> str:
        """By its bytes: what a backslash means is a setting of the session."""
        return f"CAST(X'{str(text).encode().hex()}' AS STRING)"

    def finite(self, name: str) -> str:
        """NaN is larger than any number."""
        return f"abs({self.quote(name)}) <= 1.7976931348623157e308"

    def bytes(self, name: str) -> str:
        return f"octet_length({self.quote(name)})"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} RLIKE {self.literal(pattern)}"

    def is_text(self, kind: str) -> bool:
        return kind.startswith(self.texts)

    def holds_ids(self, kind: str) -> bool:
        return not kind.startswith(self.no_id)

    def holds_numbers(self, kind: str) -> bool:
        return kind.startswith((*self.texts, *self.numeric))

    def text(self, name: str, kind: str) -> str:
        return f"CAST({self.quote(name)} AS STRING)"

    def number(self, name: str, kind: str, where: str) -> str:
        value = self.quote(name)
        if not self.is_text(kind):
            return f"CAST({value} AS DOUBLE)"
        # Neither CAST, which gives NULL where ANSI mode is off, nor TRY_CAST, which takes "1d": the text must match.
        before, after = map(self.literal, REFUSED.format(f"{where}: {name} must be a number, got '\0'").split("\0"))
        refusal = f"CAST(raise_error(concat({before}, left({value}, 80), {after})) AS DOUBLE)"
        matches = self.matches(f"lower(trim({value}))", NUMBER)
        return f"IF({value} IS NULL OR {matches}, TRY_CAST(trim({value}) AS DOUBLE), {refusal})"


DUCKDB, SPARK = _DuckDB(), _Spark()
