"""The two engines, DuckDB within a memory budget and the caller's Spark session, and the choice
between them.

DuckDB gets half of the memory budget and spills to a temporary folder of its own; the other half is
for the shard that numpy works on. With Spark, SQL selects the rows, a shuffle brings the rows of a
group together, and the same numpy code runs in the workers on whole groups. Either way a small
table comes back. No setting of the session outlives a call.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from evalkit.arrays import InputError, ParameterError, Record
from evalkit.limits import USUAL_LIMITS, ReadingLimits
from evalkit.machine import folders, threads
from evalkit.machine.progress_bars import progress
from evalkit.parameters.reports import LEAST_MEMORY, Resources
from evalkit.reading.engines import base, spark_worker
from evalkit.reading.engines.base import Engine, Query, Result, add_results
from evalkit.reading.tables import duck, formats, spark_tables
from evalkit.reading.tables.columns import refused
from evalkit.reading.tables.frames import is_spark_frame
from evalkit.reading.tables.parts import InputPart, Selection, explain_failures
from evalkit.reading.tables.rules import BrokenRule

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyspark.sql

Batches = Iterator["pa.RecordBatch"]
CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


@dataclass(frozen=True)
class Budget:
    """The resources that reading may use.

    memory: in bytes. threads: of DuckDB, and for reducing shards. spill: the folder in which
    DuckDB's temporary folder is made. reading: limits on numbers of rows.
    """

    memory: int
    threads: int
    spill: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    reading: ReadingLimits = USUAL_LIMITS.reading

    @property
    def shard(self) -> int:
        """The number of rows of a shard.

        It does not depend on threads, because sums of doubles depend on where shards end.
        """
        rows_in_budget = min(self.memory // 4, self.reading.at_once) // self.reading.row
        return max(self.reading.shard, min(self.reading.largest, rows_in_budget))

    @property
    def workers(self) -> int:
        """The number of shards that are reduced in parallel: at most `threads`, within half of the
        memory.
        """
        return max(1, min(self.threads, self.memory // 2 // (self.reading.row * self.shard)))


def budget(
    memory: int | None = None,
    threads: int | None = None,
    spill: Path | None = None,
    reading: ReadingLimits = USUAL_LIMITS.reading,
) -> Budget:
    """The memory, threads, disk and rows that reading and measuring may use.

    memory: in bytes; None for half of the machine's memory, or `LEAST_MEMORY` if that is more.
    threads: None for all processors. spill: the folder for what does not fit into memory; None for
    the temporary folder. reading: how many rows are read into memory.
    """
    return Budget(
        memory=memory or max(LEAST_MEMORY, available_memory() // 2),
        threads=threads or os.cpu_count() or 1,
        spill=spill or Path(tempfile.gettempdir()),
        reading=reading,
    )


def budget_of(p: Resources, reading: ReadingLimits) -> Budget:
    """The budget by the parameters of a report."""
    return budget(p.memory, p.threads, p.spill, reading)


def available_memory() -> int:
    """The memory in bytes of the machine, or, if that is less, of the container in which this
    process runs.
    """
    size = 4 * 2**30  # if the system does not say it
    if hasattr(os, "sysconf"):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in CGROUPS:  # files in which Linux states the limit of a container
        try:
            size = min(size, int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such file, or "max" in it: no limit
            continue
    return size


@contextmanager
def needed(parts: Sequence[InputPart], budget: Budget) -> Iterator[Engine | None]:
    """A context with the engine for tables that have more rows than are kept in memory; with None
    for others.
    """
    max_rows = budget.reading.rows
    if sum(part.most_rows for part in parts) <= max_rows:
        yield None
        return
    with opened(budget, parts) as engine:
        is_large = isinstance(engine, Spark) or rows_of(engine, parts) > max_rows
        needed_engine = engine if is_large else None
        yield needed_engine


def rows_of(engine: Engine, parts: Sequence[InputPart]) -> int:
    """The number of rows of all parts. Those of a part are counted if it does not state their
    number, or if only some of them are read.
    """
    rows = 0
    for part in parts:
        if part.selected_rows or part.known_rows is None:
            rows += _count(engine, part)
        else:
            rows += part.known_rows
    return rows


def _count(engine: Engine, part: InputPart) -> int:
    """The number of rows of a part, by a query."""
    selection = part.select({"first": part.columns[0]}, {})
    table = engine.table(Query.from_selection(selection, "count(*) AS n"))
    return int(table["n"][0].as_py())


# DuckDB -------------------------------------------------------------------------------------------

SHARE = 2  # DuckDB gets this fraction of the memory: 1 / SHARE
# bytes that DuckDB needs for each of its threads: with less, sorting runs out of memory
EACH = 125 * 10**6


@dataclass(frozen=True, eq=False)
class DuckDB(Engine):
    """A DuckDB connection, opened at the first query. options: of the connection."""

    options: Mapping[str, str]
    budget: Budget
    dialect: ClassVar[duck.Dialect] = duck.DUCKDB

    @cached_property
    def connection(self) -> "duckdb.DuckDBPyConnection":
        """The connection."""
        import duckdb

        return duckdb.connect(config=dict(self.options))

    def close(self) -> None:
        """Close the connection, if there is one, to free its memory; the next query opens
        another.
        """
        if "connection" in vars(self):
            vars(self).pop("connection").close()

    @property
    def reading(self) -> ReadingLimits:
        """The limits on the number of rows in memory."""
        return self.budget.reading

    def table(self, query: Query) -> "pa.Table":
        """The result as one Arrow table."""
        with self._result_of(query) as relation:
            return relation.to_arrow_table()

    def total(self, query: Query, summarise: Callable[..., Result]) -> Result:
        """As `Engine.total`; shards are reduced in parallel, and their results added in order."""
        total: Any = None
        with progress("reading", query.rows, "rows") as draw:
            shards = _numbered(self.stream(query), draw)
            for result in threads.ordered(
                lambda shard: summarise(*shard), shards, self.budget.workers
            ):
                total = add_results(total, result)
        return cast("Result", total)

    def stream(self, query: Query) -> Iterator["pa.Table"]:
        """As `Engine.stream`, sorted by hash, which takes half the time of sorting texts.

        Values with the same hash are in the same shard.
        """
        if query.group_column:
            name = self.dialect.quote(base.HASH)
            keys = ", ".join([name, *query.order_columns])
            hashed = f"SELECT *, hash({query.group_column}) AS {name} FROM ({query.sql})"
            ordered = f"{hashed} ORDER BY {keys}"
            yield from base.whole_groups(self._batches(replace(query, sql=ordered)))
        else:
            yield from self._batches(query)
        self.close()  # as sorting has filled its memory

    def _batches(self, query: Query) -> Iterator["pa.Table"]:
        """The result as Arrow tables of the rows of a shard, in order."""
        size = self.budget.shard
        with self._result_of(query) as relation:
            yield from base.tables(relation.to_arrow_reader(size), size)

    def again(self) -> AbstractContextManager[Engine]:
        """A new connection with the same budget."""
        return opened(self.budget)

    def where(self, selection: Selection, condition: str, cells: str, limit: int) -> list[Record]:
        """As `Engine.where`, by the connection of this process."""
        return selection.where(condition, cells, limit)

    def _result_of(self, query: Query) -> AbstractContextManager[Any]:
        """A context in which the query's result, a relation of DuckDB, is used."""
        refused = partial(self._refused, where=query.where)
        return duck.query_result(self.connection, query.sql, query.frames, refused)

    def _refused(self, message: str, where: str) -> InputError:
        """The error for a message of DuckDB."""
        lower = message.lower()
        no_space = ("no space left", "max_temp_directory_size", "offload data block")
        if any(words in lower for words in no_space):
            return refused(where, "no_space", spill=self.budget.spill)
        if "out of memory" in lower:
            return refused(where, "no_memory", megabytes=self.budget.memory / 10**6)
        return InputError(f"{where}: {duck.one_line_message(message)}")


