"""The Spark engine: the same reductions as DuckDB's, on a cluster, in the session that holds the tables.

SQL selects the rows, Spark brings those of one group together, and numpy's kernels run in its workers on whole groups.
What comes back is the same small table. Nothing is set in the session that outlives a call.
"""

import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import USUAL, Reading
from evalkit.reading.engines import base, spark_worker
from evalkit.reading.engines.base import Engine, Reduction
from evalkit.reading.tables import spark_tables
from evalkit.reading.tables.duck import SPARK, Dialect
from evalkit.reading.tables.parts import Part, Selection
from evalkit.reading.tables.rules import Refused

BATCH = 2**17  # rows that Spark hands over at once; its own default of 10,000 costs twice the time
FOLDS = 4  # workers that merge the results of a long table; one more merges theirs, as a single one is collected
# Rows of a long table: results have no more numbers than rows, and one worker merges those of a shorter one.
LONG = 2**25
BATCH_SIZE = "spark.sql.execution.arrow.maxRecordsPerBatch"


def engine_for(parts: Sequence[Part], reading: Reading = USUAL.reading) -> "Spark | None":
    """The engine for parts of which one is a Spark table with more rows than are collected; None where there is none.

    A reader that can reduce asks here before it reads; `load` refuses such a table.
    """
    sessions = [session for part in parts if (session := part.cluster) is not None]
    return Spark(sessions[0], reading) if sessions else None


@dataclass(frozen=True, eq=False)
class Spark(Engine):
    """A Spark session, classic or Connect, as a reading engine."""

    session: Any
    reading: Reading = USUAL.reading
    dialect: ClassVar[Dialect] = SPARK

    @property
    def threads(self) -> int:
        return 1

    def table(self, query: str, where: str, **frames: Any) -> Any:
        with self._asked(query, where, frames) as rows:
            return rows.toArrow()

    def reduce(
        self,
        query: str,
        by: str | None,
        function: Reduction,
        where: str,
        merge: Reduction | None = None,
        total: int = 0,
        then: Sequence[str] = (),
        **frames: Any,
    ) -> Any:
        """As `Engine.reduce`, in the workers.

        `merge` folds the results of a partition there, then those of all partitions to one. total: Spark shows its own
        progress; a table that may be long, as its rows are not known, is folded in two steps. Raises InputError where
        the answer has no row.
        """
        import pyarrow as pa

        with self._asked(query, where, frames) as rows:
            reduced = rows if by is None else _grouped(rows, by)
            reduced = reduced.mapInArrow(_work(by, function, merge, self.reading.worker), spark_worker.CELLS)
            if merge is not None:
                for folds in (1,) if 0 < total < LONG else (FOLDS, 1):
                    reduced = reduced.repartition(folds, "of").mapInArrow(_fold(merge), spark_worker.CELLS)
            batches = reduced.toArrow().to_batches()
        tables = list(map(_read, spark_worker.contents(batches)))
        if not tables:
            raise InputError(f"{where}: there is no row")
        return pa.concat_tables(tables)

    def stream(self, query: str, by: str | None, where: str, **frames: Any) -> Iterator[Any]:
        """As `Engine.stream`: partition by partition, in each the rows of a group together."""
        with self._asked(query, where, frames) as rows:
            shards = rows if by is None else _grouped(rows, by)
            work = _work(by, base.as_they_are, None, self.reading.worker)
            cells = shards.mapInArrow(work, spark_worker.CELLS).toLocalIterator()
            yield from map(_read, spark_worker.contents(map(_batch, cells)))

    def again(self) -> AbstractContextManager[Engine]:
        """This one: its session is the caller's, and open."""
        return nullcontext(self)

    def where(self, selection: Selection, condition: str, cells: str, most: int) -> list[dict[str, Any]]:
        """0 as n, for rows of a cluster have no number, and cells, SQL, of some rows where the condition holds."""
        query = f"SELECT 0 AS n, {cells} FROM ({selection.query}) AS s WHERE {condition} LIMIT {most}"
        return self.table(query, selection.part.name, **selection.frames).to_pylist()

    @contextmanager
    def _asked(self, query: str, where: str, frames: Mapping[str, Any]) -> Iterator[Any]:
        """The query's data frame; while it is open, its frames have names and batches are large."""
        with spark_tables.asked(where), self._large_batches():
            views = {name: f"evalkit_{uuid.uuid4().hex}" for name in frames}
            try:
                for name, frame in frames.items():
                    rows = frame if spark_tables.is_frame(frame) else self.session.createDataFrame(frame)
                    rows.createTempView(views[name])
                # A name of the query shadows a table or a view of the session, and leaves no trace there.
                named = [f"{self.dialect.quote(name)} AS (SELECT * FROM {view})" for name, view in views.items()]
                yield self.session.sql(f"WITH {', '.join(named)} ({query})" if named else query)
            finally:
                for view in views.values():
                    self.session.catalog.dropTempView(view)

    @contextmanager
    def _large_batches(self) -> Iterator[None]:
        conf = self.session.conf
        before, rows, wanted = conf.getAll.get(BATCH_SIZE), int(conf.get(BATCH_SIZE)), min(BATCH, self.reading.worker)
        if rows <= 0 or rows >= wanted:  # 0 is no limit
            yield
            return
        conf.set(BATCH_SIZE, str(wanted))
        try:
            yield
        finally:
            conf.unset(BATCH_SIZE) if before is None else conf.set(BATCH_SIZE, before)


def _grouped(rows: Any, by: str) -> Any:
    """The rows with equal texts in one partition, neighbours there; by a hash of their bytes, whatever their collation.

    Spark sorts whole numbers by radix, and texts by comparing them. The hash is made where rows have arrived.
    """
    from pyspark.sql import functions

    key = functions.expr(f"xxhash64(CAST({SPARK.quote(by)} AS BINARY))")
    return rows.repartition(key).withColumn(base.HASH, key).sortWithinPartitions(base.HASH)


def _batch(row: Any) -> Any:
    """A cell that Spark hands over by itself, as `contents` takes it."""
    import pyarrow as pa

    return pa.record_batch({name: [row[name]] for name in row.__fields__})


@cache
def _packed() -> bytes:
    return spark_worker.packed()


def _work(by: str | None, function: Reduction, merge: Reduction | None, size: int) -> Any:
    """What a worker does with a partition, fit to be sent there."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(spark_worker)
    task, code, reduced = cloudpickle.dumps((by, function, merge)), _packed(), spark_worker.reduced

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        return reduced(batches, code, task, size)

    return work


def _fold(merge: Reduction) -> Any:
    """What a worker does with the cells of some partitions, fit to be sent there."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(spark_worker)
    task, code, folded = cloudpickle.dumps(merge), _packed(), spark_worker.folded

    def fold(batches: Iterator[Any]) -> Iterator[Any]:
        return folded(batches, code, task)

    return fold


def _read(content: Any) -> Any:
    """The table of a content; raises the error that a function raised in a worker."""
    if spark_worker.is_table(content):
        return spark_worker.read(content)
    name, words = pickle.loads(content[1:])
    raise {"InputError": InputError, "ParameterError": ParameterError, "Refused": Refused}[name](words)
