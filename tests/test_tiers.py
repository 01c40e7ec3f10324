"""Rank intervals: how often they hold the whole true order, ties included."""

import numpy as np
import pandas as pd
import pytest

from evalkit.statistics import multiplicity
from evalkit.studies import ranking
from evalkit.studies.diagnostics import rank_tiers

WORLDS = {  # the true means of five systems on 40 shared units, and the best and the worst rank of each
    "5 equal": ([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [5, 5, 5, 5, 5]),
    "5 with two ties": ([0.5, 0.5, 0.2, 0.2, 0], [1, 1, 3, 3, 5], [2, 2, 4, 4, 5]),
}


@pytest.mark.parametrize("name", WORLDS)
def test_intervals_hold_the_whole_true_order(name):
    rng, (means, best, worst) = np.random.default_rng(12), WORLDS[name]
    tables = (means + rng.normal(size=(40, 1)) + 0.8 * rng.normal(size=(40, 5)) for _ in range(400))
    several = (multiplicity.ranks(table, level=0.95, rng=rng, draws=400) for table in tables)
    held = [np.all(r.low <= best) and np.all(r.high >= worst) for r in several]
    assert np.mean(held) >= 0.935  # 95% less 1.4 standard errors of 400 runs


def test_clear_differences_leave_one_rank_each():
    rng = np.random.default_rng(3)
    r = multiplicity.ranks(rng.normal(0, 0.1, (60, 4)) + np.array([0, 3, 1, 2]), level=0.95, rng=rng)
    assert r.low.tolist() == r.high.tolist() == r.tier.tolist() == [4, 1, 3, 2]


def test_a_tier_holds_no_significant_pair():
    better = np.zeros((5, 5), dtype=bool)
    better[[0, 0, 1, 2], [3, 4, 4, 4]] = True
    tier = multiplicity.tiers(better, np.arange(5))
    assert tier.tolist() == [1, 1, 1, 2, 2]
    assert not any(better[i, j] for i in range(5) for j in range(5) if tier[i] == tier[j])


def test_ranking_shows_them():
    rng = np.random.default_rng(8)
    grade = np.tile(np.arange(6) % 3, 40)
    rows = {"query": np.repeat([f"q{i}" for i in range(40)], 6), "item": np.tile(list("abcdef"), 40), "grade": grade}
    noise = {"best": 0.1, "good": 2.0, "fair": 2.2, "poor": 20.0}
    scores = {f"score_{name}": grade + rng.normal(0, spread, 240) for name, spread in noise.items()}
    study = ranking.read(pd.DataFrame(rows | scores), metrics="ndcg@3")
    frame = rank_tiers(study).set_index("system")
    assert (frame["rank_low"] <= frame["rank_high"]).all()
    clear = study.comparisons[(study.comparisons["verdict"] == "better") & (study.comparisons["adjusted"] < 1e-3)]
    assert len(clear)
    assert (frame.loc[clear["first"], "tier"].to_numpy() < frame.loc[clear["second"], "tier"].to_numpy()).all()
    assert study.order[0] in study.tables.tiers.to_markdown()
