"""The classification report: thresholds and costs, another base rate, ties, scores by class, what
is refused.
"""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from samples import scores
from scipy.stats import ks_2samp
from sklearn import metrics
from whole_pages import told as findings_text

from evalkit.arrays import InputError
from evalkit.catalogue import lookup
from evalkit.findings import kinds
from evalkit.limits import Limits, ReadingLimits
from evalkit.metrics import counts, losses
from evalkit.numbers import estimate
from evalkit.pages import binary_page, classification_page, threshold_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.studies import classification, ranking, score_curves, validation
from evalkit.studies.study import Study

PENGUINS, TRAITS = "data/penguins/predictions.csv", "data/digit_traits/predictions.csv"


@pytest.fixture(scope="module")
def study_at_base_rate_of_1_percent():
    """A study of the forest's scores where 1 % would be positive, of which 30 % are."""
    return classification.read(prevalence=0.01, systems="forest")


def test_average_precision_is_lower_at_a_lower_base_rate(study_at_base_rate_of_1_percent):
    """The bundled sample has 30 % positives; its metrics are also estimated for a population with 1
    % (`elsewhere`). Fewer positives are then among the highest scores, so that average precision is
    lower.
    """
    of_sample, at_1_percent = study_at_base_rate_of_1_percent.metrics_by_base_rate.query(
        "metric == 'average_precision'"
    ).to_dict("records")
    assert of_sample["base_rate"] == pytest.approx(0.3)
    assert at_1_percent["base_rate"] == pytest.approx(0.01)
    assert at_1_percent["value"] < of_sample["value"]
    assert of_sample["low"] <= of_sample["value"] <= of_sample["high"]


def test_average_precision_at_a_low_base_rate_of_few_negatives_has_no_interval(
    study_at_base_rate_of_1_percent,
):
    """The bundled sample has 30 % positives; its metrics are also estimated for a population with 1
    % (`elsewhere`), for which each of its 700 negatives stands for many. How much average precision
    varies then depends on the few with the highest scores, so that no interval is given, and the
    page says why.
    """
    row = study_at_base_rate_of_1_percent.metrics_by_base_rate.query(
        "metric == 'average_precision' and base_rate == 0.01"
    )
    assert row["low"].isna().tolist() == [True]
    sentence = "at this rate it depends on the few highest-scoring negatives"
    assert sentence in classification_page.base_rate(study_at_base_rate_of_1_percent).html


def test_other_metrics_at_another_base_rate_lie_in_their_intervals(study_at_base_rate_of_1_percent):
    """The metrics of the bundled sample are also estimated for a population with 1 % positives."""
    rows = study_at_base_rate_of_1_percent.metrics_by_base_rate.query(
        "metric != 'average_precision'"
    )
    assert rows["value"].between(rows["low"], rows["high"]).all()


@pytest.mark.parametrize(
    ("options", "coverage"), [({}, 123 / 342), ({"precision_target": 0.5}, 1.0)]
)
def test_coverage_at_a_precision_target(options, coverage):
    """The share of rows that are predicted if the least certain ones are left out until the rest
    has this precision: 123 of 342 without an option, all for a low target.
    """
    row = classification.read(PENGUINS, systems="logistic", **options).covered.iloc[0]
    assert row["coverage"] == pytest.approx(coverage)


# ---- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "threshold, holds",
    [
        (0.3, lambda decided: decided.threshold == 0.3),
        ("precision>=0.7", lambda decided: counts.precision(decided) >= 0.7),
        ("recall>=0.9", lambda decided: counts.recall(decided) >= 0.9),
        ("best_f1", lambda decided: counts.f_score(decided) >= 0.5),
        ("cost:fp=1,fn=5", lambda decided: decided.threshold < 0.6),
        ("cost:fp=5,fn=1", lambda decided: decided.threshold > 0.6),
    ],
)
def test_each_system_has_a_threshold_by_the_rule(threshold, holds):
    """Two systems have probabilities. `threshold` is a number or a rule by which each system's
    threshold is chosen, and `holds` says what is true of the decisions at this threshold.
    """
    study = classification.read(scores(), threshold=threshold)
    for system, chosen in study.thresholds.items():
        assert holds(counts.at(study.table(system), chosen)), system


