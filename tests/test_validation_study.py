"""The validation study: the answer on real data, its verdict, other splits, budgets, input that
cannot be validated.
"""

import json
from functools import partial
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import whole_pages
from scipy import stats
from sklearn import metrics
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_predict
from validation_tables import (
    CANCER,
    CREDIT,
    DUMMY,
    FAST,
    estimators,
    five_fold_study,
    noise,
    severe,
    study_within,
)

from evalkit import __main__ as cli, numbers as printed
from evalkit.arrays import InputError
from evalkit.limits import Limits, ReadingLimits
from evalkit.offline import fitting, splits
from evalkit.pages import validation_page
from evalkit.parameters.reports import ValidationParameters
from evalkit.reading.inputs import folds
from evalkit.reading.tables import sources
from evalkit.statistics.significance import holm
from evalkit.studies import resplits, validation


@pytest.fixture(scope="module")
def bundled_study():
    """The study of the bundled predictions with their folds."""
    return validation.read()


# The answer on real data


def test_the_sample_is_not_trusted_as_important_checks_are_missing(bundled_study):
    """The bundled predictions have ids and folds, but no groups, times or features. Of the 18
    checks only 8 can be run, and the important ones of groups in training and test, and of training
    rows later than test rows (time travel), cannot: no problem is found, and yet the verdict is
    "cannot tell". The page must not call the predictions trusted or passed, nor cross out (<s>)
    anything.
    """
    assert (bundled_study.evaluated_system, bundled_study.baseline) == ("forest", "majority")
    assert bundled_study.word == "cannot tell"
    verdict = validation_page.verdict(bundled_study)
    assert "only 8 of 18 checks could be run" in verdict.text
    missing = "important ones are missing: group on both sides, time travel."
    assert missing in verdict.text
    assert verdict.text.count("group on both sides") == 1  # said once
    nothing_is_crossed_out = "<s>" not in verdict.html
    assert nothing_is_crossed_out
    assert "can be trusted" not in verdict.html
    assert 'class="verdict pass"' not in verdict.html


def test_rows_pooled_out_of_fold_have_wilsons_interval(bundled_study):
    """771 of 1,000 rows are right."""
    row = bundled_study.intervals.set_index("what").loc["pooled out of fold"]
    assert (row["value"], row["n"], row["method"]) == (0.771, 1000, "Wilson")
    assert "[0.746, 0.796]" in validation_page.intervals(bundled_study).text


def test_intervals_that_assume_too_much_are_crossed_out(bundled_study):
    assert "<s>0.771 " in validation_page.intervals(bundled_study).html


def test_the_value_of_a_fold_is_the_accuracy_of_its_rows(bundled_study):
    rows = pd.read_csv(CREDIT).query("model == 'forest'")
    is_right = (rows["y_score"] >= 0.5) == rows["y_true"]
    by_fold = is_right.groupby(rows["fold"]).mean()
    assert bundled_study.fold_values("forest") == pytest.approx(by_fold.to_numpy())


@pytest.fixture(scope="module")
def cancer():
    return validation.read(features=CANCER, target="diagnosis", k=5, **FAST)


def test_pooled_rows_equal_cross_val_predict(cancer):
    rows = cancer.examples
    model = fitting.prepared(fitting.usual("classes"), rows.features, 0)
    p = cross_val_predict(model, rows.features, rows.label, cv=cancer.folds, method="predict_proba")
    assert cancer.pooled[cancer.evaluated_system].score == pytest.approx(p[:, 1])


@pytest.mark.parametrize(
    ("metric", "peer"),
    [
        ("roc_auc", metrics.roc_auc_score),
        ("log_loss", metrics.log_loss),
        ("brier", metrics.brier_score_loss),
    ],
)
def test_metrics_of_pooled_rows_equal_scikit_learn(cancer, metric, peer):
    value = cancer.estimates.set_index(["metric", "system"])["value"]
    pooled = cancer.pooled[cancer.evaluated_system]
    expected = peer(cancer.examples.label, pooled.score)
    assert value[metric, cancer.evaluated_system] == pytest.approx(expected)


def test_several_classes_have_metrics_of_classes():
    study = five_fold_study(noise(120).assign(label=np.array(["a", "b", "c"])[np.arange(120) % 3]))
    assert list(study.estimates["metric"].unique()) == ["accuracy", "log_loss", "brier"]


