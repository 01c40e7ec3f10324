"""The validation study: the answer on real data, its verdict, other splits, budgets, input that
cannot be validated.
"""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from validation_tables import (
    CANCER,
    CREDIT,
    DUMMY,
    FAST,
    estimators,
    labelled,
    noise,
    severe,
    validated,
)

from evalkit import __main__ as cli, numbers as printed
from evalkit.arrays import InputError
from evalkit.limits import Limits, Reading
from evalkit.offline import fitting, splits
from evalkit.pages import validation_page
from evalkit.parameters.reports import ValidationParameters
from evalkit.reading.inputs import folds
from evalkit.reading.tables import sources
from evalkit.statistics.significance import holm
from evalkit.studies import resplits, validation


@pytest.fixture(scope="module")
def given():
    return validation.read()


# The answer on real data


def test_predictions_with_a_fold_column(given):
    assert (given.subject, given.baseline, given.word) == ("forest", "majority", "cannot tell")
    row = given.intervals.set_index("what").loc["pooled out of fold"]
    assert (row["value"], row["n"], row["method"]) == (0.771, 1000, "Wilson")
    frame = pd.read_csv(CREDIT).query("model == 'forest'")
    by_hand = ((frame["y_score"] >= 0.5) == frame["y_true"]).groupby(frame["fold"]).mean()
    assert given.fold_values("forest") == pytest.approx(by_hand.to_numpy())
    shown = validation_page.verdict(given)
    assert "only 8 of 18 checks could be run" in shown.text
    missing = "important ones are missing: group on both sides, time travel."
    assert shown.text.count(missing) == shown.text.count("group on both sides") == 1
    # what is crossed out has its section
    assert not re.search('can be trusted|class="verdict pass"|<s>', shown.html)
    assert "<s>0.771 " in validation_page.intervals(given).html
    assert "[0.746, 0.796]" in validation_page.intervals(given).text


def test_pooled_rows_equal_cross_val_predict():
    from sklearn.model_selection import cross_val_predict

    study = validation.read(features=CANCER, target="diagnosis", k=5, **FAST)
    model = fitting.prepared(fitting.usual("classes"), study.examples.features, 0)
    e = study.examples
    probability = cross_val_predict(
        model, e.features, e.label, cv=study.folds, method="predict_proba"
    )
    assert study.pooled[study.subject].score == pytest.approx(probability[:, 1])
    from sklearn import metrics

    value = study.estimates.set_index(["metric", "system"])["value"]
    assert value["roc_auc", study.subject] == pytest.approx(
        metrics.roc_auc_score(e.label, probability[:, 1])
    )
    assert value["log_loss", study.subject] == pytest.approx(metrics.log_loss(e.label, probability))
    assert value["brier", study.subject] == pytest.approx(
        metrics.brier_score_loss(e.label, probability[:, 1])
    )


