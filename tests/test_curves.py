"""Curves and areas, the points that are drawn, the choice of a threshold, net benefit, bands."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME
from scipy import stats
from sklearn import metrics

from evalkit.metrics import curves
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


def test_davis_goadrichs_area_is_the_limit_of_fine_steps():
    """The area below a precision-recall curve. Between two thresholds, Davis and Goadrich 2006 let
    the false positives grow linearly with the true positives, and integrate precision over recall.

    Here 400 rows are sorted by scores that are rounded to 0.1, so that several rows share a
    threshold. They are passed from the highest score down, in 400,000 steps of a thousandth of a
    row. Within tied rows `at_depth` takes the same fraction of the positives and of the negatives,
    which is the linear growth. A step adds its gain of recall times the precision at its end.
    """
    score, label = simulated(400)
    counts = count(np.round(score, 1), label)
    rows_above = np.linspace(0, counts.total, 400_001)[1:]
    fine = curves.at_depth(counts, rows_above)
    gain_of_recall = np.diff(fine.tp, prepend=0) / counts.positives
    area = np.sum(gain_of_recall * precision(fine))
    # a step is off by at most its gain of recall times its change of precision: 3e-6 in all
    assert curves.pr_auc_davis_goadrich(counts) == pytest.approx(area, abs=1e-5)


score_and_label = st.tuples(st.integers(0, 9), st.integers(0, 1))
rows_of_both_classes = st.lists(score_and_label, min_size=2, max_size=40).filter(
    lambda rows: len({label for _, label in rows}) == 2
)


@ANY_TIME
@given(rows_of_both_classes, st.floats(0.05, 1))
def test_the_areas_up_to_and_from_a_rate_add_up_to_auc(rows, rate):
    score, label = map(np.array, zip(*rows, strict=True))
    c = count(score, label)
    total = curves.partial_auc(c, 0, rate) + curves.partial_auc(c, rate, 1)
    assert total == pytest.approx(auc(c), abs=1e-12)


@ANY_TIME
@given(rows_of_both_classes, st.floats(0.05, 0.999))
def test_the_standardised_partial_area_equals_that_of_scikit_learn(rows, rate):
    score, label = map(np.array, zip(*rows, strict=True))
    expected = metrics.roc_auc_score(label, score, max_fpr=rate)
    assert curves.partial_auc_mcclish(count(score, label), rate) == pytest.approx(
        expected, abs=1e-12
    )


def test_a_partial_area_of_one_class_is_undefined():
    assert np.isnan(curves.partial_auc(count([0.1, 0.2], [1, 1]), 0, 0.5))


def table_with_ties():
    """The scores, rounded to 0.1, and labels of 300 rows, and their counts by threshold."""
    score, label = simulated(300)
    score = np.round(score, 1)
    return score, label, count(score, label)


def test_the_roc_curve_equals_that_of_scikit_learn():
    """300 rows with scores rounded to 0.1, of which several are equal. Scikit-learn is to keep the
    points on straight stretches of the curve, as this curve does.
    """
    score, label, counts = table_with_ties()
    fpr, tpr, threshold = metrics.roc_curve(label, score, drop_intermediate=False)
    roc = curves.roc_curve(counts)
    np.testing.assert_allclose(roc.x, fpr)
    np.testing.assert_allclose(roc.y, tpr)
    np.testing.assert_allclose(roc.threshold, threshold)


def test_the_precision_recall_curve_equals_that_of_scikit_learn_without_its_last_point():
    """300 rows with scores rounded to 0.1. Scikit-learn's curve goes from recall 1 to recall 0, and
    has a last point of recall 0 and precision 1, which no threshold has.
    """
    score, label, counts = table_with_ties()
    expected_precision, expected_recall, _ = metrics.precision_recall_curve(label, score)
    curve = curves.precision_recall_curve(counts)
    np.testing.assert_allclose(curve.x[::-1], expected_recall[:-1])
    np.testing.assert_allclose(curve.y[::-1], expected_precision[:-1])


def test_the_gain_curve_goes_from_no_rows_to_all():
    _, _, c = table_with_ties()
    gain = curves.gain_curve(c)
    assert (gain.x[0], gain.y[0]) == (0, 0)
    assert (gain.x[-1], gain.y[-1]) == (1, 1)


def test_lift_is_the_gain_divided_by_the_share_of_rows():
    """The gain curve has one point more than there are thresholds: (0, 0), without a lift."""
    _, _, counts = table_with_ties()
    gain = curves.gain_curve(counts)
    share_of_rows = gain.x[1:]
    np.testing.assert_allclose(curves.lift(counts), gain.y[1:] / share_of_rows)


def recall_of_scikit_learn(label, score, rate):
    """The recall at a false positive rate, on the ROC curve, between its points on a line."""
    fpr, tpr, _ = metrics.roc_curve(label, score, drop_intermediate=False)
    return np.interp(rate, fpr, tpr)


@given(rows_of_both_classes, st.floats(0, 1))
def test_recall_between_the_points_of_the_curve_is_interpolated(rows, rate):
    score, label = map(np.array, zip(*rows, strict=True))
    found = curves.recall_at_rate(count(score, label), rate)
    assert found == pytest.approx(recall_of_scikit_learn(label, score, rate), abs=1e-12)


@given(rows_of_both_classes, st.floats(0, 1))
def test_recall_at_a_whole_number_of_false_positives_is_that_of_the_curve(rows, share):
    score, label = map(np.array, zip(*rows, strict=True))
    negatives = (label == 0).sum()
    rate = round(share * negatives) / negatives
    found = curves.recall_at_rate(count(score, label), rate)
    assert found == pytest.approx(recall_of_scikit_learn(label, score, rate), abs=1e-12)


@pytest.mark.parametrize("label", [[0, 0], [1, 1]])
def test_recall_at_a_rate_of_one_class_is_undefined(label):
    assert np.isnan(curves.recall_at_rate(count([0.1, 0.2], label), 0.5))


AT_FIVE_PERCENT = curves.at_base_rate(EIGHT, 0.05)


def test_another_base_rate_is_the_share_of_positives():
    assert AT_FIVE_PERCENT.positives / AT_FIVE_PERCENT.total == pytest.approx(0.05)


def test_another_base_rate_leaves_the_false_positive_rates():
    expected = curves.roc_curve(EIGHT).x
    np.testing.assert_allclose(curves.roc_curve(AT_FIVE_PERCENT).x, expected)


def test_another_base_rate_leaves_auc():
    assert auc(AT_FIVE_PERCENT) == pytest.approx(auc(EIGHT), abs=1e-12)


def test_another_base_rate_changes_precision_by_the_odds_of_the_classes():
    """Four of the eight rows are positive. At a base rate of 5 % a positive row counts 0.05 / 0.95
    of a negative one. With TP true positives and FP false ones the precision is
    odds · TP / (odds · TP + FP), in which TP and FP may be divided by TP + FP.
    """
    odds = 0.05 / 0.95
    weighted_precision = odds * precision(EIGHT)
    expected = weighted_precision / (weighted_precision + 1 - precision(EIGHT))
    np.testing.assert_allclose(precision(AT_FIVE_PERCENT), expected)


def test_two_curves_cross_as_often_in_either_order():
    score, label = simulated(2000)
    roc = curves.roc_curve(count(score, label))
    better = curves.roc_curve(count(score + 0.5 * label, label))
    assert curves.crossings(better, roc).size == curves.crossings(roc, better).size


def test_a_curve_does_not_cross_itself():
    score, label = simulated(2000)
    roc = curves.roc_curve(count(score, label))
    assert curves.crossings(roc, roc).size == 0


def test_two_lines_cross_where_they_are_equal():
    """y = 1/2 + x/2 and y = 2x meet at x = 1/3."""
    from_half = curves.Curve(np.array([0, 0, 1.0]), np.array([0, 0.5, 1]), np.zeros(3))
    from_zero = curves.Curve(np.array([0, 0.5, 1.0]), np.array([0, 1.0, 1]), np.zeros(3))
    assert curves.crossings(from_half, from_zero) == pytest.approx([1 / 3], abs=1e-9)


@pytest.fixture(scope="module")
def large_table():
    score, label = simulated(50_000, base=0.01)
    return count(score, label)


def test_a_thin_table_has_no_more_thresholds_than_are_allowed(large_table):
    assert len(curves.thin(large_table).threshold) <= 1000


def test_a_thin_table_has_exact_counts(large_table):
    thin = curves.thin(large_table)
    exact = at(large_table, thin.threshold)
    np.testing.assert_array_equal(thin.tp, exact.tp)
    np.testing.assert_array_equal(thin.fp, exact.fp)


def test_a_thin_table_ends_where_all_rows_are_positive(large_table):
    assert curves.thin(large_table).tp[-1] == large_table.positives


def test_a_thin_table_has_nearly_the_same_auc(large_table):
    assert abs(auc(curves.thin(large_table)) - auc(large_table)) < 1e-3


def test_a_table_of_few_thresholds_is_thin_already():
    assert curves.thin(EIGHT) is EIGHT


# Points that are drawn: one for each cell of a fine grid that a curve enters ----------------------


def drawn_points(curve):
    """The x and the y of the points that are drawn of a curve."""
    keep = curves.points_to_draw(curve.x, curve.y)
    return curve.x[keep], curve.y[keep]


@pytest.fixture(scope="module", params=[8, 600, 50_000])
def simulated_counts(request):
    """The counts by threshold of 8, 600 and 50,000 rows."""
    return count(*simulated(request.param))


LINES = pytest.mark.parametrize("make_curve", [curves.roc_curve, curves.gain_curve])


@LINES
def test_a_drawn_line_keeps_its_ends(simulated_counts, make_curve):
    curve = make_curve(simulated_counts)
    x, _ = drawn_points(curve)
    assert (x[[0, -1]] == curve.x[[0, -1]]).all()


@LINES
def test_a_drawn_line_passes_each_point_of_the_curve_within_a_cell(simulated_counts, make_curve):
    """Above it or beside it: the curves rise, so x is a function of y as well."""
    curve = make_curve(simulated_counts)
    x, y = drawn_points(curve)
    vertical = np.abs(np.interp(curve.x, x, y) - curve.y)
    horizontal = np.abs(np.interp(curve.y, y, x) - curve.x)
    assert np.minimum(vertical, horizontal).max() <= 1 / curves.CELLS + 1e-12


@LINES
def test_a_drawn_line_has_at_most_two_points_for_each_cell_it_enters(simulated_counts, make_curve):
    """A line that rises enters at most as many cells as two sides of the grid have."""
    x, _ = drawn_points(make_curve(simulated_counts))
    assert len(x) <= 2 * 2 * curves.CELLS + 2


def test_drawn_steps_of_precision_are_within_a_cell_of_the_exact_heights(simulated_counts):
    """A precision-recall curve is drawn as steps: from one recall to the next the line is level, at
    the precision of the point at the right end. Not all points are drawn. Where a point is left
    out, the drawn line is therefore at the precision of the next drawn point to the right.

    Points are left out within a cell of a grid, whose `CELLS` rows reach from the lowest precision
    to the highest. So the line must be off by at most the height of a cell; 1e-12 is for rounding.
    Of several points with one recall, only the first ends a level line; the rest are not compared.
    """
    curve = curves.precision_steps(simulated_counts)
    drawn_x, drawn_y = drawn_points(curve)
    next_drawn = np.searchsorted(drawn_x, curve.x)
    drawn_height = drawn_y[np.minimum(next_drawn, len(drawn_x) - 1)]
    is_first_at_its_recall = np.diff(curve.x, prepend=-1) > 0
    height_of_cell = (curve.y.max() - curve.y.min()) / curves.CELLS
    distance = np.abs(drawn_height - curve.y)[is_first_at_its_recall]
    assert (distance <= height_of_cell + 1e-12).all()


def test_all_points_of_a_curve_that_is_not_finite_are_drawn():
    assert curves.points_to_draw(
        np.array([np.inf, 2.0, 1.0, 0.5]), np.array([np.nan, 1.0, 1.0, 1.0])
    ).all()


def test_both_ends_of_a_curve_that_does_not_vary_are_drawn():
    """A curve has five points, all at (0, 0). A point between two
    others in one cell of a fine grid is not drawn; the first and the last must be, or there would
    be no line.
    """
    assert curves.points_to_draw(np.zeros(5), np.zeros(5)).tolist() == [
        True,
        False,
        False,
        False,
        True,
    ]


def test_the_area_below_the_steps_of_precision_is_average_precision():
    score, label = simulated(3000, base=0.1)
    counts = count(np.round(score, 2), label)
    steps = curves.precision_steps(counts)
    area = np.sum(np.diff(steps.x) * steps.y[1:])
    assert area == pytest.approx(average_precision(counts), abs=1e-12)


def test_steps_of_precision_begin_with_the_first_positive():
    """Negatives above it lower its precision to 1/3, and are no step of precision 0."""
    steps = curves.precision_steps(count([5, 4, 3, 2, 1], [0, 0, 1, 1, 0]))
    assert steps.x[0] == 0
    assert steps.y.min() == pytest.approx(1 / 3)


# The choice of a threshold ------------------------------------------------------------------------


COUNTS_OF_500_ROWS = count(*simulated(500))


def test_the_threshold_of_the_best_f_score_has_the_largest_of_all():
    best = at(COUNTS_OF_500_ROWS, curves.best_f(COUNTS_OF_500_ROWS, 2))
    assert f_score(best, 2) == np.nanmax(f_score(COUNTS_OF_500_ROWS, 2))


def test_the_threshold_for_a_precision_has_the_largest_recall_with_it():
    c = COUNTS_OF_500_ROWS
    decisions = at(c, curves.for_precision(c, 0.5))
    assert precision(decisions) >= 0.5
    assert recall(decisions) == recall(c)[precision(c) >= 0.5].max()


def test_the_threshold_for_a_recall_has_the_largest_precision_with_it():
    c = COUNTS_OF_500_ROWS
    decisions = at(c, curves.for_recall(c, 0.8))
    assert recall(decisions) >= 0.8
    assert precision(decisions) == precision(c)[recall(c) >= 0.8].max()


def test_the_cheapest_threshold_has_the_lowest_cost_of_errors():
    """500 rows. A false positive costs 1 and a false negative 5. Each score is tried as threshold,
    and ∞, at which no row is predicted positive. A row is predicted positive if its score is at
    least the threshold. Of several thresholds with the lowest cost, the highest is the cheapest.
    """
    score, label = simulated(500)
    highest_first = np.sort(score)[::-1]
    thresholds = np.append(np.inf, highest_first)
    false_negatives = np.array([np.sum(label[score < t] == 1) for t in thresholds])
    false_positives = np.array([np.sum(label[score >= t] == 0) for t in thresholds])
    costs = 5 * false_negatives + 1 * false_positives
    found = curves.cheapest(count(score, label), false_positive=1, false_negative=5)
    assert found == thresholds[np.argmin(costs)]


def test_if_false_negatives_cost_nothing_no_row_is_positive():
    assert curves.cheapest(COUNTS_OF_500_ROWS, false_positive=1, false_negative=0) == np.inf


def test_of_thresholds_for_a_precision_with_equal_recall_the_most_precise_is_taken():
    """Precision and recall are 1 at 0.8. At 0.7 recall is still 1 and precision 2/3."""
    c = count(score=[0.9, 0.8, 0.7, 0.6], positive=[1, 1, 0, 0])
    assert curves.for_precision(c, target=0.5) == 0.8


def test_of_thresholds_for_a_precision_the_one_of_the_largest_recall_is_taken():
    """0.9 has precision 1 and recall 1/2, 0.7 has precision 2/3 and recall 1."""
    c = count(score=[0.9, 0.8, 0.7, 0.6], positive=[1, 0, 1, 0])
    assert curves.for_precision(c, target=0.6) == 0.7


def test_of_thresholds_for_a_recall_the_most_precise_is_taken():
    """0.8 has recall 1/2 and precision 1/2, 0.7 has recall 1 and precision 2/3."""
    c = count(score=[0.9, 0.8, 0.7, 0.6], positive=[0, 1, 1, 0])
    assert curves.for_recall(c, target=0.5) == 0.7


def test_of_thresholds_with_a_recall_equal_precision_leaves_the_largest_recall():
    c = count([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], [1, 0, 1, 3])
    assert curves.for_recall(c, 0.5) == 0.7


# Net benefit --------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
RISK_THRESHOLDS = np.array([0.05, 0.2, 0.5, 0.8])  # the risk from which one would treat


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
    """tp_rate − t / (1 − t) · fp_rate, with rates over all rows, as R's package dcurves has it."""
    tp_rate = np.mean((score >= t) & (label == 1))
    fp_rate = np.mean((score >= t) & (label == 0))
    return tp_rate - t / (1 - t) * fp_rate


