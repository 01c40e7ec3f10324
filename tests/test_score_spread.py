"""Scores by class: histograms and the distance of the distribution functions, by scipy."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from evalkit.studies import classification, score_curves

RNG = np.random.default_rng(6)
LABEL = RNG.integers(0, 2, 400)
SCORES = {"a": (RNG.normal(0, 1, 400) + LABEL).round(1), "b": RNG.normal(3, 2, 400)}


@pytest.fixture(scope="module")
def study():
    return classification.read(y_true=LABEL, y_score=SCORES, metrics="roc_auc")


def test_distances_equal_scipy(study):
    rows = score_curves.distances(study.counts_by_system).set_index("system")
    for name, score in SCORES.items():
        expected = ks_2samp(score[LABEL == 1], score[LABEL == 0]).statistic
        assert rows.loc[name, "value"] == pytest.approx(expected, abs=1e-12)
        below = np.mean(score[LABEL == 1] < rows.loc[name, "x"])
        assert rows.loc[name, "positive"] == pytest.approx(below, abs=1e-12)


def test_histograms_have_common_bins_and_hold_every_row(study):
    frame = score_curves.histogram(study.counts_by_system, score_curves.edges(study, study.counts_by_system))
    for _, part in frame.groupby("system"):
        assert part[["positive", "negative"]].sum().tolist() == pytest.approx([1, 1])
    low = frame.pivot(columns="system", values="low")
    assert low["a"].dropna().tolist() == low["b"].dropna().tolist()
    inside = frame[frame["system"] == "a"].iloc[10]
    of_class = SCORES["a"][LABEL == 1]
    assert inside["positive"] == np.mean((of_class >= inside["low"]) & (of_class < inside["high"]))


def test_the_drawn_functions_are_those_of_the_rows(study):
    for name, score in SCORES.items():
        part = score_curves.distribution(name, study.table(name))
        share = [np.mean(score[LABEL == 0] <= x) for x in part["x"]]
        np.testing.assert_allclose(part["negative"], share, atol=1e-12)


def test_both_pictures_say_the_distance(study):
    value = score_curves.distances(study.counts_by_system)["value"][0]
    for picture in (study.plot.score, study.plot.ks):
        assert f"a {value:.3f} just below" in picture.alt


def test_the_confusion_matrix_of_two_classes_says_counts_and_shares(study):
    decided = study.decisions.set_index("system").loc["a"]
    picture = study.plot.confusion
    assert f"a: {decided['tp']:.0f} true positives, {decided['fn']:.0f} false negatives" in picture.alt
    assert f">{decided['tp'] / LABEL.sum():.0%}</t" in picture.svg


def test_a_system_without_a_threshold_has_no_matrix():
    scores = {"good": LABEL * 1.0, "bad": 1 - LABEL * 1.0}
    study = classification.read(y_true=LABEL, y_score=scores, metrics="roc_auc", threshold="precision>=0.9")
    alt = study.plot.confusion.alt
    assert "good: " in alt
    assert "bad: " not in alt
