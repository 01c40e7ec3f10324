"""Plain functions and scikit-learn's metrics as own metrics: equal values, a bootstrap of rows or
of whole units, and what it refuses.
"""

from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sklearn

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.catalogue import lookup
from evalkit.limits import USUAL_LIMITS
from evalkit.metrics.rows import Rows
from evalkit.statistics import inference, row_bootstrap
from evalkit.statistics.methods import Options
from evalkit.statistics.statistic import RowStatistic

N = 80
RNG = np.random.default_rng(3)
LABEL = RNG.integers(0, 2, N)
SCORE = np.clip(0.3 * LABEL + 0.7 * RNG.random(N), 0.01, 0.99)
CLASS = RNG.integers(0, 3, N)
GUESS = np.where(RNG.random(N) < 0.7, CLASS, RNG.integers(0, 3, N))
ACTUAL = RNG.gamma(2.0, 1.0, N)
FORECAST = ACTUAL * RNG.uniform(0.5, 1.5, N)
OF_SCORES = (
    sklearn.roc_auc_score,
    sklearn.average_precision_score,
    sklearn.log_loss,
    sklearn.brier_score_loss,
    sklearn.d2_log_loss_score,
)
OF_CLASSES = (
    sklearn.accuracy_score,
    sklearn.balanced_accuracy_score,
    sklearn.f1_score,
    sklearn.precision_score,
    sklearn.recall_score,
    sklearn.matthews_corrcoef,
    sklearn.cohen_kappa_score,
    sklearn.jaccard_score,
    sklearn.zero_one_loss,
    sklearn.hamming_loss,
)
OF_FORECASTS = (
    sklearn.mean_absolute_error,
    sklearn.mean_squared_error,
    sklearn.root_mean_squared_error,
    sklearn.median_absolute_error,
    sklearn.mean_absolute_percentage_error,
    sklearn.mean_squared_log_error,
    sklearn.r2_score,
    sklearn.explained_variance_score,
    sklearn.max_error,
    sklearn.mean_poisson_deviance,
)


def value(function, structure, rows):
    """The value of a function as an own metric."""
    return lookup.find_metric(function, structure).value(rows)


@pytest.mark.parametrize("function", OF_SCORES, ids=lambda f: f.__name__)
def test_a_function_of_scores_has_its_own_value(function):
    made = value(function, "counts", Rows(LABEL, SCORE))
    assert made == pytest.approx(function(LABEL, SCORE), rel=1e-12)


@pytest.mark.parametrize("function", OF_CLASSES, ids=lambda f: f.__name__)
def test_a_function_of_classes_has_its_own_value(function):
    made = value(function, "counts", Rows(LABEL, SCORE))
    assert made == pytest.approx(function(LABEL, SCORE >= 0.5), rel=1e-12)


@pytest.mark.parametrize("function", OF_FORECASTS, ids=lambda f: f.__name__)
def test_a_function_of_forecasts_has_its_own_value(function):
    made = value(function, "forecasts", Rows(ACTUAL, FORECAST))
    assert made == pytest.approx(function(ACTUAL, FORECAST), rel=1e-12)


def test_a_partial_function_of_several_classes_has_its_own_value():
    macro = partial(sklearn.f1_score, average="macro")
    made = value(macro, "classes", Rows(CLASS, decision=GUESS, classes=3))
    assert made == pytest.approx(sklearn.f1_score(CLASS, GUESS, average="macro"), rel=1e-12)
    assert lookup.find_metric(macro, "classes").label == "f1_score_macro"


def test_weights_reach_a_function_that_takes_them():
    weight = RNG.random(N)
    made = value(sklearn.roc_auc_score, "counts", Rows(LABEL, SCORE, weight=weight))
    assert made == pytest.approx(sklearn.roc_auc_score(LABEL, SCORE, sample_weight=weight))


def test_weights_refuse_a_function_that_takes_none():
    with pytest.raises(ParameterError, match="takes no sample_weight, and the rows have weights"):
        value(sklearn.max_error, "forecasts", Rows(ACTUAL, FORECAST, weight=RNG.random(N)))


@pytest.mark.parametrize(
    "name, best",
    [("mean_absolute_error", "low"), ("accuracy_score", "high"), ("max_error", "low")],
)
def test_the_name_says_which_values_are_better(name, best):
    assert lookup._metric_of_function(getattr(sklearn, name), name).best == best


def spread(y_true, y_score):
    return float(np.ptp(y_score))


def test_a_name_that_says_nothing_has_no_direction():
    assert lookup.find_metric(spread, "counts").metric.best == "unknown"


def test_a_name_of_the_catalogue_is_told_apart():
    assert lookup.find_metric(sklearn.log_loss, "counts").label == "own_log_loss"


def unclear(a, b):
    return 0.0


def test_arguments_without_a_meaning_are_refused():
    with pytest.raises(ParameterError, match="arguments of unclear must be of: y_true"):
        lookup.find_metric(unclear, "counts")


