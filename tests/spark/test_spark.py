"""Spark on two threads: whole groups, the numbers that memory gives, errors of one line, nothing
left behind.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Reading
from evalkit.pages import classification_page
from evalkit.reading.engines import backends, spark_worker
from evalkit.reading.engines.base import Query
from evalkit.reading.inputs.runs import read as read_runs
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import explained
from evalkit.studies import classification

ROOT = Path(__file__).resolve().parents[2]

# workers have no tests, and need no evalkit
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def rows(n: int, groups: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {"query": pa.array(rng.integers(0, groups, n)).cast(pa.string()), "x": rng.random(n)}
    )


def groups(table: pa.Table) -> list[pa.Table]:
    return [table.group_by("query").aggregate([("x", "count"), ("x", "sum")])]


def length(table: pa.Table) -> int:
    return len(table)


@pytest.fixture(scope="module")
def split(session, tmp_path_factory):
    """A table of 60,000 rows and 700 groups in 20 files, and its rows."""
    table = rows(60_000, 700)
    folder = tmp_path_factory.mktemp("split")
    session.createDataFrame(table).repartition(20).write.parquet(str(folder / "rows"))
    assert len(list((folder / "rows").glob("*.parquet"))) == 20
    return f"parquet.`{folder / 'rows'}`", table


def test_whole_groups_of_a_table_in_many_files_are_reduced(session, split):
    name, table = split
    engine = backends.Spark(session, Reading(worker=3_000))
    shards = engine.total(Query(f"SELECT * FROM {name}", name, group_column="query"), groups)
    found, (expected,) = pa.concat_tables(shards), groups(table)
    assert len(shards) > 1
    assert len(found) == 700  # a group cut in two would be two rows
    assert found.sort_by("query")["query"].equals(expected.sort_by("query")["query"])
    assert found.sort_by("query")["x_count"].equals(expected.sort_by("query")["x_count"])


def test_rows_that_come_as_they_are_are_summed(session, split):
    engine = backends.Spark(session, Reading(worker=3_000))
    query = Query(f"SELECT * FROM {split[0]}", "rows")
    shards = engine.total(query, lambda table: [len(table)])
    assert len(shards) > 3
    assert sum(shards) == 60_000
    assert (
        engine.total(query, length)
        == engine.total(replace(query, group_column="query"), length)
        == 60_000
    )


@pytest.mark.parametrize("rows_known", [9_000, 0], ids=["one fold", "two steps"])
def test_of_many_partitions_one_result_is_collected(session, monkeypatch, rows_known):
    seen = []
    read = backends._read
    monkeypatch.setattr(backends, "_read", lambda content: seen.append(1) or read(content))
    query = Query("SELECT id FROM range(0, 9000, 1, 30)", "numbers", rows=rows_known)
    assert backends.Spark(session).total(query, length) == 9000
    assert len(seen) == 1


def test_rows_are_streamed_in_whole_groups(session, split):
    shards = list(
        backends.Spark(session, Reading(worker=3_000)).stream(
            Query(f"SELECT * FROM {split[0]}", "rows", group_column="query")
        )
    )
    assert len(shards) > 1
    assert sum(map(len, shards)) == 60_000
    assert sum(len(set(shard["query"].to_pylist())) for shard in shards) == 700


def noise(table: pa.Table) -> list[np.ndarray]:
    """Numbers that no compression makes smaller: 8 of them a row, and so 2.4 MB of 40,000 rows."""
    return [np.random.default_rng(len(table)).integers(-(2**62), 2**62, 8 * len(table))]


def test_no_cell_is_larger_than_its_bound(session, monkeypatch):
    sizes = []
    bytes_of = []
    contents = spark_worker.contents

    def seen(batches):  # here, and in the workers that merge
        every = list(batches)
        sizes.extend(cell.as_buffer().size for batch in every for cell in batch["cell"])
        assert max(sizes, default=0) <= spark_worker.CELL
        for content in contents(every):
            bytes_of.append(content.size)
            yield content

    monkeypatch.setattr(spark_worker, "contents", seen)
    query = Query("SELECT id FROM range(0, 80000, 1, 2)", "numbers")
    found = backends.Spark(session).total(query, noise)
    expected = noise(pa.table({"id": np.arange(40_000)})) * 2
    np.testing.assert_array_equal(found, expected)
    assert max(bytes_of) > 2 * spark_worker.CELL
    assert max(sizes) == spark_worker.CELL
    assert sum(sizes) == sum(bytes_of)


def test_cells_in_any_order_are_the_contents_that_were_cut(monkeypatch):
    monkeypatch.setattr(spark_worker, "CELL", 3)
    several = [b"T12345678", b"E", b"T90"]
    cells = [cell for partition in (0, 7) for cell in spark_worker.cells(several, partition)]
    assert [len(cell["cell"][0].as_buffer()) for cell in cells] == [3, 3, 3, 1, 3] * 2
    order = np.random.default_rng(0).permutation(len(cells))
    found = spark_worker.contents([cells[i] for i in order])
    assert sorted(content.to_pybytes() for content in found) == sorted(several * 2)


def test_groups_are_bytes_whatever_the_collation(session):
    engine = backends.Spark(session, Reading(worker=2))
    table = pa.table({"query": ["a", "A", "a", "A", "b", "a", "A"], "x": np.arange(7.0)})
    query = "SELECT query COLLATE UTF8_LCASE AS query, x FROM t"
    found = pa.concat_tables(engine.total(Query(query, "t", {"t": table}, "query"), groups))
    assert sorted(zip(found["query"].to_pylist(), found["x_count"].to_pylist(), strict=True)) == [
        ("A", 3),
        ("a", 3),
        ("b", 1),
    ]


def test_workers_run_the_evalkit_that_was_sent(session):
    def told(table: pa.Table) -> list[tuple[str, str]]:
        from evalkit.reading.inputs import runs

        return [(type(runs.__spec__.loader).__name__, str(runs.__file__))]

    found = backends.Spark(session).total(Query("SELECT * FROM range(10)", "numbers"), told)
    assert {*found} == {("Carried", "evalkit/reading/inputs/runs.py")}


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [InputError, ParameterError])
def test_what_a_function_refuses_comes_back_as_it_was_raised(session, split, kind):
    def refuse(table: pa.Table) -> int:
        raise kind(f"x.csv: query {table['query'][0].as_py()!r} is wrong")

    with pytest.raises(kind, match=r"^x\.csv: query '\d+' is wrong$"):
        backends.Spark(session).total(
            Query(f"SELECT * FROM {split[0]}", "rows", group_column="query"), refuse
        )


def test_what_a_function_refuses_in_one_partition_of_many_is_not_merged_away(session):
    def refuse(table: pa.Table) -> int:
        if pc.max(table["id"]).as_py() == 4_499:
            raise InputError("x.csv: 4499 is wrong")
        return length(table)

    with pytest.raises(InputError, match=r"^x\.csv: 4499 is wrong$"):
        backends.Spark(session).total(
            Query("SELECT id FROM range(0, 9000, 1, 30)", "numbers"), refuse
        )


def test_what_a_function_does_wrong_is_one_line(session, split):
    def fail(table: pa.Table) -> int:
        raise ZeroDivisionError("no\nnumber")

    def lack(table: pa.Table) -> int:
        import numpyy

        return numpyy.sort(table)

    engine = backends.Spark(session)
    query = Query(f"SELECT * FROM {split[0]}", "rows")
    with pytest.raises(InputError, match=r"^rows: a worker failed, ZeroDivisionError: no$"):
        engine.total(query, fail)
    with pytest.raises(
        InputError, match=r"No module named 'numpyy'; set PYSPARK_PYTHON to a Python that has"
    ):
        engine.total(query, lack)


@pytest.mark.parametrize(
    "query, message",
    [
        (
            "SELECT nope FROM t",
            "rows: A column, variable, or function parameter with name `nope` cannot be resolved.",
        ),
        ("SELECT 1 +", "rows: Syntax error at or near ')'"),
        (
            "SELECT * FROM nowhere.t",
            "rows: there is no such table or view in this session's catalog",
        ),
        (
            "SELECT * FROM parquet.`/no/such.parquet`",
            "rows: Path does not exist: file:/no/such.parquet.",
        ),
        (
            "SELECT CAST('x' AS DOUBLE) FROM t",
            "rows: The value 'x' of the type \"STRING\" cannot be cast to",
        ),
    ],
)
def test_what_spark_refuses_is_one_line(session, query, message):
    with pytest.raises(InputError) as caught:
        backends.Spark(session).table(Query(query, "rows", {"t": rows(3, 1)}))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_no_row_is_said(session):
    with pytest.raises(InputError, match="rows: there is no row"):
        backends.Spark(session).total(
            Query("SELECT * FROM t WHERE x > 9", "rows", {"t": rows(3, 1)}, "query"), groups
        )
    empty = session.createDataFrame(rows(3, 1)).where("x > 9")
    with pytest.raises(InputError, match="Spark data frame: the table has columns and no rows"):
        sources.parts(empty)[0].load({"query": "query"}, {})


# What stays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [None, "77", "200000"])
def test_the_session_is_left_as_it_was(session, split, before):
    session.createDataFrame(rows(3, 1)).createOrReplaceTempView("t")
    conf = session.conf
    conf.unset(backends.BATCH_SIZE) if before is None else conf.set(backends.BATCH_SIZE, before)
    settings = dict(conf.getAll)
    views = [one.name for one in session.catalog.listTables()]
    engine = backends.Spark(session)
    try:
        # A frame of the call hides the session's own view of its name, for this call only.
        assert engine.table(Query("SELECT count(*) AS n FROM t", "t", {"t": rows(5, 1)}))[
            "n"
        ].to_pylist() == [5]
        engine.total(Query("SELECT * FROM t", "t", {"t": rows(5, 1)}, "query"), groups)
        with pytest.raises(InputError):
            engine.table(Query("SELECT nope FROM t", "t", {"t": rows(5, 1)}))
        assert session.table("t").count() == 3
        assert dict(conf.getAll) == settings
        assert [one.name for one in session.catalog.listTables()] == views
    finally:
        conf.unset(backends.BATCH_SIZE)
        session.catalog.dropTempView("t")


def test_batches_are_large_for_the_call(session):
    query = Query("SELECT id FROM range(0, 50000, 1, 1)", "numbers")
    assert backends.Spark(session).total(query, lambda table: [len(table)]) == [50_000]
    with backends.Spark(session)._large_batches():
        assert session.conf.get(backends.BATCH_SIZE) == str(backends.BATCH)


# Tables as inputs ---------------------------------------------------------------------------------


def frame(session, path: str):
    """A file of the checkout as a Spark data frame."""
    return session.createDataFrame(
        pa.Table.from_pandas(pd.read_csv(ROOT / path), preserve_index=False)
    )


def published(results) -> dict:
    """A report's JSON."""
    return json.loads(json.dumps(results._repr_mimebundle_()["application/vnd.evalkit+json"]))


