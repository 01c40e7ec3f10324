"""DeLong's variance and covariance against pROC, influence values against their definition and a jackknife."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME

from evalkit.catalogue import lookup
from evalkit.metrics.counts import auc, average_precision, count
from evalkit.metrics.influence import (
    auc_bins,
    auc_variance,
    average_precision_bias,
    average_precision_bins,
    of_rows,
    widest,
)


def auc_influence(c, label, score):
    return of_rows(auc_bins(c), c, label, score)


def average_precision_influence(c, label, score):
    return of_rows(average_precision_bins(c), c, label, score)


INFLUENCE = ((auc, auc_influence), (average_precision, average_precision_influence))


rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=4, max_size=25)


@ANY_TIME
@given(rows)
def test_influence_is_the_derivative_by_the_weight_of_a_row(data):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    if label.all() or not label.any():
        return
    c, step = count(score, label), 1e-5
    for metric, influence in INFLUENCE:
        values = influence(c, label, score)
        assert values.sum() == pytest.approx(0, abs=1e-12)
        for row in range(len(label)):
            more, less = np.ones(len(label)), np.ones(len(label))
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
    moved = auc_influence(c, label, score)
    sides = [moved[label == side] for side in (0, 1)]
    assert [side.sum() for side in sides] == pytest.approx([0, 0], abs=1e-12)
    variance = sum(side @ side * side.size / (side.size - 1) for side in sides)
    assert auc_variance(c) == pytest.approx(variance, abs=1e-14)


def test_a_class_with_one_row_has_no_variance():
    c = count([0.1, 0.2, 0.3], [0, 1, 0])
    assert np.isnan(auc_variance(c))


def test_rows_without_weight_may_have_the_lowest_score():
    score, label, weight = np.array([0.9, 0.5, 0.1]), np.array([1, 0, 1]), np.array([1.0, 2.0, 0.0])
    c = count(score, weight * label, weight * (1 - label))
    assert (weight * auc_influence(c, label, score)).tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(average_precision_influence(c, label, score)).all()


@pytest.mark.parametrize("digits", [1, 3])
def test_the_bias_of_average_precision_is_that_of_leaving_out_each_row(digits):
    rng = np.random.default_rng(digits)
    label = rng.integers(0, 2, 40)
    score = np.round(rng.random(40) + 0.3 * label, digits)
    without = [average_precision(count(np.delete(score, i), np.delete(label, i))) for i in range(40)]
    bias = 39 * (np.mean(without) - average_precision(count(score, label)))
    assert average_precision_bias(count(score, label)) == pytest.approx(bias, abs=1e-12)
    assert average_precision_bias(count([0.2, 0.1], [1, 0])) == 0


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "ks"])
def test_runs_of_thresholds_move_a_metric_as_the_whole_table_does(monkeypatch, name):
    monkeypatch.setattr("evalkit.metrics.counts.STEP", 64)
    rng = np.random.default_rng(8)
    c = count(rng.normal(size=1_000), rng.random(1_000) < 0.3)
    kind = lookup.find(name, "counts").metric.kind
    runs = list(kind.by_steps(c, kind.at(c, np.nan)))[::-1]
    assert len(runs) == 16
    np.testing.assert_array_equal(np.concatenate([moved for _, moved in runs], axis=1), kind.bins(c))
    np.testing.assert_array_equal(np.concatenate([step.tp for step, _ in runs]), c.tp)


def test_the_widest_gap_is_the_first_of_the_largest_in_any_run_of_thresholds(monkeypatch):
    label = np.tile([1, 0, 1, 0, 0, 1], 30)
    c = count(-np.arange(len(label)), label)
    gap = np.abs(c.tp * c.negatives - c.fp * c.positives)
    for size in (1, 7, 64, 1_000):
        monkeypatch.setattr("evalkit.metrics.counts.STEP", size)
        place, sign = widest(c)
        assert (place, sign) == (int(np.argmax(gap)), np.sign((c.tp * c.negatives - c.fp * c.positives)[place]))
