from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.online import interleaving

A, B = [1, 2, 3], [2, 3, 1]
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
    lists = [tuple(zip(i, t, strict=True)) for i, t in zip(shown.item.tolist(), shown.team.tolist(), strict=True)]
    assert len(set(lists)) == 4
    assert [credit_of(shown, item) for item in (1, 2, 3)] == [1, 0, 0.5]
    assert (shown.team == 0).mean() == 0.5  # a random click prefers neither


@st.composite
def stacks(draw, most=4):
    """Rankings of one length or of several, filled up with −1."""
    teams, users, depth = draw(st.integers(2, most)), draw(st.integers(1, 4)), draw(st.integers(1, 8))
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
        items, teams = [], []
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
    expected = {1: (weight[0] + weight[2]) / 2, 2: (weight[1] + weight[0]) / 2, 3: (weight[2] + weight[1]) / 2}
    for item, chance in expected.items():
        assert (shown.item[:, 0] == item).mean() == pytest.approx(chance, abs=0.01)
