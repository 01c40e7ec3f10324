"""Binary tables in Spark too large to collect: DuckDB's counts and page, in two readings, its accounts, its words."""

import re
from dataclasses import replace

import local
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_tables import BAD, classified, frame, grids, long
from large_tables import counted as counted_in

from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits, Reading
from evalkit.metrics import grid
from evalkit.pages import classification_page
from evalkit.reading.engines import spark
from evalkit.reading.inputs.outcomes import Predicted
from evalkit.reading.reductions import scores
from evalkit.reading.tables import sources
from evalkit.studies import classification

BINS = ("low", "high", "positive", "negative")
GIVEN = {
    "columns": "{weight: exact}",
    "metrics": "roc_auc,average_precision,brier,f1",
    "segments": "country,age",
    "unit": "user_id",
}
READING = Reading(rows=100, collected=100, worker=9_000)  # every table is large, in Spark too, and falls into shards
SMALL = Limits(reading=READING)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two systems on 60,000 rows in 20 files, wide and as 120,000 rows to be joined: the names in Spark, the folders.

    Ties, text ids, real weights, a group that some rows lack, more users than are known side by side.
    """
    wide, folder = frame(60_000, seed=5, ties=4, units=20_000), tmp_path_factory.mktemp("tables")
    wide["country"] = wide["country"].where(wide.index % 7 > 0, None)
    found = {}
    for name, rows in (("wide", wide), ("long", long(wide))):
        (folder / name).mkdir()
        for i, at in enumerate(np.array_split(np.arange(len(rows)), 20)):
            rows.iloc[at].to_parquet(folder / name / f"part{i}.parquet", index=False)
        found[name] = f"spark:parquet.`{folder / name}`", str(folder / name), wide
    return found


def made(session, rows: pd.DataFrame):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


@pytest.mark.parametrize("name", ["wide", "long"])
def test_counts_are_those_of_memory_and_of_duckdb_at_every_limit(session, tables, name):
    table, files, wide = tables[name]
    given = {"columns": {"weight": "exact", "id": "id"}}
    several, counted = grids(files, "1GB", 10**6, **given)
    few, again = grids(files, "250MB", 7_000, **given)
    parts = sources.parts(table, reading=READING)
    t = scores.read(spark.engine_for(parts, READING), Predicted.of(parts, attributes=["country"], **given), ["country"])
    found, facts = counted_in(t)
    assert facts.tolist() == counted.tolist() == again.tolist() == [60_000, wide["label"].sum(), 0, 0, 0, 0]
    groups = [(group, system) for group in range(5) for system in range(2)]  # all rows, four countries; two systems
    assert sorted(found) == sorted(several) == sorted(few) == groups
    for key, one in found.items():
        for other in (several[key], few[key]):
            assert one.shift == other.shift == 0
            for column in BINS:
                assert np.array_equal(getattr(one, column), getattr(other, column)), (key, column)
    weight = grid.whole(wide["exact"].to_numpy(), t.scale)
    columns = [(wide[f"score_{one}"].to_numpy(), wide["label"].to_numpy() == 1, weight) for one in t.table.systems]
    for key, whole_column in enumerate(columns):
        chunks = zip(*(np.array_split(one, 7) for one in whole_column), strict=True)
        kept = grid.merge([grid.reduce(*chunk, cut=0.5) for chunk in chunks])
        for column in BINS:
            assert np.array_equal(getattr(found[0, key], column), getattr(kept, column)), (key, column)


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, rtol=1e-12, atol=1e-14)


def published(study) -> dict:
    """A report's JSON without what says where it comes from."""
    found = classification_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    return {k: v for k, v in found.items() if k not in ("inputs", "parameters", "versions")}


def assert_close(a, b) -> None:
    """Numbers to rounding, everything else exactly."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        assert_close(list(a.values()), list(b.values()))
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_close(one, other)
    else:
        assert a == (pytest.approx(b, rel=1e-12, abs=1e-14) if isinstance(a, float) else b)


@pytest.mark.parametrize(("name", "known"), [("wide", 2**15), ("long", 2**14)], ids=["units known", "units sorted"])
def test_the_study_gives_the_numbers_of_duckdb(tables, name, known):
    limits = Limits(reading=replace(READING, units=known))
    table, files, _ = tables[name]
    found, here = (classified(data, limits, **GIVEN) for data in (table, files))
    assert found.data is None
    assert 2**14 < found.sample.moments[0].n < 2**15
    same(found.estimates, here.estimates)
    same(found.comparisons, here.comparisons)
    same(found.by_segment, here.by_segment)
    pd.testing.assert_frame_equal(found.decisions, here.decisions)
    assert_close(published(found), published(here))


def test_without_weights_and_units_all_estimates_are_those_of_duckdb_to_the_last_bit(tables):
    table, files, _ = tables["wide"]
    given = {"metrics": "roc_auc,average_precision,ks,f1,accuracy", "segments": "country"}
    found, here = (classified(data, SMALL, **given) for data in (table, files))
    pd.testing.assert_frame_equal(found.estimates, here.estimates, check_exact=True)
    assert_close(published(found), published(here))


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
        assert [one.rows for one in found.facts.account.sources] == [2_000, 2_000]
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


# ---- what cannot be meant --------------------------------------------------------------------------------------------

WRONG = {name: BAD[name] for name in BAD if name not in ("score missing", "weights all 0", "no such system")}
WRONG["score NaN"] = (lambda d: d.assign(score_good=np.where(d.index == 9, np.nan, d["score_good"])), {})


def text_of(error: Exception, name: str) -> str:
    """The error's words without rows, and the name of the input."""
    return re.sub(r"( \(row \d+\)|, row \d+)", "", str(error)).replace(name, "table")


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_refused_in_the_words_of_memory_but_its_row(session, case):
    change, given = WRONG[case]
    rows = change(frame(400))
    with pytest.raises((InputError, ParameterError)) as found:
        classified(made(session, rows), SMALL, **given)
    with pytest.raises((InputError, ParameterError)) as here:
        classification.read(pa.Table.from_pandas(rows, preserve_index=False), **given)
    assert text_of(found.value, "Spark data frame") == text_of(here.value, "data frame")
    assert "row" not in str(found.value).replace("rows of", "").replace("'row ", "'")


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
        assert [to.name for to in study.facts.precision.values()] == ["float32"]


@pytest.mark.parametrize("partitions", [1, 16])
def test_four_executors_worth_of_partitions_give_the_same_numbers(session, partitions):
    rows = frame(12_000, seed=7, ties=9)
    given = {"columns": "{id: id}", "metrics": "roc_auc,average_precision,brier,f1"}
    here = classified(long(rows), SMALL, **given)
    with local.partitions(session, partitions):
        found = classified(made(session, long(rows)).repartition(partitions), SMALL, **given)
        frames = found.estimates, found.comparisons
    for ours, theirs in zip(frames, (here.estimates, here.comparisons), strict=True):
        pd.testing.assert_frame_equal(ours, theirs, rtol=1e-12, atol=1e-14)
    for system in here.systems:
        assert np.array_equal(found.table(system).tp, here.table(system).tp)
