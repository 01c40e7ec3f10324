"""The slider of the threshold in Chromium: it counts what the kit counts, and the address keeps
it.
"""

from functools import partial
from typing import NamedTuple

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


class SliderRow(NamedTuple):
    """The cells of a system in the table of the slider, as texts. An estimate is written as
    "0.75 [0.71, 0.79]", the cheapest threshold with its cost as "0.31 (0.52)".
    """

    system: str
    threshold: str
    tp: str
    fp: str
    fn: str
    tn: str
    precision: str
    recall: str
    f1: str
    predicted_rate: str
    cost: str
    cheapest: str

    @classmethod
    def by_system(cls, rows):
        """The rows that the browser has answered, each a list of texts, by system."""
        return {cells[0]: cls(*cells) for cells in rows}

    @property
    def cheapest_threshold(self):
        return self.cheapest.split()[0]


METRICS = "precision,recall,f1,predicted_rate"
# Moves the slider to some places and answers {place: {threshold, rows}}; then sets the costs 1 of a
# false positive and 5 of a false negative, and answers the rows as "with_costs"; then clicks on the
# cheapest threshold of the first system, and answers the threshold where the slider then stands as
# "clicked_threshold" and the rows as "after_click".
MOVE_SET_COSTS_AND_CLICK = """
const box = document.querySelector("[data-sweep]"), [slider, fp, fn] = $$(".sweep input", box), seen = {};
seen.at = box.querySelector("output").value; seen.opened = lines(box.querySelector("table"));
for (const place of %s) {
  type(slider, place); seen[place] = {threshold: box.querySelector("output").value, rows: lines(box.querySelector("table"))};
}
type(fp, 1); type(fn, 5); seen.with_costs = lines(box.querySelector("table"));
box.querySelector("tbody button").click(); seen.clicked_threshold = box.querySelector("output").value;
seen.after_click = lines(box.querySelector("table"));
return seen;
"""


@pytest.fixture(scope="module")
def answer_after_moves(tmp_path_factory):
    """What the bundled page answers to MOVE_SET_COSTS_AND_CLICK at places 3, 90 and 200, and its
    address then.
    """
    return ask(
        page("classification"),
        MOVE_SET_COSTS_AND_CLICK % [3, 90, 200],
        tmp_path_factory.mktemp("slid"),
    )


@pytest.fixture(scope="module")
def study():
    """The study of the bundled page."""
    return classification.read(metrics=METRICS)


@pytest.mark.parametrize("place", ["3", "90", "200"])
def test_the_slider_shows_what_the_kit_computes_at_each_threshold(answer_after_moves, place):
    """A browser has moved the slider of the page to several places, of which `place` is one, and
    has answered the threshold there and the rows of the table. A study that is read with this
    threshold has the same counts, and the same estimates to the digits that are shown: `as_written`
    writes an estimate with as many decimal places as the shown text has. `quiet` asserts that the
    browser reported no error.
    """
    seen = quiet(answer_after_moves)[place]
    shown = SliderRow.by_system(seen["rows"])  # by system, a field for each column
    moved = classification.read(metrics=METRICS, threshold=float(seen["threshold"]))
    for decided in moved.decisions.to_dict("records"):
        row = shown[decided["system"]]
        for cell in ("tp", "fp", "fn", "tn"):
            assert getattr(row, cell) == f"{decided[cell]:,.0f}"
    for computed in moved.estimates.to_dict("records"):
        text = getattr(shown[computed["system"]], computed["metric"])
        assert text == as_written(text, computed["value"], computed["low"], computed["high"])


def test_the_slider_moves_to_higher_thresholds(answer_after_moves):
    seen = quiet(answer_after_moves)
    thresholds = [float(seen[place]["threshold"]) for place in ("3", "90", "200")]
    assert thresholds == sorted(thresholds)


