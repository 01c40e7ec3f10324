"""The classification report: thresholds and costs, another base rate, ties, scores by class, what
is refused.
"""

import re

import numpy as np
import pandas as pd
import pytest
from samples import scores
from scipy.stats import ks_2samp
from sklearn import metrics
from whole_pages import told

from evalkit.arrays import InputError
from evalkit.catalogue import lookup
from evalkit.findings.kinds import NOTE
from evalkit.limits import Limits, Reading
from evalkit.metrics import counts, losses
from evalkit.numbers import estimate
from evalkit.pages import binary_page, classification_page, threshold_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.studies import classification, ranking, score_curves, validation

PENGUINS, TRAITS = "data/penguins/predictions.csv", "data/digit_traits/predictions.csv"


def test_another_base_rate():
    one = classification.read(prevalence=0.01, systems="forest")
    found = one.elsewhere.query("metric == 'average_precision'")
    assert found["base_rate"].tolist() == pytest.approx([0.3, 0.01])
    assert found["value"].iloc[1] < found["value"].iloc[0]
    here = found.iloc[0]
    assert here["low"] <= here["value"] <= here["high"]
    # fewer than 700 negatives come with few positives there: too few to tell
    assert np.isnan(found["low"].iloc[1])
    assert (
        "at this rate it depends on the few highest-scoring negatives"
        in classification_page.base_rate(one).html
    )
    apart = one.elsewhere[one.elsewhere["metric"] != "average_precision"]
    assert ((apart["low"] <= apart["value"]) & (apart["value"] <= apart["high"])).all()


@pytest.mark.parametrize(
    ("options", "coverage"), [({}, 123 / 342), ({"precision_target": 0.5}, 1.0)]
)
def test_coverage_at_a_precision_target(options, coverage):
    row = classification.read(PENGUINS, systems="logistic", **options).covered.iloc[0]
    assert row["coverage"] == pytest.approx(coverage)


# ---- thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "threshold, check",
    [
        (0.3, lambda d: d.threshold == 0.3),
        ("precision>=0.7", lambda d: counts.precision(d) >= 0.7),
        ("recall>=0.9", lambda d: counts.recall(d) >= 0.9),
        ("best_f1", lambda d: counts.f_score(d) >= 0.5),
        ("cost:fp=1,fn=5", lambda d: d.threshold < 0.6),
        ("cost:fp=5,fn=1", lambda d: d.threshold > 0.6),
    ],
)
def test_thresholds_by_number_and_by_rule(threshold, check):
    study = classification.read(scores(), threshold=threshold)
    for name, t in study.thresholds.items():
        assert check(counts.at(study.table(name), t)), name
    assert study.rule.fixed or "optimistic" in told(study)


def twins(seed, rows=200):
    """Two systems that see the truth through as much noise, which of the two is better is
    chance.
    """
    rng = np.random.default_rng(seed)
    merit = rng.normal(-1, 1.5, rows)
    label = rng.random(rows) < 1 / (1 + np.exp(-merit))
    return pd.DataFrame(
        {"label": label.astype(int)}
        | {f"score_{s}": merit + rng.normal(0, 0.7, rows) for s in "ab"}
    )


@pytest.mark.parametrize("more", [{}, {"unit": "user"}, {"columns": {"weight": "times"}}], ids=str)
def test_the_choice_widens_intervals_and_leaves_equal_decisions_equal(more):
    table = twins(1).assign(
        user=np.arange(200) % 40, times=1 + np.arange(200) % 3, score_b=lambda d: 2 * d["score_a"]
    )
    study = classification.read(table, threshold="best_f1", metrics="precision,f1,roc_auc", **more)
    (number,) = {study.thresholds["a"]}
    fixed = classification.read(table, threshold=number, metrics="precision,f1,roc_auc", **more)
    width, given = (
        of.estimates.query("system == 'a'").eval("high - low").to_numpy() for of in (study, fixed)
    )
    assert width[0] > 1.2 * given[0]
    assert width[2] == given[2]
    assert (study.comparisons["p"] == 1).all()
    assert "chosen again" in study.intervals_are
    assert "chosen again" not in fixed.tests_are
    assert "made again on each bootstrap sample" in told(study)


