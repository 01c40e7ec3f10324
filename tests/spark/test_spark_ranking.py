"""Ranked lists in a Spark table too large to collect: the values of memory to the last bit, its
accounts, its words.
"""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from test_sharded import ASKS, assert_same

from evalkit.arrays import InputError
from evalkit.limits import Reading
from evalkit.reading.engines import backends
from evalkit.reading.inputs import runs
from evalkit.reading.inputs.rows import RankingInput
from evalkit.reading.reductions import sharded
from evalkit.reading.tables import sources

ROOT = Path(__file__).resolve().parents[2]
GOOD = {
    "query": ["a", "a", "b"],
    "item": ["x", "y", "x"],
    "score": [3.0, 2.0, 1.0],
    "grade": [1.0, 0.0, 2.0],
}


# every table is too large to be collected, and falls into many shards
READING = Reading(collected=0, worker=5_000)


def frame(session, rows: pd.DataFrame):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


def from_spark(*given, asks=ASKS, **options) -> runs.Runs:
    tables = (sources.parts(data, reading=READING) for data in given)
    found = sharded.read(
        RankingInput.from_data(*tables, **options), asks, backends.budget(reading=READING)
    )
    assert not found.rankings
    return found


def test_judgements_and_queries_beside_it_may_be_files(session):
    sample = ROOT / "data/digits_retrieval"
    given = str(sample / "qrels.txt")
    options = {"queries": str(sample / "queries.csv"), "segments": ["digit"]}
    (part,) = sources.parts(str(sample / "runs/lda_cosine.run"))
    rows = pa.table(part.load({"query": "query", "item": "item"}, {"score": "score"}))
    rows = rows.append_column("system", pa.array(["a\\b'c"] * len(rows)))
    here = runs.read(rows, given, **options)
    found = from_spark(session.createDataFrame(rows), given, **options)
    assert_same(here, replace(found, sources=here.sources))
    wide = rows.drop_columns("system").rename_columns(["query", "item", "score_a\\b'c"])
    found = from_spark(session.createDataFrame(wide), given, **options)
    assert_same(here, replace(found, sources=here.sources, columns=here.columns))


def test_rows_that_contradict_each_other_are_refused(session):
    good = pd.DataFrame(GOOD)
    with pytest.raises(
        InputError,
        match=r"query 'a' and item 'x' must appear once in system 'score', got them again",
    ):
        from_spark(frame(session, pd.concat([good, good[:1]])))
