"""Bootstraps of rows, of sums and of counts: moments, cells that lose nothing, paired draws,
bands.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from evalkit.catalogue.lookup import find_metric
from evalkit.metrics import curves, influence, samples
from evalkit.metrics.counts import (
    Counts,
    RechosenCounts,
    at,
    auc,
    average_precision,
    count,
    ks,
    precision,
)
from evalkit.metrics.rows import Rows
from evalkit.statistics import bootstrap, significance
from evalkit.statistics.bootstrap import (
    CODES,
    _draw_weights,
    _poisson,
    bca_p_value,
    bca_shares,
    resampled_each,
    resampled_sums,
)
from evalkit.statistics.intervals import wilson
from evalkit.statistics.statistic import RowStatistic

ROWS_WITH_TWO_COLUMNS = np.random.default_rng(1).normal(size=(50, 2)) * [1, 5]


def sums_of_two_columns():
    return resampled_sums(ROWS_WITH_TWO_COLUMNS, rng=np.random.default_rng(2), resamples=20_000)


def test_resampled_sums_have_the_mean_of_a_bootstrap():
    rows = ROWS_WITH_TWO_COLUMNS
    expected = pytest.approx(rows.sum(axis=0), abs=0.04 * rows.std() * 50**0.5)
    assert sums_of_two_columns().mean(axis=0) == expected


def test_resampled_sums_have_the_covariances_of_a_bootstrap():
    covariances = 50 * np.cov(ROWS_WITH_TWO_COLUMNS.T, ddof=0)
    assert np.cov(sums_of_two_columns().T) == pytest.approx(covariances, rel=0.05, abs=2)


@pytest.mark.parametrize("distance", [0.0, 1e-9])
def test_sums_of_rows_vary_alike_whether_rows_are_equal_or_only_nearly_so(distance):
    hits = np.repeat([[0.0], [1.0]], [30, 10], axis=0) + distance * np.arange(40)[:, None]
    sums = resampled_sums(hits, rng=np.random.default_rng(1), resamples=20_000)
    assert sums.mean() == pytest.approx(10, abs=0.1)
    assert sums.std() == pytest.approx(np.sqrt(40 * 0.25 * 0.75), rel=0.02)


@pytest.fixture(scope="module")
def weights_of_many_rows():
    """How often each of 2,000 rows is in each of 1,500 samples: (samples, rows)."""
    return _draw_weights(np.random.default_rng(3), np.empty((1_500, 2_000)))


def test_a_sample_has_as_many_rows_as_the_data(weights_of_many_rows):
    assert (weights_of_many_rows.sum(axis=1) == 2_000).all()


def test_how_often_a_row_is_in_a_sample_is_binomial(weights_of_many_rows):
    samples, n = weights_of_many_rows.shape
    draws = samples * n
    times = np.bincount(weights_of_many_rows.astype(int).ravel(), minlength=20)
    up_to_six = times[:7]
    expected = draws * stats.binom.pmf(np.arange(7), n, 1 / n)
    scaled = expected * up_to_six.sum() / expected.sum()
    assert stats.chisquare(up_to_six, scaled).pvalue > 1e-3
    assert times[7:].sum() == pytest.approx(draws * stats.binom.sf(6, n, 1 / n), abs=4 * 16)
    assert weights_of_many_rows.var(axis=0).mean() == pytest.approx(1 - 1 / n, abs=0.005)


def test_the_rows_of_half_of_the_table_in_a_sample_are_binomial(weights_of_many_rows):
    _, n = weights_of_many_rows.shape
    rows_of_first_half = weights_of_many_rows[:, : n // 2].sum(axis=1)
    assert rows_of_first_half.var() == pytest.approx(n / 4, rel=0.15)


def test_samples_are_independent_of_each_other(weights_of_many_rows):
    times_of_a_row = weights_of_many_rows[:, 5]
    correlation = stats.pearsonr(times_of_a_row[:-1], times_of_a_row[1:]).statistic
    assert abs(correlation) < 0.1


def test_the_counts_of_random_codes_have_a_poisson_distribution():
    codes = _poisson(10_000)
    decided_counts = codes.count_by_code[: codes.decided].astype(int)
    decided = np.bincount(decided_counts, minlength=25) / CODES
    undecided = codes.undecided_shares * (CODES - codes.decided) / CODES
    expected = stats.poisson.pmf(np.arange(25), 1 - 3 / 100)
    assert decided + undecided == pytest.approx(expected, abs=1e-15)


def test_most_codes_decide_a_count():
    assert _poisson(10_000).decided < CODES


def test_samples_of_many_rows_differ():
    rows = np.arange(300_000, dtype=float)[:, None]
    sums = resampled_sums(rows, rng=np.random.default_rng(1), resamples=3)
    assert len(np.unique(sums)) == 3


def test_each_sample_of_many_rows_has_all_its_rows():
    ones = resampled_sums(np.ones((300_000, 1)), rng=np.random.default_rng(1), resamples=3)
    assert ones.tolist() == [[3e5]] * 3


def test_no_rows_sum_to_nothing():
    sums = resampled_sums(np.empty((0, 2)), rng=np.random.default_rng(1), resamples=3)
    assert sums.tolist() == [[0, 0]] * 3


def test_bca_p_value_is_where_its_interval_meets_the_null():
    g = np.random.default_rng(4)
    replicates = g.gamma(4, 1, 5000) - 1
    effect = g.gamma(1, 1, 40) - 1
    p = bca_p_value(3.0, replicates, effect)
    share = bca_shares(3.0, replicates, effect, z=[ndtri(p / 2)])
    assert 0 < p < 1
    assert share == pytest.approx(np.mean(replicates < 0), abs=1e-9)


def test_replicates_equal_to_the_value_count_half():
    assert bca_shares(2, [1, 2, 2, 2, 3], [-1, 0, 1], z=[0.0]) == pytest.approx(0.5)


def test_bca_p_value_is_at_least_that_of_one_more_extreme_resample():
    assert 0.01 <= bca_p_value(9.0, np.linspace(8, 10, 99), [-1, 0, 1]) < 0.02


def test_bca_p_value_of_undefined_replicates_is_undefined():
    assert np.isnan(bca_p_value(np.nan, [np.nan], [0]))


def test_tables_that_share_their_samples_have_the_sums_of_each_alone():
    g = np.random.default_rng(6)
    shapes = [(40, 1), (40, 4), (1_500, 1), (1_500, 4)] * 2
    hits = g.integers(0, 2, (500, 1)).astype(float)
    tenths = g.normal(size=(500, 1)).round(1)
    tables = [*(g.normal(size=shape) for shape in shapes), hits, np.zeros((0, 2)), tenths]
    together = resampled_each(tables, rng=lambda: np.random.default_rng(5), resamples=300)
    for rows, sums in zip(tables, together, strict=True):
        alone = resampled_sums(rows, rng=np.random.default_rng(5), resamples=300)
        np.testing.assert_array_equal(sums, alone)


def sample(rows, share, shift=1.2, seed=0):
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < share).astype(np.int64)
    return label, rng.standard_normal(rows) + shift * label


def by_rows(metric, label, score, resamples, seed=1):
    """The metric of each resample of rows, counted anew: slow and certainly right."""
    rng = np.random.default_rng(seed)
    n = len(label)
    resampled_rows = (rng.integers(0, n, n) for _ in range(resamples))
    return np.array([metric(count(score[rows], label[rows])) for rows in resampled_rows])


@pytest.mark.parametrize("share", [0.3, 0.02])
def test_standard_errors_are_those_of_rows(share):
    label, score = sample(3_000, share)
    table = influence.pooled(count(score, label))
    resamples = bootstrap.resampled(table, rng=np.random.default_rng(2), resamples=1_000)
    for metric in (average_precision, ks):
        found = np.array([metric(counts) for counts in resamples])
        expected = by_rows(metric, label, score, 400)
        assert found.std() == pytest.approx(expected.std(), rel=0.12)


def test_the_decisions_at_a_threshold_are_counted_exactly():
    label, score = sample(2_000, 0.3)
    decisions = influence.decision(count(score, label), 0.7)
    predicted_positive = score >= 0.7
    assert decisions.tp[0] == (predicted_positive & (label == 1)).sum()
    assert decisions.fp[0] == (predicted_positive & (label == 0)).sum()


def test_resampled_decisions_have_the_interval_of_their_share():
    label, score = sample(2_000, 0.3)
    decisions = influence.decision(count(score, label), 0.7)
    resamples = bootstrap.resampled(decisions, rng=np.random.default_rng(1), resamples=4_000)
    recalls = [c.tp[0] / c.positives for c in resamples]
    expected = wilson(decisions.tp[0], decisions.positives)
    limits = np.quantile(recalls, [0.025, 0.975])
    assert limits == pytest.approx([expected.low, expected.high], abs=0.01)


def test_the_largest_rise_is_that_of_a_row_bootstrap():
    label, score = sample(1_500, 0.2)
    c = count(score, label)
    rng = np.random.default_rng(3)
    n = len(label)
    thresholds = np.linspace(score.min(), score.max(), 400)

    def share_above(scores):
        """The share of the scores at or above each threshold."""
        return 1 - np.searchsorted(np.sort(scores), thresholds) / scores.size

    def gap(label, score):
        return share_above(score[label == 1]) - share_above(score[label == 0])

    rises = []
    for _ in range(600):
        rows = rng.integers(0, n, n)
        rises.append((gap(label[rows], score[rows]) - gap(label, score)).max())
    positives = int(label.sum())
    found = bootstrap.largest_rise(
        c,
        (positives, n - positives),
        1.0,
        rng=np.random.default_rng(1),
        share=0.975,
        resamples=1_000,
    )
    assert found == pytest.approx(np.quantile(rises, 0.975), rel=0.12)


def resampled_units(rows):
    return bootstrap.resampled_units(rows, rng=np.random.default_rng(1), resamples=300)


def test_a_resample_of_units_of_equal_size_has_as_many_rows_as_the_data():
    label, score = sample(400, 0.4)
    of_four = Rows(label, score, unit=np.repeat(np.arange(100), 4))
    assert {counts.total for counts in resampled_units(of_four)} == {400}
    assert {counts.total for counts in resampled_units(Rows(label, score))} == {400}


def test_units_of_equal_rows_vary_as_one_row_each():
    label, score = sample(400, 0.4)
    fourfold = Rows(np.repeat(label, 4), np.repeat(score, 4), unit=np.repeat(np.arange(400), 4))
    error = np.std([auc(counts) for counts in resampled_units(fourfold)])
    error_of_rows = np.std([auc(counts) for counts in resampled_units(Rows(label, score))])
    assert error == pytest.approx(error_of_rows, rel=0.15)


def test_bands_hold_the_curve():
    label, score = sample(800, 0.3)
    c = count(score, label)
    grid = np.linspace(0.05, 0.95, 10)

    def tpr(counts):
        roc = curves.roc_curve(counts)
        return np.interp(grid, roc.x, roc.y)

    resamples = bootstrap.resampled(c, rng=np.random.default_rng(1), resamples=300)
    low, high = bootstrap.band(resamples, tpr)
    assert np.all(low <= tpr(c))
    assert np.all(tpr(c) <= high)
    assert np.all(high - low < 0.2)


def cells_by_each_threshold(c, max_cells):
    """The cells of a large table by looking at each threshold."""
    rows = c.tp + c.fp
    progress = c.tp / c.positives + c.fp / c.negatives + np.log1p(rows) / np.log1p(c.total)
    cell = (progress / progress[-1] * max_cells).astype(np.int64)
    cell = np.minimum(cell, max_cells - 1)
    return np.cumsum(np.append(0, np.diff(cell) > 0))


def table_of_many_scores(weight, share):
    label, score = sample(30_000, share)
    return count(score, weight * label, weight * (1 - label))


@pytest.mark.parametrize("weight", [1, 3, 0.3])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.97])
@pytest.mark.parametrize("max_cells", [16, 256])
def test_cells_are_found_without_looking_at_every_threshold(weight, share, max_cells):
    c = table_of_many_scores(weight, share)
    expected = cells_by_each_threshold(c, max_cells)
    np.testing.assert_array_equal(influence.cells(c, max_cells), expected)


@pytest.mark.parametrize("weight", [1, 3, 0.3])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.97])
@pytest.mark.parametrize("max_cells", [16, 256])
def test_the_ends_of_cells_have_the_counts_of_pooled_cells(weight, share, max_cells):
    c = table_of_many_scores(weight, share)
    ends = influence.cell_ends(c, max_cells)
    pooled = influence.pool(c, influence.cells(c, max_cells))
    np.testing.assert_array_equal(ends.tp, pooled.tp)
    np.testing.assert_array_equal(ends.fp, pooled.fp)


def test_a_constant_on_every_row_shifts_the_interval_of_clusters():
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 30, 40)
    sums = rng.exponential(1, 40) * sizes
    resamples = bootstrap.resampled_sums(np.column_stack([sums, sizes]), rng=rng, resamples=1_000)
    resampled_sizes = resamples[:, 1]
    shifted_resamples = np.column_stack([resamples[:, 0] + 5 * resampled_sizes, resampled_sizes])
    plain = significance.paired_bootstrap(sums, sizes, rng=rng, sums=resamples).difference
    shifted = significance.paired_bootstrap(
        sums + 5 * sizes, sizes, rng=rng, sums=shifted_resamples
    ).difference
    assert shifted.low - 5 == pytest.approx(plain.low, rel=1e-9)
    assert shifted.high - 5 == pytest.approx(plain.high, rel=1e-9)


def noisy_rows(n, seed=1):
    """Rows whose score tells the label through noise."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(-1, 1.5, n)
    label = (rng.random(n) < 1 / (1 + np.exp(-merit))).astype(np.int64)
    return Rows(label, merit + rng.normal(0, 0.7, n))


