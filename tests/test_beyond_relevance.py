"""Diversity, novelty and coverage on the ranking page, and limits where items are not judged."""

import itertools

import numpy as np
import pandas as pd
import pytest
from samples import expected as read_expected

from evalkit.arrays import InputError, ParameterError
from evalkit.pages import ranking_page
from evalkit.reading.inputs import lists as listed
from evalkit.studies import beyond_relevance, ranking

# five lists ("shown": the items of each, from the top), and what the package RecTools computed of
# them ("figures": diversity and novelty of each list, coverage and Gini index of all)
RECTOOLS = read_expected("lists")


def ranked_lists():
    """The five lists, of the queries q0 to q4, as a ranking table."""
    rows = [
        {"query": f"q{i}", "item": item, "score": -rank, "grade": rank % 2}
        for i, ids in enumerate(RECTOOLS["shown"])
        for rank, item in enumerate(ids)
    ]
    return pd.DataFrame(rows)


def catalogue(**more):
    """The twelve items i0 to i11, with their categories and the shares of users who know them."""
    table = pd.DataFrame({name: RECTOOLS["catalogue"][name] for name in ("item", "category")})
    share = np.array(RECTOOLS["catalogue"]["users"]) / RECTOOLS["users"]
    return table.assign(user_share=share, **more)


def study_of_five_lists(items=None, **options):
    """The study of the five lists with items, if they are not given those of the catalogue."""
    return ranking.read(
        ranked_lists(), items=catalogue() if items is None else items, metrics="ndcg@5", **options
    )


def test_the_page_has_the_figures_of_rectools():
    """RECTOOLS has five ranked lists, a catalogue of twelve items, and what the package RecTools
    computed for them: diversity and novelty of each list, of which the study has the means,
    coverage and the Gini index for all together, each from the first 5 items. Every value lies
    within its interval, and no item is left out, because the catalogue has all of them.
    """
    measures = beyond_relevance.measures(study_of_five_lists()).set_index("metric")
    figures = RECTOOLS["figures"]
    expected = {
        "diversity by category": np.mean(figures["diversity"]),
        "novelty by users": np.mean(figures["novelty"]),
        "coverage": figures["coverage"],
        "Gini of exposure": figures["gini"],
    }
    for metric, value in expected.items():
        assert measures.loc[metric, "value"] == pytest.approx(value, abs=1e-12)
    assert (measures["k"] == 5).all()
    assert (measures["low"] <= measures["value"]).all()
    assert (measures["value"] <= measures["high"]).all()
    assert not measures["left_out"].any()


def coverage_of(items_of_queries, catalogue, unit):
    """The row of the coverage by the full lists of the queries q0, q1, … with these items."""
    rows = [(f"q{i}", item) for i, items in enumerate(items_of_queries) for item in items]
    table = pd.DataFrame(rows, columns=["query", "item"]).assign(score=1.0, grade=1)
    study = ranking.read(
        table,
        items=pd.DataFrame({"item": catalogue}),
        metrics=f"precision@{len(catalogue)}",
        unit=unit,
    )
    return beyond_relevance.measures(study).set_index("metric").loc["coverage"]


each_size_and_unit = pytest.mark.parametrize(
    ("catalogue_size", "lists", "never_shown", "unit"),
    [
        (size, lists, never_shown, unit)
        for size, lists, never_shown in [(49, 11, 1), (60, 3, 1), (60, 7, 0), (7, 4, 0), (12, 6, 1)]
        for unit in (None, "query")
    ],
)


@each_size_and_unit
def test_coverage_by_equal_lists_is_the_share_of_their_items_without_limits(
    catalogue_size, lists, never_shown, unit
):
    """Lists that are all the same say nothing of how much others would differ."""
    catalogue = [f"i{i}" for i in range(catalogue_size)]
    shown = catalogue[: catalogue_size - never_shown]
    coverage = coverage_of([shown] * lists, catalogue, unit)
    assert coverage["value"] == (catalogue_size - never_shown) / catalogue_size
    assert np.isnan([coverage["low"], coverage["high"]]).all()


