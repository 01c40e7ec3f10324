"""The counts that a page's slider moves over: the thresholds decide as the kit does, and no costs have a better one."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.limits import Limits, Reading
from evalkit.metrics import counts, curves
from evalkit.pages import moving_threshold as page
from evalkit.parameters import Classification
from evalkit.parameters.decisions import Costs
from evalkit.studies import classification
from evalkit.studies import moving_threshold as moving


def frame(n=600, seed=3, **more):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    scores = {name: rng.beta(1 + skill * label, 1 + skill * (1 - label)) for name, skill in (("a", 1.5), ("b", 0.7))}
    return pd.DataFrame({"label": label, **scores, **more})


def study_of(table, limits=None, **more):
    p = Classification.of({"preds": table, "systems": ["a", "b"], **more})
    return classification.study_of(p, *([limits] if limits else []))


SMALL = Limits(reading=Reading(rows=100, shard=100))


def data_of(study):
    """What the script of the page reads."""
    text = re.search(r'data-sweep="(.*?)">', page.moved(study).html, re.S)[1]
    return json.loads(text.replace("&quot;", '"'))


@pytest.mark.parametrize("limits", [None, SMALL], ids=["rows", "sums"])
def test_the_counts_on_the_page_are_those_at_its_thresholds(limits):
    study = study_of(frame(), limits)
    assert (type(study).__name__ == "SumsStudy") == (limits is SMALL)
    data = data_of(study)
    at = [float(text.replace("∞", "inf").replace("−", "-")) for text in data["named"].split()]
    assert 100 < len(at) < 700
    for system in data["systems"]:
        c = counts.at(study.table(system["name"]), at)
        assert np.cumsum(system["tp"]).tolist() == c.tp.tolist()
        assert np.cumsum(system["fp"]).tolist() == c.fp.tolist()
        assert (system["positives"], system["negatives"]) == (c.positives, c.negatives)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 100), st.floats(0, 100))
def test_no_other_threshold_costs_less_whatever_the_errors_cost(fp, fn):
    for name, c in STUDY.tables.items():
        every = curves.cost(curves.from_none(WHOLE[name]), fp, fn)
        assert curves.cost(c, fp, fn).min() == pytest.approx(every.min(), abs=1e-12)


WHOLE_STUDY = study_of(frame())
WHOLE = {name: WHOLE_STUDY.table(name) for name in ("a", "b")}
STUDY = moving.moving(WHOLE_STUDY)


def test_a_short_threshold_decides_as_the_score_that_it_stands_for():
    for name in ("a", "b"):
        used = {
            row["rule"]: row["threshold"] for row in WHOLE_STUDY.choices.query("system == @name").to_dict("records")
        }
        for threshold in used.values():
            short = float(STUDY.named(threshold).replace("∞", "inf"))
            assert len(STUDY.named(threshold)) <= 9
            assert counts.at(WHOLE[name], short).tp == counts.at(WHOLE[name], threshold).tp


def test_the_numbers_at_a_threshold_are_the_estimates_of_the_study():
    study = study_of(frame(), metrics="precision,recall,f1,predicted_rate", threshold=0.4, costs="fp=1,fn=4")
    names = {"precision": "precision", "recall": "recall", "f1": "f1", "predicted_rate": "predicted"}
    for row in study.estimates.to_dict("records"):
        e = moving.estimates(counts.at(study.table(row["system"]), 0.4), Costs(1, 4), 0.95)[names[row["metric"]]]
        assert (e.value, e.low, e.high) == pytest.approx((row["value"], row["low"], row["high"]), abs=1e-12)
    cost = {row["system"]: row["cost"] for row in study.decisions.to_dict("records")}
    for name, value in cost.items():
        assert moving.estimates(counts.at(study.table(name), 0.4), Costs(1, 4), 0.95)["cost"].value == pytest.approx(
            value
        )


def test_rows_that_cluster_or_weigh_have_no_closed_intervals():
    table = frame(user=np.arange(600) // 3)
    study = study_of(table, unit="user")
    assert (data_of(study)["z"], data_of(study)["q"]) == ("none", "none")
    assert "[" not in page.moved(study).text
    assert "No intervals, as rows are clustered or weighted." in page.moved(study).html


def test_a_study_of_one_class_has_no_slider():
    assert page.moved(study_of(frame().assign(label=1))).html == ""


def test_weights_that_are_no_whole_numbers_stay_exact():
    study = study_of(frame(weight=np.tile([0.5, 1.25], 300)))
    for system in data_of(study)["systems"]:
        c = study.table(system["name"])
        assert np.cumsum(system["tp"])[-1] == pytest.approx(c.positives, abs=1e-6)
