"""The base of studies whose systems all predict the same rows (classification, rating).

Also the account of the rows that were read, the rows for the units file, and the rows with the
largest errors.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pandas as pd

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.metric import MetricAtK
from evalkit.drawing.shown import Shown
from evalkit.limits import Limits
from evalkit.metrics.blocks import Block
from evalkit.metrics.counts import Counts
from evalkit.metrics.hashes import KeyRepeats
from evalkit.metrics.rows import ErrorKind as ErrorKind, Misses, Rows
from evalkit.numbers import unit_noun
from evalkit.parameters.reports import Parameters
from evalkit.reading.inputs import aligned as other_columns
from evalkit.reading.inputs.outcomes import Outcomes
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import Slice, of_groups
from evalkit.statistics import consistency, statistic
from evalkit.studies import reliability, units
from evalkit.studies.study import EVERY, Member, Row, Settings, Study, SystemPair


@dataclass(frozen=True, eq=False)
class Account:
    """What was read.

    columns: by role. read: the number of rows of the input, used: that all systems predict, alone:
    that another system lacks. others: the columns without a role. by_content: the cells of columns
    say their roles.
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


Arguments = dict[str, Any]  # by name, of classes with different fields


class RowsArguments(NamedTuple):
    """study: the arguments that all studies of rows in memory share. rows: those of `Rows` that
    all systems share: weight, unit, columns.
    """

    study: Arguments
    rows: Arguments


def of_rows(data: Outcomes, settings: Settings, p: Parameters) -> RowsArguments:
    """The arguments of a study of rows in memory, and of its rows."""
    table = data.rows
    attributes = {
        name: table.shared_values[f"attribute {name}"].texts
        for name in settings.attributes
        if f"attribute {name}" in table.shared_values
    }
    account = Account(
        systems=table.systems,
        columns=table.columns,
        sources=table.sources,
        read=table.read,
        used=len(table),
        alone=table.alone,
        others=table.unused_columns,
        by_content=table.layout.by_content,
    )
    study = {
        "settings": settings,
        "systems": table.systems,
        "attributes": attributes,
        "p": p,
        "data": data,
        "sources": table.sources,
        "account": account,
        "weighted": data.weight is not None,
    }
    columns = {name: table.shared_values[f"metric_column {name}"] for name in settings.columns}
    rows = {
        "weight": data.weight,
        "unit": attributes[settings.unit] if settings.unit else None,
        "columns": columns,
    }
    return RowsArguments(study, rows)


def of_blocks(
    table: Blocks, rows: int, settings: Settings, p: Parameters, *, weighted: bool
) -> Arguments:
    """The arguments that all studies of a table read by blocks share. rows: the number of rows that
    all systems have.
    """
    alone = 0
    if table.paired:  # a row of the table is a prediction of one system
        alone = table.rows - rows * len(table.systems)
    account = Account(
        systems=table.systems,
        columns=table.columns,
        sources=table.sources(),
        read=sum(table.counts),
        used=rows,
        alone=alone,
        others=table.unused_columns,
        by_content=table.pieces[0].layout.by_content,
    )
    return {
        "settings": settings,
        "systems": table.systems,
        "attributes": {},
        "p": p,
        "blocks": table,
        "sources": account.sources,
        "account": account,
        "weighted": weighted,
    }


def nameless(table: Blocks) -> Blocks:
    """The table without the names of rows, and without ids if they are not needed."""
    schema = replace(table.schema, names=None, numbered=False, drawn=False)
    return replace(table, schema=schema)


class CountedRows(Protocol):
    """A summary with the number of rows, and what is known of their ids."""

    @property
    def rows(self) -> int:
        """The number of rows that all systems have."""

    @property
    def ids(self) -> KeyRepeats:
        """How often ids were met."""

    def __add__(self, other: Self) -> Self: ...


Summary = TypeVar("Summary", bound=CountedRows)


