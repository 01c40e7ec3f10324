"""Makes the files of this folder: `python data/interleaving/make.py`, from the root of the
checkout. Seed 7.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from evalkit.online import interleaving, simulation

HERE = Path(__file__).resolve().parent
WORLD = simulation.World(sessions=5.0, spread=1.2, k=6, candidates=30, affinity=-1.8)
NOISE = {
    "current": 1.6,
    "candidate": 0.9,
}  # the less noise a ranker has on its guess, the better it is
USERS, SEED = 400, 7
HEALTH = ["excellent", "good", "fair", "poor"]


def watched(chance: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """0 or 1 for each position of single sessions: whether it was played. chance: that it is, if it
    is looked at.
    """
    played, here = np.zeros(chance.shape, dtype=np.int64), np.ones(len(chance), dtype=bool)
    for place in range(chance.shape[1]):
        played[:, place] = here & (rng.random(len(chance)) < chance[:, place])
        ended = (played[:, place] == 1) & (rng.random(len(chance)) < WORLD.leave)
        here &= ~ended & (rng.random(len(chance)) < WORLD.stay)
    return played


def sessions() -> pd.DataFrame:
    """Interleaved sessions of simulated users: one row an item shown. Nothing in it was
    observed.
    """
    rng = np.random.default_rng(SEED)
    who = simulation.draw_people(WORLD, USERS, rng=rng)
    rankings = np.stack(
        [simulation.ranking(WORLD, who, noise, rng=rng) for noise in NOISE.values()]
    )
    user = np.repeat(np.arange(USERS), rng.poisson(who.sessions))
    lists = rankings[:, user]
    shown = interleaving.team_draft(lists, WORLD.k, rng=rng)
    team = interleaving.without_shared_start(shown, lists).team
    played = watched(np.take_along_axis(who.p_play[user], shown.item, axis=1), rng=rng)
    hours = played * (who.hours[user, None] * rng.gamma(4.0, 0.25, played.shape)).round(2)
    device = rng.choice(["phone", "tv", "web"], user.size, p=[0.5, 0.35, 0.15])
    n, k = shown.item.shape
    return pd.DataFrame(
        {
            "user": np.char.add("u", np.repeat(user, k).astype(str)),
            "session": np.char.add("s", np.repeat(np.arange(n), k).astype(str)),
            "device": np.repeat(device, k),
            "position": np.tile(np.arange(1, k + 1), n),
            "item": np.char.add("i", shown.item.ravel().astype(str)),
            "team": np.array([*NOISE, "both"])[team.ravel()],
            "click": played.ravel(),
            "hours": hours.ravel(),
        }
    )


def persons() -> pd.DataFrame:
    """The RAND experiment, one row a block of consecutive rows that agree in all but their visits:
    about a person.
    """
    rows = pd.read_parquet(HERE.parent / "rand_hie" / "visits.parquet")
    fixed = rows.drop(columns=["id", "mdvis"])
    block = (fixed != fixed.shift()).any(axis=1).cumsum()
    first, years = fixed.groupby(block).first(), block.groupby(block).size()
    rated = np.select(
        [first["hlthg"] == 1, first["hlthf"] == 1, first["hlthp"] == 1], HEALTH[1:], HEALTH[0]
    )
    return pd.DataFrame(
        {
            "block": "b" + years.index.astype(str),
            "plan": np.where(first["lncoins"] == 0, "free", "paying"),
            "years": years.to_numpy(),
            "visits": rows["mdvis"].groupby(block).sum().to_numpy(),
            "visits_per_year": (rows["mdvis"].groupby(block).mean()).to_numpy(),
            "any_visit": (rows["mdvis"].groupby(block).max() > 0).astype(int).to_numpy(),
            "chronic": first["disea"].to_numpy(),
            "health": rated,
        }
    )


if __name__ == "__main__":
    sessions().to_parquet(HERE / "sessions.parquet", index=False, compression="zstd")
    persons().to_parquet(HERE / "health_plans.parquet", index=False, compression="zstd")
