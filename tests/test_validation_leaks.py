"""Planted leaks, and none; holdouts, repeated folds, ids in two folds: as the validation study
finds them.
"""

import json

import jsonschema
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
    five_fold_study,
    noise,
    severe,
    visits,
)

from evalkit.arrays import InputError
from evalkit.numbers import of_frame
from evalkit.pages import validation_page
from evalkit.statistics.intervals import mover, wilson
from evalkit.studies import validation

# Planted leaks, and none


def test_copied_rows_fail():
    with_copies = pd.concat([cancer(), cancer().iloc[:60]]).drop(columns="id")
    study = five_fold_study(with_copies, target="diagnosis")
    assert study.word == "fail"
    # A row and its copy, 120 rows in all, are in unlike folds with a probability of 4/5: 96.
    assert severe(study)["duplicate rows"].count >= 90
    assert "Do not rely on this evaluation" in validation_page.verdict(study).text


@pytest.mark.parametrize(
    ("values_per_column", "copies"), [(2, 2), (4, 3), (None, 2)], ids=["2", "4", "continuous"]
)
def test_a_table_copied_whole_fails_however_coarse_its_columns(values_per_column, copies):
    """A table of 300 rows occurs two or three times, and a model is fitted to it in five folds. Its
    four columns have 2 or 4 values, or are continuous (None). The coarse ones have equal rows
    before the table is copied, and still the copies are a severe finding.
    """
    rng = np.random.default_rng(11)
    if values_per_column is None:
        features = rng.normal(size=(300, 4))
    else:
        features = rng.integers(0, values_per_column, (300, 4))
    frame = pd.DataFrame(features).rename(columns=str).assign(label=rng.integers(0, 2, 300))
    study = five_fold_study(pd.concat([frame] * copies, ignore_index=True))
    assert study.word == "fail"  # the verdict
    assert f"every row occurs {copies} times" in severe(study)["duplicate rows"].message
    # Without copies the equal rows of coarse columns are a coincidence, worth a note at most.
    without_copies = five_fold_study(frame)
    assert {finding.severity for finding in without_copies.audit_findings} <= {"note"}


def test_copies_that_their_group_keeps_together_are_no_leak():
    """Each of 300 rows has a copy, and a row and its copy have one group. A model is fitted to the
    600 rows in five folds, which keep groups whole: so no copy of a row that is trained on is
    tested, and there is no severe finding.
    """
    rng = np.random.default_rng(14)
    frame = (
        pd.DataFrame(rng.integers(0, 3, (300, 3)))
        .rename(columns=str)
        .assign(label=rng.integers(0, 2, 300))
    )
    frame = frame.assign(group=np.arange(300))
    assert not severe(five_fold_study(pd.concat([frame, frame], ignore_index=True)))


def test_copies_among_coarse_rows_cannot_be_told_from_coincidence():
    """Four columns of 3 values have 3⁴ = 81 combinations: each of 600 rows has about 7 equals that
    are no copies. 60 rows are copied besides, and a model is fitted to all in five folds. Copies
    that are tested while their row is trained on would be a severe finding, but they cannot be told
    from coincidence here: the study says so in place of it, and equal rows with different labels
    are a note.
    """
    rng = np.random.default_rng(12)
    features = pd.DataFrame(rng.integers(0, 3, (600, 4))).rename(columns=str)
    frame = features.assign(label=rng.integers(0, 2, 600))
    study = five_fold_study(pd.concat([frame, frame.iloc[:60]], ignore_index=True))
    assert not severe(study)
    findings = {finding.name: finding for finding in study.audit_findings}
    assert "copies of a few rows could not be detected" in findings["coarse rows"].message
    assert findings["conflicting labels"].severity == "note"


def test_unlike_labels_of_equal_measurements_are_a_warning():
    frame = noise(300, seed=13)
    with_other_labels = frame.iloc[:40].assign(label=1 - frame["label"].iloc[:40])
    study = five_fold_study(pd.concat([frame, with_other_labels], ignore_index=True))
    severities = {finding.name: finding.severity for finding in study.audit_findings}
    assert severities["conflicting labels"] == "warning"


def test_the_target_as_a_feature_fails():
    frame = cancer()
    study = five_fold_study(
        frame.assign(code=np.where(frame["diagnosis"] == "benign", "B", "M")), target="diagnosis"
    )
    assert "code alone predicts the label" in severe(study)["single feature"].message


