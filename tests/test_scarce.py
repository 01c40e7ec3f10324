"""Few units, few positives and many rare classes: intervals and tests by hand, by leaving out each
row, and the same in memory as by blocks.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, stdtrit
from sklearn.metrics import f1_score

import evalkit as ek
from evalkit.catalogue.lookup import find_metric
from evalkit.findings.kinds import measured
from evalkit.limits import Limits, ReadingLimits
from evalkit.metrics import influence
from evalkit.metrics.rows import Rows
from evalkit.pages import rating_page
from evalkit.parameters import reports
from evalkit.statistics import bootstrap, inference, intervals, significance
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic
from evalkit.studies import classification, rating

LABELS, ROWS = 12, 60
LIMITS_OF_READING_IN_BLOCKS = Limits(
    reading=ReadingLimits(rows=20, shard=20, largest=20)
)  # 20 rows at a time


def options_at_level(level):
    """Options of an interval or a test: its level, and a generator of random numbers."""
    return Options(level, np.random.default_rng(1))


def rows_of_rare_labels(seed, share=0.1):
    """Scores and truth of 12 labels for 60 rows; each label is true for a share of the rows, and
    predicted at a score of at least 0.5.
    """
    rng = np.random.default_rng(seed)
    label = rng.random((ROWS, LABELS)) < share
    label[0] = True  # each label is true somewhere
    score = expit(3 * label - 2 + rng.normal(size=label.shape))
    return Rows(label, score, np.full(LABELS, 0.5))


def macro_f1(rows, selection=slice(None)):
    """The macro F1 of selected rows as scikit-learn computes it."""
    actual = rows.actual[selection]
    predicted = rows.scores[selection] >= 0.5
    return f1_score(actual, predicted, average="macro", zero_division=0.0)


def macro_f1_without_each_row(rows):
    return np.array([macro_f1(rows, np.arange(ROWS) != i) for i in range(ROWS)])


def jackknife_error_of(values):
    """The standard error by the jackknife, from the values without one row each."""
    n = len(values)
    return np.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2))


def t_limits_on_logit_scale(centre, error, freedom):
    """The 95% interval by t on the logit scale, where the error is error / (centre (1 − centre)) by
    the delta method.
    """
    half_width = stdtrit(freedom, 0.975) * error / (centre * (1 - centre))
    return [expit(logit(centre) - half_width), expit(logit(centre) + half_width)]


def scored_rows(positives, share, seed=1):
    """Labels and scores of rows of which so many, and such a share, are positive."""
    rng = np.random.default_rng(seed)
    label = (np.arange(round(positives / share)) < positives).astype(int)
    return Rows(label, expit(2 * label + rng.normal(size=label.size)))


def metric_on_rows(name, structure, rows):
    """The metric of this name of the rows, with what its interval needs."""
    return RowStatistic(find_metric(name, structure), rows)


def forecasts_of_users(count, seed=3):
    """Five forecasts for each of some users, whose errors are correlated within a user."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(count), 5)
    level = rng.normal(size=count)[user] + rng.normal(size=user.size)
    forecast = level + 0.3 * rng.normal(size=user.size)
    actual = level + rng.normal(size=count)[user]
    names = {"id": np.arange(user.size).astype(str), "user": user.astype(str)}
    return pd.DataFrame(names | {"actual": actual, "forecast_a": forecast})


def test_the_error_of_a_mean_over_rare_labels_is_that_of_leaving_out_each_row():
    """Each of 12 labels is true for about a tenth of 60 rows. Macro F1 over so many labels with so
    few positives is `scarce`: its standard error is that of the jackknife, from the values without
    one row each, here by scikit-learn.
    """
    rows = rows_of_rare_labels(seed=1)
    error = jackknife_error_of(macro_f1_without_each_row(rows))
    statistic = metric_on_rows("macro_f1", "labels", rows)
    assert statistic.scarce
    assert statistic.leave_one_out().spread.error == pytest.approx(error, rel=1e-12)