def test_net_benefit_equals_that_of_dcurves():
    """700 rows have a label of 0 or 1, drawn with the row's risk, and this risk with some noise,
    rounded to 0.01, as score. Rows are treated if the score is at least a threshold, 0.05 to 0.8.
    The net benefit at each must be that of the formula of R's package dcurves.
    """
    rows = risk_rows(700, RNG)
    score = rows.risk.round(2)
    expected = [net_benefit_of_dcurves(rows.label, score, t) for t in RISK_THRESHOLDS]
    np.testing.assert_allclose(
        net_benefit(count(score, rows.label), RISK_THRESHOLDS), expected, atol=1e-10
    )


def test_the_net_benefit_of_treating_all_equals_that_of_dcurves():
    rows = risk_rows(700, RNG)
    expected = [net_benefit_of_dcurves(rows.label, np.ones(700), t) for t in RISK_THRESHOLDS]
    c = count(rows.risk, rows.label)
    np.testing.assert_allclose(treat_all(c, RISK_THRESHOLDS), expected, atol=1e-10)


@pytest.mark.parametrize("t", RISK_THRESHOLDS)
def test_a_difference_of_net_benefit_is_the_mean_difference_of_rows(t):
    rows = risk_rows(500, np.random.default_rng(7))
    found = net_benefit_difference(rows, t)
    assert found.value == pytest.approx(difference_of_rows(rows, t).mean(), abs=1e-10)


