"""The sixth round of worlds that no method was chosen by: tables as users have them, written before
any was drawn.
"""

from functools import partial

import numpy as np
import pandas as pd
from world import Generator, Inputs, World, ids, logistic

SYSTEMS = ("a", "b")


def boosted(
    rng: Generator, n: int, rate: float, rounded: int | None = None, twins: float = 0.5
) -> Inputs:
    """Rare positives; scores as boosting has them: most near 0, a few leaves only. twins: how far
    two models differ.
    """
    merit = rng.normal(np.log(rate / (1 - rate)) - 0.6, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    leaves = np.round(2 * (merit + rng.normal(0, 0.5, n))) / 2
    scores = {f"score_{s}": logistic(leaves + rng.normal(0, twins, n)) for s in SYSTEMS}
    scores = scores if rounded is None else {name: p.round(rounded) for name, p in scores.items()}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def by_visitor(rng: Generator, n: int, spread: float) -> Inputs:
    """Visitors with 1 + Zipf rows, who have a rate of their own; spread: the exponent."""
    rows = np.minimum(rng.zipf(spread, n), 200)
    who = np.repeat(np.arange(n), rows)
    merit = rng.normal(-0.8, 1.0, n)[who] + rng.normal(0, 0.8, len(who))
    label = (rng.random(len(who)) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.7, len(who))) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(who)), "user": who.astype(str), "y_true": label} | scores
        )
    }


def triage(rng: Generator, n: int, classes: tuple[float, ...]) -> Inputs:
    """Classes of these shares, the rarest the hardest."""
    label = rng.choice(len(classes), n, p=np.array(classes) / sum(classes))
    tables = []
    for system in SYSTEMS:
        odds = np.exp(
            rng.normal(0, 1, (n, len(classes))) + 1.8 * (label[:, None] == np.arange(len(classes)))
        )
        chance = odds / odds.sum(axis=1, keepdims=True)
        names = {"id": ids(n), "model": system, "label": np.char.add("k", label.astype(str))}
        tables.append(pd.DataFrame(names | {f"p_k{i}": chance[:, i] for i in range(len(classes))}))
    return {"preds": pd.concat(tables, ignore_index=True)}


