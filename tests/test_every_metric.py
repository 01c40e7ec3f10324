"""Every metric of rows: values of public tools of the same rows, and what order, weights, copies
and swaps may do.
"""

from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME, compare, estimate, examples, expected, options, predictions
from sklearn import metrics as sk

from evalkit.catalogue import lookup
from evalkit.catalogue.kinds import Share
from evalkit.catalogue.score_kinds import Calibration
from evalkit.metrics import counts, predictive
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference, methods
from evalkit.statistics.statistic import RowStatistic


def credit(model):
    frame = predictions("german_credit")
    frame = frame[frame.model == model].sort_values("id")
    return Rows(frame.y_true.to_numpy(np.int64), frame.y_score.to_numpy(float))


def classified(seed):
    """Rows of four classes, one of them rare."""
    actual = np.random.default_rng(7).choice(4, 400, p=[0.4, 0.3, 0.2, 0.1])
    score = np.random.default_rng(seed).dirichlet(np.ones(4), 400) + 0.2 * np.eye(4)[actual]
    score /= score.sum(axis=1, keepdims=True)
    return Rows(actual, score, decision=score.argmax(axis=1), classes=4)


def labelled(seed):
    """Rows of four labels, of which each has one."""
    actual = np.random.default_rng(4).random((250, 4)) < [0.2, 0.3, 0.2, 0.6]
    actual[:, 3] |= ~actual.any(axis=1)
    return Rows(
        actual, np.clip(actual * 0.4 + np.random.default_rng(seed).random((250, 4)) * 0.6, 0, 1)
    )


def forecasts(seed):
    rng = np.random.default_rng(3)
    actual = rng.gamma(2, 2, 300)
    forecast = np.maximum(actual + np.random.default_rng(seed).normal(0.3, 1.5, 300), 0.05)
    scale = rng.gamma(4, 0.5, 300)
    squares = rng.uniform(1, 2, 300)
    columns = {"naive_mae": scale, "naive_mse": squares, "reference": rng.gamma(2, 2, 300)}
    return Rows(actual, forecast, columns=columns)


def distributed(seed, needs):
    """Forecasts with the distributions that a metric needs."""
    rows = forecasts(seed)
    spread = np.random.default_rng(seed + 10).normal(0, 1, (11, len(rows))) + rows.score
    if needs.startswith("draws"):
        return replace(rows, predictive=predictive.Ensemble(spread))
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    return replace(rows, predictive=predictive.Quantiles(np.sort(spread, axis=0)[1::2], levels))


SAMPLES = {
    "counts": (credit("forest"), credit("gbm")),
    "classes": (classified(1), classified(2)),
    "labels": (labelled(1), labelled(2)),
    "forecasts": (forecasts(1), forecasts(2)),
}
CUTS = {
    "top": 2,
    "coverage": 0.5,
    "quantile_coverage": 95,
    "interval_width": 90,
    "interval_score": 90,
    "pinball": 90,
    "fbeta": 0.5,
    "precision@": 0.1,
    "recall@": 0.1,
    "lift@": 0.1,
    "recall@fpr": 0.1,
}
EVERY = [
    lookup.MetricAtK(
        metric, 90 if (structure, name) == ("forecasts", "coverage") else CUTS.get(name)
    )
    for structure in SAMPLES
    for name, metric in lookup.TABLES[structure].items()
    if metric.needs != "scores of units"
]
LIMITED = [chosen for chosen in EVERY if not isinstance(chosen.metric.kind, Calibration)]


def samples_of(chosen):
    """Rows of two systems that a metric can be computed from."""
    metric = chosen.metric
    if metric.structure == "forecasts" and metric.needs:
        return distributed(1, metric.needs), distributed(2, metric.needs)
    return SAMPLES[metric.structure]


def each(metrics):
    return pytest.mark.parametrize(
        "chosen", metrics, ids=lambda one: f"{one.metric.structure} {one.label}"
    )


