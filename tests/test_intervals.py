"""Intervals of means, ratios and shares, and closed forms: tools, published figures, ranges,
undefined cases.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from samples import ANY_TIME, compare, estimate, limits, rng
from scipy import stats
from scipy.optimize import minimize_scalar

from evalkit.catalogue import lookup, tables
from evalkit.catalogue.kinds import Loss, Ratio
from evalkit.catalogue.metric import Metric, MetricAtK
from evalkit.catalogue.score_kinds import Calibration, Depth, Gap
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import (
    closed_forms,
    independent,
    inference,
    intervals,
    intervals as iv,
    proportions,
    spread,
)
from evalkit.statistics.closed_forms import (
    WeightedEstimate,
    lift,
    lift_of_few,
    mover_mean,
    overlap,
    ranged_t,
)
from evalkit.statistics.intervals import hall, newcombe, wilson
from evalkit.statistics.methods import Options
from evalkit.statistics.proportions import difference_score
from evalkit.statistics.significance import paired_bootstrap
from evalkit.statistics.statistic import Layout, RowStatistic, UnitStatistic
from evalkit.statistics.summed import SummedMean
from evalkit.studies.binary import DEPTHS


def bca(values, g, **options):
    return paired_bootstrap(values, rng=g, **options).difference


def test_a_mean_of_sums_has_the_freedom_of_its_units_as_fourth_powers_are_unknown():
    mean = SummedMean(
        lookup.find_metric("mae", "forecasts"),
        Layout.PLAIN,
        1.0,
        n=4,
        freedom=3.0,
        square=0.5,
        skew=2.0,
    )
    assert mean.spread.skewness == 2
    assert np.isnan(mean.spread.standardised_power(4))
    assert mean.spread.kurtosis_freedom(3.0) == 3


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
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=rng(2)
    ).confidence_interval
    assert limits(e) == pytest.approx((expected.low, expected.high), abs=0.04 * (e.high - e.low))


def test_ratio_of_a_constant_denominator_is_the_mean():
    values = rng().normal(size=40)
    mean = iv.mean_t(values)
    quotient = iv.ratio_delta(values * 3, np.full(40, 3.0))
    assert limits(quotient) == pytest.approx(limits(mean), rel=1e-10)


def test_repeating_the_rows_of_each_unit_leaves_the_interval():
    values = rng().normal(size=50)
    unit = rng(1).integers(0, 12, 50)
    once = iv.ratio_delta(*iv.by_unit(values, unit))
    twice = iv.ratio_delta(*iv.by_unit(np.tile(values, 2), np.tile(unit, 2)))
    assert limits(twice) == pytest.approx(limits(once), rel=1e-12)


def test_repeated_rows_taken_as_units_narrow_the_interval():
    values = rng().normal(size=50)
    assert iv.mean_t(np.tile(values, 2)).high < iv.mean_t(values).high


@given(st.integers(1, 60), st.data())
@settings(max_examples=50, deadline=None)
def test_proportions_equal_scipy(n, data):
    k = data.draw(st.integers(0, n))
    test = stats.binomtest(k, n)
    for ours, theirs in ((iv.wilson, "wilson"), (iv.clopper_pearson, "exact")):
        expected = test.proportion_ci(0.9, theirs)
        assert limits(ours(k, n, level=0.9)) == pytest.approx(
            (expected.low, expected.high), abs=1e-12
        )


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_paired_score_interval_is_dual_to_the_asymptotic_test(first, second, rest):
    e = iv.tango(first, second, first + second + rest)
    p = stats.chi2.sf((first - second) ** 2 / (first + second), 1) if first + second else 1.0
    assert (p < 0.05) == (not e.low <= 0 <= e.high)
    assert -1 <= e.low <= e.value <= e.high <= 1
    mirrored = iv.tango(second, first, first + second + rest)
    assert limits(mirrored) == pytest.approx((-e.high, -e.low), abs=1e-9)


@pytest.mark.parametrize(
    ("first_only", "second_only", "n", "difference"), [(5, 0, 5, 1.0), (0, 0, 5, 0.0)]
)
def test_tangos_score_of_the_observed_difference_is_0_without_variance(
    first_only, second_only, n, difference
):
    assert iv._tango_score(first_only, second_only, n, difference) == 0.0


def test_the_upper_limit_of_very_skewed_values_does_not_run_away():
    """Near a skewness of 2 for 20 units Hall's cube root passes 0, and his limit lies ten standard
    errors above.
    """
    highs = np.array(
        [intervals.hall(0.0, 1.0, skew, n=20, level=0.95).high for skew in np.linspace(0, 3.5, 36)]
    )
    assert highs[0] == pytest.approx(stats.t.ppf(0.975, 19))
    assert highs[20] < 4.5  # at a skewness of 2, where his own is 8.8
    assert np.diff(highs).max() < 0.7  # in no step of a tenth of skewness


def test_symmetric_values_have_students_interval():
    values = np.concatenate([np.arange(1.0, 9), -np.arange(1.0, 9)])
    assert limits(intervals.mean(values)) == pytest.approx(
        limits(intervals.mean_t(values)), abs=1e-12
    )


SYMMETRIC = np.array([0.2, 0.9, 0.4, 0.7, 0.6, 0.5, 0.3, 0.8])  # about 0.55


def test_a_bounded_mean_has_wilsons_limits_for_the_units_that_vary_as_much():
    """By hand: one unit more, of the variance of zeros and ones, and t; the score equation holds at
    both limits.
    """
    n = 8
    p = SYMMETRIC.mean()
    padded_share = (p * n + 1) / (n + 2)
    of_added_unit = padded_share * (1 - padded_share) / n
    variance = (n - 1) / n * SYMMETRIC.var(ddof=1) + of_added_unit
    effective_n = p * (1 - p) / (variance / n)
    for limit in limits(intervals.mean(SYMMETRIC, ends=(0, 1))):
        score = abs(p - limit) / np.sqrt(limit * (1 - limit) / effective_n)
        assert score == pytest.approx(stats.t.ppf(0.975, n - 1), abs=1e-9)


def test_another_range_of_a_bounded_mean_scales_its_limits():
    e = intervals.mean(SYMMETRIC, ends=(0, 1))
    scaled = intervals.mean(10 * SYMMETRIC - 3, ends=(-3, 7))
    expected = (10 * e.low - 3, 10 * e.high - 3)
    assert limits(scaled) == pytest.approx(expected, abs=1e-12)


def test_one_bound_alone_leaves_a_mean_unbounded():
    assert intervals.mean(SYMMETRIC, ends=(0, np.inf)) == intervals.mean(SYMMETRIC)


def test_a_bounded_mean_of_equal_units_has_a_width_and_stays_inside():
    alike = intervals.mean([0.5] * 10, ends=(0, 1))
    top = intervals.mean([1.0, 1.0, 0.999], ends=(0, 1))
    assert 0.3 < alike.low < 0.45
    assert alike.high == pytest.approx(1 - alike.low)
    assert 0 < top.low < top.high <= 1


def test_zeros_and_ones_are_a_share():
    assert limits(intervals.mean([1, 1, 0, 1, 1])) == limits(intervals.wilson(4, 5))


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.001, 0.3), st.integers(3, 50))
def test_ranged_t_stays_inside_and_mirrors(value, error, n):
    e = ranged_t(value, error, freedom=n - 1, n=n, level=0.95)
    assert 0 <= e.low <= value <= e.high <= 1
    other = ranged_t(1 - value, error, freedom=n - 1, n=n, level=0.95)
    assert limits(other) == pytest.approx((1 - e.high, 1 - e.low), abs=1e-9)
    plain = ranged_t(
        value, error, freedom=n - 1, n=n, level=0.95, ends=(-np.inf, np.inf), method="t"
    )
    assert plain == intervals.t_interval(value, error, n=n, level=0.95, method="t")


def test_ranged_t_is_the_logit_and_the_logarithm():
    half = stats.t.ppf(0.975, 99) * 0.05
    logit = np.log(4) + np.array([-1, 1]) * half / 0.16

    def within(low, high):
        return limits(ranged_t(0.8, 0.05, freedom=99, n=100, level=0.95, ends=(low, high)))

    assert within(0.0, 1.0) == pytest.approx(1 / (1 + np.exp(-logit)))
    assert within(0.0, np.inf) == pytest.approx(0.8 * np.exp(np.array([-1, 1]) * half / 0.8))
    assert within(-np.inf, 1.0) == pytest.approx(1 - 0.2 * np.exp(np.array([1, -1]) * half / 0.2))


# Where they are used ------------------------------------------------------------------------------


def chosen(kind, low, high):
    return MetricAtK(Metric("number", "rows", kind, "", "", "", low=low, high=high))


POOLED = chosen(Ratio(lambda *_: None), 0.0, 1.0)


def by_user(g, users=20):
    rows = 1 + g.poisson(g.lognormal(1, 1, users))
    hits = g.binomial(rows, g.beta(4, 4, users)).astype(float)
    return hits, rows.astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_two_arms_that_divide_users_tell_one_story(seed):
    hits, rows = by_user(rng(seed), 12)
    first, second = (
        UnitStatistic(POOLED, Sums(side, rows), design=Layout.DIVIDED)
        for side in (hits, rows - hits)
    )
    o = Options(0.95, rng())
    e = inference.estimate(first, o)
    c = inference.compare(first, second, o)
    assert limits(e) == pytest.approx(((1 + c.difference.low) / 2, (1 + c.difference.high) / 2))
    assert (c.p_value < 0.05) == (not e.low <= 0.5 <= e.high)


ROWS_OF_THREE_USERS = np.array([3.0, 5, 2])
HITS_OF_THREE_USERS = np.array([3.0, 4, 2])


def test_three_users_that_systems_divide_reject_no_share():
    share = UnitStatistic(
        POOLED, Sums(HITS_OF_THREE_USERS, ROWS_OF_THREE_USERS), design=Layout.DIVIDED
    )
    assert limits(inference.estimate(share, Options(0.95, rng()))) == (0, 1)


def test_a_difference_of_shares_of_few_users_has_limits_within_minus_1_and_1():
    first = UnitStatistic(POOLED, Sums(HITS_OF_THREE_USERS, ROWS_OF_THREE_USERS))
    misses = ROWS_OF_THREE_USERS - HITS_OF_THREE_USERS
    second = UnitStatistic(POOLED, Sums(misses, ROWS_OF_THREE_USERS))
    difference = inference.compare(first, second, Options(0.95, rng())).difference
    assert -1 <= difference.low <= difference.high <= 1


def test_a_heavy_user_costs_degrees_of_freedom():
    rows = np.array([1.0] * 19 + [60.0])
    hits = np.array([1.0, 0.0] * 9 + [1.0, 25.0])
    e = inference.estimate(UnitStatistic(POOLED, Sums(hits, rows)), Options(0.95, rng()))
    delta = intervals.ratio_delta(hits, rows)
    assert e.high - e.low > 1.4 * (delta.high - delta.low)


ABSOLUTE_ERROR = Loss(lambda rows, k: np.abs(rows.actual - rows.score))


def mean_error_of(rows):
    """The mean absolute error of rows, a loss without bounds."""
    return RowStatistic(chosen(ABSOLUTE_ERROR, -np.inf, np.inf), rows)


def rows_of_unequal_weights():
    """40 forecasts whose weights differ much."""
    g = rng(2)
    return Rows(g.normal(0, 1, 40), g.normal(0, 1, 40), weight=g.lognormal(0, 1, 40))


def test_the_error_of_weighted_rows_lies_between_the_delta_method_and_the_jackknife():
    rows = rows_of_unequal_weights()
    n = len(rows)
    statistic = mean_error_of(rows)
    without_row = [mean_error_of(rows.take(np.arange(n) != i)).value for i in range(n)]
    jackknife = np.sqrt((n - 1) / n * np.sum((np.array(without_row) - statistic.value) ** 2))
    delta = spread.standard_error(statistic.effects.influence * n)
    assert delta < statistic.spread.error < 1.05 * jackknife


def test_the_freedom_of_weighted_rows_is_kishs_number_less_1():
    rows = rows_of_unequal_weights()
    share = rows.weight / rows.weight.sum()
    assert mean_error_of(rows).freedom == pytest.approx(1 / np.sum(share**2) - 1)


def test_the_error_of_unweighted_rows_is_that_of_the_delta_method():
    rows = replace(rows_of_unequal_weights(), weight=None)
    statistic = mean_error_of(rows)
    delta = spread.standard_error(statistic.effects.influence * len(rows))
    assert statistic.spread.error == pytest.approx(delta, rel=1e-12)


# Coverage -----------------------------------------------------------------------------------------


def test_no_certain_prediction_leaves_the_mean_as_it_is():
    losses = np.random.default_rng(2).exponential(1, 30)
    assert intervals.mean_of_losses(losses, worst=36.0) == intervals.mean(losses)


def test_certain_predictions_that_were_right_may_be_wrong_elsewhere():
    """40 certain rows of 100, none wrong: the upper limit holds Wilson's for 0 of 40."""
    losses = np.concatenate([np.zeros(40), np.full(60, 0.5)])
    e = intervals.mean_of_losses(losses, worst=36.0)
    assert e.high > e.value + 36.0 * 0.4 * 0.08
    assert e.low == pytest.approx(intervals.mean(losses).low)


