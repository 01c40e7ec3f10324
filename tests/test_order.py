"""The order of rows, of columns and of systems changes no number of any report.

A few tables of each report are tried with every run of the suite; `-m slow` tries 1,000.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

NEAR = 1e-12
FEW = 3
Table = pd.DataFrame


def names(rng: np.random.Generator) -> list[str]:
    """Two to four systems, whose names do not sort as they are made."""
    return list(rng.permutation(["zeta", "beta", "mu", "alpha"])[: rng.integers(2, 5)])


def lists(rng: np.random.Generator) -> Table:
    """Ranked lists of graded items, with ties of scores."""
    systems, queries, depth = names(rng), int(rng.integers(6, 25)), int(rng.integers(3, 9))
    grades = rng.integers(0, 3, (queries, depth))
    rows = [
        (system, f"q{q}", f"d{i}", round(float(rng.normal() + skill * grades[q, i]), 1), int(grades[q, i]))
        for skill, system in enumerate(systems)
        for q in range(queries)
        for i in range(depth)
    ]
    return pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])


def predictions(rng: np.random.Generator) -> Table:
    """Labels, scores with ties, and users."""
    n = int(rng.integers(30, 90))
    label = rng.permutation(np.arange(n) % 2)
    wide = {f"score_{name}": (label + rng.normal(size=n)).round(1) for name in names(rng)}
    return pd.DataFrame({"id": [f"r{i}" for i in range(n)], "label": label, "user": rng.integers(0, n // 3, n)} | wide)


def forecasts(rng: np.random.Generator) -> Table:
    """Actual values, forecasts and users."""
    n = int(rng.integers(20, 80))
    actual = rng.gamma(2, 5, n).round(2)
    wide = {f"forecast_{name}": (actual + rng.normal(size=n)).round(2) for name in names(rng)}
    return pd.DataFrame(
        {"id": [f"r{i}" for i in range(n)], "actual": actual, "user": rng.integers(0, n // 3, n)} | wide
    )


def unit_values(rng: np.random.Generator) -> Table:
    """One value a query and system, many of them equal."""
    n = int(rng.integers(8, 40))
    wide = {name: rng.uniform(size=n).round(int(rng.integers(1, 4))) for name in names(rng)}
    return pd.DataFrame({"query": [f"q{i}" for i in range(n)]} | wide)


def folds(rng: np.random.Generator) -> Table:
    """Out-of-fold predictions."""
    n = int(rng.integers(40, 100))
    label = rng.permutation(np.arange(n) % 2)
    score = (1 / (1 + np.exp(-label - rng.normal(size=n)))).round(4)
    return pd.DataFrame({"id": [f"r{i}" for i in range(n)], "label": label, "score": score, "fold": np.arange(n) % 5})


def users(rng: np.random.Generator) -> Table:
    """An A/B test."""
    n = int(rng.integers(40, 120))
    arm = np.array(["zeta", "alpha"])[rng.permutation(np.arange(n) % 2)]
    return pd.DataFrame({"user": [f"u{i}" for i in range(n)], "arm": arm, "orders": rng.poisson(2, n)})


def sessions(rng: np.random.Generator) -> Table:
    """Interleaved sessions."""
    rows = []
    for session in range(int(rng.integers(20, 60))):
        teams = rng.permutation(["zeta", "alpha", "zeta", "alpha"])
        user = f"u{session // 2}"
        rows += [(f"s{session}", user, i + 1, teams[i], int(rng.uniform() < 0.5)) for i in range(4)]
    return pd.DataFrame(rows, columns=["session", "user", "position", "team", "click"])


Read = Callable[[Table], Any]
REPORTS: dict[str, tuple[Callable[[np.random.Generator], Table], Read]] = {
    "ranking": (lists, lambda table: ranking.read(table, metrics="ndcg@3,map")),
    "classification": (
        predictions,
        lambda table: classification.read(table, metrics="roc_auc,average_precision,f1,ks"),
    ),
    "ranking, judgements apart": (lists, lambda table: judged(table)),
    "classification, long": (
        lambda rng: long_predictions(rng, "score"),
        lambda table: classification.read(table, metrics="roc_auc,average_precision,f1,ks"),
    ),
    "classification, long, by user": (
        lambda rng: long_predictions(rng, "score"),
        lambda table: classification.read(table, unit="user"),
    ),
    "rating, long": (lambda rng: long_predictions(rng, "forecast"), lambda table: rating.read(table)),
    "classification by user": (predictions, lambda table: classification.read(table, metrics="accuracy", unit="user")),
    "rating": (forecasts, lambda table: rating.read(table, metrics="mae,rmse,median_absolute_error")),
    "rating by user": (forecasts, lambda table: rating.read(table, metrics="mae,rmse", unit="user")),
    "significance": (unit_values, lambda table: significance.read(table)),
    "significance, long": (lambda rng: longer(unit_values(rng)), lambda table: significance.read(table)),
    "validation": (folds, lambda table: validation.read(table)),
    "sessions": (sessions, lambda table: interleaving.read(table, world="none").log),
    "users": (users, lambda table: interleaving.read(users=table, metrics="orders", world="none").users),
}


def longer(table: Table) -> Table:
    """One row a query and system."""
    return table.melt("query", var_name="system", value_name="value")


def long_predictions(rng: np.random.Generator, role: str) -> Table:
    """One row an id and system, of labels and scores or of actual values and forecasts."""
    table = predictions(rng) if role == "score" else forecasts(rng)
    shared = ["id", "user", "label" if role == "score" else "actual"]
    long = table.melt(shared, var_name="system", value_name=role)
    return long.assign(system=long["system"].str.removeprefix(f"{role}_"))


def judged(table: Table) -> Any:
    """The ranking report of lists whose judgements are a table of their own."""
    grades = table[["query", "item", "grade"]].drop_duplicates()
    return ranking.read(table.drop(columns="grade"), grades, metrics="ndcg@3,map")


def reordered(table: Table, rng: np.random.Generator) -> Table:
    """The same rows and columns in another order."""
    return table.iloc[rng.permutation(len(table))][list(rng.permutation(table.columns))].reset_index(drop=True)


def numbers(study: Any) -> dict[tuple[str, ...], tuple[np.ndarray, str]]:
    """Every number of estimates and comparisons, and the words beside them, by what they are about."""
    kept: dict[tuple[str, ...], tuple[np.ndarray, str]] = {}
    for frame, keys in ((study.estimates, ["metric", "system"]), (study.comparisons, ["metric", "first", "second"])):
        for row in frame.to_dict("records"):
            values = [v for v in row.values() if isinstance(v, int | float | np.number)]
            texts = [str(v) for name, v in row.items() if isinstance(v, str) and name not in keys]
            kept[tuple(row[name] for name in keys)] = (np.array(values, float), " ".join(texts))
    return kept


def check(name: str, seed: int) -> None:
    """Fails where a number of one random table moves with the order of its rows and columns."""
    rng = np.random.default_rng([seed, *map(ord, name)])
    make, read = REPORTS[name]
    table = make(rng)
    first, second = numbers(read(table)), numbers(read(reordered(table, rng)))
    assert list(first) == list(second)
    for key, (values, words) in first.items():
        np.testing.assert_allclose(second[key][0], values, rtol=NEAR, atol=NEAR, err_msg=f"{key} of table {seed}")
        assert second[key][1] == words


@pytest.mark.parametrize("seed", range(FEW))
@pytest.mark.parametrize("name", REPORTS)
def test_the_order_of_rows_and_columns_changes_no_number(name, seed):
    check(name, seed)
