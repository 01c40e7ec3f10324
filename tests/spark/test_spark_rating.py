"""Forecasts in Spark too large to collect: the numbers of memory and of DuckDB at every limit, the same refusals."""

import numpy as np
import pyarrow as pa
import pytest
from large_forecasts import CASES, frame, held, long, summed

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.statistics.statistic import HeldRows
from evalkit.studies import rating

READING = Reading(rows=100, collected=100, worker=15_000, units=100)
SMALL = Limits(reading=READING)
GIVEN = {
    "metrics": "mae,rmse,bias,median_absolute_error,r2,wape,mase,pinball@90",
    "segments": "country",
    **CASES["units and weights"],
}
FRAMES = ("estimates", "comparisons", "by_segment", "tenths", "parts", "spread")


@pytest.fixture(scope="module")
def tables(session, tmp_path_factory):
    """100,000 rows in 10 files, wide and as 200,000 rows to be joined: the names in Spark, and the frames."""
    wide, folder = frame(100_000, units=25_000), tmp_path_factory.mktemp("forecasts")
    several = {}
    for name, rows in (("wide", wide), ("long", long(wide))):
        (folder / name).mkdir()
        for i, at in enumerate(np.array_split(np.arange(len(rows)), 10)):
            rows.iloc[at].to_parquet(folder / name / f"part{i}.parquet", index=False)
        several[name] = f"spark:parquet.`{folder / name}`", str(folder / name)
    return several


@pytest.mark.parametrize("name", ["wide", "long"])
def test_numbers_are_those_of_duckdb_at_every_limit(tables, name):
    table, files = tables[name]
    cluster = summed(table, SMALL, **GIVEN)
    assert not isinstance(cluster.sample, HeldRows)
    for memory in ("1GB", "250MB"):
        local = summed(files, Limits(reading=Reading(rows=100, shard=9_000, row=20_000)), memory=memory, **GIVEN)
        for of in FRAMES:
            a, b = getattr(local, of), getattr(cluster, of)
            for column in a.columns:
                if a[column].dtype.kind == "f":
                    np.testing.assert_allclose(b[column], a[column], rtol=1e-10, atol=1e-12, err_msg=f"{of} {column}")
                else:
                    assert a[column].tolist() == b[column].tolist(), (of, column)
        for system in local.order:
            for column in ("values", "rows"):
                assert np.array_equal(*(getattr(study.errors[system], column) for study in (local, cluster)))
        assert cluster.extremes()["id"].tolist() == local.extremes()["id"].tolist()


def test_values_are_those_of_memory(tables):
    given = {"metrics": "mae,median_absolute_error,r2", "columns": "{weight: heavy}"}
    a, b = held(frame(100_000, units=25_000), **given).estimates, summed(tables["wide"][0], SMALL, **given).estimates
    np.testing.assert_allclose(b["value"], a["value"], rtol=1e-12)


def test_bad_input_is_refused_as_in_memory(session):
    data = frame(500).assign(forecast_far=lambda d: np.where(d.index == 9, np.inf, d["forecast_far"]))
    with pytest.raises(InputError, match="forecast_far must be a finite number, got inf"):
        summed(session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False)), SMALL)
    with pytest.raises(InputError, match="forecast_far must be a finite number, got inf"):
        rating.read(data)
