"""Spark tables as inputs: a data frame of the caller's session, or the name of a table as
"spark:catalog.table".

pyspark is imported only if one of them is given.
"""

import logging
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from evalkit.arrays import InputError
from evalkit.limits import USUAL_LIMITS
from evalkit.reading.tables import columns
from evalkit.reading.tables.duck import DUCKDB, SPARK, Dialect
from evalkit.reading.tables.frames import Frame, is_spark_frame
from evalkit.reading.tables.parts import HEAD, ByRole, Frames, InputPart, Selection

if TYPE_CHECKING:
    import pyarrow as pa
    import pyspark.sql

NAME = "Spark data frame"
PREFIX = "spark:"
LONGEST = 300  # characters of one of Spark's own messages
NO_JAVA = "Java 17 or newer must be installed where Spark runs on this machine"


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkTable(InputPart):
    """A Spark data frame that is not read yet.

    types: column -> its type, such as string or decimal(10,2). max_rows: up to this number of rows
    they are collected; of more only Spark's own engine reads them.
    """

    frame: "pyspark.sql.DataFrame"
    types: Mapping[str, str]
    max_rows: int
    dialect: ClassVar[Dialect] = SPARK

    @cached_property
    def known_rows(self) -> int:
        """The number of rows. Raises InputError if there is none."""
        with spark_errors(self.name):
            rows = int(self.frame.count())
        if not rows:
            raise self.no_rows_error()
        return rows

    @property
    def stored_types(self) -> Mapping[str, str]:
        """Column -> Spark's name of its type."""
        return self.types

    @cached_property
    def collected(self) -> "pa.Table":
        """All columns and rows as an Arrow table, collected once, because a second time their order
        might differ.

        Raises InputError if there are more than `max_rows`.
        """
        if self.rows > self.max_rows:
            raise columns.refused(
                self.name, "not_collected", rows=self.known_rows, most=self.max_rows
            )
        with spark_errors(self.name):
            table = self.frame.toArrow()
        if len(table) != self.rows:
            raise InputError(
                f"{self.name}: the table changed while it was read; run again when it is complete"
            )
        return table

    @cached_property
    def head(self) -> Mapping[str, list[str | None]]:
        """Column -> the cells of the first rows, as text; for a table that only Spark reads, those
        of any rows.
        """
        if self.rows > self.max_rows:
            with spark_errors(self.name):
                first = self.frame.limit(HEAD).toArrow()
        else:
            first = self.collected.slice(0, HEAD)
        return Frame(
            name=self.name, columns=self.columns, table=first, selected_rows=self.selected_rows
        ).head

    @property
    def cluster_session(self) -> "pyspark.sql.SparkSession | None":
        """The session of the data frame if only Spark reads it; else None."""
        return self.frame.sparkSession if self.rows > self.max_rows else None

    def explain(self, selection: Selection) -> None:
        """Do nothing: Spark's own error has named the value."""

    def select(
        self, text: ByRole, numbers: ByRole, dialect: Dialect = DUCKDB, frame: str = "frame"
    ) -> Selection:
        """The SQL for the columns by role: of the data frame for Spark, of its collected rows for
        another engine.
        """
        if dialect is self.dialect:
            return super().select(text, numbers, dialect, frame)
        frame_of_rows = Frame(
            name=self.name,
            columns=self.columns,
            table=self.collected,
            selected_rows=self.selected_rows,
        )
        return frame_of_rows.select(text, numbers, dialect, frame)

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The data frame, under the name `frame`."""
        return frame, {frame: self.frame}

    def _types(self, source: str, frames: Frames) -> Mapping[str, str]:
        """Column -> its type as the dialect writes it."""
        return {name: kind.upper() for name, kind in self.types.items()}


class SparkFrame(SparkTable):
    """A Spark data frame, after which no system can be called."""

    unnamed: ClassVar[bool] = True


def part_of(data: object, max_rows: int = USUAL_LIMITS.reading.collected) -> SparkTable | None:
    """The table of "spark:catalog.table" or of a Spark data frame, None for anything else."""
    if is_spark_frame(data):
        return table(data, max_rows)
    if isinstance(data, str) and data.startswith(PREFIX):
        name = data.removeprefix(PREFIX).strip()
        return table(_named(name), max_rows, f"Spark table {name}", path_of(name))
    return None


def _named(name: str) -> "pyspark.sql.DataFrame":
    """The frame of `catalog.table`, or of a folder, "parquet.`folder`", in the active session or
    else in a new one.
    """
    if not name:
        raise InputError(f"{PREFIX} must be followed by the name of a table, got nothing")
    where = f"Spark table {name}"
    session = _session(where)
    with spark_errors(where):
        return session.table(name)


def table(
    frame: "pyspark.sql.DataFrame", max_rows: int, name: str = NAME, path: Path | None = None
) -> SparkTable:
    """The part of a Spark data frame: its name in messages, and the path after which a system is
    called, None for a frame without a name.
    """
    with spark_errors(name):
        fields = frame.schema.fields
    names = tuple(column.name for column in fields)
    types = {column.name: column.dataType.simpleString().split(" collate")[0] for column in fields}
    if path is None:
        return SparkFrame(name=name, columns=names, frame=frame, types=types, max_rows=max_rows)
    return SparkTable(
        name=name, columns=names, path=path, frame=frame, types=types, max_rows=max_rows
    )


def path_of(name: str) -> Path:
    """A table's name as a path, after whose last part a system is called.

    >>> path_of("sales.runs.bm25").name, path_of("parquet.`out/bm25.parquet`").name
    ('bm25', 'bm25.parquet')
    """
    in_quotes = re.search(r"`([^`]+)`$", name)
    return Path(in_quotes[1]) if in_quotes else Path(*name.split("."))


def _session(where: str) -> "pyspark.sql.SparkSession":
    """The active session of Spark, or a new one. where: what errors begin with."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(
            f"{where}: pyspark must be installed to read it: pip install 'evalkit-reports[spark]'"
        ) from None
    if active := SparkSession.getActiveSession():
        return active
    with spark_errors(where), _no_messages():
        session = SparkSession.builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    context = getattr(session, "_sc", None)  # Connect has none
    is_python_chosen = "PYSPARK_PYTHON" in os.environ
    if context is not None and context.master.startswith("local") and not is_python_chosen:
        # workers on this machine: this Python, not whatever `python3` is
        context.pythonExec = sys.executable
    return session


