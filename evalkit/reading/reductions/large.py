"""Tables of labels and scores that are reduced shard by shard: what an engine is asked, and every check before that.

One query for each part counts its rows by system and label, and with them whatever cannot be meant; the errors are
those of tables in memory. The parts laid end to end are then one query with short names, whose shards `shards` reads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.metrics import grid
from evalkit.metrics.rows import Shard
from evalkit.reading.engines.base import Engine
from evalkit.reading.engines.checks import checked
from evalkit.reading.engines.duckdb import DuckDB
from evalkit.reading.inputs import aligned, outcomes, pairing
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions.profiles import LABELS, Piece, Row, profile, system_of
from evalkit.reading.reductions.shards import OfTable, Plan, Segment
from evalkit.reading.reductions.straight import Straight, straight
from evalkit.reading.tables import columns as roles_of
from evalkit.reading.tables import precision
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.precision import Precision
from evalkit.reading.tables.rules import LEAST_WEIGHT, MOST_WEIGHT, split
from evalkit.reading.tables.slices import groups

ROWS = 2**20  # more are reduced shard by shard, whatever the memory and the engine: the same page everywhere
KNOWN = 2**14  # distinct units whose sums are kept side by side; more are sorted, so that each is in one shard
VALUES = 2**20  # distinct values of a column for segments


@dataclass(frozen=True, eq=False)
class Large:
    """A table of binary outcomes that an engine, DuckDB or Spark, holds.

    query, frames: the SQL of all rows by short names, and what it reads. plan: what a shard's columns mean. held: rows
    of each part. outside, certain: of each system the rows whose score is no probability, and those that are certain
    of the other class. slices: the labels of the groups of each column for segments. straight: the file, where its
    rows are read without the engine. precision: what each system's scores were stored in.
    """

    engine: Engine
    pieces: Sequence[Piece]
    query: str
    frames: Mapping[str, Any]
    plan: Plan
    columns: Mapping[str, str]
    positive: str
    negative: str
    held: Sequence[int]
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
    def shown(self) -> str:
        """The input in an error."""
        return ", ".join(dict.fromkeys(one.part.name for one in self.pieces[:3]))

    def sources(self) -> tuple[Source, ...]:
        """The inputs with their rows; raises InputError where a file has changed since reading began."""
        return tuple(one.part.fingerprint(rows) for one, rows in zip(self.pieces, self.held, strict=True))

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
        return self.engine.reduce(query, by, of_table, self.shown, merge, total=self.rows, **self.frames)


def few(parts: Sequence[Part], most: int) -> bool:
    """Whether no more than so many rows are there for certain, without counting them."""
    return sum(part.most_rows for part in parts) <= most


def count(engine: Engine, parts: Sequence[Part]) -> int:
    """The rows of all parts."""
    return sum(_count(engine, part) if part.counted is None else part.counted for part in parts)


def _count(engine: Engine, part: Part) -> int:
    chosen = part.select({"first": part.columns[0]}, {})
    query = f"SELECT count(*) AS n FROM ({chosen.query}) AS s"
    return int(engine.table(query, part.name, **chosen.frames)["n"][0].as_py())


def read(
    engine: Engine,
    parts: Sequence[Part],
    *,
    positive: str | None = None,
    columns: Mapping[str, str] | None = None,
    systems: Sequence[str] = (),
    segments: Sequence[str] = (),
    unit: str | None = None,
) -> Large:
    """The parts checked as `outcomes.read` checks them; raises what it raises."""
    given = dict(columns or {})
    roles_of.check_roles(given, outcomes.NAMES)
    pieces = _pieces(engine, parts, given, systems, [*segments, *([unit] if unit else [])])
    direct = straight(pieces[0], engine.limits) if isinstance(engine, DuckDB) and len(pieces) == 1 else None
    told = direct.profile() if direct else None
    profiles = [told] if told else [profile(engine, piece) for piece in pieces]
    layout, wide = pieces[0].layout, None not in pieces[0].layout.own
    found = [row for rows in profiles for row in rows]
    kept = tuple(map(str, layout.own)) if wide else _systems(found, layout, systems, pieces[0].part)
    found = [row for row in found if wide or row["system"] in kept]
    shown = aligned.printed(layout)
    chosen, other = _labels(engine, pieces, profiles, kept if not wide else (), positive)
    hits = sorted(name for name in {row["label"] for row in found} if outcomes.canonical(name) == chosen)
    plan = Plan(kept, not wide and len(kept) > 1, tuple(hits), _scale(engine, pieces, profiles))
    query = " UNION ALL ".join(_rows(engine, i, piece, plan.hits, segments, unit) for i, piece in enumerate(pieces))
    if not wide:
        query = f"SELECT * FROM ({query}) AS u WHERE system IN ({', '.join(map(engine.dialect.literal, kept))})"
    made = Large(
        engine=engine,
        pieces=pieces,
        query=query,
        frames={name: frame for one in pieces for name, frame in one.chosen.frames.items()},
        plan=plan,
        columns=shown,
        positive=chosen,
        negative=other,
        held=[sum(row["n"] for row in rows) for rows in profiles],
        rows=sum(row["n"] for row in found),
        outside=_by_system(found, kept, ("outside", "outside"), hits, wide=wide),
        certain=_by_system(found, kept, ("low", "high"), hits, wide=wide),
        slices={},
        straight=direct if told and not plan.paired else None,
        precision={name: _precision(pieces, profiles, name) for name in kept},
    )
    if layout.id and not plan.paired:
        _no_id_twice(made)
    return _grouped(made, segments, unit)


# The parts --------------------------------------------------------------------------------------------------------


def _pieces(
    engine: Engine,
    parts: Sequence[Part],
    given: Mapping[str, str],
    systems: Sequence[str],
    attributes: Sequence[str],
) -> list[Piece]:
    found = []
    for i, part in enumerate(parts):
        layout = outcomes.layout_of(part, kind="binary", given=given, systems=systems, attributes=attributes)
        name = aligned.stem(part) if len(parts) > 1 else aligned.SYSTEM
        found.append(Piece(part, layout, part.select(*split(layout.fields), engine.dialect, frame=f"frame{i}"), name))
    aligned.same_systems([(one.part, one.layout) for one in found])
    return found


def _precision(pieces: Sequence[Piece], profiles: Sequence[Sequence[Row]], name: str) -> Precision:
    """The precision of a system's scores: the widest of the parts that hold some."""
    stored = []
    for piece, rows in zip(pieces, profiles, strict=True):
        own = piece.layout.own
        if name in own or any(row["system"] == name for row in rows):
            stored.append(precision.of(piece.part, own[name if name in own else None]["score"]))
    return precision.widest(stored)


