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
from evalkit.reading.inputs.lists import Collision, ListAccount, ListedItems, RetrievedItems
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
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE

if TYPE_CHECKING:
    import pyarrow as pa

Result = TypeVar("Result")
# computes one value per query; to be measured in shards it must be hashable, and fit to be pickled
QueryMeasure = Callable[[Rankings], Sums]
NO_ROWS = ListAccount(0, 0, 0, 0, 0, 0, 0)  # where a sum of accounts begins
TOP = 10  # rows of a list whose items are compared with those that are judged
SAMPLED = 500  # queries whose items are compared first
EARLY = 5  # an item in the first fifth of its list stands early


@dataclass(frozen=True, eq=False)
class Runs:
    """Every system's rankings over the same queries, the attributes of each query, and the accounts
    of the rows.

    list_accounts: system -> how its rows were used. query: the ids of all judged queries.
    top_grade: the highest grade of a judged query. attributes: name of a column -> one text per
    query. columns: role -> column, as the page prints it. pooled_ideal: True without a file of
    judgements, so that the ideal ranking knows only returned rows. negative: the number of
    judgements below 0, which count as not judged. rankings: system -> its rankings, if they are in
    memory; else values: (system, measure) -> one value per query. retrieved_items: the items of the
    first rows of each list; None if there are too many to keep. judgements: their number; unlisted:
    the number of those of items that the table of items lacks. all_relevant: True if judgements
    have no grades. rank_checks: system -> how often the scores of a TREC run contradict its ranks.
    """

    systems: tuple[str, ...]
    list_accounts: Mapping[str, ListAccount]
    attributes: Mapping[str, np.ndarray]
    columns: Mapping[str, str]
    sources: tuple[Source, ...]
    pooled_ideal: bool
    negative: int
    query: np.ndarray
    top_grade: float
    values: Mapping[tuple[str, QueryMeasure], Sums] = field(default_factory=dict)
    rankings: Mapping[str, Rankings] = field(default_factory=dict)
    retrieved_items: RetrievedItems | None = None
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
            retrieved_items=self.retrieved_items and self.retrieved_items.take(member),
        )

    def measure(self, system: str, query_measure: QueryMeasure) -> Sums:
        """One value per query, computed from a system's rankings; if these are not in memory, it
        was computed when they were read.
        """
        if self.rankings:
            return query_measure(self.rankings[system])
        return self.values[system, query_measure]


@dataclass(frozen=True, eq=False)
class MeasuredShard:
    """The lists of some queries measured: one value per judged query.

    query: the ids of the judged queries, as Arrow text. unjudged_queries: system -> a query that it
    returns, of the systems that return no judged one. first_id_of_query_table: a list of one id,
    empty if the table is empty. has_query_of_table: True if the table of queries has a judged
    query. negative, judgements, unlisted, list_accounts: as in `Runs`, of these queries. values:
    (system, number of the measure) -> its values; it has the number because a worker need not be
    able to send the measure itself back.
    """

    query: "pa.Array"
    unjudged_queries: dict[str, str]
    first_id_of_query_table: list[str]
    attributes: dict[str, np.ndarray]
    negative: int
    has_query_of_table: bool
    judgements: int
    unlisted: int
    list_accounts: Mapping[str, ListAccount]
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
    """Read all rows of an input, which fit into memory, and rank them. Raises InputError as `read`
    does.
    """
    run_rows = ranked.rows(RUN)
    judgement_rows = run_rows  # with a column of grades the rows of the runs are judgements too
    if not ranked.has_grades:
        judgement_rows = ranked.rows(JUDGED)
    query_table_rows = run_rows  # without a table of queries, the runs hold their segments
    if ranked.queries is not None:
        query_table_rows = ranked.rows(QUERY_TABLE)
    builder = RankingBuilder(
        run_rows, judgement_rows, query_table_rows, ranked.options, ranked.all_relevant
    )
    return despite_collisions(builder, partial(_runs_of_all_rows, ranked=ranked))


def _runs_of_all_rows(builder: "RankingBuilder", ranked: RankingInput) -> Runs:
    """The rankings of all systems, kept in memory, so that any measure can be computed from them
    later. builder: made from all rows of `ranked`.
    """
    names = builder.systems()
    systems = builder.rankings(names)
    rankings = {name: system.rankings for name, system in systems.items()}
    sources: list[Source] = []
    for rows in builder.parts:
        sources += rows.sources
    top = max(rankings_of_system.top_grade for rankings_of_system in rankings.values())
    # the same checks and counts as for an input in shards; no measure is computed yet
    only_shard = builder.measured(systems)
    runs = combine_shards([only_shard], ranked, (), builder.run_rows.columns, sources, top)
    return replace(runs, rankings=rankings, retrieved_items=builder.retrieved_items(names))