def test_few_units_that_differ_leave_few_degrees_of_freedom():
    few, many = (intervals.hall(1.0, 0.1, skew, n=100, level=0.95) for skew in (6.0, 0.0))
    assert few.high > many.high


def test_the_likeliest_proportion_is_that_of_a_search():
    g = np.random.default_rng(1)
    for _ in range(40):
        n, m = g.integers(3, 40, 2)
        a = int(g.integers(0, n + 1))
        b = int(g.integers(0, m + 1))
        d = g.uniform(-0.9, 0.9)

        def loss(p, a=a, b=b, n=n, m=m, d=d):
            return -(
                a * np.log(p)
                + (n - a) * np.log1p(-p)
                + b * np.log(p - d)
                + (m - b) * np.log1p(d - p)
            )

        ends = max(0, d) + 1e-12, min(1, 1 + d) - 1e-12
        by_search = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
        assert proportions._likeliest(a / n, n, b / m, m, d) == pytest.approx(by_search, abs=1e-6)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_test_interval_and_lift_never_contradict(n, m, data):
    a = data.draw(st.integers(0, n))
    b = data.draw(st.integers(0, m))
    c = proportions.two_proportions(a, n, b, m)
    lift = independent.share_lift(a, n, b, m)
    e = c.difference
    assert (c.p_value < 0.05) == (not e.low <= 0 <= e.high)
    assert -1 <= e.low <= e.value <= e.high <= 1
    mirrored = proportions.two_proportions(b, m, a, n).difference
    assert (mirrored.low, mirrored.high) == pytest.approx((-e.high, -e.low), abs=1e-9)
    if b:
        assert (lift.p_value < 0.05) == (not lift.difference.low <= 0 <= lift.difference.high)
        assert lift.difference.low - 1e-9 <= lift.difference.value <= lift.difference.high + 1e-9


