"""The ranking study: several systems' ranked lists and the judgements of their items."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import InputError, ratio
from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import MetricAtK
from evalkit.catalogue.metric import Metric
from evalkit.drawing.shown import ShownStudy
from evalkit.limits import USUAL_LIMITS, Limits
from evalkit.metrics import diversity, rankings
from evalkit.metrics.diversity import PERSISTENCE as PERSISTENCE
from evalkit.metrics.rows import Sums
from evalkit.names import usual
from evalkit.numbers import unit_noun
from evalkit.parameters import reports
from evalkit.reading.engines import backends
from evalkit.reading.inputs import lists as listed, rows
from evalkit.reading.inputs.lists import DEEPEST, Catalogue, ListAccount
from evalkit.reading.inputs.runs import QueryMeasure, Runs
from evalkit.reading.matching import column_names, commands
from evalkit.reading.reductions import sharded
from evalkit.reading.reductions.sharded import (
    Ceiling,
    InterpolatedPrecision,
    LastRank,
    LowestGrade,
    PerQuery,
    Unjudged,
)
from evalkit.reading.tables import rules, sources
from evalkit.reading.tables.table import EMPTY_ATTRIBUTE, Slice
from evalkit.statistics import inference, intervals, methods, statistic
from evalkit.statistics.methods import RandomStream
from evalkit.studies import diagnostics, study, units
from evalkit.studies.study import (
    EVERY,
    Row,
    Study,
    SystemPair,
    computed_once,
    estimate_columns,
    frame,
)

SAMPLE = {
    "preds": "data/digits_retrieval/runs",
    "qrels": "data/digits_retrieval/qrels.txt",
    "queries": "data/digits_retrieval/queries.csv",
    "segments": ["digit"],
}
METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@100")
KS = (1, 3, 5, 10, 20, 50, 100)  # cut-offs of the curves along the list
RECALLS = np.arange(11) / 10
EXAMPLES = 5  # queries won, and as many lost
TIE_ORDERS = rankings.worst_ties, rankings.best_ties  # the orders of tied items, the worst first
USUAL_CUT = 10  # ranks that count where the primary metric has no cut-off


@commands.advise_on_errors
def study_of(p: reports.RankingParameters, limits: Limits = USUAL_LIMITS) -> "Ranking":
    """Read ranked lists and judgements, and measure and compare how well the systems rank.

    Without `preds`, the bundled sample is read. Raises ParameterError for an invalid parameter and
    InputError for invalid input.

    >>> import evalkit as ek
    >>> rows = {
    ...     "query": ["q1", "q1", "q2"],
    ...     "item": ["a", "b", "a"],
    ...     "score": [2, 1, 5],
    ...     "grade": [0, 1, 1],
    ... }
    >>> ek.ranking(rows, metrics="mrr").estimates["value"].tolist()
    [0.75]
    """
    if p.preds is None:
        p = p.with_defaults(SAMPLE)
    chosen = lookup.find_metrics(p.metrics, "rankings", METRICS)
    # runs, judgements and queries, not yet read; and the table of items, if there is one
    ranked, catalogue = _inputs(p, limits)
    if p.slices:  # columns of the queries that are searched for weak slices
        ranked = ranked.with_slices(p.slices)
    slices = ranked.options.slices
    settings = study.settings(
        p, chosen, unit=p.unit, segments=p.segments, slices=slices, limits=limits
    )
    cuts = p.ks or KS  # cut-offs of the curve by rank
    # rounded to the type of the grades: a grade 0.7 in single precision is below the double 0.7
    relevance_level = rules.rounded(p.relevance_level, ranked.grade_precision)
    # functions with one value per query: if the lists do not fit into memory, all are computed
    # while the input is read
    query_measures = _query_measures(settings, cuts, relevance_level)
    runs = sharded.read(ranked, query_measures, backends.budget_of(p, limits.reading))
    settings.checked(runs.systems)  # raises if, for example, the baseline is none of them
    files = runs.sources
    if catalogue is not None:
        files = files + catalogue.sources
    ranking = Ranking(
        settings,
        runs.systems,
        runs.attributes,
        p,
        files,
        runs=runs,
        ks=cuts,
        relevance_level=relevance_level,
        catalogue=catalogue,
    )
    _check_defined(ranking)
    return ranking


read = reports.reader(reports.RankingParameters)(study_of)


class Inputs(NamedTuple):
    """The runs, judgements and queries before they are read, and the catalogue of items, if the
    user gives one (`items=TABLE`).
    """

    ranked: rows.RankingInput
    catalogue: Catalogue | None


def _inputs(p: reports.RankingParameters, limits: Limits) -> Inputs:
    """The tables that the parameters name: the runs (ranked lists), judgements and queries, of
    which no row is read yet, and the catalogue of items, None if the user gives none. It is read
    first, as its ids are needed while judgements are read, to count the judged items that it lacks.

    limits: how much of a table on a cluster may be read.
    """
    run = sources.parts(p.preds, p.header, limits.reading)
    judged = sources.optional_parts(p.qrels, p.header, limits.reading)
    queries = sources.optional_parts(p.queries, p.header, limits.reading)
    catalogue_parts = sources.optional_parts(p.items, p.header, limits.reading)
    catalogue = listed.read_catalogue(catalogue_parts, p.columns)
    catalogue_ids = None
    if catalogue is not None:
        catalogue_ids = catalogue.item
    # role -> column as the user names it, without the roles that only the catalogue has
    columns = listed.other_columns(p.columns)
    options = rows.ListOptions.from_parameters(p, columns=columns, catalogue_ids=catalogue_ids)
    ranked = rows.RankingInput(run, judged, queries, options)
    return Inputs(ranked, catalogue)


def _query_measures(
    settings: study.Settings, cuts: Sequence[int], level: float
) -> list[QueryMeasure]:
    """All functions of a query's ranked list and judgements that the report needs, each once. They
    are computed while the input is read, because the lists may not fit into memory together.

    cuts: the cut-offs of the curve of the primary metric by rank. level: the lowest grade of a
    relevant item.
    """
    primary = settings.metrics[0]  # the metric that decides
    # how long lists are, whether items are judged as not relevant, and how many are not judged
    measures: list[QueryMeasure] = [LastRank(), LowestGrade(), Unjudged(primary.k or USUAL_CUT)]
    for chosen in settings.metrics:
        if _has_ceiling(chosen):  # the highest value that a query allows may be below 1
            measures.append(Ceiling(chosen, level))
    for chosen in settings.metrics:
        measures.append(PerQuery(chosen, level))  # the metric itself
        if chosen.metric.tie_range:  # also in the worst and the best order of tied items
            measures += [PerQuery(chosen, level, order) for order in TIE_ORDERS]
    # the points of two curves: the primary metric by rank, from rank 1 on, as all lists may be
    # shorter than the first cut-off; and precision by recall
    curve_metric = _curve_metric(primary)
    measures += [PerQuery(MetricAtK(curve_metric, k), level) for k in {1}.union(cuts)]
    measures += [InterpolatedPrecision(float(recall), level) for recall in RECALLS]
    return list(dict.fromkeys(measures))


def _has_ceiling(chosen: MetricAtK) -> bool:
    """True for a metric whose highest value depends on how many items are relevant."""
    return chosen.metric.name in ("precision", "recall") and chosen.k is not None


def _curve_metric(primary: MetricAtK) -> Metric:
    """The metric whose value by cut-off is drawn as a curve: the primary one, or NDCG if the
    primary one has no cut-off, as bpref has none.
    """
    if primary.metric.cut == "never":
        return lookup.TABLE["ndcg"]
    return primary.metric


def _check_defined(ranking: "Ranking") -> None:
    """Raise InputError if the metric that decides has no value on any query of any system."""
    primary = ranking.primary_metric
    estimates = ranking.estimates
    queries = estimates["n"][estimates["metric"] == primary.label]
    if (queries == 0).all():
        top = ranking.runs.top_grade
        level = ranking.relevance_level
        why = f"{primary.metric.undefined}; the highest grade is {top:g}, relevance_level {level:g}"
        name = ranking.runs.sources[0].name
        raise InputError(f"{name}: {primary.label} is undefined on every query: {why}")


class Likeness(NamedTuple):
    """How alike the lists of two systems are on average; see `Ranking.likeness`."""

    overlap: float
    rbo: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(ShownStudy, Study):
    """The study of ranked lists; the units are queries, in the order of `runs.query`.

    runs: the values of `_query_measures`, and the lists if they fit into memory. ks: the cut-offs
    of the curves along the list. relevance_level: the lowest grade of a relevant item. catalogue:
    all items, if the user gives them.
    """

    report: ClassVar[str] = "ranking"
    listed_under: ClassVar[str] = "Query by query"

    runs: Runs
    ks: tuple[int, ...]
    relevance_level: float
    catalogue: Catalogue | None = None

    def sliced(self, slice_: Slice, p: Any) -> "Ranking":
        """The study of the queries of a slice. p: the parameters of its report."""
        runs = self.runs.take(slice_.member)
        ranking = replace(self, attributes=runs.attributes, p=p, runs=runs)
        _check_defined(ranking)
        return ranking

    @property
    def used_share(self) -> float:
        """The share of the ranked rows that are results of judged queries."""
        return total(self.runs.list_accounts, "used") / total(self.runs.list_accounts, "rows")

    @property
    def unit_name(self) -> str:
        """The noun for a query, from the input, or the unit that the user named."""
        if self.settings.unit:
            return unit_noun(self.settings.unit, "unit")
        return unit_noun(self.runs.columns.get("query", "query"), "query")

    @cached_property
    def per_query(self) -> Mapping[tuple[str, str], Sums]:
        """(metric label, system) -> one value per query, in the order of `runs.query`."""
        values = {}
        for chosen in self.settings.metrics:
            query_measure = PerQuery(chosen, self.relevance_level)
            for name in self.systems:
                values[chosen.label, name] = self.runs.measure(name, query_measure)
        return values

    @computed_once
    def measure(
        self, chosen: MetricAtK, system: str, member: Any = EVERY
    ) -> statistic.UnitStatistic:
        """One value per query, clustered if a unit was named."""
        values = self.per_query[chosen.label, system].take(member)
        unit = None if self.unit is None else self.unit[member]
        return statistic.UnitStatistic(chosen, values, unit)

    def units_held(self) -> units.Units:
        """The rows for the file of units: one value per query, system and metric; if the lists are
        in memory, also the first items of each list, so that lists can be compared.
        """
        query_names = self.listed(self.runs.query)  # with their slices
        units_of_metrics = units.units_with_terms(self, query_names)
        retrieved = self.runs.retrieved_items
        if retrieved is None:  # the lists are not in memory
            return units_of_metrics

        def first_items(system: str, query: int) -> Sequence[str]:
            """The first items of a list, the query given by its number."""
            return retrieved.first(system, query, self.depth)

        blocks_of_lists = units.blocks_of_lists(self.systems, first_items, query_names)
        return replace(units_of_metrics, blocks=chain(units_of_metrics.blocks, blocks_of_lists))

    def _with_interval(self, chosen: MetricAtK, values: Sums) -> intervals.Estimate:
        """The mean, or ratio, of the values of all queries with its interval. chosen: the metric
        whose intervals it has.
        """
        over_queries = statistic.UnitStatistic(chosen, values, self.unit)
        return inference.estimate(over_queries, self.inference_options(RandomStream.ESTIMATES))

    def estimate_extras(self, chosen: MetricAtK, system: str, estimate: intervals.Estimate) -> Row:
        """The columns undefined, the number of queries without a value, and worst_ties and
        best_ties, the metric in the worst and in the best order of items with equal scores; NaN for
        a metric of which these orders are not known.

        estimate: of the metric of this system.
        """
        undefined = int((~self.per_query[chosen.label, system].defined).sum())
        worst = np.nan
        best = np.nan
        tied_rows = self.runs.list_accounts[system].tied
        if not tied_rows:  # there is only one order
            worst = estimate.value
            best = estimate.value
        elif chosen.metric.tie_range:
            level = self.relevance_level
            worst, best = [
                self.runs.measure(system, PerQuery(chosen, level, order)).value
                for order in TIE_ORDERS  # the worst order, then the best
            ]
        return {"undefined": undefined, "worst_ties": worst, "best_ties": best}

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """Columns of a comparison beside those of its sign-flip test: p_t, the p-value of the
        paired t-test; wins, ties and losses, on how many units the first system has the better, an
        equal or the worse value (the higher one if no direction is known); detectable, the smallest
        true difference that the t-test would find.
        """
        first, second = self.compared(chosen, pair)  # the metric of both systems
        if not first.shares_units_with(second):  # no query has a value of both systems
            return {"p_t": np.nan, "wins": 0, "ties": 0, "losses": 0, "detectable": np.nan}
        higher, ties, lower = first.sums.wins(second.sums, self.unit)
        wins = higher
        losses = lower
        if chosen.metric.best == "low":
            wins = lower
            losses = higher
        t_test = methods.paired(first, second)
        return {
            # one-sided if the user asks a one-sided question
            "p_t": self.asked_p(t_test.p_value, t_test.tails),
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "detectable": t_test.detectable(self.detecting_level),
        }

    @cached_property
    def highest_possible_values(self) -> dict[str, Sums]:
        """Label of a metric -> for each query the highest value that any list can have. Only for
        precision@k, which is below 1 with fewer than k relevant items, and recall@k, which is below
        1 with more.
        """
        ceilings = {}
        for chosen in self.settings.metrics:
            if _has_ceiling(chosen):
                query_measure = Ceiling(chosen, self.relevance_level)
                # it follows from the judgements alone, so that any system can be asked
                ceilings[chosen.label] = self.runs.measure(self.systems[0], query_measure)
        return ceilings

    @property
    def interactions(self) -> bool:
        """True if the items of a query are those that a person chose, and none was judged as not
        relevant.
        """
        noun = unit_noun(column_names.comparable_name(self.runs.columns.get("query", "")), "")
        lowest = self.runs.measure(self.systems[0], LowestGrade()).numerator
        people = usual("interactions")["people"]
        return noun in people and float(np.nanmin(lowest, initial=np.inf)) > 0

    # Query by query, along the list

    def values(self) -> pd.DataFrame:
        """The primary metric of every query (rows) and system (columns); a pooled metric's ratio
        per query.
        """
        columns = {
            name: self.per_query[self.primary_metric.label, name].per_unit for name in self.order
        }
        return pd.DataFrame(columns, index=pd.Index(self.runs.query, name="query"))

    def differences(self) -> pd.Series:
        """By query the primary metric of the headline's first system minus that of its second,
        smallest first.
        """
        values = self.values()
        first, second = self.headline_systems
        return (values[first] - values[second]).dropna().sort_values(kind="stable")

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The n queries that the headline's first system wins and loses by most: query, difference,
        first, second (the values of both systems). Without a pair in the headline the n worst
        queries of the leader: query, value.
        """
        values = self.values()  # of the primary metric, a row per query and a column per system
        has_pair = len(self.headline) > 0
        if not has_pair:  # there is one system, or the metric has no better direction
            is_low_best = self.primary_metric.metric.best == "low"
            values_of_leader = values[self.leader].dropna()
            worst_first = values_of_leader.sort_values(kind="stable", ascending=not is_low_best)
            worst = worst_first[:n]
            return pd.DataFrame({"query": worst.index, "value": worst.to_numpy()})
        first, second = self.headline_systems  # the pair
        differences = self.differences()  # first − second by query, ascending
        highest = differences[::-1][:n]
        lowest = differences[:n]
        extremes = pd.concat([highest[highest > 0], lowest[lowest < 0]])  # without ties
        columns = {
            "query": extremes.index,
            "difference": extremes.to_numpy(),
            "first": values[first][extremes.index].to_numpy(),
            "second": values[second][extremes.index].to_numpy(),
        }
        return pd.DataFrame(columns)

    def most_different(self, max_queries: int) -> pd.DataFrame:
        """The queries, at most `max_queries`, on which the headline's two systems differ most; if
        there is one system, those on which it is worst. Columns: number (of the query), query (its
        name), difference (0 with one system).
        """
        values = self.values()
        first = values[self.compared_systems[0]].to_numpy()
        last = values[self.compared_systems[-1]].to_numpy()  # `first` again with one system
        difference = first - last
        sort_key = -np.abs(difference)
        if len(self.compared_systems) == 1:
            sort_key = -first if self.primary_metric.metric.best == "low" else first
        order = np.argsort(sort_key, kind="stable")[:max_queries]  # the lowest key first
        return pd.DataFrame(
            {"number": order, "query": self.runs.query[order], "difference": difference[order]}
        )

    def explored(self, queries: int, numbers: int) -> tuple[MetricAtK, ...]:
        """The metrics whose values a page can hold: the first ones of the report, and at least one.

        queries: the number of queries that the page lists. numbers: the most values that it may
        hold, one for each metric, compared system and query.
        """
        max_metrics = numbers // (len(self.compared_systems) * queries)
        return self.settings.metrics[: max(1, max_metrics)]

    @property
    def compared_systems(self) -> tuple[str, ...]:
        """The systems that are compared query by query: the headline's two, or the only one."""
        return tuple(self.headline_systems) if len(self.headline) else (self.leader,)

    def top(self, system: str, query: int, k: int) -> list[tuple[str, float]]:
        """Item and grade of the first k rows of a system's list for a query, given by its number;
        the grade is NaN if not judged. Empty if items are not kept.
        """
        if self.runs.retrieved_items is None:
            return []
        items = self.runs.retrieved_items.first(system, query, k)
        lists = self.runs.rankings[system].retrieved  # all lists of the system, one after another
        first_row = lists.offset[query]
        grades = lists.grade[first_row : first_row + len(items)]
        return list(zip(items, grades.tolist(), strict=True))

    @cached_property
    def likeness(self) -> pd.DataFrame:
        """The likeness of the lists of the headline's two systems by query: query, overlap (the
        share of common items among the first `depth`), rbo (rank-biased overlap).

        Empty if there is one system or the items are not in memory. RBO uses the rows that are
        kept: at most 100.
        """
        if len(self.compared_systems) < 2 or self.runs.retrieved_items is None:
            return pd.DataFrame(columns=["query", "overlap", "rbo"])
        first, second = [self.runs.retrieved_items.lists[name] for name in self.compared_systems]
        shares = {
            "overlap": diversity.overlap(first, second, self.depth),
            "rbo": diversity.rbo(first, second),
        }
        return pd.DataFrame({"query": self.runs.query} | shares)

    @property
    def mean_likeness(self) -> Likeness:
        """The means of `likeness` over queries; NaN if it is empty."""
        likeness = self.likeness
        return Likeness(float(likeness["overlap"].mean()), float(likeness["rbo"].mean()))

    @property
    def depth(self) -> int:
        """The number of ranks that count if no metric says: the cut-off of the primary metric, or
        10.
        """
        return min(self.primary_metric.k or USUAL_CUT, DEEPEST)

    @frame
    def curves(self) -> Iterator[Row]:
        """Yield the primary metric, or NDCG if that takes no cut-off, of each system at each
        cut-off that a list reaches: metric, system, k, value, low, high, n.
        """
        metric = _curve_metric(self.primary_metric)
        last_rank = self.last_rank  # of the longest list
        cuts = [k for k in self.ks if k <= last_rank]
        if not cuts:  # all lists end before the first cut-off
            cuts = [1]
        for k in cuts:
            chosen = MetricAtK(metric, k)
            for name in self.order:
                values = self.runs.measure(name, PerQuery(chosen, self.relevance_level))
                row = {"metric": metric.name, "system": name, "k": k}
                yield row | estimate_columns(self._with_interval(chosen, values))

    @property
    def last_rank(self) -> int:
        """The last rank of any list; 0 if all are empty."""
        ranks = [self.runs.measure(name, LastRank()).per_unit for name in self.systems]
        return max(int(last.max(initial=0)) for last in ranks)

    @property
    def judged_depth(self) -> int:
        """The number of first ranks in which rows without a judgement are counted."""
        return self.primary_metric.k or USUAL_CUT

    def unjudged_share(self, system: str) -> float:
        """The share of rows without a judgement in the first `judged_depth` of all lists."""
        return float(np.nan_to_num(self.runs.measure(system, Unjudged(self.judged_depth)).value))

    @frame
    def precision_recall(self) -> Iterator[Row]:
        """Yield the mean interpolated precision of each system at the eleven recall levels: system,
        recall, value, low, high, n, reached.

        reached: the share of the lists that reach the level; the precision of the others there is
        0.
        """
        # the intervals are made as those of precision, another mean over queries from 0 to 1
        like_precision = MetricAtK(lookup.TABLE["precision"])
        for name in self.order:
            for recall in RECALLS:
                query_measure = InterpolatedPrecision(float(recall), self.relevance_level)
                values = self.runs.measure(name, query_measure)  # one per query
                row = {"system": name, "recall": recall}
                row |= estimate_columns(self._with_interval(like_precision, values))
                precision = values.per_unit[values.defined]
                reached = float(ratio(np.count_nonzero(precision > 0), precision.size))
                yield row | {"reached": reached}


