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
from evalkit.limits import ReadingLimits
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
READING = ReadingLimits(collected=0, worker=5_000)


def frame(session, rows: pd.DataFrame):
    return session.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))


def read_from_spark(*given, asks=ASKS, **options) -> runs.Runs:
    tables = (sources.parts(data, reading=READING) for data in given)
    found = sharded.read(
        RankingInput.from_data(*tables, **options), asks, backends.budget(reading=READING)
    )
    assert not found.rankings
    return found


def test_judgements_and_queries_beside_a_spark_table_may_be_files(session):
    """The ranked lists are in Spark, judgements and queries in files. The values must be those of
    reading all in memory, for a long table with a column of systems and for a wide one with a
    column of scores for each system.

    The lists are those of a bundled run file. The names of the sources, and of the columns of the
    wide table, differ from those in memory, so that they are replaced before the comparison.
    """
    system = "a\\b'c"  # with characters that SQL must escape
    sample = ROOT / "data/digits_retrieval"
    qrels = str(sample / "qrels.txt")
    options = {"queries": str(sample / "queries.csv"), "segments": ["digit"]}
    (run_file,) = sources.parts(str(sample / "runs/lda_cosine.run"))
    texts = {"query": "query", "item": "item"}  # columns to read, under the same names
    numbers = {"score": "score"}
    rows = pa.table(run_file.load(texts, numbers))
    long = rows.append_column("system", pa.array([system] * len(rows)))
    wide = rows.rename_columns(["query", "item", f"score_{system}"])
    expected = runs.read(long, qrels, **options)
    read_from_long = read_from_spark(session.createDataFrame(long), qrels, **options)
    assert_same(expected, replace(read_from_long, sources=expected.sources))
    read_from_wide = read_from_spark(session.createDataFrame(wide), qrels, **options)
    with_expected_names = replace(
        read_from_wide, sources=expected.sources, columns=expected.columns
    )
    assert_same(expected, with_expected_names)


def test_an_item_that_a_list_has_twice_is_refused(session):
    rows = pd.DataFrame(GOOD)  # the first is item x of query a
    first_row_again = pd.concat([rows, rows[:1]])
    message = r"query 'a' and item 'x' must appear once in system 'score', got them again"
    with pytest.raises(InputError, match=message):
        read_from_spark(frame(session, first_row_again))
