"""The fourth round of worlds that no method was chosen by: written down before any of them was
drawn.
"""

import numpy as np
import pandas as pd
from world import Generator, Inputs, World, ids, logistic

SYSTEMS = ("a", "b")


def far_scores(rng: Generator, n: int) -> Inputs:
    """A quarter of the rows positive; both systems see them through noise with Cauchy's tails."""
    merit = rng.normal(-1.4, 1.5, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(0.6 * (merit + 0.5 * rng.standard_cauchy(n))) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def rising(rng: Generator, n: int) -> Inputs:
    """The share of positives rises from 5% to 60% along the rows, which the scores know only in
    part.
    """
    time = np.sort(rng.random(n))
    merit = rng.normal(0, 1.2, n) + np.log((0.05 + 0.55 * time) / (0.95 - 0.55 * time))
    label = (rng.random(n) < logistic(merit)).astype(int)
    scores = {f"score_{s}": logistic(0.7 * merit - 0.3 + rng.normal(0, 0.6, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def of_one_kind(rng: Generator, n: int) -> Inputs:
    """Users of one to forty rows, nearly all of whose rows have the same label."""
    user = np.repeat(np.arange(n), rng.integers(1, 41, n))
    kind = (rng.random(n) < 0.4)[user]
    label = (kind ^ (rng.random(len(user)) < 0.1)).astype(int)
    merit = 1.2 * label + rng.normal(0, 0.8, n)[user]
    scores = {f"score_{s}": logistic(merit - 0.8 + rng.normal(0, 0.9, len(user))) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(len(user)), "user": user.astype(str), "y_true": label} | scores
        )
    }


def one_large_class(rng: Generator, n: int) -> Inputs:
    """Four classes, of which one has 70% of the rows; probabilities are sharpened."""
    shares = np.array([0.7, 0.15, 0.1, 0.05])
    label = rng.choice(4, n, p=shares)
    merit = np.log(shares) + 1.8 * np.eye(4)[label] + rng.normal(0, 1.0, (n, 4))
    tables = []
    for system in SYSTEMS:
        odds = np.exp(1.3 * (merit + rng.normal(0, 0.6, (n, 4))))
        chance = odds / odds.sum(axis=1, keepdims=True)
        names = {"id": ids(n), "model": system, "label": np.char.add("k", label.astype(str))}
        tables.append(pd.DataFrame(names | {f"p_k{i}": chance[:, i] for i in range(4)}))
    return {"preds": pd.concat(tables, ignore_index=True)}


def two_of_seven(rng: Generator, n: int) -> Inputs:
    """Exactly two of seven labels are true in each row."""
    taste = rng.normal(0, 1, (n, 7)) + np.linspace(-0.8, 0.8, 7)
    label = (np.argsort(np.argsort(taste, axis=1), axis=1) >= 5).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(1.5 * (taste - 0.9) + rng.normal(0, 1, (n, 7)))
        columns = {f"y_l{j}": label[:, j] for j in range(7)} | {
            f"p_l{j}": seen[:, j] for j in range(7)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def hundred_deep(rng: Generator, n: int) -> Inputs:
    """Lists of 60 items with grades from 0 to 4, high ones rare; some queries are far easier."""
    query = np.repeat(np.arange(n), 60)
    place = np.tile(np.arange(60), n)
    grade = np.minimum(rng.geometric(0.75, (n, 60)) - 1, 4)
    grade[:, 0] = np.maximum(grade[:, 0], 1)
    ease = rng.gamma(2, 0.5, n)
    names = {
        "query": np.char.add("q", query.astype(str)),
        "item": np.char.add("i", place.astype(str)),
    }
    tables = []
    for system in SYSTEMS:
        score = ease[:, None] * grade + rng.normal(0, 1, (n, 60))
        tables.append(
            pd.DataFrame({"system": system, "score": score.ravel(), "grade": grade.ravel()} | names)
        )
    return {"preds": pd.concat(tables, ignore_index=True)}


def halves(rng: Generator, n: int) -> Inputs:
    """Values of 0, one half and 1, many of them tied between the systems."""
    ease = rng.beta(3, 2, n)
    draws = {s: rng.binomial(2, ease) / 2 for s in SYSTEMS}
    same = rng.random(n) < 0.4
    return {
        "preds": pd.DataFrame(
            {"unit": ids(n), "a": draws["a"], "b": np.where(same, draws["a"], draws["b"])}
        )
    }


def one_to_two(rng: Generator, n: int) -> Inputs:
    """A third of the users is treated; three in ten buy, for lognormal amounts."""
    spent = (rng.random(n) < 0.3) * rng.lognormal(3, 0.8, n)
    seen = 1 + rng.negative_binomial(2, 0.3, n)
    table = {
        "user": ids(n),
        "arm": np.where(np.arange(n) < n // 3, "a", "b"),
        "spent": spent,
        "seen": seen,
    }
    return {"users": pd.DataFrame(table | {"clicked": rng.binomial(seen, rng.beta(1, 6, n))})}


OF_SCORES = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc,"
    "kappa,balanced_accuracy"
}
OF_USERS = {"metrics": "roc_auc,average_precision,brier,f1,accuracy", "unit": "user"}
OF_CLASSES = {"metrics": "accuracy,macro_f1,weighted_f1,kappa,mcc,roc_auc_ovr,log_loss,brier"}
OF_LABELS = {
    "metrics": "micro_f1,macro_f1,samples_f1,samples_jaccard,map_classes,roc_auc_macro,hamming_loss"
}
OF_ERRORS = {"metrics": "mae,rmse,bias,wape,smape,r2"}
OF_SERIES = {"metrics": "mae,rmse,bias,r2", "unit": "user"}
OF_LISTS = {"metrics": "ndcg@5,reciprocal_rank,precision@10,average_precision,recall@20"}
OF_ARMS = {"metrics": "spent,clicked/seen,clicked", "world": "none"}
FOURTH = (
    World("fresh: far scores", "classification", 160, far_scores, OF_SCORES),
    World("fresh: a rising share", "classification", 250, rising, OF_SCORES),
    World("fresh: users of one kind", "classification", 40, of_one_kind, OF_USERS, many=4_000),
    World("fresh: one large class", "classification", 300, one_large_class, OF_CLASSES),
    World("fresh: two of seven labels", "classification", 120, two_of_seven, OF_LABELS),
    World("fresh: mostly none", "rating", 150, mostly_none, OF_ERRORS),
    World("fresh: errors that carry on", "rating", 30, carried_on, OF_SERIES, many=4_000),
    World("fresh: lists of sixty", "ranking", 30, hundred_deep, OF_LISTS, many=4_000),
    World("fresh: halves", "significance", 35, halves),
    World("fresh: arms 1 to 2", "interleaving", 180, one_to_two, OF_ARMS),
)
