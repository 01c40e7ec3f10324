"""Tables read block by block, once: an engine brings equal ids or units together, numpy checks, types and pairs.

A report declares its columns as roles with their rules, once. A refusal is found in a block; the parts are then read
once more from their beginnings, for the file, the row and the value that it names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import InputError, Ints
from evalkit.metrics import block as hashes
from evalkit.metrics.block import Block
from evalkit.reading.engines.base import Engine, typed
from evalkit.reading.inputs import aligned
from evalkit.reading.inputs.aligned import Aligned, Layout
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.shards import Segment
from evalkit.reading.reductions.tabled import Input, Piece, system_of
from evalkit.reading.tables import duck
from evalkit.reading.tables import table as tables
from evalkit.reading.tables.duck import Dialect
from evalkit.reading.tables.parts import Part, explained
from evalkit.reading.tables.rules import Field, Refused
from evalkit.system import progress

Kept = TypeVar("Kept")
HEAD = 2**14  # rows that tell about where numbers lie
BESIDE, ATTRIBUTE, WEIGHT = "beside ", "attribute ", "weight"  # roles of shared columns that are not what is


@dataclass(frozen=True, eq=False)
class Schema:
    """What the columns of a block mean, and the rules of each, by the roles that a report declares.

    shared: what systems have in common: roles without a prefix, but for the weight, are what is. own: of each role of
    what systems say the columns, one a system, or one of the row's system. said: the roles that are measured; the other
    ones stand beside. paired: the systems' rows are joined on the id. coded: of roles of text the number of each text.
    segments: of each column for segments its texts and their slices. unit: whether rows cluster; parted: there are few
    `units`, and the rows of one come in any block. id: of the rows. names: the column that names rows; None where
    they are numbered as they come. numbered: whether they are at all. drawn: whether rows are, by what they say where
    nothing names them.
    """

    systems: tuple[str, ...]
    shared: Mapping[str, Field]
    own: Mapping[str, Sequence[Field]]
    said: tuple[str, ...]
    paired: bool
    id: Field | None
    names: str | None = None
    numbered: bool = False
    coded: Mapping[str, Segment] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    unit: bool = False
    parted: bool = False
    units: int = 0
    drawn: bool = True

    @property
    def truth(self) -> list[str]:
        """The roles of what is."""
        return [role for role in self.shared if role != WEIGHT and not role.startswith(BESIDE)]

    @property
    def measured(self) -> list[str]:
        """The columns of the query that are measured: rows of a unit that are equal in them can change places."""
        own = [own_name(role, i) for role, fields in self.own.items() for i in range(len(fields))]
        last = [role for role in self.shared if role not in self.truth]
        return [*self.truth, *last, *own]

    @property
    def columns(self) -> list[str]:
        """The columns of the query that are read."""
        return [*self.measured, *(["id"] if self.id else []), *self.repeated]

    @property
    def repeated(self) -> list[str]:
        """The columns of the query whose texts a page repeats."""
        groups = [f"segment{i}" for i in range(len(self.segments))]
        return [*(["system"] if self.paired else []), *groups, *(["unit"] if self.unit else [])]

    def block(self, table: Any, before: int = 0) -> Block:
        """The rows of an Arrow table. before: rows that came earlier. Raises Refused for what cannot be meant."""
        columns = self._columns(table)
        rows = _paired(columns["id"], columns["system"], self.systems) if self.paired else None
        first = slice(None) if rows is None else rows[:, 0]

        def one(values: np.ndarray) -> np.ndarray:
            """What systems share, which must be one value for each row."""
            if rows is not None and np.any(values[rows] != values[first][:, None]):
                raise Refused("what systems share differs")
            return values[first]

        def each(role: str) -> np.ndarray:
            """What each system has of its own, a row a system."""
            every = [self._numbers(role, field, columns[own_name(role, i)]) for i, field in enumerate(self.own[role])]
            return np.array(every) if rows is None else every[0][rows].T.copy()

        shared = {role: one(self._numbers(role, field, columns[role])) for role, field in self.shared.items()}
        own = {role: each(role) for role in self.own}
        truth, said = [shared[role] for role in self.truth], [own[role] for role in self.said]
        weight = shared.get(WEIGHT)
        beside = {role.removeprefix(BESIDE): values for role, values in shared.items() if role.startswith(BESIDE)}
        keys = {n: columns[n] if rows is None else columns[n].take(first) for n in ("unit", "id") if n in columns}
        key = next(iter(keys.values()), None)
        drawn = [*chain(*said), *([] if weight is None else [weight]), *beside.values()] if self.drawn else []
        names = keys["id"] if self.names == "id" else columns[self.names] if self.names else None
        if self.unit:
            one(hashes.of_texts(columns["unit"]))
        return _sorted(
            Block(
                truth=truth[0] if len(truth) == 1 else np.array(truth),
                said=said[0] if len(said) == 1 else np.stack(said, axis=1),
                weight=weight,
                key=hashes.of_numbers([*truth, *drawn]) if key is None else hashes.of_texts(key),
                id=hashes.of_texts(keys["id"]) if self.id and not self.paired else None,
                clustered=self.unit,
                parted=self.parted,
                alike=key is None,
                slices=[one(column) for column in self._slices(columns)],
                beside=beside,
                own={role: values for role, values in own.items() if role not in self.said},
                names=np.arange(before + 1, before + len(table) + 1) if names is None and self.numbered else names,
                units=keys.get("unit"),
            )
        )

    def _columns(self, table: Any) -> dict[str, Any]:
        """The columns of an Arrow table; Refused where an id is empty, or a text longer than a page can repeat."""
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        if any(duck.longest(columns[name]) > duck.LONGEST for name in self.repeated):
            raise Refused("a text is too long")
        if self.id:
            self.id.checked(columns["id"], None)
        return columns

    def _numbers(self, role: str, field: Field, column: Any) -> np.ndarray:
        """A column that keeps its rules, as numbers."""
        values: np.ndarray = field.checked(column, None)
        coded = self.coded.get(role)
        return values if coded is None else coded.of[tables.places_of(values, coded.values)]

    def _slices(self, columns: Mapping[str, Any]) -> Iterator[Ints]:
        start = 1
        for i, segment in enumerate(self.segments):
            yield start + segment.of[tables.places_of(columns[f"segment{i}"], segment.values)]
            start += int(segment.of.max()) + 1


def own_name(role: str, system: int) -> str:
    """The column of the query that has what a system says."""
    return f"{role} {system}"


def _sorted(block: Block) -> Block:
    """The block with the rows of each unit together, as engines have them but where units share a hash of theirs."""
    if not block.clustered or block.parted or len(np.unique(block.key)) == len(block.starts):
        return block
    return block.at(np.argsort(block.key, kind="stable"))


def _paired(ids: Any, column: Any, systems: Sequence[str]) -> Ints:
    """The rows of each id that every system has, one column a system; Refused where a system has an id again."""
    of, count = tables.places_of(column, systems), len(systems)
    key = tables.indexed(ids)[0]
    order = np.argsort(key * count + of, kind="stable")
    key, of = key[order], of[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
    size = np.diff(start, append=len(key))
    if np.any((key[1:] == key[:-1]) & (of[1:] == of[:-1])):
        raise Refused("an id stands twice")
    return order[start[size == count][:, None] + np.arange(count)]


@dataclass(frozen=True, eq=False)
class Reduced:
    """What `of` makes of the rows of a table, None where no row of it is in every system."""

    schema: Schema
    of: Callable[[Block], Any]

    def __call__(self, table: Any, before: int = 0) -> Any:
        block = self.schema.block(table, before)
        return self.of(block) if len(block) else None


@dataclass(frozen=True, eq=False)
class Blocks(Input):
    """A table that is read in blocks."""

    schema: Schema

    @property
    def systems(self) -> tuple[str, ...]:
        return self.schema.systems

    @property
    def paired(self) -> bool:
        return self.schema.paired

    def short(self, role: str) -> str:
        role = role.partition(" ")[2]
        if role.startswith(ATTRIBUTE):
            segments = [f"{ATTRIBUTE}{name}" for name in self.slices]
            return f"segment{segments.index(role)}" if role in segments else "unit"
        return self.engine.dialect.quote(role)

    @property
    def ids_held(self) -> int:
        """Ids whose hashes are kept to find one that comes twice; a cluster would send them again and again."""
        return self.engine.reading.ids if self.engine.dialect.row_number and not self.paired else 0

    def texts(self, role: str) -> dict[str, int]:
        """The distinct texts of a role, such as labels or predicted classes, and the rows of each."""
        names = [role] if role in self.schema.shared else [own_name(role, i) for i in range(len(self.schema.own[role]))]
        found: dict[str, int] = {}
        for name in map(self.engine.dialect.quote, names):
            for row in self.ask(f"{name} AS text, count(*) AS n", f"GROUP BY {name}").to_pylist():
                if row["text"] is None:
                    self._refuse_first()
                found[row["text"]] = found.get(row["text"], 0) + row["n"]
        return dict(sorted(found.items()))

    def grouped(self, segments: Sequence[str], unit: str | None) -> "Blocks":
        """The table with its slices and, where there are few, its units known; raises where they cannot be meant."""
        groups = tabled.groups_of(self, segments, unit)
        few, count = groups.units is not None, len(groups.units or ())
        schema = replace(self.schema, segments=groups.segments, parted=few, units=count)
        return replace(self, schema=schema, slices=groups.labels)

    def coded(self, role: str, of: Mapping[str, int]) -> "Blocks":
        """The table with the texts of a role as numbers. of: the number of each text."""
        numbers = Segment(tuple(of), np.array(list(of.values())))
        return replace(self, schema=replace(self.schema, coded={**self.schema.coded, role: numbers}))

    def head(self) -> list[Block]:
        """Some first rows of each system, none of one that is not among them: about where numbers lie."""
        with self._refusing():
            table = self.engine.table(f"{self._query(None)} LIMIT {HEAD}", self.name, **self.frames)
            if not self.paired:
                return [self.schema.block(table)] * len(self.systems)
            of = tables.places_of(table["system"], self.systems)
            alone = replace(self.schema, paired=False, systems=self.systems[:1])
            return [alone.block(table.take(np.flatnonzero(of == i))) for i in range(len(self.systems))]

    def total(self, of: Callable[[Block], Kept]) -> Kept:
        """The sum of what is kept of every block, in the order of the blocks; raises InputError for bad input."""
        by, work = self._together(by_unit=True), Reduced(self.schema, of)
        then = [*map(self.engine.dialect.quote, self.schema.measured)] if by == "unit" else []
        with self._refusing():
            whole = self.engine.total(self._query(by), by, work, self.name, self.rows, then, **self.frames)
        if whole is None:
            raise tabled.twice(self) or aligned.nothing_shared(self.systems)
        return whole

    def again(self, rows: int) -> Iterator[Block]:
        """The rows once more, in the order of the input where systems need not be paired.

        rows: those that were read. The engine may be closed. Raises InputError if the input has changed.
        """
        by, schema = self._together(by_unit=False), replace(self.schema, parted=True, numbered=True)
        with self.engine.again() as engine, progress("rereading", rows, "rows") as draw:
            done = 0
            for table in engine.stream(self._query(by), by, self.name, **self.frames):
                block = schema.block(table, done)
                done += len(block)
                yield block
                draw(done)
            self.sources()
            if done != rows:
                raise tabled.changed(self.name)

    def check(self, rows: int, repeated: int | None = 0) -> None:
        """Raises InputError where rows that were read are not all: ids twice, in several units, or another input.

        repeated: rows whose id an earlier row has, None where nobody knows.
        """
        if self.paired and self._together(by_unit=True) == "unit" and rows * len(self.systems) != self.rows:
            apart = f"count(*) = {len(self.systems)} AND min(unit) <> max(unit)"
            if tabled.id_having(self, apart) is not None or tabled.twice(self):
                raise tabled.refuse(self)
        if repeated != 0 and not self.paired:
            tabled.refuse_id_twice(self)
        if not self.paired and rows != self.rows:
            raise tabled.changed(self.name)

    def _together(self, *, by_unit: bool) -> str | None:
        """The column whose equal values stand in one block."""
        schema = self.schema
        return "unit" if by_unit and schema.unit and not schema.parted else "id" if schema.paired else None

    def _query(self, by: str | None) -> str:
        columns = dict.fromkeys([*self.schema.columns, *(name for name in (by, self.schema.names) if name)])
        return f"SELECT {', '.join(map(self.engine.dialect.quote, columns))} FROM ({self.query}) AS w"

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Around reading: what a block refused becomes the error that names the file, the row and the value."""
        try:
            yield
        except (Refused, InputError) as error:
            self._refuse_first()
            raise (tabled.refuse(self) if isinstance(error, Refused) else error) from None
        for piece in self.pieces:
            if piece.chosen.source:
                piece.part.check(piece.chosen)

    def _refuse_first(self) -> None:
        for piece in self.pieces:
            refuse_first(self.engine, piece)


