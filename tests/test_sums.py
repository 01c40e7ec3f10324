"""Per-unit values: what is left out, what is clustered, what a bounded metric may claim."""

from dataclasses import replace

import numpy as np
import pytest
from samples import rng

from evalkit.catalogue.kinds import PerUnit, Ratio
from evalkit.catalogue.metric import Chosen, Metric
from evalkit.metrics.rows import Sums
from evalkit.statistics import inference, intervals, significance
from evalkit.statistics.intervals import Estimate
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import OfUnits

VALUES = Sums(np.array([0.5, np.nan, 1.0, 0.25]))
POOLED = Sums(np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, np.nan]))


MEAN = Chosen(Metric("mean", "units", PerUnit(lambda s, k, level: s), "", "", "", low=-np.inf, high=np.inf))
RATIO = Chosen(replace(MEAN.metric, kind=Ratio(lambda s, k, level: s)))


def estimate(sums, unit=None):
    chosen = MEAN if sums.denominator is None else RATIO
    return inference.estimate(OfUnits(chosen, sums, unit), Options(0.95, rng()))


def compare(first, second, unit=None, name="query"):
    return inference.compare(OfUnits(MEAN, first, unit), OfUnits(MEAN, second, unit), Options(0.95, rng(), name))


def test_undefined_units_are_left_out_of_the_mean():
    e = estimate(VALUES)
    assert (e.value, e.n) == (pytest.approx(1.75 / 3), 3)
    assert e == intervals.mean([0.5, 1.0, 0.25])


def test_a_pooled_metric_is_the_ratio_of_sums():
    e = estimate(POOLED)
    assert (e.value, e.n, e.method) == (0.75, 2, "jackknife t")
    assert POOLED.value == 0.75


def test_clusters_keep_the_mean_and_count_the_users():
    user = np.array(["u", "u", "v", "w"], dtype=object)
    e = estimate(VALUES, user)
    assert (e.value, e.n) == (pytest.approx(1.75 / 3), 3)


def test_duplicated_rows_of_a_user_leave_the_clustered_interval():
    values, user = np.random.default_rng(1).normal(size=40), np.arange(40).astype(str).astype(object)
    once = estimate(Sums(values), user)
    twice = estimate(Sums(np.repeat(values, 2)), np.repeat(user, 2))
    assert (once.low, once.high) == (pytest.approx(twice.low), pytest.approx(twice.high))


def test_nothing_defined_is_undefined():
    e = estimate(Sums(np.array([np.nan])))
    assert np.isnan(e.value)
    assert e.n == 0


def test_comparison_takes_the_units_that_both_define():
    other = Sums(np.array([0.25, 0.5, np.nan, 0.25]))
    c = compare(VALUES, other)
    assert (c.difference.value, c.difference.n) == (0.125, 2)


def test_clustered_comparison_is_the_sign_flip_of_user_sums():
    first, second = np.random.default_rng(2).normal(size=(2, 60))
    user = (np.arange(60) // 3).astype(str).astype(object)
    c = compare(Sums(first), Sums(second), user, "user")
    sums, counts = intervals.by_unit(first - second, user)
    assert c == significance.sign_flip(sums, counts, rng=rng(), unit="user")
    assert c.difference.n == 20


def test_wins_ties_losses():
    assert VALUES.wins(Sums(np.array([0.5, 1, 0.5, 0.5]))) == (1, 1, 1)


@pytest.mark.parametrize("value, low, high", [(1.0, 0.929, 1.0), (0.0, 0.0, 0.071)])
def test_a_mean_at_the_end_of_its_range_claims_no_certainty(value, low, high):
    e = inference.within(Estimate(value, value, value, 0.95, 50, "t"), 0.0, 1.0)
    assert (round(e.low, 3), round(e.high, 3), e.method) == (low, high, "Wilson")


def test_limits_are_cut_to_the_range():
    e = inference.within(Estimate(0.9, 0.7, 1.1, 0.95, 9, "t"), 0.0, 1.0)
    assert (e.low, e.high) == (0.7, 1.0)
