"""The validation study: planted leaks fail, clean data pass, estimates and intervals hold, bad input is one line."""

import json
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from evalkit import __main__ as cli
from evalkit.arrays import InputError, ParameterError
from evalkit.definitions import predicted
from evalkit.definitions.catalogue import find
from evalkit.reading import examples
from evalkit.statistics.folds import nadeau_bengio
from evalkit.statistics.intervals import mean_t, wilson
from evalkit.studies import resplits, validation, validation_page, validation_plots
from evalkit.validation import fitting, splits

ROOT = Path(__file__).resolve().parents[1]
CANCER = "data/breast_cancer/features.csv"
CREDIT = ROOT / "data" / "german_credit" / "predictions.csv"
DUMMY = "sklearn.dummy.DummyClassifier"
FAST = {"seconds": 1e-9}  # the chosen folds alone


@pytest.fixture(scope="module")
def given():
    return validation.read()


@pytest.fixture(scope="module")
def fitted():
    """Breast cancer, 100 rows, a tree beside the logistic regression, every other split."""
    return validation.read(
        features=CANCER, target="diagnosis", against="sklearn.tree.DecisionTreeClassifier", most_rows=100
    )


def cancer(rows: int = 569) -> pd.DataFrame:
    return pd.read_csv(ROOT / CANCER).iloc[:rows]


def applicants() -> pd.DataFrame:
    """German credit's own columns, one row an applicant."""
    frame = pd.read_csv(CREDIT)
    return frame[frame["model"] == "forest"].drop(columns=["model", "y_score", "fold"])


def visits(rows: int) -> pd.DataFrame:
    """Visits to a doctor with a column for the person: consecutive rows that agree in all that is constant."""
    frame = pd.read_parquet(ROOT / "data" / "rand_hie" / "visits.parquet").iloc[:rows]
    key = frame.drop(columns=["id", "mdvis"]).astype(str).agg("|".join, axis=1)
    return frame.assign(person=(key != key.shift()).cumsum().astype(str))


def severe(study) -> dict:
    return {one.check: one for one in study.findings if one.severity == "severe"}


def noise(n: int, *, seed: int = 0, columns: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, columns)), columns=[f"x{i}" for i in range(columns)])
    return frame.assign(label=rng.permutation(np.arange(n) % 2))


def labelled(frame: pd.DataFrame, **more):
    return validation.read(features=frame, k=5, **FAST, **more)


# The answer on real data


def test_predictions_with_a_fold_column(given):
    assert (given.subject, given.baseline, given.word) == ("forest", "majority", "pass")
    row = given.intervals.set_index("what").loc["pooled out of fold"]
    assert (row["value"], row["n"], row["method"]) == (0.771, 1000, "Wilson")
    frame = pd.read_csv(CREDIT).query("model == 'forest'")
    by_hand = ((frame["y_score"] >= 0.5) == frame["y_true"]).groupby(frame["fold"]).mean()
    assert given.fold_values("forest") == pytest.approx(by_hand.to_numpy())
    shown = validation_page.verdict(given)
    assert "this evaluation can be trusted" in shown.text
    assert "<s>[0.746, 0.796]</s>" in shown.html
    assert "no group" in shown.html


def test_cancer_holds_every_part_of_the_page(fitted):
    assert fitted.systems == ("LogisticRegression", "DecisionTreeClassifier", "majority")
    assert not severe(fitted)
    ways = fitted.other.summary.set_index("way")
    assert ways["fits"].to_dict() == {
        "one holdout of 30 %": 200,
        "10-fold": 100,
        "bootstrap, out of bag": 50,
        "leave one out": 100,
    }
    assert ways.loc["one holdout of 30 %", "sd"] > 2.5 * ways.loc["10-fold", "sd"]
    assert "times as much as 10-fold drawn anew" in validation_page.other_splits(fitted).html
    curve = fitted.other.curve
    assert curve.groupby("system")["rows"].max().to_dict() == {"on test rows": 90, "on its training rows": 90}
    assert len(fitted.by_fold) == 30
    assert fitted.gap.mean() > 0
    naive, honest = (fitted.intervals.set_index("what")["high"] - fitted.intervals.set_index("what")["low"]).loc[
        ["mean of folds, t as if folds were a sample", "pooled out of fold"]
    ]
    assert naive < honest / 2