@pytest.mark.parametrize("t", RISK_THRESHOLDS)
def test_the_limits_of_a_net_benefit_difference_have_one_row_more_of_each_class(t):
    """500 rows are scored by two systems, and treated if the score is at least the threshold t. The
    net benefit per row is 1 for a treated positive, −t / (1 − t) for a treated negative, and 0 for
    an untreated row. The systems' mean net benefit differs by the mean of the rows' differences.

    The 95 % limits are this mean ± a quantile of Student's distribution times a standard error. So
    that the error is not 0 if both systems treat the same rows, it is computed as if there were a
    further row of each class that only one system treats. They add 1² and (t / (1 − t))² to the sum
    of squares of the 500 differences around their mean.
    """
    n = 500
    rows = risk_rows(n, np.random.default_rng(7))
    differences = difference_of_rows(rows, t)
    squares_of_rows = np.sum((differences - differences.mean()) ** 2)
    squares_of_further_rows = 1**2 + (t / (1 - t)) ** 2
    squares = squares_of_rows + squares_of_further_rows
    standard_error = np.sqrt(squares / (n - 1) / n)
    expected_half_width = stats.t.ppf(0.975, n - 1) * standard_error
    found = net_benefit_difference(rows, t)
    half_width = (found.high - found.low) / 2
    assert half_width == pytest.approx([expected_half_width], rel=1e-5)


