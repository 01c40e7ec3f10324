"""Reads a table in blocks: an engine puts equal ids or units into one block, numpy checks, converts
and pairs the rows.

All parts of the table are one query. If a block contains an invalid value, the parts are read again
from the start to find the file, row and value that the error names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import InputError, Ints, ParameterError
from evalkit.metrics.blocks import Block
from evalkit.reading.engines.base import Engine, Query, profile, typed
from evalkit.reading.inputs import aligned
from evalkit.reading.reductions.schema import ATTRIBUTE, Reduced, Schema, Segment
from evalkit.reading.tables import table as tables
from evalkit.reading.tables.parts import InputPart, Selection, Source
from evalkit.reading.tables.rules import LONGEST, BrokenRule, columns_by_type
from evalkit.system import progress

Kept = TypeVar("Kept")
HEAD = 2**14  # rows that tell about where numbers lie
SEEN = 10_000  # rows of one id that are looked at
ROW_NUMBER = "row_in_input"  # the column of the rows' numbers


@dataclass(frozen=True, eq=False)
class TablePart:
    """A part, its columns by role, its selection, and its system if no column names it."""

    part: InputPart
    layout: aligned.ColumnLayout
    chosen: Selection
    system: str

    def system_in(self, engine: Engine) -> str:
        """The SQL of the system that a row belongs to."""
        return (
            engine.dialect.quote("system")
            if "system" in self.layout.fields
            else engine.dialect.literal(self.system)
        )


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table in an engine, DuckDB or Spark, that is read in blocks.

    query: of all rows, with the names of the schema. counts: rows of each part. rows: of the
    requested systems. slices: the labels of the groups of each segment column.
    """

    engine: Engine
    pieces: Sequence[TablePart]
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
        return self.pieces[0].layout.printed_columns

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that were not read."""
        return self.pieces[0].layout.unused_columns(self.pieces[0].part)

    @property
    def wide(self) -> bool:
        """True if each system has a column of scores."""
        return bool(self.pieces[0].layout.systems)

    @property
    def name(self) -> str:
        """The input in an error."""
        return self.query.where

    def ask(self, cells: str, rest: str) -> Any:
        """The engine's result over all rows: these cells, and what follows the FROM clause."""
        return self.engine.table(self.query.around(cells, rest))

    def sources(self) -> tuple[Source, ...]:
        """The inputs with their rows. Raises InputError if a file has changed since reading
        began.
        """
        return tuple(
            piece.part.fingerprint(rows)
            for piece, rows in zip(self.pieces, self.counts, strict=True)
        )

    def short(self, role: str) -> str:
        """The column of the query for a shared role."""
        if role.startswith(ATTRIBUTE):
            segments = [f"{ATTRIBUTE}{name}" for name in self.slices]
            return f"segment{segments.index(role)}" if role in segments else "unit"
        return self.engine.dialect.quote(role)

    @property
    def ids_held(self) -> int:
        """The largest number of ids whose hashes are kept to find duplicates.

        It is 0 if systems are paired, and for a cluster, which would send the hashes repeatedly.
        """
        return self.engine.reading.ids if self.engine.dialect.row_number and not self.paired else 0

    def texts(self, role: str) -> dict[str, int]:
        """The distinct texts of a role, such as labels or predicted classes, and the number of rows
        of each.
        """
        names = (
            [role]
            if role in self.schema.shared
            else [column.name_in_table for column in self.schema.own[role]]
        )
        found: dict[str, int] = {}
        for name in map(self.engine.dialect.quote, names):
            for row in self.ask(f"{name} AS text, count(*) AS n", f"GROUP BY {name}").to_pylist():
                if row["text"] is None:
                    self._refuse_first()
                found[row["text"]] = found.get(row["text"], 0) + row["n"]
        return dict(sorted(found.items()))

    def grouped(self, segments: Sequence[str], unit: str | None) -> "Blocks":
        """The table with its slices, and its units if there are few.

        Raises InputError for a row without a unit, ParameterError for too many slices.
        """
        most, slices, labels = self.engine.reading, list[Segment](), {}
        wanted = {
            short: most.units if short == "unit" else most.values
            for short in short_names(segments, unit)
        }
        known = {
            name: distinct(self.engine, self.query, name, size) for name, size in wanted.items()
        }
        for i, column in enumerate(segments):
            found = known[f"segment{i}"]
            if len(found.values) > most.values:
                text = (
                    f"segments: {column!r} has more than {most.values:,} distinct values, too many "
                    f"to group"
                )
                raise ParameterError(text)
            parts = tables.groups(found.values, found.rows)
            slices.append(Segment(tuple(found.values), parts.of))
            labels[column] = parts.labels
        if unit and known["unit"].empty:
            raise self.no_unit(unit, known["unit"].empty)
        few = len(known["unit"].values) if unit and len(known["unit"].values) <= most.units else 0
        schema = replace(self.schema, segments=tuple(slices), parted=few > 0, units=few)
        return replace(self, schema=schema, slices=labels)

    def no_unit(self, unit: str, rows: int, id: str | None = None) -> InputError:
        """The error for rows without a unit. id: that of the first one, if systems are joined."""
        literal = self.engine.dialect.literal
        condition = f"{cell(self.engine, f'attribute {unit}')} = {literal(aligned.NONE)}"
        condition += f" AND id = {literal(id)}" if id is not None else ""
        empty = self.where(condition, "1", 1, None if id is None else self.systems[0])
        return aligned.empty_unit(empty[0][1] if empty else self.name, unit, rows)

    def coded(self, role: str, of: Mapping[str, int]) -> "Blocks":
        """The table with the texts of a role as numbers. of: the number of each text."""
        numbers = Segment(tuple(of), np.array(list(of.values())))
        return replace(
            self, schema=replace(self.schema, coded={**self.schema.coded, role: numbers})
        )

    def head(self) -> list[Block]:
        """Some first rows of each requested system, to estimate the range of the numbers."""
        with self._refusing():
            table = self.engine.table(self._query(None, f"LIMIT {HEAD}"))
            if not self.paired:
                return [self.schema.block(table)] * len(self.systems)
            of = tables.indices_among(table["system"], self.systems)
            alone = replace(self.schema, paired=False, systems=self.systems[:1])
            return [
                alone.block(table.take(np.flatnonzero(of == i))) for i in range(len(self.systems))
            ]

    def total(self, of: Callable[[Block], Kept]) -> Kept:
        """The sum of the summaries of all blocks, in their order. Raises InputError for invalid
        input.
        """
        by, work = self._together(by_unit=True), Reduced(self.schema, of)
        then = [*map(self.engine.dialect.quote, self.schema.measured)] if by == "unit" else []
        with self._refusing():
            query = replace(self._query(by), rows=self.rows, then=then)
            whole: Kept | None = self.engine.total(query, work)
        if whole is None:
            raise self.twice() or aligned.no_common_ids(self.systems)
        return whole

    def again(self, rows: int) -> Iterator[Block]:
        """The rows, read another time, in the order of the input unless systems are paired.

        rows: the number of rows read before. The engine may be closed. Raises InputError if the
        input has changed.
        """
        by, schema = self._together(by_unit=False), replace(self.schema, parted=True, numbered=True)
        with self.engine.again() as engine, progress("rereading", rows, "rows") as draw:
            done = 0
            for table in engine.stream(self._query(by)):
                block = schema.block(table, done)
                done += len(block)
                yield block
                draw(done)
            self.sources()
            if done != rows:
                raise changed(self.name)

    def check(self, rows: int, repeated: int | None = 0) -> None:
        """Raise InputError if not all rows were used: duplicate ids, ids in several units, or a
        changed input.

        repeated: the number of rows whose id occurred before, None if it is unknown.
        """
        if (
            self.paired
            and self._together(by_unit=True) == "unit"
            and rows * len(self.systems) != self.rows
        ):
            apart = f"count(*) = {len(self.systems)} AND min(unit) <> max(unit)"
            if self.id_having(apart) is not None or self.twice():
                raise self.refuse()
        if repeated != 0 and not self.paired:
            self.refuse_id_twice()
        if not self.paired and rows != self.rows:
            raise changed(self.name)

    # Refusals

    def refuse_id_twice(self) -> None:
        """Raise InputError if an id occurs in two rows."""
        if (id := self.id_having("count(*) > 1")) is not None:
            _, place, _ = self._having(id, "1")[1]
            raise aligned.repeated_id(place, id, None if self.wide else self.systems[0])

    def id_having(self, condition: str) -> str | None:
        """The first id whose rows together meet the condition; None if there is none."""
        ids = self.ask("id", f"GROUP BY id HAVING {condition} ORDER BY 1 LIMIT 1")["id"]
        return ids[0].as_py() if len(ids) else None

    def twice(self) -> InputError | None:
        """The error for the first id that a system has twice; None if there is none."""
        first = self.ask(
            "id, system", "GROUP BY id, system HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 1"
        )
        for again in first.to_pylist():
            places = [
                place
                for system, place, _ in self._having(again["id"], "1")
                if system == again["system"]
            ]
            return aligned.repeated_id(places[1], again["id"], again["system"])
        return None

    def refuse(self) -> InputError:
        """The error for duplicate ids of a system, or rows that do not agree, once a block has
        found some.
        """
        if error := self.twice():
            return error
        layout = self.pieces[0].layout
        for role, field in layout.shared_fields.items():
            at = self.short(role)
            if (
                id := self.id_having(f"count(*) = {len(self.systems)} AND min({at}) <> max({at})")
            ) is not None:
                rows = sorted(self._having(id, cell(self.engine, role)))
                said = [
                    (place, value if field.is_number else field.normalise(value))
                    for _, place, value in rows
                ]
                place, value = next((place, value) for place, value in said if value != said[0][1])
                return aligned.disagreement(place, field.column, id, said[0][1], value)
        return changed(self.name)

    def _having(self, id: str, value: str) -> list[tuple[str, str, Any]]:
        """System, place and value of the rows with an id, in the order of the parts."""
        rows = self.where(f"id = {self.engine.dialect.literal(id)}", value, SEEN)
        return [row for row in rows if self.wide or row[0] in self.systems]

    def where(
        self, condition: str, value: str, most: int, wanted: str | None = None
    ) -> list[tuple[str, str, Any]]:
        """System, place and value of the first rows of each part that meet a condition."""
        rows = []
        for piece in self.pieces:
            system = piece.system_in(self.engine)
            own = (
                f"{system} = {self.engine.dialect.literal(wanted)}"
                if wanted is not None
                else "true"
            )
            cells = f"{system} AS system, {value} AS value"
            for row in self.engine.where(piece.chosen, f"{condition} AND {own}", cells, most):
                rows.append((row["system"], piece.part.place(row["n"]), row["value"]))
        return rows

    def _together(self, *, by_unit: bool) -> str | None:
        """The column whose equal values must be in one block."""
        schema = self.schema
        return (
            "unit"
            if by_unit and schema.unit and not schema.parted
            else "id"
            if schema.paired
            else None
        )

    def _query(self, by: str | None, rest: str = "") -> Query:
        columns = dict.fromkeys(
            [*self.schema.columns, *(name for name in (by, self.schema.names) if name)]
        )
        return replace(
            self.query.around(", ".join(map(self.engine.dialect.quote, columns)), rest), by=by
        )

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Around reading: what a block refused becomes the error that names the file, the row and
        the value.
        """
        try:
            yield
        except (BrokenRule, InputError) as error:
            self._refuse_first()
            raise (self.refuse() if isinstance(error, BrokenRule) else error) from None
        for piece in self.pieces:
            if piece.chosen.source:
                piece.part.check(piece.chosen)

    def _refuse_first(self) -> None:
        for piece in self.pieces:
            refuse_first(self.engine, piece)


def refuse_first(engine: Engine, piece: TablePart) -> None:
    """Raise InputError for the first value of a part that breaks a rule of its column."""
    for _ in typed(engine, piece.chosen, piece.layout.fields):
        pass


# From the parts -----------------------------------------------------------------------------------


def pieces_of(
    engine: Engine, parts: Sequence[InputPart], layouts: Sequence[aligned.ColumnLayout]
) -> list[TablePart]:
    """The parts, with the selection that the engine reads of each."""
    pieces = []
    names = [""] * len(parts) if layouts[0].systems else aligned.system_names(parts, layouts[0])
    for i, (part, layout, name) in enumerate(zip(parts, layouts, names, strict=True)):
        pieces.append(
            TablePart(
                part,
                layout,
                part.select(*columns_by_type(layout.fields), engine.dialect, frame=f"frame{i}"),
                name,
            )
        )
    return pieces


def union(
    engine: Engine,
    pieces: Sequence[TablePart],
    schema: Schema,
    segments: Sequence[str],
    unit: str | None,
) -> Query:
    """All rows of the requested systems with the column names of a block.

    If rows of other systems are between them and there are no ids, `ROW_NUMBER` is the number of
    each row among all.
    """
    dialect = engine.dialect
    layout = pieces[0].layout
    named = {key: key for key in layout.fields if key != "system" and not key.startswith(ATTRIBUTE)}
    named |= {short: f"{ATTRIBUTE}{name}" for short, name in short_names(segments, unit).items()}
    cells = [f"{cell(engine, key)} AS {dialect.quote(name)}" for name, key in named.items()]
    each = [", ".join([*cells, f"{piece.system_in(engine)} AS system"]) for piece in pieces]
    every = Query.over([piece.chosen for piece in pieces], each)
    if layout.systems:
        return every
    if dialect.row_number and "id" not in layout.fields:
        every = every.around(f"*, {dialect.row_number} AS {ROW_NUMBER}")
    return every.around("*", f"WHERE system IN ({', '.join(map(dialect.literal, schema.systems))})")


def cell(engine: Engine, role: str) -> str:
    """The SQL of a column; an empty cell of an attribute is a value of its own."""
    named = engine.dialect.quote(role)
    return (
        f"COALESCE({named}, {engine.dialect.literal(aligned.NONE)})"
        if role.startswith(ATTRIBUTE)
        else named
    )


def short_names(segments: Sequence[str], unit: str | None) -> dict[str, str]:
    """The short names of the columns for segments and for the unit."""
    return {f"segment{i}": name for i, name in enumerate(segments)} | (
        {"unit": unit} if unit else {}
    )


def changed(name: str) -> InputError:
    """The error for an input whose two readings differ, such as a query with a random result."""
    return InputError(f"{name}: the input changed while it was read")


def blocks_of(
    engine: Engine,
    pieces: Sequence[TablePart],
    systems: Sequence[str] = (),
    segments: Sequence[str] = (),
    unit: str | None = None,
    said: Sequence[str] | None = None,
    sizes: Sequence[Mapping[str, int]] | None = None,
) -> Blocks:
    """The table of parts in sequence before its groups are known: a unit may have rows in any
    block.

    systems: the requested ones. said: the roles of predictions that are used, all if none is named.
    sizes: for each part the rows of each system, if known. Raises InputError for systems that
    cannot be compared.
    """
    sizes = sizes or [_sizes(engine, piece) for piece in pieces]
    layout = pieces[0].layout
    names = [*layout.systems]
    if not names:
        names = aligned.requested_systems(sorted({*chain(*sizes)}), systems, layout, pieces[0].part)
    id = layout.fields.get("id")
    row_names = None
    if id is not None:
        row_names = "id"
    elif engine.dialect.row_number and not layout.systems:
        row_names = ROW_NUMBER
    schema = Schema(
        systems=tuple(names),
        shared={
            role: field
            for role, field in layout.shared_fields.items()
            if not role.startswith(ATTRIBUTE)
        },
        own=layout.predictions,
        said=tuple(said or layout.predictions),
        paired=not layout.systems and len(names) > 1,
        id=id,
        names=row_names,
        numbered=bool(id or engine.dialect.row_number),
        unit=unit is not None,
        parted=unit is not None,
    )
    return Blocks(
        engine=engine,
        pieces=pieces,
        query=union(engine, pieces, schema, segments, unit),
        counts=[sum(size.values()) for size in sizes],
        rows=sum(
            n for size in sizes for name, n in size.items() if layout.systems or name in names
        ),
        slices={},
        schema=schema,
    )


def _sizes(engine: Engine, piece: TablePart) -> dict[str, int]:
    """The rows of each system of a part; raises InputError if there are none, or one has no
    system.
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
        return int(self.rows[self.values == aligned.NONE].sum())


def distinct(engine: Engine, query: Query, column: str, most: int) -> DistinctTexts:
    """The distinct texts of a column of a query's result; if there are more than `most`, one more
    than `most`.
    """
    empty = f"{column} = {engine.dialect.literal(aligned.NONE)}"
    groups = f"GROUP BY {column} ORDER BY CASE WHEN {empty} THEN 0 ELSE 1 END LIMIT {most + 1}"
    table = engine.table(query.around(f"{column} AS value, count(*) AS n", groups))
    values = np.array(table["value"].to_pylist(), dtype=object).astype(str)
    order = np.argsort(values)
    return DistinctTexts(values[order], table["n"].to_numpy()[order])
