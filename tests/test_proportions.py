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


def scipys_limits(alternative, successes, n, null):
    """scipy's Clopper–Pearson limits of a share at the level 0.95, less the null, since evalkit's
    estimate is the difference from the null: (lower, upper).
    """
    interval = stats.binomtest(successes, n, null, alternative.value).proportion_ci(0.95)
    return interval.low - null, interval.high - null


# In each of the next three tests n is 1 to 80, and any number of successes from 0 to n is drawn.


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_limits_of_two_sided_binomial_tests_equal_scipy(n, data):
    successes = data.draw(st.integers(0, n))
    found = binomial_test_for(Alternative.TWO_SIDED, successes, n, null=0.1).difference
    expected = scipys_limits(Alternative.TWO_SIDED, successes, n, null=0.1)
    assert limits(found) == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_the_lower_limit_of_binomial_tests_for_a_greater_share_equals_scipy(n, data):
    """The test of a greater share has no other limit."""
    successes = data.draw(st.integers(0, n))
    found = binomial_test_for(Alternative.GREATER, successes, n, null=0.1).difference
    low, _ = scipys_limits(Alternative.GREATER, successes, n, null=0.1)
    assert found.low == pytest.approx(low, abs=1e-9)


@given(st.integers(1, 80), st.data())
@settings(max_examples=80, deadline=None)
def test_the_upper_limit_of_binomial_tests_for_a_smaller_share_equals_scipy(n, data):
    """The test of a smaller share has no other limit."""
    successes = data.draw(st.integers(0, n))
    found = binomial_test_for(Alternative.LESS, successes, n, null=0.1).difference
    _, high = scipys_limits(Alternative.LESS, successes, n, null=0.1)
    assert found.high == pytest.approx(high, abs=1e-9)


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
def test_p_of_fishers_test_equals_scipy(alternative, n_a, n_b, data):
    """Arm a has n_a units and arm b has n_b, 1 to 60 each; any number of successes in each is
    drawn. `fisher` gives the two-sided result, which `answering` turns into that of an alternative.
    Its p-value and scipy's are the same sum of hypergeometric probabilities, but for rounding.
    """
    successes_a = data.draw(st.integers(0, n_a))
    successes_b = data.draw(st.integers(0, n_b))
    two_sided = prop.fisher(successes_a, n_a, successes_b, n_b)
    found = two_sided.answering(alternative, level=0.95)
    table = [[successes_a, n_a - successes_a], [successes_b, n_b - successes_b]]
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


def more_successes_in_a(z):
    """Of MANY trials in each arm, half succeed in arm b and more in arm a: so many that the shares
    differ by z standard errors. Each number of successes has the variance MANY / 4, so that their
    difference has the variance MANY / 2.
    """
    b = MANY // 2
    return b + int(z * np.sqrt(MANY / 2)), b


@pytest.mark.parametrize("z", [0.2, 1.9, 6.0])
def test_p_of_fishers_test_of_many_trials_is_that_of_the_score_test_with_yates_correction(z):
    """Of 100 million trials in arm b half succeed. Of as many in arm a, more succeed: the shares
    differ by z standard errors.

    With so many trials Fisher's exact p is that of a normal distribution. The score test's z is the
    difference of the shares, divided by its standard error from the pooled share. Yates' correction
    for whole numbers takes 1 off the difference of successes. The p-values then differ by less than
    1e-6 of p; 1e-4 is allowed.
    """
    n = MANY
    successes_a, successes_b = more_successes_in_a(z)
    pooled_share = (successes_a + successes_b) / (2 * n)
    error = np.sqrt(pooled_share * (1 - pooled_share) * 2 / n)  # of the difference of shares
    corrected_difference = (successes_a - successes_b - 1) / n
    expected = 2 * stats.norm.sf(corrected_difference / error)
    found = prop.fisher(successes_a, n, successes_b, n)
    assert found.p_value == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("z", [0.2, 1.9, 6.0])
def test_fishers_test_of_many_trials_is_still_exact(z):
    """MANY trials in each arm are fewer than MAX_EXACT_TRIALS, above which the score test is used
    and named as the method.
    """
    a, b = more_successes_in_a(z)
    assert prop.fisher(successes_a=a, n_a=MANY, successes_b=b, n_b=MANY).method == "Fisher"


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


