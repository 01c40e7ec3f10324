"""Users and sessions in Spark too many to collect: the numbers of memory, the same refusals."""

import numpy as np
import pyarrow as pa
import pytest
from large_online import FRAMES, log, study, users
from large_same import same

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000))
TABLES = {"users": lambda: users(100_000, crossed=3_000), "log": lambda: log(12_000)}
COUNTS = {
    "users": ("sizes", "crossed", "others"),
    "log": ("users", "silent", "items", "sessions", "session_p", "order"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_numbers_are_those_of_memory(session, tmp_path, kind):
    table = TABLES[kind]()
    for i, at in enumerate(np.array_split(np.arange(len(table)), 10)):
        table.iloc[at].to_parquet(tmp_path / f"part{i}.parquet", index=False)
    held, cluster = study(kind, table), study(kind, f"spark:parquet.`{tmp_path}`", SMALL)
    for name in FRAMES[kind]:
        same(getattr(held, name), getattr(cluster, name), 1e-10)
    for name in COUNTS[kind]:
        assert getattr(held, name) == getattr(cluster, name), name


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        (
            "users",
            {"orders": lambda d: d["orders"].where(d.index != 9, np.inf)},
            "orders must be a finite number, got inf",
        ),
        ("users", {"arm": lambda d: d["arm"].where(d.index != 9)}, "arm must not be empty"),
        (
            "users",
            {name: lambda d, name=name: d[name].where(d.index != 9, d[name][8]) for name in ("user", "arm")},
            "user must have one row, got u[0-9]+ again: sum them first",
        ),
        ("log", {"click": lambda d: d["click"].where(d.index != 9, np.inf)}, "click must be a finite number, got inf"),
        ("log", {"click": lambda d: d["click"].where(d.index != 9, -1.0)}, "click must be at least 0, got -1"),
        ("log", {"team": lambda d: d["team"].where(d.index != 9, "z")}, "team must be one of a, b, both, got 'z'"),
        ("log", {"user": lambda d: d["user"].where(d.index != 9, "w")}, "user must have one value per session, got "),
        ("log", {"device": lambda d: d["device"].where(d.index != 9, "w")}, "device must have one value per session"),
        ("log", {"position": lambda d: d["position"].where(d.index != 9, 2.5)}, "position must run 1, 2, 3, … in each"),
    ],
)
def test_bad_input_is_refused_as_in_memory(session, kind, change, message):
    data = (users(300, crossed=0) if kind == "users" else log(100).astype({"position": float})).reset_index(drop=True)
    data = data.assign(**change)
    for table in (data, session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False))):
        with pytest.raises(InputError, match=message):
            study(kind, table, SMALL)
