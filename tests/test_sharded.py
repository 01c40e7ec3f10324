"""Runs measured shard by shard: the values of reading from memory to the last bit, its accounts,
its refusals.
"""

from functools import partial
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
EVERY = [
    lookup.find_metric(name if row.cut != "must" else f"{name}@5", "rankings")
    for name, row in lookup.TABLE.items()
    if row.structure == "rankings"
]
ASKS = [PerQuery(chosen, 1.0, ties) for chosen in EVERY for ties in (None, *ranking.TIES)]
ASKS += [InterpolatedPrecision(0.3, 1.0), Unjudged(5), LastRank()]


@pytest.fixture(params=[10**9, 250 * 10**6])
def limits(request):
    """Shards so small that there are many of them."""
    return engine.budget(request.param, threads=2, reading=Reading(shard=1_000, row=25_000))


def measured(limits, *args, asks=ASKS, **options):
    with engine.opened(limits) as e:
        return sharded.measured(e, RankingInput.from_data(*args, **options), asks)


def assert_same(a: runs.Runs, b: runs.Runs, asks=ASKS) -> None:
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
        for ask in asks:
            x = a.measure(system, ask)
            y = b.measure(system, ask)
            for one, other in ((x.numerator, y.numerator), (x.size, y.size)):
                assert np.array_equal(one, other, equal_nan=True), (system, ask)


def table(n: int = 100_000) -> pd.DataFrame:
    """Two systems, text ids, ties, unjudged rows, queries that one system misses, and a segment."""
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


def test_a_long_table_of_many_shards(limits, tmp_path):
    frame = table(40_000)
    assert len(frame) > 30_000
    for name, write in (("t.parquet", frame.to_parquet), ("t.csv", partial(frame.to_csv))):
        write(tmp_path / name, index=False)
        options = {"segments": ["language"]}
        assert_same(
            runs.read(tmp_path / name, **options), measured(limits, tmp_path / name, **options)
        )


def test_a_frame_and_a_choice_of_systems(limits):
    frame = table(20_000)
    assert_same(runs.read(frame, systems=["b's"]), measured(limits, frame, systems=["b's"]))


def test_trec_runs_with_judgements_and_a_table_of_queries(limits):
    here = DATA / "digits_retrieval"
    given = here / "runs", here / "qrels.txt"
    options = {"queries": here / "queries.csv", "segments": ["digit"]}
    assert_same(runs.read(*given, **options), measured(limits, *given, **options))


def test_wide_tables_and_ranks(limits, tmp_path):
    frame = table(30_000)
    wide = (
        frame[frame["system"] == "été"]
        .drop(columns=["system", "language"])
        .rename(columns={"score": "score_a"})
    )
    wide["score_b"] = -wide["score_a"]
    assert_same(runs.read(wide), measured(limits, wide))
    ranked = (
        wide.drop(columns=["score_b"]).sort_values("score_a").rename(columns={"score_a": "rank"})
    )
    ranked["rank"] = ranked.groupby("query").cumcount() + 1
    ranked.to_json(tmp_path / "one.jsonl", orient="records", lines=True)
    judged = frame[["query", "item", "grade"]].dropna().drop_duplicates().iloc[::3]
    other = ranked.assign(
        rank=ranked.groupby("query")["rank"].transform("max") + 1 - ranked["rank"]
    )
    other.to_csv(tmp_path / "two.csv", index=False)
    given = [tmp_path / "one.jsonl", tmp_path / "two.csv"], judged
    assert_same(runs.read(*given), measured(limits, *given))


def test_the_study_gives_the_same_page_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    table(60_000).to_parquet(path)
    given = {
        "segments": "language",
        "metrics": "ndcg@5,map,hit_ratio@3,success@1",
        "unit": "language",
        "gate": None,
    }
    given = {**given, "unit": None}
    a = ranking.read(str(path), **given)
    b = ranking.study_of(
        RankingParameters.from_raw({"preds": str(path), **given}), Limits(reading=Reading(lists=0))
    )
    assert a.runs.rankings
    assert not b.runs.rankings
    for frame in ("estimates", "comparisons", "by_segment", "curves", "precision_recall"):
        pd.testing.assert_frame_equal(getattr(a, frame), getattr(b, frame), check_exact=True)
    assert a.unjudged_share("été") == b.unjudged_share("été")


GOOD = {
    "query": ["a", "a", "b"],
    "item": ["x", "y", "x"],
    "score": [3.0, 2.0, 1.0],
    "grade": [1.0, 0.0, 2.0],
}


def test_the_kind_of_reading_follows_the_rows():
    frame = pd.DataFrame(GOOD)
    ask = PerQuery(lookup.find_metric("map", "rankings"), 1.0)
    assert sharded.read(RankingInput.from_data(frame), [ask], engine.budget(200 * 10**6)).rankings
    found = sharded.read(
        RankingInput.from_data(frame), [ask], engine.budget(200 * 10**6, reading=Reading(lists=2))
    )
    assert not found.rankings
    assert found.measure("score", ask).per_unit.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("system", [["a"] * 20, ["a", "b"] * 10])
def test_a_shard_may_hold_judged_queries_that_no_run_has(limits, system):
    """The last shard is the query of the largest hash, alone: here that, or another one, is judged
    and in no run.
    """
    every = [f"q{i}" for i in range(40)]
    judged = pd.DataFrame({"query": every, "item": "x", "grade": 1.0})
    for have in (every[20:], every[:20], every[10:30]):
        run = pd.DataFrame({"system": system, "query": have, "item": "x", "score": 1.0})
        found = measured(limits, run, judged)
        kept = runs.read(run, judged)
        for name in kept.systems:
            assert found.accounts[name] == kept.accounts[name]
