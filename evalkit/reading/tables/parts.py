"""Parts: the files, frames and tables that an input consists of, with one class per format.

A part returns its columns by role. Ids stay the text that they are; numbers are doubles, or
rejected with file, column, row and value. A new format is a class and a line of `FORMATS`, both in
`formats`.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from evalkit.arrays import InputError, Record
from evalkit.reading.tables import duck, trec
from evalkit.reading.tables.duck import DUCKDB, Dialect
from evalkit.reading.tables.rules import LONGEST, NO_ROW_NUMBER, SHORT

if TYPE_CHECKING:
    import pyarrow as pa
    import pyspark.sql

ByRole = Mapping[str, str]  # role -> column
Frames = Mapping[str, Any]  # name in a query -> an Arrow table, or what an engine has for it
IDS = ("system", "query", "item", "id", "session", "user")
HEAD = 2_000  # rows by whose cells columns are recognised
MOST_SPREAD = 1_000_000  # rows of a part, which are numbered in less than a second
STRETCHES = 20  # of rows that follow each other, as those of a list do
STRETCH_ROWS = HEAD // 2 // STRETCHES
ROW = '"number of the row"'  # the column by which they are found


@dataclass(frozen=True)
class Source:
    """One input: the name to print and the rows read from it; for a file also its path, size and
    modification time. quantile_rows: the rows of a table with a row per quantile, of which `rows`
    forecasts were made; 0 for other tables.
    """

    name: str
    rows: int
    path: Path | None = None
    size_and_time: tuple[int, int] = (0, 0)
    quantile_rows: int = 0

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file, empty for a frame; raises InputError if the file has changed
        since.
        """
        if self.path is None:
            return ""
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            changed = stamp(self.path) != self.size_and_time
        except OSError as error:
            raise InputError(f"{self.name}: can no longer be read: {error.strerror}") from None
        if changed:
            raise changed_file_error(self.name)
        return digest


class RowFilter(NamedTuple):
    """The rows whose cell in a column is one of these texts, "" for an empty cell."""

    column: str
    texts: Collection[str]


