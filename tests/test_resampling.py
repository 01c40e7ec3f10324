"""Bootstraps of rows, of sums and of counts: moments, shared samples, cells that lose nothing,
bands, thresholds chosen again.
"""

from typing import NamedTuple

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

FIFTY_ROWS = np.random.default_rng(1).normal(size=(50, 2)) * [1, 5]


@pytest.fixture(scope="module")
def sums_of_fifty_rows():
    """The sums of both columns in each of 20,000 samples: (samples, 2)."""
    return resampled_sums(FIFTY_ROWS, rng=np.random.default_rng(2), resamples=20_000)


def test_sums_of_samples_have_the_sum_of_the_rows_as_mean(sums_of_fifty_rows):
    error = FIFTY_ROWS.std() * np.sqrt(50)  # of one sample
    expected = pytest.approx(FIFTY_ROWS.sum(axis=0), abs=0.04 * error)
    assert sums_of_fifty_rows.mean(axis=0) == expected


def test_sums_of_samples_have_n_times_the_covariances_of_the_rows(sums_of_fifty_rows):
    expected = 50 * np.cov(FIFTY_ROWS.T, ddof=0)
    assert np.cov(sums_of_fifty_rows.T) == pytest.approx(expected, rel=0.05, abs=2)


@pytest.mark.parametrize("distance", [0.0, 1e-9])
def test_sums_of_equal_rows_vary_as_those_of_rows_that_differ_by_a_hair(distance):
    """10 hits of 40 rows. Equal rows may be drawn as one count, others are drawn one by one."""
    hits = np.repeat([[0.0], [1.0]], [30, 10], axis=0) + distance * np.arange(40)[:, None]
    sums = resampled_sums(hits, rng=np.random.default_rng(1), resamples=20_000)
    assert sums.std() == pytest.approx(np.sqrt(40 * 0.25 * 0.75), rel=0.02)


@pytest.fixture(scope="module")
def weights_of_many_rows():
    """How often each of 2,000 rows is in each of 1,500 samples: (samples, rows)."""
    return _draw_weights(np.random.default_rng(3), np.empty((1_500, 2_000)))


def test_a_sample_has_as_many_rows_as_the_data(weights_of_many_rows):
    assert (weights_of_many_rows.sum(axis=1) == 2_000).all()


def test_how_often_rows_are_in_samples_is_binomial(weights_of_many_rows):
    """Up to six times, by a χ² test; more often is counted below."""
    _, n = weights_of_many_rows.shape
    observed = np.bincount(weights_of_many_rows.astype(int).ravel())[:7]
    probability = stats.binom.pmf(np.arange(7), n, 1 / n)
    expected = probability / probability.sum() * observed.sum()
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_as_many_rows_are_in_samples_more_than_six_times_as_expected(weights_of_many_rows):
    samples, n = weights_of_many_rows.shape
    expected = samples * n * stats.binom.sf(6, n, 1 / n)
    observed = (weights_of_many_rows > 6).sum()
    assert observed == pytest.approx(expected, abs=4 * np.sqrt(expected))


