"""Tables of labels and scores that are reduced shard by shard: what an engine is asked, and every check before that.

One query for each part counts its rows by system and label, and with them whatever cannot be meant; the errors are
those of tables in memory. The parts laid end to end are then one query with short names, whose shards `shards` reads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.metrics.rows import Shard
from evalkit.reading.engines import duckdb, spark
from evalkit.reading.engines.base import Budget, Engine
from evalkit.reading.inputs import aligned, pairing
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions.profiles import LABELS, Piece, Profiles, system_of
from evalkit.reading.reductions.shards import OfTable, Plan, Segment
from evalkit.reading.reductions.straight import Straight, straight
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.precision import Precision
from evalkit.reading.tables.rules import split
from evalkit.reading.tables.slices import groups


@dataclass(frozen=True, eq=False)
class Large:
    """A table of binary outcomes that an engine, DuckDB or Spark, holds.

    query: the SQL of all rows by short names. plan: what a shard's columns mean. counts: rows
    of each part. outside, certain: of each system the rows whose score is no probability, and those that are certain
    of the other class. slices: the labels of the groups of each column for segments. straight: the file, where its
    rows are read without the engine. precision: what each system's scores were stored in.
    """

    engine: Engine
    pieces: Sequence[Piece]
    query: str
    plan: Plan
    positive: str
    negative: str
    counts: Sequence[int]
    rows: int
    outside: Mapping[str, int]
    certain: Mapping[str, int]
    slices: Mapping[str, Sequence[str]]
    straight: Straight | None
    precision: Mapping[str, Precision]

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that are wanted, in order."""
        return self.plan.systems

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns as the page prints them."""
        return aligned.printed(self.pieces[0].layout)

    @property
    def wide(self) -> bool:
        """Whether each system has a column of scores."""
        return self.pieces[0].layout.wide

    @property
    def name(self) -> str:
        """The input in an error."""
        return ", ".join(dict.fromkeys(piece.part.name for piece in self.pieces[:3]))

    @property
    def frames(self) -> Mapping[str, Any]:
        """What the query reads beside files."""
        return {name: frame for piece in self.pieces for name, frame in piece.chosen.frames.items()}

    def ask(self, cells: str, rest: str) -> Any:
        """The engine's answer on all rows: these cells, and what follows the FROM clause."""
        query = f"SELECT {cells} FROM ({self.query}) AS s {rest}"
        return self.engine.table(query, self.name, **self.frames)

    def sources(self) -> tuple[Source, ...]:
        """The inputs with their rows; raises InputError where a file has changed since reading began."""
        return tuple(piece.part.fingerprint(rows) for piece, rows in zip(self.pieces, self.counts, strict=True))

    def reduce(self, function: Callable[[Shard], Any], merge: Callable[[Any], Any], *, by_unit: bool) -> Any:
        """All shards reduced, each to an Arrow table.

        by_unit: the rows of a unit, unless units are few, stand in one shard; always, paired systems' rows of one id
        do.
        """
        if self.straight:
            return self.straight.reduce(function, merge, self.plan)
        by = "unit" if by_unit and self.plan.unit and self.plan.units is None else "id" if self.plan.paired else None
        query = f"SELECT {', '.join(self.plan.columns)} FROM ({self.query}) AS w"
        of_table = OfTable(self.plan, function)
        return self.engine.reduce(query, by, of_table, self.name, merge, total=self.rows, **self.frames)


@contextmanager
def opened(predicted: Predicted, budget: Budget, segments: Sequence[str], unit: str | None) -> Iterator[Large | None]:
    """The table in an engine where it is binary and has more rows than are kept; None where it is to be kept."""
    most = budget.reading.rows
    if predicted.few(most) or predicted.kind != "binary":
        yield None
        return
    cluster = spark.engine_for(predicted.parts, budget.reading)
    with nullcontext(cluster) if cluster else duckdb.opened(budget) as engine:
        many = bool(cluster) or _rows_of(engine, predicted.parts) > most
        yield read(engine, predicted, list(dict.fromkeys(segments)), unit) if many else None


def _rows_of(engine: Engine, parts: Sequence[Part]) -> int:
    """The rows of all parts."""
    return sum(_count(engine, part) if part.counted is None else part.counted for part in parts)


