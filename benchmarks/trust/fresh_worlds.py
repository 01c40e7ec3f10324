"""Worlds that no method was chosen by: each round was written down before it was run, and run when
methods were fixed.

The first two rounds stand here, each of the others in a module of its own.

`run.py --fresh ROUND` simulates the worlds of a round; the bounds are those of all worlds.
"""

import numpy as np
import pandas as pd
from fresh_eighth import EIGHTH
from fresh_fifth import FIFTH
from fresh_fourth import FOURTH
from fresh_seventh import SEVENTH
from fresh_sixth import SIXTH
from fresh_third import THIRD
from of_rows import classes
from world import Draw, Generator, Inputs, World, ids, logistic

# Two classes --------------------------------------------------------------------------------------


def stars(rng: Generator, n: int) -> Inputs:
    """Scores of five levels, 40% positive."""
    label = (rng.random(n) < 0.4).astype(int)
    levels = {
        f"score_{s}": np.clip(np.round(2 + 1.2 * label + rng.normal(0, 1, n)), 0, 4) / 4
        for s in "ab"
    }
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | levels)}


def blind(rng: Generator, n: int) -> Inputs:
    """Scores that tell nothing, 15% positive."""
    label = (rng.random(n) < 0.15).astype(int)
    return {
        "preds": pd.DataFrame(
            {"id": ids(n), "y_true": label} | {f"score_{s}": rng.beta(2, 5, n) for s in "ab"}
        )
    }


def sharp(rng: Generator, n: int) -> Inputs:
    """Scores that hardly ever err, 20% positive."""
    label = (rng.random(n) < 0.2).astype(int)
    scores = {f"score_{s}": logistic(6 * label - 3 + rng.logistic(0, 0.9, n)) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def two_groups(rng: Generator, n: int) -> Inputs:
    """Users of two kinds, loud ones with ten times the rows and another base rate; the scores know
    the kind.
    """
    loud = rng.random(n) < 0.2
    user = np.repeat(np.arange(n), np.where(loud, 20, 2))
    kind = loud[user]
    label = (rng.random(len(user)) < np.where(kind, 0.5, 0.2)).astype(int)
    scores = {
        f"score_{s}": logistic(1.2 * label + 0.8 * kind - 1 + rng.normal(0, 1, len(user)))
        for s in "ab"
    }
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def mostly(rng: Generator, n: int) -> Inputs:
    """Seven in ten positive, scores with long tails."""
    label = (rng.random(n) < 0.7).astype(int)
    return {
        "preds": pd.DataFrame(
            {"id": ids(n), "y_true": label}
            | {f"score_{s}": logistic(label + rng.standard_t(3, n)) for s in "ab"}
        )
    }


def in_part(rng: Generator, n: int) -> Inputs:
    """A quarter positive, of which three in ten rows are plain to see and the others not at all."""
    label = (rng.random(n) < 0.25).astype(int)
    plain = rng.random(n) < 0.3
    scores = {
        f"score_{s}": logistic(6 * plain * (label - 0.5) - 1 + rng.normal(0, 1, n)) for s in "ab"
    }
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def survey(rng: Generator, n: int) -> Inputs:
    """A third positive; one row in five stands for six."""
    label = (rng.random(n) < 1 / 3).astype(int)
    scores = {f"score_{s}": logistic(1.5 * label - 1 + rng.normal(0, 1, n)) for s in "ab"}
    weight = np.where(rng.random(n) < 0.2, 6.0, 1.0)
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label, "weight": weight} | scores)}


def of_one_mind(rng: Generator, n: int) -> Inputs:
    """Ten rows of each user, whose labels are mostly the same."""
    user = np.repeat(np.arange(n), 10)
    label = (rng.random(len(user)) < rng.beta(0.4, 0.8, n)[user]).astype(int)
    scores = {f"score_{s}": logistic(1.5 * label - 1 + rng.normal(0, 1, len(user))) for s in "ab"}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


# Labels, numbers, lists ---------------------------------------------------------------------------