@pytest.mark.parametrize(
    "rule", ["precision>=0.7", "recall>=0.9", "best_f1", "cost:fp=1,fn=5", "cost:fp=5,fn=1"]
)
def test_a_threshold_chosen_on_the_same_rows_is_said_to_be_optimistic(rule):
    """The rows on which a rule chooses the best threshold are those on which it is evaluated."""
    assert "optimistic" in findings_text(classification.read(scores(), threshold=rule))


def test_a_threshold_that_is_a_number_is_not_chosen_on_the_rows():
    """A number is the threshold of every system, whatever the rows are, so that no estimate at it
    is optimistic.
    """
    study = classification.read(scores(), threshold=0.3)
    assert study.rule.fixed_threshold
    assert "optimistic" not in findings_text(study)


def equally_good_scores_of_a_and_b(seed, rows=200):
    """Labels and the scores of two systems, a and b: the logit of the label's probability with
    independent noise of one size. Neither system is better in truth.
    """
    rng = np.random.default_rng(seed)
    merit = rng.normal(-1, 1.5, rows)
    label = (rng.random(rows) < 1 / (1 + np.exp(-merit))).astype(int)
    a, b = (merit + rng.normal(0, 0.7, rows) for _ in range(2))
    return pd.DataFrame({"label": label, "score_a": a, "score_b": b})


def widths_of_intervals(frame):
    return frame.eval("high - low").to_numpy()


class Choices(NamedTuple):
    """The same rows with a threshold that is chosen, and with this threshold as a number."""

    chosen: Study
    fixed: Study


@pytest.fixture(
    scope="module",
    params=[{}, {"unit": "user"}, {"columns": {"weight": "times"}}],
    ids=["rows", "users", "weights"],
)
def best_f1_and_same_number(request):
    """The threshold of the best F1, which each bootstrap sample chooses again, and the number that
    it is for system a. The scores of b are twice those of a.
    """
    rows = np.arange(200)
    table = equally_good_scores_of_a_and_b(1).assign(user=rows % 40, times=1 + rows % 3)
    table["score_b"] = 2 * table["score_a"]
    options = {"metrics": "precision,f1,roc_auc"} | request.param
    chosen = classification.read(table, threshold="best_f1", **options)
    fixed = classification.read(table, threshold=chosen.thresholds["a"], **options)
    return Choices(chosen, fixed)


def width_by_metric(study):
    """The widths of the intervals of system a."""
    of_a = study.estimates.query("system == 'a'").set_index("metric")
    return of_a["high"] - of_a["low"]


def test_the_choice_of_the_threshold_widens_intervals_of_decisions_alone(best_f1_and_same_number):
    """The same rows are studied with the threshold of the best F1, which each bootstrap sample
    chooses again, and with this threshold as a fixed number. The choice adds to how much the
    precision varies; the AUC does not depend on a threshold.
    """
    if_chosen = width_by_metric(best_f1_and_same_number.chosen)
    if_fixed = width_by_metric(best_f1_and_same_number.fixed)
    assert if_chosen["precision"] > 1.2 * if_fixed["precision"]
    assert if_chosen["roc_auc"] == if_fixed["roc_auc"]


def test_systems_that_order_rows_alike_do_not_differ_at_chosen_thresholds(best_f1_and_same_number):
    """The scores of b are twice those of a, so that in each bootstrap sample their thresholds of
    the best F1 decide alike: all differences are 0.
    """
    assert (best_f1_and_same_number.chosen.comparisons["p"] == 1).all()


def test_only_a_chosen_threshold_is_said_to_be_chosen_again(best_f1_and_same_number):
    """The same rows are studied with the threshold of the best F1, which each bootstrap sample
    chooses again, and with this threshold as a fixed number.
    """
    assert "chosen again" in best_f1_and_same_number.chosen.interval_methods_text
    assert "chosen again" not in best_f1_and_same_number.fixed.tests_text
    findings = findings_text(best_f1_and_same_number.chosen)
    assert "made again on each bootstrap sample" in findings


LIMITS_OF_READING_IN_MEMORY = Limits()
LIMITS_OF_READING_IN_BLOCKS = Limits(
    reading=ReadingLimits(rows=100, shard=300, largest=400)
)  # of 300 to 400 rows
OPTIONS_WITH_A_CHOSEN_THRESHOLD = {
    "best F1": {"threshold": "best_f1"},
    "least cost": {"threshold": "cost:fp=1,fn=5"},
    "a recall": {"threshold": "recall>=0.9"},
    "a precision": {"threshold": "precision>=0.6"},
    "units": {"unit": "user"},
    "weights": {"columns": {"weight": "times"}},
    "units and weights": {"unit": "user", "columns": {"weight": "times"}},
    "one system": {"systems": "a"},
}


