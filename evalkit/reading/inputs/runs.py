"""Turns runs and judgements into `Rankings`, for all systems by the same rules.

Ranks: by score in double precision, highest first; ties by item id in UTF-8 bytes, highest first,
as in trec_eval. Queries: those with a judgement, in the order of their ids. A query that a system
lacks has an empty list.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from evalkit.arrays import Bools, Floats, InputError, Ints
from evalkit.metrics.rankings import Lists, Rankings
from evalkit.metrics.rows import Sums
from evalkit.numbers import exact
from evalkit.reading.inputs import lists as listing
from evalkit.reading.inputs.lists import Collision, ListAccount, ListedItems, Retrieved
from evalkit.reading.inputs.rows import (
    JUDGED,
    QUERY_TABLE,
    RUN,
    ListOptions,
    ListRows,
    RankingInput,
)
from evalkit.reading.tables import columns as roles_of, ids, trec
from evalkit.reading.tables.parts import Source

Made = TypeVar("Made")
Ask = Callable[
    [Rankings], Sums
]  # one value a query; where shards are measured, hashable and fit to be pickled
NOTHING = ListAccount(0, 0, 0, 0, 0, 0, 0)
TOP = 10  # rows of a list whose items are compared with those that are judged
SAMPLED = 500  # queries whose items are compared first
EARLY = 5  # a query in one of so many parts of its list, the first, stands early
NONE = "(none)"  # the value of a query that has none in a column beside it


@dataclass(frozen=True, eq=False)
class Runs:
    """Every system's rankings over the same queries, the attributes of each query, and the accounts
    of the rows.

    query: the ids of all judged queries. top_grade: the highest grade of a judged query.
    attributes: one text per query, by column name. pooled_ideal: True without a file of judgements,
    so that the ideal ranking knows only returned rows. negative: the number of judgements below 0,
    which count as not judged. rankings: of each system, if in memory; else values: the values asked
    for, by system. retrieved: the items of the first rows of each list; None if there are too many
    to keep. judgements: their number; unlisted: of those of items that the table of items lacks.
    all_relevant: True if judgements have no grades. rank_checks: of TREC runs whose scores
    contradict their ranks.
    """

    systems: tuple[str, ...]
    accounts: Mapping[str, ListAccount]
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    pooled_ideal: bool
    negative: int
    query: np.ndarray
    top_grade: float
    values: Mapping[tuple[str, Ask], Sums] = field(default_factory=dict)
    rankings: Mapping[str, Rankings] = field(default_factory=dict)
    retrieved: Retrieved | None = None
    judgements: int = 0
    unlisted: int = 0
    all_relevant: bool = False
    rank_checks: Mapping[str, trec.RankCheck] = field(default_factory=dict)

    def take(self, member: Bools) -> "Runs":
        """The queries that `member` selects; the accounts stay those of all rows."""
        return replace(
            self,
            query=self.query[member],
            attributes={name: texts[member] for name, texts in self.attributes.items()},
            values={key: values.take(member) for key, values in self.values.items()},
            rankings={name: rankings.take(member) for name, rankings in self.rankings.items()},
            retrieved=self.retrieved and self.retrieved.take(member),
        )

    def measure(self, system: str, ask: Ask) -> Sums:
        """One value per query of a system's rankings; if these are not in memory, one of the values
        asked for.
        """
        return ask(self.rankings[system]) if self.rankings else self.values[system, ask]


@dataclass(frozen=True, eq=False)
class Measured:
    """The lists of some queries measured: one value a judged query.

    query: the ids of the judged queries. unjudged_queries: system -> a query that it returns, of
    the systems that return no judged one. first_id_of_query_table: a list of one id, empty if the
    table is. has_query_of_table: True if the table of queries has a judged query. negative,
    judgements, unlisted: as in `Runs`. values: (system, number of the ask) -> its values; numbers,
    as asks need not be fit to be sent back by a worker.
    """

    query: Any
    unjudged_queries: dict[str, str]
    first_id_of_query_table: list[str]
    attributes: dict[str, np.ndarray]
    negative: int
    has_query_of_table: bool
    judgements: int
    unlisted: int
    accounts: Mapping[str, ListAccount]
    values: dict[tuple[str, int], Sums]


def read(preds: Any, qrels: Any = None, **chosen: Any) -> Runs:
    """Rankings from a file, folder, glob pattern, frame or list of these; `qrels` holds the
    judgements.

    preds: a long table (system, query, item, score or rank, grade), a wide one (a column of scores
    for each system) or TREC runs. chosen: the fields of `ListOptions`. Raises InputError, with
    file, column, row and value, for invalid values.
    """
    return rankings_of(RankingInput.of(preds, qrels, **chosen))


def rankings_of(ranked: RankingInput) -> Runs:
    """The rankings of an input whose rows fit into memory. Raises InputError as `read` does."""
    run = ranked.rows(RUN)
    judged = run if ranked.has_grades else ranked.rows(JUDGED)
    # rows of the runs stand for a table that is not given
    query_table = run if ranked.queries is None else ranked.rows(QUERY_TABLE)
    build = Build(run, judged, query_table, ranked.options, ranked.all_relevant)
    return despite_collisions(build, partial(_runs_of_all_rows, ranked=ranked))


def _runs_of_all_rows(build: "Build", ranked: RankingInput) -> Runs:
    """The rankings of all systems, from all rows."""
    names = build.systems()
    systems = build.rankings(names)
    rankings = {name: rankings for name, (rankings, _) in systems.items()}
    sources = [source for rows in build.parts for source in rows.sources]
    top = max(lists.top_grade for lists in rankings.values())
    runs = combine_shards([build.measured(systems)], ranked, (), build.run.columns, sources, top)
    return replace(runs, rankings=rankings, retrieved=build.retrieved(names))


def combine_shards(
    shards: Sequence[Measured],
    ranked: RankingInput,
    asks: Sequence[Ask],
    columns: Mapping[str, str],
    sources: Sequence[Source],
    top: float,
) -> Runs:
    """Combine the measured lists of shards, in the order of the queries' ids.

    asks: what was measured. columns: role -> column of the runs, as the page prints it. sources:
    the parts with their rows. top: the best grade of the scale. Raises
    InputError for what only all shards show: no judgement, or a system without a judged query.
    """
    query, order = _sorted_queries(shards)
    if not len(query):
        raise InputError(f"{sources[0].name}: the grade column holds no judgement")
    accounts = {
        name: sum((shard.accounts[name] for shard in shards), NOTHING)
        for name in shards[0].accounts
    }
    _refuse_other_queries(accounts, shards, query[0], ranked)
    return Runs(
        systems=tuple(accounts),
        accounts=accounts,
        attributes=_concatenated_attributes(shards, ranked.options.attributes, order),
        columns=columns,
        sources=tuple(sources),
        pooled_ideal=ranked.has_grades,
        all_relevant=ranked.all_relevant,
        rank_checks=ranked.rank_checks,
        negative=sum(shard.negative for shard in shards),
        judgements=sum(shard.judgements for shard in shards),
        unlisted=sum(shard.unlisted for shard in shards),
        query=query,
        top_grade=top,
        values=_concatenated_values(shards, asks, order),
    )


def _sorted_queries(shards: Sequence[Measured]) -> tuple[np.ndarray, Ints]:
    """The ids of the judged queries of all shards in order, and the place of each among them before
    they are sorted.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    query_ids = pa.chunked_array([shard.query for shard in shards])
    order = pc.sort_indices(query_ids).to_numpy()
    return np.array(query_ids.take(order).to_pylist(), dtype=object), order


