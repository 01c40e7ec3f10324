"""Runs measured shard by shard: the values of reading from memory to the last bit, its accounts,
its refusals.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.catalogue import lookup
from evalkit.limits import Limits, Reading
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
ASKS = [PerQuery(metric, 1.0, ties) for metric in EVERY for ties in (None, *ranking.TIES)]
ASKS += [InterpolatedPrecision(0.3, 1.0), Unjudged(5), LastRank()]


@pytest.fixture(params=[10**9, 250 * 10**6], ids=["1 GB", "250 MB"])
def small_shards(request):
    """Limits with this much memory, by which a table is read in shards of about 1,000 rows."""
    return engine.budget(request.param, threads=2, reading=Reading(shard=1_000, row=25_000))


def measured_by_shards(limits, *data, **options):
    """All measures of an input, read shard by shard within these limits."""
    with engine.opened(limits) as opened_engine:
        return sharded.measured(opened_engine, RankingInput.from_data(*data, **options), ASKS)


def assert_same_by_shards_and_in_memory(limits, *data, **options):
    """`data` and `options` are the arguments of `runs.read`, which reads all rows into memory."""
    in_memory = runs.read(*data, **options)
    assert_same(in_memory, measured_by_shards(limits, *data, **options))


def assert_same(a: runs.Runs, b: runs.Runs) -> None:
    """Two readings agree in what they say of the input, and in all values to the last bit."""
    for name in (
        "systems",
        "accounts",
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


def table(n: int = 100_000) -> pd.DataFrame:
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


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_a_file_of_a_long_table_of_many_shards(small_shards, tmp_path, format_name):
    frame = table(40_000)
    assert len(frame) > 30_000  # more than 30 shards
    path = tmp_path / f"long.{format_name}"
    write = {"parquet": frame.to_parquet, "csv": frame.to_csv}[format_name]
    write(path, index=False)
    assert_same_by_shards_and_in_memory(small_shards, path, segments=["language"])


def test_a_frame_and_a_choice_of_systems(small_shards):
    assert_same_by_shards_and_in_memory(small_shards, table(20_000), systems=["b's"])


def test_trec_runs_with_judgements_and_a_table_of_queries(small_shards):
    here = DATA / "digits_retrieval"
    options = {"queries": here / "queries.csv", "segments": ["digit"]}
    assert_same_by_shards_and_in_memory(small_shards, here / "runs", here / "qrels.txt", **options)


def test_a_wide_table_with_a_column_of_scores_for_each_system(small_shards):
    frame = table(30_000)
    wide = frame[frame["system"] == "été"].rename(columns={"score": "score_a"})
    wide["score_b"] = -wide["score_a"]
    wide = wide.drop(columns=["system", "language"])
    assert_same_by_shards_and_in_memory(small_shards, wide)


def test_files_of_ranks_and_judgements_of_a_part_of_the_items(small_shards, tmp_path):
    """Two files in two formats, of two systems: the second has the ranks of the first in opposite
    order.
    """
    frame = table(30_000)
    first = frame[frame["system"] == "été"].sort_values("score")
    first["rank"] = first.groupby("query").cumcount() + 1
    first = first.drop(columns=["system", "language", "score"])
    last_rank = first.groupby("query")["rank"].transform("max")
    second = first.assign(rank=last_rank + 1 - first["rank"])
    first.to_json(tmp_path / "one.jsonl", orient="records", lines=True)
    second.to_csv(tmp_path / "two.csv", index=False)
    files = [tmp_path / "one.jsonl", tmp_path / "two.csv"]
    a_third = frame[["query", "item", "grade"]].dropna().drop_duplicates().iloc[::3]
    assert_same_by_shards_and_in_memory(small_shards, files, a_third)


def test_the_study_of_shards_has_the_numbers_of_the_study_in_memory(tmp_path):
    """`lists` is the number of rows up to which rankings are held in memory."""
    path = str(tmp_path / "long.parquet")
    table(60_000).to_parquet(path)
    given = {"segments": "language", "metrics": "ndcg@5,map,hit_ratio@3,success@1"}
    in_memory = ranking.read(path, **given)
    parameters = RankingParameters.from_raw({"preds": path, **given})
    by_shards = ranking.study_of(parameters, Limits(reading=Reading(lists=0)))
    assert in_memory.runs.rankings
    assert not by_shards.runs.rankings
    for name in ("estimates", "comparisons", "by_segment", "curves", "precision_recall"):
        frames = getattr(in_memory, name), getattr(by_shards, name)
        pd.testing.assert_frame_equal(*frames, check_exact=True)
    assert in_memory.unjudged_share("été") == by_shards.unjudged_share("été")


@pytest.mark.parametrize(("rows_in_memory", "are_held"), [(3, True), (2, False)])
def test_rankings_are_held_in_memory_up_to_a_number_of_rows(rows_in_memory, are_held):
    """The three rows are of two queries, each with its only relevant item first: MAP is 1."""
    rows = {
        "query": ["a", "a", "b"],
        "item": ["x", "y", "x"],
        "score": [3.0, 2.0, 1.0],
        "grade": [1.0, 0.0, 2.0],
    }
    average_precision = PerQuery(lookup.find_metric("map", "rankings"), 1.0)
    limits = engine.budget(200 * 10**6, reading=Reading(lists=rows_in_memory))
    read = sharded.read(RankingInput.from_data(pd.DataFrame(rows)), [average_precision], limits)
    assert bool(read.rankings) == are_held
    assert read.measure("score", average_precision).per_unit.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("system", [["a"] * 20, ["a", "b"] * 10], ids=["one system", "two systems"])
def test_a_shard_may_hold_judged_queries_that_no_run_has(small_shards, system):
    """40 queries are judged, of which the runs have 20. The last shard is the query of the largest
    hash, alone: whichever it is, at least one choice of 20 queries is without it.
    """
    queries = [f"q{i}" for i in range(40)]
    judged = pd.DataFrame({"query": queries, "item": "x", "grade": 1.0})
    for queries_of_runs in (queries[20:], queries[:20], queries[10:30]):
        run = pd.DataFrame({"system": system, "query": queries_of_runs, "item": "x", "score": 1.0})
        by_shards = measured_by_shards(small_shards, run, judged)
        in_memory = runs.read(run, judged)
        for name in in_memory.systems:
            assert by_shards.accounts[name] == in_memory.accounts[name]
