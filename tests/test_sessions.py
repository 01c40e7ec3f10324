"""Logs of interleaving: drafts, sessions and their credit, and the simulated worlds of the
planning.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from evalkit.arrays import InputError, ParameterError, codes
from evalkit.metrics.rows import Sums, session_wins, user_share
from evalkit.online import interleaving, sessions, simulation
from evalkit.reading.tables.table import Coded
from evalkit.statistics import independent, interval_methods

LOG = {
    "session": ["s", "s", "t", "t"],
    "position": [1, 2, 2, 1],
    "team": ["a", "b", "-", "a"],
    "outcome": [1, 0, 3, 2.5],
    "unit": ["u", "u", "v", "v"],
}


def read(session, position, team, outcome, unit, arms=("a", "b"), neutral=None):
    """What is kept of the rows of a log."""
    texts = np.where(pd.isna(team), "", np.asarray(team, dtype=object)).astype(str).tolist()
    numbers = (np.asarray(column, float) for column in (position, outcome))
    log = sessions.Log(
        *codes(session),
        *codes(unit),
        Coded.from_texts(texts, np.arange(len(texts))),
        *numbers,
        arms,
        neutral,
    )
    log.check()
    return sessions.Sessions.from_log(log)


def log_with(**change):
    return read(**{"neutral": "-"} | LOG | change)


def test_a_log_gives_credit_and_checks():
    kept = log_with()
    assert kept.credit.tolist() == [[1, 0], [2.5, 0]]
    assert kept.owners.tolist() == ["u", "v"]
    assert kept.item_counts.tolist() == [[0, 0, 0], [2, 0, 0], [0, 1, 1]]
    checks = dict(zip(sessions.CHECKS, kept.check_counts.tolist(), strict=True))
    assert checks["neutral items"] == [1, 4]
    assert checks["outcome on neutral items"] == [3, 6.5]
    assert checks["sessions with uneven teams"] == [0, 2]
    assert log_with(team=["a", "b", "a", "a"]).check_counts[0].tolist() == [1, 2]


@pytest.mark.parametrize("users", [1, 2, 3, 200])
@pytest.mark.parametrize(
    "outcome", [lambda rng, n: rng.gamma(0.3, 50, n), lambda rng, n: 0.3 * np.ones(n)]
)
def test_the_outcome_per_item_is_the_jackknife_of_the_users_ratios(users, outcome):
    rng = np.random.default_rng(users)
    user = rng.integers(0, users, 60 * users)
    place = rng.integers(2, 4, 60 * users)
    top = outcome(rng, user.size)
    halves = [user < users / 2, user >= users / 2]
    parts = [
        sessions.SessionOutcomes.from_rows(place[of], user[of], top[of], users=users)
        for of in halves
        if of.any()
    ]
    for at in (2, 3, 4):
        here = place == at
        items, total = (np.bincount(user[here], x, users) for x in (np.ones(here.sum()), top[here]))
        wanted = interval_methods.arm_within(
            independent.ratio_of(Sums(total[items > 0], items[items > 0])), 0.0, np.inf, level=0.95
        )
        e = sessions.SessionOutcomes.add_up(parts).per_item(at, np.inf, 0.95)
        assert [e.value, e.low, e.high, e.n] == pytest.approx(
            [wanted.value, wanted.low, wanted.high, wanted.n], rel=1e-9, nan_ok=True
        )


def test_a_unit_without_credit_has_no_share():
    (side, _) = sessions.arms_by_unit(["u", "v"], np.array([[0.0, 0], [1, 0]]))
    assert user_share(side).tolist() == pytest.approx([np.nan, 1], nan_ok=True)


def test_the_real_rankings_with_simulated_clicks():
    folder = Path(__file__).resolve().parents[2] / "shared" / "data" / "interleaving_semi"
    if not folder.exists():
        pytest.skip("interleaving_semi must not be committed, and is not beside the checkout")
    import json

    from scipy.stats import binomtest

    rows = pd.read_csv(folder / "sessions.csv")
    for name, want in json.loads((folder / "expected" / "interleaving.json").read_text()).items():
        part = rows[rows["experiment"] == name]
        columns = (
            part[name].to_numpy()
            for name in ("session_id", "position", "team", "click", "query_id")
        )
        kept = read(*columns, arms=("A", "B"))
        first, second = kept.credit.T
        wins, losses, ties = (
            int(flags.sum()) for flags in (first > second, first < second, first == second)
        )
        silent = int((kept.credit.sum(axis=1) == 0).sum())
        got = {
            "clicks_A": first.sum(),
            "clicks_B": second.sum(),
            "delta_AB_chapelle": session_wins(kept.arms_by_user[0]).value - 0.5,
            "outcome_wins_over_wins_plus_losses": wins / (wins + losses),
            "sessions": len(first),
            "sessions_with_click": len(first) - silent,
            "sign_test_p": binomtest(wins, wins + losses).pvalue,
            "ties": ties,
            "ties_with_clicks": ties - silent,
            "wins_A": wins,
            "wins_B": losses,
        }
        assert got == pytest.approx(want, rel=1e-9)
        assert len(kept.users) == 30


A = [1, 2, 3]
B = [2, 3, 1]
PAIR = np.array([[A], [B]])
DRAWS = [interleaving.team_draft, interleaving.alternate, interleaving.probabilistic]


def every_team_draft(rankings, k):
    """All orders of turns of two teams, each equally likely."""
    coins = np.array(list(product([0, 1], repeat=-(-k // 2))))
    turns = np.stack([coins, 1 - coins], axis=2).reshape(len(coins), -1)[:, :k]
    return interleaving.draft(np.repeat(rankings, len(coins), axis=1), turns)


def credit_of(shown, item):
    at = shown.item == item
    assert at.any(axis=1).all()
    return (shown.team[at] == 0).mean()


def test_team_draft_by_enumeration():
    shown = every_team_draft(PAIR, 3)
    lists = [
        tuple(zip(i, t, strict=True))
        for i, t in zip(shown.item.tolist(), shown.team.tolist(), strict=True)
    ]
    assert len(set(lists)) == 4
    assert [credit_of(shown, item) for item in (1, 2, 3)] == [1, 0, 0.5]
    assert (shown.team == 0).mean() == 0.5  # a random click prefers neither


@st.composite
def stacks(draw, most=4):
    """Rankings of one length or of several, filled up with −1."""
    teams = draw(st.integers(2, most))
    users = draw(st.integers(1, 4))
    depth = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    stack = np.argsort(rng.random((teams, users, 10)), axis=2)[:, :, :depth]
    length = rng.integers(0, depth + 1, (teams, users, 1)) if draw(st.booleans()) else depth
    return np.where(np.arange(depth) < length, stack, -1)


@settings(max_examples=150, deadline=None)
@given(stacks(), st.integers(1, 12), st.integers(0, 2), st.integers(0, 2**32))
def test_every_draft_shows_no_item_twice_and_fills_what_it_can(rankings, k, which, seed):
    shown = DRAWS[which](rankings, k, rng=np.random.default_rng(seed))
    assert shown.item.shape == shown.team.shape == (rankings.shape[1], k)
    for user, row in enumerate(shown.item):
        items = row[row >= 0]
        offered = {int(i) for i in rankings[:, user, :].ravel() if i >= 0}
        assert len(set(items.tolist())) == items.size
        assert set(items.tolist()) <= offered
        assert items.size == min(k, len(offered))
        assert (row[items.size :] == -1).all()
        for item, team in zip(row, shown.team[user], strict=True):
            assert team < 0 or item in rankings[team, user]


DRAFTS = (interleaving.team_draft, interleaving.alternate, interleaving.probabilistic)


@pytest.mark.parametrize("draft", DRAFTS)
def test_lists_are_drafted_like_arrays(draft):
    rankings = [[[1, 2, 3], [4, 5, -1]], [[2, 3, 1], [5, 6, 4]]]
    of_lists = draft(rankings, 3, rng=np.random.default_rng(1))
    of_arrays = draft(np.array(rankings), 3, rng=np.random.default_rng(1))
    assert np.array_equal(of_lists.item, of_arrays.item)
    assert np.array_equal(of_lists.team, of_arrays.team)


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(
    ("rankings", "message"),
    [
        ([[[1, 2, 3]], [[2, 3]]], "rankings must be of one length: fill short ones with −1"),
        ([[["a"]], [["b"]]], "rankings must be integers"),
        ([[1, 2], [2, 1]], r"rankings must be integers .*, got int64 \(2, 2\)"),
    ],
)
def test_what_is_no_stack_of_rankings_is_refused(draft, rankings, message):
    with pytest.raises(InputError, match=f"^{message}"):
        draft(rankings, 2, rng=np.random.default_rng(1))


@settings(max_examples=150, deadline=None)
@given(stacks(), st.integers(1, 8), st.integers(0, 2**32))
def test_teams_are_equal_after_every_round_while_no_list_is_exhausted(rankings, k, seed):
    teams = len(rankings)
    shown = interleaving.team_draft(rankings, k, rng=np.random.default_rng(seed))
    for user, team in enumerate(shown.team):
        counts = np.cumsum(team[:, None] == np.arange(teams), axis=0)
        for place in range(k):
            before = set(shown.item[user, : place + 1].tolist())
            free = [set(rankings[t, user].tolist()) - before - {-1} for t in range(teams)]
            if not all(free):
                break
            spread = np.ptp(counts[place])
            assert spread == 0 if (place + 1) % teams == 0 else spread <= 1


@settings(max_examples=60, deadline=None)
@given(stacks(most=2), st.integers(1, 8), st.integers(0, 2**32))
def test_the_draft_equals_a_plain_loop(rankings, k, seed):
    turns = np.random.default_rng(seed).integers(0, 2, (rankings.shape[1], k))
    shown = interleaving.draft(rankings, turns)
    for user in range(rankings.shape[1]):
        items = []
        teams = []
        for turn in turns[user]:
            for team in (turn, 1 - turn):
                free = [i for i in rankings[team, user].tolist() if i >= 0 and i not in items]
                if free:
                    items.append(free[0])
                    teams.append(int(team))
                    break
        missing = [-1] * (k - len(items))
        assert shown.item[user].tolist() == items + missing
        assert shown.team[user].tolist() == teams + missing


def test_probabilistic_first_item_follows_its_softmax():
    rng = np.random.default_rng(4)
    many = np.repeat(PAIR, 40_000, axis=1)
    shown = interleaving.probabilistic(many, 3, rng=rng)
    weight = np.arange(1, 4) ** -3.0 / (np.arange(1, 4) ** -3.0).sum()
    expected = {
        1: (weight[0] + weight[2]) / 2,
        2: (weight[1] + weight[0]) / 2,
        3: (weight[2] + weight[1]) / 2,
    }
    for item, chance in expected.items():
        assert (shown.item[:, 0] == item).mean() == pytest.approx(chance, abs=0.01)


# what users have of their own
EACH = ("sessions", "p_play", "hours", "other_hours", "wrapping", "kind_shares")


@pytest.mark.parametrize("leave", [1.0, 0.0])
@pytest.mark.parametrize("more", [{}, {"bait": 0.5, "kinds": 3}])
def test_drawn_plays_agree_with_the_closed_form(leave, more):
    world = simulation.World(spread=0.5, leave=leave, **more)
    rng = np.random.default_rng(5)
    who = simulation.people(world, 60_000, rng=rng)
    shown = (simulation.in_turns if more else simulation.ranking)(world, who, 1.6, rng=rng)
    if more:
        assert (np.sort(who.kind[shown[:, :3]], axis=1) == [0, 1, 2]).all()
        assert (who.kind[shown[:, 0]] == who.kind_shares.argmax(axis=1)).all()
    drawn = simulation.observed(world, who, shown, rng=rng)
    truth = simulation.expected(world, who, shown)
    for name in truth:
        noise = (drawn[name] - truth[name]).std() / np.sqrt(60_000)
        assert abs(drawn[name].mean() - truth[name].mean()) < 4 * noise


@pytest.mark.parametrize("kinds", [1, 3])
def test_plays_of_a_cascade_vary_as_those_of_sessions_drawn_position_by_position(kinds):
    """Which are drawn where a play might not end the session, here with a chance that never comes
    up.
    """
    cascade = simulation.World(kinds=kinds, spread=0.0, affinity=-1.0)
    rng = np.random.default_rng(8)
    users = 40_000
    some = simulation.people(cascade, 2, rng=rng)
    who = replace(
        some, **{name: np.repeat(getattr(some, name)[:1], users, axis=0) for name in EACH}
    )
    shown = np.repeat(simulation.ranking(cascade, some, 1.0, rng=rng)[:1], users, axis=0)
    whole = simulation.sessions_played(cascade, who, shown, rng=rng)
    stepwise = simulation.sessions_played(replace(cascade, leave=1 - 1e-15), who, shown, rng=rng)
    assert whole.dtype == stepwise.dtype
    mean = whole.mean(axis=0)
    assert (np.abs(mean - stepwise.mean(axis=0)) < 4.5 * np.sqrt(2 * mean / users)).all()
    # of a covariance of independent Poisson numbers
    variance = np.outer(mean, mean) + np.diag(mean + mean**2)
    assert (
        np.abs(np.cov(whole.T) - np.cov(stepwise.T)) < 4.5 * np.sqrt(2 * variance / users)
    ).all()


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
    one, two = (
        simulation.duel(simulation.World(), 500, rng=np.random.default_rng(9)) for _ in range(2)
    )
    assert one.equals(two)


def test_power_factors_against_sign_agreement():
    table = simulation.users_needed(
        simulation.duel(simulation.World(), 500, rng=np.random.default_rng(9))
    )
    assert (table["power_95"] / table["agree_95"]).to_numpy() == pytest.approx(4.80, abs=0.005)
    assert (table["power_80"] / table["agree_95"]).to_numpy() == pytest.approx(2.90, abs=0.005)
    assert simulation.sign_error(
        table["effect"][0], table["sd"][0], table["agree_95"][0]
    ) == pytest.approx(0.05)


def test_tournament_and_two_stages():
    rng = np.random.default_rng(8)
    table = simulation.tournament(simulation.World(), [1.0, 1.3, 1.6, 2.0, 2.5], 6000, rng=rng)
    assert table["share"].corr(table["plays_true"]) > 0.95
    plan = simulation.two_stage(
        table, keep=[1, 2, 5], users_interleaved=4000, users_arm=10_000, rng=rng
    )
    assert plan["users"].tolist() == [40_000, 50_000, 80_000, 60_000]
    assert plan["best_wins"].between(0, 1).all()
    assert plan["best_wins"][2] == plan["best_wins"][3]  # to keep all is to interleave for nothing
    with pytest.raises(ParameterError, match=r"keep must be 1 to 5, got \[6\]"):
        simulation.two_stage(table, keep=[6], users_interleaved=1, users_arm=1, rng=rng)


def test_click_bait_wins_plays_and_loses_hours():
    table = simulation.families(
        simulation.World(bait=0.5, kinds=4), 10_000, rng=np.random.default_rng(16)
    )
    honest, bait = (table[table["family"] == name] for name in ("affinity", "click-bait"))
    assert (np.sign(honest["share"]) == np.sign(honest["hours"])).all()
    assert (bait["share"] > 0).all()
    assert (bait["plays"] > 0).all()
    assert (bait["hours"] < 0).all()
    line = np.polyfit(honest["share"], honest["plays"], 1)
    diverse = table[table["family"] == "diverse"].iloc[0]
    assert abs(diverse["plays"] - np.polyval(line, diverse["share"])) > 0.02
