"""Tables read block by block, once: an engine brings equal ids or units together, numpy checks, types and pairs.

A refusal is found in a block; the parts are then read once more from their beginnings, for the file, the row and the
value that it names.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import InputError, Ints
from evalkit.metrics import kept
from evalkit.metrics.kept import Block
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs import aligned, pairing
from evalkit.reading.inputs.ratings import Forecast
from evalkit.reading.reductions import shards, tabled
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled, system_of
from evalkit.reading.tables.parts import explained
from evalkit.reading.tables.rules import Field, Refused

Kept = TypeVar("Kept")
HEAD = 2**14  # rows that tell about where numbers lie


@dataclass(frozen=True, eq=False)
class Schema:
    """What the columns of a block mean, and the rules of each, by the names that the query gives them.

    names: the column that names rows; None where they are numbered as they come. numbered: whether they are at all.
    parted: units are few, and the rows of one come in any block.
    """

    fields: Mapping[str, Field]
    plan: Plan
    names: str | None
    numbered: bool
    parted: bool

    def block(self, table: Any, before: int = 0) -> Block:
        """The rows of an Arrow table. before: rows that came earlier. Raises Refused for what cannot be meant."""
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        values = {name: field.checked(columns[name], None) for name, field in self.fields.items()}
        plan, rows = self.plan, np.arange(len(table))[:, None]
        if plan.paired:
            rows = _paired(table["id"], table["system"], plan.systems)
        first = rows[:, 0]

        def shared(values: np.ndarray) -> np.ndarray:
            """What systems share, which must be one value for each row."""
            if plan.paired and np.any(values[rows] != values[first][:, None]):
                raise Refused("what systems share differs")
            return values[first] if plan.paired else values

        own = [name for name in plan.measured if name.startswith("score")]
        said = values[own[0]][rows].T.copy() if plan.paired else np.array([values[name] for name in own])
        truth, weight = shared(values[plan.truth]), shared(values["weight"]) if "weight" in values else None
        beside = {name: shared(values[at]) for name, at in zip(plan.beside, plan.numbers, strict=True)}
        texts = {
            name: columns[name].take(first) if plan.paired else columns[name]
            for name in ("id", "unit")
            if name in columns
        }
        text = texts.get("unit", texts.get("id"))
        everything = [truth, *said, *([] if weight is None else [weight]), *beside.values()]
        names = texts["id"] if self.names == "id" else columns[self.names] if self.names else None
        if plan.unit:
            shared(kept.of_texts(columns["unit"]))
        return _sorted(
            Block(
                truth=truth,
                said=said,
                weight=weight,
                key=kept.of_numbers(everything) if text is None else kept.of_texts(text),
                clustered=plan.unit,
                parted=self.parted,
                alike=text is None,
                slices=[shared(column) for column in self._slices(columns)],
                beside=beside,
                names=np.arange(before + 1, before + len(table) + 1) if names is None and self.numbered else names,
            )
        )

    def _slices(self, columns: Mapping[str, Any]) -> Iterator[Ints]:
        start = 1
        for i, segment in enumerate(self.plan.segments):
            yield start + segment.of[shards.places_of(columns[f"segment{i}"], segment.values)]
            start += int(segment.of.max()) + 1


def _sorted(block: Block) -> Block:
    """The block with the rows of each unit together, as engines have them but where units share a hash of theirs."""
    if not block.clustered or block.parted or len(np.unique(block.key)) == len(block.starts):
        return block
    return block.at(np.argsort(block.key, kind="stable"))


def _paired(ids: Any, column: Any, systems: Sequence[str]) -> Ints:
    """The rows of each id that every system has, one column a system; Refused where a system has an id again."""
    of, count = shards.places_of(column, systems), len(systems)
    key = shards.codes_of(ids)[0]
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
class Blocks(Tabled):
    """A table that is read in blocks. fields: of the columns of its query."""

    fields: Mapping[str, Field]

    @property
    def schema(self) -> Schema:
        """What the columns mean."""
        numbered = self.naming is not None or bool(self.engine.dialect.row_number)
        return Schema(self.fields, self.plan, self.naming, numbered, self.plan.units is not None)

    def head(self) -> list[Block]:
        """Some first rows of each system, none of one that is not among them: about where numbers lie."""
        with self._refusing():
            table = self.engine.table(f"{self._query(None)} LIMIT {HEAD}", self.name, **self.frames)
            if not self.plan.paired:
                return [self.schema.block(table)] * len(self.systems)
            of = shards.places_of(table["system"], self.systems)
            alone = replace(self.schema, plan=replace(self.plan, paired=False, systems=self.systems[:1]))
            return [alone.block(table.take(np.flatnonzero(of == i))) for i in range(len(self.systems))]

    def total(self, of: Callable[[Block], Kept]) -> Kept:
        """The sum of what is kept of every block, in the order of the blocks; raises InputError for bad input."""
        by, work = self.together(by_unit=True), Reduced(self.schema, of)
        then = self.plan.measured if by == "unit" else []
        with self._refusing():
            whole = self.engine.total(self._query(by), by, work, self.name, self.rows, then, **self.frames)
        if whole is None:
            raise tabled.twice(self) or pairing.nothing_shared(self.systems)
        return whole

    def refuse_apart(self) -> None:
        """Raises InputError where systems have an id twice, or in different units: then no block has its rows."""
        if self.plan.paired and self.together(by_unit=True) == "unit":
            apart = f"count(*) = {len(self.systems)} AND min(unit) <> max(unit)"
            if tabled.id_having(self, apart) is not None or tabled.twice(self):
                raise tabled.refuse(self)

    def _query(self, by: str | None) -> str:
        naming = [name for name in (by, self.naming) if name]
        return (
            f"SELECT {', '.join(dict.fromkeys([*self.fields, *self.plan.columns, *naming]))} FROM ({self.query}) AS w"
        )

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Around reading: what a block refused becomes the error that names the file, the row and the value."""
        try:
            yield
        except (Refused, InputError) as error:
            for piece in self.pieces:
                refuse_first(self.engine, piece)
            raise (tabled.refuse(self) if isinstance(error, Refused) else error) from None
        for piece in self.pieces:
            if piece.chosen.source:
                piece.part.check(piece.chosen)


