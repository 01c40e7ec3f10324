"""Diversity, novelty and coverage on the ranking page, and limits where items are not judged."""

import itertools

import numpy as np
import pandas as pd
import pytest
from samples import expected

from evalkit.arrays import InputError, ParameterError
from evalkit.pages import ranking_page
from evalkit.reading.inputs import lists as listed
from evalkit.studies import beyond_relevance, ranking

FIGURES = expected("lists")


def runs():
    """The lists of the figures as a ranking table."""
    rows = [
        {"query": f"q{i}", "item": item, "score": -rank, "grade": rank % 2}
        for i, ids in enumerate(FIGURES["shown"])
        for rank, item in enumerate(ids)
    ]
    return pd.DataFrame(rows)


def catalogue(**more):
    table = pd.DataFrame({name: FIGURES["catalogue"][name] for name in ("item", "category")})
    share = np.array(FIGURES["catalogue"]["users"]) / FIGURES["users"]
    return table.assign(user_share=share, **more)


def read(items=None, **options):
    return ranking.read(
        runs(), items=catalogue() if items is None else items, metrics="ndcg@5", **options
    )


def test_the_page_has_the_figures_of_rectools():
    frame = beyond_relevance.measures(read()).set_index("metric")
    expected = FIGURES["figures"]
    assert frame.loc["diversity by category", "value"] == pytest.approx(
        np.mean(expected["diversity"]), abs=1e-12
    )
    assert frame.loc["novelty by users", "value"] == pytest.approx(
        np.mean(expected["novelty"]), abs=1e-12
    )
    assert frame.loc["coverage", "value"] == pytest.approx(expected["coverage"], abs=1e-12)
    assert frame.loc["Gini of exposure", "value"] == pytest.approx(expected["gini"], abs=1e-12)
    assert (frame["k"] == 5).all()
    assert (frame["low"] <= frame["value"]).all()
    assert (frame["value"] <= frame["high"]).all()
    assert not frame["left_out"].any()


@pytest.mark.parametrize("unit", [None, "query"])
@pytest.mark.parametrize(
    "size, lists, missing", [(49, 11, 1), (60, 3, 1), (60, 7, 0), (7, 4, 0), (12, 6, 1)]
)
def test_coverage_is_the_share_itself_and_its_interval_says_something_or_is_none(
    size, lists, missing, unit
):
    """All lists show the same items, and then the first list one more."""
    catalogue = [f"i{i}" for i in range(size)]
    for alone in (0, 1):
        items = catalogue[: size - missing - alone]
        rows = [(f"q{q}", item) for q in range(lists) for item in items] + [
            ("q0", catalogue[-1])
        ] * alone
        table = pd.DataFrame(rows, columns=["query", "item"]).assign(score=1.0, grade=1)
        study = ranking.read(
            table, items=pd.DataFrame({"item": catalogue}), metrics=f"precision@{size}", unit=unit
        )
        row = beyond_relevance.measures(study).set_index("metric").loc["coverage"]
        assert row["value"] == (size - missing) / size
        if alone:
            assert 0.5 < row["low"] < row["value"] <= row["high"] <= 1
        else:
            assert np.isnan([row["low"], row["high"]]).all()


