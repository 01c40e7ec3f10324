"""Record batches as input: the same rankings as from the table they were cut from, nothing left
behind.
"""

import gc
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_samples import classified

from evalkit.arrays import InputError
from evalkit.limits import Limits, ReadingLimits
from evalkit.reading.engines import backends
from evalkit.reading.inputs import outcomes, runs
from evalkit.reading.inputs.rows import RankingInput
from evalkit.reading.reductions import sharded
from evalkit.reading.reductions.sharded import LastRank
from evalkit.reading.tables import duck, frames, sources
from evalkit.reading.tables.formats import Csv
from evalkit.reading.tables.parts import InputPart
from evalkit.studies import classification, interleaving, ranking, rating, significance, validation

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def table():
    """20,000 rows of ranked lists, of 300 queries."""
    rng = np.random.default_rng(3)
    n = 20_000
    query = pa.array(rng.integers(0, 300, n)).cast(pa.string())
    columns = {
        "query": query,
        "item": pa.array(np.arange(n)).cast(pa.string()),
        "score": rng.normal(size=n),
    }
    return pa.table(columns | {"grade": rng.integers(0, 3, n).astype(float)})


def assert_same_rankings(a, b):
    assert np.array_equal(a.query, b.query)
    assert np.array_equal(a.rankings["score"].retrieved.grade, b.rankings["score"].retrieved.grade)