@each_size_and_unit
def test_coverage_has_limits_where_one_list_shows_an_item_of_its_own(
    catalogue_size, lists, never_shown, unit
):
    """Every list shows the same items, all but one or two of the catalogue; the first list also
    shows one that no other has. Lists drawn anew might not show it, so that the interval of the
    coverage reaches below its value. It stays above a half, because all lists show most of the
    catalogue. This holds for independent lists and for queries as units, with one list each.
    """
    catalogue = [f"i{i}" for i in range(catalogue_size)]
    shown_by_all = catalogue[: catalogue_size - never_shown - 1]
    with_one_more = [*shown_by_all, catalogue[-1]]
    coverage = coverage_of([with_one_more] + [shown_by_all] * (lists - 1), catalogue, unit)
    assert coverage["value"] == (catalogue_size - never_shown) / catalogue_size
    assert 0.5 < coverage["low"] < coverage["value"] <= coverage["high"] <= 1


def study_of_popular_and_random_lists(unit):
    """40 lists of five items by each of three systems. broad, the baseline, and alike draw them
    from all 60 items, popular from the 20 most popular ones.
    """
    rng = np.random.default_rng(5)
    items = np.array([f"i{i:02}" for i in range(60)])  # the most popular first
    catalogue = pd.DataFrame(
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
        for system, drawn_from in (("popular", 20), ("broad", 60), ("alike", 60))
        for query in range(40)
        for rank, item in enumerate(items[rng.permutation(drawn_from)[:5]])
    ]
    return ranking.read(
        pd.DataFrame(rows), items=catalogue, metrics="precision@5", baseline="broad", unit=unit
    )


@pytest.mark.parametrize("unit", [None, "user"])
def test_differences_are_those_of_the_measures_with_limits_that_agree_with_p(unit):
    """Two systems are compared with the baseline "broad" by each measure. A difference is that of
    the two values, and its 95 % interval excludes 0 exactly if p is below 0.05.
    """
    study = study_of_popular_and_random_lists(unit)
    value = beyond_relevance.measures(study).set_index(["metric", "system"])["value"]
    for row in beyond_relevance.differences(study).to_dict("records"):
        expected = value[row["metric"], row["first"]] - value[row["metric"], "broad"]
        assert row["difference"] == pytest.approx(expected, abs=1e-12)
        assert row["low"] <= row["difference"] <= row["high"]
        contains_0 = row["low"] <= 0 <= row["high"]
        assert (row["p"] < 0.05) == (not contains_0)
    assert "Differences among the first 5 items" in ranking_page.diversity(study).text


@pytest.mark.parametrize("unit", [None, "user"])
def test_lists_of_popular_items_differ_from_random_ones_and_random_ones_do_not(unit):
    """Three systems make 40 lists each: "popular" draws from the 20 most popular of 60 items,
    "alike" and the baseline "broad" from all 60. So popular differs from broad, while alike differs
    by chance alone: with this seed, none of its p-values is 0.01 or less. The units are the 40
    queries or, with several queries each, 12 users.
    """
    study = study_of_popular_and_random_lists(unit)
    differences = beyond_relevance.differences(study).set_index(["first", "metric"])
    popular, alike = differences.loc["popular"], differences.loc["alike"]
    assert popular.loc["novelty by interactions", "adjusted"] < 0.001
    assert popular.loc["coverage", "adjusted"] < 0.001
    assert (alike["p"] > 0.01).all()


def test_a_measure_needs_its_column():
    """Five lists are measured with a catalogue of their twelve items. Diversity needs a column of
    categories, or columns of features (feature_…), novelty their numbers of interactions
    (popularity) or the shares of users (user_share); without its column a measure is absent.
    Coverage and the Gini index need the ids of the items alone.
    """
    without_columns = study_of_five_lists(catalogue()[["item"]])
    needs_no_column = ["coverage", "Gini of exposure"]
    assert beyond_relevance.measures(without_columns)["metric"].tolist() == needs_no_column
    # the catalogue has item, category and user_share, to which the other columns are added
    with_all = catalogue(popularity=range(12), feature_a=1.0, feature_b=range(12))
    measures = beyond_relevance.measures(study_of_five_lists(with_all))
    assert measures["metric"].tolist() == [
        "diversity by category",
        "diversity by features",
        "novelty by interactions",
        "novelty by users",
        *needs_no_column,
    ]


