"""The schema of a table: the roles of its columns with their rules, by which rows become typed
blocks.

Everything here can be pickled and sent to a Spark worker, and nothing depends on the order of rows
or blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from evalkit.arrays import Ints
from evalkit.metrics import predictive
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import Hashes, of_numbers, of_texts
from evalkit.reading.tables import rules, table as tables

# how the roles of shared columns begin that are not the truth
METRIC_COLUMN, ATTRIBUTE, WEIGHT = (
    "metric_column ",
    "attribute ",
    "weight",
)


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment column: its distinct values in order, and the number of each one's slice.

    Or a column of classes: its distinct texts, and the number of each one's class.
    """

    values: tuple[str, ...]
    of: Ints


@dataclass(frozen=True, eq=False)
class Schema:
    """The meaning of the columns of a block and their rules, by the roles that a report declares.

    shared: the columns that all systems share: actual values (roles without a prefix), weight,
    further columns. own: role of a prediction -> its columns, one per system, or one for the system
    of the row. said: the roles in `own` that metrics use. paired: the systems' rows are joined on
    the id. coded: role of text -> the code of each text. segments: for each segment column its
    texts and their slices. unit: rows are clustered. parted: there are few `units`, whose rows may
    be in any block. id: the id of the rows. names: the column that names rows; None if they are
    numbered during reading (`numbered`). drawn: a sample is drawn, by the hash of the whole row if
    nothing names it.
    """

    systems: tuple[str, ...]
    shared: Mapping[str, rules.Field]
    own: Mapping[str, Sequence[rules.RoleColumn]]
    said: tuple[str, ...]
    paired: bool
    id: rules.Field | None
    names: str | None = None
    numbered: bool = False
    coded: Mapping[str, Segment] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    unit: bool = False
    parted: bool = False
    units: int = 0
    drawn: bool = True

    @property
    def truth(self) -> list[str]:
        """The roles of the actual values."""
        return [
            role for role in self.shared if role != WEIGHT and not role.startswith(METRIC_COLUMN)
        ]

    @property
    def measured(self) -> list[str]:
        """The columns of the query that metrics use: rows of a unit with equal values in them are
        interchangeable.
        """
        own = [column.name_in_table for columns in self.own.values() for column in columns]
        last = [role for role in self.shared if role not in self.truth]
        return [*self.truth, *last, *own]

    @property
    def columns(self) -> list[str]:
        """The columns of the query that are read."""
        return [*self.measured, *(["id"] if self.id else []), *self.repeated]

    @property
    def repeated(self) -> list[str]:
        """The columns of the query whose texts a page repeats."""
        groups = [f"segment{i}" for i in range(len(self.segments))]
        return [*(["system"] if self.paired else []), *groups, *(["unit"] if self.unit else [])]

    def block(self, table: Any, before: int = 0) -> Block:
        """The rows of an Arrow table. before: rows that came earlier. Raises Refused for invalid
        values.
        """
        texts = self._texts(table)
        slices = self._slices(table)
        shared = {
            role: self._numbers(role, column, table[role]) for role, column in self.shared.items()
        }
        own = {
            role: [
                self._numbers(role, column.field, table[column.name_in_table]) for column in columns
            ]
            for role, columns in self.own.items()
        }
        if self.paired:
            rows = _paired(texts["id"], texts.pop("system"), self.systems)
            if self.unit:
                _agreed(of_texts(texts["unit"]), rows)
            texts = {name: column.take(rows[:, 0]) for name, column in texts.items()}
            slices = [_agreed(column, rows) for column in slices]
            shared = {role: _agreed(values, rows) for role, values in shared.items()}
            own = {role: [*values[rows].T] for role, (values,) in own.items()}
        truth = [shared[role] for role in self.truth]
        predictions = {role: np.array(values) for role, values in own.items()}
        said = [predictions[role] for role in self.said]
        beside = {
            role.removeprefix(METRIC_COLUMN): values
            for role, values in shared.items()
            if role.startswith(METRIC_COLUMN)
        }
        weight = shared.get(WEIGHT)
        hashed = [*truth, *chain(*said), *([] if weight is None else [weight]), *beside.values()]
        for role, values in own.items():
            hashed += values if predictive.is_role(role) and role not in self.said else []
        key = self._key(texts, hashed)
        id = None
        if self.id and not self.paired:
            id = of_texts(texts["id"]) if self.unit else key
        return _sorted(
            Block(
                truth=truth[0] if len(truth) == 1 else np.array(truth),
                predictions=said[0] if len(said) == 1 else np.stack(said, axis=1),
                weight=weight,
                key=key,
                id=id,
                clustered=self.unit,
                units_split=self.parted,
                key_hashes_row=not (self.unit or self.id),
                slices=slices,
                shared_columns=beside,
                system_columns={
                    role: predictions[role] for role in self.own if role not in self.said
                },
                names=self._names(table, texts, before),
                units=texts.get("unit"),
            )
        )

    def _texts(self, table: Any) -> dict[str, Any]:
        """The texts that name rows, systems and units; Refused where an id is empty, or a text
        longer than a page can repeat.
        """
        if any(rules.is_long(table[name]).any() for name in self.repeated):
            raise rules.BrokenRule("a text is too long")
        names = [name for name in ("id", "system", "unit") if name in table.column_names]
        texts = {name: _whole(table[name]) for name in names}
        if self.id:
            self.id.check(texts["id"], None)
        return texts

    def _numbers(self, role: str, field: rules.Field, column: Any) -> np.ndarray:
        """A column that keeps its rules, as numbers."""
        values: np.ndarray = field.check(_whole(column), None)
        coded = self.coded.get(role)
        return values if coded is None else coded.of[tables.indices_among(values, coded.values)]

    def _names(self, table: Any, texts: Mapping[str, Any], before: int) -> Any:
        """The names of the rows: their ids, a column of numbers, or these as they are counted."""
        if self.names == "id":
            return texts["id"]
        if self.names:
            return _whole(table[self.names])
        return np.arange(before + 1, before + len(table) + 1) if self.numbered else None

    def _key(self, texts: Mapping[str, Any], numbers: Sequence[np.ndarray]) -> Hashes:
        """A hash of each row's unit or id, or of its numbers; one for all where no sample is
        drawn.
        """
        for name in ("unit", "id"):
            if name in texts:
                return of_texts(texts[name])
        if self.drawn:
            return of_numbers(numbers)
        return np.broadcast_to(np.uint64(0), len(numbers[0]))

    def _slices(self, table: Any) -> list[Ints]:
        slices = list[Ints]()
        start = 1
        for i, segment in enumerate(self.segments):
            texts = _whole(table[f"segment{i}"])
            slices.append(start + segment.of[tables.indices_among(texts, segment.values)])
            start += int(segment.of.max()) + 1
        return slices


