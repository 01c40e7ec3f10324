"""Tests of shares and of means of independent arms: scipy, exact tests of any number of trials, all
permutations of few units.
"""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import limits, rng
from scipy import stats

from evalkit.statistics import independent, proportions as prop
from evalkit.statistics.alternatives import Alternative
from evalkit.statistics.intervals import tango


def test_mcnemars_difference_has_tangos_interval():
    assert prop.mcnemar_asymptotic(12, 5, 60).difference == tango(12, 5, 60)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
@pytest.mark.parametrize("null", [0.5, 0.1, 0.75])
@pytest.mark.parametrize("alternative", Alternative)
def test_binomial_tests_equal_scipy(alternative, null, n, data):
    successes = data.draw(st.integers(0, n))
    found = binomial_test_for(alternative, successes, n, null)
    expected = stats.binomtest(successes, n, null, alternative.value).pvalue
    assert found.p_value == pytest.approx(expected, rel=1e-7, abs=1e-14)


def binomial_test_for(alternative, successes, n, null):
    """The test of a share against the null, with the limits at which p for the alternative is 0.05:
    two limits if the alternative is two-sided, else one.
    """
    level = alternative.two_sided_level(0.95)
    two_sided = prop.binomial_test(successes, n, null=null, level=level)
    return two_sided.answering(alternative, level=0.95)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_limits_of_binomial_tests_equal_scipy(n, data):
    """A two-sided test has both limits, a one-sided test one. They are those of a difference from
    the null, which scipy's are not.
    """
    null = 0.1
    successes = data.draw(st.integers(0, n))
    for alternative in Alternative:
        difference = binomial_test_for(alternative, successes, n, null).difference
        expected = stats.binomtest(successes, n, null, alternative.value).proportion_ci(0.95)
        if alternative is not Alternative.LESS:
            assert difference.low == pytest.approx(expected.low - null, abs=1e-9)
        if alternative is not Alternative.GREATER:
            assert difference.high == pytest.approx(expected.high - null, abs=1e-9)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_one_sided_binomial_limits_exclude_the_null_where_p_is_below_5_percent(n, data):
    successes = data.draw(st.integers(0, n))
    for alternative in (Alternative.GREATER, Alternative.LESS):
        comparison = binomial_test_for(alternative, successes, n, null=0.75)
        assert (comparison.p_value < 0.05) == excludes_0(comparison.difference)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
@settings(max_examples=80, deadline=None)
@pytest.mark.parametrize("alternative", Alternative)
def test_fisher_equals_scipy(alternative, n_a, n_b, data):
    a = data.draw(st.integers(0, n_a))
    b = data.draw(st.integers(0, n_b))
    found = prop.fisher(a, n_a, b, n_b).answering(alternative, level=0.95)
    table = [[a, n_a - a], [b, n_b - b]]
    expected = stats.fisher_exact(table, alternative=alternative.value).pvalue
    assert found.p_value == pytest.approx(expected, rel=1e-7, abs=1e-12)


# Many trials --------------------------------------------------------------------------------------

MANY = 100_000_000  # trials, whose probabilities would take 800 MB if each had one


