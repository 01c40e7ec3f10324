"""Input that cannot be validated on: each refused in one line that names what is wrong."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from validation_tables import (
    CREDIT,
    DUMMY,
    FAST,
    estimators,
    labelled,
    noise,
    severe,
)

from evalkit import __main__ as cli
from evalkit.arrays import InputError, ParameterError
from evalkit.limits import Limits, Reading
from evalkit.offline import splits
from evalkit.pages import validation_page
from evalkit.parameters import Validation
from evalkit.reading.inputs import folds
from evalkit.studies import validation

# Bad input


@pytest.mark.parametrize(
    "change, asked, error, message",
    [
        ({}, {"estimator": "nowhere.Model"}, ParameterError, "estimator: cannot import 'nowhere.Model': No module"),
        ({}, {"estimator": "sklearn.svm.Nope"}, ParameterError, "cannot import 'sklearn.svm.Nope'"),
        ({}, {"estimator": "Model"}, ParameterError, "cannot import 'Model'"),
        ({}, {"against": "sklearn.svm.Nope"}, ParameterError, "against: cannot import"),
        (
            {},
            {"estimator": "tests_estimators.number"},
            ParameterError,
            "must be an estimator, with fit and predict, got int",
        ),
        ({}, {"estimator": "tests_estimators.nothing"}, ParameterError, "with fit and predict, got function"),
        ({}, {"estimator": "tests_estimators.Needs"}, ParameterError, "cannot be called without arguments"),
        ({}, {"estimator": "os.fork"}, ParameterError, "'os.fork' must be an estimator, .* got builtin_function"),
        ({}, {"estimator": "os.abort"}, ParameterError, "'os.abort' must be an estimator, .* got builtin_function"),
        ({}, {"estimator": "sys.exit"}, ParameterError, "'sys.exit' must be an estimator"),
        ({}, {"estimator": "subprocess.Popen"}, ParameterError, "'subprocess.Popen' must be .* a class without them"),
        (
            {},
            {"estimator": "tests_estimators.Fails"},
            InputError,
            "estimator Fails fails on fold 1: RuntimeError: no luck$",
        ),
        ({}, {"estimator": "tests_estimators.Lost"}, InputError, "fails on fold 1: ValueError: it predicts nan"),
        (
            {},
            {"estimator": "sklearn.linear_model.Ridge"},
            ParameterError,
            "predicts numbers, but the target",
        ),
        ({"label": np.linspace(0, 1, 60)}, {"estimator": DUMMY}, ParameterError, "predicts classes, but"),
        ({}, {"target": "nope"}, ParameterError, "target: data frame has no column 'nope'"),
        ({"label": 1}, {}, InputError, "label must have 2 or more classes, got only '1'"),
        ({"label": [1, 0, 0] + [0] * 57}, {}, ParameterError, "at least 5 rows \\(k\\), got 1"),
        ({"group": ["a", "b", "c"] * 20}, {}, ParameterError, "k must be 2 to the number of groups, 3, got 5"),
        ({"time": [1, 2, 3] * 20}, {}, ParameterError, "time must have at least as many distinct values as blocks"),
        ({"time": range(60), "label": [0] * 30 + [1] * 30}, {}, InputError, "among the training rows of fold 1"),
        ({"fold": ["a"] * 60}, {}, InputError, "fold must have 2 or more values"),
        ({}, {"metrics": "mae"}, ParameterError, "'mae' is undefined for 2 classes"),
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
        ({"label": [np.nan, *[0, 1] * 29, 1]}, {}, InputError, "label must not be empty, got nothing \\(row 1\\)"),
        ({"label": ["nan", *"ab" * 29, "a"]}, {}, InputError, "label must not be empty, got 'nan' \\(row 1\\)"),
        ({"label": [np.inf, *np.arange(59)]}, {}, InputError, "label must be a finite number, got 'inf' \\(row 1\\)"),
        ({"X0": 1.0}, {}, InputError, "column names must be distinct, got 'x0' and 'X0'"),
        ({}, {"k": 31}, ParameterError, "at least 31 rows \\(k\\), got 30 of class 0"),
        ({"label": np.linspace(0, 1, 60)}, {"k": 61}, ParameterError, "number of rows, 60, got 61"),
        ({}, {"gap": 3}, ParameterError, "gap: needs a time column"),
        ({"time": range(60)}, {"gap": -3}, ParameterError, "gap must be a number of at least 0, got -3"),
        ({"time": range(60)}, {"gap": 99}, InputError, "folds must have rows on both sides, got no training row"),
        ({}, {"threshold": 0.4}, ParameterError, "threshold: needs preds"),
        ({}, {"target": "x0", "columns": {"label": "label"}}, ParameterError, "got 'x0' and 'label'"),
        ({}, {"categorical": "label"}, ParameterError, "as a feature has no column 'label'"),
        ({}, {"ignore": "z*"}, ParameterError, "ignore: data frame has no column 'z\\*'"),
        ({}, {"ignore": "x*"}, InputError, "must have a column besides 'label', 'x0', 'x1', 'x2': there is no feature"),
        ({}, {"selected": "z"}, ParameterError, "selected: data frame has no column 'z'"),
        ({}, {"selected": "x*"}, ParameterError, "selected must not name every feature, got all 3"),
        ({}, {"estimator": ".x.y"}, ParameterError, "cannot import '.x.y'"),
        ({}, {"estimator": "sklearn.cluster.KMeans"}, ParameterError, "is a clusterer"),
        ({}, {"estimator": "tests_estimators.Duck"}, ParameterError, "must be what scikit-learn's BaseEstimator is"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, asked, error, message):
    estimators()
    with pytest.raises(error, match=message):
        validation.read(features=noise(60).assign(**change), **({"k": 5} | FAST | asked))


@pytest.mark.parametrize(
    "change, asked, error, message",
    [
        ({}, {"target": "label"}, ParameterError, "target: needs features"),
        ({}, {"k": 3}, ParameterError, "k: needs features"),
        ({}, {"selected": "score"}, ParameterError, "selected: needs features"),
        ({"fold": 1}, {}, InputError, "fold must have 2 or more values, got \\['1'\\]"),
        ({"label": 0}, {}, InputError, "label must have 2 or more classes"),
        ({"label": [0, 1, 2] * 20}, {}, InputError, "label must hold two classes, or numbers that the score forecasts"),
        (
            {"score": range(60)},
            {"metrics": "brier"},
            ParameterError,
            "'brier' is undefined for scores outside 0 to 1",
        ),
        (
            {"label": np.linspace(0, 2, 60)},
            {"metrics": "mase"},
            ParameterError,
            "'mase' is undefined for this report, which reads no column naive_mae",
        ),
    ],
)
def test_predictions_that_cannot_be_meant_are_refused(change, asked, error, message):
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    with pytest.raises(error, match=message):
        validation.read(frame.assign(**change), **asked)


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
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    frame = frame.assign(id=range(60))
    both = pd.concat([frame.assign(system="majority", score=1 - frame["score"]), frame.assign(system="a")])
    study = validation.read(both)
    assert study.systems == ("a", "majority", "majority (baseline)")
    assert study.pooled["majority"].score.max() == 1.0


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "batches"])
def test_more_rows_than_are_held_are_refused_by_name_and_number(kind, tmp_path):
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    frame.to_csv(tmp_path / "made.csv", index=False)
    frame.to_parquet(tmp_path / "made.parquet", index=False)
    table = pa.Table.from_pandas(frame)
    preds = {"frame": frame, "batches": table.to_batches(7)}.get(kind, str(tmp_path / f"made.{kind}"))
    preds = iter(preds) if kind == "batches" else preds
    where = {"frame": "data frame", "batches": "record batches"}.get(kind, f"made.{kind}")
    with pytest.raises(InputError, match=rf"{where}: 60 rows are more than the 59 that .* holds; .* classification"):
        validation.study_of(Validation.of({"preds": preds}), Limits(reading=Reading(rows=10, held=59)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_up_to_the_limit_are_held_whatever_the_memory(kind, tmp_path):
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": np.arange(60) % 3})
    getattr(frame, f"to_{kind}")(tmp_path / f"made.{kind}", index=False)
    given = Validation.of({"preds": str(tmp_path / f"made.{kind}"), "memory": "250MB"})
    study = validation.study_of(given, Limits(reading=Reading(rows=10, held=60)))
    pd.testing.assert_frame_equal(study.by_fold, validation.read(frame).by_fold)


def test_draws_of_the_folds_that_no_role_names_are_refused():
    frame = pd.DataFrame({"id": range(60), "label": [0, 1] * 30, "score": np.linspace(0, 1, 60)})
    drawn = pd.concat([frame.assign(fold=np.arange(60) % (3 + i), iteration=i) for i in range(2)])
    with pytest.raises(InputError, match="iteration may number repeated draws of the folds; set columns='repeat="):
        validation.read(drawn)


def test_folds_named_true_and_false_are_refused():
    frame = pd.DataFrame({"label": [0, 1] * 30, "score": np.linspace(0, 1, 60), "fold": ["true", "false"] * 30})
    with pytest.raises(InputError, match="name folds, or training and test rows as train and test, got 'false' and"):
        validation.read(frame)


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
    assert "base rate" in [one.name for one in study.findings]
    assert validation_page.by_fold(study).text.count("–") >= 1


def test_bad_input_and_a_failed_gate_end_with_their_status(tmp_path, capsys):
    assert cli.main(["report", "validation", "-p", "target", "x", "-o", str(tmp_path)]) == 2
    assert "target: needs features" in capsys.readouterr().err
    frame = pd.read_csv(CREDIT).query("model == 'forest'").assign(group=np.arange(1000) // 10)
    frame.to_csv(tmp_path / "leaky.csv", index=False)
    asked = ["-p", "preds", str(tmp_path / "leaky.csv"), "-p", "gate", "no severe finding"]
    assert cli.main(["report", "validation", *asked, "-o", str(tmp_path / "out")]) == 3
    assert json.loads((tmp_path / "out" / "validation.json").read_text())["verdict"]["word"] == "fail"


@pytest.mark.parametrize("values, kind", [(20, "classes"), (21, "number")])
def test_a_target_of_20_whole_numbers_is_classes_and_of_21_a_number(values, kind):
    table = pd.DataFrame({"x": range(84), "label": np.arange(84) % values})
    assert folds.table(table, folds.Use({}), kind=None).kind == kind
