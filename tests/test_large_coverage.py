"""Binary tables that are read twice and never kept: how often intervals by user hold the truth; a big file."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from large_tables import classified

from evalkit.limits import Limits, Reading
from evalkit.metrics import counts
from evalkit.studies import classification

METRICS = ("roc_auc", "average_precision")


def covered(times, units, users=150):
    """How often the intervals of each metric (rows) by these units (columns) hold the population's value."""
    rng = np.random.default_rng(12)

    def draw(users):
        size = rng.integers(1, 15, users)
        user = np.repeat(np.arange(users), size)
        taste = rng.normal(0, 1.2, users)[user]
        label = rng.random(len(user)) < 1 / (1 + np.exp(-taste))
        score = taste + label * 0.8 + rng.normal(0, 1, len(user))
        return pd.DataFrame({"label": label.astype(int), "score": score, "user_id": user.astype(str)})

    def estimates(data, unit=None):
        return classified(data, Limits(reading=Reading(rows=100)), metrics=",".join(METRICS), unit=unit).estimates

    truth, hits = estimates(draw(40_000))["value"], np.zeros((len(METRICS), len(units)))
    for _ in range(times):
        data = draw(users)
        for i, unit in enumerate(units):
            e = estimates(data, unit)
            hits[:, i] += (e["low"] <= truth) & (truth <= e["high"])
    return hits / times


@pytest.fixture(scope="module")
def few():
    """The shares of sixty samples."""
    return covered(60, ("user_id",))


@pytest.fixture(scope="module")
def many():
    """The shares of a thousand samples."""
    return covered(1000, ("user_id", None))


@pytest.mark.parametrize("metric", METRICS)
def test_intervals_by_user_cover(metric, few):
    (by_user,) = few[METRICS.index(metric)]
    assert by_user >= 0.85  # 0.95 less three and a half standard errors


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_intervals_by_user_cover_at_length(metric, many):
    by_user, by_row = many[METRICS.index(metric)]
    assert 0.92 <= by_user <= 0.97
    assert by_row < 0.92


@pytest.mark.slow
def test_a_big_file(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "big.parquet"
    label = rng.random(6_000_000) < 0.2
    score = rng.normal(size=len(label)) + label
    pq.write_table(pa.table({"label": label.astype(np.int8), "score": score}), path)
    study = classification.read(str(path), memory="300MB", metrics="roc_auc,average_precision,ks,f1")
    exact = counts.count(score, label)
    width, low, high = study.binned["system"].moved
    assert abs(study.estimate(study.primary, "system").value - counts.auc(exact)) <= width < 1e-5
    assert low <= counts.average_precision(exact) <= high
    assert len(study.account) == len(label)
