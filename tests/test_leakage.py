"""Leaks and drift of planted tables, and odd folds: what the audit of a validation finds."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from evalkit.metrics.counts import count
from evalkit.offline import fitting, leakage, splits

VISITS = Path(__file__).resolve().parents[1] / "data" / "rand_hie" / "visits.parquet"


@pytest.fixture(scope="module")
def cancer():
    """569 rows of measurements with their label, and copies of the first 12 in a fold of their
    own.
    """
    data = load_breast_cancer(as_frame=True).frame.rename(columns={"target": "label"})
    return pd.concat([data, data[:12]], ignore_index=True)


def rng():
    return np.random.default_rng(0)


def severe_findings(folds, **columns):
    """The severe findings of the audit of folds, by name."""
    findings = leakage.audit(folds, rng=rng(), **columns)
    return {finding.name: finding for finding in findings if finding.severity == "severe"}


def test_repeated_measures_are_severe_by_row_and_not_by_person():
    """Each row of the RAND health data is a year of a person, without an id of the person. Rows of
    a person follow each other, so that a new person begins where one of four columns that are
    constant within a person changes. In folds by row, equal rows of one person are in training and
    in test; in folds by person, only equal rows of different persons are.
    """
    visits = pd.read_parquet(VISITS)
    features = visits.drop(columns=["id", "mdvis"])
    fixed = features[["lncoins", "idp", "physlm", "disea"]]
    person = (fixed != fixed.shift()).any(axis=1).cumsum()
    by_row = leakage.duplicates(splits.k_fold(len(visits), seed=0, k=5), features)
    by_person = leakage.duplicates(splits.group_k_fold(person, seed=0, k=5), features)
    assert by_row.severity == "severe"
    assert by_person.severity == "note"


COPIES_IN_FOLD_1 = np.repeat([0, 1], [569, 12])  # the fold of each row of `cancer`


def test_copied_rows_are_found(cancer):
    folds = splits.by_column(COPIES_IN_FOLD_1)
    features = cancer.drop(columns="label")
    findings = severe_findings(folds, features=features, label=cancer["label"])
    # fold 0 tests the 12 originals, fold 1 their copies: both are seen in training
    assert findings["duplicate rows"].count == 24
    assert findings["duplicate rows"].rows == (0, 1, 2, 3, 4)  # the first five


def test_nearly_copied_rows_are_found(cancer):
    """The table is 569 rows and copies of the first 12, which are changed by about a millionth.
    Fold 0 tests the 569 rows and trains on the copies, fold 1 the other way round: 12 rows of each
    fold have a near duplicate in training.
    """
    features = cancer.drop(columns="label")
    relative_noise = 1e-6 * np.random.default_rng(2).normal(size=(12, features.shape[1]))
    features[569:] *= 1 + relative_noise
    folds = splits.by_column(COPIES_IN_FOLD_1)
    findings = severe_findings(folds, features=features, label=cancer["label"])
    assert "duplicate rows" not in findings
    assert findings["near duplicates"].count == 24


@pytest.fixture
def user_and_folds():
    """The users of 100 rows, five rows of each of 20, and four folds by user."""
    user = np.repeat(np.arange(20), 5)
    return user, splits.group_k_fold(user, seed=0, k=4)


def test_folds_by_user_have_no_severe_finding(user_and_folds):
    user, folds = user_and_folds
    assert not severe_findings(folds, group=user)


def test_a_user_with_rows_in_training_and_test_is_found(user_and_folds):
    """Folds are made by user; then the first test row of the first fold gets the user of a training
    row. The audit of all folds finds it, and that of the first fold names this row alone.
    """
    user, folds = user_and_folds
    train, test = folds.pairs[0]
    user[test[0]] = user[train[0]]
    assert "group on both sides" in severe_findings(folds, group=user)
    first_fold = splits.Folds(100, folds.pairs[:1], "one fold")
    assert leakage.crossing(first_fold, user, "group").rows == (test[0],)


def test_a_training_row_from_the_future_is_found():
    """Row 3, which each fold trains on, gets the time 48.5. Rows 10 to 49 are tested; all of them
    but the newest, row 49, are older.
    """
    time = np.arange(50.0)
    folds = splits.forward(time, k=4)
    assert not severe_findings(folds, time=time)
    time[3] = 48.5
    assert severe_findings(folds, time=time)["time travel"].count == 39


def test_folds_by_row_train_on_the_future():
    folds = splits.k_fold(50, seed=0, k=5)
    assert "time travel" in severe_findings(folds, time=np.arange(50.0))


@pytest.mark.parametrize(
    "planted",
    [
        lambda y: y * 2.0 + 1,
        lambda y: -y,
        lambda y: np.where(y == 1, "yes", "no"),
        lambda y: np.where(y == 1, np.nan, 0.0),
    ],
    ids=["rescaled", "negative", "as texts", "as missing values"],
)
def test_the_label_as_a_feature_is_found(planted, cancer):
    rows = cancer[:569]
    features = rows[["mean texture"]].assign(leak=planted(rows["label"]))
    folds = splits.k_fold(569, seed=0, k=5, label=rows["label"])
    findings = severe_findings(folds, features=features, label=rows["label"])
    assert "leak alone" in findings["single feature"].message


def test_a_feature_that_orders_rows_as_their_numbers_is_found():
    noise = np.random.default_rng(3).normal(size=300)
    amount = np.random.default_rng(4).gamma(2, 50, 300)
    features = pd.DataFrame({"noise": noise, "leak": np.log(amount)})
    (only,) = leakage.single_features(features, amount, rng=rng())
    assert "leak alone predicts the label with rank correlation 1.000" in only.message


def test_a_feature_of_codes_that_are_not_in_the_order_of_the_classes_is_found():
    """`single_features` reports each column that alone predicts the label, as only a leak would;
    "severe" is its gravest finding. The column `leak` has the codes 5, 9 and 1 for the classes x, y
    and z: it tells the class, although the codes are not in the order of the classes. The column
    `noise` tells nothing and is no finding.
    """
    noise = np.random.default_rng(3).normal(size=300)
    kind = np.random.default_rng(4).choice(["x", "y", "z"], 300)
    code = pd.Series(kind).map({"x": 5, "y": 9, "z": 1})
    features = pd.DataFrame({"noise": noise, "leak": code})
    (only,) = leakage.single_features(features, kind, rng=rng())
    assert only.severity == "severe"
    assert only.message.startswith("leak alone")


LABELS_OF_30_CLASSES = np.array([f"c{i % 30}" for i in range(600)])  # c0, c1, ..., c29, c0, ...


def test_a_text_that_names_each_of_30_classes_is_found():
    """`single_features` reports each column that alone predicts the label, as only a leak would;
    "severe" is its gravest finding. The labels are c0 to c29, on 20 rows each. The column `leak` is
    "code c0" on each row with the label c0, and so on. The column `noise` tells nothing and is no
    finding.
    """
    noise = np.random.default_rng(9).normal(size=600)
    leak = np.char.add("code ", LABELS_OF_30_CLASSES)
    features = pd.DataFrame({"noise": noise, "leak": leak})
    (finding,) = leakage.single_features(features, LABELS_OF_30_CLASSES, rng=rng())
    assert "leak alone predicts the label with AUC" in finding.message
    assert finding.severity == "severe"


def test_equal_rows_of_one_class_each_do_not_conflict():
    """All rows with "code c0" have one label, c29; and so on."""
    features = pd.DataFrame({"leak": np.char.add("code ", LABELS_OF_30_CLASSES)})
    assert leakage.conflicts(features, np.roll(LABELS_OF_30_CLASSES, 1)) is None


def test_pairs_of_equal_rows_with_different_classes_conflict():
    """Rows 0 and 1 are a pair with the labels c0 and c1, and so on: all 600 rows conflict."""
    pairs = pd.DataFrame({"pair": np.arange(600) // 2})
    assert leakage.conflicts(pairs, LABELS_OF_30_CLASSES).count == 600


@pytest.mark.parametrize("rows, severity", [(6, "warning"), (60, "severe")])
def test_a_column_that_separates_six_rows_by_luck_is_no_severe_finding(rows, severity):
    """2 of the C(6, 3) = 20 orders of three rows of each class separate them, 2 of C(60, 30) ≈ 1e17
    do so of sixty.
    """
    label = np.repeat([0, 1], rows // 2)
    features = pd.DataFrame({"x": np.arange(rows * 1.0)})
    (finding,) = leakage.single_features(features, label, rng=rng())
    assert finding.severity == severity


def coarse_answers(people):
    """Eight answers from −2 to 2 that all follow a person's mood, as in a survey."""
    draw = rng()
    mood = draw.normal(size=(people, 1))
    answer = np.round(1.2 * mood + 0.7 * draw.normal(size=(people, 8))).clip(-2, 2)
    return pd.DataFrame(answer).rename(columns=str)


