"""Aspects of ranked lists other than relevance: the effect of unjudged items, diversity, novelty,
coverage.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.caching import cached
from evalkit.metrics import diversity, rankings
from evalkit.metrics.rows import Sums
from evalkit.reading.inputs.lists import Catalogue
from evalkit.statistics import independent, inference, interval_methods, intervals, significance
from evalkit.statistics.methods import RandomStream
from evalkit.studies.ranking import Ranking
from evalkit.studies.study import Row, estimate_columns, limits

BOUNDS_COLUMNS = ["metric", "system", "value", "low", "high", "n", "unjudged"]
MOST_ROWS = 5_000_000  # that all ways to judge the lists of one system may have together


@cached
def bounds(study: Ranking) -> pd.DataFrame:
    """How low and how high each metric of each system could be if the unjudged items in the first
    `study.depth` ranks were judged: `BOUNDS_COLUMNS`.

    Each of these items may be relevant, with the highest grade of the judgements, or not relevant.
    value: as the items are judged now. low, high: the bounds. All three are means over the n
    queries on which the metric is defined now. unjudged: the number of these items in all lists.
    Empty if all items are judged, if the lists are not in memory, and if they have so many rows
    that judging them in every way takes too long.
    """
    if not study.runs.rankings:
        return pd.DataFrame(columns=BOUNDS_COLUMNS)
    rows = list[Row]()
    for name in study.order:
        rows += _bounds_of_system(study, name, study.runs.rankings[name])
    frame = pd.DataFrame(rows, columns=BOUNDS_COLUMNS)
    # by metric, in the order of the study; within a metric the systems keep their order
    place = {chosen.label: i for i, chosen in enumerate(study.settings.metrics)}
    return frame.sort_values(
        "metric", key=lambda labels: labels.map(place), kind="stable", ignore_index=True
    )


def _bounds_of_system(study: Ranking, name: str, lists: rankings.Rankings) -> Iterator[Row]:
    """The bounds of each metric that is a mean over queries, a row for each. No rows if all items
    are judged, or if the lists judged in all ways together have more than `MOST_ROWS` rows.

    name: of the system. lists: its ranked lists.
    """
    unjudged = UnjudgedRows.find(lists, study.depth)
    if not unjudged.largest_count:  # all items are judged
        return
    # for each number j of relevant items, all lists are judged in two ways: the first j unjudged
    # items are relevant, or the last j
    ways = 2 * unjudged.largest_count
    if ways * len(lists.retrieved.grade) > MOST_ROWS:
        return
    highest_grade = max(study.relevance_level, study.runs.top_grade)
    judged_lists = [lists]  # first as they are judged now
    judged_lists += unjudged.extreme_judgements(highest_grade)
    for chosen in study.settings.metrics:
        sums_of_ways = [chosen.sums(judged, study.relevance_level) for judged in judged_lists]
        sums_now = sums_of_ways[0]
        is_mean = sums_now.denominator is None  # else a ratio of sums over the queries
        if is_mean and sums_now.defined.any():
            values = np.array([sums.numerator for sums in sums_of_ways])  # (ways, queries)
            row: Row = {"metric": chosen.label, "system": name}
            row |= _means_of_extremes(values)
            yield row | {"unjudged": int(unjudged.count.sum())}


def _means_of_extremes(values: Floats) -> dict[str, float]:
    """The mean over queries of a metric as the lists are judged now (value), of its lowest value
    per query (low), and of its highest (high); n: the number of queries. Queries without a value
    now are left out.

    values: of the metric, shape (ways to judge the lists, queries). The first way is how they are
    judged now.
    """
    has_value_now = ~np.isnan(values[0])
    values = values[:, has_value_now]
    return {
        "value": float(values[0].mean()),
        "low": float(np.nanmin(values, axis=0).mean()),
        "high": float(np.nanmax(values, axis=0).mean()),
        "n": values.shape[1],
    }


@dataclass(frozen=True, eq=False)
class UnjudgedRows:
    """The unjudged rows near the top of each list.

    judged_lists: of one system. row, owner, nth: of each unjudged row its place among all rows, its
    list, and its number among the unjudged ones of its list, from 1 at the top. count: unjudged
    rows of each list.
    """

    judged_lists: rankings.Rankings
    row: Ints
    owner: Ints
    nth: Ints
    count: Ints

    @classmethod
    def find(cls, system: rankings.Rankings, depth: int) -> "UnjudgedRows":
        """The unjudged rows in the first `depth` ranks of the lists of a system."""
        lists = system.retrieved
        # an unjudged item has the grade NaN
        row = np.flatnonzero(np.isnan(lists.grade) & (lists.rank <= depth))
        owner = lists.owner[row]  # the number of each row's list
        count = np.bincount(owner, minlength=len(lists))
        count_in_earlier_lists = np.cumsum(count) - count
        # Rows stand list by list, from the top: a row's number within its list is its number among
        # all unjudged rows less the count in earlier lists.
        number_in_all = np.arange(1, len(row) + 1)
        nth = number_in_all - count_in_earlier_lists[owner]
        return cls(system, row, owner, nth, count)

    @property
    def largest_count(self) -> int:
        """The largest number of unjudged rows in a list."""
        return int(self.count.max(initial=0))

    def extreme_judgements(self, grade: float) -> Iterator[rankings.Rankings]:
        """For each j, the rankings in which the first j of each list's unjudged items are relevant,
        then those in which the last j are. grade: of a relevant item.

        No metric rises if a relevant item of a list moves down, so that these two are the extremes
        for j relevant items.
        """
        for j in range(self.largest_count + 1):
            n_relevant = np.minimum(j, self.count)
            yield self._judged(self.nth <= n_relevant[self.owner], grade)
            yield self._judged(self.nth > (self.count - n_relevant)[self.owner], grade)

    def _judged(self, is_relevant: Bools, grade: float) -> rankings.Rankings:
        """The rankings with the unjudged items judged: relevant ones get the grade, the others 0.

        The ideal list of a query, to which metrics such as nDCG compare, has all its judged items
        by descending grade: it gets these items too.

        is_relevant: a mask of the unjudged rows. grade: of a relevant item.
        """
        new_grade = np.where(is_relevant, grade, 0.0)  # of each unjudged row
        retrieved_grade = self.judged_lists.retrieved.grade.copy()
        retrieved_grade[self.row] = new_grade
        retrieved = replace(self.judged_lists.retrieved, grade=retrieved_grade)
        ideal = self._with_ideal_items(new_grade)
        return replace(self.judged_lists, retrieved=retrieved, ideal=ideal)

    def _with_ideal_items(self, new_grade: Floats) -> rankings.Lists:
        """The ideal list of each query with the items that were unjudged. new_grade: of each."""
        ideal = self.judged_lists.ideal
        grade = np.concatenate([ideal.grade, new_grade])
        query = np.concatenate([ideal.owner, self.owner])  # the number of each item's list
        # by query, within a query the highest grade first; `lexsort` sorts by its last key first
        best_first = np.lexsort((-grade, query))
        list_ends = np.cumsum(np.bincount(query, minlength=len(ideal)))
        return rankings.Lists(
            grade[best_first],
            tied=np.zeros(len(grade), bool),  # no ties: an ideal list has no scores
            offset=np.concatenate([[0], list_ends]),
        )


# Diversity, novelty and coverage ------------------------------------------------------------------


OPPOSITE = 2.0  # the cosine distance of opposite directions
DIFFERENCE_COLUMNS = [
    "metric",
    "first",
    "second",
    "k",
    "difference",
    "low",
    "high",
    "p",
    "adjusted",
    "n",
    "method",
]
MEASURE_COLUMNS = ["metric", "system", "k", "value", "low", "high", "n", "left_out"]


@cached
def measures(study: Ranking) -> pd.DataFrame:
    """Every measure of each system at `study.depth`: `MEASURE_COLUMNS`; empty without `items` or if
    lists are not in memory.

    n: the number of lists with a value. left_out: how many of the first k items of all lists are
    not in the table of items, or have no value there in the column that the measure needs.
    """
    rows = []
    for name, measures_of_system in _by_system(study).items():
        for measure in measures_of_system.values():
            row = {"metric": measure.name, "system": name, "k": study.depth}
            row |= estimate_columns(measure.estimate)
            # of each list: its items that the measure cannot use
            left_out = diversity.unknown_items(measure.lists, measure.is_usable, study.depth)
            rows.append(row | {"left_out": int(left_out.sum())})
    return pd.DataFrame(rows, columns=MEASURE_COLUMNS)


@cached
def differences(study: Ranking) -> pd.DataFrame:
    """The differences of every measure between pairs of systems: `DIFFERENCE_COLUMNS`; p-values are
    adjusted by Holm over the pairs of a measure.

    Means over lists are compared by sign flips over the lists (or their units) with a value of both
    systems; measures of all lists together by the paired t-test of jackknife values.
    """
    by_system = _by_system(study)
    measure_names = list(next(iter(by_system.values()), {}))  # the same for all systems
    rows = []
    for metric in measure_names:
        tests = [
            _comparison(study, by_system[first][metric], by_system[second][metric])
            for first, second in study.pairs
        ]
        for (first, second), comparison in zip(
            study.pairs, significance.adjust(tests), strict=True
        ):
            row = {"metric": metric, "first": first, "second": second, "k": study.depth}
            row |= limits(comparison.difference, "difference")
            row |= {
                "p": comparison.p_value,
                "adjusted": comparison.adjusted,
                "n": comparison.difference.n,
                "method": comparison.method,
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=DIFFERENCE_COLUMNS)


def _comparison(study: Ranking, first: "_Measure", second: "_Measure") -> significance.Comparison:
    """Compare two systems in a measure, as the study's question asks."""
    return study.comparison_of_question(lambda level: _comparison_at(study, first, second, level))


