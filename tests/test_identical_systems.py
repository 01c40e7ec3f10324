"""Two systems with the same predictions do not differ; two that only come out even may."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit import __main__ as command
from evalkit.limits import Limits, Reading
from evalkit.parameters import reports
from evalkit.studies import classification

ROWS = 120
METRICS = "accuracy,recall,precision,f1,mcc,lift,error_rate,ks,roc_auc,brier,ece_10"
BLOCKS = Limits(reading=Reading(rows=50, shard=50, largest=50))
DESIGNS = {"rows": [], "users": ["user"], "weights": ["weight"]}


def predictions(**more):
    """Labels, scores in steps of a hundredth, and further columns."""
    rng = np.random.default_rng(61)
    label = rng.integers(0, 2, ROWS)
    score = np.clip(0.3 * label + 0.7 * rng.random(ROWS), 0.01, 0.99).round(2)
    table = {"id": np.arange(ROWS), "label": label, "score_a": score}
    return pd.DataFrame(table | more)


def twins():
    """Two systems with the same scores, with users and weights."""
    table = predictions(user=np.arange(ROWS) // 2, weight=1.0 + np.arange(ROWS) % 3)
    return table.assign(score_b=table["score_a"])


def compared(design, limits, metrics, threshold="0.5"):
    """The comparisons of two systems with the same scores."""
    columns = ["id", "label", "score_a", "score_b", *DESIGNS[design]]
    unit = {"unit": "user"} if design == "users" else {}
    given = {"preds": twins()[columns], "metrics": metrics, "threshold": threshold, **unit}
    return classification.study_of(
        reports.ClassificationParameters.from_raw(given), limits
    ).comparisons


@pytest.mark.parametrize("threshold", ["0.5", "best_f1"])
@pytest.mark.parametrize("design", DESIGNS)
def test_no_metric_of_identical_systems_has_a_width(design, threshold):
    table = compared(design, Limits(), METRICS, threshold)
    assert (table[["difference", "low", "high"]] == 0).all(axis=None)


@pytest.mark.parametrize("design", DESIGNS)
def test_no_metric_of_the_same_scores_has_a_width_in_blocks(design):
    table = compared(design, BLOCKS, "ks,roc_auc,brier,ece_10")
    assert (table[["difference", "low", "high"]] == 0).all(axis=None)


def test_blocks_do_not_know_that_equal_decisions_have_equal_scores():
    assert compared("rows", BLOCKS, "accuracy")["high"].item() > 0


def test_identical_systems_do_not_differ_in_words():
    study = ek.classification(twins().drop(columns=["user", "weight"]), metrics="accuracy")
    assert "a and b do not differ in accuracy" in str(study)


def test_systems_that_decide_alike_by_other_scores_may_differ_in_accuracy():
    table = predictions()
    table["score_b"] = np.where(table["score_a"] >= 0.5, 0.9, 0.1)
    accuracy = ek.classification(table, metrics="accuracy").comparisons.iloc[0]
    assert accuracy["low"] < accuracy["high"]


def test_systems_that_decide_alike_may_differ_in_brier():
    table = predictions()
    table["score_b"] = np.where(table["score_a"] >= 0.5, 0.9, 0.1)
    brier = ek.classification(table, metrics="brier").comparisons.iloc[0]
    assert brier["low"] < brier["high"]


def test_errors_that_come_out_even_are_a_difference_that_data_do_not_tell():
    label = np.tile([1, 1, 0, 0], 20)
    a = np.tile([0.9, 0.1, 0.1, 0.1], 20)
    b = np.tile([0.1, 0.9, 0.1, 0.1], 20)
    table = pd.DataFrame({"id": range(80), "label": label, "score_a": a, "score_b": b})
    accuracy = ek.classification(table, metrics="accuracy").comparisons.iloc[0]
    assert accuracy["difference"] == 0 < accuracy["high"]


@pytest.mark.parametrize("dropped", [[], ["id"]], ids=["ids", "no ids"])
def test_a_diff_of_identical_reports_keeps_the_gate_better_or_equivalent(dropped, tmp_path):
    path = tmp_path / "preds.csv"
    predictions().drop(columns=dropped).to_csv(path, index=False)
    study = ek.classification(path, metrics="accuracy")
    for name in ("old", "new"):
        study.write_units(tmp_path / f"{name}.units.parquet")
    asked = ["diff", str(tmp_path / "old.units.parquet"), str(tmp_path / "new.units.parquet")]
    gate = ["-p", "gate", "better or equivalent", "-p", "margin", "0.001"]
    assert command.main([*asked, *gate, "-o", str(tmp_path / "out")]) == 0
