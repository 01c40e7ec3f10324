"""The fifth round of worlds that no method was chosen by: written down before any of them was
drawn.
"""

import numpy as np
import pandas as pd
from world import Generator, Inputs, World, ids, logistic

SYSTEMS = ("a", "b")


def two_peoples(rng: Generator, n: int) -> Inputs:
    """Half of the rows are easy to tell apart, of the others the scores know nothing."""
    easy = rng.random(n) < 0.5
    label = (rng.random(n) < np.where(easy, 0.5, 0.25)).astype(int)
    merit = np.where(easy, 2.4 * label - 1.2, -1.1)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.8, n)) for s in SYSTEMS}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def steps_of_a_twentieth(rng: Generator, n: int) -> Inputs:
    """One row in twelve is positive; scores are multiples of 0.05 within 0.05 and 0.95."""
    merit = rng.normal(-3.0, 1.4, n)
    label = (rng.random(n) < logistic(merit)).astype(int)
    seen = {s: logistic(merit + rng.normal(0, 0.6, n)) for s in SYSTEMS}
    scores = {f"score_{s}": np.clip(np.round(20 * p) / 20, 0.05, 0.95) for s, p in seen.items()}
    return {"preds": pd.DataFrame({"id": ids(n), "y_true": label} | scores)}


def sampled_unevenly(rng: Generator, n: int) -> Inputs:
    """Negatives were sampled one in three and weigh three times as much."""
    label = (rng.random(n) < 0.45).astype(int)
    merit = 1.6 * label + rng.normal(-1.0, 1.0, n)
    scores = {f"score_{s}": logistic(merit + rng.normal(0, 0.7, n)) for s in SYSTEMS}
    return {
        "preds": pd.DataFrame(
            {"id": ids(n), "y_true": label, "weight": np.where(label, 1.0, 3.0)} | scores
        )
    }


def neighbours(rng: Generator, n: int) -> Inputs:
    """Five classes in a row, confused with the next ones only."""
    label = rng.integers(0, 5, n)
    tables = []
    for system in SYSTEMS:
        place = label + rng.normal(0, 0.8, n)
        odds = np.exp(-((place[:, None] - np.arange(5)) ** 2))
        names = {"id": ids(n), "model": system, "label": np.char.add("k", label.astype(str))}
        chance = odds / odds.sum(axis=1, keepdims=True)
        tables.append(pd.DataFrame(names | {f"p_k{i}": chance[:, i] for i in range(5)}))
    return {"preds": pd.concat(tables, ignore_index=True)}


def four_topics(rng: Generator, n: int) -> Inputs:
    """Four labels of 50 to 15% that share a cause."""
    cause = rng.normal(0, 1, n)[:, None]
    merit = cause + rng.normal(0, 1, (n, 4)) + np.array([0.0, -0.6, -1.2, -1.8])
    label = (merit > 0).astype(int)
    tables = []
    for system in SYSTEMS:
        seen = logistic(1.2 * merit + rng.normal(0, 1.2, (n, 4)))
        columns = {f"y_l{j}": label[:, j] for j in range(4)} | {
            f"p_l{j}": seen[:, j] for j in range(4)
        }
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | columns))
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def known_item(rng: Generator, n: int) -> Inputs:
    """Lists of 25 with one to three relevant items, of which a third of the queries is hard."""
    query = np.repeat(np.arange(n), 25)
    place = np.tile(np.arange(25), n)
    grade = (np.arange(25) < rng.integers(1, 4, n)[:, None]).astype(int)
    ease = np.where(rng.random(n) < 1 / 3, 0.4, 2.2)
    names = {
        "query": np.char.add("q", query.astype(str)),
        "item": np.char.add("i", place.astype(str)),
    }
    tables = []
    for system in SYSTEMS:
        score = ease[:, None] * grade + rng.normal(0, 1, (n, 25))
        tables.append(
            pd.DataFrame({"system": system, "score": score.ravel(), "grade": grade.ravel()} | names)
        )
    return {"preds": pd.concat(tables, ignore_index=True)}


def shares_of_tests(rng: Generator, n: int) -> Inputs:
    """Shares of eight tests passed, most of them all or none."""
    ease = rng.beta(0.5, 0.4, n)
    values = {s: rng.binomial(8, ease) / 8 for s in SYSTEMS}
    return {"preds": pd.DataFrame({"unit": ids(n)} | values)}


def two_to_three(rng: Generator, n: int) -> Inputs:
    """Two fifths of the users are treated; half of them buy, for gamma amounts."""
    spent = (rng.random(n) < 0.5) * rng.gamma(1.5, 20, n)
    seen = 1 + rng.poisson(6, n)
    table = {
        "user": ids(n),
        "arm": np.where(np.arange(n) < 2 * n // 5, "a", "b"),
        "spent": spent,
        "seen": seen,
    }
    return {"users": pd.DataFrame(table | {"clicked": rng.binomial(seen, rng.beta(2, 8, n))})}


OF_SCORES = {
    "metrics": "roc_auc,average_precision,log_loss,brier,f1,precision,recall,mcc,"
    "kappa,balanced_accuracy"
}
OF_CLASSES = {"metrics": "accuracy,macro_f1,weighted_f1,kappa,mcc,roc_auc_ovr,log_loss,brier"}
OF_LABELS = {
    "metrics": "micro_f1,macro_f1,samples_f1,samples_jaccard,map_classes,roc_auc_macro,hamming_loss"
}
OF_COUNTS = {"metrics": "mae,rmse,bias,wape,smape,r2"}
OF_SHOPS = {"metrics": "mae,rmse,bias,wape", "unit": "user"}
OF_LISTS = {"metrics": "ndcg@5,reciprocal_rank,precision@10,average_precision,recall@10"}
OF_ARMS = {"metrics": "spent,clicked/seen,clicked", "world": "none"}
FIFTH = (
    World("fresh: two peoples", "classification", 140, two_peoples, OF_SCORES),
    World("fresh: steps of a twentieth", "classification", 400, steps_of_a_twentieth, OF_SCORES),
    World("fresh: sampled unevenly", "classification", 240, sampled_unevenly, OF_SCORES),
    World("fresh: neighbours", "classification", 220, neighbours, OF_CLASSES),
    World("fresh: four topics", "classification", 160, four_topics, OF_LABELS),
    World("fresh: small counts", "rating", 120, small_counts, OF_COUNTS),
    World("fresh: shops", "rating", 28, shops, OF_SHOPS, many=4_000),
    World("fresh: known item", "ranking", 36, known_item, OF_LISTS, many=4_000),
    World("fresh: shares of tests", "significance", 42, shares_of_tests),
    World("fresh: arms 2 to 3", "interleaving", 260, two_to_three, OF_ARMS),
)
