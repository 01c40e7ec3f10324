"""The third round of worlds that no method was chosen by: written down before any of them was
drawn.
"""

import numpy as np
import pandas as pd
from world import Generator, Inputs, World, ids, logistic


def rules(rng: Generator, n: int) -> Inputs:
    """Four in a hundred positive; the scores are those of three rules that fire, so that they have
    eight levels.
    """
    label = (rng.random(n) < 0.04).astype(int)
    scores = {}
    for system in "ab":
        fired = rng.random((n, 3)) < np.where(label[:, None] == 1, 0.55, 0.06)
        scores[f"score_{system}"] = logistic(fired @ np.array([1.2, 1.6, 2.1]) - 3.2)
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def mislabelled(rng: Generator, n: int) -> Inputs:
    """Half of the rows positive, and one label in five wrong."""
    merit = rng.normal(0, 2, n)
    label = ((rng.random(n) < logistic(2 * merit)) ^ (rng.random(n) < 0.2)).astype(int)
    scores = {f"score_{s}": logistic(1.5 * (merit + rng.normal(0, 0.8, n))) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def one_to_three_rows(rng: Generator, n: int) -> Inputs:
    """Users of one to three rows, with one label each."""
    user = np.repeat(np.arange(n), rng.integers(1, 4, n))
    label = (rng.random(n) < 0.35).astype(int)[user]
    lean = rng.normal(0, 0.6, n)[user]
    scores = {
        f"score_{s}": logistic(1.6 * label - 1 + lean + rng.normal(0, 0.8, len(user))) for s in "ab"
    }
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def ordered(rng: Generator, n: int) -> Inputs:
    """Four classes in order, which are taken for their neighbours."""
    label = rng.integers(0, 4, n)
    tables = []
    for system in "ab":
        seen = label + rng.normal(0, 0.7, n)
        odds = np.exp(-((seen[:, None] - np.arange(4)) ** 2))
        columns = {f"p_c{i}": odds[:, i] / odds.sum(axis=1) for i in range(4)}
        names = np.char.add("c", label.astype(str))
        tables.append(pd.DataFrame({"id": ids(n), "model": system, "label": names} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


def hardly_two(rng: Generator, n: int) -> Inputs:
    """Six labels, of which a row has one and seldom another."""
    label = (rng.random((n, 6)) < 0.03).astype(int)
    label[np.arange(n), rng.integers(0, 6, n)] = 1
    tables = []
    for system in "ab":
        chance = logistic(3 * label - 2.2 + rng.normal(0, 1.1, (n, 6)))
        columns = {f"y_l{j}": label[:, j] for j in range(6)} | {
            f"p_l{j}": chance[:, j] for j in range(6)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def long_lists(rng: Generator, n: int) -> Inputs:
    """Queries of 50 items, one to five of them relevant, with scores in steps."""
    query = np.repeat(np.arange(n), 50)
    place = np.tile(np.arange(50), n)
    grade = (place < np.repeat(rng.integers(1, 6, n), 50)).astype(int)
    names = {"query": np.char.add("q", query.astype(str)), "item": ids(len(query)), "grade": grade}
    scores = {s: np.round(1.6 * grade + rng.normal(0, 1, len(query)), 1) for s in "ab"}
    tables = [pd.DataFrame({"system": s, "score": score} | names) for s, score in scores.items()]
    return {"preds": pd.concat(tables, ignore_index=True)}


def small_integers(rng: Generator, n: int) -> Inputs:
    """Paired ratings of 1 to 5, most of which are equal."""
    taste = rng.integers(2, 5, n)
    values = {s: np.clip(taste + rng.choice([-1, 0, 0, 0, 1], n), 1, 5) for s in "ab"}
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def one_to_four(rng: Generator, n: int) -> Inputs:
    """Users of whom one in five is treated; half of them buy, for amounts with a moderate tail."""
    spent = (rng.random(n) < 0.5) * rng.gamma(0.9, 30, n)
    pages = 1 + rng.poisson(4, n)
    arm = np.where(np.arange(n) < n // 5, "a", "b")
    table = {
        "user": ids(n),
        "arm": arm,
        "spent": spent,
        "pages": pages,
        "hits": rng.binomial(pages, 0.3),
    }
    return {"users": pd.DataFrame(table)}


# The round ----------------------------------------------------------------------------------------

EVERY = {"metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc,lift,kappa"}
THIRD = (
    World("fresh: rules that fire", "classification", 700, rules, EVERY),
    World("fresh: wrong labels", "classification", 90, mislabelled, EVERY),
    World(
        "fresh: one to three rows a user",
        "classification",
        60,
        one_to_three_rows,
        {"metrics": "roc_auc,f1,log_loss,accuracy", "unit": "user"},
        many=4_000,
    ),
    World(
        "fresh: classes in order",
        "classification",
        150,
        ordered,
        {"metrics": "accuracy,macro_f1,macro_precision,kappa,roc_auc_hand_till,log_loss"},
    ),
    World(
        "fresh: hardly two labels",
        "classification",
        200,
        hardly_two,
        {"metrics": "micro_f1,macro_f1,samples_f1,map_classes,roc_auc_macro,exact_match"},
    ),
    World(
        "fresh: rare counts",
        "rating",
        120,
        rare_counts,
        {"metrics": "mae,rmse,wape,poisson_deviance,r2"},
    ),
    World(
        "fresh: two regimes",
        "rating",
        30,
        two_regimes,
        {"metrics": "mae,rmse,bias,r2", "unit": "user"},
        many=4_000,
    ),
    World(
        "fresh: long lists",
        "ranking",
        80,
        long_lists,
        {"metrics": "ndcg@10,recall@10,precision@5,average_precision"},
        many=5_000,
    ),
    World("fresh: small integers", "significance", 40, small_integers),
    World(
        "fresh: arms 1 to 4",
        "interleaving",
        250,
        one_to_four,
        {"metrics": "spent,hits,hits/pages", "world": "none"},
    ),
)
