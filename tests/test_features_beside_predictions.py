"""Tables of predictions as people make them from data sets: with the features left in, under names
of models, and without a name that says what is predicted. None is read wrongly, and each is
answered by a command that reads it.
"""

import numpy as np
import pandas as pd
import pytest
from command_runs import evalkit

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.studies import inspection

# Columns of 160 rows: what is predicted (AMOUNT, LABEL, CLASS_NUMBERS), a good and a fair
# prediction of each, and features.
RNG = np.random.default_rng(66)
N_ROWS = 160
AGE = RNG.integers(20, 70, N_ROWS)
HEIGHT = RNG.normal(170, 9, N_ROWS).round(1)
SHARE_FEATURE = RNG.random(N_ROWS).round(3)
AMOUNT = (3 * AGE + RNG.normal(0, 20, N_ROWS)).round(1)
GOOD_FORECAST = (AMOUNT + RNG.normal(0, 9, N_ROWS)).round(1)
FAIR_FORECAST = (AMOUNT + RNG.normal(0, 15, N_ROWS)).round(1)
CORRELATED_FEATURE = (AMOUNT / 2 + 90 + RNG.normal(0, 3, N_ROWS)).round(1)  # with AMOUNT
LABEL = (RNG.random(N_ROWS) < AMOUNT / AMOUNT.max()).astype(int)
GOOD_SCORE = (0.7 * LABEL + 0.3 * RNG.random(N_ROWS)).round(3)
FAIR_SCORE = (0.6 * LABEL + 0.4 * RNG.random(N_ROWS)).round(3)
CLASS_NUMBERS = RNG.integers(0, 3, N_ROWS)
GOOD_CLASSES = np.where(RNG.random(N_ROWS) < 0.8, CLASS_NUMBERS, RNG.integers(0, 3, N_ROWS))
FAIR_CLASSES = np.where(RNG.random(N_ROWS) < 0.6, CLASS_NUMBERS, RNG.integers(0, 3, N_ROWS))
SPECIES = np.array(["cat", "dog", "owl"])
FEATURES = {"age": AGE, "height": HEIGHT, "ratio": SHARE_FEATURE}


def readings(tmp_path, columns):
    """How the reports read a CSV file with these columns, each with its `report` and `inspection`,
    the closest first; reports that refuse it are left out.
    """
    path = tmp_path / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    of_all_reports = inspection.readings([str(path)], inspection.BY_CLOSENESS, {}, {})
    return [reading for reading in of_all_reports if reading.inspection]


def commands(tmp_path, columns):
    """The commands that read a table, without their beginning and the file."""
    path = tmp_path / "t.csv"
    return [
        reading.command.removeprefix("evalkit report ").replace(f" -p preds {path}", "")
        for reading in readings(tmp_path, columns)
    ]


# Columns that may be features are no values per unit


@pytest.mark.parametrize(
    "columns",
    [
        FEATURES,
        {"above": AGE, "below": AGE[::-1], "fittedvalues": SHARE_FEATURE},
        {"mpg": AMOUNT, "cyl": CLASS_NUMBERS, "hp": HEIGHT},
        {"sepal length (cm)": GOOD_FORECAST, "petal length (cm)": AMOUNT},
        {"bill_length_mm": GOOD_FORECAST, "flipper_mm": AMOUNT},
        {"name": [f"car {i}" for i in range(N_ROWS)], "mpg": HEIGHT, "weight_kg": AMOUNT + 900},
        {"treated": LABEL},
    ],
)
def test_features_are_no_values_per_unit(columns):
    with pytest.raises(InputError, match="columns that may be features"):
        ek.significance(pd.DataFrame(columns))


@pytest.mark.parametrize(
    "columns",
    [
        {"query": np.arange(N_ROWS), "bm25": GOOD_SCORE, "dense": FAIR_SCORE},
        {"rf": GOOD_SCORE, "logit": FAIR_SCORE},
        {"rf": GOOD_SCORE, "ours": FAIR_SCORE[::-1]},
        {"acc_ours": GOOD_SCORE, "acc_theirs": FAIR_SCORE},
        {"ours_error": AMOUNT, "theirs_error": GOOD_FORECAST},
        {"A": AMOUNT, "B": GOOD_FORECAST},
    ],
)
def test_columns_of_one_kind_are_values_per_unit(columns):
    assert len(ek.significance(pd.DataFrame(columns)).systems) == 2


def test_columns_that_may_be_features_are_values_where_systems_names_them(tmp_path):
    columns = {"alice": GOOD_SCORE, "bob": FAIR_SCORE}
    assert commands(tmp_path, columns) == ["significance -p systems 'alice, bob'"]
    assert ek.significance(pd.DataFrame(columns), systems="alice, bob").systems == tuple(columns)


