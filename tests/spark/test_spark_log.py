"""A log of sessions in Spark too long to collect: the numbers of memory and of DuckDB, the same refusals."""

import large_logs
import numpy as np
import pyarrow as pa
import pytest
from large_logs import FRAMES, by_rows, frame, held, summed, values_by_engine, values_of
from large_same import same

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.studies.interleaving_sums import SumsStudy

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000))
COUNTS = ("users", "silent", "items", "sessions", "repeated", "session_p", "order")


def same_studies(a, b):
    """Counts and words to the last bit, other numbers up to rounding."""
    for of in FRAMES:
        same(getattr(a, of), getattr(b, of), 1e-10)
    for name in COUNTS:
        assert getattr(a, name) == getattr(b, name), name
    assert b.heavy == pytest.approx(a.heavy, rel=1e-12)
    np.testing.assert_allclose(b.estimates["value"], a.estimates["value"], rtol=1e-12)


def test_numbers_are_those_of_memory_and_of_duckdb(session, tmp_path):
    from pyspark import cloudpickle

    table = frame(12_000)
    for i, at in enumerate(np.array_split(np.arange(len(table)), 10)):
        table.iloc[at].to_parquet(tmp_path / f"part{i}.parquet", index=False)
    source, kept = f"spark:parquet.`{tmp_path}`", held(table)
    cluster = summed(source, SMALL)
    assert isinstance(cluster, SumsStudy)
    same_studies(kept, cluster)
    limits = Limits(reading=Reading(rows=100, shard=9_000, row=20_000))
    local = summed(str(tmp_path), limits, memory="250MB")  # 1 GB: test_large_log, the same table
    same_studies(local, cluster)
    for column in ("values", "rows"):
        assert np.array_equal(*(getattr(study.summed.known.whole, column) for study in (local, cluster)))
    cloudpickle.register_pickle_by_value(large_logs)
    assert np.array_equal(values_by_engine(source, SMALL.reading), by_rows(values_of(kept.sides())))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"click": lambda d: np.where(d.index == 9, np.inf, d["click"])}, "click must be a finite number, got inf"),
        ({"click": lambda d: np.where(d.index == 9, -1.0, d["click"])}, "click must be at least 0, got -1"),
        ({"team": lambda d: d["team"].where(d.index != 9, "z")}, "team must be one of a, b, both, got 'z'"),
        ({"user": lambda d: d["user"].where(d.index != 9, "w")}, "user must have one value per session, got "),
        ({"device": lambda d: d["device"].where(d.index != 9, "w")}, "device must have one value per session, got "),
        (
            {"position": lambda d: d["position"].where(d.index != 9, 2.5)},
            "position must run 1, 2, 3, … in each session",
        ),
    ],
    ids=["no number", "below zero", "no team", "two users", "two devices", "positions"],
)
def test_bad_input_is_refused_as_in_memory(session, change, message):
    data = frame(100).astype({"position": float}).assign(**change)
    for table in (data, session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False))):
        with pytest.raises(InputError, match=message):
            summed(table, SMALL)
