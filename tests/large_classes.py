"""Tables of several classes that the tests of large input share."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import Limits, Reading
from evalkit.parameters import Classification
from evalkit.studies import classification

DECIDED = (
    "accuracy,macro_f1,macro_precision,macro_recall,macro_f1_of_means,weighted_f1,weighted_precision,"
    "balanced_accuracy,mcc,kappa,kappa_quadratic"
)
METRICS = f"{DECIDED},log_loss,brier,top@2,roc_auc_ovr,map_classes"
CASES = {
    "plain": {},
    "weights": {"columns": "{weight: heavy}"},
    "real weights": {"columns": "{weight: exact}"},
    "units": {"unit": "user_id"},
    "units and weights": {"unit": "user_id", "columns": "{weight: heavy}"},
}
SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows
NAMES = ("bus", "car", "foot", "rail")


@cache
def frame(rows=1000, seed=1, units=150, systems=("far", "near")):
    """Rows of two systems, long, with ties, weights, groups and users."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, units, rows)
    actual = rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])
    shared = {
        "id": [f"row {i}" for i in range(rows)],
        "label": np.array(NAMES)[actual],
        "user_id": [f"u{one}" for one in user],
        "country": rng.choice(["de", "fr", "it"], rows),
        "heavy": rng.integers(0, 4, rows),
        "exact": rng.random(rows) + 0.1,
    }
    each = []
    for name in systems:
        noise = rng.normal(0, {"near": 0.8, "far": 1.4}[name], (rows, 4)) + rng.normal(0, 0.5, (units, 4))[user]
        score = np.exp(np.eye(4)[actual] * 1.5 + noise)
        score = np.round(score / score.sum(axis=1, keepdims=True), 3)
        columns = {f"p_{of}": score[:, i] for i, of in enumerate(NAMES)}
        each.append(pd.DataFrame({**shared, "system": name, **columns}))
    return pd.concat(each).sample(frac=1, random_state=3).reset_index(drop=True)


def decided(rows=1000, **more):
    """The same with predicted classes and no scores."""
    data = frame(rows, **more)
    scores = [f"p_{of}" for of in NAMES]
    return data.drop(columns=scores).assign(predicted=np.array(NAMES)[data[scores].to_numpy().argmax(axis=1)])


def summed(data, limits=Limits(reading=SHARDS), **more):  # noqa: B008 - frozen
    """The study of a table that is read and not kept."""
    return classification.study_of(Classification.of({"preds": data, **more}), limits)


def held(data, **more):
    """The study in memory with the methods of many units: t in place of sign flips, delta of the jackknife."""
    study = classification.read(data, **more)
    return replace(study, settings=replace(study.settings, limits=Limits(flipped=1)))