def refuse_first(engine: Engine, piece: Piece) -> None:
    """Raises InputError for the first value of a part that breaks a rule of its column."""
    for _ in typed(engine, piece.chosen, piece.layout.fields):
        pass


def held(
    rows: Aligned, truth: np.ndarray, said: str, unit: Ints | None = None, beside: Mapping[str, Any] | None = None
) -> Block:
    """Rows at hand as one block. said: the role that is measured. unit: the number of each row's unit.

    beside: further columns of numbers that systems share.
    """
    places, roles, clustered = np.arange(len(rows)), rows.own[rows.systems[0]], unit is not None
    own = {role: np.array([rows.own[name][role] for name in rows.systems]) for role in roles}
    return Block(
        truth=truth,
        said=own.pop(said),
        weight=rows.numbers.get(WEIGHT),
        key=(places if unit is None else unit).astype(np.uint64),
        clustered=clustered,
        parted=clustered,
        beside=beside or {},
        own=own,
        names=places,
    )


# From the parts -------------------------------------------------------------------------------------------------------


def read(
    engine: Engine,
    parts: Sequence[Part],
    layouts: Sequence[Layout],
    systems: Sequence[str] = (),
    segments: Sequence[str] = (),
    unit: str | None = None,
    said: Sequence[str] | None = None,
) -> Blocks:
    """The table; raises InputError where its systems, groups or units cannot be meant.

    layouts: the columns of each part by the roles that the report declares. systems: those wanted. said: the roles of
    what systems say that are measured, all of them where none is named.
    """
    pieces = tabled.pieces_of(engine, parts, layouts)
    return laid(engine, pieces, [sizes_of(engine, piece) for piece in pieces], systems, segments, unit, said)


