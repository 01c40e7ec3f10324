"""The roles that names and cells of columns suggest, what is refused with a command, and what a
system is called.
"""

import numpy as np
import pandas as pd
import pytest
from command_runs import evalkit

import evalkit as ek
from evalkit.arrays import InputError
from evalkit.reading.matching import proposal
from evalkit.reading.matching.samples import SampledTable
from evalkit.reading.tables import sources
from evalkit.studies import inspection

# columns of 120 rows: labels with the scores of two systems, actual values with a near and a far
# forecast, and names
RNG = np.random.default_rng(65)
ROWS = 120
LABEL = RNG.integers(0, 2, ROWS)
SCORE = np.clip(RNG.normal(0.4 + 0.2 * LABEL, 0.15), 0.001, 0.999).round(3)
OTHER = np.clip(RNG.normal(0.45 + 0.1 * LABEL, 0.2), 0.001, 0.999).round(3)
LEVEL = RNG.gamma(9, 12, ROWS).round(2)
NEAR = (LEVEL + RNG.normal(0, 5, ROWS)).round(2)
FAR = (LEVEL + RNG.normal(2, 9, ROWS)).round(2)
USERS = np.repeat([f"u{i}" for i in range(10)], 12)
ITEMS = [f"i{i}" for i in range(ROWS)]
SPLITS = np.arange(ROWS) % 5


def sampled(**columns):
    return SampledTable.from_part(sources.parts(pd.DataFrame(columns))[0], {})


def possible_readings(**columns):
    """The ways to read a frame with these columns, the closest first."""
    (part,) = sources.parts(pd.DataFrame(columns))
    return proposal.reading_ways(part)


def closest(**columns):
    return next((way.proposal for way in possible_readings(**columns)), None)


def columns_of(found):
    """Every column with a role, those of systems after what they are called."""
    of_systems = [(name, *own.values()) for name, own in found.predictions.items() if name]
    return {*found.columns.values(), *(column for _, *own in of_systems for column in own)}


@pytest.mark.parametrize(
    "report, used, unused",
    [
        ("classification", {"GoldLabel": LABEL, "ModelScore": SCORE}, {"age": LEVEL.round()}),
        ("classification", {"is_spam": LABEL, "spam_pred": (SCORE > 0.5) * 1}, {"len": LEVEL}),
        ("classification", {"outcome": LABEL, "p_tree": SCORE, "p_net": OTHER}, {"n": LEVEL}),
        ("rating", {"demand": LEVEL, "demand_hat": NEAR}, {"sku": ITEMS}),
        ("rating", {"actual_load": LEVEL, "forecast_a": NEAR, "forecast_b": FAR}, {}),
        ("rating", {"y_true": LEVEL, "y_pred_mean": NEAR, "y_pred_std": abs(FAR)}, {}),
        ("rating", {"y_true": LEVEL, "y_pred": NEAR}, {"y_pred_std": FAR - FAR.mean()}),
        ("rating", {"real": LEVEL, "xgb": NEAR, "lstm": FAR}, {"horizon": SPLITS}),
        ("ranking", {"topic": USERS, "document": ITEMS, "bm25": SCORE, "judgment": SPLITS}, {}),
        ("ranking", {"qid": USERS, "doc": ITEMS, "position": SPLITS + 1, "gain": LABEL}, {}),
        ("interleaving", {"device_id": ITEMS, "bucket": np.where(LABEL, "A", "B")}, {"x": LEVEL}),
        ("validation", {"cv_fold": SPLITS, "target": LEVEL, "prediction": NEAR}, {"row": ITEMS}),
    ],
)
def test_the_closest_report_uses_these_columns_and_no_other(report, used, unused):
    found = closest(**used, **unused)
    assert found.report == report
    named = {*found.predictions.get(None, {}).values()} | columns_of(found)
    assert named == {*used}


def test_two_labels_are_unclear_and_both_are_named():
    """A table has two columns of 0 and 1, whose names tell neither as the label, and one of scores.
    There are two ways to read it, each by the parameter that names the label.
    """
    readings = possible_readings(label_a=LABEL, label_b=1 - LABEL, score=SCORE)
    assert readings[0].ambiguity == "columns 'label_a' and 'label_b' could both be the label"
    assert [reading.choice.parameters for reading in readings] == [
        {"columns": "label=label_a"},
        {"columns": "label=label_b"},
    ]


