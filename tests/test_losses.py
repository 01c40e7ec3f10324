"""Losses a row: by hand, by scikit-learn, and what is undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME
from sklearn import metrics

from evalkit.catalogue.lookup import find
from evalkit.metrics import calibration, losses
from evalkit.metrics.counts import count
from evalkit.metrics.rows import Rows

ACTUAL, FORECAST = np.array([3.0, -0.5, 2.0, 7.0]), np.array([2.5, 0.0, 2.0, 8.0])


def value(name, actual, forecast):
    return find(name, "forecasts").value(Rows(actual, forecast))


def test_four_forecasts_by_hand():
    expected = {"mae": 0.5, "rmse": np.sqrt(1.5 / 4), "bias": 0.25, "median_absolute_error": 0.5}
    assert {name: value(name, ACTUAL, FORECAST) for name in expected} == pytest.approx(expected)


@ANY_TIME
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_losses_of_rows_and_of_counts_agree(data):
    label, p = map(np.array, zip(*data, strict=True))
    c = count(p, label)
    assert losses.brier(label, p).mean() == pytest.approx(calibration.brier(c))
    assert losses.log(label, p).mean() == pytest.approx(metrics.log_loss(label, p, labels=[0, 1]), abs=1e-9)
    two = np.column_stack([1 - p, p])
    assert losses.brier_classes(label, two).mean() == pytest.approx(2 * calibration.brier(c))
    np.testing.assert_allclose(losses.log_classes(label, two), losses.log(label, p), atol=1e-9)


def test_half_pinball_is_half_absolute():
    np.testing.assert_allclose(2 * losses.quantile(ACTUAL, FORECAST), losses.absolute(ACTUAL, FORECAST))


def test_undefined():
    same, none = np.array([2.0, 2.0]), np.zeros(0)
    assert np.isnan([value("r2", same, same), value("r2_correlation", same, same)]).all()
    assert np.isnan([value(name, none, none) for name in ("mae", "rmse", "median_absolute_error")]).all()
