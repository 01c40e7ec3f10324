"""Files of TREC text as parts of an input."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.reading.tables import duck, trec
from evalkit.reading.tables.parts import TextFile, stamp


@dataclass(frozen=True, eq=False, kw_only=True)
class Trec(TextFile):
    """A run or judgements, whose columns are those of its layout; no engine reads it where it is."""

    layout: trec.Layout

    def _source(self, columns: Collection[str], numbers: Collection[str], frame: str) -> None:
        """None: no engine reads it."""

    def _read(self, text: Mapping[str, str], numbers: Mapping[str, str], coded: Collection[str]) -> dict[str, Any]:
        import pyarrow as pa

        columns = trec.read(self.path, self.layout, self.name)
        rows = len(next(iter(columns.values())))
        columns |= {name: pa.array([value] * rows, pa.string()) for name, value in self.folders.items()}
        return {role: columns[column] for role, column in {**text, **numbers}.items()}


def opened(path: Path, layout: trec.Layout) -> Trec:
    """The file by its layout."""
    names = tuple(name for name in layout.fields if name)
    return Trec(name=duck.shown(path), columns=names, path=path, layout=layout, stamp=stamp(path))