@pytest.mark.parametrize("unit", [None, "user"])
def test_differences_are_those_of_the_measures_and_tell_popular_lists_from_others(unit):
    rng = np.random.default_rng(5)
    items = np.array([f"i{i:02}" for i in range(60)])
    table = pd.DataFrame(
        {"item": items, "category": np.arange(60) % 7, "popularity": 100 - np.arange(60)}
    )
    rows = [
        {
            "system": system,
            "query": f"q{query:02}",
            "user": f"u{query % 12}",
            "item": item,
            "score": -rank,
            "grade": 1,
        }
        for system, most in (("popular", 20), ("broad", 60), ("alike", 60))
        for query in range(40)
        for rank, item in enumerate(items[rng.permutation(most)[:5]])
    ]
    study = ranking.read(
        pd.DataFrame(rows), items=table, metrics="precision@5", baseline="broad", unit=unit
    )
    measured = beyond_relevance.measures(study).set_index(["metric", "system"])["value"]
    tested = beyond_relevance.differences(study).set_index(["metric", "first"])
    for metric, first in tested.index:
        row = tested.loc[metric, first]
        assert row["difference"] == pytest.approx(
            measured[metric, first] - measured[metric, "broad"], abs=1e-12
        )
        assert row["low"] <= row["difference"] <= row["high"]
        assert (row["p"] < 0.05) == (not row["low"] <= 0 <= row["high"])
    assert (
        tested.xs("popular", level="first").loc[["novelty by interactions", "coverage"], "adjusted"]
        < 0.001
    ).all()
    assert (tested.xs("alike", level="first")["p"] > 0.01).all()
    assert "Differences among the first 5 items" in ranking_page.diversity(study).text


def test_a_measure_needs_its_column():
    frame = beyond_relevance.measures(read(catalogue()[["item"]]))
    assert list(frame["metric"]) == ["coverage", "Gini of exposure"]
    every = catalogue(popularity=range(12), feature_a=1.0, feature_b=range(12))
    assert list(beyond_relevance.measures(read(every))["metric"])[:4] == [
        "diversity by category",
        "diversity by features",
        "novelty by interactions",
        "novelty by users",
    ]


def test_items_without_an_entry_are_left_out_and_counted():
    items = catalogue(popularity=1.0)
    items.loc[items["item"] == "i0", ["category", "popularity"]] = np.nan
    study = read(items[items["item"] != "i1"])
    frame = beyond_relevance.measures(study).set_index("metric")
    shown = [ids[:5] for ids in FIGURES["shown"]]
    absent, empty = (sum(name in ids for ids in shown) for name in ("i1", "i0"))
    assert frame.loc["coverage", "left_out"] == absent
    assert (
        frame.loc[["diversity by category", "novelty by interactions"], "left_out"].tolist()
        == [absent + empty] * 2
    )
    assert "left out" in ranking_page.diversity(study).html


def test_clusters_widen_the_intervals_and_leave_the_values():
    rows = pd.concat(
        [
            runs().assign(query=lambda r, i=i: r["query"] + f"_{i}", user=lambda r: r["query"])
            for i in range(4)
        ]
    )
    rows["user"] = rows["query"].str[:2]
    alone, together = (
        beyond_relevance.measures(
            ranking.read(rows, items=catalogue(), metrics="ndcg@5", unit=unit)
        )
        for unit in (None, "user")
    )
    np.testing.assert_allclose(alone["value"], together["value"])
    wider = (together["high"] - together["low"]) > (alone["high"] - alone["low"])
    assert wider[alone["metric"].isin(["diversity by category", "novelty by users"])].all()


def test_without_items_or_without_lists_at_hand_there_is_none(monkeypatch):
    study = ranking.read(runs())
    assert not len(beyond_relevance.measures(study))
    assert not ranking_page.diversity(study).html
    monkeypatch.setattr(listed, "KEPT", 1)
    assert "Not computed" in ranking_page.diversity(read()).html


@pytest.mark.parametrize(
    "items, options, error, message",
    [
        (
            catalogue().assign(item=lambda t: t["item"] + "x"),
            {},
            InputError,
            "must share items with the ranked lists",
        ),
        (
            pd.concat([catalogue(), catalogue()[2:3]]),
            {},
            InputError,
            r"item must appear once, got 'i2' again",
        ),
        (catalogue(), {"columns": {"category": "genre"}}, ParameterError, "has no column 'genre'"),
    ],
)
def test_refusals(items, options, error, message):
    with pytest.raises(error, match=message):
        beyond_relevance.measures(read(items, **options))


