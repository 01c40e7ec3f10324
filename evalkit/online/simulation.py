"""Simulated users of rankers: the number of users that interleaving, an A/B test and both in two
stages need.

Nothing here was observed. A `World` states every assumption; a page that shows a result also shows
its world.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

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
    """Users of a world: expected `sessions`, `hours` per play, `other` hours, and what they think
    of the candidates.

    chance: (users, candidates), the probability of playing each if it is looked at. wrap: the logit
    of its wrapping. wants: (users, kinds), the share of sessions that want each kind. kind: that of
    each candidate.
    """

    sessions: Floats
    chance: Floats
    hours: Floats
    other: Floats
    wrap: Floats
    wants: Floats
    kind: Ints

    @cached_property
    def affinity(self) -> Floats:
        """The logit of what each user thinks of each candidate without its wrapping."""
        return np.log(self.chance / (1 - self.chance)) - self.wrap


def people(world: World, users: int, *, rng: np.random.Generator) -> People:
    """Draw the users of a world."""
    if users < 2:
        raise ParameterError(f"users must be at least 2, got {users}")
    sessions = world.sessions * _lognormal(world.spread, users, rng)
    logit = rng.normal(world.affinity, 1.0, (users, world.candidates))
    other = world.other_hours * sessions * _lognormal(1.0, users, rng)
    hours = _lognormal(world.hours_spread, users, rng)
    wrap = rng.normal(0.0, world.bait, logit.shape) if world.bait else np.zeros(logit.shape)
    wants = rng.dirichlet(np.ones(world.kinds), users) if world.kinds > 1 else np.ones((users, 1))
    kind = np.arange(world.candidates) % world.kinds
    return People(sessions, 1 / (1 + np.exp(-logit - wrap)), hours, other, wrap, wants, kind)


def _lognormal(spread: float, size: int, rng: np.random.Generator) -> Floats:
    """Lognormal with mean 1."""
    return np.exp(rng.normal(-(spread**2) / 2, spread, size))


def ranking(
    world: World, who: People, noise: float, *, rng: np.random.Generator, pull: float = 0.0
) -> Ints:
    """Each user's first k candidates by affinity + N(0, noise²), (users, k): the less noise, the
    better the ranker.

    The affinity excludes the wrapping; a click-bait ranker adds `pull` times the wrapping.
    """
    guess = rng.normal(0.0, noise, who.affinity.shape)
    guess += who.affinity
    if world.kinds > 1:
        guess += np.log(who.wants)[:, who.kind]
    if pull:
        guess += pull * who.wrap
    return _best(guess, world.k)


def in_turns(world: World, who: People, noise: float, *, rng: np.random.Generator) -> Ints:
    """A diverse ranker: the best item of each kind, most wanted kind first, then the second best of
    each, and so on.
    """
    guess = who.affinity + rng.normal(0.0, noise, who.chance.shape)
    place = np.empty(guess.shape)
    turn = np.argsort(np.argsort(-who.wants, axis=1), axis=1)
    for kind in range(world.kinds):
        own = who.kind == kind
        place[:, own] = (
            world.kinds * np.argsort(np.argsort(-guess[:, own], axis=1), axis=1) + turn[:, [kind]]
        )
    return _best(-place, world.k)


def _best(guess: Floats, k: int) -> Ints:
    """The places of the k largest numbers of each row, the largest first."""
    return np.argsort(guess, axis=1)[:, : -k - 1 : -1].copy()


def expected(world: World, who: People, lists: Ints) -> dict[str, Floats]:
    """Each user's expected any_play, plays, hours and streaming with these lists, without the noise
    of sessions.
    """
    plays = _per_session(world, who, lists, world.leave)
    # Up to the first play all are cascades.
    first = plays if world.leave == 1 else _per_session(world, who, lists, 1.0)
    any_play = 1 - np.exp(-who.sessions * first.sum(axis=1))
    return _metrics(world, who, lists, any_play, who.sessions[:, None] * plays, who.other)


def _per_session(world: World, who: People, lists: Ints, leave: float) -> Floats:
    """Expected plays of one session by user and position, (users, k)."""
    chance = np.take_along_axis(who.chance, lists, axis=1)
    if world.kinds == 1:
        return _view(chance, world.stay, leave)
    wanted = (np.where(who.kind[lists] == kind, chance, 0.0) for kind in range(world.kinds))
    views = [_view(of_kind, world.stay, leave) for of_kind in wanted]
    return np.add.reduce(
        [wanting[:, None] * view for wanting, view in zip(who.wants.T, views, strict=True)]
    )


def _view(chance: Floats, stay: float, leave: float) -> Floats:
    """Expected plays of one session by position."""
    going = np.cumprod(stay * (1 - leave * chance[:, :-1]), axis=1)
    return np.concatenate([chance[:, :1], going * chance[:, 1:]], axis=1)


def observed(
    world: World, who: People, lists: Ints, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw each user's any_play, plays, hours and streaming in one period with these lists."""
    plays = sessions_played(world, who, lists, rng=rng).astype(np.float64)
    any_play = (plays.sum(axis=1) > 0).astype(np.float64)
    # other hours vary between periods as sessions do
    other = rng.gamma(who.sessions) * who.other / who.sessions
    return _metrics(world, who, lists, any_play, plays, other)