def test_the_rows_of_half_of_the_table_in_a_sample_are_binomial(weights_of_many_rows):
    _, n = weights_of_many_rows.shape
    rows_of_first_half = weights_of_many_rows[:, : n // 2].sum(axis=1)
    assert rows_of_first_half.var() == pytest.approx(n / 4, rel=0.15)


def test_how_often_a_row_is_in_a_sample_tells_nothing_of_the_next_sample(weights_of_many_rows):
    times_of_a_row = weights_of_many_rows[:, 5]
    correlation = stats.pearsonr(times_of_a_row[:-1], times_of_a_row[1:]).statistic
    assert abs(correlation) < 0.1


def test_counts_drawn_by_random_codes_have_a_poisson_distribution():
    """How often a row is in a sample is drawn by 16 random bits, which form one of `CODES` = 2^16
    equally likely codes. A table turns the code into the count. Nearly every code stands for one
    count, `count_by_code`. The remaining ones, from the place `decided` on, stand for none: the
    count is then drawn once more, with the probabilities `undecided_shares` of 0, 1, …, 24.

    The probability of a count is the sum over both ways to draw it. It is to be that of a Poisson
    distribution with the mean 1 − 3 / √n, where n is the number of rows in a sample: a little less
    than 1, so that the n counts of a sample hardly ever add up to more than n; rows that are
    lacking are drawn afterwards. The tolerance is for rounding.
    """
    n = 10_000
    table = _poisson(n)
    count_of_code = table.count_by_code[: table.decided].astype(int)
    probability_by_code = np.bincount(count_of_code, minlength=25) / CODES
    probability_of_second_draw = (CODES - table.decided) / CODES
    probability_by_second_draw = probability_of_second_draw * table.undecided_shares
    expected = stats.poisson.pmf(np.arange(25), mu=1 - 3 / np.sqrt(n))
    assert probability_by_code + probability_by_second_draw == pytest.approx(expected, abs=1e-15)


def test_samples_of_many_rows_differ():
    rows = np.arange(300_000, dtype=float)[:, None]
    sums = resampled_sums(rows, rng=np.random.default_rng(1), resamples=3)
    assert len(np.unique(sums)) == 3


def test_each_sample_of_many_rows_has_as_many_rows():
    ones = resampled_sums(np.ones((300_000, 1)), rng=np.random.default_rng(1), resamples=3)
    assert ones.tolist() == [[3e5]] * 3


def test_the_sums_of_no_rows_are_0():
    sums = resampled_sums(np.empty((0, 2)), rng=np.random.default_rng(1), resamples=3)
    assert sums.tolist() == [[0, 0]] * 3


# BCa: limits and p-values of a bootstrap ----------------------------------------------------------


def test_a_bca_interval_of_the_level_1_minus_p_ends_at_the_null():
    """The null is 0 and lies below the estimate, 3, so that p is found by the lower limit.

    The lower BCa limit at the level 1 − p is a quantile of the replicates: not at the share p / 2,
    as in a percentile interval, but at a share that is corrected for bias and skewness,
    `bca_shares`. The limit is 0 if this share equals the share of replicates below 0.
    """
    generator = np.random.default_rng(4)
    estimate = 3.0
    replicates = generator.gamma(shape=4, scale=1, size=5000) - 1  # skewed, with the mean 3
    influence_of_rows = generator.gamma(shape=1, scale=1, size=40) - 1
    p = bca_p_value(estimate, replicates, influence_of_rows, null=0.0)
    uncorrected_share = p / 2
    [corrected_share] = bca_shares(
        estimate, replicates, influence_of_rows, z=[ndtri(uncorrected_share)]
    )
    share_below_null = np.mean(replicates < 0)
    assert corrected_share == pytest.approx(share_below_null, abs=1e-9)


def test_replicates_equal_to_the_value_count_half():
    """One of the replicates 1, 2, 2, 2 and 3 lies below the value 2, and three equal 2. With half
    of the three, 2.5 of 5 lie below, so that BCa corrects no bias. The effects are symmetric, so
    that BCa has no acceleration. The share of the median therefore stays 0.5.
    """
    shares = bca_shares(value=2, replicates=[1, 2, 2, 2, 3], effect=[-1, 0, 1], z=[0.0])
    assert shares == pytest.approx(0.5)


def test_a_bca_p_value_counts_the_data_among_99_replicates():
    """The null is 0, and all 99 replicates lie from 8 to 10. With the data as one more, most
    extreme replicate, p is at least 1 / 100.
    """
    p = bca_p_value(value=9.0, replicates=np.linspace(8, 10, 99), effect=[-1, 0, 1], null=0.0)
    assert 0.01 <= p < 0.02


def test_the_bca_p_value_of_undefined_replicates_is_undefined():
    assert np.isnan(bca_p_value(value=np.nan, replicates=[np.nan], effect=[0]))


def test_a_constant_on_every_row_shifts_the_bca_limits_of_clusters():
    """40 clusters of 1 to 29 rows. The estimate is the mean of all rows, Σ sums / Σ sizes of the
    clusters. If every row is 5 larger, the mean is 5 larger, in the data and in each bootstrap
    sample of clusters, and so are the limits.

    Both intervals must be of the same bootstrap samples. These are therefore drawn beforehand, and
    `paired_bootstrap` takes their sums and sizes as `sums`, a row for each sample.
    """
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 30, 40)
    sums = rng.exponential(1, 40) * sizes
    sums_and_sizes = np.column_stack([sums, sizes])
    samples = resampled_sums(sums_and_sizes, rng=rng, resamples=1_000)
    plain = significance.paired_bootstrap(sums, sizes, rng=rng, sums=samples).difference

    # 5 more on every row are 5 · size more in the sum of a cluster or of a sample
    shifted_sums = sums + 5 * sizes
    sums_of_samples, sizes_of_samples = samples.T
    shifted_samples = np.column_stack([sums_of_samples + 5 * sizes_of_samples, sizes_of_samples])
    shifted = significance.paired_bootstrap(
        shifted_sums, sizes, rng=rng, sums=shifted_samples
    ).difference
    expected = [plain.low + 5, plain.high + 5]
    assert [shifted.low, shifted.high] == pytest.approx(expected, rel=1e-9)


