"""Tables that are reduced shard by shard, whatever they hold: parts, ids, groups, and one query with short names.

The parts laid end to end are one query, whose shards `shards` reads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.rows import Shard
from evalkit.reading.engines import duckdb, spark
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions import distinct
from evalkit.reading.reductions.shards import Plan, Reduced, Segment
from evalkit.reading.tables import table
from evalkit.reading.tables.parts import Part, Selection, Source
from evalkit.reading.tables.rules import split
from evalkit.reading.tables.table import groups

SEEN = 10_000  # rows of one id that are looked at
ROW_NUMBER = "row_in_input"  # the column of the rows' numbers


@dataclass(frozen=True, eq=False)
class Piece:
    """A part, its columns by role, its selection, and its system where no column says it."""

    part: Part
    layout: Layout
    chosen: Selection
    system: str


@dataclass(frozen=True, eq=False)
class Input(ABC):
    """A table that an engine, DuckDB or Spark, holds.

    query: the SQL of all rows by short names. counts: rows of each part. rows: of the systems wanted. slices: the
    labels of the groups of each column for segments.
    """

    engine: Engine
    pieces: Sequence[Piece]
    query: str
    counts: Sequence[int]
    rows: int
    slices: Mapping[str, Sequence[str]]

    @property
    @abstractmethod
    def systems(self) -> tuple[str, ...]:
        """The systems that are wanted, in order."""

    @property
    @abstractmethod
    def paired(self) -> bool:
        """Whether the rows of several systems are joined on the id."""

    @abstractmethod
    def short(self, role: str) -> str:
        """The column of the query that has what systems share, by its role while it is read."""

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns as the page prints them."""
        return aligned.printed(self.pieces[0].layout)

    @property
    def others(self) -> tuple[str, ...]:
        """The columns that were not read."""
        return aligned.unread(self.pieces[0].part, self.pieces[0].layout)

    @property
    def wide(self) -> bool:
        """Whether each system has a column of scores."""
        return self.pieces[0].layout.wide

    @property
    def name(self) -> str:
        """The input in an error."""
        return named(self.pieces)

    @property
    def naming(self) -> str | None:
        """The column of the query that names rows, ids or numbers from 1; None where rows are numbered as they come."""
        if self.pieces[0].layout.id:
            return "id"
        return None if self.wide or not self.engine.dialect.row_number else ROW_NUMBER

    @property
    def frames(self) -> Mapping[str, Any]:
        """What the query reads beside files."""
        return frames_of(self.pieces)

    def ask(self, cells: str, rest: str) -> Any:
        """The engine's answer on all rows: these cells, and what follows the FROM clause."""
        query = f"SELECT {cells} FROM ({self.query}) AS s {rest}"
        return self.engine.table(query, self.name, **self.frames)

    def sources(self) -> tuple[Source, ...]:
        """The inputs with their rows; raises InputError where a file has changed since reading began."""
        return tuple(piece.part.fingerprint(rows) for piece, rows in zip(self.pieces, self.counts, strict=True))


@dataclass(frozen=True, eq=False)
class Tabled(Input):
    """An input that is reduced shard by shard. plan: what a shard's columns mean."""

    plan: Plan

    @property
    def systems(self) -> tuple[str, ...]:
        return self.plan.systems

    @property
    def paired(self) -> bool:
        return self.plan.paired

    def short(self, role: str) -> str:
        short = {f"text attribute {name}": f"segment{i}" for i, name in enumerate(self.slices)}
        short |= dict.fromkeys(("number label", "number actual"), self.plan.truth)
        short |= {"number weight": "weight"}
        short |= {f"number beside {name}": f"beside{i}" for i, name in enumerate(self.plan.beside)}
        short |= {f"number true {name}": f"label{i}" for i, name in enumerate(self.plan.labels)}
        return short.get(role, "unit")

    def together(self, *, by_unit: bool) -> str | None:
        """The column whose equal values stand in one shard."""
        return "unit" if by_unit and self.plan.unit and self.plan.units is None else "id" if self.plan.paired else None

    def reduce(self, function: Callable[[Shard], Any], merge: Callable[[Any], Any], *, by_unit: bool) -> Any:
        """All shards reduced, each to an Arrow table.

        by_unit: the rows of a unit, unless units are few, stand in one shard; always, paired systems' rows of one id
        do.
        """
        by = self.together(by_unit=by_unit)
        columns = dict.fromkeys([*self.plan.columns, *([by] if by else [])])
        query = f"SELECT {', '.join(columns)} FROM ({self.query}) AS w"
        work = Reduced(self.plan, function)
        then = self.plan.measured if by == "unit" else []
        return self.engine.reduce(query, by, work, self.name, merge, total=self.rows, then=then, **self.frames)


