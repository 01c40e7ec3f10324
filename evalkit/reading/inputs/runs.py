"""Turns runs and judgements into `Rankings`, for all systems by the same rules.

Ranks: by score in double precision, highest first; ties by item id in UTF-8 bytes, highest first,
as in trec_eval. Queries: those with a judgement, in the order of their ids. A query that a system
lacks has an empty list.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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
from evalkit.reading.tables import columns as column_roles, ids, trec
from evalkit.reading.tables.ids import RankOrder, SystemCodes
from evalkit.reading.tables.parts import Source
from evalkit.reading.tables.table import NONE

if TYPE_CHECKING:
    import pyarrow as pa

Result = TypeVar("Result")
# computes one value per query; to be measured in shards it must be hashable, and fit to be pickled
Ask = Callable[[Rankings], Sums]
NO_ROWS = ListAccount(0, 0, 0, 0, 0, 0, 0)
TOP = 10  # rows of a list whose items are compared with those that are judged
SAMPLED = 500  # queries whose items are compared first
EARLY = 5  # a query in the first fifth of its list stands early


@dataclass(frozen=True, eq=False)
class Runs:
    """Every system's rankings over the same queries, the attributes of each query, and the accounts
    of the rows.

    accounts: system -> how its rows were used. query: the ids of all judged queries. top_grade: the
    highest grade of a judged query. attributes: name of a column -> one text per query. columns:
    role -> column, as the page prints it. pooled_ideal: True without a file of judgements, so that
    the ideal ranking knows only returned rows. negative: the number of judgements below 0, which
    count as not judged. rankings: system -> its rankings, if they are in memory; else values:
    (system, ask) -> one value per query. retrieved: the items of the first rows of each list; None
    if there are too many to keep. judgements: their number; unlisted: the number of those of items
    that the table of items lacks. all_relevant: True if judgements have no grades. rank_checks:
    system -> how often the scores of a TREC run contradict its ranks.
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
        """Some of the queries; the accounts stay those of all rows. member: True for these."""
        return replace(
            self,
            query=self.query[member],
            attributes={name: texts[member] for name, texts in self.attributes.items()},
            values={key: values.take(member) for key, values in self.values.items()},
            rankings={name: rankings.take(member) for name, rankings in self.rankings.items()},
            retrieved=self.retrieved and self.retrieved.take(member),
        )

    def measure(self, system: str, ask: Ask) -> Sums:
        """One value per query, computed from a system's rankings; if these are not in memory, it
        was computed when they were read.
        """
        if self.rankings:
            return ask(self.rankings[system])
        return self.values[system, ask]


@dataclass(frozen=True, eq=False)
class Measured:
    """The lists of some queries measured: one value per judged query.

    query: the ids of the judged queries, as Arrow text. unjudged_queries: system -> a query that it
    returns, of the systems that return no judged one. first_id_of_query_table: a list of one id,
    empty if the table is empty. has_query_of_table: True if the table of queries has a judged
    query. negative, judgements, unlisted, accounts: as in `Runs`, of these queries. values:
    (system, number of the ask) -> its values; it has the number because a worker need not be able
    to send the ask itself back.
    """

    query: "pa.Array"
    unjudged_queries: dict[str, str]
    first_id_of_query_table: list[str]
    attributes: dict[str, np.ndarray]
    negative: int
    has_query_of_table: bool
    judgements: int
    unlisted: int
    accounts: Mapping[str, ListAccount]
    values: dict[tuple[str, int], Sums]


def read(preds: object, qrels: object = None, **chosen: Any) -> Runs:
    """Rankings from a file, folder, glob pattern, frame or list of these; `qrels` holds the
    judgements.

    preds: a long table (system, query, item, score or rank, grade), a wide one (a column of scores
    for each system) or TREC runs. chosen: the fields of `ListOptions`. Raises InputError, with
    file, column, row and value, for invalid values.
    """
    return rankings_of(RankingInput.from_data(preds, qrels, **chosen))