def study_of_precision_and_recall(limits, table=None, *, threshold="best_f1", **options):
    """The study of a table, if none is given of one with 1,500 rows and the systems a and b, by
    precision and recall. limits: those of reading in memory or in blocks.
    """
    if table is None:
        rows = np.arange(1500)
        table = equally_good_scores_of_a_and_b(1, 1500).assign(user=rows % 500, times=1 + rows % 3)
    usual = {"preds": table, "metrics": "precision,recall", "threshold": threshold}
    return classification.study_of(ClassificationParameters.from_raw(usual | options), limits)


@pytest.mark.parametrize(
    "options", OPTIONS_WITH_A_CHOSEN_THRESHOLD.values(), ids=OPTIONS_WITH_A_CHOSEN_THRESHOLD
)
def test_intervals_with_a_chosen_threshold_are_as_wide_in_blocks_as_in_memory(options):
    """The same 1,500 rows are read in memory and in blocks, with options such as a unit or another
    rule for the threshold (the best F1 if none is named). Both studies choose the threshold again
    on each of 400 bootstrap samples. As these are not the same samples, the width of an interval
    has a standard error of 3.5 %, more if the distribution has long tails: hence within 25 %.
    """
    in_memory = study_of_precision_and_recall(LIMITS_OF_READING_IN_MEMORY, **options)
    in_blocks = study_of_precision_and_recall(LIMITS_OF_READING_IN_BLOCKS, **options)
    assert in_blocks.data is None  # the rows were not held in memory
    assert in_blocks.thresholds == in_memory.thresholds
    expected = widths_of_intervals(in_memory.estimates)
    assert widths_of_intervals(in_blocks.estimates) == pytest.approx(expected, rel=0.25)
    if len(in_memory.systems) > 1:
        expected = widths_of_intervals(in_memory.comparisons)
        assert widths_of_intervals(in_blocks.comparisons) == pytest.approx(expected, rel=0.25)


def p_value_of_recall(study):
    return study.comparisons.set_index("metric")["p"]["recall"]


def test_the_p_value_of_recall_is_much_larger_at_thresholds_that_samples_choose_again():
    """Two systems that are equally good are compared by recall at their thresholds of the best F1,
    which for this seed happen to give very different recalls. If the thresholds are taken as fixed,
    the p-value is 2e-12. If each bootstrap sample chooses them again, as it should, p is about
    0.045, whether the table is read in memory or in blocks; from 400 samples a p-value of 0.05 has
    a standard error of 0.01, and the tolerance is two of them.
    """
    table = equally_good_scores_of_a_and_b(seed=336, rows=1500)
    in_memory = study_of_precision_and_recall(
        LIMITS_OF_READING_IN_MEMORY, table, threshold="best_f1"
    )
    in_blocks = study_of_precision_and_recall(
        LIMITS_OF_READING_IN_BLOCKS, table, threshold="best_f1"
    )
    # fixed thresholds: scores less the threshold of their system, with a threshold of 0
    scores_less_threshold = {
        f"score_{name}": table[f"score_{name}"] - threshold
        for name, threshold in in_memory.thresholds.items()
    }
    table_less_thresholds = table.assign(**scores_less_threshold)
    at_fixed_thresholds = study_of_precision_and_recall(
        LIMITS_OF_READING_IN_BLOCKS, table_less_thresholds, threshold=0.0
    )
    assert p_value_of_recall(at_fixed_thresholds) < 1e-9
    assert p_value_of_recall(in_memory) == pytest.approx(0.045, abs=0.02)
    assert p_value_of_recall(in_blocks) == pytest.approx(p_value_of_recall(in_memory), abs=0.02)


@pytest.mark.parametrize("options", [{}, {"unit": "user"}], ids=["plain", "units"])
def test_the_samples_of_blocks_do_not_depend_on_the_size_of_the_blocks(options):
    """A table is read in blocks of 130 to 160 and of 300 to 400 rows. The bootstrap samples, from
    which the intervals come, are the same.
    """
    smaller_blocks = Limits(reading=ReadingLimits(rows=100, shard=130, largest=160))
    small = study_of_precision_and_recall(smaller_blocks, **options)
    large = study_of_precision_and_recall(LIMITS_OF_READING_IN_BLOCKS, **options)
    assert small.estimates["high"].tolist() == large.estimates["high"].tolist()