@dataclass(frozen=True, eq=False, kw_only=True)
class InputPart(ABC):
    """One file, frame or table before it is read.

    path: the path of a file, or for a table the path after which a system is called.
    folder_values: the columns encoded in a file's folders, with their value in every row.
    trec_layout: the fields of a line of TREC text; None for tables, whose columns have names.
    selected_rows: the rows that are read; None: all.
    """

    name: str
    columns: tuple[str, ...]
    path: Path = Path()
    folder_values: Mapping[str, str | None] = field(default_factory=dict)
    trec_layout: trec.LineLayout | None = None
    selected_rows: RowFilter | None = None
    # True if no system can be called after the part: for a frame, or record batches
    unnamed: ClassVar[bool] = False
    # True if a row is a JSON object, which can hold others
    rows_are_objects: ClassVar[bool] = False
    dialect: ClassVar[Dialect] = DUCKDB  # of the engine that reads it where it is
    without_rows: ClassVar[str] = "the table has columns and no rows"

    def __post_init__(self) -> None:
        """Raise InputError if the names of two columns differ at most in capitals, which DuckDB
        does not tell apart, or if a name is too long or holds a NUL character.
        """
        spelling: dict[str, str] = {}  # name in small letters -> the name as it is written
        for name in self.columns:
            if "\0" in name:
                # text in UTF-16 that is read as UTF-8 has one beside each letter
                rule = "column names must hold no NUL character (UTF-16?)"
                raise InputError(f"{self.name}: {rule}, got {name[:80]!r}")
            if len(name.encode(errors="replace")) > LONGEST:
                raise SHORT.error(self.name, "a column's name", name, NO_ROW_NUMBER)
            if name.lower() in spelling:
                got = f"{spelling[name.lower()]!r} and {name!r}"
                raise InputError(f"{self.name}: column names must be distinct, got {got}")
            spelling[name.lower()] = name

    # What is known before reading

    @property
    def known_rows(self) -> int | None:
        """The number of rows, if it is known without reading them, else None."""
        return None

    @property
    def rows(self) -> int:
        """The number of rows; for text files an estimate from the length of their first lines."""
        return self.known_rows or 0

    @property
    def most_rows(self) -> float:
        """An upper bound on the number of rows; 0 if nothing is known of it."""
        return self.known_rows or 0

    @property
    def stored_types(self) -> Mapping[str, str]:
        """Column -> Arrow's name of its type, where the part states types; empty for text files."""
        return {}

    @property
    def directions(self) -> Mapping[str, str]:
        """Which values of a metric are better, "high", "low" or "neither", if the part states
        it.
        """
        return {}

    @property
    def cluster_session(self) -> "pyspark.sql.SparkSession | None":
        """The session of the Spark cluster that must read the part, as it has too many rows for
        anything else; None if it can be read here.
        """
        return None

    def fingerprint(self, rows: int) -> Source:
        """What the report states of the part: its name, the number of its rows, and its file.

        Raises InputError if the file has changed since reading began.
        """
        return Source(self.name, rows)

    # Reading

    def load(self, text: ByRole, numbers: ByRole) -> dict[str, "pa.Array"]:
        """Read columns: role -> an Arrow array of texts or of doubles.

        text, numbers: role -> column, of the columns that are read as texts and as doubles. Raises
        InputError if an id is a fraction, missing or no text, or a number is text.
        """
        selection = self.select(text, numbers)
        with explain_failures(selection):
            table = duck.sql(selection.query, self.name, **selection.frames)
        return {role: table[role].combine_chunks() for role in table.column_names}

    @cached_property
    def head(self) -> Mapping[str, list[str | None]]:
        """Column -> the cells of the first rows, as text, None if empty; no columns for TREC
        files. Half of them come from stretches over the whole part, unless it has few rows or very
        many: the rows may be sorted.
        """
        if self.trec_layout is not None:
            return {}
        texts = {f"column {name}": name for name in self.columns}
        selection = self.select(texts, {})
        query = f"SELECT * FROM ({selection.query}) LIMIT {HEAD}"
        if selection.source and self.head_is_spread:
            cells = ", ".join(_cells(self.name, selection.types, texts, {}, DUCKDB))
            step = self.rows // STRETCHES
            numbered = f"(SELECT *, row_number() OVER () AS {ROW} FROM {selection.source})"
            is_read = f"{ROW} <= {HEAD // 2} OR {ROW} % {step} >= {step - STRETCH_ROWS}"
            source = f"(SELECT * FROM {numbered} WHERE {is_read})"
            condition = self._condition(selection.types, DUCKDB)
            query = f"SELECT {cells} FROM {source}{condition} LIMIT {HEAD}"
        rows = duck.sql(query, self.name, **selection.frames)
        return {name: rows[f"column {name}"].to_pylist() for name in self.columns}

    @property
    def head_is_spread(self) -> bool:
        """True if half of the rows of `head` come from stretches over the whole part."""
        return HEAD < self.rows <= MOST_SPREAD

    def select(
        self, text: ByRole, numbers: ByRole, dialect: Dialect = DUCKDB, frame: str = "frame"
    ) -> "Selection":
        """The SQL for the columns by role; a table that it needs is called `frame` in it.

        A part that the dialect's engine cannot read directly is loaded and passed as a frame.
        """
        if dialect is not self.dialect:
            return self._loaded_selection(text, numbers, dialect, frame)
        filtered = [self.selected_rows.column] if self.selected_rows else []
        columns = dict.fromkeys([*text.values(), *numbers.values(), *filtered])
        in_files = [name for name in columns if name not in self.folder_values]
        only_numbers = set(numbers.values()).difference(text.values())
        # rows are counted by a column, if none is asked for
        part_source = self._source(in_files or self.columns[:1], only_numbers, frame)
        if part_source is None:
            return self._loaded_selection(text, numbers, dialect, frame)
        from_clause, frames = part_source
        source = _with_folders(from_clause, self.folder_values)
        types = self._types(source, frames)
        cells = ", ".join(_cells(self.name, types, text, numbers, dialect))
        query = f"SELECT {cells} FROM {source}{self._condition(types, dialect)}"
        return Selection(self, query, source, types, text, numbers, frames)

    def _loaded_selection(
        self, text: ByRole, numbers: ByRole, dialect: Dialect, frame: str
    ) -> "Selection":
        """The SQL for the columns of a part that no engine reads where it is."""
        import pyarrow as pa

        loaded = pa.table(self.load(text, numbers))
        roles = ", ".join(map(dialect.quote, loaded.column_names))
        query = f"SELECT {roles} FROM {frame}"
        return Selection(self, query, "", {}, {}, {}, {frame: loaded})

    def _condition(self, types: Mapping[str, str], dialect: Dialect) -> str:
        """The WHERE clause of the rows that are read; "" if that is every row."""
        if self.selected_rows is None:
            return ""
        column, texts = self.selected_rows
        cell = f"coalesce({dialect.text(column, types[column])}, '')"
        return f" WHERE {cell} IN ({', '.join(map(dialect.literal, sorted(texts)))})"

    def explain(self, selection: "Selection") -> None:
        """Raise InputError for the first text that is not a number, after a selection failed."""
        for column in selection.numbers.values():
            value = DUCKDB.of_number(column, selection.types[column])
            wrong = f"{value} IS NOT NULL AND TRY_CAST({value} AS DOUBLE) IS NULL"
            if DUCKDB.is_text(selection.types[column]) and (row := selection.first(value, wrong)):
                raise InputError(
                    f"{self.name}: {column} must be a number, got {row[1][:80]!r} (row {row[0]})"
                )

    def check(self, selection: "Selection") -> None:  # noqa: B027 - most formats hold nothing that they must not
        """Raise InputError for invalid content that a selection does not notice."""

    @abstractmethod
    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames] | None:
        """The FROM clause in the part's dialect, and the frames that it names.

        columns: those that are needed. numbers: those of them that are read as numbers alone.
        frame: the name that a frame must get. None if no engine reads the part where it is: its
        class then has a `load` of its own.
        """

    def _types(self, source: str, frames: Frames) -> Mapping[str, str]:
        """The engine's type of each column."""
        described = duck.sql(f"DESCRIBE SELECT * FROM {source}", self.name, **frames)
        return dict(
            zip(
                described["column_name"].to_pylist(),
                described["column_type"].to_pylist(),
                strict=True,
            )
        )

    # Messages

    def place(self, row: int) -> str:
        """The part and a row of it, from 1, for errors; the part alone for `NO_ROW_NUMBER`."""
        return self.name if row == NO_ROW_NUMBER else f"{self.name}, row {row}"

    def no_rows_error(self) -> InputError:
        """The error for a part without a row."""
        return InputError(f"{self.name}: {self.without_rows}")


PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # a column that is the index of a pandas frame


def names(parts: Sequence[InputPart]) -> str:
    """The input for errors: its first parts."""
    return ", ".join(dict.fromkeys(part.name for part in parts[:3]))


@dataclass(frozen=True, eq=False, kw_only=True)
class File(InputPart):
    """A file. size_and_time: its size and time when reading began."""

    size_and_time: tuple[int, int]
    without_rows: ClassVar[str] = "the file has a header and no rows"

    def fingerprint(self, rows: int) -> Source:
        """What the report states of the file. Raises InputError if it has changed since reading
        began.
        """
        if stamp(self.path) != self.size_and_time:
            raise changed_file_error(self.name)
        return Source(self.name, rows, self.path, self.size_and_time)


@dataclass(frozen=True)
class Selection:
    """The SQL of columns of a part by role, and the frames that it uses.

    source: its FROM clause; empty if the part was loaded first, which has rejected invalid values.
    """

    part: InputPart
    query: str
    source: str
    types: Mapping[str, str]
    text: ByRole
    numbers: ByRole
    frames: Frames

    def first(self, value: str, wrong: str) -> tuple[int, str] | None:
        """The number, from 1, and a value of the first row of the part that meets a condition; None
        if no row does.

        value, wrong: the SQL of the value and of the condition, with the part's columns.
        """
        rows = (
            f"SELECT row_number() OVER () AS n, {value} AS value, {wrong} AS wrong FROM "
            f"{self.source}"
        )
        query = f"SELECT n, value FROM ({rows}) WHERE wrong ORDER BY n LIMIT 1"
        table = duck.sql(query, self.part.name, **self.frames)
        if not len(table):
            return None
        return table["n"][0].as_py(), table["value"][0].as_py()

    def where(self, condition: str, cells: str, limit: int) -> list[Record]:
        """The first rows that meet a condition, at most `limit`, by DuckDB: of each its number,
        `n`, from 1, and its cells.

        condition, cells: SQL with the roles of the selection as columns.
        """
        numbered = f"SELECT row_number() OVER () AS n, * FROM ({self.query})"
        query = f"SELECT n, {cells} FROM ({numbered}) WHERE {condition} ORDER BY n LIMIT {limit}"
        rows: list[Record] = duck.sql(query, self.part.name, **self.frames).to_pylist()
        return rows


