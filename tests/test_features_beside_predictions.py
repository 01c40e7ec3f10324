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

# Columns of 160 rows: what is predicted (AMOUNT, LABEL, and ACTUAL_CLASSES, which are
# the numbers 0 to 2), a good and a fair prediction of each, and features.
RNG = np.random.default_rng(66)
N_ROWS = 160
AGE = RNG.integers(20, 70, N_ROWS)
HEIGHT = RNG.normal(170, 9, N_ROWS).round(1)
SHARE_FEATURE = RNG.random(N_ROWS).round(3)
AMOUNT = (3 * AGE + RNG.normal(0, 20, N_ROWS)).round(1)
GOOD_FORECAST_OF_AMOUNT = (AMOUNT + RNG.normal(0, 9, N_ROWS)).round(1)
FAIR_FORECAST_OF_AMOUNT = (AMOUNT + RNG.normal(0, 15, N_ROWS)).round(1)
FEATURE_CORRELATED_WITH_AMOUNT = (AMOUNT / 2 + 90 + RNG.normal(0, 3, N_ROWS)).round(1)
LABEL = (RNG.random(N_ROWS) < AMOUNT / AMOUNT.max()).astype(int)
GOOD_SCORE_OF_LABEL = (0.7 * LABEL + 0.3 * RNG.random(N_ROWS)).round(3)
FAIR_SCORE_OF_LABEL = (0.6 * LABEL + 0.4 * RNG.random(N_ROWS)).round(3)
ACTUAL_CLASSES = RNG.integers(0, 3, N_ROWS)
GOOD_PREDICTED_CLASSES = np.where(
    RNG.random(N_ROWS) < 0.8, ACTUAL_CLASSES, RNG.integers(0, 3, N_ROWS)
)
FAIR_PREDICTED_CLASSES = np.where(
    RNG.random(N_ROWS) < 0.6, ACTUAL_CLASSES, RNG.integers(0, 3, N_ROWS)
)
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


def best_reading(tmp_path, columns):
    """The reading of a CSV file with these columns by the report that they fit best."""
    return readings(tmp_path, columns)[0]


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
        {"mpg": AMOUNT, "cyl": ACTUAL_CLASSES, "hp": HEIGHT},
        {"sepal length (cm)": GOOD_FORECAST_OF_AMOUNT, "petal length (cm)": AMOUNT},
        {"bill_length_mm": GOOD_FORECAST_OF_AMOUNT, "flipper_mm": AMOUNT},
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
        {"query": np.arange(N_ROWS), "bm25": GOOD_SCORE_OF_LABEL, "dense": FAIR_SCORE_OF_LABEL},
        {"rf": GOOD_SCORE_OF_LABEL, "logit": FAIR_SCORE_OF_LABEL},
        {"rf": GOOD_SCORE_OF_LABEL, "ours": FAIR_SCORE_OF_LABEL[::-1]},
        {"acc_ours": GOOD_SCORE_OF_LABEL, "acc_theirs": FAIR_SCORE_OF_LABEL},
        {"ours_error": AMOUNT, "theirs_error": GOOD_FORECAST_OF_AMOUNT},
        {"A": AMOUNT, "B": GOOD_FORECAST_OF_AMOUNT},
    ],
)
def test_columns_of_one_kind_are_values_per_unit(columns):
    assert len(ek.significance(pd.DataFrame(columns)).systems) == 2


def test_columns_that_may_be_features_are_values_where_systems_names_them(tmp_path):
    columns = {"alice": GOOD_SCORE_OF_LABEL, "bob": FAIR_SCORE_OF_LABEL}
    assert commands(tmp_path, columns) == ["significance -p systems 'alice, bob'"]
    assert ek.significance(pd.DataFrame(columns), systems="alice, bob").systems == tuple(columns)


def test_scores_of_classes_beside_an_answer_are_no_values_per_unit():
    logits = np.log(
        np.clip(GOOD_SCORE_OF_LABEL, 0.01, 0.99) / (1 - np.clip(GOOD_SCORE_OF_LABEL, 0.01, 0.99))
    )
    with pytest.raises(InputError, match="columns that may be features"):
        ek.significance(pd.DataFrame({"label": LABEL, "logit_0": -logits, "logit_1": logits}))


