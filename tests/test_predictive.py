"""Scores of predictive distributions, against small cases by hand and against integrals."""

import numpy as np
import pytest
from scipy import integrate, stats

from evalkit.metrics import losses, predictive
from evalkit.metrics.predictive import Bounds, Ensemble, Normal, Quantiles

# 40 actual values, and five quantiles predicted for each of them
RNG = np.random.default_rng(3)
ACTUAL = RNG.normal(0, 2, 40)
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)
VALUES = np.sort(RNG.normal(0, 2, (5, 40)), axis=0)
QUANTILES = Quantiles(VALUES, LEVELS)
(AT_2_5_PERCENT, AT_25_PERCENT, MEDIAN, AT_75_PERCENT, AT_97_5_PERCENT) = VALUES


def test_wis_is_the_weighted_sum_of_interval_scores():
    """Bracher et al., equation 1: (½ |y − median| + Σ α/2 · interval score) / (K + ½), here with
    K = 2 intervals, of 95 % (α = 0.05) and of 50 % (α = 0.5).
    """
    score_95 = predictive.interval_score(ACTUAL, Bounds(AT_2_5_PERCENT, AT_97_5_PERCENT), 95)
    score_50 = predictive.interval_score(ACTUAL, Bounds(AT_25_PERCENT, AT_75_PERCENT), 50)
    total = 0.5 * np.abs(ACTUAL - MEDIAN) + 0.05 / 2 * score_95 + 0.5 / 2 * score_50
    wis = predictive.weighted_interval_score(ACTUAL, QUANTILES)
    assert wis == pytest.approx(total / 2.5, abs=1e-12)


def test_wis_of_a_single_median_is_the_absolute_error():
    wis = predictive.weighted_interval_score(ACTUAL, Quantiles(MEDIAN[np.newaxis], (0.5,)))
    assert wis == pytest.approx(np.abs(ACTUAL - MEDIAN), abs=1e-12)


def test_the_parts_of_wis_add_up_to_it():
    parts = predictive.weighted_parts(ACTUAL, QUANTILES)
    wis = predictive.weighted_interval_score(ACTUAL, QUANTILES)
    assert sum(parts) == pytest.approx(wis, abs=1e-12)
    assert min(parts.dispersion) > 0


def test_a_forecast_is_too_high_or_too_low_but_not_both():
    parts = predictive.weighted_parts(ACTUAL, QUANTILES)
    assert (np.minimum(parts.overprediction, parts.underprediction) == 0).all()


def test_the_parts_of_wis_of_an_interval_from_1_to_4_with_median_2_and_actual_5():
    """For an interval of 80 %, α = 0.2, and K = 1, so that the sum is divided by K + ½ = 3/2:

    dispersion: α/2 · (4 − 1) = 0.3, divided 0.2;
    underprediction: ½ · (5 − 2) of the median and α/2 · 2/α · (5 − 4) = 1, in all 2.5, divided 5/3.
    """
    quantiles = Quantiles(np.array([[1.0], [2.0], [4.0]]), (0.1, 0.5, 0.9))
    parts = predictive.weighted_parts(np.array([5.0]), quantiles)
    assert parts.overprediction == [0]
    assert parts.underprediction == pytest.approx([5 / 3])
    assert parts.dispersion == pytest.approx([0.2])


def test_crps_of_an_ensemble_is_the_integral_of_the_squared_difference_of_distributions():
    """The distribution function of the members 0, 1 and 4 is 1/3 from 0 to 1 and 2/3 from 1 to 4;
    that of the actual value 2 is 0 before it and 1 from it on.
    """
    members = np.array([[0.0], [1.0], [4.0]])
    from_0_to_1 = (1 / 3) ** 2 * 1
    from_1_to_2 = (2 / 3) ** 2 * 1
    from_2_to_4 = (2 / 3 - 1) ** 2 * 2
    expected = from_0_to_1 + from_1_to_2 + from_2_to_4
    assert predictive.crps(np.array([2.0]), Ensemble(members)) == pytest.approx([expected])


def test_fair_crps_is_unbiased_for_the_distribution_behind_the_draws():
    """The mean over 40,000 ensembles of 4 draws of N(0, 1) is the CRPS of N(0, 1). The plain CRPS
    of an ensemble exceeds it on average by E|X − X'| / (2 · 4) = (2 / √π) / 8 = 0.14, many standard
    errors.
    """
    n = 40_000
    draws = np.random.default_rng(0).normal(0, 1, (4, n))
    actual = np.full(n, 0.5)
    normal = Normal(np.array([[0.0], [1.0]]))  # mean and standard deviation
    truth = predictive.crps(actual[:1], normal)
    fair = predictive.fair_crps(actual, Ensemble(draws))
    plain = predictive.crps(actual, Ensemble(draws))
    standard_error = fair.std() / np.sqrt(n)
    assert fair.mean() == pytest.approx(truth, abs=4 * standard_error)
    assert plain.mean() > truth + 10 * standard_error


def test_crps_of_a_normal_distribution_is_its_integral():
    """CRPS is the integral of (F(x) − [x ≥ actual])², here of the distribution function F of N(0.7,
    1.3²). It is computed from −20 to 20, beyond which it is 0 to all digits, and in two parts,
    because the integrand jumps at the actual value.
    """
    mean, deviation, actual = 0.7, 1.3, 2.0

    def squared_difference(x):
        return (stats.norm.cdf(x, mean, deviation) - (x >= actual)) ** 2

    below, _error = integrate.quad(squared_difference, -20, actual)
    above, _error = integrate.quad(squared_difference, actual, 20)
    normal = Normal(np.array([[mean], [deviation]]))
    assert predictive.crps(np.array([actual]), normal) == pytest.approx([below + above], abs=1e-8)


def test_crps_is_twice_the_integral_of_the_pinball_loss_over_all_levels():
    """The integrand has a kink at the level of the actual value, Φ((2 − 0.7) / 1.3) = Φ(1), about
    0.84, which the integration is told.
    """
    normal = Normal(np.array([[0.7], [1.3]]))  # mean and standard deviation
    actual = np.array([2.0])

    def twice_the_pinball_loss(level):
        return 2 * losses.quantile(actual, normal.quantile(level), level)[0]

    integral, _error = integrate.quad(twice_the_pinball_loss, 0, 1, points=[0.84])
    assert predictive.crps(actual, normal) == pytest.approx([integral], abs=1e-6)


def test_an_interval_covers_its_bounds():
    """Of the actual values 0, 1 and 1.5, the interval from 0 to 1 covers the first two."""
    interval = Bounds(np.zeros(3), np.ones(3))
    assert predictive.covered(np.array([0.0, 1.0, 1.5]), interval, 90).tolist() == [1, 1, 0]


def test_the_interval_of_90_percent_lies_between_the_quantiles_of_5_and_95_percent():
    assert Quantiles(np.array([[0.0], [1.0]]), (0.05, 0.95)).interval(90) == (0, 1)