def _concatenated_attributes(
    shards: Sequence[Measured], names: Sequence[str], order: Ints
) -> dict[str, np.ndarray]:
    """The attributes of the queries of all shards."""
    return {
        name: np.concatenate([shard.attributes[name] for shard in shards])[order] for name in names
    }


def _concatenated_values(
    shards: Sequence[Measured], asks: Sequence[Ask], order: Ints
) -> dict[tuple[str, Ask], Sums]:
    """The values of all shards, which are taken from them: two copies of all may not fit."""
    values = {}
    for system, number in [*shards[0].values]:
        sums = [shard.values.pop((system, number)) for shard in shards]
        numerator = np.concatenate([of_shard.numerator for of_shard in sums])[order]
        bottoms = [of_shard.denominator for of_shard in sums if of_shard.denominator is not None]
        denominator = np.concatenate(bottoms)[order] if bottoms else None
        values[system, asks[number]] = Sums(numerator, denominator)
    return values


def _refuse_other_queries(
    accounts: Mapping[str, ListAccount],
    shards: Sequence[Measured],
    judged: str,
    ranked: RankingInput,
) -> None:
    """Raise InputError for a system that returns no judged query, or no judged item, and for a
    table of queries without a judged one. judged: a judged query, for the message.
    """
    for name, account in accounts.items():
        if not account.used:
            has = next(
                (
                    shard.unjudged_queries[name]
                    for shard in shards
                    if name in shard.unjudged_queries
                ),
                "",
            )
            if not has:
                raise InputError(roles_of.sentence("own_documents_alone", system=name))
            raise InputError(
                roles_of.sentence("other_queries", system=name, query=has, judged=judged)
            )
        if account.unjudged == account.used and not ranked.has_grades:
            reason = "own_judged_alone" if ranked.options.leave_out else "unjudged_items"
            raise InputError(roles_of.sentence(reason, system=name))
    if ranked.queries and not any(shard.has_query_of_table for shard in shards):
        has = next(id for shard in shards for id in shard.first_id_of_query_table)
        raise roles_of.refused(ranked.queries[0].name, "other_table", query=has, judged=judged)