# Tables with the same samples ---------------------------------------------------------------------

GENERATOR = np.random.default_rng(6)
TABLES = {
    "few rows": GENERATOR.normal(size=(40, 1)),
    "few rows, four columns": GENERATOR.normal(size=(40, 4)),
    "many rows": GENERATOR.normal(size=(1_500, 1)),
    "many rows, four columns": GENERATOR.normal(size=(1_500, 4)),
    "zeros and ones": GENERATOR.integers(0, 2, (500, 1)).astype(float),
    "repeated values": GENERATOR.normal(size=(500, 1)).round(1),
    "no rows": np.zeros((0, 2)),
}


@pytest.fixture(scope="module")
def sums_of_tables():
    """The sums of samples of all tables, drawn together, by name; each table twice."""
    tables = [*TABLES.values(), *TABLES.values()]
    sums = list(resampled_each(tables, rng=lambda: np.random.default_rng(5), resamples=300))
    return {name: sums[i :: len(TABLES)] for i, name in enumerate(TABLES)}


@pytest.mark.parametrize("name", TABLES)
def test_tables_drawn_together_have_the_sums_of_each_drawn_alone(sums_of_tables, name):
    alone = resampled_sums(TABLES[name], rng=np.random.default_rng(5), resamples=300)
    for sums in sums_of_tables[name]:
        np.testing.assert_array_equal(sums, alone)


# Counts -------------------------------------------------------------------------------------------


def labels_and_scores(*, rows, positive_share):
    """Labels, of which about `positive_share` is 1, and normal scores with the standard deviation 1
    and the mean 0 for negatives and 1.2 for positives.
    """
    rng = np.random.default_rng(0)
    label = (rng.random(rows) < positive_share).astype(np.int64)
    return label, rng.standard_normal(rows) + 1.2 * label


def counts_of_rows(*, rows, positive_share):
    """The table of counts by threshold of `labels_and_scores`."""
    label, score = labels_and_scores(rows=rows, positive_share=positive_share)
    return count(score, label)


def metric_of_resampled_rows(metric, label, score, *, resamples):
    """The metric of each resample of rows, counted anew: slow and certainly right."""
    rng = np.random.default_rng(1)
    n = len(label)
    samples = (rng.integers(0, n, n) for _ in range(resamples))
    return np.array([metric(count(score[rows], label[rows])) for rows in samples])