def laid(
    engine: Engine,
    pieces: Sequence[Piece],
    sizes: Sequence[Mapping[str, int]],
    systems: Sequence[str] = (),
    segments: Sequence[str] = (),
    unit: str | None = None,
    said: Sequence[str] | None = None,
) -> Blocks:
    """The table of parts laid end to end. sizes: of each part the rows of each system."""
    return ungrouped(engine, pieces, sizes, systems, segments, unit, said).grouped(segments, unit)


def ungrouped(
    engine: Engine,
    pieces: Sequence[Piece],
    sizes: Sequence[Mapping[str, int]],
    systems: Sequence[str] = (),
    segments: Sequence[str] = (),
    unit: str | None = None,
    said: Sequence[str] | None = None,
) -> Blocks:
    """The same before its groups are known: every unit may have rows in any block."""
    layout = pieces[0].layout
    names = tuple(map(str, layout.own)) if layout.wide else _systems(systems, {n for s in sizes for n in s}, pieces[0])
    roles = list(dict.fromkeys(role for fields in layout.own.values() for role in fields))
    schema = Schema(
        systems=names,
        shared={role: field for role, field in layout.shared.items() if not role.startswith(ATTRIBUTE)},
        own={role: [fields[role] for fields in layout.own.values()] for role in roles},
        said=tuple(said or roles),
        paired=not layout.wide and len(names) > 1,
        id=Field(layout.id) if layout.id else None,
        names="id" if layout.id else None if layout.wide or not engine.dialect.row_number else tabled.ROW_NUMBER,
        numbered=bool(layout.id or engine.dialect.row_number),
        unit=unit is not None,
        parted=unit is not None,
    )
    return Blocks(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, names, _cells(engine.dialect, layout, schema), segments, unit),
        counts=[sum(size.values()) for size in sizes],
        rows=sum(n for size in sizes for name, n in size.items() if layout.wide or name in names),
        slices={},
        schema=schema,
    )


