"""Binary tables in Spark too large to collect: DuckDB's counts, odd names, collations, tables beside files."""

import local
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import classified, frame, grids, long
from large_tables import counted as counted_in

from evalkit.limits import Limits, Reading
from evalkit.metrics import grid
from evalkit.reading.engines import backends
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import scores
from evalkit.reading.tables import sources

BINS = ("low", "high", "positive", "negative")
READING = Reading(rows=100, collected=100, worker=9_000)  # every table is large, in Spark too, and falls into shards
SMALL = Limits(reading=READING)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two systems on 60,000 ids in 20 files, to be joined: the name in Spark, the folder, and the table of ids.

    Ties, text ids, real weights, a group that some rows lack.
    """
    wide, folder = frame(60_000, seed=5, ties=4, units=20_000), tmp_path_factory.mktemp("tables")
    wide["country"] = wide["country"].where(wide.index % 7 > 0, None)
    rows = long(wide)
    for i, at in enumerate(np.array_split(np.arange(len(rows)), 20)):
        rows.iloc[at].to_parquet(folder / f"part{i}.parquet", index=False)
    return f"spark:parquet.`{folder}`", str(folder), wide


def made(session, rows: pd.DataFrame):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


def test_counts_are_those_of_memory_and_of_duckdb(session, tables):
    table, files, wide = tables
    given = {"columns": {"weight": "exact", "id": "id"}}
    several, counted = grids(files, 250 * 10**6, 7_000, **given)
    parts = sources.parts(table, reading=READING)
    predicted = Predicted.of(parts, attributes=["country"], **given)
    t = scores.read(backends.cluster_of(parts, READING), predicted, ["country"])
    found, facts = counted_in(t)
    assert facts.tolist() == counted.tolist() == [60_000, wide["label"].sum(), 0, 0, 0, 0]
    groups = [(group, system) for group in range(5) for system in range(2)]  # all rows, four countries; two systems
    assert sorted(found) == sorted(several) == groups
    for key, one in found.items():
        assert one.shift == several[key].shift == 0
        for column in BINS:
            assert np.array_equal(getattr(one, column), getattr(several[key], column)), (key, column)
    weight = grid.whole(wide["exact"].to_numpy(), t.scale)
    columns = [(wide[f"score_{one}"].to_numpy(), wide["label"].to_numpy() == 1, weight) for one in t.table.systems]
    for key, whole_column in enumerate(columns):
        chunks = zip(*(np.array_split(one, 7) for one in whole_column), strict=True)
        kept = grid.merge([grid.reduce(*chunk, cut=0.5) for chunk in chunks])
        for column in BINS:
            assert np.array_equal(getattr(found[0, key], column), getattr(kept, column)), (key, column)


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, rtol=1e-12, atol=1e-14)


def test_odd_names_and_labels_are_no_sql(session):
    rows = frame(400).rename(columns={"age": "`a\"ge'"})
    rows["label"] = rows["label"].map({0: "it's \\n", 1: '"yes"\n'})
    odd = long(rows).assign(system=lambda d: d["system"].map({"good": "'a\\", "weak": '"b`'}))
    given = {"segments": "`a\"ge'", "positive": '"yes"\n', "metrics": "roc_auc"}
    found, here = (classified(data, SMALL, **given) for data in (made(session, odd), odd))
    assert found.systems == ('"b`', "'a\\")
    same(found.by_segment, here.by_segment)
    same(found.comparisons, here.comparisons)


def test_texts_are_told_apart_whatever_the_collation(session):
    rows = long(frame(400))
    rows["country"] = np.where(rows["id"].str[-1] == "3", "DE", rows["country"])
    lower = [f"{name} COLLATE UTF8_LCASE AS {name}" for name in ("id", "system", "country")]
    table = made(session, rows).selectExpr("label", "score", *lower)
    found, here = (classified(data, SMALL, segments="country") for data in (table, rows))
    same(found.by_segment, here.by_segment)
    assert "DE" in set(found.by_segment["slice"])


def test_one_system_may_be_a_table_and_the_other_a_file(session, tmp_path):
    rows, path = long(frame(2_000)), tmp_path / "weak.csv"
    good, weak = (rows[rows["system"] == name].drop(columns="system") for name in ("good", "weak"))
    weak.to_csv(path, index=False)
    made(session, good).createOrReplaceTempView("good")
    given = {"metrics": "roc_auc", "segments": "country"}
    try:
        found = classified(["spark:good", str(path)], SMALL, **given)
        here = classified(rows, SMALL, **given)
        assert [one.rows for one in found.account.sources] == [2_000, 2_000]
    finally:
        session.catalog.dropTempView("good")
    same(found.by_segment, here.by_segment)
    same(found.comparisons, here.comparisons)


def test_two_small_tables_of_many_rows_together_are_collected_and_reduced(session):
    limits = Limits(reading=Reading(rows=300, collected=300))
    rows = frame(400).drop(columns="id")
    found = classified([made(session, rows[:200]), made(session, rows[200:])], limits, metrics="roc_auc")
    assert found.data is None
    same(found.estimates, classified(rows, limits, metrics="roc_auc").estimates)


def test_a_round_threshold_counts_what_numpy_counts_of_single_precision(session):
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, 400)
    score = np.clip(np.round(label * 0.3 + 0.8 * rng.random(400), 1), 0, 1).astype(np.float32)
    rows = pd.DataFrame({"label": label, "score": score})
    above = score >= 0.7
    expected = [int((above & (label == 1)).sum()), int((above & (label == 0)).sum())]
    for most in (100, 1000):  # summed in Spark, collected
        limits = Limits(reading=Reading(rows=most, collected=most))
        study = classified(made(session, rows), limits, threshold=0.7)
        assert (study.data is None) is (most == 100)
        assert study.decisions[["tp", "fp"]].to_numpy().tolist() == [expected]
        assert [to.name for to in study.precision.values()] == ["float32"]


def test_four_executors_worth_of_partitions_give_the_same_numbers(session):
    rows = frame(12_000, seed=7, ties=9)
    given = {"columns": "{id: id}", "metrics": "roc_auc,average_precision,brier,f1"}
    here = classified(long(rows), SMALL, **given)
    with local.partitions(session, 16):
        found = classified(made(session, long(rows)).repartition(16), SMALL, **given)
        frames = found.estimates, found.comparisons
    for ours, theirs in zip(frames, (here.estimates, here.comparisons), strict=True):
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-12, atol=1e-14)
    for system in here.systems:
        assert np.array_equal(found.table(system).tp, here.table(system).tp)
