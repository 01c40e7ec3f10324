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

from evalkit.metrics import calibration, calibration as cal
from evalkit.metrics.counts import auc, count
from evalkit.metrics.rows import Rows
from evalkit.statistics import consistency
from evalkit.statistics.consistency import band, band_of_means
from evalkit.studies import classification, rating

TEN = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1], [0, 0, 1, 0, 1, 1, 1, 0, 1, 0])


rows = st.lists(
    st.tuples(st.integers(0, 20).map(lambda i: i / 20), st.integers(0, 1)), min_size=1, max_size=40
)


@ANY_TIME
@given(rows)
def test_decomposition_adds_up_and_no_part_is_negative(data):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    c = count(score, label)
    parts = cal.decompose(c)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(cal.brier(c), abs=1e-9)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= -1e-9


@ANY_TIME
@given(rows)
def test_losses_and_isotonic_probabilities_equal_scikit_learn(data):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    c = count(score, label)
    assert cal.brier(c) == pytest.approx(
        metrics.brier_score_loss(label, score, labels=[0, 1]), abs=1e-12
    )
    fitted = IsotonicRegression().fit(score, label).predict(c.threshold)
    np.testing.assert_allclose(cal.recalibrate(c).threshold, fitted, atol=1e-9)
    assert cal.clipped(c) == np.isin(score, [0, 1]).sum()


@ANY_TIME
@given(rows, st.integers(1, 12))
def test_bins_hold_every_row(data, bins):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    c = count(score, label)
    for kind in (cal.bins_uniform, cal.bins_quantile):
        b = kind(c, bins)
        assert (b.rows.sum(), b.positives.sum()) == (len(score), label.sum())
        assert len(b.rows) <= bins
        assert 0 <= cal.ece(b) <= b.gap.max() + 1e-12 <= 1 + 1e-9


@pytest.mark.parametrize("bins", [5, 7, 10, 15, 25])
def test_a_score_that_equals_a_border_lies_in_the_bin_above(bins):
    border = [float(Fraction(k, bins)) for k in range(bins + 1)]
    np.testing.assert_array_equal(
        cal.bins_uniform(count(border, np.ones(bins + 1)), bins).rows, [1] * (bins - 1) + [2]
    )


def test_ece_less_its_bias_equals_the_reference_code():
    """normal_debiased_ce(data, power=1, resamples=400_000) of uncertainty-calibration 0.1.4:
    0.032908 of 0.051073.
    """
    rng = np.random.default_rng(11)
    x = rng.normal(0, 1.5, 400)
    label = (rng.random(400) < 1 / (1 + np.exp(-x))).astype(int)
    score = 1 / (1 + np.exp(-1.5 * x))
    b = cal.bins_uniform(count(score, label))
    assert cal.ece(b) == pytest.approx(0.05107319198153848, abs=1e-12)
    assert cal.ece_debiased(b) == pytest.approx(0.032908, abs=3e-5)
    share = b.positives / b.rows
    drawn = rng.normal(share, np.sqrt(share * (1 - share) / b.rows), (200_000, len(b.rows)))
    by_draws = 2 * cal.ece(b) - (np.abs(drawn - b.score / b.rows) @ b.rows / 400).mean()
    assert cal.ece_debiased(b) == pytest.approx(by_draws, abs=1e-4)


def test_recalibration_keeps_the_table_and_its_order():
    c = cal.recalibrate(TEN)
    assert (np.diff(c.threshold) <= 0).all()
    assert auc(c) == auc(TEN)  # the table keeps its rows; probabilities that are pooled repeat


def test_no_rows_are_undefined():
    nothing = count([], [])
    assert np.isnan(
        [metric(nothing) for metric in (cal.brier, cal.mean_score, cal.brier_skill, cal.ece_10)]
    ).all()
    assert np.isnan(cal.ece(cal.bins_quantile(nothing)))
    assert np.isnan(cal.decompose(nothing).miscalibration)
    assert np.isnan(cal.brier_skill(count([0.2, 0.3], [1, 1])))


def test_labels_as_far_from_the_scores_as_the_data_on_the_other_side_count_as_as_far():
    # 5 of 47 are as far from 6 as 7 of 47, but for rounding
    c = count([6 / 47], positive=[7], negative=[40])
    p = consistency.perfect(
        c, lambda c: cal.ece(cal.bins_uniform(c)), rng=np.random.default_rng(1), draws=20_000
    ).p
    assert p == pytest.approx(1 - binom.pmf(6, 47, 6 / 47), abs=0.015)


ORACLES = Path(__file__).parent / "oracles"
RNG = np.random.default_rng(11)
SCORE = RNG.beta(1, 3, 800).round(3)
LABEL = (RNG.random(800) < SCORE**1.2).astype(int)


