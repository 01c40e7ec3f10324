"""What pages say beside their numbers: costs, calibration, folds, equal values, intervals without width."""

import re

import numpy as np
import pandas as pd

from evalkit.pages import binary_page, page, rating_page, shared_findings
from evalkit.studies import classification, diagnostics, ranking, rating
from evalkit.studies.classification import Miscalibration, miscalibrated


def scores(**more):
    rng = np.random.default_rng(1)
    logit = rng.normal(0, 1.5, 400)
    label = (rng.random(400) < 1 / (1 + np.exp(-logit))).astype(int)
    several = {"right": logit, "extreme": 3 * logit, "timid": logit / 3, "high": logit + 1, "low": logit - 1}
    return pd.DataFrame({"label": label} | {f"score_{k}": 1 / (1 + np.exp(-v)) for k, v in several.items()} | more)


def test_each_kind_of_miscalibration_is_named():
    study = classification.read(scores(), metrics="brier")
    wrong, right = miscalibrated(study)
    assert wrong[Miscalibration.OVERCONFIDENT] == ["extreme"]
    assert wrong[Miscalibration.UNDERCONFIDENT] == ["timid"]
    assert (wrong[Miscalibration.TOO_HIGH], wrong[Miscalibration.TOO_LOW]) == (["high"], ["low"])
    assert right == ["right"]
    text = binary_page.calibration(study).text
    assert text.startswith("Over-confident, with probabilities too close to 0 and 1 (slope below 1): extreme.")
    assert "Neither slope nor intercept shows miscalibration: right." in text


def test_equal_costs_are_said_to_be_assumed_unless_they_were_set():
    frame = scores()[["label", "score_right"]]
    assert classification.read(frame).costs.said.startswith("No costs were set, so a false positive and a false neg")
    asked = classification.read(frame, costs="fp=1,fn=1")
    assert asked.costs.said == "Costs: false positive 1, false negative 1."


def test_a_column_of_folds_that_is_not_read_is_noted():
    def codes(frame, **options):
        return [f.kind.code for f in binary_page.every_finding(classification.read(frame, **options))]

    plain = scores()[["label", "score_right"]]
    folded = plain.assign(fold=(np.arange(400) % 5).astype(str))
    assert "EK115" in codes(folded)
    assert "EK115" not in codes(folded, segments="fold")
    assert "EK115" not in codes(plain)


def test_rounding_wins_no_unit():
    off = {"forecast_a": [0.1, 0.2], "forecast_b": [0.3, 0.0]}  # of the first user 0.30000000000000004 and 0.3
    frame = pd.concat([pd.DataFrame({"actual": 0.0, "user": user, **off}) for user in "uvw"])
    users = rating.read(frame, unit="user").comparisons.iloc[0]
    assert (users["wins"], users["ties"], users["losses"]) == (0, 3, 0)


def test_wins_are_of_units():
    actual = np.zeros(6)
    frame = pd.DataFrame({"actual": actual, "forecast_a": [0, 0, 5, 1, 1, 1], "forecast_b": [1, 1, 1, 1, 1, 1]})
    rows = rating.read(frame).comparisons.set_index("first").iloc[0]
    study = rating.read(frame.assign(user=["u", "u", "u", "v", "v", "w"]), unit="user")
    users = study.comparisons.iloc[0]
    assert sorted([rows["wins"], rows["losses"]]) == [1, 2]
    assert rows["ties"] == 3
    assert (users["ties"], users["wins"] + users["losses"]) == (2, 1)
    assert "users won / tied / lost" in page.comparisons(study).text


def test_systems_with_the_same_best_printed_value_are_both_bold():
    rng = np.random.default_rng(2)
    actual = rng.normal(0, 1, 50)
    error = rng.normal(0, 1, 50)
    frame = pd.DataFrame({"actual": actual, "forecast_a": actual + error, "forecast_b": actual + error * 1.00001})
    html = rating_page.estimates(rating.read(frame.assign(forecast_c=actual + 2 * error), metrics="mae")).html
    assert len(re.findall('class="lead"', html)) == 2


def test_an_interval_without_width_is_told():
    rows = [(f"q{q}", item, 3 - i) for q in range(24) for i, item in enumerate("xyz")]
    run = pd.DataFrame(rows, columns=["query", "item", "score"])
    run["grade"] = [
        int(item == ("x" if int(q[1:]) < 12 else "y")) for q, item in zip(run["query"], run["item"], strict=True)
    ]
    run["half"] = np.where(run["query"].str[1:].astype(int) < 12, "first", "second")
    other = run.assign(score=np.where(run["half"] == "second", -run["score"], run["score"]), system="b")
    study = ranking.read(pd.concat([run.assign(system="a"), other]), metrics="mrr", segments="half")
    assert "half first" in diagnostics.flat_slices(study)
    assert [f.kind.code for f in shared_findings.slices(study)][-1] == "EK226"
