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
BLOCKS = Limits(reading=Reading(rows=20, shard=20, largest=20))


def options():
    return Options(0.95, np.random.default_rng(1))


def rare_labels(seed, share=0.1):
    rng = np.random.default_rng(seed)
    label = rng.random((ROWS, LABELS)) < share
    label[0] = True  # each label is true somewhere
    score = expit(3 * label - 2 + rng.normal(size=label.shape))
    return Rows(label, score, np.full(LABELS, 0.5))


def macro_f1(rows, keep):
    actual = rows.actual[keep]
    predicted = rows.scores[keep] >= 0.5
    return f1_score(actual, predicted, average="macro", zero_division=0.0)


def without_each_row(rows):
    return np.array([macro_f1(rows, np.arange(ROWS) != i) for i in range(ROWS)])


def positives(share, count, seed=1):
    """Rows of which `count` are positive, a share of them."""
    rng = np.random.default_rng(seed)
    label = (np.arange(round(count / share)) < count).astype(int)
    return Rows(label, expit(2 * label + rng.normal(size=label.size)))


def statistic(name, structure, rows):
    return RowStatistic(find_metric(name, structure), rows)


def users(count, seed=3):
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(count), 5)
    level = rng.normal(size=count)[user] + rng.normal(size=user.size)
    forecast = level + 0.3 * rng.normal(size=user.size)
    actual = level + rng.normal(size=count)[user]
    names = {"id": np.arange(user.size).astype(str), "user": user.astype(str)}
    return pd.DataFrame(names | {"actual": actual, "forecast_a": forecast})


def test_the_error_of_a_mean_over_rare_labels_is_that_of_leaving_out_each_row():
    rows = rare_labels(1)
    without = without_each_row(rows)
    error = np.sqrt((ROWS - 1) / ROWS * np.sum((without - without.mean()) ** 2))
    of = statistic("macro_f1", "labels", rows)
    assert of.scarce
    assert of.leave_one_out().spread.error == pytest.approx(error, rel=1e-12)


def test_the_interval_of_a_mean_over_rare_labels_lies_around_the_value_without_its_bias():
    rows = rare_labels(1)
    without = without_each_row(rows)
    value = macro_f1(rows, np.arange(ROWS))
    centre = value - (ROWS - 1) * (without.mean() - value)
    error = np.sqrt((ROWS - 1) / ROWS * np.sum((without - without.mean()) ** 2))
    step = stdtrit(ROWS - 1, 0.975) * error / (centre * (1 - centre))
    e = inference.estimate(statistic("macro_f1", "labels", rows), options())
    assert [e.low, e.high] == pytest.approx(
        [expit(logit(centre) - step), expit(logit(centre) + step)], rel=1e-12
    )


def test_two_systems_on_rare_labels_are_compared_by_leaving_out_each_row():
    first = rare_labels(1)
    second = rare_labels(1)
    second = Rows(first.actual, second.scores**1.5, np.full(LABELS, 0.5))
    apart = without_each_row(first) - without_each_row(second)
    error = np.sqrt((ROWS - 1) / ROWS * np.sum((apart - apart.mean()) ** 2))
    a, b = (statistic("macro_f1", "labels", rows) for rows in (first, second))
    assert a.leave_one_out().null_difference_spread(b.leave_one_out()).error == pytest.approx(
        error, rel=1e-12
    )
    c = inference.compare(a, b, options())
    assert (c.p_value < 0.05) == (not c.difference.low <= 0 <= c.difference.high)


def test_labels_with_enough_positives_keep_mover():
    few = statistic("macro_f1", "labels", rare_labels(1, share=0.9))
    assert not few.scarce
    assert inference.estimate(few, options()).method == "MOVER"


