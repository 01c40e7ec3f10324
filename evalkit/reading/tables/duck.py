"""The SQL of DuckDB and of Spark where the two differ; DuckDB as a reader of files, its errors as
one line.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.arrays import InputError
from evalkit.reading.tables.columns import facts

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

NUMBER = "^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[-+]?[0-9]+)?$|^[-+]?(nan|inf|infinity)$"
REFUSED = "<evalkit>{}</evalkit>"  # how an error that SQL raises quotes our own words


class Dialect:
    """DuckDB's SQL. Its type JSON is a value as it stands in a file of JSON lines.

    Types have the engine's names. row_number: of a row, from 1, in the order of the input; None if
    rows have no order.
    """

    row_number: str | None = "row_number() OVER ()"
    string = "VARCHAR"
    # not NaN; DuckDB answers isnan from a file's smallest and largest number
    real = "isfinite({0}) OR isinf({0})"
    texts = re.compile(r"VARCHAR|JSON")
    numbers = re.compile(
        r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BOOLEAN|HALF_FLOAT|\"NULL\"|NULL"
    )
    whole_numbers = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
    no_ids = re.compile(r"FLOAT|DOUBLE|DECIMAL.*|HALF_FLOAT|STRUCT.*|MAP.*|UNION.*|.*\[\d*\]")

    def quote(self, name: str) -> str:
        """The quoted name of a column."""
        return '"' + name.replace('"', '""') + '"'

    def literal(self, text: object) -> str:
        """A text as an SQL literal."""
        return "'" + str(text).replace("'", "''") + "'"

    def finite(self, name: str) -> str:
        """A condition that is false for NaN and for infinite numbers.

        It is not a comparison, which DuckDB would answer from the file's smallest and largest
        number, without NaN.
        """
        return f"isfinite({self.quote(name)})"

    def bytes(self, name: str) -> str:
        """The number of bytes of a text."""
        return f"strlen({self.quote(name)})"

    def matches(self, text: str, pattern: str) -> str:
        """A condition: the SQL of a text matches a regular expression somewhere."""
        return f"regexp_matches({text}, {self.literal(pattern)})"

    def is_text(self, kind: str) -> bool:
        """True if a column of this type holds texts, which may be those of numbers."""
        return bool(self.texts.fullmatch(kind))

    def holds_numbers(self, kind: str) -> bool:
        """True if a column of this type may hold numbers or the texts of numbers."""
        return self.is_text(kind) or bool(self.numbers.fullmatch(kind))

    def holds_whole_numbers(self, kind: str) -> bool:
        """True if a column of this type of DuckDB holds whole numbers alone."""
        return bool(self.whole_numbers.fullmatch(kind))

    def text(self, name: str, kind: str) -> str:
        """The cells of a column as text, NULL for NaN and for an empty text; −0.0 and 0.0 are one
        number.
        """
        value = self.plain(name, kind)
        if kind in ("FLOAT", "DOUBLE"):
            number = f"CAST(CAST({value} + 0 AS {kind}) AS {self.string})"
            return f"CASE WHEN {self.real.format(value)} THEN {number} END"
        if self.numbers.fullmatch(kind):
            return f"CAST({value} AS {self.string})"
        return f"nullif(CAST({value} AS {self.string}), '')"

    def number(self, name: str, kind: str, where: str) -> str:
        """The cells of a column as doubles; anything that is not a number stops the query.

        where: the part, for the error.
        """
        return f"CAST({self.of_number(name, kind)} AS DOUBLE)"

    def plain(self, name: str, kind: str) -> str:
        """The value of a column as it stands in the file: a JSON text without its quotes."""
        return f"({self.quote(name)} ->> '$')" if kind == "JSON" else self.quote(name)

    def of_number(self, name: str, kind: str) -> str:
        """A number or the text of one: JSON's true and false are 1 and 0, as booleans of other
        sources are.
        """
        value = self.plain(name, kind)
        if kind != "JSON":
            return value
        is_truth = f"json_type({self.quote(name)}) = 'BOOLEAN'"
        return f"if({is_truth}, if({value} = 'true', '1', '0'), {value})"


class _SparkDialect(Dialect):
    """Spark's SQL, where it differs."""

    row_number = None
    string = "STRING"
    real = "NOT isnan({0})"
    texts = re.compile(r"(STRING|CHAR|VARCHAR).*")
    numbers = re.compile(r"(TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL|BOOLEAN|VOID).*")
    no_ids = re.compile(r"(FLOAT|DOUBLE|DECIMAL|BINARY|ARRAY|MAP|STRUCT|VARIANT).*", re.DOTALL)

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def literal(self, text: object) -> str:
        """A text as an SQL literal, by its bytes: what a backslash means is a setting of the
        session.
        """
        return f"CAST(X'{str(text).encode().hex()}' AS STRING)"

    def finite(self, name: str) -> str:
        """A condition that is false for NaN, which is larger than any number in Spark, and for
        infinite numbers.
        """
        return f"abs({self.quote(name)}) <= 1.7976931348623157e308"

    def bytes(self, name: str) -> str:
        return f"octet_length({self.quote(name)})"

    def matches(self, text: str, pattern: str) -> str:
        return f"{text} RLIKE {self.literal(pattern)}"

    def number(self, name: str, kind: str, where: str) -> str:
        value = self.quote(name)
        if not self.is_text(kind):
            return f"CAST({value} AS DOUBLE)"
        # Neither CAST, which gives NULL where ANSI mode is off, nor TRY_CAST, which takes "1d": the
        # text must match.
        message = REFUSED.format(f"{where}: {name} must be a number, got '\0'")
        before, after = map(self.literal, message.split("\0"))  # the cell stands between them
        refusal = f"CAST(raise_error(concat({before}, left({value}, 80), {after})) AS DOUBLE)"
        matches = self.matches(f"lower(trim({value}))", NUMBER)
        return f"IF({value} IS NULL OR {matches}, TRY_CAST(trim({value}) AS DOUBLE), {refusal})"