def test_the_score_interval_covers():
    """The exact coverage over a grid of true shares, 20 and 30 trials: near the level on
    average.
    """
    n, m = 20, 30
    tables = [[difference_score(a, n, b, m) for b in range(m + 1)] for a in range(n + 1)]
    covered = []
    for p, q in ((0.1, 0.1), (0.3, 0.1), (0.5, 0.5), (0.8, 0.6)):
        chance = np.outer(binomial(n, p), binomial(m, q))
        holds = np.array([[e.low <= p - q <= e.high for e in row] for row in tables])
        covered.append(float((chance * holds).sum()))
    assert 0.94 <= np.mean(covered) <= 0.97
    assert min(covered) > 0.93


def binomial(n, p):
    return np.exp([float(proportions.log_binomial(k, n, p)) for k in range(n + 1)])


def test_newcombe_limits_solve_their_equation():
    e = closed_forms.auc_newcombe(0.85, 20, 80)
    for truth in (e.low, e.high):
        spread = 1 + 49 * ((1 - truth) / (2 - truth) + truth / (1 + truth))
        assert (0.85 - truth) ** 2 == pytest.approx(
            1.959964**2 * truth * (1 - truth) * spread / 1600, rel=1e-6
        )
    mirrored = closed_forms.auc_newcombe(0.15, 20, 80)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - e.high, 1 - e.low))


