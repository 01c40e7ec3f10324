"""JSON documents that are one table without rows: {query: {item: score}}, as pytrec_eval, ranx and
BEIR write runs and judgements.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from evalkit.arrays import InputError
from evalkit.machine.compressed_files import plain, unpacked
from evalkit.reading.tables.parts import File, Frames, stamp

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("query", "item", "score")
HEAD = 1 << 16  # bytes by which a document is known
BEGINS = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"[^"]*"\s*:\s*\{\s*"([^"\\]|\\.)*"\s*:\s*[-\d]')


def is_of_lists(data: Mapping[str, object]) -> bool:
    """True for {query: {item: score}}; queries may be without items, but not all of them."""
    lists = [items for items in data.values() if isinstance(items, Mapping)]
    if len(lists) < len(data):
        return False
    scores = list(chain.from_iterable(items.values() for items in lists))
    return bool(scores) and all(isinstance(score, Real) for score in scores)


def as_columns(lists: Mapping[str, Mapping[str, float]]) -> dict[str, list[str | float]]:
    """The columns query, item and score of {query: {item: score}}; ids are texts."""
    columns: dict[str, list[str | float]] = {name: [] for name in COLUMNS}
    for query, items in lists.items():
        for item, score in items.items():
            columns["query"].append(str(query))
            columns["item"].append(str(item))
            columns["score"].append(score)
    return columns


@dataclass(frozen=True, eq=False, kw_only=True)
class ListDocument(File):
    """A document of lists, as an Arrow table with a row for each query and item."""

    table: "pa.Table"

    @property
    def known_rows(self) -> int:
        """The number of rows."""
        return len(self.table)

    def _source(
        self, columns: Collection[str], numbers: Collection[str], frame: str
    ) -> tuple[str, Frames]:
        """The table in memory, under the name `frame`."""
        return frame, {frame: self.table}


def opened(path: Path, where: str) -> ListDocument | None:
    """The document in a file; None if the file holds something else. where: what errors call it.
    Raises InputError for an id that comes twice in an object, of which a parser would keep the
    last.
    """
    if plain(path).suffix.lower() != ".json":
        return None
    with unpacked(path) as stream:
        if not BEGINS.match(stream.read(HEAD)):
            return None
    try:
        with unpacked(path) as stream:
            data = json.loads(stream.read().decode("utf-8-sig"), object_pairs_hook=_distinct)
    except TwiceError as error:
        raise InputError(f"{where}: a key must appear once, got {error.args[0]!r} again") from None
    except ValueError:
        return None
    if not is_of_lists(data):
        return None
    import pyarrow as pa

    columns = as_columns(data)
    table = pa.table({**columns, "score": pa.array(columns["score"], pa.float64())})
    return ListDocument(
        name=where, columns=COLUMNS, path=path, size_and_time=stamp(path), table=table
    )


class TwiceError(ValueError):
    """A key that comes twice in an object."""


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs; raises TwiceError if two have one key."""
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _ in pairs]
        raise TwiceError(next(key for key in keys if keys.count(key) > 1))
    return document