def _metrics(
    world: World, who: People, lists: Ints, any_play: Floats, plays: Floats, other: Floats
) -> dict[str, Floats]:
    """The four metrics from plays by position."""
    worth = np.exp(-np.take_along_axis(who.wrap, lists, axis=1)) if world.bait else 1.0
    hours = (plays * worth).sum(axis=1) * who.hours
    streaming = other + (1 - world.substituted) * hours
    return {
        "any_play": any_play,
        "plays": plays.sum(axis=1),
        "hours": hours,
        "streaming": streaming,
    }


def sessions_played(world: World, who: People, lists: Ints, *, rng: np.random.Generator) -> Ints:
    """Draw the plays by user and position, (users, k), over all sessions of a user at once.

    Where a play ends the session, each session is counted at one position at most, so that the
    counts are independent Poisson numbers; else they are drawn one position after another, binomial
    numbers of those who still look.
    """
    if world.leave == 1:
        return rng.poisson(who.sessions[:, None] * _per_session(world, who, lists, world.leave))
    plays = np.zeros(lists.shape, dtype=np.int64)
    for kind, wanting in enumerate(who.wants.T):
        viewers = rng.poisson(who.sessions * wanting)
        for place in range(lists.shape[1]):
            here = lists[:, place]
            chance = np.where(
                who.kind[here] == kind, who.chance[np.arange(viewers.size), here], 0.0
            )
            played = rng.binomial(viewers, chance)
            plays[:, place] += played
            gone = rng.binomial(played, world.leave) if world.leave else 0
            viewers = rng.binomial(viewers - gone, world.stay)
    return plays


def preference(
    world: World,
    who: People,
    rankings: Ints,
    *,
    rng: np.random.Generator,
    draw: Callable[..., Draft] = team_draft,
) -> Floats:
    """Draw the plays credited to each ranker, (users, rankers), if every user sees one drafted list
    for the period.
    """
    drafted = draw(rankings, world.k, rng=rng)
    return credit(drafted, sessions_played(world, who, drafted.item, rng=rng), teams=len(rankings))