def test_features_are_no_report():
    assert closest(age=SPLITS, income=LEVEL, height=NEAR) is None


def test_confidence_beside_decisions_is_no_score():
    found = proposal.classification(
        sampled(truth=LABEL, pred=(SCORE > 0.5) * 1, confidence=np.maximum(SCORE, 1 - SCORE))
    )
    assert found.predictions == {None: {"score": "pred"}}


def test_bounds_quantiles_and_ranks_are_no_systems_of_a_wide_table():
    frame = pd.DataFrame({"actual": LEVEL, "forecast_a": NEAR, "forecast_a_lower": NEAR - 9})
    assert ek.rating(frame).systems == ("a",)
    assert ek.rating(frame, systems="a,a_lower").systems == ("a", "a_lower")


def test_a_single_system_is_called_after_its_column():
    assert ek.classification(pd.DataFrame({"label": LABEL, "score": SCORE})).systems == ("score",)


def test_files_that_differ_by_a_date_alone_hold_one_system(tmp_path):
    for day in ("2026-11-01", "2026-11-02"):
        frame = pd.DataFrame({"actual": LEVEL, "forecast": NEAR})
        frame.to_csv(tmp_path / f"arima_{day}.csv", index=False)
    study = ek.rating(str(tmp_path))
    assert (study.systems, len(study.account)) == (("arima",), 2 * ROWS)


def test_predictions_beside_their_answer_are_no_values_per_unit(tmp_path):
    path = tmp_path / "x.csv"
    pd.DataFrame({"id": ITEMS, "actual": LEVEL, "a": NEAR, "b": FAR}).to_csv(path, index=False)
    with pytest.raises(InputError, match=r"'actual' .* evalkit report rating -p preds .*systems="):
        ek.significance(path)
    assert ek.significance(path, systems="a,b", columns="unit=id").systems == ("a", "b")


def test_a_missing_column_is_refused_with_the_command_that_works(tmp_path):
    path = tmp_path / "x.csv"
    pd.DataFrame({"churn": LABEL, "churn_score": SCORE}).to_csv(path, index=False)
    with pytest.raises(InputError, match=f": evalkit report classification -p preds {path}$"):
        ek.ranking(path)


@pytest.mark.parametrize("words", [("no", "yes"), ("No", "Yes"), ("N", "Y")])
def test_of_labels_that_say_yes_or_no_yes_is_the_positive_one(words):
    table = pd.DataFrame({"label": np.array(words)[LABEL], "score": SCORE})
    expected = ek.classification(pd.DataFrame({"label": LABEL, "score": SCORE}))
    assert ek.classification(table).estimates.equals(expected.estimates)


def test_the_command_with_the_class_of_higher_scores_as_positive_is_printed_first(tmp_path):
    """Neither of the classes "good" and "bad" says which is the positive one. The mean score of
    "good" is 0.63, that of "bad" 0.42: the command with "good" is the closest reading of the file,
    that with "bad" the second.
    """
    path = tmp_path / "t.csv"
    table = pd.DataFrame({"grade": np.array(["bad", "good"])[LABEL], "prob_of_default": SCORE})
    table.to_csv(path, index=False)
    all_reports = inspection.BY_CLOSENESS
    readings = inspection.readings([str(path)], all_reports, parameters={}, text={})
    first_two_commands = [reading.command for reading in readings[:2]]
    assert first_two_commands == [
        f"evalkit report classification -p preds {path} -p positive good",
        f"evalkit report classification -p preds {path} -p positive bad",
    ]


def test_each_of_two_labels_of_yes_and_no_is_tried_once():
    yes_or_no = np.where(LABEL, "yes", "no")
    ways = possible_readings(churned=yes_or_no, returned=yes_or_no[::-1], beta=SCORE)
    assert [way.choice.columns for way in ways] == [{"label": "churned"}]


def test_a_frame_is_refused_with_the_call_that_works():
    with pytest.raises(InputError, match=r": evalkit\.classification\(preds=data\)$"):
        ek.ranking(pd.DataFrame({"churn": LABEL, "churn_score": SCORE}))


