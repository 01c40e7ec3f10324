"""Ranking inputs that do not fit into memory: an engine sorts the rows by query, and one value per query is kept.

The rows of runs, judgements and query table are concatenated and sorted by query, so that each shard holds whole
queries and is a small input of its own. It is read by the same code as an input in memory, and the values are equal to
the last bit, however the shards are cut and on any machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evalkit.arrays import InputError, ParameterError
from evalkit.catalogue.metric import Chosen
from evalkit.metrics import rankings
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.rows import Sums
from evalkit.reading.engines import backends
from evalkit.reading.engines.backends import Budget
from evalkit.reading.engines.base import Engine, Query, checked
from evalkit.reading.inputs import rows, runs
from evalkit.reading.inputs import rows as reading
from evalkit.reading.inputs import runs as whole
from evalkit.reading.inputs.rows import Ranked, Rows
from evalkit.reading.inputs.runs import Account, Ask, Build, Runs
from evalkit.reading.tables.parts import Part, Selection, Source
from evalkit.reading.tables.rules import Fields, split

NONE = Account(0, 0, 0, 0, 0, 0, 0)
RUN, JUDGED, BESIDE = "run", "judged", "beside"


@dataclass(frozen=True, eq=False)
class Measured:
    """What `Runs` has except the lists: for each system the values per query that were asked for."""

    systems: tuple[str, ...]
    accounts: Mapping[str, Account]
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    pooled_ideal: bool
    negative: int
    query: np.ndarray
    top_grade: float
    found: Mapping[tuple[str, Ask], Sums]

    retrieved: ClassVar[None] = None

    def measure(self, system: str, ask: Ask) -> Sums:
        """One value a query of a system; one of those that were asked for."""
        return self.found[system, ask]


class Read(NamedTuple):
    """One reading of a part: what its rows are, the part's name, and their system where they do not say it.

    ranked: whether the negated score of a row is its place in its list.
    """

    role: str
    name: str
    system: str | None
    ranked: bool = False


@dataclass(frozen=True)
class Task:
    """The work on a shard, which can be pickled and sent to a Spark worker.

    reads: in the order of the numbers in the column `part`. says: whether there is a column `system`. beside: whether
    there is a table of queries. top: the best grade of all.
    """

    systems: tuple[str, ...]
    asks: tuple[Ask, ...]
    attributes: tuple[str, ...]
    reads: tuple[Read, ...]
    says: bool
    beside: bool
    top: float

    @property
    def judged(self) -> bool:
        """Whether the judgements are parts of their own."""
        return any(read.role == JUDGED for read in self.reads)


# One shard ----------------------------------------------------------------------------------------------------------


class _Shard(Rows):
    """Rows of a shard, which know the part they came from, not their row in it."""

    parts: np.ndarray
    reads: Sequence[Read]

    def place(self, row: int) -> str:
        """The part that a row came from."""
        return self.reads[self.parts[row]].name


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of some queries measured: one value a judged query.

    first, beside: one query of the runs, and of the table of queries, for the error of rows that share none. values:
    of each system by its name, and of each ask by its number, as asks need not be fit to be sent back.
    """

    query: Any
    first: list[str]
    beside: list[str]
    attributes: dict[str, np.ndarray]
    negative: int
    shared: bool
    accounts: Mapping[str, Account]
    values: dict[tuple[str, int], Sums]


def measure(table: Any, before: int = 0, *, task: Task) -> list[Lists]:
    """Whole queries measured."""
    run = _shard(table, RUN, task)
    judged = _shard(table, JUDGED, task) if task.judged else run
    beside = _shard(table, BESIDE, task) if task.beside else run
    return [whole.built(Build(run, judged, beside, ()), partial(_measured, task=task))]


