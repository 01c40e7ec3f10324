"""Turns runs and judgements into `Rankings`, for all systems by the same rules.

Ranks: by score in double precision, highest first; ties by item id in UTF-8 bytes, highest first,
as in trec_eval. Queries: those with a judgement, in the order of their ids. A query that a system
lacks has an empty list.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from evalkit.arrays import Bools, Floats, InputError, Ints
from evalkit.metrics.rankings import Lists, Rankings
from evalkit.metrics.rows import Sums
from evalkit.numbers import exact
from evalkit.reading.inputs import lists as listed
from evalkit.reading.inputs.lists import Account, Collision, ListedItems, Retrieved
from evalkit.reading.inputs.rows import BESIDE, JUDGED, RUN, ListOptions, Ranked, Rows
from evalkit.reading.tables import columns as roles_of, ids
from evalkit.reading.tables.parts import Source

Made = TypeVar("Made")
Ask = Callable[
    [Rankings], Sums
]  # one value a query; where shards are measured, hashable and fit to be pickled
NOTHING = Account(0, 0, 0, 0, 0, 0, 0)
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
    """

    systems: tuple[str, ...]
    accounts: Mapping[str, Account]
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

    first, beside: of each system none of whose queries is judged one of these, and one of the table
    of queries. values: of each system by its name, and of each ask by its number, as asks need not
    be fit to be sent back.
    """

    query: Any
    first: dict[str, str]
    beside: list[str]
    attributes: dict[str, np.ndarray]
    negative: int
    shared: bool
    judgements: int
    unlisted: int
    accounts: Mapping[str, Account]
    values: dict[tuple[str, int], Sums]


def read(preds: Any, qrels: Any = None, **chosen: Any) -> Runs:
    """Rankings from a file, folder, glob pattern, frame or list of these; `qrels` holds the
    judgements.

    preds: a long table (system, query, item, score or rank, grade), a wide one (a column of scores
    for each system) or TREC runs. chosen: the fields of `ListOptions`. Raises InputError, with
    file, column, row and value, for invalid values.
    """
    return of(Ranked.of(preds, qrels, **chosen))


def of(ranked: Ranked) -> Runs:
    """The rankings of an input, as `read`."""
    run = ranked.rows(RUN)
    judged = run if ranked.graded else ranked.rows(JUDGED)
    beside = run if ranked.queries is None else ranked.rows(BESIDE)
    return built(Build(run, judged, beside, ranked.options), partial(_whole, ranked=ranked))


def _whole(build: "Build", ranked: Ranked) -> Runs:
    """All lists in memory."""
    names = build.systems()
    lists = build.built(names)
    sources = [source for rows in build.parts for source in rows.sources]
    top = max(rankings.top_grade for rankings, _ in lists.values())
    runs = gathered([build.measured(lists)], ranked, (), build.run.columns, sources, top)
    rankings = {name: rankings for name, (rankings, _) in lists.items()}
    return replace(runs, rankings=rankings, retrieved=build.retrieved(names))


def gathered(
    shards: Sequence[Measured],
    ranked: Ranked,
    asks: Sequence[Ask],
    columns: Mapping[str, str],
    sources: Sequence[Source],
    top: float,
) -> Runs:
    """The lists of the shards in the order of the queries' ids. Raises what concerns the input as a
    whole.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts, systems = pa.chunked_array([shard.query for shard in shards]), tuple(shards[0].accounts)
    if not len(texts):
        raise InputError(f"{sources[0].name}: the grade column holds no judgement")
    order = pc.sort_indices(texts).to_numpy()
    query = np.array(texts.take(order).to_pylist(), dtype=object)
    accounts = {name: sum((shard.accounts[name] for shard in shards), NOTHING) for name in systems}
    _check(accounts, shards, query[0], ranked)

    def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(np.concatenate(parts)[order])

    values: dict[tuple[str, Ask], Sums] = {}
    for name, i in [*shards[0].values]:
        parts = [
            shard.values.pop((name, i)) for shard in shards
        ]  # one by one, as two copies of all need not fit
        bottom = [part.denominator for part in parts if part.denominator is not None]
        values[name, asks[i]] = Sums(
            joined([part.numerator for part in parts]), *([joined(bottom)] if bottom else [])
        )
    return Runs(
        systems=systems,
        accounts=accounts,
        attributes={
            name: joined([shard.attributes[name] for shard in shards])
            for name in ranked.options.attributes
        },
        columns=columns,
        sources=tuple(sources),
        pooled_ideal=ranked.graded,
        negative=sum(shard.negative for shard in shards),
        judgements=sum(shard.judgements for shard in shards),
        unlisted=sum(shard.unlisted for shard in shards),
        query=query,
        top_grade=top,
        values=values,
    )


