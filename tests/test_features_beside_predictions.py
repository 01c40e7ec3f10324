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

RNG = np.random.default_rng(66)
ROWS = 160
AGE = RNG.integers(20, 70, ROWS)
HEIGHT = RNG.normal(170, 9, ROWS).round(1)
RATIO = RNG.random(ROWS).round(3)  # a feature within 0 and 1
LEVEL = (3 * AGE + RNG.normal(0, 20, ROWS)).round(1)
NEAR = (LEVEL + RNG.normal(0, 9, ROWS)).round(1)
FAR = (LEVEL + RNG.normal(0, 15, ROWS)).round(1)
LIKE = (LEVEL / 2 + 90 + RNG.normal(0, 3, ROWS)).round(1)  # a feature correlated with the level
FLAG = (RNG.random(ROWS) < LEVEL / LEVEL.max()).astype(int)
SCORE = (0.7 * FLAG + 0.3 * RNG.random(ROWS)).round(3)
OTHER = (0.6 * FLAG + 0.4 * RNG.random(ROWS)).round(3)
CLASSES = RNG.integers(0, 3, ROWS)
GUESSED = np.where(RNG.random(ROWS) < 0.8, CLASSES, RNG.integers(0, 3, ROWS))
GUESSED_WORSE = np.where(RNG.random(ROWS) < 0.6, CLASSES, RNG.integers(0, 3, ROWS))
SPECIES = np.array(["cat", "dog", "owl"])
FEATURES = {"age": AGE, "height": HEIGHT, "ratio": RATIO}


def readings(tmp_path, columns):
    """How the reports read a table, the closest first; those that refuse it are left out."""
    path = tmp_path / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    found = inspection.readings([str(path)], inspection.BY_CLOSENESS, {}, {})
    return [reading for reading in found if reading.inspection]


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
        {"above": AGE, "below": AGE[::-1], "fittedvalues": RATIO},
        {"mpg": LEVEL, "cyl": CLASSES, "hp": HEIGHT},
        {"sepal length (cm)": NEAR, "petal length (cm)": LEVEL},
        {"bill_length_mm": NEAR, "flipper_mm": LEVEL},
        {"name": [f"car {i}" for i in range(ROWS)], "mpg": HEIGHT, "weight_kg": LEVEL + 900},
        {"treated": FLAG},
    ],
)
def test_features_are_no_values_per_unit(columns):
    with pytest.raises(InputError, match="columns that may be features"):
        ek.significance(pd.DataFrame(columns))


@pytest.mark.parametrize(
    "columns",
    [
        {"query": np.arange(ROWS), "bm25": SCORE, "dense": OTHER},
        {"rf": SCORE, "logit": OTHER},
        {"rf": SCORE, "ours": OTHER[::-1]},
        {"acc_ours": SCORE, "acc_theirs": OTHER},
        {"ours_error": LEVEL, "theirs_error": NEAR},
        {"A": LEVEL, "B": NEAR},
    ],
)
def test_columns_of_one_kind_are_values_per_unit(columns):
    assert len(ek.significance(pd.DataFrame(columns)).systems) == 2


def test_columns_that_may_be_features_are_values_where_systems_names_them(tmp_path):
    columns = {"alice": SCORE, "bob": OTHER}
    assert commands(tmp_path, columns) == ["significance -p systems 'alice, bob'"]
    assert ek.significance(pd.DataFrame(columns), systems="alice, bob").systems == tuple(columns)


def test_scores_of_classes_beside_an_answer_are_no_values_per_unit():
    logits = np.log(np.clip(SCORE, 0.01, 0.99) / (1 - np.clip(SCORE, 0.01, 0.99)))
    with pytest.raises(InputError, match="columns that may be features"):
        ek.significance(pd.DataFrame({"label": FLAG, "logit_0": -logits, "logit_1": logits}))


@pytest.mark.parametrize("cell", ["{}+0j", "{} - 0.5i"])
def test_a_system_of_complex_numbers_does_not_vanish(cell):
    odd = [cell.format(value) for value in SCORE]
    with pytest.raises(InputError, match="dense must hold numbers"):
        ek.significance(pd.DataFrame({"query": np.arange(ROWS), "bm25": OTHER, "dense": odd}))


# Models name the predictions, and the closest column is first what they predict


@pytest.mark.parametrize("models", [("ols",), ("poisson", "negbin"), ("rf", "linear_regression")])
def test_the_column_nearest_to_the_models_is_first_the_actual_one(models, tmp_path):
    forecasts = dict(zip(models, (NEAR, FAR), strict=False))
    first = readings(tmp_path, {"height": HEIGHT, "like": LIKE, "cost": LEVEL, **forecasts})[0]
    assert first.report == "rating"
    assert first.inspection.columns["actual"] == "cost"
    assert first.inspection.columns["forecast"] == ", ".join(models)


