"""Tables of actual values and forecasts that are reduced shard by shard: what an engine is asked before that.

One query for each part tells the rows of each system, whether every number keeps the rules, and about where they lie.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evalkit.arrays import LARGEST
from evalkit.reading.engines.base import Engine, counts, refuse
from evalkit.reading.reductions.tabled import Piece, system_of
from evalkit.reading.tables.parts import explained
from evalkit.reading.tables.rules import LEAST_WEIGHT, MOST_WEIGHT, ZERO_OR_ONE, checks, split

Row = Mapping[str, Any]  # of a profile
ACTUAL, WEIGHT = "number actual", "number weight"


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