@pytest.mark.parametrize("positive_share", [0.3, 0.02])
@pytest.mark.parametrize("metric", [average_precision, ks])
def test_resampled_counts_give_the_standard_error_of_resampled_rows(metric, positive_share):
    """3,000 rows. The standard error is the standard deviation of the metric over resamples. The
    counts are pooled into cells of neighbouring thresholds before they are resampled.

    The standard deviation over R resamples has a relative error of about 1 / √(2 R): 2 % for the
    1,000 resamples of counts, 4 % for the 400 of rows. 12 % is nearly three times both together.
    """
    label, score = labels_and_scores(rows=3_000, positive_share=positive_share)
    pooled_counts = influence.pooled(count(score, label))
    resamples = bootstrap.counts_of_resamples(
        pooled_counts, rng=np.random.default_rng(2), resamples=1_000
    )
    found = np.std([metric(counts) for counts in resamples])
    expected = np.std(metric_of_resampled_rows(metric, label, score, resamples=400))
    assert found == pytest.approx(expected, rel=0.12)


def true_and_false_positives(decisions):
    """The counts at the threshold 1 of a table of `influence.decision`, which gives the rows that
    are predicted positive the score 1 and the others 0.
    """
    at_1 = at(decisions, 1.0)
    return at_1.tp, at_1.fp


def test_the_decisions_at_a_threshold_are_counted_exactly():
    """2,000 rows; those with a score of at least 0.7 are predicted positive."""
    label, score = labels_and_scores(rows=2_000, positive_share=0.3)
    decisions = influence.decision(count(score, label), threshold=0.7)
    label_of_predicted_positives = label[score >= 0.7]
    expected = (
        np.sum(label_of_predicted_positives == 1),
        np.sum(label_of_predicted_positives == 0),
    )
    assert true_and_false_positives(decisions) == expected


def test_quantiles_of_resampled_recalls_are_near_wilsons_limits():
    """2,000 rows, of which about 600 are positive. The recall is that at the threshold 0.7.

    The number of true positives among the positives is binomial, and Wilson's interval is one of
    its share. The 2.5 % and 97.5 % quantiles over 4,000 resamples estimate the same limits. The
    standard error of the recall is about 0.02; half of it is allowed.
    """
    counts = counts_of_rows(rows=2_000, positive_share=0.3)
    decisions = influence.decision(counts, threshold=0.7)
    resamples = bootstrap.counts_of_resamples(
        decisions, rng=np.random.default_rng(1), resamples=4_000
    )
    recalls = [true_and_false_positives(sample)[0] / sample.positives for sample in resamples]
    true_positives, _ = true_and_false_positives(decisions)
    expected = wilson(true_positives, decisions.positives)
    limits = np.quantile(recalls, [0.025, 0.975])
    assert limits == pytest.approx([expected.low, expected.high], abs=0.01)


def test_the_largest_rise_of_the_gap_between_classes_is_that_of_resampled_rows():
    """The gap at a threshold is the true positive rate less the false positive rate. The rise of a
    resample at a threshold is its gap less the gap of the data; the largest rise is the maximum
    over thresholds. `bootstrap.largest_rise` returns the 97.5 % quantile over 1,000 resamples.

    1,500 rows, of which about 20 % are positive. The expected quantile comes from 600 resamples of
    rows, at 400 thresholds. If both are computed with new seeds, each varies by about 4 % (standard
    deviation); 12 % is about twice the standard error of their distance, √2 · 4 %.
    """
    label, score = labels_and_scores(rows=1_500, positive_share=0.2)
    thresholds = np.linspace(score.min(), score.max(), 400)

    def share_above_each_threshold(scores):
        return 1 - np.searchsorted(np.sort(scores), thresholds) / scores.size

    def gap(label, score):
        true_positive_rate = share_above_each_threshold(score[label == 1])
        false_positive_rate = share_above_each_threshold(score[label == 0])
        return true_positive_rate - false_positive_rate

    rng = np.random.default_rng(3)
    n = len(label)
    gap_of_data = gap(label, score)
    largest_rises = []
    for _ in range(600):
        rows = rng.integers(0, n, n)
        rise = gap(label[rows], score[rows]) - gap_of_data
        largest_rises.append(rise.max())

    positives = int(label.sum())
    found = bootstrap.largest_rise(
        count(score, label),
        positives=positives,
        negatives=n - positives,
        sign=1.0,  # −1 would be for falls of the gap
        rng=np.random.default_rng(1),
        share=0.975,
        resamples=1_000,
    )
    assert found == pytest.approx(np.quantile(largest_rises, 0.975), rel=0.12)


