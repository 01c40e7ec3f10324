"""Planted leaks are found by the validation study, and clean data raise nothing severe."""

import numpy as np
import pandas as pd
import pytest
from samples import examples
from validation_tables import (
    CANCER,
    CREDIT,
    FAST,
    ROOT,
    applicants,
    cancer,
    labelled,
    noise,
    severe,
    visits,
)

from evalkit.numbers import of_frame
from evalkit.pages import validation_page
from evalkit.studies import validation

# Planted leaks, and none


def test_copied_rows_fail():
    study = labelled(pd.concat([cancer(), cancer().iloc[:60]]).drop(columns="id"), target="diagnosis")
    assert study.word == "fail"
    assert severe(study)["duplicate rows"].count >= 90
    assert "cannot be trusted" in validation_page.verdict(study).text


@pytest.mark.parametrize("levels, times", [(2, 2), (4, 3), (np.inf, 2)])
def test_a_table_copied_whole_fails_however_coarse_its_columns(levels, times):
    rng = np.random.default_rng(11)
    values = rng.normal(size=(300, 4)) if levels == np.inf else rng.integers(0, levels, (300, 4))
    frame = pd.DataFrame(values).rename(columns=str).assign(label=rng.integers(0, 2, 300))
    study = labelled(pd.concat([frame] * times, ignore_index=True))
    assert study.word == "fail"
    assert f"every row occurs {times} times" in severe(study)["duplicate rows"].message
    clean = {one.name: one.severity for one in labelled(frame).findings}
    assert set(clean.values()) <= {"note"}


def test_copies_that_their_group_keeps_together_are_no_leak():
    rng = np.random.default_rng(14)
    frame = pd.DataFrame(rng.integers(0, 3, (300, 3))).rename(columns=str).assign(label=rng.integers(0, 2, 300))
    frame = frame.assign(group=np.arange(300))
    assert not severe(labelled(pd.concat([frame, frame], ignore_index=True)))


def test_copies_among_coarse_rows_cannot_be_told_from_coincidence():
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(rng.integers(0, 3, (600, 4))).rename(columns=str).assign(label=rng.integers(0, 2, 600))
    study = labelled(pd.concat([frame, frame.iloc[:60]], ignore_index=True))
    assert not severe(study)
    found = {one.name: one for one in study.findings}
    assert "copies of a few rows could not be detected" in found["coarse rows"].message
    assert found["conflicting labels"].severity == "note"


def test_unlike_labels_of_equal_measurements_are_a_warning():
    frame = noise(300, seed=13)
    again = frame.iloc[:40].assign(label=1 - frame["label"].iloc[:40])
    study = labelled(pd.concat([frame, again], ignore_index=True))
    assert {one.name: one.severity for one in study.findings}["conflicting labels"] == "warning"


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


def test_rows_without_ids_are_named_by_their_numbers_in_the_file():
    groups = [f"g{i % 40}" if i in (45, 50, 85, 90) else f"own {i}" for i in range(120)]
    frame = pd.DataFrame({"label": np.arange(120) % 2, "score": np.linspace(0, 1, 120), "group": groups})
    study = validation.read(frame.assign(fold=np.repeat(["valid", "train", "test"], 40)))
    (finding,) = (finding for finding in study.findings if finding.name == "group on both sides")
    assert study.examples_of(finding, 3) == ["row 86", "row 91"]


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
    assert "score scale" in [one.name for one in study.findings]


def test_one_bad_fold_is_heterogeneous():
    rng = np.random.default_rng(3)
    fold, label = np.arange(500) % 5, rng.integers(2, size=500)
    right = np.where(fold == 4, 0.4, 0.8)
    score = np.where(rng.uniform(size=500) < right, label, 1 - label) * 0.6 + 0.2
    study = validation.read(pd.DataFrame({"label": label, "score": score, "fold": fold, "id": np.arange(500)}))
    assert study.unlike["p"] < 1e-6
    assert not study.intervals.iloc[0]["honest"]
    assert "mean of folds, Nadeau–Bengio" in validation_page.verdict(study).html
    assert "heterogeneous folds" in [one.name for one in study.findings]
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


