"""A shard of a table of labels and scores as numpy needs it: which rows are positive, scores, weights, groups.

Everything here is fit to be sent to another machine, and nothing depends on the order of rows or shards.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Bools, Floats, Ints
from evalkit.metrics import grid
from evalkit.metrics.rows import Shard
from evalkit.reading.inputs import aligned
from evalkit.reading.tables import table as tables


@dataclass(frozen=True, eq=False)
class Segment:
    """A column for segments: its distinct values in order, and the number of each one's slice.

    Or a column of classes: its distinct texts, and the number of each one's class.
    """

    values: tuple[str, ...]
    of: Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """What the columns of a shard mean: hit, id, system, weight, score0, score1, ..., segment0, ..., unit.

    paired: rows of several systems, joined on id; else every system has a column score<i>. hits: the labels that are
    positive. scale: what weights are counted in, None without weights. units: the distinct units where they are few.
    truth: the column of what is, not of what is said. beside: further columns of numbers, beside0, beside1, ....
    labels: their names, where a row has several, each in a column label0, .... each: the columns of scores of a system,
    one a label.
    """

    systems: tuple[str, ...]
    paired: bool
    hits: tuple[str, ...]
    scale: float | None
    segments: tuple[Segment, ...] = ()
    unit: bool = False
    units: tuple[str, ...] | None = None
    truth: str = "hit"
    beside: tuple[str, ...] = ()
    each: int = 1
    labels: tuple[str, ...] = ()

    @property
    def truths(self) -> list[str]:
        """The columns of what is."""
        return [f"label{i}" for i in range(len(self.labels))] or [self.truth]

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        pair = ["id", "system"] if self.paired else []
        return [*self.measured, *pair, *self.groups]

    @property
    def measured(self) -> list[str]:
        """The columns that are measured: rows of a unit that are equal in them can change places."""
        scores = [f"score{i}" for i in range(self.each * (1 if self.paired else len(self.systems)))]
        weight = ["weight"] if self.scale is not None else []
        return [*self.truths, *weight, *self.numbers, *scores]

    @property
    def numbers(self) -> list[str]:
        """The further columns of numbers."""
        return [f"beside{i}" for i in range(len(self.beside))]

    @property
    def groups(self) -> list[str]:
        """The columns that group rows."""
        return [*(f"segment{i}" for i in range(len(self.segments))), *(["unit"] if self.unit else [])]


@dataclass(frozen=True, eq=False)
class Reduced:
    """What `function` makes of a shard, from the table of it that an engine gives."""

    plan: Plan
    function: Callable[[Shard], Any]

    def __call__(self, table: Any) -> Any:
        """The result, an Arrow table."""
        return self.function(shard(table, self.plan))


def shard(table: Any, plan: Plan) -> Shard:
    """The rows of an Arrow table."""
    label = _label(table, plan)
    beside = {name: _numbers(table[at]) for name, at in zip(plan.beside, plan.numbers, strict=True)}
    weight = None if plan.scale is None else grid.whole(_numbers(table["weight"]), plan.scale)
    parts = [
        segment.of[tables.places_of(table[f"segment{i}"], segment.values)] for i, segment in enumerate(plan.segments)
    ]
    sizes = [int(segment.of.max()) + 1 for segment in plan.segments]
    unit, units = _units(table, plan)
    score = _scores(table, plan)
    if not plan.paired:
        return Shard(label, score, weight, parts, sizes, unit, units, 0, 0, beside)
    rows, twice = _paired(table, plan)
    first, values = rows[0], score[0]
    return Shard(
        label[first],
        [values[at] for at in rows],
        None if weight is None else weight[first],
        [part[first] for part in parts],
        sizes,
        None if unit is None else unit[first],
        units,
        twice,
        _differing(table, plan, label, rows),
        {name: column[first] for name, column in beside.items()},
    )


def shared(table: Any, plan: Plan, columns: Sequence[str]) -> Any:
    """What systems share of the rows of a shard: these columns of an Arrow table, a row for each of its rows."""
    cells = table.select(columns)
    return cells.take(_paired(table, plan)[0][0]) if plan.paired else cells


def _label(table: Any, plan: Plan) -> Bools | Floats | Ints:
    """What is: whether a row is positive, its actual value, its class, or which labels are true."""
    if plan.labels:
        return np.column_stack([_numbers(table[name]) == 1 for name in plan.truths])
    column = table[plan.truth]
    return column.to_numpy()


def _scores(table: Any, plan: Plan) -> list[Floats]:
    """The scores of each system, or of all their rows where these are to be paired."""
    every = [_numbers(table[f"score{i}"]) for i in range(plan.each * (1 if plan.paired else len(plan.systems)))]
    if plan.labels:
        return [np.column_stack(every[at : at + plan.each]) for at in range(0, len(every), plan.each)]
    return every


def _paired(table: Any, plan: Plan) -> tuple[list[Ints], int]:
    """Each system's rows of the ids that all have, none if one has an id twice, and how many systems have."""
    id, _ = tables.indexed(table["id"])
    of = tables.places_of(table["system"], plan.systems)
    rows = [np.flatnonzero(of == i) for i in range(len(plan.systems))]
    twice = sum(aligned.repeated(id, at) is not None for at in rows)
    return aligned.paired(id, rows) if not twice else [at[:0] for at in rows], twice


def _differing(table: Any, plan: Plan, label: np.ndarray, rows: Sequence[Ints]) -> int:
    """In how many columns that systems share the paired rows differ."""
    shared: list[Any] = [*(label.T if label.ndim > 1 else [label]), *(table[name].to_numpy() for name in plan.numbers)]
    shared += [tables.indexed(table[name])[0] for name in plan.groups]
    shared += [] if plan.scale is None else [_numbers(table["weight"])]
    return sum(aligned.differing(column, rows) is not None for column in shared)


def _units(table: Any, plan: Plan) -> tuple[Ints | None, int]:
    if not plan.unit:
        return None, 0
    if plan.units is not None:
        return tables.places_of(table["unit"], plan.units), len(plan.units)
    code, texts = tables.indexed(table["unit"])
    return code, len(texts)


def _numbers(column: Any) -> Floats:
    return column.to_numpy()