def despite_collisions(build: "Build", read: Callable[["Build"], Made]) -> Made:
    """Return read(build). Items are compared by hashes, which is quick; if two different items have
    the same hash, `read` runs again with items compared by their texts.
    """
    try:
        return read(build)
    except Collision:
        return read(replace(build, exact=True))


class QueryCodes(NamedTuple):
    """All query ids in the order of their bytes (`names`), and for each row of the runs, of the
    judgements and of the table of queries the index of its query among them.
    """

    names: np.ndarray
    run: Ints
    judged: Ints
    query_table: Ints


class SystemCodes(NamedTuple):
    """The systems in the order of their bytes, and the index of each row's system among them."""

    names: np.ndarray
    code: Ints


class Judgements(NamedTuple):
    """The rows and grades that count, one for each query and item in their order; negative: the
    number of grades below 0.
    """

    rows: Ints
    grade: Floats
    negative: int


class JudgedRows(NamedTuple):
    """The rows of runs that have a judgement, and the grade of each."""

    rows: Ints
    grade: Floats


class RankOrder(NamedTuple):
    """Rows list by list, best rank first, and which of them have the score of the one before."""

    rows: Ints
    tied: Bools


class OwnDocuments(NamedTuple):
    """The lists that return their query as an item, and which of them return it early."""

    lists: Ints
    is_early: Bools