def test_scores_of_classes_beside_an_answer_are_no_values_per_unit():
    logits = np.log(np.clip(GOOD_SCORE, 0.01, 0.99) / (1 - np.clip(GOOD_SCORE, 0.01, 0.99)))
    with pytest.raises(InputError, match="columns that may be features"):
        ek.significance(pd.DataFrame({"label": LABEL, "logit_0": -logits, "logit_1": logits}))


@pytest.mark.parametrize("cell", ["{}+0j", "{} - 0.5i"])
def test_a_system_of_complex_numbers_does_not_vanish(cell):
    odd = [cell.format(value) for value in GOOD_SCORE]
    with pytest.raises(InputError, match="dense must hold numbers"):
        ek.significance(
            pd.DataFrame({"query": np.arange(N_ROWS), "bm25": FAIR_SCORE, "dense": odd})
        )


# Models name the predictions, and the closest column is first what they predict


@pytest.mark.parametrize("models", [("ols",), ("poisson", "negbin"), ("rf", "linear_regression")])
def test_the_column_nearest_to_the_models_is_first_the_actual_one(models, tmp_path):
    forecasts = dict(zip(models, (GOOD_FORECAST, FAIR_FORECAST), strict=False))
    columns = {"height": HEIGHT, "like": CORRELATED_FEATURE, "cost": AMOUNT, **forecasts}
    closest = readings(tmp_path, columns)[0]
    assert closest.report == "rating"
    assert closest.inspection.columns["actual"] == "cost"
    assert closest.inspection.columns["forecast"] == ", ".join(models)


def test_a_correlated_feature_is_no_system_beside_a_model():
    table = pd.DataFrame(
        {"target": AMOUNT, "like": CORRELATED_FEATURE, "height": HEIGHT, "ols": GOOD_FORECAST}
    )
    assert ek.rating(table).systems == ("ols",)


def test_without_other_features_a_correlated_column_is_asked_for(tmp_path):
    assert commands(
        tmp_path,
        {"target": AMOUNT, "like": CORRELATED_FEATURE, "ols": GOOD_FORECAST, "rf": FAIR_FORECAST},
    ) == [
        "rating -p systems 'ols, rf'",
        "rating -p systems 'like, ols, rf'",
        "significance -p systems 'ols, rf'",
    ]


def test_a_system_of_an_unknown_name_stays_one_beside_models():
    table = pd.DataFrame({"target": AMOUNT, "ours": GOOD_FORECAST, "ols": FAIR_FORECAST})
    assert ek.rating(table).systems == ("ours", "ols")


@pytest.mark.parametrize("models", [("rf",), ("rf", "logit")])
def test_a_feature_within_0_and_1_is_no_score_beside_a_model(models):
    scores = dict(zip(models, (GOOD_SCORE, FAIR_SCORE), strict=False))
    assert (
        ek.classification(pd.DataFrame({**FEATURES, "target": LABEL, **scores})).systems == models
    )


@pytest.mark.parametrize("name", ["pred", "predicted", "y_hat"])
def test_features_within_0_and_1_are_no_scores_beside_decisions(name):
    table = pd.DataFrame({**FEATURES, "target": CLASS_NUMBERS, name: GOOD_CLASSES})
    assert ek.classification(table).systems == (name,)


def test_the_flag_that_a_score_fits_best_is_first_the_label(tmp_path):
    smokes = RNG.integers(0, 2, N_ROWS)
    first = commands(tmp_path, {**FEATURES, "smokes": smokes, "low": LABEL, "rf": GOOD_SCORE})[0]
    assert first == "classification -p columns label=low"


def test_a_share_that_tells_a_flag_nothing_is_a_guess(tmp_path):
    columns = {"treated": RNG.integers(0, 2, N_ROWS), "age": AGE, "p": SHARE_FEATURE}
    assert commands(tmp_path, columns) == ["classification -p columns label=treated"]


# Classes under the names of models


@pytest.mark.parametrize("names", [np.arange(3), SPECIES])
@pytest.mark.parametrize("features", [{}, {"age": AGE, "ratio": SHARE_FEATURE}])
def test_columns_of_models_that_hold_classes_are_their_decisions(names, features):
    columns = {
        "target": names[CLASS_NUMBERS],
        "rf": names[GOOD_CLASSES],
        "logit": names[FAIR_CLASSES],
    }
    found = ek.classification(pd.DataFrame({**features, **columns})).estimates
    accuracy = found[found["metric"] == "accuracy"].set_index("system")["value"]
    assert accuracy["rf"] == pytest.approx(np.mean(CLASS_NUMBERS == GOOD_CLASSES))
    assert accuracy["logit"] == pytest.approx(np.mean(CLASS_NUMBERS == FAIR_CLASSES))


