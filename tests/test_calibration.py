"""Brier score, log loss, decomposition and calibration errors: by hand, by scikit-learn, and on real data."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME
from scipy.stats import binom
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from evalkit.metrics import calibration as cal
from evalkit.metrics.counts import auc, count
from evalkit.statistics import consistency

TEN = count([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1], [0, 0, 1, 0, 1, 1, 1, 0, 1, 0])


rows = st.lists(st.tuples(st.integers(0, 20).map(lambda i: i / 20), st.integers(0, 1)), min_size=1, max_size=40)


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
    assert cal.brier(c) == pytest.approx(metrics.brier_score_loss(label, score, labels=[0, 1]), abs=1e-12)
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
    np.testing.assert_array_equal(cal.bins_uniform(count(border, np.ones(bins + 1)), bins).rows, [1] * (bins - 1) + [2])


def test_ece_less_its_bias_equals_the_reference_code():
    """normal_debiased_ce(data, power=1, resamples=400_000) of uncertainty-calibration 0.1.4: 0.032908 of 0.051073."""
    rng = np.random.default_rng(11)
    x = rng.normal(0, 1.5, 400)
    label, score = (rng.random(400) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-1.5 * x))
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
    assert np.isnan([metric(nothing) for metric in (cal.brier, cal.mean_score, cal.brier_skill, cal.ece_10)]).all()
    assert np.isnan(cal.ece(cal.bins_quantile(nothing)))
    assert np.isnan(cal.decompose(nothing).miscalibration)
    assert np.isnan(cal.brier_skill(count([0.2, 0.3], [1, 1])))


def test_labels_as_far_from_the_scores_as_the_data_on_the_other_side_count_as_as_far():
    c = count([6 / 47], positive=[7], negative=[40])  # 5 of 47 are as far from 6 as 7 of 47, but for rounding
    p = consistency.perfect(c, lambda c: cal.ece(cal.bins_uniform(c)), rng=np.random.default_rng(1), draws=20_000).p
    assert p == pytest.approx(1 - binom.pmf(6, 47, 6 / 47), abs=0.015)