def test_an_iterator_and_a_reader_give_what_the_table_gives(table, tmp_path, monkeypatch):
    """The table of 20,000 rows of ranked lists is given as a whole, as an iterator of record
    batches and as a reader of them. Batches are written to temporary files while they are read;
    once Python has freed what it no longer needs, the folder of temporary files is empty.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    whole = runs.read(table)
    assert_same_rankings(whole, runs.read(iter(table.to_batches(max_chunksize=1_000))))
    assert_same_rankings(whole, runs.read(table.to_reader(max_chunksize=1_000)))
    gc.collect()
    assert not list(tmp_path.iterdir())


def read_by_shards(data):
    """The last rank of each query's list, read shard by shard: `lists` is the number of rows up to
    which rankings are held in memory.
    """
    limits = backends.budget(200 * 10**6, reading=ReadingLimits(lists=0))
    return sharded.read(RankingInput.from_data(data), [LastRank()], limits)


def test_record_batches_are_measured_shard_by_shard(table):
    """The last rank of a list is its length, and all lists together have all rows."""
    last_rank_of_query = read_by_shards(table.to_reader()).measure("score", LastRank()).numerator
    assert last_rank_of_query.sum() == len(table)


def test_record_batches_are_a_source_with_rows_and_without_a_checksum(table):
    (source,) = read_by_shards(table.to_reader()).sources
    assert (source.name, source.rows, source.sha256) == ("record batches", 20_000, "")


def test_the_ranking_study_reads_batches_once(table):
    a = ranking.read(table)
    b = ranking.read(iter(table.to_batches()))
    assert a.estimates.equals(b.estimates)


def table_and_batches(path):
    """A bundled table, and an iterator of its record batches, which can be read once."""
    file = ROOT / "data" / path
    frame = pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table, iter(table.to_batches(max_chunksize=200))


def assert_same(a, b):
    assert type(a) is type(b)
    assert a.estimates.equals(b.estimates)
    assert a.comparisons.equals(b.comparisons)
    assert a.by_segment.equals(b.by_segment)


@pytest.mark.parametrize("rows", [2**20, 100], ids=["kept", "reduced"])
def test_the_classification_study_reads_batches_once(rows):
    limits = Limits(reading=ReadingLimits(rows=rows))
    table, batches = table_and_batches("german_credit/predictions.csv")
    assert_same(
        *(classified(data, limits, segments="housing", positive="1") for data in (table, batches))
    )


STUDY_PATH_AND_PARAMETERS = {
    "multi-class": (classification, "penguins/predictions.csv", {}),
    "multi-label": (classification, "digit_traits/predictions.csv", {}),
    "rating": (rating, "visit_forecasts/predictions.csv", {}),
    "losses": (significance, "german_credit/predictions.csv", {}),
    "wide ranked lists": (
        significance,
        "modechoice/scores_wide.csv",
        {"systems": "logistic,gbm", "unit": "user_id"},
    ),
}


@pytest.mark.parametrize("case", STUDY_PATH_AND_PARAMETERS)
def test_every_study_reads_batches_once(case):
    """A bundled table is read as a whole and as an iterator of record batches, which can be read
    only once; both studies have the same numbers.
    """
    study, path, given = STUDY_PATH_AND_PARAMETERS[case]
    assert_same(*(study.read(data, **given) for data in table_and_batches(path)))


def test_significance_of_ranked_lists_reads_batches_once(table):
    long = pa.concat_tables(
        [table.append_column("system", pa.array([name] * len(table))) for name in "ab"]
    )
    assert_same(significance.read(long), significance.read(iter(long.to_batches())))


def test_the_interleaving_study_reads_batches_of_a_log_once():
    table, batches = table_and_batches("interleaving/sessions.parquet")
    options = {"neutral": "both", "segments": "device", "simulated_users": 1000}
    of_table = interleaving.read(log=table, **options).studies[0]
    of_batches = interleaving.read(log=batches, **options).studies[0]
    assert_same(of_table, of_batches)


def test_the_interleaving_study_reads_batches_of_users_once():
    """The bundled table of users is given as a whole and as an iterator of record batches, which
    can be read only once. Both studies have the same numbers.
    """
    table, batches = table_and_batches("interleaving/health_plans.parquet")
    options = {
        "columns": "{user: block, arm: plan}",
        "metrics": "visits_per_year",
        "segments": "health",
        "simulated_users": 1000,
    }
    of_table = interleaving.read(users=table, **options).studies[0]
    of_batches = interleaving.read(users=batches, **options).studies[0]
    assert_same(of_table, of_batches)


def test_the_validation_study_reads_batches_once():
    a, b = (
        validation.read(data).estimates
        for data in table_and_batches("german_credit/predictions.csv")
    )
    assert a.equals(b)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (iter([]), "record batches: there must be at least one, got none"),
        (
            iter([{"query": 1}]),
            "record batches: an iterator must give Arrow record batches, got dict",
        ),
        (
            iter([pa.record_batch({"a": [1]}), pa.record_batch({"b": [1]})]),
            "record batches: cannot be read",
        ),
    ],
)
def test_what_is_no_batch_is_refused(data, message):
    with pytest.raises(InputError, match=message):
        sources.parts(data)


def test_columns_must_be_distinct():
    """SQL does not tell a and A apart."""
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"])
    with pytest.raises(InputError, match="record batches: column names must be distinct"):
        sources.parts(iter([twice]))


def test_a_path_is_no_iterator():
    """A path is read as a file and not taken for record batches."""
    assert isinstance(sources.parts(Path("data/german_credit/predictions.csv"))[0], Csv)


def test_bins_of_pandas_are_segments():
    """`pandas.cut` gives categories of intervals, which are nested for Arrow; DuckDB would not
    survive them.
    """
    frame = pd.DataFrame({"label": [0, 1] * 20, "score": np.arange(40.0)})
    study = classification.read(
        frame.assign(bin=pd.cut(frame["score"], [-1, 9, 40])), segments="bin"
    )
    assert set(study.by_segment["slice"]) == {"(-1, 9]", "(9, 40]"}


def test_a_database_that_failed_is_opened_again():
    """A table has a column of nested values (a struct with a field "left"), which breaks the
    connection to DuckDB for good. Whether or not this table is refused with an InputError, the next
    table, of 40 rows, is read.
    """
    nested = pa.DictionaryArray.from_arrays(
        pa.array([0, 1] * 20), pa.array([{"left": 1}, {"left": 2}])
    )
    columns = {"label": pa.array([0, 1] * 20), "score": pa.array(np.arange(40.0))}
    with suppress(InputError):
        classification.read(pa.table(columns | {"bin": nested}), segments="bin")
    assert classification.read(pa.table(columns)).estimates["n"].iloc[0] == 40


# Without a query ----------------------------------------------------------------------------------


TEXTUAL = {
    "text": pa.array(["a", "", None]),
    "large text": pa.array(["a", "", None], pa.large_string()),
    "category": pa.array(["a", "", None]).dictionary_encode(),
    "whole numbers": pa.array([-7, 2**62, None]),
    "whole numbers without a sign": pa.array([7, 2**63, None], pa.uint64()),
    "booleans": pa.array([True, False, None]),
}
NUMERIC = {
    "whole numbers": pa.array([-7, 2**53 + 1, None]),
    "whole numbers without a sign": pa.array([7, 2**63, None], pa.uint64()),
    "booleans": pa.array([True, False, None]),
    "single precision": pa.array([0.1, None], pa.float32()),
    "half precision": pa.array(np.array([0.1], np.float16)),
}


def frame_with_column_x(column):
    """A frame with one column, called x."""
    part = frames.part_in_memory(pa.table({"x": column}))
    assert isinstance(part, frames.Frame)
    return part


@pytest.mark.parametrize("column", TEXTUAL.values(), ids=TEXTUAL)
def test_a_cast_to_text_is_that_of_a_query(column):
    """A frame casts the column x to text without a query of DuckDB, which its base class,
    InputPart, makes for any input. `load` takes columns of text by role, then columns of numbers by
    role.
    """
    frame = frame_with_column_x(column)
    cast = frame.load({"role": "x"}, {})
    queried = InputPart.load(frame, {"role": "x"}, {})
    assert cast["role"].to_pylist() == queried["role"].to_pylist()


@pytest.mark.parametrize("column", NUMERIC.values(), ids=NUMERIC)
def test_a_cast_to_doubles_is_that_of_a_query(column):
    """A frame casts the column x to doubles without a query of DuckDB, which its base class,
    InputPart, makes for any input. `load` takes columns of text by role, then columns of numbers by
    role.
    """
    frame = frame_with_column_x(column)
    cast = frame.load({}, {"role": "x"})
    queried = InputPart.load(frame, {}, {"role": "x"})
    assert cast["role"].to_pylist() == queried["role"].to_pylist()


def test_a_clean_frame_needs_no_query(monkeypatch):
    """Without `duck.sql`, any query would fail."""
    monkeypatch.setattr(duck, "sql", None)
    frame = pd.DataFrame({"id": [1, 2], "label": [0, 1], "score": [0.2, 0.4]})
    assert outcomes.read(frame).actual.tolist() == [0, 1]


VALUES_OF_COLUMN = {
    "double": [0.0, -0.0, 1e-7, np.nan, np.inf, 1e16, 5e-324, 0.1, 3.0, 123456789.25],
    "whole": range(10),
    "truth": [True, False] * 5,
    "text": ["a", "", None, "é", "1.0"] * 2,
    "category": pd.Categorical(["a", "b"] * 5),
}


@pytest.mark.parametrize("name", VALUES_OF_COLUMN)
def test_the_first_cells_of_a_frame_are_texts_as_duckdb_writes_them(name):
    """The part of a data frame has in `head` its first cells as texts, made in Python to save a
    query. They must be what a query of DuckDB gives that casts the column to text. VALUES_OF_COLUMN
    has a column of each type, such as doubles with an infinity; its ten rows are all in the head.
    """
    part = frames.part_in_memory(pd.DataFrame({name: VALUES_OF_COLUMN[name]}))
    types = duck.sql("DESCRIBE SELECT * FROM frame", part.name, frame=part.table)
    as_text = duck.DUCKDB.text(name, types["column_type"][0].as_py())
    query = f"SELECT {as_text} AS written FROM frame"
    written_by_duckdb = duck.sql(query, part.name, frame=part.table)["written"].to_pylist()
    assert part.head[name] == written_by_duckdb