def _systems(found: Sequence[Row], layout: Layout, systems: Sequence[str], part: Part) -> tuple[str, ...]:
    names = sorted({row["system"] for row in found})
    return tuple(names[i] for i in aligned.kept_systems(names, systems, layout, part))


def _labels(
    engine: Engine,
    pieces: Sequence[Piece],
    profiles: Sequence[Sequence[Row]],
    kept: Sequence[str],
    given: str | None,
) -> tuple[str, str]:
    """The positive and the negative label."""
    rows = [(i, row["label"]) for i, some in enumerate(profiles) for row in some if not kept or row["system"] in kept]
    names, column = sorted({outcomes.canonical(label) for _, label in rows}), pieces[0].layout.text["label"]
    if len(names) > 2:
        i, label = next((i, label) for i, label in rows if outcomes.canonical(label) == names[2])
        same = f"{engine.dialect.quote('text label')} = {engine.dialect.literal(label)}"
        row, _ = engine.first(pieces[i].chosen, same, "text label")
        raise outcomes.too_many_labels(pieces[i].part.place(row), column, names)
    return outcomes.two_labels(names, given, pieces[0].part.name, column)


def _scale(engine: Engine, pieces: Sequence[Piece], profiles: Sequence[Sequence[Row]]) -> float | None:
    """Of what size weights are counted; None where there are none."""
    column = pieces[0].layout.numbers.get("weight")
    if column is None:
        return None
    for piece, rows in zip(pieces, profiles, strict=True):
        if min(row["least"] for row in rows) < LEAST_WEIGHT or max(row["most"] for row in rows) > MOST_WEIGHT:
            checked(engine, piece.chosen, {"number weight": piece.layout.fields["number weight"]})
    found = [row for rows in profiles for row in rows]
    most = max(row["most"] for row in found)
    if most <= 0:
        raise outcomes.no_weight(pieces[0].part.name, column)
    return grid.scale_of(most, sum(row["n"] for row in found), whole=not any(row["parted"] for row in found))


def _by_system(
    found: Sequence[Row], kept: Sequence[str], names: tuple[str, str], hits: Sequence[str], *, wide: bool
) -> dict[str, int]:
    """Rows of each system that the profile counts by one name among the positives, by the other among the rest."""
    total = dict.fromkeys(kept, 0)
    for row in found:
        name = names[0] if row["label"] in hits else names[1]
        for i, system in enumerate(kept if wide else [row["system"]]):
            total[system] += row[f"{name}{i}"]
    return total


def _rows(
    engine: Engine, index: int, piece: Piece, hits: Sequence[str], segments: Sequence[str], unit: str | None
) -> str:
    """The SQL of a part's rows with short names."""
    q = engine.dialect.quote
    hit = f"{q('text label')} IN ({', '.join(map(engine.dialect.literal, hits))})" if hits else "false"
    cells = [f"{q('text label')} AS label", f"{hit} AS hit", f"{system_of(engine, piece)} AS system"]
    cells += [f"{q('id')} AS id"] if piece.layout.id else []
    cells += [f"{q('number weight')} AS weight"] if "weight" in piece.layout.numbers else []
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
    found, labels = [], {}
    for i, column in enumerate(segments):
        values, rows = _values(t, f"segment{i}", VALUES)
        if len(values) > VALUES:
            raise ParameterError(f"segments: {column!r} has more than {VALUES:,} distinct values, too many to group")
        made = groups(values, rows)
        found.append(Segment(tuple(values), made.of))
        labels[column] = made.labels
    units = _values(t, "unit", KNOWN)[0] if unit else np.empty(0)
    if unit and (len(units) > KNOWN or aligned.NONE in units):
        _refuse_no_unit(t, unit)
    known = tuple(units) if unit and len(units) <= KNOWN else None
    plan = replace(t.plan, segments=tuple(found), unit=unit is not None, units=known)
    return replace(t, plan=plan, slices=labels)


