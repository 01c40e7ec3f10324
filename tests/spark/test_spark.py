"""Spark on two threads: whole groups, the numbers that memory gives, errors of one line, nothing
left behind.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle

import evalkit as ek
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import ReadingLimits
from evalkit.pages import classification_page
from evalkit.reading.engines import backends, spark_worker
from evalkit.reading.engines.base import Query
from evalkit.reading.inputs.runs import read as read_runs
from evalkit.reading.tables import sources
from evalkit.reading.tables.parts import explain_failures
from evalkit.studies import classification

ROOT = Path(__file__).resolve().parents[2]

# workers have no tests, and need no evalkit
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def rows_of_queries(n: int, queries: int) -> pa.Table:
    """n rows, each of a random one of so many queries, with a random number x between 0 and 1."""
    rng = np.random.default_rng(0)
    return pa.table(
        {"query": pa.array(rng.integers(0, queries, n)).cast(pa.string()), "x": rng.random(n)}
    )


def count_and_sum_by_query(table: pa.Table) -> list[pa.Table]:
    return [table.group_by("query").aggregate([("x", "count"), ("x", "sum")])]


def number_of_rows(table: pa.Table) -> int:
    return len(table)


class StoredTable(NamedTuple):
    """The name of a table in SQL, and its rows."""

    name: str
    rows: pa.Table


@pytest.fixture(scope="module")
def table_in_20_files(session, tmp_path_factory):
    """60,000 rows of 700 queries, each of which is in several of 20 Parquet files."""
    table = rows_of_queries(60_000, queries=700)
    folder = tmp_path_factory.mktemp("split")
    session.createDataFrame(table).repartition(20).write.parquet(str(folder / "rows"))
    assert len(list((folder / "rows").glob("*.parquet"))) == 20
    return StoredTable(f"parquet.`{folder / 'rows'}`", table)


def test_whole_groups_of_a_table_in_many_files_are_reduced(session, table_in_20_files):
    """The 60,000 rows are in groups, those of one query each; a worker reduces about 3,000 rows at
    a time. Counts by query are those of one pass over all rows. Sums are not compared: they depend
    on the order of the rows.
    """
    name, rows = table_in_20_files
    engine = backends.Spark(session, ReadingLimits(worker=3_000))
    query = Query(f"SELECT * FROM {name}", name, group_column="query")
    shards = engine.total(query, count_and_sum_by_query)
    assert len(shards) > 1
    found = pa.concat_tables(shards).sort_by("query")
    assert len(found) == 700  # a group cut in two would be two rows
    (expected,) = count_and_sum_by_query(rows)
    expected = expected.sort_by("query")
    assert found["query"].equals(expected["query"])
    assert found["x_count"].equals(expected["x_count"])


def test_rows_without_groups_are_reduced_in_shards_and_their_results_added(
    session, table_in_20_files
):
    """A worker reduces about 3,000 of the 60,000 rows at a time, a shard. Results of shards are
    added by +, which joins lists and sums numbers: once to the list of the sizes of shards, and
    then to the number of all rows. The number is the same if shards must hold whole groups, here
    all rows of a query.
    """
    engine = backends.Spark(session, ReadingLimits(worker=3_000))
    query = Query(f"SELECT * FROM {table_in_20_files.name}", "rows")
    rows_per_shard = engine.total(query, lambda table: [len(table)])
    assert len(rows_per_shard) > 3
    assert sum(rows_per_shard) == 60_000
    assert engine.total(query, number_of_rows) == 60_000
    in_groups = replace(query, group_column="query")
    assert engine.total(in_groups, number_of_rows) == 60_000


@pytest.mark.parametrize("rows_known", [9_000, 0], ids=["one fold", "two steps"])
def test_of_many_partitions_one_result_is_collected(session, monkeypatch, rows_known):
    """The 9,000 numbers come in 30 partitions. Workers merge the results of partitions, by one fold
    if the query's rows are known to be few, and in two steps if their number is not known (0), so
    that the driver reads one result and not 30.
    """
    results_read_by_driver = []
    read = backends._read

    def read_and_note(content):
        results_read_by_driver.append(content)
        return read(content)

    monkeypatch.setattr(backends, "_read", read_and_note)
    query = Query("SELECT id FROM range(0, 9000, 1, 30)", "numbers", rows=rows_known)
    assert backends.Spark(session).total(query, number_of_rows) == 9_000
    assert len(results_read_by_driver) == 1


def test_rows_are_streamed_in_whole_groups(session, table_in_20_files):
    """The 60,000 rows of 700 queries come in shards of about 3,000 rows. A query with rows in two
    shards would be counted twice.
    """
    engine = backends.Spark(session, ReadingLimits(worker=3_000))
    query = Query(f"SELECT * FROM {table_in_20_files.name}", "rows", group_column="query")
    shards = list(engine.stream(query))
    assert len(shards) > 1
    assert sum(len(shard) for shard in shards) == 60_000
    assert sum(len(set(shard["query"].to_pylist())) for shard in shards) == 700


def incompressible_numbers(table: pa.Table) -> list[np.ndarray]:
    """Numbers that no compression makes smaller: 8 of them a row, and so 2.4 MB of 40,000 rows."""
    return [np.random.default_rng(len(table)).integers(-(2**62), 2**62, 8 * len(table))]


def test_no_cell_is_larger_than_its_bound(session, monkeypatch):
    """Spark carries a result in cells of a table, of at most CELL = 2^20 bytes each: the result is
    cut, and joined by `join_cells`. The result of each of two partitions of 40,000 rows is 2.4 MB
    of incompressible numbers, and so it has two full cells and a smaller one. The sizes of cells
    and of joined results are noted on the way; the latter must have as many bytes as their cells.
    """
    bytes_of_cells = []
    bytes_of_contents = []
    contents = spark_worker.join_cells

    def contents_and_sizes(batches):  # takes the place of `join_cells` here and in workers
        listed = list(batches)
        bytes_of_cells.extend(cell.as_buffer().size for batch in listed for cell in batch["cell"])
        assert max(bytes_of_cells, default=0) <= spark_worker.CELL
        for content in contents(listed):
            bytes_of_contents.append(content.size)
            yield content

    monkeypatch.setattr(spark_worker, "join_cells", contents_and_sizes)
    query = Query("SELECT id FROM range(0, 80000, 1, 2)", "numbers")
    found = backends.Spark(session).total(query, incompressible_numbers)
    of_each_partition = incompressible_numbers(pa.table({"id": np.arange(40_000)}))
    np.testing.assert_array_equal(found, of_each_partition * 2)
    assert max(bytes_of_contents) > 2 * spark_worker.CELL
    assert max(bytes_of_cells) == spark_worker.CELL
    assert sum(bytes_of_cells) == sum(bytes_of_contents)


def test_cells_in_any_order_are_the_contents_that_were_cut(monkeypatch):
    """Two partitions, 0 and 7, have the same three results, of 9, 1 and 3 bytes. In cells of at
    most 3 bytes the first has three cells and the others have one each. The shuffled cells are
    joined to the six results again.
    """
    monkeypatch.setattr(spark_worker, "CELL", 3)
    contents = [b"T12345678", b"E", b"T90"]
    cells = [
        *spark_worker.cells(contents, partition=0),
        *spark_worker.cells(contents, partition=7),
    ]
    bytes_per_cell = [len(cell["cell"][0].as_buffer()) for cell in cells]
    assert bytes_per_cell == [3, 3, 3, 1, 3] * 2
    order = np.random.default_rng(0).permutation(len(cells))
    found = spark_worker.join_cells([cells[i] for i in order])
    assert sorted(content.to_pybytes() for content in found) == sorted(contents * 2)


def test_groups_are_bytes_whatever_the_collation(session):
    """The collation UTF8_LCASE of Spark takes a and A for equal, but as ids of queries they are
    different: 3 rows of A, 3 of a and 1 of b.
    """
    # a worker reduces about two rows at a time
    engine = backends.Spark(session, ReadingLimits(worker=2))
    table = pa.table({"query": ["a", "A", "a", "A", "b", "a", "A"], "x": np.arange(7.0)})
    sql = "SELECT query COLLATE UTF8_LCASE AS query, x FROM t"
    query = Query(sql, "t", {"t": table}, group_column="query")
    found = pa.concat_tables(engine.total(query, count_and_sum_by_query)).to_pylist()
    rows_by_query = sorted((group["query"], group["x_count"]) for group in found)
    assert rows_by_query == [("A", 3), ("a", 3), ("b", 1)]


def test_workers_run_the_evalkit_that_was_sent(session):
    def told(table: pa.Table) -> list[tuple[str, str]]:
        from evalkit.reading.inputs import runs

        return [(type(runs.__spec__.loader).__name__, str(runs.__file__))]

    found = backends.Spark(session).total(Query("SELECT * FROM range(10)", "numbers"), told)
    assert {*found} == {("Carried", "evalkit/reading/inputs/runs.py")}


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [InputError, ParameterError])
def test_what_a_function_refuses_comes_back_as_it_was_raised(session, table_in_20_files, error):
    """A worker calls the function for the rows of some queries. The error that it raises there,
    InputError or ParameterError, is raised here with the same class and message.
    """

    def refuse(table: pa.Table) -> int:
        raise error(f"x.csv: query {table['query'][0].as_py()!r} is wrong")

    with pytest.raises(error, match=r"^x\.csv: query '\d+' is wrong$"):
        backends.Spark(session).total(
            Query(f"SELECT * FROM {table_in_20_files.name}", "rows", group_column="query"), refuse
        )


def test_what_a_function_refuses_in_one_partition_of_many_is_not_merged_away(session):
    """The numbers from 0 to 8,999 come in 30 partitions of 300. The function refuses the one that
    ends with 4,499; results of the others are merged.
    """

    def refuse(table: pa.Table) -> int:
        if pc.max(table["id"]).as_py() == 4_499:
            raise InputError("x.csv: 4499 is wrong")
        return number_of_rows(table)

    with pytest.raises(InputError, match=r"^x\.csv: 4499 is wrong$"):
        backends.Spark(session).total(
            Query("SELECT id FROM range(0, 9000, 1, 30)", "numbers"), refuse
        )


def test_an_error_in_a_worker_is_the_first_line_of_its_message(session, table_in_20_files):
    def fail(table: pa.Table) -> int:
        raise ZeroDivisionError("no\nnumber")

    query = Query(f"SELECT * FROM {table_in_20_files.name}", "rows")
    with pytest.raises(InputError, match=r"^rows: a worker failed, ZeroDivisionError: no$"):
        backends.Spark(session).total(query, fail)


def test_a_package_that_workers_lack_is_named_with_what_to_do(session, table_in_20_files):
    """A worker calls a function that imports numpyy, a package that does not exist, as a package
    may be missing on workers alone. The error names it and says how to choose another Python.
    """

    def import_what_is_not_there(table: pa.Table) -> int:
        import numpyy

        return numpyy.sort(table)

    query = Query(f"SELECT * FROM {table_in_20_files.name}", "rows")
    with pytest.raises(
        InputError, match=r"No module named 'numpyy'; set PYSPARK_PYTHON to a Python that has"
    ):
        backends.Spark(session).total(query, import_what_is_not_there)


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
        backends.Spark(session).table(Query(query, "rows", {"t": rows_of_queries(3, queries=1)}))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_query_without_a_row_is_refused(session):
    """No x is greater than 1."""
    sql = "SELECT * FROM t WHERE x > 9"
    query = Query(sql, "rows", {"t": rows_of_queries(3, queries=1)}, group_column="query")
    with pytest.raises(InputError, match="rows: there is no row"):
        backends.Spark(session).total(query, count_and_sum_by_query)


def test_a_data_frame_without_a_row_is_refused(session):
    """No x is greater than 1."""
    empty = session.createDataFrame(rows_of_queries(3, queries=1)).where("x > 9")
    with pytest.raises(InputError, match="Spark data frame: the table has columns and no rows"):
        sources.parts(empty)[0].load({"query": "query"}, {})


# What stays ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, "77", "200000"])
def test_the_session_is_left_as_it_was(session, batch_size):
    """The session has a view t of three rows. Each call brings a table t of five rows, which hides
    the view during the call only. Settings, such as the size of batches, and views are as before
    after two calls that succeed and one that fails.
    """
    session.createDataFrame(rows_of_queries(3, queries=1)).createOrReplaceTempView("t")
    if batch_size is None:
        session.conf.unset(backends.BATCH_SIZE)
    else:
        session.conf.set(backends.BATCH_SIZE, batch_size)
    settings = dict(session.conf.getAll)
    views = [view.name for view in session.catalog.listTables()]
    engine = backends.Spark(session)
    five_rows = {"t": rows_of_queries(5, queries=1)}
    try:
        counted = engine.table(Query("SELECT count(*) AS n FROM t", "t", five_rows))
        assert counted["n"].to_pylist() == [5]
        by_query = Query("SELECT * FROM t", "t", five_rows, group_column="query")
        engine.total(by_query, count_and_sum_by_query)
        with pytest.raises(InputError):
            engine.table(Query("SELECT nope FROM t", "t", five_rows))
        assert session.table("t").count() == 3
        assert dict(session.conf.getAll) == settings
        assert [view.name for view in session.catalog.listTables()] == views
    finally:
        session.conf.unset(backends.BATCH_SIZE)
        session.catalog.dropTempView("t")


def test_batches_are_large_for_the_call(session):
    query = Query("SELECT id FROM range(0, 50000, 1, 1)", "numbers")
    assert backends.Spark(session).total(query, lambda table: [len(table)]) == [50_000]
    with backends.Spark(session)._large_batches():
        assert session.conf.get(backends.BATCH_SIZE) == str(backends.BATCH)


# Tables as inputs ---------------------------------------------------------------------------------


def spark_frame_of_file(session, path: str):
    """A file of the checkout as a Spark data frame."""
    return session.createDataFrame(
        pa.Table.from_pandas(pd.read_csv(ROOT / path), preserve_index=False)
    )


def published_json(results) -> dict:
    """A report's JSON."""
    return json.loads(json.dumps(results._repr_mimebundle_()["application/vnd.evalkit+json"]))


