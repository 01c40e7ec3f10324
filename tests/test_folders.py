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
from evalkit.limits import Limits, Reading
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


def write(rows: pd.DataFrame, path: Path) -> None:
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


def write_in_folders(frame: pd.DataFrame, root, *columns: str, kind: str = "parquet") -> None:
    """Write a table with folders key=value in place of some columns, and what an engine leaves
    beside it.
    """
    for key, group in frame.groupby(list(columns)):
        folder = root.joinpath(
            *(f"{name}={value}" for name, value in zip(columns, key, strict=True))
        )
        folder.mkdir(parents=True, exist_ok=True)
        write(group.drop(columns=list(columns)), folder / f"part-0.{kind}")
    for name in FILES_WITHOUT_DATA:
        (root / name).write_bytes(b"")


def test_marks_of_engines_and_hidden_files_are_no_data(working_folder):
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
    ("mark", "kind"),
    [
        ("_delta_log/00000000000000000000.json", "Delta Lake"),
        ("metadata/v2.metadata.json", "Iceberg"),
        (".hoodie/hoodie.properties", "Hudi"),
    ],
)
def test_the_folder_of_a_table_format_is_refused_as_it_holds_deleted_rows(
    working_folder, capsys, mark, kind, path
):
    """Whether the table lake/t, a folder in it, or a file of it is asked for."""
    for folder in ("lake/t/day=1", "lake/t/data"):
        (working_folder / folder).mkdir(parents=True)
        forecasts_of_A_and_B().to_parquet(working_folder / folder / "a.parquet", index=False)
    (working_folder / "lake/t" / mark).parent.mkdir()
    (working_folder / "lake/t" / mark).touch()
    for command in (
        ["report", "rating", "-p", "preds", path],
        ["inspect", path, "--report", "rating"],
    ):
        assert __main__.main(command) == 2
        printed = capsys.readouterr()
        message = f"{path}: must be plain files, got a table of {kind}"
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


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_folders_are_columns_in_every_format(working_folder, kind):
    frame = forecasts_of_A_and_B()
    write_in_folders(frame, working_folder / "out", "system", kind=kind)
    study = rating.read("out", metrics="mae")
    assert study.systems == ("A", "B")
    np.testing.assert_allclose(
        study.estimates["value"], rating.read(frame, metrics="mae").estimates["value"], rtol=1e-12
    )


