import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import limits, rng
from scipy import stats

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


@given(st.integers(1, 60), st.data())
@settings(max_examples=50, deadline=None)
def test_proportions_equal_scipy(n, data):
    k = data.draw(st.integers(0, n))
    test = stats.binomtest(k, n)
    for ours, theirs in ((iv.wilson, "wilson"), (iv.clopper_pearson, "exact")):
        expected = test.proportion_ci(0.9, theirs)
        assert limits(ours(k, n, level=0.9)) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_paired_score_interval_is_dual_to_the_asymptotic_test(first, second, rest):
    e = iv.tango(first, second, first + second + rest)
    p = stats.chi2.sf((first - second) ** 2 / (first + second), 1) if first + second else 1.0
    assert (p < 0.05) == (not e.low <= 0 <= e.high)
    assert -1 <= e.low <= e.value <= e.high <= 1
    mirrored = iv.tango(second, first, first + second + rest)
    assert limits(mirrored) == pytest.approx((-e.high, -e.low), abs=1e-9)