def numbers(results) -> dict:
    """The numbers of a report, without what says where they come from."""
    return {
        k: v for k, v in published(results).items() if k not in ("inputs", "parameters", "versions")
    }


def test_a_classification_report_is_the_one_from_memory(session):
    path = "data/german_credit/predictions.csv"
    settings = {"segments": "housing", "positive": "1"}
    table = frame(session, path)
    table.createOrReplaceTempView("credit")
    here = numbers(classification_page.results(classification.read(str(ROOT / path), **settings)))
    for preds in (table, "spark:credit"):
        found = classification_page.results(classification.read(preds, **settings))
        assert numbers(found) == here
    assert published(found)["inputs"] == [
        {"name": "Spark table credit", "rows": len(pd.read_csv(ROOT / path)), "sha256": ""}
    ]
    assert published(found)["parameters"]["preds"] == "spark:credit"
    assert published(found)["versions"]["pyspark"]


def refused(data, **settings) -> str:
    with pytest.raises((InputError, ParameterError)) as caught:
        read_runs(data, **settings)
    return str(caught.value)


def test_tables_that_are_refused(session):
    def made(**changed) -> object:
        columns = {"query": ["1", "2"], "item": ["a", "b"], "score": [0.5, 0.25], "grade": [1, 0]}
        return session.createDataFrame(pa.table(columns | changed))

    assert refused("spark:nowhere.preds") == (
        "Spark table nowhere.preds: there is no such table or view in this session's catalog"
    )
    assert refused("spark: ") == "spark: must be followed by the name of a table, got nothing"
    assert refused(made(query=[1.0, 2.0])).endswith(
        "query must hold ids as text or whole numbers, got DOUBLE"
    )
    assert (
        refused(made(score=["0.5", "1d"]))
        == "Spark data frame: score must be a number, got '1d' (row 2)"
    )
    assert (
        refused(made(score=[0.5, None]))
        == "Spark data frame: score must be a finite number, got nothing (row 2)"
    )
    twice = made().selectExpr("query", "item", "score", "grade", "item AS Item")
    assert (
        refused(twice) == "Spark data frame: column names must be distinct, got 'item' and 'Item'"
    )
    assert read_runs(made()).systems == ("score",)


