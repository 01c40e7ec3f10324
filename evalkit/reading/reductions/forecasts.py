"""Tables of actual values and forecasts that are reduced shard by shard: what an engine is asked before that.

One query for each part tells the rows of each system, whether every number keeps the rules, and about where they lie.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import LARGEST
from evalkit.metrics import grid
from evalkit.reading.engines.base import Engine, counts, refuse
from evalkit.reading.inputs import aligned, outcomes
from evalkit.reading.inputs.aligned import own_key
from evalkit.reading.inputs.ratings import Forecast
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, Tabled, system_of
from evalkit.reading.tables.parts import explained
from evalkit.reading.tables.rules import LEAST_WEIGHT, MOST_WEIGHT, ZERO_OR_ONE, checks, split

Row = Mapping[str, Any]  # of a profile
ACTUAL, WEIGHT = "number actual", "number weight"
LISTED = 10_000  # rows as far as the farthest that are looked at


@dataclass(frozen=True, eq=False)
class Large(Tabled):
    """A table of forecasts that an engine holds. centres: about the mean of the actual values, and of each forecast."""

    actual: float
    centres: Mapping[str, float]


def read(engine: Engine, asked: Forecast, segments: Sequence[str] = (), unit: str | None = None) -> Large:
    """The table checked as `Forecast.read` checks it; raises what it raises."""
    pieces = tabled.pieces_of(engine, asked.parts, asked.numbered)
    profiles = [profile(engine, piece) for piece in pieces]
    layout, every = pieces[0].layout, [row for rows in profiles for row in rows]
    systems = tuple(map(str, layout.own)) if layout.wide else _systems(asked, every)
    kept = [row for row in every if layout.wide or row["system"] in systems]
    quote = engine.dialect.quote
    truth = [f"{quote(ACTUAL)} AS actual"]
    truth += [f"{quote(f'number beside {name}')} AS beside{i}" for i, name in enumerate(asked.beside)]
    truth += tabled.scores(engine, layout)
    scale = scale_of(pieces, profiles)
    plan = Plan(systems, not layout.wide and len(systems) > 1, (), scale, truth="actual", beside=tuple(asked.beside))
    own = {name: own_key(name if layout.wide else None, "forecast", _field(layout, name)) for name in systems}
    table = Large(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, systems, truth, segments, unit),
        plan=plan,
        counts=[sum(row["n"] for row in rows) for rows in profiles],
        rows=sum(row["n"] for row in kept),
        slices={},
        actual=centre(kept, ACTUAL),
        centres={n: centre([r for r in kept if layout.wide or r["system"] == n], key) for n, key in own.items()},
    )
    if layout.id and not plan.paired:
        tabled.refuse_id_twice(table)
    return tabled.grouped(table, segments, unit)


def _field(layout: aligned.Layout, name: str) -> Any:
    return layout.own[name if layout.wide else None]["forecast"]


def _systems(asked: Forecast, rows: Sequence[Row]) -> tuple[str, ...]:
    names = sorted({row["system"] for row in rows})
    part, layout = asked.parts[0], asked.layouts[0]
    return tuple(names[i] for i in aligned.kept_systems(names, asked.systems, layout, part))


def profile(engine: Engine, piece: Piece, more: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows by system, with the ends and the mean of each column of numbers; raises InputError for what cannot be meant.

    Only where the ends do not tell that all is well is every rule counted. more: further cells, SQL.
    """
    fields = piece.layout.fields
    broken, (_, numbers) = list(checks(fields, engine.dialect)), split(fields)
    cells = _ends(engine, list(dict.fromkeys(check.role for check in broken)), numbers)
    odd = [check.wrong for check in broken if check.rule is ZERO_OR_ONE]
    cells += [f"count(*) FILTER (WHERE {' OR '.join(odd)}) AS odd"] if odd else []
    quick = _by_system(engine, piece, [*cells, *more])
    if not quick:
        raise piece.part.no_rows()
    if not all(_sound(row, numbers) for row in quick):
        refuse(engine, piece.chosen, broken, _by_system(engine, piece, counts(broken)))
    return quick


def _by_system(engine: Engine, piece: Piece, cells: Sequence[str]) -> list[dict[str, Any]]:
    system = system_of(engine, piece)
    by = f" GROUP BY {system}" if piece.layout.system else ""
    query = f"SELECT {system} AS system, count(*) AS n, {', '.join(cells)} FROM ({piece.chosen.query}) AS s{by}"
    with explained(piece.chosen):
        rows = engine.table(query, piece.part.name, **piece.chosen.frames).to_pylist()
    return [row for row in rows if row["n"]]