def bootstrap_interval(function, structure, rows, seed=0):
    options = Options(0.95, np.random.default_rng(0), seed=seed)
    return inference.estimate(RowStatistic(lookup.find_metric(function, structure), rows), options)


def separation(y_true, y_score):
    return float(y_score[y_true == 1].mean() - y_score[y_true == 0].mean())


def mean_error(y_true, y_pred):
    return float(np.mean(y_pred - y_true))


def test_the_interval_of_a_mean_is_that_of_a_bootstrap_by_numpy():
    """The metric is the mean error of N = 80 forecasts. The expected limits are the 2.5 % and 97.5
    % quantiles of its means in 4,000 samples of the rows with replacement. The two bootstraps draw
    different random numbers, so that a limit may differ by a tenth of the width of the interval.
    """
    found = bootstrap_interval(mean_error, "forecasts", Rows(ACTUAL, FORECAST))
    rng = np.random.default_rng(5)
    errors = FORECAST - ACTUAL
    samples = rng.integers(0, N, (4000, N))  # row numbers
    means = errors[samples].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.1 * (high - low))
    assert found.method == "percentile bootstrap"


def test_whole_units_are_drawn():
    unit = np.repeat(np.arange(20), 4)
    for sample in row_bootstrap.samples(Rows(ACTUAL, unit=unit), np.random.default_rng(1), 20):
        counts = np.bincount(sample, minlength=N).reshape(20, 4)
        assert (counts == counts[:, :1]).all()
        assert counts[:, 0].sum() == 20


def test_a_maximum_has_no_interval():
    e = bootstrap_interval(sklearn.max_error, "forecasts", Rows(ACTUAL, FORECAST))
    assert np.isnan(e.low)
    assert e.method == "none (a few rows decide, as for a maximum)"


def test_a_number_that_most_samples_lack_has_no_interval():
    label = np.zeros(N, int)
    label[0] = 1
    e = bootstrap_interval(separation, "counts", Rows(label, SCORE))
    assert e.method == "none (undefined on many samples)"


def test_two_systems_are_compared_on_the_same_samples():
    """The forecasts of b are those of a with a noise of 0.001. On the same bootstrap samples both
    mean errors move together, so that the interval of their difference is far narrower
    than that of each. On samples of their own, it would be √2 times as wide as that of each.
    """
    almost_equal = FORECAST + 1e-3 * np.random.default_rng(0).normal(size=N)
    forecasts = {"a": FORECAST, "b": almost_equal}
    study = ek.rating(y_true=ACTUAL, y_pred=forecasts, metrics=[mean_error])
    difference = study.comparisons.iloc[0]
    width_of_difference = difference["high"] - difference["low"]
    widths_of_systems = study.estimates["high"] - study.estimates["low"]
    assert width_of_difference < widths_of_systems.min() / 20


def test_a_large_difference_is_found():
    """The scores of b are random. `separation`, the mean score of positives less that of negatives,
    is larger for a on every bootstrap sample, so that p is the smallest there is: 2 / (resamples +
    1), since p is two-sided and the data count as one more sample.
    """
    random_scores = np.random.default_rng(1).random(N)
    study = ek.classification(
        y_true=LABEL, y_score={"a": SCORE, "b": random_scores}, metrics=[separation]
    )
    row = study.comparisons.iloc[0]
    assert row["verdict"] == "higher"  # not "better": the function does not say what is better
    assert row["p"] == pytest.approx(2 / (USUAL_LIMITS.resamples + 1))


def test_a_threshold_chosen_on_the_rows_leaves_no_interval():
    study = ek.classification(
        y_true=LABEL, y_score=SCORE, metrics=[sklearn.f1_score], threshold="best_f1"
    )
    assert set(study.estimates["method"]) == {"none (the threshold was chosen on the rows)"}


def test_the_page_names_the_method_and_where_it_fails():
    study = ek.rating(y_true=ACTUAL, y_pred=FORECAST, metrics=[mean_error])
    text = study.tables.origin.text + study.tables.definitions.text
    assert "percentile bootstrap of the rows" in text
    assert "too narrow for few" in text
    assert "none for a maximum" in text


def test_the_command_names_a_function_without_its_address():
    study = ek.rating(y_true=ACTUAL, y_pred=FORECAST, metrics=[mean_error])
    assert "<function mean_error>" in study.tables.origin.text


def test_a_plain_function_of_a_file_is_a_metric(tmp_path):
    """The file mine.py has a function of labels and predictions that is not declared as a metric;
    it is named by its file and its name. Less is taken to be better, because the name has the word
    "error".
    """
    file = tmp_path / "mine.py"
    file.write_text(
        "def gap_error(y_true, y_pred):\n    return float(abs(y_pred - y_true).max())\n"
    )
    found = lookup.find_metric(f"{file}:gap_error", "forecasts")
    assert found.metric.best == "low"
    assert found.metric.file == "mine.py"


def test_declared_with_a_name_and_a_range():
    metric = ek.bootstrap(name="gap", best="low", low=0)(mean_error)
    assert (metric.name, metric.best, metric.low) == ("gap", "low", 0)
