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
from evalkit.statistics import interval_methods
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
            e = _estimate(measure, study.settings.level)
            limits = {"value": e.value, "low": e.low, "high": e.high, "n": e.n}
            left_out = int(diversity.left_out(by_system[name], measure.has, k).sum())
            rows.append({"metric": measure.name, "system": name, "k": k} | limits | {"left_out": left_out})
    return pd.DataFrame(rows, columns=COLUMNS)


@dataclass(frozen=True, eq=False)
class _Measure:
    """Sums by unit whose ratio is the measure, from 0 to `high`. n: lists with a value. has: which items it can use."""

    name: str
    sums: Sums
    n: int
    has: Bools
    high: float = 1.0


def _measures(study: Ranking, stock: Stock, lists: Items) -> Iterator[_Measure]:
    """Each measure that the table allows."""
    k = study.depth

    def mean(name: str, values: Floats, has: Bools, high: float = 1.0) -> _Measure:
        known = ~np.isnan(values)
        return _Measure(name, Sums(*Sums(values).by_unit(known, study.unit)), int(known.sum()), has, high)

    if stock.category is not None:
        values = diversity.intra_list_diversity_category(lists, stock.category, k)
        yield mean("diversity by category", values, stock.category >= 0)
    if stock.features is not None:
        values = diversity.intra_list_diversity(lists, stock.features, k)
        yield mean("diversity by features", values, diversity.described(stock.features), OPPOSITE)
    for name, share in shares(stock):
        yield mean(name, diversity.novelty(lists, share, k), share > 0, np.inf)
    for name, whole in WHOLE.items():
        yield _Measure(name, Sums(whole(study.unit, lists, k)), len(lists), np.ones(len(stock), bool))


def _coverage(unit: np.ndarray | None, lists: Items, k: int) -> Floats:
    if unit is None:
        return diversity.catalogue_coverage_by_list(lists, k)
    return diversity.jackknife_by_unit(lists, unit, diversity.share_exposed, k)


def _gini(unit: np.ndarray | None, lists: Items, k: int) -> Floats:
    if unit is None:
        return diversity.exposure_gini_by_list(lists, k)
    return diversity.jackknife_by_unit(lists, unit, diversity.gini, k)


WHOLE = {"coverage": _coverage, "Gini of exposure": _gini}  # of all lists together: the jackknife's values of units


def shares(stock: Stock) -> Iterator[tuple[str, Floats]]:
    """The novelty measures that the table allows, each with the share p of every item."""
    if stock.popularity is not None:
        yield "novelty by interactions", diversity.interaction_share(np.nan_to_num(stock.popularity))
    if stock.user_share is not None:
        yield "novelty by users", stock.user_share


def _estimate(measure: _Measure, level: float) -> Estimate:
    """The ratio of sums by the jackknife within the measure's range."""
    e = interval_methods.ratio_within(measure.sums, 0.0, measure.high, level=level)
    return replace(e, n=measure.n)
