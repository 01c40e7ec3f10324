"""Ranked lists that return the query, spell items otherwise, or cannot reach 1; interactions."""

import math

import numpy as np
import pandas as pd
import pytest
from whole_pages import published, told as text_of_findings

from evalkit.arrays import InputError
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.numbers import number
from evalkit.pages import ranking_page
from evalkit.parameters.reports import RankingParameters
from evalkit.studies import ranking

BLOCKS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50, lists=20))
in_memory_and_in_blocks = pytest.mark.parametrize(
    "limits", [USUAL_LIMITS, BLOCKS], ids=["memory", "blocks"]
)


def study_of_lists(run: pd.DataFrame, qrels: pd.DataFrame, limits: Limits = USUAL_LIMITS, **more):
    """A study of ranked lists (run) and judgements (qrels), in memory or, with the limits BLOCKS,
    in blocks.
    """
    study = ranking.study_of(
        RankingParameters.from_raw({"preds": run, "qrels": qrels, **more}), limits
    )
    assert (study.runs.rankings == {}) == (limits is BLOCKS)
    return study


def lists_and_their_judgements(
    queries: int = 12, with_query_first: int = 12
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ranked lists and their judgements. Each list has three documents c… and, for the first
    with_query_first queries, the query t… itself before them. One document is relevant: the first,
    second and third of the three in turn from query to query.
    """
    rows = [(f"t{q}", f"c{q}{k}", 8.0 - k) for q in range(queries) for k in range(3)]
    rows += [(f"t{q}", f"t{q}", 9.0) for q in range(with_query_first)]
    judged = [(f"t{q}", f"c{q}{q % 3}", 1) for q in range(queries)]
    run = pd.DataFrame(rows, columns=["query", "item", "score"])
    return run, pd.DataFrame(judged, columns=["query", "item", "grade"])


def ndcg_of_one_relevant_item_at(rank: int) -> float:
    """The NDCG of a list whose only relevant item has this rank."""
    return 1 / math.log2(rank + 1)


# The query itself


@in_memory_and_in_blocks
def test_a_query_in_its_own_list_is_a_warning_with_both_values(limits):
    """Each of 12 lists has the query itself first, as similarity search returns it, and then three
    documents. The only relevant one is the first, second or third of them in turn, and so has rank
    2, 3 or 4, or 1, 2 or 3 if the query is left out. The warning gives nDCG with and without the
    query, and in how many lists it is.
    """
    kept = np.mean([ndcg_of_one_relevant_item_at(rank) for rank in (2, 3, 4)])
    without = np.mean([ndcg_of_one_relevant_item_at(rank) for rank in (1, 2, 3)])
    text = text_of_findings(
        study_of_lists(*lists_and_their_judgements(), limits, metrics="ndcg@10")
    )
    assert f"ndcg@10 is score {number(kept)} (without: {number(without)})" in text
    assert "score 12 of 12 queries" in text


@in_memory_and_in_blocks
def test_leaving_the_query_out_gives_the_values_without_it(limits):
    run, qrels = lists_and_their_judgements()
    study = study_of_lists(run, qrels, limits, metrics="ndcg@10,mrr", leave_out="query")
    without = study_of_lists(run[run["query"] != run["item"]], qrels, metrics="ndcg@10,mrr")
    assert study.estimates["value"].tolist() == without.estimates["value"].tolist()
    assert "is left out of its list" in text_of_findings(study)


def test_ranks_close_up_behind_the_query_that_is_left_out():
    """Each list is the query itself and three documents, with ranks in place of scores. The only
    relevant item has rank 2, 3 or 4, in turn from query to query. With leave_out="query" it has 1,
    2 or 3, from which nDCG follows.
    """
    run, qrels = lists_and_their_judgements()
    ranks = run.groupby("query")["score"].rank(ascending=False).astype(int)
    ranked = run.drop(columns="score").assign(rank=ranks)
    study = study_of_lists(ranked, qrels, metrics="ndcg@10", leave_out="query")
    expected = np.mean([ndcg_of_one_relevant_item_at(rank) for rank in (1, 2, 3)])
    (ndcg,) = study.estimates["value"]
    assert ndcg == pytest.approx(expected)


def test_ties_with_the_query_that_is_left_out_are_no_ties():
    run, qrels = lists_and_their_judgements()
    tied = run.assign(score=run["score"].replace(9.0, 8.0))
    assert study_of_lists(tied, qrels, leave_out="query").runs.list_accounts["score"].tied == 0


def test_the_judgement_of_the_query_itself_is_left_out_too():
    """Each of 12 queries has two relevant items, a document and, by a second judgement, the query
    itself; both are in its list. With leave_out="query", leaving the query out of its list alone
    would halve the recall; its judgement must be left out too, so that 12 of the 24 judgements
    remain.
    """
    run, qrels = lists_and_their_judgements(queries=12)  # with one judgement per query
    queries = run["query"].unique()
    of_queries_themselves = pd.DataFrame({"query": queries, "item": queries, "grade": 1})
    judgements = pd.concat([qrels, of_queries_themselves])
    study = study_of_lists(run, judgements, metrics="recall@10", leave_out="query")
    (recall,) = study.estimates["value"]
    assert recall == 1
    assert study.runs.judgements == 12


def test_lists_with_grades_of_their_own_leave_the_query_out():
    run, qrels = lists_and_their_judgements()
    with_grades = run.merge(qrels, how="left", on=["query", "item"])
    study = ranking.read(with_grades, metrics="ndcg@10", leave_out="query")
    expected = np.mean([ndcg_of_one_relevant_item_at(rank) for rank in (1, 2, 3)])
    assert study.estimates["value"].tolist() == pytest.approx([expected])


@pytest.mark.parametrize("form", ["a column of scores per system", "rows per system"])
def test_lists_of_two_systems_leave_the_query_out(form):
    """The table has two systems with the same lists, as two columns of scores or as rows of each
    system. A list has the query itself first and then three documents, of which the first, second
    or third is relevant, in turn from query to query. With leave_out="query" these have the ranks
    1, 2 and 3, from which the nDCG of both systems follows.
    """
    run, qrels = lists_and_their_judgements()
    if form == "rows per system":
        run = pd.concat([run.assign(system="a"), run.assign(system="b")])
    else:
        run = run.assign(score_a=run["score"], score_b=run["score"]).drop(columns="score")
    study = ranking.read(run, qrels=qrels, metrics="ndcg@10", leave_out="query")
    expected = np.mean([ndcg_of_one_relevant_item_at(rank) for rank in (1, 2, 3)])
    assert study.estimates["value"].tolist() == pytest.approx([expected, expected])


def lists_with_the_query_at(
    system: str, place: int, queries: int = 20
) -> list[tuple[str, str, str, int]]:
    """Lists of ten items with the query itself at a place."""
    rows = [(system, f"t{q}", f"c{q}{k}", -k) for q in range(queries) for k in range(1, 11)]
    return [
        (name, query, query if rank == -place else item, rank) for name, query, item, rank in rows
    ]


def systems_with_the_query_at(**places: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Systems with the query itself at a place of each list; the last item is relevant."""
    rows = [row for name, place in places.items() for row in lists_with_the_query_at(name, place)]
    run = pd.DataFrame(rows, columns=["system", "query", "item", "score"])
    judged = [(f"t{q}", f"c{q}10", 1) for q in range(20)]
    return run, pd.DataFrame(judged, columns=["query", "item", "grade"])


@in_memory_and_in_blocks
def test_a_system_with_the_query_at_a_later_place_is_named_too(limits):
    text = text_of_findings(
        study_of_lists(*systems_with_the_query_at(a=1, b=7), limits, metrics="mrr")
    )
    assert "reciprocal_rank is a 0.100 (without: 0.111), b 0.100 (without: 0.111)" in text


def test_a_system_without_the_query_is_not_named():
    assert "a 20 of 20 queries" in text_of_findings(
        study_of_lists(*systems_with_the_query_at(a=1, b=99), metrics="mrr")
    )


def test_the_query_at_the_second_of_ten_places_is_a_warning():
    assert "EK147" in text_of_findings(
        study_of_lists(*systems_with_the_query_at(a=2), metrics="mrr")
    )


def test_the_query_at_the_last_places_alone_is_no_warning():
    assert "EK147" not in text_of_findings(
        study_of_lists(*systems_with_the_query_at(a=9), metrics="mrr")
    )


@in_memory_and_in_blocks
def test_a_query_that_alone_is_judged_is_what_is_searched_for(limits):
    """Two systems return the query itself, at rank 1 or 2 of each list, and the query is the only
    judged item: it is what is searched for, such as a known item. The finding says that without it
    nothing would be left to measure, and gives no values without it.
    """
    run, qrels = systems_with_the_query_at(a=1, b=2)
    text = text_of_findings(
        study_of_lists(run, qrels.assign(item=qrels["query"]), limits, metrics="mrr")
    )
    assert "Without it nothing would be left to measure" in text
    assert "(without:" not in text


@in_memory_and_in_blocks
def test_leaving_out_the_only_judged_item_is_refused(limits):
    run, qrels = systems_with_the_query_at(a=1)
    with pytest.raises(InputError, match="got none; leave_out=query leaves nothing to measure"):
        study_of_lists(run, qrels.assign(item=qrels["query"]), limits, leave_out="query")


def test_a_few_queries_in_their_lists_are_no_warning():
    assert "EK147" not in text_of_findings(
        study_of_lists(*lists_and_their_judgements(queries=40, with_query_first=3))
    )


def test_users_and_items_with_the_same_numbers_are_no_warning():
    """EK147 is the warning that lists return their own query, as a search for similar items does at
    the first place. Here users take the place of queries. Users and items are both numbered from 0
    to 59, and each list has ten items at random. So a sixth of the lists, about ten, hold the
    number of their user by coincidence (`own`), but seldom at the first places, and there must be
    no warning.
    """
    rng = np.random.default_rng(5)
    rows = [
        (user, item, 9 - place)
        for user in range(60)
        for place, item in enumerate(rng.permutation(60)[:10])
    ]
    run = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
    judged = run.assign(grade=rng.integers(0, 2, len(run)))[["user_id", "item_id", "grade"]]
    study = study_of_lists(run, judged)
    lists_with_the_number_of_their_user = study.runs.list_accounts["score"].own
    assert lists_with_the_number_of_their_user > 6  # a tenth of the 60 lists
    assert "EK147" not in text_of_findings(study)


# Items that are written in two ways


@in_memory_and_in_blocks
@pytest.mark.parametrize(
    "respell",
    [str.upper, lambda item: f"{item}.jpg", lambda item: f" {item}"],
    ids=["upper case", "ending", "space"],
)
def test_items_written_otherwise_are_a_warning_from_a_tenth_of_the_queries_on(respell, limits):
    """The lists of 40 queries have three documents each. In the lists of four queries, a tenth,
    items are written in another way than in the judgements: in upper case, with an ending or with a
    space (`respell`). That is the warning EK149; in one list it is none. The limits let the lists
    be read in memory or in blocks.
    """
    # with_query_first=0: no list has the query itself among its items
    run, qrels = lists_and_their_judgements(queries=40, with_query_first=0)
    respelled_items = run["item"].map(respell)
    is_of_four_queries = run["query"].isin(["t0", "t1", "t2", "t3"])
    respelled_in_four = run.assign(item=run["item"].mask(is_of_four_queries, respelled_items))
    findings = text_of_findings(study_of_lists(respelled_in_four, qrels, limits))
    assert "only in case or ending: score 4 of 40 queries" in findings
    respelled_in_one = run.assign(item=run["item"].mask(run["query"] == "t0", respelled_items))
    assert "EK149" not in text_of_findings(study_of_lists(respelled_in_one, qrels, limits))


def test_other_items_are_no_other_spelling():
    run, qrels = lists_and_their_judgements(queries=40, with_query_first=0)
    other = run.assign(item=run["item"].where(run["query"] != "t1", "c1"))
    other = other.drop_duplicates(["query", "item"])
    assert "EK149" not in text_of_findings(study_of_lists(other, qrels))


# Ceilings


def lists_of_users(relevant: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lists of ten items of 40 users, each with some interactions, half of them returned."""
    rng = np.random.default_rng(4)
    rows = []
    judged = []
    for user in range(40):
        items = rng.permutation(300)[:10]
        rows += [(f"u{user}", f"i{item}", 9 - k) for k, item in enumerate(items)]
        judged += [(f"u{user}", f"i{items[0] if user % 2 else 999}", 1)]
        judged += [(f"u{user}", f"j{k}", 1) for k in range(relevant - 1)]
    run = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
    return run, pd.DataFrame(judged, columns=["user_id", "item_id", "grade"])


@in_memory_and_in_blocks
def test_a_cut_off_beyond_all_relevant_items_is_a_note_with_the_highest_value(limits):
    text = text_of_findings(
        study_of_lists(*lists_of_users(), limits, metrics="precision@10,recall@10")
    )
    assert "No list can reach 1, for the number of relevant items of every query: " in text
    assert "precision@10 at most 0.1." in text


def test_recall_above_a_cut_off_is_a_note_too():
    text = text_of_findings(study_of_lists(*lists_of_users(20), metrics="precision@10,recall@10"))
    assert "recall@10 at most 0.5." in text


@in_memory_and_in_blocks
def test_ceilings_stand_above_the_values(limits):
    study = study_of_lists(*lists_of_users(), limits, metrics="precision@10,recall@10,ndcg@10")
    assert "highest possible: precision@10 0.1" in ranking_page.estimates(study).text


def test_a_metric_that_some_query_can_bring_to_1_is_no_note():
    run, qrels = lists_of_users()
    many = pd.DataFrame({"user_id": "u1", "item_id": [f"k{i}" for i in range(10)], "grade": 1})
    text = text_of_findings(study_of_lists(run, pd.concat([qrels, many]), metrics="precision@10"))
    assert "EK151" not in text


# Interactions


def test_interactions_are_not_told_to_be_judged():
    study = study_of_lists(*lists_of_users())
    text = text_of_findings(study)
    assert "Items without an interaction of the user among the first 10" in text
    assert "EK145" not in text


@pytest.mark.parametrize("name", ["customer_id", "visitor", "Member ID"])
def test_interactions_are_those_of_people_whatever_their_column(name):
    run, qrels = (frame.rename(columns={"user_id": name}) for frame in lists_of_users())
    assert "EK148" in text_of_findings(study_of_lists(run, qrels, columns={"query": name}))


def test_judgements_of_not_relevant_items_are_judgements():
    run, qrels = lists_of_users()
    refused = qrels.assign(item_id="none", grade=0)
    assert "EK145" in text_of_findings(study_of_lists(run, pd.concat([qrels, refused])))


def test_queries_are_no_people():
    run, qrels = (frame.rename(columns={"user_id": "query"}) for frame in lists_of_users())
    assert "EK145" in text_of_findings(study_of_lists(run, qrels))


# Judged items that the table of items lacks


@in_memory_and_in_blocks
def test_judged_items_that_items_lack_are_said(limits):
    run, qrels = lists_of_users()
    items = pd.DataFrame({"item": [f"i{i}" for i in range(300)], "popularity": 1.0})
    assert "20 of 40 judgements are of items" in text_of_findings(
        study_of_lists(run, qrels, limits, items=items)
    )


def test_judged_items_that_items_have_are_not_said():
    run, qrels = lists_of_users()
    items = pd.DataFrame({"item": [f"i{i}" for i in range(1000)], "popularity": 1.0})
    assert "EK150" not in text_of_findings(study_of_lists(run, qrels, items=items))


def test_the_results_of_such_lists_follow_the_schema():
    assert published(study_of_lists(*lists_and_their_judgements()))["findings"]


def test_lists_that_hold_the_query_alone_are_refused_where_it_is_left_out():
    run = pd.DataFrame({"query": ["a", "b"], "item": ["a", "b"], "score": 1.0})
    qrels = pd.DataFrame({"query": ["a", "b"], "item": ["a", "c"], "grade": 1})
    with pytest.raises(InputError, match="must return items besides the query itself"):
        ranking.read(run, qrels, leave_out="query")
