"""Tables of labels and probabilities that the tests of large significance reports share."""

from functools import cache

import numpy as np
import pandas as pd

SYSTEMS = {"new": 0.8, "old": 1.0, "base": 1.4}  # and how far their scores lie from what is
CASES = {
    "rows": {},
    "clusters": {"unit": "user_id"},
    "two metrics": {"metrics": "log_loss,brier", "baseline": "old", "margin": 0.01},
    "looks": {"looks": 3, "level": 0.9, "unit": "user_id"},
    "low": {"metrics": "brier", "columns": "{id: id}"},
}


@cache
def frame(rows=1200, seed=1, units=170):
    """Three systems, long and shuffled, with ties, users, countries, and rows that one of them lacks."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    label = (rng.random(rows) < 0.3).astype(int)
    shift = rng.normal(0, 0.7, units)[user]
    shared = pd.DataFrame(
        {
            "id": [f"row {i}" for i in rng.permutation(rows)],
            "label": label,
            "user_id": [f"u{number}" for number in user],
            "country": rng.choice(["de", "fr", "it"], rows),
        }
    )
    each = []
    for name, noise in SYSTEMS.items():
        score = np.round(1 / (1 + np.exp(-(label * 1.5 - 1 + shift + rng.normal(0, noise, rows)))), 3)
        each.append(shared.assign(system=name, score=score))
    each[1] = each[1][rng.random(rows) > 0.01]
    return pd.concat(each).sample(frac=1, random_state=3, ignore_index=True)


def whole(rows=1200, **more):
    """The same without rows that a system lacks."""
    table = frame(rows, **more)
    return table[table.groupby("id")["id"].transform("size") == len(SYSTEMS)].reset_index(drop=True)


def alone(rows=1200, **more):
    """One of the systems, without ids."""
    table = frame(rows, **more)
    return table[table["system"] == "old"].drop(columns=["id", "system"]).reset_index(drop=True)
