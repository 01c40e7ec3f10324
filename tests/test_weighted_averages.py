"""Weighted averages over classes and labels, and averages over rows: scikit-learn's values, derivatives, shares."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sk

from evalkit.catalogue import lookup
from evalkit.metrics import labels
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import OfRows


def several_classes(seed=1):
    rng = np.random.default_rng(seed)
    label = rng.choice(4, 200, p=[0.5, 0.3, 0.15, 0.05])
    score = rng.dirichlet(np.ones(4), 200) + 0.5 * np.eye(4)[label]
    score /= score.sum(axis=1, keepdims=True)
    return Rows(label, score, decision=score.argmax(axis=1), classes=4)


def several_labels(seed=2):
    rng = np.random.default_rng(seed)
    actual = rng.random((100, 4)) < [0.1, 0.3, 0.5, 0.5]
    actual[:, 3] |= ~actual.any(axis=1)
    return Rows(actual, rng.random((100, 4)) * 0.7 + 0.3 * actual)


SCORED = {"ovr_weighted": "ovr", "ovo_weighted": "ovo"}
DECIDED = {"f1_weighted": sk.f1_score, "precision_weighted": sk.precision_score, "recall_weighted": sk.recall_score}
BY_ROW = {"f1_samples": sk.f1_score, "jaccard_samples": sk.jaccard_score}


@pytest.mark.parametrize("name", SCORED)
def test_weighted_auc_is_scikit_learns(name):
    rows = several_classes()
    expected = sk.roc_auc_score(rows.actual, rows.score, multi_class=SCORED[name], average="weighted")
    assert lookup.find(name, "classes").value(rows) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("name", DECIDED)
def test_weighted_decisions_are_scikit_learns(name):
    for structure, rows in (("classes", several_classes()), ("labels", several_labels())):
        expected = DECIDED[name](rows.actual, rows.predicted, average="weighted")
        assert lookup.find(name, structure).value(rows) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("name", BY_ROW)
def test_averages_over_rows_are_scikit_learns(name):
    rows = several_labels()
    expected = BY_ROW[name](rows.actual, rows.predicted, average="samples")
    assert lookup.find(name, "labels").value(rows) == pytest.approx(expected, abs=1e-14)


WEIGHTED = [("ovr_weighted", "classes"), ("ovo_weighted", "classes"), ("f1_weighted", "labels")]
WEIGHTED += [("precision_weighted", "labels")]


@pytest.mark.parametrize("name, structure", WEIGHTED)
def test_effects_are_the_derivative_by_the_weight_of_a_row(name, structure):
    """The shares of the classes are estimated too, so that a row moves the mean by its class's share."""
    rows = several_classes() if structure == "classes" else several_labels()
    kind, weight = lookup.find(name, structure).metric.kind, np.ones(len(rows))
    moved = kind.effects(rows, None).rows
    assert moved.sum() == pytest.approx(0, abs=1e-14)
    for row in (3, 50):
        more = weight + 1e-5 * (np.arange(len(rows)) == row)
        step = kind.value(replace(rows, weight=more), None) - kind.value(replace(rows, weight=weight), None)
        assert step / 1e-5 == pytest.approx(moved[row], abs=1e-6)


@pytest.mark.parametrize("name, structure", WEIGHTED)
def test_the_interval_allows_for_the_shares(name, structure):
    """As wide as the jackknife's, near enough."""
    rows = several_classes() if structure == "classes" else several_labels()
    chosen = lookup.find(name, structure)
    e = inference.estimate(OfRows(chosen, rows), Options(0.95, np.random.default_rng(1)))
    left = [chosen.value(rows.take(np.delete(np.arange(len(rows)), row))) for row in range(len(rows))]
    error = np.sqrt((len(rows) - 1) * np.var(left))
    assert e.low < e.value < e.high
    assert e.high - e.low == pytest.approx(2 * 1.96 * error, rel=0.2)


def test_a_class_without_rows_has_no_weight():
    rows = several_classes()
    kept = rows.take(rows.actual != 3)
    values = [lookup.find(name, "classes").value(kept) for name in ("ovr_weighted", "roc_auc_ovr")]
    assert np.isfinite(values[0])
    assert np.isnan(values[1])


def test_a_row_without_labels_takes_no_part():
    none, some = np.zeros((1, 3), dtype=bool), np.array([[True, False, True]])
    assert np.isnan(labels.f1_by_row(none, none)).all()
    assert labels.f1_by_row(some, none).tolist() == [0.0]
    assert labels.jaccard_by_row(none, some).tolist() == [0.0]