def test_a_numeric_target_has_metrics_of_errors_for_ridge_and_the_median():
    """The target is 120 random numbers, which the features do not predict. As it is numeric, the
    usual model is ridge regression and the baseline the median; their RMSE and MAE are those of the
    out-of-fold forecasts of all five folds together.
    """
    target = np.random.default_rng(1).normal(size=120)
    features = noise(120).drop(columns="label")
    study = five_fold_study(features.assign(label=target))
    value = study.estimates.set_index(["metric", "system"])["value"]
    ridge, median = study.pooled["Ridge"], study.pooled["median"]  # out-of-fold forecasts
    squared_errors = (ridge.actual - ridge.score) ** 2
    assert value["rmse", "Ridge"] == pytest.approx(np.sqrt(squared_errors.mean()))
    assert value["mae", "median"] == pytest.approx(np.abs(target - median.score).mean())


# The verdict claims no more than what was checked


def study_with_groups_and_times(*without):
    """The study of 900 rows, of which each three are a group of one time, without some columns."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 2))
    label = (x.sum(axis=1) + rng.normal(size=900) > 0).astype(int)
    three = np.arange(900) // 3
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(label=label, group=three, time=three)
    return five_fold_study(frame.drop(columns=[*without]))


def test_a_study_passes_if_groups_time_and_copies_are_checked():
    study = study_with_groups_and_times()
    assert study.word == "pass"
    assert "the 15 checks that could be run, of 17" in validation_page.verdict(study).text


@pytest.mark.parametrize("column", ["group", "time"])
def test_a_study_without_groups_or_time_does_not_pass(column):
    study = study_with_groups_and_times(column)
    text = validation_page.verdict(study).text
    assert study.word == "cannot tell"
    assert "only 14 of 17 checks could be run" in text
    assert "important ones are missing" in text


def test_coarse_columns_hide_copies_so_the_study_does_not_pass():
    """Two features with four values each have 16 combinations: among 900 rows nearly every row has
    an equal one by coincidence, and a copied row cannot be told from it. So the check of duplicate
    rows counts as missing. Groups and times are given, so that it is the only one.
    """
    rng = np.random.default_rng(6)
    coarse = pd.DataFrame(rng.integers(0, 4, (900, 2)), columns=["a", "b"])
    label = (coarse["a"] + coarse["b"] + rng.normal(size=900) > 3).astype(int)
    group_of_three = np.arange(900) // 3
    study = five_fold_study(coarse.assign(label=label, group=group_of_three, time=group_of_three))
    assert study.word == "cannot tell"
    text = validation_page.verdict(study).text
    assert "important ones are missing: duplicate rows" in text
    because = validation_page.results(study).results["verdict"]["because"]
    assert because.endswith("important checks are missing: duplicate rows")


@pytest.mark.parametrize("rule, passed", [("no severe finding", True), ("trusted", False)])
def test_the_gate_trusted_asks_for_what_could_not_be_checked(rule, passed):
    assert validation.read(gate=rule).gate.passed is passed


def study_of_equally_noisy_systems(rows):
    """The study of systems a and b, whose scores are the label and as much noise, in five folds of
    so many rows in all; each is compared with the other and with the majority.
    """
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, rows)
    shared = pd.DataFrame({"id": range(rows), "label": label, "fold": np.arange(rows) % 5})
    a, b = (shared.assign(model=name, score=label + rng.normal(0, 1, rows)) for name in "ab")
    return validation.read(pd.concat([a, b]), metrics="roc_auc")


def test_below_1_000_rows_the_p_of_the_folds_is_adjusted():
    """Systems a and b are compared with each other and with the majority class on 200 rows in five
    folds. Below 1,000 rows the tests over the values of the folds decide: there is no p-value of
    the pooled rows, Holm's correction is that of the folds' p-values, and these are among the
    comparisons of the page. Nor is the interval that decides, `answer`, one of the pooled rows.
    """
    study = study_of_equally_noisy_systems(rows=200)
    p = study.paired["p"]  # over the folds
    assert study.paired["p_pooled"].isna().all()
    assert study.paired["adjusted"].tolist() == pytest.approx(holm(p).clip(0, 1))
    assert set(p) <= set(study.comparisons["p"])
    assert not study.answer["what"].startswith("pooled")


def test_from_1_000_rows_on_the_p_of_the_pooled_rows_is_adjusted():
    """Systems a and b are compared with each other and with the majority class on 1,000 rows in
    five folds. From 1,000 rows on the tests over the pooled rows decide, and Holm's correction is
    that of their p-values.
    """
    study = study_of_equally_noisy_systems(rows=1000)
    p = study.paired["p_pooled"]
    assert study.paired["adjusted"].tolist() == pytest.approx(holm(p).clip(0, 1))
    assert set(p) <= set(study.comparisons["p"])
    assert study.answer["what"].startswith("pooled")


@pytest.mark.parametrize(("rows", "is_pooled"), [(200, False), (1000, True)])
def test_the_table_that_decides_has_the_adjusted_p(rows, is_pooled):
    _, of_pooled_rows, of_folds = validation_page.paired(
        study_of_equally_noisy_systems(rows)
    ).html.split("<table")
    assert ("adjusted p" in of_pooled_rows) == is_pooled
    assert ("adjusted p" in of_folds) == (not is_pooled)


# What is published, and drawn


@pytest.mark.parametrize("draw", ["fold_map", "folds", "interval_plot"])
def test_pictures_say_how_many_rows_they_draw(bundled_study, draw):
    assert f"{bundled_study.rows.size:,} rows" in getattr(validation_page, draw)(bundled_study).svg


def test_predictions_with_their_folds_have_no_strip(bundled_study):
    assert validation_page.strip(bundled_study).html == ""


def test_the_map_has_training_rows_before_those_that_are_tested_in_time():
    study = five_fold_study(noise(200).assign(time=np.arange(200)))
    stretches = study.stretches(120)
    assert set(stretches["kind"]) == {"test", "training"}
    start = stretches.query("fold == '1'").set_index("kind")["start"]
    assert start["training"] < start["test"]


# Estimators and splits that mislead

FEW_FITS_OF_EACH_SPLIT = Limits(holdouts=5, repeats=2, samples=5, averaged=2)


def test_leaving_one_out_of_a_majority_model_is_always_wrong_and_the_page_says_why():
    study = study_within(FEW_FITS_OF_EACH_SPLIT, features=noise(40), estimator=DUMMY, k=5)
    assert study.other_splits.summary.set_index("way").loc["leave one out", "mean"] == 0.0
    why = "its own class is the rarer one among the others"
    assert why in validation_page.other_splits(study).html


def test_rows_at_random_flatter_where_groups_repeat():
    """Forty persons have six nearly equal rows each; half of the persons have the label 1, at
    random. With whole persons in a fold, as the study splits them, nothing can be predicted: the
    accuracy is about 0.5. If persons are ignored, the nearest neighbours of a row are the other
    five of its person, and the accuracy is near 1.
    """
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(40), 6)
    x = rng.normal(size=(40, 3))[person] + rng.normal(scale=0.01, size=(240, 3))
    label = rng.permutation(np.arange(40) % 2)[person]
    frame = pd.DataFrame(x, columns=list("abc")).assign(group=person, label=label)
    study = study_within(
        FEW_FITS_OF_EACH_SPLIT,
        features=frame,
        estimator="sklearn.neighbors.KNeighborsClassifier",
        k=5,
    )
    accuracy_with_persons_ignored = study.primary_metric.value(study.other_splits.ignoring)
    assert accuracy_with_persons_ignored > 0.95
    interval_with_whole_persons = study.intervals.iloc[0]
    assert interval_with_whole_persons["high"] < 0.8
    assert "group ignored" in validation_page.other_splits(study).html


@pytest.fixture(scope="module")
def drifting():
    """The study of 300 days whose label follows a slow wave and whose first feature is the day."""
    day = np.arange(300)
    rng = np.random.default_rng(7)
    label = (rng.normal(size=300) + np.sin(day / 25) * 3 > 0).astype(int)
    time = pd.date_range("2025-01-01", periods=300).strftime("%Y-%m-%d")
    frame = noise(300).assign(time=time, label=label, x0=day / 25)
    tree = "sklearn.tree.DecisionTreeClassifier"
    return validation.read(features=frame, estimator=tree, k=5, gap=3)


def test_dates_are_split_forward_with_the_gap(drifting):
    time = drifting.examples.time
    for train, test in drifting.folds.pairs:
        assert time[train].max() + 3 < time[test].min()
    assert drifting.rows.size < 300  # the first block is not tested


def test_rows_at_random_flatter_where_time_drifts(drifting):
    forward = drifting.intervals.iloc[0]["value"]
    assert drifting.primary_metric.value(drifting.other_splits.ignoring) > forward + 0.1
    assert "rows at random, time ignored" in validation_page.other_splits(drifting).html


def test_a_finding_says_which_fits_the_time_did_not_allow():
    study = five_fold_study(noise(60))
    assert study.other_splits.points.empty
    says = "5-fold: 0 of 50 fits completed in the time allowed"
    assert says in validation_page.findings(study).text


def test_a_finding_says_that_rows_were_drawn():
    study = validation.read(features=noise(300), most_rows=100, k=5, **FAST)
    says = "200 of 300 rows: the others were drawn at random"
    assert says in validation_page.findings(study).text


@pytest.mark.parametrize(
    ("columns", "rule"),
    [
        ([], "stratified 5-fold"),
        (["group"], "stratified 5-fold of groups"),
        (["group", "time"], "5 blocks forward in time, gap 0"),
    ],
)
def test_the_split_follows_the_columns(columns, rule):
    frame = noise(60).assign(group=np.arange(60) // 4, time=np.arange(60))
    study = five_fold_study(frame[["x0", "label", *columns]])
    assert study.folds.rule.split(":")[0] == rule


def test_values_of_holdouts_and_of_folds_are_told_apart_though_there_are_12_of_each():
    """The limits ask for 12 holdouts of 30 % of the rows and for 6 folds drawn twice: 12 values of
    the AUC for each of two kinds of splits. They must not be mixed up because their numbers are
    equal.
    """
    limits = Limits(holdouts=12, repeats=2, averaged=1, samples=2)
    study = study_within(limits, features=noise(60), k=6, metrics="roc_auc")
    other_splits = study.other_splits
    assert len(other_splits.holdouts) == 12
    assert len(other_splits.folds) == 2 * 6
    values_by_way = other_splits.points.groupby("way")["value"].apply(set)
    assert set(other_splits.holdouts) == values_by_way["one holdout of 30%"]
    assert set(other_splits.folds) != set(other_splits.holdouts)


def test_a_repeated_k_fold_is_the_mean_of_its_draws():
    """The limits ask for three estimates (`repeats`), each the mean AUC of two draws (`averaged`)
    of 5 folds: 3 · 2 · 5 = 30 fits. The six draws are those of scikit-learn's
    RepeatedStratifiedKFold; the AUC of a draw is that of all its out-of-fold probabilities
    together.
    """
    study = study_within(Limits(averaged=2, repeats=3), features=noise(60), k=5, metrics="roc_auc")
    way = "mean of 2 × 5-fold"
    row = study.other_splits.summary.set_index("way").loc[way]
    assert (row["fits"], row["estimates"]) == (30, 3)
    x = study.examples.features
    label = study.examples.label
    model = fitting.prepared(fitting.usual("classes"), x, 0)  # the usual model of classes, seed 0
    # the usual folds are drawn with the study's seed, 0, those of a repeated k-fold with the next
    six_draws = RepeatedStratifiedKFold(n_splits=5, n_repeats=6, random_state=1)
    score = np.zeros((6, 60))
    for number, (train, test) in enumerate(six_draws.split(x, label)):
        fitted = model.fit(x.iloc[train], label[train])
        draw = number // 5
        score[draw, test] = fitted.predict_proba(x.iloc[test])[:, 1]
    auc = [metrics.roc_auc_score(label, score_of_draw) for score_of_draw in score]
    values = study.other_splits.points.query("way == @way")["value"]
    assert values.tolist() == pytest.approx(np.reshape(auc, (3, 2)).mean(axis=1).tolist())


def test_ways_that_the_rows_do_not_allow_are_named_and_the_others_made():
    """The labels have 27 classes. A holdout of 30 % of the 80 rows has 24, which cannot hold a row
    of each class: a finding says so, and the four other kinds of splits are made.
    """
    frame = noise(80).assign(label=[f"c{i % 27}" for i in range(80)])
    study = validation.read(features=frame, k=2, **FAST)
    message = "one holdout of 30%: share must leave a row for each of 27 classes"
    assert message in validation_page.findings(study).text
    others = ["2-fold", "mean of 10 × 2-fold", "bootstrap, out of bag", "leave one out"]
    assert study.other_splits.summary["way"].tolist() == others


@pytest.fixture
def run():
    """A function that fits a model to eight folds, within limits, and returns the fits."""
    frame = noise(80)
    features = frame[["x0", "x1"]]
    models = {"tree": fitting.prepared(fitting.usual("classes"), features, 0)}
    learner = fitting.Learner(models, features, frame["label"].to_numpy(float), 2)
    folds = splits.k_fold(len(frame), seed=0, k=8, label=frame["label"])
    return partial(fitting.run, learner, resplits.jobs_of(folds, "tree", "fold"))


def clock(step):
    """A clock that is so many seconds later each time that it is read."""
    return (tick * step for tick in count()).__next__


def test_two_processes_give_what_one_gives(run):
    alone = run(required=8, seconds=60)
    both = run(required=8, seconds=60, second_process=-1.0)
    assert [fit.test.score.tolist() for fit in both] == [fit.test.score.tolist() for fit in alone]


def test_the_clock_stops_fits_that_are_not_required(run):
    assert 2 <= len(run(required=2, seconds=3, clock=clock(0.5))) < 8


def test_required_fits_are_made_whatever_the_clock_says(run):
    assert len(run(required=6, seconds=1e-9)) == 6


def test_fits_that_the_seconds_do_not_allow_call_for_no_second_process(run, monkeypatch):
    monkeypatch.setattr("joblib.Parallel", None)  # to call it is an error
    assert len(run(required=4, seconds=7, clock=clock(6.0))) == 4


def test_holdouts_of_groups_keep_groups_whole():
    """30 % of 20 groups are six."""
    group = np.repeat(np.arange(20), 3)
    for train, test in splits.group_holdout(group, seed=0, repeats=5).pairs:
        assert not set(group[train]) & set(group[test])
        assert np.unique(group[test]).size == 6


def test_warnings_of_an_estimator_are_counted_not_printed():
    estimators()
    study = five_fold_study(noise(60), estimator="tests_estimators.warns")
    assert study.other_splits.warned == {"UserWarning: I warn": 5}


# Bad input


@pytest.mark.parametrize(
    "change",
    [
        {"same": 1.0},
        {"same": "x", "x0": 2, "x1": 3, "x2": 4},
        {"none": np.nan},
        {"none": None},
        {"größe μ 漢字": range(120), "<b>": ["a", None] * 60},
        {"id_like": [f"v{i}" for i in range(120)]},
        {"label": ["né", "naïve"] * 60},
        {"label": [f"c{i % 24}" for i in range(120)]},
        {"label": [True, False] * 60},
        {"date": pd.date_range("2026-01-01", periods=120)},
    ],
)
def test_odd_columns_are_no_error_and_every_row_is_tested(change):
    study = five_fold_study(noise(120).assign(**change))
    assert study.rows.size == 120
    assert not severe(study)
    assert validation_page.findings(study).text
    json.dumps(validation_page.results(study)._repr_mimebundle_(), allow_nan=False)


def test_columns_that_say_nothing_are_named():
    study = five_fold_study(noise(60).assign(same="x", none=np.nan))
    assert "Constant or without any value: same, none." in validation_page.findings(study).text


def test_parts_whose_columns_have_other_roles_are_refused():
    frame = noise(60)
    with pytest.raises(InputError, match="must have the same columns"):
        five_fold_study([frame.assign(id=range(60)), frame])


SCORED = pd.DataFrame(
    {"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3}
)


def test_a_system_may_be_called_as_the_baseline():
    a = SCORED.assign(id=range(60), system="a")
    study = validation.read(pd.concat([a.assign(system="majority", score=1 - a["score"]), a]))
    assert study.systems == ("a", "majority", "majority (baseline)")
    assert study.pooled["majority"].score.max() == 1.0


def read_where_59_rows_are_held(preds):
    """Read them where 59 rows are held."""
    limits = Limits(reading=ReadingLimits(rows=10, held=59))
    return validation.study_of(ValidationParameters.from_raw({"preds": preds}), limits)


TOO_MANY = "60 rows are more than the 59 that .* holds; .* classification"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_more_rows_than_are_held_is_refused_by_its_name(kind, tmp_path):
    path = tmp_path / f"made.{kind}"
    getattr(SCORED, f"to_{kind}")(path, index=False)
    with pytest.raises(InputError, match=f"made.{kind}: {TOO_MANY}"):
        read_where_59_rows_are_held(str(path))


def test_a_frame_of_more_rows_than_are_held_is_refused():
    with pytest.raises(InputError, match=TOO_MANY):
        read_where_59_rows_are_held(SCORED)


def test_batches_of_more_rows_than_are_held_are_refused():
    with pytest.raises(InputError, match=TOO_MANY):
        read_where_59_rows_are_held(iter(pa.Table.from_pandas(SCORED).to_batches(7)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_up_to_the_limit_are_held_whatever_the_memory(kind, tmp_path):
    path = tmp_path / f"made.{kind}"
    getattr(SCORED, f"to_{kind}")(path, index=False)
    p = ValidationParameters.from_raw({"preds": str(path), "memory": "250MB"})
    study = validation.study_of(p, Limits(reading=ReadingLimits(rows=10, held=60)))
    pd.testing.assert_frame_equal(study.by_fold, validation.read(SCORED).by_fold)


def test_draws_of_the_folds_that_no_role_names_are_refused():
    frame = SCORED.assign(id=range(60), iteration=0)
    again = frame.assign(fold=np.arange(60) % 4, iteration=1)
    message = "iteration may number repeated draws of the folds; set columns='repeat="
    with pytest.raises(InputError, match=message):
        validation.read(pd.concat([frame, again]))


def out_of_fold(repeats=1, **columns):
    """Out-of-fold scores of 40 rows in 4 folds, which were drawn so many times."""
    score = np.random.default_rng(1).random(40)
    one = pd.DataFrame({"id": range(40), "label": [0, 1] * 20, "score": score} | columns)
    folds = [np.random.default_rng(i).permutation(40) % 4 for i in range(repeats)]
    drawn = [one.assign(fold=fold, repeat=i) for i, fold in enumerate(folds)]
    return pd.concat(drawn, ignore_index=True)


@pytest.mark.parametrize("repeats", [2, 3])
def test_rows_of_repeated_folds_are_as_many_units_as_ids(repeats):
    study = validation.read(out_of_fold(repeats), metrics="accuracy,brier")
    assert set(study.estimates["n"]) == {40}
    assert study.unit_name == "id"


def test_an_id_keeps_its_group_in_all_repeats():
    table = out_of_fold(2).assign(group=lambda t: t["id"] // 2)
    table.loc[79, "group"] = 0
    says = "row 80: group must have one value for id '39', got '19' and '0'"
    with pytest.raises(InputError, match=says):
        validation.read(table)


def test_an_id_may_be_tested_in_several_folds():
    table = out_of_fold().drop(columns="repeat")
    twice = pd.concat([table.assign(fold=(table["id"] + i) % 4) for i in (0, 1)])
    assert validation.read(twice, metrics="accuracy").rows.size == 80


def test_rows_of_a_development_set_are_left_out():
    """Of 40 rows a quarter are of such a set."""
    table = out_of_fold()
    table["fold"] = np.array(["train", "dev", "test", "test"])[table["fold"]]
    kept = folds.predictions(sources.parts(table), ValidationParameters.from_raw({}))
    assert kept.fold.names == ("test", "train")
    assert len(kept) == 30


def examples_of(table):
    return folds.table(sources.parts(table), ValidationParameters.from_raw({}))


def test_times_of_dates_are_days():
    days = ["1970-01-01", "1970-01-01T12:00", "1970-01-02", "1970-01-11"]
    table = pd.DataFrame({"x": range(4), "label": [0, 1] * 2, "time": days})
    assert examples_of(table).time.tolist() == [0, 0.5, 1, 10]


def test_rows_without_ids_are_named_by_their_numbers_from_one():
    first_and_last = np.array([0, 8])
    assert examples_of(noise(9)).named(first_and_last).tolist() == [1, 9]


def test_a_target_of_few_fractions_is_a_number():
    table = pd.DataFrame({"x": range(40), "label": np.arange(40) % 4 + 0.5})
    assert examples_of(table).kind == "number"


def test_a_fold_with_one_class_has_no_auc_and_is_named():
    """The rows are in four folds of 30, in their order. The first fold has no positive, so that the
    AUC there, of the only system, "score", is undefined, shown as a dash. A finding names the base
    rate, which differs between folds.
    """
    rng = np.random.default_rng(8)
    label = np.r_[np.zeros(30), rng.integers(2, size=90)].astype(int)
    score = rng.uniform(size=120)
    rows = np.arange(120)
    frame = pd.DataFrame({"label": label, "score": score, "fold": rows // 30, "id": rows})
    study = validation.read(frame, metrics="roc_auc")
    assert np.isnan(study.fold_values("score")).tolist() == [True, False, False, False]
    assert "base rate" in [finding.name for finding in study.audit_findings]
    assert "–" in validation_page.by_fold(study).text


def test_bad_input_ends_with_status_2(tmp_path, capsys):
    assert cli.main(["report", "validation", "-p", "target", "x", "-o", str(tmp_path)]) == 2
    assert "target: needs features" in capsys.readouterr().err


@pytest.mark.usefixtures("undrawn")
def test_a_failed_gate_ends_with_status_3(tmp_path):
    """Ten consecutive rows are made a group; the folds of the bundled predictions were drawn by
    row, so that groups are in several folds: a severe finding, which the gate does not allow.
    """
    frame = pd.read_csv(CREDIT).query("model == 'forest'").assign(group=np.arange(1000) // 10)
    frame.to_csv(tmp_path / "leaky.csv", index=False)
    parameters = ["-p", "preds", str(tmp_path / "leaky.csv"), "-p", "gate", "no severe finding"]
    status_if_not_passed = 3
    status = cli.main(["report", "validation", *parameters, "-o", str(tmp_path / "out")])
    assert status == status_if_not_passed
    results = json.loads((tmp_path / "out" / "validation.json").read_text())
    assert results["verdict"]["word"] == "fail"


@pytest.mark.parametrize("values, kind", [(20, "classes"), (21, "number")])
def test_a_target_of_20_whole_numbers_is_classes_and_of_21_a_number(values, kind):
    table = pd.DataFrame({"x": range(84), "label": np.arange(84) % values})
    assert examples_of(table).kind == kind


def test_classes_are_named_by_all_digits_of_their_codes():
    table = pd.DataFrame({"x": range(40), "label": 22298006 + np.arange(40) % 2})
    assert examples_of(table).classes == ("22298006", "22298007")


# Below 1,000 rows the mean of the folds decides ---------------------------------------------------


def study_of_good_and_weak(metric, rows=200, **parameters):
    """The study of the systems good and weak in five folds of so many rows in all."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, rows)
    shared = pd.DataFrame({"id": range(rows), "label": label, "fold": np.arange(rows) % 5})
    systems = []
    for name, skill in (("good", 0.4), ("weak", 0.1)):
        score = np.clip(skill * label + rng.random(rows) * 0.7, 0, 1)
        systems.append(shared.assign(system=name, score=score))
    return validation.read(pd.concat(systems), metrics=metric, **parameters)


