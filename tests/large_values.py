"""Tables of values per unit that the tests of large input share."""

from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import Limits, Reading
from evalkit.parameters import Significance
from evalkit.studies import significance

SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows
SYSTEMS = ("new", "old", "base")


@cache
def wide(rows=1500, seed=1):
    """Three systems with ties and, in places, no value; the third has zeros and ones alone."""
    rng = np.random.default_rng(seed)
    level = rng.normal(0.5, 0.2, rows)
    table = pd.DataFrame({"question": [f"q{i}" for i in rng.permutation(rows)]})
    for name, gain in zip(SYSTEMS, (0.04, 0.03, 0.0), strict=True):
        table[name] = np.round(level + gain + rng.normal(0, 0.1, rows), 2)
    table.loc[rng.random(rows) < 0.02, "old"] = np.nan
    return table.assign(base=(table["base"] > 0.4).astype(float))


@cache
def drawn(rows=1500):
    """The same with two or three draws of some units, of which one may lack a value."""
    table = wide(rows)
    again = table[: rows // 3].assign(new=lambda t: t["new"] + 0.1, old=np.nan)
    third = table[: rows // 5].assign(new=lambda t: t["new"] * 0.7, old=0.25)
    return pd.concat([table, again, third], ignore_index=True).sample(frac=1, random_state=1, ignore_index=True)


@cache
def long(rows=1500):
    """One row a unit, system and metric; units that a system lacks, one metric of which less is better."""
    first = wide(rows).melt("question", var_name="system", value_name="value").dropna(ignore_index=True)
    second = first.assign(metric="minutes", value=np.round(3 - first["value"] ** 2, 3))[::-1][: 2 * rows]
    return pd.concat([first.assign(metric="quality"), second]).sample(frac=1, random_state=2, ignore_index=True)


def of_users(table, users=397):
    """The same units in clusters of unlike sizes."""
    number = table["question"].str[1:].astype(int)
    return table.assign(user="u" + (number * number % users).astype(str))


def summed(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """The study of a table that is read twice."""
    return significance.study_of(Significance.of({"preds": data, **more}), limits)


def held(data, **more):
    """The study in memory."""
    return significance.read(data, **more)
