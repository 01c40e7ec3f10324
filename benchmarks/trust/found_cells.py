"""Worlds in which fresh rounds found cells outside: what users have and the other worlds lack."""

from functools import partial

import numpy as np
import pandas as pd
from of_folds import folds
from of_rows import binary
from world import Generator, Inputs, World, ids, logistic, sizes


def tagged(rng: Generator, n: int) -> Inputs:
    """Ten labels that are true in 3 to 40% of the rows; two systems that see them through noise of
    their own.
    """
    share = np.linspace(0.03, 0.4, 10)
    merit = rng.normal(0, 1.5, (n, 10)) + 1.3 * np.log(share / (1 - share))
    label = (rng.random((n, 10)) < logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        seen = logistic(merit + rng.normal(0, 0.9, (n, 10)))
        columns = {f"y_l{j}": label[:, j] for j in range(10)} | {
            f"p_l{j}": seen[:, j] for j in range(10)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def twentieths(rng: Generator, n: int) -> Inputs:
    """Scores that are multiples of 0.05."""
    table = binary(0.1)(rng, n)["preds"]
    return {
        "preds": table.assign(
            **{name: (20 * table[name]).round() / 20 for name in ("score_a", "score_b")}
        )
    }


def unlike_weights(rng: Generator, n: int) -> Inputs:
    """Weights of which one row in twenty has a third."""
    return {"preds": binary(0.3)(rng, n)["preds"].assign(weight=rng.lognormal(0, 1.5, n))}


def counts(rng: Generator, n: int, zeros: float) -> Inputs:
    """Counts of mean 0.5 to 6, a share of them 0 whatever their mean; forecasts know the mean to a
    quarter.
    """
    level = rng.uniform(0.5, 6, n)
    columns = {f"forecast_{s}": (1 - zeros) * level * rng.gamma(16, 1 / 16, n) for s in "ab"}
    actual = rng.poisson(level) * (rng.random(n) >= zeros)
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | columns)}


def whole_forecasts(rng: Generator, n: int) -> Inputs:
    """Counts, and forecasts that are whole numbers too: most errors are 0, 1, 2 or 3."""
    level = rng.gamma(4, 2, n)
    columns = {f"forecast_{s}": np.round(level * rng.gamma(16, 1 / 16, n)) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": rng.poisson(level)} | columns)}


def pareto(rng: Generator, n: int) -> Inputs:
    """Errors with Pareto's tail of index 2.5, on both sides: squares have no variance."""
    level = rng.normal(0, 3, n)
    missed = {f"forecast_{s}": level + 0.3 * _pareto(rng, n) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": level + _pareto(rng, n)} | missed)}


def _pareto(rng: Generator, n: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], n) * rng.pareto(2.5, n)


def stores(rng: Generator, n: int) -> Inputs:
    """Stores of very unequal size, each with a level and an error of its own."""
    store = np.repeat(np.arange(n), sizes(rng, n, 1.2))
    m = len(store)
    level = 20 + rng.normal(0, 4, n)[store] + rng.normal(0, 3, m)
    forecasts = {
        f"forecast_{s}": level + rng.normal(0, 1, n)[store] + rng.normal(0, 1, m) for s in "ab"
    }
    table = {
        "id": ids(m),
        "user": store.astype(str),
        "actual": level + rng.normal(0, 1.5, n)[store],
    }
    return {"preds": pd.DataFrame(table | forecasts)}


def zipf_sessions(rng: Generator, n: int) -> Inputs:
    """Users of two arms with 1 + Zipf sessions, each of which ends in an order or not."""
    count = rng.zipf(2.0, n).clip(max=300)
    table = {"user": ids(n), "arm": np.where(rng.random(n) < 0.5, "a", "b"), "sessions": count}
    return {"users": pd.DataFrame(table | {"orders": rng.binomial(count, rng.beta(2, 10, n))})}


# What would show: a and b are equally good, and the page says what would show; c and b differ by
# about that.


def right_more(rng: Generator, n: int, more: float) -> Inputs:
    """0 and 1 of systems that agree on most units; c is right with a chance that is higher by
    `more`.
    """
    chance = rng.beta(1.4, 0.6, n)
    shared = rng.random(n)
    own = {
        s: np.where(rng.random(n) < 0.2, rng.random(n), shared) < chance + (s == "c") * more
        for s in "abc"
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: right * 1.0 for s, right in own.items()})}


