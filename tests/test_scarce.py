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
from evalkit.limits import Limits, Reading
from evalkit.metrics import influence
from evalkit.metrics.rows import Rows
from evalkit.pages import rating_page
from evalkit.parameters import reports
from evalkit.statistics import bootstrap, inference, intervals, significance
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic
from evalkit.studies import classification, rating

LABELS, ROWS = 12, 60
BLOCKS = Limits(reading=Reading(rows=20, shard=20, largest=20))  # 20 rows at a time


def options(level=0.95):
    return Options(level, np.random.default_rng(1))


def rare_labels(seed, share=0.1):
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


def jackknife_error(values):
    """The standard error by the jackknife, from the values without one row each."""
    n = len(values)
    return np.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2))


def limits_on_logit_scale(centre, error, freedom):
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


def statistic_of(name, structure, rows):
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
    rows = rare_labels(1)
    error = jackknife_error(macro_f1_without_each_row(rows))
    statistic = statistic_of("macro_f1", "labels", rows)
    assert statistic.scarce  # so that its error is that of leaving out each row
    assert statistic.leave_one_out().spread.error == pytest.approx(error, rel=1e-12)


def test_the_interval_of_a_mean_over_rare_labels_lies_around_the_value_without_its_bias():
    """Macro F1 of few positives is biased. The jackknife takes the bias, n − 1 times what the mean
    without one row lies above the value, off the value.
    """
    rows = rare_labels(1)
    without_row = macro_f1_without_each_row(rows)
    value = macro_f1(rows)
    unbiased = value - (ROWS - 1) * (without_row.mean() - value)
    expected = limits_on_logit_scale(unbiased, jackknife_error(without_row), ROWS - 1)
    estimate = inference.estimate(statistic_of("macro_f1", "labels", rows), options())
    assert [estimate.low, estimate.high] == pytest.approx(expected, rel=1e-12)


def two_systems_on_rare_labels():
    """The second system's scores are the first one's to the power of 1.5, so that some fall below
    the threshold.
    """
    first = rare_labels(1)
    return first, Rows(first.actual, first.scores**1.5, np.full(LABELS, 0.5))


def test_a_difference_on_rare_labels_has_the_error_of_leaving_out_each_row():
    first, second = two_systems_on_rare_labels()
    differences = macro_f1_without_each_row(first) - macro_f1_without_each_row(second)
    a, b = (statistic_of("macro_f1", "labels", rows).leave_one_out() for rows in (first, second))
    error = a.null_difference_spread(b).error
    assert error == pytest.approx(jackknife_error(differences), rel=1e-12)


def test_a_difference_on_rare_labels_has_p_below_5_percent_where_its_interval_excludes_0():
    a, b = (statistic_of("macro_f1", "labels", rows) for rows in two_systems_on_rare_labels())
    comparison = inference.compare(a, b, options())
    excludes_0 = comparison.difference.low > 0 or comparison.difference.high < 0
    assert (comparison.p_value < 0.05) == excludes_0


def test_labels_with_enough_positives_keep_mover():
    """Each label is true for about 54 of 60 rows."""
    statistic = statistic_of("macro_f1", "labels", rare_labels(1, share=0.9))
    assert not statistic.scarce
    assert inference.estimate(statistic, options()).method == "MOVER"


def test_the_mean_auc_of_many_small_classes_has_an_interval_by_t_on_the_logit_scale():
    """Of 20 classes with 10 rows each; one class against the others."""
    rng = np.random.default_rng(1)
    label = np.arange(200) % 20
    odds = np.exp(1.5 * np.eye(20)[label] + rng.normal(size=(200, 20)))
    statistic = statistic_of("roc_auc_ovr", "classes", Rows(label, odds, classes=20))
    expected = limits_on_logit_scale(statistic.value, statistic.spread.error, 200 - 1)
    estimate = inference.estimate(statistic, options())
    assert [estimate.low, estimate.high] == pytest.approx(expected, rel=1e-12)


