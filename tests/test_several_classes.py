"""Several classes and labels: weights, units, many classes, and each class against the rest."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp
from whole_pages import told

from evalkit.drawing.pieces import Html
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.metrics.counts import average_precision
from evalkit.metrics.curves import net_benefit
from evalkit.pages import classes_page, classification_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.studies import classes, classification

ROOT = Path(__file__).resolve().parents[1]
PENGUINS, TRAITS = "data/penguins/predictions.csv", "data/digit_traits/predictions.csv"
GERMAN = "data/german_credit/predictions.csv"


def scores_of_classes(rows=240, systems=2, k=3) -> pd.DataFrame:
    """Rows of classes c0, c1, … of 80 users, each with a taste of their own, by several systems'
    probabilities.
    """
    rng = np.random.default_rng(7)
    user = np.arange(rows) % 80
    actual = rng.integers(0, k, rows)
    taste = rng.normal(0, 2, (80, k))[user]
    label = [f"c{number}" for number in actual]
    parts = []
    for i in range(systems):
        z = rng.normal(0, 1, (rows, k)) + taste + 1.5 * np.eye(k)[actual]
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        part = pd.DataFrame(p, columns=[f"p_c{number}" for number in range(k)])
        parts.append(part.assign(id=np.arange(rows), user=user, label=label, system=f"m{i}"))
    return pd.concat(parts, ignore_index=True)


def scores_of_labels() -> pd.DataFrame:
    return pd.read_csv(ROOT / TRAITS)


def text_on_the_page(study, name) -> str:
    """The text of a piece of the page, or the caption of its figure."""
    piece = getattr(classification_page, name)(study)
    return piece.text if isinstance(piece, Html) else piece.caption


def weighted_and_repeated(data: pd.DataFrame):
    """The study of rows with weights 1, 2, 3, and of the same rows as often."""
    times = data["id"].rank(method="dense").astype(int) % 3 + 1
    again = data.loc[data.index.repeat(times)]
    number = again.groupby(again.index).cumcount()
    again = again.assign(id=again["id"].astype(str) + "/" + number.astype(str))
    return classification.read(data.assign(weight=times)), classification.read(again)


# ---- weights -------------------------------------------------------------------------------------


each_kind = pytest.mark.parametrize(
    "make_table", [scores_of_classes, scores_of_labels], ids=["classes", "labels"]
)


@each_kind
def test_weighted_rows_have_the_shares_and_curves_of_repeated_rows(make_table):
    """Rows with weights 1, 2 and 3 are compared with the same rows repeated once, twice and three
    times. Shares of classes and the curves of the leading system are the same.
    """
    weighted, repeated = weighted_and_repeated(make_table())
    assert weighted.shares == pytest.approx(repeated.shares)
    for kind in ("roc", "pr"):
        expected = repeated.curve(kind, repeated.leader)
        pd.testing.assert_frame_equal(weighted.curve(kind, weighted.leader), expected)


@each_kind
def test_constants_of_weighted_rows_are_those_of_repeated_rows(make_table):
    """Rows with weights 1, 2 and 3 are compared with the same rows repeated as often. The value of
    each metric for a constant prediction is the same.
    """
    weighted, repeated = weighted_and_repeated(make_table())
    for chosen in weighted.settings.metrics:
        constant = repeated.constant(chosen)
        assert weighted.constant(chosen) == pytest.approx(constant, nan_ok=True)


@each_kind
def test_only_weighted_rows_are_said_to_be(make_table):
    """Rows with weights 1, 2 and 3 are compared with the same rows repeated as often. Only the page
    of the weighted ones says that rows are weighted.
    """
    weighted, repeated = weighted_and_repeated(make_table())
    assert "Rows are weighted" in text_on_the_page(weighted, "findings")
    assert "Rows are weighted" not in text_on_the_page(repeated, "findings")


def test_calibration_of_weighted_classes_is_that_of_repeated_rows():
    """Rows with weights 1, 2 and 3 are compared with the same rows repeated as often. Their mean
    confidence, share of right predictions and calibration error (ECE in ten bins) are the same.
    """
    weighted, repeated = weighted_and_repeated(scores_of_classes())
    columns = ["confidence", "right", "ece_10"]
    expected = repeated.calibration.set_index("system")[columns]
    pd.testing.assert_frame_equal(weighted.calibration.set_index("system")[columns], expected)


def test_the_page_of_weighted_classes_has_shares_and_sums_of_weights():
    """Rows with weights 1, 2 and 3 are compared with the same rows repeated as often. The page of
    the weighted ones states the share of the largest class by weight, and that the confusion table
    holds sums of weights of 240 rows.
    """
    weighted, repeated = weighted_and_repeated(scores_of_classes())
    share = f"Always predicting the largest is right for {repeated.shares.max():.1%}"
    assert share in text_on_the_page(weighted, "findings")
    caption = "weight of the rows by actual and predicted class (n = 240)"
    assert caption in text_on_the_page(weighted, "confusion_plot")


# ---- units ---------------------------------------------------------------------------------------


class Repeated(NamedTuple):
    """The calibration of rows, and of each of them four times: as rows of users, as rows of their
    own.
    """

    once: pd.DataFrame
    users: pd.DataFrame
    rows: pd.DataFrame


@pytest.fixture(scope="module")
def repeated():
    data = scores_of_classes(80)
    four = pd.concat([data.assign(id=data["id"] + 1000 * i) for i in range(4)])
    asked = [(data, None), (four, "user"), (four, None)]
    return Repeated(*(classification.read(table, unit=unit).calibration for table, unit in asked))


def test_users_have_no_calibration_error_to_expect(repeated):
    """The calibration error that right probabilities are expected to have, and its p, are of
    independent rows. Users of several rows have none.
    """
    assert repeated.users[["ece_10_expected", "ece_10_p"]].isna().all(axis=None)


def test_repeated_rows_refute_a_calibration_that_they_could_not_once(repeated):
    """Each row is repeated four times as if the rows were independent. The calibration error is the
    same, and the error that right probabilities are expected to have falls by about half, as 1 /
    √4. So p is no larger.
    """
    assert repeated.rows["ece_10"].to_numpy() == pytest.approx(repeated.once["ece_10"].to_numpy())
    assert (repeated.rows["ece_10_expected"] < 0.7 * repeated.once["ece_10_expected"]).all()
    assert (repeated.rows["ece_10_p"] <= repeated.once["ece_10_p"]).all()


def scores_of_two_classes():
    table = pd.read_csv(ROOT / GERMAN)
    return table.assign(user=table["id"].factorize()[0] // 4 + 1)


each_table = pytest.mark.parametrize(
    "make_table", [scores_of_classes, scores_of_two_classes], ids=["three", "two"]
)


@each_table
def test_bins_of_independent_rows_of_equal_weight_have_limits(make_table):
    """Bands of the reliability diagram assume independent rows of equal weight, which these tables
    of three classes and of two classes have.
    """
    study = classification.read(make_table())
    assert study.reliability[["low", "high"]].notna().all(axis=None)
    words = "95% of such curves if the probabilities are right"
    assert words in text_on_the_page(study, "calibration_plot")
    assert study.isotonic.bands is not None


@each_table
@pytest.mark.parametrize(
    "parameters", [{"unit": "user"}, {"columns": "weight=user"}], ids=["clustered", "weighted"]
)
def test_bins_of_clustered_or_weighted_rows_have_no_limits(make_table, parameters):
    """Bands of the reliability diagram assume independent rows of equal weight. Two tables, of
    three classes and of two, have a column of users, which is used here as clusters of rows
    (`unit`) or, as it holds numbers, as their weights. Then neither the bins nor the isotonic curve
    have bands, and the page says so.
    """
    study = classification.read(make_table(), **parameters)
    assert study.reliability[["low", "high"]].isna().all(axis=None)
    assert "No bands, as rows are clustered or weighted" in text_on_the_page(
        study, "calibration_plot"
    )
    assert study.isotonic.bands is None


# Metrics that are a share of right rows, and such that are a mean of losses of rows.
each_share_and_mean = pytest.mark.parametrize(
    "make_table, share_metric, mean_metric",
    [(scores_of_classes, "accuracy", "brier"), (scores_of_labels, "exact_match", "ranking_loss")],
)


@each_share_and_mean
def test_definitions_say_the_intervals_and_tests_of_independent_rows(
    make_table, share_metric, mean_metric
):
    """The definitions on the page name the test and the interval of a metric that is a share of
    right rows, and of one that is a mean of losses of rows.
    """
    text = text_on_the_page(classification.read(make_table()), "definitions")
    assert f"{share_metric}: McNemar's test with Tango's interval; " in text
    assert f"{mean_metric}: sign flips, paired t above 20,000 rows;" in text
    assert f"{share_metric}: Wilson; " in text


@each_share_and_mean
def test_definitions_say_the_tests_of_users(make_table, share_metric, mean_metric):
    """A table of several classes and one of several labels per row have a metric each that is a
    share of rows, and one that is a mean (the parameters of the test). Each user has two rows. The
    definitions on the page name the tests that keep the rows of a user together, and no Wilson
    interval of the share metric, which is of independent rows.
    """
    table = make_table()
    table["user"] = table["id"].factorize()[0] // 2  # two rows each
    text = text_on_the_page(classification.read(table, unit="user"), "definitions")
    assert f"{mean_metric}: sign flips of whole units, delta method above 20,000 units;" in text
    assert "; over users; Holm" in text
    assert "Wilson" not in text  # whose interval is of independent rows


@each_kind
def test_definitions_say_the_tests_of_weighted_rows(make_table):
    """All rows have a weight of 1.5. The definitions on the page name the delta method, and no
    Wilson interval, which is of rows of equal weight.
    """
    text = text_on_the_page(classification.read(make_table().assign(weight=1.5)), "definitions")
    assert "delta method" in text
    assert "; over rows; Holm" in text
    assert "Wilson" not in text  # whose interval is of rows of equal weight


# ---- what tables can be like ---------------------------------------------------------------------


@pytest.fixture
def table_with_overruled_score():
    """Four rows, the third of which is predicted as b, though a has a probability of 0.6."""
    a = np.array([0.9, 0.8, 0.6, 0.7])
    labels = list("aaba")
    return pd.DataFrame({"label": labels, "predicted": labels, "p_a": a, "p_b": 1 - a})


def test_confidence_is_the_probability_of_the_predicted_class(table_with_overruled_score):
    """Four rows are predicted as their labels a, a, b, a. The probability of a is 0.9, 0.8, 0.6 and
    0.7, so that the third row is predicted as b at a probability of 0.4.
    """
    (row,) = classification.read(table_with_overruled_score).calibration.to_dict("records")
    assert row["confidence"] == pytest.approx((0.9 + 0.8 + 0.4 + 0.7) / 4)
    assert row["right"] == 1
    assert row["ece_10"] == pytest.approx((0.1 + 0.2 + 0.6 + 0.3) / 4)  # each in a bin of its own


def test_rows_predicted_against_their_highest_score_are_a_finding(table_with_overruled_score):
    """The third of four rows is predicted as b, though a has a probability of 0.6. If classes are
    predicted by score, there is no such row.
    """
    words = "Rows whose predicted class does not have the highest score: predicted 1."
    assert words in text_on_the_page(classification.read(table_with_overruled_score), "findings")
    by_score = classification.read(table_with_overruled_score.drop(columns="predicted"))
    assert "does not have the highest score" not in text_on_the_page(by_score, "findings")


def table_of_one_class():
    return scores_of_classes().assign(label="c1")


def table_without_true_labels():
    table = scores_of_labels()
    return table.assign(**{name: 0 for name in table if name.startswith("y_")})


@pytest.mark.parametrize("make_table", [table_of_one_class, table_without_true_labels])
def test_without_two_classes_or_a_true_label_the_page_lacks_curves_alone(make_table):
    """All rows have one class, or no label of any row is true. Curves are undefined, and the other
    pieces of the page can still be made.
    """
    study = classification.read(make_table())
    assert text_on_the_page(study, "curve_plot") == ""
    for name in ("findings", "estimates", "curves", "threshold_plot", "calibration", "top"):
        assert getattr(classification_page, name)(study)
    assert classification_page.confusion(study)


def test_few_classes_all_have_colours():
    """All of three classes have a colour in the curves, and none is a grey line."""
    few = classification.read(scores_of_classes())
    assert few.coloured_classes == list(few.names)
    assert "grey" not in text_on_the_page(few, "curve_plot")


def test_of_many_classes_the_worst_have_colours_and_the_others_are_faint():
    """Ten classes are too many to tell apart by colour. In the ROC and precision-recall curves of
    the page, the four with the lowest average precision have a colour, a name in the legend and a
    band; the lines of the others are faint.
    """
    study = classification.read(scores_of_classes(k=10))
    worst_first = sorted(study.names, key=lambda name: average_precision(study.curve_tables[name]))
    assert set(study.coloured_classes) == set(worst_first[:4])
    figure = classification_page.curve_plot(study)
    assert "the 4 of 10 classes with the lowest average precision" in figure.caption
    panels = figure.data[0]  # ROC and precision-recall curves
    for panel in panels:
        assert list(panel.legend_texts) == study.coloured_classes
        assert list(panel.bands["system"].unique()) == study.coloured_classes
        assert set(panel.lines["system"]) == set(study.names)
        assert {*study.coloured_classes, *panel.faint_systems} == set(study.names)


def test_the_next_systems_have_the_curves_of_the_same_classes_below():
    """The penguins have three systems. Curves of the best one are on the page; those of the second
    and third are folded below, one figure each.
    """
    study = classification.read(PENGUINS)
    _, second, third = study.order
    folded = classification_page.other_curves(study)
    assert f"The same curves of {second}, {third}" in folded.html
    assert folded.html.count("<figure>") == 2


def test_curves_of_two_classes_are_those_of_all_systems():
    """With two classes the curves of all systems are in one figure, so that there is nothing to
    fold below.
    """
    assert classification_page.other_curves(classification.read(GERMAN)).html == ""


def test_scores_of_labels_that_are_no_probabilities_have_no_calibration():
    """Scores of the label even are 9 p − 4, from −4 to 5. They are no probabilities, so that
    calibration and the comparison with constant probabilities are left out.
    """
    table = scores_of_labels().assign(p_even=lambda rows: 9 * rows["p_even"] - 4)
    study = classification.read(table, threshold=0)
    assert "not probabilities: calibration is left out" in text_on_the_page(study, "findings")
    assert text_on_the_page(study, "calibration") == ""
    assert "labels' shares" not in text_on_the_page(study, "estimates")


def test_probabilities_of_labels_are_compared_with_the_labels_shares():
    assert "labels' shares" in text_on_the_page(classification.read(TRAITS), "estimates")


def test_a_slice_that_lacks_a_class_has_no_averages_and_a_finding():
    """No island has penguins of all three species, so that averages over classes are undefined on
    each.
    """
    study = classification.read(PENGUINS, segments="island", metrics="roc_auc_ovr")
    assert study.by_segment["value"].isna().all()
    words = "averages over classes cover fewer classes or are undefined there."
    assert words in text_on_the_page(study, "findings")


@pytest.mark.parametrize(
    "weight", [np.ones(400), 1 + np.arange(400) % 4], ids=["equal weights", "weights 1 to 4"]
)
def test_the_best_micro_f1_is_that_over_all_thresholds(weight):
    """400 rows have three labels each, and weights. The highest micro F1 is computed here at each
    distinct score as a threshold, as 2 TP / (true + predicted) over all labels, weighted. The
    caption and the curve (`sweep`) have the same maximum at the same threshold.
    """
    rng = np.random.default_rng(5)
    is_true = rng.integers(0, 2, (400, 3))  # 400 rows of three labels
    score = np.clip(0.3 * is_true + 0.7 * rng.random((400, 3)), 0, 1)
    columns = {"weight": weight}
    for label in range(3):
        columns |= {f"y_{label}": is_true[:, label], f"p_{label}": score[:, label]}
    study = classification.read(pd.DataFrame(columns))
    f1 = {}
    for threshold in score.ravel():
        is_predicted = score >= threshold
        true_positives = (weight[:, None] * (is_true & is_predicted)).sum()
        true_and_predicted = (weight[:, None] * (is_true + is_predicted)).sum()
        f1[threshold] = 2 * true_positives / true_and_predicted
    best = max(f1, key=f1.get)
    caption = f"Best micro F1 over all thresholds: {f1[best]:.3f} at {best:.3f}."
    assert caption in text_on_the_page(study, "threshold_plot")
    f1_by_threshold = study.sweep.query("system == 'micro_f1'").set_index("x")["y"]
    assert f1_by_threshold.max() == pytest.approx(f1[best], abs=1e-12)
    assert f1_by_threshold.idxmax() == best


AVERAGES = "roc_auc_ovr,roc_auc_hand_till,map_classes,macro_f1"


def test_averages_of_users_are_undefined_only_in_slices_that_lack_a_class():
    """Two systems have scores for three classes, in 240 rows of 80 users (unit="user"). The place
    "only c2" has the rows of class c2, and "other" has the other classes, so that each lacks a
    class and averages over classes are undefined there. They are defined on all rows.
    """
    data = scores_of_classes().assign(
        place=lambda rows: np.where(rows["label"] == "c2", "only c2", "other")
    )
    study = classification.read(data, unit="user", segments="place", metrics=AVERAGES)
    assert study.by_segment[["value", "low", "high"]].isna().all(axis=None)
    of_all_rows = study.estimates.query("metric == 'roc_auc_ovr'")
    assert np.isfinite(of_all_rows[["value", "low", "high"]].to_numpy()).all()


def study_with_a_label_that_is_never_true(metric):
    """A study of rows with several labels, one of which, prime, is never true: by the metric and
    micro F1, with users as units.
    """
    table = scores_of_labels()
    table = table.assign(y_prime=0, user=table["id"].astype(str).str[-2:])
    return classification.read(table, unit="user", metrics=f"{metric},micro_f1")


each_average_over_labels = pytest.mark.parametrize("metric", ["map_classes", "roc_auc_macro"])


@each_average_over_labels
def test_a_label_that_is_never_true_leaves_the_average_over_labels_undefined(metric):
    """The study is of rows with several labels each, by micro F1 and by a metric that is an average
    over labels. The label prime is never true, so that its AUC and average precision are undefined,
    and with them their averages over labels. Micro F1 counts the decisions of all labels together
    and stays defined. The table of estimates can still be made.
    """
    study = study_with_a_label_that_is_never_true(metric)
    rows = study.estimates[study.estimates["metric"] == metric]
    assert rows[["value", "low", "high"]].isna().all(axis=None)
    assert (rows["method"] == "undefined").all()
    assert study.estimates.query("metric == 'micro_f1'")["low"].notna().all()
    assert text_on_the_page(study, "estimates")


@each_average_over_labels
def test_an_undefined_average_decides_nothing(metric):
    """The label prime is never true, so that averages over labels are undefined for both systems:
    there is no p and no better system.
    """
    study = study_with_a_label_that_is_never_true(metric)
    rows = study.comparisons[study.comparisons["metric"] == metric]
    assert rows["p"].isna().all()
    assert "better" not in set(rows["verdict"])


def test_a_class_that_only_one_system_predicts_leaves_macro_precision_without_p():
    """No row is of class c, which system one predicts three times: its F1 and its precision for c
    are 0. System other never predicts c: its F1 for c is 0 and its precision is undefined, so that
    macro precision cannot be compared.
    """
    label = np.array(["a", "b"] * 20)
    shared = pd.DataFrame({"id": range(40), "label": label})
    one = shared.assign(model="one", predicted=np.where(np.arange(40) < 3, "c", label))
    other = shared.assign(model="other", predicted=np.roll(label, 1))
    study = classification.read(pd.concat([one, other]), metrics="macro_f1,macro_precision")
    rows = study.comparisons.set_index("metric")
    assert rows.loc["macro_f1", ["difference", "low", "high", "p"]].notna().all()
    assert np.isnan(rows.loc["macro_precision", "p"])


def predictions_of_many_classes(classes, n=4000):
    """Predictions of n rows of so many classes c0, c1, …, of which the first are most frequent."""
    rng = np.random.default_rng(classes)
    actual = np.minimum(rng.geometric(6 / classes, size=n), classes) - 1
    actual[:classes] = np.arange(classes)
    predicted = np.where(rng.random(n) < 0.7, actual, rng.integers(0, classes, n))
    numbers = pd.DataFrame({"label": actual, "predicted": predicted})
    return "c" + numbers.astype(str)


def test_the_confusion_picture_of_four_hundred_classes_is_bounded_and_says_so():
    """At most 40 rows and columns are drawn: the 39 most frequent classes, and the other 361
    together.
    """
    picture = classes_page.confusion_plot(classification.read(predictions_of_many_classes(400)))
    assert len(picture.svg) < 1e6  # bytes; 400 × 400 cells would take many more
    words = (
        "Drawn: the 39 most frequent of 400 classes, and the others together; the JSON holds all "
        "classes."
    )
    assert words in picture.caption
    assert "(361 others)" in picture.svg


def test_forty_classes_are_all_drawn():
    """At most 40 rows and columns are drawn, so that 40 classes need no row for the others."""
    picture = classes_page.confusion_plot(classification.read(predictions_of_many_classes(40)))
    assert "most frequent of" not in picture.caption
    assert "others)" not in picture.svg


def test_the_rarest_classes_are_drawn_together():
    """At most 40 rows and columns are drawn. Of 50 classes these are 39, and the 11 with the fewest
    rows together. Row i of the confusion table holds the numbers from 50 i to 50 i + 49, so that
    the first 11 classes have the fewest.
    """
    table = np.arange(50 * 50).reshape(50, 50)
    drawn, names = classes.drawn_together(table, tuple(f"c{i}" for i in range(50)))
    assert names == (*(f"c{i}" for i in range(11, 50)), "(11 others)")
    assert drawn.sum() == table.sum()
    assert drawn[-1, -1] == table[:11, :11].sum()  # the last row and column are the others
    assert (drawn[:-1, :-1] == table[11:, 11:]).all()


RNG = np.random.default_rng(9)
CLASSES, ROWS = 9, 400
ACTUAL = RNG.integers(0, CLASSES, ROWS)
LOGIT = RNG.normal(size=(ROWS, CLASSES)) + 2.0 * (np.arange(CLASSES) == ACTUAL[:, None])
LOGIT[:, 4] += 1.5  # its probabilities are too high
PROBABILITY = np.exp(LOGIT) / np.exp(LOGIT).sum(axis=1, keepdims=True)
NAMES = [f"kind {i}" for i in range(CLASSES)]
PICTURES = ("score_plot", "ks_plot", "class_calibration_plot", "decision_curve")


@pytest.fixture(scope="module")
def nine_classes():
    """Nine classes, of which "kind 4" is predicted with too high probabilities."""
    columns = pd.DataFrame(PROBABILITY, columns=[f"p_{name}" for name in NAMES])
    return classification.read(columns.assign(label=np.array(NAMES)[ACTUAL]), metrics="accuracy")


@pytest.fixture(scope="module")
def labels():
    """Two labels of the same rows: the number of the class is even, and it is below 3."""
    columns = {
        "y_even": ACTUAL % 2 == 0,
        "y_low": ACTUAL < 3,
        "p_even": PROBABILITY[:, ::2].sum(axis=1),
        "p_low": PROBABILITY[:, :3].sum(axis=1),
    }
    return classification.read(pd.DataFrame(columns), metrics="micro_f1")


def test_the_six_worst_calibrated_of_nine_classes_are_drawn_and_the_others_named(
    nine_classes,
):
    """Squares of at most six classes are drawn, in the order of their names. The fixture has nine,
    of which "kind 4" has too high probabilities, so that it is among those with the largest
    miscalibration. The caption names the three that are not drawn.
    """
    drawn = list(nine_classes.class_tables)
    assert len(drawn) == classes.MAX_SQUARES == 6
    assert drawn == sorted(drawn)
    assert "kind 4" in drawn  # the class whose probabilities are too high
    others = ", ".join(name for name in NAMES if name not in drawn)
    words = f"the 6 of 9 classes with the largest miscalibration (not drawn: {others})"
    assert words in classification_page.score_plot(nine_classes).caption


def test_the_picture_of_the_scores_of_classes_is_folded_and_small(nine_classes):
    picture = classification_page.score_plot(nine_classes)
    assert picture.summary
    assert len(picture.svg) < 30_000


@pytest.fixture(scope="module")
def one_vs_rest_results(nine_classes):
    """What the results have of each class against the others."""
    return classes_page.recorded(nine_classes)["one_by_one"]


def test_the_distance_between_scores_of_a_class_and_the_others_equals_scipy(
    one_vs_rest_results,
):
    """The Kolmogorov–Smirnov distance between the scores of a class on its own rows and on the
    others, as the results have it, is the statistic of `ks_2samp`.
    """
    for row in one_vs_rest_results["scores"]["distances"]:
        i = NAMES.index(row["system"])
        expected = ks_2samp(PROBABILITY[i == ACTUAL, i], PROBABILITY[i != ACTUAL, i]).statistic
        assert row["value"] == pytest.approx(expected, abs=1e-12)


def test_the_net_benefit_of_a_class_is_that_of_its_scores(nine_classes, one_vs_rest_results):
    """The results have the points of a decision curve for each class against the others. They are
    those of `net_benefit` on the scores of the class.
    """
    for name, points in pd.DataFrame(one_vs_rest_results["net_benefit"]).groupby("system"):
        expected = net_benefit(nine_classes.class_tables[name], points["x"].to_numpy())
        np.testing.assert_allclose(points["y"], expected, atol=1e-12)


def test_the_net_benefit_at_a_half_is_hits_less_false_alarms_over_rows(one_vs_rest_results):
    """The results have the net benefit of each class against the others by threshold. It weighs a
    false alarm by the odds of the threshold, which are 1 at 0.5, so that it is (hits − false
    alarms) / rows there. ACTUAL has the class of each row, PROBABILITY those of all classes.
    """
    for name, points in pd.DataFrame(one_vs_rest_results["net_benefit"]).groupby("system"):
        i = NAMES.index(name)
        is_chosen = PROBABILITY[:, i] >= 0.5  # of all rows, whose classes are ACTUAL
        hits = np.sum(is_chosen & (i == ACTUAL))
        false_alarms = np.sum(is_chosen & (i != ACTUAL))
        (at_half,) = points.loc[np.isclose(points["x"], 0.5), "y"]
        assert at_half == pytest.approx((hits - false_alarms) / ROWS, abs=1e-12)


def test_the_first_confused_pair_is_the_most_frequent_mistake(nine_classes):
    """ACTUAL has the class of each row of the study, PROBABILITY those of all nine classes. The
    results list pairs of an actual and a predicted class by their number of rows, n. The first is
    the largest cell beside the diagonal of the confusion table, with its share of the rows of the
    actual class (`share`) and of all mistakes (`of_errors`).
    """
    predicted = PROBABILITY.argmax(axis=1)
    mistakes = pd.crosstab(ACTUAL, predicted).to_numpy(copy=True)
    np.fill_diagonal(mistakes, 0)  # right predictions
    first = nine_classes.confused.iloc[0]
    actual = NAMES.index(first["actual"])
    assert first["n"] == mistakes.max()
    assert first["n"] == mistakes[actual, NAMES.index(first["predicted"])]
    assert first["share"] == pytest.approx(first["n"] / np.sum(actual == ACTUAL))
    assert first["of_errors"] == pytest.approx(first["n"] / mistakes.sum())
    assert "Most confused pairs of classes" in classes_page.confusion(nine_classes).text


@pytest.mark.parametrize("picture", PICTURES)
def test_labels_have_the_same_pictures(labels, picture):
    assert list(labels.class_tables) == ["even", "low"]
    assert "each label" in getattr(classification_page, picture)(labels).caption


def test_the_picture_of_the_scores_of_labels_is_not_folded(labels):
    assert labels.plot.score.summary == ""


def test_predicted_classes_without_scores_have_no_such_pictures():
    """Pictures of scores need scores. Predicted classes alone have only confused pairs: c is
    predicted as a on 4 of 12 rows.
    """
    table = pd.DataFrame({"label": ["a", "b", "c"] * 4, "predicted": ["a", "b", "a"] * 4})
    study = classification.read(table)
    assert classes_page.recorded(study) == {}
    assert all(getattr(classification_page, name)(study).html == "" for name in PICTURES)
    assert study.confused[["actual", "predicted", "n"]].to_numpy().tolist() == [["c", "a", 4]]


# ---- probabilities that do not sum to 1 ----------------------------------------------------------

BLOCKS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50))


def findings_of_scaled(scale: float | np.ndarray, limits: Limits = USUAL_LIMITS) -> str:
    """The findings of 240 rows whose probabilities are multiplied, all or each row."""
    frame = scores_of_classes(systems=1)
    columns = [name for name in frame if name.startswith("p_")]
    frame[columns] = frame[columns].mul(scale, axis=0)
    p = ClassificationParameters.from_raw({"preds": frame})
    return told(classification.study_of(p, limits))


@pytest.mark.parametrize("limits", [USUAL_LIMITS, BLOCKS], ids=["memory", "blocks"])
def test_rows_that_do_not_sum_to_1_are_counted_with_their_range(limits):
    """The probabilities of 12 of 240 rows of system m0 are multiplied by 0.6."""
    text = findings_of_scaled(np.where(np.arange(240) < 12, 0.6, 1.0), limits)
    assert "the sum of a row is m0 0.6 to 1 (12 rows not 1)" in text


@pytest.mark.parametrize("limits", [USUAL_LIMITS, BLOCKS], ids=["memory", "blocks"])
def test_the_share_by_which_scaling_moves_log_loss_is_said(limits):
    """All probabilities are halved, which adds −log 0.5 to the log loss. Scaling each row to the
    sum 1 takes this away again; the page states it as a share of the log loss without scaling.
    """
    frame = scores_of_classes(systems=1)
    p = [row[f"p_{row['label']}"] for row in frame.to_dict("records")]
    log_loss = -np.log(p).mean()
    change = -np.log(0.5) / (log_loss - np.log(0.5))
    assert f"which changes it: m0 −{100 * change:.1f}%" in findings_of_scaled(0.5, limits)


def test_probabilities_that_are_rounded_raise_no_finding():
    """Rows that sum to 1.0005 may be rounded, so that there is no finding of unnormalised
    probabilities (EK316).
    """
    assert "EK316" not in findings_of_scaled(1.0005)


def test_rows_of_only_0_have_a_message_of_their_own():
    """The probabilities of 7 of 240 rows of system m0 are all 0 and cannot be scaled to the sum 1;
    the others sum to 1.
    """
    text = findings_of_scaled(np.where(np.arange(240) < 7, 0.0, 1.0))
    assert "Rows whose probabilities are all 0, which log loss leaves out: m0 7." in text
    assert "the sum of a row" not in text


def test_rows_of_only_0_do_not_hide_by_how_much_the_others_move_log_loss():
    """Of 240 rows of system m0, 7 have probabilities that are all 0, and 40 sum to 0.5."""
    text = findings_of_scaled(np.repeat([0.0, 1.0, 0.5], [7, 193, 40]))
    assert "the sum of a row is m0 0.5 to 1 (40 rows not 1)" in text
    assert "changes it: m0 −" in text