def test_the_page_of_blocks_says_that_the_threshold_is_chosen_again():
    """The threshold is that of the best F1, of a table that is read in blocks."""
    study = study_of_precision_and_recall(LIMITS_OF_READING_IN_BLOCKS)
    assert "chosen again" in study.interval_methods_text
    assert "made again on each bootstrap sample" in findings_text(study)


@pytest.mark.parametrize("n_different", [0, 1])
def test_systems_that_decide_nearly_alike_are_not_claimed_to_be_equal(n_different):
    """Systems a and b have scores for 200 rows and a threshold of 0. The scores of b are 1.01 times
    those of a, so that both decide alike on every row, or on all but one, where the score of b has
    the other sign. Among further rows more decisions may differ. So no interval of a difference may
    shrink to a point: each is wider than 1 / positives, by which one positive changes the recall.
    """
    table = equally_good_scores_of_a_and_b(seed=3).assign(
        score_b=lambda rows: 1.01 * rows["score_a"]
    )
    rows_decided_otherwise = np.argsort(np.abs(table["score_a"]))[:n_different]  # nearest to 0
    table.loc[rows_decided_otherwise, "score_b"] *= -1
    metrics = "f1,f2,jaccard,precision,lift,balanced_accuracy,youden,mcc,kappa,recall,accuracy"
    comparisons = classification.read(table, threshold=0.0, metrics=metrics).comparisons
    assert widths_of_intervals(comparisons).min() > 1 / table["label"].sum()
    assert (comparisons["p"] > 0.1).all()


def exact_probabilities_a_and_rounded_ones_b():
    """200 probabilities of system a that are on the right side of 0.5 on each row, and of b the
    same rounded to one decimal. Those that are rounded to 0 or 1 are right on all 200 rows; a wrong
    one would have a log loss of 36.
    """
    exact = 1 / (1 + np.exp(-2.5 * equally_good_scores_of_a_and_b(2)["score_a"]))
    label = (exact > 0.5).astype(int)
    user = np.arange(200) % 50
    return pd.DataFrame({"label": label, "score_a": exact, "score_b": exact.round(1), "user": user})


def test_the_interval_of_log_loss_allows_for_wrong_probabilities_of_exactly_0_or_1():
    """The probabilities of b are those of a rounded to one decimal, so that some are exactly 0 or
    1, and right on all of these 200 rows: b is better by 0.003. But one wrong probability of 0 or 1
    would have the log loss 36 and add 36 / 200 = 0.18 to the mean. The interval is wider than 0.5,
    so that it has room for more than two of them.
    """
    study = classification.read(exact_probabilities_a_and_rounded_ones_b(), metrics="log_loss")
    (row,) = study.comparisons.to_dict("records")
    assert row["low"] < 0 < row["high"]
    assert row["high"] - row["low"] > 0.5
    assert row["p"] >= 0.05
    assert "allow for more of them being wrong" in findings_text(study)


def test_the_interval_of_log_loss_over_users_does_not_allow_for_them_and_says_so():
    """The probabilities of b are rounded, so that some are exactly 0 or 1, and all of these are
    right. By user, the interval has no room for wrong ones among further rows, of which a finding
    tells.
    """
    study = classification.read(
        exact_probabilities_a_and_rounded_ones_b(), metrics="log_loss", unit="user"
    )
    assert "do not allow for more of them being wrong" in findings_text(study)


def test_no_threshold_in_use_costs_less_than_that_of_least_cost():
    """The study compares for each system the threshold in use with the ones that other rules
    choose, among them that of the least cost, here with 1 per false positive and 4 per false
    negative.
    """
    study = classification.read(scores(), costs="fp=1,fn=4")
    least = study.choices.query("rule == 'least cost'").set_index("system")["cost"]
    used = study.choices[study.choices["rule"].str.startswith("used")].set_index("system")["cost"]
    assert (least <= used).all()


# ---- what data can be like -----------------------------------------------------------------------


def test_scores_outside_0_to_1_have_no_log_loss_and_a_threshold_of_their_own():
    """The scores are ten times probabilities, and so none: log loss is not defined for them, and
    the threshold is that of the best F1.
    """
    study = classification.read(scores(score=lambda f: 10 * f["score"]))
    assert "log_loss" not in [chosen.label for chosen in study.settings.metrics]
    assert study.rule.text == "best F1"