def churn(session):
    rows = [(0, 0.1), (1, 0.9), (1, 0.4), (0, 0.6)] * 5
    return session.createDataFrame(rows, "churn int, churn_probability double")


def test_columns_of_a_frame_are_recognised_by_their_cells(session):
    study = ek.classification(churn(session), metrics="roc_auc")
    assert study.systems == ("churn_probability",)
    assert study.estimates["value"].tolist() == [0.75]


def test_columns_of_a_table_that_only_spark_reads_are_recognised_by_their_cells(session):
    (part,) = sources.parts(churn(session), None, Reading(collected=5))
    assert part.head["churn"] == ["0", "1", "1", "0"] * 5


def test_a_large_table_is_collected_by_nothing(session):
    few = Reading(collected=9)
    table = session.createDataFrame(rows(10, 3)).selectExpr(
        "query", "query AS item", "x AS score", "1 AS grade"
    )
    assert refused(sources.parts(table, reading=few)).startswith(
        "Spark data frame: 10 rows are more than the 9 that this report collects"
    )
    assert backends.cluster_of(sources.parts(table, reading=few)).session is session
    assert backends.cluster_of(sources.parts(table.limit(9), reading=few)) is None


# The SQL of large tables --------------------------------------------------------------------------


def selected(session, table: pa.Table, text: dict, numbers: dict) -> pa.Table:
    (part,) = sources.parts(session.createDataFrame(table))
    engine = backends.Spark(session)
    chosen = part.select(text, numbers, engine.dialect, frame="frame7")
    with explained(chosen):
        return engine.table(Query(chosen.query, part.name, chosen.frames))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_columns_are_selected_by_role_without_a_guess(session, ansi):
    session.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        table = pa.table(
            {
                "q`1": ["007", "7"],
                "n": pa.array([2**60 + 1, 3], pa.int64()),
                "words": [" 1.5", "-2e3"],
                "yes": [True, False],
                "none": ["nan", None],
            }
        )
        found = selected(
            session,
            table,
            {"query": "q`1", "id": "n"},
            {"score": "words", "label": "yes", "w": "none"},
        )
        assert found.column_names == ["query", "id", "score", "label", "w"]
        assert found["query"].to_pylist() == ["007", "7"]
        assert found["id"].to_pylist() == ["1152921504606846977", "3"]
        assert found["score"].to_pylist() == [1.5, -2000.0]
        assert found["label"].to_pylist() == [1.0, 0.0]
        assert np.isnan(found["w"][0].as_py())
        assert found["w"][1].as_py() is None
        for wrong in ("1d", "x\n'</evalkit>", "0x10", "", "1,5"):
            with pytest.raises(InputError) as caught:
                selected(
                    session, pa.table({"q": ["a"], "s": [wrong]}), {"query": "q"}, {"score": "s"}
                )
            assert (
                str(caught.value)
                == f"Spark data frame: s must be a number, got '{wrong}'".split("</evalkit>")[0]
            )
    finally:
        session.conf.unset("spark.sql.ansi.enabled")


