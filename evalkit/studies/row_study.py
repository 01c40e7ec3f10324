"""The base of studies whose systems all predict the same rows (classification, rating).

Also the account of the rows that were read, the rows for the units file, and the rows with the
largest errors.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from evalkit.parameters.reports import ClassificationParameters, Parameters
from evalkit.reading.inputs import aligned as other_columns
from evalkit.reading.inputs.outcomes import Outcomes
from evalkit.reading.reductions.blocks import Blocks
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import Slice, of_groups
from evalkit.statistics import consistency, statistic
from evalkit.studies import reliability, units
from evalkit.studies.study import (
    EVERY,
    Member,
    Row,
    SampleDesign,
    Settings,
    Study,
    SystemPair,
    settings as settings_of,
)


@dataclass(frozen=True, eq=False)
class Account:
    """What was read of the input.

    columns: role -> the column that has it. read: the number of rows of the input; used: of those
    that all systems predict; alone: of those that another system lacks. others: the columns without
    a role. by_content: True if roles were found by the cells of columns, not by their names.
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


Arguments = dict[str, Any]  # keyword arguments of a constructor, by name


class RowsArguments(NamedTuple):
    """Keyword arguments for a study of rows in memory.

    study: those that the constructors of all such studies share. rows: those of `Rows` that are the
    same for each system: weight, unit, columns.
    """

    study: Arguments
    rows: Arguments


def arguments_from_rows(data: Outcomes, settings: Settings, p: Parameters) -> RowsArguments:
    """The keyword arguments of a study of rows in memory, and of the `Rows` of each system. In the
    table, a column of the parameters is named by its use: "attribute NAME" for segments, groups,
    slices and unit, "metric_column NAME" for further columns that metrics need.
    """
    table = data.rows
    unit = None
    # a column that is sliced by default, not by name, is left out of the table if two systems have
    # different values in it
    attributes = {
        name: table.shared_values[f"attribute {name}"].texts
        for name in settings.attributes
        if f"attribute {name}" in table.shared_values
    }
    if settings.unit:
        unit = attributes[settings.unit]
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
    rows = {"weight": data.weight, "unit": unit, "columns": columns}
    return RowsArguments(study, rows)


def arguments_from_blocks(
    table: Blocks, rows: int, settings: Settings, p: Parameters, *, weighted: bool
) -> Arguments:
    """The keyword arguments that the constructors of all studies of a table read by blocks share.

    rows: the number of rows that all systems have. p: the parameters of the report. weighted: True
    if rows have weights.
    """
    alone = 0  # rows read of an id that another system lacks
    # rows joined by id are of one system each: an id that all systems have was read once for each
    if table.paired:
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


def classification_settings(
    p: ClassificationParameters,
    metrics: Iterable[MetricAtK],
    systems: tuple[str, ...],
    limits: Limits,
) -> Settings:
    """The settings of a study of classes or labels, from its parameters and these metrics. limits:
    of time and memory. Raises an error for a question that these systems cannot answer; see
    `Settings.checked`.
    """
    settings = settings_of(
        p,
        metrics,
        unit=p.unit,
        segments=p.segments,
        groups=p.group_question,
        slices=p.slices,
        limits=limits,
    )
    return settings.checked(systems)


def nameless(table: Blocks) -> Blocks:
    """The same table to be read for sums alone: rows get neither names nor numbers, and no sample
    is drawn by the hash of whole rows.
    """
    schema = replace(table.schema, names=None, numbered=False, drawn=False)
    return replace(table, schema=schema)


class CountedRows(Protocol):
    """A summary of blocks with the number of rows, and how often ids were repeated."""

    @property
    def rows(self) -> int:
        """The number of rows that all systems have."""

    @property
    def ids(self) -> KeyRepeats:
        """How often ids were met."""

    def __add__(self, other: Self) -> Self: ...


Summary = TypeVar("Summary", bound=CountedRows)


def first_summary(table: Blocks, summarise: Callable[[Block], Summary]) -> Summary:
    """Read a table for the first time, and return its summary: the sum of those of its blocks.
    Raises InputError for ids that do not pair.
    """
    summary = nameless(table).total(summarise)
    check_ids(table, summary.rows, summary.ids)
    return summary


def check_ids(table: Blocks, rows: int, ids: KeyRepeats) -> None:
    """Raise InputError for ids that do not pair, once a table was read. rows: the number of rows
    that all systems have. ids: those that were met, if the table has any.
    """
    repeated_rows = ids.repeated_rows if table.schema.id else 0
    table.check(rows, repeated_rows)


