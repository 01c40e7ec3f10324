"""What stands beside the answer: what concerns the metric that decides, and that few rows are
used; and scores that are decisions.
"""

import re

import numpy as np
import pandas as pd
import pytest
from whole_pages import told as findings_text

from evalkit.drawing import shown
from evalkit.findings import kinds
from evalkit.limits import USUAL_LIMITS, Limits, ReadingLimits
from evalkit.pages import first_screen, ranking_page, significance_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.studies import classification, ranking, rating, significance, validation

BLOCKS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50))


def beside_the_answer(findings) -> str:
    """The HTML of those of the findings that the page's script moves beside the answer."""
    return "".join(re.findall("<!--at verdict-->(.*?)<!--/at-->", shown.findings(findings).html))


def values_of_two_metrics(first: str, second: str) -> pd.DataFrame:
    """Random values, from 0 to 1, of the systems a and b on 60 units by two metrics."""
    rng = np.random.default_rng(4)
    rows = [
        {"unit": unit, "system": system, "metric": metric, "value": rng.random()}
        for metric in (first, second)
        for unit in range(60)
        for system in ("a", "b")
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "first, second, is_beside",
    [("reach", "accuracy", True), ("accuracy", "reach", False)],
    ids=["decides", "does not decide"],
)
def test_an_unknown_direction_is_beside_the_answer_if_the_metric_decides(first, second, is_beside):
    """The first metric decides. Whether a high `reach` is good is not known, which is a finding."""
    study = significance.read(values_of_two_metrics(first, second), metrics=f"{first},{second}")
    code = kinds.NO_DIRECTION.code
    assert f"[{code}]" in findings_text(study)
    assert (code in beside_the_answer(significance_page.every_finding(study))) == is_beside


@pytest.mark.parametrize(
    "metrics, is_beside",
    [("f1,accuracy", True), ("accuracy,f1", False)],
    ids=["decides", "does not decide"],
)
def test_other_scales_of_systems_are_beside_the_answer_if_the_metric_decides(metrics, is_beside):
    """The first metric decides. The F1 of a is 100 times as large as that of b, as if it were a
    percentage, which is a finding.
    """
    frame = values_of_two_metrics("accuracy", "f1")
    f1_of_a = (frame["metric"] == "f1") & (frame["system"] == "a")
    frame["value"] = frame["value"].where(~f1_of_a, 100 * frame["value"])
    findings = significance_page.every_finding(significance.read(frame, metrics=metrics))
    assert (kinds.OTHER_SCALES.code in beside_the_answer(findings)) == is_beside


def test_that_few_rows_are_used_comes_before_other_findings_beside_the_answer():
    """Three findings concern the answer of the report, and there is room for two beside it. The
    third in the list says that few rows are used, 10 of 5,000; it comes first all the same.
    """
    findings = [
        kinds.NO_DIRECTION.warning(1, names="name x does", low="x"),
        kinds.ONE_CLASS.warning(),
        kinds.SHORT_LOGS.warning(1, what="m on t: 10 of 5,000"),
    ]
    assert "10 of 5,000" in beside_the_answer(findings)


@pytest.mark.parametrize(
    "n_queries, is_beside", [(200, True), (20, False)], ids=["a twentieth", "a half"]
)
def test_that_few_queries_are_judged_is_beside_the_answer(n_queries, is_beside):
    """10 of the queries of the run are judged; the others are left out."""
    run = pd.DataFrame({"query": range(n_queries), "item": "i", "score": 1.0})
    qrels = pd.DataFrame({"query": range(10), "item": "i", "grade": [1, 0] * 5})
    findings = ranking_page.every_finding(ranking.read(run, qrels))
    text = "without judgements are left out" if is_beside else "left out"
    assert (text in beside_the_answer(findings)) == is_beside


# One base of percentages


@pytest.mark.parametrize("baseline", [None, "b"])
def test_one_difference_has_one_percentage_on_the_first_screen(baseline):
    """The error of a is lower than that of b by some percent. The first screen has this percentage,
    wherever it says it, with b as the base, and no other one but the level of intervals, 95%.
    """
    rng = np.random.default_rng(1)
    actual = rng.gamma(2, 10, 300)
    table = {
        "actual": actual,
        "forecast_a": actual + rng.normal(0, 3, 300),
        "forecast_b": actual + rng.normal(0, 4, 300),
    }
    study = rating.read(pd.DataFrame(table), baseline=baseline)
    error_a = study.estimate(study.primary_metric, "a").value
    error_b = study.estimate(study.primary_metric, "b").value
    percentages = {*re.findall(r"[\d.]+%", first_screen.verdict(study).text)} - {"95%"}
    assert percentages == {f"{100 * (1 - error_a / error_b):.1f}%"}


# Decisions as scores


def decisions_beside_probabilities(rows: int = 200) -> pd.DataFrame:
    """Labels with the scores of the systems proba, a probability, and predict, which is 1 from a
    probability of 0.5 on and else 0.
    """
    rng = np.random.default_rng(89)
    proba = rng.random(rows).round(3)
    label = (rng.random(rows) < proba) * 1
    table = {"id": range(rows), "label": label, "score_proba": proba}
    return pd.DataFrame(table).assign(score_predict=(proba >= 0.5) * 1)


@pytest.mark.parametrize("limits", [USUAL_LIMITS, BLOCKS], ids=["memory", "blocks"])
def test_scores_of_0_and_1_are_a_warning_that_names_the_system(limits):
    study = classification.study_of(
        ClassificationParameters.from_raw({"preds": decisions_beside_probabilities()}), limits
    )
    assert "The scores of predict are only 0 and 1, like decisions" in findings_text(study)


def test_scores_of_0_and_1_of_several_classes_are_a_warning():
    rng = np.random.default_rng(9)
    hot = np.eye(3)[rng.integers(0, 3, 90)]
    columns = {f"p_{c}": hot[:, i] for i, c in enumerate("abc")}
    study = classification.read(pd.DataFrame({"label": list("abc") * 30} | columns))
    assert "like decisions" in findings_text(study)


def test_scores_of_0_and_1_of_labels_are_a_warning():
    rng = np.random.default_rng(9)
    columns = {f"{side}_{c}": rng.integers(0, 2, 90) for side in "yp" for c in "abc"}
    assert "like decisions" in findings_text(classification.read(pd.DataFrame(columns)))


def test_scores_of_0_and_1_in_folds_are_a_warning():
    """200 rows in four folds have a score that is only 0 or 1. Such scores may be decisions that
    were given in place of probabilities, and metrics of the order of scores would not measure the
    model. The validation report warns of them, as the classification report does.
    """
    table = decisions_beside_probabilities()
    folds = pd.DataFrame(
        {
            "id": table["id"],
            "label": table["label"],
            "score": table["score_predict"],  # 0 or 1
            "fold": np.arange(200) % 4,
        }
    )
    study = validation.read(folds)
    assert "like decisions" in findings_text(study)


def test_a_constant_score_is_no_decision():
    frame = decisions_beside_probabilities().assign(score_predict=1.0)
    assert "EK328" not in findings_text(classification.read(frame))
