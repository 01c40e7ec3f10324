"""Several labels in Spark too large to collect: the numbers of memory and of DuckDB at every limit, one refusal."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from large_labels import CASES, METRICS, frame, held, summed

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.studies import classification

READING = Reading(rows=100, collected=100, worker=15_000, units=100)
SMALL = Limits(reading=READING)
FRAMES = ("estimates", "comparisons", "by_segment", "by_label", "sweep", "tops", "mean_scores")


@pytest.fixture(scope="module")
def table(session, tmp_path_factory):
    """100,000 rows of two systems in 10 files, to be joined: the name in Spark, and the folder."""
    folder, rows = tmp_path_factory.mktemp("labels"), frame(50_000, units=12_000)
    for i, at in enumerate(np.array_split(np.arange(len(rows)), 10)):
        rows.iloc[at].to_parquet(folder / f"part{i}.parquet", index=False)
    return f"spark:parquet.`{folder}`", str(folder)


@pytest.mark.parametrize("case", ["plain", "units and weights"])
def test_numbers_are_those_of_duckdb_at_every_limit(table, case):
    given = {"metrics": METRICS, "segments": "country", **CASES[case]}
    cluster = summed(table[0], SMALL, **given)
    assert cluster.data is None
    for memory in ("1GB", "250MB"):
        local = summed(table[1], Limits(reading=Reading(rows=100, shard=9_000, row=20_000)), memory=memory, **given)
        for of in FRAMES:
            a, b = getattr(local, of), getattr(cluster, of)
            for column in a.columns:
                if a[column].dtype.kind == "f":
                    np.testing.assert_allclose(b[column], a[column], rtol=1e-10, atol=1e-12, err_msg=f"{of} {column}")
                else:
                    assert a[column].tolist() == b[column].tolist(), (of, column)
        for (name, a), (other, b) in zip(local.drawn, cluster.drawn, strict=True):
            assert name == other
            assert all(np.array_equal(getattr(a, side), getattr(b, side)) for side in ("threshold", "tp", "fp"))


def test_values_are_those_of_memory(table):
    given = {"metrics": "micro_f1,samples_f1,macro_f1,ranking_loss", "columns": "{weight: heavy}"}
    kept, reduced = held(frame(50_000, units=12_000), **given), summed(table[0], SMALL, **given)
    np.testing.assert_allclose(reduced.estimates["value"], kept.estimates["value"], rtol=1e-12)
    pd.testing.assert_frame_equal(reduced.by_label[["n", "tp", "fp", "fn"]], kept.by_label[["n", "tp", "fp", "fn"]])


def test_bad_input_is_refused_as_in_memory(session):
    data = frame(500).assign(y_law=lambda d: np.where(d.index == 9, 0.5, d["y_law"]))
    with pytest.raises(InputError, match=r"y_law must be 0 or 1, got 0\.5"):
        summed(session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False)), SMALL)
    with pytest.raises(InputError, match=r"y_law must be 0 or 1, got 0\.5"):
        classification.read(data)