# A selection outside the folds


def planted(*, seed: int, rows: int = 100, columns: int = 1000, kept: int = 10) -> tuple[pd.DataFrame, list[str]]:
    """Noise with labels of two equal classes, and the columns whose class means lie furthest apart on all rows."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(rows, columns)), np.arange(rows) % 2
    apart = np.abs(x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0))
    frame = pd.DataFrame(x, columns=[f"g{i}" for i in range(columns)]).assign(label=y)
    return frame, [f"g{i}" for i in np.argsort(apart)[-kept:]]


def test_a_selection_outside_the_folds_fails_and_the_page_shows_both():
    frame, kept = planted(seed=4)
    study = labelled(frame, selected=kept)
    assert study.word == "fail"
    found = severe(study)["selection outside"]
    assert "10 of 1,000 columns were selected outside the folds" in found.message
    assert "cannot be trusted" in validation_page.verdict(study).text
    outside, again, inside = study.selection["value"]
    assert min(outside, again) > 0.65
    assert inside == pytest.approx(0.5, abs=0.15)  # three standard errors of 100 rows
    shown = validation_page.selection(study)
    places = of_frame(study.selection, "value")
    assert f"<s>{outside:.{places}f}" in shown.html
    assert f"{inside:.{places}f} [" in shown.text
    assert "not set" not in validation_page.verdict(study).text


def test_the_selection_inside_a_fold_sees_its_training_rows_alone():
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame, kept = planted(seed=4, columns=60)
    study = labelled(frame, selected=kept)
    model = make_pipeline(StandardScaler(), SelectKBest(k=10), LogisticRegression(max_iter=1000))
    said = cross_val_predict(model, frame.drop(columns="label"), frame["label"], cv=study.folds)
    assert study.selection["value"].iloc[-1] == pytest.approx((said == frame["label"]).mean())


def test_columns_named_without_a_look_at_the_label_are_no_leak():
    frame, _ = planted(seed=4)
    study = labelled(frame, selected=[f"g{i}" for i in range(10)])
    assert not severe(study)
    assert [one.severity for one in study.findings if one.name == "selection outside"] == ["note"]


@pytest.mark.parametrize(
    "asked",
    [
        {"features": CANCER, "target": "diagnosis", "selected": "worst_*"},
        {"features": applicants(), "selected": "housing,credit_amount", "metrics": "roc_auc"},
        {"features": visits(1500), "target": "mdvis", "columns": {"group": "person"}, "selected": "disea,physlm"},
    ],
)
def test_a_selection_on_clean_data_is_no_severe_finding(asked):
    study = validation.read(**asked, **FAST)
    assert not severe(study)
    assert len(validation_page.selection(study).html) > 100


# Every bundled set


BUNDLED = examples("bundled")
NO_TARGET = {"digits_retrieval/queries.csv"}  # queries and what they show: nothing to predict it from


def test_every_bundled_table_is_looked_at():
    data = ROOT / "data"
    tables = {str(path.relative_to(data)) for path in data.rglob("*") if path.suffix in (".csv", ".parquet")}
    assert tables == set(BUNDLED) | NO_TARGET


def looked_at(name, **more):
    """The study of a bundled table."""
    asked = {key: value for key, value in BUNDLED[name].items() if key != "frame"}
    features = visits(20190) if "frame" in BUNDLED[name] else f"data/{name}"
    return validation.read(features=features, **asked | FAST | more)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_set_raises_no_severe_finding(name):
    study = looked_at(name)
    assert not severe(study)
    if "ignore" in BUNDLED[name]:
        assert "named by ignore" in validation_page.findings(study).text


@pytest.mark.parametrize(
    "name, column", [("digit_traits/predictions.csv", "digit"), ("interleaving/sessions.parquet", "hours")]
)
def test_a_column_that_tells_the_target_is_found_until_it_is_ignored(name, column):
    ignored = ",".join(one for one in BUNDLED[name]["ignore"].split(",") if one != column)
    study = looked_at(name, ignore=ignored)
    assert f"{column} alone predicts the label" in severe(study)["single feature"].message