# What the findings are measured by ----------------------------------------------------------------

NOTICED = 0.1  # the share of the queries from which on a fault of their lists is reported


class UndefinedMetric(NamedTuple):
    """A metric without a value on some queries. queries: system -> the number of these queries.
    is_shared: True if this number is the same for every system.
    """

    label: str
    queries: dict[str, int]
    is_shared: bool


class UnjudgedShares(NamedTuple):
    """By system the share of items without a judgement among the first k. may_mislead: the systems
    differ in it, or hardly any item is judged.
    """

    k: int
    shares: dict[str, float]
    may_mislead: bool


class BeyondLists(NamedTuple):
    """The last rank of any list, and the labels of the metrics whose cut-off lies beyond it."""

    last_rank: int
    labels: list[str]


class TiedEstimates(NamedTuple):
    """The estimates that the order of tied items visibly changes. matters: it changes one by more
    than half of its interval's width.
    """

    rows: pd.DataFrame
    matters: bool


def with_own_document(study: Ranking) -> dict[str, int]:
    """System -> the number of its lists that return the query itself, as an item with the id of the
    query; without zeros.

    Equal ids may be a coincidence if items and queries are numbered independently. The result is
    therefore empty unless, for some system, the lists that return the query are at least a tenth of
    the queries, and at least half of these lists have it in their first fifth.
    """
    fewest_lists = NOTICED * len(study.runs.query)  # a tenth of the queries
    accounts = study.runs.list_accounts  # of each system: how its lists were read
    for account in accounts.values():
        lists_with_query = account.own
        lists_with_early_query = account.own_early  # in their first fifth
        is_frequent = lists_with_query > 0 and lists_with_query >= fewest_lists
        if is_frequent and lists_with_early_query >= lists_with_query / 2:
            return by_system(accounts, "own")  # the number of lists of every system
    return {}


