"""The schema of a table: the roles of its columns with their rules, by which rows become typed
blocks.

Everything here can be pickled and sent to a Spark worker, and nothing depends on the order of rows
or blocks.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from evalkit.arrays import Ints
from evalkit.metrics.kept import Block, Hashes, of_numbers, of_texts
from evalkit.reading.tables import duck, rules, table as tables

# roles of shared columns that are not what is
BESIDE, ATTRIBUTE, WEIGHT = (
    "beside ",
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
    own: Mapping[str, Sequence[rules.Field]]
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
        return [role for role in self.shared if role != WEIGHT and not role.startswith(BESIDE)]

    @property
    def measured(self) -> list[str]:
        """The columns of the query that metrics use: rows of a unit with equal values in them are
        interchangeable.
        """
        own = [own_name(role, i) for role, fields in self.own.items() for i in range(len(fields))]
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
        columns = self._columns(table)
        rows = _paired(columns["id"], columns["system"], self.systems) if self.paired else None
        first = slice(None) if rows is None else rows[:, 0]

        def one(values: np.ndarray) -> np.ndarray:
            """What systems share, which must be one value for each row."""
            if rows is not None and np.any(values[rows] != values[first][:, None]):
                raise rules.BrokenRule("what systems share differs")
            return values[first]

        def each(role: str) -> np.ndarray:
            """What each system has of its own, one row per system."""
            every = [
                self._numbers(role, field, columns[own_name(role, i)])
                for i, field in enumerate(self.own[role])
            ]
            return np.array(every) if rows is None else every[0][rows].T.copy()

        shared = {
            role: one(self._numbers(role, field, columns[role]))
            for role, field in self.shared.items()
        }
        own = {role: each(role) for role in self.own}
        truth, said = [shared[role] for role in self.truth], [own[role] for role in self.said]
        weight = shared.get(WEIGHT)
        beside = {
            role.removeprefix(BESIDE): values
            for role, values in shared.items()
            if role.startswith(BESIDE)
        }
        keys: dict[str, Any] = {
            n: columns[n] if rows is None else columns[n].take(first)
            for n in ("unit", "id")
            if n in columns
        }
        hashed = [*truth, *chain(*said), *([] if weight is None else [weight]), *beside.values()]
        names = keys["id"] if self.names == "id" else columns[self.names] if self.names else None
        if self.unit:
            one(of_texts(columns["unit"]))
        key, id = self._keys(keys, hashed), None
        if self.id and not self.paired:
            id = of_texts(keys["id"]) if self.unit else key
        return _sorted(
            Block(
                truth=truth[0] if len(truth) == 1 else np.array(truth),
                said=said[0] if len(said) == 1 else np.stack(said, axis=1),
                weight=weight,
                key=key,
                id=id,
                clustered=self.unit,
                parted=self.parted,
                alike=not keys,
                slices=[one(column) for column in self._slices(columns)],
                beside=beside,
                own={role: values for role, values in own.items() if role not in self.said},
                names=np.arange(before + 1, before + len(table) + 1)
                if names is None and self.numbered
                else names,
                units=keys.get("unit"),
            )
        )

    def _keys(self, texts: Mapping[str, Any], numbers: Sequence[np.ndarray]) -> Hashes:
        """A hash of each row's first text, or of its numbers; one for all where no sample is
        drawn.
        """
        for text in texts.values():
            return of_texts(text)
        if self.drawn:
            return of_numbers(numbers)
        return np.broadcast_to(np.uint64(0), len(numbers[0]))

    def _columns(self, table: Any) -> dict[str, Any]:
        """The columns of an Arrow table; Refused where an id is empty, or a text longer than a page
        can repeat.
        """
        columns = {name: _whole(table[name]) for name in table.column_names}
        if any(duck.longest(columns[name]) > duck.LONGEST for name in self.repeated):
            raise rules.BrokenRule("a text is too long")
        if self.id:
            self.id.checked(columns["id"], None)
        return columns

    def _numbers(self, role: str, field: rules.Field, column: Any) -> np.ndarray:
        """A column that keeps its rules, as numbers."""
        values: np.ndarray = field.checked(column, None)
        coded = self.coded.get(role)
        return values if coded is None else coded.of[tables.places_of(values, coded.values)]

    def _slices(self, columns: Mapping[str, Any]) -> Iterator[Ints]:
        start = 1
        for i, segment in enumerate(self.segments):
            yield start + segment.of[tables.places_of(columns[f"segment{i}"], segment.values)]
            start += int(segment.of.max()) + 1


def _whole(column: Any) -> Any:
    """A column of an Arrow table as one array, which is not copied if it is one."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def own_name(role: str, system: int) -> str:
    """The name in the query of a system's own column."""
    return f"{role} {system}"


def _sorted(block: Block) -> Block:
    """The block with the rows of each unit together, as engines have them but where units share a
    hash of theirs.
    """
    if not block.clustered or block.parted or len(np.unique(block.key)) == len(block.starts):
        return block
    return block.at(np.argsort(block.key, kind="stable"))


def _paired(ids: Any, column: Any, systems: Sequence[str]) -> Ints:
    """The rows of each id that every system has, one column per system; Refused where a system has
    an id again.
    """
    of, count = tables.places_of(column, systems), len(systems)
    key = tables.indexed(ids)[0]
    order = np.argsort(key * count + of, kind="stable")
    key, of = key[order], of[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: len(key)])
    size = np.diff(start, append=len(key))
    if np.any((key[1:] == key[:-1]) & (of[1:] == of[:-1])):
        raise rules.BrokenRule("an id stands twice")
    first = start[size == count]
    return np.asarray(order[first[:, None] + np.arange(count)])


@dataclass(frozen=True, eq=False)
class Reduced:
    """The result of `of` for the rows of a table, None if none of its rows is in every system."""

    schema: Schema
    of: Callable[[Block], Any]

    def __call__(self, table: Any, before: int = 0) -> Any:
        block = self.schema.block(table, before)
        return self.of(block) if len(block) else None
