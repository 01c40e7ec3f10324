"""The eighth round of worlds that no method was chosen by, written before any was drawn.

Shapes of the sixth and seventh rounds at other sizes, and tables that these have not: classifiers
that are sure of themselves, patients with visits, catalogues of which one item is right, prices,
shares of time, sums of clicks.
"""

from functools import partial

import numpy as np
import pandas as pd
from fresh_seventh import biased, customers, graded, mislabelled, weighted
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
    folded,
    judgements,
    shoppers,
    tagged,
    triage,
    world,
)
from world import Generator, Inputs, ids, logistic


def sure(rng: Generator, n: int, sharp: float) -> Inputs:
    """Classifiers that are surer than they are right; sharp: how much."""
    merit = rng.normal(-0.9, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(sharp * (merit + rng.normal(0, 0.9, n))) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def patients(rng: Generator, n: int, visits: int) -> Inputs:
    """Patients with 1 to `visits` visits; who is ill stays so at most of them."""
    who = np.repeat(np.arange(n), rng.integers(1, visits + 1, n))
    ill = (rng.random(n) < 0.25)[who]
    label = np.where(rng.random(len(who)) < 0.8, ill, rng.random(len(who)) < 0.25).astype(int)
    seen = 1.4 * label + rng.normal(0, 0.6, n)[who] - 1.2
    scores = {f"score_{s}": logistic(seen + rng.normal(0, 0.8, len(who))) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(who)), "user": who.astype(str), "y_true": label} | scores
        )
    }


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


def one_right(rng: Generator, n: int, ease: float) -> Inputs:
    """Lists of 30 items, of which one is right and 10 are shown; ease: how far it stands out."""
    query = np.repeat(np.arange(n), 30)
    place = np.tile(np.arange(30), n)
    names = {
        "query": np.char.add("q", query.astype(str)),
        "item": np.char.add("i", place.astype(str)),
    }
    pull = np.where(place == 0, (ease + rng.normal(0, 1.2, n))[query], 0)
    tables = []
    for system in SYSTEMS:
        table = pd.DataFrame(
            {"system": system, "score": pull + rng.normal(0, 1, len(query))} | names
        )
        kept = (
            table.sort_values(["query", "score"], ascending=[True, False]).groupby("query").head(10)
        )
        tables.append(kept)
    judged = pd.DataFrame(names | {"grade": (place == 0).astype(int)})
    return {"preds": pd.concat(tables, ignore_index=True), "qrels": judged}


def values(rng: Generator, n: int, kind: str) -> Inputs:
    """Values of three systems on n units: BLEU-like scores, rare failures, or sums of clicks."""
    ease = rng.normal(0, 1, n)
    draws = {
        "overlap": lambda: 100 * logistic(0.9 * ease - 0.8 + rng.normal(0, 0.5, n)),
        "failures": lambda: (rng.random(n) < logistic(1.5 * ease - 3)).astype(float),
        "clicks": lambda: rng.poisson(np.exp(0.5 + 0.6 * ease)).astype(float),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: draws[kind]() for s in ("a", "b", "c")})}


EIGHTH = (
    world("boosting, 4% positive", "classification", 1_200, partial(boosted, rate=0.04), OF_SCORES),
    world("boosting, 10% positive", "classification", 400, partial(boosted, rate=0.1), OF_SCORES),
    world("boosting, 40% positive", "classification", 120, partial(boosted, rate=0.4), OF_SCORES),
    world(
        "twins, 12% positive",
        "classification",
        500,
        partial(boosted, rate=0.12, twins=0.06),
        OF_SCORES,
    ),
    world(
        "one decimal, 30% positive",
        "classification",
        180,
        partial(boosted, rate=0.3, rounded=1),
        OF_SCORES,
    ),
    world(
        "two decimals, 7% positive",
        "classification",
        800,
        partial(boosted, rate=0.07, rounded=2),
        OF_SCORES,
    ),
    world("sure of themselves", "classification", 300, partial(sure, sharp=2.0), OF_SCORES),
    world("very sure of themselves", "classification", 700, partial(sure, sharp=4.0), OF_SCORES),
    world(
        "labels of which 10% are wrong",
        "classification",
        350,
        partial(mislabelled, wrong=0.1),
        OF_SCORES,
    ),
    world(
        "rows of unequal weight", "classification", 350, partial(weighted, spread=0.7), OF_SCORES
    ),
    world(
        "best F1, 30% positive",
        "classification",
        350,
        partial(boosted, rate=0.3),
        chosen("best_f1"),
        many=200_000,
    ),
    world(
        "a miss costs three",
        "classification",
        500,
        partial(boosted, rate=0.25),
        chosen("cost:fp=1,fn=3"),
        many=200_000,
    ),
    world(
        "recall of 0.75",
        "classification",
        400,
        partial(boosted, rate=0.25),
        chosen("recall>=0.75"),
        many=200_000,
    ),
    world(
        "250 Zipf visitors",
        "classification",
        250,
        partial(by_visitor, spread=2.3),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "90 patients", "classification", 90, partial(patients, visits=4), OF_VISITORS, many=4_000
    ),
    world(
        "200 patients", "classification", 200, partial(patients, visits=9), OF_VISITORS, many=4_000
    ),
    world(
        "100 unlike customers",
        "classification",
        100,
        partial(customers, spread=1.0),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "three unequal classes",
        "classification",
        240,
        partial(triage, classes=(70, 22, 8)),
        OF_CLASSES,
    ),
    world(
        "five classes",
        "classification",
        350,
        partial(triage, classes=(30, 25, 20, 15, 10)),
        OF_CLASSES,
    ),
    world("four tags", "classification", 200, partial(tagged, tags=4, common=0.5), OF_TAGS),
    world(
        "eight tags with one cause",
        "classification",
        350,
        partial(tagged, tags=8, common=1.2),
        OF_TAGS,
    ),
    world("60 prices", "rating", 60, partial(prices, outliers=0.0), OF_DEMAND),
    world("prices, some far off", "rating", 250, partial(prices, outliers=0.1), OF_DEMAND),
    world("shares of time", "rating", 150, watched, OF_DEMAND),
    world("forecasts with a bias of a tenth", "rating", 200, partial(biased, noise=1.0), OF_DEMAND),
    world("80 branches", "rating", 80, partial(branches, spread=0.9), OF_BRANCHES, many=4_000),
    world(
        "one right item of 30", "ranking", 80, partial(one_right, ease=1.5), OF_SEARCH, many=3_000
    ),
    world(
        "one right item, hard to find",
        "ranking",
        200,
        partial(one_right, ease=0.5),
        OF_SEARCH,
        many=3_000,
    ),
    world("scores of overlap", "significance", 45, partial(values, kind="overlap")),
    world("rare failures", "significance", 150, partial(values, kind="failures")),
    world("sums of clicks", "significance", 70, partial(values, kind="clicks")),
    world("right or wrong, 100 questions", "significance", 100, partial(graded, kind="right")),
    world("stars of 60", "significance", 60, partial(judgements, kind="stars")),
    world(
        "one shopper in four buys",
        "interleaving",
        600,
        partial(shoppers, buyers=0.25, sigma=0.7, share=0.5),
        OF_ARMS,
    ),
    world("five folds of 250", "validation", 250, partial(folded, folds=5), OF_FOLDS, many=4_000),
)
