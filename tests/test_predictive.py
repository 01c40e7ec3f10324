"""Scores of predictive distributions, against small cases by hand and against integrals."""

import numpy as np
import pytest
from scipy import integrate, stats

from evalkit.metrics import losses, predictive
from evalkit.metrics.predictive import Bounds, Ensemble, Normal, Quantiles

RNG = np.random.default_rng(3)
ACTUAL = RNG.normal(0, 2, 40)
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)
VALUES = np.sort(RNG.normal(0, 2, (5, 40)), axis=0)
QUANTILES = Quantiles(VALUES, LEVELS)


def test_wis_is_the_weighted_sum_of_interval_scores():
    # Bracher et al., equation 1: K = 2 intervals, weights alpha / 2, the median's is 1 / 2
    total = 0.5 * np.abs(ACTUAL - VALUES[2])
    for percent, low, high in ((95, 0, 4), (50, 1, 3)):
        interval = Bounds(VALUES[low], VALUES[high])
        alpha = 1 - percent / 100
        total += alpha / 2 * predictive.interval_score(ACTUAL, interval, percent)
    wis = predictive.weighted_interval_score(ACTUAL, QUANTILES)
    assert wis == pytest.approx(total / 2.5, abs=1e-12)


def test_wis_of_a_single_median_is_the_absolute_error():
    median = Quantiles(VALUES[2:3], (0.5,))
    wis = predictive.weighted_interval_score(ACTUAL, median)
    assert wis == pytest.approx(np.abs(ACTUAL - VALUES[2]), abs=1e-12)


def test_parts_of_wis_sum_to_it_and_only_one_side_is_missed():
    parts = predictive.weighted_parts(ACTUAL, QUANTILES)
    wis = predictive.weighted_interval_score(ACTUAL, QUANTILES)
    assert sum(parts) == pytest.approx(wis, abs=1e-12)
    assert min(parts.dispersion) > 0
    assert (np.minimum(parts.overprediction, parts.underprediction) == 0).all()


def test_parts_by_hand():
    # 80% interval 1..4, median 2, actual 5: under = (2 * 1 + 3) / 3, dispersion = 0.2 * 3 / 3
    parts = predictive.weighted_parts(
        np.array([5.0]), Quantiles(np.array([[1.0], [2.0], [4.0]]), (0.1, 0.5, 0.9))
    )
    assert parts.overprediction == [0]
    assert parts.underprediction == pytest.approx([5 / 3])
    assert parts.dispersion == pytest.approx([0.2])


def test_crps_of_an_ensemble_is_the_integral_of_the_squared_difference_of_distributions():
    members = np.array([[0.0], [1.0], [4.0]])
    # the steps 1/3, 2/3 up to the actual value 2, and 2/3 - 1 from it on
    expected = (1 / 3) ** 2 * 1 + (2 / 3) ** 2 * 1 + (1 / 3) ** 2 * 2
    assert predictive.crps(np.array([2.0]), Ensemble(members)) == pytest.approx([expected])


def test_fair_crps_is_unbiased_for_the_distribution_behind_the_draws():
    draws = np.random.default_rng(0).normal(0, 1, (4, 40_000))
    actual = np.full(40_000, 0.5)
    normal = Normal(np.array([np.zeros(1), np.ones(1)]))
    truth = predictive.crps(actual[:1], normal)
    fair = predictive.fair_crps(actual, Ensemble(draws))
    empirical = predictive.crps(actual, Ensemble(draws))
    error = fair.std() / 200
    assert fair.mean() == pytest.approx(truth, abs=4 * error)
    assert empirical.mean() > truth + 10 * error


def test_crps_of_a_normal_distribution_is_its_integral():
    mean, deviation, actual = 0.7, 1.3, 2.0

    def square(x):
        return (stats.norm.cdf(x, mean, deviation) - (x >= actual)) ** 2

    below = integrate.quad(square, -20, actual)[0]
    above = integrate.quad(square, actual, 20)[0]
    normal = Normal(np.array([[mean], [deviation]]))
    assert predictive.crps(np.array([actual]), normal) == pytest.approx([below + above], abs=1e-8)


def test_crps_is_twice_the_integral_of_the_pinball_loss():
    normal = Normal(np.array([[0.7], [1.3]]))
    actual = np.array([2.0])

    def pinball(level):
        return 2 * losses.quantile(actual, normal.quantile(level), level)[0]

    integral = integrate.quad(pinball, 0, 1, points=[0.84])[0]
    assert predictive.crps(actual, normal) == pytest.approx([integral], abs=1e-6)


def test_bounds_belong_to_the_interval():
    interval = Bounds(np.zeros(3), np.ones(3))
    assert predictive.covered(np.array([0.0, 1.0, 1.5]), interval, 90).tolist() == [1, 1, 0]
    assert Quantiles(np.array([[0.0], [1.0]]), (0.05, 0.95)).interval(90) == (0, 1)
