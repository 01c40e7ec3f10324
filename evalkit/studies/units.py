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
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from evalkit.arrays import Bools, Floats, InputError, Ints, Record
from evalkit.catalogue.metric import MetricAtK
from evalkit.machine.kernels import UNITS
from evalkit.metrics.rows import Rows, Sums
from evalkit.parameters.reports import Resources
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import Slice
from evalkit.statistics.statistic import TermStatistic
from evalkit.studies import provenance

if TYPE_CHECKING:
    from evalkit.studies.study import Study


PIECE = 2**17  # rows of a file that are made at once
# Parquet packs the values of a column in runs of this many. Values that repeat after whole runs
# have the same bytes, which compress.
RUN = 504
Texts: TypeAlias = np.ndarray | pa.Array  # a column of ids or names
MOST = 10_000_000  # units times systems up to which the file is written where nobody asked for it


class CodedSlices(NamedTuple):
    """The slices of a column: their labels, and the number of each unit's slice among them."""

    labels: Sequence[str]
    code: Ints


@dataclass(frozen=True, eq=False)
class UnitNames:
    """The units: the id of each, its cluster if it has one (else None), and its slice by column."""

    id: Texts
    cluster: Texts | None = None
    slices: Mapping[str, CodedSlices] = field(default_factory=dict)

    @staticmethod
    def with_slices(
        id: np.ndarray, cluster: np.ndarray | None = None, slices: Iterable[Slice] = ()
    ) -> UnitNames:
        """The names of units. slices: each unit lies in one slice of every column."""
        slices_of_column: dict[str, list[Slice]] = {}
        for one_slice in slices:
            slices_of_column.setdefault(one_slice.column, []).append(one_slice)
        coded = {name: _coded_slices(s, len(id)) for name, s in slices_of_column.items()}
        return UnitNames(id, cluster, coded)

    def __len__(self) -> int:
        return len(self.id)

    def pieces(self, rows_per_unit: int) -> Iterator[NamedPiece]:
        """The units in consecutive pieces of about `PIECE` rows of the file. rows_per_unit: the
        number of rows of the file per unit, over all systems and metrics.

        The names of a piece are written once for each system and metric. The compression stores
        such a repetition about once if they are at most a piece apart and begin with a run.
        """
        units_per_piece = max(1, PIECE // max(1, rows_per_unit))
        if units_per_piece > RUN:
            units_per_piece -= units_per_piece % RUN  # so that all repetitions begin with a run
        for start in range(0, len(self), units_per_piece):
            units = slice(start, start + units_per_piece)
            yield NamedPiece(units, self.take(units))

    def take(self, units: Bools | Ints | slice) -> UnitNames:
        """The names of some units, by a mask, by number or by a slice."""
        cluster = None
        if self.cluster is not None:
            cluster = _take(self.cluster, units)
        slices = {
            column: CodedSlices(coded.labels, coded.code[units])
            for column, coded in self.slices.items()
        }
        return UnitNames(_take(self.id, units), cluster, slices)

    @cached_property
    def columns(self) -> dict[str, pa.Array]:
        """The columns of the file that name the units: unit (the id), cluster if units have one,
        and one of each segment column, with the label of the unit's slice.
        """
        columns = {"unit": _texts(self.id)}
        if self.cluster is not None:
            columns["cluster"] = _texts(self.cluster)
        for column, coded in self.slices.items():
            columns[segment(column)] = _decoded(coded.code, coded.labels)  # the labels as text
        return columns


class NamedPiece(NamedTuple):
    """Some units: their places among all, and their names."""

    units: slice
    names: UnitNames


def segment(column: str) -> str:
    """The name in the file of a segment column."""
    return f"segment_{column}"


def _take(values: Texts, units: Bools | Ints | slice) -> Texts:
    """The values of some units, by a mask, by number or by a slice."""
    if isinstance(values, np.ndarray) or isinstance(units, slice):
        return values[units]
    if units.dtype == bool:
        units = np.flatnonzero(units)
    return values.take(units)  # an array of Arrow takes numbers alone


def _decoded(code: Ints, names: Sequence[str]) -> pa.Array:
    """A column of names by their numbers."""
    return pa.DictionaryArray.from_arrays(code.astype(np.int32), pa.array(names, pa.string()))


def _texts(values: Texts) -> pa.Array:
    """The values as a column of text."""
    if isinstance(values, pa.Array):
        return values
    if values.dtype != object:
        values = values.astype(str).astype(object)
    return pa.array(values, pa.string())


def _coded_slices(slices: Sequence[Slice], n: int) -> CodedSlices:
    """The slices of a column of n units, each of which lies in one of them."""
    code = np.zeros(n, np.int64)
    for number, one_slice in enumerate(slices):
        code[one_slice.member] = number
    return CodedSlices([one_slice.label for one_slice in slices], code)


@dataclass(frozen=True, eq=False)
class FileBlock:
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
    """The units of a study, as they are written. size: units per system. blocks: the rows of the
    file, which may be an iterator, and so be read once.

    segments: the segment columns. labels: all classes or labels. named: True if units have ids,
    False if they are numbered.
    """

    size: int
    blocks: Iterable[FileBlock]
    segments: Sequence[str] = ()
    labels: Sequence[str] = ()
    named: bool = True


# Terms and rows -----------------------------------------------------------------------------------


class SystemTerms(NamedTuple):
    """The terms of the units by a metric of a system."""

    system: str
    chosen: MetricAtK
    sums: Sums


def units_with_terms(study: Study, names: UnitNames) -> Units:
    """The units of a study in which every unit has a value of every metric and system, with their
    terms: the numerator and the denominator whose sums give the metric.
    """
    terms = []
    for system in study.systems:
        for chosen in study.settings.metrics:
            statistic = study.measure(chosen, system)
            assert isinstance(statistic, TermStatistic)
            terms.append(SystemTerms(system, chosen, statistic.sums))
    return Units(len(names), blocks_of_terms(terms, names), tuple(names.slices))


def blocks_of_terms(terms: Sequence[SystemTerms], names: UnitNames) -> Iterator[FileBlock]:
    """The terms of each unit, by system and metric; NaN for a unit without a value. names: of the
    units, in the order of the terms.
    """
    for piece in names.pieces(len(terms)):
        for system, chosen, sums in terms:
            yield _block_of_terms(system, chosen, sums.take(piece.units), piece.names)


def _block_of_terms(system: str, chosen: MetricAtK, sums: Sums, names: UnitNames) -> FileBlock:
    """The terms of units by a metric of a system, as rows of the file; numerator and denominator
    are empty for a unit without a value.
    """
    denominator = np.where(sums.defined, sums.size, np.nan)
    numbers = {"numerator": sums.numerator, "denominator": denominator}
    return FileBlock(system, chosen.label, len(denominator), names.columns, numbers)


def blocks_of_arms(
    systems: Sequence[str], arm: Ints, sums: Mapping[MetricAtK, Sums], names: UnitNames
) -> Iterator[FileBlock]:
    """The terms of units that belong to one system each, such as the users of arms. arm: the number
    of each unit's system. sums: the terms of all units, by metric.
    """
    for number, system in enumerate(systems):
        in_arm = arm == number
        terms = []
        for chosen, terms_of_units in sums.items():
            terms.append(SystemTerms(system, chosen, terms_of_units.take(in_arm)))
        yield from blocks_of_terms(terms, names.take(in_arm))


def blocks_of_credit(
    systems: Sequence[str], credit: Floats, names: UnitNames
) -> Iterator[FileBlock]:
    """The credit of each session, as scores. credit: (sessions, systems). names: of the
    sessions.
    """
    for system, column in zip(systems, credit.T, strict=True):
        numbers = {"score": column}
        yield FileBlock(
            system, metric=None, rows=len(credit), columns=names.columns, numbers=numbers
        )


def blocks_of_lists(
    systems: Sequence[str], first_items: Callable[[str, int], Iterable[str]], names: UnitNames
) -> Iterator[FileBlock]:
    """The first items of each query's list, by system, as one text with an item on each line.
    first_items: (system, number of the query) -> the items. names: of the queries.
    """
    for system in systems:
        texts = ["\n".join(first_items(system, query)) for query in range(len(names))]
        columns = names.columns | {"items": pa.array(texts, pa.string())}
        yield FileBlock(system, metric=None, rows=len(names), columns=columns, numbers={})


def block_of_total(
    system: str, chosen: MetricAtK, numerator: float, denominator: float = 1.0
) -> FileBlock:
    """A share or a number that is known of all units together only: one row without a unit. A share
    is numerator / denominator; a number has the denominator 1.
    """
    terms = {"numerator": np.array([numerator]), "denominator": np.array([denominator])}
    return FileBlock(system, chosen.label, 1, {}, terms)


def blocks_of_rows(
    rows: Mapping[str, Rows],
    metrics: Sequence[MetricAtK],
    names: UnitNames,
    labels: Sequence[str] = (),
) -> Iterator[FileBlock]:
    """The rows of a study as blocks of the file. It stores each row's terms (numerator and
    denominator) of every metric that has terms. It also stores the rows themselves, once per
    system, if the value, interval or test of a metric cannot be computed from the terms.

    rows: by system, the same rows for each. names: of the rows. labels: the classes or labels, if
    a row has a value for each of several; then a row has several rows in the file.
    """
    # intervals and tests of weighted rows need the weights, which terms do not have
    is_weighted = any(rows_of_system.weight is not None for rows_of_system in rows.values())
    with_terms = [chosen for chosen in metrics if chosen.metric.kind.has_terms]
    need_rows = [chosen for chosen in metrics if is_weighted or chosen.metric.kind.needs_rows]
    with_decisions = any(chosen.uses_decisions for chosen in need_rows)
    file_rows = len(with_terms)  # rows of the file per row and system
    if need_rows:
        file_rows += max(1, len(labels))
    block_of_rows = _block_by_label if labels else _block_by_row
    systems = len(rows)
    for piece in names.pieces(systems * file_rows):
        for system, rows_of_system in rows.items():
            rows_of_piece = rows_of_system.take(piece.units)
            for chosen in with_terms:
                yield _block_of_terms(system, chosen, chosen.sums(rows_of_piece), piece.names)
            if need_rows:
                yield block_of_rows(
                    system, rows_of_piece, piece.names, with_decisions=with_decisions
                )


def _block_by_row(system: str, rows: Rows, names: UnitNames, *, with_decisions: bool) -> FileBlock:
    """Actual value, score, weight and, with decisions, prediction of each row of a system; what
    rows do not have is left out. names: of the rows.
    """
    columns = {"actual": rows.actual, "score": rows.score, "weight": rows.weight}
    if with_decisions:
        columns["predicted"] = rows.predicted
    numbers = {
        name: column.astype(np.float64) for name, column in columns.items() if column is not None
    }
    return FileBlock(system, metric=None, rows=len(rows), columns=names.columns, numbers=numbers)


def _block_by_label(
    system: str, rows: Rows, names: UnitNames, *, with_decisions: bool
) -> FileBlock:
    """The rows of a system with several classes or labels. The file has a row for each pair of a
    row and a label: actual (0 or 1), score, weight and, with decisions, predicted (0 or 1). Without
    scores it has only the pairs whose actual or predicted value is 1, few of all, from which the
    others follow. names: of the rows.
    """
    has_one_class = rows.actual.ndim == 1  # else a column per label, of which a row may have more
    labels = rows.classes if has_one_class else rows.actual.shape[1]
    # the columns below have one value per pair, label by label of the first row, then of the second
    columns = {"actual": _by_label(rows.actual, labels)}
    if with_decisions:
        columns["predicted"] = _by_label(rows.predicted, labels)
    if rows.score is None:
        written_pairs = np.flatnonzero(sum(columns.values()))
    else:
        columns["score"] = rows.score.ravel()
        written_pairs = np.arange(len(rows) * labels)  # all
    if rows.weight is not None:
        columns["weight"] = np.repeat(rows.weight, labels)
    row, label = np.divmod(written_pairs, labels)
    return FileBlock(
        system,
        metric=None,
        rows=len(written_pairs),
        columns={name: column.take(row) for name, column in names.columns.items()},
        numbers={name: column[written_pairs] for name, column in columns.items()},
        label=label,
    )


def _by_label(values: np.ndarray, count: int) -> Floats:
    """1 for each row and class or label that it has, else 0: row by row, (rows × count,). values:
    class numbers (rows,), or a table of booleans (rows, count).
    """
    has_label = values if values.ndim > 1 else values[:, None] == np.arange(count)
    return has_label.astype(np.float64).ravel()


# The file -----------------------------------------------------------------------------------------


FORM = "evalkit-units/1"
# columns whose values differ: a dictionary of them would be longer
DISTINCT = (
    "unit",
    "items",
    "numerator",
    "score",
)
CATEGORY = "text, dictionary"
ARROW_TYPES = {
    "text": pa.string(),
    CATEGORY: pa.dictionary(pa.int32(), pa.string()),
    "number": pa.float64(),
}


@dataclass(frozen=True)
class Column:
    """A column of the file: its type and its content."""

    name: str
    type: str
    holds: str


_FILE = tomllib.loads((pkgutil.get_data(__package__, "units.toml") or b"").decode())
COLUMNS = [Column(**row) for row in _FILE["columns"]]
SEGMENTS = Column(**_FILE["segments"])


def write_if_asked(report: str, studies: Mapping[str, Study]) -> None:
    """Write the file to where `evalkit report` expects it; a notebook that is run in another way
    writes none.

    studies: by the name of their table, "" if there is only one.
    """
    if path := os.environ.get(UNITS):
        write(Path(path), report, studies)


def write(path: Path, report: str, studies: Mapping[str, Study]) -> None:
    """Write the file of units, with the same bytes for the same input; no file if there are no
    units to write. studies: by the name of their table, "" if there is only one.
    """
    contents = _contents(report, studies)
    if contents is None:
        return
    import pyarrow.parquet as pq

    # a dictionary of the distinct values makes a column smaller if its values repeat
    repeating = [name for name in contents.schema.names if name not in DISTINCT]
    # stores of each id only what differs from the one before, as ids often begin alike
    ids = {"unit": "DELTA_BYTE_ARRAY"}
    try:
        with pq.ParquetWriter(
            path,
            contents.schema,
            compression="zstd",
            use_dictionary=repeating,
            column_encoding=ids,
        ) as file:
            for table in gathered(contents.tables()):  # small tables joined, as each has a cost
                file.write_table(table)
    except BaseException:
        path.unlink(missing_ok=True)  # a file with only some of the units would mislead
        raise


def frame_of_units(report: str, studies: Mapping[str, Study]) -> pd.DataFrame:
    """The content of the file that `write` writes, as a data frame.

    Raises InputError if there are no units to write.
    """
    contents = _contents(report, studies)
    if contents is None:
        raise InputError(
            "units: there are none at hand, or so many that they are made only with units=True"
        )
    return pa.concat_tables(contents.tables()).unify_dictionaries().to_pandas()


def gathered(pieces: Iterable[pa.Table], rows: int = PIECE) -> Iterator[pa.Table]:
    """The pieces joined to tables of at least `rows` rows, except the last."""
    waiting: list[pa.Table] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += len(piece)
        if count >= rows:
            yield pa.concat_tables(waiting).unify_dictionaries()
            waiting = []
            count = 0
    if waiting:
        yield pa.concat_tables(waiting).unify_dictionaries()


class WrittenStudy(NamedTuple):
    """A study and its units, which are written. table: the name of its table, "" if there is only
    one.
    """

    table: str
    study: Study
    units: Units


@dataclass(frozen=True, eq=False)
class _Contents:
    """What a file holds: its schema, with what it says of itself, and its studies.

    names: the words of each column of words, such as the systems; rows store their numbers.
    """

    schema: pa.Schema
    names: Mapping[str, Sequence[str]]
    written: Sequence[WrittenStudy]

    def tables(self) -> Iterator[pa.Table]:
        """The rows of all studies, piece by piece."""
        for written in self.written:
            for block in written.units.blocks:
                yield self._table(written.table, block)

    def _table(self, table: str, block: FileBlock) -> pa.Table:
        """The rows of a block of a study as an Arrow table with all columns of the file; one that
        the block does not have is empty. table: the name of the study's table, "" if there is only
        one.
        """
        # column of words -> for each row the number of its word in `names`
        number_of_word = {}
        # table, system and metric are the same for all rows of a block
        for column, name in (("table", table), ("system", block.system), ("metric", block.metric)):
            if name:
                number_of_word[column] = np.full(block.rows, self.names[column].index(name))
        if block.label is not None:
            number_of_word["class"] = block.label
        columns = {
            column: _decoded(numbers, self.names[column])
            for column, numbers in number_of_word.items()
        }
        columns |= block.columns
        for column, values in block.numbers.items():
            columns[column] = pa.array(values, pa.float64(), from_pandas=True)  # NaN becomes empty
        arrays = [
            columns.get(field.name, pa.nulls(block.rows, field.type)) for field in self.schema
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _contents(report: str, studies: Mapping[str, Study]) -> _Contents | None:
    """The schema of the file of these studies, and what is written into it; None if there are no
    units to write. report: its name. studies: by the name of their table, "" if there is only one.
    """
    written = []
    for table, study in studies.items():
        units = study.units_wanted()  # None if the user wants none, or for very many unasked
        if units is not None:
            written.append(WrittenStudy(table, study, units))
    if not written:
        return None
    # The file stores a name of these columns as a number, which all studies share: the names of all
    # studies are collected, each once, as the keys of a dict, which stay in order.
    names = {column: dict[str, None]() for column in ("table", "system", "metric", "class")}
    segment_names = dict[str, None]()
    for table, study, units in written:
        if table:
            names["table"][table] = None
        names["system"] |= dict.fromkeys(study.systems)
        names["metric"] |= dict.fromkeys(chosen.label for chosen in study.settings.metrics)
        names["class"] |= dict.fromkeys(units.labels)
        segment_names |= dict.fromkeys(units.segments)
    # besides the columns of every file, one for each segment column of the input
    segments = [Column(segment(name), CATEGORY, SEGMENTS.holds) for name in segment_names]
    fields = [
        pa.field(column.name, ARROW_TYPES[column.type], metadata={"holds": column.holds})
        for column in COLUMNS + segments
    ]
    names_by_column = {column: list(names_of_column) for column, names_of_column in names.items()}
    metadata = _metadata(report, written, classes=names_by_column["class"])
    schema = pa.schema(fields, {"evalkit": json.dumps(metadata)})
    return _Contents(schema, names_by_column, written)


def _metadata(report: str, written: Sequence[WrittenStudy], classes: Sequence[str]) -> Record:
    """What the file says of itself, as JSON: the report, its metrics and all classes, both in
    order, and what made the report: inputs, parameters that can change a number, and versions.

    Three entries are by the name of a study's table: unit, the noun for a unit; named, whether
    units have ids; broken_design, why no result is valid, "" if results are. A metric is
    "repeated" if its units have repeated draws of 0 or 1.

    written: not empty. classes: of all studies.
    """
    metrics = []
    sources = dict[Source, None]()
    for table, study, _ in written:
        sources |= dict.fromkeys(study.sources)
        for chosen in study.settings.metrics:
            metadata = {"table": table} | _metadata_of_metric(chosen)
            if study.repeats(chosen):
                metadata["repeated"] = True
            metrics.append(metadata)
    resources = Resources.options()  # such as the memory, which changes no number
    given = written[0].study.p.given_values.items()  # of the report: the same for all its studies
    parameters = {name: value for name, value in given if name not in resources}
    return {
        "schema": FORM,
        "report": report,
        "unit": {table: study.unit_name for table, study, _ in written},
        "metrics": metrics,
        "classes": list(classes),
        "named": {table: units.named for table, _, units in written},
        "inputs": provenance.inputs(sources),
        "broken_design": {table: study.broken_design for table, study, _ in written},
        "parameters": provenance.printable(parameters),
        "versions": provenance.versions(),
    }


def _metadata_of_metric(chosen: MetricAtK) -> dict[str, object]:
    """What the file says of a metric. structure: of the data that it is computed from, such as
    "rankings". stated: True if high or low values are known to be better. A limit that is infinite
    is null, as JSON has no word for it.
    """
    row = provenance.metric(chosen)
    metadata = {
        "metric": row.pop("name"),
        "structure": chosen.metric.structure,
        "stated": chosen.metric.direction != 0,
    }
    for field_name, value in row.items():
        metadata[field_name] = None if value in (np.inf, -np.inf) else value
    return metadata