def without_own_document(study: Ranking) -> dict[str, float]:
    """System -> the primary metric if the query itself is left out of its lists. Empty if the
    metric is then undefined on all queries, such as when only the query itself is judged.
    """
    # the study is made again, as far as one metric needs it
    parameters = replace(
        study.p,
        leave_out=reports.OWN_DOCUMENT,  # the query itself, from each list and its judgements
        metrics=(study.primary_metric.label,),
        segments=(),  # to save time
        gate=None,  # no policy: its rules may be about other metrics
    )
    try:
        study_without = study_of(parameters, study.settings.limits)
    except InputError:  # the metric is undefined on all queries
        return {}
    values = {}
    for name in study_without.systems:
        values[name] = study_without.estimate(study_without.primary_metric, name).value
    return values


def respelled(study: Ranking) -> dict[str, int]:
    """By system the number of lists with an item that differs from a judged one only in case or
    ending, if these are a tenth of the queries.
    """
    noticed = NOTICED * len(study.runs.query)
    lists_of_system = by_system(study.runs.list_accounts, "respelled")
    return {name: lists for name, lists in lists_of_system.items() if lists >= noticed}


def out_of_reach(study: Ranking) -> dict[str, float]:
    """Label of a metric that cannot reach 1 on any query -> the highest mean that any lists can
    have.
    """
    means = {}
    for label, values in study.highest_possible_values.items():
        ceilings = values.per_unit[values.defined]
        if len(ceilings) and ceilings.max() < 1:
            means[label] = values.value
    return means


