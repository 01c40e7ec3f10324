"""Several classes and several labels: worked examples, scikit-learn on real data, and identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from samples import ANY_TIME
from sklearn import metrics

from evalkit.arrays import InputError
from evalkit.metrics import counts as k
from evalkit.metrics import labels as m
from evalkit.metrics.calibration import bins_uniform, ece
from evalkit.metrics.curves import average_precision_interpolated


def test_macro_f1_and_the_f1_of_means():
    y = [1] * 5 + [2] * 4 + [3] * 3 + [4] * 2
    predicted = [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 3, 4, 3]
    for classes in (None, [1, 2, 3, 4, 5]):  # a class that never occurs takes no part
        c = m.one_vs_rest(m.confusion(y, predicted, classes=classes))
        assert m.macro(c) == pytest.approx(0.5625, abs=1e-12)
        assert m.macro_f1_of_means(c) == pytest.approx(0.582857, abs=5e-7)
    assert m.micro(c) == pytest.approx(m.accuracy(m.confusion(y, predicted)))


def test_a_class_that_is_never_predicted_leaves_macro_precision_undefined():
    c = m.one_vs_rest(m.confusion(["a", "b", "b"], ["b", "b", "b"]))
    assert np.isnan(m.macro(c, k.precision))
    assert m.macro(c) == pytest.approx((0 + 0.8) / 2)


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


def test_one_class_only_and_no_rows_are_undefined():
    one = m.confusion(["a", "a"], ["a", "a"])
    assert np.isnan([m.mcc(one), m.kappa(one)]).all()
    assert m.accuracy(one) == 1
    none = m.confusion([], [])
    assert np.isnan([m.accuracy(none), m.majority(none), m.mcc(none), m.macro(m.one_vs_rest(none))]).all()
    assert np.isnan(m.auc_hand_till(np.array([0, 0]), np.array([[1.0, 0], [0.5, 0.5]])))


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@ANY_TIME
@given(pairs)
def test_any_confusion_equals_scikit_learn(data):
    actual, predicted = (np.array(column) for column in zip(*data, strict=True))
    table = m.confusion(actual, predicted)
    c = m.one_vs_rest(table)
    if len(table.classes) > 1:
        np.testing.assert_array_equal(table.table, metrics.confusion_matrix(actual, predicted))
    assert m.macro(c) == pytest.approx(metrics.f1_score(actual, predicted, average="macro"))
    assert m.weighted(c, k.recall) == pytest.approx(m.accuracy(table))
    if not np.isnan([m.mcc(table), m.kappa(table)]).any():
        assert m.mcc(table) == pytest.approx(metrics.matthews_corrcoef(actual, predicted))
        assert m.kappa(table) == pytest.approx(metrics.cohen_kappa_score(actual, predicted))
    repeated = m.confusion(np.repeat(actual, 3), np.repeat(predicted, 3))
    weighted = m.confusion(actual, predicted, weight=np.full(len(actual), 3))
    np.testing.assert_array_equal(repeated.table, weighted.table)


matrices = st.integers(1, 6).flatmap(
    lambda k: st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            arrays(bool, (n, k)), arrays(bool, (n, k)), arrays(float, (n, k), elements=st.integers(0, 4).map(float))
        )
    )
)


@ANY_TIME
@given(matrices)
def test_any_labels_equal_scikit_learn(data):
    actual, predicted, score = data
    c = m.label_counts(actual, predicted)
    assert m.exact_match(actual, predicted).mean() == pytest.approx(np.mean((actual == predicted).all(axis=1)))
    assert m.hamming(actual, predicted).mean() == pytest.approx(metrics.hamming_loss(actual, predicted))
    micro = m.micro(c, k.precision)
    if not np.isnan(micro):
        assert micro == pytest.approx((actual & predicted).sum() / predicted.sum())
    if actual.shape[1] > 1:
        table = metrics.multilabel_confusion_matrix(actual, predicted)
        np.testing.assert_array_equal(c.tp, table[:, 1, 1])
        np.testing.assert_array_equal(c.tn, table[:, 0, 0])
        one_row(actual, score)
        has = actual.any(axis=0)
        for table, label, own in zip(m.score_counts(actual, score), actual.T, score.T, strict=True):
            np.testing.assert_array_equal(table.tp, k.count(own, label).tp)
        assert np.isnan(m.map_classes(m.score_counts(actual, score))) == (not has.all())


def one_row(actual, score):
    loss, error = m.ranking_loss(actual, score), m.coverage_error(actual, score)
    precision = m.label_ranking_average_precision(actual, score)
    for i in range(len(actual)):
        row, own = actual[i : i + 1], score[i : i + 1]
        if row.any():
            assert error[i] == metrics.coverage_error(row, own)
            assert precision[i] == pytest.approx(metrics.label_ranking_average_precision_score(row, own))
            assert precision[i] == pytest.approx(k.average_precision(k.count(own[0], row[0])))
        else:
            assert np.isnan([error[i], precision[i], loss[i]]).all()
        np.testing.assert_allclose(1 - loss[i], k.auc(k.count(own[0], row[0])))


def test_map_by_steps_and_interpolated():
    actual = np.array([[1, 1], [0, 0], [0, 0], [1, 1], [1, 1], [1, 1]], dtype=bool)
    score = np.arange(6, 0, -1.0)[:, None].repeat(2, axis=1)
    tables = m.score_counts(actual, score)
    assert m.map_classes(tables) == pytest.approx(0.691667, abs=5e-7)
    assert m.map_classes(tables, average_precision_interpolated) == pytest.approx(0.75)


def test_ranking_loss_with_a_tie():
    loss = m.ranking_loss(np.array([[0, 1, 1, 1, 0, 0, 1]]), np.array([[7.0, 6, 5, 5, 5, 4, 3]]))
    assert loss[0] == pytest.approx(7 / 12)


def test_top_k_shares_a_tie():
    score = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert m.in_top(np.array([1, 0]), score, 1).tolist() == [0.5, 0]
    assert m.in_top(np.array([1, 0]), score, 3).tolist() == [1, 1]


def test_a_row_without_labels_takes_no_part():
    none, some = np.zeros((1, 3), dtype=bool), np.array([[True, False, True]])
    assert np.isnan(m.f1_by_row(none, none)).all()
    assert m.f1_by_row(some, none).tolist() == [0.0]
    assert m.jaccard_by_row(none, some).tolist() == [0.0]


def test_bad_input_is_refused():
    with pytest.raises(InputError, match=r"class must be one of \['a'\], got b"):
        m.confusion(["a"], ["b"], classes=["a"])
    with pytest.raises(InputError, match="columns must have one length"):
        m.confusion(["a"], ["b", "a"])
    with pytest.raises(InputError, match=r"one row per sample and one column per label, got shape \(2,\)"):
        m.label_counts([1, 0], [1, 0])