def _comparison_at(
    study: Ranking, first: "_Measure", second: "_Measure", level: float
) -> significance.Comparison:
    """The two-sided comparison of two systems with limits at a level. first, second: the same
    measure of each system.

    Undefined (NaN) if no list has a value of both, or if the error of a measure of all lists is
    unknown.
    """
    options = replace(study.inference_options(RandomStream.COMPARISONS), level=level)
    undefined = inference.undefined(options.level, options.unit)
    # of each list; of a measure of all lists together, jackknife pseudo-values
    differences = first.values - second.values
    if np.isnan(differences).all():
        return undefined
    if first.is_of_all_lists:
        if np.ptp(differences) == 0:
            # no list alone changes the difference: the jackknife cannot tell its error
            return undefined
        # not by sign flips, which need a value of each list by itself
        return significance.paired_t(differences, level=options.level, unit=options.unit)
    has_both = ~np.isnan(differences)
    units = Sums(differences).summed_by_unit(has_both, study.unit)  # each list without units
    return significance.sign_flip(
        units.numerator, units.size, rng=options.rng, level=options.level, unit=options.unit
    )


@dataclass(frozen=True, eq=False)
class _Measure:
    """A measure of the lists of one system.

    is_usable: True for each item of the catalogue that has what the measure needs. values: of each
    list, NaN if it has none; of a measure of all lists together the jackknife's values of the lists
    or units.
    """

    name: str
    estimate: intervals.Estimate
    is_usable: Bools
    lists: diversity.Items
    values: Floats
    is_of_all_lists: bool = False


