"""Simulated users of rankers: the number of users that interleaving, an A/B test and both in two
stages need.

Nothing here was observed. A `World` states every assumption; a page that shows a result also shows
its world.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, Ints, ParameterError, ratio
from evalkit.online.experiments import correlation
from evalkit.online.interleaving import Draft, credit, team_draft

BLOCK = 20_000  # users simulated at once: their candidates fit in memory


@dataclass(frozen=True)
class World:
    """Assumptions about users, rankers and clicks.

    Users have `sessions` on average, lognormal with sigma `spread` (1.5: the top tenth has 59% of
    them). There are `candidates` items with logit affinity N(`affinity`, 1) and lists of length
    `k`. A user looks at the next position with probability `stay`; a play ends the session with
    probability `leave` (1 is the cascade model, 0 the position-based model). Hours per play vary
    between users with lognormal sigma `hours_spread`; a session includes `other_hours` of other
    streaming, and a play replaces other hours by a share `substituted` of its own.

    `bait` is the standard deviation of the items' wrapping: its logit is added to that of playing,
    and the play is worth e^−logit of the hours. With several `kinds` of items each session wants
    one kind and accepts no other.
    """

    sessions: float = 8.0
    spread: float = 1.5
    candidates: int = 40
    affinity: float = -2.2
    k: int = 10
    stay: float = 0.9
    leave: float = 1.0
    hours_spread: float = 0.8
    other_hours: float = 1.0
    substituted: float = 0.5
    bait: float = 0.0
    kinds: int = 1


@dataclass(frozen=True)
class People:
    """The users of a world, and how they judge the candidate items.

    sessions: expected number of each user. p_play: shape (users, candidates), the probability of
    playing each candidate if the user looks at it. hours: per play, by user. other_hours: of other
    streaming, by user. wrapping: shape (users, candidates), by how much the wrapping of a candidate
    raises the logit of playing it. kind_shares: shape (users, kinds), the share of a user's
    sessions that want each kind. kind: of each candidate, from 0.
    """

    sessions: Floats
    p_play: Floats
    hours: Floats
    other_hours: Floats
    wrapping: Floats
    kind_shares: Floats
    kind: Ints

    @cached_property
    def affinity(self) -> Floats:
        """The logit of playing without the wrapping, shape (users, candidates)."""
        return np.log(self.p_play / (1 - self.p_play)) - self.wrapping


def draw_people(world: World, users: int, *, rng: np.random.Generator) -> People:
    """Draw the users of a world; see `World` for its distributions, and `People` for what is drawn.

    users: their number. Without `world.bait` all wrappings are 0. With one kind of items every
    session wants that kind.
    """
    if users < 2:
        raise ParameterError(f"users must be at least 2, got {users}")
    # lognormal factors have mean 1, so that the means are those of the world
    sessions = world.sessions * _lognormal(world.spread, users, rng)
    affinity = rng.normal(world.affinity, 1.0, (users, world.candidates))
    other_hours = world.other_hours * sessions * _lognormal(1.0, users, rng)  # of all sessions
    hours = _lognormal(world.hours_spread, users, rng)  # of one play
    wrapping = np.zeros(affinity.shape)
    if world.bait:
        wrapping = rng.normal(0.0, world.bait, affinity.shape)
    kind_shares = np.ones((users, 1))
    if world.kinds > 1:
        kind_shares = rng.dirichlet(np.ones(world.kinds), users)
    odds_against = np.exp(-affinity - wrapping)  # of a play
    return People(
        sessions=sessions,
        p_play=1 / (1 + odds_against),
        hours=hours,
        other_hours=other_hours,
        wrapping=wrapping,
        kind_shares=kind_shares,
        kind=np.arange(world.candidates) % world.kinds,
    )


def _lognormal(sigma: float, size: int, rng: np.random.Generator) -> Floats:
    """Lognormal numbers with mean 1: the mean of exp(N(μ, σ²)) is exp(μ + σ²/2)."""
    return np.exp(rng.normal(-(sigma**2) / 2, sigma, size))


def ranking(
    world: World, who: People, noise: float, *, rng: np.random.Generator, pull: float = 0.0
) -> Ints:
    """Each user's k best candidates for a ranker that knows their affinity up to N(0, noise²), best
    first, shape (users, k): the less noise, the better the ranker.

    The affinity excludes the wrapping, by which a candidate looks better than it is; a click-bait
    ranker adds `pull` times the wrapping.
    """
    guess = rng.normal(0.0, noise, who.affinity.shape)
    guess += who.affinity
    if world.kinds > 1:
        # Only sessions that want the kind play a candidate, so that the probability of a play is
        # multiplied by their share, and its logarithm is added.
        guess += np.log(who.kind_shares)[:, who.kind]
    if pull:
        guess += pull * who.wrapping
    return _best(guess, world.k)


def in_turns(world: World, who: People, noise: float, *, rng: np.random.Generator) -> Ints:
    """The lists of a diverse ranker, shape (users, k): the best item of each kind, the kind that
    the user wants most first, then the second best of each, and so on. noise: the standard
    deviation of the error with which the ranker knows a user's affinity to an item.
    """
    guess = who.affinity + rng.normal(0.0, noise, who.affinity.shape)  # (users, candidates)
    turn_of_kind = _places(who.kind_shares)  # (users, kinds): 0 for the kind wanted most
    place = np.empty(guess.shape)  # of each candidate in a list of all, 0 for the first
    for kind in range(world.kinds):
        is_of_kind = who.kind == kind
        # round 0 has the best item of each kind, round 1 the second best; a round has as many
        # places as there are kinds
        round_of_item = _places(guess[:, is_of_kind])
        place[:, is_of_kind] = world.kinds * round_of_item + turn_of_kind[:, [kind]]
    return _best(-place, world.k)  # the k smallest places


def _places(values: Floats) -> Ints:
    """The place of each number in its row, 0 for the largest."""
    return np.argsort(np.argsort(-values, axis=1), axis=1)


def _best(guess: Floats, k: int) -> Ints:
    """The columns of the k largest numbers of each row, the largest first, shape (rows, k)."""
    return np.argsort(guess, axis=1)[:, : -k - 1 : -1].copy()


def expected(world: World, who: People, lists: Ints) -> dict[str, Floats]:
    """Each user's expected metrics in one period, if they see these lists: the probability of
    any_play, plays, hours (of these plays) and streaming (hours in all), each of shape (users,).
    They are computed, and not drawn. lists: the candidates at each position, shape (users, k).
    """
    plays_per_session = _plays_per_session(world, who, lists, world.leave)
    # The probability that the first play of a session is at each position. A session where every
    # play is the last has only a first play, so that it equals the expected plays of such a
    # session; up to its first play any other session is the same.
    first_plays = plays_per_session
    if world.leave != 1:
        first_plays = _plays_per_session(world, who, lists, leave=1.0)
    # the number of sessions is Poisson, and so is that of sessions with a play: P(0) = exp(−mean)
    sessions_with_play = who.sessions * first_plays.sum(axis=1)
    any_play = 1 - np.exp(-sessions_with_play)
    plays = who.sessions[:, None] * plays_per_session
    return _metrics(world, who, lists, any_play, plays, who.other_hours)


def _plays_per_session(world: World, who: People, lists: Ints, leave: float) -> Floats:
    """Expected plays of one session by user and position, shape (users, k), if a play ends it with
    probability `leave`.
    """
    p_play = np.take_along_axis(who.p_play, lists, axis=1)
    if world.kinds == 1:
        return _plays_by_position(p_play, world.stay, leave)
    # a session wants one kind, and plays no item of another
    plays_by_kind = []
    for kind, share in enumerate(who.kind_shares.T):
        p_of_kind = np.where(who.kind[lists] == kind, p_play, 0.0)
        plays = _plays_by_position(p_of_kind, world.stay, leave)
        plays_by_kind.append(share[:, None] * plays)
    return np.asarray(np.add.reduce(plays_by_kind))


def _plays_by_position(p_play: Floats, stay: float, leave: float) -> Floats:
    """Expected plays of one session by user and position, shape (users, k). p_play: the probability
    of a play at each position that is looked at, same shape.

    The first position is looked at. The next one is if the session has not ended by a play, and the
    user stays.
    """
    p_next = stay * (1 - leave * p_play[:, :-1])
    p_look = np.cumprod(p_next, axis=1)  # at the second position and those after it
    return np.concatenate([p_play[:, :1], p_look * p_play[:, 1:]], axis=1)


def observed(
    world: World, who: People, lists: Ints, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw each user's any_play, plays, hours and streaming in one period with these lists. lists:
    candidates, shape (users, k).
    """
    plays = sessions_played(world, who, lists, rng=rng).astype(np.float64)
    any_play = (plays.sum(axis=1) > 0).astype(np.float64)
    # Other hours vary between periods as the number of sessions does: this gamma distribution has
    # the mean and the variance of a Poisson number of sessions.
    sessions = rng.gamma(who.sessions)
    other_hours = sessions * who.other_hours / who.sessions
    return _metrics(world, who, lists, any_play, plays, other_hours)


