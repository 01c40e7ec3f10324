from dataclasses import replace

import numpy as np
import pytest

from evalkit.arrays import ParameterError
from evalkit.online import simulation

EACH = ("sessions", "chance", "hours", "other", "wrap", "wants")  # what users have of their own


@pytest.mark.parametrize("leave", [1.0, 0.0])
@pytest.mark.parametrize("more", [{}, {"bait": 0.5, "kinds": 3}])
def test_drawn_plays_agree_with_the_closed_form(leave, more):
    world = simulation.World(spread=0.5, leave=leave, **more)
    rng = np.random.default_rng(5)
    who = simulation.people(world, 60_000, rng=rng)
    shown = (simulation.in_turns if more else simulation.ranking)(world, who, 1.6, rng=rng)
    if more:
        assert (np.sort(who.kind[shown[:, :3]], axis=1) == [0, 1, 2]).all()
        assert (who.kind[shown[:, 0]] == who.wants.argmax(axis=1)).all()
    drawn, truth = simulation.observed(world, who, shown, rng=rng), simulation.expected(world, who, shown)
    for name in truth:
        noise = (drawn[name] - truth[name]).std() / np.sqrt(60_000)
        assert abs(drawn[name].mean() - truth[name].mean()) < 4 * noise


@pytest.mark.parametrize("kinds", [1, 3])
def test_plays_of_a_cascade_vary_as_those_of_sessions_drawn_position_by_position(kinds):
    """Which are drawn where a play might not end the session, here with a chance that never comes up."""
    cascade, rng, users = simulation.World(kinds=kinds, spread=0.0, affinity=-1.0), np.random.default_rng(8), 40_000
    some = simulation.people(cascade, 2, rng=rng)
    who = replace(some, **{name: np.repeat(getattr(some, name)[:1], users, axis=0) for name in EACH})
    shown = np.repeat(simulation.ranking(cascade, some, 1.0, rng=rng)[:1], users, axis=0)
    whole = simulation.sessions_played(cascade, who, shown, rng=rng)
    stepwise = simulation.sessions_played(replace(cascade, leave=1 - 1e-15), who, shown, rng=rng)
    assert whole.dtype == stepwise.dtype
    mean = whole.mean(axis=0)
    assert (np.abs(mean - stepwise.mean(axis=0)) < 4.5 * np.sqrt(2 * mean / users)).all()
    variance = np.outer(mean, mean) + np.diag(mean + mean**2)  # of a covariance of independent Poisson numbers
    assert (np.abs(np.cov(whole.T) - np.cov(stepwise.T)) < 4.5 * np.sqrt(2 * variance / users)).all()


def needed(world, users=60_000, seed=0):
    table = simulation.users_needed(simulation.duel(world, users, rng=np.random.default_rng(seed)))
    table = table.set_index("design")["agree_95"]
    cuped = table.index.str.endswith("CUPED")
    raw = table[~cuped & table.index.str.startswith("A/B")].min()
    return table["interleaving, win"], raw, table[table.index.str.startswith("A/B")].min()


def test_interleaving_needs_fewer_users_and_heavy_users_make_the_difference():
    win, raw, cuped = needed(simulation.World())
    assert 60 < raw / win < 250
    assert 5 < cuped / win < 20
    win, raw, _ = needed(simulation.World(spread=0.0))
    assert raw / win < 15


def test_the_seed_fixes_a_duel():
    one, two = (simulation.duel(simulation.World(), 500, rng=np.random.default_rng(9)) for _ in range(2))
    assert one.equals(two)


def test_power_factors_against_sign_agreement():
    table = simulation.users_needed(simulation.duel(simulation.World(), 500, rng=np.random.default_rng(9)))
    assert (table["power_95"] / table["agree_95"]).to_numpy() == pytest.approx(4.80, abs=0.005)
    assert (table["power_80"] / table["agree_95"]).to_numpy() == pytest.approx(2.90, abs=0.005)
    assert simulation.sign_error(table["effect"][0], table["sd"][0], table["agree_95"][0]) == pytest.approx(0.05)


def test_tournament_and_two_stages():
    rng = np.random.default_rng(8)
    table = simulation.tournament(simulation.World(), [1.0, 1.3, 1.6, 2.0, 2.5], 6000, rng=rng)
    assert table["share"].corr(table["plays_true"]) > 0.95
    plan = simulation.two_stage(table, keep=[1, 2, 5], users_interleaved=4000, users_arm=10_000, rng=rng)
    assert plan["users"].tolist() == [40_000, 50_000, 80_000, 60_000]
    assert plan["best_wins"].between(0, 1).all()
    assert plan["best_wins"][2] == plan["best_wins"][3]  # to keep all is to interleave for nothing
    with pytest.raises(ParameterError, match=r"keep must be 1 to 5, got \[6\]"):
        simulation.two_stage(table, keep=[6], users_interleaved=1, users_arm=1, rng=rng)


def test_click_bait_wins_plays_and_loses_hours():
    table = simulation.families(simulation.World(bait=0.5, kinds=4), 10_000, rng=np.random.default_rng(16))
    honest, bait = (table[table["family"] == name] for name in ("affinity", "click-bait"))
    assert (np.sign(honest["share"]) == np.sign(honest["hours"])).all()
    assert (bait["share"] > 0).all()
    assert (bait["plays"] > 0).all()
    assert (bait["hours"] < 0).all()
    line = np.polyfit(honest["share"], honest["plays"], 1)
    diverse = table[table["family"] == "diverse"].iloc[0]
    assert abs(diverse["plays"] - np.polyval(line, diverse["share"])) > 0.02