def test_limits_stay_inside_and_have_width_at_the_ends():
    top = closed_forms.auc_newcombe(1.0, 5, 9)
    bottom = closed_forms.auc_newcombe(0.0, 5, 9)
    assert (top.high, bottom.low) == (1, 0)
    assert top.low < 0.9
    assert bottom.high > 0.1


TABLE = lookup.TABLES["counts"]


# By hand and by published examples ----------------------------------------------------------------


def test_mover_is_newcombes_interval_of_a_difference():
    """Newcombe 1998's example (a): 56/70 − 48/80 is 0.2000 [0.0524, 0.3339]."""
    parts = [
        WeightedEstimate(1.0, wilson(56, 70), np.zeros(1)),
        WeightedEstimate(1.0, _turned(wilson(48, 80)), np.zeros(1)),
    ]
    e = mover_mean(parts, n=150, level=0.95)
    assert (e.value, e.low, e.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert (e.low, e.high) == pytest.approx(
        (newcombe(56, 70, 48, 80).low, newcombe(56, 70, 48, 80).high)
    )


def _turned(e):
    return type(e)(-e.value, -e.high, -e.low, e.level, e.n, e.method)


def test_mover_with_correlation_is_newcombes_interval_of_paired_shares():
    """Newcombe 1998's method 8 of 20, 12, 2 and 16 pairs, as R's ratesci has it: 0.20 [0.0618,
    0.3242].
    """
    first = np.repeat([1.0, 1, 0, 0], [20, 12, 2, 16])
    second = np.repeat([1.0, 0, 1, 0], [20, 12, 2, 16])
    hits_of_first = WeightedEstimate(1.0, wilson(32, 50), influence=first - 0.64)
    misses_of_second = WeightedEstimate(1.0, wilson(28, 50), influence=0.44 - second)
    e = mover_mean([hits_of_first, misses_of_second], n=50, level=0.95)
    # first + (1 − second) is the difference + 1
    assert (e.value - 1, e.low - 1, e.high - 1) == pytest.approx((0.2, 0.0618, 0.3242), abs=5e-5)


INFLUENCE = np.array([1.0, -2.0, 1.0])


def test_the_mean_of_two_metrics_with_proportional_influence_has_their_interval():
    e = wilson(6, 10)
    parts = [WeightedEstimate(0.5, e, INFLUENCE), WeightedEstimate(0.5, e, 3 * INFLUENCE)]
    assert limits(mover_mean(parts, n=10, level=0.95)) == pytest.approx(limits(e))


def test_the_mean_of_two_metrics_with_opposite_influence_has_no_width():
    e = ranged_t(0.5, 0.1, freedom=20.0, n=10, level=0.95)
    parts = [WeightedEstimate(0.5, e, INFLUENCE), WeightedEstimate(0.5, e, -INFLUENCE)]
    assert limits(mover_mean(parts, n=10, level=0.95)) == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize("weight, times", [(1, 2), (4, 5), (0.25, 1.25), (1, 1)])
def test_overlap_is_the_metric_and_keeps_its_end(weight, times):
    for hits, missed, false in ((8, 1, 1), (0, 3, 2), (5, 0, 0), (5, 0, 3), (5, 3, 0), (1, 0, 0)):
        e = overlap(hits, missed, false, weight=weight, times=times, level=0.95)
        assert e.value == pytest.approx(times * hits / (times * hits + weight * missed + false))
        assert 0 <= e.low <= e.value <= e.high <= 1
        assert e.high - e.low > 0.05
    assert np.isnan(overlap(0, 0, 0, weight=weight, times=times, level=0.95).low)


def test_f1_is_wilsons_interval_of_the_jaccard_index_mapped():
    e = overlap(30, 10, 5, weight=1, times=2, level=0.9)
    j = wilson(30, 45, level=0.9)
    assert (e.value, e.low, e.high) == pytest.approx(
        tuple(2 * x / (1 + x) for x in (j.value, j.low, j.high))
    )


def test_hall_undoes_its_own_transformation():
    """With s = skewness / √n a limit T solves T + s T² / 3 + s² T³ / 27 + s / 6 = ±t (Hall 1992);
    t has at most 2 / s² degrees of freedom.
    """
    from scipy.special import stdtrit

    for s in (-0.3, 0.1, 0.35):  # beyond 0.35 the root goes on as a line
        e = hall(0.0, 1.0, s * np.sqrt(30), n=30, level=0.95)
        t = stdtrit(min(29, 2 / s**2), 0.975)

        def transformed(limit, s=s):
            return limit + s * limit**2 / 3 + s**2 * limit**3 / 27 + s / 6

        assert transformed(-e.low) == pytest.approx(t)
        assert transformed(-e.high) == pytest.approx(-t)


def test_hall_without_skewness_is_t():
    from scipy.special import stdtrit

    assert hall(0.0, 1.0, 0.0, n=30, level=0.95).high == pytest.approx(stdtrit(29, 0.975))


def test_lift_by_precision_and_by_recall_meet():
    """Where the rows picked are as many as the positives, precision and recall are shares of as
    many.
    """
    a = lift(60, 100, 100, 1000, 0.3, level=0.95)
    b = lift_of_few(60, 100, 0.1, 0.3, n=1000, level=0.95)
    assert a.value == b.value
    assert (a.low, a.high) == pytest.approx((b.low, b.high), rel=0.05)


# Always in range, and consistent ------------------------------------------------------------------

rows = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 1)), min_size=4, max_size=40
)