def duel(
    world: World, users: int, *, rng: np.random.Generator, noise: tuple[float, float] = (1.6, 1.45)
) -> pd.DataFrame:
    """Simulate every user in each experimental design: observed metrics and the expected effect,
    one row per user.

    Columns: for interleaving, `share` and `win` of the second ranker minus 1/2, 0 for a user
    without plays. For each A/B metric, `<metric>_a` and `<metric>_b` with either ranker,
    `<metric>_before` with the first ranker in the period before, and `<metric>_effect`, the
    expected difference.
    """
    sizes = np.diff(np.linspace(0, users, -(-users // BLOCK) + 1).astype(np.int64))
    parts = [_duel(world, int(size), noise, rng=rng) for size in sizes]
    return pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _duel(
    world: World, users: int, noise: tuple[float, float], *, rng: np.random.Generator
) -> dict[str, Floats]:
    who = people(world, users, rng=rng)
    rankings = np.stack([ranking(world, who, sd, rng=rng) for sd in noise])
    first, second = preference(world, who, rankings, rng=rng).T
    columns = {
        "share": np.nan_to_num(ratio(second, first + second), nan=0.5) - 0.5,
        "win": np.sign(second - first) / 2,
    }
    truth = [expected(world, who, lists) for lists in rankings]
    for arm, lists in {"a": rankings[0], "b": rankings[1], "before": rankings[0]}.items():
        columns |= {
            f"{name}_{arm}": values for name, values in observed(world, who, lists, rng=rng).items()
        }
    return columns | {f"{name}_effect": truth[1][name] - truth[0][name] for name in truth[0]}


def users_needed(outcome: pd.DataFrame) -> pd.DataFrame:
    """Number of users that each design of a `duel` needs: design, effect, sd, agree_95, power_80,
    power_95.

    agree_95: the sign is correct in 95% of experiments, the published criterion. power_80,
    power_95: a two-sided test at 0.05 has that power. N users see the interleaved lists, or N/2
    each arm of the A/B test; sd² is N times the variance of the estimated effect. The covariate of
    CUPED is the same metric in the period before.
    """
    rows = [
        (f"interleaving, {name}", outcome[name].mean(), outcome[name].std())
        for name in ("win", "share")
    ]
    for column in [name for name in outcome if str(name).endswith("_effect")]:
        metric = str(column).removesuffix("_effect")
        effect = outcome[column].mean()
        arms = [outcome[f"{metric}_{arm}"] for arm in "ab"]
        before = outcome[f"{metric}_before"]
        rows.append((f"A/B, {metric}", effect, np.sqrt(2 * sum(arm.var() for arm in arms))))
        unexplained = sum(arm.var() * (1 - correlation(arm, before) ** 2) for arm in arms)
        rows.append((f"A/B, {metric}, CUPED", effect, np.sqrt(2 * unexplained)))
    table = pd.DataFrame(rows, columns=["design", "effect", "sd"])
    z = NormalDist().inv_cdf
    for name, factor in {
        "agree_95": z(0.95),
        "power_80": z(0.975) + z(0.8),
        "power_95": z(0.975) + z(0.95),
    }.items():
        table[name] = ratio(factor**2 * table["sd"] ** 2, table["effect"] ** 2)
    return table


def sign_error(effect: float, sd: float, users: ArrayLike) -> Floats:
    """Probability that an experiment with this number of users prefers the worse ranker:
    Φ(−|effect| √users / sd).

    >>> sign_error(0.1, 1.0, [0, 271]).round(3)
    array([0.5 , 0.05])
    """
    from scipy.special import ndtr

    return ndtr(-abs(effect) * np.sqrt(np.asarray(users, dtype=np.float64)) / sd)


def families(
    world: World, users: int, *, rng: np.random.Generator, noise: float = 1.6
) -> pd.DataFrame:
    """Rankers of three families against one by affinity with this noise: where preference and A/B
    lift disagree.

    One row per ranker: family, ranker, share (mean over users of the share of plays credited to it,
    less 1/2), share_hours (the same for hours), and the true relative lifts of plays and hours. All
    rankers have the same users.
    """
    who = people(world, users, rng=rng)
    production = ranking(world, who, noise, rng=rng)
    base = expected(world, who, production)
    rankers = {
        ("affinity", f"noise {sd:g}"): ranking(world, who, sd, rng=rng)
        for sd in (1.2, 1.4, 1.8, 2.0)
    }
    rankers |= {
        ("click-bait", f"pull {p:g}"): ranking(world, who, noise, rng=rng, pull=p)
        for p in (0.5, 1.0, 2.0)
    }
    rankers["diverse", "in turns"] = in_turns(world, who, noise, rng=rng)
    rows = []
    for (family, ranker), lists in rankers.items():
        shares = _credited(world, who, np.stack([production, lists]), rng=rng)
        truth = expected(world, who, lists)
        lifts = {
            metric: truth[metric].mean() / base[metric].mean() - 1 for metric in ("plays", "hours")
        }
        rows.append({"family": family, "ranker": ranker} | shares | lifts)
    return pd.DataFrame(rows)


def _credited(
    world: World, who: People, rankings: Ints, *, rng: np.random.Generator
) -> dict[str, float]:
    """Mean shares of plays and of hours credited to the second ranker in a team draft, less 1/2."""
    drafted = team_draft(rankings, world.k, rng=rng)
    plays = sessions_played(world, who, drafted.item, rng=rng)
    hours = plays * np.exp(-np.take_along_axis(who.wrap, drafted.item, axis=1))
    amounts = {"share": plays, "share_hours": hours}
    shares = {
        name: ratio(credit(drafted, amount)[:, 1], amount.sum(axis=1))
        for name, amount in amounts.items()
    }
    return {name: float(np.nanmean(share)) - 0.5 for name, share in shares.items()}


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

    Columns: noise; share and share_sd of the interleaving; for any_play, plays and streaming the
    true relative lift `<metric>_true`, the lift `<metric>_measured` by an A/B test whose arms are
    the two halves of the users, and the lift `<metric>_cuped` with CUPED; plays_effect and plays_sd
    of an A/B test with CUPED.
    """
    rows = []
    for noise in np.asarray(noises, dtype=np.float64):
        outcome = duel(world, users, rng=rng, noise=(production, float(noise)))
        mean = outcome.mean()
        design = users_needed(outcome).set_index("design")
        row = {
            "noise": noise,
            "share": mean["share"],
            "share_sd": design.at["interleaving, share", "sd"],
        }
        for metric in ("any_play", "plays", "streaming"):
            row[f"{metric}_true"] = mean[f"{metric}_effect"] / mean[f"{metric}_before"]
            row |= {f"{metric}_{how}": value for how, value in _measured(outcome, metric).items()}
        rows.append(
            row
            | {f"plays_{part}": design.at["A/B, plays, CUPED", part] for part in ("effect", "sd")}
        )
    return pd.DataFrame(rows)


def _measured(outcome: pd.DataFrame, metric: str) -> dict[str, float]:
    """The lift measured by an A/B test: its arms have different users, while the true lift has
    every user in both.
    """
    half = len(outcome) // 2
    control = outcome[f"{metric}_a"][:half]
    treatment = outcome[f"{metric}_b"][half:]
    befores = outcome[f"{metric}_before"][:half], outcome[f"{metric}_before"][half:]
    raw = treatment.mean() - control.mean()
    before = befores[1].mean() - befores[0].mean()
    slope = np.mean(
        [np.polyfit(x, y, 1)[0] for x, y in zip(befores, (control, treatment), strict=True)]
    )
    return {"measured": raw / control.mean(), "cuped": (raw - slope * before) / control.mean()}


def two_stage(
    rankers: pd.DataFrame,
    *,
    keep: ArrayLike,
    users_interleaved: int,
    users_arm: int,
    rng: np.random.Generator,
    repeats: int = 10_000,
) -> pd.DataFrame:
    """Interleave every candidate, keep the best n, then A/B test those: one row for each n in
    `keep`.

    rankers: from `tournament`; its effects are taken as true. `users_interleaved` see the list of
    each candidate; the second stage has n + 1 arms of `users_arm`. The last row tests all
    candidates in parallel without interleaving. Columns: design, keep, users, best_wins
    (probability), chosen (mean effect of the winner as a share of the best effect). Raises
    ParameterError for a number in `keep` that is not 1 to the number of rankers.
    """
    share, plays = (rankers[name].to_numpy() for name in ("share", "plays_effect"))
    m = plays.size
    survivors = np.asarray(keep, dtype=np.int64).tolist()
    if survivors and not 1 <= min(survivors) <= max(survivors) <= m:
        raise ParameterError(f"keep must be 1 to {m}, got {survivors}")
    first = share + rng.normal(size=(repeats, m)) * rankers["share_sd"].to_numpy() / np.sqrt(
        users_interleaved
    )
    second = plays + rng.normal(size=(repeats, m)) * rankers["plays_sd"].to_numpy() / 2 / np.sqrt(
        users_arm
    )
    place = np.argsort(np.argsort(-first, axis=1), axis=1)
    designs = [("two stages", n, m * users_interleaved + (n + 1) * users_arm) for n in survivors]
    rows = []
    for design, n, users in [*designs, ("A/B in parallel", m, (m + 1) * users_arm)]:
        winner = np.argmax(np.where(place < n, second, -np.inf), axis=1)
        best_wins = (winner == np.argmax(plays)).mean()
        chosen = plays[winner].mean() / plays.max()
        rows.append(
            {"design": design, "keep": n, "users": users, "best_wins": best_wins, "chosen": chosen}
        )
    return pd.DataFrame(rows)