BLOCKS = Limits(reading=Reading(rows=100, shard=300, largest=400))
CHOICES = {
    "best F1": {"threshold": "best_f1"},
    "least cost": {"threshold": "cost:fp=1,fn=5"},
    "a recall": {"threshold": "recall>=0.9"},
    "a precision": {"threshold": "precision>=0.6"},
    "units": {"unit": "user"},
    "weights": {"columns": {"weight": "times"}},
    "units and weights": {"unit": "user", "columns": {"weight": "times"}},
    "one system": {"systems": "a"},
}


def choosing(limits, table=None, **given):
    """The study of a rule that chooses the threshold, on rows in memory or by blocks."""
    if table is None:
        rows = np.arange(1500)
        table = twins(1, 1500).assign(user=rows % 500, times=1 + rows % 3)
    asked = {"preds": table, "metrics": "precision,recall", "threshold": "best_f1"}
    return classification.study_of(ClassificationParameters.from_raw(asked | given), limits)


def widths(frame):
    return frame.eval("high - low").to_numpy()


@pytest.mark.parametrize("given", CHOICES.values(), ids=CHOICES)
def test_blocks_choose_the_threshold_again_as_memory_does(given):
    """Each error comes from 400 samples: they differ by no more than such errors do."""
    held, blocks = (choosing(limits, **given) for limits in (Limits(), BLOCKS))
    assert blocks.data is None
    assert blocks.thresholds == held.thresholds
    assert widths(blocks.estimates) == pytest.approx(widths(held.estimates), rel=0.25)
    if len(held.systems) > 1:
        assert widths(blocks.comparisons) == pytest.approx(widths(held.comparisons), rel=0.25)


def test_by_blocks_a_choice_by_chance_makes_no_system_worse():
    """With thresholds taken as given the difference in recall has a p of 2e-12."""
    table = twins(336, 1500)
    held, blocks = (choosing(limits, table=table) for limits in (Limits(), BLOCKS))
    around = {f"score_{s}": table[f"score_{s}"] - t for s, t in held.thresholds.items()}
    fixed = choosing(BLOCKS, table=table.assign(**around), threshold=0.0)
    p = [study.comparisons.set_index("metric")["p"]["recall"] for study in (fixed, held, blocks)]
    assert p == [
        pytest.approx(0, abs=1e-9),
        pytest.approx(0.045, abs=0.02),
        pytest.approx(p[1], abs=0.02),
    ]


@pytest.mark.parametrize("given", [{}, {"unit": "user"}], ids=["plain", "units"])
def test_the_samples_of_blocks_do_not_depend_on_the_size_of_the_blocks(given):
    small = Limits(reading=Reading(rows=100, shard=130, largest=160))
    both = [choosing(limits, **given).estimates["high"].tolist() for limits in (BLOCKS, small)]
    assert both[0] == both[1]


def test_the_page_of_blocks_says_that_the_threshold_is_chosen_again():
    study = choosing(BLOCKS)
    assert "chosen again" in study.intervals_are
    assert "made again on each bootstrap sample" in told(study)


@pytest.mark.parametrize("differ", [0, 1])
def test_systems_that_decide_nearly_alike_are_not_claimed_to_be_equal(differ):
    """A model beside its own rounded scores: of the rows to come some will be decided
    differently.
    """
    table = twins(3).assign(score_b=lambda d: 1.01 * d["score_a"])
    table.loc[np.argsort(np.abs(table["score_a"]))[:differ], "score_b"] *= -1
    metrics = "f1,f2,jaccard,precision,lift,balanced_accuracy,youden,mcc,kappa,recall,accuracy"
    c = classification.read(table, threshold=0.0, metrics=metrics).comparisons
    row = 1 / (table["label"] == 1).sum()  # one more
    assert c.eval("high - low").min() > row
    assert (c["p"] > 0.1).all()


