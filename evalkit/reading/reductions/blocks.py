"""Reads a table in blocks: an engine puts equal ids or units into one block, numpy checks, converts
and pairs the rows.

All parts of the table are one query. If a block contains an invalid value, the parts are read again
from the start to find the file, row and value that the error names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evalkit.arrays import InputError, Ints, ParameterError
from evalkit.machine.progress_bars import progress
from evalkit.metrics.blocks import Block
from evalkit.reading.engines.base import Engine, Query, checked_chunks, profile
from evalkit.reading.inputs import aligned
from evalkit.reading.reductions.schema import ATTRIBUTE, Reduced, Schema, Segment
from evalkit.reading.tables import table as tables
from evalkit.reading.tables.parts import InputPart, Selection, Source
from evalkit.reading.tables.rules import LONGEST, BrokenRule, columns_by_type
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE

Summary = TypeVar("Summary")
HEAD = 2**14  # rows that tell about where numbers lie
SEEN = 10_000  # rows of one id that are looked at
ROW_NUMBER = "row_in_input"  # the column of the rows' numbers


@dataclass(frozen=True, eq=False)
class TablePart:
    """A part, its columns by role, its selection (`chosen`), and its system if no column names
    it.
    """

    part: InputPart
    layout: aligned.ColumnLayout
    chosen: Selection
    system: str

    def system_in(self, engine: Engine) -> str:
        """The SQL of the system that a row belongs to."""
        if "system" in self.layout.fields:
            return engine.dialect.quote("system")
        return engine.dialect.literal(self.system)


class FoundRow(NamedTuple):
    """A row that meets a condition: its system, its part and number for errors, and a value."""

    system: str
    place: str
    value: Any


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table in an engine, DuckDB or Spark, that is read in blocks.

    query: of all rows, with the names of the schema. counts: the number of rows of each part. rows:
    the number of rows of the requested systems. slices: segment column -> the labels of its slices.
    """

    engine: Engine
    selected_parts: Sequence[TablePart]
    query: Query
    counts: Sequence[int]
    rows: int
    slices: Mapping[str, Sequence[str]]
    schema: Schema

    @property
    def systems(self) -> tuple[str, ...]:
        """The requested systems, in order."""
        return self.schema.systems

    @property
    def paired(self) -> bool:
        """True if the rows of several systems are joined on the id."""
        return self.schema.paired

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns as the page prints them."""
        return self.selected_parts[0].layout.printed_columns

    @property
    def unused_columns(self) -> tuple[str, ...]:
        """The columns that were not read."""
        return self.selected_parts[0].layout.unused_columns(self.selected_parts[0].part)

    @property
    def has_system_columns(self) -> bool:
        """True if each system has a column of scores."""
        return bool(self.selected_parts[0].layout.systems)

    @property
    def name(self) -> str:
        """The input in an error."""
        return self.query.where

    def query_all_rows(self, cells: str, rest: str) -> Any:
        """The engine's result over all rows: these cells, and what follows the FROM clause."""
        return self.engine.table(self.query.outer_query(cells, rest))

    def sources(self) -> tuple[Source, ...]:
        """The inputs with their rows. Raises InputError if a file has changed since reading
        began.
        """
        return tuple(
            piece.part.fingerprint(rows)
            for piece, rows in zip(self.selected_parts, self.counts, strict=True)
        )

    def query_column(self, role: str) -> str:
        """The column of the query for a shared role."""
        if role.startswith(ATTRIBUTE):
            segments = [f"{ATTRIBUTE}{name}" for name in self.slices]
            return f"segment{segments.index(role)}" if role in segments else "unit"
        return self.engine.dialect.quote(role)

    @property
    def ids_held(self) -> int:
        """The largest number of ids whose hashes are kept to find duplicates.

        It is 0 if systems are paired, and on a cluster, which would send the hashes repeatedly.
        """
        is_cluster = not self.engine.dialect.row_number
        return 0 if is_cluster or self.paired else self.engine.reading.ids

    def texts(self, role: str) -> dict[str, int]:
        """The distinct texts of a role, such as labels or predicted classes, and the number of rows
        of each.
        """
        names = [role]
        if role not in self.schema.shared_role_fields:
            names = [column.name_in_table for column in self.schema.predictions[role]]
        counts: dict[str, int] = {}
        for name in map(self.engine.dialect.quote, names):
            for row in self.query_all_rows(
                f"{name} AS text, count(*) AS n", f"GROUP BY {name}"
            ).to_pylist():
                if row["text"] is None:
                    self._refuse_first()
                counts[row["text"]] = counts.get(row["text"], 0) + row["n"]
        return dict(sorted(counts.items()))

    def grouped(self, segments: Sequence[str], unit: str | None) -> "Blocks":
        """The table with its slices, and its units if there are few.

        Raises InputError for a row without a unit, ParameterError for too many slices.
        """
        limits = self.engine.reading
        slices = list[Segment]()
        labels = {}
        for i, column in enumerate(segments):
            texts = distinct(self.engine, self.query, f"segment{i}", limits.values)
            if len(texts.values) > limits.values:
                raise ParameterError(
                    f"segments: {column!r} has more than {limits.values:,} distinct values, too "
                    f"many to group"
                )
            groups = tables.groups(texts.values, texts.rows)
            slices.append(Segment(tuple(texts.values), groups.number_of_value))
            labels[column] = groups.labels
        few_units = 0
        if unit:
            units = distinct(self.engine, self.query, "unit", limits.units)
            if units.empty:
                raise self.no_unit_error(unit, units.empty)
            if len(units.values) <= limits.units:
                few_units = len(units.values)
        schema = replace(
            self.schema, segments=tuple(slices), units_split=few_units > 0, units=few_units
        )
        return replace(self, schema=schema, slices=labels)

    def no_unit_error(self, unit: str, rows: int, id: str | None = None) -> InputError:
        """The error for rows without a unit. rows: their number. id: that of the first one, if
        systems are joined.
        """
        literal = self.engine.dialect.literal
        condition = f"{cell(self.engine, f'attribute {unit}')} = {literal(EMPTY_ATTRIBUTE)}"
        system = None
        if id is not None:
            condition += f" AND id = {literal(id)}"
            system = self.systems[0]
        empty = self.where(condition, "1", 1, system)
        place = empty[0].place if empty else self.name
        return aligned.empty_unit_error(place, unit, rows)

    @property
    def with_whole_units(self) -> "Blocks":
        """The same table, to be read with all rows of a unit in one block, so that no sums of
        unfinished units need to be held between blocks.
        """
        return replace(self, schema=replace(self.schema, units_split=False))

    def coded(self, role: str, number_of_text: Mapping[str, int]) -> "Blocks":
        """The table with the texts of a role as numbers. number_of_text: text -> its number."""
        numbers = np.array(list(number_of_text.values()))
        coded = {**self.schema.coded, role: Segment(tuple(number_of_text), numbers)}
        return replace(self, schema=replace(self.schema, coded=coded))

    def head(self) -> list[Block]:
        """Some first rows of each requested system, to estimate the range of the numbers."""
        with self._refusing():
            table = self.engine.table(self._query(None, f"LIMIT {HEAD}"))
            if not self.paired:
                return [self.schema.block(table)] * len(self.systems)
            number = tables.indices_among(table["system"], self.systems)
            of_one_system = replace(self.schema, paired=False, systems=self.systems[:1])
            return [
                of_one_system.block(table.take(np.flatnonzero(number == i)))
                for i in range(len(self.systems))
            ]

    def total(self, summarise: Callable[[Block], Summary]) -> Summary:
        """The sum of the summaries of all blocks, in their order. summarise: summarises a block.
        Raises InputError for invalid input.
        """
        column = self._grouping_column(by_unit=True)
        # rows of a unit are sorted by what metrics use: the order of the input does not matter
        sort_columns: list[str] = []
        if column == "unit":
            sort_columns = list(map(self.engine.dialect.quote, self.schema.measured))
        with self._refusing():
            query = replace(self._query(column), rows=self.rows, order_columns=sort_columns)
            total: Summary | None = self.engine.total(query, Reduced(self.schema, summarise))
        if total is None:
            raise self.duplicate_id_error() or aligned.no_common_ids_error(self.systems)
        return total

    def again(self, rows: int) -> Iterator[Block]:
        """The rows, read another time, in the order of the input unless systems are paired.

        rows: the number of rows read before. The engine may be closed. Raises InputError if the
        input has changed.
        """
        schema = replace(self.schema, units_split=True, numbered=True)
        query = self._query(self._grouping_column(by_unit=False))
        with self.engine.again() as engine, progress("rereading", rows, "rows") as draw:
            done = 0
            for table in engine.stream(query):
                block = schema.block(table, done)
                done += len(block)
                yield block
                draw(done)
            self.sources()
            if done != rows:
                raise changed_input_error(self.name)

    def check(self, rows: int, repeated: int | None = 0) -> None:
        """Raise InputError if not all rows were used: duplicate ids, ids in several units, or a
        changed input.

        rows: the number of rows that were used. repeated: the number of rows whose id occurred
        before, None if it is unknown.
        """
        is_by_unit = self._grouping_column(by_unit=True) == "unit"
        if self.paired and is_by_unit and rows * len(self.systems) != self.rows:
            in_several_units = f"count(*) = {len(self.systems)} AND min(unit) <> max(unit)"
            if self.first_id_where(in_several_units) is not None or self.duplicate_id_error():
                raise self.inconsistency_error()
        if repeated != 0 and not self.paired:
            self.refuse_id_twice()
        if not self.paired and rows != self.rows:
            raise changed_input_error(self.name)

    # Refusals

    def refuse_id_twice(self) -> None:
        """Raise InputError if an id occurs in two rows."""
        id = self.first_id_where("count(*) > 1")
        if id is not None:
            second = self._having(id, "1")[1]
            system = None if self.has_system_columns else self.systems[0]
            raise aligned.repeated_id_error(second.place, id, system)

    def first_id_where(self, condition: str) -> str | None:
        """The first id whose rows together meet the condition; None if there is none."""
        ids = self.query_all_rows("id", f"GROUP BY id HAVING {condition} ORDER BY 1 LIMIT 1")["id"]
        return ids[0].as_py() if len(ids) else None

    def duplicate_id_error(self) -> InputError | None:
        """The error for the first id that a system has twice; None if there is none."""
        repeated = self.query_all_rows(
            "id, system", "GROUP BY id, system HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 1"
        ).to_pylist()
        if not repeated:
            return None
        id = repeated[0]["id"]
        system = repeated[0]["system"]
        places = [row.place for row in self._having(id, "1") if row.system == system]
        return aligned.repeated_id_error(places[1], id, system)

    def inconsistency_error(self) -> InputError:
        """The error for duplicate ids of a system, or rows that do not agree, once a block has
        found some.
        """
        if error := self.duplicate_id_error():
            return error
        layout = self.selected_parts[0].layout
        for role, field in layout.shared_fields.items():
            column = self.query_column(role)
            differs = f"count(*) = {len(self.systems)} AND min({column}) <> max({column})"
            id = self.first_id_where(differs)
            if id is None:
                continue
            rows = sorted(self._having(id, cell(self.engine, role)))
            values = [row.value if field.is_number else field.normalise(row.value) for row in rows]
            other = next(i for i, value in enumerate(values) if value != values[0])
            place = rows[other].place
            return aligned.disagreement_error(place, field.column, id, values[0], values[other])
        return changed_input_error(self.name)

    def _having(self, id: str, value: str) -> list["FoundRow"]:
        """The rows of the requested systems with an id, in the order of the parts. value: as in
        `where`.
        """
        rows = self.where(f"id = {self.engine.dialect.literal(id)}", value, SEEN)
        return [row for row in rows if self.has_system_columns or row.system in self.systems]

    def where(
        self, condition: str, value: str, limit: int, system: str | None = None
    ) -> list["FoundRow"]:
        """The first rows of each part that meet a condition, at most `limit` per part.

        condition, value: SQL with the roles as columns; the value is what comes back. system: the
        one that the rows must belong to; None for any.
        """
        rows = []
        for piece in self.selected_parts:
            system_of_row = piece.system_in(self.engine)
            is_of_system = "true"
            if system is not None:
                is_of_system = f"{system_of_row} = {self.engine.dialect.literal(system)}"
            cells = f"{system_of_row} AS system, {value} AS value"
            condition_in_full = f"{condition} AND {is_of_system}"
            for row in self.engine.where(piece.chosen, condition_in_full, cells, limit):
                place = piece.part.place(row["n"])
                rows.append(FoundRow(row["system"], place, row["value"]))
        return rows

    def _grouping_column(self, *, by_unit: bool) -> str | None:
        """The column whose equal values must be in one block; None without one. by_unit: True if
        the rows of a unit must be, unless units may be split.
        """
        schema = self.schema
        if by_unit and schema.unit and not schema.units_split:
            return "unit"
        return "id" if schema.paired else None

    def _query(self, group_column: str | None, rest: str = "") -> Query:
        """The query of the columns that are read. group_column: the column whose equal values come
        together; None for no such column. rest: what follows the FROM clause.
        """
        columns = dict.fromkeys(self.schema.columns)
        for name in (group_column, self.schema.names):
            if name:
                columns[name] = None
        cells = ", ".join(map(self.engine.dialect.quote, columns))
        return replace(self.query.outer_query(cells, rest), group_column=group_column)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """A context in which blocks are read: what a block refuses becomes the error that names the
        file, the row and the value.
        """
        try:
            yield
        except (BrokenRule, InputError) as error:
            self._refuse_first()
            refusal = self.inconsistency_error() if isinstance(error, BrokenRule) else error
            raise refusal from None
        for piece in self.selected_parts:
            if piece.chosen.source:
                piece.part.check(piece.chosen)

    def _refuse_first(self) -> None:
        """Raise InputError for the first value of all parts that breaks a rule, if there is one."""
        for piece in self.selected_parts:
            refuse_first(self.engine, piece)