@contextmanager
def explain_failures(selection: Selection) -> Iterator[None]:
    """A context in which a selection is run: if it fails, the error becomes the one that names the
    invalid value and its row; if not, what the selection does not notice is checked.
    """
    try:
        yield
    except InputError:
        if selection.source:
            selection.part.explain(selection)
        raise
    if selection.source:
        selection.part.check(selection)


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of the last change, which show whether a file has changed."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def changed_file_error(name: str) -> InputError:
    """The error for a file that has changed since it was first read."""
    return InputError(f"{name}: the file changed while it was read; run again when it is complete")


def _with_folders(source: str, folders: Mapping[str, str | None]) -> str:
    """The FROM clause with the columns that a file's folders stand for; these replace columns of
    the same name. folders: column -> its value in every row, None for an empty one.
    """
    if not folders:
        return source
    cells = []
    for name, value in folders.items():
        literal = "NULL" if value is None else DUCKDB.literal(value)
        cells.append(f"CAST({literal} AS VARCHAR) AS {DUCKDB.quote(name)}")
    replaced = ", ".join(map(DUCKDB.literal, folders))
    return f"(SELECT COLUMNS(lambda c: c NOT IN ({replaced})), {', '.join(cells)} FROM {source})"


def _cells(
    where: str, types: Mapping[str, str], text: ByRole, numbers: ByRole, dialect: Dialect
) -> list[str]:
    """The SQL of each role's cells. where: the name of the part. types: of each column. Raises
    InputError for a column of ids or numbers whose type holds none.
    """
    for role, column in text.items():
        if role in IDS and dialect.no_ids.fullmatch(types[column]):
            raise InputError(
                f"{where}: {column} must hold ids as text or whole numbers, got {types[column]}"
            )
    for column in numbers.values():
        if not dialect.holds_numbers(types[column]):
            kind = types[column].split("(")[0].split("<")[0]
            raise InputError(f"{where}: {column} must hold numbers, got {kind}")
    cells = {role: dialect.text(column, types[column]) for role, column in text.items()}
    cells |= {
        role: dialect.number(column, types[column], where) for role, column in numbers.items()
    }
    return [f"{cell} AS {dialect.quote(role)}" for role, cell in cells.items()]