def test_coarse_answers_that_go_together_are_no_copies():
    finding = leakage.duplicates(splits.k_fold(3000, seed=0, k=5), coarse_answers(3000))
    assert finding.count > 500
    assert finding.severity != "severe"


def test_equal_rows_with_a_measured_column_are_copies():
    weight = np.random.default_rng(1).normal(size=3000)
    table = coarse_answers(3000).assign(weight=weight)
    copied = pd.concat([table, table[:100]])
    finding = leakage.duplicates(splits.k_fold(3100, seed=0, k=5), copied)
    assert finding.severity == "severe"


def columns_with_two_strong_ones():
    """Three classes in turn; b and town tell them, a, c, d and e are noise, same and none say
    nothing.
    """
    label = np.arange(90) % 3
    noise = np.random.default_rng(7).normal(size=(90, 5))
    table = pd.DataFrame(noise, columns=list("abcde")).assign(same=1.0, none=np.nan)
    table["b"] += 2 * label
    table["town"] = np.array(["x", "y", "z"])[label]
    return table, label


def test_the_strongest_columns_for_classes_are_numbers_or_texts():
    table, label = columns_with_two_strong_ones()
    assert fitting.strongest(table, label, 2, "classes") == ["b", "town"]


def test_the_strongest_columns_for_a_number_are_numbers_or_texts():
    table, label = columns_with_two_strong_ones()
    assert fitting.strongest(table, label * 1.0, 2, "number") == ["b", "town"]