DUCKDB = Dialect()
SPARK = _SparkDialect()


# DuckDB as a reader of files ----------------------------------------------------------------------


@cache
def connection() -> "duckdb.DuckDBPyConnection":
    """The connection of this process, for what fits into memory."""
    import tempfile

    import duckdb

    spill = str(Path(tempfile.gettempdir()) / "evalkit-spill")
    options: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "temp_directory": spill,
    }
    return duckdb.connect(config=options)


def release() -> None:
    """Release the memory that reading took; DuckDB and Arrow keep it for later reading
    otherwise.
    """
    import pyarrow as pa

    connection.cache_clear()  # not closed, as another thread may use it
    pa.default_memory_pool().release_unused()


NO_PARQUET = "must be a complete Parquet file, but it has other content or is truncated"


def no_parquet_error(where: str) -> InputError:
    """The error for a file, `where`, that is no complete Parquet file."""
    return InputError(f"{where}: {NO_PARQUET}")


def pattern(path: Path) -> str:
    """The path for DuckDB's readers, with its own brackets and stars escaped."""
    return DUCKDB.literal(re.sub(r"([*?[])", r"[\1]", str(path)))


def sql(query: str, where: str, **frames: Any) -> "pa.Table":
    """The query's result as an Arrow table; DuckDB's errors become one line with the file's name.

    where: the name of the file. frames: name in the query -> an Arrow table.
    """

    def refused(message: str) -> InputError:
        """The error for DuckDB's message."""
        return InputError(f"{where}: {one_line_message(message)}")

    with query_result(connection(), query, frames, refused) as relation:
        return relation.to_arrow_table()


@contextmanager
def query_result(
    connected: "duckdb.DuckDBPyConnection",
    query: str,
    frames: Mapping[str, "pa.Table"],
    refused: Callable[[str], InputError],
) -> Iterator["duckdb.DuckDBPyRelation"]:
    """A context in which a query's result, a relation of DuckDB, is used.

    connected: a connection. frames: name in the query -> a table. refused: turns DuckDB's message
    into an error.
    """
    import duckdb

    cursor = connected.cursor()
    try:
        for name, frame in frames.items():
            cursor.register(name, frame)
        yield cursor.sql(query)
    except (duckdb.Error, OSError) as error:  # the reader of a stream raises what Arrow makes of it
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            connection.cache_clear()  # the database answers no more; the next query opens another
        raise refused(str(error)) from None
    finally:
        cursor.close()


def one_line_message(message: str) -> str:
    """DuckDB's message on a bad file in one line: what is wrong, what is there, on which line.

    It is the sentence of duckdb_messages.toml for the message, else the message's first line.
    """
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f" (line {line[1]})" if line else ""
    for translation in facts("duckdb_messages")["messages"]:
        if match := re.search(translation["pattern"], message, re.DOTALL):
            cells = [group[:80] for group in match.groups()]
            text: str = translation["says"]
            return text.format(*cells, where=where, no_parquet=NO_PARQUET)
    first_line = " ".join(message.split("\n")[0].split())
    return first_line.split("Error: ", 1)[-1]