def table(seed=2, queries=6, items=6):
    """Lists of which some items have no judgement; every query has a relevant and a non-relevant
    item.
    """
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, (queries, items)).astype(float)
    grade[rng.random(grade.shape) < 0.4] = np.nan
    grade[:, 1], grade[:, 4] = 2, 0
    query, item = np.indices(grade.shape).reshape(2, -1)
    scores = {
        "query": [f"q{i}" for i in query],
        "item": [f"d{i}" for i in item],
        "score": -item.astype(float),
    }
    return pd.DataFrame(scores | {"grade": grade.ravel()})


def judged_in_every_way(rows, top):
    """The tables in which each unjudged item of the first ranks of one query is relevant or not."""
    open_rows = rows.index[rows["grade"].isna() & (rows["score"] > -top)]
    for marks in itertools.product([0.0, 2.0], repeat=len(open_rows)):
        yield rows.assign(
            grade=rows["grade"].where(~rows.index.isin(open_rows), pd.Series(marks, open_rows))
        )


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
    """Relevant, unjudged, not relevant, unjudged: precision@2 is 1/2 or 1, and sets the depth to 2,
    so that the second unjudged item never counts: AP is 1 either way.
    """
    rows = {
        "query": "q",
        "item": list("abcd"),
        "score": [4, 3, 2, 1],
        "grade": [1, np.nan, 0, np.nan],
    }
    study = ranking.read(pd.DataFrame(rows), metrics="precision@2,map")
    frame = beyond_relevance.bounds(study).set_index("metric")
    assert frame.loc["precision@2", ["value", "low", "high", "n", "unjudged"]].tolist() == [
        0.5,
        0.5,
        1.0,
        1,
        1,
    ]
    assert frame.loc["average_precision", ["value", "low", "high"]].tolist() == [1.0, 1.0, 1.0]
    text = study.tables.unjudged.to_markdown()
    assert "0.50 to 1.00" in text


def test_every_unjudged_item_up_to_the_deepest_cut_off_counts():
    """As above; with the fourth item relevant alone AP is (1 + 2/4) / 2, with the second alone 1.
    """
    rows = {
        "query": "q",
        "item": list("abcd"),
        "score": [4, 3, 2, 1],
        "grade": [1, np.nan, 0, np.nan],
    }
    study = ranking.read(pd.DataFrame(rows), metrics="precision@4,map")
    limits = beyond_relevance.bounds(study).set_index("metric")[["low", "high"]]
    assert limits.loc["precision@4"].tolist() == [0.25, 0.75]
    assert limits.loc["average_precision"].tolist() == [0.75, 1.0]


def test_nothing_where_all_items_of_the_first_ranks_are_judged():
    rows = table().assign(grade=lambda rows: rows["grade"].fillna(0))
    assert not len(beyond_relevance.bounds(ranking.read(rows)))
    deep = table().assign(grade=lambda rows: rows["grade"].where(rows["score"] <= -2, 1.0))
    assert not len(beyond_relevance.bounds(ranking.read(deep, metrics="precision@2")))
    assert not ranking_page.unjudged(ranking.read(rows)).html


def test_a_query_without_a_relevant_item_stays_out():
    rows = {
        "query": ["q", "q", "r"],
        "item": list("abc"),
        "score": [2, 1, 1],
        "grade": [1, np.nan, 0],
    }
    rows = pd.concat(
        [pd.DataFrame(rows), pd.DataFrame({"query": ["r"], "item": ["d"], "score": [0.5]})]
    )
    frame = beyond_relevance.bounds(ranking.read(rows, metrics="precision@2,recall@1")).query(
        "metric == 'recall@1'"
    )
    assert frame[["low", "high", "n"]].to_numpy().tolist() == [[0.5, 1.0, 1]]


def test_a_cut_off_beyond_the_lists_is_noted():
    rows = table()
    codes = [
        finding.kind.code
        for finding in ranking_page.every_finding(ranking.read(rows, metrics="ndcg@6,recall@7"))
    ]
    assert "EK146" in codes
    codes = [
        finding.kind.code
        for finding in ranking_page.every_finding(ranking.read(rows, metrics="ndcg@6,map"))
    ]
    assert "EK146" not in codes