def _refuse_no_unit(t: Large, unit: str) -> None:
    """Raises InputError where a row has no unit."""
    query = f"SELECT count(*) AS n FROM ({t.query}) AS s WHERE unit = {t.engine.dialect.literal(aligned.NONE)}"
    if rows := t.engine.table(query, t.shown, **t.frames)["n"][0].as_py():
        raise aligned.no_unit(t.shown, unit, rows)


def _values(t: Large, column: str, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a column in order, one more than so many at most, and the rows of each."""
    query = f"SELECT {column} AS value, count(*) AS n FROM ({t.query}) AS s GROUP BY {column} LIMIT {most + 1}"
    found = t.engine.table(query, t.shown, **t.frames)
    values, rows = np.array(found["value"].to_pylist(), dtype=object).astype(str), found["n"].to_numpy()
    order = np.argsort(values)
    return values[order], rows[order]


def _no_id_twice(t: Large) -> None:
    query = f"SELECT id FROM ({t.query}) AS s GROUP BY id HAVING count(*) > 1 ORDER BY 1 LIMIT 1"
    found = t.engine.table(query, t.shown, **t.frames)
    if len(found):
        wide = None not in t.pieces[0].layout.own
        _, place, _ = _having(t, found["id"][0].as_py(), "1")[1]
        raise pairing.twice(place, found["id"][0].as_py(), None if wide else t.systems[0])


def refuse(t: Large) -> InputError:
    """The error for ids that a system has twice, or whose rows do not agree; shards have found that there are such."""
    query = f"SELECT id, system FROM ({t.query}) AS s GROUP BY id, system HAVING count(*) > 1 ORDER BY 1, 2 LIMIT 1"
    found = t.engine.table(query, t.shown, **t.frames).to_pylist()
    if found:
        own = [one for one in _having(t, found[0]["id"], "1") if one[0] == found[0]["system"]]
        return pairing.twice(own[1][1], found[0]["id"], found[0]["system"])
    layout = t.pieces[0].layout
    short = {f"text attribute {name}": f"segment{i}" for i, name in enumerate(t.slices)}
    names = {f"text {role}": column for role, column in layout.text.items()}
    names |= {f"number {role}": column for role, column in layout.numbers.items()}
    for role, column in names.items():
        at = short.get(role, role.split(" ")[-1] if role in ("text label", "number weight") else "unit")
        query = f"SELECT id FROM ({t.query}) AS s GROUP BY id HAVING min({at}) <> max({at}) ORDER BY 1 LIMIT 1"
        found = t.engine.table(query, t.shown, **t.frames).to_pylist()
        if found:
            rows = sorted(_having(t, found[0]["id"], _cell(t.engine, role)))
            other = next(one for one in rows if one[2] != rows[0][2])
            return pairing.not_one(other[1], column, found[0]["id"], rows[0][2], other[2])
    return changed(t)


def changed(t: Large) -> InputError:
    """The error for an input of which two readings differ, such as a query whose answer is never the same."""
    return InputError(f"{t.shown}: the input changed while it was read")


def first_outside(t: Large, name: str) -> tuple[str, float]:
    """Place and value of a system's first score that is no probability."""
    wide = None not in t.pieces[0].layout.own
    role = t.engine.dialect.quote(f"own {name if wide else None}\nscore")
    found = _where(t, f"({role} < 0 OR {role} > 1)", role, 1, None if wide else name)
    return found[0][1], found[0][2]


def _having(t: Large, id: str, value: str) -> list[tuple[str, str, Any]]:
    """System, place and value of the rows with an id, in the order of the parts."""
    wide = None not in t.pieces[0].layout.own
    found = _where(t, f"id = {t.engine.dialect.literal(id)}", value, LABELS)
    return [one for one in found if wide or one[0] in t.systems]


def _where(t: Large, condition: str, value: str, most: int, wanted: str | None = None) -> list[tuple[str, str, Any]]:
    """System, place and value of the first rows of each part where a condition holds."""
    found = []
    for piece in t.pieces:
        system = system_of(t.engine, piece)
        own = f"{system} = {t.engine.dialect.literal(wanted)}" if wanted is not None else "true"
        cells = f"{system} AS system, {value} AS value"
        for row in t.engine.where(piece.chosen, f"{condition} AND {own}", cells, most):
            found.append((row["system"], piece.part.place(row["n"]), row["value"]))
    return found