def test_few_rare_positives_have_limits_no_closer_than_boyds():
    """Boyd, Eng and Page (2013) take average precision for a binomial share of the positives, with
    the error √(AP (1 − AP) / 15) for 15 positives; here with t and less the bias.
    """
    rows = scored_rows(positives=15, share=0.01)
    statistic = statistic_of("average_precision", "counts", rows)
    unbiased = statistic.value - influence.average_precision_bias(rows.counts)
    error = np.sqrt(unbiased * (1 - unbiased) / 15)
    low_of_boyd, high_of_boyd = limits_on_logit_scale(unbiased, error, 15 - 1)
    estimate = inference.estimate(statistic, options())
    assert estimate.low <= low_of_boyd + 1e-12
    assert estimate.high >= high_of_boyd - 1e-12


@pytest.mark.parametrize(
    "positives, share", [(15, 0.3), (60, 0.01)], ids=["few but frequent", "rare but many"]
)
def test_frequent_or_many_positives_keep_t_on_the_logit_scale(positives, share):
    rows = scored_rows(positives, share)
    estimate = inference.estimate(statistic_of("average_precision", "counts", rows), options())
    assert estimate.method == "t on the logit scale"


def average_precision_of_two_samples():
    """The average precision of two independent samples of 300 rows, 30 of them positive."""
    return [
        statistic_of("average_precision", "counts", scored_rows(30, 0.1, seed)) for seed in (1, 2)
    ]


def test_average_precision_of_independent_samples_is_compared_by_mover_of_its_limits():
    samples = average_precision_of_two_samples()
    comparison = inference.compare_independent_orders(*samples, options())
    expected = intervals.mover(*(inference.estimate(sample, options()) for sample in samples))
    limits = [comparison.difference.low, comparison.difference.high]
    assert limits == pytest.approx([expected.low, expected.high])


def test_the_p_of_mover_is_where_a_limit_of_the_interval_reaches_0():
    """The interval at level 1 − p just touches the null difference."""
    samples = average_precision_of_two_samples()
    p = inference.compare_independent_orders(*samples, options()).p_value
    limits = intervals.mover(
        *(inference.estimate(sample, options(level=1 - p)) for sample in samples)
    )
    assert min(abs(limits.low), abs(limits.high)) == pytest.approx(0, abs=1e-9)


def test_a_single_positive_has_no_limits_and_is_not_told_apart_from_another_sample():
    """One of 60 rows is positive, in the other sample 20."""
    samples = [
        statistic_of(
            "average_precision", "counts", Rows(np.arange(60) < positives, np.linspace(0, 1, 60))
        )
        for positives in (1, 20)
    ]
    comparison = inference.compare_independent_orders(*samples, options())
    difference = comparison.difference
    assert np.isnan([difference.low, difference.high, comparison.p_value]).all()
    assert significance.verdict(comparison) == "cannot tell"


def test_a_diff_without_common_units_compares_average_precision_by_mover(tmp_path):
    """The ids of the rows are old0, old1, … and new0, new1, …"""
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
    """The limits of a weighted mean that is at most 9, by the bootstrap-t (Efron and Tibshirani
    1993, 12.5) on the scale log(9 − mean), where an error is divided by 9 − mean by the delta
    method.
    """
    weights = np.array([1.0, 2, 1, 3, 1, 2])
    sums = np.array([2.0, 3, 1, 9, 4, 2])
    units = np.arange(6)

    def mean_and_error(sample):
        weight = weights[sample]
        mean = sums[sample].sum() / weight.sum()
        influence_of_units = (sums[sample] - mean * weight) / weight.sum()
        n = len(sample)
        return mean, np.sqrt(n / (n - 1) * np.sum(influence_of_units**2))

    mean, error = mean_and_error(units)
    t = []
    counts_of_units = np.random.default_rng(1).multinomial(6, np.full(6, 1 / 6), size=500)
    for counts in counts_of_units:
        mean_of_sample, error_of_sample = mean_and_error(np.repeat(units, counts))
        if error_of_sample > 1e-9:  # 0 if a sample repeats units of one mean
            distance = np.log(9 - mean_of_sample) - np.log(9 - mean)
            t.append(distance / (error_of_sample / (9 - mean_of_sample)))
    tails = np.quantile(t, [0.025, 0.975])
    expected = 9 - np.exp(np.log(9 - mean) - tails * error / (9 - mean))

    def identity_and_gradient(means):
        return means[0], np.ones_like(means)

    limits = bootstrap.t_limits(
        np.array([weights, sums]),
        identity_and_gradient,
        9.0,
        rng=np.random.default_rng(1),
        level=0.95,
        resamples=500,
    )
    assert limits == pytest.approx(expected.tolist(), rel=1e-9)


