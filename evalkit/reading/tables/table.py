"""Tables: the parts of an input read by role, every value checked, the place of every row."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import Floats, InputError
from evalkit.reading.tables.coded import Coded, encoded, plainly
from evalkit.reading.tables.parts import Part, Source
from evalkit.reading.tables.rules import Field, Fields, split

Named = TypeVar("Named")
Column = TypeVar("Column")


@dataclass(frozen=True, eq=False)
class Block:
    """A part that was read: its columns by role, Arrow arrays of text and numpy arrays of doubles."""

    part: Part
    fields: Fields
    columns: dict[str, Any]
    rows: int

    @property
    def source(self) -> Source:
        """The part's fingerprint; raises InputError where the file changed while it was read."""
        return self.part.fingerprint(self.rows)


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of several parts, end to end."""

    blocks: Sequence[Block]

    def __len__(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The parts with their rows."""
        return tuple(block.source for block in self.blocks)

    def locate(self, row: int) -> tuple[Part, int]:
        """The part that a row, from 0, came from, and its number there, from 1."""
        return located(((block.part, block.rows) for block in self.blocks), row)

    def place(self, row: int) -> str:
        """The part and row as an error names them."""
        part, number = self.locate(row)
        return part.place(number)

    def released(self, role: str, read: Callable[["Table", str], Column]) -> Column:
        """A column, which the table holds no longer. read: what makes it of the table and the role."""
        column = read(self, role)
        for block in self.blocks:
            del block.columns[role]
        return column

    def numbers(self, role: str) -> Floats:
        """A column of doubles."""
        columns = [block.columns[role] for block in self.blocks]
        return columns[0] if len(columns) == 1 else np.concatenate(columns)

    def column(self, role: str) -> Any:
        """A column of text as Arrow has it, in chunks."""
        import pyarrow as pa

        columns = [block.columns[role] for block in self.blocks]
        chunks = [chunk for column in columns for chunk in getattr(column, "chunks", [column])]
        return pa.chunked_array([chunk.cast(pa.string()) for chunk in chunks], pa.string())

    def texts(self, role: str, plain: Callable[[str], str] = str) -> np.ndarray:
        """A column of text as objects, None where it is empty; equal texts are one object. plain: of each."""
        distinct, place = encoded([block.columns[role] for block in self.blocks])
        return np.array(plainly(distinct, plain), dtype=object)[place]

    def coded(self, role: str, plain: Callable[[str], str] = str, empty: str = "") -> Coded:
        """A column of text as numbers into its distinct texts. plain: as of `texts`; empty: what an empty cell says."""
        distinct, place = encoded([block.columns[role] for block in self.blocks])
        return Coded.of([empty if text is None else text for text in plainly(distinct, plain)], place)


def located(stretches: Iterable[tuple[Named, int]], row: int) -> tuple[Named, int]:
    """The part that a row of parts laid end to end came from, and its number there, from 1."""
    for part, rows in stretches:
        if row < rows:
            return part, row + 1
        row -= rows
    raise IndexError(row)


def read(parts: Sequence[Part], fields: Sequence[Fields], coded: Collection[str] = ()) -> Table:
    """Every part by its columns; coded, and raises InputError, as `block`."""
    return Table([block(part, own, coded) for part, own in zip(parts, fields, strict=True)])


def names(parts: Sequence[Part]) -> str:
    """The input in an error: its first parts."""
    return ", ".join(dict.fromkeys(part.name for part in parts[:3]))


def too_many(parts: Sequence[Part], what: str, most: int) -> InputError:
    """The error for an input of which one row a unit is held, and that has more of them."""
    return InputError(
        f"{names(parts)}: up to {most:,} {what} are held, one row of each, and there are more; draw a random sample of "
        "users, or aggregate where the data are and give the totals to the significance report"
    )


def same_columns(parts: Sequence[Part], fields: Sequence[Fields]) -> None:
    """Raise InputError if one part has a role that another lacks."""
    first, here = parts[0], fields[0]
    for part, own in zip(parts, fields, strict=True):
        lacking = [_lacks(part, column, first) for role, column in here.items() if role not in own]
        lacking += [_lacks(first, column, part) for role, column in own.items() if role not in here]
        if lacking:
            raise InputError(f"{first.name} and {part.name} must have the same columns: {'; '.join(lacking[:5])}")


def _lacks(part: Part, column: Field, other: Part) -> str:
    return f"{part.name} has no column like {column.column!r} of {other.name}"


def block(part: Part, fields: Fields, coded: Collection[str] = ()) -> Block:
    """A part's columns by role, checked; raises InputError where there is no row, or a value breaks a rule.

    coded: roles of text that may come as Arrow dictionaries.
    """
    columns = part.load(*split(fields), coded)
    rows = len(next(iter(columns.values())))
    if not rows:
        raise part.no_rows()
    return Block(part, fields, {role: column.checked(columns[role], part) for role, column in fields.items()}, rows)
