"""Losses a row: by hand, by scikit-learn, and what is undefined."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME
from sklearn import metrics

from evalkit.metrics import calibration, losses
from evalkit.metrics.counts import count

ACTUAL, FORECAST = np.array([3.0, -0.5, 2.0, 7.0]), np.array([2.5, 0.0, 2.0, 8.0])


def test_four_forecasts_by_hand():
    assert losses.mae(ACTUAL, FORECAST) == 0.5
    assert losses.rmse(ACTUAL, FORECAST) == pytest.approx(np.sqrt(1.5 / 4))
    assert losses.bias(ACTUAL, FORECAST) == 0.25
    assert losses.median_absolute_error(ACTUAL, FORECAST) == 0.5
    assert losses.absolute_percentage(ACTUAL, FORECAST)[1] == 1


values = st.lists(st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)), min_size=2, max_size=30)


@ANY_TIME
@given(values, st.floats(0.05, 0.95))
def test_equals_scikit_learn(data, level):
    a, f = map(np.array, zip(*data, strict=True))
    assert losses.mae(a, f) == pytest.approx(metrics.mean_absolute_error(a, f))
    assert losses.rmse(a, f) == pytest.approx(metrics.root_mean_squared_error(a, f))
    assert losses.median_absolute_error(a, f) == pytest.approx(metrics.median_absolute_error(a, f))
    assert losses.quantile(a, f, level).mean() == pytest.approx(metrics.mean_pinball_loss(a, f, alpha=level))
    assert losses.poisson(a, f).mean() == pytest.approx(metrics.mean_poisson_deviance(a, f), abs=1e-9)
    assert losses.absolute_percentage(a, f).mean() == pytest.approx(metrics.mean_absolute_percentage_error(a, f))
    if np.ptp(a) > 1e-3:
        assert losses.r2(a, f) == pytest.approx(metrics.r2_score(a, f))
    if np.ptp(a) > 1e-3 and np.ptp(f) > 1e-3:
        assert losses.r2_correlation(a, f) == pytest.approx(np.corrcoef(a, f)[0, 1] ** 2, abs=1e-6)


@ANY_TIME
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_losses_of_rows_and_of_counts_agree(data):
    label, p = map(np.array, zip(*data, strict=True))
    c = count(p, label)
    assert losses.mean(losses.brier(label, p)) == pytest.approx(calibration.brier(c))
    assert losses.mean(losses.log(label, p)) == pytest.approx(calibration.log_loss(c), abs=1e-12)
    assert losses.clipped(p) == calibration.clipped(c)
    assert losses.log(label, p).mean() == pytest.approx(metrics.log_loss(label, p, labels=[0, 1]), abs=1e-9)
    two = np.column_stack([1 - p, p])
    assert losses.brier_classes(label, two).mean() == pytest.approx(2 * calibration.brier(c))
    np.testing.assert_allclose(losses.log_classes(label, two), losses.log(label, p), atol=1e-9)


def test_half_pinball_is_half_absolute():
    np.testing.assert_allclose(2 * losses.quantile(ACTUAL, FORECAST), losses.absolute(ACTUAL, FORECAST))


def test_undefined():
    same, none = np.array([2.0, 2.0]), np.zeros(0)
    assert np.isnan([losses.r2(same, same), losses.r2_correlation(same, same)]).all()
    assert np.isnan([losses.mae(none, none), losses.rmse(none, none), losses.median_absolute_error(none, none)]).all()
    assert np.isnan(losses.absolute_percentage(np.array([0.0]), np.array([1.0]))).all()
    assert np.isnan(losses.poisson(np.array([1.0, 0.0]), np.array([0.0, -1.0]))).all()
