"""Several classes in Spark too large to collect: the numbers of memory and of DuckDB at every limit, one refusal."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_classes import CASES, METRICS, decided, frame, held, summed

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.studies import classification

READING = Reading(rows=100, collected=100, worker=15_000, units=100)
SMALL = Limits(reading=READING)
GIVEN = {"metrics": METRICS, "segments": "country", **CASES["units and weights"]}
FRAMES = ("estimates", "comparisons", "by_segment", "by_class", "confused", "covered", "tops", "calibration")
TABLES = {"scored": frame, "decided": decided}


@pytest.fixture(scope="module")
def tables(session, tmp_path_factory):
    """100,000 rows of two systems in 10 files, to be joined: the names in Spark, and the folders."""
    folder, several = tmp_path_factory.mktemp("classes"), {}
    for name, of in TABLES.items():
        rows = of(50_000, units=12_000)
        (folder / name).mkdir()
        for i, at in enumerate(np.array_split(np.arange(len(rows)), 10)):
            rows.iloc[at].to_parquet(folder / name / f"part{i}.parquet", index=False)
        several[name] = f"spark:parquet.`{folder / name}`", str(folder / name)
    return several


def test_numbers_are_those_of_duckdb_at_every_limit(tables):
    table, files = tables["scored"]
    cluster = summed(table, SMALL, **GIVEN)
    assert cluster.data is None
    for memory in ("1GB", "250MB"):
        local = summed(files, Limits(reading=Reading(rows=100, shard=9_000, row=20_000)), memory=memory, **GIVEN)
        for of in FRAMES:
            a, b = getattr(local, of), getattr(cluster, of)
            for column in a.columns:
                if a[column].dtype.kind == "f":
                    np.testing.assert_allclose(b[column], a[column], rtol=1e-10, atol=1e-12, err_msg=f"{of} {column}")
                else:
                    assert a[column].tolist() == b[column].tolist(), (of, column)
        for name in local.order:
            assert np.array_equal(local.confusion(name).table, cluster.confusion(name).table)
            a, b = local.top_label[name], cluster.top_label[name]
            assert all(np.array_equal(getattr(a, side), getattr(b, side)) for side in ("threshold", "tp", "fp"))


@pytest.mark.parametrize("name", TABLES)
def test_values_are_those_of_memory(tables, name):
    given = {"metrics": "accuracy,macro_f1,mcc", "columns": "{weight: heavy}"}
    kept, reduced = held(TABLES[name](50_000, units=12_000), **given), summed(tables[name][0], SMALL, **given)
    np.testing.assert_allclose(reduced.estimates["value"], kept.estimates["value"], rtol=1e-12)
    pd.testing.assert_series_equal(reduced.by_class["n"], kept.by_class["n"])


def test_bad_input_is_refused_as_in_memory(session):
    data = frame(500).assign(p_car=lambda d: np.where(d.index == 9, np.inf, d["p_car"]))
    with pytest.raises(InputError, match="p_car must be a finite number, got inf"):
        summed(session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False)), SMALL)
    with pytest.raises(InputError, match="p_car must be a finite number, got inf"):
        classification.read(data)
    data = frame(500).assign(label=lambda d: d["label"].mask(d["id"] == "row 7", "boat"))
    with pytest.raises(InputError, match="has no column p_boat"):
        summed(session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False)), SMALL)