def _measured(build: Build, task: Task) -> Lists:
    import pyarrow as pa

    lists = build.built(task.systems, task.top)
    return Lists(
        query=pa.array(build.population, pa.large_string()),
        first=build.run.query[0].slice(0, 1).to_pylist(),
        beside=build.beside.query[0].slice(0, 1).to_pylist(),
        attributes={name: build.attribute(name) for name in task.attributes},
        negative=build.negative,
        shared=build.shared,
        accounts={name: account for name, (_, account) in lists.items()},
        values={(name, i): ask(rankings) for name, (rankings, _) in lists.items() for i, ask in enumerate(task.asks)},
    )


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
        ranked=[np.array([read.ranked for read in task.reads])[part]],
        grade=[pc.fill_null(column("grade"), np.nan).to_numpy(zero_copy_only=False)],
        attributes=[{name: column(f"attribute {name}") for name in task.attributes}],
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


# All shards ---------------------------------------------------------------------------------------------------------


def gathered(shards: Sequence[Lists], task: Task, columns: Mapping[str, str], sources: tuple[Source, ...]) -> Measured:
    """The shards' lists end to end, in the order of the queries' ids; raises what concerns the input as a whole."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.chunked_array([shard.query for shard in shards])
    if not len(texts):
        raise reading.no_judgement(sources[0].name)
    order = pc.sort_indices(texts).to_numpy()
    query = np.array(texts.take(order).to_pylist(), dtype=object)
    accounts = {name: sum((shard.accounts[name] for shard in shards), NONE) for name in task.systems}
    _check(accounts, shards, query[0], task)

    def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(np.concatenate(parts)[order])

    values: dict[tuple[str, Ask], Sums] = {}
    for name, i in [*shards[0].values]:
        parts = [shard.values.pop((name, i)) for shard in shards]  # one by one, as two copies of all need not fit
        bottom = [part.denominator for part in parts if part.denominator is not None]
        values[name, task.asks[i]] = Sums(
            joined([part.numerator for part in parts]), *([joined(bottom)] if bottom else [])
        )
    return Measured(
        systems=task.systems,
        accounts=accounts,
        attributes={name: joined([shard.attributes[name] for shard in shards]) for name in task.attributes},
        columns=columns,
        sources=sources,
        pooled_ideal=not task.judged,
        negative=sum(shard.negative for shard in shards),
        query=query,
        top_grade=task.top,
        found=values,
    )


def _check(accounts: Mapping[str, Account], shards: Sequence[Lists], judged: str, task: Task) -> None:
    """Raises InputError for a system or a table of queries that shares no query with the judgements."""
    for name, account in accounts.items():
        if not account.used:
            raise reading.nothing_in_common(name, next(id for shard in shards for id in shard.first), judged)
        if account.unjudged == account.used and task.judged:
            raise reading.no_judged_item(name)
    if task.beside and not any(shard.shared for shard in shards):
        where = next(read.name for read in task.reads if read.role == BESIDE)
        raise reading.no_shared_table(where, next(id for shard in shards for id in shard.beside), judged)


# What is asked of rankings: one value a query each, as values that can be compared and sent ---------------------------


@dataclass(frozen=True)
class PerQuery:
    """A metric of the catalogue; level: the lowest grade that counts as relevant.

    ties: the order of items whose scores are equal, such as `rankings.worst_ties`; None for that of their ids.
    """

    chosen: Chosen
    level: float
    ties: Callable[[Rankings], Rankings] | None = None

    def __call__(self, r: Rankings) -> Sums:
        """The metric of every query."""
        return self.chosen.sums(self.ties(r) if self.ties and r.retrieved.tied.any() else r, self.level)


@dataclass(frozen=True)
class InterpolatedPrecision:
    """The best precision at or beyond a recall."""

    recall: float
    level: float

    def __call__(self, r: Rankings) -> Sums:
        """The precision of every query."""
        return Sums(rankings.interpolated_precision(r, self.recall, self.level))


@dataclass(frozen=True)
class Unjudged:
    """Rows without a judgement among the first k, of how many."""

    k: int

    def __call__(self, r: Rankings) -> Sums:
        """Both numbers of every query."""
        some = r.retrieved
        top = some.rank <= self.k
        return Sums(some.total(top & np.isnan(some.grade)), some.total(top))


@dataclass(frozen=True)
class Depth:
    """The last rank returned."""

    def __call__(self, r: Rankings) -> Sums:
        """The last rank of every list, 0 of an empty one."""
        return Sums(r.retrieved.depth.astype(float))


# From an engine -------------------------------------------------------------------------------------------------------


NO_TEXT, NO_NUMBER = "NULLIF('', '')", "CAST(NULL AS DOUBLE)"
IN_MEMORY = 300  # bytes that a row needs while it is read into memory whole


class _Piece(NamedTuple):
    """A part as rows of the sorted whole: what it is, its columns, and of a run its systems and their scores.

    says: whether its rows say their system. name: the system of a part that does not say.
    """

    role: str
    chosen: Selection
    fields: Fields
    scores: Mapping[str | None, str]
    name: str = ""
    says: bool = False


def read(ranked: Ranked, asks: Sequence[Ask], budget: Budget) -> Runs | Measured:
    """The input as `runs.read` reads it where its rows fit into memory, or else the values of `asks`."""
    lists = [*ranked.run, *(ranked.judged or ())]
    every = [*lists, *(ranked.queries or ())]
    if _fits(sum(part.rows for part in lists), budget) and all(part.cluster is None for part in every):
        data: Runs | Measured = runs.of(ranked)
    else:
        with backends.opened(budget, every) as engine:
            data = measured(engine, ranked, asks)
    without = np.flatnonzero(data.attributes[ranked.unit] == runs.NONE) if ranked.unit else np.zeros(0)
    if len(without):  # it would make one cluster of all such queries
        query = data.query[without[0]]
        raise InputError(
            f"unit: every query must have a {ranked.unit}, got none for query {query!r} "
            f"(missing in {len(without):,} queries)"
        )
    return data


def _fits(count: int, budget: Budget) -> bool:
    """Whether so many rows are read into memory whole."""
    return count <= budget.reading.lists and count * IN_MEMORY <= budget.memory


def measured(engine: Engine, ranked: Ranked, asks: Sequence[Ask]) -> Measured:
    """The values of `asks` for every system, from the input that `runs.read` takes, rows sorted by the engine.

    asks: hashable, picklable functions of rankings. Raises InputError as `runs.read` does; where two rows contradict
    each other it names the query and the item, not the row.
    """
    pieces, printed = _pieces(engine, ranked)
    profiles = [_profile(engine, piece) for piece in pieces]
    says = any(piece.says for piece in pieces)
    task = Task(
        systems=_systems(pieces, profiles, ranked.systems),
        asks=tuple(asks),
        attributes=tuple(ranked.attributes),
        reads=tuple(read for piece in pieces for read in _reads(piece, ranked)),
        says=says,
        beside=ranked.queries is not None,
        top=max(p["top"] for p in profiles),
    )
    selects = [select for piece in pieces for select in _rows(engine, piece, ranked.attributes, says=says)]
    union = " UNION ALL ".join(f"SELECT {i} AS part, {select}" for i, select in enumerate(selects))
    asked = Query.over([piece.chosen for piece in pieces], ["*"] * len(pieces))
    total = sum(p["n"] * max(len(piece.scores), 1) for piece, p in zip(pieces, profiles, strict=True))
    query = replace(asked, sql=union, by="query", rows=total)
    shards = engine.total(query, partial(measure, task=task))
    sources = tuple(piece.chosen.part.fingerprint(p["n"]) for piece, p in zip(pieces, profiles, strict=True))
    return gathered(shards, task, printed, sources)


# The rows -----------------------------------------------------------------------------------------------------------


def _pieces(engine: Engine, ranked: Ranked) -> tuple[list[_Piece], dict[str, str]]:
    """Every part with its columns, and the columns as the page prints them."""
    pieces: list[_Piece] = []
    printed: dict[str, str] = {}

    def select(part: Part, fields: Fields) -> Selection:
        return part.select(*split(fields), engine.dialect, frame=f"frame{len(pieces)}")

    for part, name in zip(ranked.run, rows.names(ranked.run), strict=True):
        plan = ranked.plan_run(part)
        fields = ranked.fields_of(plan)
        chosen = select(part, fields)
        system = next(iter(chosen.frames.values())) if part.layout and "system" in fields else fields
        says = rows.says(part, system["system"] if "system" in fields else None) is not None
        pieces.append(_Piece(RUN, chosen, fields, plan.scores, name, says))
        printed |= rows.printed(part, plan)
    for role, parts, plan_of in (
        (JUDGED, ranked.judged, ranked.plan_judgements),
        (BESIDE, ranked.queries, ranked.plan_queries),
    ):
        for part in parts or ():
            fields = plan_of(part)
            pieces.append(_Piece(role, select(part, fields), fields, {}))
    return pieces, printed


def _profile(engine: Engine, piece: _Piece) -> dict[str, Any]:
    """Rows, the highest grade and the systems that rows name; raises InputError for the first value that breaks a rule.

    By one query: a table on a cluster may take long to be made.
    """
    cells = [f"max({engine.dialect.quote('grade')}) AS top"] if "grade" in piece.fields else []
    system = engine.dialect.quote("system") if piece.says else None
    cells += [f"{system} AS system"] if system else []
    rows = checked(engine, piece.chosen, piece.fields, cells, system)
    return {
        "n": sum(row["n"] for row in rows),
        "top": max(0.0, *(row.get("top") or 0.0 for row in rows)),
        "systems": {row["system"] for row in rows} if system else set(),
    }


def _reads(piece: _Piece, ranked: Ranked) -> list[Read]:
    """How a part is read: once, or a wide table once for each of its systems."""
    where, scores = piece.chosen.part.name, piece.scores or {None: ""}
    return [
        Read(piece.role, where, None if piece.says else system or piece.name, ranked.in_place(role))
        for system, role in scores.items()
    ]


def _rows(engine: Engine, piece: _Piece, attributes: Sequence[str], *, says: bool) -> list[str]:
    """The SQL of each read of a part, with the columns that all have: query, item, score, grade, attributes."""
    here = engine.dialect.quote

    def cell(role: str, nothing: str) -> str:
        return f"{here(role) if role in piece.fields else nothing} AS {here(role)}"

    text = [f"attribute {name}" for name in attributes] + (["system"] if says else [])
    shared = [here("query"), cell("item", NO_TEXT), cell("grade", NO_NUMBER), *(cell(role, NO_TEXT) for role in text)]
    source = f"FROM ({piece.chosen.query}) AS s"
    return [
        f"{_score(role, here)} AS score, {', '.join(shared)} {source}" for role in (piece.scores or {None: ""}).values()
    ]


def _score(role: str, here: Callable[[str], str]) -> str:
    """What ranks the rows, the highest first; −0.0 and 0.0 are one score."""
    if not role:
        return NO_NUMBER
    return f"-{here(role)}" if role == "rank" else f"{here(role)} + 0.0"


def _systems(pieces: Sequence[_Piece], profiles: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> tuple[str, ...]:
    """The systems in the order of their names' bytes; raises ParameterError for a wanted one that is not there."""
    present: set[str] = set()
    for piece, profile in zip(pieces, profiles, strict=True):
        present |= profile["systems"]
        if piece.role == RUN and not piece.says:
            present |= {piece.name if name is None else name for name in piece.scores}
    names = sorted(present, key=lambda name: name.encode())
    unknown = [name for name in wanted if name not in present]
    if unknown:
        raise ParameterError(f"systems: there is no system {unknown[0]!r}, the input has {', '.join(names)}")
    return tuple(name for name in names if not wanted or name in wanted)