def numbers_of_report(results) -> dict:
    """The numbers of a report, without what says where they come from."""
    return {
        k: v
        for k, v in published_json(results).items()
        if k not in ("inputs", "parameters", "versions")
    }


def test_a_classification_report_is_the_one_from_memory(session):
    """The numbers are those of the file, whether a Spark data frame is passed or the name of a
    view. The published JSON says that the data were the view, without a checksum of a file.
    """
    path = "data/german_credit/predictions.csv"
    settings = {"segments": "housing", "positive": "1"}
    table = spark_frame_of_file(session, path)
    table.createOrReplaceTempView("credit")
    of_file = classification_page.results(classification.read(str(ROOT / path), **settings))
    of_frame = classification_page.results(classification.read(table, **settings))
    of_view = classification_page.results(classification.read("spark:credit", **settings))
    assert numbers_of_report(of_frame) == numbers_of_report(of_file)
    assert numbers_of_report(of_view) == numbers_of_report(of_file)
    provenance = published_json(of_view)
    rows = len(pd.read_csv(ROOT / path))
    assert provenance["inputs"] == [{"name": "Spark table credit", "rows": rows, "sha256": ""}]
    assert provenance["parameters"]["preds"] == "spark:credit"
    assert provenance["versions"]["pyspark"]


