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


def rows_of_queries(n: int, queries: int) -> pa.Table:
    """So many rows of so many queries, in any order, with a number x."""
    rng = np.random.default_rng(0)
    return pa.table(
        {"query": pa.array(rng.integers(0, queries, n)).cast(pa.string()), "x": rng.random(n)}
    )


def select_all(table: pa.Table, group: str | None) -> Query:
    """The query for all rows of a table, those of a group in one shard."""
    return Query("SELECT * FROM rows", "rows", {"rows": table}, group)


def rows_before_and_in_shard(shard: pa.Table, before: int) -> list[tuple[int, int]]:
    """A list of one pair for a shard: the number of rows before it, and its own."""
    return [(before, len(shard))]


def test_shards_hold_whole_groups_and_every_row():
    """A table is read in shards, parts that fit into the memory of the budget: with 200 MB about
    100,000 rows, so that 400,000 rows need several. Rows are grouped by query, and a query is in
    one shard only; together the shards have all rows.
    """
    table = rows_of_queries(400_000, queries=9_000)
    with engine.opened(engine.budget(200 * 10**6, threads=2)) as e:
        shards = list(e.stream(select_all(table, group="query")))
    assert len(shards) > 2
    queries_of_shards = [set(shard["query"].to_pylist()) for shard in shards]
    all_queries = set.union(*queries_of_shards)
    assert len(all_queries) == 9_000
    # A query in two shards would be counted twice.
    assert sum(len(queries) for queries in queries_of_shards) == 9_000
    x = np.concatenate([shard["x"] for shard in shards])
    assert np.array_equal(np.sort(x), np.sort(table["x"].to_numpy()))


def test_a_run_leaves_nothing_in_its_folder_for_what_does_not_fit_into_memory(tmp_path):
    table = rows_of_queries(400_000, queries=9_000)
    with engine.opened(engine.budget(200 * 10**6, threads=2, spill=tmp_path)) as e:
        list(e.stream(select_all(table, group="query")))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("megabytes", "wanted", "threads"),
    [(250, 2, 1), (499, 2, 1), (500, 2, 2), (1000, 8, 4), (1000, 2, 2)],
)
def test_each_thread_has_at_least_250_megabytes(megabytes, wanted, threads):
    with engine.opened(engine.budget(megabytes * 10**6, threads=wanted)) as e:
        settings = e.table(Query("SELECT current_setting('threads') AS n", ""))
    assert settings.to_pylist() == [{"n": threads}]


def test_one_group_larger_than_a_shard_stays_whole():
    """A table is read in shards, parts that fit into the memory of the budget: with 200 MB about
    100,000 rows. The query a has 250,000 rows and must be in one shard nevertheless; the query b
    has the other 10, in the same shard or in another one.
    """
    table = pa.table({"query": ["a"] * 250_000 + ["b"] * 10})
    with engine.opened(engine.budget(200 * 10**6, threads=1)) as e:
        shards = list(e.stream(select_all(table, group="query")))
    (large_shard,) = (shard for shard in shards if len(shard) > 10)
    assert large_shard["query"].to_pylist() == ["a"] * 250_000
    assert sum(len(shard) for shard in shards) == 250_000 + 10


@pytest.mark.parametrize("group", ["query", None])
def test_the_function_of_a_total_gets_each_shard_and_the_number_of_rows_before(group):
    """A table is read in shards, parts that fit into the memory of the budget: with 200 MB about
    100,000 of its 300,000 rows. Rows are divided anywhere (None), or so that the rows of a query
    are in one shard. `total` calls a function with each shard and the number of rows before it, and
    adds up the results. Here the function returns a list of one pair, rows before and rows in the
    shard, and lists are added in the order of the shards.
    """
    table = rows_of_queries(300_000, queries=500)
    with engine.opened(engine.budget(200 * 10**6, threads=2)) as e:
        results = e.total(select_all(table, group), rows_before_and_in_shard)
    assert len(results) > 1
    rows_so_far = 0
    for before, rows_in_shard in results:
        assert before == rows_so_far
        rows_so_far += rows_in_shard
    assert rows_so_far == 300_000


@pytest.mark.parametrize(
    "message_of_duckdb",
    [
        "IO Error: Could not write file: No space left on device",
        "failed to offload data block of size 1",
    ],
)
def test_a_full_disk_is_reported_in_one_line_with_what_to_set(message_of_duckdb, tmp_path):
    e = engine.DuckDB({}, engine.Budget(10**9, 1, tmp_path))
    assert str(e._refused(message_of_duckdb, "big.csv")) == (
        f"big.csv: no space is left in {tmp_path} for data that do not fit into memory; "
        "set spill=FOLDER to another disk, or memory to more"
    )


OPEN_AND_WAIT = """
import sys, time
from pathlib import Path
from evalkit.reading.engines import backends as engine
with engine.opened(engine.budget(200 * 10**6, spill=Path(sys.argv[1]))):
    print("opened", flush=True)
    time.sleep(60)
"""


def test_the_folder_of_a_killed_run_is_removed_by_the_next_and_that_of_a_living_one_is_not(
    tmp_path,
):
    """A run makes a folder of its own in tmp_path, for data that do not fit into its memory of 200
    MB; the name has the id of the process after the first hyphen. A second process opens a run,
    says so and waits. While it is alive, a run of this process leaves its folder; once it is
    killed, the next run removes it.
    """
    with subprocess.Popen(
        [sys.executable, "-c", OPEN_AND_WAIT, tmp_path], stdout=subprocess.PIPE, text=True
    ) as other_run:
        assert other_run.stdout is not None
        assert other_run.stdout.readline() == "opened\n"
        with engine.opened(engine.budget(200 * 10**6, spill=tmp_path)):
            assert len(list(tmp_path.iterdir())) == 2
        other_run.kill()
    assert len(list(tmp_path.iterdir())) == 1  # that of the killed run
    with engine.opened(engine.budget(200 * 10**6, spill=tmp_path)):
        (folder,) = tmp_path.iterdir()
        assert folder.name.split("-")[1] == str(os.getpid())


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
    assert engine.available_memory() > 0


def test_wrong_sql_names_the_source():
    with (
        engine.opened(engine.budget(200 * 10**6)) as e,
        pytest.raises(InputError, match="the rows: Referenced column"),
    ):
        e.table(Query("SELECT nope FROM rows", "the rows", {"rows": rows_of_queries(3, queries=1)}))