@dataclass(frozen=True, eq=False)
class InMemoryDuckDB(DuckDB):
    """DuckDB for tables that fit into memory: all rows form one block, in the order of the
    input.
    """

    is_for_memory: ClassVar[bool] = True

    @classmethod
    def opened(cls) -> "InMemoryDuckDB":
        """The connection of this process."""
        return cls({}, budget())

    @cached_property
    def connection(self) -> "duckdb.DuckDBPyConnection":
        """The connection of this process."""
        return duck.connection()

    def cached(self, selection: Selection, frame: str) -> Selection:
        """The selection; for a text file, which takes long to read again, the result of it."""
        if not isinstance(selection.part, formats.TextFile):
            return selection
        with explain_failures(selection):
            result = self.table(Query.from_selection(selection, "*"))
        return replace(selection, query=f"SELECT * FROM {frame}", source="", frames={frame: result})

    def stream(self, query: Query) -> Iterator["pa.Table"]:
        """The result as one shard."""
        yield self.table(query)


def _numbered(
    shards: Iterator["pa.Table"], draw: Callable[[int], None]
) -> Iterator[tuple["pa.Table", int]]:
    """The shards, each with the number of rows before it. draw: shows the number of rows so far."""
    before = 0
    for shard in shards:
        rows = len(shard)
        yield shard, before
        del shard  # the next one is made while others are reduced: each is kept by its thread alone
        before += rows
        draw(before)


