"""Tables of users that are reduced shard by shard: what an engine is asked before that, and every refusal.

The errors are those of tables in memory. Users seen in several arms are left out by the query itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.online import logs, refusals
from evalkit.online.experiments import no_user_of_arm, one_row, unknown_arm
from evalkit.reading.engines.base import Engine, checked
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.shards import Plan, Segment
from evalkit.reading.reductions.tabled import Tabled
from evalkit.reading.tables.parts import Part
from evalkit.reading.tables.rules import Field

Row = Mapping[str, Any]  # the counts of an arm
AGAIN = 1_000  # users with several rows that are looked at for the first one


@dataclass(frozen=True, eq=False)
class LargeUsers(Tabled):
    """A table of users that an engine holds.

    arms: in order. sizes: users of each. crossed: users seen in several arms. binary: columns of zeros and ones alone.
    named: role -> column.
    """

    arms: tuple[str, ...]
    sizes: Sequence[int]
    crossed: int
    binary: frozenset[str]
    named: Mapping[str, str]

    @property
    def columns(self) -> Mapping[str, str]:
        return self.named

    def together(self, *, by_unit: bool) -> str | None:
        """By user where some are left out: a query that does so gives the rows in another order each time."""
        return "id" if self.crossed else super().together(by_unit=by_unit)


def read(
    engine: Engine,
    parts: Sequence[Part],
    *,
    columns: Mapping[str, str],
    numbers: Sequence[str],
    segments: Sequence[str],
    strata: str | None,
    arms: Sequence[str],
) -> LargeUsers:
    """The table checked as `logs.read_users` and `experiments.assignment` check it; raises what they raise.

    Its groups are the slices of the columns for segments, then the strata as they are.
    """
    attributes = logs.distinct(segments, (strata,))
    fields = logs.user_fields(parts, columns, numbers, attributes)
    table = _table(engine, parts, fields, numbers, [*segments, *([strata] if strata else [])])
    by_label = _by(table, "label")
    table = _in_arms(table, arms, {label: row["n"] for label, row in by_label.items()})
    table = _left_out(table) if "user" in table.named else table
    table = _counted(table, _by(table, "arm") if table.crossed else _of_arms(table, by_label))
    table = tabled.grouped(table, [*segments, *([strata] if strata else [])], None)
    return _with_strata(table) if strata else table


def _table(
    engine: Engine,
    parts: Sequence[Part],
    fields: Sequence[Mapping[str, Field]],
    numbers: Sequence[str],
    groups: Sequence[str],
) -> LargeUsers:
    """All rows by short names: id, label of the arm, beside<i>, segment<i>; every value checked."""
    pieces = tabled.pieces_of(engine, parts, [_layout(own) for own in fields])
    rows = [checked(engine, piece.chosen, piece.layout.fields)["n"] for piece in pieces]
    quote = engine.dialect.quote
    cells = [f"{quote('text arm')} AS label"]
    cells += [f"{quote(f'number number {name}')} AS beside{i}" for i, name in enumerate(numbers)]
    cells += [f"COALESCE({quote(f'text attribute {name}')}, '') AS segment{i}" for i, name in enumerate(groups)]
    return LargeUsers(
        engine=engine,
        pieces=pieces,
        query=tabled.union(engine, pieces, (), cells, (), None),
        plan=Plan((), paired=False, hits=(), scale=None, truth="arm", beside=tuple(numbers)),
        counts=rows,
        rows=sum(rows),
        slices={},
        arms=(),
        sizes=(),
        crossed=0,
        binary=frozenset(),
        named=logs.named(fields[0]),
    )


def _layout(fields: Mapping[str, Field]) -> Layout:
    """The columns of a part; users are the ids."""
    user = fields.get("user")
    shared = {
        role: field if field.is_number else refusals.short(field) for role, field in fields.items() if role != "user"
    }
    return Layout(shared, {}, id=user.column if user else None)


# Arms and users -----------------------------------------------------------------------------------------------------


def _by(t: LargeUsers, column: str) -> dict[Any, Row]:
    """The rows of each value of a column, and of each number how many are neither 0 nor 1."""
    cells = [
        f"count(*) FILTER (WHERE {name} <> 0 AND {name} <> 1) AS parted{i}" for i, name in enumerate(t.plan.numbers)
    ]
    rows = t.ask(", ".join([column, "count(*) AS n", *cells]), f"GROUP BY {column}").to_pylist()
    return {row[column]: row for row in rows}


def _of_arms(t: LargeUsers, by_label: Mapping[str, Row]) -> dict[int, Row]:
    """The counts of the labels, by the number of the arm."""
    return {i: by_label[name] for i, name in enumerate(t.arms) if name in by_label}


def _in_arms(t: LargeUsers, arms: Sequence[str], rows: Mapping[str, int]) -> LargeUsers:
    """The rows with the number of each one's arm; raises InputError for one arm alone, and for an unknown one.

    rows: of each label.
    """
    named = logs.several_arms(list(arms) or sorted(rows), t.named["arm"])
    literals = [t.engine.dialect.literal(name) for name in named]
    if unknown := sum(n for label, n in rows.items() if label not in named):
        condition = f"{t.engine.dialect.quote('text arm')} NOT IN ({', '.join(literals)})"
        piece, row, label = refusals.first(t, condition, "text arm")
        raise refusals.refused(t, "arm", unknown_arm(label, named), piece, row, unknown)
    arm = " ".join(f"WHEN {literal} THEN {i}" for i, literal in enumerate(literals))
    query = f"SELECT CAST(CASE label {arm} END AS BIGINT) AS arm, * FROM ({t.query}) AS a"
    return replace(t, query=query, arms=tuple(named))


def _left_out(t: LargeUsers) -> LargeUsers:
    """The rows without those of users seen in several arms; raises InputError for a user with several rows in one."""
    by_user = f"SELECT id, min(arm) AS least, max(arm) AS most, count(*) AS n FROM ({t.query}) AS r GROUP BY id"
    several = f"SELECT * FROM ({by_user}) AS g WHERE n > 1"
    cells = "count(*) FILTER (WHERE least <> most) AS crossed, sum(n - 1) FILTER (WHERE least = most) AS again"
    row = t.engine.table(f"SELECT {cells} FROM ({several}) AS c", t.name, **t.frames).to_pylist()[0]
    if row["again"]:
        raise _again(t, f"SELECT id FROM ({several}) AS s WHERE least = most LIMIT {AGAIN}", int(row["again"]))
    if not row["crossed"]:
        return t
    crossed = f"SELECT id FROM ({several}) AS s WHERE least <> most"
    query = f"SELECT * FROM ({t.query}) AS k WHERE NOT EXISTS (SELECT 1 FROM ({crossed}) AS x WHERE x.id = k.id)"
    return replace(t, query=query, crossed=int(row["crossed"]))


def _again(t: LargeUsers, query: str, rows: int) -> InputError:
    """The error for the first row of a user whom an earlier row of the same arm has."""
    users = t.engine.table(query, t.name, **t.frames)["id"].to_pylist()
    condition, seen = f"id IN ({', '.join(map(t.engine.dialect.literal, users))})", set[str]()
    for i, piece in enumerate(t.pieces):
        for row in t.engine.where(piece.chosen, condition, "id AS value", tabled.SEEN):
            if row["value"] in seen:
                return refusals.refused(t, "user", one_row(row["value"]), i, row["n"], rows)
            seen.add(row["value"])
    return tabled.changed(t.name)


def _counted(t: LargeUsers, by_arm: Mapping[int, Row]) -> LargeUsers:
    """The users of each arm, and the columns of zeros and ones alone; raises InputError for an arm without users."""
    users = {arm: row["n"] for arm, row in by_arm.items()}
    for i, name in enumerate(t.arms):
        if i not in users:
            raise no_user_of_arm(name, t.crossed)
    binary = (name for i, name in enumerate(t.plan.beside) if not any(row[f"parted{i}"] for row in by_arm.values()))
    return replace(t, sizes=[users[i] for i in range(len(t.arms))], rows=sum(users.values()), binary=frozenset(binary))


def _with_strata(t: LargeUsers) -> LargeUsers:
    """The last column of groups as it is, each value a group of its own."""
    *slices, strata = t.plan.segments
    own = Segment(strata.values, np.arange(len(strata.values)))
    return replace(t, plan=replace(t.plan, segments=(*slices, own)))


def strata_of(t: LargeUsers) -> tuple[str, ...]:
    """The values of the strata, in order."""
    return t.plan.segments[-1].values