def counted(table: Blocks, summarise: Callable[[Block], Summary]) -> Summary:
    """The summary of the first reading of a table. Raises InputError for ids that do not pair."""
    summary = nameless(table).total(summarise)
    table.check(summary.rows, summary.ids.repeated_rows if table.schema.id else 0)
    return summary


def few_units(table: Blocks, limits: Limits) -> int:
    """The largest number of units whose sums are kept one by one, for methods that need each; 0
    without units.
    """
    return limits.flipped if table.schema.unit else 0


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
    data: Outcomes | None = None
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
        slices = of_groups(self.blocks.slices, self.blocks.schema.segments)
        return [part for part in slices if part.member in self.measured.groups]

    def sliced(self, part: Slice, p: Any) -> "RowStudy":
        """The study of a slice, read again. p: parameters of the report, with `preds`."""
        report = import_module(f"evalkit.studies.{self.report}")
        in_slice = replace(p, preds=self.only(part, p.preds))
        study: RowStudy = report.study_of(in_slice, self.settings.limits)
        return study

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
        """The rows of each block for the file of units."""
        for block in table.again(len(self.account)):
            slices = {}
            first = 1  # slices of all columns are numbered from 1, all rows are 0
            for (column, labels), number in zip(table.slices.items(), block.slices, strict=True):
                slices[column] = units.CodedSlices(labels, number - first)
                first += len(labels)
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
        if self.settings.unit is None:
            return "row"
        return unit_noun(self.settings.unit, "unit")

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
        methods = self.methods_are(self.settings.metrics, lambda method: method.interval_is)
        return methods + self.over


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
    def excess(self) -> Floats:
        """By how much the error of the first of the pair exceeds that of the second, per row; 0
        with one system.
        """
        first = self.misses.errors[self.pair[0]]
        last = self.misses.errors[self.pair[-1]]
        return first[self.rows] - last[self.rows]

    def unused_values(self, max_rows: int) -> list[dict[str, str]]:
        """The columns of the input that have no role, for the first rows."""
        return other_columns.others_of_rows(self.aligned, self.rows[:max_rows].tolist())


def compared(study: RowStudy) -> Sequence[str]:
    """The leader of a study, and the system that it is compared with, if there is one."""
    if not len(study.headline):
        return [study.leader]
    return [study.leader, *(name for name in study.opponents if name != study.leader)]


def missed(study: RowStudy, max_rows: int) -> Missed:
    """The rows with the leader's largest errors, over all and in each segment, and those most
    unlike its opponent's.

    The same number of each, the largest errors first. If there are more than `max_rows` rows, those
    on which neither system errs are left out.
    """
    assert study.data is not None  # rows are shown where they are in memory
    misses = study.data.misses
    pair = compared(study)
    first = misses.errors[pair[0]]
    last = misses.errors[pair[-1]]
    ranks = [_descending_rank(first)]
    if len(pair) > 1:
        ranks.append(_descending_rank(np.abs(first - last)))
    for part in study.slices:
        rank = np.full(len(first), len(first))
        # all slices together have as many rows as each other list
        rank[part.member] = _descending_rank(first[part.member]) * len(study.slices)
        ranks.append(rank)
    rows = np.argsort(np.min(ranks, axis=0), kind="stable")[:max_rows]
    if len(rows) < len(first):
        rows = rows[(first[rows] > 0) | (last[rows] > 0)]
    largest_first = rows[np.argsort(-first[rows], kind="stable")]
    return Missed(study, study.data.rows, misses, largest_first)


def fitting(study: RowStudy, max_rows: int, max_size: int, size: Callable[[Missed], int]) -> Missed:
    """`missed` with fewer rows if their `size`, such as their characters, exceeds `max_size`."""
    rows = missed(study, max_rows)
    fewer = max_size * len(rows.rows) // max(size(rows), 1)
    if fewer < len(rows.rows):
        return missed(study, fewer)
    return rows


def _descending_rank(values: Floats) -> Ints:
    """The rank of each value from 0, the largest first."""
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return rank
