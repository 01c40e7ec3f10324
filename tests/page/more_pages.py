"""Pages of other tables than the bundled samples.

Three classes and ten, several labels, 126 systems against a baseline, an A/B test with a
simulation to plan with; one system and two; lists of travellers, and forecasts of five systems.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from made_once import report_each

SYSTEMS, QUERIES, ITEMS, USERS = 126, 30, 8, 1500
CLASSES, ROWS = 10, 600
GERMAN = "data/german_credit/predictions.csv"


def systems() -> pd.DataFrame:
    """Ranked lists of many systems, some of them clearly better than the first."""
    rng = np.random.default_rng(5)
    grade = (np.arange(ITEMS) < 3).astype(int)
    skill = rng.normal(1, 0.4, SYSTEMS)[:, None, None]
    score = grade * skill + rng.normal(0, 1, (SYSTEMS, QUERIES, ITEMS))
    system, query, item = np.indices(score.shape).reshape(3, -1)
    names = [f"system_{i:03d}" for i in range(SYSTEMS)]
    rows = {
        "system": np.array(names)[system],
        "query": query,
        "item": item,
        "score": score.ravel().round(4),
    }
    return pd.DataFrame(rows | {"grade": grade[item]})


def users() -> pd.DataFrame:
    """Users of two arms, with two numbers each."""
    rng = np.random.default_rng(6)
    arm = rng.choice(["a", "b"], USERS)
    orders = rng.poisson(np.where(arm == "b", 1.2, 1.0))
    return pd.DataFrame(
        {
            "user": range(USERS),
            "arm": arm,
            "orders": orders,
            "revenue": orders * rng.lognormal(2, 0.7, USERS),
        }
    )


def classes() -> pd.DataFrame:
    """Probabilities of ten classes by two systems."""
    rng = np.random.default_rng(7)
    label = rng.integers(0, CLASSES, ROWS)
    systems = []
    for name, skill in (("deep", 3.0), ("flat", 1.5)):
        logits = rng.normal(0, 1, (ROWS, CLASSES)) + skill * np.eye(CLASSES)[label]
        share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        probabilities = {f"p_{c}": share[:, c] for c in range(CLASSES)}
        rows = {"id": range(ROWS), "system": name, "label": label} | probabilities
        systems.append(pd.DataFrame(rows))
    return pd.concat(systems)


def forecasts() -> pd.DataFrame:
    """Forecasts of five systems, all far better than a constant."""
    rng = np.random.default_rng(8)
    actual = rng.gamma(2, 50, ROWS)
    names = {"trees": 4, "linear": 5, "seasonal": 5, "naive": 8, "drift": 9}
    columns = {f"forecast_{name}": actual + rng.normal(0, sd, ROWS) for name, sd in names.items()}
    return pd.DataFrame({"actual": actual} | columns)


def parameters(folder: Path) -> dict[str, list[str]]:
    """The report and the parameters of each page; the tables that they need are written into the
    folder.
    """
    systems().to_parquet(folder / "many_systems.parquet")
    users().to_csv(folder / "users.csv", index=False)
    classes().to_csv(folder / "classes.csv", index=False)
    forecasts().to_csv(folder / "forecasts.csv", index=False)
    many = {
        "preds": folder / "many_systems.parquet",
        "baseline": "system_000",
        "metrics": "ndcg@10,mrr",
    }
    asked = {
        "multiclass": ("classification", {"preds": "data/penguins/predictions.csv"}),
        "multilabel": ("classification", {"preds": "data/digit_traits/predictions.csv"}),
        "many": ("ranking", many),
        "single": ("classification", {"preds": GERMAN, "systems": "forest"}),
        "pair": ("classification", {"preds": GERMAN, "systems": "forest,gbm"}),
        "classes": ("classification", {"preds": folder / "classes.csv"}),
        "lists": ("ranking", {"systems": "lda_cosine,pca8_euclid"}),
        "travellers": ("ranking", {"preds": "data/modechoice/scores_wide.csv"}),
        "forecasts": ("rating", {"preds": folder / "forecasts.csv"}),
        "users": (
            "interleaving",
            {"users": folder / "users.csv", "metrics": "orders,revenue", "world": "cascade"},
        ),
    }
    return {
        name: [report, *(part for key, value in given.items() for part in ("-p", key, str(value)))]
        for name, (report, given) in asked.items()
    }


def make(folder: Path) -> None:
    """Write all pages and their results as NAME.html and NAME.json, half of them in each of two
    processes.
    """
    commands = [
        [*arguments, "--name", name, "-o", str(folder)]
        for name, arguments in parameters(folder).items()
    ]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(report_each, (commands[::2], commands[1::2])))
