"""Logs of interleaving: drafts, sessions and their credit, and the simulated worlds of the
planning.
"""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binomtest

from evalkit.arrays import InputError, ParameterError, codes
from evalkit.metrics.rows import Sums, session_wins, user_share
from evalkit.online import interleaving, sessions, simulation
from evalkit.reading.tables.table import Coded
from evalkit.statistics import independent, interval_methods

REAL_RANKINGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "interleaving_semi"
DRAFTS = (interleaving.team_draft, interleaving.alternate, interleaving.probabilistic)
LOG = {
    "session": ["s", "s", "t", "t"],
    "position": [1, 2, 2, 1],
    "team": ["a", "b", "-", "a"],
    "outcome": [1, 0, 3, 2.5],
    "unit": ["u", "u", "v", "v"],
}


def sessions_of(session, position, team, outcome, unit, arms=("a", "b"), neutral=None):
    """The sessions of a log, which is given by its columns."""
    texts = np.where(pd.isna(team), "", np.asarray(team, dtype=object)).astype(str).tolist()
    log = sessions.Log(
        *codes(session),
        *codes(unit),
        Coded.from_texts(texts, np.arange(len(texts))),
        np.asarray(position, float),
        np.asarray(outcome, float),
        arms,
        neutral,
    )
    log.check()
    return sessions.Sessions.from_log(log)


def log_with(**change):
    return sessions_of(**{"neutral": "-"} | LOG | change)


def checks(kept):
    """How many, and of how many, by check."""
    return dict(zip(sessions.CHECKS, kept.check_counts.tolist(), strict=True))


def test_a_session_gives_each_team_the_outcome_of_its_items():
    kept = log_with()
    assert kept.credit.tolist() == [[1, 0], [2.5, 0]]
    assert kept.owners.tolist() == ["u", "v"]


def test_items_are_counted_by_position_and_team():
    """By position from 0: a has both first items, b one second item, the other is neutral."""
    assert log_with().item_counts.tolist() == [[0, 0, 0], [2, 0, 0], [0, 1, 1]]


def test_neutral_items_and_their_outcome_are_counted():
    counted = checks(log_with())
    assert counted["neutral items"] == [1, 4]
    assert counted["outcome on neutral items"] == [3, 6.5]


def test_sessions_with_more_items_of_one_team_are_counted_but_for_neutral_ones():
    """A neutral item ("-") may make up for a missing one of any team: of the sessions with the
    teams "a b" and "- a" none is uneven. With "a b" and "a a" the second is.
    """
    assert checks(log_with())["sessions with uneven teams"] == [0, 2]
    even_and_uneven = log_with(team=["a", "b", "a", "a"])
    assert checks(even_and_uneven)["sessions with uneven teams"] == [1, 2]


def heavy_tailed_outcomes(rng, rows):
    return rng.gamma(0.3, 50, rows)


def equal_outcomes(rng, rows):
    return np.full(rows, 0.3)