def message_when_read_as_rankings(data, **settings) -> str:
    """The message of the error when a ranking report reads the data, which it must refuse."""
    with pytest.raises((InputError, ParameterError)) as caught:
        read_runs(data, **settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "spark:nowhere.preds",
            "Spark table nowhere.preds: there is no such table or view in this session's catalog",
        ),
        ("spark: ", "spark: must be followed by the name of a table, got nothing"),
    ],
)
def test_a_name_of_no_spark_table_is_refused(session, name, message):
    assert message_when_read_as_rankings(name) == message


def two_ranked_items(session, **changed):
    """A Spark data frame of two good rows, with some columns changed."""
    columns = {"query": ["1", "2"], "item": ["a", "b"], "score": [0.5, 0.25], "grade": [1, 0]}
    return session.createDataFrame(pa.table(columns | changed))


def test_a_good_spark_data_frame_is_not_refused(session):
    assert read_runs(two_ranked_items(session)).systems == ("score",)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"query": [1.0, 2.0]}, "query must hold ids as text or whole numbers, got DOUBLE"),
        ({"score": ["0.5", "1d"]}, "score must be a number, got '1d' (row 2)"),
        ({"score": [0.5, None]}, "score must be a finite number, got nothing (row 2)"),
    ],
    ids=["ids that are fractions", "a text as score", "no score"],
)
def test_a_wrong_column_of_a_spark_data_frame_is_refused(session, changed, message):
    found = message_when_read_as_rankings(two_ranked_items(session, **changed))
    assert found == f"Spark data frame: {message}"


