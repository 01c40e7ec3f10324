import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import outside
from scipy import stats

from evalkit.statistics import proportions as prop
from evalkit.statistics.intervals import tango


def test_mcnemars_difference_has_tangos_interval():
    assert prop.mcnemar_asymptotic(12, 5, 60).difference == tango(12, 5, 60)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_binomial_tests_equal_scipy(n, data):
    k, null = data.draw(st.integers(0, n)), data.draw(st.sampled_from([0.5, 0.1, 0.75]))
    for test, alternative in (
        (prop.binomial_test, "two-sided"),
        (prop.binomial_greater, "greater"),
        (prop.binomial_less, "less"),
    ):
        expected = stats.binomtest(k, n, null, alternative)
        limits = expected.proportion_ci(0.95)
        found = test(k, n, null=null)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-7, abs=1e-14)
        assert found.difference.low == pytest.approx(limits.low - null, abs=1e-9)
        assert found.difference.high == pytest.approx(limits.high - null, abs=1e-9)
        if alternative != "two-sided":
            assert (found.p_value < 0.05) == outside(found)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
@settings(max_examples=80, deadline=None)
def test_fisher_equals_scipy(n_a, n_b, data):
    a, b = data.draw(st.integers(0, n_a)), data.draw(st.integers(0, n_b))
    expected = stats.fisher_exact([[a, n_a - a], [b, n_b - b]])[1]
    assert prop.fisher(a, n_a, b, n_b).p_value == pytest.approx(expected, rel=1e-7)


def peak(call):
    """What a call returns, and the most memory that it held, in bytes."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("z", [0.2, 1.9, 6.0])
def test_two_rows_of_a_hundred_million_trials_cost_little(z):
    n = 100_000_000
    a, b = n // 2 + int(z * np.sqrt(n / 2)), n // 2
    found, held = peak(lambda: prop.fisher(a, n, b, n))
    # The score test with Yates' correction is what the exact test tends to.
    gap = (a - b - 1) / n / np.sqrt((a + b) / n / 2 * (1 - (a + b) / n / 2) * 2 / n)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(gap), rel=1e-4)
    assert found.method == "Fisher"
    assert held < 50e6


def test_a_binomial_test_of_a_hundred_million_trials_costs_little():
    n = 100_000_000
    found, held = peak(lambda: prop.binomial_test(n // 4 + 9000, n, null=0.25))
    expected = stats.binom.sf(n // 4 + 8999, n, 0.25) + stats.binom.cdf(n // 4 - 9001, n, 0.25)
    assert found.p_value == pytest.approx(expected, rel=1e-3)
    assert held < 50e6


def test_beyond_what_doubles_hold_the_exact_tests_are_score_tests_and_say_so():
    n = 10**15
    table = (n // 2 + 4 * 10**7, n, n // 2, n)
    assert prop.fisher(*table).p_value == prop.two_proportions(*table).p_value
    assert prop.fisher(*table).method == prop.binomial_test(n // 2, n).method == "score"
    assert prop.binomial_test(n // 2 + 10**7, n).p_value == pytest.approx(2 * stats.norm.sf(0.632455532), rel=1e-6)
    just = prop.EXACT // 2
    near = (just // 2 + 30_000, just, just // 2, just)
    assert prop.fisher(*near).p_value == pytest.approx(prop.two_proportions(*near).p_value, rel=1e-3)
    assert prop.fisher(*near).method == "Fisher"


def test_successes_that_count_are_near_the_null():
    low, high = prop.likely(1_000_000, 0.3)
    kept = stats.binom.cdf(high, 1_000_000, 0.3) - stats.binom.cdf(low - 1, 1_000_000, 0.3)
    assert kept == pytest.approx(1, abs=1e-12)
    assert high - low < 20_000


def test_predictive_values_have_the_variance_at_the_equal_share_row_by_row():
    """Kosinski's statistic from rows: the pooled share's variance less twice the covariance of rows that both count."""
    rng = np.random.default_rng(5)
    y, a, b = rng.random(80) < 0.4, rng.random(80) < 0.3, rng.random(80) < 0.5
    shared = np.array([[(y & a & b).sum(), 0], [0, (~y & a & b).sum()]])
    c = prop.predictive_values((int((y & a).sum()), int(a.sum())), (int((y & b).sum()), int(b.sum())), shared, n=80)
    equal = np.concatenate([y[a], y[b]]).mean()
    both = ((y[a & b] - equal) ** 2).sum() / (a.sum() + b.sum())
    z = (y[a].mean() - y[b].mean()) / np.sqrt((equal * (1 - equal) - 2 * both) * (1 / a.sum() + 1 / b.sum()))
    assert c.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))
