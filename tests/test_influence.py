"""Influence values against their definition and a jackknife, DeLong's test and the jackknife of
differences.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME
from scipy import stats

from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import find_metric
from evalkit.limits import USUAL
from evalkit.metrics.counts import auc, average_precision, count
from evalkit.metrics.influence import (
    auc_influence,
    auc_variance,
    average_precision_bias,
    average_precision_influence,
    place,
    widest_gap,
)
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference, methods
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic


def of_rows(bins, c, label, score):
    """The values of the rows, from those of positives and negatives at each threshold."""
    return bins[1 - np.asarray(label), place(c.threshold, np.asarray(score))]


def auc_influence_by_row(c, label, score):
    return of_rows(auc_influence(c), c, label, score)


def average_precision_influence_by_row(c, label, score):
    return of_rows(average_precision_influence(c), c, label, score)


INFLUENCE = (
    (auc, auc_influence_by_row),
    (average_precision, average_precision_influence_by_row),
)


rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=4, max_size=25)


@ANY_TIME
@given(rows)
def test_influence_is_the_derivative_by_the_weight_of_a_row(data):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    if label.all() or not label.any():
        return
    c = count(score, label)
    step = 1e-5
    for metric, influence in INFLUENCE:
        values = influence(c, label, score)
        assert values.sum() == pytest.approx(0, abs=1e-12)
        for row in range(len(label)):
            more = np.ones(len(label))
            less = np.ones(len(label))
            more[row] += step
            less[row] -= step
            slope = metric(count(score, label * more, (1 - label) * more))
            slope -= metric(count(score, label * less, (1 - label) * less))
            assert values[row] == pytest.approx(slope / (2 * step), abs=1e-7)


@ANY_TIME
@given(rows)
def test_influence_makes_the_variance_of_auc(data):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    if not 1 < label.sum() < len(label) - 1:
        return
    c = count(score, label)
    moved = auc_influence_by_row(c, label, score)
    sides = [moved[label == side] for side in (0, 1)]
    assert [side.sum() for side in sides] == pytest.approx([0, 0], abs=1e-12)
    variance = sum(side @ side * side.size / (side.size - 1) for side in sides)
    assert auc_variance(c) == pytest.approx(variance, abs=1e-14)


def test_a_class_with_one_row_has_no_variance():
    c = count([0.1, 0.2, 0.3], [0, 1, 0])
    assert np.isnan(auc_variance(c))


def test_rows_without_weight_may_have_the_lowest_score():
    score = np.array([0.9, 0.5, 0.1])
    label = np.array([1, 0, 1])
    weight = np.array([1.0, 2.0, 0.0])
    c = count(score, weight * label, weight * (1 - label))
    assert (weight * auc_influence_by_row(c, label, score)).tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(average_precision_influence_by_row(c, label, score)).all()


@pytest.mark.parametrize("digits", [1, 3])
def test_the_bias_of_average_precision_is_that_of_leaving_out_each_row(digits):
    rng = np.random.default_rng(digits)
    label = rng.integers(0, 2, 40)
    score = np.round(rng.random(40) + 0.3 * label, digits)
    without = [
        average_precision(count(np.delete(score, i), np.delete(label, i))) for i in range(40)
    ]
    bias = 39 * (np.mean(without) - average_precision(count(score, label)))
    assert average_precision_bias(count(score, label)) == pytest.approx(bias, abs=1e-12)
    assert average_precision_bias(count([0.2, 0.1], [1, 0])) == 0


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "ks"])
def test_runs_of_thresholds_move_a_metric_as_the_whole_table_does(monkeypatch, name):
    monkeypatch.setattr("evalkit.metrics.counts.STEP", 64)
    rng = np.random.default_rng(8)
    c = count(rng.normal(size=1_000), rng.random(1_000) < 0.3)
    kind = lookup.find_metric(name, "counts").metric.kind
    runs = list(kind.influence_by_step(c, kind.value_at(c, np.nan)))[::-1]
    assert len(runs) == 16
    np.testing.assert_array_equal(
        np.concatenate([moved for _, moved in runs], axis=1), kind.influence_table(c)
    )
    np.testing.assert_array_equal(np.concatenate([step.tp for step, _ in runs]), c.tp)


def test_the_widest_gap_is_the_first_of_the_largest_in_any_run_of_thresholds(monkeypatch):
    label = np.tile([1, 0, 1, 0, 0, 1], 30)
    c = count(-np.arange(len(label)), label)
    gap = np.abs(c.tp * c.negatives - c.fp * c.positives)
    for size in (1, 7, 64, 1_000):
        monkeypatch.setattr("evalkit.metrics.counts.STEP", size)
        index, sign = widest_gap(c)
        assert (index, sign) == (
            int(np.argmax(gap)),
            np.sign((c.tp * c.negatives - c.fp * c.positives)[index]),
        )


def delong(label, first, second):
    """AUC of the first score − AUC of the second on the same rows."""
    a, b = (
        RowStatistic(find_metric("roc_auc", "counts"), Rows(label, score))
        for score in (first, second)
    )
    return methods.two_areas(a, b, Options(0.95, np.random.default_rng(0)))


def scores(g, n=400, gain=1.0):
    label = np.arange(n) % 3 == 0
    shared = g.normal(size=n)
    return label.astype(int), *(gain * label + shared + g.normal(size=n) for _ in range(2))


def by_hand(label, score):
    """AUC and the two arrays of placements, pair by pair."""
    x = score[label == 1]
    y = score[label == 0]
    wins = (x[:, None] > y) + 0.5 * (x[:, None] == y)
    return wins.mean(), wins.mean(axis=1), wins.mean(axis=0)


def test_paired_equals_the_definition_with_ties():
    label, a, b = scores(np.random.default_rng(1), 120)
    a = a.round(0)
    b = b.round(1)
    (area_a, xa, ya), (area_b, xb, yb) = by_hand(label, a), by_hand(label, b)
    parts = np.array([np.var(xa - xb, ddof=1) / xa.size, np.var(ya - yb, ddof=1) / ya.size])
    error = np.sqrt(parts.sum())
    sizes = np.array([xa.size, ya.size])
    # Welch's freedom: with few positives z is too sure
    t = stats.t(parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum())
    c = delong(label, a, b)
    assert c.difference.value == pytest.approx(area_a - area_b)
    assert c.p_value == pytest.approx(2 * t.sf(abs(area_a - area_b) / error))
    assert (c.difference.high - c.difference.low) / 2 == pytest.approx(
        t.ppf(0.975) * error, rel=1e-6
    )


VARIANCE_EXPLAINED = pytest.mark.parametrize("name", ["r2", "r2_correlation"])
OPTIONS = Options(0.95, np.random.default_rng(0))


def near_and_far(name):
    """A metric of 30 forecasts near the actual values, and of 30 farther from them."""
    g = np.random.default_rng(5)
    actual = g.normal(size=30)
    near = actual + g.normal(size=30) * 0.5
    far = actual + g.normal(size=30) * 0.9
    metric = find_metric(name, "forecasts")
    return RowStatistic(metric, Rows(actual, near)), RowStatistic(metric, Rows(actual, far))


def values_without_each_row(statistic):
    """The metric of all rows but one, for each row."""
    numbers = np.arange(len(statistic.rows))
    metric = statistic.metric_at_k
    return np.array([metric.value(statistic.rows.take(numbers != row)) for row in numbers])


@VARIANCE_EXPLAINED
def test_a_difference_of_variance_explained_has_the_error_of_leaving_out_each_row(name):
    near, far = near_and_far(name)
    n = len(near.rows)
    without = values_without_each_row(near) - values_without_each_row(far)
    error = np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    c = inference.compare(near, far, OPTIONS)
    assert c.p_value == pytest.approx(2 * stats.t(n - 1).sf((near.value - far.value) / error))
    assert c.method == "jackknife t"


@VARIANCE_EXPLAINED
def test_a_difference_of_variance_explained_of_many_rows_is_by_the_delta_method(name):
    near, far = near_and_far(name)
    fewer_than_rows = replace(USUAL, flipped=len(near.rows) - 1)
    c = inference.compare(near, far, replace(OPTIONS, limits=fewer_than_rows))
    assert c.method == "delta method"


@VARIANCE_EXPLAINED
def test_the_difference_of_a_forecast_from_itself_has_the_p_1(name):
    near, _ = near_and_far(name)
    assert inference.compare(near, near, OPTIONS).p_value == 1.0
