"""Binary tables in Spark too large to collect: odd names, collations, tables beside files, single
precision.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_samples import binary, classified, long

from evalkit.limits import Limits, ReadingLimits

# a table of more than 100 rows is read in shards, in Spark too, and not collected
READING = ReadingLimits(rows=100, collected=100, worker=9_000)
SMALL = Limits(reading=READING)


def spark_table(session, rows: pd.DataFrame):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


def assert_equal_frames(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, rtol=1e-12, atol=1e-14)


def test_odd_names_and_labels_are_no_sql(session):
    """A column, the labels and both systems have names with quotes, backslashes, backticks and line
    ends, which would end a name or a text in SQL. The study of a Spark table of 400 rows, too large
    to be collected (SMALL), must have the numbers of the study of the same data frame.
    """
    rows = binary(400).rename(columns={"age": "`a\"ge'"})
    rows["label"] = rows["label"].map({0: "it's \\n", 1: '"yes"\n'})
    table = long(rows)
    table["system"] = table["system"].map({"good": "'a\\", "weak": '"b`'})
    options = {"segments": "`a\"ge'", "positive": '"yes"\n', "metrics": "roc_auc"}
    found = classified(spark_table(session, table), SMALL, **options)
    expected = classified(table, SMALL, **options)
    assert found.systems == ('"b`', "'a\\")
    assert_equal_frames(found.by_segment, expected.by_segment)
    assert_equal_frames(found.comparisons, expected.comparisons)


def test_texts_are_told_apart_whatever_the_collation(session):
    """The columns of the Spark table have the collation UTF8_LCASE, by which "DE" and "de" are
    equal. The 400 rows have the countries "de", "fr" and "it", but "DE" where their id ends with 3.
    "DE" and "de" must be two slices of the report nevertheless. Expected is the report of the same
    rows as a data frame.
    """
    rows = long(binary(400))
    rows["country"] = np.where(rows["id"].str[-1] == "3", "DE", rows["country"])
    collated = [f"{name} COLLATE UTF8_LCASE AS {name}" for name in ("id", "system", "country")]
    table = spark_table(session, rows).selectExpr("label", "score", *collated)
    found = classified(table, SMALL, segments="country")
    expected = classified(rows, SMALL, segments="country")
    assert_equal_frames(found.by_segment, expected.by_segment)
    assert "DE" in set(found.by_segment["slice"])


def test_one_system_may_be_a_table_and_the_other_a_file(session, tmp_path):
    """The table has rows of the two systems good and weak. Those of good go into a Spark table,
    those of weak into a CSV file; both have more rows than are read at once. The study of the two
    sources must have the numbers of the study of one data frame.
    """
    rows = long(binary(2_000))
    rows_of_good = rows[rows["system"] == "good"].drop(columns="system")
    rows_of_weak = rows[rows["system"] == "weak"].drop(columns="system")
    spark_table(session, rows_of_good).createOrReplaceTempView("good")
    path = tmp_path / "weak.csv"
    rows_of_weak.to_csv(path, index=False)
    options = {"metrics": "roc_auc", "segments": "country"}
    try:
        found = classified(["spark:good", str(path)], SMALL, **options)
        rows_of_sources = [source.rows for source in found.account.sources]
    finally:
        session.catalog.dropTempView("good")
    assert rows_of_sources == [2_000, 2_000]
    expected = classified(rows, SMALL, **options)
    assert_equal_frames(found.by_segment, expected.by_segment)
    assert_equal_frames(found.comparisons, expected.comparisons)


def test_two_small_tables_of_many_rows_together_are_collected_and_reduced(session):
    """Two Spark tables have 200 rows each of two systems' scores. A table of up to 300 rows is
    collected from Spark; rows stay in memory if they are up to 300 in all. The 400 rows are
    therefore collected and then reduced to counts, so that the study has no `data`. Expected is the
    study of the same 400 rows as one data frame.
    """
    limits = Limits(reading=ReadingLimits(rows=300, collected=300))
    rows = binary(400).drop(columns="id")
    tables = [spark_table(session, rows[:200]), spark_table(session, rows[200:])]
    found = classified(tables, limits, metrics="roc_auc")
    assert found.data is None
    expected = classified(rows, limits, metrics="roc_auc")
    assert_equal_frames(found.estimates, expected.estimates)


@pytest.mark.parametrize("is_collected", [False, True], ids=["counted in Spark", "collected"])
def test_a_round_threshold_counts_what_numpy_counts_of_single_precision(session, is_collected):
    """Scores of one decimal in single precision. 0.7 in single precision is not 0.7 in double: it
    is 0.699999988. A score of 0.7 must nevertheless be at or above the threshold 0.7, as it is for
    numpy, which compares in single precision.
    """
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, 400)
    score = np.clip(np.round(label * 0.3 + 0.8 * rng.random(400), 1), 0, 1).astype(np.float32)
    predicted = score >= 0.7
    true_positives = int(np.sum(predicted & (label == 1)))
    false_positives = int(np.sum(predicted & (label == 0)))

    table = spark_table(session, pd.DataFrame({"label": label, "score": score}))
    largest_collected = 1000 if is_collected else 100  # rows, of 400
    limits = Limits(reading=ReadingLimits(rows=largest_collected, collected=largest_collected))
    study = classified(table, limits, threshold=0.7)
    assert (study.data is not None) is is_collected
    [decisions] = study.decisions.itertuples()
    assert (decisions.tp, decisions.fp) == (true_positives, false_positives)
    [precision_of_scores] = study.precision.values()
    assert precision_of_scores.name == "float32"
