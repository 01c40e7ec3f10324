"""Values per unit in Spark too many to collect: the numbers of memory and of DuckDB, the same refusals."""

import numpy as np
import pyarrow as pa
import pytest
from large_values import drawn, held, long, of_users, summed, wide
from test_large_values import same_folds, same_studies

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000))


def clustered(rows):
    return of_users(drawn(rows), 39_989)


def write(table, folder):
    for i, at in enumerate(np.array_split(np.arange(len(table)), 10)):
        table.iloc[at].to_parquet(folder / f"part{i}.parquet", index=False)


def same_pairs(local, cluster):
    """Counts and every difference to the last bit, means up to rounding."""
    for chosen in local.directed:
        for pair in local.pairs:
            one, other = (study.paired(chosen, pair) for study in (local, cluster))
            assert (one.n, one.scale) == (other.n, other.scale)
            assert one.value == pytest.approx(other.value, rel=1e-11)
    for column in ("values", "rows"):
        assert np.array_equal(*(getattr(study.distribution(), column) for study in (local, cluster)))


@pytest.mark.parametrize(
    ("make", "given"),
    [(wide, {}), (drawn, {}), (long, {}), (clustered, {"unit": "user"})],
    ids=["wide", "draws", "long", "clusters"],
)
def test_numbers_are_those_of_memory_and_of_duckdb(session, tmp_path, make, given):
    table = make(100_000)
    write(table, tmp_path)
    kept, cluster = held(table, **given), summed(f"spark:parquet.`{tmp_path}`", SMALL, **given)
    same_studies(kept, cluster)
    limits = Limits(reading=Reading(rows=100, shard=9_000, row=20_000))
    local = summed(str(tmp_path), limits, memory="250MB", **given)  # 1 GB: test_large_values, the same tables
    same_pairs(local, cluster)


def test_folds_have_the_numbers_of_memory_at_every_limit(session, tmp_path):
    table = wide(100_000).drop(columns="question")
    table = table.assign(fold=np.arange(len(table)) % 100, repeat=np.arange(len(table)) // 100)
    write(table, tmp_path)
    kept = held(table, test_to_train=0.1)
    same_folds(kept, summed(f"spark:parquet.`{tmp_path}`", SMALL, test_to_train=0.1))
    for memory in ("1GB", "250MB"):
        limits = Limits(reading=Reading(rows=100, shard=9_000, row=20_000))
        same_folds(kept, summed(str(tmp_path), limits, memory=memory, test_to_train=0.1))


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (wide, {"new": lambda d: np.where(d.index == 9, np.inf, d["new"])}, "new must be finite or empty, got inf"),
        (wide, {"question": lambda d: d["question"].where(d.index != 9)}, "question must not be empty"),
        (long, {"value": lambda d: d["value"].astype(object).where(d.index != 9, "good").astype(str)},
         "value must hold numbers, got 'good'.*; leave a cell empty"),
    ],
    ids=["no number", "no id", "text"],
)  # fmt: skip
def test_bad_input_is_refused_as_in_memory(session, make, change, message):
    data = make(300).reset_index(drop=True).assign(**change)
    for table in (data, session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False))):
        with pytest.raises(InputError, match=message):
            summed(table, SMALL)
