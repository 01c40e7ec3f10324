"""The base of studies whose systems all predict the same rows (classification, rating).

Also the account of the rows that were read, the rows for the units file, and the rows with the
largest errors.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing.shown import Shown
from evalkit.limits import Limits
from evalkit.metrics.blocks import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.rows import ErrorKind as ErrorKind, Misses, Rows
from evalkit.numbers import unit_noun
from evalkit.reading.inputs import aligned as other_columns
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import Slice, of_groups
from evalkit.statistics import consistency, statistic
from evalkit.studies import reliability, units
from evalkit.studies.study import EVERY, Member, Row, Settings, Study, SystemPair


@dataclass(frozen=True, eq=False)
class Account:
    """What was read: systems, columns by role, inputs, rows read, used and unmatched; columns that
    were not read. by_content: the cells of columns say their roles.
    """

    systems: tuple[str, ...]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    used: int
    alone: int
    others: tuple[str, ...] = ()
    by_content: bool = False

    def __len__(self) -> int:
        return self.used

    @property
    def quantile_rows(self) -> int:
        """The rows of tables with a row per quantile, which were joined by forecast."""
        return sum(source.quantile_rows for source in self.sources)


def of_rows(data: Any, settings: Settings, p: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What all studies of rows in memory share, and what the rows of all systems share."""
    rows = data.rows
    attributes = {
        name: rows.shared_values[f"attribute {name}"].texts
        for name in settings.attributes
        if f"attribute {name}" in rows.shared_values
    }
    unit = attributes[settings.unit] if settings.unit else None
    beside = {name: rows.shared_values[f"metric_column {name}"] for name in settings.columns}
    fields = {
        "settings": settings,
        "systems": rows.systems,
        "attributes": attributes,
        "p": p,
        "data": data,
    }
    account = Account(
        rows.systems,
        rows.columns,
        rows.sources,
        rows.read,
        len(rows),
        rows.alone,
        rows.unused_columns,
        rows.layout.by_content,
    )
    fields |= {"sources": rows.sources, "account": account, "weighted": data.weight is not None}
    return fields, {"weight": data.weight, "unit": unit, "columns": beside}


def of_blocks(
    t: Blocks, rows: int, settings: Settings, p: Any, *, weighted: bool
) -> dict[str, Any]:
    """What all studies of a table read by blocks share; rows: the rows that all systems have."""
    alone = t.rows - rows * len(t.systems) if t.paired else 0
    guessed = t.pieces[0].layout.by_content
    account = Account(
        t.systems, t.columns, t.sources(), sum(t.counts), rows, alone, t.others, guessed
    )
    fields = {"settings": settings, "systems": t.systems, "attributes": {}, "p": p, "blocks": t}
    return fields | {"sources": account.sources, "account": account, "weighted": weighted}


def nameless(t: Blocks) -> Blocks:
    """The table without the names of rows, and without ids if they are not needed."""
    return replace(t, schema=replace(t.schema, names=None, numbered=False, drawn=False))


def counted(t: Blocks, first: Callable[[Block], Any]) -> Any:
    """The summary of the first reading of a table. Raises InputError for ids that do not pair."""
    kept = nameless(t).total(first)
    t.check(kept.rows, kept.ids.repeated_rows if t.schema.id else 0)
    return kept