def threshold_for_recall(c):
    return curves.for_recall(c, 0.9)


def choice_by(rule, *, samples, seed=1):
    return bootstrap.ThresholdChoice(rule, samples, lambda: np.random.default_rng(seed))


def test_the_choice_of_many_rows_moves_by_less_than_a_cell_of_the_table():
    rows = noisy_rows(100_000)
    choice = choice_by(threshold_for_recall, samples=100, seed=2)
    thresholds = choice.from_rows(rows).sample.threshold
    cell_ends = influence.cell_ends(rows.counts, bootstrap.COARSE_CANDIDATES).threshold
    cell = np.searchsorted(-cell_ends, -thresholds)
    assert np.ptp(cell) <= 3
    assert len(np.unique(thresholds)) > bootstrap.ENOUGH_CANDIDATES


def test_the_error_at_a_chosen_threshold_is_that_of_other_samples():
    others = [noisy_rows(20_000, seed) for seed in range(60)]
    true = np.std(
        [precision(at(rows.counts, threshold_for_recall(rows.counts))) for rows in others]
    )
    drawn = [choice_by(threshold_for_recall, samples=100).from_rows(rows) for rows in others[:5]]
    assert np.mean([precision(one.sample).std() for one in drawn]) == pytest.approx(true, rel=0.25)


