import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import limits, rng
from scipy import stats

from evalkit.arrays import InputError, ParameterError
from evalkit.statistics import intervals as iv
from evalkit.statistics.significance import paired_bootstrap


def bca(values, g, **options):
    return paired_bootstrap(values, rng=g, **options).difference


def test_mean_t_equals_scipy():
    values = rng().normal(3, 2, 25)
    e = iv.mean_t(values, level=0.9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert limits(e) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert (e.value, e.level, e.n, e.method) == (pytest.approx(values.mean()), 0.9, 25, "t")


@pytest.mark.parametrize("values", [[], [1.0]])
def test_limits_are_undefined_below_two_units(values):
    e = iv.mean_t(values)
    assert np.isnan(limits(e)).all()
    assert e.n == len(values)
    assert np.isnan(e.value) == (not values)


@pytest.mark.parametrize("mean", [iv.mean_t, lambda values: bca(values, rng())])
def test_equal_values_leave_no_width(mean):
    e = mean([0.5] * 7)
    assert (e.value, e.low, e.high) == (0.5, 0.5, 0.5)


def test_bca_equals_scipy_within_monte_carlo_error():
    values = rng(3).lognormal(0, 1, 60)
    e = bca(values, rng(1), resamples=20_000)
    expected = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=rng(2)).confidence_interval
    assert limits(e) == pytest.approx((expected.low, expected.high), abs=0.04 * (e.high - e.low))


def test_ratio_of_a_constant_denominator_is_the_mean():
    values = rng().normal(size=40)
    mean, quotient = iv.mean_t(values), iv.ratio_delta(values * 3, np.full(40, 3.0))
    assert limits(quotient) == pytest.approx(limits(mean), rel=1e-10)


def test_repeating_the_rows_of_each_unit_leaves_the_interval():
    values, unit = rng().normal(size=50), rng(1).integers(0, 12, 50)
    once = iv.ratio_delta(*iv.by_unit(values, unit))
    twice = iv.ratio_delta(*iv.by_unit(np.tile(values, 2), np.tile(unit, 2)))
    assert limits(twice) == pytest.approx(limits(once), rel=1e-12)
    assert iv.mean_t(np.tile(values, 2)).high < iv.mean_t(values).high  # rows as units: narrower for nothing


def test_ratio_is_undefined_over_nothing():
    e = iv.ratio_delta([1, -1], [0, 0])
    assert np.isnan([e.value, e.low, e.high]).all()


# Newcombe, Statistics in Medicine 1998: one proportion, and 56/70 - 48/80
@pytest.mark.parametrize(
    "successes, n, score, exact",
    [
        (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
        (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
        (0, 20, (0, 0.1611), (0, 0.1684)),
        (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
        (0, 10, (0, 0.27753), (0, 0.30850)),
        (10, 10, (0.72247, 1), (0.69150, 1)),
    ],
)
def test_one_proportion(successes, n, score, exact):
    assert limits(iv.wilson(successes, n)) == pytest.approx(score, abs=5.1e-5)
    assert limits(iv.clopper_pearson(successes, n)) == pytest.approx(exact, abs=5.1e-5)


@given(st.integers(1, 60), st.data())
@settings(max_examples=50, deadline=None)
def test_proportions_equal_scipy(n, data):
    k = data.draw(st.integers(0, n))
    test = stats.binomtest(k, n)
    for ours, theirs in ((iv.wilson, "wilson"), (iv.clopper_pearson, "exact")):
        expected = test.proportion_ci(0.9, theirs)
        assert limits(ours(k, n, level=0.9)) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_difference_of_independent_proportions():
    e = iv.newcombe(56, 70, 48, 80)
    assert limits(e) == pytest.approx((0.0524, 0.3339), abs=5.1e-5)
    mirrored = iv.newcombe(48, 80, 56, 70)
    assert limits(mirrored) == pytest.approx((-e.high, -e.low), rel=1e-12)


# ratesci's pairbinci: Fagerland, Lydersen and Laake 2014, table V; Agresti and Min 2005
@pytest.mark.parametrize("table, published", [((1, 7, 21), (-0.517, -0.026)), ((16, 8, 86), (-0.020, 0.207))])
def test_tango_as_published(table, published):
    assert limits(iv.tango(*table)) == pytest.approx(published, abs=5.1e-4)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_paired_score_interval_is_dual_to_the_asymptotic_test(first, second, rest):
    e = iv.tango(first, second, first + second + rest)
    p = stats.chi2.sf((first - second) ** 2 / (first + second), 1) if first + second else 1.0
    assert (p < 0.05) == (not e.low <= 0 <= e.high)
    assert -1 <= e.low <= e.value <= e.high <= 1
    mirrored = iv.tango(second, first, first + second + rest)
    assert limits(mirrored) == pytest.approx((-e.high, -e.low), abs=1e-9)


@pytest.mark.parametrize("proportion", [iv.wilson, iv.clopper_pearson])
def test_no_trials_is_undefined(proportion):
    e = proportion(0, 0)
    assert np.isnan([e.value, *limits(e)]).all()
    assert np.isnan(iv.tango(0, 0, 0).low)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: iv.mean_t([1, np.nan]), r"values must hold only finite numbers, got nan \(row 1\)"),
        (lambda: iv.mean_t([1, 2], level=95), "level must lie between 0 and 1, got 95"),
        (lambda: iv.wilson(3, 2), "successes must lie between 0 and n = 2, got 3"),
        (lambda: iv.by_unit([1, 2], ["a"]), "columns must have one length, got values 2, unit 1"),
        (lambda: iv.ratio_delta([1, 2], [1]), "columns must have one length, got numerator 2, denominator 1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((InputError, ParameterError), match=message):
        call()
