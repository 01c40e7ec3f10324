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
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

# bytes of a cell at most: of a larger one the JVM, whose heap may be 1 GB, makes several copies at
# once
CELL = 2**20
CELLS = "of bigint, place bigint, places bigint, cell binary"
REFUSALS = ("InputError", "ParameterError", "BrokenRule")


@functools.cache
def packed() -> bytes:
    """The sources of evalkit by module name, for `unpack`; a folder's `__init__` has the folder's
    name.

    Other text files are stored under their paths.
    """
    import evalkit

    root = Path(str(evalkit.__file__)).parent
    texts = sorted(root.rglob("*.toml"))
    sources = {
        str(path.relative_to(root.parent)): (False, path.read_text(encoding="utf-8"))
        for path in texts
    }
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        sources[".".join(parts[:-1] if is_package else parts)] = (
            is_package,
            path.read_text(encoding="utf-8"),
        )
    return zlib.compress(pickle.dumps(sources))


class Carried(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """An import hook that finds and loads modules from their sources in memory."""

    def __init__(self, sources: dict[str, tuple[bool, str]], code: bytes) -> None:
        self.sources, self.code = sources, code

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module that it has, None for any other."""
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=self.is_package(fullname))

    def is_package(self, fullname: str) -> bool:
        """True if the module is a folder."""
        return self.sources[fullname][0]

    def get_filename(self, fullname: str) -> str:
        """The path that the module would have."""
        return fullname.replace(".", "/") + ("/__init__.py" if self.is_package(fullname) else ".py")

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
    here = [finder for finder in sys.meta_path if hasattr(finder, "code")]
    if here and here[0].code == code:  # Spark gives a worker process many tasks
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "evalkit"]:
        del sys.modules[name]
    others = [finder for finder in sys.meta_path if finder not in here]
    sys.meta_path[:] = [Carried(pickle.loads(zlib.decompress(code)), code), *others]


def reduced(batches: Iterable[Any], code: bytes, task: bytes) -> Iterator[Any]:
    """The results of a partition's batches as cells, or the message of an error."""
    unpack(code)
    by, of, plus, size = pickle.loads(task)
    stretches = importlib.import_module("evalkit.reading.engines.base")
    parts = stretches.tables(batches, size)
    results = map(of, stretches.of_hash(parts) if by else parts)
    yield from cells(_wrapped(results if plus is None else summed(results, plus)), _partition())


def folded(batches: Iterable[Any], code: bytes, task: bytes) -> Iterator[Any]:
    """The results of several partitions, summed, as cells; an error is passed on."""
    unpack(code)
    errors = []

    def results() -> Iterator[Any]:
        for content in contents(batches):
            is_error, result = unwrapped(content)
            if is_error:
                errors.append(content.to_pybytes())
            else:
                yield result

    yield from cells(chain(_wrapped(summed(results(), pickle.loads(task))), errors), _partition())


def summed(results: Iterator[Any], plus: Any) -> Iterator[Any]:
    """Yield the sum of the results by `plus`, or nothing if there are none."""
    for first in results:
        yield functools.reduce(plus, results, first)


def _wrapped(results: Iterable[Any]) -> Iterator[bytes]:
    """The bytes of each result, or the words of the error that ends them; compressed."""
    try:
        for result in results:
            yield _compressed((False, result))
    except Exception as error:
        if type(error).__name__ not in REFUSALS:
            raise
        yield _compressed((True, (type(error).__name__, str(error))))


def _compressed(value: Any) -> bytes:
    """Zstd leaves a third of bins, as narrower integers would."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(pickle.dumps(value))
    return bytes(sink.getvalue())


def unwrapped(content: Any) -> tuple[bool, Any]:
    """True if a content is an error, and the error or the result."""
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
    result: tuple[bool, Any] = pickle.loads(stream.read())
    return result


def written(table: Any) -> bytes:
    """A table as the bytes of an Arrow stream; pickling a slice would include its whole table."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def table(content: bytes) -> Any:
    """The table of these bytes."""
    import pyarrow as pa

    return pa.ipc.open_stream(content).read_all()


# Cells --------------------------------------------------------------------------------------------


def _partition() -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    return task.partitionId() if task else 0


def cells(contents: Iterable[bytes], partition: int) -> Iterator[Any]:
    """Contents cut into cells of at most `CELL` bytes, one Arrow batch each; `of` is the number of
    the content.

    A partition that is computed again gets the same numbers, so that Spark sends its cells the same
    way.
    """
    import pyarrow as pa

    for number, content in enumerate(contents):
        starts = range(0, len(content), CELL)
        for place, start in enumerate(starts):
            here = {"of": [partition << 32 | number], "place": [place], "places": [len(starts)]}
            yield pa.record_batch(
                here | {"cell": pa.array([content[start : start + CELL]], pa.binary())}
            )


def contents(batches: Iterable[Any]) -> Iterator[Any]:
    """Join the pieces that `cells` cut, in any order; yield each content as an Arrow buffer once it
    is complete.

    >>> import pyarrow as pa
    >>> [content.to_pybytes() for content in contents(cells([b"one", b"two"], partition=7))]
    [b'one', b'two']
    """
    import pyarrow as pa

    waiting: dict[int, dict[int, Any]] = {}
    for batch in batches:
        for of, place, places, cell in zip(
            *(batch[name] for name in ("of", "place", "places", "cell")), strict=True
        ):
            own = waiting.setdefault(of.as_py(), {})
            own[place.as_py()] = cell.as_buffer()
            if len(own) == places.as_py():
                yield pa.py_buffer(b"".join(own[i] for i in range(len(own))))
                del waiting[of.as_py()]
    if waiting:
        raise RuntimeError(f"{len(waiting)} results of workers are incomplete")
