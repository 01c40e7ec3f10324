"""Folders as engines write them: marks of success and hidden files are no data, folders key=value
are columns.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from engine_samples import classified

from evalkit import __main__
from evalkit.arrays import InputError
from evalkit.limits import Limits, ReadingLimits
from evalkit.metrics import rankings
from evalkit.metrics.rows import Sums
from evalkit.reading.engines import backends as engine
from evalkit.reading.inputs import runs
from evalkit.reading.inputs.rows import RankingInput
from evalkit.reading.reductions import sharded
from evalkit.reading.tables import sources
from evalkit.studies import classification, interleaving, rating, significance, validation

FILES_WITHOUT_DATA = (
    "_SUCCESS",
    "_committed_123",
    "_started_123",
    "_metadata",
    "_common_metadata",
    ".part-0.parquet.crc",
    ".hidden",
)


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """An empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def forecasts_of_A_and_B(n: int = 90) -> pd.DataFrame:
    """Forecasts of n actual values by system A, then as many rows by system B."""
    rng = np.random.default_rng(1)
    actual = rng.random(n)
    systems = [
        pd.DataFrame({"system": s, "id": np.arange(n), "actual": actual, "forecast": rng.random(n)})
        for s in "AB"
    ]
    return pd.concat(systems, ignore_index=True)


