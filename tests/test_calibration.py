"""Brier score, log loss, ECE, CORP, slope and intercept, bands: by hand, by scikit-learn and
model-diagnostics.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME, expected
from scipy.stats import binom
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from evalkit.metrics import calibration
from evalkit.metrics.counts import auc, count
from evalkit.metrics.rows import Rows
from evalkit.statistics import consistency
from evalkit.statistics.consistency import band, band_of_means
from evalkit.studies import classification, rating

scores_and_labels = st.lists(
    st.tuples(st.integers(0, 20).map(lambda i: i / 20), st.integers(0, 1)), min_size=1, max_size=40
).map(lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True)))


# The Brier score, its parts and isotonic probabilities --------------------------------------------


@ANY_TIME
@given(scores_and_labels)
def test_the_brier_score_equals_scikit_learn(data):
    score, label = data
    expected = metrics.brier_score_loss(label, score, labels=[0, 1])
    assert calibration.brier(count(score, label)) == pytest.approx(expected, abs=1e-12)


@ANY_TIME
@given(scores_and_labels)
def test_the_parts_of_the_brier_score_add_up_to_it(data):
    counts = count(*data)
    parts = calibration.decompose(counts)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(calibration.brier(counts), abs=1e-9)


@ANY_TIME
@given(scores_and_labels)
def test_no_part_of_the_brier_score_is_negative(data):
    parts = calibration.decompose(count(*data))
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= -1e-9


@ANY_TIME
@given(scores_and_labels)
def test_recalibrated_scores_equal_scikit_learns_isotonic_regression(data):
    score, label = data
    counts = count(score, label)
    expected = IsotonicRegression().fit(score, label).predict(counts.threshold)
    np.testing.assert_allclose(calibration.recalibrate(counts).threshold, expected, atol=1e-9)


def test_recalibration_keeps_the_order_of_scores():
    counts = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 1], [0, 0, 1, 0, 1, 1, 0, 1])
    assert (np.diff(calibration.recalibrate(counts).threshold) <= 0).all()


def test_recalibration_keeps_the_auc():
    """The table keeps a row for each score, although pooled scores get the same probability."""
    counts = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 1], [0, 0, 1, 0, 1, 1, 0, 1])
    assert auc(calibration.recalibrate(counts)) == auc(counts)


def test_rows_of_one_score_have_a_single_point_as_isotonic_curve():
    x, y = calibration.isotonic_curve(count([0.4, 0.4], [0, 1]))
    assert (x.tolist(), y.tolist()) == ([0.4], [0.5])


@ANY_TIME
@given(scores_and_labels)
def test_scores_of_exactly_0_or_1_are_counted_as_clipped(data):
    score, label = data
    assert calibration.clipped_weight(count(score, label)) == np.isin(score, [0, 1]).sum()


@pytest.mark.parametrize(
    "metric",
    [calibration.brier, calibration.mean_score, calibration.brier_skill, calibration.ece_10],
)
def test_metrics_of_probabilities_are_undefined_without_rows(metric):
    assert np.isnan(metric(count([], [])))


def test_the_parts_of_the_brier_score_are_undefined_without_rows():
    assert np.isnan(calibration.decompose(count([], [])).miscalibration)


def test_the_brier_skill_is_undefined_where_all_labels_are_equal():
    """The base rate as forecast then has a Brier score of 0, which nothing can be a share of."""
    assert np.isnan(calibration.brier_skill(count([0.2, 0.3], [1, 1])))


# Expected calibration error -----------------------------------------------------------------------


@ANY_TIME
@given(scores_and_labels, st.integers(1, 12))
@pytest.mark.parametrize("make_bins", [calibration.bins_uniform, calibration.bins_quantile])
def test_bins_hold_every_row(make_bins, data, n_bins):
    score, label = data
    bins = make_bins(count(score, label), n_bins)
    assert len(bins.rows) <= n_bins
    assert bins.rows.sum() == len(score)
    assert bins.positives.sum() == label.sum()


@ANY_TIME
@given(scores_and_labels, st.integers(1, 12))
@pytest.mark.parametrize("make_bins", [calibration.bins_uniform, calibration.bins_quantile])
def test_the_ece_lies_between_0_and_the_largest_gap_of_a_bin(make_bins, data, n_bins):
    bins = make_bins(count(*data), n_bins)
    assert 0 <= calibration.ece(bins) <= bins.gap.max() + 1e-12


@pytest.mark.parametrize("n_bins", [5, 7, 10, 15, 25])
def test_a_score_that_equals_a_border_lies_in_the_bin_above(n_bins):
    """0 and every border but 1 begin a bin; 1 lies in the last bin, with the border below it."""
    borders = [float(Fraction(k, n_bins)) for k in range(n_bins + 1)]
    bins = calibration.bins_uniform(count(borders, np.ones(n_bins + 1)), n_bins)
    assert bins.rows.tolist() == [1] * (n_bins - 1) + [2]


def test_the_ece_is_undefined_without_rows():
    assert np.isnan(calibration.ece(calibration.bins_quantile(count([], []))))


@pytest.fixture(scope="module")
def bins_of_sharp_scores():
    """Ten bins of 400 scores that are too sharp: their logits are 1.5 times the true ones."""
    rng = np.random.default_rng(11)
    true_logit = rng.normal(0, 1.5, 400)
    label = (rng.random(400) < 1 / (1 + np.exp(-true_logit))).astype(int)
    return calibration.bins_uniform(count(1 / (1 + np.exp(-1.5 * true_logit)), label))


def test_the_debiased_ece_equals_uncertainty_calibration(bins_of_sharp_scores):
    """normal_debiased_ce(data, power=1, resamples=400_000) of uncertainty-calibration 0.1.4, whose
    own draws leave an error of 3e-5.
    """
    assert calibration.ece(bins_of_sharp_scores) == pytest.approx(0.05107319198153848, abs=1e-12)
    assert calibration.ece_debiased(bins_of_sharp_scores) == pytest.approx(0.032908, abs=3e-5)


def test_the_debiased_ece_is_the_ece_less_its_bias_by_simulation(bins_of_sharp_scores):
    """400 rows in ten bins, with scores that are too sharp. In a bin of n rows with the share m of
    positives, 200,000 shares are drawn from N(m, m (1 − m) / n), as if m were the true share. The
    bias is the mean ECE of the draws less the observed ECE (Kumar, Liang and Ma 2019). The mean of
    the draws has a standard error of 3.4e-5, of which the tolerance is three.
    """
    bins = bins_of_sharp_scores
    share = bins.positives / bins.rows
    error = np.sqrt(share * (1 - share) / bins.rows)
    drawn_shares = np.random.default_rng(12).normal(share, error, (200_000, len(share)))
    mean_score = bins.score / bins.rows  # `score` is the sum of the scores in a bin
    drawn_gaps = np.abs(drawn_shares - mean_score)
    mean_drawn_ece = (drawn_gaps @ bins.rows / bins.rows.sum()).mean()
    bias = mean_drawn_ece - calibration.ece(bins)
    expected = calibration.ece(bins) - bias
    assert calibration.ece_debiased(bins) == pytest.approx(expected, abs=1e-4)


def ece_in_uniform_bins(counts):
    return calibration.ece(calibration.bins_uniform(counts))


def test_draws_as_far_off_on_the_other_side_count_as_equally_far():
    """7 of 47 rows are positive where 6 are expected. 5 are as far from 6, but for rounding: only
    draws of exactly 6 are nearer.
    """
    counts = count([6 / 47], positive=[7], negative=[40])
    rng = np.random.default_rng(1)
    p = consistency.metric_if_calibrated(counts, ece_in_uniform_bins, rng=rng, draws=20_000).p
    assert p == pytest.approx(1 - binom.pmf(6, 47, 6 / 47), abs=0.015)


def test_the_data_count_among_the_draws_of_a_p_value():
    """Scores of 0.1 of rows that are all positive: none of 99 draws is as far off, so p = 1/100."""
    counts = count(np.full(40, 0.1), np.ones(40, int))
    rng = np.random.default_rng(1)
    p = consistency.metric_if_calibrated(counts, ece_in_uniform_bins, rng=rng, draws=99).p
    assert p == pytest.approx(1 / 100)


# Slope and intercept of the logistic recalibration ------------------------------------------------

ORACLES = Path(__file__).parent / "oracles"
RNG = np.random.default_rng(11)
SCORE = RNG.beta(1, 3, 800).round(3)
LABEL = (RNG.random(800) < SCORE**1.2).astype(int)


def logits(score):
    return np.log(score) - np.log1p(-score)


def fit_logistic(columns, label, offset=0.0):
    """The coefficients of a logistic regression of labels on columns, by Newton's method."""
    coefficients = np.zeros(columns.shape[1])
    for _ in range(60):
        probability = 1 / (1 + np.exp(-(columns @ coefficients + offset)))
        weighted = columns * (probability * (1 - probability))[:, None]
        gradient = columns.T @ (label - probability)
        coefficients = coefficients + np.linalg.solve(columns.T @ weighted, gradient)
    return coefficients


