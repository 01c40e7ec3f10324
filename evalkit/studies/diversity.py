"""What ranked lists are like beside relevance: how diverse and novel they are, how much of the catalogue they show."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.metrics import diversity
from evalkit.metrics.diversity import Items
from evalkit.metrics.sums import Sums
from evalkit.reading.inputs.stock import Stock
from evalkit.statistics import independent, interval_methods, intervals
from evalkit.statistics.intervals import Estimate
from evalkit.studies.once import once
from evalkit.studies.ranking import Ranking

OPPOSITE = 2.0  # the cosine distance of opposite directions
COLUMNS = ["metric", "system", "k", "value", "low", "high", "n", "left_out"]


@once
def of_lists(study: Ranking) -> pd.DataFrame:
    """Every measure of every system at `study.depth`: `COLUMNS`; empty without `items` and without lists at hand.

    n: lists with a value. left_out: items among the first k that the table lacks, or that lack what the measure needs.
    """
    if study.catalogue is None or study.runs.retrieved is None:
        return pd.DataFrame(columns=COLUMNS)
    by_system, k = study.catalogue.listed(study.runs.retrieved), study.depth
    rows = []
    for name in study.order:
        for measure in _measures(study, study.catalogue, by_system[name]):
            e = measure.estimate
            limits = {"value": e.value, "low": e.low, "high": e.high, "n": e.n}
            left_out = int(diversity.left_out(by_system[name], measure.has, k).sum())
            rows.append({"metric": measure.name, "system": name, "k": k} | limits | {"left_out": left_out})
    return pd.DataFrame(rows, columns=COLUMNS)


@dataclass(frozen=True, eq=False)
class _Measure:
    """A measure of the lists of one system. has: which items it can use."""

    name: str
    estimate: Estimate
    has: Bools


def _measures(study: Ranking, stock: Stock, lists: Items) -> Iterator[_Measure]:
    """Each measure that the table allows."""
    k = study.depth

    def mean(name: str, values: Floats, has: Bools, high: float = 1.0) -> _Measure:
        known = ~np.isnan(values)
        sums = Sums(*Sums(values).by_unit(known, study.unit))
        e = interval_methods.ratio_within(sums, 0.0, high, level=study.settings.level)
        return _Measure(name, replace(e, n=int(known.sum())), has)

    if stock.category is not None:
        values = diversity.intra_list_diversity_category(lists, stock.category, k)
        yield mean("diversity by category", values, stock.category >= 0)
    if stock.features is not None:
        values = diversity.intra_list_diversity(lists, stock.features, k)
        yield mean("diversity by features", values, diversity.described(stock.features), OPPOSITE)
    for name, share in shares(stock):
        yield mean(name, diversity.novelty(lists, share, k), share > 0, np.inf)
    for name, (of, by_list) in WHOLE.items():
        moved = by_list(lists, k) if study.unit is None else diversity.jackknife_by_unit(lists, study.unit, of, k)
        e = of_all(of(diversity.exposure(lists, k)), moved, level=study.settings.level)
        yield _Measure(name, replace(e, n=len(lists)), np.ones(len(stock), bool))


WHOLE = {  # of all lists together: from how many lists show each item, and the jackknife's values of the lists
    "coverage": (diversity.share_exposed, diversity.catalogue_coverage_by_list),
    "Gini of exposure": (diversity.gini, diversity.exposure_gini_by_list),
}


def of_all(value: float, moved: Floats, *, level: float) -> Estimate:
    """A number of all lists in 0..1 with t limits from the jackknife's values of the units, cut at 0 and 1.

    No limits if no unit alone moves the number, as where at least two lists show every item: its error is unknown.

    >>> of_all(1.0, np.array([1.0, 1.0, 1.0]), level=0.95).low, of_all(0.9, np.array([1.0, 0.8]), level=0.95).high
    (nan, 1.0)
    """
    error = float(np.sqrt(independent.arm_of(value, moved - value).variance)) or np.nan
    e = intervals.t_interval(value, error, n=len(moved), level=level, method="jackknife t")
    return replace(e, low=float(np.clip(e.low, 0, 1)), high=float(np.clip(e.high, 0, 1)))


def shares(stock: Stock) -> Iterator[tuple[str, Floats]]:
    """The novelty measures that the table allows, each with the share p of every item."""
    if stock.popularity is not None:
        yield "novelty by interactions", diversity.interaction_share(np.nan_to_num(stock.popularity))
    if stock.user_share is not None:
        yield "novelty by users", stock.user_share