def refuse_first(engine: Engine, piece: TablePart) -> None:
    """Raise InputError for the first value of a part that breaks a rule of its column."""
    for _ in checked_chunks(engine, piece.chosen, piece.layout.fields):
        pass


# From the parts -----------------------------------------------------------------------------------


def pieces_of(
    engine: Engine, parts: Sequence[InputPart], layouts: Sequence[aligned.ColumnLayout]
) -> list[TablePart]:
    """The parts, each with the selection that the engine reads."""
    names = [""] * len(parts)
    if not layouts[0].systems:
        names = aligned.system_names(parts, layouts[0])
    pieces = []
    for i, (part, layout, name) in enumerate(zip(parts, layouts, names, strict=True)):
        columns = columns_by_type(layout.fields)
        selection = part.select(columns.texts, columns.numbers, engine.dialect, frame=f"frame{i}")
        pieces.append(TablePart(part, layout, selection, name))
    return pieces


def union(
    engine: Engine,
    pieces: Sequence[TablePart],
    schema: Schema,
    segments: Sequence[str],
    unit: str | None,
) -> Query:
    """All rows of the requested systems with the column names of a block.

    In a long table without ids, `ROW_NUMBER` is the number of each row among those of all systems.
    """
    dialect = engine.dialect
    layout = pieces[0].layout
    roles = {key: key for key in layout.fields if key != "system" and not key.startswith(ATTRIBUTE)}
    for short, name in short_names(segments, unit).items():
        roles[short] = f"{ATTRIBUTE}{name}"
    cells = [f"{cell(engine, role)} AS {dialect.quote(name)}" for name, role in roles.items()]
    cells_of_pieces = [
        ", ".join([*cells, f"{piece.system_in(engine)} AS system"]) for piece in pieces
    ]
    query = Query.from_selections([piece.chosen for piece in pieces], cells_of_pieces)
    if layout.systems:
        return query
    if dialect.row_number and "id" not in layout.fields:
        query = query.outer_query(f"*, {dialect.row_number} AS {ROW_NUMBER}")
    systems = ", ".join(map(dialect.literal, schema.systems))
    return query.outer_query("*", f"WHERE system IN ({systems})")