def write_file(rows: pd.DataFrame, path: Path) -> None:
    """Write rows as Parquet, CSV or lines of JSON, as the name ends; no rows as an empty JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        rows.to_parquet(path, index=False)
    elif path.suffix == ".csv":
        rows.to_csv(path, index=False)
    elif len(rows):
        rows.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        path.write_text("")


def write_partitioned(frame: pd.DataFrame, root, *, by: str, suffix: str = "parquet") -> None:
    """Write the rows of each value of a column to root/column=value/part-0.suffix, without this
    column, and beside the folders the files without data that an engine leaves there.
    """
    for value, rows in frame.groupby(by):
        write_file(rows.drop(columns=by), root / f"{by}={value}" / f"part-0.{suffix}")
    for name in FILES_WITHOUT_DATA:
        (root / name).write_bytes(b"")


def test_marks_of_engines_and_hidden_files_are_no_data(working_folder):
    """The table is written as two Parquet files. Beside them lie empty files, such as _SUCCESS,
    which are ignored: the folder gives the MAE of the whole table.
    """
    frame = forecasts_of_A_and_B()  # 180 rows
    (working_folder / "out").mkdir()
    frame[:100].to_parquet(working_folder / "out/part-00000-1f.snappy.parquet", index=False)
    frame[100:].to_parquet(working_folder / "out/part-00001-1f.snappy.parquet", index=False)
    for name in FILES_WITHOUT_DATA:  # _SUCCESS, .part-0.parquet.crc and others
        (working_folder / "out" / name).write_bytes(b"")
    expected = rating.read(frame, metrics="mae").estimates["value"].tolist()
    for path in ("out", "out/*"):
        assert rating.read(path, metrics="mae").estimates["value"].tolist() == expected


def test_a_file_of_data_is_read_though_its_name_begins_as_that_of_a_mark(working_folder):
    (working_folder / "out").mkdir()
    forecasts_of_A_and_B().to_parquet(working_folder / "out/part-0.parquet", index=False)
    (working_folder / "out/_mine.parquet").write_bytes(b"not Parquet")
    with pytest.raises(InputError, match=r"_mine\.parquet"):
        rating.read("out")


@pytest.mark.parametrize(
    "path", ["lake/t", "lake/t/day=1", "lake/t/data", "lake/**/*.parquet", "lake/t/data/a.parquet"]
)
@pytest.mark.parametrize(
    ("metadata_file", "table_format"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake"),
        ("metadata/v2.metadata.json", "Iceberg"),
        (".hoodie/hoodie.properties", "Hudi"),
    ],
)
def test_the_folder_of_a_table_format_is_refused_as_it_holds_deleted_rows(
    working_folder, capsys, metadata_file, table_format, path
):
    """Delta Lake, Iceberg and Hudi keep deleted rows in their data files, so that reading these
    as plain files would give rows that the table no longer has. The path may be that of the table
    lake/t, of a folder in it, of one of its files, or a pattern; report and inspect both refuse it.
    """
    for folder in ("lake/t/day=1", "lake/t/data"):
        (working_folder / folder).mkdir(parents=True)
        forecasts_of_A_and_B().to_parquet(working_folder / folder / "a.parquet", index=False)
    (working_folder / "lake/t" / metadata_file).parent.mkdir()
    (working_folder / "lake/t" / metadata_file).touch()
    for command in (
        ["report", "rating", "-p", "preds", path],
        ["inspect", path, "--report", "rating"],
    ):
        status = __main__.main(command)
        assert status == 2  # bad input
        printed = capsys.readouterr()
        message = f"{path}: must be plain files, got a table of {table_format}"
        assert message in printed.out + printed.err


def test_a_csv_file_beside_the_files_of_a_delta_lake_table_is_read(working_folder):
    (working_folder / "lake/_delta_log").mkdir(parents=True)
    (working_folder / "lake/_delta_log/00000000000000000000.json").touch()
    forecasts_of_A_and_B().to_csv(working_folder / "lake/mine.csv", index=False)
    assert len(sources.parts("lake/mine.csv")) == 1


def test_a_folder_that_holds_only_marks_is_refused(working_folder):
    (working_folder / "out").mkdir()
    (working_folder / "out/_SUCCESS").write_bytes(b"")
    with pytest.raises(InputError, match="out: the folder holds no file"):
        rating.read("out")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_folders_are_columns_in_every_format(working_folder, suffix):
    """The rows of each system are written, without the column `system`, to the folder out/system=A
    or out/system=B. Read together they give the systems and the MAE of the table in memory, but for
    the last digits of decimals in text files.
    """
    frame = forecasts_of_A_and_B()
    write_partitioned(frame, working_folder / "out", by="system", suffix=suffix)
    study = rating.read("out", metrics="mae")
    assert study.systems == ("A", "B")
    expected = rating.read(frame, metrics="mae").estimates["value"]
    np.testing.assert_allclose(study.estimates["value"], expected, rtol=1e-12)


def test_folders_that_pyarrow_writes_are_columns(working_folder):
    """With partitioning "hive", pyarrow writes the rows of each system to out/system=A or
    out/system=B, without the column `system`, which is read from the names of the folders.
    """
    frame = forecasts_of_A_and_B()
    pa.dataset.write_dataset(
        pa.Table.from_pandas(frame),
        "out",
        format="parquet",
        partitioning=["system"],
        partitioning_flavor="hive",
    )
    assert rating.read("out").systems == ("A", "B")


def test_a_value_of_a_folder_stays_the_text_that_it_is(working_folder):
    """The value in a folder's name becomes neither a number (007 is not 7) nor a date. The escapes
    %20 and %2F become a space and a slash; __HIVE_DEFAULT_PARTITION__, which Hive writes for a
    missing value, becomes a missing value.
    """
    text_by_folder = {
        "run=007": "007",
        "run=2024-01-01": "2024-01-01",
        "run=a%20b%2Fc": "a b/c",
        "run=__HIVE_DEFAULT_PARTITION__": None,
    }
    for folder in text_by_folder:
        path = working_folder / "out" / folder / "part-0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": ["a"], "x": [1.5]}), path)
    texts = set()
    for part in sources.parts("out"):
        (text,) = part.load({"run": "run"}, {"x": "x"})["run"].to_pylist()  # of its one row
        texts.add(text)
    assert texts == set(text_by_folder.values())


def test_only_folders_right_above_the_file_are_columns(working_folder):
    """The file lies in env=prod/preds. The folder right above it, preds, is no key=value; env=prod
    is further up and gives no column.
    """
    folder = working_folder / "env=prod" / "preds"
    folder.mkdir(parents=True)
    forecasts_of_A_and_B().to_csv(folder / "t.csv", index=False)
    forecasts_of_A_and_B().to_parquet(folder / "t.parquet", index=False)
    for name in ("t.csv", "t.parquet"):
        assert "env" not in sources.parts(folder / name)[0].columns


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_a_folder_comes_before_a_column_of_the_file(working_folder, suffix):
    """The folder says system x, the column of the file says system A. As in DuckDB and Hive, the
    folder's value is taken.
    """
    rows_of_A = forecasts_of_A_and_B(90).query("system == 'A'")
    write_file(rows_of_A, working_folder / f"out/system=x/t.{suffix}")
    study = rating.read("out")
    assert study.systems == ("x",)
    assert len(study.data.rows) == 90


def test_only_folders_below_the_one_that_was_named_are_columns(working_folder):
    """The rows of one system lie in out/run=3 and out/run=4, in t.csv and again as two pieces.

    Who names one file in run=3, or pieces of that folder, means the file: its folder is no column,
    and the system is called after the column `forecast`. Who names files of both folders gets
    `run` as the column that tells the systems 3 and 4 apart.
    """
    rows = forecasts_of_A_and_B(90).query("system == 'A'").drop(columns="system")
    for run in ("3", "4"):
        folder = working_folder / f"out/run={run}"
        write_file(rows, folder / "t.csv")
        write_file(rows[:45], folder / "part-0.csv")
        write_file(rows[45:], folder / "part-1.csv")
    one_file = "out/run=3/t.csv"
    for path in (one_file, str(working_folder / one_file), [one_file], "out/run=3/t.*"):
        assert rating.read(path).systems == ("forecast",)
    pieces_of_one_folder = ["out/run=3/part-0.csv", "out/run=3/part-1.csv"]
    for path in ("out/run=3/part-*", pieces_of_one_folder):
        assert set(sources.parts(path)[0].columns) == {"id", "actual", "forecast"}
    # Files of several folders: the folders tell their systems apart.
    file_of_3, file_of_4 = "out/run=3/t.csv", "out/run=4/t.csv"
    absolute_and_relative = [str(working_folder / file_of_3), file_of_4]
    for path in ([file_of_3, file_of_4], absolute_and_relative, "out/run=*/t.csv", "out/*/t.csv"):
        assert rating.read(path).systems == ("3", "4")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_pieces_without_a_row_as_spark_writes_them_are_no_fault(working_folder, suffix):
    """Spark writes a file per partition, even if the partition is empty. A table in two files with
    rows and two without gives the MAE of the whole table.
    """
    frame = forecasts_of_A_and_B()  # 180 rows
    no_rows = frame[:0]
    for i, rows in enumerate((no_rows, frame[:100], no_rows, frame[100:])):
        write_file(rows, working_folder / f"out/part-0000{i}-1f.{suffix}")
    expected = rating.read(frame, metrics="mae").estimates["value"].tolist()
    for path in ("out", "out/*"):
        found = rating.read(path, metrics="mae").estimates["value"].tolist()
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_pieces_without_a_row_in_folders_of_systems_are_no_fault(working_folder, suffix):
    """The folder of each system has a file with all its rows and one without any row, as Spark
    writes for an empty partition. The MAE of each system is that of the table in memory.
    """
    frame = forecasts_of_A_and_B()
    for system, rows_of_system in frame.groupby("system"):
        rows = rows_of_system.drop(columns="system")
        no_rows = rows[:0]
        write_file(rows, working_folder / f"out/system={system}/part-00000.{suffix}")
        write_file(no_rows, working_folder / f"out/system={system}/part-00001.{suffix}")
    expected = rating.read(frame, metrics="mae").estimates["value"].tolist()
    found = rating.read("out", metrics="mae").estimates["value"].tolist()
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_table_whose_pieces_all_have_no_row_is_refused(working_folder, suffix):
    no_rows = forecasts_of_A_and_B()[:0]
    write_file(no_rows, working_folder / f"out/part-00000.{suffix}")
    write_file(no_rows, working_folder / f"out/part-00001.{suffix}")
    with pytest.raises(InputError, match=r"no rows|is empty"):
        rating.read("out")


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_file_without_a_row_that_is_no_piece_of_a_table_is_refused(working_folder, suffix):
    """Files with names of their own, unlike part-00000 and part-00001, are tables of their own."""
    frame = forecasts_of_A_and_B()
    write_file(frame[:0], working_folder / f"out/a.{suffix}")
    write_file(frame, working_folder / f"out/b.{suffix}")
    with pytest.raises(InputError, match=r"no rows|is empty"):
        rating.read("out")


def test_an_empty_text_piece_without_a_header_is_told_from_one_row(working_folder):
    """One of two CSV files without headers has one row, the other is empty, as engines write for an
    empty partition. The first line is a row, not a header: the mean absolute error is its error.
    """
    (working_folder / "out").mkdir()
    (working_folder / "out/part-0.csv").write_text("a,1,2\n")
    (working_folder / "out/part-1.csv").write_text("")
    study = rating.read(
        "out", header="none", columns={"id": "1", "actual": "2", "forecast": "3"}, metrics="mae"
    )
    assert study.estimates["value"].tolist() == [abs(2 - 1)]  # of the one row a,1,2


def lists_of_eight_queries() -> pd.DataFrame:
    """Of the queries q0 to q7 four rows each, in their order; one item of each is relevant."""
    rows = [(f"q{i}", f"d{j}", 5.0 - j, int(j == i % 3)) for i in range(8) for j in range(4)]
    return pd.DataFrame(rows, columns=["query", "item", "score", "grade"])


def test_parts_that_an_engine_wrote_are_one_system_named_after_their_folder(working_folder):
    """The folder, called bm25 or bm25.parquet, has queries q0 to q3 in one file and q4 to q7 in
    another. The files are parts of one system: as two systems each would miss four queries.
    """
    frame = lists_of_eight_queries()  # four rows per query
    for folder in ("bm25", "bm25.parquet"):
        write_file(frame[:16], working_folder / folder / "part-00000-c0.parquet")
        write_file(frame[16:], working_folder / folder / "part-00001-c0.parquet")
        data = runs.read(folder)
        assert data.systems == ("bm25",)
        assert data.list_accounts["bm25"].missing == 0  # queries without a list


def test_files_of_one_name_in_folders_that_are_columns_are_one_system(working_folder):
    frame = lists_of_eight_queries()
    for system in ("bm25", "tfidf"):
        write_file(frame[:16], working_folder / "runs" / "lang=de" / f"{system}.parquet")
        write_file(frame[16:], working_folder / "runs" / "lang=en" / f"{system}.parquet")
    assert runs.read("runs", segments=["lang"]).systems == ("bm25", "tfidf")


def test_trec_runs_in_folders_that_are_columns(working_folder):
    """The runs lie in the folders lang=de, with query q1, and lang=en, with q2; each ranks a first
    and b second. For q1 item a is relevant, a reciprocal rank of 1, for q2 item b, one of 1/2.
    `lang` is an attribute of the queries.
    """
    for language, query in (("de", "q1"), ("en", "q2")):
        folder = working_folder / "runs" / f"lang={language}"
        folder.mkdir(parents=True)
        (folder / "bm25.run").write_text(f"{query} Q0 a 1 2.5 t\n{query} Q0 b 2 1.5 t\n")
    (working_folder / "qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    data = runs.read("runs", "qrels", segments=["lang"])
    assert data.attributes["lang"].tolist() == ["de", "en"]
    assert rankings.reciprocal_rank(data.rankings["bm25"]).tolist() == [1, 1 / 2]


def reciprocal_ranks_as_sums(lists):
    """The reciprocal rank of each query, as the numerator of a mean over queries."""
    return Sums(rankings.reciprocal_rank(lists))


def lists_of_A_and_B() -> pd.DataFrame:
    """Of 8 queries 4 rows each by the systems A and B; one item of each query is relevant."""
    rows = [
        (s, f"q{i}", f"d{j}", (i * j + (s == "B")) % 7 / 4, int(j == i % 3))
        for s in "AB"
        for i in range(8)
        for j in range(4)
    ]
    return pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_lists_in_folders_are_the_same_in_memory_and_out_of_core(working_folder, suffix):
    """Ranked lists of systems A and B lie in the folders out/system=A and out/system=B. Read into
    memory or measured out of core by DuckDB, they have the same systems, the same counts of rows
    and the same reciprocal ranks of queries.
    """
    write_partitioned(lists_of_A_and_B(), working_folder / "out", by="system", suffix=suffix)
    in_memory = runs.read("out")
    budget = engine.budget(250 * 10**6, threads=2)  # 250 MB, a small share of a machine's memory
    with engine.opened(budget) as duckdb:
        folders = RankingInput.from_data("out")
        out_of_core = sharded.measured(duckdb, folders, [reciprocal_ranks_as_sums])
    assert in_memory.systems == out_of_core.systems == ("A", "B")
    assert in_memory.list_accounts == out_of_core.list_accounts
    for system in "AB":
        expected = in_memory.measure(system, reciprocal_ranks_as_sums).numerator
        found = out_of_core.measure(system, reciprocal_ranks_as_sums).numerator
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_labels_in_folders_are_the_same_in_memory_and_in_blocks(working_folder, suffix):
    """Labels and scores of systems A and B, 32 rows each, lie in folders of the systems. The AUC is
    the same whether all rows are read into memory or, as no more than ten fit, block by block.
    """
    lists = lists_of_A_and_B()
    labels = lists.rename(columns={"grade": "label"}).assign(id=lists["query"] + lists["item"])
    labels = labels[["system", "id", "label", "score"]]
    write_partitioned(labels, working_folder / "out", by="system", suffix=suffix)
    in_memory = classification.read("out", metrics="roc_auc").estimates["value"].tolist()
    ten_rows_in_memory = Limits(reading=ReadingLimits(rows=10))
    in_blocks = classified("out", ten_rows_in_memory, metrics="roc_auc").estimates["value"]
    assert in_blocks.tolist() == in_memory


def test_a_significance_report_reads_folders_of_systems(working_folder):
    """The values of 120 units lie in the folders system=A and system=B, without a column
    `system`: only the names of the folders can name the systems.
    """
    rng = np.random.default_rng(2)
    n = 120
    units = pd.DataFrame(
        {
            "unit": [f"u{i}" for i in range(n)] * 2,
            "system": ["A"] * n + ["B"] * n,
            "value": rng.random(2 * n),
        }
    )
    write_partitioned(units, working_folder / "units", by="system")
    assert significance.read("units").systems == ("A", "B")


def test_a_validation_report_reads_folders_of_folds(working_folder):
    """The 120 rows lie in the folders fold=0 to fold=3, without a column `fold`: only the names of
    the folders can name the folds.
    """
    rng = np.random.default_rng(2)
    n = 120
    folds = pd.DataFrame(
        {"label": rng.integers(0, 2, n), "score": rng.random(n), "fold": np.arange(n) % 4}
    )
    write_partitioned(folds, working_folder / "folds", by="fold")
    assert validation.read("folds", metrics="accuracy").examples.fold.names == ("0", "1", "2", "3")


def test_an_interleaving_report_reads_folders_of_arms(working_folder):
    """The orders of 120 users lie in the folders arm=a and arm=b, without a column `arm`: only the
    names of the folders can name the arms.
    """
    rng = np.random.default_rng(2)
    n = 120
    users = pd.DataFrame(
        {
            "user": [f"u{i}" for i in range(n)],
            "arm": np.where(np.arange(n) % 2, "a", "b"),
            "orders": rng.random(n),
        }
    )
    write_partitioned(users, working_folder / "users", by="arm", suffix="csv")
    study = interleaving.read(users="users", metrics="orders", simulated_users=1000)
    assert set(study.users.systems) == {"a", "b"}
