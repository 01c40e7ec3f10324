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


def rows_of_credit_model(model):
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
    "counts": (rows_of_credit_model("forest"), rows_of_credit_model("gbm")),
    "classes": (classified(1), classified(2)),
    "labels": (labelled(1), labelled(2)),
    "forecasts": (forecasts(1), forecasts(2)),
}
# the cut-off that stands for a metric which needs one, such as precision@0.1
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
# each metric of rows, with a cut-off if it must have one
EVERY_METRIC = [
    lookup.MetricAtK(
        metric, 90 if (structure, name) == ("forecasts", "coverage") else CUTS.get(name)
    )
    for structure in SAMPLES
    for name, metric in lookup.TABLES[structure].items()
    if metric.needs != "scores of units"
]
# a calibration error has no valid interval
WITH_INTERVAL = [
    metric_at_k
    for metric_at_k in EVERY_METRIC
    if not isinstance(metric_at_k.metric.kind, Calibration)
]


def rows_of_two_systems(metric_at_k):
    """The same rows with the predictions of two systems, of the kind that the metric needs."""
    metric = metric_at_k.metric
    if metric.structure == "forecasts" and metric.needs:
        return distributed(1, metric.needs), distributed(2, metric.needs)
    return SAMPLES[metric.structure]


def for_each(metrics):
    return pytest.mark.parametrize(
        "metric_at_k", metrics, ids=lambda one: f"{one.metric.structure} {one.label}"
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


@pytest.mark.parametrize("structure, name", PEERS)
def test_equals_scikit_learn(structure, name):
    """A peer is the call of scikit-learn that a metric must equal. That of micro_f1 is
    {"function": "f1_score", "from": "predicted", "arguments": {"average": "micro"}}; "from" says
    which field of the rows is passed, the predicted classes or the scores.
    """
    rows, _ = SAMPLES[structure]
    peer = PEERS[structure, name]
    function_of_scikit_learn = getattr(sk, peer["function"])
    predictions = getattr(rows, peer.get("from", "predicted"))
    expected = function_of_scikit_learn(rows.actual, predictions, **peer.get("arguments", {}))
    assert find(name, structure).value(rows) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("structure, name", BY_HAND)
def test_equals_its_formula(structure, name):
    rows, _ = SAMPLES[structure]
    expected = BY_HAND[structure, name](rows)
    assert find(name, structure).value(rows) == pytest.approx(expected, abs=1e-9)


# What may not change a value, and what its limits are ---------------------------------------------


@for_each(EVERY_METRIC)
def test_a_metric_is_found_by_its_label(metric_at_k):
    assert find(metric_at_k.label, metric_at_k.metric.structure) == metric_at_k


@for_each(EVERY_METRIC)
def test_the_order_of_rows_and_weights_of_1_change_no_value(metric_at_k):
    """For every metric, such as recall or precision@0.1: the value of an estimate, of the rows in
    another order, and of rows with a weight of 1 each is the value of the rows, but for rounding.
    """
    rows, _ = rows_of_two_systems(metric_at_k)
    n = len(rows)
    another_order = np.random.default_rng(8).permutation(n)
    value = pytest.approx(metric_at_k.value(rows), abs=1e-12)
    assert estimate(metric_at_k, rows).value == value
    assert metric_at_k.value(rows.take(another_order)) == value
    assert metric_at_k.value(replace(rows, weight=np.ones(n))) == value


@for_each(EVERY_METRIC)
def test_whole_weights_repeat_rows(metric_at_k):
    """For every metric, such as recall or precision@0.1: rows with weights of 1, 2 and 3 have the
    value of a table in which each row stands once, twice or three times.
    """
    rows, _ = rows_of_two_systems(metric_at_k)
    n = len(rows)
    weight = np.random.default_rng(8).integers(1, 4, n)
    weighted = replace(rows, weight=weight.astype(float))
    repeated = rows.take(np.repeat(np.arange(n), weight))
    value_of_repeated = metric_at_k.value(repeated)
    assert metric_at_k.value(weighted) == pytest.approx(value_of_repeated, abs=1e-9)


@for_each(WITH_INTERVAL)
def test_swapped_systems_mirror_the_difference(metric_at_k):
    """For every metric with an interval: the comparison of b with a has the p-value of that of a
    with b, and its difference and limits with the opposite sign, so that low and high change
    places.
    """
    a, b = rows_of_two_systems(metric_at_k)
    a_minus_b = compare(metric_at_k, a, b)
    b_minus_a = compare(metric_at_k, b, a)
    value = metric_at_k.value(a) - metric_at_k.value(b)
    assert a_minus_b.difference.value == pytest.approx(value, abs=1e-12)
    assert b_minus_a.p_value == pytest.approx(a_minus_b.p_value, rel=1e-9)
    difference = a_minus_b.difference
    mirrored = b_minus_a.difference
    assert [-mirrored.value, -mirrored.high, -mirrored.low] == pytest.approx(
        [difference.value, difference.low, difference.high], rel=1e-6, abs=1e-9
    )


@for_each(WITH_INTERVAL)
def test_a_system_does_not_differ_from_itself(metric_at_k):
    rows, _ = rows_of_two_systems(metric_at_k)
    comparison = compare(metric_at_k, rows, rows)
    assert (comparison.p_value, comparison.difference.value) == (1, 0)


@cache
def bootstrap_samples(structure, needs):
    """For each of two systems 150 samples, with replacement, of the same rows."""
    rng = np.random.default_rng(6)
    n = len(SAMPLES[structure][0])
    rows_of_samples = [rng.integers(0, n, n) for _ in range(150)]
    systems = SAMPLES[structure]
    if structure == "forecasts" and needs:
        systems = (distributed(1, needs), distributed(2, needs))
    return [[rows.take(sample) for sample in rows_of_samples] for rows in systems]


@for_each(WITH_INTERVAL)
def test_limits_are_as_wide_as_the_spread_of_bootstrap_samples_by_row_and_by_unit(metric_at_k):
    """A 95% interval is 2 · 1.96 = 3.92 standard errors wide. The standard error of the value of
    one system, and of the difference of two, is estimated anew, as the spread over 150 bootstrap
    samples of the rows. The catalogue gives each metric a roughness, the relative deviation that
    is allowed: usually 0.2, more where values have steps or a long tail. Rows are tested as
    independent rows and as clusters of one row each, whose intervals have other formulas.
    """
    metric = metric_at_k.metric
    values_of_first, values_of_second = (
        np.array([metric_at_k.value(sample) for sample in samples])
        for samples in bootstrap_samples(metric.structure, metric.needs)
    )
    error_of_value = np.nanstd(values_of_first)
    error_of_difference = np.nanstd(values_of_first - values_of_second)
    two_systems = rows_of_two_systems(metric_at_k)
    two_systems_in_clusters = [replace(rows, unit=np.arange(len(rows))) for rows in two_systems]
    for first, second in (two_systems, two_systems_in_clusters):
        interval = estimate(metric_at_k, first)
        difference = compare(metric_at_k, first, second).difference
        assert metric.low <= interval.low <= interval.value <= interval.high <= metric.high
        width_of_value = interval.high - interval.low
        width_of_difference = difference.high - difference.low
        deviation_allowed = metric.roughness
        assert width_of_value / 3.92 / error_of_value == pytest.approx(1, abs=deviation_allowed)
        assert width_of_difference / 3.92 / error_of_difference == pytest.approx(
            1, abs=deviation_allowed
        )


@for_each(WITH_INTERVAL)
def test_a_copy_of_each_row_in_its_unit_narrows_no_interval(metric_at_k):
    """Each row is a unit, alone or with a copy of itself. A copy is no new information, so the
    interval over units must stay. The tolerance is for median_absolute_error and map_classes,
    which change by up to 0.005; the other metrics change by rounding alone. Intervals over rows
    would be narrower by 1 − 1 / √2 = 29 %.
    """
    rows, _ = rows_of_two_systems(metric_at_k)
    each_row_once = np.arange(len(rows))
    each_row_twice = np.tile(each_row_once, 2)
    single, doubled = (
        estimate(metric_at_k, replace(rows.take(numbers), unit=numbers))
        for numbers in (each_row_once, each_row_twice)
    )
    assert (doubled.value, doubled.low, doubled.high) == pytest.approx(
        (single.value, single.low, single.high), rel=0.03, abs=0.01
    )


@pytest.mark.parametrize(("k", "rows_on_top"), [("25", 25), ("300", 300), ("0.02", 20)])
def test_metrics_of_the_highest_scores_are_those_of_scikit_learn_on_them(k, rows_on_top):
    """Of the 1,000 rows, precision@25 counts the 25 with the highest scores (rows_on_top), and
    precision@0.02 the 2 % with the highest scores, 20; so do recall and lift, which is the
    precision divided by the share of positives. To scikit-learn they are the rows that are
    predicted positive.
    """
    sample, _ = SAMPLES["counts"]
    label = sample.actual
    score = sample.score + np.arange(len(sample)) * 1e-9  # without ties
    is_on_top = np.zeros(len(label), int)
    is_on_top[np.argsort(-score)[:rows_on_top]] = 1
    rows = Rows(label, score)
    precision = sk.precision_score(label, is_on_top)
    recall = sk.recall_score(label, is_on_top)
    assert find(f"precision@{k}").value(rows) == pytest.approx(precision, abs=1e-12)
    assert find(f"recall@{k}").value(rows) == pytest.approx(recall, abs=1e-12)
    assert find(f"lift@{k}").value(rows) == pytest.approx(precision / label.mean(), abs=1e-12)


def test_a_tie_at_the_cut_off_counts_by_share():
    """The first two are a positive and half of two tied negatives: precision 1/2."""
    tied = Rows(actual=np.array([1, 0, 0, 1]), score=np.array([2.0, 1.0, 1.0, 0.0]))
    assert find("precision@2").value(tied) == 0.5


def test_precision_beyond_the_number_of_rows_is_undefined():
    four_rows = Rows(actual=np.array([1, 0, 0, 1]), score=np.array([2.0, 1.0, 1.0, 0.0]))
    assert np.isnan(find("precision@5").value(four_rows))


# metrics whose influence values are smoothed over several rows, and so are no derivatives
SMOOTHED = (
    "median_absolute_error",
    "break_even",
    "precision@0.1",
    "recall@0.1",
    "lift@0.1",
    "recall@fpr0.1",
)


@for_each([chosen for chosen in WITH_INTERVAL if chosen.label not in SMOOTHED])
def test_influence_values_are_the_derivative_by_the_weight_of_a_row(metric_at_k):
    """The influence of a row is the derivative of the metric by its weight. Here it is computed as
    a difference quotient for three of the rows, chosen at will: the weight grows from 1 to
    1.000001. The influence values of some metrics are difference quotients as well, with a much
    larger step, 0.0001 of the number of rows: they may be off by 2 %, and that of lift is by 1.7 %.
    """
    rows, _ = rows_of_two_systems(metric_at_k)
    influence = metric_at_k.effects(rows).influence
    assert influence.sum() == pytest.approx(0, abs=1e-9)  # equal changes of all weights do nothing
    for row in (3, 50, 170):
        weight = np.ones(len(rows))
        weight[row] += 1e-6
        change = metric_at_k.value(replace(rows, weight=weight)) - metric_at_k.value(rows)
        assert change / 1e-6 == pytest.approx(influence[row], rel=0.02, abs=1e-6)


def rows_of_one_outcome(rows):
    """Up to 20 rows with the class, labels or value of the first row."""
    is_equal = (rows.actual == rows.actual[0]).reshape(len(rows), -1).all(axis=1)
    return rows.take(np.flatnonzero(is_equal)[:20])


@for_each(EVERY_METRIC)
def test_one_row_or_one_outcome_has_no_interval_or_one_that_contains_the_value(metric_at_k):
    rows, _ = rows_of_two_systems(metric_at_k)
    for few in (rows.take(np.arange(1)), rows_of_one_outcome(rows)):
        interval = estimate(metric_at_k, few)
        has_no_limits = np.isnan([interval.low, interval.high]).all()
        assert has_no_limits or interval.low <= interval.value <= interval.high


@for_each(EVERY_METRIC)
def test_an_undefined_value_has_no_difference(metric_at_k):
    """Such as ROC AUC of one class. The other system has the squares of the scores."""
    rows, _ = rows_of_two_systems(metric_at_k)
    few = rows_of_one_outcome(rows)
    comparison = compare(metric_at_k, few, replace(few, score=few.score**2))
    if np.isnan(metric_at_k.value(few)):
        assert np.isnan([comparison.p_value, comparison.difference.value]).all()


def rows_without_class_3():
    rows, _ = SAMPLES["classes"]
    return rows.take(rows.actual != 3)


@pytest.mark.parametrize("name", ["roc_auc_ovr", "roc_auc_hand_till", "map_classes"])
def test_a_class_without_rows_leaves_averages_over_classes_undefined(name):
    average = estimate(find(name, "classes"), rows_without_class_3())
    assert np.isnan([average.value, average.low, average.high]).all()


def test_a_class_without_rows_has_no_weight_in_a_weighted_average():
    assert np.isfinite(find("roc_auc_ovr_weighted", "classes").value(rows_without_class_3()))


# Of two classes ------------------------------------------------


@pytest.mark.parametrize("pair", ["forest vs gbm", "forest vs logistic", "gbm vs logistic"])
def test_areas_are_compared_as_by_proc(pair):
    """The pair is of models of the German credit data, "forest vs gbm". The difference of their
    ROC AUC has the standard error of DeLong's test in R's pROC: with a normal distribution it gives
    pROC's limits and p. The comparison takes a t distribution with Satterthwaite's degrees of
    freedom instead, whose p is a little larger: here by less than 5 %.
    """
    by_proc = expected("german_credit")["pROC"]["pairs"][pair]
    first, second = (
        RowStatistic(find("roc_auc"), rows_of_credit_model(model)) for model in pair.split(" vs ")
    )
    comparison = inference.compare(first, second, options())
    error = np.sqrt(methods.variance_by_class(first, second).variance.sum())
    value = comparison.difference.value
    normal_limits = value + error * NormalDist().inv_cdf(0.975) * np.array([-1, 1])
    normal_p = 2 * NormalDist().cdf(-abs(value) / error)
    assert normal_limits == pytest.approx(by_proc["ci95_diff"], abs=1e-9)
    assert normal_p == pytest.approx(by_proc["p"], abs=1e-9)
    assert by_proc["p"] < comparison.p_value < 1.05 * by_proc["p"]
    assert comparison.method == "DeLong, Welch t"


@pytest.mark.parametrize("metric", ["accuracy", "error_rate"])
def test_right_and_wrong_decisions_are_compared_by_mcnemar(metric):
    """Of 1,000 loans gbm alone judges 50 right, forest alone 71: z = 21 / √121, two-sided."""
    comparison = compare(find(metric), rows_of_credit_model("gbm"), rows_of_credit_model("forest"))
    assert comparison.method == "asymptotic McNemar test"
    assert comparison.p_value == pytest.approx(0.0563, abs=5e-5)


def test_recall_is_compared_on_the_positives():
    """300 of the 1,000 loans are bad."""
    comparison = compare(
        find("recall"), rows_of_credit_model("gbm"), rows_of_credit_model("forest")
    )
    assert comparison.difference.n == 300


def test_perfect_scores_have_an_interval():
    rows = Rows(np.repeat([0, 1], 30), np.arange(60.0), 30.0)
    interval = estimate(find("roc_auc"), rows)
    assert (interval.value, interval.high, interval.method) == (1.0, 1.0, "Newcombe 5")
    assert 0.8 < interval.low < 1


@for_each([chosen for chosen in EVERY_METRIC if chosen.metric.structure == "counts"])
@pytest.mark.parametrize("positives", [1, 50, 99])
def test_the_best_and_the_worst_order_keep_to_the_range(metric_at_k, positives):
    """Of 100 rows, 1, 50 or 99 are positive. Scores equal to the labels put all positives first,
    and their opposites put them last. Neither value may lie outside the range, from low to high,
    that the catalogue states for the metric; it may be NaN.
    """
    label = (np.arange(100) < positives).astype(np.int64)
    best_scores = label.astype(float)
    worst_scores = 1 - best_scores
    values = [metric_at_k.value(Rows(label, scores, 0.5)) for scores in (best_scores, worst_scores)]
    metric = metric_at_k.metric
    assert not any(value < metric.low - 1e-12 for value in values)
    assert not any(value > metric.high + 1e-12 for value in values)


def rows_with_threshold(scores_and_labels, threshold):
    score, label = np.array(scores_and_labels).T
    return Rows(label.astype(np.int64), score.astype(float), float(threshold))


lists_of_scores_and_labels = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=4, max_size=40
)