def test_the_area_over_many_small_classes_is_t_on_the_logit_scale():
    rng = np.random.default_rng(1)
    label = np.arange(200) % 20
    odds = np.exp(1.5 * np.eye(20)[label] + rng.normal(size=(200, 20)))
    of = statistic("roc_auc_ovr", "classes", Rows(label, odds, classes=20))
    step = stdtrit(199, 0.975) * of.spread.error / (of.value * (1 - of.value))
    e = inference.estimate(of, options())
    assert e.low == pytest.approx(expit(logit(of.value) - step), rel=1e-12)
    assert e.high == pytest.approx(expit(logit(of.value) + step), rel=1e-12)


def test_few_rare_positives_have_limits_no_closer_than_boyds():
    rows = positives(0.01, 15)
    of = statistic("average_precision", "counts", rows)
    centre = of.value - influence.average_precision_bias(rows.counts)
    step = stdtrit(14, 0.975) / np.sqrt(15 * centre * (1 - centre))
    e = inference.estimate(of, options())
    assert e.low <= expit(logit(centre) - step) + 1e-12
    assert e.high >= expit(logit(centre) + step) - 1e-12


@pytest.mark.parametrize("share, count", [(0.3, 15), (0.01, 60)])
def test_frequent_or_many_positives_keep_t_on_the_logit_scale(share, count):
    e = inference.estimate(
        statistic("average_precision", "counts", positives(share, count)), options()
    )
    assert e.method == "t on the logit scale"


def test_average_precision_of_independent_samples_is_compared_by_mover_of_its_limits():
    sides = [statistic("average_precision", "counts", positives(0.1, 30, seed)) for seed in (1, 2)]
    c = inference.compare_independent_orders(*sides, options())
    a, b = (inference.estimate(side, options()) for side in sides)
    expected = intervals.mover(a, b)
    assert [c.difference.low, c.difference.high] == pytest.approx([expected.low, expected.high])
    at_p = Options(1 - c.p_value, np.random.default_rng(1))
    limits = intervals.mover(*(inference.estimate(side, at_p) for side in sides))
    assert min(abs(limits.low), abs(limits.high)) == pytest.approx(0, abs=1e-9)


def test_a_single_positive_has_no_limits_and_is_not_told_apart_from_another_sample():
    rows = [Rows(np.arange(60) < count, np.linspace(0, 1, 60)) for count in (1, 20)]
    sides = [statistic("average_precision", "counts", each) for each in rows]
    c = inference.compare_independent_orders(*sides, options())
    assert np.isnan([c.difference.low, c.difference.high, c.p_value]).all()
    assert significance.verdict(c) == "cannot tell"


def test_a_diff_without_common_units_compares_average_precision_by_mover(tmp_path):
    rng = np.random.default_rng(1)
    for day in ("old", "new"):
        label = (np.arange(200) < 20).astype(int)
        score = expit(label + rng.normal(size=200))
        names = np.char.add(day, np.arange(200).astype(str))
        table = pd.DataFrame({"id": names, "y_true": label, "score_a": score})
        asked = {"preds": table, "metrics": "average_precision"}
        study = classification.study_of(reports.ClassificationParameters.from_raw(asked))
        study.write_units(tmp_path / f"{day}.units.parquet")
    sides = (tmp_path / f"{day}.units.parquet" for day in ("old", "new"))
    assert ek.diff(*sides).comparisons["method"].tolist() == ["MOVER"]


def test_limits_by_bootstrap_t_are_those_of_a_plain_loop():
    terms = np.array([[1.0, 2, 1, 3, 1, 2], [2.0, 3, 1, 9, 4, 2]])

    def mean(means):
        return means[0], np.ones_like(means)

    def value_and_error(part):
        value = part[1].sum() / part[0].sum()
        n = part.shape[1]
        moved = (part[1] - value * part[0]) / part[0].sum()
        return value, np.sqrt(n / (n - 1) * np.sum(moved**2))

    draws = np.random.default_rng(1).multinomial(6, np.full(6, 1 / 6), size=500)
    value, error = value_and_error(terms)
    t = []
    for times in draws:
        drawn, own = value_and_error(np.repeat(terms, times, axis=1))
        if own > 1e-9:
            t.append((np.log(9 - drawn) - np.log(9 - value)) / (own / (9 - drawn)))
    tails = np.quantile(t, [0.025, 0.975])
    limits = bootstrap.t_limits(
        terms, mean, 9.0, rng=np.random.default_rng(1), level=0.95, resamples=500
    )
    expected = 9 - np.exp(np.log(9 - value) - tails * error / (9 - value))
    assert limits == pytest.approx(expected.tolist(), rel=1e-9)


