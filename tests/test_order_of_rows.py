"""The order of rows, columns and systems changes no number of the ranking, rating and classification reports."""

import numpy as np
import pandas as pd
import pytest

from evalkit.studies import classification, ranking, rating

FRAMES = ("estimates", "comparisons")
KEYS = ("metric", "system", "first", "second")


def rng(*seed):
    return np.random.default_rng(seed)


def mixed(table, seed):
    return table.sample(frac=1, random_state=seed)[list(rng(seed).permutation(table.columns))]


def same(study, other):
    for name in FRAMES:
        left, right = (getattr(one, name) for one in (study, other))
        keys = [key for key in KEYS if key in left]
        left, right = (frame.sort_values(keys, ignore_index=True)[left.columns] for frame in (left, right))
        pd.testing.assert_frame_equal(left, right, check_exact=False, rtol=1e-12, atol=1e-12)


def rows(seed, n=150):
    return pd.DataFrame(
        {
            "id": [f"r{i:03}" for i in range(n)],
            "user": [f"u{i % 12}" for i in range(n)],
            "y_true": rng(seed).integers(0, 2, n),
        }
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [None, "user"])
def test_classification(seed, unit):
    base = rows(seed)
    tables = [
        base.assign(
            model=name,
            y_score=np.clip(0.5 + 0.2 * (base["y_true"] - 0.5) * k + rng(seed, k).normal(0, 0.2, 150), 0, 1).round(
                seed + 1
            ),
        )
        for k, name in enumerate("abc", start=1)
    ]
    table = pd.concat(tables)
    same(classification.read(table, unit=unit), classification.read(mixed(table, seed), unit=unit))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [None, "user"])
def test_rating(seed, unit):
    base = rows(seed)[["id", "user"]].assign(actual=rng(seed).normal(3, 1, 150))
    table = pd.concat(
        [
            base.assign(model=m, forecast=base["actual"] + rng(seed, k).normal(0, k, 150))
            for k, m in ((1, "a"), (2, "b"))
        ]
    )
    same(rating.read(table, unit=unit), rating.read(mixed(table, seed), unit=unit))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("interval", ["t", "BCa", "percentile"])
def test_ranking(seed, interval):
    g = rng(seed)
    lists = [
        (m, f"q{i}", f"d{d}", float(g.integers(0, 20)))
        for m in "xyz"
        for i in range(40)
        for d in g.choice(60, 15, replace=False)
    ]
    runs = pd.DataFrame(lists, columns=["system", "query", "item", "score"])
    judged = [(f"q{i}", f"d{d}", int(g.integers(0, 3))) for i in range(40) for d in range(60) if g.random() < 0.3]
    qrels = pd.DataFrame(judged, columns=["query", "item", "grade"])
    first = ranking.read(runs, qrels, interval=interval)
    same(first, ranking.read(mixed(runs, seed), mixed(qrels, seed + 1), interval=interval))
