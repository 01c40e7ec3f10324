"""Simulated users of two rankers: how many users interleaving needs, how many an A/B test, and both in two stages.

Nothing here was observed. A `World` states every assumption; a page that shows a result shows the world beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from evalkit.arrays import Floats, Ints, ParameterError, ratio
from evalkit.online.experiments import correlation
from evalkit.online.interleaving import Draft, credit, team_draft

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 20_000  # users simulated at once: their candidates fit in memory


@dataclass(frozen=True)
class World:
    """What is assumed of users, rankers and clicks.

    `sessions` a user on average, lognormal with sigma `spread` (1.5: the top tenth makes 59 %); `candidates` items
    with logit affinity N(`affinity`, 1); lists of `k`. The next position is looked at with probability `stay`; a play
    ends the session with probability `leave` (1 is the cascade model, 0 the position-based). Hours a play vary between
    users with lognormal sigma `hours_spread`; a session brings `other_hours` of other streaming, and a play replaces
    other hours by its share `substituted`.

    Where it is not 0, `bait` is the spread of the items' wrapping: its logit is added to the chance to play, and the
    play is worth e^−logit of the hours. With several `kinds` of items each session wants one, and accepts no other.
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
    """Users of a world: expected `sessions`, `chance` (users, candidates) to accept, `hours` a play, `other` hours.

    `wrap` is the logit of each candidate's wrapping, `wants` the share of sessions (users, kinds) that want a kind,
    `kind` that of each candidate.
    """

    sessions: Floats
    chance: Floats
    hours: Floats
    other: Floats
    wrap: Floats
    wants: Floats
    kind: Ints


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


def ranking(world: World, who: People, noise: float, *, rng: np.random.Generator, pull: float = 0.0) -> Ints:
    """Each user's first k candidates by affinity + N(0, noise²): the less noise, the better the ranker.

    Affinity leaves out the wrapping; a click-bait ranker adds `pull` times that.
    """
    known = _affinity(who) + np.log(who.wants)[:, who.kind] + pull * who.wrap
    return _best(known + rng.normal(0.0, noise, known.shape), world.k)


def in_turns(world: World, who: People, noise: float, *, rng: np.random.Generator) -> Ints:
    """A diverse ranker: the best of each kind by `ranking`'s guess, most wanted kind first, then the second best."""
    guess = _affinity(who) + rng.normal(0.0, noise, who.chance.shape)
    place = np.empty(guess.shape)
    turn = np.argsort(np.argsort(-who.wants, axis=1), axis=1)
    for kind in range(world.kinds):
        own = who.kind == kind
        place[:, own] = world.kinds * np.argsort(np.argsort(-guess[:, own], axis=1), axis=1) + turn[:, [kind]]
    return _best(-place, world.k)


def _affinity(who: People) -> Floats:
    return np.log(who.chance / (1 - who.chance)) - who.wrap


