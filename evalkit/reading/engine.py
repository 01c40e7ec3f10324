"""DuckDB within limits, for rows that do not fit into memory: they come sorted, whole groups at a time.

The limit is for all that reading needs. DuckDB has one half of it and spills to a folder of its own, which is gone
when the work ends; the other half holds the shard that numpy works on.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.progress import progress
from evalkit.reading import duck

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
LEAST = 200 * 10**6  # with less DuckDB cannot sort at all
ROW = 600  # bytes that a row needs while its shard is reduced
FEWEST = 100_000  # rows of a shard, however little memory there is
CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
Reduction = Callable[[Any], Any]  # an Arrow table of rows in, an Arrow table out
OURS = re.compile(r"evalkit-spill-(\d+)-.*")


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


def limits(memory: str | None = None, threads: int | None = None, spill: str | None = None) -> Limits:
    """Reads the three parameters; None: half of the machine's memory, all its processors, its temporary folder.

    >>> limits("1.5GB", threads=2).memory
    1500000000
    """
    folder = Path(spill or tempfile.gettempdir()).expanduser()
    if not folder.is_dir():
        raise ParameterError(f"spill: must be a folder that exists, got {spill!r}")
    given = _bytes(memory) if memory else max(LEAST, available() // 2)
    return Limits(given, threads or os.cpu_count() or 1, folder)


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([\d.]+)\s*([kmgt]?i?)b?", text.strip().lower())
    try:
        size = int(float(found[1]) * UNITS[found[2]]) if found else 0
    except (ValueError, KeyError):
        size = 0
    if size < LEAST:
        raise ParameterError(f"memory: must be a size of at least 200MB, such as 1GB, got {text!r}")
    return size


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
        import pyarrow as pa

        with self._asked(query, shown, frames) as relation:
            held: list[Any] = []
            for batch in relation.to_arrow_reader(size):
                held.append(batch)
                if sum(map(len, held)) >= size:
                    yield pa.Table.from_batches(held)
                    held = []
            if held:
                yield pa.Table.from_batches(held)

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

    def shards(self, query: str, by: str, shown: str, **frames: Any) -> Iterator[Any]:
        """The answer sorted by the text column `by`, as Arrow tables of whole groups of its equal values.

        Sorted by hash first: that compares numbers, and texts only where hashes are equal.
        """
        import pyarrow as pa

        held: list[Any] = []
        ordered = f"SELECT * FROM ({query}) ORDER BY hash({by}), {by}"
        for table in self.batches(ordered, shown, self.limits.shard, **frames):
            held.append(table)
            whole = pa.concat_tables(held)
            cut = _last_start(whole[by])
            if cut:
                yield whole.slice(0, cut)
            held = [whole.slice(cut)]
        if held:
            yield pa.concat_tables(held)

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


def _last_start(column: Any) -> int:
    """Where the last group of equal neighbours begins."""
    import pyarrow.compute as pc

    last, n = column[-1], len(column)
    step = 1
    while step < n and pc.all(pc.equal(column.slice(n - step), last)).as_py():
        step *= 2
    tail = column.slice(max(0, n - step))
    other = np.flatnonzero(~pc.equal(tail, last).to_numpy())
    return max(0, n - step) + (int(other[-1]) + 1 if len(other) else 0)


@contextmanager
def opened(given: Limits) -> Iterator[Engine]:
    """A connection with these limits; its folder goes when the block ends, however it ends."""
    import duckdb

    sweep(given.spill)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"evalkit-spill-{os.getpid()}-", dir=given.spill))
    except OSError as error:
        raise InputError(f"spill: {given.spill} cannot be written to, {error.strerror}") from None
    options: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "memory_limit": f"{given.memory // 2 // 10**6}MB",
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


def sweep(folder: Path) -> None:
    """Removes what runs that were killed have left in the folder."""
    for left in folder.glob("evalkit-spill-*"):
        found = OURS.fullmatch(left.name)
        if found and os.name == "posix" and not _alive(int(found[1])):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True
