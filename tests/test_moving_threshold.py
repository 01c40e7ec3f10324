"""The counts that a page's slider moves over: the thresholds decide as the kit does, and no costs
have a better one.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from evalkit.limits import Limits, Reading
from evalkit.metrics import counts, curves
from evalkit.pages import threshold_page
from evalkit.parameters.kinds import Costs
from evalkit.parameters.reports import ClassificationParameters
from evalkit.statistics import intervals
from evalkit.statistics.class_cells import DecisionsByThreshold
from evalkit.statistics.closed_forms import ranged_t
from evalkit.studies import binary_diagnostics, classification, threshold_slider


def frame(n=600, seed=3, **more):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    scores = {
        name: rng.beta(1 + skill * label, 1 + skill * (1 - label))
        for name, skill in (("a", 1.5), ("b", 0.7))
    }
    return pd.DataFrame({"label": label, **scores, **more})


def study_of(table, limits=None, **more):
    p = ClassificationParameters.from_raw({"preds": table, "systems": ["a", "b"], **more})
    return classification.study_of(p, *([limits] if limits else []))


SMALL = Limits(reading=Reading(rows=100, shard=100))


def data_of(study):
    """What the script of the page reads."""
    text = re.search(
        r'data-sweep="(.*?)">', threshold_page.moving_threshold_table(study).html, re.S
    )[1]
    return json.loads(text.replace("&quot;", '"'))


@pytest.mark.parametrize("limits", [None, SMALL], ids=["rows", "sums"])
def test_the_counts_on_the_page_are_those_at_its_thresholds(limits):
    study = study_of(frame(), limits)
    assert (study.data is None) == (limits is SMALL)
    data = data_of(study)
    at = [float(text.replace("∞", "inf").replace("−", "-")) for text in data["named"].split()]
    assert 100 < len(at) < 700
    assert at == sorted(at)
    for name, system in zip(study.order, data["systems"], strict=True):
        c = counts.at(study.table(name), at)
        assert (system["tp"], system["fp"]) == (c.tp.tolist(), c.fp.tolist())
        assert (system["P"], system["N"]) == (c.positives, c.negatives)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 100), st.floats(0, 100))
def test_no_other_threshold_costs_less_whatever_the_errors_cost(fp, fn):
    for name, c in STUDY.tables.items():
        every = curves.cost(curves.from_none(WHOLE[name]), fp, fn)
        assert curves.cost(c, fp, fn).min() == pytest.approx(every.min(), abs=1e-12)


WHOLE_STUDY = study_of(frame())
WHOLE = {name: WHOLE_STUDY.table(name) for name in ("a", "b")}
STUDY = threshold_slider.slider_counts(WHOLE_STUDY)


def test_a_short_threshold_decides_as_the_score_that_it_stands_for():
    for name in ("a", "b"):
        for threshold in WHOLE_STUDY.choices.query("system == @name")["threshold"]:
            short = float(STUDY.named(threshold).replace("∞", "inf"))
            assert len(STUDY.named(threshold)) <= 9
            assert counts.at(WHOLE[name], short).tp == counts.at(WHOLE[name], threshold).tp


def test_the_numbers_at_a_threshold_are_the_estimates_of_the_study():
    study = study_of(
        frame(), metrics="precision,recall,f1,predicted_rate", threshold=0.4, costs="fp=1,fn=4"
    )
    for row in study.estimates.to_dict("records"):
        e = threshold_slider.ClosedFormIntervals(0.95).estimates(
            "", counts.at(study.table(row["system"]), 0.4), Costs(1, 4)
        )[row["metric"]]
        assert (e.value, e.low, e.high) == pytest.approx(
            (row["value"], row["low"], row["high"]), abs=1e-12
        )
    for row in study.decisions.to_dict("records"):
        c = counts.at(study.table(row["system"]), 0.4)
        cost = threshold_slider.ClosedFormIntervals(0.95).estimates("", c, Costs(1, 4))["cost"]
        assert cost.value == pytest.approx(row["cost"])


VARIED = {
    "units": ({"user": np.arange(600) // 3}, {"unit": "user"}),
    "weights": ({"weight": np.tile([0.5, 1.25, 2.0], 200)}, {}),
    "both": ({"user": np.arange(600) // 3, "weight": np.tile([0.5, 1.25], 300)}, {"unit": "user"}),
}


@pytest.mark.parametrize("more, asked", VARIED.values(), ids=VARIED)
def test_rows_that_cluster_or_weigh_have_the_intervals_of_the_study(more, asked):
    asked = {"metrics": "precision,recall,f1,predicted_rate", **asked}
    study = study_of(frame(**more), **asked)
    moves = threshold_slider.slider_counts(study)
    limits = threshold_slider.intervals(study, moves)
    for place in (0, 20, len(moves.threshold) // 2, moves.last):
        threshold = float(min(moves.threshold[place], 2.0))
        there = study_of(frame(**more), threshold=threshold, **asked)
        for row in there.estimates.to_dict("records"):
            e = limits.estimates_by_system[row["system"]][place][
                threshold_slider.METRICS.index(row["metric"])
            ]
            expected = (row["value"], row["low"], row["high"])
            assert (e.value, e.low, e.high) == pytest.approx(expected, abs=1e-10, nan_ok=True)


@pytest.mark.parametrize("more, asked", VARIED.values(), ids=VARIED)
def test_the_spread_of_costs_is_that_of_units(more, asked):
    table = frame(**more)
    study = study_of(table, **asked)
    moves = threshold_slider.slider_counts(study)
    place = len(moves.threshold) // 3
    threshold = moves.threshold[place]
    cut = DecisionsByThreshold.from_rows(study.measured.rows["a"], moves.tables["a"])
    weight = table.get("weight", pd.Series(np.ones(600)))
    user = table.get("user", pd.Series(np.arange(600)))
    false_alarm = (table["a"] >= threshold) & (table["label"] == 0)
    miss = (table["a"] < threshold) & (table["label"] == 1)
    loss = 2.0 * false_alarm + 7.0 * miss
    mean = np.average(loss, weights=weight)
    influence = (weight * (loss - mean) / weight.sum()).groupby(user).sum()
    size = weight.groupby(user).sum()
    units = size.sum() ** 2 / (size**2).sum()
    variance = (influence**2).sum() * units / (units - 1)
    assert cut.units == pytest.approx(units)
    assert cut.error_variance[place] @ [4.0, 14.0, 49.0] == pytest.approx(variance)
    e = ranged_t(mean, np.sqrt(variance), freedom=units - 1, n=int(units), level=0.95, ends=(0, 7))
    assert 0 < e.low < e.value == mean < e.high < 7
    assert threshold_slider.OwnIntervals(
        moves, {"a": cut}, {"a": [[]] * place + [[e] * 4]}, 0.95
    ).estimates("a", counts.at(study.table("a"), threshold), Costs(2, 7))[
        "cost"
    ].high == pytest.approx(e.high)


def test_the_page_has_the_limits_of_units_as_they_are_shown():
    study = study_of(frame(user=np.arange(600) // 3), unit="user", threshold=0.4)
    data = data_of(study)
    html = threshold_page.moving_threshold_table(study).html
    place = data["named"].split().index("0.4")
    metric = (
        0  # the first of threshold_slider.METRICS, whose digits follow those of the four counts
    )
    digits = data["places"][4 + metric]
    for name, system in zip(study.order, data["systems"], strict=True):
        assert len(system["limits"]) == len(system["spread"]) == len(system["tp"])
        low, high = system["limits"][place][metric]
        row = next(row for row in html.split("<tr>") if row.startswith(f'<th scope="row">{name}<'))
        assert f"[{low:.{digits}f}, {high:.{digits}f}]" in row


def test_a_metric_without_predicted_rows_has_no_limits_on_the_page():
    study = study_of(frame(user=np.arange(600) // 3), unit="user", threshold=0.4)
    limits_at_the_highest = data_of(study)["systems"][0]["limits"][-1]
    assert limits_at_the_highest[0] == [
        threshold_slider.UNDEFINED_LIMIT,
        threshold_slider.UNDEFINED_LIMIT,
    ]


def test_sums_of_units_have_no_intervals():
    study = study_of(frame(user=np.arange(600) // 3), SMALL, unit="user")
    assert data_of(study)["z"] == "none"
    assert "[" not in threshold_page.moving_threshold_table(study).text
    assert "No intervals: sums over rows" in threshold_page.moving_threshold_table(study).html


def test_a_study_of_one_class_has_no_slider():
    assert threshold_page.moving_threshold_table(study_of(frame().assign(label=1))).html == ""


def test_weights_that_are_no_whole_numbers_stay_exact():
    study = study_of(frame(weight=np.tile([0.5, 1.25], 300)))
    for name, system in zip(study.order, data_of(study)["systems"], strict=True):
        assert system["tp"][0] == pytest.approx(study.table(name).positives, abs=1e-6)


@pytest.fixture(scope="module", params=[Limits(), SMALL], ids=["memory", "blocks"])
def precise(request):
    """A study of thresholds with a precision of 0.99: one of `a` has it, none of `b`."""
    rng = np.random.default_rng(1)
    label = (rng.random(600) < 0.3).astype(int)
    score = rng.random(600) / 2 + 0.5 * label * (rng.random(600) < 0.5)
    table = pd.DataFrame({"label": label, "a": score, "b": rng.random(600)})
    metrics = "precision,recall,f1,accuracy"
    return study_of(table, request.param, threshold="precision>=0.99", metrics=metrics)


def test_metrics_at_a_threshold_that_does_not_exist_are_undefined(precise):
    estimates = precise.estimates.set_index("system").loc["b", ["value", "low", "high"]]
    assert estimates.isna().all(axis=None)


def test_differences_from_a_system_without_a_threshold_are_undefined(precise):
    numbers = precise.comparisons[["difference", "low", "high", "p", "detectable"]]
    assert numbers.isna().all(axis=None)


def test_decisions_of_a_system_without_a_threshold_are_undefined(precise):
    decisions = precise.decisions.set_index("system").loc["b", ["tp", "fp", "fn", "tn", "cost"]]
    assert decisions.isna().all()


def test_a_system_without_a_threshold_has_no_point_on_the_curve(precise):
    points = binary_diagnostics.operating_points(precise, "roc")
    assert points["x"].notna().tolist() == [True, False]


def test_a_perfect_precision_has_wilsons_limits_of_its_rows(precise):
    hits = int(precise.decisions.set_index("system").loc["a", "tp"])
    estimates = precise.estimates.set_index(["system", "metric"])
    found = estimates.loc[("a", "precision"), ["value", "low", "high"]]
    assert found.tolist() == pytest.approx([1, intervals.wilson(hits, hits).low, 1])