def test_the_error_of_a_rule_that_hangs_on_one_row_is_that_of_other_samples():
    """Weights that are never 0 give a fifth of it: the lowest positive is in every sample."""

    def every_positive(c):
        return curves.for_recall(c, 1.0)

    others = [noisy_rows(1_500, seed) for seed in range(80)]
    true = np.std([precision(at(rows.counts, every_positive(rows.counts))) for rows in others])
    drawn = [choice_by(every_positive, samples=100).from_rows(rows) for rows in others[:20]]
    assert np.mean([precision(one.sample).std() for one in drawn]) == pytest.approx(true, rel=0.35)


@pytest.mark.parametrize("rule", [threshold_for_recall, curves.best_f])
def test_samples_from_a_table_vary_as_those_of_its_rows(rule):
    choice = choice_by(rule, samples=1_000)
    others = [noisy_rows(3_000, seed) for seed in range(5)]
    by_rows = [precision(choice.from_rows(rows).sample).std() for rows in others]
    by_table = [precision(choice.from_table(rows.counts).sample).std() for rows in others]
    assert np.mean(by_table) == pytest.approx(np.mean(by_rows), rel=0.05)


def test_systems_with_the_same_order_of_scores_have_the_same_samples():
    rows = noisy_rows(3_000)
    other = Rows(rows.actual, np.exp(rows.scores))
    drawn = [choice_by(threshold_for_recall, samples=20).from_rows(one) for one in (rows, other)]
    assert np.array_equal(drawn[0].sample.tp, drawn[1].sample.tp)
    assert np.array_equal(drawn[0].sample.fp, drawn[1].sample.fp)