def test_costs_that_are_typed_give_the_cost_and_the_cheapest_threshold_of_each_system(
    answer_after_moves, study
):
    """In a browser the slider was moved, last to place 200, and the costs were then set to 1 of a
    false positive and 5 of a false negative: `with_costs` has the rows after that. The slider shows
    rounded thresholds, so that the cheapest one of all agrees to 1 %. The cost at the threshold of
    the slider is the mean over the rows, written (`as_written`) with the decimal places of the cell.
    """
    seen = quiet(answer_after_moves)
    shown = SliderRow.by_system(seen["with_costs"])
    assert {row.threshold for row in shown.values()} == {seen["200"]["threshold"]}  # not moved
    for name in study.order:
        cheapest = curves.cheapest(study.table(name), 1, 5)
        assert float(shown[name].cheapest_threshold) == pytest.approx(cheapest, rel=0.01)
        cost = mean_cost(study, name, float(shown[name].threshold))
        text = shown[name].cost
        assert text == as_written(text, cost.value, cost.low, cost.high)


def test_a_click_on_the_cheapest_threshold_moves_the_slider_there(answer_after_moves, study):
    """Costs of 1 and 5 were set in a browser, and then the cheapest threshold of the first system
    was clicked. Its cell was "threshold (cost)". The slider then stands at this threshold, the cell
    of the cost has this cost, and the address keeps the threshold, both costs and the metric of the
    target.
    """
    seen = quiet(answer_after_moves)
    first = study.order[0]
    threshold, cost_in_brackets = SliderRow.by_system(seen["with_costs"])[first].cheapest.split()
    chosen = SliderRow.by_system(seen["after_click"])[first]
    assert seen["clicked_threshold"] == threshold == chosen.threshold
    assert cost_in_brackets == f"({chosen.cost.split()[0]})"
    assert answer_after_moves.address == f"#_slider?threshold={threshold}_1_5_precision_"