def test_p_of_two_precisions_is_that_of_kosinskis_statistic_computed_from_rows():
    """Of 80 rows about 40 % have the label 1; a first system predicts about 30 % of the rows to
    have it, a second about 50 %. The precision of a system is the share of its predicted rows that
    have the label 1.

    Kosinski 2013 tests that both precisions are p: z is their difference divided by its standard
    error √((p (1 − p) − 2 c) (1 / n₁ + 1 / n₂)). n₁ and n₂ are the predicted rows of the systems, p
    is the precision over both together. c is Σ (label − p)² over the rows that both predict,
    divided by n₁ + n₂.
    """
    rng = np.random.default_rng(5)
    label = rng.random(80) < 0.4
    by_first = rng.random(80) < 0.3  # True for rows that the first system predicts
    by_second = rng.random(80) < 0.5
    by_both = by_first & by_second
    n1 = int(by_first.sum())
    n2 = int(by_second.sum())
    pooled = np.concatenate([label[by_first], label[by_second]]).mean()
    covariance = ((label[by_both] - pooled) ** 2).sum() / (n1 + n2)
    variance = pooled * (1 - pooled) - 2 * covariance
    error = np.sqrt(variance * (1 / n1 + 1 / n2))
    z = (label[by_first].mean() - label[by_second].mean()) / error

    # a row that both predict is a hit of both or of neither
    hits_of_both = label[by_both].sum()
    hits_of_neither = (~label[by_both]).sum()
    found = prop.predictive_values(
        first=(int(label[by_first].sum()), n1),  # hits, predicted rows
        second=(int(label[by_second].sum()), n2),
        shared=np.array([[hits_of_both, 0], [0, hits_of_neither]]),
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
    """52 units, of which 18 were observed as treated. A permutation puts 18 of the 52, any ones,
    into its first arm. It is described by five sums over the units of this arm. Each unit is in the
    arm with the probability 18 / 52. A sum is therefore expected to be 18 / 52 of the same sum over
    all units.

    40 units have the value 0: units with equal values are not drawn one by one, but counted. The
    mean over 9,999 permutations has a relative standard error of up to 1.1 %; 3 % is allowed.
    """
    values = np.concatenate([np.zeros(40), rng(3).exponential(1, 12)])
    is_treated = np.arange(52) % 3 == 0
    # a row for each of the five sums, a column for each permutation
    drawn = independent._drawn_permutations(values, in_first=is_treated, draws=9_999, rng=rng())
    mean = independent.PermutedSums(*drawn.mean(axis=1))
    share = 18 / 52

    def near_share_of(total):
        return pytest.approx(share * total, rel=0.03)

    # over the units of the arm that were observed as treated
    values_of_treated = values[is_treated]
    assert mean.treated == near_share_of(18)  # their number
    assert mean.treated_sum == near_share_of(values_of_treated.sum())
    assert mean.treated_squares == near_share_of(np.sum(values_of_treated**2))
    # over all units of the arm
    assert mean.total == near_share_of(values.sum())
    assert mean.squares == near_share_of(np.sum(values**2))


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


# Of nine units 9 · 8 · 7 · 6 / 4! = 126 permutations put four into the first arm. All are counted
# and none is drawn, so that results do not depend on chance.
ARM_OF_FOUR = np.array([0.0, 1.0, 4.0, 11.0])
ARM_OF_FIVE = np.array([0.0, 0.5, 2.0, 2.5, 3.0])


def test_swapped_arms_have_the_same_p():
    """Swapped arms change the sign of Welch's t in each permutation and so swap the two tails. p is
    twice the smaller tail.
    """
    comparison = independent.studentised(ARM_OF_FOUR, ARM_OF_FIVE, rng=rng())
    swapped = independent.studentised(ARM_OF_FIVE, ARM_OF_FOUR, rng=rng())
    assert comparison.p_value == swapped.p_value


def test_swapped_arms_have_the_limits_with_the_opposite_sign():
    """The lower limit of first − second is minus the upper limit of second − first."""
    difference = independent.studentised(ARM_OF_FOUR, ARM_OF_FIVE, rng=rng()).difference
    swapped = independent.studentised(ARM_OF_FIVE, ARM_OF_FOUR, rng=rng()).difference
    assert limits(difference) == pytest.approx((-swapped.high, -swapped.low))


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


def test_the_variance_without_permutation_is_welchs():
    """Arms of four and seven units are compared. Welch's variance of the difference of means is the
    sum of variance / units of both arms. There are 330 permutations, more than the ten that may be
    enumerated, so that random ones are drawn. `variance` has an element for each; the first is that
    of the data as observed.
    """
    first = np.array([1.0, 4.0, 2.0, 9.0])
    second = np.array([3.0, 5.0, 5.5, 7.0, 1.0, 0.5, 2.0])
    permutations = independent._permutations(
        first, second, strata=None, rng=np.random.default_rng(1), max_enumerated=10
    )
    no_difference = independent.NullHypothesis(shift=0.0, ratio=1.0)
    variances = permutations.variance(no_difference)
    welch = first.var(ddof=1) / first.size + second.var(ddof=1) / second.size
    assert variances[0] == pytest.approx(welch, rel=1e-12)
