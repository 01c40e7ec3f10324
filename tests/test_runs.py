"""Runs: the same rankings from every kind of input, one order, one population, every row counted,
clear refusals.
"""

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.arrays import InputError
from evalkit.metrics import rankings
from evalkit.reading.inputs import runs
from evalkit.reading.tables import ids

ROWS = [
    ("s1", "q1", "a", 0.9, 1, 3.0),
    ("s1", "q1", "b", 0.5, 2, 0.0),
    ("s1", "q1", "c", 0.5, 3, 1.0),
    ("s1", "q2", "a", -1.0, 1, 1.0),
    ("s2", "q1", "b", 2.0, 1, 0.0),
    ("s2", "q1", "a", 1.0, 2, 3.0),
    ("s2", "q2", "a", 7.0, 1, 1.0),
    ("s2", "q2", "c", 7.0, 2, 0.0),
]
LONG = pd.DataFrame(ROWS, columns=["system", "query", "item", "score", "rank", "grade"])
QRELS = LONG[["query", "item", "grade"]].drop_duplicates()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def seen(data: runs.Runs) -> dict[str, tuple]:
    """What a set of runs holds, comparable."""
    return {
        name: (
            list(r.query),
            *(one.tolist() for one in (r.retrieved.grade, r.retrieved.tied, r.retrieved.offset)),
            *(one.tolist() for one in (r.ideal.grade, r.ideal.offset)),
            r.top_grade,
        )
        for name, r in data.rankings.items()
    }


# ---- the same from every input -------------------------------------------------------------------


def trec_folder(folder) -> None:
    """One run file a system."""
    for name, one in LONG.groupby("system"):
        lines = [f"{r.query} Q0 {r.item} {r.rank} {r.score!r} {name}\n" for r in one.itertuples()]
        (folder / f"{name}.run").write_text("".join(lines))


def test_every_kind_of_input_gives_the_same_rankings(here):
    table = LONG.drop(columns=["rank", "grade"])
    text = table.to_csv(index=False)
    (here / "x.csv").write_text(text)
    (here / "x.tsv").write_text(table.to_csv(index=False, sep="\t"))
    pq.write_table(pa.table(table), here / "x.parquet")
    lines = [json.dumps(row) + "\n" for row in table.to_dict("records")]
    (here / "x.jsonl").write_text("".join(lines))
    with pa.output_stream(str(here / "x.csv.zst"), compression="zstd") as stream:
        stream.write(text.encode())
    (here / "parts").mkdir()
    table[:3].to_csv(here / "parts/1.csv", index=False)
    table[3:].to_csv(here / "parts/2.csv", index=False)
    (here / "trec").mkdir()
    trec_folder(here / "trec")
    (here / "two_tags.run").write_text(
        "".join((here / f"trec/s{i}.run").read_text() for i in (1, 2))
    )
    expected = seen(runs.read(table, QRELS))
    assert list(expected) == ["s1", "s2"]
    inputs = ["x.csv", "x.tsv", "x.csv.zst", "x.parquet", "x.jsonl", "parts", "parts/*.csv"]
    inputs += ["trec", "two_tags.run", here / "x.csv"]
    for data in [
        *inputs,
        ["parts/1.csv", table[3:]],
        table.sample(frac=1, random_state=1),
        pa.table(table),
    ]:
        assert seen(runs.read(data, QRELS)) == expected, data


def test_every_kind_of_judgements_gives_the_same_rankings(here):
    expected = seen(runs.read(LONG, QRELS))
    QRELS.to_csv(here / "q.csv", index=False)
    (here / "q.txt").write_text(
        "".join(f"{r.query}\t0\t{r.item}  {r.grade:g}\n" for r in QRELS.itertuples())
    )
    for qrels in (
        "q.csv",
        "q.txt",
        pa.table(QRELS),
        QRELS.rename(columns={"grade": "rel", "query": "qid"}),
    ):
        assert seen(runs.read(LONG, qrels)) == expected


def test_grades_beside_the_rows_pool_those_of_all_systems():
    data = runs.read(LONG)
    assert data.pooled_ideal
    # s2 returned c of q2, which s1's ideal counts too
    assert seen(data) == seen(runs.read(LONG, QRELS))
    assert not runs.read(LONG, QRELS).pooled_ideal


