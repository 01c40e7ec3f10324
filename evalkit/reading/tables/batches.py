"""Arrow record batches from wherever they come: an iterator of them, or a reader such as a database client's.

They can be read only once and need not fit into memory, so they go to a Parquet file in the temporary folder first.
"""

import shutil
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from evalkit import scratch
from evalkit.arrays import InputError
from evalkit.reading.tables import duck

NAME = "record batches"


@dataclass(frozen=True, eq=False)
class Held:
    """The file that holds the batches; its folder is removed when nobody needs this any more."""

    path: Path
    columns: tuple[str, ...]
    name: str = NAME

    def __post_init__(self) -> None:
        """The folder goes with this object, at the latest with the process."""
        weakref.finalize(self, shutil.rmtree, self.path.parent, ignore_errors=True)


def are(data: Any) -> bool:
    """Whether `data` gives record batches once: an iterator, or an Arrow reader."""
    return isinstance(data, Iterator) or type(data).__name__ == "RecordBatchReader"


def written(data: Any) -> Held:
    """The batches in a file; raises InputError where there is none, or something else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, stream = _stream(data)
    names = [str(name) for name in schema.names]
    duck.distinct(names, NAME)
    held = Held(scratch.new_folder() / "batches.parquet", tuple(names))
    try:
        with pq.ParquetWriter(held.path, schema, compression="lz4") as file:
            for batch in stream:
                file.write_batch(_batch(batch))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{NAME}: cannot be read, {str(error).splitlines()[0]}") from None
    return held


def _stream(data: Any) -> tuple[Any, Iterator[Any]]:
    if not isinstance(data, Iterator):
        return data.schema, iter(data)
    first = next(data, None)
    if first is None:
        raise InputError(f"{NAME}: there must be at least one, got none")
    return _batch(first).schema, chain([first], data)


def _batch(one: Any) -> Any:
    if type(one).__name__ != "RecordBatch":
        raise InputError(f"{NAME}: an iterator must give Arrow record batches, got {type(one).__name__}")
    return one