def test_columns_that_differ_in_case_alone_are_refused(session):
    """Spark would take item and Item for the same column."""
    good = two_ranked_items(session)
    with_item_twice = good.selectExpr("query", "item", "score", "grade", "item AS Item")
    message = "Spark data frame: column names must be distinct, got 'item' and 'Item'"
    assert message_when_read_as_rankings(with_item_twice) == message


def churn(session):
    rows = [(0, 0.1), (1, 0.9), (1, 0.4), (0, 0.6)] * 5
    return session.createDataFrame(rows, "churn int, churn_probability double")


def test_columns_of_a_frame_are_recognised_by_their_cells(session):
    study = ek.classification(churn(session), metrics="roc_auc")
    assert study.systems == ("churn_probability",)
    assert study.estimates["value"].tolist() == [0.75]


def test_columns_of_a_table_that_only_spark_reads_are_recognised_by_their_cells(session):
    (part,) = sources.parts(churn(session), None, ReadingLimits(collected=5))
    assert part.head["churn"] == ["0", "1", "1", "0"] * 5


def test_a_table_of_more_rows_than_may_be_collected_stays_in_the_cluster(session):
    """At most 9 rows may be collected from Spark, i.e. fetched into memory. `sources.parts` opens a
    table: one of 10 rows stays in its cluster, and a ranking report, which must collect this one,
    refuses it. A table of 9 rows is collected when it is opened, so that it has no cluster any
    more. The rows are of 3 queries, with the columns of a ranking; their values do not matter.
    """
    few = ReadingLimits(collected=9)
    table = session.createDataFrame(rows_of_queries(10, queries=3)).selectExpr(
        "query", "query AS item", "x AS score", "1 AS grade"
    )
    assert message_when_read_as_rankings(sources.parts(table, reading=few)).startswith(
        "Spark data frame: 10 rows are more than the 9 that this report collects"
    )
    assert backends.cluster_of(sources.parts(table, reading=few)).session is session
    assert backends.cluster_of(sources.parts(table.limit(9), reading=few)) is None