@contextmanager
def engine_for(parts: Sequence[Part], budget: Budget) -> Iterator[Engine | None]:
    """The engine of tables that have more rows than are kept; None where they are to be kept."""
    most = budget.reading.rows
    if sum(part.most_rows for part in parts) <= most:
        yield None
        return
    cluster = spark.engine_for(parts, budget.reading)
    with nullcontext(cluster) if cluster else duckdb.opened(budget) as engine:
        yield engine if cluster or rows_of(engine, parts) > most else None


def rows_of(engine: Engine, parts: Sequence[Part]) -> int:
    """The rows of all parts."""
    return sum(_count(engine, part) if part.counted is None else part.counted for part in parts)


def _count(engine: Engine, part: Part) -> int:
    chosen = part.select({"first": part.columns[0]}, {})
    query = f"SELECT count(*) AS n FROM ({chosen.query}) AS s"
    return int(engine.table(query, part.name, **chosen.frames)["n"][0].as_py())


Kept = TypeVar("Kept", bound=Tabled)


# The parts --------------------------------------------------------------------------------------------------------


def pieces_of(engine: Engine, parts: Sequence[Part], layouts: Sequence[Layout]) -> list[Piece]:
    """The parts, with what the engine reads of each."""
    pieces, several = [], len(parts) > 1
    for i, (part, layout) in enumerate(zip(parts, layouts, strict=True)):
        name = aligned.stem(part) if several else aligned.SYSTEM
        pieces.append(Piece(part, layout, part.select(*split(layout.fields), engine.dialect, frame=f"frame{i}"), name))
    return pieces


def named(pieces: Sequence[Piece]) -> str:
    """The input in an error: its first parts."""
    return table.names([piece.part for piece in pieces])


def frames_of(pieces: Sequence[Piece]) -> dict[str, Any]:
    """What the queries of the parts read beside files."""
    return {name: frame for piece in pieces for name, frame in piece.chosen.frames.items()}


def system_of(engine: Engine, piece: Piece) -> str:
    """The SQL of the system that a row of a part belongs to."""
    return engine.dialect.quote("system") if piece.layout.system else engine.dialect.literal(piece.system)


def union(
    engine: Engine,
    pieces: Sequence[Piece],
    systems: Sequence[str],
    cells: Sequence[str],
    segments: Sequence[str],
    unit: str | None,
) -> str:
    """The SQL of all rows of the systems wanted by short names. cells: of what is, and of what is said.

    Where other systems' rows stand among them and there are no ids, `ROW_NUMBER` is the number of each row among all.
    """
    parts = (_rows(engine, i, piece, cells, segments, unit) for i, piece in enumerate(pieces))
    every = " UNION ALL ".join(parts)
    if pieces[0].layout.wide:
        return every
    if engine.dialect.row_number and not pieces[0].layout.id:
        every = f"SELECT *, {engine.dialect.row_number} AS {ROW_NUMBER} FROM ({every}) AS v"
    return f"SELECT * FROM ({every}) AS u WHERE system IN ({', '.join(map(engine.dialect.literal, systems))})"


def scores(engine: Engine, layout: Layout) -> list[str]:
    """The cells of what systems say of a row in one column each."""
    own = [f"own {system}\n{role}" for system, roles in layout.own.items() for role in roles]
    return [f"{engine.dialect.quote(role)} AS score{i}" for i, role in enumerate(own)]


def _rows(
    engine: Engine, index: int, piece: Piece, own: Sequence[str], segments: Sequence[str], unit: str | None
) -> str:
    """The SQL of a part's rows with short names."""
    q = engine.dialect.quote
    cells = [*own, f"{system_of(engine, piece)} AS system"]
    cells += [f"{q('id')} AS id"] if piece.layout.id else []
    cells += [f"{q('number weight')} AS weight"] if "weight" in piece.layout.shared else []
    named = short_names(segments, unit).items()
    cells += [f"{cell(engine, f'text attribute {name}')} AS {short}" for short, name in named]
    return f"SELECT {', '.join(cells)} FROM ({piece.chosen.query}) AS s{index}"


def cell(engine: Engine, role: str) -> str:
    """The SQL of a column; an empty attribute is a value of its own."""
    named = engine.dialect.quote(role)
    return f"COALESCE({named}, {engine.dialect.literal(aligned.NONE)})" if role.startswith("text attribute ") else named


# Groups and ids -----------------------------------------------------------------------------------------------------


def short_names(segments: Sequence[str], unit: str | None) -> dict[str, str]:
    """The columns for segments, and for the unit, by their short names."""
    return {f"segment{i}": name for i, name in enumerate(segments)} | ({"unit": unit} if unit else {})


def most_texts(engine: Engine, segments: Sequence[str], unit: str | None) -> dict[str, int]:
    """How many distinct texts of each of these columns are wanted, by its short name."""
    named = short_names(segments, unit)
    return {short: engine.reading.units if short == "unit" else engine.reading.values for short in named}