def cell(engine: Engine, role: str) -> str:
    """The SQL of a column; an empty cell of an attribute is a value of its own."""
    quoted = engine.dialect.quote(role)
    if not role.startswith(ATTRIBUTE):
        return quoted
    return f"COALESCE({quoted}, {engine.dialect.literal(EMPTY_ATTRIBUTE)})"


def short_names(segments: Sequence[str], unit: str | None) -> dict[str, str]:
    """The name in queries -> the column, of the columns of segments and of the unit."""
    names = {f"segment{i}": name for i, name in enumerate(segments)}
    if unit:
        names["unit"] = unit
    return names


def changed_input_error(name: str) -> InputError:
    """The error for an input whose two readings differ, such as a query with a random result."""
    return InputError(f"{name}: the input changed while it was read")


def blocks_of(
    engine: Engine,
    pieces: Sequence[TablePart],
    systems: Sequence[str] = (),
    segments: Sequence[str] = (),
    unit: str | None = None,
    used_roles: Sequence[str] | None = None,
    sizes: Sequence[Mapping[str, int]] | None = None,
) -> Blocks:
    """The table of parts in sequence before its groups are known: a unit may have rows in any
    block.

    systems: the requested ones. segments, unit: the columns that the user names. used_roles: the
    roles of predictions that metrics use; None for all. sizes: for each part the number of rows of
    each system, if they are known. Raises InputError for systems that cannot be compared.
    """
    sizes = sizes or [_sizes(engine, piece) for piece in pieces]
    layout = pieces[0].layout
    names = list(layout.systems)
    if not names:
        names = aligned.requested_systems(
            sorted(set(chain(*sizes))), systems, layout, pieces[0].part
        )
    id = layout.fields.get("id")
    row_names = None
    if id is not None:
        row_names = "id"
    elif engine.dialect.row_number and not layout.systems:
        row_names = ROW_NUMBER
    schema = Schema(
        systems=tuple(names),
        shared_role_fields={
            role: field
            for role, field in layout.shared_fields.items()
            if not role.startswith(ATTRIBUTE)
        },
        predictions=layout.predictions,
        used_roles=tuple(used_roles or layout.predictions),
        paired=not layout.systems and len(names) > 1,
        id=id,
        names=row_names,
        numbered=bool(id or engine.dialect.row_number),
        unit=unit is not None,
        units_split=unit is not None,
    )
    rows = 0
    for size in sizes:
        rows += sum(n for name, n in size.items() if layout.systems or name in names)
    return Blocks(
        engine=engine,
        selected_parts=pieces,
        query=union(engine, pieces, schema, segments, unit),
        counts=[sum(size.values()) for size in sizes],
        rows=rows,
        slices={},
        schema=schema,
    )


