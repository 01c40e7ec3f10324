"""Curves, areas by their own names, the choice of a threshold, net benefit, and points and bands as
drawn.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME
from sklearn import metrics

from evalkit.metrics import curves, curves as v
from evalkit.metrics.counts import at, auc, average_precision, count, f_score, precision, recall
from evalkit.metrics.curves import net_benefit, treat_all
from evalkit.metrics.rows import Rows
from evalkit.pages import binary_page, page
from evalkit.studies import classification, score_curves
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.decision_curves import difference

EIGHT = count([0.9, 0.8, 0.7, 0.6, 0.55, 0.5, 0.4, 0.3], [1, 0, 1, 1, 0, 0, 1, 0])


def simulated(n, seed=3, base=0.3):
    """Scores, which are higher for positives on average, and labels."""
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


score_and_label = st.tuples(st.integers(0, 9), st.integers(0, 1))
rows_of_both_classes = st.lists(score_and_label, min_size=2, max_size=40).filter(
    lambda rows: len({label for _, label in rows}) == 2
)


@ANY_TIME
@given(rows_of_both_classes, st.floats(0.05, 1))
def test_the_areas_up_to_and_from_a_rate_add_up_to_auc(rows, rate):
    score, label = map(np.array, zip(*rows, strict=True))
    c = count(score, label)
    total = v.partial_auc(c, 0, rate) + v.partial_auc(c, rate, 1)
    assert total == pytest.approx(auc(c), abs=1e-12)


@ANY_TIME
@given(rows_of_both_classes, st.floats(0.05, 0.999))
def test_the_standardised_partial_area_equals_that_of_scikit_learn(rows, rate):
    score, label = map(np.array, zip(*rows, strict=True))
    expected = metrics.roc_auc_score(label, score, max_fpr=rate)
    assert v.partial_auc_mcclish(count(score, label), rate) == pytest.approx(expected, abs=1e-12)


def test_a_partial_area_of_one_class_is_undefined():
    assert np.isnan(v.partial_auc(count([0.1, 0.2], [1, 1]), 0, 0.5))


def table_with_ties():
    score, label = simulated(300)
    score = np.round(score, 1)
    return score, label, count(score, label)


def test_the_roc_curve_equals_that_of_scikit_learn():
    score, label, c = table_with_ties()
    fpr, tpr, threshold = metrics.roc_curve(label, score, drop_intermediate=False)
    roc = v.roc_curve(c)
    np.testing.assert_allclose(roc.x, fpr)
    np.testing.assert_allclose(roc.y, tpr)
    np.testing.assert_allclose(roc.threshold, threshold)


def test_the_precision_recall_curve_equals_that_of_scikit_learn_without_its_last_point():
    score, label, c = table_with_ties()
    expected_precision, expected_recall, _ = metrics.precision_recall_curve(label, score)
    curve = v.precision_recall_curve(c)
    np.testing.assert_allclose(curve.x[::-1], expected_recall[:-1])
    np.testing.assert_allclose(curve.y[::-1], expected_precision[:-1])


def test_the_gain_curve_goes_from_no_rows_to_all():
    _, _, c = table_with_ties()
    gain = v.gain_curve(c)
    assert (gain.x[0], gain.y[0]) == (0, 0)
    assert (gain.x[-1], gain.y[-1]) == (1, 1)


def test_lift_is_gain_by_share_of_rows():
    _, _, c = table_with_ties()
    gain = v.gain_curve(c)
    np.testing.assert_allclose(v.lift(c), gain.y[1:] / gain.x[1:])


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=2, max_size=40),
    st.floats(0, 1),
)
def test_recall_at_a_rate_is_scikit_learns_curve_read_by_interp(data, rate):
    score, label = map(np.array, zip(*data, strict=True))
    negatives = int((label == 0).sum())
    if 0 < negatives < len(label):
        x, y, _ = metrics.roc_curve(label, score, drop_intermediate=False)
        for at in (rate, round(rate * negatives) / negatives):  # between points, and on one
            recall = v.recall_at_rate(count(score, label), at)
            assert recall == pytest.approx(np.interp(at, x, y), abs=1e-12)
    else:
        assert np.isnan(v.recall_at_rate(count(score, label), rate))


AT_FIVE_PERCENT = v.at_base_rate(EIGHT, 0.05)


def test_another_base_rate_is_the_share_of_positives():
    assert AT_FIVE_PERCENT.positives / AT_FIVE_PERCENT.total == pytest.approx(0.05)


def test_another_base_rate_leaves_the_roc_curve():
    np.testing.assert_allclose(v.roc_curve(AT_FIVE_PERCENT).x, v.roc_curve(EIGHT).x)
    assert auc(AT_FIVE_PERCENT) == pytest.approx(auc(EIGHT), abs=1e-12)


def test_another_base_rate_changes_precision_by_the_odds_of_the_classes():
    odds = 0.05 / 0.95  # they were even
    weighted_precision = odds * precision(EIGHT)
    expected = weighted_precision / (weighted_precision + 1 - precision(EIGHT))
    np.testing.assert_allclose(precision(AT_FIVE_PERCENT), expected)


def test_two_curves_cross_as_often_in_either_order():
    score, label = simulated(2000)
    roc = v.roc_curve(count(score, label))
    better = v.roc_curve(count(score + 0.5 * label, label))
    assert v.crossings(better, roc).size == v.crossings(roc, better).size


def test_a_curve_does_not_cross_itself():
    score, label = simulated(2000)
    roc = v.roc_curve(count(score, label))
    assert v.crossings(roc, roc).size == 0


def test_two_lines_cross_where_they_are_equal():
    """y = 1/2 + x/2 and y = 2x meet at x = 1/3."""
    from_half = v.Curve(np.array([0, 0, 1.0]), np.array([0, 0.5, 1]), np.zeros(3))
    from_zero = v.Curve(np.array([0, 0.5, 1.0]), np.array([0, 1.0, 1]), np.zeros(3))
    assert v.crossings(from_half, from_zero) == pytest.approx([1 / 3], abs=1e-9)


@pytest.fixture(scope="module")
def large_table():
    score, label = simulated(50_000, base=0.01)
    return count(score, label)


def test_a_thin_table_has_no_more_thresholds_than_are_allowed(large_table):
    assert len(v.thin(large_table).threshold) <= 1000


def test_a_thin_table_has_exact_counts(large_table):
    thin = v.thin(large_table)
    exact = at(large_table, thin.threshold)
    np.testing.assert_array_equal(thin.tp, exact.tp)
    np.testing.assert_array_equal(thin.fp, exact.fp)


def test_a_thin_table_ends_where_all_rows_are_positive(large_table):
    assert v.thin(large_table).tp[-1] == large_table.positives


def test_a_thin_table_has_nearly_the_same_auc(large_table):
    assert abs(auc(v.thin(large_table)) - auc(large_table)) < 1e-3


def test_a_table_of_few_thresholds_is_thin_already():
    assert v.thin(EIGHT) is EIGHT


@pytest.mark.parametrize("rows", [8, 600, 50_000])
@pytest.mark.parametrize("kind", [v.roc_curve, v.precision_steps, v.gain_curve])
def test_drawn_points_keep_lines_and_steps_within_a_cell(rows, kind):
    score, label = simulated(rows, base=0.3)
    curve = kind(count(score, label))
    keep = v.drawn(curve.x, curve.y)
    x = curve.x[keep]
    y = curve.y[keep]
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
        # a line that never falls enters as many cells as the grid has sides, at most
        assert len(x) <= 4 * v.CELLS + 2


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


FIVE_HUNDRED = count(*simulated(500))


def test_the_threshold_of_the_best_f_score_has_the_largest_of_all():
    best = at(FIVE_HUNDRED, v.best_f(FIVE_HUNDRED, 2))
    assert f_score(best, 2) == np.nanmax(f_score(FIVE_HUNDRED, 2))


def test_the_threshold_for_a_precision_has_the_largest_recall_with_it():
    c = FIVE_HUNDRED
    decisions = at(c, v.for_precision(c, 0.5))
    assert precision(decisions) >= 0.5
    assert recall(decisions) == recall(c)[precision(c) >= 0.5].max()


def test_the_threshold_for_a_recall_has_the_largest_precision_with_it():
    c = FIVE_HUNDRED
    decisions = at(c, v.for_recall(c, 0.8))
    assert recall(decisions) >= 0.8
    assert precision(decisions) == precision(c)[recall(c) >= 0.8].max()


def test_the_cheapest_threshold_has_the_lowest_cost_of_errors():
    score, label = simulated(500)
    thresholds = np.append(np.inf, FIVE_HUNDRED.threshold)
    false_negatives = np.array([np.sum(label[score < t]) for t in thresholds])
    false_positives = np.array([np.sum(1 - label[score >= t]) for t in thresholds])
    costs = 5 * false_negatives + 1 * false_positives
    assert v.cheapest(FIVE_HUNDRED, 1, 5) == thresholds[np.argmin(costs)]


def test_if_false_negatives_cost_nothing_no_row_is_positive():
    assert v.cheapest(FIVE_HUNDRED, 1, 0) == np.inf


def test_of_thresholds_with_a_precision_equal_recall_leaves_the_largest_precision():
    c = count([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 0])
    assert v.for_precision(c, 0.5) == 0.8


def test_of_thresholds_with_a_precision_recall_decides_before_precision():
    c = count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0])
    assert v.for_precision(c, 0.6) == 0.7


def test_of_thresholds_with_a_recall_precision_decides_before_the_threshold():
    c = count([0.9, 0.8, 0.7, 0.6], [0, 1, 1, 0])
    assert v.for_recall(c, 0.5) == 0.7


def test_of_thresholds_with_a_recall_equal_precision_leaves_the_largest_recall():
    c = count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], [1, 0, 1, 3])
    assert v.for_recall(c, 0.5) == 0.7


RNG = np.random.default_rng(5)
CHANCE = np.array([0.05, 0.2, 0.5, 0.8])


class RiskRows(NamedTuple):
    """Labels, the noisy risk of each row, and scores that tell nothing."""

    label: np.ndarray
    risk: np.ndarray
    no_skill: np.ndarray


def risk_rows(n, rng):
    risk = rng.beta(1, 3, n)
    return RiskRows(
        label=(rng.random(n) < risk).astype(int),
        risk=np.clip(risk + rng.normal(0, 0.05, n), 0.001, 0.999),
        no_skill=np.clip(rng.beta(1, 3, n), 0.001, 0.999),
    )


def net_benefit_of_dcurves(label, score, t):
    """tp_rate − t / (1 − t) fp_rate, as `dca` has it, with rates over all rows."""
    tp_rate = np.mean((score >= t) & (label == 1))
    fp_rate = np.mean((score >= t) & (label == 0))
    return tp_rate - t / (1 - t) * fp_rate


def test_net_benefit_equals_that_of_dcurves():
    rows = risk_rows(700, RNG)
    score = rows.risk.round(2)
    expected = [net_benefit_of_dcurves(rows.label, score, t) for t in CHANCE]
    np.testing.assert_allclose(net_benefit(count(score, rows.label), CHANCE), expected, atol=1e-10)


def test_the_net_benefit_of_treating_all_equals_that_of_dcurves():
    rows = risk_rows(700, RNG)
    expected = [net_benefit_of_dcurves(rows.label, np.ones(700), t) for t in CHANCE]
    c = count(rows.risk, rows.label)
    np.testing.assert_allclose(treat_all(c, CHANCE), expected, atol=1e-10)


def test_differences_equal_the_mean_over_rows_and_its_error():
    rows = risk_rows(500, RNG)
    first = Rows(rows.label, rows.risk)
    second = Rows(rows.label, rows.no_skill)
    found = difference(first, second, CHANCE, level=0.95)
    half_widths = (found.high - found.low) / 2
    for value, half_width, t in zip(found.value, half_widths, CHANCE, strict=True):
        cost = t / (1 - t)
        benefit = np.where(rows.label == 1, 1, -cost)
        of_row = ((rows.risk >= t) * 1.0 - (rows.no_skill >= t)) * benefit
        error = np.sqrt((np.sum((of_row - of_row.mean()) ** 2) + 1 + cost**2) / 499 / 500)
        assert value == pytest.approx(of_row.mean(), abs=1e-10)
        assert half_width == pytest.approx(1.96473 * error, rel=1e-5)


SYSTEMS = page.CURVES + 2


@pytest.fixture
def study():
    g = np.random.default_rng(1)
    label = g.random(300) < 0.4
    scores = {
        f"score_{j}": np.clip(0.4 + 0.03 * j * label + g.normal(0, 0.15, 300), 0, 1)
        for j in range(SYSTEMS)
    }
    return classification.read(
        preds=pd.DataFrame({"label": label.astype(int)} | scores), metrics="roc_auc"
    )


def test_bands_are_made_once_for_both_curves_and_only_of_systems_that_are_drawn(study, monkeypatch):
    resampled = []
    resample = BinaryStudy.resample
    monkeypatch.setattr(
        BinaryStudy, "resample", lambda self, name: resampled.append(name) or resample(self, name)
    )
    binary_page.curve_plot(study)
    assert resampled == study.order[: page.CURVES]
    for kind in ("roc", "pr"):
        every = study.bands(kind)
        some = study.bands(kind, study.order[2:4])
        assert list(every["system"].unique()) == study.order
        own = every[every["system"].isin(study.order[2:4])].reset_index(drop=True)
        pd.testing.assert_frame_equal(own, some)
        drawn = resample(study, study.order[2])
        alone = score_curves.band(study.order[2], drawn, kind, level=0.95)
        pd.testing.assert_frame_equal(alone, some[some["system"] == study.order[2]])
    assert sorted(resampled) == sorted(study.order)


def test_crossings_are_those_of_each_pair_alone(study):
    rows = study.crossings
    assert len(rows) == 2 * len(study.pairs) == SYSTEMS * (SYSTEMS - 1)
    for row in rows[rows["curve"] == "pr"].to_dict("records"):
        first, second = (
            curves.precision_recall_curve(study.table(row[name])) for name in ("first", "second")
        )
        assert row["crossings"] == pytest.approx(
            curves.crossings(first, second).tolist(), abs=1e-12
        )
    assert rows["crossings"].map(len).max() > 0