def test_texts_of_the_classes_of_models_are_the_label():
    columns = {
        "animal": SPECIES[CLASS_NUMBERS],
        "rf": SPECIES[GOOD_CLASSES],
        "svm": SPECIES[FAIR_CLASSES],
    }
    assert ek.classification(pd.DataFrame(columns)).systems == ("rf", "svm")


def test_numbers_of_the_classes_of_models_may_be_the_label(tmp_path):
    first = commands(tmp_path, {"digit": CLASS_NUMBERS, "knn": GOOD_CLASSES, "tree": FAIR_CLASSES})[
        0
    ]
    assert first == "classification -p columns label=digit"


# Neighbours are ranked lists


@pytest.mark.parametrize("item", ["neighbor", "neighbour_id"])
def test_neighbours_of_queries_are_ranked_items(item):
    table = pd.DataFrame({"query": np.repeat(np.arange(20), 8), item: np.arange(N_ROWS)})
    table = table.assign(rank=np.tile(np.arange(1, 9), 20), distance=SHARE_FEATURE, relevant=LABEL)
    assert ek.ranking(table, metrics="p@5").runs.systems == ("rank",)


# What the command prints


def test_the_command_without_a_report_prints_each_command_that_reads_the_table(tmp_path):
    """`ols` predicts one of the other columns: first `cost`, to which it is closest."""
    path = tmp_path / "t.csv"
    columns = {"like": CORRELATED_FEATURE, "cost": AMOUNT, "ols": GOOD_FORECAST}
    pd.DataFrame(columns).to_csv(path, index=False)
    ended = evalkit("report", "-p", "preds", path, folder=tmp_path / "out")
    head, first_command, *further_commands = ended.err.splitlines()
    assert head.endswith("can be read in several ways:")
    for line in (first_command, *further_commands):
        assert line.startswith("  evalkit report ")
    assert "-p columns actual=cost" in first_command


def test_each_report_that_refuses_a_table_is_a_line(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"name": ["a", "b"], "note": ["x", "y"]}).to_csv(path, index=False)
    lines = evalkit("report", "-p", "preds", path, folder=tmp_path / "out").err.splitlines()
    reports = [line.split(":")[0].strip() for line in lines[1:]]
    assert sorted(reports) == sorted(inspection.BY_CLOSENESS)


def test_the_rows_of_a_small_file_are_counted(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"target": [0, 1, 1, 0], "score": [0.1, 0.2, 0.3, 0.4]}).to_csv(path, index=False)
    lines = evalkit("inspect", "--why", path, folder=None).out.splitlines()
    assert f"{path}: 4 rows; columns target, score" in lines


LABEL_OF_40 = np.arange(40) % 2
LR, RF = (0.5 * LABEL_OF_40 + 0.5 * np.random.default_rng(66).random((2, 40))).round(3)


@pytest.mark.parametrize("features", [{}, {"age": range(40)}], ids=["no feature", "a feature"])
def test_scores_called_lr_are_those_of_a_logistic_regression(features):
    frame = pd.DataFrame({**features, "target": LABEL_OF_40, "lr": LR, "rf": RF})
    assert sorted(ek.classification(frame, metrics="roc_auc").systems) == ["lr", "rf"]


def test_values_per_query_called_lr_are_those_of_a_logistic_regression():
    values = pd.DataFrame({"query": [f"q{i}" for i in range(40)], "lr": LR, "rf": RF})
    assert sorted(ek.significance(values).systems) == ["lr", "rf"]


def test_a_learning_rate_called_lr_is_no_system():
    label = np.arange(40) % 2
    frame = pd.DataFrame({"target": label, "score": 0.9 * label, "lr": [0.01, 0.001] * 20})
    assert ek.classification(frame, metrics="roc_auc").systems == ("score",)


SEARCHES = {
    "a score": {"lr": SHARE_FEATURE, "max_depth": AGE, "score": GOOD_SCORE},
    "a trial": {
        "trial": range(N_ROWS),
        "lr": SHARE_FEATURE,
        "n_estimators": AGE,
        "value": GOOD_SCORE,
    },
    "a metric": {"dropout": SHARE_FEATURE, "weight_decay": GOOD_SCORE / 9, "val_acc": FAIR_SCORE},
}