def find(name, structure="counts"):
    return lookup.find_metric(name, structure)


# Public tools: those that oracles/classification.py does not ask ----------------------------------


PEERS = {
    (structure, name): peer
    for structure, table in examples("peers").items()
    for name, peer in table.items()
}
BY_HAND = {
    ("classes", "map_classes"): lambda s: sk.average_precision_score(
        np.eye(4)[s.actual], s.score, average="macro"
    ),
    ("forecasts", "wape"): lambda f: np.abs(f.actual - f.score).sum() / np.abs(f.actual).sum(),
    ("forecasts", "smape"): lambda f: np.mean(
        2 * np.abs(f.actual - f.score) / (np.abs(f.actual) + np.abs(f.score))
    ),
    ("forecasts", "r2_correlation"): lambda f: np.corrcoef(f.actual, f.score)[0, 1] ** 2,
    ("forecasts", "bias"): lambda f: np.mean(f.score - f.actual),
}


@pytest.mark.parametrize("structure, name", [*PEERS, *BY_HAND])
def test_equals_the_public_tool(structure, name):
    s = SAMPLES[structure][0]
    if peer := PEERS.get((structure, name)):
        said = getattr(s, peer.get("from", "predicted"))
        expected = getattr(sk, peer["of"])(s.actual, said, **peer.get("given", {}))
    else:
        expected = BY_HAND[structure, name](s)
    assert find(name, structure).value(s) == pytest.approx(expected, abs=1e-9)


# What may not change a value, and what its limits are ---------------------------------------------


@each(EVERY)
def test_order_changes_nothing_and_whole_weights_repeat_rows(chosen):
    assert find(chosen.label, chosen.metric.structure) == chosen
    s = samples_of(chosen)[0]
    rng = np.random.default_rng(8)
    n = len(s)
    weight = rng.integers(1, 4, n)
    value = chosen.value(s)
    assert estimate(chosen, s).value == pytest.approx(value, abs=1e-12)
    assert chosen.value(s.take(rng.permutation(n))) == pytest.approx(value, abs=1e-12)
    assert chosen.value(replace(s, weight=np.ones(n))) == pytest.approx(value, abs=1e-12)
    repeated = chosen.value(s.take(np.repeat(np.arange(n), weight)))
    assert chosen.value(replace(s, weight=weight.astype(float))) == pytest.approx(
        repeated, abs=1e-9
    )


@each(LIMITED)
def test_swapped_systems_mirror_the_difference_and_a_system_does_not_differ_from_itself(chosen):
    a, b = samples_of(chosen)
    there, back, same = (compare(chosen, *pair) for pair in ((a, b), (b, a), (a, a)))
    assert there.difference.value == pytest.approx(chosen.value(a) - chosen.value(b), abs=1e-12)
    assert back.p_value == pytest.approx(there.p_value, rel=1e-9)
    mirrored = [-back.difference.value, -back.difference.high, -back.difference.low]
    difference = [there.difference.value, there.difference.low, there.difference.high]
    assert mirrored == pytest.approx(difference, rel=1e-6, abs=1e-9)
    assert (same.p_value, same.difference.value) == (1, 0)


@cache
def resamples(structure, needs):
    rng = np.random.default_rng(6)
    n = len(SAMPLES[structure][0])
    rows = [rng.integers(0, n, n) for _ in range(150)]
    samples = SAMPLES[structure]
    if structure == "forecasts" and needs:
        samples = (distributed(1, needs), distributed(2, needs))
    return [[s.take(some) for some in rows] for s in samples]