@settings(ANY_TIME, max_examples=25)
@given(rows, st.integers(0, 9))
def test_limits_lie_in_the_range_and_hold_the_value(data, threshold):
    a, b, label = (np.array(column) for column in zip(*data, strict=True))
    first, second = (Rows(label.astype(np.int64), score / 8, threshold / 8) for score in (a, b))
    for name, metric in TABLE.items():
        e = estimate(MetricAtK(metric), first)
        if np.isfinite(e.low):
            assert metric.low <= e.low <= e.value + 1e-9, name
            assert e.value - 1e-9 <= e.high <= metric.high, name
        c = compare(MetricAtK(metric), first, second)
        d = c.difference
        if np.isfinite(c.p_value) and np.isfinite(d.low) and "McNemar" not in c.method:
            assert (c.p_value < 0.05) == (not d.low <= 0 <= d.high), (name, c)


@settings(ANY_TIME, max_examples=25)
@given(rows)
def test_further_numbers_of_the_page_lie_in_their_range(data):
    a, _, label = (np.array(column) for column in zip(*data, strict=True))
    plain = Rows(label.astype(np.int64), a / 8, 0.5)
    weights = 1.0 + np.arange(len(label)) % 7
    metrics = [tables.lift_at(depth) for depth in DEPTHS]
    metrics += [of(rate) for _, of in tables.CHANGED_BY_BASE_RATE for rate in (0.05, 0.5)]
    for metric, sample in product(metrics, (plain, replace(plain, weight=weights))):
        e = estimate(MetricAtK(metric), sample)
        if np.isfinite(e.low + e.value):
            assert metric.low <= e.low <= e.value + 1e-9, metric
            assert e.value - 1e-9 <= e.high <= metric.high, metric