def test_items_without_an_entry_are_left_out_and_counted():
    """Five lists show items of a catalogue, in which the item i0 has neither a category nor a
    popularity, and i1 is absent. Coverage needs the items alone and so leaves out i1; diversity and
    novelty leave out both. Each place among the first five of a list that shows such an item is
    counted (`left_out`), and the page says so.
    """
    items = catalogue(popularity=1.0)
    items.loc[items["item"] == "i0", ["category", "popularity"]] = np.nan
    study = study_of_five_lists(items[items["item"] != "i1"])
    left_out = beyond_relevance.measures(study).set_index("metric")["left_out"]
    first_five = [items_of_list[:5] for items_of_list in RECTOOLS["shown"]]
    times_of_i0 = sum("i0" in items_of_list for items_of_list in first_five)
    times_of_i1 = sum("i1" in items_of_list for items_of_list in first_five)
    assert left_out["coverage"] == times_of_i1
    assert left_out["diversity by category"] == times_of_i1 + times_of_i0
    assert left_out["novelty by interactions"] == times_of_i1 + times_of_i0
    assert "left out" in ranking_page.diversity(study).html


def test_clustering_by_user_widens_the_intervals_and_leaves_the_values():
    """Each of five users has four equal lists, one for each of 20 queries. The 20 lists tell no
    more than the 5 users do, so that an interval with the unit "user" must be wider.
    """
    lists = ranked_lists().rename(columns={"query": "user"})
    rows = pd.concat([lists.assign(query=lists["user"] + f"_{i}") for i in range(4)])
    parameters = {"items": catalogue(), "metrics": "ndcg@5"}
    by_query = beyond_relevance.measures(ranking.read(rows, **parameters)).set_index("metric")
    by_user = beyond_relevance.measures(ranking.read(rows, unit="user", **parameters))
    by_user = by_user.set_index("metric")
    np.testing.assert_allclose(by_query["value"], by_user["value"])
    for metric in ("diversity by category", "novelty by users"):
        width_by_query = by_query.loc[metric, "high"] - by_query.loc[metric, "low"]
        width_by_user = by_user.loc[metric, "high"] - by_user.loc[metric, "low"]
        assert width_by_user > width_by_query


def test_without_items_or_without_lists_in_memory_there_are_no_measures(monkeypatch):
    """Diversity and the like need a catalogue of items, and lists whose items stay in memory. At
    most KEPT rows do; if it is 1, the page says that the measures are not computed.
    """
    study = ranking.read(ranked_lists())
    assert not len(beyond_relevance.measures(study))
    assert not ranking_page.diversity(study).html
    monkeypatch.setattr(listed, "KEPT", 1)
    assert "Not computed" in ranking_page.diversity(study_of_five_lists()).html


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
        beyond_relevance.measures(study_of_five_lists(items, **options))