@each(LIMITED)
def test_limits_are_as_wide_as_the_spread_of_resamples_by_row_and_by_unit(chosen):
    samples = samples_of(chosen)
    values, others = (
        [chosen.value(s) for s in side]
        for side in resamples(chosen.metric.structure, chosen.metric.needs)
    )
    spreads = np.nanstd(values), np.nanstd(np.subtract(values, others))
    units = [replace(s, unit=np.arange(len(s))) for s in samples]
    for first, second in (samples, units):
        e = estimate(chosen, first)
        difference = compare(chosen, first, second).difference
        assert chosen.metric.low <= e.low <= e.value <= e.high <= chosen.metric.high
        widths = np.array([e.high - e.low, difference.high - difference.low])
        assert widths / 3.92 / spreads == pytest.approx([1, 1], abs=chosen.metric.roughness)


@each(LIMITED)
def test_copies_in_one_unit_are_no_news(chosen):
    s = samples_of(chosen)[0]
    once = np.arange(len(s))
    twice = np.tile(once, 2)
    a, b = (estimate(chosen, replace(s.take(rows), unit=rows)) for rows in (once, twice))
    assert (b.value, b.low, b.high) == pytest.approx((a.value, a.low, a.high), rel=0.03, abs=0.01)


def test_metrics_of_the_highest_scores_are_those_of_scikit_learn_on_them():
    s = SAMPLES["counts"][0]
    y, score = s.actual, s.score + np.arange(len(s)) * 1e-9  # without ties
    for k, rows in ((25, 25), (300, 300), (0.02, 20)):
        top = np.zeros(len(y), int)
        top[np.argsort(-score)[:rows]] = 1
        precision = sk.precision_score(y, top)
        recall = sk.recall_score(y, top)
        values = {"precision": precision, "recall": recall, "lift": precision / y.mean()}
        for name, value in values.items():
            assert find(f"{name}@{k}").value(Rows(y, score)) == pytest.approx(value, abs=1e-12)
    tied = Rows(np.array([1, 0, 0, 1]), np.array([2.0, 1.0, 1.0, 0.0]))
    assert find("precision@2").value(tied) == 0.5  # half of a tie of two negatives
    assert np.isnan(find("precision@5").value(tied))


# over several rows
SMOOTHED = (
    "median_absolute_error",
    "break_even",
    "precision@0.1",
    "recall@0.1",
    "lift@0.1",
    "recall@fpr0.1",
)


@each([chosen for chosen in LIMITED if chosen.label not in SMOOTHED])
def test_effects_are_the_derivative_by_the_weight_of_a_row(chosen):
    s = samples_of(chosen)[0]
    moved = chosen.effects(s).influence
    even = np.ones(len(s))
    assert moved.sum() == pytest.approx(0, abs=1e-9)
    for row in (3, 50, 170):
        step = chosen.value(
            replace(s, weight=even + 1e-6 * (np.arange(len(s)) == row))
        ) - chosen.value(s)
        assert step / 1e-6 == pytest.approx(moved[row], rel=0.02, abs=1e-6)


@each(EVERY)
def test_one_row_and_one_class_have_no_interval_or_one_that_holds_the_value(chosen):
    s = samples_of(chosen)[0]
    alike = np.flatnonzero((s.actual == s.actual[0]).reshape(len(s), -1).all(axis=1))[:20]
    for few in (s.take(np.arange(1)), s.take(alike)):
        e = estimate(chosen, few)
        assert np.isnan([e.low, e.high]).all() or e.low <= e.value <= e.high
    c = compare(chosen, few, replace(few, score=few.score**2))
    if np.isnan(e.value):
        assert np.isnan([c.p_value, c.difference.value]).all()


def test_a_class_without_rows_leaves_averages_over_classes_undefined_and_has_no_weight():
    s = SAMPLES["classes"][0]
    s = s.take(s.actual != 3)
    for name in ("roc_auc_ovr", "roc_auc_hand_till", "map_classes"):
        e = estimate(find(name, "classes"), s)
        assert np.isnan([e.value, e.low, e.high]).all()
    assert np.isfinite(find("roc_auc_ovr_weighted", "classes").value(s))


# Of two classes ------------------------------------------------


