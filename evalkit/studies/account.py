"""What was read: the account of a table that a page prints, wherever its rows are."""

from collections.abc import Mapping
from dataclasses import dataclass

from evalkit.reading.inputs.aligned import Aligned
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.parts import Source


@dataclass(frozen=True, eq=False)
class Account:
    """What was read: systems, columns by role, inputs, rows read, used, without a match; columns that were not read."""

    systems: tuple[str, ...]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    used: int
    alone: int
    others: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.used


def of_rows(rows: Aligned) -> Account:
    """The account of rows at hand."""
    return Account(rows.systems, rows.columns, rows.sources, rows.read, len(rows), rows.alone, rows.others)


def of_table(t: Blocks, rows: int) -> Account:
    """The account of a table in an engine, of which each system has so many rows that all have."""
    alone = t.rows - rows * len(t.systems) if t.paired else 0
    return Account(t.systems, t.columns, t.sources(), sum(t.counts), rows, alone, t.others)
