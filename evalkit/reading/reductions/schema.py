"""The schema of a table: the roles of its columns with their rules, by which rows become typed
blocks.

Everything here can be pickled and sent to a Spark worker, and nothing depends on the order of rows
or blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from evalkit.arrays import Ints
from evalkit.metrics import predictive
from evalkit.metrics.blocks import Block
from evalkit.metrics.hashes import Hashes, hash_numbers, hash_texts
from evalkit.reading.tables import rules, table as tables
from evalkit.reading.tables.frames import as_one_array

if TYPE_CHECKING:
    import pyarrow as pa

# the roles of actual values; those of labels begin with the last
TRUTH = ("label", "hit", "actual")
OF_LABEL = "true "
# other roles of shared columns, or how they begin
METRIC_COLUMN = "metric_column "
ATTRIBUTE = "attribute "
WEIGHT = "weight"


@dataclass(frozen=True, eq=False)
class Segment:
    """A segment column: its distinct values in order, and for each the number of its slice
    (`number_of_value`).

    Or a column of classes: its distinct texts, and for each the number of its class.
    """

    values: tuple[str, ...]
    number_of_value: Ints


@dataclass(frozen=True, eq=False)
class Schema:
    """The meaning of the columns of a block and their rules, by the roles that a report declares.

    shared_role_fields: role -> column, of the columns that all systems share: actual values,
    weight, further columns. predictions: role of a prediction -> its columns, one per system, or
    one for the system of the row. used_roles: the roles of predictions that metrics use. paired:
    True if the systems' rows are joined on the id. id: the column of ids; None without one. names:
    the column that names rows; None if they are numbered during reading (`numbered`). coded: role
    of text -> the number of each text. segments: for each segment column its texts and their
    slices. unit: True if rows are clustered. units_split: True if the rows of a unit may be in
    several blocks. units: the number of units, if it is small enough to hold one value per unit;
    else 0. drawn: True if a sample is drawn, by the hash of the whole row if nothing names it.
    """

    systems: tuple[str, ...]
    shared_role_fields: Mapping[str, rules.Field]
    predictions: Mapping[str, Sequence[rules.RoleColumn]]
    used_roles: tuple[str, ...]
    paired: bool
    id: rules.Field | None
    names: str | None = None
    numbered: bool = False
    coded: Mapping[str, Segment] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    unit: bool = False
    units_split: bool = False
    units: int = 0
    drawn: bool = True

    @property
    def actual_roles(self) -> list[str]:
        """The roles of the actual values."""
        return [
            role for role in self.shared_role_fields if role in TRUTH or role.startswith(OF_LABEL)
        ]

    @property
    def further_numbers(self) -> list[str]:
        """The roles of numbers that all systems share, beside the actual values and the weight."""
        return [
            role
            for role, field in self.shared_role_fields.items()
            if field.is_number and role != WEIGHT and role not in self.actual_roles
        ]

    @property
    def measured(self) -> list[str]:
        """The columns of the query that metrics use: rows of a unit with equal values in them are
        interchangeable.
        """
        columns = chain.from_iterable(self.predictions.values())
        predictions = [column.name_in_table for column in columns]
        other_roles = [role for role in self.shared_role_fields if role not in self.actual_roles]
        return [*self.actual_roles, *other_roles, *predictions]

    @property
    def columns(self) -> list[str]:
        """The columns of the query that are read."""
        id = ["id"] if self.id else []
        return [*self.measured, *id, *self.repeated]

    @property
    def repeated(self) -> list[str]:
        """The columns of the query whose texts a page repeats."""
        names = ["system"] if self.paired else []
        names += [f"segment{i}" for i in range(len(self.segments))]
        if self.unit:
            names.append("unit")
        return names

    def block(self, table: "pa.Table", before: int = 0) -> Block:
        """The rows of an Arrow table. before: the number of rows that came earlier. Raises
        BrokenRule for invalid values.
        """
        texts = self._texts(table)
        slices = self._slices(table)
        shared = {
            role: self._numbers(role, column, table[role])
            for role, column in self.shared_role_fields.items()
        }
        of_systems = {}  # role -> the predictions of each system
        for role, columns in self.predictions.items():
            of_systems[role] = [
                self._numbers(role, column.field, table[column.name_in_table]) for column in columns
            ]
        if self.paired:  # of each id one row with the predictions of all systems
            rows = _paired(texts["id"], texts.pop("system"), self.systems)
            if self.unit:
                _agreed(hash_texts(texts["unit"]), rows)
            texts = {name: column.take(rows[:, 0]) for name, column in texts.items()}
            slices = [_agreed(column, rows) for column in slices]
            shared = {role: _agreed(values, rows) for role, values in shared.items()}
            of_systems = {role: list(values[rows].T) for role, (values,) in of_systems.items()}
        truth = [shared[role] for role in self.actual_roles]
        predictions = {role: _one_row_each(values) for role, values in of_systems.items()}
        used_predictions = [predictions[role] for role in self.used_roles]
        other_predictions = {
            role: predictions[role] for role in predictions if role not in self.used_roles
        }
        further = {role.removeprefix(METRIC_COLUMN): shared[role] for role in self.further_numbers}
        weight = shared.get(WEIGHT)
        hashed = [*truth, *chain(*used_predictions)]
        if weight is not None:
            hashed.append(weight)
        hashed += further.values()
        for role in other_predictions:
            if predictive.is_role(role):
                hashed += of_systems[role]
        key = self._key(texts, hashed)
        id = None
        if self.id and not self.paired:
            id = hash_texts(texts["id"]) if self.unit else key
        one_or_several_predictions = (
            used_predictions[0]
            if len(used_predictions) == 1
            else np.stack(used_predictions, axis=1)
        )
        one_or_several_truths = truth[0] if len(truth) == 1 else np.array(truth)
        return _sorted(
            Block(
                truth=one_or_several_truths,
                predictions=one_or_several_predictions,
                weight=weight,
                key=key,
                id=id,
                clustered=self.unit,
                units_split=self.units_split,
                key_hashes_row=not (self.unit or self.id),
                slices=slices,
                shared_columns=further,
                system_columns=other_predictions,
                names=self._names(table, texts, before),
                units=texts.get("unit"),
            )
        )

    def _texts(self, table: "pa.Table") -> dict[str, "pa.Array"]:
        """The texts that name rows, systems and units. Raises BrokenRule for an empty id, or a text
        that is too long for a page.
        """
        if any(rules.is_long(table[name]).any() for name in self.repeated):
            raise rules.BrokenRule("a text is too long")
        names = [name for name in ("id", "system", "unit") if name in table.column_names]
        texts = {name: as_one_array(table[name]) for name in names}
        if self.id:
            self.id.check(texts["id"], None)
        return texts

    def _numbers(self, role: str, field: rules.Field, column: "pa.ChunkedArray") -> np.ndarray:
        """The values of a column as numbers: of texts the numbers of a coded column, else their
        hashes. Raises BrokenRule for an invalid value.
        """
        values = field.check(as_one_array(column), None)
        coded = self.coded.get(role)
        if coded is not None:
            return coded.number_of_value[tables.indices_among(values, coded.values)]
        if field.is_number:
            return np.asarray(values)
        return hash_texts(values)

    def _names(
        self, table: "pa.Table", texts: Mapping[str, "pa.Array"], before: int
    ) -> "pa.Array | Ints | None":
        """The names of the rows: their ids, a column of numbers, or their numbers as they are read;
        None if rows have no order.
        """
        if self.names == "id":
            return texts["id"]
        if self.names:
            return as_one_array(table[self.names])
        return np.arange(before + 1, before + len(table) + 1) if self.numbered else None

    def _key(self, texts: Mapping[str, "pa.Array"], numbers: Sequence[np.ndarray]) -> Hashes:
        """A hash of each row's unit or id, or of its numbers; one for all rows if no sample is
        drawn.
        """
        for name in ("unit", "id"):
            if name in texts:
                return hash_texts(texts[name])
        if self.drawn:
            return hash_numbers(numbers)
        return np.broadcast_to(np.uint64(0), len(numbers[0]))

    def _slices(self, table: "pa.Table") -> list[Ints]:
        """For each segment column the number of each row's slice, from 1, counted over all
        columns.
        """
        slices = list[Ints]()
        start = 1
        for i, segment in enumerate(self.segments):
            texts = as_one_array(table[f"segment{i}"])
            slices.append(
                start + segment.number_of_value[tables.indices_among(texts, segment.values)]
            )
            start += int(segment.number_of_value.max()) + 1
        return slices


def _one_row_each(columns: Sequence[np.ndarray]) -> np.ndarray:
    """The columns as rows of one array; a single column is not copied."""
    return columns[0][np.newaxis] if len(columns) == 1 else np.array(columns)


def _agreed(values: np.ndarray, rows: Ints) -> np.ndarray:
    """The values that systems share, one per row. rows: as `_paired` returns them. Raises
    BrokenRule if systems have different values.
    """
    first = values[rows[:, 0]]
    if np.any(values[rows] != first[:, None]):
        raise rules.BrokenRule("what systems share differs")
    return first


def _sorted(block: Block) -> Block:
    """The block with the rows of each unit together. Engines have them so already, unless two units
    have the same hash.
    """
    if not block.clustered or block.units_split:
        return block
    if len(np.unique(block.key)) == len(block.unit_starts):
        return block
    return block.take(np.argsort(block.key, kind="stable"))


def _paired(ids: "pa.Array", column: "pa.Array", systems: Sequence[str]) -> Ints:
    """The rows of each id that every system has, one column per system. column: the system of each
    row. Raises BrokenRule if a system has an id twice.
    """
    key = tables.encode(ids).code
    pairing = tables.pair_rows(key, tables.indices_among(column, systems), len(systems))
    if pairing.repeated_row is not None:
        raise rules.BrokenRule("an id stands twice")
    return pairing.rows


@dataclass(frozen=True, eq=False)
class Reduced:
    """A function of Arrow tables, which an engine can send to its workers.

    summarise: what it computes from the block of a table.
    """

    schema: Schema
    summarise: Callable[[Block], Any]

    def __call__(self, table: "pa.Table", before: int = 0) -> Any:
        """The result for the rows of a table; None if no id is in every system. before: the number
        of rows that came earlier.
        """
        block = self.schema.block(table, before)
        return self.summarise(block) if len(block) else None