def max_single_units(table: Blocks, limits: Limits) -> int:
    """The number of units up to which the sums of each unit are kept, for methods that need the
    sums; 0 for a table without a column of units.
    """
    return limits.flipped if table.schema.unit else 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RowStudy(Shown, Study):
    """A study of a table whose systems all predict the same rows.

    measured: the rows or sums that metrics are computed from; each subclass has its own types.
    weighted: True if rows have weights. data: the rows if they are in memory, else None. blocks:
    the table if it was read in blocks, else None. names: the classes or labels, if each has scores
    or decisions of its own, else empty.
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
    def design(self) -> SampleDesign:
        """How the rows vary, and whether they are in memory."""
        design: SampleDesign = self.measured
        return design

    @cached_property
    def slices(self) -> list[Slice]:
        """The groups of rows that share a value of a segment column."""
        if self.blocks is None:
            return super().slices
        slices = of_groups(self.blocks.slices, self.blocks.schema.segments)
        # a slice without rows that all systems predict has no sums
        return [slice_ for slice_ in slices if slice_.member in self.measured.groups]

    def weight_of_slice(self, slice_: Slice, units: float) -> float:
        """How much a slice counts in the mean of several slices: the weight of its rows, if they
        are weighted; else as many as its units.
        """
        if not self.weighted:
            return units
        if self.data is not None and self.data.weight is not None:
            return float(self.data.weight[slice_.member].sum())
        return float(self.measured.weight_of_group(slice_.member))

    def sliced(self, slice_: Slice, p: Any) -> "RowStudy":
        """The study of a slice: the report made again of the rows of the slice alone. p: the
        parameters of that report, with the whole input as `preds`.
        """
        report = import_module(f"evalkit.studies.{self.report}")  # which imports this module
        in_slice = replace(p, preds=self.only(slice_, p.preds))
        study: RowStudy = report.study_of(in_slice, self.settings.limits)
        return study

    def units_held(self) -> units.Units:
        """The rows for the file of units, with their ids, or with their numbers if the input has no
        ids. Rows that are not in memory are read again, one block at a time, as the file is
        written.
        """
        if self.blocks is None:
            listed = self.listed(self.measured.ids())
            blocks = units.blocks_of_rows(
                self.measured.rows, self.settings.metrics, listed, self.names
            )
        else:
            blocks = self._read_again(self.blocks)
        has_ids = "id" in self.account.columns
        return units.Units(len(self.account), blocks, self.settings.segments, self.names, has_ids)

    def _read_again(self, table: Blocks) -> Iterator[units.FileBlock]:
        """Yield the rows of each block of the table for the file of units, those of one system
        after the other, with the names of their units and slices.
        """
        for block in table.again(len(self.account)):
            slices = {}
            # A block numbers the slices of all columns in one sequence, from 1, as 0 means all
            # rows. In the file the slices of each column are numbered from 0.
            first = 1
            for (column, labels), slice_of_row in zip(
                table.slices.items(), block.slices, strict=True
            ):
                slices[column] = units.CodedSlices(labels, slice_of_row - first)
                first += len(labels)
            # without their units, which are among the names below
            rows = {
                name: replace(self.rows_in(block, i), unit=None)
                for i, name in enumerate(self.systems)
            }
            listed = units.UnitNames(block.texts, block.units, slices)
            yield from units.blocks_of_rows(rows, self.settings.metrics, listed, self.names)

    # Of tables of scores that are probabilities

    @property
    def _level_if_plain(self) -> float | None:
        """The level of limits that hold for independent, unweighted rows; None for other rows."""
        return self.settings.level if self.plain else None

    def tenths_of(self, tables: Mapping[str, Counts]) -> pd.DataFrame:
        """Share of hits and number of rows by tenths of the score, with Wilson limits if rows are
        independent and unweighted; the columns of `reliability.by_tenths`. tables: of counts by
        score, by name.
        """
        return reliability.by_tenths(tables, level=self._level_if_plain)

    def isotonic_of(
        self, tables: Mapping[str, Counts], key: int, detail: reliability.FigureDetail
    ) -> reliability.Reliability:
        """The reliability of scores by isotonic regression, without bins, with confidence bands if
        rows are independent and unweighted.

        tables: system -> its counts by score. key: which random numbers the bands take, see `rng`.
        detail: how finely the figure is drawn.
        """
        return reliability.reliability(
            tables,
            lambda: self.rng(key),  # begun anew for each system, so that none depends on others
            draws=self.settings.limits.bands,
            level=self._level_if_plain,
            detail=detail,
        )

    def perfect(
        self, c: Counts, metric: Callable[[Counts], float]
    ) -> consistency.PerfectCalibration:
        """The value of a metric that is expected under perfect calibration, and the p-value of a
        test of perfect calibration; unknown unless rows are independent and unweighted. c: the
        counts of a system by score.
        """
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
        measured: statistic.Statistic = self.measured.measure(chosen, system, member)
        return measured

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """The difference that this many rows detect."""
        return {"detectable": self.would_show(chosen, pair)}

    @property
    def units_clause(self) -> str:
        """The unit that varies, as the end of a sentence about methods; "" for a plain row."""
        return "" if self.plain else super().units_clause

    @property
    def intervals_are(self) -> str:
        """How intervals were computed, as text."""
        methods = self.methods_are(self.settings.metrics, lambda method: method.interval_is)
        return methods + self.units_clause


# The rows that systems miss by most, or that two of them miss most unlike -------------------------


@dataclass(frozen=True, eq=False)
class Missed:
    """Some rows of a study, those with the largest errors of the leader first; see `missed`.

    aligned: all rows, with the columns of the input. misses: the errors of each system on all rows.
    rows: the numbers of the rows that are listed, among all.
    """

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
        """By how much the error of the leader exceeds that of its opponent on each listed row; 0
        with one system.
        """
        of_leader = self.misses.errors[self.pair[0]]
        of_last = self.misses.errors[self.pair[-1]]  # the leader itself with one system
        return of_leader[self.rows] - of_last[self.rows]

    def unused_values(self, max_rows: int) -> list[dict[str, str]]:
        """For each of the first listed rows the texts of the columns without a role, by column."""
        return other_columns.others_of_rows(self.aligned, self.rows[:max_rows].tolist())


def compared(study: RowStudy) -> Sequence[str]:
    """The leader of a study, and the system that it is compared with, if there is one."""
    if not len(study.headline):
        return [study.leader]
    opponents = [name for name in study.opponents if name != study.leader]
    return [study.leader, *opponents]


def missed(study: RowStudy, max_rows: int) -> Missed:
    """At most `max_rows` rows of a study whose rows are in memory, the largest errors of the leader
    first.

    The rows are taken in turn from lists, the first of each list, then the second, and so on. The
    lists are all rows by the error of the leader; all rows by how much the errors of the leader and
    its opponent differ; and the rows of each slice by the error of the leader, where the lists of
    all slices together give as many rows as another list. If the study has more than `max_rows`
    rows, rows on which neither system errs are left out.
    """
    assert study.data is not None
    misses = study.data.misses
    pair = compared(study)
    of_leader = misses.errors[pair[0]]
    of_last = misses.errors[pair[-1]]  # the leader itself with one system
    n = len(of_leader)
    ranks = [_descending_rank(of_leader)]  # of each list the rank of every row, shape (rows,)
    if len(pair) > 1:
        ranks.append(_descending_rank(np.abs(of_leader - of_last)))
    for slice_ in study.slices:
        rank = np.full(n, n)  # for rows outside the slice: later than any rank in a list of all
        # each of n slices gives a row in every n-th turn, so that all together give one per turn
        rank[slice_.member] = _descending_rank(of_leader[slice_.member]) * len(study.slices)
        ranks.append(rank)
    best_rank = np.min(ranks, axis=0)  # the turn in which a row is taken
    rows = np.argsort(best_rank, kind="stable")[:max_rows]
    if len(rows) < n:
        rows = rows[(of_leader[rows] > 0) | (of_last[rows] > 0)]
    largest_first = rows[np.argsort(-of_leader[rows], kind="stable")]
    return Missed(study, study.data.rows, misses, largest_first)


def missed_within(
    study: RowStudy, max_rows: int, max_size: int, size: Callable[[Missed], int]
) -> Missed:
    """The rows of `missed`, of at most about `max_size` together: if the size of `max_rows` rows
    exceeds it, as many rows as would have it if all rows were of equal size.

    size: returns the size of some rows together, such as their number of characters on the page.
    """
    rows = missed(study, max_rows)
    n = len(rows.rows)
    rows_that_fit = max_size * n // max(size(rows), 1)  # not 0: it divides
    if rows_that_fit < n:
        return missed(study, rows_that_fit)
    return rows


def _descending_rank(values: Floats) -> Ints:
    """The rank of each value from 0, the largest first."""
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return rank
