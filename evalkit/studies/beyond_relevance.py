"""Aspects of ranked lists other than relevance: the effect of unjudged items, diversity, novelty,
coverage.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats, Ints
from evalkit.catalogue.metric import MetricAtK
from evalkit.metrics import diversity, rankings
from evalkit.metrics.rows import Sums
from evalkit.reading.inputs.lists import Stock
from evalkit.statistics import independent, inference, interval_methods, intervals, significance
from evalkit.studies.ranking import Ranking
from evalkit.studies.study import estimate_columns, limits
from evalkit.system import cached

BOUNDS = ["metric", "system", "value", "low", "high", "n", "unjudged"]
ARRANGED = 5_000_000  # rows that all arrangements of one system may have together


@cached
def bounds(study: Ranking) -> pd.DataFrame:
    """The bounds of each system's metrics with unjudged items in its first `study.depth` ranks:
    `BOUNDS`.

    Each of these items may be relevant, with the highest grade of the judgements, or not relevant.
    unjudged: their number in all lists. value, low, high: means over the n queries on which the
    metric is defined now. Empty if all items are judged, and if the lists are not in memory or
    there are too many.
    """
    if not study.runs.rankings:
        return pd.DataFrame(columns=BOUNDS)
    every = (
        (name, *row) for name in study.order for row in _of_system(study, study.runs.rankings[name])
    )
    rows = [{"metric": chosen.label, "system": name} | limits for name, chosen, limits in every]
    frame = pd.DataFrame(rows, columns=BOUNDS)
    place = {chosen.label: i for i, chosen in enumerate(study.settings.metrics)}
    return frame.sort_values(
        "metric", key=lambda labels: labels.map(place), kind="stable", ignore_index=True
    )


def _of_system(
    study: Ranking, r: rankings.Rankings
) -> Iterator[tuple[MetricAtK, dict[str, float]]]:
    """The limits of each metric that is a mean over queries; nothing for a system without an
    unjudged item.
    """
    unknown = Unknown.of(r, study.depth)
    if not unknown.most or unknown.most * 2 * len(r.retrieved.grade) > ARRANGED:
        return
    worlds = [r, *unknown.worlds(max(study.relevance_level, study.runs.top_grade))]
    for chosen in study.settings.metrics:
        values = [chosen.sums(world, study.relevance_level) for world in worlds]
        if values[0].denominator is None and values[0].defined.any():
            limits = _limits(np.array([sums.numerator for sums in values]))
            yield chosen, limits | {"unjudged": int(unknown.count.sum())}


def _limits(values: Floats) -> dict[str, float]:
    """The mean of the first row's values that exist, and those of the lowest and the highest of
    each column.
    """
    values = values[:, ~np.isnan(values[0])]
    means = (
        row.mean() for row in (values[0], np.nanmin(values, axis=0), np.nanmax(values, axis=0))
    )
    return dict(zip(("value", "low", "high"), map(float, means), strict=True)) | {
        "n": values.shape[1]
    }


@dataclass(frozen=True, eq=False)
class Unknown:
    """The unjudged rows near the top of each list: row, list, number from the top. count: unjudged
    rows per list.
    """

    r: rankings.Rankings
    row: Ints
    owner: Ints
    nth: Ints
    count: Ints

    @classmethod
    def of(cls, r: rankings.Rankings, depth: int) -> "Unknown":
        """The unjudged rows in the first `depth` ranks."""
        lists = r.retrieved
        row = np.flatnonzero(np.isnan(lists.grade) & (lists.rank <= depth))
        owner = lists.owner[row]
        count = np.bincount(owner, minlength=len(lists))
        return cls(
            r, row, owner, np.arange(1, len(row) + 1) - (np.cumsum(count) - count)[owner], count
        )

    @property
    def most(self) -> int:
        """The largest number of unjudged rows in a list."""
        return int(self.count.max(initial=0))

    def worlds(self, grade: float) -> Iterator[rankings.Rankings]:
        """For each j, the rankings in which the first j, or the last j, of each list's unjudged
        items are relevant.

        No metric rises if a relevant item of a list moves down, so that these two are the extremes
        for j relevant items.
        """
        for j in range(self.most + 1):
            relevant = np.minimum(j, self.count)
            yield self._judged(self.nth <= relevant[self.owner], grade)
            yield self._judged(self.nth > (self.count - relevant)[self.owner], grade)

    def _judged(self, relevant: Bools, grade: float) -> rankings.Rankings:
        """The rankings if these of the unjudged items are relevant, with this grade, and the others
        are not.
        """
        grades = self.r.retrieved.grade.copy()
        ideal = self.r.ideal
        grades[self.row] = np.where(relevant, grade, 0.0)
        every = np.concatenate([ideal.grade, grades[self.row]])
        owner = np.concatenate([ideal.owner, self.owner])
        order = np.lexsort((-every, owner))
        offset = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(ideal)))])
        best = rankings.Lists(every[order], np.zeros(len(every), bool), offset)
        return replace(self.r, retrieved=replace(self.r.retrieved, grade=grades), ideal=best)


# Diversity, novelty and coverage ------------------------------------------------------------------


OPPOSITE = 2.0  # the cosine distance of opposite directions
DIFFERENCES = [
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
MEASURES = ["metric", "system", "k", "value", "low", "high", "n", "left_out"]


@cached
def measures(study: Ranking) -> pd.DataFrame:
    """Every measure of each system at `study.depth`: `MEASURES`; empty without `items` or if lists
    are not in memory.

    n: number of lists with a value. left_out: number of items among the first k that the table
    lacks, or that lack what the measure needs.
    """
    rows = []
    for name, measure in (
        (name, one) for name, every in _by_system(study).items() for one in every.values()
    ):
        unknown = diversity.unknown_items(measure.lists, measure.has, study.depth).sum()
        place = {"metric": measure.name, "system": name, "k": study.depth}
        rows.append(place | estimate_columns(measure.estimate) | {"left_out": int(unknown)})
    return pd.DataFrame(rows, columns=MEASURES)


@cached
def differences(study: Ranking) -> pd.DataFrame:
    """The differences of every measure between pairs of systems: `DIFFERENCES`; p adjusted by Holm
    within a measure.

    Means over lists are compared by sign flips over the lists (or their units) with a value of both
    systems; measures of all lists together by the paired t-test of jackknife values.
    """
    every = _by_system(study)
    rows = []
    for metric in next(iter(every.values()), {}):
        tests = [
            _compared(study, every[first][metric], every[second][metric])
            for first, second in study.pairs
        ]
        for (first, second), c in zip(study.pairs, significance.adjust(tests), strict=True):
            pair = {"metric": metric, "first": first, "second": second, "k": study.depth}
            tested = {
                "p": c.p_value,
                "adjusted": c.adjusted,
                "n": c.difference.n,
                "method": c.method,
            }
            rows.append(pair | limits(c.difference, "difference") | tested)
    return pd.DataFrame(rows, columns=DIFFERENCES)


def _compared(study: Ranking, first: "_Measure", second: "_Measure") -> significance.Comparison:
    return study.asked_comparison(lambda level: _compared_at(study, first, second, level))


def _compared_at(
    study: Ranking, first: "_Measure", second: "_Measure", level: float
) -> significance.Comparison:
    o = replace(study.inference_options(2), level=level)
    d = first.moved - second.moved
    if np.isnan(d).all() or (
        first.whole and not np.ptp(d)
    ):  # no list alone moves the number: its error is unknown
        return inference.undefined(o.level, o.unit)
    if first.whole:
        return significance.paired_t(d, level=o.level, unit=o.unit)
    of_unit = Sums(d).summed_by_unit(~np.isnan(d), study.unit)  # Σ difference, and lists
    return significance.sign_flip(
        of_unit.numerator, of_unit.size, rng=o.rng, level=o.level, unit=o.unit
    )


@dataclass(frozen=True, eq=False)
class _Measure:
    """A measure of the lists of one system. has: True for each item that it can use.

    moved: of each list, or of a number of all lists (whole) the jackknife's values.
    """

    name: str
    estimate: intervals.Estimate
    has: Bools
    lists: diversity.Items
    moved: Floats
    whole: bool = False


@cached
def _by_system(study: Ranking) -> dict[str, dict[str, _Measure]]:
    """Every measure of every system; nothing without `items` and without lists in memory."""
    if study.catalogue is None or study.runs.retrieved is None:
        return {}
    stock = study.catalogue
    lists = study.catalogue.listed(study.runs.retrieved)
    return {
        name: {one.name: one for one in _measures(study, stock, lists[name])}
        for name in study.order
    }


def _measures(study: Ranking, stock: Stock, lists: diversity.Items) -> Iterator[_Measure]:
    """Each measure that the table allows."""
    k = study.depth

    def mean(name: str, values: Floats, has: Bools, high: float = 1.0) -> _Measure:
        known = ~np.isnan(values)
        arm = independent.ratio_of(Sums(values).summed_by_unit(known, study.unit))
        e = interval_methods.arm_within(arm, 0.0, high, level=study.settings.level)
        return _Measure(name, replace(e, n=int(known.sum())), has, lists, values)

    if stock.category is not None:
        values = diversity.intra_list_diversity_category(lists, stock.category, k)
        yield mean("diversity by category", values, stock.category >= 0)
    if stock.features is not None:
        values = diversity.intra_list_diversity(lists, stock.features, k)
        yield mean("diversity by features", values, diversity.described(stock.features), OPPOSITE)
    for name, share in novelty_shares(stock):
        yield mean(name, diversity.novelty(lists, share, k), share > 0, np.inf)
    for name, (of, by_list) in WHOLE.items():
        moved = (
            by_list(lists, k)
            if study.unit is None
            else diversity.jackknife_by_unit(lists, study.unit, of, k)
        )
        e = jackknifed(of(diversity.exposure(lists, k)), moved, level=study.settings.level)
        yield _Measure(
            name, replace(e, n=len(lists)), np.ones(len(stock), bool), lists, moved, whole=True
        )


# of all lists together: from how many lists show each item, and the jackknife's values of the lists
WHOLE = {
    "coverage": (diversity.share_exposed, diversity.catalogue_coverage_by_list),
    "Gini of exposure": (diversity.gini, diversity.exposure_gini_by_list),
}


def jackknifed(value: float, moved: Floats, *, level: float) -> intervals.Estimate:
    """A measure of all lists together, in 0..1, with t limits from the units' jackknife values, cut
    at 0 and 1.

    There are no limits if no single unit changes the measure, for example if at least two lists
    show every item: its error is then unknown.

    >>> jackknifed(1.0, np.array([1.0, 1.0, 1.0]), level=0.95).low
    nan
    >>> jackknifed(0.9, np.array([1.0, 0.8]), level=0.95).high
    1.0
    """
    error = float(np.sqrt(independent.arm_of(value, moved - value).variance)) or np.nan
    e = intervals.t_interval(value, error, n=len(moved), level=level, method="jackknife t")
    return replace(e, low=float(np.clip(e.low, 0, 1)), high=float(np.clip(e.high, 0, 1)))


def novelty_shares(stock: Stock) -> Iterator[tuple[str, Floats]]:
    """The novelty measures that the table allows, each with the probability p of every item."""
    if stock.popularity is not None:
        yield (
            "novelty by interactions",
            diversity.interaction_share(np.nan_to_num(stock.popularity)),
        )
    if stock.user_share is not None:
        yield "novelty by users", stock.user_share