@pytest.mark.parametrize("cell", ["{}+0j", "{} - 0.5i"])
def test_a_system_of_complex_numbers_does_not_vanish(cell):
    odd = [cell.format(value) for value in GOOD_SCORE_OF_LABEL]
    with pytest.raises(InputError, match="dense must hold numbers"):
        ek.significance(
            pd.DataFrame({"query": np.arange(N_ROWS), "bm25": FAIR_SCORE_OF_LABEL, "dense": odd})
        )


# Models name the predictions, and the closest column is first what they predict


@pytest.mark.parametrize("models", [("ols",), ("poisson", "negbin"), ("rf", "linear_regression")])
def test_the_column_nearest_to_the_models_is_read_as_the_actual_one(models, tmp_path):
    """One or two columns called like models (`models`) hold forecasts of `cost`. Although `like` is
    correlated with the cost, `cost` is closest to the forecasts: in the reading that fits best, the
    report "rating" must take it for the actual values.
    """
    forecasts = dict(zip(models, (GOOD_FORECAST_OF_AMOUNT, FAIR_FORECAST_OF_AMOUNT), strict=False))
    columns = {
        "height": HEIGHT,
        "like": FEATURE_CORRELATED_WITH_AMOUNT,
        "cost": AMOUNT,
        **forecasts,
    }
    reading = best_reading(tmp_path, columns)
    assert reading.report == "rating"
    assert reading.inspection.columns["actual"] == "cost"
    assert reading.inspection.columns["forecast"] == ", ".join(models)


def test_a_correlated_feature_is_no_system_beside_a_model():
    """`like` is correlated with the target, but unlike `ols` its name is not that of a model. As
    `height` shows that the table has features, `like` is taken for one too.
    """
    table = pd.DataFrame(
        {
            "target": AMOUNT,
            "like": FEATURE_CORRELATED_WITH_AMOUNT,
            "height": HEIGHT,
            "ols": GOOD_FORECAST_OF_AMOUNT,
        }
    )
    assert ek.rating(table).systems == ("ols",)


def test_without_other_features_a_correlated_column_is_asked_for(tmp_path):
    """`like` is correlated with the target and may be a feature or the forecasts of a further
    system; no other column shows whether the table has features. So the user must choose among
    commands that name the systems: the models alone, the models and `like`, and the models as
    values per row to be compared.
    """
    assert commands(
        tmp_path,
        {
            "target": AMOUNT,
            "like": FEATURE_CORRELATED_WITH_AMOUNT,
            "ols": GOOD_FORECAST_OF_AMOUNT,
            "rf": FAIR_FORECAST_OF_AMOUNT,
        },
    ) == [
        "rating -p systems 'ols, rf'",
        "rating -p systems 'like, ols, rf'",
        "significance -p systems 'ols, rf'",
    ]


def test_a_system_of_an_unknown_name_stays_one_beside_models():
    table = pd.DataFrame(
        {"target": AMOUNT, "ours": GOOD_FORECAST_OF_AMOUNT, "ols": FAIR_FORECAST_OF_AMOUNT}
    )
    assert ek.rating(table).systems == ("ours", "ols")


@pytest.mark.parametrize("models", [("rf",), ("rf", "logit")])
def test_a_feature_within_0_and_1_is_no_score_beside_a_model(models):
    scores = dict(zip(models, (GOOD_SCORE_OF_LABEL, FAIR_SCORE_OF_LABEL), strict=False))
    assert (
        ek.classification(pd.DataFrame({**FEATURES, "target": LABEL, **scores})).systems == models
    )


@pytest.mark.parametrize("name", ["pred", "predicted", "y_hat"])
def test_features_within_0_and_1_are_no_scores_beside_decisions(name):
    table = pd.DataFrame({**FEATURES, "target": ACTUAL_CLASSES, name: GOOD_PREDICTED_CLASSES})
    assert ek.classification(table).systems == (name,)


def test_the_flag_that_a_score_fits_best_is_first_the_label(tmp_path):
    smokes = RNG.integers(0, 2, N_ROWS)
    first = commands(
        tmp_path, {**FEATURES, "smokes": smokes, "low": LABEL, "rf": GOOD_SCORE_OF_LABEL}
    )[0]
    assert first == "classification -p columns label=low"


