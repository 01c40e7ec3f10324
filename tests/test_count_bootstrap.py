"""Bootstrap of counts: cells that lose nothing, standard errors of the row bootstrap, paired draws, coverage."""

import numpy as np
import pytest

from evalkit.metrics import curves, influence
from evalkit.metrics.counts import auc, average_precision, count, ks
from evalkit.metrics.rows import Rows
from evalkit.statistics import bootstrap
from evalkit.statistics.intervals import wilson


def sample(rows, share, shift=1.2, seed=0):
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < share).astype(np.int64)
    return label, rng.standard_normal(rows) + shift * label


def by_rows(metric, label, score, resamples, seed=1):
    """The slow truth: resample rows, sort them again."""
    rng, n = np.random.default_rng(seed), len(label)
    drawn = (rng.integers(0, n, n) for _ in range(resamples))
    return np.array([metric(count(score[one], label[one])) for one in drawn])


@pytest.mark.parametrize("share", [0.3, 0.02])
def test_standard_errors_are_those_of_rows(share):
    label, score = sample(3_000, share)
    table = influence.pooled(count(score, label))
    drawn = bootstrap.resampled(table, rng=np.random.default_rng(2), resamples=1_000)
    for metric in (average_precision, ks):
        ours, truth = np.array([metric(one) for one in drawn]), by_rows(metric, label, score, 400)
        assert ours.std() == pytest.approx(truth.std(), rel=0.12)


def test_a_decision_table_is_exact():
    label, score = sample(2_000, 0.3)
    c = count(score, label)
    d = influence.decision(c, 0.7)
    assert (d.tp[0], d.fp[0]) == ((score[label == 1] >= 0.7).sum(), (score[label == 0] >= 0.7).sum())
    drawn = bootstrap.resampled(d, rng=np.random.default_rng(1), resamples=4_000)
    recalls = [one.tp[0] / one.positives for one in drawn]
    e = wilson(d.tp[0], d.positives)
    assert np.quantile(recalls, 0.025) == pytest.approx(e.low, abs=0.01)
    assert np.quantile(recalls, 0.975) == pytest.approx(e.high, abs=0.01)


def test_the_largest_rise_is_that_of_a_row_bootstrap():
    label, score = sample(1_500, 0.2)
    c = count(score, label)
    rng, n, ends = np.random.default_rng(3), len(label), np.linspace(score.min(), score.max(), 400)

    def gap(label, score):
        rates = [1 - np.searchsorted(np.sort(score[label == side]), ends) / (label == side).sum() for side in (1, 0)]
        return rates[0] - rates[1]

    rises = []
    for _ in range(600):
        rows = rng.integers(0, n, n)
        rises.append((gap(label[rows], score[rows]) - gap(label, score)).max())
    sizes = int(label.sum()), int(n - label.sum())
    ours = bootstrap.largest_rise(c, sizes, 1.0, rng=np.random.default_rng(1), share=0.975, resamples=1_000)
    assert ours == pytest.approx(np.quantile(rises, 0.975), rel=0.12)


def test_units_come_and_go_together():
    label, score = sample(400, 0.4)
    unit = np.repeat(np.arange(100), 4)
    kwargs = {"rng": np.random.default_rng(1), "resamples": 300}
    tables = bootstrap.resampled_units(Rows(label, score, unit=unit), **kwargs)
    alone = bootstrap.resampled_units(Rows(label, score), **kwargs)
    assert {one.total for one in alone} == {400}
    assert all(one.total == 400 for one in tables)
    copies = bootstrap.resampled_units(
        Rows(np.repeat(label, 4), np.repeat(score, 4), unit=np.repeat(np.arange(400), 4)),
        rng=np.random.default_rng(1),
        resamples=300,
    )
    assert np.std([auc(one) for one in copies]) == pytest.approx(np.std([auc(one) for one in alone]), rel=0.15)


def test_bands_hold_the_curve():
    label, score = sample(800, 0.3)
    c = count(score, label)
    grid = np.linspace(0.05, 0.95, 10)

    def read(one):
        roc = curves.roc_curve(one)
        return np.interp(grid, roc.x, roc.y)

    low, high = bootstrap.band(bootstrap.resampled(c, rng=np.random.default_rng(1), resamples=300), read)
    assert np.all(low <= read(c))
    assert np.all(read(c) <= high)
    assert np.all(high - low < 0.2)


def every_threshold(c, most):
    """The cells of a large table by looking at each threshold."""
    rows = c.tp + c.fp
    spread = c.tp / c.positives + c.fp / c.negatives + np.log1p(rows) / np.log1p(c.total)
    part = np.minimum((spread / spread[-1] * most).astype(np.int64), most - 1)
    return np.cumsum(np.append(0, np.diff(part) > 0))


@pytest.mark.parametrize("weight", [1, 3, 0.3])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.97])
@pytest.mark.parametrize("most", [16, 256])
def test_cells_are_found_without_looking_at_every_threshold(weight, share, most):
    label, score = sample(30_000, share)
    c = count(score, weight * label, weight * (1 - label))
    expected = every_threshold(c, most)
    np.testing.assert_array_equal(influence.cells(c, most), expected)
    pooled, ends = influence.pool(c, expected), influence.ends(c, most)
    np.testing.assert_array_equal([ends.tp, ends.fp], [pooled.tp, pooled.fp])