@contextmanager
def _no_messages() -> Iterator[None]:
    """A context in which processes are started that write no messages, now or later, to the
    terminal or the notebook, as Java does: they inherit a standard error that leads nowhere.
    """
    standard_error = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(standard_error, 2)
        os.close(standard_error)
        os.close(nowhere)


# Errors -------------------------------------------------------------------------------------------


@contextmanager
def spark_errors(where: str) -> Iterator[None]:
    """A context for work in Spark: errors become one line that begins with `where`; warnings are
    hidden.
    """
    from pyspark.errors import PySparkException

    # this logger would print each error a second time, as JSON
    log = logging.getLogger("SQLQueryContextLogger")
    level = log.level
    try:
        log.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*does not yet fully support pandas")
            yield
    except Exception as error:
        if isinstance(error, PySparkException) or type(error).__module__.startswith("py4j."):
            raise refused(str(error), where) from None
        raise
    finally:
        log.setLevel(level)


def refused(message: str, where: str) -> InputError:
    """The error for a message of Spark: evalkit's own text in it, else its first useful line."""
    if refusal := re.search(r"<evalkit>(.*?)</evalkit>", message, re.S):
        return InputError(refusal[1])
    return InputError(f"{where}: {one_line_message(message)}")


def one_line_message(message: str) -> str:
    """Spark's message in one line: what is wrong, without codes, hints, plans and stacks.

    >>> one_line_message("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03")
    'Path does not exist: file:/x.'
    """
    if "TABLE_OR_VIEW_NOT_FOUND" in message:
        return "there is no such table or view in this session's catalog"
    if "JAVA_GATEWAY_EXITED" in message:
        return f"Spark cannot start; {NO_JAVA}"
    if "Traceback (most recent call last):" in message:
        return _python_error(message)
    lines = [line.strip() for line in message.splitlines() if line.strip(" :")]
    # texts behind a code, such as [PATH_NOT_FOUND], else lines without the classes of exceptions
    coded = [match[1] for line in lines if (match := re.search(r"\[[A-Z][A-Z_.0-9]+\] (.+)", line))]
    others = [
        re.sub(r"^:? ?([\w.$]+(Exception|Error): )*", "", line)
        for line in lines
        if "while calling" not in line
    ]
    first = [*coded, *others, "no reason given"][0]
    return _without_state(first)


def _without_state(text: str) -> str:
    """The beginning of a message, without the SQLSTATE at its end."""
    return text.split(" SQLSTATE: ")[0][:LONGEST]


def _python_error(message: str) -> str:
    """The error that ended a worker's traceback."""
    trace = message.split("Traceback (most recent call last):")[-1].splitlines()
    errors = [line.strip() for line in trace if re.match(r"[\w.]+(:|$)", line)]
    error = errors[0] if errors else "no reason given"
    hint = ""
    if "No module named" in error:
        hint = "; set PYSPARK_PYTHON to a Python that has numpy and pyarrow"
    return f"a worker failed, {_without_state(error)}{hint}"