def resample_units(rows):
    """The counts of each of 300 bootstrap samples of whole units."""
    return bootstrap.resampled_units(rows, rng=np.random.default_rng(1), resamples=300)


def test_a_resample_of_units_with_four_rows_each_has_as_many_rows_as_the_data():
    label, score = labels_and_scores(rows=400, positive_share=0.4)
    rows = Rows(label, score, unit=np.repeat(np.arange(100), 4))
    assert {counts.total for counts in resample_units(rows)} == {400}


def test_a_resample_of_rows_without_units_has_as_many_rows_as_the_data():
    label, score = labels_and_scores(rows=400, positive_share=0.4)
    rows = Rows(label, score)
    assert {counts.total for counts in resample_units(rows)} == {400}


def standard_error_of_auc(rows):
    """The standard deviation of AUC over 300 bootstrap samples of units."""
    return np.std([auc(counts) for counts in resample_units(rows)])


def test_units_of_four_equal_rows_give_auc_the_standard_error_of_single_rows():
    """400 rows, and the same rows four times each, the four copies as one unit. A sample of units
    has all copies of a row equally often, and so varies as a sample of single rows.

    The standard deviation over 300 samples has a relative error of about 1 / √600 = 4 %, and the
    difference of two such one of 6 %. 15 % is 2.5 times as much.
    """
    label, score = labels_and_scores(rows=400, positive_share=0.4)
    single = Rows(label, score)
    fourfold = Rows(np.repeat(label, 4), np.repeat(score, 4), unit=np.repeat(np.arange(400), 4))
    expected = standard_error_of_auc(single)
    assert standard_error_of_auc(fourfold) == pytest.approx(expected, rel=0.15)


def test_the_band_of_a_roc_curve_holds_the_curve():
    """800 rows, of which about 30 % are positive. The band has the 2.5 % and 97.5 % quantiles, over
    300 bootstrap samples, of the true positive rate at ten false positive rates. The heights of the
    samples scatter around the height of the data, which therefore lies between both quantiles.
    """
    counts = counts_of_rows(rows=800, positive_share=0.3)
    fpr = np.linspace(0.05, 0.95, 10)

    def tpr_at_each_fpr(counts):
        roc = curves.roc_curve(counts)
        return np.interp(fpr, roc.x, roc.y)

    resamples = bootstrap.counts_of_resamples(counts, rng=np.random.default_rng(1), resamples=300)
    low, high = bootstrap.band(resamples, tpr_at_each_fpr, level=0.95)
    tpr = tpr_at_each_fpr(counts)
    assert np.all((low <= tpr) & (tpr <= high))


# Cells, into which a large table is pooled --------------------------------------------------------


def cells_by_each_threshold(counts, max_cells):
    """The cell of each threshold: steps of equal size of the sum of the true and the false positive
    rate and of the logarithm of the rows above, relative to that of all rows.
    """
    rows = counts.tp + counts.fp
    rates = counts.tp / counts.positives + counts.fp / counts.negatives
    progress = rates + np.log1p(rows) / np.log1p(counts.total)
    cell = (progress / progress[-1] * max_cells).astype(np.int64)
    cell = np.minimum(cell, max_cells - 1)
    return np.cumsum(np.append(0, np.diff(cell) > 0))