@cached
def _by_system(study: Ranking) -> dict[str, dict[str, _Measure]]:
    """System -> measure name -> the measure; empty if the user gave no table of items (`items`), or
    if the lists are not in memory.
    """
    if study.catalogue is None or study.runs.retrieved_items is None:
        return {}
    lists = study.catalogue.listed(study.runs.retrieved_items)
    by_system = {}
    for name in study.order:
        of_system = _measures(study, study.catalogue, lists[name])
        by_system[name] = {measure.name: measure for measure in of_system}
    return by_system


def _measures(study: Ranking, catalogue: Catalogue, lists: diversity.Items) -> Iterator[_Measure]:
    """Yield each measure of one system for which the catalogue, the table of items, has the
    columns: first those that are means over lists, then those of all lists together. lists: the
    items in the lists of this system.
    """
    yield from _means_over_lists(study, catalogue, lists)
    yield from _measures_of_all_lists(study, catalogue, lists)


def _means_over_lists(
    study: Ranking, catalogue: Catalogue, lists: diversity.Items
) -> Iterator[_Measure]:
    """Yield the measures of a system that have a value for each list: diversity and novelty."""
    k = study.depth

    def mean(name: str, values: Floats, is_usable: Bools, highest: float = 1.0) -> _Measure:
        """The mean over lists of a measure that lies between 0 and `highest` for each list.

        values: one per list, NaN without a value. is_usable: a mask of the items in the catalogue
        that have what the measure needs.
        """
        has_value = ~np.isnan(values)
        # without units, each list is one: the ratio Σ values / Σ lists is the mean over lists
        sums_of_units = Sums(values).summed_by_unit(has_value, study.unit)
        ratio_of_sums = independent.arm_of_ratio(sums_of_units)
        e = interval_methods.arm_within(ratio_of_sums, 0.0, highest, level=study.settings.level)
        n_lists = int(has_value.sum())  # where lists are clustered, the estimate counts units
        return _Measure(name, replace(e, n=n_lists), is_usable, lists, values)

    if catalogue.category is not None:
        values = diversity.intra_list_diversity_category(lists, catalogue.category, k)
        has_category = catalogue.category >= 0
        yield mean("diversity by category", values, has_category)
    if catalogue.features is not None:
        values = diversity.intra_list_diversity(lists, catalogue.features, k)
        has_features = diversity.described(catalogue.features)
        yield mean("diversity by features", values, has_features, OPPOSITE)
    for name, share in novelty_shares(catalogue).items():
        # −log2 of the share: undefined for a share of 0, and without an upper bound
        yield mean(name, diversity.novelty(lists, share, k), share > 0, np.inf)