def nadeau_bengio(values, ratio):
    """The limits of a mean over folds: the variance of the values times 1/n + ratio, the ratio of
    test rows to training rows.
    """
    n = len(values)
    error = np.std(values, ddof=1) * np.sqrt(1 / n + ratio)
    distance = stats.t.ppf(0.975, n - 1) * error
    return np.mean(values) - distance, np.mean(values) + distance


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "brier", "recall"])
@pytest.mark.parametrize("system", ["good", "weak"])
def test_the_interval_that_decides_is_the_corrected_one_of_each_system(metric, system):
    study = study_of_good_and_weak(metric)
    e = study.deciding_estimate(study.primary_metric, system)
    values = study.fold_values(system)
    low, high = np.clip(nadeau_bengio(values, ratio=1 / 4), *study.primary_metric.metric.ends)
    assert (e.value, e.low, e.high) == pytest.approx((values.mean(), low, high))


def test_the_first_screen_has_the_interval_that_decides():
    study = study_of_good_and_weak("accuracy")
    text = validation_page.verdict(study).text
    for name in study.systems:
        e = study.deciding_estimate(study.primary_metric, name)
        assert printed.interval(e.low, e.high) in text


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_the_first_screen_says_which_interval_it_has(metric):
    text = validation_page.verdict(study_of_good_and_weak(metric)).text
    assert "good, weak: mean of folds, Nadeau–Bengio" in text.replace(", majority", "")


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_a_gate_decides_by_the_corrected_interval(metric):
    study = study_of_good_and_weak(metric, gate=f"{metric}.low >= 0.5")
    row = study.gate.statements.set_index("system").loc["good"]
    e = study.deciding_estimate(study.primary_metric, "good")
    assert (row["rule_low"], row["rule_high"]) == (e.low, e.high)


