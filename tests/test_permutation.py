"""The studentised permutation: every deal by hand, test and interval of one family, the level where arms are unlike."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import rng
from scipy import stats

from evalkit.statistics import independent


def every_t(first, second):
    """Welch's t of every deal, by scipy, the data's own first."""
    pooled = np.concatenate([first, second])
    several = []
    for place in combinations(range(len(pooled)), len(first)):
        mine = np.isin(np.arange(len(pooled)), place)
        several.append(stats.ttest_ind(pooled[mine], pooled[~mine], equal_var=False).statistic)
    return np.array(several)


FEW = [([1.0, 2, 9, 30], [0.5, 1.5, 1, 2.2]), ([3.1, 0.2], [0.1, 0.3, 0.9, 0.4, 0.8])]


@pytest.mark.parametrize("first, second", FEW)
def test_p_is_that_of_all_deals(first, second):
    t = every_t(first, second)
    expected = min(1, 2 * min(np.mean(t >= t[0] - 1e-9), np.mean(t <= t[0] + 1e-9)))
    assert independent.studentised(first, second, rng=rng()).p_value == pytest.approx(expected, abs=1e-12)


def test_drawn_deals_are_near_all_deals():
    first, second = rng(1).exponential(1, 8), rng(2).exponential(2, 7)
    exact = independent.studentised(first, second, rng=rng())
    drawn = independent.studentised(first, second, rng=rng(), dealt=0)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)
    width = exact.difference.high - exact.difference.low
    assert drawn.difference.low == pytest.approx(exact.difference.low, abs=0.05 * width)


def test_units_of_one_value_are_only_counted():
    """The deals of mostly zeros have the sums of deals unit by unit."""
    x = np.concatenate([np.zeros(40), rng(3).exponential(1, 12)])
    mine = np.arange(52) % 3 == 0
    columns = independent._drawn(x, mine, 9_999, rng())
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


def test_swapped_arms_mirror_the_limits_of_all_deals():
    first, second = np.array([0.0, 1.0, 4.0, 11.0]), np.array([0.0, 0.5, 2.0, 2.5, 3.0])
    a, b = (independent.studentised(*arms, rng=rng()) for arms in ((first, second), (second, first)))
    assert a.p_value == b.p_value
    assert (a.difference.low, a.difference.high) == pytest.approx((-b.difference.high, -b.difference.low))


def revenue(g, n):
    return (g.random(n) < 0.1) * g.lognormal(0, 1.2, n)


def test_many_units_are_left_to_welch():
    first, second = rng(1).exponential(1, 3_000), rng(2).exponential(1, 20_000)
    assert not independent.fits(first, second)


def test_strata_are_dealt_by_themselves():
    """Two strata of which one has nothing to deal: p is that of the other, by all its deals."""
    first, second = np.array([1.0, 2.0, 9.0, 5.0]), np.array([0.5, 1.5, 1.0, 5.0])
    strata = (np.array(["x", "x", "x", "y"]), np.array(["x", "x", "x", "y"]))
    t = every_t(first[:3], second[:3])
    expected = min(1, 2 * min(np.mean(t >= t[0] - 1e-9), np.mean(t <= t[0] + 1e-9)))
    c = independent.studentised(first, second, rng=rng(), strata=strata)
    assert c.p_value == pytest.approx(expected, abs=0.03)
    assert c.difference.value == pytest.approx(0.75 * 3.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 10), st.integers(4, 25))
def test_a_lift_excludes_0_exactly_where_the_difference_does(seed, n, m):
    g = rng(seed)
    first, second = g.exponential(1, n), g.exponential(1.5, m)
    difference, lift = (
        test(first, second, rng=rng(1)) for test in (independent.studentised, independent.permuted_lift)
    )
    assert lift.p_value == pytest.approx(difference.p_value)
    e = lift.difference
    assert (lift.p_value < 0.05) == (e.low > 0 or e.high < 0)
    assert -1 <= e.low <= e.value <= e.high


def test_an_arm_whose_sample_is_not_skewed_is_still_dealt():
    """Eight in ten samples of so few buyers hide the tail that the other arm shows."""
    first, second = np.array([0.0] * 20 + [0.4, 0.5]), revenue(rng(3), 200)
    assert independent.fits(first, second)


def test_the_standard_error_of_the_deal_as_observed_is_welchs():
    a, b = np.array([1.0, 4.0, 2.0, 9.0]), np.array([3.0, 5.0, 5.5, 7.0, 1.0, 0.5, 2.0])
    deals = independent._deals(a, b, None, np.random.default_rng(1), 10)
    welch = a.var(ddof=1) / a.size + b.var(ddof=1) / b.size
    assert deals.variance(0.0)[0] == pytest.approx(welch, rel=1e-12)
