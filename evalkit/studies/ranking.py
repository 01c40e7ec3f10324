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
from evalkit.drawing.shown import Shown
from evalkit.limits import USUAL, Limits
from evalkit.metrics import diversity, rankings
from evalkit.metrics.diversity import PERSISTENCE as PERSISTENCE
from evalkit.metrics.rows import Sums
from evalkit.names import usual
from evalkit.numbers import unit_noun
from evalkit.parameters import reports
from evalkit.reading.engines import backends
from evalkit.reading.inputs import lists as listed, rows
from evalkit.reading.inputs.lists import DEEPEST, Stock
from evalkit.reading.inputs.runs import NONE, Ask, ListAccount, Runs
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
from evalkit.reading.tables.table import Slice
from evalkit.statistics import inference, intervals, methods, statistic
from evalkit.studies import diagnostics, study, units
from evalkit.studies.study import EVERY, Row, Study, SystemPair, estimate_columns, frame, once

SAMPLE = {
    "preds": "data/digits_retrieval/runs",
    "qrels": "data/digits_retrieval/qrels.txt",
    "queries": "data/digits_retrieval/queries.csv",
    "segments": ["digit"],
}
METRICS = ("ndcg@10", "map", "mrr", "precision@10", "recall@100")
KS = (1, 3, 5, 10, 20, 50, 100)
RECALLS = np.arange(11) / 10
EXAMPLES = 5
TIES = rankings.worst_ties, rankings.best_ties  # the orders of tied items, the worst first
UNJUDGED = (
    10  # ranks looked at for rows without a judgement, where the primary metric has no cut-off
)


@commands.advising
def study_of(p: reports.RankingParameters, limits: Limits = USUAL) -> "Ranking":
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
    p = p.with_defaults(SAMPLE) if p.preds is None else p
    chosen = lookup.find_metrics(p.metrics, "rankings", METRICS)
    ranked, catalogue = _inputs(p, limits)
    if p.slices:
        ranked = ranked.with_slices(p.slices)
    slices = ranked.options.slices
    shared = study.settings(
        p, chosen, unit=p.unit, segments=p.segments, slices=slices, limits=limits
    )
    cuts = p.ks or KS
    relevant = rules.rounded(p.relevance_level, ranked.grade_precision)
    asks = _asks(shared, cuts, relevant)
    reading = limits.reading
    data = sharded.read(ranked, asks, backends.budget_of(p, reading))
    shared.checked(data.systems)
    read = (*data.sources, *(catalogue.sources if catalogue else ()))
    return _check_defined(
        Ranking(shared, data.systems, data.attributes, p, read, data, cuts, relevant, catalogue)
    )


read = reports.reader(reports.RankingParameters)(study_of)


class Inputs(NamedTuple):
    """The runs, judgements and queries before they are read, and the table of items, if given."""

    ranked: rows.RankingInput
    catalogue: Stock | None


def _inputs(p: reports.RankingParameters, limits: Limits) -> Inputs:
    """Open all tables of the report, and read that of items."""
    run = sources.parts(p.preds, p.header, limits.reading)
    judged = sources.optional_parts(p.qrels, p.header, limits.reading)
    queries = sources.optional_parts(p.queries, p.header, limits.reading)
    items = sources.optional_parts(p.items, p.header, limits.reading)
    catalogue = listed.read_stock(items, p.columns)
    options = rows.ListOptions.from_parameters(
        p,
        columns=listed.other_columns(p.columns),
        stock=None if catalogue is None else catalogue.item,
    )
    return Inputs(rows.RankingInput(run, judged, queries, options), catalogue)


def _asks(settings: study.Settings, cuts: Sequence[int], level: float) -> list[Ask]:
    """All that the page will ask of the rankings, for input whose lists do not stay in memory."""
    asked: list[Ask] = [LastRank(), LowestGrade(), Unjudged(settings.metrics[0].k or UNJUDGED)]
    asked += [Ceiling(chosen, level) for chosen in settings.metrics if _limited(chosen)]
    for chosen in settings.metrics:
        asked.append(PerQuery(chosen, level))
        asked += [PerQuery(chosen, level, ties) for ties in TIES if chosen.metric.tie_range]
    asked += [PerQuery(MetricAtK(_curve_metric(settings.metrics[0]), k), level) for k in {1, *cuts}]
    asked += [InterpolatedPrecision(float(recall), level) for recall in RECALLS]
    return list(dict.fromkeys(asked))