def _metrics(
    world: World, who: People, lists: Ints, any_play: Floats, plays: Floats, other_hours: Floats
) -> dict[str, Floats]:
    """The four metrics of each user, by name: any_play, plays, hours (of plays) and streaming (all
    hours), shape (users,). They are expected values or drawn ones, as `any_play`, `plays` and
    `other_hours` are.

    lists: candidates, shape (users, k). any_play: the probability of a play, or 0 or 1 for what was
    drawn. plays: their number by position, shape (users, k). other_hours: hours of other streaming
    of each user, before plays replace some: the share `World.substituted` of their own hours.
    """
    # the hours of a play as a share of `who.hours`: the more its wrapping attracts, the less
    worth: Floats | float = 1.0
    if world.bait:
        worth = np.exp(-np.take_along_axis(who.wrapping, lists, axis=1))
    hours = (plays * worth).sum(axis=1) * who.hours
    return {
        "any_play": any_play,
        "plays": plays.sum(axis=1),
        "hours": hours,
        "streaming": other_hours + (1 - world.substituted) * hours,
    }


def sessions_played(world: World, who: People, lists: Ints, *, rng: np.random.Generator) -> Ints:
    """Draw the plays by user and position, shape (users, k), over all sessions of a user at once.

    lists: candidates, shape (users, k). The number of sessions of a user is Poisson. If a play
    always ends the session, each session has at most one play, so that the plays at different
    positions are independent Poisson numbers. Else the plays are drawn one position after another:
    a binomial number of the sessions that still look there.
    """
    if world.leave == 1:
        plays_per_session = _plays_per_session(world, who, lists, world.leave)
        return rng.poisson(who.sessions[:, None] * plays_per_session)
    users = np.arange(len(lists))
    plays = np.zeros(lists.shape, dtype=np.int64)
    # each session wants one kind of items: the sessions of each kind are drawn apart
    for kind, share in enumerate(who.kind_shares.T):
        looking = rng.poisson(who.sessions * share)  # sessions of each user that look at a position
        for position in range(lists.shape[1]):
            item = lists[:, position]
            p_play = np.where(who.kind[item] == kind, who.p_play[users, item], 0.0)
            played = rng.binomial(looking, p_play)
            plays[:, position] += played
            # after a play the session ends with probability `leave`; the user of any other session
            # looks at the next position with probability `stay`
            ended = rng.binomial(played, world.leave) if world.leave else 0
            looking = rng.binomial(looking - ended, world.stay)
    return plays