def test_no_lift_by_user_is_above_that_of_positive_rows_alone():
    """Of three users the logarithm of the lift has one or two degrees of freedom, and t's limit
    alone is far out.
    """
    rng = np.random.default_rng(8)
    label = rng.integers(0, 2, 30)
    score = rng.random(30)
    user = np.repeat(["a", "b", "c"], 10)
    e = estimate(lookup.find_metric("lift", "counts"), Rows(label, score, 0.5, unit=user))
    fewest = wilson(label.mean() * 3, 3).low
    assert e.value < e.high <= 1 / fewest


def test_the_effects_of_a_depth_are_those_of_a_weight():
    """The border's share is smoothed, so only what does not depend on it is exact: the sum, and
    rows at one border.
    """
    rng = np.random.default_rng(5)
    label = (rng.random(400) < 0.3).astype(np.int64)
    sample = Rows(label, np.round(rng.normal(0, 1, 400) + label, 1), 0.5)
    for depth in DEPTHS:
        moved = (
            Depth(tables.lift_at(depth).kind.function, depth=depth).effects(sample, None).influence
        )
        assert moved.sum() == pytest.approx(0, abs=1e-9)


def two_normal_systems(rng, positives, negatives):
    """Rows of two systems whose scores are normal, one standard deviation higher for positives."""
    label = np.repeat([1, 0], [positives, negatives])
    common = rng.normal(0, 1, len(label))
    scores = [0.7 * common + 0.7 * rng.normal(0, 1, len(label)) + label for _ in range(2)]
    return [Rows(label, score, 0.5) for score in scores]


