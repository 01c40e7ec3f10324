"""Record batches as input: the same rankings as from the table they were cut from, nothing left behind."""

import gc
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evalkit.arrays import InputError
from evalkit.reading import engine, runs, sharded, sources
from evalkit.studies import ranking
from evalkit.studies.asks import Length


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    n = 20_000
    query = pa.array(rng.integers(0, 300, n)).cast(pa.string())
    columns = {"query": query, "item": pa.array(np.arange(n)).cast(pa.string()), "score": rng.normal(size=n)}
    return pa.table(columns | {"grade": rng.integers(0, 3, n).astype(float)})


def same(a, b):
    assert np.array_equal(a.query, b.query)
    assert np.array_equal(a.rankings["system"].retrieved.grade, b.rankings["system"].retrieved.grade)


def test_an_iterator_and_a_reader_give_what_the_table_gives(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    whole = runs.read(table)
    same(whole, runs.read(iter(table.to_batches(max_chunksize=1_000))))
    same(whole, runs.read(table.to_reader(max_chunksize=1_000)))
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_batches_of_any_size_are_measured_shard_by_shard(table, monkeypatch):
    monkeypatch.setattr(sharded, "WHOLE", 0)
    found = sharded.read(table.to_reader(), asks=[Length()], limits=engine.limits("200MB"))
    assert found.measure("system", Length()).sum() == len(table)
    assert (found.sources[0].name, found.sources[0].rows, found.sources[0].sha256) == ("record batches", 20_000, "")


def test_the_ranking_study_takes_them(table):
    a, b = ranking.read(table), ranking.read(iter(table.to_batches()))
    assert a.estimates.equals(b.estimates)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (iter([]), "record batches: there must be at least one, got none"),
        (iter([{"query": 1}]), "record batches: an iterator must give Arrow record batches, got dict"),
        (iter([pa.record_batch({"a": [1]}), pa.record_batch({"b": [1]})]), "record batches: cannot be read"),
    ],
)
def test_what_is_no_batch_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        sources.parts(data)


def test_columns_must_be_distinct():
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"])
    with pytest.raises(InputError, match="record batches: column names must be distinct"):
        sources.parts(iter([twice]))


def test_a_path_is_no_iterator():
    assert sources.parts(Path("data/german_credit/predictions.csv"))[0].kind == "csv"
