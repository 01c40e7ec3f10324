"""Logs of interleaved sessions that the tests of large logs share."""

from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa

from evalkit.limits import Limits, Reading
from evalkit.online import large_log
from evalkit.parameters import Interleaving
from evalkit.reading.engines import base
from evalkit.reading.reductions import tabled
from evalkit.reading.tables import sources
from evalkit.studies import interleaving

GIVEN = {"arms": "a,b", "neutral": "both", "segments": "device,day", "world": "none"}
SHARDS = Reading(rows=100, shard=500, row=10**9)  # every log is large, and a shard has few rows
BY_T = Limits(flipped=0)  # in memory, too, no signs are flipped
FRAMES = ("estimates", "comparisons", "by_segment", "balance", "by_position", "checks")


@cache
def frame(users=150, seed=1, arms=2):
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


def summed(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """The study of a log that is read twice."""
    return interleaving.study_of(Interleaving.of({"log": data, **GIVEN, **more}), limits).log


def held(data, limits=BY_T, **more):
    """The study in memory."""
    return interleaving.study_of(Interleaving.of({"log": data, **GIVEN, **more}), limits).log


class Values:
    """A reading that keeps every user's credit, preferences, won sessions and sessions, in no order."""

    items = False

    def __call__(self, shard):
        """The values of the users of a shard, one row each."""
        return pa.table({"values": values_of(next(iter(shard.groups()))[1]).tolist()})

    def merge(self, table):
        """Two results as one: they stay as they are."""
        return table

    def whole(self, table):
        """The values, sorted."""
        return by_rows(np.array(table["values"].to_pylist()))


def values_of(sides):
    """What a user adds to the metrics of each arm, one row a user."""
    each = ((side.credit, side.whole, side.beaten, side.won, side.sessions) for side in sides)
    return np.column_stack([column for columns in each for column in columns])


def by_rows(values):
    """The rows in order."""
    return values[np.lexsort(values.T)]


def values_by_engine(data, reading, memory=None):
    """The values of all users, as an engine gives them to numpy."""
    with tabled.engine_for(
        parts := sources.parts(data, None, reading), base.budget(memory, 2, None, reading)
    ) as engine:
        log = {"columns": {}, "arms": ("a", "b"), "neutral": "both", "segments": ()}
        return large_log.read(engine, parts, **log).by_user(Values())
