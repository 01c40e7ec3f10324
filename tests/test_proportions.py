"""Tests of shares and of independent means: public tools, exact tests of any size, every
permutation of few units.
"""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import outside, rng
from scipy import stats

from evalkit.statistics import independent, proportions as prop
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.intervals import tango


def test_mcnemars_difference_has_tangos_interval():
    assert prop.mcnemar_asymptotic(12, 5, 60).difference == tango(12, 5, 60)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_binomial_tests_equal_scipy(n, data):
    k = data.draw(st.integers(0, n))
    null = data.draw(st.sampled_from([0.5, 0.1, 0.75]))
    for alternative in Alternative:
        expected = stats.binomtest(k, n, null, alternative.value)
        limits = expected.proportion_ci(0.95)
        level = alternative.two_sided_level(0.95)
        two_sided = prop.binomial_test(k, n, null=null, level=level)
        found = two_sided.answering(alternative, level=0.95)
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-7, abs=1e-14)
        if alternative is not Alternative.LESS:
            assert found.difference.low == pytest.approx(limits.low - null, abs=1e-9)
        if alternative is not Alternative.GREATER:
            assert found.difference.high == pytest.approx(limits.high - null, abs=1e-9)
        if alternative.one_sided:
            assert (found.p_value < 0.05) == outside(found)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
@settings(max_examples=80, deadline=None)
def test_fisher_equals_scipy(n_a, n_b, data):
    a = data.draw(st.integers(0, n_a))
    b = data.draw(st.integers(0, n_b))
    table = [[a, n_a - a], [b, n_b - b]]
    for alternative in Alternative:
        found = prop.fisher(a, n_a, b, n_b).answering(alternative, level=0.95)
        expected = stats.fisher_exact(table, alternative=alternative.value).pvalue
        assert found.p_value == pytest.approx(expected, rel=1e-7, abs=1e-12)


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
    a = n // 2 + int(z * np.sqrt(n / 2))
    b = n // 2
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
    assert prop.binomial_test(n // 2 + 10**7, n).p_value == pytest.approx(
        2 * stats.norm.sf(0.632455532), rel=1e-6
    )
    just = prop.MAX_EXACT_TRIALS // 2
    near = (just // 2 + 30_000, just, just // 2, just)
    assert prop.fisher(*near).p_value == pytest.approx(
        prop.two_proportions(*near).p_value, rel=1e-3
    )
    assert prop.fisher(*near).method == "Fisher"


def test_successes_that_count_are_near_the_null():
    low, high = prop.likely(1_000_000, 0.3)
    kept = stats.binom.cdf(high, 1_000_000, 0.3) - stats.binom.cdf(low - 1, 1_000_000, 0.3)
    assert kept == pytest.approx(1, abs=1e-12)
    assert high - low < 20_000


def test_predictive_values_have_the_variance_at_the_equal_share_row_by_row():
    """Kosinski's statistic from rows: the pooled share's variance less twice the covariance of rows
    that both count.
    """
    rng = np.random.default_rng(5)
    y = rng.random(80) < 0.4
    a = rng.random(80) < 0.3
    b = rng.random(80) < 0.5
    shared = np.array([[(y & a & b).sum(), 0], [0, (~y & a & b).sum()]])
    c = prop.predictive_values(
        (int((y & a).sum()), int(a.sum())), (int((y & b).sum()), int(b.sum())), shared, n=80
    )
    equal = np.concatenate([y[a], y[b]]).mean()
    both = ((y[a & b] - equal) ** 2).sum() / (a.sum() + b.sum())
    z = (y[a].mean() - y[b].mean()) / np.sqrt(
        (equal * (1 - equal) - 2 * both) * (1 / a.sum() + 1 / b.sum())
    )
    assert c.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))


def every_t(first, second):
    """Welch's t of every permutation, by scipy, the data's own first."""
    pooled = np.concatenate([first, second])
    several = []
    for place in combinations(range(len(pooled)), len(first)):
        mine = np.isin(np.arange(len(pooled)), place)
        several.append(stats.ttest_ind(pooled[mine], pooled[~mine], equal_var=False).statistic)
    return np.array(several)


FEW = [([1.0, 2, 9, 30], [0.5, 1.5, 1, 2.2]), ([3.1, 0.2], [0.1, 0.3, 0.9, 0.4, 0.8])]


@pytest.mark.parametrize("first, second", FEW)
def test_p_is_that_of_all_permutations(first, second):
    t = every_t(first, second)
    expected = min(1, 2 * min(np.mean(t >= t[0] - 1e-9), np.mean(t <= t[0] + 1e-9)))
    assert independent.studentised(first, second, rng=rng()).p_value == pytest.approx(
        expected, abs=1e-12
    )