def test_the_interval_of_a_mean_over_rare_labels_lies_around_the_value_without_its_bias():
    """The macro F1 over 12 labels, each true for about a tenth of 60 rows, is biased. The jackknife
    estimates this bias from the 60 values of the macro F1 without one row each: it is n − 1 times
    their mean less the value of all n rows. The interval is by t, with n − 1 degrees of freedom, on
    the logit scale, around the value less the bias.
    """
    rows = rows_of_rare_labels(seed=1)
    value = macro_f1(rows)
    without_each_row = macro_f1_without_each_row(rows)
    n = len(without_each_row)
    bias = (n - 1) * (without_each_row.mean() - value)
    error = jackknife_error_of(without_each_row)
    expected = t_limits_on_logit_scale(value - bias, error, freedom=n - 1)
    estimate = inference.estimate(
        metric_on_rows("macro_f1", "labels", rows), options_at_level(0.95)
    )
    assert [estimate.low, estimate.high] == pytest.approx(expected, rel=1e-12)


def rows_of_two_systems_on_rare_labels():
    """The second system's scores are the first one's to the power of 1.5, so that some fall below
    the threshold.
    """
    first = rows_of_rare_labels(seed=1)
    return first, Rows(first.actual, first.scores**1.5, np.full(LABELS, 0.5))


def test_a_difference_on_rare_labels_has_the_error_of_leaving_out_each_row():
    """Two systems are compared by macro F1 on rows with rare labels. Metrics of few positives have
    the standard error of the jackknife, which leaves out each row in turn (`leave_one_out`), and so
    has their difference. Expected is the jackknife's error by hand, from the differences of both
    systems without one row each. The null hypothesis of equal systems changes it for other metrics
    only, such as precision among the rows with the highest scores.
    """
    first_rows, second_rows = rows_of_two_systems_on_rare_labels()
    first = metric_on_rows("macro_f1", "labels", first_rows).leave_one_out()
    second = metric_on_rows("macro_f1", "labels", second_rows).leave_one_out()
    error = first.null_difference_spread(second).error
    differences = macro_f1_without_each_row(first_rows) - macro_f1_without_each_row(second_rows)
    assert error == pytest.approx(jackknife_error_of(differences), rel=1e-12)


def test_a_difference_on_rare_labels_has_p_below_5_percent_where_its_interval_excludes_0():
    """Two systems are compared by macro F1 on rows with rare labels. The test and the 95% interval
    use the same standard error and so do not contradict each other.
    """
    first_rows, second_rows = rows_of_two_systems_on_rare_labels()
    first = metric_on_rows("macro_f1", "labels", first_rows)
    second = metric_on_rows("macro_f1", "labels", second_rows)
    comparison = inference.compare(first, second, options_at_level(0.95))
    excludes_0 = comparison.difference.low > 0 or comparison.difference.high < 0
    assert (comparison.p_value < 0.05) == excludes_0


def test_labels_with_enough_positives_keep_mover():
    """Each of 12 labels is true for about 54 of 60 rows. With so many positives the interval of the
    mean over labels is combined from the intervals of the labels by MOVER, the usual method.
    """
    statistic = metric_on_rows("macro_f1", "labels", rows_of_rare_labels(seed=1, share=0.9))
    assert not statistic.scarce
    assert inference.estimate(statistic, options_at_level(0.95)).method == "MOVER"


def test_the_mean_auc_of_many_small_classes_has_an_interval_by_t_on_the_logit_scale():
    """Each of 20 classes has 10 of 200 rows; the metric is the mean of 20 AUCs, of each class
    against all others. With so few rows per class the interval is not combined from the intervals
    of the 20 AUCs, but is by t with n − 1 degrees of freedom around their mean.
    """
    rng = np.random.default_rng(1)
    label = np.arange(200) % 20
    is_own_class = np.eye(20)[label]  # (rows, classes), 1 in the column of the row's class
    odds = np.exp(1.5 * is_own_class + rng.normal(size=(200, 20)))
    statistic = metric_on_rows("roc_auc_ovr", "classes", Rows(label, odds, classes=20))
    mean = statistic.value
    expected = t_limits_on_logit_scale(mean, statistic.spread.error, freedom=200 - 1)
    estimate = inference.estimate(statistic, options_at_level(0.95))
    assert [estimate.low, estimate.high] == pytest.approx(expected, rel=1e-12)


