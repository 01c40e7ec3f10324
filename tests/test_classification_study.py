"""The classification report: its three kinds, thresholds, one class, single systems, ties, weights, units, segments."""

import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from evalkit.arrays import InputError, ParameterError
from evalkit.drawing.tables import Html
from evalkit.findings.kinds import NOTE
from evalkit.metrics import counts
from evalkit.pages import binary_page, classification_page, first_screen, page, threshold_page
from evalkit.studies import classification
from evalkit.studies.binary import BinaryStudy
from evalkit.studies.classes import ClassesStudy
from evalkit.studies.labels import LabelsStudy

SCHEMA = json.loads((Path(__file__).parents[1] / "evalkit" / "schema.json").read_text(encoding="utf-8"))
PIECES = [
    *("title", "findings", "estimates", "curve_plot", "curves", "base_rate_plot", "base_rate", "threshold_plot"),
    *("cost_plot", "thresholds", "calibration_plot", "calibration", "top_plot", "top", "confusion_plot", "confusion"),
    *("definitions", "origin"),
]
PENGUINS, TRAITS = "data/penguins/predictions.csv", "data/digit_traits/predictions.csv"


def frame(rows=200, seed=1, **more):
    """Two systems on the same rows, long."""
    rng = np.random.default_rng(seed)
    label = (rng.random(rows) < 0.4).astype(int)
    scores = {name: 1 / (1 + np.exp(-(label + rng.normal(0, s, rows)))) for name, s in (("good", 0.7), ("weak", 2.0))}
    parts = [
        pd.DataFrame({"id": np.arange(rows), "system": name, "label": label, "score": one} | more)
        for name, one in scores.items()
    ]
    return pd.concat(parts)


def text(piece):
    return piece.text if isinstance(piece, Html) else piece.alt


def whole(study):
    """Every piece of the page as text, the shared ones too."""
    pieces = [getattr(classification_page, name)(study) for name in PIECES]
    shared = [
        part(study)
        for part in (first_screen.verdict, page.differences, page.comparisons, page.segment_plot, page.segments)
    ]
    return "\n".join(text(piece) for piece in [*pieces, *shared])


def published(study):
    return classification_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]


# ---- the three kinds ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def binary():
    return classification.read()


@pytest.fixture(scope="module")
def classes():
    return classification.read(PENGUINS, segments="island")


@pytest.fixture(scope="module")
def labels():
    return classification.read(TRAITS)


def test_kinds_are_found(binary, classes, labels):
    assert isinstance(binary, BinaryStudy)
    assert isinstance(classes, ClassesStudy)
    assert isinstance(labels, LabelsStudy)


@pytest.mark.parametrize("kind", ["binary", "classes", "labels"])
def test_results_keep_the_schema_and_hold_no_nan(kind, request):
    found = published(request.getfixturevalue(kind))
    jsonschema.validate(found, SCHEMA)
    json.dumps(found, allow_nan=False)
    for name in ("estimates", "comparisons"):
        broken = json.loads(json.dumps(found))
        del broken[name]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, SCHEMA)


@pytest.mark.parametrize("kind", ["binary", "classes", "labels"])
def test_every_number_has_an_interval(kind, request):
    study = request.getfixturevalue(kind)
    known = study.estimates.dropna(subset=["value"])
    assert len(known)
    assert (known["low"] <= known["value"]).all()
    assert (known["value"] <= known["high"]).all()
    assert (study.comparisons["low"] <= study.comparisons["high"]).all()


@pytest.mark.parametrize("kind", ["binary", "classes", "labels"])
def test_every_piece_is_there(kind, request):
    study = request.getfixturevalue(kind)
    shown = whole(study)
    assert not re.search(r"\bnan\b", shown)
    for chosen in study.settings.metrics:
        assert chosen.label in shown