def few_units(t: Blocks, limits: Limits) -> int:
    """The largest number of units whose sums are kept one by one, for methods that need each; 0
    without units.
    """
    return limits.flipped if t.schema.unit else 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowStudy(Shown, Study):
    """A study of a table whose systems all predict the same rows.

    measured: the rows or sums that metrics are computed from. weighted: True if rows have weights.
    data: the rows if they are in memory, else None; blocks: the table if it was read in blocks.
    names: the classes or labels, if each has scores or decisions of its own.
    """

    account: Account
    measured: Any
    weighted: bool
    data: Any = None
    blocks: Blocks | None = None
    names: tuple[str, ...] = ()

    @property
    def used_share(self) -> float:
        """The share of the rows read that every system predicts."""
        return 1 - self.account.alone / self.account.read

    @property
    def design(self) -> Any:
        """The object with the layout of the rows, and whether they are in memory."""
        return self.measured

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column."""
        if self.blocks is None:
            return super().slices
        every = of_groups(self.blocks.slices, self.blocks.schema.segments)
        return [part for part in every if part.member in self.measured.groups]

    def sliced(self, part: Slice, p: Any) -> Any:
        """The study of a slice, read again."""
        made = import_module(f"evalkit.studies.{self.report}")
        return made.study_of(replace(p, preds=self.only(part, p.preds)), self.settings.limits)

    def units_held(self) -> units.Units:
        """The rows. Those that are not in memory are read again as they are used, one block at a
        time.
        """
        if self.blocks is None:
            listed = self.listed(self.measured.ids())
            blocks = units.of_rows(self.measured.rows, self.settings.metrics, listed, self.names)
        else:
            blocks = self._read_again(self.blocks)
        named = "id" in self.account.columns
        return units.Units(len(self.account), blocks, self.settings.segments, self.names, named)

    def _read_again(self, table: Blocks) -> Iterator[units.FileBlock]:
        for block in table.again(len(self.account)):
            starts = np.cumsum([1, *map(len, table.slices.values())]).tolist()
            columns = zip(table.slices.items(), block.slices, starts, strict=False)
            slices = {
                name: units.CodedSlices(labels, code - start)
                for (name, labels), code, start in columns
            }
            rows = {
                name: replace(self.rows_in(block, i), unit=None)
                for i, name in enumerate(self.systems)
            }
            listed = units.UnitNames(block.texts, block.units, slices)
            yield from units.of_rows(rows, self.settings.metrics, listed, self.names)

    # Of tables of scores that are probabilities

    def tenths_of(self, tables: Mapping[str, Counts]) -> pd.DataFrame:
        """Share of hits and number of rows by tenths of the score, with Wilson limits if rows are
        plain.
        """
        return reliability.by_tenths(tables, level=self.settings.level if self.plain else None)

    def isotonic_of(
        self, tables: Mapping[str, Counts], key: int, fine: reliability.Fine
    ) -> reliability.Reliability:
        """The reliability of tables without bins. key: of the random numbers of bands, which only
        plain rows have.
        """
        draws = self.settings.limits.bands
        level = self.settings.level if self.plain else None
        return reliability.reliability(
            tables, lambda: self.rng(key), draws=draws, level=level, fine=fine
        )

    def perfect(
        self, c: Counts, metric: Callable[[Counts], float]
    ) -> consistency.PerfectCalibration:
        """What perfect calibration would show, if rows are independent and unweighted."""
        if not self.plain:
            return consistency.UNKNOWN
        return consistency.perfect(c, metric, rng=self.rng(4), draws=self.settings.limits.bands)

    def rows_in(self, block: Block, system: int) -> Rows:
        """The rows of a block with the predictions of a system, given by its number."""
        return block.rows(system)

    @property
    def plain(self) -> bool:
        """True if rows are independent and unweighted."""
        return self.measured.layout is statistic.Layout.PLAIN

    @property
    def unit_name(self) -> str:
        """The row, or the unit that the user named."""
        return unit_noun(self.settings.unit, "unit") if self.settings.unit else "row"

    def measure(
        self, chosen: MetricAtK, system: str, member: Member = EVERY
    ) -> statistic.Statistic:
        """The metric of a system on the rows `member`."""
        return self.measured.measure(chosen, system, member)

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """The difference that this many rows detect."""
        return {"detectable": self.would_show(chosen, pair)}

    @property
    def over(self) -> str:
        """The unit that varies, if it is not the plain row."""
        return "" if self.plain else super().over

    @property
    def intervals_are(self) -> str:
        """How intervals were computed, as text."""
        return (
            self.methods_are(self.settings.metrics, lambda method: method.interval_is) + self.over
        )


# The rows that systems miss by most, or that two of them miss most unlike -------------------------


@dataclass(frozen=True, eq=False)
class Missed:
    """Some rows of a study, those with the largest errors first; see `missed`."""

    study: RowStudy
    aligned: other_columns.Aligned
    misses: Misses
    rows: Ints

    @property
    def pair(self) -> Sequence[str]:
        """The leader, and the system that it is compared with."""
        return compared(self.study)

    @property
    def apart(self) -> Floats:
        """By how much the error of the first of the pair exceeds that of the second, per row."""
        first, last = (
            self.misses.errors[name][self.rows] for name in (self.pair[0], self.pair[-1])
        )
        return first - last

    def opened(self, most: int) -> list[dict[str, str]]:
        """The other columns of the input, for the first rows."""
        return other_columns.others_of_rows(self.aligned, self.rows[:most].tolist())


def compared(study: RowStudy) -> Sequence[str]:
    """The leader of a study, and the system that it is compared with."""
    if not len(study.headline):
        return [study.leader]
    return [study.leader, *(name for name in study.opponents if name != study.leader)]


def missed(study: Any, most: int) -> Missed:
    """The rows with the leader's largest errors, over all and in each segment, and those most
    unlike its opponent's.

    The same number of each, the largest errors first. If there are more than `most` rows, those on
    which neither system errs are left out.
    """
    m = study.data.misses
    pair = compared(study)
    first = m.errors[pair[0]]
    last = m.errors[pair[-1]]
    places = [_place(first), *([_place(np.abs(first - last))] if len(pair) > 1 else [])]
    for part in study.slices:
        place = np.full(len(first), len(first))
        place[part.member] = _place(first[part.member]) * len(study.slices)
        places.append(place)
    rows = np.argsort(np.min(places, axis=0), kind="stable")[:most]
    if len(rows) < len(first):
        rows = rows[(first[rows] > 0) | (last[rows] > 0)]
    return Missed(study, study.data.rows, m, rows[np.argsort(-first[rows], kind="stable")])


def fitting(study: RowStudy, most: int, room: int, size: Callable[[Missed], int]) -> Missed:
    """`missed` with fewer rows if they would take more than `room`."""
    m = missed(study, most)
    fewer = room * len(m.rows) // max(size(m), 1)
    return missed(study, fewer) if fewer < len(m.rows) else m


def _place(values: Floats) -> Ints:
    """The place of each value, from the largest on."""
    place = np.empty(len(values), dtype=np.int64)
    place[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return place