def peak_memory(call):
    """The most memory that a call holds, in bytes."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("z", [0.2, 1.9, 6.0])
def test_fishers_test_of_many_trials_is_near_the_score_test_with_yates_correction(z):
    """To which it tends with the number of trials."""
    a = MANY // 2 + int(z * np.sqrt(MANY / 2))
    b = MANY // 2
    pooled = (a + b) / MANY / 2
    error = np.sqrt(pooled * (1 - pooled) * 2 / MANY)
    corrected_z = (a - b - 1) / MANY / error
    found = prop.fisher(a, MANY, b, MANY)
    assert found.method == "Fisher"
    assert found.p_value == pytest.approx(2 * stats.norm.sf(corrected_z), rel=1e-4)


def test_fishers_test_of_many_trials_takes_below_50_mb():
    assert peak_memory(lambda: prop.fisher(MANY // 2 + 1_000, MANY, MANY // 2, MANY)) < 50e6


def test_a_binomial_test_of_many_trials_has_the_probability_of_both_tails():
    expected_successes = MANY // 4
    found = prop.binomial_test(expected_successes + 9000, MANY, null=0.25)
    above = stats.binom.sf(expected_successes + 8999, MANY, 0.25)
    below = stats.binom.cdf(expected_successes - 9001, MANY, 0.25)
    assert found.p_value == pytest.approx(above + below, rel=1e-3)


def test_a_binomial_test_of_many_trials_takes_below_50_mb():
    assert peak_memory(lambda: prop.binomial_test(MANY // 4 + 9000, MANY, null=0.25)) < 50e6


TOO_MANY = 10**15  # trials, more than MAX_EXACT_TRIALS


def test_fishers_test_of_too_many_trials_is_the_score_test():
    table = (TOO_MANY // 2 + 4 * 10**7, TOO_MANY, TOO_MANY // 2, TOO_MANY)
    assert prop.fisher(*table).p_value == prop.two_proportions(*table).p_value
    assert prop.fisher(*table).method == "score"


def test_a_binomial_test_of_too_many_trials_is_the_score_test():
    more = 10**7  # successes than expected of a null of a half
    z = more / np.sqrt(TOO_MANY / 4)
    found = prop.binomial_test(TOO_MANY // 2 + more, TOO_MANY)
    assert found.method == "score"
    assert found.p_value == pytest.approx(2 * stats.norm.sf(z), rel=1e-6)


def test_the_most_trials_of_fishers_test_give_nearly_the_p_of_the_score_test():
    """So that p does not jump where one follows the other."""
    n = prop.MAX_EXACT_TRIALS // 2
    table = (n // 2 + 30_000, n, n // 2, n)
    assert prop.fisher(*table).method == "Fisher"
    expected = prop.two_proportions(*table).p_value
    assert prop.fisher(*table).p_value == pytest.approx(expected, rel=1e-3)


def test_likely_successes_have_all_but_nothing_of_the_probability():
    low, high = prop.likely(1_000_000, 0.3)
    outside = stats.binom.cdf(low - 1, 1_000_000, 0.3) + stats.binom.sf(high, 1_000_000, 0.3)
    assert outside < 1e-12


def test_likely_successes_are_few_of_a_million():
    """Their standard deviation is 458."""
    low, high = prop.likely(1_000_000, 0.3)
    assert high - low < 20_000


def test_predictive_values_have_the_variance_at_the_equal_share_row_by_row():
    """Kosinski's statistic from rows: the pooled share's variance less twice the covariance of rows
    that both predict.
    """
    rng = np.random.default_rng(5)
    label = rng.random(80) < 0.4
    by_first = rng.random(80) < 0.3  # rows that the first system predicts
    by_second = rng.random(80) < 0.5
    by_both = by_first & by_second
    pooled_share = np.concatenate([label[by_first], label[by_second]]).mean()
    covariance = ((label[by_both] - pooled_share) ** 2).sum() / (by_first.sum() + by_second.sum())
    variance = pooled_share * (1 - pooled_share) - 2 * covariance
    error = np.sqrt(variance * (1 / by_first.sum() + 1 / by_second.sum()))
    z = (label[by_first].mean() - label[by_second].mean()) / error

    found = prop.predictive_values(
        (int(label[by_first].sum()), int(by_first.sum())),
        (int(label[by_second].sum()), int(by_second.sum())),
        np.array([[label[by_both].sum(), 0], [0, (~label[by_both]).sum()]]),
        n=80,
    )
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))


# Permutations of the units of two arms ------------------------------------------------------------


def welch_of_every_permutation(first, second):
    """Welch's t of each way to choose the units of the first arm; that of the data is first."""
    pooled = np.concatenate([first, second])
    statistics = []
    for places in combinations(range(len(pooled)), len(first)):
        in_first = np.isin(np.arange(len(pooled)), places)
        test = stats.ttest_ind(pooled[in_first], pooled[~in_first], equal_var=False)
        statistics.append(test.statistic)
    return np.array(statistics)


SMALL_ARMS = [([1.0, 2, 9, 30], [0.5, 1.5, 1, 2.2]), ([3.1, 0.2], [0.1, 0.3, 0.9, 0.4, 0.8])]


@pytest.mark.parametrize("first, second", SMALL_ARMS)
def test_p_is_twice_the_share_of_permutations_as_extreme_on_the_smaller_side(first, second):
    t = welch_of_every_permutation(first, second)
    above = np.mean(t >= t[0] - 1e-9)
    below = np.mean(t <= t[0] + 1e-9)
    found = independent.studentised(first, second, rng=rng())
    assert found.p_value == pytest.approx(min(1, 2 * min(above, below)), abs=1e-12)


@pytest.fixture(scope="module")
def exact_and_drawn():
    """The test of 8 and 7 units by all permutations and by drawn ones."""
    first = rng(1).exponential(1, 8)
    second = rng(2).exponential(2, 7)
    exact = independent.studentised(first, second, rng=rng())
    drawn = independent.studentised(first, second, rng=rng(), max_enumerated=0)
    return exact, drawn


def test_p_of_drawn_permutations_is_near_that_of_all(exact_and_drawn):
    exact, drawn = exact_and_drawn
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.02)


def test_the_limits_of_drawn_permutations_are_near_those_of_all(exact_and_drawn):
    exact, drawn = exact_and_drawn
    width = exact.difference.high - exact.difference.low
    assert drawn.difference.low == pytest.approx(exact.difference.low, abs=0.05 * width)


