"""Ranking inputs that do not fit into memory: an engine sorts the rows by query, and one value per
query is kept.

The rows of runs, judgements and query table are concatenated and sorted by query, so that each
shard holds whole queries and is a small input of its own. It is read by the same code as an input
in memory, and the values are equal to the last bit, however the shards are cut and on any machine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics import rankings
from evalkit.metrics.rows import Sums
from evalkit.reading.engines import backends, base
from evalkit.reading.inputs import rows, runs
from evalkit.reading.inputs.rows import (
    JUDGED,
    QUERY_TABLE,
    RUN,
    ListOptions,
    ListPart,
    ListRows,
    RankingInput,
)
from evalkit.reading.inputs.runs import MeasuredShard, QueryMeasure, RankingBuilder, Runs
from evalkit.reading.tables.columns import refused, requested_systems
from evalkit.reading.tables.ids import OnlySystem
from evalkit.reading.tables.parts import Selection
from evalkit.reading.tables.rules import columns_by_type
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE

if TYPE_CHECKING:
    import pyarrow as pa


class Read(NamedTuple):
    """The rows of a part, of a wide table those of one system.

    role: their kind, such as `RUN`. name: of the part. system: theirs; None if the rows name it.
    ranked: True if the negated score of a row is its place in its list.
    """

    role: str
    name: str
    system: str | None
    ranked: bool = False


@dataclass(frozen=True)
class Task:
    """What is computed from a shard; it can be pickled and sent to a Spark worker.

    reads: in the order of the numbers in the column `part`. rows_name_system: True if there is a
    column `system`, which is empty for rows that do not name theirs. has_query_table: True if there
    is a table of queries. all_relevant: True if the judgements have no grades. top: the best grade
    of all shards.
    """

    options: ListOptions
    systems: tuple[str, ...]
    query_measures: tuple[QueryMeasure, ...]
    reads: tuple[Read, ...]
    rows_name_system: bool
    has_query_table: bool
    all_relevant: bool
    top: float

    @property
    def judged(self) -> bool:
        """True if judgements are parts of their own."""
        return any(read.role == JUDGED for read in self.reads)


# One shard ----------------------------------------------------------------------------------------


class _Shard(ListRows):
    """Rows of a shard, which know the part they came from, not their row in it."""

    parts: np.ndarray
    reads: Sequence[Read]

    def place(self, row: int) -> str:
        """The part that a row came from."""
        return str(self.reads[self.parts[row]].name)


def measure(table: "pa.Table", before: int = 0, *, task: Task) -> list[MeasuredShard]:
    """The measured lists of the queries of an Arrow table, which has all rows of each; a list of
    one, as lists are what shards add up to. before: not used, as rows have no numbers.
    """
    run = _shard(table, RUN, task)
    judged = _shard(table, JUDGED, task) if task.judged else run
    query_table = _shard(table, QUERY_TABLE, task) if task.has_query_table else run
    builder = RankingBuilder(run, judged, query_table, task.options, task.all_relevant)
    return [runs.despite_collisions(builder, partial(_measured, task=task))]


def _measured(builder: RankingBuilder, task: Task) -> MeasuredShard:
    """The measured lists of all systems."""
    return builder.measured(builder.rankings(task.systems, task.top), task.query_measures)


def _shard(table: "pa.Table", role: str, task: Task) -> _Shard:
    """The rows of one kind in an Arrow table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_of_kind = np.array([read.role == role for read in task.reads])
    is_member = is_of_kind[table["part"].to_numpy()]
    if not is_member.all():
        table = table.filter(pa.array(is_member))
    table = table.combine_chunks()
    columns = {name: _one_array(table[name]) for name in table.column_names}
    part = columns["part"].to_numpy(zero_copy_only=False)
    named_systems = columns["system"] if task.rows_name_system else None
    rows = _Shard(
        system=[_systems_of(part, named_systems, task)],
        query=[columns["query"]],
        item=[columns["item"]],
        score=[columns["score"].to_numpy(zero_copy_only=False)],
        rank_is_position=[np.array([read.ranked for read in task.reads])[part]],
        grade=[pc.fill_null(columns["grade"], np.nan).to_numpy(zero_copy_only=False)],
        attributes=[{name: columns[f"attribute {name}"] for name in task.options.attributes}],
    )
    rows.parts = part
    rows.reads = task.reads
    return rows


