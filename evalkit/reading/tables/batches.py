"""Arrow record batches from wherever they come: an iterator of them, or a reader such as a database client's.

They can be read only once and need not fit into memory, so they go to a Parquet file in the temporary folder first.
"""

import shutil
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from evalkit import scratch
from evalkit.arrays import InputError
from evalkit.reading.tables import duck
from evalkit.reading.tables.parquet import Parquet
from evalkit.reading.tables.parts import Source, stamp

NAME = "record batches"


class _Folder:
    """A temporary folder that is removed when nobody needs this any more, at the latest with the process."""

    def __init__(self) -> None:
        self.path = scratch.new_folder()
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches(Parquet):
    """Record batches in a Parquet file of ours."""

    folder: _Folder
    unnamed: ClassVar[bool] = True

    def fingerprint(self, rows: int) -> Source:
        return Source(self.name, rows)


def opened(data: Any) -> Batches | None:
    """The batches of an iterator or an Arrow reader in a file, None for anything else.

    Raises InputError where there is no batch, or something else.
    """
    if not isinstance(data, Iterator) and type(data).__name__ != "RecordBatchReader":
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, stream = _stream(data)
    names = [str(name) for name in schema.names]
    duck.distinct(names, NAME)
    folder = _Folder()
    path = folder.path / "batches.parquet"
    try:
        with pq.ParquetWriter(path, schema, compression="lz4") as file:
            for batch in stream:
                file.write_batch(_batch(batch))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{NAME}: cannot be read, {str(error).splitlines()[0]}") from None
    return Batches(name=NAME, columns=tuple(names), path=path, stamp=stamp(path), folder=folder)


def _stream(data: Any) -> tuple[Any, Iterator[Any]]:
    if not isinstance(data, Iterator):
        return data.schema, iter(data)
    first = next(data, None)
    if first is None:
        raise InputError(f"{NAME}: there must be at least one, got none")
    return _batch(first).schema, chain([first], data)


def _batch(batch: Any) -> Any:
    if type(batch).__name__ != "RecordBatch":
        raise InputError(f"{NAME}: an iterator must give Arrow record batches, got {type(batch).__name__}")
    return batch