@ANY_TIME
@given(lists_of_scores_and_labels, st.integers(0, 7))
def test_metrics_of_decisions_are_those_of_the_counts_at_the_threshold(
    scores_and_labels, threshold
):
    """The scores are whole numbers from 0 to 6, many of them tied. At a threshold of 0 all rows are
    predicted positive, at 7 none. A metric of the catalogue is found by its name; its value for the
    rows must be that of the function for the counts of true and false positives.
    """
    rows = rows_with_threshold(scores_and_labels, threshold)
    at_threshold = counts.at(rows.counts, threshold)
    for name, function in (
        ("precision", counts.precision),
        ("recall", counts.recall),
        ("f1", counts.f_score),
    ):
        expected_value = float(function(at_threshold))
        assert find(name).value(rows) == pytest.approx(expected_value, nan_ok=True)


@ANY_TIME
@given(lists_of_scores_and_labels, st.integers(0, 7))
def test_a_share_is_the_mean_of_its_hits(scores_and_labels, threshold):
    """Recall is such a share: of the positives (members), those that are predicted positive (hits).
    Each metric of this kind is computed in two ways, from the rows, and from the counts of true
    and false positives at the threshold. Scores are whole numbers from 0 to 6, the threshold is
    one from 0 to 7.
    """
    rows = rows_with_threshold(scores_and_labels, threshold)
    for name, metric in lookup.TABLES["counts"].items():
        if isinstance(metric.kind, Share):
            is_member, is_hit = metric.kind.hits(rows)
            share = is_hit[is_member].mean() if is_member.any() else np.nan
            of_counts = find(name).value_at(rows.counts, threshold)
            assert find(name).value(rows) == pytest.approx(share, nan_ok=True), name
            assert of_counts == pytest.approx(share, nan_ok=True), name


def test_average_precision_has_no_test_where_a_class_has_one_row():
    """The only positive has the highest of five scores for one system, and the lowest for the
    other. Average precision is the precision at its rank, 1/1 and 1/5. The variance over
    positives cannot be estimated from one, so that there is neither a p-value nor an interval.
    """
    label = np.array([1, 0, 0, 0, 0])
    score = np.array([0.9, 0.8, 0.3, 0.2, 0.1])
    positive_first = Rows(label, score, 0.5)
    positive_last = Rows(label, score[::-1].copy(), 0.5)
    comparison = compare(find("average_precision"), positive_first, positive_last)
    difference = comparison.difference
    assert np.isnan([comparison.p_value, difference.low, difference.high]).all()
    assert difference.value == pytest.approx(1 - 1 / 5)


def test_a_single_unit_has_no_interval():
    """The interval of an AUC follows from how units vary. All 300 rows are of one unit, the user u,
    which cannot vary, so that its limits are undefined.
    """
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 300)
    rows = Rows(label, rng.normal(size=300) + label, 0.5, unit=np.full(300, "u"))
    interval = estimate(find("roc_auc"), rows)
    assert interval.n == 1
    assert np.isnan([interval.low, interval.high]).all()