def test_wide_tables():
    wide = pd.DataFrame(
        {"query": "q1", "item": ["a", "b"], "score_x": [1, 2], "score_y": [2.0, 1.0], "rel": [1, 0]}
    )
    data = runs.read(wide)
    assert {name: data.rankings[name].retrieved.grade.tolist() for name in data.systems} == {
        "x": [0, 1],
        "y": [1, 0],
    }
    assert data.columns["score"] == "score_x, score_y"
    assert runs.read(wide, systems=["y"]).systems == ("y",)
    named = wide.rename(columns={"score_x": "mine", "score_y": "theirs"})
    assert runs.read(named, systems=["mine", "theirs"]).systems == ("mine", "theirs")


def test_rank_instead_of_score_and_score_beats_rank():
    by_rank = LONG.drop(columns="score")
    assert runs.read(by_rank).rankings["s1"].retrieved.grade.tolist() == [3, 0, 1, 1]
    assert runs.read(by_rank).columns["rank"] == "rank"
    turned = LONG.assign(rank=[3, 2, 1, 1, 2, 1, 2, 1])
    assert seen(runs.read(turned)) == seen(runs.read(LONG))


def test_a_file_without_system_is_called_by_its_name(here):
    for name in ("bm25.csv.gz", "a.b.run", "x.trec", "plain", "my.system.v2.parquet"):
        table = LONG[LONG["system"] == "s1"][["query", "item", "score"]]
        lines = "".join(f"{r.query} Q0 {r.item} 1 {r.score} tag\n" for r in table.itertuples())
        if name.endswith("parquet"):
            pq.write_table(pa.table(table), name)
        else:
            text = table.to_csv(index=False) if "csv" in name else lines
            (here / name).write_bytes(
                gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
            )
    names = [
        runs.read(name, QRELS).systems[0] for name in ("bm25.csv.gz", "a.b.run", "x.trec", "plain")
    ]
    assert names == ["bm25", "a.b", "x", "plain"]
    assert runs.read("my.system.v2.parquet", QRELS).systems == ("my.system.v2",)


# ---- ids, order, population ----------------------------------------------------------------------


def test_ids_stay_different():
    big = [
        "007",
        "7",
        "18446744073709551617",
        "18446744073709551618",
        "NA",
        "null",
        "nan",
        "a\nb",
        "é",
    ]
    run = pd.DataFrame({"query": "q", "item": big, "score": range(len(big), 0, -1)})
    qrels = pd.DataFrame(
        {"query": "q", "item": ["7", "18446744073709551618", "NA", "é"], "grade": [1, 1, 1, 1]}
    )
    r = runs.read(run, qrels).rankings["score"]
    np.testing.assert_array_equal(
        r.retrieved.grade, [np.nan, 1, np.nan, 1, 1, np.nan, np.nan, np.nan, 1]
    )


def test_whole_number_ids_are_their_text(here):
    pq.write_table(pa.table({"query": [7], "item": [2**63 - 1], "score": [1]}), "x.parquet")
    (here / "q.csv").write_text(f"query,item,grade\n7,{2**63 - 1},1\n007,{2**63 - 1},1\n")
    data = runs.read("x.parquet", "q.csv")
    assert list(data.query) == ["007", "7"]
    assert data.rankings["x"].retrieved.length.tolist() == [0, 1]


def test_ties_fall_by_the_bytes_of_the_id_descending():
    items = ["B", "a", "é", "Z", "10", "9", "z", "\U0001f600", "\uffee"]
    run = pd.DataFrame({"query": "q", "item": items, "score": 0.0})
    qrels = pd.DataFrame({"query": "q", "item": items, "grade": range(len(items))})
    order = [items[int(g)] for g in runs.read(run, qrels).rankings["score"].retrieved.grade]
    assert order == sorted(items, key=str.encode, reverse=True)


def test_population_and_account():
    qrels = pd.DataFrame({"query": ["q1", "q2", "q3"], "item": "a", "grade": [1, 0, 1]})
    run = pd.DataFrame(
        {"query": ["q1", "q1", "q2", "q9", "q9"], "item": ["a", "x", "a", "a", "b"], "score": 1.0}
    )
    data = runs.read(run, qrels)
    assert list(data.query) == ["q1", "q2", "q3"]
    account = data.accounts["score"]
    expected = runs.ListAccount(
        rows=5, used=3, unjudged_query=2, missing=1, extra=1, tied=1, unjudged=1
    )
    assert account == expected
    assert account.rows == account.used + account.unjudged_query
    np.testing.assert_array_equal(rankings.precision(data.rankings["score"], 1), [0, np.nan, 0])


