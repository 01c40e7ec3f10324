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
from evalkit.limits import Limits, Reading
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
    rng = np.random.default_rng(3)
    n = 20_000
    query = pa.array(rng.integers(0, 300, n)).cast(pa.string())
    columns = {
        "query": query,
        "item": pa.array(np.arange(n)).cast(pa.string()),
        "score": rng.normal(size=n),
    }
    return pa.table(columns | {"grade": rng.integers(0, 3, n).astype(float)})


def same(a, b):
    assert np.array_equal(a.query, b.query)
    assert np.array_equal(a.rankings["score"].retrieved.grade, b.rankings["score"].retrieved.grade)


def test_an_iterator_and_a_reader_give_what_the_table_gives(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    whole = runs.read(table)
    same(whole, runs.read(iter(table.to_batches(max_chunksize=1_000))))
    same(whole, runs.read(table.to_reader(max_chunksize=1_000)))
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_batches_of_any_size_are_measured_shard_by_shard(table):
    found = sharded.read(
        RankingInput.from_data(table.to_reader()),
        [LastRank()],
        backends.budget(200 * 10**6, reading=Reading(lists=0)),
    )
    assert found.measure("score", LastRank()).numerator.sum() == len(table)
    assert (found.sources[0].name, found.sources[0].rows, found.sources[0].sha256) == (
        "record batches",
        20_000,
        "",
    )


def test_the_ranking_study_takes_them(table):
    a = ranking.read(table)
    b = ranking.read(iter(table.to_batches()))
    assert a.estimates.equals(b.estimates)


def sample(path):
    """A bundled table, and its record batches, which can be read once."""
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
def test_the_classification_study_takes_them(rows):
    limits = Limits(reading=Reading(rows=rows))
    table, batches = sample("german_credit/predictions.csv")
    assert_same(
        *(classified(data, limits, segments="housing", positive="1") for data in (table, batches))
    )


STUDIES = {
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


@pytest.mark.parametrize("case", STUDIES)
def test_every_study_reads_them_once(case):
    study, path, given = STUDIES[case]
    assert_same(*(study.read(data, **given) for data in sample(path)))


def test_significance_of_ranked_lists_takes_them(table):
    long = pa.concat_tables(
        [table.append_column("system", pa.array([name] * len(table))) for name in "ab"]
    )
    assert_same(significance.read(long), significance.read(iter(long.to_batches())))


def test_the_interleaving_study_takes_them():
    users = {
        "columns": "{user: block, arm: plan}",
        "metrics": "visits_per_year",
        "segments": "health",
    }
    for role, path, given in (
        ("log", "interleaving/sessions.parquet", {"neutral": "both", "segments": "device"}),
        ("users", "interleaving/health_plans.parquet", users),
    ):
        a, b = (
            interleaving.read(**{role: data}, simulated_users=1000, **given).studies[0]
            for data in sample(path)
        )
        assert_same(a, b)


def test_the_validation_study_takes_them():
    a, b = (validation.read(data).estimates for data in sample("german_credit/predictions.csv"))
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
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"])
    with pytest.raises(InputError, match="record batches: column names must be distinct"):
        sources.parts(iter([twice]))


def test_a_path_is_no_iterator():
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


def test_a_database_that_failed_is_opened_anew():
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


def part_with(column):
    """A frame of one column, x."""
    part = frames.part_of(pa.table({"x": column}))
    assert isinstance(part, frames.Frame)
    return part


@pytest.mark.parametrize("column", TEXTUAL.values(), ids=TEXTUAL)
def test_a_cast_to_text_is_that_of_a_query(column):
    part = part_with(column)
    cast = part.load({"role": "x"}, {})
    queried = InputPart.load(part, {"role": "x"}, {})
    assert cast["role"].to_pylist() == queried["role"].to_pylist()


@pytest.mark.parametrize("column", NUMERIC.values(), ids=NUMERIC)
def test_a_cast_to_doubles_is_that_of_a_query(column):
    part = part_with(column)
    cast = part.load({}, {"role": "x"})
    queried = InputPart.load(part, {}, {"role": "x"})
    assert cast["role"].to_pylist() == queried["role"].to_pylist()


def test_a_clean_frame_needs_no_query(monkeypatch):
    monkeypatch.setattr(duck, "sql", None)
    frame = pd.DataFrame({"id": [1, 2], "label": [0, 1], "score": [0.2, 0.4]})
    assert outcomes.read(frame).actual.tolist() == [0, 1]


NUMBERS = [0.0, -0.0, 1e-7, np.nan, np.inf, 1e16, 5e-324, 0.1, 3.0, 123456789.25]
CELLS = {
    "double": NUMBERS,
    "whole": range(10),
    "truth": [True, False] * 5,
    "text": ["a", "", None, "é", "1.0"] * 2,
    "category": pd.Categorical(["a", "b"] * 5),
}


@pytest.mark.parametrize("kind", CELLS)
def test_the_first_cells_of_a_frame_are_texts_as_duckdb_writes_them(kind):
    part = frames.part_of(pd.DataFrame({kind: CELLS[kind]}))
    types = duck.sql("DESCRIBE SELECT * FROM frame", part.name, frame=part.table)
    cell = duck.DUCKDB.text(kind, types["column_type"][0].as_py())
    query = f"SELECT {cell} AS written FROM frame"
    written = duck.sql(query, part.name, frame=part.table)["written"].to_pylist()
    assert part.head[kind] == written