def test_slope_of_two_scores_is_the_ratio_of_differences_of_logits():
    counts = count([0.3, 0.6], positive=[20, 50], negative=[80, 50])
    observed = np.log(50 / 50) - np.log(20 / 80)
    forecast = np.log(0.6 / 0.4) - np.log(0.3 / 0.7)
    assert calibration.slope(counts) == pytest.approx(observed / forecast, abs=1e-10)


def test_the_variance_of_the_slope_is_that_of_the_sandwich_estimator():
    """The calibration slope is the coefficient of logit(score) in a logistic regression of the
    labels. SCORE and LABEL are 800 rows with scores of three decimals; those of exactly 0 or 1 have
    no logit and are left out.

    `slope_influence` gives how much a row at each score changes the slope, if it is a positive and
    if it is a negative. The variance is the sum over rows of the squared influence.

    Expected is the sandwich estimator B M B, with x = (1, logit(score)) and the fitted probability
    p of a row: B is the inverse of Σ p (1 − p) x xᵀ, and M is Σ (label − p)² x xᵀ. Its first row
    and column are of the intercept, its second row and column of the slope.
    """
    has_logit = (SCORE > 0) & (SCORE < 1)
    score = SCORE[has_logit]
    label = LABEL[has_logit]
    columns = np.column_stack([np.ones(len(score)), logits(score)])
    probability = 1 / (1 + np.exp(-columns @ fit_logistic(columns, label)))
    bread = np.linalg.inv((columns.T * probability * (1 - probability)) @ columns)
    meat = (columns.T * (label - probability) ** 2) @ columns
    sandwich = bread @ meat @ bread
    variance_by_sandwich = sandwich[1, 1]
    counts = count(score, label)
    influence_of_positive, influence_of_negative = calibration.slope_influence(counts)
    # `positive` and `negative` are the numbers of rows at each score
    variance = np.sum(counts.positive * influence_of_positive**2)
    variance += np.sum(counts.negative * influence_of_negative**2)
    assert variance == pytest.approx(variance_by_sandwich, rel=1e-8)


