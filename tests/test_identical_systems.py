"""Two systems with the same predictions do not differ; two that only come out even may."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit import __main__ as command
from evalkit.limits import Limits, ReadingLimits
from evalkit.parameters import reports
from evalkit.studies import classification

ROWS = 120
METRICS = "accuracy,recall,precision,f1,mcc,lift,error_rate,ks,roc_auc,brier,ece_10"
BLOCKS = Limits(reading=ReadingLimits(rows=50, shard=50, largest=50))
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


def test_systems_of_equal_accuracy_with_errors_on_different_rows_may_differ():
    """Of each four rows system a misses the second and system b the first, so that both have an
    accuracy of 3/4. The difference is 0, but its interval is not: in another sample the two could
    have different numbers of errors.
    """
    label = np.tile([1, 1, 0, 0], 20)
    score_a = np.tile([0.9, 0.1, 0.1, 0.1], 20)
    score_b = np.tile([0.1, 0.9, 0.1, 0.1], 20)
    table = pd.DataFrame({"id": range(80), "label": label, "score_a": score_a, "score_b": score_b})
    accuracy = ek.classification(table, metrics="accuracy").comparisons.iloc[0]
    assert accuracy["difference"] == 0
    assert accuracy["high"] > 0


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_diff_of_identical_reports_keeps_the_gate_better_or_equivalent(has_ids, tmp_path):
    """The values per unit of one study are written as those of the old and of the new report, from
    rows with or without ids. The command `diff` with the gate "better or equivalent" ends with 0,
    since the gate is kept: the difference is 0 with an interval of no width, within ±0.001.
    """
    table = predictions() if has_ids else predictions().drop(columns="id")
    path = tmp_path / "preds.csv"
    table.to_csv(path, index=False)
    study = ek.classification(path, metrics="accuracy")
    old = tmp_path / "old.units.parquet"
    new = tmp_path / "new.units.parquet"
    study.write_units(old)
    study.write_units(new)
    gate = ["-p", "gate", "better or equivalent", "-p", "margin", "0.001"]
    assert command.main(["diff", str(old), str(new), *gate, "-o", str(tmp_path / "out")]) == 0
