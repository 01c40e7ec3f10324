"""Limits of the metrics where items are not judged: every way to judge them, by hand, where there is none."""

import itertools

import numpy as np
import pandas as pd
import pytest

from evalkit.pages import ranking_page
from evalkit.studies import beyond_relevance, ranking


def table(seed=2, queries=6, items=6):
    """Lists of which some items have no judgement; every query has a relevant and a non-relevant item."""
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, (queries, items)).astype(float)
    grade[rng.random(grade.shape) < 0.4] = np.nan
    grade[:, 1], grade[:, 4] = 2, 0
    query, item = np.indices(grade.shape).reshape(2, -1)
    scores = {"query": [f"q{i}" for i in query], "item": [f"d{i}" for i in item], "score": -item.astype(float)}
    return pd.DataFrame(scores | {"grade": grade.ravel()})


def judged_in_every_way(rows, top):
    """The tables in which each unjudged item of the first ranks of one query is relevant or not."""
    open_rows = rows.index[rows["grade"].isna() & (rows["score"] > -top)]
    for marks in itertools.product([0.0, 2.0], repeat=len(open_rows)):
        yield rows.assign(grade=rows["grade"].where(~rows.index.isin(open_rows), pd.Series(marks, open_rows)))


METRICS = ["map", "mrr", "recall@3", "err", "r_precision", "bpref", "rbp", "hit_rate@2"]


@pytest.mark.parametrize("cut", [4, 6])
def test_every_way_to_judge_lies_within_and_the_limits_are_attained(cut):
    metrics = [f"ndcg@{cut}", f"precision@{cut}", *METRICS]
    rows = table(queries=3)
    for _, own in rows.groupby("query"):
        limits = beyond_relevance.bounds(ranking.read(own, metrics=metrics))
        ways = judged_in_every_way(own, cut)
        values = np.array([ranking.read(way, metrics=metrics).estimates["value"] for way in ways])
        np.testing.assert_allclose(values.min(0), limits["low"], atol=1e-12)
        np.testing.assert_allclose(values.max(0), limits["high"], atol=1e-12)


def test_by_hand():
    """Relevant, unjudged, not relevant, unjudged: precision@2 is 1/2 or 1; AP 1, or with both ((1 + 1 + 3/4) / 3)."""
    rows = {"query": "q", "item": list("abcd"), "score": [4, 3, 2, 1], "grade": [1, np.nan, 0, np.nan]}
    study = ranking.read(pd.DataFrame(rows), metrics="precision@2,map")
    frame = beyond_relevance.bounds(study).set_index("metric")
    assert frame.loc["precision@2", ["value", "low", "high", "n", "unjudged"]].tolist() == [0.5, 0.5, 1.0, 1, 1]
    assert frame.loc["average_precision", ["value", "low", "high"]].tolist() == [1.0, 1.0, 1.0]
    text = study.tables.unjudged.to_markdown()
    assert "0.50 to 1.00" in text


def test_nothing_where_all_items_of_the_first_ranks_are_judged():
    rows = table().assign(grade=lambda rows: rows["grade"].fillna(0))
    assert not len(beyond_relevance.bounds(ranking.read(rows)))
    deep = table().assign(grade=lambda rows: rows["grade"].where(rows["score"] <= -2, 1.0))
    assert not len(beyond_relevance.bounds(ranking.read(deep, metrics="precision@2")))
    assert not ranking_page.unjudged(ranking.read(rows)).html


def test_a_query_without_a_relevant_item_stays_out():
    rows = {"query": ["q", "q", "r"], "item": list("abc"), "score": [2, 1, 1], "grade": [1, np.nan, 0]}
    rows = pd.concat([pd.DataFrame(rows), pd.DataFrame({"query": ["r"], "item": ["d"], "score": [0.5]})])
    frame = beyond_relevance.bounds(ranking.read(rows, metrics="precision@2,recall@1")).query("metric == 'recall@1'")
    assert frame[["low", "high", "n"]].to_numpy().tolist() == [[0.5, 1.0, 1]]


def test_a_cut_off_beyond_the_lists_is_noted():
    rows = table()
    codes = [finding.kind.code for finding in ranking_page.every_finding(ranking.read(rows, metrics="ndcg@6,recall@7"))]
    assert "EK146" in codes
    codes = [finding.kind.code for finding in ranking_page.every_finding(ranking.read(rows, metrics="ndcg@6,map"))]
    assert "EK146" not in codes
