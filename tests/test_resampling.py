import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from evalkit.statistics.bootstrap import (
    CODES,
    _poisson,
    _weights,
    bca_p_value,
    bca_shares,
    resampled_each,
    resampled_sums,
)


def test_sums_have_the_moments_of_a_bootstrap():
    rows = np.random.default_rng(1).normal(size=(50, 2)) * [1, 5]
    sums = resampled_sums(rows, rng=np.random.default_rng(2), resamples=20_000)
    assert sums.shape == (20_000, 2)
    assert sums.mean(axis=0) == pytest.approx(rows.sum(axis=0), abs=0.04 * rows.std() * 50**0.5)
    assert np.cov(sums.T) == pytest.approx(50 * np.cov(rows.T, ddof=0), rel=0.05, abs=2)


def test_repeated_rows_give_the_same_law_as_distinct_ones():
    hits = np.repeat([[0.0], [1.0]], [30, 10], axis=0)
    drawn = resampled_sums(hits, rng=np.random.default_rng(1), resamples=20_000)[:, 0]
    distinct = hits + 1e-9 * np.arange(40)[:, None]
    weighed = resampled_sums(distinct, rng=np.random.default_rng(2), resamples=20_000)[:, 0]
    assert drawn.mean() == pytest.approx(weighed.mean(), abs=0.1)
    assert drawn.std() == pytest.approx(np.sqrt(40 * 0.25 * 0.75), rel=0.02)
    assert weighed.std() == pytest.approx(np.sqrt(40 * 0.25 * 0.75), rel=0.02)


def test_many_rows_are_drawn_by_their_exact_multinomial_law():
    n, samples = 2_000, 1_500
    drawn = _weights(np.random.default_rng(3), np.empty((samples, n)))
    assert (drawn.sum(axis=1) == n).all()
    expected = samples * n * stats.binom.pmf(np.arange(7), n, 1 / n)
    found = np.bincount(drawn.astype(int).ravel(), minlength=20)
    assert stats.chisquare(found[:7], expected * found[:7].sum() / expected.sum()).pvalue > 1e-3
    assert found[7:].sum() == pytest.approx(samples * n * stats.binom.sf(6, n, 1 / n), abs=4 * 16)
    assert drawn.var(axis=0).mean() == pytest.approx(1 - 1 / n, abs=0.005)
    halves = drawn[:, : n // 2].sum(axis=1)
    assert halves.var() == pytest.approx(n / 4, rel=0.15)
    assert abs(np.corrcoef(drawn[:-1, 5], drawn[1:, 5])[0, 1]) < 0.1


def test_the_table_of_counts_is_the_poisson_law():
    table, last, rest = _poisson(10_000)
    share = np.bincount(table[:last].astype(int), minlength=25) / CODES + rest * (CODES - last) / CODES
    assert share == pytest.approx(stats.poisson.pmf(np.arange(25), 1 - 3 / 100), abs=1e-15)
    assert last < CODES


def test_blocks_join_without_a_seam():
    rows = np.arange(300_000, dtype=float)[:, None]
    sums = resampled_sums(rows, rng=np.random.default_rng(1), resamples=3)
    assert len(set(sums[:, 0])) == 3
    assert resampled_sums(np.ones((300_000, 1)), rng=np.random.default_rng(1), resamples=3).tolist() == [[3e5]] * 3


def test_no_rows_sum_to_nothing():
    assert resampled_sums(np.empty((0, 2)), rng=np.random.default_rng(1), resamples=3).tolist() == [[0, 0]] * 3


def test_bca_p_value_is_where_its_interval_meets_the_null():
    g = np.random.default_rng(4)
    replicates, effect = g.gamma(4, 1, 5000) - 1, g.gamma(1, 1, 40) - 1
    p = bca_p_value(3.0, replicates, effect)
    share = bca_shares(3.0, replicates, effect, z=[ndtri(p / 2)])
    assert 0 < p < 1
    assert share == pytest.approx(np.mean(replicates < 0), abs=1e-9)


def test_replicates_equal_to_the_value_count_half():
    assert bca_shares(2, [1, 2, 2, 2, 3], [-1, 0, 1], z=[0.0]) == pytest.approx(0.5)


def test_bca_p_value_is_never_0():
    assert 0.01 <= bca_p_value(9.0, np.linspace(8, 10, 99), [-1, 0, 1]) < 0.02
    assert np.isnan(bca_p_value(np.nan, [np.nan], [0]))


def test_tables_that_share_their_samples_have_the_sums_of_each_alone():
    g = np.random.default_rng(6)
    tables = [g.normal(size=(rows, columns)) for rows in (40, 1_500, 40, 1_500) for columns in (1, 4)]
    tables += [g.integers(0, 2, (500, 1)).astype(float), np.zeros((0, 2)), g.normal(size=(500, 1)).round(1)]
    together = resampled_each(tables, rng=lambda: np.random.default_rng(5), resamples=300)
    for rows, sums in zip(tables, together, strict=True):
        np.testing.assert_array_equal(sums, resampled_sums(rows, rng=np.random.default_rng(5), resamples=300))