# Moves the slider to a place. Answers the rows; the marks of all figures, [what the x axis shows,
# system, x, y]; and the lines of the tip of the ROC curve after 40 steps along it by keyboard.
READ_MARKS_AND_TIP = """
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


@pytest.fixture(scope="module")
def seen_at_place_90(tmp_path_factory):
    """The rows, the marks and the tip that READ_MARKS_AND_TIP finds at place 90 of the slider."""
    return quiet(
        ask(page("classification"), READ_MARKS_AND_TIP % 90, tmp_path_factory.mktemp("marked"))
    )


def test_the_slider_moves_the_marks_of_the_curves(seen_at_place_90):
    """In a browser the slider was moved to place 90. `rows` has the counts of each system there,
    and `marks` the points of all figures. The mark of a system on the ROC curve, on the curve of
    precision and recall and on that of the costs lies where these counts put it, to 0.001, because
    figures round positions.
    """
    mark_of = {}
    for x_axis, system, x, y in seen_at_place_90["marks"]:
        mark_of.setdefault((x_axis, system), [x, y])  # the first one is that of the threshold
    for name, row in SliderRow.by_system(seen_at_place_90["rows"]).items():
        tp, fp, fn, tn = map(value, (row.tp, row.fp, row.fn, row.tn))
        rows = tp + fp + fn + tn
        recall = tp / (tp + fn)
        roc = [fp / (fp + tn), recall]
        assert mark_of["false positive rate", name] == pytest.approx(roc, abs=1e-3)
        precision_recall = [recall, tp / (tp + fp)]
        assert mark_of["recall", name] == pytest.approx(precision_recall, abs=1e-3)
        cost = [(tp + fp) / rows, (fp + fn) / rows]  # without costs set, each error costs 1
        mark = mark_of["share of rows predicted positive", name]
        assert mark == pytest.approx(cost, abs=1e-3)


def test_a_point_of_the_roc_curve_names_its_threshold_and_the_rates_there(seen_at_place_90):
    """A browser has walked along the ROC curve by keyboard. The tip of the point that it reached
    has five lines, such as "forest", "false positive rate 0.090", "recall 0.423 [0.364, 0.506]",
    "threshold ≈ 0.485" and "precision ≈ 0.67". A study at this threshold has the same rates. The
    tip rounds its numbers, the threshold too, so that rates agree to 0.01, and recall to 0.02.
    """
    system, x, y, threshold, precision = seen_at_place_90["tip"]
    study = classification.read(threshold=float(threshold.split()[-1]))
    decided = study.decisions.set_index("system").loc[system]
    false_positive_rate = decided["fp"] / (decided["fp"] + decided["tn"])
    recall = decided["tp"] / (decided["tp"] + decided["fn"])
    assert value(x.split()[-1]) == pytest.approx(false_positive_rate, abs=0.01)
    assert value(y.split()[1]) == pytest.approx(recall, abs=0.02)
    expected_precision = decided["tp"] / (decided["tp"] + decided["fp"])
    assert value(precision.split()[-1]) == pytest.approx(expected_precision, abs=0.01)


def as_written(text, number, low, high):
    """An estimate with as many decimal places as a text has."""
    places = len(text.split()[0].partition(".")[2])
    return estimate(number, low, high, places=places)


def mean_cost(study, name, threshold):
    """The mean cost of rows with its interval, from the rows themselves, where a false positive
    costs 1 and a false negative 5.
    """
    label = study.data.actual
    decided = study.data.score[name] >= threshold
    return mean(np.where(decided & (label == 0), 1.0, np.where(~decided & (label == 1), 5.0, 0.0)))


READ_SLIDER = """
const box = $$("[data-sweep]")[0];
return {hash: location.hash, rows: lines(box), threshold: $$("output", box)[0].value};
"""


def test_an_address_with_a_threshold_moves_the_slider_there(tmp_path):
    address = "#_slider?threshold=0.558_1_5_recall_"
    seen = quiet(ask(page("classification"), READ_SLIDER, tmp_path, address))
    assert seen["hash"] == address
    assert seen["threshold"] == "0.558"
    assert {row.threshold for row in SliderRow.by_system(seen["rows"]).values()} == {"0.558"}


def test_without_an_address_the_slider_stands_at_the_threshold_of_the_report(tmp_path):
    """`decisions` of the report's JSON has the counts of each system at the threshold of the
    report, 0.5. The rows that a browser reads beside the slider, before anything is moved, have the
    same.
    """
    seen = quiet(ask(page("classification"), READ_SLIDER, tmp_path))
    decisions = {row["system"]: row for row in results("classification")["decisions"]}
    for name, row in SliderRow.by_system(seen["rows"]).items():
        assert row.threshold == "0.5"
        for cell in ("tp", "fp", "fn", "tn"):
            assert getattr(row, cell) == number(decisions[name][cell], 0)


# Asks for a precision of at least 0.6, for a recall of at least 0.9, and for one of at least 2,
# which no threshold has; chooses the cheapest threshold that keeps it.
ASK_FOR_TARGETS = """
const box = document.querySelector("[data-sweep]"), target = $$(".sweep input", box)[3], kind = $$("select", box)[0];
const best = () => $$("tbody button", box)[0]?.click(), seen = {};
const read = () => { best(); return {threshold: box.querySelector("output").value, rows: lines(box.querySelector("table"))}; };
type(target, 0.6); seen.precision = read();
kind.selectedIndex = 1; type(kind, kind.value); type(target, 0.9); seen.recall = read();
type(target, 2); seen.unreachable = read();
return seen;
"""


def test_a_target_changes_the_cheapest_threshold_to_one_that_keeps_it(tmp_path):
    """In a browser a precision of at least 0.6, a recall of at least 0.9 and a recall of at least 2
    were asked for in turn, and the cheapest threshold that keeps the target was clicked. Its cell
    is "threshold (cost)", or a dash for a recall of 2, which no threshold has. The slider stops at
    some of the thresholds only, so that the cost of the cheapest stop may be above the lowest cost
    of all thresholds that keep the target: by at most 0.02, a small part of costs of 0.2 to 0.4.
    """
    answer = ask(page("classification"), ASK_FOR_TARGETS, tmp_path)
    seen = quiet(answer)
    study = classification.read()
    cost_of = partial(curves.cost, false_positive=study.costs.fp, false_negative=study.costs.fn)
    for name, target in (("precision", 0.6), ("recall", 0.9)):
        metric = getattr(counts, name)
        rows = SliderRow.by_system(seen[name]["rows"])
        chosen = rows[study.order[0]]  # the click was on the threshold of the first system
        assert seen[name]["threshold"] == chosen.cheapest_threshold == chosen.threshold
        rounding = 5e-4
        assert value(getattr(chosen, name)) >= target - rounding
        for system, row in rows.items():
            all_thresholds = study.table(system)
            at_cheapest = counts.at(all_thresholds, float(row.cheapest_threshold))
            assert metric(at_cheapest) >= target
            cost = float(cost_of(at_cheapest))
            _threshold, cost_in_brackets = row.cheapest.split()
            assert cost_in_brackets == f"({number(cost, 3)})"
            keeps_target = metric(all_thresholds) >= target
            assert cost <= cost_of(all_thresholds)[keeps_target].min() + 0.02
    unreachable = SliderRow.by_system(seen["unreachable"]["rows"])
    assert [row.cheapest for row in unreachable.values()] == ["–"] * 3  # of three systems
    assert answer.address.startswith("#_slider?threshold=")


def page_of_slider(study):
    """A page with the slider of a study and nothing else."""
    html = threshold_page.moving_threshold_table(study).html
    output = new_output("display_data", data={"text/html": html})
    notebook = new_notebook(cells=[new_code_cell("", outputs=[output])])
    text, _ = ReportExporter().from_notebook_node(notebook)
    return text


def test_the_slider_shows_the_intervals_of_units(tmp_path):
    """150 users have two rows each, so that intervals of a study by user are wider than by row. A
    script in the browser moves the slider to the places 5, 40 and 80, and sets the costs 1 of a
    false positive and 5 of a false negative afterwards: `with_costs` has the rows then. Intervals
    on the page, of metrics and of costs, are those of a study by user at the same threshold,
    written (`as_written`) with as many decimal places.
    """
    rng = np.random.default_rng(8)
    label = np.repeat(rng.integers(0, 2, 150), 2)
    table = pd.DataFrame({"user": np.arange(300) // 2, "label": label})
    table["score_a"] = rng.beta(1 + 2.0 * label, 2)
    table["score_b"] = rng.beta(1 + 1.0 * label, 2)
    study = classification.read(table, unit="user", metrics=METRICS)
    seen = quiet(ask(page_of_slider(study), MOVE_SET_COSTS_AND_CLICK % [5, 40, 80], tmp_path))
    stops = threshold_slider.slider_counts(study)
    for place in (5, 40, 80):
        threshold = stops.threshold[stops.last - place]  # thresholds descend
        moved = classification.read(table, unit="user", metrics=METRICS, threshold=threshold)
        shown = SliderRow.by_system(seen[str(place)]["rows"])
        for computed in moved.estimates.to_dict("records"):
            text = getattr(shown[computed["system"]], computed["metric"])
            assert text == as_written(text, computed["value"], computed["low"], computed["high"])
    limits = threshold_slider.intervals(study, stops)
    for system, row in SliderRow.by_system(seen["with_costs"]).items():
        at_threshold = counts.at(study.table(system), float(row.threshold))
        cost = limits.estimates(system, at_threshold, Costs(1, 5))["cost"]
        assert row.cost == as_written(row.cost, cost.value, cost.low, cost.high)
