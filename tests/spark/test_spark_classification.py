"""Binary tables in Spark too large to collect: odd names, collations, tables beside files, single
precision.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
from engine_samples import binary, classified, long

from evalkit.limits import Limits, Reading

# every table is large, in Spark too, and falls into shards
READING = Reading(rows=100, collected=100, worker=9_000)
SMALL = Limits(reading=READING)


def made(session, rows: pd.DataFrame):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, rtol=1e-12, atol=1e-14)


def test_odd_names_and_labels_are_no_sql(session):
    rows = binary(400).rename(columns={"age": "`a\"ge'"})
    rows["label"] = rows["label"].map({0: "it's \\n", 1: '"yes"\n'})
    odd = long(rows).assign(system=lambda d: d["system"].map({"good": "'a\\", "weak": '"b`'}))
    given = {"segments": "`a\"ge'", "positive": '"yes"\n', "metrics": "roc_auc"}
    found, here = (classified(data, SMALL, **given) for data in (made(session, odd), odd))
    assert found.systems == ('"b`', "'a\\")
    same(found.by_segment, here.by_segment)
    same(found.comparisons, here.comparisons)


def test_texts_are_told_apart_whatever_the_collation(session):
    rows = long(binary(400))
    rows["country"] = np.where(rows["id"].str[-1] == "3", "DE", rows["country"])
    lower = [f"{name} COLLATE UTF8_LCASE AS {name}" for name in ("id", "system", "country")]
    table = made(session, rows).selectExpr("label", "score", *lower)
    found, here = (classified(data, SMALL, segments="country") for data in (table, rows))
    same(found.by_segment, here.by_segment)
    assert "DE" in set(found.by_segment["slice"])


def test_one_system_may_be_a_table_and_the_other_a_file(session, tmp_path):
    rows = long(binary(2_000))
    path = tmp_path / "weak.csv"
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
    rows = binary(400).drop(columns="id")
    found = classified(
        [made(session, rows[:200]), made(session, rows[200:])], limits, metrics="roc_auc"
    )
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
