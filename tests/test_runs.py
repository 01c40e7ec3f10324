"""Runs: the same rankings from every kind of input, one order, one population, every row counted,
clear refusals.
"""

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
TWO_SYSTEMS = pd.DataFrame(ROWS, columns=["system", "query", "item", "score", "rank", "grade"])
QRELS = TWO_SYSTEMS[["query", "item", "grade"]].drop_duplicates()  # 5 judgements


@pytest.fixture
def working_directory(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rankings_as_lists(data: runs.Runs) -> dict[str, tuple]:
    """The ranking of each system, as plain lists that == compares."""
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


def write_run_files(folder) -> None:
    """Write s1.run and s2.run, in the format of trec_eval."""
    for name, one in TWO_SYSTEMS.groupby("system"):
        lines = [f"{r.query} Q0 {r.item} {r.rank} {r.score!r} {name}\n" for r in one.itertuples()]
        (folder / f"{name}.run").write_text("".join(lines))


def test_every_kind_of_input_gives_the_same_rankings(working_directory):
    """The lists of the systems s1 and s2 are written to one file of each format, to two files whose
    rows are divided, and to a file per system. All of them, with the same judgements (QRELS), give
    the rankings of the data frame.
    """
    table = TWO_SYSTEMS.drop(columns=["rank", "grade"])
    text = table.to_csv(index=False)
    (working_directory / "x.csv").write_text(text)
    (working_directory / "x.tsv").write_text(table.to_csv(index=False, sep="\t"))
    pq.write_table(pa.table(table), working_directory / "x.parquet")
    lines = [json.dumps(row) + "\n" for row in table.to_dict("records")]
    (working_directory / "x.jsonl").write_text("".join(lines))
    with pa.output_stream(str(working_directory / "x.csv.zst"), compression="zstd") as stream:
        stream.write(text.encode())
    (working_directory / "parts").mkdir()
    table[:3].to_csv(working_directory / "parts/1.csv", index=False)
    table[3:].to_csv(working_directory / "parts/2.csv", index=False)
    (working_directory / "trec").mkdir()
    write_run_files(working_directory / "trec")
    (working_directory / "two_tags.run").write_text(
        "".join((working_directory / f"trec/s{i}.run").read_text() for i in (1, 2))
    )
    expected = rankings_as_lists(runs.read(table, QRELS))
    assert list(expected) == ["s1", "s2"]
    files = ["x.csv", "x.tsv", "x.csv.zst", "x.parquet", "x.jsonl", "two_tags.run"]
    folders_and_patterns = ["parts", "parts/*.csv", "trec"]
    file_and_frame = ["parts/1.csv", table[3:]]
    shuffled = table.sample(frac=1, random_state=1)
    for data in [
        *files,
        *folders_and_patterns,
        working_directory / "x.csv",
        file_and_frame,
        shuffled,
        pa.table(table),
    ]:
        assert rankings_as_lists(runs.read(data, QRELS)) == expected, data


def test_every_kind_of_judgements_gives_the_same_rankings(working_directory):
    """The judgements (QRELS) are a data frame of query, item and grade. As a CSV file, as a file of
    TREC, as an Arrow table and under other names of columns they say the same of two systems.
    """
    expected = rankings_as_lists(runs.read(TWO_SYSTEMS, QRELS))
    QRELS.to_csv(working_directory / "q.csv", index=False)
    (working_directory / "q.txt").write_text(
        "".join(f"{r.query}\t0\t{r.item}  {r.grade:g}\n" for r in QRELS.itertuples())
    )
    for qrels in (
        "q.csv",
        "q.txt",
        pa.table(QRELS),
        QRELS.rename(columns={"grade": "rel", "query": "qid"}),
    ):
        assert rankings_as_lists(runs.read(TWO_SYSTEMS, qrels)) == expected


def test_grades_beside_the_rows_pool_those_of_all_systems():
    data = runs.read(TWO_SYSTEMS)
    assert data.pooled_ideal
    # s2 returned c of q2, which s1's ideal counts too
    assert rankings_as_lists(data) == rankings_as_lists(runs.read(TWO_SYSTEMS, QRELS))
    assert not runs.read(TWO_SYSTEMS, QRELS).pooled_ideal


def test_a_wide_table_has_a_column_of_scores_for_each_system():
    """A row is an item with a column of scores per system and a grade. The order of the items a and
    b is by x from 2 to 1, b before a, and by y a before b. The scores of the systems may be chosen
    by name, also without the prefix score_.
    """
    wide = pd.DataFrame(
        {"query": "q1", "item": ["a", "b"], "score_x": [1, 2], "score_y": [2.0, 1.0], "rel": [1, 0]}
    )
    data = runs.read(wide)
    returned_grades = {name: data.rankings[name].retrieved.grade.tolist() for name in data.systems}
    assert returned_grades == {"x": [0, 1], "y": [1, 0]}  # a has grade 1, b has 0
    assert data.columns["score"] == "score_x, score_y"
    assert runs.read(wide, systems=["y"]).systems == ("y",)
    named = wide.rename(columns={"score_x": "mine", "score_y": "theirs"})
    assert runs.read(named, systems=["mine", "theirs"]).systems == ("mine", "theirs")


def test_rank_instead_of_score_and_score_beats_rank():
    by_rank = TWO_SYSTEMS.drop(columns="score")
    assert runs.read(by_rank).rankings["s1"].retrieved.grade.tolist() == [3, 0, 1, 1]
    assert runs.read(by_rank).columns["rank"] == "rank"
    turned = TWO_SYSTEMS.assign(rank=[3, 2, 1, 1, 2, 1, 2, 1])
    assert rankings_as_lists(runs.read(turned)) == rankings_as_lists(runs.read(TWO_SYSTEMS))


@pytest.mark.parametrize(
    ("file", "system"),
    [
        ("bm25.csv.gz", "bm25"),
        ("my.system.v2.parquet", "my.system.v2"),
        ("a.b.run", "a.b"),
        ("x.trec", "x"),
        ("plain", "plain"),
    ],
)
def test_a_file_without_a_column_of_systems_is_a_system_named_after_the_file(
    working_directory, file, system
):
    """The ranked lists of a system are in one file, as a table or, if its name ends in neither
    .parquet nor .csv.gz, in the format of TREC, whose last word, tag, is no name of a system. The
    system must be called by the name of the file without its ending, as bm25 for bm25.csv.gz.
    """
    rows = pd.DataFrame({"query": ["q1", "q1", "q2"], "item": list("aba"), "score": [0.9, 0.5, 1]})
    trec_lines = [f"{row.query} Q0 {row.item} 1 {row.score} tag\n" for row in rows.itertuples()]
    if file.endswith(".parquet"):
        rows.to_parquet(file, index=False)
    elif file.endswith(".csv.gz"):
        rows.to_csv(file, index=False)
    else:
        (working_directory / file).write_text("".join(trec_lines))
    assert runs.read(file, QRELS).systems == (system,)


# ---- ids, order, population ----------------------------------------------------------------------


def test_ids_stay_different():
    """Each id is its text: 007 is not 7, numbers above 2^64 that are one double differ, NA, null
    and nan are no missing values, and a line break and an accent stay. Only four of the items are
    judged, so only they have a grade.
    """
    items = [
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
    falling = range(len(items), 0, -1)  # so the list returns the items in the order above
    run = pd.DataFrame({"query": "q", "item": items, "score": falling})
    qrels = pd.DataFrame(
        {"query": "q", "item": ["7", "18446744073709551618", "NA", "é"], "grade": [1, 1, 1, 1]}
    )
    ranking = runs.read(run, qrels).rankings["score"]
    expected = [1 if item in set(qrels["item"]) else np.nan for item in items]
    np.testing.assert_array_equal(ranking.retrieved.grade, expected)


def test_whole_number_ids_are_their_text(working_directory):
    """The file x.parquet, of the system x, is a list of one row: the query 7 and the item 2^63 − 1,
    the largest of 64 bits, as numbers. The judgements are text, for the queries 7 and 007. The
    number 7 must be the query 7, whose list has one item, and not 007, which has none.
    """
    pq.write_table(pa.table({"query": [7], "item": [2**63 - 1], "score": [1]}), "x.parquet")
    (working_directory / "q.csv").write_text(
        f"query,item,grade\n7,{2**63 - 1},1\n007,{2**63 - 1},1\n"
    )
    data = runs.read("x.parquet", "q.csv")
    assert list(data.query) == ["007", "7"]
    assert data.rankings["x"].retrieved.length.tolist() == [0, 1]  # items listed for 007 and 7


def test_ties_fall_by_the_bytes_of_the_id_descending():
    items = ["B", "a", "é", "Z", "10", "9", "z", "\U0001f600", "\uffee"]
    run = pd.DataFrame({"query": "q", "item": items, "score": 0.0})
    qrels = pd.DataFrame({"query": "q", "item": items, "grade": range(len(items))})
    order = [items[int(g)] for g in runs.read(run, qrels).rankings["score"].retrieved.grade]
    assert order == sorted(items, key=str.encode, reverse=True)


def test_judged_queries_are_the_population_and_every_row_is_accounted_for():
    """The queries q1, q2 and q3 are judged; a run lists items for q1, q2 and q9, all with one
    score. Metrics are means over the judged queries, with or without a list. The account says of
    each row whether it is used, and counts what is unusual.
    """
    qrels = pd.DataFrame({"query": ["q1", "q2", "q3"], "item": "a", "grade": [1, 0, 1]})
    run = pd.DataFrame(
        {"query": ["q1", "q1", "q2", "q9", "q9"], "item": ["a", "x", "a", "a", "b"], "score": 1.0}
    )
    data = runs.read(run, qrels)
    assert list(data.query) == ["q1", "q2", "q3"]
    account = data.list_accounts["score"]
    expected = runs.ListAccount(
        rows=5,
        used=3,  # of q1 and q2
        unjudged_query=2,  # the rows of q9
        missing=1,  # q3 is judged and has no list
        extra=1,  # q9 has a list and is not judged
        tied=1,  # a and x of q1 have one score
        unjudged=1,  # x of q1
    )
    assert account == expected
    assert account.rows == account.used + account.unjudged_query
    # q1: of the tied items x comes before a; q2 has no relevant item; the missing q3 counts as 0
    np.testing.assert_array_equal(rankings.precision(data.rankings["score"], 1), [0, np.nan, 0])


def test_grades_below_zero_are_not_judged_and_counted():
    """In files of TREC a negative grade says that an item was not judged. Of the items a, b and c
    only a has a grade then, 2, and two negative grades are counted. The list returns b, which has
    no grade (NaN), and then a; the ideal list has the judged items alone, which is a.
    """
    qrels = pd.DataFrame({"query": "q", "item": ["a", "b", "c"], "grade": [2, -1, -2]})
    run = pd.DataFrame({"query": "q", "item": ["b", "a"], "score": [2, 1]})
    data = runs.read(run, qrels)
    assert data.negative == 2
    np.testing.assert_array_equal(data.rankings["score"].retrieved.grade, [np.nan, 2])
    assert data.rankings["score"].ideal.grade.tolist() == [2]


def test_an_empty_grade_is_no_judgement(working_directory):
    (working_directory / "x.csv").write_text("query,item,score,grade\nq,a,2,\nq,b,1,1\nr,a,1,\n")
    data = runs.read("x.csv")
    assert list(data.query) == ["q"]
    np.testing.assert_array_equal(data.rankings["x"].retrieved.grade, [np.nan, 1])
    assert data.list_accounts["x"].unjudged_query == 1


def test_attributes_in_the_rows_of_lists_become_one_value_per_query():
    """The segment and the user stand in each row of the lists of two systems, for the queries q1
    and q2; all rows of a query have the same.
    """
    of_q1 = TWO_SYSTEMS["query"] == "q1"  # the other rows are of q2
    table = TWO_SYSTEMS.assign(
        seg=np.where(of_q1, "x", None),  # None is a missing value
        user=np.where(of_q1, 1, 2),
    )
    data = runs.read(table, segments=["seg", "user"])
    assert list(data.query) == ["q1", "q2"]
    assert data.attributes["seg"].tolist() == ["x", "(none)"]
    assert data.attributes["user"].tolist() == ["1", "2"]


def test_attributes_in_a_table_of_queries_are_matched_by_the_name_of_the_query(working_directory):
    """The table is in another order than the judged queries q1 and q2, and has a query more."""
    (working_directory / "queries.csv").write_text("query,seg\nq2,y\nq1,x\nq8,z\n")
    data = runs.read(TWO_SYSTEMS, QRELS, queries="queries.csv", segments=["seg"])
    assert data.attributes["seg"].tolist() == ["x", "y"]
    assert [source.name for source in data.sources] == ["data frame", "data frame", "queries.csv"]


def test_a_query_that_the_table_of_queries_lacks_has_no_attribute(working_directory):
    (working_directory / "queries.csv").write_text("query,seg\nq2,y\n")  # q1 is judged too
    data = runs.read(TWO_SYSTEMS, queries="queries.csv", segments=["seg"])
    assert data.attributes["seg"].tolist() == ["(none)", "y"]


def test_sources_are_listed_with_their_rows(working_directory):
    """The lists are in the files s1.run and s2.run, the judgements (QRELS) in a data frame."""
    write_run_files(working_directory)  # s1.run and s2.run, with 4 rows each
    assert len(QRELS) == 5
    data = runs.read("*.run", QRELS)
    assert [(source.name, source.rows) for source in data.sources] == [
        ("s1.run", 4),
        ("s2.run", 4),
        ("data frame", 5),
    ]


def test_columns_may_stand_in_the_judgements_only():
    qrels = QRELS.rename(columns={"grade": "stars"})
    run = TWO_SYSTEMS.drop(columns="grade")
    assert rankings_as_lists(
        runs.read(run, qrels, columns={"grade": "stars"})
    ) == rankings_as_lists(runs.read(TWO_SYSTEMS, QRELS))


# ---- refusals ------------------------------------------------------------------------------------


def test_hashes_that_collide_change_nothing(monkeypatch):
    """Ids are looked up by a hash of their text. If all texts have the hash 0, the texts must
    decide whether two ids are equal. Then everything must be as with the usual hashes: the grades
    of the ranked items, the grades in the ideal order, the `accounts` (how many rows of the system
    were used, tied, unjudged, and so on), and the refusals of duplicates in the run and in the
    judgements. The run is 710 random items of 20 queries, a third of them judged; its one system is
    called after the column "score".
    """
    rng = np.random.default_rng(2)
    run = (
        pd.DataFrame({"query": rng.integers(0, 20, 900), "item": rng.integers(0, 90, 900)})
        .drop_duplicates()
        .astype(str)
    )
    run["score"] = rng.normal(size=len(run)).round(1)
    judged = run[["query", "item"]].iloc[::3]
    judged = judged.assign(grade=rng.integers(0, 3, len(judged)))
    with_usual_hashes = runs.read(run, judged)
    monkeypatch.setattr(ids, "text_hashes", lambda texts: np.zeros(len(texts), np.uint64))
    with_equal_hashes = runs.read(run, judged)
    expected = with_usual_hashes.rankings["score"]
    found = with_equal_hashes.rankings["score"]
    assert np.array_equal(found.retrieved.grade, expected.retrieved.grade, equal_nan=True)
    assert np.array_equal(found.ideal.grade, expected.ideal.grade)
    assert with_equal_hashes.list_accounts == with_usual_hashes.list_accounts
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