def rankings_of(ranked: RankingInput) -> Runs:
    """The rankings of an input whose rows fit into memory. Raises InputError as `read` does."""
    run = ranked.rows(RUN)
    judged = run if ranked.has_grades else ranked.rows(JUDGED)
    # rows of the runs stand for a table that is not given
    query_table = run if ranked.queries is None else ranked.rows(QUERY_TABLE)
    build = Build(run, judged, query_table, ranked.options, ranked.all_relevant)
    return despite_collisions(build, partial(_runs_of_all_rows, ranked=ranked))


def _runs_of_all_rows(build: "Build", ranked: RankingInput) -> Runs:
    """The rankings of all systems, from all rows, which are a single shard.

    build: made from all rows of `ranked`. The shard is measured without asks: `Runs` keeps the
    rankings, from which each value is computed when it is needed.
    """
    names = build.systems()
    systems = build.rankings(names)
    rankings = {name: system.rankings for name, system in systems.items()}
    sources: list[Source] = []
    for rows in build.parts:
        sources += rows.sources
    top = max(of_system.top_grade for of_system in rankings.values())
    only_shard = build.measured(systems)
    runs = combine_shards([only_shard], ranked, (), build.run.columns, sources, top)
    return replace(runs, rankings=rankings, retrieved=build.retrieved(names))


def combine_shards(
    shards: Sequence[Measured],
    ranked: RankingInput,
    asks: Sequence[Ask],
    columns: Mapping[str, str],
    sources: Sequence[Source],
    top: float,
) -> Runs:
    """Combine the measured lists of shards, each of which has other queries, in the order of the
    queries' ids.

    ranked: the input that was measured. asks: what was measured; a shard knows each ask by its
    number here. columns: role -> column of the runs, as the page prints it. sources: the parts with
    their rows. top: the best grade of the scale. Raises InputError for what only all shards show:
    no judgement, a system without a judged query or a judged item, and a table of queries without a
    judged query.
    """
    query, order = _sorted_queries(shards)
    if not len(query):
        raise InputError(f"{sources[0].name}: the grade column holds no judgement")
    accounts = {}
    for name in shards[0].accounts:  # every shard counts every system
        accounts[name] = sum((shard.accounts[name] for shard in shards), NO_ROWS)
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
    """The ids of the judged queries of all shards in order, and the place of each in the
    concatenated shards.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    query_ids = pa.chunked_array([shard.query for shard in shards])
    order = pc.sort_indices(query_ids).to_numpy()
    return np.array(query_ids.take(order).to_pylist(), dtype=object), order


def _concatenated_attributes(
    shards: Sequence[Measured], names: Sequence[str], order: Ints
) -> dict[str, np.ndarray]:
    """Attribute -> the text of each query of all shards. order: as `_sorted_queries` returns it."""
    attributes = {}
    for name in names:
        texts = [shard.attributes[name] for shard in shards]
        attributes[name] = np.concatenate(texts)[order]
    return attributes


def _concatenated_values(
    shards: Sequence[Measured], asks: Sequence[Ask], order: Ints
) -> dict[tuple[str, Ask], Sums]:
    """(System, ask) -> its value for each query of all shards.

    The values are removed from the shards, because two copies of all may not fit into memory. asks:
    those of the numbers in the shards. order: as `_sorted_queries` returns it.
    """
    values = {}
    for system, number in list(shards[0].values):
        sums = [shard.values.pop((system, number)) for shard in shards]
        numerator = np.concatenate([of_shard.numerator for of_shard in sums])[order]
        # an ask has a denominator in every shard, or in none: then each query counts once
        denominators = [
            of_shard.denominator for of_shard in sums if of_shard.denominator is not None
        ]
        denominator = np.concatenate(denominators)[order] if denominators else None
        values[system, asks[number]] = Sums(numerator, denominator)
    return values


def _refuse_other_queries(
    accounts: Mapping[str, ListAccount],
    shards: Sequence[Measured],
    judged: str,
    ranked: RankingInput,
) -> None:
    """Raise InputError for a system that returns no judged query, or no judged item, and for a
    table of queries without a judged one.

    accounts: system -> the account of all shards. judged: a judged query, for the message. ranked:
    the input of the shards.
    """
    for name, account in accounts.items():
        if not account.used:  # none of its rows belongs to a judged query
            queries = [
                shard.unjudged_queries[name] for shard in shards if name in shard.unjudged_queries
            ]
            if not queries:  # all its rows are the queries' own documents, which are left out
                raise InputError(column_roles.sentence("own_documents_alone", system=name))
            raise InputError(
                column_roles.sentence("other_queries", system=name, query=queries[0], judged=judged)
            )
        # ids of items that are spelled differently in runs and judgements match nowhere; if the
        # runs hold the grades, there is only one spelling
        if account.unjudged == account.used and not ranked.has_grades:
            reason = "own_judged_alone" if ranked.options.leave_out else "unjudged_items"
            raise InputError(column_roles.sentence(reason, system=name))
    if ranked.queries and not any(shard.has_query_of_table for shard in shards):
        query = next(chain.from_iterable(shard.first_id_of_query_table for shard in shards))
        raise column_roles.refused(
            ranked.queries[0].name, "other_table", query=query, judged=judged
        )


def despite_collisions(build: "Build", read: Callable[["Build"], Result]) -> Result:
    """The result of `read(build)`, which compares items by hashes, as that is quick; if two
    different items have the same hash, that of reading again with items compared by their texts.
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


