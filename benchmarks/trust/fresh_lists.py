"""Worlds of ranked lists that no method was chosen by: `FRESH_LISTS`, by round."""

from functools import partial

import numpy as np
import pandas as pd
from world import Generator, Inputs, fresh_world, ids

SYSTEMS = ("a", "b")


def graded_items(rng: Generator, n: int) -> Inputs:
    """Queries with 5 to 40 items of grade 0 to 3, few of them relevant."""
    query = np.repeat(np.arange(n), rng.integers(5, 41, n))
    grade = rng.choice(4, len(query), p=(0.7, 0.15, 0.1, 0.05))
    names = {"query": np.char.add("q", query.astype(str)), "item": ids(len(query)), "grade": grade}
    tables = [
        pd.DataFrame({"system": s, "score": 0.6 * grade + rng.gumbel(0, 1, len(query))} | names)
        for s in "ab"
    ]
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def long_lists(rng: Generator, n: int) -> Inputs:
    """Queries of 50 items, one to five of them relevant, with scores in steps."""
    query = np.repeat(np.arange(n), 50)
    place = np.tile(np.arange(50), n)
    grade = (place < np.repeat(rng.integers(1, 6, n), 50)).astype(int)
    names = {"query": np.char.add("q", query.astype(str)), "item": ids(len(query)), "grade": grade}
    scores = {s: np.round(1.6 * grade + rng.normal(0, 1, len(query)), 1) for s in "ab"}
    tables = [pd.DataFrame({"system": s, "score": score} | names) for s, score in scores.items()]
    return {"preds": pd.concat(tables, ignore_index=True)}


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


def one_right(rng: Generator, n: int, ease: float) -> Inputs:
    """Lists of 30 items, of which one is right and 10 are shown; ease: how far it stands out."""
    query = np.repeat(np.arange(n), 30)
    place = np.tile(np.arange(30), n)
    names = {
        "query": np.char.add("q", query.astype(str)),
        "item": np.char.add("i", place.astype(str)),
    }
    pull = np.where(place == 0, (ease + rng.normal(0, 1.2, n))[query], 0)
    tables = []
    for system in SYSTEMS:
        table = pd.DataFrame(
            {"system": system, "score": pull + rng.normal(0, 1, len(query))} | names
        )
        kept = (
            table.sort_values(["query", "score"], ascending=[True, False]).groupby("query").head(10)
        )
        tables.append(kept)
    judged = pd.DataFrame(names | {"grade": (place == 0).astype(int)})
    return {"preds": pd.concat(tables, ignore_index=True), "qrels": judged}


TO_20 = {"metrics": "ndcg@5,reciprocal_rank,precision@10,average_precision,recall@20"}
TO_10 = {"metrics": "ndcg@5,reciprocal_rank,precision@10,average_precision,recall@10"}
NDCG_10 = {"metrics": "ndcg@10,reciprocal_rank,precision@5,average_precision,recall@10"}
fresh = partial(fresh_world, "ranking")
FRESH_LISTS = (
    fresh(
        1,
        "graded items",
        40,
        graded_items,
        {"metrics": "ndcg@10,err@10,average_precision,recall@5"},
        many=5000,
    ),
    fresh(
        2, "one answer", 60, one_answer, {"metrics": "reciprocal_rank,hit_rate@1,ndcg@3"}, many=5000
    ),
    fresh(
        3,
        "long lists",
        80,
        long_lists,
        {"metrics": "ndcg@10,recall@10,precision@5,average_precision"},
        many=5000,
    ),
    fresh(4, "lists of sixty", 30, hundred_deep, TO_20, many=4000),
    fresh(5, "known item", 36, known_item, TO_10, many=4000),
    fresh(
        6, "lists of 25 queries", 25, partial(searched, missed=0.2, grades=1), NDCG_10, many=3000
    ),
    fresh(6, "lists with zeros", 60, partial(searched, missed=0.5, grades=3), NDCG_10, many=3000),
    fresh(
        6, "lists of 150 queries", 150, partial(searched, missed=0.3, grades=2), NDCG_10, many=3000
    ),
    fresh(
        7, "lists of 40 queries", 40, partial(searched, missed=0.4, grades=2), NDCG_10, many=3000
    ),
    fresh(
        7,
        "lists of 100 easy queries",
        100,
        partial(searched, missed=0.05, grades=3),
        NDCG_10,
        many=3000,
    ),
    fresh(8, "one right item of 30", 80, partial(one_right, ease=1.5), NDCG_10, many=3000),
    fresh(8, "one right item, hard to find", 200, partial(one_right, ease=0.5), NDCG_10, many=3000),
)
