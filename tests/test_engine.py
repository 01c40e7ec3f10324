"""DuckDB within limits: whole groups, the same rows, nothing left behind, errors of one line."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.parameters import kinds
from evalkit.reading.engines import backends as engine
from evalkit.reading.engines.base import Query


def rows(n: int, groups: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {"query": pa.array(rng.integers(0, groups, n)).cast(pa.string()), "x": rng.random(n)}
    )


def length(table: pa.Table, before: int) -> list[tuple[int, int]]:
    return [(before, len(table))]


def test_shards_hold_whole_groups_and_every_row(tmp_path):
    table = rows(400_000, 9_000)
    with engine.opened(engine.budget(200 * 10**6, threads=2, spill=tmp_path)) as e:
        found = list(e.stream(Query("SELECT * FROM rows", "rows", {"rows": table}, "query")))
    assert len(found) > 2
    groups = [set(one["query"].to_pylist()) for one in found]
    assert sum(map(len, groups)) == len(set.union(*groups)) == 9_000
    assert np.array_equal(
        np.sort(np.concatenate([one["x"] for one in found])), np.sort(table["x"].to_numpy())
    )
    assert not list(tmp_path.iterdir())


def test_little_memory_has_fewer_threads():
    for memory, wanted, threads in (
        (250, 2, 1),
        (499, 2, 1),
        (500, 2, 2),
        (1000, 8, 4),
        (1000, 2, 2),
    ):
        with engine.opened(engine.budget(memory * 10**6, threads=wanted)) as e:
            assert e.table(Query("SELECT current_setting('threads') AS n", "")).to_pylist() == [
                {"n": threads}
            ]


def test_one_group_larger_than_a_shard_stays_whole():
    table = pa.table({"query": ["a"] * 250_000 + ["b"] * 10})
    with engine.opened(engine.budget(200 * 10**6, threads=1)) as e:
        found = list(e.stream(Query("SELECT * FROM rows", "rows", {"rows": table}, "query")))
    assert sorted(
        (len(one), len(set(one["query"].to_pylist()))) for one in found if len(one) > 10
    ) == [(250_000, 1)]
    assert sum(map(len, found)) == 250_010


def test_a_total_is_of_what_the_function_makes_of_each_shard_in_order():
    table = rows(300_000, 500)
    with engine.opened(engine.budget(200 * 10**6, threads=2)) as e:
        for by in ("query", None):
            found = e.total(Query("SELECT * FROM rows", "rows", {"rows": table}, by), length)
            assert len(found) > 1
            assert [before for before, _ in found] == np.cumsum([0, *(n for _, n in found)])[
                :-1
            ].tolist()
            assert sum(n for _, n in found) == 300_000


def test_a_full_disk_is_said_in_one_line(tmp_path):
    e = engine.DuckDB({}, engine.Budget(10**9, 1, tmp_path))
    for message in (
        "IO Error: Could not write file: No space left on device",
        "failed to offload data block of size 1",
    ):
        assert str(e._refused(message, "big.csv")) == (
            f"big.csv: no space is left in {tmp_path} for data that do not fit into memory; "
            "set spill=FOLDER to another disk, or memory to more"
        )


def test_what_killed_runs_left_is_removed(tmp_path):
    code = """
import sys, time
from pathlib import Path
from evalkit.reading.engines import backends as engine
with engine.opened(engine.budget(200 * 10**6, spill=Path(sys.argv[1]))):
    print("in", flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with engine.opened(engine.budget(200 * 10**6, spill=tmp_path)):
            assert len(list(tmp_path.iterdir())) == 2  # a run that lives keeps its folder
        other.kill()
    assert len(list(tmp_path.iterdir())) == 1
    with engine.opened(engine.budget(200 * 10**6, spill=tmp_path)):
        assert [one.name.split("-")[1] for one in tmp_path.iterdir()] == [str(os.getpid())]


@pytest.mark.parametrize("memory", ["much", "1XB", "10MB", "1.2.3GB", "-1GB"])
def test_a_memory_that_is_no_size_is_refused(memory):
    with pytest.raises(
        ParameterError, match=r"memory must be a size of at least 200MB, such as 1GB, got"
    ):
        kinds.size("memory", memory, engine.LEAST_MEMORY)


def test_a_spill_folder_must_exist_and_be_writable(tmp_path):
    with pytest.raises(ParameterError, match="spill must be a folder that exists"):
        kinds.folder("spill", str(tmp_path / "none"))


def test_sizes():
    assert kinds.size("memory", "0.5 gib", 0) == 2**29
    assert engine.budget().memory >= engine.LEAST_MEMORY
    assert engine.available() > 0


def test_wrong_sql_names_the_source():
    with (
        engine.opened(engine.budget(200 * 10**6)) as e,
        pytest.raises(InputError, match="the rows: Referenced column"),
    ):
        e.table(Query("SELECT nope FROM rows", "the rows", {"rows": rows(3, 1)}))
