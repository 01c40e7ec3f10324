"""Reliability without bins: isotonic curve, band and logistic recalibration, by formulas and by scikit-learn 1.9.1."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.metrics import calibration
from evalkit.metrics.counts import count
from evalkit.statistics.consistency import band
from evalkit.studies import classification

ORACLES = Path(__file__).parent / "oracles"
RNG = np.random.default_rng(11)
SCORE = RNG.beta(1, 3, 800).round(3)
LABEL = (RNG.random(800) < SCORE**1.2).astype(int)


def test_one_score_is_a_point():
    x, y = calibration.isotonic_curve(count([0.4, 0.4], [0, 1]))
    assert (x.tolist(), y.tolist()) == ([0.4], [0.5])


def test_slope_of_two_scores_is_the_ratio_of_logits():
    c = count([0.3, 0.6], positive=[20, 50], negative=[80, 50])
    expected = (np.log(50 / 50) - np.log(20 / 80)) / (np.log(0.6 / 0.4) - np.log(0.3 / 0.7))
    assert calibration.slope(c) == pytest.approx(expected, abs=1e-10)


def logits(score):
    return np.log(score) - np.log1p(-score)


def test_the_variance_of_the_slope_is_the_sandwich_of_rows():
    use = (SCORE > 0) & (SCORE < 1)
    columns, label = np.column_stack([np.ones(use.sum()), logits(SCORE[use])]), LABEL[use]
    c, coefficients = count(SCORE[use], label), reweighted(columns, label, 0.0)
    chance = 1 / (1 + np.exp(-columns @ coefficients))
    bread = np.linalg.inv((columns.T * chance * (1 - chance)) @ columns)
    sandwich = bread @ ((columns.T * (label - chance) ** 2) @ columns) @ bread
    slope, moved = calibration.slope(c), calibration.slope_bins(c)
    assert slope == pytest.approx(coefficients[1], abs=1e-9)
    variance = np.dot(c.positive, moved[0] ** 2) + np.dot(c.negative, moved[1] ** 2)
    assert variance == pytest.approx(sandwich[1, 1], rel=1e-8)


@pytest.mark.parametrize("name", ["logistic", "gbm", "forest", "tree_depth3"])
def test_slope_and_intercept_equal_least_squares_reweighted_row_by_row(name):
    """Real scores, many of them exactly 0 or 1 and clipped: iteratively reweighted least squares, row by row."""
    frame = pd.read_parquet(ORACLES / "breast_cancer.parquet").query("model == @name")
    score, label = frame["y_score"].to_numpy(), frame["y_true"].to_numpy()
    x, c = logits(np.clip(score, calibration.EPSILON, 1 - calibration.EPSILON)), count(score, label)
    assert calibration.slope(c) == pytest.approx(
        reweighted(np.column_stack([np.ones_like(x), x]), label, 0.0)[1], abs=1e-10
    )
    assert calibration.intercept(c) == pytest.approx(reweighted(np.ones((len(x), 1)), label, x)[0], abs=1e-10)


def reweighted(columns, label, offset):
    """The coefficients of a logistic regression."""
    b = np.zeros(columns.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-(columns @ b + offset)))
        weighted = columns * (chance * (1 - chance))[:, None]
        b = b + np.linalg.solve(columns.T @ weighted, columns.T @ (label - chance))
    return b


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
def test_classes_that_a_threshold_separates_have_no_slope(labels):
    c = count([0.1, 0.2, 0.7, 0.9], labels)
    assert np.isnan(calibration.slope(c))
    assert np.isnan(calibration.slope_bins(c)).all()


def test_scores_that_are_all_clipped_have_an_intercept_and_no_slope():
    c = count([1e-300, 2e-300, 3e-300], positive=[1, 1, 3], negative=[2, 3, 1])
    assert np.isnan(calibration.slope(c))
    assert calibration.intercept(c) == pytest.approx(logits(5 / 11) - logits(calibration.EPSILON), abs=1e-6)


def test_the_band_of_scores_far_apart_is_binomial():
    from scipy.stats import binom

    rows, scores = 400, np.array([0.1, 0.5, 0.9])
    c = count(scores, positive=[40, 200, 360], negative=[360, 200, 40])
    x, low, high = band(c, rng=np.random.default_rng(2), draws=4000, level=0.9)
    np.testing.assert_array_equal(x, scores)
    np.testing.assert_allclose(low, binom.ppf(0.05, rows, scores) / rows, atol=2 / rows)
    np.testing.assert_allclose(high, binom.ppf(0.95, rows, scores) / rows, atol=2 / rows)


@pytest.fixture(scope="module")
def study():
    return classification.read(y_true=LABEL, y_score={"a": SCORE, "b": np.sqrt(SCORE)}, metrics="brier")


def test_the_picture_agrees_with_the_table(study):
    parts = study.calibration.set_index(["system", "part"])["value"]
    words = study.plot.calibration.alt
    for name in ("a", "b"):
        miscalibration = calibration.decompose(study.table(name)).miscalibration
        assert parts[name, "miscalibration"] == pytest.approx(miscalibration, abs=1e-12)
        assert f"slope {parts[name, 'slope']:.2f}" in words


def test_rows_in_units_have_no_band_and_a_slope_with_limits():
    unit = np.arange(800) // 4
    study = classification.read({"label": LABEL, "score": SCORE, "user": unit}, unit="user", metrics="brier")
    assert study.isotonic.bands is None
    row = study.calibration.set_index("part").loc["slope"]
    assert row["low"] < row["value"] < row["high"]