@dataclass(frozen=True, eq=False)
class Grouped:
    """The slices of the columns for segments and their labels, and the distinct units where they are few."""

    segments: tuple[Segment, ...]
    labels: Mapping[str, Sequence[str]]
    units: tuple[str, ...] | None


def groups_of(t: Input, segments: Sequence[str], unit: str | None) -> Grouped:
    """How the rows are grouped; raises InputError for a row without a unit, ParameterError for too many slices."""
    most, slices, labels = t.engine.reading, [], {}
    known = distinct.texts(t.engine, t.query, t.name, most_texts(t.engine, segments, unit), t.frames)
    for i, column in enumerate(segments):
        found = known[f"segment{i}"]
        if len(found.values) > most.values:
            text = f"segments: {column!r} has more than {most.values:,} distinct values, too many to group"
            raise ParameterError(text)
        parts = groups(found.values, found.rows)
        slices.append(Segment(tuple(found.values), parts.of))
        labels[column] = parts.labels
    if unit and known["unit"].empty:
        raise _no_unit(t, unit, known["unit"].empty)
    few = tuple(known["unit"].values) if unit and len(known["unit"].values) <= most.units else None
    return Grouped(tuple(slices), labels, few)


def grouped(t: Kept, segments: Sequence[str], unit: str | None) -> Kept:
    """The table with the slices of the columns for segments, and its units where they are few."""
    found = groups_of(t, segments, unit)
    plan = replace(t.plan, segments=found.segments, unit=unit is not None, units=found.units)
    return replace(t, plan=plan, slices=found.labels)


def _no_unit(t: Input, unit: str, rows: int) -> InputError:
    """The error for rows without a unit."""
    none = t.engine.dialect.literal(aligned.NONE)
    empty = where(t, f"{cell(t.engine, f'text attribute {unit}')} = {none}", "1", 1)
    return aligned.no_unit(empty[0][1] if empty else t.name, unit, rows)


def refuse_id_twice(t: Input) -> None:
    """Raises InputError where an id stands in two rows."""
    if (id := id_having(t, "count(*) > 1")) is not None:
        _, place, _ = _having(t, id, "1")[1]
        raise aligned.twice(place, id, None if t.wide else t.systems[0])


def id_having(t: Input, condition: str) -> str | None:
    """The first id whose rows together keep the condition; None where there is none."""
    ids = t.ask("id", f"GROUP BY id HAVING {condition} ORDER BY 1 LIMIT 1")["id"]
    return ids[0].as_py() if len(ids) else None


def twice(t: Input) -> InputError | None:
    """The error for the first id that a system has twice; None where there is none."""
    for again in t.ask("id, system", "GROUP BY id, system HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 1").to_pylist():
        places = [place for system, place, _ in _having(t, again["id"], "1") if system == again["system"]]
        return aligned.twice(places[1], again["id"], again["system"])
    return None


def refuse(t: Input) -> InputError:
    """The error for ids that a system has twice, or whose rows do not agree; shards have found that there are such."""
    if error := twice(t):
        return error
    layout = t.pieces[0].layout
    for role, field in ((aligned.key(role, field), field) for role, field in layout.shared.items()):
        at = t.short(role)
        if (id := id_having(t, f"count(*) = {len(t.systems)} AND min({at}) <> max({at})")) is not None:
            rows = sorted(_having(t, id, cell(t.engine, role)))
            values = [value if field.is_number else field.plain(value) for _, _, value in rows]
            place, value = next((row[1], value) for row, value in zip(rows, values, strict=True) if value != values[0])
            return aligned.not_one(place, field.column, id, values[0], value)
    return changed(t.name)


def changed(name: str) -> InputError:
    """The error for an input of which two readings differ, such as a query whose answer is never the same."""
    return InputError(f"{name}: the input changed while it was read")


def _having(t: Input, id: str, value: str) -> list[tuple[str, str, Any]]:
    """System, place and value of the rows with an id, in the order of the parts."""
    rows = where(t, f"id = {t.engine.dialect.literal(id)}", value, SEEN)
    return [row for row in rows if t.wide or row[0] in t.systems]


def where(t: Input, condition: str, value: str, most: int, wanted: str | None = None) -> list[tuple[str, str, Any]]:
    """System, place and value of the first rows of each part where a condition holds."""
    rows = []
    for piece in t.pieces:
        system = system_of(t.engine, piece)
        own = f"{system} = {t.engine.dialect.literal(wanted)}" if wanted is not None else "true"
        cells = f"{system} AS system, {value} AS value"
        for row in t.engine.where(piece.chosen, f"{condition} AND {own}", cells, most):
            rows.append((row["system"], piece.part.place(row["n"]), row["value"]))
    return rows