def test_the_first_screen_of_the_sample(binary):
    assert binary.order == ["forest", "logistic", "gbm"]
    assert text(first_screen.verdict(binary)).startswith(
        "forest has the highest roc_auc, 0.793, but the data do not show that it is better than logistic or gbm.\n"
        "roc_auc: how often a positive row scores higher than a negative one; ½ without skill (higher is better).\n"
        "cannot tell: forest from logistic: roc_auc +0.011"
    )
    row = binary.comparisons.query("metric == 'roc_auc' and first == 'forest' and second == 'gbm'").iloc[0]
    assert 0.03099480767269 < row["p"] < 0.0320  # pROC's, which is normal, and a little more on Welch's t
    assert row["adjusted"] == pytest.approx(3 * row["p"])
    shown = text(classification_page.findings(binary))
    assert "Base rate: 30.0% of the rows are positive, the class coded 1 in y_true." in shown
    assert "is right for 70.0%" in shown
    assert "(always the larger class)" in text(classification_page.estimates(binary))


def test_curves_are_thin_and_named_pointwise(binary):
    assert binary.curve("roc").groupby("system").size().max() <= 1000
    assert "pointwise 95% limits" in text(classification_page.curve_plot(binary))
    assert "cross" in text(classification_page.curves(binary))


def test_other_base_rate(binary):
    found = binary.elsewhere.query("system == 'forest' and metric == 'average_precision'")
    assert found["base_rate"].tolist() == pytest.approx([0.3, 300 / 7300])
    assert found["value"].iloc[1] < found["value"].iloc[0]
    here = found.iloc[0]
    assert here["low"] <= here["value"] <= here["high"]
    assert np.isnan(found["low"].iloc[1])  # 700 negatives come with 30 positives there: too few to tell
    assert "at this rate it depends on the few highest-scoring negatives" in classification_page.base_rate(binary).html
    apart = binary.elsewhere[binary.elsewhere["metric"] != "average_precision"]
    assert ((apart["low"] <= apart["value"]) & (apart["value"] <= apart["high"])).all()
    named = classification.read(prevalence=0.01, systems="forest")
    assert named.elsewhere["base_rate"].max() == pytest.approx(0.3)
    assert named.elsewhere["base_rate"].min() == pytest.approx(0.01)


def test_coverage_at_a_precision_target(classes):
    row = classes.covered.query("system == 'logistic'").iloc[0]
    assert (row["classes"], row["coverage"]) == ("Gentoo", pytest.approx(123 / 342))
    assert classification.read(PENGUINS, precision_target=0.5, systems="logistic").covered["coverage"].iloc[0] == 1.0


def test_classes_that_a_slice_lacks_are_told(classes):
    assert "Slices that lack a class: island Biscoe, island Dream, island Torgersen" in whole(classes)


def test_two_runs_are_the_same_to_the_byte(binary):
    again = classification.read()
    assert json.dumps(published(binary)) == json.dumps(published(again))
    pictures = [classification_page.curve_plot(one)._repr_mimebundle_()["text/html"] for one in (binary, again)]
    assert pictures[0] == pictures[1]


# ---- thresholds -----------------------------------------------------------------------------------------------------


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
    study = classification.read(frame(), threshold=threshold)
    for name, t in study.thresholds.items():
        assert check(counts.at(study.table(name), t)), name
    assert study.rule.fixed or "optimistic" in text(classification_page.findings(study))