# The SQL of large tables --------------------------------------------------------------------------


def columns_by_role(session, table: pa.Table, texts: dict, numbers: dict) -> pa.Table:
    """The columns that Spark selects from a table, each named by its role and cast to text or to a
    number. texts, numbers: the column of each role, role -> column.
    """
    (part,) = sources.parts(session.createDataFrame(table))
    engine = backends.Spark(session)
    chosen = part.select(texts, numbers, engine.dialect, frame="frame7")
    with explain_failures(chosen):
        return engine.table(Query(chosen.query, part.name, chosen.frames))


@pytest.mark.parametrize("ansi_enabled", ["true", "false"])
def test_columns_are_selected_by_role_without_a_guess(session, ansi_enabled):
    """Ids become texts and other values become doubles, in the ANSI mode of Spark's SQL, where a
    wrong cast is an error, and without it, where it is null.
    """
    session.conf.set("spark.sql.ansi.enabled", ansi_enabled)
    try:
        table = pa.table(
            {
                "q`1": ["007", "7"],  # different texts, and a name that SQL must quote
                "n": pa.array([2**60 + 1, 3], pa.int64()),  # a double would lose the 1
                "words": [" 1.5", "-2e3"],
                "yes": [True, False],
                "none": ["nan", None],  # a number that is NaN, and no number
            }
        )
        found = columns_by_role(
            session,
            table,
            texts={"query": "q`1", "id": "n"},
            numbers={"score": "words", "label": "yes", "w": "none"},
        )
        assert found.column_names == ["query", "id", "score", "label", "w"]
        assert found["query"].to_pylist() == ["007", "7"]
        assert found["id"].to_pylist() == ["1152921504606846977", "3"]  # 2^60 + 1
        assert found["score"].to_pylist() == [1.5, -2000.0]
        assert found["label"].to_pylist() == [1.0, 0.0]
        assert np.isnan(found["w"][0].as_py())
        assert found["w"][1].as_py() is None
    finally:
        session.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("ansi_enabled", ["true", "false"])