def tagged(rng: Generator, n: int, tags: int, common: float) -> Inputs:
    """Tags of 4 to 45% with a common cause; common: its part."""
    cause = rng.normal(0, 1, n)[:, None]
    merit = (
        common * cause
        + rng.normal(0, 1, (n, tags))
        - np.linspace(0.2, 1.8, tags) * np.hypot(1, common)
    )
    label = (merit > 0).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(1.1 * merit + rng.normal(0, 1.0, (n, tags)))
        columns = {f"y_t{j}": label[:, j] for j in range(tags)} | {
            f"p_t{j}": seen[:, j] for j in range(tags)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def searched(rng: Generator, n: int, missed: float, grades: int) -> Inputs:
    """Lists of 20, of which a share finds nothing relevant at all; grades up to `grades`."""
    query = np.repeat(np.arange(n), 20)
    place = np.tile(np.arange(20), n)
    grade = (np.arange(20) < rng.integers(1, 6, n)[:, None]) * rng.integers(1, grades + 1, (n, 20))
    ease = np.where(rng.random(n) < missed, -4.0, 1.2)
    names = {
        "query": np.char.add("q", query.astype(str)),
        "item": np.char.add("i", place.astype(str)),
    }
    tables = []
    for system in SYSTEMS:
        score = ease[:, None] * (grade > 0) + rng.normal(0, 1, (n, 20))
        table = pd.DataFrame(
            {"system": system, "score": score.ravel(), "grade": grade.ravel()} | names
        )
        kept = (
            table.sort_values(["query", "score"], ascending=[True, False]).groupby("query").head(10)
        )
        tables.append(kept)
    judged = pd.DataFrame(names | {"grade": grade.ravel()})
    return {"preds": pd.concat(tables, ignore_index=True).drop(columns="grade"), "qrels": judged}


def judgements(rng: Generator, n: int, kind: str) -> Inputs:
    """Values of three systems on n units: stars, shares with many zeros, or latencies."""
    ease = rng.normal(0, 1, n)
    draws = {
        "stars": lambda: np.clip(np.round(3.4 + 0.8 * ease + rng.normal(0, 0.9, n)), 1, 5),
        "zeros": lambda: (rng.random(n) < logistic(ease - 0.4)) * rng.beta(2, 2, n),
        "latency": lambda: np.exp(4 + 0.4 * ease + rng.normal(0, 0.6, n)),
    }
    return {"preds": pd.DataFrame({"unit": ids(n)} | {s: draws[kind]() for s in ("a", "b", "c")})}


def shoppers(rng: Generator, n: int, buyers: float, sigma: float, share: float) -> Inputs:
    """Users of whom few buy, for lognormal amounts; share: of the users in the first arm."""
    spent = (rng.random(n) < buyers) * rng.lognormal(3, sigma, n)
    visits = rng.zipf(2.2, n).clip(max=60)
    arm = np.where(rng.random(n) < share, "a", "b")
    table = {
        "user": ids(n),
        "arm": arm,
        "spent": spent,
        "visits": visits,
        "orders": rng.binomial(visits, 0.12),
    }
    return {"users": pd.DataFrame(table)}


def folded(rng: Generator, n: int, folds: int) -> Inputs:
    """Out-of-fold scores; each fold's model has a level of its own."""
    merit = rng.normal(-0.4, 1.2, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    fold = np.arange(n) % folds
    scores = [
        logistic(merit + rng.normal(0, 0.5, folds)[fold] + rng.normal(0, 0.8, n)) for _ in SYSTEMS
    ]
    tables = [
        pd.DataFrame({"id": ids(n), "model": s, "label": label, "score": p, "fold": fold})
        for s, p in zip(SYSTEMS, scores, strict=True)
    ]
    return {"preds": pd.concat(tables, ignore_index=True)}


OF_SCORES = {"metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc"}
OF_VISITORS = {"metrics": "roc_auc,log_loss,brier,f1,recall,accuracy", "unit": "user"}
OF_CLASSES = {"metrics": "accuracy,macro_f1,weighted_f1,kappa,log_loss,roc_auc_ovr"}
OF_TAGS = {"metrics": "micro_f1,macro_f1,samples_f1,map_classes,roc_auc_macro,hamming_loss"}
OF_DEMAND = {"metrics": "mae,rmse,bias,wape,r2,median_absolute_error"}
OF_BRANCHES = {"metrics": "mae,rmse,bias,wape", "unit": "user"}
OF_SEARCH = {"metrics": "ndcg@10,reciprocal_rank,precision@5,average_precision,recall@10"}
OF_ARMS = {"metrics": "spent,orders/visits,orders", "world": "none"}
OF_FOLDS = {"metrics": "roc_auc,brier,accuracy,log_loss"}


def chosen(threshold: str) -> dict[str, str]:
    """Metrics at a threshold that is chosen on the data."""
    return {"metrics": "f1,precision,recall,predicted_rate,mcc", "threshold": threshold}


def world(
    name: str, report: str, n: int, draw: object, given: dict[str, str] | None = None, **more: int
) -> World:
    """A world of this round."""
    return World(f"fresh: {name}", report, n, draw, given or {}, **more)  # type: ignore[arg-type]


SIXTH = (
    world("boosting, 3% positive", "classification", 900, partial(boosted, rate=0.03), OF_SCORES),
    world("boosting, 12% positive", "classification", 300, partial(boosted, rate=0.12), OF_SCORES),
    world("boosting, 35% positive", "classification", 90, partial(boosted, rate=0.35), OF_SCORES),
    world("near twins", "classification", 400, partial(boosted, rate=0.2, twins=0.08), OF_SCORES),
    world(
        "scores of one decimal",
        "classification",
        350,
        partial(boosted, rate=0.25, rounded=1),
        OF_SCORES,
    ),
    world(
        "scores of two decimals",
        "classification",
        250,
        partial(boosted, rate=0.15, rounded=2),
        OF_SCORES,
    ),
    world(
        "best F1",
        "classification",
        260,
        partial(boosted, rate=0.25),
        chosen("best_f1"),
        many=200_000,
    ),
    world(
        "best F1 of rare positives",
        "classification",
        700,
        partial(boosted, rate=0.06),
        chosen("best_f1"),
        many=200_000,
    ),
    world(
        "least cost",
        "classification",
        400,
        partial(boosted, rate=0.2),
        chosen("cost:fp=1,fn=4"),
        many=200_000,
    ),
    world(
        "recall of 0.8",
        "classification",
        320,
        partial(boosted, rate=0.3),
        chosen("recall>=0.8"),
        many=200_000,
    ),
    world(
        "Zipf visitors",
        "classification",
        150,
        partial(by_visitor, spread=2.4),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "heavier Zipf visitors",
        "classification",
        300,
        partial(by_visitor, spread=2.0),
        OF_VISITORS,
        many=4_000,
    ),
    world(
        "four classes", "classification", 260, partial(triage, classes=(55, 25, 15, 5)), OF_CLASSES
    ),
    world(
        "six classes",
        "classification",
        420,
        partial(triage, classes=(30, 25, 20, 15, 7, 3)),
        OF_CLASSES,
    ),
    world("six tags", "classification", 220, partial(tagged, tags=6, common=0.8), OF_TAGS),
    world("twelve tags", "classification", 300, partial(tagged, tags=12, common=1.5), OF_TAGS),
    world("errors of t(5)", "rating", 150, partial(demand, tail=5.0), OF_DEMAND),
    world("errors of t(3.5)", "rating", 400, partial(demand, tail=3.5), OF_DEMAND),
    world("zero-inflated counts", "rating", 180, partial(demand, tail=None), OF_DEMAND),
    world("unequal branches", "rating", 45, partial(branches, spread=0.8), OF_BRANCHES, many=4_000),
    world(
        "very unequal branches",
        "rating",
        70,
        partial(branches, spread=1.2),
        OF_BRANCHES,
        many=4_000,
    ),
    world(
        "lists of 25 queries",
        "ranking",
        25,
        partial(searched, missed=0.2, grades=1),
        OF_SEARCH,
        many=3_000,
    ),
    world(
        "lists with zeros",
        "ranking",
        60,
        partial(searched, missed=0.5, grades=3),
        OF_SEARCH,
        many=3_000,
    ),
    world(
        "lists of 150 queries",
        "ranking",
        150,
        partial(searched, missed=0.3, grades=2),
        OF_SEARCH,
        many=3_000,
    ),
    world("stars of 30", "significance", 30, partial(judgements, kind="stars")),
    world("values with zeros", "significance", 50, partial(judgements, kind="zeros")),
    world("latencies", "significance", 80, partial(judgements, kind="latency")),
    world(
        "shoppers",
        "interleaving",
        900,
        partial(shoppers, buyers=0.2, sigma=1.0, share=0.5),
        OF_ARMS,
    ),
    world(
        "one shopper in ten treated",
        "interleaving",
        1500,
        partial(shoppers, buyers=0.3, sigma=0.8, share=0.1),
        OF_ARMS,
    ),
    world("five folds of 120", "validation", 120, partial(folded, folds=5), OF_FOLDS, many=4_000),
    world("ten folds of 300", "validation", 300, partial(folded, folds=10), OF_FOLDS, many=4_000),
)
