"""Worlds of few units, few positives and many rare classes, where first-order errors are short."""

from functools import partial

import numpy as np
import pandas as pd
from of_days import two
from of_folds import folds
from of_rows import binary, classes, weighted
from world import Draw, Generator, Inputs, World, ids, logistic, sizes


def rare_labels(rng: Generator, n: int, labels: int = 50) -> Inputs:
    """Labels that are true in 1 to 5% of the rows; the two systems share most of their noise."""
    label = (rng.random((n, labels)) < np.linspace(0.01, 0.05, labels)).astype(int)
    shared = 0.8 * rng.normal(0, 1, (n, labels))
    truths = {f"y_l{j}": label[:, j] for j in range(labels)}
    tables = []
    for system in "ab":
        seen = logistic(3 * label - 2.5 + shared + 0.6 * rng.normal(0, 1, (n, labels)))
        scores = {f"p_l{j}": seen[:, j] for j in range(labels)}
        tables.append(pd.DataFrame({"id": ids(n), "model": system} | truths | scores))
    return {"preds": pd.concat(tables, ignore_index=True)}


def unequal(spread: float, level: float = 1.0, unlike: float = 0.0) -> Draw:
    """Units with lognormal numbers of rows, whose actual values and errors go together. level: by
    how much their actual values do; unlike: how unlike the sizes of their errors are.
    """

    def draw(rng: Generator, n: int) -> Inputs:
        unit = np.repeat(np.arange(n), sizes(rng, n, spread))
        rows = len(unit)
        mean = level * rng.normal(0, 1, n)[unit] + rng.normal(0, 1, rows)
        error = 0.7 * rng.normal(0, 1, n)[unit] + rng.normal(0, 1, rows)
        error *= np.exp(unlike * rng.normal(0, 1, n))[unit]
        forecasts = {f"forecast_{name}": mean + 0.3 * rng.normal(0, 1, rows) for name in "ab"}
        table = {"id": ids(rows), "user": unit.astype(str), "actual": mean + error}
        return {"preds": pd.DataFrame(table | forecasts)}

    return draw


def prices(rng: Generator, n: int) -> Inputs:
    """Lognormal values, whose errors grow with them."""
    actual = rng.lognormal(0, 0.6, n)
    forecasts = {f"forecast_{s}": actual * np.exp(rng.normal(0, 0.3, n)) for s in "ab"}
    return {"preds": pd.DataFrame({"id": ids(n), "actual": actual} | forecasts)}


def rare_scores(rng: Generator, population: int, share: float = 0.05) -> object:
    """The scores of a day with few positives, drawn anew for each day."""

    def day(rng: Generator, unit: np.ndarray, shift: float) -> pd.DataFrame:
        label = (rng.random(unit.size) < share).astype(int)
        score = logistic(label * (1.8 + shift) - 2 + rng.normal(size=unit.size))
        return pd.DataFrame({"id": unit.astype(str), "y_true": label, "score_a": score})

    return day


def equal_classes(count: int) -> Draw:
    """Classes that are equally frequent, one of them true in each row."""
    return classes(tuple(np.full(count, 1 / count)))


USER = {"unit": "user"}
RARE_LABELS = {"metrics": "macro_f1"}
FIT = {"metrics": "r2"}
ERRORS = {"metrics": "rmse"}
PRECISION = {"metrics": "average_precision"}
AREAS = {"metrics": "roc_auc_ovr"}
SCARCE = (
    World("fifty rare labels", "classification", 500, rare_labels, RARE_LABELS),
    *(World("few units", "rating", n, unequal(0.7, 2.0), FIT | USER, many=4_000) for n in (8, 15)),
    World("few unequal units", "rating", 25, unequal(1.2, unlike=0.3), ERRORS | USER, many=4_000),
    World("weighted prices", "rating", 100, weighted(prices), ERRORS),
    World("twenty classes", "classification", 400, equal_classes(20), AREAS),
    World(
        "fifteen positives",
        "classification",
        3_000,
        binary(0.005),
        PRECISION,
        ("values",),
        2_000_000,
    ),
    World(
        "rare scores of two days, none common",
        "diff",
        400,
        partial(two, day=rare_scores, shift=0.0, common=0.0),
        PRECISION,
        ("days",),
        of="classification",
    ),
    World(
        "five folds of 20, ten columns",
        "validation",
        100,
        folds(5, 0.3, 10),
        {"metrics": "accuracy,brier"},
        ("values", "intervals"),
        100,
        200,
        own=True,
    ),
)
