"""The rules of columns checked by an engine: the refusals of a table in memory, without reading it into memory."""

from collections.abc import Sequence
from typing import Any

from evalkit.reading.engines.base import Engine
from evalkit.reading.tables.parts import Selection, explained
from evalkit.reading.tables.rules import Check, Fields, checks


def checked(engine: Engine, selection: Selection, fields: Fields, cells: Sequence[str] = ()) -> dict[str, Any]:
    """The number of rows, as n, and the cells, SQL, of a selection that keeps the rules.

    Raises InputError where there is no row, or for the first value that breaks the first rule that any value breaks.
    """
    broken = list(checks(fields, engine.dialect))
    with explained(selection):
        query = f"SELECT {', '.join(['count(*) AS n', *cells, *counts(broken)])} FROM ({selection.query}) AS s"
        row = engine.table(query, selection.part.name, **selection.frames).to_pylist()[0]
    if not row["n"]:
        raise selection.part.no_rows()
    refuse(engine, selection, broken, [row])
    return row


def counts(broken: Sequence[Check]) -> list[str]:
    """The SQL that counts what breaks each rule."""
    return [f"count(*) FILTER (WHERE {check.wrong}) AS wrong{i}" for i, check in enumerate(broken)]


def refuse(engine: Engine, selection: Selection, broken: Sequence[Check], rows: Sequence[Any]) -> None:
    """Raises InputError for the first rule that `counts` found broken in one of these rows."""
    for i, check in enumerate(broken):
        if any(row[f"wrong{i}"] for row in rows):
            row, value = engine.first(selection, check.wrong, check.role)
            raise check.rule.error(selection.part, check.field.column, value, row)