def test_a_correlated_feature_is_no_system_beside_a_model():
    table = pd.DataFrame({"target": LEVEL, "like": LIKE, "height": HEIGHT, "ols": NEAR})
    assert ek.rating(table).systems == ("ols",)


def test_without_other_features_a_correlated_column_is_asked_for(tmp_path):
    assert commands(tmp_path, {"target": LEVEL, "like": LIKE, "ols": NEAR, "rf": FAR}) == [
        "rating -p systems 'ols, rf'",
        "rating -p systems 'like, ols, rf'",
        "significance -p systems 'ols, rf'",
    ]


def test_a_system_of_an_unknown_name_stays_one_beside_models():
    table = pd.DataFrame({"target": LEVEL, "ours": NEAR, "ols": FAR})
    assert ek.rating(table).systems == ("ours", "ols")


@pytest.mark.parametrize("models", [("rf",), ("rf", "logit")])
def test_a_feature_within_0_and_1_is_no_score_beside_a_model(models):
    scores = dict(zip(models, (SCORE, OTHER), strict=False))
    assert ek.classification(pd.DataFrame({**FEATURES, "target": FLAG, **scores})).systems == models


@pytest.mark.parametrize("name", ["pred", "predicted", "y_hat"])
def test_features_within_0_and_1_are_no_scores_beside_decisions(name):
    table = pd.DataFrame({**FEATURES, "target": CLASSES, name: GUESSED})
    assert ek.classification(table).systems == (name,)


def test_the_flag_that_a_score_fits_best_is_first_the_label(tmp_path):
    smokes = RNG.integers(0, 2, ROWS)
    first = commands(tmp_path, {**FEATURES, "smokes": smokes, "low": FLAG, "rf": SCORE})[0]
    assert first == "classification -p columns label=low"


def test_a_share_that_tells_a_flag_nothing_is_a_guess(tmp_path):
    columns = {"treated": RNG.integers(0, 2, ROWS), "age": AGE, "p": RATIO}
    assert commands(tmp_path, columns) == ["classification -p columns label=treated"]


# Classes under the names of models


@pytest.mark.parametrize("names", [np.arange(3), SPECIES])
@pytest.mark.parametrize("features", [{}, {"age": AGE, "ratio": RATIO}])
def test_columns_of_models_that_hold_classes_are_their_decisions(names, features):
    columns = {"target": names[CLASSES], "rf": names[GUESSED], "logit": names[GUESSED_WORSE]}
    found = ek.classification(pd.DataFrame({**features, **columns})).estimates
    accuracy = found[found["metric"] == "accuracy"].set_index("system")["value"]
    assert accuracy["rf"] == pytest.approx(np.mean(CLASSES == GUESSED))
    assert accuracy["logit"] == pytest.approx(np.mean(CLASSES == GUESSED_WORSE))


def test_texts_of_the_classes_of_models_are_the_label():
    columns = {"animal": SPECIES[CLASSES], "rf": SPECIES[GUESSED], "svm": SPECIES[GUESSED_WORSE]}
    assert ek.classification(pd.DataFrame(columns)).systems == ("rf", "svm")


def test_numbers_of_the_classes_of_models_may_be_the_label(tmp_path):
    first = commands(tmp_path, {"digit": CLASSES, "knn": GUESSED, "tree": GUESSED_WORSE})[0]
    assert first == "classification -p columns label=digit"


# Neighbours are ranked lists


@pytest.mark.parametrize("item", ["neighbor", "neighbour_id"])
def test_neighbours_of_queries_are_ranked_items(item):
    table = pd.DataFrame({"query": np.repeat(np.arange(20), 8), item: np.arange(ROWS)})
    table = table.assign(rank=np.tile(np.arange(1, 9), 20), distance=RATIO, relevant=FLAG)
    assert ek.ranking(table, metrics="p@5").runs.systems == ("rank",)


# What the command prints


def test_each_way_to_read_a_table_is_a_line(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"like": LIKE, "cost": LEVEL, "ols": NEAR}).to_csv(path, index=False)
    lines = evalkit("report", "-p", "preds", path, folder=tmp_path / "out").err.splitlines()
    assert lines[0].endswith("can be read in several ways:")
    assert all(line.startswith("  evalkit report ") for line in lines[1:])
    assert "-p columns actual=cost" in lines[1]


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


@pytest.mark.parametrize("others", [{}, {"age": range(40)}])
def test_a_logistic_regression_called_lr_is_a_system(others):
    rng = np.random.default_rng(66)
    label = np.arange(40) % 2
    lr, rf = (0.5 * label + 0.5 * rng.random((2, 40))).round(3)
    frame = pd.DataFrame({**others, "target": label, "lr": lr, "rf": rf})
    assert sorted(ek.classification(frame, metrics="roc_auc").systems) == ["lr", "rf"]
    values = pd.DataFrame({"query": [f"q{i}" for i in range(40)], "lr": lr, "rf": rf})
    assert sorted(ek.significance(values).systems) == ["lr", "rf"]


