"""Worlds of forecasts that no method was chosen by: `FRESH_FORECASTS`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from world import Generator, Inputs, fresh_world, ids, logistic

SYSTEMS = ("a", "b")


def in_proportion(rng: Generator, n: int) -> Inputs:
    """Amounts above 0 that two systems miss by a share of themselves."""
    actual = rng.gamma(2, 10, n)
    columns = {f"forecast_{s}": actual * rng.gamma(20, 1 / 20, n) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | columns)}


def equal_users(rng: Generator, n: int) -> Inputs:
    """Eight rows of each user, whose errors have much in common."""
    user = np.repeat(np.arange(n), 8)
    level = rng.normal(0, 2, len(user))
    lean = rng.normal(0, 1, n)[user]
    columns = {
        f"forecast_{s}": level + rng.normal(0, 0.5, n)[user] + rng.normal(0, 0.5, len(user))
        for s in "ab"
    }
    table = {"id": ids(len(user)), "user": user.astype(str), "actual": level + lean}
    return {"preds": pd.DataFrame(table | columns)}


def one_to_five(rng: Generator, n: int) -> Inputs:
    """Ratings of 1 to 5, forecast in steps of a half."""
    taste = rng.normal(3.6, 1, n)
    actual = np.clip(np.round(taste + rng.normal(0, 0.7, n)), 1, 5)
    columns = {
        f"forecast_{s}": np.clip(np.round(2 * (taste + rng.normal(0, 0.6, n))) / 2, 1, 5)
        for s in "ab"
    }
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | columns)}


def wider_above(rng: Generator, n: int) -> Inputs:
    """Values whose errors grow with them, and weights that do too."""
    level = rng.uniform(1, 10, n)
    columns = {f"forecast_{s}": level + rng.normal(0, 0.05, n) * level**1.5 for s in "ab"}
    actual = level + rng.normal(0, 0.1, n) * level**1.5
    return {
        "preds": pd.DataFrame({"id": ids(n), "actual": actual, "weight": 1 + level / 5} | columns)
    }


def rare_counts(rng: Generator, n: int) -> Inputs:
    """Counts, most of them 0, and forecasts of their means."""
    mean = rng.gamma(0.8, 1.0, n)
    columns = {f"forecast_{s}": mean * rng.gamma(8, 1 / 8, n) + 0.05 for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": rng.poisson(mean)} | columns)}


def two_regimes(rng: Generator, n: int) -> Inputs:
    """Five rows a user; every third user has errors four times as large."""
    user = np.repeat(np.arange(n), 5)
    wide = np.where(np.arange(n) % 3 == 0, 4.0, 1.0)[user]
    level = rng.uniform(-5, 5, len(user))
    columns = {f"forecast_{s}": level + wide * rng.uniform(-0.6, 0.6, len(user)) for s in "ab"}
    table = {
        "id": ids(len(user)),
        "user": user.astype(str),
        "actual": level + wide * rng.uniform(-1, 1, len(user)),
    }
    return {"preds": pd.DataFrame(table | columns)}


def mostly_none(rng: Generator, n: int) -> Inputs:
    """Six of ten actual values are 0, the others have a moderate tail; forecasts are near the mean
    of a row.
    """
    level = rng.gamma(3, 1, n)
    actual = (rng.random(n) < 0.4) * rng.gamma(2, 1.25 * level)
    columns = {f"forecast_{s}": level * rng.uniform(0.6, 1.4, n) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | columns)}


def carried_on(rng: Generator, n: int) -> Inputs:
    """Twelve rows a user; an error carries on to the next row."""
    steps = rng.normal(0, 1, (3, n, 12))
    errors = np.empty_like(steps)
    errors[:, :, 0] = steps[:, :, 0]
    for t in range(1, 12):
        errors[:, :, t] = 0.7 * errors[:, :, t - 1] + np.sqrt(1 - 0.49) * steps[:, :, t]
    level = rng.normal(10, 3, (n, 12))
    columns = {
        f"forecast_{s}": (level + 0.5 * errors[1 + i]).ravel() for i, s in enumerate(SYSTEMS)
    }
    table = {
        "id": ids(12 * n),
        "user": np.repeat(ids(n), 12),
        "actual": (level + errors[0]).ravel(),
    }
    return {"preds": pd.DataFrame(table | columns)}


def small_counts(rng: Generator, n: int) -> Inputs:
    """Poisson counts of mean 1 to 6; forecasts are the mean, known to a quarter."""
    level = rng.uniform(1, 6, n)
    columns = {f"forecast_{s}": level * rng.gamma(16, 1 / 16, n) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": rng.poisson(level)} | columns)}


def shops(rng: Generator, n: int) -> Inputs:
    """Shops of five to twenty days, each with a bias of its own in both systems."""
    shop = np.repeat(np.arange(n), rng.integers(5, 21, n))
    size = len(shop)
    level = rng.gamma(4, 5, size)
    common = rng.normal(0, 1, n)[shop]
    forecasts = {f"forecast_{s}": level + common + rng.normal(0, 2, n)[shop] for s in SYSTEMS}
    table = {"id": ids(size), "user": shop.astype(str), "actual": level + rng.normal(0, 2, size)}
    return {"preds": pd.DataFrame(table | forecasts)}


def demand(rng: Generator, n: int, tail: float | None) -> Inputs:
    """Sales; forecasts with errors of t(tail), or, without a tail, zero-inflated counts with gamma
    forecasts.
    """
    if tail is None:
        level = rng.gamma(2, 3, n)
        actual = rng.poisson(level) * (rng.random(n) < 0.6)
        forecasts = {f"forecast_{s}": 0.6 * level * rng.gamma(8, 1 / 8, n) for s in SYSTEMS}
    else:
        actual = rng.lognormal(3, 0.6, n)
        forecasts = {f"forecast_{s}": actual + 4 * rng.standard_t(tail, n) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | forecasts)}


def branches(rng: Generator, n: int, spread: float) -> Inputs:
    """Branches of very unequal size, each with an error of its own in each system."""
    rows = 2 + rng.poisson(rng.lognormal(1.5, spread, n))
    branch = np.repeat(np.arange(n), rows)
    level = rng.gamma(5, 6, len(branch))
    forecasts = {
        f"forecast_{s}": level + rng.normal(0, 1.5, n)[branch] + rng.normal(0, 3, len(branch))
        for s in SYSTEMS
    }
    table = {
        "id": ids(len(branch)),
        "user": branch.astype(str),
        "actual": level + rng.normal(0, 2, len(branch)),
    }
    return {"preds": pd.DataFrame(table | forecasts)}


def biased(rng: Generator, n: int, noise: float) -> Inputs:
    """Forecasts with a common bias and errors that grow with the level; actual values never below
    0.
    """
    level = rng.gamma(1.5, 20, n)
    actual = np.maximum(level + rng.normal(0, 1 + 0.2 * level, n), 0)
    forecasts = {
        f"forecast_{s}": 1.1 * level + rng.normal(0, noise * (1 + 0.1 * level), n) for s in SYSTEMS
    }
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | forecasts)}


def prices(rng: Generator, n: int, outliers: float) -> Inputs:
    """Prices by a lognormal; forecasts by factors, of which a share is off by half or double."""
    actual = rng.lognormal(5, 0.5, n)
    odd = rng.random(n) < outliers
    forecasts = {
        f"forecast_{s}": actual
        * np.exp(np.where(odd, rng.normal(0, 0.5, n), 0) + rng.normal(0, 0.12, n))
        for s in SYSTEMS
    }
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | forecasts)}


def watched(rng: Generator, n: int) -> Inputs:
    """Shares of time watched, from 0 to 1; forecasts within the same range."""
    level = rng.normal(0, 1.2, n)
    actual = logistic(level + rng.normal(0, 0.8, n))
    forecasts = {f"forecast_{s}": logistic(0.8 * level + rng.normal(0, 0.4, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | forecasts)}


WITH_SMAPE = {"metrics": "mae,rmse,bias,wape,smape,r2"}
BY_SERIES = {"metrics": "mae,rmse,bias,r2", "unit": "user"}
BY_SHOP = {"metrics": "mae,rmse,bias,wape", "unit": "user"}
WITH_MEDIAN = {"metrics": "mae,rmse,bias,wape,r2,median_absolute_error"}
fresh = partial(fresh_world, "rating")
FRESH_FORECASTS = (
    fresh(1, "errors in proportion", 80, in_proportion, {"metrics": "mae,rmse,bias,r2,wape,smape"}),
    fresh(
        1,
        "eight rows a user",
        15,
        equal_users,
        {"metrics": "mae,rmse,bias,r2", "unit": "user"},
        many=4000,
    ),
    fresh(
        2, "one to five", 100, one_to_five, {"metrics": "mae,rmse,bias,r2,median_absolute_error"}
    ),
    fresh(2, "wider above", 150, wider_above, {"metrics": "mae,rmse,wape,r2,r2_correlation"}),
    fresh(3, "rare counts", 120, rare_counts, {"metrics": "mae,rmse,wape,poisson_deviance,r2"}),
    fresh(
        3,
        "two regimes",
        30,
        two_regimes,
        {"metrics": "mae,rmse,bias,r2", "unit": "user"},
        many=4000,
    ),
    fresh(4, "mostly none", 150, mostly_none, WITH_SMAPE),
    fresh(4, "errors that carry on", 30, carried_on, BY_SERIES, many=4000),
    fresh(5, "small counts", 120, small_counts, WITH_SMAPE),
    fresh(5, "shops", 28, shops, BY_SHOP, many=4000),
    fresh(6, "errors of t(5)", 150, partial(demand, tail=5.0), WITH_MEDIAN),
    fresh(6, "errors of t(3.5)", 400, partial(demand, tail=3.5), WITH_MEDIAN),
    fresh(6, "zero-inflated counts", 180, partial(demand, tail=None), WITH_MEDIAN),
    fresh(6, "unequal branches", 45, partial(branches, spread=0.8), BY_SHOP, many=4000),
    fresh(6, "very unequal branches", 70, partial(branches, spread=1.2), BY_SHOP, many=4000),
    fresh(7, "forecasts that share a bias", 120, partial(biased, noise=2.0), WITH_MEDIAN),
    fresh(7, "precise forecasts that share a bias", 300, partial(biased, noise=0.5), WITH_MEDIAN),
    fresh(7, "errors of t(8)", 80, partial(demand, tail=8.0), WITH_MEDIAN),
    fresh(7, "60 unequal branches", 60, partial(branches, spread=1.0), BY_SHOP, many=4000),
    fresh(8, "60 prices", 60, partial(prices, outliers=0.0), WITH_MEDIAN),
    fresh(8, "prices, some far off", 250, partial(prices, outliers=0.1), WITH_MEDIAN),
    fresh(8, "shares of time", 150, watched, WITH_MEDIAN),
    fresh(8, "forecasts with a bias of a tenth", 200, partial(biased, noise=1.0), WITH_MEDIAN),
    fresh(8, "80 branches", 80, partial(branches, spread=0.9), BY_SHOP, many=4000),
)