@pytest.mark.parametrize("users", [1, 2, 3, 200])
@pytest.mark.parametrize("draw_outcome", [heavy_tailed_outcomes, equal_outcomes])
@pytest.mark.parametrize("position", [2, 3, 4])
def test_the_outcome_per_item_is_the_jackknife_of_the_users_ratios(users, draw_outcome, position):
    """Each user has about 60 items, each with an outcome, at the positions 2 and 3. None are at
    position 4, whose outcome per item is undefined.

    Found: rows come in two halves, one of the first users and one of the others (with one user,
    there is one half). Each half is summed on its own, both results are added up, and the outcome
    per item at `position` is computed from what was added up.

    Expected: the same from the rows of all users at once. Each user with items at the position has
    two sums, its outcomes and its items. `arm_of_ratio` divides the sum of all outcomes by that of
    all items, with an error by leaving out one user at a time (jackknife). `arm_within` makes the
    95% interval of this ratio, which cannot be below 0. n is the number of these users.
    """
    rng = np.random.default_rng(users)
    user = rng.integers(0, users, 60 * users)
    position_of_item = rng.integers(2, 4, 60 * users)
    outcome = draw_outcome(rng, user.size)
    halves = [rows for rows in (user < users / 2, user >= users / 2) if rows.any()]
    sums_of_halves = [
        sessions.SessionOutcomes.from_rows(
            position_of_item[half], user[half], outcome[half], users=users
        )
        for half in halves
    ]
    sums = sessions.SessionOutcomes.add_up(sums_of_halves)
    found = sums.per_item(position, highest=np.inf, level=0.95)
    is_here = position_of_item == position
    items_of_user = np.bincount(user[is_here], minlength=users)
    outcome_of_user = np.bincount(user[is_here], outcome[is_here], users)
    has_items = items_of_user > 0
    ratio = independent.arm_of_ratio(Sums(outcome_of_user[has_items], items_of_user[has_items]))
    expected = interval_methods.arm_within(ratio, low=0.0, high=np.inf, level=0.95)
    assert [found.value, found.low, found.high, found.n] == pytest.approx(
        [expected.value, expected.low, expected.high, expected.n], rel=1e-9, nan_ok=True
    )


def test_a_unit_without_credit_has_no_share():
    (side, _) = sessions.arms_by_unit(["u", "v"], np.array([[0.0, 0], [1, 0]]))
    assert user_share(side).tolist() == pytest.approx([np.nan, 1], nan_ok=True)


@pytest.mark.skipif(not REAL_RANKINGS.exists(), reason="must not be committed, and is not beside")
def test_the_numbers_of_real_rankings_with_simulated_clicks_are_the_published_ones():
    """The rankings are real, the clicks simulated; both were published with the numbers of each
    experiment, such as its wins and its sign test. A row of the log is an item shown in a session:
    with its position, the team that picked it, A or B, whether it was clicked, and the query.

    `sessions_of` adds up the clicks on the items of each team (`credit`). The team with more clicks
    wins the session. `session_wins` is the share of sessions that A wins, where ties count half;
    Chapelle's Δ is this share less ½.
    """
    rows = pd.read_csv(REAL_RANKINGS / "sessions.csv")
    expected = json.loads((REAL_RANKINGS / "expected" / "interleaving.json").read_text())
    for name, numbers in expected.items():
        log = rows[rows["experiment"] == name]
        kept = sessions_of(
            *(log[column] for column in ("session_id", "position", "team", "click", "query_id")),
            arms=("A", "B"),
        )
        clicks_a, clicks_b = kept.credit.T  # of each session
        wins = int((clicks_a > clicks_b).sum())
        losses = int((clicks_a < clicks_b).sum())
        ties = int((clicks_a == clicks_b).sum())
        without_click = int((clicks_a + clicks_b == 0).sum())
        found = {
            "clicks_A": clicks_a.sum(),
            "clicks_B": clicks_b.sum(),
            "delta_AB_chapelle": session_wins(kept.arms_by_user[0]).value - 0.5,
            "outcome_wins_over_wins_plus_losses": wins / (wins + losses),
            "sessions": len(clicks_a),
            "sessions_with_click": len(clicks_a) - without_click,
            "sign_test_p": binomtest(wins, wins + losses).pvalue,
            "ties": ties,
            "ties_with_clicks": ties - without_click,
            "wins_A": wins,
            "wins_B": losses,
        }
        assert found == pytest.approx(numbers, rel=1e-9)
        assert len(kept.users) == 30  # the queries, which are the units


RANKINGS_123_AND_231 = np.array([[[1, 2, 3]], [[2, 3, 1]]])  # of two teams, for one user