@pytest.mark.parametrize("pair", ["forest vs gbm", "forest vs logistic", "gbm vs logistic"])
def test_areas_are_compared_as_by_proc(pair):
    truth = expected("german_credit")["pROC"]["pairs"][pair]
    first, second = (RowStatistic(find("roc_auc"), credit(name)) for name in pair.split(" vs "))
    c = inference.compare(first, second, options())
    error = np.sqrt(methods.variance_by_class(first, second).variance.sum())
    value = c.difference.value
    limits = value + error * NormalDist().inv_cdf(0.975) * np.array([-1, 1])
    assert limits == pytest.approx(truth["ci95_diff"], abs=1e-9)
    assert 2 * NormalDist().cdf(-abs(value) / error) == pytest.approx(truth["p"], abs=1e-9)
    # t on Satterthwaite's degrees of freedom, pROC's is normal
    assert truth["p"] < c.p_value < 1.05 * truth["p"]
    assert c.method == "DeLong, Welch t"


def test_right_and_wrong_are_compared_by_mcnemar():
    c = compare(find("accuracy"), credit("gbm"), credit("forest"))
    assert c.method == "asymptotic McNemar test"
    assert c.p_value == pytest.approx(0.0563, abs=5e-5)
    assert compare(find("error_rate"), credit("gbm"), credit("forest")).p_value == c.p_value
    positives = compare(find("recall"), credit("gbm"), credit("forest"))
    assert positives.difference.n == 300


def test_perfect_scores_have_an_interval():
    s = Rows(np.repeat([0, 1], 30), np.arange(60.0), 30.0)
    e = estimate(find("roc_auc"), s)
    assert (e.value, e.high, e.method) == (1.0, 1.0, "Newcombe 5")
    assert 0.8 < e.low < 1


@each([chosen for chosen in EVERY if chosen.metric.structure == "counts"])
@pytest.mark.parametrize("positives", [1, 50, 99])
def test_the_best_and_the_worst_order_keep_to_the_range(chosen, positives):
    label = (np.arange(100) < positives).astype(np.int64)
    values = [chosen.value(Rows(label, score.astype(float), 0.5)) for score in (label, 1 - label)]
    assert not any(
        value < chosen.metric.low - 1e-12 or value > chosen.metric.high + 1e-12 for value in values
    )


scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=4, max_size=40)


@ANY_TIME
@given(scores, st.integers(0, 7))
def test_decisions_are_what_counts_at_the_threshold_say(data, threshold):
    score, label = (np.array(column) for column in zip(*data, strict=True))
    s = Rows(label.astype(np.int64), score.astype(float), float(threshold))
    at = counts.at(s.counts, threshold)
    for name, metric in (
        ("precision", counts.precision),
        ("recall", counts.recall),
        ("f1", counts.f_score),
    ):
        assert find(name).value(s) == pytest.approx(float(metric(at)), nan_ok=True)
    for name, metric in lookup.TABLES["counts"].items():
        if isinstance(metric.kind, Share):
            member, hit = metric.kind.hits(s)
            value = hit[member].mean() if member.any() else np.nan
            assert find(name).value(s) == pytest.approx(value, nan_ok=True), name
            assert find(name).value_at(s.counts, threshold) == pytest.approx(value, nan_ok=True), (
                name
            )


def test_average_precision_has_no_test_where_a_class_has_one_row():
    label = np.array([1, 0, 0, 0, 0])
    score = np.array([0.9, 0.8, 0.3, 0.2, 0.1])
    c = compare(
        find("average_precision"), Rows(label, score, 0.5), Rows(label, score[::-1].copy(), 0.5)
    )
    assert np.isnan([c.p_value, c.difference.low, c.difference.high]).all()
    assert c.difference.value == pytest.approx(0.8)


def test_one_unit_claims_nothing():
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 300)
    one = Rows(label, rng.normal(size=300) + label, 0.5, unit=np.full(300, "u"))
    e = estimate(find("roc_auc"), one)
    assert e.n == 1
    assert np.isnan([e.low, e.high]).all()