def test_a_learning_rate_called_lr_is_no_system():
    label = np.arange(40) % 2
    frame = pd.DataFrame({"target": label, "score": 0.9 * label, "lr": [0.01, 0.001] * 20})
    assert ek.classification(frame, metrics="roc_auc").systems == ("score",)


SEARCHES = {
    "a score": {"lr": RATIO, "max_depth": AGE, "score": SCORE},
    "a trial": {"trial": range(ROWS), "lr": RATIO, "n_estimators": AGE, "value": SCORE},
    "a metric": {"dropout": RATIO, "weight_decay": SCORE / 9, "val_acc": OTHER},
}


@pytest.mark.parametrize("search", SEARCHES)
def test_parameters_of_a_search_are_no_systems(search, tmp_path):
    assert not readings(tmp_path, SEARCHES[search])


def test_features_beside_a_quantile_are_no_systems(tmp_path):
    assert not readings(tmp_path, {"income": LEVEL, "food": NEAR, "q50": FAR})


def test_a_feature_beside_one_model_without_skill_is_no_system(tmp_path):
    columns = {"duration": LEVEL, "height": HEIGHT, "ols": RNG.permutation(LEVEL)}
    assert not any("height" in one.inspection.systems for one in readings(tmp_path, columns))


def test_estimates_beside_their_p_values_are_no_scores(tmp_path):
    bounds = {"lower_confidence_bound": LEVEL - 9, "upper_confidence_bound": LEVEL + 9}
    tests = {"point_estimate": LEVEL, **bounds, "p_value": RATIO}
    columns = {"y": FLAG, "treatment": RNG.integers(0, 2, ROWS), **tests}
    assert {one.report for one in readings(tmp_path, columns)} == {"interleaving"}


def test_a_number_of_the_query_is_no_score(tmp_path):
    query = np.repeat(np.arange(ROWS // 4), 4)
    columns = {
        "query_id": [f"q{i}" for i in query],
        "item_id": [f"i{i}" for i in range(ROWS)],
        "grade": FLAG,
        "income": LEVEL[query],
        "a": SCORE,
        "b": OTHER,
    }
    assert [*readings(tmp_path, columns)[0].inspection.systems] == ["a", "b"]


def test_a_class_that_was_never_decided_for_is_one_of_the_label(tmp_path):
    decided = SPECIES[np.minimum(CLASSES, 1)]
    columns = {**FEATURES, "kind": SPECIES[CLASSES], "predicted": decided}
    closest = readings(tmp_path, columns)[0]
    assert (closest.report, closest.inspection.columns["label"]) == ("classification", "kind")


def test_the_flag_whose_share_the_scores_have_as_mean_is_first_the_label(tmp_path):
    rng = np.random.default_rng(5)
    score = rng.beta(1, 8, 2000)
    columns = {
        "feature": rng.normal(50, 9, 2000),
        "past": (score > 0.3) * 1,
        "bought": (rng.random(2000) < score) * 1,
        "predict_proba": score,
    }
    assert readings(tmp_path, columns)[0].inspection.columns["label"] == "bought"


def test_a_value_without_skilled_models_is_not_alone_the_actual_one(tmp_path):
    columns = {"invest": LEVEL, "value": 9 * HEIGHT, "year": AGE, "ols": NEAR, "forest": FAR}
    found = readings(tmp_path, {**columns, "value": LEVEL.max() * 4 - 5 * AGE})
    assert found[0].inspection.columns["actual"] == "invest"


def test_shares_out_of_fold_are_of_a_flag(tmp_path):
    words = np.array(["no", "yes"])[FLAG]
    columns = {**FEATURES, "works": words, "hours": 40 * FLAG, "oof_pred": SCORE}
    closest = readings(tmp_path, {**columns, "fold": np.arange(ROWS) % 5})[0]
    assert (closest.report, closest.inspection.columns["label"]) == ("validation", "works")


@pytest.mark.parametrize("names", [("gpt-4-0613", "claude-3-opus"), ("Human-P.0", "Online-A.1")])
def test_many_columns_on_one_scale_are_values_of_systems(names, tmp_path):
    others = (f"Team_{letter}" for letter in "ABCDEFGH")
    difficulty = RNG.random(ROWS)  # so that all are correlated
    quality = {
        name: np.clip(difficulty + RNG.normal(0, 0.3, ROWS), 0, 1) for name in (*names, *others)
    }
    columns = {"question_id": [f"q{i}" for i in range(ROWS)], **quality}
    assert [one.report for one in readings(tmp_path, columns)] == ["significance"]
