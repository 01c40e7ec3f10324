"""Metrics of units: of ranked lists, of repeated draws, and of interleaved sessions, one value per user and arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints, ratio
from evalkit.catalogue.kinds import PerUnit, Ratio
from evalkit.catalogue.metric import rows_of
from evalkit.metrics import counts, draws, rankings
from evalkit.metrics.rankings import Rankings
from evalkit.metrics.rows import Sums


def _plain(function: Callable[..., Any]) -> PerUnit:
    """The mean of a metric of the grades alone, which the relevance level does not move."""
    return PerUnit(lambda r, k, level: function(r, k))


def _gain(function: Callable[..., Any], gain: rankings.Gain) -> PerUnit:
    return PerUnit(lambda r, k, level: function(r, k, gain))


def auc(r: Rankings, k: int | None = None, level: float = 1) -> Floats:
    """Per query: the probability that a relevant returned item is ranked above a non-relevant one; a tie counts ½.

    >>> from evalkit.metrics.rankings import from_grades
    >>> auc(from_grades([[1, 0, 1, 0], [1, 1]]))
    array([0.75,  nan])
    """
    g = _grouped(r, level)
    return _spread(r, g.group, g.auc)


def _grouped(r: Rankings, level: float) -> counts.GroupedCounts:
    step = -np.cumsum(~r.retrieved.tied).astype(float)
    return counts.auc_by_group(r.retrieved.grade >= level, step, r.retrieved.owner)


def _spread(r: Rankings, query: Ints, values: Floats) -> Floats:
    """Values of some queries as one value per query, NaN for the others."""
    every = np.full(len(r), np.nan)
    every[query] = values
    return every


def _gauc(weight: str) -> Ratio:
    def compute(r: Rankings, k: int | None, level: float) -> Sums:
        g = _grouped(r, level)
        w = np.where(np.isnan(g.auc), np.nan, getattr(g, weight).astype(float))
        return Sums(_spread(r, g.group, w * g.auc), _spread(r, g.group, w))

    return Ratio(compute)


RANKINGS = rows_of(
    "rankings",
    {
        "precision": PerUnit(rankings.precision),
        "recall": PerUnit(rankings.recall),
        "r_precision": PerUnit(rankings.r_precision),
        "hit_rate": PerUnit(rankings.hit_rate),
        "hit_ratio": Ratio(rankings.hit_ratio),
        "hit_ratio_k": Ratio(rankings.hit_ratio_k),
        "average_precision": PerUnit(rankings.average_precision),
        "average_precision_min": PerUnit(rankings.average_precision_min),
        "average_precision_hits": PerUnit(rankings.average_precision_hits),
        "average_precision_interpolated": PerUnit(rankings.average_precision_interpolated),
        "reciprocal_rank": PerUnit(rankings.reciprocal_rank),
        "ndcg": _gain(rankings.ndcg, rankings.linear),
        "ndcg_exp": _gain(rankings.ndcg, rankings.exponential),
        "ndcg_binary": PerUnit(lambda r, k, level: rankings.ndcg(r, k, rankings.binary(level))),
        "dcg": _gain(rankings.dcg, rankings.linear),
        "dcg_exp": _gain(rankings.dcg, rankings.exponential),
        "cg": _plain(rankings.cg),
        "rbp": PerUnit(rankings.rbp),
        "err": _plain(rankings.err),
        "bpref": PerUnit(rankings.bpref),
        "judged": _plain(rankings.judged),
        "auc": PerUnit(auc),
        "gauc": _gauc("impressions"),
        "gauc_positives": _gauc("positives"),
    },
)


# Repeated draws -------------------------------------------------------------------------------------------------------

DRAWS = rows_of(
    "draws",
    {
        "pass": PerUnit(lambda drawn, k, level: draws.any_passes(drawn, k)),
        "pass^": PerUnit(lambda drawn, k, level: draws.all_pass(drawn, k)),
    },
)


# Interleaved sessions -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One arm, one row per unit, from `evalkit.online.sessions.sides`.

    `credit` is the arm's credit, `whole` that of all arms; `beaten` is the share of the other arms with less credit
    from the unit, ties counting half, and `won` its sum over the unit's `sessions`.
    """

    credit: Floats
    whole: Floats
    beaten: Floats
    won: Floats
    sessions: Floats


def user_share(side: Side) -> Floats:
    """The arm's share of the user's credit. NaN if the user gave none.

    >>> user_share(Side(np.array([2.0, 0]), np.array([3.0, 0]), *np.zeros((3, 2)))).round(3)
    array([0.667,   nan])
    """
    return ratio(side.credit, side.whole)


def user_preference(side: Side) -> Floats:
    """1 if the user gave the arm more credit than the other, ½ if the same, 0 if less; NaN if none.

    With several other arms, the mean over them.

    >>> user_preference(Side(np.ones(2), np.array([1.0, 0]), np.array([0.75, 0.5]), *np.zeros((2, 2))))
    array([0.75,  nan])
    """
    return np.where(side.whole > 0, side.beaten, np.nan)


def session_wins(side: Side) -> Sums:
    """(wins + ties / 2) / sessions of all users: Δ_AB + ½."""
    return Sums(side.won, side.sessions)


def credit_share(side: Side) -> Sums:
    """The arm's share of all credit: users count in proportion to their use."""
    return Sums(side.credit, side.whole)


INTERLEAVING = rows_of(
    "interleaving",
    {
        "user_share": PerUnit(lambda side, k, level: user_share(side)),
        "user_preference": PerUnit(lambda side, k, level: user_preference(side)),
        "session_wins": Ratio(lambda side, k, level: session_wins(side)),
        "credit_share": Ratio(lambda side, k, level: credit_share(side)),
    },
)