def test_few_rare_positives_have_limits_no_closer_than_boyds():
    """15 of 1,500 rows are positive. With so few positives the usual error of average precision is
    often too small. The interval is therefore at least as wide as the binomial one of Boyd, Eng and
    Page (2013), which takes average precision (here less its bias) for a share of the 15 positives,
    with the error √(AP (1 − AP) / 15), by t on the logit scale.
    """
    rows = scored_rows(positives=15, share=0.01)
    statistic = metric_on_rows("average_precision", "counts", rows)
    unbiased = statistic.value - influence.average_precision_bias(rows.counts)
    error = np.sqrt(unbiased * (1 - unbiased) / 15)
    low_of_boyd, high_of_boyd = t_limits_on_logit_scale(unbiased, error, freedom=15 - 1)
    estimate = inference.estimate(statistic, options_at_level(0.95))
    assert estimate.low <= low_of_boyd + 1e-12  # but for rounding
    assert estimate.high >= high_of_boyd - 1e-12


@pytest.mark.parametrize(
    "positives, share", [(15, 0.3), (60, 0.01)], ids=["few but frequent", "rare but many"]
)
def test_frequent_or_many_positives_keep_t_on_the_logit_scale(positives, share):
    """The interval of average precision is widened to Boyd's only if positives are few and rare. 15
    positives that are 30 % of the rows, or 60 that are 1 %, keep the usual method.
    """
    rows = scored_rows(positives, share)
    estimate = inference.estimate(
        metric_on_rows("average_precision", "counts", rows), options_at_level(0.95)
    )
    assert estimate.method == "t on the logit scale"


def average_precision_of_two_samples():
    """The average precision of two independent samples of 300 rows, 30 of them positive."""
    return [
        metric_on_rows("average_precision", "counts", scored_rows(30, 0.1, seed)) for seed in (1, 2)
    ]


def test_average_precision_of_independent_samples_is_compared_by_mover_of_its_limits():
    """The average precision of two independent samples is compared. Its interval is not symmetric,
    so that the interval of the difference is not made from standard errors: MOVER combines it from
    the limits of the intervals of both values.
    """
    first, second = average_precision_of_two_samples()
    comparison = inference.compare_independent_orders(first, second, options_at_level(0.95))
    expected = intervals.mover(
        inference.estimate(first, options_at_level(0.95)),
        inference.estimate(second, options_at_level(0.95)),
    )
    limits = [comparison.difference.low, comparison.difference.high]
    assert limits == pytest.approx([expected.low, expected.high])


def test_the_p_of_mover_is_where_a_limit_of_the_interval_reaches_0():
    """The average precision of two independent samples is compared. Their difference has an
    interval by MOVER, which combines the intervals of both values. p is the level of significance
    at which this interval begins to exclude 0: at the confidence level 1 − p one limit is 0.
    """
    first, second = average_precision_of_two_samples()
    p = inference.compare_independent_orders(first, second, options_at_level(0.95)).p_value
    limits = intervals.mover(
        inference.estimate(first, options_at_level(1 - p)),
        inference.estimate(second, options_at_level(1 - p)),
    )
    assert min(abs(limits.low), abs(limits.high)) == pytest.approx(0, abs=1e-9)


def test_a_single_positive_has_no_limits_and_is_not_told_apart_from_another_sample():
    """Two samples have 60 rows each, of which one is positive in the first sample, 20 in the
    second. How much average precision varies cannot be estimated from a single positive. So the
    difference has no interval and no p-value, and its verdict is "cannot tell".
    """
    score = np.linspace(0, 1, 60)
    row = np.arange(60)
    with_1_positive = metric_on_rows("average_precision", "counts", Rows(row < 1, score))
    with_20_positives = metric_on_rows("average_precision", "counts", Rows(row < 20, score))
    comparison = inference.compare_independent_orders(
        with_1_positive, with_20_positives, options_at_level(0.95)
    )
    difference = comparison.difference
    assert np.isnan([difference.low, difference.high, comparison.p_value]).all()
    assert significance.verdict(comparison) == "cannot tell"