def test_the_columns_of_a_frame_of_scores_are_systems():
    scores = pd.DataFrame({"logit": SCORE, "forest": OTHER})
    assert ek.classification(y_true=LABEL, y_score=scores).systems == ("logit", "forest")


@pytest.mark.parametrize("name", ["y_prob", "y_proba"])
def test_other_names_of_scores_are_read(name):
    study = ek.classification(y_true=LABEL, **{name: SCORE})
    assert study.primary_metric.label == "roc_auc"


@pytest.mark.usefixtures("undrawn")
def test_without_a_report_the_closest_one_is_made_and_named(tmp_path):
    """The file has the columns actual and arima, numbers and forecasts close to them, which the
    report `rating` reads. The command `report` names no report.
    """
    path = tmp_path / "x.csv"
    pd.DataFrame({"actual": LEVEL, "arima": NEAR}).to_csv(path, index=False)
    ended = evalkit("report", "-p", "preds", path, folder=tmp_path / "page")
    assert ended.status == 0
    assert f"no report was named, this is: evalkit report rating -p preds {path}" in ended.err
    assert (tmp_path / "page" / "rating.html").exists()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("alias", "report", "table"),
    [
        (
            "ab",
            "interleaving",
            {"user": ITEMS, "arm": np.where(LABEL, "a", "b"), "bought": LABEL},
        ),
        ("evals", "significance", {"question": ITEMS, "old": SCORE, "new": OTHER}),
    ],
    ids=["ab", "evals"],
)
def test_an_alias_writes_the_files_of_its_report(alias, report, table, tmp_path):
    path = tmp_path / "x.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    ended = evalkit("report", alias, "-p", "preds", path, folder=tmp_path / "page")
    assert ended.status == 0, ended.err
    assert (tmp_path / "page" / f"{report}.html").exists()


@pytest.mark.parametrize("name", ["logloss", "Log Loss", "log-loss"])
def test_losses_of_rows_have_their_usual_names_in_a_table_of_predictions(name):
    table = pd.DataFrame({"label": LABEL, "score": SCORE})
    assert {*ek.significance(table, metrics=name).estimates["metric"]} == {"log_loss"}


def test_totals_are_refused_as_users_with_the_columns_that_hold_them():
    totals = {"group": ["A", "B"] * 20, "visitors": [900, 950] * 20, "orders": [80, 90] * 20}
    way = "columns='system=group,successes=orders,trials=visitors'"
    with pytest.raises(InputError, match=f"several totals per group; .* {way}"):
        ek.ab(pd.DataFrame(totals))


def test_what_one_user_does_often_is_no_total():
    table = {"group": ["A", "B"] * 20, "visitors": [3, 40] * 20, "orders": [0, 1, 1, 0] * 10}
    assert ek.ab(pd.DataFrame(table)).users.systems


def test_a_refusal_says_what_the_file_lacks_without_a_placeholder():
    with pytest.raises(InputError, match=r"no column for the score \(score, y_score\); it has"):
        ek.classification(pd.DataFrame({"label": LABEL, "prob_0": 1 - SCORE}))


def test_a_feature_near_the_forecast_is_named_beside_the_actual_values():
    ways = possible_readings(mpg=LEVEL, speed=FAR, y_hat=NEAR)
    assert [way.choice.columns for way in ways] == [{"actual": "mpg"}, {"actual": "speed"}]


def first_command(table, folder):
    """The command that inspect prints first, without its beginning and its end; "" without one."""
    path = folder / "t.csv"
    table.to_csv(path, index=False)
    reading = inspection.readings([str(path)], inspection.BY_CLOSENESS, {}, {})[0]
    if reading.inspection is None:
        return ""
    return reading.command.removeprefix("evalkit report ").replace(f" -p preds {path}", "")


@pytest.mark.parametrize("model", ["naive", "AR9", "SeasonalNaive", "AutoARIMA", "Holt-Winters"])
def test_beside_a_model_of_a_series_the_other_column_may_be_the_actual_one(model, tmp_path):
    table = pd.DataFrame({"SUNSPOTS": LEVEL, model: FAR})
    assert first_command(table, tmp_path) == "rating -p columns actual=SUNSPOTS"