def _whole(column: Any) -> Any:
    """A column of an Arrow table as one array, which is not copied if it is one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _agreed(values: np.ndarray, rows: Ints) -> np.ndarray:
    """What systems share, which must be one value for each row."""
    first = values[rows[:, 0]]
    if np.any(values[rows] != first[:, None]):
        raise rules.BrokenRule("what systems share differs")
    return first


def _sorted(block: Block) -> Block:
    """The block with the rows of each unit together, as engines have them but where units share a
    hash of theirs.
    """
    if not block.clustered or block.units_split:
        return block
    if len(np.unique(block.key)) == len(block.unit_starts):
        return block
    return block.take(np.argsort(block.key, kind="stable"))


def _paired(ids: Any, column: Any, systems: Sequence[str]) -> Ints:
    """The rows of each id that every system has, one column per system; Refused where a system has
    an id again.
    """
    key = tables.encode(ids)[0]
    pairing = tables.pair_rows(key, tables.indices_among(column, systems), len(systems))
    if pairing.repeated_row is not None:
        raise rules.BrokenRule("an id stands twice")
    return pairing.rows


@dataclass(frozen=True, eq=False)
class Reduced:
    """The result of `of` for the rows of a table, None if none of its rows is in every system."""

    schema: Schema
    of: Callable[[Block], Any]

    def __call__(self, table: Any, before: int = 0) -> Any:
        block = self.schema.block(table, before)
        return self.of(block) if len(block) else None