def test_german_credit_can_be_fitted_and_is_clean():
    study = labelled(applicants(), against="sklearn.ensemble.RandomForestClassifier")
    assert study.word == "pass"
    assert set(study.examples.features.select_dtypes(exclude="number")) >= {"housing", "age_band"}


def test_visits_by_person_keep_persons_whole_and_their_interval_wide():
    study = validation.read(features=visits(3000), target="mdvis", columns={"group": "person"}, **FAST)
    assert "of groups: rows of a group resemble each other" in study.folds.rule
    assert not severe(study)
    assert study.primary.label == "mae"
    by = study.intervals.set_index("what")
    whole, rows = by.loc["pooled out of fold"], by.loc["pooled, as if rows of a group were a sample"]
    assert (whole["unit"], rows["honest"]) == ("group", False)
    assert whole["high"] - whole["low"] > 1.2 * (rows["high"] - rows["low"])


def test_pooled_rows_equal_cross_val_predict():
    from sklearn.model_selection import cross_val_predict

    study = validation.read(features=CANCER, target="diagnosis", k=5, **FAST)
    model = fitting.prepared(fitting.usual("classes"), study.examples.features, 0)
    e = study.examples
    probability = cross_val_predict(model, e.features, e.label, cv=study.folds, method="predict_proba")
    assert study.pooled[study.subject].chance == pytest.approx(probability)
    from sklearn import metrics

    value = study.estimates.set_index(["metric", "system"])["value"]
    assert value["roc_auc", study.subject] == pytest.approx(metrics.roc_auc_score(e.label, probability[:, 1]))
    assert value["log_loss", study.subject] == pytest.approx(metrics.log_loss(e.label, probability))
    assert value["brier", study.subject] == pytest.approx(metrics.brier_score_loss(e.label, probability[:, 1]))