def test_scores_of_exactly_0_or_1_are_not_trusted_to_be_right_every_time():
    """Rounded scores seem better in most samples, until one that is certain is wrong and costs 36
    nats.
    """
    table = twins(2).assign(score_a=lambda d: 1 / (1 + np.exp(-2.5 * d["score_a"])))
    table = table.assign(
        score_b=table["score_a"].round(1), label=(table["score_a"] > 0.5).astype(int)
    )
    given = {"metrics": "log_loss"}
    study = classification.read(table, **given)
    (c,) = study.comparisons.to_dict("records")
    assert (c["p"] < 0.05) == (c["low"] > 0 or c["high"] < 0)
    assert c["low"] < 0 < c["high"]
    assert c["high"] - c["low"] > 0.5
    assert "allow for more of them being wrong" in told(study)
    by_unit = classification.read(table.assign(user=np.arange(200) % 50), unit="user", **given)
    assert "do not allow for more of them being wrong" in told(by_unit)


def test_costs():
    study = classification.read(scores(), costs="fp=1,fn=4")
    best = study.choices.query("rule == 'least cost'")
    used = study.choices[study.choices["rule"].str.startswith("used")]
    assert (best["cost"].to_numpy() <= used["cost"].to_numpy()).all()


# ---- what data can be like -----------------------------------------------------------------------


def test_scores_outside_0_to_1_have_no_log_loss_and_a_threshold_of_their_own():
    study = classification.read(scores(score=lambda f: 10 * f["score"]))
    assert "log_loss" not in [chosen.label for chosen in study.settings.metrics]
    assert study.rule.text == "best F1"


def test_equal_scores_separate_nothing():
    study = classification.read(scores(score=0.5))
    assert study.estimates.query("metric == 'roc_auc'")["value"].tolist() == [0.5, 0.5]


