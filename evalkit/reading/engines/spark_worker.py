"""What runs inside a Spark worker, which has numpy and pyarrow and need not have evalkit.

This module goes there as it stands, so it imports nothing of evalkit at its top: the package's own sources travel
with it. Pickling functions by value would not do: their modules hold caches and locks, which cannot be pickled. Nor
would `addArtifacts` or `addPyFile`: what they add stays in the session of the caller for good, where a later version of
evalkit could not take its place, and a worker that has another evalkit installed would go on importing that one.
"""

import importlib
import importlib.abc
import importlib.util
import pickle
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TABLE, ERROR = b"T", b"E"  # how a cell begins
REFUSALS = ("InputError", "ParameterError")


def packed() -> bytes:
    """The sources of evalkit by module name, for `unpack`: a folder's `__init__` under the folder's own name."""
    import evalkit

    root = Path(str(evalkit.__file__)).parent
    sources = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        sources[".".join(parts[:-1] if is_package else parts)] = (is_package, path.read_text(encoding="utf-8"))
    return zlib.compress(pickle.dumps(sources))


class Carried(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads the modules whose sources it holds."""

    def __init__(self, sources: dict[str, tuple[bool, str]], code: bytes) -> None:
        self.sources, self.code = sources, code

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module that is held, None for any other."""
        if fullname not in self.sources:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=self.is_package(fullname))

    def is_package(self, fullname: str) -> bool:
        """Whether the module is a folder."""
        return self.sources[fullname][0]

    def get_source(self, fullname: str) -> str:
        """The module's text."""
        return self.sources[fullname][1]


def unpack(code: bytes) -> None:
    """Makes evalkit importable from its packed sources, in place of another evalkit that is there already."""
    here = [finder for finder in sys.meta_path if hasattr(finder, "code")]
    if here and here[0].code == code:  # Spark gives a worker process many tasks
        return
    for name in [name for name in sys.modules if name.partition(".")[0] == "evalkit"]:
        del sys.modules[name]
    others = [finder for finder in sys.meta_path if finder not in here]
    sys.meta_path[:] = [Carried(pickle.loads(zlib.decompress(code)), code), *others]


def reduced(batches: Iterable[Any], code: bytes, task: bytes, size: int) -> Iterator[Any]:
    """A partition's batches reduced: Arrow batches of one cell each, a table's bytes or an error's words."""
    unpack(code)
    by, function, merge = pickle.loads(task)
    stretches = importlib.import_module("evalkit.reading.engines.stretches")
    parts = stretches.tables(batches, size)
    results = map(function, stretches.of_hash(parts) if by else parts)
    try:
        for table in results if merge is None else merged(results, merge):
            yield _cell(TABLE + written(table))
    except Exception as error:
        if type(error).__name__ not in REFUSALS:
            raise
        yield _cell(ERROR + pickle.dumps((type(error).__name__, str(error))))


def folded(batches: Iterable[Any], code: bytes, task: bytes) -> Iterator[Any]:
    """The cells of several partitions as one, their tables merged; an error stays a cell of its own."""
    unpack(code)
    errors = []

    def tables() -> Iterator[Any]:
        for batch in batches:
            for cell in batch["cell"]:
                content = cell.as_buffer()
                if bytes(content[:1]) == TABLE:
                    yield read(content)
                else:
                    errors.append(bytes(content))

    for table in merged(tables(), pickle.loads(task)):
        yield _cell(TABLE + written(table))
    yield from map(_cell, errors)


def _cell(content: bytes) -> Any:
    import pyarrow as pa

    return pa.record_batch([pa.array([content], pa.binary())], ["cell"])


def merged(tables: Iterable[Any], merge: Any) -> Iterator[Any]:
    """The tables folded to one, none where there is none."""
    import pyarrow as pa

    whole = None
    for table in tables:
        whole = table if whole is None else merge(pa.concat_tables([whole, table]))
    if whole is not None:
        yield whole


def written(table: Any) -> bytes:
    """A table as the bytes of an Arrow stream."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def read(cell: Any) -> Any:
    """The table of a cell."""
    import pyarrow as pa

    return pa.ipc.open_stream(cell[1:]).read_all()