@pytest.fixture(scope="module", params=[0.5, 0.1, 0.97])
def labels_and_many_scores(request):
    """Labels and scores of 30,000 rows, with three shares of positives."""
    return labels_and_scores(rows=30_000, positive_share=request.param)


@pytest.fixture(params=[1, 3, 0.3])
def counts_of_many_scores(request, labels_and_many_scores):
    """The counts by threshold of 30,000 rows that all have one weight: 1, 3 or 0.3."""
    label, score = labels_and_many_scores
    weight = request.param
    return count(score, positive=weight * label, negative=weight * (1 - label))


@pytest.mark.parametrize("max_cells", [16, 256])
def test_cells_found_by_searches_are_those_of_each_threshold(counts_of_many_scores, max_cells):
    expected = cells_by_each_threshold(counts_of_many_scores, max_cells)
    np.testing.assert_array_equal(influence.cells(counts_of_many_scores, max_cells), expected)


@pytest.mark.parametrize("max_cells", [16, 256])
def test_the_ends_of_cells_have_the_counts_of_pooled_cells(counts_of_many_scores, max_cells):
    ends = influence.cell_ends(counts_of_many_scores, max_cells)
    cells = influence.cells(counts_of_many_scores, max_cells)
    pooled = influence.pool(counts_of_many_scores, cells)
    np.testing.assert_array_equal(ends.tp, pooled.tp)
    np.testing.assert_array_equal(ends.fp, pooled.fp)


# Thresholds that are chosen again on each sample --------------------------------------------------