def _best(guess: Floats, k: int) -> Ints:
    best = np.argpartition(-guess, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(guess, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def expected(world: World, who: People, shown: Ints) -> dict[str, Floats]:
    """Each user's expected any_play, plays, hours and streaming under a list: no noise but the users' own."""
    chance = np.take_along_axis(who.chance, shown, axis=1)
    plays, first = np.zeros(shown.shape), np.zeros(len(shown))
    for kind, wanting in enumerate(who.wants.T):
        accepted = np.where(who.kind[shown] == kind, chance, 0.0)
        plays += wanting[:, None] * _view(accepted, world.stay, world.leave)
        first += wanting * _view(accepted, world.stay, 1.0).sum(axis=1)  # up to the first play all are cascades
    any_play = 1 - np.exp(-who.sessions * first)
    return _metrics(world, who, shown, any_play, who.sessions[:, None] * plays, who.other)


def _view(chance: Floats, stay: float, leave: float) -> Floats:
    """Expected plays of one session by position."""
    going = np.cumprod(stay * (1 - leave * chance[:, :-1]), axis=1)
    return np.concatenate([chance[:, :1], going * chance[:, 1:]], axis=1)


def observed(world: World, who: People, shown: Ints, *, rng: np.random.Generator) -> dict[str, Floats]:
    """Each user's any_play, plays, hours and streaming in one period under a list, drawn."""
    plays = sessions_played(world, who, shown, rng=rng).astype(np.float64)
    any_play = (plays.sum(axis=1) > 0).astype(np.float64)
    other = rng.gamma(who.sessions) * who.other / who.sessions  # other hours vary between periods as sessions do
    return _metrics(world, who, shown, any_play, plays, other)


def _metrics(
    world: World, who: People, shown: Ints, any_play: Floats, plays: Floats, other: Floats
) -> dict[str, Floats]:
    """The four metrics from plays by position."""
    worth = np.exp(-np.take_along_axis(who.wrap, shown, axis=1))
    hours = (plays * worth).sum(axis=1) * who.hours
    streaming = other + (1 - world.substituted) * hours
    return {"any_play": any_play, "plays": plays.sum(axis=1), "hours": hours, "streaming": streaming}


def sessions_played(world: World, who: People, shown: Ints, *, rng: np.random.Generator) -> Ints:
    """Plays by user and position, (users, k), all sessions of a user counted at once, binomial after binomial."""
    plays = np.zeros(shown.shape, dtype=np.int64)
    for kind, wanting in enumerate(who.wants.T):
        viewers = rng.poisson(who.sessions * wanting)
        for place in range(shown.shape[1]):
            here = shown[:, place]
            chance = np.where(who.kind[here] == kind, who.chance[np.arange(viewers.size), here], 0.0)
            played = rng.binomial(viewers, chance)
            plays[:, place] += played
            viewers = rng.binomial(viewers - rng.binomial(played, world.leave), world.stay)
    return plays


def watched(world: World, chance: Floats, *, rng: np.random.Generator) -> Ints:
    """0 or 1 for each position of single sessions, (sessions, k): what was played, from the chance to accept it.

    >>> rng = np.random.default_rng(0)
    >>> watched(World(stay=1.0), np.array([[0.0, 1.0, 1.0]]), rng=rng)
    array([[0, 1, 0]])
    """
    played = np.zeros(chance.shape, dtype=np.int64)
    here = np.ones(len(chance), dtype=np.bool_)
    for place in range(chance.shape[1]):
        played[:, place] = here & (rng.random(len(chance)) < chance[:, place])
        ended = (played[:, place] == 1) & (rng.random(len(chance)) < world.leave)
        here &= ~ended & (rng.random(len(chance)) < world.stay)
    return played


def preference(
    world: World,
    who: People,
    rankings: Ints,
    *,
    rng: np.random.Generator,
    draw: Callable[..., Draft] = team_draft,
) -> Floats:
    """Plays credited to each ranker, (users, rankers), when every user sees one drafted list for the period."""
    shown = draw(rankings, world.k, rng=rng)
    return credit(shown, sessions_played(world, who, shown.item, rng=rng), teams=len(rankings))


def duel(
    world: World, users: int, *, rng: np.random.Generator, noise: tuple[float, float] = (1.6, 1.45)
) -> pd.DataFrame:
    """Every user in each design at once, one row a user: what each would see, and the effect without noise.

    Columns: `share` and `win` of the second ranker, less 1/2, 0 where nothing was played, from interleaving; for each
    A/B metric `<metric>_a` and `_b` as observed, `_before` observed under the first ranker in a period before, and
    `_effect` the expected difference.
    """
    import pandas as pd

    sizes = np.diff(np.linspace(0, users, -(-users // BLOCK) + 1).astype(np.int64))
    parts = [_duel(world, int(size), noise, rng=rng) for size in sizes]
    return pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _duel(world: World, users: int, noise: tuple[float, float], *, rng: np.random.Generator) -> dict[str, Floats]:
    who = people(world, users, rng=rng)
    lists = np.stack([ranking(world, who, s, rng=rng) for s in noise])
    first, second = preference(world, who, lists, rng=rng).T
    out = {
        "share": np.nan_to_num(ratio(second, first + second), nan=0.5) - 0.5,
        "win": np.sign(second - first) / 2,
    }
    truth = [expected(world, who, shown) for shown in lists]
    for arm, shown in {"a": lists[0], "b": lists[1], "before": lists[0]}.items():
        out |= {f"{name}_{arm}": value for name, value in observed(world, who, shown, rng=rng).items()}
    return out | {f"{name}_effect": truth[1][name] - truth[0][name] for name in truth[0]}


def users_needed(outcome: pd.DataFrame) -> pd.DataFrame:
    """Users that each design needs, from a `duel`: design, effect, sd, agree_95, power_80, power_95.

    `agree_95`: the sign is right in 95 % of experiments, the published criterion; the other two reject at a two-sided
    0.05 with that power. N users see the interleaved list, or N/2 each arm of the A/B test: sd² is N times the
    variance of the estimated effect. CUPED takes the same metric before as covariate.
    """
    import pandas as pd

    rows = [(f"interleaving, {name}", outcome[name].mean(), outcome[name].std()) for name in ("win", "share")]
    for column in [name for name in outcome if str(name).endswith("_effect")]:
        metric = str(column).removesuffix("_effect")
        effect = outcome[column].mean()
        arms = [outcome[f"{metric}_{arm}"] for arm in "ab"]
        before = outcome[f"{metric}_before"]
        rows.append((f"A/B, {metric}", effect, np.sqrt(2 * sum(arm.var() for arm in arms))))
        left = sum(arm.var() * (1 - correlation(arm, before) ** 2) for arm in arms)
        rows.append((f"A/B, {metric}, CUPED", effect, np.sqrt(2 * left)))
    table = pd.DataFrame(rows, columns=["design", "effect", "sd"])
    z = NormalDist().inv_cdf
    for name, factor in {"agree_95": z(0.95), "power_80": z(0.975) + z(0.8), "power_95": z(0.975) + z(0.95)}.items():
        table[name] = ratio(factor**2 * table["sd"] ** 2, table["effect"] ** 2)
    return table


def sign_error(effect: float, sd: float, users: ArrayLike) -> Floats:
    """Probability that an experiment with so many users prefers the worse ranker: Φ(−|effect| √users / sd).

    >>> sign_error(0.1, 1.0, [0, 271]).round(3)
    array([0.5 , 0.05])
    """
    from scipy.special import ndtr

    return ndtr(-abs(effect) * np.sqrt(np.asarray(users, dtype=np.float64)) / sd)


def families(world: World, users: int, *, rng: np.random.Generator, noise: float = 1.6) -> pd.DataFrame:
    """Rankers of three families against one by affinity with this noise: where preference and A/B lift part.

    One row a ranker: family, ranker, share of the plays credited to it less 1/2 (mean over users), share_hours the same
    of hours, and the true relative lift in plays and in hours. All rankers meet the same users.
    """
    import pandas as pd

    who = people(world, users, rng=rng)
    production = ranking(world, who, noise, rng=rng)
    base = expected(world, who, production)
    made = {("affinity", f"noise {one:g}"): ranking(world, who, one, rng=rng) for one in (1.2, 1.4, 1.8, 2.0)}
    made |= {("click-bait", f"pull {p:g}"): ranking(world, who, noise, rng=rng, pull=p) for p in (0.5, 1.0, 2.0)}
    made["diverse", "in turns"] = in_turns(world, who, noise, rng=rng)
    rows = []
    for (family, name), lists in made.items():
        shown = team_draft(np.stack([production, lists]), world.k, rng=rng)
        plays = sessions_played(world, who, shown.item, rng=rng)
        worth = plays * np.exp(-np.take_along_axis(who.wrap, shown.item, axis=1))
        row: dict[str, object] = {"family": family, "ranker": name}
        for column, amount in {"share": plays, "share_hours": worth}.items():
            mine, all_of_it = credit(shown, amount)[:, 1], amount.sum(axis=1)
            row[column] = float(np.nanmean(ratio(mine, all_of_it))) - 0.5
        truth = expected(world, who, lists)
        rows.append(row | {name: truth[name].mean() / base[name].mean() - 1 for name in ("plays", "hours")})
    return pd.DataFrame(rows)


def tournament(
    world: World, noises: ArrayLike, users: int, *, rng: np.random.Generator, production: float = 1.6
) -> pd.DataFrame:
    """Each ranker against production, interleaved and in an A/B test over as many users; one row a ranker.

    Columns: noise; share and share_sd of the interleaving; for any_play, plays and streaming the relative lift
    as it is, `<metric>_true`, as an A/B test measures it whose arms are the two halves of the users,
    `<metric>_measured`, and with CUPED, `<metric>_cuped`; plays_effect and plays_sd of an A/B test with CUPED.
    """
    import pandas as pd

    rows = []
    for noise in np.asarray(noises, dtype=np.float64):
        outcome = duel(world, users, rng=rng, noise=(production, float(noise)))
        mean, design = outcome.mean(), users_needed(outcome).set_index("design")
        row = {"noise": noise, "share": mean["share"], "share_sd": design.at["interleaving, share", "sd"]}
        for metric in ("any_play", "plays", "streaming"):
            row[f"{metric}_true"] = mean[f"{metric}_effect"] / mean[f"{metric}_before"]
            row |= {f"{metric}_{how}": value for how, value in _measured(outcome, metric).items()}
        rows.append(row | {f"plays_{part}": design.at["A/B, plays, CUPED", part] for part in ("effect", "sd")})
    return pd.DataFrame(rows)


def _measured(outcome: pd.DataFrame, metric: str) -> dict[str, float]:
    """The lift that an A/B test reads off: other users in each arm, unlike the truth, which has every user in both."""
    half = len(outcome) // 2
    one, two = outcome[:half], outcome[half:]
    control, treatment = one[f"{metric}_a"], two[f"{metric}_b"]
    befores = one[f"{metric}_before"], two[f"{metric}_before"]
    raw, before = treatment.mean() - control.mean(), befores[1].mean() - befores[0].mean()
    slope = np.mean([np.polyfit(x, y, 1)[0] for x, y in zip(befores, (control, treatment), strict=True)])
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
    """Interleave every candidate, keep the s best, A/B test those: one row for each s in `keep`.

    `rankers` comes from `tournament`; its effects are taken as the truth. `users_interleaved` see each candidate's
    list; the second stage has s + 1 arms of `users_arm`. A last row tests all candidates in parallel, nothing
    interleaved. Columns: design, keep, users, best_wins (probability), chosen (mean effect of the winner as a share
    of the best effect).
    """
    import pandas as pd

    share, plays = (rankers[name].to_numpy() for name in ("share", "plays_effect"))
    m = plays.size
    first = share + rng.normal(size=(repeats, m)) * rankers["share_sd"].to_numpy() / np.sqrt(users_interleaved)
    second = plays + rng.normal(size=(repeats, m)) * rankers["plays_sd"].to_numpy() / 2 / np.sqrt(users_arm)
    place = np.argsort(np.argsort(-first, axis=1), axis=1)

    def row(design: str, s: int, users: int) -> dict[str, object]:
        winner = np.argmax(np.where(place < s, second, -np.inf), axis=1)
        best = (winner == np.argmax(plays)).mean()
        chosen = plays[winner].mean() / plays.max()
        return {"design": design, "keep": s, "users": users, "best_wins": best, "chosen": chosen}

    survivors = np.asarray(keep, dtype=np.int64)
    if survivors.size and not 1 <= survivors.min() <= survivors.max() <= m:
        raise ParameterError(f"keep must be 1 to {m}, got {survivors.tolist()}")
    rows = [row("two stages", int(s), m * users_interleaved + int(s + 1) * users_arm) for s in survivors]
    return pd.DataFrame([*rows, row("A/B in parallel", m, (m + 1) * users_arm)])
