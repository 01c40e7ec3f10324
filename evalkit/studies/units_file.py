"""The file of the units of a report, `NAME.units.parquet`: its columns, and how it is written, piece by piece."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.kernels import UNITS
from evalkit.studies.units import PIECE, Block, Units, segment

if TYPE_CHECKING:
    import pyarrow as pa

    from evalkit.studies.study import Study

FORM = "evalkit-units/1"
DISTINCT = ("unit", "numerator", "score")  # columns whose values differ: a dictionary of them would be longer
TEXT, CATEGORY, NUMBER = "text", "text, dictionary", "number"


@dataclass(frozen=True)
class Column:
    """A column of the file: its type, and what it holds."""

    name: str
    type: str
    holds: str


COLUMNS = (
    Column("table", CATEGORY, holds="`log` or `users` in the interleaving report; empty in the others"),
    Column("system", CATEGORY, holds="the system, or the arm"),
    Column(
        "metric",
        CATEGORY,
        holds="the metric as the page calls it; empty in rows with `actual` and `score`",
    ),
    Column("unit", TEXT, holds="the id of the row, query, session or user, by which two reports are paired"),
    Column("cluster", TEXT, holds="the value of the column that the parameter `unit` names; empty without one"),
    Column("class", CATEGORY, holds="the class or the label; empty where a unit has only one score"),
    Column("numerator", NUMBER, holds="the unit's term of the numerator; empty where the metric is undefined"),
    Column("denominator", NUMBER, holds="the unit's term of the denominator; 1 in a mean"),
    Column("actual", NUMBER, holds="the actual value; 1 or 0 for a label, or for the class of this row"),
    Column("score", NUMBER, holds="the score or the forecast; in sessions the credit of the arm"),
    Column("predicted", NUMBER, holds="1 where the system decides for the label or class, else 0"),
    Column("weight", NUMBER, holds="the weight of the row; empty where all count alike"),
)
SEGMENTS = Column("segment_…", CATEGORY, holds="one column for each of `segments`: the slice in which the unit lies")


def leave(report: str, studies: Mapping[str, Study]) -> None:
    """Write the file where `evalkit report` waits for it; a notebook that is run otherwise writes none.

    studies: by the name of their table, which is empty where there is only one.
    """
    if path := os.environ.get(UNITS):
        write(Path(path), report, studies)


def write(path: Path, report: str, studies: Mapping[str, Study]) -> None:
    """Write the file. It is the same on the same input; where there are no units to write, there is none."""
    every = {name: (study, units) for name, study in studies.items() if (units := study.units_wanted()) is not None}
    if not every:
        return
    import pyarrow.parquet as pq

    head = _Head.of(report, every)
    words = [name for name in head.schema.names if name not in DISTINCT]
    ids = {"unit": "DELTA_BYTE_ARRAY"}  # each shares its beginning with the one before
    try:
        with pq.ParquetWriter(path, head.schema, compression="zstd", use_dictionary=words, column_encoding=ids) as file:
            for table in gathered(head.tables(every)):
                file.write_table(table)
    except BaseException:
        path.unlink(missing_ok=True)  # a part of the units is worse than none
        raise


def gathered(pieces: Iterable[pa.Table], rows: int = PIECE) -> Iterator[pa.Table]:
    """The pieces joined to tables of at least so many rows, but the last."""
    import pyarrow as pa

    held: list[pa.Table] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += len(piece)
        if count >= rows:
            yield pa.concat_tables(held).unify_dictionaries()
            held, count = [], 0
    if held:
        yield pa.concat_tables(held).unify_dictionaries()


@dataclass(frozen=True, eq=False)
class _Head:
    """The schema of a file, and the words of its columns of names."""

    schema: pa.Schema
    names: Mapping[str, Sequence[str]]

    @staticmethod
    def of(report: str, every: Mapping[str, tuple[Study, Units]]) -> _Head:
        import pyarrow as pa

        studies = [study for study, _ in every.values()]
        types = {TEXT: pa.string(), CATEGORY: pa.dictionary(pa.int32(), pa.string()), NUMBER: pa.float64()}
        names = {
            "table": [name for name in every if name],
            "system": _distinct(name for study in studies for name in study.systems),
            "metric": _distinct(chosen.label for study in studies for chosen in study.settings.metrics),
            "class": _distinct(name for _, units in every.values() for name in units.labels),
        }
        segments = _distinct(segment(name) for _, units in every.values() for name in units.segments)
        columns = [*COLUMNS, *(Column(name, CATEGORY, holds=SEGMENTS.holds) for name in segments)]
        fields = [pa.field(c.name, types[c.type], metadata={"holds": c.holds}) for c in columns]
        return _Head(pa.schema(fields, {"evalkit": json.dumps(_about(report, every, names))}), names)

    def tables(self, every: Mapping[str, tuple[Study, Units]]) -> Iterator[pa.Table]:
        """The rows of all studies, piece by piece."""
        for name, (_, units) in every.items():
            yield from (self._table(name, block) for block in units.blocks)

    def _table(self, of: str, block: Block) -> pa.Table:
        import pyarrow as pa

        same = {"table": of, "system": block.system, "metric": block.metric}
        columns = {name: self._repeated(name, value, block.rows) for name, value in same.items() if value}
        if block.label is not None:
            columns["class"] = pa.DictionaryArray.from_arrays(block.label.astype(np.int32), self._words("class"))
        columns |= block.columns
        columns |= {name: pa.array(side, pa.float64(), from_pandas=True) for name, side in block.numbers.items()}
        arrays = [columns.get(field.name, pa.nulls(block.rows, field.type)) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _repeated(self, name: str, value: str, rows: int) -> pa.Array:
        import pyarrow as pa

        place = np.full(rows, self.names[name].index(value), np.int32)
        return pa.DictionaryArray.from_arrays(place, self._words(name))

    def _words(self, name: str) -> pa.Array:
        import pyarrow as pa

        return pa.array(self.names[name], pa.string())


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _about(report: str, every: Mapping[str, tuple[Study, Units]], names: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What the file says of itself: the report, its metrics in order, what a unit is, all classes in order."""
    metrics = [
        {"table": of, "metric": chosen.label, "structure": chosen.metric.structure, "best": chosen.metric.best}
        for of, (study, _) in every.items()
        for chosen in study.settings.metrics
    ]
    units = {of: study.unit_name for of, (study, _) in every.items()}
    return {"schema": FORM, "report": report, "unit": units, "metrics": metrics, "classes": list(names["class"])}
