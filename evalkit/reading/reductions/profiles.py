"""What an engine tells of a part of a table of labels and scores: its rows by label, the first value that is wrong."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.metrics import calibration, grid
from evalkit.reading.engines.base import Engine, checked, counts, refuse
from evalkit.reading.inputs import aligned, outcomes
from evalkit.reading.inputs.aligned import Layout
from evalkit.reading.reductions.shards import Plan
from evalkit.reading.reductions.tabled import Piece, system_of
from evalkit.reading.tables import precision
from evalkit.reading.tables.parts import explained
from evalkit.reading.tables.precision import Precision
from evalkit.reading.tables.rules import LEAST_WEIGHT, MOST_WEIGHT, checks, split

LABELS = 10_000  # distinct labels that are looked at: two are right
MOST = np.finfo(float).max
Row = Mapping[str, Any]  # of a profile


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
        return [row | _none_counted(numbers) for row in quick]
    rows = _by_label(engine, piece, counts(broken) + _scores(engine, numbers) + _weights(engine, numbers))
    refuse(engine, piece.chosen, broken, rows)
    return rows


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


def _none_counted(numbers: Mapping[str, str]) -> dict[str, int]:
    """What `_scores` counts, where there is nothing of it."""
    scores = sum(role.startswith("own ") for role in numbers)
    return {f"{name}{i}": 0 for i in range(scores) for name in ("outside", "low", "high")}


def _scores(engine: Engine, numbers: Mapping[str, str]) -> list[str]:
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


# All parts ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Profiles:
    """What the profiles of the parts say together. rows: of each part by system and label. systems: those wanted."""

    engine: Engine
    pieces: Sequence[Piece]
    rows: Sequence[Sequence[Row]]
    systems: tuple[str, ...]

    @classmethod
    def of(
        cls, engine: Engine, pieces: Sequence[Piece], rows: Sequence[Sequence[Row]] | None, systems: Sequence[str]
    ) -> "Profiles":
        """The profiles, which the engine makes where they are None, of the systems wanted; raises as `profile` does."""
        rows, layout = rows or [profile(engine, piece) for piece in pieces], pieces[0].layout
        if layout.wide:
            return cls(engine, pieces, rows, tuple(map(str, layout.own)))
        names = sorted({row["system"] for part in rows for row in part})
        kept = aligned.kept_systems(names, systems, layout, pieces[0].part)
        return cls(engine, pieces, rows, tuple(names[i] for i in kept))

    @property
    def layout(self) -> Layout:
        """The columns of the first part."""
        return self.pieces[0].layout

    @property
    def wide(self) -> bool:
        """Whether each system has a column of scores."""
        return self.layout.wide

    def _wanted(self, row: Row) -> bool:
        return self.wide or row["system"] in self.systems

    @property
    def kept(self) -> list[Row]:
        """The rows of the systems wanted."""
        return [row for rows in self.rows for row in rows if self._wanted(row)]

    def labels(self, positive: str | None) -> tuple[str, str]:
        """The positive and the negative label."""
        labels = [(i, row["label"], row["n"]) for i, rows in enumerate(self.rows) for row in rows if self._wanted(row)]
        total, field = Counter[str](), self.layout.shared["label"]
        for _, label, n in labels:
            total[field.plain(label)] += n
        names, column = sorted(total), field.column
        if len(names) > 2:
            rare = outcomes.rarest({name: total[name] for name in names})
            i, label = next((i, label) for i, label, _ in labels if field.plain(label) == rare)
            same = f"{self.engine.dialect.quote('text label')} = {self.engine.dialect.literal(label)}"
            row, _ = self.engine.first(self.pieces[i].chosen, same, "text label")
            raise outcomes.too_many_labels(self.pieces[i].part.place(row), column, names)
        return outcomes.two_labels(names, positive, self.pieces[0].part.name, column)

    def plan(self, positive: str) -> Plan:
        """What a shard's columns mean, without segments and units."""
        plain = self.layout.shared["label"].plain
        hits = sorted(name for name in {row["label"] for row in self.kept} if plain(name) == positive)
        return Plan(self.systems, not self.wide and len(self.systems) > 1, tuple(hits), self._scale())

    def _scale(self) -> float | None:
        """Of what size weights are counted; None where there are none."""
        weight = self.layout.shared.get("weight")
        if weight is None:
            return None
        for piece, rows in zip(self.pieces, self.rows, strict=True):
            if min(row["least"] for row in rows) < LEAST_WEIGHT or max(row["most"] for row in rows) > MOST_WEIGHT:
                checked(self.engine, piece.chosen, {"number weight": piece.layout.fields["number weight"]})
        every = [row for rows in self.rows for row in rows]
        most = max(row["most"] for row in every)
        if most <= 0:
            raise outcomes.no_weight(self.pieces[0].part.name, weight.column)
        return grid.scale_of(most, sum(row["n"] for row in every), whole=not any(row["parted"] for row in every))

    def by_system(self, hits: Sequence[str], positives: str, negatives: str) -> dict[str, int]:
        """Rows of each system that are counted by one name among the positives, by the other among the rest."""
        total = dict.fromkeys(self.systems, 0)
        for row in self.kept:
            name = positives if row["label"] in hits else negatives
            for i, system in enumerate(self.systems if self.wide else [row["system"]]):
                total[system] += row[f"{name}{i}"]
        return total

    def precision(self, name: str) -> Precision:
        """The precision of a system's scores: the widest of the parts that hold some."""
        stored = []
        for piece, rows in zip(self.pieces, self.rows, strict=True):
            own = piece.layout.own
            if name in own or any(row["system"] == name for row in rows):
                stored.append(precision.of(piece.part, own[name if name in own else None]["score"].column))
        return precision.widest(stored)