def _ends(engine: Engine, roles: Sequence[str], numbers: Mapping[str, str]) -> list[str]:
    """How many values there are of each role; of numbers the ends and about the mean."""
    cells = []
    for role in roles:
        at, name = engine.dialect.quote(role), engine.dialect.quote
        cells.append(f"count({at}) AS {name(f'some {role}')}")
        if role in numbers:
            cells += [f"{of}({at}) AS {name(f'{of} {role}')}" for of in ("min", "max", "avg")]
    if WEIGHT in numbers:
        cells.append(f"count(*) FILTER (WHERE {engine.dialect.quote(WEIGHT)} % 1 <> 0) AS parted")
    return cells


def _sound(row: Row, numbers: Mapping[str, str]) -> bool:
    """Whether every value is there, and every number within its bounds."""
    whole = all(value == row["n"] for name, value in row.items() if name.startswith("some "))
    return (
        whole
        and not row.get("odd")
        and all(
            low <= row[f"min {role}"] <= row[f"max {role}"] <= high
            for role in numbers
            for low, high in [(LEAST_WEIGHT, MOST_WEIGHT) if role == WEIGHT else (-LARGEST, LARGEST)]
        )
    )


def scale_of(pieces: Sequence[Piece], profiles: Sequence[Sequence[Row]]) -> float | None:
    """Of what size weights are counted; None where there are none."""
    weight = pieces[0].layout.shared.get("weight")
    if weight is None:
        return None
    every = [row for rows in profiles for row in rows]
    most = max(row[f"max {WEIGHT}"] for row in every)
    if most <= 0:
        raise outcomes.no_weight(pieces[0].part.name, weight.column)
    return grid.scale_of(most, sum(row["n"] for row in every), whole=not any(row["parted"] for row in every))


def centre(rows: Sequence[Row], role: str) -> float:
    """About the mean: of few digits, so that it does not depend on the order of the rows, and within their range."""
    total = sum(row["n"] for row in rows)
    mean = sum(row[f"avg {role}"] * (row["n"] / total) for row in rows)
    low, high = min(row[f"min {role}"] for row in rows), max(row[f"max {role}"] for row in rows)
    return float(np.clip(float(f"{mean:.6g}"), low, high))


def farthest(t: Large, system: str, most: int, *, paired: bool) -> list[tuple[str, float, float]]:
    """Id, actual value and forecast of the rows that a system misses by most. paired: some ids lack a system."""
    score = f"score{t.systems.index(system) if t.wide else 0}"
    literal = t.engine.dialect.literal
    kept = "true" if t.wide else f"system = {literal(system)}"
    if paired:
        kept += f" AND id IN (SELECT id FROM ({t.query}) AS r GROUP BY id HAVING count(*) = {len(t.systems)})"
    off = f"abs({score} - actual)"
    if t.pieces[0].layout.id:
        rows = t.ask(f"id, actual, {score} AS forecast", f"WHERE {kept} ORDER BY {off} DESC, id LIMIT {most}")
        return [(row["id"], row["actual"], row["forecast"]) for row in rows.to_pylist()]
    least = t.ask(f"{off} AS off", f"WHERE {kept} ORDER BY 1 DESC LIMIT {most}")["off"].to_pylist()[-1]
    return _numbered(t, system, least)[:most]


def _numbered(t: Large, system: str, least: float) -> list[tuple[str, float, float]]:
    """The same of rows without ids, by their numbers: those that are missed by at least so much, the farthest first."""
    quote, before, rows = t.engine.dialect.quote, 0, []
    for piece, count in zip(t.pieces, t.counts, strict=True):
        own = quote(own_key(system if t.wide else None, "forecast", _field(piece.layout, system)))
        cells = f"{quote(ACTUAL)} AS actual, {own} AS forecast"
        for row in t.engine.where(piece.chosen, f"abs({own} - {quote(ACTUAL)}) >= {least!r}", cells, LISTED):
            rows.append((str(row["n"] + before) if row["n"] else "", row["actual"], row["forecast"]))
        before += count
    return sorted(rows, key=lambda row: -abs(row[2] - row[1]))
