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
from evalkit.metrics import calibration, counts, labels, losses
from evalkit.metrics.calibration import bins_uniform, ece
from evalkit.metrics.counts import count
from evalkit.metrics.rows import Rows

NAN = float("nan")
FOUR_CLASSES = ([0] * 5 + [1] * 4 + [2] * 3 + [3] * 2, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 2, 3, 2])


def of_classes(name, actual, predicted, classes=4):
    """The value of a metric of classes, which are numbers from 0."""
    rows = Rows(np.array(actual, int), decision=np.array(predicted, int), classes=classes)
    return find_metric(name, "classes").value(rows)


@pytest.mark.parametrize("classes", [4, 5])  # the last of five never occurs and takes no part
@pytest.mark.parametrize(
    "name, actual, predicted, expected",
    [
        ("macro_f1", *FOUR_CLASSES, (6 / 8 + 4 / 8 + 4 / 8 + 2 / 4) / 4),
        ("macro_f1_of_means", *FOUR_CLASSES, 0.582857),  # of 0.6 and 0.566667
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
def test_classes_by_hand(name, actual, predicted, expected, classes):
    value = of_classes(name, actual, predicted, classes)
    assert value == pytest.approx(expected, abs=5e-7, nan_ok=True)  # half of the last digit


# 90, 100 and 210 of 400 rows are predicted as each class: precisions of 0.89, 0.92 and 0.29
CONFUSION = labels.Confusion(np.array([[80, 5, 100], [6, 92, 50], [4, 3, 60]]), np.arange(3))


def test_coverage_is_the_share_of_rows_predicted_as_a_class_of_enough_precision():
    assert labels.coverage_by_class(CONFUSION, 0.85).tolist() == [90 / 400, 100 / 400, 0]
    assert labels.coverage(CONFUSION, 0.85) == 190 / 400


def test_coverage_is_0_if_no_class_is_precise_enough():
    assert labels.coverage(CONFUSION, 0.99) == 0


def test_coverage_of_no_rows_is_undefined():
    assert np.isnan(labels.coverage(labels.Confusion(np.zeros((2, 2)), np.arange(2)), 0.5))


def test_top_label_calibration_error():
    """By hand: |probabilities − rows right| in bins from 0.5, 0.7, 0.8 and 0.9 is |1 − 0|,
    |1.4 − 2|, |0.8 − 0| and |4.8 − 3|, 4.2 of 10 rows; of two equal probabilities the first class
    is predicted.
    """
    y = np.array([0, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    p = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.5, 0.7, 0.95, 1, 1])
    top_label = labels.top_label(y, np.column_stack([1 - p, p]))
    assert ece(bins_uniform(top_label)) == pytest.approx(0.42, abs=1e-9)


pairs_of_classes = st.tuples(st.integers(0, 3), st.integers(0, 3))


@ANY_TIME
@given(st.lists(pairs_of_classes, min_size=1, max_size=40))
def test_any_classes_equal_scikit_learn(pairs):
    """Each pair is a row's actual and predicted class, 0 to 3. The confusion matrix and macro F1
    equal those of scikit-learn; so do mcc and kappa, unless they are undefined, NaN here, where
    scikit-learn has 0 or NaN.
    """
    actual, predicted = np.transpose(pairs)
    rows = Rows(actual, decision=predicted, classes=4)
    np.testing.assert_array_equal(
        rows.confusion.table, metrics.confusion_matrix(actual, predicted, labels=range(4))
    )
    macro = find_metric("macro_f1", "classes").value(rows)
    assert macro == pytest.approx(metrics.f1_score(actual, predicted, average="macro"))
    for name, peer in (("mcc", metrics.matthews_corrcoef), ("kappa", metrics.cohen_kappa_score)):
        value = find_metric(name, "classes").value(rows)
        assert np.isnan(value) or value == pytest.approx(peer(actual, predicted))


@st.composite
def labels_and_scores(draw):
    """Whether each label of each row is true, and its score from 0 to 4."""
    shape = draw(st.tuples(st.integers(1, 12), st.integers(1, 6)))
    scores = arrays(float, shape, elements=st.integers(0, 4).map(float))
    return draw(arrays(bool, shape)), draw(scores)


@ANY_TIME
@given(labels_and_scores())
def test_coverage_error_and_average_precision_of_any_labels_equal_scikit_learn(actual_and_score):
    """A table has rows with several labels, each true or not, and a score for each. Both metrics
    are computed for each row, and by scikit-learn for a table of this row alone. Left out are rows
    without a true label, which are undefined here, and tables of one label, which scikit-learn
    takes for two classes.
    """
    actual, score = actual_and_score
    error = labels.coverage_error(actual, score)
    precision = labels.label_ranking_average_precision(actual, score)
    if actual.shape[1] == 1:
        return
    for i in np.flatnonzero(actual.any(axis=1)):
        row = [actual[[i]], score[[i]]]
        expected = metrics.label_ranking_average_precision_score(*row)
        assert precision[i] == pytest.approx(expected)
        assert error[i] == metrics.coverage_error(*row)


@ANY_TIME
@given(labels_and_scores())
def test_the_labels_of_a_row_have_the_average_precision_and_auc_of_rows_of_two_classes(
    actual_and_score,
):
    """A row has several labels, each true or not, and a score for each. Its average precision and
    its ranking loss must be the average precision and 1 − AUC of a binary table that has a row per
    label, positive if the label is true.
    """
    actual, score = actual_and_score
    precision = labels.label_ranking_average_precision(actual, score)
    auc = 1 - labels.ranking_loss(actual, score)
    for i in range(len(actual)):
        counts_of_row = counts.count(score[i], actual[i])
        np.testing.assert_allclose(precision[i], counts.average_precision(counts_of_row))
        np.testing.assert_allclose(auc[i], counts.auc(counts_of_row))


@ANY_TIME
@given(labels_and_scores())
def test_a_row_without_a_true_label_has_no_value(table):
    """In a random table of up to 12 rows, a row has one to six labels, each true or not, and a
    score for each. These metrics, with a value per row, ask how far up its true labels are ranked,
    and are undefined, NaN, if it has none.
    """
    actual, score = table
    has_no_true_label = ~actual.any(axis=1)
    for metric in (
        labels.coverage_error,
        labels.label_ranking_average_precision,
        labels.ranking_loss,
    ):
        assert np.isnan(metric(actual, score)[has_no_true_label]).all()


@ANY_TIME
@given(labels_and_scores())
def test_map_of_classes_is_undefined_if_a_label_is_never_true(table):
    actual, score = table
    value = find_metric("map_classes", "labels").value(Rows(actual, score))
    assert np.isnan(value) == (not actual.any(axis=0).all())


def test_map_of_classes_by_hand():
    """Each of two labels is true at the places 1, 4, 5 and 6 of its list."""
    actual = np.array([1, 0, 0, 1, 1, 1], bool)[:, None].repeat(2, axis=1)
    score = np.arange(6, 0, -1.0)[:, None].repeat(2, axis=1)
    value = find_metric("map_classes", "labels").value(Rows(actual, score))
    assert value == pytest.approx((1 / 1 + 2 / 4 + 3 / 5 + 4 / 6) / 4)


def test_ranking_loss_by_hand():
    """Of 4 × 3 pairs of a true and a false label the false one scores higher in 6, and equal in
    2.
    """
    actual = np.array([[0, 1, 1, 1, 0, 0, 1]])
    score = np.array([[7.0, 6, 5, 5, 5, 4, 3]])
    assert labels.ranking_loss(actual, score) == pytest.approx((6 + 2 / 2) / 12)


@pytest.mark.parametrize("k, expected", [(1, [0.5, 0]), (3, [1, 1])])
def test_two_labels_that_tie_for_a_place_in_the_top_count_half(k, expected):
    score = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    assert labels.in_top(np.array([1, 0]), score, k).tolist() == expected


def test_a_row_that_has_and_is_given_no_label_has_no_f1():
    none = np.zeros((1, 3), dtype=bool)
    assert np.isnan(labels.f1_by_row(none, none)).all()


def test_a_row_that_has_or_is_given_no_label_alone_has_nothing_in_common():
    none = np.zeros((1, 3), dtype=bool)
    some = np.array([[True, False, True]])
    assert labels.f1_by_row(some, none).tolist() == [0.0]
    assert labels.jaccard_by_row(none, some).tolist() == [0.0]


ACTUAL = np.array([3.0, -0.5, 2.0, 7.0])
FORECAST = np.array([2.5, 0.0, 2.0, 8.0])


def value(name, actual, forecast):
    return find_metric(name, "forecasts").value(Rows(actual, forecast))


@pytest.mark.parametrize(
    "name, expected",
    [("mae", 0.5), ("rmse", np.sqrt(1.5 / 4)), ("bias", 0.25), ("median_absolute_error", 0.5)],
)
def test_four_forecasts_by_hand(name, expected):
    """Their errors are −0.5, 0.5, 0 and 1."""
    assert value(name, ACTUAL, FORECAST) == pytest.approx(expected)


@ANY_TIME
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_losses_of_rows_and_of_counts_agree(rows):
    """Each row is a label of 0 or 1 and the probability p of 1. The means of the losses per row are
    the Brier score of the counts and the log loss of scikit-learn. The losses of several classes
    are given the two classes with 1 − p and p: Brier's sums the squared error over both, which is
    twice that of one; the log loss is the same.
    """
    label, p = map(np.array, zip(*rows, strict=True))
    brier = calibration.brier(count(p, label))
    log_loss = metrics.log_loss(label, p, labels=[0, 1])
    assert losses.brier(label, p).mean() == pytest.approx(brier)
    assert losses.log(label, p).mean() == pytest.approx(log_loss, abs=1e-9)
    p_of_classes = np.column_stack([1 - p, p])
    assert losses.brier_classes(label, p_of_classes).mean() == pytest.approx(2 * brier)
    log_of_classes = losses.log_classes(label, p_of_classes)
    np.testing.assert_allclose(log_of_classes, losses.log(label, p), atol=1e-9)


def test_the_pinball_loss_of_the_median_is_half_the_absolute_error():
    pinball = losses.quantile(ACTUAL, FORECAST)
    np.testing.assert_allclose(2 * pinball, losses.absolute(ACTUAL, FORECAST))


@pytest.mark.parametrize("name", ["r2", "r2_correlation"])
def test_no_share_of_a_constant_is_explained(name):
    constant = np.array([2.0, 2.0])
    assert np.isnan(value(name, constant, constant))


@pytest.mark.parametrize("name", ["mae", "rmse", "median_absolute_error"])
def test_no_rows_have_no_error(name):
    assert np.isnan(value(name, np.zeros(0), np.zeros(0)))
