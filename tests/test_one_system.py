"""A page of one system says nothing of systems that are not there, and its card has a colour of its own."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.pages import binary_page, classes_page, labels_page, ranking_page, rating_page

ROOT = Path(__file__).resolve().parents[1]
RNG = np.random.default_rng(8)
N = 60
LABEL = RNG.permutation(np.repeat([1, 0], [20, 40]))
SCORE = np.clip(0.3 + 0.3 * LABEL + RNG.normal(0, 0.1, N), 0, 1)
CLASS = np.array(["a", "b", "c"])[np.arange(N) % 3]
ROWS = pd.DataFrame({"id": range(N), "label": LABEL, "score": SCORE, "actual": SCORE + 1})
BY_CLASS = {f"p_{name}": np.where(name == CLASS, 0.5, 0.25) for name in "abc"}
LABELS = {f"{column}_{name}": values for name in "ab" for column, values in (("y", LABEL), ("p", SCORE))}
RUNS = [("q1", "a", 0.9, 1), ("q1", "b", 0.5, 0), ("q2", "a", 0.3, 0), ("q2", "b", 0.2, 1)]
PAGES = {
    "binary": (binary_page, lambda: ek.classification(ROWS[["id", "label", "score"]])),
    "classes": (classes_page, lambda: ek.classification(pd.DataFrame({"id": range(N), "label": CLASS} | BY_CLASS))),
    "labels": (labels_page, lambda: ek.classification(pd.DataFrame({"id": range(N)} | LABELS))),
    "forecasts": (rating_page, lambda: ek.rating(ROWS[["id", "actual"]].assign(forecast=SCORE + 0.9))),
    "ranked": (ranking_page, lambda: ek.ranking(pd.DataFrame(RUNS, columns=["query", "item", "score", "grade"]))),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_reader_of_one_system_meets_no_comparison(kind):
    page, study = PAGES[kind][0], PAGES[kind][1]()
    assert not re.search(
        "Bold|[Pp]aired|Holm|McNemar|won / tied|Ties:", page.definitions(study).html + page.estimates(study).html
    )


def test_two_systems_have_their_tests_and_the_best_value_explained():
    frame = ROWS[["id", "actual"]].assign(forecast_a=SCORE + 0.9, forecast_b=SCORE + 0.5)
    study = ek.rating(frame)
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
