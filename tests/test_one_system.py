"""A page of one system: whether a constant beats it, and nothing of systems that are not there."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.pages import binary_page, classes_page, first_screen, labels_page, ranking_page, rating_page

RNG = np.random.default_rng(33)
LABEL = RNG.permutation(np.repeat([1, 0], [60, 340]))
SURE = 1 / (1 + np.exp(-(6 * LABEL + 4 + RNG.normal(0, 2, 400))))  # a good order, far too high
CLASS = RNG.permutation(np.repeat(["a", "b", "c"], [240, 100, 60]))
ACTUAL = RNG.gamma(2, 2, 400)


def binary(score):
    return ek.classification(pd.DataFrame({"id": range(400), "label": LABEL, "score": score}))


def several(right):
    """Scores of three classes that put `right` on the actual one, or the rest on it if that is less."""
    scores = {f"p_{name}": np.where(name == CLASS, right, (1 - right) / 2) for name in "abc"}
    return ek.classification(pd.DataFrame({"id": range(400), "label": CLASS} | scores))


def labelled(score):
    columns = {"y_a": LABEL, "y_b": LABEL, "p_a": score, "p_b": score}
    return ek.classification(pd.DataFrame({"id": range(400)} | columns))


def forecast(values, **options):
    return ek.rating(pd.DataFrame({"id": range(400), "actual": ACTUAL, "forecast": values}), **options)


def said(page, study):
    return "".join(finding.message for finding in page.every_finding(study) if finding.kind.code == "EK337")


FAR = np.where(RNG.random(400) < 0.1, ACTUAL + 30, ACTUAL)
CASES = [
    (binary_page, lambda: binary(SURE), {"log_loss", "brier", "accuracy"}, {"roc_auc", "specificity", "recall"}),
    (binary_page, lambda: binary(1 - SURE), {"average_precision"}, {"roc_auc"}),
    (classes_page, lambda: several(0.1), {"log_loss", "accuracy", "roc_auc_ovr"}, {"mcc"}),
    (labels_page, lambda: labelled(1 - SURE), {"exact_match", "map_classes"}, {"micro_f1"}),
    (rating_page, lambda: forecast(FAR), {"rmse", "r2"}, {"mae"}),
]


@pytest.mark.parametrize(("page", "study", "worse", "other"), CASES)
def test_a_system_worse_than_a_constant_by_any_metric_is_told(page, study, worse, other):
    words = set(said(page, study()).replace("(", " ").split())
    assert worse <= words
    assert not other & words


GOOD = np.clip(0.15 + 0.5 * (LABEL - 0.15) + RNG.normal(0, 0.01, 400), 0, 1)
NEAR = [
    (binary_page, lambda: binary(GOOD)),
    (classes_page, lambda: several(0.9)),
    (labels_page, lambda: labelled(GOOD)),
    (rating_page, lambda: forecast(ACTUAL + 0.1)),
]


@pytest.mark.parametrize(("page", "study"), NEAR)
def test_nothing_is_said_of_a_system_that_no_constant_beats(page, study):
    assert not said(page, study())


def test_what_stands_below_the_verdict_of_forecasts_is_not_said_twice():
    study = forecast(ACTUAL.mean() + RNG.normal(0, 3, 400))
    assert "EK332" in rating_page.verdict(study).html
    words = said(rating_page, study)
    assert "r2" in words
    assert study.primary.label not in words


@pytest.mark.parametrize(("metric", "percent"), [("roc_auc", False), ("average_precision", False), ("log_loss", True)])
def test_a_gain_is_no_share_of_a_value_that_a_constant_reaches(metric, percent):
    noisy = np.clip(GOOD + RNG.normal(0, 0.3, 400), 0.01, 0.99)
    frame = pd.DataFrame({"id": range(400), "label": LABEL, "score_a": np.clip(GOOD, 0.01, 0.99), "score_b": noisy})
    answer = first_screen.verdict(ek.classification(frame, metrics=metric)).html.split("instead of")[0]
    assert "a is better than b" in answer
    assert ("%" in answer) is percent


# Words of one system

ROOT = Path(__file__).resolve().parents[1]
RUNS = [("q1", "a", 0.9, 1), ("q1", "b", 0.5, 0), ("q2", "a", 0.3, 0), ("q2", "b", 0.2, 1)]
PAGES = {
    "binary": (binary_page, lambda: binary(GOOD)),
    "classes": (classes_page, lambda: several(0.5)),
    "labels": (labels_page, lambda: labelled(GOOD)),
    "forecasts": (rating_page, lambda: forecast(ACTUAL + 0.1)),
    "ranked": (ranking_page, lambda: ek.ranking(pd.DataFrame(RUNS, columns=["query", "item", "score", "grade"]))),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_reader_of_one_system_meets_no_comparison(kind):
    page, study = PAGES[kind][0], PAGES[kind][1]()
    assert not re.search(
        "Bold|[Pp]aired|Holm|McNemar|won / tied|Ties:", page.definitions(study).html + page.estimates(study).html
    )


def test_two_systems_have_their_tests_and_the_best_value_explained():
    study = ek.rating(pd.DataFrame({"actual": ACTUAL, "forecast_a": ACTUAL + 0.1, "forecast_b": ACTUAL + 0.2}))
    assert "Bold: the best value" in rating_page.estimates(study).html
    assert "Holm" in rating_page.definitions(study).html


def test_only_the_section_of_differences_speaks_of_two_systems():
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "markdown"]
        prose = ["".join(cell["source"]) for cell in cells]
        assert all(text.startswith("## Paired differences") for text in prose if "two systems" in text)


@pytest.mark.parametrize("word", ["better", "worse", "equivalent", "result", "pass", "fail"])
def test_each_card_but_cannot_tell_has_a_tone_that_is_not_that_of_cannot_tell(word):
    style = (ROOT / "evalkit" / "page" / "evalkit" / "page.css").read_text(encoding="utf-8")
    usual = re.search(r"\.verdict \{.*?--tone: var\((.*?)\)", style)[1]
    own = re.search(rf"\.verdict\.{word} ?[,{{][^{{]*\{{? ?--tone: var\((.*?)\)", style)[1]
    assert own != usual