def _cells(dialect: Dialect, layout: Layout, schema: Schema) -> list[str]:
    """The SQL of what is and of what systems say, under the names that a block has for them."""
    named = {role: aligned.key(role, field) for role, field in schema.shared.items() if role != WEIGHT}
    for role in schema.own:
        for i, (system, fields) in enumerate(layout.own.items()):
            named[own_name(role, i)] = aligned.own_key(system, role, fields[role])
    return [f"{dialect.quote(key)} AS {dialect.quote(name)}" for name, key in named.items()]


def sizes_of(engine: Engine, piece: Piece) -> dict[str, int]:
    """The rows of each system of a part; raises InputError where there are none, or one has no system."""
    system = system_of(engine, piece)
    query = f"SELECT {system} AS system, count(*) AS n FROM ({piece.chosen.query}) AS s GROUP BY 1"
    with explained(piece.chosen):
        rows = engine.table(query, piece.part.name, **piece.chosen.frames).to_pylist()
    size = {row["system"]: row["n"] for row in rows if row["n"]}
    if not size:
        raise piece.part.no_rows()
    if None in size or any(len(name.encode()) > duck.LONGEST for name in size):
        refuse_first(engine, piece)
    return size


def _systems(wanted: Sequence[str], every: set[str], piece: Piece) -> tuple[str, ...]:
    names = sorted(every)
    return tuple(names[i] for i in aligned.kept_systems(names, wanted, piece.layout, piece.part))
