import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import outside
from scipy import stats

from evalkit.arrays import InputError, ParameterError
from evalkit.statistics import proportions as prop
from evalkit.statistics.intervals import tango
from evalkit.statistics.significance import verdict


def test_mcnemar_by_hand():
    found = [prop.mcnemar_asymptotic(*table).p_value for table in ((1, 7, 21), (150, 86, 1600), (0, 0, 50), (4, 4, 50))]
    assert found == pytest.approx([0.0338949, 3.0993e-5, 1, 1], rel=2e-5)
    assert prop.mcnemar_asymptotic(12, 5, 60).difference == tango(12, 5, 60)
    with pytest.raises(InputError, match="n must be at least 1, got 0"):
        prop.mcnemar_asymptotic(0, 0, 0)
    with pytest.raises(InputError, match="successes must lie between 0 and n = 5, got 9"):
        prop.mcnemar_asymptotic(4, 5, 5)


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


def test_fair_coin():
    greater = [prop.binomial_greater(k, 10).p_value for k in (7, 8, 9, 10)]
    both = [prop.binomial_test(k, 10).p_value for k in (7, 8, 9, 10)]
    assert greater == pytest.approx([0.171875, 0.0546875, 0.0107421875, 0.0009765625], rel=1e-9)
    assert both == pytest.approx([0.34375, 0.109375, 0.021484375, 0.001953125], rel=1e-9)
    assert [verdict(prop.binomial_test(k, 10)) for k in (8, 9)] == ["cannot tell", "better"]
    assert [prop.binomial_greater(n, n).p_value for n in (2, 4, 10)] == pytest.approx([0.25, 0.0625, 0.0009765625])


def test_mendel():
    c = prop.binomial_test(682, 925, null=0.75)
    assert c.p_value == pytest.approx(0.3824916, abs=5e-8)
    assert c.difference.low + 0.75 == pytest.approx(0.7076683, abs=5e-8)
    assert c.difference.high + 0.75 == pytest.approx(0.7654066, abs=5e-8)


def test_two_proportions():
    c = prop.two_proportions(56, 70, 48, 80)
    assert c.p_value == pytest.approx(stats.chi2.sf(7.02341, 1), rel=1e-5)
    assert c.difference.low == pytest.approx(0.0533, abs=5e-5)
    assert prop.two_proportions(0, 9, 0, 8).p_value == 1
    assert prop.fisher(8, 10, 3, 10).p_value == pytest.approx(stats.fisher_exact([[8, 2], [3, 7]]).pvalue, rel=1e-9)
    for test in (prop.two_proportions, prop.fisher):
        with pytest.raises(InputError, match="n_b must be at least 1, got 0"):
            test(1, 2, 0, 0)


def test_sign_test_leaves_out_ties():
    c = prop.sign_test([0.2] * 9 + [-0.4] + [0.0] * 50, unit="user")
    assert (c.difference.value, c.difference.n, c.unit) == (pytest.approx(0.4), 10, "user")
    assert c.p_value == pytest.approx(0.021484375)
    with pytest.raises(InputError, match="at least one that is not 0"):
        prop.sign_test([0, 0])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: prop.binomial_test(1, 0), InputError, "n must be at least 1, got 0"),
        (lambda: prop.binomial_test(3, 2), InputError, "successes must lie between 0 and n = 2, got 3"),
        (lambda: prop.binomial_less(1, 2, null=1), ParameterError, "null must lie between 0 and 1, got 1"),
        (lambda: prop.binomial_greater(1, 2, level=0.4), ParameterError, "level must lie between 0.5 and 1"),
        (lambda: prop.two_proportions(3, 2, 1, 2), InputError, "successes must lie between 0 and n = 2, got 3"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


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


def test_the_same_rows_differ_in_nothing():
    c = prop.predictive_values((3, 3), (3, 3), np.array([[3, 0], [0, 0]]), n=10)
    assert (c.p_value, c.difference.low, c.difference.high) == (1.0, 0.0, 0.0)