def test_each_column_that_models_of_a_series_could_forecast_has_a_command():
    ways = possible_readings(load=LEVEL, demand=NEAR, naive=FAR)
    assert [way.choice.columns for way in ways] == [{"actual": "load"}, {"actual": "demand"}]


def test_values_of_models_that_forecast_no_other_column_are_values_per_unit(tmp_path):
    errors = np.random.default_rng(7).random((3, ROWS))
    table = pd.DataFrame(dict(zip(("ours", "naive", "ets"), errors, strict=True)))
    assert first_command(table, tmp_path) == "significance"


def test_a_forecast_that_is_missing_leaves_no_values_per_unit(tmp_path):
    path = tmp_path / "t.csv"
    late = pd.Series(FAR).where(np.arange(ROWS) > 0)  # as a lag has no first value
    pd.DataFrame({"volume": LEVEL, "fitted": NEAR, "naive": late}).to_csv(path, index=False)
    readings = inspection.readings([str(path)], inspection.BY_CLOSENESS, {}, {})
    assert not any(reading.inspection for reading in readings)


@pytest.mark.parametrize(
    ("columns", "systems"),
    [
        ({"y_true": LABEL, "proba": SCORE, "rf": OTHER}, ["proba", "rf"]),
        ({"actual": LEVEL, "fittedvalues": NEAR, "naive": FAR}, ["fittedvalues", "naive"]),
        ({"actual": LEVEL, "y_pred": NEAR, "tree_cover": FAR}, [None]),
    ],
)
def test_a_column_named_after_a_model_is_a_system_beside_one_of_predictions(columns, systems):
    assert [*closest(**columns).predictions] == systems


TWO = {"logit": SCORE, "forest": np.sqrt(SCORE)}  # scores of two systems


@pytest.mark.parametrize(
    ("label", "command"),
    [
        (LABEL, "classification -p columns label=seen"),
        (
            np.array(["sick", "well"])[LABEL],
            "classification -p columns label=seen -p positive well",
        ),
    ],
)
def test_what_scores_tell_apart_may_be_their_label(label, command, tmp_path):
    assert first_command(pd.DataFrame({"seen": label, **TWO}), tmp_path) == command


def test_texts_that_no_score_tells_apart_are_a_segment(tmp_path):
    device = np.array(["web", "app"])[np.arange(len(SCORE)) % 2]
    scores = np.random.default_rng(1).random((2, len(SCORE)))
    table = pd.DataFrame({"query": ITEMS, "device": device, "a": scores[0], "b": scores[1]})
    assert first_command(table, tmp_path) == "significance"


@pytest.mark.parametrize("weight", [-1.0, 0.0])
def test_no_other_report_is_made_where_a_value_is_refused(weight, tmp_path):
    table = pd.DataFrame({"label": LABEL, "score": SCORE, "weight": weight})
    assert first_command(table, tmp_path) == ""


def test_labels_of_a_class_without_a_column_are_no_values_per_unit():
    table = pd.DataFrame({"label": [*"abcd"] * 10, **dict.fromkeys(["p_a", "p_b", "p_c"], 0.3)})
    with pytest.raises(InputError, match="'label' looks like an answer"):
        ek.significance(table)


def test_a_run_that_must_be_told_the_positive_label_ends_as_bad_input(tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame({"label": np.array(["sick", "well"])[LABEL], "score": SCORE}).to_csv(path)
    ended = evalkit("report", "classification", "-p", "preds", path, folder=tmp_path / "out")
    assert ended.status == 2
    assert not (tmp_path / "out").exists()


def test_columns_of_predicted_classes_are_systems_if_they_are_named():
    """The columns tree and net hold predicted species, not scores. The tree says "cat" in each
    fifth row and is right otherwise; the net is always right.
    """
    row = np.arange(ROWS)
    species = np.array(["cat", "dog", "owl"])[row % 3]
    by_tree = np.where(row % 5 == 0, "cat", species)
    table = pd.DataFrame({"species": species, "tree": by_tree, "net": species})
    study = ek.classification(table, columns="label=species", systems="tree,net")
    accuracy = study.estimates.query("metric == 'accuracy'").set_index("system")["value"]
    assert accuracy.to_dict() == {"net": 1.0, "tree": (by_tree == species).mean()}