def test_rows_of_users_count_their_users():
    study = classification.read(scores(user=lambda f: f["id"] // 4), unit="user")
    assert (study.estimates.query("metric == 'roc_auc'")["n"] == 50).all()


def test_predicted_classes_without_scores_have_no_curves():
    study = classification.read(
        pd.DataFrame({"id": range(6), "label": list("aabbcc"), "predicted": list("abbbca")})
    )
    for piece in (
        classification_page.curve_plot,
        classification_page.top,
        classification_page.calibration,
    ):
        assert piece(study).html == ""
    assert study.estimates.set_index("metric")["value"]["accuracy"] == pytest.approx(4 / 6)


def test_rows_with_few_distinct_scores_are_ties_and_no_warning():
    coarse = scores(500).assign(score=lambda f: f["score"].round(2))
    study = classification.read(coarse[coarse["system"] == "good"])
    (finding,) = [one for one in binary_page.every_finding(study) if one.kind.code == "EK206"]
    assert (
        finding.severity,
        "ties are likely, for no system has more than" in finding.message,
    ) == (NOTE, True)


def test_the_cost_curve_and_its_caption_have_the_least_cost_of_the_table():
    rng = np.random.default_rng(2)
    label = (rng.random(4000) < 0.2).astype(int)
    score = np.clip(0.25 * label + 0.75 * rng.random(4000), 0, 1)
    study = classification.read(pd.DataFrame({"label": label, "score": score}), costs="fp=1,fn=3")
    least = study.choices[study.choices["rule"] == "least cost"].iloc[0]
    exact = (
        min(
            ((score >= t) & (label == 0)).sum() + 3 * ((score < t) & (label == 1)).sum()
            for t in score
        )
        / 4000
    )
    assert least["cost"] == pytest.approx(exact, abs=1e-15)
    assert study.sweep["cost"].min() == least["cost"]
    assert study.sweep["f1"].max() == study.choices[study.choices["rule"] == "best F1"]["f1"].item()
    caption = threshold_page.cost_plot(study).caption
    assert f"Lowest: score {exact:.3f} at threshold {least['threshold']:.3f}." in caption


def test_the_cost_curve_begins_where_none_is_predicted_positive():
    label = np.repeat([1, 0], [10, 990])
    study = classification.read(pd.DataFrame({"label": label, "score": 0.3}), threshold=0.5)
    assert study.sweep[["predicted", "cost"]].to_numpy().tolist() == [[0.0, 0.01], [1.0, 0.99]]
    assert (
        "Lowest: score 0.0100 with no row predicted positive"
        in threshold_page.cost_plot(study).caption
    )
    assert "inf" not in threshold_page.threshold_plot(study).svg


@pytest.mark.parametrize("systems", [["good"], ["good", "weak"]])
@pytest.mark.parametrize("weight", [None, 0.5])
def test_repeated_rows_share_their_label_and_every_score(systems, weight):
    data = scores(400).assign(score=lambda d: d["score"].round(2))
    data = data[data["system"].isin(systems)].assign(
        **({} if weight is None else {"weight": weight})
    )
    wide = data.pivot(index=["id", "label"], columns="system", values="score").reset_index("label")
    study = classification.read(data, systems=systems)
    assert study.repeated == wide.duplicated().sum() > 0


NAMES = [*"ab" * 29, "a", "n" * 3000]  # the last is too long
LABEL = np.arange(60) % 2


@pytest.mark.parametrize(
    "data", [{"label": LABEL, "score": 0.5, "place": NAMES}, {"label": NAMES, "predicted": NAMES}]
)
def test_a_name_that_no_page_can_repeat_is_refused_with_its_row(data):
    """Names of systems, arms and units are refused by `bad_inputs`."""
    message = r"must have at most 1,000 bytes, got 3,000, beginning with 'nnn.*\(row 60\)"
    with pytest.raises(InputError, match=message) as error:
        classification.read(preds=pd.DataFrame(data), segments="place" if "place" in data else None)
    assert len(str(error.value)) < 300


def test_a_column_with_a_long_name_is_refused():
    with pytest.raises(
        InputError, match="a column's name must have at most 1,000 bytes, got 2,006"
    ):
        classification.read(preds=pd.DataFrame({"label": LABEL, f"score_{'n' * 2000}": 0.5}))


def test_long_texts_that_are_features_or_ids_are_read():
    features = pd.DataFrame(
        {"label": LABEL, "remark": np.where(np.arange(60) % 3, "m" * 2000, "o" * 2000)}
    )
    assert validation.read(features=features, k=5, seconds=0.1).systems
    queries = np.char.add("q" * 1500, (np.arange(60) // 6).astype(str))
    lists = {
        "query": queries,
        "item": np.arange(60) % 6,
        "score": np.arange(60) / 60,
        "grade": LABEL,
    }
    assert ranking.read(preds=pd.DataFrame(lists)).order


RNG = np.random.default_rng(6)
TRUTH = RNG.integers(0, 2, 400)
SCORES = {"a": (RNG.normal(0, 1, 400) + TRUTH).round(1), "b": RNG.normal(3, 2, 400)}


@pytest.fixture(scope="module")
def study():
    return classification.read(y_true=TRUTH, y_score=SCORES, metrics="roc_auc")


def test_distances_equal_scipy(study):
    rows = score_curves.distances(study.counts_by_system).set_index("system")
    for name, score in SCORES.items():
        expected = ks_2samp(score[TRUTH == 1], score[TRUTH == 0]).statistic
        assert rows.loc[name, "value"] == pytest.approx(expected, abs=1e-12)
        below = np.mean(score[TRUTH == 1] < rows.loc[name, "x"])
        assert rows.loc[name, "positive"] == pytest.approx(below, abs=1e-12)


def test_histograms_have_common_bins_and_hold_every_row(study):
    frame = score_curves.histogram(
        study.counts_by_system,
        score_curves.edges(study.counts_by_system, probabilities=study.probabilities),
    )
    for _, part in frame.groupby("system"):
        assert part[["positive", "negative"]].sum().tolist() == pytest.approx([1, 1])
    low = frame.pivot(columns="system", values="low")
    assert low["a"].dropna().tolist() == low["b"].dropna().tolist()
    inside = frame[frame["system"] == "a"].iloc[10]
    of_class = SCORES["a"][TRUTH == 1]
    assert inside["positive"] == np.mean((of_class >= inside["low"]) & (of_class < inside["high"]))


def test_the_drawn_functions_are_those_of_the_rows(study):
    for name, score in SCORES.items():
        part = score_curves.distribution(name, study.table(name))
        share = [np.mean(score[TRUTH == 0] <= x) for x in part["x"]]
        np.testing.assert_allclose(part["negative"], share, atol=1e-12)


def test_both_pictures_say_the_distance(study):
    value = score_curves.distances(study.counts_by_system)["value"][0]
    for picture in (study.plot.score, study.plot.ks):
        assert f"a {value:.3f} just below" in picture.alt


def test_the_confusion_matrix_of_two_classes_says_counts_and_shares(study):
    decided = study.decisions.set_index("system").loc["a"]
    picture = study.plot.confusion
    assert (
        f"a: {decided['tp']:.0f} true positives, {decided['fn']:.0f} false negatives" in picture.alt
    )
    assert f">{decided['tp'] / TRUTH.sum():.0%}</t" in picture.svg


def test_a_system_without_a_threshold_has_no_matrix():
    scores = {"good": TRUTH * 1.0, "bad": 1 - TRUTH * 1.0}
    study = classification.read(
        y_true=TRUTH, y_score=scores, metrics="roc_auc", threshold="precision>=0.9"
    )
    alt = study.plot.confusion.alt
    assert "good: " in alt
    assert "bad: " not in alt


def test_the_legends_of_the_curves_have_the_areas_with_their_intervals():
    study = classification.read()
    svg = binary_page.curve_plot(study).svg
    for metric, short in (("roc_auc", "AUC"), ("average_precision", "AP")):
        for row in study.estimates[study.estimates["metric"] == metric].to_dict("records"):
            places = len(re.search(rf"{row['system']}: {short} 0\.(\d+) ", svg)[1])
            text = estimate(row["value"], row["low"], row["high"], places=places)
            assert f"{row['system']}: {short} {text}<" in svg
    assert ">forest<" in binary_page.curve_plot(classification.read(metrics="log_loss")).svg


# Log loss of probabilities in single precision ----------------------------------------------------

SINGLE_LABELS = [0, 1, 0, 1]
SINGLE_SCORES = np.array([1.0, 0.3, 0.0, 0.6], np.float32)


def log_loss_of(table):
    return classification.read(table, metrics="log_loss").estimates["value"][0]


def test_log_loss_of_single_precision_is_that_of_its_numbers_as_doubles():
    table = pd.DataFrame({"label": SINGLE_LABELS, "score": SINGLE_SCORES})
    doubles = SINGLE_SCORES.astype(np.float64)
    assert log_loss_of(table) == pytest.approx(metrics.log_loss(SINGLE_LABELS, doubles), rel=1e-12)
    assert log_loss_of(table) == log_loss_of(table.assign(score=doubles))


def test_scikit_learn_clips_single_precision_at_its_own_eps():
    """What the definition of log loss says of it."""
    table = pd.DataFrame({"label": SINGLE_LABELS, "score": SINGLE_SCORES})
    clipped = -np.log(np.finfo(np.float32).eps)
    theirs = metrics.log_loss(SINGLE_LABELS, SINGLE_SCORES)
    ours = log_loss_of(table)
    assert ours - theirs == pytest.approx((losses.WORST - clipped) / 4, rel=1e-6)
    assert "of probabilities as float64" in lookup.find_metric("log_loss", "counts").metric.equals


def test_log_loss_of_classes_in_single_precision_is_that_of_doubles():
    score = np.array([[1, 0, 0], [0, 1, 0], [0.25, 0.25, 0.5]], np.float32)
    table = pd.DataFrame(
        {"label": list("yyz")} | dict(zip(("p_x", "p_y", "p_z"), score.T, strict=True))
    )
    expected = metrics.log_loss(list("yyz"), score.astype(np.float64), labels=list("xyz"))
    assert log_loss_of(table) == pytest.approx(expected, rel=1e-12)