def mended(rng: Generator, n: int, more: float) -> Inputs:
    """The same; c, which is compared with a, is b, and right on a share of what b misses."""
    table = right_more(rng, n, 0.0)["preds"]
    return {"preds": table.assign(c=np.maximum(table["b"], rng.random(n) < more))}


def first_hits(rng: Generator, n: int, more: float) -> Inputs:
    """Reciprocal ranks of the one relevant item of ten, which are equal on many units; c ranks it
    higher.
    """
    ease = rng.normal(1, 0.7, n)
    shared = rng.normal(0, 1, (n, 10))
    values = {}
    for system in "abc":
        score = shared + rng.normal(0, 0.3, (n, 10))
        score[:, 0] += ease + (system == "c") * more
        values[system] = 1 / (1 + (score[:, 1:] > score[:, :1]).sum(axis=1))
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def wider(rng: Generator, n: int, noise: float) -> Inputs:
    """Forecasts of two systems with errors of their own, and of one with larger ones: its absolute
    error is higher.
    """
    level = rng.normal(0, 1.5, n)
    shared = rng.normal(0, 1, n)
    own = {"a": 0.3, "b": 0.3, "c": noise}
    columns = {f"forecast_{s}": level + part * rng.normal(0, 1, n) for s, part in own.items()}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": level + shared} | columns)}


def _of_rows(name: str, report: str, n: int, draw: object, metrics: str, **more: object) -> World:
    return World(name, report, n, draw, {"metrics": metrics}, **more)  # type: ignore[arg-type]


ERRORS = "mae,rmse,bias,median_absolute_error,r2,smape"
TEN = folds(5, 0.3, 10)
FOUND = (
    _of_rows(
        "ten labels of 3 to 40%",
        "classification",
        150,
        tagged,
        "macro_f1,map_classes,roc_auc_macro",
    ),
    _of_rows(
        "scores of twentieths", "classification", 200, twentieths, "average_precision,roc_auc"
    ),
    _of_rows(
        "weights of 1.5",
        "classification",
        400,
        unlike_weights,
        "average_precision,roc_auc,log_loss",
    ),
    _of_rows("whole errors", "rating", 120, whole_forecasts, ERRORS),
    _of_rows("counts", "rating", 120, partial(counts, zeros=0.0), ERRORS),
    _of_rows("zero-inflated counts", "rating", 150, partial(counts, zeros=0.5), ERRORS),
    *(
        _of_rows("Pareto's errors", "rating", n, pareto, "mae,rmse,r2", many=10**6, large=12)
        for n in (200, 2000)
    ),
    World(
        "unequal stores",
        "rating",
        40,
        stores,
        {"metrics": "mae,rmse,r2", "unit": "user"},
        many=4_000,
    ),
    World(
        "Zipf sessions",
        "interleaving",
        300,
        zipf_sessions,
        {"metrics": "orders,orders/sessions", "world": "none"},
    ),
    *(
        World(
            f"ten columns, {metric}", "validation", n, TEN, {"metrics": metric}, ("paired_folds",)
        )
        for n, metric in ((1000, "roc_auc"), (1000, "brier"))
    ),
    World("power, 0 and 1", "significance", 100, partial(right_more, more=0.17), {}, ("planned",)),
    World("power, 0 and 1", "significance", 400, partial(right_more, more=0.07), {}, ("planned",)),
    World(
        "power, 0 and 1 mended", "significance", 100, partial(mended, more=0.48), {}, ("planned",)
    ),
    World(
        "power, 0 and 1 mended", "significance", 400, partial(mended, more=0.2), {}, ("planned",)
    ),
    *(
        World(
            "power, reciprocal ranks",
            "significance",
            n,
            partial(first_hits, more=more),
            {},
            ("planned",),
        )
        for n, more in ((50, 0.45), (300, 0.17))
    ),
    _of_rows(
        "power, errors", "rating", 300, partial(wider, noise=0.53), "mae", frames=("planned",)
    ),
    _of_rows(
        "power, errors", "rating", 2000, partial(wider, noise=0.4), "mae", frames=("planned",)
    ),
)
