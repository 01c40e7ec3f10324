"""Influence values against their definition and a jackknife, DeLong's test and the jackknife of
differences.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME
from scipy import stats

from evalkit.catalogue import lookup
from evalkit.catalogue.lookup import find_metric
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics.counts import auc, average_precision, count as cumulative_counts
from evalkit.metrics.influence import (
    CELLS,
    WidestGap,
    auc_influence,
    auc_variance,
    average_precision_bias,
    average_precision_influence,
    cell_ends,
    threshold_index,
    widest_gap,
)
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference, methods
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic


def values_by_row(table, c, label, score):
    """The values of the rows, from a table of those of positives (first row) and of negatives
    (second row) at each threshold of c.
    """
    class_index = 1 - np.asarray(label)
    return table[class_index, threshold_index(c.threshold, np.asarray(score))]


def influence_on_auc_by_row(c, label, score):
    return values_by_row(auc_influence(c), c, label, score)


def influence_on_average_precision_by_row(c, label, score):
    return values_by_row(average_precision_influence(c), c, label, score)


METRIC_AND_ITS_INFLUENCE_BY_ROW = (
    (auc, influence_on_auc_by_row),
    (average_precision, influence_on_average_precision_by_row),
)


scores_and_labels = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=4, max_size=25
)


@ANY_TIME
@given(scores_and_labels)
def test_influence_is_the_derivative_by_the_weight_of_a_row(rows):
    """`rows` are 4 to 25 random pairs of a score, 0 to 5, and a label. The influence of a row on a
    metric (AUC and average precision) is the derivative of the metric by the weight of the row. It
    must be the central difference with weights 1 ± 10⁻⁵ of this row; over all rows it adds up to 0,
    as equal weights of any size give one value.
    """
    score, label = np.array(rows).T
    has_one_class = label.all() or not label.any()
    if has_one_class:
        return  # both metrics are undefined
    c = cumulative_counts(score, label)
    step = 1e-5
    for metric, influence_by_row in METRIC_AND_ITS_INFLUENCE_BY_ROW:
        influence = influence_by_row(c, label, score)
        assert influence.sum() == pytest.approx(0, abs=1e-12)
        for row in range(len(label)):
            more = np.ones(len(label))  # weights of the rows
            less = np.ones(len(label))
            more[row] += step
            less[row] -= step
            above = metric(cumulative_counts(score, label * more, (1 - label) * more))
            below = metric(cumulative_counts(score, label * less, (1 - label) * less))
            assert influence[row] == pytest.approx((above - below) / (2 * step), abs=1e-7)


@ANY_TIME
@given(scores_and_labels)
def test_influence_makes_the_variance_of_auc(rows):
    """`rows` are 4 to 25 random pairs of a score, 0 to 5, and a label. DeLong's variance of the AUC
    is, summed over the two classes, the sum of the squared influences of the class's rows times n /
    (n − 1), where n is their number. It is undefined with one row in a class.
    """
    score, label = np.array(rows).T
    has_two_rows_of_each_class = 2 <= label.sum() <= len(label) - 2
    if not has_two_rows_of_each_class:
        return
    c = cumulative_counts(score, label)
    influence = influence_on_auc_by_row(c, label, score)
    by_class = [influence[label == value] for value in (0, 1)]
    variance = sum(
        of_class @ of_class * of_class.size / (of_class.size - 1) for of_class in by_class
    )
    assert auc_variance(c) == pytest.approx(variance, abs=1e-14)


@ANY_TIME
@given(scores_and_labels)
def test_the_influence_on_auc_adds_up_to_0_in_each_class(rows):
    """`rows` are 4 to 25 random pairs of a score, 0 to 5, and a label. The AUC is a mean over
    positives and over negatives, so that it does not change if all rows of one class weigh more:
    their influences add up to 0. 1e-12 is for rounding.
    """
    score, label = np.array(rows).T
    has_one_class = label.all() or not label.any()
    if has_one_class:
        return  # the AUC is undefined
    influence = influence_on_auc_by_row(cumulative_counts(score, label), label, score)
    by_class = [influence[label == value].sum() for value in (0, 1)]
    assert by_class == pytest.approx([0, 0], abs=1e-12)


def test_a_class_with_one_row_has_no_variance():
    """The variance of an AUC is a sum of a variance of each class; there is one positive alone."""
    c = cumulative_counts([0.1, 0.2, 0.3], [0, 1, 0])
    assert np.isnan(auc_variance(c))


def test_rows_without_weight_may_have_the_lowest_score():
    """Three rows: a positive with the highest score, a negative of weight 2, and a positive of
    weight 0 with the lowest score, at which no weight is counted. Of the rows with a weight the
    positive is above the negative: the AUC is 1, and no row has an influence on it. The influence
    on average precision must be finite.
    """
    score = np.array([0.9, 0.5, 0.1])
    label = np.array([1, 0, 1])
    weight = np.array([1.0, 2.0, 0.0])
    c = cumulative_counts(score, weight * label, weight * (1 - label))
    assert (weight * influence_on_auc_by_row(c, label, score)).tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(influence_on_average_precision_by_row(c, label, score)).all()


@pytest.mark.parametrize("digits", [1, 3], ids=["ties", "no ties"])
def test_the_bias_of_average_precision_is_that_of_the_jackknife(digits):
    """The bias of the average precision of 40 rows, scores rounded to `digits` decimals (1: many
    ties), is the jackknife's estimate: n − 1 times the mean of the n values without one row each,
    less the value of all n rows.
    """
    rng = np.random.default_rng(digits)
    n = 40
    label = rng.integers(0, 2, n)
    score = np.round(rng.random(n) + 0.3 * label, digits)
    without_one_row = [
        average_precision(cumulative_counts(np.delete(score, i), np.delete(label, i)))
        for i in range(n)
    ]
    expected = (n - 1) * (
        np.mean(without_one_row) - average_precision(cumulative_counts(score, label))
    )
    assert average_precision_bias(cumulative_counts(score, label)) == pytest.approx(
        expected, abs=1e-12
    )


def test_a_single_positive_leaves_no_bias_of_average_precision_to_estimate():
    """The jackknife leaves out each row. Without the single positive there is no average precision,
    so that the bias is set to 0.
    """
    assert average_precision_bias(cumulative_counts([0.2, 0.1], [1, 0])) == 0


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "ks"])
def test_the_influence_by_runs_of_thresholds_is_that_of_the_whole_table(monkeypatch, name):
    """The influence of rows on a metric (`name`: average precision, AUC or KS) is a table with a
    column per threshold. To save memory it is computed in runs of STEP thresholds, set to 64 here,
    from the lowest scores upwards. Joined, the runs must be the whole table.
    """
    thresholds_per_run = 64
    monkeypatch.setattr("evalkit.metrics.counts.STEP", thresholds_per_run)
    rng = np.random.default_rng(8)
    c = cumulative_counts(rng.normal(size=1_000), rng.random(1_000) < 0.3)
    kind = lookup.find_metric(name, "counts").metric.kind  # holds the metric's functions
    value = kind.value_at(c, threshold=np.nan)  # these metrics have no threshold
    runs_from_the_lowest = list(kind.influence_by_step(c, value))
    runs = runs_from_the_lowest[::-1]
    assert len(runs) == 16  # of 1,000 thresholds 15 · 64 and the remaining 40
    influence = np.concatenate([run.influence for run in runs], axis=1)
    np.testing.assert_array_equal(influence, kind.influence_table(c))
    np.testing.assert_array_equal(np.concatenate([run.step.tp for run in runs]), c.tp)


def test_the_widest_gap_is_the_first_of_the_largest_in_any_run_of_thresholds(monkeypatch):
    """The gap at a threshold is tp / positives − fp / negatives; the widest is that of the KS
    statistic. Times both totals it is a whole number, without rounding. Labels repeat a pattern of
    six rows with three positives, so that the largest gap, of either sign, recurs in each of 30
    patterns: the first one must be found, however many thresholds (STEP) are searched at once.
    """
    label = np.tile([1, 0, 1, 0, 0, 1], 30)
    c = cumulative_counts(-np.arange(len(label)), label)
    gap = c.tp * c.negatives - c.fp * c.positives
    first_of_the_largest = int(np.argmax(np.abs(gap)))
    expected = WidestGap(first_of_the_largest, sign=np.sign(gap[first_of_the_largest]))
    for thresholds_per_run in (1, 7, 64, 1_000):
        monkeypatch.setattr("evalkit.metrics.counts.STEP", thresholds_per_run)
        assert widest_gap(c) == expected


class Placements(NamedTuple):
    """For each positive the share of negatives below it, for each negative that of positives above
    it; ties count one half.
    """

    of_positives: np.ndarray
    of_negatives: np.ndarray


def placements_by_pairs(label, score):
    positive = score[label == 1][:, None]
    negative = score[label == 0]
    wins = (positive > negative) + 0.5 * (positive == negative)
    return Placements(wins.mean(axis=1), wins.mean(axis=0))


def test_the_difference_of_two_areas_has_delongs_error_with_ties():
    """Two correlated scores of 120 rows, rounded so that there are ties (scores of 0 decimals and
    of 1), with 40 positives. DeLong's error of the difference of their AUCs comes from placements:
    for a positive the share of negatives below it, for a negative the share of positives above it.
    Its square is the sum, over the two classes, of the variance of the differences of placements
    over their number.
    """
    rng = np.random.default_rng(1)
    label = (np.arange(120) % 3 == 0).astype(int)
    common = label + rng.normal(size=120)
    first_score = (common + rng.normal(size=120)).round(0)
    second_score = (common + rng.normal(size=120)).round(1)
    first, second = (placements_by_pairs(label, score) for score in (first_score, second_score))
    differences = [
        first.of_positives - second.of_positives,
        first.of_negatives - second.of_negatives,
    ]
    sizes = np.array([len(by_class) for by_class in differences])
    variances = np.array([np.var(by_class, ddof=1) for by_class in differences]) / sizes
    error = np.sqrt(variances.sum())
    # Welch's degrees of freedom: with few positives a normal distribution is too narrow
    t = stats.t(variances.sum() ** 2 / (variances**2 / (sizes - 1)).sum())
    value = differences[0].mean()  # an AUC is the mean placement of the positives
    roc_auc = find_metric("roc_auc", "counts")
    comparison = methods.two_areas(
        RowStatistic(roc_auc, Rows(label, first_score)),
        RowStatistic(roc_auc, Rows(label, second_score)),
        Options(0.95, rng),
    )
    difference = comparison.difference
    assert difference.value == pytest.approx(value)
    assert comparison.p_value == pytest.approx(2 * t.sf(abs(value) / error))
    half_width = (difference.high - difference.low) / 2
    assert half_width == pytest.approx(t.ppf(0.975) * error, rel=1e-6)


ROWS_OF_FORECASTS = 30


def forecast_statistic(name, noise):
    """A metric of forecasts with errors of this standard deviation, of the same actual values."""
    actual = np.random.default_rng(5).normal(size=ROWS_OF_FORECASTS)
    error = np.random.default_rng(100 + int(10 * noise)).normal(size=ROWS_OF_FORECASTS) * noise
    return RowStatistic(find_metric(name, "forecasts"), Rows(actual, actual + error))


def values_without_each_row(statistic):
    """The values of the metric without the first, the second, … and the last row."""
    rows = statistic.rows
    return np.array(
        [
            statistic.metric_at_k.value(rows.take(np.arange(len(rows)) != i))
            for i in range(len(rows))
        ]
    )


each_variance_explained = pytest.mark.parametrize("name", ["r2", "r2_correlation"])
OPTIONS = Options(0.95, np.random.default_rng(0))


@each_variance_explained
def test_a_difference_of_variance_explained_comes_from_leaving_out_each_row(name):
    """Two systems forecast the same 30 values with errors of a standard deviation of 0.5 (good) and
    0.9 (bad). Their difference in R² (`name`: r2, or the squared correlation) is tested by t with
    29 degrees of freedom; its standard error is the jackknife's, from the 30 differences without
    one row each.
    """
    good, bad = forecast_statistic(name, noise=0.5), forecast_statistic(name, noise=0.9)
    n = ROWS_OF_FORECASTS
    differences = values_without_each_row(good) - values_without_each_row(bad)
    error = np.sqrt((n - 1) / n * np.sum((differences - differences.mean()) ** 2))  # jackknife
    comparison = inference.compare(good, bad, OPTIONS)
    assert comparison.method == "jackknife t"
    expected = 2 * stats.t(n - 1).sf(abs(good.value - bad.value) / error)
    assert comparison.p_value == pytest.approx(expected)


@each_variance_explained
def test_a_difference_of_variance_explained_of_many_rows_is_by_the_delta_method(name):
    """The jackknife is left for the delta method if there are more rows than the limit `flipped`:
    here 29, for 30 rows. `name` is r2, or the squared correlation.
    """
    one_row_too_many = replace(OPTIONS, limits=replace(USUAL_LIMITS, flipped=ROWS_OF_FORECASTS - 1))
    good, bad = forecast_statistic(name, 0.5), forecast_statistic(name, 0.9)
    assert inference.compare(good, bad, one_row_too_many).method == "delta method"


@each_variance_explained
def test_a_system_does_not_differ_from_itself_in_variance_explained(name):
    """Both forecasts are the same 30 values, so that the difference in R² (`name`: r2, or the
    squared correlation) and its error are 0.
    """
    statistic = forecast_statistic(name, 0.5)
    assert inference.compare(statistic, statistic, OPTIONS).p_value == 1.0


def test_thresholds_of_positives_alone_are_pooled_by_rank():
    """5,000 distinct scores make more thresholds than the CELLS into which they are pooled. Without
    negatives cells are made by rank: there are more than 100 and at most CELLS, and the last
    includes all 5,000 positives.
    """
    scores = np.random.default_rng(5).random(5_000)
    without_negatives = cumulative_counts(scores, np.ones(5_000))
    pooled = cell_ends(without_negatives)
    assert 100 < len(pooled.threshold) <= CELLS
    assert pooled.tp[-1] == 5_000
