"""The rows of the table of metrics for ranked lists: what each is, when it is undefined, which tool it equals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.kinds import (
    PerUnit,
    Ratio,
)
from evalkit.catalogue.metric import Metric, described
from evalkit.metrics import gains, grouped, rankings
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.sums import Sums

HEADS = {"rankings": "Ranking"}
ALIASES = {
    "map": "average_precision",
    "ap": "average_precision",
    "mrr": "reciprocal_rank",
    "rr": "reciprocal_rank",
    "p": "precision",
    "r": "recall",
    "success": "hit_rate",
    "rprec": "r_precision",
    "gauc_impressions": "gauc",
    "gauc_uniform": "auc",
}


def _ranking(name: str, per_list: Callable[..., Floats], **rest: Any) -> Metric:
    """The mean over queries of one value each."""
    return described(name, "rankings", PerUnit(per_list), **rest)


def _ratio(name: str, terms: Callable[..., Sums], **rest: Any) -> Metric:
    return described(name, "rankings", Ratio(terms), **rest)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A metric of the grades alone, which the relevance level does not move."""
    return lambda r, k, level: function(r, k)


def _gain(function: Callable[..., Any], gain: gains.Gain) -> Callable[..., Any]:
    return lambda r, k, level: function(r, k, gain)


def _binary_ndcg(r: Rankings, k: int | None, level: float) -> Floats:
    return gains.ndcg(r, k, gains.binary(level))


def auc(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Per query: the chance that a relevant returned item stands above a non-relevant one; a tie counts ½.

    >>> from evalkit.metrics.rankings import from_grades
    >>> auc(from_grades([[1, 0, 1, 0], [1, 1]]))
    array([0.75,  nan])
    """
    g = _grouped(r, level)
    return _spread(r, g.group, g.auc)


def _grouped(r: Rankings, level: float) -> grouped.GroupedCounts:
    step = -np.cumsum(~r.retrieved.tied).astype(float)
    return grouped.auc_by_group(r.retrieved.grade >= level, step, r.retrieved.owner)


def _spread(r: Rankings, query: Ints, values: Floats) -> Floats:
    """Values of some queries as one value a query, NaN for the others."""
    every = np.full(len(r), np.nan)
    every[query] = values
    return every


def _gauc(weight: str) -> Callable[..., Sums]:
    def compute(r: Rankings, k: int | None, level: float) -> Sums:
        g = _grouped(r, level)
        w = np.where(np.isnan(g.auc), np.nan, getattr(g, weight).astype(float))
        return Sums(_spread(r, g.group, w * g.auc), _spread(r, g.group, w))

    return compute


ROWS = (
    _ranking("precision", rankings.precision),
    _ranking("recall", rankings.recall),
    _ranking("r_precision", rankings.r_precision, cut="never"),
    _ranking("hit_rate", rankings.hit_rate),
    _ratio("hit_ratio", rankings.hit_ratio),
    _ratio("hit_ratio_k", rankings.hit_ratio_k, cut="must"),
    _ranking("average_precision", rankings.average_precision),
    _ranking("average_precision_min", rankings.average_precision_min),
    _ranking("average_precision_hits", rankings.average_precision_hits, tie_range=False),
    _ranking("average_precision_interpolated", rankings.average_precision_interpolated),
    _ranking("reciprocal_rank", rankings.reciprocal_rank),
    _ranking("ndcg", _gain(gains.ndcg, gains.linear)),
    _ranking("ndcg_exp", _gain(gains.ndcg, gains.exponential)),
    _ranking("ndcg_binary", _binary_ndcg),
    _ranking("dcg", _gain(gains.dcg, gains.linear), high=np.inf, unit="grade"),
    _ranking("dcg_exp", _gain(gains.dcg, gains.exponential), high=np.inf),
    _ranking("cg", _plain(gains.cg), high=np.inf, unit="grade"),
    _ranking("rbp", rankings.rbp),
    _ranking("err", _plain(gains.err)),
    _ranking("bpref", rankings.bpref, cut="never"),
    _ranking("judged", _plain(rankings.judged), best="neither"),
    _ranking("auc", auc, cut="never"),
    _ratio("gauc", _gauc("impressions"), cut="never"),
    _ratio("gauc_positives", _gauc("positives"), cut="never"),
)
