"""Labels and probabilities of a significance report in Spark, too many to collect: the numbers of memory and of DuckDB,
the same refusals."""

import numpy as np
import pyarrow as pa
import pytest
from large_losses import frame
from large_values import held, summed
from test_large_losses import in_two_units, of_some, put, same, twice, twice_in_two_units
from test_large_units import same_rows

from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.studies import units

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=15_000))


@pytest.mark.parametrize("given", [{}, {"unit": "user_id"}], ids=["rows", "clusters"])
def test_numbers_are_those_of_memory(session, tmp_path, given):
    table = frame(20_000, units=3_000)
    for i, at in enumerate(np.array_split(np.arange(len(table)), 10)):
        table.iloc[at].to_parquet(tmp_path / f"part{i}.parquet", index=False)
    same(held(table, **given), summed(f"spark:parquet.`{tmp_path}`", SMALL, **given))


UNIT = {"unit": "user_id"}


def test_own_metrics_and_the_file_of_units_are_those_of_memory(session, tmp_path):
    table = frame(900)
    there = session.createDataFrame(pa.Table.from_pandas(table, preserve_index=False)).repartition(3)
    given = {"metrics": [of_some, "brier"], **UNIT}
    kept, cluster = held(table, **given), summed(there, SMALL, **given)
    same(kept, cluster)
    for path, study in (("memory", kept), ("spark", cluster)):
        units.write(tmp_path / path, "made", {"": study})
    same_rows(tmp_path / "memory", tmp_path / "spark")


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        (put("score", 1.5), {}, "score must be a probability between 0 and 1, got 1.5"),
        (put("label", 2), {}, "label must be 0 or 1, got 2"),
        (put("id", None), {}, "id must not be empty"),
        (twice, {}, "id 'row [0-9]+' must appear once in system '(new|old|base)', got it again"),
        (twice_in_two_units, UNIT, "id 'row [0-9]+' must appear once in system '(new|old|base)', got it again"),
        (in_two_units, UNIT, "user_id must have one value for id 'row [0-9]+', got"),
    ],
    ids=["no probability", "no label", "no id", "id twice", "id in two units", "two units"],
)  # fmt: skip
def test_bad_input_is_refused_as_in_memory(session, change, given, message):
    data = change(frame(300)).reset_index(drop=True).astype({"score": float, "label": float})
    for table in (data, session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False))):
        with pytest.raises(InputError, match=message):
            summed(table, SMALL, **given)
