"""The code that runs in a Spark worker, which needs numpy and pyarrow but no installed evalkit.

This module is sent to the worker together with the sources of the package, so it must not import
evalkit at its top. Pickling functions by value would fail, because their modules hold caches and
locks. `addArtifacts` and `addPyFile` would not do either: what they add stays in the caller's
session for good, so a later version of evalkit could not replace it, and a worker with another
evalkit installed would import that one.
"""

import functools
import importlib
import importlib.abc
import importlib.util
import pickle
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# the largest number of bytes of a cell, a piece of a result: the JVM, whose heap may be 1 GB, makes
# several copies of a cell at once
CELL = 2**20
# the columns of cells: the number of the result, the number of the cell in it, how many cells it
# has, and the bytes
CELLS = "of bigint, place bigint, places bigint, cell binary"
REFUSALS = ("InputError", "ParameterError", "BrokenRule")


@functools.cache
def packed() -> bytes:
    """The sources of evalkit, compressed, for `unpack`: name of a module -> True if it is a folder,
    whose `__init__` it then is, and the text.

    Other text files are stored under their paths.
    """
    import evalkit

    root = Path(str(evalkit.__file__)).parent
    sources = {}
    for path in sorted(root.rglob("*.toml")):
        sources[str(path.relative_to(root.parent))] = (False, path.read_text(encoding="utf-8"))
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        parts_of_name = parts[:-1] if is_package else parts
        name = ".".join(parts_of_name)
        sources[name] = (is_package, path.read_text(encoding="utf-8"))
    return zlib.compress(pickle.dumps(sources))


class Carried(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """An import hook that finds and loads modules from their sources in memory.

    sources: as `packed` has them. code: what `packed` returned, by which sources are compared.
    """

    def __init__(self, sources: dict[str, tuple[bool, str]], code: bytes) -> None:
        self.sources = sources
        self.code = code

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """The spec of a module that it has, None for any other."""
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=self.is_package(fullname))

    def is_package(self, fullname: str) -> bool:
        """True if the module is a folder."""
        return self.sources[fullname][0]

    def get_filename(self, fullname: str) -> str:
        """The path that the module would have."""
        ending = "/__init__.py" if self.is_package(fullname) else ".py"
        return fullname.replace(".", "/") + ending

    def get_data(self, path: str) -> bytes:
        """The text that the file at this path would have."""
        return self.sources[path][1].encode()

    def get_source(self, fullname: str) -> str:
        """The module's text."""
        return self.sources[fullname][1]


def unpack(code: bytes) -> None:
    """Make evalkit importable from its packed sources, instead of another version that is already
    there.
    """
    carried = [finder for finder in sys.meta_path if hasattr(finder, "code")]
    if carried and carried[0].code == code:  # Spark gives a worker process many tasks
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "evalkit"]:
        del sys.modules[name]
    finders = [finder for finder in sys.meta_path if finder not in carried]
    sys.meta_path[:] = [Carried(pickle.loads(zlib.decompress(code)), code), *finders]


def reduce_partition(
    batches: Iterable["pa.RecordBatch"], code: bytes, task: bytes
) -> Iterator["pa.RecordBatch"]:
    """The results of a partition's batches as cells, or the message of an error.

    task: pickled, the column whose equal values are in one shard, or None; what is computed from a
    shard; what adds two results, or None if they are not added; the number of rows of a shard.
    """
    unpack(code)
    group_column, summarise, add, size = pickle.loads(task)
    base = importlib.import_module("evalkit.reading.engines.base")
    shards = base.tables(batches, size)
    if group_column:
        shards = base.whole_groups(shards)
    results: Iterator[object] = map(summarise, shards)
    if add is not None:
        results = summed(results, add)
    yield from cells(_wrapped(results), _partition())