def test_columns_of_a_wrong_type_are_refused(session):
    table = pa.table({"q": [0.5], "s": [b"1"], "l": [["a"]]})
    with pytest.raises(
        InputError, match="Spark data frame: q must hold ids as text or whole numbers, got DOUBLE"
    ):
        selected(session, table, {"query": "q"}, {})
    with pytest.raises(
        InputError, match="Spark data frame: l must hold ids as text or whole numbers, got ARRAY"
    ):
        selected(session, table, {"item": "l"}, {})
    with pytest.raises(InputError, match="Spark data frame: s must hold numbers, got BINARY"):
        selected(session, table, {}, {"score": "s"})


def test_a_file_beside_a_table_is_sent_to_the_session(session):
    engine = backends.Spark(session)
    qrels = ROOT / "data/digits_retrieval/qrels.txt"
    (part,) = sources.parts(str(qrels))
    chosen = part.select({"query": "query"}, {"grade": "grade"}, engine.dialect, frame="judged")
    n = len(qrels.read_text(encoding="utf-8").splitlines())
    found = engine.table(Query.from_selection(chosen, "count(`grade`) AS n"))
    assert found["n"].to_pylist() == [n]


def test_pyspark_is_imported_only_for_spark():
    code = (
        "import sys; from evalkit.studies import classification; classification.read().estimates; "
        "assert not [name for name in sys.modules if name.startswith(('pyspark', 'py4j'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