def combine_shards(
    shards: Sequence[MeasuredShard],
    ranked: RankingInput,
    query_measures: Sequence[QueryMeasure],
    columns: Mapping[str, str],
    sources: Sequence[Source],
    top: float,
) -> Runs:
    """Concatenate the values per query of shards, of which no two have the same query, in the order
    of the queries' ids, and add up their counts.

    ranked: the input. query_measures: shards have their values by their index here. columns: role
    -> column of the runs, as the page prints it. sources: files and frames, with their numbers of
    rows. top: the best grade of the scale. Raises InputError for what only all shards together
    show: no judgement, a system or a table of queries without a judged query.
    """
    query, order = _sorted_queries(shards)
    if not len(query):
        raise InputError(f"{sources[0].name}: the grade column holds no judgement")
    accounts = {}
    for name in shards[0].list_accounts:  # every shard counts every system
        accounts[name] = sum((shard.list_accounts[name] for shard in shards), NO_ROWS)
    _refuse_other_queries(accounts, shards, query[0], ranked)
    return Runs(
        systems=tuple(accounts),
        list_accounts=accounts,
        attributes=_concatenated_attributes(shards, ranked.options.attributes, order),
        columns=columns,
        sources=tuple(sources),
        pooled_ideal=ranked.has_grades,  # grades beside the runs are those of returned items alone
        all_relevant=ranked.all_relevant,
        rank_checks=ranked.rank_checks,
        negative=sum(shard.negative for shard in shards),
        judgements=sum(shard.judgements for shard in shards),
        unlisted=sum(shard.unlisted for shard in shards),
        query=query,
        top_grade=top,
        values=_concatenated_values(shards, query_measures, order),
    )


