"""Refusals of tables that an engine holds: the first row that breaks a rule, and the error that names it."""

from dataclasses import replace

from evalkit.arrays import InputError, RowError
from evalkit.online import logs
from evalkit.reading.reductions import tabled
from evalkit.reading.reductions.tabled import Tabled
from evalkit.reading.tables.rules import SHORT, Field


def short(field: Field) -> Field:
    """The column of texts that a page repeats, which files refuse where one is too long."""
    return replace(field, rules=(*field.rules, SHORT))


def first(t: Tabled, condition: str, role: str) -> tuple[int, int, str]:
    """The place of the part, the row, from 1, and the value of the first row where a condition on roles holds."""
    cells = f"{t.engine.dialect.quote(role)} AS value"
    for i, piece in enumerate(t.pieces):
        for row in t.engine.where(piece.chosen, condition, cells, 1):
            return i, row["n"], row["value"]
    raise tabled.changed(t.name)


def refused(t: Tabled, role: str, rule: str, piece: int, row: int, rows: int | None = None) -> InputError:
    """The error for a row of a part, which has no number in a cluster. rows: how many break the rule, if known."""
    if not row:
        return InputError(f"{t.pieces[piece].part.name}: {t.columns.get(role, role)} {rule}")
    at = sum(t.counts[:piece]) + row - 1
    return logs.located(RowError(role, rule, at, rows), t.sources(), t.columns)
