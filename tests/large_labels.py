"""Tables of several labels a row that the tests of large input share."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from evalkit.catalogue.class_metrics import LABELS
from evalkit.limits import Limits, Reading
from evalkit.parameters import Classification
from evalkit.studies import classification

METRICS = ",".join(metric.name for metric in LABELS.values())
CASES = {
    "plain": {},
    "weights": {"columns": "{weight: heavy}"},
    "real weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "units and weights": {"unit": "user_id", "columns": "{weight: heavy}"},
}
SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows
NAMES = ("art", "law", "science", "sport")


@cache
def frame(rows=1000, seed=1, units=150, systems=("far", "near")):
    """Rows of two systems, long, with ties, weights, groups and users; some rows have no label, some all."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    drift = rng.normal(0, 0.5, (units, 4))[user]
    actual = rng.normal(0, 1, (rows, 4)) + drift > [0.2, 0.5, 0.8, 1.2]
    shared = {
        "id": [f"row {i}" for i in range(rows)],
        "user_id": [f"u{one}" for one in user],
        "country": rng.choice(["de", "fr", "it"], rows),
        "heavy": rng.integers(0, 4, rows),
        "exact": rng.random(rows) + 0.1,
        **{f"y_{of}": actual[:, i].astype(int) for i, of in enumerate(NAMES)},
    }
    each = []
    for name in systems:
        noise = rng.normal(0, {"near": 0.8, "far": 1.4}[name], (rows, 4)) + drift
        score = np.round(1 / (1 + np.exp(1.2 - actual * 2.0 - noise)), 2)
        columns = {f"p_{of}": score[:, i] for i, of in enumerate(NAMES)}
        each.append(pd.DataFrame({**shared, "system": name, **columns}))
    return pd.concat(each).sample(frac=1, random_state=3).reset_index(drop=True)


def summed(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """The study of a table that is read and not kept."""
    return classification.study_of(Classification.of({"preds": data, **more}), limits)


def held(data, **more):
    """The study in memory with the methods of many units: t in place of sign flips, delta of the jackknife."""
    study = classification.read(data, **more)
    return replace(study, settings=replace(study.settings, limits=Limits(flipped=1)))