def test_a_share_that_tells_a_flag_nothing_is_a_guess(tmp_path):
    columns = {"treated": RNG.integers(0, 2, N_ROWS), "age": AGE, "p": SHARE_FEATURE}
    assert commands(tmp_path, columns) == ["classification -p columns label=treated"]


# Classes under the names of models


@pytest.mark.parametrize("names", [np.arange(3), SPECIES])
@pytest.mark.parametrize("features", [{}, {"age": AGE, "ratio": SHARE_FEATURE}])
def test_columns_of_models_that_hold_classes_are_their_decisions(names, features):
    """Columns called like models, rf and logit, hold predicted classes, named 0 to 2 or cat, dog
    and owl (`names`). They are read as decisions, not as scores, so that the accuracy is the share
    of rows whose class is predicted; a share from 0 to 1 among the features is no score either.
    """
    columns = {
        "target": names[ACTUAL_CLASSES],
        "rf": names[GOOD_PREDICTED_CLASSES],
        "logit": names[FAIR_PREDICTED_CLASSES],
    }
    found = ek.classification(pd.DataFrame({**features, **columns})).estimates
    accuracy = found[found["metric"] == "accuracy"].set_index("system")["value"]
    assert accuracy["rf"] == pytest.approx(np.mean(ACTUAL_CLASSES == GOOD_PREDICTED_CLASSES))
    assert accuracy["logit"] == pytest.approx(np.mean(ACTUAL_CLASSES == FAIR_PREDICTED_CLASSES))


def test_texts_of_the_classes_of_models_are_the_label():
    """Each column holds the texts cat, dog and owl. rf and svm are names of models, so that their
    columns are predictions and `animal` is the label, although it is not called so.
    """
    columns = {
        "animal": SPECIES[ACTUAL_CLASSES],
        "rf": SPECIES[GOOD_PREDICTED_CLASSES],
        "svm": SPECIES[FAIR_PREDICTED_CLASSES],
    }
    assert ek.classification(pd.DataFrame(columns)).systems == ("rf", "svm")


def test_numbers_of_the_classes_of_models_may_be_the_label(tmp_path):
    """Each column holds the numbers 0 to 2. knn and tree are names of models, so that `digit` may
    be the label; the command says so, as numbers might also be something else.
    """
    first = commands(
        tmp_path,
        {"digit": ACTUAL_CLASSES, "knn": GOOD_PREDICTED_CLASSES, "tree": FAIR_PREDICTED_CLASSES},
    )[0]
    assert first == "classification -p columns label=digit"


# Neighbours are ranked lists


@pytest.mark.parametrize("item", ["neighbor", "neighbour_id"])
def test_neighbours_of_queries_are_ranked_items(item):
    table = pd.DataFrame({"query": np.repeat(np.arange(20), 8), item: np.arange(N_ROWS)})
    table = table.assign(rank=np.tile(np.arange(1, 9), 20), distance=SHARE_FEATURE, relevant=LABEL)
    assert ek.ranking(table, metrics="p@5").runs.systems == ("rank",)


# What the command prints


def test_the_command_without_a_report_prints_each_command_that_reads_the_table(tmp_path):
    """The column `ols` is called like a model, but the table does not say whether it predicts
    `cost` or `like`, which is correlated with it. The first command takes `cost`, to which `ols` is
    closest.
    """
    path = tmp_path / "t.csv"
    columns = {
        "like": FEATURE_CORRELATED_WITH_AMOUNT,
        "cost": AMOUNT,
        "ols": GOOD_FORECAST_OF_AMOUNT,
    }
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
    "a score": {"lr": SHARE_FEATURE, "max_depth": AGE, "score": GOOD_SCORE_OF_LABEL},
    "a trial": {
        "trial": range(N_ROWS),
        "lr": SHARE_FEATURE,
        "n_estimators": AGE,
        "value": GOOD_SCORE_OF_LABEL,
    },
    "a metric": {
        "dropout": SHARE_FEATURE,
        "weight_decay": GOOD_SCORE_OF_LABEL / 9,
        "val_acc": FAIR_SCORE_OF_LABEL,
    },
}


@pytest.mark.parametrize("search", SEARCHES)
def test_parameters_of_a_search_are_no_systems(search, tmp_path):
    assert not readings(tmp_path, SEARCHES[search])


