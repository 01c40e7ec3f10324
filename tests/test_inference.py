"""Every binary metric with interval and comparison: against R, against each other, weights, units, ties, one class."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import ANY_TIME, expected, predictions

from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import (
    Share,
)
from evalkit.catalogue.score_kinds import Calibration
from evalkit.metrics import counts
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import OfRows

NAMES = [name for name, metric in lookup.TABLES["counts"].items() if metric.needs != "scores of units"]
ALONE = [name for name in NAMES if isinstance(lookup.find(name, "counts").metric.kind, Calibration)]
LIMITED = [name for name in NAMES if name not in ALONE]
SMOOTH = ("roc_auc", "average_precision", "brier_skill", "log_loss", "recall", "precision", "f1", "mcc", "lift")


def rng():
    return np.random.default_rng(1)


def chosen(name):
    return lookup.find(name, "counts")


def credit(model):
    frame = predictions("german_credit")
    frame = frame[frame.model == model].sort_values("id")
    return Rows(frame.y_true.to_numpy(np.int64), frame.y_score.to_numpy(float))


def estimate(name, s):
    return inference.estimate(OfRows(chosen(name), s), Options(0.95, rng()))


def compare(name, a, b):
    return inference.compare(OfRows(chosen(name), a), OfRows(chosen(name), b), Options(0.95, rng()))


@pytest.mark.parametrize("pair", ["forest vs gbm", "forest vs logistic", "gbm vs logistic"])
def test_areas_are_compared_as_by_proc(pair):
    truth = expected("german_credit")["pROC"]["pairs"][pair]
    first, second = (OfRows(chosen("roc_auc"), credit(name)) for name in pair.split(" vs "))
    c = inference.compare(first, second, Options(0.95, rng()))
    error = np.sqrt(first.apart(second)[0].sum())
    value = c.difference.value
    limits = value + error * NormalDist().inv_cdf(0.975) * np.array([-1, 1])
    assert limits == pytest.approx(truth["ci95_diff"], abs=1e-9)
    assert 2 * NormalDist().cdf(-abs(value) / error) == pytest.approx(truth["p"], abs=1e-9)
    assert truth["p"] < c.p_value < 1.05 * truth["p"]  # t on Satterthwaite's degrees of freedom, pROC's is normal
    assert c.method == "DeLong, Welch t"


def test_right_and_wrong_are_compared_by_mcnemar():
    c = compare("accuracy", credit("gbm"), credit("forest"))
    assert c.method == "asymptotic McNemar test"
    assert c.p_value == pytest.approx(0.0563, abs=5e-5)
    assert compare("error_rate", credit("gbm"), credit("forest")).p_value == c.p_value
    positives = compare("recall", credit("gbm"), credit("forest"))
    assert positives.difference.n == 300


@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_the_metric(name):
    s = credit("forest")
    e = estimate(name, s)
    assert e.value == pytest.approx(chosen(name).value(s), abs=1e-12)
    assert e.low <= e.value <= e.high or (name in ALONE and np.isnan([e.low, e.high]).all())


@pytest.mark.parametrize("name", SMOOTH)
def test_influence_by_rows_agrees_with_the_closed_forms_and_the_bootstrap(name):
    """Two ways to one interval: as it is, and by the influence of each row with every row its own unit."""
    plain = credit("forest")
    units = replace(plain, unit=np.arange(len(plain.actual)))
    a, b = estimate(name, plain), estimate(name, units)
    assert b.value == pytest.approx(a.value, abs=1e-12)
    assert (b.high - b.low) == pytest.approx(a.high - a.low, rel=0.15)
    first, second = (compare(name, s, replace(credit("gbm"), unit=s.unit)) for s in (plain, units))
    assert second.difference.value == pytest.approx(first.difference.value, abs=1e-12)
    width = first.difference.high - first.difference.low
    assert second.difference.high - second.difference.low == pytest.approx(width, rel=0.2)


def test_copies_of_rows_in_one_unit_are_no_news():
    s = credit("logistic")
    twice = Rows(np.tile(s.actual, 2), np.tile(s.score, 2), 0.5, unit=np.tile(np.arange(1000), 2))
    once = replace(s, unit=np.arange(1000))
    for name in ("roc_auc", "average_precision", "f1", "recall", "brier"):
        a, b = estimate(name, once), estimate(name, twice)
        assert (b.value, b.low, b.high) == pytest.approx((a.value, a.low, a.high), abs=2e-3), name


def test_weights_of_one_change_nothing_and_whole_weights_repeat():
    s = credit("forest")
    ones = replace(s, weight=np.ones(1000))
    weight = np.random.default_rng(3).integers(1, 4, 1000)
    weighted = replace(s, weight=weight.astype(float))
    repeated = Rows(np.repeat(s.actual, weight), np.repeat(s.score, weight), 0.5)
    for name in NAMES:
        assert chosen(name).value(ones) == pytest.approx(chosen(name).value(s), abs=1e-12), name
        assert chosen(name).value(weighted) == pytest.approx(chosen(name).value(repeated), abs=1e-12), name


@pytest.mark.parametrize("name", NAMES)
def test_one_class_is_undefined_or_right_and_never_fails(name):
    s = Rows(np.zeros(20, np.int64), np.linspace(0, 1, 20), 0.5)
    e = estimate(name, s)
    c = compare(name, s, replace(s, score=s.score**2))
    if np.isnan(e.value):
        assert np.isnan([e.low, e.high, c.p_value, c.difference.value]).all()
        assert c.difference.n == 0
    else:
        assert not chosen(name).metric.undefined.startswith(("a class has no row", "there is no positive"))


@pytest.mark.parametrize("name", LIMITED)
def test_a_model_against_itself_differs_by_nothing(name):
    s = credit("forest")
    c = compare(name, s, s)
    assert c.difference.value == 0
    assert c.p_value == 1.0


def test_perfect_scores_have_an_interval():
    s = Rows(np.repeat([0, 1], 30), np.arange(60.0), 30.0)
    e = estimate("roc_auc", s)
    assert (e.value, e.high, e.method) == (1.0, 1.0, "Newcombe 5")
    assert 0.8 < e.low < 1


scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=4, max_size=40)


@ANY_TIME
@given(scores, st.integers(0, 7))
def test_decisions_are_what_counts_at_the_threshold_say(data, threshold):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    s = Rows(label.astype(np.int64), score.astype(float), float(threshold))
    at = counts.at(s.counts, threshold)
    for name, metric in (("precision", counts.precision), ("recall", counts.recall), ("f1", counts.f_score)):
        assert chosen(name).value(s) == pytest.approx(float(metric(at)), nan_ok=True)
    for name, metric in lookup.TABLES["counts"].items():
        if isinstance(metric.kind, Share):
            member, hit = metric.kind.hits(s)
            value = hit[member].mean() if member.any() else np.nan
            assert chosen(name).value(s) == pytest.approx(value, nan_ok=True), name
            assert chosen(name).at(s.counts, threshold) == pytest.approx(value, nan_ok=True), name


def test_a_metric_of_a_threshold_is_its_function_of_the_counts():
    at = counts.at(credit("forest").counts, 0.5)
    for name in ("accuracy", "error_rate", "false_positive_rate", "false_negative_rate", "youden", "predicted_rate"):
        assert chosen(name).value(credit("forest")) == pytest.approx(float(getattr(counts, name)(at)), abs=1e-15), name


def null(rows, seed):
    """Two equally good models of the same rows."""
    random = np.random.default_rng(seed)
    label = (random.random(rows) < 0.4).astype(np.int64)
    base = random.standard_normal(rows) + label
    return [Rows(label, base + random.normal(0, 0.7, rows), 0.5) for _ in range(2)]


@pytest.mark.parametrize("name", ["roc_auc", "f1"])
def test_p_values_under_the_null(name):
    p = [compare(name, *null(200, seed)).p_value for seed in range(30)]
    assert np.mean(np.array(p) < 0.05) <= 0.2
    assert 0.3 < np.mean(p) < 0.7


@pytest.mark.parametrize("name", ["average_precision", "f1", "mcc"])
def test_influence_rejects_a_true_null_as_often_as_it_says(name):
    p = np.array([compare(name, *null(300, seed)).p_value for seed in range(1_000)])
    assert 0.035 <= np.mean(p < 0.05) <= 0.065  # 0.05 ± 2.2 standard errors of 1,000 draws


@pytest.mark.slow
@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "f1", "precision", "mcc", "accuracy", "log_loss"])
def test_p_values_under_the_null_at_length(name):
    p = np.array([compare(name, *null(300, seed)).p_value for seed in range(10_000)])
    print(f"{name}: rejected at 0.05: {np.mean(p < 0.05):.4f}, at 0.01: {np.mean(p < 0.01):.4f}")
    assert np.mean(p < 0.05) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ks", "lift"])
def test_p_values_of_what_is_less_smooth_at_length(name):
    """3,000 draws tell the level to 0.4 points: at most 0.06 with room for what that leaves open."""
    p = np.array([compare(name, *null(300, seed)).p_value for seed in range(3_000)])
    print(f"{name}: rejected at 0.05: {np.mean(p < 0.05):.4f}, at 0.01: {np.mean(p < 0.01):.4f}")
    assert np.mean(p < 0.05) <= 0.06


@pytest.mark.parametrize("name", ["average_precision", "ks", "roc_auc"])
def test_the_closed_forms_are_the_derivatives(name):
    s, metric = credit("forest"), chosen(name)
    rows = metric.effects(s).rows
    assert rows.sum() == pytest.approx(0, abs=1e-12)
    for row in (0, 17, 400, 999):
        weight = np.ones(1000)
        weight[row] += 1e-6
        assert (metric.value(replace(s, weight=weight)) - metric.value(s)) / 1e-6 == pytest.approx(rows[row], abs=1e-6)


def test_average_precision_has_no_test_where_a_class_has_one_row():
    label, score = np.array([1, 0, 0, 0, 0]), np.array([0.9, 0.8, 0.3, 0.2, 0.1])
    c = compare("average_precision", Rows(label, score, 0.5), Rows(label, score[::-1].copy(), 0.5))
    assert np.isnan([c.p_value, c.difference.low, c.difference.high]).all()
    assert c.difference.value == pytest.approx(0.8)


def test_one_unit_claims_nothing():
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 300)
    one = Rows(label, rng.normal(size=300) + label, 0.5, unit=np.full(300, "u"))
    e = estimate("roc_auc", one)
    assert e.n == 1
    assert np.isnan([e.low, e.high]).all()
