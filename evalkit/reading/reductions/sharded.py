"""Ranking inputs that do not fit into memory: an engine sorts the rows by query, and one value per
query is kept.

The rows of runs, judgements and query table are concatenated and sorted by query, so that each
shard holds whole queries and is a small input of its own. It is read by the same code as an input
in memory, and the values are equal to the last bit, however the shards are cut and on any machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

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
from evalkit.reading.inputs.runs import Ask, Build, Measured, Runs
from evalkit.reading.tables.columns import refused, requested_systems
from evalkit.reading.tables.parts import Selection
from evalkit.reading.tables.rules import columns_by_type


class Read(NamedTuple):
    """One reading of a part: the kind of its rows, the part's name, and their system if the rows do
    not name it.

    ranked: True if the negated score of a row is its place in its list.
    """

    role: str
    name: str
    system: str | None
    ranked: bool = False


@dataclass(frozen=True)
class Task:
    """The work on a shard, which can be pickled and sent to a Spark worker.

    reads: in the order of the numbers in the column `part`. says: True if a column names the
    `system`. has_query_table: True if there is a table of queries. all_relevant: True if the
    judgements have no grades. top: the best grade of all.
    """

    options: ListOptions
    systems: tuple[str, ...]
    asks: tuple[Ask, ...]
    reads: tuple[Read, ...]
    says: bool
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


def measure(table: Any, before: int = 0, *, task: Task) -> list[Measured]:
    """The measured lists of the queries of a table; all rows of a query are in it."""
    run = _shard(table, RUN, task)
    judged = _shard(table, JUDGED, task) if task.judged else run
    query_table = _shard(table, QUERY_TABLE, task) if task.has_query_table else run
    return [
        runs.despite_collisions(
            Build(run, judged, query_table, task.options, task.all_relevant),
            partial(_measured, task=task),
        )
    ]


def _measured(build: Build, task: Task) -> Measured:
    return build.measured(build.rankings(task.systems, task.top), task.asks)


def _shard(table: Any, role: str, task: Task) -> _Shard:
    """The rows of one kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    member = np.array([read.role == role for read in task.reads])[table["part"].to_numpy()]
    some = (table if member.all() else table.filter(pa.array(member))).combine_chunks()

    def column(name: str) -> Any:
        blocks = some[name].chunks
        return pa.concat_arrays(blocks) if blocks else pa.array([], some[name].type)

    part = column("part").to_numpy(zero_copy_only=False)
    rows = _Shard(
        system=[_systems_of(part, column("system") if task.says else None, task)],
        query=[column("query")],
        item=[column("item")],
        score=[column("score").to_numpy(zero_copy_only=False)],
        rank_is_position=[np.array([read.ranked for read in task.reads])[part]],
        grade=[pc.fill_null(column("grade"), np.nan).to_numpy(zero_copy_only=False)],
        attributes=[{name: column(f"attribute {name}") for name in task.options.attributes}],
    )
    rows.parts, rows.reads = part, task.reads
    return rows


def _systems_of(part: np.ndarray, said: Any, task: Task) -> Any:
    """The system of each row: what the row says, or the one of its part."""
    import pyarrow as pa
    import pyarrow.compute as pc

    stated = pa.array([read.system for read in task.reads], pa.string())
    if said is None and len({read.system for read in task.reads if read.role == RUN}) == 1:
        return stated[0].as_py(), len(part)
    own = stated.take(pa.array(part))
    return own if said is None else pc.coalesce(own, said)


# What is asked of rankings: one value a query each, as values that can be compared and sent -------


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
        return self.chosen.sums(
            self.ties(r) if self.ties and r.retrieved.tied.any() else r, self.level
        )


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
        """Both numbers of every query."""
        some = r.retrieved
        top = some.rank <= self.k
        return Sums(some.total(top & np.isnan(some.grade)), some.total(top))


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
        last = r.ideal.offset[1:]
        some = r.ideal.length > 0
        lowest = np.full(len(r), np.nan)
        lowest[some] = r.ideal.grade[last[some] - 1]
        return Sums(lowest)


@dataclass(frozen=True)
class LastRank:
    """The last rank returned."""

    def __call__(self, r: rankings.Rankings) -> Sums:
        """The last rank of every list, 0 of an empty one."""
        return Sums(r.retrieved.depth.astype(float))


# From an engine -----------------------------------------------------------------------------------


NO_TEXT, NO_NUMBER = "NULLIF('', '')", "CAST(NULL AS DOUBLE)"
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole


class _SelectedPart(NamedTuple):
    """A piece, and what the engine reads of it. says: True if its rows say their system."""

    piece: ListPart
    chosen: Selection
    says: bool


def read(ranked: RankingInput, asks: Sequence[Ask], budget: backends.Budget) -> Runs:
    """The rankings of an input, as from `runs.read`, if its rows fit into memory; otherwise the
    values of `asks` alone, which an engine computes shard by shard.

    Raises InputError as `runs.read` does, and for a query without a unit if queries are clustered.
    """
    lists = [*ranked.run, *(ranked.judged or ())]
    parts = [*lists, *(ranked.queries or ())]
    is_on_cluster = any(part.cluster_session is not None for part in parts)
    if not is_on_cluster and _fits_in_memory(sum(part.rows for part in lists), budget):
        data = runs.rankings_of(ranked)
    else:
        with backends.opened(budget, parts) as engine:
            data = measured(engine, ranked, asks)
    unit = ranked.options.unit
    if unit:
        _refuse_empty_units(data, unit)
    return data