def test_a_diff_without_common_units_compares_average_precision_by_mover(tmp_path):
    """`ek.diff` compares two files of results, of an old and of a new day. The rows have the ids
    old0, old1, … and new0, new1, …, so that none is in both files and rows cannot be paired: the
    samples are independent. Average precision of independent samples is compared by MOVER.
    """
    rng = np.random.default_rng(1)
    paths = []
    for day in ("old", "new"):
        label = (np.arange(200) < 20).astype(int)
        score = expit(label + rng.normal(size=200))
        ids = np.char.add(day, np.arange(200).astype(str))
        table = pd.DataFrame({"id": ids, "y_true": label, "score_a": score})
        study = ek.classification(table, metrics="average_precision")
        paths.append(tmp_path / f"{day}.units.parquet")
        study.write_units(paths[-1])
    assert ek.diff(*paths).comparisons["method"].tolist() == ["MOVER"]


def test_limits_by_bootstrap_t_are_those_of_a_plain_loop():
    """`bootstrap.t_limits` has the 95% limits of a function of weighted means by the bootstrap-t
    (Efron and Tibshirani 1993, 12.5). The function is here the mean itself, which is at most 9.
    Limits are taken on the scale log(9 − mean), on which they cannot pass 9; there the standard
    error is that of the mean divided by 9 − mean (delta method).

    Expected are the same limits by a loop over bootstrap samples. They are drawn with the same
    seed, so that the limits are equal but for rounding.
    """
    weights = np.array([1.0, 2, 1, 3, 1, 2])  # of six units
    sums = np.array([2.0, 3, 1, 9, 4, 2])
    units = np.arange(6)

    def mean_and_error(sample):
        """The weighted mean of the units in a sample, and its standard error by linearisation."""
        weight = weights[sample]
        mean = sums[sample].sum() / weight.sum()
        influence_of_units = (sums[sample] - mean * weight) / weight.sum()
        n = len(sample)
        return mean, np.sqrt(n / (n - 1) * np.sum(influence_of_units**2))

    mean, error = mean_and_error(units)
    t = []
    times_drawn = np.random.default_rng(1).multinomial(6, np.full(6, 1 / 6), size=500)
    for times in times_drawn:
        mean_of_sample, error_of_sample = mean_and_error(np.repeat(units, times))
        if error_of_sample > 1e-9:  # 0 if all units of a sample have the same mean: it has no t
            distance = np.log(9 - mean_of_sample) - np.log(9 - mean)
            t.append(distance / (error_of_sample / (9 - mean_of_sample)))
    quantiles = np.quantile(t, [0.025, 0.975])
    expected = 9 - np.exp(np.log(9 - mean) - quantiles * error / (9 - mean))

    def value_and_gradient(means):
        """The function of the means whose limits are taken: the only mean itself."""
        (mean,) = means
        return mean, np.ones_like(means)

    limits = bootstrap.t_limits(
        np.array([weights, sums]),
        value_and_gradient,
        high=9.0,
        rng=np.random.default_rng(1),
        level=0.95,
        resamples=500,
    )
    assert limits == pytest.approx(expected.tolist(), rel=1e-9)


@pytest.mark.parametrize(
    "count, method", [(8, "jackknife t, with a bootstrap-t"), (25, "jackknife t")]
)
def test_r2_of_few_units_allows_for_a_bootstrap_t(count, method):
    """Each of 8 or 25 users has five forecasts. The interval of R² is by the jackknife and t; with
    as few as 8 users a limit by the bootstrap-t is used in addition.
    """
    study = ek.rating(forecasts_of_users(count), unit="user", metrics="r2")
    assert study.estimates["method"].iloc[0] == method


@pytest.mark.parametrize("metric", ["r2", "r2_correlation"])
def test_few_units_have_by_blocks_the_limits_of_memory(metric):
    """Eight users have five forecasts each. With so few units (users) a limit of the interval comes
    from a bootstrap of the users. Read in memory and in blocks of 20 rows, the same users are drawn
    with the same seed, so that values and limits are equal but for rounding.
    """
    parameters = reports.RatingParameters.from_raw(
        {"preds": forecasts_of_users(8), "unit": "user", "metrics": metric}
    )
    in_memory = rating.study_of(parameters, Limits())
    by_blocks = rating.study_of(parameters, LIMITS_OF_READING_IN_BLOCKS)
    assert_same_estimates_and_comparisons(in_memory, by_blocks)