def lists_with_unjudged_items(seed=2, queries=6, items=6):
    """Lists of the queries q0, q1, …, of which some items have no judgement; each query has a
    relevant and a non-relevant item. The first score is 0, the next −1, and so on.
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


def judgements_in_every_way(rows, cut):
    """The tables in which each unjudged item among the first of one query has the grade 0 or 2, in
    all combinations.
    """
    unjudged = rows.index[rows["grade"].isna() & (rows["score"] > -cut)]
    for grades in itertools.product([0.0, 2.0], repeat=len(unjudged)):
        judged = rows.copy()
        judged.loc[unjudged, "grade"] = grades
        yield judged


METRICS_WITHOUT_THIS_CUT = [
    "map",
    "mrr",
    "recall@3",
    "err",
    "r_precision",
    "bpref",
    "rbp",
    "hit_rate@2",
]


@pytest.mark.parametrize("cut", [4, 6])
def test_the_limits_of_unjudged_items_are_the_extremes_over_every_way_to_judge_them(cut):
    """The list of a query has six items, some unjudged. Each unjudged item down to the cut-off is
    given the lowest grade, 0, or the highest, 2, in every combination, also for metrics with no or
    a smaller cut-off. The extremes of each metric must be the limits of `bounds`.
    """
    metrics = [f"ndcg@{cut}", f"precision@{cut}", *METRICS_WITHOUT_THIS_CUT]
    for _, list_of_query in lists_with_unjudged_items(queries=3).groupby("query"):
        limits = beyond_relevance.bounds(ranking.read(list_of_query, metrics=metrics))
        values = [  # a row per way to judge, a column per metric
            ranking.read(judged, metrics=metrics).estimates["value"]
            for judged in judgements_in_every_way(list_of_query, cut)
        ]
        np.testing.assert_allclose(np.min(values, axis=0), limits["low"], atol=1e-12)
        np.testing.assert_allclose(np.max(values, axis=0), limits["high"], atol=1e-12)


RELEVANT_THEN_UNJUDGED = pd.DataFrame(
    {"query": "q", "item": list("abcd"), "score": [4, 3, 2, 1], "grade": [1, np.nan, 0, np.nan]}
)


def test_an_unjudged_item_at_rank_2_leaves_precision_between_a_half_and_1():
    study = ranking.read(RELEVANT_THEN_UNJUDGED, metrics="precision@2,map")
    row = beyond_relevance.bounds(study).set_index("metric").loc["precision@2"]
    assert row[["value", "low", "high"]].tolist() == [0.5, 0.5, 1.0]
    assert row[["n", "unjudged"]].tolist() == [1, 1]
    assert "0.50 to 1.00" in study.tables.unjudged.to_markdown()


@pytest.mark.parametrize(("deepest", "low"), [("precision@2", 1.0), ("precision@4", 0.75)])
def test_average_precision_counts_the_unjudged_items_down_to_the_deepest_cut(deepest, low):
    """The items at ranks 1 to 4 are relevant, unjudged, not relevant and unjudged. Down to rank 2,
    the average precision is 1 whichever way the second is judged. Down to rank 4 it is lowest if
    only the fourth is relevant too: (1 + 2/4) / 2 = 0.75.
    """
    study = ranking.read(RELEVANT_THEN_UNJUDGED, metrics=f"{deepest},map")
    row = beyond_relevance.bounds(study).set_index("metric").loc["average_precision"]
    assert row[["value", "low", "high"]].tolist() == [1.0, low, 1.0]


def test_lists_whose_items_are_all_judged_have_no_limits_for_unjudged_items():
    rows = lists_with_unjudged_items()
    all_judged = rows.assign(grade=rows["grade"].fillna(0))
    study = ranking.read(all_judged)
    assert not len(beyond_relevance.bounds(study))
    assert not ranking_page.unjudged(study).html


def test_unjudged_items_below_the_cut_off_give_no_limits():
    """Lists have items with the scores 0, −1, −2 and so on, of which some are unjudged. The items
    at ranks 1 and 2 are all given a grade here. `bounds` has a row for each metric that unjudged
    items could change; precision@2 sees the first two items alone, so that there is none.
    """
    rows = lists_with_unjudged_items()
    is_deeper = rows["score"] <= -2
    first_two_judged = rows.assign(grade=rows["grade"].where(is_deeper, 1.0))
    assert first_two_judged["grade"].isna().any()
    study = ranking.read(first_two_judged, metrics="precision@2")
    assert not len(beyond_relevance.bounds(study))


def test_a_query_without_a_relevant_item_stays_out():
    """In the list of query q the first item is relevant and the second unjudged. So recall@1 finds
    one relevant item of one or of two. Query r has no item that is known to be relevant, so that
    its recall is undefined and n is 1.
    """
    rows = pd.DataFrame(
        [("q", "a", 2, 1), ("q", "b", 1, np.nan), ("r", "c", 1, 0), ("r", "d", 0.5, np.nan)],
        columns=["query", "item", "score", "grade"],
    )
    bounds = beyond_relevance.bounds(ranking.read(rows, metrics="precision@2,recall@1"))
    recall = bounds.set_index("metric").loc["recall@1"]
    assert (recall["low"], recall["high"]) == (1 / 2, 1 / 1)
    assert recall["n"] == 1


def codes_of(study):
    return [finding.kind.code for finding in ranking_page.every_finding(study)]


def test_a_cut_off_beyond_the_lists_is_noted():
    """Every list has six items, so that recall@7 counts no more than recall@6: finding EK146."""
    rows = lists_with_unjudged_items()
    assert "EK146" in codes_of(ranking.read(rows, metrics="ndcg@6,recall@7"))
    assert "EK146" not in codes_of(ranking.read(rows, metrics="ndcg@6,map"))