@pytest.mark.parametrize(
    ("text", "text_in_message"),
    [
        ("1d", "'1d'"),
        ("0x10", "'0x10'"),
        ("", "''"),
        ("1,5", "'1,5'"),
        ("x\n'</evalkit>", "'x\n'"),  # the mark behind evalkit's own words in an error of SQL
    ],
)
def test_a_text_that_is_no_number_is_refused_as_a_score(
    session, ansi_enabled, text, text_in_message
):
    """The column of scores holds one text, such as 1d, 0x10 or nothing, that some casts take for a
    number. The message quotes it, the same in the ANSI mode of Spark's SQL, where a wrong cast is
    an error, and without it, where it is null.
    """
    session.conf.set("spark.sql.ansi.enabled", ansi_enabled)
    table = pa.table({"q": ["a"], "s": [text]})
    try:
        with pytest.raises(InputError) as caught:
            columns_by_role(session, table, {"query": "q"}, {"score": "s"})
        assert str(caught.value) == f"Spark data frame: s must be a number, got {text_in_message}"
    finally:
        session.conf.unset("spark.sql.ansi.enabled")


def test_columns_of_a_wrong_type_are_refused(session):
    """Fractions and arrays are no ids, and bytes are no numbers."""
    table = pa.table({"q": [0.5], "s": [b"1"], "l": [["a"]]})
    with pytest.raises(
        InputError, match="Spark data frame: q must hold ids as text or whole numbers, got DOUBLE"
    ):
        columns_by_role(session, table, {"query": "q"}, {})
    with pytest.raises(
        InputError, match="Spark data frame: l must hold ids as text or whole numbers, got ARRAY"
    ):
        columns_by_role(session, table, {"item": "l"}, {})
    with pytest.raises(InputError, match="Spark data frame: s must hold numbers, got BINARY"):
        columns_by_role(session, table, {}, {"score": "s"})


def test_a_file_beside_a_table_is_sent_to_the_session(session):
    """A file of judgements is no Spark table. Its rows are sent to the session, so that Spark's SQL
    can count the grades: as many as the file has lines.
    """
    engine = backends.Spark(session)
    qrels = ROOT / "data/digits_retrieval/qrels.txt"
    (part,) = sources.parts(str(qrels))
    text_columns = {"query": "query"}  # role -> column
    number_columns = {"grade": "grade"}
    chosen = part.select(text_columns, number_columns, engine.dialect, frame="judged")
    lines = len(qrels.read_text(encoding="utf-8").splitlines())
    found = engine.table(Query.from_selection(chosen, "count(`grade`) AS n"))
    assert found["n"].to_pylist() == [lines]


def test_pyspark_is_imported_only_for_spark():
    code = (
        "import sys; from evalkit.studies import classification; classification.read().estimates; "
        "assert not [name for name in sys.modules if name.startswith(('pyspark', 'py4j'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
