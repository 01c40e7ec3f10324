"""Means of skewed values and numbers with ends: published formulas by hand, against a bootstrap-t, coverage, ranges."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import limits, rng
from scipy import stats

from evalkit.catalogue.kinds import Loss, Ratio
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics.rows import Rows, Sums
from evalkit.statistics import inference, intervals, spread
from evalkit.statistics.closed_forms import ranged_t
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import Layout, OfRows, OfUnits


def test_the_upper_limit_of_very_skewed_values_does_not_run_away():
    """Near a skewness of 2 for 20 units Hall's cube root passes 0, and his limit lies ten standard errors above."""
    highs = np.array([intervals.hall(0.0, 1.0, skew, n=20, level=0.95).high for skew in np.linspace(0, 3.5, 36)])
    assert highs[0] == pytest.approx(stats.t.ppf(0.975, 19))
    assert highs[20] < 4.5  # at a skewness of 2, where his own is 8.8
    assert np.diff(highs).max() < 0.7  # in no step of a tenth of skewness


def test_symmetric_values_have_students_interval():
    values = np.concatenate([np.arange(1.0, 9), -np.arange(1.0, 9)])
    assert limits(intervals.mean(values)) == pytest.approx(limits(intervals.mean_t(values)), abs=1e-12)


def test_a_bounded_mean_is_wilsons_of_as_many_units_as_vary_as_much():
    """By hand: one unit more, of the variance of zeros and ones, and t; the score equation holds at both limits."""
    values = np.array([0.2, 0.9, 0.4, 0.7, 0.6, 0.5, 0.3, 0.8])  # symmetric about 0.55
    n, p = 8, values.mean()
    middle = (p * n + 1) / (n + 2)
    variance = (n - 1) / n * values.var(ddof=1) + middle * (1 - middle) / n
    units = p * (1 - p) / (variance / n)
    e = intervals.mean(values, ends=(0, 1))
    for limit in limits(e):
        assert abs(p - limit) / np.sqrt(limit * (1 - limit) / units) == pytest.approx(stats.t.ppf(0.975, 7), abs=1e-9)
    tenfold = intervals.mean(10 * values - 3, ends=(-3, 7))
    assert limits(tenfold) == pytest.approx([10 * x - 3 for x in limits(e)], abs=1e-12)
    assert intervals.mean(values, ends=(0, np.inf)) == intervals.mean(values)


def test_a_bounded_mean_of_equal_units_has_a_width_and_stays_inside():
    alike, top = intervals.mean([0.5] * 10, ends=(0, 1)), intervals.mean([1.0, 1.0, 0.999], ends=(0, 1))
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
    plain = ranged_t(value, error, freedom=n - 1, n=n, level=0.95, ends=(-np.inf, np.inf), method="t")
    assert plain == intervals.t_interval(value, error, n=n, level=0.95, method="t")


def test_ranged_t_is_the_logit_and_the_logarithm():
    half = stats.t.ppf(0.975, 99) * 0.05
    logit = np.log(4) + np.array([-1, 1]) * half / 0.16

    def within(low, high):
        return limits(ranged_t(0.8, 0.05, freedom=99, n=100, level=0.95, ends=(low, high)))

    assert within(0.0, 1.0) == pytest.approx(1 / (1 + np.exp(-logit)))
    assert within(0.0, np.inf) == pytest.approx(0.8 * np.exp(np.array([-1, 1]) * half / 0.8))
    assert within(-np.inf, 1.0) == pytest.approx(1 - 0.2 * np.exp(np.array([1, -1]) * half / 0.2))


# Where they are used ------------------------------------------------------------------------------------------------


def chosen(kind, low, high):
    return Chosen(Metric("number", "rows", kind, "", "", "", low=low, high=high))


POOLED = chosen(Ratio(lambda *_: None), 0.0, 1.0)


def by_user(g, users=20):
    rows = 1 + g.poisson(g.lognormal(1, 1, users))
    hits = g.binomial(rows, g.beta(4, 4, users)).astype(float)
    return hits, rows.astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_two_arms_that_divide_users_tell_one_story(seed):
    hits, rows = by_user(rng(seed), 12)
    first, second = (OfUnits(POOLED, Sums(side, rows), design=Layout.DIVIDED) for side in (hits, rows - hits))
    o = Options(0.95, rng())
    e, c = inference.estimate(first, o), inference.compare(first, second, o)
    assert limits(e) == pytest.approx(((1 + c.difference.low) / 2, (1 + c.difference.high) / 2))
    assert (c.p_value < 0.05) == (not e.low <= 0.5 <= e.high)


def test_few_users_have_limits_within_the_range():
    e = inference.estimate(
        OfUnits(POOLED, Sums(np.array([3.0, 4, 2]), np.array([3.0, 5, 2])), design=Layout.DIVIDED), Options(0.95, rng())
    )
    assert limits(e) == (0, 1)  # three users cannot reject anything
    sides = (Sums(np.array([3.0, 4, 2]), np.array([3.0, 5, 2])), Sums(np.array([0.0, 1, 0]), np.array([3.0, 5, 2])))
    c = inference.compare(*(OfUnits(POOLED, side) for side in sides), Options(0.95, rng()))
    assert -1 <= c.difference.low <= c.difference.high <= 1


def test_a_heavy_user_costs_degrees_of_freedom():
    rows = np.array([1.0] * 19 + [60.0])
    hits = np.array([1.0, 0.0] * 9 + [1.0, 25.0])
    e = inference.estimate(OfUnits(POOLED, Sums(hits, rows)), Options(0.95, rng()))
    delta = intervals.ratio_delta(hits, rows)
    assert e.high - e.low > 1.4 * (delta.high - delta.low)
    assert 0 <= e.low < e.high <= 1


def test_weighted_rows_have_kishs_number():
    """The error is nearer than the delta method's to that of leaving out each row; equal weights change nothing."""
    g = rng(2)
    rows = Rows(g.normal(0, 1, 40), g.normal(0, 1, 40), weight=g.lognormal(0, 1, 40))
    loss = chosen(Loss(lambda r, k: np.abs(r.actual - r.score)), -np.inf, np.inf)
    statistic = OfRows(loss, rows)
    without = [OfRows(loss, rows.take(np.arange(40) != i)).value for i in range(40)]
    jackknife = np.sqrt(39 / 40 * np.sum((np.array(without) - statistic.value) ** 2))
    delta = spread.standard_error(statistic.effects.rows * 40)
    assert delta < statistic.spread.error < 1.05 * jackknife
    share = rows.weight / rows.weight.sum()
    assert statistic.freedom == pytest.approx(1 / np.sum(share**2) - 1)
    plain = OfRows(loss, replace(rows, weight=None))
    assert plain.spread.error == pytest.approx(spread.standard_error(plain.effects.rows * 40), rel=1e-12)


# Coverage ------------------------------------------------------------------------------------------------------------


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