def twelve_labels(rng: Generator, n: int) -> Inputs:
    """Twelve labels that are true in a tenth of the rows each."""
    merit = rng.normal(-3, 1.5, (n, 12))
    label = (rng.random((n, 12)) < logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        chance = logistic(0.9 * (merit + rng.normal(0, 0.8, (n, 12))) + 0.3)
        columns = {f"y_l{j}": label[:, j] for j in range(12)} | {
            f"p_l{j}": chance[:, j] for j in range(12)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def graded(rng: Generator, n: int) -> Inputs:
    """Queries with 5 to 40 items of grade 0 to 3, few of them relevant."""
    query = np.repeat(np.arange(n), rng.integers(5, 41, n))
    grade = rng.choice(4, len(query), p=(0.7, 0.15, 0.1, 0.05))
    names = {"query": np.char.add("q", query.astype(str)), "item": ids(len(query)), "grade": grade}
    tables = [
        pd.DataFrame({"system": s, "score": 0.6 * grade + rng.gumbel(0, 1, len(query))} | names)
        for s in "ab"
    ]
    return {"preds": pd.concat(tables, ignore_index=True)}


def one_of_many_topics(rng: Generator, n: int) -> Inputs:
    """Eight labels, each true in some rows of one topic in four."""
    topic = rng.integers(0, 4, n)
    merit = np.where(topic[:, None] == np.arange(8) // 2, 0.5, -4.0) + rng.normal(0, 1, (n, 8))
    label = (rng.random((n, 8)) < logistic(merit)).astype(int)
    tables = []
    for system in "ab":
        chance = logistic(merit + rng.normal(0, 1.2, (n, 8)))
        columns = {f"y_l{j}": label[:, j] for j in range(8)} | {
            f"p_l{j}": chance[:, j] for j in range(8)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def one_answer(rng: Generator, n: int) -> Inputs:
    """Queries of 3 to 8 items, one of them relevant."""
    query = np.repeat(np.arange(n), rng.integers(3, 9, n))
    grade = np.append(1, (query[1:] != query[:-1]).astype(int))
    names = {"query": np.char.add("q", query.astype(str)), "item": ids(len(query)), "grade": grade}
    tables = [
        pd.DataFrame({"system": s, "score": grade + rng.normal(0, 1, len(query))} | names)
        for s in "ab"
    ]
    return {"preds": pd.concat(tables, ignore_index=True)}


# Units and arms -----------------------------------------------------------------------------------


def visits(share: float) -> Draw:
    """Users of whom an arm has a share: counts of visits that vary more than Poisson's, and what
    comes of them.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        count = rng.negative_binomial(1.5, 0.3, n) + 1
        table = {
            "user": ids(n),
            "arm": np.where(np.arange(n) < round(share * n), "a", "b"),
            "orders": rng.binomial(count, rng.beta(1, 6, n)),
            "visits": count,
            "came_back": (rng.random(n) < 0.35).astype(int),
        }
        return {"users": pd.DataFrame(table)}

    return draw


def outliers(rng: Generator, n: int) -> Inputs:
    """Paired values of which one in ten lies five times as far out."""
    values = {s: 3 + rng.normal(0, 1, n) * np.where(rng.random(n) < 0.1, 5, 1) for s in "ab"}
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def spenders(rng: Generator, n: int) -> Inputs:
    """Users of two equal arms, six in ten of whom spend an amount with a moderate tail."""
    spent = (rng.random(n) < 0.6) * rng.gamma(1.2, 20, n)
    arm = np.where(np.arange(n) % 2 == 0, "a", "b")
    return {
        "users": pd.DataFrame(
            {"user": ids(n), "arm": arm, "spent": spent, "items": rng.poisson(2, n)}
        )
    }


# Rounds -------------------------------------------------------------------------------------------

SCORES = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,accuracy,"
    "mcc,balanced_accuracy"
}
EIGHT = (0.34, 0.2, 0.14, 0.1, 0.08, 0.06, 0.05, 0.03)
FIRST = (
    World("fresh: scores of five levels", "classification", 120, stars, SCORES),
    World("fresh: scores that tell nothing", "classification", 150, blind, SCORES),
    World("fresh: scores that hardly err", "classification", 300, sharp, SCORES),
    World(
        "fresh: loud and quiet users",
        "classification",
        40,
        two_groups,
        {"metrics": "roc_auc,gauc,recall,log_loss,f1", "unit": "user"},
        many=4_000,
    ),
    World(
        "fresh: eight classes",
        "classification",
        400,
        classes(EIGHT),
        {"metrics": "accuracy,macro_f1,balanced_accuracy,roc_auc_ovr,kappa,log_loss"},
    ),
    World(
        "fresh: twelve labels",
        "classification",
        150,
        twelve_labels,
        {"metrics": "micro_f1,macro_f1,samples_f1,map_classes,roc_auc_macro,hamming_loss"},
    ),
    World(
        "fresh: errors in proportion",
        "rating",
        80,
        in_proportion,
        {"metrics": "mae,rmse,bias,r2,wape,smape"},
    ),
    World(
        "fresh: eight rows a user",
        "rating",
        15,
        equal_users,
        {"metrics": "mae,rmse,bias,r2", "unit": "user"},
        many=4_000,
    ),
    World(
        "fresh: graded items",
        "ranking",
        40,
        graded,
        {"metrics": "ndcg@10,err@10,average_precision,recall@5"},
        many=5_000,
    ),
    World(
        "fresh: visits, arms 1 to 3",
        "interleaving",
        160,
        visits(0.25),
        {"metrics": "orders,came_back,orders/visits", "world": "none"},
    ),
)
SECOND = (
    World("fresh: mostly positive", "classification", 80, mostly, SCORES),
    World("fresh: plain in part", "classification", 250, in_part, SCORES),
    World("fresh: survey weights", "classification", 200, survey, SCORES),
    World(
        "fresh: users of one mind",
        "classification",
        40,
        of_one_mind,
        {"metrics": "roc_auc,gauc_positives,brier,precision", "unit": "user"},
        many=4_000,
    ),
    World(
        "fresh: labels by topic",
        "classification",
        120,
        one_of_many_topics,
        {"metrics": "micro_f1,macro_f1,samples_jaccard,map_classes,roc_auc_macro,exact_match"},
    ),
    World(
        "fresh: one to five",
        "rating",
        100,
        one_to_five,
        {"metrics": "mae,rmse,bias,r2,median_absolute_error"},
    ),
    World(
        "fresh: wider above",
        "rating",
        150,
        wider_above,
        {"metrics": "mae,rmse,wape,r2,r2_correlation"},
    ),
    World(
        "fresh: one answer",
        "ranking",
        60,
        one_answer,
        {"metrics": "reciprocal_rank,hit_rate@1,ndcg@3"},
        many=5_000,
    ),
    World("fresh: outliers", "significance", 30, outliers),
    World(
        "fresh: spenders",
        "interleaving",
        120,
        spenders,
        {"metrics": "spent,items,spent/items", "world": "none"},
    ),
)
ROUNDS = {1: FIRST, 2: SECOND, 3: THIRD, 4: FOURTH, 5: FIFTH, 6: SIXTH, 7: SEVENTH, 8: EIGHTH}
