"""Worlds of tables that are read by blocks and not held: summed by score or class, and drawn from
where order counts.

The limits are small, so that tables of some thousand rows are as large as any.
"""

from functools import partial

import numpy as np
import pandas as pd
from of_rows import binary, classes, sharper, weighted
from world import Generator, Inputs, World, ids, logistic

from evalkit.limits import Limits, ReadingLimits

BLOCKS = Limits(flipped=500, bins=2**12, drawn=2_000, reading=ReadingLimits(rows=1_000))
SYSTEMS = ("a", "b")


def near(rng: Generator, n: int, apart: float) -> Inputs:
    """Two systems whose scores differ by so little that few decisions do."""
    merit = rng.normal(-1, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    seen = merit + rng.normal(0, 0.7, n)
    scores = {f"score_{s}": logistic(seen + rng.normal(0, apart, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"y_true": label} | scores)}


def with_slice(rng: Generator, n: int, share: float) -> Inputs:
    """A small region whose scores see less."""
    small = rng.random(n) < share
    merit = rng.normal(-0.5, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.7 + 0.5 * small, n)) for s in SYSTEMS}
    table = {"region": np.where(small, "small", "rest"), "y_true": label}
    return {"preds": pd.DataFrame(table | scores)}


def unequal(rng: Generator, n: int, spread: float) -> Inputs:
    """Users with lognormal numbers of rows and levels of their own."""
    who = np.repeat(np.arange(n), 1 + rng.poisson(rng.lognormal(0.7, spread, n)))
    merit = rng.normal(-0.8, 1.0, n)[who] + rng.normal(0, 0.8, len(who))
    label = (rng.random(len(who)) < logistic(merit)).astype(int)
    own = {s: rng.normal(0, 0.4, n)[who] for s in SYSTEMS}
    scores = {
        f"score_{s}": logistic(merit + own[s] + rng.normal(0, 0.5, len(who))) for s in SYSTEMS
    }
    return {"preds": pd.DataFrame({"user": who.astype(str), "y_true": label} | scores)}


def tags(rng: Generator, n: int, rare: float) -> Inputs:
    """Four labels with a common cause, the last of them rare."""
    rates = np.array([0.4, 0.2, 0.1, rare])
    merit = np.log(rates / (1 - rates)) + rng.normal(0, 0.5, n)[:, None] + rng.normal(0, 1, (n, 4))
    true = (rng.random((n, 4)) < logistic(merit)).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(merit + rng.normal(0, 0.6, (n, 4)))
        columns = {
            f"{what}_t{i}": of[:, i] for what, of in (("y", true), ("p", seen)) for i in range(4)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def forecasts(rng: Generator, n: int, *, users: bool) -> Inputs:
    """Errors of t(5), of users of unequal size where there are any; of all rows a fifth or less is
    drawn.
    """
    who = (
        np.repeat(np.arange(n), 1 + rng.poisson(rng.lognormal(0.7, 0.8, n)))
        if users
        else np.arange(n)
    )
    level = rng.gamma(5, 6, len(who))
    table = {"user": who.astype(str), "actual": level}
    for system in SYSTEMS:
        shift = rng.normal(0, 1, n)[who] if users else 0.0
        table[f"forecast_{system}"] = level + shift + 3 * rng.standard_t(5, len(who))
    return {"preds": pd.DataFrame(table)}


def _world(name: str, report: str, n: int, draw, metrics: str, many: int, **more) -> World:
    frames = more.pop("frames", ("values", "differences"))
    return World(
        f"large: {name}", report, n, draw, {"metrics": metrics} | more, frames, many, limits=BLOCKS
    )


ORDER = "roc_auc,average_precision,ks,f1,precision,recall,brier"
ERRORS = "mae,rmse,r2,bias,median_absolute_error"


def _thresholds() -> list[World]:
    """Thresholds that a rule chooses on the rows, and on samples of them."""
    report = "classification"
    metrics = "f1,precision,recall,accuracy,mcc"
    apart = ("apart",)
    rules = {
        "best F1": "best_f1",
        "least cost": "cost:fp=1,fn=5",
        "recall 0.9": "recall>=0.9",
        "precision 0.7": "precision>=0.7",
    }
    users = partial(unequal, spread=0.5)
    best = {"threshold": rules["best F1"]}
    return [
        *(
            _world(
                f"threshold of {rule}", report, 3_000, binary(0.3), metrics, 400_000, threshold=t
            )
            for rule, t in rules.items()
        ),
        *(
            _world(
                f"threshold of {rule}, unlike systems",
                report,
                3_000,
                sharper(0.3, 1.7),
                metrics,
                400_000,
                threshold=rules[rule],
                frames=apart,
            )
            for rule in ("best F1", "recall 0.9")
        ),
        _world("threshold by user", report, 900, users, metrics, 100_000, unit="user", **best),
        _world(
            "threshold, weights", report, 3_000, weighted(binary(0.3)), metrics, 400_000, **best
        ),
    ]


LARGE = (
    *_thresholds(),
    _world("5% positive", "classification", 3_000, binary(0.05), ORDER, 200_000),
    _world("0.1% positive", "classification", 40_000, binary(0.001), ORDER, 2_000_000),
    _world("0.01% positive", "classification", 300_000, binary(0.0001), ORDER, 2_000_000),
    _world(
        "about 60 decisions differ",
        "classification",
        15_000,
        partial(near, apart=0.013),
        ORDER,
        400_000,
    ),
    _world(
        "a slice of 0.1%",
        "classification",
        30_000,
        partial(with_slice, share=0.001),
        "accuracy",
        1_000_000,
        segments="region",
        frames=("segments", "slice_tests"),
    ),
    _world(
        "unequal users",
        "classification",
        600,
        partial(unequal, spread=1.0),
        ORDER,
        20_000,
        unit="user",
    ),
    _world(
        "very unequal users",
        "classification",
        600,
        partial(unequal, spread=1.6),
        ORDER,
        20_000,
        unit="user",
    ),
    _world(
        "a rare class",
        "classification",
        5_000,
        classes((0.6, 0.39, 0.01)),
        "macro_f1,accuracy,kappa",
        500_000,
    ),
    _world(
        "a rare label",
        "classification",
        5_000,
        partial(tags, rare=0.01),
        "macro_f1,micro_f1,map_classes",
        300_000,
    ),
    _world(
        "forecasts, a fifth drawn",
        "rating",
        10_000,
        partial(forecasts, users=False),
        ERRORS,
        200_000,
    ),
    _world(
        "forecasts by user",
        "rating",
        1_000,
        partial(forecasts, users=True),
        ERRORS,
        20_000,
        unit="user",
    ),
)