class OwnDocuments(NamedTuple):
    """The lists that return their query as an item, and which of them return it early."""

    lists: Ints
    is_early: Bools


class SystemRankings(NamedTuple):
    """The rankings of a system, and how its rows were used."""

    rankings: Rankings
    account: ListAccount


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
        """The queries of all rows, as numbers."""
        # the runs may stand for the judgements or the table of queries, and then give their codes
        parts = self.parts
        names, codes = ids.sorted_codes(*(rows.query for rows in parts))
        return QueryCodes(
            names,
            run=codes[parts.index(self.run)],
            judged=codes[parts.index(self.judged)],
            query_table=codes[parts.index(self.query_table)],
        )

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
        """The systems of the rows of the runs, as numbers."""
        return ids.codes_of_systems(self.run.system)

    @cached_property
    def _judgements(self) -> Judgements:
        """The judgements that count, each pair of a query and an item once.

        A row with an empty grade is no judgement. A grade below 0 counts as not judged, and is only
        counted. A query's own document is left out of its judgements if it is left out of its list.
        Raises InputError for pairs that have several, as `_refuse_contradictions` does.
        """
        grades = ids.concatenated(self.judged.grade)
        graded = np.flatnonzero(~np.isnan(grades))
        key = ids.row_keys(self._queries.judged, len(self._queries.names), self._items.judged)
        if len(graded) < len(key):  # all keys, without a copy, if every row has a grade
            key = key[graded]
        by_query_and_item = ids.SortedKeys.sort(key)
        rows = graded[by_query_and_item.order]
        grade = grades[rows]
        is_repeated = by_query_and_item.equals_previous
        self._refuse_contradictions(rows, grade, np.flatnonzero(is_repeated))
        is_negative = ~is_repeated & (grade < 0)
        is_counted = ~is_repeated & (grade >= 0)
        if self.options.leave_out:
            is_counted &= ~listing.own_documents(self.judged)[rows]
        return Judgements(rows[is_counted], grade[is_counted], int(is_negative.sum()))

    def _refuse_contradictions(self, rows: Ints, grade: Floats, repeated: Ints) -> None:
        """Raise InputError for an item that a query has twice in a file of judgements, or with two
        grades.

        Runs with a column of grades repeat a judgement, once for each system: it must only have the
        same grade in all of their rows. Without grades, as of interactions, an item is relevant
        however often it comes. Raises Collision for two items with the same hash.

        rows, grade: of the judgements, ordered by query and item. repeated: the places among them
        whose query and item are those of the place before.
        """
        before = repeated - 1
        self._items.refuse_collisions(self.judged, rows[before], self.judged, rows[repeated])
        must_be_once = self.judged is not self.run and not self.all_relevant
        is_refused = np.full(len(repeated), must_be_once) | (grade[before] != grade[repeated])
        if not is_refused.any():
            return
        first = repeated[is_refused.argmax()]
        row = int(max(rows[first - 1], rows[first]))  # the later one in the file repeats the other
        pair = self._pair_of_row(self.judged, self._queries.judged, row)
        fault = "must appear once, got them again"
        if not must_be_once:
            low, high = sorted((grade[first - 1], grade[first]))
            fault = f"must have one grade, got {exact(low)} and {exact(high)}"
        raise InputError(f"{self.judged.place(row)}: {pair} {fault}")

    def _pair_of_row(self, rows: ListRows, query: Ints, row: int) -> str:
        """The query and item of a row, for errors. query: the number of each row's query."""
        item = listing.items_of_rows(rows.item, np.array([row]))[0].as_py()
        return f"query {self._queries.names[query[row]]!r} and item {item!r}"

    @cached_property
    def _levels(self) -> Floats:
        """The distinct grades that count, ascending."""
        return np.unique(self._judgements.grade)

    @cached_property
    def _judged_queries(self) -> Ints:
        """The codes of the judged queries, ascending: every query of the judgements, also with
        nothing relevant.
        """
        query = self._queries.judged
        if self.judged is self.run:
            query = query[~np.isnan(ids.concatenated(self.judged.grade))]
        return np.flatnonzero(np.bincount(query, minlength=len(self._queries.names)))

    @cached_property
    def _list_of_row(self) -> Ints:
        """The number of the list of each row of the run: system · number of queries + query."""
        if len(self._systems.names) == 1:
            return self._queries.run
        return self._systems.code * len(self._queries.names) + self._queries.run

    @cached_property
    def _judged_rows(self) -> JudgedRows:
        """The rows of the run that have a judgement, with their grades. Raises InputError for an
        item that a list has twice.
        """
        queries = len(self._queries.names)
        systems = len(self._systems.names)
        lists = systems * queries
        key = ids.row_keys(self._list_of_row, lists, self._items.run)
        by_list_and_item = ids.SortedKeys.sort(key)
        if by_list_and_item.equals_previous.any():
            self._refuse_twice(by_list_and_item)
        # Each judgement is looked up in the list of its query of the first system, then all are
        # looked up again for the next system: place = system · number of judgements + judgement
        judgements = self._judgements
        first_lists = np.arange(systems) * queries
        judged_lists = np.add.outer(first_lists, self._queries.judged[judgements.rows]).ravel()
        judged_items = np.tile(self._items.judged[judgements.rows], systems)
        matches = by_list_and_item.find(ids.row_keys(judged_lists, lists, judged_items))
        judgement = matches.place % max(len(judgements.rows), 1)
        judged_rows = judgements.rows[judgement]
        self._items.refuse_collisions(self.run, matches.row, self.judged, judged_rows)
        return JudgedRows(matches.row, judgements.grade[judgement])

    def _refuse_twice(self, ordered: ids.SortedKeys) -> None:
        """Raise InputError for the first item that a list has twice, or Collision. ordered: the
        rows by list and item.
        """
        repeated_key = ordered.key[ordered.order[ordered.equals_previous.argmax()]]
        first, row = np.flatnonzero(ordered.key == repeated_key)[:2].tolist()
        self._items.refuse_collisions(self.run, np.array([first]), self.run, np.array([row]))
        pair = self._pair_of_row(self.run, self._queries.run, row)
        system = self._systems.names[self._systems.code[row]]
        error = f"{self.run.place(row)}: {pair} must appear once in system {system!r}"
        is_named_by_part = isinstance(self.run.system[0], ids.OnlySystem)
        hint = ""
        if is_named_by_part and self.run.columns and "system" not in self.run.columns:
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
            column_roles.refuse_names(names, f"{where}: {self.run.columns['system']}", "systems")
        return column_roles.requested_systems(names, self.options.systems)

    def measured(self, systems: Mapping[str, SystemRankings], asks: Sequence[Ask] = ()) -> Measured:
        """The measured lists of each system: the value of each ask on each judged query.

        systems: the result of `rankings`. asks: empty if the rankings themselves are kept.
        """
        import pyarrow as pa

        accounts = {name: system.account for name, system in systems.items()}
        values = {}
        for name, system in systems.items():
            for number, ask in enumerate(asks):
                values[name, number] = ask(system.rankings)
        return Measured(
            query=pa.array(self._queries.names[self._judged_queries], pa.large_string()),
            unjudged_queries=self._unjudged_queries(accounts),
            first_id_of_query_table=self.query_table.query[0].slice(0, 1).to_pylist(),
            attributes={name: self.attribute(name) for name in self.options.attributes},
            negative=self._judgements.negative,
            has_query_of_table=bool(self._is_judged_query[self._queries.query_table].any()),
            judgements=len(self._judgements.rows),
            unlisted=self._unlisted,
            accounts=accounts,
            values=values,
        )

    def _unjudged_queries(self, accounts: Mapping[str, ListAccount]) -> dict[str, str]:
        """System -> the first query that it returns, of the systems that return no judged one.

        accounts: system -> how its rows were used.
        """
        queries = {}
        for name, account in accounts.items():
            if account.rows and not account.used:
                code = np.flatnonzero(self._systems.names == name)[0]
                row = int((self._systems.code == code).argmax())  # the first one of the system
                queries[name] = self._queries.names[self._queries.run[row]]
        return queries

    def retrieved(self, names: Sequence[str]) -> Retrieved | None:
        """The items of the first rows of each list of these systems, for judged queries; None if
        there are so many lists that too few rows of each would fit into memory.
        """
        depth = listing.retrieved_depth(len(names) * len(self._judged_queries))
        if not depth:
            return None
        codes = np.concatenate([np.flatnonzero(self._systems.names == name) for name in names])
        first_lists = codes * len(self._queries.names)  # of each system
        lists = np.add.outer(first_lists, self._judged_queries).ravel()
        starts = self._offsets[lists]
        length = np.minimum(self._offsets[lists + 1] - starts, depth)
        rows = self._rank_order.rows[listing.numbers_of_stretches(starts, length)]
        items = partial(listing.items_of_rows, self.run.item, rows)  # read when they are needed
        return Retrieved(items, length, names, depth)

    @cached_property
    def _unlisted(self) -> int:
        """The number of judgements of items that the table of items lacks; 0 without one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.options.catalogue_ids is None:
            return 0
        items = listing.items_of_rows(self.judged.item, self._judgements.rows)
        is_listed = pc.is_in(
            items, value_set=pa.array(self.options.catalogue_ids, pa.large_string())
        )
        return len(items) - int(pc.sum(is_listed).as_py() or 0)

    @cached_property
    def _whole_order(self) -> RankOrder:
        """All rows of the run in the order of ranks."""
        score = ids.concatenated(self.run.score)
        return ids.rank_order(self._list_of_row, score, self._items.item_ranks)

    @cached_property
    def _kept_places(self) -> Bools | slice:
        """The places in `_whole_order` whose rows are not left out, as the queries' own documents
        may be.
        """
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
        # A row is tied if it has the list and score of the row before. Behind a left-out row it is
        # compared with the row before that one, so that both must be tied. Two left-out rows of a
        # list do not follow each other: an item that a list has twice is refused.
        is_after_left_out = np.append(False, ~self._kept_places[:-1])
        is_previous_tied = np.append(False, tied[:-1])
        tied = tied & (~is_after_left_out | is_previous_tied)
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
        """The lists of judged queries that return the query itself, of one system. codes: its
        number, as an array that is empty if the system has no row.
        """
        documents = self._own_documents
        system, query = np.divmod(documents.lists, len(self._queries.names))
        is_counted = np.isin(system, codes) & self._is_judged_query[query]
        return OwnDocuments(documents.lists[is_counted], documents.is_early[is_counted])

    @cached_property
    def _respelled(self) -> Ints:
        """The lists among whose first rows is an unjudged item that differs from a judged one of
        the query only in case or ending.

        Texts take long to compare: if there is none for a sample of the queries, there is none.
        """
        queries = len(self._queries.names)
        is_sampled = np.arange(queries) % max(1, queries // SAMPLED) == 0
        of_sample = self._respelled_of_queries(is_sampled)
        if not of_sample.size:
            return of_sample
        return self._respelled_of_queries(np.ones(queries, np.bool_))

    def _respelled_of_queries(self, is_compared: Bools) -> Ints:
        """The numbers of the lists of some queries, as `_respelled` finds them, ascending.

        is_compared: True for each query that is compared.
        """
        rows = self._unjudged_rows_on_top(is_compared)
        judged = self._judgements.rows
        judged = judged[is_compared[self._queries.judged[judged]]]
        if not len(rows) or not len(judged):
            return np.zeros(0, np.int64)
        lists = self._list_of_row[rows]
        is_near = listing.is_respelled(
            listing.items_of_rows(self.run.item, rows),
            lists % len(self._queries.names),  # the query of each list
            listing.items_of_rows(self.judged.item, judged),
            self._queries.judged[judged],
        )
        return np.flatnonzero(np.bincount(lists[is_near], minlength=len(self._offsets) - 1))

    def _unjudged_rows_on_top(self, is_compared: Bools) -> Ints:
        """The rows without a judgement among the first rows of each list of some queries.
        is_compared: True for these queries.
        """
        # the lists of a system follow each other, one for each query
        is_list_compared = np.tile(is_compared, len(self._systems.names))
        depth = np.minimum(np.diff(self._offsets), TOP) * is_list_compared  # 0 for other lists
        rows = self._rank_order.rows[listing.numbers_of_stretches(self._offsets[:-1], depth)]
        is_judged = np.zeros(len(self._list_of_row), np.bool_)
        is_judged[self._judged_rows.rows] = True
        return rows[~is_judged[rows]]

    def rankings(self, names: Sequence[str], top: float | None = None) -> dict[str, SystemRankings]:
        """System -> its rankings of the judged queries, with the account of its rows.

        A system without a row here has empty lists. names: the requested systems. top: the best
        grade of the scale; None if these rows are all, so that the best grade is one of theirs.
        """
        position = self._positions()
        judged_rows = self._judged_rows
        # of all rows of the run, also of those that are left out of the lists
        grades = listing.grades_in_order(
            judged_rows.rows, judged_rows.grade, self._whole_order.rows, self._levels
        )
        lists = Lists(grades[self._kept_places], self._rank_order.tied, self._offsets, position)
        ideal = self._ideal_lists()
        best = float(ideal.grade.max(initial=0)) if top is None else top
        query = self._queries.names[self._judged_queries]
        systems = {}
        for name in names:
            of_system = self._lists_of(name, lists)
            judged = of_system
            if len(query) < len(self._is_judged_query):  # without a copy if all queries are judged
                judged = of_system.take(self._is_judged_query)
            account = self._list_account(name, of_system, judged)
            systems[name] = SystemRankings(Rankings(query, judged, ideal, best), account)
        return systems

    def _positions(self) -> Ints | None:
        """The rank of each row, in the order of ranks. None if each row's rank is its number in its
        list: no row states a rank that counts, or no stated rank differs from the row's number.
        Raises InputError for a list of scores and ranks.
        """
        if not any(block.any() for block in self.run.rank_is_position):
            return None
        is_ranked = ids.concatenated(self.run.rank_is_position)
        self._refuse_mixed_lists(is_ranked)
        order = self._rank_order
        score = ids.concatenated(self.run.score)
        return listing.positions(
            is_ranked[order.rows], score[order.rows], order.tied, self._offsets
        )

    def _refuse_mixed_lists(self, is_ranked: Bools) -> None:
        """Raise InputError if a list has rows with scores and rows with ranks. is_ranked: True for
        each row with a rank.
        """
        rows = np.bincount(self._list_of_row, minlength=1)
        ranked_rows = np.bincount(self._list_of_row, is_ranked, minlength=1)
        is_mixed = (ranked_rows > 0) & (ranked_rows < rows)
        if is_mixed.any():
            system, query = divmod(int(is_mixed.argmax()), len(self._queries.names))
            raise InputError(
                column_roles.sentence(
                    "scores_and_ranks",
                    system=self._systems.names[system],
                    query=self._queries.names[query],
                )
            )

    def _ideal_lists(self) -> Lists:
        """All grades of each judged query, best first."""
        query = self._queries.judged[self._judgements.rows]
        count = np.bincount(query, minlength=len(self._queries.names))[self._judged_queries]
        grade = listing.grades_best_first(query, self._judgements.grade, self._levels)
        return Lists(grade, np.zeros(len(grade), bool), np.concatenate([[0], np.cumsum(count)]))

    @cached_property
    def _is_judged_query(self) -> Bools:
        """True for each query that is judged."""
        is_judged = np.zeros(len(self._queries.names), bool)
        is_judged[self._judged_queries] = True
        return is_judged

    def _lists_of(self, name: str, lists: Lists) -> Lists:
        """One system's list of every query, from the lists of all systems in sequence.

        name: of the system. lists: system by system the list of every query, also empty ones.
        """
        queries = len(self._queries.names)
        codes = np.flatnonzero(self._systems.names == name)
        if len(codes):
            first_list = codes[0] * queries
            ends = lists.offset[first_list : first_list + queries + 1]
        else:  # a system without a row in this shard has empty lists
            ends = np.full(queries + 1, len(lists.grade))
        rows = slice(ends[0], ends[-1])
        position = None if lists.position is None else lists.position[rows]
        return Lists(lists.grade[rows], lists.tied[rows], ends - ends[0], position)

    def _list_account(self, name: str, lists: Lists, judged: Lists) -> ListAccount:
        """Count how the rows of a system were used; each count is explained in `ListAccount`.

        name: of the system. lists: its list of every query, also those without a row. judged: its
        lists of the judged queries.
        """
        queries = len(self._queries.names)
        codes = np.flatnonzero(self._systems.names == name)  # empty without a row in this shard
        rows = lists.length
        ranks = listing.rank_gaps(judged)
        own_is_early = self._own_documents_of(codes).is_early  # of each list that returns its query
        system_of_respelled = self._respelled // queries  # a list is system · queries + query
        return ListAccount(
            rows=len(lists.grade),
            used=len(judged.grade),
            unjudged_query=len(lists.grade) - len(judged.grade),
            missing=int((rows[self._is_judged_query] == 0).sum()),
            extra=int((rows[~self._is_judged_query] > 0).sum()),
            tied=int(judged.tied.sum()),
            unjudged=int(np.isnan(judged.grade).sum()),
            late=ranks.late,
            gaps=ranks.gaps,
            own=len(own_is_early),
            own_early=int(own_is_early.sum()),
            respelled=int(np.isin(system_of_respelled, codes).sum()),
        )

    def attribute(self, name: str) -> np.ndarray:
        """The text of an attribute for each judged query. Raises InputError if a query has two."""
        texts, (code,) = ids.sorted_codes([block[name] for block in self.query_table.attributes])
        query = self._queries.run if self.query_table is self.run else self._queries.query_table
        first = np.full(len(self._queries.names), -1)  # the text of each query's first row
        first[query[::-1]] = code[::-1]
        differing = np.flatnonzero(first[query] != code)
        if differing.size:
            row = int(differing[0])
            codes = (first[query[row]], code[row])
            low, high = sorted(_text_or_none(texts, code_of_row) for code_of_row in codes)
            raise column_roles.refused(
                self.query_table.place(row),
                "two_values",
                column=name,
                first=low,
                second=high,
                query=self._queries.names[query[row]],
            )
        codes_of_judged = first[self._judged_queries]
        return np.array([_text_or_none(texts, i) for i in codes_of_judged], dtype=object)


def _text_or_none(texts: np.ndarray, code: int) -> str:
    """The text with a number; "(none)" for an empty one, or for a query without a row, −1."""
    return NONE if code < 0 or texts[code] is None else texts[code]
