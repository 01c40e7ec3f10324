"""Metrics of several classes, several labels and forecasts: by scikit-learn, and their effects by resampling rows."""

from dataclasses import replace

import numpy as np
import pytest
from samples import expected, predictions
from sklearn import metrics as sk

from evalkit.catalogue import lookup
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import OfRows

ROUGH = {
    "median_absolute_error": 0.4,  # its effects need the density of the errors, taken from few
    "top@2": 0.6,  # a share of 0.998: Wilson reaches further down than the spread of resamples
}


def penguins(model="gbm"):
    frame = predictions("penguins")
    frame = frame[frame.model == model].sort_values("id")
    classes = ["Adelie", "Chinstrap", "Gentoo"]
    actual, predicted = (frame[c].map(classes.index).to_numpy(np.int64) for c in ("y_true", "y_pred"))
    scores = frame[[f"p_{one}" for one in classes]].to_numpy(float)
    return Rows(actual, scores, decision=predicted, classes=3)


def labelled(rows=250):
    rng = np.random.default_rng(4)
    actual = rng.random((rows, 4)) < [0.5, 0.3, 0.2, 0.6]
    return Rows(actual, np.clip(actual * 0.4 + rng.random((rows, 4)) * 0.6, 0, 1))


def forecasts(rows=300):
    rng = np.random.default_rng(5)
    actual = rng.gamma(2, 2, rows)
    forecast = np.maximum(actual + rng.normal(0.3, 1.5, rows), 0.05)
    return Rows(actual, forecast, beside={"naive_mae": rng.gamma(4, 0.5, rows)})


SAMPLES = {"classes": penguins(), "labels": labelled(), "forecasts": forecasts()}
CUTS = {"top": 2, "pinball": 90}
EVERY = [
    lookup.Chosen(metric, CUTS.get(name)) for structure in SAMPLES for name, metric in lookup.TABLES[structure].items()
]
each = pytest.mark.parametrize("chosen", EVERY, ids=lambda one: f"{one.metric.structure} {one.label}")


def number(chosen, s):
    return chosen.value(s)


def estimate(chosen, s, unit=None):
    return inference.estimate(OfRows(chosen, replace(s, unit=unit)), Options(0.95, np.random.default_rng(0)))


@each
def test_every_label_finds_its_metric_again(chosen):
    assert lookup.find(chosen.label, chosen.metric.structure) == chosen


@each
def test_intervals_are_as_wide_as_the_spread_of_resamples(chosen):
    s = SAMPLES[chosen.metric.structure]
    if chosen.label == "log_loss":  # its interval says how many certain predictions may be wrong; no resample has one
        s = s.take(s.scores.max(axis=1) < 1 - 1e-9)
    rng, n = np.random.default_rng(6), len(s.actual)
    drawn = [number(chosen, s.take(rng.integers(0, n, n))) for _ in range(150)]
    e = estimate(chosen, s)
    assert chosen.metric.low <= e.low <= e.value <= e.high <= chosen.metric.high
    if e.low > chosen.metric.low and e.high < chosen.metric.high:
        assert (e.high - e.low) / 3.92 == pytest.approx(np.nanstd(drawn), rel=ROUGH.get(chosen.label, 0.25))


@each
def test_whole_weights_repeat_rows(chosen):
    s = SAMPLES[chosen.metric.structure]
    weight = np.random.default_rng(7).integers(1, 4, len(s.actual))
    repeated = s.take(np.repeat(np.arange(len(weight)), weight))
    assert number(chosen, replace(s, weight=weight.astype(float))) == pytest.approx(number(chosen, repeated), abs=1e-9)


@each
def test_order_of_rows_does_not_matter(chosen):
    s = SAMPLES[chosen.metric.structure]
    order = np.random.default_rng(8).permutation(len(s.actual))
    assert number(chosen, s.take(order)) == pytest.approx(number(chosen, s), abs=1e-12)


@each
def test_copies_in_one_unit_are_no_news(chosen):
    s = SAMPLES[chosen.metric.structure]
    n = len(s.actual)
    once = estimate(chosen, s, np.arange(n))
    twice = estimate(chosen, s.take(np.tile(np.arange(n), 2)), np.tile(np.arange(n), 2))
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high), rel=0.03, abs=0.01)


@each
def test_one_row_has_no_interval_or_one_that_holds_it(chosen):
    one = SAMPLES[chosen.metric.structure].take(np.arange(1))
    e = estimate(chosen, one)
    assert np.isnan([e.low, e.high]).all() or e.low <= e.value <= e.high


# ---- scikit-learn ---------------------------------------------------------------------------------------------------