def test_several_classes_and_numbers():
    rng = np.random.default_rng(1)
    frame = noise(120).assign(label=np.array(["a", "b", "c"])[np.arange(120) % 3])
    study = labelled(frame)
    assert list(study.estimates["metric"].unique()) == ["accuracy", "log_loss", "brier"]
    target = rng.normal(size=120)
    study = labelled(frame.assign(label=target))
    p = study.pooled["Ridge"]
    error = p.actual - p.score
    value = study.estimates.set_index(["metric", "system"])["value"]
    assert value["rmse", "Ridge"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert value["mae", "median"] == pytest.approx(
        np.abs(target - study.pooled["median"].score).mean()
    )


# The verdict claims no more than what was checked


def checked(**columns):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(
        label=(x.sum(axis=1) + rng.normal(size=900) > 0).astype(int)
    )
    frame = frame.assign(group=np.arange(900) // 3, time=np.arange(900) // 3)
    return labelled(frame.drop(columns=[name for name, there in columns.items() if not there]))


def test_pass_needs_groups_time_and_copies_to_be_checked():
    study = checked()
    assert study.word == "pass"
    assert "the 15 checks that could be run, of 17" in validation_page.verdict(study).text
    for name in ("group", "time"):
        less = checked(**{name: False})
        assert less.word == "cannot tell"
        text = validation_page.verdict(less).text
        assert "only 14 of 17 checks could be run" in text
        assert "important ones are missing" in text


def test_coarse_columns_hide_copies_so_the_verdict_is_not_green():
    rng = np.random.default_rng(6)
    coarse = pd.DataFrame(rng.integers(0, 4, (900, 2)), columns=["a", "b"]).assign(
        group=np.arange(900) // 3
    )
    label = (coarse["a"] + coarse["b"] + rng.normal(size=900) > 3).astype(int)
    study = labelled(coarse.assign(label=label, time=coarse["group"]))
    assert study.word == "cannot tell"
    text = validation_page.verdict(study).text
    assert "important ones are missing: duplicate rows" in text
    because = validation_page.results(study).results["verdict"]["because"]
    assert because.endswith("important checks are missing: duplicate rows")


@pytest.mark.parametrize("rule, passed", [("no severe finding", True), ("trusted", False)])
def test_the_gate_trusted_asks_for_what_could_not_be_checked(rule, passed):
    assert validation.read(gate=rule).gate.passed is passed


@pytest.mark.parametrize(
    ("rows", "decides", "honest"), [(200, "p", False), (1000, "p_pooled", True)]
)
def test_the_folds_decide_where_few_rows_are_pooled(rows, decides, honest):
    rng = np.random.default_rng(5)
    label = np.tile(rng.integers(0, 2, rows), 2)
    table = {
        "label": label,
        "score": label + rng.normal(0, 1, 2 * rows),
        "fold": np.tile(np.arange(rows) % 5, 2),
    }
    table |= {"id": np.tile(np.arange(rows), 2), "model": np.repeat(["a", "b"], rows)}
    study = validation.read(pd.DataFrame(table), metrics="roc_auc")
    assert study.paired["adjusted"].tolist() == pytest.approx(
        np.clip(holm(study.paired[decides]), 0, 1)
    )
    assert study.paired["p_pooled"].notna().all() == honest
    assert set(study.paired[decides]) <= set(study.comparisons["p"])
    assert study.answer["what"].startswith("pooled") is honest
    first, second = validation_page.paired(study).html.split("<table")[1:]
    assert ("adjusted p" in first, "adjusted p" in second) == (honest, not honest)


# What is published, and drawn


def test_pictures_say_what_they_draw(given):
    assert validation_page.strip(given).html == ""
    for draw in (validation_page.fold_map, validation_page.folds, validation_page.interval_plot):
        assert f"{given.rows.size:,} rows" in draw(given).svg


def test_the_map_shows_blocks_of_time_apart():
    frame = noise(200).assign(time=np.arange(200))
    study = labelled(frame)
    kinds = study.stretches(120)
    assert set(kinds["kind"]) == {"test", "training"}
    first = kinds[kinds["fold"] == "1"].set_index("kind")
    assert first.loc["training", "start"] < first.loc["test", "start"]


# Estimators and splits that mislead

FEW = Limits(holdouts=5, repeats=2, samples=5, averaged=2)


def test_leaving_one_out_of_a_majority_model_is_always_wrong_and_the_page_says_why():
    study = validated(FEW, features=noise(40), estimator=DUMMY, k=5)
    assert study.other_splits.summary.set_index("way").loc["leave one out", "mean"] == 0.0
    assert (
        "its own class is the rarer one among the others"
        in validation_page.other_splits(study).html
    )


def test_rows_at_random_flatter_where_groups_repeat():
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame(
        rng.normal(size=(40, 3))[person] + rng.normal(scale=0.01, size=(240, 3)),
        columns=list("abc"),
    )
    frame = frame.assign(group=person, label=rng.permutation(np.arange(40) % 2)[person])
    study = validated(FEW, features=frame, estimator="sklearn.neighbors.KNeighborsClassifier", k=5)
    blind = study.primary.value(study.other_splits.ignoring)
    assert blind > 0.95
    assert study.intervals.iloc[0]["high"] < 0.8
    assert "group ignored" in validation_page.other_splits(study).html


def test_dates_split_forward_beside_rows_at_random():
    n = 300
    rng = np.random.default_rng(7)
    frame = noise(n).assign(time=pd.date_range("2025-01-01", periods=n).strftime("%Y-%m-%d"))
    frame["label"] = (rng.normal(size=n) + np.sin(np.arange(n) / 25) * 3 > 0).astype(int)
    frame["x0"] = np.arange(n) / 25
    study = validation.read(
        features=frame, estimator="sklearn.tree.DecisionTreeClassifier", k=5, gap=3
    )
    for train, test in study.folds.pairs:
        assert study.examples.time[train].max() + 3 < study.examples.time[test].min()
    assert study.rows.size < n
    assert study.primary.value(study.other_splits.ignoring) > study.intervals.iloc[0]["value"] + 0.1
    assert "rows at random, time ignored" in validation_page.other_splits(study).html


def test_the_budget_says_what_it_left_out():
    study = labelled(noise(60))
    assert study.other_splits.points.empty
    assert (
        "5-fold: 0 of 50 fits completed in the time allowed" in validation_page.findings(study).text
    )
    study = validation.read(features=noise(300), most_rows=100, k=5, **FAST)
    assert (
        "200 of 300 rows: the others were drawn at random" in validation_page.findings(study).text
    )


def test_the_split_follows_the_columns():
    frame = noise(60).assign(group=np.arange(60) // 4, time=np.arange(60))
    rules = [
        labelled(frame[["x0", "label", *more]]).folds.rule
        for more in ([], ["group"], ["group", "time"])
    ]
    assert [rule.split(":")[0] for rule in rules] == [
        "stratified 5-fold",
        "stratified 5-fold of groups",
        "5 blocks forward in time, gap 0",
    ]


def test_a_repeated_k_fold_is_the_mean_of_its_draws():
    study = validated(Limits(averaged=2, repeats=3), features=noise(60), k=5, metrics="roc_auc")
    e = study.examples
    way = study.other_splits.summary.set_index("way").loc["mean of 2 × 5-fold"]
    assert (way["fits"], way["estimates"]) == (30, 3)
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import RepeatedStratifiedKFold

    model = fitting.prepared(fitting.usual("classes"), e.features, 0)
    pairs = list(
        RepeatedStratifiedKFold(n_splits=5, n_repeats=6, random_state=1).split(e.features, e.label)
    )
    draws = []
    for i in range(0, 30, 5):
        score = np.zeros(60)
        for train, test in pairs[i : i + 5]:
            score[test] = model.fit(e.features.iloc[train], e.label[train]).predict_proba(
                e.features.iloc[test]
            )[:, 1]
        draws.append(roc_auc_score(e.label, score))
    points = study.other_splits.points
    assert points[points["way"] == "mean of 2 × 5-fold"]["value"].tolist() == pytest.approx(
        np.reshape(draws, (3, 2)).mean(axis=1).tolist()
    )


def test_ways_that_the_rows_do_not_allow_are_named_and_the_others_made():
    frame = noise(80).assign(label=[f"c{i % 27}" for i in range(80)])
    study = validation.read(features=frame, k=2, **FAST)
    assert (
        "one holdout of 30%: share must leave a row for each of 27 classes"
        in validation_page.findings(study).text
    )
    made = ["2-fold", "mean of 10 × 2-fold", "bootstrap, out of bag", "leave one out"]
    assert study.other_splits.summary["way"].tolist() == made


def two_fits():
    frame = noise(80)
    learner = fitting.Learner(
        {"tree": fitting.prepared(fitting.usual("classes"), frame[["x0", "x1"]], 0)},
        frame[["x0", "x1"]],
        frame["label"].to_numpy(float),
        2,
    )
    return learner, resplits.jobs_of(
        splits.k_fold(len(frame), seed=0, k=8, label=frame["label"]), "tree", "fold"
    )


def test_two_processes_give_what_one_gives():
    learner, jobs = two_fits()
    alone = fitting.run(learner, jobs, required=8, seconds=60)
    both = fitting.run(learner, jobs, required=8, seconds=60, second_process=-1.0)
    assert [one.test.score.tolist() for one in both] == [one.test.score.tolist() for one in alone]


def test_the_clock_stops_what_is_not_required():
    learner, jobs = two_fits()
    ticks = iter(range(100))
    assert (
        2
        <= len(fitting.run(learner, jobs, required=2, seconds=3, clock=lambda: next(ticks) * 0.5))
        < 8
    )
    assert len(fitting.run(learner, jobs, required=6, seconds=1e-9)) == 6


def test_fits_that_the_seconds_do_not_allow_call_for_no_second_process(monkeypatch):
    learner, jobs = two_fits()
    monkeypatch.setattr("joblib.Parallel", None)  # to call it is an error
    ticks = iter(range(100))
    assert (
        len(fitting.run(learner, jobs, required=4, seconds=7, clock=lambda: next(ticks) * 6.0)) == 4
    )


def test_holdouts_of_groups_keep_groups_whole():
    group = np.repeat(np.arange(20), 3)
    for train, test in splits.group_holdout(group, seed=0, repeats=5).pairs:
        assert not set(group[train]) & set(group[test])
        assert np.unique(group[test]).size == 6


def test_warnings_of_an_estimator_are_counted_not_printed():
    estimators()
    study = labelled(noise(60), estimator="tests_estimators.warns")
    assert study.other_splits.warned == {"UserWarning: I warn": 5}


# Coverage


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
    study = labelled(noise(120).assign(**change))
    assert study.rows.size == 120
    assert not severe(study)
    assert validation_page.findings(study).text
    json.dumps(validation_page.results(study)._repr_mimebundle_(), allow_nan=False)


def test_columns_that_say_nothing_are_named():
    study = labelled(noise(60).assign(same="x", none=np.nan))
    assert "Constant or without any value: same, none." in validation_page.findings(study).text


def test_parts_whose_columns_have_other_roles_are_refused():
    frame = noise(60)
    with pytest.raises(InputError, match="must have the same columns"):
        labelled([frame.assign(id=range(60)), frame])


def test_a_system_may_be_called_as_the_baseline():
    frame = pd.DataFrame(
        {"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3}
    )
    frame = frame.assign(id=range(60))
    both = pd.concat(
        [frame.assign(system="majority", score=1 - frame["score"]), frame.assign(system="a")]
    )
    study = validation.read(both)
    assert study.systems == ("a", "majority", "majority (baseline)")
    assert study.pooled["majority"].score.max() == 1.0


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "batches"])
def test_more_rows_than_are_held_are_refused_by_name_and_number(kind, tmp_path):
    frame = pd.DataFrame(
        {"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3}
    )
    frame.to_csv(tmp_path / "made.csv", index=False)
    frame.to_parquet(tmp_path / "made.parquet", index=False)
    table = pa.Table.from_pandas(frame)
    preds = {"frame": frame, "batches": table.to_batches(7)}.get(
        kind, str(tmp_path / f"made.{kind}")
    )
    preds = iter(preds) if kind == "batches" else preds
    where = "" if kind in ("frame", "batches") else f"made.{kind}: "
    with pytest.raises(
        InputError, match=rf"{where}60 rows are more than the 59 that .* holds; .* classification"
    ):
        validation.study_of(
            ValidationParameters.from_raw({"preds": preds}),
            Limits(reading=Reading(rows=10, held=59)),
        )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_up_to_the_limit_are_held_whatever_the_memory(kind, tmp_path):
    frame = pd.DataFrame(
        {"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3}
    )
    getattr(frame, f"to_{kind}")(tmp_path / f"made.{kind}", index=False)
    given = ValidationParameters.from_raw(
        {"preds": str(tmp_path / f"made.{kind}"), "memory": "250MB"}
    )
    study = validation.study_of(given, Limits(reading=Reading(rows=10, held=60)))
    pd.testing.assert_frame_equal(study.by_fold, validation.read(frame).by_fold)


def test_draws_of_the_folds_that_no_role_names_are_refused():
    frame = pd.DataFrame({"id": range(60), "label": [0, 1] * 30, "score": np.linspace(0, 1, 60)})
    drawn = pd.concat([frame.assign(fold=np.arange(60) % (3 + i), iteration=i) for i in range(2)])
    with pytest.raises(
        InputError, match="iteration may number repeated draws of the folds; set columns='repeat="
    ):
        validation.read(drawn)


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
    table = out_of_fold()
    tested_again = table.assign(fold=(table["id"] + 1) % 4)
    table = pd.concat([table.assign(fold=table["id"] % 4), tested_again]).drop(columns="repeat")
    assert validation.read(table, metrics="accuracy").rows.size == 80


def test_rows_of_a_development_set_are_left_out():
    table = out_of_fold()
    table["fold"] = np.array(["train", "dev", "test", "test"])[table["fold"]]
    kept = folds.predictions(sources.parts(table), ValidationParameters.from_raw({}))
    assert kept.fold.names == ("test", "train")
    assert len(kept) == 30


def test_times_of_dates_are_days():
    days = ["1970-01-01", "1970-01-01T12:00", "1970-01-02", "1970-01-11"]
    table = pd.DataFrame({"x": range(4), "label": [0, 1] * 2, "time": days})
    found = folds.table(sources.parts(table), ValidationParameters.from_raw({}))
    assert found.time.tolist() == [0, 0.5, 1, 10]


def test_rows_without_ids_are_named_by_their_numbers_from_one():
    found = folds.table(sources.parts(noise(9)), ValidationParameters.from_raw({}))
    assert found.named(np.array([0, 8])).tolist() == [1, 9]


def test_a_target_of_few_fractions_is_a_number():
    table = pd.DataFrame({"x": range(40), "label": np.arange(40) % 4 + 0.5})
    assert folds.table(sources.parts(table), ValidationParameters.from_raw({})).kind == "number"


def test_a_fold_with_one_class_has_no_auc_and_is_named():
    rng = np.random.default_rng(8)
    label = np.r_[np.zeros(30), rng.integers(2, size=90)].astype(int)
    frame = pd.DataFrame(
        {
            "label": label,
            "score": rng.uniform(size=120),
            "fold": np.arange(120) // 30,
            "id": range(120),
        }
    )
    study = validation.read(frame, metrics="roc_auc")
    assert np.isnan(study.fold_values("score")[0])
    assert "base rate" in [one.name for one in study.audited]
    assert validation_page.by_fold(study).text.count("–") >= 1


def test_bad_input_and_a_failed_gate_end_with_their_status(tmp_path, capsys):
    assert cli.main(["report", "validation", "-p", "target", "x", "-o", str(tmp_path)]) == 2
    assert "target: needs features" in capsys.readouterr().err
    frame = pd.read_csv(CREDIT).query("model == 'forest'").assign(group=np.arange(1000) // 10)
    frame.to_csv(tmp_path / "leaky.csv", index=False)
    asked = ["-p", "preds", str(tmp_path / "leaky.csv"), "-p", "gate", "no severe finding"]
    assert cli.main(["report", "validation", *asked, "-o", str(tmp_path / "out")]) == 3
    assert (
        json.loads((tmp_path / "out" / "validation.json").read_text())["verdict"]["word"] == "fail"
    )


@pytest.mark.parametrize("values, kind", [(20, "classes"), (21, "number")])
def test_a_target_of_20_whole_numbers_is_classes_and_of_21_a_number(values, kind):
    table = pd.DataFrame({"x": range(84), "label": np.arange(84) % values})
    assert folds.table(sources.parts(table), ValidationParameters.from_raw({})).kind == kind


def test_classes_are_named_by_all_digits_of_their_codes():
    table = pd.DataFrame({"x": range(40), "label": 22298006 + np.arange(40) % 2})
    assert folds.table(sources.parts(table), ValidationParameters.from_raw({})).classes == (
        "22298006",
        "22298007",
    )


# Below 1,000 rows the mean of the folds decides ---------------------------------------------------


def small(metric, rows=200, **given):
    """The study of two systems in five folds of so many rows."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, rows)
    base = {"id": np.arange(rows), "label": label, "fold": np.arange(rows) % 5}
    tables = [
        pd.DataFrame(base | {"system": name, "score": np.clip(by * label + noise, 0, 1)})
        for name, by in (("good", 0.4), ("weak", 0.1))
        for noise in [rng.random(rows) * 0.7]
    ]
    return validation.read(pd.concat(tables), metrics=metric, **given)


def corrected(values, ratio):
    """The limits of Nadeau and Bengio. ratio: of test rows to training rows."""
    n = len(values)
    error = np.std(values, ddof=1) * np.sqrt(1 / n + ratio)
    reach = stats.t.ppf(0.975, n - 1) * error
    return np.mean(values) - reach, np.mean(values) + reach


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc", "brier", "recall"])
def test_the_interval_that_decides_is_the_corrected_one_of_each_system(metric):
    study = small(metric)
    for name in ("good", "weak"):
        e = study.deciding_estimate(study.primary, name)
        values = study.fold_values(name)
        low, high = np.clip(corrected(values, 1 / 4), *study.primary.metric.ends)
        assert (e.value, e.low, e.high) == pytest.approx((values.mean(), low, high))


def test_the_first_screen_has_the_interval_that_decides():
    study = small("accuracy")
    text = validation_page.verdict(study).text
    for name in study.systems:
        e = study.deciding_estimate(study.primary, name)
        assert printed.interval(e.low, e.high) in text


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_the_first_screen_says_which_interval_it_has(metric):
    text = validation_page.verdict(small(metric)).text
    assert "good, weak: mean of folds, Nadeau–Bengio" in text.replace(", majority", "")


@pytest.mark.parametrize("metric", ["accuracy", "roc_auc"])
def test_a_gate_decides_by_the_corrected_interval(metric):
    study = small(metric, gate=f"{metric}.low >= 0.5")
    row = study.gate.statements.set_index("system").loc["good"]
    e = study.deciding_estimate(study.primary, "good")
    assert (row["rule_low"], row["rule_high"]) == (e.low, e.high)


def test_the_pooled_interval_does_not_decide_below_1_000_rows():
    frame = small("accuracy").intervals.set_index("what")["honest"]
    assert frame.to_dict() == {
        "pooled out of fold": False,
        "mean of folds, Nadeau–Bengio": True,
        "mean of folds, t as if folds were a sample": False,
    }


def test_from_1_000_rows_on_the_pooled_interval_decides():
    study = small("accuracy", rows=1000)
    assert study.deciding_estimate(study.primary, "good") == study.estimate(study.primary, "good")


def test_folds_that_all_have_one_value_have_no_interval():
    frame = pd.DataFrame(
        {"label": [0, 1] * 20, "score": [0.2, 0.7] * 20, "fold": list("aabb") * 10}
    )
    study = validation.read(frame, metrics="roc_auc")
    e = study.deciding_estimate(study.primary, study.subject)
    assert e.value == 1
    assert np.isnan([e.low, e.high]).all()


def test_a_rule_on_the_files_of_so_few_rows_cannot_tell(tmp_path):
    frame = pd.DataFrame(
        {"label": [0, 1] * 20, "score": [0.2, 0.7] * 20, "fold": list("aabb") * 10}
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    out = ["-p", "metrics", "accuracy", "-o", str(tmp_path / "out")]
    cli.main(["report", "validation", "-p", "preds", str(tmp_path / "rows.csv"), *out])
    (results,) = (tmp_path / "out").glob("*.json")
    assert json.loads(results.read_text())["split"]["decided_by_fold"]
    assert cli.main(["check", str(results), "accuracy.low >= 0.5"]) == 3


# What is said of a table of numbers ---------------------------------------------------------------


@pytest.fixture(scope="module")
def of_numbers():
    """The findings of a study of 210 rows of numbers, without time for other splits."""
    table = noise(210).drop(columns="label")
    table["target"] = table["x0"] + np.linspace(0, 1, 210)
    limits = Limits(holdouts=2, repeats=2, samples=2)
    study = validated(limits, features=table, target="target", k=5, seconds=1e-9)
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
