"""Out-of-fold predictions that the tests of large input share: two systems, ties, groups, times, draws of the folds."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from evalkit.limits import Limits, Reading
from evalkit.parameters import Validation
from evalkit.studies import validation

SHARDS = Reading(rows=100, shard=500, row=10**9)  # every table is large, and a shard has few rows
SMALL = Limits(reading=SHARDS)
TWO = "accuracy,roc_auc,log_loss,brier,f1,mcc,precision,average_precision,ks"
NUMBER = "mae,rmse,bias,r2,median_absolute_error,smape"


@cache
def scored(rows=2000, seed=1):
    """Two systems on the same rows, long; groups lie in one fold each, times grow."""
    rng = np.random.default_rng(seed)
    label, group = (rng.random(rows) < 0.3).astype(int), rng.integers(0, rows // 10, rows)
    return _long(rng, label, group, lambda s: np.round(1 / (1 + np.exp(0.5 - label - rng.normal(0, s, rows))), 2))


@cache
def forecast(rows=2000, seed=2):
    """The same of a number."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, rows // 10, rows)
    actual = np.round(rng.gamma(2, 2, rows) + rng.normal(0, 0.5, rows // 10)[group], 1)
    return _long(rng, actual, group, lambda s: np.round(actual + rng.normal(0, s, rows), 1))


def _long(rng, label, group, score):
    rows = len(label)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 10**7, rows)), unit="s")
    shared = {"id": [f"row {i}" for i in range(rows)], "label": label, "fold": group % 5}
    shared |= {"group": [f"g{one}" for one in group], "time": day.strftime("%Y-%m-%dT%H:%M:%S")}
    parts = [pd.DataFrame(shared | {"system": name, "score": score(s)}) for name, s in (("near", 0.7), ("far", 1.3))]
    return pd.concat(parts, ignore_index=True)


def plain(table):
    """Without groups and times."""
    return table.drop(columns=["group", "time"])


def crossing(table):
    """Groups in several folds."""
    return table.assign(fold=table["id"].str[4:].astype(int) % 7).drop(columns="time")


def forward(table):
    """Blocks that follow one another in time."""
    return table.assign(fold=table.groupby("system").cumcount() * 4 // (len(table) // 2))


def holdout(table):
    """One test set, a validation set beside it, and training rows."""
    return table.assign(fold=table["fold"].map({0: "test", 1: "valid"}).fillna("train"))


def alone(table):
    """One system without ids."""
    return table[table["system"] == "near"].drop(columns=["id", "system", "group"])


def tested(table):
    """One system without ids, and one test set."""
    return alone(holdout(table))


def repeated(table):
    """Three draws of the folds of one system."""
    own = plain(table)[table["system"] == "near"].drop(columns="system")
    draws = [np.random.default_rng(seed) for seed in range(3)]
    return pd.concat([own.assign(repeat=i, fold=rng.integers(0, 4, len(own))) for i, rng in enumerate(draws)])


def lacking(table):
    """Some rows have no match in the other system."""
    return plain(table).drop(index=[5, 17, len(table) // 2 + 40])


SHAPES = {of.__name__: of for of in (plain, crossing, forward, holdout, alone, repeated, lacking)}


def summed(data, limits=SMALL, **more):
    """The study of a table that is read shard by shard."""
    return validation.study_of(Validation.of({"preds": data, **more}), limits)


def held(data, **more):
    """The study in memory with the methods of many units."""
    study = validation.read(data, **more)
    return replace(study, settings=replace(study.settings, limits=Limits(flipped=1)))