def _one_array(column: "pa.ChunkedArray") -> "pa.Array":
    """A chunked Arrow array as one array."""
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _systems_of(part: np.ndarray, system: "pa.Array", task: Task) -> "pa.Array":
    """The system of each row: that of its read, or the one that the row names; an `OnlySystem` if
    all rows have the same one.

    part: the number of each row's read. system: the column of systems; None without one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    system_of_read = pa.array([read.system for read in task.reads], pa.string())
    if system is None and len({read.system for read in task.reads if read.role == RUN}) == 1:
        return OnlySystem(system_of_read[0].as_py(), len(part))
    system_of_part = system_of_read.take(pa.array(part))
    return system_of_part if system is None else pc.coalesce(system_of_part, system)


# Functions of rankings, one value per query, that can be compared and sent to a worker ------------


@dataclass(frozen=True)
class PerQuery:
    """A metric of the catalogue; level: the lowest grade that counts as relevant.

    ties: the order of items with equal scores, such as `rankings.worst_ties`; None for that of
    their ids.
    """

    chosen: MetricAtK
    level: float
    ties: Callable[[rankings.Rankings], rankings.Rankings] | None = None

    def __call__(self, r: rankings.Rankings) -> Sums:
        """The metric of every query."""
        if self.ties and r.retrieved.tied.any():
            r = self.ties(r)
        return self.chosen.sums(r, self.level)


@dataclass(frozen=True)
class InterpolatedPrecision:
    """The highest precision at or beyond a recall."""

    recall: float
    level: float

    def __call__(self, r: rankings.Rankings) -> Sums:
        """The precision of every query."""
        return Sums(rankings.interpolated_precision(r, self.recall, self.level))


@dataclass(frozen=True)
class Unjudged:
    """The number of rows without a judgement among the first k, and the number of rows among the
    first k.
    """

    k: int

    def __call__(self, r: rankings.Rankings) -> Sums:
        """Both numbers of every query: the former as numerator, the latter as denominator."""
        lists = r.retrieved
        is_top = lists.rank <= self.k
        return Sums(lists.total(is_top & np.isnan(lists.grade)), lists.total(is_top))


@dataclass(frozen=True)
class Ceiling:
    """The highest value of a metric that any list can have: that of all judged items in their best
    order.
    """

    chosen: MetricAtK
    level: float

    def __call__(self, r: rankings.Rankings) -> Sums:
        """The highest value of every query."""
        return self.chosen.sums(replace(r, retrieved=r.ideal), self.level)


@dataclass(frozen=True)
class LowestGrade:
    """The lowest grade of a judged item."""

    def __call__(self, r: rankings.Rankings) -> Sums:
        """The lowest grade of every query, NaN if none is judged."""
        is_judged = r.ideal.length > 0
        ends = r.ideal.offset[1:]
        lowest = np.full(len(r), np.nan)
        lowest[is_judged] = r.ideal.grade[ends[is_judged] - 1]  # the ideal list has the best first
        return Sums(lowest)


@dataclass(frozen=True)
class LastRank:
    """The last rank returned."""

    def __call__(self, r: rankings.Rankings) -> Sums:
        """The last rank of every list, 0 of an empty one."""
        return Sums(r.retrieved.depth.astype(float))


# From an engine -----------------------------------------------------------------------------------


# the SQL of empty cells
NO_TEXT = "NULLIF('', '')"
NO_NUMBER = "CAST(NULL AS DOUBLE)"
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole


class _SelectedPart(NamedTuple):
    """A part of the lists, and its columns in the engine. rows_name_system: True if its rows name
    their system.
    """

    piece: ListPart
    chosen: Selection
    rows_name_system: bool


class _Profile(NamedTuple):
    """A part's number of rows, its highest grade, at least 0, and the systems that its rows
    name.
    """

    rows: int
    top: float
    systems: set[str]


def read(
    ranked: RankingInput, query_measures: Sequence[QueryMeasure], budget: backends.Budget
) -> Runs:
    """The rankings of an input, as from `runs.read`, if its rows fit into memory; otherwise the
    values of `query_measures` alone, which an engine computes shard by shard.

    query_measures: functions of rankings with one value per query, all that `Runs.measure` will be
    called with. budget: the memory and rows that may be used. Raises InputError as `runs.read`
    does, and for a query without a unit if queries are clustered.
    """
    lists = [*ranked.run, *(ranked.judgement_parts or ())]  # files of runs and of judgements
    parts = [*lists, *(ranked.queries or ())]
    rows = sum(part.rows for part in lists)
    bytes_in_memory = rows * IN_MEMORY
    fits_in_memory = rows <= budget.reading.lists and bytes_in_memory <= budget.memory
    is_on_cluster = any(part.cluster_session is not None for part in parts)
    if fits_in_memory and not is_on_cluster:
        data = runs.rankings_of(ranked)
    else:
        with backends.opened(budget, parts) as engine:
            data = measured(engine, ranked, query_measures)
    unit = ranked.options.unit
    if unit:
        _refuse_empty_units(data, unit)
    return data


def _refuse_empty_units(data: Runs, unit: str) -> None:
    """Raise InputError for queries without a unit, which would be one cluster."""
    lacking = np.flatnonzero(data.attributes[unit] == EMPTY_ATTRIBUTE)
    if len(lacking):
        query = data.query[lacking[0]]
        raise refused("unit", "no_unit_of_query", unit=unit, query=query, queries=len(lacking))


def measured(
    engine: base.Engine, ranked: RankingInput, query_measures: Sequence[QueryMeasure]
) -> Runs:
    """The values of `query_measures` for each system, from the input of `runs.read`, with rows
    sorted by the engine.

    query_measures: hashable, picklable functions of rankings. Raises InputError as `runs.read`
    does; if two rows contradict each other it names the query and the item instead of the row.
    """
    options = ranked.options
    parts = [_chosen(engine, piece, i) for i, piece in enumerate(ranked.list_parts)]
    profiles = [_profile(engine, part) for part in parts]
    says = any(part.rows_name_system for part in parts)
    reads: list[Read] = []
    selects: list[str] = []  # the SQL of each read
    columns: dict[str, str] = {}
    sources = []
    total = 0
    for part, profile in zip(parts, profiles, strict=True):
        reads += _reads(part, in_place=options.ranks_are_positions)
        selects += _rows(engine, part, options.attributes, says=says)
        sources.append(part.piece.part.fingerprint(profile.rows))
        total += profile.rows * len(part.piece.scores)
        if part.piece.kind == RUN:
            columns |= part.piece.printed_columns
    task = Task(
        options=options,
        systems=tuple(requested_systems(_systems(parts, profiles), options.systems)),
        query_measures=tuple(query_measures),
        reads=tuple(reads),
        rows_name_system=says,
        has_query_table=ranked.queries is not None,
        all_relevant=ranked.all_relevant,
        top=max(profile.top for profile in profiles),
    )
    union = " UNION ALL ".join(f"SELECT {i} AS part, {select}" for i, select in enumerate(selects))
    over_parts = base.Query.from_selections([part.chosen for part in parts], ["*"] * len(parts))
    query = replace(over_parts, sql=union, group_column="query", rows=total)
    shards = engine.total(query, partial(measure, task=task))
    return runs.combine_shards(shards, ranked, task.query_measures, columns, sources, task.top)


# The rows -----------------------------------------------------------------------------------------


def _chosen(engine: base.Engine, piece: ListPart, i: int) -> _SelectedPart:
    """A part of the lists with its columns in the engine. i: its number among all parts."""
    columns = columns_by_type(piece.fields)
    selection = piece.part.select(columns.texts, columns.numbers, engine.dialect, frame=f"frame{i}")
    if "system" not in piece.fields:
        return _SelectedPart(piece, selection, rows_name_system=False)
    column: Any = piece.fields["system"]
    if piece.part.trec_layout:  # TREC text, which is loaded: its tag may not tell systems apart
        column = next(iter(selection.frames.values()))["system"]
    return _SelectedPart(piece, selection, rows.naming_column(piece.part, column) is not None)


def _profile(engine: base.Engine, part: _SelectedPart) -> _Profile:
    """The number of rows, the highest grade and the systems of a part. Raises InputError for the
    first value that breaks a rule.

    It takes one query, as a table on a cluster may take long to be computed.
    """
    cells = []
    grouping = ""
    if "grade" in part.piece.fields:
        cells.append(f"max({engine.dialect.quote('grade')}) AS top")
    if part.rows_name_system:
        system = engine.dialect.quote("system")
        cells.append(f"{system} AS system")
        grouping = f"GROUP BY {system}"
    groups = base.checked(engine, part.chosen, part.piece.fields, cells, grouping)
    systems = {group["system"] for group in groups} if part.rows_name_system else set()
    return _Profile(
        rows=sum(group["n"] for group in groups),
        top=max(0.0, *(group.get("top") or 0.0 for group in groups)),
        systems=systems,
    )


def _reads(part: _SelectedPart, *, in_place: bool) -> list[Read]:
    """How a part is read: once, or a wide table once for each of its systems. in_place: True if the
    rank of a row is its place in its list.
    """
    piece = part.piece
    reads = []
    for system, role in piece.scores.items():
        name = None if part.rows_name_system else system or piece.system_name
        reads.append(Read(piece.kind, piece.part.name, name, in_place and role == "rank"))
    return reads


def _rows(
    engine: base.Engine, part: _SelectedPart, attributes: Sequence[str], *, says: bool
) -> list[str]:
    """The SQL of each read of a part, with the columns that all reads have: score, query, item,
    grade, attributes, and if some rows name their system (`says`) system.
    """
    quote = engine.dialect.quote
    empty_cells = {"item": NO_TEXT, "grade": NO_NUMBER}
    empty_cells |= {f"attribute {name}": NO_TEXT for name in attributes}
    if says:
        empty_cells["system"] = NO_TEXT
    cells = [quote("query")]
    for role, empty_cell in empty_cells.items():
        cell = quote(role) if role in part.piece.fields else empty_cell
        cells.append(f"{cell} AS {quote(role)}")
    source = f"FROM ({part.chosen.query}) AS s"
    return [
        f"{_score(role, quote)} AS score, {', '.join(cells)} {source}"
        for role in part.piece.scores.values()
    ]


def _score(role: str, quote: Callable[[str], str]) -> str:
    """The SQL of what ranks the rows, the highest first; −0.0 and 0.0 are one score. role: of the
    score or rank; "" for rows without one.
    """
    if not role:
        return NO_NUMBER
    return f"-{quote(role)}" if role == "rank" else f"{quote(role)} + 0.0"


def _systems(parts: Sequence[_SelectedPart], profiles: Sequence[_Profile]) -> list[str]:
    """The systems in the order of their names' bytes."""
    systems: set[str] = set()
    for part, profile in zip(parts, profiles, strict=True):
        systems |= profile.systems
        if part.piece.kind == RUN and not part.rows_name_system:
            systems |= {name or part.piece.system_name for name in part.piece.scores}
    return sorted(systems, key=lambda name: name.encode())