def preference(
    world: World,
    who: People,
    rankings: Ints,
    *,
    rng: np.random.Generator,
    draw: Callable[..., Draft] = team_draft,
) -> Floats:
    """Draw the plays credited to each ranker, shape (users, rankers), if every user sees one
    drafted list for the period. rankings: shape (rankers, users, items). draw: makes the draft.
    """
    drafted = draw(rankings, world.k, rng=rng)
    plays = sessions_played(world, who, drafted.item, rng=rng)
    return credit(drafted, plays, teams=len(rankings))


def simulate_designs(
    world: World, users: int, *, rng: np.random.Generator, noise: tuple[float, float] = (1.6, 1.45)
) -> pd.DataFrame:
    """Simulate every user in each experimental design: observed metrics and the expected effect,
    one row per user.

    Columns: for interleaving, `share` and `win` of the second ranker minus 1/2, 0 for a user
    without plays. For each A/B metric, `<metric>_a` and `<metric>_b` with either ranker,
    `<metric>_before` with the first ranker in the period before, and `<metric>_effect`, the
    expected difference. noise: of the two rankers, as in `ranking`.
    """
    blocks = -(-users // BLOCK)  # rounded up
    starts = np.linspace(0, users, blocks + 1).astype(np.int64)
    frames = [_duel_block(world, int(size), noise, rng=rng) for size in np.diff(starts)]
    return pd.concat(frames, ignore_index=True)


def _duel_block(
    world: World, users: int, noise: tuple[float, float], *, rng: np.random.Generator
) -> pd.DataFrame:
    """Simulate some users, each in an interleaving of two rankers and with each ranker alone: a row
    per user with the columns of `simulate_designs`. They fit in memory at once. users: their
    number. noise: of the first ranker, a, and of the second, b; see `ranking`.
    """
    who = draw_people(world, users, rng=rng)
    lists_a, lists_b = (ranking(world, who, sd, rng=rng) for sd in noise)
    # each user's plays credited to either ranker, if they see a list that both drafted
    credited = preference(world, who, np.stack([lists_a, lists_b]), rng=rng)
    plays_a = credited[:, 0]
    plays_b = credited[:, 1]
    share_b = ratio(plays_b, plays_a + plays_b)  # NaN for a user without plays, who prefers none
    columns = {
        "share": np.nan_to_num(share_b, nan=0.5) - 0.5,
        "win": np.sign(plays_b - plays_a) / 2,  # 1/2 if b has more plays, −1/2 if a has
    }
    # in the period before the experiment all users have the first ranker
    for arm, lists in {"a": lists_a, "b": lists_b, "before": lists_a}.items():
        metrics = observed(world, who, lists, rng=rng)
        columns |= {f"{name}_{arm}": values for name, values in metrics.items()}
    expected_a = expected(world, who, lists_a)
    expected_b = expected(world, who, lists_b)
    columns |= {f"{name}_effect": expected_b[name] - expected_a[name] for name in expected_a}
    return pd.DataFrame(columns)


def users_needed(outcome: pd.DataFrame) -> pd.DataFrame:
    """Number of users N that each experimental design needs: design, effect, sd, agree_95,
    power_80, power_95.

    agree_95: the estimated effect has the right sign in 95% of experiments. power_80, power_95: a
    two-sided test at 0.05 has that power. N users see the interleaved lists, or N/2 each arm of the
    A/B test; sd² is N times the variance of the estimated effect. The covariate of CUPED is the
    same metric in the period before. outcome: the frame of `simulate_designs`.
    """
    rows = []
    for name in ("win", "share"):
        # both are 0 for no preference, so that their mean over N users is the effect
        column = outcome[name]
        rows.append(
            {"design": f"interleaving, {name}", "effect": column.mean(), "sd": column.std()}
        )
    for name in map(str, outcome):
        if not name.endswith("_effect"):
            continue
        metric = name.removesuffix("_effect")
        effect = outcome[name].mean()
        arms = [outcome[f"{metric}_{arm}"] for arm in "ab"]
        before = outcome[f"{metric}_before"]
        variances = [arm.var() for arm in arms]
        # with N/2 users in each arm the difference of means has variance 2 (var a + var b) / N
        sd = np.sqrt(2 * sum(variances))
        rows.append({"design": f"A/B, {metric}", "effect": effect, "sd": sd})
        # CUPED leaves of each variance the share 1 − r², with the correlation r of the metric and
        # the covariate
        unexplained = [arm.var() * (1 - correlation(arm, before) ** 2) for arm in arms]
        sd = np.sqrt(2 * sum(unexplained))
        rows.append({"design": f"A/B, {metric}, CUPED", "effect": effect, "sd": sd})
    table = pd.DataFrame(rows)
    # the effect must be a factor times its standard error: effect = factor · sd / √N, solved for N
    z = NormalDist().inv_cdf
    factors = {
        "agree_95": z(0.95),
        "power_80": z(0.975) + z(0.8),
        "power_95": z(0.975) + z(0.95),
    }
    for name, factor in factors.items():
        table[name] = ratio(factor**2 * table["sd"] ** 2, table["effect"] ** 2)
    return table


def sign_error(effect: float, sd: float, users: ArrayLike) -> Floats:
    """Probability that an experiment with this number of users prefers the worse ranker:
    Φ(−|effect| √users / sd).

    >>> sign_error(0.1, 1.0, [0, 271]).round(3)
    array([0.5 , 0.05])
    """
    from scipy.special import ndtr

    n = np.asarray(users, dtype=np.float64)
    return np.asarray(ndtr(-abs(effect) * np.sqrt(n) / sd))


def families(
    world: World, users: int, *, rng: np.random.Generator, noise: float = 1.6
) -> pd.DataFrame:
    """Compare rankers of three families with the ranker in production, which ranks by affinity,
    known up to `noise`; it shows where an interleaving and an A/B test disagree.

    One row per ranker: family, ranker, share (mean over users of the share of plays credited to it,
    less 1/2), share_hours (the same for hours), and the true relative lifts of plays and hours. All
    rankers have the same users. noise: as in `ranking`.
    """
    who = draw_people(world, users, rng=rng)
    production = ranking(world, who, noise, rng=rng)
    truth_of_production = expected(world, who, production)
    rankers = {}  # (family, ranker) -> its lists, shape (users, k)
    for sd in (1.2, 1.4, 1.8, 2.0):
        rankers["affinity", f"noise {sd:g}"] = ranking(world, who, sd, rng=rng)
    for pull in (0.5, 1.0, 2.0):  # how much it prefers items that only look good
        lists = ranking(world, who, noise, rng=rng, pull=pull)
        rankers["click-bait", f"pull {pull:g}"] = lists
    rankers["diverse", "in turns"] = in_turns(world, who, noise, rng=rng)
    rows = []
    for (family, ranker), lists in rankers.items():
        shares = _credited_shares(world, who, np.stack([production, lists]), rng=rng)
        truth = expected(world, who, lists)
        row = {"family": family, "ranker": ranker} | shares
        for metric in ("plays", "hours"):
            row[metric] = truth[metric].mean() / truth_of_production[metric].mean() - 1
        rows.append(row)
    return pd.DataFrame(rows)


def _credited_shares(
    world: World, who: People, rankings: Ints, *, rng: np.random.Generator
) -> dict[str, float]:
    """The shares of plays ("share") and of hours ("share_hours") credited to the second of two
    rankers, if every user sees a list that both drafted; drawn by `rng`.

    Each is a mean over the users with plays, less 1/2, so that 0 is no preference. rankings: the
    lists of both rankers, shape (2, users, items).
    """
    # the item at each position of a user's list, and the ranker that it comes from
    drafted = team_draft(rankings, world.k, rng=rng)
    plays = sessions_played(world, who, drafted.item, rng=rng)
    # The hours of a play fall with its wrapping, as in `_metrics`. They are in units of the user's
    # hours per play, which cancel in a share.
    hours = plays * np.exp(-np.take_along_axis(who.wrapping, drafted.item, axis=1))
    shares = {}
    for name, amount in {"share": plays, "share_hours": hours}.items():
        credited = credit(drafted, amount)  # shape (users, 2): the sum over each ranker's items
        credit_of_second = credited[:, 1]
        share = ratio(credit_of_second, amount.sum(axis=1))
        shares[name] = float(np.nanmean(share)) - 0.5
    return shares


def tournament(
    world: World,
    noises: ArrayLike,
    users: int,
    *,
    rng: np.random.Generator,
    production: float = 1.6,
) -> pd.DataFrame:
    """Each ranker against production, interleaved and in an A/B test with as many users; one row
    per ranker.

    noises: the noise of each ranker. production: the noise of the ranker in production; see
    `ranking` for what noise is. users: how many are simulated for each ranker.

    Columns: noise; share, the effect of the interleaving as in `simulate_designs`, and share_sd,
    its sd as in `users_needed`; for any_play, plays and streaming the true relative lift
    `<metric>_true`, the lift `<metric>_measured` by an A/B test whose arms are the two halves of
    the users, and the lift `<metric>_cuped` by the same test with CUPED; plays_effect and plays_sd,
    the effect on plays and its sd in an A/B test with CUPED, as in `users_needed`.
    """
    rows = []
    for noise in np.asarray(noises, dtype=np.float64):
        outcome = simulate_designs(world, users, rng=rng, noise=(production, float(noise)))
        mean = outcome.mean()  # of each column, over the users
        design = users_needed(outcome).set_index("design")
        row = {
            "noise": noise,
            "share": mean["share"],
            "share_sd": design.at["interleaving, share", "sd"],
        }
        for metric in ("any_play", "plays", "streaming"):
            # a lift is relative to production, which all users have in the period before
            row[f"{metric}_true"] = mean[f"{metric}_effect"] / mean[f"{metric}_before"]
            lifts = _measured_lifts(outcome, metric)
            row |= {f"{metric}_{name}": lift for name, lift in lifts.items()}
        for name in ("effect", "sd"):
            row[f"plays_{name}"] = design.at["A/B, plays, CUPED", name]
        rows.append(row)
    return pd.DataFrame(rows)


def _measured_lifts(outcome: pd.DataFrame, metric: str) -> dict[str, float]:
    """The relative lift that an A/B test would measure, plain ("measured") and with CUPED
    ("cuped"). outcome: the frame of `simulate_designs`, which has every user in both arms. metric:
    such as "plays".

    The arms of a test have different users: here the first half is the control, with ranker a, and
    the second half the treatment, with ranker b. CUPED subtracts from the difference of the means
    what the difference in the period before predicts: slope × that difference.
    """
    half = len(outcome) // 2
    control = outcome[f"{metric}_a"][:half]
    treatment = outcome[f"{metric}_b"][half:]
    control_before = outcome[f"{metric}_before"][:half]
    treatment_before = outcome[f"{metric}_before"][half:]
    difference = treatment.mean() - control.mean()
    difference_before = treatment_before.mean() - control_before.mean()
    slope_control, _ = np.polyfit(control_before, control, 1)
    slope_treatment, _ = np.polyfit(treatment_before, treatment, 1)
    slope = np.mean([slope_control, slope_treatment])  # CUPED has a common slope for both arms
    return {
        "measured": difference / control.mean(),
        "cuped": (difference - slope * difference_before) / control.mean(),
    }


class StageDesign(NamedTuple):
    """An experiment on several rankers. tested: how many of them are A/B tested. users: of all its
    stages.
    """

    name: str
    tested: int
    users: int


def two_stage(
    rankers: pd.DataFrame,
    *,
    keep: ArrayLike,
    users_interleaved: int,
    users_arm: int,
    rng: np.random.Generator,
    repeats: int = 10_000,
) -> pd.DataFrame:
    """Interleave every candidate ranker with production, keep the best n, then A/B test these n
    against production: one row for each n in `keep`.

    rankers: the frame of `tournament`, whose effects are taken as true. users_interleaved: how many
    see the lists interleaved from each candidate. users_arm: how many see each of the n + 1 arms of
    the A/B test. The last row tests all candidates in parallel without interleaving.

    Columns: design, keep, users, best_wins (the probability that the best ranker wins), chosen
    (mean effect of the winner as a share of the best effect). Raises ParameterError for a number in
    `keep` that is not 1 to the number of rankers.
    """
    share = rankers["share"].to_numpy()
    plays = rankers["plays_effect"].to_numpy()
    share_sd = rankers["share_sd"].to_numpy()
    plays_sd = rankers["plays_sd"].to_numpy()
    m = plays.size  # the number of rankers
    survivors = np.asarray(keep, dtype=np.int64).tolist()
    if survivors and not 1 <= min(survivors) <= max(survivors) <= m:
        raise ParameterError(f"keep must be 1 to {m}, got {survivors}")
    # what both stages measure for each ranker, in `repeats` experiments: shape (repeats, rankers)
    share_error = share_sd / np.sqrt(users_interleaved)
    measured_share = share + rng.normal(size=(repeats, m)) * share_error
    # `plays_sd` is that of a test with N users in two arms: the variance of the difference is
    # sd² / N. Here N = 2 users_arm, and each arm brings half of it: sd² / (4 users_arm). Only the
    # ranker's own arm counts: the error of production is the same for all rankers, and does not
    # change which one wins.
    plays_error = plays_sd / (2 * np.sqrt(users_arm))
    measured_plays = plays + rng.normal(size=(repeats, m)) * plays_error
    place = _places(measured_share)  # in each experiment; 0 for the ranker with the largest share
    designs = list[StageDesign]()
    for n in survivors:
        users = m * users_interleaved + (n + 1) * users_arm
        designs.append(StageDesign("two stages", tested=n, users=users))
    designs.append(StageDesign("A/B in parallel", tested=m, users=(m + 1) * users_arm))
    rows = []
    for design in designs:
        # of the rankers that are A/B tested, the one with the most plays in each experiment
        is_tested = place < design.tested
        winner = np.argmax(np.where(is_tested, measured_plays, -np.inf), axis=1)
        row = {"design": design.name, "keep": design.tested, "users": design.users}
        row["best_wins"] = (winner == np.argmax(plays)).mean()
        row["chosen"] = plays[winner].mean() / plays.max()
        rows.append(row)
    return pd.DataFrame(rows)