def test_a_group_in_several_folds_fails_and_one_within_a_fold_does_not():
    frame = pd.read_csv(CREDIT).query("model == 'forest'").drop(columns="model")
    within_folds = frame.assign(group=frame["fold"].astype(str) + frame["age_band"])
    assert not severe(validation.read(within_folds))
    # The folds were drawn at random, so that each ten successive rows lie in several of them.
    across_folds = frame.assign(group=np.arange(1000) // 10)
    assert severe(validation.read(across_folds))["group on both sides"].count > 900


def test_rows_without_ids_are_named_by_their_numbers_in_the_file():
    """A table of predictions has no ids. Its rows count from 1: 1–40 validate, 41–80 train, 81–120
    test. Each row has a group of its own, but two test rows, 86 and 91, have the group of a
    training row. The finding of this leak names them by the numbers of their rows.
    """
    group = [f"group {row}" for row in range(1, 121)]
    for training_row, test_row in ((46, 86), (51, 91)):
        group[test_row - 1] = group[training_row - 1]
    frame = pd.DataFrame(
        {
            "label": np.arange(120) % 2,
            "score": np.linspace(0, 1, 120),
            "group": group,
            "fold": np.repeat(["valid", "train", "test"], 40),
        }
    )
    study = validation.read(frame)
    (finding,) = (
        finding for finding in study.audit_findings if finding.name == "group on both sides"
    )
    assert study.examples_of(finding, 3) == ["row 86", "row 91"]


def test_an_id_in_two_folds_fails():
    frame = pd.read_csv(CREDIT).query("model == 'forest'").drop(columns="model")
    copied = frame.iloc[:7].assign(fold=(frame["fold"].iloc[:7] + 1) % 5)
    study = validation.read(pd.concat([frame, copied]))
    assert severe(study)["id on both sides"].count == 14  # 7 rows and their 7 copies
    assert "gc0000" in validation_page.leakage(study).html


def test_training_on_the_future_fails_and_blocks_of_time_do_not():
    """Each of 100 rows is a day. Folds of every fifth day train on days after those that they test,
    which is a severe finding. Five folds of 20 successive days each train on the days before them.
    Scores do not matter here.
    """
    frame = pd.DataFrame(
        {
            "label": np.arange(100) % 2,
            "score": np.linspace(0.2, 0.8, 100) * (np.arange(100) % 7) / 7,
        }
    )
    frame["time"] = pd.date_range("2026-01-01", periods=100).strftime("%Y-%m-%d")
    interleaved = validation.read(frame.assign(fold=np.arange(100) % 5))
    # Each day but the last is tested by a model that trains on the next day, of another fold.
    assert severe(interleaved)["time travel"].count == 99
    blocks = validation.read(frame.assign(fold=np.arange(100) // 20))
    assert not severe(blocks)
    assert "blocks of time" in blocks.folds.rule
    training_rows = blocks.by_fold.query("system == 'score'").set_index("fold")["train"]
    assert training_rows.tolist() == [0, 20, 40, 60, 80]  # the blocks before


def test_a_score_that_is_the_label_fails():
    rng = np.random.default_rng(2)
    label = np.arange(400) % 2
    fold = rng.permutation(np.arange(400) % 4)
    frame = pd.DataFrame({"label": label, "fold": fold, "id": np.arange(400), "score": label})
    assert "score is the label" in severe(validation.read(frame))


def test_scores_that_rise_with_the_fold_are_on_other_scales_and_do_not_pass():
    """Scores range over 0.3 within a fold, and are higher by 0.15 in each fold than in the one
    before: half of the range. To rank the rows of all folds together by such scores would compare
    scales, and so the study has a finding about them and does not end with the word "pass".
    """
    rng = np.random.default_rng(2)
    label = np.arange(400) % 2
    fold = rng.permutation(np.arange(400) % 4)
    score = rng.uniform(0, 0.2, 400) + 0.1 * label + 0.15 * fold
    frame = pd.DataFrame({"label": label, "fold": fold, "id": np.arange(400), "score": score})
    study = validation.read(frame)
    assert study.word == "cannot tell"
    assert "score scale" in [finding.name for finding in study.audit_findings]


def scores_of_a_tree(*, shift_by_fold, rows=1000):
    """Scores of a tree with four leaves, which are its four probabilities, in five folds; that of
    each leaf is higher by a shift in each fold than in the fold before.
    """
    rng = np.random.default_rng(8)
    fold = np.arange(rows) % 5
    leaf = rng.integers(4, size=rows)
    label = rng.random(rows) < np.array([0.05, 0.3, 0.7, 0.95])[leaf]
    score = np.array([0.05, 0.3, 0.7, 0.95])[leaf] + shift_by_fold * (fold - 2)
    return pd.DataFrame({"id": np.arange(rows), "label": label * 1, "score": score, "fold": fold})


def names_of_findings(frame):
    return [finding.name for finding in validation.read(frame).audit_findings]


@pytest.mark.parametrize("rows", [300, 1000, 20_000])
def test_leaves_that_differ_little_by_fold_are_on_one_scale(rows):
    assert "score scale" not in names_of_findings(scores_of_a_tree(shift_by_fold=0.002, rows=rows))


@pytest.mark.parametrize("rows", [300, 1000])
def test_leaves_that_are_shifted_by_fold_are_on_other_scales(rows):
    assert "score scale" in names_of_findings(scores_of_a_tree(shift_by_fold=0.15, rows=rows))


def test_a_fold_whose_scores_have_another_factor_is_on_another_scale():
    frame = scores_of_a_tree(shift_by_fold=0.01)
    frame["score"] *= np.where(frame["fold"] == 1, 1000, 1)
    assert "score scale" in names_of_findings(frame)


def test_another_system_on_other_scales_is_a_note_where_the_mean_of_folds_decides():
    """The system good has the same scale in all five folds of 100 rows; it is the best one, about
    which the study is (`evaluated_system`). The scores of poor are noise that is higher by 0.5 in
    each fold than in the one before. With fewer than 1,000 rows the answer of the study is the mean
    over folds and pools no rows, so that the scale of another system harms nothing: the finding is
    a note in place of a warning.
    """
    good = scores_of_a_tree(shift_by_fold=0.0, rows=500)
    random = np.random.default_rng(3).random(500)
    poor = good.assign(score=random + 0.5 * good["fold"], model="poor")
    study = validation.read(pd.concat([good.assign(model="good"), poor]))
    assert study.evaluated_system == "good"
    assert study.answer["what"] == "mean of folds, Nadeau–Bengio"
    (of_scales,) = (finding for finding in study.audit_findings if finding.name == "score scale")
    assert of_scales.message.startswith("poor: ")
    assert of_scales.severity == "note"


def test_one_bad_fold_is_heterogeneous():
    """Of 500 decisions about 80 % are right in four folds, but only about 40 % in the last. Then
    the interval that pools all rows is not to be trusted, and the mean of folds is the answer.
    Cochran's Q of the five accuracies is Pearson's chi-square of right and wrong by fold, but for
    the variance.
    """
    rng = np.random.default_rng(3)
    fold = np.arange(500) % 5
    label = rng.integers(2, size=500)
    accuracy = np.where(fold == 4, 0.4, 0.8)
    decision = np.where(rng.uniform(size=500) < accuracy, label, 1 - label)
    score = 0.2 + 0.6 * decision  # 0.8 for a decision of 1, and 0.2 for one of 0
    study = validation.read(
        pd.DataFrame({"label": label, "score": score, "fold": fold, "id": np.arange(500)})
    )
    assert study.heterogeneity["p"] < 1e-6
    assert not intervals_by_name(study).loc["pooled out of fold", "honest"]
    assert "mean of folds, Nadeau–Bengio" in validation_page.verdict(study).html
    assert "heterogeneous folds" in [finding.name for finding in study.audit_findings]
    from scipy.stats import chi2_contingency

    right_by_fold = pd.crosstab(fold, decision == label).to_numpy()
    chi_square = chi2_contingency(right_by_fold, correction=False).statistic
    # Q divides by the variance over n − 1 = 499 rows, chi-square by that over n = 500.
    assert study.heterogeneity["q"] == pytest.approx(chi_square * 499 / 500)


def test_only_a_fold_column_can_prove_nothing():
    """The table has scores, labels and five folds, but no id, group or time, so that leaks between
    folds cannot be looked for. Nothing is wrong, and yet the verdict is not pass.
    """
    rng = np.random.default_rng(4)
    label = np.arange(200) % 2
    frame = pd.DataFrame(
        {
            "label": label,
            "score": 0.3 * label + rng.uniform(0, 0.7, 200),
            "fold": np.arange(200) // 40,
        }
    )
    study = validation.read(frame)
    assert study.word == "cannot tell"
    assert "no id" in validation_page.verdict(study).html


@pytest.mark.parametrize("seed", range(3))
def test_noise_raises_nothing_severe(seed):
    study = five_fold_study(noise(200, seed=seed))
    assert not severe(study)
    assert study.paired.iloc[0]["verdict"] in ("cannot tell", "worse")


# A selection outside the folds


def noise_and_selected_columns(
    *, seed: int, rows: int = 100, columns: int = 1000, kept: int = 10
) -> tuple[pd.DataFrame, list[str]]:
    """Features that are noise beside labels of two equal classes, and the names of the columns
    whose class means lie furthest apart on all rows: a selection that knows the test rows.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    y = np.arange(rows) % 2
    apart = np.abs(x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0))
    frame = pd.DataFrame(x, columns=[f"g{i}" for i in range(columns)]).assign(label=y)
    return frame, [f"g{i}" for i in np.argsort(apart)[-kept:]]


def test_a_selection_outside_the_folds_fails_and_the_page_shows_both():
    """The label does not depend on any of 1,000 columns. The 10 that separate the classes best on
    all 100 rows were selected before the folds were made (`selected`). With them the accuracy of a
    logistic regression is above 0.65; selected anew in each fold, on training rows alone, columns
    give that of guessing, 0.5. The table of the page shows the first one crossed out beside the
    second one with its interval.
    """
    noise_columns, selected = noise_and_selected_columns(seed=4, columns=1000, kept=10)
    study = five_fold_study(noise_columns, selected=selected)
    assert study.word == "fail"
    finding = severe(study)["selection outside"]
    assert "10 of 1,000 columns were selected outside the folds" in finding.message
    assert "Do not rely on this evaluation" in validation_page.verdict(study).text
    accuracy = study.selection.set_index("columns")["value"]
    outside = accuracy["LogisticRegression"]  # of the columns that were selected
    inside = accuracy["selected anew, in each fold"]
    assert min(outside, accuracy["selected anew, on all rows"]) > 0.65
    assert inside == pytest.approx(0.5, abs=0.15)  # 3 · √(0.5 · 0.5 / 100) = 0.15
    section = validation_page.selection(study)
    places = of_frame(study.selection, "value")  # decimal places of the printed values
    assert f"<s>{outside:.{places}f}" in section.html  # crossed out
    assert f"{inside:.{places}f} [" in section.text
    assert "not set" not in validation_page.verdict(study).text


def test_the_selection_inside_a_fold_sees_its_training_rows_alone():
    """Of 60 columns of noise, 10 are selected on all rows. The study also selects 10 anew in each
    fold, and must then have the accuracy of a pipeline of scikit-learn, which fits its scaling and
    its selection on the training rows of a fold.
    """
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame, selected = noise_and_selected_columns(seed=4, columns=60, kept=10)
    study = five_fold_study(frame, selected=selected)
    accuracy = study.selection.set_index("columns")["value"]
    model = make_pipeline(StandardScaler(), SelectKBest(k=10), LogisticRegression(max_iter=1000))
    label = frame["label"]
    predicted = cross_val_predict(model, frame.drop(columns="label"), label, cv=study.folds)
    expected = (predicted == label).mean()
    assert accuracy["selected anew, in each fold"] == pytest.approx(expected)


def test_columns_named_without_a_look_at_the_label_are_no_leak():
    frame, _ = noise_and_selected_columns(seed=4, columns=200)
    study = five_fold_study(frame, selected=[f"g{i}" for i in range(10)])  # the first ten
    assert not severe(study)
    (finding,) = (
        finding for finding in study.audit_findings if finding.name == "selection outside"
    )
    assert finding.severity == "note"


@pytest.mark.parametrize(
    "asked",
    [
        {"features": CANCER, "target": "diagnosis", "selected": "worst_*"},
        {"features": applicants(), "selected": "housing,credit_amount", "metrics": "roc_auc"},
        {
            "features": visits(1500),
            "target": "mdvis",
            "columns": {"group": "person"},
            "selected": "disea,physlm",
        },
    ],
)
def test_a_selection_on_clean_data_is_no_severe_finding(asked):
    study = validation.read(**asked, **FAST)
    assert not severe(study)
    assert len(validation_page.selection(study).html) > 100


# Every bundled set


BUNDLED = examples("bundled")  # by the file of a table, the parameters of its study


def test_each_bundled_table_is_studied_or_has_nothing_to_predict():
    """BUNDLED has the parameters of a validation study of each table under data/ that has a
    target; a table that is added there must be listed too.
    """
    data = ROOT / "data"
    tables = {
        str(path.relative_to(data))
        for path in data.rglob("*")
        if path.suffix in (".csv", ".parquet")
    }
    queries = {"digits_retrieval/queries.csv"}  # texts of queries, without a target
    units_of_reports = {f"two_days/{day}/classification.units.parquet" for day in ("old", "new")}
    assert tables == set(BUNDLED) | queries | units_of_reports


def study_of_bundled(name, **more):
    """The study of a bundled table, with its parameters and more."""
    parameters = {key: value for key, value in BUNDLED[name].items() if key != "frame"}
    features = visits(20190) if "frame" in BUNDLED[name] else f"data/{name}"
    return validation.read(features=features, **parameters | FAST | more)


# of these, another table by day has the same kind of target and of columns
FURTHER_TABLES = (
    "digit_traits/predictions.csv",
    "rand_hie/visits.parquet",
    "modechoice/scores_wide.csv",
    "interleaving/health_plans.parquet",
    "interleaving/sessions.parquet",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in FURTHER_TABLES else [])
        for name in BUNDLED
    ],
)
def test_a_bundled_set_raises_no_severe_finding(name):
    study = study_of_bundled(name)
    assert not severe(study)
    if "ignore" in BUNDLED[name]:
        assert "named by ignore" in validation_page.findings(study).text


@pytest.mark.parametrize(
    "name, column",
    [("digit_traits/predictions.csv", "digit"), ("interleaving/sessions.parquet", "hours")],
)
def test_a_column_that_tells_the_target_is_found_until_it_is_ignored(name, column):
    ignored = ",".join(one for one in BUNDLED[name]["ignore"].split(",") if one != column)
    study = study_of_bundled(name, ignore=ignored)
    assert f"{column} alone predicts the label" in severe(study)["single feature"].message


def scored_rows(n: int = 200, *, seed: int = 0) -> pd.DataFrame:
    """Rows of an id, a label, half of them 1, and a score that is 0.2 higher for the label 1."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    score = np.clip(0.5 + 0.2 * (label - 0.5) + rng.normal(0, 0.25, n), 0, 1)
    return pd.DataFrame({"id": [f"r{i:04}" for i in range(n)], "label": label, "score": score})


def holdout_rows(train: str = "train", test: str = "test") -> pd.DataFrame:
    """Of 200 rows the first 120 train, whose scores of 0.1 and 0.9 are all right, and 80 test."""
    frame = scored_rows().assign(fold=np.where(np.arange(200) < 120, train, test))
    fitted = frame["fold"] == train
    return frame.assign(score=np.where(fitted, 0.1 + 0.8 * frame["label"], frame["score"]))


def rows_of_repeated_folds(repeats: int = 5, k: int = 4) -> pd.DataFrame:
    """The same 200 ids in each repeat, with folds drawn anew and nearly the same scores."""
    parts = []
    rng = np.random.default_rng(3)
    for i in range(repeats):
        one = scored_rows().assign(repeat=i, fold=rng.permutation(np.arange(200) % k))
        parts.append(one.assign(score=np.clip(one["score"] + rng.normal(0, 0.01, 200), 0, 1)))
    return pd.concat(parts, ignore_index=True)


def intervals_by_name(study) -> pd.DataFrame:
    """The intervals of the same value, by what each of them is of."""
    return study.intervals.set_index("what")


def text_of_the_page(study) -> str:
    """The texts and pictures of the page, and results that keep to the schema."""
    schema = json.loads((ROOT / "evalkit" / "schema.json").read_text(encoding="utf-8"))
    published = validation_page.results(study)._repr_mimebundle_()["application/vnd.evalkit+json"]
    jsonschema.validate(published, schema)
    json.dumps(published, allow_nan=False)
    for draw in (validation_page.fold_map, validation_page.folds, validation_page.interval_plot):
        assert draw(study).svg
    of_page = [
        getattr(validation_page, name)
        for name in ("title", "verdict", "findings", "leakage", "definitions")
    ]
    of_folds = [
        validation_page.intervals,
        validation_page.by_fold,
        validation_page.paired,
        validation_page.estimates,
    ]
    return "\n".join(part(study).html for part in [*of_page, *of_folds])


# A holdout


@pytest.mark.parametrize(
    "train, test",
    [
        ("train", "test"),
        pytest.param("training", "testing", marks=pytest.mark.slow),
        pytest.param("Train", "Holdout", marks=pytest.mark.slow),
        pytest.param("train", "held-out", marks=pytest.mark.slow),
        pytest.param("train", "valid", marks=pytest.mark.slow),
    ],
)
def test_a_holdout_is_one_test_set_with_its_training_gap(train, test):
    """A holdout has two folds, named train and test or with synonyms of these. All 120 training
    rows are predicted right, some of the 80 test rows are not: they are the test set, of which no
    interval pools folds. The training gap is the accuracy on training rows minus that on test rows;
    its interval is Newcombe's, from two Wilson intervals (`mover`). The page says of how many rows
    each number is.
    """
    frame = holdout_rows(train, test)
    study = validation.read(frame)
    test_rows = frame[frame["fold"] == test]
    right = int(((test_rows["score"] >= 0.5) == test_rows["label"]).sum())
    of_tests = intervals_by_name(study).loc["on the test rows"]
    assert (of_tests["n"], of_tests["value"]) == (80, right / 80)
    assert "pooled out of fold" not in intervals_by_name(study).index
    gap = study.training_gap
    assert gap == mover(wilson(120, 120), wilson(right, 80))
    assert gap.value == pytest.approx(1 - right / 80)
    assert gap.low > 0
    text = text_of_the_page(study)
    assert "80 test rows of one holdout" in text
    assert "on 120 training rows minus that on 80 test rows" in text
    before_the_definitions = text.split("<dl")[0]
    assert "pooled out of fold" not in before_the_definitions.lower()
    (against_majority,) = study.paired.to_dict("records")
    assert against_majority["verdict"] == "better"


def test_the_majority_of_a_holdout_is_that_of_its_training_rows():
    """The study adds a system majority to each table of predictions, which always predicts the
    class that is most frequent in training, here 1. Two thirds of the training rows have the label
    1, but only a third of the test rows, and so the accuracy of majority is the share of the label
    1 among the test rows.
    """
    frame = holdout_rows()
    third = np.arange(200) % 3 == 0
    is_training = frame["fold"] == "train"
    frame["label"] = np.where(is_training, ~third, third).astype(int)
    study = validation.read(frame)
    share_of_1_in_test = frame.loc[~is_training, "label"].mean()
    accuracy = study.primary_metric  # the first metric, about which the study is
    assert study.estimate(accuracy, "majority").value == share_of_1_in_test


def test_the_validation_rows_beside_a_test_set_are_left_out_and_counted():
    frame = holdout_rows()
    validation_rows = scored_rows(50, seed=9).assign(id=[f"v{i}" for i in range(50)], fold="dev")
    study = validation.read(pd.concat([frame, validation_rows]))
    assert study.training_gap == validation.read(frame).training_gap
    assert "50 rows of the fold dev: a validation set" in validation_page.findings(study).text


@pytest.mark.parametrize(
    "train, test",
    [
        ("training", "testing"),
        ("Train", "Holdout"),
        ("train", "held-out"),
        ("train", "valid"),
        ("tr", "te"),
        ("in-sample", "out-of-sample"),
        ("train", "OOT"),
        ("seen", "unseen"),
        ("fit", "oos"),
    ],
)
def test_a_holdout_by_other_names_is_one_test_set(train, test):
    """A table of 200 predictions has two folds. Named in-sample and out-of-sample, or seen and
    unseen, they are those of a holdout as train and test are: the study finds a holdout, and the
    same training gap, i.e. difference of the accuracy on training and test rows.
    """
    frame = holdout_rows()
    named = frame.assign(fold=frame["fold"].map({"train": train, "test": test}))
    study = validation.read(named)
    usual = validation.read(frame)
    assert study.holdout
    assert study.training_gap == usual.training_gap


@pytest.mark.parametrize("name", ["seed", "iteration", "Random State", "draw"])
def test_folds_drawn_several_times_under_another_name_are_refused_by_name(name):
    """Folds were drawn five times, so that each id has five rows; the column repeat numbers the
    draws. Under the name seed or draw (`name`) the column is not taken for it: the error says how
    to name it by the parameter columns, which then works.
    """
    frame = rows_of_repeated_folds()
    assert validation.read(frame).examples.repeats == 5
    renamed = frame.rename(columns={"repeat": name})
    with pytest.raises(InputError, match=f"columns='repeat={name}'"):
        validation.read(renamed)
    assert validation.read(renamed, columns={"repeat": name}).examples.repeats == 5


@pytest.mark.parametrize("name", ["seed", "iteration", "Random State", "draw"])
def test_a_constant_column_that_could_number_draws_does_not_hide_an_id_in_two_folds(name):
    frame = scored_rows().assign(fold=np.arange(200) % 4, **{name: 0})
    frame.loc[0, "id"] = frame.loc[1, "id"]  # in the folds 0 and 1
    assert "id on both sides" in severe(validation.read(frame))


def test_a_holdout_of_dated_rows_and_of_groups():
    """The first 120 of 200 rows train and the last 80 are tested. Groups of four rows are the units
    of the intervals: that of the accuracy on test rows, and that of the training gap, i.e. the
    accuracy on training rows minus that on test rows. Training on older rows is no leak; with the
    times reversed, all 80 test rows are older than training rows.
    """
    frame = holdout_rows().assign(time=np.arange(200), group=np.arange(200) // 4)
    study = validation.read(frame)
    assert not severe(study)
    # 120 training and 80 test rows are 30 and 20 groups of 4.
    of_tests = intervals_by_name(study).loc["on the test rows"]
    assert (of_tests["n"], of_tests["unit"]) == (20, "group")
    assert study.training_gap.n == 30 + 20
    trained_on_the_latest = frame.assign(time=frame["time"].to_numpy()[::-1])
    assert severe(validation.read(trained_on_the_latest))["time travel"].count == 80


def test_an_id_on_both_sides_of_a_holdout_is_the_severe_finding():
    frame = holdout_rows()
    frame.loc[199, "id"] = frame.loc[0, "id"]
    assert severe(validation.read(frame))["id on both sides"].count == 1


def test_a_holdout_beside_features_is_fitted_once():
    frame = noise(200).assign(fold=np.where(np.arange(200) < 120, "train", "test"))
    study = validation.read(features=frame, **FAST)
    assert [test.size for _, test in study.folds.pairs] == [80]
    assert study.training_gap.n == 200
    assert "80 test rows of one holdout" in text_of_the_page(study)


# Repeats


@pytest.mark.parametrize("name", ["repeat", "repetition", "rep"])
def test_repeated_folds_count_each_id_once(name):
    """Four folds of 200 ids are drawn five times, and each draw predicts all ids with nearly the
    same scores: the 1,000 rows are 200 independent units. The column of the draws may be called
    repeat, repetition or rep. So the pooled interval is that of 200 ids; a second interval takes
    the 1,000 rows for independent, is too narrow, and is marked as not honest. The study also
    compares with always predicting the majority, over the 20 folds, and the page says how many ids,
    folds and draws there are.
    """
    frame = rows_of_repeated_folds(repeats=5, k=4)
    study = validation.read(frame.rename(columns={"repeat": name}))
    assert not severe(study)
    pooled = intervals_by_name(study).loc["pooled out of fold, ids with all their repeats"]
    assert (pooled["n"], pooled["unit"]) == (200, "id")
    right = (frame["score"] >= 0.5) == frame["label"]
    assert pooled["value"] == pytest.approx(right.groupby(frame["id"]).mean().mean())
    naive = intervals_by_name(study).loc["pooled, as if each repeat of an id were another row"]
    assert not naive["honest"]
    # Repeats are nearly copies, and five times as many rows narrow an interval by √5 = 2.2.
    width = pooled["high"] - pooled["low"]
    naive_width = naive["high"] - naive["low"]
    assert width > 1.8 * naive_width
    assert len(study.tests) == 5 * 4
    (against_majority,) = study.paired.to_dict("records")
    assert (against_majority["n"], against_majority["unit"]) == (5 * 4, "fold")
    text = text_of_the_page(study)
    assert "200 ids, 5 repeats of 4 folds" in text
    assert "drawn 5 times: the 1,000 rows have 200 ids, each of them in 5 rows" in text


def test_repeated_folds_of_two_systems_are_paired_by_id_and_repeat():
    one = rows_of_repeated_folds()
    both = pd.concat([one.assign(system="a"), one.assign(system="b", score=1 - one["score"])])
    study = validation.read(both)
    assert study.compare_pooled(study.primary_metric, ("a", "b")).difference.n == 200
    assert not severe(study)


def test_one_repeat_is_no_repeat():
    study = validation.read(rows_of_repeated_folds(1))
    assert intervals_by_name(study).loc["pooled out of fold", ["n", "method"]].tolist() == [
        200,
        "Wilson",
    ]


def test_an_id_in_two_folds_of_one_repeat_is_the_severe_finding():
    frame = rows_of_repeated_folds()
    copy = frame.iloc[[0]].assign(fold=(frame["fold"].iloc[0] + 1) % 4)
    assert severe(validation.read(pd.concat([frame, copy])))["id on both sides"].count == 2


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda d: d.drop(columns="id"),
            "the column 'repeat' numbers repeats of rows, so an id column must",
        ),
        (
            lambda d: d.assign(label=np.where(d.index == 200, 1 - d["label"], d["label"])),
            "row 201: label must have one value",
        ),
        (
            lambda d: d.assign(fold=np.where(d["repeat"] == 2, 0, d["fold"])),
            "in each repeat, got only '0' in repeat",
        ),
        (
            lambda d: pd.concat([d, d.iloc[[7]]]),
            "id 'r0007' must occur once per repeat and fold, got it again",
        ),
    ],
)
def test_repeats_that_cannot_be_meant_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        validation.read(change(rows_of_repeated_folds()))


def test_rows_that_come_twice_are_refused_without_a_column_of_repeats_too():
    """A table of 200 rows occurs twice: row 201 is the second of the first id. Without a column
    that numbers the repeats, an id must occur once, and the error suggests to name the ids as
    groups, if they are: then the 400 rows are read.
    """
    frame = scored_rows().assign(fold=np.arange(200) % 4)
    twice = pd.concat([frame, frame])
    with pytest.raises(
        InputError, match=r"row 201: id '.*' must occur once per fold, got it again; .*'group=id'"
    ):
        validation.read(twice)
    assert len(validation.read(twice, columns="group=id").examples) == 400


def test_features_that_are_repeated_are_refused_by_name():
    """A table of 60 rows with three features, labels and folds occurs twice, numbered by a column
    repeat. Repeats are for tables of predictions. A model that the study fits to a table of
    features needs each row once, so that the column is refused.
    """
    frame = noise(60).assign(id=np.arange(60), fold=np.arange(60) % 3)
    both = pd.concat([frame.assign(repeat=0), frame.assign(repeat=1)])
    with pytest.raises(
        InputError, match="must hold each row once, got the column 'repeat' beside id and fold"
    ):
        validation.read(features=both, **FAST)


# An id in two folds


def test_an_id_in_two_folds_is_the_severe_finding_with_a_system_column_too():
    """Both systems a and b predict the same rows: 200 ids, of which the first 7 occur again in a
    second fold. Such an id is trained on while it is tested, so that the study has the word "fail".
    The finding counts the 14 rows of the 7 ids once, not for each system, and the study has 200 + 7
    examples.
    """
    frame = scored_rows().assign(fold=np.arange(200) % 4)
    in_the_next_fold = frame.iloc[:7].assign(fold=(np.arange(7) + 1) % 4)
    a = pd.concat([frame, in_the_next_fold]).assign(system="a")
    study = validation.read(pd.concat([a, a.assign(system="b", score=1 - a["score"])]))
    assert study.word == "fail"
    assert severe(study)["id on both sides"].count == 14
    assert len(study.examples) == 200 + 7


def test_systems_with_other_folds_are_refused():
    """The systems a and b predict the same 200 rows in four folds, but one row, r0005, is in
    another fold for b than for a. Both must be tested on the same rows of each fold, so that the
    table is refused with the id and the fold.
    """
    a = scored_rows().assign(fold=np.arange(200) % 4, system="a")
    b = a.assign(system="b")
    b.loc[5, "fold"] = 0  # of the id r0005, which is in fold 5 % 4 = 1 in a
    with pytest.raises(
        InputError, match="id 'r0005' must be in the same folds in every system, got fold '1'"
    ):
        validation.read(pd.concat([a, b]))
