"""What stands beside the answer: what concerns the metric that decides, and that few rows are
used; and scores that are decisions.
"""

import re

import numpy as np
import pandas as pd
import pytest
from whole_pages import told

from evalkit.drawing import shown
from evalkit.findings import kinds
from evalkit.limits import USUAL, Limits, Reading
from evalkit.pages import first_screen, ranking_page, significance_page
from evalkit.parameters.reports import ClassificationParameters
from evalkit.studies import classification, ranking, rating, significance, validation

BLOCKS = Limits(reading=Reading(rows=50, shard=50, largest=50))


def beside_the_answer(findings) -> str:
    """What the page moves beside the answer."""
    return "".join(re.findall("<!--at verdict-->(.*?)<!--/at-->", shown.findings(findings).html))


def two_metrics(first: str, second: str) -> pd.DataFrame:
    """Values of two systems on 60 units by two metrics, of which `reach` has no known direction."""
    rng = np.random.default_rng(4)
    rows = [
        {"unit": unit, "system": system, "metric": metric, "value": rng.random()}
        for metric in (first, second)
        for unit in range(60)
        for system in ("a", "b")
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("first, stands", [("reach", True), ("accuracy", False)])
def test_a_metric_that_does_not_decide_is_not_beside_the_answer(first, stands):
    second = "accuracy" if first == "reach" else "reach"
    study = significance.read(two_metrics(first, second), metrics=f"{first},{second}")
    findings = significance_page.every_finding(study)
    assert "[EK116]" in told(study)
    assert ("EK116" in beside_the_answer(findings)) == stands


def test_scales_of_a_metric_that_does_not_decide_are_not_beside_the_answer():
    frame = two_metrics("accuracy", "f1")
    large = (frame["metric"] == "f1") & (frame["system"] == "a")
    frame["value"] = frame["value"].where(~large, 100 * frame["value"])
    findings = significance_page.every_finding(significance.read(frame, metrics="accuracy,f1"))
    assert "EK117" not in beside_the_answer(findings)
    findings = significance_page.every_finding(significance.read(frame, metrics="f1,accuracy"))
    assert "EK117" in beside_the_answer(findings)


def test_few_rows_used_stand_first():
    several = [
        kinds.NO_DIRECTION.warning(1, names="name x does", low="x"),
        kinds.ONE_CLASS.warning(),
        kinds.SHORT_LOGS.warning(1, what="m on t: 10 of 5,000"),
    ]
    assert "10 of 5,000" in beside_the_answer(several)


def test_few_judged_queries_stand_on_top():
    run = pd.DataFrame({"query": range(200), "item": "i", "score": 1.0})
    qrels = pd.DataFrame({"query": range(10), "item": "i", "grade": [1, 0] * 5})
    study = ranking.read(run, qrels)
    assert "without judgements are left out" in beside_the_answer(ranking_page.every_finding(study))
    half = ranking.read(run.query("query < 20"), qrels)
    assert "left out" not in beside_the_answer(ranking_page.every_finding(half))


# One base of percentages


@pytest.mark.parametrize("baseline", [None, "b"])
def test_one_difference_has_one_percentage_on_the_first_screen(baseline):
    rng = np.random.default_rng(1)
    actual = rng.gamma(2, 10, 300)
    forecasts = {f"forecast_{name}": actual + rng.normal(0, sd, 300) for name, sd in AB.items()}
    study = rating.read(pd.DataFrame({"actual": actual} | forecasts), baseline=baseline)
    a, b = (study.estimate(study.primary, name).value for name in "ab")
    percentages = {*re.findall(r"[\d.]+%", first_screen.verdict(study).text)} - {"95%"}
    assert percentages == {f"{100 * (1 - a / b):.1f}%"}


AB = {"a": 3.0, "b": 4.0}


# Decisions as scores


def decided(rows: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(89)
    proba = rng.random(rows).round(3)
    label = (rng.random(rows) < proba) * 1
    table = {"id": range(rows), "label": label, "score_proba": proba}
    return pd.DataFrame(table).assign(score_predict=(proba >= 0.5) * 1)


@pytest.mark.parametrize("limits", [USUAL, BLOCKS], ids=["memory", "blocks"])
def test_scores_of_0_and_1_are_a_warning_that_names_the_system(limits):
    study = classification.study_of(ClassificationParameters.from_raw({"preds": decided()}), limits)
    assert "The scores of predict are only 0 and 1, like decisions" in told(study)


def test_scores_of_0_and_1_of_several_classes_are_a_warning():
    rng = np.random.default_rng(9)
    hot = np.eye(3)[rng.integers(0, 3, 90)]
    columns = {f"p_{c}": hot[:, i] for i, c in enumerate("abc")}
    study = classification.read(pd.DataFrame({"label": list("abc") * 30} | columns))
    assert "like decisions" in told(study)


def test_scores_of_0_and_1_of_labels_are_a_warning():
    rng = np.random.default_rng(9)
    columns = {f"{side}_{c}": rng.integers(0, 2, 90) for side in "yp" for c in "abc"}
    assert "like decisions" in told(classification.read(pd.DataFrame(columns)))


def test_scores_of_0_and_1_in_folds_are_a_warning():
    frame = decided().drop(columns=["score_proba"]).rename(columns={"score_predict": "score"})
    study = validation.read(frame.assign(fold=np.arange(200) % 4))
    assert "like decisions" in told(study)


def test_a_constant_score_is_no_decision():
    frame = decided().assign(score_predict=1.0)
    assert "EK328" not in told(classification.read(frame))
