"""What an engine tells of a part of a table of labels and scores: its rows by label, the first value that is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.metrics import calibration
from evalkit.reading.engines.base import Engine
from evalkit.reading.engines.checks import counts, refuse
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.tables.parts import Part, Selection, explained
from evalkit.reading.tables.rules import checks, split

LABELS = 10_000  # distinct labels that are looked at: two are right
MOST = np.finfo(float).max
Row = Mapping[str, Any]  # of a profile


@dataclass(frozen=True, eq=False)
class Piece:
    """A part, its columns by role, its selection, and its system where no column says it."""

    part: Part
    layout: Layout
    chosen: Selection
    system: str


def profile(engine: Engine, piece: Piece) -> list[dict[str, Any]]:
    """Rows by system and label with what is told of them; raises InputError for the first value that cannot be.

    The smallest and the largest number of a column tell at a glance that all its numbers are finite, and far from
    where they are counted one by one; only where that fails is everything counted.
    """
    fields = piece.layout.fields
    broken = list(checks(fields, engine.dialect))
    roles, (_, numbers) = list(dict.fromkeys(check.role for check in broken)), split(fields)
    quick = _by_label(engine, piece, _extremes(engine, roles) + _weights(engine, numbers))
    if not quick:
        raise piece.part.no_rows()
    if all(_sound(row, roles) for row in quick):
        return [row | _nothing_told(numbers) for row in quick]
    found = _by_label(engine, piece, counts(broken) + _told(engine, numbers) + _weights(engine, numbers))
    refuse(engine, piece.chosen, broken, found)
    return found


def _by_label(engine: Engine, piece: Piece, cells: Sequence[str]) -> list[dict[str, Any]]:
    """The cells of the rows of each system and label."""
    label, system = engine.dialect.quote("text label"), system_of(engine, piece)
    by = [label, system] if piece.layout.system else [label]
    query = (
        f"SELECT {system} AS system, {label} AS label, count(*) AS n, {', '.join(cells)} "
        f"FROM ({piece.chosen.query}) AS s GROUP BY {', '.join(by)}"
    )
    with explained(piece.chosen):
        limited = f"SELECT * FROM ({query}) AS t LIMIT {LABELS}"
        return engine.table(limited, piece.part.name, **piece.chosen.frames).to_pylist()


def _extremes(engine: Engine, roles: Sequence[str]) -> list[str]:
    """How many values there are; of numbers the smallest and the largest."""
    cells = []
    for i, role in enumerate(roles):
        at = engine.dialect.quote(role)
        numbers = f", min({at}) AS min{i}, max({at}) AS max{i}" if role.startswith(("own ", "number ")) else ""
        cells.append(f"count({at}) AS some{i}{numbers}")
    return cells


def _sound(row: Row, roles: Sequence[str]) -> bool:
    """Whether every value is there, every number finite, and every score a probability that is not certain."""
    for i, role in enumerate(roles):
        if row[f"some{i}"] < row["n"]:
            return False
        low, high = (calibration.EPSILON, 1 - calibration.EPSILON) if role.startswith("own ") else (-MOST, MOST)
        if role.startswith(("own ", "number ")) and not low <= row[f"min{i}"] <= row[f"max{i}"] <= high:
            return False
    return True


def _nothing_told(numbers: Mapping[str, str]) -> dict[str, int]:
    """What `_told` counts, where there is nothing of it."""
    scores = sum(role.startswith("own ") for role in numbers)
    return {f"{name}{i}": 0 for i in range(scores) for name in ("outside", "low", "high")}


def _told(engine: Engine, numbers: Mapping[str, str]) -> list[str]:
    """What is counted of scores."""
    cells, low, high = [], calibration.EPSILON, 1 - calibration.EPSILON
    for i, role in enumerate(role for role in numbers if role.startswith("own ")):
        at = engine.dialect.quote(role)
        rules = {"outside": f"{at} < 0 OR {at} > 1", "low": f"{at} < {low!r}", "high": f"{at} > {high!r}"}
        cells += [f"count(*) FILTER (WHERE {rule}) AS {name}{i}" for name, rule in rules.items()]
    return cells


def _weights(engine: Engine, numbers: Mapping[str, str]) -> list[str]:
    """The smallest and the largest weight, and how many are no whole numbers."""
    at = engine.dialect.quote("number weight")
    cells = f"min({at}) AS least, max({at}) AS most, count(*) FILTER (WHERE {at} % 1 <> 0) AS parted"
    return [cells] if "number weight" in numbers else []


def system_of(engine: Engine, piece: Piece) -> str:
    """The SQL of the system that a row of a part belongs to."""
    return engine.dialect.quote("system") if piece.layout.system else engine.dialect.literal(piece.system)
