"""The seventh round of worlds that no method was chosen by, written before any was drawn.

Draws of the sixth round with other shapes, and tables that it has not: wrong labels, customers
whose rows repeat them, graders of answers, forecasts that share a bias, sessions that find nothing.
"""

from functools import partial

import numpy as np
import pandas as pd
from fresh_sixth import (
    OF_ARMS,
    OF_BRANCHES,
    OF_CLASSES,
    OF_DEMAND,
    OF_FOLDS,
    OF_SCORES,
    OF_SEARCH,
    OF_TAGS,
    OF_VISITORS,
    SYSTEMS,
    boosted,
    branches,
    by_visitor,
    chosen,
    demand,
    folded,
    judgements,
    searched,
    shoppers,
    tagged,
    triage,
    world,
)
from world import Generator, Inputs, ids, logistic


def mislabelled(rng: Generator, n: int, wrong: float) -> Inputs:
    """A share of the labels is wrong, whatever the score."""
    merit = rng.normal(-1.2, 1.6, n)
    label = (rng.random(n) < logistic(merit)) ^ (rng.random(n) < wrong)
    scores = {f"score_{s}": logistic(1.3 * merit + rng.normal(0, 0.6, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label.astype(int)} | scores)}


def customers(rng: Generator, n: int, spread: float) -> Inputs:
    """Customers with lognormal numbers of rows, whose rows are nearly alike."""
    who = np.repeat(np.arange(n), 1 + rng.poisson(rng.lognormal(0.8, spread, n)))
    merit = rng.normal(-1.0, 1.4, n)[who] + rng.normal(0, 0.3, len(who))
    label = (rng.random(len(who)) < logistic(merit)).astype(int)
    own = {s: rng.normal(0, 0.6, n)[who] for s in SYSTEMS}
    scores = {
        f"score_{s}": logistic(merit + own[s] + rng.normal(0, 0.3, len(who))) for s in SYSTEMS
    }
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(who)), "user": who.astype(str), "y_true": label} | scores
        )
    }


def weighted(rng: Generator, n: int, spread: float) -> Inputs:
    """Rows that weigh by a lognormal, the heavier ones harder to tell."""
    heavy = rng.normal(0, 1, n)
    merit = rng.normal(-0.7, 1.3, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {
        f"score_{s}": logistic(merit + rng.normal(0, 0.5 + 0.3 * (heavy > 0), n)) for s in SYSTEMS
    }
    table = {"id": ids(n), "y_true": label, "weight": np.exp(spread * heavy)} | scores
    return {"preds": pd.DataFrame(table)}


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


def graded(rng: Generator, n: int, kind: str) -> Inputs:
    """Answers of three models on n questions: right or wrong, the mean of five tries, or a grade of
    0 to 10.
    """
    ease = rng.normal(0.3, 1.6, n)
    draws = {
        "right": lambda: (rng.random(n) < logistic(ease + rng.normal(0, 0.8, n))).astype(float),
        "tries": lambda: rng.binomial(5, logistic(ease + rng.normal(0, 0.8, n))) / 5,
        "grade": lambda: np.clip(np.round(6.5 + 1.5 * ease + rng.normal(0, 1.5, n)), 0, 10),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: draws[kind]() for s in ("a", "b", "c")})}


SEVENTH = (
    world("boosting, 5% positive", "classification", 600, partial(boosted, rate=0.05), OF_SCORES),
    world("boosting, 20% positive", "classification", 150, partial(boosted, rate=0.2), OF_SCORES),
    world("boosting, half positive", "classification", 60, partial(boosted, rate=0.5), OF_SCORES),
    world("nearer twins", "classification", 250, partial(boosted, rate=0.3, twins=0.04), OF_SCORES),
    world(
        "one decimal, 8% positive",
        "classification",
        500,
        partial(boosted, rate=0.08, rounded=1),
        OF_SCORES,
    ),
    world(
        "labels of which 5% are wrong",
        "classification",
        220,
        partial(mislabelled, wrong=0.05),
        OF_SCORES,
    ),
    world(
        "labels of which 15% are wrong",
        "classification",
        500,
        partial(mislabelled, wrong=0.15),
        OF_SCORES,
    ),
    world(
        "rows that weigh by half a lognormal",
        "classification",
        300,
        partial(weighted, spread=0.5),
        OF_SCORES,
    ),
    world(
        "rows that weigh by a lognormal",
        "classification",
        400,
        partial(weighted, spread=1.0),
        OF_SCORES,
    ),
    world(
        "best F1, 15% positive",
        "classification",
        450,
        partial(boosted, rate=0.15),
        chosen("best_f1"),
        many=200_000,
    ),
    world(
        "a miss costs two",
        "classification",
        300,
        partial(boosted, rate=0.3),
        chosen("cost:fp=1,fn=2"),
        many=200_000,
    ),
    world(
        "recall of 0.9",
        "classification",
        500,
        partial(boosted, rate=0.2),
        chosen("recall>=0.9"),
        many=200_000,
    ),
    world(
        "200 Zipf visitors",
        "classification",
        200,
        partial(by_visitor, spread=2.2),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "500 heavy Zipf visitors",
        "classification",
        500,
        partial(by_visitor, spread=2.0),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "60 customers",
        "classification",
        60,
        partial(customers, spread=0.7),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "150 very unlike customers",
        "classification",
        150,
        partial(customers, spread=1.3),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "three classes", "classification", 150, partial(triage, classes=(60, 30, 10)), OF_CLASSES
    ),
    world(
        "eight unequal classes",
        "classification",
        800,
        partial(triage, classes=(25, 20, 15, 12, 10, 8, 6, 4)),
        OF_CLASSES,
    ),
    world("five tags", "classification", 350, partial(tagged, tags=5, common=0.3), OF_TAGS),
    world(
        "nine tags with one cause",
        "classification",
        250,
        partial(tagged, tags=9, common=2.0),
        OF_TAGS,
    ),
    world("forecasts that share a bias", "rating", 120, partial(biased, noise=2.0), OF_DEMAND),
    world(
        "precise forecasts that share a bias", "rating", 300, partial(biased, noise=0.5), OF_DEMAND
    ),
    world("errors of t(8)", "rating", 80, partial(demand, tail=8.0), OF_DEMAND),
    world(
        "60 unequal branches", "rating", 60, partial(branches, spread=1.0), OF_BRANCHES, many=4_000
    ),
    world(
        "lists of 40 queries",
        "ranking",
        40,
        partial(searched, missed=0.4, grades=2),
        OF_SEARCH,
        many=3_000,
    ),
    world(
        "lists of 100 easy queries",
        "ranking",
        100,
        partial(searched, missed=0.05, grades=3),
        OF_SEARCH,
        many=3_000,
    ),
    world("answers right or wrong", "significance", 60, partial(graded, kind="right")),
    world("means of five tries", "significance", 35, partial(graded, kind="tries")),
    world("grades of 0 to 10", "significance", 120, partial(graded, kind="grade")),
    world("latencies of 40", "significance", 40, partial(judgements, kind="latency")),
    world(
        "one shopper in three buys",
        "interleaving",
        400,
        partial(shoppers, buyers=0.35, sigma=0.9, share=0.5),
        OF_ARMS,
    ),
    world(
        "a fifth of the shoppers treated",
        "interleaving",
        1000,
        partial(shoppers, buyers=0.25, sigma=1.0, share=0.2),
        OF_ARMS,
    ),
    world("four folds of 200", "validation", 200, partial(folded, folds=4), OF_FOLDS, many=4_000),
    world("ten folds of 500", "validation", 500, partial(folded, folds=10), OF_FOLDS, many=4_000),
)
