"""`evalkit explain`: another tool's number is traced to its convention, or to none."""

import re

import numpy as np
import pandas as pd
import pytest
from command_runs import evalkit
from sklearn.metrics import f1_score, mean_squared_error, ndcg_score, roc_auc_score

from evalkit.commands import explain


def explain_value_of_table(metric, theirs, table, tmp_path, *parameters):
    """What `evalkit explain` prints of a table and another tool's value of a metric, `theirs`."""
    file = tmp_path / "table.csv"
    table.to_csv(file, index=False)
    return evalkit("explain", metric, "--theirs", theirs, file, *parameters, folder=None)


@pytest.fixture
def classes():
    """Predictions of three classes, the last one rare."""
    rng = np.random.default_rng(1)
    label = rng.choice(["a", "b", "c"], 200, p=[0.6, 0.3, 0.1])
    wrong = rng.random(200) < 0.3
    predicted = np.where(wrong, rng.choice(["a", "b", "c"], 200), label)
    return pd.DataFrame({"y_true": label, "y_pred": predicted})


@pytest.fixture
def scores():
    """Scores of two classes, between 0 and 1."""
    rng = np.random.default_rng(2)
    label = rng.integers(0, 2, 150)
    return pd.DataFrame(
        {"label": label, "score": np.clip(0.3 * label + 0.6 * rng.random(150), 0, 1)}
    )


def test_another_average_is_named(classes, tmp_path):
    theirs = f1_score(classes["y_true"], classes["y_pred"], average="weighted")
    ended = explain_value_of_table("macro_f1", f"{theirs:.5f}", classes, tmp_path)
    assert ended.status == 0
    assert f"{theirs:.5f} is the value of:" in ended.out
    assert "weighted_f1" in ended.out


def test_the_other_label_is_named(scores, tmp_path):
    theirs = roc_auc_score(1 - scores["label"], scores["score"])
    ended = explain_value_of_table("roc_auc", f"{theirs:.5f}", scores, tmp_path)
    assert f"{theirs:.5f} is the value of:" in ended.out
    assert "roc_auc, positive=0" in ended.out


def test_another_threshold_is_named(scores, tmp_path):
    theirs = max(f1_score(scores["label"], scores["score"] >= at) for at in scores["score"])
    ended = explain_value_of_table("f1", f"{theirs:.5f}", scores, tmp_path)
    assert "f1, threshold=best_f1" in ended.out


def test_a_squared_error_is_named(tmp_path):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"actual": rng.normal(size=80), "forecast": rng.normal(size=80)})
    theirs = mean_squared_error(table["actual"], table["forecast"])
    assert ": mse" in explain_value_of_table("rmse", f"{theirs:.6f}", table, tmp_path).out


@pytest.fixture
def lists():
    """Graded lists of twelve items, whose scores have many ties."""
    rng = np.random.default_rng(4)
    queries = np.repeat([f"q{i:02}" for i in range(20)], 12)
    grades = rng.integers(0, 4, 240)
    ties = rng.integers(0, 5, 240)
    items = np.tile([f"i{i:02}" for i in range(12)], 20)
    return pd.DataFrame({"query": queries, "item": items, "grade": grades, "score": ties})


def test_another_cut_off_is_named(lists, tmp_path):
    lists["score"] += np.random.default_rng(5).random(240)
    pairs = [(rows["grade"], rows["score"]) for _, rows in lists.groupby("query")]
    theirs = np.mean([ndcg_score([grade], [score], k=5) for grade, score in pairs])
    ended = explain_value_of_table("ndcg@10", f"{theirs:.5f}", lists, tmp_path)
    assert f"{theirs:.6f}  table: ndcg@5\n" in ended.out


def test_another_order_of_ties_is_named(lists, tmp_path):
    best = lists.assign(score=lists["score"] + lists["grade"] / 10)
    pairs = [(rows["grade"], rows["score"]) for _, rows in best.groupby("query")]
    theirs = np.mean([ndcg_score([grade], [score], k=10) for grade, score in pairs])
    ended = explain_value_of_table("ndcg@10", f"{theirs:.5f}", lists, tmp_path)
    assert f"{theirs:.6f}  table: ndcg@10, best order of ties" in ended.out


def test_the_nearest_values_are_listed_if_none_fits(scores, tmp_path):
    """Another tool's ROC AUC is said to be 0.123, which no convention gives for these scores. Each
    line that follows begins with the value of a convention, the nearest to 0.123 first, at most
    `explain.MOST` = 5 of them.
    """
    ended = explain_value_of_table("roc_auc", "0.123", scores, tmp_path)
    first, *lines = ended.out.splitlines()
    assert first.endswith("values is 0.123. The nearest:")
    distances = [abs(float(line.split()[0]) - 0.123) for line in lines]
    assert distances == sorted(distances)
    assert 1 < len(lines) <= explain.MOST