def _refuse_empty_units(data: Runs, unit: str) -> None:
    """Raise InputError for queries without a unit, which would be one cluster."""
    lacking = np.flatnonzero(data.attributes[unit] == runs.NONE)
    if len(lacking):
        query = data.query[lacking[0]]
        raise refused("unit", "no_unit_of_query", unit=unit, query=query, queries=len(lacking))


def _fits_in_memory(rows: int, budget: backends.Budget) -> bool:
    """True if this number of rows is read into memory."""
    return rows <= budget.reading.lists and rows * IN_MEMORY <= budget.memory


def measured(engine: base.Engine, ranked: RankingInput, asks: Sequence[Ask]) -> Runs:
    """The values of `asks` for each system, from the input of `runs.read`, with rows sorted by the
    engine.

    asks: hashable, picklable functions of rankings. Raises InputError as `runs.read` does; if two
    rows contradict each other it names the query and the item instead of the row.
    """
    several = [_chosen(engine, piece, i) for i, piece in enumerate(ranked.list_parts)]
    profiles = [_profile(engine, of) for of in several]
    says = any(of.says for of in several)
    task = Task(
        options=ranked.options,
        systems=tuple(requested_systems(_systems(several, profiles), ranked.options.systems)),
        asks=tuple(asks),
        reads=tuple(
            read
            for of in several
            for read in _reads(of, in_place=ranked.options.ranks_are_positions)
        ),
        says=says,
        has_query_table=ranked.queries is not None,
        all_relevant=ranked.all_relevant,
        top=max(p["top"] for p in profiles),
    )
    selects = [
        select
        for of in several
        for select in _rows(engine, of, ranked.options.attributes, says=says)
    ]
    union = " UNION ALL ".join(f"SELECT {i} AS part, {select}" for i, select in enumerate(selects))
    asked = base.Query.over([of.chosen for of in several], ["*"] * len(several))
    each = list(zip([of.piece for of in several], [p["n"] for p in profiles], strict=True))
    total = sum(n * len(piece.scores) for piece, n in each)
    shards = engine.total(
        replace(asked, sql=union, by="query", rows=total), partial(measure, task=task)
    )
    columns = {
        role: name
        for piece, _ in each
        if piece.kind == RUN
        for role, name in piece.printed_columns.items()
    }
    sources = [piece.part.fingerprint(n) for piece, n in each]
    return runs.combine_shards(shards, ranked, task.asks, columns, sources, task.top)


# The rows -----------------------------------------------------------------------------------------


def _chosen(engine: base.Engine, piece: ListPart, i: int) -> _SelectedPart:
    """What the engine reads of a piece."""
    chosen = piece.part.select(*columns_by_type(piece.fields), engine.dialect, frame=f"frame{i}")
    if "system" not in piece.fields:
        return _SelectedPart(piece, chosen, says=False)
    column = (
        next(iter(chosen.frames.values()))["system"]
        if piece.part.layout
        else piece.fields["system"]
    )
    return _SelectedPart(piece, chosen, rows.naming_column(piece.part, column) is not None)


def _profile(engine: base.Engine, of: _SelectedPart) -> dict[str, Any]:
    """Rows, the highest grade and the systems that rows name; raises InputError for the first value
    that breaks a rule.

    By one query: a table on a cluster may take long to be made.
    """
    cells = [f"max({engine.dialect.quote('grade')}) AS top"] if "grade" in of.piece.fields else []
    system = engine.dialect.quote("system") if of.says else None
    cells += [f"{system} AS system"] if system else []
    rows = base.checked(
        engine, of.chosen, of.piece.fields, cells, f"GROUP BY {system}" if system else ""
    )
    return {
        "n": sum(row["n"] for row in rows),
        "top": max(0.0, *(row.get("top") or 0.0 for row in rows)),
        "systems": {row["system"] for row in rows} if system else set(),
    }


def _reads(of: _SelectedPart, *, in_place: bool) -> list[Read]:
    """How a part is read: once, or a wide table once for each of its systems."""
    kind, part, _, scores, name = of.piece
    return [
        Read(kind, part.name, None if of.says else system or name, in_place and role == "rank")
        for system, role in scores.items()
    ]


def _rows(
    engine: base.Engine, of: _SelectedPart, attributes: Sequence[str], *, says: bool
) -> list[str]:
    """The SQL of each read of a part, with the columns that all have: query, item, score, grade,
    attributes.
    """
    here = engine.dialect.quote

    def cell(role: str, nothing: str) -> str:
        return f"{here(role) if role in of.piece.fields else nothing} AS {here(role)}"

    text = [f"attribute {name}" for name in attributes] + (["system"] if says else [])
    shared = [
        here("query"),
        cell("item", NO_TEXT),
        cell("grade", NO_NUMBER),
        *(cell(role, NO_TEXT) for role in text),
    ]
    source = f"FROM ({of.chosen.query}) AS s"
    return [
        f"{_score(role, here)} AS score, {', '.join(shared)} {source}"
        for role in of.piece.scores.values()
    ]


def _score(role: str, here: Callable[[str], str]) -> str:
    """What ranks the rows, the highest first; −0.0 and 0.0 are one score."""
    if not role:
        return NO_NUMBER
    return f"-{here(role)}" if role == "rank" else f"{here(role)} + 0.0"


def _systems(several: Sequence[_SelectedPart], profiles: Sequence[Mapping[str, Any]]) -> list[str]:
    """The systems in the order of their names' bytes."""
    present: set[str] = set()
    for of, profile in zip(several, profiles, strict=True):
        present |= profile["systems"]
        if of.piece.kind == RUN and not of.says:
            present |= {of.piece.system_name if name is None else name for name in of.piece.scores}
    return sorted(present, key=lambda name: name.encode())
