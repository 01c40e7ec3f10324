"""Rank intervals: how often they hold the whole true order, ties included."""

import numpy as np
import pytest

from evalkit.statistics import tiers
from evalkit.studies import ranking
from evalkit.studies.rank_tiers import rank_tiers


def true_ranks(means):
    """The best and the worst rank of each system; equally good ones share theirs."""
    better = np.array([(means > mean).sum() for mean in means])
    worse = np.array([(means < mean).sum() for mean in means])
    return 1 + better, len(means) - worse


@pytest.mark.parametrize("means", [np.zeros(5), np.array([0.5, 0.5, 0.2, 0.2, 0.0])])
def test_intervals_hold_the_whole_true_order(means):
    rng = np.random.default_rng(12)
    low, high = true_ranks(means)
    held = 0
    for _ in range(500):
        of_unit = rng.normal(0, 1, (40, 1))
        r = tiers.ranks(means + of_unit + rng.normal(0, 0.8, (40, 5)), level=0.95, rng=rng, draws=400)
        held += bool(np.all(r.low <= low) and np.all(r.high >= high))
    assert held / 500 >= 0.935  # 95% less 1.5 standard errors of 500 runs


def test_clear_differences_leave_one_rank_each():
    rng = np.random.default_rng(3)
    r = tiers.ranks(rng.normal(0, 0.1, (60, 4)) + np.array([0, 3, 1, 2]), level=0.95, rng=rng)
    assert r.low.tolist() == r.high.tolist() == r.tier.tolist() == [4, 1, 3, 2]


def test_a_tier_holds_no_significant_pair():
    better = np.zeros((5, 5), dtype=bool)
    better[[0, 0, 1, 2], [3, 4, 4, 4]] = True
    tier = tiers.tiers(better, np.arange(5))
    assert tier.tolist() == [1, 1, 1, 2, 2]
    assert not any(better[i, j] for i in range(5) for j in range(5) if tier[i] == tier[j])


def test_ranking_and_significance_show_them():
    study = ranking.read()
    frame = rank_tiers(study).set_index("system")
    assert (frame["rank_low"] <= frame["rank_high"]).all()
    better = study.comparisons[(study.comparisons["metric"] == study.primary.label)]
    clear = better[(better["verdict"] == "better") & (better["adjusted"] < 1e-3)]
    assert len(clear)
    assert (frame.loc[clear["first"], "tier"].to_numpy() < frame.loc[clear["second"], "tier"].to_numpy()).all()
    assert study.order[0] in study.tables.tiers.to_markdown()
