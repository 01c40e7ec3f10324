"""DuckDB within a budget, for rows that do not fit into memory: they come sorted, whole groups at a time.

The limit is for all that reading needs. DuckDB has one half of it and spills to a folder of its own, which is gone
when the work ends; the rest holds the shard that numpy works on.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from evalkit import system
from evalkit.arrays import InputError
from evalkit.limits import Reading
from evalkit.reading.engines import base
from evalkit.reading.engines.base import Budget, Engine, Reduction, added
from evalkit.reading.tables import duck
from evalkit.reading.tables.duck import DUCKDB, Dialect
from evalkit.reading.tables.parts import Selection
from evalkit.system import progress

SHARE = 2  # one in so many bytes is DuckDB's
EACH = 125 * 10**6  # bytes that DuckDB asks for each of its threads: with less, sorting runs out of memory


@dataclass(frozen=True, eq=False)
class DuckDB(Engine):
    """A DuckDB connection, opened for the first question, and the budget that it keeps. options: of the connection."""

    options: Mapping[str, str]
    budget: Budget
    dialect: ClassVar[Dialect] = DUCKDB

    @cached_property
    def connection(self) -> Any:
        """The connection."""
        import duckdb

        return duckdb.connect(config=dict(self.options))

    def close(self) -> None:
        """Close the connection if there is one."""
        if "connection" in vars(self):
            self.connection.close()

    @property
    def reading(self) -> Reading:
        return self.budget.reading

    @property
    def threads(self) -> int:
        return self.budget.threads

    def table(self, query: str, where: str, **frames: Any) -> Any:
        with self._asked(query, where, frames) as relation:
            return relation.to_arrow_table()

    def batches(self, query: str, where: str, size: int, **frames: Any) -> Iterator[Any]:
        """The answer as Arrow tables of `size` rows, the last one shorter."""
        with self._asked(query, where, frames) as relation:
            yield from base.tables(relation.to_arrow_reader(size), size)

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
        import pyarrow as pa

        shards = self.stream(query, by, where, then, **frames)
        with progress("reading", total, "rows") as draw:
            results = system.ordered(function, _counted(shards, draw), self.budget.workers)
            if merge is None:
                return pa.concat_tables(results)
            whole = next(results)
            for result in results:
                whole = merge(pa.concat_tables([whole, result]))
            return whole

    def total(
        self,
        query: str,
        by: str | None,
        of: Callable[..., Any],
        where: str,
        total: int = 0,
        then: Sequence[str] = (),
        **frames: Any,
    ) -> Any:
        """As `Engine.total`; `of` is told how many rows came before each shard."""
        whole = None
        with progress("reading", total, "rows") as draw:
            shards = _after(_counted(self.stream(query, by, where, then, **frames), draw))
            for part in system.ordered(lambda shard: of(*shard), shards, self.budget.workers):
                whole = added(whole, part)
        return whole

    def stream(self, query: str, by: str | None, where: str, then: Sequence[str] = (), **frames: Any) -> Iterator[Any]:
        if by:
            return self.shards(query, by, where, then, **frames)
        return self.batches(query, where, self.budget.shard, **frames)

    def again(self) -> AbstractContextManager[Engine]:
        return opened(self.budget)

    def where(self, selection: Selection, condition: str, cells: str, most: int) -> list[dict[str, Any]]:
        return selection.where(condition, cells, most)

    def shards(self, query: str, by: str, where: str, then: Sequence[str] = (), **frames: Any) -> Iterator[Any]:
        """The answer as Arrow tables of whole groups of equal values of the text column `by`.

        Sorted by hash, which takes half the time of texts: values that share a hash share a shard.
        """
        name = self.dialect.quote(base.HASH)
        keys = ", ".join([name, *then])
        ordered = f"SELECT *, hash({by}) AS {name} FROM ({query}) ORDER BY {keys}"
        yield from base.of_hash(self.batches(ordered, where, self.budget.shard, **frames))

    @contextmanager
    def _asked(self, query: str, where: str, frames: dict[str, Any]) -> Iterator[Any]:
        import duckdb

        cursor = self.connection.cursor()
        try:
            for name, frame in frames.items():
                cursor.register(name, frame)
            yield cursor.sql(query)
        except (duckdb.Error, OSError) as error:  # the reader of a stream raises what Arrow makes of it
            raise self._refused(str(error), where) from None
        finally:
            cursor.close()

    def _refused(self, message: str, where: str) -> InputError:
        low = message.lower()
        if "no space left" in low or "max_temp_directory_size" in low or "offload data block" in low:
            return InputError(
                f"{where}: no space is left in {self.budget.spill} for data that do not fit into memory; "
                "set spill=FOLDER to another disk, or memory to more"
            )
        if "out of memory" in low:
            had = f"{self.budget.memory / 10**6:,.0f} MB"
            return InputError(f"{where}: {had} of memory is not enough for this input; set memory to more")
        return InputError(f"{where}: {duck.tidy(message)}")


def _counted(shards: Iterator[Any], draw: Callable[[int], None]) -> Iterator[Any]:
    """The shards; the rows of those that are handed out are shown."""
    done = 0
    for shard in shards:
        rows = len(shard)
        yield shard
        del shard  # the next one is made while others are reduced: each is kept by its thread alone
        done += rows
        draw(done)


def _after(shards: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    """The shards, each with the number of rows before it."""
    before = 0
    for shard in shards:
        rows = len(shard)
        yield shard, before
        del shard
        before += rows


@contextmanager
def opened(budget: Budget) -> Iterator[DuckDB]:
    """A connection within this budget; its folder goes when the block ends, however it ends."""
    try:
        folder = system.new_scratch_folder(budget.spill)
    except OSError as error:
        raise InputError(f"spill: {budget.spill} cannot be written to, {error.strerror}") from None
    options = {
        "autoinstall_known_extensions": "false",
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
