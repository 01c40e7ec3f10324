"""Runs measured shard by shard: the values of reading from memory to the last bit, its accounts,
its refusals.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.catalogue import lookup
from evalkit.limits import Limits, ReadingLimits
from evalkit.parameters.reports import RankingParameters
from evalkit.reading.engines import backends as engine
from evalkit.reading.inputs import runs
from evalkit.reading.inputs.rows import RankingInput
from evalkit.reading.reductions import sharded
from evalkit.reading.reductions.sharded import (
    InterpolatedPrecision,
    LastRank,
    PerQuery,
    Unjudged,
)
from evalkit.studies import ranking

DATA = Path(__file__).resolve().parents[1] / "data"
EVERY = [  # metric of ranked lists
    lookup.find_metric(name if row.cut != "must" else f"{name}@5", "rankings")
    for name, row in lookup.TABLE.items()
    if row.structure == "rankings"
]
# what is computed of each query: each metric for each way to treat ties, and three more
ASKS = [PerQuery(metric, 1.0, ties) for metric in EVERY for ties in (None, *ranking.TIE_ORDERS)]
ASKS += [InterpolatedPrecision(0.3, 1.0), Unjudged(5), LastRank()]


@pytest.fixture(params=[10**9, 250 * 10**6], ids=["1 GB", "250 MB"])
def limits_of_small_shards(request):
    """Limits with this much memory, by which a table is read in shards of about 1,000 rows."""
    return engine.budget(request.param, threads=2, reading=ReadingLimits(shard=1_000, row=25_000))


def read_by_shards(limits, *data, **options):
    """All measures of an input, read shard by shard within these limits."""
    with engine.opened(limits) as opened_engine:
        return sharded.measured(opened_engine, RankingInput.from_data(*data, **options), ASKS)


def assert_same_by_shards_and_in_memory(limits, *data, **options):
    """`data` and `options` are the arguments of `runs.read`, which reads all rows into memory."""
    in_memory = runs.read(*data, **options)
    assert_same(in_memory, read_by_shards(limits, *data, **options))


def assert_same(a: runs.Runs, b: runs.Runs) -> None:
    """Two readings agree in what they say of the input, and in all values to the last bit."""
    for name in (
        "systems",
        "list_accounts",
        "columns",
        "sources",
        "pooled_ideal",
        "negative",
        "top_grade",
    ):
        assert getattr(a, name) == getattr(b, name), name
    assert np.array_equal(a.query, b.query)
    assert all(np.array_equal(a.attributes[name], b.attributes[name]) for name in a.attributes)
    for system in a.systems:
        for measure in ASKS:
            x = a.measure(system, measure)
            y = b.measure(system, measure)
            for one, other in ((x.numerator, y.numerator), (x.size, y.size)):
                assert np.array_equal(one, other, equal_nan=True), (system, measure)


def ranked_lists(n: int = 100_000) -> pd.DataFrame:
    """Ranked lists by the systems "été" and "b's", with columns query, item, score, grade and
    language: text ids, ties, unjudged rows, and queries that one system misses. n: the rows that
    are drawn, of which duplicates are dropped.
    """
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "system": rng.choice(["été", "b's"], n),
            "query": rng.integers(0, 900, n),
            "item": rng.integers(0, 400, n),
        }
    )
    frame = frame.drop_duplicates()
    key = frame["query"] * 400 + frame["item"]
    frame["grade"] = np.where(
        key % 5 == 0,
        np.nan,
        np.where(key % 11 == 0, key % 3 + 1.0, np.where(key % 101 == 0, -1.0, 0.0)),
    )
    frame["score"] = np.round(rng.normal(size=len(frame)), 1)
    frame = frame[(frame["system"] == "été") | (frame["query"] % 50 != 3)]
    frame["language"] = np.where(
        frame["query"] % 4 == 1, None, "l" + (frame["query"] % 3).astype(str)
    )
    frame["query"], frame["item"] = (
        "q" + frame["query"].astype(str),
        "d" + frame["item"].astype(str),
    )
    return frame


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_of_a_long_table_of_many_shards(limits_of_small_shards, tmp_path, suffix):
    """A file of ranked lists has one row per system, query and item: of 40,000 that are drawn, more
    than 30,000 remain without duplicates. By these limits it is read in shards of about 1,000 rows.
    Each metric of each query and system, and the account of what was read, must equal that of
    reading it into memory, to the last bit.
    """
    frame = ranked_lists(40_000)
    assert len(frame) > 30_000
    path = tmp_path / f"long.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    assert_same_by_shards_and_in_memory(limits_of_small_shards, path, segments=["language"])


def test_a_frame_and_a_choice_of_systems(limits_of_small_shards):
    """A data frame has ranked lists of two systems, of which one is asked for. All values are equal
    by shards of about 1,000 rows and in memory.
    """
    assert_same_by_shards_and_in_memory(
        limits_of_small_shards, ranked_lists(20_000), systems=["b's"]
    )


def test_trec_runs_with_judgements_and_a_table_of_queries(limits_of_small_shards):
    """A folder of ranked lists in the format of TREC, a file of judgements and a table of queries,
    which has their segments, are read twice: in shards of about 1,000 rows, and into memory. Each
    metric of each query and system, and the account of what was read, must be equal to the last
    bit.
    """
    folder = DATA / "digits_retrieval"
    assert_same_by_shards_and_in_memory(
        limits_of_small_shards,
        folder / "runs",
        folder / "qrels.txt",
        queries=folder / "queries.csv",
        segments=["digit"],
    )


def test_a_wide_table_with_a_column_of_scores_for_each_system(limits_of_small_shards):
    """A table has one row per query and item, with the scores of two systems, score_a and score_b.
    The scores of b are the negative ones of a, so that b ranks items in opposite order. The table
    is read twice: in shards of about 1,000 rows, and into memory. Each metric of each query and
    system, and the account of what was read, must be equal to the last bit.
    """
    lists_of_two_systems = ranked_lists(30_000)
    is_first_system = lists_of_two_systems["system"] == "été"
    wide = lists_of_two_systems[is_first_system].rename(columns={"score": "score_a"})
    wide["score_b"] = -wide["score_a"]
    wide = wide.drop(columns=["system", "language"])
    assert_same_by_shards_and_in_memory(limits_of_small_shards, wide)


def test_files_of_ranks_and_judgements_of_a_part_of_the_items(limits_of_small_shards, tmp_path):
    """Each of two systems has a file of its own with the ranks of items, one as JSON lines, one as
    CSV; the second system has the ranks of the first in opposite order. Judgements of a third of
    the judged items are a table of their own. All is read twice: in shards of about 1,000 rows, and
    into memory. Each metric of each query and system, and the account of what was read, must be
    equal to the last bit.
    """
    lists_of_two_systems = ranked_lists(30_000)
    is_first_system = lists_of_two_systems["system"] == "été"
    first = lists_of_two_systems[is_first_system].sort_values("score")
    first["rank"] = first.groupby("query").cumcount() + 1
    first = first.drop(columns=["system", "language", "score"])
    last_rank = first.groupby("query")["rank"].transform("max")
    second = first.assign(rank=last_rank + 1 - first["rank"])
    first.to_json(tmp_path / "one.jsonl", orient="records", lines=True)
    second.to_csv(tmp_path / "two.csv", index=False)
    files = [tmp_path / "one.jsonl", tmp_path / "two.csv"]
    judgements = lists_of_two_systems[["query", "item", "grade"]].dropna().drop_duplicates()
    every_third_judgement = judgements.iloc[::3]
    assert_same_by_shards_and_in_memory(limits_of_small_shards, files, every_third_judgement)


def test_the_study_of_shards_has_the_numbers_of_the_study_in_memory(tmp_path):
    """A file of ranked lists is studied twice: within the usual limits, by which the lists are held
    in memory, and with `lists`, the number of rows up to which they are held, set to 0. Then they
    are read by shards and only the values of queries are kept. All tables and the share of unjudged
    items are equal to the last bit.
    """
    path = str(tmp_path / "long.parquet")
    ranked_lists(60_000).to_parquet(path)
    options = {"segments": "language", "metrics": "ndcg@5,map,hit_ratio@3,success@1"}
    parameters = RankingParameters.from_raw({"preds": path, **options})
    in_memory = ranking.study_of(parameters, Limits())
    by_shards = ranking.study_of(parameters, Limits(reading=ReadingLimits(lists=0)))
    assert in_memory.runs.rankings
    assert not by_shards.runs.rankings
    for name in ("estimates", "comparisons", "by_segment", "curves", "precision_recall"):
        table_in_memory = getattr(in_memory, name)
        table_by_shards = getattr(by_shards, name)
        pd.testing.assert_frame_equal(table_by_shards, table_in_memory, check_exact=True)
    assert in_memory.unjudged_share("été") == by_shards.unjudged_share("été")


@pytest.mark.parametrize(("most_rows_held", "are_held"), [(3, True), (2, False)])
def test_rankings_are_held_in_memory_up_to_a_number_of_rows(most_rows_held, are_held):
    """The input has three ranked items. Their rankings are held in memory if the limit is three
    rows, not if it is two. The average precision is the same: 1 for both queries, as the first item
    of each is the only one with a grade of at least 1.
    """
    ranked_items = pd.DataFrame(
        {
            "query": ["a", "a", "b"],
            "item": ["x", "y", "x"],
            "score": [3.0, 2.0, 1.0],
            "grade": [1.0, 0.0, 2.0],
        }
    )
    lowest_relevant_grade = 1.0
    average_precision = PerQuery(lookup.find_metric("map", "rankings"), lowest_relevant_grade)
    limits = engine.budget(memory=200 * 10**6, reading=ReadingLimits(lists=most_rows_held))
    read = sharded.read(RankingInput.from_data(ranked_items), [average_precision], limits)
    assert bool(read.rankings) == are_held
    # the only system is called score, after its column
    assert read.measure("score", average_precision).per_unit.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "system_of_each_query", [["a"] * 20, ["a", "b"] * 10], ids=["one system", "two systems"]
)
def test_a_shard_may_hold_judged_queries_that_no_run_has(
    limits_of_small_shards, system_of_each_query
):
    """40 queries are judged, of which the runs have 20, with the systems `system_of_each_query`.
    Queries are divided into shards by their hashes, and the query with the largest hash is alone in
    the last shard. Of three choices of 20 queries at least one is without this query, whichever it
    is, so that its shard has judgements alone. The accounts of what was read, such as numbers of
    missing queries, are those of reading into memory.
    """
    queries = [f"q{i}" for i in range(40)]
    judgements = pd.DataFrame({"query": queries, "item": "x", "grade": 1.0})
    for queries_of_runs in (queries[20:], queries[:20], queries[10:30]):
        ranked = pd.DataFrame(
            {"system": system_of_each_query, "query": queries_of_runs, "item": "x", "score": 1.0}
        )
        by_shards = read_by_shards(limits_of_small_shards, ranked, judgements)
        in_memory = runs.read(ranked, judgements)
        for name in in_memory.systems:
            assert by_shards.list_accounts[name] == in_memory.list_accounts[name]
