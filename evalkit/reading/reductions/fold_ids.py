"""The ids of out-of-fold predictions that an engine holds: each once in its fold, the same in every system and draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.arrays import InputError
from evalkit.metrics import bins
from evalkit.reading.engines.base import Engine
from evalkit.reading.inputs import fold_errors, pairing
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions import tabled

if TYPE_CHECKING:
    from evalkit.reading.reductions.folds import LargeFolds

CELL, DRAW, ID, GROUP, MOMENT = "segment0", "draw", "raw_id", "grouped", "moment"
SHARED = ("label", "group", "time")  # the roles on which the rows of one row of the table agree
Row = dict[str, Any]


def quoted(engine: Engine, layout: Layout, role: str) -> str:
    """The SQL name of a column by its role."""
    short = "id" if role == "id" and layout.id is not None else f"number {role}" if role == "label" else f"text {role}"
    return engine.dialect.quote(short)


def once(t: LargeFolds) -> LargeFolds:
    """The rows that every system has; raises InputError where ids do not pair, or rows of an id do not agree."""
    row = t.engine.table(f"SELECT {_outcome(t)} FROM ({_by_id(t)}) AS i", t.name, **t.frames).to_pylist()[0]
    for wrong in ("again", "apart", "unlike"):
        if row[wrong] is not None:
            raise _refusal(t, row[wrong])
    if not row["whole"]:
        raise pairing.nothing_shared(t.systems)
    if not row["part"]:
        return _paired(t)
    full = " AND ".join(f"n{i} > 0" for i in range(len(t.systems)))
    keys = f"SELECT {ID} AS kept_id, {CELL} AS kept_cell FROM ({_by_row(t)}) AS f WHERE {full}"
    query = f"SELECT r.* FROM ({t.query}) AS r JOIN ({keys}) AS k ON r.{ID} = k.kept_id AND r.{CELL} = k.kept_cell"
    return _paired(replace(t, query=query, alone=int(row["part"]), rows=int(t.rows - row["part"])))


def _paired(t: LargeFolds) -> LargeFolds:
    """The rows under the id by which systems are paired."""
    return replace(t, query=f"SELECT *, row_id AS id FROM ({t.query}) AS p") if t.plan.paired else t


def _by_row(t: LargeFolds) -> str:
    """The SQL of each id and fold: rows of each system, and the least and the largest of what they share."""
    literal, named = t.engine.dialect.literal, _shared(t)
    counts = [f"count(*) FILTER (WHERE system = {literal(name)}) AS n{i}" for i, name in enumerate(t.systems)]
    ends = [f"min({column}) AS low{i}, max({column}) AS high{i}" for i, column in enumerate(named)]
    return f"SELECT {ID}, {CELL}, {', '.join([*counts, *ends])} FROM ({t.query}) AS s GROUP BY {ID}, {CELL}"


def _shared(t: LargeFolds) -> list[str]:
    short = {"label": "label", "group": GROUP, "time": MOMENT}
    return [short[role] for role in SHARED if role in t.layout.shared]


def _by_id(t: LargeFolds) -> str:
    """The SQL of each id: whether a system has it again, in other folds than another, or its rows do not agree."""
    n = [f"n{i}" for i in range(len(t.systems))]
    several = " OR ".join(f"{one} > 1" for one in n)
    pairs = range(len(_shared(t)))
    within = " OR ".join(f"low{i} <> high{i}" for i in pairs)
    drawn = [i for i, column in enumerate(_shared(t)) if column != MOMENT] if t.has("repeat") else []
    across = " OR ".join(["false", *(f"min(low{i}) <> max(high{i})" for i in drawn)])
    total, least = " + ".join(n), f"least({', '.join([*n, n[0]])})"
    return (
        f"SELECT {ID}, max(CASE WHEN {several} THEN 1 ELSE 0 END) AS twice, "
        f"CASE WHEN max(CASE WHEN {within} THEN 1 ELSE 0 END) > 0 OR {across} THEN 1 ELSE 0 END AS differ, "
        f"sum(CASE WHEN {least} > 0 THEN 0 ELSE {total} END) AS lacking, "
        f"max({least}) AS most, {' + '.join(f'least(max({one}), 1)' for one in n)} AS systems_of "
        f"FROM ({_by_row(t)}) AS k GROUP BY {ID}"
    )


def _outcome(t: LargeFolds) -> str:
    """The first id of each fault, the ids that are whole, and the rows of those that are not."""
    return (
        f"min({ID}) FILTER (WHERE twice > 0) AS again, "
        f"min({ID}) FILTER (WHERE lacking > 0 AND systems_of > 1) AS apart, "
        f"min({ID}) FILTER (WHERE differ > 0) AS unlike, "
        "count(*) FILTER (WHERE most > 0) AS whole, sum(lacking) AS part"
    )


# Errors ---------------------------------------------------------------------------------------------------------------


def _rows_of(t: LargeFolds, id: str) -> list[Row]:
    """The rows of an id in the order of the parts, with their place."""
    engine, rows = t.engine, []
    for piece in t.pieces:
        shared = piece.layout.shared
        roles = [role for role in (*SHARED, "fold", "repeat") if role in shared]
        named = [f"{quoted(engine, piece.layout, role)} AS {role}_of" for role in roles]
        cells = ", ".join([f"{tabled.system_of(engine, piece)} AS system", *named])
        condition = f"{quoted(engine, piece.layout, 'id')} = {engine.dialect.literal(id)}"
        for row in engine.where(piece.chosen, condition, cells, tabled.SEEN):
            rows.append(row | {"place": piece.part.place(row["n"])})
    return sorted(rows, key=lambda row: row["system"])


def _refusal(t: LargeFolds, id: str) -> InputError:
    """What is wrong with the rows of an id."""
    rows, layout = _rows_of(t, id), t.layout
    named = layout.id is not None
    parts = [role for role in ("fold", "repeat") if role in layout.shared]
    seen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["system"], *(row[f"{role}_of"] for role in parts))
        if key in seen:
            again = fold_errors.again_in_fold(row["place"], id)
            return pairing.twice(row["place"], id, row["system"]) if named else again
        seen[key] = row
    if (error := _other_folds(rows, parts, t.systems, id)) is not None:
        return error
    for role in (role for role in SHARED if role in layout.shared):
        for row in rows:
            first = _like(rows, row, parts, role, drawn=t.has("repeat") and role != "time")
            if row[f"{role}_of"] != first[f"{role}_of"]:
                column = layout.shared[role].column
                return pairing.not_one(row["place"], column, id, first[f"{role}_of"], row[f"{role}_of"])
    return tabled.changed(t.name)


def _like(rows: Sequence[Row], row: Row, parts: Sequence[str], role: str, *, drawn: bool) -> Row:
    """The first row that must agree with a row: of its fold, or where folds were drawn again of any."""
    return next(other for other in rows if drawn or all(other[f"{part}_of"] == row[f"{part}_of"] for part in parts))


def _other_folds(rows: Sequence[Row], parts: Sequence[str], systems: Sequence[str], id: str) -> InputError | None:
    """The error where two systems have an id in other folds."""
    held: dict[str, dict[tuple[str, ...], Row]] = {}
    for row in rows:
        held.setdefault(row["system"], {})[tuple(row[f"{part}_of"] for part in parts)] = row
    for name, own in held.items():
        for other in (other for other in held if other != name):
            for folds, row in own.items():
                if any(folds not in held.get(system, {}) for system in systems):
                    return pairing.other_folds(row["place"], id, folds, name, other)
    return None


def refuse_unnamed_repeat(t: LargeFolds) -> None:
    """Raises InputError where every id has several rows, and a column of another name seems to count the repeats."""
    part = t.pieces[0].part
    names = fold_errors.draws(part)
    if not names:
        return
    each = f"SELECT count(*) AS n FROM ({t.query}) AS s GROUP BY {ID}"
    if t.engine.table(f"SELECT min(n) AS n FROM ({each}) AS e", t.name, **t.frames)["n"][0].as_py() > 1:
        raise fold_errors.unnamed_repeat(part, names[0])


# Across the folds -----------------------------------------------------------------------------------------------------


def crossing(
    t: LargeFolds, column: str, order: Sequence[int], draw: Sequence[int], *, forward: bool
) -> tuple[int, list[str]]:
    """Test rows whose id or group is among the training rows of their fold, and the first such ids or groups.

    order: of each cell of the table its place; draw: of its draw. forward: a fold is trained on those before it alone.
    """
    each = _each(t, column, order, draw)
    first = f"SELECT k, d, min(o) AS first_o, max(o) AS last_o, sum(n) AS n FROM ({each}) AS e GROUP BY k, d"
    several = f"SELECT k, d, first_o, n FROM ({first}) AS g WHERE first_o <> last_o"
    rows, keys = t.engine, f"SELECT DISTINCT k FROM ({several}) AS s ORDER BY k LIMIT {tabled.SEEN}"
    counted = f"SELECT sum(n) AS n FROM ({several}) AS c"
    if forward:
        counted = (
            f"SELECT sum(e.n) AS n FROM ({each}) AS e JOIN ({several}) AS c ON e.k = c.k AND e.d = c.d "
            "WHERE e.o > c.first_o"
        )
    found = rows.table(counted, t.name, **t.frames)["n"][0].as_py()
    if not found:
        return 0, []
    return int(found), rows.table(keys, t.name, **t.frames)["k"].to_pylist()


def _each(t: LargeFolds, column: str, order: Sequence[int], draw: Sequence[int]) -> str:
    """The SQL of the rows of each key of a column by draw and place of the fold."""
    return (
        f"SELECT {column} AS k, {_number(t, draw)} AS d, {_number(t, order)} AS o, count(*) AS n "
        f"FROM ({t.query}) AS s WHERE {t.one_system} GROUP BY 1, 2, 3"
    )


def _number(t: LargeFolds, numbers: Sequence[int]) -> str:
    """The SQL of the number that each cell has."""
    cells = zip(t.cells.text, numbers, strict=True)
    return f"CASE {CELL} {' '.join(f'WHEN {t.engine.dialect.literal(cell)} THEN {i}' for cell, i in cells)} END"


def ranked(t: LargeFolds, order: Sequence[int], most: int) -> tuple[int, list[Row]]:
    """How many groups there are; and by fold and bin of them the rows and the lowest and the highest place of a group.

    Groups are in the order of the folds that test them. order: of each cell of the table the place of its fold.
    """
    each = _each(t, GROUP, order, [0] * len(order))
    first = f"SELECT k, min(o) AS first_o FROM ({each}) AS e GROUP BY k"
    groups = int(t.engine.table(f"SELECT count(*) AS n FROM ({first}) AS f", t.name, **t.frames)["n"][0].as_py())
    starts = np.ceil(bins.edges_of(0, groups, most, groups)[:-1]).astype(int).tolist()
    within = " ".join(f"WHEN r.place >= {start} THEN {i}" for i, start in reversed(list(enumerate(starts))))
    placed = f"SELECT k, row_number() OVER (ORDER BY first_o, k) - 1 AS place FROM ({first}) AS f"
    rows = t.engine.table(
        f"SELECT e.o AS o, CASE {within} END AS bin, sum(e.n) AS n, min(r.place) AS low, max(r.place) AS high "
        f"FROM ({each}) AS e JOIN ({placed}) AS r ON e.k = r.k GROUP BY 1, 2",
        t.name,
        **t.frames,
    )
    return groups, rows.to_pylist()


def times_of_ids(t: LargeFolds) -> tuple[int, int, int]:
    """How many ids there are, and the least and the most rows of one."""
    each = f"SELECT count(*) AS n FROM ({t.query}) AS s WHERE {t.one_system} GROUP BY {ID}"
    query = f"SELECT count(*) AS ids, min(n) AS least, max(n) AS most FROM ({each}) AS e"
    row = t.engine.table(query, t.name, **t.frames).to_pylist()[0]
    return int(row["ids"]), int(row["least"]), int(row["most"])