def refuse_first(engine: Engine, piece: Piece) -> None:
    """Raises InputError for the first value of a part that breaks a rule of its column."""
    before = 0 if engine.dialect.row_number else None
    tables = engine.stream(piece.chosen.query, None, piece.part.name, **piece.chosen.frames)
    while True:
        try:
            table = next(tables, None)
        except InputError:
            if piece.chosen.source:
                piece.part.explain(piece.chosen)
            raise
        if table is None:
            return
        for role, field in piece.layout.fields.items():
            field.checked(table[role].combine_chunks(), piece.part, before)
        before = None if before is None else before + len(table)


def read(engine: Engine, asked: Forecast, segments: Sequence[str] = (), unit: str | None = None) -> Blocks:
    """The table of forecasts; raises InputError where its systems, groups or units cannot be meant."""
    pieces = tabled.pieces_of(engine, asked.parts, asked.numbered)
    layout, sizes = pieces[0].layout, [_sizes(engine, piece) for piece in pieces]
    systems = tuple(map(str, layout.own)) if layout.wide else _systems(asked, {name for size in sizes for name in size})
    quote = engine.dialect.quote
    roles = {"actual": "actual"} | {f"beside{i}": f"beside {name}" for i, name in enumerate(asked.beside)}
    fields = {short: layout.shared[role] for short, role in roles.items()}
    cells = [f"{quote(aligned.key(role, fields[short]))} AS {short}" for short, role in roles.items()]
    own = [field for roles in layout.own.values() for field in roles.values()]
    fields |= {f"score{i}": field for i, field in enumerate(own)}
    fields |= {"weight": layout.shared["weight"]} if "weight" in layout.shared else {}
    fields |= {"id": Field(layout.id)} if layout.id else {}
    paired, scale = not layout.wide and len(systems) > 1, 1.0 if "weight" in layout.shared else None
    table = Blocks(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, systems, [*cells, *tabled.scores(engine, layout)], segments, unit),
        plan=Plan(systems, paired, (), scale, truth="actual", beside=tuple(asked.beside)),
        counts=[sum(size.values()) for size in sizes],
        rows=sum(n for size in sizes for name, n in size.items() if layout.wide or name in systems),
        slices={},
        fields=fields,
    )
    if layout.id and not paired:
        tabled.refuse_id_twice(table)
    return tabled.grouped(table, segments, unit)


def _sizes(engine: Engine, piece: Piece) -> dict[str, int]:
    """The rows of each system of a part; raises InputError where there are none, or one has no system."""
    system = system_of(engine, piece)
    query = f"SELECT {system} AS system, count(*) AS n FROM ({piece.chosen.query}) AS s GROUP BY 1"
    with explained(piece.chosen):
        rows = engine.table(query, piece.part.name, **piece.chosen.frames).to_pylist()
    size = {row["system"]: row["n"] for row in rows if row["n"]}
    if not size:
        raise piece.part.no_rows()
    if None in size:
        refuse_first(engine, piece)
    return size


def _systems(asked: Forecast, every: set[str]) -> tuple[str, ...]:
    names = sorted(every)
    return tuple(names[i] for i in aligned.kept_systems(names, asked.systems, asked.layouts[0], asked.parts[0]))
