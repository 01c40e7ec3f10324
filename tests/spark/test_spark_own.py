"""Own metrics on Spark tables too large to collect: the numbers of rows in files, and refusals that
come back whole.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_samples import binary, classified
from own_metric_samples import (
    own_alarms,
    own_brier,
    own_gap,
    own_mcc,
    own_recall,
    own_recall_at,
    saved,
)
from test_sharded import ranked_lists

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.limits import Limits, ReadingLimits
from evalkit.parameters.reports import RankingParameters
from evalkit.studies import ranking

# Every table is large and falls into shards; no sign flips, which order units that tie by the last
# bit of sums.
LIMITS_OF_LARGE_TABLES = Limits(
    flipped=1, reading=ReadingLimits(rows=100, collected=0, worker=2_000)
)
# a file with a metric of one's own, `near`, that uses a constant of the file
SOURCE_OF_METRIC_NEAR = '''import evalkit as ek
SHARE = 0.5

@ek.mean(low=0)
def near(label, score):
    """Rows whose score is near the label."""
    return abs(label - score) < SHARE
'''


class SameRows(NamedTuple):
    """6,000 labels and scores of two systems as a data frame and as a table of Spark."""

    pandas: pd.DataFrame
    spark: Any


@pytest.fixture
def rows(session):
    """The table of Spark has three partitions."""
    frame = binary(6_000, seed=3)
    table = session.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))
    return SameRows(frame, table.repartition(3))


def test_own_metrics_of_each_kind_are_the_same_of_a_spark_table_as_of_a_data_frame(rows, tmp_path):
    """The user's own metrics are a mean, a share, one of the four counts, two ratios, and one that
    is named by its file. Their estimates and comparisons on a table of Spark are those on a data
    frame of the same rows.
    """
    path = tmp_path / "mine.py"
    path.write_text(SOURCE_OF_METRIC_NEAR, encoding="utf-8")
    metrics = [own_brier, own_recall, own_mcc, own_alarms, own_gap, f"{path}:near"]
    options = {"metrics": metrics, "threshold": 0.4, "unit": "user_id"}
    of_pandas = classified(rows.pandas, LIMITS_OF_LARGE_TABLES, **options)
    of_spark = classified(rows.spark, LIMITS_OF_LARGE_TABLES, **options)
    assert of_spark.data is None  # no rows were collected
    for name in ("estimates", "comparisons"):
        expected = getattr(of_pandas, name).select_dtypes("number")
        numbers = getattr(of_spark, name)[expected.columns]
        np.testing.assert_allclose(numbers, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "metric, message",
    [
        (
            saved,
            "metrics: saved is computed from the column amount, which needs all rows in memory, "
            "got 6,000 rows",
        ),
        (
            ek.ratio(name="bad")(lambda label: {}["amount"]),
            "metrics: bad raised KeyError: 'amount'",
        ),
    ],
    ids=["it needs a column of all rows", "it raises"],
)
def test_an_own_metric_that_fails_on_spark_is_refused_with_its_reason(rows, metric, message):
    spark_table = rows.spark.withColumn("amount", rows.spark.exact)
    with pytest.raises(ParameterError, match=message):
        _ = classified(spark_table, LIMITS_OF_LARGE_TABLES, metrics=[metric]).estimates


def test_an_own_metric_of_ranked_lists_is_the_same_of_a_spark_table_as_of_a_data_frame(session):
    """The user's own recall@5 and the built-in one are computed on ranked lists of two systems, as
    a data frame and as a table of Spark. The estimates are the same to the last bit, and both
    metrics give the same value, so that there are two systems and two values.
    """
    frame = ranked_lists(5_000)
    spark_table = session.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))

    def estimates_of(preds):
        parameters = {"preds": preds, "metrics": [own_recall_at.at(5), "recall@5"]}
        return ranking.study_of(
            RankingParameters.from_raw(parameters), LIMITS_OF_LARGE_TABLES
        ).estimates

    of_spark = estimates_of(spark_table)
    pd.testing.assert_frame_equal(estimates_of(frame), of_spark, check_exact=True)
    assert of_spark["system"].nunique() == 2
    assert of_spark["value"].nunique() == 2
