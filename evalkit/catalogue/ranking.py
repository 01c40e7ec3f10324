"""The rows of the table of metrics for ranked lists: what each is, when it is undefined, which tool it equals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.catalogue.kinds import (
    Kind,
    PerUnit,
    Ratio,
)
from evalkit.catalogue.metric import Metric
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
NO_RELEVANT = "nothing is relevant"
NO_GAIN = "no item has a grade above 0"


def _ranking(name: str, per_list: Callable[..., Floats], formula: str, equals: str, **rest: Any) -> Metric:
    """The mean over queries of one value each."""
    return _row(name, PerUnit(per_list), formula, equals, **rest)


def _ratio(name: str, terms: Callable[..., Sums], formula: str, equals: str, **rest: Any) -> Metric:
    return _row(name, Ratio(terms), formula, equals, **rest)


def _row(name: str, kind: Kind, formula: str, equals: str, **rest: Any) -> Metric:
    return Metric(name, "rankings", kind, formula, rest.pop("undefined", NO_RELEVANT), equals, **rest)


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


JARVELIN = "Järvelin and Kekäläinen 2002, doi:10.1145/582415.582418"
ONE_CLASS = "the returned items are all relevant or all not"
R = "R = all relevant items judged for the query"

ROWS = (
    _ranking(
        "precision",
        rankings.precision,
        "relevant items in the first k / k",
        "trec_eval P",
        plain="the share of {top} that is relevant",
    ),
    _ranking(
        "recall",
        rankings.recall,
        f"relevant items in the first k / R; {R}",
        "trec_eval recall",
        plain="the share of all relevant items that is among {top}",
    ),
    _ranking(
        "r_precision",
        rankings.r_precision,
        "relevant items in the first R / R",
        "trec_eval Rprec",
        cut="never",
        plain="the share of relevant items among the first R, if R items are relevant",
    ),
    _ranking(
        "hit_rate",
        rankings.hit_rate,
        "1 where the first k hold any relevant item, else 0",
        "trec_eval success",
        plain="the share of queries with a relevant item among {top}",
    ),
    _ratio(
        "hit_ratio",
        rankings.hit_ratio,
        "Σ relevant items in the first k / Σ R, both over all queries",
        "none as such",
        plain="the share of the relevant items of all queries that is among {top}",
    ),
    _ratio(
        "hit_ratio_k",
        rankings.hit_ratio_k,
        "Σ relevant items in the first k / (k · number of queries)",
        "mean precision@k",
        cut="must",
        plain="the share of {top} of all queries that is relevant",
    ),
    _ranking(
        "average_precision",
        rankings.average_precision,
        "Σ precision at each relevant item of the first k / R; its mean is MAP",
        "trec_eval map, map_cut; ranx map",
        plain="how early the relevant items stand among {top}; 1 if all of them come first",
    ),
    _ranking(
        "average_precision_min",
        rankings.average_precision_min,
        "Σ precision at each relevant item of the first k / min(k, R)",
        "recommenders map_at_k; RecBole, RePlay MAP",
        plain="how early the relevant items stand among {top}; 1 if as many as fit come first",
    ),
    _ranking(
        "average_precision_hits",
        rankings.average_precision_hits,
        "mean precision at the relevant items that were found in the first k; blind to those missed",
        "torchmetrics RetrievalMAP",
        tie_range=False,
        plain="how early those relevant items that were returned stand among {top}",
    ),
    _ranking(
        "average_precision_interpolated",
        rankings.average_precision_interpolated,
        "at each relevant item of the first k the largest precision there or deeper, Σ / R",
        "none as such",
        plain="how early the relevant items stand among {top}, with interpolated precision",
    ),
    _ranking(
        "reciprocal_rank",
        rankings.reciprocal_rank,
        "1 / rank of the first relevant item, 0 where the first k hold none; its mean is MRR",
        "trec_eval recip_rank; ir_measures RR",
        plain="how early the first relevant item stands among {top}: 1 at rank 1, ½ at rank 2, ⅓ at rank 3",
    ),
    _ranking(
        "ndcg",
        _gain(gains.ndcg, gains.linear),
        "Σ grade / log2(rank + 1) over the first k / the same sum of all judged items in their best order",
        "trec_eval ndcg, ndcg_cut; ranx ndcg",
        undefined=NO_GAIN,
        reference=JARVELIN,
        plain="how close {top} are to the best possible order; the top ranks weigh most",
    ),
    _ranking(
        "ndcg_exp",
        _gain(gains.ndcg, gains.exponential),
        "as ndcg with the gain 2^grade − 1",
        "ranx ndcg_burges; ir_measures nDCG(dcg='exp-log2')",
        undefined=NO_GAIN,
        reference="Burges et al. 2005, doi:10.1145/1102351.1102363",
        plain="how close {top} are to the best possible order; the top ranks and high grades weigh most",
    ),
    _ranking(
        "ndcg_binary",
        _binary_ndcg,
        "as ndcg with the gain 1 for a relevant item, else 0",
        "RecBole, cornac, RePlay NDCG",
        reference=JARVELIN,
        plain="how close {top} are to the best order of relevant and other items; the top ranks weigh most",
    ),
    _ranking(
        "dcg",
        _gain(gains.dcg, gains.linear),
        "Σ grade / log2(rank + 1) over the first k",
        "ranx dcg",
        undefined=NO_GAIN,
        high=np.inf,
        reference=JARVELIN,
        plain="the sum of the grades of {top}; the top ranks weigh most",
        unit="grade",
    ),
    _ranking(
        "dcg_exp",
        _gain(gains.dcg, gains.exponential),
        "Σ (2^grade − 1) / log2(rank + 1) over the first k",
        "ranx dcg_burges",
        undefined=NO_GAIN,
        high=np.inf,
        plain="the sum of the grades of {top}; the top ranks and high grades weigh most",
    ),
    _ranking(
        "cg",
        _plain(gains.cg),
        "Σ grade over the first k",
        "none as such",
        undefined=NO_GAIN,
        high=np.inf,
        plain="the sum of the grades of {top}",
        unit="grade",
    ),
    _ranking(
        "rbp",
        rankings.rbp,
        "0.2 · Σ 0.8^(rank − 1) over the relevant items of the first k (persistence 0.8)",
        "ranx rbp.80 with grades 0 and 1",
        reference="Moffat and Zobel 2008, doi:10.1145/1416950.1416952",
        plain="the relevance seen by a user who goes on to the next of {top} with probability 0.8",
    ),
    _ranking(
        "err",
        _plain(gains.err),
        "Σ 1/rank · P(stop there), P(satisfied) = (2^grade − 1) / 2^top, top = the best grade judged",
        "gdeval ERR where the best grade is 4",
        undefined=NO_GAIN,
        reference="Chapelle et al. 2009, doi:10.1145/1645953.1646033",
        plain="the mean of 1 / rank where a user of {top} is satisfied and stops",
    ),
    _ranking(
        "bpref",
        rankings.bpref,
        "1/R Σ 1 − min(n, R) / min(N, R) over relevant items: n of the N judged non-relevant stand above it",
        "trec_eval bpref",
        cut="never",
        reference="Buckley and Voorhees 2004, doi:10.1145/1008992.1009000",
        plain="how seldom items that were judged not relevant stand above relevant ones",
    ),
    _ranking(
        "judged",
        _plain(rankings.judged),
        "returned items with a judgement, in the first k / returned items in the first k",
        "ir_measures Judged",
        undefined="the list is empty",
        best="neither",
        plain="the share of {top} that has a judgement",
    ),
    _ranking(
        "auc",
        auc,
        "P(a relevant returned item ranks above a non-relevant one), a tie ½; mean over queries",
        "scikit-learn roc_auc_score by query",
        undefined=ONE_CLASS,
        cut="never",
        plain="how often a relevant item of a query ranks above another; ½ without skill",
    ),
    _ratio(
        "gauc",
        _gauc("impressions"),
        "mean of the AUC per query (user), weighted by its returned items",
        "none as such; Zhou et al. 2018, eq. 7",
        undefined=ONE_CLASS,
        cut="never",
        reference="Zhou et al. 2018, doi:10.1145/3219819.3219823",
        plain="how often a relevant item ranks above another, queries weighted by their items; ½ without skill",
    ),
    _ratio(
        "gauc_positives",
        _gauc("positives"),
        "mean of the AUC per query (user), weighted by its relevant items",
        "RecBole GAUC",
        undefined=ONE_CLASS,
        cut="never",
        plain="how often a relevant item ranks above another, queries weighted by relevant items; ½ without skill",
    ),
)