def net_benefit_difference(rows, t):
    """The net benefit of the risk less that of the score without skill, with 95 % limits."""
    first = Rows(rows.label, rows.risk)
    second = Rows(rows.label, rows.no_skill)
    return difference(first, second, np.array([t]), level=0.95)


def difference_of_rows(rows, t):
    """Each row's net benefit by the risk less that by the score without skill."""
    benefit_if_treated = np.where(rows.label == 1, 1, -t / (1 - t))
    treated_by_risk = (rows.risk >= t).astype(float)
    treated_by_no_skill = (rows.no_skill >= t).astype(float)
    return (treated_by_risk - treated_by_no_skill) * benefit_if_treated


# In the study and on the page ---------------------------------------------------------------------

SYSTEMS = page.CURVES + 2  # two more than are drawn


@pytest.fixture
def study():
    """Systems with scores that tell more of the label the higher their number."""
    g = np.random.default_rng(1)
    label = g.random(300) < 0.4
    scores = {
        f"score_{j}": np.clip(0.4 + 0.03 * j * label + g.normal(0, 0.15, 300), 0, 1)
        for j in range(SYSTEMS)
    }
    return classification.read(
        preds=pd.DataFrame({"label": label.astype(int)} | scores), metrics="roc_auc"
    )


@pytest.fixture
def resampled_systems(monkeypatch):
    """The names of systems, as often as they are resampled from now on."""
    names = []
    resample = BinaryStudy.resample

    def record_and_resample(study, name):
        names.append(name)
        return resample(study, name)

    monkeypatch.setattr(BinaryStudy, "resample", record_and_resample)
    return names


