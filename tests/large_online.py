"""Tables of users and logs of sessions that the tests of tables read by blocks share."""

from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import Limits, Reading
from evalkit.parameters import Interleaving
from evalkit.studies import interleaving

GIVEN = {
    "users": {
        "metrics": "orders,spent,bought,spent/visits",
        "before": "past",
        "strata": "country",
        "segments": "country,age",
        "shares": "a=2,b=1,c=1",
        "world": "none",
    },
    "log": {"arms": "a,b", "neutral": "both", "segments": "device,day", "world": "none"},
}
SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a block has few rows
SHARED = ("estimates", "comparisons", "by_segment")
FRAMES = {"users": (*SHARED, "adjustments", "caps", "users_for"), "log": (*SHARED, "balance", "by_position", "checks")}


def study(kind, data, limits=Limits(), **more):  # noqa: B008 - frozen
    """The study of a table of users, or of a log, in memory."""
    online = interleaving.study_of(Interleaving.of({kind: data, **GIVEN[kind], **more}), limits)
    return getattr(online, kind)


def users_held(data, **more):
    """That of users in memory."""
    return study("users", data, **more)


def users_by_blocks(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """That of users who are read block by block."""
    return study("users", data, limits, **more)


def log_held(data, **more):
    """That of a log in memory."""
    return study("log", data, **more)


def log_by_blocks(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """That of a log that is read block by block."""
    return study("log", data, limits, **more)


@cache
def users(rows=1000, seed=1, crossed=20):
    """Users in three arms with ties, strata and segments; of some users rows in several arms follow."""
    rng = np.random.default_rng(seed)
    arm = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.25, 0.25])
    past = rng.poisson(2, rows)
    orders = rng.poisson(1 + past / 2 + 0.1 * (arm == "b"))
    table = pd.DataFrame(
        {
            "user": [f"u{i}" for i in rng.permutation(rows)],
            "arm": arm,
            "orders": orders,
            "spent": np.round(orders * rng.gamma(2, 5, rows), 1),
            "visits": 1 + rng.poisson(2 + orders),
            "bought": (orders > 0).astype(int),
            "past": past,
            "country": rng.choice(["de", "fr", "it", None], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.integers(18, 80, rows),
        }
    )
    again = table[:crossed].assign(arm=lambda some: some["arm"].map({"a": "b", "b": "c", "c": "a"}))
    return pd.concat([table, again, again[: crossed // 2]], ignore_index=True).sample(frac=1, random_state=seed)


@cache
def log(users=150, seed=1, arms=2):
    """Sessions of two to six items, a neutral one among them, of users who return; shares of clicks, ties, silence."""
    rng = np.random.default_rng(seed)
    sessions = rng.integers(1, 6, users)
    user = np.repeat(rng.permutation(users), sessions)
    length = rng.integers(2, 7, user.size)
    of = np.repeat(np.arange(user.size), length)
    position = np.arange(of.size) - np.repeat(np.cumsum(length) - length, length) + 1
    team = np.array([*"abcdefg"[:arms]])[(position + np.repeat(rng.integers(arms, size=user.size), length)) % arms]
    likes = rng.random(users)[user[of]]
    clicked = rng.random(of.size) < np.where(team == "a", 0.1 + 0.3 * likes, 0.35) / position
    table = pd.DataFrame(
        {
            "session": np.char.add("s", rng.permutation(user.size).astype(str))[of],
            "user": np.char.add("u", user.astype(str))[of],
            "position": position,
            "team": np.where(rng.random(of.size) < 0.1, "both", team),
            "click": clicked * rng.choice([1.0, 0.1, 0.7], of.size),
            "item": rng.integers(30, size=of.size).astype(str),
            "device": rng.choice(np.array(["tv", "web", None], object), user.size, p=[0.5, 0.45, 0.05])[of],
            "day": rng.integers(1, 60, user.size)[of],
        }
    )
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)
