"""Other splits of the same rows: estimators and splits that mislead, fits within a budget, coverage."""

import numpy as np
import pandas as pd
import pytest
from validation_tables import (
    DUMMY,
    FAST,
    estimators,
    labelled,
    noise,
    validated,
)

from evalkit.limits import Limits
from evalkit.offline import fitting, splits
from evalkit.pages import validation_page
from evalkit.studies import resplits, validation

# Estimators and splits that mislead

FEW = Limits(holdouts=5, repeats=2, samples=5, averaged=2)


def test_leaving_one_out_of_a_majority_model_is_always_wrong_and_the_page_says_why():
    study = validated(FEW, features=noise(40), estimator=DUMMY, k=5)
    assert study.other.summary.set_index("way").loc["leave one out", "mean"] == 0.0
    assert "its own class is the rarer one among the others" in validation_page.other_splits(study).html


def test_rows_at_random_flatter_where_groups_repeat():
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame(rng.normal(size=(40, 3))[person] + rng.normal(scale=0.01, size=(240, 3)), columns=list("abc"))
    frame = frame.assign(group=person, label=rng.permutation(np.arange(40) % 2)[person])
    study = validated(FEW, features=frame, estimator="sklearn.neighbors.KNeighborsClassifier", k=5)
    blind = study.primary.value(study.other.ignoring)
    assert blind > 0.95
    assert study.intervals.iloc[0]["high"] < 0.8
    assert "group ignored" in validation_page.other_splits(study).html


def test_dates_split_forward_beside_rows_at_random():
    n = 300
    rng = np.random.default_rng(7)
    frame = noise(n).assign(time=pd.date_range("2025-01-01", periods=n).strftime("%Y-%m-%d"))
    frame["label"] = (rng.normal(size=n) + np.sin(np.arange(n) / 25) * 3 > 0).astype(int)
    frame["x0"] = np.arange(n) / 25
    study = validation.read(features=frame, estimator="sklearn.tree.DecisionTreeClassifier", k=5, gap=3)
    for train, test in study.folds.pairs:
        assert study.examples.time[train].max() + 3 < study.examples.time[test].min()
    assert study.rows.size < n
    assert study.primary.value(study.other.ignoring) > study.intervals.iloc[0]["value"] + 0.1
    assert "rows at random, time ignored" in validation_page.other_splits(study).html


def test_the_budget_says_what_it_left_out():
    study = labelled(noise(60))
    assert study.other.points.empty
    assert "5-fold: 0 of 50 fits completed in the time allowed" in validation_page.findings(study).text
    study = validation.read(features=noise(300), most_rows=100, k=5, **FAST)
    assert "200 of 300 rows: the others were drawn at random" in validation_page.findings(study).text


def test_the_split_follows_the_columns():
    frame = noise(60).assign(group=np.arange(60) // 4, time=np.arange(60))
    rules = [labelled(frame[["x0", "label", *more]]).folds.rule for more in ([], ["group"], ["group", "time"])]
    assert [rule.split(":")[0] for rule in rules] == [
        "stratified 5-fold",
        "stratified 5-fold of groups",
        "5 blocks forward in time, gap 0",
    ]


def test_a_repeated_k_fold_is_the_mean_of_its_draws():
    study = validated(Limits(averaged=2, repeats=3), features=noise(60), k=5, metrics="roc_auc")
    e, way = study.examples, study.other.summary.set_index("way").loc["mean of 2 × 5-fold"]
    assert (way["fits"], way["estimates"]) == (30, 3)
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import RepeatedStratifiedKFold

    model = fitting.prepared(fitting.usual("classes"), e.features, 0)
    pairs = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=6, random_state=1).split(e.features, e.label))
    draws = []
    for i in range(0, 30, 5):
        score = np.zeros(60)
        for train, test in pairs[i : i + 5]:
            score[test] = model.fit(e.features.iloc[train], e.label[train]).predict_proba(e.features.iloc[test])[:, 1]
        draws.append(roc_auc_score(e.label, score))
    points = study.other.points
    assert points[points["way"] == "mean of 2 × 5-fold"]["value"].tolist() == pytest.approx(
        np.reshape(draws, (3, 2)).mean(axis=1).tolist()
    )


def test_ways_that_the_rows_do_not_allow_are_named_and_the_others_made():
    frame = noise(80).assign(label=[f"c{i % 27}" for i in range(80)])
    study = validation.read(features=frame, k=2, **FAST)
    assert "one holdout of 30%: share must leave a row for each of 27 classes" in validation_page.findings(study).text
    made = ["2-fold", "mean of 10 × 2-fold", "bootstrap, out of bag", "leave one out"]
    assert study.other.summary["way"].tolist() == made


def two_fits():
    frame = noise(80)
    learner = fitting.Learner(
        {"tree": fitting.prepared(fitting.usual("classes"), frame[["x0", "x1"]], 0)},
        frame[["x0", "x1"]],
        frame["label"].to_numpy(float),
        2,
    )
    return learner, resplits.jobs_of(splits.k_fold(frame["label"], seed=0, k=8), "tree", "fold")


def test_two_processes_give_what_one_gives():
    learner, jobs = two_fits()
    alone = fitting.run(learner, jobs, required=8, seconds=60)
    both = fitting.run(learner, jobs, required=8, seconds=60, worth=-1.0)
    assert [one.test.score.tolist() for one in both] == [one.test.score.tolist() for one in alone]


def test_the_clock_stops_what_is_not_required():
    learner, jobs = two_fits()
    ticks = iter(range(100))
    assert 2 <= len(fitting.run(learner, jobs, required=2, seconds=3, clock=lambda: next(ticks) * 0.5)) < 8
    assert len(fitting.run(learner, jobs, required=6, seconds=1e-9)) == 6


def test_fits_that_the_seconds_do_not_allow_call_for_no_second_process(monkeypatch):
    learner, jobs = two_fits()
    monkeypatch.setattr("joblib.Parallel", None)  # to call it is an error
    ticks = iter(range(100))
    assert len(fitting.run(learner, jobs, required=4, seconds=7, clock=lambda: next(ticks) * 6.0)) == 4


def test_holdouts_of_groups_keep_groups_whole():
    group = np.repeat(np.arange(20), 3)
    for train, test in splits.group_holdout(group, seed=0, repeats=5).pairs:
        assert not set(group[train]) & set(group[test])
        assert np.unique(group[test]).size == 6


def test_warnings_of_an_estimator_are_counted_not_printed():
    estimators()
    study = labelled(noise(60), estimator="tests_estimators.warns")
    assert study.other.warned == {"UserWarning: I warn": 5}


# Coverage