UNEVEN = 0.05  # a difference between shares of unjudged items that can turn an order
MOST = 0.8  # a share of unjudged items from which values say little


def total(accounts: Mapping[str, ListAccount], name: str) -> int:
    """The sum over all systems of the field `name` of their accounts.

    >>> total(
    ...     {"a": ListAccount(9, 8, 1, 0, 0, 0, 0), "b": ListAccount(5, 5, 0, 0, 0, 0, 0)}, "rows"
    ... )
    14
    """
    return sum(getattr(account, name) for account in accounts.values())


def by_system(accounts: Mapping[str, ListAccount], name: str) -> dict[str, int]:
    """The field `name` of each system's account, without zeros."""
    counts = {system: getattr(account, name) for system, account in accounts.items()}
    return {system: n for system, n in counts.items() if n}


def hardly_judged(accounts: Mapping[str, ListAccount]) -> bool:
    """True if a system has less than a tenth of its rows in queries with judgements."""
    return any(account.used < NOTICED * account.rows for account in accounts.values())


def undefined(study: Ranking) -> list[UndefinedMetric]:
    """The metrics without a value on some queries of some system."""
    metrics = []
    for label, estimates in study.estimates.groupby("metric", sort=False):
        lacking = estimates[estimates["undefined"] > 0]
        if len(lacking):
            queries = dict(zip(lacking["system"], lacking["undefined"].astype(int), strict=True))
            is_shared = estimates["undefined"].nunique() == 1  # the same number for every system
            metrics.append(UndefinedMetric(str(label), queries, is_shared))
    return metrics