def noisy_rows(n, seed=1):
    """Rows whose score is the logit of the probability of their label, with noise."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-1, 1.5, n)
    label = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(np.int64)
    return Rows(label, logit + rng.normal(0, 0.7, n))


def threshold_for_recall_of_90_percent(counts):
    return curves.for_recall(counts, 0.9)


def threshold_for_full_recall(counts):
    return curves.for_recall(counts, 1.0)


def choice_by(rule, *, samples, seed=1):
    """A threshold chosen by the rule, and again on each of so many bootstrap samples."""
    return bootstrap.ThresholdChoice(rule, samples, lambda: np.random.default_rng(seed))


@pytest.fixture(scope="module")
def many_rows():
    return noisy_rows(100_000)


@pytest.fixture(scope="module")
def thresholds_of_many_rows(many_rows):
    """The threshold for a recall of 90 % in each of 100 samples of 100,000 rows."""
    choice = choice_by(threshold_for_recall_of_90_percent, samples=100, seed=2)
    return choice.from_rows(many_rows).sample.threshold


def test_thresholds_chosen_on_samples_of_many_rows_lie_in_few_cells(
    many_rows, thresholds_of_many_rows
):
    cell_ends = influence.cell_ends(many_rows.counts, bootstrap.COARSE_CANDIDATES).threshold
    cell = np.searchsorted(-cell_ends, -thresholds_of_many_rows)
    assert np.ptp(cell) <= 3


def test_thresholds_chosen_on_samples_of_many_rows_are_finer_than_cells(thresholds_of_many_rows):
    assert len(np.unique(thresholds_of_many_rows)) > bootstrap.ENOUGH_CANDIDATES


def precision_at_choice(rows, rule):
    """The precision of the rows at the threshold that the rule chooses on the same rows."""
    return precision(at(rows.counts, rule(rows.counts)))


def mean_standard_error_by_samples(rule, data_sets):
    """The standard error of the precision at the chosen threshold, from 100 bootstrap samples of
    each data set, averaged over the data sets.
    """
    choice = choice_by(rule, samples=100)
    return np.mean([precision(choice.from_rows(rows).sample).std() for rows in data_sets])


def true_standard_error(rule, data_sets):
    """The standard deviation, over data sets, of the precision at the threshold chosen on each."""
    return np.std([precision_at_choice(rows, rule) for rows in data_sets])


def test_samples_give_the_standard_error_of_precision_at_a_threshold_for_recall():
    """60 data sets of 20,000 rows give the true standard error with a relative error of about
    1 / √120 = 9 %. The standard error from samples is the mean of the first five data sets.
    """
    rule = threshold_for_recall_of_90_percent
    data_sets = [noisy_rows(20_000, seed) for seed in range(60)]
    found = mean_standard_error_by_samples(rule, data_sets[:5])
    assert found == pytest.approx(true_standard_error(rule, data_sets), rel=0.25)


def test_samples_give_the_standard_error_of_precision_at_full_recall():
    """80 data sets of 1,500 rows give the true standard error. The standard error from samples is
    the mean of the first 20 data sets.

    The threshold of full recall is the score of the lowest positive. Samples in which every row has
    a weight above 0 would all have the threshold of the data, and give a fifth of the true error.
    """
    rule = threshold_for_full_recall
    data_sets = [noisy_rows(1_500, seed) for seed in range(80)]
    found = mean_standard_error_by_samples(rule, data_sets[:20])
    assert found == pytest.approx(true_standard_error(rule, data_sets), rel=0.35)


@pytest.mark.parametrize("rule", [threshold_for_recall_of_90_percent, curves.best_f])
def test_samples_of_counts_vary_as_samples_of_rows(rule):
    """Five data sets of 3,000 rows, each with 1,000 bootstrap samples, once of rows and once of the
    counts by threshold. Compared is the standard deviation, over samples, of the precision at the
    threshold chosen on the sample, averaged over the data sets.
    """
    choice = choice_by(rule, samples=1_000)
    data_sets = [noisy_rows(3_000, seed) for seed in range(5)]
    by_rows = [precision(choice.from_rows(rows).sample).std() for rows in data_sets]
    by_counts = [precision(choice.from_table(rows.counts).sample).std() for rows in data_sets]
    assert np.mean(by_counts) == pytest.approx(np.mean(by_rows), rel=0.05)


def test_scores_in_the_same_order_have_the_same_counts_at_the_chosen_thresholds():
    """3,000 rows, once with their scores and once with exp(score), which has the same order.

    Both have the same 20 bootstrap samples, because the samples depend only on the seed and on the
    rows. On each sample the rule chooses the threshold of the largest precision among those with a
    recall of at least 90 %. Precision and recall depend only on the order of the scores, so that
    both thresholds cut the sample at the same row.
    """
    rows = noisy_rows(3_000)
    rows_in_same_order = Rows(rows.actual, np.exp(rows.scores))
    choice = choice_by(threshold_for_recall_of_90_percent, samples=20, seed=1)
    found = choice.from_rows(rows).sample
    expected = choice.from_rows(rows_in_same_order).sample
    np.testing.assert_array_equal([found.tp, found.fp], [expected.tp, expected.fp])


def test_all_rows_are_counted_at_the_threshold_chosen_on_each_sample():
    """Of 3,000 rows 20 bootstrap samples are drawn, and a threshold is chosen on each sample. At
    each of these 20 thresholds not only the rows of the sample are counted, but also all 3,000.
    """
    rows = noisy_rows(3_000)
    choice = choice_by(threshold_for_recall_of_90_percent, samples=20)
    rechosen = choice.from_rows(rows)
    thresholds = rechosen.sample.threshold  # one of each sample
    expected = at(rows.counts, thresholds)  # true and false positives among the 3,000 rows
    np.testing.assert_array_equal(rechosen.all_rows.tp, expected.tp)
    np.testing.assert_array_equal(rechosen.all_rows.fp, expected.fp)


def test_the_value_on_new_rows_is_efrons_632_estimate():
    """The threshold was chosen on 20 rows, so that their precision is too good for new rows. Efron
    corrects it by bootstrap samples, on each of which the threshold is chosen again:
    (1/e) · precision of the 20 rows + (1 − 1/e) · mean precision of the rows that a sample lacks.

    A sample has a row that it lacks 0 times, a row of all rows once on average, a row drawn from
    the sample twice on average. The precision is taken as linear in this number. That of the rows
    that a sample lacks is then 2 · precision of all rows − precision of the sample.

    There are two samples, with made-up counts. The first one's threshold is 0.9, the second one's
    0.5, which is also that of the 20 rows. By hand, true positives / predicted positives:

        threshold   in the sample   on all 20 rows   on the rows that the sample lacks
        0.9         4 / 4 = 1       4 / 8 = 0.5      2 · 0.5 − 1 = 0
        0.5         7 / 10 = 0.7    6 / 10 = 0.6     2 · 0.6 − 0.7 = 0.5
        mean                                         0.25
    """
    score_of_positives = [0.9] * 4 + [0.5] * 2 + [0.1] * 4
    score_of_negatives = [0.9] * 4 + [0.1] * 6
    label = np.repeat([1, 0], 10)
    all_rows = Rows(label, np.array(score_of_positives + score_of_negatives))
    in_samples = Counts(
        threshold=np.array([0.9, 0.5]),
        tp=np.array([4.0, 7.0]),
        fp=np.array([0.0, 3.0]),
        positives=10.0,
        negatives=10.0,
    )
    on_all_rows = at(all_rows.counts, in_samples.threshold)
    made_up_samples = RechosenCounts(sample=in_samples, all_rows=on_all_rows)
    rows = all_rows.at_threshold(0.5, redraw=lambda: made_up_samples)
    statistic = RowStatistic(find_metric("precision", "counts"), rows)
    expected = 1 / np.e * 0.6 + (1 - 1 / np.e) * 0.25
    assert statistic.value_on_new_rows == pytest.approx(expected, abs=1e-12)


class Optimism(NamedTuple):
    """How far the MCC of 400 rows lies above the true one, on average over 60 data sets."""

    of_same_rows: float  # at the threshold that was chosen on them
    of_new_rows: float  # of the estimate of the value on new rows


@pytest.fixture(scope="module")
def optimism():
    true = mcc_at_chosen_threshold(noisy_rows(300_000)).value
    statistics = [mcc_at_chosen_threshold(noisy_rows(400, seed)) for seed in range(60)]
    return Optimism(
        np.mean([statistic.value for statistic in statistics]) - true,
        np.mean([statistic.value_on_new_rows for statistic in statistics]) - true,
    )


def mcc_at_chosen_threshold(rows):
    def redraw():
        return choice_by(curves.best_f, samples=200).from_rows(rows)

    chosen = rows.at_threshold(curves.best_f(rows.counts), redraw)
    return RowStatistic(find_metric("mcc", "counts"), chosen)


def test_the_value_on_the_rows_of_the_choice_is_too_good(optimism):
    assert optimism.of_same_rows > 0.02


def test_the_estimate_for_new_rows_has_at_most_half_of_the_optimism(optimism):
    assert abs(optimism.of_new_rows) < optimism.of_same_rows / 2


def test_weights_are_added_up_by_part_class_and_candidate_threshold():
    """Three rows in two parts, with two candidate thresholds, 0 and 1:

        part   class      candidate   weight
        0      positive   1           2
        1      negative   0           3
        1      negative   0           4

    The sums have a row for each part: the positives by candidate, then the negatives by candidate.
    """
    parts, candidates = 2, 2
    sums = samples.part_sums(
        part=np.array([0, 1, 1]),
        actual=np.array([True, False, False]),
        candidate=np.array([1, 0, 0]),
        weight=np.array([2.0, 3.0, 4.0]),
        shape=(parts, candidates),
    )
    in_part_0 = {"positives": [0, 2], "negatives": [0, 0]}
    in_part_1 = {"positives": [0, 0], "negatives": [3 + 4, 0]}
    expected = [part["positives"] + part["negatives"] for part in (in_part_0, in_part_1)]
    assert sums.tolist() == expected
