"""The slider of the threshold in Chromium: it counts what the kit counts, and the address keeps
it.
"""

import numpy as np
import pandas as pd
import pytest
from answers import page, quiet, results, value
from browser import ask
from nbformat.v4 import new_code_cell, new_notebook, new_output

from evalkit.metrics import counts, curves
from evalkit.numbers import estimate, number
from evalkit.page import ReportExporter
from evalkit.pages import threshold_page
from evalkit.parameters.kinds import Costs
from evalkit.statistics.intervals import mean
from evalkit.studies import classification, threshold_slider

SLIDE = """
const box = document.querySelector("[data-sweep]"), [slider, fp, fn] = $$(".sweep input", box), seen = {};
seen.at = box.querySelector("output").value; seen.opened = lines(box.querySelector("table"));
for (const place of %s) {
  type(slider, place); seen[place] = {at: box.querySelector("output").value, rows: lines(box.querySelector("table"))};
}
type(fp, 1); type(fn, 5); seen.dear = lines(box.querySelector("table"));
box.querySelector("tbody button").click(); seen.best = box.querySelector("output").value;
seen.chosen = lines(box.querySelector("table"));
return seen;
"""


def test_the_slider_shows_what_the_kit_computes_at_each_threshold(tmp_path):
    told = ask(page("classification"), SLIDE % [3, 90, 200], tmp_path)
    seen = quiet(told)
    study = classification.read(metrics="precision,recall,f1,predicted_rate")
    for place in ("3", "90", "200"):
        at = float(seen[place]["at"])
        shown = {row[0]: row[2:] for row in seen[place]["rows"]}
        moved = classification.read(metrics="precision,recall,f1,predicted_rate", threshold=at)
        for row in moved.decisions.to_dict("records"):
            assert shown[row["system"]][:4] == [
                f"{row[cell]:,.0f}" for cell in ("tp", "fp", "fn", "tn")
            ]
        for row in moved.estimates.to_dict("records"):
            column = ["precision", "recall", "f1", "predicted_rate"].index(row["metric"]) + 4
            text = shown[row["system"]][column]
            assert text == estimate(row["value"], row["low"], row["high"], places=places(text))
    thresholds = [float(seen[place]["at"]) for place in ("3", "90", "200")]
    assert thresholds == sorted(thresholds)
    dear = {row[0]: row for row in seen["dear"]}
    assert {row[1] for row in seen["dear"]} == {seen["200"]["at"]}
    for name in study.order:
        assert float(dear[name][11].split()[0]) == pytest.approx(
            curves.cheapest(study.table(name), 1, 5), rel=0.01
        )
        cost = costs(study, name, float(dear[name][1]))
        assert dear[name][10] == estimate(
            cost.value, cost.low, cost.high, places=places(dear[name][10])
        )
    best, cost = dear[study.order[0]][11].split()
    assert seen["best"] == best == seen["chosen"][0][1]
    assert cost == f"({seen['chosen'][0][10].split()[0]})"
    assert told.address == f"#_slider?threshold={seen['best']}_1_5_precision_"


MARKS = """
const [slider] = $$(".sweep input"), seen = {};
const plot = document.querySelector("figure:has([data-x-is='false positive rate'])");
type(slider, %d);
seen.rows = lines(document.querySelector("[data-sweep] table"));
seen.marks = $$(".axes").flatMap(axes => $$("[data-series] use", axes).map(use => [
  axes.dataset.xIs, use.closest("[data-series]").dataset.series,
  ...["x", "y"].map(way => {
    const [start, step] = axes.dataset[way].split(" ");
    return +start + use.getAttribute(way) * step;
  }),
]));
plot.focus();
for (let i = 0; i < 40; i++) plot.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
seen.tip = plot.querySelector(".tip").textContent.split("\\n");
return seen;
"""


def test_the_slider_moves_the_marks_and_a_point_of_a_curve_names_its_threshold(tmp_path):
    seen = quiet(ask(page("classification"), MARKS % 90, tmp_path))
    marks = {
        (along, name): at for along, name, *at in reversed(seen["marks"])
    }  # the first of each is the threshold's
    for name, _, *rest in seen["rows"]:
        tp, fp, fn, tn = map(value, rest[:4])
        assert marks["false positive rate", name] == pytest.approx(
            [fp / (fp + tn), tp / (tp + fn)], abs=1e-3
        )
        assert marks["recall", name] == pytest.approx([tp / (tp + fn), tp / (tp + fp)], abs=1e-3)
        cost = [(tp + fp) / (tp + fp + fn + tn), (fp + fn) / (tp + fp + fn + tn)]
        assert marks["share of rows predicted positive", name] == pytest.approx(cost, abs=1e-3)
    name, x, y, threshold, precision = seen["tip"]
    decided = (
        classification.read(threshold=float(threshold.split()[-1]))
        .decisions.set_index("system")
        .loc[name]
    )
    assert value(x.split()[-1]) == pytest.approx(
        decided["fp"] / (decided["fp"] + decided["tn"]), abs=0.01
    )
    assert value(y.split()[1]) == pytest.approx(
        decided["tp"] / (decided["tp"] + decided["fn"]), abs=0.02
    )
    assert value(precision.split()[-1]) == pytest.approx(
        decided["tp"] / (decided["tp"] + decided["fp"]), abs=0.01
    )


