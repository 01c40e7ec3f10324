"""The first sentence of a diff: the largest significant loss, and systems by their names."""

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.pages import diff_page


def forecasts(rows=60, **errors):
    """Rows with an actual value and a forecast of each system. errors: the standard deviation of
    the errors of each system.
    """
    rng = np.random.default_rng(7)
    actual = rng.normal(0, 1, rows)
    table = pd.DataFrame({"id": range(rows), "actual": actual})
    for name, deviation in errors.items():
        table[f"forecast_{name}"] = actual + rng.normal(0, deviation, rows)
    return table


def diff_of_forecasts(folder, old, new, metrics="mae", **parameters):
    """The diff of two reports of forecasts. old, new: the spread of the errors of each system."""
    for day, errors in (("old", old), ("new", new)):
        study = ek.rating(forecasts(**errors), metrics=metrics)
        study.save(folder / day / "rating.units.parquet")
    return ek.diff(folder / "old", folder / "new", **parameters)


def first_sentence(study):
    return diff_page.verdict(study).text.split("\n")[0]


def test_the_largest_loss_of_several_systems_comes_first(tmp_path):
    old = {"a": 1.0, "b": 1.0, "c": 1.0}
    study = diff_of_forecasts(tmp_path, old, {"a": 0.1, "b": 1.9, "c": 3.0})
    assert first_sentence(study).startswith("The new c is worse than the old c by MAE.")
    assert study.headline["first"].iloc[0] == "new c"


def test_the_answer_after_the_largest_loss_does_not_repeat_that_loss(tmp_path):
    """The numbers are the standard deviations of the forecast errors of three systems in an old and
    in a new report: a has become better and c worse. The first line of the verdict says the loss,
    c; the second is the answer about the best system, a.
    """
    old = {"a": 1.0, "b": 1.0, "c": 1.0}
    study = diff_of_forecasts(tmp_path, old, {"a": 0.1, "b": 1.0, "c": 3.0})
    loss, answer = diff_page.verdict(study).text.split("\n")[:2]
    assert "new c" in loss
    assert "new c" not in answer
    assert "by MAE: the new a is better than it" in answer


# Units that are not in both reports ---------------------------------------------------------------


@pytest.fixture
def on_other_rows(tmp_path):
    for day, first in (("old", 0), ("new", 60)):
        table = forecasts(m=1.0 + first / 30).assign(id=lambda t, first=first: t["id"] + first)
        ek.rating(table, metrics="mae").save(tmp_path / day / "rating.units.parquet")
    return ek.diff(tmp_path / "old", tmp_path / "new")


def test_a_verdict_on_other_rows_begins_with_them(on_other_rows):
    assert first_sentence(on_other_rows) == (
        "The reports have no rows in common, so that other rows may be the cause."
    )


def test_that_no_row_is_common_stands_on_top(on_other_rows):
    found = next(one for one in diff_page.every_finding(on_other_rows) if one.kind.code == "EK802")
    assert found.kind.leads
    assert "verdict" in found.kind.at


def test_no_common_row_is_not_said_to_have_the_same_value(on_other_rows):
    assert "No row is in both reports." in diff_page.moved(on_other_rows).text


def lists(lacking, rows=12):
    """Judged lists of two items for each query, and none for the last queries of each run."""
    rng = np.random.default_rng(4)
    every = pd.DataFrame({"query": np.repeat(range(rows), 4), "item": [*"abcd"] * rows})
    qrels = every.assign(relevance=rng.integers(0, 2, len(every)))
    runs = every.assign(score=rng.random(len(every)))
    kept = [runs[runs["query"] < rows - n].assign(system=name) for name, n in lacking.items()]
    return pd.concat(kept), qrels


def ranked(folder, old, new, **parameters):
    for day, lacking in (("old", old), ("new", new)):
        runs, qrels = lists(lacking)
        study = ek.ranking(runs, qrels=qrels, metrics="ndcg@10")
        study.save(folder / day / "ranking.units.parquet")
    return ek.diff(folder / "old", folder / "new", **parameters)


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ({"a": 5, "b": 0}, {"a": 0, "b": 4}, "old a 5, new b 4"),
        ({"a": 5, "b": 5}, {"a": 6, "b": 6}, "new a 6, old a 5, new b 6, old b 5"),
    ],
)
def test_a_diff_says_how_many_judged_queries_each_run_lacks(tmp_path, old, new, counts):
    found = ranked(tmp_path, old, new).findings.set_index("code").loc["EK141"]
    assert found["severity"] == "warning"
    assert f"Judged queries missing from a run count as 0: {counts}." in found["message"]


def test_a_diff_of_complete_runs_says_nothing_of_missing_queries(tmp_path):
    study = ranked(tmp_path, {"a": 0, "b": 0}, {"a": 0, "b": 0})
    assert "EK141" not in study.findings["code"].tolist()


# Names --------------------------------------------------------------------------------------------


def test_a_model_is_called_by_its_name(tmp_path):
    study = diff_of_forecasts(tmp_path, {"v1": 1.0}, {"v2": 3.0})
    assert first_sentence(study).startswith("v2 is worse than v1: MAE is ")


def test_a_model_of_one_name_is_called_new_and_old(tmp_path):
    study = diff_of_forecasts(tmp_path, {"spam": 1.0}, {"spam": 3.0})
    assert first_sentence(study).startswith("The new spam is worse than the old spam: MAE is ")


def test_a_model_without_a_name_is_no_system(tmp_path):
    study = diff_of_forecasts(tmp_path, {"system": 1.0}, {"system": 3.0})
    assert first_sentence(study).startswith("The new model is worse than the old model: MAE is ")


def test_the_bundled_loss_by_f1_comes_first():
    assert first_sentence(ek.diff()) == ("The new model is worse than the old model by F1.")


def test_without_a_loss_the_answer_comes_first(tmp_path):
    study = diff_of_forecasts(tmp_path, {"m": 3.0}, {"m": 1.0})
    assert first_sentence(study).startswith("The new m is better than the old m: MAE is ")