def test_equal_scores_separate_nothing():
    """All scores are 0.5. A pair of a positive and a negative with tied scores counts one half in
    the AUC of both systems.
    """
    study = classification.read(scores(score=0.5))
    assert study.estimates.query("metric == 'roc_auc'")["value"].tolist() == [0.5, 0.5]


def test_rows_of_users_count_their_users():
    """200 rows are of 50 users, who are the units."""
    study = classification.read(scores(user=lambda f: f["id"] // 4), unit="user")
    assert (study.estimates.query("metric == 'roc_auc'")["n"] == 50).all()


@pytest.fixture(scope="module")
def study_of_predicted_classes():
    """Six rows of three classes, of which four are right, without scores."""
    table = {"id": range(6), "label": list("aabbcc"), "predicted": list("abbbca")}
    return classification.read(pd.DataFrame(table))


@pytest.mark.parametrize("piece", ["curve_plot", "top", "calibration"])
def test_predicted_classes_without_scores_have_no_curves(study_of_predicted_classes, piece):
    """The study is of six rows with an actual and a predicted class; the pieces of its page that
    need scores are empty.
    """
    assert getattr(classification_page, piece)(study_of_predicted_classes).html == ""


def test_predicted_classes_without_scores_have_an_accuracy(study_of_predicted_classes):
    """Four of six predicted classes are the actual ones."""
    assert study_of_predicted_classes.estimates.set_index("metric")["value"][
        "accuracy"
    ] == pytest.approx(4 / 6)


def test_few_distinct_scores_are_a_note_on_ties():
    """The 500 scores of a system are rounded to two decimals. So many rows have the label and the
    score of another row that a warning of repeated rows would be due. But with at most 101 distinct
    scores such ties are likely, and the finding, EK206, is only a note.
    """
    scores_of_one_system = scores(rows=500).query("system == 'good'")
    coarse = scores_of_one_system.assign(score=lambda rows: rows["score"].round(2))
    findings = binary_page.every_finding(classification.read(coarse))
    (on_repeated_rows,) = [finding for finding in findings if finding.kind.code == "EK206"]
    assert on_repeated_rows.severity == kinds.NOTE
    assert "ties are likely, for no system has more than" in on_repeated_rows.message


@pytest.fixture(scope="module")
def study_and_least_cost():
    """4,000 rows with a score each, a missed positive of which costs 3; the study, and the least
    cost per row over all thresholds.
    """
    rng = np.random.default_rng(2)
    label = (rng.random(4000) < 0.2).astype(int)
    score = np.clip(0.25 * label + 0.75 * rng.random(4000), 0, 1)
    study = classification.read(pd.DataFrame({"label": label, "score": score}), costs="fp=1,fn=3")
    costs = [
        ((score >= t) & (label == 0)).sum() + 3 * ((score < t) & (label == 1)).sum() for t in score
    ]
    return study, min(costs) / 4000


def test_the_least_cost_is_that_over_all_thresholds(study_and_least_cost):
    """`least` is the least cost per row over all thresholds, by a plain loop."""
    study, least = study_and_least_cost
    least_of_study = study.choices.set_index("rule").loc["least cost", "cost"]
    assert least_of_study == pytest.approx(least, abs=1e-15)


def test_the_cost_curve_has_the_least_cost_of_the_table(study_and_least_cost):
    """`choices` is the table of thresholds by several rules; `sweep` has the cost and F1 at all
    thresholds that are drawn.
    """
    study, _ = study_and_least_cost
    choices = study.choices.set_index("rule")
    assert study.sweep["cost"].min() == choices.loc["least cost", "cost"]
    assert study.sweep["f1"].max() == choices.loc["best F1", "f1"]


def test_the_caption_of_the_cost_curve_has_the_least_cost_and_its_threshold(study_and_least_cost):
    """`least` is the least cost per row over all thresholds, by a plain loop."""
    study, least = study_and_least_cost
    threshold = study.choices.set_index("rule").loc["least cost", "threshold"]
    caption = threshold_page.cost_plot(study).caption
    assert f"Lowest: score {least:.3f} at threshold {threshold:.3f}." in caption


def test_the_cost_curve_begins_where_none_is_predicted_positive():
    """Of 1,000 rows 10 are positive, and all have the same score. A threshold predicts either no
    row positive, with 10 errors, which cost 1 each and so 0.01 per row, or all rows, with 990
    errors and a cost of 0.99. The first point has an infinite threshold, which no figure shows.
    """
    label = np.repeat([1, 0], [10, 990])
    study = classification.read(pd.DataFrame({"label": label, "score": 0.3}), threshold=0.5)
    assert study.sweep[["predicted", "cost"]].to_numpy().tolist() == [[0.0, 0.01], [1.0, 0.99]]
    caption = threshold_page.cost_plot(study).caption
    assert "Lowest: score 0.0100 with no row predicted positive" in caption
    assert "inf" not in threshold_page.threshold_plot(study).svg


@pytest.mark.parametrize("systems", [["good"], ["good", "weak"]])
@pytest.mark.parametrize("columns", [{}, {"weight": 0.5}], ids=["plain", "weighted"])
def test_repeated_rows_share_their_label_and_every_score(systems, columns):
    """The scores of 400 rows by the systems good and weak are rounded to two decimals, so that some
    rows agree by coincidence. A row is repeated if another row before it has the same label and the
    same scores of all systems that are read (`systems`); pandas counts them in a table with a
    column of scores per system. A constant weight in a further column changes nothing.
    """
    data = scores(400, **columns).assign(score=lambda rows: rows["score"].round(2))
    study = classification.read(data, systems=systems)
    wide = data.pivot(index=["id", "label"], columns="system", values="score")[systems]
    repeated = wide.reset_index("label").duplicated().sum()
    assert repeated > 0
    assert study.repeated == repeated


NAMES = [*"ab" * 29, "a", "n" * 3000]  # the last is too long
LABEL = np.arange(60) % 2


@pytest.mark.parametrize(
    "data, segments",
    [
        ({"label": LABEL, "score": 0.5, "place": NAMES}, "place"),
        ({"label": NAMES, "predicted": NAMES}, None),
    ],
    ids=["slice", "class"],
)
def test_a_name_that_no_page_can_repeat_is_refused_with_its_row(data, segments):
    """The last of 60 rows has a name of 3,000 bytes, of a slice or of a class. The refusal begins
    with the name but does not repeat it as a whole.
    """
    message = r"must have at most 1,000 bytes, got 3,000, beginning with 'nnn.*\(row 60\)"
    with pytest.raises(InputError, match=message) as error:
        classification.read(preds=pd.DataFrame(data), segments=segments)
    assert len(str(error.value)) < 300


def test_a_column_with_a_long_name_is_refused():
    """The column is called score_ and 2,000 letters: 2,006 bytes."""
    with pytest.raises(
        InputError, match="a column's name must have at most 1,000 bytes, got 2,006"
    ):
        classification.read(preds=pd.DataFrame({"label": LABEL, f"score_{'n' * 2000}": 0.5}))


def test_long_texts_that_are_features_are_read():
    """A feature has texts of 2,000 letters. The limit of 1,000 bytes is for names that a page has
    to repeat, such as those of systems, not for features.
    """
    remark = np.where(np.arange(60) % 3, "m" * 2000, "o" * 2000)
    features = pd.DataFrame({"label": LABEL, "remark": remark})
    assert validation.read(features=features, k=5, seconds=0.1).systems


def test_long_texts_that_are_ids_of_queries_are_read():
    """The ids of ten queries have more than 1,500 letters. The limit of 1,000 bytes is for names
    that a page has to repeat, such as those of systems, not for ids of queries.
    """
    rows = np.arange(60)
    query = np.char.add("q" * 1500, (rows // 6).astype(str))
    lists = pd.DataFrame({"query": query, "item": rows % 6, "score": rows / 60, "grade": LABEL})
    assert ranking.read(preds=lists).order


# 400 labels, and scores of two systems: of a they have ties and are higher for positives
RNG = np.random.default_rng(6)
TRUTH = RNG.integers(0, 2, 400)
SCORES = {"a": (RNG.normal(0, 1, 400) + TRUTH).round(1), "b": RNG.normal(3, 2, 400)}


@pytest.fixture(scope="module")
def study_of_a_and_b():
    """The study of TRUTH and SCORES by AUC."""
    return classification.read(y_true=TRUTH, y_score=SCORES, metrics="roc_auc")


@pytest.mark.parametrize("system", ["a", "b"])
def test_the_distance_between_the_scores_of_both_classes_equals_scipys(study_of_a_and_b, system):
    """The study has 400 labels (TRUTH) and the scores of the systems a and b (SCORES). `distances`
    has a row for each system: the largest distance between the distribution functions of the scores
    of both classes (Kolmogorov–Smirnov), the score x just below which it lies, and for each class,
    such as "positive", the share of its rows with a score below x.
    """
    scores_of_positives = SCORES[system][TRUTH == 1]
    scores_of_negatives = SCORES[system][TRUTH == 0]
    distances = score_curves.ks_distances(study_of_a_and_b.counts_by_system)
    of_system = distances.set_index("system").loc[system]
    expected = ks_2samp(scores_of_positives, scores_of_negatives).statistic
    assert of_system["value"] == pytest.approx(expected, abs=1e-12)
    share_of_positives_below_x = np.mean(scores_of_positives < of_system["x"])
    assert of_system["positive"] == pytest.approx(share_of_positives_below_x, abs=1e-12)


@pytest.fixture(scope="module")
def histogram(study_of_a_and_b):
    """The shares of positives and of negatives by bins of the scores of each system."""
    counts_by_system = study_of_a_and_b.counts_by_system
    edges = score_curves.edges(counts_by_system, probabilities=study_of_a_and_b.probabilities)
    return score_curves.histogram(counts_by_system, edges)


def test_the_bars_of_a_histogram_add_up_to_all_rows_of_each_class(histogram):
    """The histogram has for each system and bin of scores the share of the positives and of the
    negatives that are in it.
    """
    shares = histogram.groupby("system")[["positive", "negative"]].sum()
    assert shares.to_numpy() == pytest.approx(1)


def test_histograms_of_systems_have_the_same_bins(histogram):
    """`low` is the lower edge of each bin."""
    low = histogram.groupby("system")["low"].apply(list)
    assert low["a"] == low["b"]


def test_a_bar_is_the_share_of_rows_from_its_low_edge_to_below_its_high_one(histogram):
    """The eleventh bar of system a stands for any."""
    positives = SCORES["a"][TRUTH == 1]
    bar = histogram.query("system == 'a'").iloc[10]
    assert bar["positive"] == np.mean((positives >= bar["low"]) & (positives < bar["high"]))


@pytest.mark.parametrize("name", SCORES)
def test_the_drawn_distributions_are_those_of_the_rows(study_of_a_and_b, name):
    """The figure draws the distribution function of the scores of each class: here the share of
    negatives with a score of at most x.
    """
    drawn = score_curves.distribution(name, study_of_a_and_b.table(name))
    share = [np.mean(SCORES[name][TRUTH == 0] <= x) for x in drawn["x"]]
    np.testing.assert_allclose(drawn["negative"], share, atol=1e-12)


@pytest.mark.parametrize("picture", ["score", "ks"])
def test_the_pictures_of_scores_say_the_distance(study_of_a_and_b, picture):
    """The alternative text of a figure of scores names the largest distance between the
    distributions of the two classes (Kolmogorov–Smirnov) with three decimals.
    """
    distances = score_curves.ks_distances(study_of_a_and_b.counts_by_system).set_index("system")
    assert (
        f"a {distances['value']['a']:.3f} just below" in getattr(study_of_a_and_b.plot, picture).alt
    )


def test_the_confusion_matrix_of_two_classes_says_counts_and_shares(study_of_a_and_b):
    """The alternative text of the figure has the counts of system a, and the cell of the true
    positives their share of all positives.
    """
    decided = study_of_a_and_b.decisions.set_index("system").loc["a"]
    picture = study_of_a_and_b.plot.confusion
    counts_in_words = f"a: {decided['tp']:.0f} true positives, {decided['fn']:.0f} false negatives"
    assert counts_in_words in picture.alt
    assert f">{decided['tp'] / TRUTH.sum():.0%}</t" in picture.svg


def test_a_system_without_a_threshold_has_no_matrix():
    """The scores of the system good are the labels, those of bad are 1 less the label. Each system
    is to have a threshold with a precision of at least 0.9, and bad has none. The figure of the
    confusion matrices, of which the alternative text names each system, then has only good.
    """
    scores = {"good": TRUTH * 1.0, "bad": 1 - TRUTH * 1.0}
    study = classification.read(
        y_true=TRUTH, y_score=scores, metrics="roc_auc", threshold="precision>=0.9"
    )
    alternative_text = study.plot.confusion.alt
    assert "good: " in alternative_text
    assert "bad: " not in alternative_text


@pytest.mark.parametrize("metric, short_name", [("roc_auc", "AUC"), ("average_precision", "AP")])
def test_the_legends_of_the_curves_have_the_areas_with_their_intervals(metric, short_name):
    """The figure of the ROC and precision-recall curves has a legend such as "forest: AUC 0.79
    [0.75, 0.82]" for each system of the bundled sample, which is read if no data are given. The
    number of decimals is taken from the legend itself, and the study's value and interval are
    written with so many by `estimate`: they must be the text of the legend.
    """
    study = classification.read()
    svg = binary_page.curve_plot(study).svg
    for row in study.estimates.query("metric == @metric").to_dict("records"):
        decimals = re.search(rf"{row['system']}: {short_name} 0\.(\d+) ", svg)[1]
        value_and_interval = estimate(row["value"], row["low"], row["high"], places=len(decimals))
        assert f"{row['system']}: {short_name} {value_and_interval}<" in svg


def test_without_areas_the_legends_have_the_names_alone():
    """Only log loss is asked for, so that the curves of the bundled sample have no areas; forest is
    one of its systems.
    """
    study = classification.read(metrics="log_loss")
    assert ">forest<" in binary_page.curve_plot(study).svg


# Log loss of probabilities in single precision ----------------------------------------------------

# four rows, of which the first has a probability of 1 for the label 1, and the label 0
LABELS_OF_FOUR_ROWS = [0, 1, 0, 1]
PROBABILITIES_IN_SINGLE_PRECISION = np.array([1.0, 0.3, 0.0, 0.6], np.float32)


def log_loss_of(table):
    return classification.read(table, metrics="log_loss").estimates["value"][0]


def test_log_loss_of_single_precision_is_that_of_its_numbers_as_doubles():
    """Four rows have probabilities in single precision (float32), one of which is 1 for a row with
    the label 0. Their log loss must be that of the same numbers in double precision, as
    scikit-learn computes it from doubles: in single precision scikit-learn would clip the 1
    elsewhere.
    """
    table = pd.DataFrame({"label": LABELS_OF_FOUR_ROWS, "score": PROBABILITIES_IN_SINGLE_PRECISION})
    doubles = PROBABILITIES_IN_SINGLE_PRECISION.astype(np.float64)
    assert log_loss_of(table) == pytest.approx(
        metrics.log_loss(LABELS_OF_FOUR_ROWS, doubles), rel=1e-12
    )
    assert log_loss_of(table) == log_loss_of(table.assign(score=doubles))


def test_scikit_learn_clips_single_precision_at_its_own_eps():
    """One of four rows has the probability 1 and the label 0; the probabilities are in single
    precision. The loss of this row is infinite unless the probability is clipped: here it is
    `losses.WORST`, −log of the eps of double precision, while scikit-learn takes −log of the eps of
    single precision. The means over four rows therefore differ by a quarter of this difference, and
    the catalogue says that log loss equals scikit-learn's "of probabilities as float64".
    """
    table = pd.DataFrame({"label": LABELS_OF_FOUR_ROWS, "score": PROBABILITIES_IN_SINGLE_PRECISION})
    worst_of_scikit_learn = -np.log(np.finfo(np.float32).eps)
    log_loss_of_scikit_learn = metrics.log_loss(
        LABELS_OF_FOUR_ROWS, PROBABILITIES_IN_SINGLE_PRECISION
    )
    difference = log_loss_of(table) - log_loss_of_scikit_learn
    assert difference == pytest.approx((losses.WORST - worst_of_scikit_learn) / 4, rel=1e-6)
    assert "of probabilities as float64" in lookup.find_metric("log_loss", "counts").metric.equals


def test_log_loss_of_classes_in_single_precision_is_that_of_doubles():
    """Three rows have probabilities of the classes x, y and z in single precision. The first row,
    of class y, has the probability 0 of it.
    """
    score = np.array([[1, 0, 0], [0, 1, 0], [0.25, 0.25, 0.5]], np.float32)
    table = pd.DataFrame(score, columns=["p_x", "p_y", "p_z"]).assign(label=list("yyz"))
    expected = metrics.log_loss(list("yyz"), score.astype(np.float64), labels=list("xyz"))
    assert log_loss_of(table) == pytest.approx(expected, rel=1e-12)
