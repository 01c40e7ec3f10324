"""What ranked lists are like beside relevance: how diverse and novel they are, how much of the catalogue they show."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from evalkit.arrays import Bools, Floats
from evalkit.metrics import diversity
from evalkit.metrics.diversity import Items
from evalkit.reading.inputs.stock import Stock
from evalkit.statistics import intervals
from evalkit.statistics.intervals import Estimate
from evalkit.studies.once import once
from evalkit.studies.ranking import Ranking

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
        for metric, values, has in _measures(study.catalogue, by_system[name], k):
            e = _estimate(study, values)
            limits = {"value": e.value, "low": e.low, "high": e.high, "n": e.n}
            left_out = int(diversity.left_out(by_system[name], has, k).sum())
            rows.append({"metric": metric, "system": name, "k": k} | limits | {"left_out": left_out})
    return pd.DataFrame(rows, columns=COLUMNS)


def _measures(stock: Stock, lists: Items, k: int) -> Iterator[tuple[str, Floats, Bools]]:
    """Each measure that the table allows: its name, one value per list, and which items it can use."""
    if stock.category is not None:
        values = diversity.intra_list_diversity_category(lists, stock.category, k)
        yield "diversity by category", values, stock.category >= 0
    if stock.features is not None:
        values = diversity.intra_list_diversity(lists, stock.features, k)
        yield "diversity by features", values, diversity.described(stock.features)
    for name, share in shares(stock):
        yield name, diversity.novelty(lists, share, k), share > 0
    every = np.ones(len(stock), bool)
    yield "coverage", diversity.catalogue_coverage_by_list(lists, k), every
    yield "Gini of exposure", diversity.exposure_gini_by_list(lists, k), every


def shares(stock: Stock) -> Iterator[tuple[str, Floats]]:
    """The novelty measures that the table allows, each with the share p of every item."""
    if stock.popularity is not None:
        yield "novelty by interactions", diversity.interaction_share(np.nan_to_num(stock.popularity))
    if stock.user_share is not None:
        yield "novelty by users", stock.user_share


def _estimate(study: Ranking, values: Floats) -> Estimate:
    """The mean of values of lists, clustered where a unit was named, with its t interval.

    Of coverage and Gini the values are the jackknife's, so that the mean is the number of all lists.
    """
    known = ~np.isnan(values)
    unit = np.arange(len(values)) if study.unit is None else study.unit
    if not known.any():
        return Estimate(np.nan, np.nan, np.nan, study.settings.level, 0, "none")
    e = intervals.ratio_delta(*intervals.by_unit(values[known], unit[known]), level=study.settings.level)
    return replace(e, n=int(known.sum()))