def without_segment(study: Ranking) -> dict[str, int]:
    """Segment column -> the number of queries without a value in it; without zeros."""
    queries = {}
    for name in study.settings.segments:
        lacking = int(np.count_nonzero(study.runs.attributes[name] == EMPTY_ATTRIBUTE))
        if lacking:
            queries[name] = lacking
    return queries


def unjudged(study: Ranking) -> UnjudgedShares:
    """The share of the first items of each system that have no judgement."""
    shares = {name: study.unjudged_share(name) for name in study.order}
    highest_harmless = min(MOST, min(shares.values()) + UNEVEN)
    may_mislead = max(shares.values()) > highest_harmless
    return UnjudgedShares(study.judged_depth, shares, may_mislead)


def beyond(study: Ranking) -> BeyondLists:
    """The metrics whose cut-off no list reaches."""
    last = study.last_rank
    labels = [chosen.label for chosen in study.settings.metrics if (chosen.k or 0) > last]
    return BeyondLists(last, labels)


def ties(study: Ranking) -> TiedEstimates:
    """The estimates of the primary metric that depend visibly on the order of tied items: from the
    worst to the best order they change by more than `diagnostics.VISIBLE`, which three digits show.
    The order matters if such a change exceeds half the width of the estimate's interval.
    """
    rows = study.estimates[study.estimates["metric"] == study.primary_metric.label]
    rows = rows.assign(change=rows["best_ties"] - rows["worst_ties"])
    visible = rows[rows["change"] > diagnostics.VISIBLE]
    half_width = (visible["high"] - visible["low"]) / 2
    matters = bool((visible["change"] > half_width).any())
    return TiedEstimates(visible.drop(columns="change"), matters)
