"""CORP of probabilities and of forecasts of numbers, by model-diagnostics: tests/oracles/corp.py."""

import numpy as np
import pytest
from samples import expected

from evalkit.metrics import calibration
from evalkit.metrics.counts import count
from evalkit.metrics.rows import Rows
from evalkit.statistics.consistency import band_of_means
from evalkit.studies import rating

CASES = expected("corp")["cases"]
PARTS = ("miscalibration", "discrimination", "uncertainty")


def rows_of(case):
    columns = {name: np.array(values) for name, values in case["rows"].items()}
    return Rows(columns["actual"], columns["forecast"], weight=columns.get("weight"))


@pytest.mark.parametrize("name", CASES)
def test_isotonic_means_and_the_squared_error_equal_model_diagnostics(name):
    case, rows = CASES[name], rows_of(CASES[name])
    table = calibration.means(rows)
    np.testing.assert_allclose(calibration.isotonic(table)[table.of], case["isotonic"], atol=1e-10)
    curve = np.interp(rows.scores, *calibration.means_curve(table))
    np.testing.assert_allclose(curve, case["isotonic"], atol=1e-10)
    of_case = case["parts"]
    uncertainty = float(
        np.average((rows.actual - np.average(rows.actual, weights=rows.weight)) ** 2, weights=rows.weight)
    )
    parts, expected = calibration.decomposed(table, uncertainty), of_case.get("brier") or of_case["squared_error"]
    for part in PARTS:
        assert getattr(parts, part) == pytest.approx(expected[part], abs=1e-10)
    score = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert score == pytest.approx(expected["score"], abs=1e-10)


@pytest.mark.parametrize("name", ["probabilities", "weighted_probabilities"])
def test_the_brier_score_equals_model_diagnostics(name):
    rows, expected = rows_of(CASES[name]), CASES[name]["parts"]["brier"]
    weight = rows.weights
    c = count(rows.scores, weight * rows.actual, weight * (1 - rows.actual))
    parts = calibration.decompose(c)
    for part in PARTS:
        assert getattr(parts, part) == pytest.approx(expected[part], abs=1e-10)
    x, y = calibration.isotonic_curve(c)
    np.testing.assert_allclose(np.interp(rows.scores, x, y), CASES[name]["isotonic"], atol=1e-10)


def test_the_band_holds_curves_of_right_forecasts():
    rng, inside = np.random.default_rng(3), []
    for _ in range(120):
        forecast = rng.gamma(2, 2, 300)
        rows = Rows(rng.gamma(1.0, forecast), forecast)
        table = calibration.means(rows)
        x, low, high = band_of_means(rows, table, rng=rng, draws=100, level=0.9)
        at = np.quantile(forecast, [0.2, 0.5, 0.8])
        fitted = np.interp(at, table.forecast, calibration.isotonic(table))
        inside.append((np.interp(at, x, low) <= fitted) & (fitted <= np.interp(at, x, high)))
    assert np.all(np.mean(inside, axis=0) > 0.83), np.mean(inside, axis=0)
    assert np.mean(inside) < 0.96


def test_rows_of_one_unit_widen_the_band():
    rng = np.random.default_rng(4)
    forecast = np.repeat(rng.gamma(2, 2, 100), 8) + rng.normal(0, 0.01, 800)
    actual = forecast + np.repeat(rng.normal(0, 1, 100), 8)
    widths = []
    for unit in (None, np.arange(800) // 8):
        rows = Rows(actual, forecast, unit=unit)
        options = {"rng": np.random.default_rng(5), "draws": 200, "level": 0.9}
        _, low, high = band_of_means(rows, calibration.means(rows), **options)
        widths.append(np.mean(high - low))
    assert widths[1] > 1.7 * widths[0]


def test_whole_weights_repeat_rows():
    case, rows = CASES["weighted_forecasts"], rows_of(CASES["weighted_forecasts"])
    times = np.array(case["rows"]["weight"], int)
    repeated = rating.read(y_true=np.repeat(rows.actual, times), y_pred=np.repeat(rows.scores, times), metrics="mae")
    weighted = rating.read(y_true=rows.actual, y_pred=rows.scores, sample_weight=times, metrics="mae")
    numbers = [study.parts.drop(columns="system").to_numpy(float) for study in (repeated, weighted)]
    np.testing.assert_allclose(*numbers, atol=1e-12)