def test_the_whole_table_is_counted_at_the_threshold_of_each_sample():
    rows = noisy_rows(3_000)
    drawn = choice_by(threshold_for_recall, samples=20).from_rows(rows)
    there = at(rows.counts, drawn.sample.threshold)
    assert np.array_equal(drawn.all_rows.tp, there.tp)
    assert np.array_equal(drawn.all_rows.fp, there.fp)


def test_the_value_on_other_rows_is_what_samples_expect_of_the_rows_they_leave_out():
    """Worked by hand: half of the samples choose a threshold of precision 1 in them and 0.5 in the
    table, the others one of 0.8 in both: 0 and 0.8, so 0.4 on average.
    """
    threshold = np.array([0.9, 0.5])
    hits = np.array([4.0, 8.0])
    sample = Counts(threshold, hits, np.array([0.0, 2.0]), 10.0, 10.0)
    whole = Counts(threshold, hits, np.array([4.0, 2.0]), 10.0, 10.0)
    rows = noisy_rows(100).at_threshold(0.5, redraw=lambda: RechosenCounts(sample, whole))
    statistic = RowStatistic(find_metric("precision", "counts"), rows)
    expected = np.exp(-1) * statistic.value + (1 - np.exp(-1)) * 0.4
    assert statistic.value_on_new_rows == pytest.approx(expected, abs=1e-12)