def _count(engine: Engine, part: Part) -> int:
    chosen = part.select({"first": part.columns[0]}, {})
    query = f"SELECT count(*) AS n FROM ({chosen.query}) AS s"
    return int(engine.table(query, part.name, **chosen.frames)["n"][0].as_py())


def read(engine: Engine, predicted: Predicted, segments: Sequence[str] = (), unit: str | None = None) -> Large:
    """The table checked as `Predicted.read` checks it; raises what it raises."""
    pieces = _pieces(engine, predicted)
    direct = straight(pieces[0], engine) if len(pieces) == 1 else None
    direct_profile = direct.profile() if direct else None
    counted = Profiles.of(engine, pieces, [direct_profile] if direct_profile else None, predicted.systems)
    chosen, other = counted.labels(predicted.positive)
    plan = counted.plan(chosen)
    outside, certain = (counted.by_system(plan.hits, *ends) for ends in (("outside", "outside"), ("low", "high")))
    table = Large(
        engine=engine,
        pieces=pieces,
        query=_union(counted, plan.hits, segments, unit),
        plan=plan,
        positive=chosen,
        negative=other,
        counts=[sum(row["n"] for row in rows) for rows in counted.rows],
        rows=sum(row["n"] for row in counted.kept),
        outside=outside,
        certain=certain,
        slices={},
        straight=direct if direct_profile and not plan.paired else None,
        precision={name: counted.precision(name) for name in counted.systems},
    )
    if pieces[0].layout.id and not plan.paired:
        _no_id_twice(table)
    return _grouped(table, segments, unit)


# The parts --------------------------------------------------------------------------------------------------------


def _pieces(engine: Engine, predicted: Predicted) -> list[Piece]:
    pieces, several = [], len(predicted.parts) > 1
    for i, (part, layout) in enumerate(zip(predicted.parts, predicted.layouts, strict=True)):
        name = aligned.stem(part) if several else aligned.SYSTEM
        pieces.append(Piece(part, layout, part.select(*split(layout.fields), engine.dialect, frame=f"frame{i}"), name))
    return pieces


def _union(counted: Profiles, hits: Sequence[str], segments: Sequence[str], unit: str | None) -> str:
    """The SQL of all rows of the systems wanted by short names."""
    quoted, names = counted.engine.dialect.literal, counted.systems
    parts = (_rows(counted.engine, i, piece, hits, segments, unit) for i, piece in enumerate(counted.pieces))
    union = " UNION ALL ".join(parts)
    if counted.wide:
        return union
    return f"SELECT * FROM ({union}) AS u WHERE system IN ({', '.join(map(quoted, names))})"


def _rows(
    engine: Engine, index: int, piece: Piece, hits: Sequence[str], segments: Sequence[str], unit: str | None
) -> str:
    """The SQL of a part's rows with short names."""
    q = engine.dialect.quote
    hit = f"{q('text label')} IN ({', '.join(map(engine.dialect.literal, hits))})" if hits else "false"
    cells = [f"{hit} AS hit", f"{system_of(engine, piece)} AS system"]
    cells += [f"{q('id')} AS id"] if piece.layout.id else []
    cells += [f"{q('number weight')} AS weight"] if "weight" in piece.layout.shared else []
    own = [f"own {system}\n{role}" for system, roles in piece.layout.own.items() for role in roles]
    cells += [f"{q(role)} AS score{i}" for i, role in enumerate(own)]
    named = {f"segment{i}": name for i, name in enumerate(segments)} | ({"unit": unit} if unit else {})
    cells += [f"{_cell(engine, f'text attribute {name}')} AS {short}" for short, name in named.items()]
    return f"SELECT {', '.join(cells)} FROM ({piece.chosen.query}) AS s{index}"


def _cell(engine: Engine, role: str) -> str:
    """The SQL of a column; an empty attribute is a value of its own."""
    named = engine.dialect.quote(role)
    return f"COALESCE({named}, {engine.dialect.literal(aligned.NONE)})" if role.startswith("text attribute ") else named


# Groups and ids -----------------------------------------------------------------------------------------------------


