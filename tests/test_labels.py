"""Classes, labels and losses of rows: worked examples, scikit-learn on any rows, and what is
undefined.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from samples import ANY_TIME
from sklearn import metrics

from evalkit.catalogue.lookup import find_metric
from evalkit.metrics import calibration, counts as k, labels as m, losses
from evalkit.metrics.calibration import bins_uniform, ece
from evalkit.metrics.counts import count
from evalkit.metrics.rows import Rows

NAN = float("nan")
FOUR = ([0] * 5 + [1] * 4 + [2] * 3 + [3] * 2, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 2, 3, 2])


def of_classes(name, actual, predicted, classes=4):
    return find_metric(name, "classes").value(
        Rows(np.array(actual, int), decision=np.array(predicted, int), classes=classes)
    )


@pytest.mark.parametrize(
    "name, actual, predicted, expected",
    [
        ("macro_f1", *FOUR, 0.5625),
        ("macro_f1_of_means", *FOUR, 0.582857),
        ("macro_precision", [0, 1, 1], [1, 1, 1], NAN),
        ("macro_f1", [0, 1, 1], [1, 1, 1], (0 + 0.8) / 2),
        ("mcc", [0, 0], [0, 0], NAN),
        ("kappa", [0, 0], [0, 0], NAN),
        ("accuracy", [0, 0], [0, 0], 1),
        ("accuracy", [], [], NAN),
        ("mcc", [], [], NAN),
        ("macro_f1", [], [], NAN),
    ],
)
def test_classes_by_hand(name, actual, predicted, expected):
    for classes in (4, 5):  # a class that never occurs takes no part
        assert of_classes(name, actual, predicted, classes) == pytest.approx(
            expected, abs=5e-7, nan_ok=True
        )


def test_coverage_at_a_precision_target():
    table = m.Confusion(np.array([[80, 5, 100], [6, 92, 50], [4, 3, 60]]), np.arange(3))
    assert table.table.sum(axis=0).tolist() == [90, 100, 210]
    assert m.coverage(table, 0.85) == 0.475
    assert m.coverage_by_class(table, 0.85).tolist() == [0.225, 0.25, 0]
    assert m.coverage(table, 0.99) == 0
    assert np.isnan(m.coverage(m.Confusion(np.zeros((2, 2)), np.arange(2)), 0.5))


def test_top_label_calibration_error():
    y = np.array([0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    p = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1])
    c = m.top_label(y, np.column_stack([1 - p, p]))
    assert c.total == 10
    assert min(c.threshold) == 0.5
    assert ece(bins_uniform(c)) == pytest.approx(0.42, abs=1e-9)


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@ANY_TIME
@given(pairs)
def test_any_classes_equal_scikit_learn(data):
    actual, predicted = (np.array(column) for column in zip(*data, strict=True))
    rows = Rows(actual, decision=predicted, classes=4)
    np.testing.assert_array_equal(
        rows.confusion.table, metrics.confusion_matrix(actual, predicted, labels=range(4))
    )
    macro = find_metric("macro_f1", "classes").value(rows)
    assert macro == pytest.approx(metrics.f1_score(actual, predicted, average="macro"))
    for name, peer in (("mcc", metrics.matthews_corrcoef), ("kappa", metrics.cohen_kappa_score)):
        value = find_metric(name, "classes").value(rows)
        assert np.isnan(value) or value == pytest.approx(peer(actual, predicted))


matrices = st.integers(1, 6).flatmap(
    lambda k: st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            arrays(bool, (n, k)), arrays(float, (n, k), elements=st.integers(0, 4).map(float))
        )
    )
)


@ANY_TIME
@given(matrices)
def test_any_labels_equal_scikit_learn(data):
    actual, score = data
    loss = m.ranking_loss(actual, score)
    error = m.coverage_error(actual, score)
    precision = m.label_ranking_average_precision(actual, score)
    for i in range(len(actual)):
        row = actual[i : i + 1]
        own = score[i : i + 1]
        if row.any() and actual.shape[1] > 1:
            assert error[i] == metrics.coverage_error(row, own)
            assert precision[i] == pytest.approx(
                metrics.label_ranking_average_precision_score(row, own)
            )
            assert precision[i] == pytest.approx(k.average_precision(k.count(own[0], row[0])))
        elif not row.any():
            assert np.isnan([error[i], precision[i], loss[i]]).all()
        np.testing.assert_allclose(1 - loss[i], k.auc(k.count(own[0], row[0])))
    assert np.isnan(find_metric("map_classes", "labels").value(Rows(actual, score))) == (
        not actual.any(axis=0).all()
    )


def test_labels_by_hand():
    actual = np.array([[1, 1], [0, 0], [0, 0], [1, 1], [1, 1], [1, 1]], dtype=bool)
    score = np.arange(6, 0, -1.0)[:, None].repeat(2, axis=1)
    assert find_metric("map_classes", "labels").value(Rows(actual, score)) == pytest.approx(
        0.691667, abs=5e-7
    )
    loss = m.ranking_loss(np.array([[0, 1, 1, 1, 0, 0, 1]]), np.array([[7.0, 6, 5, 5, 5, 4, 3]]))
    assert loss[0] == pytest.approx(7 / 12)


def test_top_k_shares_a_tie():
    score = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert m.in_top(np.array([1, 0]), score, 1).tolist() == [0.5, 0]
    assert m.in_top(np.array([1, 0]), score, 3).tolist() == [1, 1]


def test_a_row_without_labels_takes_no_part():
    none = np.zeros((1, 3), dtype=bool)
    some = np.array([[True, False, True]])
    assert np.isnan(m.f1_by_row(none, none)).all()
    assert m.f1_by_row(some, none).tolist() == [0.0]
    assert m.jaccard_by_row(none, some).tolist() == [0.0]


ACTUAL = np.array([3.0, -0.5, 2.0, 7.0])
FORECAST = np.array([2.5, 0.0, 2.0, 8.0])


def value(name, actual, forecast):
    return find_metric(name, "forecasts").value(Rows(actual, forecast))


def test_four_forecasts_by_hand():
    expected = {"mae": 0.5, "rmse": np.sqrt(1.5 / 4), "bias": 0.25, "median_absolute_error": 0.5}
    assert {name: value(name, ACTUAL, FORECAST) for name in expected} == pytest.approx(expected)


@ANY_TIME
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_losses_of_rows_and_of_counts_agree(data):
    label, p = map(np.array, zip(*data, strict=True))
    c = count(p, label)
    assert losses.brier(label, p).mean() == pytest.approx(calibration.brier(c))
    assert losses.log(label, p).mean() == pytest.approx(
        metrics.log_loss(label, p, labels=[0, 1]), abs=1e-9
    )
    two = np.column_stack([1 - p, p])
    assert losses.brier_classes(label, two).mean() == pytest.approx(2 * calibration.brier(c))
    np.testing.assert_allclose(losses.log_classes(label, two), losses.log(label, p), atol=1e-9)


def test_half_pinball_is_half_absolute():
    np.testing.assert_allclose(
        2 * losses.quantile(ACTUAL, FORECAST), losses.absolute(ACTUAL, FORECAST)
    )


def test_undefined():
    same = np.array([2.0, 2.0])
    none = np.zeros(0)
    assert np.isnan([value("r2", same, same), value("r2_correlation", same, same)]).all()
    assert np.isnan(
        [value(name, none, none) for name in ("mae", "rmse", "median_absolute_error")]
    ).all()
