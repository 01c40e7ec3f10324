"""Tables of users that the tests of large A/B input share."""

from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import Limits, Reading
from evalkit.parameters import Interleaving
from evalkit.studies import interleaving

GIVEN = {
    "metrics": "orders,spent,bought,spent/visits",
    "before": "past",
    "strata": "country",
    "segments": "country,age",
    "shares": "a=2,b=1,c=1",
    "world": "none",
}
SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows
FRAMES = ("estimates", "comparisons", "by_segment", "adjustments", "caps", "users_for")


@cache
def frame(rows=1000, seed=1, crossed=20):
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


def summed(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """The study of a table that is read twice."""
    return interleaving.study_of(Interleaving.of({"users": data, **GIVEN, **more}), limits).users


def held(data, **more):
    """The study in memory."""
    return interleaving.read(users=data, **GIVEN | more).users