CLASS_PEERS = {
    "accuracy": lambda s: sk.accuracy_score(s.actual, s.predicted),
    "macro_f1": lambda s: sk.f1_score(s.actual, s.predicted, average="macro"),
    "weighted_f1": lambda s: sk.f1_score(s.actual, s.predicted, average="weighted"),
    "macro_precision": lambda s: sk.precision_score(s.actual, s.predicted, average="macro"),
    "macro_recall": lambda s: sk.recall_score(s.actual, s.predicted, average="macro"),
    "balanced_accuracy": lambda s: sk.balanced_accuracy_score(s.actual, s.predicted),
    "mcc": lambda s: sk.matthews_corrcoef(s.actual, s.predicted),
    "kappa": lambda s: sk.cohen_kappa_score(s.actual, s.predicted),
    "kappa_quadratic": lambda s: sk.cohen_kappa_score(s.actual, s.predicted, weights="quadratic"),
    "roc_auc_ovr": lambda s: sk.roc_auc_score(s.actual, s.score, multi_class="ovr"),
    "roc_auc_hand_till": lambda s: sk.roc_auc_score(s.actual, s.score, multi_class="ovo"),
    "map_classes": lambda s: sk.average_precision_score(np.eye(3)[s.actual], s.score, average="macro"),
    "log_loss": lambda s: sk.log_loss(s.actual, s.score),
}
LABEL_PEERS = {
    "micro_f1": lambda s: sk.f1_score(s.actual, s.predicted, average="micro"),
    "micro_precision": lambda s: sk.precision_score(s.actual, s.predicted, average="micro"),
    "micro_recall": lambda s: sk.recall_score(s.actual, s.predicted, average="micro"),
    "macro_f1": lambda s: sk.f1_score(s.actual, s.predicted, average="macro"),
    "exact_match": lambda s: sk.accuracy_score(s.actual, s.predicted),
    "hamming_loss": lambda s: sk.hamming_loss(s.actual, s.predicted),
    "map_classes": lambda s: sk.average_precision_score(s.actual, s.score, average="macro"),
    "roc_auc_macro": lambda s: sk.roc_auc_score(s.actual, s.score, average="macro"),
}
FORECAST_PEERS = {
    "mae": lambda f: sk.mean_absolute_error(f.actual, f.score),
    "rmse": lambda f: sk.root_mean_squared_error(f.actual, f.score),
    "mse": lambda f: sk.mean_squared_error(f.actual, f.score),
    "median_absolute_error": lambda f: sk.median_absolute_error(f.actual, f.score),
    "mape": lambda f: sk.mean_absolute_percentage_error(f.actual, f.score),
    "wape": lambda f: np.abs(f.actual - f.score).sum() / np.abs(f.actual).sum(),
    "smape": lambda f: np.mean(2 * np.abs(f.actual - f.score) / (np.abs(f.actual) + np.abs(f.score))),
    "r2": lambda f: sk.r2_score(f.actual, f.score),
    "r2_correlation": lambda f: np.corrcoef(f.actual, f.score)[0, 1] ** 2,
    "poisson_deviance": lambda f: sk.mean_poisson_deviance(f.actual, f.score),
    "pinball@90": lambda f: sk.mean_pinball_loss(f.actual, f.score, alpha=0.9),
    "bias": lambda f: np.mean(f.score - f.actual),
}
PEERS = [("classes", *one) for one in CLASS_PEERS.items()]
PEERS += [("labels", *one) for one in LABEL_PEERS.items()]
PEERS += [("forecasts", *one) for one in FORECAST_PEERS.items()]


@pytest.mark.parametrize("structure, name, peer", PEERS, ids=lambda one: one if isinstance(one, str) else "")
def test_equals_the_public_tool(structure, name, peer):
    s = SAMPLES[structure]
    assert number(lookup.find(name, structure), s) == pytest.approx(peer(s), abs=1e-9)


@pytest.mark.parametrize("model", ["logistic", "gbm", "forest"])
def test_equals_the_shared_figures(model):
    truth, s = expected("penguins")["sklearn"]["overall"][model], penguins(model)
    for ours, theirs in (("brier", "brier_multiclass_sum"), ("log_loss", "log_loss"), ("mcc", "mcc")):
        assert number(lookup.find(ours, "classes"), s) == pytest.approx(truth[theirs], abs=1e-9)


def test_macro_f1_of_four_classes_by_hand():
    y = [0] * 5 + [1] * 4 + [2] * 3 + [3] * 2
    s = Rows(np.array(y), decision=np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 2, 3, 2]), classes=5)
    assert number(lookup.find("macro_f1", "classes"), s) == pytest.approx(0.5625)
    assert number(lookup.find("macro_f1_of_means", "classes"), s) != number(lookup.find("macro_f1", "classes"), s)


def test_a_class_without_rows_leaves_auc_undefined():
    s = Rows(np.array([0, 0, 1]), np.eye(3)[[0, 0, 1]], decision=np.array([0, 0, 1]), classes=3)
    for name in ("roc_auc_ovr", "roc_auc_hand_till", "map_classes"):
        e = estimate(lookup.find(name, "classes"), s)
        assert np.isnan([e.value, e.low, e.high]).all()


def test_effects_add_up_to_nothing():
    found = [lookup.find("roc_auc_hand_till", "classes").effects(penguins())]
    found += [lookup.find("macro_f1", "labels").effects(labelled())]
    names = ("r2", "r2_correlation", "rmse", "median_absolute_error")
    found += [lookup.find(name, "forecasts").effects(forecasts()) for name in names]
    for one in found:
        assert one.rows.sum() == pytest.approx(0, abs=1e-9)
