"""Users of an A/B test in Spark too many to collect: the numbers of memory and of DuckDB, the same refusals."""

import numpy as np
import pyarrow as pa
import pytest
from large_same import same
from large_users import FRAMES, frame, held, summed

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.statistics import permutation
from evalkit.studies.experiment_sums import SumsStudy

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000))


def same_studies(a, b):
    """Counts and words to the last bit, other numbers up to rounding."""
    for of in FRAMES:
        same(getattr(a, of), getattr(b, of), 1e-10)
    assert (a.sizes, a.crossed, a.others) == (b.sizes, b.crossed, b.others)
    assert b.concentration == pytest.approx(a.concentration, rel=1e-12)
    np.testing.assert_allclose(b.estimates["value"], a.estimates["value"], rtol=1e-12)


def test_numbers_are_those_of_memory_and_of_duckdb(session, tmp_path, monkeypatch):
    monkeypatch.setattr(permutation, "fits", lambda *arms: False)
    table = frame(100_000, crossed=3_000)
    for i, at in enumerate(np.array_split(np.arange(len(table)), 10)):
        table.iloc[at].to_parquet(tmp_path / f"part{i}.parquet", index=False)
    cluster = summed(f"spark:parquet.`{tmp_path}`", SMALL)
    assert isinstance(cluster, SumsStudy)
    same_studies(held(table), cluster)
    limits = Limits(reading=Reading(rows=100, shard=9_000, row=20_000))
    local = summed(str(tmp_path), limits, memory="250MB")  # 1 GB: test_large_users, the same table
    same_studies(local, cluster)
    for column in ("values", "rows"):
        assert np.array_equal(*(getattr(study.arms.known.counted, column) for study in (local, cluster)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orders": lambda d: np.where(d.index == 9, np.inf, d["orders"])}, "orders must be a finite number, got inf"),
        ({"arm": lambda d: d["arm"].where(d.index != 9)}, "arm must not be empty"),
        ({"user": lambda d: d["user"].where(d.index != 9, d["user"][8]), "arm": lambda d: d["arm"].where(
            d.index != 9, d["arm"][8])}, "user must have one row, got u[0-9]+ again: sum them first"),
    ],
    ids=["no number", "no arm", "user again"],
)  # fmt: skip
def test_bad_input_is_refused_as_in_memory(session, change, message):
    data = frame(300, crossed=0).reset_index(drop=True).assign(**change)
    for table in (data, session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False))):
        with pytest.raises(InputError, match=message):
            summed(table, SMALL)