def test_the_value_on_other_rows_is_not_too_good_on_average():
    true = mcc_at_chosen_threshold(noisy_rows(300_000)).value
    small = [mcc_at_chosen_threshold(noisy_rows(400, seed)) for seed in range(60)]
    optimism = np.mean([statistic.value for statistic in small]) - true
    remaining = np.mean([statistic.value_on_new_rows for statistic in small]) - true
    assert optimism > 0.02
    assert abs(remaining) < optimism / 2


def mcc_at_chosen_threshold(rows):
    def redraw():
        return choice_by(curves.best_f, samples=200).from_rows(rows)

    return RowStatistic(
        find_metric("mcc", "counts"), rows.at_threshold(curves.best_f(rows.counts), redraw)
    )


def test_rows_are_added_up_by_part_class_and_candidate():
    sums = samples.part_sums(
        part=np.array([0, 1, 1]),
        actual=np.array([True, False, False]),
        candidate=np.array([1, 0, 0]),
        weight=np.array([2.0, 3.0, 4.0]),
        shape=(2, 2),
    )
    of_first_part = {"positives": [0, 2], "negatives": [0, 0]}
    of_second_part = {"positives": [0, 0], "negatives": [7, 0]}
    by_part = [of_first_part, of_second_part]
    assert sums.tolist() == [part["positives"] + part["negatives"] for part in by_part]