def test_features_beside_a_quantile_are_no_systems(tmp_path):
    assert not readings(
        tmp_path,
        {"income": AMOUNT, "food": GOOD_FORECAST_OF_AMOUNT, "q50": FAIR_FORECAST_OF_AMOUNT},
    )


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
    """Each of 40 queries has four items and one income. A score that ranks the items of a query
    must differ between them, so that the systems are a and b, and not `income`.
    """
    query = np.repeat(np.arange(N_ROWS // 4), 4)
    columns = {
        "query_id": [f"q{i}" for i in query],
        "item_id": [f"i{i}" for i in range(N_ROWS)],
        "grade": LABEL,
        "income": AMOUNT[query],
        "a": GOOD_SCORE_OF_LABEL,
        "b": FAIR_SCORE_OF_LABEL,
    }
    reading = best_reading(tmp_path, columns)
    assert list(reading.inspection.systems) == ["a", "b"]


def test_a_class_that_was_never_decided_for_is_one_of_the_label(tmp_path):
    decided = SPECIES[np.minimum(ACTUAL_CLASSES, 1)]
    columns = {**FEATURES, "kind": SPECIES[ACTUAL_CLASSES], "predicted": decided}
    reading = best_reading(tmp_path, columns)
    assert (reading.report, reading.inspection.columns["label"]) == ("classification", "kind")


def test_of_two_flags_the_one_that_the_probabilities_are_calibrated_for_is_first_the_label(
    tmp_path,
):
    """`bought` is 1 with the predicted probability, which is 1/9 on average: the predictions are
    calibrated for it. `past` is 1 exactly where the prediction exceeds 0.3, on about 0.7 ** 8 = 6 %
    of the rows. A prediction that separates a flag without any error hardly ever predicts it.
    """
    rng = np.random.default_rng(5)
    score = rng.beta(1, 8, 2000)
    columns = {
        "feature": rng.normal(50, 9, 2000),
        "past": (score > 0.3) * 1,
        "bought": (rng.random(2000) < score) * 1,
        "predict_proba": score,
    }
    reading = best_reading(tmp_path, columns)
    assert reading.inspection.columns["label"] == "bought"


def test_a_column_called_value_is_not_read_as_the_actual_one_if_models_forecast_another(tmp_path):
    """The models ols and forest forecast `invest`, which rises with age. The column `value` has a
    usual name of actual values, but falls with age and is far from the forecasts. In the reading
    that fits best the actual values must be those of `invest`.
    """
    columns = {
        "invest": AMOUNT,
        "value": AMOUNT.max() * 4 - 5 * AGE,
        "year": AGE,
        "ols": GOOD_FORECAST_OF_AMOUNT,
        "forest": FAIR_FORECAST_OF_AMOUNT,
    }
    reading = best_reading(tmp_path, columns)
    assert reading.inspection.columns["actual"] == "invest"


def test_shares_out_of_fold_are_of_a_flag(tmp_path):
    words = np.array(["no", "yes"])[LABEL]
    columns = {**FEATURES, "works": words, "hours": 40 * LABEL, "oof_pred": GOOD_SCORE_OF_LABEL}
    reading = best_reading(tmp_path, {**columns, "fold": np.arange(N_ROWS) % 5})
    assert (reading.report, reading.inspection.columns["label"]) == ("validation", "works")


@pytest.mark.parametrize("names", [("gpt-4-0613", "claude-3-opus"), ("Human-P.0", "Online-A.1")])
def test_many_columns_on_one_scale_are_values_of_systems(names, tmp_path):
    """Ten columns, eight teams and two with usual names of systems, hold values from 0 to 1. They
    are correlated, as all depend on how easy the question is, but none is the actual value of which
    the others are forecasts. Only the report "significance", which compares values per question,
    may read them.
    """
    teams = [f"Team_{letter}" for letter in "ABCDEFGH"]
    easiness = RNG.random(N_ROWS)
    quality = {
        name: np.clip(easiness + RNG.normal(0, 0.3, N_ROWS), 0, 1) for name in (*names, *teams)
    }
    columns = {"question_id": [f"q{i}" for i in range(N_ROWS)], **quality}
    assert [reading.report for reading in readings(tmp_path, columns)] == ["significance"]
