"""Counts, also by group: worked examples, scikit-learn on real data, and what order and weights may
not change.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME, examples, printed
from sklearn import metrics

from evalkit.catalogue.lookup import find_metric
from evalkit.metrics import counts as k
from evalkit.metrics.counts import auc, auc_by_group, count, twice_u

TIES = ([0.8, 0.7, 0.5, 0.5, 0.5, 0.5, 0.3], [1, 1, 0, 0, 1, 1, 0])


def rows(size=40):
    """Rows with many ties, both zeros, and scores of every sign and size."""
    score = st.sampled_from(
        [-1e300, -2.5, -0.0, 0.0, 1e-310, 0.25, 0.5, 1.0, 3.0, 1e5]
    ) | st.floats(-5, 5)
    return st.lists(st.tuples(score, st.integers(0, 1)), min_size=1, max_size=size).map(
        lambda pairs: (np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]))
    )


def same(a: k.Counts, b: k.Counts) -> None:
    for name in ("threshold", "tp", "fp", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# Worked by hand -----------------------------------------------------------------------------------


NONE = ([0.1], [1], [99])
EVERY = ([0.9], [95], [5])
EXAMPLES = examples("counts")


@pytest.mark.parametrize("name", EXAMPLES)
def test_decisions_by_hand(name):
    said = EXAMPLES[name]
    at = k.count(said["score"], said["positive"], said["negative"])
    for metric, text in said["printed"].items():
        assert find_metric(metric, "counts").value_at(at, 0.5) == printed(text)


@pytest.mark.parametrize("label", [[0, 0, 0], [1, 1, 1], []])
def test_one_class_only_and_no_rows_are_undefined(label):
    c = k.count([0.1, 0.2, 0.2][: len(label)], label)
    assert np.isnan([k.auc(c), k.ks(c)]).all()
    assert np.isnan(k.mcc(c)).all()
    assert np.isnan(k.balanced_accuracy(c)).all()
    assert np.isnan(k.average_precision(c)) == (sum(label) == 0)
    assert np.isnan([k.base_rate(c), k.majority(c)]).all() == (not label)
    assert (c.total, k.majority(k.count([0.1], [1], [99]))) == (len(label), 0.99)


# Against scikit-learn -----------------------------------------------------------------------------


@ANY_TIME
@given(rows())
def test_equals_scikit_learn_on_any_rows(data):

    score, label = data
    c = k.count(score, label)
    if 0 < label.sum() < len(label):
        assert k.auc(c) == pytest.approx(metrics.roc_auc_score(label, score), abs=1e-12)
        assert k.average_precision(c) == pytest.approx(
            metrics.average_precision_score(label, score), abs=1e-12
        )
        fpr, tpr, _ = metrics.roc_curve(label, score)
        assert k.ks(c) == pytest.approx(np.abs(tpr - fpr).max(), abs=1e-12)


# What may not change it ---------------------------------------------------------------------------


@ANY_TIME
@given(rows(), st.randoms())
def test_order_of_rows(data, random):
    order = np.array(random.sample(range(len(data[0])), len(data[0])))
    same(k.count(*data), k.count(data[0][order], data[1][order]))


@ANY_TIME
@given(rows(), st.data())
def test_weights_are_repetition(data, draw):
    score, label = data
    times = np.array(
        draw.draw(st.lists(st.integers(0, 3), min_size=len(score), max_size=len(score)))
    )
    same(
        k.count(np.repeat(score, times), np.repeat(label, times)),
        k.count(score, label * times, (1 - label) * times),
    )


@ANY_TIME
@given(rows())
def test_monotone_transform_and_reversal(data):
    score, label = data
    c = k.count(score, label)
    _, rank = np.unique(score + 0.0, return_inverse=True)
    for other in (k.count(rank - 3.0, label), k.count(2.0 ** rank.clip(max=900), label)):
        np.testing.assert_array_equal(c.tp, other.tp)
    reverse = k.count(-score, 1 - label)
    np.testing.assert_equal(k.auc(reverse), k.auc(c))
    np.testing.assert_allclose(k.auc(k.count(-score, label)), 1 - k.auc(c), atol=1e-12)


@ANY_TIME
@given(rows())
def test_metrics_stay_in_range_and_the_perfect_order_is_best(data):
    score, label = data
    c = k.count(score, label)
    best = k.count(label.astype(float), label)
    for metric in (k.auc, k.average_precision, k.ks):
        assert np.isnan(metric(c)) or -1e-12 <= metric(c) <= metric(best) + 1e-12
        assert np.isnan(metric(best)) or metric(best) == 1


def test_zeros_are_one_score_and_float32_keeps_its_order():
    assert k.count([-0.0, 0.0], [1, 0]).threshold.tolist() == [0.0]
    score = np.random.default_rng(5).normal(size=1000).astype(np.float32)
    label = np.arange(1000) % 2
    same(k.count(score, label), k.count(score.astype(np.float64), label))


def test_counts_are_whole_unless_weights_are_real():
    assert k.count([0.1, 0.2], [1, 0]).tp.dtype == np.int64
    assert k.count([0.1, 0.2], [2.0, 0.0], [0.0, 1.0]).tp.dtype == np.int64
    weighted = k.count([0.1, 0.2], [0.5, 0.0], [0.0, 1.5])
    assert (weighted.tp.dtype, weighted.positives, weighted.negatives) == (np.float64, 0.5, 1.5)


def test_long_tables_are_summed_in_steps():
    generator = np.random.default_rng(2)
    label = (generator.random(3 * k.STEP) < 0.4).astype(np.int64)
    c = k.count(generator.normal(size=label.size) + label, label)
    below = c.negatives - c.fp + c.negative / 2
    assert k.twice_u(c) == 2 * np.dot(c.positive, below)
    assert k.average_precision(c) == pytest.approx(
        np.dot(c.positive, k.precision(c)) / c.positives, abs=1e-13
    )
    assert k.ks(c) == pytest.approx(np.abs(k.recall(c) - k.false_positive_rate(c)).max(), abs=1e-15)


rows_by_group = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([-2.5, -0.0, 0.0, 0.1, 0.1 + 2**-55, 7.0]),
        st.integers(-2, 3),
    ),
    max_size=60,
)


@ANY_TIME
@given(rows_by_group)
def test_equals_one_table_for_each_group(data):
    label, score, group = (
        (np.array(column) for column in zip(*data, strict=True)) if data else (np.zeros(0),) * 3
    )
    g = auc_by_group(label, score, group)
    np.testing.assert_array_equal(g.group, np.unique(group))
    for i, name in enumerate(g.group):
        c = count(score[group == name], label[group == name])
        assert (g.twice_u[i], g.positives[i], g.negatives[i]) == (
            twice_u(c),
            c.positives,
            c.negatives,
        )
        np.testing.assert_equal(g.auc[i], auc(c))