def test_constant_and_empty_columns_are_weaker_than_noise():
    table, label = columns_with_two_strong_ones()
    assert fitting.strongest(table[["same", "none", "c"]], label, 1, "classes") == ["c"]


@pytest.mark.parametrize(
    "give_score, severity",
    [
        (lambda label: 1 - label, "severe"),
        (lambda label: label + np.linspace(0, 0.5, 40), "warning"),
    ],
    ids=["two values", "separated values"],
)
def test_a_score_that_gives_the_label_away_is_found(give_score, severity):
    label = np.arange(40) % 2
    assert leakage.gives_away(count(give_score(label), label)).severity == severity


def test_a_score_without_skill_gives_no_label_away():
    assert leakage.gives_away(count(np.linspace(0, 1, 40), np.arange(40) % 2)) is None


def test_conflicting_labels_bound_accuracy_and_auc():
    """By hand: of the rows a 2 of 3 are positive, b is negative. At best 3 of 4 are right; the
    positives score 2/3, the negatives 2/3 and 0, so AUC is (½ + 1) / 2 = ¾.
    """
    finding = leakage.conflicts(pd.DataFrame({"x": ["a", "a", "a", "b"]}), [1, 1, 0, 0])
    assert finding.count == 3
    assert "at most 0.750, AUC at most 0.750" in finding.message


def test_columns_that_differ_on_every_row_are_like_ids():
    """`id_like` warns of columns by which a model could memorise the rows. Of 60 rows each has
    another number in `row`, which rises from row to row, and another text in `code`: c0, c7, c14
    and so on, whose order is not that of the rows. The ages 0 to 8 repeat, and are no finding.
    """
    rows = np.arange(60)
    code = [f"c{row * 7 % 60}" for row in rows]  # 7 and 60 have no common factor: none repeats
    table = pd.DataFrame({"row": rows, "code": code, "age": rows % 9})
    assert [finding.message for finding in leakage.id_like(table)] == [
        "row is different on almost every row; it increases from row to row",
        "code is different on almost every row",
    ]


@pytest.mark.parametrize("smaller, rows", [(10, (0, 1, 2, 3, 4)), (14, None)])
def test_a_fold_of_more_than_one_and_a_half_times_another_is_found(smaller, rows):
    """20 rows beside 10 or 14; the finding shows the first rows of the smaller fold."""
    finding = leakage.sizes(splits.by_column(np.repeat([0, 1], [smaller, 20])))
    assert (finding and finding.rows) == rows


@pytest.mark.parametrize("label, rows", [([1, 1, 0, 1], (0, 1)), ([0, 1, 0, 1], None)])
def test_a_fold_of_one_class_is_found(label, rows):
    finding = leakage.base_rate(splits.by_column([0, 0, 1, 1]), label)
    assert (finding and finding.rows) == rows


def test_rows_that_repeats_test_again_are_counted():
    assert leakage.retested(splits.k_fold(10, seed=0, k=5, repeats=2)).count == 10


def test_rows_that_are_tested_once_are_no_finding():
    assert leakage.retested(splits.k_fold(10, seed=0, k=5)) is None


HALVES = pd.DataFrame({"city": np.repeat(["a", "b"], 50), "x": np.repeat([0.0, 1.0], 50)})


def test_rows_of_a_category_that_training_lacks_are_counted():
    """Of three blocks of rows the second ends with 17 of b, of which the first has none."""
    folds = splits.forward(np.arange(100), k=2)
    assert [finding.count for finding in leakage.unseen_categories(folds, HALVES)] == [17]


def test_a_test_set_that_the_features_tell_from_training_has_drifted():
    folds = splits.by_column(np.repeat([0, 1], 50))
    assert leakage.drift(folds, HALVES, rng=rng()).severity == "warning"


@pytest.mark.parametrize("positives, is_found", [(69, False), (71, True)])
def test_a_fold_is_odd_beyond_four_standard_errors_of_its_share(positives, is_found):
    """Of 100 rows beside 100,000 with a share of a half: 0.5 + 4 × 0.05 = 0.7."""
    label = np.r_[np.arange(100) < positives, np.arange(100_000) % 2].astype(int)
    folds = splits.by_column(np.repeat([0, 1], [100, 100_000]))
    assert (leakage.base_rate(folds, label) is not None) is is_found


@pytest.mark.parametrize("newest, rows", [(4, ()), (5, (2,)), (9, (2, 3))])
def test_a_test_row_as_new_as_a_training_row_travels_in_time(newest, rows):
    """Two training rows, the newer of this time, and test rows of the times 5 and 6."""
    folds = splits.Folds(4, [(np.array([0, 1]), np.array([2, 3]))], "one fold")
    finding = leakage.time_travel(folds, [1, newest, 5, 6])
    assert (() if finding is None else finding.rows) == rows
