"""Classes against the rest and labels, one by one: which are drawn, and that their numbers are those of the rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from evalkit.metrics.curves import net_benefit
from evalkit.pages import classes_page, classification_page
from evalkit.studies import classes, classification

RNG = np.random.default_rng(9)
CLASSES, ROWS = 9, 400
ACTUAL = RNG.integers(0, CLASSES, ROWS)
LOGIT = RNG.normal(size=(ROWS, CLASSES)) + 2.0 * (np.arange(CLASSES) == ACTUAL[:, None])
LOGIT[:, 4] += 1.5  # its probabilities are too high
CHANCE = np.exp(LOGIT) / np.exp(LOGIT).sum(axis=1, keepdims=True)
NAMES = [f"kind {i}" for i in range(CLASSES)]
PICTURES = ("score_plot", "ks_plot", "class_calibration_plot", "decision_curve")


@pytest.fixture(scope="module")
def study():
    columns = {f"p_{name}": CHANCE[:, i] for i, name in enumerate(NAMES)}
    return classification.read(pd.DataFrame({"label": np.array(NAMES)[ACTUAL]} | columns), metrics="accuracy")


@pytest.fixture(scope="module")
def labels():
    even, low = CHANCE[:, ::2].sum(axis=1), CHANCE[:, :3].sum(axis=1)
    frame = pd.DataFrame({"y_even": ACTUAL % 2 == 0, "y_low": ACTUAL < 3}).astype(int).assign(p_even=even, p_low=low)
    return classification.read(frame, metrics="micro_f1")


def test_the_worst_calibrated_are_drawn_and_the_others_named(study):
    drawn = list(study.one_by_one)
    assert len(drawn) == classes.MOST
    assert drawn == sorted(drawn)
    assert "kind 4" in drawn
    picture, left = classification_page.score_plot(study), ", ".join(name for name in NAMES if name not in drawn)
    assert f"the 6 of 9 classes with the largest miscalibration (not drawn: {left})" in picture.caption
    assert picture.summary
    assert len(picture.svg) < 30_000


def test_their_numbers_are_those_of_the_rows(study):
    recorded = classes_page.recorded(study)["one_by_one"]
    benefit = pd.DataFrame(recorded["net_benefit"])
    for row in recorded["scores"]["distances"]:
        i = NAMES.index(row["system"])
        own = i == ACTUAL
        assert row["value"] == pytest.approx(ks_2samp(CHANCE[own, i], CHANCE[~own, i]).statistic, abs=1e-12)
        points = benefit[benefit["system"] == row["system"]]
        expected = net_benefit(study.one_by_one[row["system"]], points["x"].to_numpy())
        np.testing.assert_allclose(points["y"], expected, atol=1e-12)
        at = points[np.isclose(points["x"], 0.5)].iloc[0]
        chosen = CHANCE[:, i] >= 0.5
        assert at["y"] == pytest.approx((np.sum(chosen & own) - np.sum(chosen & ~own)) / ROWS, abs=1e-12)


def test_confused_pairs_are_the_largest_mistakes(study):
    predicted = CHANCE.argmax(axis=1)
    table = pd.crosstab(ACTUAL, predicted).to_numpy(copy=True)
    first = study.confused.iloc[0]
    i, j = NAMES.index(first["actual"]), NAMES.index(first["predicted"])
    np.fill_diagonal(table, 0)
    assert first["n"] == table.max() == table[i, j]
    assert first["share"] == pytest.approx(table[i, j] / np.sum(i == ACTUAL))
    assert first["of_errors"] == pytest.approx(table[i, j] / table.sum())
    assert "Most confused pairs of classes" in classes_page.confusion(study).text


def test_labels_have_the_same_pictures(labels):
    assert list(labels.one_by_one) == ["even", "low"]
    for name in PICTURES:
        picture = getattr(classification_page, name)(labels)
        assert "each label" in picture.caption
    assert labels.plot.score.summary == ""


def test_classes_alone_have_no_such_pictures():
    study = classification.read(pd.DataFrame({"label": ["a", "b", "c"] * 4, "predicted": ["a", "b", "a"] * 4}))
    assert classes_page.recorded(study) == {}
    assert all(getattr(classification_page, name)(study).html == "" for name in PICTURES)
    assert study.confused[["actual", "predicted", "n"]].to_numpy().tolist() == [["c", "a", 4]]