def _sorted_queries(shards: Sequence[MeasuredShard]) -> tuple[np.ndarray, Ints]:
    """The ids of the judged queries of all shards in order, and the place of each in the
    concatenated shards.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    query_ids = pa.chunked_array([shard.query for shard in shards])
    order = pc.sort_indices(query_ids).to_numpy()
    return np.array(query_ids.take(order).to_pylist(), dtype=object), order


def _concatenated_attributes(
    shards: Sequence[MeasuredShard], names: Sequence[str], order: Ints
) -> dict[str, np.ndarray]:
    """Attribute, such as country -> its text for each query of all shards, sorted by query.

    names: those of the attributes. order: the index in the concatenated shards of each query, in
    the order of their ids.
    """
    attributes = {}
    for name in names:
        texts = [shard.attributes[name] for shard in shards]
        attributes[name] = np.concatenate(texts)[order]
    return attributes


def _concatenated_values(
    shards: Sequence[MeasuredShard], query_measures: Sequence[QueryMeasure], order: Ints
) -> dict[tuple[str, QueryMeasure], Sums]:
    """(System, measure) -> its numerators and denominators for the queries of all shards.

    They are removed from the shards, because two copies of all may not fit into memory.
    query_measures: shards have their values by their index here. order: the index in the
    concatenated shards of each query, in the order of their ids.
    """
    values = {}
    for system, measure_index in list(shards[0].values):
        sums = [shard.values.pop((system, measure_index)) for shard in shards]
        numerator = np.concatenate([shard_sums.numerator for shard_sums in sums])[order]
        denominator = None  # the measure is a plain mean over the queries
        denominators = [
            shard_sums.denominator for shard_sums in sums if shard_sums.denominator is not None
        ]
        if denominators:  # a measure with a denominator has it in every shard
            denominator = np.concatenate(denominators)[order]
        values[system, query_measures[measure_index]] = Sums(numerator, denominator)
    return values


def _refuse_other_queries(
    accounts: Mapping[str, ListAccount],
    shards: Sequence[MeasuredShard],
    judged: str,
    ranked: RankingInput,
) -> None:
    """Raise InputError if ids do not match: for a system without a row of a judged query, or
    without a judged item, and for a table of queries without a judged query.

    accounts: system -> how its rows in all shards were used. judged: a judged query, for the
    message. ranked: the input of the shards.
    """
    for name, account in accounts.items():
        if not account.used:  # none of its rows belongs to a judged query
            queries = [
                shard.unjudged_queries[name] for shard in shards if name in shard.unjudged_queries
            ]
            if not queries:  # each of its rows has its query as the item, and is left out
                raise InputError(column_roles.sentence("own_documents_alone", system=name))
            raise InputError(
                column_roles.sentence("other_queries", system=name, query=queries[0], judged=judged)
            )
        # Items that are spelled differently in runs and judgements match nowhere. Grades beside
        # the runs are about their own items, and an unjudged item is only an empty cell.
        if account.unjudged == account.used and not ranked.has_grades:
            message = "own_judged_alone" if ranked.options.leave_out else "unjudged_items"
            raise InputError(column_roles.sentence(message, system=name))
    if ranked.queries and not any(shard.has_query_of_table for shard in shards):
        ids_of_table = chain.from_iterable(shard.first_id_of_query_table for shard in shards)
        raise column_roles.refused(
            ranked.queries[0].name, "other_table", query=next(ids_of_table), judged=judged
        )


def despite_collisions(
    builder: "RankingBuilder", read: Callable[["RankingBuilder"], Result]
) -> Result:
    """The result of `read(builder)`, which compares items by hashes, as that is quick; if two
    different items have the same hash, that of reading again with items compared by their texts.
    """
    try:
        return read(builder)
    except Collision:
        return read(replace(builder, compares_texts=True))


class QueryCodes(NamedTuple):
    """All query ids in the order of their bytes (`names`), and for each row of the runs, of the
    judgements and of the table of queries the index of its query among them.
    """

    names: np.ndarray
    run_codes: Ints
    judgement_codes: Ints
    query_table_codes: Ints


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
class RankingBuilder:
    """The steps from checked rows to `Runs`: ids as numbers, rows in rank order, lists. Each is
    computed once.

    run_rows, judgement_rows, query_table_rows: the rows of the runs, of the judgements and of the
    table of queries; without a file of the last two, they are the rows of the runs. all_relevant:
    True if the judgements have no grades. compares_texts: True if items are compared by their
    texts; False for hashes of them, which is quicker.
    """

    run_rows: ListRows
    judgement_rows: ListRows
    query_table_rows: ListRows
    options: ListOptions
    all_relevant: bool = False
    compares_texts: bool = False

    @cached_property
    def _query_codes(self) -> QueryCodes:
        """The query of each row as a number: the index of its id among all ids, sorted."""
        tables = self.parts  # if the runs are the judgements too, they are encoded once
        names, codes = ids.sorted_codes(*(rows.query for rows in tables))
        return QueryCodes(
            names,
            run_codes=codes[tables.index(self.run_rows)],
            judgement_codes=codes[tables.index(self.judgement_rows)],
            query_table_codes=codes[tables.index(self.query_table_rows)],
        )

    @property
    def parts(self) -> list[ListRows]:
        """The rows of the runs, of the judgements and of the table of queries; those of the runs
        only once, if they stand for the others too, so that nothing is encoded or counted twice.
        """
        parts = [self.run_rows]
        if self.judgement_rows is not self.run_rows:
            parts.append(self.judgement_rows)
        if self.query_table_rows is not self.run_rows:
            parts.append(self.query_table_rows)
        return parts

    @cached_property
    def _items(self) -> ListedItems:
        """The items of the runs and of the judgements."""
        return ListedItems(self.run_rows, self.judgement_rows, self.compares_texts)

    @cached_property
    def _systems(self) -> SystemCodes:
        """The systems of the rows of the runs, as numbers."""
        return ids.codes_of_systems(self.run_rows.system)

    @cached_property
    def _judgements(self) -> Judgements:
        """The judgements that count, each pair of a query and an item once.

        A row with an empty grade is no judgement; a grade below 0 says that the item was not
        judged. A judgement of an item that is its own query is left out if such rows of the runs
        are (`leave_out`). Raises InputError for a pair that must not occur twice, and does.
        """
        grades = ids.concatenated(self.judgement_rows.grade)
        graded_rows = np.flatnonzero(~np.isnan(grades))
        # one 64-bit number per pair of query and item, by which equal pairs become neighbours
        key = ids.row_keys(
            self._query_codes.judgement_codes,
            len(self._query_codes.names),
            self._items.judgement_keys,
        )
        if len(graded_rows) < len(key):  # without a copy if every row has a grade
            key = key[graded_rows]
        by_query_and_item = ids.SortedKeys.sort(key)
        rows = graded_rows[by_query_and_item.order]
        grade = grades[rows]
        is_repeated = by_query_and_item.equals_previous
        self._refuse_contradictions(rows, grade, np.flatnonzero(is_repeated))
        is_negative = ~is_repeated & (grade < 0)
        is_counted = ~is_repeated & (grade >= 0)
        if self.options.leave_out:
            is_counted &= ~listing.own_documents(self.judgement_rows)[rows]
        return Judgements(rows[is_counted], grade[is_counted], int(is_negative.sum()))

    def _refuse_contradictions(self, rows: Ints, grade: Floats, repeated: Ints) -> None:
        """Raise InputError for a pair of query and item that a file of judgements has twice, or
        that has two grades; Collision if two different items have the same hash.

        rows, grade: row number and grade of each judgement, sorted by query and item. repeated:
        the indices in them of judgements with the query and item of the one before.
        """
        before = repeated - 1
        self._items.refuse_collisions(
            self.judgement_rows, rows[before], self.judgement_rows, rows[repeated]
        )
        # Grades that stand beside the runs are repeated in the rows of each system. Without grades,
        # such as in a log of purchases, an item is relevant however often it occurs.
        must_be_once = self.judgement_rows is not self.run_rows and not self.all_relevant
        is_refused = np.full(len(repeated), must_be_once) | (grade[before] != grade[repeated])
        if not is_refused.any():
            return
        first = repeated[is_refused.argmax()]  # argmax of a mask: the first True
        # equal keys are sorted in any order; in the file the later row repeats the earlier one
        row = int(max(rows[first - 1], rows[first]))
        pair = self._pair_of_row(self.judgement_rows, self._query_codes.judgement_codes, row)
        fault = "must appear once, got them again"
        if not must_be_once:
            low, high = sorted((grade[first - 1], grade[first]))
            fault = f"must have one grade, got {exact(low)} and {exact(high)}"
        raise InputError(f"{self.judgement_rows.place(row)}: {pair} {fault}")

    def _pair_of_row(self, rows: ListRows, query: Ints, row: int) -> str:
        """The query and item of a row, for errors. query: the number of each row's query."""
        item = listing.items_of_rows(rows.item, np.array([row]))[0].as_py()
        return f"query {self._query_codes.names[query[row]]!r} and item {item!r}"

    @cached_property
    def _levels(self) -> Floats:
        """The distinct grades that count, ascending."""
        return np.unique(self._judgements.grade)

    @cached_property
    def _judged_queries(self) -> Ints:
        """The numbers of the judged queries, ascending: of all that have a judgement, even if no
        item is relevant.
        """
        query = self._query_codes.judgement_codes
        if self.judgement_rows is self.run_rows:  # a row of a run with an empty grade is unjudged
            query = query[~np.isnan(ids.concatenated(self.judgement_rows.grade))]
        return np.flatnonzero(np.bincount(query, minlength=len(self._query_codes.names)))

    @cached_property
    def _list_of_row(self) -> Ints:
        """The number of the list that each row of the runs belongs to; there is one list per system
        and query. It is system · number of queries + query, all counted from 0.
        """
        if len(self._systems.names) == 1:
            return self._query_codes.run_codes
        return self._systems.code * len(self._query_codes.names) + self._query_codes.run_codes

    @cached_property
    def _judged_rows(self) -> JudgedRows:
        """The rows of the runs whose item has a judgement for their query, with its grade.

        Each judgement is looked up in every system's list of its query. Raises InputError for an
        item that a list has twice, Collision if items with the same hash are different.
        """
        queries = len(self._query_codes.names)
        systems = len(self._systems.names)
        lists = systems * queries
        keys_of_rows = ids.row_keys(self._list_of_row, lists, self._items.run_keys)
        rows_by_key = ids.SortedKeys.sort(keys_of_rows)
        if rows_by_key.equals_previous.any():
            self._refuse_twice(rows_by_key)
        # all judgements with the lists of the first system, then all with those of the next one
        judgements = self._judgements
        queries_of_judgements = self._query_codes.judgement_codes[judgements.rows]
        first_list_of_system = np.arange(systems) * queries  # numbered as in `_list_of_row`
        wanted_lists = np.add.outer(first_list_of_system, queries_of_judgements).ravel()
        wanted_items = np.tile(self._items.judgement_keys[judgements.rows], systems)
        matches = rows_by_key.find(ids.row_keys(wanted_lists, lists, wanted_items))
        # the number of the judgement, without the system; max: there may be no judgement
        judgement = matches.key_index % max(len(judgements.rows), 1)
        # keys are made of hashes of items, and equal hashes may be those of different items
        self._items.refuse_collisions(
            self.run_rows, matches.row, self.judgement_rows, judgements.rows[judgement]
        )
        return JudgedRows(matches.row, judgements.grade[judgement])

    def _refuse_twice(self, ordered: ids.SortedKeys) -> None:
        """Raise InputError for the first item that a list has twice, or Collision. ordered: the
        rows by list and item.
        """
        repeated_key = ordered.key[ordered.order[ordered.equals_previous.argmax()]]
        first, row = np.flatnonzero(ordered.key == repeated_key)[:2].tolist()
        self._items.refuse_collisions(
            self.run_rows, np.array([first]), self.run_rows, np.array([row])
        )
        pair = self._pair_of_row(self.run_rows, self._query_codes.run_codes, row)
        system = self._systems.names[self._systems.code[row]]
        error = f"{self.run_rows.place(row)}: {pair} must appear once in system {system!r}"
        is_named_by_part = isinstance(self.run_rows.system[0], ids.OnlySystem)
        hint = ""
        if is_named_by_part and self.run_rows.columns and "system" not in self.run_rows.columns:
            hint = "; no column names the system (system, model, run)"
        way = "if they are chunks of one item, keep the row with its best score or rank"
        raise InputError(f"{error}, got them again{hint}; {way}")

    def systems(self) -> list[str]:
        """The names of the requested systems, sorted; of all if none is requested. Raises
        ParameterError for one that does not exist, and InputError for names in a column of systems
        that mean "no name" or differ only in case, unless the user requests some of them.
        """
        names = self._systems.names.tolist()
        if "system" in self.run_rows.columns and not self.options.systems:
            column = f"{self.run_rows.first_input_name}: {self.run_rows.columns['system']}"
            column_roles.refuse_names(names, column, parameter="systems")
        return column_roles.requested_systems(names, self.options.systems)

    def measured(
        self, systems: Mapping[str, SystemRankings], query_measures: Sequence[QueryMeasure] = ()
    ) -> MeasuredShard:
        """The value of each measure for each system and judged query, with counts of the rows and
        judgements.

        systems: the result of `rankings`. query_measures: none if the rankings stay in memory, from
        which measures are then computed.
        """
        import pyarrow as pa

        accounts = {name: system.account for name, system in systems.items()}
        values = {}
        for name, system in systems.items():
            for measure_index, query_measure in enumerate(query_measures):
                values[name, measure_index] = query_measure(system.rankings)
        first_query_of_table = self.query_table_rows.query[0].slice(0, 1)  # empty without rows
        return MeasuredShard(
            query=pa.array(self._query_codes.names[self._judged_queries], pa.large_string()),
            unjudged_queries=self._unjudged_queries(accounts),
            first_id_of_query_table=first_query_of_table.to_pylist(),
            attributes={name: self.attribute(name) for name in self.options.attributes},
            negative=self._judgements.negative,
            has_query_of_table=bool(
                self._is_judged_query[self._query_codes.query_table_codes].any()
            ),
            judgements=len(self._judgements.rows),
            unlisted=self._unlisted,
            list_accounts=accounts,
            values=values,
        )

    def _unjudged_queries(self, accounts: Mapping[str, ListAccount]) -> dict[str, str]:
        """System -> the id of the query of its first row, for each system that has rows but none
        of a judged query, for an error. accounts: system -> how its rows were used.
        """
        first_queries = {}
        for name, account in accounts.items():
            if account.rows and not account.used:
                system_code = np.flatnonzero(self._systems.names == name)[0]
                first_row = int((self._systems.code == system_code).argmax())
                query_code = self._query_codes.run_codes[first_row]
                first_queries[name] = self._query_codes.names[query_code]
        return first_queries

    def retrieved_items(self, names: Sequence[str]) -> RetrievedItems | None:
        """The items of the first rows of each list of these systems, for judged queries; None if
        there are so many lists that too few rows of each would fit into memory.

        names: those of the systems, each of which has rows.
        """
        rows_per_list = listing.retrieved_depth(len(names) * len(self._judged_queries))
        if not rows_per_list:
            return None
        # the number of each system, by which its lists are numbered
        codes = np.concatenate([np.flatnonzero(self._systems.names == name) for name in names])
        first_list_of_system = codes * len(self._query_codes.names)  # numbered as in `_list_of_row`
        lists = np.add.outer(first_list_of_system, self._judged_queries).ravel()
        starts = self._offsets[lists]
        length = np.minimum(self._offsets[lists + 1] - starts, rows_per_list)
        places = listing.concatenated_ranges(starts, length)  # in the order of ranks
        # the texts of the items are read when they are needed
        items = partial(listing.items_of_rows, self.run_rows.item, self._rank_order.rows[places])
        return RetrievedItems(items, length, names, rows_per_list)

    @cached_property
    def _unlisted(self) -> int:
        """The number of judgements whose item the user's table of items lacks: no system could
        return it. 0 without such a table.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.options.catalogue_ids is None:
            return 0
        items = listing.items_of_rows(self.judgement_rows.item, self._judgements.rows)
        is_listed = pc.is_in(
            items, value_set=pa.array(self.options.catalogue_ids, pa.large_string())
        )
        listed = pc.sum(is_listed).as_py() or 0  # Arrow's sum is None without judgements
        return len(items) - int(listed)

    @cached_property
    def _order_of_all_rows(self) -> RankOrder:
        """All rows of the run in the order of ranks."""
        score = ids.concatenated(self.run_rows.score)
        return ids.rank_order(self._list_of_row, score, self._items.item_ranks)

    @cached_property
    def _is_kept_in_order(self) -> Bools | slice:
        """A mask of the rows that are not left out, list by list from the first rank on. Rows whose
        item is their query are left out if the user says so (`leave_out`).
        """
        if not self.options.leave_out:
            return slice(None)  # selects all rows without a copy
        is_own_document = listing.own_documents(self.run_rows)
        is_kept: Bools = ~is_own_document[self._order_of_all_rows.rows]
        return is_kept

    @cached_property
    def _rank_order(self) -> RankOrder:
        """The rows of the runs, list by list from the first rank on, without those that are left
        out, and whether each is tied: it has the list and score of the row before.
        """
        is_kept = self._is_kept_in_order
        if isinstance(is_kept, slice):  # all are kept
            return self._order_of_all_rows
        tied = self._order_of_all_rows.tied
        # Behind a left-out row, the row before is the second one before: a row is tied with it if
        # it is tied with the left-out row, and this with the row before. A list has its query as
        # an item once at most, so that two left-out rows of a list do not follow each other.
        is_after_left_out = np.append(False, ~is_kept[:-1])
        is_previous_tied = np.append(False, tied[:-1])
        tied = tied & (~is_after_left_out | is_previous_tied)
        return RankOrder(self._order_of_all_rows.rows[is_kept], tied[is_kept])

    @cached_property
    def _offsets(self) -> Ints:
        """For each list, by its number, the place in `_rank_order` at which its rows begin, and
        last the place behind all rows: list i has the rows from offset i to offset i + 1.
        """
        # every system has a list of every query, which is empty if it returns nothing
        lists = len(self._systems.names) * len(self._query_codes.names)
        rows_per_list = np.bincount(self._list_of_row[self._rank_order.rows], minlength=lists)
        return np.concatenate([[0], np.cumsum(rows_per_list)])

    @cached_property
    def _own_documents(self) -> OwnDocuments:
        """The lists that return their own query as an item, and whether each has it in its first
        fifth: a trivial match, for which a similarity search may look good. Empty if the user
        leaves such rows out.
        """
        if self.options.leave_out:
            return OwnDocuments(np.zeros(0, np.int64), np.zeros(0, np.bool_))
        order = self._rank_order.rows
        is_own_document = listing.own_documents(self.run_rows)
        place = np.flatnonzero(is_own_document[order])  # in the order of ranks
        lists = self._list_of_row[order[place]]
        rows_above = place - self._offsets[lists]
        length = np.diff(self._offsets)[lists]
        return OwnDocuments(lists, is_early=rows_above * EARLY < length)

    def _own_documents_of(self, codes: Ints) -> OwnDocuments:
        """The lists of one system that return their own query as an item, of judged queries.

        codes: an array with the number of the system; empty if the system has no row here.
        """
        documents = self._own_documents
        # the number of a list is system · number of queries + query
        system, query = np.divmod(documents.lists, len(self._query_codes.names))
        is_counted = np.isin(system, codes) & self._is_judged_query[query]
        return OwnDocuments(documents.lists[is_counted], documents.is_early[is_counted])

    @cached_property
    def _respelled(self) -> Ints:
        """The numbers of the lists that have, among their first rows, an unjudged item that differs
        from a judged one of the query only in case or ending: a sign of ids that do not match.

        Texts take long to compare. So a sample of queries, evenly spaced, is looked through first;
        if it has no such list, the result is empty, as a system spells all of its ids alike.
        """
        queries = len(self._query_codes.names)
        is_sampled = np.arange(queries) % max(1, queries // SAMPLED) == 0
        lists_of_sample = self._respelled_of_queries(is_sampled)
        if not lists_of_sample.size:
            return lists_of_sample
        is_any_query = np.ones(queries, np.bool_)
        return self._respelled_of_queries(is_any_query)

    def _respelled_of_queries(self, is_compared: Bools) -> Ints:
        """The numbers of the lists, ascending, that have among their first rows an unjudged item
        which differs from a judged one of the query only in case or ending.

        is_compared: True for each query whose lists are looked through.
        """
        unjudged_rows = self._unjudged_rows_on_top(is_compared)
        judged_rows = self._judgements.rows  # numbers of rows of the judgements
        judged_rows = judged_rows[is_compared[self._query_codes.judgement_codes[judged_rows]]]
        if not len(unjudged_rows) or not len(judged_rows):
            return np.zeros(0, np.int64)
        lists = self._list_of_row[unjudged_rows]
        is_respelled = listing.is_respelled(
            items=listing.items_of_rows(self.run_rows.item, unjudged_rows),
            query=lists
            % len(self._query_codes.names),  # a list is system · number of queries + query
            judged=listing.items_of_rows(self.judgement_rows.item, judged_rows),
            judged_query=self._query_codes.judgement_codes[judged_rows],
        )
        return np.unique(lists[is_respelled])

    def _unjudged_rows_on_top(self, is_compared: Bools) -> Ints:
        """The numbers of the rows without a judgement among the first `TOP` rows of lists.

        is_compared: True for each query whose lists are looked through.
        """
        # lists are numbered system by system, each system with one list per query
        is_list_compared = np.tile(is_compared, len(self._systems.names))
        length = np.diff(self._offsets)
        rows_per_list = np.minimum(length, TOP) * is_list_compared  # 0 for lists of other queries
        places = listing.concatenated_ranges(self._offsets[:-1], rows_per_list)
        top_rows = self._rank_order.rows[places]
        is_judged = np.zeros(len(self._list_of_row), np.bool_)
        is_judged[self._judged_rows.rows] = True
        return top_rows[~is_judged[top_rows]]

    def rankings(self, names: Sequence[str], top: float | None = None) -> dict[str, SystemRankings]:
        """System -> its rankings of the judged queries, and how its rows were used.

        names: the requested systems; one without a row in this shard has empty lists. top: the best
        grade of the scale; None if there is no other shard: then the best grade of a judgement.
        """
        judged_rows = self._judged_rows
        grades_of_all_rows = listing.grades_in_order(
            judged_rows.rows, judged_rows.grade, self._order_of_all_rows.rows, self._levels
        )
        lists_of_all_systems = Lists(
            grades_of_all_rows[self._is_kept_in_order],
            self._rank_order.tied,
            self._offsets,
            self._positions(),
        )
        ideal_lists = self._ideal_lists()
        if top is None:
            top = float(ideal_lists.grade.max(initial=0))
        query = self._query_codes.names[self._judged_queries]
        systems = {}
        for name in names:
            all_lists = self._lists_of(name, lists_of_all_systems)
            judged_lists = all_lists
            if len(query) < len(self._is_judged_query):  # without a copy if all queries are judged
                judged_lists = all_lists.take(self._is_judged_query)
            account = self._list_account(name, all_lists, judged_lists)
            rankings = Rankings(query, judged_lists, ideal_lists, top)
            systems[name] = SystemRankings(rankings, account)
        return systems

    def _positions(self) -> Ints | None:
        """The rank that the input states for each row, list by list from the first rank on. None if
        the rows of every list are ranked 1, 2, 3, …, stated or not. Raises InputError for a list
        with both ranks and scores.
        """
        if not any(block.any() for block in self.run_rows.rank_is_position):
            return None  # no rank is stated: rows are counted
        has_rank = ids.concatenated(self.run_rows.rank_is_position)
        self._refuse_mixed_lists(has_rank)
        negated_rank = ids.concatenated(self.run_rows.score)  # of rows that state a rank
        order = self._rank_order
        return listing.positions(
            has_rank[order.rows], negated_rank[order.rows], order.tied, self._offsets
        )

    def _refuse_mixed_lists(self, is_ranked: Bools) -> None:
        """Raise InputError if a list has rows with scores and rows with ranks. is_ranked: True for
        each row with a rank.
        """
        rows = np.bincount(self._list_of_row, minlength=1)
        ranked_rows = np.bincount(self._list_of_row, is_ranked, minlength=1)
        is_mixed = (ranked_rows > 0) & (ranked_rows < rows)
        if is_mixed.any():
            system, query = divmod(int(is_mixed.argmax()), len(self._query_codes.names))
            raise InputError(
                column_roles.sentence(
                    "scores_and_ranks",
                    system=self._systems.names[system],
                    query=self._query_codes.names[query],
                )
            )

    def _ideal_lists(self) -> Lists:
        """For each judged query the ranking that no system can beat: its judged items, best grade
        first.
        """
        query = self._query_codes.judgement_codes[self._judgements.rows]
        length = np.bincount(query, minlength=len(self._query_codes.names))[self._judged_queries]
        offset = np.concatenate([[0], np.cumsum(length)])  # where each list begins
        grade = listing.grades_best_first(query, self._judgements.grade, self._levels)
        tied = np.zeros(len(grade), bool)  # the order of equal grades changes no metric
        return Lists(grade, tied, offset)

    @cached_property
    def _is_judged_query(self) -> Bools:
        """For each query of the input, by its number, True if it has a judgement. Metrics are only
        defined for these.
        """
        is_judged = np.zeros(len(self._query_codes.names), bool)
        is_judged[self._judged_queries] = True
        return is_judged

    def _lists_of(self, name: str, lists: Lists) -> Lists:
        """One system's list of every query, cut out of the lists of all systems.

        name: of the system. lists: one list per system and query, also empty ones: those of the
        first system, then those of the next.
        """
        queries = len(self._query_codes.names)
        system_number = np.flatnonzero(self._systems.names == name)  # empty if it has no row here
        if len(system_number):
            first_list = system_number[0] * queries
            offset = lists.offset[first_list : first_list + queries + 1]  # where each list begins
        else:  # all of its lists are empty: they begin and end behind the last row
            offset = np.full(queries + 1, len(lists.grade))
        rows = slice(offset[0], offset[-1])
        position = None  # as in `lists`: rows have no ranks but their numbers
        if lists.position is not None:
            position = lists.position[rows]
        return Lists(lists.grade[rows], lists.tied[rows], offset - offset[0], position)

    def _list_account(self, name: str, all_lists: Lists, judged_lists: Lists) -> ListAccount:
        """Count how the rows of a system were used; each count is explained in `ListAccount`.

        name: of the system. all_lists: its list of every query, some without a row. judged_lists:
        those of the judged queries.
        """
        queries = len(self._query_codes.names)
        codes = np.flatnonzero(self._systems.names == name)  # empty without a row in this shard
        rows_per_list = all_lists.length
        ranks = listing.rank_gaps(judged_lists)
        own_is_early = self._own_documents_of(codes).is_early  # of each list that returns its query
        system_of_respelled = self._respelled // queries  # a list is system · queries + query
        return ListAccount(
            rows=len(all_lists.grade),
            used=len(judged_lists.grade),
            unjudged_query=len(all_lists.grade) - len(judged_lists.grade),
            missing=int((rows_per_list[self._is_judged_query] == 0).sum()),
            extra=int((rows_per_list[~self._is_judged_query] > 0).sum()),
            tied=int(judged_lists.tied.sum()),
            unjudged=int(np.isnan(judged_lists.grade).sum()),  # a row without a judgement is NaN
            late=ranks.late,
            gaps=ranks.gaps,
            own=len(own_is_early),
            own_early=int(own_is_early.sum()),
            respelled=int(np.isin(system_of_respelled, codes).sum()),
        )

    def attribute(self, name: str) -> np.ndarray:
        """The text of an attribute for each judged query. Raises InputError if a query has two."""
        texts, (code,) = ids.sorted_codes(
            [block[name] for block in self.query_table_rows.attributes]
        )
        query = (
            self._query_codes.run_codes
            if self.query_table_rows is self.run_rows
            else self._query_codes.query_table_codes
        )
        first = np.full(len(self._query_codes.names), -1)  # the text of each query's first row
        first[query[::-1]] = code[::-1]
        differing = np.flatnonzero(first[query] != code)
        if differing.size:
            row = int(differing[0])
            codes = (first[query[row]], code[row])
            low, high = sorted(_text_or_none(texts, code_of_row) for code_of_row in codes)
            raise column_roles.refused(
                self.query_table_rows.place(row),
                "two_values",
                column=name,
                first=low,
                second=high,
                query=self._query_codes.names[query[row]],
            )
        codes_of_judged = first[self._judged_queries]
        return np.array([_text_or_none(texts, i) for i in codes_of_judged], dtype=object)


def _text_or_none(texts: np.ndarray, code: int) -> str:
    """The text with a number; "(none)" for an empty one, or for a query without a row, −1."""
    return EMPTY_ATTRIBUTE if code < 0 or texts[code] is None else texts[code]
