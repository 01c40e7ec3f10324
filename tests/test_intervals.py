"""Intervals of means, ratios and shares, and closed forms: tools, published figures, ranges,
undefined cases.
"""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from samples import ANY_TIME, compare, estimate, limits, rng
from scipy import stats
from scipy.optimize import minimize_scalar

from evalkit.catalogue import lookup, tables
from evalkit.catalogue.kinds import Loss, Ratio
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.catalogue.score_kinds import Calibration, Depth
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import (
    closed_forms,
    independent,
    inference,
    intervals,
    proportions,
    spread,
)
from evalkit.statistics.closed_forms import (
    WeightedEstimate,
    lift,
    lift_of_few,
    mover_sum,
    overlap,
    t_within_range,
)
from evalkit.statistics.intervals import Comparison, Estimate, hall, newcombe, wilson
from evalkit.statistics.methods import Options
from evalkit.statistics.proportions import difference_score
from evalkit.statistics.significance import paired_bootstrap
from evalkit.statistics.statistic import Layout, RowStatistic, UnitStatistic
from evalkit.statistics.summed import SummedMean
from evalkit.studies.binary import DEPTHS


def bca(values, generator, **options):
    """The mean of values with the limits of a BCa bootstrap."""
    return paired_bootstrap(values, rng=generator, **options).difference


# Means, ratios and shares -------------------------------------------------------------------------


# a mean absolute error of 1.0 over 4 units, of which only sums are in memory: Σ l² = 0.5 of their
# influence values l and the skewness, but not Σ l⁴
MEAN_KNOWN_BY_SUMS = SummedMean(
    metric_at_k=lookup.find_metric("mae", "forecasts"),
    layout=Layout.PLAIN,
    value=1.0,
    n=4,
    freedom=3.0,
    square=0.5,
    skew=2.0,
)


def test_a_mean_known_by_sums_has_no_fourth_power():
    assert np.isnan(MEAN_KNOWN_BY_SUMS.spread.standardised_power(4))


def test_a_mean_without_fourth_power_keeps_the_degrees_of_freedom_of_its_units():
    """Four units have three degrees of freedom, which a known kurtosis would lower."""
    assert MEAN_KNOWN_BY_SUMS.spread.kurtosis_freedom(3.0) == 3


def test_limits_by_t_equal_scipy():
    values = rng().normal(3, 2, 25)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    found = intervals.mean_t(values, level=0.9)
    assert limits(found) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_an_estimate_by_t_names_its_level_units_and_method():
    e = intervals.mean_t([1.0, 2.0, 6.0], level=0.9)
    assert (e.value, e.level, e.n, e.method) == (3.0, 0.9, 3, "t")


@pytest.mark.parametrize("estimate_mean", [intervals.mean_t, lambda values: bca(values, rng())])
def test_equal_values_have_an_interval_without_width(estimate_mean):
    e = estimate_mean([0.5] * 7)
    assert (e.value, e.low, e.high) == (0.5, 0.5, 0.5)


def test_bca_limits_equal_scipy_within_monte_carlo_error():
    """The BCa interval of the mean of 60 lognormal values, by evalkit from 20,000 resamples and by
    scipy from 20,000 others. If the interval is computed again and again from new resamples, its
    upper limit has a standard deviation of 2.3 % of the interval's width, its lower limit of 0.2 %.
    Two upper limits then differ by about √2 · 2.3 % = 3.3 %; 4 % is allowed.
    """
    values = rng(3).lognormal(mean=0, sigma=1, size=60)
    found = bca(values, generator=rng(1), resamples=20_000)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=rng(2)
    ).confidence_interval
    width = found.high - found.low
    assert limits(found) == pytest.approx((expected.low, expected.high), abs=0.04 * width)


def test_ratio_of_a_constant_denominator_is_the_mean():
    values = rng().normal(size=40)
    mean = intervals.mean_t(values)
    quotient = intervals.ratio_delta(values * 3, np.full(40, 3.0))
    assert limits(quotient) == pytest.approx(limits(mean), rel=1e-10)


def test_repeating_the_rows_of_each_unit_does_not_change_the_interval():
    values = rng().normal(size=50)
    unit = rng(1).integers(0, 12, 50)
    once = intervals.ratio_delta(*intervals.by_unit(values, unit))
    twice = intervals.ratio_delta(*intervals.by_unit(np.tile(values, 2), np.tile(unit, 2)))
    assert limits(twice) == pytest.approx(limits(once), rel=1e-12)


def test_repeated_rows_taken_as_units_narrow_the_interval():
    values = rng().normal(size=50)
    assert intervals.mean_t(np.tile(values, 2)).high < intervals.mean_t(values).high


@given(st.integers(1, 60), st.data())
@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize(
    "interval, method", [(intervals.wilson, "wilson"), (intervals.clopper_pearson, "exact")]
)
def test_limits_of_a_share_equal_scipy(interval, method, n, data):
    hits = data.draw(st.integers(0, n))
    expected = stats.binomtest(hits, n).proportion_ci(0.9, method)
    assert limits(interval(hits, n, level=0.9)) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


# Tango's interval of a difference of paired shares: n units, of which some count for one alone ---

ONE_SYSTEM_ALONE = st.integers(0, 30)