def test_drawn_permutations_are_near_all_permutations():
    first = rng(1).exponential(1, 8)
    second = rng(2).exponential(2, 7)
    exact = independent.studentised(first, second, rng=rng())
    drawn = independent.studentised(first, second, rng=rng(), max_enumerated=0)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)
    width = exact.difference.high - exact.difference.low
    assert drawn.difference.low == pytest.approx(exact.difference.low, abs=0.05 * width)


def test_units_of_one_value_are_only_counted():
    """The permutations of mostly zeros have the sums of permutations unit by unit."""
    x = np.concatenate([np.zeros(40), rng(3).exponential(1, 12)])
    mine = np.arange(52) % 3 == 0
    columns = independent._drawn_permutations(x, mine, 9_999, rng())
    share = mine.mean()
    expected = share * np.array([mine.sum(), x[mine].sum(), x[mine] @ x[mine], x.sum(), x @ x])
    assert columns.mean(axis=1) == pytest.approx(expected, rel=0.03)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 30), st.floats(-2, 2))
def test_the_interval_excludes_0_exactly_where_p_is_small(seed, n, m, shift):
    g = rng(seed)
    c = independent.studentised(g.exponential(1, n) + shift, g.exponential(1, m), rng=g)
    e = c.difference
    assert (c.p_value < 0.05) == (e.low > 0 or e.high < 0)
    assert e.low <= e.value <= e.high


def test_swapped_arms_mirror_the_limits_of_all_permutations():
    first = np.array([0.0, 1.0, 4.0, 11.0])
    second = np.array([0.0, 0.5, 2.0, 2.5, 3.0])
    a, b = (
        independent.studentised(*arms, rng=rng()) for arms in ((first, second), (second, first))
    )
    assert a.p_value == b.p_value
    assert (a.difference.low, a.difference.high) == pytest.approx(
        (-b.difference.high, -b.difference.low)
    )


def revenue(g, n):
    return (g.random(n) < 0.1) * g.lognormal(0, 1.2, n)


def test_many_units_are_left_to_welch():
    first = rng(1).exponential(1, 3_000)
    second = rng(2).exponential(1, 20_000)
    assert not independent.needs_permutation(first, second)


def test_strata_are_permuted_by_themselves():
    """Of two strata the second has nothing to permute: p is that of the first alone."""
    first = np.array([1.0, 2.0, 9.0])
    second = np.array([0.5, 1.5, 1.0])
    alone = independent.studentised(first, second, rng=rng())
    strata = (["x", "x", "x", "y"], ["x", "x", "x", "y"])
    stratified = independent.studentised(
        np.append(first, 5.0), np.append(second, 5.0), rng=rng(), strata=strata
    )
    assert stratified.p_value == pytest.approx(alone.p_value, abs=0.03)


def test_the_difference_of_strata_is_weighted_by_their_units():
    """3 in the stratum x with six units of eight, 0 in y."""
    first = np.array([1.0, 2.0, 9.0, 5.0])
    second = np.array([0.5, 1.5, 1.0, 5.0])
    strata = (["x", "x", "x", "y"], ["x", "x", "x", "y"])
    c = independent.studentised(first, second, rng=rng(), strata=strata)
    assert c.difference.value == pytest.approx(6 / 8 * 3.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 10), st.integers(4, 25))
def test_a_lift_excludes_0_exactly_where_the_difference_does(seed, n, m):
    g = rng(seed)
    first = g.exponential(1, n)
    second = g.exponential(1.5, m)
    difference, lift = (
        test(first, second, rng=rng(1))
        for test in (independent.studentised, independent.permuted_lift)
    )
    assert lift.p_value == pytest.approx(difference.p_value)
    e = lift.difference
    assert (lift.p_value < 0.05) == (e.low > 0 or e.high < 0)
    assert -1 <= e.low <= e.value <= e.high


def test_an_arm_whose_sample_is_not_skewed_is_still_permuted():
    """Eight in ten samples of so few buyers hide the tail that the other arm shows."""
    first = np.array([0.0] * 20 + [0.4, 0.5])
    second = revenue(rng(3), 200)
    assert independent.needs_permutation(first, second)


def test_the_standard_error_of_the_permutation_as_observed_is_welchs():
    a = np.array([1.0, 4.0, 2.0, 9.0])
    b = np.array([3.0, 5.0, 5.5, 7.0, 1.0, 0.5, 2.0])
    permutations = independent._permutations(
        a, b, strata=None, rng=np.random.default_rng(1), max_enumerated=10
    )
    welch = a.var(ddof=1) / a.size + b.var(ddof=1) / b.size
    observed, *_ = permutations.variance(independent.Null(shift=0.0, ratio=1.0))
    assert observed == pytest.approx(welch, rel=1e-12)