def test_only_systems_that_are_drawn_are_resampled_for_bands(study, resampled_systems):
    binary_page.curve_plot(study)
    assert resampled_systems == study.order[: page.CURVES]


def test_both_curves_take_their_bands_from_the_same_resamples(study, resampled_systems):
    study.bands("roc")
    study.bands("pr")
    assert sorted(resampled_systems) == sorted(study.order)


@pytest.mark.parametrize("curve", ["roc", "pr"])
def test_bands_of_some_systems_are_those_among_all(study, curve):
    some = study.order[2:4]
    of_all = study.bands(curve)
    expected = of_all[of_all["system"].isin(some)].reset_index(drop=True)
    pd.testing.assert_frame_equal(study.bands(curve, some), expected)


@pytest.mark.parametrize("curve", ["roc", "pr"])
def test_the_band_of_a_system_is_that_of_its_own_resamples(study, curve):
    name = study.order[0]
    expected = score_curves.band(name, study.resample(name), curve, level=0.95)
    pd.testing.assert_frame_equal(study.bands(curve, [name]), expected)


def test_crossings_are_looked_for_in_both_curves_of_each_pair(study):
    assert len(study.crossings) == 2 * len(study.pairs)


def test_some_precision_recall_curves_of_the_study_cross(study):
    of_pr = study.crossings[study.crossings["curve"] == "pr"]
    assert of_pr["crossings"].map(len).max() > 0


def test_the_study_finds_the_crossings_of_both_precision_recall_curves_of_a_pair(study):
    """The study compares several systems on 300 rows. For each pair of systems, named in the
    columns `first` and `second`, `study.crossings` lists the recalls at which both precision-recall
    curves cross (rows whose `curve` is "pr"). These must be the crossings of the curves of the
    systems' counts, `study.table(system)`.
    """
    crossings_of_pairs = study.crossings[study.crossings["curve"] == "pr"]
    assert len(crossings_of_pairs) == len(study.pairs)
    for row in crossings_of_pairs.to_dict("records"):
        first_curve = curves.precision_recall_curve(study.table(row["first"]))
        second_curve = curves.precision_recall_curve(study.table(row["second"]))
        expected = curves.crossings(first_curve, second_curve).tolist()
        assert row["crossings"] == pytest.approx(expected, abs=1e-12)
