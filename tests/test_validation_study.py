"""The validation study: the answer on real data, estimates and intervals, what is published and drawn."""

import re

import numpy as np
import pandas as pd
import pytest
from validation_tables import (
    CANCER,
    CREDIT,
    FAST,
    labelled,
    noise,
)

from evalkit.offline import fitting
from evalkit.pages import validation_page
from evalkit.statistics.significance import holm
from evalkit.studies import validation


@pytest.fixture(scope="module")
def given():
    return validation.read()


# The answer on real data


def test_predictions_with_a_fold_column(given):
    assert (given.subject, given.baseline, given.word) == ("forest", "majority", "cannot tell")
    row = given.intervals.set_index("what").loc["pooled out of fold"]
    assert (row["value"], row["n"], row["method"]) == (0.771, 1000, "Wilson")
    frame = pd.read_csv(CREDIT).query("model == 'forest'")
    by_hand = ((frame["y_score"] >= 0.5) == frame["y_true"]).groupby(frame["fold"]).mean()
    assert given.fold_values("forest") == pytest.approx(by_hand.to_numpy())
    shown = validation_page.verdict(given)
    assert "8 of 18 checks could be run; important checks are missing: group on both sides, time travel" in shown.text
    assert not re.search('can be trusted|class="verdict pass"|<s>', shown.html)  # what is crossed out has its section
    assert "<s>0.771 " in validation_page.intervals(given).html
    assert "[0.746, 0.796]" in validation_page.intervals(given).text


def test_pooled_rows_equal_cross_val_predict():
    from sklearn.model_selection import cross_val_predict

    study = validation.read(features=CANCER, target="diagnosis", k=5, **FAST)
    model = fitting.prepared(fitting.usual("classes"), study.examples.features, 0)
    e = study.examples
    probability = cross_val_predict(model, e.features, e.label, cv=study.folds, method="predict_proba")
    assert study.pooled[study.subject].score == pytest.approx(probability[:, 1])
    from sklearn import metrics

    value = study.estimates.set_index(["metric", "system"])["value"]
    assert value["roc_auc", study.subject] == pytest.approx(metrics.roc_auc_score(e.label, probability[:, 1]))
    assert value["log_loss", study.subject] == pytest.approx(metrics.log_loss(e.label, probability))
    assert value["brier", study.subject] == pytest.approx(metrics.brier_score_loss(e.label, probability[:, 1]))


def test_several_classes_and_numbers():
    rng = np.random.default_rng(1)
    frame = noise(120).assign(label=np.array(["a", "b", "c"])[np.arange(120) % 3])
    study = labelled(frame)
    assert list(study.estimates["metric"].unique()) == ["accuracy", "log_loss", "brier"]
    target = rng.normal(size=120)
    study = labelled(frame.assign(label=target))
    p = study.pooled["Ridge"]
    error = p.actual - p.score
    value = study.estimates.set_index(["metric", "system"])["value"]
    assert value["rmse", "Ridge"] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert value["mae", "median"] == pytest.approx(np.abs(target - study.pooled["median"].score).mean())


# The verdict claims no more than what was checked


def checked(**columns):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(900, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(label=(x.sum(axis=1) + rng.normal(size=900) > 0).astype(int))
    frame = frame.assign(group=np.arange(900) // 3, time=np.arange(900) // 3)
    return labelled(frame.drop(columns=[name for name, there in columns.items() if not there]))


def test_pass_needs_groups_time_and_copies_to_be_checked():
    study = checked()
    assert study.word == "pass"
    assert "no problem found; 15 of 17 checks could be run" in validation_page.verdict(study).text
    for name in ("group", "time"):
        less = checked(**{name: False})
        assert less.word == "cannot tell"
        assert (
            "no problem found; 14 of 17 checks could be run; important checks are missing"
            in validation_page.verdict(less).text
        )


def test_coarse_columns_hide_copies_so_the_verdict_is_not_green():
    rng = np.random.default_rng(6)
    coarse = pd.DataFrame(rng.integers(0, 4, (900, 2)), columns=["a", "b"]).assign(group=np.arange(900) // 3)
    label = (coarse["a"] + coarse["b"] + rng.normal(size=900) > 3).astype(int)
    study = labelled(coarse.assign(label=label, time=coarse["group"]))
    assert study.word == "cannot tell"
    assert "important checks are missing: duplicate rows" in validation_page.verdict(study).text


@pytest.mark.parametrize("rule, passed", [("no severe finding", True), ("trusted", False)])
def test_the_gate_trusted_asks_for_what_could_not_be_checked(rule, passed):
    assert validation.read(gate=rule).gate["passed"] is passed


@pytest.mark.parametrize(("rows", "decides", "honest"), [(200, "p", False), (1000, "p_pooled", True)])
def test_the_folds_decide_where_few_rows_are_pooled(rows, decides, honest):
    rng = np.random.default_rng(5)
    label = np.tile(rng.integers(0, 2, rows), 2)
    table = {"label": label, "score": label + rng.normal(0, 1, 2 * rows), "fold": np.tile(np.arange(rows) % 5, 2)}
    table |= {"id": np.tile(np.arange(rows), 2), "model": np.repeat(["a", "b"], rows)}
    study = validation.read(pd.DataFrame(table), metrics="roc_auc")
    assert study.paired["adjusted"].tolist() == pytest.approx(np.clip(holm(study.paired[decides]), 0, 1))
    assert study.paired["p_pooled"].notna().all() == honest
    assert set(study.paired[decides]) <= set(study.comparisons["p"])
    assert study.answer["what"].startswith("pooled") is honest
    first, second = validation_page.paired(study).html.split("<table")[1:]
    assert ("adjusted p" in first, "adjusted p" in second) == (honest, not honest)


# What is published, and drawn


def test_pictures_say_what_they_draw(given):
    assert validation_page.strip(given).html == ""
    for draw in (validation_page.fold_map, validation_page.folds, validation_page.interval_plot):
        assert f"{given.rows.size:,} rows" in draw(given).svg


def test_the_map_shows_blocks_of_time_apart():
    frame = noise(200).assign(time=np.arange(200))
    study = labelled(frame)
    kinds = study.stretches(120)
    assert set(kinds["kind"]) == {"test", "training"}
    first = kinds[kinds["fold"] == "1"].set_index("kind")
    assert first.loc["training", "start"] < first.loc["test", "start"]