def places(text):
    return len(text.split()[0].partition(".")[2])


def costs(study, name, threshold):
    """The mean cost of rows with its interval, from the rows themselves."""
    label = study.data.actual
    decided = study.data.score[name] >= threshold
    return mean(np.where(decided & (label == 0), 1.0, np.where(~decided & (label == 1), 5.0, 0.0)))


def test_the_address_moves_the_slider_and_without_it_the_threshold_used_stands(tmp_path):
    script = (
        "const box = $$('[data-sweep]')[0]; return [location.hash, lines(box), $$('output', "
        "box)[0].value];"
    )
    address = "#_slider?threshold=0.558_1_5_recall_"
    hash_, rows, at = quiet(ask(page("classification"), script, tmp_path, address))
    assert (hash_, at, rows[0][1]) == (address, "0.558", "0.558")
    _, rows, _ = quiet(ask(page("classification"), script, tmp_path))
    used = {row["system"]: row for row in results("classification")["decisions"]}
    for row in rows:
        assert row[1:6] == [
            "0.5",
            *(number(used[row[0]][cell], 0) for cell in ("tp", "fp", "fn", "tn")),
        ]


KEEP = """
const box = document.querySelector("[data-sweep]"), target = $$(".sweep input", box)[3], kind = $$("select", box)[0];
const best = () => $$("tbody button", box)[0]?.click(), seen = {};
const read = () => { best(); return {at: box.querySelector("output").value, rows: lines(box.querySelector("table"))}; };
type(target, 0.6); seen.precision = read();
kind.selectedIndex = 1; type(kind, kind.value); type(target, 0.9); seen.recall = read();
type(target, 2); seen.never = read();
return seen;
"""


def test_a_target_changes_the_cheapest_threshold_to_one_that_keeps_it(tmp_path):
    told = ask(page("classification"), KEEP, tmp_path)
    seen = quiet(told)
    study = classification.read()
    for name, column in (("precision", 6), ("recall", 7)):
        least = {"precision": 0.6, "recall": 0.9}[name]
        assert seen[name]["at"] == seen[name]["rows"][0][11].split()[0] == seen[name]["rows"][0][1]
        assert value(seen[name]["rows"][0][column]) >= least - 5e-4
        for row in seen[name]["rows"]:
            c = counts.at(study.table(row[0]), float(row[11].split()[0]))
            assert getattr(counts, name)(c) >= least
            every = study.table(row[0])
            kept = curves.cost(every, study.costs.fp, study.costs.fn)[
                getattr(counts, name)(every) >= least
            ]
            cost = float(curves.cost(c, study.costs.fp, study.costs.fn))
            assert row[11].split()[1] == f"({number(cost, 3)})"
            assert cost <= kept.min() + 0.02
    assert [row[11] for row in seen["never"]["rows"]] == ["–"] * 3
    assert told.address.startswith("#_slider?threshold=")


def test_the_slider_shows_the_intervals_of_units(tmp_path):
    rng = np.random.default_rng(8)
    label = np.repeat(rng.integers(0, 2, 150), 2)
    scores = {
        f"score_{name}": rng.beta(1 + skill * label, 2) for name, skill in (("a", 2.0), ("b", 1.0))
    }
    table = pd.DataFrame({"user": np.arange(300) // 2, "label": label, **scores})
    metrics = "precision,recall,f1,predicted_rate"
    study = classification.read(table, unit="user", metrics=metrics)
    output = new_output(
        "display_data", data={"text/html": threshold_page.moving_threshold_table(study).html}
    )
    whole = ReportExporter().from_notebook_node(
        new_notebook(cells=[new_code_cell("", outputs=[output])])
    )[0]
    seen = quiet(ask(whole, SLIDE % [5, 40, 80], tmp_path))
    moves = threshold_slider.slider_counts(study)
    limits = threshold_slider.intervals(study, moves)
    for place in (5, 40, 80):
        there = classification.read(
            table, unit="user", metrics=metrics, threshold=moves.threshold[moves.last - place]
        )
        shown = {row[0]: row for row in seen[str(place)]["rows"]}
        for row in there.estimates.to_dict("records"):
            text = shown[row["system"]][metrics.split(",").index(row["metric"]) + 6]
            assert text == estimate(row["value"], row["low"], row["high"], places=places(text))
    for row in seen["dear"]:
        c = counts.at(study.table(row[0]), float(row[1]))
        cost = limits.estimates(row[0], c, Costs(1, 5))["cost"]
        assert row[10] == estimate(cost.value, cost.low, cost.high, places=places(row[10]))
