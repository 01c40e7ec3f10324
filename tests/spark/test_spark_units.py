"""The file of the units of tables in Spark: the rows are those of the same table in memory."""

import large_classes
import large_forecasts
import pyarrow as pa
import pytest
from large_tables import classified, frame, long
from test_large_units import TWO, same_rows

from evalkit.limits import Limits, Reading
from evalkit.parameters import Rating
from evalkit.studies import classification, rating, units

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=900))


def forecasts(table, **given):
    return rating.study_of(Rating.of({"preds": table, **given}), SMALL)


def classes(table, **given):
    return classified(table, SMALL, **given)


CASES = {
    "two classes, wide": (classes, classification.read, lambda: frame(2500), TWO | {"columns": "{id: id}"}),
    "two classes, long": (classes, classification.read, lambda: long(frame(2500)), TWO | {"unit": "user_id"}),
    "several classes": (classes, classification.read, lambda: large_classes.frame(900), {"segments": "country"}),
    "forecasts": (
        forecasts,
        rating.read,
        lambda: large_forecasts.long(large_forecasts.frame(900)),
        {"columns": "{weight: exact}"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_that_of_a_table_in_memory(session, name, tmp_path):
    read, held, rows, given = CASES[name]
    data = rows()
    table = session.createDataFrame(pa.Table.from_pandas(data, preserve_index=False)).repartition(3)
    for path, study in (("memory", held(data, **given)), ("spark", read(table, **given))):
        units.write(tmp_path / path, "made", {"": study})
    assert len(same_rows(tmp_path / "memory", tmp_path / "spark"))
