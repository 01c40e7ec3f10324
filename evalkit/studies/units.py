"""NAME.units.parquet: for every system and metric the terms of each unit, or the rows that it is
computed from.

A metric whose kind `has_terms` has a numerator and a denominator per unit; the metric is the ratio
of their sums, over all units or some. All other metrics, such as AUC, are computed from the rows,
which the file has once per system.
"""

from __future__ import annotations

import json
import os
import pkgutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from evalkit.arrays import Floats, InputError, Ints
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics.rows import Rows, Sums
from evalkit.parameters.reports import Resources
from evalkit.reading.tables.table import Slice
from evalkit.studies import provenance
from evalkit.system import UNITS

if TYPE_CHECKING:
    from evalkit.studies.study import Study


PIECE = 2**17  # rows of a file that are made at once
# values of a run of Parquet: what repeats after whole runs repeats in bytes, which compresses
RUN = 504
MOST = 10_000_000  # units times systems up to which the file is written where nobody asked for it


@dataclass(frozen=True, eq=False)
class Listed:
    """The units: the id of each, its cluster if it has one, and its slice by column.

    Ids and clusters are arrays of numpy or Arrow. cluster: None if there is none. slices: for each
    column the labels, and the number of each unit's label.
    """

    id: np.ndarray | pa.Array
    cluster: np.ndarray | pa.Array | None = None
    slices: Mapping[str, tuple[Sequence[str], Ints]] = field(default_factory=dict)

    @staticmethod
    def of(
        id: np.ndarray, cluster: np.ndarray | None = None, slices: Iterable[Slice] = ()
    ) -> Listed:
        """The names of units. slices: each unit lies in one slice of every column."""
        columns: dict[str, list[Slice]] = {}
        for part in slices:
            columns.setdefault(part.column, []).append(part)
        return Listed(
            id, cluster, {name: _numbered(parts, len(id)) for name, parts in columns.items()}
        )

    def __len__(self) -> int:
        return len(self.id)

    def parts(self, each: int) -> Iterator[tuple[slice, Listed]]:
        """The units part by part, with their indices. each: the number of rows per unit in the
        file.

        The rows of all systems and metrics of some units are neighbours, so that the file stores
        their names about once.
        """
        step = max(1, PIECE // max(1, each))
        step -= step % RUN if step > RUN else 0
        for start in range(0, len(self), step):
            at = slice(start, start + step)
            yield at, self.take(at)

    def take(self, rows: Any) -> Listed:
        """The names of some units, by a mask or by number."""
        cluster = None if self.cluster is None else _some(self.cluster, rows)
        slices = {name: (labels, code[rows]) for name, (labels, code) in self.slices.items()}
        return Listed(_some(self.id, rows), cluster, slices)

    @cached_property
    def columns(self) -> dict[str, pa.Array]:
        """The columns of the file, by name."""
        columns = {"unit": _texts(self.id)} | (
            {} if self.cluster is None else {"cluster": _texts(self.cluster)}
        )
        return columns | {
            segment(name): _coded(code, labels) for name, (labels, code) in self.slices.items()
        }


def segment(column: str) -> str:
    """The name in the file of a segment column."""
    return f"segment_{column}"


def _some(values: Any, rows: Any) -> Any:
    """Those of some units, of an array of numpy or of Arrow."""
    if isinstance(values, np.ndarray) or isinstance(rows, slice):
        return values[rows]
    return values.take(np.flatnonzero(rows) if rows.dtype == bool else rows)


def _coded(code: Ints, names: Sequence[str]) -> pa.Array:
    """A column of names by their numbers."""
    return pa.DictionaryArray.from_arrays(code.astype(np.int32), pa.array(names, pa.string()))


def _texts(values: np.ndarray | pa.Array) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    return pa.array(
        values if values.dtype == object else values.astype(str).astype(object), pa.string()
    )


def _numbered(parts: Sequence[Slice], n: int) -> tuple[Sequence[str], Ints]:
    """The labels of the slices of a column, and the number of each unit's slice."""
    code = np.zeros(n, np.int64)
    for number, part in enumerate(parts):
        code[part.member] = number
    return [part.label for part in parts], code


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of the file, of one system and some units. metric: None for rows that hold scores
    instead of terms.

    columns: text columns by name; numbers: numeric columns. A column in neither is empty. label:
    the number of each row's class or label among all, None if rows have none.
    """

    system: str
    metric: str | None
    rows: int
    columns: Mapping[str, pa.Array]
    numbers: Mapping[str, Floats]
    label: Ints | None = None


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a study. size: units per system. blocks: the rows of the file, an iterator.

    segments: the segment columns. labels: all classes or labels. named: True if units have ids,
    False if they are numbered.
    """

    size: int
    blocks: Iterable[Block]
    segments: Sequence[str] = ()
    labels: Sequence[str] = ()
    named: bool = True


# Terms and rows -----------------------------------------------------------------------------------


def of_each(study: Study, listed: Listed) -> Units:
    """The terms of the units of a study in which every unit has a value of every metric and
    system.
    """
    of: Any = study.measure
    terms = (
        (name, chosen, of(chosen, name).sums)
        for name in study.systems
        for chosen in study.settings.metrics
    )
    return Units(len(listed), of_terms(terms, listed), tuple(listed.slices))


def of_terms(terms: Iterable[tuple[str, MetricAtK, Sums]], listed: Listed) -> Iterator[Block]:
    """The terms of each unit, by system and metric; NaN for a unit without a value."""
    every = list(terms)
    for at, part in listed.parts(len(every)):
        for system, chosen, sums in every:
            yield _of_sums(system, chosen, sums.take(at), part)


def _of_sums(system: str, chosen: MetricAtK, sums: Sums, listed: Listed) -> Block:
    bottom = np.where(sums.defined, sums.size, np.nan)
    numbers = {"numerator": sums.numerator, "denominator": bottom}
    return Block(system, chosen.label, len(bottom), listed.columns, numbers)


def of_arms(
    systems: Sequence[str], arm: Ints, sums: Sequence[tuple[MetricAtK, Sums]], listed: Listed
) -> Iterator[Block]:
    """The terms of units that belong to one system each. arm: its number. sums: of each metric,
    over all units.
    """
    for number, system in enumerate(systems):
        own = arm == number
        yield from of_terms(
            [(system, chosen, side.take(own)) for chosen, side in sums], listed.take(own)
        )


def of_credit(systems: Sequence[str], credit: Floats, listed: Listed) -> Iterator[Block]:
    """The credit of each session, one column per system."""
    for system, column in zip(systems, credit.T, strict=True):
        yield Block(system, None, len(credit), listed.columns, {"score": column})


def of_lists(
    systems: Sequence[str], first: Callable[[str, int], Iterable[str]], listed: Listed
) -> Iterator[Block]:
    """The first items of each query's list, by system. first: (system, number of the query) -> the
    items.
    """
    for system in systems:
        items = pa.array(
            ["\n".join(first(system, query)) for query in range(len(listed))], pa.string()
        )
        yield Block(system, None, len(listed), {**listed.columns, "items": items}, {})


def known(system: str, chosen: MetricAtK, numerator: float, denominator: float = 1.0) -> Block:
    """A share or a number that is known for the whole only: one row without a unit."""
    terms = {"numerator": np.array([numerator]), "denominator": np.array([denominator])}
    return Block(system, chosen.label, 1, {}, terms)


def of_rows(
    rows: Mapping[str, Rows],
    metrics: Sequence[MetricAtK],
    listed: Listed,
    labels: Sequence[str] = (),
) -> Iterator[Block]:
    """The terms of each row for metrics that have terms; the rows themselves, once per system, if
    a metric or the test of one needs them, as those of weighted rows do.
    """
    weighted = any(side.weight is not None for side in rows.values())
    termed = [chosen for chosen in metrics if chosen.metric.kind.has_terms]
    others = [chosen for chosen in metrics if weighted or chosen.metric.kind.needs_rows]
    decided = any(chosen.uses_decisions for chosen in others)
    observed = _each_label if labels else _each_row
    of_unit = len(termed) + (max(1, len(labels)) if others else 0)
    for at, part in listed.parts(len(rows) * of_unit):
        for system, side in rows.items():
            own = side.take(at)
            for chosen in termed:
                yield _of_sums(system, chosen, chosen.sums(own), part)
            if others:
                yield observed(system, own, part, decided=decided)


def _each_row(system: str, rows: Rows, listed: Listed, *, decided: bool) -> Block:
    """Actual value, score, prediction and weight of each row."""
    sides = {"actual": rows.actual, "score": rows.score, "weight": rows.weight}
    sides |= {"predicted": rows.predicted} if decided else {}
    numbers = {name: side.astype(np.float64) for name, side in sides.items() if side is not None}
    return Block(system, None, len(rows), listed.columns, numbers)


def _each_label(system: str, rows: Rows, listed: Listed, *, decided: bool) -> Block:
    """Actual value, prediction, score and weight of each row and class or label, as columns of 0
    and 1; of rows without scores only the classes that are actual or predicted.
    """
    count = rows.classes if rows.actual.ndim == 1 else rows.actual.shape[1]
    sides = {"actual": _by_label(rows.actual, count)}
    sides |= {"predicted": _by_label(rows.predicted, count)} if decided else {}
    place = np.flatnonzero(
        sum(sides.values()) if rows.score is None else np.ones(len(rows) * count)
    )
    sides |= {} if rows.score is None else {"score": rows.score.ravel()}
    sides |= {} if rows.weight is None else {"weight": np.repeat(rows.weight, count)}
    columns = {name: column.take(place // count) for name, column in listed.columns.items()}
    return Block(
        system,
        None,
        len(place),
        columns,
        {n: side[place] for n, side in sides.items()},
        place % count,
    )


def _by_label(values: np.ndarray, count: int) -> Floats:
    """1 for each row and class or label that it has, else 0."""
    return (
        (values if values.ndim > 1 else values[:, None] == np.arange(count))
        .astype(np.float64)
        .ravel()
    )


# The file -----------------------------------------------------------------------------------------


FORM = "evalkit-units/1"
# columns whose values differ: a dictionary of them would be longer
DISTINCT = (
    "unit",
    "items",
    "numerator",
    "score",
)
TEXT, CATEGORY, NUMBER = "text", "text, dictionary", "number"


@dataclass(frozen=True)
class Column:
    """A column of the file: its type and its content."""

    name: str
    type: str
    holds: str


_FILE = tomllib.loads((pkgutil.get_data(__package__, "units.toml") or b"").decode())
COLUMNS = [Column(**row) for row in _FILE["columns"]]
SEGMENTS = Column(**_FILE["segments"])


def leave(report: str, studies: Mapping[str, Study]) -> None:
    """Write the file to where `evalkit report` expects it; a notebook that is run in another way
    writes none.

    studies: by the name of their table, "" if there is only one.
    """
    if path := os.environ.get(UNITS):
        write(Path(path), report, studies)


def write(path: Path, report: str, studies: Mapping[str, Study]) -> None:
    """Write the file, which is the same for the same input; no file if there are no units to
    write.
    """
    every = _wanted(studies)
    if not every:
        return
    import pyarrow.parquet as pq

    head = _Head.of(report, every)
    words = [name for name in head.schema.names if name not in DISTINCT]
    ids = {"unit": "DELTA_BYTE_ARRAY"}  # each shares its beginning with the one before
    try:
        with pq.ParquetWriter(
            path, head.schema, compression="zstd", use_dictionary=words, column_encoding=ids
        ) as file:
            for table in gathered(head.tables(every)):
                file.write_table(table)
    except BaseException:
        path.unlink(missing_ok=True)  # a part of the units is worse than none
        raise


def _wanted(studies: Mapping[str, Study]) -> dict[str, tuple[Study, Units]]:
    return {
        name: (study, units)
        for name, study in studies.items()
        if (units := study.units_wanted()) is not None
    }


def held(report: str, studies: Mapping[str, Study]) -> pd.DataFrame:
    """The content of the file that `write` writes, as a data frame.

    Raises InputError if there are no units to write.
    """
    every = _wanted(studies)
    if not every:
        raise InputError(
            "units: there are none at hand, or so many that they are made only with units=True"
        )
    return pa.concat_tables(_Head.of(report, every).tables(every)).unify_dictionaries().to_pandas()


def gathered(pieces: Iterable[pa.Table], rows: int = PIECE) -> Iterator[pa.Table]:
    """The pieces joined to tables of at least `rows` rows, except the last."""
    held: list[pa.Table] = []
    count = 0
    for piece in pieces:
        held.append(piece)
        count += len(piece)
        if count >= rows:
            yield pa.concat_tables(held).unify_dictionaries()
            held = []
            count = 0
    if held:
        yield pa.concat_tables(held).unify_dictionaries()


@dataclass(frozen=True, eq=False)
class _Head:
    """The schema of a file, and the words of its columns of names."""

    schema: pa.Schema
    names: Mapping[str, Sequence[str]]

    @staticmethod
    def of(report: str, every: Mapping[str, tuple[Study, Units]]) -> _Head:
        studies = [study for study, _ in every.values()]
        types = {
            TEXT: pa.string(),
            CATEGORY: pa.dictionary(pa.int32(), pa.string()),
            NUMBER: pa.float64(),
        }
        names = {
            "table": [name for name in every if name],
            "system": _distinct(name for study in studies for name in study.systems),
            "metric": _distinct(
                chosen.label for study in studies for chosen in study.settings.metrics
            ),
            "class": _distinct(name for _, units in every.values() for name in units.labels),
        }
        segments = _distinct(
            segment(name) for _, units in every.values() for name in units.segments
        )
        columns = [*COLUMNS, *(Column(name, CATEGORY, holds=SEGMENTS.holds) for name in segments)]
        fields = [pa.field(c.name, types[c.type], metadata={"holds": c.holds}) for c in columns]
        return _Head(
            pa.schema(fields, {"evalkit": json.dumps(_about(report, every, names))}), names
        )

    def tables(self, every: Mapping[str, tuple[Study, Units]]) -> Iterator[pa.Table]:
        """The rows of all studies, piece by piece."""
        for name, (_, units) in every.items():
            yield from (self._table(name, block) for block in units.blocks)

    def _table(self, of: str, block: Block) -> pa.Table:
        same = {"table": of, "system": block.system, "metric": block.metric}
        number = {name: self.names[name].index(value) for name, value in same.items() if value}
        code = {name: np.full(block.rows, place) for name, place in number.items()}
        code |= {} if block.label is None else {"class": block.label}
        columns = {name: _coded(codes, self.names[name]) for name, codes in code.items()}
        columns |= dict(block.columns)
        columns |= {
            name: pa.array(side, pa.float64(), from_pandas=True)
            for name, side in block.numbers.items()
        }
        arrays = [
            columns.get(field.name, pa.nulls(block.rows, field.type)) for field in self.schema
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _about(
    report: str, every: Mapping[str, tuple[Study, Units]], names: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """What the file says of itself: the report, its metrics in order, what a unit is, all classes
    in order.

    Also whether units have ids, why no result counts if none does, and what made the report:
    inputs, parameters that can change a number, and versions.
    """
    metrics = [
        {"table": of} | _metric(chosen) | ({"repeated": True} if study.repeats(chosen) else {})
        for of, (study, _) in every.items()
        for chosen in study.settings.metrics
    ]
    units = {of: study.unit_name for of, (study, _) in every.items()}
    studies = [study for study, _ in every.values()]
    inputs = provenance.inputs(
        dict.fromkeys(source for study in studies for source in study.sources)
    )
    given = {
        name: value for name, value in studies[0].p.given.items() if name not in Resources.options()
    }
    about = {
        "schema": FORM,
        "report": report,
        "unit": units,
        "metrics": metrics,
        "classes": list(names["class"]),
        "named": {of: units.named for of, (_, units) in every.items()},
        "inputs": inputs,
    }
    about["broken_design"] = {of: study.broken_design for of, (study, _) in every.items()}
    return about | {"parameters": provenance.printable(given), "versions": provenance.versions()}


def _metric(chosen: MetricAtK) -> dict[str, Any]:
    """What the file says of a metric; a limit that is infinite is null, as JSON has no word for
    it.
    """
    row = provenance.metric(chosen)
    infinite = (float("inf"), float("-inf"))
    named = {
        "metric": row.pop("name"),
        "structure": chosen.metric.structure,
        "stated": chosen.metric.direction != 0,
    }
    return named | {key: None if value in infinite else value for key, value in row.items()}