def rare_labels_in_memory_and_by_blocks(metric):
    """The studies of two systems on the same rare labels, read at once and 20 rows at a time."""
    actual = rows_of_rare_labels(seed=1).actual
    truths = {f"y_l{j}": actual[:, j].astype(int) for j in range(LABELS)}
    tables = []
    for system, seed in (("a", 1), ("b", 2)):
        scores = {f"p_l{j}": rows_of_rare_labels(seed).scores[:, j] for j in range(LABELS)}
        ids = np.arange(ROWS).astype(str)
        tables.append(pd.DataFrame({"id": ids, "model": system} | truths | scores))
    parameters = reports.ClassificationParameters.from_raw(
        {"preds": pd.concat(tables), "metrics": metric}
    )
    return [
        classification.study_of(parameters, limits)
        for limits in (Limits(), LIMITS_OF_READING_IN_BLOCKS)
    ]


@pytest.mark.parametrize("metric", ["macro_f1", "weighted_f1", "roc_auc_macro"])
def test_rare_labels_have_by_blocks_the_limits_of_memory(metric):
    """Two systems on 60 rows with 12 rare labels are read in memory and in blocks of 20 rows."""
    in_memory, by_blocks = rare_labels_in_memory_and_by_blocks(metric)
    assert_same_estimates_and_comparisons(in_memory, by_blocks)


def test_the_f1_of_rare_labels_at_each_threshold_has_by_blocks_the_limits_of_memory():
    """The curve of macro F1 has a value y with limits for each threshold (`sweep`)."""
    in_memory, by_blocks = rare_labels_in_memory_and_by_blocks("macro_f1")
    curve_in_memory = in_memory.sweep.query("system == 'macro_f1'")[["y", "low", "high"]]
    curve_by_blocks = by_blocks.sweep.query("system == 'macro_f1'")[["y", "low", "high"]]
    np.testing.assert_allclose(curve_by_blocks, curve_in_memory, rtol=1e-9)


def assert_same_estimates_and_comparisons(first, second):
    numbers = ["value", "low", "high"]
    np.testing.assert_allclose(first.estimates[numbers], second.estimates[numbers], rtol=1e-9)
    if len(first.comparisons):
        numbers = ["difference", "low", "high", "p"]
        np.testing.assert_allclose(
            first.comparisons[numbers], second.comparisons[numbers], rtol=1e-9
        )


def test_rmse_of_unlike_weights_says_how_often_it_holds():
    """The weights of 125 rows of 25 users are very different (lognormal). How often the interval of
    RMSE holds the true value was measured for such data, of which a finding tells.
    """
    table = forecasts_of_users(25).assign(weight=np.random.default_rng(1).lognormal(0, 1, 125))
    study = ek.rating(table, unit="user", metrics="rmse")
    findings = [str(finding) for finding in rating_page.every_finding(study)]
    assert any(measured.UNEQUAL_ERRORS.strip() in finding for finding in findings)


def test_rows_without_units_and_weights_have_no_effective_number_of_units():
    """Rows are the units if none are named, although the table has a column of users."""
    assert ek.rating(forecasts_of_users(25), metrics="rmse").equal_units is None


def test_few_clusters_state_the_smallest_p_of_their_sign_flips():
    """The 50 rows are of 5 stores. The test of the difference of two systems flips the signs of
    whole stores, in 2^5 = 32 ways. At least two of them are as extreme as the data, the data and
    their opposite, so that p is at least 2/32 = 0.0625, which is printed as 0.062. EK201 is the
    finding that says so.
    """
    rng = np.random.default_rng(3)
    actual = rng.normal(size=50)
    rows = {"actual": actual, "store": np.repeat(list("abcde"), 10)}
    for name, noise in {"old": 2.0, "new": 1.0}.items():
        rows[f"forecast_{name}"] = actual + noise * rng.normal(size=50)
    findings = ek.rating(rows, unit="store", metrics="mae").findings
    (message,) = findings.loc[findings["code"] == "EK201", "message"]
    assert "No exact p below 0.062 is possible." in message