def test_the_pooled_interval_does_not_decide_below_1_000_rows():
    """The study has 200 rows in five folds. Below 1,000 rows only one interval may decide
    (`honest`): that of the mean over folds with Nadeau and Bengio's correction for shared training
    rows. That of the pooled rows may not, nor a t interval that takes the folds for independent.
    """
    study = study_of_good_and_weak("accuracy", rows=200)
    is_honest = study.intervals.set_index("what")["honest"]
    assert is_honest.to_dict() == {
        "pooled out of fold": False,
        "mean of folds, Nadeau–Bengio": True,
        "mean of folds, t as if folds were a sample": False,
    }


def test_from_1_000_rows_on_the_pooled_interval_decides():
    """On 1,000 rows in five folds the estimate that decides is that of all out-of-fold rows
    together.
    """
    study = study_of_good_and_weak("accuracy", rows=1000)
    assert study.deciding_estimate(study.primary_metric, "good") == study.estimate(
        study.primary_metric, "good"
    )


def rows_in_two_folds_all_right():
    """Two folds of 20 rows whose scores of 0.2 and 0.7 are all right."""
    rows = {"label": [0, 1] * 20, "score": [0.2, 0.7] * 20, "fold": list("aabb") * 10}
    return pd.DataFrame(rows)


def test_folds_that_all_have_one_value_have_no_interval():
    study = validation.read(rows_in_two_folds_all_right(), metrics="roc_auc")
    e = study.deciding_estimate(study.primary_metric, study.evaluated_system)
    assert e.value == 1
    assert np.isnan([e.low, e.high]).all()