def _limited(chosen: MetricAtK) -> bool:
    """True for a metric whose highest value depends on how many items are relevant."""
    return chosen.metric.name in ("precision", "recall") and chosen.k is not None


def _curve_metric(primary: MetricAtK) -> Any:
    """The metric of the curve along the list: the primary one, NDCG where that has no cut-off."""
    return primary.metric if primary.metric.cut != "never" else lookup.TABLE["ndcg"]


def _check_defined(ranking: "Ranking") -> "Ranking":
    """Raise InputError if the metric that decides has no value at all."""
    primary, runs, estimates = ranking.primary, ranking.runs, ranking.estimates
    if (estimates["n"][estimates["metric"] == primary.label] == 0).all():
        top, level = runs.top_grade, ranking.relevance_level
        why = f"{primary.metric.undefined}; the highest grade is {top:g}, relevance_level {level:g}"
        raise InputError(
            f"{runs.sources[0].name}: {primary.label} is undefined on every query: {why}"
        )
    return ranking


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Shown, Study):
    """The study of ranked lists; the units are queries, in the order of `runs.query`."""

    report: ClassVar[str] = "ranking"
    listed_under: ClassVar[str] = "Query by query"

    runs: Runs
    ks: tuple[int, ...]
    relevance_level: float
    catalogue: Stock | None = None

    def sliced(self, part: Slice, p: Any) -> "Ranking":
        """The study of the queries of a slice."""
        runs = self.runs.take(part.member)
        return _check_defined(replace(self, attributes=runs.attributes, p=p, runs=runs))

    @property
    def used_share(self) -> float:
        """The share of the ranked rows that are results of judged queries."""
        return total(self.runs.accounts, "used") / total(self.runs.accounts, "rows")

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
            question = PerQuery(chosen, self.relevance_level)
            for name in self.systems:
                values[chosen.label, name] = self.runs.measure(name, question)
        return values

    @once
    def measure(
        self, chosen: MetricAtK, system: str, member: Any = EVERY
    ) -> statistic.UnitStatistic:
        """One value per query, clustered if a unit was named."""
        unit = None if self.unit is None else self.unit[member]
        return statistic.UnitStatistic(
            chosen, self.per_query[chosen.label, system].take(member), unit
        )

    def units_held(self) -> units.Units:
        """One value per query, also for lists read shard by shard; the first items of each list if
        in memory.
        """
        listed = self.listed(self.runs.query)
        retrieved = self.runs.retrieved
        values = units.of_each(self, listed)
        if retrieved is None:
            return values
        lists = units.of_lists(
            self.systems, lambda name, query: retrieved.first(name, query, self.depth), listed
        )
        return replace(values, blocks=chain(values.blocks, lists))

    def _with_interval(self, chosen: MetricAtK, values: Sums) -> intervals.Estimate:
        """A number of every query with its interval."""
        return inference.estimate(
            statistic.UnitStatistic(chosen, values, self.unit), self.inference_options(1)
        )

    def estimate_extras(self, chosen: MetricAtK, system: str, estimate: intervals.Estimate) -> Row:
        """The number of undefined queries, and the metric with the worst and with the best order of
        tied items: not a number if the metric is not defined for such an order.
        """
        undefined = int((~self.per_query[chosen.label, system].defined).sum())
        if not self.runs.accounts[system].tied:
            return {
                "undefined": undefined,
                "worst_ties": estimate.value,
                "best_ties": estimate.value,
            }
        if not chosen.metric.tie_range:
            return {"undefined": undefined, "worst_ties": np.nan, "best_ties": np.nan}
        worst, best = (
            self.runs.measure(system, PerQuery(chosen, self.relevance_level, order)).value
            for order in TIES
        )
        return {"undefined": undefined, "worst_ties": worst, "best_ties": best}

    def comparison_extras(self, chosen: MetricAtK, pair: SystemPair) -> Row:
        """The t-test beside the sign flips, units won, tied and lost, and the detectable
        difference.
        """
        first, second = self.compared(chosen, pair)
        if not first.overlaps(second):
            return {"p_t": np.nan, "wins": 0, "ties": 0, "losses": 0, "detectable": np.nan}
        wins, ties, losses = first.sums.wins(second.sums, self.unit)
        by_t = methods.paired(first, second)
        shows = by_t.detectable(self.detecting_level)
        return {
            "p_t": self.asked_p(by_t.p_value, by_t.tails),
            "wins": wins,
            "ties": ties,
            "losses": losses,
            "detectable": shows,
        }

    @cached_property
    def ceilings(self) -> dict[str, Sums]:
        """The highest value of each query that any list can have, by metric: of precision@k and
        recall@k.
        """
        limited = [chosen for chosen in self.settings.metrics if _limited(chosen)]
        asked = {chosen.label: Ceiling(chosen, self.relevance_level) for chosen in limited}
        return {label: self.runs.measure(self.systems[0], ask) for label, ask in asked.items()}

    @property
    def interactions(self) -> bool:
        """True if the items of a query are those that a person chose, and none was judged as not
        relevant.
        """
        noun = unit_noun(column_names.comparable(self.runs.columns.get("query", "")), "")
        lowest = self.runs.measure(self.systems[0], LowestGrade()).numerator
        people = usual("interactions")["people"]
        return noun in people and float(np.nanmin(lowest, initial=np.inf)) > 0

    # Query by query, along the list

    def values(self) -> pd.DataFrame:
        """The primary metric of every query (rows) and system (columns); a pooled metric's ratio
        per query.
        """
        columns = {name: self.per_query[self.primary.label, name].per_unit for name in self.order}
        return pd.DataFrame(columns, index=pd.Index(self.runs.query, name="query"))

    def differences(self) -> pd.Series:
        """By query the primary metric of the headline's first system minus that of its second,
        smallest first.
        """
        values = self.values()
        first, second = self.opponents
        return (values[first] - values[second]).dropna().sort_values(kind="stable")

    def extremes(self, n: int = EXAMPLES) -> pd.DataFrame:
        """The queries that the headline's first system wins and loses by most; with one system its
        worst.
        """
        values = self.values()
        if not len(self.headline):
            low = self.primary.metric.best == "low"
            worst = values[self.leader].dropna().sort_values(kind="stable", ascending=not low)[:n]
            return pd.DataFrame({"query": worst.index, "value": worst.to_numpy()})
        differences = self.differences()
        first, second = self.opponents
        gains = differences[::-1][:n]
        losses = differences[:n]
        chosen = pd.concat([gains[gains > 0], losses[losses < 0]])
        sides = {
            "first": values[first][chosen.index].to_numpy(),
            "second": values[second][chosen.index].to_numpy(),
        }
        return pd.DataFrame({"query": chosen.index, "difference": chosen.to_numpy(), **sides})

    def moved(self, most: int) -> pd.DataFrame:
        """The numbers of the queries that differ most between the headline's two systems; with one
        system its worst.
        """
        values = self.values()
        first, last = (values[name].to_numpy() for name in (self.shown[0], self.shown[-1]))
        difference = first - last
        worst = -first if self.primary.metric.best == "low" else first
        order = np.argsort(worst if len(self.shown) == 1 else -np.abs(difference), kind="stable")
        frame = pd.DataFrame(
            {"number": order, "query": self.runs.query[order], "difference": difference[order]}
        )
        return frame.head(most)

    def explored(self, queries: int, numbers: int) -> tuple[MetricAtK, ...]:
        """The first metrics, at least one, that fit into `numbers` numbers for this many
        queries.
        """
        return self.settings.metrics[: max(1, numbers // (len(self.shown) * queries))]

    @property
    def shown(self) -> tuple[str, ...]:
        """The systems that are compared query by query: the headline's two, or the only one."""
        return tuple(self.opponents) if len(self.headline) else (self.leader,)

    def top(self, name: str, query: int, k: int) -> list[tuple[str, float]]:
        """Item and grade of the first k rows of a list, NaN if not judged; empty if items are not
        kept.
        """
        if self.runs.retrieved is None:
            return []
        lists = self.runs.rankings[name].retrieved
        items = self.runs.retrieved.first(name, query, k)
        grades = lists.grade[lists.offset[query] : lists.offset[query] + len(items)]
        return list(zip(items, grades.tolist(), strict=True))

    @cached_property
    def likeness(self) -> pd.DataFrame:
        """The likeness of the lists of the headline's two systems by query: `overlap` of the first
        `depth`, and `rbo`.

        Empty if there is one system or the items are not in memory. RBO uses the rows that are
        kept: at most 100.
        """
        if len(self.shown) < 2 or self.runs.retrieved is None:
            return pd.DataFrame(columns=["query", "overlap", "rbo"])
        first, second = (self.runs.retrieved.lists[name] for name in self.shown)
        shares = {
            "overlap": diversity.overlap(first, second, self.depth),
            "rbo": diversity.rbo(first, second),
        }
        return pd.DataFrame({"query": self.runs.query} | shares)

    @property
    def mean_likeness(self) -> tuple[float, float]:
        """The means over queries of overlap and RBO."""
        return float(self.likeness["overlap"].mean()), float(self.likeness["rbo"].mean())

    @property
    def depth(self) -> int:
        """The number of ranks that count if no metric says: the cut-off of the primary metric, or
        10.
        """
        return min(self.primary.k or UNJUDGED, DEEPEST)

    @frame
    def curves(self) -> Iterator[Row]:
        """The primary metric of each system at each cut-off that a list reaches; NDCG if it takes
        no cut-off.
        """
        metric = _curve_metric(self.primary)
        longest = max(
            self.runs.measure(name, LastRank()).per_unit.max(initial=1) for name in self.systems
        )
        cuts = [MetricAtK(metric, k) for k in self.ks if k <= longest] or [MetricAtK(metric, 1)]
        for chosen in cuts:
            for name in self.order:
                e = self._with_interval(
                    chosen, self.runs.measure(name, PerQuery(chosen, self.relevance_level))
                )
                yield {"metric": metric.name, "system": name, "k": chosen.k} | estimate_columns(e)

    def unjudged(self, system: str) -> tuple[int, float]:
        """k, and the share of rows without a judgement in the first k of all lists."""
        k = self.primary.k or UNJUDGED
        return k, float(np.nan_to_num(self.runs.measure(system, Unjudged(k)).value))

    @frame
    def precision_recall(self) -> Iterator[Row]:
        """Mean interpolated precision of every system at the eleven recall levels, with intervals.

        reached: the share of the lists that reach the level; the precision of the others there is
        0.
        """
        chosen = MetricAtK(lookup.TABLE["precision"])
        for name in self.order:
            for recall in RECALLS:
                values = self.runs.measure(
                    name, InterpolatedPrecision(float(recall), self.relevance_level)
                )
                e = self._with_interval(chosen, values)
                known = values.per_unit[values.defined]
                reached = float(ratio((known > 0).sum(), known.size))
                yield (
                    {"system": name, "recall": recall} | estimate_columns(e) | {"reached": reached}
                )


# What the findings are measured by ----------------------------------------------------------------

NOTICED = 0.1  # a share of the queries from which it is said what is wrong with their lists


def with_own_document(study: Ranking) -> dict[str, int]:
    """By system the number of lists that return the query itself. Empty unless these are a tenth
    of the queries for one system, and half of them return it early: else its id may mean something
    else.
    """
    few = NOTICED * len(study.runs.query)
    accounts = study.runs.accounts
    if any(a.own >= few and 2 * a.own_early >= a.own > 0 for a in accounts.values()):
        return by_system(accounts, "own")
    return {}


def without_own_document(study: Ranking) -> dict[str, float]:
    """The metric that decides by system, with the query itself left out of its lists; empty if that
    leaves nothing to measure, as if only the query itself is judged.
    """
    parameters = replace(study.p, leave_out=reports.OWN_DOCUMENT, segments=(), metrics=())
    parameters = replace(parameters, metrics=(study.primary.label,), gate=None)
    try:
        other = study_of(parameters, study.settings.limits)
    except InputError:
        return {}
    return {name: other.estimate(other.primary, name).value for name in other.systems}


def respelled(study: Ranking) -> dict[str, int]:
    """By system the number of lists with an item that differs from a judged one only in case or
    ending, if these are a tenth of the queries.
    """
    few = NOTICED * len(study.runs.query)
    known = by_system(study.runs.accounts, "respelled")
    return {name: lists for name, lists in known.items() if lists >= few}


def out_of_reach(study: Ranking) -> dict[str, float]:
    """The highest mean that any lists can have, of the metrics that cannot reach 1 on any query."""
    tops = {label: values.per_unit[values.defined] for label, values in study.ceilings.items()}
    return {
        label: study.ceilings[label].value
        for label, top in tops.items()
        if len(top) and top.max() < 1
    }


UNEVEN = 0.05  # a difference between shares of unjudged items that can turn an order
MOST = 0.8  # a share of unjudged items from which values say little


def total(accounts: Mapping[str, ListAccount], name: str) -> int:
    """The sum of a count over all systems.

    >>> total(
    ...     {"a": ListAccount(9, 8, 1, 0, 0, 0, 0), "b": ListAccount(5, 5, 0, 0, 0, 0, 0)}, "rows"
    ... )
    14
    """
    return sum(getattr(account, name) for account in accounts.values())


def by_system(accounts: Mapping[str, ListAccount], name: str) -> dict[str, int]:
    """A count of each system, without zeros."""
    return {system: n for system, account in accounts.items() if (n := getattr(account, name))}


def hardly_judged(accounts: Mapping[str, ListAccount]) -> bool:
    """True if a system has less than a tenth of its rows in queries with judgements."""
    return any(account.used < NOTICED * account.rows for account in accounts.values())


def undefined(study: Ranking) -> list[tuple[str, dict[str, int], bool]]:
    """The metrics without a value on some queries, with the number of these by system; True if
    systems agree in it.
    """
    metrics = []
    for label, estimates in study.estimates.groupby("metric", sort=False):
        some = estimates[estimates["undefined"] > 0]
        if len(some):
            counts = dict(zip(some["system"], some["undefined"].astype(int), strict=True))
            metrics.append((str(label), counts, estimates["undefined"].nunique() == 1))
    return metrics


def without_segment(study: Ranking) -> dict[str, int]:
    """Queries without a value in each segment column, without zeros."""
    columns = {name: study.runs.attributes[name] for name in study.settings.segments}
    return {name: n for name, values in columns.items() if (n := int((values == NONE).sum()))}


def unjudged(study: Ranking) -> tuple[int, dict[str, float], bool]:
    """k, the share of items without a judgement among the first k by system, and True if it may
    mislead.

    It does if the systems differ in it, or if hardly any item is judged.
    """
    shares = {name: study.unjudged(name)[1] for name in study.order}
    return (
        study.unjudged(study.order[0])[0],
        shares,
        max(shares.values()) > min(MOST, min(shares.values()) + UNEVEN),
    )


def beyond(study: Ranking) -> tuple[int, list[str]]:
    """The last rank of any list, and the metrics whose cut-off lies beyond it."""
    last = max(
        int(study.runs.measure(name, LastRank()).per_unit.max(initial=0)) for name in study.systems
    )
    return last, [chosen.label for chosen in study.settings.metrics if (chosen.k or 0) > last]


def ties(study: Ranking) -> tuple[pd.DataFrame, bool]:
    """The estimates that the order of tied items visibly changes; True if one changes by half its
    interval's width.
    """
    rows = study.estimates[study.estimates["metric"] == study.primary.label]
    moved = rows[rows["best_ties"] - rows["worst_ties"] > diagnostics.VISIBLE]
    matters = (moved["best_ties"] - moved["worst_ties"] > (moved["high"] - moved["low"]) / 2).any()
    return moved, bool(matters)