@pytest.mark.parametrize("search", SEARCHES)
def test_parameters_of_a_search_are_no_systems(search, tmp_path):
    assert not readings(tmp_path, SEARCHES[search])


def test_features_beside_a_quantile_are_no_systems(tmp_path):
    assert not readings(tmp_path, {"income": AMOUNT, "food": GOOD_FORECAST, "q50": FAIR_FORECAST})


def test_a_feature_beside_one_model_without_skill_is_no_system(tmp_path):
    columns = {"duration": AMOUNT, "height": HEIGHT, "ols": RNG.permutation(AMOUNT)}
    for reading in readings(tmp_path, columns):
        assert "height" not in reading.inspection.systems


def test_estimates_beside_their_p_values_are_no_scores(tmp_path):
    bounds = {"lower_confidence_bound": AMOUNT - 9, "upper_confidence_bound": AMOUNT + 9}
    tests = {"point_estimate": AMOUNT, **bounds, "p_value": SHARE_FEATURE}
    columns = {"y": LABEL, "treatment": RNG.integers(0, 2, N_ROWS), **tests}
    assert {reading.report for reading in readings(tmp_path, columns)} == {"interleaving"}


def test_a_number_that_is_the_same_for_all_items_of_a_query_is_no_score(tmp_path):
    """The income of each query, with four items; the scores are a and b."""
    query = np.repeat(np.arange(N_ROWS // 4), 4)
    columns = {
        "query_id": [f"q{i}" for i in query],
        "item_id": [f"i{i}" for i in range(N_ROWS)],
        "grade": LABEL,
        "income": AMOUNT[query],
        "a": GOOD_SCORE,
        "b": FAIR_SCORE,
    }
    closest = readings(tmp_path, columns)[0]
    assert [*closest.inspection.systems] == ["a", "b"]


def test_a_class_that_was_never_decided_for_is_one_of_the_label(tmp_path):
    decided = SPECIES[np.minimum(CLASS_NUMBERS, 1)]
    columns = {**FEATURES, "kind": SPECIES[CLASS_NUMBERS], "predicted": decided}
    closest = readings(tmp_path, columns)[0]
    assert (closest.report, closest.inspection.columns["label"]) == ("classification", "kind")


def test_of_two_flags_the_one_that_the_probabilities_are_calibrated_for_is_first_the_label(
    tmp_path,
):
    """`bought` is 1 with the predicted probability, 1/9 on average. `past` is 1 where it exceeds
    0.3, on about 0.7 ** 8 = 6 % of the rows, and so separated by it without any error.
    """
    rng = np.random.default_rng(5)
    score = rng.beta(1, 8, 2000)
    columns = {
        "feature": rng.normal(50, 9, 2000),
        "past": (score > 0.3) * 1,
        "bought": (rng.random(2000) < score) * 1,
        "predict_proba": score,
    }
    closest = readings(tmp_path, columns)[0]
    assert closest.inspection.columns["label"] == "bought"


def test_a_value_without_skilled_models_is_not_alone_the_actual_one(tmp_path):
    columns = {
        "invest": AMOUNT,
        "value": 9 * HEIGHT,
        "year": AGE,
        "ols": GOOD_FORECAST,
        "forest": FAIR_FORECAST,
    }
    found = readings(tmp_path, {**columns, "value": AMOUNT.max() * 4 - 5 * AGE})
    assert found[0].inspection.columns["actual"] == "invest"


def test_shares_out_of_fold_are_of_a_flag(tmp_path):
    words = np.array(["no", "yes"])[LABEL]
    columns = {**FEATURES, "works": words, "hours": 40 * LABEL, "oof_pred": GOOD_SCORE}
    closest = readings(tmp_path, {**columns, "fold": np.arange(N_ROWS) % 5})[0]
    assert (closest.report, closest.inspection.columns["label"]) == ("validation", "works")


@pytest.mark.parametrize("names", [("gpt-4-0613", "claude-3-opus"), ("Human-P.0", "Online-A.1")])
def test_many_columns_on_one_scale_are_values_of_systems(names, tmp_path):
    """Ten columns from 0 to 1, correlated as all depend on the question."""
    teams = [f"Team_{letter}" for letter in "ABCDEFGH"]
    easiness = RNG.random(N_ROWS)
    quality = {
        name: np.clip(easiness + RNG.normal(0, 0.3, N_ROWS), 0, 1) for name in (*names, *teams)
    }
    columns = {"question_id": [f"q{i}" for i in range(N_ROWS)], **quality}
    assert [reading.report for reading in readings(tmp_path, columns)] == ["significance"]