def test_a_rule_on_saved_results_does_not_pass_by_the_pooled_interval_of_few_rows(tmp_path):
    """All 40 rows in two folds are classified correctly. A study is saved in two files: its results
    as JSON, and its units, i.e. the tested rows with their values, from which the command `check`
    recomputes an estimate to apply a rule to it. Wilson's interval of the pooled rows begins at
    0.91 and would pass the rule. But below 1,000 rows the folds decide, as the JSON says, and two
    folds of accuracy 1 have no interval: the rule cannot tell, and `check` ends with status 3 for
    "not passed".
    """
    study = validation.read(rows_in_two_folds_all_right(), metrics="accuracy")
    results = whole_pages.results(study)
    assert results["split"]["decided_by_fold"]
    path = tmp_path / "validation.json"
    path.write_text(json.dumps(results))
    study.write_units(path.with_suffix(".units.parquet"))
    status_if_not_passed = 3
    assert cli.main(["check", str(path), "accuracy.low >= 0.5"]) == status_if_not_passed


# What is said of a table of numbers ---------------------------------------------------------------


@pytest.fixture(scope="module")
def of_numbers():
    """The findings of a study of 210 rows of numbers, without time for other splits."""
    table = noise(210).drop(columns="label")
    table["target"] = table["x0"] + np.linspace(0, 1, 210)
    limits = Limits(holdouts=2, repeats=2, samples=2)
    study = study_within(limits, features=table, target="target", k=5, seconds=1e-9)
    return {one.kind.code: one for one in validation_page.every_finding(study)}


def test_splits_without_time_are_one_note(of_numbers):
    assert of_numbers["EK602"].severity == "note"
    assert "completed in the time allowed" in of_numbers["EK602"].message


def test_a_split_that_rows_do_not_allow_is_no_matter_of_time(of_numbers):
    assert "only made for up to 200 rows" in of_numbers["EK604"].message
    assert "200 rows" not in of_numbers["EK602"].message
    assert "seconds" not in of_numbers["EK604"].kind.advice


def test_few_rows_of_numbers_are_not_said_in_areas(of_numbers):
    assert "AUC" not in of_numbers["EK520"].message
    assert "210 rows pooled from 5 folds" in of_numbers["EK520"].message


def test_a_table_to_fit_has_no_predictions_of_systems(of_numbers):
    (read,) = [one.message for code, one in of_numbers.items() if "rows read" in one.message]
    assert "210 rows read, 210 used" in read
