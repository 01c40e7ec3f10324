"""How often a table in Spark is read: to check it, for all its groups at once, and for each pass over its rows.

A table on a cluster may be a query that takes long: it is not made again for each column, system or question.
"""

import large_classes
import large_forecasts
import large_labels
import large_online
import large_values
import pyarrow as pa
import pytest
from large_tables import classified, frame, long

from evalkit.limits import Limits, Reading
from evalkit.parameters import Rating
from evalkit.reading.engines import spark
from evalkit.studies import rating

SMALL = Limits(reading=Reading(rows=100, collected=100, worker=900))
GROUPS = {"segments": "country,digit", "unit": "user_id"}


def forecasts(table, limits, **given):
    return rating.study_of(Rating.of({"preds": table, **given}), limits)


def grouped(table):
    """With a second column for segments, which all rows of an id share."""
    return table.assign(digit=table["id"].str[-1])


# Checked, ids that stand twice (unless systems are joined on them), groups, bins, sums; of forecasts the farthest rows.
# Of values: types, rules, ids that stand twice. Of a log: arms and sums.
CASES = {
    "two classes": (classified, lambda: grouped(frame(2_500)), GROUPS, 5),
    "two classes, long": (classified, lambda: grouped(long(frame(2_500))), GROUPS, 4),
    "several classes": (classified, lambda: grouped(large_classes.frame(900)), GROUPS, 4),
    "several labels": (classified, lambda: grouped(large_labels.frame(900)), GROUPS, 4),
    "forecasts": (forecasts, lambda: grouped(large_forecasts.frame(900)), GROUPS, 5),
    "values": (large_values.summed, lambda: large_values.wide(900), {}, 7),
    "values of users": (
        large_values.summed,
        lambda: large_values.of_users(large_values.drawn(900), 401),
        {"unit": "user"},
        8,
    ),
    "users": (large_online.users_by_blocks, lambda: large_online.users(900, crossed=0), {}, 1),
    "users in several arms": (large_online.users_by_blocks, lambda: large_online.users(900, crossed=9), {}, 1),
    "sessions": (large_online.log_by_blocks, lambda: large_online.log(900), {}, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_not_read_again_for_each_question(session, monkeypatch, name):
    study, rows, given, times = CASES[name]
    table = session.createDataFrame(pa.Table.from_pandas(rows(), preserve_index=False)).repartition(3)
    asked, inner = [], spark.Spark._asked

    def counted(engine, query, where, frames):
        asked.append(query)
        return inner(engine, query, where, frames)

    monkeypatch.setattr(spark.Spark, "_asked", counted)
    study(table, SMALL, **given)
    assert len(asked) == times