def test_grades_below_zero_are_not_judged_and_counted():
    qrels = pd.DataFrame({"query": "q", "item": ["a", "b", "c"], "grade": [2, -1, -2]})
    run = pd.DataFrame({"query": "q", "item": ["b", "a"], "score": [2, 1]})
    data = runs.read(run, qrels)
    assert data.negative == 2
    np.testing.assert_array_equal(data.rankings["score"].retrieved.grade, [np.nan, 2])
    assert data.rankings["score"].ideal.grade.tolist() == [2]


def test_an_empty_grade_is_no_judgement(here):
    (here / "x.csv").write_text("query,item,score,grade\nq,a,2,\nq,b,1,1\nr,a,1,\n")
    data = runs.read("x.csv")
    assert list(data.query) == ["q"]
    np.testing.assert_array_equal(data.rankings["x"].retrieved.grade, [np.nan, 1])
    assert data.accounts["x"].unjudged_query == 1


def test_attributes_are_constant_per_query(here):
    table = LONG.assign(
        seg=["x", "x", "x", None, "x", "x", None, None], user=[1, 1, 1, 2, 1, 1, 2, 2]
    )
    data = runs.read(table, segments=["seg", "user"])
    assert data.attributes["seg"].tolist() == ["x", "(none)"]
    assert data.attributes["user"].tolist() == ["1", "2"]
    (here / "queries.csv").write_text("query,seg\nq2,y\nq1,x\nq8,z\n")
    data = runs.read(LONG, QRELS, queries="queries.csv", segments=["seg"])
    assert data.attributes["seg"].tolist() == ["x", "y"]
    assert [one.name for one in data.sources] == ["data frame", "data frame", "queries.csv"]
    (here / "queries.csv").write_text("query,seg\nq2,y\n")
    assert runs.read(LONG, queries="queries.csv", segments=["seg"]).attributes["seg"].tolist() == [
        "(none)",
        "y",
    ]


def test_sources_are_listed_with_their_rows(here):
    trec_folder(here)
    data = runs.read("*.run", QRELS)
    assert [(one.name, one.rows) for one in data.sources] == [
        ("s1.run", 4),
        ("s2.run", 4),
        ("data frame", 5),
    ]


def test_columns_may_stand_in_the_judgements_only():
    qrels = QRELS.rename(columns={"grade": "stars"})
    run = LONG.drop(columns="grade")
    assert seen(runs.read(run, qrels, columns={"grade": "stars"})) == seen(runs.read(LONG, QRELS))


# ---- refusals ------------------------------------------------------------------------------------


def test_hashes_that_collide_change_nothing(monkeypatch):
    """Equal hashes of different items: their texts decide, in the run and in its judgements."""
    rng = np.random.default_rng(2)
    run = (
        pd.DataFrame({"query": rng.integers(0, 20, 900), "item": rng.integers(0, 90, 900)})
        .drop_duplicates()
        .astype(str)
    )
    run["score"] = rng.normal(size=len(run)).round(1)
    judged = run[["query", "item"]].iloc[::3].assign(grade=rng.integers(0, 3, len(run.iloc[::3])))
    a = runs.read(run, judged)
    monkeypatch.setattr(ids, "text_hashes", lambda texts: np.zeros(len(texts), np.uint64))
    b = runs.read(run, judged)
    one = a.rankings["score"]
    other = b.rankings["score"]
    assert np.array_equal(one.retrieved.grade, other.retrieved.grade, equal_nan=True)
    assert np.array_equal(one.ideal.grade, other.ideal.grade)
    assert a.accounts == b.accounts
    with pytest.raises(InputError, match="must appear once in system 'score', got them again"):
        runs.read(pd.concat([run, run[:1]]), judged)
    with pytest.raises(
        InputError, match=r"query '\d+' and item '\d+' must appear once, got them again"
    ):
        runs.read(run, pd.concat([judged, judged[:1]]))


@pytest.mark.parametrize("grades", [(1, 2), (2, 1)])
def test_an_item_has_one_grade_for_a_query_in_all_systems(grades):
    shown = {"query": "q", "item": "d", "system": ["a", "b"], "score": 1.0, "grade": grades}
    with pytest.raises(InputError, match="must have one grade, got 1 and 2"):
        runs.read(pd.DataFrame(shown))
