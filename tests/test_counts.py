"""Counts of positives and negatives at each score: worked examples, scikit-learn on random rows,
and what the order and the weights of rows must not change.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from samples import ANY_TIME, examples, printed
from sklearn import metrics

from evalkit.catalogue.lookup import find_metric
from evalkit.metrics.counts import (
    STEP,
    Counts,
    auc,
    auc_by_group,
    average_precision,
    balanced_accuracy,
    base_rate,
    count,
    false_positive_rate,
    ks,
    majority,
    mcc,
    precision,
    recall,
    twice_u,
)


def scores_and_labels(size=40):
    """Strategy: scores, with many ties, both zeros and every size, and the 0/1 label of each."""
    score = st.sampled_from(
        [-1e300, -2.5, -0.0, 0.0, 1e-310, 0.25, 0.5, 1.0, 3.0, 1e5]
    ) | st.floats(-5, 5)
    return st.lists(st.tuples(score, st.integers(0, 1)), min_size=1, max_size=size).map(
        lambda pairs: (np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]))
    )


def assert_equal_counts(a: Counts, b: Counts) -> None:
    for name in ("threshold", "tp", "fp", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


# Worked by hand -----------------------------------------------------------------------------------


EXAMPLES = examples("counts")


@pytest.mark.parametrize("name", EXAMPLES)
def test_metrics_of_decisions_at_one_half_equal_worked_examples(name):
    example = EXAMPLES[name]
    counts = count(example["score"], example["positive"], example["negative"])
    for metric, text in example["printed"].items():
        assert find_metric(metric, "counts").value_at(counts, 0.5) == printed(text)


@pytest.mark.parametrize("label", [[0, 0, 0], [1, 1, 1], []])
@pytest.mark.parametrize("metric", [auc, ks, mcc, balanced_accuracy])
def test_metrics_that_need_both_classes_are_undefined_without_one(metric, label):
    score = np.arange(len(label)) / 10
    assert np.isnan(metric(count(score, label))).all()


def test_average_precision_is_undefined_without_positives():
    assert np.isnan(average_precision(count([0.1, 0.2], [0, 0])))
    assert average_precision(count([0.1, 0.2], [1, 1])) == 1


@pytest.mark.parametrize("metric", [base_rate, majority])
def test_shares_of_all_rows_are_undefined_without_rows(metric):
    assert np.isnan(metric(count([], [])))


def test_majority_is_the_share_of_the_larger_class():
    assert majority(count([0.1], positive=[1], negative=[99])) == 0.99


# Against scikit-learn -----------------------------------------------------------------------------

# scikit-learn needs both classes
scores_and_labels_of_both_classes = scores_and_labels().filter(lambda data: len(set(data[1])) == 2)


@ANY_TIME
@given(scores_and_labels_of_both_classes)
def test_the_auc_equals_scikit_learn(data):
    score, label = data
    expected = metrics.roc_auc_score(label, score)
    assert auc(count(score, label)) == pytest.approx(expected, abs=1e-12)


@ANY_TIME
@given(scores_and_labels_of_both_classes)
def test_the_average_precision_equals_scikit_learn(data):
    score, label = data
    expected = metrics.average_precision_score(label, score)
    assert average_precision(count(score, label)) == pytest.approx(expected, abs=1e-12)


@ANY_TIME
@given(scores_and_labels_of_both_classes)
def test_ks_is_the_largest_distance_between_scikit_learns_rates(data):
    """The Kolmogorov–Smirnov statistic is the largest |true − false positive rate| at a threshold.
    scikit-learn leaves out points on a line between two others, of which one is as distant.
    """
    score, label = data
    false_positive_rates, true_positive_rates, _ = metrics.roc_curve(label, score)
    expected = np.abs(true_positive_rates - false_positive_rates).max()
    assert ks(count(score, label)) == pytest.approx(expected, abs=1e-12)


# What must not change them ------------------------------------------------------------------------


@ANY_TIME
@given(scores_and_labels(), st.randoms())
def test_the_order_of_rows_changes_nothing(data, random):
    score, label = data
    order = np.array(random.sample(range(len(score)), len(score)))
    assert_equal_counts(count(score, label), count(score[order], label[order]))


@ANY_TIME
@given(scores_and_labels(), st.data())
def test_a_row_of_weight_3_counts_as_three_rows(rows, data):
    """Each row has a weight of 0, 1, 2 or 3. Counts with these weights equal the counts of a table
    in which each row is repeated as often as its weight says.
    """
    score, label = rows
    weights = st.lists(st.integers(0, 3), min_size=len(score), max_size=len(score))
    weight = np.array(data.draw(weights))
    repeated = count(np.repeat(score, weight), np.repeat(label, weight))
    weighted = count(score, positive=label * weight, negative=(1 - label) * weight)
    assert_equal_counts(repeated, weighted)


@ANY_TIME
@given(scores_and_labels())
def test_scores_count_by_their_order_alone(data):
    score, label = data
    _, rank = np.unique(score + 0.0, return_inverse=True)  # + 0.0: -0.0 and 0.0 are one score
    found = count(score, label).tp
    np.testing.assert_array_equal(found, count(rank - 3.0, label).tp)
    np.testing.assert_array_equal(found, count(2.0**rank, label).tp)


@ANY_TIME
@given(scores_and_labels())
def test_auc_stays_when_scores_and_labels_are_reversed(data):
    score, label = data
    reversed_counts = count(-score, 1 - label)
    np.testing.assert_equal(auc(reversed_counts), auc(count(score, label)))


@ANY_TIME
@given(scores_and_labels())
def test_auc_of_reversed_scores_is_one_less_the_auc(data):
    score, label = data
    expected = 1 - auc(count(score, label))
    np.testing.assert_allclose(auc(count(-score, label)), expected, atol=1e-12)


@ANY_TIME
@given(scores_and_labels())
@pytest.mark.parametrize("metric", [auc, average_precision, ks])
def test_metrics_of_the_order_lie_between_0_and_1(metric, data):
    value = metric(count(*data))
    assert np.isnan(value) or -1e-12 <= value <= 1 + 1e-12


@pytest.mark.parametrize("metric", [auc, average_precision, ks])
def test_metrics_of_the_perfect_order_are_1(metric):
    label = np.array([1, 0, 1, 0, 0])
    assert metric(count(label.astype(float), label)) == 1


def test_minus_zero_and_zero_are_one_score():
    assert count([-0.0, 0.0], [1, 0]).threshold.tolist() == [0.0]


def test_scores_of_float32_count_as_the_same_scores_of_float64():
    score = np.random.default_rng(5).normal(size=1000).astype(np.float32)
    label = np.arange(1000) % 2
    assert_equal_counts(count(score, label), count(score.astype(np.float64), label))


@pytest.mark.parametrize("weights", [([1, 0], [0, 1]), ([2.0, 0.0], [0.0, 1.0])])
def test_whole_weights_give_integer_counts(weights):
    positive, negative = weights
    assert count([0.1, 0.2], positive, negative).tp.dtype == np.int64


def test_fractional_weights_give_float_counts():
    weighted = count([0.1, 0.2], positive=[0.5, 0.0], negative=[0.0, 1.5])
    assert weighted.tp.dtype == np.float64
    assert (weighted.positives, weighted.negatives) == (0.5, 1.5)


# Tables with more scores than are summed at once --------------------------------------------------


@pytest.fixture(scope="module")
def long_table():
    """Counts of more than two steps of scores, all different."""
    generator = np.random.default_rng(2)
    label = (generator.random(3 * STEP) < 0.4).astype(np.int64)
    return count(generator.normal(size=label.size) + label, label)


def test_u_summed_in_steps_equals_one_sum(long_table):
    negatives_below = long_table.negatives - long_table.fp + long_table.negative / 2
    assert twice_u(long_table) == 2 * np.dot(long_table.positive, negatives_below)


def test_average_precision_summed_in_steps_equals_one_sum(long_table):
    one_sum = np.dot(long_table.positive, precision(long_table)) / long_table.positives
    assert average_precision(long_table) == pytest.approx(one_sum, abs=1e-13)


def test_ks_searched_in_steps_equals_one_maximum(long_table):
    distance = np.abs(recall(long_table) - false_positive_rate(long_table))
    assert ks(long_table) == pytest.approx(distance.max(), abs=1e-15)


# By group -----------------------------------------------------------------------------------------


# 0.1 and 0.1 + 2⁻⁵⁵ are equal in single precision only, and must not be a tie; −0.0 and 0.0 are one
SCORES = [-2.5, -0.0, 0.0, 0.1, 0.1 + 2**-55, 7.0]
rows_with_groups = st.lists(
    st.tuples(
        st.integers(0, 1),  # label
        st.sampled_from(SCORES),
        st.integers(-2, 3),  # group
    ),
    min_size=1,
    max_size=60,
)


@ANY_TIME
@given(rows_with_groups)
def test_auc_by_group_names_each_group_once(rows):
    label, score, group = map(np.array, zip(*rows, strict=True))
    by_group = auc_by_group(label, score, group)
    np.testing.assert_array_equal(by_group.group, np.unique(group))


@ANY_TIME
@given(rows_with_groups)
def test_auc_by_group_equals_the_auc_of_each_groups_rows_alone(rows):
    """1 to 60 rows, each with a label of 0 or 1, a score and a group. `auc_by_group` returns arrays
    with an element for each group: the AUC, NaN in a group of one class alone, and its parts, twice
    Mann and Whitney's U and the numbers of positives and negatives.

    Expected is the AUC of a table of counts that has the rows of this group alone.
    """
    label, score, group = map(np.array, zip(*rows, strict=True))
    found = auc_by_group(label, score, group)
    counts_of_groups = []
    for name in found.group:
        in_group = group == name
        counts_of_groups.append(count(score[in_group], label[in_group]))
    np.testing.assert_array_equal(found.auc, [auc(c) for c in counts_of_groups])
    np.testing.assert_array_equal(found.twice_u, [twice_u(c) for c in counts_of_groups])
    np.testing.assert_array_equal(found.positives, [c.positives for c in counts_of_groups])
    np.testing.assert_array_equal(found.negatives, [c.negatives for c in counts_of_groups])


def test_auc_by_group_of_no_rows_has_no_groups():
    assert auc_by_group([], [], []).group.size == 0