@pytest.mark.parametrize(
    "count, method", [(8, "jackknife t, with a bootstrap-t"), (25, "jackknife t")]
)
def test_r2_of_few_units_allows_for_a_bootstrap_t(count, method):
    study = ek.rating(forecasts_of_users(count), unit="user", metrics="r2")
    assert study.estimates["method"].tolist()[0] == method


@pytest.mark.parametrize("metric", ["r2", "r2_correlation"])
def test_few_units_have_by_blocks_the_limits_of_memory(metric):
    parameters = reports.RatingParameters.from_raw(
        {"preds": forecasts_of_users(8), "unit": "user", "metrics": metric}
    )
    in_memory, by_blocks = (rating.study_of(parameters, limits) for limits in (Limits(), BLOCKS))
    assert_same_estimates_and_comparisons(in_memory, by_blocks)


def rare_labels_in_memory_and_by_blocks(metric):
    """The studies of two systems on the same rare labels, read at once and 20 rows at a time."""
    actual = rare_labels(1).actual
    truths = {f"y_l{j}": actual[:, j].astype(int) for j in range(LABELS)}
    tables = []
    for system, seed in (("a", 1), ("b", 2)):
        scores = {f"p_l{j}": rare_labels(seed).scores[:, j] for j in range(LABELS)}
        ids = np.arange(ROWS).astype(str)
        tables.append(pd.DataFrame({"id": ids, "model": system} | truths | scores))
    parameters = reports.ClassificationParameters.from_raw(
        {"preds": pd.concat(tables), "metrics": metric}
    )
    return [classification.study_of(parameters, limits) for limits in (Limits(), BLOCKS)]


@pytest.mark.parametrize("metric", ["macro_f1", "weighted_f1", "roc_auc_macro"])
def test_rare_labels_have_by_blocks_the_limits_of_memory(metric):
    in_memory, by_blocks = rare_labels_in_memory_and_by_blocks(metric)
    assert_same_estimates_and_comparisons(in_memory, by_blocks)


def test_the_f1_of_rare_labels_at_each_threshold_has_by_blocks_the_limits_of_memory():
    curves = [
        study.sweep.query("system == 'macro_f1'")[["y", "low", "high"]]
        for study in rare_labels_in_memory_and_by_blocks("macro_f1")
    ]
    np.testing.assert_allclose(*curves, rtol=1e-9)


def assert_same_estimates_and_comparisons(first, second):
    numbers = ["value", "low", "high"]
    np.testing.assert_allclose(first.estimates[numbers], second.estimates[numbers], rtol=1e-9)
    if len(first.comparisons):
        numbers = ["difference", "low", "high", "p"]
        np.testing.assert_allclose(
            first.comparisons[numbers], second.comparisons[numbers], rtol=1e-9
        )


def test_rmse_of_unlike_weights_says_how_often_it_holds():
    table = forecasts_of_users(25).assign(weight=np.random.default_rng(1).lognormal(0, 1, 125))
    study = ek.rating(table, unit="user", metrics="rmse")
    findings = [str(finding) for finding in rating_page.every_finding(study)]
    assert any(measured.UNEQUAL_ERRORS.strip() in finding for finding in findings)


def test_rows_without_units_and_weights_have_no_effective_number_of_units():
    assert ek.rating(forecasts_of_users(25), metrics="rmse").equal_units is None


def test_few_clusters_state_the_smallest_p_of_their_sign_flips():
    """Of the 2^5 = 32 sign vectors of 5 stores two are the most extreme: 2/32 = 0.0625."""
    rng = np.random.default_rng(3)
    actual = rng.normal(size=50)
    rows = {"actual": actual, "store": np.repeat(list("abcde"), 10)}
    for name, noise in {"old": 2.0, "new": 1.0}.items():
        rows[f"forecast_{name}"] = actual + noise * rng.normal(size=50)
    findings = ek.rating(rows, unit="store", metrics="mae").findings
    (message,) = findings.loc[findings["code"] == "EK201", "message"]
    assert "No exact p below 0.062 is possible." in message