@contextmanager
def opened(budget: Budget, parts: Sequence[InputPart] = ()) -> Iterator[Engine]:
    """A context with DuckDB within this budget, or with Spark if a part is a table of Spark with
    more rows than may be collected.

    DuckDB's folder is deleted at the end, also after an error.
    """
    if cluster := cluster_of(parts, budget.reading):
        yield cluster
        return
    try:
        folder = folders.new_scratch_folder(budget.spill)
    except OSError as error:
        raise InputError(f"spill: {budget.spill} cannot be written to, {error.strerror}") from None
    options = {
        "autoinstall_known_extensions": "false",
        "enable_external_file_cache": "false",  # the system keeps the pages of files as well
        "memory_limit": f"{budget.memory // SHARE // 10**6}MB",
        "preserve_insertion_order": "true",  # shards are the same for every number of threads
        "temp_directory": str(folder),
        "threads": str(max(1, min(budget.threads, budget.memory // SHARE // EACH))),
    }
    try:
        with closing(DuckDB(options, budget)) as engine:
            yield engine
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Spark --------------------------------------------------------------------------------------------

BATCH = 2**17  # rows that Spark hands over at once; its own default of 10,000 costs twice the time
# workers that merge the results of a long table; one more merges theirs, as a single one is
# collected
FOLDS = 4
# Rows of a long table: results have no more numbers than rows, and one worker merges those of a
# shorter one.
LONG = 2**25
BATCH_SIZE = "spark.sql.execution.arrow.maxRecordsPerBatch"


def cluster_of(
    parts: Sequence[InputPart], reading: ReadingLimits = USUAL_LIMITS.reading
) -> "Spark | None":
    """Spark, if a part is a Spark table with more rows than may be collected, which `load` would
    reject; else None.
    """
    for part in parts:
        session = part.cluster_session
        if session is not None:
            return Spark(session, reading)
    return None


@dataclass(frozen=True, eq=False)
class Spark(Engine):
    """A Spark session, classic or Connect, as a reading engine."""

    session: "pyspark.sql.SparkSession"
    reading: ReadingLimits = USUAL_LIMITS.reading
    dialect: ClassVar[duck.Dialect] = duck.SPARK

    def table(self, query: Query) -> "pa.Table":
        """The result as one Arrow table."""
        with self._result_of(query) as rows:
            return rows.toArrow()

    def total(self, query: Query, summarise: Callable[..., Result]) -> Result:
        """As `Engine.total`, computed by the workers.

        The results are summed within each partition and then over all partitions, in two steps if
        the table may be long because its rows are not known. Raises InputError if the query returns
        no row.
        """
        with self._result_of(query) as rows:
            summed = self._worked(rows, query.group_column, summarise, add_results)
            fold = _sent(spark_worker.sum_partitions, add_results)
            steps = (1,) if 0 < query.rows < LONG else (FOLDS, 1)
            for folds in steps:
                summed = summed.repartition(folds, "of").mapInArrow(fold, spark_worker.CELLS)
            batches = summed.toArrow().to_batches()
        results = list(map(_read, spark_worker.join_cells(batches)))
        if not results:
            raise InputError(f"{query.where}: there is no row")
        total: Result = results[0]
        return total

    def stream(self, query: Query) -> Iterator["pa.Table"]:
        """As `Engine.stream`, by partition; within each the rows of a group are neighbours."""
        with self._result_of(query) as rows:
            cells = self._worked(rows, query.group_column, spark_worker.table_bytes, None)
            batches = map(_batch, cells.toLocalIterator())
            for content in spark_worker.join_cells(batches):
                yield spark_worker.table(_read(content))

    def _worked(
        self,
        rows: "pyspark.sql.DataFrame",
        group_column: str | None,
        summarise: Callable[["pa.Table"], object],
        add: Callable[..., Any] | None,
    ) -> "pyspark.sql.DataFrame":
        """The results of workers as a data frame of cells: of shards, or with `add`, which adds
        two results, of partitions.

        rows: the data frame. group_column: as in `Query`. summarise: what is computed from a shard.
        """
        work = _sent(
            spark_worker.reduce_partition, (group_column, summarise, add, self.reading.worker)
        )
        return _grouped(rows, group_column).mapInArrow(work, spark_worker.CELLS)

    def again(self) -> AbstractContextManager[Engine]:
        """This engine: its session belongs to the caller and stays open."""
        return nullcontext(self)

    def where(self, selection: Selection, condition: str, cells: str, limit: int) -> list[Record]:
        """n = 0, because rows of a cluster have no number, and cells (SQL) of some rows that meet
        the condition.
        """
        query = Query.from_selection(
            selection, f"0 AS n, {cells}", f"WHERE {condition} LIMIT {limit}"
        )
        rows: list[Record] = self.table(query).to_pylist()
        return rows

    @contextmanager
    def _result_of(self, query: Query) -> Iterator[Any]:
        """A context with the query's data frame, in which its frames have names and batches are
        large.
        """
        with spark_tables.spark_errors(query.where), self._large_batches():
            views = {name: f"evalkit_{uuid.uuid4().hex}" for name in query.frames}
            try:
                for name, frame in query.frames.items():
                    rows = frame if is_spark_frame(frame) else self.session.createDataFrame(frame)
                    rows.createTempView(views[name])
                # A name of the query shadows a table or a view of the session, and leaves no trace
                # there.
                tables = [
                    f"{self.dialect.quote(name)} AS (SELECT * FROM {view})"
                    for name, view in views.items()
                ]
                sql = query.sql
                if tables:
                    sql = f"WITH {', '.join(tables)} ({sql})"
                yield self.session.sql(sql)
            finally:
                for view in views.values():
                    self.session.catalog.dropTempView(view)

    @contextmanager
    def _large_batches(self) -> Iterator[None]:
        """A context in which the session hands over many rows at once, if it does not already."""
        conf = self.session.conf
        user_setting = conf.getAll.get(BATCH_SIZE)  # None if it has its default
        rows = int(conf.get(BATCH_SIZE) or 0)
        wanted = min(BATCH, self.reading.worker)
        if rows <= 0 or rows >= wanted:  # 0 is no limit
            yield
            return
        conf.set(BATCH_SIZE, str(wanted))
        try:
            yield
        finally:
            if user_setting is None:
                conf.unset(BATCH_SIZE)
            else:
                conf.set(BATCH_SIZE, user_setting)


def _grouped(rows: "pyspark.sql.DataFrame", group_column: str | None) -> "pyspark.sql.DataFrame":
    """The rows, with equal texts of the column `group_column` as neighbours in one partition.

    They are sorted by a hash of their bytes, as Spark sorts whole numbers by radix, but texts by
    comparing them. The hash is computed where the rows have arrived, not sent with them.
    """
    from pyspark.sql import functions

    if group_column is None:
        return rows
    key = functions.expr(f"xxhash64(CAST({duck.SPARK.quote(group_column)} AS BINARY))")
    return rows.repartition(key).withColumn(base.HASH, key).sortWithinPartitions(base.HASH)


def _batch(row: "pyspark.sql.Row") -> "pa.RecordBatch":
    """A row of a data frame of cells as a batch, which `join_cells` takes."""
    import pyarrow as pa

    return pa.record_batch({name: [row[name]] for name in row.__fields__})


def _sent(work: Callable[..., Batches], task: object) -> Callable[[Batches], Batches]:
    """A function of the batches of a partition that can be sent to a worker. work: a function of
    `spark_worker`, of batches, the sources of evalkit and the pickled task.
    """
    from pyspark import cloudpickle as untyped

    cloudpickle: Any = untyped
    cloudpickle.register_pickle_by_value(spark_worker)
    code = spark_worker.packed()
    packed = cloudpickle.dumps(task)

    def sent(batches: Batches) -> Batches:
        """The results as cells."""
        return work(batches, code, packed)

    return sent


def _read(content: "pa.Buffer") -> Any:
    """The result of a content; raises the error that a function raised in a worker."""
    is_error, result = spark_worker.unwrapped(content)
    if not is_error:
        return result
    errors = {
        "InputError": InputError,
        "ParameterError": ParameterError,
        "BrokenRule": BrokenRule,
    }
    name, message = result
    raise errors[name](message)
