"""Curves, areas by their own names, and the choice of a threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME
from sklearn import metrics

from evalkit.metrics import curves as v
from evalkit.metrics.counts import at, auc, average_precision, count, f_score, precision, recall

EIGHT = count([0.9, 0.8, 0.7, 0.6, 0.55, 0.5, 0.4, 0.3], [1, 0, 1, 1, 0, 0, 1, 0])


def simulated(n, seed=3, base=0.3):
    generator = np.random.default_rng(seed)
    label = (generator.random(n) < base).astype(np.int64)
    return generator.normal(size=n) + label, label


def test_davis_goadrich_is_the_limit_of_fine_steps():
    score, label = simulated(400)
    c = count(np.round(score, 1), label)
    depth = np.linspace(0, c.total, 400_001)[1:]
    fine = v.at_depth(c, depth)
    area = np.sum(np.diff(fine.tp, prepend=0) * precision(fine)) / c.positives
    assert v.pr_auc_davis_goadrich(c) == pytest.approx(area, abs=1e-5)


@ANY_TIME
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=2, max_size=40), st.floats(0.05, 1))
def test_partial_areas_equal_scikit_learn_and_add_up(data, edge):
    score, label = map(np.array, zip(*data, strict=True))
    c = count(score, label)
    if 0 < label.sum() < len(label):
        whole = v.partial_auc(c, 0, edge) + v.partial_auc(c, edge, 1)
        assert whole == pytest.approx(auc(c), abs=1e-12)
        if edge < 1:
            standard = metrics.roc_auc_score(label, score, max_fpr=edge)
            assert v.partial_auc_mcclish(c, edge) == pytest.approx(standard, abs=1e-12)
    else:
        assert np.isnan(v.partial_auc(c, 0, edge))


def test_curves_equal_scikit_learn():
    score, label = simulated(300)
    c = count(np.round(score, 1), label)
    fpr, tpr, threshold = metrics.roc_curve(label, np.round(score, 1), drop_intermediate=False)
    roc = v.roc_curve(c)
    for ours, theirs in ((roc.x, fpr), (roc.y, tpr), (roc.threshold, threshold)):
        np.testing.assert_allclose(ours, theirs)
    pr = v.precision_recall_curve(c)
    y, x, _ = metrics.precision_recall_curve(label, np.round(score, 1))
    np.testing.assert_allclose(pr.x[::-1], x[:-1])
    np.testing.assert_allclose(pr.y[::-1], y[:-1])
    gain = v.gain_curve(c)
    assert (gain.x[0], gain.y[0], gain.x[-1], gain.y[-1]) == (0, 0, 1, 1)
    np.testing.assert_allclose(v.lift(c), gain.y[1:] / gain.x[1:])


def test_another_base_rate_moves_precision_and_leaves_roc():
    c = v.at_base_rate(EIGHT, 0.05)
    np.testing.assert_allclose(v.roc_curve(c).x, v.roc_curve(EIGHT).x)
    assert c.positives / c.total == pytest.approx(0.05)
    assert auc(c) == pytest.approx(auc(EIGHT), abs=1e-12)
    p, q = precision(EIGHT), 0.05 / 0.95
    np.testing.assert_allclose(precision(c), ratio_of(p, q))


def ratio_of(p, odds):
    """Precision under other odds of the classes, which were even."""
    return p * odds / (p * odds + 1 - p)


def test_crossings():
    score, label = simulated(2000)
    roc = v.roc_curve(count(score, label))
    better = v.roc_curve(count(score + 0.5 * label, label))
    assert v.crossings(better, roc).size == v.crossings(roc, better).size
    assert v.crossings(roc, roc).size == 0
    steep = v.Curve(np.array([0, 0, 1.0]), np.array([0, 0.5, 1]), np.zeros(3))
    flat = v.Curve(np.array([0, 0.5, 1.0]), np.array([0, 1.0, 1]), np.zeros(3))
    assert v.crossings(steep, flat) == pytest.approx([1 / 3], abs=1e-9)


def test_thin_curves_keep_points_that_are_exact():
    score, label = simulated(50_000, base=0.01)
    c = count(score, label)
    thin = v.thin(c)
    assert len(thin.threshold) <= 1000
    exact = at(c, thin.threshold)
    np.testing.assert_array_equal(thin.tp, exact.tp)
    np.testing.assert_array_equal(thin.fp, exact.fp)
    assert thin.tp[-1] == c.positives
    assert abs(auc(thin) - auc(c)) < 1e-3
    assert v.thin(EIGHT) is EIGHT


@pytest.mark.parametrize("rows", [8, 600, 50_000])
@pytest.mark.parametrize("kind", [v.roc_curve, v.precision_steps, v.gain_curve])
def test_drawn_points_keep_lines_and_steps_within_a_cell(rows, kind):
    score, label = simulated(rows, base=0.3)
    curve = kind(count(score, label))
    keep = v.drawn(curve.x, curve.y)
    x, y = curve.x[keep], curve.y[keep]
    assert (x[[0, -1]] == curve.x[[0, -1]]).all()
    height = (curve.y.max() - curve.y.min()) / v.CELLS
    exact = curve.y
    steps = y[np.minimum(np.searchsorted(x, curve.x), len(x) - 1)]
    inside = np.diff(curve.x, prepend=-1) > 0  # of points at one x the first is where a step begins
    assert (np.abs(steps - exact)[inside] <= height + 1e-12).all() or kind is not v.precision_steps
    if kind is not v.precision_steps:
        rising = np.interp(curve.y, y, x)  # both rise, so either axis tells
        far = np.minimum(np.abs(np.interp(curve.x, x, y) - exact), np.abs(rising - curve.x))
        assert far.max() <= 1 / v.CELLS + 1e-12
        assert len(x) <= 4 * v.CELLS + 2  # a line that never falls enters as many cells as the grid has sides, at most


def test_precision_steps_enclose_average_precision():
    score, label = simulated(3000, base=0.1)
    score = np.round(score, 2)
    c = count(score, label)
    steps = v.precision_steps(c)
    assert np.sum(np.diff(steps.x) * steps.y[1:]) == pytest.approx(average_precision(c), abs=1e-12)


def test_the_first_rows_being_negative_leave_no_artefact():
    steps = v.precision_steps(count([5, 4, 3, 2, 1], [0, 0, 1, 1, 0]))
    assert steps.x[0] == 0
    assert steps.y.min() == pytest.approx(1 / 3)


def test_lines_of_what_is_not_finite_or_does_not_vary():
    assert v.drawn(np.array([np.inf, 2.0, 1.0, 0.5]), np.array([np.nan, 1.0, 1.0, 1.0])).all()
    assert v.drawn(np.zeros(5), np.zeros(5)).tolist() == [True, False, False, False, True]


def test_thresholds_are_chosen_by_their_rule():
    score, label = simulated(500)
    c = count(score, label)
    chosen = v.best_f(c, 2)
    assert f_score(at(c, chosen), 2) == np.nanmax(f_score(c, 2))
    low = v.for_precision(c, 0.5)
    assert precision(at(c, low)) >= 0.5
    assert not (precision(c)[c.threshold < low] >= 0.5).any()
    high = v.for_recall(c, 0.8)
    assert recall(at(c, high)) >= 0.8
    assert not (recall(c)[c.threshold > high] >= 0.8).any()
    everything = np.append(np.inf, c.threshold)
    total = [5 * np.sum(label[score < t]) + np.sum(1 - label[score >= t]) for t in everything]
    assert v.cheapest(c, 1, 5) == everything[np.argmin(total)]
    assert v.cheapest(c, 1, 0) == np.inf
