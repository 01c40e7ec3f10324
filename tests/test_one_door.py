"""`preds` takes the table of every report: in Python, by the command and under papermill."""

import json

import online_samples
import pandas as pd
import papermill
import pytest
from command_runs import ROOT, evalkit
from examples import first_try
from papermill.engines import papermill_engines

import evalkit as ek
from evalkit import report

TABLES = {
    "ab": "ab_group",
    "classification": "churn",
    "interleaving": "ab_variation",
    "ranking": "user_item_clicked",
    "rating": "prophet",
    "significance": "datasets_wide",
    "evals": "questions",
    "validation": "folds",
}
NOTEBOOKS = {"ab": "interleaving", "evals": "significance"}
EXAMPLES = {example.name: example for example in first_try.made("first")}


def by_night(by_day):
    return [
        pytest.param(name, marks=[] if name == by_day else [pytest.mark.slow]) for name in TABLES
    ]


def by_name(study):
    return ek_call(study, preds=EXAMPLES[TABLES[study]].frame)


def by_position(study):
    return ek_call(study, EXAMPLES[TABLES[study]].frame)


def ek_call(study, *tables, **named):
    made = getattr(ek, study)(*tables, **named)
    estimates = getattr(made, "users", made).estimates
    return {*zip(estimates["metric"], estimates["value"].round(9), strict=True)}


def stored(path):
    results = json.loads(path.read_text())
    estimates = results.get("users", results)["estimates"]
    return {(row["metric"], round(row["value"], 9)) for row in estimates}


def by_command(study, tmp_path):
    path = tmp_path / "table.csv"
    EXAMPLES[TABLES[study]].frame.to_csv(path, index=False)
    ended = evalkit("report", study, "-p", "preds", path, folder=tmp_path / "out")
    assert ended.status == 0, ended.err
    (results,) = (tmp_path / "out").glob("*.json")
    return stored(results)


def by_papermill(study, tmp_path):
    """The results that the notebook shows, run by papermill's own command with evalkit's engine."""
    papermill_engines.register("evalkit", report.EvalkitEngine)
    path = tmp_path / "table.csv"
    EXAMPLES[TABLES[study]].frame.to_csv(path, index=False)
    notebook = papermill.execute_notebook(
        ROOT / "notebooks" / f"{NOTEBOOKS.get(study, study)}.ipynb",
        tmp_path / "out.ipynb",
        parameters={"preds": str(path)},
        engine_name="evalkit",
        progress_bar=False,
    )
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = [output["data"] for output in outputs if "data" in output]
    (results,) = [one[report.RESULTS] for one in data if report.RESULTS in one]
    (tmp_path / "results.json").write_text(json.dumps(results))
    return stored(tmp_path / "results.json")


@pytest.mark.parametrize("study", TABLES)
def test_preds_is_the_first_argument_in_python(study):
    assert by_position(study) == by_name(study)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("study", TABLES)
def test_preds_is_a_parameter_of_the_command(study, tmp_path):
    assert by_command(study, tmp_path) == by_name(study)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("study", by_night("ab"))
def test_preds_is_a_parameter_of_papermill(study, tmp_path):
    assert by_papermill(study, tmp_path) == by_name(study)


def test_preds_and_log_are_one_too_many():
    users = EXAMPLES["ab_group"].frame
    with pytest.raises(ek.ParameterError, match="preds and log: give one"):
        ek.ab(users, log=users)


def test_preds_is_the_log_beside_users():
    log = online_samples.log()
    users = online_samples.users()
    found = ek.interleaving(log, users, metrics="orders", world="none").log.estimates
    named = ek.interleaving(log=log, world="none").log.estimates
    pd.testing.assert_frame_equal(found, named)


def test_a_log_of_sessions_is_recognised_by_its_teams():
    sessions = ROOT / "data/interleaving/sessions.parquet"
    options = {"neutral": "both", "baseline": "current"}
    found = ek.ab(sessions, **options).log.estimates
    assert found.equals(ek.interleaving(log=sessions, **options).log.estimates)


def test_a_table_without_arms_and_sessions_lacks_an_arm():
    plans = ROOT / "data/interleaving/health_plans.parquet"
    with pytest.raises(ek.InputError, match="no column for the arm"):
        ek.ab(plans)
