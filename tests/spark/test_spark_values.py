"""Values per unit in Spark too many to collect: the numbers of memory and of DuckDB, the same refusals."""

import numpy as np
import pyarrow as pa
import pytest
from large_values import drawn, held, long, of_users, summed, wide
from test_large_values import same_studies

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000))


def clustered(rows):
    return of_users(drawn(rows), 7_919)


def write(table, folder):
    for i, at in enumerate(np.array_split(np.arange(len(table)), 10)):
        table.iloc[at].to_parquet(folder / f"part{i}.parquet", index=False)


@pytest.mark.parametrize(
    ("make", "given"),
    [(wide, {}), (drawn, {}), (long, {}), (clustered, {"unit": "user"})],
    ids=["wide", "draws", "long", "clusters"],
)
def test_numbers_are_those_of_memory(session, tmp_path, make, given):
    table = make(20_000)
    write(table, tmp_path)
    same_studies(held(table, **given), summed(f"spark:parquet.`{tmp_path}`", SMALL, **given), rtol=1e-10)


def test_folds_have_the_numbers_of_memory(session, tmp_path):
    table = wide(20_000).drop(columns="question")
    table = table.assign(fold=np.arange(len(table)) % 100, repeat=np.arange(len(table)) // 100)
    write(table, tmp_path)
    kept = held(table, test_to_train=0.1)
    same_studies(kept, summed(f"spark:parquet.`{tmp_path}`", SMALL, test_to_train=0.1), rtol=1e-9)


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