def all_team_drafts(rankings, k):
    """The drafts by all orders of turns of two teams, each equally likely."""
    coins = np.array(list(product([0, 1], repeat=-(-k // 2))))
    turns = np.stack([coins, 1 - coins], axis=2).reshape(len(coins), -1)[:, :k]
    return interleaving.draft(np.repeat(rankings, len(coins), axis=1), turns)


def test_two_coins_make_four_team_drafts():
    """Two teams, 0 and 1, rank the items 1, 2, 3 and 2, 3, 1, and pick items in turn for a list of
    three places. That takes two rounds, each of which begins with a coin: which team picks first.
    Each of the four results of the coins gives one draft.
    """
    shown = all_team_drafts(RANKINGS_123_AND_231, 3)
    drafts = np.hstack([shown.item, shown.team])
    # The items of the three places, then their teams: item 1 is always of team 0, item 2 of team 1,
    # and item 3 of the team that begins the second round.
    assert sorted(drafts.tolist()) == [
        [1, 2, 3, 0, 1, 0],
        [1, 2, 3, 0, 1, 1],
        [2, 1, 3, 1, 0, 0],
        [2, 1, 3, 1, 0, 1],
    ]


@pytest.mark.parametrize(("item", "share"), [(1, 1), (2, 0), (3, 0.5)])
def test_the_first_team_has_an_item_as_often_as_it_picks_it(item, share):
    """Two teams rank the items 1, 2, 3 and 2, 3, 1. The first team (0) picks item 1, the other item
    2; the one that begins the second round, each with probability 1/2, picks item 3. `share` is
    the share of drafts in which an item is of the first team.
    """
    shown = all_team_drafts(RANKINGS_123_AND_231, 3)
    assert (shown.team[shown.item == item] == 0).mean() == share


def test_random_clicks_on_team_drafts_prefer_neither_team():
    assert (all_team_drafts(RANKINGS_123_AND_231, 3).team == 0).mean() == 0.5


@st.composite
def stacks_of_rankings(draw, max_teams=4):
    """Rankings of items by teams for users, (teams, users, depth): of one length, or of several
    and filled up with −1.
    """
    teams = draw(st.integers(2, max_teams))
    users = draw(st.integers(1, 4))
    depth = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    stack = np.argsort(rng.random((teams, users, 10)), axis=2)[:, :, :depth]
    length = rng.integers(0, depth + 1, (teams, users, 1)) if draw(st.booleans()) else depth
    return np.where(np.arange(depth) < length, stack, -1)


@settings(max_examples=150, deadline=None)
@given(stacks_of_rankings(), st.integers(1, 12), st.sampled_from(DRAFTS), st.integers(0, 2**32))
def test_a_draft_shows_no_item_twice_and_fills_what_it_can(rankings, k, draft, seed):
    """Teams rank items for users (teams, users, items); the function `draft`, one of three methods
    such as team draft, mixes them to a list of k places for each user. A list has k items, or all
    that any team ranks if they are fewer. −1 stands for none: after the end of a ranking, and in
    the places that are left.
    """
    shown = draft(rankings, k, rng=np.random.default_rng(seed))
    assert shown.item.shape == shown.team.shape == (rankings.shape[1], k)
    for user, row in enumerate(shown.item):
        items = row[row >= 0].tolist()
        ranked = {item for item in rankings[:, user, :].ravel().tolist() if item >= 0}
        assert len(items) == len(set(items)) == min(k, len(ranked))
        assert set(items) <= ranked
        assert (row[len(items) :] == -1).all()


@settings(max_examples=150, deadline=None)
@given(stacks_of_rankings(), st.integers(1, 12), st.sampled_from(DRAFTS), st.integers(0, 2**32))
def test_a_team_has_only_items_that_it_ranks(rankings, k, draft, seed):
    shown = draft(rankings, k, rng=np.random.default_rng(seed))
    for (user, place), team in np.ndenumerate(shown.team):
        assert team < 0 or shown.item[user, place] in rankings[team, user]


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
@given(stacks_of_rankings(), st.integers(1, 8), st.integers(0, 2**32))
def test_teams_have_as_many_items_after_every_round_while_no_list_is_exhausted(rankings, k, seed):
    """Teams rank items for users (`rankings`: teams, users, items), and a list of k places is made
    for each user. In a round of a team draft each team picks one item of its ranking. At the end of
    a round all teams have equally many items; within a round some have one more than others. That
    holds until all items of a team's ranking are taken. −1 stands for no item.
    """
    teams = len(rankings)
    shown = interleaving.team_draft(rankings, k, rng=np.random.default_rng(seed))
    for user, team in enumerate(shown.team):
        items_of_team = np.cumsum(team[:, None] == np.arange(teams), axis=0)  # by place
        for place in range(k):
            taken = {-1, *shown.item[user, : place + 1].tolist()}
            if any(set(ranking[user].tolist()) <= taken for ranking in rankings):
                break  # a team has no item left
            is_round_over = (place + 1) % teams == 0
            assert np.ptp(items_of_team[place]) <= (0 if is_round_over else 1)


@settings(max_examples=60, deadline=None)
@given(stacks_of_rankings(max_teams=2), st.integers(1, 8), st.integers(0, 2**32))
def test_the_draft_equals_a_plain_loop(rankings, k, seed):
    """Two teams rank items for several users, with −1 after the end of a ranking. At each of k
    places the team whose turn it is picks its best item that is not yet in the list, or the other
    team if it has none. Places without an item have −1 as item and team.
    """
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


def test_the_first_item_of_a_probabilistic_draft_follows_the_softmax():
    """A team picks the item at its rank r with a probability of r⁻³ / Σ r⁻³ (Hofmann et al. 2011).
    One team ranks the items 1, 2, 3 and the other 2, 3, 1; either picks first in half of the
    drafts. Item 1, for example, has the rank 1 in one team and 3 in the other. A share of 40,000
    drafts has a standard error of at most √(0.25 / 40,000) = 0.0025; 0.01 is four of them.
    """
    shown = interleaving.probabilistic(
        np.repeat(RANKINGS_123_AND_231, 40_000, axis=1), 3, rng=np.random.default_rng(4)
    )
    cubes = np.arange(1, 4) ** -3.0
    rank_1, rank_2, rank_3 = cubes / cubes.sum()
    p_of_item = {1: (rank_1 + rank_3) / 2, 2: (rank_2 + rank_1) / 2, 3: (rank_3 + rank_2) / 2}
    for item, p in p_of_item.items():
        assert (shown.item[:, 0] == item).mean() == pytest.approx(p, abs=0.01)


# what users have of their own
EACH = ("sessions", "p_play", "hours", "other_hours", "wrapping", "kind_shares")


@pytest.mark.parametrize("leave", [1.0, 0.0])
@pytest.mark.parametrize(
    ("traits", "rank"),
    [({}, simulation.ranking), ({"bait": 0.5, "kinds": 3}, simulation.in_turns)],
    ids=["plain", "bait and kinds"],
)
def test_drawn_plays_agree_with_the_closed_form(leave, traits, rank):
    """Simulated users look down a list of items, such as films, play some and leave after a play
    with the probability `leave`. `traits` are further assumptions of the simulated world, `rank` is
    the function that makes the lists. The plays of a user, the hours played and others are drawn
    (`observed`), and their expected numbers follow from a formula (`expected`): the mean difference
    over 60,000 users must be 0 to within 4 standard errors.
    """
    users = 60_000
    world = simulation.World(spread=0.5, leave=leave, **traits)
    rng = np.random.default_rng(5)
    people = simulation.draw_people(world, users, rng=rng)
    lists = rank(world, people, noise=1.6, rng=rng)
    drawn = simulation.observed(world, people, lists, rng=rng)
    for name, expected in simulation.expected(world, people, lists).items():
        difference = drawn[name] - expected
        assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(users)


def test_a_diverse_ranker_begins_with_the_favourite_kind_and_shows_each_kind_once_in_a_turn():
    """In a simulated world items are of the kinds 0, 1 and 2, `people.kind`, and each user wants
    the kinds by their own shares, `people.kind_shares`. The lists of a diverse ranker, `in_turns`,
    let the kinds take turns: the first three items are one of each kind, the first of the kind that
    the user wants most. That must hold for each of 60,000 users, whatever the noise in the ranker's
    guess of the items' appeal. Other properties of the world, spread and bait, do not matter.
    """
    world = simulation.World(spread=0.5, bait=0.5, kinds=3)
    rng = np.random.default_rng(5)
    people = simulation.draw_people(world, 60_000, rng=rng)
    lists = simulation.in_turns(world, people, noise=1.6, rng=rng)
    kinds_of_first_three = people.kind[lists[:, :3]]
    assert (np.sort(kinds_of_first_three, axis=1) == [0, 1, 2]).all()
    favourite = people.kind_shares.argmax(axis=1)
    assert (kinds_of_first_three[:, 0] == favourite).all()


class Cascades(NamedTuple):
    """Plays, users by positions, of copies of one user: by sessions at once, and drawn position by
    position, as they are where a play may not end the session, which here never comes up.
    """

    at_once: np.ndarray
    stepwise: np.ndarray


COPIES = 40_000


@pytest.fixture(scope="module", params=[1, 3])
def cascades(request):
    world = simulation.World(kinds=request.param, spread=0.0, affinity=-1.0)
    rng = np.random.default_rng(8)
    two = simulation.draw_people(world, 2, rng=rng)
    copied = {name: np.repeat(getattr(two, name)[:1], COPIES, axis=0) for name in EACH}
    people = replace(two, **copied)
    shown = np.repeat(simulation.ranking(world, two, 1.0, rng=rng)[:1], COPIES, axis=0)
    return Cascades(
        simulation.sessions_played(world, people, shown, rng=rng),
        simulation.sessions_played(replace(world, leave=1 - 1e-15), people, shown, rng=rng),
    )


def test_plays_of_a_cascade_have_the_means_of_sessions_drawn_position_by_position(cascades):
    """Within 4.5 standard errors of a difference of Poisson numbers; one in 150,000 lies beyond."""
    assert cascades.at_once.dtype == cascades.stepwise.dtype
    mean = cascades.at_once.mean(axis=0)
    error = np.sqrt(2 * mean / COPIES)
    assert (np.abs(mean - cascades.stepwise.mean(axis=0)) < 4.5 * error).all()


def test_plays_of_a_cascade_have_the_covariances_of_sessions_drawn_position_by_position(cascades):
    """Within 4.5 standard errors of a covariance of independent Poisson numbers."""
    mean = cascades.at_once.mean(axis=0)
    variance = np.outer(mean, mean) + np.diag(mean + mean**2)
    difference = np.cov(cascades.at_once.T) - np.cov(cascades.stepwise.T)
    assert (np.abs(difference) < 4.5 * np.sqrt(2 * variance / COPIES)).all()


class UsersNeeded(NamedTuple):
    """Users for 95 % of experiments to have the right sign: by interleaving, by the best metric of
    an A/B test without and with CUPED.
    """

    interleaving: float
    plain: float
    cuped: float


def users_needed(world):
    duel = simulation.simulate_designs(world, 60_000, rng=np.random.default_rng(0))
    users = simulation.users_needed(duel).set_index("design")["agree_95"]
    ab = users[users.index.str.startswith("A/B")]
    plain = ab[~ab.index.str.endswith("CUPED")]
    return UsersNeeded(users["interleaving, win"], plain.min(), ab.min())


def test_interleaving_needs_a_hundredth_of_the_users_and_a_tenth_of_those_with_cuped():
    users = users_needed(simulation.World())
    assert 60 < users.plain / users.interleaving < 250
    assert 5 < users.cuped / users.interleaving < 20


def test_without_heavy_users_interleaving_needs_more_than_a_fifteenth_of_the_users():
    users = users_needed(simulation.World(spread=0.0))
    assert users.plain / users.interleaving < 15


def small_duel():
    """A duel of interleaving and A/B tests on 500 users."""
    return simulation.simulate_designs(simulation.World(), 500, rng=np.random.default_rng(9))


def test_the_seed_fixes_a_duel():
    assert small_duel().equals(small_duel())


@pytest.mark.parametrize(("column", "factor"), [("power_95", 4.80), ("power_80", 2.90)])
def test_a_power_needs_a_fixed_multiple_of_the_users_for_the_right_sign(column, factor):
    """(z of 97.5 % + z of the power)² / (z of 95 %)²: (1.960 + 1.645)² / 1.645² = 4.80, and with
    0.842 2.90.
    """
    table = simulation.users_needed(small_duel())
    assert (table[column] / table["agree_95"]).to_numpy() == pytest.approx(factor, abs=0.005)


def test_the_users_for_the_right_sign_leave_an_error_of_5_percent():
    row = simulation.users_needed(small_duel()).iloc[0]
    assert simulation.sign_error(row["effect"], row["sd"], row["agree_95"]) == pytest.approx(0.05)


@pytest.fixture(scope="module")
def tournament():
    """Five rankers of growing skill, interleaved on 6,000 users."""
    rng = np.random.default_rng(8)
    return simulation.tournament(simulation.World(), [1.0, 1.3, 1.6, 2.0, 2.5], 6000, rng=rng)


def two_stages(tournament, keep, users):
    rng = np.random.default_rng(8)
    return simulation.two_stage(tournament, keep=keep, **users, rng=rng)


def test_shares_of_a_tournament_follow_what_rankers_truly_are_played(tournament):
    assert tournament["share"].corr(tournament["plays_true"]) > 0.95


def test_two_stages_cost_the_interleaved_users_and_those_of_each_arm_and_the_control(tournament):
    """4,000 for each of five rankers, and 10,000 for each that is kept and the control."""
    plan = two_stages(tournament, [1, 2, 5], {"users_interleaved": 4000, "users_arm": 10_000})
    *two_stage, no_first_stage = plan["users"]
    assert two_stage == [20_000 + 10_000 * arms for arms in (2, 3, 6)]
    assert no_first_stage == 10_000 * 6


def test_to_keep_all_rankers_is_to_interleave_for_nothing(tournament):
    plan = two_stages(tournament, [1, 2, 5], {"users_interleaved": 4000, "users_arm": 10_000})
    *_, keep_all, no_first_stage = plan["best_wins"]
    assert keep_all == no_first_stage
    assert plan["best_wins"].between(0, 1).all()


def test_more_rankers_than_there_are_cannot_be_kept(tournament):
    with pytest.raises(ParameterError, match=r"keep must be 1 to 5, got \[6\]"):
        two_stages(tournament, [6], {"users_interleaved": 1, "users_arm": 1})


@pytest.fixture(scope="module")
def families():
    """Rankers by family: honest ones by affinity, click-bait, and a diverse one."""
    world = simulation.World(bait=0.5, kinds=4)
    table = simulation.families(world, 10_000, rng=np.random.default_rng(16))
    return table.set_index("family")


def test_honest_rankers_win_hours_where_they_win_credit(families):
    honest = families.loc["affinity"]
    assert (np.sign(honest["share"]) == np.sign(honest["hours"])).all()


def test_click_bait_wins_plays_and_loses_hours(families):
    bait = families.loc["click-bait"]
    assert (bait[["share", "plays"]] > 0).all(axis=None)
    assert (bait["hours"] < 0).all()


def test_a_diverse_ranker_has_other_plays_than_an_honest_one_of_its_share(families):
    honest = families.loc["affinity"]
    diverse = families.loc["diverse"]
    line = np.polyfit(honest["share"], honest["plays"], 1)
    assert abs(diverse["plays"] - np.polyval(line, diverse["share"])) > 0.02