@pytest.fixture(scope="module", params=["logistic", "gbm", "forest", "tree_depth3"])
def cancer_rows(request):
    """Labels and scores of a real model; many scores are exactly 0 or 1, and so are clipped."""
    frame = pd.read_parquet(ORACLES / "breast_cancer.parquet").query("model == @request.param")
    return frame["y_true"].to_numpy(), frame["y_score"].to_numpy()


def clipped_logits(score):
    return logits(np.clip(score, calibration.EPSILON, 1 - calibration.EPSILON))


def test_the_slope_is_the_coefficient_of_a_logistic_regression_on_logits(cancer_rows):
    label, score = cancer_rows
    columns = np.column_stack([np.ones(len(score)), clipped_logits(score)])
    _, expected = fit_logistic(columns, label)
    assert calibration.slope(count(score, label)) == pytest.approx(expected, abs=1e-10)


def test_the_intercept_is_that_of_a_logistic_regression_with_slope_1(cancer_rows):
    label, score = cancer_rows
    (expected,) = fit_logistic(np.ones((len(score), 1)), label, offset=clipped_logits(score))
    assert calibration.intercept(count(score, label)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
def test_classes_that_a_threshold_separates_have_no_slope(labels):
    counts = count([0.1, 0.2, 0.7, 0.9], labels)
    assert np.isnan(calibration.slope(counts))
    assert np.isnan(calibration.slope_influence(counts)).all()


SCORES_BELOW_EPSILON = count([1e-300, 2e-300, 3e-300], positive=[1, 1, 3], negative=[2, 3, 1])


def test_scores_that_are_all_clipped_have_no_slope():
    assert np.isnan(calibration.slope(SCORES_BELOW_EPSILON))


def test_scores_that_are_all_clipped_have_the_intercept_from_epsilon():
    """5 of the 11 rows are positive, and every score counts as epsilon."""
    expected = logits(5 / 11) - logits(calibration.EPSILON)
    assert calibration.intercept(SCORES_BELOW_EPSILON) == pytest.approx(expected, abs=1e-6)


# Bands of consistency -----------------------------------------------------------------------------


def test_the_band_of_scores_far_apart_has_binomial_quantiles():
    """The band of a reliability diagram shows between which limits the share of positives at each
    score, after an isotonic regression, would lie if the scores were calibrated. For this, labels
    are drawn with the scores as probabilities. Here 400 rows each have the score 0.1, 0.5 or 0.9.
    In a draw the positives at a score are binomial. The three shares are so far apart that they
    ascend in every draw, and isotonic regression leaves them as they are. The limits of a band of
    level 0.9 are therefore the 5 % and the 95 % quantile of the binomial distribution, divided by
    400.

    The quantile of 4,000 draws has a standard error of up to 0.34 positives, and may be the next
    whole number; the tolerance is 2 positives.
    """
    rows = 400
    scores = np.array([0.1, 0.5, 0.9])
    counts = count(scores, positive=[40, 200, 360], negative=[360, 200, 40])
    _, low, high = band(counts, rng=np.random.default_rng(2), draws=4000, level=0.9)
    expected = [binom.ppf(0.05, rows, scores) / rows, binom.ppf(0.95, rows, scores) / rows]
    np.testing.assert_allclose([low, high], expected, atol=2 / rows)


def test_the_band_stands_at_the_scores():
    scores = [0.1, 0.5, 0.9]
    counts = count(scores, positive=[4, 20, 36], negative=[36, 20, 4])
    assert band(counts, rng=np.random.default_rng(2), draws=10, level=0.9)[0].tolist() == scores


@pytest.fixture(scope="module")
def coverage_of_band():
    """The share of 120 samples in which the band of level 0.9 holds the isotonic fit of the actual
    values, at the 20 %, 50 % and 80 % quantile of the forecasts: shape (3,).

    Each sample has 300 forecasts. An actual value is exponential with the forecast as its mean, so
    that the forecasts are calibrated.
    """
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(120):
        forecast = rng.gamma(shape=2, scale=2, size=300)
        actual = rng.gamma(shape=1.0, scale=forecast)
        rows = Rows(actual, forecast)
        means = calibration.means(rows)
        x, low, high = band_of_means(rows, means, rng=rng, draws=100, level=0.9)
        quantiles = np.quantile(forecast, [0.2, 0.5, 0.8])
        fit = np.interp(quantiles, means.forecast, calibration.isotonic(means))
        is_above_low = np.interp(quantiles, x, low) <= fit
        is_below_high = fit <= np.interp(quantiles, x, high)
        covered.append(is_above_low & is_below_high)
    return np.mean(covered, axis=0)


def test_the_90_percent_band_holds_the_fit_of_calibrated_forecasts_often_enough(coverage_of_band):
    """A share of 90 % in 120 samples has a standard error of √(0.9 · 0.1 / 120) = 2.7 percentage
    points. At each of three quantiles the share may be 2.5 standard errors lower, which is 83 %.
    """
    assert np.all(coverage_of_band > 0.83), coverage_of_band


def test_the_90_percent_band_holds_the_fit_of_calibrated_forecasts_not_too_often(coverage_of_band):
    """A share of 90 % in 120 samples has a standard error of 2.7 percentage points. The mean of the
    shares at three quantiles may be 2.2 of these higher, which is 96 %. A band that is far too wide
    would have nearly 100 %.
    """
    assert np.mean(coverage_of_band) < 0.96


def mean_width_of_band(forecast, actual, unit):
    """The mean over the forecasts of upper − lower limit of the band of level 0.9."""
    rows = Rows(actual, forecast, unit=unit)
    _, low, high = band_of_means(
        rows, calibration.means(rows), rng=np.random.default_rng(5), draws=200, level=0.9
    )
    return np.mean(high - low)


def test_the_band_is_wider_if_rows_with_equal_errors_are_known_to_be_of_one_unit():
    """100 units have eight rows each, with nearly equal forecasts and one normal error for all
    eight. The 800 rows therefore tell as little as 100 independent ones.

    The error of an isotonic fit falls with n^(−1/3). A band that knows the units is therefore about
    8^(1/3) = 2 times as wide as one that takes the rows as independent. The ratio is 2.1 on these
    rows; 1.7 leaves room for the chance in both bands.
    """
    rng = np.random.default_rng(4)
    forecast = np.repeat(rng.gamma(2, 2, 100), 8) + rng.normal(0, 0.01, 800)
    actual = forecast + np.repeat(rng.normal(0, 1, 100), 8)
    width_by_row = mean_width_of_band(forecast, actual, unit=None)
    width_by_unit = mean_width_of_band(forecast, actual, unit=np.arange(800) // 8)
    assert width_by_unit > 1.7 * width_by_row


# On the page --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study():
    return classification.read(
        y_true=LABEL, y_score={"a": SCORE, "b": np.sqrt(SCORE)}, metrics="brier"
    )


@pytest.mark.parametrize("system", ["a", "b"])
def test_the_table_of_calibration_has_the_miscalibration_of_each_system(study, system):
    parts = study.calibration.set_index(["system", "part"])["value"]
    expected = calibration.decompose(study.table(system)).miscalibration
    assert parts[system, "miscalibration"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("system", ["a", "b"])
def test_the_description_of_the_picture_has_the_slope_of_the_table(study, system):
    parts = study.calibration.set_index(["system", "part"])["value"]
    assert f"slope {parts[system, 'slope']:.2f}" in study.plot.calibration.alt


@pytest.fixture(scope="module")
def study_of_users():
    """800 rows of 200 users."""
    preds = {"label": LABEL, "score": SCORE, "user": np.arange(800) // 4}
    return classification.read(preds, unit="user", metrics="brier")


def test_rows_in_units_have_no_band(study_of_users):
    assert study_of_users.isotonic.bands is None


def test_rows_in_units_have_a_slope_with_limits(study_of_users):
    slope = study_of_users.calibration.set_index("part").loc["slope"]
    assert slope["low"] < slope["value"] < slope["high"]


# Against model-diagnostics ------------------------------------------------------------------------


CASES = expected("corp")["cases"]
PARTS = ("miscalibration", "discrimination", "uncertainty")


def rows_of(case):
    columns = {name: np.array(values) for name, values in case["rows"].items()}
    return Rows(columns["actual"], columns["forecast"], weight=columns.get("weight"))


def assert_equal_parts(found, expected):
    for part in PARTS:
        assert getattr(found, part) == pytest.approx(expected[part], abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_isotonic_means_equal_model_diagnostics(name):
    means = calibration.means(rows_of(CASES[name]))
    by_row = calibration.isotonic(means)[means.index]
    np.testing.assert_allclose(by_row, CASES[name]["isotonic"], atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_the_curve_of_isotonic_means_meets_each_row(name):
    rows = rows_of(CASES[name])
    x, y = calibration.means_curve(calibration.means(rows))
    at_rows = np.interp(rows.scores, x, y)
    np.testing.assert_allclose(at_rows, CASES[name]["isotonic"], atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_the_parts_of_the_squared_error_equal_model_diagnostics(name):
    """The uncertainty is the variance of the actual values."""
    assert_equal_parts(parts_of_squared_error(name), recorded_parts(name))


@pytest.mark.parametrize("name", CASES)
def test_the_parts_of_the_squared_error_add_up_to_it(name):
    parts = parts_of_squared_error(name)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(recorded_parts(name)["score"], abs=1e-10)


def parts_of_squared_error(name):
    """The parts of the squared error of a case."""
    rows = rows_of(CASES[name])
    mean = np.average(rows.actual, weights=rows.weight)
    uncertainty = float(np.average((rows.actual - mean) ** 2, weights=rows.weight))
    return calibration.decomposed(calibration.means(rows), uncertainty)


def recorded_parts(name):
    """What model_diagnostics gave for a case; it calls the squared error of labels Brier score."""
    by_score = CASES[name]["parts"]
    return by_score["brier"] if "brier" in by_score else by_score["squared_error"]


def counts_of(rows):
    """The weights of positive and of negative rows at each score."""
    return count(rows.scores, rows.weights * rows.actual, rows.weights * (1 - rows.actual))


@pytest.mark.parametrize("name", ["probabilities", "weighted_probabilities"])
def test_the_parts_of_the_brier_score_equal_model_diagnostics(name):
    parts = calibration.decompose(counts_of(rows_of(CASES[name])))
    assert_equal_parts(parts, CASES[name]["parts"]["brier"])


@pytest.mark.parametrize("name", ["probabilities", "weighted_probabilities"])
def test_the_isotonic_curve_of_counts_equals_model_diagnostics(name):
    rows = rows_of(CASES[name])
    x, y = calibration.isotonic_curve(counts_of(rows))
    at_rows = np.interp(rows.scores, x, y)
    np.testing.assert_allclose(at_rows, CASES[name]["isotonic"], atol=1e-10)


def test_a_forecast_of_weight_3_counts_as_three_rows():
    """150 forecasts have whole weights of 1 to 5. A study of the weighted rows and one of the rows
    repeated as often as their weight says have the same table `parts`: the mean squared error and
    its miscalibration, discrimination and uncertainty.
    """
    rng = np.random.default_rng(6)
    forecast = rng.gamma(2, 2, 150).round(1)
    actual = rng.exponential(forecast)
    weight = rng.integers(1, 6, 150)
    weighted = rating.read(y_true=actual, y_pred=forecast, sample_weight=weight, metrics="mae")
    repeated = rating.read(
        y_true=np.repeat(actual, weight), y_pred=np.repeat(forecast, weight), metrics="mae"
    )
    pd.testing.assert_frame_equal(repeated.parts, weighted.parts, rtol=0, atol=1e-12)