def _sizes(engine: Engine, piece: TablePart) -> dict[str, int]:
    """System -> the number of its rows in a part. Raises InputError for a part without rows, and
    for a row without a system.
    """
    system = piece.system_in(engine)
    size = {
        row["system"]: row["n"]
        for row in profile(engine, piece.chosen, [f"{system} AS system"], "GROUP BY 2")
    }
    if None in size or any(len(name.encode()) > LONGEST for name in size):
        refuse_first(engine, piece)
    return size


# Distinct texts -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DistinctTexts:
    """The distinct texts of a column in order, and the number of rows of each.

    If a column has more than were asked for, these are some of them, including the empty text if
    there is one.
    """

    values: np.ndarray
    rows: Ints

    @property
    def empty(self) -> int:
        """The number of rows without a text."""
        return int(self.rows[self.values == EMPTY_ATTRIBUTE].sum())


def distinct(engine: Engine, query: Query, column: str, max_texts: int) -> DistinctTexts:
    """The distinct texts of a column of a query's result; if there are more than `max_texts`, so
    many and one more of them.
    """
    empty = f"{column} = {engine.dialect.literal(EMPTY_ATTRIBUTE)}"
    groups = f"GROUP BY {column} ORDER BY CASE WHEN {empty} THEN 0 ELSE 1 END LIMIT {max_texts + 1}"
    table = engine.table(query.outer_query(f"{column} AS value, count(*) AS n", groups))
    values = np.array(table["value"].to_pylist(), dtype=object).astype(str)
    order = np.argsort(values)
    return DistinctTexts(values[order], table["n"].to_numpy()[order])
