from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evalkit.metrics.counts import count
from evalkit.offline import fitting, leakage, splits

VISITS = Path(__file__).resolve().parents[1] / "data" / "rand_hie" / "visits.parquet"


def cancer():
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    return data.data, data.target.to_numpy()


def found(findings, severity="severe"):
    return {f.name: f for f in findings if f.severity == severity}


def audit(folds, **columns):
    return leakage.audit(folds, rng=np.random.default_rng(0), **columns)


def test_repeated_measures_are_severe_by_row_and_not_by_person():
    visits = pd.read_parquet(VISITS)
    features = visits.drop(columns=["id", "mdvis"])
    fixed = features[["lncoins", "idp", "physlm", "disea"]]
    person = (fixed != fixed.shift()).any(axis=1).cumsum()
    by_row = leakage.duplicates(splits.k_fold(len(visits), seed=0, k=5), features)
    by_person = leakage.duplicates(splits.group_k_fold(person, seed=0, k=5), features)
    assert (by_row.severity, by_person.severity) == ("severe", "note")


def test_copied_rows_are_found():
    x, y = cancer()
    copied = np.r_[np.arange(569), np.arange(12)]
    folds = splits.by_column(np.r_[np.zeros(569), np.ones(12)])
    finding = found(audit(folds, features=x.iloc[copied], label=y[copied]))["duplicate rows"]
    # fold 0 tests the originals, fold 1 the copies: both are seen in training
    assert finding.count == 24
    assert finding.rows == (0, 1, 2, 3, 4)


def test_nearly_copied_rows_are_found():
    x, y = cancer()
    rng = np.random.default_rng(2)
    near = x.iloc[:12] * (1 + 1e-6 * rng.normal(size=(12, x.shape[1])))
    table = pd.concat([x, near], ignore_index=True)
    folds = splits.by_column(np.r_[np.zeros(569), np.ones(12)])
    findings = found(audit(folds, features=table, label=np.r_[y, y[:12]]))
    assert "duplicate rows" not in findings
    assert findings["near duplicates"].count == 24


def test_a_user_on_both_sides_is_found():
    user = np.repeat(np.arange(20), 5)
    clean = splits.group_k_fold(user, seed=0, k=4)
    assert not found(audit(clean, group=user))
    train, test = clean.pairs[0]
    user[test[0]] = user[train[0]]
    finding = leakage.crossing(splits.Folds(100, clean.pairs[:1], "one fold"), user, "group")
    assert finding.rows == (int(test[0]),)
    assert "group on both sides" in found(audit(clean, group=user))


def test_a_future_timestamp_is_found():
    time = np.arange(50.0)
    folds = splits.forward(time, k=4)
    assert not found(audit(folds, time=time))
    time[3] = 48.5
    finding = found(audit(folds, time=time))["time travel"]
    assert finding.count == 39  # of the rows tested, 10 to 49, all but the newest
    assert "time travel" in found(audit(splits.k_fold(50, seed=0, k=5), time=np.arange(50.0)))


@pytest.mark.parametrize(
    "planted",
    [
        lambda y: y * 2.0 + 1,
        lambda y: -y,
        lambda y: np.where(y == 1, "yes", "no"),
        lambda y: np.where(y == 1, np.nan, 0.0),
    ],
)
def test_the_target_as_a_feature_is_found(planted):
    x, y = cancer()
    features = x[["mean texture"]].assign(leak=planted(y))
    findings = found(audit(splits.k_fold(len(y), seed=0, k=5, label=y), features=features, label=y))
    assert "leak alone" in findings["single feature"].message


def test_a_numeric_and_a_text_target_as_features_are_found():
    rng = np.random.default_rng(3)
    amount = rng.gamma(2, 50, 300)
    table = pd.DataFrame({"noise": rng.normal(size=300), "leak": np.log(amount)})
    (only,) = leakage.single_features(table, amount, rng=rng)
    assert "leak alone predicts the label with rank correlation 1.000" in only.message
    kind = rng.choice(["x", "y", "z"], 300)
    # no order: coded by the label mean
    table["leak"] = np.select([kind == "x", kind == "y"], [5, 9], 1)
    (only,) = leakage.single_features(table, kind, rng=rng)
    assert only.severity == "severe"


