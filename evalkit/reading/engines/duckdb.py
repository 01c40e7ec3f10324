"""DuckDB within limits, for rows that do not fit into memory: they come sorted, whole groups at a time.

The limit is for all that reading needs. DuckDB has one half of it and spills to a folder of its own, which is gone
when the work ends; the rest holds the shard that numpy works on.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit import scratch
from evalkit.arrays import InputError
from evalkit.parameters import readers
from evalkit.parameters.reports import LEAST_MEMORY
from evalkit.progress import progress
from evalkit.reading.engines import stretches
from evalkit.reading.tables import duck, sources
from evalkit.reading.tables.sources import Part, Selection

ROW = 1000  # bytes that a row needs, in DuckDB's hands, in Arrow's and in numpy's, while its shard is reduced
SHARE = 2  # one in so many bytes is DuckDB's
FEWEST = 100_000  # rows of a shard, however little memory there is
CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
Reduction = Callable[[Any], Any]  # an Arrow table of rows in, an Arrow table out


@dataclass(frozen=True)
class Limits:
    """memory: bytes that reading may use. threads: of DuckDB. spill: the folder in which its own one is made."""

    memory: int
    threads: int
    spill: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))

    @property
    def shard(self) -> int:
        """Rows that numpy gets at once."""
        return max(FEWEST, self.memory // 2 // ROW)


def limits(memory: str | int | None = None, threads: int | None = None, spill: str | Path | None = None) -> Limits:
    """Return the limits; None: half of the machine's memory, all its processors, its temporary folder.

    >>> limits("1.5GB", threads=2).memory
    1500000000
    """
    folder = readers.folder("spill", spill) or Path(tempfile.gettempdir())
    size = readers.size("memory", memory, LEAST_MEMORY) or max(LEAST_MEMORY, available() // 2)
    return Limits(size, threads or os.cpu_count() or 1, folder)


def available() -> int:
    """Bytes of memory that the machine, or the container around this process, has."""
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 4 * 2**30
    for path in CGROUPS:
        try:
            size = min(size, int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):  # no such limit: "max", or another system
            continue
    return size


@dataclass(frozen=True, eq=False)
class Engine:
    """An open DuckDB connection and the limits that it keeps."""

    connection: Any
    limits: Limits

    def table(self, query: str, shown: str, **frames: Any) -> Any:
        """The answer as one Arrow table; errors become one line that begins with `shown`."""
        with self._asked(query, shown, frames) as relation:
            return relation.to_arrow_table()

    def batches(self, query: str, shown: str, size: int, **frames: Any) -> Iterator[Any]:
        """The answer as Arrow tables of at least `size` rows, the last one shorter."""
        with self._asked(query, shown, frames) as relation:
            yield from stretches.tables(relation.to_arrow_reader(size), size)

    def reduce(
        self,
        query: str,
        by: str | None,
        function: Reduction,
        shown: str,
        merge: Reduction | None = None,
        total: int = 0,
        **frames: Any,
    ) -> Any:
        """What `function` makes of every shard of the answer, as one Arrow table.

        by: a text column whose equal values come in one shard; None: shards as they come. merge: makes one smaller
        table of two results laid end to end, such as sums by key; without it they stay as they are. Neither may need
        the order of the shards: it is not fixed, and Spark, whose engine has this method too, has none. total: the
        rows of the answer, for the line of progress.
        """
        import pyarrow as pa

        shards = (
            self.shards(query, by, shown, **frames) if by else self.batches(query, shown, self.limits.shard, **frames)
        )
        with progress("reading", total, "rows") as draw:
            made = _counted(shards, function, draw)
            if merge is None:
                return pa.concat_tables(made)
            whole = next(made)
            for one in made:
                whole = merge(pa.concat_tables([whole, one]))
            return whole

    @staticmethod
    def quote(name: str) -> str:
        """The name as this engine's SQL writes it."""
        return duck.name_of(name)

    @staticmethod
    def finite(name: str) -> str:
        """The SQL that is false of NaN and of infinite numbers.

        Not a comparison: DuckDB would answer that from the file's smallest and largest number, which leave NaN out.
        """
        return f"isfinite({duck.name_of(name)})"

    @staticmethod
    def literal(text: str) -> str:
        """The text as this engine's SQL writes it."""
        return duck.literal(text)

    @staticmethod
    def select(part: Part, text: Mapping[str, str], numbers: Mapping[str, str], frame: str = "frame") -> Selection:
        """The SQL for the columns of a part by role; what it needs beside the part's file is called `frame` in it."""
        return sources.select(part, text, numbers, frame)

    @staticmethod
    def first(s: Selection, wrong: str, role: str) -> tuple[int, Any]:
        """Row, from 1, and value of the first row of a selection where the condition holds."""
        found = sources.rows_where(s, wrong, f"{duck.name_of(role)} AS value", 1)[0]
        return found["n"], found["value"]

    @staticmethod
    def where(s: Selection, condition: str, cells: str, most: int) -> list[dict[str, Any]]:
        """Number n, from 1, and cells, SQL, of the first rows of a selection where the condition holds."""
        return sources.rows_where(s, condition, cells, most)

    def shards(self, query: str, by: str, shown: str, **frames: Any) -> Iterator[Any]:
        """The answer sorted by the text column `by`, as Arrow tables of whole groups of its equal values.

        Sorted by hash first: that compares numbers, and texts only where hashes are equal.
        """
        ordered = f"SELECT * FROM ({query}) ORDER BY hash({by}), {by}"
        yield from stretches.whole_groups(self.batches(ordered, shown, self.limits.shard, **frames), by)

    @contextmanager
    def _asked(self, query: str, shown: str, frames: dict[str, Any]) -> Iterator[Any]:
        import duckdb

        cursor = self.connection.cursor()
        try:
            for name, frame in frames.items():
                cursor.register(name, frame)
            yield cursor.sql(query)
        except (duckdb.Error, OSError) as error:  # the reader of a stream raises what Arrow makes of it
            raise self._refused(str(error), shown) from None
        finally:
            cursor.close()

    def _refused(self, message: str, shown: str) -> InputError:
        low = message.lower()
        if "no space left" in low or "max_temp_directory_size" in low or "offload data block" in low:
            return InputError(
                f"{shown}: no space is left in {self.limits.spill} for what does not fit into memory; "
                "set spill=FOLDER to another disk, or memory to more"
            )
        if "out of memory" in low:
            had = f"{self.limits.memory / 10**6:,.0f} MB"
            return InputError(f"{shown}: {had} of memory are too little for this input; set memory to more")
        return InputError(f"{shown}: {duck.tidy(message)}")


def _counted(shards: Iterator[Any], function: Reduction, draw: Callable[[int], None]) -> Iterator[Any]:
    """The results of all shards, the rows that went into them shown."""
    done = 0
    for shard in shards:
        yield function(shard)
        done += len(shard)
        draw(done)


@contextmanager
def opened(given: Limits) -> Iterator[Engine]:
    """A connection with these limits; its folder goes when the block ends, however it ends."""
    import duckdb

    try:
        folder = scratch.new_folder(given.spill)
    except OSError as error:
        raise InputError(f"spill: {given.spill} cannot be written to, {error.strerror}") from None
    options: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "memory_limit": f"{given.memory // SHARE // 10**6}MB",
        "preserve_insertion_order": "false",
        "temp_directory": str(folder),
        "threads": str(given.threads),
    }
    try:
        connection = duckdb.connect(config=options)
        try:
            yield Engine(connection, given)
        finally:
            connection.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
