"""Worlds of two days: a report of each, of units that come and go, and the diff of both.

Units keep an effect of their own on both days, and a share of them is common; rows of users are
other ones on each day. Without a shift both days are alike, so that every difference is 0; with
one, large samples tell the true difference.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from world import Generator, Inputs, World, ids, logistic

from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits

Day = Callable[
    [Generator, np.ndarray, float], pd.DataFrame
]  # (rng, the units of a day, its shift) -> its table


def two(
    rng: Generator, n: int, *, day: Callable[[Generator, int], Day], shift: float, common: float
) -> Inputs:
    """Two days of n units each, of which a share is common. day: (rng, number of all units) -> how
    a day is drawn.
    """
    shared = int(n * common)
    of = day(rng, 2 * n)
    old = np.arange(n)
    new = np.r_[np.arange(shared), np.arange(n, 2 * n - shared)]
    return {"old": of(rng, old, 0.0), "new": of(rng, new, shift)}


def forecasts(rng: Generator, population: int) -> Day:
    """Errors of which each unit has a part of its own."""
    level = rng.gamma(5, 6, population)
    own = rng.normal(0, 2, population)

    def day(rng: Generator, unit: np.ndarray, shift: float) -> pd.DataFrame:
        error = (1 + shift) * (own[unit] + rng.normal(0, 2, unit.size))
        return pd.DataFrame(
            {"id": unit.astype(str), "actual": level[unit], "forecast_a": level[unit] + error}
        )

    return day


def scores(rng: Generator, population: int) -> Day:
    """Labels that stay, and scores of which each unit has a part of its own."""
    label = (rng.random(population) < 0.3).astype(int)
    own = rng.normal(size=population)

    def day(rng: Generator, unit: np.ndarray, shift: float) -> pd.DataFrame:
        merit = label[unit] * (1.5 + shift) - 1 + 0.7 * own[unit] + 0.7 * rng.normal(size=unit.size)
        return pd.DataFrame(
            {"id": unit.astype(str), "y_true": label[unit], "score_a": logistic(merit)}
        )

    return day


def by_user(rng: Generator, population: int) -> Day:
    """Users with a level of their own and other rows on each day."""
    own = rng.normal(0, 0.6, population)
    many = rng.gamma(2, 1.5, population)

    def day(rng: Generator, unit: np.ndarray, shift: float) -> pd.DataFrame:
        user = np.repeat(unit, 1 + rng.poisson(many[unit]))
        label = (rng.random(user.size) < 0.4).astype(int)
        merit = label * (1 + shift) - 0.5 + own[user] + 0.8 * rng.normal(size=user.size)
        table = {"id": rng.permutation(10**6)[: user.size].astype(str), "user": user.astype(str)}
        return pd.DataFrame(table | {"y_true": label, "score_a": logistic(merit)})

    return day


def lists(rng: Generator, population: int) -> Day:
    """Ten items for each query, whose grades and a part of whose scores stay."""
    grade = rng.choice(3, (population, 10), p=[0.6, 0.2, 0.2])
    own = rng.normal(size=grade.shape)

    def day(rng: Generator, unit: np.ndarray, shift: float) -> pd.DataFrame:
        score = (
            grade[unit] * (0.5 + shift) + 0.8 * own[unit] + 0.8 * rng.normal(size=(unit.size, 10))
        )
        names = {"query": np.repeat(unit, 10).astype(str), "item": np.tile(ids(10), unit.size)}
        return pd.DataFrame(names | {"score": score.ravel(), "grade": grade[unit].ravel()})

    return day


ORDER, SHARES = "roc_auc,average_precision,brier,accuracy,f1", "accuracy,precision,roc_auc"
SMALL = Limits(flipped=500, bins=2**12, drawn=2_000, reading=ReadingLimits(rows=1_000, lists=1_000))
KINDS: tuple[tuple[str, str, int, Callable, str, float, dict], ...] = (
    ("forecasts", "rating", 200, forecasts, "mae,rmse", 0.1, {}),
    ("scores", "classification", 400, scores, ORDER, 0.3, {}),
    ("scores by user", "classification", 150, by_user, SHARES, 0.3, {"unit": "user"}),
    ("lists", "ranking", 100, lists, "ndcg@5,mrr", 0.3, {}),
)


def _worlds() -> Iterator[World]:
    """Each kind with some common units, with none, and of large tables with half of them; alike and
    shifted.
    """
    sizes = (
        ("", 1, 0.7, USUAL_LIMITS),
        (", none common", 1, 0.0, USUAL_LIMITS),
        (", large tables", 6, 0.5, SMALL),
    )
    for (kind, of, n, day, metrics, shift, more), (size, times, common, limits) in product(
        KINDS, sizes
    ):
        for moved, by, frame in (("", 0.0, "days"), (", shifted", shift, "days_apart")):
            draw = partial(two, day=day, shift=by, common=common)
            asked = {"metrics": metrics} | more
            name = f"{kind} of two days{size}{moved}"
            yield World(
                name, "diff", times * n, draw, asked, (frame,), 10_000, limits=limits, of=of
            )


DAYS = tuple(_worlds())