def _grouped(t: Large, segments: Sequence[str], unit: str | None) -> Large:
    """The table with the slices of the columns for segments, and its units where they are few."""
    slices, labels, most = [], {}, t.engine.reading
    for i, column in enumerate(segments):
        values, rows = _values(t, f"segment{i}", most.values)
        if len(values) > most.values:
            text = f"segments: {column!r} has more than {most.values:,} distinct values, too many to group"
            raise ParameterError(text)
        grouped = groups(values, rows)
        slices.append(Segment(tuple(values), grouped.of))
        labels[column] = grouped.labels
    units = _values(t, "unit", most.units)[0] if unit else np.empty(0)
    if unit and (len(units) > most.units or aligned.NONE in units):
        _refuse_no_unit(t, unit)
    known = tuple(units) if unit and len(units) <= most.units else None
    plan = replace(t.plan, segments=tuple(slices), unit=unit is not None, units=known)
    return replace(t, plan=plan, slices=labels)


def _refuse_no_unit(t: Large, unit: str) -> None:
    """Raises InputError where a row has no unit."""
    none = t.engine.dialect.literal(aligned.NONE)
    if rows := t.ask("count(*) AS n", f"WHERE unit = {none}")["n"][0].as_py():
        raise aligned.no_unit(t.name, unit, rows)


def _values(t: Large, column: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a column in order, one more than so many at most, and the rows of each."""
    table = t.ask(f"{column} AS value, count(*) AS n", f"GROUP BY {column} LIMIT {most + 1}")
    values, rows = np.array(table["value"].to_pylist(), dtype=object).astype(str), table["n"].to_numpy()
    order = np.argsort(values)
    return values[order], rows[order]


def _no_id_twice(t: Large) -> None:
    if (id := _id_having(t, "count(*) > 1")) is not None:
        _, place, _ = _having(t, id, "1")[1]
        raise pairing.twice(place, id, None if t.wide else t.systems[0])


def _id_having(t: Large, condition: str) -> str | None:
    """The first id whose rows together keep the condition; None where there is none."""
    ids = t.ask("id", f"GROUP BY id HAVING {condition} ORDER BY 1 LIMIT 1")["id"]
    return ids[0].as_py() if len(ids) else None


def refuse(t: Large) -> InputError:
    """The error for ids that a system has twice, or whose rows do not agree; shards have found that there are such."""
    for again in t.ask("id, system", "GROUP BY id, system HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 1").to_pylist():
        places = [place for system, place, _ in _having(t, again["id"], "1") if system == again["system"]]
        return pairing.twice(places[1], again["id"], again["system"])
    layout = t.pieces[0].layout
    short = {f"text attribute {name}": f"segment{i}" for i, name in enumerate(t.slices)}
    short |= {"text label": "hit", "number weight": "weight"}
    for role, field in ((aligned.key(role, field), field) for role, field in layout.shared.items()):
        at = short.get(role, "unit")
        if (id := _id_having(t, f"min({at}) <> max({at})")) is not None:
            rows = sorted(_having(t, id, _cell(t.engine, role)))
            values = [value if field.is_number else field.plain(value) for _, _, value in rows]
            place, value = next((row[1], value) for row, value in zip(rows, values, strict=True) if value != values[0])
            return pairing.not_one(place, field.column, id, values[0], value)
    return changed(t)


def changed(t: Large) -> InputError:
    """The error for an input of which two readings differ, such as a query whose answer is never the same."""
    return InputError(f"{t.name}: the input changed while it was read")


def first_outside(t: Large, name: str) -> tuple[str, float]:
    """Place and value of a system's first score that is no probability."""
    role = t.engine.dialect.quote(f"own {name if t.wide else None}\nscore")
    _, place, value = _where(t, f"({role} < 0 OR {role} > 1)", role, 1, None if t.wide else name)[0]
    return place, value


def _having(t: Large, id: str, value: str) -> list[tuple[str, str, Any]]:
    """System, place and value of the rows with an id, in the order of the parts."""
    rows = _where(t, f"id = {t.engine.dialect.literal(id)}", value, LABELS)
    return [row for row in rows if t.wide or row[0] in t.systems]


def _where(t: Large, condition: str, value: str, most: int, wanted: str | None = None) -> list[tuple[str, str, Any]]:
    """System, place and value of the first rows of each part where a condition holds."""
    rows = []
    for piece in t.pieces:
        system = system_of(t.engine, piece)
        own = f"{system} = {t.engine.dialect.literal(wanted)}" if wanted is not None else "true"
        cells = f"{system} AS system, {value} AS value"
        for row in t.engine.where(piece.chosen, f"{condition} AND {own}", cells, most):
            rows.append((row["system"], piece.part.place(row["n"]), row["value"]))
    return rows