def test_one_score_is_a_point():
    x, y = calibration.isotonic_curve(count([0.4, 0.4], [0, 1]))
    assert (x.tolist(), y.tolist()) == ([0.4], [0.5])


def test_slope_of_two_scores_is_the_ratio_of_logits():
    c = count([0.3, 0.6], positive=[20, 50], negative=[80, 50])
    expected = (np.log(50 / 50) - np.log(20 / 80)) / (np.log(0.6 / 0.4) - np.log(0.3 / 0.7))
    assert calibration.slope(c) == pytest.approx(expected, abs=1e-10)


def logits(score):
    return np.log(score) - np.log1p(-score)


def test_the_variance_of_the_slope_is_the_sandwich_of_rows():
    use = (SCORE > 0) & (SCORE < 1)
    columns = np.column_stack([np.ones(use.sum()), logits(SCORE[use])])
    label = LABEL[use]
    c = count(SCORE[use], label)
    coefficients = reweighted(columns, label, 0.0)
    chance = 1 / (1 + np.exp(-columns @ coefficients))
    bread = np.linalg.inv((columns.T * chance * (1 - chance)) @ columns)
    sandwich = bread @ ((columns.T * (label - chance) ** 2) @ columns) @ bread
    slope = calibration.slope(c)
    moved = calibration.slope_influence(c)
    assert slope == pytest.approx(coefficients[1], abs=1e-9)
    variance = np.dot(c.positive, moved[0] ** 2) + np.dot(c.negative, moved[1] ** 2)
    assert variance == pytest.approx(sandwich[1, 1], rel=1e-8)


@pytest.mark.parametrize("name", ["logistic", "gbm", "forest", "tree_depth3"])
def test_slope_and_intercept_equal_least_squares_reweighted_row_by_row(name):
    """Real scores, many of them exactly 0 or 1 and clipped: iteratively reweighted least squares,
    row by row.
    """
    frame = pd.read_parquet(ORACLES / "breast_cancer.parquet").query("model == @name")
    score = frame["y_score"].to_numpy()
    label = frame["y_true"].to_numpy()
    x = logits(np.clip(score, calibration.EPSILON, 1 - calibration.EPSILON))
    c = count(score, label)
    assert calibration.slope(c) == pytest.approx(
        reweighted(np.column_stack([np.ones_like(x), x]), label, 0.0)[1], abs=1e-10
    )
    assert calibration.intercept(c) == pytest.approx(
        reweighted(np.ones((len(x), 1)), label, x)[0], abs=1e-10
    )


def reweighted(columns, label, offset):
    """The coefficients of a logistic regression."""
    b = np.zeros(columns.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-(columns @ b + offset)))
        weighted = columns * (chance * (1 - chance))[:, None]
        b = b + np.linalg.solve(columns.T @ weighted, columns.T @ (label - chance))
    return b


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]])
def test_classes_that_a_threshold_separates_have_no_slope(labels):
    c = count([0.1, 0.2, 0.7, 0.9], labels)
    assert np.isnan(calibration.slope(c))
    assert np.isnan(calibration.slope_influence(c)).all()


def test_scores_that_are_all_clipped_have_an_intercept_and_no_slope():
    c = count([1e-300, 2e-300, 3e-300], positive=[1, 1, 3], negative=[2, 3, 1])
    assert np.isnan(calibration.slope(c))
    assert calibration.intercept(c) == pytest.approx(
        logits(5 / 11) - logits(calibration.EPSILON), abs=1e-6
    )


def test_the_band_of_scores_far_apart_is_binomial():
    from scipy.stats import binom

    rows = 400
    scores = np.array([0.1, 0.5, 0.9])
    c = count(scores, positive=[40, 200, 360], negative=[360, 200, 40])
    x, low, high = band(c, rng=np.random.default_rng(2), draws=4000, level=0.9)
    np.testing.assert_array_equal(x, scores)
    np.testing.assert_allclose(low, binom.ppf(0.05, rows, scores) / rows, atol=2 / rows)
    np.testing.assert_allclose(high, binom.ppf(0.95, rows, scores) / rows, atol=2 / rows)


@pytest.fixture(scope="module")
def study():
    return classification.read(
        y_true=LABEL, y_score={"a": SCORE, "b": np.sqrt(SCORE)}, metrics="brier"
    )


def test_the_picture_agrees_with_the_table(study):
    parts = study.calibration.set_index(["system", "part"])["value"]
    words = study.plot.calibration.alt
    for name in ("a", "b"):
        miscalibration = calibration.decompose(study.table(name)).miscalibration
        assert parts[name, "miscalibration"] == pytest.approx(miscalibration, abs=1e-12)
        assert f"slope {parts[name, 'slope']:.2f}" in words