def _measures_of_all_lists(
    study: Ranking, catalogue: Catalogue, lists: diversity.Items
) -> Iterator[_Measure]:
    """Yield the measures of how often the lists of a system together show each item, such as
    coverage. A single list has no value of them, so that their errors come from the jackknife.
    """
    k = study.depth
    all_items = np.ones(len(catalogue), bool)  # every item is usable
    lists_with_item = diversity.exposure(lists, k)  # of each item of the catalogue
    for name, measure in MEASURES_OF_ALL_LISTS.items():
        value = measure.of_exposure(lists_with_item)
        if study.unit is None:
            pseudo_values = measure.jackknife(lists, k)  # one per list
        else:
            # one per unit, whose lists are left out together
            pseudo_values = diversity.jackknife_by_unit(lists, study.unit, measure.of_exposure, k)
        e = jackknifed(value, pseudo_values, level=study.settings.level)
        e = replace(e, n=len(lists))  # lists, also where the estimate counts units
        yield _Measure(name, e, all_items, lists, pseudo_values, is_of_all_lists=True)


class MeasureOfAllLists(NamedTuple):
    """A measure of all lists together.

    of_exposure: its value from how many lists show each item. jackknife: the values of each list by
    the jackknife, from the lists and the depth.
    """

    of_exposure: Callable[[Ints], float]
    jackknife: Callable[[diversity.Items, int], Floats]


MEASURES_OF_ALL_LISTS = {
    "coverage": MeasureOfAllLists(diversity.share_exposed, diversity.catalogue_coverage_by_list),
    "Gini of exposure": MeasureOfAllLists(diversity.gini, diversity.exposure_gini_by_list),
}


def jackknifed(value: float, jackknife: Floats, *, level: float) -> intervals.Estimate:
    """A measure of all lists together, in 0..1, with t limits from the units' jackknife values, cut
    at 0 and 1.

    There are no limits if no single unit changes the measure, for example if at least two lists
    show every item: its error is then unknown.

    >>> jackknifed(1.0, np.array([1.0, 1.0, 1.0]), level=0.95).low
    nan
    >>> jackknifed(0.9, np.array([1.0, 0.8]), level=0.95).high
    1.0
    """
    arm = independent.arm_with_value(value, jackknife - value)
    error = float(np.sqrt(arm.variance)) or np.nan
    e = intervals.t_interval(value, error, n=len(jackknife), level=level, method="jackknife t")
    return replace(e, low=float(np.clip(e.low, 0, 1)), high=float(np.clip(e.high, 0, 1)))


def novelty_shares(catalogue: Catalogue) -> dict[str, Floats]:
    """The name of each novelty measure for which the table of items has the columns -> the share of
    every item, of interactions or of users. The lower its share, the more novel is an item.
    """
    shares = {}
    if catalogue.popularity is not None:
        interactions = np.nan_to_num(catalogue.popularity)
        shares["novelty by interactions"] = diversity.interaction_share(interactions)
    if catalogue.user_share is not None:
        shares["novelty by users"] = catalogue.user_share
    return shares