def twins(seed, rows=200):
    """Two systems that see the truth through as much noise, which of the two is better is chance."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(-1, 1.5, rows)
    label = rng.random(rows) < 1 / (1 + np.exp(-merit))
    return pd.DataFrame({"label": label.astype(int)} | {f"score_{s}": merit + rng.normal(0, 0.7, rows) for s in "ab"})


@pytest.mark.parametrize("rule", ["best_f1", "cost:fp=1,fn=5"])
def test_equal_models_whose_thresholds_were_chosen_on_the_rows_are_seldom_told_apart(rule):
    """With the thresholds taken as given a third of such samples had a p below 5%."""
    metrics = "precision,recall,specificity"
    p = [classification.read(twins(seed), threshold=rule, metrics=metrics).comparisons["p"] for seed in range(40)]
    assert (np.array(p) < 0.05).mean(axis=0).max() <= 0.15


@pytest.mark.parametrize("more", [{}, {"unit": "user"}, {"columns": {"weight": "times"}}], ids=str)
def test_the_choice_widens_intervals_and_leaves_equal_decisions_equal(more):
    table = twins(1).assign(user=np.arange(200) % 40, times=1 + np.arange(200) % 3, score_b=lambda d: 2 * d["score_a"])
    study = classification.read(table, threshold="best_f1", metrics="precision,f1,roc_auc", **more)
    (number,) = {study.thresholds["a"]}
    fixed = classification.read(table, threshold=number, metrics="precision,f1,roc_auc", **more)
    width, given = (of.estimates.query("system == 'a'").eval("high - low").to_numpy() for of in (study, fixed))
    assert width[0] > 1.2 * given[0]
    assert width[2] == given[2]
    assert (study.comparisons["p"] == 1).all()
    assert "chosen again" in study.intervals_are
    assert "chosen again" not in fixed.tests_are
    assert "made again on each bootstrap sample" in text(classification_page.findings(study))


@pytest.mark.parametrize("differ", [0, 1])
def test_systems_that_decide_nearly_alike_are_not_claimed_to_be_equal(differ):
    """A model beside its own rounded scores: of the rows to come some will be decided differently."""
    table = twins(3).assign(score_b=lambda d: d["score_a"])
    table.loc[np.argsort(np.abs(table["score_a"]))[:differ], "score_b"] *= -1
    metrics = "f1,f2,jaccard,precision,lift,balanced_accuracy,youden,mcc,kappa,recall,accuracy"
    c = classification.read(table, threshold=0.0, metrics=metrics).comparisons
    row = 1 / (table["label"] == 1).sum()  # one more
    assert c.eval("high - low").min() > row
    assert (c["p"] > 0.1).all()


def test_scores_of_exactly_0_or_1_are_not_trusted_to_be_right_every_time():
    """Rounded scores seem better in most samples, until one that is certain is wrong and costs 36 nats."""
    table = twins(2).assign(score_a=lambda d: 1 / (1 + np.exp(-2.5 * d["score_a"])))
    table = table.assign(score_b=table["score_a"].round(1), label=(table["score_a"] > 0.5).astype(int))
    given = {"metrics": "log_loss"}
    study = classification.read(table, **given)
    (c,) = study.comparisons.to_dict("records")
    assert (c["p"] < 0.05) == (c["low"] > 0 or c["high"] < 0)
    assert c["low"] < 0 < c["high"]
    assert c["high"] - c["low"] > 0.5
    assert "allow for more of them being wrong" in text(classification_page.findings(study))
    by_unit = classification.read(table.assign(user=np.arange(200) % 50), unit="user", **given)
    assert "do not allow for more of them being wrong" in text(classification_page.findings(by_unit))


def test_a_target_that_no_threshold_reaches_is_undefined():
    mixed = pd.DataFrame({"label": [0, 1, 0, 1], "score": [0.9, 0.8, 0.7, 0.6]})
    study = classification.read(mixed, threshold="precision>=0.95", metrics="roc_auc,f1,precision")
    assert np.isnan(study.thresholds["system"])
    assert "No threshold reaches precision ≥ 0.95 for system" in whole(study)


def test_costs():
    study = classification.read(frame(), costs="fp=1,fn=4")
    best = study.choices.query("rule == 'least cost'")
    used = study.choices[study.choices["rule"].str.startswith("used")]
    assert (best["cost"].to_numpy() <= used["cost"].to_numpy()).all()


# ---- what data can be like ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_only(label):
    study = classification.read(frame().assign(label=label), positive="1")
    shown = whole(study)
    assert "The rows have only one class" in shown
    assert (study.comparisons.query("metric == 'roc_auc'")["verdict"] == "cannot tell").all()
    jsonschema.validate(published(study), SCHEMA)


def test_a_single_system_without_id():
    study = classification.read(frame().query("system == 'good'").drop(columns=["id", "system"]))
    assert text(first_screen.verdict(study)).startswith("result: system: roc_auc 0.")
    assert "one system, nothing to compare" in first_screen.verdict(study).html
    whole(study)
    jsonschema.validate(published(study), SCHEMA)


def test_a_reversed_score_is_told():
    study = classification.read(frame().assign(score=lambda f: 1 - f["score"]))
    assert "AUC is below 0.5, so the score may be reversed: " in whole(study)


def test_scores_outside_0_to_1_are_noted_and_probability_metrics_refused():
    outside = frame().assign(score=lambda f: 10 * f["score"])
    study = classification.read(outside)
    shown = whole(study)
    assert "Scores outside 0 to 1 are not probabilities" in shown
    assert "log_loss" not in [chosen.label for chosen in study.settings.metrics]
    assert study.rule.text == "best F1"
    with pytest.raises(
        ParameterError, match=r"metrics: brier needs probabilities, got the score .* of good \(data frame"
    ):
        classification.read(outside, metrics="brier")


def test_certain_and_wrong_is_told():
    sure = frame().assign(score=lambda f: np.where(f["score"] > 0.6, 1.0, f["score"]))
    shown = whole(classification.read(sure))
    assert "Probabilities of exactly 0 or 1, which log loss clips: good" in shown
    assert "wrong ones cost 36 nats each" in shown


def test_log_loss_driven_by_rows_that_no_model_expected_is_told():
    first = frame()["label"].to_numpy().argmax()
    far = frame().assign(score=lambda f: np.where(np.arange(len(f)) == first, 1e-9, f["score"]))
    assert "log loss in rows whose class had a probability below 0.1%: good" in whole(classification.read(far))
    assert "whose class had a probability below" not in whole(classification.read(frame()))


def test_constant_scores():
    study = classification.read(frame().assign(score=0.5))
    whole(study)
    assert study.estimates.query("metric == 'roc_auc'")["value"].tolist() == [0.5, 0.5]


def test_duplicates_are_told():
    twice = pd.concat([frame(60), frame(60).assign(id=lambda f: f["id"] + 1000)])
    assert "60 rows have the same label and the same scores as another row: they may be duplicates" in whole(
        classification.read(twice)
    )


def test_rows_with_few_distinct_scores_are_ties_and_no_warning():
    coarse = frame(500).assign(score=lambda f: f["score"].round(2))
    study = classification.read(coarse[coarse["system"] == "good"])
    (finding,) = [one for one in binary_page.every_finding(study) if one.kind.code == "EK206"]
    assert (finding.severity, "ties are likely, for no system has more than" in finding.message) == (NOTE, True)


def test_weights_and_units():
    rng = np.random.default_rng(2)
    weighted = frame(sample_weight=rng.uniform(0.5, 2, 200), user=np.arange(200) // 4)
    study = classification.read(weighted, unit="user", segments="user")
    assert study.unit_name == "user"
    assert (study.estimates.query("metric == 'roc_auc'")["n"] == 50).all()
    assert "Rows are weighted" in whole(study)
    jsonschema.validate(published(study), SCHEMA)


def test_a_slice_with_one_class_is_told():
    sliced = frame().assign(part=lambda f: np.where(f["label"] == 1, "only positives", "rest"))
    shown = whole(classification.read(sliced, segments="part"))
    assert "Slices with one class, where AUC is undefined: part only positives, part rest." in shown


def test_hostile_text_is_escaped():
    hostile = "<script>alert(1)</script>"
    study = classification.read(frame().replace({"system": {"good": hostile}}).assign(seg=hostile), segments="seg")
    for name in PIECES:
        shown = getattr(classification_page, name)(study)._repr_mimebundle_()["text/html"]
        assert hostile not in shown, name


def test_predicted_classes_without_scores():
    data = pd.DataFrame({"id": range(6), "label": list("aabbcc"), "predicted": list("abbbca")})
    study = classification.read(data)
    assert "calibration" not in whole(study)
    for piece in (classification_page.curve_plot, classification_page.top, classification_page.calibration):
        assert piece(study).html == ""
    assert study.estimates.set_index("metric")["value"]["accuracy"] == pytest.approx(4 / 6)
    with pytest.raises(ParameterError, match="log_loss needs p_<class> columns, the table has none"):
        classification.read(data, metrics="log_loss")
    jsonschema.validate(published(study), SCHEMA)


def test_a_class_that_never_occurs_or_is_never_predicted_is_told():
    data = pd.DataFrame({"label": list("aabb"), "p_a": [0.8, 0.7, 0.6, 0.5], "p_b": [0.1] * 4, "p_c": [0.1] * 4})
    shown = whole(classification.read(data))
    assert "Classes without a row, whose recall and AUC are undefined: c." in shown
    assert "system never predicts b: their precision is undefined." in shown


def test_multi_label_with_units_and_weights():
    data = pd.read_csv(Path(__file__).parents[1] / TRAITS).assign(weight=2.0)
    study = classification.read(data, unit="digit", threshold=0.4)
    assert (study.estimates.query("metric == 'micro_f1'")["n"] == 10).all()
    whole(study)


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"threshold": "high"},
            "threshold must be a number, best_f1, cost:fp=1,fn=5, precision>=0.9 or recall>=0.9, got",
        ),
        ({"costs": "fp=1"}, "costs must name fp and fn"),
        ({"prevalence": 1.5}, "prevalence must be a number between 0 and 1, got 1.5"),
        ({"precision_target": 0.9}, "precision_target: only for a multi-class table"),
        ({"kind": "regression"}, "kind must be one of binary, multi-class, multi-label, got 'regression'"),
        ({"metrics": "auroc"}, "unknown metric 'auroc', must be one of roc_auc"),
        ({"baseline": "none"}, "baseline: there is no system 'none', the input has forest, gbm, logistic"),
        ({"segments": "town"}, "has no column 'town'"),
        ({"level": 95}, "level must be a number between 0.5 and 1, got 95"),
    ],
)
def test_refuses_parameters_by_one_line(options, message):
    with pytest.raises((InputError, ParameterError), match=message.replace("(", r"\(")) as error:
        classification.read("data/german_credit/predictions.csv", **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("data, option", [(PENGUINS, "threshold"), (TRAITS, "precision_target"), (TRAITS, "costs")])
def test_refuses_a_parameter_of_another_kind(data, option):
    with pytest.raises(ParameterError, match=f"{option}: only for a"):
        classification.read(data, **{option: "fp=1,fn=2" if option == "costs" else 0.5})


def test_the_cost_curve_and_its_caption_have_the_least_cost_of_the_table():
    rng = np.random.default_rng(2)
    label = (rng.random(4000) < 0.2).astype(int)
    score = np.clip(0.25 * label + 0.75 * rng.random(4000), 0, 1)
    study = classification.read(pd.DataFrame({"label": label, "score": score}), costs="fp=1,fn=3")
    least = study.choices[study.choices["rule"] == "least cost"].iloc[0]
    exact = min(((score >= t) & (label == 0)).sum() + 3 * ((score < t) & (label == 1)).sum() for t in score) / 4000
    assert least["cost"] == pytest.approx(exact, abs=1e-15)
    assert study.sweep["cost"].min() == least["cost"]
    assert study.sweep["f1"].max() == study.choices[study.choices["rule"] == "best F1"]["f1"].item()
    caption = threshold_page.cost_plot(study).caption
    assert f"Lowest: system {exact:.3f} at threshold {least['threshold']:.3f}." in caption


def test_the_cost_curve_begins_where_none_is_predicted_positive():
    label = np.repeat([1, 0], [10, 990])
    study = classification.read(pd.DataFrame({"label": label, "score": 0.3}), threshold=0.5)
    assert study.sweep[["predicted", "cost"]].to_numpy().tolist() == [[0.0, 0.01], [1.0, 0.99]]
    assert "Lowest: system 0.0100 with no row predicted positive" in threshold_page.cost_plot(study).caption
    assert "inf" not in threshold_page.threshold_plot(study).svg


@pytest.mark.parametrize("systems", [["good"], ["good", "weak"]])
@pytest.mark.parametrize("weight", [None, 0.5])
def test_repeated_rows_share_their_label_and_every_score(systems, weight):
    data = frame(400).assign(score=lambda d: d["score"].round(2))
    data = data[data["system"].isin(systems)].assign(**({} if weight is None else {"weight": weight}))
    wide = data.pivot(index=["id", "label"], columns="system", values="score").reset_index("label")
    study = classification.read(data, systems=systems)
    assert study.repeated == wide.duplicated().sum() > 0
