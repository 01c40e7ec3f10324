"""Folders as engines write them: marks of success and hidden files are no data, folders key=value
are columns.
"""

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

MARKS = (
    "_SUCCESS",
    "_committed_123",
    "_started_123",
    "_metadata",
    "_common_metadata",
    ".part-0.parquet.crc",
    ".hidden",
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ratings(n: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    actual = rng.random(n)
    systems = [
        pd.DataFrame({"system": s, "id": np.arange(n), "actual": actual, "forecast": rng.random(n)})
        for s in "AB"
    ]
    return pd.concat(systems, ignore_index=True)


def in_folders(frame: pd.DataFrame, root, *columns: str, kind: str = "parquet") -> None:
    """The table with columns that are folders, and what an engine leaves beside it."""
    for key, group in frame.groupby(list(columns)):
        folder = root.joinpath(
            *(f"{name}={value}" for name, value in zip(columns, key, strict=True))
        )
        folder.mkdir(parents=True, exist_ok=True)
        rest = group.drop(columns=list(columns))
        write = {"parquet": rest.to_parquet, "csv": rest.to_csv, "json": None}[kind]
        if write is None:
            rest.to_json(folder / "part-0.json", orient="records", lines=True, double_precision=15)
        else:
            write(folder / f"part-0.{kind}", index=False)
    for name in MARKS:
        (root / name).write_bytes(b"")


def test_marks_of_engines_and_hidden_files_are_no_data(here):
    frame = ratings()
    (here / "out").mkdir()
    frame[:100].to_parquet(here / "out/part-00000-1f.snappy.parquet", index=False)
    frame[100:].to_parquet(here / "out/part-00001-1f.snappy.parquet", index=False)
    for name in MARKS:
        (here / "out" / name).write_bytes(b"")
    for where in ("out", "out/*"):
        study = rating.read(where, metrics="mae")
        assert (
            study.estimates["value"].tolist()
            == rating.read(frame, metrics="mae").estimates["value"].tolist()
        )
    # a file of data is read, whatever its name begins with
    (here / "out/_mine.parquet").write_bytes(b"x")
    with pytest.raises(InputError, match=r"_mine\.parquet"):
        rating.read("out")


@pytest.mark.parametrize(
    "where", ["lake/t", "lake/t/day=1", "lake/t/data", "lake/**/*.parquet", "lake/t/data/a.parquet"]
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
    here, capsys, mark, kind, where
):
    for folder in ("lake/t/day=1", "lake/t/data"):
        (here / folder).mkdir(parents=True)
        ratings().to_parquet(here / folder / "a.parquet", index=False)
    (here / "lake/t" / mark).parent.mkdir()
    (here / "lake/t" / mark).touch()
    for command in (
        ["report", "rating", "-p", "preds", where],
        ["inspect", where, "--report", "rating"],
    ):
        assert __main__.main(command) == 2
        said = capsys.readouterr()
        assert f"{where}: must be plain files, got a table of {kind}" in said.out + said.err
    ratings().to_csv(here / "lake/t/mine.csv", index=False)
    assert len(sources.parts("lake/t/mine.csv")) == 1


def test_a_folder_that_holds_only_marks_is_refused(here):
    (here / "out").mkdir()
    (here / "out/_SUCCESS").write_bytes(b"")
    with pytest.raises(InputError, match="out: the folder holds no file"):
        rating.read("out")


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_folders_are_columns_in_every_format(here, kind):
    frame = ratings()
    in_folders(frame, here / "out", "system", kind=kind)
    study = rating.read("out", metrics="mae")
    assert study.systems == ("A", "B")
    np.testing.assert_allclose(
        study.estimates["value"], rating.read(frame, metrics="mae").estimates["value"], rtol=1e-12
    )


def test_folders_of_pyarrow_datasets(here):
    frame = ratings()
    pa.dataset.write_dataset(
        pa.Table.from_pandas(frame),
        "out",
        format="parquet",
        partitioning=["system"],
        partitioning_flavor="hive",
    )
    assert rating.read("out").systems == ("A", "B")


def test_a_value_of_a_folder_stays_the_text_that_it_is(here):
    pq_table = pa.table({"id": ["a"], "x": [1.5]})
    for folder in ("run=007", "run=2024-01-01", "run=a%20b%2Fc", "run=__HIVE_DEFAULT_PARTITION__"):
        (here / "out" / folder).mkdir(parents=True)
        pq.write_table(pq_table, here / "out" / folder / "part-0.parquet")
    texts = [
        part.load({"run": "run"}, {"x": "x"})["run"].to_pylist() for part in sources.parts("out")
    ]
    assert sorted(map(str, np.concatenate(texts))) == ["007", "2024-01-01", "None", "a b/c"]


def test_only_folders_right_above_the_file_are_columns(here):
    folder = here / "env=prod" / "preds"
    folder.mkdir(parents=True)
    ratings().to_csv(folder / "t.csv", index=False)
    ratings().to_parquet(folder / "t.parquet", index=False)
    for name in ("t.csv", "t.parquet"):
        assert "env" not in sources.parts(folder / name)[0].columns


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_a_folder_comes_before_a_column_of_the_file(here, kind):
    """As DuckDB and Hive read it."""
    (here / "out/system=x").mkdir(parents=True)
    frame = ratings()[:90]
    path = f"out/system=x/t.{kind}"
    frame.to_json(
        path, orient="records", lines=True, double_precision=15
    ) if kind == "json" else getattr(frame, f"to_{kind}")(path)
    assert rating.read("out").systems == ("x",)
    assert len(rating.read("out").data.rows) == 90


def test_only_folders_below_the_one_that_was_named_are_columns(here):
    """Who names a file in run=3/ means the file: its folder must not become the system."""
    frame = ratings()[:90].drop(columns="system")
    for run in ("3", "4"):
        (here / f"out/run={run}").mkdir(parents=True)
        frame.to_csv(here / f"out/run={run}/t.csv", index=False)
        frame[:45].to_csv(here / f"out/run={run}/part-0.csv", index=False)
        frame[45:].to_csv(here / f"out/run={run}/part-1.csv", index=False)
    for alone in (
        "out/run=3/t.csv",
        str(here / "out/run=3/t.csv"),
        ["out/run=3/t.csv"],
        "out/run=3/t.*",
    ):
        assert rating.read(alone).systems == ("forecast",)
    pieces = [f"out/run=3/part-{i}.csv" for i in range(2)]
    for together in ("out/run=3/part-*", pieces):
        assert len(sources.parts(together)[0].columns) == 3
    files = [f"out/run={run}/t.csv" for run in ("3", "4")]
    for several in (files, [str(here / files[0]), files[1]], "out/run=*/t.csv", "out/*/t.csv"):
        assert rating.read(several).systems == ("3", "4")


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_pieces_without_a_row_as_spark_writes_them_are_no_fault(here, kind):
    frame = ratings()

    def write(rows, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "json":
            path.write_text(
                rows.to_json(orient="records", lines=True, double_precision=15) if len(rows) else ""
            )
        else:
            getattr(rows, f"to_{kind}")(path, index=False)

    for i, rows in enumerate((frame[:0], frame[:100], frame[:0], frame[100:])):
        write(rows, here / f"out/part-0000{i}-1f.{kind}")
    for system, rows in frame.groupby("system"):
        write(rows.drop(columns="system"), here / f"hive/system={system}/part-00000.{kind}")
        write(frame[:0].drop(columns="system"), here / f"hive/system={system}/part-00001.{kind}")
    expected = rating.read(frame, metrics="mae").estimates["value"].tolist()
    for where in ("out", "out/*", "hive"):
        assert rating.read(where, metrics="mae").estimates["value"].tolist() == pytest.approx(
            expected, rel=1e-12
        )
    write(frame[:0], here / f"empty/part-00000.{kind}")
    write(frame[:0], here / f"empty/part-00001.{kind}")
    write(frame[:0], here / f"loose/a.{kind}")
    write(frame, here / f"loose/b.{kind}")
    for where in ("empty", "loose"):
        with pytest.raises(InputError, match=r"no rows|is empty"):
            rating.read(where)


def test_an_empty_text_piece_without_a_header_is_told_from_one_row(here):
    (here / "out").mkdir()
    (here / "out/part-0.csv").write_text("a,1,2\n")
    (here / "out/part-1.csv").write_text("")
    study = rating.read(
        "out", header="none", columns={"id": "1", "actual": "2", "forecast": "3"}, metrics="mae"
    )
    assert study.estimates["value"].tolist() == [1]


def test_parts_that_an_engine_wrote_are_one_system_named_after_their_folder(here):
    rows = [(f"q{i}", f"d{j}", 5.0 - j, int(j == i % 3)) for i in range(8) for j in range(4)]
    frame = pd.DataFrame(rows, columns=["query", "item", "score", "grade"])
    for name in ("bm25", "bm25.parquet"):
        (here / name).mkdir()
        for i in range(2):
            frame[frame["query"].str[1:].astype(int) % 2 == i].to_parquet(
                here / name / f"part-0000{i}-c0.parquet"
            )
        data = runs.read(name)
        assert data.systems == ("bm25",)
        assert data.accounts["bm25"].missing == 0
    for language in ("de", "en"):
        (here / "runs" / f"lang={language}").mkdir(parents=True)
        half = frame[(frame["query"].str[1:].astype(int) < 4) == (language == "de")]
        for system in ("bm25", "tfidf"):
            half.to_parquet(here / "runs" / f"lang={language}" / f"{system}.parquet")
    assert runs.read("runs", segments=["lang"]).systems == ("bm25", "tfidf")


def test_trec_runs_in_folders_that_are_columns(here):
    for language, query in (("de", "q1"), ("en", "q2")):
        (here / "runs" / f"lang={language}").mkdir(parents=True)
        (here / "runs" / f"lang={language}" / "bm25.run").write_text(
            f"{query} Q0 a 1 2.5 t\n{query} Q0 b 2 1.5 t\n"
        )
    (here / "qrels").write_text("q1 0 a 1\nq2 0 b 1\n")
    data = runs.read("runs", "qrels", segments=["lang"])
    assert data.attributes["lang"].tolist() == ["de", "en"]
    assert rankings.reciprocal_rank(data.rankings["bm25"]).tolist() == [1, 0.5]


def _reciprocal_ranks(lists):
    return Sums(rankings.reciprocal_rank(lists))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_duckdb_out_of_core_reads_folders_as_memory_does(here, kind, monkeypatch):
    rows = [
        (s, f"q{i}", f"d{j}", (i * j + (s == "B")) % 7 / 4, int(j == i % 3))
        for s in "AB"
        for i in range(8)
        for j in range(4)
    ]
    frame = pd.DataFrame(rows, columns=["system", "query", "item", "score", "grade"])
    in_folders(frame, here / "out", "system", kind=kind)
    whole = runs.read("out")
    with engine.opened(engine.budget(250 * 10**6, threads=2)) as opened:
        measured = sharded.measured(opened, RankingInput.from_data("out"), [_reciprocal_ranks])
    assert whole.systems == measured.systems == ("A", "B")
    assert whole.accounts == measured.accounts
    for name in "AB":
        in_memory, out_of_core = (
            data.measure(name, _reciprocal_ranks).numerator for data in (whole, measured)
        )
        assert np.array_equal(in_memory, out_of_core)
    labels = frame.rename(columns={"grade": "label"}).assign(id=frame["query"] + frame["item"])
    in_folders(labels[["system", "id", "label", "score"]], here / "labels", "system", kind=kind)
    few = classification.read("labels", metrics="roc_auc").estimates["value"].tolist()
    limits = Limits(reading=Reading(rows=10))
    assert classified("labels", limits, metrics="roc_auc").estimates["value"].tolist() == few


def test_every_report_reads_folders(here):
    rng = np.random.default_rng(2)
    n = 120
    units = pd.DataFrame(
        {
            "unit": [f"u{i}" for i in range(n)] * 2,
            "system": ["A"] * n + ["B"] * n,
            "value": rng.random(2 * n),
        }
    )
    in_folders(units, here / "units", "system")
    assert significance.read("units").systems == ("A", "B")
    folds = pd.DataFrame(
        {"label": rng.integers(0, 2, n), "score": rng.random(n), "fold": np.arange(n) % 4}
    )
    in_folders(folds, here / "folds", "fold")
    assert validation.read("folds", metrics="accuracy").examples.fold.names == ("0", "1", "2", "3")
    users = pd.DataFrame(
        {
            "user": [f"u{i}" for i in range(n)],
            "arm": np.where(np.arange(n) % 2, "a", "b"),
            "orders": rng.random(n),
        }
    )
    in_folders(users, here / "users", "arm", kind="csv")
    study = interleaving.read(users="users", metrics="orders", simulated_users=1000)
    assert set(study.users.systems) == {"a", "b"}
