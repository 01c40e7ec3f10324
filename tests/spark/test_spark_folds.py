"""Out-of-fold predictions in Spark too large to collect: the numbers of memory and of DuckDB at every limit."""

import large_folds
import numpy as np
import pyarrow as pa
import pytest
from large_folds import NUMBER, TWO, held, summed

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.studies.validity_sums import SumsStudy

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000, units=100))
ROWS = 50_000  # of each of two systems
KINDS = {"scores": (large_folds.scored, TWO), "forecasts": (large_folds.forecast, NUMBER)}
SHAPES = {"groups": large_folds.crossing, "time": large_folds.forward, "holdout": large_folds.holdout}
CASES = [("scores", "groups"), ("scores", "holdout"), ("forecasts", "time")]
FRAMES = ("estimates", "by_fold", "paired", "intervals")
EXACT = ("accuracy", "f1", "mcc", "precision", "roc_auc", "train", "test")


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def tables(request, session, tmp_path_factory):
    """100,000 rows in 10 files: their name in Spark, their folder, the frame, and the metrics."""
    kind, shape = request.param
    table, metrics = KINDS[kind]
    rows, folder = SHAPES[shape](table(ROWS)), tmp_path_factory.mktemp("folds")
    for i, at in enumerate(np.array_split(np.arange(len(rows)), 10)):
        rows.iloc[at].to_parquet(folder / f"part{i}.parquet", index=False)
    return f"spark:parquet.`{folder}`", str(folder), rows, metrics


def close(a, b, of):
    for column in a.columns:
        if a[column].dtype.kind == "f":
            np.testing.assert_allclose(b[column], a[column], rtol=1e-9, atol=1e-12, err_msg=f"{of} {column}")
        else:
            assert a[column].tolist() == b[column].tolist(), (of, column)


def test_numbers_are_those_of_duckdb_at_every_limit_and_of_memory(tables):
    table, files, rows, metrics = tables
    cluster, memory = summed(table, SMALL, metrics=metrics), held(rows, metrics=metrics)
    assert isinstance(cluster, SumsStudy)
    found = {(one.kind, one.message, one.count, one.of) for one in cluster.findings}
    assert {(one.kind, one.message, one.count, one.of) for one in memory.findings} == found
    for budget in ("1GB", "250MB"):
        limits = Limits(reading=Reading(rows=100, shard=9_000, row=20_000))
        local = summed(files, limits, metrics=metrics, memory=budget)
        for of in FRAMES:
            close(getattr(local, of), getattr(cluster, of), of)
        close(local.stretches(120), cluster.stretches(120), "map")
        exact = [column for column in memory.by_fold if column in EXACT]
        assert (local.by_fold[exact].fillna(-1) == memory.by_fold[exact].fillna(-1)).all(axis=None)
        numbers = memory.by_fold.select_dtypes("number").columns
        for study in (local, cluster):
            np.testing.assert_allclose(study.by_fold[numbers], memory.by_fold[numbers], rtol=1e-11, atol=1e-12)
            np.testing.assert_allclose(list(study.unlike.values()), list(memory.unlike.values()), rtol=1e-8)


@pytest.mark.parametrize("shape", [large_folds.repeated, large_folds.lacking, large_folds.alone])
def test_other_shapes_are_those_of_memory(session, shape):
    rows = shape(large_folds.scored())
    cluster = summed(session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)), SMALL)
    memory = held(rows)
    numbers = memory.by_fold.select_dtypes("number").columns
    np.testing.assert_allclose(cluster.by_fold[numbers], memory.by_fold[numbers], rtol=1e-11, atol=1e-12)
    assert cluster.split.distinct == memory.split.distinct
    assert cluster.facts.left_out == memory.facts.left_out


def test_bad_input_is_refused_as_in_memory(session):
    rows = large_folds.plain(large_folds.scored())
    changed = rows.assign(label=np.where(rows.index == 3, 1 - rows["label"], rows["label"]))
    with pytest.raises(InputError, match="label must have one value for id 'row 3', got"):
        summed(session.createDataFrame(pa.Table.from_pandas(changed, preserve_index=False)), SMALL)