@pytest.mark.parametrize(
    "count, method", [(8, "jackknife t, with a bootstrap-t"), (25, "jackknife t")]
)
def test_r2_of_few_units_allows_for_a_bootstrap_t(count, method):
    study = ek.rating(users(count), unit="user", metrics="r2")
    assert study.estimates["method"].tolist()[0] == method


@pytest.mark.parametrize("metric", ["r2", "r2_correlation"])
def test_few_units_have_by_blocks_the_limits_of_memory(metric):
    asked = reports.RatingParameters.from_raw(
        {"preds": users(8), "unit": "user", "metrics": metric}
    )
    held, summed = (rating.study_of(asked, limits) for limits in (Limits(), BLOCKS))
    assert_alike(held, summed)


@pytest.mark.parametrize("metric", ["macro_f1", "weighted_f1", "roc_auc_macro"])
def test_rare_labels_have_by_blocks_the_limits_of_memory(metric):
    first = rare_labels(1)
    second = rare_labels(2)
    tables = []
    for name, score in (("a", first.scores), ("b", second.scores)):
        truths = {f"y_l{j}": first.actual[:, j].astype(int) for j in range(LABELS)}
        scores = {f"p_l{j}": score[:, j] for j in range(LABELS)}
        ids = np.arange(ROWS).astype(str)
        tables.append(pd.DataFrame({"id": ids, "model": name} | truths | scores))
    asked = reports.ClassificationParameters.from_raw(
        {"preds": pd.concat(tables), "metrics": metric}
    )
    held, summed = (classification.study_of(asked, limits) for limits in (Limits(), BLOCKS))
    assert_alike(held, summed)
    if metric == "macro_f1":
        macro = [study.sweep.query("system == 'macro_f1'") for study in (held, summed)]
        alike = [sweep[["y", "low", "high"]] for sweep in macro]
        np.testing.assert_allclose(*alike, rtol=1e-9)


def assert_alike(held, summed):
    limits = ["value", "low", "high"]
    np.testing.assert_allclose(held.estimates[limits], summed.estimates[limits], rtol=1e-9)
    if len(held.comparisons):
        sides = ["difference", "low", "high", "p"]
        np.testing.assert_allclose(held.comparisons[sides], summed.comparisons[sides], rtol=1e-9)


def test_rmse_of_unlike_weights_says_how_often_it_holds():
    table = users(25).assign(weight=np.random.default_rng(1).lognormal(0, 1, 125))
    study = ek.rating(table, unit="user", metrics="rmse")
    told = [str(finding) for finding in rating_page.every_finding(study)]
    assert any(measured.UNEQUAL_ERRORS.strip() in text for text in told)


def test_equal_rows_are_said_to_be_nothing_of():
    assert ek.rating(users(25), metrics="rmse").equal_units is None


def test_few_clusters_state_the_smallest_p_of_their_sign_flips():
    rng = np.random.default_rng(3)
    actual = rng.normal(size=50)
    rows = {"actual": actual, "store": np.repeat(list("abcde"), 10)}
    for name, noise in {"old": 2.0, "new": 1.0}.items():
        rows[f"forecast_{name}"] = actual + noise * rng.normal(size=50)
    found = ek.rating(rows, unit="store", metrics="mae").findings
    assert "No exact p below 0.062 is possible." in found.query("code == 'EK201'").message.item()