def test_folders_of_pyarrow_datasets(working_folder):
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
    """Neither a number nor a date; escapes are undone, and Hive's name of a missing value is no
    value.
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
        (text,) = part.load({"run": "run"}, {"x": "x"})["run"].to_pylist()
        texts.add(text)
    assert texts == set(text_by_folder.values())


def test_only_folders_right_above_the_file_are_columns(working_folder):
    folder = working_folder / "env=prod" / "preds"
    folder.mkdir(parents=True)
    forecasts_of_A_and_B().to_csv(folder / "t.csv", index=False)
    forecasts_of_A_and_B().to_parquet(folder / "t.parquet", index=False)
    for name in ("t.csv", "t.parquet"):
        assert "env" not in sources.parts(folder / name)[0].columns


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_a_folder_comes_before_a_column_of_the_file(working_folder, kind):
    """As DuckDB and Hive read it: the folder says system x, the column of the file system A."""
    rows_of_A = forecasts_of_A_and_B(90).query("system == 'A'")
    write(rows_of_A, working_folder / f"out/system=x/t.{kind}")
    study = rating.read("out")
    assert study.systems == ("x",)
    assert len(study.data.rows) == 90


def test_only_folders_below_the_one_that_was_named_are_columns(working_folder):
    """Who names a file in run=3/ means the file: its folder must not become the system."""
    rows = forecasts_of_A_and_B(90).query("system == 'A'").drop(columns="system")
    for run in ("3", "4"):
        folder = working_folder / f"out/run={run}"
        write(rows, folder / "t.csv")
        write(rows[:45], folder / "part-0.csv")
        write(rows[45:], folder / "part-1.csv")
    one_file = "out/run=3/t.csv"
    for path in (one_file, str(working_folder / one_file), [one_file], "out/run=3/t.*"):
        assert rating.read(path).systems == ("forecast",)
    pieces_of_one_folder = ["out/run=3/part-0.csv", "out/run=3/part-1.csv"]
    for path in ("out/run=3/part-*", pieces_of_one_folder):
        assert set(sources.parts(path)[0].columns) == {"id", "actual", "forecast"}
    # Files of several folders: the folders tell their systems apart.
    three, four = "out/run=3/t.csv", "out/run=4/t.csv"
    absolute_and_relative = [str(working_folder / three), four]
    for path in ([three, four], absolute_and_relative, "out/run=*/t.csv", "out/*/t.csv"):
        assert rating.read(path).systems == ("3", "4")


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_pieces_without_a_row_as_spark_writes_them_are_no_fault(working_folder, kind):
    frame = forecasts_of_A_and_B()  # 180 rows
    no_rows = frame[:0]
    for i, rows in enumerate((no_rows, frame[:100], no_rows, frame[100:])):
        write(rows, working_folder / f"out/part-0000{i}-1f.{kind}")
    expected = rating.read(frame, metrics="mae").estimates["value"].tolist()
    for path in ("out", "out/*"):
        found = rating.read(path, metrics="mae").estimates["value"].tolist()
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_pieces_without_a_row_in_folders_of_systems_are_no_fault(working_folder, kind):
    frame = forecasts_of_A_and_B()
    for system, rows in frame.groupby("system"):
        piece = rows.drop(columns="system")
        write(piece, working_folder / f"out/system={system}/part-00000.{kind}")
        write(piece[:0], working_folder / f"out/system={system}/part-00001.{kind}")
    expected = rating.read(frame, metrics="mae").estimates["value"].tolist()
    found = rating.read("out", metrics="mae").estimates["value"].tolist()
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_table_whose_pieces_all_have_no_row_is_refused(working_folder, kind):
    no_rows = forecasts_of_A_and_B()[:0]
    write(no_rows, working_folder / f"out/part-00000.{kind}")
    write(no_rows, working_folder / f"out/part-00001.{kind}")
    with pytest.raises(InputError, match=r"no rows|is empty"):
        rating.read("out")


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_file_without_a_row_that_is_no_piece_of_a_table_is_refused(working_folder, kind):
    """Files with names of their own, unlike part-00000 and part-00001, are tables of their own."""
    frame = forecasts_of_A_and_B()
    write(frame[:0], working_folder / f"out/a.{kind}")
    write(frame, working_folder / f"out/b.{kind}")
    with pytest.raises(InputError, match=r"no rows|is empty"):
        rating.read("out")


def test_an_empty_text_piece_without_a_header_is_told_from_one_row(working_folder):
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
    frame = lists_of_eight_queries()
    for name in ("bm25", "bm25.parquet"):
        write(frame[:16], working_folder / name / "part-00000-c0.parquet")  # queries q0 to q3
        write(frame[16:], working_folder / name / "part-00001-c0.parquet")  # queries q4 to q7
        data = runs.read(name)
        assert data.systems == ("bm25",)
        assert data.accounts["bm25"].missing == 0


def test_files_of_one_name_in_folders_that_are_columns_are_one_system(working_folder):
    frame = lists_of_eight_queries()
    for system in ("bm25", "tfidf"):
        write(frame[:16], working_folder / "runs" / "lang=de" / f"{system}.parquet")
        write(frame[16:], working_folder / "runs" / "lang=en" / f"{system}.parquet")
    assert runs.read("runs", segments=["lang"]).systems == ("bm25", "tfidf")


def test_trec_runs_in_folders_that_are_columns(working_folder):
    """In German a, which is relevant, is first of a and b; in English b, which is, is second."""
    for language, query in (("de", "q1"), ("en", "q2")):
        folder = working_folder / "runs" / f"lang={language}"
        folder.mkdir(parents=True)
        (folder / "bm25.run").write_text(f"{query} Q0 a 1 2.5 t\n{query} Q0 b 2 1.5 t\n")
    (working_folder / "qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    data = runs.read("runs", "qrels", segments=["lang"])
    assert data.attributes["lang"].tolist() == ["de", "en"]
    assert rankings.reciprocal_rank(data.rankings["bm25"]).tolist() == [1, 1 / 2]


def _reciprocal_ranks(lists):
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


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_lists_in_folders_are_the_same_in_memory_and_out_of_core(working_folder, kind):
    write_in_folders(lists_of_A_and_B(), working_folder / "out", "system", kind=kind)
    in_memory = runs.read("out")
    with engine.opened(engine.budget(250 * 10**6, threads=2)) as duckdb:
        out_of_core = sharded.measured(duckdb, RankingInput.from_data("out"), [_reciprocal_ranks])
    assert in_memory.systems == out_of_core.systems == ("A", "B")
    assert in_memory.accounts == out_of_core.accounts
    for system in "AB":
        expected = in_memory.measure(system, _reciprocal_ranks).numerator
        found = out_of_core.measure(system, _reciprocal_ranks).numerator
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_labels_in_folders_are_the_same_in_memory_and_in_blocks(working_folder, kind):
    lists = lists_of_A_and_B()
    labels = lists.rename(columns={"grade": "label"}).assign(id=lists["query"] + lists["item"])
    labels = labels[["system", "id", "label", "score"]]
    write_in_folders(labels, working_folder / "out", "system", kind=kind)
    in_memory = classification.read("out", metrics="roc_auc").estimates["value"].tolist()
    ten_rows_in_memory = Limits(reading=Reading(rows=10))
    in_blocks = classified("out", ten_rows_in_memory, metrics="roc_auc").estimates["value"]
    assert in_blocks.tolist() == in_memory


def test_a_significance_report_reads_folders_of_systems(working_folder):
    rng = np.random.default_rng(2)
    n = 120
    units = pd.DataFrame(
        {
            "unit": [f"u{i}" for i in range(n)] * 2,
            "system": ["A"] * n + ["B"] * n,
            "value": rng.random(2 * n),
        }
    )
    write_in_folders(units, working_folder / "units", "system")
    assert significance.read("units").systems == ("A", "B")


def test_a_validation_report_reads_folders_of_folds(working_folder):
    rng = np.random.default_rng(2)
    n = 120
    folds = pd.DataFrame(
        {"label": rng.integers(0, 2, n), "score": rng.random(n), "fold": np.arange(n) % 4}
    )
    write_in_folders(folds, working_folder / "folds", "fold")
    assert validation.read("folds", metrics="accuracy").examples.fold.names == ("0", "1", "2", "3")


def test_an_interleaving_report_reads_folders_of_arms(working_folder):
    rng = np.random.default_rng(2)
    n = 120
    users = pd.DataFrame(
        {
            "user": [f"u{i}" for i in range(n)],
            "arm": np.where(np.arange(n) % 2, "a", "b"),
            "orders": rng.random(n),
        }
    )
    write_in_folders(users, working_folder / "users", "arm", kind="csv")
    study = interleaving.read(users="users", metrics="orders", simulated_users=1000)
    assert set(study.users.systems) == {"a", "b"}