@pytest.mark.parametrize(("positives", "negatives"), [(400, 200), (50, 1000)])
def test_limits_of_recall_at_a_rate_cover_it_and_their_test_keeps_its_level(positives, negatives):
    """5 % of 200 negatives are 10, so that the rows above the threshold are few."""
    rng = np.random.default_rng(66)
    metric = lookup.find_metric("recall@fpr0.05", "counts")
    recall = stats.norm.sf(stats.norm.isf(0.05) - 1 / np.sqrt(0.98))
    runs = 200
    covered = rejected = 0
    for _ in range(runs):
        first, second = two_normal_systems(rng, positives, negatives)
        e = estimate(metric, first)
        covered += e.low <= recall <= e.high
        rejected += compare(metric, first, second).p_value < 0.05
    assert covered / runs > 0.91
    assert rejected / runs < 0.09


def test_the_effects_on_recall_at_a_rate_add_up_to_0():
    rng = np.random.default_rng(5)
    label = (rng.random(400) < 0.3).astype(np.int64)
    for digits in (0, 1, 9):
        sample = Rows(label, np.round(rng.normal(0, 1, 400) + label, digits), 0.5)
        for name in ("recall@fpr0.01", "recall@fpr0.3"):
            moved = lookup.find_metric(name, "counts").effects(sample).influence
            assert moved.sum() == pytest.approx(0, abs=1e-9)


def test_recall_at_a_rate_below_one_false_positive_has_the_lower_limit_0():
    sample, _ = two_normal_systems(np.random.default_rng(6), 80, 50)
    assert estimate(lookup.find_metric("recall@fpr0.01", "counts"), sample).low == 0


def test_a_gap_is_not_certain_where_few_rows_agree():
    label = np.array([1, 1, 1] + [0] * 60)
    a, b = (np.concatenate([[70.0, 71.0, 72.0], np.roll(np.arange(60.0), turn)]) for turn in (0, 7))
    c = compare(MetricAtK(TABLE["ks"]), Rows(label, a, 0.5), Rows(label, b, 0.5))
    assert isinstance(TABLE["ks"].kind, Gap)
    assert c.p_value > 0.2


def test_calibration_has_no_interval_and_no_test():
    rng = np.random.default_rng(1)
    score = rng.random(300)
    a = Rows((rng.random(300) < score).astype(np.int64), score, 0.5)
    b = Rows(a.actual, score**2, 0.5)
    for name, metric in TABLE.items():
        if isinstance(metric.kind, Calibration):
            e = estimate(MetricAtK(metric), a)
            c = compare(MetricAtK(metric), a, b)
            assert np.isnan([e.low, e.high, c.p_value, c.difference.low]).all(), name
            assert e.value == metric.kind.value(a, None)
            assert "biased" in e.method


# Half a row in each cell --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mcc", "kappa"])
def test_no_predicted_row_claims_no_certainty(name):
    """Nothing, or next to nothing, is predicted: the influence values are all 0, and the value
    tells little.
    """
    label = np.arange(100) < 4
    score = np.where(np.arange(100) < (1 if name == "mcc" else 0), 0.9, 0.1)
    e = estimate(lookup.find_metric(name, "counts"), Rows(label.astype(int), score))
    assert -1 <= e.low <= e.value <= e.high <= 1
    assert e.high - e.low > 0.4


def test_one_class_for_all_rows_has_a_kappa_without_limits():
    """No row moves it, which is no certainty that it is 0."""
    label = np.arange(60) % 3
    rows = Rows(label, decision=np.zeros(60, dtype=int), classes=3)
    e = estimate(lookup.find_metric("kappa", "classes"), rows)
    assert e.value == 0
    assert np.isnan([e.low, e.high]).all()
    perfect = estimate(
        lookup.find_metric("kappa", "classes"), Rows(label, decision=label, classes=3)
    )
    assert perfect.high == 1 > perfect.low > 0.8
