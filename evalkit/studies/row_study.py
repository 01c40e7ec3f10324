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
from evalkit.drawing.shown import ShownStudy
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
    Row,
    SampleDesign,
    Settings,
    Study,
    SystemPair,
    UnitSelection,
    settings as settings_of,
)


@dataclass(frozen=True, eq=False)
class ReadingAccount:
    """What was read of the input.

    columns: role -> the column that has it. read: the number of rows of the input; used: of those
    that all systems predict; alone: of those that another system lacks. columns_without_role: the
    columns without a role. found_by_content: True if roles were found by the cells of columns, not
    by their names.
    """

    systems: tuple[str, ...]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    read: int
    used: int
    alone: int
    columns_without_role: tuple[str, ...] = ()
    found_by_content: bool = False

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
    """The keyword arguments of a study of rows in memory, and of the `Rows` of each system.

    data: the rows that were read. p: the parameters of the report, which `settings` follow from.
    """
    table = data.rows
    # The table holds a column that the parameters name under its role: "attribute NAME" if it names
    # groups of rows (segments, groups, slices, the unit), "metric_column NAME" if metrics need it.
    attributes = {}
    for name in settings.attributes:
        role = f"attribute {name}"
        # a column sliced by default is not in the table if two systems give a row different values
        if role in table.shared_values:
            attributes[name] = table.shared_values[role].texts
    unit = attributes[settings.unit] if settings.unit else None
    account = ReadingAccount(  # how many rows and which columns were read and used, for the page
        systems=table.systems,
        columns=table.columns,
        sources=table.sources,
        read=table.read,
        used=len(table),
        alone=table.alone,
        columns_without_role=table.unused_columns,
        found_by_content=table.layout.found_by_content,
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
    metric_columns = {
        name: table.shared_values[f"metric_column {name}"] for name in settings.columns
    }
    rows = {"weight": data.weight, "unit": unit, "columns": metric_columns}
    return RowsArguments(study, rows)


def arguments_from_blocks(
    table: Blocks, rows: int, settings: Settings, p: Parameters, *, weighted: bool
) -> Arguments:
    """The keyword arguments that the constructors of all studies of a table read by blocks share.

    rows: the number of rows that all systems predict. p: the parameters of the report. weighted:
    True if rows have weights.
    """
    alone = 0  # the number of rows that not every system predicts
    if table.paired:
        # The input has a row per system and id. All of them are left out of the report except those
        # with an id that every system has, which were read once per system.
        alone = table.rows - rows * len(table.systems)
    account = ReadingAccount(  # how many rows and which columns were read and used, for the page
        systems=table.systems,
        columns=table.columns,
        sources=table.sources(),
        read=sum(table.counts),  # of each part, such as a file
        used=rows,
        alone=alone,
        columns_without_role=table.unused_columns,
        found_by_content=table.selected_parts[
            0
        ].layout.found_by_content,  # the columns are those of the first part
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


def without_row_names(table: Blocks) -> Blocks:
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
    summary = without_row_names(table).total(summarise)
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
class RowStudy(ShownStudy, Study):
    """A study of a table whose systems all predict the same rows.

    measured: the rows or sums that metrics are computed from; each subclass has its own types.
    weighted: True if rows have weights. data: the rows if they are in memory, else None. blocks:
    the table if it was read in blocks, else None. names: the classes or labels, if each has scores
    or decisions of its own, else empty.
    """

    account: ReadingAccount
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
        """The content of the file of units, whose units are the rows of this study. If they are not
        in memory, they are read again, one block at a time, as the file is written.
        """
        if self.blocks is None:  # in memory
            ids = self.measured.ids()  # of the rows; their numbers if the input has no ids
            unit_names = self.listed(ids)  # with cluster and slices
            blocks = units.blocks_of_rows(
                self.measured.rows, self.settings.metrics, unit_names, self.names
            )
        else:
            blocks = self._read_again(self.blocks)
        return units.Units(
            size=len(self.account),
            blocks=blocks,
            segments=self.settings.segments,
            labels=self.names,
            named="id" in self.account.columns,
        )

    def _read_again(self, table: Blocks) -> Iterator[units.FileBlock]:
        """Read the table again and yield its rows as they are written into the file of units, block
        by block, those of one system after the other, with the names of their units and slices.
        """
        for block in table.again(len(self.account)):
            slices = {}
            # A block numbers the slices of all columns in one sequence, from 1, as 0 means all
            # rows. In the file the slices of each column are numbered from 0.
            first_number = 1
            columns = zip(table.slices.items(), block.slices, strict=True)
            for (column, labels), slice_of_row in columns:
                slices[column] = units.CodedSlices(labels, slice_of_row - first_number)
                first_number += len(labels)
            unit_names = units.UnitNames(id=block.texts, cluster=block.units, slices=slices)
            rows = {}
            for i, name in enumerate(self.systems):
                # the file takes the unit of a row from `unit_names`
                rows[name] = replace(self.rows_in(block, i), unit=None)
            yield from units.blocks_of_rows(rows, self.settings.metrics, unit_names, self.names)

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

        tables: system -> its counts by score. key: of the random numbers that draw the bands, see
        `Study.rng`. detail: how finely the figure is drawn.
        """
        return reliability.reliability(
            tables,
            # a new generator for each system, whose band then does not depend on the others
            lambda: self.rng(key),
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
        return consistency.metric_if_calibrated(
            c, metric, rng=self.rng(4), draws=self.settings.limits.bands
        )

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
        self, chosen: MetricAtK, system: str, member: UnitSelection = EVERY
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
    def interval_methods_text(self) -> str:
        """How intervals were computed, as text."""
        methods = self.method_names_text(self.settings.metrics, lambda method: method.interval_is)
        return methods + self.units_clause


# The rows that systems miss by most, or that two of them miss most unlike -------------------------


@dataclass(frozen=True, eq=False)
class LargestErrors:
    """Some rows of a study, those with the largest errors of the leader first; see
    `list_largest_errors`.

    input_rows: all rows, with the columns of the input. misses: the errors of each system on all
    rows. rows: the numbers of the rows that are listed, among all.
    """

    study: RowStudy
    input_rows: other_columns.Aligned
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
        return other_columns.others_of_rows(self.input_rows, self.rows[:max_rows].tolist())


def compared(study: RowStudy) -> Sequence[str]:
    """The leader of a study, and the system that it is compared with, if there is one."""
    if not len(study.headline):
        return [study.leader]
    opponents = [name for name in study.headline_systems if name != study.leader]
    return [study.leader, *opponents]


def list_largest_errors(study: RowStudy, max_rows: int) -> LargestErrors:
    """At most `max_rows` rows on which the leader errs most, differs most from its opponent, or
    errs most within a slice, so that no one kind fills the list; sorted by the error of the leader,
    the largest first. Each kind ranks the rows, and a row is chosen by its best rank. If the study
    has more than `max_rows` rows, rows without any error are left out. The rows must be in memory.
    """
    assert study.data is not None
    misses = study.data.row_errors
    pair = compared(study)  # the leader, and its opponent unless there is one system
    error = misses.errors[pair[0]]
    error_of_opponent = misses.errors[pair[-1]]  # with one system that of the leader
    n = len(error)
    ranks = [_descending_rank(error)]  # one array per kind, with the rank of every row from 0
    if len(pair) > 1:
        ranks.append(_descending_rank(np.abs(error - error_of_opponent)))
    for slice_ in study.slices:
        rank = np.full(n, n)  # of rows outside the slice: behind all others
        # Ranks in a slice are spread out by the number of slices, so that all slices together
        # contribute about as many rows as one other kind.
        rank[slice_.member] = _descending_rank(error[slice_.member]) * len(study.slices)
        ranks.append(rank)
    best_rank = np.min(ranks, axis=0)
    rows = np.argsort(best_rank, kind="stable")[:max_rows]
    if len(rows) < n:
        has_error = (error[rows] > 0) | (error_of_opponent[rows] > 0)
        rows = rows[has_error]
    largest_first = rows[np.argsort(-error[rows], kind="stable")]
    return LargestErrors(study, study.data.rows, misses, largest_first)


def missed_within(
    study: RowStudy, max_rows: int, max_size: int, size: Callable[[LargestErrors], int]
) -> LargestErrors:
    """The rows of `list_largest_errors`, of at most about `max_size` together: if the size of
    `max_rows` rows exceeds it, as many rows as would have it if all rows were of equal size.

    size: returns the size of some rows together, such as their number of characters on the page.
    """
    rows = list_largest_errors(study, max_rows)
    n = len(rows.rows)
    rows_that_fit = max_size * n // max(size(rows), 1)  # not 0: it divides
    if rows_that_fit < n:
        return list_largest_errors(study, rows_that_fit)
    return rows


def _descending_rank(values: Floats) -> Ints:
    """The rank of each value from 0, the largest first."""
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return rank