def test_drawn_permutations_of_mostly_zeros_have_the_expected_sums():
    """The 40 equal units are not permuted one by one: only how many of them fall to the first arm
    is drawn. A unit lies there with the probability of the arm's share of all units.
    """
    values = np.concatenate([np.zeros(40), rng(3).exponential(1, 12)])
    in_first = np.arange(52) % 3 == 0
    of_first = values[in_first]
    sums = [in_first.sum(), of_first.sum(), of_first @ of_first, values.sum(), values @ values]
    drawn = independent._drawn_permutations(values, in_first, 9_999, rng())
    assert drawn.mean(axis=1) == pytest.approx(in_first.mean() * np.array(sums), rel=0.03)


def excludes_0(e):
    return e.low > 0 or e.high < 0


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 30), st.floats(-2, 2))
def test_the_interval_excludes_0_exactly_where_p_is_below_5_percent(seed, n, m, shift):
    generator = rng(seed)
    first = generator.exponential(1, n) + shift
    second = generator.exponential(1, m)
    comparison = independent.studentised(first, second, rng=generator)
    assert (comparison.p_value < 0.05) == excludes_0(comparison.difference)


def test_swapped_arms_have_the_mirrored_difference():
    """All 126 permutations of so few units are counted and none is drawn: p is exactly equal."""
    first = np.array([0.0, 1.0, 4.0, 11.0])
    second = np.array([0.0, 0.5, 2.0, 2.5, 3.0])
    there = independent.studentised(first, second, rng=rng())
    back = independent.studentised(second, first, rng=rng())
    assert there.p_value == back.p_value
    assert limits(there.difference) == pytest.approx((-back.difference.high, -back.difference.low))


def test_many_units_need_no_permutation():
    first = rng(1).exponential(1, 3_000)
    second = rng(2).exponential(1, 20_000)
    assert not independent.needs_permutation(first, second)


def test_an_arm_whose_sample_is_not_skewed_is_permuted_if_the_other_is():
    """One user in ten buys. The two buyers of the first arm spent about the same, and hide the
    skewness that the 200 users of the second arm show.
    """
    first = np.array([0.0] * 20 + [0.4, 0.5])
    generator = rng(3)
    second = (generator.random(200) < 0.1) * generator.lognormal(0, 1.2, 200)
    assert independent.needs_permutation(first, second)


# Three units an arm in stratum x; one unit an arm, with the same value, in stratum y
FIRST_OF_STRATA = np.array([1.0, 2.0, 9.0, 5.0])
SECOND_OF_STRATA = np.array([0.5, 1.5, 1.0, 5.0])
STRATA = (["x", "x", "x", "y"], ["x", "x", "x", "y"])


def test_units_are_permuted_within_their_stratum():
    """Stratum y has nothing to permute, so p is that of x alone, but for the draws."""
    alone = independent.studentised(FIRST_OF_STRATA[:3], SECOND_OF_STRATA[:3], rng=rng())
    stratified = independent.studentised(
        FIRST_OF_STRATA, SECOND_OF_STRATA, rng=rng(), strata=STRATA
    )
    assert stratified.p_value == pytest.approx(alone.p_value, abs=0.03)


def test_the_difference_of_strata_is_weighted_by_their_units():
    """3 in the stratum x with six units of eight, 0 in y."""
    stratified = independent.studentised(
        FIRST_OF_STRATA, SECOND_OF_STRATA, rng=rng(), strata=STRATA
    )
    assert stratified.difference.value == pytest.approx(6 / 8 * 3.0)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 10), st.integers(4, 25))
def test_a_lift_has_the_p_of_the_difference(seed, n, m):
    first = rng(seed).exponential(1, n)
    second = rng(seed, 1).exponential(1.5, m)
    difference = independent.studentised(first, second, rng=rng(1))
    lift = independent.permuted_lift(first, second, rng=rng(1))
    assert lift.p_value == pytest.approx(difference.p_value)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 10), st.integers(4, 25))
def test_the_limits_of_a_lift_exclude_0_exactly_where_p_is_below_5_percent(seed, n, m):
    first = rng(seed).exponential(1, n)
    second = rng(seed, 1).exponential(1.5, m)
    lift = independent.permuted_lift(first, second, rng=rng(1))
    assert (lift.p_value < 0.05) == excludes_0(lift.difference)


def test_the_variance_of_the_observed_split_is_welchs():
    a = np.array([1.0, 4.0, 2.0, 9.0])
    b = np.array([3.0, 5.0, 5.5, 7.0, 1.0, 0.5, 2.0])
    permutations = independent._permutations(
        a, b, strata=None, rng=np.random.default_rng(1), max_enumerated=10
    )
    no_difference = independent.Null(shift=0.0, ratio=1.0)
    variances = permutations.variance(no_difference)  # one per split; the first is the observed one
    welch = a.var(ddof=1) / a.size + b.var(ddof=1) / b.size
    assert variances[0] == pytest.approx(welch, rel=1e-12)