def test_rows_in_units_have_no_band_and_a_slope_with_limits():
    unit = np.arange(800) // 4
    study = classification.read(
        {"label": LABEL, "score": SCORE, "user": unit}, unit="user", metrics="brier"
    )
    assert study.isotonic.bands is None
    row = study.calibration.set_index("part").loc["slope"]
    assert row["low"] < row["value"] < row["high"]


CASES = expected("corp")["cases"]
PARTS = ("miscalibration", "discrimination", "uncertainty")


def rows_of(case):
    columns = {name: np.array(values) for name, values in case["rows"].items()}
    return Rows(columns["actual"], columns["forecast"], weight=columns.get("weight"))


@pytest.mark.parametrize("name", CASES)
def test_isotonic_means_and_the_squared_error_equal_model_diagnostics(name):
    case = CASES[name]
    rows = rows_of(CASES[name])
    table = calibration.means(rows)
    np.testing.assert_allclose(
        calibration.isotonic(table)[table.index], case["isotonic"], atol=1e-10
    )
    curve = np.interp(rows.scores, *calibration.means_curve(table))
    np.testing.assert_allclose(curve, case["isotonic"], atol=1e-10)
    of_case = case["parts"]
    uncertainty = float(
        np.average(
            (rows.actual - np.average(rows.actual, weights=rows.weight)) ** 2, weights=rows.weight
        )
    )
    parts = calibration.decomposed(table, uncertainty)
    expected = of_case.get("brier") or of_case["squared_error"]
    for part in PARTS:
        assert getattr(parts, part) == pytest.approx(expected[part], abs=1e-10)
    score = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert score == pytest.approx(expected["score"], abs=1e-10)


@pytest.mark.parametrize("name", ["probabilities", "weighted_probabilities"])
def test_the_brier_score_equals_model_diagnostics(name):
    rows = rows_of(CASES[name])
    expected = CASES[name]["parts"]["brier"]
    weight = rows.weights
    c = count(rows.scores, weight * rows.actual, weight * (1 - rows.actual))
    parts = calibration.decompose(c)
    for part in PARTS:
        assert getattr(parts, part) == pytest.approx(expected[part], abs=1e-10)
    x, y = calibration.isotonic_curve(c)
    np.testing.assert_allclose(np.interp(rows.scores, x, y), CASES[name]["isotonic"], atol=1e-10)


def test_the_band_holds_curves_of_right_forecasts():
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(120):
        forecast = rng.gamma(2, 2, 300)
        rows = Rows(rng.gamma(1.0, forecast), forecast)
        table = calibration.means(rows)
        x, low, high = band_of_means(rows, table, rng=rng, draws=100, level=0.9)
        at = np.quantile(forecast, [0.2, 0.5, 0.8])
        fitted = np.interp(at, table.forecast, calibration.isotonic(table))
        inside.append((np.interp(at, x, low) <= fitted) & (fitted <= np.interp(at, x, high)))
    assert np.all(np.mean(inside, axis=0) > 0.83), np.mean(inside, axis=0)
    assert np.mean(inside) < 0.96


def test_rows_of_one_unit_widen_the_band():
    rng = np.random.default_rng(4)
    forecast = np.repeat(rng.gamma(2, 2, 100), 8) + rng.normal(0, 0.01, 800)
    actual = forecast + np.repeat(rng.normal(0, 1, 100), 8)
    widths = []
    for unit in (None, np.arange(800) // 8):
        rows = Rows(actual, forecast, unit=unit)
        options = {"rng": np.random.default_rng(5), "draws": 200, "level": 0.9}
        _, low, high = band_of_means(rows, calibration.means(rows), **options)
        widths.append(np.mean(high - low))
    assert widths[1] > 1.7 * widths[0]


def test_whole_weights_repeat_rows():
    case = CASES["weighted_forecasts"]
    rows = rows_of(CASES["weighted_forecasts"])
    times = np.array(case["rows"]["weight"], int)
    repeated = rating.read(
        y_true=np.repeat(rows.actual, times), y_pred=np.repeat(rows.scores, times), metrics="mae"
    )
    weighted = rating.read(
        y_true=rows.actual, y_pred=rows.scores, sample_weight=times, metrics="mae"
    )
    numbers = [study.parts.drop(columns="system").to_numpy(float) for study in (repeated, weighted)]
    np.testing.assert_allclose(*numbers, atol=1e-12)


def test_what_no_draw_reaches_counts_among_the_draws():
    """Scores of 0.1 of rows that are all positive: none of 99 draws is as far off."""
    certain = count(np.full(40, 0.1), np.ones(40, int))
    found = consistency.perfect(
        certain,
        lambda c: calibration.ece(calibration.bins_uniform(c)),
        rng=np.random.default_rng(1),
        draws=99,
    )
    assert found.p == pytest.approx(1 / 100)
