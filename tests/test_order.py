"""The order of rows, of columns and of systems changes no number of any report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.parameters import REPORTS
from evalkit.studies import ranking

TRUST = Path(__file__).resolve().parents[1] / "benchmarks" / "trust"


def lists(rng):
    """Ranked lists of graded items, with ties of scores, by systems whose names do not sort as they are made."""
    systems = rng.permutation(["zeta", "beta", "mu", "alpha"])[: rng.integers(2, 5)]
    queries, depth = int(rng.integers(6, 25)), int(rng.integers(3, 9))
    grades = rng.integers(0, 3, (queries, depth))
    rows = [
        (system, f"q{q}", f"d{i}", round(float(rng.normal() + skill * grades[q, i]), 1), int(grades[q, i]))
        for skill, system in enumerate(systems)
        for q in range(queries)
        for i in range(depth)
    ]
    return pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])


def reordered(table, rng):
    """The same rows and columns in another order."""
    return table.iloc[rng.permutation(len(table))][list(rng.permutation(table.columns))].reset_index(drop=True)


def numbers(study):
    """Every number of estimates and comparisons, and the words beside them, by what they are about."""
    kept = {}
    for frame, keys in ((study.estimates, ["metric", "system"]), (study.comparisons, ["metric", "first", "second"])):
        for row in frame.to_dict("records"):
            values = [v for v in row.values() if isinstance(v, int | float | np.number)]
            texts = [str(v) for name, v in row.items() if isinstance(v, str) and name not in keys]
            kept[tuple(row[name] for name in keys)] = (np.array(values, float), " ".join(texts))
    return kept


def check(first, second):
    """Fails where a number or a word of the two studies differs."""
    expected, found = numbers(first), numbers(second)
    assert list(expected) == list(found)
    for key, (values, words) in expected.items():
        np.testing.assert_allclose(found[key][0], values, rtol=1e-12, atol=1e-12, err_msg=str(key))
        assert found[key][1] == words


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("report", REPORTS)
def test_the_order_of_rows_and_columns_changes_no_number(report, seed, monkeypatch):
    monkeypatch.syspath_prepend(str(TRUST))
    from numbers_of import study
    from worlds import WORLDS

    rng = np.random.default_rng(seed)
    worlds = [world for world in WORLDS if world.report == report and "differences" in world.frames]
    world = worlds[rng.integers(len(worlds))]
    tables = world.draw(rng, min(world.n, 200))
    check(study(world, tables), study(world, {name: reordered(table, rng) for name, table in tables.items()}))


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_lists_with_ties_and_of_judgements_changes_no_number(seed):
    rng = np.random.default_rng(seed)
    table = lists(rng)
    grades = table[["query", "item", "grade"]].drop_duplicates()
    whole, again = (ranking.read(one, metrics="ndcg@3,map") for one in (table, reordered(table, rng)))
    run = reordered(table.drop(columns="grade"), rng)
    check(whole, again)
    check(whole, ranking.read(run, reordered(grades, rng), metrics="ndcg@3,map"))
