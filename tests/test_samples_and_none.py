"""The bundled sample is read without any argument alone; None is no input."""

import pytest

import evalkit as ek
from evalkit.arrays import ParameterError
from evalkit.pages import classification_page, diff_page, ranking_page, validation_page

REPORTS = (
    "classification",
    "diff",
    "interleaving",
    "ranking",
    "rating",
    "significance",
    "validation",
)


@pytest.mark.parametrize("report", REPORTS)
def test_none_is_no_input(report):
    with pytest.raises(ParameterError, match=r"must be a table .*, got None; without any argument"):
        getattr(ek, report)(None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ek.classification(preds=None),
        lambda: ek.classification(y_true=None, y_score=None),
        lambda: ek.ranking(preds=None, qrels="qrels.txt"),
        lambda: ek.validation(features=None),
        lambda: ek.interleaving(users=None),
        lambda: ek.diff(old=None, new=None),
    ],
)
def test_none_by_name_is_no_input(call):
    with pytest.raises(ParameterError, match="got None"):
        call()


def test_none_beside_an_input_is_left_out():
    rows = {"label": [0, 1] * 10, "score": [0.2, 0.7] * 10}
    assert ek.classification(rows, columns=None).systems == ("score",)


@pytest.mark.parametrize(
    "title, study",
    [
        (classification_page.title, ek.classification),
        (ranking_page.title, ek.ranking),
        (validation_page.title, ek.validation),
        (diff_page.title, ek.diff),
    ],
)
def test_the_page_says_bundled_sample(title, study):
    assert "Bundled sample" in title(study()).text


def test_the_page_of_given_data_does_not():
    rows = {"label": [0, 1] * 10, "score": [0.2, 0.7] * 10}
    assert "Bundled sample" not in classification_page.title(ek.classification(rows)).text