def test_several_classes_and_numbers():
    rng = np.random.default_rng(1)
    frame = noise(120).assign(label=np.array(["a", "b", "c"])[np.arange(120) % 3])
    study = labelled(frame)
    assert list(study.estimates["metric"].unique()) == ["accuracy", "log_loss", "brier"]
    target = rng.normal(size=120)
    study = labelled(frame.assign(label=target))
    p = study.pooled["Ridge"]
    error = p.label - p.decision
    value = study.estimates.set_index(["metric", "system"])["value"]
    assert value["rmse", "Ridge"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert value["mae", "median"] == pytest.approx(np.abs(target - study.pooled["median"].decision).mean())


# Planted leaks, and none


def test_copied_rows_fail():
    study = labelled(pd.concat([cancer(), cancer().iloc[:60]]).drop(columns="id"), target="diagnosis")
    assert study.word == "fail"
    assert severe(study)["duplicate rows"].count >= 90
    assert "cannot be trusted" in validation_page.verdict(study).text


def test_the_target_as_a_feature_fails():
    frame = cancer()
    study = labelled(frame.assign(code=np.where(frame["diagnosis"] == "benign", "B", "M")), target="diagnosis")
    assert "code alone predicts the label" in severe(study)["single feature"].message


def test_a_user_in_two_folds_fails():
    frame = pd.read_csv(CREDIT).query("model == 'forest'").drop(columns="model")
    whole = validation.read(frame.assign(group=frame["fold"].astype(str) + frame["age_band"]))
    assert not severe(whole)
    study = validation.read(frame.assign(group=np.arange(1000) // 10))
    assert severe(study)["group on both sides"].count > 900


def test_an_id_in_two_folds_fails():
    frame = pd.read_csv(CREDIT).query("model == 'forest'").drop(columns="model")
    copied = frame.iloc[:7].assign(fold=(frame["fold"].iloc[:7] + 1) % 5)
    study = validation.read(pd.concat([frame, copied]))
    assert severe(study)["id on both sides"].count == 14
    assert "gc0000" in validation_page.leakage(study).html


def test_training_on_the_future_fails_and_blocks_of_time_do_not():
    frame = pd.DataFrame({"label": np.arange(100) % 2, "score": np.linspace(0.2, 0.8, 100) * (np.arange(100) % 7) / 7})
    day = pd.date_range("2026-01-01", periods=100).strftime("%Y-%m-%d")
    study = validation.read(frame.assign(fold=np.arange(100) % 5, time=day))
    assert severe(study)["time travel"].count > 50
    study = validation.read(frame.assign(fold=np.arange(100) // 20, time=day))
    assert not severe(study)
    assert "blocks of time" in study.folds.rule
    assert study.by_fold["train"].head(5).tolist() == [0, 20, 40, 60, 80]


def test_a_score_that_is_the_label_and_scores_on_other_scales():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"label": np.arange(400) % 2, "fold": rng.permutation(np.arange(400) % 4), "id": np.arange(400)}
    )
    assert "score is the label" in severe(validation.read(frame.assign(score=frame["label"])))
    score = rng.uniform(0, 0.2, 400) + 0.1 * frame["label"] + 0.15 * frame["fold"]
    study = validation.read(frame.assign(score=score))
    assert study.word == "cannot tell"
    assert "score scale" in [one.check for one in study.findings]


def test_one_bad_fold_is_heterogeneous():
    rng = np.random.default_rng(3)
    fold, label = np.arange(500) % 5, rng.integers(2, size=500)
    right = np.where(fold == 4, 0.4, 0.8)
    score = np.where(rng.uniform(size=500) < right, label, 1 - label) * 0.6 + 0.2
    study = validation.read(pd.DataFrame({"label": label, "score": score, "fold": fold, "id": np.arange(500)}))
    assert study.unlike["p"] < 1e-6
    assert not study.intervals.iloc[0]["honest"]
    assert "mean of folds, Nadeau–Bengio" in validation_page.verdict(study).html
    assert "unlike folds" in [one.check for one in study.findings]
    from scipy.stats import chi2_contingency

    table = pd.crosstab(fold, (score > 0.5) == label).to_numpy()
    # The pooled variance is over n − 1 rows, chi-square's over n.
    assert study.unlike["q"] == pytest.approx(chi2_contingency(table, correction=False).statistic * 499 / 500)


def test_only_a_fold_column_can_prove_nothing():
    rng = np.random.default_rng(4)
    label = np.arange(200) % 2
    frame = pd.DataFrame(
        {"label": label, "score": 0.3 * label + rng.uniform(0, 0.7, 200), "fold": np.arange(200) // 40}
    )
    study = validation.read(frame)
    assert study.word == "cannot tell"
    assert "no id" in validation_page.verdict(study).html


@pytest.mark.parametrize("seed", range(3))
def test_noise_raises_nothing_severe(seed):
    study = labelled(noise(200, seed=seed))
    assert not severe(study)
    assert study.paired.iloc[0]["verdict"] in ("cannot tell", "worse")


# Estimators and splits that mislead


def test_one_neighbour_on_noise():
    from sklearn.neighbors import KNeighborsClassifier

    frame = noise(100, seed=6, columns=5)
    e = examples.table(frame, target=None, columns={}, categorical=[], kind=None)
    folds = resplits.choose(e, k=5, gap=0.0, seed=0)
    setting = resplits.Setting(e, folds, 5, 0.0, 0, None)
    learner = fitting.Learner({"one": KNeighborsClassifier(1)}, e.features, e.label, 2)
    _, other = resplits.fit_all(setting, learner, find("accuracy", "predicted"), ["one"], 60.0)
    assert other.bootstrap.apparent == 0
    assert 1 - other.bootstrap.error_632 == pytest.approx(0.684, abs=0.05)
    assert 1 - other.bootstrap.error_632_plus == pytest.approx(0.5, abs=0.06)


def test_leaving_one_out_of_a_majority_model_is_always_wrong_and_the_page_says_why(monkeypatch):
    monkeypatch.setattr(resplits, "HOLDOUTS", 10)
    study = validation.read(features=noise(40), estimator=DUMMY, k=5)
    assert study.other.summary.set_index("way").loc["leave one out", "mean"] == 0.0
    assert "its own class is the rarer one among the others" in validation_page.other_splits(study).html


def test_rows_at_random_flatter_where_groups_repeat(monkeypatch):
    monkeypatch.setattr(resplits, "HOLDOUTS", 10)
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(40), 6)
    frame = pd.DataFrame(rng.normal(size=(40, 3))[person] + rng.normal(scale=0.01, size=(240, 3)), columns=list("abc"))
    frame = frame.assign(group=person, label=rng.permutation(np.arange(40) % 2)[person])
    study = validation.read(features=frame, estimator="sklearn.neighbors.KNeighborsClassifier", k=5)
    blind = predicted.value(study.primary, study.other.ignoring)
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
    assert predicted.value(study.primary, study.other.ignoring) > study.intervals.iloc[0]["value"] + 0.1
    assert "rows at random, time ignored" in validation_page.other_splits(study).html


def test_the_budget_says_what_it_left_out():
    study = labelled(noise(60))
    assert study.other.points.empty
    assert "5-fold: 0 of 50 fits made within the budget" in validation_page.notes(study).text
    study = validation.read(features=noise(300), most_rows=100, k=5, **FAST)
    assert "200 of 300 rows: 100 were drawn at random" in validation_page.notes(study).text


def test_an_estimator_without_probabilities_keeps_the_metrics_it_has():
    study = labelled(noise(60), estimator="sklearn.svm.LinearSVC")
    assert list(study.estimates["metric"].unique()) == ["accuracy", "roc_auc"]


def two_fits():
    frame = noise(80)
    learner = fitting.Learner(
        {"tree": fitting.prepared(fitting.usual("classes"), frame[["x0", "x1"]], 0)},
        frame[["x0", "x1"]],
        frame["label"].to_numpy(float),
        2,
    )
    return learner, resplits.jobs_of(splits.k_fold(frame["label"], seed=0, k=8), "tree", "fold")


def test_two_processes_give_what_one_gives(monkeypatch):
    learner, jobs = two_fits()
    alone = fitting.run(learner, jobs, required=8, seconds=60)
    monkeypatch.setattr(fitting, "WORTH", -1.0)
    both = fitting.run(learner, jobs, required=8, seconds=60)
    assert [one.test.chance.tolist() for one in both] == [one.test.chance.tolist() for one in alone]


def test_the_clock_stops_what_is_not_required():
    learner, jobs = two_fits()
    ticks = iter(range(100))
    assert 2 <= len(fitting.run(learner, jobs, required=2, seconds=3, clock=lambda: next(ticks) * 0.5)) < 8
    assert len(fitting.run(learner, jobs, required=6, seconds=1e-9)) == 6


def test_holdouts_of_groups_keep_groups_whole():
    group = np.repeat(np.arange(20), 3)
    for train, test in splits.group_holdout(group, seed=0, repeats=5).pairs:
        assert not set(group[train]) & set(group[test])
        assert np.unique(group[test]).size == 6


def test_warnings_of_an_estimator_are_counted_not_printed():
    _module()
    study = labelled(noise(60), estimator="tests_estimators.warns")
    assert study.other.warned == {"UserWarning: I warn": 5}


# Coverage


class Normal:
    """Two classes of normal rows whose true accuracy for any linear rule is known in closed form."""

    shift = 0.8

    def draw(self, rng, n):
        label = rng.integers(2, size=n)
        return rng.normal(size=(n, 4)) + self.shift * label[:, None] / 2, label

    def truth(self, model) -> float:
        from scipy.special import ndtr

        w, b = model.coef_[0], model.intercept_[0]
        size = np.sqrt((w**2).sum())
        return float((ndtr(-b / size) + ndtr((b + w.sum() * self.shift / 2) / size)) / 2)


def covered(sets: int, repeats: int) -> np.ndarray:
    """Shares of data sets whose interval holds the accuracy of the model of all rows: pooled, corrected, naive."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    world, held = Normal(), []
    for seed in range(sets):
        x, y = world.draw(np.random.default_rng(seed), 200)
        model = LinearDiscriminantAnalysis()
        hits = [
            model.fit(x[train], y[train]).predict(x[test]) == y[test]
            for train, test in splits.k_fold(y, seed=seed, k=10, repeats=repeats).pairs
        ]
        values, truth = np.array([one.mean() for one in hits]), world.truth(model.fit(x, y))
        pooled = wilson(float(np.concatenate(hits[:10]).sum()), 200)
        corrected = nadeau_bengio(values, train=180, test=20).difference
        held.append([e.low <= truth <= e.high for e in (pooled, corrected, mean_t(values))])
    return np.mean(held, axis=0)


def test_the_naive_interval_covers_far_less_than_the_honest_ones():
    pooled, corrected, naive = covered(40, 4)
    assert min(pooled, corrected) > 0.85
    assert naive < 0.8


@pytest.mark.slow
def test_coverage_at_200_rows():
    pooled, corrected, naive = covered(400, 10)
    print(f"coverage at n = 200: pooled Wilson {pooled:.3f}, Nadeau–Bengio {corrected:.3f}, naive t {naive:.3f}")
    assert pooled >= 0.93
    assert corrected >= 0.93
    assert naive < 0.6


# Bad input


def _module() -> None:
    """A module with estimators that fail, as a user might write one."""
    import types

    from sklearn.dummy import DummyClassifier

    class Fails(DummyClassifier):
        def fit(self, x, y):
            raise RuntimeError("no luck\nat all")

    class Warns(DummyClassifier):
        def fit(self, x, y):
            import warnings

            warnings.warn("I warn", UserWarning, stacklevel=1)
            return super().fit(x, y)

    class Lost(DummyClassifier):
        def predict(self, x):
            return np.full(len(x), np.nan)

    module = types.ModuleType("tests_estimators")
    module.__dict__["Lost"] = Lost
    module.__dict__.update(Fails=Fails, warns=lambda: Warns(), needs=lambda x: x, number=7, nothing=lambda: 7)
    sys.modules["tests_estimators"] = module


@pytest.mark.parametrize(
    "change, asked, error, message",
    [
        ({}, {"estimator": "nowhere.Model"}, ParameterError, "estimator: cannot import 'nowhere.Model': No module"),
        ({}, {"estimator": "sklearn.svm.Nope"}, ParameterError, "cannot import 'sklearn.svm.Nope'"),
        ({}, {"estimator": "Model"}, ParameterError, "cannot import 'Model'"),
        ({}, {"against": "sklearn.svm.Nope"}, ParameterError, "against: cannot import"),
        ({}, {"estimator": "tests_estimators.number"}, ParameterError, "must be an estimator, or make one, got int"),
        ({}, {"estimator": "tests_estimators.nothing"}, ParameterError, "must have fit and predict, got int"),
        ({}, {"estimator": "tests_estimators.needs"}, ParameterError, "cannot be called without arguments"),
        (
            {},
            {"estimator": "tests_estimators.Fails"},
            InputError,
            "estimator Fails fails on fold 0: RuntimeError: no luck$",
        ),
        ({}, {"estimator": "tests_estimators.Lost"}, InputError, "fails on fold 0: ValueError: it predicts nan"),
        (
            {},
            {"estimator": "sklearn.linear_model.Ridge"},
            ParameterError,
            "predicts numbers, but the target",
        ),
        ({"label": np.linspace(0, 1, 60)}, {"estimator": DUMMY}, ParameterError, "predicts classes, but"),
        ({}, {"target": "nope"}, ParameterError, "data frame has no column 'nope'"),
        ({"label": None}, {}, InputError, "label must not be empty, got nothing \\(row 1\\)"),
        ({"label": 1}, {}, InputError, "label must have 2 or more classes, got only '1'"),
        ({"label": [1, 0, 0] + [0] * 57}, {}, ParameterError, "at least 5 rows \\(k\\), got 1"),
        ({"group": ["a", "b", "c"] * 20}, {}, ParameterError, "k must be 2 to the number of groups, 3, got 5"),
        (
            {"time": ["soon"] * 60},
            {},
            InputError,
            "time must hold numbers or ISO dates as times, got 'soon' \\(row 1\\)",
        ),
        ({"time": [1, 2, 3] * 20}, {}, ParameterError, "time must have at least as many distinct values as blocks"),
        ({"time": range(60), "label": [0] * 30 + [1] * 30}, {}, InputError, "among the training rows of fold 0"),
        ({"fold": ["a"] * 60}, {}, InputError, "fold must have 2 or more values"),
        ({}, {"metrics": "mae"}, ParameterError, "'mae' has no meaning for 2 classes"),
        (
            {},
            {"estimator": "sklearn.svm.LinearSVC", "metrics": "log_loss"},
            InputError,
            "needs predict_proba, which",
        ),
        ({}, {"columns": {"user": "x0"}}, ParameterError, "columns: unknown role 'user'"),
        ({}, {"categorical": "zip"}, ParameterError, "has no column 'zip'"),
        ({}, {"task": "ranking"}, ParameterError, "task must be one of classes, number"),
        ({}, {"gate": "better"}, ParameterError, "gate must be one of no severe finding, trusted"),
        ({}, {"preds": "x.csv"}, ParameterError, "preds and features: give one"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, asked, error, message):
    _module()
    with pytest.raises(error, match=message):
        labelled(noise(60).assign(**change), **asked)


@pytest.mark.parametrize(
    "change, asked, error, message",
    [
        ({}, {"target": "label"}, ParameterError, "target: needs features"),
        ({"fold": None}, {}, InputError, "fold must not be empty"),
        ({"fold": 1}, {}, InputError, "fold must have 2 or more values, got \\['1'\\]"),
        ({"label": 0}, {}, InputError, "label must have 2 or more classes"),
        ({"label": [0, 1, 2] * 20}, {}, InputError, "label must hold two classes, or numbers that the score forecasts"),
        ({"score": np.nan}, {}, InputError, "score must be a finite number"),
        (
            {"score": range(60)},
            {"metrics": "brier"},
            ParameterError,
            "'brier' has no meaning for scores outside 0 to 1",
        ),
    ],
)
def test_predictions_that_cannot_be_meant_are_refused(change, asked, error, message):
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    with pytest.raises(error, match=message):
        validation.read(frame.assign(**change), **asked)


def test_predictions_without_a_fold_column():
    frame = pd.DataFrame({"label": [0, 1], "score": [0.1, 0.2]})
    with pytest.raises(InputError, match="no column for the fold"):
        validation.read(frame)


def test_too_many_choices_of_p_rows():
    with pytest.raises(ParameterError, match=r"C\(100, 3\) = 161,700"):
        splits.leave_out(100, 3)


def test_a_fold_with_one_class_has_no_auc_and_is_named():
    rng = np.random.default_rng(8)
    label = np.r_[np.zeros(30), rng.integers(2, size=90)].astype(int)
    frame = pd.DataFrame(
        {"label": label, "score": rng.uniform(size=120), "fold": np.arange(120) // 30, "id": range(120)}
    )
    study = validation.read(frame, metrics="roc_auc")
    assert np.isnan(study.fold_values("system")[0])
    assert "base rate" in [one.check for one in study.findings]
    assert validation_page.by_fold(study).text.count("–") >= 1


def test_bad_input_and_a_failed_gate_end_with_their_status(tmp_path, capsys):
    assert cli.main(["report", "validation", "-p", "target", "x", "-o", str(tmp_path)]) == 2
    assert "target: needs features" in capsys.readouterr().err
    frame = pd.read_csv(CREDIT).query("model == 'forest'").assign(group=np.arange(1000) // 10)
    frame.to_csv(tmp_path / "leaky.csv", index=False)
    asked = ["-p", "preds", str(tmp_path / "leaky.csv"), "-p", "gate", "no severe finding"]
    assert cli.main(["report", "validation", *asked, "-o", str(tmp_path / "out")]) == 3
    assert json.loads((tmp_path / "out" / "validation.json").read_text())["verdict"]["word"] == "fail"


# What is published, and drawn


@pytest.mark.parametrize("name", ["given", "fitted"])
def test_results_follow_the_schema_and_are_the_same_again(name, request):
    study = request.getfixturevalue(name)
    schema = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    published = validation_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(published, schema)
    assert schema["$defs"]["validation"]["required"]
    text = json.dumps(published, allow_nan=False)
    assert str(ROOT) not in text


def test_the_same_fits_give_the_same_numbers(fitted):
    again = validation.read(
        features=CANCER, target="diagnosis", against="sklearn.tree.DecisionTreeClassifier", most_rows=100, k=10, **FAST
    )
    pd.testing.assert_frame_equal(again.by_fold, fitted.by_fold)


def test_pictures_say_what_they_draw(given, fitted):
    assert "10-fold 0." in validation_plots.strip(fitted).alt
    assert "a learning curve" in validation_plots.strip(given).text
    for study in (given, fitted):
        for draw in (validation_plots.fold_map, validation_plots.folds, validation_plots.intervals):
            assert f"{study.rows.size:,} rows" in draw(study).svg
    assert "on test rows" in validation_plots.learning_curve(fitted).alt


def test_the_map_shows_blocks_of_time_apart():
    frame = noise(200).assign(time=np.arange(200))
    study = labelled(frame)
    kinds = validation_plots._stretches(study, study.examples.time)
    assert set(kinds["kind"]) == {"test", "training"}
    first = kinds[kinds["fold"] == "1"].set_index("kind")
    assert first.loc["training", "start"] < first.loc["test", "start"]


def test_progress_is_drawn_on_a_terminal_and_erased(monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with fitting.progress(2) as draw:
        draw(1)
        draw(2)
    assert "fitting [##########..........] 1 of 2" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")
