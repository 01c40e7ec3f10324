"""Own metrics on Spark tables too large to collect: the numbers of rows in files, and refusals that
come back whole.
"""

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
from test_sharded import table

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.limits import Limits, Reading
from evalkit.parameters.reports import RankingParameters
from evalkit.studies import ranking

# Every table is large and falls into shards; no sign flips, which order units that tie by the last
# bit of sums.
LIMITS = Limits(flipped=1, reading=Reading(rows=100, collected=0, worker=2_000))
SOURCE = '''import evalkit as ek
SHARE = 0.5

@ek.mean(low=0)
def near(label, score):
    """Rows whose score is near the label."""
    return abs(label - score) < SHARE
'''


@pytest.fixture
def rows(session):
    here = binary(6_000, seed=3)
    return here, session.createDataFrame(
        pa.Table.from_pandas(here, preserve_index=False)
    ).repartition(3)


def test_every_kind_has_the_numbers_of_memory(rows, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE, encoding="utf-8")
    metrics = [own_brier, own_recall, own_mcc, own_alarms, own_gap, f"{path}:near"]
    here, there = (
        classified(data, LIMITS, metrics=metrics, threshold=0.4, unit="user_id") for data in rows
    )
    assert there.data is None
    for first, second in ((here.estimates, there.estimates), (here.comparisons, there.comparisons)):
        numbers = first.select_dtypes("number").columns
        np.testing.assert_allclose(second[numbers], first[numbers], rtol=1e-8, atol=1e-12)


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
)
def test_what_is_wrong_is_refused_in_the_words_of_memory(rows, metric, message):
    with pytest.raises(ParameterError, match=message):
        _ = classified(
            rows[1].withColumn("amount", rows[1].exact), LIMITS, metrics=[metric]
        ).estimates


def test_of_ranked_lists_it_is_computed_where_the_lists_are(session):
    here = table(5_000)
    given = {"metrics": [own_recall_at.at(5), "recall@5"]}
    there = session.createDataFrame(pa.Table.from_pandas(here, preserve_index=False))
    studies = [
        ranking.study_of(RankingParameters.from_raw({"preds": data, **given}), LIMITS)
        for data in (here, there)
    ]
    pd.testing.assert_frame_equal(studies[0].estimates, studies[1].estimates, check_exact=True)
    assert studies[1].estimates["value"].nunique() == len(studies[1].systems)