def _check(
    accounts: Mapping[str, Account], shards: Sequence[Measured], judged: str, ranked: Ranked
) -> None:
    """Raise InputError for a system or a table of queries that shares no query with the
    judgements.
    """
    for name, account in accounts.items():
        if not account.used:
            has = next((shard.first[name] for shard in shards if name in shard.first), "")
            if not has:
                raise InputError(roles_of.sentence("own_documents_alone", system=name))
            raise InputError(
                roles_of.sentence("other_queries", system=name, query=has, judged=judged)
            )
        if account.unjudged == account.used and not ranked.graded:
            reason = "own_judged_alone" if ranked.options.leave_out else "unjudged_items"
            raise InputError(roles_of.sentence(reason, system=name))
    if ranked.queries and not any(shard.shared for shard in shards):
        has = next(id for shard in shards for id in shard.beside)
        raise roles_of.refused(ranked.queries[0].name, "other_table", query=has, judged=judged)


def built(build: "Build", use: Callable[["Build"], Made]) -> Made:
    """The result of `use` for rows with items compared by hashes, or if hashes collide, by
    texts.
    """
    try:
        return use(build)
    except Collision:
        return use(replace(build, exact=True))


@dataclass(frozen=True)
class Build:
    """The steps from checked rows to `Runs`: ids as numbers, rows in rank order, lists. Each is
    computed once.
    """

    run: Rows
    judged: Rows
    beside: Rows
    options: ListOptions
    exact: bool = False

    @cached_property
    def _queries(self) -> tuple[np.ndarray, list[Ints]]:
        """All query ids in the order of their bytes, and the codes of the run's, the judgements',
        the table's rows.
        """
        names, codes = ids.sorted_codes(*(rows.query for rows in self.parts))
        code = dict(zip(map(id, self.parts), codes, strict=True))
        return names, [code[id(rows)] for rows in (self.run, self.judged, self.beside)]

    @property
    def parts(self) -> list[Rows]:
        """The rows of the runs, of the judgements and of the table of queries."""
        return list({id(rows): rows for rows in (self.run, self.judged, self.beside)}.values())

    @cached_property
    def _items(self) -> ListedItems:
        return ListedItems(self.run, self.judged, self.exact)

    @cached_property
    def _systems(self) -> tuple[np.ndarray, Ints]:
        return ids.named(self.run.system)

    @cached_property
    def _judgements(self) -> tuple[Ints, Floats, int]:
        """Rows in order of query and item with their grades, one each; how many grades lie below 0
        and do not count.
        """
        grade = ids.joined(self.judged.grade)
        known = np.flatnonzero(~np.isnan(grade))
        key = ids.pair(self._queries[1][1], len(self._queries[0]), self._items.numbers[1])
        ordered = ids.Sorted.of(key if len(known) == len(key) else key[known])
        row = known[ordered.order]
        grade = grade[row]
        again = np.flatnonzero(ordered.same)
        self._items.same(self.judged, row[again - 1], self.judged, row[again])
        if self.judged is not self.run and again.size:
            raise self._twice(self.judged, max(row[again[0] - 1], row[again[0]]), 1, "")
        conflict = again[grade[again - 1] != grade[again]]
        if conflict.size:
            two = slice(conflict[0] - 1, conflict[0] + 1)
            at, (low, high) = int(row[two].max()), np.sort(grade[two])
            where = self.judged.place(at)
            raise InputError(
                f"{where}: {self._pair(at, 1)} must have one grade, got {exact(low)} and "
                f"{exact(high)}"
            )
        negative = ~ordered.same & (grade < 0)
        keep = ~ordered.same & (grade >= 0)
        if self.options.leave_out:
            keep &= ~listed.own_documents(self.judged)[row]
        return row[keep], grade[keep], int(negative.sum())

    def _pair(self, row: int, of: int) -> str:
        item = listed.texts((self.run, self.judged)[of].item, np.array([row]))[0].as_py()
        return f"query {self._queries[0][self._queries[1][of][row]]!r} and item {item!r}"

    def _twice(self, rows: Rows, row: int, of: int, system: str, hint: str = "") -> InputError:
        return InputError(
            f"{rows.place(row)}: {self._pair(row, of)} must appear once{system}, got them "
            f"again{hint}"
        )

    @cached_property
    def _levels(self) -> Floats:
        """The distinct grades that count, ascending."""
        return np.unique(self._judgements[1])

    @cached_property
    def _population(self) -> Ints:
        """The codes of the judged queries, ascending: every query of the judgements, also with
        nothing relevant.
        """
        query = self._queries[1][1]
        if self.judged is self.run:
            query = query[~np.isnan(ids.joined(self.judged.grade))]
        return np.flatnonzero(np.bincount(query, minlength=len(self._queries[0])))

    @cached_property
    def _list(self) -> Ints:
        """The list of each row of the run: system · queries + query."""
        if len(self._systems[0]) == 1:
            return self._queries[1][0]
        return self._systems[1] * len(self._queries[0]) + self._queries[1][0]

    @cached_property
    def _judged(self) -> tuple[Ints, Floats]:
        """The rows of the run that have a judgement, with their grades; raises InputError for an
        item twice.
        """
        systems, queries = len(self._systems[0]), len(self._queries[0])
        ordered = ids.Sorted.of(ids.pair(self._list, systems * queries, self._items.numbers[0]))
        self._no_duplicates(ordered)
        judged, grade, _ = self._judgements
        lists = np.add.outer(np.arange(systems) * queries, self._queries[1][1][judged]).ravel()
        wanted = ids.pair(
            lists, systems * queries, np.tile(self._items.numbers[1][judged], systems)
        )
        number, row = ordered.find(wanted)
        number %= max(len(judged), 1)
        self._items.same(self.run, row, self.judged, judged[number])
        return row, grade[number]

    def _no_duplicates(self, ordered: ids.Sorted) -> None:
        """ordered: the rows by list and item."""
        if ordered.same.any():
            again = ordered.key[ordered.order[ordered.same.argmax()]]
            first, row = np.flatnonzero(ordered.key == again)[:2].tolist()
            self._items.same(self.run, np.array([first]), self.run, np.array([row]))
            system = self._systems[0][self._systems[1][row]]
            unnamed = isinstance(self.run.system[0], tuple) and "system" not in self.run.columns
            hint = (
                "; no column names the system (system, model, run)"
                if unnamed and self.run.columns
                else ""
            )
            raise self._twice(self.run, row, 0, f" in system {system!r}", hint)

    def systems(self) -> list[str]:
        """The requested systems, in order. Raises for one that does not exist, and for ambiguous
        names.
        """
        names = self._systems[0].tolist()
        if "system" in self.run.columns and not self.options.systems:
            where = self.run.stretches[0][0].name
            roles_of.refuse_names(names, f"{where}: {self.run.columns['system']}", "systems")
        return roles_of.kept_systems(names, self.options.systems)

    def measured(
        self, of: Mapping[str, tuple[Rankings, Account]], asks: Sequence[Ask] = ()
    ) -> Measured:
        """The measured lists of each system, from the result of `built`."""
        import pyarrow as pa

        idle = [name for name, (_, account) in of.items() if account.rows and not account.used]
        first = {
            name: int((self._systems[1] == np.flatnonzero(self._systems[0] == name)[0]).argmax())
            for name in idle
        }
        return Measured(
            query=pa.array(self._queries[0][self._population], pa.large_string()),
            first={name: self._queries[0][self._queries[1][0][row]] for name, row in first.items()},
            beside=self.beside.query[0].slice(0, 1).to_pylist(),
            attributes={name: self.attribute(name) for name in self.options.attributes},
            negative=self._judgements[2],
            shared=bool(np.isin(self._population, self._queries[1][2]).any()),
            judgements=len(self._judgements[0]),
            unlisted=self._unlisted,
            accounts={name: account for name, (_, account) in of.items()},
            values={
                (name, i): ask(rankings)
                for name, (rankings, _) in of.items()
                for i, ask in enumerate(asks)
            },
        )

    def retrieved(self, names: Sequence[str]) -> Retrieved | None:
        """The items of the first rows of each list of these systems."""
        depth = listed.depth(len(names) * len(self._population))
        if not depth:
            return None
        place = np.concatenate([np.flatnonzero(self._systems[0] == name) for name in names])[
            :, None
        ]
        lists = (place * len(self._queries[0]) + self._population).ravel()
        length = np.minimum(self._ends[lists + 1] - self._ends[lists], depth)
        rows = self._ranked[0][listed.stretches(self._ends[lists], length)]
        return Retrieved(partial(listed.texts, self.run.item, rows), length, names, depth)

    @cached_property
    def _unlisted(self) -> int:
        """The number of judgements of items that the table of items lacks; 0 without one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.options.stock is None:
            return 0
        items = listed.texts(self.judged.item, self._judgements[0])
        known = pc.is_in(items, value_set=pa.array(self.options.stock, pa.large_string()))
        return len(items) - int(pc.sum(known).as_py() or 0)

    @cached_property
    def _order(self) -> tuple[Ints, Bools]:
        """All rows list by list, best rank first, and which have the score of the row before."""
        return ids.by_rank(self._list, ids.joined(self.run.score), self._items.places)

    @cached_property
    def _remaining(self) -> Bools | slice:
        """The places of the order whose rows are not left out."""
        if not self.options.leave_out:
            return slice(None)
        remaining: Bools = ~listed.own_documents(self.run)[self._order[0]]
        return remaining

    @cached_property
    def _ranked(self) -> tuple[Ints, Bools]:
        """The rows of the order that are not left out, and which have the score of the row
        before.
        """
        order, tied = self._order
        if isinstance(self._remaining, slice):
            return order, tied
        # a row behind the query's own document is tied with the row before that one
        after_own = np.append(False, ~self._remaining[:-1])
        before_tied = np.append(False, tied[:-1])
        tied = tied & (~after_own | before_tied)
        return order[self._remaining], tied[self._remaining]

    @cached_property
    def _ends(self) -> Ints:
        """Where each list begins among the ranked rows, and where the last one ends."""
        lists = len(self._systems[0]) * len(self._queries[0])
        sizes = np.bincount(self._list[self._ranked[0]], minlength=lists)
        return np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def _own(self) -> tuple[Ints, Bools]:
        """The lists that return the query itself, and which of them return it in their first fifth;
        none if it is left out.
        """
        if self.options.leave_out:
            return np.zeros(0, np.int64), np.zeros(0, np.bool_)
        order, ends = self._ranked[0], self._ends
        place = np.flatnonzero(listed.own_documents(self.run)[order])
        lists = self._list[order[place]]
        return lists, (place - ends[lists]) * EARLY < np.diff(ends)[lists]

    @cached_property
    def _respelled(self) -> Ints:
        """The lists among whose first rows is an unjudged item that differs from a judged one of
        the query only in case or ending; none if there is none for a sample of the queries, as
        texts take long to compare.
        """
        queries = len(self._queries[0])
        sampled = self._respelled_of(np.arange(queries) % max(1, queries // SAMPLED) == 0)
        return self._respelled_of(np.ones(queries, np.bool_)) if sampled.size else sampled

    def _respelled_of(self, wanted: Bools) -> Ints:
        """The lists of `_respelled` that are of the wanted queries."""
        queries, lists = len(self._queries[0]), len(self._ends) - 1
        order, starts = self._ranked[0], self._ends[:-1]
        depth = np.minimum(np.diff(self._ends), TOP) * np.tile(wanted, lists // max(queries, 1))
        first = order[listed.stretches(starts, depth)]
        first = first[~np.isin(first, self._judged[0])]
        judged = self._judgements[0]
        judged = judged[wanted[self._queries[1][1][judged]]]
        if not len(first) or not len(judged):
            return np.zeros(0, np.int64)
        sides = [listed.texts(self.run.item, first), listed.texts(self.judged.item, judged)]
        plain, codes = ids.sorted_codes(*([listed.plain_texts(items)] for items in sides))
        there = np.unique(self._queries[1][1][judged] * len(plain) + codes[1])
        near = np.isin(self._list[first] % queries * len(plain) + codes[0], there)
        items = ids.sorted_codes(*([items] for items in sides))[1]
        exact = np.isin(items[0], items[1])
        return np.flatnonzero(np.bincount(self._list[first][near & ~exact], minlength=lists))

    def built(
        self, names: Sequence[str], top: float | None = None
    ) -> dict[str, tuple[Rankings, Account]]:
        """Rankings and account of each system; top: the best grade of the scale, if it is not that
        of these rows.
        """
        (row, grade), (order, tied), ends = self._judged, self._ranked, self._ends
        position = self._positions(order, tied, ends)
        grades = listed.in_order(row, grade, self._order[0], self._levels)[self._remaining]
        all_ranked = Lists(grades, tied, ends, position)
        ideal = self._ideal()
        best = float(ideal.grade.max(initial=0)) if top is None else top
        return {name: self._one(name, all_ranked, ideal, best) for name in names}

    def _positions(self, order: Ints, tied: Bools, ends: Ints) -> Ints | None:
        """The rank of each row in order where ranks are taken as they are and have gaps, else
        None.
        """
        if not any(block.any() for block in self.run.ranked):
            return None
        ranked = ids.joined(self.run.ranked)
        self._one_kind(ranked)
        return listed.positions(ranked[order], ids.joined(self.run.score)[order], tied, ends)

    def _one_kind(self, ranked: Bools) -> None:
        """Raise InputError if a list has rows with scores and rows with ranks."""
        count = np.bincount(self._list, minlength=1)
        both = np.bincount(self._list, ranked, minlength=1) % np.maximum(count, 1) > 0
        if both.any():
            system, query = divmod(int(both.argmax()), len(self._queries[0]))
            named = {"system": self._systems[0][system], "query": self._queries[0][query]}
            raise InputError(roles_of.sentence("scores_and_ranks", **named))

    def _ideal(self) -> Lists:
        """All grades of each query of the population, best first."""
        row, grade, _ = self._judgements
        query = self._queries[1][1][row]
        count = np.bincount(query, minlength=len(self._queries[0]))[self._population]
        grade = listed.best_first(query, grade, self._levels)
        return Lists(grade, np.zeros(len(grade), bool), np.concatenate([[0], np.cumsum(count)]))

    def _one(self, name: str, ranked: Lists, ideal: Lists, top: float) -> tuple[Rankings, Account]:
        """One system's rankings and account, from the lists of all systems, one after another."""
        total = len(self._queries[0])
        ends = np.full(total + 1, len(ranked.grade))  # of a system without a row in this shard
        codes = np.flatnonzero(self._systems[0] == name)
        for code in codes:
            ends = ranked.offset[code * total : (code + 1) * total + 1]
        start, stop, count = ends[0], ends[-1], np.diff(ends)
        retrieved = Lists(
            ranked.grade[start:stop],
            ranked.tied[start:stop],
            ends - start,
            None if ranked.position is None else ranked.position[start:stop],
        )
        known = np.zeros(total, bool)
        known[self._population] = True
        if not known.all():
            retrieved = retrieved.take(known)
        late, gaps = listed.gaps(retrieved)
        own, early = self._own
        mine = np.isin(own // total, codes) & known[own % total]
        respelled = self._respelled
        account = Account(
            rows=int(stop - start),
            used=len(retrieved.grade),
            unjudged_query=int(stop - start) - len(retrieved.grade),
            missing=int((count[known] == 0).sum()),
            extra=int((count[~known] > 0).sum()),
            tied=int(retrieved.tied.sum()),
            unjudged=int(np.isnan(retrieved.grade).sum()),
            late=late,
            gaps=gaps,
            own=int(mine.sum()),
            own_early=int((mine & early).sum()),
            respelled=int(np.isin(respelled // total, codes).sum()),
        )
        return Rankings(self._queries[0][self._population], retrieved, ideal, top), account

    def attribute(self, name: str) -> np.ndarray:
        """One text per query. Raises InputError if a query has two."""
        values, (value,) = ids.sorted_codes([block[name] for block in self.beside.attributes])
        query = self._queries[1][0] if self.beside is self.run else self._queries[1][2]
        first = np.full(len(self._queries[0]), -1)
        first[query[::-1]] = value[::-1]
        differs = np.flatnonzero(first[query] != value)
        if differs.size:
            row = int(differs[0])
            a, b = sorted(_shown(values, code) for code in (first[query[row]], value[row]))
            of = self._queries[0][query[row]]
            raise roles_of.refused(
                self.beside.place(row), "two_values", column=name, first=a, second=b, query=of
            )
        return np.array([_shown(values, code) for code in first[self._population]], dtype=object)


def _shown(values: np.ndarray, code: int) -> str:
    return NONE if code < 0 or values[code] is None else values[code]