def test_more_classes_than_twenty_and_text_with_many_values():
    rng = np.random.default_rng(9)
    kind = np.array([f"c{i % 30}" for i in range(600)])
    table = pd.DataFrame({"noise": rng.normal(size=600), "leak": np.char.add("code ", kind)})
    (only,) = leakage.single_features(table, kind, rng=rng)
    assert "leak alone predicts the label with AUC" in only.message
    assert only.severity == "severe"
    assert leakage.conflicts(table[["leak"]], np.roll(kind, 1)) is None
    assert leakage.conflicts(pd.DataFrame({"x": np.arange(600) // 2}), kind).count == 600


def test_a_column_that_parts_six_rows_by_luck_is_no_severe_finding():
    label = [0, 0, 0, 1, 1, 1]
    (few,) = leakage.single_features(
        pd.DataFrame({"x": np.arange(6.0)}), label, rng=np.random.default_rng(0)
    )
    (many,) = leakage.single_features(
        pd.DataFrame({"x": np.arange(60.0)}), np.repeat([0, 1], 30), rng=np.random.default_rng(0)
    )
    # 2 of C(6, 3) = 20 orders part six rows so
    assert (few.severity, many.severity) == (
        "warning",
        "severe",
    )


def answers(people):
    """Eight coarse answers that go together, as in a survey."""
    rng = np.random.default_rng(0)
    mood = rng.normal(size=(people, 1))
    return pd.DataFrame(
        np.round(1.2 * mood + 0.7 * rng.normal(size=(people, 8))).clip(-2, 2)
    ).rename(columns=str)


def test_coarse_answers_that_go_together_are_no_copies():
    table = answers(3000)
    folds = splits.k_fold(3000, seed=0, k=5)
    natural = leakage.duplicates(folds, table)
    assert natural.count > 500
    assert natural.severity != "severe"
    measured = table.assign(weight=np.random.default_rng(1).normal(size=3000))
    copied = pd.concat([measured, measured.iloc[:100]])
    assert leakage.duplicates(splits.k_fold(3100, seed=0, k=5), copied).severity == "severe"


def test_the_strongest_columns_by_kind_of_column_and_label():
    rng = np.random.default_rng(7)
    label = np.arange(90) % 3
    table = pd.DataFrame(rng.normal(size=(90, 5)), columns=list("abcde"))
    table = table.assign(
        b=table["b"] + 2 * label, town=np.array(["x", "y", "z"])[label], same=1.0, none=np.nan
    )
    assert fitting.strongest(table, label, 2, "classes") == ["b", "town"]
    assert set(fitting.strongest(table, label * 1.0, 2, "number")) == {"b", "town"}
    assert fitting.strongest(table[["same", "none", "c"]], label, 1, "classes") == ["c"]


def test_a_score_that_is_the_label_is_found():
    label = np.arange(40) % 2
    assert leakage.gives_away(count(1 - label, label)).severity == "severe"
    assert leakage.gives_away(count(label + np.linspace(0, 0.5, 40), label)).severity == "warning"
    assert leakage.gives_away(count(np.linspace(0, 1, 40), label)) is None


def test_conflicting_labels_give_the_best_accuracy_and_auc_by_hand():
    # a: 2 of 3 positive, b: 0 of 1; best accuracy 3/4; positives .67 .67 against negatives .67, 0:
    # AUC 3/4
    finding = leakage.conflicts(pd.DataFrame({"x": ["a", "a", "a", "b"]}), [1, 1, 0, 0])
    assert finding.count == 3
    assert "at most 0.750, AUC at most 0.750" in finding.message


def test_id_like_columns():
    table = pd.DataFrame(
        {
            "row": np.arange(60),
            "code": [f"c{i * 7 % 60}" for i in range(60)],
            "age": np.arange(60) % 9,
        }
    )
    one, two = leakage.id_like(table)
    assert (one.message, two.message) == (
        "row is different on almost every row; it increases from row to row",
        "code is different on almost every row",
    )


def test_the_folds_themselves():
    folds = splits.by_column([0] * 10 + [1] * 20)
    assert leakage.sizes(folds).rows == (0, 1, 2, 3, 4)
    assert leakage.sizes(splits.by_column([0] * 14 + [1] * 20)) is None
    one_class = leakage.base_rate(splits.by_column([0, 0, 1, 1]), [1, 1, 0, 1])
    assert one_class.rows == (0, 1)
    assert leakage.base_rate(splits.by_column([0, 0, 1, 1]), [0, 1, 0, 1]) is None
    assert leakage.retested(splits.k_fold(10, seed=0, k=5, repeats=2)).count == 10
    assert leakage.retested(folds) is None


def test_unseen_categories_and_drift():
    table = pd.DataFrame({"city": ["a"] * 50 + ["b"] * 50, "x": np.r_[np.zeros(50), np.ones(50)]})
    folds = splits.forward(np.arange(100), k=2)
    assert [f.count for f in leakage.unseen_categories(folds, table)] == [17]
    drift = leakage.drift(
        splits.by_column([0] * 50 + [1] * 50), table, rng=np.random.default_rng(0)
    )
    assert drift.severity == "warning"


@pytest.mark.parametrize("positives, odd", [(69, False), (71, True)])
def test_a_fold_is_odd_from_four_standard_errors_of_its_rows_on(positives, odd):
    """Of 100 rows and 100,000 with a share of a half: 0.5 + 4 × 0.05 = 0.7."""
    label = np.r_[np.arange(100) < positives, np.arange(100_000) % 2]
    folds = splits.by_column(np.r_[np.zeros(100), np.ones(100_000)])
    assert (leakage.base_rate(folds, label.astype(int)) is not None) is odd


@pytest.mark.parametrize("newest, rows", [(4, ()), (5, (2,)), (9, (2, 3))])
def test_a_test_row_as_new_as_a_training_row_travels_in_time(newest, rows):
    """Two training rows, the newer of this time, and test rows of the times 5 and 6."""
    folds = splits.Folds(4, [(np.array([0, 1]), np.array([2, 3]))], "one fold")
    finding = leakage.time_travel(folds, [1, newest, 5, 6])
    assert (() if finding is None else finding.rows) == rows