def sum_partitions(
    batches: Iterable["pa.RecordBatch"], code: bytes, task: bytes
) -> Iterator["pa.RecordBatch"]:
    """The sum of the results of several partitions as cells; errors are passed on behind it. task:
    pickled, what adds two results.
    """
    unpack(code)
    errors: list[bytes] = []
    total = summed(_results(batches, errors), pickle.loads(task))
    yield from cells(chain(_wrapped(total), errors), _partition())


def _results(batches: Iterable["pa.RecordBatch"], errors: list[bytes]) -> Iterator[object]:
    """The results in batches of cells. errors: gets the contents that are errors."""
    for content in join_cells(batches):
        is_error, result = unwrapped(content)
        if is_error:
            errors.append(content.to_pybytes())
        else:
            yield result


def summed(results: Iterator[object], add: Callable[[object, object], object]) -> Iterator[object]:
    """Yield the sum of the results by `add`, or nothing if there are none."""
    for first in results:
        yield functools.reduce(add, results, first)


def _wrapped(results: Iterable[object]) -> Iterator[bytes]:
    """The bytes of each result, compressed; last those of the error that ended them, if one did."""
    try:
        for result in results:
            yield _compressed((False, result))
    except Exception as error:
        if type(error).__name__ not in REFUSALS:
            raise
        yield _compressed((True, (type(error).__name__, str(error))))


def _compressed(value: object) -> bytes:
    """The bytes of a value, compressed: Zstd leaves a third of the numbers in bins, as narrower
    integers would.
    """
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(pickle.dumps(value))
    return bytes(sink.getvalue())


def unwrapped(content: "pa.Buffer") -> tuple[bool, Any]:
    """True if a content is an error, and the error or the result."""
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
    result: tuple[bool, Any] = pickle.loads(stream.read())
    return result


def table_bytes(table: "pa.Table") -> bytes:
    """A table as the bytes of an Arrow stream; pickling a slice would include its whole table."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def table(content: bytes) -> "pa.Table":
    """The table of these bytes."""
    import pyarrow as pa

    return pa.ipc.open_stream(content).read_all()


# Cells --------------------------------------------------------------------------------------------


def _partition() -> int:
    """The number of the partition that this worker computes; 0 outside of one."""
    from pyspark import TaskContext

    task = TaskContext.get()
    return task.partitionId() if task else 0


def cells(contents: Iterable[bytes], partition: int) -> Iterator["pa.RecordBatch"]:
    """Contents, which are bytes, cut into cells of at most `CELL` bytes, one Arrow batch each.

    A partition that is computed again numbers its contents as before, so that Spark sends its cells
    to the same worker.
    """
    import pyarrow as pa

    for number, content in enumerate(contents):
        starts = range(0, len(content), CELL)
        for place, start in enumerate(starts):
            yield pa.record_batch(
                {
                    "of": [partition << 32 | number],
                    "place": [place],
                    "places": [len(starts)],
                    "cell": pa.array([content[start : start + CELL]], pa.binary()),
                }
            )


def join_cells(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.Buffer"]:
    """Join the pieces that `cells` cut, in any order; yield each content as an Arrow buffer once it
    is complete.

    >>> import pyarrow as pa
    >>> [content.to_pybytes() for content in join_cells(cells([b"one", b"two"], partition=7))]
    [b'one', b'two']
    """
    import pyarrow as pa

    waiting: dict[int, dict[int, pa.Buffer]] = {}  # number of a content -> place -> piece
    for batch in batches:
        columns = (batch["of"], batch["place"], batch["places"], batch["cell"])
        for content, place, places, cell in zip(*columns, strict=True):
            pieces = waiting.setdefault(content.as_py(), {})
            pieces[place.as_py()] = cell.as_buffer()
            if len(pieces) == places.as_py():
                yield pa.py_buffer(b"".join(pieces[i] for i in range(len(pieces))))
                del waiting[content.as_py()]
    if waiting:
        raise RuntimeError(f"{len(waiting)} results of workers are incomplete")