@given(ONE_SYSTEM_ALONE, ONE_SYSTEM_ALONE, st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_tangos_interval_excludes_0_exactly_where_mcnemars_test_rejects(first, second, rest):
    differing = first + second
    p = stats.chi2.sf((first - second) ** 2 / differing, 1) if differing else 1.0
    low, high = limits(intervals.tango(first, second, differing + rest))
    assert (p < 0.05) == (low > 0 or high < 0)


@given(ONE_SYSTEM_ALONE, ONE_SYSTEM_ALONE, st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_tangos_limits_hold_the_difference_and_lie_within_minus_1_and_1(first, second, rest):
    e = intervals.tango(first, second, first + second + rest)
    assert -1 <= e.low <= e.value <= e.high <= 1


@given(ONE_SYSTEM_ALONE, ONE_SYSTEM_ALONE, st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_tangos_limits_of_swapped_systems_are_the_opposite(first, second, rest):
    n = first + second + rest
    low, high = limits(intervals.tango(first, second, n))
    assert limits(intervals.tango(second, first, n)) == pytest.approx((-high, -low), abs=1e-9)


@pytest.mark.parametrize(
    ("first_only", "second_only", "n", "difference"), [(5, 0, 5, 1.0), (0, 0, 5, 0.0)]
)
def test_tangos_score_of_the_observed_difference_is_0_without_variance(
    first_only, second_only, n, difference
):
    assert intervals._tango_score(first_only, second_only, n, difference) == 0.0


# Skewed and bounded means -------------------------------------------------------------------------


def upper_limit_by_hall(skewness):
    """In standard errors above the mean, of 20 units."""
    return intervals.hall(0.0, 1.0, skewness, n=20, level=0.95).high


def test_halls_limit_without_skewness_is_that_by_t():
    assert upper_limit_by_hall(0.0) == pytest.approx(stats.t.ppf(0.975, 19))


def test_halls_limit_stays_near_where_his_own_runs_away():
    """At a skewness of 2 his cube root passes 0, and his limit is 8.8 standard errors."""
    assert upper_limit_by_hall(2.0) < 4.5


def test_halls_limit_does_not_jump_as_the_skewness_grows():
    """By at most 0.7 standard errors for a tenth of skewness."""
    limits_by_skewness = [upper_limit_by_hall(skewness) for skewness in np.linspace(0, 3.5, 36)]
    assert np.diff(limits_by_skewness).max() < 0.7


def test_symmetric_values_have_students_interval():
    values = np.concatenate([np.arange(1.0, 9), -np.arange(1.0, 9)])
    assert limits(intervals.mean(values)) == pytest.approx(
        limits(intervals.mean_t(values)), abs=1e-12
    )


SYMMETRIC = np.array([0.2, 0.9, 0.4, 0.7, 0.6, 0.5, 0.3, 0.8])  # about 0.55


def test_a_bounded_mean_has_wilsons_limits_at_its_effective_number_of_units():
    """The mean p of the eight values 0.2, 0.3, …, 0.9, which could lie between 0 and 1 (`ends`).
    Wilson's limits L solve |p − L| = t √(L (1 − L) / N). t has 8 − 1 degrees of freedom; it would
    have fewer if the values were skewed, but they are symmetric.

    N is the effective number of units (Korn and Graubard 1998): so many zeros and ones with the
    mean p would have a mean of the same variance, p (1 − p) / N, as the mean of the eight values.

    So that the variance is not 0 if all values are equal, a ninth unit is made up. It adds
    q (1 − q) to the sum of squares, in which q is the mean of the eight values, a 0 and a 1.
    """
    p = SYMMETRIC.mean()
    q = (SYMMETRIC.sum() + 0 + 1) / (8 + 2)
    squares_of_nine_units = np.sum((SYMMETRIC - p) ** 2) + q * (1 - q)
    variance_of_unit = squares_of_nine_units / (9 - 1)
    variance_of_mean = variance_of_unit / 8
    effective_n = p * (1 - p) / variance_of_mean
    found = np.array(limits(intervals.mean(SYMMETRIC, ends=(0, 1))))
    standard_error_at_limit = np.sqrt(found * (1 - found) / effective_n)
    t = stats.t.ppf(0.975, 8 - 1)
    assert np.abs(p - found) / standard_error_at_limit == pytest.approx(t, abs=1e-9)


def test_another_range_of_a_bounded_mean_scales_its_limits():
    e = intervals.mean(SYMMETRIC, ends=(0, 1))
    scaled = intervals.mean(10 * SYMMETRIC - 3, ends=(-3, 7))
    expected = (10 * e.low - 3, 10 * e.high - 3)
    assert limits(scaled) == pytest.approx(expected, abs=1e-12)


def test_one_bound_alone_leaves_a_mean_unbounded():
    assert intervals.mean(SYMMETRIC, ends=(0, np.inf)) == intervals.mean(SYMMETRIC)


def test_a_bounded_mean_of_equal_units_has_an_interval_with_a_width():
    low, high = limits(intervals.mean([0.5] * 10, ends=(0, 1)))
    assert 0.3 < low < 0.45
    assert high == pytest.approx(1 - low)


def test_the_limits_of_a_bounded_mean_near_an_end_stay_inside():
    low, high = limits(intervals.mean([1.0, 1.0, 0.999], ends=(0, 1)))
    assert 0 < low < high <= 1


def test_the_mean_of_zeros_and_ones_has_wilsons_interval():
    assert limits(intervals.mean([1, 1, 0, 1, 1])) == limits(intervals.wilson(4, 5))


VALUES_AND_ERRORS = given(st.floats(0.01, 0.99), st.floats(0.001, 0.3), st.integers(3, 50))


@settings(max_examples=100, deadline=None)
@VALUES_AND_ERRORS
def test_ranged_t_stays_within_its_range(value, error, n):
    low, high = limits(t_within_range(value, error, freedom=n - 1, n=n, level=0.95))
    assert 0 <= low <= value <= high <= 1


@settings(max_examples=100, deadline=None)
@VALUES_AND_ERRORS
def test_ranged_t_of_1_less_a_share_has_1_less_its_limits(value, error, n):
    low, high = limits(t_within_range(value, error, freedom=n - 1, n=n, level=0.95))
    complement = t_within_range(1 - value, error, freedom=n - 1, n=n, level=0.95)
    assert limits(complement) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_ranged_t_without_ends_is_t():
    unbounded = t_within_range(
        0.8, 0.05, freedom=99, n=100, level=0.95, ends=(-np.inf, np.inf), method="t"
    )
    assert unbounded == intervals.t_interval(0.8, 0.05, n=100, level=0.95, method="t")


def ranged_limits(low, high):
    """The limits of 0.8 ± 0.05 of 100 units within a range."""
    return limits(t_within_range(0.8, 0.05, freedom=99, n=100, level=0.95, ends=(low, high)))


HALF_WIDTH = stats.t.ppf(0.975, 99) * 0.05
BOTH_SIDES = np.array([-1, 1])


def test_ranged_t_between_two_ends_is_on_the_logit_scale():
    """log(0.8 / 0.2) = log 4, of which the error is that of 0.8 by 0.8 · 0.2."""
    logits = np.log(4) + BOTH_SIDES * HALF_WIDTH / 0.16
    assert ranged_limits(0.0, 1.0) == pytest.approx(1 / (1 + np.exp(-logits)))


def test_ranged_t_above_a_lower_end_is_on_the_logarithmic_scale():
    expected = 0.8 * np.exp(BOTH_SIDES * HALF_WIDTH / 0.8)
    assert ranged_limits(0.0, np.inf) == pytest.approx(expected)


def test_ranged_t_below_an_upper_end_is_on_the_logarithmic_scale_of_the_distance():
    expected = 1 - 0.2 * np.exp(-BOTH_SIDES * HALF_WIDTH / 0.2)
    assert ranged_limits(-np.inf, 1.0) == pytest.approx(expected)


# Where they are used ------------------------------------------------------------------------------


def chosen(kind, low, high):
    return MetricAtK(Metric("number", "rows", kind, "", "", "", low=low, high=high))


SHARE_OF_ROWS = chosen(Ratio(lambda *_: None), 0.0, 1.0)  # hits of all users / rows of all users


def divided(hits, rows):
    """A system's share of the rows of users that it divides with the other system."""
    return UnitStatistic(SHARE_OF_ROWS, Sums(hits, rows), design=Layout.DIVIDED)


class DividedUsers(NamedTuple):
    """12 users, whose rows two systems divide."""

    share: Estimate  # of the first system
    comparison: Comparison


@pytest.fixture(params=range(5))
def divided_users(request):
    generator = rng(request.param)
    rows = (1 + generator.poisson(generator.lognormal(1, 1, 12))).astype(float)
    hits = generator.binomial(rows.astype(int), generator.beta(4, 4, 12)).astype(float)
    first = divided(hits, rows)
    second = divided(rows - hits, rows)
    options = Options(0.95, rng())
    return DividedUsers(
        inference.estimate(first, options), inference.compare(first, second, options)
    )


def test_the_share_of_divided_rows_has_the_limits_of_the_difference(divided_users):
    """The two shares add up to 1, so that the share is (1 + difference) / 2."""
    low, high = limits(divided_users.comparison.difference)
    assert limits(divided_users.share) == pytest.approx(((1 + low) / 2, (1 + high) / 2))


def test_the_test_of_divided_rows_rejects_where_the_share_excludes_one_half(divided_users):
    low, high = limits(divided_users.share)
    assert (divided_users.comparison.p_value < 0.05) == (low > 0.5 or high < 0.5)


ROWS_OF_THREE_USERS = np.array([3.0, 5, 2])
HITS_OF_THREE_USERS = np.array([3.0, 4, 2])


def test_three_users_whose_rows_are_divided_exclude_no_share():
    share = divided(HITS_OF_THREE_USERS, ROWS_OF_THREE_USERS)
    assert limits(inference.estimate(share, Options(0.95, rng()))) == (0, 1)


def test_a_difference_of_shares_of_few_users_has_limits_within_minus_1_and_1():
    first = UnitStatistic(SHARE_OF_ROWS, Sums(HITS_OF_THREE_USERS, ROWS_OF_THREE_USERS))
    misses = ROWS_OF_THREE_USERS - HITS_OF_THREE_USERS
    second = UnitStatistic(SHARE_OF_ROWS, Sums(misses, ROWS_OF_THREE_USERS))
    difference = inference.compare(first, second, Options(0.95, rng())).difference
    assert -1 <= difference.low <= difference.high <= 1


def test_a_user_with_most_of_the_rows_widens_the_interval():
    """20 users, one with 60 of the 79 rows: which costs degrees of freedom."""
    rows = np.array([1.0] * 19 + [60.0])
    hits = np.array([1.0, 0.0] * 9 + [1.0, 25.0])
    found = inference.estimate(UnitStatistic(SHARE_OF_ROWS, Sums(hits, rows)), Options(0.95, rng()))
    by_delta_method = intervals.ratio_delta(hits, rows)
    assert found.high - found.low > 1.4 * (by_delta_method.high - by_delta_method.low)


ABSOLUTE_ERROR = Loss(lambda rows, k: np.abs(rows.actual - rows.score))


def mean_absolute_error_of(rows):
    """The mean absolute error of rows, a loss without bounds."""
    return RowStatistic(chosen(ABSOLUTE_ERROR, -np.inf, np.inf), rows)


def rows_of_unequal_weights():
    """40 forecasts whose weights differ much."""
    g = rng(2)
    return Rows(g.normal(0, 1, 40), g.normal(0, 1, 40), weight=g.lognormal(0, 1, 40))


def test_the_standard_error_of_weighted_rows_is_larger_than_by_the_delta_method_alone():
    """The mean absolute error of 40 forecasts with lognormal weights. A heavy row pulls the mean
    towards itself, which the delta method neglects.
    """
    statistic = mean_absolute_error_of(rows_of_unequal_weights())
    delta = spread.standard_error(statistic.effects.influence * statistic.n)
    assert statistic.spread.error > delta


def test_the_standard_error_of_weighted_rows_is_below_that_of_the_jackknife():
    """The mean absolute error of 40 forecasts with lognormal weights. Its jackknife standard error
    is √((n − 1) / n · Σ (value without row i − value)²), over the n rows.

    The jackknife tends to overestimate if a few rows are heavy, and so is an upper bound. The
    standard error is 5 % below it here.
    """
    rows = rows_of_unequal_weights()
    n = len(rows)
    statistic = mean_absolute_error_of(rows)
    value_without_row = np.array(
        [mean_absolute_error_of(rows.take(np.arange(n) != i)).value for i in range(n)]
    )
    squares = (value_without_row - statistic.value) ** 2
    jackknife = np.sqrt((n - 1) / n * np.sum(squares))
    assert statistic.spread.error < jackknife


def test_the_freedom_of_weighted_rows_is_kishs_number_less_1():
    rows = rows_of_unequal_weights()
    share = rows.weight / rows.weight.sum()
    assert mean_absolute_error_of(rows).freedom == pytest.approx(1 / np.sum(share**2) - 1)


def test_the_standard_error_of_unweighted_rows_is_that_of_the_delta_method():
    rows = replace(rows_of_unequal_weights(), weight=None)
    statistic = mean_absolute_error_of(rows)
    delta = spread.standard_error(statistic.effects.influence * len(rows))
    assert statistic.spread.error == pytest.approx(delta, rel=1e-12)


# Losses of certain predictions --------------------------------------------------------------------


def test_losses_without_a_certain_prediction_have_the_interval_of_a_mean():
    losses = np.random.default_rng(2).exponential(1, 30)
    assert intervals.mean_of_losses(losses, worst=36.0) == intervals.mean(losses)


# 40 certain rows of 100, none of them wrong
LOSSES_WITH_CERTAIN_ROWS = np.concatenate([np.zeros(40), np.full(60, 0.5)])


def test_the_upper_limit_of_losses_allows_that_certain_predictions_are_wrong():
    """Up to Wilson's upper limit of 0 of 40, 8.8 %, of which each costs the worst loss."""
    e = intervals.mean_of_losses(LOSSES_WITH_CERTAIN_ROWS, worst=36.0)
    assert e.high > e.value + 36.0 * 0.4 * 0.08


def test_the_lower_limit_of_losses_is_that_of_a_mean():
    e = intervals.mean_of_losses(LOSSES_WITH_CERTAIN_ROWS, worst=36.0)
    assert e.low == pytest.approx(intervals.mean(LOSSES_WITH_CERTAIN_ROWS).low)


# Two independent shares: a of n, b of m -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_the_likeliest_share_with_a_given_difference_equals_a_numerical_search(seed):
    """Arm a has 3 to 39 units, arm b likewise, with any numbers of hits; the true difference of
    both shares is given, between −0.9 and 0.9. If the share of arm a is p, that of arm b is
    p − difference. The likeliest p has the largest binomial likelihood of both arms. The function
    solves a cubic equation for p. The search knows the likelihood alone; near its maximum the
    likelihood is flat, so that the search finds p to about 1e-8.
    """
    generator = np.random.default_rng(seed)
    n_a, n_b = generator.integers(3, 40, 2)
    hits_a = int(generator.integers(0, n_a + 1))
    hits_b = int(generator.integers(0, n_b + 1))
    difference = generator.uniform(-0.9, 0.9)

    def negative_log_likelihood(p):
        q = p - difference
        of_a = hits_a * np.log(p) + (n_a - hits_a) * np.log1p(-p)
        of_b = hits_b * np.log(q) + (n_b - hits_b) * np.log1p(-q)
        return -(of_a + of_b)

    # both shares lie between 0 and 1
    lowest = max(0, difference) + 1e-12
    highest = min(1, 1 + difference) - 1e-12
    expected = minimize_scalar(
        negative_log_likelihood,
        bounds=(lowest, highest),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    found = proportions._likeliest(
        a=hits_a / n_a, n_a=n_a, b=hits_b / n_b, n_b=n_b, difference=difference
    )
    assert found == pytest.approx(expected, abs=1e-6)


def draw_two_shares(data):
    """a, n, b, m: hits and trials of two arms."""
    n = data.draw(st.integers(1, 60))
    m = data.draw(st.integers(1, 60))
    return data.draw(st.integers(0, n)), n, data.draw(st.integers(0, m)), m


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_test_of_two_shares_rejects_exactly_where_its_interval_excludes_0(data):
    comparison = proportions.two_proportions(*draw_two_shares(data))
    low, high = limits(comparison.difference)
    assert (comparison.p_value < 0.05) == (low > 0 or high < 0)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_difference_of_two_shares_lies_within_its_limits(data):
    e = proportions.two_proportions(*draw_two_shares(data)).difference
    assert -1 <= e.low <= e.value <= e.high <= 1


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_swapped_arms_have_the_opposite_limits(data):
    a, n, b, m = draw_two_shares(data)
    low, high = limits(proportions.two_proportions(a, n, b, m).difference)
    swapped = proportions.two_proportions(b, m, a, n).difference
    assert limits(swapped) == pytest.approx((-high, -low), abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_lift_of_shares_rejects_exactly_where_its_interval_excludes_0(data):
    a, n, b, m = draw_two_shares(data)
    assume(b)  # a lift over 0 is undefined
    lift = independent.share_lift(a, n, b, m)
    low, high = limits(lift.difference)
    assert (lift.p_value < 0.05) == (low > 0 or high < 0)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_lift_of_shares_lies_within_its_limits(data):
    a, n, b, m = draw_two_shares(data)
    assume(b)
    e = independent.share_lift(a, n, b, m).difference
    assert e.low - 1e-9 <= e.value <= e.high + 1e-9


@cache
def limits_of_all_counts(n, m):
    """The lower and the upper limits by the successes of n trials, in rows, and of m trials."""
    low, high = np.empty((2, n + 1, m + 1))
    for a in range(n + 1):
        for b in range(m + 1):
            low[a, b], high[a, b] = limits(difference_score(a, n, b, m))
    return low, high


def exact_coverage_of_score_interval(p, q, n=20, m=30):
    """The probability that the interval from n and m trials holds the true difference p − q."""
    low, high = limits_of_all_counts(n, m)
    is_held = (low <= p - q) & (p - q <= high)
    probability = np.outer(
        stats.binom.pmf(np.arange(n + 1), n, p), stats.binom.pmf(np.arange(m + 1), m, q)
    )
    return probability[is_held].sum()


def test_the_score_interval_of_two_shares_covers_95_percent_on_average():
    true_shares = [(0.1, 0.1), (0.3, 0.1), (0.5, 0.5), (0.8, 0.6)]
    coverage = [exact_coverage_of_score_interval(p, q) for p, q in true_shares]
    assert 0.94 <= np.mean(coverage) <= 0.97
    assert min(coverage) > 0.93


# The area under the ROC curve ---------------------------------------------------------------------


def test_newcombes_limits_of_an_auc_solve_his_equation():
    """An AUC of 0.85 of m = 20 positives and n = 80 negatives. Both limits θ of level 0.95 solve
    (0.85 − θ)² = z² σ²(θ), in which z is the 97.5 % quantile of the normal distribution.

    σ²(θ) is the variance of Hanley and McNeil, in which N* = (m + n) / 2 − 1 replaces m − 1 and
    n − 1 (Newcombe 2006, method 5): θ (1 − θ) (1 + N* (1 − θ) / (2 − θ) + N* θ / (1 + θ)) / (m n).
    """
    m = 20
    n = 80
    theta = np.array(limits(closed_forms.auc_newcombe(0.85, positives=m, negatives=n)))
    n_star = (m + n) / 2 - 1
    factor = 1 + n_star * ((1 - theta) / (2 - theta) + theta / (1 + theta))
    variance = theta * (1 - theta) * factor / (m * n)
    z = stats.norm.ppf(0.975)
    assert (0.85 - theta) ** 2 == pytest.approx(z**2 * variance, rel=1e-6)


def test_newcombes_limits_of_1_less_an_auc_are_1_less_its_limits():
    low, high = limits(closed_forms.auc_newcombe(0.85, 20, 80))
    assert limits(closed_forms.auc_newcombe(0.15, 20, 80)) == pytest.approx((1 - high, 1 - low))


def test_an_auc_of_1_has_a_lower_limit_well_below():
    low, high = limits(closed_forms.auc_newcombe(1.0, 5, 9))
    assert low < 0.9
    assert high == 1


METRICS_OF_TWO_CLASSES = lookup.TABLES["counts"]


# By hand and by published examples ----------------------------------------------------------------


def difference_of_independent_shares_by_mover():
    """56 of 70 − 48 of 80 as MOVER's sum, with weights of 1, of the first share and of minus the
    second.
    """
    no_shared_units = np.zeros(1)  # influence values of 0: both shares are independent
    first = WeightedEstimate(weight=1.0, estimate=wilson(56, 70), influence=no_shared_units)
    minus_second = WeightedEstimate(
        weight=1.0, estimate=negated(wilson(48, 80)), influence=no_shared_units
    )
    return mover_sum([first, minus_second], n=150, level=0.95)


def test_mover_gives_newcombes_published_interval_of_a_difference():
    """Newcombe 1998, example (a), prints 56/70 − 48/80 = 0.2000 [0.0524, 0.3339]; the tolerance is
    half of the last digit.
    """
    e = difference_of_independent_shares_by_mover()
    assert (e.value, e.low, e.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_mover_equals_newcombes_formula_of_a_difference():
    """Newcombe's interval of independent shares is MOVER without correlation."""
    e = difference_of_independent_shares_by_mover()
    assert limits(e) == pytest.approx(limits(newcombe(56, 70, 48, 80)))


def negated(e):
    """The estimate of minus the value."""
    return type(e)(-e.value, -e.high, -e.low, e.level, e.n, e.method)


def test_mover_with_correlation_is_newcombes_interval_of_paired_shares():
    """Of 50 pairs both systems hit 20, the first alone 12, the second alone 2, neither 16: the
    first hits 32 of 50, the second 22 of 50. The difference of the shares is 0.20; its limits,
    0.0618 and 0.3242, are those of Newcombe 1998's method 8 in R's package ratesci, to four digits.

    MOVER adds up weight · value of several estimates, here the first share and minus the second.
    The influence of a pair on a share is its hit (1 or 0) less the share; from these values MOVER
    takes the correlation of the shares.
    """
    both, first_alone, second_alone, neither = 20, 12, 2, 16
    pairs = [both, first_alone, second_alone, neither]
    hit_by_first = np.repeat([1.0, 1.0, 0.0, 0.0], pairs)
    hit_by_second = np.repeat([1.0, 0.0, 1.0, 0.0], pairs)
    first = WeightedEstimate(weight=1.0, estimate=wilson(32, 50), influence=hit_by_first - 32 / 50)
    minus_second = WeightedEstimate(
        weight=1.0, estimate=negated(wilson(22, 50)), influence=-(hit_by_second - 22 / 50)
    )
    difference = mover_sum([first, minus_second], n=50, level=0.95)
    found = (difference.value, difference.low, difference.high)
    assert found == pytest.approx((0.2, 0.0618, 0.3242), abs=5e-5)


INFLUENCE = np.array([1.0, -2.0, 1.0])


def test_the_mean_of_two_metrics_with_proportional_influence_has_their_interval():
    e = wilson(6, 10)
    parts = [WeightedEstimate(0.5, e, INFLUENCE), WeightedEstimate(0.5, e, 3 * INFLUENCE)]
    assert limits(mover_sum(parts, n=10, level=0.95)) == pytest.approx(limits(e))


def test_the_mean_of_two_metrics_with_opposite_influence_has_no_width():
    e = t_within_range(0.5, 0.1, freedom=20.0, n=10, level=0.95)
    parts = [WeightedEstimate(0.5, e, INFLUENCE), WeightedEstimate(0.5, e, -INFLUENCE)]
    assert limits(mover_sum(parts, n=10, level=0.95)) == pytest.approx((0.5, 0.5))


# times · hits / (times · hits + weight · missed + false): F1, F2, F0.5 and the Jaccard index
OVERLAPS = pytest.mark.parametrize("weight, times", [(1, 2), (4, 5), (0.25, 1.25), (1, 1)])
DECISIONS = pytest.mark.parametrize(
    "hits, missed, false", [(8, 1, 1), (0, 3, 2), (5, 0, 0), (5, 0, 3), (5, 3, 0), (1, 0, 0)]
)


@OVERLAPS
@DECISIONS
def test_the_value_of_an_overlap_is_that_of_its_formula(hits, missed, false, weight, times):
    e = overlap(hits, missed, false, weight=weight, times=times, level=0.95)
    assert e.value == pytest.approx(times * hits / (times * hits + weight * missed + false))


@OVERLAPS
@DECISIONS
def test_an_overlap_has_a_width_within_0_and_1_also_at_its_ends(hits, missed, false, weight, times):
    e = overlap(hits, missed, false, weight=weight, times=times, level=0.95)
    assert 0 <= e.low <= e.value <= e.high <= 1
    assert e.high - e.low > 0.05


@OVERLAPS
def test_an_overlap_of_no_decisions_has_no_limits(weight, times):
    assert np.isnan(overlap(0, 0, 0, weight=weight, times=times, level=0.95).low)


def test_f1_has_wilsons_limits_of_the_jaccard_index_j_as_2j_over_1_plus_j():
    f1 = overlap(30, 10, 5, weight=1, times=2, level=0.9)
    jaccard_limits = np.array(limits(wilson(30, 45, level=0.9)))
    assert limits(f1) == pytest.approx(2 * jaccard_limits / (1 + jaccard_limits))


@pytest.mark.parametrize("s", [-0.3, 0.1, 0.35])  # beyond 0.35 the root goes on as a line
def test_halls_limits_solve_his_equation(s):
    """With s = skewness / √n a limit T, in standard errors, solves
    T + s T² / 3 + s² T³ / 27 + s / 6 = ±t (Hall 1992); t has at most 2 / s² degrees of freedom.
    """

    def transform(limit):
        return limit + s * limit**2 / 3 + s**2 * limit**3 / 27 + s / 6

    low, high = limits(hall(0.0, 1.0, s * np.sqrt(30), n=30, level=0.95))
    t = stats.t.ppf(0.975, min(29, 2 / s**2))
    assert (transform(-low), transform(-high)) == pytest.approx((t, -t))


def test_a_lift_has_about_the_same_limits_by_precision_and_by_recall():
    """60 of 100 picked rows are positive, as are 60 of 100 positives picked, so that precision and
    recall are equal shares of equally many rows.
    """
    by_precision = lift(60, 100, 100, 1000, 0.3, level=0.95)
    by_recall = lift_of_few(60, 100, 0.1, 0.3, n=1000, level=0.95)
    assert by_precision.value == by_recall.value
    assert limits(by_precision) == pytest.approx(limits(by_recall), rel=0.05)


# All metrics of two classes, on any rows ----------------------------------------------------------


class TwoSystems(NamedTuple):
    """The labels of 4 to 40 rows, and two systems' scores of them: 0, 1/8, …, 1."""

    label: np.ndarray
    first_score: np.ndarray
    second_score: np.ndarray

    @classmethod
    def from_rows(cls, rows):
        label, first, second = map(np.array, zip(*rows, strict=True))
        return cls(label.astype(np.int64), first / 8, second / 8)


ROWS_OF_TWO_SYSTEMS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 8), st.integers(0, 8)), min_size=4, max_size=40
).map(TwoSystems.from_rows)
THRESHOLDS = st.integers(0, 9).map(lambda eighths: eighths / 8)  # at 9/8 no row is positive


def assert_within_range(metric, e):
    """That limits which are defined lie within the metric's range, and around its value."""
    if np.isfinite(e.low + e.value):
        assert metric.low <= e.low <= e.value + 1e-9, metric.name
        assert e.value - 1e-9 <= e.high <= metric.high, metric.name


@settings(ANY_TIME, max_examples=25)
@given(ROWS_OF_TWO_SYSTEMS, THRESHOLDS)
def test_limits_of_all_metrics_lie_in_their_range_and_hold_the_value(systems, threshold):
    rows = Rows(systems.label, systems.first_score, threshold)
    for metric in METRICS_OF_TWO_CLASSES.values():
        assert_within_range(metric, estimate(MetricAtK(metric), rows))


@settings(ANY_TIME, max_examples=25)
@given(ROWS_OF_TWO_SYSTEMS, THRESHOLDS)
def test_each_metrics_p_is_below_5_percent_exactly_where_its_interval_excludes_0(
    systems, threshold
):
    """Two systems score the same 4 to 40 rows, with random scores of 0, 1/8, …, 1. They are
    compared by each metric of two classes, such as accuracy or AUC, with an interval of level 0.95.
    The threshold of decisions is 0, 1/8, …, 9/8: at 0 all rows are predicted positive, at 9/8 none.

    A metric without p or limits on these rows is passed over. So is McNemar's exact test, since the
    interval beside its p is that of another test, the score test.
    """
    first = Rows(systems.label, systems.first_score, threshold)
    second = Rows(systems.label, systems.second_score, threshold)
    for name, metric in METRICS_OF_TWO_CLASSES.items():
        comparison = compare(MetricAtK(metric), first, second)
        low, high = limits(comparison.difference)
        is_defined = np.isfinite(comparison.p_value) and np.isfinite(low)
        if is_defined and "McNemar" not in comparison.method:
            excludes_0 = low > 0 or high < 0
            assert (comparison.p_value < 0.05) == excludes_0, name


@settings(ANY_TIME, max_examples=25)
@given(ROWS_OF_TWO_SYSTEMS)
def test_the_limits_of_a_lift_lie_in_its_range(systems):
    for depth, rows in product(DEPTHS, plain_and_weighted_rows(systems)):
        metric = tables.lift_at(depth)
        assert_within_range(metric, estimate(MetricAtK(metric), rows))


@settings(ANY_TIME, max_examples=25)
@given(ROWS_OF_TWO_SYSTEMS)
def test_the_limits_of_a_metric_restated_at_another_base_rate_lie_in_its_range(systems):
    for rate, rows in product((0.05, 0.5), plain_and_weighted_rows(systems)):
        for _, restated_at in tables.CHANGED_BY_BASE_RATE:
            metric = restated_at(rate)
            assert_within_range(metric, estimate(MetricAtK(metric), rows))


def plain_and_weighted_rows(systems):
    """Rows of the first system without weights, and with weights of 1 to 7."""
    plain = Rows(systems.label, systems.first_score, threshold=0.5)
    weight = 1.0 + np.arange(len(systems.label)) % 7
    return plain, replace(plain, weight=weight)


@pytest.fixture(scope="module")
def rows_of_three_users():
    """30 rows, ten of each user, with random labels of 0 or 1 and random scores from 0 to 1."""
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, 30)
    user = np.repeat(["a", "b", "c"], 10)
    return Rows(label, rng.random(30), threshold=0.5, unit=user)


def test_the_upper_limit_of_a_lift_is_at_most_1_over_the_lowest_base_rate(rows_of_three_users):
    """A lift is precision / base rate. As a precision is at most 1, the lift is at most
    1 / base rate. The lowest base rate is the lower Wilson limit of the share of positive rows in
    30 rows, with the three users as trials, since rows of a user are not independent.
    """
    e = estimate(lookup.find_metric("lift", "counts"), rows_of_three_users)
    base_rate = rows_of_three_users.actual.mean()
    lowest_base_rate = wilson(base_rate * 3, 3).low
    assert e.high <= 1 / lowest_base_rate


def test_the_upper_limit_of_a_lift_of_three_users_stays_above_the_value(rows_of_three_users):
    e = estimate(lookup.find_metric("lift", "counts"), rows_of_three_users)
    assert e.value < e.high


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_influence_of_all_rows_on_a_lift_adds_up_to_0(depth):
    rng = np.random.default_rng(5)
    label = (rng.random(400) < 0.3).astype(np.int64)
    rows = Rows(label, np.round(rng.normal(0, 1, 400) + label, 1), 0.5)
    lift_kind = Depth(tables.lift_at(depth).kind.function, depth=depth)
    assert lift_kind.effects(rows, None).influence.sum() == pytest.approx(0, abs=1e-9)


def two_normal_systems(rng, positives, negatives):
    """Rows of two systems whose scores are normal, one standard deviation higher for positives."""
    label = np.repeat([1, 0], [positives, negatives])
    common = rng.normal(0, 1, len(label))
    scores = [0.7 * common + 0.7 * rng.normal(0, 1, len(label)) + label for _ in range(2)]
    return [Rows(label, score, 0.5) for score in scores]


# Recall at a false positive rate ------------------------------------------------------------------


class Simulated(NamedTuple):
    coverage: float  # of the first system's interval, of the true recall
    rejections: float  # the share of tests between two equally good systems with p < 0.05


@pytest.fixture(scope="module", params=[(400, 200), (50, 1000)])
def simulated_recall(request):
    """200 samples of positives and negatives; 5 % of 200 negatives are only 10 rows."""
    rng = np.random.default_rng(66)
    metric = lookup.find_metric("recall@fpr0.05", "counts")
    # scores have the standard deviation √(0.7² + 0.7²) and differ by 1 between the classes
    true_recall = stats.norm.sf(stats.norm.isf(0.05) - 1 / np.sqrt(0.98))
    covered = []
    rejected = []
    for _ in range(200):
        first, second = two_normal_systems(rng, *request.param)
        e = estimate(metric, first)
        covered.append(e.low <= true_recall <= e.high)
        rejected.append(compare(metric, first, second).p_value < 0.05)
    return Simulated(np.mean(covered), np.mean(rejected))


def test_limits_of_recall_at_a_rate_cover_it(simulated_recall):
    """95 % less three standard errors of 200 samples."""
    assert simulated_recall.coverage > 0.91


def test_the_test_of_recall_at_a_rate_keeps_its_level(simulated_recall):
    """5 % and three standard errors of 200 samples."""
    assert simulated_recall.rejections < 0.09


@pytest.mark.parametrize("digits", [0, 1, 9])
@pytest.mark.parametrize("name", ["recall@fpr0.01", "recall@fpr0.3"])
def test_the_influence_of_all_rows_on_recall_at_a_rate_adds_up_to_0(name, digits):
    rng = np.random.default_rng(5)
    label = (rng.random(400) < 0.3).astype(np.int64)
    rows = Rows(label, np.round(rng.normal(0, 1, 400) + label, digits), 0.5)
    influence = lookup.find_metric(name, "counts").effects(rows).influence
    assert influence.sum() == pytest.approx(0, abs=1e-9)


def test_recall_at_a_rate_below_one_false_positive_has_the_lower_limit_0():
    sample, _ = two_normal_systems(np.random.default_rng(6), 80, 50)
    assert estimate(lookup.find_metric("recall@fpr0.01", "counts"), sample).low == 0


# Where influence values claim too much ------------------------------------------------------------


def test_a_ks_of_three_positives_above_all_negatives_is_not_certainly_equal():
    """Both systems have a KS of 1, on few positives."""
    label = np.array([1, 1, 1] + [0] * 60)
    negatives = np.arange(60.0)
    first = Rows(label, np.concatenate([[70.0, 71.0, 72.0], negatives]), 0.5)
    second = Rows(label, np.concatenate([[70.0, 71.0, 72.0], np.roll(negatives, 7)]), 0.5)
    assert compare(MetricAtK(METRICS_OF_TWO_CLASSES["ks"]), first, second).p_value > 0.2


CALIBRATED_SCORE = np.random.default_rng(1).random(300)
CALIBRATED_LABEL = (np.random.default_rng(2).random(300) < CALIBRATED_SCORE).astype(np.int64)
CALIBRATION_ERRORS = [
    MetricAtK(metric)
    for metric in METRICS_OF_TWO_CLASSES.values()
    if isinstance(metric.kind, Calibration)
]


@pytest.mark.parametrize("metric", CALIBRATION_ERRORS, ids=str)
def test_a_calibration_error_has_no_limits_as_it_is_biased(metric):
    e = estimate(metric, Rows(CALIBRATED_LABEL, CALIBRATED_SCORE, 0.5))
    assert np.isnan([e.low, e.high]).all()
    assert "biased" in e.method


@pytest.mark.parametrize("metric", CALIBRATION_ERRORS, ids=str)
def test_a_calibration_error_has_no_test(metric):
    first = Rows(CALIBRATED_LABEL, CALIBRATED_SCORE, 0.5)
    second = Rows(CALIBRATED_LABEL, CALIBRATED_SCORE**2, 0.5)
    assert np.isnan(compare(metric, first, second).p_value)


@pytest.mark.parametrize("name, predicted", [("mcc", 1), ("kappa", 0)])
def test_metrics_of_next_to_no_predicted_row_have_a_wide_interval(name, predicted):
    """4 of 100 rows are positive, one or none is predicted: the influence of all rows is 0, and the
    value tells little.
    """
    label = (np.arange(100) < 4).astype(int)
    score = np.where(np.arange(100) < predicted, 0.9, 0.1)
    e = estimate(lookup.find_metric(name, "counts"), Rows(label, score))
    assert -1 <= e.low <= e.value <= e.high <= 1
    assert e.high - e.low > 0.4


def kappa_of_classes(label, decision):
    rows = Rows(label, decision=decision, classes=3)
    return estimate(lookup.find_metric("kappa", "classes"), rows)


def test_kappa_has_no_limits_if_one_class_is_predicted_for_all_rows():
    """It is 0 and no row moves it, which is no certainty."""
    e = kappa_of_classes(np.arange(60) % 3, np.zeros(60, dtype=int))
    assert e.value == 0
    assert np.isnan([e.low, e.high]).all()


def test_a_perfect_kappa_has_a_lower_limit():
    label = np.arange(60) % 3
    low, high = limits(kappa_of_classes(label, label))
    assert 0.8 < low < 1
    assert high == 1


def test_values_that_all_lie_at_the_lowest_rating_have_an_upper_limit_above_it():
    # as 0 of 60 successes, on the range from 1 to 5 instead of 0 to 1
    no_success = intervals.wilson(0, 60)
    e = intervals.mean(np.ones(60), ends=(1, 5))
    assert (e.low, e.high) == (1, pytest.approx(1 + 4 * no_success.high))