@dataclass(frozen=True)
class Build:
    """The steps from checked rows to `Runs`: ids as numbers, rows in rank order, lists. Each is
    computed once.

    run, judged, query_table: the rows of the runs, of the judgements and of the table of queries;
    without a file of the last two, the rows of the runs stand for it. all_relevant: True if the
    judgements have no grades. exact: True if items are compared by their texts, not by hashes.
    """

    run: ListRows
    judged: ListRows
    query_table: ListRows
    options: ListOptions
    all_relevant: bool = False
    exact: bool = False

    @cached_property
    def _queries(self) -> QueryCodes:
        """The queries of all rows, by numbers."""
        parts = self.parts
        names, codes = ids.sorted_codes(*(rows.query for rows in parts))
        run, judged, query_table = (
            codes[parts.index(rows)] for rows in (self.run, self.judged, self.query_table)
        )
        return QueryCodes(names, run, judged, query_table)

    @property
    def parts(self) -> list[ListRows]:
        """The rows of the runs, of the judgements and of the table of queries, each once."""
        parts = [self.run]
        if self.judged is not self.run:
            parts.append(self.judged)
        if self.query_table is not self.run:
            parts.append(self.query_table)
        return parts

    @cached_property
    def _items(self) -> ListedItems:
        """The items of the runs and of the judgements."""
        return ListedItems(self.run, self.judged, self.exact)

    @cached_property
    def _systems(self) -> SystemCodes:
        """The systems of the rows of the runs, by numbers."""
        return SystemCodes(*ids.codes_of_systems(self.run.system))

    @cached_property
    def _judgements(self) -> Judgements:
        """The judgements that count. Raises InputError for two of one query and item."""
        grade = ids.concatenated(self.judged.grade)
        known = np.flatnonzero(~np.isnan(grade))
        key = ids.row_keys(self._queries.judged, len(self._queries.names), self._items.judged)
        ordered = ids.SortedKeys.sort(key if len(known) == len(key) else key[known])
        rows = known[ordered.order]
        grade = grade[rows]
        self._refuse_contradictions(rows, grade, np.flatnonzero(ordered.equals_previous))
        negative = ~ordered.equals_previous & (grade < 0)
        counts = ~ordered.equals_previous & (grade >= 0)
        if self.options.leave_out:
            counts &= ~listing.own_documents(self.judged)[rows]
        return Judgements(rows[counts], grade[counts], int(negative.sum()))

    def _refuse_contradictions(self, rows: Ints, grade: Floats, again: Ints) -> None:
        """Raise InputError for an item that a query has twice in a file of judgements, or with two
        grades; without grades, as of interactions, it is relevant however often it comes.

        again: the places of rows with the query and item of the row before.
        """
        self._items.refuse_collisions(self.judged, rows[again - 1], self.judged, rows[again])
        if self.judged is not self.run and again.size and not self.all_relevant:
            last = max(rows[again[0] - 1], rows[again[0]])
            pair = self._pair_of_row(self.judged, self._queries.judged, last)
            raise InputError(f"{self.judged.place(last)}: {pair} must appear once, got them again")
        conflict = again[grade[again - 1] != grade[again]]
        if conflict.size:
            two = slice(conflict[0] - 1, conflict[0] + 1)
            row = int(rows[two].max())
            low, high = np.sort(grade[two])
            pair = self._pair_of_row(self.judged, self._queries.judged, row)
            raise InputError(
                f"{self.judged.place(row)}: {pair} must have one grade, got {exact(low)} and "
                f"{exact(high)}"
            )

    def _pair_of_row(self, rows: ListRows, query: Ints, row: int) -> str:
        """The query and item of a row, for errors. query: the places of the rows' queries."""
        item = listing.items_of_rows(rows.item, np.array([row]))[0].as_py()
        return f"query {self._queries.names[query[row]]!r} and item {item!r}"

    @cached_property
    def _levels(self) -> Floats:
        """The distinct grades that count, ascending."""
        return np.unique(self._judgements.grade)

    @cached_property
    def _population(self) -> Ints:
        """The codes of the judged queries, ascending: every query of the judgements, also with
        nothing relevant.
        """
        query = self._queries.judged
        if self.judged is self.run:
            query = query[~np.isnan(ids.concatenated(self.judged.grade))]
        return np.flatnonzero(np.bincount(query, minlength=len(self._queries.names)))

    @cached_property
    def _list_of_row(self) -> Ints:
        """The list of each row of the run: system · queries + query."""
        if len(self._systems.names) == 1:
            return self._queries.run
        return self._systems.code * len(self._queries.names) + self._queries.run

    @cached_property
    def _judged_rows(self) -> JudgedRows:
        """The rows of the run that have a judgement, with their grades. Raises InputError for an
        item that a list has twice.
        """
        queries = len(self._queries.names)
        lists = len(self._systems.names) * queries
        ordered = ids.SortedKeys.sort(ids.row_keys(self._list_of_row, lists, self._items.run))
        if ordered.equals_previous.any():
            self._refuse_twice(ordered)
        judged = self._judgements
        first_lists = np.arange(len(self._systems.names)) * queries
        judged_lists = np.add.outer(first_lists, self._queries.judged[judged.rows]).ravel()
        judged_items = np.tile(self._items.judged[judged.rows], len(first_lists))
        number, rows = ordered.find(ids.row_keys(judged_lists, lists, judged_items))
        number %= max(len(judged.rows), 1)
        self._items.refuse_collisions(self.run, rows, self.judged, judged.rows[number])
        return JudgedRows(rows, judged.grade[number])

    def _refuse_twice(self, ordered: ids.SortedKeys) -> None:
        """Raise InputError for the first item that a list has twice, or Collision. ordered: the
        rows by list and item.
        """
        again = ordered.key[ordered.order[ordered.equals_previous.argmax()]]
        first, row = np.flatnonzero(ordered.key == again)[:2].tolist()
        self._items.refuse_collisions(self.run, np.array([first]), self.run, np.array([row]))
        pair = self._pair_of_row(self.run, self._queries.run, row)
        system = self._systems.names[self._systems.code[row]]
        error = f"{self.run.place(row)}: {pair} must appear once in system {system!r}"
        is_unnamed = isinstance(self.run.system[0], tuple) and "system" not in self.run.columns
        hint = ""
        if is_unnamed and self.run.columns:
            hint = "; no column names the system (system, model, run)"
        way = "if they are chunks of one item, keep the row with its best score or rank"
        raise InputError(f"{error}, got them again{hint}; {way}")

    def systems(self) -> list[str]:
        """The names of the requested systems, in order. Raises ParameterError for one that does not
        exist, and InputError for names that mean no name, or differ only in case.
        """
        names = self._systems.names.tolist()
        if "system" in self.run.columns and not self.options.systems:
            where = self.run.stretches[0][0].name
            roles_of.refuse_names(names, f"{where}: {self.run.columns['system']}", "systems")
        return roles_of.requested_systems(names, self.options.systems)

    def measured(
        self, systems: Mapping[str, tuple[Rankings, ListAccount]], asks: Sequence[Ask] = ()
    ) -> Measured:
        """The measured lists of each system. systems: the result of `rankings`."""
        import pyarrow as pa

        accounts = {name: account for name, (_, account) in systems.items()}
        return Measured(
            query=pa.array(self._queries.names[self._population], pa.large_string()),
            unjudged_queries=self._unjudged_queries(accounts),
            first_id_of_query_table=self.query_table.query[0].slice(0, 1).to_pylist(),
            attributes={name: self.attribute(name) for name in self.options.attributes},
            negative=self._judgements.negative,
            has_query_of_table=bool(np.isin(self._population, self._queries.query_table).any()),
            judgements=len(self._judgements.rows),
            unlisted=self._unlisted,
            accounts=accounts,
            values={
                (name, number): ask(rankings)
                for name, (rankings, _) in systems.items()
                for number, ask in enumerate(asks)
            },
        )

    def _unjudged_queries(self, accounts: Mapping[str, ListAccount]) -> dict[str, str]:
        """System -> the first query that it returns, of the systems that return no judged one."""
        first = {}
        for name, account in accounts.items():
            if account.rows and not account.used:
                code = np.flatnonzero(self._systems.names == name)[0]
                row = int((self._systems.code == code).argmax())
                first[name] = self._queries.names[self._queries.run[row]]
        return first

    def retrieved(self, names: Sequence[str]) -> Retrieved | None:
        """The items of the first rows of each list of these systems."""
        depth = listing.retrieved_depth(len(names) * len(self._population))
        if not depth:
            return None
        codes = np.concatenate([np.flatnonzero(self._systems.names == name) for name in names])
        lists = (codes[:, None] * len(self._queries.names) + self._population).ravel()
        length = np.minimum(self._offsets[lists + 1] - self._offsets[lists], depth)
        rows = self._rank_order.rows[listing.numbers_of_stretches(self._offsets[lists], length)]
        return Retrieved(partial(listing.items_of_rows, self.run.item, rows), length, names, depth)

    @cached_property
    def _unlisted(self) -> int:
        """The number of judgements of items that the table of items lacks; 0 without one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.options.stock is None:
            return 0
        items = listing.items_of_rows(self.judged.item, self._judgements.rows)
        known = pc.is_in(items, value_set=pa.array(self.options.stock, pa.large_string()))
        return len(items) - int(pc.sum(known).as_py() or 0)

    @cached_property
    def _whole_order(self) -> RankOrder:
        """All rows of the run in the order of ranks."""
        return RankOrder(
            *ids.rank_order(
                self._list_of_row, ids.concatenated(self.run.score), self._items.item_ranks
            )
        )

    @cached_property
    def _kept_places(self) -> Bools | slice:
        """The places of the order whose rows are not left out."""
        if not self.options.leave_out:
            return slice(None)
        remaining: Bools = ~listing.own_documents(self.run)[self._whole_order.rows]
        return remaining

    @cached_property
    def _rank_order(self) -> RankOrder:
        """The rows of the run in the order of ranks, without those that are left out."""
        if isinstance(self._kept_places, slice):
            return self._whole_order
        tied = self._whole_order.tied
        # a row behind the query's own document is tied with the row before that one
        after_own = np.append(False, ~self._kept_places[:-1])
        before_tied = np.append(False, tied[:-1])
        tied = tied & (~after_own | before_tied)
        return RankOrder(self._whole_order.rows[self._kept_places], tied[self._kept_places])

    @cached_property
    def _offsets(self) -> Ints:
        """Where each list begins among the ranked rows, and where the last one ends."""
        lists = len(self._systems.names) * len(self._queries.names)
        sizes = np.bincount(self._list_of_row[self._rank_order.rows], minlength=lists)
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def _own_documents(self) -> OwnDocuments:
        """The lists that return the query itself, and which of them return it in their first fifth;
        none if it is left out.
        """
        if self.options.leave_out:
            return OwnDocuments(np.zeros(0, np.int64), np.zeros(0, np.bool_))
        order = self._rank_order.rows
        place = np.flatnonzero(listing.own_documents(self.run)[order])
        lists = self._list_of_row[order[place]]
        is_early = (place - self._offsets[lists]) * EARLY < np.diff(self._offsets)[lists]
        return OwnDocuments(lists, is_early)

    def _own_documents_of(self, codes: Ints) -> OwnDocuments:
        """The lists of judged queries that return the query itself, of a system. codes: its place
        among the systems; none if it has no row.
        """
        lists, is_early = self._own_documents
        queries = len(self._queries.names)
        is_counted = np.isin(lists // queries, codes) & self._is_judged[lists % queries]
        return OwnDocuments(lists[is_counted], is_early[is_counted])

    @cached_property
    def _respelled(self) -> Ints:
        """The lists among whose first rows is an unjudged item that differs from a judged one of
        the query only in case or ending; none if there is none for a sample of the queries, as
        texts take long to compare.
        """
        queries = len(self._queries.names)
        sampled = self._respelled_of_queries(np.arange(queries) % max(1, queries // SAMPLED) == 0)
        return self._respelled_of_queries(np.ones(queries, np.bool_)) if sampled.size else sampled

    def _respelled_of_queries(self, is_compared: Bools) -> Ints:
        """The lists of `_respelled` that are of some queries. is_compared: True for these."""
        rows = self._unjudged_rows_on_top(is_compared)
        judged = self._judgements.rows
        judged = judged[is_compared[self._queries.judged[judged]]]
        if not len(rows) or not len(judged):
            return np.zeros(0, np.int64)
        lists = self._list_of_row[rows]
        is_near = listing.is_respelled(
            listing.items_of_rows(self.run.item, rows),
            lists % len(self._queries.names),
            listing.items_of_rows(self.judged.item, judged),
            self._queries.judged[judged],
        )
        return np.flatnonzero(np.bincount(lists[is_near], minlength=len(self._offsets) - 1))

    def _unjudged_rows_on_top(self, is_compared: Bools) -> Ints:
        """The rows without a judgement among the first of each list of some queries."""
        lists = len(self._offsets) - 1
        is_in = np.tile(is_compared, lists // max(len(is_compared), 1))
        depth = np.minimum(np.diff(self._offsets), TOP) * is_in
        rows = self._rank_order.rows[listing.numbers_of_stretches(self._offsets[:-1], depth)]
        return rows[~np.isin(rows, self._judged_rows.rows)]

    def rankings(
        self, names: Sequence[str], top: float | None = None
    ) -> dict[str, tuple[Rankings, ListAccount]]:
        """The rankings of each system, and the account of its rows. top: the best grade of the
        scale, if these rows are not all.
        """
        position = self._positions()
        order = self._whole_order.rows
        grades = listing.grades_in_order(*self._judged_rows, order, self._levels)
        lists = Lists(grades[self._kept_places], self._rank_order.tied, self._offsets, position)
        ideal = self._ideal_lists()
        best = float(ideal.grade.max(initial=0)) if top is None else top
        query = self._queries.names[self._population]
        systems = {}
        for name in names:
            of_system = self._lists_of(name, lists)
            judged = of_system
            if len(query) < len(self._is_judged):
                judged = of_system.take(self._is_judged)
            account = self._list_account(name, of_system, judged)
            systems[name] = (Rankings(query, judged, ideal, best), account)
        return systems

    def _positions(self) -> Ints | None:
        """The rank of each row in order where ranks are taken as they are and have gaps, else
        None.
        """
        if not any(block.any() for block in self.run.rank_is_position):
            return None
        is_ranked = ids.concatenated(self.run.rank_is_position)
        self._refuse_mixed_lists(is_ranked)
        rows, tied = self._rank_order
        score = ids.concatenated(self.run.score)
        return listing.positions(is_ranked[rows], score[rows], tied, self._offsets)

    def _refuse_mixed_lists(self, ranked: Bools) -> None:
        """Raise InputError if a list has rows with scores and rows with ranks."""
        count = np.bincount(self._list_of_row, minlength=1)
        both = np.bincount(self._list_of_row, ranked, minlength=1) % np.maximum(count, 1) > 0
        if both.any():
            system, query = divmod(int(both.argmax()), len(self._queries.names))
            named = {"system": self._systems.names[system], "query": self._queries.names[query]}
            raise InputError(roles_of.sentence("scores_and_ranks", **named))

    def _ideal_lists(self) -> Lists:
        """All grades of each query of the population, best first."""
        query = self._queries.judged[self._judgements.rows]
        count = np.bincount(query, minlength=len(self._queries.names))[self._population]
        grade = listing.grades_best_first(query, self._judgements.grade, self._levels)
        return Lists(grade, np.zeros(len(grade), bool), np.concatenate([[0], np.cumsum(count)]))

    @cached_property
    def _is_judged(self) -> Bools:
        """True for the queries of the population."""
        is_judged = np.zeros(len(self._queries.names), bool)
        is_judged[self._population] = True
        return is_judged

    def _lists_of(self, name: str, lists: Lists) -> Lists:
        """One system's list of every query, from the lists of all systems in sequence."""
        queries = len(self._queries.names)
        ends = np.full(queries + 1, len(lists.grade))  # of a system without a row in this shard
        for code in np.flatnonzero(self._systems.names == name):
            ends = lists.offset[code * queries : (code + 1) * queries + 1]
        rows = slice(ends[0], ends[-1])
        position = None if lists.position is None else lists.position[rows]
        return Lists(lists.grade[rows], lists.tied[rows], ends - ends[0], position)

    def _list_account(self, name: str, lists: Lists, judged: Lists) -> ListAccount:
        """Count how the rows of a system were used.

        name: the system. lists: its list of every query, also those without a row. judged: its
        lists of the judged queries.
        """
        queries = len(self._queries.names)
        codes = np.flatnonzero(self._systems.names == name)
        rows = lists.length
        ranks = listing.rank_gaps(judged)
        own_is_early = self._own_documents_of(codes).is_early
        return ListAccount(
            rows=len(lists.grade),
            used=len(judged.grade),
            unjudged_query=len(lists.grade) - len(judged.grade),
            missing=int((rows[self._is_judged] == 0).sum()),
            extra=int((rows[~self._is_judged] > 0).sum()),
            tied=int(judged.tied.sum()),
            unjudged=int(np.isnan(judged.grade).sum()),
            late=ranks.late,
            gaps=ranks.gaps,
            own=len(own_is_early),
            own_early=int(own_is_early.sum()),
            respelled=int(np.isin(self._respelled // queries, codes).sum()),
        )

    def attribute(self, name: str) -> np.ndarray:
        """One text per query. Raises InputError if a query has two."""
        values, (value,) = ids.sorted_codes([block[name] for block in self.query_table.attributes])
        query = self._queries.run if self.query_table is self.run else self._queries.query_table
        first = np.full(len(self._queries.names), -1)
        first[query[::-1]] = value[::-1]
        differs = np.flatnonzero(first[query] != value)
        if differs.size:
            row = int(differs[0])
            a, b = sorted(_shown(values, code) for code in (first[query[row]], value[row]))
            of = self._queries.names[query[row]]
            raise roles_of.refused(
                self.query_table.place(row), "two_values", column=name, first=a, second=b, query=of
            )
        return np.array([_shown(values, code) for code in first[self._population]], dtype=object)


def _shown(values: np.ndarray, code: int) -> str:
    return NONE if code < 0 or values[code] is None else values[code]