@pytest.mark.parametrize("theirs, fits", [("0.5", True), ("0.50", True), ("0.51", False)])
def test_a_value_fits_if_it_rounds_to_the_same_digits(theirs, fits, tmp_path):
    table = pd.DataFrame({"actual": [0.0, 0.0], "forecast": [0.504, 0.504]})
    out = explain_value_of_table("mae", theirs, table, tmp_path).out
    assert ("is the value of" in out) == fits


@pytest.mark.parametrize(
    "metric, theirs, words",
    [
        ("roc_auc", "high", "--theirs must be a number such as 0.81, got 'high'"),
        ("roc_acu", "0.8", "unknown metric 'roc_acu'"),
        ("mae", "0.8", "no report reads"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_words(metric, theirs, words, scores, tmp_path):
    ended = explain_value_of_table(metric, theirs, scores, tmp_path)
    assert ended.status == 2
    assert words in ended.err


def test_every_metric_that_is_tried_is_in_the_catalogue():
    known = {name for table in explain.lookup.TABLES.values() for name in table}
    assert {name for group in explain.CONVENTIONS["groups"] for name in group} <= known


def test_the_other_of_two_labels_of_any_name_is_tried(scores, tmp_path):
    """The labels are yes and no, of which evalkit takes yes for the positive one. Another tool's
    ROC AUC is computed with no as the positive label, as is found out and said.
    """
    named = scores.assign(label=np.where(scores["label"] == 1, "yes", "no"))
    theirs = roc_auc_score(1 - scores["label"], scores["score"])
    assert (
        "roc_auc, positive=no"
        in explain_value_of_table("roc_auc", f"{theirs:.5f}", named, tmp_path).out
    )


def test_a_percentage_is_named(scores, tmp_path):
    theirs = 100 * roc_auc_score(scores["label"], scores["score"])
    assert (
        "roc_auc, in percent"
        in explain_value_of_table("roc_auc", f"{theirs:.2f}", scores, tmp_path).out
    )


def test_small_numbers_may_have_an_exponent(tmp_path):
    table = pd.DataFrame({"actual": np.arange(40) / 1e3, "forecast": np.arange(40) / 1e3 + 1e-4})
    theirs = mean_squared_error(table["actual"], table["forecast"])
    ended = explain_value_of_table("rmse", f"{theirs:.3e}", table, tmp_path)
    assert "1e-08  forecast: mse" in ended.out


def test_a_metric_that_the_table_does_not_allow_is_refused_by_its_reason(tmp_path):
    table = pd.DataFrame({"actual": np.arange(40) / 7, "forecast": np.arange(40) / 7 + 1})
    ended = explain_value_of_table("wis", "0.5", table, tmp_path)
    assert ended.status == 2
    assert "quantiles" in ended.err
    assert "Traceback" not in ended.err


def test_a_metric_of_intervals_is_explained(tmp_path):
    """All 40 actual values lie within their intervals from the 10 to the 90 % quantile. The share
    that does, coverage@80, is therefore 1, and another tool's value of 1 is recognised as it.
    """
    actual = np.arange(40) / 7
    table = pd.DataFrame(
        {"actual": actual, "forecast": actual, "p10": actual - 1, "p90": actual + 1}
    )
    ended = explain_value_of_table("coverage@80", "1", table, tmp_path)
    assert "1 is the value of:" in ended.out


def test_of_many_equal_values_some_are_listed_and_the_others_counted(scores, tmp_path):
    """The table has eight equal columns of scores, so that another tool's ROC AUC is the value of
    at least eight systems. After a first line only five are listed, and a last line counts the
    others.
    """
    eight_equal_scores = {f"score_{i}": scores["score"] for i in range(8)}
    table = pd.DataFrame(eight_equal_scores).assign(label=scores["label"])
    theirs = roc_auc_score(scores["label"], scores["score"])
    ended = explain_value_of_table("roc_auc", f"{theirs:.5f}", table, tmp_path)
    _first, *listed, last = ended.out.splitlines()
    assert len(listed) == 5
    assert re.fullmatch(r"and \d+ more", last)


def test_several_files_are_one_input(scores, tmp_path):
    """The rows of one table stand in two files, 80 in the first and the other 70 in the second. The
    ROC AUC of all rows is explained only if the two are read as one table.
    """
    first = tmp_path / "first.csv"
    second = tmp_path / "second.csv"
    rows = scores.assign(id=range(len(scores)), system="model")
    rows[:80].to_csv(first, index=False)
    rows[80:].to_csv(second, index=False)
    theirs = f"{roc_auc_score(scores['label'], scores['score']):.5f}"
    ended = evalkit("explain", "roc_auc", "--theirs", theirs, first, second, folder=None)
    assert f"{theirs} is the value of:" in ended.out
